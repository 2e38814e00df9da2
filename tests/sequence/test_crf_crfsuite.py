"""CRFsuite's optimum is ours on the same features, and what it says of sequences at its weights."""

import copy

import numpy as np
import pytest
from scipy import sparse

from fastlin.sequence import CRF, StructuredPerceptron
from fastlin.sequence.crfsuite_names import PARAMETERS
from support.crfsuite import train
from support.sequences import fit, items, problem, stacked

CASES = {
    "default": ({}, {}),
    "weak prior": ({"c2": 0.01}, {"c2": 0.01}),
    "dense": ({"weights": "dense"}, {"feature.possible_states": 1, "feature.possible_transitions": 1}),
    "transitions": ({"transitions": "dense"}, {"feature.possible_transitions": 1}),
    "states": ({"weights": "dense", "transitions": "observed"}, {"feature.possible_states": 1}),
    "cutoff": ({"cutoff": 4}, {"feature.minfreq": 4}),
    "L1": ({"c1": 0.7}, {"c1": 0.7}),
    "L1 only": ({"c1": 0.5, "c2": 0.0}, {"c1": 0.5, "c2": 0.0}),
}
beside_crfsuite = pytest.mark.peer("pycrfsuite")


def data(name):
    """Of ones and zeros where CRFsuite sums up values."""
    X, y = problem(60, n_features=20, n_labels=4, longest=10, seed=sorted(CASES).index(name))
    return [x > 0 for x in X] if name == "cutoff" else X, y


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    """(X, y, our model, CRFsuite's) of the same parameters."""
    ours, theirs = CASES[request.param]
    X, y = data(request.param)
    model = fit(CRF(**{"c2": 1.0, "tol": 1e-7, "max_iter": 5000, **ours}), X, y)
    peer = train(X, y, tmp_path_factory.mktemp("crfsuite") / "model", **{"c1": 0, "c2": 1.0, **theirs})
    return X, y, model, peer


def tables(model):
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    return coef, model.transitions_


@beside_crfsuite
def test_the_optimum_is_crfsuites(pair):
    X, _, model, peer = pair
    np.testing.assert_allclose(model.objective_, peer.loss, rtol=1e-6)
    assert model.objective_ <= peer.loss * (1 + 1e-9) + 1e-6
    if model.c2:  # else there are many
        for found, expected in zip(tables(model), peer.tables(4, X[0].shape[1]), strict=True):
            np.testing.assert_allclose(found, expected, atol=5e-3)


@beside_crfsuite
def test_our_code_says_of_crfsuites_weights_what_crfsuite_says(pair):
    """Read to six decimals."""
    X, y, model, peer = pair
    coef, transitions = peer.tables(4, X[0].shape[1])
    other, (rows, lengths) = copy.copy(model), stacked(X)
    other.coef_, other.transitions_ = coef, transitions
    values = other.log_proba(rows, np.concatenate(y), lengths=lengths)
    np.testing.assert_allclose(values, [peer.log_proba(x, codes) for x, codes in zip(X, y, strict=True)], atol=1e-4)
    for x, p in zip(X, other.predict_marginals(rows, lengths=lengths), strict=True):
        np.testing.assert_allclose(p, peer.marginals(x, 4), atol=1e-5)
    assert other.predict(rows, lengths=lengths) == [peer.predict(x) for x in X]
    theta = np.concatenate([coef.ravel(), transitions.ravel()])
    objective = -values.sum() + model.c2 * (theta @ theta) + model.c1 * np.abs(theta).sum()
    np.testing.assert_allclose(objective, peer.loss, rtol=1e-6)


@beside_crfsuite
def test_the_pairs_with_weights_are_those_of_crfsuite(pair):
    """c1 makes zeros, of which one near the border may be another's small weight."""
    X, _, model, peer = pair
    small = 0.02 if model.c1 else 1e-5
    for found, expected in zip(tables(model), peer.tables(4, X[0].shape[1]), strict=True):
        assert expected[np.abs(found) > small].all()
        assert found[np.abs(expected) > small].all()


@beside_crfsuite
def test_weights_by_name_are_those_of_crfsuite(tmp_path):
    X, y = data("default")
    model = CRF(c2=1.0, tol=1e-7, max_iter=5000).fit([items(x) for x in X], [[str(code) for code in own] for own in y])
    coef, transitions = train(X, y, tmp_path / "model", c1=0, c2=1.0).tables(4, X[0].shape[1])
    states = {(f"f{j}", str(k)): coef[k, j] for k, j in zip(*np.nonzero(coef), strict=True)}
    moves = {(str(i), str(j)): transitions[i, j] for i, j in zip(*np.nonzero(transitions), strict=True)}
    assert {name: value for name, value in model.state_features_.items() if abs(value) > 1e-5}.keys() <= states.keys()
    assert model.state_features_ == pytest.approx(states, abs=5e-3)
    assert model.transition_features_ == pytest.approx(moves, abs=5e-3)


def test_columns_without_names_are_numbers():
    X, y = data("default")
    model = fit(CRF(), X, y)
    assert {feature for feature, _ in model.state_features_} <= set(range(X[0].shape[1]))
    assert fit(StructuredPerceptron(max_iter=1), X, y).state_features_.keys()


@beside_crfsuite
def test_crfsuite_leaves_out_pairs_whose_values_add_up_to_less_than_nothing(tmp_path):
    """As the page of sequences says; here they have weights."""
    X, y = data("default")
    negative = [np.where(np.arange(x.shape[1]) < 5, -x, x) for x in X]
    coef, _ = train(negative, y, tmp_path / "model", c1=0, c2=1.0).tables(4, X[0].shape[1])
    model = fit(CRF(c2=1.0, tol=1e-7, max_iter=5000), negative, y)
    assert not coef[:, :5].any()
    assert coef[:, 5:].any()
    assert model.coef_[:, :5].count_nonzero()
    assert model.objective_ < fit(CRF(c2=1.0, tol=1e-7, max_iter=5000), [x[:, 5:] for x in X], y).objective_


@pytest.mark.parametrize("make", [CRF, StructuredPerceptron])
@pytest.mark.parametrize("name", [name for name in PARAMETERS if name != "c"])
def test_parameters_of_crfsuite_are_answered(make, name):
    with pytest.raises(TypeError, match=f"has no {name}=; instead: "):
        make(**{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword"):
        make(nothing_of_this_kind=1)


def test_one_sequence_by_crfsuites_names():
    X, y = data("default")
    tokens = [items(x) for x in X]
    model = CRF().fit(tokens, [[str(code) for code in own] for own in y])
    assert model.predict_single(tokens[0]) == model.predict(tokens)[0]
    (p,) = model.predict_marginals(tokens[:1])
    assert model.predict_marginals_single(tokens[0]) == [dict(zip("0123", row, strict=True)) for row in p.tolist()]
