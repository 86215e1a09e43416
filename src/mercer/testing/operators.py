"""Laws of operators: each is a function of the operator and of the matrix that it represents, in float64."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn import config_context

from .._core import tiles
from ..linalg.operators import Operator
from .comparisons import ROUNDING, close, obeyed, same, size, within

MEMBERS = (*(name for name in vars(Operator) if not name.startswith("_")), "__matmul__")  # all members that solvers use


def check_operator(A: Any, reference: Any) -> None:
    """Check an operator against the matrix that it represents: every member of the protocol, and every tile height.

    An operator that passes works in every solver. :class:`mercer.eigen.Uncentred` supplies the members that are the
    same for all matrices without centring.

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
    >>> check_operator(Gram(RBF(0.5), X), RBF(0.5)(X, X))  # obeys all laws
    >>> try:
    ...     check_operator(Gram(RBF(0.5), X), RBF(0.6)(X, X))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[-1].partition(":")[0])
    A @ V for a float64 V of 1 columns and the matrix's product differ
    """
    reference = np.asarray(reference, float)
    for law in OPERATOR_LAWS:
        obeyed(law, A, reference)


def declared(A: Any, reference: np.ndarray) -> None:
    """The operator, its gram and its coarse version have every member that solvers use."""
    _has_members(A, "the operator")
    _has_members(A.gram, "its gram")
    _has_members(A.coarse(), "its coarse version")


def _has_members(A: Any, what: str) -> None:
    missing = [name for name in MEMBERS if not hasattr(A, name)]
    assert not missing, (
        f"{what} lacks {', '.join(missing)}, which solvers use: see mercer.eigen.Operator. mercer.eigen.Uncentred "
        "supplies what is the same wherever nothing is centred"
    )


def shaped(A: Any, reference: np.ndarray) -> None:
    """shape and dtype are those of a real symmetric matrix, and points has a row for each of its rows."""
    for what, operator in {"the operator": A, "its gram": A.gram, "its coarse version": A.coarse()}.items():
        same(tuple(operator.shape), reference.shape, f"the shape of {what}")
        assert np.issubdtype(operator.dtype, np.floating), (
            f"the dtype of {what} is {operator.dtype}, not a floating one"
        )
        if operator.points is not None:
            same(operator.points.shape[0], len(reference), f"the number of points of {what}")


def weighted(A: Any, reference: np.ndarray) -> None:
    """root, the square roots of the weights, is a column of positive numbers."""
    same(tuple(A.root.shape), (len(reference), 1), "the shape of root")
    root = np.asarray(A.root, float)
    assert np.all((root > 0) & np.isfinite(root)), (
        f"root must be positive and finite, and the least entry is {root.min():.3g}: leave out rows of weight 0"
    )


def factored(A: Any, reference: np.ndarray) -> None:
    """A = JᵀKJ with K = gram: J and Jt are each other's transposes."""
    V, M = _block(A, 3).astype(A.dtype), _block(A, 2, seed=1).astype(A.dtype)
    JV, JtM = A.J(V), A.Jt(M)
    same(tuple(JV.shape), V.shape, "the shape of J(V)")
    same(tuple(JtM.shape), M.shape, "the shape of Jt(M)")
    scale = size(np.abs(V).T @ np.abs(JtM)) + size(np.abs(JV).T @ np.abs(M))
    close(V.T @ JtM, JV.T @ M, "VᵀJt(M) and J(V)ᵀM", scale, A.dtype)
    KJV, through = A.gram @ JV, size(np.abs(A.gram @ np.eye(len(reference))) @ np.abs(JV)) * size(A.root)
    close(A.Jt(KJV), reference @ V, "Jt(gram @ J(V)) and the matrix's product", through, A.dtype)


def congruent(A: Any, reference: np.ndarray) -> None:
    """congruence(F) is FᵀJJᵀF = (JᵀF)ᵀ(JᵀF), in float64."""
    F = _block(A, 3).astype(A.dtype)
    actual, JtF = A.congruence(F), np.asarray(A.Jt(F), float)
    same(actual.dtype, np.dtype(float), "the dtype of congruence(F)")
    scale = size((A.root * np.abs(F)).astype(float).T @ (A.root * np.abs(F)).astype(float)) + size(JtF.T @ JtF)
    close(actual, JtF.T @ JtF, "congruence(F) and FᵀJJᵀF", scale, A.dtype)


