"""How a table becomes the rows that a model takes, and rows a table again: learned once, stored with the model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._core.registry import stored
from .table import TableError, absent, as_table, known

MISSING = ("error", "drop", "mean", "impute")


@stored("tables.Recipe")
@dataclass(frozen=True, eq=False)
class Recipe:
    """The columns of a table in their order, how words are coded, missing cells filled and columns scaled.

    A column of words becomes one column of 0 and 1 for each of its ``categories``. Then x ↦ (x − ``mean``) / ``scale``,
    which are 0 and 1 for words and for tables that are not scaled. A missing cell is refused, leaves its row out, is
    filled with ``fill``, the mean of its column, or by the fitted ``imputer``. ``width`` columns were in the source.
    """

    columns: list[str]
    categories: dict[str, list[str]]
    missing: str
    fill: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    target: str | None = None
    named: bool = True
    width: int = 0
    imputer: Any = None

    @property
    def features(self):
        """The names of the columns that the model sees."""
        coded = ([f"{name}={word}" for word in self.categories[name]] for name in self.categories)
        by_name = dict(zip(self.categories, coded, strict=True))
        return [feature for name in self.columns for feature in by_name.get(name, [name])]

    def rows(self, data):
        """Return the rows that the model takes, (n, d), of a ``Table``, a data frame or an array."""
        table = as_table(data)
        return self.apply(table.renamed(self.match(table.names, table.named, table.source)))[0]

    def match(self, names, named, source):
        """For each column the name that it has in a source: the same, or that at its place where names are none."""
        if set(self.columns) <= set(names) and (named or len(names) == self.width):
            return {name: name for name in self.columns}
        if not (named and self.named):
            if len(names) == len(self.columns):
                return dict(zip(self.columns, names, strict=True))
            raise TableError(f"{source}: it has {len(names)} columns, and the model takes {len(self.columns)}.")
        lost = [name for name in self.columns if name not in names]
        more = f" and {len(lost) - 1} more of the model's columns" if len(lost) > 1 else ""
        raise TableError(f"{source}: the column {lost[0]!r}{more} is missing.")

    def apply(self, table):
        """Return the rows that the model takes, and the numbers of the table's rows that they are."""
        X = self.coded(table)
        gaps = np.isnan(X)
        if not gaps.any():
            return self._scaled(X), np.arange(len(X))
        if self.missing == "error":
            self._refuse_gap(table, gaps)
        if self.missing == "drop":
            kept = np.flatnonzero(~gaps.any(axis=1))
            if len(kept) == 0:
                raise TableError(f"{table.source}: every row has a missing cell, and --missing drop leaves none.")
            return self._scaled(X[kept]), kept
        if self.missing == "mean":
            return self._scaled(np.where(gaps, self.fill, X)), np.arange(len(X))
        return self.imputer.transform(self._scaled(X)), np.arange(len(X))

    def coded(self, table):
        """Return the columns as numbers, words as 0 and 1, NaN where a cell is missing: (n, d)."""
        parts = [self._coded(table, name) for name in self.columns]
        return np.hstack(parts) if self.categories else np.column_stack(parts)

    def _coded(self, table, name):
        if name not in self.categories:
            return table.numbers(name)[:, None]
        words, code = table.columns[name], {word: i for i, word in enumerate(self.categories[name])}
        if words.dtype != object:
            words = np.array([None if np.isnan(x) else f"{x:g}" for x in words], dtype=object)
        coded = np.zeros((len(words), len(code)))
        for row, word in enumerate(words):
            if word is None:
                coded[row] = np.nan
            elif word in code:
                coded[row, code[word]] = 1
            else:
                raise TableError(f"{table.place(row, name)}: {word!r} is no category that the model knows.")
        return coded

    def _refuse_gap(self, table, gaps):
        row = int(gaps.any(axis=1).argmax())
        name = next(name for name in self.columns if absent(table.columns[name])[row])
        raise TableError(
            f"{table.place(row, name)}: the cell is empty ({int(gaps.any(axis=1).sum())} of {len(gaps)} rows have "
            "missing cells). Pass --missing drop, mean or impute to fit."
        )

    def _scaled(self, X):
        return (X - self.mean) / self.scale

    def table(self, X):
        """Return rows of the model as columns of the table: unscaled, words where they are most likely."""
        X, columns, start = np.asarray(X) * self.scale + self.mean, {}, 0
        for name in self.columns:
            words = self.categories.get(name)
            if words is None:
                columns[name] = X[:, start]
            else:
                columns[name] = np.array(words, dtype=object)[X[:, start : start + len(words)].argmax(axis=1)]
            start += 1 if words is None else len(words)
        return columns


def learn(table, columns, *, missing="error", categorical="error", scale=True, target=None, imputer=None):
    """Return the recipe for some columns of a table, by what they hold.

    Means and scales are those of the cells that are there; a constant column has the scale 1.
    """
    words = [name for name in columns if categorical == "one-hot" and table.is_words(name)]
    none, one = np.zeros(1), np.ones(1)
    recipe = Recipe(
        columns=list(columns),
        categories={name: known(table.columns[name]) for name in words},
        missing=missing,
        fill=none,
        mean=none,
        scale=one,
        target=target,
        named=table.named,
        width=len(table.names) + len(table.others),
    )
    for name in columns:
        if absent(table.columns[name]).all():
            raise TableError(f"{table.source}: column {name!r} is empty. Leave it out with --exclude {name!r}.")
    X = recipe.coded(table) if missing in {"mean", "impute"} else recipe.apply(table)[0]
    scaler = StandardScaler().fit(X)
    plain = np.repeat([name in words or not scale for name in columns], [_width(recipe, name) for name in columns])
    recipe = replace(
        recipe,
        fill=scaler.mean_,
        mean=np.where(plain, 0.0, scaler.mean_),
        scale=np.where(plain, 1.0, scaler.scale_),
    )
    return recipe if missing != "impute" else replace(recipe, imputer=imputer.fit(recipe._scaled(X)))


def _width(recipe, name):
    return len(recipe.categories.get(name, (name,)))
