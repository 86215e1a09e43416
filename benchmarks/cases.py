"""What is compared with what, and the bar: adding a case is one entry of ``CASES``."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from contenders import (
    Given,
    Kernel,
    Mercer,
    Mlpack,
    NystroemPCA,
    ScikitLearn,
    ScikitLearnMatrix,
    ThenTransform,
    TransformOnly,
)
from data import Data

from mercer._core.native import _native as native
from mercer.eigen import Landmarks


@dataclass(frozen=True)
class Bar:
    """A number to reach: ``reached`` looks at a ``Result``, and ``got`` says what it has instead."""

    text: str
    reached: Callable[[Any], bool]
    got: Callable[[Any], str]


def faster(times):
    return Bar(f"≥ {times:g}×", lambda r: r.ratio >= times, lambda r: f"{r.ratio:.3g}×")


def at_most_slower(seconds):
    text = f"≤ {1e3 * seconds:g} ms more"
    return Bar(text, lambda r: r.extra <= seconds, lambda r: f"{1e3 * r.extra:.2f} ms more")


def within(times, seconds):
    return Bar(
        f"≤ {times:g}× the peer's time + {seconds:g} s",
        lambda r: r.ours.seconds <= times * r.peer.seconds + seconds,
        lambda r: f"{r.ours.seconds:.3g} s against {r.peer.seconds:.3g} s",
    )


def memory_share(parts):
    return Bar(
        f"memory ≤ 1/{parts}",
        lambda r: r.ours.peak <= r.peer.peak / parts,
        lambda r: f"1/{r.peer.peak / max(r.ours.peak, 1):.3g}",
    )


def memory(megabytes):
    text = f"memory < {megabytes} MB"
    return Bar(text, lambda r: r.ours.peak < megabytes * 1e6, lambda r: f"{r.ours.peak / 1e6:.0f} MB")


def cpu(seconds):
    return Bar(f"≤ {seconds:g} CPU-s", lambda r: r.ours.cpu <= seconds, lambda r: f"{r.ours.cpu:.3g} CPU-s")


def growth(exponent):
    text = f"exponent ≤ {exponent:g}"
    return Bar(text, lambda r: r.exponent <= exponent, lambda r: f"{r.exponent:.2f}")


LOWER_ERROR = Bar(
    "lower error",
    lambda r: r.ours.error < r.peer.error and r.ours.lost < r.peer.lost,
    lambda r: f"{r.ours.error:.1e} and {r.ours.lost:.2%} against {r.peer.error:.1e} and {r.peer.lost:.2%}",
)


@dataclass(frozen=True)
class Case:
    """One row of a table: ``ours`` against the best of ``peers`` on the same rows.

    ``reference`` gives the eigenpairs that both are judged by, in float64; None takes the peer's own. ``repeats`` of
    None follow from the number of rows. ``full`` cases are left out of the short run.
    """

    name: str
    theme: str
    data: Data
    ours: Any
    peers: tuple[Any, ...] = ()
    bars: tuple[Bar, ...] = ()
    reference: Any = None
    repeats: int | None = None
    full: bool = False

    @property
    def title(self):
        kernel = getattr(self.ours, "kernel", None) or self.ours.fit.kernel
        return f"{self.data}, q = {self.ours.q}, {kernel}"

    @property
    def rounds(self):
        if self.repeats is not None:
            return self.repeats
        return 15 if self.data.n <= 2000 else 5 if self.data.n < 10_000 else 3

    def parts(self):
        return (self,)

    def missing(self):
        """Why it cannot run here, or None."""
        return next(filter(None, (x.missing() for x in (self.data, self.ours, *self.peers))), None)

    def shrunk(self):
        return replace(self, data=self.data.shrunk(), repeats=2 if self.data.n <= 2000 else 1)


@dataclass(frozen=True)
class Growth:
    """The slope of log seconds against log n over several sizes."""

    name: str
    theme: str
    steps: tuple[Case, ...]
    bars: tuple[Bar, ...]
    full: bool = False

    @property
    def title(self):
        data = self.steps[0].data
        return f"n × {data.d} {data.source}, {data.dtype}, q = {self.steps[0].ours.q}"

    def parts(self):
        return self.steps

    def missing(self):
        return None

    def shrunk(self):
        return replace(self, steps=tuple(step.shrunk() for step in self.steps))


PLAIN = Kernel()
EXACT, SMALL, KERNELS, REAL = "Exact fit", "Few rows", "Other kernels", "Real data"
GIVEN, WIDE, SPARSE = "Given matrices", "More columns than rows", "Sparse rows"
OTHERS, TRANSFORM, LANDMARKS, LARGE, GROWTH = "Other libraries", "Transform", "Landmarks", "Large", "Growth"


def exact(name, n, *bars, d=10, q=10, dtype="float64", kernel=PLAIN, source="normal", theme=EXACT, full=False):
    """A fit against scikit-learn's arpack in the same precision; single precision is judged by double."""
    peer = ScikitLearn(q, kernel)
    reference = peer if dtype == "float32" else None
    return Case(name, theme, Data(source, n, d, dtype), Mercer(q, kernel), (peer,), bars, reference, full=full)


