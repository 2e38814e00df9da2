"""A CSR that is scored as it lies has the scores of the same rows in any other form, and is refused where they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import LinearSVC, LogisticRegression, MultinomialNB, Perceptron, SGDClassifier
from fastlin.core.sparse_estimator import SparseClassifier
from support.estimators import spread_rows
from support.strategies import seeds, sparse_matrices

MODELS = {
    "logistic": lambda: LogisticRegression(),
    "svm": lambda: LinearSVC(),
    "sgd": lambda: SGDClassifier(random_state=0),
    "averaged": lambda: Perceptron(average=True, random_state=0),
    "naive Bayes": lambda: MultinomialNB(),
}
METHODS = ("predict", "decision_function", "predict_proba", "predict_joint_log_proba")
COLUMNS = 9


def fitted(name, n_labels, dtype, columns=COLUMNS):
    X = abs(spread_rows(70, columns, 4 if columns == COLUMNS else 20)).astype(dtype)
    return MODELS[name]().fit(X, np.arange(70) % n_labels)


def answers(model, X):
    return {method: getattr(model, method)(X) for method in METHODS if hasattr(model, method)}


def assert_same_answers(model, X, other):
    expected = answers(model, other)
    for method, found in answers(model, X).items():
        np.testing.assert_array_equal(found, expected[method], err_msg=method, strict=True)


@pytest.mark.parametrize("n_labels", [2, 3, 35])
@pytest.mark.parametrize("name", MODELS)
@given(data=st.data())
def test_scores_do_not_depend_on_how_rows_lie(name, n_labels, data):
    X = data.draw(sparse_matrices(values=("counts",) if name == "naive Bayes" else ("normal", "counts", "tiny")))
    X.resize(X.shape[0], COLUMNS)
    X.data = X.data.astype(data.draw(st.sampled_from([np.float32, np.float64])))
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = fitted(name, n_labels, data.draw(st.sampled_from([np.float32, np.float64])))
    with_int64_indptr = X.copy()
    with_int64_indptr.indptr = X.indptr.astype(np.int64)
    for lying in (X, with_int64_indptr):
        assert_same_answers(model, lying, wide)


def test_counts_of_integers_are_scored_as_numbers():
    model = fitted("logistic", 3, np.float64)
    X = sparse.random(20, COLUMNS, density=0.5, format="csr", random_state=2)
    X.data = np.arange(len(X.data), dtype=np.float64)
    for dtype in (np.int64, np.int32, np.int8):
        assert_same_answers(model, X.astype(dtype), X)


@pytest.mark.parametrize("columns", [50, 200_000])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_many_rows_are_scored_in_blocks(columns, n_jobs):
    """Weights within the nearer cache and beyond it; rows enough for several jobs."""
    model = fitted("logistic", 2, np.float64, columns).set_params(n_jobs=n_jobs)
    X = spread_rows(110_000, columns, 20)
    X = sparse.vstack([X, sparse.csr_matrix((3, columns)), X[:5]], format="csr")
    wide = X.copy()
    wide.indices = X.indices.astype(np.int64)
    assert_same_answers(model, X, wide)


@pytest.mark.parametrize("name", MODELS)
@given(seed=seeds)
def test_what_is_malformed_anywhere_is_never_scored(name, seed):
    """A fault in one place of many: whatever proves matrices says of it is raised."""
    rng = np.random.default_rng(seed)
    X = sparse.random(150, COLUMNS, density=0.3, format="csr", random_state=0)
    model, place = fitted(name, 2, np.float64), int(rng.integers(X.nnz))
    row = int(rng.integers(1, X.shape[0]))
    kind = rng.integers(6)
    if kind < 3:
        X.indices[place] = (COLUMNS, -1, 2**31 - 1)[kind]
    elif kind == 3:
        X.data[place] = (np.nan, np.inf, -np.inf, 1e101)[rng.integers(4)]
    else:
        X.indptr[row] = (-1, X.nnz + 1)[kind - 4]
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(ValueError, match="X"):
                getattr(model, method)(X)


def test_negative_counts_are_refused_where_counts_are_wanted():
    X = sparse.random(150, COLUMNS, density=0.3, format="csr", random_state=0)
    X.data[len(X.data) // 2] *= -1
    with pytest.raises(ValueError, match="Negative values in data"):
        fitted("naive Bayes", 2, np.float64).predict(X)
    assert len(fitted("logistic", 2, np.float64).predict(X)) == 150


@pytest.mark.parametrize("name", MODELS)
def test_a_sound_csr_is_not_proved_beforehand(name, monkeypatch):
    """The law above compares two ways: this says that they are two."""
    model, taken = fitted(name, 3, np.float64), []
    own = SparseClassifier._score_directly
    monkeypatch.setattr(
        SparseClassifier, "_score_directly", lambda *args, **more: taken.append(own(*args, **more)) or taken[-1]
    )
    X = sparse.random(150, COLUMNS, density=0.3, format="csr", random_state=0)
    model.predict(X), model.predict(X)
    wide = X.copy()
    wide.indices = X.indices.astype(np.int64)
    model.predict(wide)
    assert taken == [name != "averaged", True, False]
