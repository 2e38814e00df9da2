"""Baum and Welch: the naive twin's numbers and hmmlearn's, a bound that never falls, labels that clamp, life."""

import itertools
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastlin.sequence import HMM
from oracles.hmm import BaumWelch
from support.strategies import seeds

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")


def starts(rng, K, V, stop=True, order=1):
    """Probabilities to start from."""
    histories = (K,) if order == 1 else (K + 1, K)
    outcomes = rng.dirichlet(np.ones(K + stop), histories)
    found = {"startprob": rng.dirichlet(np.ones(K)), "emissionprob": rng.dirichlet(np.ones(V), K)}
    found["transmat"] = outcomes[..., :K]
    return found | ({"stopprob": outcomes[..., K]} if stop else {})


def one_hot(words, V):
    return sp.csr_array((np.ones(len(words)), (np.arange(len(words)), words)), shape=(len(words), V))


def corpus(rng, V, lengths):
    """Numbers of words, as lists and as a CSR with lengths."""
    X = [rng.integers(0, V, n).tolist() for n in lengths]
    return X, one_hot([word for words in X for word in words], V)


def em(**parameters):
    return HMM(**{"alpha": 0, "transition_alpha": 0, "unknown": "uniform", "tol": 0, "random_state": 0, **parameters})


def never_falls(model):
    assert (np.diff(model.bound_) >= 0).all()
    assert len(model.bound_) == len(model.history_) == model.n_iter_ + 1
    assert [-record["objective"] for record in model.history_] == model.bound_.tolist()
    assert model.objective_ == -model.bound_[-1]


