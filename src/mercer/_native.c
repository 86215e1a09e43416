/* Kernel tiles computed in registers: the only place that knows about instruction sets.

   A tile of K(X, Y) is made from differences (never |x|^2 + |y|^2 - 2xy: nothing cancels, equal rows give exactly
   k(x, x)), stays in the first-level cache, and is multiplied by V there. K is never stored.

   The file includes itself twice, once for each real type: everything under `#ifdef REAL` is the template, and
   `vec`, `fill`, ... are vec_f64, fill_f32, ... by the macros below. With GCC and Clang a vec is 32 bytes wide and
   on x86-64 the template is compiled for AVX2 + FMA, whatever the build's own flags are: `supported()` asks the
   processor, and the other functions refuse to run where it says no. Any other compiler sees scalars and libm. */

#ifndef REAL

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(MERCER_SCALAR)
#define VECTORS 1
#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 1
#define TARGET __attribute__((target("avx2,fma")))
#else
#define TARGET
#endif
#define INLINE TARGET static inline __attribute__((always_inline))
#define ANY_ALIGNMENT __attribute__((aligned(1), may_alias)) /* a buffer may start anywhere */
#define UNROLL _Pragma("GCC unroll 12")
#else
#define TARGET
#define INLINE static
#define ANY_ALIGNMENT
#define UNROLL
#endif

#define EACH(g) UNROLL for (int g = 0; g < GROUP; g++)

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TYPED(name) JOIN(name, SUFFIX)
#define real TYPED(real)
#define vec TYPED(vec)
#define ints TYPED(ints)
#define half TYPED(half)
#define splat TYPED(splat)
#define choose TYPED(choose)
#define at_least TYPED(at_least)
#define at_most TYPED(at_most)
#define root TYPED(root)
#define magnitude TYPED(magnitude)
#define total TYPED(total)
#define power TYPED(power)
#define decay TYPED(decay)
#define exponential TYPED(exponential)
#define exp_loop TYPED(exp_loop)
#define profile TYPED(profile)
#define pack TYPED(pack)
#define corner TYPED(corner)
#define fill TYPED(fill)
#define outer_block TYPED(outer_block)
#define outer TYPED(outer)
#define dots_block TYPED(dots_block)
#define dots TYPED(dots)
#define Scratch TYPED(Scratch)
#define allocate TYPED(allocate)
#define tile_loop TYPED(tile_loop)
#define product_loop TYPED(product_loop)
#define band TYPED(band)
#define symmetric_loop TYPED(symmetric_loop)

enum {
    RBF,
    INVERSE_MULTIQUADRIC,
    RATIONAL_QUADRATIC,
    MATERN12,
    MATERN32,
    MATERN52,
    LAPLACIAN,
    KINDS
};

/* Blocking. A tile has HEIGHT rows and up to WIDTH vecs of columns, 18 kB: it shares a 32 kB L1 with its operands.
   A product keeps 12 accumulators (of 16 registers) whatever p is: 3 x 4, 4 x 3, 6 x 2 or 12 x 1, so both sides are
   multiples of 12. Distances take ROWS x STRIP vecs: 8 accumulators, enough to hide the latency of an FMA. */
enum {
    ACCUMULATORS = 12,
    HEIGHT = 24,
    WIDTH = 24,
    STRIP = 2,
    ROWS = 4,
    GROUP = 4,
    STRIDE = WIDTH + ACCUMULATORS, /* `outer` may run over the end of a row by less than one group of vecs */
    BAND = 512,                    /* rows for which one packing of columns is reused in the symmetric product */
    PANEL_BYTES = 256 * 1024
};

typedef struct {
    int kind;
    double a, b;
    Py_ssize_t d;
} Kernel;

/* Fewer columns a tile when d is large: packed columns should stay in L2. */
static Py_ssize_t tile_width(Py_ssize_t d, Py_ssize_t vec_bytes)
{
    Py_ssize_t width = WIDTH;
    while (width > ACCUMULATORS && width * d * vec_bytes > PANEL_BYTES) width -= ACCUMULATORS;
    return width;
}

static Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) { return a < b ? a : b; }

static Py_ssize_t round_up(Py_ssize_t n, Py_ssize_t unit) { return (n + unit - 1) / unit * unit; }

/* ---- the two real types ------------------------------------------------------------------------------------- */

#define LOG2E 1.4426950408889634

