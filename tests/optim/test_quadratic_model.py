"""Descent and conjugate gradients on the quadratic model against the same with dense matrices."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import label_rows as label_kernels
from fastlin.engine.solvers import model_rows as row_kernels
from fastlin.engine.solvers import proximal_newton as kernels
from fastlin.optim import gram_model
from fastlin.optim.design import Design
from fastlin.optim.label_rows import LabelRows
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.model_rows import ModelRows
from fastlin.optim.partitions import Partitions
from fastlin.optim.quadratic_model import Columns, QuadraticModel, choose_weights
from fastlin.optim.solvers import owlqn
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel
from fastlin.validation import as_rows

seeds = st.integers(0, 10_000)


def bound(dtype, seed, K=1):
    """A matrix with the weights of some of its columns and labels, bound for the kernels."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((17, 9), density=0.4, rng=rng, format="csc").astype(dtype)
    view = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    features, labels = rng.integers(0, 9, 12).astype(np.int32), rng.integers(0, K, 12).astype(np.int32)
    dense = X.toarray().astype(np.float64)[:, features]
    return rng, kernels.WeightPlaces(view, features, labels, 17, K), dense, labels


@given(seeds, st.sampled_from([np.float32, np.float64]), st.integers(1, 4))
def test_products_with_columns(seed, dtype, K):
    rng, coordinates, x, labels = bound(dtype, seed, K)
    R, H, steps = rng.normal(size=(K, 17)), rng.random((K, 17)), rng.normal(size=12) * (rng.random(12) < 0.6)
    out, squares, cross, slopes = np.zeros((4, 12))
    kernels.dots(coordinates, 2, 12, R, out)
    kernels.moments(coordinates, 0, 12, H, R, squares, cross, slopes)
    np.testing.assert_allclose(slopes, np.einsum("ic,ci->c", x, R[labels]), atol=1e-12)
    np.testing.assert_allclose(squares, np.einsum("ic,ci->c", x**2, H[labels]), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(cross, np.einsum("ic,ci->c", x, H[labels]), atol=1e-12)
    np.testing.assert_allclose(out, np.where(np.arange(12) < 2, 0, slopes), atol=1e-12)
    S, expected = np.zeros((K, 17)), np.zeros((K, 17))
    kernels.add(coordinates, 0, 12, steps, S)
    np.add.at(expected, labels, (x * steps).T)
    np.testing.assert_allclose(S, expected, atol=1e-12)


@given(seeds, st.sampled_from([np.float32, np.float64]), st.sampled_from([1, 2, 3, 25]), st.booleans(), st.booleans())
def test_products_row_by_row(seed, dtype, K, intercept, weighted):
    """Scores and curvature of some weights, from the rows with other columns left out, in blocks of rows.

    Of 25 labels some features have numbers for all, and others a list.
    """
    rng = np.random.default_rng(seed)
    X = sparse.random_array((17, 9), density=0.4, rng=rng, format="csr").astype(dtype)
    design = Design.of(as_rows(X))
    chance = rng.choice([0.04, 0.5], design.n_features) if K > 3 else np.full(design.n_features, 0.5)
    pairs = np.flatnonzero(rng.random(design.n_features * K) < np.tile(chance, K))
    labels, features = (each.astype(np.int32) for each in np.divmod(pairs, design.n_features))
    own = np.zeros((17, K, len(pairs) + K * intercept))
    own[:, labels, np.arange(len(pairs))] = X.toarray()[:, design.features[features]]
    own[:, np.arange(K), len(pairs) + np.arange(K) * intercept - (not intercept)] += intercept
    with parallel.WorkerPool(1) as workers:
        if K == 1:
            by_row = ModelRows(design, dtype, features, intercept, workers)
        else:
            by_row = LabelRows(design, dtype, features, labels, K, K * intercept, workers)
        by_row.blocks = [(0, 5), (5, 5), (5, 17)]
        steps = rng.normal(size=own.shape[2])
        u = own @ steps
        np.testing.assert_allclose(by_row.scores(steps), u.T, atol=1e-12)
        weights = rng.random(17) if weighted else np.ones(17)
        if K == 1:
            found = by_row.curve(weights[np.newaxis], steps)
            curved = weights[:, np.newaxis] * u
        else:
            Q = rng.dirichlet(np.ones(K), 17)
            given_weights = weights if weighted else np.empty(0)
            found = by_row.curve(given_weights, Q, steps)
            curved = weights[:, np.newaxis] * Q * (u - (Q * u).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, np.einsum("ikc,ik->c", own, curved), atol=1e-12)


def test_row_kernels_take_nothing_that_does_not_fit():
    X = sparse.csr_array(np.eye(4, 3))
    view_of = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    view = CSRView(*view_of)
    starts, labels, places = np.array([0, 2, 2, 3]), np.array([0, 1, 1], np.int32), np.zeros(3, np.int32)
    n, rows, Q, none = np.zeros(9), np.zeros((2, 4)), np.zeros((4, 2)), np.empty(0)
    fewer = CSRView(*view_of, 0, 3)
    at = label_kernels.LabelWeightRows(view, 2, view, starts, labels, 2, 2)
    one, h = row_kernels.WeightRows(view, 3, 0), rows[:1].copy()
    for call in (
        lambda: label_kernels.LabelWeightRows(view, 2, view, starts + 1, labels, 2, 0),
        lambda: label_kernels.LabelWeightRows(view, 2, view, starts[::-1].copy(), labels, 2, 0),
        lambda: label_kernels.LabelWeightRows(view, 2, view, starts, labels[:2], 2, 0),
        lambda: label_kernels.LabelWeightRows(view, 2, view, starts, labels + 1, 2, 0),
        lambda: label_kernels.LabelWeightRows(view, 2, view, starts, labels, 2, 1),
        lambda: label_kernels.LabelWeightRows(view, -1, view, starts, labels, 2, 0),
        lambda: label_kernels.LabelWeightRows(view, 2, fewer, starts, labels, 2, 0),
        lambda: row_kernels.WeightRows(view, 3, 2),
        lambda: row_kernels.WeightRows(view, -1, 0),
        lambda: row_kernels.select(view, places, np.zeros(4, np.int64), places, np.zeros(3)),
        lambda: row_kernels.select(view, places, np.zeros(5, np.int64), places, np.zeros(2)),
        lambda: label_kernels.scores(at, 0, 5, n, rows),
        lambda: label_kernels.scores(at, -1, 4, n, rows),
        lambda: label_kernels.scores(at, 0, 4, n[:8], rows),
        lambda: label_kernels.scores(at, 0, 4, n, rows[:, :3].copy()),
        lambda: label_kernels.scores(at, 0, 4, n, h),
        lambda: row_kernels.scores(one, 0, 5, n[:3], h),
        lambda: row_kernels.scores(one, 0, 4, n[:2], h),
        lambda: row_kernels.scores(one, 0, 4, n[:3], h[:, :3].copy()),
        lambda: row_kernels.curve_binary(one, 0, 4, rows, n[:3], n[:3]),
        lambda: row_kernels.curve_binary(one, 0, 4, h, n[:3], n[:2]),
        lambda: label_kernels.curve(at, 0, 4, none, Q[:3].copy(), n, n),
        lambda: label_kernels.curve(at, 0, 4, n[:3], Q, n, n),
        lambda: label_kernels.curve(at, 0, 4, none, Q, n, n[:8]),
        lambda: label_kernels.curve(at, 0, 4, none, Q, n[:8], n),
    ):
        with pytest.raises(ValueError, match=r"fit|label"):
            call()


def minimum_of_one(slope, curvature, z, l1):
    """argmin slope (a − z) + ½ curvature (a − z)² + l1 |a|."""
    target = z - slope / curvature
    return np.sign(target) * max(abs(target) - l1 / curvature, 0.0)


@given(seeds, st.booleans())
def test_descent_of_two_labels_with_the_intercept_eliminated(seed, intercept):
    rng, coordinates, x, _ = bound(np.float64, seed)
    h, v, z = rng.random(17) + 0.01, 3 * rng.normal(size=17), rng.normal(size=12) * (rng.random(12) < 0.5)
    l1, ridge, shift = rng.random(12), rng.random(12), rng.normal(size=12)
    total, cross = h.sum() * intercept, x.T @ h
    curvature = (x**2).T @ h - (cross**2 / h.sum() if intercept else 0) + ridge
    penalties, bias, own, b = kernels.Penalties(l1, ridge, shift, curvature), np.zeros(1), z.copy(), 0.0
    residual, changed, way = v.copy(), 0, 0.0
    for c in range(12):
        slope = x[:, c] @ residual + ridge[c] * own[c] + shift[c]
        new = minimum_of_one(slope, curvature[c], own[c], l1[c])
        moved = x[:, c] * (new - own[c])
        moved -= (h @ moved) / h.sum() if intercept else 0
        b -= (h @ x[:, c]) / h.sum() * (new - own[c]) if intercept else 0
        residual += h * moved
        changed, way = changed + ((new != 0) != (own[c] != 0)), way + abs(new - own[c]) * curvature[c]
        own[c] = new
    found = kernels.descend_binary(coordinates, 0, 12, penalties, h, cross, total, v, z, bias)
    np.testing.assert_allclose(z, own, atol=1e-9)
    np.testing.assert_allclose(v + bias[0] * h, residual, atol=1e-9)
    assert found[0] == changed
    assert (bias[0], found[1]) == (pytest.approx(b, abs=1e-9), pytest.approx(way, abs=1e-9))


@given(seeds, st.booleans(), st.integers(2, 4))
def test_descent_of_many_labels(seed, weighted, K):
    rng, coordinates, x, labels = bound(np.float64, seed, K)
    w = rng.random(17) if weighted else np.empty(0)
    mass = w if weighted else np.ones(17)
    P, V, s = rng.dirichlet(np.ones(K), 17).T.copy(), rng.normal(size=(K, 17)), rng.normal(size=17)
    z, l1, ridge, shift = rng.normal(size=12), rng.random(12), rng.random(12) + 0.1, rng.normal(size=12)
    curvature = np.einsum("ic,ci->c", x**2, mass * P[labels] * (1 - P[labels])) + ridge
    own, V2, s2 = z.copy(), V.copy(), s.copy()
    for c, k in enumerate(labels):
        slope = x[:, c] @ (mass * (V2[k] - P[k] * s2)) + ridge[c] * own[c] + shift[c]
        new = minimum_of_one(slope, curvature[c], own[c], l1[c])
        V2[k] += P[k] * x[:, c] * (new - own[c])
        s2 += P[k] * x[:, c] * (new - own[c])
        own[c] = new
    VP = np.stack([V, P], axis=2)
    kernels.descend_softmax(coordinates, 0, 12, kernels.Penalties(l1, ridge, shift, curvature), w, VP, s, z)
    for found, expected in ((z, own), (VP, np.stack([V2, P], axis=2)), (s, s2)):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_kernels_take_nothing_that_does_not_fit():
    _, coordinates, _, _ = bound(np.float64, 0, 2)
    X = sparse.csc_array(np.eye(3))
    view = CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    one, rows, rows2, n = np.zeros(1, np.int32), np.zeros((2, 17)), np.zeros((2, 16)), np.zeros(12)
    for features, labels in ((one + 3, one), (one - 1, one), (one, one + 1), (one, one - 1), (one, one[:0])):
        with pytest.raises(ValueError, match=r"weight|fit"):
            kernels.WeightPlaces(view, features, labels, 3, 1)
    penalties, pairs = kernels.Penalties(n, n, n, n + 1), np.zeros((2, 17, 2))
    for call in (
        lambda: kernels.dots(coordinates, 0, 13, rows, n),
        lambda: kernels.dots(coordinates, -1, 12, rows, n),
        lambda: kernels.dots(coordinates, 0, 12, rows2, n),
        lambda: kernels.dots(coordinates, 0, 12, rows[:1].copy(), n),
        lambda: kernels.dots(coordinates, 0, 12, rows, n[:11]),
        lambda: kernels.add(coordinates, 0, 12, n[:11], rows),
        lambda: kernels.moments(coordinates, 0, 12, rows, rows2, n, n, n),
        lambda: kernels.moments(coordinates, 0, 12, rows, rows, n, n[:3], n),
        lambda: kernels.moments(coordinates, 0, 12, rows, rows, n, n, n[:3]),
        lambda: kernels.Penalties(n, n[:1], n, n),
        lambda: kernels.descend_gram(penalties, np.zeros((12, 11)), n, n),
        lambda: kernels.descend_gram(penalties, np.zeros((12, 12)), n[:3], n),
        lambda: kernels.descend_gram(penalties, np.zeros((12, 12)), n, n[:3]),
        lambda: kernels.descend_binary(coordinates, 0, 12, penalties, rows[0], n, 1.0, rows[0], n, np.zeros(1)),
        lambda: kernels.descend_softmax(coordinates, 0, 12, penalties, n, pairs, rows[0], n),
        lambda: kernels.descend_softmax(coordinates, 0, 12, penalties, n[:0], pairs[:, :16].copy(), rows[0], n),
        lambda: kernels.descend_softmax(coordinates, 0, 12, penalties, n[:0], pairs[:, :, :1].copy(), rows[0], n),
        lambda: kernels.descend_softmax(coordinates, 0, 12, penalties, n[:0], pairs, rows2[0], n),
    ):
        with pytest.raises(ValueError, match="fit"):
            call()


@pytest.mark.parametrize("many", [False, True])
@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.2]), st.booleans(), st.booleans())
def test_the_curvature_as_a_matrix_has_the_optimum_of_descent(many, seed, l2, intercept, moved):
    rng = np.random.default_rng(seed)
    with problem_of(seed, 2, l2, intercept) as problem, problem.partitions.open(0, problem.workers) as part:
        theta, gradient = np.zeros(problem.size), np.empty(problem.size)
        if moved:
            theta = rng.normal(size=problem.size) * (rng.random(problem.size) < 0.6)
        problem.value(theta, gradient)
        steepest, columns = owlqn.pseudo_gradient(problem, theta, gradient), Columns(part, problem)
        chosen = choose_weights(problem, theta, steepest)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gram_model, "TOLERANCE", 1e-12)
            if many:
                patch.setattr(gram_model, "MAX_WEIGHTS", 0)  # the rows are copied
            model = gram_model.GramModel(columns, chosen, theta, gradient, steepest)
            model.solve()
        slow = QuadraticModel(columns, theta, gradient, steepest)
        for _ in range(3000):
            slow.descend()
        np.testing.assert_allclose(model.z, slow.z, atol=1e-6)
        np.testing.assert_allclose(model.intercept_steps(), slow.intercept_steps(), atol=1e-6)
        np.testing.assert_allclose(model.step_scores(), slow.step_scores(), atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([1e-3, 0.1, 3.0]), st.booleans())
