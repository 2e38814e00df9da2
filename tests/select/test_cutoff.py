"""Count cut-offs keep exactly the columns that are seen often enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from fastlin import MultinomialNB
from fastlin.select import CountCutoff
from support.estimators import text_like
from support.strategies import sparse_matrices


@given(sparse_matrices(values=("counts",)), st.integers(0, 8), st.floats(0, 10))
def test_what_is_kept_is_seen_often_enough(X, min_rows, min_count):
    dense = X.toarray()
    cutoff = CountCutoff(min_rows=min_rows, min_count=min_count).fit(X)
    np.testing.assert_array_equal(cutoff.row_counts_, (dense > 0).sum(axis=0))
    np.testing.assert_array_equal(cutoff.counts_, dense.sum(axis=0))
    expected = ((dense > 0).sum(axis=0) >= min_rows) & (dense.sum(axis=0) >= min_count)
    np.testing.assert_array_equal(cutoff.get_support(), expected)


def test_it_stands_in_a_pipeline():
    texts = ["good fine", "good great", "bad poor", "bad awful"]
    pipeline = make_pipeline(CountVectorizer(), CountCutoff(min_rows=2), MultinomialNB())
    pipeline.fit(texts, ["up", "up", "down", "down"])
    assert pipeline[:-1].get_feature_names_out().tolist() == ["bad", "good"]
    assert pipeline.predict(["good", "bad"]).tolist() == ["up", "down"]


@pytest.mark.parametrize(
    "options, error, match",
    [
        ({"min_rows": -1}, ValueError, "min_rows"),
        ({"min_rows": 1.5}, TypeError, "min_rows"),
        ({"min_count": -1}, ValueError, "min_count"),
        ({"min_count": "5"}, TypeError, "min_count"),
    ],
)
def test_bad_parameters_are_refused(options, error, match):
    with pytest.raises(error, match=match):
        CountCutoff(**options).fit(text_like()[0])


def test_negative_counts_are_refused():
    X, _ = text_like()
    X.data[X.indptr[7]] = -1
    with pytest.raises(ValueError, match=r"Negative values.*row 7"):
        CountCutoff().fit(X)
