"""Scores of words and spans are sums of rows of weights; counts go back the way that scores came."""

import numpy as np
import pytest

from fastlin.engine.chart import span_features
from fastlin.engine.chart.span_features import add_rows, gather_ends, score_rows, spread_ends


@pytest.mark.parametrize("K", [0, 1, 3, 17])
@pytest.mark.parametrize(("n_rows", "width", "V"), [(0, 2, 3), (5, 0, 3), (6, 4, 1), (40, 7, 9)])
def test_scores_of_rows_are_sums_of_the_weights_of_their_columns(n_rows, width, V, K):
    rng = np.random.default_rng(K)
    columns = rng.integers(-1, V, (n_rows, width)).astype(np.int32)
    weights, counts = rng.normal(size=(V, K)), rng.normal(size=(n_rows, K))
    scores, sums = np.ones((n_rows, K)), np.ones((V, K))
    score_rows(columns, weights, scores)
    add_rows(columns, counts, sums)
    wanted, back = np.ones((n_rows, K)), np.ones((V, K))
    for row, of_row in enumerate(columns):
        for column in of_row[of_row >= 0]:
            wanted[row] += weights[column]
            back[column] += counts[row]
    np.testing.assert_allclose(scores, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums, back, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("K", [0, 1, 5])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_spans_have_what_their_first_and_last_words_have(n, K):
    rng = np.random.default_rng(n)
    left, right = rng.normal(size=(2, n, K))
    spans, counts = np.ones((n * (n + 1) // 2, K)), rng.normal(size=(n * (n + 1) // 2, K))
    of_left, of_right = np.zeros((n, K)), np.zeros((n, K))
    spread_ends(left, right, spans)
    gather_ends(counts, of_left, of_right)
    for i in range(n):
        for j in range(i, n):
            place = j * (j + 1) // 2 + i
            np.testing.assert_allclose(spans[place], 1 + left[i] + right[j], rtol=1e-12)
            of_left[i] -= counts[place]
            of_right[j] -= counts[place]
    assert np.abs(of_left).max(initial=0.0) + np.abs(of_right).max(initial=0.0) < 1e-12


def test_counts_of_other_sizes_than_scores_are_refused():
    columns = np.zeros((3, 2), np.int32)
    for kernel in (span_features.score_rows, span_features.add_rows):
        with pytest.raises(ValueError, match="labels"):
            kernel(columns, np.zeros((3, 2)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="3 rows"):
        score_rows(columns, np.zeros((1, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="columns must be"):
        score_rows(columns + 1, np.zeros((1, 2)), np.zeros((3, 2)))
    for kernel in (spread_ends, lambda left, right, spans: gather_ends(spans, left, right)):
        with pytest.raises(ValueError, match="spans"):
            kernel(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))
