"""Models with one of 256 probabilities for each n-gram: they sum to one, and stay small in memory."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastlin
from fastlin.engine.lm.smoothing import round_codes
from fastlin.lm import MaxentLM, NgramModel
from fastlin.lm.backoff import CODES, CodedLogarithms
from fastlin.lm.quantization import _codebook, coded
from fastlin.storage import ModelFileError, read_archive
from support.language_models import ALL, SENTENCES, quiet, random_corpus
from support.tampering import forge_model

pytestmark = pytest.mark.filterwarnings("ignore:too few counts")


def wide_corpus(n=900):
    """Of so many words that most of them are unknown after most histories."""
    words = (3000 * np.random.default_rng(0).random((n, 9)) ** 3).astype(int)
    return [[f"w{word}" for word in row] for row in words]


@given(SENTENCES, st.sampled_from(ALL), st.integers(2, 4), st.booleans(),
       st.lists(st.sampled_from("abcz"), max_size=4))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_distributions_sum_to_one_however_few_probabilities(sentences, smoothing, order, interpolate, context):
    """Two values for each order: as coarse as can be."""
    model = quiet(order, smoothing, sentences, interpolate=interpolate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastlin.lm.quantization.CODES", 2)
        found = coded(model._backoff_model)
    if found is None:
        return
    found = dataclasses.replace(found, log_prob=list(found.log_prob))
    for words in (context, ["<s>", *context]):
        state = found.state_after(model._numbers(words[words[:1] == ["<s>"] :]), words[:1] == ["<s>"])
        p = found.next_probabilities(state)
        np.testing.assert_allclose(p.sum(dtype=np.float64), 1, atol=2e-5)


@pytest.mark.parametrize("smoothing", ["modified_kneser_ney", "witten_bell", "katz"])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_a_file_of_bytes_sums_to_one_and_loses_little(smoothing, order, tmp_path):
    sentences = wide_corpus()
    model = quiet(order, smoothing, sentences[:800])
    fastlin.save(model, tmp_path / "x", dtype="int8")
    again = fastlin.load(tmp_path / "x")
    assert isinstance(again._backoff_model.log_prob, CodedLogarithms)
    for context in ([], ["<s>"], *sentences[750:850]):
        np.testing.assert_allclose(again.next_word(context[:4]).sum(dtype=np.float64), 1, atol=5e-6)
    assert again.perplexity(sentences[800:]) == pytest.approx(model.perplexity(sentences[800:]), rel=0.01)
    assert again.perplexity(sentences[:800]) == pytest.approx(model.perplexity(sentences[:800]), rel=0.01)


def test_a_maximum_entropy_model_in_bytes(tmp_path):
    sentences = wide_corpus(300)
    model = MaxentLM(3).fit(sentences)
    fastlin.save(model, tmp_path / "x", dtype="int8")
    again = fastlin.load(tmp_path / "x")
    assert isinstance(again._backoff_model.log_prob, CodedLogarithms)
    np.testing.assert_allclose(again.next_word(sentences[0][:2]).sum(dtype=np.float64), 1, atol=5e-6)
    assert again.perplexity(sentences) == pytest.approx(model.perplexity(sentences), rel=0.01)


def test_codes_stay_codes_in_memory_and_in_files(tmp_path):
    model = quiet(4, wide_corpus())
    fastlin.save(model, tmp_path / "x", dtype="int8")
    again = fastlin.load(tmp_path / "x")
    logarithms = again._backoff_model.log_prob
    assert [codes is None for codes in logarithms.codes] == [True, False, False, False]
    assert not any(codes.flags.owndata or codes.flags.writeable for codes in logarithms.codes[1:])
    assert logarithms.sizes == again.n_grams_ == model.n_grams_
    fastlin.save(again, tmp_path / "y")
    twice = fastlin.load(tmp_path / "y")._backoff_model.log_prob
    assert [codes.tobytes() for codes in twice.codes[1:]] == [codes.tobytes() for codes in logarithms.codes[1:]]
    assert again._backoff_model.queries.n_tables == 0
    X = wide_corpus() * 3
    again.score_samples(X)
    assert again._backoff_model.queries.n_tables == 0


def test_a_model_of_codes_answers_as_the_same_numbers_do(tmp_path):
    sentences = wide_corpus()
    model = NgramModel(4).fit(sentences)
    fastlin.save(model, tmp_path / "x", dtype="int8")
    one = fastlin.load(tmp_path / "x")
    found = one._backoff_model
    wide = dataclasses.replace(found, log_prob=list(found.log_prob))
    other = fastlin.load(tmp_path / "x")
    other._state_of_fit = dataclasses.replace(other._learnt, model=wide)
    X = [*random_corpus(0, 20), *sentences[:200], ["zebra", *sentences[3]]]
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(X))
    states = [one._state(sentence[:3]) for sentence in X]
    words = [sentence[3] if len(sentence) > 3 else "</s>" for sentence in X]
    np.testing.assert_array_equal(one.advance_many(states, words)[0], other.advance_many(states, words)[0])
    for state in states[:30]:
        np.testing.assert_array_equal(one.next_word(state), other.next_word(state))
    one.to_arpa(tmp_path / "one")
    other.to_arpa(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert one.prune(1e-4).n_grams_ == other.prune(1e-4).n_grams_


@pytest.mark.parametrize(("options"), [{"smoothing": "relative_frequency"}, {"unk": None, "unit": "character"}])
def test_a_model_that_leaves_nothing_to_others_keeps_its_numbers(options, tmp_path):
    text = ["".join(np.random.default_rng(seed).choice(list("ab"), 400)) for seed in range(9)]
    model = quiet(3, text, **options)
    fastlin.save(model, tmp_path / "x", dtype="int8")
    again = fastlin.load(tmp_path / "x")
    np.testing.assert_array_equal(again.score_samples(text), model.score_samples(text))


def test_a_codebook_has_the_nearest_values():
    values = np.random.default_rng(0).normal(-5, 2, 5000).clip(max=0).astype(np.float32)
    centres, codes = _codebook(values)
    assert len(centres) == CODES
    assert (np.diff(centres) >= 0).all()
    distance = np.abs(values[:, np.newaxis] - centres)
    np.testing.assert_allclose(distance[np.arange(len(values)), codes], distance.min(axis=1), atol=1e-6)
    evenly = np.ptp(values) / CODES / np.sqrt(12)
    assert np.sqrt(np.square(values - centres[codes]).mean()) < evenly
    few = np.repeat(np.float32([-3, -2, -0.5]), 200)
    centres, codes = _codebook(few)
    np.testing.assert_array_equal(centres[codes], few)


def test_sums_come_as_near_as_half_a_step_and_something_is_left():
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 6, 400)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    histories = np.repeat(np.arange(400), sizes)
    p = rng.uniform(0.1, 1, len(histories))
    p *= (rng.uniform(0.3, 0.9, 400) / np.maximum(np.bincount(histories, p, 400), 1e-9))[histories]
    centres = np.linspace(0.001, 1.0, 64)
    nearest = np.abs(p[:, np.newaxis] - centres).argmin(axis=1).astype(np.uint8)
    codes = nearest.copy()
    assert round_codes(starts, p, centres, codes)
    wanted, before, after = (np.bincount(histories, each, 400) for each in (p, centres[nearest], centres[codes]))
    assert np.abs(after - wanted).max() <= 0.5 * np.diff(centres).max() + 1e-12 < np.abs(before - wanted).max()
    assert np.abs(codes.astype(int) - nearest).max() == 1
    near_one = np.array([0, 2], np.int32), np.array([0.499, 0.5])
    codes = np.array([1, 1], np.uint8)
    assert round_codes(*near_one, np.array([0.3, 0.502]), codes)
    assert codes.tolist() == [0, 1]
    full = np.ones(2)
    assert not round_codes(np.array([0, 2], np.int32), 0.45 * full, np.array([0.9, 0.95]), np.zeros(2, np.uint8))


def test_codes_of_a_hostile_author_are_refused(tmp_path):
    fastlin.save(quiet(2, wide_corpus(400)), tmp_path / "x", dtype="int8")
    header, whole = read_archive(tmp_path / "x", "model", mmap=False)
    codes = next(name for name, array in whole.items() if array.dtype == np.uint8 and "codes" in name)
    values = codes.replace("codes", "values")
    assert len(whole[values]) == CODES
    nan = whole[values].copy()
    nan[7] = np.nan
    for name, wrong in (
        (codes, whole[codes][:-1]),
        (codes, whole[codes].astype(np.int8)),
        (values, whole[values][:255]),
        (values, -whole[values] + 1),
        (values, nan),
    ):
        forge_model(tmp_path / "y", header, whole | {name: wrong})
        with pytest.raises(ModelFileError):
            fastlin.load(tmp_path / "y")
