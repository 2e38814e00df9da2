"""Mixtures of multinomials: the naive twin's numbers, a bound that never falls, and laws of EM."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from fastlin import MultinomialNB
from oracles.multinomial_em import EM, online
from support.mixtures import (
    WAYS,
    close,
    extremes,
    fitted,
    matrices,
    mixture,
    never_falls,
    partition,
    planted,
    same_bits,
)
from support.strategies import seeds, weighted

# --- the twin ---------------------------------------------------------------------------------------------------------


@st.composite
def priors(draw, n_features):
    """alpha and base_measure."""
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(("plain", "array", "measure")))
    if kind == "array":
        return {"alpha": rng.uniform(0, 2, n_features) * (rng.random(n_features) < 0.8)}
    alpha = draw(st.sampled_from([1.0, 0.1, 1e-9, 1e-300, 0.0, 30.0]))
    return {"alpha": alpha} | ({"base_measure": rng.uniform(0.1, 2, n_features)} if kind == "measure" else {})


@given(data=st.data(), K=st.integers(1, 4), seed=seeds)
def test_it_is_the_naive_twin(data, K, seed):
    X = data.draw(matrices)
    prior, dense = data.draw(priors(X.shape[1])), X.toarray()
    weights = data.draw(st.none() | weighted(len(dense)).map(lambda w: w + 0.01))
    shares = np.random.default_rng(seed).dirichlet(np.ones(K), len(dense))
    model = fitted(X, K, weights, init=shares, tol=0, max_iter=6, **prior)
    never_falls(model)
    twin = EM([0, K], X.shape[1], **prior)
    w = np.ones(len(dense)) if weights is None else weights
    bounds = np.array(twin.climb(dense, np.full(len(dense), -1), w, shares, model.n_iter_))
    seeded = [record["iteration"] for record in model.history_ if record["seeded"]]
    shown = seeded[0] if seeded else len(bounds)
    np.testing.assert_allclose(model.bound_[:shown], bounds[:shown], rtol=1e-9, atol=1e-9)
    if not seeded:
        np.testing.assert_allclose(model.weights_, twin.pi, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.feature_log_prob_), twin.phi, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.feature_count_, twin.counts, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X), [twin.proba(x) for x in dense], rtol=1e-8, atol=1e-10)


@given(data=st.data(), K=st.integers(1, 4), seed=seeds)
def test_online_em_is_the_twins(data, K, seed):
    X, Y = data.draw(matrices), data.draw(matrices)
    V = min(X.shape[1], Y.shape[1])
    X, Y = X[:, :V], Y[:, :V]
    K += K == V  # or the words might be responsibilities
    words = np.random.default_rng(seed).dirichlet(np.ones(V), K)
    weights = data.draw(weighted(Y.shape[0]))
    model = mixture(K, init=words, alpha=0.5).partial_fit(X).partial_fit(Y, sample_weight=weights)
    twin = EM([0, K], V, alpha=0.5)
    twin.phi, twin.pi = words, np.full(K, 1 / K)
    ones = np.ones(X.shape[0])
    twin.maximise(X.toarray(), ones, [twin.proba(x) for x in X.toarray()])
    online(twin, [(X.toarray(), ones), (Y.toarray(), weights)])
    np.testing.assert_allclose(model.weights_, twin.pi, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), twin.phi, rtol=1e-9)


# --- laws -------------------------------------------------------------------------------------------------------------


@given(X=extremes, K=st.integers(1, 30), way=st.sampled_from(WAYS), alpha=st.sampled_from([1.0, 0.01, 1e-300, 0.0]))
def test_the_bound_never_falls_and_all_is_finite(X, K, way, alpha):
    """More components than documents, empty documents, matrices without a word, numbers from denormals to 1e60."""
    model = fitted(X, K, init=way, alpha=alpha, tol=0, max_iter=15)
    never_falls(model)
    assert np.isfinite(model.bound_).all()
    shares = model.predict_proba(X)
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.weights_.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(model.feature_count_.sum(axis=0), X.toarray().sum(axis=0), rtol=1e-9, atol=1e-300)
    chosen = shares[np.arange(X.shape[0]), model.predict(X)]
    np.testing.assert_allclose(chosen, shares.max(axis=1), rtol=1e-12)
    if alpha == 0:
        np.testing.assert_allclose(model.score_samples(X).sum(), model.bound_[-1], rtol=1e-9, atol=1e-9 * (1 + X.sum()))


@pytest.mark.parametrize("way", WAYS)
def test_planted_components_are_found(way):
    X, origins, phi = planted(n=400, words=60)
    model = mixture(init=way, n_components=3, alpha=0.01, n_init=3).fit(X)
    assert model.converged_
    assert (partition(model.predict(X)) == partition(origins)).mean() > 0.99
    mine = [model.predict(X[origins == c])[0] for c in range(3)]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[mine]), phi, atol=0.02)
    np.testing.assert_allclose(model.weights_[mine], np.bincount(origins) / 400, atol=0.02)


def test_what_is_drawn_from_a_model_leads_back_to_it():
    X, _, _ = planted(n=300)
    model = fitted(X, alpha=0.01)
    drawn, components = model.sample(4000, lengths=50, random_state=3)
    assert (drawn.sum(axis=1) == 50).all()
    assert (partition(model.predict(drawn)[:500]) == partition(components[:500])).mean() > 0.99
    again = fitted(drawn, alpha=0.01, init=components)
    np.testing.assert_allclose(again.weights_, model.weights_, atol=0.03)
    np.testing.assert_allclose(np.exp(again.feature_log_prob_), np.exp(model.feature_log_prob_), atol=0.01)


def test_one_component_is_a_smoothed_unigram():
    X, _, _ = planted()
    model, unigram = mixture(1, alpha=0.3).fit(X), MultinomialNB(alpha=0.3).fit(X, np.zeros(150, int))
    np.testing.assert_allclose(model.feature_log_prob_, unigram.feature_log_prob_, rtol=1e-12)
    assert model.weights_.tolist() == [1]
    for count in range(20):  # log φ is 0, but for rounding
        only = np.array([[float(count)]])
        assert fitted(only, 1, alpha=0.01 * count).predict(only).tolist() == [0]
    assert model.converged_
    expected = (X @ unigram.feature_log_prob_[0]).sum() + 0.3 * unigram.feature_log_prob_.sum()
    np.testing.assert_allclose(model.bound_, expected, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_threads_change_no_bit(way, monkeypatch):
    monkeypatch.setattr("fastlin.runtime.parallel.BLOCK_WORK", 1 << 8)
    X, _, _ = planted()
    one, *others = (fitted(X, init=way, n_jobs=jobs) for jobs in (1, 2, 3))
    for other in others:
        same_bits(one, other)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        np.testing.assert_array_equal(one.score_samples(X), other.score_samples(X))
    one, *others = (clone(model).partial_fit(X[:90]).partial_fit(X[90:]) for model in (one, *others))
    for other in others:
        np.testing.assert_array_equal(one.feature_count_, other.feature_count_)


def test_heavier_documents_and_as_many_more_pseudo_counts_are_the_same():
    X, _, _ = planted()
    weights = np.random.default_rng(1).uniform(0.5, 2, 150)
    one, other = fitted(X, 3, weights, alpha=0.25), fitted(X, 3, 4 * weights, alpha=1.0)
    np.testing.assert_allclose(other.feature_log_prob_, one.feature_log_prob_, rtol=1e-9)
    np.testing.assert_allclose(other.bound_, 4 * one.bound_, rtol=1e-9)


def test_a_weight_is_so_many_rows():
    X, _, phi = planted()
    weights = np.random.default_rng(1).integers(0, 3, 150)
    one, other = fitted(X, 3, weights, init=phi), fitted(X[np.repeat(np.arange(150), weights)], init=phi)
    close(one, other)
    for measure in ("score", "perplexity", "bic", "aic"):
        expected = getattr(one, measure)(X[np.repeat(np.arange(150), weights)])
        assert getattr(one, measure)(X, sample_weight=weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("start", [*WAYS, "responsibilities", "components"])
def test_rows_of_weight_zero_are_not_there(start):
    X, origins, _ = planted()
    weights = np.random.default_rng(1).integers(0, 3, 150).astype(float)
    there = weights > 0
    shares = np.random.default_rng(2).dirichlet(np.ones(3), 150)
    init = {"responsibilities": shares, "components": origins}.get(start, start)
    few = init if isinstance(init, str) else init[there]
    one, other = fitted(X, 3, weights, init=init), fitted(X[there], 3, weights[there], init=few)
    same_bits(one, other)


def test_the_order_of_rows_columns_and_components_is_theirs():
    X, _, _ = planted()
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.ones(3), 150)
    rows, columns, order = rng.permutation(150), rng.permutation(40), np.array([2, 0, 1])
    model = fitted(X, init=shares, alpha=0.1)
    close(fitted(X[rows], init=shares[rows], alpha=0.1), model)
    close(fitted(X, init=shares[:, order], alpha=0.1), model, order)
    turned = fitted(X[:, columns], init=shares, alpha=0.1)
    np.testing.assert_allclose(turned.feature_count_, model.feature_count_[:, columns], rtol=1e-9, atol=1e-9)


def test_one_pseudo_count_for_all_words_is_one_for_each():
    """Which keeps words that occur once apart, in the layout."""
    X, origins, _ = planted()
    rare = sp.csr_array(
        np.random.default_rng(5).integers(0, 2, (150, 400)) * (np.arange(400) % 150 == np.arange(150)[:, np.newaxis])
    )
    X = sp.hstack([X, rare, 2 * rare, sp.csr_array((150, 7))], format="csr")
    for init in (*WAYS, origins, np.random.default_rng(6).dirichlet(np.full(847, 0.1), 3)):
        one, other = fitted(X, alpha=0.3, init=init), fitted(X, alpha=np.full(847, 0.3), init=init)
        close(one, other)
        never_falls(one)


def test_an_explicit_zero_is_no_occurrence():
    X, _, _ = planted()
    written = sp.csr_array(X + 1.0 * (np.arange(150)[:, np.newaxis] == 3))
    written.data[written.indptr[3] : written.indptr[4]] -= 1
    assert written.nnz > X.nnz
    one, other = fitted(X, alpha=0), fitted(written, alpha=0)
    same_bits(one, other)
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(written))
    np.testing.assert_array_equal(one.partial_fit(X).feature_count_, other.partial_fit(written).feature_count_)
