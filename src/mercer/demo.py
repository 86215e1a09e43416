"""The first story that mercer tells: kernel PCA beside linear PCA, on one page."""

from __future__ import annotations

import html
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

PAGE = "index.html"
MARK = '<meta name="generator" content="mercer demo">'  # tells an earlier demo from somebody else's page


class Table(NamedTuple):
    """Two columns of figures, with what each row is in front."""

    head: tuple[str, str, str]
    rows: list[tuple[str, str, str]]


class Section(NamedTuple):
    """One part of the page; the code makes its pictures, and it is run as it is shown."""

    name: str
    title: str
    text: str
    code: str


SECTIONS = (
    Section(
        "rings",
        "Rings, laid side by side",
        "Linear PCA can only turn the plane, so the rings stay one inside the other. Kernel PCA with a "
        "Gaussian kernel knows every point by its neighbours, and two components lay the rings side by side.",
        """\
from mercer import KernelPCA, plots
from mercer.demo import rings
from mercer.kernels import RBF

X, y = rings()
linear, kernel = KernelPCA(2, kernel="linear"), KernelPCA(2, kernel=RBF(gamma=3))
plots.scores(linear.fit_transform(X), y).set_title("linear PCA")
plots.scores(kernel.fit_transform(X), y).set_title("kernel PCA")
""",
    ),
    Section(
        "clusters",
        "What each component sees",
        "Data with two columns give linear PCA two components at most; kernel PCA goes on. The first two "
        "tell three clusters apart. Each of the next six cuts one cluster in two: every cluster twice, the "
        "second time across the first. Blue is positive, orange negative; the percentage is the share of "
        "the variance.",
        """\
from mercer import KernelPCA, plots
from mercer.demo import clusters
from mercer.kernels import RBF

X, y = clusters()
model = KernelPCA(8, kernel=RBF(gamma=20)).fit(X)
for j in range(8):
    plots.contours(model, X, component=j)
""",
    ),
    Section(
        "novelty",
        "What would be new",
        "The distance of a point to the fitted subspace says how unlike the data it is: the bluer, the "
        "farther. To linear PCA everything along its line is familiar, to kernel PCA what lies on the shape "
        "of the data.",
        """\
from mercer import KernelPCA, plots
from mercer.demo import moons
from mercer.kernels import RBF

X, y = moons()
linear, kernel = KernelPCA(1, kernel="linear"), KernelPCA(20, kernel=RBF(gamma=4))
plots.novelty(linear.fit(X), X).set_title("linear PCA, 1 component")
plots.novelty(kernel.fit(X), X).set_title("kernel PCA, 20 components")
""",
    ),
    Section(
        "digits",
        "1,797 handwritten digits",
        "The shares of variance are taken against the whole variance in feature space, not against the "
        "components that were computed, so they tell what is left out. Bars are the components, the line is "
        "their sum. The kernel’s width comes from the median distance in the data.",
        """\
from mercer import KernelPCA, plots
from mercer.demo import digits
from mercer.kernels import RBF

X, y = digits()
model = KernelPCA(10, kernel=RBF(gamma="median")).fit(X)
plots.scores(model.transform(X), y).set_title("ten digits, two components")
plots.scree(model)
""",
    ),
)

SWITCH = """\
from mercer.demo import noisy_digits
from mercer.dropin import KernelPCA

X = noisy_digits(3000)
model = KernelPCA(10, kernel="rbf", gamma=0.1, eigen_solver="arpack").fit(X)
"""
OWN = """\
from mercer import KernelPCA
from mercer.demo import noisy_digits
from mercer.kernels import RBF

X = noisy_digits(3000)
model = KernelPCA(10, kernel=RBF(gamma=0.1)).fit(X)
"""


def make(folder: Path, say: Callable[[str], None]) -> tuple[Path, list[Table]]:
    """Write the page into the folder and return its path with the tables that stand on it."""
    from mercer import plots  # noqa: F401  without it nothing is begun

    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    body = [_section(section, say) for section in SECTIONS]
    say("Measuring both on rows that they were not fitted to …")
    tables = [comparison()]
    say("Timing beside scikit-learn …")
    tables.append(timing())
    page = folder / PAGE
    _replace(page, render(tables, body))
    return page, tables


