"""Commands that tell: info, plan, report, demo, reproduce."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .errors import BadInput, say
from .options import Source, check_free, reading, tell

if TYPE_CHECKING:
    from ..demo import Table


class Count(click.ParamType):
    """A whole number, also as 1e6."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            number = float(value)
            whole = number >= 1 and number == int(number)
        except (ValueError, OverflowError):
            whole = False
        if not whole:
            self.fail(f"{value!r} is no whole number of at least 1.", param, ctx)
        return int(number)


def facts(model: Any) -> dict:
    """What is known of a fitted model, for machines."""
    told: dict[str, Any] = {"model": type(model).__name__, "parameters": _line(model)}
    inner = getattr(model, "estimator_", getattr(model, "best_estimator_", model))
    inner = inner[-1] if hasattr(inner, "steps") else inner
    kernel = getattr(model, "kernel_", getattr(inner, "kernel_", None))
    if kernel is not None:
        told["kernel"] = _line(kernel)
    for name in ("n_components_", "total_variance_", "noise_variance_", "log_likelihood_", "n_iter_", "converged_"):
        if (value := getattr(inner, name, None)) is not None:
            told[name.rstrip("_")] = value.tolist() if hasattr(value, "tolist") else value
    if hasattr(model, "classes_"):
        told["classes"] = model.classes_.tolist()
    if hasattr(model, "limits_"):
        told["limits"] = {"t2": float(model.limits_.t2), "spe": float(model.limits_.spe)}
    if hasattr(inner, "anchors_"):
        told["anchors"] = int(inner.anchors_.shape[0])
    if hasattr(inner, "explained_variance_ratio_"):
        told["explained_variance_ratio"] = [float(share) for share in inner.explained_variance_ratio_]
    if hasattr(inner, "solver_") and hasattr(inner.solver_, "residual"):
        told["solver"] = {"name": _line(inner.solver_.solver), "residual": float(inner.solver_.residual)}
    return told


def _line(value: Any) -> str:
    return " ".join(repr(value).split())


def summary(model: Any) -> str:
    """One line about a fitted model."""
    told = facts(model)
    parts = [told["model"], told.get("kernel", "")]
    if "n_components" in told:
        held = sum(told.get("explained_variance_ratio", []))
        q = told["n_components"]
        several = " and ".join(map(str, q)) if isinstance(q, list) else q
        word = "component" if q == 1 else "components"
        parts.append(f"{several} {word}" + (f" with {held:.1%} of the variance" if held else ""))
    if "anchors" in told:
        parts.append(f"{told['anchors']} anchors")
    return ", ".join(part for part in parts if part)


@click.command(epilog="\b\nExamples:\n  mercer info model.mercer\n  mercer info model.mercer --json | jq .kernel")
@click.argument("model")
@click.option("--json", is_flag=True, help="Print it as JSON.")
def info(model: str, json: bool) -> None:
    """Tell what a model file holds."""
    from ...io import read

    file = read(model)
    told = facts(file.model) | {"format": file.format, "bytes": file.size, "versions": file.versions}
    if file.recipe is not None:
        told["table"] = {
            "columns": file.recipe.columns,
            "mean": file.recipe.mean.tolist(),
            "scale": file.recipe.scale.tolist(),
            "categories": file.recipe.categories,
            "missing": file.recipe.missing,
            "target": file.recipe.target,
        }
    tell(told, json)
    if not json:
        click.echo("\n".join(_described(told)))


def _described(told: dict) -> list[str]:
    """The facts as lines of two columns."""
    shares = told.pop("explained_variance_ratio", [])
    table = told.pop("table", None)
    told["versions"] = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    if "solver" in told:
        told["solver"] = "{name}, residual {residual:.1e}".format(**told["solver"])
    lines = [f"{name.replace('_', ' '):<16}{value}" for name, value in told.items()]
    if shares:
        shown = " ".join(f"{share:.1%}" for share in shares[:10]) + (" …" if len(shares) > 10 else "")  # one line
        lines.append(f"{'variance held':<16}{sum(shares):.1%}: {shown}")
    if table is None:
        return lines
    lines.append(f"{'missing cells':<16}{table['missing']}")
    lines += [f"{'target':<16}{table['target']}"] if table["target"] else []
    lines.append("columns")
    return lines + _columns(table)


def _columns(table: dict) -> list[str]:
    """Each column with its scale, or its words."""
    lines, at = [], 0
    for name in table["columns"]:
        words = table["categories"].get(name)
        scale = f"({name} - {table['mean'][at]:.6g}) / {table['scale'][at]:.6g}"
        lines.append(f"  {name}: " + (scale if words is None else f"one of {', '.join(words)}"))
        at += 1 if words is None else len(words)
    return lines


