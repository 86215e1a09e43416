"""The command ``mercer select``: compare settings on held-out rows, including linear PCA."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from .fit import build, labels_of, model_option, preparing
from .options import Selection, Source, given_words, json_option, print_json, reading, selecting

if TYPE_CHECKING:
    from ...select import AutoChoice


@click.command(
    epilog="\b\nExamples:\n  mercer select data.csv\n  mercer select iris.csv --model classifier --target species\n"
    "  mercer select data.csv --time-limit 600 --json | jq .explanation"
)
@reading
@model_option
@selecting
@preparing
@click.option(
    "--time-limit",
    type=float,
    default=60.0,
    show_default=True,
    help="Seconds; linear PCA is tried first.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@json_option
def select(
    data: Source,
    model: str,
    selection: Selection,
    missing: str,
    many_classes: bool,
    time_limit: float,
    seed: int,
    json: bool,
) -> None:
    """Choose scaling, kernel, width and components for a table.

    Compares settings on held-out rows, with linear PCA among them, prints the best ones, and says which one to use and
    why; often linear PCA is enough. mercer fit --auto does the same and fits the winner.
    """
    from ...tables import learn

    if selection.categorical == "kernel":
        raise click.UsageError(
            "--categorical kernel determines the kernel: there is nothing to select. Use mercer fit."
        )
    table = selection.read(data)
    recipe = learn(table, **selection.arguments(), strict=selection.strict, scale=False, missing=_filled(missing))
    X, kept = recipe.apply(table)
    y = None if selection.target is None else labels_of(None, table, selection.target, many_classes)[kept]
    found = chosen(model, X, y, time_limit, seed)
    if json:
        print_json(as_json(found))
        return
    click.echo(str(found))
    fit = ["mercer", "fit", data.path, "-o", "model.mercer", "--auto", *given_words(click.get_current_context())]
    click.echo(f"\nTo fit it: {shlex.join(fit)}")


def _filled(missing: str) -> str:
    return "mean" if missing == "impute" else missing


def chosen(model: str, X: Any, y: Any, time_limit: float, seed: int) -> AutoChoice:
    """Return the settings of a model that are best on held-out rows."""
    if model == "supervised":
        raise click.UsageError(
            "Settings are compared by how well they reconstruct held-out rows, which ignores the target of --model "
            "supervised. Choose them in Python, by scikit-learn's GridSearchCV with a classifier after the model."
        )
    from ...select import auto

    settings = dict.fromkeys(("gamma", "degree", "coef0", "nu")) | {"kernel": "rbf", "seed": seed}
    return auto(build(model, settings), X, y, max_seconds=time_limit, random_state=seed)


def as_json(found: AutoChoice) -> dict[str, Any]:
    """Return a choice as values for JSON."""
    rows = [{"candidate": str(row), "score": row.score, "standard_error": row.deviation} for row in found.table]
    facts = {"estimator": " ".join(repr(found.estimator).split()), "scale": found.scale, "unit": found.unit}
    linear = {"linear": found.best.linear, "complete": found.complete, "explanation": found.explanation}
    return facts | linear | {"table": rows}