def check_folder(folder: Path) -> None:
    """Raise FileExistsError where the page would land among files that the demo did not make."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    page = folder / PAGE
    if not page.is_file() or MARK not in page.read_text(encoding="utf-8", errors="replace"):
        raise FileExistsError(f"{folder} exists and holds no earlier demo; choose another folder with -o.")


# The data


def rings(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw n points from three rings around the origin, with the number of the ring."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    radius = np.array([0.2, 0.6, 1.0])[y] + 0.05 * rng.standard_normal(n)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def moons(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw n points from two interleaved half circles, with the number of the half."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y == 1] = (1.0, 0.5) - X[y == 1]
    return X + 0.08 * rng.standard_normal(X.shape), y


def clusters(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw n points from three round Gaussian clusters, with the number of the cluster."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = np.array([[-0.55, -0.3], [0.0, 0.6], [0.6, -0.15]])
    return means[y] + 0.1 * rng.standard_normal((n, 2)), y


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's 8 × 8 handwritten digits, grey values in [0, 1], and what they show."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16, y  # the grey values are 0 … 16


def noisy_digits(n: int, seed: int = 0) -> np.ndarray:
    """Draw n of the digits, with noise on every pixel so that no two rows are equal."""
    rng = np.random.default_rng(seed)
    X = digits()[0]
    return X[rng.integers(0, len(X), n)] + 0.1 * rng.standard_normal((n, X.shape[1]))


# The figures


def comparison() -> Table:
    """Measure what linear and kernel PCA keep of the classes and of what is usual."""
    from mercer import KernelPCA
    from mercer.kernels import RBF

    def row(what: str, form: str, measure: Callable[[Any], float], q: int, gamma: float | str) -> tuple[str, str, str]:
        left, right = (measure(KernelPCA(q, kernel=kernel)) for kernel in ("linear", RBF(gamma=gamma)))
        return what, format(left, form), format(right, form)

    return Table(
        ("On rows not fitted to", "linear PCA", "kernel PCA"),
        [
            row("Rings: accuracy on 2 components", ".0%", lambda m: _accuracy(m, rings), 2, 3.0),
            row("Half moons: accuracy on 2 components", ".0%", lambda m: _accuracy(m, moons), 2, 15.0),
            row("Digits: AUC for an unseen digit, 10 components", ".2f", _novelty, 10, "median"),
        ],
    )


def _accuracy(model: Any, draw: Callable[..., Any]) -> float:
    """Score a linear classifier on the components of a fresh draw."""
    from sklearn.linear_model import LogisticRegression

    (X, y), (X_new, y_new) = draw(seed=0), draw(seed=1)
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
    return Table(("3,000 noisy digits, 10 components", "seconds", "λ differ by"), rows)


def _timed(code: str) -> tuple[float, np.ndarray]:
    """Return the time of the better of two runs, and the eigenvalues."""
    names: dict[str, Any] = {}
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        exec(code, names)
        seconds.append(time.perf_counter() - start)
    return min(seconds), names["model"].eigenvalues_


# The page


def render(tables: list[Table], body: list[str]) -> str:
    """Return the page as HTML that needs nothing beside itself."""
    quality, speed = (_table(table) for table in tables)
    return _PAGE.substitute(
        mark=MARK,
        quality=quality,
        speed=speed,
        switch=html.escape(SWITCH),
        own=html.escape(OWN),
        body="\n".join(body),
        versions=html.escape(_versions()),
    )


def _section(section: Section, say: Callable[[str], None]) -> str:
    """Run the code of a section and return its HTML."""
    from mercer import plots

    say(f"{section.title} …")
    with plots.captured(section.name) as svgs:
        exec(section.code, {})
    title, text, code = (html.escape(part) for part in (section.title, section.text, section.code))
    figures = "".join(f"<figure>{svg}</figure>" for svg in svgs)
    row = f'<div class="row n{len(svgs)}">{figures}</div>'
    return f"<section><h2>{title}</h2><p>{text}</p>{row}<pre>{code}</pre></section>"


def _table(table: Table) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    rows = "".join(cells("td", row) for row in table.rows)
    return f"<table><thead>{cells('th', table.head)}</thead><tbody>{rows}</tbody></table>"


def _versions() -> str:
    """Say what computed the figures, since times and last digits depend on it."""
    import sklearn

    import mercer

    python = platform.python_version()
    return (
        f"mercer {mercer.__version__} · Python {python} · NumPy {np.__version__} · "
        f"scikit-learn {sklearn.__version__} · {platform.machine()}, {os.cpu_count()} cores"
    )


def _replace(path: Path, text: str) -> None:
    """Write the text in one step, so that a reader sees the old page or the new one."""
    with tempfile.TemporaryDirectory(dir=path.parent) as beside:
        draft = Path(beside, path.name)
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)


_PAGE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
$mark
<title>mercer: kernel PCA beside linear PCA</title>
<style>
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1f2533; --soft: #5d677b; --card: #f5f7fa; --line: #dfe3ea; --accent: #1f6fd0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171d; --ink: #e6e9f0; --soft: #a3adbf; --card: #1d2129; --line: #333a47; --accent: #6fb0ff;
  }
}
* { box-sizing: border-box }
body {
  margin: 0 auto; max-width: 60rem; padding: 3rem 1.25rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: clamp(1.8rem, 6vw, 2.6rem); line-height: 1.15; letter-spacing: -.02em; margin: 0 0 .8rem }
h2 { font-size: 1.35rem; line-height: 1.3; letter-spacing: -.01em; margin: 0 0 .4rem }
p { max-width: 44rem; margin: 0 0 1.1rem }
header p { color: var(--soft); font-size: 1.1rem }
section { margin-top: 3rem; padding-top: 1.8rem; border-top: 1px solid var(--line) }
.row { display: grid; gap: .9rem; grid-template-columns: repeat(2, 1fr) }
.row.n8 { grid-template-columns: repeat(4, 1fr) }
figure { margin: 0; padding: .5rem; border: 1px solid var(--line); border-radius: .6rem; color: var(--soft) }
svg { display: block; width: 100%; height: auto }
svg text { font-family: inherit !important }
.n8 svg text { font-size: 16px !important }
pre, code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .86em }
pre {
  margin: 1rem 0 0; padding: .9rem 1.1rem; overflow-x: auto; line-height: 1.55;
  background: var(--card); border-radius: .6rem;
}
table { border-collapse: collapse; width: 100%; margin-top: 1.4rem; font-variant-numeric: tabular-nums }
th, td { padding: .5rem 0; border-bottom: 1px solid var(--line); text-align: left; line-height: 1.4 }
th { color: var(--soft); font-weight: 500; font-size: .9rem; white-space: nowrap }
th + th, td + td { text-align: right; padding-left: 1rem }
header + table td:last-child { font-weight: 650; color: var(--accent) }
.note, footer { color: var(--soft); font-size: .85rem; margin-top: .8rem }
footer { margin-top: 3rem }
.after { margin-top: 1.6rem }
@media (max-width: 40rem) {
  .row { grid-template-columns: 1fr }
  .row.n8 { grid-template-columns: repeat(2, 1fr) }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt }
  pre { white-space: pre-wrap; border: 1px solid var(--line) }
  section { break-inside: avoid }
}
</style>
</head>
<body>
<header>
<h1>Kernel PCA beside linear PCA</h1>
<p>Principal components are straight directions; a kernel lets them bend. Everything here was computed by
mercer on this machine when the page was made, and the lines under each picture are those that drew it.</p>
</header>
$quality
<p class="note">Accuracy is that of a linear classifier on points drawn anew. The AUC tells how well the
reconstruction error sorts out a digit that was left out of the fit; it is the mean over the ten digits.</p>
$body
<section>
<h2>In place of scikit-learn</h2>
<p>Code that uses <code>sklearn.decomposition.KernelPCA</code> keeps its parameters, its attributes and its
numbers with <code>mercer.dropin</code>; the import is all that changes.</p>
<pre>$switch</pre>
<p class="after">mercer’s own <code>KernelPCA</code> takes kernels as objects and chooses its solver itself.</p>
<pre>$own</pre>
$speed
<p class="note">Seconds to fit, the better of two runs; the last column is the largest relative difference of an
eigenvalue from scikit-learn’s.</p>
</section>
<footer>$versions</footer>
</body>
</html>
""")
