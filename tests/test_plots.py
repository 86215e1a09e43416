"""Every picture is drawn into the axes given or into new ones, touches nobody's figures, and says what it shows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

import mercer
from mercer.importance import importance
from mercer.kernels import RBF

plt = pytest.importorskip("matplotlib.pyplot", reason="pictures are an extra: pip install 'mercer[plots]'")
from mercer import plots  # noqa: E402

X, y = make_moons(60, noise=0.05, random_state=0)
DIGITS = load_digits().data[:60]
MODEL = mercer.KernelPCA(3, kernel=RBF(2.0)).fit(X)
SMALL = mercer.KernelPCA(3, kernel=RBF(2.0), solver=mercer.eigen.Landmarks(12), random_state=0).fit(X)
IMAGES = mercer.KernelPCA(5, kernel=RBF("median")).fit(DIGITS)


class Monitor:
    """What the charts ask of a monitor."""

    class limits_:
        t2, spe = 1.0, 2.0

    feature_names_in_ = ["a", "cost in $"]

    def t2(self, X):
        return np.linspace(0, 2, len(X))

    spe = t2

    def contributions(self, X, of):
        return np.abs(X)


class Mixture:
    """What the maps ask of a mixture or a classifier."""

    classes_ = ("no", "yes")

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([p, 1 - p])

    def score_samples(self, X):
        return -np.sum(X**2, axis=1)


PICTURES = {
    "scores": lambda ax: plots.scores(MODEL.transform(X), y, ax=ax),
    "scores by number": lambda ax: plots.scores(MODEL.transform(X), X[:, 0], ax=ax),
    "scores without labels": lambda ax: plots.scores(MODEL.transform(X), ax=ax),
    "scree": lambda ax: plots.scree(MODEL, ax=ax),
    "contours": lambda ax: plots.contours(MODEL, X, 1, ax=ax),
    "novelty": lambda ax: plots.novelty(MODEL, X, ax=ax),
    "novelty with anchors": lambda ax: plots.novelty(SMALL, X, ax=ax),
    "density": lambda ax: plots.density(Mixture(), X, ax=ax),
    "responsibilities": lambda ax: plots.responsibilities(Mixture(), X, ax=ax),
    "regions": lambda ax: plots.regions(Mixture(), X, np.where(y, "yes", "no"), ax=ax),
    "chart of SPE": lambda ax: plots.chart(Monitor(), X, ax=ax),
    "chart of T²": lambda ax: plots.chart(Monitor(), X, "t2", ax=ax),
    "contributions": lambda ax: plots.contributions(Monitor(), X, ax=ax),
    "importance": lambda ax: plots.importance([0.2, 0.8], ["left", "right"], ax=ax),
    "residuals": lambda ax: plots.residuals(MODEL, X, ax=ax),
    "kernel matrix": lambda ax: plots.kernel_matrix(MODEL, X, ax=ax),
    "images": lambda ax: plots.images(DIGITS[:7], n_columns=3, ax=ax),
    "denoised": lambda ax: plots.denoised(IMAGES, DIGITS[:4], ax=ax),
    "walk": lambda ax: plots.walk(IMAGES, DIGITS[0], DIGITS[1], 4, ax=ax),
    "timeline": lambda ax: plots.timeline([0.1, 0.5, 3.0], 1.0, "t2", ax=ax),
    "choice": lambda ax: plots.choice({1: 3.0, 2: 1.0, 3: 2.0}, 2, "clusters", "bic", ax=ax),
    "latent grid": lambda ax: plots.latent_grid(IMAGES, n_steps=3, ax=ax),
}

CHOSEN = mercer.select.n_components(mercer.KernelPCA(kernel=RBF(2.0)), X, max_components=6)
WATCH = mercer.KernelPCAMonitor(mercer.KernelPCA(3, kernel=RBF(2.0)), random_state=0).fit(X)
SHORTCUTS = {
    "KernelPCA": lambda ax: MODEL.plot(X, y, ax=ax),
    "KernelPCA without rows": lambda ax: MODEL.plot(ax=ax),
    "KernelPCAMixture": lambda ax: mercer.KernelPCAMixture(2, kernel=RBF(2.0), n_init=1).fit(X).plot(X, ax=ax),
    "KernelPCAClassifier": lambda ax: mercer.KernelPCAClassifier(kernel=RBF(2.0)).fit(X, y).plot(X, y, ax=ax),
    "KernelPCAMonitor": lambda ax: WATCH.plot(X, "t2", ax=ax),
    "Chart": lambda ax: WATCH.chart(X).plot(start=10, ax=ax),
    "Chart of SPE": lambda ax: WATCH.chart(X).plot("spe", ax=ax),
    "Importance": lambda ax: importance(MODEL, X).plot(ax=ax),
    "Importance of one": lambda ax: importance(MODEL, X).plot(1, ax=ax),
    "ComponentChoice": lambda ax: CHOSEN.plot(ax=ax),
    "ClusterChoice": lambda ax: mercer.select.n_clusters(
        mercer.KernelPCAMixture(kernel=RBF(2.0), n_init=1), X, (1, 2), rule="bic"
    ).plot("icl", ax=ax),
    "DensityChoice": lambda ax: mercer.select.n_clusters(mercer.KernelPCAMixture(n_init=1), X).plot(ax=ax),
}
PICTURES |= SHORTCUTS


@pytest.fixture(autouse=True)
def no_figures_are_left():
    before = set(plt.get_fignums())
    yield
    for number in set(plt.get_fignums()) - before:
        plt.close(number)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_into_the_axes_given(name):
    figure, ax = plt.subplots()
    numbers = plt.get_fignums()
    assert PICTURES[name](ax) is ax
    assert plt.get_fignums() == numbers
    figure.canvas.draw()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_becomes_one_svg_and_leaves_other_figures_alone(name):
    mine = plt.figure()
    with plots.captured("a") as svgs:
        PICTURES[name](None)
    assert len(svgs) == 1
    assert svgs[0].startswith('<svg role="img"')
    assert mine.number in plt.get_fignums()


def test_a_name_with_a_dollar_is_no_formula():
    ax = plots.contributions(Monitor(), X)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert set(labels) == {"a", r"cost in \$"}
    ax.figure.canvas.draw()


def test_a_label_with_a_dollar_is_no_formula():
    """An underscore before a label would hide it."""
    for ax in (plots.scores(X, np.where(y, "_$a$", "$\\frac{")), MODEL.plot(X, np.where(y, "_$a$", "$\\frac{"))):
        ax.figure.canvas.draw()
        assert len(ax.get_legend().get_texts()) == 2


def test_rows_beyond_the_limit_are_counted():
    ax = plots.chart(Monitor(), X, "t2")
    assert f"{np.sum(np.linspace(0, 2, len(X)) > 1)} of {len(X)} rows" in ax.get_title()


def test_anchors_are_ringed_where_they_are_few():
    rings = [len(ax.collections) for ax in (plots.novelty(MODEL, X), plots.novelty(SMALL, X))]
    assert rings[1] == rings[0] + 1


@pytest.mark.parametrize("draw", [plots.contours, plots.novelty, plots.density])
def test_maps_refuse_data_that_is_not_planar(draw):
    with pytest.raises(ValueError, match="two columns"):
        draw(MODEL, np.eye(3))


def test_scores_refuse_a_single_component():
    with pytest.raises(ValueError, match="n_components=2"):
        plots.scores(np.ones((3, 1)))


def test_pictures_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="Rows of 6 columns cannot be drawn as square pictures"):
        plots.images(np.ones((2, 6)))
    with pytest.raises(ValueError, match="holds 8 pixels"):
        plots.images(np.ones((2, 6)), shape=(2, 4))
    plots.images(np.ones((2, 6)), shape=(2, 3))
