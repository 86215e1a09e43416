/* Kernel tiles made and used in cache: the only place that knows about instruction sets.

   A tile of K(X, Y) is computed from differences (never |x|^2 + |y|^2 - 2xy: nothing cancels, and equal rows give
   exactly k(x, x)), stays in the first cache, and is multiplied by V there; K is never stored. Where the caller knows
   that little cancels, NEAR computes the exponents of RBF from products, which are half of the work.

   The file includes itself for each instance, that is each set of vector instructions, and there for each real type:
   what stands under `#else` at the end is a template, in which `vec`, `fill`, ... mean vec_f64_avx2, fill_f32_avx512,
   ... With GCC and Clang on x86-64 there are two instances, compiled for AVX2 and AVX-512 whatever the flags are, and
   the processor decides at run time: `instances()` names those it has, best first, and `use()` selects one of them.
   Elsewhere there is one: with GCC and Clang on 64-bit ARM vecs become NEON, other compilers see scalars and libm.
   Where `instances()` is empty NumPy is faster; without AVX2 the other functions refuse to run. */

#ifndef INSTANCE

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if (defined(__GNUC__) || defined(__clang__)) && !defined(MERCER_SCALAR)
#define VECTORS
#if defined(__x86_64__)
#define X86
#include <immintrin.h>
#endif
#define INLINE TARGET static inline __attribute__((always_inline))
#define ANY_ALIGNMENT __attribute__((aligned(1), may_alias)) /* a caller's buffer may start at any byte */
#define UNROLL _Pragma("GCC unroll 24")
#else
#define INLINE static
#define ANY_ALIGNMENT
#define UNROLL
#endif
#define EACH(g) UNROLL for (int g = 0; g < GROUP; g++)

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TYPED(name) JOIN(JOIN(name, SUFFIX), INSTANCE)
#define real TYPED(real)
#define vec TYPED(vec)
#define ints TYPED(ints)
#define quarter TYPED(quarter)
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
#define profile_kind TYPED(profile_kind)
#define profile_loop TYPED(profile_loop)
#define expanded_kind TYPED(expanded_kind)
#define expanded_loop TYPED(expanded_loop)
#define pack TYPED(pack)
#define unpack TYPED(unpack)
#define distances TYPED(distances)
#define fill_kind TYPED(fill_kind)
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
#define fixed TYPED(fixed)
#define converted TYPED(converted)
#define round_loop TYPED(round_loop)
#define stored_loop TYPED(stored_loop)
#define gather TYPED(gather)
#define block_product TYPED(block_product)
#define multiply_loop TYPED(multiply_loop)
#define align_point TYPED(align_point)
#define rescale TYPED(rescale)
#define align_group TYPED(align_group)
#define align_loop TYPED(align_loop)

/* NEAR is RBF for points x sqrt(2 a log2 e) whose last coordinate is -|x|^2 / 2: k = 2^(x'y), the last ones added. */
enum { RBF, INVERSE_MULTIQUADRIC, RATIONAL_QUADRATIC, MATERN12, MATERN32, MATERN52, LAPLACIAN, NEAR, KINDS };

typedef struct {
    int kind;
    double a, b;
    Py_ssize_t d;
} Kernel;

/* Blocking, measured on Zen 3. Whatever is indexed by the columns of a tile lies in strips of STRIP vecs: a tile is
   [strip][row], packed points are [strip][coordinate], packed V is [strip][column of V]. */
enum {
    STRIP = 2,
    ROWS = 4,                 /* ROWS x STRIP sums at a time hide the latency of an FMA: 4 cycles, 2 a cycle */
    GROUP = ROWS * STRIP,     /* vecs that go through exp side by side, for the same reason */
    DOTS = 4,
    HEIGHT = 72,              /* rows of a tile, a multiple of ACCUMULATORS and of ROWS */
    WIDTH = 36,               /* vecs in a row of it; with all it is multiplied by, the tile (81 kB) stays in L2 */
    PANEL_BYTES = 256 * 1024, /* and so should the packed points: tiles get narrower when d is large */
    BAND = 512,               /* rows that use one packing of the columns, in the symmetric product */
    VECS = 3,                 /* of the columns of a block of a matrix product, which has ACCUMULATORS / VECS rows */
    DEPTH = 256,              /* terms of a sum that are added at a time: a strip of the factors stays in L1 … */
    TALL = 192,               /* … so many rows of the first factor in L2 … */
    WIDEST = 480              /* … and so many columns of the second factor beside them */
};

/* A matrix whose neighbours in a column and in a row are any number of elements apart. */
typedef struct {
    const void *start;
    Py_ssize_t rows, columns, down, right;
} Strided;

#define MOST_FACTORS 8 /* whole exponents up to it are products, for which no logarithm is needed */
#define UNIT 2147483647 /* stands for 1 in tiles of 32-bit integers, which hold values from 0 to 1 */
#define MOST ((Py_ssize_t)1 << (sizeof(Py_ssize_t) > 4 ? 33 : 28)) /* of a side of an array: no product overflows */

static Py_ssize_t least(Py_ssize_t a, Py_ssize_t b) { return a < b ? a : b; }

static Py_ssize_t quotient_up(Py_ssize_t n, Py_ssize_t unit) { return (n + unit - 1) / unit; }

/* ---- the instances ---------------------------------------------------------------------------------------------- */

#define LOG2E 1.4426950408889634

/* BYTES of a vec; ACCUMULATORS of a product fill most of the registers, as OUTER x STRIP, or 3 x DOTS, 4 x 3, 6 x 2,
   12 x 1, and twice as many rows where there are twice as many registers. */
#define BYTES 32
#define ACCUMULATORS 12
#define OUTER 6
#if defined(X86)
#define INSTANCE _avx2
#define TARGET __attribute__((target("avx2,fma")))
#define INTRINSIC_(name, type) _mm256_##name##_##type
#include "_native.c"
#undef INSTANCE
#undef TARGET
#undef INTRINSIC_
#undef BYTES
#undef ACCUMULATORS
#undef OUTER
#define BYTES 64
#define ACCUMULATORS 24 /* of 32 registers */
#define OUTER 12
#define INSTANCE _avx512
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define INTRINSIC_(name, type) _mm512_##name##_##type
#include "_native.c"
#else
#define INSTANCE _plain
#define TARGET
#include "_native.c"
#endif

/* ---- the Python side ------------------------------------------------------------------------------------------- */

enum { PLAIN, AVX2, AVX512, INSTANCES };
static const char *const names[INSTANCES] = {"neon", "avx2", "avx512"};
static int active = -1; /* the instance in use, one for the process; below 0: none runs here */

static int runs(int instance)
{
#if defined(X86)
    __builtin_cpu_init();
    if (instance == AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
    return instance == AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(VECTORS) && defined(__aarch64__)
    return instance == PLAIN;
#else
    (void)instance;
    return 0;
#endif
}

/* One call: its kernel, and its arrays, opened and closed together. */
typedef struct {
    Kernel kernel;
    Py_buffer arrays[5];
    int opened;
    char type; /* 'd' or 'f', the same for all */
} Call;

#define fail(...) (PyErr_Format(__VA_ARGS__), -1)

/* Opens one more array, of any type, with PyBUF_... flags; ndim < 0 allows any number of dimensions. */
static int open_buffer(Call *call, PyObject *object, const char *name, int ndim, int flags)
{
    Py_buffer *view = &call->arrays[call->opened];
    if (PyObject_GetBuffer(object, view, flags | PyBUF_FORMAT) < 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) return -1; /* no buffer at all: Python says it well */
        const int rows = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS, written = flags & PyBUF_WRITABLE;
        return fail(PyExc_ValueError, "%s must be a %s array", name,
                    rows && written ? "C-contiguous, writable" : rows ? "C-contiguous" : "writable");
    }
    call->opened++;
    for (int i = 0; i < view->ndim; i++) /* sides beside one of 0 can be of any size: products of them overflow */
        if (view->shape[i] > MOST) return fail(PyExc_ValueError, "%s has a side of %zd", name, view->shape[i]);
    if (ndim >= 0 && view->ndim != ndim)
        return fail(PyExc_ValueError, "%s must have %d dimensions, and it has %d", name, ndim, view->ndim);
    return 0;
}

