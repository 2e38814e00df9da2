"""K-means in pieces is the k-means that was never interrupted, bit for bit."""

import numpy as np
import pytest
from scipy import sparse

from fastlin import Corpus, KMeans
from fastlin.data import corpus as corpora
from support import resuming
from support.kills import check_kills

LEARNT = ("cluster_centers_", "labels_", "inertia_", "objective_", "converged_", "n_iter_")
CASES = {
    "hard": {"n_init": 3},
    "random": {"n_init": 3, "init": "random"},
    "a function": {"n_init": 2, "init": lambda X, k, random_state: X[random_state.permutation(200)[:k]].toarray()},
    "spherical": {"metric": "spherical", "n_init": 2},
    "soft": {"temperature": 0.5, "n_init": 2},
    "soft, spherical": {"temperature": 0.05, "metric": "spherical"},
    "dying": {"init": np.vstack([np.ones((3, 30)), np.full((5, 30), 90.0)])},
    "threads": {"n_init": 2, "n_jobs": 2},
}


def make(name, **more):
    return KMeans(**{"random_state": 0, "max_iter": 9, "tol": 0, **CASES[name], **more})


def points(seed=0):
    rng = np.random.default_rng(seed)
    return sparse.csr_array(rng.poisson(0.6, (200, 30)) * rng.uniform(0.5, 1.5, (200, 30)))


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 900)


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_from_every_iteration(name, tmp_path):
    weights = np.linspace(0, 3, 200) if name in ("hard", "soft") else None
    model = resuming.stop_after_each_record(
        lambda **more: make(name, **more), LEARNT, (points(),), tmp_path / "c", sample_weight=weights
    )
    assert (name == "dying") == any(record["relocated"] for record in model.history_)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", ["hard", "spherical", "soft"])
def test_on_a_corpus_it_goes_on_from_every_iteration(name, stored, tmp_path):
    corpus = Corpus(points(), np.arange(200) % 3)
    corpus = corpus.write(tmp_path / "corpus") if stored else corpus
    assert corpus.n_segments > 1
    resuming.stop_after_each_record(lambda **more: make(name, **more), LEARNT, (corpus,), tmp_path / "c")


def test_it_may_go_on_for_longer_and_in_other_threads(tmp_path):
    path, X = tmp_path / "c", points()
    resuming.quiet(make("hard", n_init=1, max_iter=3), X, checkpoint=path, checkpoint_interval=0)
    model = resuming.quiet(make("hard", n_init=1, n_jobs=2), X, checkpoint=path, resume=True)
    resuming.assert_same_fit(model, resuming.quiet(make("hard", n_init=1), X), LEARNT)
    shorter = resuming.quiet(make("hard", n_init=1, max_iter=1), X, checkpoint=path, resume=True)
    assert shorter.n_iter_ == 2  # it ends where the checkpoint was made


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    X = points()
    changes = [
        ("n_clusters was 8, now 9", {"n_clusters": 9}, None, {}),
        ("max_iter was", {"max_iter": 99}, None, {}),  # the runs that are done ended by these
        ("tol was", {"tol": 0.1}, None, {}),
        ("metric", {"metric": "spherical"}, None, {}),
        ("segment", {}, (X[::-1],), {}),
        ("weighted", {}, None, {"sample_weight": np.linspace(1, 2, 200)}),
        ("segment", {}, (Corpus(X[::-1], np.zeros(200, int)),), {}),
    ]
    resuming.check_other_fits(lambda **more: make("hard", **more), (X,), tmp_path / "c", changes)


@pytest.mark.parametrize("name", ["hard", "soft"])
def test_what_a_checkpoint_says_is_proved(name, tmp_path):
    resuming.check_what_is_said_is_proved(lambda **more: make(name, **more), (points(),), tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    resuming.check_damage(lambda: make("hard"), LEARNT, (points(),), tmp_path / "c")


@pytest.mark.parametrize(
    "options, match",
    [
        ({"resume": True}, "resume=True needs checkpoint"),
        ({"resume": 1, "checkpoint": "x"}, "resume"),
        ({"checkpoint_interval": -1, "checkpoint": "x"}, "checkpoint_interval"),
    ],
)
def test_bad_options_are_refused(options, match):
    with pytest.raises((ValueError, TypeError), match=match):
        make("hard").fit(points(), **options)


SCRIPT = """
import sys, warnings
import numpy as np
from fastlin import KMeans
from support.estimators import text_like
X, y = text_like(n_rows=6000, n_features=300, n_labels=5, density=0.1)
warnings.simplefilter("ignore")
model = KMeans(20, tol=0, max_iter=40, random_state=0, n_init=2, n_jobs=2)
model.fit(X, checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
np.savez(sys.argv[3], centres=model.cluster_centers_, labels=model.labels_)
"""


def test_kill_9_and_resume(tmp_path):
    check_kills(SCRIPT, "kmeans", (0.05,), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_random_times_and_resume(seed, tmp_path):
    check_kills(SCRIPT, "kmeans", np.random.default_rng(seed).uniform(0, 0.3, 5), tmp_path)
