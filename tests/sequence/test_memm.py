"""Maximum-entropy Markov models: products of local softmaxes, trained as a classifier of tokens with their past."""

import copy
import itertools
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fastlin import LogisticRegression
from fastlin.engine.chain import memm_normalizer
from fastlin.runtime import parallel
from fastlin.sequence import MEMM
from oracles.chain import log_sum
from support.sequences import fit, problem, stacked
from support.strategies import seeds

EXACT = {"tol": 1e-9, "max_iter": 1000}
KINDS = {
    "order 1": {},
    "order 2": {"order": 2},
    "dense": {"weights": "dense"},
    "edges": {"edges": [0, 2]},
    "all edges": {"edges": "all", "weights": "dense"},
}
kinds = pytest.mark.parametrize("kind", KINDS)


def fitted(kind, n=30, n_labels=3, seed=0, longest=5, **options):
    X, y = problem(n, n_labels=n_labels, seed=seed, longest=longest)
    return fit(MEMM(**KINDS[kind], **options), X, y), X, y


def local_scores(model, x, t, history):
    """The scores of the labels of a token, term by term, after the labels before."""
    scores = np.asarray(model.coef_, float) @ x[t]
    if len(history) == 0:
        return scores + model.start_
    A = model.transitions_[(history[-2] if len(history) > 1 else len(scores),) * (model.order - 1) + (history[-1],)]
    if model.edge_coef_ is not None:
        A = A + (x[t] @ model.edge_coef_.toarray()).reshape(len(scores), -1)[history[-1]]
    return scores + A


def log_proba(model, x, path):
    """Σ_t log p(y_t | the labels before, x_t)."""
    total = 0.0
    for t, label in enumerate(path):
        scores = local_scores(model, x, t, path[:t])
        total += scores[label] - log_sum(scores)
    return total


# --- what it says ----------------------------------------------------------------------------------------------------


@kinds
def test_log_proba_is_the_product_of_the_softmaxes(kind):
    model, X, y = fitted(kind)
    rows, lengths = stacked(X)
    expected = [log_proba(model, x, codes) for x, codes in zip(X, y, strict=True)]
    np.testing.assert_allclose(model.log_proba(rows, np.concatenate(y), lengths=lengths), expected, rtol=1e-10)


@kinds
def test_all_paths_one_by_one(kind):
    model, X, _ = fitted(kind)
    X = X[:10]
    rows, lengths = stacked(X)
    labels, marginals = model.predict(rows, lengths=lengths), model.predict_marginals(rows, lengths=lengths)
    several = model.predict_nbest(rows, 1000, lengths=lengths)
    for x, best, p, found in zip(X, labels, marginals, several, strict=True):
        paths = list(itertools.product(range(3), repeat=len(x)))
        values = np.array([log_proba(model, x, path) for path in paths])
        np.testing.assert_allclose(np.exp(values).sum(), 1)  # every token is normalised by itself
        np.testing.assert_allclose(log_proba(model, x, best), values.max(), rtol=1e-12)
        np.testing.assert_allclose([value for _, value in found], np.sort(values)[::-1], atol=1e-11)
        expected = np.zeros((len(x), 3))
        for path, value in zip(paths, values, strict=True):
            expected[np.arange(len(x)), path] += np.exp(value)
        np.testing.assert_allclose(p, expected, atol=1e-12)


@pytest.mark.parametrize("weights", ["dense", "observed"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_of_sequences_of_length_1_it_is_logistic_regression(n_labels, weights):
    X, y = problem(40, n_labels=n_labels, longest=1)
    model = fit(MEMM(C=0.7, weights=weights, **EXACT), X, y)
    rows, lengths = stacked(X)
    with_start = sparse.csr_array(np.hstack([rows.toarray(), np.ones((40, 1))]))
    other = LogisticRegression(C=0.7, weights=weights, fit_intercept=False, **EXACT).fit(with_start, np.concatenate(y))
    p = np.concatenate(model.predict_marginals(rows, lengths=lengths))
    np.testing.assert_allclose(p, other.predict_proba(with_start), atol=1e-8)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-10)
    assert model.converged_


def table(X, y, K, order, edges):
    """The features of all tokens, dense, with all that could be conjoined."""
    rows = []
    for x, path in zip(X, y, strict=True):
        for t in range(len(x)):
            one, two, products = np.zeros(K + 1), np.zeros((K + 1, K)), np.zeros((len(edges), K))
            one[path[t - 1] if t else K] = 1
            if t and order == 2:
                two[path[t - 2] if t > 1 else K, path[t - 1]] = 1
            if t and len(edges):
                products[:, path[t - 1]] = x[t, edges]
            rows.append(np.concatenate([x[t], one, two.reshape(-1), products.reshape(-1)]))
    return np.array(rows)


@kinds
def test_training_is_a_logistic_regression_of_tokens_that_know_the_labels_before(kind):
    options = KINDS[kind]
    model, X, y = fitted(kind, C=0.5, **EXACT)
    edges = list(range(4)) if options.get("edges") == "all" else options.get("edges", [])
    features = table(X, y, 3, options.get("order", 1), edges)
    other = LogisticRegression(C=0.5, fit_intercept=False, weights=options.get("weights", "observed"), **EXACT)
    other.fit(features, np.concatenate(y))
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-10)
    np.testing.assert_allclose(model.coef_, other.coef_[:, :4], atol=1e-5)
    np.testing.assert_allclose(model.start_, other.coef_[:, 4 + 3], atol=1e-5)
    if options.get("order", 1) == 1:
        np.testing.assert_allclose(model.transitions_, other.coef_[:, 4:7].T, atol=1e-5)


