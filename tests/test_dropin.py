"""``mercer.dropin.KernelPCA`` beside scikit-learn's: the same attributes, values, padding and errors."""

import inspect
import pickle
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from mercer.dropin import KernelPCA as Ours

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"degree": 2, "gamma": 0.2, "coef0": 0.5},
    "sigmoid": {"gamma": 0.02, "coef0": 0.1},
    "cosine": {},
    "rbf ": {},  # the default width
    "callable": {"kernel": lambda x, y, c=1.0: (x @ y + c) ** 2, "kernel_params": {"c": 2.0}},
}
SOLVERS = ["auto", "dense", "arpack", "randomized"]


def both(q, name, **parameters):
    parameters = {"kernel": name.strip(), "random_state": 0, **KERNELS[name], **parameters}
    return Ours(q, **parameters), Theirs(q, **parameters)


def test_the_signature_is_scikit_learns():
    ours, theirs = inspect.signature(Ours).parameters, inspect.signature(Theirs).parameters
    assert {name: p.default for name, p in ours.items()} == {name: p.default for name, p in theirs.items()}
    assert list(ours) == list(theirs)


def test_public_methods_are_scikit_learns():
    def names(cls):
        return {name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name, None))}

    assert names(Theirs) <= names(Ours)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", KERNELS)
def test_attributes_and_scores_are_scikit_learns(name, solver, X, X_new, same_up_to_sign):
    ours, theirs = (model.fit(X) for model in both(3, name, eigen_solver=solver))
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-7)
    same_up_to_sign(ours.eigenvectors_, theirs.eigenvectors_, 1e-5)
    same_up_to_sign(ours.transform(X), theirs.transform(X), 1e-5)
    same_up_to_sign(ours.transform(X_new), theirs.transform(X_new), 1e-5)
    same_up_to_sign(ours.fit_transform(X), theirs.fit_transform(X), 1e-5)
    np.testing.assert_array_equal(ours.X_fit_, theirs.X_fit_)
    assert ours.gamma_ == theirs.gamma_
    assert ours.n_features_in_ == theirs.n_features_in_
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.parametrize("name", KERNELS)
def test_every_fitted_attribute_exists(name, X):
    ours, theirs = (model.fit(X) for model in both(3, name, fit_inverse_transform=True))
    for attribute in vars(theirs):
        if not attribute.startswith("_"):
            assert np.shape(getattr(ours, attribute)) == np.shape(getattr(theirs, attribute)), attribute


def test_precomputed_is_scikit_learns(X, X_new, same_up_to_sign):
    K, K_new = rbf_kernel(X, gamma=0.2), rbf_kernel(X_new, X, gamma=0.2)
    ours, theirs = (make(3, kernel="precomputed").fit(K) for make in (Ours, Theirs))
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    same_up_to_sign(ours.transform(K_new), theirs.transform(K_new))


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "cosine"])
def test_sparse_rows_are_those_of_the_dense_array(name, X, X_new, same_up_to_sign):
    X = np.where(np.abs(X) < 0.7, 0, X)
    ours, theirs = both(3, name)
    expected = theirs.fit(X).transform(X_new)
    same_up_to_sign(ours.fit(csr_matrix(X)).transform(csr_matrix(X_new)), expected, 1e-6)


@pytest.mark.parametrize("solver", ["auto", "dense"])
@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("q", [None, 3, 6, 59, 60, 100])
@pytest.mark.parametrize("name", ["linear", "poly"])
def test_where_the_rank_ends_there_are_zeros_or_nothing(name, q, remove, solver, X, same_up_to_sign):
    ours, theirs = both(q, name, remove_zero_eig=remove, eigen_solver=solver)
    Y, expected = ours.fit_transform(X), theirs.fit_transform(X)
    same_up_to_sign(Y, expected)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8, atol=1e-10)
    same_up_to_sign(ours.transform(X), Y)
    assert ours.eigenvectors_.shape == theirs.eigenvectors_.shape
    rank = {"linear": 4, "poly": 14}[name]
    assert np.count_nonzero(ours.eigenvalues_) == min(rank, q or rank)
    np.testing.assert_array_equal(Y[:, rank:], 0)


@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "sigmoid", "rbf "])
@pytest.mark.parametrize("q", [2, 3])
def test_the_inverse_is_scikit_learns(name, q, alpha, X, X_new):
    ours, theirs = (model.fit(X) for model in both(q, name, fit_inverse_transform=True, alpha=alpha))
    expected = theirs.inverse_transform(theirs.transform(X_new))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X_new)), expected, atol=1e-8)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_allclose(ours.X_transformed_fit_, ours.transform(X), atol=1e-8)


