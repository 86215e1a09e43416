"""The recipe of a model, as one command and as lines of Python. Both make the same model again from its table."""

from __future__ import annotations

import re
import shlex
from inspect import signature
from typing import TYPE_CHECKING, Any

from click import ClickException
from sklearn.base import clone
from sklearn.utils import get_tags

from .._core.registry import KERNELS, MODELS
from ..io.facts import one_line
from ..models.pipelines import parts
from .cli.names import joined_names

if TYPE_CHECKING:
    from ..tables import Recipe

READING = {"format": "--from", "delimiter": "--delimiter", "decimal": "--decimal"}
LISTS = ("columns", "include", "exclude")
WHOLE = 10**6  # characters: scikit-learn shortens longer expressions
KINDS_OF_TARGET = ("classes", "numbers")
NO_COMMAND = "# The command line has no options for this model; in Python:"


def command(model: Any, recipe: Recipe | None, output: str = "model.mercer") -> str | None:
    """Return the command that makes the model again, on one line; None if the command line cannot make it."""
    from .cli.fit import estimator_of

    if recipe is None or not recipe.source:
        return None
    if recipe.coded:  # the command chooses the kernel
        model = _with_default_kernel(model)
    words = _model_words(model)
    try:
        made = None if words is None else estimator_of(words)
    except ClickException:
        return None
    if made is not None and getattr(model, "target", None) in KINDS_OF_TARGET:  # the command finds it from the table
        made.set_params(target=model.target)
    if words is None or not _same(made, model):
        return None
    return shlex.join(["mercer", "fit", recipe.source, "-o", output, *words, *_table_words(recipe)])


def _with_default_kernel(model: Any) -> Any:
    """Return a model of the same settings with the kernel that the command line has by default."""
    from .cli.fit import COMPONENTS

    model = clone(model)
    inner = model if hasattr(model, "kernel") else model.estimator
    inner.set_params(kernel=KERNELS["rbf"]())
    if inner is not model and _same(
        inner, type(inner)(COMPONENTS, kernel=inner.kernel, random_state=inner.random_state)
    ):
        model.set_params(estimator=None)
    return model


def _table_words(recipe: Recipe) -> list[str]:
    """Return the options that read the table, select its columns and prepare them."""
    words: list[str] = []
    for name, option in READING.items():
        if name in recipe.reading:
            words += [option, {"\t": "tab"}.get(recipe.reading[name], recipe.reading[name])]
    words += ["--no-header"] if "header" in recipe.reading else []
    for name, value in recipe.choices.items():
        if value is True or name == "scale":
            words.append("--no-scale" if name == "scale" else f"--{name.replace('_', '-')}")
        else:
            words += [f"--{name}", joined_names(value) if name in LISTS else str(value)]
    return words


def _model_words(model: Any) -> list[str] | None:
    """Return the options for the settings of a model that differ from their defaults."""
    from .cli.fit import COMPONENTS, PARAMETERS

    name = MODELS.name_of(type(model))
    if name is None:
        return None
    words = [] if name == "kpca" else ["--model", name]
    inner = getattr(model, "estimator", None) if name == "monitor" else model
    for option, parameter in PARAMETERS.items():
        owner = model if hasattr(model, parameter) else inner
        if owner is None or not hasattr(owner, parameter):
            continue
        default = signature(type(owner)).parameters[parameter].default
        if parameter == "n_components" and type(owner) is MODELS["kpca"]:
            default = COMPONENTS
        default = 0 if parameter == "random_state" else default
        value = getattr(owner, parameter)
        if one_line(value) != one_line(default):
            if type(value).__name__ == "Landmarks":
                words += ["--landmarks", str(value.n)]
                continue
            word = "all" if parameter == "n_components" and value is None else str(value)
            words += [f"--{option.replace('_', '-')}", word]
    return words if inner is None else [*words, *_kernel_words(inner.kernel)]


def _kernel_words(kernel: Any) -> list[str]:
    if isinstance(kernel, str):
        return ["--kernel", kernel]
    name = KERNELS.name_of(type(kernel)) or ""
    words = [] if name == "rbf" else ["--kernel", name]
    from .cli.fit import KERNEL_OPTIONS

    for option in KERNEL_OPTIONS:
        value = getattr(kernel, option, None)
        if value is not None and one_line(value) != one_line(signature(type(kernel)).parameters[option].default):
            words += [f"--{option}", str(value)]
    return words


