"""The oracle on trial: sums over paths that can be done by hand, derivatives are numerical ones, CRFsuite's optimum."""

from types import SimpleNamespace

import numpy as np
import pytest

from oracles.chain import CRF, Paths, forward_backward, viterbi
from support.crfsuite import train
from support.derivatives import derivative
from support.sequences import problem

LAYOUTS = [{}, {"order": 2}, {"edges": (1, 2)}, {"weights": "dense"}, {"order": 2, "cutoff": 2}]


def chain(K, order, rng):
    end = (K,) if order == 1 else (K + 1, K)
    shapes = {"start": (K,), "transitions": (*end, K), "end": end}
    return SimpleNamespace(**{name: rng.normal(size=shape) for name, shape in shapes.items()})


def test_paths_of_two_tokens_by_hand():
    one = SimpleNamespace(start=np.log([1, 2]), transitions=np.log([[1, 3], [5, 1]]), end=np.log([1, 7]))
    paths = Paths(one, np.log([[1, 1], [1, 11]]))
    # 00: 1·1·1, 01: 1·3·11·7, 10: 2·5·1, 11: 2·1·11·7
    np.testing.assert_allclose(np.exp(paths.values), [1, 231, 10, 154])
    np.testing.assert_allclose(np.exp(paths.log_z), 396)
    tokens, start, transitions, end = paths.expected()
    np.testing.assert_allclose(396 * tokens, [[232, 164], [11, 385]])
    np.testing.assert_allclose(396 * start, [232, 164])
    np.testing.assert_allclose(396 * transitions, [[1, 231], [10, 154]])
    np.testing.assert_allclose(396 * end, [11, 385])
    np.testing.assert_allclose(np.exp(paths.best(3)), [231, 154, 10])


def test_three_tokens_of_order_two_have_three_kinds_of_history():
    rng = np.random.default_rng(0)
    one, scores, offsets = chain(2, 2, rng), rng.normal(size=(3, 2)), rng.normal(size=(3, 3, 2))
    value = scores[0, 1] + scores[1, 0] + scores[2, 0] + one.start[1] + one.end[0, 0]
    value += one.transitions[2, 1, 0] + one.transitions[1, 0, 0] + offsets[1, 2, 1] + offsets[2, 1, 0]
    np.testing.assert_allclose(Paths(one, scores, offsets=offsets).value((1, 0, 0)), value)


def test_the_recurrences_are_sums_over_paths():
    rng = np.random.default_rng(0)
    one, scores = chain(3, 1, rng), rng.normal(size=(5, 3))
    paths, (marginals, log_z) = Paths(one, scores), forward_backward(one, scores)
    np.testing.assert_allclose(log_z, paths.log_z)
    np.testing.assert_allclose(marginals, paths.expected()[0])
    np.testing.assert_allclose(viterbi(one, scores), paths.best()[0])


@pytest.mark.parametrize("options", LAYOUTS)
def test_derivatives_are_numerical_derivatives(options):
    twin = CRF(*problem(), 3, c2=0.3, **options)
    theta = np.where(twin.kept, np.random.default_rng(3).normal(size=twin.n_parameters), 0)
    np.testing.assert_allclose(
        twin.gradient(theta)[twin.kept], derivative(twin.objective, theta)[twin.kept], rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("options", LAYOUTS)
def test_nothing_near_the_optimum_is_better(options):
    twin, rng = CRF(*problem(), 3, c1=0.5, c2=0.1, **options), np.random.default_rng(0)
    theta = twin.optimum()
    assert (theta[~twin.kept] == 0).all()
    assert 0 < (theta[twin.kept] == 0).sum() < twin.kept.sum()
    for step in rng.normal(size=(50, twin.n_parameters)) * twin.kept * 1e-3:
        assert twin.objective(theta + step) > twin.objective(theta)


PEER = {
    "observed": ({}, {}),
    "dense": ({"weights": "dense"}, {"feature.possible_states": 1, "feature.possible_transitions": 1}),
    "cutoff": ({"cutoff": 5}, {"feature.minfreq": 5}),
    "L1": ({"c1": 0.7}, {"c1": 0.7}),
}


@pytest.mark.peer("pycrfsuite")
@pytest.mark.parametrize("case", PEER)
def test_the_optimum_is_that_of_crfsuite(case, tmp_path):
    ours, theirs = PEER[case]
    X, y = problem()
    X = [x > 0 for x in X] if case == "cutoff" else X  # its values add up to its frequency
    twin = CRF(X, y, 3, c2=0.4, **ours)
    peer = train(X, y, tmp_path / "model", **{"c2": 0.4, "c1": 0, **theirs})
    coef, transitions = peer.tables(3, twin.V)
    best = twin.optimum()
    np.testing.assert_allclose(peer.loss, twin.objective(best), rtol=1e-6)
    np.testing.assert_allclose(np.concatenate([coef.ravel(), transitions.ravel()]), best, atol=2e-3)
