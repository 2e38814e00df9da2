"""Smoothed n-gram models: ours = the naive twin, every distribution sums to one, one model whatever the way to it."""

import bz2
import copy
import gzip
import io
import itertools
import pickle
import sys
import threading
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.data import Corpus, read
from fastlin.engine.lm import backoff as engine
from fastlin.lm import NgramModel
from fastlin.lm.counts import count_tokens
from fastlin.lm.ngram import NgramState
from fastlin.lm.sentences import SentenceReader
from oracles.language_models import Twin, log_prob
from support.language_models import ALL, CORPUS, SENTENCES, TWINS, arrays, quiet, random_corpus

pytestmark = pytest.mark.filterwarnings("ignore:too few counts")


@given(SENTENCES, st.sampled_from(TWINS), st.integers(1, 5), st.booleans())
@settings(max_examples=150, deadline=None)
def test_ours_is_the_naive_twin(sentences, smoothing, order, interpolate):
    twin = Twin(sentences, order, smoothing, interpolate)
    model = quiet(order, smoothing, sentences, interpolate=interpolate)
    texts = [*sentences[:3], list("abza"), list("gfe"), []]
    wanted = [log_prob(twin, text) for text in texts]
    np.testing.assert_allclose(model.score_samples(texts), wanted, rtol=2e-6, atol=2e-5)


@given(SENTENCES, st.sampled_from(ALL), st.integers(1, 5), st.booleans(), st.lists(st.sampled_from("abcz"), max_size=5),
       st.integers(1, 3))  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_every_distribution_sums_to_one(sentences, smoothing, order, interpolate, context, cutoff):
    model = quiet(order, smoothing, sentences, interpolate=interpolate, cutoff=cutoff, alpha=0.3)
    for words in (context, ["<s>", *context]):
        p = model.next_word(words)
        assert (p > 0).all()
        np.testing.assert_allclose(p.sum(dtype=np.float64), 1, atol=1e-5)


@given(SENTENCES, st.integers(1, 5), st.sampled_from(ALL))
@settings(max_examples=60, deadline=None)
def test_states_are_whole_sentences(sentences, order, smoothing):
    model = quiet(order, smoothing, sentences)
    for text in (*sentences[:4], list("azb")):
        state, total = model.start(), 0.0
        for word in (*text, "</s>"):
            known = word if word in model.words_ else "<unk>"
            p = model.next_word(state)[model.words_.index(known)]
            step, state = model.advance(state, word)
            assert np.exp(step) == pytest.approx(p, rel=1e-4)
            total += step
        assert model.score_samples([text])[0] == pytest.approx(total, abs=1e-12)
        assert hash(state) == hash(copy.copy(state))


