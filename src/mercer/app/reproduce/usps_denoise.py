"""The slides' figure of denoised USPS digits: two kinds of noise, linear and kernel PCA, 1 to 256 components."""

from copy import copy
from functools import cached_property

import numpy as np
from sklearn.decomposition import PCA

from ... import plots
from ...datasets import load
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from ...preimage import Compensated, Distances, FixedPoint, Smoother
from .output import Output, listed, table

NAME = "usps-denoise"
COMPONENTS = (1, 4, 16, 64, 256)
KERNEL = RBF(1 / 128)  # half the number of pixels: the literature's, for pixels in [−1, 1]
A_CLASS, TEST, DRAWS = 300, 100, 5
QUICK_A_CLASS, QUICK_TEST, QUICK_DRAWS = 150, 20, 2
RANGE = 2.0  # of the pixels
SEED = 0
LINEAR, SHOWN, ALSO_SHOWN = "linear PCA", "kernel PCA, fixed point", "kernel PCA, mean of ten"
COMPENSATED = "compensated"

ABOUT = """\
USPS digits, pixels in [−1, 1]: first row the originals, second row with noise (left: Gaussian with a standard deviation
of 0.5; right: speckle, where 40 % of the pixels are black or white), then their reconstructions by linear PCA and by
kernel PCA (exp(−d²/128), fixed point) from 1, 4, 16, 64 and 256 components. The last three rows are not on the slides:
kernel PCA whose pre-images are means of the ten training digits of largest weight. Models are fitted to clean training
digits of each class, and the digits to be cleaned are test digits, which they have not seen. The slides give neither
the number of digits, nor the strength of the noise, nor the kernel, and no figures. PSNR is 10 log₁₀(2²/mean squared
error), in the mean over images (the CSV has that of the error over all images, too)."""


def gaussian(X, rng):
    """Normal noise."""
    return X + 0.5 * rng.standard_normal(X.shape)


def speckle(X, rng):
    """Two pixels in five are black or white."""
    return np.where(rng.random(X.shape) < 0.4, rng.choice([-1.0, 1.0], X.shape), X)


NOISES = {"Gaussian": gaussian, "speckle": speckle}
METHODS = {
    "fixed point": FixedPoint(),
    "distances": Distances(),
    "mean of ten": Smoother(),
}


def run(out, quick=False, report=lambda line: None):
    """Write ``usps-denoise.csv``, ``.png`` and ``.md`` into a folder; see :func:`mercer.app.reproduce.run`."""
    output = Output(out, NAME, quick)
    sizes = (QUICK_A_CLASS, QUICK_TEST, QUICK_DRAWS) if quick else (A_CLASS, TEST, DRAWS)
    train, clean, shown = digits(*sizes[:2])
    cleaners, rows = Cleaners(train), []
    for noise, spoil in NOISES.items():
        noisy = [spoil(clean, np.random.default_rng(seed)) for seed in range(sizes[2])]
        rows.append({"noise": noise, "method": "none", "components": None} | figures([psnr(X, clean) for X in noisy]))
        for (method, q), cleaner in cleaners.items():
            values = output.kept(
                f"{noise}-{method}-{q}".replace(" ", "-").replace(",", ""),
                (sizes, SEED, KERNEL, "each and pooled"),
                lambda c=cleaner, noisy=noisy: [psnr(c()(X), clean) for X in noisy],
            )
            rows.append({"noise": noise, "method": method, "components": q} | figures(values))
            report(f"{noise} noise, {method}, {q} components: {rows[-1]['PSNR']:.1f} dB")
            output.csv(rows)
    output.picture(draw(cleaners, shown), "Digits, noisy digits, and their reconstructions")
    output.text("The slides' denoised USPS digits", *text(rows, sizes))
    return rows


def digits(a_class, n_test):
    """Rows to fit, rows to clean, and one test digit of each class to show."""
    data = load("usps")
    X, y, test = data["X_train"].astype(float), data["y_train"], data["X_test"].astype(float)
    rng = np.random.default_rng(SEED)
    chosen = [rng.choice(np.flatnonzero(y == c), a_class, replace=False) for c in range(10)]
    shown = [np.flatnonzero(data["y_test"] == c)[0] for c in range(10)]
    return X[np.concatenate(chosen)], test[rng.choice(len(test), n_test, replace=False)], test[shown]


