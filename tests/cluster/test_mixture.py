"""Mixtures of multinomials: the naive twin's numbers, a bound that never falls, and laws of EM."""

import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin import Corpus, MultinomialMixture, MultinomialNB, validation
from fastlin.cluster import starts
from fastlin.data import corpus as corpora
from reference_cluster import EM, online
from strategies import seeds, sparse_matrices, weighted

WAYS = ("kmeans", "k-means++", "random")
matrices = sparse_matrices(values=("counts",), min_rows=1)
extremes = sparse_matrices(values=("counts", "normal", "tiny", "huge"), min_rows=1).map(abs)


def mixture(*args, **parameters):
    return MultinomialMixture(*args, **{"random_state": 0, **parameters})


def fitted(X, n_components=3, sample_weight=None, **parameters):
    """A model, which need not have converged, nor every component documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture(n_components, **parameters).fit(X, sample_weight=sample_weight)


def planted(n=150, n_features=40, n_components=3, words=30, seed=0):
    """Counts, where each row comes from, and φ: components that differ."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_features, 0.2), n_components)
    origins = rng.integers(0, n_components, n)
    X = np.array([rng.multinomial(rng.integers(1, 2 * words), phi[c]) for c in origins])
    return sp.csr_array(X.astype(float)), origins, phi


def never_falls(model):
    assert (np.diff(model.bound_) >= 0).all()
    assert len(model.bound_) == len(model.history_) == model.n_iter_ + 1
    assert [-record["objective"] for record in model.history_] == model.bound_.tolist()
    assert model.objective_ == -model.bound_[-1]


