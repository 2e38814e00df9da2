"""Language models: what the next word is, and how probable a text."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastlin.lm.arpa import ArpaError as ArpaError
    from fastlin.lm.base import LanguageModel as LanguageModel
    from fastlin.lm.base import State as State
    from fastlin.lm.class_bigram import ClassBigramModel as ClassBigramModel
    from fastlin.lm.maxent import MaxentLM as MaxentLM
    from fastlin.lm.ngram import NgramModel as NgramModel
    from fastlin.lm.word_classes import WordClasses as WordClasses

__all__ = ["ArpaError", "ClassBigramModel", "LanguageModel", "MaxentLM", "NgramModel", "State", "WordClasses"]

_HOMES = {
    "ArpaError": "fastlin.lm.arpa",
    "ClassBigramModel": "fastlin.lm.class_bigram",
    "LanguageModel": "fastlin.lm.base",
    "MaxentLM": "fastlin.lm.maxent",
    "NgramModel": "fastlin.lm.ngram",
    "State": "fastlin.lm.base",
    "WordClasses": "fastlin.lm.word_classes",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: scikit-learn, the base of models, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fastlin.lm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
