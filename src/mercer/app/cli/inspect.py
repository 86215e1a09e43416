"""Commands that describe models, data and costs: info, plan, report, demo, reproduce."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..._core.text import visible
from .errors import BadInput, log
from .options import (
    Number,
    Selection,
    Source,
    check_free,
    force_option,
    json_option,
    model_argument,
    plural,
    print_json,
    reading,
    selecting,
)

if TYPE_CHECKING:
    from ..demo import Table

SHOWN_DIGEST = 16  # hexadecimal digits
SHOWN_SHARES = 10  # that fit in one line


def _positive_integer(text: str) -> int:
    if float(text) != int(float(text)) or float(text) < 1:
        raise ValueError
    return int(float(text))


COUNT = Number(parse=_positive_integer, expected="a positive integer, such as 1000 or 1e6")


@click.command(
    epilog="\b\nExamples:\n  mercer info model.mercer\n  mercer info model.mercer --recipe\n"
    "  mercer info model.mercer --json | jq .kernel"
)
@model_argument
@click.option("--recipe", is_flag=True, help="Print the command and the Python code that make the model again.")
@json_option
def info(model: str, recipe: bool, json: bool) -> None:
    """Describe a model file, or how it was made.

    With --recipe, the first line is the command that makes the model again from its table, and the code below does the
    same in Python.
    """
    if recipe:
        from ...io import read

        _print_recipe(read(model), model, json)
        return
    found = _facts(model)
    try:
        lines = _as_lines(dict(found))
    except (TypeError, ValueError, LookupError, AttributeError):
        raise BadInput(f"{model}: the description that it contains is damaged.") from None
    if json:
        print_json(found)
    else:
        click.echo("\n".join(map(visible, lines)))


def _facts(path: str) -> dict[str, Any]:
    """Return the description of the model in a file; for files of earlier versions, describe the loaded model."""
    from ...io.archive import KIND, Archive

    archive = Archive(path)
    about, versions = archive.manifest.get("about"), archive.manifest.get("versions")
    if archive.manifest.get("kind") != KIND or not isinstance(about, dict) or not isinstance(versions, dict):
        from ...io import read
        from ...io.facts import facts, of_table

        file = read(path)
        about, versions = facts(file.model), file.versions
        about |= {} if file.recipe is None else {"table": of_table(file.recipe)}
    return about | {"format": archive.manifest["format"], "bytes": archive.size, "versions": versions}


def _print_recipe(file: Any, path: str, json: bool) -> None:
    from .. import recipes

    if json:
        made = {
            "command": recipes.command(file.model, file.recipe, path),
            "python": recipes.python(file.model, file.recipe),
        }
        print_json(made)
    else:
        click.echo(recipes.lines(file.model, file.recipe, path))


def _as_lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines of two columns."""
    shares, table = found.pop("explained_variance_ratio", []), found.pop("table", None)
    found["versions"] = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    if "solver" in found:
        found["solver"] = "{name}, residual {residual:.1e}".format(**found["solver"])
    if shares:
        shown = " ".join(f"{share:.1%}" for share in shares[:SHOWN_SHARES]) + " …" * (len(shares) > SHOWN_SHARES)
        found["variance"] = f"{sum(shares):.1%}: {shown}"
    if table is not None:
        found["missing values"] = table["missing"]
    if table is not None and table["source"]:
        found["data"] = f"{table['source']}, {plural(table['rows'], 'row')}, sha256 {table['sha256'][:SHOWN_DIGEST]}…"
    if table is not None and table["left_out"]:
        found["left out"] = ", ".join(f"{name} ({kind})" for name, kind in table["left_out"].items())
    if table is not None and table["target"]:
        found["target"] = table["target"]
    lines = [f"{name.replace('_', ' '):<16}{value}" for name, value in found.items()]
    return lines if table is None else [*lines, "columns", *_column_lines(table)]


