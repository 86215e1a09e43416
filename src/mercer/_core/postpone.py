"""Postponed imports: modules are imported at their first use, even if another library imports them at once."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Postponed(ModuleType):
    """A placeholder for a module until one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def postpone(name: str) -> None:
    """Import a module at its first use instead of its first import; only for mercer's own processes."""
    if name not in sys.modules:
        sys.modules[name] = Postponed(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