def test_two_labels_one_column_of_weights_or_two():
    X, y = problem(60, n_labels=2)
    model = fit(MEMM(weights="dense", C=2.0, **EXACT), X, y)
    assert model.coef_.shape == (2, 4)
    features = table(X, y, 2, 1, [])
    other = LogisticRegression(C=2.0, fit_intercept=False, **EXACT).fit(features, np.concatenate(y))
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], other.coef_[0, :4], atol=1e-6)


def test_features_seen_seldom_have_no_weight():
    X, y = problem(40, n_features=12)
    features = table(X, y, 3, 1, [])[:, :12]
    model = fit(MEMM(cutoff=9), X, y)
    codes = np.concatenate(y)
    seen = np.array([((features != 0) & (codes == k)[:, None]).sum(axis=0) for k in range(3)])
    assert (seen < 9).any()
    np.testing.assert_array_equal(model.coef_ != 0, seen >= 9)


# --- local normalisers -----------------------------------------------------------------------------------------------


@given(seed=seeds, scale=st.sampled_from([0.5, 30.0, 700.0, 1e5]), K=st.integers(1, 9))
def test_normalisers_are_those_of_logarithms(seed, scale, K):
    rng = np.random.default_rng(seed)
    S, A = rng.normal(size=(5, K)) * scale, rng.normal(size=(7, K)) * scale
    edges = rng.normal(size=(5, K, K)) * scale
    tops, offsets, spare = A.max(axis=1), np.empty((5, 7)), np.empty(K)
    factors = np.ascontiguousarray(np.exp(A - tops[:, None]).T)
    memm_normalizer.normalise(S, A, factors, tops, spare, offsets)
    expected = [[-log_sum(s + a) for a in A] for s in S]
    np.testing.assert_allclose(offsets, expected, rtol=1e-12, atol=1e-12)
    of_edges, histories = np.empty((5, K)), rng.normal(size=(K, K)) * scale
    memm_normalizer.normalise_edges(S, histories, edges, spare, of_edges)
    expected = [
        [-log_sum(s + a + e) for a, e in zip(histories, edge, strict=True)] for s, edge in zip(S, edges, strict=True)
    ]
    np.testing.assert_allclose(of_edges, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_weights_of_700_are_weights(order):
    model, X, y = fitted("order 2" if order == 2 else "order 1")
    rng = np.random.default_rng(0)
    model.coef_, model.start_ = rng.choice([-700.0, 700.0, 0.1], model.coef_.shape), rng.normal(size=3) * 700
    model.transitions_ = rng.choice([-700.0, 700.0, 0.1], model.transitions_.shape)
    rows, lengths = stacked(X)
    expected = [log_proba(model, x, codes) for x, codes in zip(X, y, strict=True)]
    assert min(expected) < -1000
    np.testing.assert_allclose(
        model.log_proba(rows, np.concatenate(y), lengths=lengths), expected, rtol=1e-9, atol=1e-9
    )
    p = np.concatenate(model.predict_marginals(rows, lengths=lengths))
    np.testing.assert_allclose(p.sum(axis=1), 1)


# --- decoding --------------------------------------------------------------------------------------------------------


def greedy(model, x):
    """Label by label."""
    path = []
    for t in range(len(x)):
        path.append(int(np.argmax(local_scores(model, x, t, path))))
    return path


@kinds
def test_greedy_decoding_takes_the_best_label_of_each_token(kind):
    model, X, _ = fitted(kind, longest=9, C=0.05)
    rows, lengths = stacked(X)
    model.set_params(decoder="greedy")
    assert model.predict(rows, lengths=lengths) == [greedy(model, x) for x in X]
    model.set_params(decoder="beam", beam_width=1)
    assert model.predict(rows, lengths=lengths) == [greedy(model, x) for x in X]


@kinds
def test_a_beam_of_all_states_is_viterbi(kind):
    model, X, _ = fitted(kind, longest=9, n_labels=4, C=0.05)
    rows, lengths = stacked(X)
    exact = model.predict(rows, lengths=lengths)
    for width in (4 ** KINDS[kind].get("order", 1), 10**9):
        assert model.set_params(decoder="beam", beam_width=width).predict(rows, lengths=lengths) == exact


def beam(model, x, width):
    """Paths that meet in a state are one from there on, the best; so many states are kept."""
    kept = {(): (0.0, ())}
    for t in range(len(x)):
        best = {}
        for value, path in kept.values():
            scores = local_scores(model, x, t, path)
            scores = scores - log_sum(scores)
            for label in range(len(scores)):
                state = ((*path, label))[-model.order :]
                if state not in best or value + scores[label] > best[state][0]:
                    best[state] = (value + scores[label], (*path, label))
        kept = dict(sorted(best.items(), key=lambda item: -item[1][0])[:width])
    return list(max(kept.values())[1])


@pytest.mark.parametrize("width", [2, 3, 5])
@kinds
def test_a_beam_keeps_the_best_states(kind, width):
    model, X, _ = fitted(kind, longest=9, n_labels=4, C=0.05)
    rows, lengths = stacked(X)
    model.set_params(decoder="beam", beam_width=width)
    assert model.predict(rows, lengths=lengths) == [beam(model, x, width) for x in X]


def test_a_beam_that_ends_without_a_path_is_replaced_by_all_paths():
    X, y = [["b", "i"], ["o", "o"]] * 4, [["B-X", "E-X"], ["O", "O"]] * 4
    model = MEMM(constraints="iobes", decoder="greedy").fit(X, y)
    assert model.predict([["o", "b"]]) == model.set_params(decoder="viterbi").predict([["o", "b"]]) == [["O", "O"]]
    with pytest.raises(ValueError, match="sequence 1: the constraints allow no path"):
        model.set_params(decoder="greedy").predict([["o"], ["b"]], allowed=[None, ["B-X"]])


# --- tag dictionaries ------------------------------------------------------------------------------------------------

WORDS = [[["w:run", "s:n"], ["w:the"]], [["w:run", "s:n"]], [["w:dog", "s:g"], ["w:run", "s:n"]], [["w:the", "s:e"]]]
TAGS = [["V", "D"], ["N"], ["N", "V"], ["D"]]


def test_words_take_the_labels_they_were_seen_with():
    model = MEMM(tag_dictionary="w:").fit(WORDS, TAGS)
    assert model.tag_dictionary_ == {"w:run": ["N", "V"], "w:the": ["D"], "w:dog": ["N"]}
    free = MEMM().fit(WORDS, TAGS)
    for word in ("run", "the", "dog", "new"):
        for wrong in ("D", "N", "V"):
            X = [[f"w:{word}", f"like {wrong}"]]
            allowed = model.tag_dictionary_.get(f"w:{word}", ["D", "N", "V"])
            p = model.predict_marginals([X])[0][0]
            assert (p[[label not in allowed for label in model.classes_]] < 1e-300).all()
            expected = free.predict_marginals([X], allowed=[[set(allowed)]])[0][0]
            np.testing.assert_allclose(p, expected, atol=1e-9)
    seldom = MEMM(tag_dictionary="w:", dictionary_cutoff=2).fit(WORDS, TAGS)
    assert seldom.tag_dictionary_ == {"w:run": ["N", "V"], "w:the": ["D"]}


def test_a_given_dictionary_may_know_words_that_no_text_has():
    model = MEMM(tag_dictionary={"w:zebra": "N", "w:run": ["V", "N"]}).fit(WORDS, TAGS)
    assert model.tag_dictionary_ == {"w:zebra": ["N"], "w:run": ["N", "V"]}
    assert model.predict([[["w:zebra"], ["w:zebra"]]]) == [["N", "N"]]
    with pytest.raises(ValueError, match="'ADJ'"):
        MEMM(tag_dictionary={"w:run": ["ADJ"]}).fit(WORDS, TAGS)
    with pytest.raises(ValueError, match="no label"):
        MEMM(tag_dictionary={"w:run": []}).fit(WORDS, TAGS)


def test_two_entries_of_a_token_must_both_have_a_label_and_constraints_win():
    model = MEMM(tag_dictionary=["w:", "s:"], constraints={("D", "N"), ("N", "D"), ("D", "D")}).fit(WORDS, TAGS)
    assert model.predict([[["w:run", "s:g"]]]) == [["N"]]  # N and V, and N
    assert model.predict([[["w:dog"], ["w:dog"]]]) in ([["D", "N"]], [["N", "D"]])  # not N N: no path has it
    assert model.predict([[["w:dog"]]], allowed=[["V"]]) == [["V"]]


def test_dictionaries_of_columns():
    X, y = problem(30)
    model = fit(MEMM(tag_dictionary=[1, 3]), X, y)
    codes, features = np.concatenate(y), np.vstack(X)
    expected = {column: np.unique(codes[features[:, column] > 0]).tolist() for column in (1, 3)}
    assert model.tag_dictionary_ == expected
    for bad in ("w:", [4], [-1], [True], [1.5]):
        with pytest.raises((ValueError, TypeError), match="tag_dictionary"):
            fit(MEMM(tag_dictionary=bad), X, y)


# --- life ------------------------------------------------------------------------------------------------------------


@kinds
def test_threads_and_blocks_change_no_bit(monkeypatch, kind):
    one, X, y = fitted(kind, n=60, longest=9)
    rows, lengths = stacked(X)
    expected = np.concatenate(one.predict_marginals(rows, lengths=lengths))
    with monkeypatch.context() as patch:
        patch.setattr(parallel, "BLOCK_WORK", 100)
        for n_jobs in (1, 2):
            np.testing.assert_array_equal(
                np.concatenate(one.set_params(n_jobs=n_jobs).predict_marginals(rows, lengths=lengths)), expected
            )
            for decoder in ("viterbi", "beam", "greedy"):
                one.set_params(decoder=decoder)
                labels = one.predict(rows, lengths=lengths)
                assert labels == one.set_params(n_jobs=None).predict(rows, lengths=lengths)
    two = fit(MEMM(**KINDS[kind], n_jobs=2), X, y)
    for name in ("coef_", "start_", "transitions_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_float32_weights():
    X, y = problem(30)
    model, other = fit(MEMM(dtype="float32"), X, y), fit(MEMM(), X, y)
    assert (model.coef_.dtype, other.coef_.dtype) == (np.float32, np.float64)
    rows, lengths = stacked(X)
    np.testing.assert_allclose(
        *(np.concatenate(one.predict_marginals(rows, lengths=lengths)) for one in (model, other)), atol=1e-5
    )


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "cg", "gis", "iis"])
def test_every_solver_has_the_same_optimum(solver):
    X, y = problem(20)
    best = fit(MEMM(**EXACT), X, y).objective_
    assert fit(MEMM(solver=solver, tol=1e-9, max_iter=20000), X, y).objective_ == pytest.approx(best, rel=1e-8)


