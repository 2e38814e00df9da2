"""Language models: what the next word is, and how probable a text."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastlin.lm.arpa import ArpaError as ArpaError
    from fastlin.lm.base import LanguageModel as LanguageModel
    from fastlin.lm.base import State as State
    from fastlin.lm.cache import Cache as Cache
    from fastlin.lm.class_bigram import ClassBigramModel as ClassBigramModel
    from fastlin.lm.classifier import LanguageModelClassifier as LanguageModelClassifier
    from fastlin.lm.interpolation import Interpolation as Interpolation
    from fastlin.lm.maxent import MaxentLM as MaxentLM
    from fastlin.lm.ngram import NgramModel as NgramModel
    from fastlin.lm.rescoring import rescore as rescore
    from fastlin.lm.word_classes import WordClasses as WordClasses

__all__ = [
    "ArpaError",
    "Cache",
    "ClassBigramModel",
    "Interpolation",
    "LanguageModel",
    "LanguageModelClassifier",
    "MaxentLM",
    "NgramModel",
    "State",
    "WordClasses",
    "rescore",
]

_HOMES = {
    "ArpaError": "fastlin.lm.arpa",
    "Cache": "fastlin.lm.cache",
    "ClassBigramModel": "fastlin.lm.class_bigram",
    "Interpolation": "fastlin.lm.interpolation",
    "LanguageModel": "fastlin.lm.base",
    "LanguageModelClassifier": "fastlin.lm.classifier",
    "MaxentLM": "fastlin.lm.maxent",
    "NgramModel": "fastlin.lm.ngram",
    "State": "fastlin.lm.base",
    "WordClasses": "fastlin.lm.word_classes",
    "rescore": "fastlin.lm.rescoring",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is first asked for: scikit-learn, the base of models, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fastlin.lm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
