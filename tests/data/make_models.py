"""Write the model files that tests keep, with what each model computed: once for every format, never again.

python tests/data/make_models.py
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import mercer
from mercer.io import FORMAT
from mercer.kernels import RBF, Linear
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
}


def main():
    """Fit and write each model."""
    recipe = learn(as_table(TABLE), ["x0", "x1", "x2", "x3"])
    X = recipe.rows(TABLE)
    for name, model in MODELS.items():
        model.fit(X, NAMES)
        path = HERE / f"format{FORMAT}_{name}.mercer"
        if path.exists():
            print(f"{path.name} is there and stays as it is")
            continue
        mercer.save(model, path, recipe=recipe)
        kept = {method: np.asarray(getattr(model, method)(X)) for method in METHODS if hasattr(model, method)}
        kept = {method: values.astype(str) if values.dtype == object else values for method, values in kept.items()}
        np.savez_compressed(path.with_suffix(".npz"), X=X, table=TABLE, **kept)


if __name__ == "__main__":
    main()
