"""Trees of the constituents that are expected most: what stands above all of a sentence."""

import numpy as np
import pytest

from fastlin.grammar import PCFG, SpanCRF

TREES = [
    *["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))"] * 3,
    "(FRAG (DT the) (NN dog))",
    "(UH yes)",
    "(INTJ (INTJ no))",
    "(S (VP (VB go)))",
]


@pytest.mark.parametrize("cleaned", [True, False])
@pytest.mark.parametrize("make", [PCFG, SpanCRF])
def test_a_sentence_has_the_root_that_is_expected_most(make, cleaned):
    options = {"rare_count": 0, "remove_functions": cleaned, "remove_traces": cleaned}
    grammar = make(**options, **({"min_count": 1, "random_state": 0} if make is SpanCRF else {})).fit(TREES)
    sentences = ["the cat sleeps", "the dog", "yes", "no", "go"]
    found = grammar.predict(sentences)
    assert list(map(str, found)) == [TREES[0], *TREES[3:]]
    assert (found.log_joint > -np.inf).all()
    assert list(map(str, grammar.set_params(decoding="viterbi").predict(sentences))) == list(map(str, found))
