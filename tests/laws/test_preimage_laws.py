"""Laws of pre-images, over every method and every kernel that it serves."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer._core import registry
from mercer.kernels import RBF, InverseMultiquadric, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.preimage import (
    ClosedForm,
    Compensated,
    Distances,
    FixedPoint,
    Gradient,
    Learned,
    Smoother,
    squared_error,
)
from mercer.preimage.base import Anchors, PreimageResult, found
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
