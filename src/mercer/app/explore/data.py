"""The rows that the explorer shows: a table, which of its columns are variables, and which are pictures."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.text import plural
from ...tables import Recipe, Table, TableError, learn
from ...tables.check import ENCODED, LEFT_OUT, REFUSED, column_findings
from ...tables.table import as_table, categories_of, is_missing

MOST_ROWS = 2_000_000
MOST_COLUMNS = 5_000
MOST_CELLS = 100_000_000  # 800 MB of float64
LEAST_ROWS = 3
DRAWN = 100_000  # rows on the map: a random part of larger tables
LEAST_SIDE = 8  # of a picture that is found without being named
SMOOTH = 0.3  # mean correlation of neighbouring columns from which a square of columns is taken for a picture
LOOKED_AT = 500  # rows by which that is judged
FEW = 12  # whole numbers that are coloured as kinds, not by their size
TYPICAL = (0.05, 0.5, 0.95)  # quantiles that a value is shown beside


@dataclass(frozen=True, eq=False)
class Data:
    """A table with the choice of its variables."""

    table: Table
    columns: list[str]
    name: str
    target: str | None = None
    missing: str = "error"
    categorical: str = "auto"
    image: tuple[int, int] | None = None  # height and width of the picture in each row, as the user gives them
    notes: list[str] = field(default_factory=list)
    code: str | None = None  # Python that makes the rows X, if they come from no file
    marks: dict[tuple[str, bool], float] = field(init=False, default_factory=dict)  # γ by the median rule, when known
    learned: dict[bool, tuple[Recipe, Any]] = field(init=False, default_factory=dict)  # recipes and rows, when known

    def __post_init__(self) -> None:
        """Refuse what the page cannot show."""
        n, d, (height, width) = len(self.table), len(self.columns), self.image or (1, len(self.columns))
        most, pixels = f"({MOST_ROWS:,} rows, {MOST_CELLS:,} cells)", height * width
        is_large = n > MOST_ROWS or n * d > MOST_CELLS
        problems = {
            f"it has {plural(n, 'row')}, and a map needs at least {LEAST_ROWS}.": n < LEAST_ROWS,
            f"it has {d} variables, and the explorer takes {MOST_COLUMNS}. Choose with --columns.": d > MOST_COLUMNS,
            f"{n:,} × {d} is more than the explorer takes {most}. Explore a sample of the rows.": is_large,
            f"a picture of {height} x {width} has {pixels} pixels, and there are {d} variables.": pixels != d,
        }
        for problem, holds in problems.items():
            if holds:
                raise TableError(f"{self.name}: {problem}")

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, scale: bool) -> tuple[Recipe, Any]:
        """Return the recipe with or without scaling to mean 0 and variance 1, and the rows that it makes."""
        if scale not in self.learned:
            options = {"missing": self.missing, "categorical": self.categorical, "target": self.target}
            recipe = learn(self.table, self.columns, scale=scale, **options)  # type: ignore[arg-type]
            self.learned[scale] = recipe, recipe.apply(self.table)[0]
        return self.learned[scale]

    @cached_property
    def drawn(self) -> Any:
        """The rows on the map: all of them, or a random part of a large table."""
        n, rng = len(self), np.random.default_rng(0)
        return np.arange(n) if n <= DRAWN else np.sort(rng.choice(n, DRAWN, replace=False))

    @cached_property
    def picture(self) -> tuple[int, int] | None:
        """Height and width of the picture in each row, as given or as found; None if the rows are not pictures."""
        cells = [self.table.columns[name] for name in self.columns]
        if self.image or any(values.dtype == object for values in cells):
            return self.image
        return picture_shape(np.column_stack(cells))

    @cached_property
    def typical(self) -> list[list[float] | None]:
        """The 5 %, 50 % and 95 % quantiles of each variable; None for words."""
        cells = [self.table.columns[name] for name in self.columns]
        return [None if x.dtype == object else np.nanquantile(x, TYPICAL).tolist() for x in cells]

    @cached_property
    def range(self) -> list[float] | None:
        """The smallest and the largest value of all variables, for the grey scale of pictures."""
        X = None if self.picture is None else self.rows(False)[1]
        return None if X is None else [float(X.min()), float(X.max())]


def of_table(
    table: Table,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    target: str | None = None,
    missing: str = "mean",
    categorical: str = "auto",
    include: Sequence[str] | None = None,
    image: tuple[int, int] | None = None,
) -> Data:
    """Choose the variables of a table as ``mercer fit`` does; what that refuses is left out."""
    found = column_findings(table, target, columns or (), include or (), exclude or (), categorical)
    unused = [row for row in found if row.action in {LEFT_OUT, REFUSED}]
    encoded = [row.column for row in found if row.action == ENCODED]
    variables = [row.column for row in found if row not in unused]
    why = _some([f"{row.column} ({row.kind})" for row in unused])
    notes = [f"Not variables, but rows can be coloured by them: {why}."] if unused else []
    notes += [f"One-hot encoded: {_some(encoded)}."] if encoded else []
    if not variables:
        raise TableError(f"{name}: no column of numbers is left. {' '.join(notes)}")
    gaps = sum(int(is_missing(table.columns[c]).sum()) for c in variables)
    missing = missing if gaps else "error"
    if missing == "mean":
        notes.append(f"{gaps} empty cells are filled with the mean of their column.")
    if missing == "drop":
        kept = ~np.any([is_missing(table.columns[c]) for c in variables], axis=0)
        notes.append(f"{int((~kept).sum())} rows with empty cells are left out.")
        table = table.take(np.flatnonzero(kept))
    return Data(table, variables, name, target, missing, categorical, image, notes)


def of_model(table: Table, recipe: Recipe, name: str, image: Any = None) -> Data:
    """Take the rows of a table as the recipe of a fitted model asks for them."""
    match = recipe.match(table.names, table.named, name)
    beside = {c: c for c in table.names if c not in match.values() and c not in match}
    table = table.renamed(match | beside)
    _, kept = recipe.apply(table)
    notes = [] if len(kept) == len(table) else [f"{len(table) - len(kept)} rows with empty cells are left out."]
    filled = "mean" if recipe.missing in {"mean", "impute"} else "error"
    target = recipe.target if recipe.target in table.names else None
    return Data(table.take(kept), recipe.columns, name, target, filled, "one-hot", image, notes)


def of_rows(X: Any, names: Sequence[str] | None = None, target: Any = None) -> Data:
    """Take an array or a data frame as it is; ``target`` is a class for each row."""
    try:
        table = as_table(dense(X))
    except ValueError as error:
        raise ValueError(f"The explorer shows rows of numbers, and these are others: {error}.") from None
    if names is not None and len(names) != len(table.names):
        raise ValueError(f"{plural(len(names), 'name')} for {plural(len(table.names), 'column')} were given.")
    if names is not None:
        table = table.renamed(dict(zip(map(str, names), table.names, strict=True)))
    label = None if target is None else free("target", table.columns)
    if label is not None:
        values = np.asarray(target)
        if values.shape != (len(table),):
            raise ValueError(f"target has the shape {values.shape}, and there are {len(table)} rows.")
        values = values.astype(float) if values.dtype.kind in "biuf" else np.array([str(v) for v in values], object)
        table = replace(table, columns=table.columns | {label: values})
    names = [name for name in table.names if name != label]
    data = of_table(table, table.source, columns=names, target=label, missing="error", categorical="error")
    return replace(data, code="# X: the rows that were given")


def rows_of(model: Any) -> Any:
    """Return the rows that a model keeps."""
    rows = getattr(model, "anchors_", getattr(model, "X_fit_", None))
    if rows is None or np.ndim(rows) != 2 or rows.shape[1] != getattr(model, "n_features_in_", None):
        raise ValueError(f"{type(model).__name__} does not keep rows of its own: give the rows to show it on.")
    return rows


def digits() -> Data:
    """Return scikit-learn's handwritten digits, which need no file."""
    from sklearn.datasets import load_digits

    found = load_digits()
    code = "from sklearn.datasets import load_digits\n\nX, y = load_digits(return_X_y=True)"
    return replace(of_rows(found.data, found.feature_names, found.target), name="digits", code=code)


