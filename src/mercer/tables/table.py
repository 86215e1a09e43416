"""A table: named columns of numbers or texts, with the line number of each row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

MOST_COLUMNS = 65_536  # columns in use at once: a wider table is usually transposed
LARGEST_WHOLE = 2.0**53  # up to which every whole number is a float
LARGEST = 1e150  # number whose squares, and sums of them, do not overflow
SHOWN = 3  # names, cells or lines that an error message lists
NUMERIC = "biuf"  # NumPy's codes of booleans, integers and floats

BOOLEANS = dict.fromkeys(("true", "yes", "t", "y", "on"), 1.0) | dict.fromkeys(("false", "no", "f", "n", "off"), 0.0)
NUMBER_STARTS = tuple("0123456789+-.")

Names = Sequence[str]
Select = Callable[..., list[str]]  # (all names, whether they are from a header, extra names) → names to read


class TableError(ValueError):
    """A table that cannot be used; the message is one line that says where and what to do."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length: float64 if all cells are numbers (NaN = missing), else objects (None = missing).

    ``mixed`` has an error message for each column with both numbers and texts. ``others`` are columns of the source
    that were not read.
    """

    columns: dict[str, np.ndarray]
    source: str = "the table"
    lines: np.ndarray | None = None  # line number of each row in a text file
    mixed: dict[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    named: bool = True  # whether the names come from the source
    reading: dict[str, Any] = field(default_factory=dict)  # arguments of ``read`` that are not the defaults

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self) -> list[str]:
        """The names of the columns that were read."""
        return list(self.columns)

    def place(self, row: int, name: str) -> str:
        """Return the position of a cell for an error message."""
        line = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.source}: {line}, column {name!r}"

    def take(self, rows: np.ndarray) -> "Table":
        """Return some of the rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(self, columns=columns, lines=None if self.lines is None else self.lines[rows])

    def renamed(self, names: dict[str, str]) -> "Table":
        """Return a table with renamed columns (new → old)."""
        mixed = {new: self.mixed[old] for new, old in names.items() if old in self.mixed}
        return replace(self, columns={new: self.columns[old] for new, old in names.items()}, mixed=mixed)

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of finite or missing numbers; an error names the first other cell."""
        if name in self.mixed:
            raise TableError(self.mixed[name])
        values = self.parsed(name)
        if values is None:
            values = self.columns[name]
            raise TableError(
                f"{self.source}: column {name!r} contains text ({_first(categories_of(values))}). Leave it out with "
                f"--exclude {name!r}, use it as --target, or encode it with --categorical one-hot; if these are "
                "numbers with decimal commas, pass --decimal ','."
            )
        if (problem := self.overflow(name)) is not None:
            raise TableError(problem)
        return values

    def overflow(self, name: str) -> str | None:
        """Return an error message that names the first number that is not finite or too large, or None."""
        values = self.parsed(name)
        if values is None or not (large := np.abs(values) > LARGEST).any():
            return None
        row = int(large.argmax())
        large_one = f"{values[row]:g} is too large: squares of numbers beyond {LARGEST:g} overflow"
        return f"{self.place(row, name)}: the number {'is not finite' if np.isinf(values[row]) else large_one}."

    def parsed(self, name: str) -> np.ndarray | None:
        """Return a column as numbers, 0 and 1 for words such as "no" and "true"; None if it contains other texts."""
        values = self.columns[name]
        if values.dtype != object or name in self.mixed:
            return None if name in self.mixed else values
        found = {text: _number(text) for text in categories_of(values)}
        if None in found.values():
            return None
        return np.array([np.nan if text is None else found[text] for text in values])

    def is_text(self, name: str) -> bool:
        """Return True if a column contains texts that are neither numbers nor booleans."""
        return name not in self.mixed and self.parsed(name) is None

    def labels(self, name: str) -> np.ndarray:
        """Return a column as class labels: integers if all cells are, else the cells; none may be missing."""
        missing = is_missing(self.columns[name])
        if missing.any():
            raise TableError(f"{self.place(int(missing.argmax()), name)}: the target is missing.")
        return self.written(name)

    def written(self, name: str) -> np.ndarray:
        """Return a column for output: whole numbers as integers, None for missing cells."""
        values = self.columns[name]
        if values.dtype == object:
            return values
        missing = np.isnan(values)
        present = values[~missing]
        whole = np.all(np.abs(present) < LARGEST_WHOLE) and np.all(present == np.round(present))
        if whole and not missing.any():
            return values.astype(int)
        kind = int if whole else float
        return np.array([None if np.isnan(value) else kind(value) for value in values.tolist()], dtype=object)


def as_table(data: Any) -> Table:
    """Convert a table, a data frame (pandas, polars) or an array to a ``Table``."""
    if isinstance(data, Table):
        return data
    if hasattr(data, "columns"):
        return Table({str(name): _from_series(data[name]) for name in data.columns}, "the data frame")
    data = np.asarray(data, float)
    return Table({f"x{i}": values for i, values in enumerate(data.T)}, "the array", named=False)


def _from_series(series: Any) -> np.ndarray:
    values = np.asarray(series)
    if values.dtype.kind in NUMERIC:
        return values.astype(float)
    texts = [None if value is None or str(value) in {"nan", "<NA>", "NaT"} else str(value) for value in values]
    return np.array(texts, dtype=object)


def _number(text: str) -> float | None:
    """Return the number that a text stands for, 0 or 1 for a boolean, None for any other text."""
    boolean = BOOLEANS.get(text.lower())
    if boolean is not None:
        return boolean
    try:
        return float(text) if text[:1] in NUMBER_STARTS and "_" not in text else None
    except ValueError:
        return None


def is_missing(values: np.ndarray) -> np.ndarray:
    """Return a mask of the missing cells of a column."""
    return np.array([value is None for value in values], bool) if values.dtype == object else np.isnan(values)


def categories_of(texts: Iterable[str | None]) -> list[str]:
    """Return the distinct texts of a column, sorted."""
    return sorted({text for text in texts if text is not None})


def _first(names: Names) -> str:
    more = len(names) - SHOWN
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def check_names(names: Names, source: str) -> None:
    """Raise an error for empty or duplicate names."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if not name:
            raise TableError(f"{source}: column {i} has no name. Add one, or leave the column out of the file.")
        if name in seen:
            raise TableError(f"{source}: columns {seen[name]} and {i} are both named {name!r}.")
        seen[name] = i


def choose(names: Names, source: str, columns: Names = (), exclude: Names = (), labels: Names = ()) -> list[str]:
    """Return the names to use, in table order: those of ``columns`` or all, except ``exclude`` and ``labels``."""
    available = f"It has {_first(list(names))}."
    for name in (*columns, *exclude, *labels):
        if name not in names:
            raise TableError(f"{source}: there is no column {name!r}. {available}")
    wanted = set(columns or names) - set(exclude) - set(labels)
    chosen = [name for name in names if name in wanted]
    if not chosen:
        raise TableError(f"{source}: no column is left to use. {available}")
    if len(chosen) > MOST_COLUMNS:
        raise TableError(
            f"{source}: {len(chosen)} columns, and at most {MOST_COLUMNS} can be used. Transpose the table if its rows "
            "are variables, or select some columns with --columns."
        )
    return chosen
