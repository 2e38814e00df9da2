"""Maximum-entropy n-gram models, against sums over the whole vocabulary."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fastlin.lm import MaxentLM, NgramModel
from fastlin.runtime.parallel import WorkerPool

pytestmark = pytest.mark.filterwarnings("ignore:.*discount.*:UserWarning")
CORPORA = st.lists(st.lists(st.sampled_from("abcd"), min_size=0, max_size=6), min_size=1, max_size=12)
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran", "a dog", "the", "cat dog cat dog"] * 3


def words_of(text):
    return [sentence.split() for sentence in text]


class Brute:
    """f and its gradient with features as a dictionary, every sum over the vocabulary written out."""

    def __init__(self, sentences, order, vocabulary, variances, cutoff=1):
        self.vocabulary, self.order = vocabulary, order
        self.events, counts = [], {}
        for sentence in sentences:
            padded = ["<s>", *sentence, "</s>"]
            for place in range(1, len(padded)):
                for n in range(1, order + 1):
                    if place - n + 1 >= 0:
                        gram = tuple(padded[place - n + 1 : place + 1])
                        counts[gram] = counts.get(gram, 0) + 1
                self.events.append((tuple(padded[max(0, place - order + 1) : place]), padded[place]))
        self.counts = {gram: count for gram, count in counts.items() if len(gram) == 1 or count >= cutoff}
        self.counts |= {(word,): 0 for word in vocabulary if (word,) not in counts}
        self.variance = {gram: variances[len(gram) - 1] for gram in self.counts}

    def probabilities(self, theta, history):
        scores = {}
        for word in self.vocabulary:
            full = (*history, word)
            scores[word] = sum(theta.get(full[start:], 0.0) for start in range(len(full)))
        z = math.fsum(math.exp(score) for score in scores.values())
        return {word: math.exp(score) / z for word, score in scores.items()}

    def value(self, theta, mean):
        total = sum((theta[g] - mean.get(g, 0.0)) ** 2 / 2 / self.variance[g] for g in theta)
        expected = dict.fromkeys(self.counts, 0.0)
        for history, word in self.events:
            p = self.probabilities(theta, history)
            total -= math.log(p[word])
            for other, share in p.items():
                full = (*history, other)
                for start in range(len(full)):
                    if full[start:] in expected:
                        expected[full[start:]] += share
        return total, expected


def fit_of(model, sentences, workers):
    return model._begin([" ".join(s) for s in sentences], model._variances(), workers)


def grams_of(fit):
    """The n-grams of the weights, as strings, in their order."""
    model, names = fit.start, fit.start.vocabulary.names
    grams = [[(name,) for name in names]]
    for n in range(1, model.order):
        parents = model.histories(n)
        grams.append([(*grams[-1][h], names[w]) for h, w in zip(parents, model.words[n], strict=True)])
    return list(itertools.chain(grams[0][1:], *grams[1:]))


@given(CORPORA, st.integers(1, 4), st.integers(0, 2**32 - 1), st.integers(1, 2))
def test_value_and_gradient_are_those_of_sums_over_the_vocabulary(sentences, order, seed, cutoff):
    lm = MaxentLM(order, prior_variance=(5.0, 3.0, 2.0), cutoff=cutoff)
    with WorkerPool(1) as workers:
        fit = fit_of(lm, sentences, workers)
        grams, generator = grams_of(fit), np.random.default_rng(seed)
        theta = generator.normal(size=len(grams))
        gradient = np.empty(len(grams))
        pseudo = {gram: fit.orders[0].observed[1 + place] for place, gram in enumerate(grams) if len(gram) == 1}
        value = fit.objective.value(theta, gradient)
    vocabulary = [gram[0] for gram in grams if len(gram) == 1]
    brute = Brute(sentences, order, vocabulary, fit.variances, cutoff)
    assert set(brute.counts) == set(grams)
    weights, mean = dict(zip(grams, theta, strict=True)), dict(zip(grams, fit.mean, strict=True))
    expected_value, expected = brute.value(weights, mean)
    unseen = {gram for gram in grams if brute.counts[gram] == 0}  # as often as the start expects them
    p = brute.probabilities(weights, ())
    for gram in unseen:
        expected_value -= pseudo[gram] * math.log(p[gram[0]])
        for word, share in p.items():
            expected[word,] += pseudo[gram] * share
    assert value == pytest.approx(expected_value, rel=1e-9)
    wanted = [
        expected[g] - (pseudo[g] if g in unseen else brute.counts[g]) + (weights[g] - mean[g]) / brute.variance[g]
        for g in grams
    ]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_the_first_point_is_kneser_and_neys(order):
    start = NgramModel(order).fit(TEXT)
    with WorkerPool(1) as workers:
        fit = fit_of(MaxentLM(order), words_of(TEXT), workers)
        model = fit.model()
    for ours, theirs in zip(model.log_prob, start._backoff_model.log_prob, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    for ours, theirs, log_prob in zip(model.backoff, start._backoff_model.backoff, model.log_prob, strict=False):
        np.testing.assert_allclose(np.exp(ours), np.exp(theirs), atol=2e-5)
        assert len(ours) == len(log_prob)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("variance", [1e-3, 1.0, 100.0])
def test_at_the_optimum_moments_match(order, variance):
    model = MaxentLM(order, prior_variance=variance, tol=1e-13, max_iter=500).fit(TEXT)
    assert model.converged_
    with WorkerPool(1) as workers:
        fit = fit_of(model, words_of(TEXT), workers)
        theta, gradient = np.concatenate(model.weights_), np.empty(len(fit.theta))
        best, other = fit.objective.value(theta, gradient), np.empty(len(theta))
        generator = np.random.default_rng(0)
        for size in (1e-3, 0.1):  # a convex function: no other point is lower
            assert fit.objective.value(theta + size * generator.normal(size=len(theta)), other) > best
    assert np.abs(gradient).max() < 1e-3 / variance**0.5
    assert model.certificate_["duality_gap"] <= 1e-13


def test_the_gap_bounds_the_distance_to_the_optimum():
    optimum = MaxentLM(3, tol=1e-13, max_iter=500).fit(TEXT).objective_
    for max_iter in (1, 2, 4, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MaxentLM(3, tol=1e-13, max_iter=max_iter).fit(TEXT)
        assert 0 <= model.objective_ - optimum <= model.certificate_["duality_gap"] * model.objective_ + 1e-9


@pytest.mark.parametrize("order", [2, 3])
def test_without_a_prior_it_is_the_relative_frequency(order):
    text = ["a b a c", "b a b", "c a b a", "a a", "b c"] * 4
    model = MaxentLM(order, prior_variance=1e11, tol=0, max_iter=1500)
    with pytest.warns(ConvergenceWarning):
        model.fit(text)
    counts = NgramModel(order, smoothing="relative_frequency").fit(text)
    for history in ("a", "b", "c"):
        context = ["<s>", history][2 - min(order, 2) :] if order == 2 else ["<s>", history]
        np.testing.assert_allclose(model.next_word(context), counts.next_word(context), atol=1e-6)


@given(CORPORA, st.integers(1, 5), st.lists(st.sampled_from("abcdz"), max_size=5), st.sampled_from([1e-6, 1.0, 1e4]))
def test_probabilities_sum_to_one(sentences, order, context, variance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MaxentLM(order, prior_variance=variance, max_iter=5).fit([" ".join(s) for s in sentences])
    assert model.next_word(context).sum() == pytest.approx(1, abs=2e-5)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(n_jobs):
    generator = np.random.default_rng(0)
    text = [" ".join(f"w{int(w)}" for w in generator.zipf(1.3, size=20) % 3000) for _ in range(3000)]
    one, more = (MaxentLM(3, n_jobs=n, tol=1.0).fit(text) for n in (1, n_jobs))
    for ours, theirs in zip(one.weights_, more.weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_validation_data_choose_the_prior(tmp_path):
    generator = np.random.default_rng(0)
    text = [" ".join("abcdefgh"[w] for w in generator.integers(0, 8, size=6)) for _ in range(60)]
    model = MaxentLM(3, prior_variance=50.0).fit(text[:40], X_val=text[40:])
    assert model.prior_variance_.min() < 50  # noise teaches nothing
    best = min(trial["perplexity"] for trial in model.tuning_)
    assert best < model.tuning_[0]["perplexity"]
    assert model.perplexity(text[40:]) == pytest.approx(best, rel=0.05)


def test_a_fit_that_is_resumed_has_the_same_bits(tmp_path):
    path = tmp_path / "fit"

    class Stop(Exception):
        pass

    def stop(model, record):
        if record["iteration"] == 4:
            raise Stop

    whole = MaxentLM(3, tol=1e-8).fit(TEXT)
    with pytest.raises(Stop):
        MaxentLM(3, tol=1e-8, callback=stop).fit(TEXT, checkpoint=path, checkpoint_interval=0)
    resumed = MaxentLM(3, tol=1e-8).fit(TEXT, checkpoint=path, checkpoint_interval=0, resume=True)
    assert [r["objective"] for r in resumed.history_] == [r["objective"] for r in whole.history_]
    for ours, theirs in zip(resumed.weights_, whole.weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="data"):
        MaxentLM(3, tol=1e-8).fit(TEXT[1:], checkpoint=path, checkpoint_interval=0, resume=True)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_unknown_words_cost_no_more_than_under_kneser_ney(order):
    generator = np.random.default_rng(0)
    text = [" ".join(f"w{int(w)}" for w in generator.zipf(1.4, size=12) % 3000) for _ in range(900)]
    train, test = text[:600], text[600:]
    bits = []
    for model in (NgramModel(order).fit(train), MaxentLM(order).fit(train)):
        known = {*model.words_, "</s>"}
        unknown = np.array([word not in known for sentence in test for word in [*sentence.split(), "</s>"]])
        bits.append(model.surprisal(test).bits[unknown].mean())
    assert unknown.sum() > 100
    assert bits[1] <= bits[0] + 1e-4  # logarithms are float32


def test_closed_vocabularies_have_no_unknown_word():
    closed = MaxentLM(2, unk=None).fit(TEXT)
    assert closed.next_word(["the"]).sum() == pytest.approx(1, abs=1e-5)
    assert closed.score_samples(["zebra"])[0] == -np.inf


def test_a_callback_sees_the_model_and_may_end_the_fit(capsys):
    seen = []

    def look(model, record):
        seen.append((record["iteration"], model.perplexity(TEXT)))
        return record["iteration"] == 3

    model = MaxentLM(2, tol=0, callback=look, verbose=1).fit(TEXT)
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3]
    assert model.perplexity(TEXT) == seen[-1][1]
    assert "MaxentLM" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options, message",
    [
        ({"order": 0}, "order"),
        ({"order": 2**61}, "order"),
        ({"prior_variance": 0.0}, "prior_variance"),
        ({"prior_variance": [1.0, float("nan")]}, "prior_variance"),
        ({"prior_variance": []}, "prior_variance"),
        ({"prior_variance": float("inf")}, "prior_variance"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"cutoff": [2, 1]}, "cutoff"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MaxentLM(**options).fit(TEXT)
    with pytest.raises(ValueError, match="no sentence"):
        MaxentLM().fit([])


@pytest.mark.parametrize("classes", [None, 5])
def test_the_smallest_prior_leaves_no_weight(classes):
    text = ["the dog ran", "a dog sat", "the cat sat", "a cat ran"]
    model = MaxentLM(2, 1e-12, classes=classes).fit(text)
    assert model.converged_
    if classes is None:
        assert abs(model.weights_[1]).max() < 1e-6
        seen = [word for word in model.words_ if word != "<unk>"]
        p = dict(zip(model.words_, model.next_word(["the"]).tolist(), strict=True))
        assert [p[word] for word in seen] == pytest.approx([p["the"]] * len(seen), rel=1e-4)


@pytest.mark.parametrize("given", [0, 1e-300, 1e13, [1, np.nan], np.inf])
def test_variances_without_a_fit_are_refused(given):
    with pytest.raises(ValueError, match=r"prior_variance must be >= 1e-12 and <= 1e\+12"):
        MaxentLM(2, given).fit(["a b"])


@pytest.mark.parametrize("given", ["5", {1: 2}, True, None, [None]])
def test_variances_are_numbers(given):
    if given is None:
        assert MaxentLM(2, None).fit(["a b", "b a"]).prior_variance_.tolist() == [5.0, 4.0]
        return
    with pytest.raises(TypeError, match="prior_variance must be a number"):
        MaxentLM(2, given).fit(["a b"])
