"""The command line: ``mercer``. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

import click

from ... import __version__
from .apply import denoise, inverse, predict, sample, score, transform
from .compress import compress
from .errors import BadInput, Commands
from .explore import explore
from .fit import fit
from .inspect import demo, info, plan, report, reproduce

EPILOG = """\b
From a table to an answer:
  mercer fit data.csv -o model.mercer             fit; columns are scaled, and the scales kept
  mercer info model.mercer                        what it is, and how much variance it holds
  mercer transform model.mercer data.csv          components of each row, as CSV
  mercer score model.mercer new.csv               how unusual each row is
  mercer denoise model.mercer noisy.csv           the nearest rows that the model knows

\b
No data at hand:
  mercer demo                                     the story, into mercer-demo/index.html

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
    """Kernel principal components: curved directions where PCA finds straight ones.

    Tables are CSV, TSV, Parquet, .npy or .npz; - stands for standard input or output. Results go to standard output or
    -o, everything else to standard error. A command that ends with an error has written nothing.

    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    fit,
    transform,
    inverse,
    denoise,
    score,
    predict,
    sample,
    compress,
    explore,
    report,
    info,
    plan,
    demo,
    reproduce,
):
    main.add_command(command)

__all__ = ["BadInput", "Commands", "main"]
