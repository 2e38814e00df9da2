"""Conjugate gradients on weighted Gram matrices, and the dual points of two labels, beside dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin.engine.core import gram, row_scores, vector_ops
from fastlin.engine.core.csr_view import CSRView


def view_of(X):
    return CSRView(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [0, 1])
def test_solve_gram_is_the_dense_solution(dtype, bias):
    draw = np.random.default_rng(bias)
    X = sp.random_array((60, 25), density=0.2, rng=draw, format="csr", dtype=np.float64).astype(dtype)
    weights, ridge, gradient = draw.random(60), 0.1 + draw.random(25 + bias), draw.standard_normal(25 + bias)
    weights[::7] = 0
    full = np.hstack([X.toarray().astype(float), np.ones((60, bias))])
    H = full.T @ (weights[:, np.newaxis] * full) + np.diag(ridge)
    step, scores, squares = np.empty(25 + bias), np.empty(60), np.zeros(25)
    count = gram.solve_gram(
        view_of(X), weights, ridge, H.diagonal().copy(), gradient, 25, 1e-12, 200, step, scores
    )  # fmt: skip
    np.testing.assert_allclose(step, -np.linalg.solve(H, gradient), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(scores, full @ step, rtol=1e-8, atol=1e-10)
    assert 5 < count < 60
    gram.add_gram_diagonal(view_of(X), weights, squares)
    np.testing.assert_allclose(squares, (H - np.diag(ridge)).diagonal()[:25], rtol=1e-6)
    assert gram.solve_gram(view_of(X), weights, ridge, H.diagonal().copy(), gradient, 25, 0.5, 1, step, scores) == 1
    with pytest.raises(ValueError, match="do not fit"):
        gram.solve_gram(view_of(X), weights[:-1], ridge, H.diagonal().copy(), gradient, 25, 0.1, 9, step, scores)


@pytest.mark.parametrize("n", [1, 255, 700])
@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_dual_points_of_two_labels(n, scale):
    draw = np.random.default_rng(n)
    odds, labels = scale * draw.standard_normal((n, 1)), draw.integers(0, 2, n).astype(np.int32)
    for weights in (np.empty(0), draw.random(n)):
        w = weights if len(weights) else np.ones(n)
        second = 1 / (1 + np.exp(-np.clip(odds[:, 0] + 0.3, -700, 700)))
        first = 1 / (1 + np.exp(np.clip(odds[:, 0] + 0.3, -700, 700)))
        found = row_scores.binary_masses(odds, weights, 0.3)
        np.testing.assert_allclose(found, [w @ first, w @ second, w @ (first * second)], rtol=1e-12)
        residual, rest = np.empty((n, 1)), (0.004, 0.006)
        divergence = row_scores.binary_mixture(odds, labels, weights, 0.3, 0.99, *rest, residual)
        a = 0.99 * np.stack([first, second], axis=1) + rest
        logs = -np.logaddexp(0, np.hstack([odds, -odds]))
        np.testing.assert_allclose(residual[:, 0], w * (a[:, 1] - labels), rtol=1e-12, atol=1e-15)
        wanted = (w[:, np.newaxis] * np.maximum(a * (np.log(a) - logs) - a + np.exp(logs), 0)).sum()
        np.testing.assert_allclose(divergence, wanted, rtol=1e-10)
    with pytest.raises(ValueError, match="do not fit"):
        row_scores.binary_mixture(odds, labels[:-1], np.empty(0), 0.3, 1.0, 0.0, 0.0, residual)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sum_rows_adds_in_their_order(dtype):
    rows, sums = np.random.default_rng(0).standard_normal((1000, 7)).astype(dtype), np.empty(7)
    vector_ops.sum_rows(rows, sums)
    np.testing.assert_array_equal(sums, np.cumsum(rows, axis=0, dtype=np.float64)[-1])
