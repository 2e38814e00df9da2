"""Fast linear models of sparse data, with scikit-learn's names."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fastlin import data as data
    from fastlin import inspection as inspection
    from fastlin import losses as losses
    from fastlin import select as select
    from fastlin import sequence as sequence
    from fastlin import storage as storage
    from fastlin import text as text
    from fastlin.cluster.kmeans import KMeans as KMeans
    from fastlin.data.corpus import Corpus as Corpus
    from fastlin.features.conjunctions import Conjunctions as Conjunctions
    from fastlin.features.dict_vectorizer import DictVectorizer as DictVectorizer
    from fastlin.features.dict_vectorizer import FeatureHasher as FeatureHasher
    from fastlin.features.document_features import DocumentFeatures as DocumentFeatures
    from fastlin.features.elementwise import Elementwise as Elementwise
    from fastlin.features.log_count_ratio import LogCountRatio as LogCountRatio
    from fastlin.linear.candidates import CandidateClassifier as CandidateClassifier
    from fastlin.linear.lexicon import LexiconClassifier as LexiconClassifier
    from fastlin.linear.logistic import LogisticRegression as LogisticRegression
    from fastlin.linear.logistic import LogisticRegression as MaxEnt
    from fastlin.linear.logistic_cv import LogisticRegressionCV as LogisticRegressionCV
    from fastlin.linear.mira import MIRAClassifier as MIRAClassifier
    from fastlin.linear.passive_aggressive import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from fastlin.linear.perceptron import Perceptron as Perceptron
    from fastlin.linear.sgd import SGDClassifier as SGDClassifier
    from fastlin.linear.svm import LinearSVC as LinearSVC
    from fastlin.mixture.multinomial import MultinomialMixture as MultinomialMixture
    from fastlin.naive_bayes.categorical import CategoricalNB as CategoricalNB
    from fastlin.naive_bayes.multinomial import MultinomialNB as MultinomialNB
    from fastlin.naive_bayes.semi_supervised import SemiSupervisedNB as SemiSupervisedNB
    from fastlin.naive_bayes.semi_supervised_cv import SemiSupervisedNBCV as SemiSupervisedNBCV
    from fastlin.storage.load_context import ModelFileError as ModelFileError
    from fastlin.storage.models import load as load
    from fastlin.storage.models import save as save
    from fastlin.text.count_vectorizer import CountVectorizer as CountVectorizer
    from fastlin.text.hashing_vectorizer import HashingVectorizer as HashingVectorizer
    from fastlin.text.tfidf_transformer import TfidfTransformer as TfidfTransformer
    from fastlin.text.tfidf_vectorizer import TfidfVectorizer as TfidfVectorizer

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
    "CategoricalNB": "fastlin.naive_bayes.categorical",
    "Conjunctions": "fastlin.features.conjunctions",
    "Corpus": "fastlin.data.corpus",
    "CountVectorizer": "fastlin.text.count_vectorizer",
    "DictVectorizer": "fastlin.features.dict_vectorizer",
    "DocumentFeatures": "fastlin.features.document_features",
    "Elementwise": "fastlin.features.elementwise",
    "FeatureHasher": "fastlin.features.dict_vectorizer",
    "HashingVectorizer": "fastlin.text.hashing_vectorizer",
    "KMeans": "fastlin.cluster.kmeans",
    "LexiconClassifier": "fastlin.linear.lexicon",
    "LinearSVC": "fastlin.linear.svm",
    "LogCountRatio": "fastlin.features.log_count_ratio",
    "LogisticRegression": "fastlin.linear.logistic",
    "LogisticRegressionCV": "fastlin.linear.logistic_cv",
    "MIRAClassifier": "fastlin.linear.mira",
    "MaxEnt": "fastlin.linear.logistic",
    "ModelFileError": "fastlin.storage.archive",
    "MultinomialMixture": "fastlin.mixture.multinomial",
    "MultinomialNB": "fastlin.naive_bayes.multinomial",
    "PassiveAggressiveClassifier": "fastlin.linear.passive_aggressive",
    "Perceptron": "fastlin.linear.perceptron",
    "SGDClassifier": "fastlin.linear.sgd",
    "SemiSupervisedNB": "fastlin.naive_bayes.semi_supervised",
    "SemiSupervisedNBCV": "fastlin.naive_bayes.semi_supervised_cv",
    "TfidfTransformer": "fastlin.text.tfidf_transformer",
    "TfidfVectorizer": "fastlin.text.tfidf_vectorizer",
    "load": "fastlin.storage.models",
    "save": "fastlin.storage.models",
}

_ROOMS = ("data", "inspection", "losses", "select", "sequence", "storage", "text")

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
