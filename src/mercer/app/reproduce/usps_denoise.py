"""The slides' figure of denoised USPS digits: two kinds of noise, linear and kernel PCA, 1 to 256 components."""

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ... import plots
from ...datasets import load
from ...kernels import RBF
from ...models.kernel_pca import KernelPCA
from ...preimage import Compensated, Distances, FixedPoint, Smoother
from .output import Figure, Output, Report, Row, listed, reproduction, table

NAME = "usps-denoise"
COMPONENTS = (1, 4, 16, 64, 256)
KERNEL = RBF(1 / 128)  # 2 / number of pixels, usual in the literature for pixels in [−1, 1]
A_CLASS, TEST, DRAWS = 300, 100, 5
QUICK_A_CLASS, QUICK_TEST, QUICK_DRAWS = 150, 20, 2
RANGE = 2.0  # difference between the largest and the smallest pixel value
SEED = 0
LINEAR, SHOWN, ALSO_SHOWN = "linear PCA", "kernel PCA, fixed point", "kernel PCA, mean of ten"
COMPENSATED = "compensated"
Denoise = Callable[[np.ndarray], np.ndarray]


NOISES = {
    "Gaussian": lambda X, rng: X + 0.5 * rng.standard_normal(X.shape),
    "speckle": lambda X, rng: np.where(rng.random(X.shape) < 0.4, rng.choice([-1.0, 1.0], X.shape), X),
}
METHODS = {"fixed point": FixedPoint(), "distances": Distances(), "mean of ten": Smoother()}


@reproduction(NAME, "The slides' denoised USPS digits")
def run(output: Output, report: Report) -> tuple[list[Row], tuple[str, ...]]:
    """Denoise with each method and number of components; finished cells are cached."""
    sizes = (QUICK_A_CLASS, QUICK_TEST, QUICK_DRAWS) if output.quick else (A_CLASS, TEST, DRAWS)
    train, clean, shown = digits(*sizes[:2])
    denoisers, rows = Denoisers(train), []
    for noise, add_noise in NOISES.items():
        noisy = [add_noise(clean, np.random.default_rng(seed)) for seed in range(sizes[2])]
        rows.append({"noise": noise, "method": "none", "components": None} | summary([psnr(X, clean) for X in noisy]))
        for (method, q), denoiser in denoisers.items():
            values = output.cached(
                f"{noise}-{method}-{q}".replace(" ", "-").replace(",", ""),
                (sizes, SEED, KERNEL, "each and pooled"),
                partial(measure, denoiser, noisy, clean),
            )
            rows.append({"noise": noise, "method": method, "components": q} | summary(values))
            report(f"{noise} noise, {method}, {q} components: {rows[-1]['PSNR']:.1f} dB")
            output.csv(rows)
    output.picture(draw(denoisers, shown), "Digits, noisy digits, and their reconstructions")
    return rows, text(rows, sizes)


def digits(a_class: int, n_test: int) -> tuple[np.ndarray, ...]:
    """Return training rows, test rows, and one test digit of each class to show."""
    data = load("usps")
    X, y, test = data["X_train"].astype(float), data["y_train"], data["X_test"].astype(float)
    rng = np.random.default_rng(SEED)
    chosen = [rng.choice(np.flatnonzero(y == c), a_class, replace=False) for c in range(10)]
    shown = [np.flatnonzero(data["y_test"] == c)[0] for c in range(10)]
    return X[np.concatenate(chosen)], test[rng.choice(len(test), n_test, replace=False)], test[shown]


class Denoisers(dict):
    """(method, q) ↦ a function that returns the denoising function; models are fitted when needed."""

    def __init__(self, train: np.ndarray):
        super().__init__()
        self.train = train
        for q in COMPONENTS:
            self[LINEAR, q] = lambda q=q: self.linear(q)
        methods = METHODS | {f"{name}, {COMPENSATED}": Compensated(method) for name, method in METHODS.items()}
        for name, method in methods.items():
            for q in COMPONENTS:
                self[f"kernel PCA, {name}", q] = lambda method=method, q=q: self.kernel(method, q)

    def linear(self, q: int) -> Denoise:
        pca = PCA(q, random_state=SEED).fit(self.train)
        return lambda X: pca.inverse_transform(pca.transform(X))

    def kernel(self, method: Any, q: int) -> Denoise:
        model = copy(self.largest).set_params(preimage=method)
        model.subspace_ = self.largest.subspace_[:q]
        return model.denoise

    @cached_property
    def largest(self) -> KernelPCA:
        """The model with most components, whose first axes are those of the smaller models."""
        return KernelPCA(max(COMPONENTS), kernel=KERNEL, random_state=SEED).fit(self.train)


