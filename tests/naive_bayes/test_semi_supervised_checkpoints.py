"""Semi-supervised naive Bayes that is fitted in pieces is the one that was never interrupted, bit for bit."""

import numpy as np
import pytest

from fastlin import Corpus, SemiSupervisedNB, SemiSupervisedNBCV
from fastlin.data import corpus as corpora
from support import resuming
from support.kills import check_kills
from support.mixtures import planted
from support.semi_supervised import partly

LEARNT = (
    "class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "component_count_", "bound_",
    "objective_", "converged_", "n_iter_",
)  # fmt: skip
CASES = {
    "one component": {},
    "components": {"components": 2, "n_init": 3},
    "uniform prior": {"components": {1: 3}, "n_init": 2, "fit_prior": False, "unlabeled_weight": 0.3},
    "stopped early": {"components": 2, "n_init": 2, "early_stopping": True, "n_iter_no_change": 2},
    "without a seed": {"components": 2, "n_init": 2, "early_stopping": True, "random_state": None},
    "threads": {"components": 2, "n_init": 2, "n_jobs": 2},
}
SEARCHES = {
    "folds": {"cv": 2},
    "in threads": {"cv": 2, "n_jobs": 2},
    "alphas of words": {"cv": 2, "alphas": [np.full(40, 0.1), 0.1, np.full(40, 0.5)], "components": [1]},
}
CHOSEN = (*LEARNT, "scores_", "alpha_", "components_", "unlabeled_weight_")


def make(name, **more):
    return SemiSupervisedNB(**{"alpha": 0.1, "max_iter": 8, "tol": 1e-4, "random_state": 0, **CASES[name], **more})


def search(name, **more):
    grid = {"alphas": (0.1, 0.01), "components": (1, 2), "unlabeled_weights": (0.1, 1.0)}
    return SemiSupervisedNBCV(
        **{"max_iter": 4, "tol": 0, "n_init": 2, "random_state": 0, **grid, **SEARCHES[name], **more}
    )


def documents():
    X, y, _ = planted(n=90)
    return X, partly(y)


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 500)


@pytest.mark.parametrize("name", [name for name in CASES if name != "without a seed"])
def test_it_goes_on_from_every_iteration(name, tmp_path):
    X, y = documents()
    model = resuming.stop_after_each_record(
        lambda **more: make(name, **more), LEARNT, (X, y, planted(n=30, seed=4)[0]), tmp_path / "c",
        sample_weight=np.linspace(0.5, 1, 90),
    )  # fmt: skip
    assert ("val_score" in model.history_[0]) == (name == "stopped early")


@pytest.mark.parametrize("early_stopping", [False, True])
def test_with_validation_data_it_goes_on_from_every_iteration(early_stopping, tmp_path):
    X, y, _ = planted(n=30, seed=5)
    resuming.stop_after_each_record(
        lambda **more: make("components", early_stopping=early_stopping, n_iter_no_change=2, **more), LEARNT,
        documents(), tmp_path / "c", X_val=X, y_val=y,
    )  # fmt: skip


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("stored", [False, True])
def test_on_a_corpus_it_goes_on_from_every_iteration(stored, tmp_path):
    corpus, other = Corpus(*documents()), Corpus(planted(n=60, seed=4)[0], np.full(60, -1))
    if stored:
        corpus, other = corpus.write(tmp_path / "corpus"), other.write(tmp_path / "other")
    assert corpus.n_segments > 1
    assert other.n_segments > 1
    resuming.stop_after_each_record(
        lambda **more: make("components", **more), LEARNT, (corpus, None, other), tmp_path / "c"
    )


def test_rows_held_out_without_a_seed_are_those_of_the_first_part(tmp_path):
    path = tmp_path / "c"
    with pytest.raises(resuming.Interrupted):
        resuming.quiet(
            make("without a seed", callback=resuming.Interruption(2)), *documents(), checkpoint=path,
            checkpoint_interval=0,
        )  # fmt: skip
    content, models = path.read_bytes(), []
    for _ in range(3):
        path.write_bytes(content)
        models.append(resuming.quiet(make("without a seed"), *documents(), checkpoint=path, resume=True))
        resuming.assert_same_fit(models[-1], models[0], LEARNT)


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    X, y = documents()
    more = planted(n=30, seed=4)[0]
    changes = [
        ("alpha was 0.1, now 0.2", {"alpha": 0.2}, None, {}),
        ("max_iter was 8, now 9", {"max_iter": 9}, None, {}),  # the runs that are done ended by these
        ("tol was", {"tol": 0.1}, None, {}),
        ("y was", {}, (X, np.where(np.arange(90) == 3, -1 - y, y), more), {}),
        ("X_unlabeled", {}, (X, y, more[::-1]), {}),
        ("X_unlabeled", {}, (X, y), {}),
        ("segment", {}, (X[::-1], y, more), {}),
        ("weighted", {}, None, {"sample_weight": np.linspace(1, 2, 90)}),
        ("X_val was None", {}, None, {"X_val": X, "y_val": np.maximum(y, 0)}),
    ]
    resuming.check_other_fits(lambda **more: make("components", **more), (X, y, more), tmp_path / "c", changes)


