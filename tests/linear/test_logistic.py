"""Laws of the optimum: what is true of every fitted LogisticRegression, whoever found it."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer

from fastlin import LogisticRegression, MaxEnt
from oracles.log_linear import same_moments
from support.estimators import assert_same_bits
from support.logistic_problems import (
    PROBLEMS,
    SPARSE,
    assert_optimal,
    canonical,
    counts,
    excess,
    posed,
    solve,
    theta_of,
    tight,
    twin_of,
    two_sided,
)
from support.strategies import LABEL_KINDS, labelled, named, weighted

# --- the optimum -----------------------------------------------------------------------------------------------------


@given(
    data=st.data(),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    fit_intercept=st.booleans(),
    l1_ratio=st.sampled_from([0.0, 0.0, 0.6, 1.0]),
    observed=st.booleans(),
)
def test_the_twins_optimum_is_reached_on_awkward_matrices(data, C, fit_intercept, l1_ratio, observed):
    X, y, n_labels = data.draw(labelled())
    weights = data.draw(st.none() | weighted(len(y)))
    assume(weights is None or np.bincount(y, weights, n_labels).min() > 0)  # or an intercept has no optimum
    model = tight(C=C, fit_intercept=fit_intercept, l1_ratio=l1_ratio, weights="observed" if observed else "dense")
    twin = twin_of(model, X, y, weights)
    assert_optimal(model.fit(X, y, sample_weight=weights), twin, twin.minimum(), atol=1e-2)


@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_worse_than_scikit_learns_and_close_to_it(n_labels, C, fit_intercept):
    X, y, weights = two_sided(n_labels)
    options = {"C": C, "fit_intercept": fit_intercept, "max_iter": 10_000}
    peer = Peer(tol=1e-8, **options).fit(X, y, sample_weight=weights)
    model = tight(**options).fit(X, y, sample_weight=weights)
    twin = twin_of(model, X, y, weights)
    reached, theirs = (twin.objective(theta_of(fitted, twin)) for fitted in (model, peer))
    assert reached <= theirs + 1e-9 * abs(theirs)
    assert model.coef_.shape == peer.coef_.shape
    assert model.intercept_.shape == peer.intercept_.shape
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4, atol=1e-5)
    assert n_labels == 2 or abs(model.intercept_.mean()) < 1e-12  # of all the shifts, the one without
    np.testing.assert_allclose(
        canonical(twin, theta_of(model, twin)), canonical(twin, theta_of(peer, twin)), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_the_sparse_model_is_scikit_learns(n_labels, l1_ratio):
    X, y, _ = two_sided(n_labels)
    options = {"penalty": "elasticnet"} if Peer().penalty == "l2" else {}  # until 1.7 its l1_ratio needed that
    peer = Peer(C=0.2, l1_ratio=l1_ratio, solver="saga", tol=1e-9, max_iter=50_000, random_state=0, **options).fit(X, y)
    model = tight(C=0.2, l1_ratio=l1_ratio).fit(X, y)
    assert (model.coef_ == 0).any()
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-5)


# --- the certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PROBLEMS, *SPARSE])
def test_the_certificate_says_what_the_twin_says(name):
    model, twin, best = solve(name, "auto")
    theta, certificate = theta_of(model, twin), model.certificate_
    np.testing.assert_allclose(model.objective_, twin.objective(theta), rtol=1e-9)
    np.testing.assert_allclose(certificate["objective"], model.objective_, rtol=1e-12)
    np.testing.assert_allclose(certificate["entropy"], twin.entropy(theta), rtol=1e-7)
    np.testing.assert_allclose(certificate["moment_gap"], twin.moment_gap(theta), rtol=1e-6, atol=1e-9 * twin.size())
    assert model.converged_ is True
    gap = certificate.get("duality_gap")
    if gap is not None and np.isfinite(gap):
        assert gap >= 0
        assert twin.objective(theta) - twin.objective(best) <= gap + 1e-10 * twin.size()


@pytest.mark.parametrize("name", [*PROBLEMS, *SPARSE])
@pytest.mark.parametrize("solver, max_iter", [("auto", 1), ("newton", 1), ("lbfgs", 1), ("lbfgs", 3)])
def test_the_certificate_of_an_unfinished_model_is_true_as_well(name, solver, max_iter):
    X, y, weights, parameters, twin, best = posed(name)
    model = LogisticRegression(**parameters, solver=solver, max_iter=max_iter, tol=1e-12, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y, sample_weight=weights)
    assert model.converged_ is False
    theta, certificate = theta_of(model, twin), model.certificate_
    np.testing.assert_allclose(model.objective_, twin.objective(theta), rtol=1e-9)
    np.testing.assert_allclose(certificate["entropy"], twin.entropy(theta), rtol=1e-7)
    np.testing.assert_allclose(certificate["moment_gap"], twin.moment_gap(theta), rtol=1e-6, atol=1e-6)
    gap = certificate.get("duality_gap")
    if gap is not None:
        assert gap >= model.objective_ - twin.objective(best)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("options", [{}, {"weights": "observed", "cutoff": 10}])
def test_without_a_prior_observed_is_expected_and_the_entropy_is_the_largest(n_labels, options):
    """The duality: of all p with these expected counts, maximum likelihood has the largest entropy, −log likelihood."""
    X, y, weights = counts(n_labels, n_rows=24, n_features=3)
    model = tight(C=np.inf, **options).fit(X, y, sample_weight=weights)
    twin = twin_of(model, X, y, weights)
    p = model.predict_proba(X)
    np.testing.assert_allclose(np.einsum("i,ik,ikp->p", weights, p, twin.F), twin.observed, atol=1e-5)
    assert model.certificate_["moment_gap"] < 1e-5

    def entropy(q):
        return -weights @ (q * np.log(q)).sum(axis=1)

    assert model.certificate_["entropy"] == pytest.approx(entropy(p), rel=1e-9)
    assert entropy(p) == pytest.approx(model.objective_, rel=1e-6)
    for direction in same_moments(twin, limit=30):
        for sign in (-0.5, 0.5):
            q = p + sign * direction * (p / np.maximum(np.abs(direction), 1e-300)).min()
            assert entropy(q) < entropy(p)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_duality_gap_is_a_bound_however_far_the_intercept_is(solver, C):
    X, y, _ = two_sided(3)
    y[:30] = 0
    model = LogisticRegression(C=C, solver=solver, max_iter=1, tol=1e-12, random_state=0).fit(X, y)
    twin = twin_of(model, X, y)
    above = twin.objective(theta_of(model, twin)) - twin.objective(twin.minimum())
    assert above <= model.certificate_.get("duality_gap", np.inf)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_an_intercept_makes_the_labels_shares_right_under_any_prior(n_labels):
    X, y, weights = two_sided(n_labels)
    model = tight(C=0.05).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weights @ model.predict_proba(X), np.bincount(y, weights), rtol=1e-6)


# --- what it says of rows --------------------------------------------------------------------------------------------


@given(data=st.data())
def test_probabilities_are_the_softmax_of_the_scores(data):
    X, y, n_labels = data.draw(labelled(values=("normal", "counts", "tiny")))
    model = LogisticRegression(max_iter=5000).fit(X, y)
    p, log_p, scores = model.predict_proba(X), model.predict_log_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-12)
    dense = X.toarray()
    expected = dense @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores, expected[:, 0] if n_labels == 2 else expected, rtol=1e-9, atol=1e-12)
    columns = np.column_stack([np.zeros(len(y)), scores]) if n_labels == 2 else scores
    best = columns.max(axis=1)
    odds = np.exp(columns - best[:, None])
    np.testing.assert_allclose(p, odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(columns[np.arange(len(y)), model.predict(X)], best, rtol=1e-9, atol=1e-12)
    assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y))


def test_log_probabilities_keep_their_digits_where_probabilities_vanish():
    X, y, _ = counts(3)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    far = sparse.csr_matrix(1e6 * X[:5].toarray())
    log_p = model.predict_log_proba(far)
    assert np.isfinite(log_p).all()
    assert log_p.min() < -1000
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels_of_any_kind_give_the_same_model(kind):
    X, y, _ = counts(2)
    model, plain = (LogisticRegression(random_state=0).fit(X, labels) for labels in (named(y, kind), y))
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.classes_, np.unique(named(y, kind)))
    np.testing.assert_array_equal(model.predict(X), named(plain.predict(X), kind))


# --- what must not matter --------------------------------------------------------------------------------------------

CASES = {
    "binary": (2, {"C": 2.0}),
    "multinomial": (3, {"C": 2.0}),
    "observed": (3, {"weights": "observed"}),
    "L1": (3, {"C": 0.2, "l1_ratio": 1.0}),
}


def assert_close(one, other, atol=1e-5):
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_ - one.intercept_[0], other.intercept_ - other.intercept_[0], atol=atol)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-8)


@pytest.fixture(params=CASES)
def case(request):
    n_labels, options = CASES[request.param]
    X, y, weights = counts(n_labels)
    return X, y, weights, options


def test_the_order_of_rows_does_not_matter(case):
    X, y, weights, options = case
    order = np.random.default_rng(0).permutation(len(y))
    assert_close(
        tight(**options).fit(X, y, sample_weight=weights),
        tight(**options).fit(X[order], y[order], sample_weight=weights[order]),
    )


def test_the_order_of_columns_does_not_matter(case):
    X, y, weights, options = case
    order = np.random.default_rng(0).permutation(X.shape[1])
    model, other = (tight(**options).fit(Z, y, sample_weight=weights) for Z in (X, X[:, order]))
    np.testing.assert_allclose(other.coef_, model.coef_[:, order], atol=1e-5)


def test_two_rows_are_one_of_twice_the_weight_and_weight_zero_is_no_row(case):
    X, y, _, options = case
    times = np.random.default_rng(2).integers(0, 3, size=len(y))
    kept = np.repeat(np.arange(len(y)), times)
    assert_close(tight(**options).fit(X, y, sample_weight=times), tight(**options).fit(X[kept], y[kept]))


def test_rows_of_weight_zero_are_not_seen_by_a_cutoff():
    X, y, weights = counts(3)
    weights = weights * (np.random.default_rng(2).random(len(y)) < 0.6)
    options, kept = {"weights": "observed", "cutoff": 5}, np.flatnonzero(weights)
    model = tight(**options).fit(X, y, sample_weight=weights)
    assert_close(model, tight(**options).fit(X[kept], y[kept], sample_weight=weights[kept]))
    assert ((model.coef_ != 0).sum()) < (tight(**options).fit(X, y).coef_ != 0).sum()


def test_weights_scale_as_one_over_c(case):
    X, y, weights, options = case
    C = options.get("C", 1.0)
    one = tight(**{**options, "C": C}).fit(X, y, sample_weight=3 * weights)
    other = tight(**{**options, "C": 3 * C}).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    assert one.objective_ == pytest.approx(3 * other.objective_, rel=1e-8)


def test_explicit_zeros_change_nothing(case):
    X, y, weights, options = case
    dense = X.toarray()
    full = sparse.csr_matrix(dense.shape)
    full.data, full.indices = dense.ravel().copy(), np.tile(np.arange(dense.shape[1], dtype=np.int32), len(dense))
    full.indptr = np.arange(len(dense) + 1, dtype=np.int32) * dense.shape[1]
    assert full.nnz > X.nnz
    assert_close(tight(**options).fit(full, y, weights), tight(**options).fit(X, y, weights))


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.csr_array, sparse.coo_matrix, lambda X: X.toarray()])
def test_any_form_of_matrix_gives_the_same_bits(case, form):
    X, y, weights, options = case
    X.eliminate_zeros()
    options = {**options, "max_iter": 5000, "random_state": 0}
    assert_same_bits(
        LogisticRegression(**options).fit(form(X), y, weights), LogisticRegression(**options).fit(X, y, weights)
    )


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "iis"])
def test_two_threads_give_the_same_bits(monkeypatch, case, solver):
    from fastlin.runtime import parallel

    X, y, weights, options = case
    solver = "newton" if options.get("l1_ratio") and solver == "iis" else solver
    monkeypatch.setattr(parallel, "BLOCK_WORK", 64)  # many blocks
    one, two = (
        LogisticRegression(**options, solver=solver, tol=1e-3, max_iter=2000, n_jobs=jobs, random_state=0).fit(
            X, y, weights
        )
        for jobs in (1, 2)
    )
    assert_same_bits(one, two)
    assert one.objective_ == two.objective_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_float32_input_gives_nearly_the_same_model(case):
    X, y, weights, options = case
    X = X.copy()
    X.data = X.data * np.float32(1 / 3)
    twin = twin_of(LogisticRegression(**options), X, y, weights)
    model = LogisticRegression(**options, tol=1e-6, max_iter=5000).fit(X.astype(np.float32), y, sample_weight=weights)
    assert excess(model, twin, twin.minimum()) <= 1e-6
    assert model.predict_proba(X.astype(np.float32)).sum(axis=1) == pytest.approx(np.ones(len(y)), rel=1e-6)


# --- columns and rows that say little --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prior_mean": 0.7},
        {"l1_ratio": 1.0, "C": 0.5},
        {"weights": "observed"},
        {"weights": "observed", "prior_mean": 0.7},
    ],
)
def test_a_column_that_no_row_has_keeps_its_prior_mean(n_labels, options):
    X, y, _ = counts(n_labels)
    wide = sparse.hstack([X[:, :3], sparse.csr_matrix((X.shape[0], 2)), X[:, 3:]]).tocsr()
    model, narrow = tight(**options).fit(wide, y), tight(**options).fit(X, y)
    expected = 0.0 if options.get("weights") == "observed" else options.get("prior_mean", 0.0)
    np.testing.assert_allclose(model.coef_[:, 3:5], expected, atol=1e-15)
    np.testing.assert_allclose(np.delete(model.coef_, [3, 4], axis=1), narrow.coef_, atol=1e-6)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_constant_column_leaves_the_work_to_the_intercept(n_labels):
    X, y, _ = counts(n_labels)
    constant = sparse.hstack([X, np.full((X.shape[0], 1), 5.0)]).tocsr()
    model, plain = tight().fit(constant, y), tight().fit(X, y)
    np.testing.assert_allclose(model.coef_[:, -1], 0, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(constant), plain.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_empty_rows_and_an_empty_matrix_give_the_shares_of_the_labels(n_labels):
    y = np.arange(20) % n_labels
    y[:5] = 0
    model = tight().fit(sparse.csr_matrix((20, 3)), y)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-15)
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 3)))[0], np.bincount(y) / 20, atol=1e-7)
    flat = tight(fit_intercept=False).fit(sparse.csr_matrix((20, 3)), y)
    np.testing.assert_allclose(flat.predict_proba(np.ones((1, 3))), 1 / n_labels)


def test_a_cutoff_above_all_counts_leaves_the_intercepts():
    X, y, weights = counts(3)
    model = tight(weights="observed", cutoff=10**6).fit(X, y, sample_weight=weights)
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    np.testing.assert_array_equal(coef, 0)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y, weights) / weights.sum(), atol=1e-7)


# --- no prior, separable ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "cg", "gd"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_separable_data_without_a_prior_grow_weights_and_break_no_numbers(n_labels, solver):
    y = np.arange(30) % n_labels
    X = sparse.csr_matrix(np.eye(n_labels)[y] * 3.0)
    model = LogisticRegression(C=np.inf, solver=solver, tol=1e-12, max_iter=300).fit(X, y)
    for value in (model.coef_, model.intercept_, model.objective_, model.predict_log_proba(X)):
        assert np.isfinite(value).all()
    assert model.objective_ < 0.05
    assert all(np.isfinite(value) for value in model.certificate_.values() if value is not None)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


# --- an object among objects -----------------------------------------------------------------------------------------


def test_maxent_is_its_other_name():
    assert MaxEnt is LogisticRegression


@pytest.mark.parametrize("name", ["binary, priors", "multinomial", "multinomial, observed"])
def test_a_pickled_model_says_the_same(name):
    model, *_ = solve(name, "auto")
    X = posed(name)[0]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.certificate_ == model.certificate_
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    assert set(fresh.get_params()) == set(model.get_params())


def test_fitting_changes_no_argument():
    X, y, weights, parameters, _, _ = posed("multinomial, priors")
    before = [np.array(a) for a in (X.data, X.indices, X.indptr, y, parameters["prior_variance"])]
    solve("multinomial, priors", "auto")
    for old, new in zip(before, (X.data, X.indices, X.indptr, y, parameters["prior_variance"]), strict=True):
        np.testing.assert_array_equal(old, new)
    assert weights is None


def test_scikit_learns_parameters_and_their_defaults():
    ours = LogisticRegression().get_params()
    for parameter, default in Peer().get_params().items():
        if parameter in ("solver", "penalty", "multi_class"):
            continue
        unset = parameter == "l1_ratio" and default is None  # until 1.7
        assert unset or ours[parameter] == default, parameter
