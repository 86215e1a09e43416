"""What the explorer holds and answers: rows, models under ids, and one function for each kind of request."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from io import BufferedReader, BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ...tables import Recipe, write
from ...tables.text import read_text
from .. import describe, recipes
from .data import Data, all_columns, colours, free, of_rows, of_table, rows_of
from .settings import LANDMARKS_FROM, RANGES, WIDE, Refused, Settings, checked, listed
from .view import View

KEPT = 5  # models that stay in memory, so that a second tab keeps its own for a while
MOST_PICTURES = 400
MOST_WORDS = 1_000  # categories of a colour
FAR = 1e100  # a point of the map
COMPONENTS = 10  # of the first model, as of the command line
WIDTH_SLIDER = [-3, 3, 0.05]  # log10 of the least and the most, and one step

NO_FILE = "# The rows come from no file: use the lines of Python."
OF_TABLE = ("open", "fit")  # kinds of requests that name no model
OF_MODEL = ("map", "novelty", "colour", "linear", "row", "pictures", "back", "walk", "rows", "save")
KINDS = OF_TABLE + OF_MODEL
Answer = tuple[dict[str, Any], list[Any]]  # a header of plain values, and arrays


class Session:
    """The state behind one page, or several: nothing of it is written to disk."""

    def __init__(self, data: Data, model: Any = None, recipe: Recipe | None = None, X: Any = None):
        self.views: OrderedDict[str, View] = OrderedDict()
        self.keys = (f"m{i}" for i in count(1))
        self.data = data
        if model is not None:
            recipe = data.rows(False)[0] if recipe is None else recipe
            X = recipe.apply(data.table)[0] if X is None else X
            self._enter(lambda: View(model, data, recipe, X), None)

    def answer(self, kind: str, body: Any) -> Answer:
        """Answer one request; the kinds are those of ``KINDS``, and all but a few name a model."""
        if kind not in KINDS or not isinstance(body, dict):
            raise Refused(f"{kind!r} is not a request of this page, or its body is not a JSON object. Reload the page.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # those of a fit are in its answer
            request = getattr(self, kind)
            return request(body) if kind in OF_TABLE else request(self.view(body), body)

    @classmethod
    def of(cls, model: Any, X: Any = None, names: Any = None, target: Any = None) -> Session:
        """Return the session of a fitted model on rows, by default those that it keeps."""
        rows = rows_of(model) if X is None else X
        data = of_rows(rows, names, target)
        as_given = isinstance(rows, np.ndarray) and len(data.columns) == rows.shape[1]
        return cls(data, model, X=rows if as_given else None)

    def table(self, text: bytes) -> Answer:
        """Replace the rows by those of a CSV text."""
        stream = BufferedReader(BytesIO(text))  # type: ignore[arg-type]
        self.data = of_table(read_text(stream, "data.csv", all_columns), "data.csv")
        return self.open({})

    # requests

    def open(self, body: dict[str, Any]) -> Answer:
        """What the page needs before there is a model."""
        data = self.data
        current = next((key for key in reversed(self.views) if self.views[key].data is data), None)
        many, fewer = len(data) > LANDMARKS_FROM, len(data.drawn) < len(data)
        notes = [f"More than {LANDMARKS_FROM:,} rows: models are fitted by landmarks."] if many else []
        notes += [f"The map draws {len(data.drawn):,} rows, chosen at random."] if fewer else []
        most = min(int(RANGES["components"][1]), max(2, len(data) - 1))
        q = COMPONENTS if current is None else max(1, self.views[current].Y.shape[1])
        first = Settings(components=min(q, most), scale=data.picture is None)  # pixels share their unit
        ranges = {name: [*ends, 1] for name, ends in RANGES.items()}
        return {
            "name": data.name,
            "rows": len(data),
            "columns": data.columns,
            "colours": [name for name in data.table.names if _few_words(data, name)],
            "target": data.target,
            "image": data.picture,
            "range": data.range,
            "typical": data.typical,
            "notes": [*data.notes, *notes],
            "model": current,
            "settings": asdict(first),
            "wide": WIDE,
            "ranges": ranges | {"width": WIDTH_SLIDER, "components": [1, most, 1]},
        }, [data.drawn.astype(np.uint32)] if fewer else []

    def fit(self, body: dict[str, Any]) -> Answer:
        """Fit a model, and return its map."""
        data = self.data
        settings = Settings.of(body.get("settings"), data)

        def make() -> View:
            recipe, X = data.rows(settings.scale)
            target = data.target if settings.model == "classifier" else None
            y = () if target is None else (data.table.labels(target),)
            return View(settings.estimator(data).fit(X, *y), data, recipe, X)

        view = self._enter(make, settings)
        try:
            return self.map(view, body)
        except Refused:  # fewer components than the map before was drawn on
            return self.map(view, {"axes": [0, 1]})

    def _enter(self, make: Callable[[], View], settings: Settings | None) -> View:
        """Make a view, keep it under a new id, and note how it was made."""
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            view = make()
            view.Y  # noqa: B018  the coordinates belong to the time of a fit
        key = next(self.keys)
        self.views[key] = view
        if len(self.views) > KEPT:
            self.views.popitem(last=False)
        texts = (" ".join(str(w.message).split()) for w in told if issubclass(w.category, UserWarning))
        view.about = {"model": key, "seconds": time.perf_counter() - begin, "warnings": list(dict.fromkeys(texts))}
        view.about |= _described(view, settings)
        return view

    def view(self, body: dict[str, Any]) -> View:
        """The model that a request names."""
        key = body.get("model")
        if not isinstance(key, str) or key not in self.views:
            raise Refused("This model is no longer in memory: another tab has fitted newer ones. Reload the page.")
        return self.views[key]

    def map(self, view: View, body: dict[str, Any]) -> Answer:
        """The drawn rows on two components, and what is known of the model."""
        axes = _axes(body, view)
        return {"axes": axes, **view.about}, [*_two(view.Y, axes)[view.data.drawn].T]

    def novelty(self, view: View, body: dict[str, Any]) -> Answer:
        """The novelty of the drawn rows, the rows in its order, and the positions of its limit."""
        limits, order = view.limits()
        return limits, [view.novelty[view.data.drawn], order.astype(np.uint32)]

    def colour(self, view: View, body: dict[str, Any]) -> Answer:
        """A number for each drawn row: of a column, of the prediction, or its novelty."""
        by = body.get("by")
        if by == "novelty":
            values, words = view.novelty, None
        elif by == "prediction" and view.predicted is not None:
            kinds, codes = np.unique(view.predicted, return_inverse=True)
            values, words = codes.astype(float), [str(kind) for kind in kinds]
        elif isinstance(by, dict) and by.get("column") in view.data.table.columns:
            values, words = colours(view.data, by["column"])
        else:
            raise Refused("There is no such column to colour by. Reload the page.")
        values = values[view.data.drawn]
        known = values[np.isfinite(values)]
        ends = np.quantile(known, [0.02, 0.98]).tolist() if len(known) else [0.0, 1.0]  # a few far values take no room
        return {"words": None if words is None else words[:MOST_WORDS], "ends": ends}, [values]

    def linear(self, view: View, body: dict[str, Any]) -> Answer:
        """The linear PCA of the same rows, and the shares of more components than the model has."""
        Y = np.asarray(view.linear.transform(view.rows))[view.data.drawn]
        shares = np.asarray(view.linear.explained_variance_ratio_).tolist()
        return {"shares": shares, "scree": view.scree}, [*_two(Y, (0, 1)).T]

    def row(self, view: View, body: dict[str, Any]) -> Answer:
        """All about one row."""
        i, columns = checked(body.get("row"), "row", 0, len(view.data) - 1), view.data.table.columns
        causes, reason = view.contributions(i) if body.get("causes") is True else (None, "")
        return {
            "row": i,
            "cells": [columns[name][i] for name in view.data.columns],
            "novelty": float(view.novelty[i]),
            "below": float(np.mean(view.novelty < view.novelty[i])),
            "p": float(view.p_values[i]),
            "law": view.law,
            "causes": causes,
            "reason": reason,
            "prediction": None if view.predicted is None else str(view.predicted[i]),
            "target": view.data.target and columns[view.data.target][i],
        }, []

    def pictures(self, view: View, body: dict[str, Any]) -> Answer:
        """The variables of some rows, for pictures on the map."""
        rows = listed(body.get("rows"), "rows", 1, MOST_PICTURES, 0, len(view.data) - 1)
        return {}, [view.data.rows(False)[1][rows].ravel()]

    def back(self, view: View, body: dict[str, Any]) -> Answer:
        """The pre-image of a point of the map."""
        row, at = body.get("row"), listed(body.get("at"), "at", 2, 2, -FAR, FAR, whole=False)
        if row is not None:
            checked(row, "row", 0, len(view.data) - 1)
        y = view.point(_axes(body, view), at, row)
        cells, error = view.back(y)
        share = error / view.map.total_variance_ if view.map.total_variance_ > 0 else 0.0
        return {"cells": cells, "error": error, "share": share, "y": y.tolist()}, []

    def walk(self, view: View, body: dict[str, Any]) -> Answer:
        """The rows between two rows, and where they are on the map."""
        axes = _axes(body, view)
        rows, Y = view.walk(*listed(body.get("rows"), "rows", 2, 2, 0, len(view.data) - 1))
        return {"rows": rows}, [*_two(Y, axes).T]

    # what the user takes away

    def rows(self, view: View, body: dict[str, Any]) -> Answer:
        """Some rows of the table with their coordinates, as CSV."""
        rows = np.array(listed(body.get("rows"), "rows", 1, len(view.data), 0, len(view.data) - 1))
        columns = {"row": rows} | {name: view.data.table.written(name)[rows] for name in view.data.table.names}
        for j in range(view.Y.shape[1]):
            columns[free(f"component {j + 1}", columns)] = view.Y[rows, j]
        columns[free("novelty", columns)] = view.novelty[rows]
        return _file(lambda path: write(columns, path), "rows.csv")

    def save(self, view: View, body: dict[str, Any]) -> Answer:
        """The model file."""
        from ...io import save  # here: it imports every model

        return _file(lambda path: save(view.model, path, recipe=view.recipe), "model.mercer")


def _described(view: View, settings: Settings | None) -> dict[str, Any]:
    """What is known of a model, for the page."""
    report = getattr(view.map, "solver_", None)
    return {
        "kind": describe.name_of(view.model),
        "kernel": " ".join(repr(view.map.kernel_).split()),
        "components": view.Y.shape[1],
        "shares": np.asarray(view.map.explained_variance_ratio_, float).tolist(),
        "anchors": int(view.map.anchors_.shape[0]),
        "passes": getattr(report, "passes", None),
        "outside": getattr(report, "outside_share", 0.0),
        "solver": type(getattr(report, "solver", None)).__name__,
        "predicts": view.predicts,
        "standIn": not view.own_map,
        "settings": None if settings is None else asdict(settings),
        "recipe": _recipe(view),
    }


def _recipe(view: View) -> dict[str, str]:
    """Return the command and the Python that make the model again, from a file with the table or the rows X."""
    if view.data.code is not None:
        return {"python": f"{view.data.code}{_prepared(view)}\n{recipes.python(view.model, None)}", "command": NO_FILE}
    recipe = view.recipe
    if not hasattr(view.model, "classes_"):  # the target is a colour only
        choices = {name: value for name, value in recipe.choices.items() if name != "target"}
        recipe = replace(recipe, target=None, choices=choices)
    command = recipes.command(view.model, recipe) or recipes.NO_COMMAND
    return {"python": recipes.python(view.model, recipe), "command": command}


def _prepared(view: View) -> str:
    """Return the lines that choose and scale the columns of X as the recipe does."""
    data, lines = view.data, ""
    names = [name for name in data.table.names if name != data.target]
    if data.columns != names:
        lines += f"\nX = X[{data.columns}]" if data.table.named else f"\nX = X[:, {[*map(names.index, data.columns)]}]"
    if view.recipe.mean.any():
        lines += "\nfrom sklearn.preprocessing import StandardScaler\n\nX = StandardScaler().fit_transform(X)"
    return lines


def _axes(body: dict[str, Any], view: View) -> list[int]:
    return listed(body.get("axes"), "axes", 2, 2, 0, max(1, view.Y.shape[1] - 1))  # one component is drawn on a line


def _two(Y: Any, axes: Sequence[int]) -> Any:
    return np.column_stack([Y[:, j] if j < Y.shape[1] else np.zeros(len(Y)) for j in axes])


def _few_words(data: Data, name: str) -> bool:
    """Return True for a column of numbers, or of words that occur more than once."""
    values = data.table.columns[name]
    return values.dtype != object or len({*values}) <= min(MOST_WORDS, max(2, len(values) // 2))


def _file(write_to: Callable[[str], None], name: str) -> Answer:
    """Return a file that the user asked for, with its name; it is written into a folder that is removed at once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_to(str(path))
        return {"name": name}, [np.frombuffer(path.read_bytes(), np.uint8)]
