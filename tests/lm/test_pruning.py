"""Pruned models: fewer n-grams, distributions that sum to one, and of Stolcke's two the divergence by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.lm import NgramModel
from support.language_models import ALL, CORPUS, SENTENCES, quiet, random_corpus


@given(SENTENCES, st.sampled_from(ALL), st.integers(2, 5), st.booleans(), st.floats(1e-6, 0.3),
       st.lists(st.sampled_from("abcz"), max_size=5))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_pruned_distributions_sum_to_one(sentences, smoothing, order, interpolate, threshold, context):
    model = quiet(order, smoothing, sentences, interpolate=interpolate)
    before = model.n_grams_
    model.prune(threshold)
    assert all(after <= n for after, n in zip(model.n_grams_, before, strict=True))
    for words in (context, ["<s>", *context]):
        p = model.next_word(words)
        np.testing.assert_allclose(p.sum(dtype=np.float64), 1, atol=2e-5)
    with pytest.raises(ValueError, match="pruned"):
        model.partial_fit(sentences)


def test_the_divergence_is_that_of_brute_force():
    """Of one bigram: p(h) Σ_w p(w|h) ln p(w|h)/p′(w|h), where p′ is the model without it."""
    sentences = [sentence for sentence in random_corpus(4, 60) if sentence]
    model = quiet(2, "witten_bell", sentences)
    start = model._backoff_model
    from fastlin.lm.pruning import _divergence, pruned

    log_history = start.log_prob[0].astype(float)
    log_history[0] = 0
    found = _divergence(start, 1, log_history)
    histories = start.histories(1)
    for place in range(0, len(found), 37):
        keep = np.ones(len(found), bool)
        keep[place] = False
        smaller = pruned(start, [None, keep])
        history = int(histories[place])
        p = np.exp(start.next_word((history,)).astype(float))
        without = np.exp(smaller.next_word((history,)).astype(float))
        weight = 1.0 if history == 0 else math.exp(start.log_prob[0][history])
        assert found[place] == pytest.approx(weight * (p * np.log(p / without)).sum(), rel=0.02, abs=1e-8)


def test_more_is_left_out_and_perplexity_rises():
    sentences, held_out = random_corpus(5, 500), random_corpus(6, 100)
    sizes, costs = [], []
    for threshold in (0, 1e-6, 1e-4, 1e-2, 10):
        model = quiet(3, "witten_bell", sentences).prune(threshold)
        sizes.append(sum(model.n_grams_))
        costs.append(model.perplexity(sentences))
    assert sizes == sorted(sizes, reverse=True)
    assert costs[-1] > costs[0]
    unigrams = quiet(1, "witten_bell", sentences)
    assert sizes[-1] == unigrams.n_grams_[0]
    assert model.perplexity(held_out) == pytest.approx(unigrams.perplexity(held_out), rel=1e-5)


def test_by_count():
    sentences = random_corpus(7, 300)
    model = quiet(3, sentences)
    counts = model.counts_.counts
    model.prune(min_count=[1, 2])
    assert model.n_grams_ == [len(counts[0]), len(counts[1]), np.count_nonzero(counts[2] >= 2)]
    np.testing.assert_allclose(model.next_word(["w1", "w2"]).sum(dtype=float), 1, atol=1e-5)
    cut = quiet(3, sentences, cutoff=[1, 2])
    assert cut.n_grams_ == model.n_grams_


@pytest.mark.parametrize("options", [{}, {"threshold": 0.1, "min_count": 2}, {"threshold": -1}, {"min_count": [2, 1]}])
def test_what_cannot_be_pruned(options):
    with pytest.raises(ValueError, match=r"threshold|min_count"):
        quiet(2, CORPUS).prune(**options)


def test_pruning_twice_and_writing(tmp_path):
    model = quiet(4, "witten_bell", random_corpus(8, 300)).prune(1e-3)
    model.prune(1e-2)
    model.to_arpa(tmp_path / "x")
    again = NgramModel.from_arpa(tmp_path / "x")
    assert again.n_grams_ == model.n_grams_
    X = random_corpus(9, 30)
    np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), rtol=1e-5)
