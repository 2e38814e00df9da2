"""Twins of scikit-learn's classes: they predict what the models predict, and need no fastlin."""

import pickle
import pickletools

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import fastlin
from fastlin import select
from fastlin.interchange import to_sklearn
from support.model_files import (
    ANSWERS,
    BATCH,
    CENTROIDS,
    CODES,
    COUNTED,
    DICTS,
    FEW,
    INDICATOR,
    ONLINE,
    REGRESSORS,
    TARGETS,
    TEXTS,
    X,
    fitted,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # few iterations; scikit-learn's of indicators and old parameters
CLASSIFIERS = {
    **{name: model for name, model in (ONLINE | BATCH | COUNTED | CENTROIDS).items() if "categories" not in name},
    "logistic, ovr": fastlin.LogisticRegression(multi_class="ovr"),
    "log, ovr": fastlin.SGDClassifier("log_loss", multi_class="ovr", **FEW),
    "huber, ovr": fastlin.SGDClassifier("modified_huber", multi_class="ovr", **FEW),
    "sparse weights": fastlin.LogisticRegression(weights="sparse", l1_ratio=1.0, C=0.1),
    "semi": fastlin.SemiSupervisedNB(),
    "priors": fastlin.NearestCentroid(priors="empirical"),
}
TARGETS_OF = {
    "two": CODES % 2,
    "four": CODES,
    "strings": np.array(["a", "b", "ß", "x"])[CODES],
    "indicator": np.column_stack([CODES % 2, CODES > 1, CODES == 2]).astype(int),
    "sparse indicator": INDICATOR,
}
# learners of rows that have one label, and weights by label that another target does not have
NOT_LEARNT = {"mira", "arow", "semi", "priors", "cv", "svm, warm", "observed", "sparse weights", *CENTROIDS}
NOT_LEARNT |= {"pegasos, strings"}
OF_TEXTS = {
    "counts": make_pipeline(fastlin.CountVectorizer(ngram_range=(1, 2), stop_words="english"), fastlin.MultinomialNB()),
    "tfidf": make_pipeline(fastlin.TfidfVectorizer(sublinear_tf=True), fastlin.LogisticRegression()),
    "tf": make_pipeline(fastlin.TfidfVectorizer(use_idf=False, norm="l1", analyzer="char"), fastlin.LinearSVC()),
    "given": make_pipeline(fastlin.TfidfVectorizer(vocabulary=["dog", "cat", "fine"]), fastlin.ComplementNB()),
    "steps": make_pipeline(fastlin.CountVectorizer(), fastlin.TfidfTransformer(), fastlin.Perceptron()),
    "hashing": make_pipeline(fastlin.HashingVectorizer(n_features=64, n_jobs=2), "passthrough", fastlin.LinearSVC()),
    "names": make_pipeline(fastlin.HashingVectorizer(n_features=64, keep_names=9), fastlin.SGDClassifier(**FEW)),
    "union": make_pipeline(
        make_union(fastlin.CountVectorizer(), fastlin.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3))),
        select.CountCutoff(min_rows=2), MaxAbsScaler(), fastlin.LogCountRatio(), fastlin.LogisticRegression(C=10),
    ),
    "selected": make_pipeline(
        fastlin.CountVectorizer(), select.SelectFeatures(n_features=3, method="chi2"), fastlin.LogisticRegression()
    ),
    "search": GridSearchCV(
        make_pipeline(fastlin.TfidfVectorizer(), fastlin.LogisticRegression()), {"logisticregression__C": [1, 9]}, cv=2
    ),
}  # fmt: skip
UNSEEN = [*TEXTS[:9], "Straße über ALLES, a b c", "", "unseen words", "good NO Fine dog-cat"]


