"""The equations of iterative scaling: δ solves Σ a e^{fδ} + ρ(θ + δ) = H to rounding, of whatever size its numbers."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import iterative_scaling


def improve(equations):
    """δ of equations (a, f, H, ρ, θ), each a column of its own."""
    sizes = [len(a) for a, *_ in equations]
    n, total = len(sizes), sum(sizes)
    a, f = (np.concatenate([np.atleast_1d(each[place]) for each in equations]).astype(float) for place in (0, 1))
    levels, level = np.unique(f, return_inverse=True)
    delta = np.full(n, np.nan)
    H, rho, theta = (np.array([each[place] for each in equations], dtype=float) for place in (2, 3, 4))
    columns = CSRView(np.concatenate([[0], np.cumsum(sizes)]), np.arange(total, dtype=np.int32), np.ones(total))
    data = iterative_scaling.TermColumns(columns, np.arange(n + 1), np.zeros(n, np.int32), a[:, np.newaxis])
    level = level[:, np.newaxis].astype(np.int32)
    iterative_scaling.iis_update(data, level, levels, H, rho, 1, theta, delta, 0, n)
    return delta


def error(a, f, H, rho, theta, delta):
    """How far the two sides are apart, as a share of what rounding δ and the counts may do."""
    with mp.workdps(40):
        delta, r = mp.mpf(delta), mp.mpf(H) - mp.mpf(rho) * mp.mpf(theta)
        terms = [mp.mpf(each) * mp.exp(mp.mpf(slope) * delta) for each, slope in zip(a, f, strict=True)]
        steep = sum(mp.mpf(slope) * term for slope, term in zip(f, terms, strict=True)) + rho
        apart = abs(sum(terms) + rho * delta - r)
        return float(apart / (sum(terms) + abs(r) + abs(rho * delta) + steep * abs(delta)))


def drawn(rng, span, prior):
    """Equations whose counts are up to `span` powers of ten from 1, and whose feature sums half as many."""
    for _ in range(40):
        m = rng.integers(1, 12)
        a, f = 10 ** rng.uniform(-span, span, m), 10 ** rng.uniform(-span / 2, span / 2, m)
        f = rng.integers(1, 6, size=m).astype(float) if rng.random() < 0.3 else f
        rho = 10 ** rng.uniform(-span, span) if prior else 0.0
        H = 10 ** rng.uniform(-span, span) * (not prior or rng.random() < 0.7)
        yield a, f, H, rho, rng.normal() * 10 ** rng.uniform(-span, span)


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("span", [0.5, 3, 8])
@given(seed=st.integers(0, 2**32 - 1))
def test_every_step_solves_its_equation(span, prior, seed):
    equations = list(drawn(np.random.default_rng(seed), span, prior))
    for equation, delta in zip(equations, improve(equations), strict=True):
        assert error(*equation, delta) <= 1e-13


@pytest.mark.parametrize("prior", [False, True])
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([1e-3, 1.0, 47.0]))
def test_generalised_steps_are_improved_steps_of_one_sum(prior, seed, C):
    rng = np.random.default_rng(seed)
    n = 600  # more than are solved at a time
    E, H, theta = 10 ** rng.uniform(-3, 3, n), 10 ** rng.uniform(-3, 3, n), rng.normal(size=n)
    rho, delta = 10 ** rng.uniform(-3, 3, n) * prior, np.empty(n)
    iterative_scaling.gis_update(E, H, C, rho, 1, theta, delta)
    wanted = improve([([e], [C], h, r, t) for e, h, r, t in zip(E, H, rho, theta, strict=True)])
    np.testing.assert_allclose(delta, wanted, rtol=1e-11, atol=1e-14 / C)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_a_weight_without_terms(prior, rows):
    """Nothing is expected: without a prior it stays, with one it goes where the prior wants it."""
    equation = ([0.0] * rows, [1.0, 2.0][:rows], 3.0, prior, 0.5)
    assert improve([equation])[0] == pytest.approx(1.0 if prior else 0.0)


def test_many_terms_in_many_batches():
    """Equations of one term, of a few and of thousands, one behind the other."""
    rng = np.random.default_rng(0)
    sizes = [1, 3000, 2, 1, 1500, 700, 600, 1, 5] * 3
    equations = [(rng.uniform(0.1, 2, m), rng.uniform(0.5, 3, m), 5.0 * m, 0.0, 0.0) for m in sizes]
    equations += [(a, f, H, 0.3, 1.0) for a, f, H, *_ in equations]
    for equation, delta in zip(equations, improve(equations), strict=True):
        assert error(*equation, delta) <= 1e-13
