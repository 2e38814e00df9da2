"""Records of fits have the fields, and the types, that `FitRecord` and `FitCertificate` say."""

import typing

import numpy as np
import pytest

from fastlin import (
    KMeans,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MiniBatchKMeans,
    MultinomialMixture,
    PassiveAggressiveClassifier,
    Ridge,
    SemiSupervisedNB,
    SGDClassifier,
    SGDRegressor,
)
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.grammar import PCFG, SpanCRF
from fastlin.lm import ClassBigramModel, MaxentLM, WordClasses
from fastlin.select import SelectFeatures
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (40, 6)).astype(float)
Y = (X[:, 0] > X[:, 1]).astype(int)
PARTLY = np.where(np.arange(40) < 20, Y, -1)
SENTENCES = [words.split() for words in ("a b a", "b a", "a a b", "b b", "c a b")]
TAGS = [[word.upper() for word in words] for words in SENTENCES]
TREES = ["(S (A a) (B b))", "(S (B b) (A a))", "(S (A a) (S (B b) (A a)))"]
FITS = {
    "sgd": (SGDClassifier(max_iter=2, tol=None, early_stopping=True, random_state=0), (X, Y)),
    "pa": (PassiveAggressiveClassifier(max_iter=2, tol=None, random_state=0), (X, Y)),
    "regressor": (SGDRegressor(max_iter=2, tol=None, random_state=0), (X, X[:, 0])),
    **{f"logistic {solver}": (LogisticRegression(solver=solver), (X, Y)) for solver in ("auto", "newton", "lbfgs")},
    "l1": (LogisticRegression(penalty="l1"), (X, Y)),
    "svc": (LinearSVC(), (X, Y)),
    "svr": (LinearSVR(), (X, X[:, 0])),
    "ridge": (Ridge(), (X, X[:, 0])),
    "k-means": (KMeans(2, n_init=1, random_state=0), (X,)),
    "batches": (MiniBatchKMeans(2, batch_size=16, random_state=0), (X,)),
    "mixture": (MultinomialMixture(2, random_state=0), (X,)),
    "semi": (SemiSupervisedNB(), (X, PARTLY)),
    "select": (SelectFeatures(n_features=2), (X, Y)),
    "crf": (CRF(), (SENTENCES, TAGS)),
    "crf sgd": (CRF(solver="sgd", eta0=0.1), (SENTENCES, TAGS)),
    "memm": (MEMM(), (SENTENCES, TAGS)),
    "perceptron": (StructuredPerceptron(max_iter=2, random_state=0), (SENTENCES, TAGS)),
    "hmm": (HMM(n_components=2, tol=1e-2, random_state=0), (SENTENCES,)),
    "pcfg": (PCFG(rules="loglinear"), (TREES,)),
    "spans": (SpanCRF(solver="lbfgs"), (TREES,)),
    "maxent": (MaxentLM(2), ([" ".join(words) for words in SENTENCES],)),
    "classes": (WordClasses(5), ([" ".join(words) for words in SENTENCES],)),
    "class bigrams": (ClassBigramModel(2, tol=1e-2, random_state=0), ([" ".join(words) for words in SENTENCES],)),
}


def misfits(record, kind):
    """Fields that a record has and its type has not, or has with another type."""
    types = typing.get_type_hints(kind)
    wanted = {float: float, int: int, list[int]: list}
    return {name: value for name, value in record.items() if type(value) is not wanted.get(types.get(name))}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_records_have_the_fields_of_their_types(name):
    model, data = FITS[name]
    model.fit(*data)
    assert model.history_
    assert [misfits(record, FitRecord) for record in model.history_] == [{}] * len(model.history_)
    assert misfits(getattr(model, "certificate_", None) or {}, FitCertificate) == {}


def test_a_misfit_is_found():
    assert misfits({"iteration": 1, "objective": 2.0, "seeded": []}, FitRecord) == {}
    assert misfits({"iteration": 1.0, "tempo": 2.0}, FitRecord) == {"iteration": 1.0, "tempo": 2.0}
