"""Gradients of components, T² and r², and the importance of input variables that follows from them."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from mercer import KernelPCA
from mercer.eigen import Landmarks
from mercer.importance import importance
from mercer.kernels import (
    RBF,
    Chi2,
    Cosine,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from mercer.rkhs import gradients

ARD = np.array([0.5, 1.0, 2.0, 3.0])
KERNELS = [
    RBF(gamma=0.3),
    RBF(lengthscale=ARD),
    InverseMultiquadric(gamma=0.3),
    RationalQuadratic(alpha=0.7, gamma=0.4),
    Matern(nu=0.5, gamma=0.2),
    Matern(nu=1.5, gamma=0.2),
    Matern(nu=2.5, lengthscale=ARD),
    Laplacian(gamma=0.2),
    Chi2(gamma=0.4),
    Linear(),
    Polynomial(2, gamma=0.3),
    Polynomial(3, gamma=0.2, coef0=0.5),
    Sigmoid(gamma=0.05, coef0=0.1),
    Cosine(),
    RBF(gamma=0.2) + Linear(),
    RBF(gamma=0.2) * Polynomial(2, gamma=0.1),
    2.5 * Matern(gamma=0.3),
    OnColumns(RBF(gamma=0.5), [0, 2]),
    Normalized(Polynomial(2, gamma=0.3)),
]
STEP = 1e-5  # of a central difference, whose own error is about 1e-10


def drawn(seed, n=25):
    """Rows with no negative entry, as one of the kernels wants."""
    return np.random.default_rng(seed).gamma(3.0, 0.5, size=(n, 4))


def differences(f, X):
    """Central differences of f, a function of rows, in each column: (n, …, d)."""
    columns = []
    for j in range(X.shape[1]):
        up, down = X.copy(), X.copy()
        up[:, j] += STEP
        down[:, j] -= STEP
        columns.append((f(up) - f(down)) / (2 * STEP))
    return np.stack(columns, axis=-1)


def statistics(subspace):
    return {
        gradients.components: lambda x: subspace.split(x)[0],
        gradients.t2: lambda x: np.sum(subspace.split(x)[0] ** 2 / subspace.variances, axis=1),
        gradients.r2: lambda x: subspace.split(x)[1],
    }


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning")
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("gradient", [gradients.components, gradients.t2, gradients.r2], ids=lambda f: f.__name__)
def test_gradients_agree_with_differences(kernel, gradient, center):
    subspace = KernelPCA(3, kernel=kernel, center=center, solver="exact").fit(drawn(0)).subspace_
    X = drawn(1, n=8)
    expected = differences(statistics(subspace)[gradient], X)
    given = gradient(subspace, X)
    assert given.shape == expected.shape
    np.testing.assert_allclose(given, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("gradient", [gradients.components, gradients.t2, gradients.r2], ids=lambda f: f.__name__)
def test_gradients_of_landmark_models_and_any_tile(gradient):
    model = KernelPCA(3, kernel=RBF(gamma=0.3), solver=Landmarks(n=12), random_state=0).fit(drawn(0, n=60))
    X = drawn(1)
    whole = gradient(model.subspace_, X)
    expected = differences(statistics(model.subspace_)[gradient], X)
    np.testing.assert_allclose(whole, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    with config_context(working_memory=1e-4):
        np.testing.assert_allclose(gradient(model.subspace_, X), whole, rtol=1e-12)


def test_gradients_of_single_precision_rows_are_double():
    subspace = KernelPCA(2, kernel=RBF(gamma=0.3)).fit(drawn(0).astype(np.float32)).subspace_
    assert gradients.r2(subspace, drawn(1).astype(np.float32)).dtype == np.float64


def test_a_model_without_components_has_empty_gradients():
    with pytest.warns(UserWarning, match="constant"):
        subspace = KernelPCA(kernel="rbf").fit(np.ones((5, 4))).subspace_
    assert gradients.components(subspace, drawn(1)).shape == (25, 0, 4)
    np.testing.assert_array_equal(gradients.t2(subspace, drawn(1)), 0)


def test_kernels_without_a_derivative_say_so():
    model = KernelPCA(2, kernel=lambda X, Y: (1 + X @ Y.T) ** 2).fit(drawn(0))
    with pytest.raises(ValueError, match="kernel with a derivative"):
        importance(model, drawn(0))


# importance


def test_the_linear_kernel_gives_the_loadings_of_pca(X):
    """∂y_j/∂x_i = u_ji everywhere: the importance is |u_ji| times the standard deviation."""
    table = importance(KernelPCA(3, kernel="linear").fit(X), X)
    loadings = np.abs(PCA(3).fit(X).components_) * X.std(axis=0)
    np.testing.assert_allclose(table.values, loadings, rtol=1e-8)
    np.testing.assert_allclose(table.shares.sum(axis=1), 1)
    np.testing.assert_allclose(table.overall.sum(), 1)


@pytest.mark.parametrize("kernel", [RBF(gamma="median"), Matern(gamma="median"), Polynomial(2, gamma=0.2)], ids=repr)
def test_columns_that_make_the_structure_come_first(kernel):
    """A circle in two of five columns, and little noise in the others: the answer is known."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    X = 0.1 * rng.normal(size=(200, 5))
    X[:, 1] += np.cos(angle)
    X[:, 3] += np.sin(angle)
    table = importance(KernelPCA(3, kernel=kernel).fit(X), X)
    for component in range(3):
        assert set(table.ranking(component)[:2]) == {"x1", "x3"}
    assert table.overall[[1, 3]].sum() > 0.7


def test_two_structures_are_told_apart():
    """Component 1 splits rows along one column, component 2 along another."""
    rng = np.random.default_rng(0)
    X = 0.2 * rng.normal(size=(300, 4))
    X[:, 2] += 3 * rng.choice([-1, 1], 300)
    X[:, 0] += rng.choice([-1, 1], 300)
    table = importance(KernelPCA(2, kernel=RBF(gamma=0.02)).fit(X), X)
    assert table.ranking(0)[0] == "x2"
    assert table.ranking(1)[0] == "x0"


def test_columns_that_the_kernel_does_not_see_have_none(X):
    table = importance(KernelPCA(2, kernel=OnColumns(RBF(gamma=0.3), [0, 2])).fit(X), X)
    np.testing.assert_array_equal(table.values[:, [1, 3]], 0)
    assert np.all(table.values[:, [0, 2]] > 0)


def test_names_come_from_the_frame_and_scales_do_not_matter(X):
    frame = pd.DataFrame(X, columns=["flow", "level", "power", "heat"])
    model = make_pipeline(StandardScaler(), KernelPCA(2, kernel=RBF(gamma=0.3)))
    table = importance(model.fit(frame), frame)
    assert table.names == ["flow", "level", "power", "heat"]
    assert list(table.to_frame().columns) == table.names
    assert "flow" in str(table)
    units = frame * [1.0, 1e3, 1e-3, 10.0]
    np.testing.assert_allclose(importance(model.fit(units), units).values, table.values, rtol=1e-6)


def test_columns_that_a_step_makes_are_named_by_it(X):
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), KernelPCA(2)).fit(frame)
    assert importance(model, frame).names == ["a", "b", "a^2", "a b", "b^2"]


def test_rows_do_not_have_to_be_many_at_once(X):
    model = KernelPCA(2).fit(X)
    whole = importance(model, X).values
    with config_context(working_memory=1e-4):
        np.testing.assert_allclose(importance(model, X).values, whole, rtol=1e-12)
