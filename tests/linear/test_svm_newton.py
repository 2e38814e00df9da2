"""LinearSVC by Newton's method: the optimum of dual ascent, certified, where dual ascent is slow and elsewhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as Theirs

from fastlin import Corpus, LinearSVC
from fastlin.data import corpus as corpora
from fastlin.optim import gram
from fastlin.optim.solvers import svm_dispatch, svm_newton
from support.estimators import text_like
from support.resuming import stop_after_each_record
from support.strategies import seeds, sparse_matrices


def newton(**options):
    return LinearSVC(**{"dual": False, "tol": 1e-8, "random_state": 0, "max_iter": 500} | options)


def unscaled(n_rows=150, n_columns=12, n_labels=2, seed=0):
    """Dense columns whose scales differ by thousands, and labels that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(2.0, size=(n_rows, n_columns)) * 10.0 ** rng.uniform(-2, 3, n_columns)
    scores = (X / X.std(axis=0)) @ rng.normal(size=(n_columns, n_labels)) + 2 * rng.normal(size=(n_rows, n_labels))
    return X, scores.argmax(axis=1)


def objectives_and_gaps(model, X, y, weights):
    """Of the twin: the objective of a model, and ½‖∇P‖², a bound of what is above the optimum."""
    X = np.column_stack([X.toarray() if sparse.issparse(X) else X, np.full(len(y), model.intercept_scaling)])
    labels = model.classes_ if len(model.classes_) > 2 else model.classes_[1:]
    z = np.where(np.asarray(y)[:, None] == labels, 1.0, -1.0)
    theta = np.column_stack([model.coef_, model.intercept_ / model.intercept_scaling])
    shortfall, C = np.maximum(0, 1 - z * (X @ theta.T)), model.C * weights[:, None]
    gradient = theta.T - 2 * X.T @ (C * z * shortfall)
    return 0.5 * np.sum(theta**2) + np.sum(C * shortfall**2), 0.5 * np.sum(gradient**2)


@pytest.fixture
def conjugate_gradients(monkeypatch):
    monkeypatch.setattr(svm_newton, "MAX_DENSE_WEIGHTS", 0)


@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=seeds,
    n_labels=st.integers(2, 11),
    C=st.sampled_from([1e-25, 1e-3, 1.0, 1e3, 1e5]),
    scaling=st.sampled_from([0.1, 1.0, 30.0]),
)
@pytest.mark.parametrize("most", [0, 512])
def test_the_certificate_is_true_of_any_matrix(most, X, seed, n_labels, C, scaling):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, X.shape[0])
    y[:2] = 0, 1
    weights = rng.choice([0.0, 0.5, 1.0, 7.0], X.shape[0])
    weights[0] = 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svm_newton, "MAX_DENSE_WEIGHTS", most)
        model = newton(C=C, intercept_scaling=scaling, tol=1e-6).fit(X, y, sample_weight=weights)
    objective, gap = objectives_and_gaps(model, X, y, weights)
    assert model.converged_
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    assert model.certificate_["duality_gap"] == pytest.approx(gap, rel=1e-3, abs=1e-9 * objective)
    assert gap <= 1.001e-6 * objective


@pytest.mark.parametrize("n_labels", [2, 3, 10])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e5])
def test_columns_that_nobody_scaled(n_labels, C):
    """Dual ascent alone does not get there; what chooses by itself does, and so do conjugate gradients."""
    X, y = unscaled(n_labels=n_labels)
    chosen = LinearSVC(C=C, random_state=0).fit(X, y)
    exact = newton(C=C).fit(sparse.csr_array(X), y)
    assert chosen.converged_
    assert exact.converged_
    objective, gap = objectives_and_gaps(exact, X, y, np.ones(len(y)))
    assert gap <= 1.01e-8 * objective
    assert chosen.certificate_["dual_objective"] <= objective * (1 + 1e-9)
    assert objective * (1 - 1e-9) <= chosen.objective_ <= objective * (1 + 1.01e-4)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_steps_stay_few_where_each_is_short(C):
    """Digits nobody scaled: one against the rest can nearly be told apart, and the kinks lie close."""
    assert newton(C=C).fit(*load_digits(return_X_y=True)).n_iter_ <= 45


def test_one_step_solves_what_is_quadratic():
    """All losses of so weak a C stay above zero, so that no kink is between the first weights and the last."""
    X, y = unscaled(n_labels=3)
    shared = {"C": 1e-3, "class_weight": {0: 5.0}, "intercept_scaling": 3.0}
    model = newton(**shared).fit(X / np.abs(X).sum(axis=1, keepdims=True), y)
    assert model.n_iter_ == 1
    assert model.certificate_["duality_gap"] <= 1e-12 * model.objective_


@pytest.mark.usefixtures("conjugate_gradients")
def test_conjugate_gradients_solve_what_is_not_written_out():
    X, y = text_like(n_rows=80, n_features=60, n_labels=4)
    expected = newton(C=10.0, dual=True, max_iter=5000).fit(X, y)
    model = newton(C=10.0).fit(X, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-8)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)


def test_it_is_scikit_learns_model():
    X, y = unscaled(n_labels=4)
    X = X / X.std(axis=0)
    shared = {"C": 3.0, "class_weight": {0: 5.0, 2: 0.1}, "intercept_scaling": 2.0}
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y))
    theirs = Theirs(dual=False, tol=1e-12, max_iter=10_000, **shared).fit(X, y, sample_weight=weights)
    model = newton(**shared).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-3 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-3)


