"""The papers' tables and figures, made again: each module has ``run(out, quick=False, …)``, which fills a folder."""

from importlib import import_module
from pathlib import Path

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


def run(name, out, quick=False, report=lambda line: None):
    """Make a figure or table of the papers again, into a folder.

    Parameters
    ----------
    name : str
        One of ``MODULES``; or ``"all"``, which makes a page ``index.html`` of them, too.
    out : str or Path
        The folder: it gets ``NAME.md``, a text with our figures beside the paper's; ``NAME.csv``, the numbers; pictures
        ``NAME….png``; and in ``kept`` what was computed, so that a run that was interrupted goes on where it was.
    quick : bool, default=False
        A smaller version, in less than a minute.
    report : callable, default nothing
        Called with a line of text after each step.

    Returns
    -------
    made : list of str
        The names that were made: without those whose data are not there where ``"all"`` were asked for.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.app import reproduce
    >>> reproduce.run("deplaen-3", tempfile.mkdtemp(), quick=True)
    ['deplaen-3']
    """
    if name != "all":
        _one(name)(out, quick=quick, report=report)
        return [name]
    made = {}
    for each in MODULES:
        made[each] = _made(each, out, quick, report)
    from .index import write

    write(Path(out), made)
    return [each for each, missing in made.items() if not missing]


def _one(name):
    if name not in MODULES:
        raise ValueError(f"There is no reproduction {name!r}. Give 'all' or one of: {', '.join(MODULES)}.")
    return import_module(f"{__name__}.{MODULES[name]}").run


def _made(name, out, quick, report):
    """What is missing to make it; nothing where it was made."""
    report(f"{name}:")
    try:
        _one(name)(out, quick=quick, report=lambda line: report(f"{name}: {line}"))
    except FileNotFoundError as error:
        if error.errno is not None:  # of the file system, not of the data sets
            raise
        report(str(error))
        return str(error)
    return ""
