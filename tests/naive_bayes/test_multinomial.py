"""Naive Bayes: scikit-learn's where scikit-learn has it, the naive twin's where not."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes

from fastlin import MultinomialNB
from oracles.naive_bayes import NaiveBayes
from support.estimators import assert_same_bits, random_sparse, text_like
from support.strategies import cuts, labelled, seeds, weighted

counts = labelled(values=("counts",))


def check_against_scikit_learn(ours, theirs, X):
    """Logs to 1e-12, probabilities to 1e-9."""
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-12)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def check_against_twin(ours, twin, X):
    np.testing.assert_allclose(np.exp(ours.feature_log_prob_), twin.phi, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(np.exp(ours.class_log_prior_), twin.mu, rtol=1e-12)
    dense = X.toarray()
    np.testing.assert_allclose(ours.predict_proba(X), [twin.proba(x) for x in dense], rtol=1e-9, atol=1e-12)
    assert np.isfinite(ours.predict_proba(X)).all()


@given(data=st.data(), alpha=st.sampled_from([1.0, 0.01, 1e-9, 30.0]), fit_prior=st.booleans())
def test_naive_bayes_is_scikit_learns(data, alpha, fit_prior):
    X, y, _ = data.draw(counts)
    weights = data.draw(st.none() | weighted(X.shape[0]).map(lambda w: w + 0.01))
    X.sum_duplicates()
    options = {"alpha": alpha, "fit_prior": fit_prior}
    theirs = naive_bayes.MultinomialNB(**options).fit(X, y, weights)
    check_against_scikit_learn(MultinomialNB(**options).fit(X, y, weights), theirs, X)


@given(data=counts, seed=seeds)
def test_naive_bayes_with_an_alpha_a_feature_or_a_class_prior_is_scikit_learns(data, seed):
    X, y, n_labels = data
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(n_labels))
    options = {"alpha": rng.uniform(0.01, 2, size=X.shape[1]), "class_prior": prior / prior.sum()}
    X.sum_duplicates()
    theirs = naive_bayes.MultinomialNB(**options).fit(X, y)
    check_against_scikit_learn(MultinomialNB(**options).fit(X, y), theirs, X)


@pytest.mark.parametrize("seed", range(3))
def test_naive_bayes_on_texts_is_scikit_learns(seed):
    X, y = text_like(n_rows=400, n_features=700, n_labels=20, seed=seed)
    check_against_scikit_learn(MultinomialNB().fit(X, y), naive_bayes.MultinomialNB().fit(X, y), X)
    with pytest.warns(UserWarning, match="alpha too small"):
        counted = MultinomialNB(alpha=0, force_alpha=False).fit(X, y)
    with pytest.warns(UserWarning, match="alpha too small"):
        theirs = naive_bayes.MultinomialNB(alpha=0, force_alpha=False).fit(X, y)
    np.testing.assert_allclose(counted.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)


@given(data=st.data())
def test_partial_fit_cut_anywhere_is_fit(data):
    X, y, n_labels = data.draw(counts)
    parts = MultinomialNB()
    for rows in data.draw(cuts(X.shape[0])):
        parts.partial_fit(X[rows], y[rows], classes=np.arange(n_labels))
        if data.draw(st.booleans()):
            parts.predict_proba(X)
    assert_same_bits(parts, MultinomialNB().fit(X, y))


def test_labels_may_appear_at_any_time():
    X, y = text_like(n_rows=90, n_labels=5)
    parts = MultinomialNB()
    for k in (3, 1, 4, 0, 2):
        parts.partial_fit(X[y == k], y[y == k])
        assert 3 in parts.classes_
        assert k in parts.classes_
    assert_same_bits(parts, MultinomialNB().fit(X, y))


@given(data=st.data(), alpha=st.sampled_from([0.0, 0.5, 1.0]), seed=seeds)
def test_a_base_measure_shares_out_the_pseudo_counts(data, alpha, seed):
    X, y, n_labels = data.draw(counts)
    weights = data.draw(st.none() | weighted(X.shape[0]).map(lambda w: w + 0.01))
    base = np.random.default_rng(seed).uniform(0.1, 2, size=X.shape[1])
    base[0] = 0 if X.shape[1] > 1 else 1
    twin = NaiveBayes(n_labels, alpha=alpha, base_measure=base).fit(X.toarray(), y, weights)
    model = MultinomialNB(alpha=alpha, base_measure=base).fit(X, y, weights)
    check_against_twin(model, twin, X)
    again = MultinomialNB(alpha=alpha, base_measure=7 * base).fit(X, y, weights)
    np.testing.assert_allclose(again.feature_log_prob_, model.feature_log_prob_, rtol=1e-12)


@given(data=counts, concentration=st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0]), seed=seeds, uniform=st.booleans())
def test_a_concentration_is_the_map_under_a_dirichlet(data, concentration, seed, uniform):
    X, y, n_labels = data
    base = None if uniform else np.random.default_rng(seed).uniform(0.1, 2, size=X.shape[1])
    twin = NaiveBayes(n_labels, concentration=concentration, base_measure=base).fit(X.toarray(), y)
    check_against_twin(MultinomialNB(concentration=concentration, base_measure=base).fit(X, y), twin, X)


def test_a_concentration_of_one_a_word_is_no_prior_at_all():
    X, y = text_like(n_features=12)
    no_prior, relative = MultinomialNB(concentration=12.0).fit(X, y), MultinomialNB(alpha=0).fit(X, y)
    np.testing.assert_allclose(np.exp(no_prior.feature_log_prob_), np.exp(relative.feature_log_prob_), atol=1e-15)


@given(data=counts)
def test_alpha_zero_is_the_relative_frequency(data):
    X, y, n_labels = data
    twin = NaiveBayes(n_labels, alpha=0.0).fit(X.toarray(), y)
    check_against_twin(MultinomialNB(alpha=0).fit(X, y), twin, X)


def test_a_document_that_no_label_can_produce_gets_the_class_prior():
    X = sparse.csr_matrix([[2, 1, 0], [0, 0, 3], [0, 0, 1]])
    model = MultinomialNB(alpha=0).fit(X, ["a", "b", "b"])
    impossible = sparse.csr_matrix([[1, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(model.predict_proba(impossible), [[1 / 3, 2 / 3], [1, 0]], rtol=1e-12)
    assert model.predict(impossible).tolist() == ["b", "a"]


def test_an_explicit_zero_is_no_occurrence():
    X = sparse.csr_matrix([[2, 1, 0], [0, 0, 3]])
    model = MultinomialNB(alpha=0).fit(X, [0, 1])
    written = sparse.csr_matrix(([1.0, 0.0], ([0, 0], [0, 2])), shape=(1, 3))
    assert written.nnz == 2
    np.testing.assert_array_equal(model.predict_proba(written), [[1, 0]])


def test_a_label_without_counts_gets_the_base_measure():
    X = sparse.csr_matrix([[2, 1, 0], [0, 0, 0]], dtype=float)
    for options in ({"alpha": 0}, {"concentration": 1.0}):
        model = MultinomialNB(base_measure=[1, 1, 2], **options).fit(X, [0, 1])
        np.testing.assert_allclose(np.exp(model.feature_log_prob_[1]), [0.25, 0.25, 0.5], rtol=1e-12)


def test_the_traffic_lights_of_the_textbooks():
    """Two lights at a crossing work (one red, one green) six times in seven; broken, both are red.

    p(working, red, red) = 0 in the world, but each light by itself is red half of the time when they work: naive Bayes
    gives working 6/7 * 1/2 * 1/2 = 6/28 against broken 1/7 * 1 * 1 = 4/28, and is wrong.
    """
    red_green, green_red, red_red = [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]
    X = sparse.csr_matrix([red_green] * 3 + [green_red] * 3 + [red_red])
    y = ["working"] * 6 + ["broken"]
    model = MultinomialNB(alpha=0).fit(X, y)
    assert model.classes_.tolist() == ["broken", "working"]
    joint = np.exp(model.predict_joint_log_proba(sparse.csr_matrix([red_red])))[0]
    # an event is a light and its colour: two events a row, each lamp's colour half of the events of its lamp
    np.testing.assert_allclose(4 * joint, [4 / 28, 6 / 28], rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_matrix([red_red])), [[0.4, 0.6]], rtol=1e-12)
    assert model.predict(sparse.csr_matrix([red_red])).tolist() == ["working"]


@pytest.mark.parametrize("options", [{}, {"fit_prior": False}, {"class_prior": [0.5, 0.3, 0.2]}])
@pytest.mark.parametrize("weighing", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_is_leaving_one_out(options, weighing, seed):
    X, y = text_like(n_rows=40, n_features=15, seed=seed)
    rng = np.random.default_rng(seed)
    X.data *= rng.uniform(0.9, 1.1, size=X.nnz)  # whole numbers tie, and rounding would decide
    weights = rng.uniform(0.5, 2, size=40) if weighing else None
    alphas = [0.001, 0.1, 1.0, 10.0]
    found = MultinomialNB(**options).fit(X, y, weights).loo_score(X, y, alphas, sample_weight=weights)
    expected = [NaiveBayes(3, alpha=alpha, **options).leave_one_out(X.toarray(), y, weights) for alpha in alphas]
    assert np.shape(found) == (4,)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_leave_one_out_needs_no_fit_and_changes_nothing():
    X, y = text_like()
    model = MultinomialNB()
    model.loo_score(X, y, [0.1, 1.0])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "options, match",
    [
        ({"alpha": -1}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": [1.0, 2.0]}, "alpha"),
        ({"base_measure": [1.0]}, "base_measure"),
        ({"base_measure": -np.ones(30)}, "base_measure"),
        ({"base_measure": np.zeros(30)}, "base_measure"),
        ({"concentration": -1}, "concentration"),
        ({"concentration": 2.0, "alpha": 0.5}, "concentration"),
        ({"class_prior": [0.5, 0.5]}, "prior"),
        ({"class_prior": [0.9, 0.9, 0.9]}, "prior"),
        ({"class_prior": [1.5, -0.5, 0]}, "prior"),
    ],
)
def test_priors_that_cannot_be_are_refused(options, match):
    X, y = text_like()
    with pytest.raises(ValueError, match=match):
        MultinomialNB(**options).fit(X, y)


def test_float32_counts_are_added_in_float64():
    X = sparse.csr_matrix(np.full((20_000, 1), 16_777.0, dtype=np.float32))
    y = np.arange(20_000) % 2
    assert MultinomialNB().fit(X, y).feature_count_.ravel().tolist() == [167_770_000.0] * 2


def test_the_prior_is_that_of_the_last_fit():
    X, y = text_like()
    model, other = MultinomialNB(alpha=0.1).fit(X, y), MultinomialNB(alpha=0.1).fit(X, y)
    model.set_params(alpha=7.0, fit_prior=False)
    assert_same_bits(model, other)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.timing
def test_an_update_costs_nothing_a_feature():
    X, y = random_sparse(n_rows=100, n_features=10**7, row_length=30, n_labels=2)
    np.abs(X.data, out=X.data)
    model, seconds = MultinomialNB().partial_fit(X, y), []
    for _ in range(25):
        start = time.process_time()
        model.partial_fit(X, y)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.002  # a pass over the features takes longer every time
    np.testing.assert_allclose(model.feature_count_.sum(), 26 * X.data.sum(), rtol=1e-9)