@given(SENTENCES, SENTENCES, st.integers(1, 5), st.sampled_from([1, 2]))
@settings(max_examples=60, deadline=None)
def test_partial_fit_is_fit_of_all(a, b, order, min_count):
    whole = quiet(order, a + b, min_count=min_count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        parts = NgramModel(order, min_count=min_count).fit(a).partial_fit(b)
        assert arrays(parts) == arrays(whole)
        empty_first = NgramModel(order, min_count=min_count).partial_fit(a).partial_fit(b)
        assert arrays(empty_first) == arrays(whole)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_threads_and_blocks_make_one_model(order, monkeypatch):
    sentences = random_corpus(0, 500)
    one = arrays(quiet(order, sentences))
    assert arrays(quiet(order, sentences, n_jobs=3)) == one
    monkeypatch.setattr("fastlin.lm.ngram.BLOCK", 100)
    monkeypatch.setattr("fastlin.lm.sentences.BATCH", 7)
    assert arrays(quiet(order, iter(sentences))) == one
    assert arrays(quiet(order, iter(sentences), n_jobs=2)) == one


@pytest.mark.parametrize("memory", [1, "64K", "1 GiB"])
def test_counts_that_wait_on_disk_make_one_model(memory):
    sentences = random_corpus(0, 900)
    one = quiet(4, sentences)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert arrays(NgramModel(4, n_jobs=2).fit(iter(sentences), memory=memory)) == arrays(one)
        again = NgramModel(4).fit(sentences[:100]).partial_fit(sentences[100:], memory=memory)
    assert arrays(again) == arrays(one)


@pytest.mark.parametrize("memory", [0, "much", "-1G", 1.5])
def test_memory_that_is_none(memory):
    with pytest.raises((ValueError, TypeError), match="memory"):
        NgramModel(2).fit(CORPUS, memory=memory)


def test_threads_score_the_same_bits(monkeypatch):
    monkeypatch.setattr("fastlin.lm.backoff_base.BATCH", 64)
    monkeypatch.setattr("fastlin.lm.sentences.BATCH", 64)
    sentences = random_corpus(0, 300)
    model = quiet(3, sentences)
    lines = [" ".join(sentence) for sentence in sentences]
    one = model.score_samples(sentences), model.perplexity(sentences), model.surprisal(lines)
    for threads in (2, 5):
        model.set_params(n_jobs=threads)
        np.testing.assert_array_equal(model.score_samples(sentences), one[0])
        assert model.perplexity(lines) == one[1]
        np.testing.assert_array_equal(model.surprisal(sentences).bits, one[2].bits)
        np.testing.assert_array_equal(model.surprisal(sentences).lengths, one[2].lengths)
        with pytest.raises(ValueError, match="sentence 299"):
            model.score_samples([*lines[:299], "a <s>"])
        assert len(model.score_samples([])) == 0
        assert len(model.score_samples([[]])) == 1


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("smoothing", ["modified_kneser_ney", "relative_frequency"])
def test_tables_change_no_answer(order, smoothing):
    """Tables of all orders, of some, of none; of texts longer than a chunk, with unknown words and empty sentences."""
    model = quiet(order, smoothing, random_corpus(3, 2000))._backoff_model
    texts = [*random_corpus(4, 1500), [], ["unseen", "w1"]]
    tokens = next(SentenceReader().blocks(texts, model.vocabulary.table, False))
    assert len(tokens) > 2 * engine.SCRATCH
    arrays = (model.starts, model.words, model.log_prob, model.backoff)
    found, n_tables = [], []
    for seed, room in [(0, 0), (1, 1 << 30), (2, 1 << 30), *((3, 64 << n) for n in range(4, 18))]:
        queries = engine.BackoffQueries(*arrays, seed, room)
        for _ in range(1 if room == 0 else 30):
            log_prob, lengths = np.empty(len(tokens)), np.empty(len(tokens), np.int32)
            scratch = order + engine.SCRATCH
            queries.score(tokens, log_prob, lengths, np.empty(scratch, np.int32), np.empty(scratch, np.float32))
        found.append((log_prob.tobytes(), lengths.tobytes()))
        n_tables.append(queries.n_tables)
    assert n_tables[:3] == [0, order - 1, order - 1]
    assert len(set(n_tables)) >= min(order, 3)  # of some orders only
    assert len(set(found)) == 1


def test_what_is_made_for_many_questions_changes_no_answer():
    sentences = random_corpus(0, 500)
    model = quiet(4, sentences)
    X = [*sentences[:100], ["zebra", "w1", "zebra"], []]
    alone = [pickle.loads(pickle.dumps(model)).score_samples([sentence])[0] for sentence in X[::5]]
    many = model.score_samples(X)
    np.testing.assert_array_equal(many[::5], alone)
    np.testing.assert_array_equal(model.score_samples(X), many)


def test_strings_are_split_alike_everywhere():
    model = quiet(2, ["a\u00a0b c", ["a\u00a0b", "c"]])
    assert "a\u00a0b" in model.words_
    np.testing.assert_array_equal(model.next_word("c a\u00a0b"), model.next_word(["c", "a\u00a0b"]))


def test_every_source_is_one_corpus(tmp_path):
    sentences = random_corpus(1)
    lines = [" ".join(sentence) for sentence in sentences]
    one = arrays(quiet(3, sentences))
    text = "".join(line + "\n" for line in lines).encode()
    (tmp_path / "plain.txt").write_bytes(text)
    (tmp_path / "dos.txt").write_bytes(text.replace(b"\n", b"\r\n"))
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(text))
    (tmp_path / "x.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "x.tsv").write_bytes(b"".join(b"label\t" + line.encode() + b"\n" for line in lines))
    for source in (
        lines, iter(lines), tmp_path / "plain.txt", str(tmp_path / "dos.txt"), tmp_path / "x.txt.gz",
        tmp_path / "x.bz2", io.BytesIO(text), tmp_path / "x.tsv", read(str(tmp_path / "plain.txt")),
        [tuple(sentence) for sentence in sentences], [np.array(sentence, object) for sentence in sentences],
    ):  # fmt: skip
        assert arrays(quiet(3, source)) == one


def test_characters_and_directions():
    lines = ["abba", "a b", "ｅé", ""]
    of_characters = quiet(3, lines, unit="character")
    assert arrays(of_characters) == arrays(quiet(3, [list(line) for line in lines]))
    assert " " in of_characters.words_
    forward = quiet(3, [line[::-1] for line in lines], unit="character")
    backward = quiet(3, lines, unit="character", direction="backward")
    np.testing.assert_array_equal(forward.score_samples(["bba"]), backward.score_samples(["abb"]))
    np.testing.assert_array_equal(forward.next_word("ab"), backward.next_word("ba"))
    sample = backward.sample(5, context="ba", random_state=0)
    assert all(words[-2:] == ["b", "a"] for words in sample)


def test_whole_sentences_have_their_relative_frequency_in_both_directions():
    sentences = [list("ab"), list("ab"), list("a"), list("ba"), []]
    for direction in ("forward", "backward"):
        model = NgramModel(6, "relative_frequency", direction=direction).fit(sentences)
        found = np.exp(model.score_samples([list("ab"), list("a"), list("ba"), [], list("b")]))
        np.testing.assert_allclose(found, [0.4, 0.2, 0.2, 0.2, 0.0], atol=1e-7)
        with pytest.raises(ValueError, match="no word has a probability"):
            model.sample(1, context=["b", "b"])


def test_perplexity_of_a_uniform_and_of_a_certain_model():
    uniform = NgramModel(1, "lidstone", alpha=1e12).fit([list("abc")])
    assert uniform.perplexity([list("abcab")]) == pytest.approx(len(uniform.words_))
    certain = NgramModel(3, "relative_frequency").fit([list("abc")])
    assert certain.perplexity([list("abc")]) == 1
    assert certain.entropy([list("abc")]) == 0


def test_four_perplexities():
    model = quiet(2, CORPUS)
    X = [["the", "zebra", "sat"], ["ran"]]
    bits, lengths = model.surprisal(X)
    assert lengths.tolist() == [4, 2]
    ends, oov = [3, 5], 1
    every = np.arange(6)
    for end in (True, False):
        for unknown in (True, False):
            kept = [i for i in every if (end or i not in ends) and (unknown or i != oov)]
            wanted = 2 ** bits[kept].mean()
            assert model.perplexity(X, end=end, oov=unknown) == pytest.approx(wanted)
    assert model.entropy(X) == pytest.approx(bits.mean())
    characters = sum(len(word) + 1 for sentence in X for word in sentence) + 2
    assert model.entropy(X, per="character") == pytest.approx(bits.sum() / characters)
    assert model.score(X) == pytest.approx(-bits.mean() * np.log(2))


def test_cross_entropy_is_entropy_and_divergence():
    """Over every word that may follow a context, weighted by p."""
    p, q = quiet(3, "witten_bell", CORPUS), quiet(2, "kneser_ney", CORPUS[::-1])
    X = [["the", "cat"], ["zebra"], []]
    entropy = cross = 0.0
    for sentence in X:
        for n in range(len(sentence) + 1):
            ours = p.next_word(["<s>", *sentence[:n]]).astype(float)
            words = dict(zip(q.words_, q.next_word(["<s>", *sentence[:n]]), strict=True))
            theirs = np.array([words[word] for word in p.words_], float)
            entropy -= (ours * np.log(ours)).sum() / 6
            cross -= (ours * np.log(theirs)).sum() / 6
    assert p.kl_divergence(q, X) == pytest.approx(cross - entropy, rel=1e-4)
    assert p.kl_divergence(p, X) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="other words"):
        p.kl_divergence(quiet(2, [["x"]]), X)


