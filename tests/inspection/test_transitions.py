"""What is listed of a model of sequences is what it computes with."""

import json

import numpy as np
import pytest

from fastlin import Perceptron
from fastlin.inspection import TransitionWeights, explain, summary, top_features, transitions
from fastlin.sequence import HMM, MEMM
from fastlin.text.templates import Column, Templates

X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"], ["cats", "ran"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]


@pytest.fixture(scope="module", params=[1, 2])
def model(request):
    return MEMM(C=10, order=request.param).fit(X, Y)


def test_transitions_are_sorted_and_of_labels_that_are_there(model):
    found = transitions(model)
    assert found.labels == ("D", "N", "V")
    assert found.order == model.order
    strong, weak = found.strongest(1000), found.weakest(1000)
    weights = [one.weight for one in strong]
    assert weights == sorted(weights, reverse=True) == [one.weight for one in weak][::-1]
    assert len(strong) == np.count_nonzero(model.transitions_)
    names = [*found.labels, None]
    for before, label, weight in strong:
        assert model.transitions_[(*(names.index(one) for one in before), names.index(label))] == weight
    assert found.strongest(2) == strong[:2]
    assert found.strongest(0) == []


def test_transitions_of_some_labels(model):
    found = transitions(model)
    own = found.strongest(1000, ["D"])
    assert own == [one for one in found.strongest(1000) if "D" in (*one.before, one.label)]
    assert 0 < len(own) < len(found.strongest(1000)) or model.order == 1
    with pytest.raises(ValueError, match="the model has no label 'X'; it has D, N, V"):
        found.strongest(3, ["X"])


def test_features_have_their_names(model):
    strongest = {one.label: one for one in top_features(model, 3)}
    assert strongest["D"].names[0] in ("the", "a")
    column = model.attributes_.index("the")
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    weights = dict(zip(strongest["D"].names, strongest["D"].weights, strict=True))
    assert weights["the"] == pytest.approx(coef[0, column])
    assert summary(model).features == len(model.attributes_)
    assert summary(model).labels == ("D", "N", "V")


WEIGHTS = TransitionWeights(("B", "I", "O"), np.array([[0.5, 2.0, -1.0], [0.0, 3.25, 1.0], [0.25, -np.inf, 0.0]]))


def test_small_matrices_are_shown_whole():
    assert str(WEIGHTS).splitlines() == [
        "from  to",
        "         B     I      O",
        "B     0.50  2.00  -1.00",
        "I     0.00  3.25   1.00",
        "O     0.25  -inf   0.00",
        "",
        "strongest transitions",
        "      3.2500  I → I",
        "      2.0000  B → I",
        "      1.0000  I → O",
        "      0.5000  B → B",
        "      0.2500  O → B",
        "     -1.0000  B → O",
    ]
    assert WEIGHTS.shown(1).splitlines()[6:] == [
        "strongest transitions",
        "      3.2500  I → I",
        "",
        "weakest transitions",
        "     -1.0000  B → O",
    ]


def test_two_labels_before_are_a_list():
    weights = np.zeros((3, 2, 2))
    weights[2, 0, 1], weights[0, 1, 1] = 2.0, 1.0
    text = str(TransitionWeights(("a", "b"), weights))
    assert text.splitlines() == [
        "strongest transitions",
        "      2.0000  (start) → a → b",
        "      1.0000  a → b → b",
    ]


def test_plain_types_have_no_infinity():
    found = json.loads(json.dumps(WEIGHTS.as_dict(), allow_nan=False))
    assert found == {"labels": ["B", "I", "O"], "weights": [[0.5, 2.0, -1.0], [0.0, 3.25, 1.0], [0.25, None, 0.0]]}
    order2 = TransitionWeights(("a",), np.ones((2, 1, 1))).as_dict()
    assert order2["weights"] == [[[1.0]], [[1.0]]]


def test_models_without_transitions_are_refused():
    with pytest.raises(TypeError, match="Perceptron is not a fitted model of sequences: it has no transitions"):
        transitions(Perceptron().fit([[1.0], [2.0]], [0, 1]))
    with pytest.raises(TypeError, match="MEMM is not a fitted model"):
        transitions(MEMM())


def test_sequences_are_not_explained_label_by_label(model):
    with pytest.raises(TypeError, match="the labels of a sequence depend on each other"):
        explain(model, ["the", "dog"])


def test_templates_are_a_part_of_their_own():
    templates = Templates([Column(0, "w")[place] for place in range(-9, 10)])
    first, second = summary(MEMM(features=templates).fit(X, Y)).parts
    assert str(first).startswith("Templates(templates=[w[-9], w[-8], ")
    assert str(first).endswith("…)")
    assert len(str(first)) <= 104
    assert str(second) == "MEMM()"


def test_a_hidden_markov_model_has_probabilities():
    model = HMM(alpha=0.1).fit(X, Y)
    np.testing.assert_array_equal(transitions(model).weights, model.transmat_)
    logs = np.log(model.emissionprob_)
    (found,) = top_features(model, 2, ["D"])
    places = [model.attributes_.index(name) for name in found.names]
    np.testing.assert_allclose(found.weights, (logs - logs.mean(axis=0))[0, places])
    assert set(found.names) == {"the", "a"}
