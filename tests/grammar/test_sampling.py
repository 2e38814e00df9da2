"""Trees and grammars that are drawn: as often as they are probable."""

import math
import re
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastlin
from fastlin.grammar import PCFG, Tree
from fastlin.sequence import HMM
from oracles.grammar import Production, as_text, derivations
from support.estimators import refused

FINITE = """
S -> A B [0.5] | A [0.2] | B A A [0.3]
A -> 'x' [0.6] | 'y' [0.3] | B [0.1]
B -> 'y' [0.7] | 'x' 'z' [0.3]
"""
TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN hat)))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)))",
]


def surprise(counts: Counter[str], p: dict[str, float], n: int) -> float:
    """p-value of χ² of what was drawn; what is rare counts as one."""
    often = [tree for tree in p if n * p[tree] >= 5]
    observed = [counts[tree] for tree in often]
    wanted = [n * p[tree] for tree in often]
    rest = n - sum(wanted)
    if rest > 1e-6 * n:
        observed.append(n - sum(observed))
        wanted.append(rest)
    if len(observed) == 1:
        return float(observed == [n])
    return float(stats.chisquare(observed, np.array(wanted) * (sum(observed) / sum(wanted))).pvalue)


def test_trees_come_as_often_as_they_are_probable():
    grammar, n = PCFG.from_rules(FINITE), 20_000
    trees = grammar.sample(n, random_state=0)
    counts = Counter(map(str, trees))
    p = {text: math.exp(grammar.log_joint([text])[0]) for text in counts}
    assert sum(p.values()) == pytest.approx(1, abs=1e-9)  # all trees that there are have come
    assert surprise(counts, p, n) > 1e-3
    assert not set(map(str, grammar.sample(50, random_state=1))) - set(p)


@st.composite
def finite_grammars(draw: st.DrawFn) -> list[Production]:
    """Grammars of few trees: children come after their parents."""
    rules, symbols = [], ("S", "A", "B")
    for place, left in enumerate(symbols):
        rights = [((word,), True) for word in sorted(draw(st.sets(st.sampled_from("xy"), min_size=1)))]
        if below := symbols[place + 1 :]:
            rights += [((child,), False) for child in sorted(draw(st.sets(st.sampled_from(below))))]
            pairs = st.tuples(st.sampled_from(below), st.sampled_from(below))
            rights += [(pair, False) for pair in sorted(draw(st.sets(pairs)))]
        shares = [draw(st.integers(1, 9)) for _ in rights]
        rules += [Production(left, *right, share / sum(shares)) for right, share in zip(rights, shares, strict=True)]
    return rules


@given(finite_grammars())
def test_sentences_come_as_often_as_their_trees_are_probable(rules):
    grammar, n = PCFG.from_rules(as_text(rules)), 400
    trees = grammar.sample(n, random_state=3)
    p = {}
    for words in {tuple(tree.leaves()) for tree in trees}:
        p |= {text: p for p, text in derivations(rules, "S", list(words), 3)}
    assert set(map(str, trees)) <= set(p)
    assert surprise(Counter(map(str, trees)), p, n) > 1e-7


def test_log_p_of_what_is_drawn_averages_to_minus_the_entropy():
    p_end = 0.6
    grammar, n = PCFG.from_rules("S -> S S [0.4] | 'a' [0.3] | 'b' [0.3]"), 20_000
    trees = grammar.sample(n, random_state=0)
    log_p = grammar.log_joint(trees)
    steps = 1 / (1 - 2 * 0.4)  # expected symbols: x = 1 + 0.8 x
    entropy = steps * -(0.4 * math.log(0.4) + 2 * 0.3 * math.log(0.3))
    assert -log_p.mean() == pytest.approx(entropy, abs=5 * log_p.std() / math.sqrt(n))
    words = np.array([len(tree.leaves()) for tree in trees])
    assert words.mean() == pytest.approx(steps * p_end, abs=5 * words.std() / math.sqrt(n))


def test_counted_grammars_make_trees_that_they_can_parse():
    grammar = PCFG().fit(TREES)
    trees = grammar.sample(50, random_state=0)
    assert np.isfinite(grammar.log_joint(trees)).all()
    assert {word for tree in trees for word in tree.leaves()} <= set(grammar.words_)
    assert all(tree.label == "S" for tree in trees)


def test_rare_words_share_what_unknown_ones_have():
    trees = ["(S (A often) (B rare))"] * 8 + [f"(S (A word{i}) (B rare))" for i in range(2)]
    grammar = PCFG(vertical=1, rare_count=1, word_alpha=0, tag_alpha=0).fit(trees)
    n = 4000
    drawn = Counter(tree.leaves()[0] for tree in grammar.sample(n, random_state=0))
    assert drawn["often"] == pytest.approx(0.8 * n, rel=0.05)
    assert drawn["word0"] == pytest.approx(0.1 * n, rel=0.2)
    assert set(drawn) == {"often", "word0", "word1"}


