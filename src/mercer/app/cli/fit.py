"""The command ``mercer fit``: from a table to a model file."""

from __future__ import annotations

import inspect
import os
from typing import Any

import click

from ..._core.registry import KERNELS, MODELS
from .errors import log
from .options import (
    Names,
    Number,
    Registered,
    Source,
    check_free,
    count,
    force_option,
    json_option,
    print_json,
    progress,
    reading,
)

COMPONENTS = 10  # default of kernel PCA, where computing all of them is seldom wanted
PARAMETERS = {  # option → parameter of the estimators
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


def _integer_or_share(text: str) -> float:
    return float(text) if "." in text else int(text)


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
@click.option("-o", "--output", required=True, help="Path of the model file to write.")
@click.option("--model", type=Registered(MODELS), default="kpca", show_default=True, help="Type of model.")
@click.option(
    "-q",
    "--components",
    type=Number("all", parse=_integer_or_share, expected="an integer, a share of the variance such as 0.95,"),
    help="Number of components, a share of the variance such as 0.95, or all.",
)
@click.option(
    "--kernel", type=Registered(KERNELS, without=("precomputed",)), default="rbf", show_default=True, help="Kernel."
)
@click.option(
    "--gamma",
    type=Number("median", "scale"),
    help="Parameter gamma of the kernel; by default it adapts to the data (radial kernels), else 1 / columns.",
)
@click.option("--degree", type=float, help="Degree of the kernel poly.")
@click.option("--coef0", type=float, help="Constant term of the kernels poly and sigmoid.")
@click.option("--nu", type=float, help="Smoothness of the kernel matern: 0.5, 1.5 or 2.5.")
@click.option("--target", help="Column with the class labels, for --model classifier; not used as a feature.")
@click.option("--columns", type=Names(), help="Columns to use, separated by commas. Default: all.")
@click.option("--exclude", type=Names(), help="Columns to leave out, separated by commas.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "mean", "impute"]),
    default="error",
    show_default=True,
    help="Missing values: report an error, drop the rows, fill in column means, or impute from the other columns.",
)
@click.option(
    "--categorical",
    type=click.Choice(["error", "one-hot"]),
    default="error",
    show_default=True,
    help="Text columns: report an error, or one-hot encode them.",
)
@click.option("--no-scale", is_flag=True, help="Do not standardize the columns.")
@click.option(
    "--noise-variance",
    type=Number("mle", "paper"),
    help="Noise variance of sparse, probabilistic and mixture models.",
)
@click.option("--noise-ratio", type=float, help="Noise of a classifier, as a share of the variance.")
@click.option("--shrinkage", type=float, help="Shrinkage of each class covariance towards the pooled one, 0 to 1.")
@click.option("--anchors", type=int, help="Number of anchors (training rows kept) of a sparse model.")
@click.option("--clusters", type=int, help="Number of clusters of a mixture.")
@click.option("--alpha", type=float, help="False alarm rate of a monitor.")
@click.option("--solver", help="auto, exact, davidson, lanczos, randomized or landmarks; newton, fast, em for sparse.")
@click.option("--preimage", help="auto, fixed_point, gradient, distances, smoother or learned.")
@click.option("--seed", type=int, help="Random seed.")
@click.option("--workers", type=int, help="Fit with this many processes; DATA are Parquet files, 'part-*.parquet'.")
@click.option("--cluster", help="Fit on the Dask scheduler at this address: tcp://… or tls://…")
@force_option
@json_option
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
    """Fit a model to a table and write it to a file.

    DATA is a table with a header: CSV, TSV, Parquet, .npy or .npz; - is standard input. Every column is used as a
    feature unless --columns, --exclude or --target say otherwise. Columns are standardized to mean 0 and variance 1
    (use --no-scale to disable); the model file stores the means and scales, so that new tables are prepared in the
    same way. An invalid table is refused with the line and column of the first bad cell, and nothing is written.
    """
    check_free(output, force)
    if (target is None) == (model == "classifier"):
        raise click.UsageError("--model classifier needs a --target, and no other model takes one.")
    estimator = build(model, settings)
    from ...io import save
    from ..describe import facts, summary

    if workers is not None or cluster is not None:
        from .clusters import fit_on_cluster

        recipe, n = fit_on_cluster(estimator, data.path, columns or (), exclude or (), not no_scale, cluster, workers)
        messages = [f"{data.path}: {n} rows, {count(recipe.columns, 'column')}"]
    else:
        from ... import KernelPCAImputer

        preparation = {
            "missing": missing,
            "categorical": categorical,
            "scale": not no_scale,
            "target": target,
            "imputer": KernelPCAImputer(random_state=settings["seed"]) if missing == "impute" else None,
        }
        recipe, n, messages = _fit_to_table(estimator, data, columns or (), exclude or (), preparation)
    save(estimator, output, recipe=recipe)
    for line in [*messages, f"{output}: {summary(estimator)}"]:  # after success: an error is a single line
        log(line)
    if json:
        print_json(facts(estimator) | {"output": output, "bytes": os.path.getsize(output), "rows": n})


def _fit_to_table(
    estimator: Any, data: Source, columns: Any, exclude: Any, preparation: dict[str, Any]
) -> tuple[Any, int, list[str]]:
    """Fit to a table; return the recipe, the number of rows used, and messages about how they were prepared."""
    from ...tables import choose, learn

    target = preparation["target"]
    labels = [] if target is None else [target]

    def select(names: list[str], named: bool, more: list[str] | tuple = ()) -> list[str]:
        inside = [name for name in labels if name not in more]
        return [*choose(names, data.path, columns, exclude, inside), *labels]

    table = data.read(select)
    features = [name for name in table.names if name not in labels]
    recipe = learn(table, features, **preparation)
    X, kept = recipe.apply(table)
    y = () if target is None else (table.labels(target)[kept],)
    with progress():
        estimator.fit(X, *y)
    messages = [f"{data.path}: {len(table)} rows, {count(features, 'column')}"]
    if preparation["scale"]:
        messages.append(
            "Columns are standardized to mean 0 and variance 1, here and in later tables (use --no-scale to disable)."
        )
    if recipe.categories:
        messages.append(f"One-hot encoded: {count(list(recipe.categories), 'column')}")
    if len(kept) < len(table):
        messages.append(f"{len(table) - len(kept)} rows with empty cells are left out.")
    return recipe, len(X), messages


def build(model: str, settings: dict[str, Any]) -> Any:
    """Return the estimator for the options; an option that it does not have is refused by name."""
    params = {PARAMETERS[name]: value for name, value in settings.items() if name in PARAMETERS and value is not None}
    kernel = _kernel(settings)
    if model != "monitor":
        return _estimator(model, model, params | {"kernel": kernel})
    own: dict[str, Any] = {name: params.pop(name) for name in ("alpha", "random_state") if name in params}
    default_kernel = settings["kernel"] == "rbf" and settings["gamma"] is None
    if params or not default_kernel:  # else the monitor chooses the model inside
        own["estimator"] = _estimator("kpca", "monitor", params | {"kernel": kernel})
    return _estimator("monitor", "monitor", own)


def _estimator(name: str, model: str, params: dict[str, Any]) -> Any:
    """Return the estimator registered as ``name``; errors speak of ``--model model``."""
    cls, options = MODELS[name], {parameter: option for option, parameter in PARAMETERS.items()}
    if name == "kpca":
        params = {"n_components": COMPONENTS} | params
    if params.get("n_components") == "all":
        params = params | {"n_components": None}
    for parameter in params:
        if parameter not in inspect.signature(cls).parameters:
            option = options.get(parameter, parameter).replace("_", "-")
            raise click.UsageError(f"--{option} cannot be used with --model {model}.")
    return cls(**params)


def _kernel(settings: dict[str, Any]) -> Any:
    name = settings["kernel"]
    params = {key: settings[key] for key in ("gamma", "degree", "coef0", "nu") if settings[key] is not None}
    for key in params:
        if key not in inspect.signature(KERNELS[name]).parameters:
            raise click.UsageError(f"--{key} cannot be used with --kernel {name}.")
    return KERNELS[name](**params)