def test_samples_have_their_probabilities():
    model = quiet(2, CORPUS)
    drawn = model.sample(4000, context=["the"], random_state=0)
    p = model.next_word(["<s>", "the"])
    index = {word: number for number, word in enumerate(model.words_)}
    observed = np.zeros(len(p))
    for words in drawn:
        observed[index[words[1] if len(words) > 1 else "</s>"]] += 1
    expected = 4000 * p
    assert ((observed - expected) ** 2 / expected).sum() < 40  # χ², 12 degrees of freedom
    assert drawn == model.sample(4000, context=["the"], random_state=0)
    cold = model.sample(20, random_state=0, temperature=1e-3)
    assert len({tuple(words) for words in cold}) == 1


def test_vocabularies():
    rare = quiet(2, CORPUS, min_count=2)
    assert set(rare.words_) == {"</s>", "<unk>", "the", "cat", "dog", "sat", "on", "mat", "a", "ran"}
    assert "cat" not in quiet(2, CORPUS, min_count=3).words_
    given = quiet(2, CORPUS, vocabulary=["zebra", "the"])
    assert given.words_ == ["</s>", "<unk>", "zebra", "the"]
    same = quiet(2, [[w if w == "the" else "<unk>" for w in s] for s in CORPUS], vocabulary=["zebra", "the"],
                 markup="keep")  # fmt: skip
    assert arrays(given) == arrays(same)
    closed = quiet(2, CORPUS, unk=None)
    assert closed.score_samples([["zebra"]])[0] == -np.inf
    np.testing.assert_allclose(closed.next_word(["the"]).sum(dtype=float), 1, atol=1e-6)
    with pytest.raises(ValueError, match="closed"):
        quiet(2, CORPUS, vocabulary=["the"], unk=None)