#define REAL double
#define SUFFIX _f64
#define BITS int64_t
#define MANTISSA 52
#define BIAS 1023
#define LN2_HIGH 6.93147180485539138e-01 /* 33 bits: times an exponent it is exact */
#define LN2_LOW 7.44061711115823199e-11
/* 2^r = 1 + c1 r + ... + c11 r^11 on [-1/2, 1/2], interpolated in Chebyshev points: 2e-17, and exactly 1 at 0 */
#define POLYNOMIAL                                                                                              \
    4.45471700283606925e-10, 7.07258767903241487e-09, 1.01780639032291269e-07, 1.32154425790905323e-06,         \
        1.52527338268026486e-05, 1.54035304417506595e-04, 1.33335581464195116e-03, 9.61812910760687957e-03,     \
        5.55041086648215901e-02, 2.40226506959100972e-01, 6.93147180559945286e-01, 1.0
#define V_(name) _mm256_##name##_pd
#define C_(name) name
#include __FILE__
#undef REAL
#undef SUFFIX
#undef BITS
#undef MANTISSA
#undef BIAS
#undef LN2_HIGH
#undef LN2_LOW
#undef POLYNOMIAL
#undef V_
#undef C_

#define REAL float
#define SUFFIX _f32
#define BITS int32_t
#define MANTISSA 23
#define BIAS 127
#define LN2_HIGH 6.93145751953125e-01f /* 15 bits */
#define LN2_LOW 1.428606820e-06f
/* degree 6: 9e-9 */
#define POLYNOMIAL                                                                                              \
    1.54531633597798645e-04f, 1.33908633142709732e-03f, 9.61808301508426666e-03f, 5.55035695433616638e-02f,     \
        2.40226507186889648e-01f, 6.93147182464599609e-01f, 1.0f
#define V_(name) _mm256_##name##_ps
#define C_(name) name##f
#include __FILE__

/* ---- the Python side ---------------------------------------------------------------------------------------- */

static int runs_fast(void)
{
#if defined(AVX2)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(VECTORS) && defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

typedef struct {
    Py_buffer view;
    char type; /* 'd' or 'f' */
    int held;
} Array;

enum { READ = 0, WRITE = PyBUF_WRITABLE };

/* Opens a C-contiguous buffer of float32 or float64 with `ndim` dimensions (-1: any). */
static int open_array(Array *array, PyObject *object, const char *name, int ndim, int access)
{
    const char *format;
    if (PyObject_GetBuffer(object, &array->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | access) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError) || PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Format(PyExc_ValueError, "%s must be a C-contiguous%s array; pass np.ascontiguousarray(%s)", name,
                         access == WRITE ? ", writable" : "", name);
        }
        return -1;
    }
    array->held = 1;
    format = array->view.format ? array->view.format : "B";
    if (*format == '@' || *format == '=') format++;
    array->type = *format;
    if ((*format != 'd' && *format != 'f') || format[1]) {
        PyErr_Format(PyExc_TypeError, "%s must hold native float32 or float64, and its buffer format is '%s'", name,
                     array->view.format ? array->view.format : "B");
        return -1;
    }
    if (ndim >= 0 && array->view.ndim != ndim) {
        PyErr_Format(PyExc_ValueError, "%s must have %d dimensions, and it has %d", name, ndim, array->view.ndim);
        return -1;
    }
    return 0;
}

/* The arrays of one call, opened together and closed together; the output comes last. */
typedef struct {
    const char *names;
    int count;
    Array arrays[4];
} Call;

static int open_call(Call *call, PyObject *const *objects)
{
    char name[2] = "?";
    int i;
    for (i = 0; i < call->count; i++) {
        int last = i == call->count - 1;
        name[0] = call->names[i];
        if (open_array(&call->arrays[i], objects[i], last ? "out" : name, 2, last ? WRITE : READ) < 0) return -1;
        if (call->arrays[i].type != call->arrays[0].type) {
            PyErr_Format(PyExc_TypeError, "%s and %c must have the same dtype", last ? "out" : name, call->names[0]);
            return -1;
        }
    }
    return 0;
}

static void close_arrays(Array *arrays, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        if (arrays[i].held) PyBuffer_Release(&arrays[i].view);
    }
}

static Py_ssize_t shape(const Call *call, int array, int axis) { return call->arrays[array].view.shape[axis]; }

