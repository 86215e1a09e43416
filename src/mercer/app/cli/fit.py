"""The command ``mercer fit``: from a table to a model file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..._core.registry import KERNELS, MODELS
from .errors import BadInput, log
from .options import (
    Number,
    Registered,
    Selection,
    Source,
    check_free,
    count,
    force_option,
    json_option,
    listed,
    plural,
    print_json,
    progress,
    reading,
    selecting,
)

if TYPE_CHECKING:
    from ...tables import Check

SILENT = {"missing", "scales"}  # findings of a check that a fit reports elsewhere, or corrects
TARGETED = {"classifier", "supervised"}  # models that need a target
AUTOMATIC = ("components", "gamma", "degree", "coef0", "nu", "noise_ratio", "clusters")  # options that --auto chooses
KERNEL_OPTIONS = ("gamma", "degree", "coef0", "nu")
COMPONENTS = 10  # default of kernel PCA, for which all components are rarely useful
PARAMETERS = {  # option → parameter of the estimators
    "components": "n_components",
    "noise_variance": "noise_variance",
    "noise_ratio": "noise_ratio",
    "shrinkage": "shrinkage",
    "anchors": "n_anchors",
    "clusters": "n_clusters",
    "parts": "n_parts",
    "alpha": "alpha",
    "lags": "lags",
    "contamination": "contamination",
    "supervision": "supervision",
    "solver": "solver",
    "preimage": "preimage",
    "seed": "random_state",
}


model_option = click.option(
    "--model",
    type=Registered(MODELS, without=("contrastive",)),  # it needs a second table, the background
    default="kpca",
    show_default=True,
    help="Type of model.",
)


def preparing(command: Callable) -> Callable:
    """Add the options for missing values and targets to a command."""
    missing = click.option(
        "--missing",
        type=click.Choice(["error", "drop", "mean", "impute"]),
        default="error",
        show_default=True,
        help="Missing values: report an error, drop the rows, fill in column means, or impute from the other columns.",
    )
    text = "The target has classes although it has many different numbers."
    return missing(click.option("--many-classes", is_flag=True, help=text)(command))


def _integer_or_share(text: str) -> float:
    return float(text) if "." in text else int(text)


@click.command(
    epilog="""\b
Examples:
  mercer fit data.csv -o model.mercer
  mercer fit data.csv -o model.mercer -q 5 --kernel rbf --gamma 0.1 --exclude id
  mercer fit data.csv -o model.mercer --auto
  mercer fit iris.csv -o flowers.mercer --model classifier --target species
  mercer fit iris.csv -o map.mercer --model supervised --target species
  mercer fit log.parquet -o watch.mercer --model monitor --alpha 0.001
  zcat big.csv.gz | mercer fit - -o model.mercer --solver landmarks
  mercer fit 'part-*.parquet' -o model.mercer --workers 2
