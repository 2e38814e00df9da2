"""What is given of trees, against enumeration: sums, the best, the n best and expectations are those of what obeys."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastlin.grammar import PCFG, SpanCRF, Tree, charts
from fastlin.grammar.constraints import Bracket, Given, check_nested, span_place, span_states
from oracles.grammar import Production, as_text, derivations

SYMBOLS, WORDS = ("S", "A", "B"), ("x", "y")
MAX_CHAIN, UNARY = 4, 0.1  # unary rules in a row that are enumerated, and how often a symbol is made by one
TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (JJ old) (NN dog))) (. .))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN hat)))) (. .))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)) (. .))",
    "(S (VP (VB see) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat))))))",
    "(S (NP (NN sleeps)) (VP (VBZ sees) (ADJP (JJ small) (CC and) (JJ old) (NN dog))))",
]
SENTENCE = ["the", "cat", "sees", "a", "dog", "with", "the", "small", "hat"]


def obeys(tree: Tree, tags: list[str | None] | None, brackets: list[Bracket]) -> bool:
    """Whether a tree has what is given."""
    there = set(tree.spans())
    has_tags = tags is None or all(
        wanted in (None, tag) for wanted, (_, tag) in zip(tags, tree.tagged_words(), strict=True)
    )
    return has_tags and all(
        any(span == (start, stop) and label in (None, name) for name, *rest in there for span in [tuple(rest)])
        for start, stop, label in brackets
    )


def nested(brackets: list[Bracket]) -> bool:
    try:
        check_nested(brackets, "brackets")
    except ValueError:
        return False
    return True


@st.composite
def grammars(draw: st.DrawFn) -> list[Production]:
    """Small grammars with circles of unary rules."""
    rules = []
    for left in SYMBOLS:
        unary = draw(st.sets(st.sampled_from(SYMBOLS), max_size=1))
        binary = draw(st.sets(st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(SYMBOLS)), max_size=3))
        words = draw(st.sets(st.sampled_from(WORDS), min_size=1))
        rights = [((word,), True) for word in words] + [(right, False) for right in binary]
        shares = [draw(st.integers(1, 9)) for _ in rights]
        mass = 1 - UNARY if unary else 1.0
        rules += [
            Production(left, right, is_word, mass * share / sum(shares))
            for (right, is_word), share in zip(sorted(rights), shares, strict=True)
        ]
        rules += [Production(left, (child,), False, UNARY) for child in sorted(unary)]
    return rules


def brackets_of(n_words: int, labels: tuple[str, ...]) -> st.SearchStrategy[list[Bracket]]:
    spans = [(start, stop) for start in range(n_words) for stop in range(start + 1, n_words + 1)]
    bracket = st.builds(lambda span, label: Bracket(*span, label), st.sampled_from(spans), st.sampled_from(labels))
    free = st.sampled_from([Bracket(*span) for span in spans])
    return st.lists(st.one_of(bracket, free), max_size=4).filter(nested)


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[str], list[str | None] | None, list[Bracket]]:
    """A sentence, and what is given of it."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    tags = draw(st.none() | st.lists(st.sampled_from([None, *SYMBOLS]), min_size=len(words), max_size=len(words)))
    return words, tags, draw(brackets_of(len(words), SYMBOLS))


def ask(grammar, method, words, tags, brackets, *arguments):
    return getattr(grammar, method)([words], *arguments, tags=[tags], brackets=[brackets])[0]


@given(grammars(), questions())
def test_sums_and_the_best_are_those_of_the_trees_that_obey(rules, question):
    words, tags, brackets = question
    grammar = PCFG.from_rules(as_text(rules), unparsed="error")
    trees = [(p, Tree.from_string(text)) for p, text in derivations(rules, "S", words, MAX_CHAIN)]
    wanted = [(p, tree) for p, tree in trees if obeys(tree, tags, brackets)]
    total = math.exp(ask(grammar, "score_samples", words, tags, brackets))
    rest = 40 * UNARY ** (MAX_CHAIN + 1)  # chains that are longer than those enumerated
    assert math.fsum(p for p, _ in wanted) * (1 - 1e-9) <= total
    assert total == pytest.approx(math.fsum(p for p, _ in wanted), abs=rest)
    if not wanted:
        assert total < rest
        return
    found = ask(grammar, "predict_nbest", words, tags, brackets, 5)
    sure = [p for p, _ in wanted[:5] if p > UNARY ** (MAX_CHAIN + 1)]
    assert np.exp(found.log_joint[: len(sure)]) == pytest.approx(sure, rel=1e-9)
    assert all(obeys(tree, tags, brackets) for tree in found)
    assert len({str(tree) for tree in found}) == len(found)
    for decoding in ("viterbi", "recall"):
        grammar.set_params(decoding=decoding)
        parses = grammar.predict([words], tags=[tags], brackets=[brackets])
        assert obeys(parses[0], tags, brackets)
        if decoding == "viterbi" and sure:
            assert np.exp(parses.log_joint[0]) == pytest.approx(sure[0], rel=1e-9)
            assert grammar.log_joint(parses) == pytest.approx(parses.log_joint, rel=1e-12)


