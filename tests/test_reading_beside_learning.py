"""One thread learns while others read, copy and save: what they see is always a state that there was."""

import copy
import importlib
import inspect
import io
import os
import pickle
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import fastlin
from fastlin.channel import EditChannel, LexicalChannel, NoisyChannel, SpellingCorrector
from fastlin.grammar import PCFG, SpanCRF
from fastlin.lm import (
    Cache,
    ClassBigramModel,
    Interpolation,
    LanguageModelClassifier,
    MaxentLM,
    NgramModel,
    WordClasses,
)
from fastlin.runtime.made_once import made_once
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron

ROUNDS = int(os.environ.get("FASTLIN_ROUNDS", "10"))
MODULES = tuple(f"fastlin{room}" for room in ("", ".channel", ".grammar", ".lm", ".sequence", ".select", ".text"))
STATELESS = {"Cache", "DocumentFeatures", "Elementwise", "FeatureHasher", "LanguageModel", "VWHasher"}
UNSAFE: set[str] = set()  # classes that do not keep these laws yet

rng = np.random.default_rng(0)
X = sparse.csr_array(rng.poisson(0.5, (60, 40)).astype(float))
FEW, MANY = np.array(["a", "b"])[rng.integers(0, 2, 60)], np.array([f"l{i}" for i in range(5)])[np.arange(60) % 5]
PARTLY = [np.where(np.arange(60) % 3 > 0, -1, codes) for codes in (np.arange(60) % 2, np.arange(60) % 5)]
TUPLES = rng.integers(0, 4, (60, 3))
TEXTS = (
    ["a good dog ran", "no bad cat sat", "the dog sat on a cat"],
    ["one more word", "and others", "word of words", "x"],
)
DICTS = [{"one": i, "word": f"w{i}"} for i in range(4)], [{f"name {i}": 1.0, "two": 2} for i in range(9)]
SENTENCES = [[f"w{i % 7}" for i in range(j, j + 6)] for j in range(8)]
TAGS = [[[f"{name}{hash_ % n}" for hash_ in range(6)] for _ in SENTENCES] for name, n in (("A", 2), ("B", 5))]
STORIES = ["a dog ran", "the cat sat on a dog"], ["the dog sat", "a cat ran on the dog", "on on the mat"]
ASKED_STORIES = ["the dog ran", "a mat sat on mats"]
WORD_PAIRS = [("dog", "dgo"), ("cat", "caat"), ("ran", "ran")], [("sat", "sta"), ("mat", "matt"), ("dog", "fog")]
SENTENCE_PAIRS = [("the dog", "el perro"), ("a dog", "un perro")], [("the cat", "el gato"), ("a dog ran", "un gato")]
GROUPS = np.full(12, 5)
PREDICT = ("predict", "decision_function", "coef_")
REGRESSED, TARGETS = ("predict", "coef_", "intercept_"), np.sin(np.arange(60.0))


class Problem:
    """An estimator, the arguments of its learning calls in turn, and what is asked of it, of methods and attributes."""

    def __init__(self, make, learn, asked, *calls, about=(X[:7],)):
        self.make, self.learn, self.asked, self.calls, self.about = make, learn, asked, calls, about

    def step(self, model, turn):
        getattr(model, self.learn)(*self.calls[turn % len(self.calls)])

    def ask(self, model, name):
        """An answer as bytes; None before the first fit."""
        if name in (
            "predict",
            "decision_function",
            "transform",
            "predict_proba",
            "predict_joint_log_proba",
            "score_samples",
            "log_proba",
        ):
            answer = getattr(model, name)(*self.about)
        else:
            answer = getattr(model, name)
            answer = answer() if callable(answer) else answer
        return as_bytes(answer)


