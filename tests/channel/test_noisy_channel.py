"""The noisy channel: what is decoded is the best of all sources, what is scored their sum; a tagger is a channel."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import fastlin
from fastlin.channel import Candidates, Channel, Decoding, EditChannel, NoisyChannel
from fastlin.grammar import PCFG
from fastlin.lm import Cache, ClassBigramModel, Interpolation, MaxentLM, NgramModel
from fastlin.sequence import HMM
from oracles.channel import log_sum, sources

TEXT = ["the cat sat on the mat", "the dog sat", "a cat ran", "a dog ran on the mat", ""]
WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "zebra"]  # the last one is none of the text's
OBSERVED = "ABCDE"


def mixture():
    return Interpolation([NgramModel(2, smoothing="witten_bell").fit(TEXT), Cache(3)], [0.6, 0.4])


MODELS = {
    "unigrams": NgramModel(1, smoothing="witten_bell").fit(TEXT),
    "trigrams": NgramModel(3, smoothing="witten_bell").fit(TEXT),
    "relative frequencies": NgramModel(2, smoothing="relative_frequency").fit(TEXT),
    "backward": NgramModel(2, smoothing="witten_bell", direction="backward").fit(TEXT),
    "maximum entropy": MaxentLM(3).fit(TEXT),
    "classes": ClassBigramModel(2, random_state=0).fit(TEXT),
    "mixture with a cache": mixture(),
}
EVERY_MODEL = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
ROWS = st.lists(st.tuples(st.sampled_from(WORDS), st.floats(-4, 0)), min_size=1, max_size=3, unique_by=lambda x: x[0])
CHANNELS = st.fixed_dictionaries(dict.fromkeys(OBSERVED, ROWS))
SENTENCES = st.lists(st.lists(st.sampled_from(OBSERVED), max_size=4), min_size=1, max_size=4)


def scorer(model):
    return lambda words: float(model.score_samples([words])[0])


def same(found, wanted):
    """Whether hypotheses are the best of all: equal scores in order, and each its own score."""
    np.testing.assert_allclose([one.log_prob for one in found], [p for p, _ in wanted[: len(found)]], atol=1e-5)
    scores = {tuple(words): p for p, words in wanted}
    for one in found:
        assert one.log_prob == pytest.approx(scores[tuple(one.words)], abs=1e-5)
    assert len({tuple(one.words) for one in found}) == len(found)


@EVERY_MODEL
@given(rows=CHANNELS, observed=SENTENCES, weight=st.sampled_from([1.0, 0.3, 2.0]))
def test_without_a_beam_decoding_is_the_best_of_all_sources_and_scoring_their_sum(model, rows, observed, weight):
    channel = NoisyChannel(model, rows.get, beam=None, source_weight=weight)
    best, lists, sums = channel.decode(observed), channel.decode(observed, 5), channel.score_samples(observed)
    for sentence, first, found, total in zip(observed, best, lists, sums, strict=True):
        wanted = sources(scorer(model), rows.get, sentence, weight)
        if not wanted:
            assert first == Decoding(sentence, -math.inf)
            assert found == [first]
            assert total == -math.inf
            continue
        assert len(found) == min(5, len(wanted))
        same(found, wanted)
        same([first], wanted)
        assert total == pytest.approx(log_sum(p for p, _ in wanted), abs=1e-5)


@EVERY_MODEL
@given(rows=CHANNELS, observed=SENTENCES)
def test_a_beam_finds_sources_with_their_scores_and_none_better_than_the_best(model, rows, observed):
    exact, beam = (NoisyChannel(model, rows.get, beam=width) for width in (None, 2))
    for sentence, best, found in zip(observed, exact.decode(observed), beam.decode(observed, 3), strict=True):
        scores = {tuple(words): p for p, words in sources(scorer(model), rows.get, sentence)}
        assert found[0].log_prob <= best.log_prob + 1e-5
        assert [one.log_prob for one in found] == sorted((one.log_prob for one in found), reverse=True)
        for one in found:
            assert one.log_prob == pytest.approx(scores.get(tuple(one.words), -math.inf), abs=1e-5)
    assert (beam.score_samples(observed) <= exact.score_samples(observed) + 1e-9).all()


def test_a_wide_beam_is_none():
    rows = {symbol: [(word, -float(i)) for i, word in enumerate(WORDS[:4])] for symbol in OBSERVED}
    observed = ["A B C D E", "E D C", "A"]
    wide, none = (NoisyChannel(MODELS["trigrams"], rows.get, beam=beam) for beam in (10_000, None))
    assert wide.decode(observed, 20) == none.decode(observed, 20)
    assert (wide.score_samples(observed) == none.score_samples(observed)).all()


@pytest.mark.parametrize("model", ["unigrams", "trigrams", "relative frequencies", "backward"])
@given(rows=CHANNELS, observed=SENTENCES, beam=st.integers(1, 4), weight=st.sampled_from([1.0, 0.3]))
def test_the_engine_and_the_general_search_find_the_same(model, rows, observed, beam, weight):
    """The best of one is what the engine finds, the first of several what the general search does."""
    noisy = NoisyChannel(MODELS[model], rows.get, beam=beam, source_weight=weight)
    for one, (other, *_) in zip(noisy.decode(observed), noisy.decode(observed, 2), strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert len(one.words) == len(other.words)


def test_threads_and_batches_change_no_bit():
    rows = {symbol: [(word, -float(i)) for i, word in enumerate(WORDS[:5])] for symbol in OBSERVED}
    rng = np.random.default_rng(0)
    observed = [rng.choice(list(OBSERVED), size=rng.integers(0, 8)).tolist() for _ in range(300)]
    alone = NoisyChannel(MODELS["trigrams"], rows.get)
    threads = NoisyChannel(MODELS["trigrams"], rows.get, n_jobs=3)
    assert alone.decode(observed) == threads.decode(observed)
    assert alone.decode(observed[260:270]) == threads.decode(observed)[260:270]
    assert (alone.score_samples(observed) == threads.score_samples(observed)).all()


# --- channels --------------------------------------------------------------------------------------------------------

TABLE = {"the": {"A": 0.75, "B": 0.25}, "a": {"A": 0.5}, "cat": {"C": 1.0}, "dog": {"C": 0.125, "D": 0.0}}


class OneByOne(Channel):
    def candidates(self, observed):
        return [(source, math.log(row[observed])) for source, row in TABLE.items() if row.get(observed)]


class Together(OneByOne):
    def candidates_many(self, observed):
        return Candidates.of([OneByOne().candidates(word) for word in observed])

    def candidates(self, observed):
        raise AssertionError("words are asked together")


class Bound:
    def bound_to(self, words):
        assert "cat" in words
        assert "</s>" not in words
        assert "<unk>" not in words
        return OneByOne()


@pytest.mark.parametrize("channel", [OneByOne(), Together(), Bound(), OneByOne().candidates], ids=type)
def test_a_table_a_function_and_an_object_are_one_channel(channel):
    observed = ["A C", "B C A", "A"]
    model = MODELS["trigrams"]
    assert NoisyChannel(model, channel).decode(observed, 9) == NoisyChannel(model, TABLE).decode(observed, 9)


def test_candidates_of_a_word():
    found = Candidates.of([[("the", -1.0)], [], [("a", -2.0), ("cat", 0.0)]])
    assert [found.of_word(i) for i in range(3)] == [[("the", -1.0)], [], [("a", -2.0), ("cat", 0.0)]]


class Chain:
    """A source that is no language model: the last word, by a table."""

    def start(self):
        return "<s>"

    def advance(self, state, word):
        return -0.5 * (len(state) + len(word)), word


class ManyAtOnce(Chain):
    def advance_many(self, states, words):
        found = [Chain.advance(self, state, word) for state, word in zip(states, words, strict=True)]
        return [p for p, _ in found], [state for _, state in found]

    def advance(self, state, word):
        raise AssertionError("states are asked together")


@pytest.mark.parametrize("source", [Chain(), ManyAtOnce()], ids=["one by one", "together"])
def test_a_source_is_whatever_has_states(source):
    def score(words):
        return sum(-0.5 * (len(a) + len(b)) for a, b in itertools.pairwise(["<s>", *words, "</s>"]))

    rows = {"A": [("the", -1.0), ("a", -1.5)], "C": [("cat", 0.0), ("x", -2.0)]}
    found = NoisyChannel(source, rows.get, beam=None).decode(["A C A"], 9)[0]
    same(found, sources(score, rows.get, "ACA"))


# --- tagging ---------------------------------------------------------------------------------------------------------


class Transitions:
    """The transitions of a hidden Markov model as a source of labels."""

    def __init__(self, hmm):
        self._hmm, self._places = hmm, {label: place for place, label in enumerate(hmm.classes_)}

    def start(self):
        return None

    def advance(self, state, word):
        if word == "</s>":
            return math.log(self._hmm.stopprob_[self._places[state]]), None
        row = self._hmm.startprob_ if state is None else self._hmm.transmat_[self._places[state]]
        return math.log(row[self._places[word]]), word


def test_tagging_is_decoding_where_the_source_are_the_transitions_and_the_channel_the_emissions():
    rng = np.random.default_rng(1)
    text = [rng.choice(list("abcdef"), size=rng.integers(1, 9)).tolist() for _ in range(200)]
    tags = [[f"T{(ord(word) + rng.choice(4, p=[0.5, 0.3, 0.15, 0.05])) % 3}" for word in words] for words in text]
    hmm = HMM().fit(text, tags)
    words = hmm.attributes_
    channel = {
        label: {word: float(p) for word, p in zip(words, row, strict=True) if p > 0}
        for label, row in zip(hmm.classes_.tolist(), hmm.emissionprob_, strict=True)
    }
    noisy = NoisyChannel(Transitions(hmm), channel, beam=None)
    found = noisy.decode(text)
    np.testing.assert_allclose([one.log_prob for one in found], hmm.log_joint(text, hmm.predict(text)), atol=1e-8)
    assert [one.words for one in found] == [list(labels) for labels in hmm.predict(text)]
    np.testing.assert_allclose(noisy.score_samples(text), hmm.score_samples(text), atol=1e-8)


# --- parsing ---------------------------------------------------------------------------------------------------------

RULES = """
S -> NP VP [0.7] | S PP [0.3]
VP -> V NP [0.5] | VP PP [0.3] | V [0.2]
PP -> P NP [1.0]
NP -> N [0.4] | NP PP [0.35] | N N [0.25]
"""
WRITTEN = {
    "N": {"dogs": 0.5, "saw": 0.2, "parks": 0.3}, "V": {"saw": 0.6, "parks": 0.4}, "P": {"in": 0.75, "with": 0.25},
}  # fmt: skip


class TreesOfTags:
    """p(tree) of trees whose leaves are tags."""

    def __init__(self):
        self._grammar = PCFG.from_rules(RULES + "\n".join(f"{tag} -> '{tag}' [1.0]" for tag in WRITTEN))

    def score_samples(self, trees):
        return self._grammar.log_joint(trees)

    def of_tags(self, tags):
        """All trees over some tags."""
        return [str(tree) for tree in self._grammar.predict_nbest([tags], 200)[0]]


def test_parsing_is_decoding_where_the_source_are_trees_of_tags_and_the_channel_words_given_tags():
    words = "\n".join(
        f"{tag} -> " + " | ".join(f"'{word}' [{p}]" for word, p in row.items()) for tag, row in WRITTEN.items()
    )
    grammar, trees = PCFG.from_rules(RULES + words), TreesOfTags()

    def candidates(sentence):
        observed = sentence.split()
        for tags in itertools.product(*([tag for tag in WRITTEN if word in WRITTEN[tag]] for word in observed)):
            log_prob = sum(math.log(WRITTEN[tag][word]) for tag, word in zip(tags, observed, strict=True))
            yield from ((tree, log_prob) for tree in trees.of_tags(list(tags)))

    sentences = ["dogs saw dogs", "dogs saw parks in parks with dogs", "dogs saw saw in parks", "parks parks parks"]
    noisy = NoisyChannel(trees, candidates, beam=None)
    found = noisy.decode(sentences)
    best = grammar.predict(sentences).log_joint
    np.testing.assert_allclose([one.log_prob for one in found], best, atol=1e-5)
    leaves = iter(" ".join(sentences).split())
    parsed = [re.sub(r" \w+\)", lambda _: f" {next(leaves)})", one.words[0]) for one in found]
    np.testing.assert_allclose(grammar.log_joint(parsed), best, atol=1e-5)
    np.testing.assert_allclose(noisy.score_samples(sentences), grammar.score_samples(sentences), atol=1e-5)


def test_a_source_of_messages_takes_whole_sentences():
    noisy = NoisyChannel(TreesOfTags(), lambda _: [("(S (NP (N N)) (VP (V V)))", -1.0)])
    with pytest.raises(TypeError, match=r"X\[0\] must be a string"):
        noisy.decode([["dogs", "saw"]])
    with pytest.raises(ValueError, match="messages, not words"):
        NoisyChannel(TreesOfTags(), Bound()).decode(["dogs saw"])

    class Wrong:
        def score_samples(self, messages):
            return [math.nan for _ in messages]

    with pytest.raises(ValueError, match="must return ln p of 1 messages"):
        NoisyChannel(Wrong(), lambda _: [("a", -1.0)]).decode(["dogs"])


# --- what cannot be decoded ------------------------------------------------------------------------------------------


def test_a_word_without_candidates_is_named_or_stands_for_itself():
    model = MODELS["trigrams"]
    with pytest.raises(ValueError, match="no candidates for 'dog'"):
        NoisyChannel(model, TABLE).decode(["A C", "A dog"])
    (found,) = NoisyChannel(model, TABLE, keep_unknown=True).decode(["A dog"])
    assert found.words == ["the", "dog"]
    assert found.log_prob == pytest.approx(model.score_samples(["the dog"])[0] + math.log(0.75), abs=1e-5)


@pytest.mark.parametrize("observed", [[], [""], ["", "A"]])
def test_no_sentence_and_no_word(observed):
    channel = NoisyChannel(MODELS["trigrams"], TABLE)
    found = channel.decode(observed)
    assert [len(one.words) for one in found] == [len(sentence) for sentence in observed]
    assert len(channel.score_samples(observed)) == len(observed)
    if observed[:1] == [""]:
        assert found[0].log_prob == pytest.approx(MODELS["trigrams"].score_samples([""])[0], abs=1e-6)


@pytest.mark.parametrize(
    "channel, error, message",
    [
        ({"the": {"A": 1.5}}, ValueError, "from 0 to 1, of words, got 'A': 1.5"),
        ({"the": {"A": math.nan}}, ValueError, "got 'A': nan"),
        ({"the": {"A": "1"}}, ValueError, "got 'A': '1'"),
        ({"the": {"A": None}}, ValueError, "got 'A': None"),
        ({"the": {"A": 1 + 0j}}, ValueError, "must hold probabilities"),
        ({"the": {"A": 0.7, "B": 0.7}}, ValueError, "sum to 1 or less, got 1.4 for 'the'"),
        ({"the": [("A", 0.5)]}, TypeError, "table"),
        ({1: {"A": 0.5}}, TypeError, "table"),
        (lambda _: [("the", 0.5)], ValueError, "at most 0, got 0.5 for 'A' given 'the'"),
        (lambda _: [("the", math.nan)], ValueError, "at most 0, got nan for 'A'"),
        (lambda _: [("</s>", -1.0)], ValueError, "words as sources, got '</s>'"),
        (lambda _: [("<s>", -1.0)], ValueError, "words as sources, got '<s>'"),
        (lambda _: [(7, -1.0)], TypeError, "pairs"),
        (lambda _: [("the", "x")], TypeError, "pairs"),
        (lambda _: ["the"], TypeError, "pairs"),
        (lambda _: "the", TypeError, "pairs"),
        (lambda _: None, TypeError, "pairs"),
        (lambda _: [], ValueError, "no candidates for 'A'"),
        (Channel, TypeError, "channel must be"),
        (None, TypeError, "channel must be"),
        ("A", TypeError, "channel must be"),
    ],
)  # fmt: skip
def test_a_channel_that_is_none_is_refused(channel, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        NoisyChannel(MODELS["trigrams"], channel).decode(["A"])


@pytest.mark.parametrize(
    "X, error, message",
    [
        ("A C", TypeError, "list of sentences"),
        (b"A", TypeError, "list of sentences"),
        ({"A": 1}, TypeError, "list of sentences"),
        (7, TypeError, "list of sentences"),
        ([7], TypeError, r"X\[0\] must be a string"),
        (["A", {"A"}], TypeError, r"X\[1\] must be a string"),
        ([["A", None]], TypeError, r"X\[0\] must hold words that are strings, got None"),
        (["A <s>"], ValueError, r"X\[0\] must hold no mark"),
        ([["</s>"]], ValueError, r"X\[0\] must hold no mark"),
    ],
)
def test_sentences_that_are_none_are_refused(X, error, message):
    with pytest.raises(error, match=message):
        NoisyChannel(MODELS["trigrams"], TABLE).decode(X)


@pytest.mark.parametrize("source", [None, "lm", NgramModel, object()])
def test_a_source_that_is_none_is_refused(source):
    with pytest.raises(TypeError, match="source must be"):
        NoisyChannel(source, TABLE).decode(["A"])


def test_a_source_whose_numbers_are_none_is_refused():
    class Broken(Chain):
        def advance(self, state, word):
            return math.nan, word

    with pytest.raises(ValueError, match="got NaN"):
        NoisyChannel(Broken(), TABLE).decode(["A"])


@pytest.mark.parametrize("odd", ["\0", "\ud800", "\U0001f600", "a\u0301", "x" * 10**5])
def test_words_are_whatever_strings_there_are(odd):
    model = NgramModel(2, smoothing="witten_bell").fit([["the", odd, "cat"], ["a", "cat"]])
    channel = NoisyChannel(model, lambda word: [(odd, -1.0), ("cat", -1.0), (word, -3.0)])
    assert channel.decode([["the", odd, odd]])[0].words == ["the", odd, "cat"]


@pytest.mark.parametrize("parameters", [{"beam": 0}, {"beam": 1.5}, {"source_weight": -1}, {"keep_unknown": "yes"}])
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises((ValueError, TypeError), match=next(iter(parameters))):
        NoisyChannel(MODELS["trigrams"], TABLE, **parameters).decode(["A"])


# --- life ------------------------------------------------------------------------------------------------------------


def test_fit_fits_copies():
    lm = NgramModel(2, smoothing="witten_bell")
    model = NoisyChannel(lm, TABLE).fit(TEXT)
    assert not lm.__sklearn_is_fitted__()
    assert model.source is lm
    given = NoisyChannel(NgramModel(2, smoothing="witten_bell").fit(TEXT), TABLE)
    assert model.decode(["A C"]) == given.decode(["A C"])
    assert not hasattr(clone(model), "source_")


@EVERY_MODEL
def test_a_file_gives_the_channel_back(tmp_path, model):
    before = NoisyChannel(model, TABLE, beam=3, source_weight=0.5)
    fastlin.save(before, tmp_path / "model")
    assert fastlin.load(tmp_path / "model").decode(["A C", "B C A"], 5) == before.decode(["A C", "B C A"], 5)


def test_a_file_holds_channels_that_learn(tmp_path):
    pairs = [("cat", "cta"), ("dog", "dgo"), ("the", "teh"), ("mat", "matt")] * 5
    given = NoisyChannel(MODELS["trigrams"], EditChannel().fit(pairs), keep_unknown=True)
    fitted = NoisyChannel(NgramModel(2, smoothing="witten_bell"), EditChannel(), keep_unknown=True).fit(TEXT, pairs)
    assert not hasattr(fitted.channel, "bound_")
    for before in (given, fitted):
        fastlin.save(before, tmp_path / "model")
        after = fastlin.load(tmp_path / "model")
        for channel in (before, after):
            assert channel.decode(["teh cta sat"])[0].words == ["the", "cat", "sat"]
        assert after.decode(["a dgo on teh matt"], 5) == before.decode(["a dgo on teh matt"], 5)


def test_a_file_holds_no_function(tmp_path):
    with pytest.raises((TypeError, ValueError), match="channel"):
        fastlin.save(NoisyChannel(MODELS["trigrams"], lambda _: [("the", 0.0)]), tmp_path / "model")


class Answering:
    """A source that has one answer, and one state to begin with."""

    def __init__(self, answer, start=()):
        self.answer, self.first = answer, start

    def start(self):
        return self.first

    def advance(self, state, word):
        return self.answer


class AnsweringMany(Answering):
    def advance_many(self, states, words):
        return [self.answer[0]] * len(words), [self.answer[1]] * len(words)


class Messages:
    def __init__(self, answer):
        self.answer = answer

    def score_samples(self, messages):
        return [self.answer] * len(messages)


@pytest.mark.parametrize(
    "log_prob, message", [(0.5, "at most 0, got 0.5 for 'a'"), (math.inf, "got inf"), (math.nan, "")]
)
def test_logarithms_of_a_source_that_are_none_of_probabilities_are_refused(log_prob, message):
    for source in (Answering((log_prob, ())), AnsweringMany((log_prob, ())), Messages(log_prob)):
        channel = NoisyChannel(source, {"a": {"b": 1.0}})
        for ask in (channel.decode, channel.score_samples):
            with pytest.raises(ValueError, match=f"source must return .*{message}"):
                ask(["b"])


@pytest.mark.parametrize("log_prob", ["x", {}, [0.0, 1.0]])
def test_answers_of_a_source_that_are_no_numbers_are_refused(log_prob):
    for source in (Answering((log_prob, ())), AnsweringMany((log_prob, ())), Messages(log_prob)):
        with pytest.raises((TypeError, ValueError), match="source must return"):
            NoisyChannel(source, {"a": {"b": 1.0}}).decode(["b"])


def test_a_logarithm_of_a_source_may_be_above_0_by_rounding():
    for source in (Answering((1e-7, ())), AnsweringMany((1e-7, ())), Messages(1e-7)):
        assert NoisyChannel(source, {"a": {"b": 1.0}}).decode(["b"]) == [Decoding(["a"], 0.0)]


@pytest.mark.parametrize("kind", [Answering, AnsweringMany])
@pytest.mark.parametrize("states", [{"answer": (-1.0, [0])}, {"answer": (-1.0, ()), "start": [0]}])
def test_states_of_a_source_that_cannot_be_hashed_are_refused(kind, states):
    channel = NoisyChannel(kind(**states), {"a": {"b": 1.0}})
    for ask in (channel.decode, channel.score_samples):
        with pytest.raises(TypeError, match=r"source must have states that can be hashed, .*, got \[0\]"):
            ask(["b"])


@pytest.mark.parametrize("answer", [-1.0, (-1.0,), None])
def test_a_source_that_returns_no_state_is_told_what_is_wanted(answer):
    class Source:
        def start(self):
            return ()

        def advance(self, state, word):
            return answer

    with pytest.raises(TypeError, match=r"must return .ln p, the state after. from `advance`"):
        NoisyChannel(Source(), {"a": {"b": 1.0}}).decode(["b"])
