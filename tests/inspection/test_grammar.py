"""What is listed of a grammar is what it parses with."""

import json
import math

import pytest

from fastlin import Perceptron
from fastlin.grammar import PCFG
from fastlin.inspection import grammar, language, summary

TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP (PRP she)) (VP (VBZ sleeps)))",
]


def test_rules_are_those_of_the_model_by_falling_probability():
    model = PCFG(vertical=2).fit(TREES)
    found = grammar(model, 1000)
    listed = {(one.symbol, right): p for one in found.symbols for right, p in one.rules}
    expected = {(left, " ".join(right)): math.exp(weight) for left, right, weight in model.rules_}
    assert listed == pytest.approx(expected)
    assert (found.n_symbols, found.n_rules, found.n_words) == (len(model.symbols_), model.n_rules_, len(model.words_))
    uses = [one.uses for one in found.symbols]
    assert uses == sorted(uses, reverse=True)
    for one in found.symbols:
        assert [p for _, p in one.rules] == sorted((p for _, p in one.rules), reverse=True)
        assert one.words + sum(p for _, p in one.rules) == pytest.approx(1)
    assert [len(one.rules) for one in grammar(model, 2).symbols] == [min(2, one.n_rules) for one in found.symbols[:2]]


def test_symbols_are_counted_and_chosen_by_name_or_label():
    found = grammar(PCFG(vertical=2, split_tags=False).fit(TREES), symbols=["NP^VP", "S"])
    assert [(one.symbol, one.uses) for one in found.symbols] == [("S", 3), ("NP^VP", 2)]
    assert grammar(PCFG().fit(TREES), symbols=["NP"]).symbols[0].symbol == "NP^S"
    assert {one.symbol for one in grammar(PCFG().fit(TREES), symbols=["NP"]).symbols} == {
        "NP^S", "NP^VP", "NP^PP", "@NP^VP[DT]",
    }  # fmt: skip
    (tag,) = grammar(PCFG().fit(TREES), symbols=["PRP"]).symbols
    assert (tag.uses, tag.words, tag.n_rules, tag.rules) == (1, 1, 0, ())
    with pytest.raises(ValueError, match="the grammar has no symbol 'NX'"):
        grammar(PCFG().fit(TREES), symbols=["NX"])


def test_a_summary_is_printed_and_plain():
    found = grammar(PCFG(alpha=0.5).fit(TREES))
    assert str(found).startswith("model     PCFG(alpha=0.5)\nsymbols ")
    assert json.loads(json.dumps(found.as_dict()))["part"] == {"name": "PCFG", "parameters": {"alpha": 0.5}}


def test_other_functions_say_which_one_describes_a_grammar():
    model = PCFG().fit(TREES)
    for other in (summary, language):
        with pytest.raises(TypeError, match=r"fastlin\.inspection\.grammar describes it"):
            other(model)
    with pytest.raises(TypeError, match=r"Perceptron is no grammar; fastlin\.inspection\.summary describes it"):
        grammar(Perceptron().fit([[1.0], [0.0]], ["a", "b"]))
