"""The objective that every solver is given: values, gradients, Hessian products and line derivatives are the twin's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.optim.design import Design
from fastlin.optim.likelihoods import ConditionalLogitLikelihood, MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.weight_layouts import DenseWeights, ObservedWeights
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from oracles.log_linear import Logistic, candidates, observed_pairs
from support.strategies import labelled, seeds, weighted

KINDS = ("dense", "observed", "candidates")


class Posed:
    """A Problem and its twin; `order` puts the twin's parameters in the problem's order."""

    def __init__(self, X, y, n_labels, kind, weights, variance, mean, fit_intercept, workers, sizes=None):
        rows = as_rows(X).without_zeros()
        design = Design.of(rows)
        passed = np.empty(0) if weights is None else np.asarray(weights)
        self.width = 1 if kind == "candidates" or (n_labels == 2 and kind == "dense") else n_labels
        if kind == "candidates":
            fit_intercept = False
            starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            inference = ConditionalLogitLikelihood(starts, y.astype(np.int64), passed)
            options = {"prior_variance": variance, "prior_mean": mean, "sample_weight": weights}
            self.twin = candidates(X, y, sizes, **options)
            self.twin.features, self.twin.labels = np.arange(X.shape[1]), np.zeros(X.shape[1], dtype=int)
        else:
            inference = MultinomialLikelihood(y.astype(np.int32), passed, self.width)
            pairs = observed_pairs(X, y, n_labels, 2) if kind == "observed" else None
            self.twin = Logistic(
                X, y, n_labels, prior_variance=variance, prior_mean=mean, fit_intercept=fit_intercept,
                sample_weight=weights, pairs=pairs,
            )  # fmt: skip
        parts, layout = Partitions.single(design, inference), DenseWeights(design.n_features, self.width)
        if kind == "observed":
            layout = ObservedWeights.observed(parts, n_labels, np.full(design.n_features, 2))
            features, labels = np.repeat(design.features, np.diff(layout.starts)), layout.labels
        else:
            features = np.repeat(design.features, self.width)
            labels = np.tile(np.arange(self.width), design.n_features)
        assert layout.n_weights == len(features)
        if fit_intercept:
            features = np.append(features, np.full(self.width, X.shape[1]))
            labels = np.append(labels, np.arange(self.width))
        places = {pair: p for p, pair in enumerate(zip(self.twin.features, self.twin.labels, strict=True))}
        self.order = np.array([places[pair] for pair in zip(features, labels, strict=True)], dtype=int)
        prior = WeightPrior(1 / variance[design.features], mean[features[: layout.n_weights]])
        self.problem = LogLinearProblem(parts, layout, prior, fit_intercept, workers)

    def twins(self, theta):
        """The twin's θ; weights that the design leaves out, of features in no row, stay at their prior mean."""
        whole = np.array(self.twin.mean)
        whole[self.order] = theta
        return whole


@st.composite
def posed(draw, kind, workers, values=("normal", "counts")):
    X, y, n_labels = draw(labelled(values=values))
    rng, sizes = np.random.default_rng(draw(seeds)), None
    if kind == "candidates":
        n_groups = rng.integers(1, X.shape[0] + 1)
        sizes = rng.multinomial(X.shape[0] - n_groups, np.ones(n_groups) / n_groups) + 1
        y = np.array([rng.integers(size) for size in sizes])
    weights = draw(st.none() | weighted(len(y)))
    variance = 10 ** rng.uniform(-2, 2, size=X.shape[1])
    mean = rng.normal(size=X.shape[1])
    return Posed(X, y, n_labels, kind, weights, variance, mean, draw(st.booleans()), workers, sizes), rng


