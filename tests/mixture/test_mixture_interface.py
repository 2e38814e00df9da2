"""What a mixture says of documents, extremes, and how it lives: streams, callbacks, errors, copies."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fastlin import Corpus, MultinomialMixture
from fastlin.data import corpus as corpora
from support.mixtures import WAYS, fitted, mixture, never_falls, partition, planted, same_bits

# --- what a model says ------------------------------------------------------------------------------------------------


def test_measures_by_their_formulas():
    X, _, _ = planted()
    model = fitted(X)
    joint = X @ model.feature_log_prob_.T + np.log(model.weights_)
    logs = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(X), logs, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), joint - logs[:, np.newaxis], rtol=1e-9, atol=1e-10)
    assert model.score(X) == pytest.approx(logs.mean(), rel=1e-12)
    assert model.perplexity(X) == pytest.approx(np.exp(-logs.sum() / X.sum()), rel=1e-12)
    free = 2 + 3 * 39
    assert model.bic(X) == pytest.approx(-2 * logs.sum() + free * np.log(150), rel=1e-12)
    assert model.aic(X) == pytest.approx(-2 * logs.sum() + 2 * free, rel=1e-12)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


def test_bic_knows_how_many_components_were_planted():
    X, _, _ = planted(n=500)
    scores = [fitted(X, K, alpha=0.01, n_init=3).bic(X) for K in (1, 2, 3, 4, 6)]
    assert np.argmin(scores) == 2


def test_documents_that_no_component_can_produce():
    model = mixture(2, alpha=0, init=[0, 1]).fit([[2.0, 1, 0, 0], [0, 0, 3, 0]])
    odd = [[1.0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_allclose(model.predict_proba(odd), np.full((3, 2), 0.5), rtol=1e-12)
    np.testing.assert_array_equal(model.score_samples(odd), [-np.inf, -np.inf, 0])
    assert model.score(odd) == -np.inf
    assert model.perplexity(odd) == np.inf
    assert model.score(odd, sample_weight=[0, 0, 1]) == 0


def test_draws():
    X, _, _ = planted()
    model = fitted(X, alpha=0)
    one, other = model.sample(20), model.sample(20)
    np.testing.assert_array_equal(one[0].toarray(), other[0].toarray())  # the estimator's own random_state
    assert (model.sample(20, random_state=1)[0] != one[0]).nnz > 0
    assert one[0].shape == (20, 40)
    assert (one[0].sum(axis=1) == round(X.sum() / 150)).all()
    lengths = np.arange(20)
    drawn, _ = model.sample(20, lengths=lengths)
    np.testing.assert_array_equal(drawn.sum(axis=1), lengths)
    assert np.isfinite(model.score_samples(drawn)).all()  # no word that its component has not
    assert model.sample(2, lengths=0)[0].nnz == 0
    for wrong in (-1, 1.5, [1, 2], "a"):
        with pytest.raises(ValueError, match="lengths must be whole numbers of 0 or more, one or 3"):
            model.sample(3, lengths=wrong)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(0)


class Extreme:
    """A generator of always the same number, from 0 to just below 1."""

    def __init__(self, number):
        self.number = number

    def choice(self, _, n, p):
        return np.arange(n) % len(p)

    def random(self, n):
        return np.full(n, self.number)


@pytest.mark.parametrize("number", [0.0, np.nextafter(1, 0)])
def test_draws_at_the_ends_are_words_of_their_component(number, monkeypatch):
    X, _, _ = planted()
    X = sp.hstack([sp.csr_array((150, 2)), X, sp.csr_array((150, 2))], format="csr")
    monkeypatch.setattr("fastlin.validation.as_generator", lambda _: Extreme(number))
    for seed in range(20):
        origins = np.random.default_rng(seed).integers(0, 3, 150)
        drawn, components = fitted(X, alpha=0, init=origins, max_iter=1).sample(3, lengths=2)
        assert components.tolist() == [0, 1, 2]
        assert (drawn.sum(axis=1) == 2).all()
        assert (drawn.sum(axis=0)[[0, 1, -2, -1]] == 0).all()


# --- extremes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 1e-300, 0.0])
@pytest.mark.parametrize("way", WAYS)
def test_long_documents_short_ones_and_empty_ones(alpha, way):
    rng = np.random.default_rng(0)
    phi = np.array([[0.5, 0.3, 0.2, 0, 0, 0], [0, 0, 0, 0.2, 0.3, 0.5]])
    lengths = np.repeat([100_000, 1, 0, 30], 10)
    X = np.array([rng.multinomial(n, phi[place % 2]) for place, n in enumerate(lengths)], float)
    model = fitted(X, 2, alpha=alpha, init=way, n_init=5)
    never_falls(model)
    there = lengths > 0
    expected = partition(np.arange(40)[there] % 2)
    np.testing.assert_array_equal(partition(model.predict(X))[np.ix_(there, there)], expected)
    np.testing.assert_allclose(model.predict_proba(X[~there]), np.tile(model.weights_, (10, 1)), rtol=1e-12)


@pytest.mark.parametrize("init", [*WAYS, np.full((4, 3), 1 / 3), np.zeros((3, 5))])
@pytest.mark.parametrize("alpha", [1.0, 0.0])
def test_no_words_at_all(init, alpha):
    X = sp.csr_array((4, 5))
    model = fitted(X, 3, init=init, alpha=alpha)
    np.testing.assert_allclose(model.weights_, 1 / 3 if isinstance(init, np.ndarray) else model.weights_)
    np.testing.assert_allclose(model.feature_log_prob_, np.log(0.2), rtol=1e-12)
    assert model.score(X) == pytest.approx(0, abs=1e-12)
    assert model.sample(2)[0].nnz == 0
    with pytest.raises(ValueError, match="no words"):
        model.perplexity(X)


def test_one_document():
    for K in (1, 3):
        model = fitted(np.array([[1.0, 0, 2]]), K, alpha=0)
        np.testing.assert_allclose(model.bound_[-1], np.log(1 / 3) + 2 * np.log(2 / 3), rtol=1e-12)


def test_components_without_documents_are_spoken_of():
    X, _, _ = planted()
    with pytest.warns(
        ConvergenceWarning, match=r"\d+ of 200 components have no documents; to seed them again would not"
    ):
        mixture(200).fit(X)
    shares = np.zeros((150, 3))
    shares[:, 0] = 1
    with pytest.warns(ConvergenceWarning, match="2 of 3 components had lost all documents, and were seeded again"):
        model = mixture(3, init=shares, alpha=0.01).fit(X)
    assert model.history_[0]["seeded"] == [1, 2]
    assert (np.bincount(model.predict(X), minlength=3) > 10).all()
    never_falls(model)


def test_too_few_iterations_are_spoken_of():
    X, _, _ = planted(words=4)
    with pytest.warns(ConvergenceWarning, match="EM did not converge: max_iter=2 iterations"):
        model = mixture(3, init="random", max_iter=2, alpha=0.1).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_tol_is_of_a_document():
    X, _, _ = planted(words=4)
    model = mixture(3, init="random", tol=1e-2, alpha=0.1).fit(X)
    rises = np.diff(model.bound_)
    assert (rises[:-2] > 1e-2 * 150).all()
    assert rises[-2] <= 1e-2 * 150  # and one iteration that keeps its counts


# --- life -------------------------------------------------------------------------------------------------------------


def test_partial_fit_goes_on_from_a_fit():
    X, _, _ = planted()
    model = fitted(X[:100])
    counts, proba = model.feature_count_.copy(), model.predict_proba(X[100:])
    model.partial_fit(X[100:])
    np.testing.assert_allclose(model.feature_count_, counts + (X[100:].T @ proba).T, rtol=1e-12)
    assert not hasattr(model, "bound_")  # it was another model's
    with pytest.raises(ValueError, match="n_components=2, but the model has 3"):
        model.set_params(n_components=2).partial_fit(X)
    with pytest.raises(ValueError, match="X has 39 features"):
        model.set_params(n_components=3).partial_fit(X[:, :39])


def test_a_batch_that_is_refused_half_way_changes_nothing(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 400)
    X, _, _ = planted()
    bad = X.toarray()
    bad[-1, 0] = -1
    model = fitted(X)
    counts = model.feature_count_.copy()
    with pytest.raises(ValueError, match=r"Negative values in data.*: X holds -1 at row 149"):
        model.partial_fit(Corpus(bad))
    np.testing.assert_array_equal(model.feature_count_, counts)


def test_online_em_learns_too():
    X, origins, _ = planted(n=2000, words=40)
    model = mixture(3, alpha=0.01)
    for start in range(0, 2000, 200):
        model.partial_fit(X[start : start + 200])
    assert (partition(model.predict(X)) == partition(origins)).mean() > 0.95
    np.testing.assert_allclose(model.feature_count_.sum(), X.sum(), rtol=1e-12)


def test_callbacks_see_the_model_and_may_end_the_fit(capsys):
    X, _, _ = planted(words=4)
    seen = []

    def look(model, record):
        seen.append((record["iteration"], model.score(X), -record["objective"]))
        return record["iteration"] == 2

    model = mixture(3, init="random", alpha=0.0, callback=look, n_init=5).fit(X)
    assert [iteration for iteration, _, _ in seen] == [0, 1, 2]
    np.testing.assert_allclose([150 * score for _, score, _ in seen], [bound for _, _, bound in seen], rtol=1e-9)
    assert model.n_iter_ == 2
    assert model.score(X) == seen[-1][1]
    shares = np.zeros((150, 3))
    shares[:, 0] = 1
    fitted(X, init=shares, verbose=1, alpha=0.01)
    printed = capsys.readouterr().out
    assert re.search(r"MultinomialMixture  iteration 0  [\d.]+ s  objective [\d.]+  seeded \[1, 2\]\n", printed)
    assert re.search(r"MultinomialMixture  iteration 1  [\d.]+ s  objective [\d.]+\n", printed)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_is_raised_on_the_way_changes_nothing(error):
    X, _, _ = planted()

    def fail(*_):
        raise error

    model = fitted(X)
    before = pickle.dumps({**model.__getstate__(), "callback": None})
    with pytest.raises(error):
        model.set_params(callback=fail).fit(X[:50])
    assert pickle.dumps({**model.__getstate__(), "callback": None}) == before
    fresh = mixture(callback=fail)
    with pytest.raises(error):
        fresh.fit(X)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


@pytest.mark.parametrize("kind", [
    np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array, lambda X: sp.csr_array(X).astype(np.float32),
    lambda X: X.astype(int), lambda X: X.astype(int).tolist(),
    lambda X: sp.csr_array((X.ravel(), np.tile(np.arange(40)[::-1], 150), 40 * np.arange(151)))[:, ::-1],
])  # fmt: skip
def test_matrices_of_any_kind(kind):
    X, _, _ = planted()
    one, other = fitted(X), fitted(kind(X.toarray()))
    same_bits(one, other)
    assert one.perplexity(X) == other.perplexity(kind(X.toarray()))
    np.testing.assert_array_equal(one.predict(X), other.predict(kind(X.toarray())))


def test_names_of_features_and_copies():
    X, _, _ = planted()
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(40)])
    model = fitted(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"word 3": "sword"}))
    again = pickle.loads(pickle.dumps(model))
    same_bits(model, again)
    np.testing.assert_array_equal(model.predict_proba(frame), again.predict_proba(frame))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "bound_")


@pytest.mark.parametrize("parameters, match", [
    ({"n_components": 0}, "n_components must be at least 1"),
    ({"n_components": 2.5}, "n_components must be a whole number"),
    ({"alpha": -1}, "alpha must be >= 0"),
    ({"alpha": np.nan}, "alpha must be"),
    ({"alpha": np.ones(3)}, "alpha has 3 entries, X has 40 features"),
    ({"alpha": np.ones(40), "base_measure": np.ones(40)}, "alpha as an array excludes base_measure"),
    ({"base_measure": np.zeros(40)}, "base_measure must be non-negative with a positive"),
    ({"tol": -1e-9}, "tol must be >= 0"),
    ({"max_iter": 0}, "max_iter must be at least 1"),
    ({"n_init": 0}, "n_init must be at least 1"),
    ({"n_jobs": 0}, "n_jobs must be"),
    ({"verbose": -1}, "verbose must be"),
    ({"callback": 3}, "callback must be callable"),
    ({"random_state": -1}, "random_state must be"),
])  # fmt: skip
def test_parameters_that_are_none(parameters, match):
    X, _, _ = planted()
    for method in ("fit", "partial_fit"):
        model = MultinomialMixture(**parameters)
        with pytest.raises((ValueError, TypeError), match=match):
            getattr(model, method)(X)
        assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("spoil, match", [
    (lambda X: X.__setitem__((2, 3), np.nan), "X contains NaN at row 2, column 3"),
    (lambda X: X.__setitem__((2, 3), -1), "Negative values in data.*: X holds -1 at row 2, column 3"),
    (lambda X: X.__setitem__((2, 3), 1e200), "X holds 1e"),
])  # fmt: skip
def test_counts_that_are_none(spoil, match):
    X, _, _ = planted()
    bad, model = X.toarray(), fitted(X)
    spoil(bad)
    for method in ("fit", "partial_fit", "predict", "predict_proba", "score", "perplexity", "fit_predict"):
        with pytest.raises(ValueError, match=match):
            getattr(model, method)(bad)
    if "NaN" not in match:
        for method in ("fit", "predict", "score"):
            with pytest.raises(ValueError, match=match):
                getattr(model, method)(Corpus(bad))
    same_bits(model, fitted(X))


def test_weights_and_widths_that_are_none():
    X, origins, _ = planted()
    model = fitted(X)
    same_bits(model, mixture(3).fit(X, origins))  # y is ignored
    for weights, match in [
        (np.ones(3), "sample_weight has 3 entries, X has 150 rows"),
        (-np.ones(150), "sample_weight must not be negative"),
        (np.zeros(150), "sample_weight is zero for every row"),
    ]:
        for method in ("fit", "score"):
            with pytest.raises(ValueError, match=match):
                getattr(model, method)(X, sample_weight=weights)
    for method in ("predict", "score_samples", "bic"):
        with pytest.raises(ValueError, match="X has 39 features, but MultinomialMixture is expecting 40"):
            getattr(model, method)(X[:, :39])
        with pytest.raises(NotFittedError):
            getattr(mixture(), method)(X)
    for name in ("weights_", "feature_log_prob_", "feature_count_"):
        with pytest.raises(NotFittedError):
            getattr(mixture(), name)
    same_bits(model, fitted(X))