def test_corpora_to_validate_on_are_told_apart(tmp_path):
    first, second = (Corpus(*planted(n=20, seed=seed)[:2]) for seed in (1, 2))
    options = {"checkpoint": tmp_path / "c", "X_val": first}
    resuming.quiet(make("components"), *documents(), checkpoint_interval=0, **options)
    with pytest.raises(ValueError, match="X_val"):
        resuming.quiet(make("components"), *documents(), resume=True, **{**options, "X_val": second})


@pytest.mark.parametrize("name", ["components", "stopped early"])
def test_what_a_checkpoint_says_is_proved(name, tmp_path):
    resuming.check_what_is_said_is_proved(lambda **more: make(name, **more), documents(), tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    resuming.check_damage(lambda: make("components"), LEARNT, documents(), tmp_path / "c")


# --- the search ------------------------------------------------------------------------------------------------------


def assert_same_search(one, other):
    resuming.assert_same_fit(one, other, CHOSEN)
    np.testing.assert_equal(one.path_, other.path_)


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_goes_on_from_every_fit(name, after, tmp_path):
    data, path = documents(), tmp_path / "c"
    expected = resuming.quiet(search(name), *data)
    counter = resuming.Counter()
    for _ in range(2):
        begun = search(name, callback=resuming.Interruption(after))
        with pytest.raises(resuming.Interrupted):
            resuming.quiet(begun, *data, checkpoint=path, checkpoint_interval=0, resume=True)
    model = resuming.quiet(search(name, callback=counter), *data, checkpoint=path, resume=True)
    assert_same_search(model, expected)
    assert counter.n == len(expected.path_) - 2 * after


def test_the_last_fit_of_a_search_goes_on(tmp_path):
    """What is fitted with all documents has its iterations in the checkpoint."""
    data, path = documents(), tmp_path / "c"
    expected = resuming.quiet(search("folds"), *data, checkpoint=path, checkpoint_interval=0)
    counter = resuming.Counter()
    assert_same_search(resuming.quiet(search("folds", callback=counter), *data, checkpoint=path, resume=True), expected)
    assert counter.n == 0


def test_a_search_that_the_callback_ended_stays_so(tmp_path):
    data, path, left = documents(), tmp_path / "c", [3]

    def end(model, record):
        left[0] -= 1
        return left[0] == 0

    expected = resuming.quiet(search("folds", callback=end), *data, checkpoint=path, checkpoint_interval=0)
    assert_same_search(resuming.quiet(search("folds"), *data, checkpoint=path, resume=True), expected)
    assert np.isnan(expected.scores_).any()


def test_the_checkpoint_of_another_search_is_refused(tmp_path):
    X, y = documents()
    held = planted(n=20, seed=1)
    changes = [
        ("alphas", {"alphas": (0.1, 0.2)}, None, {}),
        ("max_iter was 4, now 5", {"max_iter": 5, "n_init": 2}, None, {}),  # the fits that are done ended by these
        ("tol was", {"tol": 0.1}, None, {}),
        ("folds|cv", {"cv": 3}, None, {}),
        ("segment", {}, (X[::-1], y), {}),
        ("X_val", {}, None, {"X_val": held[0], "y_val": held[1]}),
    ]
    resuming.check_other_fits(lambda **more: search("folds", **more), (X, y), tmp_path / "c", changes)


def test_what_the_checkpoint_of_a_search_says_is_proved(tmp_path):
    resuming.check_what_is_said_is_proved(lambda **more: search("folds", **more), documents(), tmp_path / "c")


# --- kill -9 ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
import numpy as np
from fastlin import SemiSupervisedNB, SemiSupervisedNBCV
from support.mixtures import planted
from support.semi_supervised import partly
warnings.simplefilter("ignore")
X, y, _ = planted(n=1500, n_features=100)
model = SemiSupervisedNB(alpha=0.1, components=3, n_init=3, tol=0, max_iter=20, random_state=0)
if sys.argv[1] == "search":
    model = SemiSupervisedNBCV(cv=2, alphas=(0.1,), max_iter=10, random_state=0, n_jobs=2)
model.fit(X, partly(y), checkpoint=sys.argv[2], checkpoint_interval=0, resume=True)
np.savez(sys.argv[3], counts=model.feature_count_, bound=model.bound_, prior=model.class_log_prior_)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fit", "search"])
@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_random_times_and_resume(kind, seed, tmp_path):
    check_kills(SCRIPT, kind, np.random.default_rng(seed).uniform(0, 0.3, 5), tmp_path)
