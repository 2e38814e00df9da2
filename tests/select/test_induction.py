"""Gains are exact, bounds lose nothing, and one feature at a time is the greedy algorithm."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.engine.solvers import feature_gain as kernels
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.solvers.dispatch import SOLVERS
from fastlin.runtime import parallel
from fastlin.select import SelectFeatures
from fastlin.select import induction as induction_module
from fastlin.select.induction import Induction
from fastlin.validation import as_rows
from oracles import feature_selection as reference
from support.estimators import random_sparse, text_like
from support.strategies import labelled, seeds, weighted

CONDITIONS = pytest.mark.parametrize("C", [0.1, 1.0, 20.0])


def grown(X, y, columns=(), weights=None, C=1.0, fit_intercept=True, n_jobs=1):
    """An induction whose model of some columns is at its optimum."""
    weights = np.empty(0) if weights is None else weights
    n_labels = int(y.max()) + 1
    design = Design.of(as_rows(X))
    labels = MultinomialLikelihood(y.astype(np.int32), weights, 1 if n_labels == 2 else n_labels)
    with parallel.WorkerPool(n_jobs) as workers:
        grown = Induction(design, labels, 1 / C, fit_intercept, workers)
        places = np.flatnonzero(np.isin(design.features, columns))
        grown.active = places
        grown.theta = np.zeros((len(places) + fit_intercept) * labels.width)
        grown.refit(SOLVERS["newton"], 1e-12, 200, np.random.default_rng(0))
        found = grown.best(design.n_features, 0.0)
    return grown, design.features[found.places], found


def signal(n_rows=80, n_features=10, n_labels=2, seed=0):
    """Dense numbers of which a few say something about the label; no two columns are alike."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.6, size=(n_rows, n_features)) * rng.uniform(0.5, 1.5, size=(n_rows, n_features))
    y = rng.integers(0, n_labels, size=n_rows)
    for k in range(n_labels):
        X[:, 2 * k] += (y == k) * rng.random(n_rows)
    return X, y


# --- gains -----------------------------------------------------------------------------------------------------------


@CONDITIONS
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("columns", [(), (0, 3)])
def test_gains_are_those_of_an_optimiser_a_feature(C, n_labels, columns):
    X, y = signal(n_labels=n_labels)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, size=len(y))
    n_columns = 1 if n_labels == 2 else n_labels
    scores, objective = reference.fit(X[:, list(columns)], y, weights, n_columns, C, True)
    model, features, found = grown(sparse.csr_matrix(X), y, columns, weights, C)
    for j, k, alpha, gain in zip(features, found.labels, found.alphas, found.gains, strict=True):
        expected = [reference.gain(scores, X[:, j], y, weights, k, C) for k in range(n_columns)]
        assert gain == pytest.approx(max(gain for gain, _ in expected), abs=1e-6)
        assert alpha == pytest.approx(expected[k][1], abs=1e-3)
    assert len(features) == X.shape[1] - len(columns)
    assert model.loss + 0.5 / C * np.sum(model.weights**2) == pytest.approx(objective, abs=1e-6)


@given(labelled(values=("normal", "counts", "huge", "tiny")), st.sampled_from([0.01, 1.0, 1e6, np.inf]), seeds)
def test_gains_are_finite_whatever_the_data(data, C, seed):
    X, y, _ = data
    design = Design.of(as_rows(X))
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 1e-300, 1e-9, 0.3, 0.5, 1 - 1e-9, 1.0], size=len(y))
    hits = (y == 1) & (p > 0)
    table = np.stack([p, 1 - p, np.ones(len(y)), hits], axis=1)
    columns = np.arange(design.n_features)
    alphas, gains = np.empty(len(columns)), np.empty(len(columns))
    arrays = design.column_indptr, design.column_rows, design.column_values
    kernels.gains(*arrays, columns, table, 1 / C, 0.0, alphas, gains)
    assert np.isfinite(alphas).all()
    assert np.isfinite(gains).all()
    assert (gains >= 0).all()


def test_without_a_prior_a_separating_feature_gains_all_that_is_left():
    y = np.arange(40) % 2
    X = sparse.csr_matrix(np.stack([y * 1.0, np.arange(40) % 5 == 0], axis=1))
    _, features, found = grown(X, y, C=np.inf)
    assert features[0] == 0
    assert found.gains[0] == pytest.approx(20 * np.log(2), abs=1e-6)


@pytest.mark.parametrize("uniform", [False, True])
def test_gains_have_the_same_value_in_float32_and_for_columns_of_one_value(uniform):
    X, y = text_like(n_labels=2)
    if uniform:
        X.data[:] = 3.0
    _, features, found = grown(X, y)
    _, features32, found32 = grown(X.astype(np.float32), y)
    np.testing.assert_array_equal(features32, features)
    np.testing.assert_allclose(found32.gains, found.gains, rtol=1e-9)
    for j, gain in zip(features, found.gains, strict=True):
        scores, _ = reference.fit(np.zeros((len(y), 0)), y, np.ones(len(y)), 1, 1.0, True)
        assert gain == pytest.approx(reference.gain(scores, X.toarray()[:, j], y, np.ones(len(y)), 0, 1.0)[0], abs=1e-6)


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_no_gain_is_above_its_bound_and_no_bar_changes_what_is_found(C, n_labels):
    X, y = text_like(n_rows=200, n_features=60, n_labels=n_labels)
    model, _, everything = grown(X, y, columns=(0, 1, 2), C=C)
    bounds = model._bounds().max(axis=1)
    assert (everything.gains <= bounds[everything.places] * (1 + 1e-9)).all()
    for bar in (1e-3, 1.0, 1e3):
        model.bar = bar
        found = model.best(5, 0.0)
        assert len(found.gains) >= 5
        np.testing.assert_array_equal(found.places[:5], everything.places[:5])
        np.testing.assert_array_equal(found.gains[:5], everything.gains[:5])


