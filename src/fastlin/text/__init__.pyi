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
from fastlin.text.text_predictor import TextPredictor as TextPredictor
from fastlin.text.tfidf_transformer import TfidfTransformer as TfidfTransformer
from fastlin.text.tfidf_vectorizer import TfidfVectorizer as TfidfVectorizer
