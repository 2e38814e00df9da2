"""Grammars counted from trees: their probabilities, their trees, and what other libraries say of the same rules."""

import math
import warnings

import nltk
import numpy as np
import pytest

from fastlin.grammar import PCFG, Tree
from fastlin.sequence import HMM

TREES = [
    "(S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP-SBJ (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP-SBJ (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)))",
    "(S (NP-SBJ (PRP she)) (VP (VBZ sleeps)))",
]
RULES = """
S -> NP VP [1.0]
NP -> Det N [0.5] | NP PP [0.25] | 'John' [0.1] | 'I' [0.15]
Det -> 'the' [0.8] | 'my' [0.2]
N -> 'man' [0.5] | 'telescope' [0.5]
VP -> VP PP [0.1] | V NP [0.7] | V [0.2]
V -> 'ate' [0.35] | 'saw' [0.65]
PP -> 'with' NP [0.61] | 'under' 'the' N [0.39]
"""


@pytest.mark.parametrize("sentence", ["I saw the man with my telescope", "John ate under the telescope", "I saw"])
def test_the_best_tree_and_its_probability_are_nltks(sentence: str) -> None:
    (wanted,) = nltk.ViterbiParser(nltk.PCFG.fromstring(RULES)).parse(sentence.split())
    found = PCFG.from_rules(RULES).predict([sentence])
    assert math.exp(found.log_joint[0]) == pytest.approx(wanted.prob(), rel=1e-12)
    assert found[0] == Tree.from_string(wanted.pformat(margin=10**6, parens="()").rsplit(" (p=", 1)[0])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("unknown", ["suffix", "uniform"])
def test_a_hidden_markov_model_is_a_grammar(order: int, stop: bool, unknown: str) -> None:
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks", "a"]]
    y = [["DT", "NN", "VB"], ["DT", "NN", "VB"], ["DT", "NN", "VB", "DT"]]
    model = HMM(order=order, stop=stop, unknown=unknown, alpha=0.1).fit(X, y)
    grammar = PCFG.from_hmm(model)
    sentences = [*X, ["a", "zebra", "barks"], ["sleeps", "the"]]
    assert grammar.score_samples(sentences) == pytest.approx(model.score_samples(sentences), rel=1e-10)
    parses = grammar.predict(sentences)
    paths = [[tag for _, tag in tree.tagged_words()] for tree in parses if tree is not None]
    assert paths == model.predict(sentences)


def test_log_p_of_a_tree_is_the_sum_over_its_rules() -> None:
    grammar = PCFG(vertical=1, horizontal=0, split_tags=False, unknown=None, tag_alpha=0).fit(TREES)
    tree = "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN cat))))"
    # S → NP VP 4/4; NP: 9 times, PRP 1, DT @ 7 (DT NN 6 and DT @NP 1), NP PP 1; VP: VBZ 2, VBZ NP 1, VBZ @VP 1
    by_hand = 1 / 9 * (1 / 4) * (6 / 9) * (2 / 4) * (4 / 7) * (2 / 7)
    assert math.exp(grammar.log_joint([tree])[0]) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("decoding", ["recall", "viterbi"])
def test_sentences_that_were_learnt_have_their_trees(decoding: str) -> None:
    grammar = PCFG(decoding=decoding, rare_count=0, recall_threshold=0.5).fit(TREES)
    trees = [Tree.from_string(text.replace("-SBJ", "")) for text in TREES]
    found = grammar.predict([tree.leaves() for tree in trees])
    assert list(found) == trees
    assert found.unparsed == []
    assert found.log_joint == pytest.approx(grammar.log_joint(trees))


def test_posteriors_of_the_n_best_trees_and_tags_add_up() -> None:
    grammar, sentence = PCFG(horizontal=0).fit(TREES), ["the", "cat", "sees", "a", "dog", "with", "a", "hat"]
    (parses,) = grammar.predict_nbest([sentence], 1000)
    posteriors = np.exp(grammar.log_proba([sentence] * len(parses), parses))
    assert posteriors.sum() == pytest.approx(1, abs=1e-6)
    (found,) = grammar.predict_marginals([sentence], 0.0)
    tags = {"DT", "NN", "VBZ", "IN", "JJ", "PRP"}
    assert sum(one.expected for one in found if one.label in tags) == pytest.approx(len(sentence), rel=1e-9)


def test_threads_change_no_bit() -> None:
    sentences = [Tree.from_string(text).leaves() for text in TREES] * 20
    one, two = (PCFG(n_jobs=n_jobs).fit(TREES).predict(sentences) for n_jobs in (1, 2))
    assert list(one) == list(two)
    assert one.log_joint.tobytes() == two.log_joint.tobytes()


def test_a_sentence_without_a_tree_has_a_flat_one_or_is_an_error() -> None:
    grammar = PCFG.from_rules(RULES)
    with pytest.warns(
        UserWarning, match=r"1 of 3 sentences have no tree, the first is 1: 'saw zebra'; each has a flat one"
    ):
        parses = grammar.predict(["I saw", "saw zebra", "John ate"])
    assert parses.unparsed == [1]
    assert str(parses[1]) == "(S (V saw) (X zebra))"
    assert parses.log_joint[1] == -np.inf
    with pytest.raises(ValueError, match="1 of 1 sentences have no tree"):
        grammar.set_params(unparsed="error").predict(["saw zebra"])


def test_a_sentence_without_words_has_no_tree() -> None:
    grammar = PCFG.from_rules(RULES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert list(grammar.predict([[]])) == [None]
    assert grammar.predict_nbest([[]]) == [[]]
    assert grammar.predict_marginals([[]]) == [[]]
    assert grammar.score_samples([[]]).tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S -> A [1.0]", "A has no rules; words stand in quotes"),
        ("S -> 'a' [0.5]", "the rules of S have probabilities that add up to 0.5"),
        ("S -> 'a'", r"line 1: S -> a has no probability, as \[0.5\]"),
        ("S -> 'a' [x]", r"line 1: a probability is a number from 0 to 1, got \[x\]"),
        ("S -> [1.0]", "line 1: a right side of S is empty"),
        ("S 'a' [1.0]", "line 1: a rule begins with its left side and ->"),
        ("%start T\nS -> 'a' [1.0]", "the start symbol T has no rules"),
        ("", "the text holds no rules"),
        ("S -> 'a [1.0]", "line 1, column"),
    ],
)
def test_rules_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCFG.from_rules(text)


def test_parameters_are_checked() -> None:
    for name, value in (("vertical", 0), ("horizontal", -1), ("alpha", -1.0), ("unknown", "x"), ("decoding", "x")):
        with pytest.raises(ValueError, match=name):
            PCFG(**{name: value}).fit(TREES)
    with pytest.raises(TypeError, match="X must be a list of sentences"):
        PCFG().fit(TREES).predict("the cat")
    with pytest.raises(ValueError, match="there is nothing to learn from: 0 trees"):
        PCFG().fit([])
