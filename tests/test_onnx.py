"""Pipelines as ONNX graphs: what onnxruntime answers is what the models answer, in float32."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import fastlin
from support.model_files import FEW, TARGETS, TEXTS, X, fitted

pytestmark = [
    pytest.mark.peer("skl2onnx"),
    pytest.mark.peer("onnxruntime"),
    pytest.mark.filterwarnings("ignore"),  # of skl2onnx
]
ROWS = X.astype(np.float32)
LABELS = {
    "two": np.arange(90) % 2,
    "three": (X[:, 0] + np.arange(90)).astype(int) % 3,
    "strings": np.array(["a", "b", "ß"])[np.arange(90) % 3],
}
LEARNERS = {
    "logistic": fastlin.LogisticRegression(),
    "logistic, ovr": fastlin.LogisticRegression(multi_class="ovr"),
    "cv": fastlin.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2),
    "log": fastlin.SGDClassifier("log_loss", **FEW),
    "log, ovr": fastlin.SGDClassifier("log_loss", multi_class="ovr", learning_rate="constant", eta0=0.01, **FEW),
    "hinge": fastlin.SGDClassifier(**FEW),
    "huber": fastlin.SGDClassifier("modified_huber", multi_class="ovr", **FEW),
    "svm": fastlin.LinearSVC(random_state=0),
    "perceptron": fastlin.Perceptron(average=True, **FEW),
    "pa": fastlin.PassiveAggressiveClassifier(**FEW),
    "mira": fastlin.MIRAClassifier(**FEW),
    "arow": fastlin.AROWClassifier(**FEW),
    "bayes": fastlin.MultinomialNB(),
    "complement": fastlin.ComplementNB(),
    "bernoulli": fastlin.BernoulliNB(binarize=0.5),
}
DOCUMENTS = [*TEXTS, "Straße über alles, a b c", "", "unseen words", "good NO Fine dog-cat"]


def convert(model, rows):
    import onnxruntime
    from skl2onnx import to_onnx

    from fastlin.onnx import register_converters

    register_converters()
    classifier = hasattr(model, "classes_")
    graph = to_onnx(model, rows, options={"zipmap": False} if classifier else None)
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def answers(session, rows):
    return session.run(None, {session.get_inputs()[0].name: rows})


def are_clear(scores):
    """Which rows have a best label by more than what float32 loses."""
    if scores.ndim == 1:
        return np.abs(scores) > 1e-3
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 1e-3


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_classifier_answers_the_same(name, kind):
    model = fitted(LEARNERS[name], ROWS, LABELS[kind])
    labels, scores = answers(convert(model, ROWS[:1]), ROWS)
    has_probabilities = hasattr(model, "predict_proba") and name != "huber"
    expected = model.predict_proba(ROWS) if has_probabilities else model.decision_function(ROWS)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)
    clear = are_clear(expected)
    assert clear.mean() > 0.5
    assert labels[clear].tolist() == model.predict(ROWS)[clear].tolist()


def test_a_regressor_answers_the_same():
    model = fitted(fastlin.SGDRegressor(**FEW), ROWS, TARGETS)
    (found,) = answers(convert(model, ROWS[:1]), ROWS)
    np.testing.assert_allclose(found.ravel(), model.predict(ROWS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "vectoriser",
    [
        fastlin.CountVectorizer(),
        fastlin.CountVectorizer(ngram_range=(1, 2), binary=True),
        fastlin.CountVectorizer(stop_words="english", min_df=2),
        fastlin.TfidfVectorizer(),
        fastlin.TfidfVectorizer(ngram_range=(1, 3), sublinear_tf=True),
        fastlin.TfidfVectorizer(use_idf=False, norm="l1"),
    ],
    ids=repr,
)
def test_texts_become_the_same_rows_and_labels(vectoriser):
    from skl2onnx.common.data_types import StringTensorType

    labels = np.arange(len(TEXTS)) % 3
    model = fitted(make_pipeline(vectoriser, fastlin.LogisticRegression()), TEXTS, labels)
    texts = np.array(DOCUMENTS, object).reshape(-1, 1)
    session = convert(model, [("text", StringTensorType([None, 1]))])
    found, probabilities = answers(session, texts)
    np.testing.assert_allclose(probabilities, model.predict_proba(DOCUMENTS), rtol=1e-4, atol=1e-5)
    alone = convert(model[0], [("text", StringTensorType([None, 1]))])
    (rows,) = answers(alone, texts)
    np.testing.assert_allclose(rows, model[0].transform(DOCUMENTS).toarray(), rtol=1e-5, atol=1e-6)
    clear = are_clear(model.predict_proba(DOCUMENTS))
    assert found[clear].tolist() == model.predict(DOCUMENTS)[clear].tolist()


@pytest.mark.parametrize(
    "options", [{"negation": True}, {"stop_words": ["no"], "ngram_range": (1, 2)}, {"analyzer": "char"}], ids=str
)
def test_what_the_graph_would_do_otherwise_is_refused(options):
    from skl2onnx.common.data_types import StringTensorType

    model = fitted(fastlin.CountVectorizer(**options), TEXTS)
    with pytest.raises(NotImplementedError, match=next(iter(options))):
        convert(model, [("text", StringTensorType([None, 1]))])