def test_a_fit_that_does_not_converge_says_so():
    X, y = problem(30)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        model = fit(MEMM(max_iter=1, solver="lbfgs", tol=1e-9), X, y)
    assert not model.converged_
    assert caught[0].filename.endswith("support/sequences.py")  # where fit was called


def test_callbacks_see_the_model_and_end_the_fit(capsys):
    X, y = problem(30)
    rows, lengths = stacked(X)
    seen = []

    def callback(model, record):
        seen.append((record["iteration"], model.score(rows, np.concatenate(y), lengths=lengths)))
        return len(seen) == 2

    model = fit(MEMM(callback=callback, verbose=1, solver="lbfgs", tol=0), X, y)
    assert len(seen) == len(model.history_) == 2
    assert capsys.readouterr().out.startswith("MEMM ")


def test_what_fails_leaves_the_model_as_it_was():
    X, y = problem(30)
    model = fit(MEMM(), X, y)
    before, state = dict(vars(model)), copy.deepcopy(model.__getstate__())

    def presses(model, record):
        signal.raise_signal(signal.SIGINT)

    for options, error in (
        ({"callback": presses}, KeyboardInterrupt),
        ({"order": 2, "edges": "all"}, ValueError),
        ({"decoder": "beams"}, ValueError),
        ({"beam_width": 0}, ValueError),
        ({"cutoff": 0}, ValueError),
        ({"weights": "sparse"}, ValueError),
        ({"C": -1}, ValueError),
        ({"edges": 3.5}, TypeError),
        ({"edges": "w:"}, ValueError),
        ({"dictionary_cutoff": 0}, ValueError),
        ({"dtype": "int8"}, ValueError),
    ):
        model.set_params(**options)
        with pytest.raises(error):
            fit(model, X, y)
        model.set_params(**{name: before[name] for name in options})
        assert vars(model).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(model).items())
    np.testing.assert_array_equal(model.coef_, state["coef_"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("coef_", np.zeros((3, 5))), ("start_", np.zeros(4)), ("transitions_", np.zeros((3, 4))), ("edge_coef_", None)],
)
def test_weights_that_users_set_are_looked_at(name, value):
    model, X, _ = fitted("edges")
    setattr(model, name, sparse.csr_array((4, 8)) if value is None else value)
    rows, lengths = stacked(X)
    with pytest.raises(ValueError, match=name):
        model.predict(rows, lengths=lengths)
