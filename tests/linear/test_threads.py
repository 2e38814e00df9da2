"""Threads: learning beside reading, beside learning and beside copying, for all that learns in batches or counts."""

import copy
import os
import pickle
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import fastlin
from fastlin.text import CountVectorizer

ROUNDS = 70
rng = np.random.default_rng(0)
X = sp.random_array((120, 60), density=0.1, rng=rng, format="csr")
X.data = np.ceil(3 * X.data)
FEW = np.array(["a", "b"])[rng.integers(0, 2, 120)]
MANY = np.array([f"l{number:02d}" for number in rng.integers(0, 20, 120)])
TUPLES = rng.integers(0, 5, (120, 3)).astype(str).astype(object)
PARTLY = np.where(np.arange(120) % 3 == 0, MANY, "")
EVERY_OTHER = np.array(["a", "b"] * 60)
SIZES = np.full(40, 3)
SIZES_OF_TWO = np.full(60, 2)
LEXICONS = [{f"l{label:02d}": [f"w{label}", "w0"] for label in range(number)} for number in (2, 30)]
TEXTS = [f"w{number} w0 w{number % 7}" for number in range(40)]

FITS = {  # what makes an estimator, and two ways to fit it that differ in their labels or shapes
    "MultinomialNB": (fastlin.MultinomialNB, [(X, FEW), (X, MANY)]),
    "CategoricalNB": (fastlin.CategoricalNB, [(TUPLES, FEW), (TUPLES[:, :], MANY)]),
    "SemiSupervisedNB": (lambda: fastlin.SemiSupervisedNB(max_iter=1), [(X, FEW), (X, PARTLY)]),
    "SemiSupervisedNBCV": (
        lambda: fastlin.SemiSupervisedNBCV(
            unlabeled_weights=[1.0], components=[1], alphas=[1.0], cv=[(range(60), range(60, 120))], max_iter=1
        ),
        [(X, FEW), (X, np.where(np.arange(120) % 7 == 0, "", FEW))],
    ),
    "MultinomialMixture": (lambda: fastlin.MultinomialMixture(2, max_iter=1, random_state=0), [(X,), (X[:50],)]),
    "KMeans": (lambda: fastlin.KMeans(3, max_iter=1, random_state=0), [(X,), (X[:50],)]),
    "LogisticRegression": (lambda: fastlin.LogisticRegression(max_iter=1), [(X, FEW), (X, MANY)]),
    "LogisticRegressionCV": (
        lambda: fastlin.LogisticRegressionCV(Cs=[1.0], cv=[(range(60), range(60, 120))], max_iter=1),
        [(X, FEW), (X, FEW[::-1])],
    ),
    "LinearSVC": (lambda: fastlin.LinearSVC(max_iter=1, random_state=0), [(X, FEW), (X, MANY)]),
    "CandidateClassifier": (
        lambda: fastlin.CandidateClassifier(max_iter=1),
        [(X, np.zeros(40, int), SIZES), (X, np.zeros(60, int), SIZES_OF_TWO)],
    ),
}
READERS = ("predict", "predict_log_proba", "predict_proba", "predict_joint_log_proba", "decision_function", "transform",
           "score_samples")  # fmt: skip
ATTRIBUTES = ("coef_", "feature_log_prob_", "feature_count_", "class_count_", "class_log_prior_", "cluster_centers_",
              "category_count_", "categories_", "weights_", "component_count_")  # fmt: skip


@pytest.fixture(autouse=True)
def _short_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    sys.setswitchinterval(before)


def beside(learn, *others):
    """Run `learn` in one thread, and the others again and again in threads of their own until it ends."""
    failures, done = [], threading.Event()

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)
            done.set()

    def again(work):
        while not done.is_set():
            work()

    threads = [threading.Thread(target=guarded, args=(lambda work=work: again(work),)) for work in others]
    for thread in threads:
        thread.start()
    try:
        guarded(lambda: learn(done))
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def answers(model, data):
    """What each reading method says, as bytes."""
    given = [data[0], data[2]] if len(data) == 3 else [data[0]]
    said = {}
    for name in READERS:
        if hasattr(model, name):
            try:
                said[name] = frozen(getattr(model, name)(*given))
            except ValueError as error:  # matrices of another shape
                said[name] = str(error)
    return said