def test_discounts_never_fail():
    with pytest.warns(UserWarning, match="too few counts") as found:
        model = NgramModel(5).fit([["a"]])
    (warning,) = found  # one for all orders, where the user called
    assert warning.filename == __file__
    assert str(warning.message).endswith("the discounts of orders 1 to 5 (0.5, 1, 1.5 are used)")
    assert model.discounts_[2].tolist() == [0.5, 1.0, 1.5] or len(set(model.discounts_[2])) == 1
    big = NgramModel(3, "kneser_ney").fit(random_corpus(3))
    assert all(0 < found[0] < 1 for found in big.discounts_)


@pytest.mark.parametrize("order", [0, -1, 65, 2**61, 2**70, 1.5, "3", None, True])
def test_orders_that_are_none(order):
    with pytest.raises((ValueError, TypeError), match="order"):
        NgramModel(order).fit(CORPUS)


def test_an_order_of_fifty():
    assert np.isfinite(quiet(50, CORPUS).score_samples(CORPUS)).all()


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ([], "no sentence"),
        (["a <s> b"], "sentence 0: a word is one of the marks"),
        ([["a"], ["b", "</s>"]], "sentence 1: a word is one of the marks"),
        ([["<unk>"]], "sentence 0"),
        (io.BytesIO(b"a\nb\n\nx </s>\n"), "4: a word is one of the marks"),
        (io.BytesIO(b"a\nb\n\xff\n"), "3: the text is not in UTF-8"),
    ],
)
def test_corpora_that_are_none(X, match):
    with pytest.raises(ValueError, match=match):
        NgramModel(2).fit(X)


@pytest.mark.parametrize("X", [None, 3, b"abc", {"a": 1}, [1, 2], [["a", 1]], [b"a"]])
def test_what_is_no_corpus(X):
    with pytest.raises(TypeError):
        NgramModel(2).fit(X)


def test_unusual_words():
    long = "x" * 10_000_000
    sentences = [["a\0b", "c\nd", "e f"], [long, ""], ["\ud800"], []]
    model = quiet(2, sentences)
    assert np.isfinite(model.score_samples(sentences)).all()
    assert {"a\0b", "c\nd", "e f", long, "", "\ud800"} <= set(model.words_)
    lines = quiet(2, ["a\0b c\nd", "e\rf"])
    assert {"a\0b", "c", "d", "e", "f"} <= set(lines.words_)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"smoothing": "kneser"}, "smoothing"),
        ({"discount": 1.0}, "discount"),
        ({"alpha": 0}, "alpha"),
        ({"min_count": 0}, "min_count"),
        ({"cutoff": [2, 1]}, "cutoff must not fall"),
        ({"cutoff": 0}, "cutoff"),
        ({"unit": "words"}, "unit"),
        ({"direction": "up"}, "direction"),
        ({"markup": 1}, "markup"),
        ({"unk": "<s>"}, "unk"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"base_measure": {"zebra": 1.0}}, "zebra"),
        ({"base_measure": {"a": -1.0}}, "base_measure"),
    ],
)
def test_parameters_that_are_none(options, match):
    with pytest.raises(ValueError, match=match):
        NgramModel(2, **options).fit(CORPUS)


