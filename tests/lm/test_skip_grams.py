"""Maximum-entropy models with skip-grams, against sums over the whole vocabulary."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin.lm import MaxentLM, NgramModel, State
from fastlin.lm._codec import _give_skip_grams, _take_skip_grams
from fastlin.lm._ngram_codec import take_backoff_model
from fastlin.runtime.parallel import WorkerPool
from fastlin.storage.weight_packing import Packing

pytestmark = pytest.mark.filterwarnings("ignore:.*discount.*:UserWarning")
CORPORA = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=12)
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran", "a dog", "the", "cat dog cat dog"] * 3
SHAPES = st.tuples(st.integers(2, 4), st.integers(1, 3), st.sampled_from([1, 2, (1, 2)]))


def fitted(order, skip_grams, text=TEXT, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MaxentLM(order, skip_grams=skip_grams, **options).fit(text)


def fit_of(sentences, order, skips, cutoff, workers):
    lm = MaxentLM(order, prior_variance=(5.0, 3.0, 2.0), skip_grams=skips, cutoff=cutoff)
    return lm._begin([" ".join(s) for s in sentences], lm._variances(), workers)


def features_of(fit):
    """The features of the weights in their order: n-grams as tuples of words, skip-grams as (words between, u, w)."""
    model, names = fit.start, fit.start.vocabulary.names
    grams = [[(name,) for name in names]]
    for n in range(1, model.order):
        grams.append([(*grams[-1][h], names[w]) for h, w in zip(model.histories(n), model.words[n], strict=True)])
    skips = [(between, names[u], names[w]) for between, u, w in fit._pairs.triples()]
    return [*grams[0][1:], *itertools.chain(*grams[1:])], skips


class Brute:
    """f and its gradient, with features as dictionaries and every sum over the vocabulary written out."""

    def __init__(self, sentences, order, skips, words):
        self.words, self.order, self.skips = words, order, skips
        self.events = []
        for sentence in sentences:
            padded = ["<s>", *sentence, "</s>"]
            self.events += [(tuple(padded[:place]), padded[place]) for place in range(1, len(padded))]

    def active(self, history, word):
        for n in range(self.order):
            if n <= len(history):
                yield (*history[len(history) - n :], word)
        for k in range(1, self.skips + 1):
            if len(history) > k:
                yield (k, history[-k - 1], word)

    def probabilities(self, theta, history):
        scores = {w: sum(theta.get(f, 0.0) for f in self.active(history, w)) for w in self.words}
        z = math.fsum(math.exp(score) for score in scores.values())
        return {w: math.exp(score) / z for w, score in scores.items()}

    def evaluate(self, theta):
        loss, difference = 0.0, dict.fromkeys(theta, 0.0)
        for history, word in self.events:
            p = self.probabilities(theta, history)
            loss -= math.log(p[word])
            for other, share in p.items():
                for f in self.active(history, other):
                    if f in difference:
                        difference[f] += share - (other == word)
        return loss, difference


@given(CORPORA, SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([0.5, 4.0]))
def test_value_and_gradient_are_those_of_sums_over_the_vocabulary(sentences, shape, seed, size):
    order, skips, cutoff = shape
    with WorkerPool(1) as workers:
        fit = fit_of(sentences, order, skips, cutoff, workers)
        grams, pairs = features_of(fit)
        theta = size * np.random.default_rng(seed).normal(size=len(fit.theta))
        gradient = np.empty(len(theta))
        value = fit.objective.value(theta, gradient)
        prior, pseudo = fit.objective.prior, fit.orders[0].observed
    features = [*grams, *pairs]
    assert len(features) == len(theta) == len(set(features))
    words = [gram[0] for gram in grams if len(gram) == 1]
    brute = Brute(sentences, order, skips, words)
    weights = dict(zip(features, theta, strict=True))
    loss, difference = brute.evaluate(weights)
    seen = {word for _, word in brute.events}
    p = brute.probabilities({f: w for f, w in weights.items() if len(f) == 1}, ())
    for place, word in enumerate(words):  # as often as the start expects it
        if word not in seen:
            loss -= pseudo[1 + place] * math.log(p[word])
            for other, share in p.items():
                difference[other,] += pseudo[1 + place] * (share - (other == word))
    off = theta - prior.mean
    assert value == pytest.approx(loss + 0.5 * float(prior.precision @ off**2), rel=1e-9)
    wanted = np.array([difference[f] for f in features]) + prior.precision * off
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)


@given(CORPORA, st.integers(2, 3), st.integers(1, 3), st.integers(1, 2))
def test_pairs_are_those_that_were_seen(sentences, order, skips, cutoff):
    with WorkerPool(1) as workers:
        fit = fit_of(sentences, order, skips, cutoff, workers)
    _, pairs = features_of(fit)
    counts = {}
    for sentence in sentences:
        padded = ["<s>", *sentence, "</s>"]
        for k, place in itertools.product(range(1, skips + 1), range(len(padded))):
            if place > k:
                pair = (k, padded[place - k - 1], padded[place])
                counts[pair] = counts.get(pair, 0) + 1
    assert dict(zip(pairs, fit._observed, strict=True)) == {p: c for p, c in counts.items() if c >= cutoff}


@given(CORPORA, SHAPES, st.lists(st.sampled_from("abcdz"), max_size=5), st.sampled_from([1e-6, 1.0, 1e4]))
def test_probabilities_sum_to_one_and_agree(sentences, shape, context, variance):
    order, skips, cutoff = shape
    text = [" ".join(s) for s in sentences]
    model = fitted(order, skips, text, prior_variance=variance, max_iter=5, cutoff=cutoff)
    for state in (model.start(), State(model._state(context))):
        p = model.next_word(state)
        assert p.sum() == pytest.approx(1, abs=2e-5)
        for word, probability in zip(model.words_, p, strict=True):
            assert math.log(max(probability, 1e-300)) == pytest.approx(model.advance(state, word)[0], abs=1e-4)
    tokens = next(iter(model._blocks([" ".join(context)])))
    state, found = model.start(), []
    for word in [*context, "</s>"]:
        log_prob, state = model.advance(state, word)
        found.append(log_prob)
    np.testing.assert_allclose(model._word_model.score(tokens)[0][1:], found, atol=1e-5)


@pytest.mark.parametrize(("order", "skips", "states"), [(2, 1, 2), (3, 1, 2), (3, 2, 3), (5, 1, 4)])
def test_states_hold_the_words_that_count_and_no_others(order, skips, states):
    model = fitted(order, skips)
    state = model.start()
    for word in ["cat", "dog", "cat", "dog", "the", "cat", "dog", "a"]:
        _, state = model.advance(state, word)
    assert len(state) == 1 + states
    other = model.start()
    for word in ["a", "a", "ran", "ran", *["the", "cat", "dog", "a"][-states:]]:
        _, other = model.advance(other, word)
    assert state == other
    assert hash(state) == hash(other)


@pytest.mark.parametrize(("order", "skips"), [(2, 1), (3, 1), (3, 2), (4, 1)])
def test_the_optimum_is_one_and_its_moments_match(order, skips):
    models = [fitted(order, skips, solver=solver, tol=1e-9, max_iter=5000) for solver in ("lbfgs", "cg", "gd")]
    assert all(model.converged_ for model in models)
    values = [model.objective_ for model in models]
    assert max(values) <= min(values) * (1 + 1e-6)
    assert models[0].history_[0]["objective"] == pytest.approx(fitted(order, 0, tol=1e9).objective_)
    assert values[0] < fitted(order, 0, tol=1e-9, max_iter=5000).objective_
    largest = max(np.abs(part).max() for part in models[0].weights_)
    assert models[0].certificate_["moment_gap"] <= largest / 1 + 1e-3  # |θ|/σ², σ² being at least 1


def test_pairs_stand_beside_their_weights():
    generator = np.random.default_rng(0)
    text = [f"{'ab'[k]} w{generator.integers(30)} {'xy'[k]}" for k in generator.integers(0, 2, 300)]
    model = fitted(2, 1, text)
    weights = dict(zip(model.skip_grams_, model.weights_[-1], strict=True))
    assert ("a", 1, "y") not in weights
    assert weights["a", 1, "x"] == pytest.approx(max(weights.values()), rel=0.3)
    with pytest.raises(AttributeError, match="skip_grams="):
        fitted(2, 0).skip_grams_  # noqa: B018


def test_skip_grams_tell_what_n_grams_cannot():
    generator = np.random.default_rng(0)
    text = [f"{'ab'[k]} w{generator.integers(300)} {'xy'[k]}" for k in generator.integers(0, 2, 600)]
    train, test = text[:300], text[300:]
    with_skips, without = fitted(3, 1, train), fitted(3, 0, train)
    assert with_skips.perplexity(test) < 0.9 * without.perplexity(test)


def test_a_saved_model_answers_the_same(tmp_path):
    model = fitted(3, 2)
    fastlin.save(model, tmp_path / "model")
    loaded = fastlin.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.score_samples(TEXT), model.score_samples(TEXT))
    np.testing.assert_array_equal(loaded.next_word("the cat"), model.next_word("the cat"))
    for ours, theirs in zip(loaded.weights_, model.weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pairs", lambda starts, words, weights: [starts, np.zeros_like(words), weights]),
        ("pairs", lambda starts, words, weights: [starts, words[::-1].copy(), weights]),
        ("pairs", lambda starts, words, weights: [starts, words + np.int32(10**6), weights]),
        ("pairs", lambda starts, words, weights: [starts, words, np.full_like(weights, np.nan)]),
        ("pairs", lambda starts, words, weights: [starts, words, np.full_like(weights, 800.0)]),
        ("pairs", lambda starts, words, weights: [starts[:-1], words, weights]),
        ("pairs", lambda starts, words, weights: [starts, words.astype(np.int64), weights]),
        ("pairs", lambda starts, words, weights: [starts, words, weights[:-1]]),
        ("n_distances", lambda *_: 2**31),
        ("n_distances", lambda *_: 0),
        ("n_distances", lambda *_: True),
        ("ngrams", lambda *_: take_backoff_model(NgramModel(1).fit(TEXT)._backoff_model, Packing())),
    ],
)
def test_models_of_a_hostile_author_are_refused(name, change):
    state = _take_skip_grams(fitted(3, 1)._word_model, Packing())
    assert _give_skip_grams(state).order == 3
    state[name] = change(*state["pairs"])
    with pytest.raises(ValueError, match=r"skip-grams|n_distances"):
        _give_skip_grams(state)


def test_a_fit_that_is_resumed_has_the_same_bits_and_threads_change_none(tmp_path):
    class Stop(Exception):
        pass

    def stop(model, record):
        if record["iteration"] == 4:
            raise Stop

    whole = fitted(3, 1, tol=1e-6)
    with pytest.raises(Stop):
        MaxentLM(3, skip_grams=1, tol=1e-6, callback=stop).fit(TEXT, checkpoint=tmp_path / "fit", checkpoint_interval=0)
    resumed = MaxentLM(3, skip_grams=1, tol=1e-6).fit(
        TEXT, checkpoint=tmp_path / "fit", checkpoint_interval=0, resume=True
    )
    threads = fitted(3, 1, tol=1e-6, n_jobs=2)
    for other in (resumed, threads):
        for ours, theirs in zip(other.weights_, whole.weights_, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_validation_data_choose_the_prior():
    model = fitted(3, 1, TEXT[:14]).fit(TEXT[:14], X_val=TEXT[14:])
    assert min(trial["perplexity"] for trial in model.tuning_) <= model.tuning_[0]["perplexity"]


def test_what_it_cannot_do_is_said(tmp_path):
    for options, message in [
        ({"classes": 6}, "exclude each other"),
        ({"order": 1}, "order of at least 2"),
        ({"solver": "newton"}, "solvers auto, lbfgs, cg, gd"),
        ({"skip_grams": -1}, "skip_grams must be at least 0"),
        ({"skip_grams": 63}, "skip_grams must be at most 62"),
    ]:
        with pytest.raises(ValueError, match=message):
            MaxentLM(**({"skip_grams": 1} | options)).fit(TEXT)
    with pytest.raises(TypeError, match="skip_grams"):
        MaxentLM(skip_grams=1.5).fit(TEXT)
    model = fitted(3, 1)
    with pytest.raises(AttributeError, match="no ARPA file"):
        model.to_arpa(tmp_path / "lm.arpa")
    assert NgramModel(2).fit(TEXT).n_grams_