static int check_shape(const Call *call, int array, const char *what, Py_ssize_t rows, Py_ssize_t columns)
{
    if (shape(call, array, 0) == rows && shape(call, array, 1) == columns) return 0;
    PyErr_Format(PyExc_ValueError, "%s must be (%zd, %zd), and it is (%zd, %zd)", what, rows, columns,
                 shape(call, array, 0), shape(call, array, 1));
    return -1;
}

static int check_kernel(const Kernel *kernel)
{
    if (!runs_fast()) {
#if defined(AVX2)
        PyErr_SetString(PyExc_RuntimeError, "this processor lacks AVX2 or FMA: use NumPy where supported() is False");
        return -1;
#endif
    }
    if (kernel->kind < 0 || kernel->kind >= KINDS) {
        PyErr_Format(PyExc_ValueError, "kind must be 0 to %d, and it is %d", KINDS - 1, kernel->kind);
        return -1;
    }
    if (!(kernel->a >= 0 && kernel->a <= DBL_MAX)) {
        PyErr_SetString(PyExc_ValueError, "a must be finite and not negative");
        return -1;
    }
    if (kernel->kind == RATIONAL_QUADRATIC && !(kernel->b > 0 && kernel->b <= DBL_MAX)) {
        PyErr_SetString(PyExc_ValueError, "b must be finite and positive");
        return -1;
    }
    return 0;
}

/* Runs LOOP_f64 or LOOP_f32 without the GIL; a loop returns 0, or -1 where malloc failed. */
#define RUN(call, status, LOOP, ...)                                                                            \
    Py_BEGIN_ALLOW_THREADS;                                                                                     \
    status = (call).arrays[0].type == 'd' ? LOOP##_f64(__VA_ARGS__) : LOOP##_f32(__VA_ARGS__);                  \
    Py_END_ALLOW_THREADS

static PyObject *finish(Call *call, int status)
{
    close_arrays(call->arrays, call->count);
    if (PyErr_Occurred()) return NULL;
    if (status < 0) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *py_supported(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(runs_fast());
}

static PyObject *py_exp_into(PyObject *module, PyObject *object)
{
    Kernel any = {RBF, 0, 0, 0};
    Call call = {"", 1, {{{0}, 0, 0}}};
    int status = 0;
    (void)module;
    if (check_kernel(&any) == 0 && open_array(&call.arrays[0], object, "buf", -1, WRITE) == 0) {
        Py_buffer *view = &call.arrays[0].view;
        RUN(call, status, exp_loop, view->buf, view->len / view->itemsize);
    }
    return finish(&call, status);
}

static PyObject *py_tile(PyObject *module, PyObject *args)
{
    Kernel kernel;
    Call call = {"XYo", 3, {{{0}, 0, 0}}};
    PyObject *o[3];
    int status = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOO:tile", &kernel.kind, &kernel.a, &kernel.b, &o[0], &o[1], &o[2])) return NULL;
    if (check_kernel(&kernel) == 0 && open_call(&call, o) == 0) {
        Py_ssize_t h = shape(&call, 0, 0), m = shape(&call, 1, 0), d = kernel.d = shape(&call, 0, 1);
        if (check_shape(&call, 1, "Y", m, d) == 0 && check_shape(&call, 2, "out", h, m) == 0) {
            RUN(call, status, tile_loop, &kernel, call.arrays[0].view.buf, h, call.arrays[1].view.buf, m,
                call.arrays[2].view.buf);
        }
    }
    return finish(&call, status);
}

static PyObject *py_product(PyObject *module, PyObject *args)
{
    Kernel kernel;
    Call call = {"XYVo", 4, {{{0}, 0, 0}}};
    PyObject *o[4];
    int status = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOOO:product", &kernel.kind, &kernel.a, &kernel.b, &o[0], &o[1], &o[2], &o[3]))
        return NULL;
    if (check_kernel(&kernel) == 0 && open_call(&call, o) == 0) {
        Py_ssize_t h = shape(&call, 0, 0), m = shape(&call, 1, 0), d = kernel.d = shape(&call, 0, 1);
        Py_ssize_t p = shape(&call, 2, 1);
        if (check_shape(&call, 1, "Y", m, d) == 0 && check_shape(&call, 2, "V", m, p) == 0 &&
            check_shape(&call, 3, "out", h, p) == 0) {
            RUN(call, status, product_loop, &kernel, call.arrays[0].view.buf, h, call.arrays[1].view.buf, m,
                call.arrays[2].view.buf, p, call.arrays[3].view.buf);
        }
    }
    return finish(&call, status);
}

static PyObject *py_symmetric(PyObject *module, PyObject *args)
{
    Kernel kernel;
    Call call = {"XVo", 3, {{{0}, 0, 0}}};
    PyObject *o[3];
    Py_ssize_t stripe, stripes;
    int status = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOOnn:symmetric", &kernel.kind, &kernel.a, &kernel.b, &o[0], &o[1], &o[2], &stripe,
                          &stripes))
        return NULL;
    if (stripe < 0 || stripe >= stripes)
        return PyErr_Format(PyExc_ValueError, "stripe must be in [0, stripes), and it is %zd of %zd", stripe, stripes);
    if (check_kernel(&kernel) == 0 && open_call(&call, o) == 0) {
        Py_ssize_t n = shape(&call, 0, 0), p = shape(&call, 1, 1);
        kernel.d = shape(&call, 0, 1);
        if (check_shape(&call, 1, "V", n, p) == 0 && check_shape(&call, 2, "out", n, p) == 0) {
            RUN(call, status, symmetric_loop, &kernel, call.arrays[0].view.buf, n, call.arrays[1].view.buf, p,
                call.arrays[2].view.buf, stripe, stripes);
        }
    }
    return finish(&call, status);
}

