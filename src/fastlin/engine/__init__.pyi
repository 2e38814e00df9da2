from fastlin.engine import arpa as arpa
from fastlin.engine import ascent as ascent
from fastlin.engine import backoff as backoff
from fastlin.engine import beam as beam
from fastlin.engine import candidates as candidates
from fastlin.engine import chain as chain
from fastlin.engine import check as check
from fastlin.engine import columns as columns
from fastlin.engine import conjunctions as conjunctions
from fastlin.engine import cpu as cpu
from fastlin.engine import descent as descent
from fastlin.engine import documents as documents
from fastlin.engine import dual as dual
from fastlin.engine import expectation as expectation
from fastlin.engine import gains as gains
from fastlin.engine import layout as layout
from fastlin.engine import likelihood as likelihood
from fastlin.engine import local as local
from fastlin.engine import means as means
from fastlin.engine import ngram_counts as ngram_counts
from fastlin.engine import ngram_words as ngram_words
from fastlin.engine import online as online
from fastlin.engine import pairs as pairs
from fastlin.engine import passes as passes
from fastlin.engine import reader as reader
from fastlin.engine import rows as rows
from fastlin.engine import scaling as scaling
from fastlin.engine import smoothing as smoothing
from fastlin.engine import structured as structured
from fastlin.engine import svmlight as svmlight
from fastlin.engine import tagger as tagger
from fastlin.engine import templates as templates
from fastlin.engine import vectors as vectors
from fastlin.engine import weighting as weighting

LEVELS: dict[str, int]
ISA: str
