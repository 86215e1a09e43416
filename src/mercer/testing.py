"""Laws that every kernel, operator and eigensolver obeys, for those of mercer and for your own.

``check_kernel``, ``check_operator`` and ``check_solver`` are plain functions: they return nothing where all is well and
raise ``AssertionError`` with the law that is broken and by how much. Each runs a tuple of single laws
(``KERNEL_LAWS``, ``OPERATOR_LAWS``, ``SOLVER_LAWS``), which can be run, and selected, one by one.
"""

from numbers import Real

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import config_context
from sklearn.base import clone

from . import tiles
from .eigen import Exact, choose, eigenpairs
from .gram import Dense
from .kernels import Profile

__all__ = ["KERNEL_LAWS", "OPERATOR_LAWS", "SOLVER_LAWS", "check_kernel", "check_operator", "check_solver"]

ROUNDING = 100  # units in the last place, of the largest entry
LAPACK_RATIO = 30  # the threshold of LAPACK's own tests
ITERATIVE_TOL = 1e-6  # the residual of an iterative solver that states none, as a share of λ₁
DIFFERENCE = 1e-5  # step of a central difference, as a share of t: its error is about 1e-10
DIFFERENCE_TOL = 1e-6
SIMPLE = 1e-4  # a gap to the next eigenvalue, as a share of λ₁, above which a vector is determined
NOISE = 1e-12  # of the largest entry: what must flip no sign


def check_kernel(kernel, X, dtypes=(np.float64, np.float32)):
    """Check a kernel on the rows of X: symmetry, definiteness, diagonal, binding, parameters, dtypes, layouts.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> from mercer.testing import check_kernel
    >>> check_kernel(Polynomial(degree=2), np.random.default_rng(0).normal(size=(30, 3)))
    """
    for law in KERNEL_LAWS:
        for dtype in dtypes:
            _obeyed(law, kernel, np.array(X, dtype))


def check_operator(A, reference):
    """Check an operator against the matrix that it stands for: products, diagonal, columns, and every tile height."""
    reference = np.asarray(reference, float)
    for law in OPERATOR_LAWS:
        _obeyed(law, A, reference)


def check_solver(solver, A, q, tol=None):
    """Check a solver, or the name of one, on a symmetric positive semi-definite matrix A: q largest pairs.

    ``tol`` is the residual ‖Av − λv‖ that is accepted, as a share of λ₁; by default LAPACK's own threshold for the
    exact solver, and the solver's ``tol`` or 1e-6 for others.
    """
    for law in SOLVER_LAWS:
        _obeyed(law, solver, np.asarray(A), q, tol)


def _obeyed(law, subject, *args):
    try:
        law(subject, *args)
    except AssertionError as error:
        raise AssertionError(f"{subject!r} breaks a law: {law.__doc__}\n{error}") from error


# Kernels: each law takes a kernel as its user wrote it, and rows.


