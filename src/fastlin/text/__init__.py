"""Text and dicts to matrices: vectorisers and weightings, with scikit-learn's names and output."""

from fastlin.text.dicts import DictVectorizer as DictVectorizer
from fastlin.text.dicts import FeatureHasher as FeatureHasher
from fastlin.text.tfidf import TfidfTransformer as TfidfTransformer

__all__ = ["DictVectorizer", "FeatureHasher", "TfidfTransformer"]
