"""Laws of streaming over rows: the tiles, the threads and what happened before do not matter."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer._core import cpus
from mercer._core.tiles import in_threads, map_rows, sum_rows, symmetric_matrix, symmetric_rows
from mercer.testing import tile_height

N, D, P = 61, 4, 3
HEIGHTS = [1, 2, 7, N // 2, N - 1, N, N + 5]
THREADS = [1, 2, 4]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(N, D))


@pytest.fixture
def V():
    return np.random.default_rng(1).normal(size=(N, P))


def kernel(X, Y):
    return 1 / (1 + np.abs(X[:, None] - Y).sum(axis=2))


def pairs(X):
    return lambda i, j: kernel(X[i], X[j])


def blas_limits():
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def results(X, V):
    """Each way of streaming, and what it stands for."""
    K = kernel(X, X)
    yield map_rows(lambda x: kernel(x, X) @ V, X, width=N), K @ V
    yield map_rows(lambda x, v: np.sum(x, axis=1) * v[:, 0], X, V, width=N), X.sum(axis=1) * V[:, 0]
    yield sum_rows(lambda x, v: x.T @ v, X, V, width=N), X.T @ V
    yield symmetric_rows(pairs(X), V), K @ V
    yield symmetric_matrix(pairs(X), len(X), float), K


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("height", HEIGHTS)
def test_results_do_not_depend_on_tiles_and_threads(height, threads, X, V):
    with threadpool_limits(threads, user_api="blas"), tile_height(height, N):
        for actual, expected in results(X, V):
            np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)
    with threadpool_limits(threads, user_api="blas"), tile_height(height, height):
        for actual, expected in results(X, V):
            np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("height", HEIGHTS)
def test_repeated_runs_give_the_same_bits(height, X, V):
    with threadpool_limits(4, user_api="blas"), tile_height(height, height):
        first = [actual for actual, _ in results(X, V)]
        for _ in range(5):
            for actual, before in zip(results(X, V), first, strict=True):
                np.testing.assert_array_equal(actual[0], before)


@pytest.mark.parametrize("threads", THREADS)
def test_every_row_comes_once_and_in_its_place(threads, X):
    seen = []

    def remember(i):
        seen.extend(i)
        return i

    with threadpool_limits(threads, user_api="blas"), tile_height(7, 1):
        np.testing.assert_array_equal(map_rows(remember, np.arange(N), width=1), np.arange(N))
    assert sorted(seen) == list(range(N))


@pytest.mark.parametrize("threads", THREADS)
def test_calls_may_be_nested(threads, X, V):
    def by_rows(x):
        return map_rows(lambda z: kernel(z, X) @ V, x, width=N)

    def by_sums(x):
        return sum_rows(lambda y, v: kernel(x, y) @ v, X, V, width=N)

    with threadpool_limits(threads, user_api="blas"), tile_height(7, N):
        before = blas_limits()
        for inner in (by_rows, by_sums):
            np.testing.assert_allclose(map_rows(inner, X, width=N), kernel(X, X) @ V, rtol=1e-10)
        assert blas_limits() == before


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_exception_in_a_tile_is_the_one_that_is_raised(threads, X, V):
    def fail(i):
        if bad in i:
            raise LookupError(f"row {bad}")
        time.sleep(1e-3)
        return i.astype(float)

    numbers = np.arange(N)
    with threadpool_limits(threads, user_api="blas"), tile_height(1, 1):
        before = blas_limits()
        for bad in (0, 1, 2, 3, N - 1):  # whichever thread has it
            for stream in (map_rows, sum_rows):
                with pytest.raises(LookupError, match=f"row {bad}"):
                    stream(fail, numbers, width=1)
                assert blas_limits() == before
        with pytest.raises(LookupError):
            symmetric_rows(lambda i, j: fail(numbers[j])[:, None], V)
        assert blas_limits() == before
    for actual, expected in results(X, V):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


def test_the_others_stop_when_one_tile_fails():
    done = []

    def fail(i):
        if 0 in i:
            raise LookupError
        done.append(i)
        return i

    many = 100_000
    with threadpool_limits(4, user_api="blas"), tile_height(1, 1), pytest.raises(LookupError):
        sum_rows(fail, np.arange(many), width=1)
    assert len(done) < many / 2


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_overlapping_calls_leave_the_limits_of_blas_as_they_were(limit, X, V):
    expected = kernel(X, X) @ V
    barrier = threading.Barrier(4, timeout=30)

    def call(seed):
        barrier.wait()
        for height in np.random.default_rng(seed).integers(1, N, 10):
            with tile_height(int(height), N):
                np.testing.assert_allclose(symmetric_rows(pairs(X), V), expected, rtol=1e-10)
                np.testing.assert_allclose(map_rows(lambda x: kernel(x, X) @ V, X, width=N), expected, rtol=1e-10)

    outside = blas_limits()
    with threadpool_limits(limit, user_api="blas"):
        before = blas_limits()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(call, range(4)))
        assert blas_limits() == before
    assert blas_limits() == outside


def test_blas_is_held_to_one_thread_inside_a_tile(X):
    inside = []

    def look(x):
        inside.append(set(blas_limits().values()))
        return x

    with threadpool_limits(2, user_api="blas"), tile_height(30, N):
        map_rows(look, X, width=N)
    assert all(limits == {1} for limits in inside[1:])  # the first tile tells the shape, before the threads start


@pytest.mark.parametrize("height", [1, 7])
def test_no_rows(height):
    empty, V = np.empty((0, D)), np.empty((0, P))
    with tile_height(height, D):
        assert map_rows(lambda x: x[:, :2], empty, width=D).shape == (0, 2)
        np.testing.assert_array_equal(sum_rows(lambda x: x.T @ x, empty, width=D), np.zeros((D, D)))
        assert symmetric_rows(pairs(empty), V).shape == (0, P)
        assert symmetric_matrix(pairs(empty), 0, float).shape == (0, 0)


def test_no_columns(X):
    with tile_height(7, N):
        assert map_rows(lambda x: x[:, :0], X, width=0).shape == (N, 0)
        assert symmetric_rows(pairs(X), np.empty((N, 0))).shape == (N, 0)


several = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two processors"
)


@several
def test_threads_run_on_other_processors_than_the_caller():
    """Also after the caller has moved; the processors that the caller may use stay as they are."""
    allowed = os.sched_getaffinity(0)
    with threadpool_limits(2, user_api="blas"):
        in_threads(list, range(100))  # the first work starts the threads
        for cpu in sorted(allowed)[:2]:
            os.sched_setaffinity(0, {cpu})
            os.sched_setaffinity(0, allowed)
            assert sum(map(sum, in_threads(list, range(100)))) == sum(range(100))
            assert cpus._threads
            callers = cpus._last[1]
            assert all(os.sched_getaffinity(thread) == allowed - {callers} for thread in cpus._threads)
    assert os.sched_getaffinity(0) == allowed


@several
def test_threads_that_have_ended_are_no_error(monkeypatch):
    monkeypatch.setattr(cpus, "_threads", [2**22 - 1])
    monkeypatch.setattr(cpus, "_last", None)
    cpus.keep_apart()
    assert cpus._last[0] == 1


def test_without_linux_threads_stay_where_they_are(monkeypatch):
    monkeypatch.setattr(cpus, "_processor", None)
    monkeypatch.setattr(cpus, "_last", None)
    cpus.keep_apart()
    assert cpus._last is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_forked_process_starts_threads_of_its_own():
    script = """
        import os, warnings
        import numpy as np
        from mercer._core import cpus
        from mercer._core.tiles import sum_rows
        X = np.ones((5000, 100))
        total = lambda: float(sum_rows(lambda x: x.sum(axis=0), X, width=1000).sum())
        assert total() == 5e5
        warnings.simplefilter("ignore")  # of threads in a process that forks
        child = os.fork()
        if child == 0:
            fine = not cpus._threads and total() == 5e5
            os._exit(0 if fine else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert total() == 5e5
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
