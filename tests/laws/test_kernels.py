"""Laws of kernels, over every kernel class and every way of combining them."""

import inspect

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as gp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise

import mercer.kernels
from mercer.kernels import (
    RBF,
    Chi2,
    Cosine,
    FromFunction,
    GaussianProcess,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Precomputed,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
)
from mercer.testing import KERNEL_LAWS, check_kernel

D = 5
ARD = np.array([0.5, 1.0, 2.0, 3.0, 0.7])


def laplace(X, Y):
    return np.exp(-np.abs(X[:, None] - Y).sum(axis=2))


KERNELS = [
    RBF(),
    RBF(gamma=0.3),
    RBF(gamma="scale"),
    RBF(gamma="median"),
    RBF(lengthscale=2.0),
    RBF(lengthscale=ARD),
    InverseMultiquadric(),
    InverseMultiquadric(lengthscale=ARD),
    RationalQuadratic(alpha=0.7),
    RationalQuadratic(alpha=3.0, lengthscale=ARD),
    *(Matern(nu=nu) for nu in (0.5, 1.5, 2.5)),
    *(Matern(nu=nu, lengthscale=ARD) for nu in (0.5, 1.5, 2.5)),
    Matern(nu=2.5, gamma="median"),
    Laplacian(),
    Laplacian(gamma="median"),
    Chi2(),
    Chi2(gamma=0.2),
    Linear(),
    Polynomial(),
    Polynomial(degree=2, gamma=0.5, coef0=0.0),
    Polynomial(degree=1, coef0=2.0),
    Sigmoid(),
    Sigmoid(gamma=0.1, coef0=-1.0),
    Cosine(),
    RBF() + Linear(),
    RBF(gamma="scale") * Polynomial(degree=2),
    2.5 * RBF(lengthscale=ARD),
    0.5 * (RBF() + Matern()) * Cosine(),
    Chi2() + RBF(),
    OnColumns(RBF(gamma="median"), [0, 3]),
    OnColumns(Polynomial(), slice(1, 4)),
    OnColumns(Laplacian(), np.array([True, False, True, True, False])) + OnColumns(Linear(), [1, 4]),
    Normalized(Polynomial()),
    Normalized(Linear() + RBF()),
    FromFunction(laplace),
    FromFunction(pairwise.rbf_kernel),
    GaussianProcess(gp.RBF(length_scale=ARD)),
    GaussianProcess(gp.ConstantKernel(2.0) * gp.Matern(nu=2.5) + gp.DotProduct()),
]


def rows(n=40, d=D, seed=0, scale=1.0):
    """Rows that every kernel takes; one stands twice and one is 0."""
    X = np.abs(scale * np.random.default_rng(seed).normal(size=(n, d)))
    X[n // 2] = X[0]
    X[n // 3] = 0
    return X


def classes(kernel):
    parts = [part for part in kernel.get_params().values() if isinstance(part, Kernel)]
    return {type(kernel), *map(type, parts)}


def test_every_kernel_class_is_here():
    public = {c for _, c in inspect.getmembers(mercer.kernels, inspect.isclass) if issubclass(c, Kernel)}
    concrete = {c for c in public if not inspect.isabstract(c)}
    assert concrete - {Precomputed} == set().union(*map(classes, KERNELS))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("law", KERNEL_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_laws(kernel, law, dtype):
    law(kernel, rows().astype(dtype))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(
    kernel=st.sampled_from([kernel for kernel in KERNELS if "lengthscale" not in repr(kernel)]),
    n=st.integers(3, 30),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.03, 0.3, 1.0, 2.0]),
)
def test_laws_on_random_rows(kernel, n, seed, scale):
    check_kernel(kernel, rows(n, D, seed, scale), dtypes=[np.float64])
