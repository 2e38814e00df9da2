"""What kind of model an object is, as far as its class says: asked of any model that a file may hold."""

from typing import Any


def is_about_language(model: Any) -> bool:
    """Whether `language` describes it: a language model, a mixture, classes of words, a classifier by such models."""
    return any(hasattr(type(model), name) for name in ("surprisal", "class_of", "word_probabilities", "models_"))


def is_parser(model: Any) -> bool:
    """Whether it is a grammar, or another model that makes trees of sentences."""
    return hasattr(type(model), "symbols_")


def has_model_for_each_label(model: Any) -> bool:
    """Whether it is a classifier by language models."""
    return hasattr(type(model), "models_")