def test_base_measures_that_are_none_and_those_of_large_numbers():
    for wrong in ([1.0, 2.0], "the", 3, {"the": "much"}):
        with pytest.raises(TypeError, match="base_measure must be a"):
            NgramModel(2, "dirichlet", base_measure=wrong).fit(CORPUS)
    with pytest.raises(ValueError, match="base_measure must be"):
        NgramModel(2, "dirichlet", base_measure={"the": np.inf}).fit(CORPUS)
    small, large = (NgramModel(2, "dirichlet", base_measure={"the": x, "cat": x}).fit(CORPUS) for x in (1.0, 1e308))
    np.testing.assert_array_equal(small.next_word(), large.next_word())
    assert small.next_word().sum() == pytest.approx(1.0)


def test_copies_are_whole():
    model = quiet(3, CORPUS)
    again = pickle.loads(pickle.dumps(model))
    assert arrays(again) == arrays(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert again.partial_fit(CORPUS).n_grams_ == model.n_grams_
    assert isinstance(model._learnt, NgramState)


def test_readers_beside_learners_see_one_model():
    """Every answer is that of a model that there was, and what is learnt is what is learnt alone."""
    parts = [random_corpus(seed, 40) for seed in range(12)]
    X = parts[0][:5]
    alone = quiet(3, "witten_bell", parts[0])
    answers = {alone.score_samples(X).tobytes()}
    for part in parts[1:]:
        answers.add(alone.partial_fit(part).score_samples(X).tobytes())
    model, found, done = quiet(3, "witten_bell", parts[0]), [], threading.Event()

    def ask():
        while not done.is_set():
            found.append(model.score_samples(X).tobytes())
            assert model.next_word("<s>").sum() == pytest.approx(1, abs=1e-4)  # a state would be of one moment

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        readers = [threading.Thread(target=ask) for _ in range(2)]
        for reader in readers:
            reader.start()
        for part in parts[1:]:
            model.partial_fit(part)
            copy.deepcopy(model).score_samples(X)
        done.set()
        for reader in readers:
            reader.join()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    assert set(found) <= answers
    assert arrays(model) == arrays(alone)


def test_a_corpus_of_rows_is_no_text():
    corpus = Corpus(np.eye(3), [0, 1, 2])
    with pytest.raises(TypeError, match="got Corpus"):
        NgramModel(2).fit(corpus)


@pytest.mark.parametrize("smoothing", ["modified_kneser_ney", "katz", "witten_bell", "relative_frequency"])
@pytest.mark.parametrize("as_strings", [True, False])
def test_threads_learn_the_same_bits(smoothing, as_strings, monkeypatch):
    """Words are numbered, pairs put and orders smoothed in jobs, as many as one likes."""
    monkeypatch.setattr("fastlin.lm.smoothing.NGRAMS_OF_A_JOB", 50)
    monkeypatch.setattr("fastlin.lm.sentences.BATCH", 64)
    sentences = random_corpus(5, 300)
    X = [" ".join(sentence) for sentence in sentences] if as_strings else sentences
    options = {"cutoff": [1, 2], "min_count": 2}
    wanted = quiet(4, smoothing, X, n_jobs=1), quiet(4, smoothing, X, n_jobs=1, **options)
    for threads in (2, 3, 7):
        found = quiet(4, smoothing, X, n_jobs=threads), quiet(4, smoothing, X, n_jobs=threads, **options)
        for model, one in zip(found, wanted, strict=True):
            assert arrays(model) == arrays(one)
            assert [each.tolist() for each in model.discounts_] == [each.tolist() for each in one.discounts_]
            assert [each.tobytes() for each in model.counts_.counts] == [each.tobytes() for each in one.counts_.counts]
    with pytest.raises(ValueError, match="sentence 299: "):
        quiet(4, smoothing, [*X[:299], "a <s>"], n_jobs=2)


@pytest.mark.parametrize("n_words", [3, 30, 300, 70_000])
def test_counts_of_histories_with_few_and_many_words(n_words):
    """Sorted by insertion, and by one, two or three digits of the words."""
    rng = np.random.default_rng(n_words)
    body = rng.integers(3, n_words + 3, size=(40, 50))
    body[:, ::2] = 3  # a history of a thousand words
    tokens = np.column_stack([np.zeros(40), body, np.ones(40)]).astype(np.int32).ravel()
    found = count_tokens(tokens, 2, n_words + 3)
    pairs = Counter(pair for pair in itertools.pairwise(tokens.tolist()) if pair[1] != 0)
    assert found.words[1].tolist() == [word for _, word in sorted(pairs)]
    assert found.histories(1).tolist() == [history for history, _ in sorted(pairs)]
    assert found.counts[1].tolist() == [pairs[pair] for pair in sorted(pairs)]
    assert found.suffix[1].tolist() == found.words[1].tolist()
