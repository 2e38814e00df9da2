"""Every classifier predicts for a Corpus what it predicts for the rows in memory."""

import numpy as np
import pytest

from fastlin import (
    Corpus,
    LexiconClassifier,
    LinearSVC,
    LogisticRegression,
    MIRAClassifier,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    SGDClassifier,
)
from fastlin.data import corpus as corpora
from support.estimators import assert_same_bits, text_like

MODELS = {
    "naive bayes": MultinomialNB(),
    "naive bayes, sparse": MultinomialNB(alpha=0),
    "perceptron": Perceptron(),
    "float32": Perceptron(dtype="float32"),
    "passive-aggressive": PassiveAggressiveClassifier(),
    "MIRA": MIRAClassifier(),
    "SGD": SGDClassifier(loss="log_loss", max_iter=20, tol=None),
    "logistic": LogisticRegression(),
    "SVM": LinearSVC(),
}
WAYS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "predict_joint_log_proba")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 100)


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_corpus_and_its_rows_get_the_same_answers(name, stored, n_labels, tmp_path):
    X, y = text_like(n_labels=n_labels)
    weights = np.random.default_rng(0).uniform(0.1, 2, 60)
    model = MODELS[name].fit(X, y)
    plain, weighted = Corpus(X, y), Corpus(X, y, sample_weight=weights)
    if stored:
        plain, weighted = plain.write(tmp_path / "plain"), weighted.write(tmp_path / "weighted")
    assert plain.n_segments > 2
    for way in WAYS:
        if hasattr(model, way):
            np.testing.assert_array_equal(getattr(model, way)(plain), getattr(model, way)(X))
    assert model.score(plain) == model.score(X, y)
    np.testing.assert_allclose(model.score(weighted), model.score(X, y, weights), rtol=1e-12)


@pytest.mark.parametrize("name", ["perceptron", "logistic"])
def test_sparse_weights_serve_a_corpus_too(name):
    X, y = text_like()
    model = MODELS[name].fit(X, y).sparsify()
    np.testing.assert_array_equal(model.decision_function(Corpus(X, y)), model.decision_function(X))
    model.densify()


def test_a_lexicon_serves_a_corpus_too():
    X, y = text_like(n_labels=2)
    names = [f"w{column}" for column in range(X.shape[1])]
    model = LexiconClassifier({0: names[::2], 1: names[1::3]}, vocabulary=names).fit()
    np.testing.assert_array_equal(model.predict(Corpus(X)), model.predict(X))
    np.testing.assert_array_equal(model.decision_function(Corpus(X)), model.decision_function(X))
    assert model.score(Corpus(X, y)) == model.score(X, y)


@pytest.mark.parametrize("name", ["SGD", "logistic"])
def test_validation_data_may_be_a_corpus(name):
    X, y = text_like()
    Z, z = text_like(seed=1, n_labels=4)  # one of the labels is not known
    model = MODELS[name].set_params(random_state=0)
    one = model.fit(X, y, X_val=Corpus(Z, z)).history_
    other = model.fit(X, y, X_val=Z, y_val=z).history_
    assert [record["validation_score"] for record in one] == [record["validation_score"] for record in other]


@pytest.mark.parametrize("name", MODELS)
def test_what_a_corpus_brings_is_not_given_again(name):
    X, y = text_like()
    model, corpus = MODELS[name].fit(X, y), Corpus(X, y)
    for arguments in ({"y": y}, {"sample_weight": np.ones(60)}):
        with pytest.raises(ValueError, match="X is a Corpus"):
            model.score(corpus, **arguments)
        with pytest.raises(ValueError, match="X is a Corpus"):
            model.fit(corpus, **arguments)
    with pytest.raises(ValueError, match="without labels"):
        model.score(Corpus(X))
    with pytest.raises(ValueError, match="without labels"):
        model.fit(Corpus(X))
    for way in ("predict", "score"):
        with pytest.raises(ValueError, match="features"):
            getattr(model, way)(Corpus(X[:, 1:], y))
    with pytest.raises(ValueError, match="kinds do not mix"):
        model.score(Corpus(X, y.astype(str)))


def test_the_row_at_fault_is_named_wherever_its_segment_lies():
    X, y = text_like()
    X.data[-1] = -1
    with pytest.raises(ValueError, match="-1 at row 59"):
        MODELS["naive bayes"].fit(abs(X), y).predict(Corpus(X))
    X.data[-1] = 1e20
    with pytest.raises(ValueError, match="at row 59"):
        MODELS["float32"].fit(text_like()[0], y).predict(Corpus(X))


# --- naive Bayes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [False, True])
def test_naive_bayes_counts_a_corpus_as_it_counts_its_rows(stored, tmp_path):
    X, y = text_like()
    weights = np.random.default_rng(0).integers(0, 4, 60).astype(float)
    corpus = Corpus(X, y, sample_weight=weights)
    corpus = corpus.write(tmp_path / "corpus") if stored else corpus
    expected = MultinomialNB().fit(X, y, weights)
    assert_same_bits(MultinomialNB().fit(corpus), expected)
    assert_same_bits(MultinomialNB().partial_fit(corpus), expected)
    assert_same_bits(
        MultinomialNB().fit(X, y).partial_fit(corpus), MultinomialNB().fit(X, y).partial_fit(X, y, None, weights)
    )
    alphas = [0.01, 0.1, 1.0]
    np.testing.assert_allclose(
        MultinomialNB().loo_score(corpus, alphas=alphas), MultinomialNB().loo_score(X, y, alphas, weights), rtol=1e-14
    )


def test_what_is_no_count_is_refused_before_any_is_counted():
    X, y = text_like()
    model = MultinomialNB().fit(X, y)
    before = model.feature_count_.copy()
    X.data[-1] = -1
    with pytest.raises(ValueError, match="row 59"):
        model.partial_fit(Corpus(X, y))
    np.testing.assert_array_equal(model.feature_count_, before)
    with pytest.raises(ValueError, match="zero for every row"):
        MultinomialNB().fit(Corpus(abs(X), y, sample_weight=np.zeros(60)))


def test_features_come_with_time():
    X, y = text_like()
    grown, knowing = MultinomialNB(grow_features=True), MultinomialNB()
    for number, width in enumerate((7, 5, 12, 13, 30, 21)):
        rows = slice(number * 10, number * 10 + 10)
        narrow = X[rows, :width]
        whole = type(X)((narrow.data, narrow.indices, narrow.indptr), (10, 30))
        grown.partial_fit(narrow if number % 2 else Corpus(narrow, y[rows]), y[rows] if number % 2 else None)
        knowing.partial_fit(whole, y[rows])
        V = grown.n_features_in_
        np.testing.assert_array_equal(grown.feature_count_, knowing.feature_count_[:, :V])
        np.testing.assert_array_equal(grown.predict_proba(X), grown.predict_proba(X[:, :V]))
        assert grown.predict_proba(X[:, :3]).shape == (60, 3)
    np.testing.assert_array_equal(grown.feature_log_prob_, knowing.feature_log_prob_)
    np.testing.assert_array_equal(grown.predict_proba(X), knowing.predict_proba(X))
    with pytest.raises(ValueError, match="grow_features"):
        MultinomialNB(grow_features=True, alpha=np.ones(30)).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        MultinomialNB().fit(X, y).partial_fit(X[:, :7], y)
