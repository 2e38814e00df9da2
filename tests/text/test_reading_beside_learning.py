"""Vectorisers, transformers and selectors that one thread fits while others use them: every answer is of one moment."""

import copy
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fastlin
import fastlin.select
from support.estimators import text_like

LONG, SHORT = list("abcdefghijklmnopqrstuvwxyz"), list("abc")
TEXTS = {
    "long": [" ".join(f"{word}{word}" for word in LONG[place:]) for place in range(20)],
    "short": [" ".join(f"{word}{word}" for word in SHORT[place:]) for place in (0, 1, 0)],
}
DICTS = {
    "long": [{word: place, "last": word} for place, word in enumerate(LONG)],
    "short": [{word: place} for place, word in enumerate(SHORT)],
}
ROWS = {"long": text_like(n_features=30)[0], "short": text_like(n_features=7)[0]}
Y = text_like()[1]


def learn_texts(model, which):
    return model.fit(TEXTS[which])


def learn_rows(model, which):
    return model.fit(ROWS[which], Y)


# the model, how it learns one of two things, and what readers ask it; an error that says that X does not fit is one
CASES = {
    "counts": (fastlin.CountVectorizer, learn_texts, TEXTS["long"]),
    "pairs of words": (lambda: fastlin.CountVectorizer(ngram_range=(1, 2), min_df=2), learn_texts, TEXTS["long"]),
    "counts in Python": (lambda: fastlin.CountVectorizer(analyzer=str.split), learn_texts, TEXTS["long"]),
    "tf-idf of texts": (fastlin.TfidfVectorizer, learn_texts, TEXTS["long"]),
    "hashes": (lambda: fastlin.HashingVectorizer(n_features=64, keep_names=9), learn_texts, TEXTS["long"]),
    "dicts": (fastlin.DictVectorizer, lambda model, which: model.fit(DICTS[which]), DICTS["long"]),
    "dense dicts": (
        lambda: fastlin.DictVectorizer(sparse=False),
        lambda model, which: model.fit(DICTS[which]),
        DICTS["long"],
    ),
    "tf-idf": (fastlin.TfidfTransformer, learn_rows, ROWS["long"]),
    "conjunctions": (fastlin.Conjunctions, learn_rows, ROWS["long"]),
    "elementwise": (fastlin.Elementwise, learn_rows, ROWS["long"]),
    "ratio": (fastlin.LogCountRatio, learn_rows, ROWS["long"]),
    "cut-off": (lambda: fastlin.select.CountCutoff(3), learn_rows, ROWS["long"]),
    "selection": (lambda: fastlin.select.SelectFeatures(5, method="count"), learn_rows, ROWS["long"]),
}
ATTRIBUTES = (
    "vocabulary_", "idf_", "names_", "collisions_", "conjunctions_", "log_ratio_", "feature_names_", "support_",
    "counts_",
)  # fmt: skip
every = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def _threads_take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def frozen(value):
    """A value that can be compared, with all of its bits."""
    if sparse.issparse(value):
        return value.shape, value.indptr.tobytes(), value.indices.tobytes(), value.data.tobytes()
    if isinstance(value, pd.DataFrame):
        return value.shape, tuple(value.columns), value.to_numpy().tobytes()
    if isinstance(value, np.ndarray):
        return value.shape, tuple(value.tolist()) if value.dtype == object else value.tobytes()
    return repr(value)


def asked(question, *of):
    """What is answered, or that it is refused."""
    try:
        return frozen(question(*of))
    except (ValueError, AttributeError) as error:
        return type(error).__name__, str(error)


def questions(name):
    """What readers ask, by name."""
    make, _, probe = CASES[name]
    found = {"transform": lambda model: model.transform(probe)}
    if hasattr(make(), "get_feature_names_out"):
        found["get_feature_names_out"] = lambda model: model.get_feature_names_out()
    if hasattr(make(), "get_support"):
        found["get_support"] = lambda model: model.get_support()
    found |= {
        attribute: lambda model, attribute=attribute: getattr(model, attribute)
        for attribute in ATTRIBUTES
        if hasattr(learned(name, "long"), attribute)
    }
    found["copy"] = lambda model: copy.copy(model).transform(probe)
    found["pickle"] = lambda model: pickle.loads(pickle.dumps(model)).transform(probe)
    return found


def learned(name, which):
    make, learn, _ = CASES[name]
    return learn(make(), which)


def states(name):
    """The answers to every question in each of the two states."""
    models = [learned(name, which) for which in ("long", "short")]
    return {what: {asked(ask, model) for model in models} for what, ask in questions(name).items()}


def beside(work, others, seconds=60):
    """Call `work` while threads call the others again and again; what they returned, and what failed."""
    done, failures = threading.Event(), []

    def repeat(other):
        try:
            while not done.is_set():
                other()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=repeat, args=(other,), daemon=True) for other in others]
    for thread in threads:
        thread.start()
    try:
        work()
    finally:
        done.set()
        for thread in threads:
            thread.join(seconds)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not failures, failures


@every
def test_answers_are_those_of_a_state_that_there_was(name):
    _, learn, _ = CASES[name]
    expected, model, wrong = states(name), learned(name, "long"), []

    def reader(what, ask):
        def look():
            found = asked(ask, model)
            if found not in expected[what]:
                wrong.append((what, found))
                raise AssertionError(f"{what} is of no state: {found!s:.200}")

        return look

    def work():
        for _ in range(100):
            learn(model, "short")
            learn(model, "long")

    beside(work, [reader(what, ask) for what, ask in questions(name).items()])
    assert {what: asked(ask, model) for what, ask in questions(name).items()} == {
        what: asked(ask, learned(name, "long")) for what, ask in questions(name).items()
    }


