"""Denoising in decibels: linear PCA, every pre-image method, and scikit-learn's inverse.

    MERCER_DATA=… python benchmarks/denoising.py usps          # handwritten digits, each method, each number of axes
    MERCER_DATA=… python benchmarks/denoising.py splits        # the same digits, drawn otherwise
    MERCER_DATA=… python benchmarks/denoising.py compensation  # what compensated projections gain
    MERCER_DATA=… python benchmarks/denoising.py peers         # against scikit-learn's fit_inverse_transform
    MERCER_DATA=… python benchmarks/denoising.py smoothers     # the smoother, clipped, linear and stabilised
    MERCER_DATA=… python benchmarks/denoising.py speed         # all points at once against one by one

The tables of docs/denoising.md are what these print. Noise is drawn --draws times, from fixed seeds; what is chosen (a
method, an alpha) is chosen on a held-out quarter of the rows to fit, never on the rows that are judged.
"""

import argparse
from time import perf_counter

import denoising_peers
import numpy as np
from denoising_data import decibels, digits, draws, moons, pooled, usps
from sklearn.decomposition import PCA

from mercer import KernelPCA, select
from mercer._core import registry
from mercer.kernels import Matern
from mercer.preimage import Learned, Smoother, in_batches, projection
from mercer.rkhs import principal_subspace

TOP = 2.0  # the range of the pixels, for PSNR
CHOSEN_AT = (16, 64, 256)
ONE_BY_ONE = 50
STABILIZERS = (0.0, 0.1)
SMOOTHERS = {
    f"{weights}, {'all' if k is None else k}{', stabilised' * (s > 0)}": Smoother(k, weights=weights, stabilizer=s)
    for k in (10, None)
    for weights, s in [("clipped", 0.0), *(("linear", s) for s in STABILIZERS)]
}


def fitted(task, q=None):
    """The largest subspace, whose first axes are the smaller ones."""
    return principal_subspace(task.kernel, task.train, q or max(task.components), rng=np.random.default_rng(0))


def cleaned(subspace, method, noisy):
    """Rows cleaned by a method from plain and from compensated projections: two lists over the draws."""
    nearest, shape = method.bind(subspace), subspace.Z.shape
    return [
        [in_batches(nearest, subspace.lift, project(X), X, shape).X for X in noisy]
        for project in (subspace.project, projection(subspace))
    ]


