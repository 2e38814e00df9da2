"""Attributes of fitted models that users change: what no longer belongs together is refused by name."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import fastlin
from fastlin.text import CountVectorizer

rng = np.random.default_rng(0)
X = rng.poisson(1.0, (24, 6)).astype(float)
Y = np.array(["a", "b", "c"] * 8)
TWO = np.array(["a", "b"] * 12)
TARGETS = np.cos(np.arange(len(Y)))
TUPLES = X[:, :3].astype(int)
TEXTS = ["xx yy", "yy zz", "zz"] * 8
SIZES = np.full(8, 3)
LEXICON = {"a": ["xx"], "b": ["yy"], "c": ["zz"]}

FITTED = {
    "MultinomialNB": lambda: (fastlin.MultinomialNB().fit(X, Y), (X,)),
    "MultinomialNB that grows": lambda: (fastlin.MultinomialNB(grow_features=True).fit(X, Y), (X,)),
    "CategoricalNB": lambda: (fastlin.CategoricalNB().fit(TUPLES, Y), (TUPLES,)),
    "SemiSupervisedNB": lambda: (fastlin.SemiSupervisedNB(components=2, random_state=0).fit(X, Y), (X,)),
    "SemiSupervisedNBCV": lambda: (
        fastlin.SemiSupervisedNBCV(cv=2, alphas=[1.0], components=[1], unlabeled_weights=[1.0]).fit(X, Y), (X,)
    ),
    "MultinomialMixture": lambda: (fastlin.MultinomialMixture(2, random_state=0).fit(X), (X,)),
    "KMeans": lambda: (fastlin.KMeans(2, random_state=0).fit(X), (X,)),
    "KMeans, soft": lambda: (fastlin.KMeans(2, random_state=0, temperature=1.0).fit(X), (X,)),
    "LogisticRegression": lambda: (fastlin.LogisticRegression().fit(X, Y), (X,)),
    "LogisticRegression of two": lambda: (fastlin.LogisticRegression().fit(X, TWO), (X,)),
    "LogisticRegression, sparse": lambda: (fastlin.LogisticRegression().fit(X, Y).sparsify(), (X,)),
    "LogisticRegressionCV": lambda: (fastlin.LogisticRegressionCV(Cs=2, cv=2).fit(X, Y), (X,)),
    "LinearSVC": lambda: (fastlin.LinearSVC().fit(X, Y), (X,)),
    "LinearSVC of two": lambda: (fastlin.LinearSVC().fit(X, TWO), (X,)),
    "Ridge of two": lambda: (fastlin.Ridge().fit(X, np.column_stack([TARGETS, -TARGETS])), (X,)),
    "CandidateClassifier": lambda: (fastlin.CandidateClassifier().fit(X, np.zeros(8, int), SIZES), (X, SIZES)),
    "LexiconClassifier": lambda: (fastlin.LexiconClassifier(LEXICON, vectorizer=CountVectorizer()).fit(), (TEXTS,)),
}  # fmt: skip
READERS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform",
           "score_samples", "predict_component_proba", "rank")  # fmt: skip
CHANGES = {
    "classes_": [lambda old: old[:1], lambda old: old[:-1], lambda old: np.append(old, "z"), lambda old: old[:0]],
    "coef_": [lambda old: old[:, :-1], lambda old: sp.vstack([old, old]).tocsr() if sp.issparse(old)
              else np.vstack([old] * 2), lambda old: old[:, :0]],
    "intercept_": [lambda old: old[:0], lambda old: np.append(old, [1.0, 2.0]), lambda old: old[:, np.newaxis]],
    "n_features_in_": [lambda _: 2**62, lambda _: 2**62 + 1, lambda old: old + 1, lambda old: old - 1, lambda _: 0],
    "cluster_centers_": [lambda old: old[:, :-1], lambda old: old[:0], lambda old: old[0]],
    "class_prior_": [lambda old: old[:-1], lambda old: np.append(old, 1.0)],
}  # fmt: skip
NOTHING = [lambda _: None, lambda _: np.array(5), lambda _: "x"]  # what stands in the place of numbers
for number in ("coef_", "intercept_", "cluster_centers_", "class_prior_"):
    CHANGES[number] += NOTHING


def _attributes(name):
    """Which of the attributes a model has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = vars(FITTED[name]()[0])
    return [attribute for attribute in CHANGES if attribute in known]


CASES = [(name, attribute, place) for name in FITTED for attribute in _attributes(name)
         for place in range(len(CHANGES[attribute]))]  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("name", "attribute", "place"), CASES)
def test_what_does_not_belong_together_is_refused_by_name(name, attribute, place, tmp_path):
    model, data = FITTED[name]()
    old = getattr(model, attribute)
    setattr(model, attribute, CHANGES[attribute][place](old))
    readers = [reader for reader in READERS if hasattr(model, reader)]
    for reader in readers:
        with pytest.raises(ValueError, match=attribute):
            getattr(model, reader)(*data)
    with pytest.raises(ValueError, match=attribute):
        fastlin.save(model, tmp_path / "model")
    setattr(model, attribute, old)
    for reader in readers:
        getattr(model, reader)(*data)


@pytest.mark.parametrize("array", ["indices", "indptr"])
@pytest.mark.parametrize("reader", ["predict", "decision_function", "densify"])
def test_a_malformed_csr_as_weights_is_refused(reader, array):
    model = fastlin.LogisticRegression().fit(X, Y).sparsify()
    getattr(model.coef_, array)[1:] = 2**27
    with pytest.raises(ValueError, match="coef_"):
        getattr(model, reader)(*([] if reader == "densify" else [X]))


@pytest.mark.parametrize("labels", [np.array(["a", "b", "c"])[:0], np.array("a"), np.array([["a", "b", "c"]])])
@pytest.mark.parametrize("model", [fastlin.MultinomialNB(), fastlin.CategoricalNB()], ids=type)
def test_learning_goes_on_with_a_vector_of_labels_only(model, labels):
    model = model.fit(TUPLES, Y)
    model.classes_ = labels
    with pytest.raises(ValueError, match="classes_"):
        model.partial_fit(TUPLES, Y)