def planted(n=150, seed=0):
    """Two kinds of words that follow each other, as vowels and consonants do."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = [int(rng.integers(2))]
        while rng.random() > 0.1:
            labels.append(1 - labels[-1] if rng.random() < 0.9 else labels[-1])
        X.append(["aeiou"[rng.integers(5)] if label else "bcdfg"[rng.integers(5)] for label in labels])
        y.append(labels)
    return X, y


# --- the twin, and hmmlearn -------------------------------------------------------------------------------------------


@given(data=st.data(), seed=seeds, K=st.integers(1, 3), stop=st.booleans())
def test_it_is_the_naive_twin(data, seed, K, stop):
    rng = np.random.default_rng(seed)
    lengths = [max(1, int(rng.integers(0, 5))), *rng.integers(0, 5, 4).tolist()]
    X, tokens = corpus(rng, 4, lengths)
    init = starts(rng, K, 4, stop)
    alphas = {name: data.draw(st.sampled_from([0.0, 0.3])) for name in ("alpha", "transition_alpha", "start_alpha")}
    y, known = None, None
    if data.draw(st.booleans()):
        labels = [[int(rng.integers(K)) if rng.random() < 0.3 else -1 for _ in words] for words in X]
        labels[0][0] = -1
        present = {label for own in labels for label in own} - {-1}
        if present == set(range(K)):
            y, known = labels, [[None if label < 0 else label for label in own] for own in labels]
    model = em(n_components=K, init=init, stop=stop, max_iter=4, **alphas)
    flat = None if y is None else [label for own in y for label in own]
    model.fit(tokens, flat, lengths=lengths)
    never_falls(model)
    parts = [init["startprob"], init["transmat"], init.get("stopprob"), init["emissionprob"]]
    twin = BaumWelch(X, *(part if part is None else part.tolist() for part in parts), **alphas, y=known)
    bounds = [twin.iterate() for _ in range(model.n_iter_)]
    np.testing.assert_allclose(model.bound_[:-1], bounds, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.startprob_, twin.start, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.emissionprob_, twin.emit, rtol=1e-7, atol=1e-10)
    if max(lengths) > 1 and min(map(sum, twin.steps)) > 0:
        np.testing.assert_allclose(model.transmat_, twin.steps, rtol=1e-7, atol=1e-10)


@pytest.mark.peer("hmmlearn")
@pytest.mark.parametrize("K", [1, 3, 7])
def test_it_is_hmmlearn_step_by_step(K):
    from hmmlearn.hmm import CategoricalHMM

    rng = np.random.default_rng(K)
    lengths = [30, 1, 2, 100, 17]
    X, tokens = corpus(rng, 9, lengths)
    init = starts(rng, K, 9, stop=False)
    peer = CategoricalHMM(n_components=K, n_iter=1, tol=-np.inf, init_params="", n_features=9)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = (
        init[name].copy() for name in ("startprob", "transmat", "emissionprob")
    )
    column = np.concatenate(X)[:, np.newaxis]
    first = peer.score(column, lengths)
    seen = []

    def compare(model, record):
        seen.append(record["objective"])
        if record["iteration"]:
            peer.fit(column, lengths)
            for name in ("startprob_", "transmat_", "emissionprob_"):
                np.testing.assert_allclose(getattr(model, name), getattr(peer, name), rtol=1e-8, atol=1e-12)
            assert -record["objective"] == pytest.approx(peer.score(column, lengths), rel=1e-8)

    model = em(n_components=K, init=init, stop=False, max_iter=8, callback=compare)
    model.fit(tokens, lengths=lengths)
    assert -seen[0] == pytest.approx(first, rel=1e-10)
    assert len(seen) == model.n_iter_ + 1 > 1
    assert model.score_samples(tokens, lengths=lengths).sum() == pytest.approx(model.bound_[-1], rel=1e-10)


# --- laws -------------------------------------------------------------------------------------------------------------


@given(data=st.data(), seed=seeds, order=st.sampled_from([1, 2]), alpha=st.sampled_from([0.0, 1e-9, 0.5]))
def test_the_bound_never_falls(data, seed, order, alpha):
    """Words, tokens of several features, numbers that are no counts; some labels known, or none."""
    rng = np.random.default_rng(seed)
    lengths = [2, *rng.integers(0, 8, 5).tolist()]
    n, V, K = sum(lengths), 5, data.draw(st.integers(1, 4))
    X = sp.csr_array((rng.poisson(0.7, (n, V)) + np.eye(n, V)) * data.draw(st.sampled_from([1.0, 0.37, 40.0])))
    y = None
    if data.draw(st.booleans()):
        y = np.where(rng.random(n) < 0.5, rng.integers(0, K, n), -1)
        K = max(1, len(set(y.tolist()) - {-1})) if (y >= 0).any() else K
    parameters = {"alpha": alpha, "transition_alpha": alpha, "stop": data.draw(st.booleans())}
    model = em(order=order, n_components=K, max_iter=12, n_init=2, **parameters).fit(X, y, lengths=lengths)
    if hasattr(model, "bound_"):
        never_falls(model)
        assert np.isfinite(model.bound_).all()
    for name in ("startprob_", "transmat_", "emissionprob_", "stopprob_"):
        assert np.isfinite(getattr(model, name)).all()
    np.testing.assert_allclose(model.emissionprob_.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_planted_states_are_found(order):
    X, y = planted()
    model = em(order=order, n_components=2, n_init=5, max_iter=200, tol=1e-5, alpha=0.01).fit(X)
    assert model.converged_
    never_falls(model)
    score = model.score(X, y)
    assert max(score, 1 - score) > 0.99
    assert model.perplexity(X) < 0.8 * em(n_components=1, max_iter=2).fit(X).perplexity(X)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


def test_known_labels_clamp():
    X, y = planted()
    names = [["VC"[1 - label] for label in labels] for labels in y]
    partly = [labels if s % 10 == 0 else None for s, labels in enumerate(names)]
    partly[1] = [None, *names[1][1:]]
    model = em(alpha=0.01, max_iter=50).fit(X, partly)
    assert model.classes_.tolist() == ["C", "V"]
    never_falls(model)
    assert model.score(X, names) > 0.99
    few = em(alpha=0.01, unknown="uniform").fit(X[::10], names[::10])
    assert model.score_samples(X).sum() > few.score_samples(X).sum()
    nearly = [[*labels[:-1], None] for labels in names]
    counted, expected = em().fit(X, names), em(max_iter=30).fit(X, nearly)
    np.testing.assert_allclose(expected.emissionprob_, counted.emissionprob_, atol=0.1)


def test_labels_that_are_all_known_are_counted():
    X, y = planted(20)
    one, other = HMM().fit(X, y), HMM(n_components=2).fit(X, np.array([label for labels in y for label in labels]))
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)
    assert not hasattr(one, "bound_")


def test_labels_of_numpy_and_pandas_kinds():
    X, y = planted(20)
    arrays = [np.array(labels) for labels in y]
    arrays[3][:] = -1
    lists = [labels if s != 3 else None for s, labels in enumerate(y)]
    one, other = em(max_iter=5).fit(X, arrays), em(max_iter=5).fit(X, lists)
    np.testing.assert_array_equal(one.bound_, other.bound_)


@pytest.mark.parametrize("order", [1, 2])
def test_threads_change_no_bit(order, monkeypatch):
    monkeypatch.setattr("fastlin.runtime.parallel.BLOCK_WORK", 1 << 8)
    monkeypatch.setattr("fastlin.sequence.hmm.baum_welch.BLOCK_TOKENS", 50)
    X, _ = planted(60)
    one, *others = (em(order=order, n_components=3, max_iter=5, n_jobs=jobs).fit(X) for jobs in (1, 2, 3))
    for other in others:
        for name in ("bound_", "startprob_", "transmat_", "emissionprob_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_blocks_change_rounding_only(monkeypatch):
    X, _ = planted(60)
    one = em(n_components=3, max_iter=5).fit(X)
    monkeypatch.setattr("fastlin.sequence.hmm.baum_welch.BLOCK_TOKENS", 1)
    other = em(n_components=3, max_iter=5).fit(X)
    np.testing.assert_allclose(one.bound_, other.bound_, rtol=1e-10)


def test_more_starts_are_no_worse():
    X, _ = planted(40)
    bounds = [em(n_components=4, n_init=n, max_iter=20).fit(X).bound_[-1] for n in (1, 3, 9)]
    assert bounds == sorted(bounds)


def test_long_sequences():
    rng = np.random.default_rng(0)
    X = [[f"w{n}" for n in rng.integers(0, 50, 100_000)]]
    model = em(n_components=3, max_iter=3, stop=False).fit(X)
    never_falls(model)
    assert np.isfinite(model.bound_).all()


# --- life -------------------------------------------------------------------------------------------------------------


def test_words_never_seen_have_their_mass_after_em():
    X, _ = planted(40)
    model = HMM(n_components=2, random_state=0, max_iter=5).fit(X)
    assert np.isfinite(model.score_samples([["x", "y"]])).all()
    assert (model.emissionprob_.sum(axis=1) < 1).all()


def test_streams_go_on_from_expected_counts():
    X, y = planted(40)
    model = em(max_iter=5).fit(X, [*y[:20], *[None] * 20])
    before = model._state.counts.features.copy()
    model.partial_fit(X[:3], y[:3])
    assert model._state.counts.features.sum() == pytest.approx(before.sum() + sum(map(len, X[:3])))
    assert not hasattr(model, "bound_")


def test_callbacks_see_the_model_and_end_it():
    X, _ = planted(40)
    seen = []

    def look(model, record):
        seen.append(model.score_samples(X).sum())
        return record["iteration"] == 3

    model = em(n_components=2, callback=look, max_iter=20).fit(X)
    assert model.n_iter_ == 3
    assert len(seen) == 4
    np.testing.assert_allclose(seen[1:], model.bound_[1:], rtol=1e-10)
    assert model.score_samples(X).sum() == pytest.approx(model.bound_[-1], rel=1e-10)


def test_verbose(capsys):
    X, _ = planted(10)
    em(n_components=2, verbose=1, max_iter=2).fit(X)
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()] == [
        ["HMM", "iteration", str(n)] for n in range(3)
    ]


def test_too_few_iterations_are_spoken_of():
    X, _ = planted(40)
    with pytest.warns(ConvergenceWarning, match="EM did not converge: max_iter=2 iterations"):
        model = em(n_components=2, max_iter=2).fit(X)
    assert not model.converged_
    assert em(n_components=2, max_iter=200, tol=1e-3).fit(X).converged_


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_what_is_raised_on_the_way_leaves_the_model_as_it_was(raised):
    X, y = planted(40)
    model = HMM().fit(X, y)
    before = pickle.dumps(model.transmat_), model.predict(X)

    def fail(_, record):
        if record["iteration"] == 2:
            if raised is KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)
            raise RuntimeError

    model.set_params(callback=fail, n_components=2)
    with pytest.raises(raised):
        model.fit(X)
    assert (pickle.dumps(model.transmat_), model.predict(X)) == before


# --- bad input --------------------------------------------------------------------------------------------------------


def refused(message, error=ValueError, X=None, y=None, **parameters):
    with pytest.raises(error, match=message):
        em(**parameters).fit(planted(5)[0] if X is None else X, y)


def test_starts_that_are_none():
    rng = np.random.default_rng(0)
    V = len({word for words in planted(5)[0] for word in words})
    good = starts(rng, 2, V)
    em(n_components=2, init=good, max_iter=2).fit(planted(5)[0])
    em(n_components=2, init={name: good[name] for name in good if name != "stopprob"}, max_iter=2).fit(planted(5)[0])
    refused("init must be one of 'auto', 'random', 'labels', got 'kmeans'", init="kmeans", n_components=2)
    refused("init must be", init=[1, 2], n_components=2)
    refused("init must be .*; it has no transmat", init={"startprob": [1, 0]}, n_components=2)
    refused("init must be .*; it has 'trans'", init=good | {"trans": good["transmat"]}, n_components=2)
    endless = {"startprob": good["startprob"], "transmat": np.eye(2), "emissionprob": good["emissionprob"]}
    refused("no sequence ends.* or set stop=False", init=endless, n_components=2)
    em(n_components=2, init=endless, stop=False, max_iter=2).fit(planted(5)[0])
    refused(r"init\['startprob'\] has the shape \(2,\), but must have \(3,\)", init=good, n_components=3)
    refused("init has a stopprob, but stop is False", init=good, n_components=2, stop=False)
    refused("init='labels', but no sequence has all its labels", init="labels", n_components=2)
    refused(r"init\['startprob'\] must sum to 1", init=good | {"startprob": [0.5, 0.6]}, n_components=2)
    refused(r"init\['transmat'\] with stopprob must sum", init=good | {"stopprob": [0.0, 0.0]}, n_components=2)
    for wrong in ([-0.5, 1.5], [np.nan, 1], [np.inf, 0]):
        refused(r"init\['startprob'\] must hold probabilities", init=good | {"startprob": wrong}, n_components=2)
    dead = starts(rng, 2, 3) | {"emissionprob": np.eye(3)[:2]}
    X = [["a", "b"], ["b", "a"], ["a", "c"]]
    refused("sequence 2 cannot come about with the probabilities of init", X=X, init=dead, n_components=2)


def test_parameters_that_are_none():
    refused("no label is known: n_components must say how many states there are")
    refused("n_components must be at least 1", n_components=0)
    refused("n_components=3, but y has 2 labels", y=planted(5)[1], n_components=3)
    refused("interpolation must be None or 'auto' where labels are hidden", n_components=2, interpolation="deleted")
    refused("max_iter must be at least 1", n_components=2, max_iter=0)
    refused("tol must be", n_components=2, tol=-1)
    refused("n_init must be", n_components=2, n_init=0)


@pytest.mark.parametrize("codes", [[[2], [0], [1]], [[1], [0], [1]]])
def test_a_column_of_codes_is_refused(codes):
    with pytest.raises(ValueError, match=r"X has one column.*give lists of words, or a column for each code"):
        em(n_components=2).fit(np.array(codes), lengths=[3])
    em(n_components=2).fit(np.ones((3, 1)), lengths=[3])


def test_labels_that_do_not_fit():
    X, y = planted(5)
    refused("sequence 2 has", y=[labels if s != 2 else [*labels, None] for s, labels in enumerate(y)])
    refused("X has 5 sequences, y has 4", y=[None, *y[:3]])
    refused("labels are all strings or all integers", TypeError, y=[None, ["a"] * len(X[1]), *y[2:]])
    refused(r"sequence 1, token 0", TypeError, y=[None, [1.5] * len(X[1]), *y[2:]])
    for s, t in itertools.product([1, 3], [0]):
        wrong = [None, *(list(labels) for labels in y[1:])]
        wrong[s][t] = b"x"
        refused(f"sequence {s}, token {t}", TypeError, y=wrong)


def test_clones_keep_the_start():
    init = starts(np.random.default_rng(0), 2, 3)
    assert clone(em(init=init)).init.keys() == init.keys()
