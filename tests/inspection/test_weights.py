"""Strongest features and explanations: what they list is what the model computes with."""

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from fastlin import (
    CategoricalNB,
    CountVectorizer,
    HashingVectorizer,
    KMeans,
    LexiconClassifier,
    LinearSVC,
    LogisticRegression,
    MIRAClassifier,
    MultinomialMixture,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    SemiSupervisedNB,
    SGDClassifier,
    TfidfTransformer,
    TfidfVectorizer,
)
from fastlin.inspection import explain, summary, top_features
from support.estimators import text_like

TEXTS = [
    "a good film with a fine cast", "a bad film, boring and long", "the ball was in the goal", "a fine goal, good ball",
    "not a good film", "the cast was bad", "a long match in rain", "rain, and a boring match", "good cast, fine film",
]  # fmt: skip
THREE = ["up", "down", "sport", "sport", "down", "down", "sport", "sport", "up"]
TWO = [label if label == "sport" else "film" for label in THREE]
ONLINE = {"max_iter": 5, "tol": None, "random_state": 0}
LEARNERS = {
    "logistic": lambda: LogisticRegression(C=10),
    "svm": lambda: LinearSVC(random_state=0),
    "bayes": MultinomialNB,
    "perceptron": lambda: Perceptron(average=True, **ONLINE),
    "pa": lambda: PassiveAggressiveClassifier(**ONLINE),
    "mira": lambda: MIRAClassifier(**ONLINE),
    "sgd": lambda: SGDClassifier(loss="log_loss", dtype="float32", **ONLINE),
}
VECTORISERS = {
    "counts": CountVectorizer,
    "tfidf": lambda: TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
    "hashing": lambda: HashingVectorizer(n_features=64, alternate_sign=False, keep_names=1000),
}


def fitted(learner, vectoriser="counts", labels=THREE):
    return make_pipeline(VECTORISERS[vectoriser](), LEARNERS[learner]()).fit(TEXTS, labels)


def scores_of(model, text):
    """A score a label, as the model gives them; two labels have half of its score each."""
    learner, X = model[-1], model[:-1].transform([text])
    if hasattr(learner, "predict_joint_log_proba"):
        return learner.predict_joint_log_proba(X)[0]
    scores = learner.decision_function(X)
    return scores[0] if scores.ndim == 2 else np.array([-0.5, 0.5]) * scores[0]


@pytest.mark.parametrize("labels", [THREE, TWO], ids=["three labels", "two"])
@pytest.mark.parametrize("vectoriser", VECTORISERS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_features_add_is_the_score(learner, vectoriser, labels):
    model = fitted(learner, vectoriser, labels)
    for text in [*TEXTS, "", "nobody knows these words"]:
        found, scores = explain(model, text), scores_of(model, text)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.intercept + found.contributions.sum(axis=0), scores, rtol=1e-5, atol=1e-5)
        assert found.label == model.predict([text])[0]
        assert found.margin == pytest.approx(np.diff(np.sort(scores)[-2:])[0], abs=1e-5)
        parts = sum(part for _, _, part in found.strongest(1000))
        own, other = (found.classes.index(label) for label in (found.label, found.against))
        assert parts + found.intercept[own] - found.intercept[other] == pytest.approx(found.margin, abs=1e-9)


def test_an_explanation_of_a_label_that_was_not_predicted():
    model = fitted("logistic")
    found = explain(model, "the match, the goal and a good film", "up")
    assert (found.label, found.against) == ("up", "sport")
    assert found.margin < 0
    parts = {name: part for name, _, part in found.strongest()}
    assert parts["goal"] < 0 < parts["film"]


def test_the_features_of_an_explanation_are_those_of_the_document():
    found = explain(fitted("logistic"), "good good rain, unheard of")
    assert dict(zip(found.features, found.values, strict=True)) == {"good": 2.0, "rain": 1.0}


@pytest.mark.parametrize("form", [lambda row: row, lambda row: row.toarray(), lambda row: row.toarray()[0].tolist()])
def test_a_model_without_vectoriser_explains_rows(form):
    X = sparse.random_array((30, 6), density=0.5, rng=np.random.default_rng(0), format="csr")
    model = LogisticRegression().fit(X, np.arange(30) % 3)
    found = explain(model, form(X[[4]]))
    np.testing.assert_allclose(found.scores, model.decision_function(X[[4]])[0], rtol=1e-5)
    assert set(found.features) == {f"x{column}" for column in X[[4]].indices}


