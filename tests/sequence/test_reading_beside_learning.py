"""Taggers that learn while others read: no answer, copy or file mixes two states, and nothing learnt is lost."""

import copy
import gc
import os
import pickle
import signal
import sys
import sysconfig
import threading
import time
import warnings
import weakref

import numpy as np
import pytest

import fastlin
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.sequence.tokens import Attributes
from fastlin.text.templates import Column, Templates

W = Column(0, "w")
READERS = 3
ONLINE = {
    "perceptron": lambda: StructuredPerceptron(random_state=0),
    "perceptron of order 2": lambda: StructuredPerceptron(order=2, average=False, shuffle=False),
    "mira of templates": lambda: StructuredPerceptron(
        loss="mira",
        n_best=3,
        random_state=0,
        features=Templates([W[0], W[-1] & W[0], W[0].suffix(1).when(W[0].rare(3))]),
    ),
    "hmm": HMM,
    "hmm of order 2": lambda: HMM(order=2, unknown="shape"),
}
FITTED = ONLINE | {
    "crf": lambda: CRF(max_iter=2),
    "crf of edges": lambda: CRF(max_iter=2, edges="all"),
    "memm": lambda: MEMM(max_iter=2),
}


def sentences(seed, n_labels=3, n=4, n_words=30):
    """A few sentences with words and labels, of which each seed has some of its own."""
    rng = np.random.default_rng(seed)
    X = [[f"w{word}" for word in rng.integers(0, n_words, rng.integers(1, 6))] + [f"own{seed}"] for _ in range(n)]
    return X, [[f"L{(hash_of(word) + seed) % n_labels:02d}" for word in sentence] for sentence in X]


def hash_of(word):
    return sum(map(ord, word))


QUESTIONS = sentences(0)[0] + sentences(3)[0] + [["never", "seen", "own5"]]


def answers(model):
    """All that a model says, as bytes."""
    p = model.predict_marginals(QUESTIONS)
    told = [np.concatenate(p).tobytes(), model.predict(QUESTIONS), model.classes_.tolist()]
    return told[0], p[0].shape, str(told[1]), len(told[2])


@pytest.fixture(autouse=True)
def switching():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    sys.setswitchinterval(before)


def beside(work, *read, n=READERS):
    """What readers see while something is done; errors of theirs are raised here."""
    done, seen, errors = threading.Event(), [], []

    def look(see):
        try:
            while not done.is_set():
                seen.append(see())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look, args=(see,)) for see in read for _ in range(n)]
    for thread in threads:
        thread.start()
    try:
        work()
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not errors, errors
    assert not any(thread.is_alive() for thread in threads)
    return seen


def states(make, steps):
    """What a model says before and after each of some steps, and how it ends."""
    model, told = make().partial_fit(*sentences(0)), []
    told.append(answers(model))
    for step in steps:
        model.partial_fit(*step)
        told.append(answers(model))
    return model, told


@pytest.mark.parametrize("name", ONLINE)
def test_partial_fit_beside_readers_is_partial_fit_alone(name):
    steps = [sentences(seed, n_labels=3 + seed % 4) for seed in range(1, 12)]
    alone, told = states(ONLINE[name], steps)
    model = ONLINE[name]().partial_fit(*sentences(0))

    def learn():
        for step in steps:
            model.partial_fit(*step)
            time.sleep(0.005)

    def whole():
        p = model.predict_marginals(QUESTIONS)
        return np.concatenate(p).tobytes()

    seen = beside(learn, whole, n=2)
    assert answers(model) == told[-1] == answers(alone)
    assert set(seen) <= {state[0] for state in told}
    assert model.attributes_ == alone.attributes_


@pytest.mark.parametrize("name", FITTED)
def test_an_answer_beside_fit_is_that_of_one_model(name):
    few, many = sentences(1, 2), sentences(2, 40, n=12)
    model, told = FITTED[name](), []
    for data in (few, many):
        model.fit(*data)
        told.append((np.concatenate(model.predict_marginals(few[0])).tobytes(), str(model.predict_nbest(few[0], 2))))
        told[-1] += (str(model.log_proba(*few)),)

    def fit():
        for step in range(12):
            model.fit(*(few if step % 2 else many))

    seen = beside(
        fit,
        lambda: (0, np.concatenate(model.predict_marginals(few[0])).tobytes()),
        lambda: (1, str(model.predict_nbest(few[0], 2))),
        lambda: (2, str(model.log_proba(*few))),
        n=1,
    )
    assert all(any(state[place] == said for state in told) for place, said in seen)