@every
def test_learners_take_turns_and_what_fit_transform_returns_is_of_its_own_fit(name):
    _, learn, probe = CASES[name]
    model, fits = learned(name, "long"), CASES[name][0]()
    data = (ROWS, Y) if probe is ROWS["long"] else (DICTS if probe is DICTS["long"] else TEXTS, None)
    expected = frozen(fits.fit_transform(data[0]["long"], data[1]))

    def work():
        for _ in range(60):
            assert frozen(model.fit_transform(data[0]["long"], data[1])) == expected

    beside(work, [lambda: learn(model, "short")] * 2)


@pytest.mark.parametrize("name", ["conjunctions", "elementwise", "ratio", "dicts", "cut-off", "counts", "tf-idf"])
def test_data_frames_have_the_names_of_their_own_state(name):
    _, learn, probe = CASES[name]
    frames = [learned(name, which).set_output(transform="pandas") for which in ("long", "short")]
    expected = {asked(model.transform, probe) for model in frames}
    model = learned(name, "long").set_output(transform="pandas")

    def work():
        for _ in range(30):
            learn(model, "short")
            learn(model, "long")

    def look():
        assert asked(model.transform, probe) in expected

    beside(work, [look, look])


@pytest.mark.parametrize("make", [fastlin.CountVectorizer, fastlin.TfidfVectorizer], ids=["counts", "tf-idf"])
def test_batches_that_several_threads_learn_are_all_learnt(make):
    batches = [[f"word{i} word{i + 1}", f"word{i}"] for i in range(64)]
    together, alone = make(), make()
    waiting = list(batches)

    def learn():
        while waiting:
            try:
                batch = waiting.pop()
            except IndexError:
                return
            together.partial_fit(batch)

    threads = [threading.Thread(target=learn) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for batch in batches:
        alone.partial_fit(batch)
    assert set(together.vocabulary_) == set(alone.vocabulary_)
    assert sorted(together.vocabulary_.values()) == list(range(65))
    if hasattr(alone, "idf_"):
        weights = [dict(zip(one.get_feature_names_out(), one.idf_, strict=True)) for one in (together, alone)]
        assert weights[0] == weights[1]


@pytest.mark.parametrize("make", [fastlin.CountVectorizer, fastlin.TfidfVectorizer], ids=["counts", "tf-idf"])
def test_a_vocabulary_that_was_given_is_taken_over_once(make):
    def adopted():
        model, found = make(vocabulary=["aa", "bb"]), []
        threads = [threading.Thread(target=lambda: found.append(model.get_feature_names_out().tolist()))]
        threads += [threading.Thread(target=lambda: model.fit(["aa aa", "bb"])) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return found, model._terms.n_documents

    assert {repr(adopted()) for _ in range(50)} == {repr(([["aa", "bb"]], 2))}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@every
def test_a_child_of_a_fork_sees_a_whole_state_and_does_not_hang(name):
    _, learn, _ = CASES[name]
    expected, model = states(name), learned(name, "long")
    asks = questions(name)

    def child():
        wrong = [what for what, ask in asks.items() if asked(ask, model) not in expected[what]]
        learn(model, "short")
        return 1 if wrong else 0

    def work():
        for _ in range(8):
            pid = os.fork()
            if not pid:
                code = 2
                try:
                    signal.alarm(20)
                    code = child()
                finally:
                    os._exit(code)
            status = os.waitpid(pid, 0)[1]
            assert os.waitstatus_to_exitcode(status) == 0

    def fit():
        learn(model, "short")
        learn(model, "long")

    beside(work, [fit, lambda: asked(asks["transform"], model)])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
@every
def test_a_signal_handler_may_use_what_is_being_learnt(name):
    _, learn, _ = CASES[name]
    expected, model, seen = states(name), learned(name, "long"), []
    asks, busy = questions(name), []

    def handler(*_):
        if not busy:
            busy.append(True)
            seen.append({what: asked(ask, model) for what, ask in asks.items()})
            learn(model, "short")
            busy.clear()
        signal.setitimer(signal.ITIMER_REAL, 1e-3)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    try:
        stop = time.monotonic() + 1
        while time.monotonic() < stop:
            learn(model, "long")
            asked(asks["transform"], model)
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # or a handler that is due would set the timer anew
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen
    assert all(answer in expected[what] for found in seen for what, answer in found.items())


@pytest.mark.parametrize("sparse_output", [True, False])
@pytest.mark.parametrize("change", ["another fit", "restrict", "clear", "replace"])
def test_a_vocabulary_that_changes_while_dicts_are_read(change, sparse_output):
    names = [f"f{i}" for i in range(5000)]
    vectorizer = fastlin.DictVectorizer(sparse=sparse_output).fit([dict.fromkeys(names, 1)])

    def meddle():
        if change == "another fit":
            vectorizer.fit([{"a": 1}])
        elif change == "restrict":
            vectorizer.restrict([True] + [False] * 4999)
        elif change == "clear":
            vectorizer.vocabulary_.clear()
            vectorizer.vocabulary_["f4999"] = 0
        else:
            vectorizer.vocabulary_.update(dict.fromkeys(names, 10**9))

    class Sample(dict):
        def items(self):
            yield from ((name, 1.0) for name in names[:2500])
            meddle()
            yield from ((name, 1.0) for name in names[2500:])

    if change == "replace":
        with pytest.raises(ValueError, match=r"vocabulary_ gives 'f2500' the column 1000000000"):
            vectorizer.transform([Sample()])
        return
    found = vectorizer.transform([Sample()])
    assert found.shape == (1, 5000)
    assert not sparse_output or found.indices.max() < 5000
