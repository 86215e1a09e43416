"""The recipe that converts tables to rows for a model and back; it is learned once and stored with the model."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._core.fields import Numbers
from .._core.registry import stored
from .check import COMPARED, ENCODED, features
from .table import Names, Table, TableError, as_table, categories_of, is_missing

PIPE, STANDARD_INPUT = "-", "standard input"
DEFAULTS: dict[str, Any] = {"columns": [], "include": [], "exclude": [], "target": None}  # of ``learn``
DEFAULTS |= {"categorical": "auto", "missing": "error", "scale": True}
MISSING = ("error", "drop", "mean", "impute")


@stored("tables.Recipe")
@dataclass(frozen=True, eq=False)
class Recipe:
    """The columns of a table, and how texts are encoded, missing values filled and columns scaled.

    Text columns are one-hot encoded by their ``categories``. Columns that are ``coded``, for a kernel of categories,
    become the numbers of their categories, with one additional number for missing and one for unknown ones. Then x ↦ (x
    − ``mean``) / ``scale``, where mean and scale are 0 and 1 for texts and for tables that are not scaled. A missing
    value is an error, its row is dropped, or it is filled with ``fill``, the mean of the column, or by the fitted
    ``imputer``. The source has ``width`` columns, of which ``left_out`` (name ↦ kind) are not features. It was learned
    from ``n_rows`` rows of ``source``, read with the options ``reading``, by the arguments ``choices`` of
    :func:`learn`; ``fingerprint`` is a digest of their cells.
    """

    columns: list[str]
    categories: dict[str, list[str]]
    missing: str
    fill: Annotated[np.ndarray, Numbers("d")]
    mean: Annotated[np.ndarray, Numbers("d")]
    scale: Annotated[np.ndarray, Numbers("d")]
    target: str | None = None
    named: bool = True
    width: int = 0
    imputer: Any = None
    left_out: dict[str, str] = field(default_factory=dict)
    source: str = ""
    reading: dict[str, Any] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    fingerprint: str = ""
    coded: list[str] = field(default_factory=list)

    @property
    def features(self) -> list[str]:
        """The names of the features of the model."""
        encoded = {name: [f"{name}={text}" for text in self.categories[name]] for name in self.encoded}
        return [feature for name in self.columns for feature in encoded.get(name, [name])]

    @property
    def encoded(self) -> list[str]:
        """The columns that are one-hot encoded."""
        return [name for name in self.categories if name not in self.coded]

    def rows(self, data: Any) -> np.ndarray:
        """Return the rows for the model, (n, d), from a ``Table``, a data frame or an array."""
        table = as_table(data)
        return self.apply(table.renamed(self.match(table.names, table.named, table.source)))[0]

    def match(self, names: Names, named: bool, source: str) -> dict[str, str]:
        """Map each column to its name in a source: the same name, or by position if one of them has no names."""
        if set(self.columns) <= set(names) and (named or len(names) == self.width):
            return {name: name for name in self.columns}
        if not (named and self.named):
            if len(names) == len(self.columns):
                return dict(zip(self.columns, names, strict=True))
            raise TableError(f"{source}: it has {len(names)} columns, and the model needs {len(self.columns)}.")
        lost = [name for name in self.columns if name not in names]
        more = f" and {len(lost) - 1} more of the model's columns are" if len(lost) > 1 else " is"
        raise TableError(f"{source}: the column {lost[0]!r}{more} missing.")

    def apply(self, table: Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows for the model, and their indices in the table."""
        X = self.encode(table)
        missing = np.isnan(X)
        if not missing.any():
            return self._scaled(X), np.arange(len(X))
        if self.missing == "error":
            self._raise_missing(table, missing.any(axis=1))
        if self.missing == "drop":
            kept = np.flatnonzero(~missing.any(axis=1))
            if len(kept) == 0:
                raise TableError(f"{table.source}: every row has a missing value, so --missing drop leaves no rows.")
            return self._scaled(X[kept]), kept
        if self.missing == "mean":
            return self._scaled(np.where(missing, self.fill, X)), np.arange(len(X))
        return self.imputer.transform(self._scaled(X)), np.arange(len(X))

    def encode(self, table: Table) -> np.ndarray:
        """Return the columns as numbers, with texts one-hot encoded and NaN for missing values: (n, d)."""
        parts = [self._encode(table, name) for name in self.columns]
        return np.hstack(parts) if self.categories else np.column_stack(parts)

    def _encode(self, table: Table, name: str) -> np.ndarray:
        if name not in self.categories:
            return table.numbers(name)[:, None]
        texts, code = table.columns[name], {text: i for i, text in enumerate(self.categories[name])}
        if texts.dtype != object:
            texts = np.array([None if np.isnan(x) else f"{x:g}" for x in texts], dtype=object)
        if name in self.coded:
            return np.array([[float(len(code) if text is None else code.get(text, len(code) + 1))] for text in texts])
        encoded = np.zeros((len(texts), len(code)))
        for row, text in enumerate(texts):
            if text is None:
                encoded[row] = np.nan
            elif text in code:
                encoded[row, code[text]] = 1
            else:
                raise TableError(f"{table.place(row, name)}: {text!r} is not a category of the model.")
        return encoded

    def _raise_missing(self, table: Table, incomplete: np.ndarray) -> None:
        row = int(incomplete.argmax())
        name = next(name for name in self.columns if name not in self.coded and is_missing(table.columns[name])[row])
        raise TableError(
            f"{table.place(row, name)}: the cell is empty ({int(incomplete.sum())} of {len(incomplete)} rows have "
            "missing values). Fit with --missing drop, mean or impute."
        )

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) / self.scale

    def table(self, X: Any) -> dict[str, np.ndarray]:
        """Convert rows of the model to columns of the table: original units, the most likely category of texts."""
        X, columns, start = np.asarray(X) * self.scale + self.mean, {}, 0
        for name in self.columns:
            texts = self.categories.get(name)
            if texts is None:
                columns[name] = X[:, start]
            elif name in self.coded:
                columns[name] = np.array([*texts, None, None], dtype=object)[X[:, start].round().astype(int)]
            else:
                columns[name] = np.array(texts, dtype=object)[X[:, start : start + len(texts)].argmax(axis=1)]
            start += 1 if texts is None or name in self.coded else len(texts)
        return columns


