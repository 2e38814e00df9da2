"""Choices among candidates on corpora: one segment has the bits of rows in memory, several have the same optimum."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import CandidateClassifier
from fastlin.data import Corpus
from fastlin.data import corpus as corpora
from fastlin.optim.solvers.dispatch import SOLVERS


def data(seed=0, n_groups=60, V=15):
    """X, the places of the right ones, sizes of the groups, their weights; and labels and weights of the rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_groups)
    X = sp.random_array((sizes.sum(), V), density=0.4, rng=rng, format="csr")
    gold, weights = rng.integers(0, sizes), rng.integers(0, 3, n_groups).astype(float)
    right = np.zeros(sizes.sum(), int)
    right[np.cumsum(sizes) - sizes + gold] = 1
    return X, gold, sizes, weights, right, np.repeat(weights, sizes)


def fitted(*args, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CandidateClassifier(random_state=0, **parameters).fit(*args)


def same_bits(a, b):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert (a.objective_, a.certificate_, a.n_iter_) == (b.objective_, b.certificate_, b.n_iter_)


KINDS = [{"solver": solver} for solver in SOLVERS]
KINDS += [{"loss": loss} for loss in ("hinge", "pa", "perceptron")] + [
    {"loss": "pa", "average": True, "dtype": "float32"}
]


@pytest.mark.parametrize("parameters", KINDS)
def test_one_segment_is_memory_and_disk_is_memory(parameters, monkeypatch, tmp_path):
    X, gold, sizes, weights, right, of_rows = data()
    one = Corpus(X, right, sample_weight=of_rows, group_sizes=sizes)
    same_bits(fitted(X, gold, sizes, weights, max_iter=8, **parameters), fitted(one, max_iter=8, **parameters))
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    several = Corpus(X, right, sample_weight=of_rows, group_sizes=sizes)
    stored = several.write(tmp_path / "corpus")
    assert several.n_segments == stored.n_segments > 3
    same_bits(fitted(several, max_iter=8, **parameters), fitted(stored, max_iter=8, n_jobs=2, **parameters))


@pytest.mark.parametrize("parameters", [{"solver": s} for s in ("auto", "lbfgs", "gis", "iis")] + [{"loss": "hinge"}])
def test_several_segments_have_the_same_optimum(parameters, monkeypatch):
    X, gold, sizes, weights, right, of_rows = data()
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    parameters = {"tol": 1e-9, "max_iter": 3000, **parameters}
    one = fitted(X, gold, sizes, weights, **parameters)
    several = fitted(Corpus(X, right, sample_weight=of_rows, group_sizes=sizes), **parameters)
    assert several.objective_ == pytest.approx(one.objective_, rel=1e-7)
    tolerance = 1e-4 if "loss" in parameters else 1e-6
    np.testing.assert_allclose(several.coef_, one.coef_, atol=tolerance)


def test_without_shuffling_the_model_is_that_of_memory(monkeypatch):
    X, gold, sizes, _, right, _ = data()
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    for loss in ("pa", "perceptron"):
        parameters = {"loss": loss, "shuffle": False, "tol": None, "max_iter": 3}
        one, several = fitted(X, gold, sizes, **parameters), fitted(Corpus(X, right, group_sizes=sizes), **parameters)
        np.testing.assert_array_equal(several.coef_, one.coef_)


def test_predictions_for_a_corpus(monkeypatch):
    X, gold, sizes, weights, right, of_rows = data()
    model = fitted(X, gold, sizes)
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    corpus = Corpus(X, right, sample_weight=of_rows, group_sizes=sizes)
    for method in ("predict", "rank", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(getattr(model, method)(corpus), getattr(model, method)(X, sizes))
    assert model.score(corpus) == model.score(X, gold, sizes, weights)


def test_what_a_corpus_of_candidates_needs():
    X, _, sizes, _, right, _ = data()
    fit = CandidateClassifier().fit
    with pytest.raises(ValueError, match="without groups"):
        fit(Corpus(X, right))
    with pytest.raises(ValueError, match="group_sizes must be None"):
        fit(Corpus(X, right, group_sizes=sizes), None, sizes)
    with pytest.raises(ValueError, match="without labels"):
        fit(Corpus(X, group_sizes=sizes))
    with pytest.raises(ValueError, match="3 labels"):
        fit(Corpus(X, np.arange(len(right)) % 3, group_sizes=sizes))
    wrong = right.copy()
    wrong[np.flatnonzero(right)[7]] = 0
    with pytest.raises(ValueError, match="0 rows of group 7 have the label 1"):
        fit(Corpus(X, wrong, group_sizes=sizes))
    with pytest.raises(ValueError, match="every group is zero"):
        fit(Corpus(X, right, sample_weight=np.zeros(len(right)), group_sizes=sizes))