class Cleaners(dict):
    """(method, q) ↦ a function that makes the function from noisy to clean rows; subspaces are found when needed."""

    def __init__(self, train):
        super().__init__()
        self.train = train
        for q in COMPONENTS:
            self[LINEAR, q] = lambda q=q: self.linear(q)
        methods = METHODS | {f"{name}, {COMPENSATED}": Compensated(method) for name, method in METHODS.items()}
        for name, method in methods.items():
            for q in COMPONENTS:
                self[f"kernel PCA, {name}", q] = lambda method=method, q=q: self.kernel(method, q)

    def linear(self, q):
        pca = PCA(q).fit(self.train)
        return lambda X: pca.inverse_transform(pca.transform(X))

    def kernel(self, method, q):
        model = copy(self.largest).set_params(preimage=method)
        model.subspace_ = self.largest.subspace_[:q]
        return model.denoise

    @cached_property
    def largest(self):
        """The model whose first axes are those of the smaller ones."""
        return KernelPCA(max(COMPONENTS), kernel=KERNEL, random_state=SEED).fit(self.train)


def psnr(X, clean):
    """PSNR, in the mean over images, and of the mean squared error over all of them."""
    errors = np.mean((X - clean) ** 2, axis=1)
    return np.mean(10 * np.log10(RANGE**2 / errors)), 10 * np.log10(RANGE**2 / np.mean(errors))


def figures(values):
    """Mean and standard error over the draws of the noise."""
    each, pooled = np.transpose(values)
    error = each.std(ddof=1) / np.sqrt(len(each))
    return {"PSNR": float(each.mean()), "standard error": float(error), "PSNR, pooled": float(pooled.mean())}


def draw(cleaners, shown):
    """The twelve rows of the figure, and three more by another pre-image: ten digits with both kinds of noise."""
    noisy = [spoil(shown, np.random.default_rng(SEED)) for spoil in NOISES.values()]
    rows = [[shown, shown], noisy]
    names = ["original", "noisy"]
    for method, name, first in ((LINEAR, "linear", 0), (SHOWN, "kernel", 0), (ALSO_SHOWN, "mean of ten", -3)):
        for q in COMPONENTS[first:]:
            rows.append([cleaners[method, q]()(X) for X in noisy])
            names.append(f"{name}, n = {q}")
    figure, panels = plots.papers.board(1, 2, 4.2, 0.4 * len(rows))
    for i, (ax, noise) in enumerate(zip(panels[0], NOISES, strict=True)):
        pictures = np.clip(np.concatenate([row[i] for row in rows]), -1, 1)
        plots.images(pictures, n_columns=len(shown), ax=ax).set_title(noise)
    plots.papers.labelled(panels[0, 0], names)
    return figure


def text(rows, sizes):
    """PSNR of every method, and kernel PCA against linear."""
    blocks, notes = [], []
    for noise in NOISES:
        found = {(r["method"], r["components"]): r for r in rows if r["noise"] == noise}
        names = list(dict.fromkeys(method for method, q in found if q))
        best = {name: max((found[name, q] for q in COMPONENTS), key=lambda r: r["PSNR"]) for name in names}
        lines = [
            [name, *(f"{found[name, q]['PSNR']:.1f}" for q in COMPONENTS)]
            + [f"{best[name]['PSNR']:.2f} ± {best[name]['standard error']:.2f}"]
            for name in names
        ]
        blocks.append(f"{noise} noise, PSNR in dB (noisy: {found['none', None]['PSNR']:.1f}):")
        blocks.append(table(["", *(f"n = {q}" for q in COMPONENTS), "best"], lines))
        notes.append(compared(noise, best))
    notes.append(
        """Many components bring the noise back with linear PCA: 256 are all pixels, and nothing is removed. As many of
        kernel PCA still remove it."""
    )
    gains = compensation(rows)
    notes.append(
        f"""No pre-image is best everywhere: the fixed point keeps detail under Gaussian noise and follows speckle.
        `Compensated`, which takes off what noise adds to all distances before projecting, is better in
        {np.sum(gains > 0)} of {len(gains)} cells, by {gains.mean():+.2f} dB on average over all."""
    )
    protocol = f"{sizes[0]} digits a class to fit, {sizes[1]} to clean, {sizes[2]} draws of the noise."
    return ABOUT, protocol, *blocks, listed(*notes)


def compensation(rows):
    """What compensation gains in each cell."""
    found = {(r["noise"], r["method"], r["components"]): r["PSNR"] for r in rows}
    ending = f", {COMPENSATED}"
    return np.array([v - found[n, m.removesuffix(ending), q] for (n, m, q), v in found.items() if m.endswith(ending)])


def compared(noise, best):
    """How far the best of kernel PCA is above the best of linear PCA, with and without compensation."""
    plain = max((n for n in best if n != LINEAR and COMPENSATED not in n), key=lambda n: best[n]["PSNR"])
    every = max((n for n in best if n != LINEAR), key=lambda n: best[n]["PSNR"])
    gain = {name: best[name]["PSNR"] - best[LINEAR]["PSNR"] for name in (plain, every)}
    return (
        f"{noise}: {plain} (n = {best[plain]['components']}) is {gain[plain]:+.2f} dB from the best linear PCA "
        f"(n = {best[LINEAR]['components']}); {every} (n = {best[every]['components']}) {gain[every]:+.2f} dB."
    )
