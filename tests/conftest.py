"""What several test files share."""

import re
import signal

import numpy as np
import pytest


def pytest_configure():
    """A shell ignores Ctrl-C in what it starts in the background, and children would inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Checks of scikit-learn whose answer depends on the settings of an estimator. All others look at its class alone, and
# one estimator of each class suffices.
OF_SETTINGS = re.compile(
    "weight_equivalence|methods_|idempotent|preserve_dtypes|estimators_dtypes|sparse_array|transformer_general|"
    "1sample|1feature|dict_unchanged|classes|proba_consistency|outliers|clustering"
)


def pytest_collection_modifyitems(config, items):
    """Leave out checks of a class that an earlier estimator of the class has had."""
    had, again = set(), []
    for item in items:
        params = getattr(item, "callspec", None) and item.callspec.params
        if not params or "estimator" not in params or not {"check", "name"} & params.keys():
            continue
        check, estimator = params.get("check", params.get("name")), params["estimator"]
        name = check if isinstance(check, str) else str(check.func.__name__) + str(check.keywords)
        key = (type(estimator), getattr(estimator, "kernel", None) == "precomputed", name)
        if key in had and not OF_SETTINGS.search(name):
            again.append(item)
        had.add(key)
    if again:
        left = set(map(id, again))
        config.hook.pytest_deselected(items=again)
        items[:] = [item for item in items if id(item) not in left]


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
