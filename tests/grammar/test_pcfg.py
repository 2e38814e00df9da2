"""Grammars counted from trees: their probabilities, their trees, and what other libraries say of the same rules."""

import math
import re
import warnings

import nltk
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from fastlin.grammar import PCFG, Tree, evalb
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


def test_a_word_and_a_symbol_of_one_name_begin_different_right_sides() -> None:
    rules = "S -> 'a' b C [0.25] | a b b [0.75]\na -> 'x' [1.0]\nb -> 'b' [1.0]\nC -> 'c' [1.0]"
    found = PCFG.from_rules(rules).score_samples(["a b c", "x b b", "x b c", "a b b"])
    assert np.exp(found) == pytest.approx([0.25, 0.75, 0, 0], abs=1e-12)


def test_a_hidden_markov_model_of_features_is_no_grammar() -> None:
    for X in ([[["w", "x"], ["w"]]], np.eye(2)):
        hmm = HMM().fit(X, [["A", "B"]], **({"lengths": [2]} if isinstance(X, np.ndarray) else {}))
        with pytest.raises(ValueError, match="hmm emits features, and a grammar words"):
            PCFG.from_hmm(hmm)


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


@pytest.mark.parametrize("decoding", ["recall", "viterbi"])
def test_a_word_among_constituents_has_no_tag(decoding: str) -> None:
    tree = Tree.from_string("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) and (VP (VBZ sees)))")
    grammar = PCFG(decoding=decoding).fit([tree, *TREES])
    assert grammar.predict([tree.leaves()])[0] == tree
    rules = PCFG.from_rules(RULES, decoding=decoding)
    sentence = "I saw the man with my telescope"
    assert [tree.tagged_words() for tree in rules.predict([sentence])] == [
        [("I", "NP"), ("saw", "V"), ("the", "Det"), ("man", "N"), ("with", "PP"), ("my", "Det"), ("telescope", "N")]
    ]


def test_posteriors_of_the_n_best_trees_and_tags_add_up() -> None:
    grammar, sentence = PCFG(horizontal=0).fit(TREES), ["the", "cat", "sees", "a", "dog", "with", "a", "hat"]
    (parses,) = grammar.predict_nbest([sentence], 1000)
    posteriors = np.exp(grammar.log_proba([sentence] * len(parses), parses))
    assert posteriors.sum() == pytest.approx(1, abs=1e-6)
    (found,) = grammar.predict_marginals([sentence], 0.0)
    tags = {"DT", "NN", "VBZ", "IN", "JJ", "PRP"}
    assert sum(one.expected for one in found if one.label in tags) == pytest.approx(len(sentence), rel=1e-9)


def test_the_score_is_evalbs_f1_of_the_words_of_trees() -> None:
    grammar = PCFG(decoding="viterbi", rare_count=0).fit(TREES)
    wrong = (
        "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (DT a) (NN cat)) (PP (IN with) (NP (DT a) (NN hat))))))"
    )
    gold = [*TREES, wrong, "(S (NP-SBJ (-NONE- *)))"]
    kept = [Tree.from_string(text.replace("-SBJ", "")) for text in gold[:-1]]
    report = evalb(kept, grammar.predict([tree.leaves() for tree in kept]))
    assert report.overall.n_matched < report.overall.n_gold
    assert grammar.score(gold) == report.overall.f1 == grammar.score(gold, None)
    assert grammar.score(TREES) == 1.0
    with pytest.raises(ValueError, match="there is nothing to judge"):
        grammar.score([])


def test_the_outermost_brackets_of_the_treebank_do_not_count() -> None:
    """They have no label, and every parser gets them right: EVALB's settings delete TOP."""
    outermost = [f"( {text})" for text in TREES]
    wrong = "( (S (NP (DT the) (NN hat)) (NP (VBZ sees) (NP (DT a) (NN hat)))))"
    grammar, other = PCFG().fit(TREES), PCFG().fit(outermost)
    words = ["the hat sees a hat"]
    assert [str(tree) for tree in other.predict(words)] == [f"( {tree})" for tree in grammar.predict(words)]
    assert grammar.score([wrong[2:-1]]) == other.score([wrong]) < 1