static PyMethodDef methods[] = {
    {"supported", py_supported, METH_NOARGS, "supported() -> bool: whether this module is faster than NumPy here."},
    {"exp_into", py_exp_into, METH_O, "exp_into(buf): exp in place."},
    {"tile", py_tile, METH_VARARGS, "tile(kind, a, b, X, Y, out): out = K(X, Y)."},
    {"product", py_product, METH_VARARGS, "product(kind, a, b, X, Y, V, out): out = K(X, Y) @ V."},
    {"symmetric", py_symmetric, METH_VARARGS,
     "symmetric(kind, a, b, X, V, out, stripe, stripes): one of the terms, over stripes, of K(X, X) @ V."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Kernel tiles computed in registers.", 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }

#else /* ---- the template, for one REAL ----------------------------------------------------------------------- */

typedef REAL real ANY_ALIGNMENT; /* an element of the caller's buffers */

#if defined(VECTORS)
typedef REAL vec __attribute__((vector_size(32), may_alias));
typedef BITS ints __attribute__((vector_size(32), may_alias));
typedef REAL half __attribute__((vector_size(16), may_alias));
#define ZERO {0}
#else
typedef REAL vec;
#define ZERO 0
#endif
#define LANES ((Py_ssize_t)(sizeof(vec) / sizeof(REAL)))

INLINE vec splat(REAL x) { return x - (vec){0}; }

#if defined(VECTORS)

#if defined(AVX2)
/* maxpd and minpd return the second operand where one is NaN, so NaN stays NaN. */
INLINE vec at_least(REAL low, vec x) { return V_(max)(splat(low), x); }
INLINE vec at_most(REAL high, vec x) { return V_(min)(splat(high), x); }
INLINE vec root(vec x) { return V_(sqrt)(x); }
#else
INLINE vec choose(ints mask, vec x, vec y) { return (vec)(((ints)x & mask) | ((ints)y & ~mask)); }
INLINE vec at_least(REAL low, vec x) { return choose(x < splat(low), splat(low), x); }
INLINE vec at_most(REAL high, vec x) { return choose(x > splat(high), splat(high), x); }
INLINE vec root(vec x)
{
    for (int l = 0; l < LANES; l++) x[l] = C_(sqrt)(x[l]);
    return x;
}
#endif

INLINE vec magnitude(vec x) { return (vec)((ints)x & ~(ints)splat((REAL)-0.0)); }

INLINE REAL total(vec v)
{
    half parts[2];
    memcpy(parts, &v, sizeof v);
    half h = parts[0] + parts[1];
#if MANTISSA == 52
    return h[0] + h[1];
#else
    return (h[0] + h[2]) + (h[1] + h[3]);
#endif
}

/* Adding SHIFT rounds to an integer and leaves that integer + BIAS in the last bits, ready to become an exponent. */
#define SHIFT ((REAL)(1.5 * ((int64_t)1 << MANTISSA) + BIAS))

/* y = 2^r times the power of two whose biased exponent is in the last bits of e. */
INLINE void power(const vec *r, const ints *e, vec *y)
{
    static const REAL c[] = {POLYNOMIAL};
    EACH(g) y[g] = splat(c[0]);
    UNROLL for (int k = 1; k < (int)(sizeof c / sizeof *c); k++) EACH(g) y[g] = y[g] * r[g] + c[k];
    EACH(g) y[g] *= (vec)(e[g] << MANTISSA);
}

/* s -> 2^s for s <= 0. The exponent -BIAS has the bits of 0, so that everything below is 0 without a branch. */
INLINE void decay(vec *s)
{
    vec r[GROUP];
    ints e[GROUP];
    EACH(g)
    {
        vec low = at_least(-BIAS, s[g]), shifted = low + SHIFT;
        r[g] = low - (shifted - SHIFT);
        e[g] = (ints)shifted;
    }
    power(r, e, s);
}

/* x -> e^x for all x. For x > 0 the exponent is taken one lower and the result doubled: so 1.99 * 2^BIAS is reached,
   and the exponent BIAS + 1 has the bits of infinity. */
INLINE void exponential(vec *x)
{
    vec r[GROUP];
    ints e[GROUP], positive[GROUP];
    EACH(g)
    {
        vec z = at_most((REAL)((BIAS + 2) / LOG2E), at_least((REAL)(-BIAS / LOG2E), x[g]));
        vec shifted = z * (REAL)LOG2E + SHIFT, n = shifted - SHIFT;
        r[g] = ((z - n * LN2_HIGH) - n * LN2_LOW) * (REAL)LOG2E;
        positive[g] = z > 0;
        e[g] = (ints)shifted + positive[g];
    }
    power(r, e, x);
    EACH(g) x[g] += (vec)((ints)x[g] & positive[g]);
}

#else

INLINE vec at_most(REAL high, vec x) { return x > high ? high : x; }
INLINE vec root(vec x) { return C_(sqrt)(x); }
INLINE vec magnitude(vec x) { return C_(fabs)(x); }
INLINE REAL total(vec v) { return v; }
INLINE void decay(vec *s) { EACH(g) s[g] = C_(exp2)(s[g]); }
INLINE void exponential(vec *x) { EACH(g) x[g] = C_(exp)(x[g]); }

#endif

/* exp in place; the last, partial group goes through a copy. */
TARGET static int exp_loop(real *x, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i += GROUP * LANES) {
        vec group[GROUP] = {ZERO};
        if (n - i >= GROUP * LANES) {
            memcpy(group, x + i, sizeof group);
            exponential(group);
            memcpy(x + i, group, sizeof group);
        } else {
            memcpy(group, x + i, (n - i) * sizeof(REAL));
            exponential(group);
            memcpy(x + i, group, (n - i) * sizeof(REAL));
        }
    }
    return 0;
}

/* t -> k(t) in place on a group; t is the squared distance, for LAPLACIAN the sum of absolute differences. */
INLINE void profile(const Kernel *kernel, const int kind, vec *t)
{
    const REAL a = (REAL)kernel->a, rate = (REAL)(-kernel->a * LOG2E), log2e = (REAL)LOG2E;
    const REAL c = (REAL)(kernel->a * (kind == MATERN12 ? 2 : kind == MATERN32 ? 6 : 10)); /* 4 nu a */
    const REAL far = 1000, third = (REAL)(1 / 3.); /* e^-far is 0 and far^2 is finite: no 0 * inf = NaN */
    vec u[GROUP];
    switch (kind) {
    case RBF:
    case LAPLACIAN:
        EACH(g) t[g] *= rate;
        decay(t);
        break;
    case INVERSE_MULTIQUADRIC:
        EACH(g) t[g] = 1 / root(1 + a * t[g]);
        break;
    case RATIONAL_QUADRATIC: { /* log1p, because b may be large */
        REAL *lanes = (REAL *)t, a_b = (REAL)(kernel->a / kernel->b), rate_b = (REAL)(-kernel->b * LOG2E);
        for (int l = 0; l < GROUP * LANES; l++) lanes[l] = C_(log1p)(lanes[l] * a_b) * rate_b;
        decay(t);
        break;
    }
    default: /* MATERN */
        EACH(g) u[g] = at_most(far, root(c * t[g]));
        EACH(g) t[g] = u[g] * -log2e;
        decay(t);
        if (kind == MATERN32) EACH(g) t[g] *= 1 + u[g];
        if (kind == MATERN52) EACH(g) t[g] *= 1 + u[g] + u[g] * u[g] * third;
    }
}

/* Packs n points so that a strip of STRIP vecs of them lies together: strip[k] holds coordinate k of each. The rest
   of the last strip is 0, a point like any other, whose kernel values are never used. */
TARGET static void pack(const real *Y, Py_ssize_t n, Py_ssize_t d, vec *panel)
{
    const Py_ssize_t S = STRIP * LANES;
    for (Py_ssize_t j = 0; j < n; j += S) {
        REAL *strip = (REAL *)panel + j * d;
        if (n - j < S) memset(strip, 0, S * d * sizeof(REAL));
        for (Py_ssize_t l = 0; l < least(S, n - j); l++)
            for (Py_ssize_t k = 0; k < d; k++) strip[k * S + l] = Y[(j + l) * d + k];
    }
}

/* ROWS rows of X x one strip of packed points, from the differences to k: all of it in registers. */
INLINE void corner(const Kernel *kernel, const int kind, const real *const *x, const vec *strip, vec *T)
{
    vec t[ROWS * STRIP] = {ZERO};
    for (Py_ssize_t k = 0; k < kernel->d; k++) {
        UNROLL for (int e = 0; e < ROWS * STRIP; e++)
        {
            vec z = x[e / STRIP][k] - strip[k * STRIP + e % STRIP];
            if (kind == LAPLACIAN) {
                t[e] += magnitude(z);
            } else {
                t[e] += z * z;
            }
        }
    }
    UNROLL for (int e = 0; e < ROWS * STRIP; e += GROUP) profile(kernel, kind, t + e);
    UNROLL for (int e = 0; e < ROWS * STRIP; e++) T[e / STRIP * STRIDE + e % STRIP] = t[e];
}

/* T[r, v] = k(x_r, y_v) for `rows` <= HEIGHT rows of X and the packed vecs from <= v < to, multiples of STRIP. */
TARGET static void fill(const Kernel *kernel, const real *X, Py_ssize_t rows, const vec *panel, Py_ssize_t from,
                        Py_ssize_t to, vec *T)
{
    const Py_ssize_t d = kernel->d;
    for (Py_ssize_t v = from; v < to; v += STRIP) {
        for (Py_ssize_t i = 0; i < rows; i += ROWS) {
            const real *x[ROWS]; /* past the end the last row is repeated: T has room for it */
            for (int r = 0; r < ROWS; r++) x[r] = X + least(i + r, rows - 1) * d;
            switch (kernel->kind) {
#define CASE(kind)                                                            \
    case kind:                                                                \
        corner(kernel, kind, x, panel + v * d, T + i * STRIDE + v); \
        break;
                CASE(RBF)
                CASE(INVERSE_MULTIQUADRIC)
                CASE(RATIONAL_QUADRATIC)
                CASE(MATERN12)
                CASE(MATERN32)
                CASE(MATERN52)
                CASE(LAPLACIAN)
#undef CASE
            }
        }
    }
}

/* out[c, v] += sum_i V[i, c] T[i, v] for q columns of V and ACCUMULATORS / q vecs: this is T' V, transposed. */
INLINE void outer_block(const vec *T, Py_ssize_t rows, const real *V, Py_ssize_t p, vec *out, const int q)
{
    vec sum[ACCUMULATORS] = {ZERO};
    const int g = ACCUMULATORS / q;
    for (Py_ssize_t i = 0; i < rows; i++) {
        UNROLL for (int c = 0; c < q; c++) UNROLL for (int v = 0; v < g; v++)
            sum[c * g + v] += V[i * p + c] * T[i * STRIDE + v];
    }
    UNROLL for (int c = 0; c < q; c++) UNROLL for (int v = 0; v < g; v++) out[c * STRIDE + v] += sum[c * g + v];
}

TARGET static void outer(const vec *T, Py_ssize_t rows, Py_ssize_t vecs, const real *V, Py_ssize_t p, vec *out)
{
    const Py_ssize_t rest = p % 4, whole = p - rest;
    for (Py_ssize_t v = 0; v < vecs; v += 3)
        for (Py_ssize_t c = 0; c < whole; c += 4) outer_block(T + v, rows, V + c, p, out + c * STRIDE + v, 4);
    V += whole;
    out += whole * STRIDE;
    for (Py_ssize_t v = 0; rest && v < vecs; v += ACCUMULATORS / rest) {
        if (rest == 1) outer_block(T + v, rows, V, p, out + v, 1);
        if (rest == 2) outer_block(T + v, rows, V, p, out + v, 2);
        if (rest == 3) outer_block(T + v, rows, V, p, out + v, 3);
    }
}

/* out[r, c] += sum_v T[r, v] W[c, v] for q rows of W and ACCUMULATORS / q of T: this is T V, with W = V'. */
INLINE void dots_block(const vec *T, Py_ssize_t rows, Py_ssize_t vecs, const vec *W, real *out, Py_ssize_t p,
                       const int q)
{
    vec sum[ACCUMULATORS] = {ZERO};
    const int g = ACCUMULATORS / q;
    for (Py_ssize_t v = 0; v < vecs; v++) {
        UNROLL for (int r = 0; r < g; r++) UNROLL for (int c = 0; c < q; c++)
            sum[r * q + c] += T[r * STRIDE + v] * W[c * STRIDE + v];
    }
    UNROLL for (int r = 0; r < g; r++) {
        if (r < rows) UNROLL for (int c = 0; c < q; c++) out[r * p + c] += total(sum[r * q + c]);
    }
}

TARGET static void dots(const vec *T, Py_ssize_t rows, Py_ssize_t vecs, const vec *W, real *out, Py_ssize_t p)
{
    const Py_ssize_t rest = p % 4, whole = p - rest;
    for (Py_ssize_t r = 0; r < rows; r += 3)
        for (Py_ssize_t c = 0; c < whole; c += 4)
            dots_block(T + r * STRIDE, rows - r, vecs, W + c * STRIDE, out + r * p + c, p, 4);
    W += whole * STRIDE;
    out += whole;
    for (Py_ssize_t r = 0; rest && r < rows; r += ACCUMULATORS / rest) {
        if (rest == 1) dots_block(T + r * STRIDE, rows - r, vecs, W, out + r * p, p, 1);
        if (rest == 2) dots_block(T + r * STRIDE, rows - r, vecs, W, out + r * p, p, 2);
        if (rest == 3) dots_block(T + r * STRIDE, rows - r, vecs, W, out + r * p, p, 3);
    }
}

/* The cache-sized memory of one call: a tile, packed points, and `matrices` transposed p x STRIDE blocks. */
typedef struct {
    void *memory;
    Py_ssize_t columns; /* of a tile, a multiple of LANES * ACCUMULATORS */
    vec *T, *panel, *block[2];
} Scratch;

static int allocate(Scratch *s, Py_ssize_t d, Py_ssize_t p, int blocks)
{
    const Py_ssize_t width = tile_width(d, sizeof(vec)), tile = HEIGHT * STRIDE;
    const size_t bytes = (tile + width * d + blocks * p * STRIDE) * sizeof(vec) + 64;
    s->columns = width * LANES;
    s->memory = calloc(bytes, 1);
    if (!s->memory) return -1;
    s->T = (vec *)(((uintptr_t)s->memory + 63) & ~(uintptr_t)63);
    s->panel = s->T + tile;
    s->block[0] = s->panel + width * d;
    s->block[1] = s->block[0] + p * STRIDE;
    return 0;
}

TARGET static int tile_loop(const Kernel *kernel, const real *X, Py_ssize_t h, const real *Y, Py_ssize_t m, real *out)
{
    Scratch s;
    if (allocate(&s, kernel->d, 0, 0) < 0) return -1;
    for (Py_ssize_t j = 0; j < m; j += s.columns) {
        const Py_ssize_t n = least(s.columns, m - j), vecs = round_up(n, STRIP * LANES) / LANES;
        pack(Y + j * kernel->d, n, kernel->d, s.panel);
        for (Py_ssize_t i = 0; i < h; i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, h - i);
            fill(kernel, X + i * kernel->d, rows, s.panel, 0, vecs, s.T);
            for (Py_ssize_t r = 0; r < rows; r++) memcpy(out + (i + r) * m + j, s.T + r * STRIDE, n * sizeof(REAL));
        }
    }
    free(s.memory);
    return 0;
}