def test_float32_stays_float32(X):
    ours = Ours(3, kernel="rbf", fit_inverse_transform=True).fit(X.astype(np.float32))
    Y = ours.transform(X.astype(np.float32))
    assert Y.dtype == ours.eigenvalues_.dtype == ours.inverse_transform(Y).dtype == np.float32


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize("name", ["rbf", "cosine"])
def test_ten_rows_of_one_direction_give_zeros(name, solver):
    x = np.full((10, 1), 2.0)
    np.testing.assert_array_equal(both(2, name, eigen_solver=solver)[0].fit_transform(x), np.zeros((10, 2)))


# --- errors


def indefinite():
    values = np.r_[-3.0, -2.0, 5.0, 4.0, 0.1 * 0.9 ** np.arange(16)]
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 20)))[0]
    return Q * values @ Q.T


X0 = np.random.default_rng(0).normal(size=(20, 3))
ERRORS = {
    "inverse of precomputed": lambda make: make(2, kernel="precomputed", fit_inverse_transform=True).fit(X0 @ X0.T),
    "no inverse": lambda make: make(2).fit(X0).inverse_transform(np.zeros((2, 2))),
    "not fitted": lambda make: make(2).transform(X0),
    "nan": lambda make: make(2).fit(np.full((5, 2), np.nan)),
    "width": lambda make: make(2).fit(X0).transform(X0[:, :2]),
    "n_components": lambda make: make(0).fit(X0),
    "share": lambda make: make(0.5).fit(X0),
    "kernel": lambda make: make(2, kernel="nonsense").fit(X0),
    "gamma": lambda make: make(2, kernel="rbf", gamma=-1.0).fit(X0),
    "degree": lambda make: make(2, kernel="poly", degree=-1).fit(X0),
    "coef0": lambda make: make(2, coef0="one").fit(X0),
    "alpha": lambda make: make(2, alpha=-1.0).fit(X0),
    "solver": lambda make: make(2, eigen_solver="lapack").fit(X0),
    "tol": lambda make: make(2, tol=-1.0).fit(X0),
    "max_iter": lambda make: make(2, max_iter=0).fit(X0),
    "iterated_power": lambda make: make(2, iterated_power=-1).fit(X0),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_scikit_learns(case):
    with pytest.raises(Exception) as theirs:
        ERRORS[case](Theirs)
    with pytest.raises(theirs.type) as ours:
        ERRORS[case](Ours)
    words = [sorted(re.findall(r"\w+", str(error.value))) for error in (ours, theirs)]  # sets of options have no order
    assert words[0] == words[1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_significant_negative_eigenvalues_are_an_error_when_asked_for(solver):
    for make in (Ours, Theirs):
        with pytest.raises(ValueError, match="There are significant negative eigenvalues"):
            make(19, kernel="precomputed", eigen_solver=solver, random_state=0).fit(indefinite())


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
def test_negative_eigenvalues_that_nobody_asked_for_are_ignored(solver, same_up_to_sign):
    K = indefinite()
    ours, theirs = (make(2, kernel="precomputed", eigen_solver=solver, random_state=0) for make in (Ours, Theirs))
    same_up_to_sign(ours.fit_transform(K), theirs.fit_transform(K), 1e-6)


def test_a_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="must be a square matrix. Input is a 20x3 matrix"):
        Ours(2, kernel="precomputed").fit(X0)


def test_sparse_rows_have_no_learned_inverse():
    with pytest.raises(TypeError, match="Sparse data was passed"):
        Ours(2, fit_inverse_transform=True).fit(csr_matrix(X0))


def test_a_failed_refit_leaves_the_earlier_fit_intact(X, X_new):
    model = Ours(2, kernel="rbf").fit(X)
    Y = model.transform(X_new)
    for spoiled in (np.full((5, 4), np.nan), np.zeros((5, 0))):
        with pytest.raises(ValueError):
            model.fit(spoiled)
    np.testing.assert_array_equal(model.transform(X_new), Y)


@pytest.mark.parametrize("inverse", [True, False])
def test_every_method_before_fit_says_so(inverse, X):
    model = Ours(2, fit_inverse_transform=inverse)
    for method in (model.transform, model.inverse_transform):
        with pytest.raises(NotFittedError):
            method(X)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()


def test_it_is_cloned_and_pickled(X, X_new):
    model = Ours(3, kernel="rbf", fit_inverse_transform=True).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X_new), model.transform(X_new))
    np.testing.assert_array_equal(again.inverse_transform(X_new[:, :3]), model.inverse_transform(X_new[:, :3]))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "eigenvalues_")