def test_scikit_learn_searches_grammars() -> None:
    search = GridSearchCV(PCFG(), {"vertical": [1, 2], "decoding": ["viterbi", "recall"]}, cv=2).fit(TREES * 3)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert cross_val_score(PCFG(), TREES * 3, cv=3) == pytest.approx([1, 1, 1], abs=0.2)


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


def test_of_sentences_without_words_no_flat_tree_is_told() -> None:
    grammar = PCFG.from_rules(RULES)
    with pytest.warns(UserWarning, match=r"1 of 2 sentences have no tree, the first is 1: ''; they have no words$"):
        grammar.predict(["I saw", ""])
    with pytest.warns(UserWarning, match="each has a flat one, but for those without words$"):
        assert list(map(str, grammar.predict(["", "zebra"]))) == ["None", "(S (X zebra))"]
    with pytest.warns(UserWarning, match="each has a flat one$"):
        grammar.predict(["zebra"])


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
        ("S -> A [1.0]\nA -> 'a' '' [1.0]", "line 2, column 10: a word between quotes has a letter at least"),
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


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (b"the cat", "X must be a list of sentences, got b'the cat'"),
        (3, "X must be a list of sentences, got 3"),
        (["the cat", 7], "sentence 1 must be a string or a list of words, got 7"),
        ([None], "sentence 0 must be a string or a list of words, got None"),
        ([b"the cat"], "sentence 0 must be a string or a list of words, got b'the cat'"),
        ([["the", 3]], "sentence 0 must be a string or a list of words, and holds 3"),
        ([["the", ""]], "sentence 0 must be a string or a list of words, and holds ''"),
        (np.zeros((2, 2)), "sentence 0 must be a string or a list of words, and holds"),
    ],
)
def test_what_is_no_sentence_is_refused(X: object, message: str) -> None:
    grammar = PCFG.from_rules(RULES)
    for method in ("predict", "predict_nbest", "predict_marginals", "score_samples", "perplexity"):
        with pytest.raises(TypeError, match=re.escape(message)):
            getattr(grammar, method)(X)


def test_words_may_be_any_strings() -> None:
    words = ["a\x00b", "\udc80", "two words", "(", "\U0001f600", "x" * 100_000]
    grammar = PCFG().fit([Tree("S", [Tree("A", [word]) for word in words]), *TREES])
    parses = grammar.predict([words, np.array(["she", "sleeps"]), iter(["zebra", "sleeps"])])
    assert [tree and tree.leaves() for tree in parses] == [words, ["she", "sleeps"], ["zebra", "sleeps"]]


def test_parameters_are_checked() -> None:
    for name, value in (("vertical", 0), ("horizontal", -1), ("alpha", -1.0), ("unknown", "x"), ("decoding", "x")):
        with pytest.raises(ValueError, match=name):
            PCFG(**{name: value}).fit(TREES)
    with pytest.raises(TypeError, match="X must be a list of sentences"):
        PCFG().fit(TREES).predict("the cat")
    with pytest.raises(ValueError, match="there is nothing to learn from: 0 trees"):
        PCFG().fit([])


def test_log_proba_is_of_trees_without_traces() -> None:
    grammar = PCFG(rare_count=0).fit(TREES)
    trees = ["(S (NP-SBJ (PRP she)) (VP (VBZ sleeps) (NP (-NONE- *T*-1))))", "(S (NP (PRP she)) (VP (VBZ sleeps)))"]
    found = grammar.log_proba(["she sleeps", "she sleeps"], trees)
    assert found[0] == found[1] > -np.inf
    assert grammar.log_proba(["she sleeps *T*-1"], trees[:1]).tolist() == [-np.inf]
