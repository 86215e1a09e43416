"""The built pages are checked: links within the site lead somewhere, and every picture has a text.

Sphinx warns of links that it resolves itself; this also finds those in raw HTML, in the pages of the gallery and in the
lists that the site adds, and anchors that no page has.
"""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "iframe": "src", "object": "data", "source": "src"}
OWN = {"_static", "_sources", "_downloads"}  # folders whose pages are not pages of the site


class Page(HTMLParser):
    """The links and anchors of a page, and its pictures without a text."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.silent: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and what refers to it."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if given.get(LINKS.get(tag, "")):
            self.links.append(given[LINKS[tag]])
        if tag == "img" and not given.get("alt", "").strip():
            self.silent.append(given.get("src", ""))


def problems(site: Path) -> list[str]:
    """Return a line for each dead link, each missing anchor and each picture without a text."""
    site = site.resolve()
    paths = [path for path in site.rglob("*.html") if not OWN & set(path.relative_to(site).parts)]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: no text for the picture {picture}" for picture in page.silent]
        found += [f"{name}: {link} leads nowhere" for link in page.links if not _leads(link, path, pages)]
    return found


def _leads(link: str, path: Path, pages: dict[Path, Page]) -> bool:
    """Return True if a link leads out of the site, or to a file and an anchor that exist."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors


def check(app: Any, error: Exception | None) -> None:
    """Fail a build whose pages have problems."""
    if error is None and app.builder.format == "html" and (found := problems(Path(app.outdir))):
        from sphinx.errors import ExtensionError

        raise ExtensionError("\n".join(found))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", check, priority=900)  # after other files have been written
    return {"parallel_read_safe": True}
