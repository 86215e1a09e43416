"""Which width a radial kernel should have where none is given: rules compared over many tables.

    MERCER_DATA=… python benchmarks/widths.py [--tables 30] [--rows 800] [-o results.csv]

Half of the rows of each table (at most ``--rows``) are fitted, the other half judges: the accuracy of 5 nearest
neighbours on the first 2 and the first 10 components, the accuracy of the default classifier, and what 10 components
leave of the rows after a pre-image, as a share of what linear PCA leaves. Tables are taken raw and standardised. For
each rule the means over tables stand beside linear PCA's, with the number of tables on which the rule is within a point
of the best rule.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from sklearn import datasets as toys
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, KernelPCAClassifier, datasets
from mercer.kernels import RBF
from mercer.kernels.width import median_sqdist, variance

SEED = 20260
IDA = "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid titanic twonorm waveform"
FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
RULES = {
    "1/d": lambda X: 1 / X.shape[1],
    "1/(d·var)": lambda X: 1 / (X.shape[1] * (variance(X) or 1.0)),
    "1/Σvar": lambda X: 1 / (float(np.var(X, axis=0).sum()) or 1.0),
    **{f"{c:g}/median": lambda X, c=c: c / (median_sqdist(X) or 1.0) for c in FACTORS},
}
CLOSE = 0.01


def tables():
    """Yield names and labelled rows."""
    for name, load in (
        ("iris", toys.load_iris),
        ("wine", toys.load_wine),
        ("cancer", toys.load_breast_cancer),
        ("digits", toys.load_digits),
    ):
        yield name, *load(return_X_y=True)
    yield "moons", *toys.make_moons(400, noise=0.15, random_state=0)
    yield "circles", *toys.make_circles(400, noise=0.1, factor=0.4, random_state=0)
    for name in IDA.split():
        arrays = datasets.load(f"ida_{name}")
        yield name, arrays["X"].astype(float), arrays["y"]
    for name in ("usps", "mnist", "pima"):
        arrays = datasets.load(name)
        yield name, arrays["X_train"].astype(float), arrays["y_train"]
    for name in ("ad_vowels", "ad_letter", "ad_wdbc", "ad_landsat", "ad_pageblocks", "ad_annthyroid", "ad_waveform"):
        arrays = datasets.load(name)
        yield name, arrays["X"].astype(float), arrays["y"]


def judged(X, y, X_new, y_new):
    """Return {rule: (knn on 2, knn on 10, classifier, reconstruction against linear PCA)}."""
    q = min(10, X.shape[1])
    pca = PCA(q).fit(X)
    left = np.mean((pca.inverse_transform(pca.transform(X_new)) - X_new) ** 2) or np.finfo(float).eps
    found = {"linear PCA": (*_neighbours(pca.transform(X), y, pca.transform(X_new), y_new), np.nan, 1.0)}
    for rule, width in RULES.items():
        kernel = RBF(width(X))
        model = KernelPCA(10, kernel=kernel, random_state=0).fit(X)
        back = np.mean((model.denoise(X_new) - X_new) ** 2) / left if left > 1e-9 * X_new.var() else np.nan
        right = np.mean(KernelPCAClassifier(kernel=kernel, random_state=0).fit(X, y).predict(X_new) == y_new)
        found[rule] = (*_neighbours(model.transform(X), y, model.transform(X_new), y_new), right, back)
    return found


def _neighbours(Y, y, Y_new, y_new):
    knn = KNeighborsClassifier(5)
    return [knn.fit(Y[:, :p], y).score(Y_new[:, :p], y_new) if Y.shape[1] else np.mean(y_new == y[0]) for p in (2, 10)]


def split(X, y, rows):
    """Return two halves of at most ``rows`` rows each."""
    index = np.random.default_rng(SEED).permutation(len(X))[: 2 * rows]
    half = len(index) // 2
    return X[index[:half]], y[index[:half]], X[index[half:]], y[index[half:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("-o", "--output", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = defaultdict(dict)
    for i, (name, X, y) in enumerate(tables()):
        if i >= options.tables:
            break
        X, y, X_new, y_new = split(X, y, options.rows)
        scaler = StandardScaler().fit(X)
        for scaling, a, b in (("raw", X, X_new), ("standardised", scaler.transform(X), scaler.transform(X_new))):
            results[scaling][name] = judged(a, y, b, y_new)
            line = {rule: [round(float(v), 3) for v in values] for rule, values in results[scaling][name].items()}
            print(name, scaling, line, flush=True)
    lines = ["scaling,rule,knn2,knn10,classifier,reconstruction,within_a_point"]
    for scaling, by_table in results.items():
        for rule in next(iter(by_table.values())):
            scores = np.array([found[rule] for found in by_table.values()])
            best = np.array([max(v[1] for r, v in found.items()) for found in by_table.values()])
            means = [*np.nanmean(scores[:, :3], axis=0), float(np.nanmedian(scores[:, 3]))]
            near = int(np.sum(scores[:, 1] >= best - CLOSE))
            lines.append(",".join([scaling, rule, *(f"{m:.4f}" for m in means), f"{near}/{len(by_table)}"]))
    text = "\n".join(lines)
    print(text)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
