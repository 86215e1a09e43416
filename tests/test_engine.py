"""The engine's promises: solvers agree, threads do not matter, nothing is left behind, costs are known beforehand."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

import mercer
from mercer import KernelPCA
from mercer.eigen import Davidson, Exact, Landmarks, choose
from mercer.kernels import RBF, Laplacian, Matern, Polynomial
from mercer.linalg.operators import Gram


def narrow(rng):
    return rng.normal(size=(400, 5)), RBF(3.0)


def wide(rng):
    return rng.normal(size=(400, 5)), RBF(1e-3)


def clustered(rng):
    return np.repeat(rng.normal(size=(8, 3)), 50, axis=0) + 1e-3 * rng.normal(size=(400, 3)), RBF(1.0)


def far_away(rng):
    return rng.normal(size=(400, 3)) + 1e6, RBF(0.3)


def of_low_rank(rng):
    return rng.normal(size=(400, 3)), Polynomial(2, 1.0)


def many_columns(rng):
    return rng.normal(size=(400, 300)), RBF(1 / 300)


def rough(rng):
    return rng.normal(size=(400, 3)), Laplacian(0.5)


def smooth(rng):
    return rng.normal(size=(400, 3)), Matern(2.5, gamma=0.5)


DATA = [narrow, wide, clustered, far_away, of_low_rank, many_columns, rough, smooth]
# Spectra that hardly decay: a factor of low rank is no preconditioner for them. Davidson gives up after 30 passes if
# its tolerance is small, or needs nearly as many.
SLOW = [narrow, many_columns]
# The variance is a thousandth of k(x, x): in single precision residuals end near Davidson's tolerance, above it on some
# processors.
ROUNDED = [wide]


def check_note(model, gives_up):
    """Check that the solver's own pairs were taken, or that the report says which solver took over; None: either."""
    own, replaced = model.solver_.note == "", model.solver_.note.endswith("Exact() was used instead")
    assert {True: replaced, False: own, None: own or replaced}[gives_up]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("solver, tol", [("davidson", 1e-6), (Davidson(tol=1e-10), 1e-10), ("lanczos", 1e-10)])
@pytest.mark.parametrize("data", DATA)
def test_iterative_solvers_agree_with_lapack_to_their_tolerance(data, solver, tol, center):
    X, kernel = data(np.random.default_rng(0))
    exact = KernelPCA(6, kernel=kernel, center=center, solver="exact").fit(X)
    model = KernelPCA(6, kernel=kernel, center=center, solver=solver, random_state=0).fit(X)
    scale = exact.explained_variance_[0]
    assert model.n_components_ == exact.n_components_
    if data not in SLOW or solver == "lanczos":
        check_note(model, gives_up=False)
    elif center:
        check_note(model, gives_up=solver != "davidson")
    assert model.solver_.residual <= tol
    np.testing.assert_allclose(
        model.explained_variance_, exact.explained_variance_, atol=tol**2 * scale + 1e-13 * scale
    )
    # ⟨u, û⟩ of the two sets of axes, as far as the gaps between eigenvalues tell them apart
    overlap = np.linalg.svd(exact.subspace_.axes.inner(model.subspace_.axes), compute_uv=False)
    assert overlap.min() > 1 - 1e-6 or data is narrow


@pytest.mark.parametrize("data", DATA)
def test_float32_finds_the_same_components(data):
    X, kernel = data(np.random.default_rng(0))
    if data is far_away:
        X = X - 1e6 + 1e2
    double = KernelPCA(6, kernel=kernel, solver="davidson", random_state=0).fit(X)
    single = KernelPCA(6, kernel=kernel, solver="davidson", random_state=0).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.n_components_ == double.n_components_
    if data not in SLOW:
        check_note(double, gives_up=False)
        check_note(single, gives_up=None if data in ROUNDED else False)
    scale = double.explained_variance_[0]
    np.testing.assert_allclose(single.explained_variance_, double.explained_variance_, atol=2e-5 * scale)


@pytest.mark.parametrize("solver", ["exact", "davidson", "lanczos", "randomized", "landmarks"])
def test_a_fit_has_the_same_bits_whatever_the_number_of_threads(solver):
    X = np.random.default_rng(0).normal(size=(900, 5))
    results = []
    for threads in (2, 2, 1, 3):
        with threadpool_limits(threads):
            model = KernelPCA(4, solver=solver, random_state=0).fit(X)
            results.append(model.transform(X))
        assert model.solver_.note == ""
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("kernel", [RBF(0.2), Polynomial(3, 0.1)], ids=repr)
def test_products_do_not_depend_on_the_number_of_threads(kernel):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(3000, 5)), rng.normal(size=(3000, 3))
    with threadpool_limits(3):
        many = Gram(kernel, X) @ V
    with threadpool_limits(1):
        np.testing.assert_array_equal(Gram(kernel, X) @ V, many)


