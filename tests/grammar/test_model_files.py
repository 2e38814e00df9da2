"""Grammars in files: the same bits come back, and what is no grammar is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastlin
from fastlin import storage
from fastlin.grammar import PCFG
from fastlin.sequence import HMM
from support.golden_files import TREES

RULES = "S -> 'a' S 'b' [0.25] | S S [0.25] | 'a' 'b' 'c' [0.125] | T [0.375]\nT -> 'b' [1.0] | U V W [0.0]\n"
RULES += "U -> 'u' [1.0]\nV -> 'v' [1.0]\nW -> 'w' [1.0]"
WORDS = [["the", "dog", "ran"], ["a", "cat"], ["the", "cat", "ran", "home"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V", "N"]]
SENTENCES = ["the dog sleeps", "a a b b b", "the cat ran", "zebras", ""]


def counted(**parameters: Any) -> PCFG:
    return PCFG(**parameters).fit(TREES)


def of_states(order: int, stop: bool) -> PCFG:
    return PCFG.from_hmm(HMM(order=order, stop=stop, unknown="suffix").fit(WORDS, TAGS))


GRAMMARS: dict[str, Callable[[], PCFG]] = {
    "counted": counted,
    "plain": lambda: counted(vertical=1, horizontal=None, unknown=None, split_tags=False, decoding="viterbi"),
    "smoothed": lambda: counted(alpha=0.5, unknown="suffix", vertical=3, horizontal=0),
    "rules": lambda: PCFG.from_rules(RULES),
    "log-linear": lambda: counted(rules="loglinear", max_iter=9),
    "by EM": lambda: PCFG(vertical=1, max_iter=3).fit_unlabeled(["the dog sees a cat", "she sleeps"], trees=TREES),
    "random, by EM": lambda: PCFG(n_symbols=3, vertical=1, max_iter=3, random_state=0).fit_unlabeled(WORDS),
    "unlabeled": lambda: PCFG(n_symbols=3, vertical=1, random_state=0, max_iter=200, tol=0.1).fit_unlabeled(WORDS),
    "unlabeled, closed": lambda: PCFG.from_rules(RULES, tol=0.1).fit_unlabeled([["b"], ["a", "b", "c"], ["b", "b"]]),
    **{
        f"states, order {order}{', stop' * stop}": lambda order=order, stop=stop: of_states(order, stop)
        for order in (1, 2)
        for stop in (True, False)
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "grammar.fastlin"


@pytest.mark.filterwarnings("ignore:.*sentences have no tree", "ignore:.*did not converge")
@pytest.mark.parametrize("name", GRAMMARS)
def test_a_grammar_comes_back_with_the_same_bits(path: Path, name: str) -> None:
    grammar = GRAMMARS[name]()
    fastlin.save(grammar, path)
    before = path.read_bytes()
    loaded = fastlin.load(path)
    assert loaded.get_params() == grammar.get_params()
    for name in ("bound_", "history_", "converged_", "n_iter_", "objective_"):
        np.testing.assert_equal(vars(loaded).get(name), vars(grammar).get(name))
    assert (loaded.symbols_, loaded.rules_, loaded.words_) == (grammar.symbols_, grammar.rules_, grammar.words_)
    assert loaded.score_samples(SENTENCES).tobytes() == grammar.score_samples(SENTENCES).tobytes()
    found, wanted = loaded.predict(SENTENCES), grammar.predict(SENTENCES)
    assert list(found) == list(wanted)
    assert found.log_joint.tobytes() == wanted.log_joint.tobytes()
    assert loaded.predict_nbest(SENTENCES, 4) == grammar.predict_nbest(SENTENCES, 4)
    assert loaded.predict_marginals(SENTENCES) == grammar.predict_marginals(SENTENCES)
    trees = [tree for tree in grammar.predict(SENTENCES) if tree is not None]
    assert loaded.log_joint(trees).tobytes() == grammar.log_joint(trees).tobytes()
    assert getattr(loaded, "history_", None) == getattr(grammar, "history_", None)
    fastlin.save(loaded, path)
    assert path.read_bytes() == before


@pytest.mark.filterwarnings("ignore:.*did not converge", "ignore:.*left out")
@pytest.mark.parametrize("name", GRAMMARS)
def test_learning_goes_on_with_the_same_bits(path: Path, name: str) -> None:
    grammar = GRAMMARS[name]().set_params(max_iter=2, random_state=1)
    fastlin.save(grammar, path)
    loaded = fastlin.load(path)
    sentences = ["the cat sleeps", "a a b b b", "the cat ran"]
    assert loaded.fit_unlabeled(sentences).rules_ == grammar.fit_unlabeled(sentences).rules_
    fastlin.save(grammar, path)
    assert fastlin.load(path).rules_ == grammar.rules_
    assert fastlin.load(path).score_samples(sentences).tobytes() == grammar.score_samples(sentences).tobytes()


def test_a_hidden_markov_model_that_learns_on_leaves_its_grammar_alone(path: Path) -> None:
    hmm = HMM(unknown="suffix").fit(WORDS, TAGS)
    grammar = PCFG.from_hmm(hmm)
    before = grammar.score_samples(SENTENCES[:1])
    hmm.fit([["other", "words"]], [["X", "Y"]])
    fastlin.save(grammar, path)
    assert fastlin.load(path).score_samples(SENTENCES[:1]) == before == grammar.score_samples(SENTENCES[:1])


Learnt, Arrays = dict[str, Any], dict[str, Any]


def set_first(name: str, value: Any) -> Callable[[Learnt, Arrays], None]:
    def change(_: Learnt, arrays: Arrays) -> None:
        array = np.array(arrays[f"PCFG.{name}"])
        array.reshape(-1)[0] = value
        arrays[f"PCFG.{name}"] = array

    return change


def reorder(name: str) -> Callable[[Learnt, Arrays], None]:
    return lambda _, arrays: arrays.update({f"PCFG.{name}": np.ascontiguousarray(arrays[f"PCFG.{name}"][::-1])})


def entry(learnt: Learnt, *names: str) -> list[Any]:
    """[name, value] of what a dict of the file holds."""
    found: Any = learnt
    for name in names:
        pairs = found["dict"] if found is not learnt else [[key, value] for key, value in learnt.items()]
        pair = next(pair for pair in pairs if pair[0] == name)
        found = pair[1]
    return pair


def set_entry(*names: str, value: Any) -> Callable[[Learnt, Arrays], None]:
    def change(learnt: Learnt, _: Arrays) -> None:
        if len(names) == 1:
            learnt[names[0]] = value
        else:
            entry(learnt, *names)[1] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_first("rules.binary", 99), "binary must hold values from 0 to"),
        (set_first("rules.unary", -1), "unary must hold values from 0 to"),
        (reorder("rules.binary"), "binary must be sorted by children and parent, no rule twice"),
        (reorder("rules.unary"), "unary must be sorted by children and parent, no rule twice"),
        (set_first("rules.tags", 99), "tags must hold numbers that rise"),
        (set_first("log_weights.binary", np.nan), "the probabilities of the rules of each left side"),
        (set_first("log_weights.binary", np.inf), "the probabilities of the rules of each left side"),
        (set_first("log_weights.tags", 1.0), "the probabilities of the rules of each left side"),
        (set_first("log_weights.roots", -np.inf), "and of roots, must sum to 1"),
        (set_first("counts.binary", -1.0), "counts of binary must hold counts"),
        (set_first("lexicon.tags", 0), "tags of words must be tags of the grammar"),
        (set_first("lexicon.counts", np.inf), "counts of words must hold counts"),
        (set_first("lexicon.starts", 1), "starts of words must hold offsets"),
        (set_first("symbols.labels", 99), "labels must hold values from -1"),
        (set_first("symbols.above", -1), "above must hold values from 0"),
        (set_first("symbols.labels", -1), "what has no label is a word, and has no rules|roots must be whole"),
        (reorder("symbols.unfinished"), "what is still to come|all must differ|roots must be whole"),
        (set_entry("flat", value=[]), "flat must be a list of labels"),
        (set_entry("lexicon", "words", value=["the"] * 11), "words must be a list of strings that all differ"),
        (set_entry("lexicon", "options", "unknown", value="guess"), "options: unknown must be"),
        (set_entry("lexicon", "options", "alpha", value=-1.0), "options: alpha must be"),
        (set_entry("lexicon", value={"dict": [["hmm", 3]]}), "hmm must be a fitted HMM of words"),
    ],
)
def test_what_is_no_grammar_is_refused(path: Path, change: Callable[[Learnt, Arrays], None], message: str) -> None:
    fastlin.save(counted(), path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    change(header["model"]["learnt"], arrays)
    storage.write_archive(path, "model", header, arrays)
    with pytest.raises(storage.ModelFileError, match=message):
        fastlin.load(path)


def test_probabilities_sum_to_two_only_where_an_hmm_has_no_stop(path: Path) -> None:
    fastlin.save(of_states(1, stop=False), path)
    header, arrays = storage.read_archive(path, "model", mmap=False)
    entry(header["model"]["learnt"], "lexicon", "hmm")[1]["model"]["parameters"]["stop"] = True
    storage.write_archive(path, "model", header, arrays)
    with pytest.raises(storage.ModelFileError, match="must sum to 1"):
        fastlin.load(path)


@pytest.mark.parametrize(
    ("constituent", "table"),
    [("(A{} w{})", "its words under tags"), ("(A{} (B{} x))", "its chains of unary rules")],
)
def test_a_file_says_what_memory_its_dense_tables_take(path: Path, constituent: str, table: str) -> None:
    trees = [f"(S {constituent.format(place, place)} (C x))" for place in range(800)]
    fastlin.save(PCFG(rare_count=0, unknown=None, split_tags=False).fit(trees), path)
    assert len(fastlin.load(path).words_) in (1, 801)
    with pytest.raises(storage.ModelFileError, match=f"with {table}, the file asks for"):
        fastlin.load(path, max_bytes=5_000_000)


@pytest.mark.parametrize("options", [{"dtype": "float16"}, {"prune": 0.1}])
def test_a_grammar_has_no_weights_to_quantise(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="dtype and prune are for weights, of which this PCFG has none"):
        fastlin.save(counted(), path, **options)


def test_a_grammar_that_was_not_fitted_is_not_saved(path: Path) -> None:
    with pytest.raises(ValueError, match="has not been fitted"):
        fastlin.save(PCFG(), path)
