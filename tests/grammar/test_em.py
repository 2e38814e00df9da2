"""EM for grammars against derivatives, enumeration, counted trees and Baum and Welch's numbers."""

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastlin.grammar import PCFG, Tree
from fastlin.sequence import HMM
from oracles.grammar import Production, agrees_with_brackets, as_text, derivations, em_iteration, inside
from support.estimators import interrupted_after, refused, snapshot
from support.resuming import check_other_fits, check_what_is_said_is_proved, stop_after_each_record

SYMBOLS, WORDS = ("S", "A", "B"), ("x", "y")
ALL_SHORT = [list(words) for n in (1, 2, 3) for words in itertools.product(WORDS, repeat=n)]
TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)))",
    "(S (NP (PRP she)) (VP (VBZ sleeps)))",
]
RAW = ["the cat sees the dog with a hat", "a dog sleeps", "she sees a small telescope", "the small cat sleeps"]
EXACT = {"unknown": None, "word_alpha": 0.0, "tag_alpha": 0.0}
AMBIGUOUS = "S -> S S [0.4] | A [0.1] | 'x' [0.3] | 'y' [0.2]\nA -> S A [0.3] | 'y' [0.7]"


@st.composite
def grammars(draw: st.DrawFn, circles: bool = True) -> list[Production]:
    """Small grammars with unary rules, in circles or not."""
    rules = []
    for place, left in enumerate(SYMBOLS):
        children = SYMBOLS if circles else SYMBOLS[place + 1 :]
        rights = (
            [((child,), False) for child in sorted(draw(st.sets(st.sampled_from(children), max_size=2)))]
            if children
            else []
        )
        pairs = st.tuples(st.sampled_from(SYMBOLS), st.sampled_from(SYMBOLS))
        rights += [(pair, False) for pair in sorted(draw(st.sets(pairs, max_size=3)))]
        rights += [((word,), True) for word in sorted(draw(st.sets(st.sampled_from(WORDS), min_size=1)))]
        shares = [draw(st.integers(1, 9)) for _ in rights]
        rules += [
            Production(left, right, is_word, share / sum(shares))
            for (right, is_word), share in zip(rights, shares, strict=True)
        ]
    return rules


texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=4)


def never_falls(model):
    assert np.all(np.diff(model.bound_) >= 0)
    assert [record["objective"] for record in model.history_] == (-model.bound_).tolist()
    assert model.n_iter_ == len(model.bound_) - 1


