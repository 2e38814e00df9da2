"""Displays draw the numbers of the model that they are given, into the axes that they are given."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from fastlin import (
    Corpus,
    CountVectorizer,
    LogisticRegression,
    LogisticRegressionCV,
    MultinomialMixture,
    SGDClassifier,
)
from fastlin.inspection import report, top_features, transitions
from fastlin.plot import (
    CalibrationDisplay,
    EMBoundDisplay,
    FitHistoryDisplay,
    RegularizationPathDisplay,
    SelectionCurveDisplay,
    TopFeaturesDisplay,
    TransitionsDisplay,
)
from fastlin.select import SelectFeatures
from fastlin.sequence import CRF, HMM, MEMM

mpl.use("agg")
import matplotlib.pyplot as plt

DRAW = np.random.default_rng(0)
X = DRAW.poisson(0.7, (80, 6)).astype(float)
Y = np.array(["bird", "cat", "$dog^"])[np.argmax(X[:, :3] + DRAW.random((80, 3)), axis=1)]
SENTENCES, TAGS = [["the", "dog", "barks"], ["a", "cat", "ran"]], [["D", "N", "V"]] * 2


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]


def test_history_is_that_of_the_fit(ax):
    model = SGDClassifier(max_iter=4, tol=None, random_state=0).fit(X, Y)
    display = FitHistoryDisplay.from_estimator(make_pipeline(None, model), y="loss", ax=ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_.get_color() == "red"
    assert display.line_.get_xdata().tolist() == [1, 2, 3, 4]
    assert display.line_.get_ydata().tolist() == [record["loss"] for record in model.history_]
    again = FitHistoryDisplay.from_estimator(model, x="seconds", y="updates")
    assert again.ax_ is not ax
    assert again.ax_.get_yscale() == "log"


def test_what_a_history_lacks_is_named():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="y='loss' is not in history_, which has iteration"):
        FitHistoryDisplay.from_estimator(model, y="loss")
    with pytest.raises(TypeError, match="CountVectorizer has no history_"):
        FitHistoryDisplay.from_estimator(CountVectorizer().fit(["a text"]))


@pytest.mark.parametrize("value", ["score", "n_nonzero", "objective"])
def test_a_path_is_that_of_the_search(value):
    model = LogisticRegressionCV(Cs=[10.0, 0.1, 1.0], l1_ratios=(0.5, 1.0), cv=2).fit(X, Y)
    display = RegularizationPathDisplay.from_estimator(model, value=value, l1_ratio=1.0)
    assert display.Cs.tolist() == [0.1, 1.0, 10.0]
    expected = [
        [
            record[value]
            for record in sorted(model.path_, key=lambda one: one["C"])
            if record["fold"] == fold and record["l1_ratio"] == 1.0
        ]
        for fold in (0, 1)
    ]
    assert display.values.tolist() == expected
    np.testing.assert_allclose(display.lines_[0].get_ydata(), np.mean(expected, axis=0))
    assert display.best_C == model.C_


@pytest.mark.parametrize("label", ["bird", "cat", None])
def test_weights_along_a_path_are_those_of_the_label(label):
    y = Y if label == "bird" else np.where(Y == "cat", "cat", "dog")
    model = LogisticRegressionCV(Cs=[10.0, 0.1], cv=2).fit(X, y)
    display = RegularizationPathDisplay.from_estimator(
        model, value="coef", label=label, n_features=2, feature_names=list("abcdef")
    )
    place = len(model.classes_) - 1 if label is None else model.classes_.tolist().index(label)
    means = model.coefs_paths_.mean(axis=0)[0, ::-1]  # by C, ascending
    means = means[:, place, :6] if len(model.classes_) > 2 else means[:, 0, :6] * (1 if place else -1)
    best = np.argsort(-np.abs(means).max(axis=0), kind="stable")[:2]
    np.testing.assert_array_equal(display.values, means.T[best])
    assert [line.get_label() for line in display.lines_] == [list("abcdef")[place] for place in best]


def test_the_bound_is_that_of_em():
    model = MultinomialMixture(2, n_init=3, random_state=0).fit(X)
    display = EMBoundDisplay.from_estimator(model, name="mixture")
    assert display.line_.get_ydata().tolist() == model.bound_.tolist()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["mixture", "3 starts"]
    assert len(display.restarts) == 3
    assert max(display.restarts) == model.bound_[-1]


def test_bars_are_the_strongest_features():
    texts, labels = ["good good film", "bad film", "dull, $x^$ text"], ["up", "down", "flat"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)
    display = TopFeaturesDisplay.from_estimator(model, 2)
    for panel, found in zip(display.ax_, top_features(model, 2), strict=True):
        assert panel.get_title() == found.label
        assert [each.get_text() for each in panel.get_yticklabels()] == list(found.names)
        assert [each.get_width() for each in panel.patches] == list(found.weights)
    one = TopFeaturesDisplay.from_estimator(model, 2, labels=["up"])
    assert one.ax_.get_title() == "up"
    with pytest.raises(ValueError, match="as many axes as there are labels, 3; got 1"):
        TopFeaturesDisplay.from_estimator(model, ax=one.ax_)


@pytest.mark.parametrize("model", [CRF(), HMM()], ids=lambda one: type(one).__name__)
def test_a_heat_map_is_the_transitions(model):
    model.fit(SENTENCES, TAGS)
    display = TransitionsDisplay.from_estimator(model)
    np.testing.assert_array_equal(np.asarray(display.im_.get_array()), transitions(model).weights)
    assert [each.get_text() for each in display.ax_.get_xticklabels()] == ["D", "N", "V"]


def test_order_2_has_no_matrix():
    with pytest.raises(ValueError, match="these are of order 2"):
        TransitionsDisplay.from_estimator(MEMM(order=2).fit(SENTENCES, TAGS))


def test_a_selection_is_drawn_round_by_round():
    model = SelectFeatures(n_features=3).fit(X, Y)
    display = SelectionCurveDisplay.from_estimator(model, value="gain")
    assert display.line_.get_ydata().tolist() == [record["gain"] for record in model.history_]
    with pytest.raises(ValueError, match="value='accuracy' is not in the rounds"):
        SelectionCurveDisplay.from_estimator(model, value="accuracy")


def test_calibration_is_that_of_the_report(tmp_path):
    model = LogisticRegression(C=10).fit(X, Y)
    display = CalibrationDisplay.from_estimator(model, X, Y)
    expected = report(Y, model.predict(X), model.predict_proba(X), model.classes_)
    assert display.report == expected
    assert display.line_.get_ydata().tolist() == [one.accuracy for one in expected.calibration]
    corpus = Corpus(X, Y).write(tmp_path / "rows")
    beside = CalibrationDisplay.from_estimator(model, corpus, ax=display.ax_)
    assert beside.report == expected
    assert len(display.ax_.lines) == 3  # two curves and one diagonal


def test_calibration_needs_labels_and_probabilities():
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="y is missing"):
        CalibrationDisplay.from_estimator(model, X)
    with pytest.raises(TypeError, match="SGDClassifier has no predict_proba"):
        CalibrationDisplay.from_estimator(SGDClassifier().fit(X, Y), X, Y)
    with pytest.raises(TypeError, match="MultinomialMixture has no classes_"):
        CalibrationDisplay.from_estimator(MultinomialMixture(2, random_state=0).fit(X), X, Y)
    with pytest.raises(ValueError, match="without probabilities"):
        CalibrationDisplay(report(Y, model.predict(X)))


def test_without_matplotlib_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install fastlin\[plot\]"):
        EMBoundDisplay(np.zeros(2)).plot()


def test_every_display_draws_text_that_looks_like_mathematics():
    texts, labels = ["$a_ ^b", "c $d$"], ["$x^", "y$_"]
    model = make_pipeline(CountVectorizer(token_pattern=r"\S+"), LogisticRegression()).fit(texts, labels)
    display = TopFeaturesDisplay.from_estimator(model, 3)
    display.figure_.canvas.draw()
    tags = TransitionsDisplay.from_estimator(CRF().fit([["a", "b"]], [["$x^", "$_y"]]))
    tags.figure_.canvas.draw()
