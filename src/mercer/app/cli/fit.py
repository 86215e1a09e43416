"""``mercer fit``: from a table to a model file."""

from __future__ import annotations

import inspect
import os
from typing import Any

import click

from ..._core.registry import KERNELS, MODELS
from .errors import say
from .options import Names, Registered, Source, check_free, count, progress, reading, tell

MEDIAN = {"rbf", "matern"}  # kernels of the squared distance, whose γ is by default one over its median
COMPONENTS = 10  # of kernel PCA, where -q says nothing: all of them are seldom meant
OPTIONS = {  # of the command → parameter of the estimators
    "components": "n_components",
    "noise_variance": "noise_variance",
    "noise_ratio": "noise_ratio",
    "shrinkage": "shrinkage",
    "anchors": "n_anchors",
    "clusters": "n_clusters",
    "alpha": "alpha",
    "solver": "solver",
    "preimage": "preimage",
    "seed": "random_state",
}


class Components(click.ParamType):
    """A number of components, a share of the variance, or all."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "all" or not isinstance(value, str):
            return value
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            self.fail(f"{value!r} is no number of components; give 10, 0.95 (a share of the variance) or all.")


class Gamma(click.ParamType):
    """The width of a kernel: a number, or a rule that finds one."""

    name = "number|median|scale"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value in {"median", "scale"} or not isinstance(value, str):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is no width; give a number, median or scale.")


class NumberOrWord(click.ParamType):
    """A number, or a word that an estimator knows."""

    name = "number|word"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return float(value)
        except ValueError:
            return value


@click.command(
    epilog="""\b
Examples:
  mercer fit data.csv -o model.mercer
  mercer fit data.csv -o model.mercer -q 5 --kernel rbf --gamma 0.1 --exclude id
  mercer fit iris.csv -o flowers.mercer --model classifier --target species
  mercer fit log.parquet -o watch.mercer --model monitor --alpha 0.001
  zcat big.csv.gz | mercer fit - -o model.mercer --solver landmarks
  mercer fit 'part-*.parquet' -o model.mercer --workers 2
"""
)
@reading
@click.option("-o", "--output", required=True, help="The model file to write.")
@click.option("--model", type=Registered(MODELS), default="kpca", show_default=True, help="What to fit.")
@click.option("-q", "--components", type=Components(), help="How many components: 10, 0.95 (share of variance), all.")
@click.option(
    "--kernel", type=Registered(KERNELS, without=("precomputed",)), default="rbf", show_default=True, help="The kernel."
)
@click.option("--gamma", type=Gamma(), help="Its width; by default one over the median squared distance (rbf, matern).")
@click.option("--degree", type=float, help="Degree of the kernel poly.")
@click.option("--coef0", type=float, help="Constant of the kernels poly and sigmoid.")
@click.option("--nu", type=float, help="Smoothness of the kernel matern: 0.5, 1.5 or 2.5.")
@click.option("--target", help="The column of classes, for --model classifier; no part of the rows.")
@click.option("--columns", type=Names(), help="Columns to use, with commas between them; all by default.")
@click.option("--exclude", type=Names(), help="Columns to leave out.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "mean", "impute"]),
    default="error",
    show_default=True,
    help="Empty cells: refuse them, leave their rows out, fill in the column's mean, or what the other cells suggest.",
)
@click.option(
    "--categorical",
    type=click.Choice(["error", "one-hot"]),
    default="error",
    show_default=True,
    help="Columns of words: refuse them, or make a column of 0 and 1 of each word.",
)
@click.option("--no-scale", is_flag=True, help="Take columns as they are, not with mean 0 and variance 1.")
@click.option("--noise-variance", type=NumberOrWord(), help="Noise of sparse, probabilistic and mixture models.")
@click.option("--noise-ratio", type=float, help="Noise of a classifier, as a share of the variance.")
@click.option("--shrinkage", type=float, help="Share of the common covariance in each class of a classifier.")
@click.option("--anchors", type=int, help="How many rows a sparse model keeps.")
@click.option("--clusters", type=int, help="How many parts a mixture has.")
@click.option("--alpha", type=float, help="Share of false alarms of a monitor.")
@click.option("--solver", help="auto, exact, davidson, lanczos, randomized or landmarks; newton, fast, em for sparse.")
@click.option("--preimage", help="auto, fixed_point, gradient, distances, smoother or learned.")
@click.option("--seed", type=int, help="Seed of whatever is drawn at random.")
@click.option("--workers", type=int, help="Fit with so many processes: DATA are Parquet files, 'part-*.parquet'.")
@click.option("--cluster", help="Fit on the Dask scheduler at this address: tcp://… or tls://…")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
@click.option("--json", is_flag=True, help="Print what was done as JSON on standard output.")
def fit(
    data: Source,
    output: str,
    model: str,
    target: str | None,
    columns: list[str] | None,
    exclude: list[str] | None,
    missing: str,
    categorical: str,
    no_scale: bool,
    workers: int | None,
    cluster: str | None,
    force: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Fit a model to a table and write it into a file.

    DATA is a table with a header: CSV, TSV, Parquet, .npy or .npz; - for standard input. Every column becomes a
    variable unless --columns, --exclude or --target say otherwise. Columns are brought to mean 0 and variance 1; the
    means and scales, and all else that a new table needs, are kept in the model file. Nothing is guessed: a table that
    is not sound is refused with the line and column of the first bad cell, and nothing is written.
    """
    check_free(output, force)
    if (target is None) == (model == "classifier"):
        raise click.UsageError("--model classifier needs a --target, and no other model takes one.")
    estimator = build(model, settings)
    if workers is not None or cluster is not None:
        _fit_elsewhere(estimator, data, output, columns, exclude, not no_scale, cluster, workers, json)
        return
    from ...io import save
    from ...tables import choose, learn
    from .inspect import facts, summary

    beside = [] if target is None else [target]

    def select(names: list[str], named: bool, more: list[str] | tuple = ()) -> list[str]:
        inside = [name for name in beside if name in names]
        for name in beside:
            if name not in names and name not in more:
                choose(names, data.path, beside=[name])
        return [*choose(names, data.path, columns or (), exclude or (), inside), *beside]

    table = data.read(select)
    chosen = [name for name in table.names if name not in beside]
    recipe = learn(
        table,
        chosen,
        missing=missing,
        categorical=categorical,
        scale=not no_scale,
        target=target,
        imputer=_imputer(settings["seed"]) if missing == "impute" else None,
    )
    X, kept = recipe.apply(table)
    y = None if target is None else table.labels(target)[kept]
    with progress():
        estimator.fit(X) if y is None else estimator.fit(X, y)
    told, line = facts(estimator), summary(estimator)
    save(estimator, output, recipe=recipe)
    say(f"{data.path}: {len(table)} rows, {count(chosen, 'column')}")  # after all went well: an error is one line
    for done in [*_said(recipe, table, kept, no_scale), f"{output}: {line}"]:
        say(done)
    tell(told | {"output": output, "bytes": os.path.getsize(output), "rows": len(X)}, json)