def test_overlapping_fits_are_as_serial_ones_and_leave_blas_as_it_was():
    X = np.random.default_rng(0).normal(size=(1200, 5))
    before = [library["num_threads"] for library in threadpool_info()]
    serial = [KernelPCA(3, kernel=RBF(g), solver="davidson", random_state=0).fit_transform(X) for g in (0.1, 0.2, 0.3)]
    results = {}

    def fit(g):
        results[g] = KernelPCA(3, kernel=RBF(g), solver="davidson", random_state=0).fit_transform(X)

    threads = [threading.Thread(target=fit, args=(g,)) for g in (0.1, 0.2, 0.3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for expected, g in zip(serial, (0.1, 0.2, 0.3), strict=True):
        np.testing.assert_array_equal(results[g], expected)
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_grid_search_in_processes():
    X = np.random.default_rng(0).normal(size=(120, 3))
    search = GridSearchCV(KernelPCA(2), {"kernel__gamma": [0.1, 1.0], "n_components": [1, 3]}, cv=2, n_jobs=2).fit(X)
    assert search.best_params_["n_components"] == 3


def test_kept_tiles_give_the_answer_of_tiles_that_are_made_anew():
    X = np.random.default_rng(0).normal(size=(600, 100)) / np.sqrt(np.arange(1, 101))
    gram, solver = Gram(RBF(0.1), X), Davidson(tol=1e-8)
    assert gram.coarse().kept is not None
    kept = KernelPCA(5, kernel=RBF(0.1), solver=solver, random_state=0).fit(X)
    with sklearn.config_context(working_memory=0.1):
        assert gram.coarse().kept is None
        made = KernelPCA(5, kernel=RBF(0.1), solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(kept.explained_variance_, made.explained_variance_, rtol=1e-12)
    assert kept.solver_.note == made.solver_.note == ""


@pytest.mark.parametrize("kernel", [RBF(0.1), Matern(gamma=0.1), Matern(nu=0.5, gamma=0.1), Laplacian(0.02)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiles_that_are_rounded_to_integers_give_the_eigenvalues(kernel, dtype):
    """Many columns: values of K are stored to 2⁻³², and the float64 eigenvalues are good to 1e-10."""
    X = (np.random.default_rng(0).normal(size=(500, 100)) / np.sqrt(np.arange(1, 101))).astype(dtype)
    gram = Gram(kernel, X).rounded()
    assert gram.kept is not None
    V = np.random.default_rng(1).normal(size=(500, 3))
    K = kernel(X.astype(float), X.astype(float))
    tolerance = 2**-32 * np.abs(V).sum(axis=0).max() if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(gram @ V, K @ V, rtol=0, atol=tolerance)
    np.testing.assert_allclose(gram.coarse() @ V, K @ V, rtol=0, atol=1e-3)
    assert (gram @ V).dtype == dtype
    assert (gram.coarse() @ V).dtype == np.float32
    model = KernelPCA(5, kernel=kernel, solver="davidson", random_state=0).fit(X)
    exact = KernelPCA(5, kernel=kernel, solver="exact").fit(X.astype(float))
    assert model.solver_.note == ""
    rtol = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(model.total_variance_, exact.total_variance_, rtol=rtol)
    np.testing.assert_allclose(abs(model.transform(X)), abs(exact.transform(X)), atol=1e-4)


def test_auto_chooses_by_size():
    assert isinstance(choose("auto", 100, 5), Exact)
    assert isinstance(choose("auto", 20_000, 10), Davidson)
    assert isinstance(choose("auto", 10_000_000, 10), Landmarks)
    assert isinstance(choose("auto", 3000, 2000), Exact)


def test_an_unknown_solver_is_refused():
    with pytest.raises(ValueError, match="solver"):
        KernelPCA(2, solver="magic").fit(np.eye(3))


def test_an_exact_request_that_cannot_fit_is_refused_before_it_allocates(monkeypatch):
    monkeypatch.setattr("mercer._core.memory.available_bytes", lambda: 10**6)
    model = KernelPCA(2, solver="exact")
    with pytest.raises(MemoryError, match=r"600 × 600.*GB.*davidson.*landmarks"):
        model.fit(np.random.default_rng(0).normal(size=(600, 2)))
    assert not hasattr(model, "subspace_")


def test_the_plan_says_what_fits_and_what_auto_takes():
    plan = mercer.plan(10**6, 10, 10)
    costs = {cost.solver: cost for cost in plan.costs}
    assert plan.auto == "landmarks"
    assert not costs["exact"].fits
    assert costs["landmarks"].seconds < costs["davidson"].seconds < costs["exact"].seconds
    assert "more than the available memory" in str(plan)
    with pytest.raises(ValueError, match="n must be an integer ≥ 1"):
        mercer.plan(0, 10)


def test_callbacks_hear_of_each_pass():
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    heard = []

    class Listener:
        def setup(self, estimator, context):
            heard.append("setup")

        def on_fit_task_begin(self, estimator, context):
            heard.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            heard.append(f"end of {context.task_name}")

        def teardown(self, estimator, context):
            heard.append("teardown")

    assert isinstance(Listener(), callback.FitCallback)
    X = np.random.default_rng(0).normal(size=(800, 5))
    KernelPCA(3, solver="davidson").set_callbacks(Listener()).fit(X)
    assert heard[:2] == ["setup", "fit"]
    assert heard[-2:] == ["end of fit", "teardown"]
    assert heard.count("pass over the kernel matrix") >= 2

    heard.clear()
    with pytest.raises(ValueError):
        KernelPCA(3).set_callbacks(Listener()).fit(X * np.nan)
    assert heard[-1] == "teardown"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("solver, n", [("exact", 4000), ("davidson", 150_000)])
def test_ctrl_c_is_answered_and_leaves_nothing_half_fitted(solver, n):
    """The fit takes many seconds; an interrupt in its midst ends the process long before that."""
    script = f"""
        import numpy as np, sys
        from mercer import KernelPCA
        X = np.random.default_rng(0).normal(size=({n}, 30))
        model = KernelPCA({10 if solver == "davidson" else None}, solver="{solver}")
        print("fitting", flush=True)
        try:
            model.fit(X)
        except KeyboardInterrupt:
            print("fitted" if hasattr(model, "subspace_") else "unfitted", flush=True)
            import os; os._exit(0)
        print("finished", flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "fitting\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "unfitted\n"
