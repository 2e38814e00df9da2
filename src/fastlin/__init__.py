"""Fast linear models of sparse data, with scikit-learn's names."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fastlin import losses as losses
    from fastlin import select as select
    from fastlin import text as text
    from fastlin.linear.candidates import CandidateClassifier as CandidateClassifier
    from fastlin.linear.lexicon import LexiconClassifier as LexiconClassifier
    from fastlin.linear.logistic import LogisticRegression as LogisticRegression
    from fastlin.linear.logistic import LogisticRegression as MaxEnt
    from fastlin.linear.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from fastlin.linear.mira import MIRAClassifier as MIRAClassifier
    from fastlin.linear.naive_bayes import MultinomialNB as MultinomialNB
    from fastlin.linear.passive_aggressive import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from fastlin.linear.perceptron import Perceptron as Perceptron
    from fastlin.linear.sgd import SGDClassifier as SGDClassifier
    from fastlin.linear.svm import LinearSVC as LinearSVC
    from fastlin.text.conjunctions import Conjunctions as Conjunctions
    from fastlin.text.document import DocumentFeatures as DocumentFeatures
    from fastlin.text.elementwise import Elementwise as Elementwise
    from fastlin.text.ratio import LogCountRatio as LogCountRatio

__all__ = [
    "CandidateClassifier",
    "Conjunctions",
    "DocumentFeatures",
    "Elementwise",
    "LexiconClassifier",
    "LinearSVC",
    "LogCountRatio",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MIRAClassifier",
    "MaxEnt",
    "MultinomialNB",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "SGDClassifier",
    "__version__",
    "losses",
    "select",
    "text",
]

_HOMES = {
    "CandidateClassifier": "fastlin.linear.candidates",
    "Conjunctions": "fastlin.text.conjunctions",
    "DocumentFeatures": "fastlin.text.document",
    "Elementwise": "fastlin.text.elementwise",
    "LexiconClassifier": "fastlin.linear.lexicon",
    "LinearSVC": "fastlin.linear.svm",
    "LogCountRatio": "fastlin.text.ratio",
    "LogisticRegression": "fastlin.linear.logistic",
    "LogisticRegressionCV": "fastlin.linear.logistic_cv",
    "MaxEnt": "fastlin.linear.logistic",
    "MIRAClassifier": "fastlin.linear.mira",
    "MultinomialNB": "fastlin.linear.naive_bayes",
    "PassiveAggressiveClassifier": "fastlin.linear.passive_aggressive",
    "Perceptron": "fastlin.linear.perceptron",
    "SGDClassifier": "fastlin.linear.sgd",
}

_ROOMS = ("losses", "select", "text")

_ALIASES = {"MaxEnt": "LogisticRegression"}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is first asked for: scikit-learn, its base, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), _ALIASES.get(name, name))
    if name in _ROOMS:
        return importlib.import_module(f"fastlin.{name}")
    raise AttributeError(f"module 'fastlin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
