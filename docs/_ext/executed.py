"""Pages that run: code blocks are executed when the site is built, and their outputs and figures are put below them.

A page is Markdown with three additions:

* A block ```` ```{run} ```` is executed; what it prints and draws is shown below it. The line ``:alt: text`` at its
  beginning describes the figure, ``:hide: yes`` folds the code away and puts it below the figure. A block
  ```` ```{shell} ```` runs commands in a temporary folder, those that begin with ``$``.
* ``{val}`x:.1%` `` is replaced by the value, formatted as in an f-string, after all blocks of the page have been run.
* A line ``% needs: data/usps umap r/kernlab`` names data sets, modules and packages of R without which the page cannot
  run. If one of them is missing, the outputs are those stored in docs/stored, with their date and the command that made
  them.

python docs/_ext/executed.py stories/digits      execute a page and store its outputs
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parent.parent
STORED = DOCS / "stored"
BUILT = DOCS / "_build" / "figures"
BLOCK = re.compile(r"^```\{(run|shell)\}\n((?::\w+:[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)
VALUE = re.compile(r"\{val\}`([^`]+)`")
NEEDS = re.compile(r"^% needs: (.+)$", re.MULTILINE)
COLUMNS = 92  # characters of a line that a page shows without scrolling
DPI = 110  # of figures; pages are 700 to 900 pixels wide


class Cell(NamedTuple):
    """What a block printed, and the files of its figures."""

    text: str
    figures: list[str]


class Page(NamedTuple):
    """The outputs of a page."""

    made: str
    code: str
    cells: list[Cell]
    values: list[str]


def command(name: str) -> str:
    """Return the command that executes and stores a page."""
    return f"python docs/_ext/executed.py {name}"


def missing(text: str) -> list[str]:
    """Return the data sets, modules and packages of R that a page needs and this machine does not have."""
    return [need for match in NEEDS.findall(text) for need in match.split() if not _present(need)]


def _present(need: str) -> bool:
    from mercer import datasets

    if need.startswith("r/"):
        load = ["Rscript", "-e", f"library({need.removeprefix('r/')})"]
        return shutil.which("Rscript") is not None and subprocess.run(load, capture_output=True).returncode == 0
    if not need.startswith("data/"):
        return importlib.util.find_spec(need) is not None
    try:
        datasets.find(need.removeprefix("data/"))
    except FileNotFoundError:
        return False
    return True


def digest(text: str) -> str:
    """Return a hash of all code of a page, by which stored outputs are known to belong to it."""
    code = [match[3] for match in BLOCK.finditer(text)] + VALUE.findall(text)
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def execute(name: str, text: str, folder: Path) -> Page:
    """Run all blocks of a page in order, write its figures into the folder, and return its outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    names: dict[str, Any] = {"__name__": "__main__", "DOCS": DOCS}
    stem = name.replace("/", "-")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch), warnings.catch_warnings(), _style():
        cells = [_cell(match, names, folder, f"{stem}-{i}") for i, match in enumerate(BLOCK.finditer(text))]
    values = [str(eval(f"f'''{{{expression}}}'''", names)) for expression in VALUE.findall(text)]
    return Page(_made(time.perf_counter() - start), digest(text), cells, values)


def _style() -> contextlib.AbstractContextManager:
    """Return the style of figures that are drawn within it: that of `mercer.plots`."""
    import matplotlib.pyplot as plt

    from mercer.plots.style import PALETTE, STYLE

    return plt.rc_context(STYLE | {"axes.prop_cycle": plt.cycler(color=PALETTE), "font.size": 9})