def as_bytes(answer):
    if sparse.issparse(answer):
        return b" ".join(part.tobytes() for part in (answer.indptr, answer.indices, answer.data))
    if isinstance(answer, np.ndarray) and answer.dtype != object:
        return str(answer.shape).encode() + answer.tobytes()
    if isinstance(answer, float):
        return repr(float(answer)).encode()
    if isinstance(answer, dict):
        return repr(sorted(answer.items())).encode()
    return repr([part.tolist() if isinstance(part, np.ndarray) else part for part in answer]).encode()


def pieces(y, size=4, width=lambda turn: X.shape[1]):
    """Some rows after the others."""
    return [(X[i : i + size, : width(i)], y[i : i + size]) for i in range(0, 60, size)]


def online(make):
    return Problem(make, "partial_fit", (*PREDICT, "intercept_", "classes_"), *pieces(np.sort(MANY)))


def language_model(make, learn="fit"):
    return Problem(make, learn, ("score_samples", "words_"), *zip(STORIES), about=(ASKED_STORIES,))


def refitted(make, *asked, y=(FEW, MANY)):
    return Problem(make, "fit", asked, *((X, labels) for labels in y))


ONLINE = {
    "Perceptron": fastlin.Perceptron,
    "Perceptron, averaged": lambda: fastlin.Perceptron(average=True),
    "PassiveAggressiveClassifier": lambda: fastlin.PassiveAggressiveClassifier(random_state=0),
    "PassiveAggressiveClassifier, averaged": lambda: fastlin.PassiveAggressiveClassifier(average=True, random_state=0),
    "AROWClassifier": lambda: fastlin.AROWClassifier(random_state=0),
    "MIRAClassifier": lambda: fastlin.MIRAClassifier(random_state=0),
    "SGDClassifier": lambda: fastlin.SGDClassifier(loss="log_loss", random_state=0),
    "SGDClassifier, L1": lambda: fastlin.SGDClassifier(penalty="l1", alpha=1e-3, random_state=0),
    "SGDClassifier, Adagrad": lambda: fastlin.SGDClassifier(learning_rate="adagrad", alpha=1e-2, random_state=0),
    "SGDClassifier, FTRL": lambda: fastlin.SGDClassifier(learning_rate="ftrl", average=True, random_state=0),
    "SGDClassifier, Pegasos": lambda: fastlin.SGDClassifier(
        learning_rate="pegasos", project=True, alpha=1e-2, random_state=0
    ),
    "SGDClassifier, averaged": lambda: fastlin.SGDClassifier(average=True, alpha=1e-2, random_state=0),
}
LOGISTIC = {"max_iter": 3, "tol": 1e-2}
CV = {"unlabeled_weights": [0.5], "components": [1], "alphas": [0.3], "cv": 2, "random_state": 0}
PROBLEMS = {name: online(make) for name, make in ONLINE.items()} | {
    "SGDClassifier, fit": refitted(lambda: fastlin.SGDClassifier(max_iter=2, tol=None, random_state=0), *PREDICT),
    "SGDClassifier, growing": Problem(
        lambda: fastlin.SGDClassifier(grow_features=True, random_state=0),
        "partial_fit",
        PREDICT,
        *pieces(np.sort(MANY), width=lambda turn: 10 + turn // 2),
    ),
    "SGDRegressor": Problem(
        lambda: fastlin.SGDRegressor(average=True, random_state=0), "partial_fit", REGRESSED, *pieces(TARGETS)
    ),
    "SGDRegressor, fit": refitted(
        lambda: fastlin.SGDRegressor(max_iter=2, tol=None, random_state=0), *REGRESSED, y=(TARGETS, -TARGETS)
    ),
    "Ridge": refitted(fastlin.Ridge, *REGRESSED, y=(TARGETS, -TARGETS)),
    "LinearSVR": refitted(lambda: fastlin.LinearSVR(max_iter=2, random_state=0), *REGRESSED, y=(TARGETS, -TARGETS)),
    "LogisticRegression": refitted(lambda: fastlin.LogisticRegression(**LOGISTIC), *PREDICT, "predict_proba"),
    "MaxEnt": refitted(lambda: fastlin.MaxEnt(**LOGISTIC), *PREDICT),
    "LogisticRegressionCV": refitted(lambda: fastlin.LogisticRegressionCV(Cs=[1.0], cv=2, **LOGISTIC), "predict"),
    "LinearSVC": refitted(lambda: fastlin.LinearSVC(max_iter=2, random_state=0), *PREDICT),
    "CandidateClassifier": Problem(
        lambda: fastlin.CandidateClassifier(max_iter=2),
        "fit",
        ("predict", "coef_"),
        (X, np.arange(12) % 5, GROUPS),
        (X, np.arange(12) % 2, GROUPS),
        about=(X[:10], GROUPS[:2]),
    ),
    "MultinomialNB": refitted(fastlin.MultinomialNB, "predict", "predict_joint_log_proba", "feature_log_prob_"),
    "MultinomialNB, partial_fit": Problem(
        fastlin.MultinomialNB, "partial_fit", ("predict_proba", "class_count_"), *pieces(np.sort(MANY))
    ),
    "ComplementNB": refitted(fastlin.ComplementNB, "predict", "predict_joint_log_proba", "feature_log_prob_"),
    "ComplementNB, partial_fit": Problem(
        fastlin.ComplementNB, "partial_fit", ("predict_proba", "feature_all_"), *pieces(np.sort(MANY))
    ),
    "BernoulliNB": refitted(fastlin.BernoulliNB, "predict", "predict_joint_log_proba", "feature_log_prob_"),
    "BernoulliNB, partial_fit": Problem(
        fastlin.BernoulliNB, "partial_fit", ("predict_proba", "class_count_"), *pieces(np.sort(MANY))
    ),
    "NearestCentroid": refitted(fastlin.NearestCentroid, "predict", "predict_proba", "centroids_"),
    "NearestCentroid, partial_fit": Problem(
        fastlin.NearestCentroid, "partial_fit", ("predict", "within_class_std_dev_"), *pieces(np.sort(MANY))
    ),
    "CategoricalNB": Problem(
        fastlin.CategoricalNB, "fit", ("predict", "predict_proba"), (TUPLES, FEW), (TUPLES, MANY), about=(TUPLES[:5],)
    ),
    "SemiSupervisedNB": refitted(lambda: fastlin.SemiSupervisedNB(max_iter=1), "predict", "predict_proba", y=PARTLY),
    "SemiSupervisedNBCV": refitted(lambda: fastlin.SemiSupervisedNBCV(max_iter=1, **CV), "predict", y=PARTLY),
    "KMeans": Problem(
        lambda: fastlin.KMeans(3, random_state=0, max_iter=2), "fit", ("predict", "transform"), (X[:30],), (X,)
    ),
    "MiniBatchKMeans": Problem(
        lambda: fastlin.MiniBatchKMeans(3, random_state=0, max_iter=2), "fit", ("predict", "transform"), (X[:30],), (X,)
    ),
    "MiniBatchKMeans, partial_fit": Problem(
        lambda: fastlin.MiniBatchKMeans(3, random_state=0),
        "partial_fit",
        ("predict", "cluster_centers_"),
        *((X[i : i + 6],) for i in range(0, 60, 6)),
    ),
    "MultinomialMixture": Problem(
        lambda: fastlin.MultinomialMixture(2, random_state=0, max_iter=2),
        "fit",
        ("predict", "predict_proba"),
        (X[:30],),
        (X,),
    ),
    "LexiconClassifier": Problem(
        lambda: fastlin.LexiconClassifier(
            {"good": ["dog", "words"], "bad": {"cat": 2.0}}, vectorizer=fastlin.CountVectorizer()
        ),
        "fit",
        ("predict", "decision_function"),
        (TEXTS[0],),
        (TEXTS[1],),
        about=(TEXTS[0],),
    ),
    "CountVectorizer": Problem(
        fastlin.CountVectorizer, "fit", ("transform", "get_feature_names_out"), *zip(TEXTS), about=(TEXTS[0],)
    ),
    "CountVectorizer, partial_fit": Problem(
        fastlin.CountVectorizer,
        "partial_fit",
        ("transform", "get_feature_names_out"),
        *(([f"word{i} other{i}"],) for i in range(20)),
        about=(TEXTS[0],),
    ),
    "TfidfVectorizer": Problem(fastlin.TfidfVectorizer, "fit", ("transform", "idf_"), *zip(TEXTS), about=(TEXTS[0],)),
    "TfidfTransformer": Problem(fastlin.TfidfTransformer, "fit", ("transform", "idf_"), (X[:9],), (X,)),
    "HashingVectorizer": Problem(
        lambda: fastlin.HashingVectorizer(n_features=64, keep_names=20),
        "fit",
        ("transform", "names_"),
        *zip(TEXTS),
        about=(TEXTS[0],),
    ),
    "DictVectorizer": Problem(
        fastlin.DictVectorizer, "fit", ("transform", "get_feature_names_out"), *zip(DICTS), about=(DICTS[0],)
    ),
    "Conjunctions": Problem(lambda: fastlin.Conjunctions(min_df=9), "fit", ("transform",), (X[:30],), (X,)),
    "LogCountRatio": refitted(fastlin.LogCountRatio, "transform", y=(FEW, FEW[::-1])),
    "CountCutoff": Problem(lambda: fastlin.select.CountCutoff(min_rows=9), "fit", ("transform",), (X[:30],), (X,)),
    "SelectFeatures": refitted(lambda: fastlin.select.SelectFeatures(n_features=4, method="chi2"), "transform"),
    "CRF": Problem(
        lambda: CRF(max_iter=2), "fit", ("predict",), *((SENTENCES, tags) for tags in TAGS), about=(SENTENCES,)
    ),
    "MEMM": Problem(
        lambda: MEMM(max_iter=2), "fit", ("predict",), *((SENTENCES, tags) for tags in TAGS), about=(SENTENCES,)
    ),
    "HMM": Problem(HMM, "fit", ("predict",), *((SENTENCES, tags) for tags in TAGS), about=(SENTENCES,)),
    "PCFG": Problem(
        PCFG,
        "fit",
        ("predict", "score_samples", "rules_", "words_"),
        (["(S (A a) (B b))", "(S (B b) (S (A a) (A c)))"],),
        (["(S (S (C c)) (B b) (B a))", "(T (A b) (D a))", "(S (A c) (B b) (C c))"],),
        about=(["a b", "c b a", "z"],),
    ),
    "SpanCRF": Problem(
        lambda: SpanCRF(min_count=1, max_iter=1),
        "fit",
        ("predict", "rules_", "coef_", "words_"),
        (["(S (A a) (B b))", "(S (B b) (S (A a) (A c)))"],),
        (["(S (S (C c)) (B b) (B a))", "(T (A b) (D a))", "(S (A c) (B b) (C c))"],),
        about=(["a b", "c b a", "z"],),
    ),
    "NgramModel": language_model(lambda: NgramModel(2)),
    "NgramModel, partial_fit": language_model(lambda: NgramModel(2), "partial_fit"),
    "MaxentLM": language_model(lambda: MaxentLM(2, max_iter=2)),
    "MaxentLM, classes": language_model(lambda: MaxentLM(2, classes=5, max_iter=2)),
    "ClassBigramModel": language_model(lambda: ClassBigramModel(2, max_iter=2, random_state=0)),
    "Interpolation": Problem(
        lambda: Interpolation([NgramModel(2).fit(STORIES[0]), Cache(4)]),
        "fit_weights",
        ("score_samples",),
        *zip(STORIES),
        about=(ASKED_STORIES,),
    ),
    "LanguageModelClassifier": Problem(
        lambda: LanguageModelClassifier(NgramModel(2)),
        "fit",
        ("predict", "predict_proba"),
        *((stories, list("abab")[: len(stories)]) for stories in STORIES),
        about=(ASKED_STORIES,),
    ),
    "WordClasses": Problem(lambda: WordClasses(4, max_iter=2), "fit", ("words_", "word_classes_"), *zip(STORIES)),
    "EditChannel": Problem(
        lambda: EditChannel(max_iter=2), "fit", ("score_samples", "rates_"), *zip(WORD_PAIRS), about=WORD_PAIRS[:1]
    ),
    "LexicalChannel": Problem(
        lambda: LexicalChannel(max_iter=2),
        "fit",
        ("predict", "log_proba"),
        *zip(SENTENCE_PAIRS),
        about=SENTENCE_PAIRS[:1],
    ),
    "LexicalChannel, Model 2": Problem(
        lambda: LexicalChannel(2, max_iter=2),
        "fit",
        ("predict", "log_proba"),
        *zip(SENTENCE_PAIRS),
        about=SENTENCE_PAIRS[:1],
    ),
    "NoisyChannel": Problem(
        lambda: NoisyChannel(NgramModel(2).fit(STORIES[0]), EditChannel(max_iter=2).fit(WORD_PAIRS[0])),
        "fit",
        ("score_samples",),
        *zip(STORIES, WORD_PAIRS, strict=True),
        about=(["the dgo"],),
    ),
    "SpellingCorrector": Problem(
        lambda: SpellingCorrector(2, min_count=1), "fit", ("predict",), *zip(STORIES), about=(["the dgo sta"],)
    ),
    "HMM, partial_fit": Problem(
        HMM, "partial_fit", ("predict",), *((SENTENCES, tags) for tags in TAGS), about=(SENTENCES,)
    ),
    "StructuredPerceptron": Problem(
        lambda: StructuredPerceptron(max_iter=1, random_state=0),
        "fit",
        ("predict",),
        *((SENTENCES, tags) for tags in TAGS),
        about=(SENTENCES,),
    ),
    "StructuredPerceptron, partial_fit": Problem(
        lambda: StructuredPerceptron(random_state=0),
        "partial_fit",
        ("predict",),
        *((SENTENCES, tags) for tags in TAGS),
        about=(SENTENCES,),
    ),
}
SAFE = [name for name in PROBLEMS if name.split(",")[0] not in UNSAFE]


def serially(problem, rounds):
    """The answers after each step, when nobody else is there."""
    model, answers = problem.make(), {name: [] for name in problem.asked}
    for turn in range(rounds):
        problem.step(model, turn)
        for name in problem.asked:
            answers[name].append(problem.ask(model, name))
    return answers


def beside(problem, rounds, *readers):
    """Learn so many steps while readers, functions of the model, are at work again and again; the model."""
    model, done, failures = problem.make(), threading.Event(), []
    problem.step(model, 0)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def go_on(reader):
        try:
            while not done.is_set() and not failures:
                reader(model)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=go_on, args=(reader,), daemon=True) for reader in readers]
    try:
        for thread in threads:
            thread.start()
        for turn in range(1, rounds):
            problem.step(model, turn)
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
        sys.setswitchinterval(switch)
    assert not any(thread.is_alive() for thread in threads)
    for failure in failures:
        raise failure
    return model


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_estimator_has_a_problem():
    names = set()
    for module in map(importlib.import_module, MODULES):
        classes = {name for name in module.__all__ if inspect.isclass(getattr(module, name))}
        names |= {name for name in classes if issubclass(getattr(module, name), BaseEstimator)}
    assert names - STATELESS == {name.split(",")[0] for name in PROBLEMS}


