"""Models of sequences: taggers whose inference is a chain."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastlin.sequence import metrics as metrics
    from fastlin.sequence.conll import read_conll as read_conll
    from fastlin.sequence.conll import write_conll as write_conll
    from fastlin.sequence.constraints import AllBut as AllBut
    from fastlin.sequence.constraints import Constraints as Constraints
    from fastlin.sequence.crf.model import CRF as CRF
    from fastlin.sequence.hmm.model import HMM as HMM
    from fastlin.sequence.memm.model import MEMM as MEMM
    from fastlin.sequence.perceptron.model import StructuredPerceptron as StructuredPerceptron
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
    "CRF": "fastlin.sequence.crf.model",
    "HMM": "fastlin.sequence.hmm.model",
    "MEMM": "fastlin.sequence.memm.model",
    "AllBut": "fastlin.sequence.constraints",
    "Attributes": "fastlin.sequence.tokens",
    "Constraints": "fastlin.sequence.constraints",
    "StructuredPerceptron": "fastlin.sequence.perceptron.model",
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
