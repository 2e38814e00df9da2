"""Corpora: readers of files, and rows in segments that learners visit one by one."""

from fastlin.data.blocks import Block, Documents
from fastlin.data.corpus import Corpus, Segment, convert
from fastlin.data.dump import dump_svmlight
from fastlin.data.errors import Problems, ReadError
from fastlin.data.files import CorpusError
from fastlin.data.reading import FORMATS, Reader, read
from fastlin.data.svmlight import load_svmlight

__all__ = [
    "FORMATS",
    "Block",
    "Corpus",
    "CorpusError",
    "Documents",
    "Problems",
    "ReadError",
    "Reader",
    "Segment",
    "convert",
    "dump_svmlight",
    "load_svmlight",
    "read",
]
