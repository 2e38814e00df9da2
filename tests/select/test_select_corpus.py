"""Selection on corpora: counts add up over the segments; what needs the rows in memory says so."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin.data import Corpus
from fastlin.data import corpus as corpora
from fastlin.select import CountCutoff, SelectFeatures, chi2, information_gain


def data():
    """Counts, labels and weights, of which some are zero."""
    rng = np.random.default_rng(4)
    X = sp.random_array((200, 30), density=0.15, rng=rng, format="csr")
    X.data = np.ceil(3 * X.data)
    y = np.argmax(X @ rng.normal(size=(30, 3)) + rng.gumbel(size=(200, 3)), axis=1)
    return X, np.array(["a", "b", "c"])[y], rng.integers(0, 3, 200).astype(float)


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """The rows on disk, in several segments."""
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    X, y, weights = data()
    corpus = Corpus(X, y, sample_weight=weights).write(tmp_path / "corpus")
    assert corpus.n_segments > 3
    return corpus


def test_counts_add_up(stored):
    X, y, weights = data()
    np.testing.assert_allclose(information_gain(stored), information_gain(X, y, sample_weight=weights), atol=1e-12)
    for of_corpus, of_rows in zip(chi2(stored), chi2(X, y, sample_weight=weights), strict=True):
        np.testing.assert_allclose(of_corpus, of_rows)
    one, several = CountCutoff(3, 5.0).fit(X), CountCutoff(3, 5.0).fit(stored)
    np.testing.assert_array_equal(several.counts_, one.counts_)
    np.testing.assert_array_equal(several.row_counts_, one.row_counts_)
    np.testing.assert_array_equal(several.get_support(), one.get_support())
    with pytest.raises(ValueError, match="y must be None"):
        chi2(stored, y)
    negative = Corpus(-X, y)
    for count in (CountCutoff().fit, information_gain):
        with pytest.raises(ValueError, match="Negative values"):
            count(negative)


@pytest.mark.parametrize("method", ["information_gain", "chi2", "count"])
def test_the_best_features_and_their_model(method, stored):
    X, y, weights = data()
    one = SelectFeatures(8, method=method, tol=1e-16).fit(X, y, weights)
    several = SelectFeatures(8, method=method, tol=1e-16).fit(stored, X_val=X, y_val=y)
    np.testing.assert_array_equal(several.order_, one.order_)
    np.testing.assert_allclose(several.gains_, one.gains_)
    np.testing.assert_allclose(several.estimator_.coef_, one.estimator_.coef_, atol=1e-8)
    with pytest.raises(ValueError, match=r"X_val, y_val = corpus\.to_memory\(\)"):
        SelectFeatures(8, method=method).fit(stored, X_val=stored)


def test_greedy_induction_needs_rows_in_memory(stored, monkeypatch):
    with pytest.raises(ValueError, match=r"X, y = corpus\.to_memory\(\)"):
        SelectFeatures(3).fit(stored)
    monkeypatch.setattr(corpora, "SEGMENT", 1 << 23)
    X, y, weights = data()
    one, whole = SelectFeatures(3).fit(X, y, weights), SelectFeatures(3).fit(Corpus(X, y, sample_weight=weights))
    np.testing.assert_array_equal(whole.order_, one.order_)
    np.testing.assert_array_equal(whole.estimator_.coef_, one.estimator_.coef_)
