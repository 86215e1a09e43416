"""Dask arrays go into the same estimators: same results, whatever the chunks, on every scheduler."""

import copy
import inspect
import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer._core import dask_sums
from mercer._core.dask_sums import Held
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Linear, Polynomial

dask = pytest.importorskip("dask", reason="Dask is an extra: pip install 'mercer[dask]'")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, D = 600, 4
CHUNKS = [(N,), (1,) * 50 + (N - 50,), (250, 250, 100), (7,) * 85 + (5,)]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((N, D)) @ np.diag([2.0, 1.0, 0.5, 0.3]) + 3


@pytest.fixture(scope="module")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def chunked(X, sizes=(250, 250, 100), columns=D):
    return da.from_array(X, chunks=(sizes, columns))


def model(**settings):
    return mercer.KernelPCA(3, **({"kernel": RBF("median"), "solver": Landmarks(40), "random_state": 0} | settings))


MODELS = {
    "landmarks": model(),
    "uncentred": model(center=False),
    "uniform": model(solver=Landmarks(40, choose="uniform")),
    "given rows": model(solver=Landmarks(choose=np.arange(0, N, 20))),
    "scale": model(kernel=RBF("scale")),
    "linear": model(kernel=Linear()),
    "polynomial": model(kernel=Polynomial(2, gamma=0.1)),
}


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("sizes", CHUNKS, ids=lambda sizes: f"{len(sizes)} chunks")
@pytest.mark.parametrize("name", MODELS)
def test_results_do_not_depend_on_the_chunks(X, name, sizes, scheduler):
    expected = mercer_clone(MODELS[name]).fit(X)
    with dask.config.set(scheduler=scheduler):
        fitted = mercer_clone(MODELS[name]).fit(chunked(X, sizes))
        same_model(fitted, expected, X, chunked(X, sizes))


def mercer_clone(estimator):
    from sklearn.base import clone

    return clone(estimator)


def same_model(fitted, expected, X, lazy_X):
    assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-10)
    Y = fitted.transform(lazy_X)
    assert isinstance(Y, da.Array)
    assert Y.chunks == (lazy_X.chunks[0], (fitted.n_components_,))
    assert_allclose(Y.compute(), expected.transform(X), atol=1e-10)
    errors = fitted.reconstruction_error(lazy_X)
    assert errors.shape == (len(X),)
    assert errors.dtype == float
    assert_allclose(errors.compute(), expected.reconstruction_error(X), atol=1e-10)
    assert fitted.score(lazy_X) == pytest.approx(expected.score(X))


@pytest.mark.parametrize("solver", ["davidson", "randomized", "lanczos", "exact"])
def test_named_solvers_are_exact(X, solver):
    fitted = model(solver=solver).fit(chunked(X))
    expected = model(solver="exact").fit(X)
    assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-9)
    assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-4)


def test_exact_models_must_fit_the_budget(X):
    from sklearn import config_context

    with config_context(working_memory=1e-3), pytest.raises(MemoryError, match="solver='landmarks'"):
        model(solver="davidson").fit(chunked(X))


def test_landmarks_are_the_choice_of_auto(X):
    fitted = model(solver="auto").fit(chunked(X))
    assert isinstance(fitted.solver_.solver, Landmarks)


@pytest.mark.parametrize("make", [np.asarray, lambda w: da.from_array(w, chunks=123)], ids=["in memory", "Dask"])
def test_weights_count_rows(X, make):
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    given = np.arange(0, N, 20)
    chosen = model(kernel=RBF(0.1), solver=Landmarks(choose=X[given]))
    expected = mercer_clone(chosen).fit(np.repeat(X, w.astype(int), axis=0))
    fitted = mercer_clone(chosen).fit(chunked(X), sample_weight=make(w))
    assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-10)
    assert_allclose(fitted.eigenvalues_, expected.eigenvalues_, rtol=1e-10)


def test_data_frames(X):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected, fitted = model().fit(X), model().fit(dd.from_pandas(frame, npartitions=3))
    assert list(fitted.feature_names_in_) == list("abcd")
    assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-10)
    assert_allclose(fitted.transform(dd.from_pandas(frame, npartitions=4)).compute(), expected.transform(X), atol=1e-10)