def test_columns_that_add_up_to_others_have_a_model_solved_to_its_end(seed, l1, intercept):
    """Along directions without a curvature the L1 term alone decides: no coordinate by itself goes there."""
    rng = np.random.default_rng(seed)
    attributes = rng.integers(0, [[2, 3, 4, 5]], (60, 4)) + np.array([0, 2, 5, 9])
    X = sparse.csr_array((np.ones(240), attributes.ravel(), np.arange(0, 241, 4)), shape=(60, 14))
    y = (X @ rng.normal(size=14) + rng.logistic(size=60) > 0).astype(np.int32)
    theta, ones = np.zeros(14 + intercept), np.ones(60)
    with (
        problem_of_rows(X, y, ones, 1, 0.0, intercept, l1) as problem,
        problem.partitions.open(0, problem.workers) as part,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(gram_model, "TOLERANCE", 1e-10)
        gradient = np.empty(problem.size)
        problem.value(theta, gradient)
        steepest, columns = owlqn.pseudo_gradient(problem, theta, gradient), Columns(part, problem)
        chosen = choose_weights(problem, theta, steepest)
        model = gram_model.GramModel(columns, chosen, theta, gradient, steepest)
        model.solve()
    at = model.slopes + model.l1 * np.sign(model.z)
    np.testing.assert_allclose(at[model.z != 0], 0, atol=1e-6)
    assert (np.abs(model.slopes[model.z == 0]) <= l1 + 1e-6).all()


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([1e-3, 0.1, 3.0]), st.booleans())
def test_no_step_makes_a_model_worse_where_decompositions_are_all_but_rounding(seed, l1, intercept):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 60)
    X = sparse.csr_array(np.stack([x**power for power in range(1, 7)], axis=1))
    y, theta = (np.sin(x) + 0.3 * rng.normal(size=60) > 0).astype(np.int32), np.zeros(6 + intercept)
    with (
        problem_of_rows(X, y, np.ones(60), 1, 0.0, intercept, l1) as problem,
        problem.partitions.open(0, problem.workers) as part,
    ):
        theta[:6] = rng.normal(size=6) / np.array([10.0**power for power in range(1, 7)])
        gradient = np.empty(problem.size)
        problem.value(theta, gradient)
        steepest, columns = owlqn.pseudo_gradient(problem, theta, gradient), Columns(part, problem)
        model = gram_model.GramModel(columns, choose_weights(problem, theta, steepest), theta, gradient, steepest)

        def value():
            d = model.z - model.origin
            change = float(d @ (first + 0.5 * model.A @ d))
            return change + float(model.l1 @ (np.abs(model.z) - np.abs(model.origin)))

        first, last = model.slopes.copy(), 0.0
        for _ in range(20):
            model._step()
            assert value() <= last + 1e-9 * max(1.0, abs(last))
            last = value()
        model.solve()
        assert value() <= last + 1e-9 * max(1.0, abs(last))


