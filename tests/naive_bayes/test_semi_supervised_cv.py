"""The search of SemiSupervisedNBCV is the loop over folds that one would write."""

import itertools
import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold

from fastlin import Corpus, SemiSupervisedNB, SemiSupervisedNBCV
from fastlin.data import corpus as corpora
from fastlin.naive_bayes import semi_supervised
from support.estimators import assert_same_bits, text_like

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:.*(components|under)")
WEIGHTS, ALPHAS = (0.0, 0.1, 1.0), (1.0, 0.05)
CHOSEN = ("unlabeled_weight_", "components_", "alpha_")


def data(n_rows=200, seed=2):
    return text_like(n_rows=n_rows, n_features=60, seed=seed, density=0.08)


def search(**options):
    return SemiSupervisedNBCV(
        **{"unlabeled_weights": WEIGHTS, "components": (1,), "alphas": ALPHAS, "cv": 3, **options}
    )


def by_hand(X, y, more, folds, alphas, components, weights, score=None, **options):
    found = np.empty((len(folds), len(alphas), len(components), len(weights)))
    for place in np.ndindex(found.shape):
        fold, a, i, j = place
        train, test = folds[fold]
        model = SemiSupervisedNB(alpha=alphas[a], components=components[i], unlabeled_weight=weights[j], **options)
        model.fit(X[train], y[train], more)
        found[place] = model.score(X[test], y[test]) if score is None else score(y[test], model.predict(X[test]))
    return found


@pytest.mark.parametrize("options", [{}, {"fit_prior": False}, {"base_measure": np.arange(1.0, 61)}])
def test_the_scores_are_those_of_the_loop_over_folds(options):
    X, y = data()
    few, more = X[:30], X[30:]
    folds = list(StratifiedKFold(3).split(few, y[:30]))
    model = search(**options).fit(few, y[:30], more)
    expected = by_hand(few, y[:30], more, folds, ALPHAS, (1,), WEIGHTS, **options)
    np.testing.assert_array_equal(model.scores_, expected)
    best = np.unravel_index(np.argmax(expected.mean(axis=0)), expected.shape[1:])
    assert (model.alpha_, model.components_, model.unlabeled_weight_) == (ALPHAS[best[0]], 1, WEIGHTS[best[2]])
    again = SemiSupervisedNB(alpha=model.alpha_, unlabeled_weight=model.unlabeled_weight_, **options)
    again.fit(few, y[:30], more)
    assert_same_bits(model, again)
    np.testing.assert_array_equal(model.bound_, again.bound_)
    assert model.n_iter_ == again.n_iter_
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert [record["score"] for record in model.path_] == np.moveaxis(model.scores_, 1, -1).ravel().tolist()


def test_alphas_of_both_kinds_share_no_layout():
    X, y = data()
    alone = sparse.eye_array(200)  # two words of each document that no other has
    X = sparse.hstack([X, alone, alone], format="csr")
    alphas = (1.0, np.linspace(0.1, 2, 460), 0.3)
    model = search(alphas=alphas, cv=2).fit(X[:30], y[:30], X[30:])
    train, _ = next(StratifiedKFold(2).split(X[:30], y[:30]))
    of_fold = [record for record in model.path_ if record["fold"] == 0 and record["unlabeled_weight"] == 1]
    assert len(of_fold) == 3
    for record in of_fold:
        alone = SemiSupervisedNB(alpha=record["alpha"]).fit(X[train], y[train], X[30:])
        assert (record["objective"], record["n_iter"]) == (alone.objective_, alone.n_iter_)


def test_missing_labels_are_in_every_fold():
    X, y = data()
    z = np.where(np.arange(200) % 6 < 5, -1, y)
    z[:9] = y[:9]
    there = z >= 0
    together, apart = search().fit(X, z), search().fit(X[there], z[there], X[~there])
    np.testing.assert_array_equal(together.scores_, apart.scores_)
    assert_same_bits(together, apart)
    corpus = search().fit(Corpus(X, z))
    np.testing.assert_array_equal(corpus.scores_, apart.scores_)
    assert_same_bits(corpus, apart)


