"""A warning that a fit did not converge stands at the line that called it."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron

ROWS = np.random.default_rng(0).integers(0, 4, (60, 8)).astype(float)
LABELS = np.random.default_rng(1).integers(0, 3, 60)
SENTENCES = [["a", "b"], ["b", "c"], ["c"]] * 3
TAGS = [["X", "Y"], ["Y", "X"], ["X"]] * 3
FITS = {
    "logistic regression": (fastlin.LogisticRegression(max_iter=1, tol=0), (ROWS, LABELS)),
    "support vectors": (fastlin.LinearSVC(C=1e4, max_iter=1, tol=1e-12), (ROWS, LABELS)),
    "support vectors of targets": (fastlin.LinearSVR(C=1e4, max_iter=1, tol=1e-12), (ROWS, LABELS)),
    "ridge": (fastlin.Ridge(solver="sparse_cg", max_iter=1, tol=0), (ROWS, LABELS)),
    "mixture": (fastlin.MultinomialMixture(2, max_iter=1, tol=0, random_state=0), (ROWS,)),
    "k-means": (fastlin.KMeans(3, n_init=1, random_state=0), (np.ones((9, 2)),)),
    "online": (fastlin.SGDClassifier(max_iter=1, tol=1e-9, random_state=0), (ROWS, LABELS)),
    "crf": (CRF(max_iter=1, tol=0), (SENTENCES, TAGS)),
    "memm": (MEMM(max_iter=1, tol=0), (SENTENCES, TAGS)),
    "structured perceptron": (StructuredPerceptron(max_iter=1, tol=0.0), (SENTENCES, TAGS)),
    "hmm": (HMM(n_components=2, max_iter=1, tol=0, random_state=0), (SENTENCES,)),
}


@pytest.mark.parametrize("name", FITS)
def test_a_warning_stands_at_the_callers_line(name):
    model, data = FITS[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(*data)
    assert [warning.filename for warning in told if issubclass(warning.category, ConvergenceWarning)] == [__file__]
