"""Complement and Bernoulli naive Bayes: scikit-learn's, and the exact twins' where scikit-learn's digits cancel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes

from fastlin import BernoulliNB, ComplementNB, Corpus
from fastlin.inspection import explain
from oracles.naive_bayes import BernoulliNaiveBayes, ComplementNaiveBayes
from support.estimators import assert_same_bits, text_like
from support.strategies import cuts, labelled, seeds, weighted

counts = labelled(values=("counts",), min_labels=1)
alphas = st.sampled_from([1e-10, 1e-6, 0.01, 1.0, 30.0, 1e5])
MODELS = [ComplementNB, BernoulliNB]
EPS = np.finfo(float).eps


def drawn(data):
    """A problem, its weights with zeros among them, not all, and its form: sparse of either kind, or dense."""
    X, y, n_labels = data.draw(counts)
    X.sum_duplicates()
    weights = data.draw(st.none() | weighted(X.shape[0]))
    if weights is not None:
        weights[0] += 0.5
    form = data.draw(st.sampled_from([sparse.csr_array, sparse.csr_matrix, sparse.csc_array, np.asarray]))
    X = form(X.toarray()) if form is np.asarray else form(X)
    return X, y, n_labels, weights


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def check_counts(ours, theirs):
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-12)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


@given(data=st.data(), alpha=alphas, norm=st.booleans(), fit_prior=st.booleans())
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # scikit-learn's norm of a single feature
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_the_complement_model_is_scikit_learns(data, alpha, norm, fit_prior):
    X, y, n_labels, weights = drawn(data)
    options = {"alpha": alpha, "norm": norm, "fit_prior": fit_prior}
    theirs, ours = naive_bayes.ComplementNB(**options).fit(X, y, weights), ComplementNB(**options).fit(X, y, weights)
    check_counts(ours, theirs)
    np.testing.assert_allclose(ours.feature_all_, theirs.feature_all_, rtol=1e-12)
    twin = ComplementNaiveBayes(n_labels, alpha, norm).fit(dense(X), y, weights)
    np.testing.assert_allclose(ours.feature_log_prob_, twin.weights, rtol=1e-11, atol=1e-13)
    if X.shape[1] == 1 and norm:
        return  # 0/0
    # scikit-learn takes the label's own counts from the total, whose rounding is large beside what may be left
    total = theirs.feature_all_.sum() + alpha * X.shape[1]
    lost = 8 * EPS * total / (alpha + np.maximum(theirs.feature_all_ - theirs.feature_count_, 0)).min()
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12, atol=1e-12 + lost)
    atol = 1e-10 + lost * dense(X).sum(axis=1).max()
    scores, known = ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(scores, known, rtol=1e-10, atol=atol)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=2 * atol)
    gap = np.sort(known, axis=1)
    clear = gap[:, -1] - gap[:, -2] > 4 * atol if n_labels > 1 else np.ones(len(known), bool)
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@given(data=st.data(), alpha=alphas, binarize=st.sampled_from([0.0, 1.0, 2.5]), fit_prior=st.booleans())
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # scikit-learn's log(1 − exp(log p)) of p near 1
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_the_bernoulli_model_is_scikit_learns(data, alpha, binarize, fit_prior):
    X, y, n_labels, weights = drawn(data)
    options = {"alpha": alpha, "binarize": binarize, "fit_prior": fit_prior}
    theirs, ours = naive_bayes.BernoulliNB(**options).fit(X, y, weights), BernoulliNB(**options).fit(X, y, weights)
    check_counts(ours, theirs)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12, atol=1e-12)
    occurs = dense(X) > binarize
    twin = BernoulliNaiveBayes(n_labels, alpha, fit_prior).fit(occurs, y, weights)
    expected = np.array([twin.joint(row) for row in occurs])
    sums = np.ones(len(y)) if weights is None else weights
    rounding = 64 * EPS * (1 + sums.sum() / alpha) if weights is not None else 0.0  # of N − c
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), expected, rtol=1e-11, atol=1e-11 + rounding)
    there = np.isfinite(ours.class_log_prior_)
    lost = 8 * EPS * np.sum(1 / np.maximum(twin.absent[there], EPS), axis=1)  # by scikit-learn, as said above
    if lost.max() < 0.1:
        np.testing.assert_allclose(
            ours.predict_joint_log_proba(X)[:, there],
            theirs.predict_joint_log_proba(X)[:, there],
            rtol=1e-10,
            atol=1e-11 + rounding + lost.max(),
        )
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10 + 4 * lost.max())


@pytest.mark.parametrize("make", MODELS)
@given(data=st.data(), seed=seeds)
def test_a_prior_and_an_alpha_for_each(make, data, seed):
    """An α a feature: scikit-learn's complement model has it; the Bernoulli model is that of its features alone."""
    X, y, n_labels = data.draw(labelled(values=("counts",)))
    X.sum_duplicates()
    rng = np.random.default_rng(seed)
    prior, alpha = rng.dirichlet(np.ones(n_labels)), rng.uniform(0.01, 2, size=X.shape[1])
    ours = make(alpha=alpha, class_prior=prior / prior.sum()).fit(X, y)
    if make is ComplementNB:
        theirs = naive_bayes.ComplementNB(alpha=alpha, class_prior=prior / prior.sum()).fit(X, y)
        np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-8, atol=1e-11)
        return
    alone = [
        naive_bayes.BernoulliNB(alpha=alpha[j], fit_prior=False).fit(X[:, [j]], y).predict_joint_log_proba(X[:, [j]])
        for j in range(X.shape[1])
    ]
    expected = np.sum(alone, axis=0) + X.shape[1] * np.log(n_labels) + np.log(prior / prior.sum())
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("make", MODELS)
@given(data=st.data())
def test_partial_fit_cut_anywhere_is_fit(make, data):
    """Labels come as they come, most of them unseen at first; features, too."""
    X, y, _ = data.draw(counts)
    X.sum_duplicates()
    grown, parts = make(grow_features=True), make()
    for rows in data.draw(cuts(X.shape[0])):
        parts.partial_fit(X[rows], y[rows])
        width = max(1, int(X[: rows.stop].indices.max(initial=0)) + 1)
        grown.partial_fit(X[rows][:, :width], y[rows])
        if data.draw(st.booleans()):
            parts.predict_proba(X)
    assert_same_bits(parts, make().fit(X, y))
    width = grown.n_features_in_
    np.testing.assert_array_equal(grown.predict_proba(X), make().fit(X[:, :width], y).predict_proba(X[:, :width]))


