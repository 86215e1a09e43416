"""Reduced sets: laws over every kernel, against explicit features, and compressed models of every kind."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, issparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import mercer
from mercer import KernelPCA, compress, datasets, dropin
from mercer.eigen import Landmarks
from mercer.kernels import (
    RBF,
    Chi2,
    Cosine,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    OnColumns,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from mercer.models.compress import nbytes
from mercer.preimage import Smoother
from mercer.preimage.reduce import Targets, basis_on, captured, errors, fewest, move, reduced, select
from mercer.rkhs import Expansion, FeatureGaussian, principal_subspace

N = 60
EXACTLY = 1e-10
QUADRATIC = Polynomial(degree=2, gamma=1.0, coef0=1.0)
DIFFERENTIABLE = [
    RBF(0.3),
    RBF(lengthscale=[0.8, 1.2, 1.0]),
    InverseMultiquadric(0.5),
    RationalQuadratic(2.0, 0.3),
    Matern(1.5, gamma=0.3),
    Matern(0.5, gamma=0.3),
    Laplacian(0.3),
    Chi2(0.5),
    Polynomial(3, 0.3),
    Linear(),
    Cosine(),
    RBF(0.3) + Polynomial(2),
    RBF(0.3) * Linear(),
    2.0 * RBF(0.1),
    OnColumns(RBF(0.3), [0, 2]),
    Normalized(Polynomial(2)),
]


def given_function(X, Y):
    return np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=-1))


KERNELS = [*DIFFERENTIABLE, given_function]


def features(X):
    """φ(x) of (xᵀy + 1)² on two columns."""
    x, y = X.T
    return np.column_stack([np.ones(len(X)), *(2**0.5 * f for f in (x, y, x * y)), x**2, y**2])


def draw(n=N, d=3, seed=0):
    return np.random.default_rng(seed).gamma(2, size=(n, d)) * np.linspace(1, 0.4, d)


def toy(q=8, gamma=10.0):
    return KernelPCA(q, kernel=RBF(gamma)).fit(datasets.three_clusters(0))


def targets_of(model):
    targets = Targets([model.subspace_])
    return targets.vectors, targets.weights


def same(a, b, X, tol=EXACTLY):
    """Whether two subspaces give rows the same coordinates, r² and energies."""
    scale = max(np.abs(a.project(X)).max(initial=0.0), 1e-300)
    np.testing.assert_allclose(b.project(X), a.project(X), atol=tol * scale)
    np.testing.assert_allclose(b.split(X)[1], a.split(X)[1], atol=tol * max(scale**2, a.split(X)[1].max()))
    np.testing.assert_allclose(b.variances, a.variances, rtol=tol)
    np.testing.assert_allclose(b.total_variance, a.total_variance, rtol=tol)
    rho = 0.5 * a.variances[-1]
    energies = [FeatureGaussian(s, rho).energy(X) for s in (a, b)]
    np.testing.assert_allclose(energies[1], energies[0], rtol=100 * tol)


# Against explicit features: six of them, on two columns


def explicit(subspace):
    """φ̄ and U as vectors."""
    F = features(subspace.Z)
    return F.T @ subspace.mean.B[:, 0], F.T @ subspace.axes.B


def projector(Z):
    F = features(Z).T
    return F @ np.linalg.pinv(F)


@pytest.fixture(params=[(3, 4), (2, 3), (1, 1)], ids=lambda p: f"q{p[0]}-m{p[1]}")
def few(request):
    """A subspace of quadratic features, a few anchors for it, and new rows."""
    q, m = request.param
    X = draw(d=2)
    subspace = principal_subspace(QUADRATIC, X, q, solver="exact")
    f = Targets([subspace])
    Z = X[select(f.vectors, f.weights, m)]
    return subspace, Z, draw(20, 2, seed=1)


@pytest.mark.parametrize("rho", [0.0, 0.01])
def test_a_reduced_subspace_is_that_of_explicit_features(few, rho):
    subspace, Z, new = few
    small, P = reduced(subspace, basis_on(QUADRATIC, Z), rho), projector(Z)
    (mean, U), lam, rows = explicit(subspace), subspace.variances, features(new)
    G = U.T @ P @ U
    g, W = np.linalg.eigh(G)
    root = W * np.sqrt(g) @ W.T
    expected = P @ U @ np.linalg.inv(root)
    np.testing.assert_allclose(explicit(small)[0], P @ mean, atol=1e-9)
    np.testing.assert_allclose(explicit(small)[1], expected, atol=1e-9)
    np.testing.assert_allclose(small.variances, rho + np.diag(root @ np.diag(lam - rho) @ root), rtol=1e-9)
    np.testing.assert_allclose(small.offset, expected.T @ P @ mean, atol=1e-9)
    np.testing.assert_allclose(small.mean_sqnorm, np.sum((P @ mean) ** 2), rtol=1e-9)
    Y, r2 = small.split(new)
    np.testing.assert_allclose(Y, (rows - P @ mean) @ expected, atol=1e-8)
    np.testing.assert_allclose(r2, np.sum((rows - P @ mean - Y @ expected.T) ** 2, axis=1), atol=1e-8)


def test_errors_are_distances_of_explicit_features(few):
    subspace, Z, _ = few
    f, P = Targets([subspace]), projector(Z)
    mean, U = explicit(subspace)
    phi = errors(f.vectors, f.weights, basis_on(QUADRATIC, Z))
    np.testing.assert_allclose(phi[:-1], np.sum((U - P @ U) ** 2, axis=0), atol=1e-10)
    np.testing.assert_allclose(phi[-1], np.sum((mean - P @ mean) ** 2) / subspace.total_variance, atol=1e-10)


def test_the_total_is_taken_about_the_new_mean(few):
    """Mean squared distances of the training rows: to the mean, and to the subspace."""
    subspace, Z, _ = few
    small, X = reduced(subspace, basis_on(QUADRATIC, Z)), subspace.Z
    mean, _ = explicit(small)
    np.testing.assert_allclose(np.mean(np.sum((features(X) - mean) ** 2, axis=1)), small.total_variance, rtol=1e-9)
    Y, r2 = small.split(X)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.mean(r2) + np.sum(np.mean(Y**2, axis=0)), small.total_variance, rtol=1e-9)


def test_variances_lie_between_what_the_model_knows_and_what_the_rows_have(few):
    """λ′ leaves out what variance outside the axes adds: at most φ times the least one kept."""
    subspace, Z, _ = few
    basis = basis_on(QUADRATIC, Z)
    small, f = reduced(subspace, basis), Targets([subspace])
    phi = errors(f.vectors, f.weights, basis)[:-1]
    of_rows = np.mean(small.project(subspace.Z) ** 2, axis=0)
    assert np.all(small.variances <= of_rows * (1 + 1e-9))
    assert np.all(of_rows <= small.variances + phi * subspace.variances[-1] + 1e-9)


@settings(deadline=None, derandomize=True, phases=[Phase.generate], max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_orthonormal_axes_and_no_variances_are_nearer(seed):
    """Against random rotations of the axes inside the span, and random factors of the variances."""
    X, rng, rho = draw(d=2), np.random.default_rng(seed), 0.02
    subspace = principal_subspace(QUADRATIC, X, 3, solver="exact")
    small = reduced(subspace, basis_on(QUADRATIC, X[rng.choice(N, 5, replace=False)]), rho)
    (_, U), (_, V) = explicit(subspace), explicit(small)
    turned = np.linalg.qr(V + 0.2 * rng.normal(size=(6, 3)))[0]
    turned = projector(small.Z) @ turned
    turned = np.linalg.qr(turned)[0] * np.sign(np.diag(np.linalg.qr(turned)[1]))
    assert np.sum((U - V) ** 2) <= np.sum((U - turned) ** 2) + 1e-9

    def covariance(U, lam):
        return U @ np.diag(lam - rho) @ U.T + rho * np.eye(6)

    def divergence(lam):
        """KL(model ‖ compressed), but for what does not depend on the variances."""
        ours = covariance(V, lam)
        return np.trace(np.linalg.solve(ours, covariance(U, subspace.variances))) + np.linalg.slogdet(ours)[1]

    assert divergence(small.variances) <= divergence(small.variances * rng.uniform(0.8, 1.3, 3)) + 1e-12


# Choice of points


def brute(f, weights, rows):
    """Σ w‖f − P_Z f‖² by least squares."""
    K = f.kernel(f.Z[rows], f.Z[rows])
    F = f(f.Z[rows])
    return np.sum(weights * (f.sqnorms() - np.sum(F * np.linalg.lstsq(K, F, rcond=1e-12)[0], axis=0)))


@pytest.mark.parametrize(
    "kernel, slack",  # for smooth kernels short directions count for less
    [(RBF(10.0), 1e-3), (RBF(1.0), 0.1), (Matern(0.5, gamma=1.0), 1e-3), (Laplacian(1.0), 1e-3)],
    ids=repr,
)
def test_each_row_chosen_is_the_best_there_is(kernel, slack):
    model = KernelPCA(5, kernel=kernel).fit(datasets.three_clusters(0))
    f, weights = targets_of(model)
    rows = select(f, weights, 7)
    assert len(set(rows)) == 7
    for t in range(7):
        best = min(brute(f, weights, [*rows[:t], i]) for i in range(len(f.Z)) if i not in rows[:t])
        assert brute(f, weights, rows[: t + 1]) <= best * (1 + slack) + 1e-9


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k, "__name__", repr(k)))
def test_errors_fall_with_every_row(kernel):
    model = KernelPCA(4, kernel=kernel, solver="exact").fit(draw())
    f, weights = targets_of(model)
    rows = select(f, weights, 12)
    sums = [errors(f, weights, basis_on(f.kernel, f.Z[rows[:m]])).sum() for m in range(1, len(rows) + 1)]
    assert np.all(np.diff(sums) <= 1e-9)
    assert sums[-1] < sums[0]


def test_neighbours_are_not_chosen_for_their_difference():
    """A smooth kernel of one column: derivatives would be best, and lose all digits."""
    model = KernelPCA(4, kernel=OnColumns(RBF(0.3), [0])).fit(datasets.three_clusters(0))
    small = compress(model, 7)
    assert small.compression_.n_anchors == 7
    assert small.compression_.error < 1e-5


def test_a_row_twice_is_a_row_of_double_weight():
    X, new = draw(), draw(20, seed=1)
    counts = 1 + (np.arange(N) % 3 == 0)
    weighted = KernelPCA(3, kernel=RBF(0.3)).fit(X, sample_weight=counts)
    repeated = KernelPCA(3, kernel=RBF(0.3)).fit(np.repeat(X, counts, axis=0))
    small = [compress(model, 10).transform(new) for model in (weighted, repeated)]
    np.testing.assert_allclose(small[1], small[0], atol=1e-8)


@pytest.mark.parametrize("free", [False, True])
def test_tiles_do_not_matter(free):
    model = toy()
    expected = compress(model, 12, free=free, max_iter=5)
    with sklearn.config_context(working_memory=1e-3):
        actual = compress(model, 12, free=free, max_iter=5)
    np.testing.assert_allclose(actual.anchors_, expected.anchors_, atol=1e-9)


def test_points_of_several_subspaces_serve_them_all():
    X, kernel = datasets.three_clusters(0), RBF(5.0)
    parts = [principal_subspace(kernel, X[rows], q) for rows, q in ((slice(0, 45), 3), (slice(40, 90), 2))]
    targets = Targets(parts)
    assert targets.Z.shape == (95, 2)
    for part, whole in zip(parts, targets.whole(), strict=True):
        same(part, whole, X)
    basis = basis_on(kernel, targets.Z[select(targets.vectors, targets.weights, 25)])
    phi = errors(targets.vectors, targets.weights, basis)
    assert targets.means.tolist() == [3, 6]
    for part, mine in zip(parts, np.split(phi, [4]), strict=True):
        alone = Targets([part])
        np.testing.assert_allclose(mine, errors(alone.vectors, alone.weights, basis), atol=1e-12)
        same(part, reduced(part, basis), X, tol=30 * np.sqrt(mine.max()))


# Free points


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=repr)
def test_the_gradient_agrees_with_finite_differences(kernel):
    X = draw(30) + 0.1
    model = KernelPCA(3, kernel=kernel, solver="exact").fit(X)
    f, weights = targets_of(model)
    rng, step = np.random.default_rng(1), 1e-6
    Z = X[rng.choice(30, 4, replace=False)] + 0.05 * rng.random((4, 3))
    _, slope = captured(f, weights, Z)
    direction = rng.normal(size=Z.shape)
    ahead, behind = (captured(f, weights, Z + s * step * direction)[0] for s in (1, -1))
    assert np.sum(slope * direction) == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("kernel", DIFFERENTIABLE, ids=repr)
def test_free_points_are_no_worse_and_mostly_much_better(kernel):
    X = draw()
    model = KernelPCA(3, kernel=kernel, solver="exact").fit(X)
    m = min(6, model.n_components_ + 2)
    greedy, free = (compress(model, m, free=free, max_iter=60).compression_ for free in (False, True))
    before, after = (c.errors.sum() + c.mean_errors.sum() for c in (greedy, free))
    assert after <= before + 1e-9
    if kernel in [RBF(0.3), InverseMultiquadric(0.5), RationalQuadratic(2.0, 0.3), 2.0 * RBF(0.1)]:
        assert after < 0.7 * before


def test_points_of_a_kernel_for_histograms_stay_above_zero():
    X = draw()
    X[:20, 0] = 0
    assert np.all(compress(KernelPCA(3, kernel=Chi2(0.5)).fit(X), 5, free=True).anchors_ >= 0)


def test_points_that_meet_do_no_harm():
    model = toy(3, gamma=0.1)
    f, weights = targets_of(model)
    Z = np.repeat(f.Z[:1], 6, axis=0)
    assert np.all(np.isfinite(move(f, weights, Z, 20)))
    assert len(basis_on(f.kernel, Z).R) == 1


# The toy


@pytest.mark.parametrize("m, greedy, free", [(9, 0.7, 0.22), (25, 0.01, 1e-4)])
def test_errors_on_the_toy(m, greedy, free):
    model = toy()
    assert compress(model, m).compression_.errors.sum() <= greedy
    assert compress(model, m, free=True).compression_.errors.sum() <= free


@pytest.mark.parametrize("m, expected", [(9, 0.633), (25, 0.0065)])
def test_the_axes_alone_reach_the_known_errors(m, expected):
    """Without the mean, which the slides leave to constants."""
    axes = toy().subspace_.axes
    rows = select(axes, np.ones(8), m)
    assert errors(axes, np.ones(8), basis_on(axes.kernel, axes.Z[rows])).sum() == pytest.approx(expected, rel=0.02)


def test_greedy_rows_beat_random_ones():
    axes = toy().subspace_.axes
    rng, ones = np.random.default_rng(0), np.ones(8)
    best = errors(axes, ones, basis_on(axes.kernel, axes.Z[select(axes, ones, 9)])).sum()
    for _ in range(20):
        Z = axes.Z[rng.choice(90, 9, replace=False)]
        assert errors(axes, ones, basis_on(axes.kernel, Z)).sum() > 2 * best


# Models


SETTINGS = {
    "plain": {},
    "uncentred": {"center": False},
    "landmarks": {"solver": Landmarks(n=30)},
    "all components": {"n_components": None, "solver": "exact"},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(gamma=0.2), Polynomial(2), Linear()], ids=repr)
def test_all_anchors_reproduce_the_model(kernel, name, weighted):
    X, new = draw(), draw(20, seed=1)
    w = np.random.default_rng(2).uniform(0.5, 2, N) if weighted else None
    model = KernelPCA(**{"n_components": 3, "kernel": kernel, "random_state": 0, **SETTINGS[name]})
    model.fit(X, sample_weight=w)
    small = compress(model, len(model.anchors_))
    same(model.subspace_, small.subspace_, new)
    assert small.compression_.error == 0
    np.testing.assert_array_equal(small.anchors_, model.anchors_)


@pytest.mark.parametrize("kernel", [RBF(10.0), Matern(gamma=5.0), Laplacian(5.0), Polynomial(2), Linear()], ids=repr)
def test_projection_onto_all_anchors_changes_nothing(kernel):
    """The same by way of the solves that fewer anchors need."""
    X = datasets.three_clusters(0)
    kernel = kernel.bind(X)
    subspace = principal_subspace(kernel, X, 2, solver="exact")
    same(subspace, reduced(subspace, basis_on(kernel, X)), X)
    same(subspace, reduced(subspace, basis_on(kernel, X)), X + 0.05, tol=1e-8)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: getattr(k, "__name__", repr(k)))
def test_coordinates_move_no_farther_than_certified(kernel, center, free):
    """|y − y′|² ≤ 2φ‖φ(x) − φ̄‖² for any x."""
    if free and kernel is given_function:
        return
    X, new = draw(), 2 * draw(50, seed=1)
    model = KernelPCA(3, kernel=kernel, center=center, solver="exact").fit(X)
    small = compress(model, min(6, model.n_components_ + 2), free=free, max_iter=10)
    Y, r2 = model.subspace_.split(new)
    distances = np.sum(Y**2, axis=1) + r2
    moved = (small.transform(new) - model.transform(new)) ** 2
    assert np.all(moved <= 2 * small.compression_.errors * distances[:, None] * (1 + 1e-6) + 1e-12 * distances.max())
    axes = small.subspace_.axes
    np.testing.assert_allclose(axes.inner(axes), np.eye(len(axes)), atol=1e-6)
    np.testing.assert_allclose(axes.inner(small.subspace_.mean)[:, 0], small.subspace_.offset, atol=1e-6)
    np.testing.assert_allclose(small.subspace_.mean.sqnorms(), small.subspace_.mean_sqnorm, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_the_linear_kernel_needs_as_many_anchors_as_columns(q):
    X = draw(d=5)
    model = KernelPCA(q, kernel="linear", solver="exact").fit(X)
    small, pca = compress(model, 5), PCA(q).fit(X)
    assert small.compression_.error < 1e-12
    np.testing.assert_allclose(np.abs(small.transform(X)), np.abs(pca.transform(X)), atol=1e-9)
    np.testing.assert_allclose(small.inverse_transform(small.transform(X)), pca.inverse_transform(pca.transform(X)))


def test_redundant_anchors_are_left_out():
    model = KernelPCA(2, kernel=QUADRATIC, solver="exact").fit(draw(d=2))
    small = compress(model, 40)
    assert small.compression_.n_anchors == 6  # features
    same(model.subspace_, small.subspace_, draw(20, 2, seed=1), tol=1e-8)


@pytest.mark.parametrize("tol", [0.3, 0.01, 1e-4, 1e-8])
def test_tol_takes_the_fewest_anchors(tol):
    model = toy()
    small = compress(model, tol=tol)
    assert small.compression_.error <= tol
    fewer = compress(model, small.compression_.n_anchors - 1)
    assert fewer.compression_.error > tol
    np.testing.assert_array_equal(np.sort(fewer.anchors_, axis=0).shape, (len(small.anchors_) - 1, 2))


@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_free_anchors_reach_a_tolerance_with_fewer(tol):
    model = toy()
    greedy, free = compress(model, tol=tol).compression_, compress(model, tol=tol, free=True).compression_
    assert free.error <= tol
    assert free.n_anchors < greedy.n_anchors
    f, weights = targets_of(model)
    rows = select(f, weights, 30)
    assert len(fewest(f, weights, rows, 50, tol=tol, least=8, dtype=float)) <= 30


def test_a_tolerance_below_rounding_keeps_what_is_above_it():
    small = compress(toy(), tol=1e-300)
    assert small.compression_.error < 1e-12


# What remains of a model


def arrays(thing, seen):
    """All arrays and sparse matrices inside an object."""
    if id(thing) in seen or isinstance(thing, str | type):
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray) or issparse(thing):
        yield thing
        return
    parts = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list | tuple | set) else ()
    for part in [*parts, *getattr(thing, "__dict__", {}).values()]:
        yield from arrays(part, seen)


MODELS = {
    "plain": lambda: toy(4, gamma=5.0),
    "weighted": lambda: KernelPCA(4, kernel=RBF(5.0)).fit(
        datasets.three_clusters(0), sample_weight=np.random.default_rng(0).uniform(size=90)
    ),
    "landmarks": lambda: KernelPCA(4, kernel=RBF(5.0), solver=Landmarks(n=40), random_state=0).fit(
        datasets.three_clusters(0)
    ),
    "precomputed": lambda: KernelPCA(4, kernel=Precomputed(diag=1.0)).fit(gram()),
    "sparse rows": lambda: KernelPCA(4, kernel=RBF(5.0)).fit(csr_matrix(datasets.three_clusters(0))),
    "single": lambda: KernelPCA(4, kernel=RBF(5.0)).fit(datasets.three_clusters(0).astype(np.float32)),
}


def gram():
    X = datasets.three_clusters(0)
    return RBF(5.0)(X, X)


def rows_for(name, model):
    X = datasets.three_clusters(1)[::3]
    if name == "precomputed":
        return RBF(5.0)(X, datasets.three_clusters(0))
    return csr_matrix(X) if name == "sparse rows" else X.astype(model.subspace_.axes.B.dtype)


@pytest.mark.parametrize("name", MODELS)
def test_a_compressed_model_is_a_fitted_model_without_its_rows(name):
    model = MODELS[name]()
    new = rows_for(name, model)
    before = model.transform(new), model.reconstruction_error(new)
    small = compress(model, 20)
    report = small.compression_
    assert type(small) is type(model)
    assert small.get_params() == model.get_params() or name == "precomputed"
    assert not any(len({90, 40} & set(a.shape)) for a in arrays(vars(small), {}))
    assert report.n_anchors == small.anchors_.shape[0] == 20
    assert report.n_anchors_before == model.anchors_.shape[0]
    assert report.speedup == model.anchors_.shape[0] / 20
    assert report.bytes == nbytes(vars(small) | {"compression_": None}) < report.bytes_before == nbytes(model)
    assert report.errors.shape == (model.n_components_,)
    tol = np.sqrt(2 * report.error) * 1.5
    assert tol < 0.1
    np.testing.assert_allclose(small.transform(new), before[0], atol=tol)
    np.testing.assert_allclose(small.reconstruction_error(new), before[1], atol=4 * tol)
    assert small.transform(new).dtype == before[0].dtype
    assert small.score(new) == pytest.approx(model.score(new), abs=0.05)
    np.testing.assert_array_equal(model.transform(new), before[0])
    assert not hasattr(model, "compression_")


@pytest.mark.parametrize("name", MODELS)
def test_a_compressed_model_can_be_compressed_again(name):
    model = MODELS[name]()
    new, small = rows_for(name, model), compress(model, 25)
    again = compress(small, 15)
    assert again.compression_.n_anchors_before == 25
    assert again.anchors_.shape[0] == 15
    assert np.abs(again.transform(new) - small.transform(new)).max() < 0.1
    unchanged = compress(small, 25)
    np.testing.assert_allclose(unchanged.transform(new), small.transform(new), atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_compressed_model_survives_pickling_and_can_be_fitted_again(name):
    model = MODELS[name]()
    new, small = rows_for(name, model), compress(model, 20)
    restored = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(restored.transform(new), small.transform(new))
    assert restored.compression_.error == small.compression_.error
    if name == "precomputed":
        small.fit(gram())
    else:
        small.fit(datasets.three_clusters(0))
    assert not hasattr(small, "compression_")
    assert not hasattr(clone(restored), "subspace_")


def test_the_copy_has_parameters_of_its_own():
    model = toy()
    small = compress(model, 20)
    small.set_params(kernel__gamma=3.0)
    assert model.kernel.gamma == 10.0


def test_sparse_rows_are_like_dense_ones():
    X = datasets.three_clusters(0)
    dense, sparse = (compress(KernelPCA(4, kernel=RBF(5.0)).fit(A), 15) for A in (X, csr_matrix(X)))
    assert issparse(sparse.anchors_)
    np.testing.assert_allclose(sparse.transform(X), dense.transform(X), atol=1e-8)


def test_precomputed_anchors_are_row_numbers():
    X, model = datasets.three_clusters(0), MODELS["precomputed"]()
    small = compress(model, 15)
    rows = small.anchors_[:, 0]
    by_rows = compress(KernelPCA(4, kernel=RBF(5.0)).fit(X), 15)
    np.testing.assert_allclose(X[rows], by_rows.anchors_)
    np.testing.assert_allclose(small.transform(gram()), by_rows.transform(X), atol=1e-9)
    np.testing.assert_allclose(small.reconstruction_error(gram()), by_rows.reconstruction_error(X), atol=1e-9)
    noise = gram()
    noise[:, np.setdiff1d(np.arange(90), rows)] = 7.0
    np.testing.assert_array_equal(small.transform(noise), small.transform(gram()))


def test_single_precision_is_near_double():
    X = datasets.three_clusters(0).astype(np.float32)
    for m in (12, 60):
        for free in (False, True):
            single, double = (
                compress(KernelPCA(4, kernel=RBF(1.0)).fit(A), m, free=free, max_iter=20) for A in (X, X.astype(float))
            )
            assert single.anchors_.dtype == single.transform(X).dtype == np.float32
            assert single.compression_.error < 2 * double.compression_.error + 1e-5
            full = KernelPCA(4, kernel=RBF(1.0)).fit_transform(X.astype(float))
            bound = np.sqrt(2 * single.compression_.error) + 1e-3
            np.testing.assert_allclose(single.transform(X), full, atol=bound)


@pytest.mark.parametrize("kernel", [RBF(10.0), Matern(1.5, gamma=5.0), Polynomial(2), Linear()], ids=repr)
@pytest.mark.parametrize("free", [False, True])
def test_pre_images_of_a_compressed_model(kernel, free):
    X = datasets.three_clusters(0)
    model = KernelPCA(4, kernel=kernel, solver="exact").fit(X)
    m, X = 30 if isinstance(kernel, RBF | Matern) else 6, X[::4]
    small = compress(model, m, free=free, max_iter=30)
    clean = small.denoise(X)
    assert clean.shape == X.shape
    assert np.mean((clean - model.denoise(X)) ** 2) < 0.1 * np.mean(np.var(X, axis=0))
    assert np.all(np.isfinite(small.preimages(small.transform(X)).error))


def test_pre_images_of_a_compressed_precomputed_model():
    X = datasets.three_clusters(0)
    model = KernelPCA(4, kernel="precomputed", preimage=Smoother(rows=X)).fit(gram())
    small = compress(model, 30)
    assert np.mean((small.inverse_transform(small.transform(gram())) - X) ** 2) < 0.05


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2), Linear()], ids=repr)
def test_rows_without_variance(kernel):
    X = np.full((20, 2), 0.5)
    with pytest.warns(UserWarning, match="constant"):
        model = KernelPCA(2, kernel=kernel, solver="exact").fit(X)
    for arguments in ({"n_anchors": 1}, {"n_anchors": 20}, {"tol": 0.1}):
        small = compress(model, **arguments)
        assert small.transform(X).shape == (20, 0)
        np.testing.assert_allclose(small.reconstruction_error(X), 0, atol=1e-12)


# Every estimator


ROWS, LABELS = datasets.two_cs(0, n=120)
NEW = datasets.two_cs(1, n=40)[0]
KERNEL = RBF(0.02)
ESTIMATORS = {
    "kernel PCA": KernelPCA(4, kernel=KERNEL),
    "sparse": mercer.SparseKernelPCA(4, kernel=KERNEL, noise_variance=0.003),
    "probabilistic": mercer.ProbabilisticKernelPCA(4, kernel=KERNEL, noise_variance=0.01),
    "probabilistic limit": mercer.ProbabilisticKernelPCA(3, kernel=KERNEL, noise_variance=0),
    "mixture": mercer.KernelPCAMixture(2, [3, 2], kernel=KERNEL, n_init=2, random_state=0),
    "mixture of landmarks": mercer.KernelPCAMixture(
        2, 2, kernel=KERNEL, n_init=2, solver=Landmarks(n=50), random_state=0
    ),
    "classifier": mercer.KernelPCAClassifier(kernel=KERNEL, noise_ratio=0.05),
    "shrunk classifier": mercer.KernelPCAClassifier(kernel=KERNEL, noise_ratio=0.05, shrinkage=0.3),
    "classifier by subspaces": mercer.KernelPCAClassifier(kernel=KERNEL, noise_ratio=0, n_components=[3, 4]),
    "classifier by means": mercer.KernelPCAClassifier(kernel=KERNEL, n_components=0),
    "classifier of mixtures": mercer.KernelPCAClassifier(
        mercer.KernelPCAMixture(2, 2, kernel=KERNEL, n_init=2, random_state=0), kernel=KERNEL
    ),
    "classifier of densities": mercer.KernelPCAClassifier(
        mercer.ProbabilisticKernelPCA(3, kernel=KERNEL, noise_variance=0.01), kernel=KERNEL, noise_ratio=0.02
    ),
}
OUTPUTS = ("transform", "reconstruction_error", "score_samples", "mahalanobis", "predict_proba", "decision_function")


def outputs(model, X):
    """What the model says of rows, by method."""
    limit = getattr(model, "noise_variance_", 1) == 0  # where there is no Mahalanobis distance
    names = [name for name in OUTPUTS if hasattr(model, name) and not (limit and name == "mahalanobis")]
    return {name: np.asarray(getattr(model, name)(X)) for name in names}


def fit(name):
    return clone(ESTIMATORS[name]).fit(ROWS, LABELS)


def n_anchors(model):
    return Targets(model._subspaces()).Z.shape[0]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_anchors_reproduce_every_estimator(name):
    model = fit(name)
    small = compress(model, n_anchors(model))
    assert small.compression_.error == 0
    for method, expected in outputs(model, NEW).items():
        actual = outputs(small, NEW)[method]
        np.testing.assert_allclose(
            actual, expected, rtol=EXACTLY, atol=EXACTLY * np.abs(expected).max(), err_msg=method
        )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_anchors_say_nearly_the_same_in_every_estimator(name):
    model = fit(name)
    before = outputs(model, NEW)
    small = compress(model, tol=1e-4)
    assert small.compression_.error <= 1e-4
    assert small.compression_.n_anchors <= max(n_anchors(model) / 2, 16)
    assert sum(len(s.variances) for s in small._subspaces()) == len(small.compression_.errors)
    assert len(small.compression_.mean_errors) == len(small._subspaces())
    assert len({id(s.Z) for s in small._subspaces()}) == 1  # one set for all
    for method, expected in before.items():
        actual = outputs(small, NEW)[method]
        np.testing.assert_allclose(actual, expected, atol=0.05 * np.abs(expected).max(), err_msg=method)
        np.testing.assert_array_equal(outputs(model, NEW)[method], expected)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_estimator_keeps_its_rows(name):
    """Only what a mixture says of its training rows, their responsibilities and labels, has as many rows as they."""
    model = fit(name)
    small = compress(model, tol=1e-3)
    left = {k: v for k, v in vars(small).items() if k not in {"responsibilities_", "labels_"}}
    for density in left.get("densities_", []):
        density.__dict__.pop("responsibilities_", None)
        density.__dict__.pop("labels_", None)
    m = small.compression_.n_anchors
    most = max(m * max(m, sum(len(s.axes) + 1 for s in small._subspaces())), 100)
    assert all(a.size <= most for a in arrays(left, {}))
    assert not any({len(ROWS), n_anchors(model)} & set(a.shape) for a in arrays(left, {}) if a.ndim == 2)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_can_be_pickled_compressed_again_and_fitted_again(name):
    small = compress(fit(name), tol=1e-5)
    restored = pickle.loads(pickle.dumps(small))
    for method, expected in outputs(small, NEW).items():
        np.testing.assert_array_equal(outputs(restored, NEW)[method], expected)
    again = compress(restored, tol=1e-3)
    assert again.compression_.n_anchors_before == small.compression_.n_anchors >= again.compression_.n_anchors
    assert not hasattr(small.fit(ROWS, LABELS), "compression_")


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "classifier of mixtures"])
def test_free_anchors_serve_every_estimator(name):
    model = fit(name)
    m = max(len(s.axes) for s in model._subspaces()) + 3
    greedy, free = (compress(model, m, free=free, max_iter=30).compression_ for free in (False, True))
    assert free.errors.sum() + free.mean_errors.sum() <= greedy.errors.sum() + greedy.mean_errors.sum()


def test_densities_of_a_compressed_model_are_above_the_noise():
    model = fit("probabilistic")
    small = compress(model, 6)
    assert np.all(small.explained_variance_ > small.noise_variance_)
    assert np.all(np.isfinite(small.sample(3)[0]))
    assert np.all(np.isfinite(small.inverse_transform(small.transform(NEW))))


def test_samples_of_a_compressed_mixture():
    small = compress(fit("mixture"), 20)
    X, labels = small.sample(30)
    assert X.shape == (30, 2)
    np.testing.assert_array_equal(small.predict(X[labels == 0]) == 0, True)


# Words for what cannot be done


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({}, "either n_anchors or tol, and neither was"),
        ({"n_anchors": 9, "tol": 0.1}, "both were"),
        ({"n_anchors": 91}, "more than the 90 anchors"),
        ({"n_anchors": 7}, "n_anchors=7 is too few for 8 components"),
        ({"n_anchors": 0}, "integer ≥ 1"),
        ({"n_anchors": 9.5}, "integer ≥ 1"),
        ({"n_anchors": True}, "integer ≥ 1"),
        ({"tol": 0}, "between 0 and 1"),
        ({"tol": 1.5}, "between 0 and 1"),
        ({"tol": "0.1"}, "between 0 and 1"),
        ({"tol": float("nan")}, "between 0 and 1"),
        ({"n_anchors": 9, "free": True, "max_iter": 0}, "max_iter"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        compress(toy(), **arguments)


def test_what_cannot_move_says_so():
    X = datasets.three_clusters(0)
    for model in (MODELS["precomputed"](), KernelPCA(3, kernel=given_function).fit(X)):
        with pytest.raises(ValueError, match="derivative.*free=False"):
            compress(model, 10, free=True)
    with pytest.raises(ValueError, match="dense rows.*free=False"):
        compress(MODELS["sparse rows"](), 10, free=True)


def test_what_is_no_fitted_model_of_ours_is_refused():
    X = datasets.three_clusters(0)
    with pytest.raises(TypeError, match="fitted estimator of mercer.*PCA"):
        compress(PCA(2).fit(X), 10)
    with pytest.raises(TypeError, match="fitted estimator of mercer"):
        compress(dropin.KernelPCA(2, kernel="rbf").fit(X), 10)
    with pytest.raises(NotFittedError):
        compress(KernelPCA(2), 10)


def test_an_indefinite_kernel_is_refused():
    with pytest.warns(UserWarning, match="indefinite"):
        model = KernelPCA(3, kernel="sigmoid").fit(datasets.three_clusters(0))
    with pytest.raises(ValueError, match="positive semi-definite"):
        compress(model, 10)


def test_axes_that_no_anchor_sees_are_not_made_up():
    """Anchors far from all rows."""
    X = draw(20)
    subspace = principal_subspace(RBF(0.3), X + 1e3, 4)
    with pytest.raises(ValueError, match="12 anchors are too few: a combination of the 4 axes"):
        reduced(subspace, basis_on(RBF(0.3), X[:12]))


def test_a_compressed_landmark_model_does_not_forget_on_partial_fit():
    X = datasets.three_clusters(0)
    small = compress(MODELS["landmarks"](), 20)
    with pytest.raises(ValueError, match="compressed"):
        small.partial_fit(X)


def test_the_callers_expansion_is_not_changed():
    model = toy()
    f = replace(model.subspace_.axes, squares=np.ones(8))
    Z, B = f.Z.copy(), f.B.copy()
    rows = select(f, np.ones(8), 9)
    move(f, np.ones(8), f.Z[rows], 5)
    np.testing.assert_array_equal(f.Z, Z)
    np.testing.assert_array_equal(f.B, B)
    np.testing.assert_array_equal(f.squares, 1)
    assert isinstance(f, Expansion)
