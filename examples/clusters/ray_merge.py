"""Fits made apart in Ray tasks, and Dask on Ray, against one fit on all rows: ``make test-ray``."""

import dask.array as da
import numpy as np
import ray
from ray.util.dask import enable_dask_on_ray

import mercer
from mercer.eigen import Landmarks
from mercer.kernels import RBF

X = np.random.default_rng(0).standard_normal((6000, 4))
KERNEL = RBF("median").bind(X[:1000])
Z = mercer.landmarks(KERNEL, X[:1000], 100, random_state=0)


def fit(rows):
    """Return a model on the shared landmarks."""
    return mercer.KernelPCA(3, kernel=KERNEL, solver=Landmarks(choose=Z)).fit(rows)


def main():
    """Compare the variances of the three fits."""
    ray.init(num_cpus=2, include_dashboard=False)
    whole = fit(X)
    task = ray.remote(fit)
    merged = mercer.merge(ray.get([task.remote(part) for part in np.array_split(X, 6)]))
    np.testing.assert_allclose(merged.explained_variance_, whole.explained_variance_, rtol=1e-12)
    with enable_dask_on_ray():
        on_ray = fit(da.from_array(X, chunks=(1000, 4)))
        Y = on_ray.transform(da.from_array(X, chunks=(1000, 4))).compute()
    np.testing.assert_allclose(on_ray.explained_variance_, whole.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(Y, whole.transform(X), atol=1e-9)
    print("Ray tasks over merge, and Dask on Ray: the same model as one fit")


if __name__ == "__main__":
    main()
