"""Widths, kernels, stability and numbers of components by evidence; and the warnings that point there."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, datasets, select
from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial, sqdist
from mercer.linalg.operators import Gram
from mercer.select.kernels import WIDTHS
from mercer.select.progress import Progress, duration


def pairs(X):
    return sqdist(X, X)[np.triu_indices(len(X), 1)]


# widths


def test_rules_of_widths_are_their_formulas(X):
    n, d = X.shape
    t, table = pairs(X), select.widths(None, X).table
    assert table["median"] == pytest.approx(1 / np.median(t))
    assert table["narrow"] == pytest.approx(1 / np.quantile(t, 0.1))
    assert table["wide"] == pytest.approx(1 / np.quantile(t, 0.9))
    h = np.sqrt(np.mean(X.var(axis=0))) * (4 / (n * (d + 2))) ** (1 / (d + 4))
    assert table["silverman"] == pytest.approx(1 / (2 * h**2))


def test_the_most_varied_matrix_is_found(X):
    t, gamma = pairs(X), select.widths(None, X).table["variance"]
    best = max(np.var(np.exp(-g * t)) for g in np.geomspace(gamma / 1e3, gamma * 1e3, 3001))
    assert np.var(np.exp(-gamma * t)) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("rule", ["median", "narrow", "wide", "silverman", "variance"])
def test_widths_follow_the_scale_of_the_rows(X, rule):
    found, scaled = select.widths(None, X, rule=rule), select.widths(None, 10 * X, rule=rule)
    assert scaled.gamma == pytest.approx(found.gamma / 100, rel=1e-4)
    assert found.estimator.kernel == RBF(gamma=found.gamma)
    assert found.gamma == found.table[rule]
    assert rule in str(found)


def test_widths_of_odd_rows():
    assert all(np.isfinite(list(select.widths(None, np.ones((5, 2))).table.values())))
    many = np.random.default_rng(0).normal(size=(3000, 2))
    assert select.widths(None, many, random_state=0).gamma == pytest.approx(
        select.widths(None, many[:900]).gamma, rel=0.2
    )
    with pytest.raises(ValueError, match="at least two rows"):
        select.widths(None, np.ones((1, 2)))
    with pytest.raises(ValueError, match="rule='best'"):
        select.widths(None, np.ones((3, 2)), rule="best")


# kernels


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Matern(gamma=0.2), Linear(), Polynomial(2, gamma=0.1)], ids=repr)
def test_the_score_is_that_of_reconstruction(X, kernel):
    """One fold by hand: fit on the others, go there and back."""
    from sklearn.model_selection import KFold

    found = select.kernel(KernelPCA(3), X, kernels=[kernel], random_state=0)
    seed = int(np.random.default_rng(0).integers(2**31))
    errors = [
        -select.reconstruction(KernelPCA(3, kernel=kernel).fit(X[seen]), X[held])
        for seen, held in KFold(3, shuffle=True, random_state=seed).split(X)
    ]
    assert found.table[0].score == pytest.approx(np.mean(errors), rel=1e-3)
    assert found.best == found.estimator.kernel == kernel


def test_distances_are_computed_once(X, monkeypatch):
    """Along the path no Gram matrix is made from rows: each is a profile of the distances that are there."""

    def refuse(self):
        raise AssertionError("a Gram matrix was made from rows")

    monkeypatch.setattr(Gram, "dense", refuse)
    monkeypatch.setattr(Gram, "repeated", refuse)
    assert len(select.kernel(KernelPCA(3), X, kernels=["rbf", Matern()], random_state=0).table) == 2 * len(WIDTHS)


def test_a_search_tries_widths_where_they_are_open(X):
    kernels = ["rbf", RBF(gamma=0.5), RBF(lengthscale=np.ones(4)), Linear()]
    table = select.kernel(KernelPCA(2), X, kernels=kernels, widths=[0.1, 1.0], random_state=0).table
    assert len(table) == 2 + 3
    assert [row.score for row in table] == sorted(row.score for row in table)
    assert sum(row.kernel == RBF(gamma=0.5) for row in table) == 1


def third_split(X, q, noise, seed=0):
    """The score on rows that no search has seen, of the width that it chose, over that of the best width."""
    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))]
    ours, untouched = X[: 2 * len(X) // 3], X[2 * len(X) // 3 :]
    found = select.kernel(KernelPCA(q), ours, kernels=["rbf"], noise=noise, random_state=seed)
    untouched = np.tile(untouched, (3, 1))  # as many draws of the noise
    noisy = untouched + noise * rng.standard_normal(untouched.shape)
    scores = {}
    for row in found.table:
        model = KernelPCA(q, kernel=row.kernel).fit(ours)
        scores[row.kernel.gamma] = np.mean((model.inverse_transform(model.transform(noisy)) - untouched) ** 2)
    return scores[found.best.gamma] / min(scores.values()), found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "name, q, noise", [("clusters", 4, 0.1), ("cs", 6, 1.0), ("pima", 5, 0.0), ("pima", 20, 0.5), ("usps", 20, 0.0)]
)
def test_the_width_is_good_on_rows_that_no_search_has_seen(name, q, noise, seed):
    X = rows_of(name, seed)
    ratio, _ = third_split(X, q, noise, seed)
    assert ratio < 1.1


def rows_of(name, seed):
    if name == "clusters":
        return datasets.three_clusters(seed, n=150)
    if name == "cs":
        return datasets.two_cs(seed, n=240)[0]
    try:
        arrays = datasets.load(name)
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    X = arrays["X_train"].astype(float)
    return (X - X.mean(axis=0)) / X.std(axis=0) if name == "pima" else X[:180]


def test_noise_asks_for_a_width_inside_of_the_range():
    """Too wide gives the noise back, too narrow loses the rows."""
    _, found = third_split(datasets.two_cs(0, n=240)[0], 6, 1.0)
    places = sorted(row.kernel.gamma for row in found.table)
    assert 0 < places.index(found.best.gamma) < len(places) - 1


def test_as_many_components_as_columns_get_a_word(X):
    with pytest.warns(UserWarning, match="a nearly linear kernel reproduces every sample"):
        select.kernel(KernelPCA(4), X, kernels=["rbf"], widths=[1.0])


def test_shares_of_variance_and_all_components(X):
    for q in (0.9, None):
        found = select.kernel(KernelPCA(q), X, kernels=["rbf"], widths=[0.1, 1.0], noise=0.1, random_state=0)
        assert found.estimator.n_components == q


def test_a_search_can_be_priced_before(X):
    cost = select.kernel_cost(KernelPCA(2), X, random_state=0)
    assert cost.fits == 3 * (2 * len(WIDTHS) + 1)
    assert 0 < cost.seconds < 100
    assert "57 fits, about" in str(cost)


def test_each_kernel_is_tried_once_whatever_its_cost_was_told_by(X):
    for kernels in (["rbf"], ["linear"], ["linear", "rbf"], [RBF(gamma=0.5), "rbf", "linear"]):
        for widths in ([1.0], [0.1, 1.0], [0.1, 1.0, 10.0]):
            table = select.kernel(KernelPCA(2), X, kernels=kernels, widths=widths, random_state=0).table
            found = [repr(row.kernel) for row in table]
            assert len(found) == len(set(found)) == sum(len(widths) if k == "rbf" else 1 for k in kernels)


def test_the_cost_is_told_on_a_terminal_alone(capsys, monkeypatch):
    progress = Progress("9 kernels on 40 rows", 9, 3.0)
    progress(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    progress = Progress("9 kernels on 40 rows", 2, 3.0)
    progress(1)
    progress(2)
    word = capsys.readouterr().err
    assert word.startswith("9 kernels on 40 rows: 2 steps, about 3 s\n")
    assert "1 of 2" in word
    assert word.endswith("\n")
    assert [duration(s) for s in (0.5, 600, 7200)] == ["0.5 s", "10 min", "2.0 h"]


def test_large_tables_are_searched_by_some_rows():
    X = np.random.default_rng(0).normal(size=(500, 3))
    found = select.kernel(KernelPCA(2), X, kernels=["rbf"], widths=[1.0], max_rows=60, random_state=0)
    assert np.isfinite(found.table[0].score)


def test_bad_searches_are_refused(X):
    with pytest.raises(ValueError, match="at least 6 rows"):
        select.kernel(KernelPCA(2), X[:5])
    with pytest.raises(ValueError, match="Unknown kernel"):
        select.kernel(KernelPCA(2), X, kernels=["gauss"])
    for nothing in ({"kernels": []}, {"widths": []}):
        with pytest.raises(ValueError, match="at least one kernel and one width"):
            select.kernel(KernelPCA(2), X, **nothing)


def test_kernels_that_are_not_radial_are_compared_too(X):
    found = select.kernel(KernelPCA(2), X[:30], kernels=[Laplacian(gamma=0.2), "linear"], random_state=0)
    assert {type(row.kernel) for row in found.table} == {Laplacian, Linear}
    assert "Linear()" in str(found)


# stability


def test_the_axes_of_all_rows_are_themselves(X):
    found = select.stability(KernelPCA(3, kernel=RBF(gamma=0.2)), X, share=1.0, n_resamples=2)
    np.testing.assert_allclose(found.same, 1, rtol=1e-6)
    np.testing.assert_allclose(found.held, 1, rtol=1e-6)
    assert found.n_components == found.estimator.n_components == 3


def test_overlaps_are_inner_products_of_axes(X):
    """For the linear kernel they are those of the axes of PCA."""
    found = select.stability(KernelPCA(2, kernel="linear"), X, n_resamples=1, random_state=3)
    rows = np.sort(np.random.default_rng(3).choice(len(X), len(X) // 2, replace=False))
    axes = lambda rows: np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2]  # noqa: E731
    inner = axes(X) @ axes(X[rows]).T
    np.testing.assert_allclose(found.same[0], np.abs(inner.diagonal()), rtol=1e-6)
    np.testing.assert_allclose(found.held[0], np.sum(inner**2, axis=1), rtol=1e-6)


def test_structure_is_stable_and_noise_is_not():
    X = datasets.three_clusters(0, n=60)
    found = select.stability(KernelPCA(6, kernel=RBF(gamma=5.0)), X, random_state=0)
    assert found.n_components >= 2
    assert found.held[:, :2].mean() > 0.98 > found.same[:, 5].mean()
    assert len(found.table) == 6
    assert "component" in str(found)


def test_bad_resamples_are_refused(X):
    with pytest.raises(ValueError, match="share"):
        select.stability(KernelPCA(2), X, share=0.0)
    with pytest.raises(ValueError, match="n_resamples"):
        select.stability(KernelPCA(2), X, n_resamples=0)


# numbers of components by permutation


def test_permutation_finds_the_dimension_of_a_plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(200, 10))
    assert select.n_components(KernelPCA(kernel="linear"), X, rule="permutation", random_state=0).best == 3
    wide = KernelPCA(kernel=RBF(gamma=1e-3))
    assert select.n_components(wide, X, rule="permutation", max_components=8, random_state=0).best == 3


def test_permutation_finds_little_in_independent_columns():
    X = np.random.default_rng(0).normal(size=(200, 6))
    choice = select.n_components(KernelPCA(kernel="linear"), X, rule="permutation", random_state=0)
    assert choice.best <= 2
    assert choice.table[1] > 0.9


# warnings of fit that point to a better choice


@pytest.fixture
def many():
    return np.random.default_rng(0).normal(size=(1200, 3))


def fitted(X, **parameters):
    return KernelPCA(2, random_state=0, **parameters).fit(X)


def test_ordinary_rows_get_no_word(many):
    for kernel in ("rbf", "linear", "poly", RBF(gamma="median"), Laplacian()):
        fitted(many[:300] * [1, 30, 0.1], kernel=kernel)
    fitted(many * [1, 60, 0.1], solver="lanczos")
    fitted(np.repeat(many[:700], 2, axis=0)[:1200])


def test_a_kernel_too_wide_gets_a_word(many):
    with pytest.warns(UserWarning, match=r"too wide for these data: K ≈ 11ᵀ.*gamma=None"):
        fitted(many[:100], kernel=RBF(gamma=1e-8))
    with pytest.warns(UserWarning, match="too wide"):
        fitted(many[:100], kernel=3.0 * RBF(gamma=1e-8))
    fitted(many[:100], kernel=RBF(gamma=1e-8), center=False)  # the mean is a component


def test_a_kernel_too_narrow_gets_a_word(many):
    with pytest.warns(UserWarning, match=r"too narrow for these data: K ≈ I.*gamma=None"):
        fitted(many[:100], kernel=RBF(gamma=1e4))


def test_copies_get_a_word_and_what_it_says_is_true(many):
    X = np.repeat(many[:300], 4, axis=0)
    with pytest.warns(UserWarning, match="of 1200 rows about 300 are different.*sample_weight"):
        model = fitted(X, kernel=RBF(0.3))
    rows, counts = np.unique(X, axis=0, return_counts=True)
    weighted = KernelPCA(2, kernel=RBF(0.3)).fit(rows, sample_weight=counts)
    np.testing.assert_allclose(weighted.transform(rows), model.transform(rows), atol=1e-6)


def test_unscaled_columns_get_a_word(many):
    with pytest.warns(
        UserWarning,
        match="Column 1: the standard deviation is up to .*StandardScaler",
    ):
        fitted(many * [1, 1e4, 1], kernel=RBF(gamma="scale"))
    fitted(many * [1, 1e4, 1], kernel=RBF(lengthscale=[1.0, 1e4, 1.0]))
    fitted(many * [1, 1e4, 1], kernel="linear")  # whose axes have the units of the columns, as PCA's


def test_small_tables_that_were_not_scaled_get_the_word_too():
    for X in (load_wine().data, load_breast_cancer().data):
        with pytest.warns(UserWarning, match="Column.*StandardScaler"):
            fitted(X)
        fitted(StandardScaler().fit_transform(X))


# everything at once


@pytest.mark.parametrize("data", ["gaussian", "moons"])
def test_linear_pca_is_chosen_where_it_is_enough(data):
    rng = np.random.default_rng(0)
    curved = datasets.moons(n=150)[0]
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(150, 5))
    found = select.auto(KernelPCA(), X if data == "gaussian" else curved, max_seconds=600)
    assert found.complete
    assert found.best.linear == (data == "gaussian")
    assert ("Linear PCA is enough here" in found.explanation) == (data == "gaussian")
    assert any(row.linear for row in found.shown)
    assert "chosen" in str(found)
    assert found.estimator.n_components == found.best.settings["n_components"]


def test_a_selection_that_runs_out_of_time_has_linear_pca(X):
    found = select.auto(KernelPCA(), X, max_seconds=0)
    assert not found.complete
    assert found.best.linear
    assert "time" in found.explanation


def test_results_are_tables_of_html(X):
    from mercer import KernelPCAMixture, plan

    results = [
        select.auto(KernelPCA(), X, max_seconds=0),
        select.widths(None, X),
        select.kernel(KernelPCA(2), X, kernels=["linear"]),
        select.n_components(KernelPCA(), X),
        select.n_clusters(KernelPCAMixture(n_init=1, random_state=0), X, [1, 2]),
        select.stability(KernelPCA(2), X, n_resamples=2),
        select.preimage(KernelPCA(2), X, 0.1, methods=["smoother"], n_draws=1),
        plan(100, 3),
    ]
    for result in results:
        assert result._repr_html_().startswith("<table>")


def test_reconstruction_in_a_scaled_pipeline_is_in_scaled_units(X):
    from sklearn.pipeline import make_pipeline

    wide = X * [1, 1, 1, 1e4]
    one, other = (select.reconstruction(make_pipeline(StandardScaler(), KernelPCA(2)).fit(x), x) for x in (X, wide))
    assert one == pytest.approx(other)


def test_a_gap_that_keeps_little_is_reported():
    rng = np.random.default_rng(0)
    X = np.hstack([3 * rng.normal(size=(100, 1)), rng.normal(size=(100, 40))])
    with pytest.warns(UserWarning, match="after component 1 of .* of the variance"):
        select.n_components(KernelPCA(kernel="linear"), X, rule="gap")


def test_a_long_table_is_printed_in_part():
    choice = select.ComponentChoice({q: 1.0 / q for q in range(1, 1001)}, 500, None, "error")
    text = str(choice)
    assert "       500  0.002  ←" in text
    assert text.endswith("and 975 more in .table")
    assert choice._repr_html_().count("<tr>") == 26
