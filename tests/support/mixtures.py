"""What the tests of mixtures share: planted components, fits, and what it means that two are one."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fastlin import MultinomialMixture
from support.strategies import sparse_matrices

WAYS = ("kmeans", "k-means++", "random")
matrices = sparse_matrices(values=("counts",), min_rows=1)
extremes = sparse_matrices(values=("counts", "normal", "tiny", "huge"), min_rows=1).map(abs)


def mixture(*args, **parameters):
    return MultinomialMixture(*args, **{"random_state": 0, **parameters})


def fitted(X, n_components=3, sample_weight=None, **parameters):
    """A model, which need not have converged, nor every component documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture(n_components, **parameters).fit(X, sample_weight=sample_weight)


def planted(n=150, n_features=40, n_components=3, words=30, seed=0):
    """Counts, where each row comes from, and φ: components that differ."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_features, 0.2), n_components)
    origins = rng.integers(0, n_components, n)
    X = np.array([rng.multinomial(rng.integers(1, 2 * words), phi[c]) for c in origins])
    return sp.csr_array(X.astype(float)), origins, phi


def never_falls(model):
    assert (np.diff(model.bound_) >= 0).all()
    assert len(model.bound_) == len(model.history_) == model.n_iter_ + 1
    assert [-record["objective"] for record in model.history_] == model.bound_.tolist()
    assert model.objective_ == -model.bound_[-1]


def same_bits(one, other):
    for name in ("weights_", "feature_log_prob_", "feature_count_", "bound_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def close(one, other, order=slice(None), rtol=1e-9):
    """The same model to rounding, the components of `other` in another order."""
    np.testing.assert_allclose(one.weights_, other.weights_[order], rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(one.feature_count_, other.feature_count_[order], rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(one.bound_, other.bound_, rtol=rtol)


def partition(components):
    """Which rows are together."""
    return components[:, np.newaxis] == components