def same_bits(one, other):
    for name in ("weights_", "feature_log_prob_", "feature_count_", "bound_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def close(one, other, order=slice(None), rtol=1e-9):
    """The same model to rounding, the components of `other` in another order."""
    np.testing.assert_allclose(one.weights_, other.weights_[order], rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(one.feature_count_, other.feature_count_[order], rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.bound_, other.bound_, rtol=rtol)


def partition(components):
    """Which rows are together."""
    return components[:, np.newaxis] == components


# --- the twin --------------------------------------------------------------------------------------------------------


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


# --- laws ------------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr("fastlin.run.WORK", 1 << 8)
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


# --- starts ----------------------------------------------------------------------------------------------------------


def test_given_starts():
    X, origins, phi = planted()
    hard = fitted(X, init=origins.tolist())
    same_bits(hard, fitted(X, init=np.eye(3)[origins]))
    counted = MultinomialNB().fit(X, origins)
    first = fitted(X, init=counted.predict_proba(X), max_iter=1)
    by_words = fitted(X, init=np.exp(counted.feature_log_prob_), max_iter=1)
    by_counts = fitted(X, init=sp.csr_array(counted.feature_count_), max_iter=1)
    close(by_words, by_counts)
    assert np.abs(by_words.weights_ - first.weights_).max() < 0.05  # but for μ, which probabilities of words lack
    begun = []
    known = fitted(X, init=phi, n_init=7, callback=lambda _, record: begun.append(record["iteration"]))
    assert (partition(known.predict(X)) == partition(origins)).mean() > 0.95
    assert begun.count(0) == 1  # it would be the same every time


def test_where_shapes_leave_it_open_a_start_is_responsibilities():
    X = np.array([[3.0, 1], [0, 2]])
    swapped = np.array([[0.0, 1], [1, 0]])
    model = mixture(2, init=swapped, alpha=0.1).fit(X)
    assert model.predict(X).tolist() == [1, 0]
    assert mixture(2, init=[[0, 5], [5, 0]], alpha=0.1).fit(np.array([[3.0, 1], [0, 2], [0, 1]])).predict(X)[1] == 0


def test_words_that_no_start_can_produce_are_shared():
    X = sp.csr_array([[1.0, 0, 0], [0, 1, 0], [0, 0, 2]])
    model = fitted(X, 2, init=[[1, 0, 0], [0, 1, 0]], max_iter=1, alpha=0, tol=0)
    np.testing.assert_allclose(model.weights_, [0.5, 0.5], rtol=1e-12)
    assert np.isfinite(model.bound_).all()


@pytest.mark.parametrize("init, match", [
    ("kmean", "init must be one of 'kmeans', 'k-means.*did you mean 'kmeans'"),
    (None, "init must be one of"),
    (np.zeros((150, 2)), r"\(n_samples, n_components\) = \(150, 3\).*got float64 of shape \(150, 2\)"),
    (np.zeros(150), r"init must be .*got float64 of shape \(150,\)"),
    (np.zeros((3, 39)), r"\(n_components, n_features\) = \(3, 40\)"),
    (np.zeros((3, 40, 1)), "init must be"),
    (np.zeros(149, int), r"init must be .*\(150,\)"),
    (np.full(150, 3), "init holds component 3 for row 0; there are 0 to 2"),
    (np.full(150, -1), "init holds component -1"),
    (np.full((150, 3), 0.5), "responsibilities sum to 1 in every row; those of init sum to 1.5 in row 0"),
    (np.tile([1.5, -0.5, 0], (150, 1)), "init must not be negative, got -0.5 at 0, 1"),
    (np.full((150, 3), np.nan), "init contains NaN at 0, 0"),
    (np.full((3, 40), np.inf), "init contains infinity"),
    ([[1, 2], [1]], "init must be one of .* or an array"),
    (np.full((150, 3), "a"), "init must hold real numbers"),
    (7, r"init must be .*got int64 of shape \(\)"),
])  # fmt: skip
def test_starts_that_are_none(init, match):
    X, _, _ = planted()
    with pytest.raises(ValueError, match=match):
        mixture(3, init=init).fit(X)


@pytest.mark.parametrize("way", WAYS)
def test_the_best_start_is_kept(way):
    X, _, _ = planted(words=4, n_components=6)
    ends = {}

    def note(_, record):
        note.start += record["iteration"] == 0
        ends[note.start] = record["objective"]

    note.start = 0
    best = fitted(X, 6, init=way, n_init=6, alpha=0.1, callback=note)
    assert len(ends) == 6
    assert len(set(ends.values())) > 1
    assert best.objective_ == min(ends.values())
    same_bits(best, fitted(X, 6, init=way, n_init=6, alpha=0.1))
    assert fitted(X, 6, init=way, alpha=0.1).objective_ == ends[1]


def test_random_responsibilities_are_uniform_on_the_simplex():
    X, _, _ = planted()
    shares = validation.as_generator(0).standard_exponential((150, 3))
    close(fitted(X, init="random"), fitted(X, init=shares / shares.sum(axis=1, keepdims=True)))


def test_rows_go_to_the_seeds_they_are_most_like():
    X, _, _ = planted()
    X = sp.hstack([X, sp.csr_array(np.random.default_rng(7).integers(0, 9, (150, 5)))], format="csr")  # of every topic
    idf = 1 + np.log(151 / (1 + (X.toarray() > 0).sum(axis=0)))
    tfidf = np.log1p(X.toarray()) * idf
    tfidf /= np.linalg.norm(tfidf, axis=1, keepdims=True)
    rows = validation.as_rows(tfidf)
    chosen = starts.plus_plus(rows, 4, validation.as_generator(0), weights=np.ones(150), normalise=True)
    nearest = (tfidf @ tfidf[chosen].T).argmax(axis=1)
    close(fitted(X, 4, init="k-means++"), fitted(X, 4, init=nearest))
    seeds = tfidf[chosen]
    for _ in range(starts.ROUNDS):
        seeds = np.array([tfidf[nearest == k].sum(axis=0) for k in range(4)])
        nearest = (tfidf @ (seeds / np.linalg.norm(seeds, axis=1, keepdims=True)).T).argmax(axis=1)
    close(fitted(X, 4, init="kmeans"), fitted(X, 4, init=nearest))


def test_rows_that_are_as_like_one_seed_as_another_are_shared():
    X = np.tile(np.eye(2), (5, 1))
    model = mixture(6, init="k-means++", alpha=0.1).fit(X)  # and nobody is warned of components without documents
    assert model.weights_.min() >= 0.1 - 1e-12
    np.testing.assert_allclose(model.weights_ @ np.exp(model.feature_log_prob_), [0.5, 0.5], rtol=1e-12)


def test_seeds_are_drawn_among_a_sample(monkeypatch):
    X, origins, _ = planted(n=600, words=200)
    seen, seeding = [], starts.plus_plus

    def spy(rows, *args, weights, **options):
        seen.append((rows.matrix().toarray(), weights))
        return seeding(rows, *args, weights=weights, **options)

    monkeypatch.setattr(starts, "plus_plus", spy)
    monkeypatch.setattr(starts, "SAMPLE", 60)
    heavy = np.r_[np.zeros(200), np.arange(1.0, 401)]
    for weights in (None, heavy):
        model = fitted(X, 3, weights)
        assert (partition(model.predict(X)) == partition(origins)).mean() > 0.9
    fitted(X, 5)
    fitted(X[:40])
    assert [len(rows) for rows, _ in seen] == [60, 60, 80, 40]
    assert all(len(np.unique(rows, axis=0)) == len(rows) for rows, _ in seen)
    np.testing.assert_array_equal(seen[0][1], 1)
    assert len(np.unique(seen[1][1])) == 60
    assert np.isin(seen[1][1], heavy).all()


# --- corpora ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_corpus_of_one_segment_is_the_matrix(way):
    X, origins, _ = planted()
    weights = np.random.default_rng(1).integers(0, 3, 150).astype(float)
    corpus = Corpus(X, origins, sample_weight=weights)
    assert corpus.n_segments == 1
    one, other = fitted(X, 3, weights, init=way), fitted(corpus, init=way)
    same_bits(one, other)
    assert one.score(X, sample_weight=weights) == other.score(corpus)
    for measure in ("perplexity", "bic", "aic"):
        assert getattr(one, measure)(X, weights) == getattr(other, measure)(corpus)
    first, second = mixture(3).partial_fit(X, sample_weight=weights), mixture(3).partial_fit(corpus)
    np.testing.assert_array_equal(first.feature_count_, second.feature_count_)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weigh", [False, True])
def test_segments_on_disk_are_those_in_memory_and_close_to_the_matrix(way, weigh, monkeypatch, tmp_path):
    monkeypatch.setattr(corpora, "SEGMENT", 400)
    X, _, _ = planted()
    weights = np.random.default_rng(1).integers(0, 3, 150).astype(float) if weigh else None
    corpus = Corpus(X, sample_weight=weights)
    stored = corpus.write(tmp_path / "corpus")
    assert corpus.n_segments == stored.n_segments > 3
    memory, disk = fitted(corpus, init=way, n_jobs=1), fitted(stored, init=way, n_jobs=3)
    same_bits(memory, disk)
    matrix = fitted(X, 3, weights, init=way)
    close(memory, matrix)
    np.testing.assert_array_equal(memory.predict(corpus), matrix.predict(X))
    np.testing.assert_array_equal(disk.predict_proba(stored), memory.predict_proba(X))
    assert memory.perplexity(stored) == pytest.approx(matrix.perplexity(X, weights), rel=1e-9)
    _, origins, phi = planted()
    for init in (origins, np.random.default_rng(2).dirichlet(np.ones(3), 150), phi):
        close(fitted(stored, init=init), fitted(X, 3, weights, init=init))
    one, other = (mixture(3).partial_fit(rows).partial_fit(rows) for rows in (corpus, stored))
    np.testing.assert_array_equal(one.feature_count_, other.feature_count_)


def test_memory_holds_one_segment(monkeypatch, tmp_path):
    """No [n, K] of all rows, nor the non-zeros of all: four times as many rows take little more memory."""
    monkeypatch.setattr(corpora, "SEGMENT", 4000)
    monkeypatch.setattr(starts, "SAMPLE", 500)
    rng, peaks = np.random.default_rng(3), []
    for n in (4000, 16000):
        stored = Corpus(sp.random_array((n, 50), density=0.1, rng=rng, format="csr")).write(tmp_path / str(n))
        tracemalloc.start()
        fitted(stored, 12, max_iter=2)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 12000 * 12 * 8 / 2


def test_a_corpus_brings_its_weights():
    X, _, _ = planted()
    for method in ("fit", "partial_fit", "score", "bic", "perplexity"):
        with pytest.raises(ValueError, match="sample_weight must be None"):
            getattr(fitted(X), method)(Corpus(X), sample_weight=np.ones(150))


# --- what a model says -----------------------------------------------------------------------------------------------


def test_measures_by_their_formulas():
    X, _, _ = planted()
    model = fitted(X)
    joint = X @ model.feature_log_prob_.T + np.log(model.weights_)
    logs = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(X), logs, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), joint - logs[:, np.newaxis], rtol=1e-9, atol=1e-10)
    assert model.score(X) == pytest.approx(logs.mean(), rel=1e-12)
    assert model.perplexity(X) == pytest.approx(np.exp(-logs.sum() / X.sum()), rel=1e-12)
    free = 2 + 3 * 39
    assert model.bic(X) == pytest.approx(-2 * logs.sum() + free * np.log(150), rel=1e-12)
    assert model.aic(X) == pytest.approx(-2 * logs.sum() + 2 * free, rel=1e-12)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


