"""Laws of pre-images, over every method and every kernel that it serves."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mercer.kernels import (
    RBF,
    Cosine,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.preimage import (
    METHODS,
    ClosedForm,
    Compensated,
    Distances,
    FixedPoint,
    Gradient,
    Learned,
    Smoother,
)
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
    Gradient(): [*RADIAL, *OTHERS],
    Smoother(): [*RADIAL, *OTHERS],
    Learned(): [*RADIAL, *OTHERS],
    ClosedForm(): [Linear()],
}


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(1.4, 0.7, d)


def test_every_method_is_here():
    assert {type(method) for method in SERVED} >= set(METHODS.values())


def cases():
    for method, kernels in SERVED.items():
        for kernel in kernels:
            for law in PREIMAGE_LAWS:
                yield pytest.param(method, kernel, law, id=f"{method!r}-{kernel!r}-{law.__name__}")


@pytest.mark.parametrize("method, kernel, law", list(cases()))
def test_laws(method, kernel, law):
    law(method, kernel, rows())
