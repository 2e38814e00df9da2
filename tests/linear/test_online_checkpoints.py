"""A fit killed at any time and resumed is the fit that was never killed, bit for bit."""

import itertools

import numpy as np
import pytest

from fastlin import Corpus, SGDClassifier
from fastlin.data import corpus as corpora
from fastlin.optim import epochs
from fastlin.storage import ModelFileError
from support.estimators import ONLINE_OPTIONS, assert_same_bits, make_option, refused, text_like
from support.kills import check_kills

every_option = pytest.mark.parametrize("name", ONLINE_OPTIONS)


class Killed(BaseException):
    pass


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 50)


def killed_after(monkeypatch, n_calls, fit):
    """Run `fit` until the kernel has been called so often."""
    kernel, calls = epochs.online.run, []

    def dying(*arguments):
        if len(calls) == n_calls:
            raise Killed
        calls.append(arguments)
        return kernel(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(epochs.online, "run", dying)
        with pytest.raises(Killed):
            fit()


def assert_same_run(one, other):
    assert_same_bits(one, other)
    assert (one.n_iter_, one.converged_, one.t_) == (other.n_iter_, other.converged_, other.t_)
    assert [{**a, "seconds": 0} for a in one.history_] == [{**b, "seconds": 0} for b in other.history_]
    X, y = text_like(seed=5)
    one, other = (model.set_params(early_stopping=False).partial_fit(X, y) for model in (one, other))
    assert_same_bits(one, other)  # and so is the generator


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("kind", ["memory", "corpus", "stored"])
@every_option
def test_a_fit_goes_on_from_its_last_checkpoint(name, kind, monkeypatch, tmp_path):
    X, y = text_like()
    data = (X, y) if kind == "memory" else (Corpus(X, y),)
    data = (data[0].write(tmp_path / "corpus"),) if kind == "stored" else data
    options = {"shuffle": True, "random_state": 3, "max_iter": 4}
    expected, path = make_option(name, **options).fit(*data), tmp_path / "checkpoint"
    for n_calls in (2,) if kind == "memory" else (1, 7, 15):
        killed_after(
            monkeypatch,
            n_calls,
            lambda: make_option(name, **options).fit(*data, checkpoint=path, checkpoint_interval=0, resume=True),
        )
    assert path.exists()
    model = make_option(name, **options).fit(*data, checkpoint=path, checkpoint_interval=0, resume=True)
    assert_same_run(model, expected)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("kind", ["memory", "corpus"])
@pytest.mark.parametrize("name", ["averaged perceptron", "log loss", "MIRA"])
def test_what_decides_when_to_stop_is_in_the_checkpoint(name, kind, monkeypatch, tmp_path):
    X, y = text_like(n_rows=90)
    data = (X, y) if kind == "memory" else (Corpus(X, y),)
    options = {"early_stopping": True, "validation_fraction": 0.3, "max_iter": 50, "tol": 0.01, "shuffle": True}
    options |= {"random_state": 1, "n_iter_no_change": 3}
    expected, path = make_option(name, **options).fit(*data), tmp_path / "checkpoint"
    assert 3 < expected.n_iter_ < 50
    for n_calls in (2, 1) if kind == "memory" else (20, 5):
        killed_after(
            monkeypatch,
            n_calls,
            lambda: make_option(name, **options).fit(*data, checkpoint=path, checkpoint_interval=0, resume=True),
        )
    assert_same_run(make_option(name, **options).fit(*data, checkpoint=path, resume=True), expected)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("kind", ["memory", "corpus"])
def test_labels_that_have_stopped_are_in_the_checkpoint(kind, monkeypatch, tmp_path):
    X, y = text_like(n_labels=6, n_rows=90, seed=3)
    data = (X, y) if kind == "memory" else (Corpus(X, y),)
    options = {"multi_class": "ovr", "max_iter": 50, "tol": 0.003, "n_iter_no_change": 2, "random_state": 1}
    one_by_one, path = [], tmp_path / "checkpoint"

    def note(model, _):
        one_by_one.append(model.coef_.copy())

    expected = SGDClassifier(alpha=0.02, **options).fit(*data)
    SGDClassifier(alpha=0.02, callback=note, **options).fit(*data)
    rested = [int((a == b).all(axis=1).sum()) for a, b in itertools.pairwise(one_by_one)]
    assert 0 < rested[-2] < 6, rested  # labels that had stopped some epochs before the end
    n_calls = len(one_by_one) - 1 if kind == "memory" else 2 * len(one_by_one) - 3
    killed_after(
        monkeypatch,
        n_calls,
        lambda: SGDClassifier(alpha=0.02, **options).fit(*data, checkpoint=path, checkpoint_interval=0),
    )
    model = SGDClassifier(alpha=0.02, **options).fit(*data, checkpoint=path, resume=True)
    assert_same_run(model, expected)


def test_an_adaptive_rate_is_in_the_checkpoint(monkeypatch, tmp_path):
    X, y = text_like()
    options = {"learning_rate": "adaptive", "eta0": 0.5, "tol": 0.01, "n_iter_no_change": 2, "max_iter": 200}
    options |= {"shuffle": True, "random_state": 0}
    expected, path = SGDClassifier(**options).fit(X, y), tmp_path / "checkpoint"
    killed_after(monkeypatch, 12, lambda: SGDClassifier(**options).fit(X, y, checkpoint=path, checkpoint_interval=0))
    assert_same_run(SGDClassifier(**options).fit(X, y, checkpoint=path, resume=True), expected)


def test_a_fit_may_go_on_for_longer_than_it_was_asked_for(tmp_path):
    X, y = text_like()
    path = tmp_path / "checkpoint"
    SGDClassifier(max_iter=2, tol=None, random_state=0).fit(X, y, checkpoint=path, checkpoint_interval=0)
    longer = SGDClassifier(max_iter=5, tol=None, random_state=0)
    model = longer.fit(X, y, checkpoint=path, resume=True)
    assert_same_run(model, SGDClassifier(max_iter=5, tol=None, random_state=0).fit(X, y))


def test_without_a_file_resume_begins_and_without_resume_a_file_is_no_matter(tmp_path):
    X, y = text_like()
    expected = make_option("log loss").fit(X, y)
    path = tmp_path / "checkpoint"
    assert_same_run(make_option("log loss").fit(X, y, checkpoint=path, checkpoint_interval=0, resume=True), expected)
    path.write_bytes(b"nothing")
    assert_same_run(
        make_option("log loss").fit(X, y, checkpoint=path, checkpoint_interval=0), make_option("log loss").fit(X, y)
    )
    path.unlink()
    make_option("log loss").fit(X, y, checkpoint=path, checkpoint_interval=1000)
    assert not path.exists()


@pytest.mark.parametrize(
    "change, match",
    [
        ({"alpha": 0.5}, "alpha"),
        ({"loss": "hinge"}, "loss"),
        ({"X": 1}, "segment"),
        ({"y": 1}, "labels"),
        ({"sample_weight": 1}, "weights was"),
        ({"coef_init": 1}, "coef"),
        ({"corpus": 1}, "segments"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(change, match, tmp_path):
    X, y = text_like()
    path = tmp_path / "checkpoint"
    make_option("log loss").fit(X, y, checkpoint=path, checkpoint_interval=0)
    model = make_option("log loss", **{name: change[name] for name in ("alpha", "loss") if name in change})
    data = {"X": X[:, ::-1] if "X" in change else X, "y": y[::-1] if "y" in change else y}
    data |= {"sample_weight": np.ones(60)} if "sample_weight" in change else {}
    data |= {"coef_init": np.ones((3, 30))} if "coef_init" in change else {}
    if "corpus" in change:
        data = {"X": Corpus(X, y)}
    with refused(model, ValueError, match=match):
        model.fit(**data, checkpoint=path, resume=True)


@pytest.mark.parametrize("name", ["averaged perceptron", "FTRL"])
def test_a_damaged_checkpoint_is_refused(name, tmp_path):
    X, y = text_like()
    path = tmp_path / "checkpoint"
    make_option(name).fit(X, y, checkpoint=path, checkpoint_interval=0)
    whole = path.read_bytes()
    for wrong in (b"", whole[: len(whole) // 2], whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:]):
        path.write_bytes(wrong)
        with refused(model := make_option(name), ModelFileError):
            model.fit(X, y, checkpoint=path, resume=True)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"resume": True}, "resume=True needs checkpoint"),
        ({"resume": "yes", "checkpoint": "x"}, "resume"),
        ({"checkpoint_interval": -1, "checkpoint": "x"}, "checkpoint_interval"),
    ],
)
def test_bad_options_are_refused(options, error):
    X, y = text_like()
    with refused(model := make_option("log loss"), match=error):
        model.fit(X, y, **options)


# --- kill -9 ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
from fastlin import Corpus, SGDClassifier
from fastlin.data import corpus
from support.estimators import text_like
corpus.SEGMENT = 3000
X, y = text_like(n_rows=3000, n_features=200)
model = SGDClassifier(loss="log_loss", average=True, max_iter=12, tol=None, random_state=0, batch_size=3)
data = (Corpus(X, y),) if sys.argv[1] == "corpus" else (X, y)
model.fit(*data, checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
np.savez(sys.argv[3], coef=model.coef_, intercept=model.intercept_, losses=[r["loss"] for r in model.history_])
"""


@pytest.mark.parametrize("kind", ["memory", "corpus"])
def test_kill_9_and_resume(kind, tmp_path):
    check_kills(SCRIPT, kind, (0.01,), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "corpus"])
@pytest.mark.parametrize("seed", range(10))
def test_kill_9_at_random_times_and_resume(kind, seed, tmp_path):
    check_kills(SCRIPT, kind, np.random.default_rng(seed).uniform(0, 0.05, 5), tmp_path)
