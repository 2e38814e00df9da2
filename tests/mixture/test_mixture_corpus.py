"""Mixtures of corpora: disk is memory, and segments are the matrix to rounding."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import Corpus
from fastlin.data import corpus as corpora
from fastlin.mixture import em_init
from support.mixtures import WAYS, close, fitted, mixture, planted, same_bits


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
    monkeypatch.setattr(em_init, "SEED_SAMPLE_ROWS", 500)
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