def _same(first: Any, second: Any) -> bool:
    """Return True if two estimators have the same settings."""
    return type(first) is type(second) and _settings(first) == _settings(second)


def _settings(model: Any) -> dict[str, str]:
    return {name: one_line(value) for name, value in model.get_params().items()}


def python(model: Any, recipe: Recipe | None) -> str:
    """Return the lines of Python that make the model again."""
    last = parts(model)[1]
    if recipe is None:
        return _python_of_rows(model, last)
    if not recipe.source:
        return f"# X: the rows that the model was fitted to\n{_python_of_rows(model, last)}"
    fitted = f"model = {_expression(last)}.fit(X{', y' if recipe.target else ''}{_background(last)})"
    imputer = recipe.choices.get("missing") == "impute"
    given = {name: value for name, value in recipe.choices.items() if name not in {"many_classes", "strict"}}
    arguments = ["table", *(f"{name}={value!r}" for name, value in given.items())]
    arguments += [f"imputer={_expression(recipe.imputer)}"] if imputer else []
    lines = [
        _model_import(last, fitted, *(["KernelPCAImputer"] if imputer else [])),
        *_kernel_import(fitted + "".join(arguments)),
        "from mercer.tables import learn, read",
        "",
        f"table = read({', '.join(_reading(recipe))})",
        f"recipe = learn({', '.join(arguments)})",
        "X, rows = recipe.apply(table)",
    ]
    values = "columns[{!r}]" if getattr(last, "target", None) == "numbers" else "labels({!r})"
    lines += [f"y = table.{values.format(recipe.target)}[rows]"] if recipe.target else []
    return "\n".join([*lines, fitted])


def _python_of_rows(model: Any, last: Any) -> str:
    """Return the lines that fit the model, or the pipeline that ends with it, to an array X."""
    steps = [model, *(step for _, step in model.steps[:-1])] if model is not last and hasattr(model, "steps") else []
    target = ", y" * get_tags(last).target_tags.required
    fitted = f"model = {_expression(model if steps else last)}.fit(X{target}{_background(last)})"
    others = [f"from {type(step).__module__.partition('._')[0]} import {type(step).__name__}" for step in steps]
    return "\n".join([_model_import(last, fitted), *_kernel_import(fitted), *sorted(others), "", fitted])


def _background(model: Any) -> str:
    """Return the argument of ``fit`` for the background of a contrastive model, which is not stored with it."""
    return ", background=background" if any(getattr(model, "background_variance_", ())) else ""


def _model_import(last: Any, fitted: str, *others: str) -> str:
    """Return the line that imports the classes of mercer."""
    if type(last).__module__ == "mercer.models.dropin":  # a class named as one of mercer's
        return f"from mercer.dropin import {type(last).__name__}"
    inner = ["KernelPCA"] if re.search(r"\bKernelPCA\(", fitted) else []
    return f"from mercer import {', '.join(sorted({type(last).__name__, *inner, *others}))}"


def _reading(recipe: Recipe) -> list[str]:
    words = [repr(recipe.source), *(f"{name}={value!r}" for name, value in recipe.reading.items())]
    if recipe.source.endswith(".npz") and recipe.target:  # an array beside the table
        words.insert(1, f"lambda names, named, more: [*names, *({recipe.target!r},) * ({recipe.target!r} in more)]")
    return words


def _expression(model: Any) -> str:
    """Return a model as Python, with all settings that differ from their defaults."""
    from sklearn import config_context

    with config_context(print_changed_only=True):
        return (
            one_line(model) if not hasattr(model, "get_params") else " ".join(model.__repr__(N_CHAR_MAX=10**6).split())
        )


def _kernel_import(text: str) -> list[str]:
    from .. import kernels

    names = [name for name in kernels.__all__ if name[0].isupper() and re.search(rf"\b{name}\(", text)]
    return [f"from mercer.kernels import {', '.join(names)}"] if names else []


def lines(model: Any, recipe: Recipe | None, output: str = "model.mercer") -> str:
    """Return the command on the first line, and the Python below."""
    found = command(model, recipe, output)
    return f"{NO_COMMAND if found is None else found}\n\n{python(model, recipe)}"
