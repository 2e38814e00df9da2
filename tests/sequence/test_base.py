"""What models of sequences make of a chain: labels, marginals and log-probabilities, block by block."""

import copy
import itertools
import pickle
import signal

import numpy as np
import pytest
import sklearn.base
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags

from fastlin.runtime import parallel
from fastlin.sequence.base import SequenceModel
from fastlin.sequence.chain import Chain
from fastlin.sequence.chain_batches import Potentials
from fastlin.sequence.token_scores import dense_scores
from fastlin.text.templates import Column, Templates
from oracles.chain import Paths
from support.sequences import fit, items, problem, stacked
from support.strategies import seeds


class Given(SequenceModel):
    """A model whose weights nobody has learnt."""

    def __init__(self, order=1, edges=False, features=None, constraints=None, n_jobs=None, seed=0):
        self.order, self.edges, self.features, self.constraints = order, edges, features, constraints
        self.n_jobs, self.seed = n_jobs, seed

    def fit(self, X, y, *, lengths=None):
        model, rng = copy.copy(self), np.random.default_rng(self.seed)
        model._learn(X, y, lengths)
        K, histories = len(model.classes_), (len(model.classes_) + 1,) * (self.order - 1) + (len(model.classes_),)
        model.weights_ = rng.normal(size=(model.n_features_in_, K))
        model.chain_ = Chain(rng.normal(size=K), rng.normal(size=(*histories, K)), rng.normal(size=histories))
        model.edges_ = rng.normal(size=(model.n_features_in_, K * K))
        return self._take_fitted(model)

    def _chain(self):
        return self.chain_

    def _scores(self, tokens, start, stop):
        return dense_scores(tokens, self.weights_, start, stop)

    def _edges(self, tokens, start, stop):
        K = len(self.classes_)
        return dense_scores(tokens, self.edges_, start, stop).reshape(-1, K, K) if self.edges else None

    def _potential(self):
        return lambda *which: Potentials(self._scores(*which), self._edges(*which))


def fitted(seed=0, longest=4, **options):
    """A model, sequences with an empty one, and their codes, which are their labels."""
    X, y = problem(12, longest=longest, seed=seed)
    X[5], y[5] = X[5][:0], y[5][:0]
    return fit(Given(seed=seed, **options), X, y), X, y


def paths_of(model, X, allowed=None):
    """All paths of each sequence, with the scores that the model gives them, by hand."""
    found = []
    for place, x in enumerate(X):
        scores, K = x @ model.weights_, len(model.classes_)
        if allowed is not None and allowed[place] is not None:
            for token, entry in enumerate(allowed[place]):
                scores[token, [entry is not None and k not in entry for k in range(K)]] = -np.inf
        edges = (x @ model.edges_).reshape(-1, K, K) if model.edges else None
        found.append(Paths(model.chain_, scores, edges))
    return found


def with_work(monkeypatch, work=40):
    """Blocks of so little work that there are many."""
    monkeypatch.setattr(parallel, "BLOCK_WORK", work)


options = st.sampled_from([{}, {"edges": True}, {"order": 2}])


@given(options=options, seed=seeds, restricted=st.booleans())
def test_all_that_is_said_is_said_of_all_paths(options, seed, restricted):
    model, X, y = fitted(seed % 100, **options)
    rng, allowed = np.random.default_rng(seed), None
    if restricted:
        allowed = [
            None
            if place % 3 == 0
            else [None if rng.random() < 0.3 else set(rng.permutation(3)[:2].tolist()) for _ in x]
            for place, x in enumerate(X)
        ]
    rows, lengths = stacked(X)
    asked = {"lengths": lengths, "allowed": allowed}
    labels, marginals = model.predict(rows, **asked), model.predict_marginals(rows, **asked)
    several, values = model.predict_nbest(rows, 4, **asked), model.log_proba(rows, np.concatenate(y), **asked)
    for place, paths in enumerate(paths_of(model, X, allowed)):
        own, log_z = labels[place], paths.log_z
        assert [type(label) for label in own] == [int] * len(X[place])
        np.testing.assert_allclose(paths.value(own), paths.best()[0], rtol=1e-12)
        np.testing.assert_allclose(marginals[place], paths.expected()[0], atol=1e-12)
        np.testing.assert_allclose([value for _, value in several[place]], paths.best(4) - log_z, atol=1e-11)
        assert several[place][0][0] == own
        for found, value in several[place]:
            np.testing.assert_allclose(paths.value(found) - log_z, value, atol=1e-11)
        np.testing.assert_allclose(values[place], paths.value(y[place]) - log_z, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"edges": True}, {"order": 2}])
