"""Charts against enumeration: the best derivation, the sum over all, the n best, and what is expected in them."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.engine.core.interruption import WatchedFlag
from fastlin.grammar import PCFG, Tree
from oracles.grammar import Production, as_text, derivations, inside
from support.estimators import interrupted_after

SYMBOLS, WORDS = ("S", "A", "B"), ("x", "y")
MAX_CHAIN = 4  # unary rules in a row that are enumerated
UNARY = 0.1  # how often a symbol of a random grammar is made by one
REST = UNARY**MAX_CHAIN


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


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


@given(grammars(), sentences)
def test_inside_is_the_sum_over_all_derivations(rules: list[Production], words: list[str]) -> None:
    total = math.fsum(p for p, _ in derivations(rules, "S", words, MAX_CHAIN))
    found = math.exp(PCFG.from_rules(as_text(rules)).score_samples([words])[0])
    assert total <= found * (1 + 1e-9)
    assert found == pytest.approx(inside(rules, "S", words), rel=1e-10, abs=0)


@given(grammars(), sentences)
def test_viterbi_and_the_n_best_are_the_most_probable_derivations(rules: list[Production], words: list[str]) -> None:
    grammar, wanted = PCFG.from_rules(as_text(rules), unparsed="flat"), derivations(rules, "S", words, MAX_CHAIN)
    (found,) = grammar.predict_nbest([words], 6)
    sure = [p for p, _ in wanted[:6] if p > wanted[0][0] * UNARY]  # longer chains are less probable than these
    assert np.exp(found.log_joint[: len(sure)]) == pytest.approx(sure, rel=1e-9)
    assert len({str(tree) for tree in found}) == len(found)
    assert np.all(np.diff(found.log_joint) <= 1e-12)
    if wanted:
        assert np.exp(grammar.predict([words]).log_joint[0]) == pytest.approx(wanted[0][0], rel=1e-9)
        texts = {text: p for p, text in wanted}
        for tree, log_p in zip(found, found.log_joint, strict=True):
            assert texts.get(str(tree), math.exp(log_p)) == pytest.approx(math.exp(log_p), rel=1e-9)


@given(grammars(), sentences)
def test_expected_constituents_are_those_of_the_derivations(rules: list[Production], words: list[str]) -> None:
    all_of_them = derivations(rules, "S", words, MAX_CHAIN)
    grammar = PCFG.from_rules(as_text(rules))
    (found,) = grammar.predict_marginals([words], 0.0)
    if not all_of_them:
        assert found == []
        return
    wanted: Counter[tuple[str, int, int]] = Counter()
    for p, text in all_of_them:
        for span in Tree.from_string(text).spans():
            wanted[span] += p
    total = math.exp(grammar.score_samples([words])[0])
    slack = 100 * REST
    for label, start, stop, expected in found:
        assert expected == pytest.approx(wanted[label, start, stop] / total, rel=slack, abs=slack)
    for span, p in wanted.items():
        assert p / total <= sum(one.expected for one in found if one[:3] == span) + 1e-9


@given(grammars(), st.lists(st.sampled_from(WORDS), min_size=60, max_size=75))
def test_a_long_sentence_has_as_many_tags_as_words(rules: list[Production], words: list[str]) -> None:
    grammar = PCFG.from_rules(as_text(rules))
    log_sum = grammar.score_samples([words])[0]
    parses = grammar.predict_nbest([words], 2)[0]
    if log_sum == -np.inf:
        assert parses == []
        return
    assert parses.log_joint[0] <= log_sum + 1e-9
    assert grammar.log_joint(parses) == pytest.approx(parses.log_joint, rel=1e-12)


def test_a_circle_of_probability_one_has_no_sum() -> None:
    grammar = PCFG.from_rules("S -> A [1.0]\nA -> B [1.0]\nB -> A [1.0]\nC -> 'x' [1.0]")
    with pytest.raises(ValueError, match=r"circle of probability 1: A → B → A|circle of probability 1: B → A → B"):
        grammar.score_samples([["x"]])


@pytest.mark.parametrize(("p", "there"), [(1e-299, True), (1e-301, False), (1e-310, False), (5e-324, False)])
def test_rules_that_are_next_to_impossible_are_summed_or_are_none(p: float, there: bool) -> None:
    grammar = PCFG.from_rules(f"S -> A A [0.5] | 'x' [0.5]\nA -> A B [{p}] | 'x' [1.0]\nB -> 'y' [1.0]")
    (log_sum,), (found,) = grammar.score_samples(["x x y"]), grammar.predict_marginals(["x x y"])
    assert log_sum == (pytest.approx(math.log(0.5) + math.log(p), rel=1e-12) if there else -np.inf)
    assert [one.expected for one in found] == pytest.approx([1.0] * 5 * there)


def test_sentences_of_a_thousand_words() -> None:
    grammar = PCFG.from_rules("S -> 'a' S [0.5] | 'b' [0.5]")
    words = ["a"] * 999 + ["b"]
    assert grammar.score_samples([words])[0] == pytest.approx(1000 * math.log(0.5), rel=1e-12)
    (tree,) = grammar.predict([words])
    assert tree is not None
    assert tree.leaves() == words
    assert tree.depth() == 1000
    (best,) = grammar.predict_nbest([words], 3)
    assert list(best) == [tree]


def test_a_chart_that_is_too_large_is_refused_before_it_is_made() -> None:
    grammar = PCFG.from_rules("S -> S S [0.5] | 'a' [0.5]", max_memory=1 << 20)
    with pytest.raises(MemoryError, match=r"10000 words and 1 symbols takes \d+ bytes: max_memory allows 1048576"):
        grammar.predict([["a"] * 10_000])


def test_chains_of_too_many_symbols_are_refused_before_memory_is_taken() -> None:
    deep = "".join(f"(S{number} " for number in range(100_000)) + "(N a)" + ")" * 100_000
    grammar = PCFG(vertical=1).fit([deep])
    assert np.isfinite(grammar.log_joint([deep])).all()
    for ask in (grammar.predict, grammar.predict_nbest, grammar.score_samples, grammar.predict_marginals):
        with pytest.raises(MemoryError, match=r"unary rules join 100001 symbols.* at most 8192"):
            ask(["a"])


@pytest.mark.parametrize("method", ["predict", "predict_nbest", "predict_marginals", "score_samples"])
@pytest.mark.parametrize("decoding", ["recall", "viterbi"])
def test_a_chart_ends_with_the_job_that_makes_it(method: str, decoding: str) -> None:
    grammar = PCFG.from_rules("S -> S S [0.5] | 'a' [0.5]", decoding=decoding)
    with WatchedFlag(np.ones(1, np.int32)), pytest.raises(InterruptedError):
        getattr(grammar, method)([["a"] * 100])


@pytest.mark.timing
@pytest.mark.parametrize("method", ["predict", "predict_nbest", "predict_marginals", "score_samples"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_parsing_of_long_sentences(method: str, n_jobs: int) -> None:
    names = [f"A{number}" for number in range(40)]
    rules = [f"{a} -> {a} {names[i - 1]} [0.3] | {names[i - 7]} {a} [0.3] | 'a' [0.4]" for i, a in enumerate(names)]
    grammar = PCFG.from_rules("\n".join(rules), n_jobs=n_jobs)
    assert interrupted_after(0.5, lambda: getattr(grammar, method)([["a"] * 1000] * 4)) < 0.5
