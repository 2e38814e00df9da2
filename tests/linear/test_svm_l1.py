"""LinearSVC(penalty="l1"): the optimum that LIBLINEAR looks for, its certificate, its laws, from C = 1e-3 to 1e5."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as Theirs

from fastlin import Corpus, LinearSVC, load, save
from fastlin.data import corpus as corpora
from fastlin.optim.solvers import svm_l1
from support.estimators import text_like
from support.logistic_problems import KINDS, rows
from support.resuming import stop_after_each_record
from support.strategies import seeds, sparse_matrices

STRENGTHS = (1e-3, 1e-1, 1.0, 1e1, 1e3, 1e5)


def make(**options):
    return LinearSVC(**{"penalty": "l1", "tol": 1e-7, "max_iter": 3000} | options)


def fit(X, y, sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that does not converge says so
        return make(**options).fit(X, y, sample_weight)


def label_problems(model, X, y, weights=None):
    """For each column of the model: θ with the intercept's weight, rows with its feature, z and C of each row."""
    X, weights = X.toarray() if sparse.issparse(X) else X, np.ones(len(y)) if weights is None else weights
    scaling, classes = model.intercept_scaling * model.fit_intercept, model.classes_
    X = np.column_stack([X, np.full(len(y), scaling)])
    factors = np.array([(model.class_weight or {}).get(label, 1.0) for label in classes])
    for k, coef in enumerate(model.coef_):
        one = classes[k] if len(classes) > 2 else classes[1]
        own = y == one
        # as LIBLINEAR: one against the rest, a label's factor weighs its own rows in its own problem
        mine = factors[np.searchsorted(classes, y)] if len(classes) == 2 else np.where(own, factors[k], 1.0)
        bias = model.intercept_[k] / scaling if scaling else 0.0
        yield np.append(coef, bias), X, np.where(own, 1.0, -1.0), model.C * weights * mine


def objective_and_bounds(model, X, y, weights=None):
    """‖θ‖₁ + Σ C ξ² of all labels; a dual value; what a step of one weight gains, by its subgradient condition."""
    value = dual = gain = 0.0
    for theta, rows_, z, C in label_problems(model, X, y, weights):
        shortfall = np.maximum(0, 1 - z * (rows_ @ theta))
        alpha = 2 * C * shortfall
        gradient = -rows_.T @ (alpha * z)
        share = min(1.0, 1 / max(np.abs(gradient).max(), 1e-300))
        value += np.abs(theta).sum() + C @ shortfall**2
        positive = C > 0
        dual += share * alpha.sum() - share**2 * (alpha[positive] ** 2 / (4 * C[positive])).sum()
        # P's curvature along a weight is at most L, so that its best step of that curvature gains ½ L step² or more
        L = 2 * (C @ rows_**2) + 1e-300
        step = np.sign(theta - gradient / L) * np.maximum(np.abs(theta - gradient / L) - 1 / L, 0) - theta
        gain = max(gain, (0.5 * L * step**2).max())
    return value, dual, gain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels, intercept", [(2, True), (2, False), (3, True)])
@pytest.mark.parametrize("C", STRENGTHS)
def test_the_certificate_is_true_and_no_subgradient_is_left(intercept, C, n_labels, kind):
    X, y = rows(kind, n_labels)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    weights[:n_labels] = 1.0
    more = {"fit_intercept": intercept, "intercept_scaling": 3.0, "class_weight": {0: 4.0, 1: 0.5}}
    model = fit(X, y, weights, C=C, **more)
    value, dual, gain = objective_and_bounds(model, X, y, weights)
    gap = model.certificate_["duality_gap"]
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert gap <= 1e-7 * model.objective_ * n_labels
    assert model.certificate_["dual_objective"] >= dual - 1e-8 * value  # of α = 2Cξ, where ξ is a difference
    assert gain <= gap + 1e-9 * value
    assert fit(X, y, weights, C=C, **more, tol=1e-3).objective_ >= model.certificate_["dual_objective"] - 1e-12 * value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("C", STRENGTHS)
