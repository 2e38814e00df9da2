"""LogisticRegression(weights="sparse"): the optimum and the certificate of dense weights, in memory for few of them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fastlin import Corpus, LogisticRegression, LogisticRegressionCV, load, save
from fastlin.data import corpus as corpora
from support.logistic_problems import KINDS, rows
from support.resuming import stop_after_each_record
from support.strategies import sparse_matrices

PENALTIES = {
    "l1": {"penalty": "l1"},
    "no intercept": {"penalty": "l1", "fit_intercept": False},
    "elastic net": {"l1_ratio": 0.6},
    "a strength each": {"penalty": "l1", "prior_variance": np.linspace(0.1, 30, 25)},
}


def fit(X, y, sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a fit that does not converge says so
        shared = {"penalty": "l1", "max_iter": 500, "weights": "sparse"}
        return LogisticRegression(**shared | options).fit(X, y, sample_weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_labels", [2, 5, 50])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_optimum_and_its_certificate_are_those_of_dense_weights(penalty, C, n_labels, kind):
    X, y = rows(kind, n_labels)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    options = {"penalty": "elasticnet", "C": C, "tol": 1e-6, "max_iter": 500} | PENALTIES[penalty]
    model, dense = (fit(X, y, weights, **options, weights=kept) for kept in ("sparse", "dense"))
    assert sparse.issparse(model.coef_)
    assert model.coef_.has_canonical_format
    assert model.coef_.data.all()
    assert model.objective_ == pytest.approx(dense.objective_, rel=2e-6)
    assert model.certificate_["duality_gap"] <= 1e-6 * model.objective_
    assert model.objective_ - dense.objective_ <= model.certificate_["duality_gap"] + 1e-9 * model.objective_
    assert dense.objective_ - model.objective_ <= dense.certificate_["duality_gap"] + 1e-9 * model.objective_
    assert model.n_iter_ <= 2 * dense.n_iter_ + 5
    np.testing.assert_allclose(model.predict_proba(X), dense.predict_proba(X), atol=2e-2)
    assert model.certificate_["moment_gap"] == pytest.approx(dense.certificate_["moment_gap"], rel=1e-2, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_labels", [2, 4])
def test_the_moment_gap_is_of_all_weights(n_labels, intercept):
    """Of none that is kept, under a strong prior: the largest slope of the weights at zero is below λ₁."""
    X, y = rows("counts", n_labels)
    model = fit(X, y, C=1e-3, fit_intercept=intercept)
    assert model.coef_.nnz == 0
    residual = (model.predict_proba(X) - (y[:, np.newaxis] == model.classes_))[:, -model.coef_.shape[0] :]
    assert model.certificate_["moment_gap"] == pytest.approx(np.abs(X.T @ residual).max(), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    X=sparse_matrices(values=("normal", "counts", "tiny")),
    seed=st.integers(0, 1000),
    n_labels=st.integers(2, 6),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_of_any_matrix(X, seed, n_labels, C):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, X.shape[0])
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, dense = (
            LogisticRegression(penalty="l1", C=C, weights=kept, tol=1e-6).fit(X, y) for kept in ("sparse", "dense")
        )
    assert model.converged_ or not dense.converged_
    assert model.objective_ - model.certificate_["duality_gap"] <= dense.objective_ * (1 + 1e-12)
    assert dense.objective_ - dense.certificate_["duality_gap"] <= model.objective_ * (1 + 1e-12)


def test_a_feature_that_nothing_holds_back_has_no_gap():
    X, y = rows("counts", 3)
    variance = np.full(25, 0.05)
    variance[0] = np.inf
    model, dense = (fit(X, y, prior_variance=variance, weights=kept, tol=1e-7) for kept in ("sparse", "dense"))
    assert "duality_gap" not in model.certificate_
    assert model.coef_[:, [0]].toarray().all()
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-6)


MEASURE = """
import resource, sys
import numpy as np
from scipy import sparse
from fastlin import LogisticRegression
n, K, V = 600, 300, 40_000
rng = np.random.default_rng(0)
y = np.arange(n) % K
own = rng.integers(0, V, (K, 10))
columns = np.concatenate([own[y], rng.integers(0, V, (n, 10))], axis=1)
X = sparse.csr_array((np.ones(columns.size), columns.ravel(), np.arange(n + 1) * 20), (n, V))
few = LogisticRegression(penalty="l1", C=3.0, weights="sparse").fit(X[:20], y[:20])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = LogisticRegression(penalty="l1", C=3.0, weights=sys.argv[1]).fit(X, y)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, np.count_nonzero(abs(model.coef_).sum(axis=1)))
"""


def test_memory_is_for_what_is_not_zero():
    """Another process learns 300 labels × 40,000 columns: 96 MB for one array of all weights."""
    grown, labels = map(int, subprocess.check_output([sys.executable, "-c", MEASURE, "sparse"], text=True).split())
    assert labels == 300
    assert grown < 80_000  # KB


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_fit_goes_on_from_its_checkpoint(n_labels, tmp_path):
    X, y = rows("counts", n_labels)
    stop_after_each_record(
        lambda **more: LogisticRegression(penalty="l1", C=3.0, weights="sparse", tol=1e-6, **more),
        ("intercept_", "certificate_", "n_iter_", "converged_"),
        (X, y),
        tmp_path / "checkpoint",
    )


def test_threads_layouts_and_one_segment_do_not_change_a_bit(tmp_path, monkeypatch):
    X, y = rows("counts", 5)
    one = fit(X, y)
    dense = X.toarray()
    dense.flags.writeable = False
    written = Corpus(X, y).write(tmp_path / "corpus")
    for other in (fit(X, y, n_jobs=3), fit(dense, y), LogisticRegression(**one.get_params()).fit(written)):
        np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
    half = fit(X.astype(np.float32), y)
    assert half.coef_.dtype == np.float32
    monkeypatch.setattr(corpora, "SEGMENT", 100)
    with pytest.raises(ValueError, match="weights='sparse' needs its rows in memory, and the corpus has"):
        LogisticRegression(**one.get_params()).fit(Corpus(X, y))


@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_warm_start_begins_from_the_weights_in_either_form(n_labels):
    X, y = rows("counts", n_labels)
    model = fit(X, y, C=2.0, warm_start=True)
    first, objective = model.n_iter_[0], model.objective_
    assert model.fit(X, y).n_iter_ <= 1 < first
    assert model.densify().fit(X, y).n_iter_ <= 1
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    model.set_params(weights="dense").fit(X, y)
    assert model.n_iter_ <= 1
    assert isinstance(model.coef_, np.ndarray)
    wide = fit(X, y, C=2.0, weights="observed")  # two labels have two columns there
    narrow = wide.set_params(weights="sparse", warm_start=True).fit(X, y)
    assert narrow.objective_ == pytest.approx(objective, rel=2e-4)
    with pytest.raises(ValueError, match="warm_start goes on with the same labels and features"):
        model.set_params(weights="sparse").fit(X[:, :9], y)


def test_a_callback_sees_sparse_weights_and_may_end_the_fit():
    X, y = rows("counts", 4)
    seen = []

    def callback(model, record):
        seen.append((model.coef_.nnz, record["objective"]))
        return len(seen) == 3

    model = fit(X, y, callback=callback)
    assert seen[0][0] == 0 < seen[2][0]
    assert model.coef_.nnz == seen[2][0]


def test_a_model_file_stays_sparse(tmp_path):
    X, y = rows("counts", 5)
    model = fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert sparse.issparse(again.coef_)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l2"}, {"penalty": "elasticnet"}, {"penalty": "group"}, {"solver": "lbfgs"}, {"solver": "newton"},
    ],
)  # fmt: skip
def test_what_has_no_sparse_weights_is_refused(options):
    X, y = rows("counts", 3)
    with pytest.raises(ValueError, match="weights='sparse' is for an L1 term by solver='auto'; got penalty="):
        fit(X, y, **options)
    with pytest.raises(ValueError, match="cutoff"):
        fit(X, y, cutoff=2)
    with pytest.raises(ValueError, match="weights must be one of 'dense', 'observed'"):
        LogisticRegressionCV(penalty="l1", weights="sparse").fit(X, y)
