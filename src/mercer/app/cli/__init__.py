"""The command ``mercer``. Subcommands import their modules when they run, so that ``--help`` is fast."""

from __future__ import annotations

import click

from ... import __version__
from .apply import denoise, inverse, predict, sample, score, transform
from .completion import completion
from .compress import compress
from .errors import BadInput, Commands
from .explore import explore
from .export import export
from .fit import fit
from .impute import impute
from .inspect import check, demo, info, plan, report, reproduce
from .select import select

EPILOG = """\b
Typical use:
  mercer check data.csv                           what is in the columns, and what fit does with it
  mercer select data.csv                          kernel and components; is linear PCA enough?
  mercer fit data.csv -o model.mercer             fit a model; columns are standardized
  mercer info model.mercer                        describe it, with the explained variance
  mercer transform model.mercer data.csv          components of each row, as CSV
  mercer score model.mercer new.csv               how unusual each row is
  mercer denoise model.mercer noisy.csv           rows without noise
  mercer impute data.csv -o full.csv              missing values filled in

\b
Without data:
  mercer demo                                     a demonstration: mercer-demo/index.html
  mercer completion bash                          complete commands and options with the tab key

\b
In Python:
  from mercer import KernelPCA
  Y = KernelPCA(n_components=2).fit_transform(X)
"""


@click.group(
    cls=Commands,
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="mercer %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Kernel PCA: nonlinear principal component analysis.

    Tables are CSV, TSV, Parquet, Feather, .npy or .npz; - is standard input or output. Results go to standard output
    or -o, messages to standard error. A command that fails writes no output file.

    Exit codes: 0 success, 2 bad input, 130 interrupted, 141 output closed by its reader.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


COMMANDS = [check, select, fit, transform, inverse, denoise, score, predict, sample, impute, compress]
COMMANDS += [export, explore, report, info, plan, demo, reproduce, completion]
for command in COMMANDS:
    main.add_command(command)

__all__ = ["BadInput", "Commands", "main"]
