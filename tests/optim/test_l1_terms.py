"""Sums and subgradients of L1 terms and elastic nets over whole models, against the same in numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fastlin.engine.core import vector_ops

seeds = st.integers(0, 10_000)


def drawn(seed, per_weight):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    theta, slopes = rng.normal(size=n) * (rng.random(n) < 0.5), 2 * rng.normal(size=n)
    return rng, theta, slopes, rng.random(n if per_weight else 1)


@given(seeds, st.booleans())
def test_the_pseudo_gradient_is_the_subgradient_of_least_norm(seed, per_weight):
    _, theta, slopes, l1 = drawn(seed, per_weight)
    found = np.empty(len(theta))
    vector_ops.pseudo_gradient(theta, slopes, l1, found)
    at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - l1, 0)
    np.testing.assert_array_equal(found, np.where(theta == 0, at_zero, slopes + l1 * np.sign(theta)))


@given(seeds, st.booleans(), st.booleans())
def test_the_gap_of_an_elastic_net_is_h_and_its_conjugate(seed, per_weight, gaussian):
    rng, theta, slopes, l1 = drawn(seed, per_weight)
    l2, share = gaussian * (rng.random(len(theta)) + 0.1), rng.random()
    g = share * slopes if gaussian else np.clip(share * slopes, -l1, l1)
    terms = l1 * np.abs(theta) + 0.5 * l2 * theta**2 + g * theta
    if gaussian:
        terms += np.maximum(np.abs(g) - l1, 0) ** 2 / (2 * l2)
    found = vector_ops.fenchel_young_gap(theta, slopes if gaussian else g / share, share, l1, l2)
    np.testing.assert_allclose(found, np.maximum(terms, 0).sum(), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_the_l1_norm(seed):
    _, theta, _, _ = drawn(seed, False)
    np.testing.assert_allclose(vector_ops.l1_norm(theta), np.abs(theta).sum(), rtol=1e-13)


def test_what_is_not_a_number_stays():
    theta, slopes, one, found = np.array([0.0, 1.0]), np.array([np.nan, np.nan]), np.ones(1), np.empty(2)
    vector_ops.pseudo_gradient(theta, slopes, one, found)
    assert np.isnan(found).all()
    assert np.isnan(vector_ops.fenchel_young_gap(theta, slopes, 1.0, one, one))
    assert np.isnan(vector_ops.l1_norm(slopes))
