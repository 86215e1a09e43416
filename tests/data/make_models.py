"""Write the model files that tests keep, with what each model computed: one for each estimator and each kernel.

``make compatibility`` runs it before a release, whose version is in the names. A file that is there is never written
again: later versions must read it. Files that begin with ``format1`` are older than the first release.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RationalQuadratic as GPRationalQuadratic

import mercer
from mercer.kernels import (
    RBF,
    Categorical,
    Chi2,
    Cosine,
    GlobalAlignment,
    InverseMultiquadric,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Precomputed,
    RandomWarping,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)
from mercer.rkhs.landmarks import Landmarks
from mercer.tables import learn
from mercer.tables.table import as_table

HERE = Path(__file__).parent
FLOWERS, KINDS = load_iris(return_X_y=True)
TABLE, NAMES = FLOWERS[::4], np.array(["setosa", "versicolor", "virginica"])[KINDS[::4]]
METHODS = ["transform", "reconstruction_error", "score_samples", "predict", "t2", "spe"]

G = RBF(gamma=0.2)
MODELS = {
    "kernel_pca": mercer.KernelPCA(3, kernel=RBF(gamma="median") + Linear(), random_state=0),
    "landmarks": mercer.KernelPCA(2, kernel=G, solver=Landmarks(12), random_state=0),
    "dropin": mercer.dropin.KernelPCA(2, kernel="poly", degree=2),
    "sparse": mercer.SparseKernelPCA(kernel=G),
    "probabilistic": mercer.ProbabilisticKernelPCA(3, kernel=G),
    "mixture": mercer.KernelPCAMixture(2, 2, kernel=G, random_state=0),
    "classifier": mercer.KernelPCAClassifier(kernel=G),
    "monitor": mercer.KernelPCAMonitor(random_state=0),
    "search": mercer.KernelPCAClassifierCV([G], n_components=[1, 2], noise_ratios=[0.1], cv=2, random_state=0),
    "imputer": mercer.KernelPCAImputer(2, random_state=0),
    "supervised": mercer.SupervisedKernelPCA(2, kernel=G),
    "contrastive": mercer.ContrastiveKernelPCA(2, kernel=G),
}
KERNELS = {
    "rbf": RBF(lengthscale=[1.0, 2.0, 1.0, 0.5]),
    "laplacian": Laplacian(gamma=0.2),
    "matern": Matern(nu=2.5, gamma="median"),
    "rational_quadratic": RationalQuadratic(alpha=2.0, gamma=0.2),
    "inverse_multiquadric": InverseMultiquadric(gamma=0.2),
    "chi2": Chi2(gamma=0.5),
    "linear": Linear(),
    "polynomial": Polynomial(degree=3, gamma=0.1, coef0=0.5),
    "sigmoid": Sigmoid(gamma=0.01, coef0=0.1),
    "cosine": Cosine(),
    "composed": 2.0 * OnColumns(RBF(gamma=0.3), [0, 2]) * Normalized(Polynomial(degree=2)) + Linear(),
    "gaussian_process": GPRationalQuadratic(),
    "precomputed": Precomputed(diag=1.0),
}
OBJECTS = {
    "spectrum": (Normalized(Spectrum(2, mismatches=1)), NAMES + np.arange(len(NAMES)).astype(str)),
    "jaccard": (Jaccard(), (TABLE.mean(axis=0) < TABLE).astype(int)),
    "alignment": (GlobalAlignment(), TABLE),
    "warping": (RandomWarping(n_series=8, max_length=3), TABLE),
    "categorical": (Categorical(weights="rarity"), TABLE.round().astype(int).astype(str)),
}
FEW = slice(None, None, 3)  # rows of the table, for files that only keep a kernel


def main():
    """Fit and write each model."""
    write_models()
    write_kernels()
    for name, (kernel, X) in OBJECTS.items():
        write_kernel(name, kernel, X[FEW])


def write_kernels():
    """Fit a small model with each kernel: on positive numbers, which all of them take."""
    for name, kernel in KERNELS.items():
        write_kernel(name, kernel, TABLE[FEW] if name != "precomputed" else G(TABLE[FEW], TABLE[FEW]))


def write_kernel(name, kernel, X):
    """Fit a small model with a kernel, unless its file is there."""
    path = HERE / f"v{mercer.__version__}_kernel_{name}.mercer"
    if path.exists():
        return
    model = mercer.KernelPCA(2, kernel=kernel).fit(X)
    mercer.save(model, path)
    np.savez_compressed(path.with_suffix(".npz"), X=X, transform=model.transform(X))


def write_models():
    """Fit and write each estimator, with the recipe of the table."""
    recipe = learn(as_table(TABLE), ["x0", "x1", "x2", "x3"])
    X = recipe.rows(TABLE)
    for name, model in MODELS.items():
        model.fit(X, NAMES)
        path = HERE / f"v{mercer.__version__}_{name}.mercer"
        if path.exists():
            print(f"{path.name} is there and stays as it is")
            continue
        mercer.save(model, path, recipe=recipe)
        kept = {method: np.asarray(getattr(model, method)(X)) for method in METHODS if hasattr(model, method)}
        kept = {method: values.astype(str) if values.dtype == object else values for method, values in kept.items()}
        np.savez_compressed(path.with_suffix(".npz"), X=X, table=TABLE, **kept)


if __name__ == "__main__":
    main()
