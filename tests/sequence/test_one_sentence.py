"""One sentence at a time: the labels are those of `predict` of many, and of one moment of the model."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import fastlin
from fastlin.sequence import CRF, HMM, MEMM, Constraints, StructuredPerceptron
from fastlin.text.templates import BOS, Column, Templates, ner, pos
from support.sequences import items, problem

W, P = Column(0, "w"), Column(1, "p")
WORDS = ["the", "Dog", "ran", "U.S.", "ﬁnd", "Ǆungla", "½", "naïve", "a-b", "1999", "ÀB", "x", "", "\ud800"]
MODELS = {
    "crf": lambda: CRF(c2=0.1),
    "crf of order 2": lambda: CRF(c2=0.1, order=2),
    "dense crf": lambda: CRF(c2=0.1, weights="dense"),
    "crf with L1": lambda: CRF(c1=0.3, c2=0.1),
    "crf of edges": lambda: CRF(c2=0.1, edges="all"),
    "crf under constraints": lambda: CRF(
        c2=0.1, constraints=Constraints.forbidding([("L1", "L1")], ["L0", "L1", "L2"])
    ),
    "crf under a set": lambda: CRF(c2=0.1, constraints=[("L0", "L0"), ("L0", "L1"), ("L1", "L0"), ("L0", "L2")]),
    "all alike": lambda: CRF(c2=1e5),
    "perceptron": lambda: StructuredPerceptron(random_state=0, max_iter=2),
    "last weights, order 2": lambda: StructuredPerceptron(random_state=0, max_iter=2, average=False, order=2),
    "observed perceptron": lambda: StructuredPerceptron(random_state=0, max_iter=2, weights="observed"),
    "memm": lambda: MEMM(),
    "memm of order 2": lambda: MEMM(order=2, constraints=Constraints.forbidding([("L1", "L1")], ["L0", "L1", "L2"])),
    "memm of edges": lambda: MEMM(edges="all"),
    "memm by beam": lambda: MEMM(decoder="beam"),
    "memm with a dictionary": lambda: MEMM(tag_dictionary="f"),
    "hmm": lambda: HMM(),
    "hmm of order 2": lambda: HMM(order=2),
    "hmm by shape": lambda: HMM(unknown="shape"),
    "smoothed hmm": lambda: HMM(unknown="uniform", alpha=0.1),
}
LONG = {"crf of edges", "memm of edges", "memm by beam", "memm with a dictionary", "crf under a set"}
FROZEN = set(MODELS) - LONG
every = pytest.mark.parametrize("name", MODELS)


def dictionaries(seed=0, n=40):
    X, y = problem(n, n_features=9, seed=seed, longest=9)
    return [items(x) for x in X], [[f"L{code}" for code in codes] for codes in y]


def sentences(seed=0, n=60, new=0):
    """Sentences of words whose labels they say, some of them never seen with `new`."""
    rng = np.random.default_rng(seed)
    words = [f"{word}{k}" for word in WORDS for k in ("", "s", "ed")] + [f"New{i}ing" for i in range(new)]
    X = [[words[i] for i in rng.integers(0, len(words), rng.integers(1, 9))] for _ in range(n)]
    return X, [[f"L{sum(map(ord, word)) % 3}" for word in x] for x in X]


def data_of(name):
    return sentences() if "hmm" in name else dictionaries()


def questions_of(name):
    X, _ = sentences(1, new=20) if "hmm" in name else dictionaries(1)
    return [*X, [], [["nothing", "known"]] if "hmm" not in name else ["Nothing"]]


def by_the_long_way(model, X):
    return model.predict([[], *X])[1:]


def is_kept(model):
    derived = model.__dict__.get("_derived")
    return derived is not None and derived.tagger is not None


@every
def test_one_is_as_many(name):
    model, X = MODELS[name]().fit(*data_of(name)), questions_of(name)
    many = by_the_long_way(model, X)
    for _ in range(2):
        assert [model.predict([x])[0] for x in X] == many
        assert [model.predict_one(x) for x in X] == many
        assert [model.predict_one(tuple(x)) for x in X] == many
    assert is_kept(model) == (name in FROZEN)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("name", ["crf", "dense crf", "perceptron", "observed perceptron"])
def test_one_is_as_many_of_a_model_from_a_file(name, dtype, tmp_path):
    fastlin.save(MODELS[name]().fit(*data_of(name)), tmp_path / "m", dtype=dtype)
    model, X = fastlin.load(tmp_path / "m"), questions_of(name)
    many = by_the_long_way(model, X)
    assert [model.predict_one(x) for x in X] == many
    assert is_kept(model)


TEMPLATES = {
    "pos": pos,
    "ner": ner,
    "conditions": lambda: Templates([W[0].when(W[0].rare(3)), W[0].suffix(2).unless(W[1].has_digit), W[-1] & BOS]),
    "gazetteer": lambda: ner(gazetteers={"g": ["the Dog", "ran"]}),
    "twice": lambda: Templates([W[0], W[0], W[0].lower, W[0].lower]),
    "far": lambda: Templates([W[-3] & W[3], W[0] & W[2] & W[-2], W[0]]),
}


@pytest.mark.parametrize("make", [CRF, HMM, StructuredPerceptron])
@pytest.mark.parametrize("name", TEMPLATES)
def test_one_is_as_many_by_templates(make, name):
    X, y = sentences()
    model = make(features=TEMPLATES[name]()).fit(X, y)
    asked = [*sentences(1, new=20)[0], [], ["the"]]
    many = by_the_long_way(model, asked)
    for _ in range(2):
        assert [model.predict_one(x) for x in asked] == many


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "gazetteer"])
def test_templates_read_one_sentence_as_many(name):
    templates = TEMPLATES[name]()
    templates.fit(sentences()[0])
    reader = templates.sentence_reader()
    for sentence in [*sentences(1, new=20)[0], [], [""]] * 2:
        rows, starts, _ = templates.tokens([sentence])
        indptr, indices, values = reader.read(sentence)
        np.testing.assert_array_equal(indptr, rows.indptr)
        np.testing.assert_array_equal(indices, rows.indices[: rows.nnz])
        np.testing.assert_array_equal(np.ones(len(indices)) if values is None else values, rows.values[: rows.nnz])
        assert starts.tolist() == [0, len(sentence)]


def test_columns_of_tokens():
    X, y = sentences()
    tokens = [[(word, word[:1]) for word in x] for x in X]
    model = CRF(features=Templates([W[0], P[0], P[-1] & W[0], P[1]])).fit(tokens, y)
    assert [model.predict_one(x) for x in tokens] == by_the_long_way(model, tokens)
    for wrong in (["the"], [("the",)], [("the", 3)], [None]):
        with pytest.raises((TypeError, ValueError), match="token 0"):
            model.predict_one(wrong)


def test_templates_that_have_learnt_more_are_refused():
    X, y = sentences()
    model = CRF(features=pos()).fit(X, y)
    model.predict_one(X[0])
    model.predict_one(X[0])
    model.features_.partial_fit([["something", "else"]])
    with pytest.raises(ValueError, match="features_ makes"):
        model.predict_one(X[0])


@pytest.mark.parametrize("weights", ["observed", "dense"])
def test_scores_are_those_of_many_to_the_last_bit(weights):
    """With values whose products are rounded: paths that are equally good would differ by less."""
    rng = np.random.default_rng(0)
    X, y = dictionaries()
    x = [{name: rng.normal() for name in token} for sentence in X for token in sentence][:100]
    model = CRF(c2=0.1, weights=weights).fit(X, y)
    rows, model = model._tokens([x], None), model._snapshot()
    reader, tagger = model._freeze()._workspace()
    assert tagger.score(*reader.read(x))
    np.testing.assert_array_equal(tagger.scores(), model._potential()(rows, 0, len(x)).scores)


def test_long_sentences_and_many_features():
    X, y = dictionaries()
    model = CRF(c2=0.1).fit(X, y)
    long = [token for x in X for token in x]
    wide = [{**{f"f{j}": 0.5 for j in range(9)}, **{f"other{j}": 1 for j in range(3000)}}] * 200
    for x in (long[:100], long[:255], long[:400], wide, X[0]):
        assert model.predict_one(x) == by_the_long_way(model, [x])[0]


def test_what_is_changed_is_seen():
    X, y = dictionaries()
    model = CRF(c2=0.1).fit(X, y)
    x = max(X, key=len)

    def check():
        assert model.predict_one(x) == by_the_long_way(model, [x])[0]
        return model.predict_one(x)

    first = check()
    model.transitions_[:] = -50.0
    model.transitions_[0, 1] = model.transitions_[1, 0] = 50.0
    second = check()
    assert first != second
    model.coef_ = -model.coef_
    check()
    model.set_params(constraints=[("L2", "L2")])
    assert set(check()) == {"L2"}
    model.set_params(constraints=None, n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs"):
        model.predict_one(x)
    model.set_params(n_jobs=2)
    check()
    model.classes_ = np.array(["a", "b", "c"], object)
    assert set(check()) <= {"a", "b", "c"}
    model.transitions_[0, 0] = np.nan
    for _ in range(2):
        with pytest.raises(ValueError, match="NaN"):
            model.predict_one(x)


def test_what_is_changed_of_a_memm_is_seen():
    X, y = dictionaries()
    model = MEMM(C=10).fit(X, y)
    x, seen = max(X, key=len), []
    for change in (
        lambda: None,
        lambda: model.transitions_.__setitem__((slice(None), 1), 40.0),
        lambda: model.start_.__setitem__(2, 90.0),
        lambda: setattr(model, "coef_", -30 * model.coef_),
        lambda: setattr(model, "coef_", np.ascontiguousarray(model.coef_)),
        lambda: model.coef_.__imul__(-1),
        lambda: model.set_params(decoder="greedy"),
    ):
        change()
        for _ in range(2):
            assert model.predict_one(x) == by_the_long_way(model, [x])[0]
        seen.append(tuple(model.predict_one(x)))
    assert len(set(seen)) > 2


def test_errors_are_those_of_many():
    X, y = dictionaries()
    model = CRF(c2=0.1, constraints="bio")
    with pytest.raises(Exception, match="not fitted"):
        model.predict_one(X[0])
    with pytest.raises(Exception, match="not fitted"):
        model.predict_one(X[0])
    model = CRF(c2=0.1).fit(X, y)
    model.predict_one(X[0])
    for wrong, match in (
        (["a", 3], "token 1"),
        ("text", "sequence 0"),
        (None, "sequence 0"),
        ([{"a": np.nan}], "finite"),
    ):
        with pytest.raises((TypeError, ValueError), match=match):
            model.predict_one(wrong)
    assert model.predict_one(X[0]) == by_the_long_way(model, X[:1])[0]
    assert model.predict_one(X[0], allowed=["L2"] * len(X[0])) == ["L2"] * len(X[0])
    model.set_params(constraints=Constraints.allowing([("L0", "L1"), (None, "L0")], ["L0", "L1", "L2"]))
    for _ in range(2):
        with pytest.raises(ValueError, match="allow no path"):
            model.predict_one([X[0][0]] * 3)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_it_is_thrown_away_with_the_state(name):
    X, y = data_of(name)
    model = MODELS[name]().fit(X, y)
    model.predict_one(X[0])
    model.predict_one(X[0])
    assert is_kept(model)
    for twin in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert not is_kept(twin)
        assert twin.predict_one(X[0]) == model.predict_one(X[0])
    if model.constraints is None:
        y = [[f"other {label}" for label in own] for own in y]
    model.fit(X, y)
    assert not is_kept(model)
    assert model.predict_one(X[0]) == by_the_long_way(model, X[:1])[0]


@pytest.mark.parametrize("make", [lambda: StructuredPerceptron(random_state=0), HMM, lambda: HMM(order=2)])
def test_reading_beside_learning(make):
    """What is read is of one moment: labels that the model has had, of a model of whole steps."""
    steps = [sentences(seed, n=6, new=seed) for seed in range(12)]
    questions = sentences(40, n=5, new=3)[0]
    model, told = make(), []
    for step in steps:
        model.partial_fit(*step)
        told.append([model.predict_one(x) for x in questions])
        assert told[-1] == by_the_long_way(model, questions)
    model, seen, errors, done = make().partial_fit(*steps[0]), [], [], threading.Event()

    def look():
        try:
            while not done.is_set():
                for place, x in enumerate(questions):
                    seen.append((place, model.predict_one(x), model.predict([x])[0]))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in steps[1:]:
            model.partial_fit(*step)
    done.set()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    if isinstance(model, HMM):  # whose counts come all at once
        possible = [{tuple(moment[place]) for moment in told} for place in range(len(questions))]
        assert all(tuple(found) in possible[place] for place, *both in seen for found in both)
    assert [model.predict_one(x) for x in questions] == told[-1]


def test_several_threads_share_it():
    X, y = dictionaries(n=200)
    model = CRF(c2=0.1).fit(X, y)
    many, found = by_the_long_way(model, X), [None] * 4
    model.predict_one(X[0])

    def look(place):
        found[place] = [model.predict_one(x) for x in X]

    threads = [threading.Thread(target=look, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [many] * 4