def test_blocks_and_threads_change_no_bit(monkeypatch, options):
    model, X, y = fitted(longest=9, **options)
    rows, lengths = stacked(X)
    asked = {"lengths": lengths}

    def all_of_it():
        marginals = np.concatenate(model.predict_marginals(rows, **asked))
        several = model.predict_nbest(rows, 3, **asked)
        values = model.log_proba(rows, np.concatenate(y), **asked)
        return model.predict(rows, **asked), marginals.tolist(), several, values.tolist()

    whole = all_of_it()
    for n_jobs in (None, 2, 3):
        model.n_jobs = n_jobs
        with monkeypatch.context() as patch:
            with_work(patch)
            assert all_of_it() == whole


def test_names_are_columns():
    X, y = problem(20)
    lists, labels = [items(x) for x in X], [[f"label {code}" for code in codes] for codes in y]
    model = Given().fit(lists, labels)
    names = model.attributes_
    assert sorted(names) == ["f0", "f1", "f2", "f3"]
    columns = [np.array(x)[:, [int(name[1]) for name in names]] for x in X]
    other = fit(Given(), columns, y)
    assert other.attributes_ is None
    assert model.classes_.tolist() == ["label 0", "label 1", "label 2"]
    rows, lengths = stacked(columns)
    assert model.predict(lists) == [[f"label {code}" for code in path] for path in other.predict(rows, lengths=lengths)]
    assert model.predict(lists) == model.predict(rows, lengths=lengths)
    np.testing.assert_array_equal(
        model.log_proba(lists, labels), other.log_proba(rows, np.concatenate(y), lengths=lengths)
    )
    unknown = [[{**token, "never seen": 1.0} for token in x] for x in lists]
    assert model.predict(unknown) == model.predict(lists)


def test_templates_read_raw_tokens():
    W = Column(0, "w")
    X, y = [["the", "dog"], ["dog"]], [["D", "N"], ["N"]]
    model = Given(features=Templates([W[0]])).fit(X, y)
    plain = Given().fit([[f"w[0]={word}" for word in x] for x in X], y)
    assert model.predict(X) == plain.predict([[f"w[0]={word}" for word in x] for x in X])
    assert model.attributes_ == plain.attributes_ == ["w[0]=the", "w[0]=dog"]
    assert not hasattr(model.features, "n_features_")
    with pytest.raises(TypeError, match="lengths"):
        model.predict(X, lengths=[2, 1])


def test_the_score_is_the_share_of_the_tokens():
    model, X, y = fitted()
    rows, lengths = stacked(X)
    best = np.concatenate(model.predict(rows, lengths=lengths))
    assert model.score(rows, np.concatenate(y), lengths=lengths) == np.mean(best == np.concatenate(y))
    lists, labels = [["the", "dog"], ["dog"]], [["D", "N"], ["N"]]
    other = Given().fit(lists, labels)
    assert other.score(lists, [["new", "new"], ["new"]]) == 0
    with pytest.raises(ValueError, match="no tokens"):
        other.score([[]], [[]])


def test_constraints_hold():
    X, y = [["a", "b", "c"], ["b", "b"]] * 5, [["B-X", "I-X", "O"], ["O", "O"]] * 5
    for seed in range(20):
        model = Given(constraints="bio", seed=seed).fit(X, y)
        for labels in model.predict(X):
            assert labels[0] != "I-X"
            assert ("O", "I-X") not in list(itertools.pairwise(labels))
        assert model.log_proba([["a"]], [["I-X"]]).tolist() == [-np.inf]
        free = Given(seed=seed).fit(X, y)
        allowed = free.log_proba([["a"]] * 2, [["B-X"], ["O"]])
        np.testing.assert_allclose(
            model.log_proba([["a"]] * 2, [["B-X"], ["O"]]), allowed - np.logaddexp(*allowed), rtol=1e-12
        )


def test_it_is_an_estimator():
    model, X, y = fitted(order=2)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    tags = get_tags(model)
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    again = pickle.loads(pickle.dumps(model))
    rows, lengths = stacked(X)
    assert again.predict(rows, lengths=lengths) == model.predict(rows, lengths=lengths)
    lists, labels = [items(x) for x in X], [codes.tolist() for codes in y]
    assert cross_val_score(Given(), lists, labels, cv=3).shape == (3,)


def test_ctrl_c_ends_a_prediction_between_two_blocks(monkeypatch):
    model, X, _ = fitted(longest=9)
    rows, lengths = stacked(X)
    calls, scores = [], Given._scores

    def presses(self, tokens, start, stop):
        calls.append(start)
        if start == 0:
            signal.raise_signal(signal.SIGINT)
        return scores(self, tokens, start, stop)

    monkeypatch.setattr(Given, "_scores", presses)
    with_work(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.predict(rows, lengths=lengths)
    assert calls == [0]