"""
)
@reading
@click.option("-o", "--output", required=True, help="Path of the model file to write.")
@model_option
@click.option(
    "-q",
    "--components",
    type=Number("all", parse=_integer_or_share, expected="an integer, a share of the variance such as 0.95,"),
    help="Number of components, a share of the variance such as 0.95, or all.",
)
@click.option(
    "--kernel",
    type=Registered(KERNELS, without=("precomputed", "spectrum")),
    default="rbf",
    show_default=True,
    help="Kernel.",
)
@click.option(
    "--gamma",
    type=Number("median", "scale"),
    help="Parameter gamma of the kernel; by default it adapts to the data (radial kernels), else 1 / columns.",
)
@click.option("--degree", type=float, help="Degree of the kernel poly.")
@click.option("--coef0", type=float, help="Constant term of the kernels poly and sigmoid.")
@click.option("--nu", type=float, help="Smoothness of the kernel matern: 0.5, 1.5 or 2.5.")
@selecting
@preparing
@click.option("--auto", is_flag=True, help="Choose scaling, kernel, width and components on held-out rows first.")
@click.option("--time-limit", type=float, default=60.0, show_default=True, help="Seconds for --auto.")
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
@click.option("--parts", type=int, help="Number of Gaussians in each cluster of a mixture.")
@click.option("--alpha", type=float, help="False alarm rate of a monitor.")
@click.option("--lags", type=int, help="Number of preceding rows in time that a monitor sees with each row.")
@click.option("--contamination", type=Number("auto"), help="Share of abnormal rows in DATA, for a monitor.")
@click.option("--supervision", type=float, help="Weight of the target in a supervised model, 0 (kernel PCA) to 1.")
@click.option("--solver", help="auto, exact, davidson, lanczos, randomized or landmarks; newton, fast, em for sparse.")
@click.option("--landmarks", type=int, help="Number of landmarks; chooses --solver landmarks.")
@click.option("--preimage", help="auto, fixed_point, gradient, distances, smoother or learned.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--workers", type=int, help="Fit with this many processes; DATA are Parquet files, 'part-*.parquet'.")
@click.option("--cluster", help="Fit on the Dask scheduler at this address: tcp://… or tls://…")
@force_option
@json_option
def fit(
    data: Source,
    output: str,
    model: str,
    selection: Selection,
    many_classes: bool,
    missing: str,
    auto: bool,
    time_limit: float,
    no_scale: bool,
    workers: int | None,
    cluster: str | None,
    force: bool,
    json: bool,
    **settings: Any,
) -> None:
    """Fit a model to a table and write it to a file.

    DATA is a table with a header: CSV, TSV, Parquet, .npy or .npz; - is standard input. Columns of numbers are
    features, booleans are 0 and 1, texts with few categories are one-hot encoded; ids, dates and free text are left
    out, which is reported (see mercer check). Columns are standardized to mean 0 and variance 1 (use --no-scale to
    disable). The model file stores all of this, so that new tables are prepared in the same way. An invalid table is
    refused with the line and column of the first bad cell, and nothing is written.
    """
    check_free(output, force)
    if (selection.target is None) == (model in TARGETED):
        raise click.UsageError("--model classifier and --model supervised need a --target; other models have none.")
    if auto and any(settings[name] is not None for name in AUTOMATIC):
        raise click.UsageError(f"--auto chooses {', '.join(f'--{name}' for name in AUTOMATIC)} itself: leave them out.")
    if auto and (workers is not None or cluster is not None):
        raise click.UsageError("--auto needs the rows in memory: leave out --workers and --cluster.")
    if selection.categorical == "kernel" and (auto or workers is not None or cluster is not None):
        raise click.UsageError("--categorical kernel cannot be used with --auto, --workers and --cluster.")
    if selection.categorical == "kernel" and not _has_default_kernel(settings):
        raise click.UsageError("--categorical kernel chooses the kernel itself: leave out --kernel and --gamma.")
    estimator = build(model, settings)
    from ...io import save
    from ...io.facts import facts
    from ..describe import summary

    if workers is not None or cluster is not None:
        from .clusters import fit_on_cluster

        preparation = _preparation(missing, no_scale, settings["seed"])
        recipe, n = fit_on_cluster(estimator, data.path, selection, preparation, cluster, workers)
        choices = {name: value for name, value in recipe.choices.items() if name != "scale"}
        choices |= {"scale": False} if no_scale else {}
        choices |= {} if workers is None else {"workers": workers}
        choices |= {} if cluster is None else {"cluster": cluster}
        recipe = replace(recipe, choices=choices, n_rows=n, fingerprint="")
        messages = [f"{data.path}: {plural(n, 'row')}, {count(recipe.columns, 'column')}"]
    else:
        preparation = _preparation(missing, no_scale, settings["seed"])
        search = (model, time_limit, settings["seed"]) if auto else None
        made = _fit_to_table(estimator, data, selection, preparation, many_classes, search)
        estimator, recipe, n, messages = made
    save(estimator, output, recipe=recipe)
    for line in [*messages, f"{output}: {summary(estimator)}"]:  # after success: an error is a single line
        log(line)
    if json:
        print_json(facts(estimator) | {"output": output, "bytes": os.path.getsize(output), "rows": n})


def _preparation(missing: str, no_scale: bool, seed: int | None) -> dict[str, Any]:
    """Return the arguments of ``learn`` for missing values and scales."""
    if missing != "impute":
        return {"missing": missing, "scale": not no_scale}
    from ... import KernelPCAImputer

    return {"missing": missing, "scale": not no_scale, "imputer": KernelPCAImputer(random_state=seed)}


def _fit_to_table(
    estimator: Any,
    data: Source,
    selection: Selection,
    preparation: dict[str, Any],
    many_classes: bool,
    search: tuple[str, float, int] | None,
) -> tuple[Any, Any, int, list[str]]:
    """Fit to a table; return the model, the recipe, the number of rows used, and messages about the preparation."""
    from ...tables import check, learn

    table, target = selection.read(data), selection.target
    recipe = learn(table, **selection.arguments(), strict=selection.strict, **preparation)
    X, kept = recipe.apply(table)
    targets = _targets if hasattr(estimator, "supervision") else labels_of
    y = () if target is None else (targets(estimator, table, target, many_classes)[kept],)
    explained = []
    if search is not None:
        from .select import chosen

        name, time_limit, seed = search
        found = chosen(name, X * recipe.scale, y[0] if y else None, time_limit, seed)
        estimator, explained = found.estimator, [found.explanation]
        if not found.scale and preparation["scale"]:
            preparation = preparation | {"scale": False}
            recipe = learn(table, **selection.arguments(), strict=selection.strict, **preparation)
            X, kept = recipe.apply(table)
    recipe = replace(recipe, choices=recipe.choices | ({"many_classes": True} if many_classes else {}))
    if recipe.coded:
        estimator = _for_categories(estimator, X, recipe)
    with progress():
        estimator.fit(X, *y)
    messages = [f"{data.path}: {plural(len(table), 'row')}, {count(recipe.columns, 'column')}"]
    messages += _told(check(table, **selection.arguments()), data.path)
    if preparation["scale"]:
        messages.append(
            "Columns are standardized to mean 0 and variance 1, here and in later tables (use --no-scale to disable)."
        )
    if len(kept) < len(table):
        messages.append(f"Left out: {plural(len(table) - len(kept), 'row')} with empty cells.")
    return estimator, recipe, len(X), [*messages, *explained]


def _targets(estimator: Any, table: Any, target: str, many_classes: bool) -> Any:
    """Return the classes of the rows, or numbers if there are many different ones, for a supervised model."""
    from ...tables.check import is_continuous

    labels, values = table.labels(target), table.columns[target]
    numbers = is_continuous(values) and not many_classes
    estimator.set_params(target="numbers" if numbers else "classes")
    return values if numbers else labels


def labels_of(estimator: Any, table: Any, target: str, many_classes: bool) -> Any:
    """Return the classes of the rows; ask whether many different numbers are meant as classes."""
    from ...tables.check import is_continuous

    values = table.columns[target]
    if is_continuous(values) and not many_classes:
        numbers = f"{table.source}: the target {target!r} has {len(set(values.tolist()))} different numbers"
        asked = sys.stdin.isatty() and sys.stderr.isatty()
        if not asked or not click.confirm(f"{numbers}. Is each of them a class?", err=True):
            raise BadInput(f"{numbers}, each of which would be a class. Pass --many-classes if this is intended.")
    return table.labels(target)


def _told(found: Check, path: str) -> list[str]:
    """Return the findings about a table as lines, one for each action."""
    groups: dict[str, list[str]] = {}
    for row in found:
        if row.kind not in SILENT and row.found != "0 and 1":
            groups.setdefault(row.action, []).append(f"{row.column} ({row.kind})" if row.column else row.found)
    lines = [f"{action.capitalize()}: {listed(names)}" for action, names in groups.items()]
    return [*lines, f"For reasons and options: mercer check {path}"] if lines else []


def estimator_of(words: list[str]) -> Any:
    """Return the estimator for options as they are written on the command line."""
    given = fit.make_context("mercer fit", ["data.csv", "-o", "model.mercer", *words]).params
    return build(given["model"], {name: given[name] for name in (*PARAMETERS, "landmarks", "kernel", *KERNEL_OPTIONS)})


def build(model: str, settings: dict[str, Any]) -> Any:
    """Return the estimator for the options; an option that it does not have is refused by name."""
    params = {PARAMETERS[name]: value for name, value in settings.items() if name in PARAMETERS and value is not None}
    if settings.get("landmarks") is not None:
        params["solver"] = _landmarks(settings["landmarks"], settings.get("solver"))
    kernel = _kernel(settings)
    if model != "monitor":
        return _estimator(model, model, params | {"kernel": kernel})
    own: dict[str, Any] = {name: params.pop(name) for name in ("alpha", "lags", "contamination") if name in params}
    own |= {name: params[name] for name in ("random_state",) if name in params}
    if set(params) - {"random_state"} or not _has_default_kernel(settings):  # else the monitor chooses the model inside
        own["estimator"] = _estimator("kpca", "monitor", params | {"kernel": kernel})
    return _estimator("monitor", "monitor", own)


def _has_default_kernel(settings: dict[str, Any]) -> bool:
    return settings["kernel"] == "rbf" and settings["gamma"] is None


def _for_categories(estimator: Any, X: Any, recipe: Any) -> Any:
    """Return the estimator with a kernel for the numbers and one for the categories of a table."""
    from ...kernels import mixed

    kernel = mixed(X, [i for i, name in enumerate(recipe.features) if name in recipe.coded])
    if hasattr(estimator, "kernel"):
        return estimator.set_params(kernel=kernel)
    inner = estimator.estimator or MODELS["kpca"](COMPONENTS, random_state=estimator.random_state)
    return estimator.set_params(estimator=inner.set_params(kernel=kernel))


def _landmarks(n: int, solver: str | None) -> Any:
    """Return the solver for a number of landmarks."""
    from ...eigen import Landmarks

    if solver not in {None, "landmarks"} or n < 1:
        raise click.UsageError("--landmarks needs a positive number, and cannot be used with other solvers.")
    return Landmarks(n)


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
            others = ", ".join(other for other in MODELS if parameter in inspect.signature(MODELS[other]).parameters)
            raise click.UsageError(f"--{option} cannot be used with --model {model}. It is for --model {others}.")
    return cls(**params)


def _kernel(settings: dict[str, Any]) -> Any:
    name = settings["kernel"]
    params = {key: settings[key] for key in KERNEL_OPTIONS if settings[key] is not None}
    for key in params:
        if key not in inspect.signature(KERNELS[name]).parameters:
            others = ", ".join(other for other in KERNELS if key in inspect.signature(KERNELS[other]).parameters)
            raise click.UsageError(f"--{key} cannot be used with --kernel {name}. It is for --kernel {others}.")
    return KERNELS[name](**params)
