"""Fits of optima that are interrupted and resumed are the fits that never were, bit for bit."""

import contextlib
import warnings

import numpy as np
import pytest
from scipy import sparse

from fastlin import CandidateClassifier, Corpus, LinearSVC, LogisticRegression
from fastlin.data import corpus as corpora
from support import text_like

LEARNT = ("coef_", "intercept_", "n_iter_", "converged_", "certificate_", "objective_")
SOLVERS = {
    "auto": {"C": 3.0},
    "auto, then newton": {"C": 1e5, "max_iter": 200},
    "newton": {"solver": "newton", "C": 30.0},
    "newton L1": {"solver": "newton", "C": 3.0, "l1_ratio": 0.7},
    "lbfgs": {"solver": "lbfgs"},
    "lbfgs L1": {"solver": "lbfgs", "l1_ratio": 0.5, "penalty": "elasticnet"},
    "gd": {"solver": "gd", "max_iter": 12},
    "cg": {"solver": "cg", "max_iter": 12},
    "gis": {"solver": "gis", "max_iter": 12},
    "iis": {"solver": "iis", "max_iter": 8},
    "sgd": {"solver": "sgd", "max_iter": 8},
    "adagrad": {"solver": "adagrad", "max_iter": 8},
    "observed": {"solver": "lbfgs", "weights": "observed"},
}
MACHINES = {
    "hinge": {"loss": "hinge", "C": 3.0, "max_iter": 12},
    "squared": {},
    "together": {"multi_class": "crammer_singer", "max_iter": 12},
    "together, hinge": {"multi_class": "crammer_singer", "loss": "hinge", "max_iter": 15},
    "without intercept": {"fit_intercept": False},
}
CHOICES = {
    "log loss": {},
    "log loss, lbfgs": {"solver": "lbfgs"},
    "log loss, sgd": {"solver": "sgd", "max_iter": 8},
    "hinge": {"loss": "hinge", "tol": 1e-6, "max_iter": 60},
    "perceptron": {"loss": "perceptron", "average": True, "max_iter": 6},
    "pa": {"loss": "pa", "max_iter": 6},
}


class Interrupted(Exception):
    pass


class Interruption:
    """A callback that raises after so many records."""

    def __init__(self, after):
        self.left = after

    def __call__(self, model, record):
        self.left -= 1
        if self.left < 0:
            raise Interrupted


def quiet(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


def assert_same_fit(one, other):
    for name in LEARNT:
        a, b = getattr(one, name, None), getattr(other, name, None)
        np.testing.assert_equal(a.toarray() if sparse.issparse(a) else a, b.toarray() if sparse.issparse(b) else b)
    assert [{**a, "seconds": 0} for a in one.history_] == [{**b, "seconds": 0} for b in other.history_]


def interrupt_everywhere(make, data, path):
    """Interrupt after each record, and resume each time with the checkpoint; then compare."""
    expected = quiet(make(callback=lambda *_: False), *data)
    last = len(expected.history_) - 1
    for after in sorted({1, min(2, last), last // 2 + 1, last}):
        path.unlink(missing_ok=True)
        with pytest.raises(Interrupted):
            quiet(make(callback=Interruption(after)), *data, checkpoint=path, every=0)
        again = make(callback=lambda *_: False)
        assert_same_fit(quiet(again, *data, checkpoint=path, every=0, resume=True), expected)
    path.unlink(missing_ok=True)
    for _ in range(2 * last):  # by steps of two records
        model = make(callback=Interruption(2))
        with contextlib.suppress(Interrupted):
            quiet(model, *data, checkpoint=path, every=0, resume=True)
            break
    assert_same_fit(model, expected)
    assert path.exists()


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 150)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_goes_on_from_every_iteration(name, n_labels, tmp_path):
    X, y = text_like()
    data = X, y % n_labels if n_labels == 2 else y
    interrupt_everywhere(lambda **more: LogisticRegression(**SOLVERS[name], **more), data, tmp_path / "checkpoint")


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("name", ["auto", "newton", "lbfgs L1", "cg", "gis"])
def test_solvers_on_a_corpus_go_on_from_every_iteration(name, tmp_path):
    corpus = Corpus(*text_like()).write(tmp_path / "corpus")
    assert corpus.n_segments > 1
    interrupt_everywhere(lambda **more: LogisticRegression(**SOLVERS[name], **more), (corpus,), tmp_path / "checkpoint")


@pytest.mark.parametrize("n_labels", [2, 11])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_go_on_from_every_epoch(name, n_labels, tmp_path):
    X, y = text_like(n_labels=n_labels)
    interrupt_everywhere(
        lambda **more: LinearSVC(**MACHINES[name], random_state=3, **more), (X, y), tmp_path / "checkpoint"
    )


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", ["hinge", "together"])
def test_machines_on_a_corpus_go_on_from_every_epoch(name, stored, tmp_path):
    corpus = Corpus(*text_like(n_labels=11))
    corpus = corpus.write(tmp_path / "corpus") if stored else corpus
    interrupt_everywhere(
        lambda **more: LinearSVC(**MACHINES[name], random_state=3, **more), (corpus,), tmp_path / "checkpoint"
    )


@pytest.mark.parametrize("name", CHOICES)
def test_choices_go_on_from_every_iteration(name, tmp_path):
    X, y = text_like()
    data = X, y[:20], [3] * 20
    interrupt_everywhere(
        lambda **more: CandidateClassifier(**CHOICES[name], random_state=1, **more), data, tmp_path / "checkpoint"
    )