def test_single_precision_stays(X):
    Y = model().fit(chunked(X.astype(np.float32))).transform(chunked(X.astype(np.float32)))
    assert Y.dtype == np.float32
    assert Y.compute().dtype == np.float32


def test_nothing_is_computed_before_it_is_asked_for(X):
    fitted = model().fit(X)
    poison = da.from_delayed(dask.delayed(lambda: 1 / 0)(), (10, D), float)
    for method in ("transform", "reconstruction_error", "denoise"):
        result = getattr(fitted, method)(poison)
        assert result.shape[0] == 10
        with pytest.raises(ZeroDivisionError):
            result.compute()


def kinds(X):
    """Yield Dask collections of the rows of X as users have them, by name."""
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = pd.DataFrame(X, columns=list("abcd"))
    yield "unknown sizes", chunked(X)[chunked(X)[:, 0] > -99]
    yield "empty blocks", da.concatenate([chunked(X)[:0], chunked(X), chunked(X)[:0]])
    yield "frame", dd.from_pandas(frame, npartitions=3)
    wide = dd.from_pandas(frame.assign(e=frame.a, name="word"), npartitions=4)
    yield "columns of a frame", wide[list("abcd")]
    yield (
        "empty partitions",
        dd.concat([dd.from_pandas(frame.iloc[:0], npartitions=1), dd.from_pandas(frame, npartitions=2)]),
    )
    yield "nullable", dd.from_pandas(frame.convert_dtypes().astype("Float64"), npartitions=3)
    pytest.importorskip("pyarrow", exc_type=ImportError)
    yield "Arrow", dd.from_pandas(frame.astype("double[pyarrow]"), npartitions=3)


def test_collections_as_users_have_them(X):
    w = np.random.default_rng(1).integers(1, 3, N).astype(float)
    weighted = model(kernel=RBF(0.1), solver=Landmarks(choose=X[::20]))
    expected, expected_weighted = model().fit(X), mercer_clone(weighted).fit(X, sample_weight=w)
    for name, rows in kinds(X):
        fitted = model().fit(rows)
        assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-10, err_msg=name)
        for method in ("transform", "reconstruction_error", "denoise"):
            result = getattr(fitted, method)(rows)
            assert isinstance(result, da.Array), name
            assert_allclose(result.compute(), getattr(expected, method)(X), atol=1e-6, err_msg=name)
        for weights in (list(w), da.from_array(w, chunks=70)):
            again = mercer_clone(weighted).fit(rows, sample_weight=weights)
            assert_allclose(again.explained_variance_, expected_weighted.explained_variance_, rtol=1e-10, err_msg=name)


def test_weights_as_series(X):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    w = pd.Series(np.random.default_rng(1).integers(1, 3, N).astype(float))
    chosen = model(kernel=RBF(0.1), solver=Landmarks(choose=X[::20]))
    expected = mercer_clone(chosen).fit(X, sample_weight=w)
    for weights in (w, dd.from_pandas(w, npartitions=5), dd.from_pandas(w.astype("Int64"), npartitions=5)):
        fitted = mercer_clone(chosen).fit(chunked(X), sample_weight=weights)
        assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-10)


def test_what_is_not_a_real_number_is_refused_by_name(X):
    sparse = pytest.importorskip("scipy.sparse")
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    with pytest.raises(TypeError, match="complex128"):
        model().fit(chunked(X).astype(complex))
    blocks = chunked(X).map_blocks(sparse.csr_matrix, meta=sparse.csr_matrix((0, 0)))
    with pytest.raises(TypeError, match="sparse"):
        model().fit(blocks)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(name="word")
    with pytest.raises(TypeError, match="name"):
        model().fit(dd.from_pandas(frame, npartitions=2))


@pytest.mark.parametrize(
    "kernel", [RBF(0.1), RBF("median"), RBF("scale"), RBF()], ids=["fixed", "median", "scale", "default"]
)
@pytest.mark.parametrize("known", [True, False], ids=["sizes", "no sizes"])
def test_the_source_is_read_twice(kernel, known):
    """Each block is made at most twice in a fit: for the rows of width and landmarks, and for the sums."""
    assert most_reads(model(kernel=kernel), known) <= 2