def all_columns(names: Sequence[str], named: bool, more: Sequence[str] = ()) -> list[str]:
    """Choose all columns of a table that is read; too many are refused."""
    if len(names) > MOST_COLUMNS:
        raise TableError(f"The table has {len(names)} columns, and the explorer takes {MOST_COLUMNS}.")
    return list(names)


def picture_shape(X: Any) -> tuple[int, int] | None:
    """Return (side, side) where the columns are a square whose neighbouring columns go together, else None."""
    side = int(np.sqrt(X.shape[1]))
    if side * side != X.shape[1] or side < LEAST_SIDE:
        return None
    X = X[np.linspace(0, len(X) - 1, min(len(X), LOOKED_AT)).astype(int)]
    Z = X - np.nanmean(X, axis=0)
    spread = np.sqrt(np.nanmean(Z**2, axis=0))
    Z = np.nan_to_num(Z / np.where(spread > 0, spread, 1)).reshape(len(X), side, side)
    across = np.mean(Z[:, :, 1:] * Z[:, :, :-1], axis=0)[(spread.reshape(side, side) > 0)[:, 1:]]
    down = np.mean(Z[:, 1:] * Z[:, :-1], axis=0)[(spread.reshape(side, side) > 0)[1:]]
    smooth = min((float(part.mean()) if part.size else 0.0) for part in (across, down))
    return (side, side) if smooth > SMOOTH else None


def colours(data: Data, name: str) -> tuple[Any, list[str] | None]:
    """Return a number for each row by which it is coloured, and what the numbers stand for where they are words."""
    values = data.table.columns[name]
    if values.dtype != object:
        kinds = np.unique(values[~np.isnan(values)])
        if len(kinds) > FEW or np.any(kinds != np.round(kinds)):
            return values, None
        return np.where(np.isnan(values), np.nan, np.searchsorted(kinds, values)), [f"{kind:g}" for kind in kinds]
    words = categories_of(values)
    code = {word: i for i, word in enumerate(words)}
    return np.array([code.get(word, np.nan) for word in values], float), words


def dense(X: Any) -> Any:
    """Return rows that are not sparse."""
    return X.toarray() if hasattr(X, "toarray") else X


def free(name: str, taken: Container[str]) -> str:
    """Return a name that no column has yet."""
    while name in taken:
        name += "_"
    return name


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