@given(grammars(), questions())
def test_expectations_are_those_of_the_trees_that_obey(rules, question):
    words, tags, brackets = question
    grammar = PCFG.from_rules(as_text(rules))
    trees = [(p, Tree.from_string(text)) for p, text in derivations(rules, "S", words, MAX_CHAIN)]
    wanted = [(p, tree) for p, tree in trees if obeys(tree, tags, brackets)]
    total = math.fsum(p for p, _ in wanted)
    assume(total > 0.001)
    expected = Counter()
    for p, tree in wanted:
        for place in tree.spans():
            expected[place] += p / total
    slack = 40 * UNARY ** (MAX_CHAIN + 1) / total
    found = {tuple(one[:3]): one.expected for one in ask(grammar, "predict_marginals", words, tags, brackets, 0.0)}
    for place in found.keys() | expected.keys():
        assert found.get(place, 0.0) == pytest.approx(expected[place], abs=10 * slack + 1e-9)


@cache
def long_constituents(horizontal):
    """A grammar that has constituents of many children, and all trees of the sentence."""
    options = {"vertical": 1, "split_tags": False, "unknown": "shape", "rare_count": 100}
    grammar = PCFG(horizontal=horizontal, **options).fit(TREES)
    (everything,) = grammar.predict_nbest([SENTENCE], 10_000)
    assert 20 < len(everything) < 10_000
    return grammar, everything


@given(brackets_of(len(SENTENCE), ("NP", "VP", "PP", "S", "JJ")), st.sampled_from([0, 1, None]))
def test_a_grammar_with_long_constituents_obeys(brackets, horizontal):
    grammar, everything = long_constituents(horizontal)
    wanted = [place for place, tree in enumerate(everything) if obeys(tree, None, brackets)]
    found = ask(grammar, "predict_nbest", SENTENCE, None, brackets, 10_000)
    assert found.log_joint == pytest.approx(everything.log_joint[wanted], rel=1e-9)
    assert {str(tree) for tree in found} == {str(everything[place]) for place in wanted}
    total = np.exp(everything.log_joint[wanted]).sum()
    assert np.exp(ask(grammar, "score_samples", SENTENCE, None, brackets)) == pytest.approx(total, rel=1e-9, abs=1e-300)
    if wanted:
        for decoding in ("viterbi", "recall"):
            grammar.set_params(decoding=decoding)
            (tree,) = grammar.predict([SENTENCE], brackets=[brackets])
            assert obeys(tree, None, brackets)
    else:
        with pytest.warns(UserWarning, match="have no tree"):
            (tree,) = grammar.predict([SENTENCE], brackets=[brackets])
        assert obeys(tree, None, brackets)


def test_tags_that_are_given_are_those_of_the_tree():
    grammar = PCFG(horizontal=0, vertical=1, unknown="shape", rare_count=100).fit(TREES)
    tags = [None, None, "VBZ", "DT", "JJ", "JJ", "JJ", None, "NN"]
    assert not obeys(grammar.predict([SENTENCE])[0], tags, [])
    for decoding in ("viterbi", "recall"):
        parses = grammar.set_params(decoding=decoding).predict([SENTENCE, SENTENCE], tags=[tags, None])
        assert obeys(parses[0], tags, [])
        assert parses[1] == grammar.predict([SENTENCE])[0]
    with pytest.warns(UserWarning, match="1 of 1 sentences have no tree"):
        (flat,) = grammar.predict(
            [["the", "dog"]], tags=[["CC", "IN"]], brackets=[[(0, 2, "PP"), (0, 2), (1, 2, "NP")]]
        )
    assert str(flat) == "(S (PP (CC the) (NP (IN dog))))"


def test_what_is_given_is_taken_as_sentences_are():
    X = [["the", "dog", "sleeps"]] * 2
    tags, brackets = [["DT", "NN", "VBZ"]] * 2, [[(0, 2)], [(0, 2), (2, 3)]]
    grammar = PCFG().fit(TREES)
    wanted = grammar.predict_marginals(X, tags=tags, brackets=brackets)
    shapes = (tuple, iter, lambda given: np.array([*given, None], dtype=object)[:-1])
    for shape in shapes:
        assert grammar.predict_marginals(shape(X), tags=shape(tags), brackets=shape(brackets)) == wanted
    assert grammar.predict_marginals(X, tags=np.array(tags), brackets=[np.array(one) for one in brackets]) == wanted
    assert grammar.predict_marginals(X, brackets=np.array([[(0, 2)]] * 2)) == grammar.predict_marginals(
        X, brackets=[[(0, 2)]] * 2
    )
    model = SpanCRF(min_count=1, random_state=0).fit(TREES)
    assert model.predict_marginals(X, tags=np.array(tags)) == model.predict_marginals(X, tags=tags)