def test_one_pass_is_enough_for_a_width_and_landmarks_that_are_given(X):
    assert most_reads(model(kernel=RBF(0.1), solver=Landmarks(choose=X[:20])), known=True) == 1


@pytest.mark.parametrize("made", ["from memory", "by tasks", "in halves", "persisted"])
def test_tiny_chunks_share_tasks(X, made, monkeypatch):
    """Few tasks for many chunks, each of which is still made once; weights and errors know their rows."""
    from dask.callbacks import Callback

    monkeypatch.setattr(dask_sums, "TASKS", 4)
    blocks = [X[i : i + 5] for i in range(0, N, 5)]
    reads, tasks = [], []

    def block(i):
        reads.append(i)
        return blocks[i]

    lazy = chunked(X, (5,) * 120)
    if made in {"by tasks", "in halves"}:
        lazy = da.concatenate([da.from_delayed(dask.delayed(block)(i), (5, D), float) for i in range(120)])
    if made == "in halves":  # two of them need the same task
        lazy = lazy.rechunk({0: (2, 3) * 120})
    given = model(kernel=RBF(0.1), solver=Landmarks(choose=X[:20]))
    w = np.linspace(1, 2, N)
    with dask.config.set(scheduler="synchronous"):
        lazy = lazy.persist() if made == "persisted" else lazy
        with Callback(pretask=lambda key, *_: tasks.append(key)):
            fitted = mercer_clone(given).fit(lazy, sample_weight=w)
        bad = X.copy()
        bad[321, 2] = np.nan
        with pytest.raises(ValueError, match="row 321, column 2"):
            given.fit(chunked(bad, (5,) * 120))
    assert_allclose(fitted.explained_variance_, given.fit(X, sample_weight=w).explained_variance_, rtol=1e-10)
    assert sum("gathered" in str(key) for key in tasks) in {4, 5}
    assert made in {"in halves", "persisted"} or len(tasks) < 20
    assert len(reads) == len(set(reads))


def test_tiny_chunks_on_workers(X, cluster, monkeypatch):
    monkeypatch.setattr(dask_sums, "TASKS", 4)
    lazy = chunked(X, (5,) * 120).persist()
    for given in (model(), model(kernel=RBF(0.1), solver=Landmarks(choose=X[:20]))):
        expected = mercer_clone(given).fit(X)
        assert_allclose(given.fit(lazy).explained_variance_, expected.explained_variance_, rtol=1e-10)


def most_reads(estimator, known):
    """Return how often a block of rows is made in a fit, at most."""
    made = []

    def block(i):
        made.append(i)
        return np.random.default_rng(i).standard_normal((500, D))

    blocks = [dask.delayed(block)(i) for i in range(6)]
    rows = np.nan if not known else 500
    X = da.concatenate([da.from_delayed(b, (rows, D), float) for b in blocks], allow_unknown_chunksizes=True)
    with dask.config.set(scheduler="synchronous"):
        estimator.fit(X)
    return max(made.count(i) for i in range(6))


def test_a_poison_block_is_named(X):
    bad = X.copy()
    bad[321, 2] = np.nan
    estimator = model(kernel=RBF(0.1), solver=Landmarks(choose=X[:20]))
    with pytest.raises(ValueError, match="row 321, column 2"):
        estimator.fit(chunked(bad))
    assert not hasattr(estimator, "subspace_")
    assert not hasattr(estimator, "n_features_in_")
    with pytest.raises(ValueError, match="row 321, column 2"):
        model().fit(chunked(bad))
    with pytest.raises(ValueError, match="rows 250 to 499"):
        model().fit(X).transform(chunked(bad)).compute()


def test_a_graph_holds_the_model_once(X):
    """However many blocks there are: what they share stands in one node."""
    fitted = model().fit(X)
    few, many = (fitted.transform(chunked(X, sizes)) for sizes in [(300, 300), (10,) * 60])
    held = [sum(isinstance(task_value(task), Held) for task in dict(Y.dask).values()) for Y in (few, many)]
    assert held[0] == held[1]


def task_value(task):
    return getattr(task, "value", task)


