"""The C extension: shapes, strides, alignments, dtypes, NaN and huge sizes.

The rule: the formula in NumPy, or an error; under AddressSanitizer (``make test-native-asan``) any wild access ends it.
"""

import numpy as np

try:
    from mercer._core import _native
except ImportError:
    _native = None  # type: ignore[assignment]

ERRORS = (ValueError, TypeError, BufferError, MemoryError, OverflowError)
TOLERANCE = {"d": 1e-9, "f": 1e-3}
NAMES = [
    "tile",
    "product",
    "symmetric",
    "profile",
    "exp_into",
    "expanded",
    "rounded",
    "stored",
    "alignments",
    "multiply",
]
INTEGERS = {"rounded": 1, "stored": 0}  # the number of the array of integers
UNCHECKED = {"profile", "exp_into", "expanded", "alignments", *INTEGERS}  # tests/test_native.py compares them
HUGE = [2**31, 2**40, 2**61, 2**62, 2**63 - 1]


def called(rng: np.random.Generator) -> str | None:
    """Call a function of the extension with random arguments."""
    if _native is None or not _native.instances():
        return None
    name = NAMES[rng.integers(len(NAMES))]
    a, kind = float(10.0 ** rng.integers(-3, 3)), int(rng.integers(-1, 8))
    h, m, d, p = (int(rng.integers(0, limit)) for limit in (120, 120, 40, 20))
    h, m, p = (2 * side if rng.random() < 0.1 else side for side in (h, m, p))
    dtype = "f" if rng.random() < 0.5 else "d"
    shapes = {"tile": [(h, d), (m, d), (h, m)], "product": [(h, d), (m, d), (m, p), (h, p)]}
    shapes |= {"symmetric": [(h, d), (h, p), (h, p)], "profile": [(h, m)], "exp_into": [(h, m)]}
    shapes |= {"expanded": [(h, 1), (m, 1), (h, m)], "rounded": [(h, m), (h, m)]}
    shapes |= {"stored": [(h, m), (m, p), (h, p), (h, p), (m, p)]}
    shapes |= {"alignments": [(h + 1, d + 1), (m + 1, d + 1), (p, 1)], "multiply": [(h, d), (d, m), (h, m)]}
    wrong = rng.random() < 0.4
    arrays = [_array(shape, dtype, rng, wrong) for shape in shapes[name]]
    if name in INTEGERS:
        with np.errstate(invalid="ignore"):
            arrays[INTEGERS[name]] = arrays[INTEGERS[name]].astype(np.int32)
    arguments = arrays if name in ("exp_into", "alignments", *INTEGERS) else [kind, a, 1.5, *arrays]
    if name == "stored":
        arguments = [*arrays, bool(rng.integers(2))]
    if name == "multiply":
        arrays[:2] = [array if rng.random() < 0.5 else np.asfortranarray(array) for array in arrays[:2]]
        arguments = [*arrays, bool(rng.integers(2))]
    if name == "alignments":
        arguments = [a, *arrays, _pairs(h + 1, m + 1, p, rng, wrong)]
    if name == "symmetric":
        stripes = int(rng.integers(1, 5)) if rng.random() < 0.8 else HUGE[rng.integers(3)]
        arguments += [0, stripes]
    given = [array.copy() for array in arrays]
    try:
        getattr(_native, name)(*arguments)
    except ERRORS:
        return None if wrong or kind not in range(7) or name == "symmetric" else f"{name}: sound arguments are refused"
    if wrong or kind not in range(7) or name in UNCHECKED or (name == "symmetric" and stripes > 1):
        return None
    if name == "multiply":
        A, B, before = (array.astype(float) for array in given)
        known = np.triu(np.ones((h, m), bool)) | (not arguments[-1])
        close = np.allclose(arrays[2][known], (before + A @ B)[known], rtol=0, atol=1e3 * TOLERANCE[dtype])
        return None if close else f"multiply, h {h}, m {m}, d {d}: another result than NumPy's"
    K = _reference(kind, a, *(given[:2] if name != "symmetric" else given[:1] * 2))
    expected = K if name == "tile" else K @ given[-2].astype(float)
    scale = max(1.0, float(np.abs(given[-2]).sum(axis=0).max(initial=0))) if name != "tile" else 1.0
    close = np.allclose(arrays[-1], expected, rtol=0, atol=TOLERANCE[dtype] * scale, equal_nan=True)
    return None if close else f"{name}, kind {kind}, h {h}, m {m}, d {d}, p {p}: another result than NumPy's"


def _reference(kind: int, a: float, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    Z = X.astype(float)[:, None] - Y.astype(float)
    t = np.abs(Z).sum(axis=2) if kind == 6 else (Z**2).sum(axis=2)
    u = np.sqrt(4 * {3: 0.5, 4: 1.5, 5: 2.5}.get(kind, 0) * a * t)
    if kind in (0, 6):
        return np.exp(-a * t)
    if kind in (1, 2):
        return (1 + a * t) ** -0.5 if kind == 1 else (1 + a * t / 1.5) ** -1.5
    return {3: 1, 4: 1 + u, 5: 1 + u + u**2 / 3}[kind] * np.exp(-u)


def _array(shape: tuple[int, int], dtype: str, rng: np.random.Generator, wrong: bool) -> np.ndarray:
    """Return an array; if it may be wrong, with another shape, dtype, strides, alignment or content."""
    array = rng.normal(size=shape).astype(dtype)
    if not wrong:
        return array if rng.random() < 0.7 else _misaligned(array)
    action = rng.integers(8)
    if action == 0:
        return np.asfortranarray(array)
    if action == 1:
        return np.repeat(array, 2, axis=0)[::2]
    if action == 2:
        return array.astype(["f2", "i8", ">f8", "O", "c16"][rng.integers(5)])
    if action == 3:
        return array[: max(0, shape[0] - int(rng.integers(3)))]
    if action == 4:
        array.flags.writeable = False
        return array
    if action == 5 and array.size:
        array.flat[rng.integers(array.size)] = [np.nan, np.inf, -np.inf, 1e38][rng.integers(4)]
        return array
    if action == 6:
        return np.empty((0, HUGE[rng.integers(len(HUGE))] // 8), dtype)
    return array.ravel()


def _pairs(h: int, m: int, n: int, rng: np.random.Generator, wrong: bool) -> np.ndarray:
    """Return starts and lengths of n pairs of series among h and m points; if they may be wrong, of any numbers."""
    if wrong and rng.random() < 0.5:
        return rng.integers(-(2**31), 2**31, (n, 4)).astype(np.int32) >> rng.integers(32)
    starts = np.column_stack([rng.integers(0, h, n), rng.integers(0, m, n)])
    lengths = 1 + (rng.random((n, 2)) * (np.array([h, m]) - starts)).astype(int)
    return np.column_stack([starts[:, 0], lengths[:, 0], starts[:, 1], lengths[:, 1]]).astype(np.int32)


def _misaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    raw[:] = array.ravel()
    return raw.reshape(array.shape)