@pytest.mark.parametrize(
    "cv",
    [
        2,
        StratifiedKFold(4, shuffle=True, random_state=1),
        ShuffleSplit(3, test_size=0.4, train_size=0.6, random_state=0),
        [(np.arange(100, 185), np.arange(185, 200)), (np.arange(185, 200), np.arange(165, 185))],
        [(np.arange(200) % 2 == 0, np.arange(200) % 2 == 1)],
    ],
)
def test_folds_count_all_rows(cv):
    X, y = data()
    z = np.concatenate([np.full(170, -1), y[170:]])
    if isinstance(cv, int):  # of the labelled rows
        folds = [(170 + train, 170 + test) for train, test in StratifiedKFold(cv).split(X[170:], y[170:])]
    else:
        folds = [
            tuple(np.arange(200)[some] for some in fold) for fold in (cv.split(X, z) if hasattr(cv, "split") else cv)
        ]
    folds = [tuple(some[some >= 170] - 170 for some in fold) for fold in folds]
    model = search(cv=cv, scoring="balanced_accuracy").fit(X, z)
    expected = by_hand(X[170:], y[170:], X[:170], folds, ALPHAS, (1,), WEIGHTS, balanced_accuracy_score)
    np.testing.assert_allclose(model.scores_, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(30), np.arange(30, 201))], "cv gives the row 200, but X has 200 rows"),
        ([(np.arange(30), [0.5])], "cv must give the rows of a fold as numbers or a mask of 200"),
        ([(np.arange(30), np.arange(100, 120))], "no labelled rows of a weight above 0"),
    ],
)
def test_folds_that_are_none_are_refused(cv, message):
    X, y = data()
    z = np.where(np.arange(200) < 60, y, -1)
    with pytest.raises(ValueError, match=message):
        search(cv=cv).fit(X, z)


def test_scores_that_are_no_numbers_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="gave nan"):
        search(scoring=lambda *_: float("nan")).fit(X[:60], y[:60])


def test_scores_weigh_the_rows():
    X, y = data()
    weights = np.random.default_rng(0).exponential(size=60) ** 3
    folds, found = list(StratifiedKFold(3).split(X[:60], y[:60])), []
    for train, test in folds:
        model = SemiSupervisedNB().fit(X[train], y[train], sample_weight=weights[train])
        found.append(model.score(X[test], y[test], weights[test]))
    for scoring in (None, "accuracy"):
        options = {"unlabeled_weights": [1.0], "alphas": [1.0], "scoring": scoring}
        model = search(**options).fit(X[:60], y[:60], sample_weight=weights)
        np.testing.assert_allclose(model.scores_.ravel(), found, rtol=1e-12)
    unweighted = search(**options | {"scoring": lambda model, X, y: model.score(X, y)}).fit(
        X[:60], y[:60], sample_weight=weights
    )
    assert not np.array_equal(unweighted.scores_.ravel(), found)


def test_a_fold_may_lack_a_label():
    X, y = data()
    model = search(cv=LeaveOneOut()).fit(X[:4], y[:4], X[4:])  # one document of the labels 1 and 2
    assert model.scores_.shape == (4, 2, 1, 3)
    assert (model.scores_[1:3, :, :, 0] == 0).all()
    assert model.classes_.tolist() == [0, 1, 2]


def test_threads_change_no_bit():
    X, y = data()
    options = {"components": (1, 2), "random_state": np.random.RandomState(3), "n_init": 2}
    one, three = (search(n_jobs=jobs, **options | {"random_state": 3}).fit(X[:30], y[:30], X[30:]) for jobs in (1, 3))
    np.testing.assert_array_equal(one.scores_, three.scores_)
    assert [{**record} for record in one.path_] == [{**record} for record in three.path_]
    assert_same_bits(one, three)
    assert all(getattr(one, name) == getattr(three, name) for name in CHOSEN)


def test_validation_data_takes_the_place_of_folds():
    X, y = data()
    model = search(components=(1, {0: 2}), random_state=0).fit(X[:30], y[:30], X[30:100], X_val=X[100:], y_val=y[100:])
    assert model.scores_.shape == (1, 2, 2, 3)
    for a, j in itertools.product(range(2), range(3)):
        plain = SemiSupervisedNB(alpha=ALPHAS[a], unlabeled_weight=WEIGHTS[j]).fit(X[:30], y[:30], X[30:100])
        assert model.scores_[0, a, 0, j] == plain.score(X[100:], y[100:])
    corpus = search(components=(1, {0: 2}), random_state=0)
    corpus.fit(X[:30], y[:30], X[30:100], X_val=Corpus(X[100:], y[100:]))
    np.testing.assert_array_equal(corpus.scores_, model.scores_)


