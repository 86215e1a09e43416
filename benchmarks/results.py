"""Figures of a benchmark, kept in a file: a run goes on where another stopped, and pages show what the file has.

``Results("name", command)`` reads and writes ``benchmarks/results/name.json``: the command, the date and the machine of
the run, and a figure or a list of figures for each key. ``table`` shows such a file.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"


class Results:
    """The figures of one benchmark by key; a file of another command is not continued."""

    def __init__(self, name, again=False):
        self.path, command = FOLDER / f"{name}.json", _command()
        kept = json.loads(self.path.read_text()) if self.path.exists() and not again else {}
        self.figures = kept.get("figures", {}) if kept.get("command") == command else {}
        self.head = {
            "command": command,
            "date": date.today().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "scikit-learn": version("scikit-learn"),
        }

    def once(self, work, *key):
        """Return the figures of a key, which are computed by ``work()`` unless the file has them."""
        name = " | ".join(map(str, key))
        if name not in self.figures:
            self.figures[name] = work()
            FOLDER.mkdir(exist_ok=True)
            self.path.write_text(json.dumps({**self.head, "figures": self.figures}, indent=0) + "\n")
        return self.figures[name]

    def publish(self, page, lines):
        """Print a table, and replace the one that stands in a page between comments with the name of the results."""
        print("\n".join(lines))
        told = f"`{self.head['command']}`, {self.head['date']}:"
        replace_block(page, self.path.stem, [told, "", *lines])


def replace_block(page, name, lines):
    """Replace what stands in a page between comments with this name."""
    path, begin, end = DOCS / page, f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = path.read_text().partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n\n{end}{after}")


def table(name, columns):
    """Return a text: means over seeds ± standard errors of the figures with the keys (method, column, seed)."""
    kept, found = json.loads((FOLDER / f"{name}.json").read_text()), {}
    for key, figure in kept["figures"].items():
        method, column, _ = key.split(" | ")
        found.setdefault(method, {}).setdefault(column, []).append(figure)
    rows = {method: of for method, of in found.items() if set(columns) <= set(of)}
    wide = max(map(len, rows))
    lines = [f"{kept['command']}, {kept['date']}", "", " " * wide + "".join(f"{column:>15}" for column in columns)]
    for method, of in rows.items():
        cells = [(statistics.mean(of[c]), statistics.stdev(of[c]) / len(of[c]) ** 0.5) for c in columns]
        lines.append(f"{method:{wide}}" + "".join(f"{mean:8.2f} ± {error:.2f}" for mean, error in cells))
    return "\n".join(lines)


def _command():
    options = [option for option in sys.argv[1:] if option != "--again"]
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *options])


def options(doc, **defaults):
    """Return the options of the command line: numbers, each with a default for a full and for a quick run."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few minutes of one core")
    parser.add_argument("--again", action="store_true", help="ignore figures that are kept from an earlier run")
    for name, (full, quick) in defaults.items():
        parser.add_argument(f"--{name}", type=int, help=f"default: {full}, or {quick} with --quick")
    given = parser.parse_args()
    for name, pair in defaults.items():
        if getattr(given, name) is None:
            setattr(given, name, pair[given.quick])
    return given
