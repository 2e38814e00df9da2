"""The figures of rankings are scikit-learn's, and thresholds do what they say."""

import doctest
import importlib
import json

import numpy as np
import pytest
from sklearn import metrics

from fastlin.inspection import RankingAccumulator, ranking


def scored(n, n_labels, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_labels, n)
    scores = rng.normal(size=(n, n_labels))
    scores[np.arange(n), codes] += 1
    scores = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    if ties:
        scores = np.round(scores, 1)
    return codes.tolist(), scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_the_areas_are_scikit_learns(n_labels, ties):
    y, scores = scored(400, n_labels, ties=ties)
    found = ranking(y, scores, range(n_labels))
    each = [metrics.roc_auc_score(np.equal(y, k), scores[:, k]) for k in range(n_labels)]
    assert [area for _, area in found.labels] == pytest.approx(each, rel=1e-12)
    assert found.roc_auc == pytest.approx(np.mean(each), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_the_best_labels_are_scikit_learns(k):
    y, scores = scored(400, 5)
    (found,) = ranking(y, scores, range(5), top=[k]).top_k
    assert found == (k, 1.0 if k >= 5 else metrics.top_k_accuracy_score(y, scores, k=k))
    tied = ranking([0, 1, 2], np.ones((3, 3)), [0, 1, 2], top=[1, 2, 3])
    assert [share for _, share in tied.top_k] == [1 / 3, 2 / 3, 1.0]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("least", [0.3, 0.8, 1.0])
def test_the_lowest_threshold_with_a_precision(least, ties):
    y, scores = scored(300, 3, ties=ties)
    strangers = ranking(y, scores, "abc", min_precision=least).operating_points
    assert [(point.label, point.threshold) for point in strangers] == [("a", None), ("b", None), ("c", None)]
    for k, point in enumerate(ranking(y, scores, range(3), min_precision=least).operating_points):
        precision, recall, thresholds = metrics.precision_recall_curve(np.equal(y, k), scores[:, k])
        good = np.flatnonzero(precision[:-1] >= least)
        if not len(good):
            assert point.threshold is None
            continue
        assert point.threshold == thresholds[good[0]]
        assert (point.precision, point.recall) == pytest.approx((precision[good[0]], recall[good[0]]), rel=1e-12)
        assert point.documents == (scores[:, k] >= point.threshold).sum()


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9, 2.0])
def test_what_a_threshold_leaves(threshold):
    y, scores = scored(300, 3)
    (cut,) = ranking(y, scores, range(3), thresholds=[threshold]).cuts
    answered = scores.max(axis=1) >= threshold
    assert (cut.documents, cut.coverage) == (answered.sum(), answered.mean())
    if not answered.any():
        assert cut.accuracy is None
    else:
        assert cut.accuracy == np.mean(scores.argmax(axis=1)[answered] == np.array(y)[answered])
    for k, label in enumerate(cut.labels):
        given = scores[:, k] >= threshold
        assert label.documents == given.sum()
        assert label.recall == pytest.approx(given[np.equal(y, k)].mean())
        assert label.precision == (pytest.approx(np.equal(y, k)[given].mean()) if given.any() else None)


def test_blocks_add_up_and_unknown_labels_are_never_found():
    y, scores = scored(100, 3)
    y[5], names = 7, [0, 1, 2]
    tally = RankingAccumulator(names)
    for start in range(0, 100, 30):
        tally.add(y[start : start + 30], scores[start : start + 30])
    options = {"top": [1, 3], "thresholds": [0.4], "min_precision": 0.5}
    found = tally.report(**options)
    assert found == ranking(y, scores, names, **options)
    assert found.top_k[1] == (3, 0.99)
    assert json.loads(json.dumps(found.as_dict()))["documents"] == 100


def test_what_cannot_be_judged():
    found = ranking(["a", "a"], [[1, 0], [1, 0]], ["a", "b"])
    assert (found.roc_auc, found.labels) == (None, (("a", None), ("b", None)))
    assert "ROC AUC –" in str(found)
    with pytest.raises(ValueError, match="there are no documents"):
        RankingAccumulator(["a"]).report()
    with pytest.raises(ValueError, match="do not fit 1 documents, 2 classes"):
        ranking(["a"], [[1]], ["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        ranking(["a"], [[np.nan, 1]], ["a", "b"])


def test_the_examples_run():
    tried = doctest.testmod(importlib.import_module("fastlin.inspection.ranking"))
    assert (tried.failed, tried.attempted > 2) == (0, True)
