"""Strings of characters: what is decoded is the best of all strings, what is scored their sum, over all alignments."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.channel import EditChannel, NoisyChannel
from fastlin.lm import NgramModel
from oracles.channel import Edits, log_sum

TEXT = ["abab", "ab", "ba", "aab", "bbaab", "b", ""]
LM = NgramModel(2, unit="character", smoothing="witten_bell").fit(TEXT)
CHANNEL = EditChannel(max_edits=1, max_iter=2, tol=1e9).fit(
    [("ab", "ba"), ("ab", "abb"), ("ba", "b"), ("bb", "ba"), ("a", "a")]
)


def most_dropped(parts):
    """The most characters of the source in a row, until the next one is observed, that leave no trace."""
    runs = itertools.groupby(parts, key=lambda part: part[1] == "")
    return max((len(list(run)) for dropped, run in runs if dropped), default=0)


def every_source(observed, channel, lm, weight):
    """(ln p, source) of every string that may have become what is observed, best first."""
    twin, found = Edits.of(channel._learnt), []
    longest = (channel.max_edits + 1) * (len(observed) + 1)
    for n in range(longest + 1):
        for source in map("".join, itertools.product("ab", repeat=n)):
            ways = [p for p, parts, _ in twin.alignments(source, observed) if most_dropped(parts) <= channel.max_edits]
            if ways:
                source_p = weight * float(lm.score_samples([source])[0])
                found.append((source_p + math.log(math.fsum(ways)), source))
    return sorted(found, key=lambda one: -one[0])


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("observed", ["", "a", "c", "ab", "ba", "bb", "ca"])
def test_without_a_beam_decoding_is_the_best_of_all_strings_and_scoring_their_sum(observed, weight):
    noisy = NoisyChannel(LM, CHANNEL, beam=None, source_weight=weight)
    wanted = every_source(observed, CHANNEL, LM, weight)
    found = noisy.decode([observed], 10_000)[0]
    assert len(found) == len(wanted)
    np.testing.assert_allclose([one.log_prob for one in found], [p for p, _ in wanted], atol=1e-5)
    scores = {source: p for p, source in wanted}
    for one in found[:20]:
        assert one.log_prob == pytest.approx(scores["".join(one.words)], abs=1e-5)
    assert noisy.score_samples([observed])[0] == pytest.approx(log_sum(p for p, _ in wanted), abs=1e-5)
    assert noisy.decode([observed])[0].log_prob == found[0].log_prob


@pytest.mark.timing
def test_without_a_beam_more_sources_than_can_be_kept_are_refused():
    """Of 27 characters, two of which may leave no trace before each that is observed, there are 27⁹ for three."""
    lm = NgramModel(3, unit="character", smoothing="witten_bell").fit(["the quick brown fox jumps over a lazy dog"])
    channel = EditChannel(max_edits=2, max_iter=2, tol=1e9).fit([("the", "teh"), ("fox", "fxo")])
    before = time.process_time()
    for ask in (NoisyChannel(lm, channel, beam=None).decode, NoisyChannel(lm, channel, beam=None).score_samples):
        with pytest.raises(ValueError, match=r"beam must be a number .*, got None: more than 262,144 beginnings"):
            ask(["teh"])
    assert time.process_time() - before < 60
    assert "".join(NoisyChannel(lm, channel, beam=50).decode(["teh"])[0].words) == "the"


@pytest.mark.parametrize("most", [2, 5, 10])
def test_what_is_refused_without_a_beam_is_the_number_of_beginnings_kept(monkeypatch, most):
    """All that are kept at a place of a string, and all that come to be kept by a step."""
    monkeypatch.setattr("fastlin.channel.string_search.MOST_PREFIXES", most)
    with pytest.raises(ValueError, match=f"beam must be .* more than {most} beginnings"):
        NoisyChannel(LM, CHANNEL, beam=None).decode(["abab"])
    assert NoisyChannel(LM, CHANNEL, beam=20).decode(["abab"])[0].log_prob > -math.inf


@given(st.lists(st.text("abc", max_size=6), max_size=3))
@settings(max_examples=30, deadline=None)
def test_a_beam_finds_sources_with_no_more_than_their_scores(observed):
    noisy = NoisyChannel(LM, CHANNEL, beam=4)
    for text, found in zip(observed, noisy.decode(observed, 3), strict=True):
        for one in found:
            source = "".join(one.words)
            most = LM.score_samples([source])[0] + CHANNEL.log_proba([source], [text])[0]
            assert one.log_prob <= most + 1e-5
    assert NoisyChannel(LM, CHANNEL, beam=4, n_jobs=3).decode(observed) == noisy.decode(observed)


def test_a_text_of_characters_is_mended():
    text = ["the cat sat on the mat", "the dog ran to the cat", "a cat and a dog ran"] * 5
    pairs = [("the", "teh"), ("cat", "cta"), ("dog", "dgo"), ("mat", "matt"), ("sat", "st"), ("on the", "on the")] * 5
    lm, channel = NgramModel(5, unit="character", smoothing="witten_bell").fit(text), EditChannel().fit(pairs)
    noisy = NoisyChannel(lm, channel, beam=20)
    assert ["".join(one.words) for one in noisy.decode(["teh cta st on the matt", "teh dgo ran", ""])] == [
        "the cat sat on the mat", "the dog ran", "",
    ]  # fmt: skip


def test_a_backward_source_of_characters_is_refused():
    lm = NgramModel(2, unit="character", direction="backward", smoothing="witten_bell").fit(TEXT)
    with pytest.raises(ValueError, match="forward"):
        NoisyChannel(lm, CHANNEL).decode(["ab"])
    with pytest.raises(TypeError, match="list of sentences"):
        NoisyChannel(LM, CHANNEL).decode("ab")


@pytest.mark.parametrize("odd", ["\0", "\ud800", "\U0001f600"])
def test_characters_are_whatever_there_are(odd):
    lm = NgramModel(2, unit="character", smoothing="witten_bell").fit([f"a{odd}b", "ab"] * 3)
    channel = EditChannel(max_iter=1, tol=1e9).fit([(f"a{odd}", f"{odd}a"), ("ab", "ab")])
    assert "".join(NoisyChannel(lm, channel).decode([f"{odd}ab"])[0].words) == f"a{odd}b"
    assert np.isfinite(NoisyChannel(lm, channel).score_samples(["\U0001f601x"])).all()
