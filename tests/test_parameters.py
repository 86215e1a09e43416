"""Every parameter of every estimator, away from its default: alone, and together with another kernel."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import (
    ContrastiveKernelPCA,
    KernelPCA,
    KernelPCAClassifier,
    KernelPCAClassifierCV,
    KernelPCAImputer,
    KernelPCAMixture,
    KernelPCAMonitor,
    ProbabilisticKernelPCA,
    SparseKernelPCA,
    SupervisedKernelPCA,
)
from mercer.kernels import RBF, Laplacian
from mercer.rkhs.sparse.weights import ALGORITHMS

N = 40
BASES = {
    KernelPCA: {},
    ProbabilisticKernelPCA: {},
    SparseKernelPCA: {},
    SupervisedKernelPCA: {},
    ContrastiveKernelPCA: {},
    KernelPCAMixture: {"n_init": 2, "max_iter": 20},
    KernelPCAClassifier: {},
    KernelPCAClassifierCV: {"n_components": (2, 4), "kernels": [RBF(0.1), RBF(1.0)]},
    KernelPCAMonitor: {},
    KernelPCAImputer: {"max_iter": 3},
}
OTHERS = {  # values away from the default, for one estimator or for all
    "n_components": [3, 0.8],
    "noise_variance": [0.05],
    "kernel": ["linear", "poly", Laplacian(0.3), "sigmoid"],
    "center": [False],
    "solver": ["exact", "davidson", "lanczos", "randomized", "landmarks"],
    "preimage": ["gradient", "smoother", "learned"],
    "indefinite": ["error"],
    "random_state": [3],
    "max_iter": [500],
    "tol": [1e-4],
    "n_anchors": [5],
    "candidates": [20, np.arange(0, N, 2)],
    "n_clusters": [3],
    "init": ["random", "kmeans", np.eye(2)[np.arange(N) % 2]],
    "n_init": [3],
    "n_parts": [2],
    "noise_ratio": [0.1, 0.0],
    "shrinkage": [0.3],
    "priors": ["uniform"],
    "density": [ProbabilisticKernelPCA(2), KernelPCAMixture(2, n_components=1, n_init=1)],
    "estimator": [KernelPCA(3)],
    "alpha": [0.05],
    "limits": ["loo", "quantile", "f-chi2"],
    "in_time": [True, False],
    "lags": [1],
    "contamination": [0.1, "auto"],
    "n_landmarks": [10],
    "noise_ratios": [(0.01, 0.1)],
    "shrinkages": [(0.0, 0.5)],
    "cv": [3],
    "n_repeats": [2],
    "refit": [True],
    "scale": ["none"],
    "n_starts": [5],
    "scoring": ["neg_log_loss", "balanced_accuracy"],
    "time_limit": [30.0],
    "calibration": [None, "temperature", "vector"],
    "loadings": ["em"],
    "contrast": [0.5, "auto"],
    "supervision": [0.5, 0.0],
    "target": ["class_sizes", "numbers", "rbf"],
    "kernels": [[RBF(0.5), Laplacian(0.5)]],
}
OWN = {
    (ProbabilisticKernelPCA, "solver"): ["exact", "davidson", "landmarks", "em"],
    (ProbabilisticKernelPCA, "noise_variance"): ["paper", 0.05],
    (SparseKernelPCA, "solver"): sorted(ALGORITHMS),
    (ContrastiveKernelPCA, "solver"): ["exact", "landmarks"],
    (KernelPCAMixture, "solver"): ["exact", "landmarks"],
    (KernelPCAMixture, "n_components"): [0, 1, [1, 2]],
    (KernelPCAClassifier, "solver"): ["exact", "landmarks"],
    (KernelPCAClassifier, "n_components"): [0, 3, [2, 3]],
    (KernelPCAClassifierCV, "n_components"): [2],
    (KernelPCAClassifierCV, "densities"): [[None, KernelPCAMixture(2, 1, n_init=1, random_state=0)]],
    (KernelPCAClassifierCV, "priors"): [("uniform", "empirical")],
}


def others(cls, name):
    return OWN.get((cls, name), OTHERS.get(name, []))


def alone():
    for cls in BASES:
        for name in inspect.signature(cls).parameters:
            for value in others(cls, name):
                yield pytest.param(cls, {name: value}, id=f"{cls.__name__}-{name}-{_short(value)}")


def with_kernel():
    for cls in BASES:
        names = inspect.signature(cls).parameters
        for name in sorted(set(names) - {"kernel", "indefinite", "density"}) if "kernel" in names else ():
            value = others(cls, name)[:1]
            if value:
                yield pytest.param(cls, {name: value[0], "kernel": "poly"}, id=f"{cls.__name__}-{name}")


def _short(value):
    return str(value)[:20].replace("\n", " ")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(N // 2, 3)), rng.normal(size=(N // 2, 3)) + 2]
    return X, np.repeat([0, 1], N // 2)


@pytest.mark.parametrize("cls", BASES, ids=lambda cls: cls.__name__)
def test_every_parameter_is_here(cls):
    missing = [name for name in inspect.signature(cls).parameters if not others(cls, name) and name not in BASES[cls]]
    assert missing == []


@pytest.mark.parametrize(("cls", "params"), [*alone(), *with_kernel()])
def test_a_parameter_alone_and_with_a_kernel(cls, params, data, tmp_path):
    X, y = data
    if "kernels" in params and cls is KernelPCAClassifier:
        params = {"noise_ratio": 0.0, **params}
    if params.get("solver") == "em" and cls is ProbabilisticKernelPCA:
        params = {"n_components": 3, **params}
    if cls is KernelPCAImputer:
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    model = cls(**{**BASES[cls], "random_state": 0, **params}) if "random_state" in _names(cls) else cls(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data, few iterations
        fitted = clone(model).fit(X, y)
        mercer.save(fitted, tmp_path / "m.mercer")
        again = mercer.load(tmp_path / "m.mercer")
        for method in ("transform", "predict", "predict_proba", "score_samples", "reconstruction_error"):
            if not hasattr(fitted, method):
                continue
            values = getattr(fitted, method)(X)
            assert np.all(np.isfinite(values))
            np.testing.assert_array_equal(getattr(again, method)(X), values)


def _names(cls):
    return inspect.signature(cls).parameters
