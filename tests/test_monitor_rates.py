"""Laws of the monitor: p-values are valid, rates are kept, far rows keep their order, lags stay inside their runs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import KernelPCA, KernelPCAMonitor, RepeatedRowsWarning
from mercer.datasets import three_tanks
from mercer.kernels import RBF
from mercer.models.monitor import lags, rules, tails, trimming
from mercer.models.monitor.charts import alarms
from mercer.models.monitor.checks import FEW, warn_of_drift
from mercer.models.monitor.discoveries import benjamini_hochberg, conformal
from mercer.models.monitor.training import keys_of, training_rows

few = pytest.mark.filterwarnings("ignore:The .* calibration rows are correlated in time:UserWarning")
PROCESS = make_pipeline(StandardScaler(), KernelPCA(4, kernel=RBF(gamma=0.05)))


def table(n, seed, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


# p-values and discoveries


@pytest.mark.parametrize("n", [5, 19, 60])
@pytest.mark.parametrize("charts", ["one", "equal", "opposite", "independent", "with ties"])
def test_p_values_are_valid_in_finite_samples(n, charts):
    """P(p ≤ u) ≤ u for the (n + 1)-th of exchangeable rows, whatever the dependence of the charts."""
    rng, repeats = np.random.default_rng(0), 4000
    p = np.empty(repeats)
    for i in range(repeats):
        t2, other = rng.normal(size=(2, n + 1))
        columns = {"one": [t2], "equal": [t2, t2], "opposite": [t2, -t2]}.get(charts, [t2, other])
        values = np.column_stack(columns)
        values = np.round(values) if charts == "with ties" else values
        p[i] = conformal(values[:-1], values[-1:], n)[0]
    for u in (0.05, 0.1, 0.2, 0.5):
        assert np.mean(p <= u) <= u + 3 * np.sqrt(u * (1 - u) / repeats)
    if charts == "one":  # and not more conservative than ranks are
        assert np.mean(p <= 0.5) >= 0.5 - 1 / (n + 1) - 0.03


def test_p_values_of_a_frozen_model_are_uniform():
    model = KernelPCA(3, kernel=RBF(gamma=0.2)).fit(table(100, 0))
    p = np.concatenate(
        [
            KernelPCAMonitor(FrozenEstimator(model), limits="quantile", random_state=0)
            .fit(table(99, 10 + s))
            .p_values(table(20, 1000 + s))
            for s in range(60)
        ]
    )
    assert stats.kstest(p, "uniform").statistic < 0.06


@pytest.mark.parametrize("contaminated", [0.0, 0.2])
def test_discoveries_control_the_share_of_false_ones(contaminated):
    rates, found = [], []
    for seed in range(12):
        monitor = KernelPCAMonitor(random_state=0).fit(table(300, seed))
        X = table(200, 100 + seed)
        abnormal = np.arange(200) < contaminated * 200
        X[abnormal] += 6
        mask = monitor.discoveries(X, rate=0.2)
        rates.append(np.sum(mask & ~abnormal) / max(np.sum(mask), 1))
        found.append(np.mean(mask[abnormal]) if contaminated else 1)
    assert np.mean(rates) < 0.2 + 0.1
    assert np.mean(found) > 0.9


def test_benjamini_hochberg_by_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.uniform(size=15) ** 3
        most = max((k for k in range(1, 16) if np.sort(p)[k - 1] <= 0.1 * k / 15), default=0)
        assert benjamini_hochberg(p, 0.1).sum() == most
    with pytest.raises(ValueError, match="rate"):
        KernelPCAMonitor(random_state=0).fit(table(50, 0)).discoveries(table(5, 1), rate=2)


# scores


@pytest.mark.parametrize("in_time", [False, True])
def test_far_rows_keep_their_order(in_time):
    X = table(400, 0)
    monitor = KernelPCAMonitor(in_time=in_time, random_state=0).fit(X)
    direction = np.array([[1.0, -2.0, 1.0]])
    away = direction * np.geomspace(4, 40, 12)[:, None]
    assert np.all(np.diff(monitor.score_samples(away)) < 0)


def test_a_tail_and_its_inverse():
    rng = np.random.default_rng(0)
    for values in (rng.chisquare(3, 200), rng.pareto(3, 200), np.repeat([1.0, 2.0], 50), np.ones(9)):
        tail = tails.by_ranks(values)
        for log_p in np.log([0.5, 0.1, 0.01, 1e-4, 1e-12]):
            v = tail.inverse(log_p)
            assert tail.log(v) == pytest.approx(log_p, rel=1e-6) or np.isin(v, values).any()
        beyond = values.max() * np.linspace(1, 50, 30)
        assert np.all(np.diff(tail.log(beyond)) < 0)


def test_correlated_values_count_as_fewer():
    values = np.random.default_rng(0).exponential(size=200)
    np.testing.assert_allclose(tails.by_ranks(values, 200).log(values), tails.by_ranks(values).log(values))
    fewer = tails.by_ranks(values, 50)
    assert fewer.log(values.max()) == pytest.approx(-np.log(51))
    assert fewer.log(np.median(values)) == pytest.approx(np.log(0.5), abs=0.03)


@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("d", [2, 10])
def test_alarms_on_new_normal_rows_come_at_the_promised_rate(alpha, d):
    rates = [
        np.mean(KernelPCAMonitor(alpha=alpha, random_state=s).fit(table(300, s, d)).predict(table(2000, 50 + s, d)) < 0)
        for s in range(5)
    ]
    assert alpha / 3 < np.mean(rates) < 1.5 * alpha


def test_alarms_of_a_process_come_at_the_promised_rate_on_a_new_run():
    for lag in (0, 2):
        monitors = [KernelPCAMonitor(lags=lag, random_state=0).fit(three_tanks(s, n=800)[0]) for s in range(3)]
        rates = [np.mean(monitor.predict(three_tanks(90 + s, n=1000)[0]) < 0) for s, monitor in enumerate(monitors)]
        assert 0.002 < np.mean(rates) < 0.03


# order of the rows


def test_the_order_of_exchangeable_rows_does_not_matter():
    X, fresh = table(150, 0), table(50, 1)
    one = KernelPCAMonitor(in_time=False, random_state=0).fit(X)
    other = KernelPCAMonitor(in_time=False, random_state=0).fit(X[np.random.default_rng(5).permutation(150)])
    np.testing.assert_array_equal(one.score_samples(fresh), other.score_samples(fresh))
    np.testing.assert_array_equal(one.p_values(fresh), other.p_values(fresh))


@few
def test_rows_in_time_are_recognised():
    assert KernelPCAMonitor(random_state=0).fit(three_tanks(0, n=200)[0]).in_time_
    shuffled = np.random.default_rng(0).permutation(three_tanks(0, n=200)[0])
    monitor = KernelPCAMonitor(random_state=0).fit(shuffled)
    assert not monitor.in_time_
    assert monitor.serial_share_ <= 0.25
    report = monitor.solver_
    assert str(report).startswith("exchangeable rows (")
    assert report.rules.endswith("98.0% of the variance, SPE")
    assert (report.n_calibration, report.n_effective) == (200, 200.0)
    assert report.residual == monitor.estimator_[-1].solver_.residual
    given = KernelPCAMonitor(PROCESS, in_time=True, random_state=0).fit(three_tanks(0, n=200)[0])
    assert (given.solver_.kind, given.solver_.rules) == ("rows in time (as given)", "the given estimator")
    assert given.n_effective_ < 200 == len(given.calibration_)


def test_a_sorted_table_is_not_a_process():
    """Levels that change from class to class correlate neighbouring rows; within a level rows are independent."""
    X = table(400, 0) + np.repeat([0.0, 3.0, -4.0, 8.0], 100)[:, None]
    assert rules.serial_share(X, np.zeros(400, int)) == 0
    independent = rules.serial_share(table(100, 1, d=5000), np.repeat([0, 1], [37, 63]))
    assert independent < 0.01  # as many of them as the test allows


def test_what_is_correlated_from_row_to_row():
    """Location and scale of a column do not matter, nor do rows that vary more than others; steps are correlated."""
    runs, tanks, rng = np.zeros(600, int), three_tanks(0, n=600)[0], np.random.default_rng(0)
    for X in (tanks, tanks * 1e-200, tanks * 1e150, tanks + 1e8):
        assert rules.serial_share(X, runs) == 1
    for X in (table(600, 1, d=400), np.exp(2 * table(600, 2, d=400)), rng.standard_t(2, size=(600, 400))):
        assert rules.serial_share(X, runs) < 0.03
        X[60:] = 0  # only the first rows vary
        assert rules.serial_share(X, runs) < 0.05
    assert rules.serial_share(np.repeat(table(60, 3), rules.BLOCK, axis=0), runs) == 1
    assert rules.serial_share(table(600, 4), np.arange(600)) == 0  # each row is a run
    constant = np.full((600, 2), 0.1) * [1, 1 + 1e-16]
    assert rules.serial_share(constant, runs) == 0


def test_too_few_rows_of_a_process_are_reported():
    with pytest.warns(UserWarning, match="100 calibration rows are correlated in time, and worth only"):
        KernelPCAMonitor(random_state=0).fit(three_tanks(0, n=100)[0])
    monitor = KernelPCAMonitor(random_state=0).fit(three_tanks(0, n=600)[0])
    assert monitor.n_effective_ > FEW
    KernelPCAMonitor(random_state=0).fit(table(50, 0))  # independent rows


@pytest.mark.parametrize("rows", [three_tanks(0, n=20)[0], table(20, 0)], ids=["a process", "a table"])
def test_too_few_rows_to_know_their_order_are_reported(rows):
    with pytest.warns(UserWarning, match="20 rows are too few to show whether .* treated as exchangeable"):
        assert not KernelPCAMonitor(random_state=0).fit(rows).in_time_
    KernelPCAMonitor(in_time=False, random_state=0).fit(rows)


def test_copies_of_rows_are_reported_but_codes_are_not():
    """Held-out rows with copies are too near: copies ask for a warning, values that repeat in every column do not."""
    rng = np.random.default_rng(0)
    copies = rng.permutation(np.repeat(table(100, 0), 4, axis=0))
    with pytest.warns(RepeatedRowsWarning, match="100% of the training rows are copies"):
        KernelPCAMonitor(random_state=0).fit(copies)
    for levels in ([5, 3], [2, 2, 2, 4], [9, 9, 9]):
        codes = np.column_stack([rng.integers(0, k, 400) for k in levels]).astype(float)
        assert KernelPCAMonitor(random_state=0).fit(codes).suspect_share_ < 0.03
    KernelPCAMonitor(random_state=0).fit(np.vstack([table(300, 1), table(100, 2), table(100, 2)]))


def test_the_effective_number_is_that_of_an_autoregression():
    rng, r = np.random.default_rng(0), 0.6
    x = np.zeros(20_000)
    for t, e in enumerate(rng.normal(size=len(x))):
        x[t] = r * x[t - 1] + e
    assert rules.effective(x) == pytest.approx(20_000 * (1 - r) / (1 + r), rel=0.1)
    assert rules.effective(rng.normal(size=1000)) > 800


def test_drift_within_the_training_rows_is_reported():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="drift: held-out rows become more abnormal"):
        warn_of_drift(rng.exponential(size=400) * np.linspace(0.5, 3, 400))
    warn_of_drift(rng.exponential(size=400))
    steady = rng.normal(size=(500, 4))
    with pytest.warns(UserWarning, match="drift: held-out rows are more abnormal at both ends"):
        KernelPCAMonitor(in_time=True, random_state=0).fit(steady + np.linspace(0, 4, 500)[:, None])
    KernelPCAMonitor(in_time=True, random_state=0).fit(steady)


# training rows


def test_training_rows_count_as_rows_not_seen():
    """A narrow kernel passes through its rows: only held-out values tell which of them are abnormal."""
    X = table(300, 0)
    X[0] += 9
    monitor = KernelPCAMonitor(random_state=0).fit(X)
    assert monitor.predict(X)[0] == -1
    assert np.mean(monitor.predict(X) < 0) == pytest.approx(0.01, abs=0.01)
    nearly = X + 1e-9  # no training row any more
    assert np.median(monitor.spe(nearly)) < 0.5 * np.median(monitor.spe(X))


def test_a_wild_cell_is_an_alarm_and_changes_nothing_else():
    X, fresh = table(300, 0), table(1000, 1)
    clean = KernelPCAMonitor(in_time=False, random_state=0).fit(X)
    X[7, 2] = 1e6
    wild = KernelPCAMonitor(in_time=False, random_state=0).fit(X)  # without a warning
    assert wild.predict(X)[7] == -1
    assert np.mean(wild.predict(fresh) != clean.predict(fresh)) < 0.02


def test_keys_of_rows():
    X = np.random.default_rng(0).integers(0, 3, size=(500, 4)).astype(float)
    keys, inverse = keys_of(X), np.unique(X, axis=0, return_inverse=True)[1]
    assert len(np.unique(keys)) == len(np.unique(inverse))
    np.testing.assert_array_equal(keys_of(-0.0 * X), keys_of(0.0 * X))


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_the_share_of_abnormal_training_rows_is_left_out(share):
    X = table(400, 1)
    n = round(share * 400)
    X[:n] += 8 * np.sign(X[:n])
    monitor = KernelPCAMonitor(contamination=share, random_state=0).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(monitor.predict(X) < 0), np.arange(n))
    assert np.mean(monitor.predict(table(2000, 2)) < 0) < 0.03
    assert np.mean(monitor.predict(X[:n] + 0.1) < 0) > 0.95
    auto = KernelPCAMonitor(contamination="auto", random_state=0).fit(X)
    assert auto.contamination_ == pytest.approx(share, abs=0.02)


def test_limits_follow_normal_rows_though_abnormal_ones_were_said_to_be_among_them():
    X = table(300, 1)
    monitor = KernelPCAMonitor(contamination=0.1, random_state=0).fit(X)
    assert np.mean(monitor.predict(X) < 0) == 0.1
    assert np.mean(monitor.predict(table(2000, 2)) < 0) < 0.03


@pytest.mark.parametrize("share", [0.08, 0.1])
def test_copies_of_an_abnormal_row_share_one_verdict(share):
    """The cut between abnormal and normal rows passes through the copies, because wild rows are farther away."""
    rng = np.random.default_rng(0)
    copies, wild = np.full((round(share * 500), 3), 9.0), table(4, 5) * 100
    X = rng.permutation(np.vstack([table(496 - len(copies), 1), copies, wild]))
    monitor = KernelPCAMonitor(contamination=share, in_time=False, random_state=0).fit(X)
    assert monitor.predict(copies[:1]) == -1
    assert monitor.predict(wild).tolist() == [-1] * 4
    assert np.mean(monitor.predict(table(2000, 2)) < 0) < 0.03


def test_verdict_and_values_of_equal_rows():
    rows = np.array([[1.0], [2], [1], [1], [2], [3]])
    values = np.array([[5.0, 5], [7, 7], [4, 4], [6, 6], [np.nan, np.nan], [8, 8]])
    found = training_rows(rows, values, np.array([-1, 1, 1, -1, -1, -1]))
    place, known = found.find(np.array([[1.0], [2], [3], [4]]))
    assert known.tolist() == [True, True, True, False]
    assert found.verdict[place[:3]].tolist() == [-1, 0, -1]
    assert found.values[place[:3], 1].tolist() == [4, 7, 8]


def test_how_much_of_a_share_the_isolation_shows():
    normal = np.random.default_rng(0).exponential(size=450) ** 2
    assert trimming.shown(normal, 0.1) < 0.02
    assert trimming.shown(np.append(normal, np.full(50, 500.0)), 0.1) == 0.1
    assert trimming.shown(np.append(normal, np.full(250, 500.0)), 0.3571) == 0.3571
    assert trimming.shown(np.append(normal, np.full(25, 500.0)), 0.1) == pytest.approx(0.05, abs=0.015)
    assert trimming.shown(np.append(np.zeros(450), np.arange(50.0)), 0.1) == 0.1
    assert trimming.shown(normal, 0.0) == 0.0
    assert trimming.shown(np.append(normal[:100], np.linspace(1e6, 1e6 + 1, 400)), 0.1) < 0.1  # without an overflow


def test_clean_rows_are_not_suspect():
    draws = {"normal": table, "uniform": lambda n, seed: np.random.default_rng(seed).uniform(size=(n, 5))}
    draws["heavy tails"] = lambda n, seed: np.exp(table(n, seed))
    for rows in draws.values():
        found = [trimming.suspects(rows(300, seed), np.random.default_rng(0)) for seed in range(10)]
        assert np.mean(found) < 0.01
        assert max(found) < 0.03


@pytest.mark.parametrize("share", [0.05, 0.08])
def test_suspect_rows_are_counted_with_caution(share):
    """A lower bound of the share of abnormal rows, whether they are scattered or in one cluster."""
    rng, n = np.random.default_rng(0), 500
    bad = round(share * n)
    for abnormal in (rng.uniform(-9, 9, size=(bad, 3)), 7 + 0.1 * rng.normal(size=(bad, 3))):
        found = trimming.suspects(np.vstack([table(n - bad, 3), abnormal]), rng)
        assert share / 2 < found < share + 0.005
    assert trimming.suspects(np.vstack([table(300, 3), table(200, 4) + 9]), rng) <= trimming.SUPPOSED


# lags and runs


def test_lagged_rows_by_their_definition():
    X = np.arange(14.0).reshape(7, 2)
    runs = lags.as_runs(["a"] * 4 + ["b"] * 3, 7)
    found = lags.lagged(X, 2, runs).reshape(7, 3, 2)
    for t, start in enumerate([0, 0, 0, 0, 4, 4, 4]):
        np.testing.assert_array_equal(found[t], [X[max(t - lag, start)] for lag in range(3)])
    np.testing.assert_array_equal(lags.ages(runs), [0, 1, 2, 3, 0, 1, 2])
    assert lags.lagged(X, 0, runs) is X


def test_a_monitor_with_lags_is_one_of_lagged_rows():
    X = three_tanks(0, n=300)[0]
    monitor = KernelPCAMonitor(PROCESS, lags=2, random_state=0).fit(X)
    L = lags.lagged(X, 2, np.zeros(300, int))
    outside = KernelPCAMonitor(PROCESS, in_time=True, random_state=0).fit(L[2:])
    np.testing.assert_allclose(monitor.score_samples(X)[2:], outside.score_samples(L)[2:])
    by_lag = monitor.contributions(X[:6], by_lags=True)
    assert by_lag.shape == (6, 3, 8)
    np.testing.assert_allclose(by_lag.sum(axis=1), monitor.contributions(X[:6]))


@few
def test_no_lag_crosses_from_one_run_to_the_next():
    A, B = three_tanks(0, n=150)[0], three_tanks(1, n=150)[0]
    groups = np.repeat([7, 3], 150)
    monitor = KernelPCAMonitor(lags=2, random_state=0).fit(np.vstack([A, B]), groups=groups)
    both = monitor.score_samples(np.vstack([A, B]), groups=groups)
    np.testing.assert_allclose(both, np.append(monitor.score_samples(A), monitor.score_samples(B)), rtol=1e-12)
    together = monitor.score_samples(np.vstack([A, B]))
    differ = ~np.isclose(together, both, rtol=1e-9, atol=0)
    np.testing.assert_array_equal(np.flatnonzero(differ), [150, 151])
    assert len(monitor.calibration_) == 300 - 4


@pytest.mark.parametrize(
    "groups", [[1, 2, 1], [1, 2], ["a", None, "b"], [1.0, np.nan, np.nan], [None] * 3, [pd.NA, 1, 1]]
)
def test_runs_that_are_none_are_refused(groups):
    with pytest.raises(ValueError, match="groups"):
        lags.as_runs(groups, 3)


def test_names_of_runs_may_be_anything():
    dates = pd.date_range("2024-01-01", periods=2).repeat([2, 1])
    for groups in (
        ["b", "b", "a"],
        np.array([7, 7, "x"], object),
        [2.5, 2.5, -1],
        dates,
        dates.to_series(),
        [True, True, False],
    ):
        np.testing.assert_array_equal(lags.as_runs(groups, 3), [0, 0, 1])


@few
def test_lags_that_cannot_be_are_refused():
    X = three_tanks(0, n=20)[0]
    with pytest.raises(ValueError, match="in_time=False"):
        KernelPCAMonitor(lags=1, in_time=False).fit(X)
    with pytest.raises(ValueError, match="rows with all predecessors"):
        KernelPCAMonitor(lags=19).fit(X)
    dask = pytest.importorskip("dask.array")
    monitor = KernelPCAMonitor(PROCESS, lags=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="need the rows before it"):
        monitor.predict(dask.from_array(X))
    with pytest.raises(ValueError, match="need rows in memory"):
        clone(monitor).fit(dask.from_array(X))


@pytest.mark.parametrize("rule", [(1, 1), (2, 3), (3, 3), (2, 10)])
def test_run_rules_by_their_definition(rule):
    k, m = rule
    beyond = np.random.default_rng(0).uniform(size=60) < 0.4
    starts = [25]
    expected = [sum(beyond[max(t - m + 1, 25 if t >= 25 else 0) : t + 1]) >= k for t in range(60)]
    np.testing.assert_array_equal(alarms(beyond, rule, starts), expected)


def test_run_rules_of_predict():
    X = three_tanks(1, n=120, fault="sensor", start=60)[0]
    monitor = KernelPCAMonitor(alpha=0.1, random_state=0).fit(three_tanks(0, n=300)[0])
    groups = np.repeat([0, 1], 60)
    expected = alarms(monitor.predict(X, groups=groups) < 0, (2, 4), [60])
    np.testing.assert_array_equal(monitor.predict(X, groups=groups, run=(2, 4)) < 0, expected)
    chart = monitor.chart(X, smoothing=1, run=(2, 4), groups=groups)
    np.testing.assert_array_equal(chart.alarms, expected)
    assert set(chart.cause[chart.beyond]) <= {"t2", "spe"}
    assert set(chart.cause[~chart.beyond]) == {""}


# files


@few
@pytest.mark.parametrize(
    "monitor",
    [
        KernelPCAMonitor(random_state=0),
        KernelPCAMonitor(contamination=0.05, random_state=0),
        KernelPCAMonitor(lags=1, random_state=0),
        KernelPCAMonitor(PROCESS, limits="f-chi2", random_state=0),
    ],
    ids=repr,
)
def test_monitors_come_back_from_their_files(monitor, tmp_path):
    X = three_tanks(0, n=100)[0]
    monitor = clone(monitor).fit(X)
    mercer.save(monitor, tmp_path / "m")
    back = mercer.load(tmp_path / "m")
    for name in ("score_samples", "predict", "p_values", "discoveries", "contributions"):
        np.testing.assert_array_equal(getattr(back, name)(X), getattr(monitor, name)(X), err_msg=name)
    assert back.solver_ == monitor.solver_
    assert back.limits_ == monitor.limits_
