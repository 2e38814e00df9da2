"""What a fit says of the optimum is true, over penalties, C, solvers, numbers of labels and kinds of data.

Whoever says that it converged has a proof of it, nobody is further from the optimum than it says, and nobody ends
above the best point that it saw.
"""

import functools
import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression as Peer

from fastlin import CandidateClassifier, Corpus, LogisticRegression
from fastlin.data import corpus as corpora
from fastlin.sequence import MEMM
from support.logistic_problems import BATCH, KINDS, rows

KNOW_L1 = ("auto", "newton", "lbfgs")
PENALTIES = {
    "l2": {"penalty": "l2"},
    "l1": {"penalty": "l1"},
    "elastic net": {"l1_ratio": 0.5},
    "nearly l1": {"l1_ratio": 0.99},
    "none": {"penalty": None},
}
SMOOTH, SPARSE = ("l2",), ("l1", "elastic net", "nearly l1")
STRENGTHS = (1e-3, 1.0, 1e2, 1e5)
PROBLEMS = [(kind, n_labels) for kind in KINDS for n_labels in (2, 5, 20)]
TOL = 1e-4
ROUNDING = 1e-9


def fitted(kind, n_labels, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LogisticRegression(**options).fit(*rows(kind, n_labels))


@functools.cache
def optimum(kind, n_labels, penalty, C):
    """The least objective that long fits find."""
    options = PENALTIES[penalty] | {"C": C, "tol": 1e-9}
    limits = {"newton": 1000, "lbfgs": 200}
    fits = (fitted(kind, n_labels, solver=solver, max_iter=most, **options) for solver, most in limits.items())
    return min(model.objective_ for model in fits)


@pytest.mark.parametrize("kind, n_labels", PROBLEMS)
@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize(
    "solver, penalty", [pair for pair in product(BATCH, SMOOTH + SPARSE) if pair[0] in KNOW_L1 or pair[1] in SMOOTH]
)
def test_the_certified_gap_bounds_the_true_one_and_decides(solver, penalty, C, kind, n_labels):
    options = PENALTIES[penalty] | {"C": C, "solver": solver, "tol": TOL}
    for max_iter in (3, 100):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = LogisticRegression(**options, max_iter=max_iter).fit(*rows(kind, n_labels))
        gap, objective = model.certificate_["duality_gap"], model.objective_
        assert objective - optimum(kind, n_labels, penalty, C) <= gap + ROUNDING * objective
        assert model.converged_ == (gap <= TOL * objective)
        assert objective <= min(record["objective"] for record in model.history_) * (1 + 1e-12)
        assert objective <= model.history_[0]["objective"] * (1 + 1e-12)
        assert len(told) == (not model.converged_)
        assert not told or "duality gap" in str(told[0].message)


@pytest.mark.parametrize("kind, n_labels", PROBLEMS)
@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
def test_auto_gets_there(penalty, C, kind, n_labels):
    model = fitted(kind, n_labels, **PENALTIES[penalty], C=C, max_iter=1000)
    assert model.converged_
    assert model.objective_ <= optimum(kind, n_labels, penalty, C) * (1 + TOL)


@functools.cache
def in_memory(kind, n_labels, penalty, C):
    """The objective of a long fit, and the gap that it has proved."""
    model = fitted(kind, n_labels, **PENALTIES[penalty], C=C, tol=1e-8, max_iter=1000)
    return model.objective_, model.certificate_["duality_gap"]


ON_DISK = [("auto", n_labels) for n_labels in (2, 5, 50)] + [("newton", 2), ("lbfgs", 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
@pytest.mark.parametrize("solver, n_labels", ON_DISK)
def test_what_is_certified_of_segments_on_disk_is_true(solver, n_labels, penalty, C, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 300)
    corpus = Corpus(*rows(kind, n_labels)).write(tmp_path / "corpus")
    assert corpus.n_segments > 1
    best, its_gap = in_memory(kind, n_labels, penalty, C)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = LogisticRegression(**PENALTIES[penalty], C=C, solver=solver, tol=TOL, max_iter=15).fit(corpus)
    gap, objective = model.certificate_["duality_gap"], model.objective_
    assert best - its_gap - ROUNDING * best <= objective <= best + gap + ROUNDING * objective
    assert model.converged_ == (gap <= TOL * objective)
    assert len(told) == (not model.converged_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", BATCH)
def test_without_a_prior_the_gradient_decides(solver, kind):
    for n_labels in (2, 5):
        model = fitted(kind, n_labels, penalty=None, solver=solver)
        assert "duality_gap" not in model.certificate_
        assert model.converged_ == (model.certificate_["gradient_norm"] <= TOL * len(rows(kind, n_labels)[1]))
        assert model.objective_ <= min(record["objective"] for record in model.history_) * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_nobody_is_below_liblinear(penalty, C, kind):
    """LIBLINEAR, which has no intercept here, finds the same optimum."""
    X, y = rows(kind, 2)
    options = {"C": C, "fit_intercept": False, "solver": "liblinear", "max_iter": 100_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ratio = {"l1_ratio": float(penalty == "l1")}
        peer = Peer(**options, **ratio, tol=1e-10, random_state=0).fit(X, y).coef_[0]
    loss = np.logaddexp(0, -(2 * y - 1) * (X @ peer)).sum()
    theirs = loss + (np.abs(peer).sum() if penalty == "l1" else 0.5 * peer @ peer) / C
    ours = fitted(kind, 2, penalty=penalty, C=C, fit_intercept=False, max_iter=2000, tol=1e-6)
    assert ours.converged_
    assert ours.objective_ <= theirs * (1 + 1e-6)
    assert theirs >= ours.objective_ - ours.certificate_["duality_gap"] - ROUNDING * theirs


@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic net"])
@pytest.mark.parametrize("C", STRENGTHS)
@pytest.mark.parametrize("solver", KNOW_L1)
def test_observed_weights_and_candidates_are_certified_as_well(solver, C, penalty):
    X, y = rows("counts", 5)
    options = PENALTIES[penalty] | {"C": C}
    sizes = np.full(12, 5)
    fits = (
        lambda **more: LogisticRegression(weights="observed", **options, **more).fit(X, y),
        lambda **more: CandidateClassifier(**options, **more).fit(X, y[:12] % 5, sizes),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fit in fits:
            best, model = fit(solver="newton", max_iter=3000, tol=1e-11), fit(solver=solver, max_iter=50, tol=TOL)
            gap = model.certificate_["duality_gap"]
            assert model.objective_ - best.objective_ <= gap + ROUNDING * model.objective_
            assert model.converged_ == (gap <= TOL * model.objective_)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_weighted_rows_of_many_labels_are_certified(solver):
    X, y = rows("counts", 20)
    weights = np.random.default_rng(0).uniform(0, 3, len(y)) * (np.arange(len(y)) > 2)
    for penalty in SMOOTH + SPARSE:
        options = PENALTIES[penalty] | {"C": 10.0, "max_iter": 2000, "class_weight": "balanced"}
        model = LogisticRegression(**options, solver=solver)
        model.fit(X, y, sample_weight=weights + 0.01)
        assert model.converged_
        assert model.certificate_["duality_gap"] <= TOL * model.objective_


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
def test_rare_labels_that_saturate_stop_no_solver(solver):
    """Forty labels, most of them of a few rows, each with words of its own."""
    rng = np.random.default_rng(4)
    y = np.minimum(rng.zipf(1.3, 1500) - 1, 39)
    columns = rng.integers(0, 30, (1500, 6)) + 30 * y[:, np.newaxis]
    columns[rng.random(columns.shape) < 0.1] = 0
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), np.arange(1501) * 6), (1500, 1200))
    best = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(X, y).objective_
    model = LogisticRegression(C=1.0, solver=solver, max_iter=1000).fit(X, y)
    assert model.converged_
    assert model.objective_ <= best * (1 + TOL)
    tokens = [[f"f{column}" for column in row] for row in columns[:300]]
    sentences = [tokens[start : start + 10] for start in range(0, 300, 10)]
    tags = [[str(label) for label in y[start : start + 10]] for start in range(0, 300, 10)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = MEMM(C=100.0, solver=solver).fit(sentences, tags)
        least = MEMM(C=100.0, tol=1e-8, max_iter=1000).fit(sentences, tags).objective_
    assert tagger.objective_ - least <= tagger.certificate_["duality_gap"] + ROUNDING
    assert tagger.converged_ == (tagger.certificate_["duality_gap"] <= TOL * tagger.objective_)
