"""Fits of optima that are interrupted and resumed are the fits that never were, bit for bit."""

import contextlib
import warnings

import numpy as np
import pytest
from scipy import sparse

from fastlin import CandidateClassifier, Corpus, LinearSVC, LogisticRegression
from fastlin.data import corpus as corpora
from fastlin.storage import ModelFileError, read_archive, write_archive
from fastlin.storage.json_values import decode, encode
from support.estimators import refused, text_like
from support.kills import check_kills

LEARNT = ("coef_", "intercept_", "n_iter_", "converged_", "certificate_", "objective_")
SOLVERS = {
    "auto": {"C": 3.0},
    "auto, then newton": {"C": 1e5, "max_iter": 200},
    "auto L1": {"C": 30.0, "penalty": "l1"},
    "auto group": {"C": 30.0, "penalty": "group"},
    "auto, elastic net": {"C": 3.0, "l1_ratio": 0.5},
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
            quiet(make(callback=Interruption(after)), *data, checkpoint=path, checkpoint_interval=0)
        again = make(callback=lambda *_: False)
        assert_same_fit(quiet(again, *data, checkpoint=path, checkpoint_interval=0, resume=True), expected)
    path.unlink(missing_ok=True)
    for _ in range(2 * last):  # by steps of two records
        model = make(callback=Interruption(2))
        with contextlib.suppress(Interrupted):
            quiet(model, *data, checkpoint=path, checkpoint_interval=0, resume=True)
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


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("name", CHOICES)
def test_choices_of_a_corpus_go_on_from_every_iteration(name, tmp_path):
    X, _ = text_like()
    corpus = Corpus(X, [0, 1, 0] * 20, group_sizes=[3] * 20).write(tmp_path / "corpus")
    assert corpus.n_segments > 1
    interrupt_everywhere(
        lambda **more: CandidateClassifier(**CHOICES[name], random_state=1, **more), (corpus,), tmp_path / "checkpoint"
    )


def test_auto_goes_on_with_newton():
    model = quiet(LogisticRegression(**SOLVERS["auto, then newton"]), *text_like())
    assert {"epochs" in record for record in model.history_} == {True, False}


def test_a_fit_may_go_on_for_longer_than_it_was_asked_for(tmp_path):
    X, y = text_like()
    for make, few in ((LogisticRegression, {"solver": "lbfgs"}), (LinearSVC, {"random_state": 0})):
        path = tmp_path / make.__name__
        quiet(make(max_iter=3, **few), X, y, checkpoint=path, checkpoint_interval=0)
        assert_same_fit(make(**few).fit(X, y, checkpoint=path, resume=True), make(**few).fit(X, y))


def test_a_corpus_of_one_segment_and_rows_in_memory_have_one_checkpoint(tmp_path):
    X, y = text_like()
    quiet(LogisticRegression(max_iter=2, solver="newton"), X, y, checkpoint=tmp_path / "c", checkpoint_interval=0)
    model = LogisticRegression(solver="newton").fit(Corpus(X, y), checkpoint=tmp_path / "c", resume=True)
    assert_same_fit(model, LogisticRegression(solver="newton").fit(X, y))


def test_threads_may_differ(tmp_path):
    X, y = text_like(n_labels=11)
    quiet(LinearSVC(max_iter=2, random_state=0), X, y, checkpoint=tmp_path / "c", checkpoint_interval=0)
    model = LinearSVC(random_state=0, n_jobs=2).fit(X, y, checkpoint=tmp_path / "c", resume=True)
    assert_same_fit(model, LinearSVC(random_state=0).fit(X, y))


@pytest.mark.parametrize("make", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize(
    "change, match",
    [
        ({"C": 2.0}, "C was 1.0, now 2.0"),
        ({"X": 1}, "segment"),
        ({"y": 1}, "labels"),
        ({"sample_weight": 1}, "weighted"),
        ({"class_weight": {0: 2.0}}, "class_weight"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(make, change, match, tmp_path):
    X, y = text_like()
    quiet(make(random_state=0), X, y, checkpoint=tmp_path / "c", checkpoint_interval=0)
    model = make(random_state=0, **{name: change[name] for name in ("C", "class_weight") if name in change})
    data = {"X": X[:, ::-1] if "X" in change else X, "y": y[::-1] if "y" in change else y}
    data |= {"sample_weight": np.ones(60)} if "sample_weight" in change else {}
    with refused(model, ValueError, match=match):
        model.fit(**data, checkpoint=tmp_path / "c", resume=True)


def test_a_checkpoint_of_another_estimator_or_solver_is_refused(tmp_path):
    X, y = text_like()
    LogisticRegression().fit(X, y, checkpoint=tmp_path / "c", checkpoint_interval=0)
    for model, match in ((LinearSVC(), "estimator"), (LogisticRegression(solver="lbfgs"), "solver")):
        with refused(model, ValueError, match=match):
            model.fit(X, y, checkpoint=tmp_path / "c", resume=True)
    quiet(LogisticRegression(warm_start=True), X, y, checkpoint=tmp_path / "c", checkpoint_interval=0)
    model = LogisticRegression(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="coef_"):  # it would begin elsewhere
        model.fit(X, y, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"resume": True}, "resume=True needs checkpoint"),
        ({"resume": 1, "checkpoint": "x"}, "resume"),
        ({"checkpoint_interval": -1, "checkpoint": "x"}, "checkpoint_interval"),
    ],
)
@pytest.mark.parametrize("make", [LogisticRegression, LinearSVC])
def test_bad_options_are_refused(make, options, match):
    with refused(model := make(), match=match):
        model.fit(*text_like(), **options)


# --- damage ----------------------------------------------------------------------------------------------------------

DAMAGED = {
    "auto": lambda: LogisticRegression(max_iter=6),
    "newton": lambda: LogisticRegression(solver="newton"),
    "lbfgs": lambda: LogisticRegression(solver="lbfgs", max_iter=12),
    "cg": lambda: LogisticRegression(solver="cg", max_iter=4),
    "sgd": lambda: LogisticRegression(solver="sgd", max_iter=4),
    "SVM": lambda: LinearSVC(random_state=0, max_iter=3),
}


def check_damage(make, path, n, seed):
    """Of a checkpoint in which some bytes differ, either nothing is taken or what was meant."""
    X, y = text_like()
    expected = quiet(make(), X, y, checkpoint=path, checkpoint_interval=0)
    whole, rng = path.read_bytes(), np.random.default_rng(seed)
    for _ in range(n):
        kind, place = rng.integers(4), int(rng.integers(len(whole)))
        other = int(rng.integers(len(whole)))
        path.write_bytes(
            [
                whole[:place],
                whole[:place] + bytes([whole[place] ^ 1 << int(rng.integers(8))]) + whole[place + 1 :],
                whole[:place] + whole[other : other + 64] + whole[place + 64 :],
                whole[:place] + rng.bytes(int(rng.integers(1, 40))) + whole[place:],
            ][kind]
        )
        try:
            model = quiet(make(), X, y, checkpoint=path, checkpoint_interval=1000, resume=True)
        except ValueError:
            continue
        assert_same_fit(model, expected)


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_checkpoint_is_refused(name, tmp_path):
    check_damage(DAMAGED[name], tmp_path / "checkpoint", 50, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_checkpoint_is_refused_however_it_is_damaged(name, seed, tmp_path):
    check_damage(DAMAGED[name], tmp_path / "checkpoint", 200, seed + 1)


@pytest.mark.parametrize("name", [name for name in DAMAGED if name != "sgd"])  # test_online_checkpoints.py has that
def test_what_a_checkpoint_says_is_proved(name, tmp_path):
    X, y = text_like()
    path = tmp_path / "checkpoint"
    quiet(DAMAGED[name](), X, y, checkpoint=path, checkpoint_interval=0)
    header, arrays = read_archive(path, "checkpoint", mmap=False)
    state = decode(header["state"])

    def refuse(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        with refused(model := DAMAGED[name](), ModelFileError):
            quiet(model, X, y, checkpoint=path, resume=True)

    for key, array in arrays.items():
        refuse(state, {other: value for other, value in arrays.items() if other != key})
        refuse(state, arrays | {key: array.reshape(-1)[1:]})
        if array.dtype.kind == "f" and array.size:
            refuse(state, arrays | {key: np.full_like(array, np.nan)})
            refuse(state, arrays | {key: array.astype(np.float16)})
    for key in set(state) - {"solver", "epochs"}:
        refuse({other: value for other, value in state.items() if other != key}, arrays)
        refuse(state | {key: "nothing"}, arrays)


# --- kill -9 ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
import numpy as np
from fastlin import Corpus, LinearSVC, LogisticRegression
from fastlin.data import corpus
from fastlin.storage import ModelFileError, read_archive, write_archive
from fastlin.storage.json_values import decode, encode
from support.estimators import refused, text_like
corpus.SEGMENT = 20000
X, y = text_like(n_rows=4000, n_features=300, n_labels=5, density=0.1)
model = LinearSVC(random_state=0, tol=1e-9, max_iter=60)
if sys.argv[1] != "SVM":
    model = LogisticRegression(solver=sys.argv[1], C=30, tol=1e-7, max_iter=40)
warnings.simplefilter("ignore")
model.fit(Corpus(X, y), checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
history = [record.get("objective", record.get("gap")) for record in model.history_]
np.savez(sys.argv[3], coef=model.coef_, intercept=model.intercept_, history=history)
"""


@pytest.mark.parametrize("kind", ["SVM", "lbfgs"])
def test_kill_9_and_resume(kind, tmp_path):
    check_kills(SCRIPT, kind, (0.05,), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SVM", "auto", "newton", "lbfgs", "cg"])
@pytest.mark.parametrize("seed", range(4))
def test_kill_9_at_random_times_and_resume(kind, seed, tmp_path):
    check_kills(SCRIPT, kind, np.random.default_rng(seed).uniform(0, 0.3, 5), tmp_path)