def has_gram(A: Any, reference: np.ndarray) -> None:
    """The diagonal, the columns and the blocks of gram are those of its product with the identity."""
    gram, n = A.gram, len(reference)
    K = np.asarray(gram @ np.eye(n), float)
    close(K, K.T, "gram and its transpose", dtype=gram.dtype)
    index = np.array([n - 1, 0, n // 2])
    close(gram.diag(), K.diagonal(), "gram.diag() and the diagonal of gram", size(K), gram.dtype)
    close(gram.columns(index), K[:, index], "gram.columns(index) and those of gram", size(K), gram.dtype)
    close(gram.block(index), K[np.ix_(index, index)], "gram.block(index) and that of gram", size(K), gram.dtype)


def has_coarse(A: Any, reference: np.ndarray) -> None:
    """coarse() is the same matrix, to single precision at least, with the same J."""
    coarse, V = A.coarse(), _block(A, 3)
    terms = np.abs(A.gram @ np.eye(len(reference))) @ np.abs(A.J(V.astype(A.dtype)))
    scale = size(terms) * size(A.root) + size(np.abs(reference) @ np.abs(V))
    close(coarse @ V, reference @ V, "coarse() @ V and the matrix's product", scale, np.float32)
    V = V.astype(coarse.dtype)
    close(coarse.J(V), A.J(V), "J of coarse() and J", dtype=np.float32)
    close(coarse.Jt(V), A.Jt(V), "Jt of coarse() and Jt", dtype=np.float32)


def multiplies(A: Any, reference: np.ndarray) -> None:
    """A @ V is the matrix's product, of A's dtype, for V of any dtype, layout and number of columns."""
    for p in (0, 1, 4):
        V = _block(A, p)
        frozen = V.astype(A.dtype)
        frozen.flags.writeable = False
        for name, block in {"float64": V, "Fortran-ordered": np.asfortranarray(V), "read-only": frozen}.items():
            _product(A, block, reference, f"A @ V for a {name} V of {p} columns")


def linear(A: Any, reference: np.ndarray) -> None:
    """A @ (aV + bW) = a(A @ V) + b(A @ W)."""
    V, W = _block(A, 3), _block(A, 3, seed=1)
    tol = ROUNDING * np.finfo(A.dtype).eps * size(np.abs(reference) @ (2 * np.abs(V) + 3 * np.abs(W)))
    within(A @ (2 * V - 3 * W), 2 * (A @ V) - 3 * (A @ W), tol, "A @ (2V − 3W) and 2(A @ V) − 3(A @ W)")


def has_diagonal(A: Any, reference: np.ndarray) -> None:
    """diag() is the diagonal."""
    close(A.diag(), reference.diagonal(), "diag() and the matrix's diagonal", scale=size(reference), dtype=A.dtype)


def has_columns(A: Any, reference: np.ndarray) -> None:
    """columns(index) are those columns, in the order of the index."""
    n = len(reference)
    for index in (np.array([0]), np.array([n - 1, 0]), np.arange(n)[::-1], np.array([n // 2, n // 2])):
        close(A.columns(index), reference[:, index], f"columns({index})", scale=size(reference), dtype=A.dtype)


def has_blocks(A: Any, reference: np.ndarray) -> None:
    """block(index) are the entries between those rows and columns."""
    index = np.array([len(reference) - 1, 0, len(reference) // 2])
    expected = reference[np.ix_(index, index)]
    close(A.block(index), expected, f"block({index})", scale=size(reference), dtype=A.dtype)


def has_dense(A: Any, reference: np.ndarray) -> None:
    """dense() is the matrix as a new float64 array, more accurate than A's dtype if A's entries are."""
    first = A.dense()
    same(first.dtype, np.dtype(float), "the dtype of dense()")
    close(first, reference, "dense() and the matrix", dtype=A.dtype)
    close(first, first.T, "dense() and its transpose", dtype=float)
    first[:] = 0
    close(A.dense(), reference, "dense() and the matrix, after the first dense() was written to", dtype=A.dtype)


def untiled(A: Any, reference: np.ndarray) -> None:
    """No result depends on the tiles, from one row in a tile to all rows in one."""
    n, V, index = len(reference), _block(A, 3), np.array([len(reference) // 2, 0])
    for height in sorted({1, 7, max(n - 1, 1), n, n + 5}):
        with tile_height(height, height), np.errstate(all="raise", under="ignore"):
            what = f"for tiles of {height} rows"
            _product(A, V, reference, f"A @ V {what}")
            close(A.columns(index), reference[:, index], f"columns {what}", scale=size(reference), dtype=A.dtype)
            close(A.dense(), reference, f"dense() {what}", dtype=A.dtype)


OPERATOR_LAWS: tuple[Callable[[Any, np.ndarray], None], ...] = (
    declared,
    shaped,
    weighted,
    multiplies,
    linear,
    has_diagonal,
    has_columns,
    has_blocks,
    has_dense,
    factored,
    congruent,
    has_gram,
    has_coarse,
    untiled,
)


def tile_height(height: int, width: int) -> AbstractContextManager:
    """Return a context in which tiles of rows with ``width`` entries have ``height`` rows, as far as the cache allows.

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
    >>> Y[0].round(4), KernelPCA(2).fit_transform(X)[0].round(4)
    (array([ 0.1886, -0.1424]), array([ 0.1886, -0.1424]))
    """
    with config_context(working_memory=1):
        entries = tiles.budget_entries()  # of a mebibyte
    return config_context(working_memory=(height * width + 0.5) / entries)


def _block(A: Any, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(A.shape[0], p))


def _product(A: Any, V: np.ndarray, reference: np.ndarray, what: str) -> None:
    actual = A @ V
    same(actual.dtype, A.dtype, f"the dtype of {what}")
    tol = ROUNDING * np.finfo(A.dtype).eps * size(np.abs(reference) @ np.abs(V))
    within(actual, reference @ V, tol, f"{what} and the matrix's product")
