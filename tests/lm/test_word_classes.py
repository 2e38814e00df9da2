"""Word classes by exchange, against the likelihood written out."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fastlin.lm import WordClasses

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CORPORA = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=7), min_size=1, max_size=15)
TEXT = ["the dog ran", "a dog sat", "the cat sat", "a cat ran", "the bird sat", "a bird ran"] * 4


def bigrams_of(sentences):
    pairs = Counter()
    for sentence in sentences:
        pairs.update(itertools.pairwise(["<s>", *sentence, "</s>"]))
    return pairs


def objective(sentences, class_of):
    """−Σ log p(c(w) | c(v)) p(w | c(w))."""
    pairs = bigrams_of(sentences)
    together, before, after, words = Counter(), Counter(), Counter(), Counter()
    for (v, w), n in pairs.items():
        together[class_of[v], class_of[w]] += n
        before[class_of[v]] += n
        after[class_of[w]] += n
        words[w] += n
    return -sum(
        n * math.log(together[class_of[v], class_of[w]] / before[class_of[v]] * words[w] / after[class_of[w]])
        for (v, w), n in pairs.items()
    )


@given(CORPORA, st.integers(4, 8), st.integers(1, 4))
def test_the_objective_is_the_likelihood_of_the_class_bigrams(sentences, n_classes, max_iter):
    model = WordClasses(n_classes, max_iter=max_iter, tol=0).fit([" ".join(s) for s in sentences])
    class_of = dict(zip(model.words_, model.word_classes_.tolist(), strict=True))
    assert model.objective_ == pytest.approx(objective(sentences, class_of), rel=1e-9, abs=1e-6)
    objectives = [record["objective"] for record in model.history_]
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(objectives))
    assert [class_of[mark] for mark in ("<s>", "</s>", "<unk>")] == [0, 1, 2]
    assert all(class_of[word] > 2 for word in class_of if word not in ("<s>", "</s>", "<unk>"))


@given(CORPORA, st.integers(5, 8))
def test_at_the_end_no_word_gains_by_another_class(sentences, n_classes):
    model = WordClasses(n_classes, max_iter=100, tol=0).fit([" ".join(s) for s in sentences])
    assert model.converged_
    class_of = dict(zip(model.words_, model.word_classes_.tolist(), strict=True))
    best = objective(sentences, class_of)
    for word in model.words_[3:]:
        for number in range(3, min(n_classes, len(model.words_))):
            assert objective(sentences, class_of | {word: number}) >= best - 1e-6


def test_words_that_stand_alike_are_in_one_class():
    model = WordClasses(6).fit(TEXT)
    assert model.class_of("dog") == model.class_of("cat") == model.class_of("bird")
    assert model.class_of("ran") == model.class_of("sat") != model.class_of("dog")
    assert set(model.members(model.class_of("dog"))) == {"dog", "cat", "bird"}
    assert model.class_of("zebra") == 2


def test_classes_are_a_column_of_features():
    model = WordClasses(6).fit(TEXT)
    columns = model.transform(["the dog zebra", "", "a"])
    assert columns == [[f"c{model.class_of(word)}" for word in s.split()] for s in ("the dog zebra", "", "a")]


def test_more_classes_than_words_and_a_single_class():
    assert len(set(WordClasses(1000).fit(TEXT).word_classes_.tolist())) <= 3 + 7
    assert set(WordClasses(4).fit(TEXT).word_classes_[3:].tolist()) == {3}
    for n_classes in (2**31 - 1, 2**31, 2**61):
        WordClasses(n_classes).fit(TEXT)


def test_what_is_wrong_is_named():
    for options, message in (({"n_classes": 3}, "n_classes"), ({"max_iter": 0}, "max_iter"), ({"tol": -1}, "tol")):
        with pytest.raises(ValueError, match=message):
            WordClasses(**options).fit(TEXT)
    with pytest.raises(ValueError, match="no sentence"):
        WordClasses().fit([])
    with pytest.raises(ValueError, match="class 99"):
        WordClasses(5).fit(TEXT).members(99)


def test_rounds_that_do_not_suffice_are_told():
    generator = np.random.default_rng(0)
    text = [" ".join(map(str, generator.integers(0, 200, 20).tolist())) for _ in range(100)]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        WordClasses(20, max_iter=1, tol=0).fit(text)


def test_words_and_numbers_of_classes_are_what_they_are():
    classes = WordClasses(6).fit(["the dog ran", "a dog sat", "the cat sat", "a cat ran"])
    with pytest.raises(TypeError, match="a word is a string, got 3"):
        classes.class_of(3)
    with pytest.raises(TypeError, match="number must be a whole number"):
        classes.members("a")
    text = ["the cat", "a dog ran"]
    assert WordClasses(5).fit_transform(text) == WordClasses(5).fit(text).transform(text)
    assert WordClasses(5).fit_transform(iter(text)) == WordClasses(5).fit_transform(text)


def test_a_fit_that_is_cut_short_says_so_where_it_was_called():
    with pytest.warns(ConvergenceWarning, match="^WordClasses: .* raise max_iter or tol") as found:
        WordClasses(6, max_iter=1, tol=0).fit(TEXT)
    assert found[0].filename == __file__