static const char *format_of(const Py_buffer *view)
{
    const char *given = view->format ? view->format : "B";
    return given + (*given == '@' || *given == '=');
}

/* Opens one more array of real numbers, all of one type. */
static int open_reals(Call *call, PyObject *object, const char *name, int ndim, int flags)
{
    if (open_buffer(call, object, name, ndim, flags) < 0) return -1;
    const Py_buffer *view = &call->arrays[call->opened - 1];
    const char *format = format_of(view);
    if ((*format != 'd' && *format != 'f') || format[1])
        return fail(PyExc_TypeError, "%s must be native float32 or float64, and its format is '%s'", name, view->format);
    if (call->opened == 1) call->type = *format;
    if (call->type != *format)
        return fail(PyExc_TypeError, "%s must have the dtype of X, '%c', and it has '%c'", name, call->type, *format);
    return 0;
}

static int open_array(Call *call, PyObject *object, const char *name, int ndim, int writable)
{
    return open_reals(call, object, name, ndim, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0));
}

/* Opens one more matrix, of 32-bit integers. */
static int open_integers(Call *call, PyObject *object, const char *name, int writable)
{
    if (open_buffer(call, object, name, 2, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    const Py_buffer *view = &call->arrays[call->opened - 1];
    const char *format = format_of(view);
    if ((*format == 'i' || *format == 'l') && view->itemsize == sizeof(int32_t)) return 0;
    return fail(PyExc_TypeError, "%s must be int32, and its format is '%s'", name, view->format ? view->format : "B");
}

/* Opens one more matrix of real numbers, of the type of the others, whose elements need not be neighbours. */
static int open_strided(Call *call, PyObject *object, const char *name, int writable, Strided *matrix)
{
    if (open_reals(call, object, name, 2, PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    const Py_buffer *view = &call->arrays[call->opened - 1];
    const Py_ssize_t size = view->itemsize, down = view->strides[0], right = view->strides[1];
    if (down % size || right % size) return fail(PyExc_ValueError, "%s must have strides of whole elements", name);
    *matrix = (Strided){view->buf, view->shape[0], view->shape[1], down / size, right / size};
    return 0;
}

static int check_processor(void)
{
#if defined(X86)
    if (active < 0) return fail(PyExc_RuntimeError, "no AVX2 and FMA here: use NumPy where instances() is empty");
#endif
    return 0;
}

/* Checks the kernel and opens the arrays: inputs with one letter for a name, then out. */
static int open_call(Call *call, const char *letters, PyObject **objects)
{
    Kernel *k = &call->kernel;
    if (check_processor() < 0) return -1;
    for (; *letters; letters++) {
        const char name[2] = {*letters, 0};
        if (open_array(call, *objects++, name, 2, 0) < 0) return -1;
    }
    if (open_array(call, *objects, "out", 2, 1) < 0) return -1;
    const double most = (call->type == 'd' ? DBL_MAX : FLT_MAX) / 16; /* 10 a, the rate of MATERN52, is finite */
    if (k->kind < 0 || k->kind >= KINDS)
        return fail(PyExc_ValueError, "kind must be 0 to %d, and it is %d", KINDS - 1, k->kind);
    if (!(k->a >= 0 && k->a <= most)) return fail(PyExc_ValueError, "a must be finite and not negative");
    if (k->kind == RATIONAL_QUADRATIC && !(k->b > 0 && k->b <= most && k->a / k->b <= most))
        return fail(PyExc_ValueError, "b must be positive, and b and a / b finite");
    k->d = call->arrays[0].shape[1];
    if (k->kind == NEAR && k->d < 1) return fail(PyExc_ValueError, "points of kind %d end in a norm", NEAR);
    return 0;
}

/* For functions that are given distances, which NEAR does not have. */
static int check_distances(const Kernel *k)
{
    return k->kind == NEAR ? fail(PyExc_ValueError, "kind %d has no distances", NEAR) : 0;
}

static int check_shape(const Py_buffer *view, const char *name, Py_ssize_t rows, Py_ssize_t columns)
{
    const Py_ssize_t *shape = view->shape;
    if (shape[0] == rows && shape[1] == columns) return 0;
    return fail(PyExc_ValueError, "%s must be (%zd, %zd), and it is (%zd, %zd)", name, rows, columns, shape[0],
                shape[1]);
}

/* Runs LOOP of the instance in use, without the GIL; only malloc can fail in a loop. */
#define ONE_OF(f64, f32, ...) (call.type == 'd' ? f64(__VA_ARGS__) : f32(__VA_ARGS__))
#if defined(X86)
#define IN_USE(f64, f32, ...)                                                                                    \
    (active == AVX512 ? ONE_OF(f64##_avx512, f32##_avx512, __VA_ARGS__) : ONE_OF(f64##_avx2, f32##_avx2, __VA_ARGS__))
#else
#define IN_USE(f64, f32, ...) ONE_OF(f64##_plain, f32##_plain, __VA_ARGS__)
#endif
#define RUN(LOOP, ...)                                                                                           \
    do {                                                                                                         \
        int status;                                                                                              \
        Py_BEGIN_ALLOW_THREADS;                                                                                  \
        status = IN_USE(LOOP##_f64, LOOP##_f32, __VA_ARGS__);                                                    \
        Py_END_ALLOW_THREADS;                                                                                    \
        if (status < 0) PyErr_NoMemory();                                                                        \
    } while (0)

static PyObject *close_call(Call *call)
{
    while (call->opened) PyBuffer_Release(&call->arrays[--call->opened]);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static PyObject *py_instances(PyObject *module, PyObject *unused)
{
    PyObject *found = PyList_New(0);
    (void)module, (void)unused;
    for (int i = INSTANCES - 1; found && i >= 0; i--) {
        if (!runs(i)) continue;
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_Append(found, name) < 0) Py_CLEAR(found);
        Py_XDECREF(name);
    }
    return found;
}

static PyObject *py_active(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(active < 0 ? "none" : names[active]);
}

static PyObject *py_use(PyObject *module, PyObject *args)
{
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "s:use", &name)) return NULL;
    for (int i = 0; i < INSTANCES; i++) {
        if (strcmp(name, names[i]) || !runs(i)) continue;
        active = i;
        Py_RETURN_NONE;
    }
    return PyErr_Format(PyExc_ValueError, "this processor does not have '%s'", name);
}

static PyObject *py_exp_into(PyObject *module, PyObject *object)
{
    Call call = {.opened = 0};
    (void)module;
    if (check_processor() == 0 && open_array(&call, object, "buf", -1, 1) == 0)
        RUN(exp_loop, call.arrays[0].buf, call.arrays[0].len / call.arrays[0].itemsize);
    return close_call(&call);
}

static PyObject *py_tile(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    Kernel *k = &call.kernel;
    PyObject *o[3];
    const Py_buffer *X = call.arrays, *Y = X + 1, *out = X + 2;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOO:tile", &k->kind, &k->a, &k->b, o, o + 1, o + 2)) return NULL;
    if (open_call(&call, "XY", o) == 0 && check_shape(Y, "Y", Y->shape[0], k->d) == 0 &&
        check_shape(out, "out", X->shape[0], Y->shape[0]) == 0)
        RUN(tile_loop, k, X->buf, X->shape[0], Y->buf, Y->shape[0], out->buf);
    return close_call(&call);
}

static PyObject *py_profile(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    Kernel *k = &call.kernel;
    PyObject *t;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddO:profile", &k->kind, &k->a, &k->b, &t)) return NULL;
    if (open_call(&call, "", &t) == 0 && check_distances(k) == 0)
        RUN(profile_loop, k, call.arrays[0].buf, call.arrays[0].len / call.arrays[0].itemsize);
    return close_call(&call);
}

static PyObject *py_expanded(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    Kernel *k = &call.kernel;
    PyObject *o[3];
    const Py_buffer *X = call.arrays, *Z = X + 1, *G = X + 2;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOO:expanded", &k->kind, &k->a, &k->b, o, o + 1, o + 2)) return NULL;
    if (open_call(&call, "XZ", o) == 0 && check_distances(k) == 0 && check_shape(X, "X", X->shape[0], 1) == 0 &&
        check_shape(Z, "Z", Z->shape[0], 1) == 0 && check_shape(G, "out", X->shape[0], Z->shape[0]) == 0)
        RUN(expanded_loop, k, X->buf, X->shape[0], Z->buf, Z->shape[0], G->buf);
    return close_call(&call);
}

static PyObject *py_product(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    Kernel *k = &call.kernel;
    PyObject *o[4];
    const Py_buffer *X = call.arrays, *Y = X + 1, *V = X + 2, *out = X + 3;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOOO:product", &k->kind, &k->a, &k->b, o, o + 1, o + 2, o + 3)) return NULL;
    if (open_call(&call, "XYV", o) == 0 && check_shape(Y, "Y", Y->shape[0], k->d) == 0 &&
        check_shape(V, "V", Y->shape[0], V->shape[1]) == 0 &&
        check_shape(out, "out", X->shape[0], V->shape[1]) == 0)
        RUN(product_loop, k, X->buf, X->shape[0], Y->buf, Y->shape[0], V->buf, V->shape[1], out->buf);
    return close_call(&call);
}

static PyObject *py_symmetric(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    Kernel *k = &call.kernel;
    PyObject *o[3];
    Py_ssize_t stripe, stripes;
    const Py_buffer *X = call.arrays, *V = X + 1, *out = X + 2;
    (void)module;
    if (!PyArg_ParseTuple(args, "iddOOOnn:symmetric", &k->kind, &k->a, &k->b, o, o + 1, o + 2, &stripe, &stripes))
        return NULL;
    if (stripe < 0 || stripe >= stripes || stripes > MOST)
        return PyErr_Format(PyExc_ValueError, "stripe must be in [0, stripes), and it is %zd of %zd", stripe, stripes);
    if (open_call(&call, "XV", o) == 0 && check_shape(V, "V", X->shape[0], V->shape[1]) == 0 &&
        check_shape(out, "out", X->shape[0], V->shape[1]) == 0)
        RUN(symmetric_loop, k, X->buf, X->shape[0], V->buf, V->shape[1], out->buf, stripe, stripes);
    return close_call(&call);
}

static PyObject *py_rounded(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    PyObject *k, *out;
    const Py_buffer *K = call.arrays, *Q = K + 1;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:rounded", &k, &out)) return NULL;
    if (check_processor() == 0 && open_array(&call, k, "K", 2, 0) == 0 && open_integers(&call, out, "out", 1) == 0 &&
        check_shape(Q, "out", K->shape[0], K->shape[1]) == 0)
        RUN(round_loop, K->buf, K->shape[0] * K->shape[1], Q->buf);
    return close_call(&call);
}

static PyObject *py_stored(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    PyObject *q, *o[4];
    int both;
    const Py_buffer *V = call.arrays, *W = V + 1, *KV = V + 2, *KW = V + 3, *Q = V + 4;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOOOp:stored", &q, o, o + 1, o + 2, o + 3, &both)) return NULL;
    if (check_processor() == 0 && open_array(&call, o[0], "V", 2, 0) == 0 && open_array(&call, o[1], "W", 2, 0) == 0 &&
        open_array(&call, o[2], "KV", 2, 1) == 0 && open_array(&call, o[3], "KW", 2, 1) == 0 &&
        open_integers(&call, q, "Q", 0) == 0 && check_shape(V, "V", Q->shape[1], V->shape[1]) == 0 &&
        check_shape(W, "W", Q->shape[0], V->shape[1]) == 0 &&
        check_shape(KV, "KV", Q->shape[0], V->shape[1]) == 0 && check_shape(KW, "KW", Q->shape[1], V->shape[1]) == 0)
        RUN(stored_loop, Q->buf, Q->shape[0], Q->shape[1], V->buf, W->buf, V->shape[1], KV->buf, KW->buf, both);
    return close_call(&call);
}

static PyObject *py_multiply(PyObject *module, PyObject *args)
{
    Call call = {.opened = 0};
    PyObject *o[3];
    int upper;
    Strided A, B, out;
    const Py_buffer *view = call.arrays + 2;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOp:multiply", o, o + 1, o + 2, &upper)) return NULL;
    if (check_processor() == 0 && open_strided(&call, o[0], "A", 0, &A) == 0 &&
        open_strided(&call, o[1], "B", 0, &B) == 0 && open_strided(&call, o[2], "out", 1, &out) == 0) {
        if (A.columns != B.rows)
            PyErr_Format(PyExc_ValueError, "A has %zd columns, and B has %zd rows", A.columns, B.rows);
        else if (out.right != 1 && out.columns > 1)
            PyErr_SetString(PyExc_ValueError, "rows of out must be contiguous");
        else if (check_shape(view, "out", A.rows, B.columns) == 0)
            RUN(multiply_loop, &A, &B, view->buf, out.down, upper);
    }
    return close_call(&call);
}

/* Checks that pairs of series (start, length, start, length) lie within X and Z. */
static int check_pairs(const Py_buffer *pairs, const Py_buffer *X, const Py_buffer *Z)
{
    const int32_t *pair = pairs->buf;
    if (X->shape[1] < 1) return fail(PyExc_ValueError, "points must have coordinates");
    for (Py_ssize_t p = 0; p < pairs->shape[0]; p++, pair += 4)
        if (pair[0] < 0 || pair[1] < 1 || pair[0] > X->shape[0] - pair[1] || pair[2] < 0 || pair[3] < 1 ||
            pair[2] > Z->shape[0] - pair[3])
            return fail(PyExc_ValueError, "pair %zd lies outside of X or Z", p);
    return 0;
}

static PyObject *py_alignments(PyObject *module, PyObject *args)
{
    Call call = {.kernel.kind = RBF};
    PyObject *o[4];
    const Py_buffer *X = call.arrays, *Z = X + 1, *out = X + 2, *pairs = X + 3;
    (void)module;
    if (!PyArg_ParseTuple(args, "dOOOO:alignments", &call.kernel.a, o, o + 1, o + 2, o + 3)) return NULL;
    if (open_call(&call, "XZ", o) == 0 && open_integers(&call, o[3], "pairs", 0) == 0 &&
        check_shape(pairs, "pairs", pairs->shape[0], 4) == 0 && check_shape(out, "out", pairs->shape[0], 1) == 0 &&
        check_shape(Z, "Z", Z->shape[0], X->shape[1]) == 0 && check_pairs(pairs, X, Z) == 0)
        RUN(align_loop, &call.kernel, X->buf, Z->buf, pairs->buf, pairs->shape[0], out->buf);
    return close_call(&call);
}

static PyMethodDef methods[] = {
    {"instances", py_instances, METH_NOARGS, "instances() -> list: those that this processor runs, the best first."},
    {"active", py_active, METH_NOARGS, "active() -> str: the instance in use."},
    {"use", py_use, METH_VARARGS, "use(name): use this instance from now on, in the whole process."},
    {"exp_into", py_exp_into, METH_O, "exp_into(buf): buf = exp(buf)."},
    {"profile", py_profile, METH_VARARGS, "profile(kind, a, b, t): t = k(max(t, 0)) for squared distances t."},
    {"expanded", py_expanded, METH_VARARGS,
     "expanded(kind, a, b, X, Z, out): out = k(X + Z.T - 2 out) for squared norms X, Z in columns, and products out."},
    {"tile", py_tile, METH_VARARGS, "tile(kind, a, b, X, Y, out): out = K(X, Y)."},
    {"product", py_product, METH_VARARGS, "product(kind, a, b, X, Y, V, out): out = K(X, Y) @ V."},
    {"symmetric", py_symmetric, METH_VARARGS,
     "symmetric(kind, a, b, X, V, out, stripe, stripes): out over all stripes sums to K(X, X) @ V."},
    {"rounded", py_rounded, METH_VARARGS, "rounded(K, out): out = K * (2^31 - 1) as int32, for K from 0 to 1."},
    {"stored", py_stored, METH_VARARGS,
     "stored(Q, V, W, KV, KW, both): KV = Q @ V for a tile of integers; KW = Q' @ W if both are asked for."},
    {"multiply", py_multiply, METH_VARARGS,
     "multiply(A, B, out, upper): out += A @ B; if upper, entries below the diagonal of a square out may be left out."},
    {"alignments", py_alignments, METH_VARARGS,
     "alignments(a, X, Z, out, pairs): out = log of the sum over all alignments of the series X[i:i + m] and Z[j:j + n], for"
     " pairs (i, m, j, n), of the product of g / (2 - g), g = exp(-a |x - z|^2)."},
    {NULL, NULL, 0, NULL}};

/* Calls share no state but the instance in use, so the module needs no GIL and serves interpreters with a GIL of their own. Headers of the
   limited API of 3.11 do not name these slots (3: multiple interpreters, since 3.12; 4: GIL, since 3.13), and earlier
   versions refuse them: the version that runs decides. */
static PyModuleDef_Slot slots[] = {{4, (void *)1}, {3, (void *)2}, {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    for (int i = 0; i < INSTANCES; i++)
        if (runs(i)) active = i;
    definition.m_slots = Py_Version >= 0x030D0000 ? slots : Py_Version >= 0x030C0000 ? slots + 1 : slots + 2;
    return PyModuleDef_Init(&definition);
}

#elif !defined(REAL) /* ---- one instance: the template for both real types -------------------------------------------- */

#define REAL double
#define SUFFIX _f64
#define BITS int64_t
#define MANTISSA 52
#define BIAS 1023
#define LN2_HIGH 6.93147180485539138e-01 /* 33 bits: times an exponent it is exact */
#define LN2_LOW 7.44061711115823199e-11
/* 2^r = 1 + c1 r + ... + c11 r^11 on [-1/2, 1/2], interpolated in Chebyshev points: to 2e-17, and exactly 1 at 0 */
#define POLYNOMIAL                                                                                               \
    4.45471700283606925e-10, 7.07258767903241487e-09, 1.01780639032291269e-07, 1.32154425790905323e-06,          \
        1.52527338268026486e-05, 1.54035304417506595e-04, 1.33335581464195116e-03, 9.61812910760687957e-03,      \
        5.55041086648215901e-02, 2.40226506959100972e-01, 6.93147180559945286e-01, 1.0
#define INTRINSIC(name) INTRINSIC_(name, pd)
#define LIBM(name) name
#include "_native.c"
#undef REAL
#undef SUFFIX
#undef BITS
#undef MANTISSA
#undef BIAS
#undef LN2_HIGH
#undef LN2_LOW
#undef POLYNOMIAL
#undef INTRINSIC
#undef LIBM

#define REAL float
#define SUFFIX _f32
#define BITS int32_t
#define MANTISSA 23
#define BIAS 127
#define LN2_HIGH 6.93145751953125e-01f /* 15 bits */
#define LN2_LOW 1.428606820e-06f
#define POLYNOMIAL /* the same of degree 6: to 9e-9 */                                                           \
    1.54531633597798645e-04f, 1.33908633142709732e-03f, 9.61808301508426666e-03f, 5.55035695433616638e-02f,      \
        2.40226507186889648e-01f, 6.93147182464599609e-01f, 1.0f
#define INTRINSIC(name) INTRINSIC_(name, ps)
#define LIBM(name) name##f
#include "_native.c"
#undef REAL
#undef SUFFIX
#undef BITS
#undef MANTISSA
#undef BIAS
#undef LN2_HIGH
#undef LN2_LOW
#undef POLYNOMIAL
#undef INTRINSIC
#undef LIBM

#else /* ---- the template, for one REAL -------------------------------------------------------------------------- */

typedef REAL real ANY_ALIGNMENT; /* an element of the caller's buffers */

#if defined(VECTORS)

typedef REAL vec __attribute__((vector_size(BYTES), may_alias));
typedef REAL quarter __attribute__((vector_size(16), may_alias));
typedef BITS ints __attribute__((vector_size(BYTES), may_alias));
#define LANES (BYTES / (int)sizeof(REAL))
#define SPLAT(x) ((x) - (vec){0})

#if defined(X86)
/* max and min return their second operand where one is NaN: NaN stays NaN */
INLINE vec at_least(REAL low, vec x) { return INTRINSIC(max)(SPLAT(low), x); }
INLINE vec at_most(REAL high, vec x) { return INTRINSIC(min)(SPLAT(high), x); }
INLINE vec root(vec x) { return INTRINSIC(sqrt)(x); }
#else
INLINE vec choose(ints mask, vec x, vec y) { return (vec)(((ints)x & mask) | ((ints)y & ~mask)); }
INLINE vec at_least(REAL low, vec x) { return choose(x < low, SPLAT(low), x); }
INLINE vec at_most(REAL high, vec x) { return choose(x > high, SPLAT(high), x); }
INLINE vec root(vec x)
{
    for (int l = 0; l < LANES; l++) x[l] = LIBM(sqrt)(x[l]);
    return x;
}
#endif

/* LANES integers as real numbers */
typedef int32_t fixed __attribute__((vector_size(LANES * 4), may_alias));
INLINE vec converted(const int32_t *q)
{
    fixed x;
    memcpy(&x, q, sizeof x);
    return __builtin_convertvector(x, vec);
}

INLINE vec magnitude(vec x) { return (vec)((ints)x & ~(ints)SPLAT((REAL)-0.0)); }

INLINE REAL total(vec v)
{
    quarter parts[BYTES / 16];
    enum { LAST = 16 / sizeof(REAL) - 1 };
    memcpy(parts, &v, sizeof v);
    UNROLL for (int half = BYTES / 32; half; half /= 2) for (int i = 0; i < half; i++) parts[i] += parts[i + half];
    return LAST == 1 ? parts[0][0] + parts[0][1]
                     : (parts[0][0] + parts[0][LAST / 2 + 1]) + (parts[0][LAST / 2] + parts[0][LAST]);
}

/* Adding SHIFT rounds to an integer, and leaves that integer + BIAS in the last bits, ready to become an exponent. */
#define SHIFT ((REAL)(1.5 * ((int64_t)1 << MANTISSA) + BIAS))

/* y = 2^r times the power of two whose biased exponent is in the last bits of e. */
INLINE void power(const vec *r, const ints *e, vec *y)
{
    static const REAL c[] = {POLYNOMIAL};
    EACH(g) y[g] = SPLAT(c[0]);
    UNROLL for (int k = 1; k < (int)(sizeof c / sizeof *c); k++) EACH(g) y[g] = y[g] * r[g] + c[k];
    EACH(g) y[g] *= (vec)(e[g] << MANTISSA);
}

/* s -> 2^s for s <= 0. The exponent -BIAS has the bits of 0, so that all below is 0 without a branch. */
INLINE void decay(vec *s)
{
    vec r[GROUP];
    ints e[GROUP];
    EACH(g) {
        vec low = at_least(-BIAS, s[g]), shifted = low + SHIFT;
        r[g] = low - (shifted - SHIFT);
        e[g] = (ints)shifted;
    }
    power(r, e, s);
}

/* x -> e^x for all x. For x > 0 the exponent is taken one lower and the result doubled: this reaches 1.99 2^BIAS, and
   from BIAS + 2 on the bits are those of infinity. */
INLINE void exponential(vec *x)
{
    vec r[GROUP];
    ints e[GROUP], positive[GROUP];
    EACH(g) {
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

typedef REAL vec;
#define LANES 1
INLINE vec at_least(REAL low, vec x) { return x < low ? low : x; }
INLINE vec at_most(REAL high, vec x) { return x > high ? high : x; }
INLINE vec root(vec x) { return LIBM(sqrt)(x); }
INLINE vec magnitude(vec x) { return LIBM(fabs)(x); }
INLINE vec converted(const int32_t *q) { return (REAL)*q; }
INLINE REAL total(vec v) { return v; }
INLINE void decay(vec *s) { EACH(g) s[g] = LIBM(exp2)(s[g]); }
INLINE void exponential(vec *x) { EACH(g) x[g] = LIBM(exp)(x[g]); }

#endif

#define COLUMNS (STRIP * LANES) /* of a strip */

/* exp in place; the last, partial group goes through a copy. */
TARGET static int exp_loop(real *x, Py_ssize_t n)
{
    vec last[GROUP];
    for (; n >= GROUP * LANES; n -= GROUP * LANES, x += GROUP * LANES) {
        vec group[GROUP];
        EACH(g) memcpy(group + g, x + g * LANES, sizeof(vec)); /* one by one they go to registers */
        exponential(group);
        EACH(g) memcpy(x + g * LANES, group + g, sizeof(vec));
    }
    memset(last, 0, sizeof last);
    memcpy(last, x, n * sizeof(REAL));
    exponential(last);
    memcpy(x, last, n * sizeof(REAL));
    return 0;
}

/* ---- alignments of series ---------------------------------------------------------------------------------------- */

#define TOGETHER (GROUP * LANES) /* pairs of series that go side by side: numbers of theirs are [point][pair] */

/* One more point x of each first series: row[s] becomes the sum over the alignments that end at this point and at the
   s-th of the other series z, from the sums that end at the point before. Points have d coordinates. */
INLINE void align_point(const real *x, const real *z, Py_ssize_t steps, Py_ssize_t d, REAL rate, real *row)
{
    vec before[GROUP], sums[GROUP]; /* row[s - 1], as it was and as it is */
    memset(sums, 0, sizeof sums);
    EACH(g) {
        memcpy(before + g, row + g * LANES, sizeof(vec));
        memcpy(row + g * LANES, sums + g, sizeof(vec));
    }
    for (Py_ssize_t s = 0; s < steps; s++) {
        vec t[GROUP];
        memset(t, 0, sizeof t);
        for (Py_ssize_t c = 0; c < d; c++, z += TOGETHER)
            EACH(g) {
                vec from, to;
                memcpy(&from, x + c * TOGETHER + g * LANES, sizeof from);
                memcpy(&to, z + g * LANES, sizeof to);
                from -= to;
                t[g] += from * from;
            }
        EACH(g) t[g] *= rate;
        decay(t);
        row += TOGETHER;
        EACH(g) {
            vec above;
            memcpy(&above, row + g * LANES, sizeof above);
            sums[g] = (before[g] + above + sums[g]) * (t[g] / (2 - t[g]));
            before[g] = above;
            memcpy(row + g * LANES, sums + g, sizeof(vec));
        }
    }
}

/* Divides the sums of each pair by a power of two, which is added to its exponent, so that the largest is near 1. */
INLINE void rescale(real *row, Py_ssize_t steps, int *exponents)
{
    REAL scale[TOGETHER] = {0};
    for (const real *at = row; at <= row + steps * TOGETHER; at += TOGETHER)
        for (int l = 0; l < TOGETHER; l++) scale[l] = scale[l] < at[l] ? at[l] : scale[l];
    for (int l = 0; l < TOGETHER; l++) {
        int e;
        LIBM(frexp)(scale[l], &e);
        e = e < -BIAS ? -BIAS : e; /* of a subnormal: 2^-e is finite */
        scale[l] = LIBM(ldexp)(1, -e);
        exponents[l] += e;
    }
    for (real *at = row; at <= row + steps * TOGETHER; at += TOGETHER)
        for (int l = 0; l < TOGETHER; l++) at[l] *= scale[l];
}

/* Up to TOGETHER pairs, in room for their points and sums. */
INLINE void align_group(const Kernel *kernel, const real *X, const real *Z, const int32_t *pairs, int n, real *room,
                        real *out)
{
    const REAL rate = (REAL)(-kernel->a * LOG2E);
    const Py_ssize_t d = kernel->d;
    int exponents[TOGETHER] = {0};
    Py_ssize_t points = 0, steps = 0;
    for (int l = 0; l < n; l++) {
        points = points < pairs[4 * l + 1] ? pairs[4 * l + 1] : points;
        steps = steps < pairs[4 * l + 3] ? pairs[4 * l + 3] : steps;
    }
    real *const row = room, *const x = row + (steps + 1) * TOGETHER, *const z = x + d * TOGETHER;
    memset(room, 0, (steps + 1) * (d + 1) * TOGETHER * sizeof(REAL)); /* shorter series end in zeros, which do not count */
    for (int l = 0; l < TOGETHER; l++) row[l] = 1;
    for (int l = 0; l < n; l++)
        for (Py_ssize_t i = 0; i < pairs[4 * l + 3] * d; i++) z[i * TOGETHER + l] = Z[pairs[4 * l + 2] * d + i];
    for (Py_ssize_t t = 0; t < points; t++) {
        for (int l = 0; l < n; l++)
            for (Py_ssize_t c = 0; c < d && t < pairs[4 * l + 1]; c++)
                x[c * TOGETHER + l] = X[(pairs[4 * l] + t) * d + c];
        align_point(x, z, steps, d, rate, row);
        if (t % 4 == 0) rescale(row, steps, exponents);
        for (int l = 0; l < n; l++)
            if (t + 1 == pairs[4 * l + 1])
                out[l] = LIBM(log)(row[pairs[4 * l + 3] * TOGETHER + l]) + exponents[l] * (REAL)(1 / LOG2E);
    }
}

/* out = log of the sum over all alignments of each pair of series (start in X, length, start in Z, length). */
TARGET static int align_loop(const Kernel *kernel, const real *X, const real *Z, const int32_t *pairs, Py_ssize_t n,
                             real *out)
{
    Py_ssize_t longest = 0;
    for (Py_ssize_t p = 0; p < n; p++) longest = longest < pairs[4 * p + 3] ? pairs[4 * p + 3] : longest;
    real *room = malloc((longest + 1) * (kernel->d + 1) * TOGETHER * sizeof(REAL));
    if (!room) return -1;
    for (; n > 0; n -= TOGETHER, pairs += 4 * TOGETHER, out += TOGETHER)
        align_group(kernel, X, Z, pairs, (int)least(n, TOGETHER), room, out);
    free(room);
    return 0;
}

/* t -> k(t) on a group; t is the squared distance, for LAPLACIAN the sum of absolute differences. */
INLINE void profile(const Kernel *kernel, const int kind, vec *t)
{
    const REAL a = (REAL)kernel->a, rate = (REAL)(-kernel->a * LOG2E);
    const REAL c = (REAL)(kernel->a * (kind == MATERN12 ? 2 : kind == MATERN32 ? 6 : 10)); /* 4 nu a */
    const REAL remote = 1000; /* e^-remote is 0 and remote^2 is finite: no inf * 0 = NaN */
    vec u[GROUP];
    switch (kind) {
    case RBF:
    case LAPLACIAN:
        EACH(g) t[g] *= rate; /* fall through */
    case NEAR:
        decay(t);
        break;
    case INVERSE_MULTIQUADRIC:
        EACH(g) t[g] = 1 / root(1 + a * t[g]);
        break;
    case RATIONAL_QUADRATIC: {
        const REAL a_b = (REAL)(kernel->a / kernel->b), rate_b = (REAL)(-kernel->b * LOG2E);
        if (kernel->b <= MOST_FACTORS && kernel->b == (int)kernel->b) {
            EACH(g) t[g] = u[g] = 1 / (1 + a_b * t[g]);
            for (int k = 1; k < (int)kernel->b; k++) EACH(g) t[g] *= u[g];
            break;
        }
        REAL *lanes = (REAL *)t; /* log1p: (1 + z)^-b loses all digits when b is large */
        for (int l = 0; l < GROUP * LANES; l++) lanes[l] = LIBM(log1p)(lanes[l] * a_b) * rate_b;
        decay(t);
        break;
    }
    default: /* MATERN */
        EACH(g) u[g] = at_most(remote, root(c * t[g]));
        EACH(g) t[g] = u[g] * (REAL)-LOG2E;
        decay(t);
        if (kind == MATERN32) EACH(g) t[g] *= 1 + u[g];
        if (kind == MATERN52) EACH(g) t[g] *= 1 + u[g] + u[g] * u[g] * (REAL)(1 / 3.);
    }
}

INLINE void profile_kind(const Kernel *kernel, const int kind, real *t, Py_ssize_t n)
{
    vec last[GROUP];
    for (; n > 0; n -= GROUP * LANES, t += GROUP * LANES) {
        if (n >= GROUP * LANES) {
            vec group[GROUP];
            EACH(g) memcpy(group + g, t + g * LANES, sizeof(vec));
            EACH(g) group[g] = at_least(0, group[g]);
            profile(kernel, kind, group);
            EACH(g) memcpy(t + g * LANES, group + g, sizeof(vec));
        } else { /* the last, partial group goes through a copy */
            memset(last, 0, sizeof last);
            memcpy(last, t, n * sizeof(REAL));
            EACH(g) last[g] = at_least(0, last[g]);
            profile(kernel, kind, last);
            memcpy(t, last, n * sizeof(REAL));
        }
    }
}

/* t -> k(max(t, 0)) in place, for distances that BLAS made: rounding may leave them below 0. */
TARGET static int profile_loop(const Kernel *kernel, real *t, Py_ssize_t n)
{
#define CASE(kind) case kind: profile_kind(kernel, kind, t, n); break
    switch (kernel->kind) {
        CASE(RBF); CASE(INVERSE_MULTIQUADRIC); CASE(RATIONAL_QUADRATIC);
        CASE(MATERN12); CASE(MATERN32); CASE(MATERN52); CASE(LAPLACIAN);
    }
#undef CASE
    return 0;
}

INLINE void expanded_kind(const Kernel *kernel, const int kind, const real *x2, Py_ssize_t h, const real *z2,
                          Py_ssize_t w, real *G)
{
    for (Py_ssize_t i = 0; i < h; i++) {
        for (Py_ssize_t j = 0; j < w; j += GROUP * LANES) {
            const Py_ssize_t size = least(GROUP * LANES, w - j) * sizeof(REAL);
            vec t[GROUP], z[GROUP];
            if (size == sizeof t) {
                EACH(g) memcpy(t + g, G + i * w + j + g * LANES, sizeof(vec));
                EACH(g) memcpy(z + g, z2 + j + g * LANES, sizeof(vec));
            } else { /* the last, partial group of a row */
                memset(t, 0, sizeof t);
                memset(z, 0, sizeof z);
                memcpy(t, G + i * w + j, size);
                memcpy(z, z2 + j, size);
            }
            EACH(g) t[g] = at_least(0, (x2[i] + z[g]) - 2 * t[g]);
            profile(kernel, kind, t);
            if (size == sizeof t)
                EACH(g) memcpy(G + i * w + j + g * LANES, t + g, sizeof(vec));
            else
                memcpy(G + i * w + j, t, size);
        }
    }
}

/* G -> k(|x|^2 + |z|^2 - 2 G) in place, for inner products that BLAS made. */
TARGET static int expanded_loop(const Kernel *kernel, const real *x2, Py_ssize_t h, const real *z2, Py_ssize_t w, real *G)
{
#define CASE(kind) case kind: expanded_kind(kernel, kind, x2, h, z2, w, G); break
    switch (kernel->kind) {
        CASE(RBF); CASE(INVERSE_MULTIQUADRIC); CASE(RATIONAL_QUADRATIC);
        CASE(MATERN12); CASE(MATERN32); CASE(MATERN52); CASE(LAPLACIAN);
    }
#undef CASE
    return 0;
}

/* strips[j / COLUMNS][k][j % COLUMNS] = A[j, k] for n rows of A; the last strip is filled up with 0. */
TARGET static void pack(const real *A, Py_ssize_t n, Py_ssize_t d, vec *strips)
{
    for (Py_ssize_t j = 0; j < n; j += COLUMNS) {
        REAL *strip = (REAL *)strips + j * d;
        memset(strip, 0, COLUMNS * d * sizeof(REAL));
        for (Py_ssize_t l = 0; l < least(COLUMNS, n - j); l++)
            for (Py_ssize_t k = 0; k < d; k++) strip[k * COLUMNS + l] = A[(j + l) * d + k];
    }
}

/* A += what was packed. */
TARGET static void unpack(const vec *strips, Py_ssize_t n, Py_ssize_t d, real *A)
{
    for (Py_ssize_t j = 0; j < n; j++) {
        const REAL *strip = (const REAL *)strips + j / COLUMNS * COLUMNS * d + j % COLUMNS;
        for (Py_ssize_t k = 0; k < d; k++) A[j * d + k] += strip[k * COLUMNS];
    }
}

/* ROWS rows of X x one strip of points: sums of squared or of absolute differences, or the exponents of NEAR. */
INLINE void distances(const real *const *x, const vec *strip, Py_ssize_t d, const int kind, vec *t)
{
    vec sum[ROWS * STRIP];
    if (kind == NEAR) {
        d--;
        UNROLL for (int e = 0; e < ROWS * STRIP; e++) sum[e] = x[e / STRIP][d] + strip[d * STRIP + e % STRIP];
        for (Py_ssize_t k = 0; k < d; k++)
            UNROLL for (int e = 0; e < ROWS * STRIP; e++) sum[e] += x[e / STRIP][k] * strip[k * STRIP + e % STRIP];
        UNROLL for (int e = 0; e < ROWS * STRIP; e++) t[e] = sum[e];
        return;
    }
    memset(sum, 0, sizeof sum);
    for (Py_ssize_t k = 0; k < d; k++) {
        UNROLL for (int e = 0; e < ROWS * STRIP; e++) {
            vec z = x[e / STRIP][k] - strip[k * STRIP + e % STRIP];
            if (kind == LAPLACIAN)
                sum[e] += magnitude(z);
            else
                sum[e] += z * z;
        }
    }
    UNROLL for (int e = 0; e < ROWS * STRIP; e++) t[e] = sum[e];
}

INLINE void fill_kind(const Kernel *kernel, const int kind, const real *X, Py_ssize_t rows, const vec *strip, vec *t)
{
    for (Py_ssize_t i = 0; i < rows; i += ROWS) {
        const real *x[ROWS]; /* past the end the last row is repeated: there is room for it in T */
        UNROLL for (int r = 0; r < ROWS; r++) x[r] = X + least(i + r, rows - 1) * kernel->d;
        distances(x, strip, kernel->d, kind, t + i * STRIP);
    }
    for (Py_ssize_t e = 0; e < rows * STRIP; e += GROUP) profile(kernel, kind, t + e);
}

/* T = k(x, y) for `rows` rows of X and the packed points of strips from <= s < to. */
TARGET static void fill(const Kernel *kernel, const real *X, Py_ssize_t rows, const vec *points, Py_ssize_t from,
                        Py_ssize_t to, vec *T)
{
#define CASE(kind)                                                                                               \
    case kind: fill_kind(kernel, kind, X, rows, points + s * STRIP * kernel->d, T + s * STRIP * HEIGHT); break
    for (Py_ssize_t s = from; s < to; s++) {
        switch (kernel->kind) {
            CASE(RBF); CASE(INVERSE_MULTIQUADRIC); CASE(RATIONAL_QUADRATIC);
            CASE(MATERN12); CASE(MATERN32); CASE(MATERN52); CASE(LAPLACIAN); CASE(NEAR);
        }
    }
#undef CASE
}

/* out[c] += sum_i V[i, c] T[i] for one strip and q columns of V: this is T' V. */
INLINE void outer_block(const vec *T, Py_ssize_t rows, const real *V, Py_ssize_t p, vec *out, const int q)
{
    vec sum[OUTER * STRIP];
    memset(sum, 0, sizeof sum);
    for (Py_ssize_t i = 0; i < rows; i++)
        UNROLL for (int e = 0; e < q * STRIP; e++) sum[e] += V[i * p + e / STRIP] * T[i * STRIP + e % STRIP];
    UNROLL for (int e = 0; e < q * STRIP; e++) out[e] += sum[e];
}

/* The p columns go in blocks as equal as can be: narrow ones do not fill the pipeline. */
TARGET static void outer(const vec *T, Py_ssize_t rows, Py_ssize_t from, Py_ssize_t to, const real *V, Py_ssize_t p,
                         vec *out)
{
    const Py_ssize_t blocks = quotient_up(p, OUTER);
    for (Py_ssize_t s = from; s < to; s++) {
        for (Py_ssize_t b = 0, c = 0, q; b < blocks; b++, c += q) {
            const vec *t = T + s * STRIP * HEIGHT;
            vec *o = out + (s * p + c) * STRIP;
            q = (p - c) / (blocks - b);
#define CASE(n) case n: outer_block(t, rows, V + c, p, o, n); break
            switch (q) {
                CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6);
#if OUTER > 6
                CASE(7); CASE(8); CASE(9); CASE(10); CASE(11); CASE(12);
#endif
            }
#undef CASE
        }
    }
}

/* out[r, c] += sum_s T[s][r] W[s][c] for q columns and ACCUMULATORS / q rows: this is T V, with V packed in W. */
INLINE void dots_block(const vec *T, Py_ssize_t rows, Py_ssize_t strips, const vec *W, Py_ssize_t p, real *out,
                       const int q)
{
    vec sum[ACCUMULATORS];
    memset(sum, 0, sizeof sum);
    for (Py_ssize_t s = 0; s < strips; s++, T += HEIGHT * STRIP, W += p * STRIP) {
        UNROLL for (int v = 0; v < STRIP; v++) {
            vec w[DOTS];
            UNROLL for (int c = 0; c < q; c++) w[c] = W[c * STRIP + v];
            UNROLL for (int r = 0; r < ACCUMULATORS / q; r++) {
                const vec t = T[r * STRIP + v];
                UNROLL for (int c = 0; c < q; c++) sum[r * q + c] += t * w[c];
            }
        }
    }
    REAL totals[ACCUMULATORS]; /* all of them, though some rows may not exist: a branch in between spills the sums */
    UNROLL for (int e = 0; e < ACCUMULATORS; e++) totals[e] = total(sum[e]);
    for (Py_ssize_t e = 0; e < least(rows * q, ACCUMULATORS); e++) out[e / q * p + e % q] += totals[e];
}

TARGET static void dots(const vec *T, Py_ssize_t rows, Py_ssize_t from, Py_ssize_t to, const vec *W, Py_ssize_t p,
                        real *out)
{
    T += from * STRIP * HEIGHT;
    W += from * STRIP * p;
    for (Py_ssize_t c = 0, q; c < p; c += q) {
        q = least(DOTS, p - c);
        for (Py_ssize_t r = 0; r < rows; r += ACCUMULATORS / q) {
            const vec *t = T + r * STRIP, *w = W + c * STRIP;
#define CASE(n) case n: dots_block(t, rows - r, to - from, w, p, out + r * p + c, n); break
            switch (q) { CASE(1); CASE(2); CASE(3); CASE(4); }
#undef CASE
        }
    }
}

/* The memory of one call: a tile, packed points, V packed, and a product still in strips. */
typedef struct {
    void *memory;
    vec *T, *points, *V, *KV;
    Py_ssize_t columns; /* of a tile */
} Scratch;

static int allocate(Scratch *s, Py_ssize_t d, Py_ssize_t p)
{
    Py_ssize_t width = WIDTH;
    while (width > STRIP && width * d * (Py_ssize_t)sizeof(vec) > PANEL_BYTES) width -= STRIP;
    s->memory = calloc(width * (HEIGHT + d + 2 * p) * sizeof(vec) + 64, 1);
    if (!s->memory) return -1;
    s->T = (vec *)(((uintptr_t)s->memory + 63) / 64 * 64); /* a cache line */
    s->points = s->T + width * HEIGHT;
    s->V = s->points + width * d;
    s->KV = s->V + width * p;
    s->columns = width * LANES;
    return 0;
}

TARGET static int tile_loop(const Kernel *kernel, const real *X, Py_ssize_t h, const real *Y, Py_ssize_t m, real *out)
{
    const Py_ssize_t d = kernel->d;
    Scratch s;
    if (allocate(&s, d, 0) < 0) return -1;
    for (Py_ssize_t j = 0; j < m; j += s.columns) {
        const Py_ssize_t n = least(s.columns, m - j);
        pack(Y + j * d, n, d, s.points);
        for (Py_ssize_t i = 0; i < h; i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, h - i);
            fill(kernel, X + i * d, rows, s.points, 0, quotient_up(n, COLUMNS), s.T);
            for (Py_ssize_t r = 0; r < rows; r++)
                for (Py_ssize_t l = 0; l < n; l += COLUMNS)
                    memcpy(out + (i + r) * m + j + l, s.T + (l / COLUMNS * HEIGHT + r) * STRIP,
                           least(COLUMNS, n - l) * sizeof(REAL));
        }
    }
    free(s.memory);
    return 0;
}

/* Here the rows of X are the columns of a tile: `outer` needs neither sums across lanes nor a packed V. */
TARGET static int product_loop(const Kernel *kernel, const real *X, Py_ssize_t h, const real *Y, Py_ssize_t m,
                               const real *V, Py_ssize_t p, real *out)
{
    const Py_ssize_t d = kernel->d;
    Scratch s;
    memset(out, 0, h * p * sizeof(REAL));
    if (allocate(&s, d, p) < 0) return -1;
    for (Py_ssize_t j = 0; j < h; j += s.columns) {
        const Py_ssize_t n = least(s.columns, h - j), strips = quotient_up(n, COLUMNS);
        pack(X + j * d, n, d, s.points);
        memset(s.KV, 0, strips * STRIP * p * sizeof(vec));
        for (Py_ssize_t i = 0; i < m; i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, m - i);
            fill(kernel, Y + i * d, rows, s.points, 0, strips, s.T);
            outer(s.T, rows, 0, strips, V + i * p, p, s.KV);
        }
        unpack(s.KV, n, p, out + j * p);
    }
    free(s.memory);
    return 0;
}

/* Rows first <= i < last of the upper triangle; each tile serves twice, as T V_j for i and as T' V_i for j. */
TARGET static void band(const Kernel *kernel, const real *X, Py_ssize_t n, const real *V, Py_ssize_t p, real *out,
                        Py_ssize_t first, Py_ssize_t last, const Scratch *s)
{
#define ENTRY(r, l) ((REAL *)s->T)[((l) / COLUMNS * HEIGHT + (r)) * COLUMNS + (l) % COLUMNS]
    const Py_ssize_t d = kernel->d;
    for (Py_ssize_t j = first; j < n; j += s->columns) {
        const Py_ssize_t wide = least(s->columns, n - j), to = quotient_up(wide, COLUMNS);
        pack(X + j * d, wide, d, s->points);
        pack(V + j * p, wide, p, s->V);
        memset(s->KV, 0, to * STRIP * p * sizeof(vec));
        for (Py_ssize_t i = first; i < least(last, j + wide); i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, last - i), from = i > j ? (i - j) / COLUMNS : 0;
            fill(kernel, X + i * d, rows, s->points, from, to, s->T);
            for (Py_ssize_t r = 0; r < rows; r++) /* below the diagonal: the transpose of another tile has it */
                for (Py_ssize_t l = from * COLUMNS; l < least(i + r - j, wide); l++) ENTRY(r, l) = 0;
            dots(s->T, rows, from, to, s->V, p, out + i * p);
            for (Py_ssize_t r = 0; r < rows; r++) /* the diagonal itself serves once */
                if (i + r >= j && i + r < j + wide) ENTRY(r, i + r - j) = 0;
            outer(s->T, rows, from, to, V + i * p, p, s->KV);
        }
        unpack(s->KV, wide, p, out + j * p);
    }
#undef ENTRY
}

/* Bands are dealt to and fro (0 1 1 0 0 1 1 0 for two stripes) in whole rounds: a band is shorter than the one before
   it by a constant, so all stripes get the same work. */
static int symmetric_loop(const Kernel *kernel, const real *X, Py_ssize_t n, const real *V, Py_ssize_t p, real *out,
                          Py_ssize_t stripe, Py_ssize_t stripes)
{
    const Py_ssize_t round = 2 * stripes, bands = quotient_up(quotient_up(n + 1, BAND), round) * round;
    const Py_ssize_t height = quotient_up(quotient_up(n, bands), ROWS) * ROWS;
    Scratch s;
    memset(out, 0, n * p * sizeof(REAL));
    if (allocate(&s, kernel->d, p) < 0) return -1;
    for (Py_ssize_t k = 0; k * height < n; k++) {
        const Py_ssize_t turn = k % round, owner = turn < stripes ? turn : round - 1 - turn;
        if (owner == stripe) band(kernel, X, n, V, p, out, k * height, least(n, (k + 1) * height), &s);
    }
    free(s.memory);
    return 0;
}

/* What is not between 0 and 1, NaN included, becomes 0 or 1. */
TARGET static int round_loop(const real *K, Py_ssize_t n, int32_t *out)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double k = K[i] > 0 ? (K[i] < 1 ? K[i] : 1) : 0;
        out[i] = (int32_t)(k * UNIT + 0.5);
    }
    return 0;
}

/* KV = Q V, and KW = Q' W if both are asked for: a tile of integers is converted in cache, and serves twice. */
TARGET static int stored_loop(const int32_t *Q, Py_ssize_t h, Py_ssize_t w, const real *V, const real *W, Py_ssize_t p,
                              real *KV, real *KW, int both)
{
    Scratch s;
    memset(KV, 0, h * p * sizeof(REAL));
    memset(KW, 0, w * p * sizeof(REAL));
    if (allocate(&s, 0, p) < 0) return -1;
    for (Py_ssize_t j = 0; j < w; j += s.columns) {
        const Py_ssize_t n = least(s.columns, w - j), strips = quotient_up(n, COLUMNS), whole = n / COLUMNS;
        pack(V + j * p, n, p, s.V);
        memset(s.KV, 0, strips * STRIP * p * sizeof(vec));
        for (Py_ssize_t i = 0; i < h; i += HEIGHT) {
            const Py_ssize_t rows = least(HEIGHT, h - i);
            for (Py_ssize_t r = 0; r < rows; r++) {
                const int32_t *q = Q + (i + r) * w + j;
                vec *t = s.T + r * STRIP;
                for (Py_ssize_t k = 0; k < whole; k++, q += COLUMNS, t += HEIGHT * STRIP)
                    UNROLL for (int v = 0; v < STRIP; v++) t[v] = converted(q + v * LANES);
                for (Py_ssize_t l = whole * COLUMNS; l < strips * COLUMNS; l++)
                    ((REAL *)t)[l - whole * COLUMNS] = l < n ? (REAL)q[l - whole * COLUMNS] : 0;
            }
            dots(s.T, rows, 0, strips, s.V, p, KV + i * p);
            if (both) outer(s.T, rows, 0, strips, W + i * p, p, s.KV);
        }
        unpack(s.KV, n, p, KW + j * p);
    }
    free(s.memory);
    return 0;
}

/* strips[i / unit][l][i % unit] = A[i, l] for rows i < n and columns l < k; the last strip is filled up with 0. */
INLINE void gather(const real *A, Py_ssize_t down, Py_ssize_t right, Py_ssize_t n, Py_ssize_t k, const int unit,
                   REAL *strips)
{
    for (Py_ssize_t first = 0; first < n; first += unit, strips += unit * k) {
        const real *from = A + first * down;
        if (n - first < unit) {
            memset(strips, 0, unit * k * sizeof(REAL));
            for (Py_ssize_t l = 0; l < k; l++)
                for (Py_ssize_t i = 0; i < n - first; i++) strips[l * unit + i] = from[i * down + l * right];
        } else if (down == 1) {
            for (Py_ssize_t l = 0; l < k; l++) memcpy(strips + l * unit, from + l * right, unit * sizeof(REAL));
        } else {
            for (Py_ssize_t l = 0; l < k; l++)
                UNROLL for (int i = 0; i < unit; i++) strips[l * unit + i] = from[i * down + l * right];
        }
    }
}

#define HIGH (ACCUMULATORS / VECS)
#define BROAD (VECS * LANES)

/* out += A B for HIGH rows of A, [term][row], and BROAD columns of B, [term][column]; `rows` and `columns` exist. */
TARGET static void block_product(const REAL *a, const vec *b, Py_ssize_t k, real *out, Py_ssize_t down,
                                 Py_ssize_t rows, Py_ssize_t columns)
{
    vec sum[HIGH * VECS];
    memset(sum, 0, sizeof sum);
    for (Py_ssize_t l = 0; l < k; l++, a += HIGH, b += VECS)
        UNROLL for (int r = 0; r < HIGH; r++)
            UNROLL for (int v = 0; v < VECS; v++) sum[r * VECS + v] += a[r] * b[v];
    if (rows >= HIGH && columns >= BROAD) {
        UNROLL for (int r = 0; r < HIGH; r++)
            UNROLL for (int v = 0; v < VECS; v++) {
                vec before;
                memcpy(&before, out + r * down + v * LANES, sizeof before);
                before += sum[r * VECS + v];
                memcpy(out + r * down + v * LANES, &before, sizeof before);
            }
        return;
    }
    REAL sums[HIGH * BROAD];
    memcpy(sums, sum, sizeof sum);
    for (Py_ssize_t r = 0; r < least(rows, HIGH); r++)
        for (Py_ssize_t c = 0; c < least(columns, BROAD); c++) out[r * down + c] += sums[r * BROAD + c];
}

/* out += A B; `upper`: blocks wholly below the diagonal of out are left out. */
TARGET static int multiply_loop(const Strided *A, const Strided *B, real *out, Py_ssize_t down, int upper)
{
    const Py_ssize_t m = A->rows, n = B->columns, k = A->columns, depth = least(DEPTH, k);
    const Py_ssize_t broad = quotient_up(least(WIDEST, n), BROAD) * BROAD, tall = quotient_up(least(TALL, m), HIGH) * HIGH;
    const real *a = A->start, *b = B->start;
    void *memory = malloc((broad + tall) * depth * sizeof(REAL) + 64);
    if (!memory) return -1;
    REAL *const right = (REAL *)(((uintptr_t)memory + 63) / 64 * 64), *const left = right + broad * depth;
    for (Py_ssize_t first = 0; first < n; first += WIDEST) {
        const Py_ssize_t columns = least(WIDEST, n - first), end = upper ? least(m, first + columns) : m;
        for (Py_ssize_t l = 0; l < k; l += DEPTH) {
            const Py_ssize_t terms = least(DEPTH, k - l);
            gather(b + l * B->down + first * B->right, B->right, B->down, columns, terms, BROAD, right);
            for (Py_ssize_t top = 0; top < end; top += TALL) {
                const Py_ssize_t rows = least(TALL, end - top), below = upper ? top - first : 0;
                gather(a + top * A->down + l * A->right, A->down, A->right, rows, terms, HIGH, left);
                for (Py_ssize_t j = below > 0 ? below / BROAD * BROAD : 0; j < columns; j += BROAD)
                    for (Py_ssize_t i = 0; i < (upper ? least(rows, j + BROAD - below) : rows); i += HIGH)
                        block_product(left + i * terms, (vec *)(right + j * terms), terms,
                                      out + (top + i) * down + first + j, down, rows - i, columns - j);
            }
        }
    }
    free(memory);
    return 0;
}

#undef HIGH
#undef BROAD
#undef SPLAT
#undef LANES
#undef SHIFT
#undef COLUMNS
#endif