def symmetric(kernel, X):
    """k(X, Y) = k(Y, X)ᵀ, of shape (n, m), for any numbers of rows."""
    k = kernel.bind(X)
    for n in sorted({1, len(X) // 2, len(X)}):
        K, transposed = k(X[:n], X), k(X, X[:n])
        _same(K.shape, (n, len(X)), "the shape of k(X, Y)")
        _close(K, transposed.T, "k(X, Y) and k(Y, X)ᵀ", scale=_size(k(X, X)))


def definite(kernel, X):
    """No eigenvalue of k(X, X) is below −n·ε·λ₁, unless the kernel says that it is not definite."""
    k = kernel.bind(X)
    if not k.definite:
        return
    K = k(X, X)
    values = np.linalg.eigvalsh((K.astype(float) + K.T) / 2)
    lowest, bound = values[0], -len(X) * np.finfo(K.dtype).eps * abs(values[-1])
    assert lowest >= bound, f"k(X, X) is not positive semi-definite: an eigenvalue is {lowest:.3g} < {bound:.3g}"


def diagonal(kernel, X):
    """diag(X) is the diagonal of k(X, X), of the dtype of X."""
    k = kernel.bind(X)
    K, diag = k(X, X), k.diag(X)
    _same(diag.shape, (len(X),), "the shape of diag")
    _same(diag.dtype, X.dtype, "the dtype of diag")
    _close(diag, K.diagonal(), "diag(X) and the diagonal of k(X, X)", scale=_size(K))


def prepared(kernel, X):
    """onto(Z), called for one tile of rows after another, is k(X, Z)."""
    k = kernel.bind(X)
    K, onto = k(X, X), k.onto(X)
    for rows in (slice(0, 1), slice(1, None), slice(0, None)):
        _close(onto(X[rows]), K[rows], "onto(Z)(X) and k(X, Z)", scale=_size(K))


def fused(kernel, X):
    """product(Z, B)(X) is k(X, Z) @ B, and the shares of symmetric(X) add up to k(X, X) @ B."""
    k = kernel.bind(X)
    K, B = k(X, X), np.random.default_rng(0).normal(size=(len(X), 3)).astype(X.dtype)
    expected, scale = K.astype(float) @ B, _size(np.abs(K) @ np.abs(B))
    k_B, _ = k.product(X, B)
    for rows in (slice(0, 1), slice(0, None)):
        _close(k_B(X[rows]), expected[rows], "product(Z, B)(X) and k(X, Z) @ B", scale, X.dtype)
    share = k.symmetric(X)
    for shares in (1, 2, 5) if share else ():
        total = sum(share(B, i, shares) for i in range(shares))
        _close(total, expected, f"the sum of {shares} shares and k(X, X) @ B", scale, X.dtype)


def bound_once(kernel, X):
    """bind leaves the kernel as it was, fills in numbers, and has nothing left to do the second time."""
    before = clone(kernel)
    bound = kernel.bind(X)
    assert bound is not kernel, "bind returned the kernel itself, not a copy"
    assert kernel == before, f"bind changed {before!r} into {kernel!r}"
    for name, value in bound.get_params().items():
        if name.split("__")[-1] == "gamma":
            assert isinstance(value, Real), f"bind left {name}={value!r}"
    twice = bound.bind(X)
    assert twice == bound, f"bind gave {bound!r}, and bind of that {twice!r}"


def weighted(kernel, X):
    """A row of weight 2 binds the kernel as a row that stands twice does."""
    weights = 1.0 + (np.arange(len(X)) % 3 == 0)
    by_weight = kernel.bind(X, weights)
    by_count = kernel.bind(np.repeat(X, weights.astype(int), axis=0))
    _close(by_weight(X, X), by_count(X, X), "k(X, X) bound to weights and to repeated rows")


def parameters(kernel, X):
    """clone, get_params, set_params and == agree with one another, before and after bind."""
    for k in (kernel, kernel.bind(X)):
        assert clone(k) == k, f"clone({k!r}) is not equal to it"
        assert type(k)(**k.get_params(deep=False)) == k, f"{k!r} is not made again by its own parameters"
        assert clone(k).set_params(**k.get_params()) == k, f"set_params(**get_params()) changed {k!r}"
        for name, value in k.get_params().items():
            if isinstance(value, Real):
                other = clone(k).set_params(**{name: value + 1})
                _same(other.get_params()[name], value + 1, f"{name} after set_params")
                assert other != k, f"{k!r} is equal to {other!r}"
                _same(k.get_params()[name], value, f"{name} after set_params of a clone")


def unwritten(kernel, X):
    """Rows are not written to, and may be read-only, in Fortran's order, or strided backwards."""
    k = kernel.bind(X)
    K, diag = k(X, X), k.diag(X)
    for name, rows in _layouts(X).items():
        before = rows.copy()
        again = kernel.bind(rows)
        what = f"on {name} rows and on contiguous ones"
        _close(again(rows, rows), K, f"k(X, X) {what}")
        _close(again.diag(rows), diag, f"diag(X) {what}")
        assert np.array_equal(rows, before), f"the kernel wrote to {name} rows"


def single_precision(kernel, X):
    """float32 rows give a float32 matrix, near the one of the same rows in float64."""
    low = X.astype(np.float32)
    k = kernel.bind(low)
    K = k(low, low)
    _same(K.dtype, np.dtype(np.float32), "the dtype of k(X, X) on float32 rows")
    _close(K, k(low.astype(float), low.astype(float)), "k(X, X) in float32 and in float64", dtype=np.float32)


def slope_of_profile(kernel, X):
    """slope is the derivative of profile, and does not write to its argument."""
    k = kernel.bind(X.astype(float))
    if not isinstance(k, Profile):
        return
    t = _statistics(k)
    before, h = t.copy(), DIFFERENCE * t
    difference = (k.profile(t + h) - k.profile(t - h)) / (2 * h)
    slope = k.slope(t)
    assert np.array_equal(t, before), "slope wrote to its argument"
    _within(slope, difference, DIFFERENCE_TOL * _size(slope), "slope and the difference quotient")


def inverse_of_profile(kernel, X):
    """inverse(profile(t)) = t, as far as the rounding of profile(t) lets it be known."""
    k = kernel.bind(X.astype(float))
    if not hasattr(k, "inverse"):
        return
    t = _statistics(k)
    value, slope = k.profile(t.copy()), k.slope(t.copy())
    tol = ROUNDING * np.finfo(float).eps * (t + np.abs(value / slope))
    _within(k.inverse(value.copy()), t, tol, "inverse(profile(t)) and t")


def sparse_rows(kernel, X):
    """Sparse rows give the array that dense rows give, on either side, where the kernel takes them."""
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
                _close(actual, K, f"{what} and that of dense rows")
            _close(k.diag(S), diag, "diag of sparse and of dense rows")


KERNEL_LAWS = (
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
    inverse_of_profile,
    sparse_rows,
)


def _statistics(k):
    """Values of t from far below to far above the width of the kernel."""
    unit = 1 / (getattr(k, "gamma", None) or 1.0)
    return unit * np.geomspace(1e-3, 20, 40)


def _layouts(X):
    """The same rows, in other ways of memory."""
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "read-only": frozen,
        "Fortran-ordered": np.asfortranarray(X),
        "backward": np.ascontiguousarray(X[::-1])[::-1],
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
    }


# Operators: each law takes the operator and the matrix that it stands for, in float64.


def shaped(A, reference):
    """shape and dtype are those of a real symmetric matrix."""
    _same(tuple(A.shape), reference.shape, "the shape of the operator")
    assert np.issubdtype(A.dtype, np.floating), f"the operator's dtype is {A.dtype}, not a floating one"


def multiplies(A, reference):
    """A @ V is the matrix's product, of A's dtype, for V of any dtype, layout and number of columns."""
    for p in (0, 1, 4):
        V = _block(A, p)
        frozen = V.astype(A.dtype)
        frozen.flags.writeable = False
        for name, block in {"float64": V, "Fortran-ordered": np.asfortranarray(V), "read-only": frozen}.items():
            _product(A, block, reference, f"A @ V for a {name} V of {p} columns")


def linear(A, reference):
    """A @ (aV + bW) = a(A @ V) + b(A @ W)."""
    V, W = _block(A, 3), _block(A, 3, seed=1)
    tol = ROUNDING * np.finfo(A.dtype).eps * _size(np.abs(reference) @ (2 * np.abs(V) + 3 * np.abs(W)))
    _within(A @ (2 * V - 3 * W), 2 * (A @ V) - 3 * (A @ W), tol, "A @ (2V − 3W) and 2(A @ V) − 3(A @ W)")


def has_diagonal(A, reference):
    """diag() is the diagonal."""
    _close(A.diag(), reference.diagonal(), "diag() and the matrix's diagonal", scale=_size(reference), dtype=A.dtype)


def has_columns(A, reference):
    """columns(index) are those columns, in the order of the index."""
    n = len(reference)
    for index in (np.array([0]), np.array([n - 1, 0]), np.arange(n)[::-1], np.array([n // 2, n // 2])):
        _close(A.columns(index), reference[:, index], f"columns({index})", scale=_size(reference), dtype=A.dtype)


def has_blocks(A, reference):
    """block(index) are the entries between those rows and columns."""
    index = np.array([len(reference) - 1, 0, len(reference) // 2])
    expected = reference[np.ix_(index, index)]
    _close(A.block(index), expected, f"block({index})", scale=_size(reference), dtype=A.dtype)


def has_dense(A, reference):
    """dense() is the matrix as a new float64 array, accurate beyond A's dtype where A's entries are known so."""
    first = A.dense()
    _same(first.dtype, np.dtype(float), "the dtype of dense()")
    _close(first, reference, "dense() and the matrix", dtype=A.dtype)
    _close(first, first.T, "dense() and its transpose", dtype=float)
    first[:] = 0
    _close(A.dense(), reference, "dense() and the matrix, after the first dense() was written to", dtype=A.dtype)


def untiled(A, reference):
    """Nothing depends on the tiles, from one row in a tile to all rows in one."""
    n, V, index = len(reference), _block(A, 3), np.array([len(reference) // 2, 0])
    for height in sorted({1, 7, max(n - 1, 1), n, n + 5}):
        with tile_height(height, height), np.errstate(all="raise", under="ignore"):
            what = f"for tiles of {height} rows"
            _product(A, V, reference, f"A @ V {what}")
            _close(A.columns(index), reference[:, index], f"columns {what}", scale=_size(reference), dtype=A.dtype)
            _close(A.dense(), reference, f"dense() {what}", dtype=A.dtype)


OPERATOR_LAWS = (shaped, multiplies, linear, has_diagonal, has_columns, has_blocks, has_dense, untiled)


def tile_height(height, width):
    """A context in which tiles of rows with ``width`` entries have ``height`` rows, as far as the cache lets them."""
    with config_context(working_memory=1):
        entries = tiles.budget_entries()  # of a mebibyte
    return config_context(working_memory=(height * width + 0.5) / entries)


def _block(A, p, seed=0):
    return np.random.default_rng(seed).normal(size=(A.shape[0], p))


def _product(A, V, reference, what):
    actual = A @ V
    _same(actual.dtype, A.dtype, f"the dtype of {what}")
    tol = ROUNDING * np.finfo(A.dtype).eps * _size(np.abs(reference) @ np.abs(V))
    _within(actual, reference @ V, tol, f"{what} and the matrix's product")


# Solvers: each law takes the solver, a matrix, the number of pairs, and the residual that is accepted.


def counted(solver, A, q, tol):
    """There are q pairs, or as many as the rank of A is, and the values fall.

    The rank lies between what is above rounding in A's dtype and what is above rounding in float64.
    """
    pairs = _pairs(solver, A, q)
    values = np.linalg.eigvalsh(A.astype(float))
    fewest, most = (int(np.sum(values > len(A) * np.finfo(dtype).eps * values[-1])) for dtype in (A.dtype, float))
    count = len(pairs.values)
    assert min(q, fewest) <= count <= min(q, most), (
        f"{solver!r} gave {count} pairs where {q} are asked for and the rank is {fewest} to {most}"
    )
    _same(pairs.vectors.shape, (len(A), count), f"the shape of the vectors of {solver!r}")
    assert np.all(np.diff(pairs.values) <= 0), f"{solver!r} gave values that do not fall: {pairs.values}"


def orthonormal(solver, A, q, tol):
    """LAPACK's ratio ‖I − VᵀV‖ / (n·ε) is below 30."""
    V = _pairs(solver, A, q).vectors
    error = np.linalg.norm(np.eye(V.shape[1]) - V.T.astype(float) @ V, 1)
    ratio = error / (len(A) * np.finfo(V.dtype).eps)
    assert ratio < LAPACK_RATIO, f"{solver!r}: ‖I − VᵀV‖/(n·ε) = {ratio:.3g}, and below {LAPACK_RATIO} is right"


def converged(solver, A, q, tol):
    """‖Av − λv‖ is within the tolerance, and the report says what it is."""
    pairs = _pairs(solver, A, q)
    residual = np.linalg.norm(A.astype(float) @ pairs.vectors - pairs.vectors * pairs.values, axis=0).max(initial=0)
    share = residual / max(np.abs(np.linalg.eigvalsh(A.astype(float))).max(), np.finfo(float).tiny)
    accepted = _accepted(solver, A, q, tol)
    assert share <= accepted, f"{solver!r}: a residual is {share:.3g} of λ₁, and {accepted:.3g} is accepted"
    reported = pairs.info.residual * pairs.values.max(initial=0)
    rounding = LAPACK_RATIO * len(A) * np.finfo(A.dtype).eps * pairs.values.max(initial=0)
    _within(reported, residual, rounding, f"the residual that {solver!r} reports and its own")


def leading(solver, A, q, tol):
    """The values are the largest ones that numpy.linalg.eigh finds."""
    pairs = _pairs(solver, A, q)
    values = np.linalg.eigvalsh(A.astype(float))[::-1][: len(pairs.values)]
    accepted = _accepted(solver, A, q, tol) * np.abs(values).max(initial=0)
    _within(pairs.values, values, accepted, f"the eigenvalues of {solver!r} and of numpy.linalg.eigh")


def steady(solver, A, q, tol):
    """A second run gives the same bits; noise of 1e-12 turns no vector that is determined by A."""
    first, second = _pairs(solver, A, q), _pairs(solver, A, q)
    assert np.array_equal(first.vectors, second.vectors), f"{solver!r} gave other bits the second time"
    noise = NOISE * np.abs(A).max() * np.random.default_rng(0).normal(size=A.shape)
    noisy = _pairs(solver, (A + noise + noise.T).astype(A.dtype), q)
    values = np.linalg.eigvalsh(A.astype(float))[::-1]
    gaps = np.minimum(-np.diff(values, prepend=np.inf), -np.diff(values, append=-np.inf))
    simple = np.flatnonzero(gaps[: len(first.values)] > SIMPLE * values[0])
    cosines = np.sum(first.vectors[:, simple] * noisy.vectors[:, simple], axis=0)
    assert np.all(cosines > 0), f"{solver!r}: noise of {NOISE} flipped the signs of the vectors {simple[cosines <= 0]}"


SOLVER_LAWS = (counted, orthonormal, converged, leading, steady)


def _pairs(solver, A, q):
    return eigenpairs(Dense(A), q, solver, np.random.default_rng(0))


def _accepted(solver, A, q, tol):
    """The residual that is accepted: a rounding at least."""
    rounding = LAPACK_RATIO * len(A) * np.finfo(A.dtype).eps
    solver = choose(solver, len(A), q)
    if isinstance(solver, Exact):
        return LAPACK_RATIO * len(A) * np.finfo(float).eps
    return max(rounding, tol or getattr(solver, "tol", 0) or ITERATIVE_TOL)


# Comparisons: each says what was compared, and by how much it differs.


def _size(values):
    return float(np.abs(values).max(initial=0))


def _same(actual, expected, what):
    assert actual == expected, f"{what} is {actual}, and {expected} is right"


def _close(actual, expected, what, scale=None, dtype=None):
    """Equal to rounding in ``dtype``, of the largest entry."""
    scale = _size(expected) if scale is None else scale
    eps = np.finfo(np.asarray(actual).dtype if dtype is None else dtype).eps
    _within(actual, expected, ROUNDING * eps * scale, what)


def _within(actual, expected, tol, what):
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    _same(actual.shape, expected.shape, f"the shape of {what}")
    excess = np.abs(actual - expected) - tol
    if excess.size and not np.all(excess <= 0):  # NaN fails too
        worst = np.unravel_index(np.argmax(np.nan_to_num(excess, nan=np.inf)), excess.shape)
        raise AssertionError(
            f"{what} differ: {actual[worst]:.17g} and {expected[worst]:.17g} at {tuple(map(int, worst))}, "
            f"more than {np.broadcast_to(tol, excess.shape)[worst]:.3g} apart"
        )