def quiet(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit_unlabeled(*data, **options)


@given(grammars(), texts)
def test_an_iteration_makes_what_derivatives_say(rules, X):
    X = [words for words in X if inside(rules, "S", words) > 1e-12]
    assume(X)
    model = quiet(PCFG.from_rules(as_text(rules), max_iter=1, tol=0), X)
    wanted = em_iteration(rules, "S", X)
    for words in ALL_SHORT:
        p = inside(wanted, "S", words)
        assert math.exp(model.score_samples([words])[0]) == pytest.approx(p, rel=1e-6, abs=1e-9)
    assert model.bound_[0] == pytest.approx(sum(math.log(inside(rules, "S", words)) for words in X), rel=1e-9)
    assert model.bound_[1] == pytest.approx(model.score_samples(X).sum(), rel=1e-9, abs=1e-9)


@given(grammars(), texts, st.sampled_from([0.0, 0.5]))
def test_the_bound_never_falls(rules, X, alpha):
    assume(any(inside(rules, "S", words) > 1e-12 for words in X))
    model = quiet(PCFG.from_rules(as_text(rules), max_iter=12, tol=0, alpha=alpha), X)
    never_falls(model)
    before = PCFG.from_rules(as_text(rules)).score_samples(X)
    if alpha == 0:
        assert model.score_samples(X)[before > -np.inf].sum() >= before[before > -np.inf].sum() - 1e-9


def productions_of(model):
    """The rules of a grammar with closed words, as the oracle has them, and how often each was counted."""
    state = model._state_of_fit
    names, lexicon = model.symbols_, state.lexicon
    found, counts = [], []
    for table, logs, numbers in (
        (state.rules.binary, state.log_weights.binary, state.counts.binary),
        (state.rules.unary, state.log_weights.unary, state.counts.unary),
    ):
        for (left, *right), log_p, count in zip(table.tolist(), logs, numbers, strict=True):
            found.append(Production(names[left], tuple(names[child] for child in right), False, math.exp(log_p)))
            counts.append(count)
    log_tags = dict(zip(state.rules.tags.tolist(), state.log_weights.tags, strict=True))
    for word in lexicon.words:
        scores = lexicon([word])
        for tag, score in zip(scores.symbol.tolist(), scores.score, strict=True):
            found.append(Production(names[tag], (word,), True, math.exp(score + log_tags[tag])))
            counts.append(lexicon.counts[word][tag])
    return found, counts


@pytest.mark.parametrize("parameters", [{"vertical": 1, "horizontal": 0, "split_tags": False}, {"horizontal": 1}])
def test_trees_and_text_are_counted_together(parameters):
    parameters |= EXACT
    counted = PCFG(**parameters).fit(TREES)
    rules, counts = productions_of(counted)
    X = [sentence.split() for sentence in RAW if counted.score_samples([sentence])[0] > -np.inf]
    assert len(X) >= 2
    root = str(counted.symbols_[counted._state_of_fit.rules.roots[0]])
    wanted = {rule[:2]: rule.p for rule in em_iteration(rules, root, X, counts)}
    model = quiet(PCFG(max_iter=1, tol=0, **parameters), X, TREES)
    found, _ = productions_of(model)
    assert {rule[:2]: rule.p for rule in found if rule.p} == pytest.approx(
        {rule: p for rule, p in wanted.items() if p}, abs=1e-7
    )
    assert model.bound_[0] == pytest.approx(counted.log_joint(TREES).sum() + counted.score_samples(X).sum(), rel=1e-9)
    assert model.bound_[1] == pytest.approx(model.log_joint(TREES).sum() + model.score_samples(X).sum(), rel=1e-9)
    never_falls(quiet(PCFG(tol=0, max_iter=20, alpha=0.3, **parameters), X, TREES))


def test_trees_alone_are_a_count():
    counted, model = PCFG().fit(TREES), quiet(PCFG(max_iter=3, tol=0), [], TREES)
    assert model.rules_ == counted.rules_
    assert model.score_samples(RAW).tolist() == counted.score_samples(RAW).tolist()


@pytest.mark.parametrize("iterations", [1, 2, 9])
def test_of_a_right_linear_grammar_em_is_baum_and_welchs(iterations):
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks", "a"], ["a"]]
    rng = np.random.default_rng(0)
    steps = rng.dirichlet(np.ones(4), 3)
    init = {
        "startprob": rng.dirichlet(np.ones(3)), "transmat": steps[:, :3], "stopprob": steps[:, 3],
        "emissionprob": rng.dirichlet(np.ones(6), 3),
    }  # fmt: skip

    def baum_welch(n):
        options = {"alpha": 0, "transition_alpha": 0, "n_components": 3, "unknown": "uniform", "tol": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return HMM(init=init, max_iter=n, **options).fit(X)

    wanted = baum_welch(1 + iterations)
    model = quiet(PCFG.from_hmm(baum_welch(1), max_iter=iterations, tol=0), X)
    assert model.bound_ == pytest.approx(wanted.bound_[1:], rel=1e-10)
    assert model.score_samples(X) == pytest.approx(wanted.score_samples(X), rel=1e-9)
    rules = {(left, right): math.exp(log_p) for left, right, log_p in model.rules_}
    for i, j in itertools.product(range(3), repeat=2):
        assert rules[f"{i}→", (f"{i}", f"{j}→")] == pytest.approx(wanted.transmat_[i, j], rel=1e-9, abs=1e-15)
    assert [rules[f"{i}→", (f"{i}",)] for i in range(3)] == pytest.approx(wanted.stopprob_, rel=1e-9, abs=1e-15)


# --- partial brackets ------------------------------------------------------------------------------------------------


@st.composite
def bracketed(draw: st.DrawFn) -> Tree:
    """A sentence with some brackets, with labels or without."""
    label = st.sampled_from(["", "_", *SYMBOLS])
    children: list[Tree | str] = list(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 3))):
        first = draw(st.integers(0, len(children) - 1))
        last = draw(st.integers(first + 1, len(children)))
        children[first:last] = [Tree(draw(label), children[first:last])]
    return Tree("", children)


