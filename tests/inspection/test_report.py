"""A report's figures are scikit-learn's, whole or added up in blocks."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from fastlin.inspection import ReportAccumulator, report

LABELS = ["a", "b", "c", "d"]


def made(n=200, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_labels, 0.3), size=n)
    y = np.array(LABELS)[[rng.choice(n_labels, p=row) for row in probabilities]]
    return y, np.array(LABELS)[probabilities.argmax(axis=1)], probabilities


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_the_figures_are_those_of_scikit_learn(pairs):
    y, predicted = map(list, zip(*pairs, strict=True))
    found = report(y, predicted)
    seen = sorted({*y, *predicted})
    expected = metrics.precision_recall_fscore_support(y, predicted, labels=seen, zero_division=0)
    assert [one.label for one in found.labels] == seen
    for values, name in zip(expected, ("precision", "recall", "f1", "documents"), strict=True):
        np.testing.assert_allclose([getattr(one, name) for one in found.labels], values)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, predicted))
    assert found.macro_f1 == pytest.approx(np.mean(expected[2]))
    matrix = metrics.confusion_matrix(y, predicted, labels=LABELS)
    assert {(LABELS[i], LABELS[j]): matrix[i, j] for i, j in zip(*matrix.nonzero(), strict=True)} == {
        (true, taken): count for true, taken, count in found.confusion
    }
    assert found.log_loss is found.calibration_error is None


def test_log_loss_and_calibration():
    y, predicted, probabilities = made()
    found = report(y, predicted, probabilities, LABELS)
    assert found.log_loss == pytest.approx(metrics.log_loss(y, probabilities, labels=LABELS))
    confidence, right = probabilities.max(axis=1), y == predicted
    error = 0.0
    for one in found.calibration:
        inside = (confidence >= one.low) & (confidence < one.high) | ((one.high == 1) & (confidence == 1))
        assert one.documents == inside.sum()
        assert one.confidence == pytest.approx(confidence[inside].mean())
        assert one.accuracy == pytest.approx(right[inside].mean())
        error += abs(confidence[inside].mean() - right[inside].mean()) * inside.mean()
    assert found.calibration_error == pytest.approx(error)
    assert sum(one.documents for one in found.calibration) == len(y)


def test_blocks_add_up_to_the_whole():
    y, predicted, probabilities = made()
    tally = ReportAccumulator(np.array(LABELS))
    for start in range(0, 200, 33):
        block = slice(start, start + 33)
        tally.add(y[block], predicted[block], probabilities[block])
    tally.add([], [])
    whole, parts = report(y, predicted, probabilities, LABELS), tally.report()
    assert parts.confusion == whole.confusion
    assert parts.log_loss == pytest.approx(whole.log_loss)
    assert parts.calibration_error == pytest.approx(whole.calibration_error)


def test_a_label_that_the_model_does_not_know():
    found = report(["a", "z"], ["a", "b"], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    assert [one.label for one in found.labels] == ["a", "b", "z"]
    assert found.log_loss == pytest.approx(-np.log(np.finfo(float).eps) / 2)
    assert found.labels[2].recall == 0


def test_everything_goes_into_json():
    y, predicted, probabilities = made()
    plain = json.loads(json.dumps(report(y, predicted, probabilities, LABELS).as_dict()))
    assert plain["documents"] == 200
    assert {one["label"] for one in plain["labels"]} == set(LABELS)
    json.dumps(report(np.array([1, 2]), np.array([1, 1])).as_dict())


def test_the_text_of_few_and_of_many_labels():
    few = str(report(["a", "a", "b"], ["a", "b", "b"]))
    assert "accuracy 0.6667 (2 of 3)" in few
    assert few.splitlines()[-2:] == ["a      1  1", "b      0  1"]
    names = [f"label{i}" for i in range(30)]
    many = str(report(names * 2, names + names[1:] + names[:1]))
    assert [line.split()[2] for line in many.splitlines()[-10:]] == ["1"] * 10  # of the thirty
    assert "nothing was taken for something else" in str(report(names, names))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="y has 2 labels, predicted 1"):
        report(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="nothing to report on"):
        report([], [])
    with pytest.raises(ValueError, match=r"probabilities of shape \(1, 3\) do not fit 1 documents and 2 classes"):
        report(["a"], ["a"], [[0.1, 0.2, 0.7]], ["a", "b"])
