"""What the user can set: checked here, turned into an estimator, and written as the lines that make it again."""

from __future__ import annotations

import csv
import io
import shlex
from dataclasses import asdict, dataclass, fields
from inspect import signature
from typing import Any

from ..._core.registry import KERNELS, MODELS
from .data import Data

KERNEL_NAMES = ("rbf", "laplacian", "matern", "poly", "cosine", "linear")
MODEL_NAMES = ("kpca", "sparse", "probabilistic", "mixture", "classifier", "monitor")
MEDIAN = {"rbf", "matern"}  # kernels whose width has the median squared distance as its mark; others have 1/d
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
        for name, words in (("model", models(data)), ("kernel", KERNEL_NAMES)):
            if getattr(settings, name) not in words:
                raise Refused(f"{name} must be one of {', '.join(words)}.")
        if not isinstance(settings.scale, bool):
            raise Refused("scale must be true or false.")
        for name, (low, high) in RANGES.items():
            value = as_number(getattr(settings, name), name)
            if not low <= value <= high or (name != "width" and not isinstance(getattr(settings, name), int)):
                kind = "number" if name == "width" else "whole number"
                raise Refused(f"{name} must be a {kind} from {low:g} to {high:g}.")
        if len(data) > LANDMARKS_FROM and settings.model not in MANY_ROWS:
            raise Refused(
                f"A {settings.model} model is fitted here to at most {LANDMARKS_FROM:,} rows, and the table has "
                f"{len(data):,}. Fit it with mercer fit --model {settings.model}, and explore the model file."
            )
        return settings

    def estimator(self, data: Data) -> Any:
        """Return the estimator that is to be fitted."""
        kernel = KERNELS[self.kernel](**self._kernel_parameters(data))
        own: dict[str, Any] = {"kernel": kernel, "random_state": SEED}
        own |= {"n_clusters": self.clusters} if self.model == "mixture" else {}
        own |= {"solver": "landmarks"} if len(data) > LANDMARKS_FROM else {}
        if self.model == "monitor":
            return MODELS["monitor"](MODELS["kpca"](self.components, **own), random_state=SEED)
        return MODELS[self.model](n_components=self.components, **own)

    def _kernel_parameters(self, data: Data) -> dict[str, Any]:
        found = {"degree": self.degree} if self.kernel == "poly" else {}
        mark = reference(self.kernel, data, self.scale)
        return found if mark is None else found | {"gamma": self.width * mark}

    def command(self, data: Data) -> str:
        """Return the command that fits the same model to the same table."""
        words = ["mercer", "fit", data.file or "data.csv", "-o", "model.mercer", "--model", self.model]
        words += ["-q", str(self.components), "--kernel", self.kernel]
        words += [word for name, value in self._kernel_parameters(data).items() for word in (f"--{name}", repr(value))]
        words += ["--clusters", str(self.clusters)] if self.model == "mixture" else []
        words += [] if self.scale else ["--no-scale"]
        words += ["--solver", "landmarks"] if len(data) > LANDMARKS_FROM else []
        target = [data.target] if data.target and self.model == "classifier" else []
        words += ["--target", *target] if target else []
        left_out = [x for x in [*data.table.names, *data.table.others] if x not in [*data.columns, *target]]
        words += ["--exclude", _listed(left_out)] if left_out else []
        words += [] if data.missing == "error" else ["--missing", data.missing]
        words += [] if data.categorical == "auto" else ["--categorical", data.categorical]
        command = shlex.join([*words, *data.reading, "--seed", str(SEED)])
        return command if data.file else f"# data.csv: these rows, saved as a table\n{command}"

    def python(self, data: Data) -> str:
        """Return the lines of Python that fit the same model."""
        estimator = self.estimator(data)
        names = {type(estimator).__name__} | ({"KernelPCA"} if self.model == "monitor" else set())
        kernel = KERNELS[self.kernel].__name__
        lines = [f"from mercer import {', '.join(sorted(names))}", f"from mercer.kernels import {kernel}"]
        lines += ["from sklearn.preprocessing import StandardScaler"] if self.scale else []
        recipe = data.plain[0]
        encoded = ", texts one-hot encoded" if recipe.categories else ""
        lines += ["", f"# X: the {len(data.columns)} columns of {data.name} that are variables, as an array{encoded}"]
        if self.scale and encoded:
            widths = [(len(recipe.categories.get(name, " ")), name in recipe.categories) for name in recipe.columns]
            texts = [text for wide, text in widths for _ in range(wide)]
            lines += [f"numbers = {[j for j, text in enumerate(texts) if not text]}"]
            lines += ["X[:, numbers] = StandardScaler().fit_transform(X[:, numbers])"]
        elif self.scale:
            lines += ["X = StandardScaler().fit_transform(X)"]
        y = ", y" if self.model == "classifier" else ""
        return "\n".join([*lines, f"model = {' '.join(repr(estimator).split())}.fit(X{y})"])

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return asdict(self)


def models(data: Data) -> list[str]:
    """Return the models that can be fitted to these rows: a classifier needs a target."""
    return [name for name in MODEL_NAMES if name != "classifier" or data.target is not None]


def has_width(kernel: str) -> bool:
    """Return True if a kernel has a width."""
    return "gamma" in signature(KERNELS[kernel]).parameters


def reference(kernel: str, data: Data, scale: bool) -> float | None:
    """Return γ at the mark of the width slider: 1 over the median squared distance, or 1/d."""
    if not has_width(kernel):
        return None
    if (kernel, scale) not in data.marks:
        X = data.rows(scale)[1]
        made = KERNELS[kernel](gamma="median" if kernel in MEDIAN else 1 / X.shape[1])
        data.marks[kernel, scale] = float(made.bind(X).gamma)
    return data.marks[kernel, scale]


def as_number(value: Any, name: str) -> float:
    """Return a finite number of a request."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise Refused(f"{name} must be a finite number.")
    return float(value)


def as_whole(value: Any, name: str, most: int) -> int:
    """Return a whole number of a request, from 0 up to ``most`` − 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < most:
        raise Refused(f"{name} must be a whole number from 0 to {most - 1}.")
    return value


def _listed(names: list[str]) -> str:
    """Return names as ``--exclude`` reads them: with commas between, in quotes where one has a comma or a quote."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
