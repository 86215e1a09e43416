"""What the user can set: checked here, turned into an estimator, and written as the lines that make it again."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, fields
from inspect import signature
from typing import Any

from ..._core.registry import KERNELS, MODELS
from .data import Data

KERNEL_NAMES = ("rbf", "laplacian", "matern", "poly", "cosine", "linear")
MODEL_NAMES = ("kpca", "sparse", "probabilistic", "mixture", "classifier", "monitor")
MEDIAN = {"rbf", "matern"}  # kernels whose width has the median squared distance as its mark; others have 1/d
WIDTHS = (1e-3, 1e3)  # times the mark
MOST_COMPONENTS = 50
MOST_CLUSTERS = 20
DEGREES = (2, 6)
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
        _check_word("model", settings.model, models(data))
        _check_word("kernel", settings.kernel, KERNEL_NAMES)
        _check_number("width", settings.width, WIDTHS, float)
        _check_number("degree", settings.degree, DEGREES, int)
        _check_number("components", settings.components, (1, MOST_COMPONENTS), int)
        _check_number("clusters", settings.clusters, (1, MOST_CLUSTERS), int)
        if not isinstance(settings.scale, bool):
            raise Refused("scale must be true or false.")
        if len(data) > LANDMARKS_FROM and settings.model not in MANY_ROWS:
            raise Refused(
                f"A {settings.model} model is fitted here to at most {LANDMARKS_FROM:,} rows, and the table has "
                f"{len(data):,}. Fit it with mercer fit --model {settings.model}, and explore the model file."
            )
        return settings

    def estimator(self, data: Data) -> Any:
        """Return the estimator that is to be fitted."""
        kernel = KERNELS[self.kernel](**self._kernel_parameters(data))
        cls = MODELS[self.model]
        if self.model == "monitor":
            inside = MODELS["kpca"](self.components, kernel=kernel, random_state=SEED, **self._solver(data))
            return cls(inside, random_state=SEED)
        own: dict[str, Any] = {"n_components": self.components}
        if self.model == "mixture":
            own["n_clusters"] = self.clusters
        return cls(kernel=kernel, random_state=SEED, **own, **self._solver(data))

    def _kernel_parameters(self, data: Data) -> dict[str, Any]:
        found = {"degree": self.degree} if self.kernel == "poly" else {}
        mark = reference(self.kernel, data, self.scale)
        return found if mark is None else found | {"gamma": self.width * mark}

    def _solver(self, data: Data) -> dict[str, str]:
        return {"solver": "landmarks"} if len(data) > LANDMARKS_FROM else {}

    def command(self, data: Data) -> str:
        """Return the command that fits the same model to the same table."""
        words = [
            "mercer",
            "fit",
            data.file or "data.csv",
            "-o",
            "model.mercer",
            "--model",
            self.model,
            "-q",
            str(self.components),
        ]
        words += ["--kernel", self.kernel]
        for name, value in self._kernel_parameters(data).items():
            words += [f"--{name}", repr(value)]
        words += ["--clusters", str(self.clusters)] if self.model == "mixture" else []
        words += [] if self.scale else ["--no-scale"]
        words += ["--solver", "landmarks"] if self._solver(data) else []
        words += ["--target", data.target] if data.target and self.model == "classifier" else []
        left_out = [name for name in [*data.table.names, *data.table.others] if name not in data.columns]
        left_out = [name for name in left_out if not (name == data.target and self.model == "classifier")]
        words += ["--exclude", _listed(left_out)] if left_out else []
        words += [] if data.missing == "error" else ["--missing", data.missing]
        words += ["--categorical", data.categorical] if data.categorical != "auto" else []
        command = shlex.join([*words, *data.reading, "--seed", str(SEED)])
        return command if data.file else f"# data.csv: these rows, saved as a table\n{command}"

    def python(self, data: Data) -> str:
        """Return the lines of Python that fit the same model."""
        estimator = self.estimator(data)
        names = {type(estimator).__name__} | ({"KernelPCA"} if self.model == "monitor" else set())
        kernel = KERNELS[self.kernel].__name__
        lines = [f"from mercer import {', '.join(sorted(names))}", f"from mercer.kernels import {kernel}"]
        lines += ["from sklearn.preprocessing import StandardScaler"] if self.scale else []
        y = ", y" if self.model == "classifier" else ""
        lines += ["", f"# X: the {len(data.columns)} columns of {data.name} that are variables, as an array"]
        lines += ["X = StandardScaler().fit_transform(X)"] if self.scale else []
        return "\n".join([*lines, f"model = {' '.join(repr(estimator).split())}.fit(X{y})"])

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON has them."""
        return asdict(self)


def models(data: Data) -> list[str]:
    """Return the models that can be fitted to these rows: a classifier needs a target."""
    return [name for name in MODEL_NAMES if name != "classifier" or data.target is not None]


def reference(kernel: str, data: Data, scale: bool) -> float | None:
    """Return γ at the mark of the width slider: 1 over the median squared distance, or 1/d."""
    cls = KERNELS[kernel]
    if "gamma" not in signature(cls).parameters:
        return None
    if (kernel, scale) not in data.marks:
        X = data.rows(scale)[1]
        made = cls(gamma="median") if kernel in MEDIAN else cls(gamma=1 / X.shape[1])
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


def _check_word(name: str, value: Any, words: Any) -> None:
    if not isinstance(value, str) or value not in words:
        raise Refused(f"{name} must be one of {', '.join(words)}.")


def _check_number(name: str, value: Any, ends: tuple[float, float], kind: type) -> None:
    whole = kind is float or (isinstance(value, int) and not isinstance(value, bool))
    if not whole or not ends[0] <= as_number(value, name) <= ends[1]:
        raise Refused(
            f"{name} must be {'a number' if kind is float else 'a whole number'} from {ends[0]} to {ends[1]}."
        )


def _listed(names: list[str]) -> str:
    """Return names as ``--exclude`` reads them: with commas between, in quotes where one has a comma or a quote."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()
