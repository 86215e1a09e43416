"""Laws of operators: each takes the operator and the matrix that it stands for, in float64."""

import numpy as np
from sklearn import config_context

from .._core import tiles
from .comparisons import ROUNDING, close, obeyed, same, size, within


def check_operator(A, reference):
    """Check an operator against the matrix that it stands for: products, diagonal, columns, and every tile height.

    Parameters
    ----------
    A : Operator
        The operator.
    reference : array-like of shape (n, n)
        The matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.eigen import Gram
    >>> from mercer.kernels import RBF
    >>> from mercer.testing import check_operator
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> check_operator(Gram(RBF(0.5), X), RBF(0.5)(X, X))
    """
    reference = np.asarray(reference, float)
    for law in OPERATOR_LAWS:
        obeyed(law, A, reference)


def shaped(A, reference):
    """shape and dtype are those of a real symmetric matrix."""
    same(tuple(A.shape), reference.shape, "the shape of the operator")
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
    tol = ROUNDING * np.finfo(A.dtype).eps * size(np.abs(reference) @ (2 * np.abs(V) + 3 * np.abs(W)))
    within(A @ (2 * V - 3 * W), 2 * (A @ V) - 3 * (A @ W), tol, "A @ (2V − 3W) and 2(A @ V) − 3(A @ W)")


def has_diagonal(A, reference):
    """diag() is the diagonal."""
    close(A.diag(), reference.diagonal(), "diag() and the matrix's diagonal", scale=size(reference), dtype=A.dtype)


def has_columns(A, reference):
    """columns(index) are those columns, in the order of the index."""
    n = len(reference)
    for index in (np.array([0]), np.array([n - 1, 0]), np.arange(n)[::-1], np.array([n // 2, n // 2])):
        close(A.columns(index), reference[:, index], f"columns({index})", scale=size(reference), dtype=A.dtype)


def has_blocks(A, reference):
    """block(index) are the entries between those rows and columns."""
    index = np.array([len(reference) - 1, 0, len(reference) // 2])
    expected = reference[np.ix_(index, index)]
    close(A.block(index), expected, f"block({index})", scale=size(reference), dtype=A.dtype)


def has_dense(A, reference):
    """dense() is the matrix as a new float64 array, accurate beyond A's dtype where A's entries are known so."""
    first = A.dense()
    same(first.dtype, np.dtype(float), "the dtype of dense()")
    close(first, reference, "dense() and the matrix", dtype=A.dtype)
    close(first, first.T, "dense() and its transpose", dtype=float)
    first[:] = 0
    close(A.dense(), reference, "dense() and the matrix, after the first dense() was written to", dtype=A.dtype)


def untiled(A, reference):
    """Nothing depends on the tiles, from one row in a tile to all rows in one."""
    n, V, index = len(reference), _block(A, 3), np.array([len(reference) // 2, 0])
    for height in sorted({1, 7, max(n - 1, 1), n, n + 5}):
        with tile_height(height, height), np.errstate(all="raise", under="ignore"):
            what = f"for tiles of {height} rows"
            _product(A, V, reference, f"A @ V {what}")
            close(A.columns(index), reference[:, index], f"columns {what}", scale=size(reference), dtype=A.dtype)
            close(A.dense(), reference, f"dense() {what}", dtype=A.dtype)


OPERATOR_LAWS = (shaped, multiplies, linear, has_diagonal, has_columns, has_blocks, has_dense, untiled)


def tile_height(height, width):
    """A context in which tiles of rows with ``width`` entries have ``height`` rows, as far as the cache lets them.

    Parameters
    ----------
    height : int
        Rows of a tile.
    width : int
        Entries that a row needs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> from mercer.testing import tile_height
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> with tile_height(7, width=200):
    ...     Y = KernelPCA(2).fit_transform(X)
    >>> np.allclose(Y, KernelPCA(2).fit_transform(X), atol=1e-6)
    True
    """
    with config_context(working_memory=1):
        entries = tiles.budget_entries()  # of a mebibyte
    return config_context(working_memory=(height * width + 0.5) / entries)


def _block(A, p, seed=0):
    return np.random.default_rng(seed).normal(size=(A.shape[0], p))


def _product(A, V, reference, what):
    actual = A @ V
    same(actual.dtype, A.dtype, f"the dtype of {what}")
    tol = ROUNDING * np.finfo(A.dtype).eps * size(np.abs(reference) @ np.abs(V))
    within(actual, reference @ V, tol, f"{what} and the matrix's product")
