"""Commands that apply a model to a table: transform, inverse, denoise, score, predict, sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput, say
from .options import Names, Sink, Source, progress, reading, writing

if TYPE_CHECKING:
    from ...io import ModelFile

SCORES = {"score_samples": "score", "reconstruction_error": "reconstruction_error", "t2": "t2", "spe": "spe"}
model_argument = click.argument("model")
keep_option = click.option("--keep", type=Names(), help="Columns of DATA to copy into the results, such as an id.")


class Opened:
    """A model file with the way from tables to its rows."""

    def __init__(self, path: str):
        from ...io import read

        file: ModelFile = read(path)
        self.path, self.model, self.versions = path, file.model, file.versions
        self.recipe = file.recipe or _as_they_are(file.model, path)

    def method(self, name: str, command: str) -> Any:
        """A method of the model, or the word that it has none."""
        try:
            return getattr(self.model, name)
        except AttributeError:
            able = [word for word, methods in COMMANDS.items() if any(hasattr(self.model, name) for name in methods)]
            raise BadInput(
                f"{self.path} holds a {type(self.model).__name__}, which has no {command}. It can: {', '.join(able)}."
            ) from None

    def rows(self, data: Source, keep: list[str] | None = None) -> tuple[Any, dict, Any]:
        """The rows that the model takes, the columns to keep, and the target where the table has it."""
        match: dict[str, str] = {}
        keep, target = keep or [], self.recipe.target

        def select(names: list[str], named: bool, more: list[str] | tuple = ()) -> list[str]:
            from ...tables import choose

            match.update(self.recipe.match(names, named, data.path))
            for name in keep:
                if name not in names:
                    choose(names, data.path, [name])
            beside = [target] if target in names or target in more else []
            return list(dict.fromkeys([*match.values(), *keep, *beside]))

        table = data.read(select)
        X, kept = self.recipe.apply(table.renamed(match))
        if len(kept) < len(table):
            say(f"{data.path}: {len(table) - len(kept)} of {len(table)} rows have empty cells and are left out.")
        labels = table.labels(target)[kept] if target in table.columns else None
        return X, {name: table.written(name)[kept] for name in keep}, labels


def _as_they_are(model: Any, path: str) -> Any:
    """The recipe of a model that was saved without one: its columns, unscaled."""
    import numpy as np

    from ...tables import Recipe

    d = getattr(model, "n_features_in_", None)
    if d is None:
        raise BadInput(f"{path} holds a {type(model).__name__} that is not fitted.")
    named = hasattr(model, "feature_names_in_")
    names = list(model.feature_names_in_) if named else [f"x{i}" for i in range(d)]
    return Recipe(names, {}, "error", np.zeros(d), np.zeros(d), np.ones(d), named=named, width=d)


def _columns(Y: Any, names: list[str]) -> dict:
    import numpy as np

    return dict(zip(names, np.asarray(Y).T, strict=True))


@click.command(
    epilog="\b\nExamples:\n  mercer transform model.mercer data.csv -o scores.csv --keep id\n"
    "  mercer transform model.mercer data.csv | head"
)
@model_argument
@reading
@keep_option
@writing
def transform(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Compute the components of each row.

    Reads the columns that the model knows from DATA, wherever they stand, scales them as they were scaled when MODEL
    was fitted, and writes one column for each component.
    """
    file = Opened(model)
    method = file.method("transform", "transform")
    X, kept, _ = file.rows(data, keep)
    with progress():
        Y = method(X)
    output.write(kept | _columns(Y, list(file.model.get_feature_names_out())))


