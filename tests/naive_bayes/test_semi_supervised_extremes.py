"""Semi-supervised naive Bayes at the edge of the numbers, and with labels of unusual kinds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fastlin import Corpus, SemiSupervisedNB, SemiSupervisedNBCV
from support.semi_supervised import assert_same, iterated

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:.*components")


def some_counts():
    """Forty rows, a quarter without a label."""
    return np.random.default_rng(3).poisson(0.7, (40, 12)).astype(float), np.tile([0, 1, 2, -1], 10)


def test_components_are_no_more_than_there_may_be():
    """Sums of such numbers would come round to small ones."""
    X = np.eye(5)
    for components in ([2**62 - 1] * 4 + [5], 2**31, {0: 2**31 - 1}):
        for method in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=r"components.* is \d+, but X has 5 rows; at most 65536 are supported"):
                getattr(SemiSupervisedNB(components=components), method)(X, np.arange(5))


def test_integers_and_booleans_among_none_are_what_they_are():
    X, y = some_counts()
    whole = SemiSupervisedNB().fit(X, y)
    for none in (None, -1, -1.0, np.int64(-1), np.float32(-1)):
        objects = np.array([none if label < 0 else np.int64(label) for label in y], object)
        model = SemiSupervisedNB().fit(X, objects)
        assert_same(model, whole)
        assert model.classes_.dtype == y.dtype
        assert model.score(X, np.maximum(y, 0)) == whole.score(X, np.maximum(y, 0))
    model = SemiSupervisedNB().fit(X, [None if label < 0 else bool(label) for label in y])
    assert model.classes_.dtype == bool
    with pytest.raises(TypeError, match="labels of one kind"):
        SemiSupervisedNB().fit(X, [None, True, 2, 3] * 10)


def test_no_label_is_not_announced():
    X, y = some_counts()
    model = SemiSupervisedNB(fit_prior=False).partial_fit(X, y, classes=np.unique(y))
    assert model.classes_.tolist() == [0, 1, 2]


def test_validation_data_is_of_counts():
    X, y = some_counts()
    for X_val in (-X[:3], Corpus(-X[:3], y[:3])):
        with pytest.raises(ValueError, match="Negative values"):
            SemiSupervisedNB().fit(X, y, X_val=X_val, y_val=None if isinstance(X_val, Corpus) else y[:3])


def test_rows_with_labels_that_are_all_held_out_are_no_beginning():
    X, y, weights = np.eye(8) + 1, np.repeat([0, 1], 4), np.zeros(8)
    weights[[0, 4]] = 1
    model, refused = SemiSupervisedNB(early_stopping=True, validation_fraction=0.5), 0
    for seed in range(20):
        try:
            model.set_params(random_state=seed).fit(X, y, sample_weight=weights)
            assert np.isfinite(model.bound_).all()
        except ValueError as error:
            assert "zero for every row that has a label and is not held out" in str(error)  # noqa: PT017
            refused += 1
    assert 0 < refused < 20


@pytest.mark.parametrize("components", [1, 2])
def test_weights_at_the_edge_of_the_numbers(components):
    X, y = some_counts()
    model = iterated(3, components=components).fit(X, y, sample_weight=np.full(40, 5e-324))
    assert np.isfinite(model.bound_).all()
    assert np.isfinite(model.feature_log_prob_).all()


@pytest.mark.parametrize("weight", [1e-12, 1.0])
def test_a_label_that_weighs_little_is_not_seeded_again(weight):
    """Its documents are counted all the same."""
    X, y = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 2, 1]]), [0, 1, -1, -1]
    model = SemiSupervisedNB(alpha=0.1).fit(X, y, sample_weight=[weight, 1, 1, 1])
    assert not any(record["seeded"] for record in model.history_)
    assert model.class_count_[0] >= weight


def test_a_callback_that_stops_at_once_has_the_bound_of_the_start():
    X, y = some_counts()
    model = SemiSupervisedNB(callback=lambda *_: True).fit(X, y)
    assert len(model.bound_) == len(model.history_) == model.n_iter_ + 1 == 1


def test_documents_that_all_go_under_one_label_are_said_to():
    rng = np.random.default_rng(0)
    common, few = rng.poisson(2.0, (300, 40)) + 20 * np.eye(40)[0], np.eye(40)[[0, 1, 2, 3] * 2] * 3
    y = [0, 1, 2, 3] * 2
    with pytest.warns(ConvergenceWarning, match="of the documents without a label are under .*alpha"):
        crowded = SemiSupervisedNB().fit(few, y, common)
    gained = crowded.class_count_ - 2
    assert gained.max() > 0.9 * gained.sum()
    SemiSupervisedNB().fit(few, y, np.repeat(few, 9, axis=0))  # says nothing
    SemiSupervisedNB(unlabeled_weight=0).fit(few, y, common)
    weights = np.where(np.array(y) == 0, 1e4, 1.0)  # then most documents with a label are under it, too
    SemiSupervisedNB().fit(few, y, common, sample_weight=weights)
    with pytest.warns(ConvergenceWarning, match="of the documents without a label are under .*alpha"):
        SemiSupervisedNBCV(alphas=[1.0], components=[1], unlabeled_weights=[1.0], cv=2).fit(few, y, common)
