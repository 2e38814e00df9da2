"""Text to matrices: vectorisers with scikit-learn's names and output, richer features that compose with them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS as ENGLISH_STOP_WORDS
    from sklearn.feature_extraction.text import strip_accents_ascii as strip_accents_ascii
    from sklearn.feature_extraction.text import strip_accents_unicode as strip_accents_unicode
    from sklearn.feature_extraction.text import strip_tags as strip_tags

    from fastlin.features.conjunctions import Conjunctions as Conjunctions
    from fastlin.features.dict_vectorizer import DictVectorizer as DictVectorizer
    from fastlin.features.dict_vectorizer import FeatureHasher as FeatureHasher
    from fastlin.features.document_features import DocumentFeatures as DocumentFeatures
    from fastlin.features.elementwise import Elementwise as Elementwise
    from fastlin.features.log_count_ratio import LogCountRatio as LogCountRatio
    from fastlin.text.count_vectorizer import CountVectorizer as CountVectorizer
    from fastlin.text.hashing_vectorizer import HashingVectorizer as HashingVectorizer
    from fastlin.text.negation import NEGATORS as NEGATORS
    from fastlin.text.negation import mark_negation as mark_negation
    from fastlin.text.tfidf_transformer import TfidfTransformer as TfidfTransformer
    from fastlin.text.tfidf_vectorizer import TfidfVectorizer as TfidfVectorizer

_THEIRS = "sklearn.feature_extraction.text"
_HOMES = {
    "ENGLISH_STOP_WORDS": _THEIRS,
    "NEGATORS": "fastlin.text.negation",
    "Conjunctions": "fastlin.features.conjunctions",
    "CountVectorizer": "fastlin.text.count_vectorizer",
    "DictVectorizer": "fastlin.features.dict_vectorizer",
    "DocumentFeatures": "fastlin.features.document_features",
    "Elementwise": "fastlin.features.elementwise",
    "FeatureHasher": "fastlin.features.dict_vectorizer",
    "HashingVectorizer": "fastlin.text.hashing_vectorizer",
    "LogCountRatio": "fastlin.features.log_count_ratio",
    "TfidfTransformer": "fastlin.text.tfidf_transformer",
    "TfidfVectorizer": "fastlin.text.tfidf_vectorizer",
    "mark_negation": "fastlin.text.negation",
    "strip_accents_ascii": _THEIRS,
    "strip_accents_unicode": _THEIRS,
    "strip_tags": _THEIRS,
}

__all__ = [
    "ENGLISH_STOP_WORDS",
    "NEGATORS",
    "Conjunctions",
    "CountVectorizer",
    "DictVectorizer",
    "DocumentFeatures",
    "Elementwise",
    "FeatureHasher",
    "HashingVectorizer",
    "LogCountRatio",
    "TfidfTransformer",
    "TfidfVectorizer",
    "mark_negation",
    "strip_accents_ascii",
    "strip_accents_unicode",
    "strip_tags",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'fastlin.text' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
