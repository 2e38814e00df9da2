"""Blocks of a feature's weights: kernels and the model against the same with dense matrices."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import group_descent as kernels
from fastlin.optim.design import Design
from fastlin.optim.group_model import GroupModel
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.quadratic_model import Columns
from fastlin.optim.solvers import owlqn
from fastlin.optim.weight_groups import WeightGroups
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel
from fastlin.validation import as_rows

seeds = st.integers(0, 10_000)


def bound(dtype, seed, whole):
    """A matrix with the weights of some of its columns, of all labels or of some, bound for the kernels."""
    rng, K = np.random.default_rng(seed), 4
    X = sparse.random_array((17, 9), density=0.4, rng=rng, format="csc").astype(dtype)
    view = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    features = rng.integers(0, 9, 6).astype(np.int32)
    kept = [np.flatnonzero(whole | (rng.random(K) < 0.6)) for _ in features]
    starts, labels = np.cumsum([0, *map(len, kept)]), np.concatenate(kept).astype(np.int32)
    blocks = kernels.WeightBlocks(view, features, starts, labels, 17, K)
    return rng, blocks, X.toarray().astype(np.float64)[:, np.repeat(features, np.diff(starts))], starts, labels


@given(seeds, st.sampled_from([np.float32, np.float64]), st.booleans())
def test_products_with_columns(seed, dtype, whole):
    rng, blocks, x, starts, labels = bound(dtype, seed, whole)
    R, steps, first = rng.normal(size=(17, 4)), rng.normal(size=len(labels)), starts[2]
    for squared in (False, True):
        out = np.zeros(len(labels))
        kernels.dots(blocks, 2, 6, squared, R, out)
        expected = np.einsum("iq,iq->q", x ** (1 + squared), R[:, labels])
        np.testing.assert_allclose(out, np.where(np.arange(len(out)) < first, 0, expected), rtol=1e-6, atol=1e-12)
    S, expected = np.zeros((17, 4)), np.zeros((17, 4))
    kernels.add(blocks, 0, 6, steps, S)
    np.add.at(expected.T, labels, (x * steps).T)
    np.testing.assert_allclose(S, expected, atol=1e-12)


@given(seeds, st.booleans(), st.booleans())
def test_every_visit_ends_at_the_optimum_of_its_block(seed, whole, weighted):
    rng, blocks, x, starts, labels = bound(np.float64, seed, whole)
    P, V, s = rng.dirichlet(np.ones(4), 17), rng.normal(size=(17, 4)), rng.normal(size=17)
    w = rng.uniform(0.5, 2, 17) if weighted else np.empty(0)
    ridge, shift, curvature = rng.random(len(labels)), rng.normal(size=len(labels)), rng.random(len(labels)) + 1.2
    strengths = 3 * rng.random(6) * (rng.random(6) < 0.8)
    z = rng.normal(size=len(labels)) * (rng.random(len(labels)) < 0.5)
    own_v, own_s, own, weights = V.copy(), s.copy(), z.copy(), w if weighted else np.ones(17)
    for c in range(6):
        block = slice(starts[c], starts[c + 1])
        k, column, old = labels[block], x[:, block], own[block].copy()
        slopes = ((own_v - P * own_s[:, None])[:, k] * column * weights[:, None]).sum(axis=0)
        slopes += ridge[block] * old + shift[block]
        penalties = kernels.BlockPenalties(strengths, ridge, shift, curvature)
        changed, way = kernels.descend(blocks, c, c + 1, penalties, w, P, V, s, z)
        new, norm = z[block], np.linalg.norm(z[block])
        assert changed == (new.any() != old.any())
        assert way == pytest.approx(curvature[block] @ np.abs(new - old))
        left = slopes + curvature[block] * (new - old)  # of the smooth part there
        if norm > 0:
            np.testing.assert_allclose(left + strengths[c] * new / norm, 0, atol=1e-8)
        else:
            assert np.linalg.norm(left) <= strengths[c] + 1e-9
        for q, step in zip(k, new - old, strict=True):
            moved = P[:, q] * column[:, 0] * step
            own_v[:, q] += moved
            own_s += moved
        own[block] = new
        np.testing.assert_allclose(V, own_v, atol=1e-9)
        np.testing.assert_allclose(s, own_s, atol=1e-9)


@given(seeds)
def test_numbers_that_do_not_fit_are_refused(seed):
    _, blocks, _, _, labels = bound(np.float64, seed, True)
    R, numbers = np.zeros((17, 4)), np.zeros(len(labels))
    for refused in (
        lambda: kernels.dots(blocks, 0, 7, False, R, numbers),
        lambda: kernels.dots(blocks, 3, 2, False, R, numbers),
        lambda: kernels.dots(blocks, 0, 6, False, R[:-1], numbers),
        lambda: kernels.add(blocks, 0, 6, numbers[:-1], R),
        lambda: kernels.BlockPenalties(np.zeros(6), numbers, numbers[:-1], numbers),
    ):
        with pytest.raises(ValueError, match="fit"):
            refused()
    view = CSRView(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1))
    for starts, found in (([0, 2], [1, 1]), ([0, 2], [0, 4]), ([0, 3], [0, 1]), ([1, 2], [0, 1])):
        with pytest.raises(ValueError, match=r"label|weights"):
            kernels.WeightBlocks(view, np.zeros(1, np.int32), np.array(starts), np.array(found, np.int32), 3, 4)


def make_problem(seed, strength, intercept, workers):
    """A problem, and a θ that is not its optimum."""
    rng, K = np.random.default_rng(seed), 3
    X, y = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.7), rng.integers(0, K, 30)
    labels = MultinomialLikelihood(y.astype(np.int32), rng.uniform(0.5, 2, 30), K)
    parts = Partitions.single(Design.of(as_rows(sparse.csr_array(X))), labels)
    groups = WeightGroups.of(np.arange(6) * K, np.array(strength))
    prior = WeightPrior(np.zeros(5), np.empty(0), strength, groups=groups)
    problem = LogLinearProblem(parts, DenseWeights(5, K), prior, intercept, workers)
    return problem, rng.normal(size=problem.size) * np.repeat(rng.random(6) < 0.6, K)[: problem.size]


def change_of(model, slopes, z, bias):
    """What a step from θ changes the model by, written out; `slopes` are the rows' at θ."""
    rows, d = model.rows, z - model.origin
    u = model.blocks.scores(d, bias)
    loss = (slopes * u).sum() + 0.5 * (u * rows.product(u)).sum()
    ridge = model.ridge @ (d * (model.origin + 0.5 * d)) + model.shift @ d
    ridge += 0.5 * rows.bias_ridge @ bias**2 if len(bias) else 0.0
    return loss + ridge + model.groups.strengths @ (model.groups.norms(z) - model.groups.norms(model.origin))


