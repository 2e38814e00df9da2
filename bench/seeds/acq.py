"""Is this Reuters story about an acquisition?

Category ``acq`` of Reuters-21578, ModApte split: 9,603 stories to learn from, 3,299 to be judged on,
once. The split is by date, so the development part is the last fifth of the training stories; what was
chosen there is learnt again from all of them.

A story is read three times: all of its words, its headline (words and pairs of them) and the first words
after the headline. Each reading is a block of columns of its own.
"""

from __future__ import annotations

from common import (
    Matrices,
    Parts,
    Question,
    decide,
    draw_curve,
    read,
    report,
    save,
)  # before numpy: it sets the threads

# isort: split
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from fastlin import LogisticRegression
from fastlin.select import SelectFeatures

CATEGORY = "acq"
DEV_SHARE = 5  # one training story in five
SELECTED = 356
SELECTION_CUTOFF = 5
OPENING = 25  # words of the body that are read once more

TOKEN = re.compile(r"[a-z]+(?:['&-][a-z]+)*|\d[\d.,/]*|[<>$%]")
HEADLINE = re.compile(r"(?:[^a-z]*(?:\s|$))?")  # up to the first word with a small letter


def load(part: str) -> tuple[list[str], np.ndarray]:
    """Stories, and 1 where the category is among the labels."""
    lines = read("reuters21578", f"{part}.tsv.gz")
    return [text for _, text in lines], np.array([int(CATEGORY in labels.split(",")) for labels, _ in lines])


def parts() -> tuple[Parts, Parts]:
    """The earlier training stories judged on the later ones, and all of them judged on the test part."""
    stories, y = load("train")
    early = len(stories) - len(stories) // DEV_SHARE
    return Parts(stories[:early], y[:early], stories[early:], y[early:]), Parts(stories, y, *load("test"))


def tokens(text: str) -> list[str]:
    """Words in small letters; every number is #."""
    return ["#" if token[0].isdigit() else token for token in TOKEN.findall(text.lower())]


def headline(story: str) -> list[str]:
    found = tokens(HEADLINE.match(story)[0])
    return found + [f"{first} {second}" for first, second in pairwise(found)]


def opening(story: str) -> list[str]:
    return tokens(HEADLINE.sub("", story, count=1))[:OPENING]


READINGS: tuple[Callable[[str], list[str]], ...] = (tokens, headline, opening)


def read_three_times(stories: Sequence[str], _y: np.ndarray, held_out: Sequence[str], cutoff: int = 1) -> Matrices:
    """A block of columns a reading, tf-idf of norm 1, for what is in at least ``cutoff`` training stories."""
    blocks = []
    for reading in READINGS:
        vectoriser = TfidfVectorizer(analyzer=reading, min_df=cutoff, sublinear_tf=True)
        blocks.append((vectoriser.fit_transform(stories), vectoriser.transform(held_out)))
    learnt, judged = (sparse.hstack(each, format="csr") for each in zip(*blocks, strict=True))
    return learnt, judged


def maxent(C: float) -> LogisticRegression:
    return LogisticRegression(C=C, random_state=0)


def selector(method: str = "greedy") -> SelectFeatures:
    return SelectFeatures(SELECTED, method=method, C=3.0)


def selected(C: float, method: str = "greedy") -> Any:
    """A model of `SELECTED` features alone: those of greedy induction, or the best by a score of their own."""
    return make_pipeline(selector(method), maxent(C))


QUESTIONS = (
    Question(
        "default",
        read_three_times,
        maxent,
        "95.5 % (2,350 features, 15 min)",
        goal=97.0,
        feature_settings=[{"cutoff": cutoff} for cutoff in (2, 3, 5)],
        Cs=(1.0, 3.0, 10.0, 30.0, 100.0),
    ),
    Question(
        "selected: by information gain",
        read_three_times,
        partial(selected, method="information_gain"),
        "",
        feature_settings=[{"cutoff": SELECTION_CUTOFF}],
        Cs=(1.0, 3.0, 10.0, 30.0),
    ),
    Question(
        "selected: greedy",
        read_three_times,
        selected,
        "95.8 % (356 features, 15 h)",
        goal=96.5,
        feature_settings=[{"cutoff": SELECTION_CUTOFF}],
        Cs=(1.0, 3.0, 10.0, 30.0),
    ),
)


def main() -> None:
    dev, test = parts()
    results = [decide(question, dev, test) for question in QUESTIONS]
    report("acq: 9,603 stories, chosen on the last fifth, judged once on test", results)
    curve = draw_curve("acq-selection", QUESTIONS[-1], {"cutoff": SELECTION_CUTOFF}, selector(), dev)
    save("acq", {"models": results, "selection": curve})


if __name__ == "__main__":
    main()
