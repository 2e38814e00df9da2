"""The regularisation path: every point is the model of its own C, and the best one is refitted on everything."""

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from fastlin import LogisticRegression, LogisticRegressionCV
from support.estimators import text_like
from support.logistic_problems import two_sided
from support.peer_features import with_shapes

CS = [0.01, 0.1, 1.0, 10.0]
BY_ROWS = "folds are cut by rows: one row of weight two lies in one fold, two rows may lie in two"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": BY_ROWS,
    "check_sample_weight_equivalence_on_sparse_data": BY_ROWS,
}


@pytest.fixture(scope="module", params=[2, 3])
def data(request):
    return two_sided(request.param, n_rows=150)


def test_the_scores_are_those_of_models_fitted_one_by_one(data):
    X, y, _ = data
    folds = StratifiedKFold(3)
    model = LogisticRegressionCV(Cs=CS, cv=folds, tol=1e-7, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.Cs_, CS)
    wanted = np.array([cross_val_score(LogisticRegression(C=C, tol=1e-7, max_iter=5000), X, y, cv=folds) for C in CS]).T
    scores = np.asarray(next(iter(model.scores_.values())) if isinstance(model.scores_, dict) else model.scores_)
    np.testing.assert_allclose(scores.reshape(3, len(CS)), wanted, atol=0.021)  # a tie may turn one row in fifty
    best = float(np.ravel(model.C_)[0])
    assert best in CS
    assert scores.reshape(3, len(CS)).mean(axis=0)[CS.index(best)] == pytest.approx(
        scores.reshape(3, len(CS)).mean(axis=0).max()
    )


def test_the_model_is_the_one_of_the_best_c_on_all_rows(data):
    X, y, weights = data
    model = LogisticRegressionCV(Cs=CS, cv=3, tol=1e-10, max_iter=5000).fit(X, y, sample_weight=weights)
    alone = LogisticRegression(C=float(np.ravel(model.C_)[0]), tol=1e-10, max_iter=5000)
    alone.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-5)
    assert model.converged_


def test_a_validation_set_takes_the_place_of_folds(data):
    X, y, _ = data
    model = LogisticRegressionCV(Cs=CS, tol=1e-7, max_iter=5000).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
    wanted = [
        LogisticRegression(C=C, tol=1e-7, max_iter=5000).fit(X[:100], y[:100]).score(X[100:], y[100:]) for C in CS
    ]
    best = float(np.ravel(model.C_)[0])
    assert wanted[CS.index(best)] >= max(wanted) - 0.021


def test_a_number_of_cs_is_scikit_learns_grid(data):
    X, y, _ = data
    model = LogisticRegressionCV(Cs=5, cv=2, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.Cs_, np.logspace(-4, 4, 5))


@pytest.mark.parametrize(
    "options, match", [({"Cs": 0}, "Cs"), ({"Cs": [1.0, -1.0]}, "Cs"), ({"Cs": []}, "Cs"), ({"cv": 1}, "cv|fold|split")]
)
def test_paths_that_cannot_be_are_refused(data, options, match):
    X, y, _ = data
    model = LogisticRegressionCV(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the checks set max_iter to a few
@parametrize_with_checks(
    [LogisticRegressionCV(Cs=3, cv=2, tol=1e-10)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_without_a_refit_the_model_is_the_mean_of_the_folds(data):
    X, y, _ = data
    folds = list(StratifiedKFold(3).split(X, y))
    model = LogisticRegressionCV(Cs=[0.5], cv=folds, refit=False, tol=1e-9).fit(X, y)
    each = [LogisticRegression(C=0.5, tol=1e-9).fit(X[train], y[train]).coef_ for train, _ in folds]
    np.testing.assert_allclose(model.coef_, np.mean(each, axis=0), atol=1e-6)


def test_a_search_that_a_callback_ends_chooses_among_what_it_has_measured(data):
    X, y, _ = data
    seen = []

    def callback(model, record):
        seen.append(model.score(X, y))
        return len(seen) == 3

    model = LogisticRegressionCV(Cs=CS, cv=2, callback=callback).fit(X, y)
    assert len(model.path_) == 3
    assert model.Cs_[np.nanargmax(model.scores_[0, 0])] == model.C_


def test_a_warm_start_does_not_end_where_the_last_c_ended():
    X, y = text_like(300, 200, 3, seed=3)
    Cs = [0.1, 1.0, 10.0, 100.0, 1000.0]
    search = LogisticRegressionCV(Cs=Cs, refit=False).fit(X, y, X_val=X[:50], y_val=y[:50])
    for record, C in zip(search.path_, Cs, strict=True):
        best = LogisticRegression(C=C, tol=1e-9, max_iter=1000).fit(X, y).objective_
        assert record["objective"] <= best * 1.01


def test_given_folds_count_all_rows():
    X, y, _ = two_sided(2, n_rows=150)
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    rng = np.random.default_rng(0)
    folds = [np.array_split(rng.permutation(len(y)), 2) for _ in range(2)]
    model = LogisticRegressionCV(Cs=[0.1, 10], cv=folds, tol=1e-8).fit(X, y, sample_weight=weights)
    for fold, (train, test) in enumerate(folds):
        train, test = train[weights[train] > 0], test[weights[test] > 0]
        for place, C in enumerate([0.1, 10]):
            alone = LogisticRegression(C=C, tol=1e-10).fit(X[train], y[train])
            assert model.scores_[fold, 0, place] == pytest.approx(alone.score(X[test], y[test]))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(range(30), range(30, 10**6))], "cv gives the row .*, but X has"),
        ([(range(30), [0.5])], "cv must give the rows of a fold as numbers or a mask"),
        ([(range(30), [])], "no rows of a weight above 0"),
    ],
)
def test_folds_that_are_none_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(cv=cv).fit(*two_sided(2, n_rows=150)[:2])


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="gave nan"):
        LogisticRegressionCV(Cs=2, cv=2, scoring=lambda *_: float("nan")).fit(*two_sided(2, n_rows=150)[:2])


@with_shapes
def test_scores_weigh_the_rows_as_scikit_learns_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y, weights = (X[:, 0] + rng.normal(size=120) > 0).astype(int), rng.exponential(size=120) ** 3
    for scoring in (None, "accuracy", "neg_log_loss"):
        options = {"Cs": [1e-3, 0.1, 10], "cv": StratifiedKFold(3), "tol": 1e-9, "max_iter": 1000, "scoring": scoring}
        ours = LogisticRegressionCV(**options).fit(X, y, sample_weight=weights)
        theirs = linear_model.LogisticRegressionCV(**options, l1_ratios=(0,), use_legacy_attributes=False)
        theirs.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(ours.scores_.squeeze(), np.squeeze(theirs.scores_), rtol=1e-4)


@pytest.mark.parametrize("keep_paths", [True, False])
def test_the_model_of_a_search_by_liblinear_is_that_of_a_fit_with_the_c_it_chose(data, keep_paths):
    X, y, _ = data
    search = LogisticRegressionCV(Cs=3, cv=3, solver="liblinear", keep_paths=keep_paths).fit(X, y)
    alone = LogisticRegression(C=search.C_, solver="liblinear").fit(X, y)
    np.testing.assert_array_equal(search.coef_, alone.coef_)
