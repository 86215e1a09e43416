"""The story that mercer tells: what linear PCA cannot see, on one page, with the lines that drew it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..datasets import digits, moons, rings
from .report.page import Section, Table, drawn, page, write

PAGE = "index.html"
MARK = "mercer demo"  # tells an earlier demo from somebody else's page


class Story(NamedTuple):
    """One part of the page; the code makes its pictures, and it is run as it is shown."""

    name: str
    title: str
    text: str
    code: str


STORIES = (
    Story(
        "rings",
        "Rings, laid side by side",
        "Linear PCA can only turn the plane, so the rings stay one inside the other. Kernel PCA with a "
        "Gaussian kernel knows every point by its neighbours, and two components lay the rings side by side.",
        """\
from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.rings()
linear, kernel = KernelPCA(2, kernel="linear"), KernelPCA(2, kernel=RBF(gamma=3))
plots.scores(linear.fit_transform(X), y).set_title("linear PCA")
plots.scores(kernel.fit_transform(X), y).set_title("kernel PCA")
""",
    ),
    Story(
        "clusters",
        "What each component sees",
        "Data with two columns give linear PCA two components at most; kernel PCA goes on. The first two "
        "tell three clusters apart. Each of the next six cuts one cluster in two: every cluster twice, the "
        "second time across the first. Blue is positive, orange negative; the percentage is the share of "
        "the variance.",
        """\
from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.clusters()
model = KernelPCA(8, kernel=RBF(gamma=20)).fit(X)
for j in range(8):
    plots.contours(model, X, component=j)
""",
    ),
    Story(
        "denoising",
        "Digits, cleaned",
        "Noisy digits go to the components and back. Linear PCA, at its best number of components, brings back a blend "
        "of all digits; kernel PCA returns to where digits are. The first row is noisy, the second denoised.",
        """\
import numpy as np
from mercer import KernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.digits()
noisy = X[:10] + 0.3 * np.random.default_rng(0).standard_normal((10, 64))
linear = KernelPCA(16, kernel="linear").fit(X[10:])
kernel = KernelPCA(200, kernel=RBF(gamma="median"), preimage="smoother").fit(X[10:])
plots.denoised(linear, noisy).set_title("linear PCA")
plots.denoised(kernel, noisy).set_title("kernel PCA")
""",
    ),
    Story(
        "sampling",
        "New rows, and how sure they are",
        "A probabilistic model is a Gaussian in feature space. On the left its density, with rows that it made up in "
        "orange; on the right what it holds possible for one row, the green one.",
        """\
from mercer import ProbabilisticKernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.moons()
model = ProbabilisticKernelPCA(10, kernel=RBF(gamma=4), noise_variance=0.01, random_state=0).fit(X)
for rows in (model.sample(150)[0], model.sample_posterior(X[0], 60)):
    ax = plots.density(model, X)
    ax.scatter(*rows.T, s=12, color="#ec6a1f")
ax.scatter(*X[0], s=40, color="#16a085")
""",
    ),
    Story(
        "mixture",
        "Two Cs, told apart",
        "Two half circles that lie in each other’s way are no two clouds: a Gaussian mixture cuts straight through. "
        "A mixture in feature space follows the curves.",
        """\
from mercer import KernelPCAMixture, datasets, plots
from mercer.kernels import RBF
from sklearn.mixture import GaussianMixture

X, y = datasets.two_cs()
clouds = GaussianMixture(2, random_state=0).fit(X)
curves = KernelPCAMixture(2, kernel=RBF.from_sigma(8), random_state=0).fit(X)
plots.responsibilities(clouds, X).set_title("Gaussian mixture")
plots.responsibilities(curves, X).set_title("kernel PCA mixture")
""",
    ),
    Story(
        "sparse",
        "A tenth of the rows will do",
        "Maximum likelihood chooses a few rows, ringed here, on which the whole model stands. The distance to the "
        "subspace, which tells what would be new, hardly changes.",
        """\
from mercer import KernelPCA, SparseKernelPCA, datasets, plots
from mercer.kernels import RBF

X, y = datasets.moons()
full = KernelPCA(kernel=RBF(gamma=4), n_components=20, center=False).fit(X)
small = SparseKernelPCA(n_anchors=40, n_components=20, kernel=RBF(gamma=4)).fit(X)
plots.novelty(full, X).set_title("400 anchors")
plots.novelty(small, X).set_title(f"{len(small.support_)} anchors")
""",
    ),
    Story(
        "monitor",
        "A process, watched",
        "Three tanks run normally, then a sensor begins to lie. The monitor was fitted to normal rows only; the chart "
        "of the distance to the model leaves its limit, and the contributions name the sensor.",
        """\
from mercer import KernelPCAMonitor, datasets, plots