def _cell(match: re.Match, names: dict[str, Any], folder: Path, stem: str) -> Cell:
    """Run one block."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if match[1] == "shell":
            _shell(match[3])
        else:
            exec(compile(match[3], f"<{stem}>", "exec"), names)
    return Cell(printed.getvalue(), _figures(folder, stem))


def _shell(lines: str) -> None:
    """Print commands and what they print, standard error included, as in a terminal that breaks lines of text."""
    settings = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": str(COLUMNS)}
    for line in re.findall(r"^\$ (.+)$", lines, re.MULTILINE):
        ran = subprocess.run(
            line, shell=True, text=True, env=os.environ | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if ran.returncode:
            raise RuntimeError(f"{line!r} ended with {ran.returncode}: {ran.stdout}")
        print(f"$ {line}\n{_broken(ran.stdout)}".rstrip())


def _broken(text: str) -> str:
    """Break long lines of text; those of tables, which have several blanks in a row, stay whole."""
    lines = text.splitlines()
    return "\n".join(line if "  " in line.strip() else textwrap.fill(line, COLUMNS) for line in lines)


def _figures(folder: Path, stem: str) -> list[str]:
    """Write all open figures, close them, and return their names."""
    import matplotlib.pyplot as plt

    names = [f"{stem}-{number}.png" for number in plt.get_fignums()]
    for number, name in zip(plt.get_fignums(), names, strict=True):
        plt.figure(number).savefig(folder / name, dpi=DPI, facecolor="white", metadata={"Software": None})
    plt.close("all")
    return names


def _made(seconds: float) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("mercer", "numpy", "scikit-learn"))
    return f"{date.today()}, {seconds:.0f} s on {os.cpu_count()} cores, {libraries}"


def store(name: str) -> Page:
    """Execute a page and keep its outputs in docs/stored."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    if absent := missing(text):
        raise FileNotFoundError(f"{name} needs {', '.join(absent)}")
    for old in STORED.glob(f"{name.replace('/', '-')}-*.png"):
        old.unlink()
    page = execute(name, text, STORED)
    content = json.dumps(page._asdict() | {"cells": [cell._asdict() for cell in page.cells]}, indent=1)
    _stored(name).write_text(content + "\n", encoding="utf-8")
    return page


def stored(name: str) -> Page:
    """Return the stored outputs of a page."""
    read = json.loads(_stored(name).read_text(encoding="utf-8"))
    return Page(**read | {"cells": [Cell(**cell) for cell in read["cells"]]})


def _stored(name: str) -> Path:
    return STORED / f"{name.replace('/', '-')}.json"


def filled(name: str, text: str) -> str:
    """Return the Markdown of a page with its outputs, executed if everything that it needs is here."""
    absent = missing(text)
    page = stored(name) if absent else execute(name, text, BUILT)
    cells, values = iter(page.cells), iter(page.values)
    place = "/stored" if absent else "/_build/figures"
    text = BLOCK.sub(lambda match: _shown(match, next(cells), place), text)
    text = VALUE.sub(lambda match: next(values), text)
    note = f"Executed when this page was built: {page.made}."
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        note = f"Stored results, since {', '.join(absent)} {verb} missing here: `{command(name)}`, {page.made}."
    return f"{text}\n\n---\n\n*{note}*\n"


def _shown(match: re.Match, cell: Cell, place: str) -> str:
    """Return a block as code, output and figures."""
    options = dict(re.findall(r":(\w+): *(.*)", match[2]))
    code = f"```python\n{match[3]}```" if match[1] == "run" else ""
    output = f"```{{code-block}} text\n:class: output\n\n{cell.text.rstrip()}\n```" if cell.text.strip() else ""
    if match[1] == "shell":
        output = output.replace("{code-block} text\n:class: output\n", "{code-block} console\n")
    if cell.figures and "alt" not in options:
        raise ValueError(f"A block draws a figure and has no :alt: {match[3][:80]!r}")
    figures = [f"```{{image}} {place}/{name}\n:alt: {options['alt']}\n```" for name in cell.figures]
    parts = [code, output, *figures]
    if "hide" in options:  # below what it made
        parts = [*parts[1:], f"````{{dropdown}} The code\n:class-container: code-below\n\n{code}\n````"]
    return "\n\n".join(part for part in parts if part)


def read(app: Any, name: str, source: list[str]) -> None:
    """Fill a page in when Sphinx reads it."""
    if BLOCK.search(source[0]):
        source[0] = filled(name, source[0])


def outdated(app: Any, env: Any, *changes: set[str]) -> list[str]:
    """Return the pages that run: their outputs depend on the code of mercer, so that every build executes them."""
    return [name for name in env.found_docs if BLOCK.search(Path(env.doc2path(name)).read_text(encoding="utf-8"))]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    import matplotlib

    matplotlib.use("Agg")
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", read)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    for given in sys.argv[1:]:
        print(given, store(given).made)