def fingerprint(table: Table, columns: Names) -> str:
    """Return a digest of the cells of some columns, by which the rows of a fit are recognised."""
    digest = hashlib.sha256()
    for name in columns:
        values = table.parsed(name)
        texts = [] if values is not None else ["" if text is None else text for text in table.columns[name]]
        digest.update("\0".join(texts).encode() if values is None else np.ascontiguousarray(values, float).tobytes())
    return digest.hexdigest()


def learn(
    table: Table,
    columns: Names = (),
    *,
    include: Names = (),
    exclude: Names = (),
    missing: str = "error",
    categorical: str = "auto",
    scale: bool = True,
    target: str | None = None,
    imputer: Any = None,
    strict: bool = False,
) -> Recipe:
    """Return the recipe for the features of a table, as ``mercer fit`` does.

    Ids, dates and free text are left out unless named in ``columns`` or ``include``; see :func:`mercer.check`. Means
    and scales are computed from the values that are not missing; a constant column has the scale 1.
    """
    given: dict[str, Any] = {
        "columns": list(columns),
        "include": list(include),
        "exclude": list(exclude),
        "target": target,
    }
    given |= {"categorical": categorical, "missing": missing, "scale": scale}
    used, left_out = features(
        table, columns, target=target, include=include, exclude=exclude, categorical=categorical, strict=strict
    )
    encoded = [name for name, action in used.items() if action in {ENCODED, COMPARED}]
    coded = [name for name, action in used.items() if action == COMPARED]
    if coded and missing == "impute":
        raise TableError(f"{table.source}: --missing impute fills numbers. Use drop or mean with --categorical kernel.")
    recipe = Recipe(
        columns=list(used),
        categories={name: categories_of(table.columns[name]) for name in encoded},
        missing=missing,
        fill=np.zeros(1),
        mean=np.zeros(1),
        scale=np.ones(1),
        target=target,
        named=table.named,
        width=len(table.names) + len(table.others),
        left_out=left_out,
        source=PIPE if table.source == STANDARD_INPUT else table.source,
        reading=table.reading,
        choices={name: value for name, value in given.items() if value != DEFAULTS[name]},
        n_rows=len(table),
        fingerprint=fingerprint(table, list(used)),
        coded=coded,
    )
    X = recipe.encode(table) if missing in {"mean", "impute"} else recipe.apply(table)[0]
    scaler = StandardScaler().fit(X)
    widths = [len(recipe.categories[name]) if name in recipe.encoded else 1 for name in used]
    unscaled = np.repeat([name in encoded or not scale for name in used], widths)
    means, scales = np.where(unscaled, 0.0, scaler.mean_), np.where(unscaled, 1.0, scaler.scale_)
    recipe = replace(recipe, fill=scaler.mean_, mean=means, scale=scales)
    return recipe if missing != "impute" else replace(recipe, imputer=imputer.fit(recipe._scaled(X)))