@pytest.mark.parametrize("make", MODELS)
def test_threads_and_files_change_no_bit(make, tmp_path):
    X, y = text_like(n_rows=300, n_features=60, n_labels=4)
    weights = np.random.default_rng(0).uniform(0, 2, 300)
    expected = make().fit(X, y, weights)
    corpus = Corpus(X, y, sample_weight=weights)
    stored = corpus.write(tmp_path / "corpus")
    for model in (make(n_jobs=2).fit(X, y, weights), make().fit(corpus), make(n_jobs=2).partial_fit(stored)):
        np.testing.assert_array_equal(model.feature_log_prob_, expected.feature_log_prob_)
        np.testing.assert_array_equal(model.predict_joint_log_proba(stored), expected.predict_joint_log_proba(X))
    state = make().set_state(expected.get_state())
    np.testing.assert_array_equal(state.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("norm", [False, True])
@given(data=counts)
def test_complements_without_pseudo_counts_are_the_limit(norm, data):
    """α = 0: no NaN, and the answers are among those of an α that vanishes."""
    X, y, n_labels = data
    model = ComplementNB(alpha=0, norm=norm).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    scores = model.predict_joint_log_proba(X)
    assert not np.isnan(scores).any()
    if norm:
        assert np.isfinite(scores).all()
        np.testing.assert_allclose(model.feature_log_prob_.sum(axis=1), 1.0, rtol=1e-12)
    X.sum_duplicates()
    only = [  # does another label have the feature?
        [any(row[j] > 0 and dense(X)[y != k, j].sum() == 0 and dense(X)[y != k].sum() > 0 for j in range(len(row)))
         for k in range(n_labels)] for row in dense(X)
    ]  # fmt: skip
    assert norm or (np.isposinf(scores) == only).all()


@given(data=counts)
def test_occurrences_without_pseudo_counts_are_relative_frequencies(data):
    X, y, n_labels = data
    X.sum_duplicates()
    occurs, model = dense(X) > 0, BernoulliNB(alpha=0).fit(X, y)
    expected = np.empty((len(y), n_labels))
    for k in range(n_labels):
        share = occurs[y == k].mean(axis=0)
        expected[:, k] = np.mean(y == k) * np.prod(np.where(occurs, share, 1 - share), axis=1)
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(X)), expected, rtol=1e-10)
    expected /= expected.sum(axis=1, keepdims=True)  # each row is possible: it was seen
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    missing = sparse.csr_matrix((1, X.shape[1]))
    if occurs.all(axis=0).any():
        np.testing.assert_allclose(model.predict_proba(missing)[0], np.exp(model.class_log_prior_), rtol=1e-12)


