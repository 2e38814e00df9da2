"""Corpora: readers of files, and rows in segments that learners visit one by one."""

from fastlin.data.blocks import Block, Documents
from fastlin.data.corpus import Corpus, Segment, convert
from fastlin.data.errors import MalformedLines, ReadError
from fastlin.data.npy_files import CorpusError
from fastlin.data.reader import FORMATS, Reader, read
from fastlin.data.readers.svmlight import load_svmlight
from fastlin.data.svmlight_writer import dump_svmlight

__all__ = [
    "FORMATS",
    "Block",
    "Corpus",
    "CorpusError",
    "Documents",
    "MalformedLines",
    "ReadError",
    "Reader",
    "Segment",
    "convert",
    "dump_svmlight",
    "load_svmlight",
    "read",
]
