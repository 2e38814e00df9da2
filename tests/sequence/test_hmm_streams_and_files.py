"""How hidden Markov models live: streams that grow, files, copies, bad input that changes nothing."""

import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fastlin
from fastlin.sequence import HMM
from fastlin.text.templates import Column, Templates

X = [["the", "dog", "barks"], ["a", "Cat", "sleeps"], [], ["the", "cat", "barks", "well"]]
Y = [["D", "N", "V"], ["D", "N", "V"], [], ["D", "N", "V", "A"]]
NEW = [["Rex", "runs", "well"]], [["P", "V", "A"]]
MATRIX, LENGTHS = sp.csr_array(np.eye(4)[[0, 1, 2, 0, 3]]), [3, 2]


def same(one, other):
    for name in ("classes_", "startprob_", "transmat_", "stopprob_", "emissionprob_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.attributes_ == other.attributes_
    words = [["dogs", "?", "the"], ["Barks"], []]
    assert one.predict(words) == other.predict(words)
    np.testing.assert_array_equal(one.score_samples(words), other.score_samples(words))


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_labels_and_words_come_at_any_time(order):
    model = HMM(order=order).fit(X, Y)
    before = copy.copy(model), model.predict(X)
    model.partial_fit(*NEW)
    assert model.classes_.tolist() == ["A", "D", "N", "P", "V"]
    assert model.attributes_[-2:] == ["Rex", "runs"]
    same(model, HMM(order=order).fit([*X, *NEW[0]], [*Y, *NEW[1]]))
    assert before[1] == Y
    same(model.partial_fit([[], []], [[], []]), HMM(order=order).fit([*X, *NEW[0]], [*Y, *NEW[1]]))


@pytest.mark.parametrize(
    "batch, message, error",
    [
        (([["new"]], [["D", "N"]]), "sequence 0 has 1 tokens in X, but 2 labels", ValueError),
        (([["new"]], [[3]]), "kinds do not mix", ValueError),
        (([["new"]], [[None]]), "labels are strings or integers", TypeError),
        (([["new"]], None), "y is None", ValueError),
        (([["new"], [3]], [["D"], ["D"]]), "sequence 1, token 0", TypeError),
        (([["new"], [{"a": np.nan}]], [["D"], ["D"]]), "sequence 1, token 0", ValueError),
        (([["new"], [{"a": -1.0}]], [["D"], ["D"]]), "Negative values in data", ValueError),
        (([], []), "there is no sequence to learn from", ValueError),
    ],
)
def test_a_batch_that_is_refused_changes_nothing(batch, message, error):
    model = HMM().fit(X, Y)
    with pytest.raises(error, match=message):
        model.partial_fit(*batch)
    same(model, HMM().fit(X, Y))
    if "mix" not in message:
        with pytest.raises(error, match=message):
            HMM().partial_fit(*batch)
    model.partial_fit(*NEW)
    same(model, HMM().fit([*X, *NEW[0]], [*Y, *NEW[1]]))


def test_another_order_is_another_model():
    model = HMM().fit(X, Y).set_params(order=2)
    with pytest.raises(ValueError, match="order=2, but the model has 1: fit it anew"):
        model.partial_fit(*NEW)
    assert model.fit(X, Y).transmat_.ndim == 3


def test_parameters_of_smoothing_hold_until_more_is_learnt():
    model = HMM().fit(X, Y).set_params(transition_alpha=3.0, unknown="uniform")
    same(model, HMM().fit(X, Y))
    same(model.partial_fit(X, Y), HMM(transition_alpha=3.0, unknown="uniform").fit([*X, *X], [*Y, *Y]))


def test_templates_grow_too():
    raw = [[(word, "x") for word in words] for words in X]
    more = [[(word, "y") for word in words] for words in NEW[0]]
    W = Column(0, "w")
    features = Templates([W[0], W[0].suffix(2), W[-1]])
    model = HMM(features=features).fit(raw, Y)
    with pytest.raises(ValueError, match="sequence 0 has 3 tokens in X, but 1 labels"):
        model.partial_fit(more, [["P"]])
    same_columns = HMM(features=features).fit([*raw, *more], [*Y, *NEW[1]])
    model.partial_fit(more, NEW[1])
    np.testing.assert_array_equal(model.emissionprob_, same_columns.emissionprob_)
    assert model.attributes_ == same_columns.attributes_
    assert model.predict(raw) == Y
    assert np.isfinite(model.score_samples([[("never", "z")]])).all()


def test_sequences_may_come_from_generators():
    lists = [list(words) for words in X]
    made = HMM().fit((iter(words) for words in lists), (tuple(labels) for labels in Y))
    same(made, HMM().fit(X, Y))
    assert made.predict(iter(word for word in words) for words in [["dogs", "the"]]) == made.predict([["dogs", "the"]])
    same(HMM().partial_fit(iter(X), iter(Y)), HMM().fit(X, Y))


def test_words_among_other_tokens_are_left_out():
    """Where tokens have several features, what was never seen says nothing."""
    model = HMM().fit(X, Y)
    assert np.isfinite(model.score_samples([[["never", "seen"], "dog"], [[], {}]])).all()
    mixed = HMM().fit([["the", ["dog", "noun"]]], [["D", "N"]])
    np.testing.assert_allclose(mixed.predict_marginals([["never"]])[0][0], _first(mixed), rtol=1e-12)


def _first(model):
    """p(k) of a sequence of one token that says nothing."""
    p = model.startprob_ * model.stopprob_
    return p / p.sum()


# --- copies and files -------------------------------------------------------------------------------------------------


def models():
    yield HMM().fit(X, Y)
    yield HMM(order=2, alpha=0.1, unknown="shape").fit(X, Y)
    yield HMM(order=2, n_components=2, random_state=0, tol=1e-2, alpha=0.1).fit(X)
    yield HMM(unknown="uniform", interpolation=(0.5, 0.5)).fit(X, Y)
    yield HMM().fit([[["w:" + word] for word in words] for words in X], Y)


@pytest.mark.parametrize("mmap", [True, False])
def test_a_file_brings_the_model_back(tmp_path, mmap):
    for model in models():
        fastlin.save(model, tmp_path / "model.fastlin")
        loaded = fastlin.load(tmp_path / "model.fastlin", mmap=mmap)
        same(model, loaded)
        if model.n_components is None:
            same(model.partial_fit(*NEW), loaded.partial_fit(*NEW))
        else:
            np.testing.assert_array_equal(model.bound_, loaded.bound_)
            assert model.history_ == loaded.history_
    of_matrix = HMM().fit(MATRIX, [0, 1, 1, 0, 2], lengths=LENGTHS)
    fastlin.save(of_matrix, tmp_path / "model.fastlin")
    loaded = fastlin.load(tmp_path / "model.fastlin")
    assert loaded.predict(MATRIX, lengths=LENGTHS) == of_matrix.predict(MATRIX, lengths=LENGTHS)
    assert loaded.predict(MATRIX, lengths=LENGTHS)[0][0] in (0, 1, 2)


def test_files_for_serving_are_refused(tmp_path):
    with pytest.raises(ValueError, match="HMM is saved as counts"):
        fastlin.save(HMM().fit(X, Y), tmp_path / "model.fastlin", dtype="float16")


def test_pickles_and_clones():
    for model in models():
        same(model, pickle.loads(pickle.dumps(model)))
        same(model, copy.deepcopy(model))
        again = clone(model)
        with pytest.raises(NotFittedError, match="call fit or partial_fit first"):
            again.predict(X)


def test_threads_may_predict_at_once():
    model = HMM().fit(X * 200, Y * 200)
    expected, found = model.predict(X), []
    threads = [threading.Thread(target=lambda: found.append(model.predict(X))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_what_interrupts_a_batch_comes_after_it(monkeypatch):
    """Ctrl-C while a batch is counted waits until it is counted whole."""
    model = HMM().fit(X, Y)
    ended = []

    def interrupted(work):
        work()
        ended.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr("fastlin.runtime.thread_calls.run_uninterrupted", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(*NEW)
    assert ended
    same(model, HMM().fit([*X, *NEW[0]], [*Y, *NEW[1]]))


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters, message, error",
    [
        ({"order": 3}, "order must be 1 or 2, got 3", ValueError),
        ({"order": True}, "order must be 1 or 2", ValueError),
        ({"alpha": -1}, "alpha must be >= 0", ValueError),
        ({"alpha": np.nan}, "alpha must be", ValueError),
        ({"alpha": "1"}, "alpha must be a number", TypeError),
        ({"transition_alpha": None}, "transition_alpha must be a number", TypeError),
        ({"start_alpha": -0.1}, "start_alpha must be >= 0", ValueError),
        ({"interpolation": "delete"}, "interpolation must be one of None, 'deleted'", ValueError),
        ({"interpolation": (0.5, 0.3, 0.2)}, "interpolation must hold 2 numbers", ValueError),
        ({"interpolation": (0.0, 0.0)}, "interpolation must hold 2 numbers, not all 0", ValueError),
        ({"interpolation": (-1.0, 2.0)}, "interpolation must be >= 0", ValueError),
        ({"interpolation": 3}, "interpolation must be None, 'deleted' or numbers", TypeError),
        ({"unknown": "sufix"}, "unknown must be one of .*; did you mean 'suffix'", ValueError),
        ({"stop": "yes"}, "stop must be one of True, False", ValueError),
        ({"n_components": 2}, "n_components=2, but y has 4 labels", ValueError),
        ({"features": 3}, "features must be None or Templates", TypeError),
        ({"constraints": "bia"}, "constraints must be one of", ValueError),
        ({"callback": 3}, "callback must be callable", TypeError),
        ({"n_jobs": 0}, "n_jobs must be", ValueError),
    ],
)
def test_parameters(parameters, message, error):
    with pytest.raises(error, match=message):
        HMM(**parameters).fit(X, Y)


def test_sequences_that_are_none():
    model = HMM().fit(X, Y)
    for wrong, message in (
        ("a text", "X is one text"),
        ({"a": 1}, "X is a dict"),
        (["a text"], "that is a text"),
        (3, "list of sequences"),
    ):
        with pytest.raises(TypeError, match=message):
            HMM().fit(wrong, Y)
        with pytest.raises(TypeError, match=message):
            model.predict(wrong)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="sequence 0, token 1"):
            model.predict([["a", {"b": value}]])
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            HMM().fit(sp.csr_array(np.full((2, 2), value)), [1, 2], lengths=[2])
    with pytest.raises(ValueError, match="Negative values in data"):
        HMM().fit(-MATRIX, [0, 1, 1, 0, 2], lengths=LENGTHS)
    with pytest.raises(ValueError, match="Negative values in data"):
        model.predict([[{"the": -1.0}]])
    with pytest.raises(ValueError, match="X has no features"):
        HMM().fit([[], []], [[], []])
    with pytest.raises(ValueError, match="X has no features"):
        HMM(n_components=2).fit([[], []])
    with pytest.raises(ValueError, match="the model was fitted with 4"):
        HMM().fit(MATRIX, [0, 1, 1, 0, 2], lengths=LENGTHS).predict(MATRIX[:, :3], lengths=LENGTHS)


def test_an_explicit_zero_is_no_occurrence():
    written = sp.csr_array(
        (np.append(MATRIX.data, 0.0), np.append(MATRIX.indices, 0), [0, 1, 2, 3, 4, 6]), MATRIX.shape
    )
    one, other = (HMM(alpha=0).fit(M, [0, 1, 1, 0, 2], lengths=LENGTHS) for M in (MATRIX, written))
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)
    np.testing.assert_array_equal(
        one.score_samples(MATRIX, lengths=LENGTHS), other.score_samples(written, lengths=LENGTHS)
    )


def test_unknown_labels_are_impossible():
    model = HMM().fit(X, Y)
    values = model.log_joint(X, [["D", "?", "V"], *Y[1:]])
    assert values[0] == -np.inf
    assert np.isfinite(values[1:]).all()
    assert model.score(X, [["D", "?", "V"], *Y[1:]]) == pytest.approx(0.9)


def test_strange_words():
    words = ["", " ", "\ud800", "ß" * 1000, "\x00", "İ", "日本語", "-", "A-", "1.5", "e\u0301"]
    for unknown in ("suffix", "shape", "uniform"):
        model = HMM(unknown=unknown).fit(X, Y)
        assert [*map(len, model.predict([words]))] == [len(words)]
        again = HMM(unknown=unknown).fit([words], [["N"] * len(words)])
        assert again.attributes_ == words
        assert np.isfinite(again.score_samples([words])).all()
