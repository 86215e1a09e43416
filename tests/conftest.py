"""What several test files share."""

import signal

import numpy as np
import pytest


def pytest_configure():
    """A shell ignores Ctrl-C in what it starts in the background, and children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def X():
    """Sixty rows of four columns with four different variances, so that no eigenvalues coincide."""
    return np.random.default_rng(0).normal(size=(60, 4)) * [1.6, 1.2, 0.9, 0.6]


@pytest.fixture
def X_new():
    """Rows that no model was fitted on."""
    return np.random.default_rng(1).normal(size=(20, 4))


@pytest.fixture
def same_up_to_sign():
    """A function that compares coordinates whose columns may differ in sign, to a share of their largest entry."""

    def compare(Y, reference, tol=1e-8):
        Y, reference = np.asarray(Y, float), np.asarray(reference, float)
        assert Y.shape == reference.shape
        signs = np.where(np.sum(Y * reference, axis=0) < 0, -1.0, 1.0)
        scale = np.abs(reference).max(initial=0.0)
        np.testing.assert_allclose(Y * signs, reference, rtol=0, atol=tol * scale)

    return compare