def test_objective_and_support_are_liblinears(C, n_labels, kind):
    X, y = rows(kind, n_labels)
    shared = {"C": C, "intercept_scaling": 2.0, "class_weight": {1: 3.0}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Theirs(penalty="l1", dual=False, tol=1e-10, max_iter=5000, random_state=0, **shared).fit(X, y)
    ours = fit(X, y, **shared)
    value = objective_and_bounds(theirs, X, y)[0]
    assert value >= ours.certificate_["dual_objective"] * (1 - 1e-12)
    assert ours.objective_ <= value * (1 + 1e-9) + ours.certificate_["duality_gap"]
    if value - ours.objective_ <= 1e-9 * value:  # LIBLINEAR's are the optimum's as well
        both = np.column_stack([ours.coef_, ours.intercept_]), np.column_stack([theirs.coef_, theirs.intercept_])
        unsure = np.maximum(*map(np.abs, both)) < 1e-4 * max(np.abs(both[0]).max(), 1e-9)
        np.testing.assert_array_equal((both[0] != 0)[~unsure], (both[1] != 0)[~unsure])
        assert C > 10 or C < 1e-2 or (~unsure).any()


def test_liblinear_reaches_the_optimum_somewhere():
    """So that the law above compares supports, not nothing."""
    X, y = rows("counts", 2)
    for C in (0.1, 1.0, 10.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # LIBLINEAR's, whose last steps are of rounding
            theirs = Theirs(penalty="l1", dual=False, C=C, tol=1e-10, max_iter=5000, random_state=0).fit(X, y)
        assert objective_and_bounds(theirs, X, y)[0] == pytest.approx(fit(X, y, C=C).objective_, rel=1e-9)


@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=seeds,
    n_labels=st.integers(2, 4),
    C=st.sampled_from([1e-25, 1e-3, 1.0, 1e3]),
    intercept=st.booleans(),
)
def test_of_any_matrix(X, seed, n_labels, C, intercept):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, X.shape[0])
    y[:2] = 0, 1
    model = fit(X, y, C=C, fit_intercept=intercept, tol=1e-5)
    value, dual, _ = objective_and_bounds(model, X, y)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert value - model.certificate_["dual_objective"] <= 1.1e-5 * value * len(model.coef_)
    assert model.certificate_["dual_objective"] >= dual - 1e-8 * value  # of α = 2Cξ, where ξ is a difference


@pytest.mark.parametrize("C", [0.05, 1.0, 1e3])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_what_changes_no_objective(n_labels, C):
    """Orders of rows and columns, columns that cannot enter, rows of half a weight twice, columns of zeros."""
    rng = np.random.default_rng(5)
    X, y = rows("counts", n_labels)
    model = fit(X, y, C=C, tol=1e-9)
    order, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    kept = np.flatnonzero((model.coef_ != 0).any(axis=0))
    others = [fit(X[order][:, columns], y[order], C=C, tol=1e-9)]
    others += [fit(X[:, kept], y, C=C, tol=1e-9)] if len(kept) else []
    others.append(fit(sparse.vstack([X, X], format="csr"), np.tile(y, 2), np.full(2 * len(y), 0.5), C=C, tol=1e-9))
    others.append(fit(sparse.hstack([X, sparse.csr_array((len(y), 2))], format="csr"), y, C=C, tol=1e-9))
    for other in others:
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-8)
    assert not others[-1].coef_[:, -2:].any()


@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_columns_of_every_degenerate_kind(n_labels, C):
    """A constant column, zeros, one twice, one negated, one of a single row; one column alone; separable labels."""
    X, y = rows("dense unscaled", 5)
    X, y = X.toarray(), y % n_labels
    once = np.zeros(len(y))
    once[3] = 2.0
    columns = np.column_stack([X[:, :4], np.ones(len(y)), np.zeros(len(y)), X[:, 0], -X[:, 1], once])
    model, plain = fit(columns, y, C=C), fit(np.column_stack([X[:, :4], once]), y, C=C)
    assert not model.coef_[:, 5].any()
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)  # the intercept is a constant column, too
    assert fit(X[:, :1], y, C=C).converged_
    separable = fit(sparse.csr_array(np.eye(n_labels)[y] * 100.0), y, C=C)
    assert separable.objective_ <= C * len(y) * len(separable.coef_) * (1 + 1e-9)


def test_nothing_enters_under_a_strong_prior_and_something_just_beyond():
    X, y = rows("counts", 2)
    slopes = 2 * np.abs(X.T @ np.where(y == 1, 1.0, -1.0)).max()
    assert not fit(X, y, C=0.999 / slopes, fit_intercept=False).coef_.any()
    assert fit(X, y, C=1.01 / slopes, fit_intercept=False).coef_.any()