def attributes(model):
    return {name: frozen(getattr(model, name)) for name in ATTRIBUTES if hasattr(model, name)}


def frozen(found):
    arrays = found if isinstance(found, list) else [found]
    return tuple(pickle.dumps((np.shape(array), np.asarray(array).tolist())) for array in arrays)


@pytest.mark.parametrize("name", FITS)
def test_each_answer_beside_fit_is_that_of_a_fit(name):
    make, data = FITS[name]
    states = []
    for given in data:
        model = make().fit(*given)
        states.append((answers(model, data[0]), attributes(model)))
    model = make().fit(*data[0])

    def learn(done):
        for round_ in range(60):
            if done.is_set():
                return
            model.fit(*data[round_ % 2])

    def read():
        for reader, said in answers(model, data[0]).items():
            assert said in [state[0].get(reader) for state in states], reader

    def look():
        for attribute, value in attributes(model).items():
            assert value in [state[1].get(attribute) for state in states], attribute

    beside(learn, read, read, look)
    assert (answers(model.fit(*data[1]), data[0]), attributes(model)) == states[1]


def test_a_lexicon_is_taken_up_at_once():
    models = [fastlin.LexiconClassifier(lexicon, vectorizer=CountVectorizer()).fit(TEXTS) for lexicon in LEXICONS]
    said = [frozen(model.decision_function(TEXTS)) for model in models]
    coefs = [frozen(model.coef_) for model in models]
    model = fastlin.LexiconClassifier(LEXICONS[0], vectorizer=CountVectorizer()).fit(TEXTS)

    def learn(done):
        for round_ in range(60):
            if done.is_set():
                return
            model.set_params(lexicon=LEXICONS[round_ % 2]).fit(TEXTS)

    def read():
        assert frozen(model.decision_function(TEXTS)) in said
        assert frozen(model.coef_) in coefs

    beside(learn, read, read)


# Streams

STREAMS = {
    "MultinomialNB": (fastlin.MultinomialNB, X, MANY),
    "MultinomialNB that grows": (lambda: fastlin.MultinomialNB(grow_features=True), X, MANY),
    "CategoricalNB": (fastlin.CategoricalNB, TUPLES, MANY),
    "SemiSupervisedNB": (
        lambda: fastlin.SemiSupervisedNB(components={"a": 2}, random_state=0),
        X,
        EVERY_OTHER,
    ),
    "SemiSupervisedNB, partly": (
        fastlin.SemiSupervisedNB,
        X,
        np.where(np.arange(120) % 4 < 2, EVERY_OTHER, ""),
    ),
    "MultinomialMixture": (lambda: fastlin.MultinomialMixture(3, random_state=0), X, None),
}


def piece(name, number):
    """The rows and labels of a call."""
    _, rows, labels = STREAMS[name]
    here = slice(number % 120, number % 120 + 1) if number else slice(0, 8)
    rows = rows[here]
    if "grows" in name:
        rows = rows[:, : 20 + number % 40]
    return (rows,) if labels is None else (rows, labels[here])


def learnt_alone(name, rounds):
    model, states = STREAMS[name][0](), []
    for number in range(rounds):
        model.partial_fit(*piece(name, number))
        states.append(model_state(model))
    return model, states


def model_state(model):
    """The counts of one moment, as bytes."""
    counts = model._snapshot()._counts.snapshot()
    more = [alphabet.names() for alphabet in getattr(counts, "alphabets", [])]
    return frozen(counts.features), frozen(counts.labels), pickle.dumps(more)


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_learnt_beside_readers_is_what_is_learnt_without(name):
    alone, states = learnt_alone(name, ROUNDS)
    known, (make, rows, _) = set(states), STREAMS[name]
    test = rows[50:55]
    model = make().partial_fit(*piece(name, 0))
    said = {reader: set() for reader in READERS if hasattr(model, reader)} | {"feature_log_prob_": set()}
    twin = make()
    for number in range(ROUNDS):
        twin.partial_fit(*piece(name, number))
        for reader, answers_ in said.items():
            answers_.add(frozen(getattr(twin, reader)(test) if reader in READERS else getattr(twin, reader)))

    def learn(done):
        for number in range(1, ROUNDS):
            if done.is_set():
                return
            model.partial_fit(*piece(name, number))

    def read():
        for reader, answers_ in said.items():
            assert frozen(getattr(model, reader)(test) if reader in READERS else getattr(model, reader)) in answers_

    def copies():
        for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert model_state(other) in known

    beside(learn, read, read, copies)
    assert model_state(model) == model_state(alone)
    assert {reader: frozen(getattr(model, reader)(test)) for reader in said if reader in READERS} == {
        reader: frozen(getattr(alone, reader)(test)) for reader in said if reader in READERS
    }


