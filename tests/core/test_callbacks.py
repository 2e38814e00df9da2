"""Records of a fit: logged where a program asks `logging` for them, printed where `verbose` does, else kept only."""

import logging

import numpy as np
import pytest

from fastlin import KMeans, LogisticRegression, LogisticRegressionCV, MultinomialMixture, Ridge, SGDClassifier
from fastlin.select import SelectFeatures

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (60, 8)).astype(float)
Y = (X[:, 0] > X[:, 1]).astype(int)
MODELS = [
    SGDClassifier(max_iter=3, tol=None, random_state=0), LogisticRegression(solver="lbfgs"), Ridge(solver="lsqr"),
    KMeans(2, n_init=1, random_state=0), MultinomialMixture(2, random_state=0), SelectFeatures(n_features=2),
    LogisticRegressionCV(Cs=[1.0], cv=2),
]  # fmt: skip
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@each_model
def test_a_fit_says_nothing_unless_it_is_asked(model, capsys, caplog):
    model.fit(X, Y)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


@each_model
def test_what_is_logged_is_what_verbose_prints(model, capsys, caplog):
    """At least a record of the log for each of the history, as fits inside the fit log theirs, too."""
    with caplog.at_level(logging.INFO, logger="fastlin"):
        model.fit(X, Y)
        assert capsys.readouterr() == ("", "")
        logged = [record for record in caplog.records if record.name == "fastlin"]
        caplog.clear()
        type(model)(**model.get_params() | {"verbose": 1}).fit(X, Y)
    assert len(logged) >= len(getattr(model, "history_", [0])) > 0
    assert {record.estimator for record in logged} <= {type(model).__name__, "LogisticRegression"}
    assert all(isinstance(record.fit_record, dict) for record in logged)
    own = [record for record in caplog.records if record.estimator == type(model).__name__]
    messages = [record.getMessage() for record in own]
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line in messages] == messages
    assert len(printed) == len(messages) or isinstance(model, KMeans)  # which prints scikit-learn's lines, too
