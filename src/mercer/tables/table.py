"""A table: named columns of numbers or words, which knows the line that each row came from."""

from dataclasses import dataclass, field, replace

import numpy as np

MOST_COLUMNS = 65_536  # in use at once: a wider table is most often one that lies on its side
LARGEST_WHOLE = 2.0**53  # up to which every whole number is a float
SHOWN = 3  # names, cells or lines that an error lists before it says how many more there are


class TableError(ValueError):
    """A table that cannot be used as it is; the message is one line that says where and what to do."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length: float64 where all cells are numbers (NaN = missing), else objects (None = missing).

    ``mixed`` says of each column that has both numbers and words where the first words are. ``others`` are columns of
    the source that were not read.
    """

    columns: dict[str, np.ndarray]
    source: str = "the table"
    lines: np.ndarray | None = None  # of each row in a text
    mixed: dict[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    named: bool = True  # whether the names are the source's own

    def __len__(self):
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self):
        """The names of the columns that were read."""
        return list(self.columns)

    def place(self, row, name):
        """Where a cell is, in words."""
        line = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.source}: {line}, column {name!r}"

    def take(self, rows):
        """Some of the rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(self, columns=columns, lines=None if self.lines is None else self.lines[rows])

    def renamed(self, names):
        """The columns under other names (new → old)."""
        mixed = {new: self.mixed[old] for new, old in names.items() if old in self.mixed}
        return replace(self, columns={new: self.columns[old] for new, old in names.items()}, mixed=mixed)

    def numbers(self, name):
        """A column of numbers, all finite or missing; an error names the first cell that is not."""
        values = self.columns[name]
        if name in self.mixed:
            raise TableError(self.mixed[name])
        if values.dtype == object:
            raise TableError(
                f"{self.source}: column {name!r} holds words ({_some(known(values))}). Leave it out with "
                f"--exclude {name!r}, make it the --target, or code it with --categorical one-hot; if these are "
                "numbers with decimal commas, pass --decimal ','."
            )
        infinite = np.isinf(values)
        if infinite.any():
            raise TableError(f"{self.place(int(infinite.argmax()), name)}: the number is not finite.")
        return values

    def is_words(self, name):
        """Whether no cell of a column is a number."""
        return self.columns[name].dtype == object and name not in self.mixed

    def labels(self, name):
        """A column as classes: whole numbers where all cells are, else what stands there; none may be missing."""
        values = self.columns[name]
        missing = absent(values)
        if missing.any():
            raise TableError(f"{self.place(int(missing.argmax()), name)}: the target is missing.")
        return self.written(name)

    def written(self, name):
        """A column as it is written: whole numbers without a decimal point, None where a cell is missing."""
        values = self.columns[name]
        if values.dtype == object:
            return values
        there = values[~np.isnan(values)]
        if np.all(np.abs(there) < LARGEST_WHOLE) and np.all(there == np.round(there)):
            if len(there) == len(values):
                return values.astype(int)
            return np.array([None if np.isnan(value) else int(value) for value in values], dtype=object)
        return np.array([None if np.isnan(value) else value for value in values.tolist()], dtype=object)


def as_table(data):
    """Return a table, a data frame (pandas, polars) or an array as a ``Table``."""
    if isinstance(data, Table):
        return data
    if hasattr(data, "columns"):
        return Table({str(name): _of_frame(data[name]) for name in data.columns}, "the data frame")
    data = np.asarray(data, float)
    return Table({f"x{i}": values for i, values in enumerate(data.T)}, "the array", named=False)


def _of_frame(values):
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return values.astype(float)
    words = [None if value is None or str(value) in {"nan", "<NA>"} else str(value) for value in values]
    return np.array(words, dtype=object)


def absent(values):
    """Which cells of a column are missing."""
    return np.array([value is None for value in values], bool) if values.dtype == object else np.isnan(values)


def known(words):
    """The different words of a column, in order."""
    return sorted({word for word in words if word is not None})


def _some(words):
    more = len(words) - SHOWN
    return ", ".join(map(repr, words[:SHOWN])) + (f" and {more} more" if more > 0 else "")


def check_names(names, source):
    """Refuse names that are empty or there twice."""
    seen: dict[str, int] = {}
    for i, name in enumerate(names, 1):
        if not name:
            raise TableError(
                f"{source}: column {i} has no name. Give it one (if it numbers the rows, save the table without it)."
            )
        if name in seen:
            raise TableError(f"{source}: columns {seen[name]} and {i} are both named {name!r}.")
        seen[name] = i


def choose(names, source, columns=(), exclude=(), beside=()):
    """The names to use, in the order of the table: those of ``columns`` or all, less ``exclude`` and ``beside``."""
    for name in (*columns, *exclude, *beside):
        if name not in names:
            raise TableError(f"{source}: there is no column {name!r}. {_there_are(names)}")
    wanted = set(columns or names) - set(exclude) - set(beside)
    chosen = [name for name in names if name in wanted]
    if not chosen:
        raise TableError(f"{source}: no column is left to use. {_there_are(names)}")
    if len(chosen) > MOST_COLUMNS:
        raise TableError(
            f"{source}: {len(chosen)} columns, and at most {MOST_COLUMNS} are used at once. If the table lies on its "
            "side, turn it; else choose some with --columns."
        )
    return chosen


def _there_are(names):
    return f"It has {_some(list(names))}."