def few(name, n, q, bar):
    """A fit against whichever of scikit-learn's solvers is fastest."""
    peers = tuple(ScikitLearn(q, solver=solver) for solver in ("arpack", "dense", "auto"))
    return Case(name, SMALL, Data("normal", n, 10), Mercer(q), peers, (bar,))


def real(source, n, d, q, *bars, name=None):
    return exact(name or source, n, *bars, d=d, q=q, kernel=Kernel(gamma="median"), source=source, theme=REAL)


def other(name, n, source="normal", full=True):
    """A kernel that scikit-learn's KernelPCA lacks, against its matrix and arpack."""
    kernel = Kernel(name)
    peer = ScikitLearnMatrix(10, kernel)
    label = f"{name.replace(' ', '-')}-{n}"
    return Case(label, KERNELS, Data(source, n, 10), Mercer(10, kernel), (peer,), (faster(1),), full=full)


def given(n, full=True):
    """A kernel matrix that is given: at most 1.5 times the peer's seconds, and a tenth of a second."""
    peer = Given(ScikitLearn(10))
    bars = (within(1.5, 0.1),)
    return Case(f"given-{n}", GIVEN, Data("normal", n, 10), Given(Mercer(10)), (peer,), bars, full=full)


def sparse(name, n, gamma=None, times=1.0, full=True):
    """Sparse rows of 20,000 columns; scikit-learn multiplies them to a dense kernel matrix."""
    kernel = Kernel(name, gamma)
    data, peers = Data("words", n, 20_000), (ScikitLearn(10, kernel),)
    return Case(f"sparse-{name}-{n}", SPARSE, data, Mercer(10, kernel), peers, (faster(times),), full=full)


def transform(dtype, bar):
    """10 000 anchors and 20 000 new rows: a third and two thirds of the data."""
    peer = TransformOnly(ScikitLearn(50), compared=10)
    ours, data = TransformOnly(Mercer(50), compared=10), Data("normal", 30_000, 10, dtype)
    return Case(f"transform-{dtype}", TRANSFORM, data, ours, (peer,), (bar,), peer if dtype == "float32" else None)


def landmarks(name, data, kernel=PLAIN, m=500, times=1.7, full=False):
    return Case(
        name,
        LANDMARKS,
        data,
        Mercer(10, kernel, solver=Landmarks(n=m)),
        (NystroemPCA(10, m, kernel),),
        (faster(times), LOWER_ERROR),
        reference=ScikitLearn(10, kernel),
        full=full,
    )


def million(name, dtype, *bars):
    """A million rows, which the peer's features still fit in memory; both are judged by twice as many landmarks."""
    ours, judge = (Mercer(10, solver=Landmarks(n=m)) for m in (500, 1000))
    data, peers = Data("normal", 1_000_000, 10, dtype), (NystroemPCA(10, 500),)
    return Case(name, LANDMARKS, data, ours, peers, bars, reference=judge, repeats=2, full=True)


def mlpack(n):
    ours, peers = Mercer(10), (Mlpack(10),)
    return Case(
        f"mlpack-{n}", OTHERS, Data("normal", n, 10), ours, peers, reference=ScikitLearn(10), full=True, repeats=2
    )


def alone(name, data, ours, *bars):
    """A size that no peer reaches in this memory."""
    return Case(name, LARGE, data, ours, bars=bars, repeats=1, full=True)


def growing(name, sizes, ours, exponent):
    steps = tuple(Case(f"{name}@{n}", GROWTH, Data("normal", n, 10), ours, repeats=3) for n in sizes)
    return Growth(name, GROWTH, steps, (growth(exponent),))