def test_the_ratios_of_strengths_change_the_way_alone(monkeypatch):
    X, y = rows("tfidf", 5)
    model = fit(X, y, C=100.0)
    monkeypatch.setattr(svm_l1, "START_SLOPE", np.inf)
    direct = fit(X, y, C=100.0)
    assert direct.n_iter_ > model.n_iter_
    assert direct.objective_ == pytest.approx(model.objective_, rel=2e-7)


def test_threads_types_and_layouts_do_not_change_a_bit():
    X, y = text_like(n_rows=100, n_labels=12, n_features=40)
    one = fit(X, y)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for array in (wide.data, wide.indices, wide.indptr):
        array.flags.writeable = False
    for other in (fit(X, y, n_jobs=3), fit(X.toarray(), y), fit(X.astype(np.float32), y), fit(wide, y)):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
    two = text_like(n_rows=100)
    np.testing.assert_array_equal(fit(*two).coef_, fit(*two, n_jobs=2).coef_)


def test_a_corpus_of_one_segment_is_memory_and_of_several_is_refused(tmp_path, monkeypatch):
    X, y = text_like()
    expected = fit(X, y)
    for corpus in (Corpus(X, y), Corpus(X, y).write(tmp_path / "corpus")):
        np.testing.assert_array_equal(make().fit(corpus).coef_, expected.coef_)
    monkeypatch.setattr(corpora, "SEGMENT", 100)
    with pytest.raises(ValueError, match="penalty='l1' needs its rows in memory, and the corpus has"):
        make().fit(Corpus(X, y))


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_fit_goes_on_from_its_checkpoint(n_labels, tmp_path):
    stop_after_each_record(
        lambda **more: make(C=50.0, **more),
        ("coef_", "intercept_", "certificate_", "n_iter_", "converged_"),
        rows("counts", n_labels),
        tmp_path / "checkpoint",
    )


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_warm_start_begins_from_the_weights(n_labels):
    X, y = rows("counts", n_labels)
    model = make(warm_start=True, C=3.0).fit(X, y)
    first, objective = model.n_iter_, model.objective_
    assert model.fit(X, y).n_iter_ == 1 < first
    assert model.objective_ == pytest.approx(objective, rel=1e-12)
    model.sparsify()
    assert model.set_params(C=2.0).fit(X, y).objective_ == pytest.approx(fit(X, y, C=2.0).objective_, rel=1e-6)
    model.set_params(penalty="l2", tol=1e-6).fit(X, y)
    exact = LinearSVC(C=2.0, tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=2e-6)
    assert model.set_params(penalty="l1").fit(X[:, :9], y).coef_.shape[1] == 9  # other features: from zero


def test_a_fit_that_ends_early_says_how_far_it_is():
    X, y = rows("counts", 5)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 epochs left a relative duality gap of"):
        model = make(C=10.0, max_iter=2).fit(X, y)
    assert not model.converged_
    assert model.certificate_["duality_gap"] >= model.objective_ - fit(X, y, C=10.0).objective_
    with pytest.warns(ConvergenceWarning, match=r"Rounding ended the fit, and left a relative duality gap of"):
        model = make(tol=0.0).fit(X, y)
    assert model.n_iter_ < 100
    assert model.certificate_["duality_gap"] <= 1e-9 * model.objective_
    history = make().fit(X, y).history_
    assert [record["epoch"] for record in history] == list(range(1, len(history) + 1))
    assert all(record["gap"] >= 0 and record["objective"] >= record["dual"] for record in history)


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e-30, 1e30])
@pytest.mark.parametrize("C", [1e-100, 1.0, 1e60])
def test_extreme_values_end_in_numbers_or_a_clear_refusal(C, scale):
    X = np.eye(6) * scale * np.array([1.0, 1, 2, 3, 1e-20, 0])
    for y in (np.arange(6) % 2, np.arange(6) % 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                model = make(C=C, max_iter=200).fit(X, y)
            except ValueError as error:
                assert "overflows" in str(error)  # noqa: PT017
                assert scale == 1e30 or C == 1e60
                continue
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)


def test_a_model_file_has_its_bits(tmp_path):
    X, y = rows("counts", 3)
    model = fit(X, y).sparsify()
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert sparse.issparse(again.coef_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
