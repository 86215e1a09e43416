"""Long work: one bar, Ctrl-C that leaves the estimator as it was, and fits that continue where they were."""

import io
import signal
import threading
import time
from itertools import count

import numpy as np
import pytest
import scipy.linalg

import mercer
import mercer.dropin
from mercer._core import checkpoints, progress, tiles
from mercer._core.tiles import PASS, followed
from mercer.rkhs import em

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.arange(60) % 2


def test_one_line_for_all_passes_which_never_goes_back(monkeypatch):
    clock = count()
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    shown = io.StringIO()
    with mercer.progress(shown):
        for name, tiles_ in [(PASS, 5), (PASS, 5), ("rows", 3), (PASS, 5)]:
            for _ in followed(name, range(tiles_)):
                pass
    text = shown.getvalue()
    assert text.count("\n") == 1
    assert text.endswith("\n")
    shares = [int(line.split("%")[0][-3:]) for line in text.split("\r")[1:]]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert "pass over the kernel matrix 2 of about 4" in text
    assert "s left" in text


def test_nothing_is_shown_if_nothing_is_long():
    shown = io.StringIO()
    with mercer.progress(shown):
        mercer.KernelPCA(2).fit(X)
    assert shown.getvalue() == ""


ESTIMATORS = [
    mercer.KernelPCA(2),
    mercer.SparseKernelPCA(2),
    mercer.ProbabilisticKernelPCA(2),
    mercer.KernelPCAMixture(2, 1),
    mercer.KernelPCAClassifier(),
    mercer.KernelPCAClassifierCV(),
    mercer.KernelPCAImputer(2),
    mercer.KernelPCAMonitor(),
]


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(model, monkeypatch):
    """Ctrl-C after any number of passes over rows, until the fit is complete."""
    for fitted in (False, True):
        model = (
            mercer.KernelPCAImputer(2)
            if isinstance(model, mercer.KernelPCAImputer)
            else type(model)(**model.get_params())
        )
        if fitted:
            model.fit(X, y)
        before = dict(model.__dict__)
        for passes in (0, 1, 3):
            left = iter(range(passes))

            def interrupted(*args, left=left, original=tiles.row_tiles):
                if next(left, None) is None:
                    raise KeyboardInterrupt
                return original(*args)

            with monkeypatch.context() as patched:
                patched.setattr(tiles, "row_tiles", interrupted)
                try:
                    model.fit(X, y)
                    break  # it has fewer passes
                except KeyboardInterrupt:
                    assert model.__dict__.keys() == before.keys()
                    assert all(model.__dict__[key] is before[key] for key in before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_a_regression_is_interrupted_inside_lapack(monkeypatch):
    """The last step of a fit is one call of LAPACK: the signal is answered during it, not behind it."""

    def solve(K, Y, **_):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(20)

    monkeypatch.setattr(scipy.linalg, "solve", solve)
    model = mercer.dropin.KernelPCA(2, kernel="rbf", fit_inverse_transform=True)
    before, start = dict(model.__dict__), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert time.monotonic() - start < 10
    assert model.__dict__ == before


class Interrupted(Exception):
    """In place of Ctrl-C."""


def interrupting(function, after):
    """The function, which is interrupted after some calls."""
    calls = count()

    def called(*args, **kwargs):
        if next(calls) == after:
            raise Interrupted
        return function(*args, **kwargs)

    return called


def test_mixtures_continue_where_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", -1)
    model = mercer.KernelPCAMixture(2, 1, n_init=2, tol=0, max_iter=30, random_state=0)
    expected = model.fit(X)
    again = mercer.KernelPCAMixture(2, 1, n_init=2, tol=0, max_iter=30, random_state=0)
    with mercer.resuming(tmp_path), monkeypatch.context() as patched:
        patched.setattr(em, "component_energies", interrupting(em.component_energies, 2))
        with pytest.raises(Interrupted):
            again.fit(X)
    assert list(tmp_path.glob("em-*.npz"))
    with mercer.resuming(tmp_path):
        again.fit(X)
    np.testing.assert_allclose(again.lower_bound_, expected.lower_bound_)
    np.testing.assert_allclose(again.lower_bounds_[:3], expected.lower_bounds_[:3])


def test_searches_continue_with_the_next_kernel(tmp_path, monkeypatch):
    search = lambda: mercer.KernelPCAClassifierCV(random_state=0, cv=2)  # noqa: E731
    expected = search().fit(X, y)
    cls = mercer.KernelPCAClassifierCV
    with mercer.resuming(tmp_path):
        with monkeypatch.context() as patched:
            patched.setattr(cls, "_errors_of_fold", interrupting(cls._errors_of_fold, 5))
            with pytest.raises(Interrupted):
                search().fit(X, y)
        done = len(list(tmp_path.glob("search-*.npz")))
        assert done == 2
        found = search().fit(X, y)
    np.testing.assert_array_equal(found.errors_, expected.errors_)


def test_em_of_the_probabilistic_model_continues(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", -1)
    model = mercer.ProbabilisticKernelPCA(2, solver="em", random_state=0)
    with mercer.resuming(tmp_path):
        first = model.fit(X).n_iter_
        assert model.fit(X).n_iter_ < first / 2


def test_a_damaged_checkpoint_counts_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", -1)
    with mercer.resuming(tmp_path):
        mercer.KernelPCAMixture(2, 1, random_state=0).fit(X)
        for path in tmp_path.iterdir():
            path.write_bytes(b"PK\3\4 damaged")
        mercer.KernelPCAMixture(2, 1, random_state=0).fit(X)
