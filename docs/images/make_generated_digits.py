"""Draw digits generated over a grid of two latent variables, between zeros and ones.

A probabilistic kernel PCA of 500 handwritten zeros and ones, after figure 4 of De Plaen & Suykens (2023). Every latent
vector h has a mean φ̄ + Wh in feature space, whose pre-image is an image. On the left it is that of the paper,
a mean of all 500 rows weighted by the kernel; on the right the mean of the ten rows of largest weight.

Needs matplotlib, and the folder MERCER_DATA with ``mnist01.npz`` (see ``mercer.datasets``).

    python docs/images/make_generated_digits.py docs/images/generated-digits.png
"""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import ProbabilisticKernelPCA, datasets
from mercer.kernels import RBF
from mercer.preimage import Smoother

ROWS, STEPS, SIDE = 500, 9, 28
SIGMA = 4.0  # the width of the kernel in the paper, for pixels between 0 and 1


def digits():
    """Return the first zeros and ones."""
    return datasets.load("mnist01")["X_train"][:ROWS] / 255.0


def fitted(X, neighbours):
    """Fit two latent variables and the noise by maximum likelihood; the pre-image is a smoother."""
    model = ProbabilisticKernelPCA(2, kernel=RBF.from_sigma(SIGMA), preimage=Smoother(neighbours), random_state=0)
    return model.fit(X)


def mosaic(model, ends):
    """Return the images of a grid of latent vectors, from the lower left to the upper right."""
    first, second = (np.linspace(*ends[:, j], STEPS) for j in (0, 1))
    H = np.array([(a, b) for b in second[::-1] for a in first])
    pictures = model.inverse_transform(H).reshape(STEPS, STEPS, SIDE, SIDE)
    return pictures.transpose(0, 2, 1, 3).reshape(STEPS * SIDE, STEPS * SIDE)


def main(path):
    """Draw both mosaics side by side."""
    X = digits()
    sharp, paper = fitted(X, 10), fitted(X, ROWS)
    ends = np.quantile(sharp.transform(X), [0.02, 0.98], axis=0)
    figure, axes = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
    for ax, model, title in zip(axes, (paper, sharp), ("mean of all rows", "mean of the ten nearest"), strict=True):
        ax.imshow(mosaic(model, ends), cmap="gray_r", vmin=0, vmax=1, extent=(*ends[:, 0], *ends[:, 1]), aspect="auto")
        ax.set(title=title, xlabel="latent variable 1", ylabel="latent variable 2")
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "generated-digits.png")
