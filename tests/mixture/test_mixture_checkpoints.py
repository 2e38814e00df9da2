"""A mixture that is fitted in pieces is the one that was never interrupted, bit for bit."""

import numpy as np
import pytest

from fastlin import Corpus, MultinomialMixture
from fastlin.data import corpus as corpora
from support import resuming
from support.kills import check_kills
from support.mixtures import planted

LEARNT = ("weights_", "feature_log_prob_", "feature_count_", "bound_", "objective_", "converged_", "n_iter_")
CASES = {
    "starts": {"n_components": 4, "n_init": 3},
    "random": {"n_components": 3, "n_init": 2, "init": "random", "alpha": 0.01},
    "maximum likelihood": {"n_components": 5, "alpha": 0.0, "init": "random"},
    "alpha of words": {"n_components": 3, "alpha": np.linspace(0.1, 1, 40)},
    "dying": {"n_components": 12, "alpha": 1e-3, "init": "dying"},
    "threads": {"n_components": 4, "n_init": 2, "n_jobs": 2},
}


def make(name, **more):
    options = dict(CASES[name])
    if options.get("init") == "dying":  # all rows in one component: the others are seeded again
        options["init"] = np.zeros(150, np.int64)
    return MultinomialMixture(**{"max_iter": 12, "tol": 1e-4, "random_state": 0, **options, **more})


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 700)


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_from_every_iteration(name, tmp_path):
    X, _, _ = planted()
    model = resuming.stop_after_each_record(lambda **more: make(name, **more), LEARNT, (X,), tmp_path / "c")
    assert (name == "dying") == any(record["seeded"] for record in model.history_)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", ["starts", "alpha of words"])
def test_on_a_corpus_it_goes_on_from_every_iteration(name, stored, tmp_path):
    X, y, _ = planted()
    corpus = Corpus(X, y, sample_weight=np.linspace(0.5, 2, 150))
    corpus = corpus.write(tmp_path / "corpus") if stored else corpus
    assert corpus.n_segments > 1
    resuming.stop_after_each_record(lambda **more: make(name, **more), LEARNT, (corpus,), tmp_path / "c")


def test_seeds_from_the_system_are_those_of_the_first_part(tmp_path):
    """Without a seed the starts to come are in the checkpoint."""
    X, _, _ = planted()
    path = tmp_path / "c"
    with pytest.raises(resuming.Interrupted):
        resuming.quiet(
            make("starts", random_state=None, callback=resuming.Interruption(2)), X, checkpoint=path,
            checkpoint_interval=0,
        )  # fmt: skip
    content = path.read_bytes()
    models = []
    for _ in range(2):
        path.write_bytes(content)
        models.append(resuming.quiet(make("starts", random_state=None), X, checkpoint=path, resume=True))
    resuming.assert_same_fit(*models, LEARNT)


def test_it_may_go_on_for_longer_and_in_other_threads(tmp_path):
    X, _, _ = planted()
    path, few = tmp_path / "c", {"n_init": 1, "tol": 0}
    resuming.quiet(make("starts", **few, max_iter=3), X, checkpoint=path, checkpoint_interval=0)
    model = resuming.quiet(make("starts", **few, max_iter=9, n_jobs=2), X, checkpoint=path, resume=True)
    resuming.assert_same_fit(model, resuming.quiet(make("starts", **few, max_iter=9), X), LEARNT)
    shorter = resuming.quiet(make("starts", **few, max_iter=1), X, checkpoint=path, resume=True)
    assert shorter.n_iter_ == 3  # the iteration after the checkpoint is the last


def test_it_may_go_on_to_a_smaller_tolerance(tmp_path):
    X, _, _ = planted()
    path, one = tmp_path / "c", {"n_init": 1, "max_iter": 60}
    first = resuming.quiet(make("starts", **one, tol=0.1), X, checkpoint=path, checkpoint_interval=0)
    model = resuming.quiet(make("starts", **one, tol=1e-5), X, checkpoint=path, resume=True)
    resuming.assert_same_fit(model, resuming.quiet(make("starts", **one, tol=1e-5), X), LEARNT)
    assert first.converged_
    assert first.n_iter_ < model.n_iter_


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    X, _, _ = planted()
    weights = np.linspace(1, 2, 150)
    changes = [
        ("alpha was 1.0, now 2.0", {"alpha": 2.0}, None, {}),
        ("n_init", {"n_init": 1}, None, {}),
        ("max_iter was 12, now 13", {"max_iter": 13}, None, {}),  # the starts that are done ended by these
        ("tol was 0.0001, now 0.1", {"tol": 0.1}, None, {}),
        ("segment", {}, (X[::-1],), {}),
        ("weighted", {}, None, {"sample_weight": weights}),
        ("labels", {}, (Corpus(X, np.arange(150) % 2),), {}),
    ]
    resuming.check_other_fits(lambda **more: make("starts", **more), (X,), tmp_path / "c", changes)


@pytest.mark.parametrize("name", ["starts", "dying"])
def test_what_a_checkpoint_says_is_proved(name, tmp_path):
    X, _, _ = planted()
    resuming.check_what_is_said_is_proved(lambda **more: make(name, **more), (X,), tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    X, _, _ = planted()
    resuming.check_damage(lambda: make("starts", max_iter=3), LEARNT, (X,), tmp_path / "c")


SCRIPT = """
import sys, warnings
import numpy as np
from fastlin import Corpus, MultinomialMixture
from fastlin.data import corpus
from support.mixtures import planted
corpus.SEGMENT = 20_000
warnings.simplefilter("ignore")
X, y, _ = planted(n=2000, n_features=100)
model = MultinomialMixture(10, alpha=0.01, n_init=2, tol=0, max_iter=12, random_state=0, n_jobs=2)
model.fit(Corpus(X, y), checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
np.savez(sys.argv[3], counts=model.feature_count_, bound=model.bound_)
"""


def test_kill_9_and_resume(tmp_path):
    check_kills(SCRIPT, "mixture", (0.05,), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_kill_9_at_random_times_and_resume(seed, tmp_path):
    check_kills(SCRIPT, "mixture", np.random.default_rng(seed).uniform(0, 0.3, 5), tmp_path)