def _column_lines(table: dict[str, Any]) -> list[str]:
    """Return one line for each column, with its scaling or its categories."""
    lines, at = [], 0
    for name in table["columns"]:
        words = table["categories"].get(name)
        scale = f"({name} - {table['mean'][at]:.6g}) / {table['scale'][at]:.6g}"
        lines.append(f"  {name}: " + (scale if words is None else f"one of {', '.join(words)}"))
        at += 1 if words is None or name in table.get("coded", ()) else len(words)
    return lines


@click.command(
    epilog="\b\nExamples:\n  mercer check data.csv\n  mercer check iris.csv --target species\n"
    "  mercer check data.csv --strict && mercer fit data.csv -o model.mercer"
)
@reading
@selecting
@json_option
def check(data: Source, selection: Selection, json: bool) -> None:
    """Check a table before a model is fitted to it.

    Lists what was found in the columns (ids, dates, constants, texts, categories, booleans, missing values, outlying
    cells, duplicates, scales, targets), what mercer fit does with it, and the option that changes that. The exit code
    is 0 whatever is found; with --strict it is 2 if a column would be left out or refused.
    """
    from ...tables import check as look

    found = look(selection.read(data), **selection.arguments(), classes=selection.target is not None)
    if json:
        findings = [row._asdict() for row in found]
        print_json({"data": data.path, "rows": found.n_rows, "columns": found.actions, "findings": findings})
    else:
        click.echo(str(found))
    if selection.strict and found.unused:
        raise click.exceptions.Exit(2)


@click.command(
    epilog="\b\nExamples:\n  mercer plan data.csv\n  mercer plan --rows 1e6 --columns 20 -q 10\n"
    "  mercer plan big.parquet --landmarks 2000 --json"
)
@click.argument("data", required=False)
@click.option("--rows", type=COUNT, help="Number of rows, such as 1000 or 1e6, instead of DATA.")
@click.option("--columns", type=COUNT, help="Number of columns, instead of DATA.")
@click.option("-q", "--components", type=COUNT, default=10, show_default=True, help="Number of components.")
@click.option("--landmarks", type=COUNT, help="Number of landmarks, for the solver landmarks.")
@json_option
def plan(
    data: str | None, rows: int | None, columns: int | None, components: int, landmarks: int | None, json: bool
) -> None:
    """Estimate memory and time of a fit.

    Reports the estimate for each solver before anything is fitted, for the table DATA as mercer fit would use it, or
    for given numbers of rows and columns.
    """
    from dataclasses import asdict

    from ..planning import plan as estimate

    if (data is None) == (rows is None or columns is None) or (data is not None and (rows or columns)):
        raise click.UsageError("Give a table, or both --rows and --columns.")
    if data is not None:
        from ...tables import learn, read

        table = read(data)
        rows, columns = len(table), len(learn(table, missing="mean", categorical="one-hot").features)
    assert rows is not None
    assert columns is not None
    found = estimate(rows, columns, components, m=landmarks)
    if json:
        print_json(asdict(found))
    else:
        click.echo(str(found))


@click.command(
    epilog="\b\nExamples:\n  mercer report model.mercer data.csv -o report.html\n"
    "  mercer report model.mercer data.csv -o report.html --color price --force"
)
@model_argument
@reading
@click.option("-o", "--output", required=True, help="Path of the HTML file to write.")
@click.option("--color", help="A column of DATA by which the map of the rows is coloured.")
@force_option
@json_option
def report(model: str, data: Source, output: str, color: str | None, force: bool, json: bool) -> None:
    """Write an HTML report about a model and a table.

    Shows a map of the rows, the explained variance beside that of linear PCA, what drives the components and unusual
    rows with their causes; for classifiers held-out accuracy and calibration, for mixtures their clusters, for
    monitors the charts and alarms. The page is a single file that loads nothing else.
    """
    check_free(output, force)
    from .. import recipes
    from ..report import write_report
    from .apply import LoadedModel

    file = LoadedModel(model)
    X, kept, y = file.rows(data, [] if color is None else [color])
    recipe = file.recipe
    scaled = (recipe.scale != 1).any()
    write_report(
        file.model,
        X,
        output,
        names=recipe.features,
        units=X * recipe.scale + recipe.mean if scaled else None,
        y=y,
        color=None if color is None else (color, kept[color]),
        filled=file.filled,
        spread=file.spread,
        training=file.training,
        made=recipes.lines(file.model, recipe, model) if recipe.source else "",
    )
    if json:
        print_json({"output": output, "rows": len(X), "bytes": os.path.getsize(output), "training": file.training})
    else:
        log(f"Report: {output}")