@pytest.mark.parametrize("name", STREAMS)
def test_files_written_meanwhile_are_whole(name, tmp_path):
    _, states = learnt_alone(name, 60)
    model = STREAMS[name][0]().partial_fit(*piece(name, 0))

    def learn(done):
        for number in range(1, 60):
            if done.is_set():
                return
            model.partial_fit(*piece(name, number))

    def write():
        fastlin.save(model, tmp_path / "model.fastlin")
        assert state_of_file(tmp_path / "model.fastlin") in compact

    compact = {state_of_counts(state) for state in states}

    def state_of_file(path):
        return state_of_counts(model_state(fastlin.load(path)))

    beside(learn, write)


def state_of_counts(state):
    """Without the room that a file leaves out: labels and names."""
    return state[1:]


@pytest.mark.parametrize("name", ["MultinomialNB", "CategoricalNB", "SemiSupervisedNB"])
def test_first_calls_of_many_threads_are_all_counted(name):
    make, rows, labels = STREAMS[name]
    for _ in range(20):
        model, start = make(), threading.Barrier(8)

        def learn(thread, model=model, start=start):
            start.wait(60)
            for row in range(15 * thread, 15 * thread + 15):
                model.partial_fit(rows[row : row + 1], labels[row : row + 1])

        threads = [threading.Thread(target=learn, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert model.class_count_.sum() == pytest.approx(120, abs=1e-9)
        if name == "MultinomialNB":
            assert model.feature_count_.sum() == rows.sum()


@pytest.mark.parametrize("name", STREAMS)
def test_what_was_handed_out_does_not_change(name):
    model = STREAMS[name][0]().partial_fit(*piece(name, 0)).partial_fit(*piece(name, 1))
    taken = {attribute: getattr(model, attribute) for attribute in ATTRIBUTES if hasattr(model, attribute)}
    others = copy.copy(model), copy.deepcopy(model)
    before, state = {name: frozen(value) for name, value in taken.items()}, model_state(model)
    model.partial_fit(*piece(name, 1))
    assert {name: frozen(value) for name, value in taken.items()} == before
    for other in others:
        assert model_state(other) == state
        other.partial_fit(*piece(name, 1))
        assert model_state(other) == model_state(model)
    assert model_state(model) != state


def test_one_row_is_counted_where_the_counts_are():
    model = fastlin.MultinomialNB().fit(X, FEW)
    model.predict(X[:1])
    features = model._counts.features
    model.partial_fit(X[:1], FEW[:1])
    assert np.shares_memory(model._counts.features, features)
    model.feature_count_  # noqa: B018 - hands the arrays out
    model.partial_fit(X[:1], FEW[:1])
    assert not np.shares_memory(model._counts.features, features)
    features = model._counts.features
    model.partial_fit(X[:1], FEW[:1])
    assert np.shares_memory(model._counts.features, features)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_signal_handler_predicts_while_its_thread_learns():
    model, calls, predicting = fastlin.MultinomialNB().fit(X, FEW), [], []

    def handle(*_):
        if not predicting:  # else the timer is faster than an answer, and handlers within handlers have no end
            predicting.append(True)
            calls.append(model.predict(X[:3]).tolist())
            predicting.pop()

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        for row in range(300):
            model.partial_fit(X[row % 120 :][:1], FEW[row % 120 :][:1])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_predicts_and_learns():
    model, done = fastlin.MultinomialNB().fit(X, FEW), threading.Event()

    def learn():
        row = 0
        while not done.is_set():
            model.partial_fit(X[row % 120 :][:1], FEW[row % 120 :][:1])
            row += 1

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                child = os.fork()
            if not child:
                signal.alarm(30)
                counts = copy.deepcopy(model)
                whole = counts.feature_count_.sum() >= X.sum() and counts.class_count_.sum() >= 120
                os._exit(0 if whole and len(model.predict(X)) == 120 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join(60)
