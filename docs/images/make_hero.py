"""Draw hero.svg, the figure of the README: linear and kernel PCA of three rings."""

from pathlib import Path

import matplotlib.pyplot as plt

from mercer import KernelPCA, plots
from mercer.datasets import rings
from mercer.kernels import RBF

GREY = "#7d8794"  # readable on a white page and on a black one
MODELS = {
    "linear PCA: the rings stay mixed": KernelPCA(2, kernel="linear"),
    "kernel PCA: the rings come apart": KernelPCA(2, kernel=RBF(gamma=3)),
}


def main():
    X, y = rings()
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(8, 3.7))
    for ax, (title, model) in zip(axes, MODELS.items(), strict=True):
        plots.scores(model.fit_transform(X), y, ax=ax).set_title(title)
        ax.get_legend().remove()  # the labels are not needed
    save(figure, Path(__file__).with_name("hero.svg"))


def save(figure, path):
    with plt.rc_context({"svg.hashsalt": "hero"}):  # the same file from every run
        figure.savefig(path, transparent=True, metadata={"Date": None})
    path.write_text(path.read_text().replace(plots.INK, GREY))


if __name__ == "__main__":
    main()
