"""Components that depend on a target: Barshan's problem literally, kernel PCA at one end, chance at the other."""

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelPCA, SupervisedKernelPCA
from mercer.app.cli import main
from mercer.eigen import Landmarks
from mercer.kernels import RBF, Polynomial

N = 60
RNG = np.random.default_rng(0)
X = np.r_[RNG.normal(size=(20, 4)), RNG.normal(size=(40, 4)) + [2, 0, 1, 0]]
Y_CLASSES = np.repeat(["a", "b", "c"], [20, 25, 15])
Y_NUMBERS = X[:, 0] ** 2 + X[:, 1]
TARGETS = {"classes": Y_CLASSES, "class_sizes": Y_CLASSES, "numbers": Y_NUMBERS, "rbf": Y_NUMBERS}
SOLVERS = ["auto", "exact", "davidson", "lanczos", Landmarks(N)]


def features(x):
    """The explicit features of Polynomial(2, gamma=1, coef0=1)."""
    i, j = np.triu_indices(x.shape[1])
    squares = x[:, i] * x[:, j] * np.where(i == j, 1, np.sqrt(2))
    return np.c_[np.ones(len(x)), np.sqrt(2) * x, squares]


def target_matrix(kind, y):
    """L over y, as the papers write it, on the scale of covariances: HLH has the largest eigenvalue n."""
    onehot = (y[:, None] == np.unique(y)).astype(float)
    L = {
        "classes": lambda: onehot / onehot.sum(0) @ onehot.T,
        "class_sizes": lambda: onehot @ onehot.T,
        "numbers": lambda: np.outer(y, y),
        "rbf": lambda: RBF().bind(y[:, None])(y[:, None], y[:, None]),
    }[kind]()
    H = np.eye(len(y)) - 1 / len(y)
    return L * len(y) / np.linalg.eigvalsh(H @ L @ H)[-1]


def gram_of_axes(model):
    axes = model.subspace_.axes
    return axes.inner(axes)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("a", [0.3, 1.0])
