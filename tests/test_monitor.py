"""The monitor: its statistics, limits, charts and contributions, and the words for bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelPCA, KernelPCAMonitor
from mercer.datasets import TANK_SENSORS, three_tanks
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.models.monitor import limits, tails
from mercer.models.monitor.calibration import held_out, t2_and_spe
from mercer.rkhs.leave_one_out import leave_one_out

OMITTED = ["check_dataframe_column_names_consistency", "check_inplace_ensure_writeable", "check_param_validation"]
LIMITS = ["holdout", "loo", "f-chi2", "quantile"]
MODELS = [
    KernelPCAMonitor(random_state=0),
    KernelPCAMonitor(KernelPCA(2, kernel=RBF(gamma="median")), alpha=0.1, random_state=0),
    KernelPCAMonitor(make_pipeline(StandardScaler(), KernelPCA(2)), limits="loo"),
    KernelPCAMonitor(KernelPCA(2), limits="f-chi2", alpha=0.3),
    KernelPCAMonitor(KernelPCA(1), limits="quantile"),
]

# the data of the checks reach both ends of a kernel's width, and have constant columns
ENDS_OF_WIDTH = [
    pytest.mark.filterwarnings("ignore:The data are constant in feature space:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is too narrow for these data:UserWarning"),
    pytest.mark.filterwarnings("ignore:The columns .* are constant:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* of the training rows are much more isolated:UserWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
]


few = pytest.mark.filterwarnings("ignore:The .* calibration rows are correlated in time:UserWarning")
order_unknown = pytest.mark.filterwarnings("ignore:.* rows are too few to show whether their order:UserWarning")


def marked(test):
    for mark in ENDS_OF_WIDTH:
        test = mark(test)
    return test


@marked
@order_unknown
@parametrize_with_checks(MODELS)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


@marked
@pytest.mark.parametrize("name", OMITTED)
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_checks_that_are_omitted(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.fixture(scope="module")
def tanks():
    return three_tanks(0, n=600)[0]


@pytest.fixture(scope="module")
def monitor(tanks):
    return KernelPCAMonitor(random_state=0).fit(tanks)


# statistics


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(2), Linear(), Laplacian(gamma=0.2)], ids=repr)
def test_statistics_are_those_of_the_model(X, X_new, kernel):
    model = KernelPCA(3, kernel=kernel)
    monitor = KernelPCAMonitor(model, alpha=0.1, random_state=0).fit(X)
    fitted = clone(model).fit(X)
    np.testing.assert_allclose(monitor.t2(X_new), np.sum(fitted.transform(X_new) ** 2 / fitted.explained_variance_, 1))
    np.testing.assert_allclose(monitor.spe(X_new), fitted.reconstruction_error(X_new))


def test_the_linear_kernel_gives_hotelling_and_the_residual_of_pca(X, X_new):
    """T² and SPE of linear PCA by their textbook formulas."""
    monitor = KernelPCAMonitor(KernelPCA(2, kernel="linear"), limits="quantile", alpha=0.1).fit(X)
    centred, new = X - X.mean(axis=0), X_new - X.mean(axis=0)
    lam, U = np.linalg.eigh(centred.T @ centred / len(X))
    lam, U = lam[::-1][:2], U[:, ::-1][:, :2]
    np.testing.assert_allclose(monitor.t2(X_new), np.sum((new @ U) ** 2 / lam, axis=1), rtol=1e-8)
    np.testing.assert_allclose(monitor.spe(X_new), np.sum((new - new @ U @ U.T) ** 2, axis=1), rtol=1e-8)


@few
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("alpha", [0.001, 0.03, 0.3])
def test_scores_limits_and_alarms_agree(name, alpha):
    X = three_tanks(3, n=400, fault="sensor", start=200)[0]
    model = make_pipeline(StandardScaler(), KernelPCA(3, kernel=RBF(gamma=0.1)))
    monitor = KernelPCAMonitor(model, alpha=alpha, limits=name, random_state=0).fit(three_tanks(0, n=200)[0])
    (t2, spe), score = monitor.statistics(X), monitor.score_samples(X)
    assert monitor.offset_ == np.log(alpha)
    np.testing.assert_array_equal(monitor.decision_function(X), score - monitor.offset_)
    np.testing.assert_array_equal(monitor.predict(X), np.where(score < monitor.offset_, -1, 1))
    np.testing.assert_array_equal(score < monitor.offset_, (t2 > monitor.limits_.t2) | (spe > monitor.limits_.spe))
    assert score.max() <= 0


def test_a_pipeline_sees_what_its_steps_make(tanks):
    X = StandardScaler().fit_transform(tanks)
    model = KernelPCA(4, kernel=RBF(gamma=0.1))
    inside = KernelPCAMonitor(make_pipeline(StandardScaler(), model), limits="quantile").fit(tanks)
    outside = KernelPCAMonitor(model, limits="quantile").fit(X)
    np.testing.assert_allclose(inside.score_samples(tanks), outside.score_samples(X), rtol=1e-8)
    np.testing.assert_allclose(inside.contributions(tanks[:5]), outside.contributions(X[:5]), atol=1e-8)


def test_single_precision_stays_close(tanks):
    double = KernelPCAMonitor(random_state=0).fit(tanks)
    single = KernelPCAMonitor(random_state=0).fit(tanks.astype(np.float32))
    np.testing.assert_allclose(single.score_samples(tanks), double.score_samples(tanks), rtol=0.1, atol=0.1)


# limits


def joint(t2, spe, alpha):
    return tails.calibrated(np.column_stack([t2, spe]), ("t2", "spe"), 1.0).limits(alpha)


def test_joint_limits_are_exceeded_by_a_share_alpha_of_the_rows():
    rng = np.random.default_rng(0)
    t2 = rng.chisquare(3, 5000)
    for spe in (rng.chisquare(5, 5000), t2**2, -t2 + 50):  # independent, the same order, the opposite one
        for alpha in (0.01, 0.1, 0.5):
            found = joint(t2, spe, alpha)
            assert np.mean((t2 > found.t2) | (spe > found.spe)) == pytest.approx(alpha, abs=2 / 5000 + 0.02 * alpha)


def test_the_expected_rate_of_false_alarms_is_alpha():
    """Over many small calibrations: a rank of n + 1 makes the mean rate of a row to come α, not less nor more."""
    rng, alpha, rates = np.random.default_rng(0), 0.1, []
    for _ in range(2000):
        t2, spe = rng.exponential(size=(2, 40))
        found = joint(t2[:-1], spe[:-1], alpha)
        rates.append(t2[-1] > found.t2 or spe[-1] > found.spe)
    assert np.mean(rates) == pytest.approx(alpha, abs=0.03)


def test_limits_beyond_the_calibration_rows_follow_the_tail():
    """One alarm in a thousand from 300 rows: the rate is that of the law that the rows came from, within a factor."""
    rng = np.random.default_rng(0)
    for law in (stats.chi2(6), stats.expon(), stats.t(4)):
        rates = []
        for _ in range(50):
            values = np.abs(law.rvs(300, random_state=rng))
            limit = tails.by_ranks(values).inverse(np.log(0.001))
            rates.append(law.sf(limit) + (law.cdf(-limit) if law.dist.name == "t" else 0))
        assert 0.0003 < np.mean(rates) < 0.003


def test_the_scaled_chi_square_finds_the_law_that_it_is_given():
    values = 0.7 * np.random.default_rng(0).chisquare(6, 200_000)
    assert limits.scaled_chi2(values).isf(0.01) == pytest.approx(0.7 * stats.chi2.ppf(0.99, 6), rel=0.01)
    assert limits.scaled_chi2(np.full(5, 3.0)).isf(0.01) == pytest.approx(3.0, rel=1e-3)


def test_classical_limits_hold_for_gaussian_rows():
    """Linear PCA of normal rows is what the F and g·χ² laws are for."""
    rng, scale = np.random.default_rng(0), np.array([3.0, 2.0, 1.0, 0.9, 0.8, 0.7])
    monitor = KernelPCAMonitor(KernelPCA(2, kernel="linear"), limits="f-chi2", alpha=0.05)
    monitor.fit(rng.normal(size=(2000, 6)) * scale)
    assert np.mean(monitor.predict(rng.normal(size=(20_000, 6)) * scale) == -1) == pytest.approx(0.05, abs=0.01)


@pytest.mark.filterwarnings("ignore:The kernel is too narrow for these data:UserWarning")
@pytest.mark.parametrize("kernel", [RBF(gamma=0.2), RBF(gamma=2.0), Polynomial(2), Linear()], ids=repr)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("q", [1, 3, 7])
def test_leaving_one_out_equals_fitting_without_it(X, kernel, center, q):
    """From one decomposition, against as many fits as there are rows."""
    X = np.vstack([X[:30], X[3:4]])  # a duplicate too
    whole = KernelPCA(kernel=kernel, center=center, solver="exact").fit(X)
    Y, r2 = whole.subspace_.split(X)
    t2, spe = leave_one_out(Y, r2, whole.explained_variance_, q, center=center)
    for i in range(len(X)):
        part = KernelPCA(q, kernel=whole.kernel_, center=center, solver="exact").fit(np.delete(X, i, axis=0))
        y, rest = part.subspace_.split(X[i : i + 1])
        assert t2[i] == pytest.approx(np.sum(y**2 / part.explained_variance_), rel=1e-7)
        assert spe[i] == pytest.approx(rest[0], rel=1e-7, abs=1e-10 * np.abs(Y).max() ** 2)


def test_leave_one_out_limits_are_those_of_left_out_rows(X):
    monitor = KernelPCAMonitor(KernelPCA(3, kernel=RBF(gamma=0.3)), limits="loo", alpha=0.1).fit(X)
    i = 7
    alone = KernelPCA(3, kernel=RBF(gamma=0.3)).fit(np.delete(X, i, axis=0))
    expected = np.ravel(t2_and_spe(alone, X[i : i + 1]))
    assert np.isclose(monitor.calibration_, expected, rtol=1e-6).all(axis=1).any()  # in the order of shuffled rows


def test_rows_that_were_seen_are_too_near():
    """In-sample residuals are optimistic; those of held-out and left-out rows are not (math of the classical laws)."""
    rng = np.random.default_rng(0)
    X, fresh = rng.normal(size=(50, 4)), rng.normal(size=(2000, 4))
    model = KernelPCA(15, kernel=RBF(gamma=0.3))
    spe = {name: KernelPCAMonitor(model, limits=name, random_state=0).fit(X).calibration_[:, 1] for name in LIMITS}
    truth = np.mean(clone(model).fit(X).reconstruction_error(fresh))
    assert np.mean(spe["quantile"]) < 0.7 * truth
    assert np.mean(spe["loo"]) == pytest.approx(truth, rel=0.1)
    assert np.mean(spe["holdout"]) == pytest.approx(truth, rel=0.2)


def test_held_out_values_come_from_models_that_have_not_seen_them(X):
    seen = []

    def fit(rows):
        seen.append(rows)
        return KernelPCA(2, kernel=RBF(gamma=0.3)).fit(rows)

    t2, spe = held_out(fit, X, 2, 5).T
    assert t2.shape == spe.shape == (len(X),)
    blocks = np.split(X, np.linspace(0, len(X), 6).astype(int)[1:-1])
    for rows, block in zip(seen, blocks, strict=True):
        assert len(rows) == len(X) - len(block)
        assert not (rows[:, None] == block[None]).all(axis=2).any()
    first = KernelPCA(2, kernel=RBF(gamma=0.3)).fit(seen[0])
    np.testing.assert_allclose(spe[: len(blocks[0])], first.reconstruction_error(blocks[0]), rtol=1e-6)


def test_of_many_rows_parts_of_all_folds_are_held_out_by_few_fits(monkeypatch):
    monkeypatch.setattr("mercer.models.monitor.calibration.ENOUGH", 40)
    X, seen = np.random.default_rng(0).normal(size=(100, 3)), []

    def fit(rows):
        seen.append(rows)
        return KernelPCA(2, kernel=RBF(gamma=0.3)).fit(rows)

    values = held_out(fit, X, 2, 5)
    held = ~np.isnan(values[:, 0])
    np.testing.assert_array_equal(held.reshape(5, 20).sum(axis=1), 8)
    assert held[0]
    assert held[-1]
    assert [len(rows) for rows in seen] == [76, 84]  # without three parts, and without two
    expected = np.full((100, 2), np.nan)
    for rows in seen:
        unseen = ~(X[:, None] == rows[None]).all(axis=2).any(axis=1)
        expected[unseen] = np.column_stack(t2_and_spe(KernelPCA(2, kernel=RBF(gamma=0.3)).fit(rows), X[unseen]))
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("name", LIMITS)
def test_false_alarms_of_independent_rows(name):
    rng = np.random.default_rng(0)

    def draw(n):
        angle = rng.uniform(0, 6, n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(n, 2))

    rates = [
        np.mean(KernelPCAMonitor(alpha=0.05, limits=name, random_state=s).fit(draw(500)).predict(draw(2000)) == -1)
        for s in range(3)
    ]
    if name == "quantile":  # the model has seen its rows, and is optimistic
        assert 0.05 < np.mean(rates) < 0.15
    elif name != "f-chi2":  # a circle is not normal, and the law is off
        assert 0.05 / 1.5 < np.mean(rates) < 0.05 * 1.5


# charts


def test_smoothing_is_the_recursion():
    from mercer.models.monitor.charts import smoothed

    values = np.random.default_rng(0).normal(size=(30, 2))
    expected = [values[0]]
    for row in values[1:]:
        expected.append(0.7 * expected[-1] + 0.3 * row)
    np.testing.assert_allclose(smoothed(values, 0.3), expected)
    assert smoothed(values, 1) is values


@pytest.mark.parametrize("run", [1, 3])
def test_a_chart_tells_alarms_and_the_delay(monitor, run):
    X, y = three_tanks(11, n=120, fault="sensor", sensor=2, start=60)
    chart = monitor.chart(X, smoothing=1, run=run)
    np.testing.assert_array_equal(chart.beyond, monitor.predict(X) == -1)
    expected = [bool(chart.beyond[max(0, i - run + 1) : i + 1].all() and i + 1 >= run) for i in range(len(X))]
    np.testing.assert_array_equal(chart.alarms, expected)
    assert chart.delay(60) == np.argmax(chart.alarms[60:])
    assert "first alarm" in str(chart)


def test_a_smoothed_chart_finds_the_fault_and_keeps_quiet_before(monitor):
    X, y = three_tanks(12, n=200, fault="sensor", sensor=1, start=100)
    chart = monitor.chart(X)
    assert chart.delay(100) < 10
    assert chart.false_alarm_rate(100) < 0.1
    assert monitor.chart(X[:50]).delay(60) is None


def test_limits_of_a_smoothed_chart_are_lower(monitor, tanks):
    assert monitor.chart(tanks[:10], smoothing=0.1).limits.spe < monitor.limits_.spe


def test_a_frame_with_gaps_begins_anew(monitor):
    X = three_tanks(13, n=60)[0]
    times = pd.date_range("2024-01-01", periods=60, freq="10s").to_series().to_numpy().copy()
    times[30:] += np.timedelta64(1, "h")
    frame = pd.DataFrame(X, index=pd.DatetimeIndex(times))
    with pytest.warns(UserWarning, match="1 gaps, the first before row 30"):
        chart = monitor.chart(frame)
    apart = [monitor.chart(X[:30]), monitor.chart(X[30:])]
    np.testing.assert_allclose(chart.spe, np.concatenate([part.spe for part in apart]))


def test_time_that_runs_backwards_is_refused(monitor):
    X = three_tanks(13, n=10)[0]
    frame = pd.DataFrame(X, index=pd.date_range("2024-01-01", periods=10, freq="10s")[::-1])
    with pytest.raises(ValueError, match=r"order of time.*sort_index"):
        monitor.chart(frame)


# contributions


@pytest.mark.parametrize("of", ["spe", "t2", "joint"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.1), Polynomial(2), Linear()], ids=repr)
def test_contributions_sum_to_the_difference_from_a_normal_row(X, X_new, kernel, of):
    """From the denoised row for SPE, from the mean row for the others."""
    from mercer.models.monitor.contributions import denoised

    monitor = KernelPCAMonitor(KernelPCA(2, kernel=kernel), limits="quantile", alpha=0.1).fit(X)

    def statistic(rows):
        t2, spe = monitor.statistics(rows)
        return {"t2": t2, "spe": spe, "joint": t2 / monitor.limits_.t2 + spe / monitor.limits_.spe}[of]

    given = monitor.contributions(X_new, of)
    assert given.shape == X_new.shape
    start = denoised(monitor.estimator_.subspace_, X_new) if of == "spe" else monitor.mean_[None]
    difference = statistic(X_new) - statistic(start)
    np.testing.assert_allclose(given.sum(axis=1), difference, rtol=1e-2, atol=1e-2 * np.abs(difference).max() + 1e-8)


def test_contributions_of_the_linear_kernel_are_the_squared_residuals(X, X_new):
    """SPE = Σ e_j², its gradient is 2e, and the path goes straight along e: c_j = e_j²."""
    monitor = KernelPCAMonitor(KernelPCA(2, kernel="linear"), limits="quantile", alpha=0.1).fit(X)
    residual = X_new - monitor.estimator_.inverse_transform(monitor.estimator_.transform(X_new))
    np.testing.assert_allclose(monitor.contributions(X_new, "spe"), residual**2, atol=1e-8)


@pytest.mark.parametrize("sensor", range(len(TANK_SENSORS)))
def test_the_sensor_that_fails_contributes_most(monitor, sensor):
    X, y = three_tanks(20 + sensor, n=80, fault="sensor", sensor=sensor, start=20)
    abnormal = X[(y == 1) & (monitor.predict(X) == -1)]
    assert np.mean(np.argmax(monitor.contributions(abnormal), axis=1) == sensor) > 0.9


def test_contributions_need_the_columns_and_a_known_statistic(tanks):
    made = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), KernelPCA(2))
    monitor = KernelPCAMonitor(made, limits="quantile").fit(tanks)
    with pytest.raises(ValueError, match=r"44 others"):
        monitor.contributions(tanks)
    with pytest.raises(ValueError, match="of must be"):
        monitor.contributions(tanks, of="q")


# other models


@pytest.mark.parametrize(
    "model",
    [
        mercer.SparseKernelPCA(4, kernel=RBF(gamma=0.1)),
        mercer.ProbabilisticKernelPCA(4, kernel=RBF(gamma=0.1)),
        KernelPCA(4, kernel=RBF(gamma=0.1), solver=Landmarks(n=60), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_with_a_subspace_can_be_watched(tanks, model):
    monitor = KernelPCAMonitor(make_pipeline(StandardScaler(), model), alpha=0.05, random_state=0).fit(tanks)
    X, y = three_tanks(5, n=200, fault="sensor", sensor=2)
    assert np.mean(monitor.predict(X[y == 1]) == -1) > 0.8
    assert np.mean(monitor.predict(X[y == 0]) == -1) < 0.2
    assert monitor.contributions(X[y == 1][:20]).argmax(axis=1).tolist().count(2) > 15


def test_a_compressed_model_is_calibrated_on_fresh_rows(tanks):
    scaled = StandardScaler().fit(tanks)
    small = mercer.compress(KernelPCA(4, kernel=RBF(gamma=0.1)).fit(scaled.transform(tanks)), n_anchors=30)
    fresh = scaled.transform(three_tanks(6, n=600)[0])
    monitor = KernelPCAMonitor(FrozenEstimator(small), alpha=0.05, random_state=0).fit(fresh)
    assert len(monitor.estimator_.subspace_.Z) <= 30
    again = scaled.transform(three_tanks(7, n=600)[0])
    assert np.mean(monitor.predict(again) == -1) < 0.15


def test_a_monitor_can_be_compressed(monitor, tanks, tmp_path):
    small = mercer.compress(monitor, n_anchors=20)
    assert len(small.estimator_[-1].anchors_) == 20 < len(monitor.estimator_[-1].anchors_)
    assert small.tails_ is monitor.tails_
    assert small.limits_ == monitor.limits_
    X, y = three_tanks(5, n=200, fault="sensor", sensor=2)
    assert np.mean(small.predict(X) == monitor.predict(X)) > 0.97
    np.testing.assert_allclose(small.score_samples(tanks), monitor.score_samples(tanks), rtol=0.2, atol=0.2)
    mercer.save(small, tmp_path / "small")
    np.testing.assert_array_equal(mercer.load(tmp_path / "small").score_samples(X), small.score_samples(X))


# bad input


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "small"])
def test_an_alpha_outside_of_its_range_is_refused(tanks, alpha):
    with pytest.raises(ValueError, match="alpha"):
        KernelPCAMonitor(alpha=alpha).fit(tanks)


def test_missing_values_are_named(tanks, monitor):
    frame = pd.DataFrame(tanks, columns=TANK_SENSORS)
    frame.iloc[4, 2] = np.nan
    with pytest.raises(ValueError, match=r"1 values are missing, the first in row 4, column 'level 3'.*Imputer"):
        KernelPCAMonitor().fit(frame)
    with pytest.raises(ValueError, match=r"row 4, column 2"):
        monitor.predict(frame.to_numpy())
    frame.iloc[4, 2], frame.iloc[9, 5] = 0.0, -np.inf
    with pytest.raises(ValueError, match=rf"1 values are infinite, the first in row 9, column '{TANK_SENSORS[5]}'"):
        KernelPCAMonitor().fit(frame)


def test_columns_that_vary_in_one_fold_are_named(tanks):
    """Scalers of a pipeline are fitted anew in each fold; the default estimator knows the scale of such a column."""
    frame = pd.DataFrame(tanks, columns=TANK_SENSORS).assign(valve=np.arange(len(tanks)) // 12 == 20)
    model = make_pipeline(StandardScaler(), KernelPCA(4, kernel=RBF(gamma=0.1)))
    for lags in (0, 2):
        with pytest.warns(UserWarning, match=r"The columns \['valve'\] vary in one fold"):
            KernelPCAMonitor(model, lags=lags, random_state=0).fit(frame)
    KernelPCAMonitor(lags=2, random_state=0).fit(frame)
    KernelPCAMonitor(model, random_state=0).fit(frame.assign(valve=np.arange(len(tanks)) % 100 < 2))


def test_constant_sensors_are_named(tanks):
    frame = pd.DataFrame(tanks[:100], columns=TANK_SENSORS).assign(stuck=1.5)
    with pytest.warns(UserWarning, match=r"columns \['stuck'\] are constant"):
        monitor = KernelPCAMonitor(alpha=0.1, random_state=0).fit(frame)
    assert np.all(np.isfinite(monitor.score_samples(frame)))


def test_fewer_rows_than_components_get_a_word(tanks):
    model = make_pipeline(StandardScaler(), KernelPCA(20))
    with pytest.warns(UserWarning, match="20 components are asked for, and 12 rows have at most 11"):
        monitor = KernelPCAMonitor(model, in_time=False, random_state=0).fit(tanks[:12])
    assert np.all(np.isfinite(monitor.score_samples(tanks)))
    with pytest.raises(ValueError, match="more rows than components"):
        limits.hotelling(q=5, n=5)


def test_models_that_cannot_be_watched_are_refused(tanks):
    with pytest.raises(ValueError, match="ends with StandardScaler"):
        KernelPCAMonitor(StandardScaler()).fit(tanks)
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCAMonitor(KernelPCA(2, kernel="precomputed"), in_time=False).fit(tanks[:10] @ tanks[:10].T)
    with pytest.raises(ValueError, match="limits='loo' needs a KernelPCA"):
        KernelPCAMonitor(mercer.ProbabilisticKernelPCA(2), limits="loo").fit(StandardScaler().fit_transform(tanks[:50]))


@pytest.mark.parametrize("bad", [{"smoothing": 0}, {"smoothing": 1.5}, {"run": 0}, {"run": 1.5}], ids=str)
def test_bad_charts_are_refused(monitor, tanks, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        monitor.chart(tanks, **bad)


def test_a_failed_fit_changes_nothing(tanks):
    monitor = KernelPCAMonitor(random_state=0).fit(tanks)
    before = monitor.limits_
    with pytest.raises(ValueError):
        monitor.fit(np.full((5, 2), np.nan))
    assert monitor.limits_ == before


@pytest.mark.parametrize("in_time", [True, False])
@pytest.mark.parametrize("valve", [False, True])
def test_scales_of_raw_columns_do_not_matter(tanks, valve, in_time):
    """The default estimator is for raw tables: units change nothing, even of a valve that is open in one fold only."""
    valve_open = (np.arange(len(tanks)) // 12 == 20) * (1 + 0.1 * tanks[:, 0])
    X = np.column_stack([tanks, valve_open]) if valve else tanks
    units = 10.0 ** (np.arange(X.shape[1]) - 4)
    one = KernelPCAMonitor(in_time=in_time, random_state=0).fit(X)
    other = KernelPCAMonitor(in_time=in_time, random_state=0).fit(X * units + 7)
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X * units + 7), rtol=1e-4)


def test_anomalies_in_the_table_do_not_hide_themselves():
    """One row in twenty is abnormal, in a cluster of its own: axes that it takes part in would hide it."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(570, 4)), 8 + 0.3 * rng.normal(size=(30, 4))])
    for share in (0.05, "auto"):
        monitor = KernelPCAMonitor(contamination=share, random_state=0).fit(X)
        assert monitor.contamination_ == pytest.approx(0.05, abs=0.01)
        score = monitor.score_samples(X)
        assert np.mean(score[570:].max() < score[:570]) > 0.99
        fresh = np.vstack([rng.normal(size=(500, 4)), 8 + 0.3 * rng.normal(size=(30, 4))])
        alarms = monitor.predict(fresh) == -1
        assert alarms[500:].all()
        assert np.mean(alarms[:500]) < 0.03
    with pytest.warns(UserWarning, match=r"5\.0% of the training rows are much more isolated"):
        KernelPCAMonitor(random_state=0).fit(X)


def test_large_tables_are_learned_from_rows_by_lot(monkeypatch, tanks):
    """The rows by lot serve the axes; limits still come from blocks of neighbours."""
    monkeypatch.setattr("mercer.models.monitor.default.MOST_ROWS", 300)
    monitor = KernelPCAMonitor(alpha=0.05, random_state=0).fit(tanks)
    assert len(monitor.estimator_[-1].anchors_) <= 300
    assert len(monitor.calibration_) == len(tanks)
    assert np.mean(monitor.predict(three_tanks(9, n=600)[0]) == -1) < 0.15
    assert KernelPCAMonitor(limits="loo", random_state=0).fit(tanks).calibration_.shape == (600, 2)


def test_contributions_of_training_rows_are_warned_of():
    X = np.random.default_rng(0).normal(size=(120, 3))
    monitor = KernelPCAMonitor(random_state=0).fit(X[:100])
    assert monitor.contributions(X[100:]).shape == (20, 3)
    with pytest.warns(mercer.MercerWarning, match="20 rows among these were fitted on"):
        monitor.contributions(X[80:])
