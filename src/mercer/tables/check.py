"""A check of a table before a fit: what is in each column, what ``fit`` does with it, and how to change that."""

import csv
import io
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from .._core.text import plural
from .kinds import FEW, Kind, kind_of
from .table import SHOWN, Table, TableError, as_table, categories_of, choose, is_missing

CATEGORICAL = ("auto", "one-hot", "kernel", "error")
NEARLY = 0.99  # share of one value from which a column is nearly constant
UNSCALED = 100  # ratio of standard deviations from which scales differ
OUTLYING = 20  # robust standard deviations from the median
NORMAL_IQR = 1.349  # interquartile range of a normal distribution with variance 1
MANY_CLASSES = 20  # different numbers from which a target may be continuous
ROWS_PER_CLASS = 5
TARGETS = {"y", "target", "label", "labels", "class", "classes", "outcome", "response"}
LEFT_OUT, REFUSED, ENCODED, USED = "left out", "refused", "one-hot encoded", "used"
COMPARED = "compared as a category"  # by a kernel of categories
HEAD = ("column", "found", "in fit", "to change it")
WIDEST = (20, 34, 22, 1000)  # characters in a line of each: longer cells take several lines, except for options
SEPARATE = 8  # columns with the same finding that are listed one by one
TEXTS = {"category", "many", "text", "id"}


class Finding(NamedTuple):
    """A finding: the column ("" for the whole table), its kind, what was found, what ``fit`` does, and the option that
    changes it."""

    column: str
    kind: str
    found: str
    action: str
    option: str