def table(head, rows):
    """Print a table in Markdown."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def usps_tables(n_draws):
    """PSNR of every method at every number of components, and what ``select.preimage`` would have lost."""
    task = usps()
    whole = fitted(task)
    for noise in task.noises:
        noisy, found = draws(task, noise, n_draws), {}
        for q in task.components:
            pca = PCA(q).fit(task.train)
            found["linear PCA", q] = [pca.inverse_transform(pca.transform(X)) for X in noisy]
            for name, method in registry.PREIMAGES.items():
                found[name, q], found[f"{name}, compensated", q] = cleaned(whole[:q], method(), noisy)
        print(f"**{noise}** (noisy: {decibels(noisy[0], task.clean, TOP):.2f} dB)\n")
        table(["", *map(str, task.components), "best", "pooled"], _rows(task, found))
        table(["q", "chosen", "dB", "best method at this q", "dB", "lost"], _choices(task, noise, noisy, found))


def _rows(task, found):
    for name in dict.fromkeys(name for name, _ in found):
        figures = {q: [decibels(X, task.clean, TOP) for X in found[name, q]] for q in task.components}
        best = max(figures, key=lambda q, figures=figures: np.mean(figures[q]))
        error = np.std(figures[best], ddof=1) / np.sqrt(len(figures[best]))
        whole = max(np.mean([pooled(X, task.clean, TOP) for X in found[name, q]]) for q in task.components)
        cells = [f"{np.mean(figures[q]):.2f}" for q in task.components]
        yield [name, *cells, f"{np.mean(figures[best]):.2f} ± {error:.2f}", f"{whole:.2f}"]


def _choices(task, noise, noisy, found):
    for q in CHOSEN_AT:
        model = KernelPCA(q, kernel=task.kernel, random_state=0)
        choice = select.preimage(model, task.train, task.noises[noise], n_draws=1, random_state=0)
        model = choice.estimator.fit(task.train)
        mine = np.mean([decibels(model.denoise(X), task.clean, TOP) for X in noisy])
        others = {
            name: np.mean([decibels(X, task.clean, TOP) for X in found[name, at]]) for name, at in found if at == q
        }
        best = max((name for name in others if name != "linear PCA"), key=others.__getitem__)
        yield [
            str(q),
            next(iter(choice.table)),
            f"{mine:.2f}",
            best,
            f"{others[best]:.2f}",
            f"{others[best] - mine:.2f}",
        ]


def splits_table(n_draws):
    """The lead over the best linear PCA on other draws of the digits: for an image, plain alone, and pooled."""
    rows = []
    for seed, name in {None: "the first of each class, the first test images", 1: "another draw", 2: "a third"}.items():
        task, cells = usps(seed), []
        whole = fitted(task)
        for noise in task.noises:
            noisy = draws(task, noise, n_draws)
            linear = [PCA(q).fit(task.train) for q in task.components]
            linear = [[pca.inverse_transform(pca.transform(X)) for X in noisy] for pca in linear]
            ways = [
                cleaned(whole, registry.PREIMAGES[method](), noisy)
                for method in registry.PREIMAGES
                if method != "gradient"
            ]
            plain, all_ways = [way[0] for way in ways], [X for way in ways for X in way]
            for measure, kernel in ((decibels, all_ways), (decibels, plain), (pooled, all_ways)):
                lead = [
                    max(np.mean([measure(X, task.clean, TOP) for X in way]) for way in of) for of in (kernel, linear)
                ]
                cells.append(f"{lead[0] - lead[1]:.2f}")
        rows.append([name, *cells])
    head = ["without compensation", "pooled"]
    table(["digits", "Gaussian", *head, "speckle", *head], rows)


def compensation_table(n_draws):
    """What compensation gains, in decibels, at three numbers of components."""
    digit = usps()
    tasks = {
        "USPS": digit._replace(components=(16, 64, 256)),
        "USPS, Matérn": digit._replace(train=digit.train[::2], kernel=Matern(2.5, 1 / 128), components=(16, 64, 256)),
        "digits": digits(),
        "moons": moons(),
    }
    methods = {name: registry.PREIMAGES[name]() for name in ("fixed_point", "distances", "smoother", "learned")}
    methods["learned, alpha=0.1"] = Learned(0.1)
    rows = []
    for name, task in tasks.items():
        whole = fitted(task)
        for noise in {"none": None} | task.noises:
            noisy = [task.clean] if noise == "none" else draws(task, noise, n_draws)
            cells = [
                " ".join(_gain(task, whole[:q], method, noisy) for q in task.components) for method in methods.values()
            ]
            rows.append([name, noise, *cells])
    table(["data", "noise", *methods], rows)


def _gain(task, subspace, method, noisy):
    plain, compensated = ([decibels(X, task.clean) for X in rows] for rows in cleaned(subspace, method, noisy))
    return f"{np.mean(compensated) - np.mean(plain):+.2f}"


def smoothers_table(n_draws):
    """The smoother of eq. 19 in its forms, in decibels at three numbers of components; the best form of each line."""
    tasks, rows = {"USPS": usps()._replace(components=(16, 64, 256)), "digits": digits(), "moons": moons()}, []
    for name, task in tasks.items():
        whole = fitted(task)
        for noise in {"none": None} | task.noises:
            noisy = [task.clean] if noise == "none" else draws(task, noise, n_draws)
            found = {form: [_smoothed(task, whole[:q], form, noisy) for q in task.components] for form in SMOOTHERS}
            best = max(found, key=lambda form, found=found: max(found[form]))
            cells = [" ".join(f"{value:.2f}" for value in found[form]) for form in SMOOTHERS]
            rows.append([name, noise, *cells, best])
    table(["data", "noise", *SMOOTHERS, "best"], rows)


def _smoothed(task, subspace, form, noisy):
    rows, _ = cleaned(subspace, SMOOTHERS[form], noisy)
    return np.mean([decibels(X, task.clean) for X in rows])


def speed_table(_):
    """Milliseconds for a point, all at once and one by one."""
    task, rows = usps(), []
    noisy = np.vstack(draws(task, "Gaussian, sd 0.5", 5))
    for method in registry.PREIMAGES:
        model = KernelPCA(64, kernel=task.kernel, preimage=method, random_state=0).fit(task.train)
        Y = model.transform(noisy)
        model.inverse_transform(Y[:2])
        start = perf_counter()
        model.inverse_transform(Y)
        at_once = (perf_counter() - start) / len(Y)
        start = perf_counter()
        for i in range(ONE_BY_ONE):
            model.inverse_transform(Y[i : i + 1])
        single = (perf_counter() - start) / ONE_BY_ONE
        rows.append([method, f"{1000 * at_once:.2f}", f"{1000 * single:.2f}", f"{single / at_once:.1f}×"])
    table(["", "500 at once", "one by one", ""], rows)


def peer_tables(n_draws):
    """Against scikit-learn."""
    for name, task in {"digits": digits(), "moons": moons(), "USPS": usps()._replace(components=(64, 256))}.items():
        print(f"**{name}**, {task.kernel!r}, {len(task.train)} rows\n")
        table(denoising_peers.HEAD, denoising_peers.rows(task, n_draws))


PARTS = {
    "usps": usps_tables,
    "splits": splits_table,
    "compensation": compensation_table,
    "peers": peer_tables,
    "smoothers": smoothers_table,
    "speed": speed_table,
}


def main():
    """Print the tables of one part, or of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all if none is given")
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        start = perf_counter()
        PARTS[part](arguments.draws)
        print(f"({part}: {perf_counter() - start:.0f} s)\n")


if __name__ == "__main__":
    main()
