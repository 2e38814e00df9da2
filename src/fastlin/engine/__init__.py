"""The engine: Cython kernels that know arrays only.

Each kernel module is built several times from one source, for the baseline of the platform and, on x86-64, for the
levels v3 (AVX2, FMA) and v4 (AVX-512). The best build that the processor runs is chosen at import; the
environment variable FASTLIN_ISA (baseline, x86-64-v3, x86-64-v4) forces one.
"""

import importlib
import os
from pathlib import Path
from types import ModuleType

from fastlin.engine import cpu

LEVELS = {"baseline": 1, "x86_64_v3": 3, "x86_64_v4": 4}


def _usable() -> list[str]:
    """The builds this machine can run, best first."""
    level = cpu.x86_level()
    return [
        name
        for name in sorted(LEVELS, key=LEVELS.__getitem__, reverse=True)
        if LEVELS[name] <= level and any((Path(__file__).parent / name).glob("online.*"))
    ]


def _choose() -> str:
    usable, wanted = _usable(), os.environ.get("FASTLIN_ISA")
    if not wanted:
        return usable[0]
    wanted = wanted.replace("-", "_")
    if wanted not in usable:
        raise ImportError(f"FASTLIN_ISA={wanted!r} is not one of the builds this machine can run: {', '.join(usable)}")
    return wanted


def _load(module: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{ISA}.{module}")


ISA = _choose()
aggregate = _load("aggregate")
arpa = _load("arpa")
ascent = _load("ascent")
backoff = _load("backoff")
beam = _load("beam")
candidates = _load("candidates")
chain = _load("chain")
check = _load("check")
class_softmax = _load("class_softmax")
columns = _load("columns")
conjunctions = _load("conjunctions")
descent = _load("descent")
documents = _load("documents")
dual = _load("dual")
exchange = _load("exchange")
expectation = _load("expectation")
gains = _load("gains")
layout = _load("layout")
likelihood = _load("likelihood")
local = _load("local")
maxent_hierarchy = _load("maxent_hierarchy")
means = _load("means")
ngram_counts = _load("ngram_counts")
ngram_words = _load("ngram_words")
online = _load("online")
pairs = _load("pairs")
passes = _load("passes")
reader = _load("reader")
rows = _load("rows")
scaling = _load("scaling")
smoothing = _load("smoothing")
structured = _load("structured")
svmlight = _load("svmlight")
tagger = _load("tagger")
templates = _load("templates")
vectors = _load("vectors")
weighting = _load("weighting")
word_cache = _load("word_cache")