normal, _ = datasets.three_tanks(n=1500)
X, faulty = datasets.three_tanks(1, n=400, fault="sensor", sensor=3)
monitor = KernelPCAMonitor(random_state=0).fit(normal)
plots.chart(monitor, X, "spe")
alarms = X[(monitor.predict(X) == -1) & (faulty == 1)]
plots.contributions(monitor, alarms, names=datasets.TANK_SENSORS)
""",
    ),
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
    "Principal components are straight directions; a kernel lets them bend. Everything here was computed by "
    "mercer on this machine when the page was made, and the lines under each picture are those that drew it.",
)
COMMANDS = """\
mercer fit data.csv -o model.mercer
mercer score model.mercer new.csv -o scores.csv
mercer report model.mercer data.csv -o report.html
"""


def make(folder: Path, say: Callable[[str], None]) -> tuple[Path, list[Table]]:
    """Write the page into the folder and return its path with the tables that stand on it."""
    from .. import plots  # noqa: F401  without it nothing is begun

    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    told = [_told(story, say) for story in STORIES]
    say("Measuring both on rows that they were not fitted to …")
    quality = comparison()
    say("Timing beside scikit-learn …")
    speed = timing()
    path = folder / PAGE
    write(path, page("Beyond linear PCA", LEAD, sections(told, quality, speed), MARK))
    return path, [quality, speed]


def sections(told: list[Section], quality: Table, speed: Table) -> list[Section]:
    """All sections in their order."""
    switch = (
        "Code that uses sklearn.decomposition.KernelPCA keeps its parameters, its attributes and its numbers with "
        "mercer.dropin; the import is all that changes."
    )
    own = "mercer’s own KernelPCA takes kernels as objects and chooses its solver itself."
    return [
        Section("On rows not fitted to", tables=[quality]),
        *told,
        Section("In place of scikit-learn", [switch], code=SWITCH),
        Section("… and faster", [own], tables=[speed], code=OWN),
        Section("With your own table", ["Without a line of Python:"], code=COMMANDS),
    ]


def check_folder(folder: Path) -> None:
    """Raise FileExistsError where the page would land among files that the demo did not make."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    path = folder / PAGE
    if not path.is_file() or f'content="{MARK}"' not in path.read_text(encoding="utf-8", errors="replace"):
        raise FileExistsError(f"{folder} exists and holds no earlier demo; choose another folder with -o.")


def _told(story: Story, say: Callable[[str], None]) -> Section:
    """Run the code of a story and return its section."""
    say(f"{story.title} …")
    with drawn(story.name) as figures:
        exec(story.code, {})
    return Section(story.title, [story.text], figures, code=story.code)


def comparison() -> Table:
    """Measure what linear and kernel PCA keep of the classes and of what is usual."""
    from .. import KernelPCA
    from ..kernels import RBF

    def row(what: str, form: str, measure: Callable[[Any], float], q: int, gamma: float | str) -> tuple[str, str, str]:
        left, right = (measure(KernelPCA(q, kernel=kernel)) for kernel in ("linear", RBF(gamma=gamma)))
        return what, format(left, form), format(right, form)

    return Table(
        ("", "linear PCA", "kernel PCA"),
        [
            row("Rings: accuracy on 2 components", ".0%", lambda m: _accuracy(m, rings), 2, 3.0),
            row("Half moons: accuracy on 2 components", ".0%", lambda m: _accuracy(m, moons), 2, 15.0),
            row("Digits: AUC for an unseen digit, 10 components", ".2f", _novelty, 10, "median"),
        ],
        "Accuracy is that of a linear classifier on points drawn anew. The AUC tells how well the reconstruction error "
        "sorts out a digit that was left out of the fit; it is the mean over the ten digits.",
    )


def _accuracy(model: Any, draw: Callable[..., Any]) -> float:
    """Score a linear classifier on the components of a fresh draw."""
    from sklearn.linear_model import LogisticRegression

    (X, y), (X_new, y_new) = draw(0), draw(1)
    classifier = LogisticRegression(C=1e4, max_iter=10_000).fit(model.fit_transform(X), y)
    return classifier.score(model.transform(X_new), y_new)


def _novelty(model: Any) -> float:
    """Average over the ten digits the AUC of the reconstruction error, each digit left out of its fit."""
    from sklearn.metrics import roc_auc_score

    X, y = digits()
    held = np.arange(len(X)) % 3 > 0  # a third to learn from is enough, and keeps the demo short

    def auc(digit: int) -> float:
        error = model.fit(X[~held & (y != digit)]).reconstruction_error(X[held])
        return roc_auc_score(y[held] == digit, error)

    return float(np.mean([auc(digit) for digit in range(10)]))


def timing() -> Table:
    """Time the same fit by scikit-learn, by the drop-in and by mercer's own estimator."""
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
