"""What the user can set: checked here, turned into an estimator, and written as the lines that make it again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ..._core.registry import KERNELS
from ..cli.fit import KERNEL_OPTIONS, build
from .data import Data

KERNEL_NAMES = ("rbf", "laplacian", "matern", "poly", "cosine", "linear")
MODEL_NAMES = ("kpca", "sparse", "probabilistic", "mixture", "classifier", "monitor")
WIDE = ("rbf", "laplacian", "matern", "poly")  # kernels that have a width
MEDIAN = {"rbf", "matern"}  # those whose width has the median squared distance as its mark; others have 1/d
RANGES: dict[str, tuple[float, float]] = {  # width: times the mark
    "width": (1e-3, 1e3),
    "degree": (2, 6),
    "components": (1, 50),
    "clusters": (1, 20),
}
LANDMARKS_FROM = 5_000  # rows above which a fit is by landmarks, so that it takes a second or two
MANY_ROWS = {"kpca", "probabilistic", "monitor"}  # models that landmarks serve
SEED = 0


class Refused(ValueError):
    """A request that cannot be met; the message says what to do."""


@dataclass(frozen=True)
class Settings:
    """The controls of the page; ``width`` is γ as a multiple of the median rule's."""

    model: str = "kpca"
    kernel: str = "rbf"
    width: float = 1.0
    degree: int = 3
    components: int = 10
    clusters: int = 3
    scale: bool = True

    @classmethod
    def of(cls, given: Any, data: Data) -> Settings:
        """Return the settings that a request holds, each of them checked."""
        if not isinstance(given, dict) or set(given) - {f.name for f in fields(cls)}:
            raise Refused("The settings of a fit are not those of this page. Reload it.")
        settings = cls(**given)
        models = [name for name in MODEL_NAMES if name != "classifier" or data.target is not None]  # it needs classes
        for name, words in (("model", models), ("kernel", KERNEL_NAMES), ("scale", (True, False))):
            if getattr(settings, name) not in words:
                raise Refused(f"{name} must be one of {', '.join(map(str, words))}.")
        for name, ends in RANGES.items():
            checked(getattr(settings, name), name, *ends, whole=name != "width")
        if len(data) > LANDMARKS_FROM and settings.model not in MANY_ROWS:
            raise Refused(
                f"A {settings.model} model is fitted here to at most {LANDMARKS_FROM:,} rows, and the table has "
                f"{len(data):,}. Fit it with mercer fit --model {settings.model}, and explore the model file."
            )
        return settings

    def estimator(self, data: Data) -> Any:
        """Return the estimator that is to be fitted, as ``mercer fit`` makes it of its options."""
        options = dict.fromkeys(KERNEL_OPTIONS) | {"kernel": self.kernel, "components": self.components, "seed": SEED}
        options |= {"gamma": self.width * reference(self.kernel, data, self.scale)} if self.kernel in WIDE else {}
        options |= {"degree": self.degree} if self.kernel == "poly" else {}
        options |= {"clusters": self.clusters} if self.model == "mixture" else {}
        options |= {"solver": "landmarks"} if len(data) > LANDMARKS_FROM else {}
        return build(self.model, options)


def reference(kernel: str, data: Data, scale: bool) -> float:
    """Return γ at the mark of the width slider: 1 over the median squared distance, or 1/d."""
    if (kernel, scale) not in data.marks:
        X = data.rows(scale)[1]
        made = KERNELS[kernel](gamma="median" if kernel in MEDIAN else 1 / X.shape[1])
        data.marks[kernel, scale] = float(made.bind(X).gamma)
    return data.marks[kernel, scale]


def listed(values: Any, name: str, least: int, most: int, low: float, high: float, whole: bool = True) -> list[Any]:
    """Return a list of numbers of a request, if it has from least to most of them, each within its limits."""
    if not isinstance(values, list) or not least <= len(values) <= most:
        raise Refused(f"{name} must be a list of {least} to {most} numbers.")
    return [checked(value, name, low, high, whole) for value in values]


def checked(value: Any, name: str, low: float, high: float, whole: bool = True) -> Any:
    """Return a number of a request, if it is one within its limits."""
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise Refused(f"{name} must be a {'whole ' * whole}number from {low:g} to {high:g}.")
    return value
