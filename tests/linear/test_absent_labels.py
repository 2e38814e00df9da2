"""LogisticRegressionCV on folds that lack labels: the limit of what all labels would have, scored among all labels."""

import numpy as np
import pytest
from scipy import optimize
from sklearn import config_context
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer
from sklearn.model_selection import GroupKFold, KFold

from fastlin import LogisticRegression, LogisticRegressionCV
from support.estimators import text_like
from support.peer_features import with_weighed_scores

EXACT = {"tol": 1e-9, "max_iter": 3000}


def sorted_by_label(n_labels, n_rows=60):
    X, y = text_like(n_labels=n_labels, n_rows=n_rows)
    order = np.argsort(y, kind="stable")
    return X[order][:, :8], y[order]


def objective(theta, X, y, n_labels, C, ratio):
    """Of all labels, the intercepts of absent ones at −1,000."""
    W = theta.reshape(n_labels, -1)
    scores = X @ W[:, :-1].T + W[:, -1]
    top = scores.max(axis=1)
    loss = np.sum(top + np.log(np.exp(scores - top[:, np.newaxis]).sum(axis=1)) - scores[np.arange(len(y)), y])
    return loss + (ratio * np.abs(W[:, :-1]).sum() + (1 - ratio) / 2 * np.square(W[:, :-1]).sum()) / C


@pytest.mark.parametrize("ratio", [0.0, 0.4])
@pytest.mark.parametrize("n_labels", [3, 4])
@pytest.mark.parametrize("C", [1e-3, 0.3, 30.0])
def test_a_fold_without_a_label_has_the_model_of_the_others(C, n_labels, ratio):
    X, y = sorted_by_label(n_labels)
    cut = [(np.flatnonzero(y != 1), np.flatnonzero(y == 1))]
    model = LogisticRegressionCV(Cs=[C], l1_ratios=(ratio,), cv=cut, scoring="neg_log_loss", **EXACT).fit(X, y)
    found, (train, _) = model.coefs_paths_[0, 0, 0], cut[0]
    assert found[1, -1] == -1000
    assert not found[1, :-1].any()
    dense = X.toarray()[train]
    value = objective(found.ravel(), dense, y[train], n_labels, C, ratio)
    assert value == pytest.approx(model.path_[0]["objective"], rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(40):  # nothing near, in any column, is better
        other = found + 1e-3 * rng.normal(size=found.shape)
        other[1, -1] = -1000
        assert objective(other.ravel(), dense, y[train], n_labels, C, ratio) > value * (1 - 1e-9)
    if ratio == 0:
        start = np.zeros(found.shape)
        start[1, -1] = -1000
        best = optimize.minimize(objective, start.ravel(), (dense, y[train], n_labels, C, 0.0), tol=1e-10).fun
        assert value <= best * (1 + 1e-8)


@with_weighed_scores
@pytest.mark.parametrize("n_labels", [2, 3])
def test_scores_know_the_labels_that_the_scored_rows_lack(n_labels):
    X, y = sorted_by_label(n_labels)
    names = np.array(["a", "b", "c"])
    cut = [*KFold(n_labels).split(X, y)]
    for scoring in ("neg_brier_score", "neg_log_loss"):
        model = LogisticRegressionCV(Cs=[0.1, 1], cv=cut, scoring=scoring).fit(X, names[y])
        for fold, (_, test) in enumerate(cut):
            for place in range(2):
                single = LogisticRegression(C=1).fit(X, names[y])
                single.coef_, single.intercept_ = (
                    model.coefs_paths_[fold, 0, place, :, :-1],
                    model.coefs_paths_[fold, 0, place, :, -1],
                )
                p = single.predict_proba(X[test])
                if scoring == "neg_log_loss":
                    wanted = log_loss(names[y[test]], p, labels=names[:n_labels])
                else:
                    more = {"pos_label": "b"} if n_labels == 2 else {}
                    p = p[:, 1] if n_labels == 2 else p
                    wanted = brier_score_loss(names[y[test]], p, labels=names[:n_labels], **more)
                assert -model.scores_[fold, 0, place] == pytest.approx(wanted, rel=1e-6)


def test_an_f_score_of_two_labels_with_names_takes_the_second_one():
    X, y = text_like(n_labels=2, n_rows=60)
    named = LogisticRegressionCV(Cs=[1.0], cv=3, scoring="f1").fit(X, np.array(["n", "p"])[y])
    np.testing.assert_array_equal(named.scores_, LogisticRegressionCV(Cs=[1.0], cv=3, scoring="f1").fit(X, y).scores_)


def test_metadata_reach_the_splitter_and_the_scorer_that_ask_for_them():
    X, y = text_like(n_labels=2, n_rows=60)
    groups, weights = np.arange(60) % 4, np.where(np.arange(60) < 30, 1.0, 3.0)
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        LogisticRegressionCV().fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        folds = GroupKFold(4).set_split_request(groups=True)
        scorers = [get_scorer("accuracy").set_score_request(sample_weight=asks) for asks in (True, False)]
        found = [
            LogisticRegressionCV(Cs=[0.1, 1], cv=folds, scoring=scorer).fit(X, y, sample_weight=weights, groups=groups)
            for scorer in scorers
        ]
        cut = [*GroupKFold(4).split(X, y, groups)]
        for model, own in zip(found, (weights, None), strict=True):
            single = LogisticRegression().fit(X, y)
            single.coef_, single.intercept_ = model.coefs_paths_[2, 0, 1, :, :-1], model.coefs_paths_[2, 0, 1, :, -1]
            test = cut[2][1]
            score = single.score(X[test], y[test], sample_weight=None if own is None else own[test])
            assert model.scores_[2, 0, 1] == pytest.approx(score)
        with pytest.raises(TypeError, match="sample_weight"):
            found[1].score(X, y, sample_weight=weights)
        shifted = make_scorer(lambda y, p, shift: np.mean(y == p) + shift.mean()).set_score_request(shift=True)
        shift = np.arange(60.0)
        model = LogisticRegressionCV(Cs=[1.0], cv=3, scoring=shifted).fit(X, y, shift=shift)
        assert 1 < model.scores_.min() < model.scores_.max() < 60


def test_a_path_goes_on_from_a_fit_that_began_at_its_end():
    X, y = np.random.default_rng(0).random((30, 4)), np.repeat(["a", "b", "c"], 10)
    found, expected = (
        LogisticRegressionCV(Cs=2, l1_ratios=[0, 0.5], cv=KFold(3), solver=solver).fit(X, y)
        for solver in ("saga", "auto")
    )
    np.testing.assert_allclose(found.scores_, expected.scores_)
