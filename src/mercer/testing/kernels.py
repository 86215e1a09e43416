"""Laws of kernels: each is a function of a kernel that is not bound to data, and of rows."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

from .._core.arrays import is_objects, precision, row_keys
from ..kernels import Kernel, Profile
from ..kernels.objects import as_objects
from .comparisons import DIFFERENCE, DIFFERENCE_TOL, ROUNDING, close, obeyed, same, size, within

MIX = 0.6  # weight of a row in its average with the mean of all rows


def check_kernel(kernel: Kernel, X: Any, dtypes: Sequence[Any] = (np.float64, np.float32)) -> None:
    """Check a kernel on the rows of X: symmetry, definiteness, diagonal, binding, parameters, dtypes, layouts.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array-like of shape (n_samples, n_features), or a list of objects
        Rows for the checks: a few dozen; objects for a kernel of objects (``rows = "objects"``).
    dtypes : sequence of dtypes, default=(float64, float32)
        Precisions to check; ignored for objects.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FromFunction, Polynomial
    >>> from mercer.testing import check_kernel
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> check_kernel(Polynomial(degree=2), X)  # obeys all laws
    >>> try:
    ...     check_kernel(FromFunction(lambda X, Y: X[:, :1] - Y[:, 0]), X)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    FromFunction(<lambda>) breaks a law: k(X, Y) = k(Y, X)ᵀ, of shape (n, m), for any numbers of rows.
    """
    objects = kernel.rows == "objects"
    for law in KERNEL_LAWS:
        for rows in [as_objects(X, kernel.whole)] if objects else (np.array(X, dtype) for dtype in dtypes):
            obeyed(law, kernel, rows)


def symmetric(kernel: Kernel, X: np.ndarray) -> None:
    """k(X, Y) = k(Y, X)ᵀ, of shape (n, m), for any numbers of rows."""
    k = kernel.bind(X)
    for n in sorted({1, len(X) // 2, len(X)}):
        K, transposed = k(X[:n], X), k(X, X[:n])
        same(K.shape, (n, len(X)), "the shape of k(X, Y)")
        close(K, transposed.T, "k(X, Y) and k(Y, X)ᵀ", scale=size(k(X, X)))


def definite(kernel: Kernel, X: np.ndarray) -> None:
    """No eigenvalue of k(X, X) is below −n·ε·λ₁, unless the kernel declares that it is not definite."""
    k = kernel.bind(X)
    if not k.definite:
        return
    K = k(X, X)
    values = np.linalg.eigvalsh((K.astype(float) + K.T) / 2)
    lowest, bound = values[0], -len(X) * np.finfo(K.dtype).eps * abs(values[-1])
    assert lowest >= bound, f"k(X, X) is not positive semi-definite: an eigenvalue is {lowest:.3g} < {bound:.3g}"


def diagonal(kernel: Kernel, X: np.ndarray) -> None:
    """diag(X) is the diagonal of k(X, X), of the dtype of X; of objects it is float64."""
    k = kernel.bind(X)
    K, diag = k(X, X), k.diag(X)
    same(diag.shape, (len(X),), "the shape of diag")
    same(diag.dtype, precision(X), "the dtype of diag")
    close(diag, K.diagonal(), "diag(X) and the diagonal of k(X, X)", scale=size(K))


def prepared(kernel: Kernel, X: np.ndarray) -> None:
    """onto(Z), called for one tile of rows after another, is k(X, Z)."""
    k = kernel.bind(X)
    K, onto = k(X, X), k.onto(X)
    for rows in (slice(0, 1), slice(1, None), slice(0, None)):
        close(onto(X[rows]), K[rows], "onto(Z)(X) and k(X, Z)", scale=size(K))


def fused(kernel: Kernel, X: np.ndarray) -> None:
    """product(Z, B)(X) is k(X, Z) @ B, and the shares of symmetric(X) add up to k(X, X) @ B."""
    k = kernel.bind(X)
    K, B = k(X, X), np.random.default_rng(0).normal(size=(len(X), 3)).astype(precision(X))
    expected, scale = K.astype(float) @ B, size(np.abs(K) @ np.abs(B))
    k_B, _ = k.product(X, B)
    for rows in (slice(0, 1), slice(0, None)):
        close(k_B(X[rows]), expected[rows], "product(Z, B)(X) and k(X, Z) @ B", scale, precision(X))
    share: Any = k.symmetric(X)
    for shares in (1, 2, 5) if share else ():
        total = sum(share(B, i, shares) for i in range(shares))
        close(total, expected, f"the sum of {shares} shares and k(X, X) @ B", scale, precision(X))


def bound_once(kernel: Kernel, X: np.ndarray) -> None:
    """bind does not change the kernel, returns one with numbers as parameters, and has no effect the second time."""
    before = clone(kernel)
    bound = kernel.bind(X)
    assert bound is not kernel, "bind returned the kernel itself, not a copy"
    assert kernel == before, f"bind changed {before!r} into {kernel!r}"
    for name, value in bound.get_params().items():
        if name.split("__")[-1] == "gamma":
            assert isinstance(value, Real), f"bind left {name}={value!r}"
    twice = bound.bind(X)
    assert twice == bound, f"bind gave {bound!r}, and bind of that {twice!r}"


def weighted(kernel: Kernel, X: np.ndarray) -> None:
    """A row of weight 2 has the same effect on bind as two equal rows."""
    weights = 1.0 + (np.arange(len(X)) % 3 == 0)
    by_weight = kernel.bind(X, weights)
    by_count = kernel.bind(np.repeat(X, weights.astype(int), axis=0))
    close(by_weight(X, X), by_count(X, X), "k(X, X) bound to weights and to repeated rows")


def parameters(kernel: Kernel, X: np.ndarray) -> None:
    """clone, get_params, set_params and == agree with one another, before and after bind."""
    for k in (kernel, kernel.bind(X)):
        assert clone(k) == k, f"clone({k!r}) is not equal to it"
        assert type(k)(**k.get_params(deep=False)) == k, f"{k!r} is not made again by its own parameters"
        assert clone(k).set_params(**k.get_params()) == k, f"set_params(**get_params()) changed {k!r}"
        for name, value in k.get_params().items():
            if isinstance(value, Real):
                other = clone(k).set_params(**{name: value + 1})
                same(other.get_params()[name], value + 1, f"{name} after set_params")
                assert other != k, f"{k!r} is equal to {other!r}"
                same(k.get_params()[name], value, f"{name} after set_params of a clone")


def unwritten(kernel: Kernel, X: np.ndarray) -> None:
    """Rows are not written to, and may be read-only, in Fortran's order, or strided backwards."""
    k = kernel.bind(X)
    K, diag = k(X, X), k.diag(X)
    for name, rows in _layouts(X).items():
        before = rows.copy()
        again = kernel.bind(rows)
        what = f"on {name} rows and on contiguous ones"
        close(again(rows, rows), K, f"k(X, X) {what}")
        close(again.diag(rows), diag, f"diag(X) {what}")
        assert _equal(rows, before), f"the kernel wrote to {name} rows"