@click.command(
    epilog="\b\nExample:\n  mercer transform model.mercer data.csv | mercer inverse model.mercer - -o back.csv"
)
@model_argument
@reading
@keep_option
@writing
def inverse(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Find rows for components: the way back.

    DATA holds what transform wrote.

    Writes the columns that the model was fitted on, in their own units.
    """
    file = Opened(model)
    method = file.method("inverse_transform", "inverse")
    back, file.recipe = file.recipe, _components(file.model)
    Y, kept, _ = file.rows(data, keep)
    with progress():
        X = method(Y)
    output.write(kept | back.table(X))


def _components(model: Any) -> Any:
    """The recipe of a table of components."""
    import numpy as np

    from ...tables import Recipe

    names = list(model.get_feature_names_out())
    q = len(names)
    return Recipe(names, {}, "error", np.zeros(q), np.zeros(q), np.ones(q), width=q)


@click.command(epilog="\b\nExample:\n  mercer denoise model.mercer noisy.csv -o clean.csv")
@model_argument
@reading
@keep_option
@writing
def denoise(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Clean rows: the nearest ones that the model knows.

    Rows are projected onto the components and brought back; what no component holds is taken for noise.
    """
    file = Opened(model)
    method = file.method("denoise", "denoise")
    X, kept, _ = file.rows(data, keep)
    with progress():
        X = method(X)
    output.write(kept | file.recipe.table(X))


@click.command(epilog="\b\nExample:\n  mercer score model.mercer data.csv --keep id | sort -t, -k2 -g | tail")
@model_argument
@reading
@keep_option
@writing
def score(model: str, data: Source, keep: list[str] | None, output: Sink) -> None:
    """Say how well each row fits the model.

    Writes what the model offers: score (a log-density up to a constant, larger is more usual), reconstruction_error
    (the squared distance to the components, larger is stranger), t2 and spe (the charts of a monitor).
    """
    file = Opened(model)
    names = {name: word for name, word in SCORES.items() if hasattr(file.model, name)}
    if not names:
        file.method("score_samples", "score")
    X, kept, _ = file.rows(data, keep)
    with progress():
        columns = {word: getattr(file.model, name)(X) for name, word in names.items()}
    output.write(kept | columns, mean={word: float(values.mean()) for word, values in columns.items()})


@click.command(epilog="\b\nExample:\n  mercer predict flowers.mercer new.csv --proba -o labels.csv")
@model_argument
@reading
@keep_option
@click.option("--proba", is_flag=True, help="Also write the probability of each class or cluster.")
@writing
def predict(model: str, data: Source, keep: list[str] | None, proba: bool, output: Sink) -> None:
    """Name the class, cluster or alarm of each row.

    A classifier gives the class, a mixture the number of the cluster, a monitor 1 for a usual row and -1 for an alarm.
    Where DATA has the target, the share of right answers is told.
    """
    file = Opened(model)
    method = file.method("predict", "predict")
    X, kept, labels = file.rows(data, keep)
    with progress():
        found = method(X)
        shares = _shares(file, X) if proba else {}
    right = {} if labels is None else {"accuracy": float((found.astype(str) == labels.astype(str)).mean())}
    if right:
        say(f"{right['accuracy']:.2%} of {len(found)} rows are as column {file.recipe.target!r} says.")
    output.write(kept | {"prediction": found} | shares, **right)


def _shares(file: Opened, X: Any) -> dict:
    P = file.method("predict_proba", "predict --proba")(X)
    names = getattr(file.model, "classes_", range(P.shape[1]))
    return _columns(P, [f"probability_{name}" for name in names])


@click.command(epilog="\b\nExample:\n  mercer sample model.mercer -n 100 -o new.csv --seed 0")
@model_argument
@click.option("-n", "--rows", type=click.IntRange(1), default=1, show_default=True, help="How many rows to draw.")
@click.option("--seed", type=int, help="Seed, for the same rows again.")
@writing
def sample(model: str, rows: int, seed: int | None, output: Sink) -> None:
    """Draw new rows from a density.

    From a probabilistic model or a mixture.

    Writes the columns that the model was fitted on, in their own units, and the cluster of each row of a mixture.
    """
    file = Opened(model)
    method = file.method("sample", "sample")
    if seed is not None:
        file.model.set_params(random_state=seed)
    with progress():
        X, clusters = method(rows)
    output.write(file.recipe.table(X) | ({} if clusters is None else {"cluster": clusters}))


COMMANDS = {
    "transform": ["transform"],
    "inverse": ["inverse_transform"],
    "denoise": ["denoise"],
    "score": list(SCORES),
    "predict": ["predict"],
    "sample": ["sample"],
}
