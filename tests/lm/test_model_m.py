"""Model M: what is optimised is what is answered, and it sums to one."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fastlin.lm import MaxentLM, NgramModel, State, WordClasses
from fastlin.runtime.parallel import WorkerPool

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*discount.*:UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
CORPORA = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=12)
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran", "a dog", "the", "cat dog cat dog"] * 3


def tokens_of(fit, sentences):
    text = [" ".join(sentence) for sentence in sentences]
    return np.concatenate(list(fit.counts.reader.blocks(text, fit.start.vocabulary.table, False)))


@given(CORPORA, st.integers(2, 5), st.integers(4, 7), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, (1, 1, 3)]))
def test_the_objective_is_the_likelihood_of_the_model(sentences, order, n_classes, seed, cutoff):
    """Sums over histories and features on one side, look-ups a token on the other."""
    text = [" ".join(sentence) for sentence in sentences]
    lm = MaxentLM(order, classes=n_classes, prior_variance=(5.0, 3.0, 2.0), cutoff=cutoff)
    with WorkerPool(1) as workers:
        fit = lm._begin(text, lm._variances(), workers)
        generator = np.random.default_rng(seed)
        fit.theta[:] = generator.normal(size=len(fit.theta))
        gradient = np.empty(len(fit.theta))
        value = fit.objective.value(fit.theta, gradient)
        model, tokens = fit.model(), tokens_of(fit, sentences)
        penalty = 0.5 * float(fit.objective.prior.precision @ fit.theta**2)
        assert value == pytest.approx(penalty - model.score(tokens)[0].sum(), rel=1e-9)
        direction = generator.normal(size=len(fit.theta))
        ahead, behind = (fit.objective.value(fit.theta + h * direction, np.empty(len(gradient))) for h in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(gradient @ direction, rel=1e-5, abs=1e-5)


@given(CORPORA, st.integers(2, 5), st.lists(st.sampled_from("abz"), max_size=5), st.integers(1, 2))
def test_probabilities_sum_to_one_and_agree(sentences, order, context, cutoff):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MaxentLM(order, classes=5, max_iter=5, cutoff=cutoff).fit([" ".join(s) for s in sentences])
    for state in (model.start(), State(model._state(context))):
        p = model.next_word(state)
        assert p.sum() == pytest.approx(1, abs=1e-5)
        for word, probability in zip(model.words_, p, strict=True):
            assert math.log(max(probability, 1e-300)) == pytest.approx(model.advance(state, word)[0], abs=1e-4)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_states_add_up_to_sentences(order):
    model = MaxentLM(order, classes=6).fit(TEXT)
    for sentence in (["the", "cat", "ran"], ["zebra", "sat"], []):
        state, total = model.start(), 0.0
        for word in [*sentence, "</s>"]:
            log_prob, state = model.advance(state, word)
            total += log_prob
        assert model.score_samples([sentence])[0] == pytest.approx(total)


def test_at_the_optimum_moments_match():
    model = MaxentLM(3, classes=6, prior_variance=2.0, tol=1e-12, max_iter=1000).fit(TEXT)
    assert model.converged_
    assert model.certificate_["moment_gap"] <= max(np.abs(part).max() for part in model.weights_) / 2 + 1e-4


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("size", [1.0, 15.0])
def test_expected_counts_of_classes_are_those_of_a_dense_softmax(order, size):
    """Large weights leave differences without digits, which have a path of their own."""
    lm = MaxentLM(order, classes=8, cutoff=(1, 2))
    text = [*TEXT, "otto ran", "anna sat on a cat", "the otto the anna"]
    with WorkerPool(1) as workers:
        half = lm._begin(text, lm._variances(), workers).objective.halves[0]
    generator = np.random.default_rng(0)
    theta, gradient = size * generator.normal(size=half.size), np.empty(half.size)
    half.value(theta, gradient)
    events, K, wanted = half.events, half.n_classes, np.zeros(half.size)
    parts, expected = half.split(theta), half.split(wanted)
    of_context = {}
    for kind, (histories, _) in enumerate(events.histories(half.contexts, order)):
        of_context[kind] = dict(zip(events.contexts.tolist(), histories.tolist(), strict=True))
    for context, count in enumerate(half.contexts.counts):
        features = []
        for kind in range(5):
            row = np.full(K, of_context[kind][context])
            features.append(half.features[kind].places(row, np.arange(K), K))
        scores = sum(np.where(f >= 0, np.append(parts[kind], 0)[f], 0) for kind, f in enumerate(features))
        scores[0] = -np.inf  # the mark that begins a sentence
        p = np.exp(scores - scores.max())
        p *= count / p.sum()
        for kind, f in enumerate(features):
            np.add.at(expected[kind], f[f >= 0], p[f >= 0])
    found = gradient + half.observed - half.prior.precision * theta
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_classes_may_be_given_and_threads_change_no_bit():
    classes = WordClasses(6).fit(TEXT)
    one, given_ones, two = (MaxentLM(3, classes=c, n_jobs=n).fit(TEXT) for c, n in ((6, None), (classes, None), (6, 2)))
    for other in (given_ones, two):
        for ours, theirs in zip(one.weights_, other.weights_, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_classes_help_where_bigrams_are_few():
    generator = np.random.default_rng(0)
    kinds = [[f"{kind}{number}" for number in range(30)] for kind in "abc"]
    text = [" ".join(kinds[k][generator.integers(30)] for k in (0, 1, 2, 0, 1)) for _ in range(300)]
    train, test = text[:250], text[250:]
    with_classes, without = MaxentLM(3, classes=6).fit(train), MaxentLM(3).fit(train)
    assert with_classes.perplexity(test) < 0.8 * without.perplexity(test)


def test_what_it_cannot_do_is_said():
    with pytest.raises(ValueError, match="classes need an order of at least 2"):
        MaxentLM(order=1, classes=10).fit(TEXT)
    for classes in (3, -1):
        with pytest.raises(ValueError, match="classes"):
            MaxentLM(classes=classes).fit(TEXT)
    model = MaxentLM(2, classes=5).fit(TEXT)
    with pytest.raises(AttributeError, match="no back-off model"):
        model.to_arpa("somewhere")
    assert NgramModel(2).fit(TEXT).n_grams_


def test_threads_change_no_answer():
    model = MaxentLM(2, classes=5).fit(TEXT)
    wanted = model.score_samples(TEXT)
    np.testing.assert_array_equal(model.set_params(n_jobs=2).score_samples(TEXT), wanted)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("unk", ["<unk>", None])
def test_what_cannot_follow_has_no_probability(order, unk):
    """Classes of another text may have no word of this one; <unk> of a closed vocabulary never follows."""
    classes = WordClasses(8).fit([*TEXT, *["x y z"] * 30])
    text = [*TEXT, "gnu gnat"]  # words that the classes do not know stand in the class of <unk>
    assert {*range(8)} - {classes.class_of(word) for word in ["<s>", "</s>", "<unk>", *" ".join(TEXT).split()]}
    for classes_given in (classes, 5):
        model = MaxentLM(order, classes=classes_given, unk=unk).fit(text)
        for context in ("the", "the cat", "<s>", "gnu"):
            p = model.next_word(context)
            assert p.sum() == pytest.approx(1, abs=1e-5)
            assert (p[model.words_.index("<unk>")] == 0) == (unk is None)
        assert (model.score_samples(["the zebra"])[0] == -np.inf) == (unk is None)
