"""scikit-learn, imported without the libraries that it imports and seldom uses: whoever needs it first pays less.

`import sklearn` takes 0.8 seconds of CPU time, of which pandas and `scipy.stats` are three quarters: some functions of
`sklearn.utils.fixes` use them, and narwhals is for data frames. `scipy.sparse`, which comes with it, asks for every
name of numpy, also for `numpy.testing` and `numpy.f2py`; joblib, for asyncio and psutil; `sklearn.pipeline`, for all
preprocessing, whose splines and power transforms need half of scipy. While scikit-learn is imported here, modules that
forward what they are asked for to the real ones, imported then, stand in their places; afterwards they are gone from
`sys.modules`, and who imports pandas has pandas. What a process has imported already is left alone.
"""

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

from fastlin.runtime.collection_pause import paused_collection

DEFERRED = (  # one after the other: what is looked for may import what lies above it
    *(("pydoc",), ("asyncio",), ("psutil",)),
    *(("numpy.testing",), ("numpy.f2py",), ("numpy.ma",), ("numpy.polynomial",)),
    *(("scipy.special",), ("scipy.interpolate",), ("scipy.linalg",), ("scipy.sparse.linalg",), ("scipy.stats",)),
    *(("pandas",), ("narwhals", "narwhals.stable", "narwhals.stable.v2")),
)
# what they import by name, and only call or ask for attributes
DEFERRED_NAMES = {
    "psutil": frozenset({"Process"}),
    "scipy.interpolate": frozenset({"BSpline"}),
    "scipy.sparse.linalg": frozenset({"LinearOperator", "cg"}),
    "scipy.special": frozenset({"boxcox", "comb", "inv_boxcox"}),
}


class DeferredName:
    """A function or class of a deferred module, which is imported when it is called or asked for something."""

    def __init__(self, module: "DeferredModule", name: str) -> None:
        self._of = module, name

    def _real(self) -> Any:
        module, name = self._of
        return module.real(name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._real())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real(),)


class DeferredModule(ModuleType):
    """A module that is imported when something of it is asked for; `stand_ins` are those of its package."""

    def __init__(self, name: str, stand_ins: list["DeferredModule"]) -> None:
        super().__init__(name)
        self._stand_ins = stand_ins

    def __getattr__(self, name: str) -> Any:
        if self.__name__ in DEFERRED_NAMES:
            if name in DEFERRED_NAMES[self.__name__]:
                return DeferredName(self, name)
            # `from module import name` looks whether it is a package; an import of what lies in it needs the real one
            if name == "__path__" and sys._getframe(1).f_globals.get("__name__") != "importlib._bootstrap":
                raise AttributeError(name)
        return self.real(name)

    def real(self, name: str) -> Any:
        """What the module that is imported calls so."""
        withdraw(self._stand_ins)
        module = importlib.import_module(self.__name__)
        if not hasattr(module, name) and importlib.util.find_spec(f"{self.__name__}.{name}") is not None:
            return importlib.import_module(f"{self.__name__}.{name}")
        return getattr(module, name)


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
    """Let the next import of their names be that of the real modules.

    A package that does not import what is asked of it keeps its stand-in until somebody imports the real one.
    """
    for module in modules:
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]
        package, _, own = module.__name__.rpartition(".")
        content = vars(sys.modules[package]) if package in sys.modules else {}
        if content.get(own) is module and "__getattr__" in content:
            delattr(sys.modules[package], own)


def import_sklearn(name: str = "sklearn") -> ModuleType:
    """Import a module of scikit-learn, if nobody has."""
    if name in sys.modules:
        return importlib.import_module(name)
    modules: list[DeferredModule] = []
    try:
        with paused_collection():
            for names in DEFERRED:
                modules += stand_in(names)
            return importlib.import_module(name)
    finally:
        withdraw(modules)


import_sklearn()