def test_a_hidden_markov_model_draws_its_sentences():
    X = [["the", "dog"], ["a", "dog", "barks"]]
    model = HMM(unknown="uniform", alpha=0.0).fit(X, [["D", "N"], ["D", "N", "V"]])
    grammar, n = PCFG.from_hmm(model), 4000
    drawn = Counter(" ".join(tree.leaves()) for tree in grammar.sample(n, random_state=0, max_length=4))
    texts = [" ".join(words) for length in range(1, 5) for words in product(grammar.words_, repeat=length)]
    p = np.exp(model.score_samples([text.split() for text in texts]))
    assert surprise(drawn, dict(zip(texts, p / p.sum(), strict=True)), n) > 1e-4


def test_trees_that_are_too_long_are_drawn_anew():
    grammar, n = PCFG.from_rules("S -> S S [0.5] | 'a' [0.5]"), 6000
    with refused(grammar, ValueError, match="trees of this grammar may never end: its symbols have 1 times as many"):
        grammar.sample(1)
    lengths = Counter(len(tree.leaves()) for tree in grammar.sample(n, random_state=0, max_length=4))
    p = {1: 0.5, 2: 0.125, 3: 2 * 0.5**5, 4: 5 * 0.5**7}
    assert surprise(lengths, {length: value / sum(p.values()) for length, value in p.items()}, n) > 1e-4
    endless = PCFG.from_rules("S -> S S [0.9] | 'a' 'b' 'c' [0.1]")
    with pytest.raises(ValueError, match="10000 trees in a row have more than max_length=2 words"):
        endless.sample(1, random_state=0, max_length=2)
    wordless = PCFG.from_rules("S -> S S [1.0]")
    with pytest.raises(ValueError, match="10000 trees in a row have more than max_length=2 words"):
        wordless.sample(1, random_state=0, max_length=2)


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ("S -> S S [0.7] | 'a' [0.3]", "1.4 times as many"),
        ("S -> A B [0.5] | 'a' [0.5]\nA -> S S [1.0]\nB -> 'b' [1.0]", "may never end: its symbols have 1 times"),
        ("S -> A B [1.0]\nA -> S S [1.0]\nB -> 'b' [1.0]", "may never end"),
        ("S -> A [0.5] | 'a' [0.5]\nA -> A [1.0]", "circle of probability 1"),
    ],
)
def test_grammars_that_do_not_end_are_refused(rules, match):
    with pytest.raises(ValueError, match=match):
        PCFG.from_rules(rules).sample(3, random_state=0)


def test_what_no_sentence_has_may_be_endless():
    grammar = PCFG.from_rules("S -> 'a' [1.0] | A A [0.0]\nA -> A A [0.9] | 'a' [0.1]")
    assert list(map(str, grammar.sample(3, random_state=0))) == ["(S a)"] * 3


def test_parameters_are_checked():
    grammar = PCFG.from_rules(FINITE)
    for options in ({"n_samples": 0}, {"max_length": 0}, {"random_state": -1}):
        with refused(grammar, ValueError, match=next(iter(options))):
            grammar.sample(**options)
    assert list(map(str, grammar.sample(5, 3))) == list(map(str, grammar.sample(5, 3)))


# --- Dirichlet priors ------------------------------------------------------------------------------------------------

LEFT = "S -> 'a' [0.2] | 'b' [0.3] | S S [0.1] | A [0.4]\nA -> 'a' [1.0]"


def test_pseudo_counts_are_added_by_the_base_measure():
    trees = ["(S (A x) (B y))", "(S (A x) (B y))", "(S (A x) (C y))", "(S (A x))"]
    options = {"vertical": 1, "split_tags": False, "unknown": None}
    measures = {("S", ("A", "B")): 2.0, ("S", ("A", "C")): 0.5}
    for measure in (measures, lambda left, right: measures.get((left, right), 0.0)):
        grammar = PCFG(alpha=3.0, base_measure=measure, **options).fit(trees)
        found = {rule[:2]: math.exp(rule[2]) for rule in grammar.rules_}
        total = 4 + 3 * 2.5
        assert found == pytest.approx(
            {("S", ("A", "B")): 8 / total, ("S", ("A", "C")): 2.5 / total, ("S", ("A",)): 1 / total}
        )
    assert (
        PCFG(alpha=3.0, **options).fit(trees).rules_
        == PCFG(alpha=1.0, base_measure=lambda *_: 3, **options).fit(trees).rules_
    )


@pytest.mark.parametrize("value", [-1, math.inf, math.nan, "x", None])
def test_base_measures_that_are_none_are_refused(value):
    with refused(
        model := PCFG(alpha=1.0, base_measure=lambda *_: value),
        ValueError,
        match="base_measure of .* must be a number from 0",
    ):
        model.fit(TREES)
    with refused(model := PCFG(alpha=1.0, base_measure=3.0), match="base_measure"):
        model.fit(TREES)


@pytest.mark.parametrize("key", [("S^", ("A",)), ("S", "S S"), ("A", ("S",)), "S", None])
def test_a_base_measure_of_rules_that_are_none_is_refused(key):
    with refused(
        grammar := PCFG.from_rules(LEFT, alpha=1.0, base_measure={("S", ("S", "S")): 1.0, key: 1.0}),
        ValueError,
        match=f"base_measure: {re.escape(repr(key))} is no rule of the grammar",
    ):
        grammar.sample_prior(0)


