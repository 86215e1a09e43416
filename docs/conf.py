"""Sphinx's settings: `make docs` builds the site into docs/_build/html."""

import re

import mercer

project = "mercer"
author = "the mercer developers"
copyright = "the mercer developers"
version = release = mercer.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions
nitpicky = False
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False  # _templates lists methods, with their parameters
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"show_toc_level": 2, "navbar_align": "left", "footer_start": ["copyright"], "footer_end": []}
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 60,  # seconds: no example takes as long
    "capture_repr": (),  # pictures are what is shown, not the names of their parts
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}


def plain(app, what, name, obj, options, lines):
    """Keep n_components_ from being read as a link and |x| as a substitution, and scikit-learn's labels out."""
    for i, line in enumerate(lines):
        line = re.sub(r":ref:`([^<`]*) <[^>`]*>`", r"\1", line)
        parts = re.split(r"(``.*?``|`.*?`)", line)
        parts[::2] = [re.sub(r"(\w+)_(?!\w)", r"\1\\_", part).replace("|", r"\|") for part in parts[::2]]  # not in code
        lines[i] = "".join(parts)


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain, priority=400)  # before numpydoc
