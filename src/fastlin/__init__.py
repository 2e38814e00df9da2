"""Fast linear models of sparse data, with scikit-learn's names."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fastlin import data as data
    from fastlin import inspect as inspect
    from fastlin import losses as losses
    from fastlin import select as select
    from fastlin import sequence as sequence
    from fastlin import store as store
    from fastlin import text as text
    from fastlin.cluster.kmeans import KMeans as KMeans
    from fastlin.cluster.mixture import MultinomialMixture as MultinomialMixture
    from fastlin.cluster.semi_supervised import SemiSupervisedNB as SemiSupervisedNB
    from fastlin.cluster.semi_supervised_cv import SemiSupervisedNBCV as SemiSupervisedNBCV
    from fastlin.data.corpus import Corpus as Corpus
    from fastlin.linear.candidates import CandidateClassifier as CandidateClassifier
    from fastlin.linear.categorical import CategoricalNB as CategoricalNB
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
    from fastlin.store.models import load as load
    from fastlin.store.models import save as save
    from fastlin.store.reading import ModelFileError as ModelFileError
    from fastlin.text.conjunctions import Conjunctions as Conjunctions
    from fastlin.text.count import CountVectorizer as CountVectorizer
    from fastlin.text.dicts import DictVectorizer as DictVectorizer
    from fastlin.text.dicts import FeatureHasher as FeatureHasher
    from fastlin.text.document import DocumentFeatures as DocumentFeatures
    from fastlin.text.elementwise import Elementwise as Elementwise
    from fastlin.text.hashing import HashingVectorizer as HashingVectorizer
    from fastlin.text.ratio import LogCountRatio as LogCountRatio
    from fastlin.text.tfidf import TfidfTransformer as TfidfTransformer
    from fastlin.text.weighted import TfidfVectorizer as TfidfVectorizer

__all__ = [
    "CandidateClassifier",
    "CategoricalNB",
    "Conjunctions",
    "Corpus",
    "CountVectorizer",
    "DictVectorizer",
    "DocumentFeatures",
    "Elementwise",
    "FeatureHasher",
    "HashingVectorizer",
    "KMeans",
    "LexiconClassifier",
    "LinearSVC",
    "LogCountRatio",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MIRAClassifier",
    "MaxEnt",
    "ModelFileError",
    "MultinomialMixture",
    "MultinomialNB",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "SGDClassifier",
    "SemiSupervisedNB",
    "SemiSupervisedNBCV",
    "TfidfTransformer",
    "TfidfVectorizer",
    "__version__",
    "load",
    "save",
]

_HOMES = {
    "CandidateClassifier": "fastlin.linear.candidates",
    "CategoricalNB": "fastlin.linear.categorical",
    "Conjunctions": "fastlin.text.conjunctions",
    "Corpus": "fastlin.data.corpus",
    "CountVectorizer": "fastlin.text.count",
    "DictVectorizer": "fastlin.text.dicts",
    "DocumentFeatures": "fastlin.text.document",
    "Elementwise": "fastlin.text.elementwise",
    "FeatureHasher": "fastlin.text.dicts",
    "HashingVectorizer": "fastlin.text.hashing",
    "KMeans": "fastlin.cluster.kmeans",
    "LexiconClassifier": "fastlin.linear.lexicon",
    "LinearSVC": "fastlin.linear.svm",
    "LogCountRatio": "fastlin.text.ratio",
    "LogisticRegression": "fastlin.linear.logistic",
    "LogisticRegressionCV": "fastlin.linear.logistic_cv",
    "MIRAClassifier": "fastlin.linear.mira",
    "MaxEnt": "fastlin.linear.logistic",
    "ModelFileError": "fastlin.store.archive",
    "MultinomialMixture": "fastlin.cluster.mixture",
    "MultinomialNB": "fastlin.linear.naive_bayes",
    "PassiveAggressiveClassifier": "fastlin.linear.passive_aggressive",
    "Perceptron": "fastlin.linear.perceptron",
    "SGDClassifier": "fastlin.linear.sgd",
    "SemiSupervisedNB": "fastlin.cluster.semi_supervised",
    "SemiSupervisedNBCV": "fastlin.cluster.semi_supervised_cv",
    "TfidfTransformer": "fastlin.text.tfidf",
    "TfidfVectorizer": "fastlin.text.weighted",
    "load": "fastlin.store.models",
    "save": "fastlin.store.models",
}

_ROOMS = ("data", "inspect", "losses", "select", "sequence", "store", "text")

_ALIASES = {"MaxEnt": "LogisticRegression"}


def __getattr__(name: str) -> Any:
    """Import an estimator when it is first asked for: scikit-learn, its base, takes over a second."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), _ALIASES.get(name, name))
    if name in _ROOMS:
        return importlib.import_module(f"fastlin.{name}")
    raise AttributeError(f"module 'fastlin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
