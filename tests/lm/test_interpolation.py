"""Mixtures of language models and caches: they sum to one, and weights are where a text is most likely."""

import copy
import itertools
import math
import pickle
import sys
import tempfile
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin.inspection import language
from fastlin.lm import Cache, ClassBigramModel, Interpolation, LanguageModelClassifier, NgramModel, State, rescore

pytestmark = pytest.mark.filterwarnings("ignore:.*discount.*:UserWarning")
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran"] * 3
OTHER = ["a bird flew", "the bird sat", "a fish swam"] * 3
SENTENCES = st.lists(st.lists(st.sampled_from(["the", "cat", "bird", "fish", "zebra"]), max_size=4), max_size=6)


def models():
    return [
        NgramModel(3).fit(TEXT),
        NgramModel(2, smoothing="witten_bell").fit(OTHER),
        ClassBigramModel(3, random_state=0).fit(TEXT),
        Cache(7),
        Cache(20, order=2, decay=1.0),
    ]


def cached(words, size, order, decay):
    """p of each word of a text by a cache, written out; None where it has no opinion."""
    found = []
    for place, word in enumerate(words):
        own = total = 0.0
        for other in range(max(order - 1, place - size), place):
            if place >= order - 1 and words[other - order + 1 : other] == words[place - order + 1 : place]:
                weight = math.exp(-decay * (place - other) / size)
                total += weight
                own += weight * (words[other] == word)
        found.append(own / total if total else None)
    return found


@given(
    st.lists(st.lists(st.integers(3, 6), max_size=5), max_size=12),
    st.integers(1, 12),
    st.integers(1, 3),
    st.sampled_from([0.0, 1.0, 5.0]),
)
def test_a_cache_is_the_relative_frequency_of_the_last_words(sentences, size, order, decay):
    tokens = np.array([word for sentence in sentences for word in (0, *sentence, 1)], np.int32)
    cache = Cache(size, order=order, decay=decay)
    p = cache.score(tokens)[tokens != 0]
    words, past = tokens[tokens != 0].tolist(), ()
    for ours, wanted, word in zip(p, cached(words, size, order, decay), words, strict=True):
        spread = cache.word_probabilities(past, 8)
        step, past = cache.advance(past, word)
        assert (wanted is None) == np.isnan(ours) == (step is None) == (spread is None)
        if wanted is not None:
            assert ours == pytest.approx(wanted, abs=1e-9)
            assert step == pytest.approx(wanted, abs=1e-9)
            assert spread[word - 1] == pytest.approx(wanted, abs=1e-9)
            assert spread.sum() == pytest.approx(1)


@given(SENTENCES)
def test_scores_states_and_distributions_agree_and_sum_to_one(sentences):
    mixture = Interpolation(models(), [0.4, 0.2, 0.1, 0.2, 0.1])
    for sentence, log_prob in zip(sentences[:1], mixture.score_samples(sentences[:1]), strict=True):
        state, total = mixture.start(), 0.0
        for word in [*sentence, "</s>"]:
            p = mixture.next_word(state)
            assert p.sum() == pytest.approx(1, abs=1e-5)
            step, state = mixture.advance(state, word)
            names = dict(zip(mixture.words_, p, strict=True))
            assert math.log(names.get(word, names["<unk>"])) == pytest.approx(step, abs=1e-4)
            total += step
        assert total == pytest.approx(log_prob, abs=1e-9)


def test_one_model_is_itself():
    lm = NgramModel(3).fit(TEXT)
    np.testing.assert_allclose(Interpolation([lm]).score_samples(TEXT + OTHER), lm.score_samples(TEXT + OTHER))


def test_words_that_a_model_does_not_know_share_its_unknown_one():
    first, second = NgramModel(2).fit(TEXT), NgramModel(2).fit(OTHER)
    mixture = Interpolation([first, second], [1.0, 0.0])
    ours = dict(zip(mixture.words_, mixture.next_word(["the"]), strict=True))
    theirs = dict(zip(first.words_, first.next_word(["the"]), strict=True))
    assert ours["cat"] == pytest.approx(theirs["cat"], rel=1e-5)
    strangers = [word for word in mixture.words_ if word not in theirs or word == "<unk>"]
    assert strangers == ["<unk>", "bird", "flew", "fish", "swam"]
    assert sum(ours[word] for word in strangers) == pytest.approx(theirs["<unk>"], rel=1e-5)


def test_a_cache_remembers_across_sentences_of_a_call_and_no_longer():
    mixture = Interpolation([NgramModel(2).fit(TEXT + OTHER), Cache(50)], [0.5, 0.5])
    alone, after = mixture.score_samples(["a fish swam"])[0], mixture.score_samples(["a fish swam"] * 2)
    assert after[1] > alone == after[0]
    assert mixture.score_samples(["a fish swam"])[0] == alone