@given(grammars(circles=False), bracketed())
def test_brackets_leave_the_derivations_that_agree_with_them(rules, tree):
    brackets = [(label.replace("_", ""), first, last) for label, first, last in tree.spans()]
    total = math.fsum(
        p
        for p, text in derivations(rules, "S", tree.leaves(), len(SYMBOLS))
        if agrees_with_brackets(Tree.from_string(text).spans(), brackets)
    )
    model = PCFG.from_rules(as_text(rules), max_iter=5, tol=0)
    if total < 1e-12:
        with refused(model, ValueError, match="1 of 1 sentences have no derivation"):
            model.fit_unlabeled(brackets=[tree])
        return
    quiet(model, brackets=[tree])
    assert model.bound_[0] == pytest.approx(math.log(total), rel=1e-9, abs=1e-9)
    never_falls(model)


@pytest.mark.parametrize(
    "text", ["(_ x x)", "(_ (B x) x)", "(A (_ x) (A x))", "(B (A (S x x)))", "(_ (A (B x)) (_ (A x)))"]
)
def test_chains_through_labels_are_counted(text):
    """Unary rules in circles: against all derivations of which no chain is longer than counts."""
    rules = [
        Production("S", ("A",), False, 0.4), Production("S", ("S", "S"), False, 0.3),
        Production("S", ("x",), True, 0.3), Production("A", ("B",), False, 0.2),
        Production("A", ("S", "B"), False, 0.3), Production("A", ("x",), True, 0.5),
        Production("B", ("A",), False, 0.2), Production("B", ("x",), True, 0.8),
    ]  # fmt: skip
    tree, wanted, total = Tree.from_string(text), Counter(), 0.0
    brackets = [(label.replace("_", ""), first, last) for label, first, last in tree.spans()]
    for p, found in derivations(rules, "S", tree.leaves(), 24):
        one = Tree.from_string(found)
        if agrees_with_brackets(one.spans(), brackets):
            total += p
            for node in one.subtrees():
                wanted[node.label, tuple(child.label for child in node.children if isinstance(child, Tree))] += p
    model = quiet(PCFG.from_rules(as_text(rules), max_iter=1, tol=0), brackets=[tree])
    state, names = model._state_of_fit, model.symbols_
    tables = [*state.rules.binary.tolist(), *state.rules.unary.tolist(), *state.rules.tags.reshape(-1, 1).tolist()]
    counts = np.concatenate([state.counts.binary, state.counts.unary, state.counts.tags]).tolist()
    counted = {
        (names[left], tuple(names[child] for child in right)): count
        for (left, *right), count in zip(tables, counts, strict=True)
    }
    assert model.bound_[0] == pytest.approx(math.log(total), abs=1e-9)
    assert counted == pytest.approx({rule: wanted[rule] / total for rule in counted}, abs=1e-9)


def test_whole_trees_as_brackets_are_counted():
    parameters = {"vertical": 1, "horizontal": 1, "split_tags": False, **EXACT}
    counted = PCFG(**parameters).fit(TREES[:2])
    model = quiet(PCFG(max_iter=1, **parameters).fit(TREES[:2]), brackets=TREES[:2])
    assert [rule[:2] for rule in model.rules_] == [rule[:2] for rule in counted.rules_]
    assert [rule[2] for rule in model.rules_] == pytest.approx([rule[2] for rule in counted.rules_], abs=1e-9)


@pytest.mark.parametrize("text", ["(_ (_ (_ x y) y) y)", "(_ x (_ y (_ y y)))", "(_ (_ x y) (_ y y))"])
def test_brackets_decide_what_is_learnt(text):
    model = quiet(random_grammar(decoding="viterbi", max_iter=200), brackets=[text] * 3)
    (tree,) = model.predict([Tree.from_string(text).leaves()])
    found = {(first, last) for _, first, last in tree.spans() if last > first + 1}
    assert found == {(first, last) for _, first, last in Tree.from_string(text).spans()}
    never_falls(model)