def test_pseudo_counts_that_have_no_sum_are_refused():
    for options in ({"alpha": 1e300}, {"alpha": 1e200, "base_measure": lambda *_: 1e200}):
        with (
            np.errstate(over="ignore"),
            refused(model := PCFG(**options), ValueError, match="add up to 1e\\+290 at most"),
        ):
            model.fit(TREES)


def test_drawn_probabilities_are_dirichlets():
    grammar = PCFG.from_rules(
        LEFT, alpha=2.0, base_measure={("S", ("S", "S")): 1.5, ("S", ("A",)): 0.25, ("S", ()): 1.0, ("A", ()): 1.0}
    )
    drawn = []
    for seed in range(3000):
        found = {rule[:2]: math.exp(rule[2]) for rule in grammar.sample_prior(seed).rules_}
        drawn.append([found["S", ("S", "S")], found["S", ("A",)]])
    values, a, total = np.array(drawn), np.array([3.0, 0.5]), 5.5
    assert values.mean(axis=0) == pytest.approx(a / total, abs=0.02)
    assert values.var(axis=0) == pytest.approx(a * (total - a) / (total**2 * (total + 1)), rel=0.15)
    assert stats.kstest(values[:, 0], stats.beta(3.0, 2.5).cdf).pvalue > 1e-3


def test_small_alphas_leave_one_rule_of_each_left_side():
    for alpha in (1e-3, 1e-12, 1e-300):
        grammar = PCFG.from_rules(LEFT, alpha=alpha)
        chosen = Counter()
        for seed in range(100):
            state = grammar.sample_prior(seed)._state_of_fit
            p = np.exp(np.concatenate([state.log_weights.binary, state.log_weights.unary, state.log_weights.tags[:2]]))
            assert np.isfinite(p).all()
            chosen[int(p[:3].argmax())] += p.max() > 0.99
        assert sum(chosen.values()) > 90
    assert len(chosen) >= 2


def test_a_drawn_grammar_is_a_grammar(tmp_path):
    grammar = PCFG(alpha=0.5).fit(TREES)
    drawn = grammar.sample_prior(0)
    assert drawn.get_params() == grammar.get_params()
    assert drawn.words_ == grammar.words_
    assert [rule[:2] for rule in sorted(drawn.rules_)] == [rule[:2] for rule in sorted(grammar.rules_)]
    totals = Counter()
    state = drawn._state_of_fit
    for table, weights in zip(
        (state.rules.binary, state.rules.unary, state.rules.tags.reshape(-1, 1)), state.log_weights, strict=False
    ):
        for (left, *_), weight in zip(table.tolist(), weights.tolist(), strict=True):
            totals[left] += math.exp(weight)
    assert list(totals.values()) == pytest.approx([1.0] * len(totals))
    fastlin.save(drawn, tmp_path / "grammar.fastlin")
    assert fastlin.load(tmp_path / "grammar.fastlin").rules_ == drawn.rules_
    assert grammar.sample_prior(0).rules_ == drawn.rules_ != grammar.sample_prior(1).rules_


def test_a_base_measure_goes_into_model_files(tmp_path):
    grammar = PCFG(alpha=0.5, base_measure={PCFG().fit(TREES).rules_[0][:2]: 2.0}).fit(TREES)
    fastlin.save(grammar, tmp_path / "grammar.fastlin")
    assert fastlin.load(tmp_path / "grammar.fastlin").base_measure == grammar.base_measure


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({}, "alpha times base_measure is 0 for all rules of S"),
        ({"alpha": 1.0, "base_measure": {("A", ()): 1.0}}, "is 0 for all rules of S: none can be drawn"),
        ({"alpha": 1e-305}, "must be 0 or at least 1e-300"),
    ],
)
def test_priors_of_which_nothing_can_be_drawn_are_refused(parameters, match):
    with refused(grammar := PCFG.from_rules(LEFT, **parameters), ValueError, match=match):
        grammar.sample_prior(0)


def test_em_takes_pseudo_counts_by_the_base_measure():
    """An iteration adds α ρ to what is expected."""
    rules, X = "S -> S S [0.4] | A [0.2] | 'x' [0.4]\nA -> 'x' [1.0]", [["x", "x", "x"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = PCFG.from_rules(rules, max_iter=1).fit_unlabeled(X)._state_of_fit.counts
        measure = {("S", ("S", "S")): 4.0, ("S", ("A",)): 1.0}
        model = PCFG.from_rules(rules, max_iter=1, alpha=0.5, base_measure=measure).fit_unlabeled(X)
    (binary,), (unary,), tags = plain.binary + 2.0, plain.unary + 0.5, plain.tags
    total = binary + unary + tags[model._state_of_fit.rules.tags == 0][0]
    found = {rule[:2]: math.exp(rule[2]) for rule in model.rules_}
    assert found == pytest.approx({("S", ("S", "S")): binary / total, ("S", ("A",)): unary / total})
    assert Tree.from_string("(S x)").leaves() == ["x"]
