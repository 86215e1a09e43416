"""Links below each entry of the reference: to the section with its theory, and to the pages and examples that use it.

Both are found by searching the pages for the name; nothing is listed by hand except the order in which pages are
searched for the theory. A page uses a name if its code, or a word set as code, contains it.
"""

import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from mercer._core.registry import KERNELS, PREIMAGES, SOLVERS

DOCS = Path(__file__).parent.parent
EXAMPLES = DOCS.parent / "examples"
# Where the theory of a module's names is looked for; if no section has a name, the first page is linked.
THEORY = {
    "mercer.kernels": ("choosing-the-kernel", "guides/objects"),
    "mercer.eigen": ("guides/large-data", "parameters/landmarks", "how-it-works"),
    "mercer.preimage": ("denoising", "parameters/preimage"),
    "mercer.select": ("choosing-the-kernel", "guides/clustering", "denoising", "monitoring"),
    "mercer.monitor": ("monitoring",),
    "mercer.importance": ("choosing-the-kernel",),
    "mercer.plots": ("user-guide", "choosing-the-kernel", "denoising", "monitoring"),
    "mercer.datasets": ("user-guide", "equations"),
    "mercer.io": ("files",),
    "mercer.testing": ("guides/plugins", "correctness"),
    "mercer.rkhs": ("how-it-works", "equations"),
    "mercer.app": ("equations",),
}
ANY = (  # of names of the package itself
    *("user-guide", "files", "explorer", "guides/classifying", "guides/supervised", "guides/small-models"),
    *("guides/from-scikit-learn", "guides/large-data", "streams", "monitoring", "guides/plugins", "guides/onnx"),
    "first-half-hour",
)
LARGEST = 8  # pages listed


class Section(NamedTuple):
    """A heading of a page and the text below it."""

    page: str
    heading: str
    anchor: str
    text: str

    @property
    def url(self) -> str:
        """The address, as seen from the folder of the reference."""
        return f"../{self.page}.html" + (f"#{self.anchor}" if self.anchor else "")


class Page(NamedTuple):
    """A page or example: its name for Sphinx, its title and its code."""

    name: str
    title: str
    code: str


@cache
def reference() -> dict[str, Any]:
    """Return what the reference lists: full name ↦ object."""
    listed, module = {}, ""
    for line in (DOCS / "reference.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+(\.\w+)?", line):
            name = f"{module}.{line.strip()}"
            home, _, last = name.rpartition(".")
            listed[name] = getattr(import_module(home), last)
    return listed


def pattern(name: str) -> re.Pattern:
    """Return how code names an entry.

    A class is named by its name or the string under which it is registered, a function with its module or in an import.
    """
    home, _, last = name.rpartition(".")
    module = home.rpartition(".")[2]
    if last[0].isupper() and module != "dropin":
        strings = [f"|[\"'`]{each}[\"'`]" for each in registered(reference()[name])]
        return re.compile(rf"(?<![\w.])(?:\w+\.)?{last}\b(?!\w)" + "".join(strings))
    alone = rf"|`{last}[`(]" if "_" in last else ""  # other names of functions are also those of parameters
    return re.compile(rf"\b{module}\.{last}\b|from {re.escape(home)} import [^\n]*\b{last}\b{alone}")


def registered(value: Any) -> list[str]:
    """Return the strings that stand for a class in parameters."""
    return [name for registry in (KERNELS, SOLVERS, PREIMAGES) for name, cls in registry.items() if cls is value]


def users(name: str) -> list[Page]:
    """Return the pages, examples and other entries of the reference whose code contains a name."""
    found = [page for page in [*pages(), *entries()] if pattern(name).search(page.code)]
    return [page for page in found if page.name != f"generated/{name}"]


def makers(name: str) -> list[str]:
    """Return the functions that are annotated to return a class."""
    last = name.rpartition(".")[2]
    functions = {each: value for each, value in reference().items() if inspect.isfunction(value)}
    return [each for each, value in functions.items() if re.search(rf"\b{last}\b", _returned(value))]


def _returned(value: Any) -> str:
    annotation = inspect.signature(value).return_annotation
    return getattr(annotation, "__name__", str(annotation))


def theory(name: str) -> Section:
    """Return the first section that contains a name, of the pages on its module; that of its maker for a result."""
    places = next((places for module, places in THEORY.items() if name.startswith(module)), ANY)
    found = (section for page in places for section in sections(page) if pattern(name).search(code(section.text)))
    if section := next(found, None):
        return section
    made = makers(name)
    return theory(made[0]) if made else sections(places[0])[0]._replace(anchor="")


@cache
def entries() -> list[Page]:
    """Return the examples of the reference itself."""
    examples = {name: inspect.getdoc(value) or "" for name, value in reference().items()}
    lines = {name: "\n".join(re.findall(r"^(?:>>>|\.\.\.) (.*)$", text, re.M)) for name, text in examples.items()}
    return [Page(f"generated/{name}", name.removeprefix("mercer."), text) for name, text in lines.items()]


@cache
def pages() -> list[Page]:
    """Return all written pages and the examples of the gallery."""
    files = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "gallery", "generated"} & set(path.parts)]
    texts = {str(path.relative_to(DOCS).with_suffix("")): path.read_text(encoding="utf-8") for path in files}
    found = [Page(name, sections(name)[0].heading, code(text)) for name, text in texts.items()]
    for path in sorted(EXAMPLES.glob("plot_*.py")):
        text = path.read_text(encoding="utf-8")
        title = next(line for line in text.strip('"\n ').splitlines() if line.strip("= "))
        found.append(Page(f"gallery/{path.stem}", title.strip('"'), text))
    return found


@cache
def sections(page: str) -> list[Section]:
    """Split a page at its headings."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"^#{1,3} (.+)$", re.sub(r"^#(?!#* )", " #", text, flags=re.MULTILINE), flags=re.MULTILINE)[1:]
    return [Section(page, head, slug(head), body) for head, body in zip(parts[::2], parts[1::2], strict=True)]


def slug(heading: str) -> str:
    """Return the identifier that MyST gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def code(text: str) -> str:
    """Return the code of a text: blocks, and words set as code."""
    return "\n".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))


def links(name: str) -> str:
    """Return the lines below an entry."""
    section, found = theory(name), users(name)
    lines = [".. rubric:: Theory", f"`{section.heading.replace('`', '')} <{section.url}>`__"]
    if made := makers(name):
        lines += [".. rubric:: Returned by", ", ".join(f":func:`{each}`" for each in made)]
    if found:
        shown = [f":doc:`{page.title.replace('`', '')} </{page.name}>`" for page in found[:LARGEST]]
        more = f", and {len(found) - LARGEST} more" if len(found) > LARGEST else ""
        lines += [".. rubric:: Used in", ", ".join(shown) + more]
    return "\n\n".join(lines)


def read(app: Any, name: str, source: list[str]) -> None:
    """Add the links when Sphinx reads a page of the reference."""
    entry = name.removeprefix("generated/")
    if entry in reference():
        source[0] = f"{source[0].rstrip()}\n\n{links(entry)}\n"


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