def test_a_document_that_no_label_can_produce_gets_the_prior():
    model = make_pipeline(CountVectorizer(), MultinomialNB(alpha=0)).fit(["a word", "other", "other"], [0, 1, 1])
    found = explain(model, "word other")
    assert found.label == model.predict(["word other"])[0] == 1
    assert found.margin == pytest.approx(np.log(2))
    assert all(part == 0 for _, _, part in found.strongest())
    assert np.isfinite([weight for one in top_features(model) for weight in one.weights if weight < np.inf]).all()


def test_the_text_of_an_explanation_counts_what_it_leaves_out():
    text = " ".join(f"word{i}" for i in range(40))
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit([text, "other"], ["a", "b"])
    shown = str(explain(model, text))
    assert "a rather than b: ahead by" in shown
    assert "25 more features" in shown


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_strongest_features_are_the_largest_weights(learner):
    model = fitted(learner)
    names = model[0].get_feature_names_out()
    weights = getattr(model[-1], "feature_log_prob_", None)
    weights = model[-1].coef_ if weights is None else weights - weights.mean(axis=0)
    for row, found in zip(weights, top_features(model, 4), strict=True):
        assert len(found.names) == len(found.weights) <= 4
        assert list(found.weights) == sorted(found.weights, reverse=True)
        np.testing.assert_allclose(found.weights, np.sort(row[row > 0])[::-1][:4], rtol=1e-6)
        for name, weight in zip(found.names, found.weights, strict=True):
            assert row[names.tolist().index(name)] == pytest.approx(weight)


def test_two_labels_share_the_weights():
    model = fitted("svm", labels=TWO)
    film, sport = top_features(model, 1000)
    weights = dict(zip(model[0].get_feature_names_out(), model[-1].coef_[0], strict=True))
    assert dict(zip(sport.names, sport.weights, strict=True)) == {n: w for n, w in weights.items() if w > 0}
    assert dict(zip(film.names, film.weights, strict=True)) == {n: -w for n, w in weights.items() if w < 0}


def test_only_the_labels_asked_for():
    model = fitted("logistic")
    assert [one.label for one in top_features(model, 1, ["up"])] == ["up"]
    assert [one.names for one in top_features(model, 0)] == [(), (), ()]
    with pytest.raises(ValueError, match=r"no label 'upp'; it has down, sport, up"):
        top_features(model, 1, ["upp"])
    with pytest.raises(ValueError, match="no label 'upp'"):
        explain(model, "a film", "upp")


def test_names_of_hashed_features():
    counted = make_pipeline(
        HashingVectorizer(n_features=8, keep_names=1000, norm=None), TfidfTransformer(), Perceptron()
    )
    counted.fit(TEXTS, THREE)
    known = {" | ".join(names) for names in counted[0].names_.values()}
    assert any(" | " in name for name in known)
    found = {name for one in top_features(counted) for name in one.names}
    assert found
    assert found <= known
    nameless = make_pipeline(HashingVectorizer(n_features=8), Perceptron()).fit(TEXTS, THREE)
    assert {name for one in top_features(nameless) for name in one.names} <= {f"x{i}" for i in range(8)}


def test_names_of_a_data_frames_columns():
    X = pandas.DataFrame({"length": [1.0, 2, 3, 4], "age": [4.0, 1, 4, 1]})
    model = LogisticRegression().fit(X, [0, 1, 0, 1])
    assert top_features(model, 1)[0].names == ("age",)


def test_sparse_weights():
    model = make_pipeline(CountVectorizer(), SGDClassifier(penalty="l1", alpha=0.01, **ONLINE)).fit(TEXTS, THREE)
    before = top_features(model), explain(model, TEXTS[0]).scores.tolist()
    model[-1].sparsify()
    after = top_features(model), explain(model, TEXTS[0]).scores.tolist()
    assert before == after
    assert summary(model).nonzero <= summary(model).weights


