"""scikit-learn, imported without the libraries that it imports and seldom uses: whoever needs it first pays less.

`import sklearn` takes 0.8 seconds of CPU time, of which pandas and `scipy.stats` are three quarters: some functions of
`sklearn.utils.fixes` use them, and narwhals is for data frames. `scipy.sparse`, which comes with it, asks for every
name of numpy, also for `numpy.testing` and `numpy.f2py`. While scikit-learn is imported here, modules that forward what
they are asked for to the real ones, imported then, stand in their places; afterwards they are gone from
`sys.modules`, and who imports pandas has pandas. What a process has imported already is left alone.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

DEFERRED = (
    *(("pandas",), ("scipy.special",), ("scipy.stats",), ("narwhals", "narwhals.stable", "narwhals.stable.v2")),
    *(("numpy.testing",), ("numpy.f2py",)),
)


class DeferredModule(ModuleType):
    """A module that is imported when something of it is asked for; `stand_ins` are those of its package."""

    def __init__(self, name: str, stand_ins: list["DeferredModule"]) -> None:
        super().__init__(name)
        self._stand_ins = stand_ins

    def __getattr__(self, name: str) -> Any:
        withdraw(self._stand_ins)
        return getattr(importlib.import_module(self.__name__), name)


def stand_in(names: tuple[str, ...]) -> list[DeferredModule]:
    """Put deferred modules in the places of a module and what lies in it; nothing, if it is imported or not there."""
    if names[0] in sys.modules or importlib.util.find_spec(names[0]) is None:
        return []
    modules: list[DeferredModule] = []
    for name in names:
        module = DeferredModule(name, modules)
        if sys.modules.setdefault(name, module) is not module:  # another thread has begun to import it
            break
        package, _, own = name.rpartition(".")
        if package in sys.modules:
            sys.modules[package].__dict__.setdefault(own, module)
        modules.append(module)
    return modules


def withdraw(modules: list[DeferredModule]) -> None:
    """Let the next import of their names be that of the real modules."""
    for module in modules:
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]
        package, _, own = module.__name__.rpartition(".")
        if package in sys.modules and sys.modules[package].__dict__.get(own) is module:
            delattr(sys.modules[package], own)


def import_sklearn() -> None:
    """Import scikit-learn, if nobody has."""
    if "sklearn" in sys.modules:
        return
    modules: list[DeferredModule] = []
    try:
        for names in DEFERRED:
            modules += stand_in(names)
        importlib.import_module("sklearn")
    finally:
        withdraw(modules)


import_sklearn()
