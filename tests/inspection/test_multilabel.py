"""Labels of which a document may have several are described each by itself: none is preferred to another."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin import BernoulliNB, ComplementNB, LinearSVC, LogisticRegression, MultinomialNB, SGDClassifier
from fastlin.inspection import explain, summary, top_features

RNG = np.random.default_rng(0)
X = sp.csr_array(RNG.poisson(0.5, (60, 8)).astype(float))
Y = RNG.integers(0, 2, (60, 3))
MODELS = [
    LogisticRegression(),
    LinearSVC(),
    SGDClassifier(random_state=0),
    MultinomialNB(),
    BernoulliNB(),
    ComplementNB(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@every_model
def test_what_the_features_add_to_a_label_is_its_score(model):
    model.fit(X, Y)
    with np.errstate(divide="ignore"):
        p = model.predict_proba(X[[4]])[0] if hasattr(model, "predict_proba") else None
    scores = model.decision_function(X[[4]])[0] if hasattr(model, "decision_function") else np.log(p / (1 - p))
    for label in range(3):
        found = explain(model, X[[4]], label)
        assert found.against is None
        assert found.margin == pytest.approx(scores[label])


@every_model
def test_the_strongest_features_of_a_label_are_those_of_its_binary_model(model):
    model.fit(X, Y)
    weights = model.coef_ if hasattr(model, "coef_") else model._estimates().weights.T
    for label, found in enumerate(top_features(model, n=3)):
        assert list(found.names[:1]) == [f"x{np.argmax(weights[label])}"]
    assert "labels    3: 0, 1, 2" in str(summary(model))