def test_weights_by_hand():
    lexicon = {"good": {"fine": 1, "good": 2}, "bad": ["bad"]}
    model = LexiconClassifier(lexicon, vectorizer=CountVectorizer()).fit()
    assert {one.label: one.names for one in top_features(model)} == {"bad": ("bad",), "good": ("good", "fine")}
    found = explain(model, "bad, but good")
    assert (found.label, found.against, found.margin) == ("good", "bad", 1.0)


def test_a_summary_names_what_was_chosen():
    model = fitted("sgd", "tfidf")
    found = summary(model)
    assert [part.name for part in found.parts] == ["TfidfVectorizer", "SGDClassifier"]
    assert found.parts[0].parameters == {"ngram_range": (1, 2), "sublinear_tf": True}
    assert found.labels == ("down", "sport", "up")
    assert found.weights == 3 * found.features == 3 * len(model[0].vocabulary_)
    assert found.nonzero == np.count_nonzero(model[-1].coef_)
    assert found.dtype == "float32"
    assert found.bytes == 4 * found.weights
    assert "3: down, sport, up" in str(found)


@pytest.mark.parametrize("model", [CountVectorizer(), LogisticRegression(), object()])
def test_what_is_no_fitted_classifier_is_refused(model):
    for look in (top_features, summary, lambda model: explain(model, "text")):
        with pytest.raises(TypeError, match=r"is not a fitted linear classifier"):
            look(model)


def test_an_explanation_takes_one_document_of_the_models_width():
    model = LogisticRegression().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="one document, got 2 rows"):
        explain(model, np.eye(3)[:2])
    with pytest.raises(ValueError, match="4 features, the model 3"):
        explain(model, [1.0, 0, 0, 0])


# --- models of clusters, of components, of tuples --------------------------------------------------------------------