def of_rows():
    """Fitted estimators with the methods that take rows."""
    X = np.random.default_rng(0).standard_normal((120, D))
    y = (X[:, 0] > 0).astype(int)
    kernel = RBF(0.2)
    density = ("transform", "reconstruction_error", "score_samples", "mahalanobis", "denoise")
    yield mercer.ProbabilisticKernelPCA(3, kernel=kernel, random_state=0).fit(X), density
    yield mercer.SparseKernelPCA(3, kernel=kernel, n_anchors=20).fit(X), ("transform", "reconstruction_error")
    mixture = mercer.KernelPCAMixture(2, kernel=kernel, n_init=2, random_state=0).fit(X)
    yield mixture, ("predict", "predict_proba", "score_samples")
    proba = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    yield mercer.KernelPCAClassifier(kernel=kernel).fit(X, y), proba
    yield mercer.KernelPCAMonitor(random_state=0).fit(X), ("predict", "score_samples", "decision_function", "t2", "spe")


METHODS = [(model, method) for model, methods in of_rows() for method in methods]


@pytest.mark.parametrize("estimator, method", METHODS, ids=lambda v: v if isinstance(v, str) else type(v).__name__)
def test_methods_of_rows_answer_lazily(X, estimator, method):
    result = getattr(estimator, method)(chunked(X))
    assert isinstance(result, da.Array)
    assert result.chunks[0] == (250, 250, 100)
    assert_allclose(result.compute(), getattr(estimator, method)(X), atol=1e-10)
    assert result.dtype == getattr(estimator, method)(X[:1]).dtype