def measure(denoiser: Callable[[], Denoise], noisy: list[np.ndarray], clean: np.ndarray) -> list[tuple[float, float]]:
    """Return the PSNR of each draw of the noise after denoising."""
    denoise = denoiser()
    return [psnr(denoise(X), clean) for X in noisy]


def psnr(X: np.ndarray, clean: np.ndarray) -> tuple[float, float]:
    """Return the PSNR averaged over images, and that of the mean squared error over all images."""
    errors = np.mean((X - clean) ** 2, axis=1)
    return np.mean(10 * np.log10(RANGE**2 / errors)), 10 * np.log10(RANGE**2 / np.mean(errors))


def summary(values: Any) -> Row:
    """Return mean and standard error over the draws of the noise."""
    each, pooled = np.transpose(values)
    error = each.std(ddof=1) / np.sqrt(len(each))
    return {"PSNR": float(each.mean()), "standard error": float(error), "PSNR, pooled": float(pooled.mean())}


def draw(denoisers: Denoisers, shown: np.ndarray) -> Figure:
    """Draw the twelve rows of the figure, and three more with another pre-image, for both kinds of noise."""
    noisy = [add_noise(shown, np.random.default_rng(SEED)) for add_noise in NOISES.values()]
    rows = [[shown, shown], noisy]
    names = ["original", "noisy"]
    for method, name, first in ((LINEAR, "linear", 0), (SHOWN, "kernel", 0), (ALSO_SHOWN, "mean of ten", -3)):
        for q in COMPONENTS[first:]:
            rows.append([denoisers[method, q]()(X) for X in noisy])
            names.append(f"{name}, n = {q}")
    figure, panels = plots.papers.board(1, 2, 4.2, 0.4 * len(rows))
    for i, (ax, noise) in enumerate(zip(panels[0], NOISES, strict=True)):
        pictures = np.clip(np.concatenate([row[i] for row in rows]), -1, 1)
        plots.images(pictures, n_columns=len(shown), ax=ax).set_title(noise)
        ax.images[0].set_clim(-1, 1)
    plots.papers.labelled(panels[0, 0], names)
    plots.papers.bar(figure, panels, panels[0, 0].images[0], "pixel")
    return figure


def text(rows: list[Row], sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Tabulate the PSNR of every method, and compare kernel PCA with linear PCA."""
    blocks: list[str] = []
    notes: list[str] = []
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
        notes.append(compare(noise, best))
    notes.append(
        """With many components linear PCA reconstructs the noise: 256 components are as many as pixels, so no noise is
        removed. Kernel PCA with 256 components still removes noise."""
    )
    gains = compensation(rows)
    notes.append(
        f"""No pre-image method is best everywhere: the fixed point preserves detail under Gaussian noise, but also
        reproduces speckle. `Compensated`, which subtracts the noise from all squared distances before projecting, is
        better in {np.sum(gains > 0)} of {len(gains)} cells; the mean difference over all cells is {gains.mean():+.2f}
        dB."""
    )
    protocol = f"{sizes[0]} training digits per class, {sizes[1]} noisy test digits, {sizes[2]} draws of the noise."
    return protocol, *blocks, listed(*notes)


def compensation(rows: list[Row]) -> np.ndarray:
    """Return the gain of compensation in each cell."""
    found = {(r["noise"], r["method"], r["components"]): r["PSNR"] for r in rows}
    ending = f", {COMPENSATED}"
    return np.array([v - found[n, m.removesuffix(ending), q] for (n, m, q), v in found.items() if m.endswith(ending)])


def compare(noise: str, best: dict[str, Row]) -> str:
    """Compare the best kernel PCA with the best linear PCA, with and without compensation."""
    plain = max((n for n in best if n != LINEAR and COMPENSATED not in n), key=lambda n: best[n]["PSNR"])
    every = max((n for n in best if n != LINEAR), key=lambda n: best[n]["PSNR"])
    gain = {name: best[name]["PSNR"] - best[LINEAR]["PSNR"] for name in (plain, every)}
    return (
        f"{noise}: {plain} (n = {best[plain]['components']}) differs by {gain[plain]:+.2f} dB from the best linear PCA "
        f"(n = {best[LINEAR]['components']}); {every} (n = {best[every]['components']}) by {gain[every]:+.2f} dB."
    )