@pytest.mark.parametrize("intercept", [True, False])
@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from([0.1, 1.0, 4.0]))
def test_visits_and_conjugate_gradients_reach_the_models_optimum(intercept, seed, strength):
    with parallel.WorkerPool(1) as workers:
        problem, theta = make_problem(seed, strength, intercept, workers)
        gradient, values = np.empty(problem.size), [0.0]
        problem.value(theta, gradient)
        with problem.partitions.open(0, workers) as part:
            steepest = owlqn.pseudo_gradient(problem, theta, gradient)
            model = GroupModel(Columns(part, problem), theta, gradient, steepest)
            slopes = model.rows.slopes()
            for turn in range(90):
                model.solve_free(50) if turn % 4 == 3 else model.descend()
                values.append(change_of(model, slopes, model.z, model.rows.bias))
    assert (np.diff(values) <= 1e-9).all()
    directions, norms = model.groups.directions(model.z)
    left = model.blocks.dots(model.rows.slopes()) + model.ridge * model.z + model.shift
    pulled = model.groups.norms(left + strength * directions)
    assert np.where(norms > 0, pulled, np.maximum(pulled - strength, 0)).max(initial=0) <= 1e-6
    if intercept:
        rest = model.rows.slopes().sum(axis=0) + model.rows.bias_ridge * model.rows.bias
        np.testing.assert_allclose(rest, 0, atol=1e-6)


@given(seeds)
def test_groups_of_a_vector(seed):
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *rng.integers(0, 4, 7)])
    strengths = rng.random(7)
    groups = WeightGroups.of(starts, np.repeat(strengths, np.diff(starts)))
    pieces = [slice(*pair) for pair in pairwise(starts) if pair[0] < pair[1]]
    kept = strengths[np.diff(starts) > 0]
    x, d = rng.normal(size=(2, starts[-1]))
    np.testing.assert_allclose(groups.norms(x), [np.linalg.norm(x[piece]) for piece in pieces])
    changes = [np.linalg.norm(x[piece] + d[piece]) - np.linalg.norm(x[piece]) for piece in pieces]
    np.testing.assert_allclose(groups.norm_changes(x, d), changes, atol=1e-12)
    assert groups.penalty(x) == pytest.approx(kept @ groups.norms(x))
    share = groups.dual_share(5 * d)
    assert (groups.norms(share * 5 * d) <= kept * (1 + 1e-12)).all()
    assert share == 1 or np.isclose(groups.norms(share * 5 * d), kept).any()
    np.testing.assert_array_equal(groups.steepest(np.zeros(len(x)), share * 5 * d * (1 - 1e-12)), 0)