@pytest.mark.parametrize(
    "estimator",
    [
        mercer.ProbabilisticKernelPCA(3, kernel=RBF("median"), solver=Landmarks(40), random_state=0),
        mercer.SparseKernelPCA(3, kernel=RBF("median"), noise_variance=0.02, candidates=np.arange(0, N, 10)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_other_models_fit_the_same(X, estimator):
    expected, fitted = mercer_clone(estimator).fit(X), mercer_clone(estimator).fit(chunked(X))
    for method in ("score_samples", "reconstruction_error", "t2", "spe"):
        if hasattr(expected, method):
            assert_allclose(getattr(fitted, method)(X), getattr(expected, method)(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("estimator", [None, model()], ids=["default", "given"])
def test_a_monitor_of_a_dask_array_knows_its_rows(estimator):
    rows = np.random.default_rng(2).standard_normal((5000, D))
    monitor = mercer.KernelPCAMonitor(estimator, alpha=0.05, random_state=0).fit(chunked(rows, (2000, 3000)))
    fresh = np.random.default_rng(3).standard_normal((5000, D))
    assert 0.02 < np.mean(monitor.predict(chunked(fresh, (5000,))).compute() == -1) < 0.09
    assert np.all(monitor.predict(fresh[:10] + 8) == -1)


@pytest.mark.parametrize(
    "settings",
    [
        {"estimator": make_pipeline(StandardScaler(), mercer.KernelPCA(2))},
        {"limits": "quantile"},
        {"contamination": 0.1},
    ],
    ids=str,
)
def test_what_a_monitor_of_a_dask_array_does_not_support(X, settings):
    with pytest.raises(ValueError, match="Scale the Dask array first"):
        mercer.KernelPCAMonitor(**{"estimator": model()} | settings).fit(chunked(X))


def test_on_a_cluster(X, cluster):
    expected = model().fit(X)
    for sizes in CHUNKS[1:3]:
        same_model(model().fit(chunked(X, sizes)), expected, X, chunked(X, sizes))


def test_one_row_in_each_chunk(X, cluster):
    some = X[::5]
    same_model(model().fit(chunked(some, 1)), model().fit(some), some, chunked(some, 1))


MEMORY = """
import dask, dask.array as da, distributed, mercer, numpy as np
from mercer._core import dask_sums
from mercer._core.dask_sums import Held
from mercer.eigen import Landmarks
from mercer.kernels import RBF

LIMIT = 400 * 2**20

def peak(pid="self"):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None)
    with distributed.LocalCluster(memory_limit=LIMIT, **options) as cluster, distributed.Client(cluster) as client:
        small = np.random.default_rng(0).standard_normal((2000, 10))
        model = mercer.KernelPCA(3, kernel=RBF("scale"), solver=Landmarks(50), random_state=0)
        model.fit(da.from_array(small, chunks=(500, 10)))  # imports and first allocations
        before = peak()
        X = da.random.default_rng(0).standard_normal((6_000_000, 10), chunks=(100_000, 10))
        model.fit(X)
        assert model.n_rows_ == len(X)
        workers = max(client.run(peak).values())
        assert X.nbytes > LIMIT > workers, (X.nbytes, workers)
        assert peak() - before < X.nbytes / 20, (before, peak())
"""


def test_memory_of_workers_and_client_is_bounded(tmp_path):
    """More rows than a worker may hold: it has a chunk at a time, and the client has sums."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("peak memory is read from /proc")
    script = tmp_path / "memory.py"
    script.write_text(MEMORY)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_poison_block_on_a_cluster(X, cluster):
    bad = X.copy()
    bad[0, 0] = np.inf
    estimator = model()
    with pytest.raises(ValueError, match="row 0, column 0"):
        estimator.fit(chunked(bad))
    assert not hasattr(estimator, "subspace_")


def slowly(block):
    import time

    time.sleep(0.15)
    return block


def test_a_killed_worker_changes_nothing(X, cluster):
    """A worker dies in the middle of fit, and the fit ends with the same result."""
    expected = model().fit(X)
    slow = chunked(X, (30,) * 20).map_blocks(slowly, dtype=float)
    import threading

    victim = next(iter(cluster.run(os.getpid).values()))
    killer = threading.Timer(0.8, os.kill, (victim, signal.SIGKILL))
    killer.start()
    fitted = model().fit(slow)
    killer.join()
    assert victim not in cluster.run(os.getpid).values()
    assert_allclose(fitted.explained_variance_, expected.explained_variance_, rtol=1e-12)
    assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-12)


def write_parts(X, folder):
    """Write a table with texts and missing values as two files, and as one; return the pattern and the one."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", exc_type=ImportError)
    pytest.importorskip("dask.dataframe")
    texts = np.where(np.arange(N) % 3 == 0, "red", np.where(np.arange(N) < 300, "green", "blue"))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(colour=texts)
    frame.loc[7, "b"] = np.nan
    for i, rows in enumerate((slice(0, 200), slice(200, N))):
        frame[rows].to_parquet(folder / f"part-{i}.parquet")
    (folder / "whole").mkdir()
    frame.to_parquet(folder / "whole" / "all.parquet")
    return str(folder / "part-*.parquet"), folder / "whole" / "all.parquet"


@pytest.mark.parametrize("missing", ["mean", "drop"])
def test_the_command_line_fits_on_a_scheduler(X, cluster, tmp_path, missing):
    """As on one table: texts, missing values and scales; and an address where nobody answers is named."""
    from test_cli import run

    pattern, whole = write_parts(X, tmp_path)
    options = ("-q", "3", "--seed", "0", "--landmarks", "40", "--missing", missing)
    result = run("fit", pattern, "-o", tmp_path / "far.mercer", *options, "--cluster", cluster.scheduler.address)
    assert result.exit_code == 0, result.output
    assert run("fit", whole, "-o", tmp_path / "near.mercer", *options).exit_code == 0
    far, near = (mercer.io.read(tmp_path / f"{name}.mercer") for name in ("far", "near"))
    assert far.recipe.categories == near.recipe.categories
    assert_allclose(far.recipe.scale, near.recipe.scale)
    assert_allclose(far.recipe.fill, near.recipe.fill)
    assert far.model.n_rows_ == near.model.n_rows_
    assert_allclose(far.model.explained_variance_, near.model.explained_variance_, rtol=0.05)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        result = run("fit", pattern, "-o", tmp_path / "no.mercer", "--cluster", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "tcp://127.0.0.1:9" in result.stderr


def test_the_command_line_applies_a_model_to_folders(X, cluster, tmp_path):
    """One file for each; those that exist are kept, so that an interrupted run goes on."""
    pd = pytest.importorskip("pandas")
    from test_cli import run

    pattern, whole = write_parts(X, tmp_path)
    options = ("-q", "2", "--seed", "0", "--landmarks", "40", "--missing", "mean")
    assert run("fit", whole, "-o", tmp_path / "model.mercer", *options).exit_code == 0
    out = tmp_path / "out"
    for command, more in (("transform", ("--cluster", cluster.scheduler.address)), ("score", ())):
        result = run(command, tmp_path / "model.mercer", pattern, "-o", out / command, *more)
        assert result.exit_code == 0, result.output
        assert sorted(path.name for path in (out / command).iterdir()) == ["part-0.parquet", "part-1.parquet"]
    assert run("transform", tmp_path / "model.mercer", whole, "-o", tmp_path / "Y.parquet").exit_code == 0
    parts = pd.concat([pd.read_parquet(out / "transform" / f"part-{i}.parquet") for i in range(2)])
    assert_allclose(parts, pd.read_parquet(tmp_path / "Y.parquet"), atol=1e-9)
    (out / "transform" / "part-1.parquet").unlink()
    kept = (out / "transform" / "part-0.parquet").stat().st_mtime_ns
    result = run("transform", tmp_path / "model.mercer", pattern, "-o", out / "transform")
    assert "1 of 2 files exist" in result.stderr
    assert (out / "transform" / "part-1.parquet").exists()
    assert (out / "transform" / "part-0.parquet").stat().st_mtime_ns == kept


NO_ROWS = {"sample", "sample_features", "interpolate", "latent_grid", "log_likelihood", "get_covariance"}
OF_SKLEARN = {"set_output", "set_params", "get_params", "get_metadata_routing", "get_feature_names_out"}
COORDINATES = {"inverse_transform", "preimages", "features", "sample_given"}  # methods of rows of coordinates
SUMS = {"fit", "partial_fit", "score"}  # methods that return no rows, computed on the cluster


def fitted_models():
    X = np.random.default_rng(0).standard_normal((120, D))
    y, kernel = (X[:, 0] > 0).astype(int), RBF(0.2)
    for estimator in (
        model(kernel=kernel),
        mercer.ProbabilisticKernelPCA(3, kernel=kernel, solver=Landmarks(40), random_state=0),
        mercer.SparseKernelPCA(3, kernel=kernel, n_anchors=20),
        mercer.KernelPCAMixture(2, kernel=kernel, n_init=2, random_state=0),
        mercer.KernelPCAClassifier(kernel=kernel),
        mercer.KernelPCAClassifierCV([kernel], random_state=0),
        mercer.KernelPCAMonitor(random_state=0),
        mercer.KernelPCAImputer(random_state=0),
        mercer.dropin.KernelPCA(3, fit_inverse_transform=True),
    ):
        yield estimator.fit(X, y) if "Classifier" in type(estimator).__name__ else estimator.fit(X)


def methods_of_rows(estimator):
    for name in sorted(set(dir(type(estimator))) - NO_ROWS - OF_SKLEARN):
        public = not name.startswith(("_", "set_")) and not name.endswith("_")
        if public and callable(getattr(type(estimator), name)) and hasattr(estimator, name):
            yield name


WALK = [(estimator, name) for estimator in fitted_models() for name in methods_of_rows(estimator)]


@pytest.mark.parametrize("estimator, name", WALK, ids=lambda v: v if isinstance(v, str) else type(v).__name__)
def test_every_method_is_lazy_or_refuses_by_name(estimator, name):
    """No method gathers the rows silently."""
    columns = 3 if name in COORDINATES else D
    lazy = da.random.default_rng(0).standard_normal((400, columns), chunks=(100, columns))
    method = getattr(copy.deepcopy(estimator), name)
    labels = inspect.signature(method).parameters.get("y")
    labelled = labels is not None and labels.default is labels.empty or name in {"score", "fit_transform"}
    refused = None
    try:
        with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = method(lazy, np.arange(400) % 2) if labelled else method(lazy)
    except (TypeError, ValueError) as error:
        refused = str(error)
    if refused is not None:
        assert "Dask" in refused
        assert name in refused or name.startswith("fit")
        return
    assert name in SUMS or all(isinstance(part, da.Array) for part in (result if type(result) is tuple else [result]))