def test_shares_of_an_occurrence_are_counted_as_they_are():
    X = sparse.random_array((40, 9), density=0.4, rng=0, format="csr")
    y = np.arange(40) % 3
    theirs, ours = naive_bayes.BernoulliNB(binarize=None).fit(X, y), BernoulliNB(binarize=None).fit(X, y)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)
    for wrong, match in ((2 * X, "X holds 1[.].* at most 1 is wanted"), (-X, "Negative")):
        with pytest.raises(ValueError, match=match):
            BernoulliNB(binarize=None).fit(wrong, y)
        with pytest.raises(ValueError, match=match):
            ours.predict(Corpus(wrong))


def test_negative_values_do_not_occur():
    X = sparse.csr_array([[-3.0, 1, 0], [2, 0, -1], [-0.5, 4, 0]])
    y = [0, 1, 0]
    theirs = naive_bayes.BernoulliNB().fit(X, y)
    np.testing.assert_allclose(BernoulliNB().fit(X, y).predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_alpha_is_raised_with_a_warning_as_scikit_learn_does():
    X, y = text_like(n_rows=40)
    for ours, theirs in ((ComplementNB, naive_bayes.ComplementNB), (BernoulliNB, naive_bayes.BernoulliNB)):
        with pytest.warns(UserWarning, match="alpha too small"):
            model = ours(alpha=0, force_alpha=False).fit(X, y)
        with pytest.warns(UserWarning, match="alpha too small"):
            known = theirs(alpha=0, force_alpha=False).fit(X, y)
        np.testing.assert_array_equal(model.feature_log_prob_, ours(alpha=1e-10).fit(X, y).feature_log_prob_)
        np.testing.assert_allclose(model.feature_log_prob_, known.feature_log_prob_, rtol=1e-5)


@pytest.mark.parametrize("make", [ComplementNB, lambda: ComplementNB(norm=True), BernoulliNB])
def test_contributions_add_up_to_the_scores(make):
    X, y = text_like(n_rows=60)
    model = make().fit(X, y)
    for row in X[:5]:
        told = explain(model, sparse.csr_array(row))
        np.testing.assert_allclose(told.scores, model.predict_joint_log_proba(row)[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", MODELS)
def test_what_cannot_be_is_refused(make):
    X, y = text_like(n_rows=30)
    for options, match in (
        ({"alpha": -1}, "alpha"),
        ({"alpha": [1.0, 2.0]}, "alpha"),
        ({"class_prior": [0.5, 0.5]}, "prior"),
        ({"grow_features": True, "alpha": np.ones(30)}, "alpha as an array"),
        ({"binarize": -0.5} if make is BernoulliNB else {"alpha": np.nan}, "binarize|alpha"),
    ):
        with pytest.raises(ValueError, match=match):
            make(**options).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        make().fit(X, y, np.zeros(30))
