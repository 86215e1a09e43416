"""Configuration of Sphinx: `make docs` builds the documentation in docs/_build/html."""

import re
import sys
from pathlib import Path

import mercer

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parent / "tour"))

from record import write

project = "mercer"
author = "the mercer developers"
copyright = "the mercer developers"
version = release = mercer.__version__
extensions = [
    "backlinks",
    "checked",
    "executed",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "stored", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
suppress_warnings = ["config.cache"]  # the settings of the gallery contain functions
nitpicky = False
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # the list at the right has the names of methods only
numpydoc_show_class_members = False  # _templates lists methods, with their parameters
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": mercer.__version__}
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "mercer"
highlight_language = "none"  # blocks without a language are commands and files
# pages without others beside them need no list of these
ALONE = ("index", "install", "first-half-hour", "which-model", "user-guide", "streams", "explorer")
html_sidebars = {page: [] for page in ALONE}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "github_url": "https://github.com/mercer-dev/mercer",
    "footer_start": ["copyright"],
    "footer_end": [],
}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 60,  # seconds: no example takes that long
    "capture_repr": (),  # show figures, not the repr of the last line
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}


def plain(app, what, name, obj, options, lines):
    """Escape n_components_ and |x|, which are links and substitutions in reST, and remove scikit-learn's labels.

    Examples, which end at an empty line, stay as they are.
    """
    example = False
    for i, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if example:
            continue
        line = re.sub(r":ref:`([^<`]*) <[^>`]*>`", r"\1", line)
        parts = re.split(r"(``.*?``|`.*?`)", line)
        parts[::2] = [re.sub(r"(\w+)_(?!\w)", r"\1\\_", part).replace("|", r"\|") for part in parts[::2]]  # not in code
        lines[i] = "".join(parts)


def endings(app, name, source):
    """Remove the empty line that ends a block of examples: doctest needs it, readers do not."""
    source[0] = re.sub(r"(^```pycon\n(?:(?!^```).)*?)\n\n```$", r"\1\n```", source[0], flags=re.DOTALL | re.MULTILINE)


def alternatives(app, name, source):
    """Describe the thumbnails of the gallery, which Sphinx-Gallery leaves without a text, by their tooltips."""
    if name == "gallery/index":
        source[0] = re.sub(r'(tooltip="([^"]+)".*?:alt:)(?=\n)', r"\1 \2", source[0], flags=re.DOTALL)


def tour(app, error):
    """Write the recorded tour of the explorer beside the pages."""
    if error is None and app.builder.format == "html":
        write(Path(app.outdir) / "_static" / "explorer-tour.html")


def setup(app):
    """Called by Sphinx."""
    app.connect("build-finished", tour)
    app.connect("source-read", alternatives)
    app.connect("source-read", endings)
    app.connect("autodoc-process-docstring", plain, priority=400)  # before numpydoc
