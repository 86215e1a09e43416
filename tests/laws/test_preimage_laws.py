"""Laws of pre-images, over every method and every kernel that it serves."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer._core import registry
from mercer.kernels import RBF, InverseMultiquadric, Laplacian, Linear, Matern, Polynomial, Radial, RationalQuadratic
from mercer.preimage import (
    ClosedForm,
    Compensated,
    Distances,
    FixedPoint,
    Gradient,
    Learned,
    NearestAnchor,
    Smoother,
    Vote,
    gradient,
    squared_error,
)
from mercer.preimage.base import Anchors, PreimageResult, found
from mercer.preimage.distances import from_distances
from mercer.rkhs import Expansion, principal_subspace
from mercer.testing import PREIMAGE_LAWS, check_preimage

RADIAL = [
    RBF(0.3),
    RBF(lengthscale=[0.8, 1.2, 1.0]),
    InverseMultiquadric(0.5),
    RationalQuadratic(2.0, 0.3),
    Matern(0.5, gamma=0.3),
    Matern(1.5, gamma=0.3),
    Matern(2.5, gamma=0.3),
]
OTHERS = [Linear(), Polynomial(2, 0.3), Polynomial(3, 0.3), Laplacian(0.3), 2.0 * RBF(0.2) + RBF(1.0)]
SERVED = {
    FixedPoint(): RADIAL,
    Distances(): RADIAL,
    Compensated(FixedPoint()): RADIAL[:2],
    Gradient(max_iter=50): [*RADIAL, *OTHERS],
    Smoother(): [*RADIAL, *OTHERS],
    Learned(): [*RADIAL, *OTHERS],
    ClosedForm(): [Linear()],
    NearestAnchor(): RADIAL[:2],
    Vote(): RADIAL[:2],
}


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(1.4, 0.7, d)


def test_every_method_is_here():
    assert {type(method) for method in SERVED} >= set(registry.PREIMAGES.values())


CASES = [
    pytest.param(method, kernel, id=f"{method!r}-{kernel!r}")
    for method, kernels in SERVED.items()
    for kernel in kernels
]


@pytest.mark.parametrize("method, kernel", CASES)
def test_laws(method, kernel):
    check_preimage(method, kernel, rows())


@pytest.mark.parametrize("method", registry.PREIMAGES)
def test_a_suite_of_all_laws_takes_names(method):
    check_preimage(method, RBF(0.3), rows(30))


def nearest_anchors(subspace, target):
    return subspace.Z[Anchors(subspace).nearest(target)].astype(target.B.dtype)


@dataclass(frozen=True)
class Start:
    """Return the point that a search would begin from: the nearest anchor, or the rows that are given."""

    given: bool
    exact: bool

    def bind(self, subspace):
        def nearest(target, near=None):
            anchors = nearest_anchors(subspace, target)
            return found(near.astype(target.B.dtype) if self.given and near is not None else anchors, target)

        return nearest


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_a_method_that_returns_its_starting_point_fails(given, exact):
    with pytest.raises(AssertionError, match="every vector between two rows has a row as its pre-image"):
        check_preimage(Start(given, exact), RBF(0.3), rows())


@dataclass(frozen=True)
class Broken:
    """Gradient with one fault at a time, for the laws to find."""

    fault: str = ""
    max_iter: int = 200
    exact = True

    def bind(self, subspace):
        nearest = Gradient(self.max_iter).bind(subspace)

        def broken(target, near=None):
            result = nearest(target, near)
            X, error, n_iter = result.X, result.error, result.n_iter
            faults = {
                "returns": lambda: X + 0.01,
                "moves": lambda: nearest_anchors(subspace, target),
                "descends": lambda: X + 10.0,
                "finite": lambda: np.where(target.B.any(axis=0)[:, None], X, np.nan),
                "linear_is_pca": lambda: X * 1.01,
                "one_by_one": lambda: X + 0.1 * len(target),
                "single_precision": lambda: X.astype(float),
            }
            X = faults.get(self.fault, lambda: X)()
            if self.fault != "truthful":
                error = squared_error(X, target)
            return PreimageResult(X, n_iter, result.fallback, lambda: error + (self.fault == "truthful"))

        return broken


@pytest.mark.parametrize("law", PREIMAGE_LAWS, ids=lambda law: law.__name__)
def test_a_law_finds_the_method_that_breaks_it(law):
    law(Broken(), RBF(0.3), rows())
    with pytest.raises(AssertionError):
        law(Broken(law.__name__), RBF(0.3), rows())


# What each method computes


@pytest.mark.parametrize("kernel", [*RADIAL[:4], *OTHERS[:3]], ids=repr)
def test_the_slope_of_the_distance_is_its_derivative(kernel):
    X = rows()
    k = kernel.bind(X)
    G, x, h = np.random.default_rng(0).normal(size=(5, len(X))), X[:5] + 0.1, 1e-5
    rise = (gradient._radial if isinstance(k, Radial) else gradient._general)(k, X)
    _, slope = gradient._distance(k, rise, G, x)

    def value(x):
        return gradient._distance(k, rise, G, x)[0]

    differences = np.column_stack([(value(x + e) - value(x - e)) / (2 * h) for e in h * np.eye(X.shape[1])])
    np.testing.assert_allclose(slope, differences, atol=1e-7 * np.abs(slope).max())


@pytest.mark.parametrize("kernel", RADIAL[:4], ids=repr)
def test_distances_take_the_length_of_the_vector(kernel):
    """A vector c·φ(z) is as far from φ(zᵢ) as ‖cφ(z) − φ(zᵢ)‖² says: its cosines are not its values there."""
    X = rows()
    k = kernel.bind(X)
    subspace = principal_subspace(k, X, solver="exact")
    c, z = 0.8, X[:1]
    target = Expansion(k, X, c * np.eye(len(X))[:, :1])
    t = k.inverse(np.clip(1 - (1 - 2 * c * k(z, X)[0] + c**2) / 2, 1e-12, 1.0))  # ‖f − φ(zᵢ)‖² = 2 − 2κ(tᵢ)
    near = np.argsort(-k(z, X)[0])[:10]
    expected = from_distances(k.scaled(X[near])[None], t[near][None])
    found_at = Distances(10).bind(subspace)(target).X
    np.testing.assert_allclose(k.scaled(found_at), expected, atol=1e-6 * np.abs(X).max())


def test_learned_is_ridge_regression_on_coordinates():
    X = rows() + 3.0
    k = RBF(0.3)
    subspace = principal_subspace(k, X, 4, solver="exact")
    Y = subspace.project(X)
    new = Y[:5] + 0.01
    mean = X.mean(axis=0)
    expected = (new @ Y.T) @ np.linalg.solve(Y @ Y.T + 0.1 * np.eye(len(Y)), X - mean) + mean
    actual = Learned(alpha=0.1, kernel=Linear()).bind(subspace)(subspace.lift(new)).X
    np.testing.assert_allclose(actual, expected, atol=1e-8)