def test_bic_knows_how_many_components_were_planted():
    X, _, _ = planted(n=500)
    scores = [fitted(X, K, alpha=0.01, n_init=3).bic(X) for K in (1, 2, 3, 4, 6)]
    assert np.argmin(scores) == 2


def test_documents_that_no_component_can_produce():
    model = mixture(2, alpha=0, init=[0, 1]).fit([[2.0, 1, 0, 0], [0, 0, 3, 0]])
    odd = [[1.0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_allclose(model.predict_proba(odd), np.full((3, 2), 0.5), rtol=1e-12)
    np.testing.assert_array_equal(model.score_samples(odd), [-np.inf, -np.inf, 0])
    assert model.score(odd) == -np.inf
    assert model.perplexity(odd) == np.inf
    assert model.score(odd, sample_weight=[0, 0, 1]) == 0


def test_draws():
    X, _, _ = planted()
    model = fitted(X, alpha=0)
    one, other = model.sample(20), model.sample(20)
    np.testing.assert_array_equal(one[0].toarray(), other[0].toarray())  # the estimator's own random_state
    assert (model.sample(20, random_state=1)[0] != one[0]).nnz > 0
    assert one[0].shape == (20, 40)
    assert (one[0].sum(axis=1) == round(X.sum() / 150)).all()
    lengths = np.arange(20)
    drawn, _ = model.sample(20, lengths=lengths)
    np.testing.assert_array_equal(drawn.sum(axis=1), lengths)
    assert np.isfinite(model.score_samples(drawn)).all()  # no word that its component has not
    assert model.sample(2, lengths=0)[0].nnz == 0
    for wrong in (-1, 1.5, [1, 2], "a"):
        with pytest.raises(ValueError, match="lengths must be whole numbers of 0 or more, one or 3"):
            model.sample(3, lengths=wrong)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(0)


class Extreme:
    """A generator of always the same number, from 0 to just below 1."""

    def __init__(self, number):
        self.number = number

    def choice(self, _, n, p):
        return np.arange(n) % len(p)

    def random(self, n):
        return np.full(n, self.number)


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
def test_draws_at_the_ends_are_words_of_their_component(number, monkeypatch):
    X, _, _ = planted()
    X = sp.hstack([sp.csr_array((150, 2)), X, sp.csr_array((150, 2))], format="csr")
    monkeypatch.setattr("fastlin.validation.as_generator", lambda _: Extreme(number))
    for seed in range(20):
        origins = np.random.default_rng(seed).integers(0, 3, 150)
        drawn, components = fitted(X, alpha=0, init=origins, max_iter=1).sample(3, lengths=2)
        assert components.tolist() == [0, 1, 2]
        assert (drawn.sum(axis=1) == 2).all()
        assert (drawn.sum(axis=0)[[0, 1, -2, -1]] == 0).all()


# --- extremes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 1e-300, 0.0])
@pytest.mark.parametrize("way", WAYS)
def test_long_documents_short_ones_and_empty_ones(alpha, way):
    rng = np.random.default_rng(0)
    phi = np.array([[0.5, 0.3, 0.2, 0, 0, 0], [0, 0, 0, 0.2, 0.3, 0.5]])
    lengths = np.repeat([100_000, 1, 0, 30], 10)
    X = np.array([rng.multinomial(n, phi[place % 2]) for place, n in enumerate(lengths)], float)
    model = fitted(X, 2, alpha=alpha, init=way, n_init=5)
    never_falls(model)
    there = lengths > 0
    expected = partition(np.arange(40)[there] % 2)
    np.testing.assert_array_equal(partition(model.predict(X))[np.ix_(there, there)], expected)
    np.testing.assert_allclose(model.predict_proba(X[~there]), np.tile(model.weights_, (10, 1)), rtol=1e-12)


@pytest.mark.parametrize("init", [*WAYS, np.full((4, 3), 1 / 3), np.zeros((3, 5))])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_no_words_at_all(init, alpha):
    X = sp.csr_array((4, 5))
    model = fitted(X, 3, init=init, alpha=alpha)
    np.testing.assert_allclose(model.weights_, 1 / 3 if isinstance(init, np.ndarray) else model.weights_)
    np.testing.assert_allclose(model.feature_log_prob_, np.log(0.2), rtol=1e-12)
    assert model.score(X) == pytest.approx(0, abs=1e-12)
    assert model.sample(2)[0].nnz == 0
    with pytest.raises(ValueError, match="no words"):
        model.perplexity(X)


def test_one_document():
    for K in (1, 3):
        model = fitted(np.array([[1.0, 0, 2]]), K, alpha=0)
        np.testing.assert_allclose(model.bound_[-1], np.log(1 / 3) + 2 * np.log(2 / 3), rtol=1e-12)


def test_components_without_documents_are_spoken_of():
    X, _, _ = planted()
    with pytest.warns(
        ConvergenceWarning, match=r"\d+ of 200 components have no documents; to seed them again would not"
    ):
        mixture(200).fit(X)
    shares = np.zeros((150, 3))
    shares[:, 0] = 1
    with pytest.warns(ConvergenceWarning, match="2 components had lost all documents, and were seeded again"):
        model = mixture(3, init=shares, alpha=0.01).fit(X)
    assert model.history_[0]["seeded"] == [1, 2]
    assert (np.bincount(model.predict(X), minlength=3) > 10).all()
    never_falls(model)


def test_too_few_iterations_are_spoken_of():
    X, _, _ = planted(words=4)
    with pytest.warns(ConvergenceWarning, match="EM did not converge: max_iter=2 iterations"):
        model = mixture(3, init="random", max_iter=2, alpha=0.1).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_tol_is_of_a_document():
    X, _, _ = planted(words=4)
    model = mixture(3, init="random", tol=1e-2, alpha=0.1).fit(X)
    rises = np.diff(model.bound_)
    assert (rises[:-2] > 1e-2 * 150).all()
    assert rises[-2] <= 1e-2 * 150  # and one iteration that keeps its counts


# --- life ------------------------------------------------------------------------------------------------------------


def test_partial_fit_goes_on_from_a_fit():
    X, _, _ = planted()
    model = fitted(X[:100])
    counts, proba = model.feature_count_.copy(), model.predict_proba(X[100:])
    model.partial_fit(X[100:])
    np.testing.assert_allclose(model.feature_count_, counts + (X[100:].T @ proba).T, rtol=1e-12)
    assert not hasattr(model, "bound_")  # it was another model's
    with pytest.raises(ValueError, match="n_components=2, but the model has 3"):
        model.set_params(n_components=2).partial_fit(X)
    with pytest.raises(ValueError, match="X has 39 features"):
        model.set_params(n_components=3).partial_fit(X[:, :39])


def test_a_batch_that_is_refused_half_way_changes_nothing(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 400)
    X, _, _ = planted()
    bad = X.toarray()
    bad[-1, 0] = -1
    model = fitted(X)
    counts = model.feature_count_.copy()
    with pytest.raises(ValueError, match="Negative values in data: X holds -1 at row 149"):
        model.partial_fit(Corpus(bad))
    np.testing.assert_array_equal(model.feature_count_, counts)


def test_online_em_learns_too():
    X, origins, _ = planted(n=2000, words=40)
    model = mixture(3, alpha=0.01)
    for start in range(0, 2000, 200):
        model.partial_fit(X[start : start + 200])
    assert (partition(model.predict(X)) == partition(origins)).mean() > 0.95
    np.testing.assert_allclose(model.feature_count_.sum(), X.sum(), rtol=1e-12)


def test_callbacks_see_the_model_and_may_end_the_fit(capsys):
    X, _, _ = planted(words=4)
    seen = []

    def look(model, record):
        seen.append((record["iteration"], model.score(X), -record["objective"]))
        return record["iteration"] == 2

    model = mixture(3, init="random", alpha=0.0, callback=look, n_init=5).fit(X)
    assert [iteration for iteration, _, _ in seen] == [0, 1, 2]
    np.testing.assert_allclose([150 * score for _, score, _ in seen], [bound for _, _, bound in seen], rtol=1e-9)
    assert model.n_iter_ == 2
    assert model.score(X) == seen[-1][1]
    shares = np.zeros((150, 3))
    shares[:, 0] = 1
    fitted(X, init=shares, verbose=1, alpha=0.01)
    printed = capsys.readouterr().out
    assert re.search(r"MultinomialMixture  iteration 0  [\d.]+ s  objective [\d.]+  seeded \[1, 2\]\n", printed)
    assert re.search(r"MultinomialMixture  iteration 1  [\d.]+ s  objective [\d.]+\n", printed)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_is_raised_on_the_way_changes_nothing(error):
    X, _, _ = planted()

    def fail(*_):
        raise error

    model = fitted(X)
    before = pickle.dumps({**model.__dict__, "callback": None})
    with pytest.raises(error):
        model.set_params(callback=fail).fit(X[:50])
    assert pickle.dumps({**model.__dict__, "callback": None}) == before
    fresh = mixture(callback=fail)
    with pytest.raises(error):
        fresh.fit(X)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("kind", [
    np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array, lambda X: sp.csr_array(X).astype(np.float32),
    lambda X: X.astype(int), lambda X: X.astype(int).tolist(),
    lambda X: sp.csr_array((X.ravel(), np.tile(np.arange(40)[::-1], 150), 40 * np.arange(151)))[:, ::-1],
])  # fmt: skip
def test_matrices_of_any_kind(kind):
    X, _, _ = planted()
    one, other = fitted(X), fitted(kind(X.toarray()))
    same_bits(one, other)
    assert one.perplexity(X) == other.perplexity(kind(X.toarray()))
    np.testing.assert_array_equal(one.predict(X), other.predict(kind(X.toarray())))


def test_names_of_features_and_copies():
    X, _, _ = planted()
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(40)])
    model = fitted(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"word 3": "sword"}))
    again = pickle.loads(pickle.dumps(model))
    same_bits(model, again)
    np.testing.assert_array_equal(model.predict_proba(frame), again.predict_proba(frame))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "bound_")