@contextlib.contextmanager
def problem_of(seed, K, l2, intercept):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.7, (40, 12)) * rng.normal(size=(40, 12)))
    y, weights = np.append(np.arange(K), rng.integers(0, K, 40 - K)).astype(np.int32), rng.random(40) + 0.1
    with problem_of_rows(X, y, weights, 1 if K == 2 else K, l2, intercept) as problem:
        yield problem


@contextlib.contextmanager
def problem_of_rows(X, y, weights, width, l2, intercept, l1=0.3):
    design = Design.of(as_rows(X))
    parts = Partitions.single(design, MultinomialLikelihood(y, weights, width))
    prior = WeightPrior(np.full(design.n_features, l2), np.empty(0), l1)
    layout = DenseWeights(design.n_features, width)
    with parallel.WorkerPool(1) as workers:
        yield LogLinearProblem(parts, layout, prior, intercept, workers)


@settings(max_examples=25, deadline=None)
@given(seeds, st.sampled_from([2, 3, 5]), st.sampled_from([0.0, 0.2]), st.booleans())
def test_the_model_is_that_of_the_loss_and_its_steps_are_descent(seed, K, l2, intercept):
    """f(θ + d) is the model's value to third order; visits and conjugate gradients never make the model worse."""
    with problem_of(seed, K, l2, intercept) as problem:
        check_model(problem, seed)