@pytest.mark.parametrize("name", SAFE)
def test_every_answer_is_that_of_a_state_that_there_was(name):
    problem = PROBLEMS[name]
    answers = serially(problem, ROUNDS)

    def reader(asked):
        def read(model):
            assert problem.ask(model, asked) in answers[asked], asked

        return read

    model = beside(problem, ROUNDS, *map(reader, problem.asked))
    for asked in problem.asked:  # and what was learnt is what is learnt without readers
        assert problem.ask(model, asked) == answers[asked][-1], asked


@pytest.mark.parametrize("name", SAFE)
def test_copies_and_pickles_are_whole_and_independent(name):
    problem = PROBLEMS[name]
    answers = serially(problem, ROUNDS + 1)
    states = list(zip(*answers.values(), strict=True))

    def check(twin):
        seen = tuple(problem.ask(twin, asked) for asked in problem.asked)
        assert seen in states
        problem.step(twin, 0)

    model = beside(
        problem,
        ROUNDS,
        lambda model: check(copy.copy(model)),
        lambda model: check(copy.deepcopy(model)),
        lambda model: check(pickle.loads(pickle.dumps(model))),
    )
    assert tuple(problem.ask(model, asked) for asked in problem.asked) == states[ROUNDS - 1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_made_on_demand_is_no_part_of_copies(name):
    problem, grow_while_copied = PROBLEMS[name], set()
    model = problem.make()
    problem.step(model, 0)
    for asked in problem.asked:
        problem.ask(model, asked)

    class Watch(pickle.Pickler):
        def reducer_override(self, part):
            kind = type(part)
            grows = any(isinstance(value, made_once) for base in kind.__mro__ for value in vars(base).values())
            if grows and kind.__getstate__ is object.__getstate__ and kind.__reduce__ is object.__reduce__:
                grow_while_copied.add(kind)
            return NotImplemented

    Watch(io.BytesIO()).dump(model)
    assert not grow_while_copied


@pytest.mark.parametrize("name", SAFE)
def test_files_are_whole(name, tmp_path):
    problem = PROBLEMS[name]
    states = list(zip(*serially(problem, ROUNDS).values(), strict=True))

    def save(model):
        fastlin.save(model, tmp_path / "model")
        twin = fastlin.load(tmp_path / "model")
        assert tuple(problem.ask(twin, asked) for asked in problem.asked) in states

    beside(problem, ROUNDS, save)


@pytest.mark.parametrize("name", [name for name in SAFE if PROBLEMS[name].learn == "partial_fit"])
def test_learners_take_turns(name):
    problem = PROBLEMS[name]
    call = problem.calls[0]

    def learn(model, times):
        for _ in range(times):
            getattr(model, problem.learn)(*call)

    alone, model = problem.make(), problem.make()
    learn(alone, 4 * ROUNDS)
    threads = [threading.Thread(target=learn, args=(model, ROUNDS), daemon=True) for _ in range(4)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    sys.setswitchinterval(switch)
    assert not any(thread.is_alive() for thread in threads)
    for asked in problem.asked:
        assert problem.ask(model, asked) == problem.ask(alone, asked), asked


@pytest.mark.parametrize("name", SAFE)
def test_a_signal_handler_may_read(name):
    problem, calls = PROBLEMS[name], []
    model = problem.make()
    problem.step(model, 0)

    def handle(*_):
        for asked in problem.asked:
            problem.ask(model, asked)
        calls.append(1)
        signal.setitimer(signal.ITIMER_REAL, 1e-3)  # again, but not before this one has ended

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 1e-4)
    try:
        for turn in range(ROUNDS):
            problem.step(model, turn)
            problem.ask(model, problem.asked[0])
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # or a handler that is due would set the timer anew
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", SAFE)
def test_a_forked_child_sees_a_whole_state(name):
    problem = PROBLEMS[name]
    answers = serially(problem, ROUNDS)
    asked = problem.asked[0]

    def fork(model):
        child = os.fork()
        if not child:
            signal.alarm(20)
            whole = problem.ask(model, asked) in answers[asked]
            os._exit(0 if whole else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    model, done = problem.make(), threading.Event()
    problem.step(model, 0)

    def learn():
        for turn in range(1, ROUNDS):
            problem.step(model, turn)
        done.set()

    thread = threading.Thread(target=learn, daemon=True)
    thread.start()
    for _ in range(3):
        fork(model)
    thread.join(60)
    assert done.is_set()
