"""When an online fit ends, what it is judged by meanwhile, and what it draws: as in scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from fastlin import SGDClassifier, SGDRegressor
from support.estimators import text_like

PENALTIES = {"l2": (0.0, 1.0), "l1": (1.0, 0.0), "elasticnet": (0.3, 0.7)}  # shares of both norms
EPOCHS = {"max_iter": 4, "tol": None, "shuffle": False, "learning_rate": "constant", "eta0": 0.01}


@pytest.mark.parametrize("penalty, average", [("l2", False), ("l2", True), ("l1", False), ("elasticnet", False)])
def test_a_fit_ends_when_its_objective_no_longer_falls(penalty, average):
    X, y = text_like(n_labels=3, n_rows=90)
    options = {"penalty": penalty, "l1_ratio": 0.3, "alpha": 0.03, "learning_rate": "inverse", "eta0": 0.1}
    options |= {"random_state": 3, "loss": "log_loss"}
    (l1, l2), norms, losses, tol, patience = PENALTIES[penalty], [0.0], [], 2e-3, 2
    for epoch in range(1, 60):
        plain = SGDClassifier(max_iter=epoch, tol=None, **options).fit(X, y)
        norms.append(0.03 * (l1 * np.abs(plain.coef_).sum() + l2 / 2 * np.square(plain.coef_).sum()))
        losses.append(plain.history_[-1]["loss"])
        if epoch == 1:
            found = SGDClassifier(max_iter=59, tol=tol, n_iter_no_change=patience, average=average, **options)
            n_iter = found.fit(X, y).n_iter_
    objectives = np.array(losses) + (np.array(norms[1:]) + norms[:-1]) / 2
    best, waited = np.inf, 0
    for epoch, value in enumerate(objectives, 1):  # noqa: B007 - the last one is asked for
        waited = waited + 1 if value > best - tol else 0
        best = min(best, value)
        if waited == patience:
            break
    assert n_iter == epoch < 59


def test_rows_of_little_weight_end_no_fit_at_its_first_lucky_epoch():
    X = np.array([[-1.0, -1.0], [-1.0, 0], [-0.8, -1.0], [1.0, 1.0], [1.0, 0.0]])
    y, weights = [1, 1, 1, -1, -1], [0.001] * 3 + [1] * 2
    turned = [
        SGDClassifier(alpha=0.1, fit_intercept=False, random_state=seed).fit(X, y, sample_weight=weights).predict(
            [[0.2, -1.0]]
        )[0]
        for seed in range(30)
    ]  # fmt: skip
    assert turned.count(-1) >= 27  # scikit-learn's: 30


@pytest.mark.parametrize("kind", [SGDClassifier, SGDRegressor])
@pytest.mark.parametrize("state", [5, np.random.RandomState(5)], ids=["number", "RandomState"])
def test_the_rows_held_out_are_scikit_learns(kind, state):
    X, y = text_like(n_labels=3, n_rows=90)
    y = y if kind is SGDClassifier else y * 1.0
    split = StratifiedShuffleSplit if kind is SGDClassifier else ShuffleSplit
    rows, held = (np.sort(part) for part in next(split(test_size=0.3, random_state=5).split(X, y)))
    weights = np.linspace(0.5, 2, 90)
    whole = kind(early_stopping=True, validation_fraction=0.3, random_state=state, **EPOCHS)
    whole.fit(X, y, sample_weight=weights)
    part = kind(**EPOCHS).fit(X[rows], y[rows], sample_weight=weights[rows])
    np.testing.assert_array_equal(whole.coef_, part.coef_)  # looking at them changes no bit
    score = part.score(X[held], y[held], sample_weight=weights[held])
    assert whole.history_[-1]["validation_score"] == pytest.approx(score, rel=1e-12)


def test_a_split_that_has_to_be_made_again_is_the_same(tmp_path):
    X, y = text_like(n_labels=3, n_rows=90)
    draw = np.random.RandomState(5)
    model = SGDClassifier(early_stopping=True, random_state=draw, max_iter=3, tol=None)
    first = model.fit(X, y, checkpoint=tmp_path / "c", checkpoint_interval=0).coef_
    again = model.fit(X, y, checkpoint=tmp_path / "c", resume=True).coef_
    np.testing.assert_array_equal(first, again)


def test_labels_too_rare_for_scikit_learn_are_held_out_all_the_same():
    X, y = text_like(n_labels=3, n_rows=90)
    y[0] = 7
    with pytest.raises(ValueError, match="least populated class"):
        linear_model.SGDClassifier(early_stopping=True).fit(X, y)
    assert len(SGDClassifier(early_stopping=True, random_state=0).fit(X, y).classes_) == 4


def test_without_a_random_state_numpys_global_one_decides():
    X, y = text_like(n_labels=3, n_rows=90)
    found = []
    for seed in (1, 1, 2):
        np.random.seed(seed)  # noqa: NPY002 - what is tested
        found.append(SGDClassifier(max_iter=2, tol=None).fit(X, y).coef_)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("multi_class", ["multinomial", "ovr"])
def test_slopes_are_clipped_at_a_million_millions(n_labels, multi_class):
    X = sparse.csr_array(np.array([[3.0, 0.0], [0.0, 3.0], [1.0, 1.0]]))
    y = np.array([0, 1, n_labels - 1])
    start = np.where(np.arange(n_labels)[:, np.newaxis] == 0, -1e14, 1e14) * np.ones(2)
    options = {"loss": "squared_hinge", "learning_rate": "constant", "eta0": 1e-3, "penalty": None}
    model = SGDClassifier(multi_class=multi_class, fit_intercept=False, max_iter=1, tol=None, shuffle=False, **options)
    coef = start[-1:] if n_labels == 2 else start
    found = model.fit(X, y, coef_init=coef).coef_ - coef
    assert 2.9e9 < np.abs(found[0]).max() < 3.1e9  # 10⁻³ · 10¹² · 3
    if multi_class == "ovr":
        peer = linear_model.SGDClassifier(fit_intercept=False, max_iter=1, tol=None, shuffle=False, **options)
        np.testing.assert_allclose(found, peer.fit(X, y, coef_init=coef.copy()).coef_ - coef, atol=1)
