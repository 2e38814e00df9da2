"""Corpora: readers of files, and rows in segments that learners visit one by one."""

from fastlin.data.corpus import Corpus, Segment, convert
from fastlin.data.files import CorpusError

__all__ = ["Corpus", "CorpusError", "Segment", "convert"]