@click.command(epilog="\b\nExample:\n  mercer plan --rows 1e6 --columns 20 -q 10")
@click.option("--rows", type=Count(), required=True, help="How many rows; 1e6 is understood.")
@click.option("--columns", type=Count(), required=True, help="How many columns.")
@click.option("-q", "--components", type=Count(), default=10, show_default=True, help="How many components.")
@click.option("--landmarks", type=Count(), help="How many landmarks, for that solver.")
@click.option("--json", is_flag=True, help="Print it as JSON.")
def plan(rows: int, columns: int, components: int, landmarks: int | None, json: bool) -> None:
    """Say what a fit will cost.

    Memory and time of each solver, before anything is computed."""
    from dataclasses import asdict

    from ..planning import plan as cost

    found = cost(rows, columns, components, m=landmarks)
    tell(asdict(found), json)
    if not json:
        click.echo(str(found))


@click.command(epilog="\b\nExample:\n  mercer report model.mercer data.csv -o report.html")
@click.argument("model")
@reading
@click.option("-o", "--output", required=True, help="The HTML file to write.")
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
def report(model: str, data: Source, output: str, force: bool) -> None:
    """Write a page about a model and a table.

    One HTML file that needs nothing beside itself."""
    check_free(output, force)
    from ... import report as write
    from .apply import Opened

    file = Opened(model)
    X, _, _ = file.rows(data)
    scaled = (file.recipe.scale != 1).any()
    units = X * file.recipe.scale + file.recipe.mean if scaled else None
    write(file.model, X, output, names=file.recipe.features, units=units)
    say(f"The page: {output}")


@click.command(epilog="\b\nExamples:\n  mercer reproduce parabola -o out\n  mercer reproduce all --quick -o out")
@click.argument("what", default="all")
@click.option("--quick", is_flag=True, help="Smaller, in a minute or so.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder.")
def reproduce(what: str, quick: bool, output: Path) -> None:
    """Make the papers' figures and tables again.

    WHAT is all, or one of prml-12.17, tipping-1-3, tipping-4, zhou-1-2, zhou-table1, deplaen-3, deplaen-4, usps-table,
    usps-denoise, parabola. The folder gets a text with our figures beside the paper's, the numbers as CSV, and
    pictures; all makes a page of them, too. What was interrupted goes on where it was. Data sets are looked for in the
    folder that MERCER_DATA names, and fetched where they are not there.
    """
    from ..reproduce import run

    try:
        run(what, output, quick=quick, report=say if sys.stderr.isatty() else lambda line: None)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"matplotlib", "PIL"}:
            raise
        raise BadInput("The pictures need matplotlib, which is not here: pip install 'mercer[plots]'") from None
    except FileNotFoundError as error:
        if error.errno is not None:  # of the file system, not of the data sets
            raise
        raise BadInput(str(error)) from None
    say(f"The folder: {output}")


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("mercer-demo"),
    show_default=True,
    help="Folder for the page. An earlier demo in it is replaced; a folder with anything else is refused.",
)
@click.option("--data", help="Your own table instead: it is fitted with sensible choices, and a report is written.")
def demo(output: Path, data: str | None) -> None:
    """Tell the whole story on built-in data.

    Prints two short tables and writes one HTML page that needs nothing beside itself: components, denoising,
    sampling, a mixture, a sparse model, a watched process, speed, with the lines of Python that drew each picture
    under it. With --data it is your own table: a model and its report. Needs matplotlib and up to a minute.
    """
    if data is not None:
        _own(data, output)
        return
    from ..demo import make

    try:
        page, tables = make(output, say)
    except OSError as error:
        raise BadInput(str(error)) from None
    for table in tables:
        click.echo(_aligned(table))
    click.echo(f"\nThe page: {page}")


def _own(data: str, output: Path) -> None:
    """Fit a model to somebody's table and write its report."""
    from ..demo import check_folder
    from .fit import fit

    if not (output / "model.mercer").is_file():
        check_folder(output)
    output.mkdir(parents=True, exist_ok=True)
    model, page = output / "model.mercer", output / "index.html"
    common = ["--missing", "mean", "--categorical", "one-hot", "--seed", "0", "--force"]
    fit.main([data, "-o", str(model), *common], standalone_mode=False)
    report.main([str(model), data, "-o", str(page), "--force"], standalone_mode=False)
    click.echo(f"The same by hand:\n  mercer fit {data} -o {model} {' '.join(common[:4])}")
    click.echo(f"  mercer report {model} {data} -o {page}\nThe page: {page}")


def _aligned(table: Table) -> str:
    """Return the table as text with its columns aligned."""
    rows = [table.head, *table.rows]
    wide = max(len(row[0]) for row in rows)
    return "\n" + "\n".join(f"{what:<{wide}}  {left:>12}  {right:>12}".rstrip() for what, left, right in rows)