def _fit_elsewhere(
    estimator: Any,
    data: Source,
    output: str,
    columns: Any,
    exclude: Any,
    scale: bool,
    cluster: Any,
    workers: Any,
    json: bool,
) -> None:
    """Fit on a cluster, to Parquet files."""
    from ...io import save
    from .clusters import fit_on_cluster
    from .inspect import facts, summary

    recipe, n = fit_on_cluster(estimator, data.path, columns, exclude, scale, cluster, workers)
    save(estimator, output, recipe=recipe)
    say(f"{data.path}: {n} rows, {count(recipe.columns, 'column')}")
    say(f"{output}: {summary(estimator)}")
    tell(facts(estimator) | {"output": output, "bytes": os.path.getsize(output), "rows": n}, json)


def _said(recipe: Any, table: Any, kept: Any, no_scale: bool) -> list[str]:
    """What was done to the table, in words: it will be done to every table that the model sees."""
    lines = []
    if not no_scale:
        lines.append("Columns are brought to mean 0 and variance 1, here and in every later table (--no-scale: not).")
    if recipe.categories:
        lines.append(f"Words are coded by columns of 0 and 1: {count(list(recipe.categories), 'column')}")
    if len(kept) < len(table):
        lines.append(f"{len(table) - len(kept)} rows with empty cells are left out.")
    return lines


def build(model: str, settings: dict[str, Any]) -> Any:
    """The estimator that the options ask for; an option that it does not know is refused by name."""
    cls = MODELS[model]
    params = {OPTIONS[name]: value for name, value in settings.items() if name in OPTIONS and value is not None}
    kernel = _kernel(settings)
    if model == "monitor":
        return _monitor(cls, settings, params, kernel)
    if model == "kpca":
        params.setdefault("n_components", COMPONENTS)
    return _made(cls, model, _with_all(params) | {"kernel": kernel})


def _monitor(cls: Any, settings: dict, params: dict, kernel: Any) -> Any:
    """A monitor chooses for itself, unless something is said of the model inside."""
    own = {name: params.pop(name) for name in ("alpha", "random_state") if name in params}
    plain = settings["kernel"] == "rbf" and settings["gamma"] is None
    if params or not plain:
        params.setdefault("n_components", COMPONENTS)
        own["estimator"] = _made(MODELS["kpca"], "monitor", _with_all(params) | {"kernel": kernel})
    return _made(cls, "monitor", own)


def _with_all(params: dict) -> dict:
    """``-q all`` is None to the estimators."""
    return {name: None if name == "n_components" and value == "all" else value for name, value in params.items()}


def _made(cls: Any, model: str, params: dict) -> Any:
    takes = inspect.signature(cls).parameters
    names = {parameter: option for option, parameter in OPTIONS.items()}
    for name in params:
        if name not in takes:
            raise click.UsageError(f"--{names.get(name, name).replace('_', '-')} does not go with --model {model}.")
    return cls(**params)


def _kernel(settings: dict) -> Any:
    name = settings["kernel"]
    params = {key: settings[key] for key in ("gamma", "degree", "coef0", "nu") if settings[key] is not None}
    if name in MEDIAN:
        params.setdefault("gamma", "median")
    takes = inspect.signature(KERNELS[name]).parameters
    for key in params:
        if key not in takes:
            raise click.UsageError(f"--{key} does not go with --kernel {name}.")
    return KERNELS[name](**params)


def _imputer(seed: int | None) -> Any:
    from ... import KernelPCAImputer

    return KernelPCAImputer(random_state=seed)