def single_precision(kernel: Kernel, X: np.ndarray) -> None:
    """float32 rows give a float32 matrix, near the one of the same rows in float64."""
    if is_objects(X):
        return
    low = X.astype(np.float32)
    k = kernel.bind(low)
    K = k(low, low)
    same(K.dtype, np.dtype(np.float32), "the dtype of k(X, X) on float32 rows")
    close(K, k(low.astype(float), low.astype(float)), "k(X, X) in float32 and in float64", dtype=np.float32)


def slope_of_profile(kernel: Kernel, X: np.ndarray) -> None:
    """slope is the derivative of profile, and does not write to its argument."""
    if not isinstance(kernel, Profile):
        return
    k = kernel.bind(X.astype(float))
    t = _statistics(k)
    before, h = t.copy(), DIFFERENCE * t
    difference = (k.profile(t + h) - k.profile(t - h)) / (2 * h)
    slope = k.slope(t)
    assert np.array_equal(t, before), "slope wrote to its argument"
    within(slope, difference, DIFFERENCE_TOL * size(slope), "slope and the difference quotient")


def derivative(kernel: Kernel, X: np.ndarray) -> None:
    """gradient and diag_gradient are the derivatives in the first argument, if the kernel declares them."""
    if not kernel.differentiable:
        return
    Z = X.astype(float)
    k, x = kernel.bind(Z), MIX * Z + (1 - MIX) * Z.mean(axis=0)  # between the rows: no kink is there
    C, h = np.random.default_rng(0).normal(size=(len(x), len(Z))), DIFFERENCE * size(Z)
    for name, of, actual in (
        ("gradient", lambda x: np.sum(C * k(x, Z), axis=1), k.gradient(x, Z, C)),
        ("diag_gradient", k.diag, k.diag_gradient(x)),
    ):
        difference = np.column_stack([(of(x + e) - of(x - e)) / (2 * h) for e in h * np.eye(x.shape[1])])
        tol = DIFFERENCE_TOL * (size(difference) + size(of(x)) / size(Z))
        within(actual, difference, tol, f"{name} and the difference quotient")


def inverse_of_profile(kernel: Kernel, X: np.ndarray) -> None:
    """inverse(profile(t)) = t, up to the rounding of profile(t)."""
    if not hasattr(kernel, "inverse"):
        return
    k = kernel.bind(X.astype(float))
    t = _statistics(k)
    value, slope = k.profile(t.copy()), k.slope(t.copy())
    tol = ROUNDING * np.finfo(float).eps * (t + np.abs(value / slope))
    within(k.inverse(value.copy()), t, tol, "inverse(profile(t)) and t")


def sparse_rows(kernel: Kernel, X: np.ndarray) -> None:
    """Sparse rows give the same array as dense rows, on either side, if the kernel accepts them."""
    if not kernel.sparse:
        return
    for center in (False, True):
        k = kernel.bind(X, center=center)
        K, diag = k(X, X), k.diag(X)
        for container in (csr_matrix, csr_array):
            S = container(X)
            for left, right in ((S, S), (S, X), (X, S)) if not center else ((S, X),):
                actual = k(left, right)
                what = f"k({type(left).__name__}, {type(right).__name__})"
                assert type(actual) is np.ndarray, f"{what} is a {type(actual).__name__}, not an array"
                close(actual, K, f"{what} and that of dense rows")
            close(k.diag(S), diag, "diag of sparse and of dense rows")


KERNEL_LAWS: tuple[Callable[[Kernel, np.ndarray], None], ...] = (
    symmetric,
    definite,
    diagonal,
    prepared,
    fused,
    bound_once,
    weighted,
    parameters,
    unwritten,
    single_precision,
    slope_of_profile,
    derivative,
    inverse_of_profile,
    sparse_rows,
)


def _statistics(k: Kernel) -> np.ndarray:
    """Return values of t from far below to far above the width of the kernel."""
    unit = 1 / (getattr(k, "gamma", None) or 1.0)
    return unit * np.geomspace(1e-3, 20, 40)


def _equal(X: np.ndarray, Y: np.ndarray) -> bool:
    return row_keys(X) == row_keys(Y) if is_objects(X) else np.array_equal(X, Y)


def _layouts(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the same rows in other memory layouts."""
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "read-only": frozen,
        "Fortran-ordered": np.asfortranarray(X),
        "backward": np.ascontiguousarray(X[::-1])[::-1],
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
    }