# --- random grammars -------------------------------------------------------------------------------------------------


def random_grammar(**parameters):
    return PCFG(**{"n_symbols": 3, "vertical": 1, "random_state": 0, "max_iter": 8, "tol": 0.0, **EXACT, **parameters})


PAIRS = [["a"] * n + ["b"] * n for n in (1, 2, 3, 1, 2, 1)]


def test_random_grammars_begin_anew_and_the_best_is_kept():
    one = [quiet(random_grammar(random_state=seed), PAIRS) for seed in range(3)]
    assert len({model.bound_[-1] for model in one}) == 3
    many = quiet(random_grammar(n_init=4), PAIRS)
    assert many.bound_[-1] >= one[0].bound_[-1]
    assert many.bound_[-1] == pytest.approx(many.score_samples(PAIRS).sum(), rel=1e-9)
    assert one[0].bound_.tolist() == quiet(random_grammar(), PAIRS).bound_.tolist()
    for model in (*one, many):
        never_falls(model)


def test_a_random_grammar_learns_that_as_many_bs_as_as_come():
    model = quiet(random_grammar(n_symbols=4, n_init=20, max_iter=300, tol=1e-6), PAIRS)
    wrong = [["a", "a", "b"], ["a", "b", "b"], ["b", "a"], ["a", "b", "a", "b"], ["a", "a", "b", "b", "b"]]
    assert model.score_samples([*wrong]).max() < -10
    assert model.bound_[-1] > -7
    assert np.isfinite(model.score_samples([["a"] * 5 + ["b"] * 5])[0])


def test_words_that_are_rare_stand_for_unknown_ones():
    model = quiet(PCFG(n_symbols=2, vertical=1, random_state=0, rare_count=1, max_iter=5), [*PAIRS, ["a", "c"]])
    assert np.isfinite(model.score_samples([["a", "zebra"]])[0])


# --- the fit ---------------------------------------------------------------------------------------------------------


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr("fastlin.grammar.inside_outside_em.JOB_WORK", 20)
    one, two = (quiet(random_grammar(n_jobs=n_jobs), PAIRS * 5) for n_jobs in (1, 3))
    assert one.bound_.tobytes() == two.bound_.tobytes()
    assert one.rules_ == two.rules_


def test_a_callback_sees_the_model_and_may_end_the_fit():
    seen = []

    def callback(model, record):
        seen.append((record["iteration"], model.score_samples(PAIRS).sum(), -record["objective"]))
        return record["iteration"] == 3

    model = random_grammar(callback=callback).fit_unlabeled(PAIRS)
    assert [place for place, _, _ in seen] == [0, 1, 2, 3]
    assert [found for _, found, _ in seen[1:]] == pytest.approx([wanted for _, _, wanted in seen[1:]], rel=1e-9)
    assert model.n_iter_ == 3


def test_an_error_in_the_callback_leaves_everything_as_it_was():
    model = PCFG.from_rules(AMBIGUOUS, callback=lambda *_: 1 / 0)
    with refused(model, ZeroDivisionError):
        model.fit_unlabeled([["x", "y"]])
    assert not hasattr(model, "bound_")


@pytest.mark.timing
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("delay", [0.05, 0.6])
def test_ctrl_c_ends_a_fit_and_leaves_the_grammar_as_it_was(n_jobs, delay):
    model = quiet(random_grammar(n_symbols=8, max_iter=1, n_jobs=n_jobs), PAIRS)
    before = snapshot(model)
    model.set_params(max_iter=10**6)
    X = [["a"] * 30 + ["b"] * 30] * 200
    assert interrupted_after(delay, lambda: model.fit_unlabeled(X)) < 0.5
    model.set_params(max_iter=1)
    assert snapshot(model) == before