CLUSTERS = {
    "mixture": MultinomialMixture(2, alpha=0.1, random_state=0),
    "k-means": KMeans(2, random_state=0),
    "spherical": KMeans(2, metric="spherical", random_state=0),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_are_looked_at_as_labels_are(name):
    model = make_pipeline(CountVectorizer(), CLUSTERS[name]).fit(TEXTS)
    names, learner = model[0].get_feature_names_out(), model[-1]
    weights = learner.cluster_centers_ if name != "mixture" else learner.feature_log_prob_
    weights = weights - weights.mean(axis=0) if name == "mixture" else weights
    for number, found in enumerate(top_features(model, 3)):
        assert found.label == number
        np.testing.assert_allclose(found.weights, np.sort(weights[number])[::-1][:3])
        assert [weights[number][names == name] for name in found.names] == list(found.weights)
    assert summary(model).labels == (0, 1)
    assert "clusters  2: 0, 1" in str(summary(model))
    for text in TEXTS:
        found = explain(model, text)
        assert found.label == model.predict([text])[0]
        np.testing.assert_allclose(found.intercept + found.contributions.sum(axis=0), found.scores, atol=1e-12)
        expected = {
            "mixture": lambda row: learner.predict_log_proba(row)[0],
            "k-means": lambda row: -0.5 * learner.transform(row)[0] ** 2,
            "spherical": lambda row: (1 - learner.transform(row)[0]) * np.sqrt(row.power(2).sum()),
        }[name](model[0].transform([text]))
        np.testing.assert_allclose(np.diff(found.scores), np.diff(expected), atol=1e-9)


def test_components_of_labels_are_told_apart():
    some = ["" if place % 4 == 3 else label for place, label in enumerate(TWO)]
    model = make_pipeline(CountVectorizer(), SemiSupervisedNB(components={"film": 2}, random_state=0)).fit(TEXTS, some)
    found = top_features(model, 2)
    assert [one.label for one in found] == ["film/1", "film/2", "sport"]
    logs = model[-1].feature_log_prob_
    assert found[1].weights[0] == pytest.approx((logs - logs.mean(axis=0))[1].max())
    assert summary(model).labels == ("film/1", "film/2", "sport")
    with pytest.raises(TypeError, match="several components"):
        explain(model, TEXTS[0])
    model.set_params(semisupervisednb__components=1).fit(TEXTS, some)
    assert [one.label for one in top_features(model)] == ["film", "sport"]
    assert explain(model, TEXTS[0]).scores.tolist() == pytest.approx(scores_of(model, TEXTS[0]).tolist())


@pytest.mark.parametrize("frame", [False, True])
def test_attributes_of_tuples_have_names(frame):
    X = [("ate", 1, "fork"), ("ate", 0, None), ("saw", 2, "hat"), ("met", 2, "hat")]
    model = CategoricalNB(min_categories=[20, 1, 1]).fit(X, ["v", "n", "n", "n"])
    model.partial_fit([(f"verb {place}", 0, "hat") for place in range(9)], ["n"] * 9)
    columns = ["verb", "n", "noun"] if frame else ["x0", "x1", "x2"]
    if frame:
        model = CategoricalNB().fit(pandas.DataFrame(X, columns=columns), ["v", "n", "n", "n"])
    best = top_features(model, 2)[1]
    assert set(best.names) <= {f"{columns[0]}=ate", f"{columns[1]}=1", f"{columns[2]}=fork"}
    assert summary(model).features == model.n_categories_.sum()
    for row in [*X, ("saw", 1, "unheard of")]:
        found = explain(model, row)
        asked = pandas.DataFrame([row], columns=columns) if frame else [row]
        np.testing.assert_allclose(found.scores, model.predict_joint_log_proba(asked)[0], rtol=1e-12)
        assert {name.split("=")[0] for name in found.features} <= set(columns)
    for wrong in (X, "ate", ("ate", 1)):
        with pytest.raises(ValueError, match="one tuple of 3 attributes"):
            explain(model, wrong)


def test_categories_without_a_name_are_dots():
    model = CategoricalNB(min_categories=3).fit([["a"], ["b"], ["b"]], ["x", "x", "y"])
    assert {name for one in top_features(model) for name in one.names} == {"x0=a", "x0=b", "x0=…"}


def outside(coef):
    coef.indices[:] = 2**31 - 1


def beyond(coef):
    coef.indptr[1:] = 2**27


def falling(coef):
    coef.indptr[1] = -5


def shorter(coef):
    coef.data = coef.data[:-1].copy()


@pytest.mark.parametrize("break_it", [outside, beyond, falling, shorter], ids=lambda break_it: break_it.__name__)
@pytest.mark.parametrize(
    "look",
    [top_features, summary, lambda model: explain(model, np.ones((1, 30)))],
    ids=["top_features", "summary", "explain"],
)
def test_sparse_weights_that_were_broken_by_hand_are_refused(look, break_it):
    model = HandMade(*text_like())
    break_it(model.coef_)
    with pytest.raises(ValueError, match="coef_"):
        look(model)


class HandMade:
    """The attributes that any linear classifier has."""

    def __init__(self, X, y):
        model = SGDClassifier(max_iter=2, tol=None).fit(X, y)
        self.classes_, self.coef_, self.intercept_ = model.classes_, sparse.csr_matrix(model.coef_), model.intercept_

    def predict(self, X):
        raise AssertionError("inspection looks at weights, and asks for no predictions")


@pytest.mark.parametrize(
    "name, value, match",
    [
        ("classes_", np.arange(2), "classes_ holds 2 labels"),
        ("classes_", np.arange(9), "classes_ holds 9 labels"),
        ("intercept_", np.zeros(7), "intercept_ has shape"),
        ("coef_", np.zeros(30), "must be a matrix"),
        ("coef_", np.zeros((2, 30)), "weights have 2 rows"),
    ],
)
def test_attributes_that_were_set_and_do_not_belong_together_are_named(name, value, match):
    model = HandMade(*text_like())
    setattr(model, name, value)
    for look in (top_features, summary, lambda model: explain(model, np.ones((1, 30)))):
        with pytest.raises(ValueError, match=match):
            look(model)


def test_a_document_that_is_a_malformed_row_is_refused():
    model = HandMade(*text_like())
    for form in (sparse.csr_matrix, sparse.csc_array):
        row = form(np.ones((1, 30)))
        row.indices[3] = 2**31 - 1
        with pytest.raises(ValueError, match="document holds index 2147483647"):
            explain(model, row)
