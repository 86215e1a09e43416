"""Laws of monitoring: rates of alarms, and rows left out against models that never saw them."""

import numpy as np
import pytest

from mercer.kernels import RBF, Linear
from mercer.models.monitor import limits
from mercer.rkhs import principal_subspace
from mercer.rkhs.leave_one_out import leave_one_out


def test_two_independent_charts_have_the_joint_rate():
    for alpha in (0.001, 0.05, 0.5):
        assert 1 - (1 - limits.each(alpha)) ** 2 == pytest.approx(alpha, rel=1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.2), Linear()], ids=repr)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("q", [1, 3])
def test_leaving_one_out_equals_fitting_without_it(kernel, center, q):
    X = np.random.default_rng(0).normal(size=(25, 4)) * [1.6, 1.2, 0.9, 0.6]
    kernel = kernel.bind(X, center=False)
    whole = principal_subspace(kernel, X, center=center, solver="exact")
    t2, spe = leave_one_out(*whole.split(X), whole.variances, q, center=center)
    for i in range(len(X)):
        part = principal_subspace(kernel, np.delete(X, i, axis=0), q, center=center, solver="exact")
        Y, r2 = part.split(X[i : i + 1])
        np.testing.assert_allclose(t2[i], np.sum(Y**2 / part.variances), rtol=1e-7)
        np.testing.assert_allclose(spe[i], r2[0], rtol=1e-7, atol=1e-10)