def test_fitted_weights_are_where_the_text_is_most_likely():
    mixture = Interpolation(models()).fit_weights(TEXT[:3] + OTHER[:3])
    assert mixture.weights_.sum() == pytest.approx(1)
    objectives = [record["objective"] for record in mixture.history_]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(objectives))
    two = [NgramModel(3).fit(TEXT), NgramModel(2).fit(OTHER)]
    found = Interpolation(two).fit_weights(TEXT[:2] + OTHER[:3], tol=1e-12, max_iter=10_000)
    best = found.score(TEXT[:2] + OTHER[:3])
    for share in np.linspace(0.01, 0.99, 50):
        assert Interpolation(two, [share, 1 - share]).score(TEXT[:2] + OTHER[:3]) <= best + 1e-8


def test_a_component_that_is_fitted_anew_is_heard():
    lm = NgramModel(2).fit(TEXT)
    mixture = Interpolation([lm])
    before = mixture.score_samples(["a fish swam"])[0]
    lm.fit(OTHER)
    assert mixture.score_samples(["a fish swam"])[0] == lm.score_samples(["a fish swam"])[0] > before
    for other in (copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
        assert other.score(OTHER) == mixture.score(OTHER)


def test_samples_and_tops_are_of_the_mixture():
    mixture = Interpolation(models(), [0.2] * 5)
    assert mixture.sample(5, random_state=0) == mixture.sample(5, random_state=0)
    best = mixture.top(["the"], 3)
    assert [p for _, p in best] == sorted((p for _, p in best), reverse=True)


def test_what_is_wrong_is_named():
    lm = NgramModel(2).fit(TEXT)
    characters = NgramModel(2, unit="character").fit(TEXT)
    for given_models, weights, message in (
        ([], None, "at least one"),
        ([Cache()], None, "at least one"),
        ([lm, characters], None, "unit"),
        ([lm, lm], [0.7, 0.7], "sum to 1"),
        ([lm, lm], [1.0], "2 numbers"),
        ([lm, Cache(0)], None, "size"),
        ([lm, Cache(order=9)], None, "order"),
        ([lm, Cache(decay=-1)], None, "decay"),
    ):
        with pytest.raises(ValueError, match=message):
            Interpolation(given_models, weights).score(TEXT)
    with pytest.raises(TypeError, match="language models"):
        Interpolation([lm, "x"]).fit_weights(TEXT)
    with pytest.raises(ValueError, match="X is empty"):
        Interpolation([lm]).fit_weights([])


def test_lists_are_ordered_anew():
    lm = NgramModel(2).fit(TEXT)
    lists = [[("cat the sat", -1.0), ("the cat sat", -1.5)], [], [("a", 0.0), (["a"], 0.0)]]
    ordered = rescore(lm, lists)
    assert [sentence for sentence, _ in ordered[0]] == ["the cat sat", "cat the sat"]
    assert ordered[0][0][1] == pytest.approx(-1.5 + lm.score_samples(["the cat sat"])[0])
    assert ordered[1] == []
    assert [sentence for sentence, _ in ordered[2]] == ["a", ["a"]]
    bonus = rescore(lm, lists, weight=0.0, word_bonus=2.0)
    assert bonus[0] == [("cat the sat", 5.0), ("the cat sat", 4.5)]
    with pytest.raises(ValueError, match="weight"):
        rescore(lm, lists, weight=float("nan"))


@pytest.fixture
def hasty_threads():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_a_mixture_of_models_that_learn_answers_as_one_that_there_was():
    part = NgramModel(2, smoothing="witten_bell")
    mixture = Interpolation([part, NgramModel(1, smoothing="witten_bell").fit(TEXT), Cache(4)])
    asked, found, done = ["the cat flew", "a zebra"], [], threading.Event()
    questions = [
        lambda: mixture.score_samples(asked).tolist(),
        lambda: mixture.next_word("the").tolist(),
        lambda: mixture.sample(3, random_state=0, max_length=9),
        lambda: copy.deepcopy(mixture).perplexity(asked),
        lambda: copy.copy(mixture).words_,
    ]
    allowed = []
    texts = [TEXT, [*OTHER, *"pqrstuvwxyz"]]
    for text in texts:
        part.fit(text)
        allowed.append([ask() for ask in questions])

    def ask_on(place):
        while not done.is_set():
            try:
                answer = questions[place]()
            except (IndexError, ValueError) as error:
                answer = repr(error)
            found.append((place, answer))

    readers = [threading.Thread(target=ask_on, args=(place,)) for place in range(len(questions))]
    for reader in readers:
        reader.start()
    for text in texts * 400:
        part.fit(text)
    done.set()
    for reader in readers:
        reader.join()
    assert found
    for place, answer in found:
        assert answer in [answers[place] for answers in allowed]


def test_copies_of_a_mixture_have_models_of_their_own():
    part = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    mixture = Interpolation((part, Cache(4)))
    wanted = mixture.score_samples(OTHER)
    others = [copy.copy(mixture), copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))]
    part.fit(OTHER)
    for other in others:
        assert isinstance(other.models, tuple)
        np.testing.assert_array_equal(other.score_samples(OTHER), wanted)
        other.models[0].fit(OTHER)
        np.testing.assert_array_equal(other.score_samples(OTHER), mixture.score_samples(OTHER))