def test_the_choice_is_by_cost_and_by_progress(monkeypatch):
    used = []
    for name in ("train_dual", "take_steps"):
        original = getattr(svm_dispatch, name)
        monkeypatch.setattr(
            svm_dispatch, name, lambda *given, name=name, run=original: (used.append(name), run(*given))[1]
        )

    def methods(X, y, **options):
        used.clear()
        LinearSVC(random_state=0, **options).fit(X, y)
        return used.copy()

    few, wide = unscaled(), text_like(n_rows=60, n_features=2000)
    assert methods(*few) == methods(*few, dual=False) == ["take_steps"]
    assert methods(*few, C=1e-9, dual=True) == ["train_dual"]
    assert methods(*few, C=1e-9, loss="hinge") == methods(*few, C=1e-9, loss="hinge", dual=True) == ["train_dual"]
    assert methods(*unscaled(n_labels=3), C=1e-9, multi_class="crammer_singer") == ["train_dual"]
    assert methods(*few, C=1e-9, multi_class="crammer_singer") == ["take_steps"]  # two labels have one column
    assert methods(*wide) == ["train_dual"]
    monkeypatch.setattr(svm_newton, "MAX_DENSE_WEIGHTS", 0)
    assert methods(*few) == methods(*few, C=1e3) == ["train_dual", "take_steps"]


@pytest.mark.parametrize("n_labels", [2, 11])
def test_one_segment_has_the_bits_of_rows_in_memory(n_labels, tmp_path, monkeypatch):
    X, y = text_like(n_labels=n_labels)
    expected = newton().fit(X, y)
    for rows in (Corpus(X, y), Corpus(X, y).write(tmp_path / "corpus")):
        np.testing.assert_array_equal(newton().fit(rows).coef_, expected.coef_)
    monkeypatch.setattr(corpora, "SEGMENT", 100)
    several = Corpus(X, y)
    assert several.n_segments > 1
    by_dual = newton(max_iter=5000).fit(several)  # the primal is for rows of one segment
    assert by_dual.objective_ == pytest.approx(expected.objective_, rel=2e-8)


def test_threads_types_and_layouts_do_not_change_a_bit():
    X, y = text_like(n_rows=100, n_labels=20, n_features=40)
    one = newton().fit(X, y)
    for other in (newton(n_jobs=3).fit(X, y), newton().fit(X.toarray(), y), newton().fit(X.astype(np.float32), y)):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)


@pytest.mark.parametrize("most", [0, 512])
def test_a_fit_goes_on_from_its_checkpoint(most, tmp_path, monkeypatch):
    """By Newton's method at once, and after some dual ascent."""
    monkeypatch.setattr(svm_newton, "MAX_DENSE_WEIGHTS", most)
    stop_after_each_record(
        lambda **more: LinearSVC(C=10.0, tol=1e-7, random_state=0, **more),
        ("coef_", "intercept_", "certificate_", "n_iter_", "converged_"),
        unscaled(n_rows=100, n_labels=3),
        tmp_path / "checkpoint",
    )


@pytest.mark.parametrize("n_labels", [2, 10])
def test_a_warm_start_begins_where_the_last_fit_ended(n_labels):
    X, y = text_like(n_rows=100, n_labels=n_labels)
    model = newton(warm_start=True).fit(X, y)
    first, objective = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ <= 2 < first
    assert model.objective_ == pytest.approx(objective, rel=2e-8)
    model.set_params(dual=True)
    assert model.fit(X, y).n_iter_ <= 10  # the other method takes the dual variables up
    assert model.set_params(C=0.1, dual=False).fit(X, y).objective_ == pytest.approx(
        newton(C=0.1).fit(X, y).objective_, rel=2e-8
    )


def test_a_fit_that_ends_early_says_how_far_it_is():
    X, y = unscaled(n_labels=3)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 epochs left a relative duality gap of"):
        model = newton(max_iter=2).fit(X, y)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match=r"Rounding ended the fit, and left a relative duality gap of"):
        model = newton(tol=0.0).fit(X, y)
    assert model.certificate_["duality_gap"] <= 1e-9 * model.objective_
    with pytest.warns(ConvergenceWarning, match=r"left a relative duality gap of \d"):
        hinge = LinearSVC(C=1e4, loss="hinge", max_iter=50, random_state=0).fit(X, y)
    assert not hinge.converged_


@given(X=sparse_matrices(values=("normal", "counts")), seed=seeds, dense=st.booleans())
def test_gram_matrices(X, seed, dense):
    weights = np.random.default_rng(seed).choice([0.0, 1.0, -2.5], X.shape[0])
    X = X.tocsr().copy()
    X.sum_duplicates()  # proved rows have no column twice
    rows = gram.GramRows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, X.shape[1])
    rows.write_out, rows.rows_per_block = dense, 3
    found = np.zeros((X.shape[1], X.shape[1]))
    rows.add(weights, found)
    gram.mirror(found)
    A = X.toarray().astype(float)
    np.testing.assert_allclose(found, A.T @ (weights[:, None] * A), rtol=1e-9, atol=1e-9 * max(1, abs(A).max()) ** 2)
