"""Commands that apply a model to a table: transform, inverse, denoise, score, predict, sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput, log
from .names import names_option
from .options import Sink, Source, model_argument, plural, progress, reading, writing
from .parts import in_parts

if TYPE_CHECKING:
    import numpy as np

    from ...tables import Recipe, Table

SCORES = {"score_samples": "score", "reconstruction_error": "reconstruction_error", "t2": "t2", "spe": "spe"}
METHODS = {  # command → methods of a model, of which it needs one
    "transform": ("transform",),
    "inverse": ("inverse_transform",),
    "denoise": ("denoise",),
    "score": tuple(SCORES),
    "predict": ("predict",),
    "sample": ("sample",),
}
keep_option = names_option("--keep", "Columns of DATA to copy into the results, such as an id.")


def applying(command: Callable) -> Callable:
    """Add MODEL, DATA and the options for input and output to a command."""
    return in_parts(command.__name__, model_argument(reading(keep_option(writing(command)))))


class LoadedModel:
    """A model file, with the recipe that turns tables into the rows of the model."""

    def __init__(self, path: str):
        from ...io import read

        file = read(path)
        self.path, self.model, self.training = path, file.model, False
        self.filled: np.ndarray | None = None
        self.spread: np.ndarray | None = None
        self.recipe = file.recipe or unscaled_recipe(file.model, path)

    def method(self, name: str, command: str) -> Callable:
        """Return a method of the model, or raise an error that lists the commands the model supports."""
        if hasattr(self.model, name):
            return getattr(self.model, name)
        supported = [verb for verb, names in METHODS.items() if any(hasattr(self.model, n) for n in names)]
        raise BadInput(
            f"{self.path} holds a {type(self.model).__name__}, which does not support {command}. "
            f"It supports: {', '.join(supported)}."
        )

    def check_names(self, keep: list[str] | None, names: Iterable[Any]) -> None:
        """Raise an error, before any work, if two columns of the results would have the same name."""
        seen = set(keep or [])
        for name in map(str, names):
            if name in seen:
                raise BadInput(
                    f"The results would have two columns named {name!r}. Rename the column of DATA that --keep copies, "
                    "or leave it out."
                )
            seen.add(name)

    def rows(self, data: Source, keep: list[str] | None = None) -> tuple[np.ndarray, dict, np.ndarray | None]:
        """Return the rows for the model, the columns to copy, and the target if the table has it."""
        from ...tables.recipe import fingerprint

        match: dict[str, str] = {}
        keep, target = keep or [], self.recipe.target

        def select(names: list[str], named: bool, more: list[str] | tuple = ()) -> list[str]:
            from ...tables import choose

            match.update(self.recipe.match(names, named, data.path))
            for name in keep:
                choose(names, data.path, [name])
            labels = [name for name in (*names, *more) if name == target]
            return list(dict.fromkeys([*match.values(), *keep, *labels]))

        table = data.read(select)
        matched = table.renamed(match)
        self.training = fingerprint(matched, self.recipe.columns) == self.recipe.fingerprint
        X, kept = self.recipe.apply(matched)
        self._note_filled(matched)
        if len(kept) < len(table):
            log(f"{data.path}: {len(table) - len(kept)} of {plural(len(table), 'row')} have empty cells: left out.")
        labels = table.labels(target)[kept] if target in table.columns else None
        return X, {name: table.written(name)[kept] for name in keep}, labels

    def _note_filled(self, table: Table) -> None:
        """Keep the cells that were filled in, and their uncertainty from an imputer, in the units of the table."""
        if self.recipe.missing not in {"mean", "impute"}:
            return
        import numpy as np

        cells = self.recipe.encode(table)
        self.filled = np.isnan(cells)
        imputer = self.recipe.imputer
        if imputer is not None and hasattr(imputer, "uncertainty"):
            self.spread = imputer.uncertainty((cells - self.recipe.mean) / self.recipe.scale) * self.recipe.scale

    def run(self, command: str, data: Source, keep: list[str] | None) -> tuple[np.ndarray, dict]:
        """Apply the method of a command to a table; return its result and the columns to copy."""
        method = self.method(METHODS[command][0], command)
        X, kept, _ = self.rows(data, keep)
        with progress():
            return method(X), kept


def unscaled_recipe(model: Any, path: str) -> Recipe:
    """Return the recipe for a model that was saved without one: its columns, not scaled."""
    d = getattr(model, "n_features_in_", None)
    if d is None:
        raise BadInput(f"{path} holds a {type(model).__name__} that is not fitted.")
    if hasattr(model, "feature_names_in_"):
        return _identity_recipe(list(model.feature_names_in_))
    return _identity_recipe([f"x{i}" for i in range(d)], named=False)


def _identity_recipe(names: list[str], named: bool = True) -> Recipe:
    """Return a recipe that reads the named columns and does not scale them."""
    import numpy as np

    from ...tables import Recipe

    d = len(names)
    return Recipe(names, {}, "error", np.zeros(d), np.zeros(d), np.ones(d), named=named, width=d)


def _columns(Y: Any, names: list[str]) -> dict:
    import numpy as np

    return dict(zip(names, np.asarray(Y).T, strict=True))


@click.command(
    epilog="\b\nExamples:\n  mercer transform model.mercer data.csv -o scores.csv --keep id\n"
    "  mercer transform model.mercer data.csv | head"
)
@applying
def transform(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Compute the components of each row.

    Finds the columns of the model in DATA by name, scales them as in fit, and writes one column per component.
    """
    file = LoadedModel(model)
    file.method("transform", "transform")
    file.check_names(keep, file.model.get_feature_names_out())
    Y, kept = file.run("transform", data, keep)
    output.write(kept | _columns(Y, list(file.model.get_feature_names_out())))


