"""Laws of the C extension: each of its functions against the formula in NumPy, whatever the sizes.

They are run for every set of vector instructions that the processor has.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

from mercer._core import native as in_use
from mercer._core.blas import single_blas
from mercer.kernels import RBF as RadialBasis

native = pytest.importorskip("mercer._core._native", exc_type=ImportError)
INSTANCES = native.instances()
if not INSTANCES:
    pytest.skip("this processor does not run the C extension", allow_module_level=True)

RBF, INVERSE_MULTIQUADRIC, RATIONAL_QUADRATIC, MATERN12, MATERN32, MATERN52, LAPLACIAN = KINDS = range(7)
NEAR = 7  # RBF from products of points that are scaled, with a norm at the end
DTYPES = ["f8", "f4"]
FINEST = {"f8": np.finfo("f8"), "f4": np.finfo("f4")}
PRODUCT_TOLERANCE = {"f8": 1e-13, "f4": 1e-5}  # of the largest |K| @ |V|

# h, m, d, p: one, less than a vector, parts of tiles, several tiles
SIZES = [(1, 1, 1, 1), (3, 5, 2, 2), (25, 97, 10, 3), (97, 301, 1, 4), (193, 25, 33, 13), (530, 70, 7, 50)]
EMPTY = [(0, 3, 2, 2), (3, 0, 2, 2), (3, 4, 0, 2), (3, 4, 2, 0), (0, 0, 0, 0)]


@pytest.fixture(autouse=True, scope="module", params=INSTANCES)
def instance(request):
    """Each set of vector instructions of the processor, in use while all tests run."""
    before = native.active()
    native.use(request.param)
    assert native.active() == request.param
    yield request.param
    native.use(before)


def reference(kind, a, b, X, Y):
    """k(x, y) by its formula in extended precision, and the size of its exponent."""
    Z = X.astype(np.longdouble)[:, None] - Y.astype(np.longdouble)
    t = np.sum(abs(Z) if kind == LAPLACIAN else Z**2, axis=2)
    u = np.sqrt(4 * {MATERN12: 0.5, MATERN32: 1.5, MATERN52: 2.5}.get(kind, 0) * a * t)
    return {
        RBF: lambda: (np.exp(-a * t), a * t),
        INVERSE_MULTIQUADRIC: lambda: (1 / np.sqrt(1 + a * t), 0 * t),
        RATIONAL_QUADRATIC: lambda: ((1 + a * t / b) ** -b, b * np.log1p(a * t / b)),
        MATERN12: lambda: (np.exp(-u), u),
        MATERN32: lambda: ((1 + u) * np.exp(-u), u),
        MATERN52: lambda: ((1 + u + u**2 / 3) * np.exp(-u), u),
        LAPLACIAN: lambda: (np.exp(-a * t), a * t),
    }[kind]()


def draw(dtype, *shapes, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=shape) + shift).astype(dtype) for shape in shapes]


def tile(kind, X, Y, a=0.3, b=1.5):
    out = np.full((len(X), len(Y)), np.nan, X.dtype)
    native.tile(kind, a, b, X, Y, out)
    return out


def product(kind, X, Y, V, a=0.3, b=1.5):
    out = np.full((len(X), V.shape[1]), np.nan, X.dtype)
    native.product(kind, a, b, X, Y, V, out)
    return out


def symmetric(kind, X, V, stripe=0, stripes=1, a=0.3, b=1.5):
    out = np.full(V.shape, np.nan, X.dtype)
    native.symmetric(kind, a, b, X, V, out, stripe, stripes)
    return out


def assert_close_sums(actual, K, V):
    K, V = K.astype("f8"), V.astype("f8")
    tolerance = PRODUCT_TOLERANCE[actual.dtype.str[1:]]
    scale = np.max(abs(K) @ abs(V), initial=np.finfo("f8").tiny)
    np.testing.assert_allclose(actual, K @ V, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("low, high", [(-1e-8, 1e-8), (-1, 1), (-50, 50), (-1000, 0), (-1000, 1000)])
def test_exp_is_good_to_the_last_digit(low, high, dtype):
    info = FINEST[dtype]
    x = np.linspace(low, high, 50_003).astype(dtype)  # an odd size: the last vector is not full
    y = x.copy()
    native.exp_into(y)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.exp(x.astype(np.longdouble))
    normal = (exact >= info.tiny) & (exact <= info.max)
    error = abs(y[normal] / exact[normal] - 1)
    assert np.max(error) <= {"f8": 4e-16, "f4": 1.5e-7}[dtype]
    assert np.all(y[exact > info.max] == np.inf)
    assert np.all(abs(y[exact < info.tiny]) <= info.tiny)  # denormals or 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_of_special_values(dtype):
    x = np.array([0, -0.0, -np.inf, np.inf, np.nan, -1e30, 1e30, -1e-40], dtype)
    native.exp_into(x)
    np.testing.assert_array_equal(x, [1, 1, 0, np.inf, np.nan, 0, np.inf, 1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 3, 4)])
def test_exp_takes_any_shape(shape, dtype):
    x = np.full(shape, -2, dtype)
    native.exp_into(x)
    np.testing.assert_allclose(x, np.exp(np.full(shape, -2.0)), rtol=FINEST[dtype].eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_tile_is_the_formula(size, kind, dtype):
    h, m, d, _ = size
    X, Y = draw(dtype, (h, d), (m, d))
    exact, exponent = reference(kind, 0.3, 1.5, X, Y)
    sums = 1 + d / 4  # the rounding of a sum of d terms
    tolerance = 4 * sums * FINEST[dtype].eps * (1 + exponent) * exact + FINEST[dtype].tiny
    assert np.all(abs(tile(kind, X, Y) - exact) <= tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("b", [0.5, 1, 2, 3, 8, 9, 1e3])
def test_every_exponent_of_the_rational_quadratic(b, dtype):
    X, Y = draw(dtype, (25, 10), (97, 10))
    exact, exponent = reference(RATIONAL_QUADRATIC, 0.3, b, X, Y)
    error = abs(tile(RATIONAL_QUADRATIC, X, Y, b=b) - exact)
    assert np.all(error <= 14 * FINEST[dtype].eps * (1 + exponent) * exact)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rbf_loses_no_digit_far_from_the_origin(dtype):
    X, Y = draw(dtype, (40, 10), (50, 10), shift=1000)
    exact, exponent = reference(RBF, 0.05, 0, X, Y)
    error = abs(tile(RBF, X, Y, a=0.05) - exact)
    assert np.all(error <= 4 * FINEST[dtype].eps * (1 + exponent) * exact)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_give_exactly_one(kind, dtype):
    (X,) = draw(dtype, (37, 5), shift=1e4)
    K = tile(kind, X, X)
    assert np.all(np.diag(K) == 1)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e4, 1e18, 1e30])  # a t of 1e8, up to float32's limit, and over it
def test_far_points_are_small_and_never_nan(scale, kind, dtype):
    X = np.array([[0.0], [scale], [-scale]], dtype)
    K = tile(kind, X, X)
    assert np.all(np.isfinite(K))
    far = K[~np.eye(3, dtype=bool)]
    slow = kind in (INVERSE_MULTIQUADRIC, RATIONAL_QUADRATIC)
    assert np.all(far < 1e-3) if slow else np.all(far == 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_nan_stays_in_its_row(kind, dtype):
    X, V = draw(dtype, (60, 3), (60, 5))
    clean = tile(kind, X, X)
    X[7] = np.nan
    K = tile(kind, X, X)
    assert np.isnan(K[7]).all()
    assert np.isnan(K[:, 7]).all()
    keep = np.arange(60) != 7
    np.testing.assert_array_equal(K[keep][:, keep], clean[keep][:, keep])
    assert np.isnan(product(kind, X[:9], X[keep], V[keep]))[7].all()
    assert np.isfinite(product(kind, X[:7], X[keep], V[keep])).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_product_is_the_tile_times_v(size, kind, dtype):
    h, m, d, p = size
    X, Y, V = draw(dtype, (h, d), (m, d), (m, p))
    assert_close_sums(product(kind, X, Y, V), tile(kind, X, Y), V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stripes", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("n, d, p", [(0, 2, 3), (1, 1, 1), (2, 0, 5), (24, 3, 4), (97, 10, 10), (700, 2, 3)])
def test_stripes_sum_to_the_product(n, d, p, stripes, dtype):
    X, V = draw(dtype, (n, d), (n, p))
    parts = [symmetric(RBF, X, V, stripe, stripes) for stripe in range(stripes)]
    assert_close_sums(np.sum(parts, axis=0, dtype=dtype), tile(RBF, X, X), V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_symmetric_for_every_kind(kind, dtype):
    X, V = draw(dtype, (150, 4), (150, 6))
    assert_close_sums(symmetric(kind, X, V), tile(kind, X, X), V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_exponents_from_products(size, dtype):
    h, m, d, p = size
    X, Y, V = draw(dtype, (h, d + 1), (m, d + 1), (m, p))
    X[:, d], Y[:, d] = -np.sum(X[:, :d] ** 2, axis=1) / 2, -np.sum(Y[:, :d] ** 2, axis=1) / 2
    exact = np.exp2(-np.sum((X[:, None, :d].astype("f8") - Y[:, :d]) ** 2, axis=2) / 2)
    tolerance = 2e2 * d * FINEST[dtype].eps
    np.testing.assert_allclose(tile(NEAR, X, Y), exact, rtol=0, atol=tolerance)
    assert_close_sums(product(NEAR, X, Y, V), tile(NEAR, X, Y), V)
    W = V[np.arange(h) % max(m, 1)] if m else np.ones((h, p), dtype)
    assert_close_sums(symmetric(NEAR, X, W), tile(NEAR, X, X), W)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", [1e-3, 1, 8, 20, 60, 1e4])
def test_products_with_near_and_far_rows_keep_their_digits(spread, dtype):
    """Of rows far from their mean, in units of the width, the exponent would lose digits: differences are used."""
    X, V = draw(dtype, (300, 5), (300, 4))
    X = (spread * X + 10).astype(dtype)
    assert_close_sums(in_use.symmetric(RadialBasis(gamma=0.3), X)(V, 0, 1), tile(RBF, X, X), V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("gamma", [0.0, 1e-300, 1e20, 1e30])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e18])
def test_products_of_any_scale_are_finite(scale, gamma, dtype):
    X, V = draw(dtype, (50, 3), (50, 2))
    assert np.isfinite(in_use.symmetric(RadialBasis(gamma=gamma), X * np.array(scale, dtype))(V, 0, 1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("p", range(1, 14))
def test_every_width_of_v(p, dtype):
    X, V = draw(dtype, (301, 3), (301, p))
    K = tile(MATERN32, X, X)
    assert_close_sums(symmetric(MATERN32, X, V), K, V)
    assert_close_sums(product(MATERN32, X, X, V), K, V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != LAPLACIAN])
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_values_from_norms_and_inner_products(size, kind, dtype):
    h, m, d, _ = size
    X, Y = draw("f8", (h, d), (m, d))
    norms = [np.sum(A**2, axis=1, keepdims=True).astype(dtype) for A in (X, Y)]
    out = (X @ Y.T).astype(dtype)
    t = np.maximum(norms[0] + norms[1].T - 2 * out, 0)
    native.expanded(kind, 0.3, 1.5, *norms, out)
    exact, exponent = reference(kind, 0.3, 1.5, np.sqrt(t.reshape(-1, 1)), np.zeros((1, 1), dtype))
    np.testing.assert_array_less(
        abs(out.ravel() - exact[:, 0]), 8 * FINEST[dtype].eps * (1 + exponent[:, 0]) * exact[:, 0] + FINEST[dtype].tiny
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES + EMPTY)
def test_stored_tiles_multiply_from_both_sides(size, dtype):
    """Values from 0 to 1 are stored to half a unit, 0 and 1 exactly, and their products are those of the integers."""
    h, w, _, p = size
    one = 2**31 - 1
    K = np.random.default_rng(0).random((h, w)).astype(dtype)
    K[:1, :1], K[-1:, -1:] = 0, 1
    Q = np.full(K.shape, -1, np.int32)
    native.rounded(K, Q)
    np.testing.assert_allclose(Q, K.astype("f8") * one, rtol=0, atol=0.5)
    V, W = draw(dtype, (w, p), (h, p))
    KV, KW = np.full((h, p), np.nan, dtype), np.full((w, p), np.nan, dtype)
    native.stored(Q, V, W, KV, KW, True)
    assert_close_sums(KV, Q, V)
    assert_close_sums(KW, Q.T, W)
    native.stored(Q, V, W, KV, KW, False)
    assert_close_sums(KV, Q, V)


LAYOUTS = {
    "rows": lambda A: A,
    "columns": np.asfortranarray,
    "every other": lambda A: np.repeat(np.repeat(A, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda A: np.ascontiguousarray(A[::-1, ::-1])[::-1, ::-1],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(1, 1, 1), (7, 23, 5), (8, 24, 256), (9, 49, 257), (200, 97, 530), (401, 401, 3)])
def test_multiply_adds_the_product_of_matrices_of_any_layout(size, layout, dtype):
    """For sides of one, below, at and above the blocks of every instance."""
    m, n, k = size
    A, B, before = draw(dtype, (m, k), (k, n), (m, n + 5))
    out = before.copy()
    native.multiply(LAYOUTS[layout](A), LAYOUTS[layout](B), out[:, 2:-3], False)
    bound = PRODUCT_TOLERANCE[dtype] * (1 + (abs(A) @ abs(B)).max())
    np.testing.assert_allclose(out[:, 2:-3], before[:, 2:-3] + A.astype(float) @ B, rtol=0, atol=bound)
    np.testing.assert_array_equal(out[:, :2], before[:, :2])  # beside the part that was given
    np.testing.assert_array_equal(out[:, -3:], before[:, -3:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (23, 5), (24, 256), (49, 257), (401, 530)])
def test_multiply_of_one_half_has_all_entries_on_and_above_the_diagonal(n, k, dtype):
    """Below it, an entry is that of the product or is unchanged."""
    (F,) = draw(dtype, (k, n))
    half, whole = np.ones((n, n), dtype), np.ones((n, n), dtype)
    native.multiply(F.T, F, half, True)
    native.multiply(F.T, F, whole, False)
    np.testing.assert_array_equal(np.triu(half), np.triu(whole))
    assert np.all((half == whole) | (half == 1))
    assert n < 100 or np.mean(half == whole) < 0.75


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)])
def test_multiply_of_empty_matrices_adds_nothing(size, dtype):
    m, n, k = size
    out = np.ones((m, n), dtype)
    native.multiply(np.ones((m, k), dtype), np.ones((k, n), dtype), out, False)
    np.testing.assert_array_equal(out, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_multiply_keeps_nan_in_its_row(dtype):
    A, B = draw(dtype, (30, 40), (40, 50))
    A[7, 3], A[9, 39] = np.nan, np.inf
    out = np.zeros((30, 50), dtype)
    native.multiply(A, B, out, False)
    assert np.isnan(out[7]).all()
    assert np.isinf(out[9]).all()
    assert np.isfinite(np.delete(out, [7, 9], axis=0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_the_library_are_those_of_numpy(dtype, instance):
    """With one thread of BLAS and with several, and for factors of different types."""
    A, B, F = draw(dtype, (60, 30), (30, 70), (300, 50))
    for context in (nullcontext(), single_blas):
        with context:
            assert in_use._multiplies(A, B) == (context is single_blas and instance == "avx512")
            np.testing.assert_allclose(in_use.matmul(A, B), A @ B, rtol=0, atol=1e3 * FINEST[dtype].eps)
            np.testing.assert_allclose(in_use.matmul(A, B.astype(float)), A @ B, rtol=0, atol=1e3 * FINEST[dtype].eps)
            total, gram = np.ones((60, 70)), np.ones((50, 50))
            in_use.add_product(total, A, B)
            in_use.add_gram(gram, F)
            np.testing.assert_allclose(total, 1 + A @ B, rtol=0, atol=1e3 * FINEST[dtype].eps)
            np.testing.assert_allclose(np.triu(gram), np.triu(1 + F.T @ F), rtol=0, atol=1e4 * FINEST[dtype].eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_outside_the_range_are_stored_as_its_ends(dtype):
    Q = np.empty((1, 5), np.int32)
    native.rounded(np.array([[-1, 2, np.nan, np.inf, 1 + 1e-7]], dtype), Q)
    np.testing.assert_array_equal(Q / (2**31 - 1), [[0, 1, 0, 1, 1]])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 1), (7, 2), (70, 1), (300, 3)])
def test_alignments_are_sums_over_all_of_them(n, d, dtype):
    """a(t, s) = κ(a(t − 1, s − 1) + a(t − 1, s) + a(t, s − 1)), κ = g/(2 − g), cell by cell in extended precision."""
    X, Z = (0.3 * part for part in draw(dtype, (60, d), (40, d)))
    rng = np.random.default_rng(n)
    lengths = rng.integers(1, 20, (n, 2))
    pairs = np.column_stack([rng.integers(0, 41, n), lengths[:, 0], rng.integers(0, 21, n), lengths[:, 1]])
    out, pairs = np.empty((n, 1), dtype), pairs.astype(np.int32)
    native.alignments(0.8, X, Z, out, pairs)
    t = ((X[:, None].astype(np.longdouble) - Z) ** 2).sum(axis=2)
    kappa = np.exp(-0.8 * t) / (2 - np.exp(-0.8 * t))
    for (i, points, j, steps), value in zip(pairs.tolist(), out[:, 0], strict=True):
        a = np.zeros((points + 1, steps + 1), np.longdouble)
        a[0, 0] = 1
        for p, q in np.ndindex(points, steps):
            a[p + 1, q + 1] = kappa[i + p, j + q] * (a[p, q] + a[p, q + 1] + a[p + 1, q])
        expected = float(np.log(a[-1, -1]))
        assert value == pytest.approx(expected, abs=500 * float(FINEST[dtype].eps) * max(1, abs(expected)))


def test_alignments_beyond_the_range_of_numbers():
    """There are as many alignments of constant series as Delannoy numbers; far series have none that counts."""
    X, out = np.zeros((3000, 1)), np.empty((3, 1))
    X[2000:] = 1e200
    native.alignments(1.0, X, X, out, np.array([[0, 2000, 0, 2000], [0, 9, 2000, 9], [0, 1, 0, 1]], np.int32))
    growth = 2 * np.log(1 + np.sqrt(2))  # the central Delannoy numbers grow like (1 + √2)²ⁿ
    assert out[0, 0] == pytest.approx(1999 * growth, rel=2e-3)
    assert out[1:, 0].tolist() == [-np.inf, 0.0]


@pytest.mark.parametrize(
    "pair", [[-1, 2, 0, 1], [0, 0, 0, 1], [3, 3, 0, 1], [0, 1, 5, 1], [0, 1, 2**31 - 1, 2**31 - 1]]
)
def test_alignments_outside_of_the_points_are_refused(pair):
    X, out = np.zeros((5, 1)), np.empty((1, 1))
    with pytest.raises(ValueError, match="pair 0 lies outside"):
        native.alignments(1.0, X, X, out, np.array([pair], np.int32))
    with pytest.raises(ValueError, match="must have coordinates"):
        native.alignments(1.0, X[:, :0], X[:, :0], out, np.array([[0, 1, 0, 1]], np.int32))


@pytest.mark.parametrize("d", [64, 700])
def test_large_d_takes_narrower_tiles(d):
    X, V = draw("f8", (90, d), (90, 3))
    K, _ = reference(RBF, 1 / d, 0, X, X)
    np.testing.assert_allclose(tile(RBF, X, X, a=1 / d), K.astype("f8"), rtol=1e-13)
    assert_close_sums(product(RBF, X, X, V, a=1 / d), K, V)
    assert_close_sums(symmetric(RBF, X, V, a=1 / d), K, V)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [1, 4, 8, 12])
def test_buffers_may_start_at_any_byte(offset, dtype):
    def moved(A):
        raw = bytearray(offset + A.nbytes)
        B = np.frombuffer(raw, dtype, A.size, offset).reshape(A.shape)
        B[...] = A
        return B

    X, V = draw(dtype, (97, 3), (97, 5))
    out = moved(np.zeros_like(V))
    native.product(RBF, 0.3, 0, moved(X), moved(X), moved(V), out)
    np.testing.assert_array_equal(out, product(RBF, X, X, V))
    native.symmetric(RBF, 0.3, 0, moved(X), moved(V), out, 0, 1)
    np.testing.assert_array_equal(out, symmetric(RBF, X, V))
    sums, expected = moved(np.zeros((3, 5), dtype)), np.zeros((3, 5), dtype)
    native.multiply(moved(X).T, moved(V), sums, False)
    native.multiply(X.T, V, expected, False)
    np.testing.assert_array_equal(sums, expected)
    native.exp_into(out)
    aligned = symmetric(RBF, X, V)
    native.exp_into(aligned)
    np.testing.assert_array_equal(out, aligned)


def test_threads_give_the_bits_of_the_serial_run():
    X, V = draw("f8", (1500, 5), (1500, 7))
    serial = [symmetric(RBF, X, V, stripe, 4) for stripe in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            threaded = pool.map(lambda stripe: symmetric(RBF, X, V, stripe, 4), range(4))
            np.testing.assert_array_equal(list(threaded), serial)


def test_inputs_are_left_alone():
    X, Y, V = arrays = draw("f8", (50, 3), (60, 3), (60, 4))
    copies = [A.copy() for A in arrays]
    for A in arrays:
        A.flags.writeable = False
    product(RBF, X, Y, V)
    tile(RBF, X, Y)
    symmetric(RBF, Y, V)
    native.multiply(X, Y.T, np.zeros((50, 60)), False)
    for A, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(A, copy)


X23, Y43, V42, OUT22 = np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 2)), np.ones((2, 2))
F23 = X23.astype("f4")
Q22 = OUT22.astype("i4")
FROZEN = np.ones((2, 2))
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    ("error", "text", "call"),
    [
        (ValueError, "kind must be 0 to 7", lambda: native.product(8, 1, 1, X23, Y43, V42, OUT22)),
        (ValueError, "points of kind 7", lambda: native.product(NEAR, 1, 1, X23[:, :0], Y43[:, :0], V42, OUT22)),
        (ValueError, "kind 7 has no distances", lambda: native.profile(NEAR, 1, 1, OUT22)),
        (ValueError, "kind 7 has no distances", lambda: native.expanded(NEAR, 1, 1, V42, V42, OUT22)),
        (ValueError, "a must be finite", lambda: native.product(RBF, -1, 1, X23, Y43, V42, OUT22)),
        (ValueError, "a must be finite", lambda: native.tile(RBF, 1e39, 1, F23, F23, np.ones((2, 2), "f4"))),
        (ValueError, "a must be finite", lambda: native.product(RBF, np.nan, 1, X23, Y43, V42, OUT22)),
        (ValueError, "b must be", lambda: native.product(RATIONAL_QUADRATIC, 1, 0, X23, Y43, V42, OUT22)),
        (ValueError, r"Y must be \(4, 3\)", lambda: native.product(RBF, 1, 1, X23, V42, V42, OUT22)),
        (ValueError, r"V must be \(4, 3\)", lambda: native.product(RBF, 1, 1, X23, Y43, X23, OUT22)),
        (ValueError, r"out must be \(2, 2\)", lambda: native.product(RBF, 1, 1, X23, Y43, V42, V42)),
        (ValueError, r"out must be \(2, 4\)", lambda: native.tile(RBF, 1, 1, X23, Y43, OUT22)),
        (ValueError, "C-contiguous", lambda: native.tile(RBF, 1, 1, Y43.T, Y43, OUT22)),
        (
            ValueError,
            "out must be a C-contiguous, writable",
            lambda: native.tile(RBF, 1, 1, X23, X23, FROZEN),
        ),
        (ValueError, "buf must be a C-contiguous, writable", lambda: native.exp_into(FROZEN)),
        (ValueError, "buf must be a C-contiguous, writable", lambda: native.exp_into(np.ones((4, 4))[:, :2])),
        (ValueError, "2 dimensions", lambda: native.tile(RBF, 1, 1, X23[0], Y43, OUT22)),
        (TypeError, "dtype of X", lambda: native.tile(RBF, 1, 1, X23, Y43.astype("f4"), OUT22)),
        (TypeError, "float32 or float64", lambda: native.exp_into(np.ones(3, int))),
        (TypeError, "float32 or float64", lambda: native.exp_into(np.ones(3, ">f8"))),
        (TypeError, "bytes-like", lambda: native.exp_into([1.0])),
        (ValueError, "stripe must be in", lambda: native.symmetric(RBF, 1, 1, V42, V42, V42, 2, 2)),
        (TypeError, "out must be int32", lambda: native.rounded(X23, X23.copy())),
        (TypeError, "out must be int32", lambda: native.rounded(X23, X23.astype("i8"))),
        (ValueError, r"out must be \(2, 3\)", lambda: native.rounded(X23, Y43.astype("i4"))),
        (TypeError, "Q must be int32", lambda: native.stored(OUT22, X23, X23, X23.copy(), X23.copy(), True)),
        (ValueError, r"V must be \(2, 2\)", lambda: native.stored(Q22, V42, OUT22, OUT22, OUT22, True)),
        (ValueError, r"KW must be \(2, 2\)", lambda: native.stored(Q22, OUT22, OUT22, OUT22, V42, True)),
        (ValueError, r"Z must be \(4, 1\)", lambda: native.expanded(RBF, 1, 1, X23[:, :1].copy(), V42, OUT22)),
        (ValueError, "stripe must be in", lambda: native.symmetric(RBF, 1, 1, V42, V42, V42, 0, 0)),
        (ValueError, "A has 3 columns, and B has 4 rows", lambda: native.multiply(X23, Y43, OUT22, False)),
        (ValueError, r"out must be \(2, 4\)", lambda: native.multiply(X23, Y43.T, OUT22, False)),
        (ValueError, "rows of out must be contiguous", lambda: native.multiply(Y43, X23.T, V42.T.copy().T, False)),
        (ValueError, "out must be a writable array", lambda: native.multiply(X23, X23.T, FROZEN, False)),
        (TypeError, "dtype of X", lambda: native.multiply(X23, F23.T, OUT22, False)),
        (ValueError, "2 dimensions", lambda: native.multiply(X23[0], X23.T, OUT22, False)),
    ],
)
def test_errors_say_what_is_wrong(error, text, call):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_instances_agree(kind, dtype, instance):
    """Sums of distances are the same; products are summed in another order where vectors have another width."""
    X, Y, V = draw(dtype, (193, 7), (97, 7), (97, 13))
    t = abs(draw(dtype, (5, 301))[0])
    results = []
    for name in (instance, *INSTANCES):
        native.use(name)
        k = t.copy()
        native.profile(kind, 0.3, 1.5, k)
        results.append((tile(kind, X, Y), product(kind, X, Y, V), symmetric(kind, Y, V), k))
    native.use(instance)
    for K, KV, SV, k in results[1:]:
        np.testing.assert_allclose(K, results[0][0], rtol=4 * FINEST[dtype].eps)
        np.testing.assert_allclose(k, results[0][3], rtol=4 * FINEST[dtype].eps)
        assert_close_sums(KV, results[0][0], V)
        assert_close_sums(SV, tile(kind, Y, Y), V)


def test_unknown_instructions_are_refused():
    with pytest.raises(ValueError, match="does not have 'sse9'"):
        native.use("sse9")


USED = "from mercer._core import native; print(native._native and native._native.active())"


@pytest.mark.parametrize("simd", ["none", "", *INSTANCES, *sorted({"avx2", "avx512", "neon"} - {*INSTANCES}), "sse9"])
def test_the_environment_selects_the_instructions(simd):
    environment = {**os.environ, "MERCER_SIMD": simd}
    done = subprocess.run([sys.executable, "-c", USED], capture_output=True, text=True, timeout=60, env=environment)
    if simd in ("none", "", *INSTANCES):
        assert done.stdout.strip() == {"none": "None", "": INSTANCES[0]}.get(simd, simd), done.stderr
    else:
        assert f"MERCER_SIMD is '{simd}', which is not available here" in done.stderr
        assert f"run {' and '.join([*INSTANCES, 'none'])}. Set it to one of them" in done.stderr


HUGE = """
import numpy as np
from mercer._core import _native
X, wide = np.zeros((3, 2)), np.empty((0, 2**59))
for name, arguments in {
    "symmetric": (0, 1.0, 1.0, X, X, X.copy(), 0, 2**62),
    "symmetric ": (0, 1.0, 1.0, X, X, X.copy(), 0, 2**63 - 1),
    "tile": (0, 1.0, 1.0, wide, wide, np.empty((0, 0))),
    "product": (0, 1.0, 1.0, X, X, np.empty((3, 0)), np.empty((2**59, 0))),
    "exp_into": (wide,),
    "rounded": (wide, np.empty((0, 2**59), "i4")),
    "multiply": (wide.T, wide, np.empty((0, 0)), False),
}.items():
    try:
        getattr(_native, name.strip())(*arguments)
        print(name, "is not refused")
    except ValueError:
        pass
"""


def test_sizes_near_the_largest_integer_are_refused():
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