def test_a_corpus_on_disk_is_the_corpus_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(corpora, "SEGMENT", 300)
    X, y = data()
    z = np.where(np.arange(200) % 4 < 3, -1, y)
    corpus = Corpus(X, z, sample_weight=np.random.default_rng(0).uniform(0.5, 2, 200))
    assert corpus.n_segments > 2
    in_memory, on_disk = (search(scoring="f1_macro").fit(each) for each in (corpus, corpus.write(tmp_path / "corpus")))
    np.testing.assert_array_equal(in_memory.scores_, on_disk.scores_)
    assert_same_bits(in_memory, on_disk)


def test_one_call_is_enough():
    X, y = data()
    model = SemiSupervisedNBCV(random_state=0).fit(X[:30], y[:30], X[30:])
    assert model.scores_.shape[0] == 5
    assert model.unlabeled_weight_ in model.unlabeled_weights
    assert model.components_ in model.components
    assert model.score(X, y) > 0.8
    assert not hasattr(model, "partial_fit")


def test_a_callback_sees_every_fit_and_may_end_the_search(capsys):
    X, y = data()
    seen = []

    def look(model, record):
        seen.append((model.unlabeled_weight, record["unlabeled_weight"], record["score"]))
        return len(seen) == 4

    model = search(callback=look, verbose=1).fit(X[:30], y[:30], X[30:])
    assert len(seen) == len(model.path_) == 4 == len(capsys.readouterr().out.splitlines())
    assert all(weight == said for weight, said, _ in seen)
    assert np.isnan(model.scores_).sum() == model.scores_.size - 4
    assert model.predict(X).shape == (200,)
    with pytest.raises(ZeroDivisionError):
        model.set_params(callback=lambda *_: 1 / 0).fit(X[:30], y[:30])
    assert len(model.path_) == 4


@pytest.mark.parametrize(
    "options, match",
    [
        ({"unlabeled_weights": ()}, "unlabeled_weights must hold"),
        ({"unlabeled_weights": 1.0}, "unlabeled_weights must hold"),
        ({"unlabeled_weights": (1.0, -1.0)}, "unlabeled_weights"),
        ({"components": 3}, "components must hold"),
        ({"components": (1, 0)}, "components"),
        ({"components": (1, {9: 2})}, "components"),
        ({"alphas": (1.0, -2.0)}, "alpha"),
        ({"cv": 40}, "n_splits"),
        ({"cv": []}, "no folds"),
        ({"scoring": "accurracy"}, "accurracy"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"callback": 3}, "callback"),
        ({"verbose": -1}, "verbose"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options, match):
    X, y = data(60)
    model = search(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_folds_have_rows_to_learn_from_and_to_score_on():
    X, y = np.eye(6) + 1, np.tile([0, 1, -1], 2)
    for fold, match in ((([], [0, 1]), "held out"), (([0, 1], []), "no labelled rows of a weight above 0")):
        with pytest.raises(ValueError, match=match):
            SemiSupervisedNBCV(cv=[fold]).fit(X, y)
    with pytest.raises(ValueError, match="zero for every row that has a label and is not held out"):
        SemiSupervisedNBCV(cv=2).fit(X, y, sample_weight=[1, 0, 0, 0, 0, 0])


def test_a_fit_in_another_thread_ends_when_one_fails(monkeypatch):
    """At its next block, not when it has converged."""
    X, y, begun, steps = np.eye(6) + 1, np.tile([0, 1, -1], 2), threading.Event(), []

    def climb(em, monitor, tol, n_starts, begin, *_):
        begin()
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(10)
            raise ZeroDivisionError
        for step in range(20_000):
            em.expect()
            steps.append(step)
            begun.set()

    monkeypatch.setattr(semi_supervised, "best_run", climb)
    search = SemiSupervisedNBCV(unlabeled_weights=[1], components=[1], alphas=[1.0], cv=2, n_jobs=2)
    with pytest.raises(ZeroDivisionError):
        search.fit(X, y)
    assert 0 < len(steps) < 20_000
