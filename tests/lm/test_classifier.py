"""A language model for each label, and Bayes' rule."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from fastlin import CountVectorizer, MultinomialNB
from fastlin.lm import LanguageModelClassifier, NgramModel

TEXTS = ["the cat sat on the mat", "the dogs ran home", "die Katze sitzt da", "der Hund bellt laut"] * 5
LABELS = ["en", "en", "de", "de"] * 5


def test_it_tells_languages_apart():
    model = LanguageModelClassifier().fit(TEXTS, LABELS)
    assert model.predict(["the cat ran", "der Katze"]).tolist() == ["en", "de"]
    assert model.score(TEXTS, LABELS) == 1
    assert cross_val_score(clone(model), TEXTS, LABELS, cv=3).mean() == 1
    assert model.classes_.tolist() == ["de", "en"]


def test_probabilities_are_bayes_rule():
    model = LanguageModelClassifier(NgramModel(2, smoothing="witten_bell"), class_prior=[0.3, 0.7]).fit(TEXTS, LABELS)
    new = ["the Hund", "cat", ""]
    joint = np.column_stack([each.score_samples(new) for each in model.models_]) + np.log([0.3, 0.7])
    np.testing.assert_allclose(model.predict_joint_log_proba(new), joint)
    proba = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), proba)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), proba)
    assert model.predict(new).tolist() == model.classes_[proba.argmax(axis=1)].tolist()


def test_unigrams_without_ends_are_naive_bayes():
    """Each text has as many ends, so that with texts of one length these say nothing."""
    texts, labels = ["a b c", "a a b", "c c d", "d d a"], [0, 0, 1, 1]
    ours = LanguageModelClassifier(NgramModel(1, smoothing="laplace", vocabulary=list("abcd"), unk=None))
    ours.fit(texts, labels)
    vectorizer = CountVectorizer(token_pattern=r"\S+")
    theirs = MultinomialNB().fit(vectorizer.fit_transform(texts), labels)
    np.testing.assert_array_equal(ours.predict(texts), theirs.predict(vectorizer.transform(texts)))


def test_what_no_label_can_have_gets_the_prior():
    model = LanguageModelClassifier(NgramModel(2, smoothing="relative_frequency"), class_prior=[0.2, 0.8])
    model.fit(["a b", "c d"], ["x", "y"])
    np.testing.assert_allclose(model.predict_proba(["zebra"]), [[0.2, 0.8]])
    assert model.predict(["zebra", "a b"]).tolist() == ["y", "x"]


def test_what_is_wrong_is_named():
    for X, y, options, error, message in (
        (TEXTS, LABELS[:-1], {}, ValueError, "y"),
        ("text", ["a"], {}, TypeError, "one string"),
        (TEXTS, ["a"] * 20, {}, ValueError, "two labels"),
        (TEXTS, LABELS, {"model": 3}, TypeError, "model"),
        (TEXTS, LABELS, {"class_prior": [0.5, 0.6]}, ValueError, "class_prior"),
    ):
        with pytest.raises(error, match=message):
            LanguageModelClassifier(**options).fit(X, y)
    assert LanguageModelClassifier().fit(TEXTS, LABELS).predict([]).shape == (0,)


@pytest.mark.parametrize("X", [5, None, {"a": 1}, "a text", b"a text"])
def test_what_is_no_list_of_texts_is_named(X):
    with pytest.raises(TypeError, match="X must be a list of texts"):
        LanguageModelClassifier().fit(X, ["a", "b"])
    with pytest.raises(TypeError, match="X must be a list of texts"):
        LanguageModelClassifier().fit(TEXTS, LABELS).predict(X)
