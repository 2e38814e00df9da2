"""Baum and Welch in pieces find what they would have found without an interruption, bit for bit."""

import numpy as np
import pytest

from fastlin.sequence import HMM
from support import resuming
from support.kills import check_kills

LEARNT = ("startprob_", "transmat_", "stopprob_", "emissionprob_", "bound_", "objective_", "converged_", "n_iter_")
CASES = {
    "random": {"n_components": 3, "n_init": 3},
    "order 2": {"n_components": 2, "n_init": 2, "order": 2},
    "without a stop": {"n_components": 3, "stop": False, "alpha": 0.1},
    "given": {
        "n_components": 2,
        "init": {
            "startprob": [0.4, 0.6],
            "transmat": [[0.3, 0.5], [0.6, 0.2]],
            "emissionprob": np.array([[3, 1, 2, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 2, 1, 3]]) / 13.0,
        },
    },
    "some labels": {"unknown": "uniform"},
    "threads": {"n_components": 3, "n_init": 2, "n_jobs": 2},
}


def make(name, **more):
    return HMM(**{"max_iter": 7, "tol": 0, "random_state": 0, **CASES[name], **more})


def sentences(n=40, seed=0):
    """Vowels and consonants, which take turns more often than not."""
    rng = np.random.default_rng(seed)
    X, y = [list("aeioubcdfg")], [[0] * 5 + [1] * 5]
    for _ in range(n - 1):
        labels = np.cumsum(np.append(rng.integers(2), rng.random(rng.integers(1, 9)) < 0.9)) % 2
        X.append([("bcdfg" if label else "aeiou")[rng.integers(5)] for label in labels])
        y.append(labels.tolist())
    return X, y


def data_of(name):
    X, y = sentences()
    return (X, [labels if number < 5 else None for number, labels in enumerate(y)]) if name == "some labels" else (X,)


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_from_every_iteration(name, tmp_path):
    resuming.stop_after_each_record(lambda **more: make(name, **more), LEARNT, data_of(name), tmp_path / "c")


def test_on_a_matrix_it_goes_on_from_every_iteration(tmp_path):
    rng = np.random.default_rng(0)
    X, lengths = rng.poisson(1.0, (60, 6)).astype(float), np.full(12, 5)
    resuming.stop_after_each_record(
        lambda **more: make("random", **more), LEARNT, (X,), tmp_path / "c", lengths=lengths
    )


def test_it_may_go_on_for_longer_and_in_other_threads(tmp_path):
    path, data = tmp_path / "c", data_of("random")
    resuming.quiet(make("random", n_init=1, max_iter=3), *data, checkpoint=path, checkpoint_interval=0)
    model = resuming.quiet(make("random", n_init=1, n_jobs=2), *data, checkpoint=path, resume=True)
    resuming.assert_same_fit(model, resuming.quiet(make("random", n_init=1), *data), LEARNT)


def test_starts_without_a_seed_are_those_of_the_first_part(tmp_path):
    path, data, options = tmp_path / "c", data_of("random"), {"random_state": None}
    begun = make("random", callback=resuming.Interruption(2), **options)
    with pytest.raises(resuming.Interrupted):
        resuming.quiet(begun, *data, checkpoint=path, checkpoint_interval=0)
    content, models = path.read_bytes(), []
    for _ in range(2):
        path.write_bytes(content)
        models.append(resuming.quiet(make("random", **options), *data, checkpoint=path, resume=True))
    resuming.assert_same_fit(*models, LEARNT)


def test_counts_need_no_checkpoint(tmp_path):
    model = HMM().fit(*sentences(), checkpoint=tmp_path / "c", checkpoint_interval=0)
    np.testing.assert_array_equal(model.transmat_, HMM().fit(*sentences()).transmat_)
    with pytest.raises(ValueError, match="resume=True needs checkpoint"):
        HMM().fit(*sentences(), resume=True)


def test_a_callback_that_ends_a_start_at_once_gets_the_counts_of_that_start():
    """Not those of the start before."""
    X, _ = sentences()
    seen = []

    def look(model, record):
        if record["iteration"] == 0:
            seen.append(model.emissionprob_.copy())

    resuming.quiet(make("random", n_init=2, callback=look), X)
    alone = []
    resuming.quiet(make("random", n_init=1, callback=lambda model, _: alone.append(model.emissionprob_.copy())), X)
    assert (seen[0] == alone[0]).all()
    assert not (seen[1] == alone[-1]).all()


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    X, y = sentences()
    changes = [
        ("n_components was 3, now 2", {"n_components": 2}, None, {}),
        ("max_iter was", {"max_iter": 99}, None, {}),  # the runs that are done ended by these
        ("order", {"order": 2}, None, {}),
        ("tokens", {}, (X[::-1],), {}),
        ("labels", {"n_components": None, "unknown": "uniform"}, (X, [y[0], *[None] * 39]), {}),
    ]
    resuming.check_other_fits(lambda **more: make("random", **more), (X,), tmp_path / "c", changes)


@pytest.mark.parametrize("name", ["random", "some labels"])
def test_what_a_checkpoint_says_is_proved(name, tmp_path):
    resuming.check_what_is_said_is_proved(lambda **more: make(name, **more), data_of(name), tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    resuming.check_damage(lambda: make("random"), LEARNT, data_of("random"), tmp_path / "c")


SCRIPT = """
import sys, warnings
import numpy as np
from fastlin.sequence import HMM
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = [[f"w{word}" for word in rng.zipf(1.5, 20) % 300] for _ in range(400)]
model = HMM(n_components=12, n_init=2, tol=0, max_iter=15, random_state=0, n_jobs=2)
model.fit(X, checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
np.savez(sys.argv[3], steps=model.transmat_, words=model.emissionprob_, bound=model.bound_)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_random_times_and_resume(seed, tmp_path):
    check_kills(SCRIPT, "hmm", np.random.default_rng(seed).uniform(0, 0.3, 5), tmp_path)
