"""The demo: one HTML page that shows what kernel PCA can do and linear PCA cannot, with the code of each figure."""

import re
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets import digits, moons, rings
from .report.page import Section, Table, drawn, page, write

PAGE = "index.html"
MARK = "mercer demo"  # identifies the page of an earlier demo


class Story(NamedTuple):
    """A section of the page; its code draws its figures and is shown as it was run."""

    name: str
    title: str
    text: str
    code: str


# the sections of demo.md: a heading "## name: title", a paragraph, a block of code
_STORY = re.compile(r"^## (\w+): (.+?)\n\n(.+?)\n\n```python\n(.+?)```$", re.MULTILINE | re.DOTALL)
STORIES = tuple(
    Story(name, title, " ".join(text.split()), code)
    for name, title, text, code in _STORY.findall(
        resources.files(__package__).joinpath("demo.md").read_text(encoding="utf-8")
    )
)

SWITCH = """\
from mercer.datasets import noisy_digits
from mercer.dropin import KernelPCA

X = noisy_digits(3000)
model = KernelPCA(10, kernel="rbf", gamma=0.1, eigen_solver="arpack").fit(X)
"""
OWN = """\
from mercer import KernelPCA
from mercer.datasets import noisy_digits
from mercer.kernels import RBF

X = noisy_digits(3000)
model = KernelPCA(10, kernel=RBF(gamma=0.1)).fit(X)
"""
LEAD = (
    "Linear PCA finds straight directions of large variance; kernel PCA finds curved ones. Everything on this page was "
    "computed by mercer on this machine when the page was written; the code under each figure drew it.",
)
COMMANDS = """\
mercer explore data.csv
mercer fit data.csv -o model.mercer
mercer score model.mercer new.csv -o scores.csv
mercer report model.mercer data.csv -o report.html
"""


def make(folder: Path, log: Callable[[str], None]) -> tuple[Path, list[Table]]:
    """Write the page into the folder; return its path and its tables."""
    from .. import plots  # noqa: F401  an error here, before any work, if matplotlib is missing

    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stories = [_run(story, log) for story in STORIES]
    log("Comparing on held-out rows …")
    quality = comparison()
    log("Timing against scikit-learn …")
    speed = timing()
    path = folder / PAGE
    write(path, page("Beyond linear PCA", LEAD, sections(stories, quality, speed), MARK))
    return path, [quality, speed]


def sections(stories: list[Section], quality: Table, speed: Table) -> list[Section]:
    """Return all sections of the page."""
    switch = (
        "Code that uses sklearn.decomposition.KernelPCA keeps its parameters, attributes and results with "
        "mercer.dropin; only the import changes."
    )
    own = "mercer’s own KernelPCA takes kernels as objects and chooses the solver itself."
    return [
        Section("Held-out results", tables=[quality]),
        *stories,
        Section("A replacement for scikit-learn’s KernelPCA", [switch], code=SWITCH),
        Section("Speed", [own], tables=[speed], code=OWN),
        Section("Your own table", ["Without Python:"], code=COMMANDS),
    ]


def check_folder(folder: Path) -> None:
    """Raise FileExistsError if the folder contains files that are not from an earlier demo."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    path = folder / PAGE
    if not path.is_file() or f'content="{MARK}"' not in path.read_text(encoding="utf-8", errors="replace"):
        raise FileExistsError(f"{folder} exists and does not contain an earlier demo. Pass another folder with -o.")


def _run(story: Story, log: Callable[[str], None]) -> Section:
    """Run the code of a story and return its section."""
    log(f"{story.title} …")
    with drawn(story.name) as figures:
        exec(story.code, {})
    return Section(story.title, [story.text], figures, code=story.code)


def comparison() -> Table:
    """Compare linear and kernel PCA by classification and novelty detection on held-out rows."""
    from .. import KernelPCA
    from ..kernels import RBF

    def row(what: str, form: str, measure: Callable[[Any], float], q: int, gamma: float | str) -> tuple[str, str, str]:
        left, right = (measure(KernelPCA(q, kernel=kernel)) for kernel in ("linear", RBF(gamma=gamma)))
        return what, format(left, form), format(right, form)

    return Table(
        ("", "linear PCA", "kernel PCA"),
        [
            row("Rings: accuracy with 2 components", ".0%", lambda m: _accuracy(m, rings), 2, 3.0),
            row("Half moons: accuracy with 2 components", ".0%", lambda m: _accuracy(m, moons), 2, 15.0),
            row("Digits: AUC for an unseen digit, 10 components", ".2f", _novelty, 10, "median"),
        ],
        "Accuracy of a linear classifier on newly drawn points. AUC of the reconstruction error as a detector of one "
        "digit that was left out of the fit, averaged over the ten digits.",
    )


def _accuracy(model: Any, draw: Callable[..., Any]) -> float:
    """Return the accuracy of a linear classifier on the components of newly drawn points."""
    from sklearn.linear_model import LogisticRegression

    (X, y), (X_new, y_new) = draw(0), draw(1)
    classifier = LogisticRegression(C=1e4, max_iter=10_000).fit(model.fit_transform(X), y)
    return classifier.score(model.transform(X_new), y_new)


def _novelty(model: Any) -> float:
    """Return the AUC of the reconstruction error for a left-out digit, averaged over the ten digits."""
    from sklearn.metrics import roc_auc_score

    X, y = digits()
    held = np.arange(len(X)) % 3 > 0  # a third of the rows suffices to fit, and keeps the demo short

    def auc(digit: int) -> float:
        error = model.fit(X[~held & (y != digit)]).reconstruction_error(X[held])
        return roc_auc_score(y[held] == digit, error)

    return float(np.mean([auc(digit) for digit in range(10)]))


def timing() -> Table:
    """Time the same fit with scikit-learn, the drop-in and mercer's own estimator."""
    seconds, reference = _timed(SWITCH.replace("mercer.dropin", "sklearn.decomposition"))
    rows = [("sklearn.decomposition.KernelPCA, arpack", f"{seconds:.2f}", "")]
    for what, code in (("mercer.dropin.KernelPCA, arpack", SWITCH), ("mercer.KernelPCA", OWN)):
        seconds, values = _timed(code)
        rows.append((what, f"{seconds:.2f}", f"{np.abs(values / reference - 1).max():.0e}"))
    note = (
        "Seconds to fit, the better of two runs; the last column is the largest relative difference of an eigenvalue "
        "from scikit-learn’s."
    )
    return Table(("3,000 noisy digits, 10 components", "seconds", "λ differ by"), rows, note)


def _timed(code: str) -> tuple[float, np.ndarray]:
    """Return the time of the better of two runs, and the eigenvalues."""
    names: dict[str, Any] = {}
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        exec(code, names)
        seconds.append(time.perf_counter() - start)
    return min(seconds), names["model"].eigenvalues_
