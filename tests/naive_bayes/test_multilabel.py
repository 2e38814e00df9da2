"""Naive Bayes of an indicator is a binary model of each label against the rest, counted in one pass."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import naive_bayes
from sklearn.multiclass import OneVsRestClassifier

import fastlin
from fastlin import BernoulliNB, ComplementNB, MultinomialNB
from support.estimators import refused
from support.strategies import sparse_matrices

CLASSES = (MultinomialNB, ComplementNB, BernoulliNB)
OPTIONS = [
    *((cls, more) for cls in CLASSES for more in ({}, {"alpha": 0.01}, {"fit_prior": False})),
    *((cls, {"class_prior": [0.3, 0.7]}) for cls in CLASSES),
    (ComplementNB, {"norm": True}), (BernoulliNB, {"binarize": 1.5}),
]  # fmt: skip
with_options = pytest.mark.parametrize(("cls", "more"), OPTIONS)


def counted(n_rows=80, n_features=25, n_labels=7, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(rng.poisson(0.4, (n_rows, n_features)).astype(dtype))
    Y = (rng.random((n_rows, n_labels)) < rng.uniform(0.1, 0.6, n_labels)).astype(int)
    Y[0], Y[1] = 0, 1
    return X, Y


def rivals(cls, more, X, Y, **weights):
    """scikit-learn's, a constant where a label is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OneVsRestClassifier(getattr(naive_bayes, cls.__name__)(**more)).fit(X, Y, **weights)


@with_options
@pytest.mark.parametrize("n_labels", [2, 7])
def test_it_is_scikit_learns_one_vs_rest(cls, more, n_labels):
    X, Y = counted(n_labels=n_labels)
    ours, theirs = cls(**more).fit(X, Y), rivals(cls, more, X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.predict(sp.csr_array(X.shape)), theirs.predict(sp.csr_array(X.shape)))
    assert ours.score(X, Y) == theirs.score(X, Y)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)), rtol=1e-9, atol=1e-12)
    own = np.array([each.feature_count_[1] for each in theirs.estimators_])
    np.testing.assert_array_equal(ours.feature_count_, own)
    np.testing.assert_array_equal(ours.class_count_, Y.sum(axis=0))
    if cls is not ComplementNB:
        logs = np.array([each.feature_log_prob_[1] for each in theirs.estimators_])
        np.testing.assert_allclose(ours.feature_log_prob_, logs, rtol=1e-12)
    prior = np.array([each.class_log_prior_[1] for each in theirs.estimators_])
    np.testing.assert_allclose(ours.class_log_prior_, prior, rtol=1e-12)


@with_options
def test_weights_of_rows_are_counts(cls, more):
    X, Y = counted()
    weights = np.random.default_rng(1).integers(0, 3, len(Y))
    repeated = np.repeat(np.arange(len(Y)), weights)
    model = cls(**more).fit(X, sp.csr_array(Y), sample_weight=weights)
    other = cls(**more).fit(X[repeated], sp.csr_array(Y[repeated]))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-10)


@with_options
@given(data=st.data())
def test_each_label_is_the_binary_model(cls, more, data):
    """With α = 0 too, where log 0 meets log 0."""
    X = data.draw(sparse_matrices(values=("counts",)))
    n, L = X.shape[0], data.draw(st.integers(2, 5))
    Y = np.array(data.draw(st.lists(st.lists(st.integers(0, 1), min_size=L, max_size=L), min_size=n, max_size=n)))
    more = {**more, "alpha": data.draw(st.sampled_from([0.0, 0.3, 2.0]))}
    model = cls(**more).fit(X, Y)
    found = model.predict_proba(X)
    for k in range(L):
        if Y[:, k].all() or not Y[:, k].any():
            np.testing.assert_array_equal(found[:, k], Y[:, k])
            continue
        binary = cls(**more).fit(X, Y[:, k])
        np.testing.assert_allclose(found[:, k], binary.predict_proba(X)[:, 1], rtol=1e-7, atol=1e-9)


