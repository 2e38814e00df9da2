"""SelectFeatures as an estimator: scikit-learn's contract, its rounds, its stops, what it refuses."""

import inspect
import os
import re
import signal
import threading

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from fastlin import LogisticRegression
from fastlin.select import CountCutoff, SelectFeatures, chi2, information_gain
from support.estimators import random_sparse, text_like

METHODS = ("greedy", "information_gain", "chi2", "count")
every = pytest.mark.parametrize("method", METHODS)
CHECKED = [
    SelectFeatures(),
    SelectFeatures(1, step=1),
    *(SelectFeatures(1, method=m) for m in METHODS[1:]),
    CountCutoff(),
]


def state(model):
    """All that a fit can change."""
    learnt = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "estimator_"}
    learnt.pop("history_", None)
    return {name: repr(value) for name, value in learnt.items()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# --- what is learnt --------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("n_labels", [2, 4])
def test_the_attributes_belong_together(method, n_labels):
    X, y = text_like(n_rows=150, n_labels=n_labels)
    model = SelectFeatures(6, method=method, tol=1e-10).fit(X, y, X_val=X[:50], y_val=y[:50])
    assert len(model.order_) == len(set(model.order_)) == 6
    np.testing.assert_array_equal(np.sort(model.order_), model.get_support(indices=True))
    np.testing.assert_array_equal(model.transform(X).toarray(), X.toarray()[:, model.support_])
    assert model.history_[-1]["n_features"] == 6
    assert model.n_iter_ == len(model.history_)
    chosen = model.transform(X)
    fresh = LogisticRegression(tol=1e-12).fit(chosen, y)
    assert model.estimator_.objective_ == pytest.approx(fresh.objective_, rel=1e-8)
    assert model.history_[-1]["objective"] == pytest.approx(fresh.objective_, rel=1e-6)
    log_p = model.estimator_.predict_log_proba(chosen)[np.arange(len(y)), y].sum()
    assert model.history_[-1]["log_likelihood"] == pytest.approx(log_p, rel=1e-6)
    accuracy = model.estimator_.score(chosen[:50], y[:50])
    assert model.history_[-1]["validation_score"] == pytest.approx(accuracy)


@pytest.mark.parametrize("method, score", [("information_gain", information_gain), ("chi2", chi2)])
def test_methods_that_score_keep_what_the_scorer_puts_first(method, score):
    X, y = text_like(n_rows=200, n_labels=3)
    model = SelectFeatures(7, method=method).fit(X, y)
    scores = score(X, y)[0] if method == "chi2" else score(X, y)
    np.testing.assert_array_equal(np.sort(model.gains_)[::-1], model.gains_)
    np.testing.assert_array_equal(model.gains_, scores[model.order_])
    np.testing.assert_array_equal(model.get_support(), SelectKBest(score, k=7).fit(X, y).get_support())


def test_count_ranks_by_rows():
    X = sparse.csr_matrix([[9.0, 1, 0], [0, 1, 1], [0, 1, 1], [0, 0, 0]])
    assert SelectFeatures(2, method="count").fit(X, [0, 1, 1, 0]).order_.tolist() == [1, 2]


@every
def test_threads_change_no_bit(method):
    X, y = random_sparse(n_rows=2000, n_features=1000, row_length=20, n_labels=3)
    np.abs(X.data, out=X.data)
    one, three = (SelectFeatures(12, method=method, n_jobs=n, random_state=0).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.order_, three.order_)
    np.testing.assert_array_equal(one.gains_, three.gains_)
    np.testing.assert_array_equal(one.estimator_.coef_, three.estimator_.coef_)


@pytest.mark.parametrize("solver", ["newton", "auto", "liblinear"])
def test_every_solver_chooses_the_same(solver):
    X, y = text_like(n_rows=150, n_labels=3)
    model, other = SelectFeatures(5, tol=1e-8).fit(X, y), SelectFeatures(5, tol=1e-8, solver=solver).fit(X, y)
    np.testing.assert_array_equal(other.order_, model.order_)


def test_labels_of_any_kind():
    X, y = text_like(n_labels=3)
    names = np.array(["c", "a", "b"])[y]
    model = SelectFeatures(5).fit(X, names)
    assert set(model.estimator_.predict(model.transform(X))) <= {"a", "b", "c"}


# --- rounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3, 100, 0.2])
def test_a_round_adds_at_most_a_step(step):
    X, y = text_like(n_rows=200, n_features=60)
    model = SelectFeatures(20, step=step).fit(X, y)
    sizes = np.array([0, *(record["n_features"] for record in model.history_)])
    most = step if isinstance(step, int) else np.maximum(1, (step * sizes[:-1]).astype(int))
    assert sizes[-1] == 20
    assert (np.diff(sizes) >= 1).all()
    assert (np.diff(sizes) <= most).all()
    assert np.all(np.diff([record["objective"] for record in model.history_]) < 0)
    assert np.all(np.diff([record["seconds"] for record in model.history_]) > 0)


def test_min_gain_ends_the_rounds():
    X, y = text_like(n_rows=200, n_features=60)
    model = SelectFeatures(min_gain=2.0, step=1).fit(X, y)
    assert 0 < len(model.order_) < 60
    assert model.gains_.min() >= 2.0
    more = SelectFeatures(len(model.order_) + 1, step=1).fit(X, y)
    assert more.gains_[-1] < 2.0


def test_patience_keeps_the_features_of_the_best_round():
    X, y = text_like(n_rows=120, n_features=80, n_labels=2)
    rng = np.random.default_rng(1)
    flipped = np.where(rng.random(120) < 0.3, 1 - y, y)
    train, held = slice(0, 60), slice(60, 120)
    options = {"X_val": X[held], "y_val": y[held]}
    model = SelectFeatures(step=1, patience=4, C=100).fit(X[train], flipped[train], **options)
    scores = [record["validation_score"] for record in model.history_]
    best = int(np.argmax(scores))
    assert len(scores) == best + 5
    assert len(model.order_) == len(model.gains_) == model.history_[best]["n_features"]
    assert model.estimator_.score(model.transform(X[held]), y[held]) == scores[best]


def test_a_callback_sees_a_model_that_predicts_and_may_end_the_fit():
    X, y = text_like(n_rows=150, n_labels=3)
    seen = []

    def callback(model, record):
        predicted = model.estimator_.predict(model.transform(X))
        seen.append((record["n_features"], model.order_.copy(), np.mean(predicted == y)))
        return record["n_features"] >= 4

    model = SelectFeatures(10, step=1, callback=callback).fit(X, y)
    assert [n for n, _, _ in seen] == [1, 2, 3, 4]
    np.testing.assert_array_equal(seen[-1][1], model.order_)
    assert seen[-1][2] > seen[0][2]


def test_verbose_prints_a_line_a_round(capsys):
    X, y = text_like()
    SelectFeatures(3, step=1, verbose=1).fit(X, y, X_val=X, y_val=y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(word in lines[-1] for word in ("3 features", "objective", "gain", "validation"))


# --- life among other estimators -------------------------------------------------------------------------------------


@every
def test_it_stands_in_a_pipeline_and_a_search(method):
    texts = ["good fine great day", "bad awful poor day", "fine good", "awful bad"] * 6
    verdicts = ["up", "down"] * 12
    pipeline = make_pipeline(CountVectorizer(), SelectFeatures(2, method=method, C=10), LogisticRegression())
    assert pipeline.fit(texts, verdicts).score(texts, verdicts) == 1.0
    assert len(pipeline[:-1].get_feature_names_out()) == 2
    search = GridSearchCV(pipeline, {"selectfeatures__n_features": [1, 3]}, cv=3).fit(texts, verdicts)
    assert search.best_score_ == 1.0
    fresh = clone(pipeline[1]).set_params(n_features=4)
    assert (fresh.n_features, fresh.method) == (4, method)


def test_names_of_columns_pass_through():
    X, y = text_like(n_features=8)
    frame = pd.DataFrame(X.toarray(), columns=[f"w{j}" for j in range(8)])
    model = SelectFeatures(3).fit(frame, y)
    assert model.get_feature_names_out().tolist() == [f"w{j}" for j in sorted(model.order_)]


def test_validation_sets_and_weights_are_routed():
    X, y = text_like(n_rows=90)
    with sklearn.config_context(enable_metadata_routing=True):
        selector = SelectFeatures(4).set_fit_request(sample_weight=True, X_val=True, y_val=True)
        model = LogisticRegression().set_fit_request(sample_weight=True, X_val=False, y_val=False)
        pipeline = make_pipeline(selector, model)
        pipeline.fit(X, y, sample_weight=np.ones(90), X_val=X[:30], y_val=y[:30])
    assert "validation_score" in pipeline[0].history_[-1]


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, error, match",
    [
        ({"n_features": 31}, ValueError, "n_features=31 is more than the 30 columns"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"n_features": 2.0}, TypeError, "n_features"),
        ({"method": "greddy"}, ValueError, "did you mean 'greedy'"),
        ({"solver": "newtn"}, ValueError, "did you mean 'newton'"),
        ({"C": 0}, ValueError, "C must be > 0"),
        ({"step": 0}, ValueError, "step"),
        ({"step": 1.5}, ValueError, "step must be > 0 and < 1"),
        ({"step": True}, TypeError, "step"),
        ({"min_gain": -1}, ValueError, "min_gain"),
        ({"min_gain": 1e9}, ValueError, "nothing to select"),
        ({"patience": 0}, ValueError, "patience"),
        ({"patience": 2}, ValueError, "X_val and y_val"),
        ({"patience": 2, "method": "chi2"}, ValueError, "patience belongs to method='greedy'"),
        ({"tol": -1}, ValueError, "tol"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"verbose": -1}, ValueError, "verbose"),
        ({"n_jobs": 0}, ValueError, "n_jobs"),
        ({"callback": 3}, TypeError, "callback"),
        ({"random_state": -1}, ValueError, "random_state"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(options, error, match):
    X, y = text_like()
    model = SelectFeatures(3).fit(X, y)
    before = state(model)
    with pytest.raises(error, match=match):
        model.set_params(**options).fit(X, y)
    assert state(model) == before


@every
def test_bad_data_is_refused_and_changes_nothing(method):
    X, y = text_like()
    model = SelectFeatures(3, method=method).fit(X, y)
    before = state(model)
    negative, missing = X.copy(), X.copy()
    negative.data[negative.indptr[7]], missing.data[missing.indptr[7]] = -3, np.nan
    cases = [
        (missing, y, {}, "NaN at row 7"),
        (X, np.zeros(60, int), {}, "number of classes"),
        (X, y[1:], {}, "inconsistent"),
        (X, y, {"sample_weight": -np.ones(60)}, "negative"),
        (X, y, {"sample_weight": np.zeros(60)}, "every row is zero"),
        (X, y, {"X_val": X}, "together"),
        (X, y, {"X_val": X[:, :5], "y_val": y}, "X_val has 5 features"),
        (X, y, {"X_val": X, "y_val": y.astype(str)}, "kinds do not mix"),
    ]
    cases += [(negative, y, {}, "Negative values.*row 7")] if method != "greedy" else []
    for bad, labels, options, match in cases:
        with pytest.raises(ValueError, match=match):
            model.fit(bad, labels, **options)
    assert state(model) == before
    if method == "greedy":
        model.fit(negative, y)


def test_an_error_in_the_callback_changes_nothing():
    X, y = text_like()
    model = SelectFeatures(3).fit(X, y)
    before = state(model)

    def fail(model, record):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(callback=fail, n_features=5).fit(X, y)
    assert state(model) == before


def test_ctrl_c_changes_nothing():
    X, y = random_sparse(n_rows=5000, n_features=3000, row_length=20, n_labels=5)
    model = SelectFeatures(2).fit(X, y)
    before = state(model)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(n_features=3000, step=1).fit(X, y)
    timer.join()
    assert state(model) == before


@pytest.mark.parametrize("estimator", [SelectFeatures, CountCutoff])
def test_the_docstrings_describe_every_parameter_and_attribute(estimator):
    text = inspect.getdoc(estimator)
    parameters, attributes, _ = re.split(r"(?:Parameters|Attributes|Examples)\n-+\n", text)[1:]
    described = [
        word for line in re.findall(r"^(\w.*?)(?: : .*)?$", parameters, re.MULTILINE) for word in line.split(", ")
    ]
    assert sorted(described) == sorted(inspect.signature(estimator).parameters)
    X, y = text_like()
    fitted = estimator().fit(pd.DataFrame(X.toarray()).add_prefix("x"), y)
    learnt = {name for name in vars(fitted) if name.endswith("_")}
    assert set(re.findall(r"^(\w+_) : ", attributes, flags=re.MULTILINE)) == learnt
