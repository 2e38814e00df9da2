"""Checkpoints: what was saved comes back to the same fit, and to no other."""

import numpy as np
import pytest

from fastlin import Corpus, LinearSVC, LogisticRegression, storage

STATE = {
    "loss": float("inf"),
    "best": float("nan"),
    "history": [{"epoch": 1}],
    "pair": (1, b"x"),
    "kind": np.float32(1),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def corpus(seed=0, n=20):
    rng = np.random.default_rng(seed)
    return Corpus(rng.poisson(1.0, (n, 5)).astype(float), rng.integers(0, 2, n))


def identity(data=None, model=None, **more):
    return storage.identity(model or LogisticRegression(), data or corpus(), **more)


def test_a_state_comes_back(path):
    assert storage.Checkpoint(path, 0, True, identity()).load() is None
    storage.Checkpoint(path, 0, False, identity()).save(STATE, {"w": np.arange(3.0)})
    header, arrays = storage.Checkpoint(path, 0, True, identity()).load()
    assert repr(header) == repr(STATE)
    arrays["w"] += 1  # memory of its own
    assert arrays["w"].tolist() == [1, 2, 3]
    assert storage.Checkpoint(path, 0, False, identity()).load() is None


def test_it_is_due_when_the_time_has_passed(path):
    assert storage.Checkpoint(path, 0.0, False, {}).due()
    assert not storage.Checkpoint(path, 1000, False, {}).due()
    never = storage.Checkpoint(None, 0, False, {})
    never.save({}, {})
    assert not never.due()
    assert never.load() is None


@pytest.mark.parametrize(
    "other, message",
    [
        (identity(model=LogisticRegression(C=2.0)), "parameters C was 1.0, now 2.0"),
        (identity(corpus(1)), "data"),
        (identity(Corpus(corpus().to_memory()[0] * 2, corpus().to_memory()[1])), "data first segment was"),
        (identity(corpus(n=21)), r"data shape was \(20, 5\), now \(21, 5\)"),
        (identity(coef_init=np.ones(3)), "arguments coef_init was None"),
        (identity() | {"estimator": "Perceptron"}, "estimator was LogisticRegression, now Perceptron"),
        (identity() | {"version": 0}, "version was 1, now 0"),
    ],
)
def test_another_fit_is_an_error_that_says_what_differs(path, other, message):
    storage.Checkpoint(path, 0, False, identity()).save({}, {})
    with pytest.raises(ValueError, match=message) as raised:
        storage.Checkpoint(path, 0, True, other).load()
    assert not isinstance(raised.value, storage.ModelFileError)


def test_of_another_estimator_only_that_is_said(path):
    storage.Checkpoint(path, 0, False, identity()).save({}, {})
    with pytest.raises(ValueError, match=r"of another fit: estimator was LogisticRegression, now LinearSVC$"):
        storage.Checkpoint(path, 0, True, identity(model=LinearSVC())).load()


def test_what_may_differ_may(path):
    one = identity(model=LogisticRegression(max_iter=3, tol=1e-3, n_jobs=1))
    assert one == identity(model=LogisticRegression(max_iter=300, n_jobs=2, verbose=1, callback=print))


def test_a_damaged_or_other_file_is_a_model_file_error(path):
    path.write_bytes(b"nothing")
    with pytest.raises(storage.ModelFileError, match=r"fit\.checkpoint"):
        storage.Checkpoint(path, 0, True, {}).load()
    storage.write_archive(path, "checkpoint", {"identity": {"float": 7}}, {})
    with pytest.raises(storage.ModelFileError, match=r"fit\.checkpoint"):
        storage.Checkpoint(path, 0, True, {}).load()


@pytest.mark.parametrize(
    "arguments, error",
    [
        ((None, 1, True, {}), ValueError),
        (("x", -1, False, {}), ValueError),
        (("x", float("nan"), False, {}), ValueError),
        (("x", "1", False, {}), TypeError),
        (("x", 1, "yes", {}), TypeError),
        ((5, 1, False, {}), TypeError),
        (("/nowhere/x", 1, False, {}), FileNotFoundError),
    ],
)
def test_arguments_are_checked(arguments, error):
    with pytest.raises(error):
        storage.Checkpoint(*arguments)


def test_a_place_where_no_file_can_be_is_refused_before_the_fit(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", ""):  # "" is where one is
        with pytest.raises(IsADirectoryError, match=r"checkpoint=.* is a folder"):
            storage.Checkpoint(path, 60, False, {})
    with pytest.raises(TypeError, match="checkpoint must be a path or None, got 5"):
        storage.Checkpoint(5, 60, False, {})
    monkeypatch.setattr(storage.checkpoint_files.os, "access", lambda *_: False)  # which root is never told
    with pytest.raises(PermissionError, match=r"checkpoint=.*no file can be written in the folder"):
        storage.Checkpoint(tmp_path / "c", 60, False, {})
    assert not storage.Checkpoint(tmp_path / "c", float("inf"), True, {}).due()  # only to be read


def test_values_that_do_not_go_into_a_file_are_named(path):
    with pytest.raises(TypeError, match=r"header\.x: object"):
        storage.Checkpoint(path, 0, False, {}).save({"x": object()}, {})
    assert not path.exists()