def check_model(problem, seed):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=problem.size) * (rng.random(problem.size) < 0.6)
    gradient = np.empty(problem.size)
    value = problem.value(theta, gradient)
    steepest = owlqn.pseudo_gradient(problem, theta, gradient)
    with problem.partitions.open(0, problem.workers) as part:
        columns = Columns(part, problem)
        values = [model_value(QuadraticModel(columns, theta, gradient, steepest), problem, theta, gradient)]
        assert values == [0.0]
        model = QuadraticModel(columns, theta, gradient, steepest)
        for work in (
            model.descend,
            model.descend,
            lambda: model.solve_free(4),
            model.descend,
            model.descend,
        ):
            work()
            values.append(model_value(model, problem, theta, gradient))
            assert values[-1] <= values[-2] + 1e-9
        d, moved = np.zeros(problem.size), 1e-4
        d[model.chosen] = model.z - model.origin
        d[problem.n_weights :] = model.rows.intercept_steps()
        np.testing.assert_allclose(problem.data.gather(problem.scores(d)), model.step_scores(), atol=1e-6)
        d *= moved / max(1e-9, np.abs(d).max())
        product = np.empty(problem.size)
        problem.value(theta, gradient)
        problem.product(d, product)
        predicted = gradient @ d + 0.5 * d @ product
        assert problem.value(theta + d, np.empty(problem.size)) - value == pytest.approx(predicted, abs=1e-8)


def model_value(model, problem, theta, gradient):
    """The model with its penalties at z, less that at θ, by products with the problem's own Hessian."""
    problem.value(theta, gradient)
    d, product = np.zeros(problem.size), np.empty(problem.size)
    d[model.chosen] = model.z - model.origin
    d[problem.n_weights :] = model.rows.intercept_steps()
    problem.product(d, product)
    flat = model.ridge - problem.prior.precision[model.coordinates.features]
    damping = 0.5 * float(flat @ (model.z - model.origin) ** 2)
    penalty = problem.prior.l1 * float(np.abs(model.z).sum() - np.abs(model.origin).sum())
    return float(gradient @ d + 0.5 * d @ product) + damping + penalty
