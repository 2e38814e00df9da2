"""scikit-learn's callbacks on every learner in iterations: tasks, models on the way, stops, failures, searches."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fastlin import (
    KMeans,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    MIRAClassifier,
    MultinomialMixture,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    Ridge,
    SemiSupervisedNB,
    SGDClassifier,
    TfidfTransformer,
)
from fastlin.sequence import CRF, MEMM, StructuredPerceptron

pytestmark = [
    pytest.mark.peer("sklearn.callback"),  # since 1.9
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
X = sparse.random(60, 12, 0.4, random_state=0, format="csr")
Y = np.arange(60) % 3
SENTENCES, TAGS = [["a", "b", "c"], ["b", "c"]] * 6, [["x", "y", "x"], ["y", "x"]] * 6
ROWS, SEQUENCES = (X, Y), (SENTENCES, TAGS)
LEARNERS = {
    "logistic": (LogisticRegression(solver="lbfgs"), ROWS),
    "logistic by epochs": (LogisticRegression(solver="sgd", max_iter=5), ROWS),
    "logistic over folds": (LogisticRegressionCV(Cs=2, cv=2, solver="lbfgs"), ROWS),
    "machine": (LinearSVC(), ROWS),
    "machine of targets": (LinearSVR(), ROWS),
    "ridge": (Ridge(solver="sparse_cg"), ROWS),
    "perceptron": (Perceptron(max_iter=4, tol=None), ROWS),
    "averaged": (SGDClassifier(max_iter=4, tol=None, average=True), ROWS),
    "passive-aggressive": (PassiveAggressiveClassifier(max_iter=4, tol=None), ROWS),
    "MIRA": (MIRAClassifier(max_iter=4, tol=None), ROWS),
    "k-means": (KMeans(3, random_state=0), ROWS),
    "mixture": (MultinomialMixture(3, random_state=0), ROWS),
    "semi-supervised": (SemiSupervisedNB(), (X, np.where(Y == 2, -1, Y))),
    "CRF": (CRF(), SEQUENCES),
    "MEMM": (MEMM(solver="lbfgs"), SEQUENCES),
    "structured perceptron": (StructuredPerceptron(), SEQUENCES),
}


class Recorder:
    """A callback that keeps what it is called with, and stops or fails when it is told to."""

    def __init__(self, stop_after=None, fail_after=None):
        self.calls, self.models = [], []
        self.stop_after, self.fail_after = stop_after, fail_after

    def setup(self, estimator, context):
        self.calls.append(("setup", context.task_name, context.task_id))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.calls.append(("end", context.task_name, context.task_id))
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.models.append(fitted_estimator)
        if len(self.models) == self.fail_after:
            raise RuntimeError("enough")
        return len(self.models) == self.stop_after

    def of(self, kind, name="iteration"):
        return [number for what, task, number in self.calls if (what, task) == (kind, name)]


def learnt(model):
    """An answer that a model gives."""
    if "sequence" in type(model).__module__:
        return np.array([tag == "x" for tags in model.predict(SENTENCES) for tag in tags])
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "transform"):
        return model.transform(X)
    return model.predict(X) if is_regressor(model) else model.predict_log_proba(X)


@pytest.mark.parametrize("name", LEARNERS)
def test_each_iteration_is_a_task_and_its_model_answers(name):
    model, data = LEARNERS[name]
    recorder = Recorder()
    model.set_callbacks(recorder).fit(*data)
    n = model.history_[-1]["iteration"] if isinstance(model, LogisticRegressionCV) else int(np.max(model.n_iter_))
    assert recorder.calls[:2] == [("setup", "fit", 0), ("begin", "fit", 0)]
    assert recorder.calls[-2:] == [("end", "fit", 0), ("teardown", "fit", 0)]
    assert recorder.of("begin") == recorder.of("end") == list(range(n + 1))  # the last is what comes after
    assert len(recorder.models) == n
    if n and name != "logistic by epochs":  # which keeps the best of all
        np.testing.assert_allclose(learnt(recorder.models[-1]), learnt(model), atol=1e-9)


def test_models_on_the_way_are_not_changed_by_what_comes():
    recorder = Recorder()
    Perceptron(max_iter=4, tol=None, random_state=0).set_callbacks(recorder).fit(X, Y)
    for epochs, model in enumerate(recorder.models, 1):
        alone = Perceptron(max_iter=epochs, tol=None, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_a_callback_stops_a_fit():
    recorder = Recorder(stop_after=2)
    model = SGDClassifier(max_iter=9, tol=None, random_state=0).set_callbacks(recorder).fit(X, Y)
    assert model.n_iter_ == 2


def test_a_callback_that_fails_leaves_the_estimator_as_it_was():
    model = SGDClassifier(max_iter=9, tol=None, random_state=0).fit(X, Y)
    before, recorder = model.coef_.copy(), Recorder(fail_after=2)
    with pytest.raises(RuntimeError, match="enough"):
        model.set_callbacks(recorder).fit(X[:30], Y[:30])
    np.testing.assert_array_equal(model.coef_, before)
    assert recorder.calls[-1] == ("teardown", "fit", 0)
    assert not [key for key in vars(model) if key.startswith("_callback") or key.endswith("teardown")]
    model.set_callbacks()
    np.testing.assert_array_equal(
        model.fit(X, Y).coef_, SGDClassifier(max_iter=9, tol=None, random_state=0).fit(X, Y).coef_
    )


def test_callbacks_change_no_bit_of_a_model():
    plain = LogisticRegression(solver="lbfgs").fit(X, Y)
    watched = LogisticRegression(solver="lbfgs").set_callbacks(Recorder()).fit(X, Y)
    np.testing.assert_array_equal(watched.coef_, plain.coef_)


def test_searches_and_pipelines_hand_progress_bars_on():
    from sklearn.callback import ProgressBar

    for estimator in (SGDClassifier(max_iter=3, tol=None), MultinomialNB()):
        search = GridSearchCV(
            make_pipeline(TfidfTransformer(), estimator), {f"{_name(estimator)}__alpha": [0.01, 0.1]}, cv=2
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, Y)
        assert not hasattr(search.best_estimator_[-1], "_parent_callback_ctx")


def test_a_scoring_monitor_scores_every_epoch():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = Perceptron(max_iter=5, tol=None).set_callbacks(monitor).fit(X, Y)
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(scores) == 5
    assert scores[-1] == model.score(X, Y)


def _name(estimator):
    return type(estimator).__name__.lower()
