"""The aggregate Markov model, against EM written out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.lm import ClassBigramModel
from fastlin.lm.class_bigram import AggregateEM
from fastlin.lm.counts import count_tokens
from support import resuming

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CORPORA = st.lists(st.lists(st.integers(3, 9), max_size=7), min_size=1, max_size=15)
TEXT = ["the dog ran", "a dog sat", "the cat sat", "the bird ran"] * 4


@given(CORPORA, st.integers(1, 9), st.sampled_from([0.0, 0.01, 1.0]), st.integers(0, 100))
def test_an_iteration_is_that_of_em_written_out(sentences, n_classes, alpha, seed):
    tokens = np.array([word for sentence in sentences for word in (0, *sentence, 1)], np.int32)
    em = AggregateEM(count_tokens(tokens, 2, 10), n_classes, alpha, closed=False)
    em.start(np.random.default_rng(seed))
    for _ in range(3):
        class_given, word_given = (each[:, :n_classes].copy() for each in em.counts())
        bound = em.expect()
        em.maximise()
        classes, words, likelihood = np.zeros(class_given.shape), np.zeros(word_given.shape), 0.0
        for v, w in itertools.pairwise(tokens.tolist()):
            if v != 1:
                joint = class_given[v] * word_given[w]
                likelihood += math.log(joint.sum())
                classes[v] += joint / joint.sum()
                words[w] += joint / joint.sum()
        if alpha:
            likelihood += alpha * np.log(word_given[1:]).sum()
        assert bound == pytest.approx(likelihood, rel=1e-9, abs=1e-9)
        masses = classes.sum(axis=0)
        classes[classes.sum(axis=1) == 0] = masses
        words[1:] += alpha
        found = [each[:, :n_classes] for each in em.counts()]
        np.testing.assert_allclose(found[0], classes / classes.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1], words / words.sum(axis=0), rtol=1e-9, atol=1e-12)


@given(CORPORA, st.integers(1, 20), st.sampled_from([0.0, 0.01, 1.0]), st.integers(0, 100))
def test_the_bound_never_falls(sentences, n_classes, alpha, seed):
    text = [[f"w{word}" for word in sentence] for sentence in sentences]
    model = ClassBigramModel(n_classes, alpha=alpha, max_iter=15, tol=0, n_init=2, random_state=seed).fit(text)
    assert (np.diff(model.bound_) >= 0).all()
    if alpha:
        for context in ([], ["<s>"], ["w3"], ["zebra"], ["w4", "w5"]):
            assert model.next_word(context).sum() == pytest.approx(1, abs=1e-5)


def test_scores_states_and_distributions_agree():
    model = ClassBigramModel(4, random_state=0).fit(TEXT)
    for sentence in (["the", "cat", "ran"], ["zebra"], []):
        state, total = model.start(), 0.0
        for word in [*sentence, "</s>"]:
            p = dict(zip(model.words_, model.next_word(state), strict=True))
            log_prob, state = model.advance(state, word)
            assert math.log(p.get(word, p["<unk>"])) == pytest.approx(log_prob, abs=1e-5)
            total += log_prob
        assert model.score_samples([sentence])[0] == pytest.approx(total)
    assert model.class_given_word_.shape == (len(model.words_) + 1, 4)
    np.testing.assert_allclose(model.class_given_word_.sum(axis=1), 1)
    np.testing.assert_allclose(model.word_given_class_.sum(axis=0), 1)


def test_one_class_is_the_unigram_model():
    model = ClassBigramModel(1, alpha=0, random_state=0).fit(TEXT)
    counts = {word: sum(s.split().count(word) for s in TEXT) for word in model.words_} | {"</s>": len(TEXT)}
    total = sum(counts.values())
    np.testing.assert_allclose(model.next_word(["dog"]), [counts[w] / total for w in model.words_], rtol=1e-5)


def test_classes_generalise_to_bigrams_that_were_not_seen():
    model = ClassBigramModel(6, n_init=5, random_state=0).fit([s for s in TEXT if s != "the bird ran"] + ["a bird"] * 9)
    good, bad = model.score_samples(["the bird sat", "sat bird the"])
    assert good > bad


def test_more_starts_are_no_worse_and_seeds_repeat():
    one, many = (ClassBigramModel(5, n_init=n, random_state=3).fit(TEXT) for n in (1, 6))
    assert many.bound_[-1] >= one.bound_[-1]
    again = ClassBigramModel(5, n_init=6, random_state=3).fit(TEXT)
    np.testing.assert_array_equal(again.word_given_class_, many.word_given_class_)


@pytest.mark.parametrize(
    "options, message",
    [({"n_classes": 0}, "n_classes"), ({"alpha": -1}, "alpha"), ({"n_init": 0}, "n_init"), ({"tol": -1}, "tol")],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        ClassBigramModel(**options).fit(TEXT)


@pytest.mark.parametrize("n_classes", [2**31 - 1, 2**31, 2**61])
def test_more_classes_than_words_are_as_many(n_classes):
    assert ClassBigramModel(n_classes, random_state=0).fit(TEXT).class_given_word_.shape[1] <= 10


# --- checkpoints -----------------------------------------------------------------------------------------------------

LEARNT = ("class_given_word_", "word_given_class_", "bound_", "objective_", "converged_", "n_iter_")


def classes(**more):
    return ClassBigramModel(**{"n_classes": 3, "n_init": 3, "max_iter": 6, "tol": 0, "random_state": 0, **more})


def test_it_goes_on_from_every_iteration(tmp_path):
    resuming.stop_after_each_record(classes, LEARNT, (TEXT,), tmp_path / "c")


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    changes = [
        ("n_classes was 3, now 2", {"n_classes": 2}, None, {}),
        ("max_iter was 6, now 7", {"max_iter": 7}, None, {}),  # the runs that are done ended by these
        ("data", {}, ([*TEXT, "a dog ran"],), {}),
    ]
    resuming.check_other_fits(classes, (TEXT,), tmp_path / "c", changes)


def test_what_a_checkpoint_says_is_proved(tmp_path):
    resuming.check_what_is_said_is_proved(classes, (TEXT,), tmp_path / "c")
