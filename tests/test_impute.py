"""Missing values: what is known stays, what is missing settles, and comes nearer than by means and neighbours."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_estimator_checks import OMITTED

from mercer import KernelPCA, KernelPCAImputer, datasets
from mercer._core.registry import KERNELS
from mercer.app.cli import main
from mercer.kernels import RBF, Linear, Polynomial
from mercer.preimage.conditional import SHRINKAGE, Conditional
from mercer.preimage.imputation import average, completions, hide, nearest

MODELS = [
    KernelPCAImputer(random_state=0),
    KernelPCAImputer(2, kernel=RBF(gamma="median"), scale="none", n_starts=2, random_state=0),
]


def marked(test):
    for word in ("The data are constant", "The kernel is too narrow", "X does not have valid", "X has feature names"):
        test = pytest.mark.filterwarnings(f"ignore:{word}:UserWarning")(test)
    return test


@marked
@parametrize_with_checks(MODELS)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@marked
@pytest.mark.parametrize("name", OMITTED)
@pytest.mark.parametrize("estimator", MODELS[1:], ids=repr)  # the first chooses its settings, hundreds of times
def test_checks_that_check_estimator_omits(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


def erased(X, share, seed=0):
    """The rows with a share of their entries missing, one entry at least left in each."""
    missing = np.random.default_rng(seed).random(X.shape) < share
    missing[missing.all(axis=1), 0] = False
    return np.where(missing, np.nan, X), missing


def helix(n=150, seed=0):
    t = np.random.default_rng(seed).uniform(0, 6, n)
    return np.column_stack([np.cos(t), np.sin(t), t])


def rmse(filled, X, missing):
    return np.sqrt(np.mean((filled - X)[missing] ** 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_known_stays_as_it_is(dtype):
    X, missing = erased(helix().astype(dtype), 0.1)
    given = X.copy()
    filled = KernelPCAImputer(4, kernel=RBF(gamma="median"), random_state=0).fit_transform(X)
    assert filled.dtype == dtype
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    np.testing.assert_array_equal(X, given)
    assert np.all(np.isfinite(filled))


def test_rows_that_were_not_seen_are_filled_alike():
    X, missing = erased(helix(), 0.1)
    imputer = KernelPCAImputer(6, kernel=RBF(gamma="median"), random_state=0).fit(X)
    new, gone = erased(helix(seed=1), 0.1, seed=1)
    by_means = rmse(SimpleImputer().fit_transform(new), helix(seed=1), gone)
    assert rmse(imputer.transform(new), helix(seed=1), gone) < 0.5 * by_means
    np.testing.assert_allclose(imputer.transform(new[:5]), imputer.transform(new)[:5], atol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear()], ids=repr)
def test_rows_settle_where_the_distance_to_the_subspace_is_least(kernel):
    """No small step in a missing entry lowers r²: the end of alternating projections."""
    X = helix()
    subspace = KernelPCA(2, kernel=kernel).fit(X).subspace_
    incomplete, missing = erased(helix(20, seed=2), 0.3, seed=2)
    ends, r2, _ = completions(subspace, incomplete, [0.0, X[:1]], max_iter=3000, tol=1e-9)
    np.testing.assert_allclose(r2[0], subspace.split(ends[0])[1])
    before = subspace.split(np.where(missing, 0.0, incomplete))[1]
    assert np.all(r2[0] <= before + 1e-12)
    for step in (1e-2, -1e-2):
        for row, column in np.argwhere(missing):
            moved = ends[0][row].copy()
            moved[column] += step
            assert subspace.split(moved[None])[1][0] >= r2[0][row] - 1e-7


def test_kernels_that_are_not_radial_come_nearer_to_the_subspace():
    subspace = KernelPCA(3, kernel=Polynomial(2, gamma=0.3)).fit(helix()).subspace_
    incomplete, missing = erased(helix(10, seed=2), 0.3, seed=2)
    _, r2, _ = completions(subspace, incomplete, [0.0], max_iter=10, tol=1e-3)
    before = subspace.split(np.where(missing, 0.0, incomplete))[1]
    assert np.all(r2[0] <= before + 1e-12)
    assert np.mean(r2[0]) < 0.7 * np.mean(before)


def test_the_linear_kernel_gives_the_conditional_mean_of_principal_components():
    """At the end of the alternation x̂ is the row of the plane that agrees with what is known, by least squares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5)) + 0.01 * rng.normal(size=(100, 5))
    model = KernelPCA(2, kernel="linear").fit(X)
    row = X[:1].copy()
    row[0, 4] = np.nan
    ends, _, _ = completions(model.subspace_, row, [0.0], max_iter=10_000, tol=1e-12)
    centred = X - X.mean(axis=0)
    U = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    y = np.linalg.lstsq(U[:4], X[0, :4] - X.mean(axis=0)[:4], rcond=None)[0]
    assert ends[0, 0, 4] == pytest.approx(X.mean(axis=0)[4] + U[4] @ y, abs=1e-5)