/* The rows of X are the columns of the tiles here: `outer` then needs no sum across lanes and no packed V. */
TARGET static int product_loop(const Kernel *kernel, const real *X, Py_ssize_t h, const real *Y, Py_ssize_t m,
                               const real *V, Py_ssize_t p, real *out)
{
    const Py_ssize_t d = kernel->d;
    Scratch s;
    if (allocate(&s, d, p, 1) < 0) return -1;
    for (Py_ssize_t j = 0; j < h; j += s.columns) {
        const Py_ssize_t n = least(s.columns, h - j), vecs = round_up(n, STRIP * LANES) / LANES;
        const REAL *KV = (const REAL *)s.block[0];
        pack(X + j * d, n, d, s.panel);
        memset(s.block[0], 0, p * STRIDE * sizeof(vec));
        for (Py_ssize_t i = 0; i < m; i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, m - i);
            fill(kernel, Y + i * d, rows, s.panel, 0, vecs, s.T);
            outer(s.T, rows, vecs, V + i * p, p, s.block[0]);
        }
        for (Py_ssize_t l = 0; l < n; l++)
            for (Py_ssize_t c = 0; c < p; c++) out[(j + l) * p + c] = KV[c * STRIDE * LANES + l];
    }
    free(s.memory);
    return 0;
}

