"""Where EM for a mixture begins."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import MultinomialNB, validation
from fastlin.mixture import em_init
from support.mixtures import WAYS, close, fitted, mixture, partition, planted, same_bits


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


def test_a_sparse_start_is_proved():
    X, _, _ = planted()
    words = sp.csr_array(np.ones((3, 40)))
    same_bits(mixture(3, init=words).fit(X), mixture(3, init=words.toarray()).fit(X))
    words.indices[-1] = 1 << 30
    with pytest.raises(ValueError, match="init holds index 1073741824 in row 2"):
        mixture(3, init=words).fit(X)


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
    chosen = em_init.kmeans_plus_plus(rows, 4, validation.as_generator(0), weights=np.ones(150), normalise=True)
    nearest = (tfidf @ tfidf[chosen].T).argmax(axis=1)
    close(fitted(X, 4, init="k-means++"), fitted(X, 4, init=nearest))
    seeds = tfidf[chosen]
    for _ in range(em_init.KMEANS_ROUNDS):
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
    seen, seeding = [], em_init.kmeans_plus_plus

    def spy(rows, *args, weights, **options):
        seen.append((rows.matrix().toarray(), weights))
        return seeding(rows, *args, weights=weights, **options)

    monkeypatch.setattr(em_init, "kmeans_plus_plus", spy)
    monkeypatch.setattr(em_init, "SEED_SAMPLE_ROWS", 60)
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