@pytest.mark.parametrize("name", ONLINE)
def test_copies_pickles_and_files_made_meanwhile_are_whole(name, tmp_path):
    steps = [sentences(seed, n_labels=3 + seed % 3) for seed in range(1, 9)]
    told = {state[0] for state in states(ONLINE[name], steps)[1]}
    model = ONLINE[name]().partial_fit(*sentences(0))

    def learn():
        for step in steps:
            model.partial_fit(*step)
            time.sleep(0.01)

    def stored():
        fastlin.save(model, tmp_path / "model")
        return fastlin.load(tmp_path / "model")

    kept = beside(learn, lambda: copy.copy(model), lambda: pickle.loads(pickle.dumps(model)), stored, n=1)
    for other in kept[:30] + kept[-30:]:
        assert np.concatenate(other.predict_marginals(QUESTIONS)).tobytes() in told
        other.partial_fit(*sentences(20))
        assert "own20" not in str(model.attributes_)


@pytest.mark.parametrize("name", ONLINE)
def test_a_copy_learns_alone_and_so_does_what_it_was_copied_from(name):
    first, second, third = sentences(1), sentences(2, 4), sentences(3, 5)
    model = ONLINE[name]().partial_fit(*first)
    for make in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
        twin = make(model)
        before = answers(model)
        one = answers(twin.partial_fit(*second))
        assert answers(model) == before
        alone = ONLINE[name]().partial_fit(*first).partial_fit(*second)
        assert one == answers(alone)
        assert twin.attributes_ == alone.attributes_
    model.partial_fit(*third)
    assert answers(twin) == one


def test_learners_take_turns():
    """Counts do not depend on the order, but for the order of their columns."""
    steps, model = [sentences(seed) for seed in range(24)], HMM()
    threads = [
        threading.Thread(target=lambda own: [model.partial_fit(*step) for step in own], args=(steps[k::4],))
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    alone = HMM()
    for step in steps:
        alone.partial_fit(*step)
    assert sorted(model.attributes_) == sorted(alone.attributes_)
    np.testing.assert_array_equal(model.transmat_, alone.transmat_)
    order = [model.attributes_.index(word) for word in alone.attributes_]
    np.testing.assert_allclose(model.emissionprob_[:, order], alone.emissionprob_, rtol=1e-12)


@pytest.mark.parametrize("name", ONLINE)
def test_what_a_failing_step_has_met_is_not_known(name):
    model, twin = (ONLINE[name]().partial_fit(*sentences(0)) for _ in range(2))
    before, names = answers(model), model.attributes_
    X, y = sentences(7)
    for bad in (([*X, [None]], [*y, ["L00"]]), (X, y[:-1]), (X, [*y[:-1], [{None}] * len(y[-1])])):
        with pytest.raises((TypeError, ValueError)):
            model.partial_fit(*bad)
        assert answers(model) == before
        assert model.attributes_ == names
    assert answers(model.partial_fit(*sentences(8))) == answers(twin.partial_fit(*sentences(8)))
    assert model.attributes_ == twin.attributes_


class Waiting:
    """A token that lets another thread work while it is read, and is none."""

    def __init__(self):
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __iter__(self):
        self.reached.set()
        self.go_on.wait(60)
        raise ValueError("no token")


@pytest.mark.parametrize("make", [lambda: StructuredPerceptron(random_state=0), HMM])
def test_names_of_a_step_that_fails_lead_nowhere(make):
    """A reader that meets them while the step goes on, and after it has failed."""
    model = make().partial_fit([["a", "b"]], [["X", "Y"]])
    before, bad = model.predict_marginals([["new", "b"]])[0], Waiting()
    X = [[*(f"new{place}" for place in range(1000)), "new"], [bad]]

    def fail():
        with pytest.raises(ValueError, match="no token"):
            model.partial_fit(X, [["X"] * 1001, ["Y"]])

    thread = threading.Thread(target=fail)
    thread.start()
    assert bad.reached.wait(60)
    np.testing.assert_array_equal(model.predict_marginals([["new", "b"]])[0], before)

    def tokens():
        yield "new"
        bad.go_on.set()
        thread.join()
        yield "b"

    np.testing.assert_array_equal(model.predict_marginals([tokens()])[0], before)


def test_attributes_are_the_first_of_a_table_that_grows():
    first = Attributes()
    first.learn([["a", "b"]])
    second, third = copy.copy(first), copy.copy(first)
    second.learn([["c"]])
    third.learn([["d", "c"]])
    assert (first.names, second.names, third.names) == (["a", "b"], ["a", "b", "c"], ["a", "b", "d", "c"])
    assert "c" not in first
    assert (second.column("c"), third.column("c"), first.column("c")) == (2, 3, -1)
    assert first.read([["c", "b"]]).rows.indices.tolist() == [1]
    assert second.read([["c", "d"]]).rows.indices.tolist() == [2]


def test_templates_read_what_was_known_while_they_learn():
    templates = Templates([W[0], W[-1] & W[0], W[0].rare(2)])
    templates.fit([["a", "b"], ["a"]])
    earlier = templates._snapshot()
    X = [["b", "c", "a"], ["c"]]
    before = earlier.transform(X)[0].toarray()
    seen = beside(
        lambda: [templates.partial_fit([[f"n{k}", "c", "b"]]) for k in range(200)],
        lambda: earlier.transform(X)[0].toarray().tolist(),
        lambda: templates.transform(X)[0].shape[1] <= templates.n_features_,
        n=1,
    )
    assert all(one is True or one == before.tolist() for one in seen)
    other = copy.copy(templates)
    other.partial_fit([["z"]])
    assert "w[0]=z" not in templates.get_feature_names_out()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ONLINE)