@pytest.mark.parametrize("parameters, match", [
    ({"n_components": 0}, "n_components must be at least 1"),
    ({"n_components": 2.5}, "n_components must be a whole number"),
    ({"alpha": -1}, "alpha must be >= 0"),
    ({"alpha": np.nan}, "alpha must be"),
    ({"alpha": np.ones(3)}, "alpha has 3 entries, X has 40 features"),
    ({"alpha": np.ones(40), "base_measure": np.ones(40)}, "alpha as an array excludes base_measure"),
    ({"base_measure": np.zeros(40)}, "base_measure must be non-negative with a positive"),
    ({"tol": -1e-9}, "tol must be >= 0"),
    ({"max_iter": 0}, "max_iter must be at least 1"),
    ({"n_init": 0}, "n_init must be at least 1"),
    ({"n_jobs": 0}, "n_jobs must be"),
    ({"verbose": -1}, "verbose must be"),
    ({"callback": 3}, "callback must be callable"),
    ({"random_state": -1}, "random_state must be"),
])  # fmt: skip
def test_parameters_that_are_none(parameters, match):
    X, _, _ = planted()
    for method in ("fit", "partial_fit"):
        model = MultinomialMixture(**parameters)
        with pytest.raises((ValueError, TypeError), match=match):
            getattr(model, method)(X)
        assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("spoil, match", [
    (lambda X: X.__setitem__((2, 3), np.nan), "X contains NaN at row 2, column 3"),
    (lambda X: X.__setitem__((2, 3), -1), "Negative values in data: X holds -1 at row 2, column 3"),
    (lambda X: X.__setitem__((2, 3), 1e200), "X holds 1e"),
])  # fmt: skip
def test_counts_that_are_none(spoil, match):
    X, _, _ = planted()
    bad, model = X.toarray(), fitted(X)
    spoil(bad)
    for method in ("fit", "partial_fit", "predict", "predict_proba", "score", "perplexity", "fit_predict"):
        with pytest.raises(ValueError, match=match):
            getattr(model, method)(bad)
    if "NaN" not in match:
        for method in ("fit", "predict", "score"):
            with pytest.raises(ValueError, match=match):
                getattr(model, method)(Corpus(bad))
    same_bits(model, fitted(X))


def test_weights_and_widths_that_are_none():
    X, origins, _ = planted()
    model = fitted(X)
    same_bits(model, mixture(3).fit(X, origins))  # y is ignored
    for weights, match in [
        (np.ones(3), "sample_weight has 3 entries, X has 150 rows"),
        (-np.ones(150), "sample_weight must not be negative"),
        (np.zeros(150), "sample_weight is zero for every row"),
    ]:
        for method in ("fit", "score"):
            with pytest.raises(ValueError, match=match):
                getattr(model, method)(X, sample_weight=weights)
    for method in ("predict", "score_samples", "bic"):
        with pytest.raises(ValueError, match="X has 39 features, but MultinomialMixture is expecting 40"):
            getattr(model, method)(X[:, :39])
        with pytest.raises(NotFittedError):
            getattr(mixture(), method)(X)
    for name in ("weights_", "feature_log_prob_", "feature_count_"):
        with pytest.raises(NotFittedError):
            getattr(mixture(), name)
    same_bits(model, fitted(X))