def test_most_candidates_are_never_maximised(monkeypatch):
    X, y = random_sparse(n_rows=500, n_features=2000, row_length=8, n_labels=2)
    asked = []

    def counting(indptr, rows, values, columns, *rest):
        asked.append(len(columns))
        kernels.gains(indptr, rows, values, columns, *rest)

    monkeypatch.setattr(induction_module, "kernels", type("Counting", (), {"gains": staticmethod(counting)}))
    SelectFeatures(n_features=5, step=1).fit(X, y)
    assert asked[0] > 1000
    assert sum(asked[1:]) < 0.5 * 4 * asked[0]


# --- the greedy algorithm --------------------------------------------------------------------------------------------


@CONDITIONS
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_at_a_time_is_the_greedy_algorithm(C, n_labels, fit_intercept):
    X, y = signal(n_labels=n_labels, seed=4)
    order, gains, objectives = reference.greedy(X, y, 5, C, fit_intercept=fit_intercept)
    model = SelectFeatures(n_features=5, step=1, C=C, fit_intercept=fit_intercept, tol=1e-10).fit(X, y)
    np.testing.assert_array_equal(model.order_, order)
    np.testing.assert_allclose(model.gains_, gains, atol=1e-6)
    np.testing.assert_allclose([record["objective"] for record in model.history_], objectives, rtol=1e-8)
    assert model.estimator_.objective_ == pytest.approx(objectives[-1], rel=1e-8)


@given(labelled(min_rows=12, values=("normal", "counts")), st.data())
def test_the_greedy_algorithm_on_awkward_data(data, draw):
    X, y, _ = data
    weights = draw.draw(weighted(len(y)))
    present = np.unique(y[weights > 0])
    if len(present) < 2:
        return
    dense, codes = X.toarray()[weights > 0], np.searchsorted(present, y[weights > 0])
    n_columns = 1 if len(present) == 2 else len(present)
    model = SelectFeatures(step=1, min_gain=0.01, tol=1e-10)
    scores, _ = reference.fit(dense[:, []], codes, weights[weights > 0], n_columns, 1.0, True)
    args = codes, weights[weights > 0]
    first = [max(reference.gain(scores, x, *args, k, 1.0)[0] for k in range(n_columns)) for x in dense.T]
    if max(first) < 0.0101:
        return
    model.fit(X, y, weights)
    assert model.gains_[0] == pytest.approx(max(first), abs=1e-6)
    chosen = dense[:, model.order_]
    objectives = [reference.fit(chosen[:, :m], *args, n_columns, 1.0, True)[1] for m in range(1, len(model.order_) + 1)]
    np.testing.assert_allclose([record["objective"] for record in model.history_], objectives, rtol=1e-7)


def test_every_round_gains_at_least_what_its_best_feature_promised():
    X, y = text_like(n_rows=300, n_features=80, n_labels=3)
    history = SelectFeatures(n_features=20, step=1, tol=1e-9).fit(X, y).history_
    objectives = np.array([record["objective"] for record in history])
    gains = np.array([record["gain"] for record in history])
    assert (objectives[:-1] - objectives[1:] >= gains[1:] - 1e-6).all()


def test_a_round_of_many_is_nearly_as_good_as_one_at_a_time():
    X, y = text_like(n_rows=600, n_features=300, n_labels=2)
    one, many = (SelectFeatures(n_features=40, step=step).fit(X, y) for step in (1, 0.3))
    assert len(many.history_) <= 20
    assert len(one.history_) == 40
    assert many.estimator_.objective_ < 1.05 * one.estimator_.objective_


def test_a_copy_of_a_feature_does_not_enter_in_the_same_round():
    X, y = signal(n_features=6)
    doubled = np.concatenate([X, X], axis=1) > 0.7
    model = SelectFeatures(n_features=4, step=4).fit(doubled.astype(float), y)
    first_round = model.order_[: model.history_[0]["n_features"]]
    assert len(set(first_round % 6)) == len(first_round)


# --- the design ------------------------------------------------------------------------------------------------------


@given(labelled(values=("normal",)), seeds)
def test_a_restricted_design_has_the_chosen_columns_both_ways(data, seed):
    X, _, _ = data
    design = Design.of(as_rows(X))
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(design.n_features)[: rng.integers(0, design.n_features + 1)]
    part = design.restricted(chosen)
    expected = X.toarray()[:, design.features[chosen]]
    shape = (X.shape[0], len(chosen))
    across = sparse.csr_matrix((part.values, part.indices, part.indptr), shape=shape)
    down = sparse.csc_matrix((part.column_values, part.column_rows, part.column_indptr), shape=shape)
    np.testing.assert_array_equal(across.toarray(), expected)
    np.testing.assert_array_equal(down.toarray(), expected)
    assert part.nnz == across.nnz
