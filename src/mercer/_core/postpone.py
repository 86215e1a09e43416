"""Modules that are imported at their first use, although another library imports them at once."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Postponed(ModuleType):
    """Stands for a module until one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for these
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def postpone(name: str) -> None:
    """Import a module at its first use instead of its first import: for a process that is ours, never a user's."""
    if name not in sys.modules:
        sys.modules[name] = Postponed(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
