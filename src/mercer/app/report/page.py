"""One page from parts: text, tables, pictures and code, each shown as what it is and never as markup."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-+]?\d+)?\s?\S{0,2}|nan|inf|–?")  # with a unit of two letters at most


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; numbers stand right, words left."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def kind(self, j: int) -> str:
        """What the j-th column holds: ``"number"`` or ``"words"``."""
        return "number" if all(NUMBER.fullmatch(row[j]) for row in self.rows) else "words"


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, which mercer itself has drawn."""

    svg: str


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, text, pictures side by side, tables, and the code that made them."""

    title: str
    text: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    code: str = ""
    notes: Sequence[str] = field(default_factory=tuple)


def page(title: str, lead: Sequence[str], sections: Sequence[Section], mark: str) -> str:
    """Return the page as one HTML text; whatever comes from data is escaped."""
    from jinja2 import Environment
    from markupsafe import Markup

    template = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["drawn"] = lambda figure: Markup(figure.svg)  # the only text that is markup
    return environment.from_string(template).render(
        title=title, lead=lead, sections=sections, mark=mark, versions=versions()
    )


@contextmanager
def drawn(name: str) -> Iterator[list[Figure]]:
    """Collect what is drawn inside the block as figures of a page."""
    from ... import plots

    figures: list[Figure] = []
    with plots.captured(name) as svgs:
        yield figures
    figures += [Figure(svg) for svg in svgs]


def write(path: Any, text: str) -> None:
    """Write the text in one step, so that a reader sees the old page or the new one."""
    from ..._core.atomic import replacing

    with replacing(path) as file:
        file.write(text.encode())


def versions() -> str:
    """Say what computed the figures, since times and last digits depend on it."""
    import numpy as np
    import sklearn

    import mercer

    return (
        f"mercer {mercer.__version__} · Python {platform.python_version()} · NumPy {np.__version__} · "
        f"scikit-learn {sklearn.__version__} · {platform.machine()}, {os.cpu_count()} cores"
    )