@dataclass(frozen=True, eq=False)
class Check:
    """The findings about a table (``table``), and what ``fit`` does with each column (``actions``: name ↦ action)."""

    source: str
    n_rows: int
    actions: dict[str, str]
    table: list[Finding]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def unused(self) -> list[str]:
        """The columns that are left out or refused."""
        return [name for name, action in self.actions.items() if action in {LEFT_OUT, REFUSED}]

    def __str__(self) -> str:
        head = f"{self.source}: {plural(self.n_rows, 'row')}, {plural(len(self.actions), 'column')}"
        if not self.table:
            return f"{head}\nNothing was found; all columns are used as numbers."
        rows = [line for row in [HEAD, *_grouped(self.table)] for line in _lines(row)]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([head, "", *lines])

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{cell}</th>" for cell in HEAD)
        rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _grouped(self.table)]
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _lines(row: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the lines of a row of the printed table."""
    cells = [
        wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        for cell, width in zip(row, WIDEST, strict=True)
    ]
    return list(zip_longest(*cells, fillvalue=""))


def _grouped(table: list[Finding]) -> list[tuple[str, ...]]:
    """Return the cells of each finding; those of one kind and action in one row if there are many."""
    alike = Counter((row.kind, row.action) for row in table)
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in table:
        key = (row.kind, row.action)
        if alike[key] <= SEPARATE:
            rows[(*key, row.column)] = row.column or "(table)", f"{row.kind}: {row.found}", row.action, row.option
        elif key not in rows:
            option = row.option.replace(_quoted(row.column), f"{_quoted(row.column)},…")
            rows[key] = f"{row.column}, …", f"{row.kind}: {alike[key]} columns", row.action, option
    return list(rows.values())


def check(
    data: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categorical: str = "auto",
    classes: bool = True,
) -> Check:
    """Check a table before a model is fitted to it: what is in its columns, and what a fit does with them.

    Parameters
    ----------
    data : DataFrame, array-like or Table
        The table.
    target : str, default=None
        The column of the target, which is not a feature.
    columns, include, exclude : sequence of str, default=()
        Columns to use instead of all; columns to use although they look like an id; columns to leave out.
    categorical : {"auto", "one-hot", "kernel", "error"}, default="auto"
        Texts: one-hot encode up to 20 categories and refuse more; encode all; compare all by a kernel of categories,
        which treats a missing one as a category of its own; refuse all.
    classes : bool, default=True
        Whether the target should be classes; a target with many different numbers is then a finding.

    Returns
    -------
    check : Check
        ``table``, a list of findings with the fields column, kind, found, action and option; ``actions``, what ``mercer
        fit`` does with each column. It prints as a table; ``pandas.DataFrame(check.table)`` converts it to a data
        frame.

    Examples
    --------
    >>> import mercer, pandas as pd
    >>> frame = pd.DataFrame({"id": range(50), "day": pd.date_range("2024-01-01", periods=50), "x": 0.5})
    >>> frame["z"] = frame["id"] ** 2 / 7
    >>> for row in mercer.check(frame):
    ...     print(row.column, row.kind, row.action)
    id id left out
    day date left out
    x constant used
    """
    table = as_table(data)
    findings = column_findings(table, target, columns, include, exclude, categorical)
    actions = {row.column: row.action for row in findings}
    used = [name for name, action in actions.items() if action not in {LEFT_OUT, REFUSED}]
    found = [row for row in findings if row.kind != "number" or "text" in row.found]
    for more in (_missing, _constants, _outlying, _duplicates, _scales):
        found += more(table, used)
    compared = {name for name, action in actions.items() if action == COMPARED}
    found = [
        row._replace(action="a category of its own", option="") if _is_absent(row, compared) else row for row in found
    ]
    found += _targets(table, target, used, classes)
    order = {name: i for i, name in enumerate([*table.names, ""])}
    return Check(table.source, len(table), actions, sorted(found, key=lambda row: order[row.column]))


def _is_absent(row: Finding, compared: set[str]) -> bool:
    return row.kind == "missing" and row.column in compared


def features(
    table: Table,
    columns: Sequence[str] = (),
    *,
    target: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categorical: str = "auto",
    strict: bool = False,
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns that a fit uses with their actions, and those that it leaves out with their kinds.

    An error names all columns that cannot be used, and with ``strict`` those that would be left out.
    """
    rows = column_findings(table, target, columns, include, exclude, categorical)
    refused = [row for row in rows if row.action == REFUSED or (strict and row.action == LEFT_OUT)]
    if refused:
        problems = "; ".join(_problem(table, row) for row in refused)
        texts = any(row.action == REFUSED and row.kind in TEXTS for row in refused)
        way = ", or encode categories with --categorical one-hot" if texts else ""
        names = _quoted(*(row.column for row in refused))
        raise TableError(f"{table.source}: {problems}. Leave out with --exclude {names}{way}.")
    used = {row.column: row.action for row in rows if row.action != LEFT_OUT}
    left_out = {row.column: row.kind for row in rows if row.action == LEFT_OUT}
    if not used:
        raise TableError(f"{table.source}: no column is left to use: {_listed(left_out)}. Use some with --include.")
    return used, left_out


def column_findings(
    table: Table,
    target: str | None,
    columns: Sequence[str],
    include: Sequence[str],
    exclude: Sequence[str],
    categorical: str,
) -> list[Finding]:
    """Return the kind and the action of each column that is selected."""
    if categorical not in CATEGORICAL:
        raise ValueError(f"categorical={categorical!r} is unknown: give one of {', '.join(map(repr, CATEGORICAL))}.")
    exclude = [name for name in exclude if name not in table.others]  # those were not even read
    chosen = choose(
        table.names, table.source, [*columns, *include] if columns else (), exclude, () if target is None else (target,)
    )
    named = {*columns, *include}
    lost = sorted(set(include) - set(chosen))
    if lost:
        raise TableError(f"{table.source}: there is no column {lost[0]!r} to include.")
    return [_of_kind(name, kind_of(table, name), name in named, categorical) for name in chosen]


def _problem(table: Table, row: Finding) -> str:
    if row.column in table.mixed:
        return table.mixed[row.column].removeprefix(f"{table.source}: ").removesuffix(".")
    if row.kind == "too large":
        return row.found
    if row.kind in TEXTS and row.action == REFUSED:
        words = categories_of(table.columns[row.column])
        shown = ", ".join(map(repr, words[:SHOWN])) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")
        return f"column {row.column!r} contains text ({shown})"
    advice = f" ({row.option})" if row.kind == "numeric text" else ""
    return f"column {row.column!r}: {row.kind}, {row.found}{advice}"


def _listed(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name!r} ({kind})" for name, kind in left_out.items())


def _of_kind(name: str, kind: Kind, named: bool, categorical: str) -> Finding:
    """Return what ``fit`` does with a column of some kind; ``named`` if the user asked for it by name."""

    def finding(action: str, option: str) -> Finding:
        return Finding(name, *kind, action, option)

    exclude = f"--exclude {_quoted(name)}"
    if kind.name in {"number", "boolean"}:
        return finding("used as 0 and 1" if kind.name == "boolean" else USED, exclude)
    if kind.name == "empty":
        return finding(REFUSED if named else LEFT_OUT, exclude)
    if kind.name == "date":
        return finding(REFUSED if named else LEFT_OUT, "add columns of numbers, such as the hour, to use it")
    if kind.name in {"mixed", "numeric text", "too large"}:
        comma = "; --decimal ',' for decimal commas" if kind.name == "numeric text" else ""
        return finding(REFUSED, f"correct the cells{comma}, or {exclude}")
    if kind.name in {"id", "text"} and not named:
        encode = "" if "numbers" in kind.found or categorical == "kernel" else " --categorical one-hot"
        return finding(LEFT_OUT, f"--include {_quoted(name)}{encode}")
    if kind.name == "id" and "numbers" in kind.found:
        return finding(USED, exclude)
    if categorical == "kernel":
        return finding(COMPARED, exclude)
    if categorical == "one-hot" or (kind.name == "category" and categorical == "auto"):
        return finding(ENCODED, exclude)
    return finding(REFUSED, f"--categorical one-hot, or {exclude}")


def _missing(table: Table, used: list[str]) -> list[Finding]:
    counts = {name: int(is_missing(table.columns[name]).sum()) for name in used}
    option = "--missing drop, mean or impute"
    return [
        Finding(name, "missing", f"{count} of {plural(len(table), 'cell')}", REFUSED, option)
        for name, count in counts.items()
        if count
    ]


def _numbers(table: Table, used: list[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the present and finite numbers of the numeric columns."""
    for name in used:
        values = table.parsed(name)
        if values is not None:
            yield name, values[np.isfinite(values)]


def _constants(table: Table, used: list[str]) -> list[Finding]:
    found = []
    for name, values in _numbers(table, used):
        kinds, counts = np.unique(values, return_counts=True)
        exclude = f"--exclude {_quoted(name)}"
        if len(kinds) == 1:
            found.append(Finding(name, "constant", f"always {kinds[0]:g}, without effect", USED, exclude))
        elif len(kinds) and counts.max() >= NEARLY * len(values):
            most = f"{counts.max() / len(values):.1%} of the cells are {kinds[counts.argmax()]:g}"
            share = f"{most}; scaling gives the others a large weight"
            found.append(Finding(name, "nearly constant", share, USED, exclude))
    return found


def _outlying(table: Table, used: list[str]) -> list[Finding]:
    found = []
    for name, values in _numbers(table, used):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]) if len(values) else (0.0, 0.0, 0.0)
        far = np.abs(values - middle) * NORMAL_IQR / (high - low) if high > low else np.zeros(len(values))
        count = int(np.sum(far > OUTLYING))
        if count:
            column = table.parsed(name)
            assert column is not None
            row = int(np.nanargmax(np.where(np.isfinite(column), np.abs(column - middle), -1)))
            place = table.place(row, name).removeprefix(f"{table.source}: ").partition(",")[0]
            worst = f"{plural(count, 'cell')} far from the others ({column[row]:g} in {place})"
            found.append(Finding(name, "outlying", worst, USED, f"correct the cells, or --exclude {_quoted(name)}"))
    return found


def _duplicates(table: Table, used: list[str]) -> list[Finding]:
    """Compare columns and rows by a hash of their cells."""
    found: list[Finding] = []
    seen: dict[bytes, str] = {}
    total = np.zeros(len(table), np.uint64)
    rng = np.random.default_rng(0)
    for name in used:
        values = table.parsed(name)
        codes = np.unique(table.columns[name].astype(str), return_inverse=True)[1] if values is None else values + 0.0
        bits = np.ascontiguousarray(codes, float).view(np.uint64)
        first = seen.setdefault(bits.tobytes(), name)
        if first != name and len(np.unique(bits)) > 1:
            found.append(Finding(name, "duplicate", f"equal to {first!r}", USED, f"--exclude {_quoted(name)}"))
        mixed = bits * rng.integers(2**63, dtype=np.uint64) * np.uint64(2) + bits
        total = (total ^ mixed ^ (mixed >> np.uint64(29))) * np.uint64(
            0x9E3779B97F4A7C15
        )  # an odd constant spreads bits
    repeated = len(total) - len(np.unique(total))
    if repeated:
        rows = f"{plural(repeated, 'row')} repeat{'s' * (repeated == 1)} an earlier one"
        found.append(Finding("", "duplicates", rows, USED, "remove them from the file"))
    return found


def _scales(table: Table, used: list[str]) -> list[Finding]:
    spreads = {name: float(values.std()) for name, values in _numbers(table, used) if len(values)}
    spreads = {name: sd for name, sd in spreads.items() if sd > 0}
    if not spreads or max(spreads.values()) < UNSCALED * min(spreads.values()):
        return []
    wide, narrow = max(spreads, key=spreads.__getitem__), min(spreads, key=spreads.__getitem__)
    ratio = f"{wide!r} varies {spreads[wide] / spreads[narrow]:.0f} times as much as {narrow!r}"
    return [Finding("", "scales", ratio, "columns are standardized", "--no-scale")]


def _targets(table: Table, target: str | None, used: list[str], classes: bool) -> list[Finding]:
    if target is None:
        last = used[-1] if used and table.is_text(used[-1]) and sum(map(table.is_text, used)) == 1 else None
        likely = [name for name in used if name.lower() in TARGETS or (name == last and name == table.names[-1])]
        option = "--exclude {0}, or --model classifier --target {0}"
        found = "it may be a target"
        return [
            Finding(name, "target", found, "used like any other column", option.format(_quoted(name)))
            for name in likely
        ]
    rows = []
    y = np.unique(table.columns[target].astype(str), return_inverse=True)[1]
    for name in used:
        x = np.unique(table.columns[name].astype(str), return_inverse=True)[1]
        if 0 < x.max() == y.max() < FEW and len(np.unique(x * (y.max() + 1) + y)) == y.max() + 1:
            rows.append(Finding(name, "target", f"it determines {target!r}", USED, f"--exclude {_quoted(name)}"))
    if classes and is_continuous(table.columns[target]):
        count = len(np.unique(table.columns[target]))
        found = f"{count} different numbers for {plural(len(table), 'row')}"
        rows.append(Finding(target, "continuous target", found, REFUSED, "--many-classes, if they are classes"))
    return rows


def is_continuous(values: np.ndarray) -> bool:
    """Return True if a target has so many different numbers that it is not likely to have classes."""
    if values.dtype == object:
        return False
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    whole = bool(np.all(distinct == np.round(distinct)))
    return len(distinct) > MANY_CLASSES and (not whole or len(present) < ROWS_PER_CLASS * len(distinct))


def _quoted(*names: str) -> str:
    """Return names as the shell and ``--exclude`` read them: in quotes where it is necessary."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return shlex.quote(text.getvalue())
