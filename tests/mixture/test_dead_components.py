"""Mixtures of multinomials where components die, fits are stopped, and numbers end."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fastlin.mixture.multinomial_em import MultinomialEM
from support.mixtures import WAYS, fitted, mixture, never_falls, planted, same_bits


def bound_by_hand(model, X, alpha):
    """The bound of the parameters that a model shows, of dense rows."""
    logs = model.feature_log_prob_
    scores = X @ logs.T + np.log(model.weights_)
    return np.logaddexp.reduce(scores, axis=1).sum() + alpha * logs.sum()


@pytest.mark.parametrize("last", [0, 1, 2])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_a_callback_sees_components_that_were_seeded_again_and_may_stop_there(alpha, last):
    X, seen = planted(60, 20, 4)[0].toarray(), []
    X = np.hstack([X, 3 * np.repeat(np.eye(60), 2, axis=1)])  # words that a single row has are laid out as one column

    def stop(model, record):
        seen.append(record["seeded"])
        assert bound_by_hand(model, X, alpha) == pytest.approx(-record["objective"], rel=1e-12)
        for component in record["seeded"]:
            assert (model.feature_count_[component] == X).all(axis=1).any()
        return record["iteration"] == last

    model = fitted(X, 4, alpha=alpha, tol=0, init=np.zeros(60, int), callback=stop)
    assert seen[0]
    assert len(seen) == last + 1
    assert bound_by_hand(model, X, alpha) == pytest.approx(model.bound_[-1], rel=1e-12)
    never_falls(model)


def test_stopping_where_components_are_seeded_again_leaves_none_dead():
    X = planted(60, 20, 2)[0]
    with pytest.warns(ConvergenceWarning, match="seeded again") as said:
        mixture(2, alpha=0.1, init=np.zeros(60, int), callback=lambda *_: True).fit(X)
    assert len(said) == 1


@pytest.mark.parametrize("init", WAYS)
def test_numpys_narrow_integers_are_numbers_too(init):
    X, whole, narrow = planted()[0], mixture(3, init=init, max_iter=99), mixture(np.int8(3), init=init)
    same_bits(narrow.set_params(max_iter=np.int8(99)).fit(X), whole.fit(X))
    same_bits(fitted(X, max_iter=np.int8(127), tol=0), fitted(X, max_iter=127, tol=0))
    first = mixture(3, init=init).partial_fit(X)
    np.testing.assert_array_equal(mixture(np.int8(3), init=init).partial_fit(X).feature_count_, first.feature_count_)


@pytest.mark.parametrize("init", WAYS)
def test_weights_and_counts_at_the_edge_of_the_numbers(init):
    X = planted(30, 12)[0]
    for model in (
        fitted(X, sample_weight=np.full(30, 5e-324), init=init),
        fitted(X * 1e-310, init=init),
        fitted(X, alpha=np.full(12, 1e100), init=init),
    ):
        assert np.isfinite(model.bound_).all()
        assert model.weights_.sum() == pytest.approx(1)
        assert np.exp(model.feature_log_prob_).sum(axis=1) == pytest.approx(1)
        never_falls(model)
    with pytest.raises(ValueError, match="alpha holds 1e\\+101; at most 1e100 is supported"):
        mixture(3, alpha=np.full(12, 1e101)).fit(X)


def test_a_perplexity_beyond_the_numbers_is_infinite():
    model = fitted(np.array([[5.0, 1, 0], [1, 4, 0]]), alpha=1e-320)
    assert model.perplexity([[0.0, 0, 1]]) == np.inf


def test_perplexity_adds_words_up_in_float64():
    rows = np.array([[3e38, 3e38, 1], [1, 0, 0]], np.float32)
    model = fitted(rows)
    assert model.perplexity(rows) == pytest.approx(model.perplexity(rows.astype(float)))
    assert model.perplexity(rows) > 1.9  # the sum of a row is no number of float32


def test_a_tol_of_zero_ends_where_nothing_rises():
    model = mixture(1, tol=0, max_iter=1000).fit(np.array([[5.0, 1, 0], [1, 4, 0], [4, 2, 0]]))
    assert model.converged_
    assert model.n_iter_ < 1000
    never_falls(model)


def test_a_component_that_cannot_be_helped_is_tried_once(monkeypatch):
    tried, seed = [], MultinomialEM.reseed_components

    def count(em, places):
        tried.extend(places)
        return seed(em, places)

    monkeypatch.setattr(MultinomialEM, "reseed_components", count)
    X, _, _ = planted()
    model = fitted(X, 60)
    assert model.n_iter_ > 2
    assert tried
    assert len(tried) == len(set(tried))
