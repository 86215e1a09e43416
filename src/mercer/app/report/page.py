"""An HTML page from text, tables, figures and code. Everything except the figures is escaped."""

import os
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..._core.text import visible

NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-+]?\d+)?\s?\S{0,2}|nan|inf|–?")  # with a unit of at most two letters


@dataclass(frozen=True)
class Table:
    """Rows of cells with a head; columns of numbers are aligned right, others left."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def kind(self, j: int) -> str:
        """Return the CSS class of column j: ``"number"`` or ``"words"``."""
        return "number" if all(NUMBER.fullmatch(row[j]) for row in self.rows) else "words"


@dataclass(frozen=True)
class Figure:
    """A figure drawn by mercer, as SVG."""

    svg: str


@dataclass(frozen=True)
class Section:
    """A section of the page: a heading, text, figures side by side, tables, code and notes."""

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    code: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


def page(title: str, lead: Sequence[str], sections: Sequence[Section], mark: str) -> str:
    """Return the page as HTML; everything that comes from data is escaped."""
    from jinja2 import Environment
    from markupsafe import Markup

    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_shown)
    environment.filters["drawn"] = lambda figure: Markup(figure.svg)  # the only text that is not escaped
    return environment.from_string(template).render(
        title=title, lead=lead, sections=sections, mark=mark, versions=versions()
    )


def _shown(value: Any) -> Any:
    """Return a text with its control and bidirectional characters escaped, line by line; figures as they are."""
    return "\n".join(map(visible, value.split("\n"))) if type(value) is str else value


@contextmanager
def drawn(name: str) -> Iterator[list[Figure]]:
    """Collect the plots drawn inside the block as figures of a page."""
    from ... import plots

    figures: list[Figure] = []
    with plots.captured(name) as svgs:
        yield figures
    figures += [Figure(svg) for svg in svgs]


def write(path: Any, text: str) -> None:
    """Write the file atomically: a reader sees the old page or the new one."""
    from ..._core.atomic import replacing

    with replacing(path) as file:
        file.write(text.encode())


def versions() -> str:
    """Return the versions of the libraries and the machine, because times and last digits depend on them."""
    import numpy as np
    import sklearn

    import mercer

    return (
        f"mercer {mercer.__version__} · Python {platform.python_version()} · NumPy {np.__version__} · "
        f"scikit-learn {sklearn.__version__} · {platform.machine()}, {os.cpu_count()} cores"
    )
