"""A frozen predictor says what its pipeline says, of one text or of many, whatever is learnt afterwards."""

import copy
import functools
import pickle

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from fastlin import (
    ComplementNB,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NearestCentroid,
    Perceptron,
    SGDClassifier,
)
from fastlin.text import CountVectorizer, HashingVectorizer, TextPredictor, TfidfVectorizer

TEXTS = ["a good dog", "Good, good!", "a bad cat", "no cat is bad", "the dog", "", "naïve Σ cats İ", "bad bad dog"]
WORDS = ["a", "good", "bad", "dog", "Cat", "unknown", "Σ"]
LABELS = ["yes", "yes", "no", "no", "maybe", "maybe", "no", "yes"]
CLASSIFIERS = {
    "logistic": lambda: LogisticRegression(),
    "svm": lambda: LinearSVC(),
    "sgd": lambda: SGDClassifier(random_state=0),
    "averaged": lambda: Perceptron(average=True, random_state=0),
    "multinomial": lambda: MultinomialNB(),
    "impossible": lambda: MultinomialNB(alpha=0),
    "complement": lambda: ComplementNB(),
    "centroid": lambda: NearestCentroid(),
}
VECTORIZERS = {
    "counts": lambda: CountVectorizer(),
    "binary pairs": lambda: CountVectorizer(binary=True, ngram_range=(1, 2), dtype=np.float32),
    "tf-idf": lambda: TfidfVectorizer(sublinear_tf=True),
    "characters": lambda: TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), dtype=np.float32),
}


@functools.cache
def fitted(vectorizer, classifier, n_labels):
    """A pipeline and its predictor."""
    y = LABELS if n_labels == 3 else np.arange(len(LABELS)) % 2
    pipeline = make_pipeline(VECTORIZERS[vectorizer](), CLASSIFIERS[classifier]()).fit(TEXTS, y)
    return pipeline, TextPredictor(pipeline)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("vectorizer", VECTORIZERS)
@pytest.mark.parametrize("classifier", CLASSIFIERS)
@settings(max_examples=10)
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)))
def test_labels_are_those_of_the_pipeline(vectorizer, classifier, n_labels, texts):
    pipeline, frozen = fitted(vectorizer, classifier, n_labels)
    texts = [*texts, *TEXTS]
    expected = pipeline.predict(texts)
    np.testing.assert_array_equal(frozen.predict(texts), expected, strict=True)
    assert [frozen.predict_one(text) for text in texts] == expected.tolist()


def test_what_is_learnt_afterwards_changes_nothing():
    pipeline = make_pipeline(CountVectorizer(), SGDClassifier(random_state=0)).fit(TEXTS, LABELS)
    frozen, before = TextPredictor(pipeline), pipeline.predict(TEXTS)
    vectorizer, classifier = pipeline[0], pipeline[1]
    for _ in range(20):
        classifier.partial_fit(vectorizer.transform(TEXTS), LABELS[::-1])
    assert (pipeline.predict(TEXTS) != before).any()
    np.testing.assert_array_equal(frozen.predict(TEXTS), before)
    pipeline.fit(TEXTS[:4], ["x", "y", "x", "y"])
    np.testing.assert_array_equal(frozen.predict(TEXTS), before)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_copies_say_the_same(classifier):
    pipeline = make_pipeline(TfidfVectorizer(), CLASSIFIERS[classifier]()).fit(TEXTS, LABELS)
    frozen, expected = TextPredictor(pipeline), pipeline.predict(TEXTS)
    pipeline.fit(TEXTS[:4], ["x", "y", "x", "y"])
    for twin in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen), copy.copy(frozen)):
        np.testing.assert_array_equal(twin.predict(TEXTS), expected)
        assert twin.predict_one(TEXTS[0]) == frozen.predict_one(TEXTS[0])


def test_no_texts_have_no_labels():
    frozen = TextPredictor(make_pipeline(CountVectorizer(), MultinomialNB()).fit(TEXTS, LABELS))
    found = frozen.predict([])
    assert found.shape == (0,)
    assert found.dtype == frozen.classes_.dtype
    with pytest.raises(ValueError, match="documents must be a list of documents"):
        frozen.predict("a good dog")


@pytest.mark.parametrize(
    ("pipeline", "error", "match"),
    [
        (LogisticRegression(), TypeError, "two steps.*got LogisticRegression"),
        (make_pipeline(HashingVectorizer(), LogisticRegression()), TypeError, "got HashingVectorizer"),
        (make_pipeline(CountVectorizer(), sklearn.linear_model.Perceptron()), TypeError, "got CountVectorizer, Percep"),
        (make_pipeline(CountVectorizer(analyzer=str.split), MultinomialNB()), ValueError, "use the pipeline itself"),
    ],
)
def test_other_pipelines_are_refused(pipeline, error, match):
    if hasattr(pipeline, "steps"):
        pipeline.fit(TEXTS, LABELS)
    with pytest.raises(error, match=match):
        TextPredictor(pipeline)


def test_steps_that_do_not_fit_are_refused():
    vectorizer, classifier = CountVectorizer().fit(TEXTS), MultinomialNB()
    classifier.fit(CountVectorizer().fit_transform(TEXTS[:2]), LABELS[1:3])
    with pytest.raises(ValueError, match=r"the vectorizer has \d+ columns, the classifier 2 features"):
        TextPredictor(make_pipeline(vectorizer, classifier))