@pytest.mark.parametrize("work", [1 << 22, 4])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_value_gradient_and_curvature_are_the_twins(kind, work, data):
    with pytest.MonkeyPatch.context() as patch, parallel.WorkerPool(1) as workers:
        patch.setattr(parallel, "BLOCK_WORK", work)
        posed_problem, rng = data.draw(posed(kind, workers))
        problem, twin = posed_problem.problem, posed_problem.twin
        theta, gradient = rng.normal(size=problem.size), np.empty(problem.size)
        full = posed_problem.twins(theta)
        size = max(twin.size(), (np.abs(full - twin.mean) / twin.variance).max(initial=0))
        value = problem.value(theta, gradient)
        np.testing.assert_allclose(value, twin.objective(full), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(gradient, twin.gradient(full)[posed_problem.order], rtol=1e-10, atol=1e-12 * size)
        hessian = twin.hessian(full)[np.ix_(posed_problem.order, posed_problem.order)]
        if kind != "candidates":  # of one column of competing rows, the preconditioner has no cross terms
            np.testing.assert_allclose(problem.diagonal(), np.diag(hessian), rtol=1e-5, atol=1e-6 * size)
        p, Hp = rng.normal(size=problem.size), np.empty(problem.size)
        for dtype, rtol in ((np.float64, 1e-5), (np.float32, 1e-4)):
            largest = np.abs(hessian).max(initial=0) * np.abs(p).sum()
            product = Hp.astype(dtype)
            curvature = problem.product(p.astype(dtype), product)
            np.testing.assert_allclose(product, hessian @ p, rtol=rtol, atol=rtol * largest)
            np.testing.assert_allclose(
                curvature, p @ hessian @ p, rtol=rtol, atol=rtol * largest * np.abs(p).max(initial=0)
            )
        counts = problem.counts(theta, gradient)
        wanted = (twin.expected(full) - twin.observed)[posed_problem.order]
        np.testing.assert_allclose(counts, wanted, rtol=1e-9, atol=1e-10 * size)


def derivative(function, x, step=1e-5):
    return (function(x + step) - function(x - step)) / (2 * step)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_derivatives_are_numerical_derivatives(kind, data):
    """Along a direction d: f(θ + αd)′ = ∇f·d, ∇f(θ + αd)′ = Hd, and the line search's own derivatives."""
    with parallel.WorkerPool(1) as workers:
        posed_problem, rng = data.draw(posed(kind, workers))
        problem = posed_problem.problem
        theta, d = rng.normal(size=problem.size), rng.normal(size=problem.size)
        gradient, Hd = np.empty(problem.size), np.empty(problem.size)

        def gradient_at(step):
            there = np.empty(problem.size)
            problem.value(theta + step * d, there)
            return there

        def value_at(step):
            return problem.value(theta + step * d, np.empty(problem.size))

        scores, direction_scores = problem.scores(theta), problem.scores(d)
        value = problem.value(theta, gradient)
        size = 1 + abs(value) + np.abs(gradient).max(initial=0)
        size += (d @ d) / posed_problem.twin.variance.min(initial=np.inf)
        np.testing.assert_allclose(gradient @ d, derivative(value_at, 0.0), rtol=1e-5, atol=1e-7 * size)
        problem.value(theta, gradient)
        problem.product(d, Hd)
        np.testing.assert_allclose(Hd, derivative(gradient_at, 0.0), rtol=1e-4, atol=1e-5 * size)

        def loss_at(step):
            return problem.line_derivatives(scores, direction_scores, step)[0]

        def slope_at(step):
            return problem.line_derivatives(scores, direction_scores, step)[1]

        for step in (0.0, 0.7):
            _, slope, bend = problem.line_derivatives(scores, direction_scores, step)
            np.testing.assert_allclose(slope, derivative(loss_at, step), rtol=1e-5, atol=1e-7 * size)
            np.testing.assert_allclose(bend, derivative(slope_at, step), rtol=1e-4, atol=1e-6 * size)
        linear, square = problem.prior_line_derivatives(theta, d)
        prior = [value_at(step) - loss_at(step) for step in (0.0, 1.0)]
        np.testing.assert_allclose(prior[1] - prior[0], linear + square / 2, rtol=1e-8, atol=1e-9 * size)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_threads_and_their_number_change_no_bit(kind, data):
    seed = data.draw(seeds)
    found = []
    for jobs in (1, 2):
        with pytest.MonkeyPatch.context() as patch, parallel.WorkerPool(jobs) as workers:
            patch.setattr(parallel, "BLOCK_WORK", 16)
            rng = np.random.default_rng(seed)
            X = rng.poisson(0.7, size=(30, 6)).astype(float)
            y, sizes = (np.arange(30) % 3, None) if kind != "candidates" else (np.arange(10) % 3, [3] * 10)
            arguments = (None, np.ones(6), np.zeros(6), True, workers, sizes)
            problem = Posed(X, y, 3, kind, *arguments).problem
            theta, gradient = rng.normal(size=problem.size), np.empty(problem.size)
            value, Hp = problem.value(theta, gradient), np.empty(problem.size)
            curvature = problem.product(theta, Hp)
            found.append((value, gradient.tobytes(), curvature, Hp.tobytes(), problem.diagonal().tobytes()))
    assert found[0] == found[1]