def test_states_are_those_of_the_definition():
    brackets = (Bracket(1, 4), Bracket(2, 4, "NP"), Bracket(5, 6))
    states, labelled = span_states(6, Given(None, brackets), ["NP", "S"])
    assert labelled == {(2, 4): frozenset({0})}
    for start in range(6):
        for stop in range(start + 1, 7):
            crossing = any(a < start < b < stop or start < a < stop < b for a, b, _ in brackets)
            wanted = 1 if crossing else {(1, 4): 2, (2, 4): 3}.get((start, stop), 0)
            assert states[span_place(start, stop)] == wanted, (start, stop)


@pytest.mark.parametrize(
    ("tags", "brackets", "error", "message"),
    [
        ("DT", None, TypeError, "tags must be a list with an item for each sentence"),
        ([None, None], None, ValueError, "tags are given of 2 sentences, and X has 1"),
        (["DT"], None, TypeError, "tags of sentence 0 must be a list of tags"),
        ([["DT"]], None, ValueError, "sentence 0 has 3 words, and 1 tags are given"),
        ([["DT", "NN", "XX"]], None, ValueError, "tags of sentence 0: 'XX' over word 2 is no tag of the grammar"),
        ([["DT", "NN", ["NN"]]], None, ValueError, "is no tag of the grammar"),
        (None, [7], TypeError, r"brackets of sentence 0 must be a list of \(start, stop\[, label\]\), got 7"),
        (None, [[7]], TypeError, r"brackets of sentence 0: 7 must be \(start, stop\)"),
        (None, [[(0,)]], TypeError, r"must be \(start, stop\)"),
        (None, [[(0, 1, "NP", 3)]], TypeError, r"must be \(start, stop\)"),
        (None, [[(0.0, 1)]], TypeError, r"must be \(start, stop\)"),
        (None, [[(0, 4)]], ValueError, "must be from a word to after it, among 3 words"),
        (None, [[(2, 2)]], ValueError, "must be from a word to after it"),
        (None, [[(-1, 2)]], ValueError, "must be from a word to after it"),
        (None, [[(0, 1 << 80)]], ValueError, "must be from a word to after it"),
        (None, [[(0, 2, "QP")]], ValueError, "has a label that the grammar has not"),
        (None, [[(0, 2, ["NP"])]], ValueError, "has a label that the grammar has not"),
        (None, [[(0, 2), (1, 3)]], ValueError, r"\(0, 2\) and \(1, 3\) cross"),
    ],
)
def test_what_is_given_is_proved(tags, brackets, error, message):
    with pytest.raises(error, match=message):
        PCFG().fit(TREES).predict([["the", "dog", "sleeps"]], tags=tags, brackets=brackets)


def test_labels_over_one_span_that_are_too_many_are_refused():
    labels = [f"L{number}" for number in range(12)]
    rules = [f"{a} -> {b} [0.5] | 'x' [0.5]" for a, b in zip(labels, labels[1:] + labels[:1], strict=True)]
    grammar = PCFG.from_rules("\n".join(rules))
    with pytest.raises(ValueError, match="12 labels are given over one span"):
        grammar.predict([["x"]], brackets=[[(0, 1, label) for label in labels]])
    assert str(grammar.predict([["x"]], brackets=[[(0, 1, "L3"), (0, 1, "L1")]])[0]).startswith("(L0 (L1 (L2 (L3 x")


def test_chains_through_labels_are_kept_as_far_as_memory_goes(monkeypatch):
    trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NN it))))", "(S (VP (NP (NN it))))", "(X (S (NP (NN it))))"]
    X = [["it"]] * 6
    brackets = [[(0, 1, label) for label in labels.split()] for labels in ("S", "S NP", "NP", "VP NP", "S", "X")]
    wanted = PCFG().fit(trees)
    found = wanted.predict_marginals(X, brackets=brackets)
    assert len(wanted._learnt.charts._labelled) == 5
    monkeypatch.setattr(charts, "MAX_PAIRS", 1)
    grammar = PCFG().fit(trees)
    assert grammar.predict_marginals(X, brackets=brackets) == found
    assert len(grammar._learnt.charts._labelled) == 1
    assert grammar.predict(X, brackets=brackets) == wanted.predict(X, brackets=brackets)
