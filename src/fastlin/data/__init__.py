"""Corpora: readers of files, and rows in segments that learners visit one by one."""

from fastlin.data.corpus import Corpus, Segment

__all__ = ["Corpus", "Segment"]
