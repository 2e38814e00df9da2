"""Features of tokens from raw tokens, by templates that are compiled once; and templates that are known to do well."""

from fastlin.text.templates.dsl import BOS, EOS, Column, Part, Template, crfpp
from fastlin.text.templates.estimator import Templates
from fastlin.text.templates.presets import PRESETS, chunking, ner, pos, ratnaparkhi96

__all__ = [
    "BOS",
    "EOS",
    "PRESETS",
    "Column",
    "Part",
    "Template",
    "Templates",
    "chunking",
    "crfpp",
    "ner",
    "pos",
    "ratnaparkhi96",
]
