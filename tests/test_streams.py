"""Moments add: models that are updated, merged, and asked to forget."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import KernelPCA, LandmarkWarning, ProbabilisticKernelPCA
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Linear, Polynomial
from mercer.rkhs.basis import Basis
from mercer.rkhs.refresh import most_useful

D = 4


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((600, D))


@pytest.fixture
def Z():
    return mercer.landmarks(RBF(0.2), np.random.default_rng(1).standard_normal((400, D)), 60, random_state=0)


MODELS = {
    "kpca": lambda solver: KernelPCA(3, kernel=RBF(0.2), solver=solver),
    "uncentred": lambda solver: KernelPCA(3, kernel=RBF(0.2), center=False, solver=solver),
    "ill-conditioned": lambda solver: KernelPCA(3, kernel=RBF(1e-3), solver=solver),
    "polynomial": lambda solver: KernelPCA(0.9, kernel=Polynomial(2, 0.1), solver=solver),
    "probabilistic": lambda solver: ProbabilisticKernelPCA(3, kernel=RBF(0.2), solver=solver),
    "paper": lambda solver: ProbabilisticKernelPCA(3, noise_variance="paper", kernel=RBF(0.2), solver=solver),
}


def same(one, other, X):
    scale = other.explained_variance_[0]
    assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(one.total_variance_, other.total_variance_, rtol=1e-12)
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-12, atol=1e-12 * scale * other.n_rows_)
    assert_allclose(one.reconstruction_error(X), other.reconstruction_error(X), atol=1e-12 * scale / 1e-2)
    assert_allclose(one.solver_.outside_share, other.solver_.outside_share, rtol=1e-6, atol=1e-12)
    for name in ("noise_variance_", "posterior_variance_"):
        if hasattr(other, name):
            assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_fits_made_apart_add_up_also_through_files(name, weighted, X, Z, tmp_path):
    w = np.random.default_rng(2).integers(1, 4, len(X)).astype(float) if weighted else None
    make, parts = MODELS[name], np.array_split(np.arange(len(X)), 7)
    whole = make(Landmarks(choose=Z)).fit(X, sample_weight=w)
    fits = [make(Landmarks(choose=Z)).fit(X[i], sample_weight=None if w is None else w[i]) for i in parts]
    for i, fit in enumerate(fits):
        mercer.save(fit, tmp_path / f"{i}.mercer")
    for models in (fits, [mercer.load(tmp_path / f"{i}.mercer") for i in range(len(fits))]):
        merged = mercer.merge(models)
        same(merged, whole, X)
        assert merged.moments_.rows == len(X)
    left = mercer.remove(merged, X[parts[3]], None if w is None else w[parts[3]])
    others = np.concatenate([part for i, part in enumerate(parts) if i != 3])
    same(left, make(Landmarks(choose=Z)).fit(X[others], sample_weight=None if w is None else w[others]), X)


def test_bases_of_other_machines_are_turned(X, Z):
    """Equal landmarks, but a factor with other pivots: the moments are moved into one basis."""
    model = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(choose=Z)).fit(X)
    other = Basis.of(RBF(0.2), Z[::-1]).moments(X)
    turned = other.into(model.moments_.basis)
    assert_allclose(turned.second, model.moments_.second, atol=1e-10)
    assert_allclose(turned.first, model.moments_.first, atol=1e-10)


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda Z: {"kernel": RBF(0.3)}, "another kernel"),
        (lambda Z: {"solver": Landmarks(choose=Z[1:])}, "other landmarks"),
        (lambda Z: {"center": False}, "center"),
        (lambda Z: {"solver": "exact"}, "landmarks"),
    ],
)
def test_what_cannot_be_merged_is_refused(change, match, X, Z):
    settings = {"kernel": RBF(0.2), "solver": Landmarks(choose=Z)}
    one, other = KernelPCA(3, **settings).fit(X), KernelPCA(3, **settings | change(Z)).fit(X)
    with pytest.raises(ValueError, match=match):
        mercer.merge([one, other])


def test_linear_kernels_with_their_own_origins_are_refused(X, Z):
    fits = [KernelPCA(2, kernel=Linear(), solver=Landmarks(choose=Z)).fit(part) for part in (X[:300], X[300:])]
    with pytest.raises(ValueError, match="Polynomial"):
        mercer.merge(fits)


def test_other_models_cannot_be_merged(X):
    with pytest.raises(TypeError, match="SparseKernelPCA"):
        mercer.merge([mercer.SparseKernelPCA(2, n_anchors=10).fit(X[:50])])
    with pytest.raises(ValueError, match="at least one"):
        mercer.merge([])


def test_rows_that_cannot_be_forgotten_exactly_are_refused(X, Z):
    fixed = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(choose=Z)).fit(X)
    with pytest.raises(ValueError, match="Nothing is left"):
        mercer.remove(fixed, X)
    with pytest.raises(ValueError, match="not among its rows"):
        mercer.remove(fixed, np.repeat(X[:1], 40, axis=0))
    chosen = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(60, "rpcholesky"), random_state=0).fit(X)
    with pytest.raises(ValueError, match="one of the landmarks"):
        mercer.remove(chosen, X)
    for choose in ("auto", "kmeans"):
        means = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(60, choose), random_state=0).fit(X)
        with pytest.raises(ValueError, match="means of rows"):
            mercer.remove(means, X[:5])
    faded = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(60, half_life=100)).partial_fit(X)
    with pytest.raises(ValueError, match="faded"):
        mercer.remove(faded, X[:5])


def test_landmarks_and_their_errors(X):
    Z = mercer.landmarks("rbf", X, 50, random_state=0)
    assert Z.shape == (50, D)
    assert {row.tobytes() for row in Z} <= {row.tobytes() for row in X}
    assert_allclose(mercer.landmarks("rbf", X, 50, random_state=0), Z)
    with pytest.raises(ValueError, match="precomputed"):
        mercer.landmarks("precomputed", X @ X.T, 5)
    with pytest.raises(ValueError, match="refresh"):
        Landmarks(refresh=-1.0)


def streams():
    rng = np.random.default_rng(0)
    draw = lambda n=400: rng.standard_normal((n, D))  # noqa: E731
    centres = 5 * rng.standard_normal((5, D))
    clusters = lambda: centres[rng.integers(0, 5, 400)] + 0.5 * draw()  # noqa: E731
    yield "iid", [draw() for _ in range(10)]
    yield "drift", [draw() + i for i in range(10)]
    yield "shift", [draw() + 8 * (i > 0) for i in range(10)]
    yield "one cluster of five first", [centres[0] + 0.5 * draw(), *(clusters() for _ in range(9))]
    yield "20 rows first", [draw(20), *(draw() for _ in range(9))]


@pytest.mark.parametrize("batches", [pytest.param(b, id=name) for name, b in streams()])
def test_a_stream_is_as_good_as_one_fit(batches):
    X = np.vstack(batches)
    kernel, m = RBF("median").bind(X), 60
    whole = KernelPCA(3, kernel=kernel, solver=Landmarks(m), random_state=0)
    stream = KernelPCA(3, kernel=kernel, solver=Landmarks(m), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)
        whole.fit(X)
        for batch in batches:
            stream.partial_fit(batch)
    shares = [model.moments_.basis.outside(X).mean() for model in (stream, whole)]
    assert shares[0] < 1.2 * shares[1]
    assert_allclose(np.sort(stream.explained_variance_)[::-1], whole.explained_variance_, rtol=0.03)
    assert_allclose(stream.reconstruction_error(X).mean(), whole.reconstruction_error(X).mean(), rtol=0.03)
    assert len(stream.anchors_) <= m
    assert stream.solver_.rows == len(X)
    assert stream.solver_.outside_share >= shares[0] / stream.total_variance_ - 1e-9  # what is stated is a bound


@pytest.mark.parametrize("weighted", [False, True])
def test_few_first_rows_do_no_lasting_harm(weighted, tmp_path):
    """Width and landmarks are those of a fit on all rows as long as there are few of them, also through files."""
    rng = np.random.default_rng(0)
    X = 3 * rng.integers(0, 3, (900, 1)) + rng.standard_normal((900, D))
    stream = KernelPCA(3, solver=Landmarks(50), random_state=0)
    weights = rng.uniform(1, 2, 900) if weighted else None
    for rows in np.split(np.arange(900), [20, 100, 500]):
        stream.partial_fit(X[rows], sample_weight=None if weights is None else weights[rows])
        mercer.save(stream, tmp_path / "stream.mercer")
        stream = mercer.load(tmp_path / "stream.mercer")
    whole = KernelPCA(3, solver=Landmarks(50), random_state=0).fit(X, sample_weight=weights)
    assert stream.kernel_ == whole.kernel_
    assert_allclose(stream.explained_variance_, whole.explained_variance_)


def test_charts_do_not_jump(X):
    """The coordinates of the same rows change little from batch to batch, signs and order included."""
    rng = np.random.default_rng(0)
    model = KernelPCA(3, kernel=RBF(0.1), solver=Landmarks(50), random_state=0)
    draw = lambda: rng.standard_normal((1500, D)) * [2, 1.2, 0.7, 0.4]  # noqa: E731
    model.partial_fit(draw()).partial_fit(draw())
    for _ in range(4):
        before = model.transform(X)
        after = model.partial_fit(draw()).transform(X)
        assert np.all(np.sum(before * after, axis=0) > 0.9 * np.sum(before**2, axis=0))


def test_fading_does_not_depend_on_the_batches(X, Z):
    solver = Landmarks(choose=Z, half_life=100)
    weights = 0.5 ** (np.arange(len(X) - 1, -1, -1) / 100)
    expected = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(choose=Z)).fit(X, sample_weight=weights)
    for cuts in ([], [100], [1, 7, 400]):
        model = KernelPCA(3, kernel=RBF(0.2), solver=solver)
        for batch in np.split(X, cuts):
            model.partial_fit(batch)
        assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-10)
        assert_allclose(model.n_rows_, weights.sum())


def test_the_report_tells_what_changed():
    rng = np.random.default_rng(0)
    model = ProbabilisticKernelPCA(3, kernel=RBF(0.1), solver=Landmarks(40), random_state=0)
    model.partial_fit(rng.standard_normal((1500, D))).partial_fit(rng.standard_normal((1500, D)))
    before, rows = len(model.solver_.changes), model.solver_.rows
    model.partial_fit(rng.standard_normal((1000, D)) + 6)
    assert len(model.solver_.changes) == before + 1
    assert model.solver_.changes[-1][0] == model.solver_.rows == rows + 1000
    assert 0 < model.solver_.changes[-1][1] <= 40
    assert model.solver_.recent_share < 0.3
    assert model.noise_variance_ > 0


@pytest.mark.parametrize("solver", [Landmarks(40, refresh=None), Landmarks(choose=np.eye(40, D))])
def test_fixed_landmarks_warn_of_rows_outside(solver):
    rng = np.random.default_rng(0)
    model = KernelPCA(3, kernel=RBF(0.1), solver=solver, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LandmarkWarning)
        model.partial_fit(rng.standard_normal((2100, D)))
    anchors = model.anchors_
    with pytest.warns(LandmarkWarning, match="latest rows"):
        model.partial_fit(rng.standard_normal((500, D)) + 6)
    np.testing.assert_array_equal(model.anchors_, anchors)


def test_a_batch_that_fails_changes_nothing(X, Z):
    model = KernelPCA(3, kernel=RBF(0.2), solver=Landmarks(choose=Z)).partial_fit(X)
    before = model.transform(X)
    bad = X.copy()
    bad[3, 1] = np.nan
    for wrong in (bad, X[:, 1:], np.empty((0, D))):
        with pytest.raises(ValueError, match="NaN|features|0 sample"):
            model.partial_fit(wrong)
    np.testing.assert_array_equal(model.transform(X), before)


def test_the_least_useful_landmark_is_dropped(X, Z):
    """The loss of the greedy step is what dropping each landmark in turn really loses."""
    kernel, basis = RBF(0.2), Basis.of(RBF(0.2), Z[:12])
    moments = basis.moments(X)
    losses = [moments.into(Basis.of(kernel, np.delete(basis.Z, j, axis=0))).outside for j in range(12)]
    kept = most_useful(moments, 11)
    assert np.setdiff1d(np.arange(12), kept).tolist() == [int(np.argmin(losses))]


def sources(X, tmp_path):
    """Yield sources of the same rows, and whether they can be read only once."""
    yield (part for part in np.array_split(X, 5)), True
    pd = pytest.importorskip("pandas")
    names = list("abcd")
    yield (pd.DataFrame(part, columns=names) for part in np.array_split(X, 5)), True
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    parquet, dataset = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.dataset")
    table = pa.table(dict(zip(names, X.T, strict=True)))
    for i in range(2):
        parquet.write_table(table.slice(300 * i, 300), tmp_path / f"{i}.parquet", row_group_size=100)
    yield dataset.dataset(tmp_path), False
    yield dataset.dataset(tmp_path).scanner(batch_size=150).to_reader(), True
    yield tmp_path, False
    yield str(tmp_path / "*.parquet"), False
    pl = pytest.importorskip("polars")
    yield pl.LazyFrame(dict(zip(names, X.T, strict=True))), False


def test_anything_that_yields_batches_is_fitted(X, tmp_path):
    make = lambda: KernelPCA(3, solver=Landmarks(50), random_state=0)  # noqa: E731
    X = X * [4, 2, 1, 0.5]
    whole = make().fit(X)
    for source, once in sources(X, tmp_path):
        model = make().fit(source)
        assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-8)
        assert model.solver_.passes == 1 + (not once)
        assert model.solver_.rows == len(X)
        if not once:
            assert_allclose(np.concatenate(list(model.transform(source))), whole.transform(X), atol=1e-8)
            assert_allclose(model.score(source), whole.score(X))
    updated = make().partial_fit(X[:300]).partial_fit(part for part in np.array_split(X[300:], 3))
    assert_allclose(updated.explained_variance_, whole.explained_variance_, rtol=1e-8)


@pytest.mark.parametrize(
    "spoil, match",
    [
        (
            lambda part: np.where(np.arange(part.size).reshape(part.shape) == 9, np.nan, part),
            r"Batch 2, row 2 of it \(row 202 of all\).*NaN",
        ),
        (lambda part: part[:, 1:], "Batch 2.*3 features"),
        (lambda part: part[:0], "Batch 2 is empty"),
    ],
)
def test_errors_name_the_batch(spoil, match, X):
    parts = np.array_split(X, 6)
    parts[2] = spoil(parts[2])
    model = KernelPCA(3, solver=Landmarks(50), random_state=0)
    with pytest.raises(ValueError, match=match):
        model.fit(iter(parts))
    assert not hasattr(model, "subspace_")
    fitted = KernelPCA(3, solver=Landmarks(50), random_state=0).fit(X)
    with pytest.raises(ValueError, match=match):
        list(fitted.transform(iter(parts)))


def test_sources_are_refused_by_name(X):
    with pytest.raises(TypeError, match="SparseKernelPCA.fit needs all samples"):
        mercer.SparseKernelPCA(2, n_anchors=10).fit(iter([X]))
    with pytest.raises(ValueError, match="read once"):
        KernelPCA(2, solver="landmarks").fit_transform(iter([X]))
    with pytest.raises(ValueError, match="solver='landmarks'"):
        KernelPCA(2, solver="exact").fit(iter([X]))
    with pytest.raises(ValueError, match="sample_weight"):
        KernelPCA(2, solver="landmarks").fit(iter([X]), sample_weight=np.ones(len(X)))


def test_a_monitor_follows_a_drift():
    """Limits and model move with the process: few false alarms where a fixed monitor has many; a fault is still one."""
    rng = np.random.default_rng(0)
    draw = lambda i: rng.standard_normal((400, D)) + 0.4 * i  # noqa: E731
    make = lambda: KernelPCA(3, kernel=RBF(0.05), solver=Landmarks(60, half_life=800), random_state=0)  # noqa: E731
    follows = mercer.KernelPCAMonitor(make(), in_time=False, random_state=0).partial_fit(draw(0))
    stays = mercer.KernelPCAMonitor(make(), in_time=False, random_state=0).fit(draw(0))
    for i in range(1, 8):
        follows.partial_fit(draw(i))
    later = draw(7)
    assert np.mean(follows.predict(later) == -1) < 0.05 < 0.3 < np.mean(stays.predict(later) == -1)
    assert np.all(follows.predict(later[:20] + 8) == -1)
    assert not hasattr(mercer.KernelPCAMonitor(), "partial_fit")


def test_partial_fit_says_which_solver_it_needs(X):
    with pytest.raises(AttributeError) as caught:
        KernelPCA(3, solver="exact").partial_fit(X)
    assert "partial_fit needs solver='landmarks'" in str(caught.value.__cause__)
