"""Registries: the names of classes, at run time and in model files.

A class is registered once, by a decorator, in the file that defines it; validation, the command line, model files, the
documentation and the law suites look it up here. A registry imports its own folder at the first look-up, so that a new
kernel, solver, pre-image method or model is one new file. For an unknown name, the packages that declare entry points
of the group ``mercer`` are imported.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar, overload

T = TypeVar("T")

FILE_CLASSES: dict[str, type] = {}  # the name in a model file → class; files keep their names, classes may move
_FILE_NAMES: dict[type, str] = {}


class Registry(Mapping[str, type]):
    """The classes of one kind by name: a mapping that imports its classes at the first look-up."""

    def __init__(self, kind: str, folders: tuple[str, ...], prefix: str, fits: Callable[[type], bool]):
        self.kind, self.folders, self.prefix, self.fits = kind, folders, prefix, fits
        self._classes: dict[str, type] = {}
        self._filled = False

    def enter(self, name: str, cls: type, file: str | None = None) -> None:
        """Register a class. The same class may be registered again (a reloaded module), another one may not."""
        before = self._classes.get(name)
        if before is not None and (before.__module__, before.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"The {self.kind} name {name!r} is taken by {before.__module__}.{before.__qualname__}. "
                "Register the class under another name."
            )
        self._classes[name] = cls
        own = cls.__module__.partition(".")[0] == "mercer"
        stored(file or (f"{self.prefix}.{cls.__name__}" if own else f"{self.kind}:{name}"))(cls)

    def fill(self) -> None:
        """Import the folders of this kind."""
        if not self._filled:
            self._filled = True
            for folder in self.folders:
                package = import_module(folder)
                for module in iter_modules(getattr(package, "__path__", ())):
                    import_module(f"{folder}.{module.name}")

    def __getitem__(self, name: str) -> type:
        if name not in self:
            raise KeyError(name)
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        for more in (self.fill, _load_plugins):
            if name not in self._classes:
                more()
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        self.fill()
        return iter(self._classes)

    def __len__(self) -> int:
        self.fill()
        return len(self._classes)

    def name_of(self, cls: type) -> str | None:
        """Return the name of a class, which was registered when it was defined; None for one that was not."""
        return next((name for name, known in self._classes.items() if known is cls), None)

    def announced(self) -> list[str]:
        """Return the names that the files of the folders register, found in their text without importing them.

        This is for help texts, which must be instant. Names that other packages register are missing.
        """
        texts = (path.read_text(encoding="utf-8") for folder in self.folders for path in _files(folder))
        return [name for text in texts for name in re.findall(r'^@register\("(\w+)"', text, re.MULTILINE)]

    def quoted(self) -> str:
        """Return the names for an error message: 'a', 'b', 'c'."""
        return ", ".join(map(repr, self))


KERNELS = Registry("kernel", ("mercer.kernels",), "kernels", lambda cls: hasattr(cls, "onto") and hasattr(cls, "diag"))
MODELS = Registry("model", ("mercer.models",), "models", lambda cls: hasattr(cls, "fit"))
PREIMAGES = Registry("preimage", ("mercer.preimage",), "preimage", lambda cls: hasattr(cls, "bind"))
SOLVERS = Registry(
    "solver", ("mercer.linalg.solvers", "mercer.rkhs.landmarks"), "eigen", lambda cls: "__call__" in dir(cls)
)
KINDS = (KERNELS, MODELS, PREIMAGES, SOLVERS)  # a class belongs to the first kind whose methods it has


def _files(folder: str) -> list[Path]:
    """Return the source files of a package or module of mercer, without importing it."""
    path = Path(__file__).parents[1].joinpath(*folder.split(".")[1:])
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


@overload
def register(name: type[T]) -> type[T]: ...
@overload
def register(name: str | None = None, *, file: str | None = None) -> Callable[[type[T]], type[T]]: ...
def register(name: Any = None, *, file: str | None = None) -> Any:
    """Register a kernel, solver, pre-image method or model under a name.

    The class can then be given by this name (``kernel="cauchy"``, ``--kernel cauchy``), saved in model files and
    loaded from them. Its kind follows from its methods: a subclass of :class:`mercer.kernels.Kernel`, an estimator with
    ``fit``, a pre-image method with ``bind``, or a solver with ``__call__(A, q, rng)``.

    Parameters
    ----------
    name : str or class, default=None
        The name; by default that of the class, in lower case. ``@register`` and ``@register("name")`` both work.
    file : str, default=None
        The name in model files, if it differs.

    Returns
    -------
    decorator : callable
        The class itself, or a decorator that returns it.

    Examples
    --------
    >>> import mercer
    >>> from mercer.kernels import RBF
    >>> @mercer.register("gauss")
    ... class Gauss(RBF):
    ...     pass
    >>> mercer.KernelPCA(kernel="gauss").kernel
    'gauss'
    """
    if isinstance(name, type):
        return register()(name)

    def enter(cls: type) -> type:
        registry = next((registry for registry in KINDS if registry.fits(cls)), None)
        if registry is None:
            raise TypeError(
                f"{cls.__name__} cannot be registered: it is not a Kernel, has no fit (model), no bind (pre-image "
                "method) and no __call__ (solver)."
            )
        registry.enter(cls.__name__.lower() if name is None else name, cls, file)
        return cls

    return enter


def stored(file: str) -> Callable[[type[T]], type[T]]:
    """Register a class for model files under the name ``file``."""

    def enter(cls: type[T]) -> type[T]:
        FILE_CLASSES[file] = cls
        _FILE_NAMES[cls] = file
        return cls

    return enter


def file_name(cls: type) -> str | None:
    """Return the name of a class in model files, or None."""
    return _FILE_NAMES.get(cls)


def file_class(file: str) -> type:
    """Return the class of a name in a model file, or raise KeyError. No module that a file names is imported."""
    for registry in KINDS:
        registry.fill()
    if file not in FILE_CLASSES:
        _load_plugins()
    return FILE_CLASSES[file]


@cache
def _load_plugins() -> None:
    """Import the entry points of installed packages, once."""
    from importlib.metadata import entry_points  # takes a quarter of the time of `mercer --help`

    for point in entry_points(group="mercer"):
        point.load()