def test_rows_begin_at_those_that_are_nearest_in_what_is_known():
    """By loops: the distances over the entries that a row has; and what has no entry takes the first donors."""
    donors, (Z, _) = helix(30, seed=3), erased(helix(10, seed=4), 0.4, seed=4)
    found = nearest(donors, Z, 4)
    assert found.shape == (4, 10, 3)
    for i, row in enumerate(Z):
        t = np.nansum((donors - row) ** 2, axis=1)
        np.testing.assert_array_equal(found[:, i], donors[np.argsort(t)[:4]])
    np.testing.assert_array_equal(nearest(donors, np.full((1, 3), np.nan), 2)[:, 0], donors[:2])
    assert nearest(donors, Z, 0).shape == (0, 10, 3)


def test_hidden_values_leave_one_in_each_row_and_column():
    Z = np.random.default_rng(0).normal(size=(40, 2))
    Z[:30, 0] = np.nan
    mask = hide(Z, np.random.default_rng(0))
    shown = np.where(mask, np.nan, Z)
    assert mask.any()
    assert not np.isnan(Z[mask]).any()
    assert not np.isnan(shown).all(axis=1).any()
    assert not np.isnan(shown).all(axis=0).any()


def test_conditional_means_and_variances_are_those_of_the_gaussian():
    """By loops over rows; EM finds the mean and the covariance of complete rows at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 1
    gaussian = Conditional.of(X)
    S = np.linalg.inv(gaussian.precision)
    C = np.cov(X.T, bias=True)
    np.testing.assert_allclose(gaussian.mean, X.mean(axis=0))
    np.testing.assert_allclose(S, (1 - SHRINKAGE) * C + SHRINKAGE * np.trace(C) / 4 * np.eye(4))
    Z, missing = erased(X, 0.4)
    full, spread = gaussian(Z)
    for x, m, filled, sd in zip(Z, missing, full, spread, strict=True):
        o = ~m
        gain = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        np.testing.assert_allclose(filled[m], gaussian.mean[m] + gain @ (x - gaussian.mean)[o])
        np.testing.assert_allclose(sd[m] ** 2, np.diag(S[np.ix_(m, m)] - gain @ S[np.ix_(o, m)]))
        assert not sd[o].any()
        np.testing.assert_array_equal(filled[o], x[o])


def test_em_raises_the_likelihood_of_what_is_known():
    X, _ = erased(helix() @ np.random.default_rng(0).normal(size=(3, 3)), 0.3)
    first = Conditional(np.nanmean(X, axis=0), np.diag(1 / np.nanvar(X, axis=0)))

    def likelihood(gaussian):
        S, total = np.linalg.inv(gaussian.precision), 0.0
        for x in X:
            o = ~np.isnan(x)
            total += multivariate_normal(gaussian.mean[o], S[np.ix_(o, o)]).logpdf(x[o])
        return total

    assert likelihood(Conditional.of(X)) > likelihood(first) + 10


def test_starts_are_averaged_by_their_distances():
    ends, r2 = np.array([[[0.0, 1.0]], [[2.0, 1.0]]]), np.array([[0.1], [0.1]])
    np.testing.assert_allclose(average(ends, r2, 0.05), [[1.0, 1.0]])
    np.testing.assert_allclose(average(ends, np.array([[0.0], [50.0]]), 0.05), [[0.0, 1.0]])
    np.testing.assert_allclose(average(ends, np.array([[0.0], [0.05]]), 0.05)[0, 0], 2 * np.exp(-1) / (1 + np.exp(-1)))


def test_the_cs_come_nearer_than_by_means_or_neighbours():
    """One of two coordinates is missing in a fifth of the rows; the rest of the row leaves several answers."""
    figures = []
    for seed in range(3):
        X = datasets.two_cs(seed, n=240)[0]
        X = X / X.std(axis=0)
        rng, missing = np.random.default_rng(seed), np.zeros(X.shape, bool)
        rows = rng.choice(len(X), len(X) // 5, replace=False)
        missing[rows, rng.integers(2, size=len(rows))] = True
        given = np.where(missing, np.nan, X)
        fillers = SimpleImputer(), KNNImputer(), KernelPCAImputer(random_state=0)
        figures.append([rmse(filler.fit_transform(given), X, missing) for filler in fillers])
    means, neighbours, ours = np.mean(figures, axis=0)
    assert ours < neighbours < means


def test_digits_with_erased_pixels_come_nearer_than_by_means_or_neighbours():
    X = load_digits().data[:300] / 16
    given, missing = erased(X, 0.2)
    ours = KernelPCAImputer(40, kernel=RBF(gamma="median"), scale="none", n_starts=1, max_iter=20, random_state=0)
    others = SimpleImputer(), KNNImputer()
    assert rmse(ours.fit_transform(given), X, missing) < min(rmse(o.fit_transform(given), X, missing) for o in others)


def test_uncertainties_are_as_large_as_the_errors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(300, 6))
    given, missing = erased(X * np.logspace(-1, 1, 6), 0.2)
    imputer = KernelPCAImputer(random_state=0).fit(given)
    spread = imputer.uncertainty(given)
    np.testing.assert_array_equal(spread > 0, missing)
    errors = (imputer.transform(given) - X * np.logspace(-1, 1, 6)) / np.where(missing, spread, 1.0)
    assert 0.7 < np.sqrt(np.mean(errors[missing] ** 2)) < 1.4
    assert set(imputer.errors_) == {"conditional means", "kernel PCA"}
    assert imputer.solver_.outside_share == imputer.model_.solver_.outside_share


def test_a_time_limit_ends_with_conditional_means_and_says_so():
    given, missing = erased(helix(), 0.2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        imputer = KernelPCAImputer(time_limit=1e-9, random_state=0).fit(given)
    assert imputer.ended_early_
    with pytest.warns(ConvergenceWarning, match="conditional means"):
        filled = imputer.transform(given)
    assert np.all(np.isfinite(filled))
    assert not KernelPCAImputer(time_limit=1e6, random_state=0).fit(given).ended_early_


def is_of_numbers(name):
    return KERNELS[name].rows == "numbers"


def test_kernels_of_objects_are_refused():
    with pytest.raises(ValueError, match="KernelPCAImputer fills numbers, and Jaccard"):
        KernelPCAImputer(2, kernel="jaccard").fit([[1.0, np.nan], [2.0, 3.0]])


@pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning")  # sigmoid
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "precomputed" and is_of_numbers(name)])
def test_every_kernel_fills_missing_values(kernel):
    X, missing = erased(np.abs(helix(30)), 0.1)
    filled = KernelPCAImputer(2, kernel=kernel, max_iter=1, random_state=0).fit_transform(X)
    assert np.all(np.isfinite(filled))
    np.testing.assert_array_equal(filled[~missing], X[~missing])


def test_rows_without_any_value_and_columns_with_one():
    X, _ = erased(helix(), 0.05)
    X[3] = np.nan
    X[:, 1] = 0.5
    X[10:, 1] = np.nan
    filled = KernelPCAImputer(2, kernel="rbf", random_state=0).fit_transform(X)
    assert np.all(np.isfinite(filled))
    np.testing.assert_allclose(filled[:, 1], 0.5, atol=1e-6)


def test_columns_without_a_value_are_refused():
    X = helix()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"columns \[2\] have no value"):
        KernelPCAImputer().fit(X)
    with pytest.raises(ValueError, match=r"columns \[0, 1, 2\] have no value"):
        KernelPCAImputer().fit(np.full_like(X, np.nan))


def test_all_rows_complete_change_nothing():
    X = helix()
    np.testing.assert_array_equal(KernelPCAImputer(2, kernel="rbf").fit_transform(X), X)


def test_frames_and_pipelines():
    X, _ = erased(helix(), 0.05)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    imputer = KernelPCAImputer(3, kernel="rbf", random_state=0).set_output(transform="pandas")
    assert list(imputer.fit_transform(frame).columns) == ["a", "b", "c"]
    assert make_pipeline(imputer, KernelPCA(2)).fit_transform(frame).shape == (150, 2)


def test_rows_do_not_have_to_be_many_at_once():
    X, _ = erased(helix(), 0.1)
    imputer = KernelPCAImputer(3, kernel="rbf", random_state=0).fit(X)
    whole = imputer.transform(X)
    with config_context(working_memory=1e-3):
        np.testing.assert_allclose(imputer.transform(X), whole, rtol=1e-6)


def test_the_same_seed_gives_the_same_values():
    X, _ = erased(helix(), 0.1)
    one, two = (KernelPCAImputer(3, kernel="rbf", random_state=5).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_the_command_fills_a_table_and_reports_it(tmp_path):
    X, missing = erased(helix(80), 0.1)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(name="row")
    frame.to_csv(tmp_path / "data.csv", index=False)
    args = ["impute", str(tmp_path / "data.csv"), "-o", str(tmp_path / "full.csv"), "--report"]
    result = CliRunner().invoke(main, [*args, str(tmp_path / "filled.html")])
    assert result.exit_code == 0, result.output
    full = pd.read_csv(tmp_path / "full.csv")
    assert list(full.columns) == ["a", "b", "c", "name"]
    expected = KernelPCAImputer(random_state=0).fit_transform(X)
    np.testing.assert_allclose(full[["a", "b", "c"]].to_numpy(), expected)
    page = (tmp_path / "filled.html").read_text()
    assert f"{missing.sum()} missing values" in page
    assert "uncertainty" in page
    unknown = CliRunner().invoke(main, [*args[:-1], "--force", "--exclude", "d"])
    assert unknown.exit_code != 0
