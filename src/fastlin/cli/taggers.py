"""From the names of the command line to models of sequences and the templates that make their features."""

import argparse
import os
from typing import Any

from fastlin import sequence
from fastlin.cli.errors import UserError, did_you_mean
from fastlin.cli.learners import build
from fastlin.cli.tag_options import PRESETS
from fastlin.text import templates
from fastlin.text.templates import Templates, crfpp, ner

CLASSES = {"crf": "CRF", "perceptron": "StructuredPerceptron", "memm": "MEMM", "hmm": "HMM"}
PADDING = "_B"  # what stands beyond the ends of a sentence in the template files of CRF++


def tagger(options: argparse.Namespace) -> Any:
    """The model that the options describe; its features are chosen when the columns are known."""
    check_features(options)
    named = {"C": options.C, "c1": options.c1, "c2": options.c2, "alpha": options.alpha, "max_iter": options.epochs}
    named |= {"order": options.order, "constraints": options.constraints}
    return build(options, getattr(sequence, CLASSES[options.learner]), {}, named)


def check_features(options: argparse.Namespace) -> None:
    """Whether `--features` says something: found out before the sentences are read."""
    name = options.features
    if name not in (None, "none", *PRESETS) and not os.path.isfile(name):
        known = ", ".join(PRESETS)
        raise UserError(f"--features: {name!r} is neither a file nor one of {known}{did_you_mean(name, PRESETS)}")
    if options.gazetteer and name != "ner":
        raise UserError("--gazetteer is for --features ner")
    for _, path in options.gazetteer:
        if not os.path.isfile(path):
            raise UserError(f"--gazetteer: there is no file {path!r}")


def features(options: argparse.Namespace, n_columns: int) -> Any:
    """Templates for tokens of so many columns; None: the words themselves are the features.

    If nobody has chosen any, an HMM has words, and others the preset of words and parts of speech, or of words alone.
    """
    name = options.features or ("none" if options.learner == "hmm" else "chunking" if n_columns > 1 else "pos")
    if name == "none":
        return None
    if name == "ner":
        return ner(gazetteers=gazetteers(options) or None, pos=1 if n_columns > 1 else None)
    if name in PRESETS:
        return templates.PRESETS[name]()
    with open(name, encoding="utf-8") as file:
        return Templates(crfpp(file.read()), padding=PADDING)


def gazetteers(options: argparse.Namespace) -> dict[str, list[str]]:
    """The names in the files of `--gazetteer`, one a line; those of files with the same name add up."""
    found: dict[str, list[str]] = {}
    for name, path in options.gazetteer:
        with open(path, encoding="utf-8") as file:
            found.setdefault(name, []).extend(line.strip() for line in file if not line.isspace())
    return found
