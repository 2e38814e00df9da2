"""Solvers of maximum-entropy language models: one optimum, products with the Hessian, mini-batches."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fastlin.lm import MaxentLM
from fastlin.optim.solvers.minibatch import MinibatchSampler
from fastlin.runtime.parallel import WorkerPool

pytestmark = pytest.mark.filterwarnings("ignore:.*discount.*:UserWarning")
CORPORA = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=12)
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran", "a dog", "the", "cat dog cat dog"] * 3
MODELS = [
    {"order": 1},
    {"order": 3},
    {"order": 4, "cutoff": 2},
    {"order": 3, "unk": None, "prior_variance": 0.5},
    {"order": 2, "classes": 5},
    {"order": 4, "classes": 6, "cutoff": [1, 2]},
]
BATCH, STOCHASTIC = ("auto", "lbfgs", "newton", "cg", "gd"), {"sgd": 2e-3, "adagrad": 2e-3}
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 2), st.sampled_from([None, 5]))


def fitted(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MaxentLM(**options).fit(TEXT)


def objective_of(sentences, shape, workers):
    order, cutoff, classes = shape
    if order == 1:
        classes = None
    lm = MaxentLM(order, prior_variance=(5.0, 3.0, 2.0), cutoff=cutoff, classes=classes)
    fit = lm._begin([" ".join(s) for s in sentences], lm._variances(), workers)
    return fit.objective, fit.theta


@pytest.mark.parametrize("options", MODELS, ids=str)
def test_all_solvers_have_one_optimum(options):
    optimum = fitted(**options, tol=1e-13, max_iter=1000).objective_
    start = fitted(**options, tol=1e9).objective_
    assert start > optimum * (1 + 1e-4)
    for solver in BATCH:
        model = fitted(**options, solver=solver, tol=1e-7, max_iter=20000)
        assert model.converged_
        assert 0 <= model.objective_ / optimum - 1 + 1e-12 <= 1e-6
    for solver, gap in STOCHASTIC.items():
        model = fitted(**options, solver=solver, tol=1e-9, max_iter=60, random_state=0)
        assert model.objective_ / optimum - 1 <= min(gap, 0.1 * (start / optimum - 1))
        assert model.objective_ / optimum - 1 <= (1 + 1e-4) * model.certificate_["duality_gap"]
        assert model.objective_ == min(record["objective"] for record in model.history_)


@pytest.mark.parametrize("solver", [*BATCH, *STOCHASTIC])
def test_every_solver_starts_at_kneser_and_ney(solver):
    model = fitted(order=3, solver=solver, tol=1e9)
    assert model.n_iter_ == 0
    assert model.converged_
    assert model.history_[0]["objective"] == fitted(order=3, tol=1e9).objective_


@pytest.mark.parametrize("solver", ["newton", "cg", "gd"])
def test_newton_takes_fewest_iterations(solver):
    assert fitted(order=3, solver="newton", tol=1e-9).n_iter_ <= fitted(order=3, solver=solver, tol=1e-9).n_iter_


@given(CORPORA, SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([0.3, 3.0]))
def test_products_with_the_hessian_are_differences_of_gradients(sentences, shape, seed, size):
    generator = np.random.default_rng(seed)
    with WorkerPool(1) as workers:
        objective, theta = objective_of(sentences, shape, workers)
        theta += size * generator.normal(size=len(theta))
        p, q = generator.normal(size=(2, len(theta)))
        gradients = [np.empty(len(theta)) for _ in range(2)]
        step = 1e-5
        for gradient, sign in zip(gradients, (1, -1), strict=True):
            objective.value(theta + sign * step * p, gradient)
        objective.value(theta, np.empty(len(theta)))
        products = [np.empty(len(theta)) for _ in range(2)]
        curvature = objective.product(p, products[0])
        objective.product(q, products[1])
    wanted = (gradients[0] - gradients[1]) / (2 * step)
    np.testing.assert_allclose(products[0], wanted, rtol=1e-4, atol=1e-4)
    assert curvature == pytest.approx(p @ products[0])
    assert curvature > 0
    assert q @ products[0] == pytest.approx(p @ products[1], rel=1e-8, abs=1e-8)


@given(CORPORA, SHAPES, st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_the_gradients_of_mini_batches_add_up(sentences, shape, seed, n_batches):
    generator = np.random.default_rng(seed)
    with WorkerPool(1) as workers:
        objective, theta = objective_of(sentences, shape, workers)
        theta += generator.normal(size=len(theta))
        gradient, total = np.empty(len(theta)), np.zeros(len(theta))
        objective.value(theta, gradient)
        parts = generator.integers(0, n_batches, len(objective.masses))
        share = generator.random(len(objective.masses))
        for batch in range(n_batches):
            units = np.flatnonzero(parts == batch)
            for shares in (share[units], 1 - share[units]):
                own = np.zeros(len(theta))
                objective.sample(theta, units, shares, own)
                total += own
        pull = objective.prior.precision * (theta - (objective.prior.mean if len(objective.prior.mean) else 0))
    np.testing.assert_allclose(total + pull, gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", [(1, 1, None), (3, 1, None), (4, 2, None), (3, 1, 5)])
def test_an_epoch_takes_every_event_once(shape):
    with WorkerPool(1) as workers:
        objective, theta = objective_of([s.split() for s in TEXT], shape, workers)
        gradient, total, masses = np.empty(len(theta)), np.zeros(len(theta)), []
        objective.value(theta, gradient)
        batches = MinibatchSampler(objective)

        def take(slopes, events):
            np.add(total, slopes, out=total)
            masses.append(events)

        batches.epoch(np.random.default_rng(0), theta, take)
    assert len(masses) > 8
    assert sum(masses) == pytest.approx(objective.masses.sum())
    assert max(masses) <= 3 * objective.masses.sum() / 64 + 1
    np.testing.assert_allclose(total, gradient, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("solver", ["newton", "cg", "gd", "sgd", "adagrad"])
@pytest.mark.parametrize("classes", [None, 5])
def test_a_fit_that_is_resumed_has_the_same_bits(solver, classes, tmp_path):
    class Stop(Exception):
        pass

    def stop(model, record):
        if record["iteration"] == 3:
            raise Stop

    options = {"order": 3, "solver": solver, "classes": classes, "tol": 1e-12, "max_iter": 5, "random_state": 3}
    whole = fitted(**options)
    with pytest.raises(Stop):
        MaxentLM(**options, callback=stop).fit(TEXT, checkpoint=tmp_path / "fit", checkpoint_interval=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        resumed = MaxentLM(**options).fit(TEXT, checkpoint=tmp_path / "fit", checkpoint_interval=0, resume=True)
    assert [r["objective"] for r in resumed.history_] == [r["objective"] for r in whole.history_]
    for ours, theirs in zip(resumed.weights_, whole.weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("solver", ["sgd", "adagrad", "newton"])
def test_a_callback_sees_the_model_and_may_end_the_fit(solver):
    seen = []

    def look(model, record):
        seen.append((record["objective"], model.perplexity(TEXT)))
        return record["iteration"] == 2

    model = MaxentLM(3, solver=solver, tol=0, random_state=0, callback=look).fit(TEXT)
    assert len(seen) == 3
    assert model.n_iter_ == 2
    assert seen[-1][1] != seen[0][1]
    assert min(seen)[0] == model.objective_
    assert model.perplexity(TEXT) == min(seen)[1]


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_equal_seeds_have_equal_bits_and_weights_without_bounds_stay_numbers(solver):
    options = {"order": 3, "solver": solver, "max_iter": 4, "tol": 0}
    one, same, other = (fitted(**options, random_state=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(one.weights_, same.weights_, strict=True))
    assert any((a != b).any() for a, b in zip(one.weights_, other.weights_, strict=True))
    free = fitted(order=2, solver=solver, prior_variance=1e12, max_iter=30, tol=0, random_state=0)
    assert np.isfinite(free.objective_)
    assert all(np.isfinite(part).all() for part in free.weights_)
    assert free.objective_ <= free.history_[0]["objective"]


@pytest.mark.parametrize("solver", ["newton", "sgd", "cg"])
def test_threads_change_no_bit(solver):
    generator = np.random.default_rng(0)
    text = [" ".join(f"w{int(w)}" for w in generator.zipf(1.3, size=20) % 3000) for _ in range(2000)]
    options = {"solver": solver, "tol": 0.05, "max_iter": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, more = (MaxentLM(3, n_jobs=n, **options).fit(text) for n in (1, 2))
    for ours, theirs in zip(one.weights_, more.weights_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_solvers_are_named():
    with pytest.raises(ValueError, match=r"(?i)solver.*lbfgs"):
        MaxentLM(solver="lbgfs").fit(TEXT)