@click.command(epilog="\b\nExamples:\n  mercer reproduce parabola -o out\n  mercer reproduce all --quick -o out")
@click.argument("what", default="all")
@click.option("--quick", is_flag=True, help="Run a smaller version that takes about a minute.")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Output folder.")
@json_option
def reproduce(what: str, quick: bool, output: Path, json: bool) -> None:
    """Reproduce figures and tables of the papers.

    WHAT is all, or one of prml-12.17, tipping-1-3, tipping-4, zhou-1-2, zhou-table1, deplaen-3, deplaen-4, usps-table,
    usps-denoise, parabola. The output folder receives a text that compares our results with the paper's, the numbers
    as CSV, and figures; all also writes a page with all of them. An interrupted run resumes where it stopped. Data
    sets are read from the folder MERCER_DATA, or downloaded.
    """
    from ..reproduce import run

    try:
        made = run(what, output, quick=quick, report=log if sys.stderr.isatty() else lambda line: None)
    except FileNotFoundError as error:
        if error.errno is not None:  # a missing file or folder, not a missing data set
            raise
        raise BadInput(str(error)) from None
    if json:
        print_json({"output": str(output), "reproduced": made, "quick": quick})
    else:
        log(f"Output folder: {output}")


@click.command(epilog="\b\nExamples:\n  mercer demo\n  mercer demo --data data.csv -o my-report")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("mercer-demo"),
    show_default=True,
    help="Output folder. An earlier demo is overwritten; a folder with other files is refused.",
)
@click.option("--data", help="Use this table instead: fit a model with default choices and write a report.")
@json_option
def demo(output: Path, data: str | None, json: bool) -> None:
    """Show what kernel PCA does, on built-in data.

    Prints two short tables and writes one HTML page that loads nothing else: components, denoising, sampling, a
    mixture, a sparse model, process monitoring and speed, each figure with the Python code that drew it. With --data,
    fits a model to your own table and writes its report. Needs matplotlib and up to a minute.
    """
    if data is not None:
        _report_on(data, output, json)
        return
    from ..demo import make

    try:
        page, tables = make(output, log)
    except OSError as error:
        raise BadInput(str(error)) from None
    if json:
        print_json({"output": str(page), "tables": [[table.head, *table.rows] for table in tables]})
        return
    for table in tables:
        click.echo(_aligned(table))
    click.echo(f"\nPage: {page}")


def _report_on(data: str, output: Path, json: bool) -> None:
    """Fit a model to the user's table and write its report."""
    from ..demo import check_folder
    from .fit import fit

    if not (output / "model.mercer").is_file():
        check_folder(output)
    output.mkdir(parents=True, exist_ok=True)
    model, page = output / "model.mercer", output / "index.html"
    choices = ["--missing", "mean"]
    fit.main([data, "-o", str(model), *choices, "--force"], standalone_mode=False)
    report.main([str(model), data, "-o", str(page), "--force"], standalone_mode=False)
    if json:
        print_json({"output": str(page), "model": str(model)})
        return
    click.echo(f"The same with single commands:\n  mercer fit {data} -o {model} {' '.join(choices)}")
    click.echo(f"  mercer report {model} {data} -o {page}\nPage: {page}")


def _aligned(table: Table) -> str:
    """Return the table as text with aligned columns."""
    rows = [table.head, *table.rows]
    width = max(len(row[0]) for row in rows)
    return "\n" + "\n".join(f"{what:<{width}}  {left:>12}  {right:>12}".rstrip() for what, left, right in rows)
