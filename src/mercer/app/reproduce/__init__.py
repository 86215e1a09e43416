"""Reproductions of tables and figures of the papers: each module has ``run(out, quick=False, …)``."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from .output import Report, Row, silent

MODULES = {
    "prml-12.17": "prml_12_17",
    "tipping-1-3": "tipping_1_3",
    "tipping-4": "tipping_4",
    "zhou-1-2": "zhou_1_2",
    "zhou-table1": "zhou_table1",
    "deplaen-3": "deplaen_3",
    "deplaen-4": "deplaen_4",
    "usps-table": "usps_table",
    "usps-denoise": "usps_denoise",
    "parabola": "parabola",
}


def run(name: str, out: str | Path, quick: bool = False, report: Report = silent) -> list[str]:
    """Reproduce a figure or table of the papers.

    Parameters
    ----------
    name : str
        A key of ``MODULES``, or ``"all"``, which also writes a page ``index.html`` with all of them.
    out : str or Path
        The output folder. It receives ``NAME.md``, a text that compares our results with the paper's; ``NAME.csv``, the
        numbers; figures ``NAME….svg``; and the folder ``kept`` with intermediate results, from which an interrupted
        run resumes.
    quick : bool, default=False
        Whether to run a smaller version that takes less than a minute.
    report : callable, default=silent
        Called with a line of text after each step; by default, nothing is reported.

    Returns
    -------
    made : list of str
        The names that were reproduced. For ``"all"``, those whose data sets are missing are left out.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.app import reproduce
    >>> reproduce.run("deplaen-3", tempfile.mkdtemp(), quick=True)
    ['deplaen-3']
    """
    if name != "all":
        _runner(name)(out, quick=quick, report=report)
        return [name]
    from .index import write

    problems = {each: _attempt(each, out, quick, report) for each in MODULES}
    write(Path(out), problems)
    return [each for each, problem in problems.items() if not problem]


def _runner(name: str) -> Callable[..., list[Row]]:
    if name not in MODULES:
        raise ValueError(f"There is no reproduction {name!r}. Pass 'all' or one of: {', '.join(MODULES)}.")
    return import_module(f"{__name__}.{MODULES[name]}").run


def _attempt(name: str, out: str | Path, quick: bool, report: Report) -> str:
    """Run one reproduction; return which data set is missing, or an empty string on success."""
    report(f"{name}:")
    try:
        _runner(name)(out, quick=quick, report=lambda line: report(f"{name}: {line}"))
    except FileNotFoundError as error:
        if error.errno is not None:  # a missing file or folder, not a missing data set
            raise
        report(str(error))
        return str(error)
    return ""