@click.command(
    epilog="\b\nExamples:\n  mercer inverse model.mercer components.csv -o back.csv\n"
    "  mercer transform model.mercer data.csv | mercer inverse model.mercer - -o back.csv"
)
@applying
def inverse(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Map components back to rows (inverse transform).

    DATA is a table written by transform.

    Writes the columns that the model was fitted on, in their original units.
    """
    file = LoadedModel(model)
    file.method("inverse_transform", "inverse")
    recipe, file.recipe = file.recipe, _identity_recipe(list(file.model.get_feature_names_out()))
    file.check_names(keep, recipe.columns)
    X, kept = file.run("inverse", data, keep)
    output.write(kept | recipe.table(X))


@click.command(
    epilog="\b\nExamples:\n  mercer denoise model.mercer noisy.csv -o clean.csv\n"
    "  mercer denoise model.mercer noisy.csv --keep id | head"
)
@applying
def denoise(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Remove noise from rows.

    Projects the rows onto the components and maps them back. What lies outside the components is treated as noise.
    """
    file = LoadedModel(model)
    file.method("denoise", "denoise")
    file.check_names(keep, file.recipe.columns)
    X, kept = file.run("denoise", data, keep)
    output.write(kept | file.recipe.table(X))


@click.command(
    epilog="\b\nExamples:\n  mercer score model.mercer new.csv -o scores.csv\n"
    "  mercer score model.mercer data.csv --keep id | sort -t, -k2 -g | tail"
)
@applying
def score(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Score how well each row fits the model.

    Writes the scores that the model supports: score (log-density up to a constant; higher is more typical),
    reconstruction_error (squared distance to the components; higher is less typical), t2 and spe (statistics of a
    monitor).
    """
    file = LoadedModel(model)
    methods = {name: column for name, column in SCORES.items() if hasattr(file.model, name)}
    if not methods:
        file.method("score_samples", "score")
    file.check_names(keep, methods.values())
    X, kept, _ = file.rows(data, keep)
    with progress():
        columns = {column: getattr(file.model, name)(X) for name, column in methods.items()}
    output.write(kept | columns, mean={column: float(values.mean()) for column, values in columns.items()})


@click.command(
    epilog="\b\nExamples:\n  mercer predict flowers.mercer new.csv --proba -o labels.csv\n"
    "  mercer predict monitor.mercer today.csv --keep time | grep -- -1"
)
@applying
@click.option("--proba", is_flag=True, help="Also write the probability of each class or cluster.")
def predict(model: str, data: Source, keep: list[str] | None, proba: bool, output: Sink) -> None:
    """Predict the class, cluster or alarm of each row.

    A classifier predicts the class, a mixture the index of the cluster, a monitor 1 for a normal row and -1 for an
    alarm. If DATA contains the target column, the accuracy is reported.
    """
    file = LoadedModel(model)
    method = file.method("predict", "predict")
    classes = getattr(file.model, "classes_", ()) if proba else ()
    file.check_names(keep, ["prediction", *(f"probability_{name}" for name in classes)])
    X, kept, labels = file.rows(data, keep)
    with progress():
        found = method(X)
        probabilities = _probabilities(file, X) if proba else {}
    facts = {} if labels is None else {"accuracy": float((found.astype(str) == labels.astype(str)).mean())}
    if file.training:
        log(f"{data.path}: the model was fitted to these rows; expect a lower accuracy on new ones.")
    if facts:
        which = "Training accuracy" if file.training else "Accuracy"
        log(f"{which} on {plural(len(found), 'row')} with the target {file.recipe.target!r}: {facts['accuracy']:.2%}")
    output.write(kept | {"prediction": found} | probabilities, training_rows=file.training, **facts)


def _probabilities(file: LoadedModel, X: np.ndarray) -> dict:
    P = file.method("predict_proba", "predict --proba")(X)
    names = getattr(file.model, "classes_", range(P.shape[1]))
    return _columns(P, [f"probability_{name}" for name in names])


@click.command(
    epilog="\b\nExamples:\n  mercer sample model.mercer -n 100 -o new.csv --seed 0\n"
    "  mercer sample model.mercer -n 5 --to tsv"
)
@model_argument
@click.option("-n", "--rows", type=click.IntRange(1), default=1, show_default=True, help="Number of rows to draw.")
@click.option("--seed", type=int, help="Random seed, for reproducible rows.")
@writing
def sample(model: str, rows: int, seed: int | None, output: Sink) -> None:
    """Draw new rows from a density.

    MODEL is a probabilistic model or a mixture.

    Writes the columns that the model was fitted on, in their original units, and the cluster of each row if the model
    is a mixture.
    """
    file = LoadedModel(model)
    method = file.method("sample", "sample")
    if seed is not None:
        file.model.set_params(random_state=seed)
    with progress():
        X, clusters = method(rows)
    output.write(file.recipe.table(X) | ({} if clusters is None else {"cluster": clusters}))