/* Rows first <= i < last of the upper triangle, each tile used twice. */
TARGET static void band(const Kernel *kernel, const real *X, Py_ssize_t n, const real *V, Py_ssize_t p, real *out,
                        Py_ssize_t first, Py_ssize_t last, Scratch *s)
{
    const Py_ssize_t d = kernel->d, row = STRIDE * LANES;
    REAL *T = (REAL *)s->T, *W = (REAL *)s->block[0], *KV = (REAL *)s->block[1];
    for (Py_ssize_t j = first; j < n; j += s->columns) {
        const Py_ssize_t wide = least(s->columns, n - j), vecs = round_up(wide, STRIP * LANES) / LANES;
        pack(X + j * d, wide, d, s->panel);
        memset(s->block[0], 0, 2 * p * STRIDE * sizeof(vec));
        for (Py_ssize_t l = 0; l < wide; l++)
            for (Py_ssize_t c = 0; c < p; c++) W[c * row + l] = V[(j + l) * p + c];
        for (Py_ssize_t i = first; i < least(last, j + wide); i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, last - i);
            const Py_ssize_t from = i > j ? (i - j) / (STRIP * LANES) * STRIP : 0;
            fill(kernel, X + i * d, rows, s->panel, from, vecs, s->T);
            for (Py_ssize_t r = 0; r < rows; r++) /* below the diagonal: another tile has these */
                for (Py_ssize_t l = from * LANES; l < least(i + r - j, wide); l++) T[r * row + l] = 0;
            dots(s->T + from, rows, vecs - from, s->block[0] + from, out + i * p, p);
            for (Py_ssize_t r = 0; r < rows; r++) /* the diagonal counts once */
                if (i + r >= j && i + r < j + wide) T[r * row + i + r - j] = 0;
            outer(s->T + from, rows, vecs - from, V + i * p, p, s->block[1] + from);
        }
        for (Py_ssize_t l = 0; l < wide; l++)
            for (Py_ssize_t c = 0; c < p; c++) out[(j + l) * p + c] += KV[c * row + l];
    }
}

/* The bands are dealt out to and fro (0 1 1 0 0 1 1 0 for two stripes), in whole rounds: as bands get shorter towards
   the end of the triangle, this gives every stripe the same work. */
static int symmetric_loop(const Kernel *kernel, const real *X, Py_ssize_t n, const real *V, Py_ssize_t p, real *out,
                          Py_ssize_t stripe, Py_ssize_t stripes)
{
    const Py_ssize_t round = 2 * stripes, bands = round_up(round_up(n, BAND) / BAND, round);
    const Py_ssize_t height = round_up(round_up(n, bands ? bands : 1) / (bands ? bands : 1), HEIGHT);
    Scratch s;
    memset(out, 0, n * p * sizeof(REAL));
    if (allocate(&s, kernel->d, p, 2) < 0) return -1;
    for (Py_ssize_t k = 0; k * height < n; k++) {
        const Py_ssize_t turn = k % round, owner = turn < stripes ? turn : round - 1 - turn;
        if (owner == stripe) band(kernel, X, n, V, p, out, k * height, least(n, (k + 1) * height), &s);
    }
    free(s.memory);
    return 0;
}

#undef LANES
#undef ZERO
#undef SHIFT
#endif
