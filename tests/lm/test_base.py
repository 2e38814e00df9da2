"""What holds of every language model: states, tags, parameters, hostile texts."""

import numpy as np
import pytest
from sklearn.base import clone

from fastlin.lm import (
    Cache,
    ClassBigramModel,
    Interpolation,
    LanguageModelClassifier,
    MaxentLM,
    NgramModel,
    State,
    WordClasses,
    rescore,
)

TEXT = ["the dog ran", "a dog sat", "the cat sat", "a cat ran"]
MODELS = {
    "n-grams": lambda: NgramModel(2, smoothing="witten_bell"),
    "maximum entropy": lambda: MaxentLM(2),
    "Model M": lambda: MaxentLM(3, classes=5),
    "skip-grams": lambda: MaxentLM(3, skip_grams=1),
    "soft classes": lambda: ClassBigramModel(3, random_state=0),
    "mixture": lambda: Interpolation([NgramModel(2, smoothing="witten_bell"), Cache(4)]),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]().fit(TEXT)


@pytest.mark.parametrize(
    "state",
    [(10**9,), (2**70,), ("the",), (0,) * 9, "the", None, ((10**9,), ()), ((0,), (10**9,)), ((0,), None)],
)
def test_a_state_of_another_model_is_refused(model, state):
    for ask in (
        lambda: model.advance(state, "dog"),
        lambda: model.advance_many([state], ["dog"]),
        lambda: model.next_word(State(state)),
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            ask()


@pytest.mark.parametrize("wrong", [0.0, -5, 10**9, 2**70, -(2**70), "the", None, True, np.int32(1), (0,)])
def test_numbers_that_no_state_holds_are_refused(model, wrong):
    """Neither a float nor a number out of range reaches what reads arrays by it."""
    good = model.start()
    for state in (State((good[0], wrong)), State((*good, wrong)), State((wrong, *good[1:])), State(good + good)):
        for ask in (
            lambda state=state: model.advance(state, "dog"),
            lambda state=state: model.advance_many([good, state], ["dog", "dog"]),
            lambda state=state: model.next_word(state),
        ):
            with pytest.raises(ValueError, match="state"):
                ask()


@pytest.mark.parametrize("name", MODELS)
def test_states_of_models_of_other_texts_are_refused(name):
    model, other = MODELS[name]().fit(TEXT), MODELS[name]().fit([*TEXT, "a bird ran"])
    for ask in (
        lambda: model.advance(other.start(), "dog"),
        lambda: model.advance_many([other.start()], ["dog"]),
        lambda: model.next_word(other.start()),
    ):
        with pytest.raises(ValueError, match="of another model"):
            ask()
    again = MODELS[name]().fit(TEXT)
    assert again.advance(model.start(), "dog")[1] == model.advance(model.start(), "dog")[1]


def test_many_states_advance_as_each_does(model):
    states, words, wanted = [], [], []
    for sentence in [*TEXT, "the bird ran the dog", ""]:
        state = model.start()
        for word in [*sentence.split(), "</s>"]:
            states.append(state)
            words.append(word)
            wanted.append(model.advance(state, word))
            state = wanted[-1][1]
    log_prob, after = model.advance_many(states, words)
    assert log_prob.dtype == np.float64
    assert (log_prob.tolist(), after) == ([step for step, _ in wanted], [state for _, state in wanted])
    assert {type(state) for state in after} == {State}
    log_prob, after = model.advance_many([], [])
    assert (len(log_prob), after) == (0, [])
    with pytest.raises(TypeError, match="a word is a string, got 5"):
        model.advance_many(states[:2], ["dog", 5])
    with pytest.raises(ValueError, match="each state needs one"):
        model.advance_many(states[:2], ["dog"])


def test_the_mark_that_begins_a_sentence_never_follows(model):
    with pytest.raises(ValueError, match="<s> is no word that follows"):
        model.advance(model.start(), "<s>")
    with pytest.raises(ValueError, match="<s> is no word that follows"):
        model.advance_many([model.start()], ["<s>"])


@pytest.mark.parametrize("text", [[""], ["a"], ["a\0b \0"], ["x" * 10_000_000 + " b"], ["a \ud800"], [["", "a\nb"]]])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
@pytest.mark.filterwarnings("ignore:too few counts")
def test_strange_texts_have_probabilities(make, text):
    model = make().fit(text)
    assert np.isfinite(model.score_samples(text)).all()
    assert np.isfinite(model.score_samples(TEXT)).all()
    assert float(model.next_word().sum()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "make", [*MODELS.values(), LanguageModelClassifier, WordClasses], ids=[*MODELS, "classifier", "classes"]
)
def test_sentences_are_strings_to_scikit_learn(make):
    tags = make().__sklearn_tags__().input_tags
    assert tags.string
    assert not tags.two_d_array
    assert clone(make()).get_params().keys() == make().get_params().keys()


@pytest.mark.parametrize("vocabulary", [5, [1], ["a", None], b"ab"])
def test_a_vocabulary_is_a_list_of_words(vocabulary):
    with pytest.raises(TypeError, match="vocabulary must be a list of words, got"):
        NgramModel(2, vocabulary=vocabulary).fit(TEXT)


@pytest.mark.parametrize("wrong", [5, None, b"the", {"the": 1}, NgramModel(2, "witten_bell").fit(TEXT).start()])
def test_what_is_no_context_is_refused(wrong):
    model = NgramModel(3, "witten_bell").fit(TEXT)
    calls = [lambda: model.sample(context=wrong), lambda: model.tokens(wrong)]
    if not isinstance(wrong, State):
        calls += [lambda: model.next_word(wrong), lambda: model.top(wrong)]
    for call in calls:
        with pytest.raises(TypeError, match=r"^(context|sentence) must be a string or a list of words, got"):
            call()


def test_a_sentence_that_is_taken_for_a_path_is_told_from_one():
    with pytest.raises(FileNotFoundError, match="a sentence an item of a list"):
        NgramModel(2).fit("the cat sat")
    with pytest.raises(FileNotFoundError, match=r"there is no file 'nowhere'$"):
        NgramModel(2).fit("nowhere")


def test_an_infinite_alpha_is_refused():
    for make in (lambda a: NgramModel(2, "lidstone", alpha=a), lambda a: ClassBigramModel(2, alpha=a)):
        with pytest.raises(ValueError, match="alpha must be"):
            make(np.inf).fit(TEXT)
    assert ClassBigramModel(2, alpha=1e12, random_state=0).fit(TEXT).perplexity(TEXT) == pytest.approx(8, rel=1e-3)


def test_candidates_are_rescored_by_a_language_model_and_by_numbers():
    closed = NgramModel(2, smoothing="witten_bell", unk=None).fit(TEXT)
    found = rescore(closed, [[("a zebra", 1.0), ("the dog", 0.5)]], weight=0)
    assert found == [[("a zebra", 1.0), ("the dog", 0.5)]]  # and no NaN of 0 · ∞
    with pytest.raises(TypeError, match="model must be a language model, got NoneType"):
        rescore(None, [[("a", 1.0)]])
    for given in ({"weight": np.inf}, {"word_bonus": np.nan}):
        with pytest.raises(ValueError, match=next(iter(given))):
            rescore(closed, [[("a", 1.0)]], **given)
    with pytest.raises(ValueError, match="score must be a number above -inf"):
        rescore(closed, [[("a", float("nan"))]])
    for wrong in ([("a zebra", 1.0)], [["a zebra"]], [[("a", 1.0, 2)]]):
        with pytest.raises(TypeError, match="pairs"):
            rescore(closed, wrong)


@pytest.mark.parametrize("name", MODELS)
def test_the_divergence_is_the_mean_of_those_of_all_contexts(name):
    """Word by word, context by context; the other model numbers its words in another order."""
    p, q = MODELS[name]().fit(TEXT), NgramModel(3, "witten_bell").fit([line for line in TEXT[::-1] for _ in range(2)])
    X = [*TEXT, "the dog", "", "the cat sat the cat sat a zebra"]
    place, divergences = [q.words_.index(word) for word in p.words_], []
    for sentence in X:
        states = p.start(), q.start()
        for word in [*p.tokens(sentence), "</s>"]:
            ours, theirs = p.next_word(states[0]).astype(float), q.next_word(states[1])[place].astype(float)
            divergences.append(ours[ours > 0] @ np.log(ours[ours > 0] / theirs[ours > 0]))
            states = p.advance(states[0], word)[1], q.advance(states[1], word)[1]
    assert p.kl_divergence(q, X) == pytest.approx(np.mean(divergences), rel=1e-5, abs=1e-6)
    with pytest.raises(ValueError, match="X is empty"):
        p.kl_divergence(q, [])
