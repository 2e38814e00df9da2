"""All that is public: the names of the packages, the methods of their classes, and what a docstring says of each."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from fastlin.registry import PUBLIC, ROOMS

MODULES = sorted({*PUBLIC, *(f"fastlin.{room}" for room in ROOMS), "fastlin.sequence.metrics"})
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.MULTILINE)
ENTRY = re.compile(r"^(\S[^:\n]*?)(?: : .*)?$", flags=re.MULTILINE)


class Sections(NamedTuple):
    """A docstring's parameters or attributes by their names, and the headings of its sections."""

    names: list[str]
    headings: set[str]


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module: those that it lists, or else the functions and classes that it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return sorted(getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")])


def public_objects() -> dict[str, Any]:
    """Classes and functions of fastlin by their public names; what has several has the first."""
    found: dict[Any, str] = {}
    for module in map(importlib.import_module, MODULES):
        for name in names_of(module):
            value = getattr(module, name)
            if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith("fastlin"):
                found.setdefault(value, f"{module.__name__}.{name}")
    return {name: value for value, name in found.items()}


def methods(kind: type) -> Iterator[Callable[..., Any]]:
    """The public methods that a class has from fastlin, inherited ones as their base class defines them."""
    for base in kind.__mro__:
        for name, value in vars(base).items() if base.__module__.startswith("fastlin") else ():
            bare = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) or is_bound(value) else None
            if not name.startswith("_") and inspect.isfunction(bare) and bare.__module__.startswith("fastlin"):
                yield bare


def is_bound(value: Any) -> bool:
    return isinstance(value, classmethod | staticmethod)


def sections_of(docstring: str | None) -> Sections:
    """What a docstring says of parameters: `x, y : array` are two, and `*rest` is called rest."""
    _, *parts = HEADING.split(inspect.cleandoc(docstring or ""))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    text = sections.get("Parameters", sections.get("Attributes", ""))
    names = [name.strip(" *") for line in ENTRY.findall(text) for name in line.split(",")]
    return Sections(names, set(sections))


def parameters_of(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def returns_something(function: Callable[..., Any]) -> bool:
    return inspect.signature(function).return_annotation not in (None, "None", inspect.Signature.empty)
