"""Laws of pre-images: each is a function of a method, a kernel that it supports, and rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from ..kernels import Kernel, Linear
from ..preimage import as_preimage
from ..rkhs import Expansion, Subspace, principal_subspace
from .comparisons import obeyed, same, size, within

RETURN_TOL = 1e-3  # of the size of the rows: the tolerance of an iteration
DISTANCE_TOL = 1e-6  # of the largest k(x, x): the same in feature space, for squares
SINGLE_TOL = 0.05  # of the size of the rows: iterations in single precision may end elsewhere on a flat top
FAR = 1e3  # times the size of the rows
SOME = 5  # vectors of each kind
MIDDLES = 10  # vectors between two rows
HALF = 0.5  # of the squared distance of the nearest anchor: a point that is nearer than this is clearly better …
GAINED = 0.75  # … and an exact method gains this share of what it gains, or more
SAME_POINT = 1e-9  # of the size of the rows: the distance of points that are the same


def check_preimage(method: Any, kernel: Kernel, X: Any) -> None:
    """Check a pre-image method, or the name of one, with a kernel on the rows of X.

    The pre-image of the image of a row is that row (for methods that declare ``exact``), and that of a vector between
    two rows is a point between them. Iterations never end farther away than they began. Results are finite far away,
    for repeated rows, zero vectors and a single anchor. The linear kernel gives linear PCA, the reported error is
    correct, and results depend neither on the other vectors nor on the precision.

    Parameters
    ----------
    method : str or method
        The method, or its name.
    kernel : Kernel
        A kernel that the method supports.
    X : array-like of shape (n_samples, n_features)
        Rows for the checks: a few dozen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.preimage import Smoother
    >>> from mercer.testing import check_preimage
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> check_preimage("fixed_point", RBF(0.3), X)  # obeys all laws
    >>> class Claim(Smoother):
    ...     exact = True  # although weighted means do not return to the rows
    >>> try:
    ...     check_preimage(Claim(), RBF(0.3), X)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0].partition(" breaks a law: ")[2])
    The image of a row comes back to the row, given as its own expansion and by all of its coordinates.
    """
    for law in PREIMAGE_LAWS:
        obeyed(law, as_preimage(method, kernel.bind(X)), kernel, np.asarray(X, float))


def returns(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """The image of a row comes back to the row, given as its own expansion and by all of its coordinates."""
    if not getattr(method, "exact", False):
        return
    subspace, some = _subspace(kernel, X), X[:SOME]
    units = Expansion(subspace.kernel, subspace.Z, np.eye(len(subspace.Z))[:, :SOME])
    nearest = method.bind(subspace)
    within(nearest(units).X, subspace.Z[:SOME], RETURN_TOL * size(X), "the pre-images of φ(z) and z")
    lifted = subspace.lift(subspace.project(some))
    within(nearest(lifted).X, some, RETURN_TOL * size(X), "the pre-images of all coordinates of x and x")


def moves(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """A vector between two rows has a pre-image between them: not the nearest anchor, nor the starting point.

    The point in the middle is known. Vectors for which it is not clearly nearer than every anchor (a kernel with a
    kink at each row) are left out, and methods that return anchors by definition (``of_anchors``) are not judged.
    """
    if getattr(method, "of_anchors", False):
        return
    subspace, some = _subspace(kernel, X), X[:MIDDLES]
    middle = (some + _neighbours(X, MIDDLES)) / 2
    target = subspace.lift(subspace.project(middle))
    known = _distances(subspace.kernel, middle, target).diagonal()
    anchor = _distances(subspace.kernel, subspace.Z, target).min(axis=0)
    clear = known < HALF * anchor
    if not clear.any():
        return
    for what, near in {"": None, ", which it was given to begin from": some}.items():
        result = method.bind(subspace)(target, near)
        away = np.abs(result.X[clear][:, None] - X).max(axis=2).min(axis=1)
        assert away.max() > SAME_POINT * size(X), f"every vector between two rows has a row as its pre-image{what}"
        if getattr(method, "exact", False) or hasattr(method, "max_iter"):
            bar = (known + (1 - GAINED) * (anchor - known))[clear]
            worst = np.max(result.error[clear] / bar)
            assert worst <= 1, (
                f"the pre-image of a vector between two rows is too far off: its squared "
                f"distance is {worst:.3g} times what is accepted, and the nearest anchor's "
                f"{np.max(anchor[clear] / bar):.3g}"
            )


def _neighbours(X: np.ndarray, p: int) -> np.ndarray:
    """For each of the first p rows the nearest other row."""
    t = np.sum((X[:p, None] - X) ** 2, axis=2)
    return X[np.where(t > 0, t, np.inf).argmin(axis=1)]


def descends(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """A method that iterates ends no farther from the vector than the nearest anchor, or than the given row."""
    if not hasattr(method, "max_iter"):
        return
    subspace = _subspace(kernel, X, q=2)
    for target, rows in _targets(subspace, X):
        begin = np.min(_distances(subspace.kernel, subspace.Z, target), axis=0)
        found = method.bind(subspace)(target).error
        rounding = DISTANCE_TOL * (size(subspace.kernel.diag(X)) + size(begin))
        assert np.all(found <= begin + rounding), f"an iteration began {begin} off and ended {found} off"
        given = _distances(subspace.kernel, rows, target).diagonal()
        found = method.bind(subspace)(target, rows).error
        assert np.all(found <= given + rounding), (
            f"an iteration began {given} off, at given rows, and ended {found} off"
        )


def finite(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """Results are finite: far away, for repeated rows, for zero vectors, and with a single anchor."""
    repeated = np.vstack([X, X[:SOME], X[:SOME]])
    for rows in (X, repeated, X[:1]):
        subspace = _subspace(kernel, rows, q=2)
        nearest = method.bind(subspace)
        zero = Expansion(subspace.kernel, subspace.Z, np.zeros((len(subspace.Z), 2)))
        for target, _ in [*_targets(subspace, X), (zero, X[:2])]:
            result = nearest(target)
            same(result.X.shape, (len(target), X.shape[1]), "the shape of the points")
            for name in ("X", "error"):
                assert np.all(np.isfinite(getattr(result, name))), f"{name} is not finite for {len(rows)} rows"


def linear_is_pca(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """With the linear kernel it is the inverse of linear PCA, for exact methods that support it."""
    subspace = _subspace(Linear(), X, q=2)
    if not getattr(method, "exact", False) or not _serves(method, subspace):
        return
    pca = PCA(2).fit(X)
    back = method.bind(subspace)(subspace.lift(subspace.project(X))).X
    within(back, pca.inverse_transform(pca.transform(X)), RETURN_TOL * size(X), "the pre-images and those of PCA")


def truthful(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """The report has an entry for each vector, and its error is ‖φ(x) − f‖²."""
    subspace = _subspace(kernel, X, q=2)
    for target, _ in _targets(subspace, X):
        result = method.bind(subspace)(target)
        for name in ("error", "n_iter", "fallback"):
            same(getattr(result, name).shape, (len(target),), f"the shape of {name}")
        distances = _distances(subspace.kernel, result.X, target).diagonal()
        within(result.error, distances, DISTANCE_TOL * max(size(distances), 1), "the error and ‖φ(x) − f‖²")


def one_by_one(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """The pre-image of a vector does not depend on the others, and no argument is overwritten."""
    subspace = _subspace(kernel, X, q=2)
    Z, B = subspace.Z.copy(), subspace.axes.B.copy()
    for target, rows in _targets(subspace, X):
        nearest, before = method.bind(subspace), (target.B.copy(), rows.copy())
        alone = np.vstack([nearest(target[j], rows[j : j + 1]).X for j in range(len(target))])
        within(alone, nearest(target, rows).X, RETURN_TOL * size(X), "the pre-images one by one and all at once")
        assert np.array_equal(target.B, before[0]), "a vector was written to"
        assert np.array_equal(rows, before[1]), "the rows to begin from were written to"
    assert np.array_equal(subspace.Z, Z), "the anchors were written to"
    assert np.array_equal(subspace.axes.B, B), "the axes were written to"


def single_precision(method: Any, kernel: Kernel, X: np.ndarray) -> None:
    """float32 gives float32, close to the result in float64."""
    low = X.astype(np.float32)
    single, double = _subspace(kernel, low, q=2), _subspace(kernel, low.astype(float), q=2)
    some = low[: 2 * SOME]
    back = method.bind(single)(single.lift(single.project(some)), some).X
    same(back.dtype, np.dtype(np.float32), "the dtype of the points")
    expected = method.bind(double)(double.lift(double.project(some.astype(float))), some.astype(float)).X
    typical = np.median(np.abs(back - expected))
    assert typical <= SINGLE_TOL * size(X), f"single and double precision differ by {typical:.3g} in the median"


PREIMAGE_LAWS: tuple[Callable[[Any, Kernel, np.ndarray], None], ...] = (
    returns,
    moves,
    descends,
    finite,
    linear_is_pca,
    truthful,
    one_by_one,
    single_precision,
)


def _subspace(kernel: Kernel, X: np.ndarray, q: int | None = None) -> Subspace:
    """The principal subspace of the rows, all of which are anchors."""
    return principal_subspace(kernel.bind(X), X, q, solver="exact")


def _targets(subspace: Subspace, X: np.ndarray) -> list[tuple[Expansion, np.ndarray]]:
    """Vectors of several kinds, each with rows to begin from: projections, far ones, and one outside the subspace."""
    some, far = X[:SOME], FAR * X[:SOME]
    outside = np.random.default_rng(0).normal(size=(len(subspace.Z), SOME))
    return [
        (subspace.lift(subspace.project(some)), some + 0.1 * X.std(axis=0)),
        (subspace.lift(subspace.project(far)), far),
        (Expansion(subspace.kernel, subspace.Z, outside), some),
    ]


def _distances(kernel: Kernel, X: np.ndarray, target: Expansion) -> np.ndarray:
    """‖φ(x) − f_j‖²: (n, p)."""
    return kernel.diag(X)[:, None] - 2 * kernel(X, target.Z) @ target.B + target.sqnorms()


def _serves(method: Any, subspace: Subspace) -> bool:
    try:
        method.bind(subspace)
    except ValueError:
        return False
    return True