# By the vector instructions in use, other ones being neon and none.
SIMD = native.active() if native else "none"
BARS = {"avx512": {20_000: 20, 10_000: 9.5, 5_000: 4.8}, "avx2": {20_000: 13, 10_000: 7.5, 5_000: 4.5}}.get(
    SIMD, {20_000: 10, 10_000: 6, 5_000: 3.5}
)
TRANSFORMED = {"avx512": 14, "avx2": 8}.get(SIMD, 4)
LANDMARKED, MILLION_SINGLE = {"avx512": (2.2, 4.5)}.get(SIMD, (1.7, 3.5))
NARROW = dict.fromkeys(BARS, 5)  # a narrow kernel, for which the rows are nearly orthogonal
VARIANTS = {
    "gamma0.02": ({"kernel": Kernel(gamma=0.02)}, BARS),
    "gamma0.5": ({"kernel": Kernel(gamma=0.5)}, NARROW),
    "clusters": ({"source": "clusters"}, BARS),
}

CASES = (
    exact("exact-20000", 20_000, faster(BARS[20_000]), memory_share(10)),
    *(exact(f"exact-{n}", n, faster(BARS[n])) for n in (10_000, 5_000)),
    *(
        exact(f"exact-{n}-{name}", n, faster(bar), full=True, **variant)
        for name, (variant, bars) in VARIANTS.items()
        for n, bar in bars.items()
    ),
    exact("exact-20000-float32", 20_000, faster(4), dtype="float32"),
    exact("exact-10000-d256", 10_000, faster(4.5), d=256, source="falling"),
    exact("exact-10000-d256-normal", 10_000, d=256),  # no structure at all: 256 equal directions
    exact("exact-20000-d256", 20_000, faster(5), d=256, source="falling", full=True),
    exact("exact-20000-d256-float32", 20_000, faster(3), d=256, dtype="float32", source="falling", full=True),
    exact("exact-10000-q50", 10_000, faster(4), q=50),
    exact("exact-10000-q100", 10_000, faster(1), q=100, full=True),
    *(few(f"few-{n}-q{q}", n, q, faster(1)) for n in (500, 1000, 2000) for q in (2, 10, 50)),
    *(few(f"few-{n}", n, 10, at_most_slower(1e-3)) for n in (50, 100, 200)),
    other("laplacian", 10_000, full=False),
    *(other(name, 5_000) for name in ("matern", "rational quadratic", "rbf + linear")),
    other("chi2", 2_000, source="positive"),
    *(given(n, full=n != 3_000) for n in (1_000, 2_000, 3_000, 5_000, 10_000)),
    exact("wide-1000", 1_000, within(1.5, 0), d=20_000, theme=WIDE),
    exact("wide-2000", 2_000, within(1.5, 0), memory_share(1), d=50_000, theme=WIDE, full=True),
    *(sparse(name, n) for name, n in (("linear", 5_000), ("linear", 20_000), ("cosine", 20_000))),
    *(sparse(name, 5_000, gamma=0.5, times=0.5) for name in ("rbf", "poly")),
    alone("sparse-linear-50000", Data("words", 50_000, 20_000), Mercer(10, Kernel("linear")), cpu(10)),
    exact("poly-10000", 10_000, kernel=Kernel("poly"), theme=KERNELS),
    real("usps", 7291, 256, 50, faster(4.5)),
    real("mnist", 10_000, 784, 10, faster(2.5)),
    real("covtype", 20_000, 54, 10, name="covtype-20000"),
    transform("float64", faster(TRANSFORMED)),
    transform("float32", faster(8)),
    landmarks("landmarks-20000", Data("normal", 20_000, 10), times=LANDMARKED),
    landmarks("landmarks-20000-float32", Data("normal", 20_000, 10, "float32")),
    landmarks("landmarks-20000-d3", Data("normal", 20_000, 3), Kernel(gamma=0.5)),
    landmarks("landmarks-covtype", Data("covtype", 20_000, 54), Kernel(gamma="median"), full=True),
    million("landmarks-1000000", "float64", faster(5.5), cpu(20), memory(300)),
    million("landmarks-1000000-float32", "float32", faster(MILLION_SINGLE)),
    alone("exact-100000", Data("normal", 100_000, 10), Mercer(10, solver="davidson"), memory(1200)),
    alone(
        "covtype-581012",
        Data("covtype", 581_012, 54),
        ThenTransform(Mercer(10, Kernel(gamma="median"), Landmarks(n=1000))),
        memory(3000),
    ),
    mlpack(2000),
    growing("growth-exact", (5_000, 10_000, 20_000, 40_000), Mercer(10), 2.05),
    growing("growth-landmarks", (50_000, 100_000, 200_000), Mercer(10, solver=Landmarks(n=500)), 1.1),
)


def find(name, smoke):
    """The case, or the step of a growth, of that name."""
    parts = {part.name: part for case in CASES for part in case.parts()}
    return parts[name].shrunk() if smoke else parts[name]