@pytest.mark.parametrize("kind", TARGETS)
def test_equals_the_n_by_n_problem_in_an_explicit_feature_space(kind, a, solver):
    F, y = features(X), TARGETS[kind]
    H = np.eye(N) - 1 / N
    objective = F.T @ H @ ((1 - a) * np.eye(N) + a * target_matrix(kind, y) / N) @ H @ F / N
    lam, U = np.linalg.eigh(objective)
    model = SupervisedKernelPCA(2, supervision=a, kernel=Polynomial(2, 1.0, 1.0), target=kind, solver=solver).fit(X, y)
    found = (1 - a) * model.explained_variance_ + a * model.dependence_
    np.testing.assert_allclose(found, lam[::-1][: len(found)], rtol=1e-5)
    scores = (F - F.mean(0)) @ U[:, ::-1][:, : len(found)]
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(scores), atol=1e-4 * np.abs(scores).max())
    np.testing.assert_allclose(
        gram_of_axes(model), np.eye(len(found)), atol=1e-12 if solver in ("auto", "exact") else 1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_supervision_0_is_kernel_pca_exactly(kernel):
    plain, model = KernelPCA(3, kernel=kernel).fit(X), SupervisedKernelPCA(3, supervision=0, kernel=kernel).fit(X)
    np.testing.assert_array_equal(model.transform(X), plain.transform(X))
    np.testing.assert_array_equal(model.fit_transform(X), plain.fit_transform(X))
    np.testing.assert_array_equal(model.explained_variance_, plain.explained_variance_)


def test_the_problem_has_the_rank_of_the_target_and_axes_are_orthonormal():
    model = SupervisedKernelPCA().fit(X, Y_CLASSES)
    assert model.n_components_ == 2
    assert model.solver_.passes == 1
    np.testing.assert_allclose(gram_of_axes(model), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, model.transform(X).var(axis=0))
    groups = [model.transform(X[c == Y_CLASSES]) for c in model.classes_]
    between = sum(len(g) / N * g.mean(0) ** 2 for g in groups)  # the dependence is the variance between classes
    np.testing.assert_allclose(model.dependence_, between)
    assert SupervisedKernelPCA().fit(X, Y_NUMBERS).n_components_ == 1


@pytest.mark.parametrize("a", [0.4, 1.0])
@pytest.mark.parametrize("solver", ["auto", Landmarks(N)], ids=str)
def test_weights_count_copies(a, solver):
    counts = np.arange(N) % 3
    repeated = np.repeat(np.arange(N), counts)
    model = SupervisedKernelPCA(2, supervision=a, kernel=RBF(0.2), solver=solver)
    weighted = model.fit(X, Y_CLASSES, sample_weight=counts).transform(X)
    dependence = model.dependence_
    copies = SupervisedKernelPCA(2, supervision=a, kernel=RBF(0.2), solver="exact").fit(
        X[repeated], Y_CLASSES[repeated]
    )
    np.testing.assert_allclose(np.abs(weighted), np.abs(copies.transform(X)), atol=1e-6)
    np.testing.assert_allclose(dependence, copies.dependence_, rtol=1e-6)


def test_precomputed_files_preimages_and_shares(tmp_path):
    model = SupervisedKernelPCA(kernel=RBF(0.2)).fit(X, Y_CLASSES)
    K = RBF(0.2)(X, X)
    by_matrix = SupervisedKernelPCA(kernel="precomputed").fit(K, Y_CLASSES)
    np.testing.assert_allclose(by_matrix.transform(K), model.transform(X), atol=1e-10)
    assert model.inverse_transform(model.transform(X)).shape == model.denoise(X).shape == X.shape
    assert np.all(model.reconstruction_error(X) >= 0)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.classes_.tolist() == ["a", "b", "c"]
    assert SupervisedKernelPCA(1e-6, supervision=0.5).fit(X, Y_CLASSES).n_components_ == 1


def test_a_random_target_is_reported():
    rng = np.random.default_rng(1)
    y = rng.permutation(Y_CLASSES)
    with pytest.warns(mercer.ComponentsWarning, match="hardly depend on the target"):
        model = SupervisedKernelPCA(random_state=0).fit(X, y)
    random = model.permutation_test(X, y)
    p_values = [model.permutation_test(X, rng.permutation(y)).p_value for _ in range(10)]  # uniform in (0, 1)
    assert 0.2 < np.mean(p_values) < 0.8
    assert random.dependence == pytest.approx(model.total_dependence_)
    assert abs(random.null.mean() / model.chance_ - 1) < 4 * random.null.std() / model.chance_ / np.sqrt(99)
    assert SupervisedKernelPCA(random_state=0).fit(X, Y_CLASSES).permutation_test(X, Y_CLASSES).p_value == 0.01


def test_dask_gives_the_model_of_the_rows_in_memory():
    da = pytest.importorskip("dask.array", reason="pip install 'mercer[dask]'")
    model = SupervisedKernelPCA(2, supervision=0.5, kernel=RBF(0.2), solver=Landmarks(20), random_state=0)
    expected = model.fit(X, Y_CLASSES).transform(X)
    lazy = model.fit(da.from_array(X, chunks=(17, 4)), Y_CLASSES).transform(X)
    np.testing.assert_allclose(lazy, expected, atol=1e-8)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")  # the targets of the checks are random
@parametrize_with_checks([SupervisedKernelPCA(), SupervisedKernelPCA(2, supervision=0.5)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_wrong_targets_are_refused():
    for y, message in ((None, "requires y"), (np.ones(N), "constant"), (Y_CLASSES[1:], "59")):
        with pytest.raises(ValueError, match=message):
            SupervisedKernelPCA().fit(X, y)


def test_the_command_line_takes_classes_and_numbers(tmp_path):
    flowers, species = load_iris(return_X_y=True)
    table = "a,b,c,d,species\n" + "\n".join(
        ",".join(map(str, row)) + f",s{label}" for row, label in zip(flowers, species, strict=True)
    )
    (tmp_path / "iris.csv").write_text(table)
    for target, q, kind in (("species", 2, "classes"), ("c", 1, "numbers")):
        path = str(tmp_path / f"{target}.mercer")
        command = ["fit", str(tmp_path / "iris.csv"), "-o", path, "--model", "supervised", "--target", target]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        model = mercer.io.read(path).model
        assert (model.n_components_, model.target) == (q, kind)