def test_who_has_an_opinion_alone_is_heard_without_a_weight():
    lm = NgramModel(2, smoothing="witten_bell").fit(["a b a", "b a"])
    mixture = Interpolation([lm, Cache(3)], weights=[0.0, 1.0])
    log_prob, state = mixture.advance(mixture.start(), "a")
    assert log_prob == pytest.approx(lm.advance(lm.start(), "a")[0])
    assert mixture.advance(state, "a")[0] == 0.0  # the cache remembers nothing else
    assert np.isfinite(mixture.surprisal(["a a", "a"]).bits[:2]).all()
    assert float(mixture.next_word(["<s>"]).sum()) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("models", ["ab", None, 3, [1], [None]])
def test_what_is_no_list_of_models_is_named(models):
    with pytest.raises(TypeError, match="models must"):
        Interpolation(models).perplexity(["a"])


@pytest.mark.parametrize("weights", [0.5, "ab", {0.5: 1, 0.25: 2}])
def test_what_is_no_list_of_weights_is_named(weights):
    lm = NgramModel(2, smoothing="witten_bell").fit(["a b a", "b a"])
    with pytest.raises(TypeError, match="weights must be a list of numbers"):
        Interpolation([lm, lm], weights).perplexity(["a"])


def test_a_model_that_deserves_no_weight_loses_it():
    good, bad = NgramModel(2, smoothing="witten_bell").fit(TEXT), NgramModel(1, smoothing="laplace").fit(OTHER)
    found = Interpolation([good, bad]).fit_weights(TEXT)
    assert found.score(TEXT) == pytest.approx(good.score(TEXT), abs=1e-4)
    assert len(found.history_) < 1000
    with pytest.warns(ConvergenceWarning, match="the weights still changed after 2 iterations"):
        Interpolation([good, bad]).fit_weights(TEXT, max_iter=2)


def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        return fastlin.save(model, f"{folder}/x.fastlin")


@pytest.mark.parametrize("wrong", [3, -1, 1.5, None, "the", (10**9,), (2**70,), (True,), (None,), ()])
def test_states_of_mixtures_hold_those_of_their_models(wrong):
    mixture = Interpolation(models())
    state = mixture.advance(mixture.start(), "the")[1]
    for place in range(1, len(state)):
        if wrong == () and place != 3:  # of n-grams and of caches there is nothing before a word
            continue
        broken = State((*state[:place], wrong, *state[place + 1 :]))
        for ask in (lambda state=broken: mixture.advance(state, "cat"), lambda state=broken: mixture.next_word(state)):
            with pytest.raises(ValueError, match="state"):
                ask()


ASK = {
    "score": lambda model: model.score(TEXT),
    "next": lambda model: model.next_word("the"),
    "advance": lambda model: model.advance(model.start(), "the"),
    "fit": lambda model: model.fit(TEXT),
    "weights": lambda model: model.fit_weights(TEXT),
    "pickle": pickle.dumps,
    "copy": copy.deepcopy,
    "clone": clone,
    "describe": language,
    "save": saved,
    "classify": lambda model: LanguageModelClassifier(model).fit(TEXT[:4], [0, 1, 0, 1]),
    "dir": dir,
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_a_mixture_that_holds_itself_is_refused(ask):
    lm = NgramModel(2).fit(TEXT)
    itself = Interpolation([lm])
    itself.models.append(itself)
    inner = Interpolation([lm])
    outer = Interpolation([Interpolation([lm, inner]), Cache(3)])
    inner.models.append(outer)
    fitted = Interpolation([lm]).fit(TEXT)
    fitted.models_.append(fitted)
    for mixture in (itself, outer, fitted):
        assert repr(mixture).startswith("Interpolation(")
        with pytest.raises(ValueError, match="must not hold the mixture itself"):
            ask(mixture)


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_mixtures_within_mixtures_work_or_are_refused(ask, tmp_path):
    lm = NgramModel(2).fit(TEXT)
    mixture = wide = Interpolation([lm, lm])
    for _ in range(9):
        mixture = Interpolation([mixture, lm])
    for _ in range(7):
        wide = Interpolation([wide, wide])
    mixture = mixture.fit(TEXT)
    ask(mixture)
    fastlin.save(mixture, tmp_path / "x.fastlin")
    assert fastlin.load(tmp_path / "x.fastlin").score(TEXT) == pytest.approx(lm.score(TEXT))
    deep = Interpolation([mixture])
    with pytest.raises(ValueError, match="mixtures within mixtures at most 10 deep"):
        ask(deep)
    for _ in range(2000):
        deep = Interpolation([deep])
    with pytest.raises(ValueError, match="mixtures within mixtures at most 10 deep"):
        ask(deep)
    with pytest.raises(ValueError, match="models must be at most 10000"):
        ask(Interpolation([wide] * 40))
    assert len(repr(deep)) < 1000
