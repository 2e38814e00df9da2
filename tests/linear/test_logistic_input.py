"""Bad input is refused by its name before anything changes; unusual but right input is understood."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin import Corpus, LogisticRegression
from support.estimators import assert_same_bits
from support.logistic_problems import counts, frozen, tight, two_sided
from support.unusual_matrices import UNUSUAL, read_only, strided, swapped, unaligned

VARIANCE = np.ones(8)
PARAMETERS = [
    ({"solver": "lbgfs"}, "(?i)solver.*did you mean.*lbfgs"),
    ({"solver": "newtn"}, "(?i)solver.*did you mean.*newton"),
    ({"solver": "iss"}, "(?i)solver.*did you mean.*iis"),
    ({"solver": None}, "solver"),
    ({"C": 0}, "C"),
    ({"C": -1.0}, "C"),
    ({"C": np.nan}, "C"),
    ({"C": "1"}, "C"),
    ({"l1_ratio": 1.5}, "l1_ratio"),
    ({"l1_ratio": -0.1}, "l1_ratio"),
    ({"l1_ratio": "half"}, "l1_ratio"),
    ({"penalty": "l3"}, "penalty"),
    ({"penalty": "elastic_net"}, "(?i)penalty.*did you mean.*elasticnet"),
    ({"prior_variance": np.ones(7)}, "prior_variance.*7.*8|prior_variance.*8.*7"),
    ({"prior_variance": -VARIANCE}, "prior_variance"),
    ({"prior_variance": 0 * VARIANCE}, "prior_variance"),
    ({"prior_variance": np.nan * VARIANCE}, "prior_variance"),
    ({"prior_variance": "large"}, "prior_variance"),
    ({"prior_mean": np.ones(9)}, "prior_mean"),
    ({"prior_mean": np.inf * VARIANCE}, "prior_mean"),
    ({"prior_mean": np.nan}, "prior_mean"),
    ({"prior_mean": ["a"] * 8}, "prior_mean"),
    ({"weights": "observe"}, "(?i)weights.*did you mean.*observed"),
    ({"weights": "observed", "cutoff": np.ones(5, dtype=int)}, "cutoff.*5.*8|cutoff.*8.*5"),
    ({"weights": "observed", "cutoff": 0}, "cutoff"),
    ({"weights": "observed", "cutoff": -3}, "cutoff"),
    ({"weights": "observed", "cutoff": 1.5}, "cutoff"),
    ({"weights": "observed", "cutoff": np.full(8, 0.5)}, "cutoff"),
    ({"weights": "observed", "cutoff": "all"}, "cutoff"),
    ({"cutoff": 2}, "cutoff.*observed"),
    ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio.*None"),
    ({"prior_mean": VARIANCE, "l1_ratio": 0.5}, "prior_mean"),
    ({"prior_mean": np.ones((2, 8))}, "prior_mean"),
    ({"tol": -1.0}, "tol"),
    ({"tol": "small"}, "tol"),
    ({"tol": np.nan}, "tol"),
    ({"max_iter": -1}, "max_iter"),
    ({"max_iter": 2.5}, "max_iter"),
    ({"n_jobs": "many"}, "n_jobs"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"dtype": "float16"}, "dtype"),
    ({"callback": 3}, "callback"),
    ({"random_state": "seed", "solver": "sgd"}, "random_state"),
    ({"class_weight": "balance"}, "(?i)class_weight.*did you mean.*balanced"),
    ({"class_weight": {0: -1.0}}, "class_weight"),
    ({"class_weight": {7: 1.0}}, "class_weight"),
    ({"verbose": -1}, "verbose"),
]
SOLVERS = ["auto", "newton", "lbfgs", "gd", "cg", "gis", "iis", "sgd", "adagrad"]


def refused(model, X, y, match, sample_weight=None, errors=(ValueError, TypeError), **more):
    """fit raises and leaves a new model new and a fitted one as it was."""
    good = counts(3)
    parameters = model.get_params()
    with pytest.raises(errors, match=match):
        model.fit(X, y, sample_weight=sample_weight, **more)
    assert not hasattr(model, "classes_")
    fitted = LogisticRegression(max_iter=1000).fit(*good[:2])
    before = frozen(fitted)
    fitted.set_params(**parameters)
    with pytest.raises(errors, match=match):
        fitted.fit(X, y, sample_weight=sample_weight, **more)
    assert frozen(fitted) == before
    assert np.isfinite(fitted.set_params(n_jobs=None).predict_proba(good[0])).all()


@pytest.mark.parametrize("parameters, match", PARAMETERS, ids=lambda value: str(value)[:50])
def test_parameters_that_cannot_be_are_refused_by_name(parameters, match):
    X, y, _ = counts(3)
    refused(LogisticRegression(**parameters), X, y, match)


def spoilt(value):
    X, y, _ = counts(3)
    X = X.tocsr()
    X.data[X.indptr[4] + 1] = value
    return X, y, int(X.indices[X.indptr[4] + 1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value, word", [(np.nan, "(?i)nan"), (np.inf, "(?i)inf"), (1e200, r"1e\+200|1e200|large")])
def test_values_that_cannot_be_are_refused(solver, value, word):
    X, y, _ = spoilt(value)
    refused(LogisticRegression(solver=solver), X, y, word)
    refused(LogisticRegression(solver=solver), X.toarray(), y, word)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_label_is_no_problem_of_classes(solver):
    X, y, _ = counts(3)
    refused(LogisticRegression(solver=solver), X, 0 * y, "(?i)class")
    refused(LogisticRegression(solver=solver), X, np.array(["a"] * len(y)), "(?i)class")


@pytest.mark.parametrize("solver", SOLVERS)
def test_lengths_that_differ_are_refused(solver):
    X, y, weights = counts(3)
    refused(LogisticRegression(solver=solver), X, y[:-1], "59")
    refused(LogisticRegression(solver=solver), X, y, "sample_weight", weights[:-1])
    refused(LogisticRegression(solver=solver), X, y, "sample_weight", -weights)
    refused(LogisticRegression(solver=solver), X, y, "sample_weight", np.nan * weights)
    refused(LogisticRegression(solver=solver), X, y, "(?i)weight.*zero|nothing to learn", 0 * weights)


def test_labels_that_are_numbers_with_fractions_are_refused():
    X, y, _ = counts(3)
    refused(LogisticRegression(), X, y + 0.5, "(?i)label|continuous")
    refused(LogisticRegression(), X, np.where(y == 0, np.nan, y), "(?i)nan")


def test_matrices_without_rows_or_columns_are_refused():
    X, y, _ = counts(3)
    refused(LogisticRegression(), X[:0], y[:0], "(?i)sample|row")
    refused(LogisticRegression(), X[:, :0], y, "(?i)feature|column")


def test_malformed_matrices_are_refused():
    X, y, _ = counts(3)
    beyond = X.copy()
    beyond.indices[3] = 1000
    refused(LogisticRegression(), beyond, y, "1000")
    falling = X.copy()
    falling.indptr[4] = falling.indptr[6]
    falling.indptr[5] = falling.indptr[3]
    refused(LogisticRegression(), falling, y, "indptr")


def test_validation_data_come_together_and_fit():
    X, y, _ = counts(3)
    refused(LogisticRegression(), X, y, "X_val and y_val|y_val", X_val=X)
    refused(LogisticRegression(), X, y, "X_val and y_val|X_val", y_val=y)
    refused(LogisticRegression(), X, y, "X_val", X_val=X[:, :4], y_val=y)
    refused(LogisticRegression(), X, y, "y_val", X_val=X, y_val=y[:-1])


def test_nothing_is_predicted_before_a_fit_or_from_other_columns():
    X, y, _ = counts(3)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(LogisticRegression(), method)(X)
        model = LogisticRegression(max_iter=1000).fit(X, y)
        with pytest.raises(ValueError, match=r"5 features.*8"):
            getattr(model, method)(X[:, :5])
        with pytest.raises(ValueError, match=r"NaN|nan"):
            getattr(model, method)(np.full((1, 8), np.nan))


# --- unusual, but right ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", UNUSUAL)
@pytest.mark.parametrize("options", [{}, {"solver": "lbfgs", "weights": "observed"}, {"solver": "iis"}], ids=str)
def test_unusual_buffers_give_the_same_model_and_stay_as_they_are(options, case):
    X, y, weights = counts(3)
    options = {**options, "tol": 1e-3, "max_iter": 2000, "random_state": 0}
    plain, other = LogisticRegression(**options).fit(X, y, sample_weight=weights), UNUSUAL[case](X)
    before = [np.array(getattr(other, part)) for part in ("data", "indices", "indptr")]
    for change in (strided, swapped, read_only, unaligned, list):
        model = LogisticRegression(**options).fit(other, change(y), sample_weight=change(weights))
        assert_same_bits(model, plain)
        np.testing.assert_array_equal(model.predict_proba(other), plain.predict_proba(X))
    for part, old in zip(("data", "indices", "indptr"), before, strict=True):
        np.testing.assert_array_equal(getattr(other, part), old)


@pytest.mark.parametrize("C", [np.float32(2), 2, np.int64(2), np.float64(2)])
def test_numbers_of_any_type(C):
    X, y, _ = counts(2)
    model, plain = (LogisticRegression(C=strength, random_state=0).fit(X, y) for strength in (C, 2.0))
    np.testing.assert_array_equal(model.coef_, plain.coef_)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_one_variance_for_all_is_c(n_labels):
    X, y, _ = counts(n_labels)
    by_c = tight(C=0.3).fit(X, y)
    for variance in (np.full(8, 0.3), [0.3] * 8):
        np.testing.assert_allclose(tight(prior_variance=variance).fit(X, y).coef_, by_c.coef_, atol=1e-7)


def test_a_scaled_column_with_a_scaled_variance_is_the_same_feature():
    X, y, _ = two_sided(3)
    scales = np.array([1e-3, 1.0, 1e3, 0.1, 10.0, 1.0, 2.0, 0.5])
    plain = tight().fit(X, y)
    scaled = tight(prior_variance=scales**-2.0, tol=1e-7).fit(X @ sparse.diags(scales), y)
    np.testing.assert_allclose(scaled.coef_ * scales, plain.coef_, atol=1e-3)


def test_a_tiny_variance_holds_a_weight_at_its_mean():
    X, y, _ = counts(2)
    variance, mean = np.ones(8), np.zeros(8)
    variance[2], mean[2] = 1e-12, 0.75
    model = tight(prior_variance=variance, prior_mean=mean, tol=1e-6).fit(X, y)
    assert model.coef_[0, 2] == pytest.approx(0.75, abs=1e-6)


def test_an_infinite_variance_leaves_a_weight_free():
    X, y, _ = counts(2)
    variance = np.ones(8)
    variance[2] = np.inf
    model = tight(prior_variance=variance).fit(X, y)
    gap = X.toarray()[:, 2] @ (model.predict_proba(X)[:, 1] - (y == 1))
    assert abs(gap) < 1e-5


@pytest.mark.parametrize("penalty, C, l1_ratio", [("l2", 1.0, 0.0), ("l1", 1.0, 1.0), (None, np.inf, 0.0)])
def test_scikit_learns_older_penalties_mean_what_they_meant(penalty, C, l1_ratio):
    X, y, _ = counts(2)
    old, new = LogisticRegression(penalty=penalty), LogisticRegression(C=C, l1_ratio=l1_ratio)
    old, new = (model.set_params(max_iter=5000, random_state=0).fit(X, y) for model in (old, new))
    np.testing.assert_allclose(old.coef_, new.coef_, atol=1e-9)


def test_a_cutoff_may_be_one_for_each_feature():
    X, y, _ = counts(3)
    by_one = tight(weights="observed", cutoff=9).fit(X, y)
    by_each = tight(weights="observed", cutoff=np.full(8, 9)).fit(X, y)
    np.testing.assert_array_equal(by_one.predict_proba(X), by_each.predict_proba(X))
    open_first = np.array([1] + [10**6] * 7)
    coef = tight(weights="observed", cutoff=open_first).fit(X, y).coef_
    coef = coef.toarray() if sparse.issparse(coef) else coef
    assert coef[:, 0].any()
    assert not coef[:, 1:].any()


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e60])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_and_tiny_values_break_no_number(solver, scale):
    X, y, _ = two_sided(3)
    model = LogisticRegression(solver=solver, max_iter=200).fit(X * scale, y)
    for value in (model.coef_, model.intercept_, model.objective_, model.predict_log_proba(X * scale)):
        assert np.isfinite(value).all()
    assert model.objective_ <= len(y) * np.log(3) * (1 + 1e-9)
    assert np.isfinite(model.predict_proba(X * scale)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    X = sparse.random(20, 500, density=0.05, random_state=rng, format="csr")
    y = np.arange(20) % 2
    model = LogisticRegression(C=10.0, max_iter=1000).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("C", [1e-100, 1e-12, 1e12, 1e100])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "iis"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_strengths_break_no_number(solver, n_labels, C):
    X, y, _ = counts(n_labels)
    model = LogisticRegression(C=C, solver=solver, max_iter=100, random_state=0).fit(X, y)
    for value in (model.coef_, model.intercept_, model.objective_, model.predict_log_proba(X)):
        assert np.isfinite(value).all()
    assert model.objective_ <= len(y) * np.log(n_labels) * (1 + 1e-9)
    if C < 1e-9:
        np.testing.assert_allclose(model.coef_, 0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-20, 1e-9, 1e9, 1e20])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "iis"])
def test_weights_of_any_scale_give_the_same_model(solver, n_labels, scale):
    """tol is relative to the weights, and C follows them."""
    X, y, weights = counts(n_labels)
    options = {"solver": solver, "tol": 1e-6, "max_iter": 20_000, "random_state": 0}
    plain = LogisticRegression(**options).fit(X, y, sample_weight=weights)
    model = LogisticRegression(C=1 / scale, **options).fit(X, y, sample_weight=scale * weights)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-3)
    assert model.objective_ == pytest.approx(scale * plain.objective_, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "cg", "iis"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_and_tiny_weights_break_no_number(solver, n_labels, scale):
    X, y, weights = counts(n_labels)
    model = LogisticRegression(C=1 / scale, solver=solver, max_iter=50).fit(X, y, sample_weight=scale * weights)
    for value in (model.coef_, model.intercept_, model.objective_, model.predict_log_proba(X)):
        assert np.isfinite(value).all()
    assert model.objective_ <= scale * weights.sum() * np.log(n_labels) * (1 + 1e-9)


def test_labels_without_weight_are_no_labels():
    X, y, _ = counts(4)
    model = LogisticRegression(random_state=0).fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1, 3]
    kept = y != 2
    alone = LogisticRegression(random_state=0).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    refused(LogisticRegression(), X, y, "(?i)class", sample_weight=(y == 2).astype(float))


def test_validation_rows_may_have_labels_that_were_not_seen():
    X, y, _ = counts(3)
    later = np.where(np.arange(len(y)) < 30, y, 7)
    model = LogisticRegression(max_iter=1000).fit(X, y, X_val=X, y_val=later)
    right = np.mean(model.predict(X) == later)
    assert model.history_[-1]["validation_score"] == pytest.approx(right)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_have_the_type_that_is_asked_for(dtype):
    X, y, _ = counts(3)
    model = tight(dtype=dtype).fit(X, y)
    assert model.coef_.dtype == dtype
    np.testing.assert_allclose(model.coef_, tight().fit(X, y).coef_, atol=1e-5)
    assert tight(tol=1e-5).fit(X.astype(np.float32), y).coef_.dtype == np.float32


def test_weights_that_a_user_sets_are_checked_before_a_kernel_reads_them():
    X, y, _ = counts(3)
    model = LogisticRegression().fit(X, y)
    model.coef_ = np.zeros(model.coef_.shape, int)  # other kinds of numbers are fine
    assert model.decision_function(X).shape == (len(y), 3)
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(ValueError, match="does not fit"):
        model.predict(X)


def test_a_warm_start_from_weights_that_are_no_numbers_is_refused():
    X, y, _ = counts(3)
    model = LogisticRegression(warm_start=True).fit(X, y)
    model.coef_[:] = np.nan
    with pytest.raises(ValueError, match="coef_ contains NaN"):
        model.fit(X, y)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "cg"])
def test_a_fit_that_rounding_ends_says_so_and_does_not_go_on(solver):
    X, y, _ = counts(3)
    with pytest.warns(ConvergenceWarning, match="rounding"):
        model = LogisticRegression(solver=solver, tol=0, max_iter=5000).fit(X, y)
    assert model.n_iter_ < 500


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_the_stochastic_solvers_keep_their_best_epoch(solver):
    X, y, _ = counts(3)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver=solver, max_iter=5).fit(X * 1e4, y)
    assert model.objective_ <= min(record["objective"] for record in model.history_) * (1 + 1e-12)


def test_an_empty_last_row_is_none_to_any_solver():
    X = sparse.csr_array(np.array([[1.0, 0], [0, 1], [1, 1], [0, 0]]))
    for solver in ("auto", "newton", "lbfgs", "gis"):
        model = LogisticRegression(solver=solver, tol=1e-8, max_iter=5000).fit(X, [0, 1, 2, 0])
        assert model.converged_


@pytest.mark.parametrize("container", [np.asarray, lambda X: Corpus(X, [0, 1, 0, 1])])
def test_validation_data_must_suit_the_type_of_the_weights(container):
    """As rows to predict for do: a kernel of float32 would make infinities of them."""
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    X_val, y_val = container(1e20 * X), y if container is np.asarray else None
    LogisticRegression().fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.raises(ValueError, match=r"X_val holds 1e\+20 at row 0, column 0"):
        LogisticRegression(dtype="float32").fit(X, y, X_val=X_val, y_val=y_val)
