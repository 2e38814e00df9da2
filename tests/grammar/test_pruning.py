"""Pruning: what says that it is exact is, the rest is a tree of the grammar, and what pruning loses is parsed again."""

import numpy as np
import pytest

from fastlin.grammar import PCFG

RULES = """
S -> NP VP [0.7] | VP NP [0.3]
NP -> NP NP [0.2] | 'fish' [0.4] | 'people' [0.3] | 'tanks' [0.1]
VP -> VP NP [0.5] | NP VP [0.1] | 'fish' [0.3] | 'people' [0.1]
"""
WORDS = ("fish", "people", "tanks")


def sentences(n=40):
    rng = np.random.default_rng(0)
    return [rng.choice(WORDS, rng.integers(1, 9)).tolist() for _ in range(n)]


def parse(decoding, pruning, threshold=10.0, n_jobs=None):
    grammar = PCFG.from_rules(
        RULES, decoding=decoding, pruning=pruning, pruning_threshold=threshold, recall_threshold=0.3, n_jobs=n_jobs
    )
    with pytest.warns(UserWarning, match="have no tree"):
        return grammar, grammar.predict(sentences())


@pytest.mark.parametrize("decoding", ["viterbi", "recall"])
def test_a_beam_that_leaves_nothing_out_changes_nothing(decoding):
    _, wanted = parse(decoding, None)
    _, found = parse(decoding, "beam", 1e3)
    assert wanted.exact.all()
    assert found.exact.all()
    assert list(found) == list(wanted)
    assert found.log_joint.tobytes() == wanted.log_joint.tobytes()


@pytest.mark.parametrize("decoding", ["viterbi", "recall"])
@pytest.mark.parametrize("threshold", [0.5, 1.0, 1.5, 3.0])
def test_what_is_said_to_be_exact_is(decoding, threshold):
    grammar, wanted = parse(decoding, None)
    _, found = parse(decoding, "beam", threshold)
    assert found.exact.any()
    assert not found.exact.all()
    assert found.unparsed == wanted.unparsed
    for place, exact in enumerate(found.exact):
        if exact:
            assert found[place] == wanted[place]
        if decoding == "viterbi" and place not in found.unparsed:
            assert found.log_joint[place] == pytest.approx(grammar.log_joint([found[place]])[0], rel=1e-12)
            assert found.log_joint[place] <= wanted.log_joint[place] + 1e-12


def test_a_narrow_beam_misses_the_best_tree():
    _, wanted = parse("viterbi", None)
    _, found = parse("viterbi", "beam", 0.5)
    there = np.isfinite(wanted.log_joint)
    assert (found.log_joint[there] < wanted.log_joint[there] - 0.1).any()


@pytest.mark.parametrize("decoding", ["viterbi", "recall"])
def test_what_pruning_leaves_no_tree_of_is_parsed_again(decoding):
    rules = "S -> A B [1.0]\nA -> 'x' [0.01] | 'y' [0.99]\nB -> 'x' [0.9] | 'z' [0.1]"
    parses = PCFG.from_rules(rules, decoding=decoding, pruning="beam", pruning_threshold=1.0).predict([["x", "z"]])
    assert list(map(str, parses)) == ["(S (A x) (B z))"]
    assert parses.exact.all()
    assert parses.unparsed == []


def test_threads_change_no_bit():
    (_, one), (_, two) = (parse("recall", "beam", 1.0, n_jobs) for n_jobs in (1, 2))
    assert list(one) == list(two)
    assert one.exact.tolist() == two.exact.tolist()


def test_only_trees_that_are_predicted_are_pruned():
    exact, pruned = (parse("viterbi", pruning, 0.5)[0] for pruning in (None, "beam"))
    assert pruned.score_samples(sentences()).tobytes() == exact.score_samples(sentences()).tobytes()
    assert pruned.predict_nbest(sentences(), 3) == exact.predict_nbest(sentences(), 3)
    assert pruned.predict_marginals(sentences()) == exact.predict_marginals(sentences())


@pytest.mark.parametrize(
    ("name", "value"), [("pruning", "coarse"), ("pruning_threshold", 0.0), ("pruning_threshold", np.nan)]
)
def test_parameters_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        PCFG.from_rules(RULES, **{name: value})