@with_options
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_parts_threads_and_files_change_no_bit(cls, more, n_jobs, tmp_path):
    X, Y = counted()
    model, parts = cls(**more).fit(X, sp.csr_matrix(Y)), cls(n_jobs=n_jobs, **more)
    for start in (0, 20, 50):
        stop = {0: 20, 20: 50, 50: 80}[start]
        parts.partial_fit(X[start:stop], sp.csr_matrix(Y[start:stop]))
    fastlin.save(model, tmp_path / "model")
    loaded, stated = fastlin.load(tmp_path / "model"), cls(**more).set_state(model.get_state())
    for other in (parts, loaded, stated, pickle.loads(pickle.dumps(model))):
        assert other.multilabel_
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert isinstance(other.predict(X), sp.csr_matrix)
    loaded.partial_fit(X[:20], sp.csr_matrix(Y[:20]))
    stated.partial_fit(X[:20], sp.csr_matrix(Y[:20]))
    np.testing.assert_array_equal(loaded.feature_count_, stated.feature_count_)


def test_what_only_rows_of_a_label_have_is_exactly_nothing_of_the_rest():
    X, Y = counted()
    X = X.multiply(np.random.default_rng(1).uniform(0.1, 1, X.shape)).tocsr()
    feature = X[:, [3]].toarray().ravel() > 0
    Y[feature, 2] = 1
    model = MultinomialNB(alpha=0).fit(X, Y)
    score = model.predict_log_proba(sp.csr_array(([1.0], ([0], [3])), (1, X.shape[1])))
    assert score[0, 2] == 0.0


def test_features_and_rows_that_come_later_are_counted():
    X, Y = counted()
    model = MultinomialNB(grow_features=True).partial_fit(X[:40, :9], Y[:40]).partial_fit(X[40:], Y[40:])
    both = sp.vstack([sp.hstack([X[:40, :9], sp.csr_matrix((40, 16))]), X[40:]]).tocsr()
    np.testing.assert_allclose(model.predict_proba(X), MultinomialNB().fit(both, Y).predict_proba(X), rtol=1e-12)


def test_a_label_that_comes_later_is_learnt():
    X, Y = counted()
    Y[:40, 3] = 0
    parts = ComplementNB().partial_fit(X[:40], Y[:40])
    assert not parts.predict(X)[:, 3].any()
    parts.partial_fit(X[40:], Y[40:])
    np.testing.assert_array_equal(parts.predict_proba(X), ComplementNB().fit(X, Y).predict_proba(X))


def test_the_counts_of_all_rows_are_the_total_of_complements():
    X, Y = counted()
    np.testing.assert_array_equal(ComplementNB().fit(X, Y).feature_all_, np.asarray(X.sum(axis=0)).ravel())


@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_of_one_label_a_row_is_refused(cls):
    X, Y = counted()
    model = cls().fit(X, Y)
    assert hasattr(cls(), "predict_joint_log_proba")
    assert not hasattr(model, "predict_joint_log_proba")
    with refused(model, AttributeError, match="has no attribute 'predict_joint_log_proba'"):
        model.predict_joint_log_proba(X)
    with refused(model, ValueError, match="y has 3 columns"):
        model.partial_fit(X, Y[:, :3])
    with refused(model, ValueError, match="an indicator of 7 labels"):
        model.partial_fit(X, Y[:, 0])
    with refused(model, ValueError, match="Number of priors must match number of classes"):
        model.set_params(class_prior=[0.1] * 7).fit(X, Y)
    with refused(model, ValueError, match="class_count"):
        model.set_params(class_prior=None).set_state({**model.get_state(), "class_count": np.ones(7)})
    if cls is MultinomialNB:
        with refused(model, ValueError, match="loo_score is of rows that have one label each"):
            model.loo_score(X, Y)