def assert_same_answers(model, twin, rows):
    """Labels and values to the bit or rounding, and whatever scores both have."""
    expected, found = model.predict(rows), twin.predict(rows)
    assert sp.issparse(expected) == sp.issparse(found)
    if sp.issparse(expected):
        expected, found = expected.toarray(), found.toarray()
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(twin.classes_, model.classes_)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if rounds(model) else {"rtol": 1e-9, "atol": 1e-12}
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            np.testing.assert_allclose(getattr(twin, method)(rows), getattr(model, method)(rows), **tolerance)


def without_fastlin(twin):
    """The twin from a pickle that names nothing of fastlin's."""
    pickled = pickle.dumps(twin)
    strings = [argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)]
    assert not [text for text in strings if text.startswith("fastlin")]
    return pickle.loads(pickled)


def rounds(model):
    """Whether scores are those of weights of 32 bits."""
    return getattr(model, "dtype", None) == "float32"


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_s_twin_answers_the_same(name):
    for kind, target in TARGETS_OF.items():
        if (name if "indicator" in kind else f"{name}, {kind}") in NOT_LEARNT:
            continue
        model = fitted(CLASSIFIERS[name], X, target)
        twin = to_sklearn(model)
        assert type(twin).__module__.startswith("sklearn.")
        assert_same_answers(model, twin, X)
        assert_same_answers(model, twin, sp.csr_array(X))


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_s_twin_answers_the_same(name):
    targets = [TARGETS, np.column_stack([TARGETS, TARGETS**2])] if name == "ridge" else [TARGETS]
    for target in targets:
        model = fitted(REGRESSORS[name], X, target)
        assert_same_answers(model, to_sklearn(model), X)


@pytest.mark.parametrize("name", OF_TEXTS)
def test_the_twin_of_a_pipeline_answers_the_same_without_fastlin(name):
    model = OF_TEXTS[name].fit(TEXTS, ANSWERS)
    twin = to_sklearn(model)
    assert_same_answers(model, twin, UNSEEN)
    assert_same_answers(model, without_fastlin(twin), UNSEEN)


def test_dicts_and_columns_of_a_frame_have_twins():
    for vectoriser in (fastlin.DictVectorizer(), fastlin.FeatureHasher(32)):
        model = make_pipeline(vectoriser, fastlin.LogisticRegression()).fit(DICTS, CODES[:20])
        assert_same_answers(model, to_sklearn(model), DICTS)
    frame = pandas.DataFrame({"text": TEXTS, "n": np.arange(40.0)})
    columns = ColumnTransformer([("text", fastlin.TfidfVectorizer(), "text"), ("n", StandardScaler(), ["n"])])
    model = make_pipeline(columns, fastlin.LogisticRegression()).fit(frame, ANSWERS)
    assert_same_answers(model, without_fastlin(to_sklearn(model)), frame)


def test_a_twin_shares_nothing_that_the_model_changes():
    model = fitted(ONLINE["log"], X, CODES)
    twin = to_sklearn(model)
    before = twin.decision_function(X)
    model.partial_fit(X, CODES)
    np.testing.assert_array_equal(twin.decision_function(X), before)
    assert not np.allclose(model.decision_function(X), before)


@pytest.mark.parametrize(
    "model, rows, target, words",
    [
        (fastlin.KMeans(2), X, None, "KMeans"),
        (fastlin.CountVectorizer(negation=True), TEXTS, None, "negation"),
        (fastlin.TfidfVectorizer(prefixes=(2,)), TEXTS, None, "prefixes"),
        (fastlin.MultinomialNB(alpha=0.0), np.eye(4), [0, 1, 2, 2], "alpha=0"),
        (fastlin.LogCountRatio(), X, CODES, "more than two"),
        (fastlin.SemiSupervisedNB(components=2), X, CODES, "components"),
        (OneVsRestClassifier(fastlin.LinearSVC()), X, CODES, "OneVsRestClassifier"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_counterpart_is_refused(model, rows, target, words):
    with pytest.raises(TypeError, match=words):
        to_sklearn(model.fit(rows, target))