def test_a_child_sees_a_whole_state(name):
    steps = [sentences(seed) for seed in range(1, 9)]
    told = {state[0] for state in states(ONLINE[name], steps)[1]}
    model, stop = ONLINE[name]().partial_fit(*sentences(0)), threading.Event()

    def learn():
        for step in steps:
            model.partial_fit(*step)
        while not stop.is_set():
            model.predict(QUESTIONS)

    thread = threading.Thread(target=learn)
    thread.start()
    for _ in range(15):
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            whole = np.concatenate(model.predict_marginals(QUESTIONS)).tobytes() in told
            model.partial_fit(*sentences(30))
            os._exit(0 if whole else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stop.set()
    thread.join(60)


def test_what_is_freed_while_a_model_learns_may_read():
    """What the last state kept goes when the next one comes: names and weights are of one of them then, too."""
    make, steps, seen = ONLINE["mira of templates"], [sentences(seed) for seed in range(1, 12)], []
    told = {state[0] for state in states(make, steps)[1]}
    model = make().partial_fit(*sentences(0))
    for step in steps:
        model.predict(QUESTIONS)
        kept = weakref.ref(
            model._derived, lambda _: seen.append(np.concatenate(model.predict_marginals(QUESTIONS)).tobytes())
        )
        model.partial_fit(*step)
        if sysconfig.get_config_var("Py_GIL_DISABLED"):  # what other threads could look at is freed a little later
            gc.collect()
        assert kept() is None
    assert len(seen) == len(steps)
    assert set(seen) <= told


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers")
@pytest.mark.parametrize("name", ONLINE)
def test_a_signal_handler_may_read(name):
    steps = [sentences(seed) for seed in range(1, 30)]
    told = {state[0] for state in states(ONLINE[name], steps)[1]}
    model, seen, reading = ONLINE[name]().partial_fit(*sentences(0)), [], []

    def read(*_):
        if not reading:  # else the timer is faster than an answer, and handlers within handlers have no end
            reading.append(True)
            seen.append(np.concatenate(model.predict_marginals(QUESTIONS)).tobytes())
            reading.pop()

    before = signal.signal(signal.SIGALRM, read)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.004)
    try:
        for step in steps:
            model.partial_fit(*step)
            model.predict(QUESTIONS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    assert set(seen) <= told
