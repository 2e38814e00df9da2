"""Models of sequences: taggers whose inference is a chain."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastlin.sequence import metrics as metrics
    from fastlin.sequence.conll import read_conll as read_conll
    from fastlin.sequence.conll import write_conll as write_conll
    from fastlin.sequence.constraints import AllBut as AllBut
    from fastlin.sequence.constraints import Constraints as Constraints
    from fastlin.sequence.crf import CRF as CRF
    from fastlin.sequence.hmm import HMM as HMM
    from fastlin.sequence.memm import MEMM as MEMM
    from fastlin.sequence.perceptron import StructuredPerceptron as StructuredPerceptron
    from fastlin.sequence.tokens import Attributes as Attributes

__all__ = [
    "CRF",
    "HMM",
    "MEMM",
    "AllBut",
    "Attributes",
    "Constraints",
    "StructuredPerceptron",
    "metrics",
    "read_conll",
    "write_conll",
]

_HOMES = {
    "CRF": "fastlin.sequence.crf",
    "HMM": "fastlin.sequence.hmm",
    "MEMM": "fastlin.sequence.memm",
    "AllBut": "fastlin.sequence.constraints",
    "Attributes": "fastlin.sequence.tokens",
    "Constraints": "fastlin.sequence.constraints",
    "StructuredPerceptron": "fastlin.sequence.perceptron",
    "read_conll": "fastlin.sequence.conll",
    "write_conll": "fastlin.sequence.conll",
}

_ROOMS = ("metrics",)


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: scikit-learn, the base of models, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"fastlin.sequence.{name}")
    raise AttributeError(f"module 'fastlin.sequence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