def test_sentences_without_a_derivation_are_left_out_or_an_error():
    X = [["x", "y"], ["z"], []]
    with pytest.warns(
        UserWarning, match=r"2 of 3 sentences have no derivation, the first is 1: 'z'; they are left out"
    ):
        model = PCFG.from_rules(AMBIGUOUS, max_iter=1, tol=1e9).fit_unlabeled(X)
    assert model.bound_[1] == pytest.approx(model.score_samples(X[:1])[0], rel=1e-9)
    strict = PCFG.from_rules(AMBIGUOUS, unparsed="error")
    with refused(strict, ValueError, match=r"2 of 3 sentences have no derivation, the first is 1: 'z'"):
        strict.fit_unlabeled(X)


@pytest.mark.parametrize(
    ("parameters", "data", "error", "match"),
    [
        ({}, ([["a"]],), ValueError, "no grammar to begin with"),
        ({"n_symbols": 2}, ([["a"]],), ValueError, "vertical=2, but symbols of a random grammar know no parent"),
        ({"n_symbols": 2, "vertical": 1}, ([],), ValueError, "there is nothing to learn from: no sentence and no tree"),
        ({"n_symbols": 2, "vertical": 1}, ([[]],), ValueError, "1 of 1 sentences have no derivation"),
        ({"n_symbols": 2, "vertical": 1}, ("a b",), TypeError, "X must be a list of sentences"),
        ({"n_symbols": 3000, "vertical": 1}, ([["a"]],), MemoryError, "n_symbols=3000 have rules that take"),
        ({"n_symbols": 2, "vertical": 1, "max_memory": 9000}, ([["a"] * 50],), MemoryError, "max_memory allows 9000"),
        ({"n_symbols": 2, "vertical": 1}, ([], None, ["(NP a)"]), ValueError, "tree 0: the grammar has no label 'NP'"),
        ({"n_symbols": 0}, ([["a"]],), ValueError, "n_symbols"),
        ({"n_init": 0}, ([["a"]],), ValueError, "n_init"),
        ({"max_iter": 0}, ([["a"]],), ValueError, "max_iter"),
        ({"tol": -1}, ([["a"]],), ValueError, "tol"),
        ({}, ([], []), ValueError, "0 trees, none of which has a word"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(parameters, data, error, match):
    with refused(model := PCFG(**parameters), error, match=match):
        model.fit_unlabeled(*data)


class Unlabeled(PCFG):
    """EM as `fit`, and what it learns as an array."""

    def fit(self, X, **options):
        return self.fit_unlabeled(X, **options)

    @property
    def probabilities_(self):
        state = self._state_of_fit
        return np.concatenate([*state.log_weights, state.lexicon(state.lexicon.words).score])


@pytest.mark.parametrize("n_init", [1, 2])
def test_a_fit_goes_on_from_every_checkpoint(n_init, tmp_path):
    def make(**more):
        parameters = {"vertical": 1, "max_iter": 5, "tol": 0.0, "random_state": 1, **EXACT}
        return Unlabeled(n_symbols=2, n_init=n_init, **(parameters | more))

    path = tmp_path / "checkpoint"
    stop_after_each_record(make, ("bound_", "probabilities_", "objective_"), (PAIRS,), path)
    changes = [
        ("random_state was 1, now 2", {"random_state": 2}, None, {}),
        ("text was", {}, (PAIRS[:-1],), {}),
        ("brackets was", {}, None, {"brackets": ["(_ a b)"]}),
        ("words was", {}, ([["a", "c"]],), {}),
    ]
    check_other_fits(make, (PAIRS,), path, changes)
    check_what_is_said_is_proved(make, (PAIRS,), path, {"seconds"})


def test_a_fit_of_another_start_is_another_fit(tmp_path):
    path, X = tmp_path / "checkpoint", [["x", "y", "y"]]
    quiet(PCFG.from_rules(AMBIGUOUS, max_iter=3), X, checkpoint=path, checkpoint_interval=0)
    other = PCFG.from_rules(AMBIGUOUS.replace("0.4", "0.35").replace("0.1]", "0.15]"), max_iter=3)
    with refused(other, ValueError, match="another fit: .*start binary was"):
        other.fit_unlabeled(X, checkpoint=path, resume=True)
