"""The Cauchy kernel obeys the laws of kernels, and is found by its name."""

import numpy as np
from mercer_cauchy import Cauchy

from mercer.kernels import as_kernel
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(30, 3))


def test_laws():
    check_kernel(Cauchy(gamma=0.5), X)
    check_kernel(Cauchy(lengthscale=[1.0, 2.0, 0.5]), X)


def test_name():
    assert as_kernel("cauchy") == Cauchy()
