"""Models of sequences: taggers whose inference is a chain."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastlin.sequence.memm import MEMM as MEMM
    from fastlin.sequence.tokens import Attributes as Attributes

__all__ = [
    "MEMM",
    "Attributes",
]

_HOMES = {
    "MEMM": "fastlin.sequence.memm",
    "Attributes": "fastlin.sequence.tokens",
}

_ROOMS: tuple[str, ...] = ()


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: scikit-learn, the base of models, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"fastlin.sequence.{name}")
    raise AttributeError(f"module 'fastlin.sequence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
