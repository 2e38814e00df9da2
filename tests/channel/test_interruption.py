"""Work of channels that takes long ends with the job that it is a part of: Ctrl-C does not wait for other threads."""

from functools import cache, partial

import numpy as np
import pytest

from fastlin.channel import EditChannel, LexicalChannel, NoisyChannel, SpellingCorrector
from fastlin.engine.core.interruption import WatchedFlag
from fastlin.lm import Cache, Interpolation, NgramModel
from support.estimators import interrupted_after

SENTENCES = ["the cat sat on the mat", "the dog sat", "a cat ran", "a dog ran on the mat"]
PAIRS = [("the", "teh"), ("cat", "cta"), ("sat", "st"), ("a", "a"), ("mat", "maat")] * 3
LONG = "abcde" * 200, "edcba" * 200
QUERIES = [f"c{a}{b}t" for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]


@cache
def edits():
    return EditChannel(tol=1e3).fit(PAIRS)


@cache
def source(**parameters):
    return NgramModel(2, smoothing="witten_bell", **parameters).fit(SENTENCES)


def mixture():
    return Interpolation([source(), Cache(3)], [0.6, 0.4])


def corrector(**parameters):
    return SpellingCorrector(min_count=1, smoothing="witten_bell", **parameters).fit(SENTENCES)


WORK = {
    "scores of long words": lambda: partial(edits().log_proba, [LONG[0]], [LONG[1]]),
    "a fit to long words": lambda: partial(EditChannel().fit, [LONG]),
    "words decoded in the engine": lambda: partial(NoisyChannel(source(), edits()).decode, ["teh cta st " * 20_000]),
    "the n best sources": lambda: partial(NoisyChannel(source(), edits()).decode, ["teh cta st"], 2),
    "a mixture as a source": lambda: partial(NoisyChannel(mixture(), edits()).decode, ["teh cta st"]),
    "strings of characters": lambda: partial(NoisyChannel(source(unit="character"), edits()).decode, ["teh"]),
    "candidates of many words": lambda: partial(corrector().correct_words, QUERIES),
    "a text": lambda: partial(corrector().correct, "teh cta st on teh mat " * 20_000),
    "whole sentences": lambda: partial(LexicalChannel(tol=1e3).fit([("a b", "c d")]).decode, ["c d"], source()),
}


@pytest.mark.parametrize("prepared", WORK.values(), ids=WORK)
def test_it_ends_with_its_job(prepared):
    work = prepared()
    with WatchedFlag(np.ones(1, np.int32)), pytest.raises(InterruptedError):
        work()


@pytest.mark.timing
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_scoring_of_long_words(n_jobs):
    channel = EditChannel(tol=1e3, n_jobs=n_jobs).fit(PAIRS)
    words = ["".join(np.random.default_rng(seed).choice(list("aehmstc"), 1900)) for seed in range(40)]
    assert interrupted_after(0.5, lambda: channel.log_proba(words, words[::-1])) < 0.5


@pytest.mark.timing
@pytest.mark.parametrize("n_best", [1, 5])
def test_ctrl_c_ends_the_decoding_of_many_sentences_in_other_threads(n_best):
    channel = NoisyChannel(source(), edits(), beam=500, n_jobs=2, keep_unknown=True)
    X = [" ".join(QUERIES[:40] + ["teh", "cta"] * 20)] * 2000
    assert interrupted_after(1.0, lambda: channel.decode(X, n_best)) < 0.5
