"""The spelling corrector: what it leaves alone, what it finds, and the best of all sentences in a context."""

import itertools
import math
import pickle
import time
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastlin
from fastlin.channel import SpellingCorrector
from fastlin.channel.dictionary import dictionary_model
from fastlin.channel.spelling_lattice import FLOOR
from fastlin.channel.text_words import TOKENS, folded, is_word
from fastlin.lm import Cache, Interpolation, MaxentLM, NgramModel
from oracles import spelling

TEXT = [
    "I drink a cup of coffee with a friend", "a piece of cake and a cup of tea", "we want peace on earth",
    "a piece of bread", "the cup of tea is on the table", "Don't we want a piece of the cake?",
]  # fmt: skip
WORDS = ["cup", "cap", "cake", "care", "a", "o'clock", "straße", "tea"]
PUNCTUATED = st.text("acp'’ \n\r\t.,!-_0é\x00\u2028\U0001f600İ", max_size=30)


def corrector(order=2, **options):
    return SpellingCorrector(order, **{"min_count": 1, "smoothing": "witten_bell", **options})


@pytest.fixture(scope="module")
def fitted():
    return corrector(3, error_rate=0.5, edit_probability=0.1, real_word_edits=2).fit(TEXT * 2)


# --- texts -----------------------------------------------------------------------------------------------------------


def test_words_are_corrected_by_their_context(fitted):
    assert fitted.correct("a piece of caek") == "a piece of cake"
    assert fitted.correct("a peace of cake") == "a piece of cake"
    assert fitted.correct("we want piece on earth") == "we want peace on earth"


def test_capitals_and_apostrophes_stay_where_they_were(fitted):
    assert fitted.correct("Caek CAEK caek") == "Cake CAKE cake"
    assert fitted.correct("Dont we? Do’nt we? DONT WE?") == "Don't we? Don’t we? DON'T WE?"


def test_what_is_no_word_stays_as_it_was(fitted):
    text = "caek@home.org http://caek.org/caek www.caek.org c4ek cAek 3.14 caek_1 <caek>"
    assert fitted.correct(text) == text.replace("<caek>", "<cake>")


@given(st.data(), PUNCTUATED)
def test_every_byte_that_is_no_misspelt_word_stays(data, text):
    """Between the words of a text and of its correction stands the same, and there are as many words."""
    model = corrector(1, source=WORDS, error_rate=data.draw(st.sampled_from([0.01, 0.9]))).fit()
    found = model.correct(text)
    apart, others = (TOKENS.split(one) for one in (text, found))
    assert apart == others
    for old, new in zip(TOKENS.findall(text), TOKENS.findall(found), strict=True):
        assert new == old or folded(new) in WORDS
    assert model.predict([text, "", text]) == [found, "", found]


@given(PUNCTUATED)
def test_a_text_of_known_words_stays_where_real_words_are_trusted(text):
    assume(all(folded(token) in WORDS for token in TOKENS.findall(text) if is_word(folded(token))))
    model = corrector(1, source=WORDS, real_word_edits=0).fit()
    assert model.correct(text) == text


def test_long_lines_words_and_none_at_all(fitted):
    assert fitted.correct("") == ""
    assert fitted.correct("\n\n") == "\n\n"
    line = "caek " * 10_000
    assert fitted.correct(line) == "cake " * 10_000
    long = "ab" * 50_000
    assert fitted.correct(f"{long} caek") == f"{long} cake"
    assert fitted.correct_word(long) == long
    assert fitted.correct_word("") == ""


@pytest.mark.timing
@pytest.mark.parametrize("signs", ["://", "qqqqq.qqqqq-", "a'", "a@", "@", "qqqqq."])
def test_a_line_without_a_blank_is_read_once(fitted, signs):
    """From each sign to the end of the line it would be minutes."""
    before = time.process_time()
    assert fitted.correct(signs * 50_000) == signs * 50_000
    assert time.process_time() - before < 20


def test_threads_correct_alike(fitted):
    texts = [" ".join(TEXT).replace("e", "ee", i % 5) + "\n" for i in range(600)]
    found = fitted.predict(texts)
    threads = pickle.loads(pickle.dumps(fitted)).set_params(n_jobs=2)
    assert threads.predict(texts) == found
    assert [fitted.correct(text) for text in texts[:10]] == found[:10]


# --- the search ------------------------------------------------------------------------------------------------------


def score_of(model, tokens, sentence):
    """ln p of a sentence of words, or −1 where a token stays, and of what was written for it, one by one."""
    source, total = model.source_, 0.0
    state = source.start()
    for token, word in zip(tokens, sentence, strict=True):
        gain, state = source.advance(state, word)
        total += model.source_weight * max(gain, FLOOR) + channel_of(model, token, word)
    return total + model.source_weight * max(source.advance(state, "</s>")[0], FLOOR)


def channel_of(model, token, word):
    if token == word:
        return math.log1p(-model.error_rate)
    return math.log(model.error_rate) + spelling.edit_distance(token, word) * math.log(model.edit_probability)


SENTENCES = ["cup cap cake", "a cup", "care cap cup"]
SOURCES = {
    "n-grams": lambda: NgramModel(2, "witten_bell").fit(SENTENCES),
    "backward": lambda: NgramModel(3, "witten_bell", direction="backward").fit(SENTENCES),
    "unigrams": lambda: NgramModel(1, "witten_bell").fit(["cup cup cap cake care a"]),
    "a dictionary": lambda: {"cup": 3, "cap": 1, "cake": 2, "care": 1, "a": 5},
    "a mixture": lambda: Interpolation([NgramModel(2, "witten_bell").fit(SENTENCES), Cache(5)], [0.8, 0.2]),
}


@settings(max_examples=15)
@pytest.mark.parametrize("kind", sorted(SOURCES))
@given(st.lists(st.sampled_from(["cup", "cap", "cake", "care", "a"]), min_size=1, max_size=4), st.floats(0.05, 0.95))
def test_the_correction_is_the_best_of_all_sentences(kind, tokens, error_rate):
    model = SpellingCorrector(source=SOURCES[kind](), error_rate=error_rate, beam=200, edit_probability=0.1).fit()
    vocabulary = [word for word in model.words_ if is_word(word)]
    limit = model.real_word_edits
    near = [[w for w in vocabulary if spelling.edit_distance(w, token) <= limit] for token in tokens]
    if kind == "backward":
        tokens, near = tokens[::-1], near[::-1]
    best = max(score_of(model, tokens, sentence) for sentence in itertools.product(*near))
    found = model.correct(" ".join(tokens[::-1] if kind == "backward" else tokens)).split()
    found = found[::-1] if kind == "backward" else found
    assert score_of(model, tokens, found) == pytest.approx(best, abs=1e-4)


def test_a_back_off_model_and_a_model_that_is_asked_word_by_word_correct_alike():
    """The kernel, and the search that any source can be asked by."""
    lm = NgramModel(3, "witten_bell").fit([text.lower() for text in TEXT])
    kernel = SpellingCorrector(source=lm).fit()
    other = SpellingCorrector(source=Interpolation([lm], [1.0])).fit()
    texts = [text.replace(old, new) for text in TEXT for old, new in (("a", "e"), ("ea", "ae"), ("t", ""))]
    assert kernel.predict(texts) == other.predict(texts)
    assert kernel.predict(texts) != texts


# --- words -----------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.text("acpu", min_size=1, max_size=5), st.integers(0, 3))
def test_suggestions_are_the_words_within_so_many_edits_by_p(word, max_edits):
    counts = {"cup": 8, "cap": 3, "a": 9, "caup": 1, "puac": 2, "ap": 1}
    model = SpellingCorrector(source=counts, max_edits=max_edits, real_word_edits=max_edits, n_candidates=20).fit()
    found = dict(model.suggest(word, 20))
    near = [w for w in counts if spelling.edit_distance(w, word) <= max_edits]
    assert set(found) == {*near, word}
    total = sum(counts.values()) + 1
    for other in near:
        expected = math.log(counts[other] / (total + 1)) + channel_of(model, word, other)
        assert found[other] == pytest.approx(expected, abs=1e-5)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert model.correct_word(word) == next(iter(found))


def test_a_word_itself_is_always_a_candidate(fitted):
    for word in ("cake", "caek", "c4ek", "zzzzzz", "’"):
        assert word in dict(fitted.suggest(word, 20))
    crowded = corrector(1, source=["aa", *(f"a{c}" for c in "bcdefgh")], n_candidates=1, error_rate=0.99).fit()
    assert "aa" in dict(crowded.suggest("aa", 9))


def test_suggestions_of_many_words_are_those_of_each(fitted):
    words = ["caek", "Cup", "piecce", "", "c4", "caek"]
    assert fitted.correct_words(words) == [fitted.correct_word(word) for word in words]
    assert fitted.correct_words([]) == []


def test_pairs_make_what_is_often_written_for_a_word_likely():
    source = {"their": 10, "there": 10, "thief": 10}
    plain = SpellingCorrector(source=source).fit()
    taught = SpellingCorrector(source=source).fit(pairs=[("receive", "recieve", 5), ("their", "thier")])
    assert taught.n_rules_ > 0 == plain.n_rules_
    ratios = [
        dict(model.suggest("thier"))["their"] - dict(model.suggest("thier"))["thief"] for model in (plain, taught)
    ]
    assert ratios[1] > ratios[0] + 1


# --- what it learns from ---------------------------------------------------------------------------------------------


def test_lists_files_and_streams_are_one_text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXT) + "\n")
    (tmp_path / "text.tsv").write_text("".join(f"0\t{text}\n" for text in TEXT))
    models = [corrector().fit(X) for X in (TEXT, iter(TEXT), str(path), path, fastlin.data.read(path, "lines"))]
    models += [corrector().fit(["\n".join(TEXT)]), corrector().fit(tmp_path / "text.tsv")]
    with open(path, "rb") as stream:
        models.append(corrector().fit(stream))
    assert len({tuple(model.suggest("caek", 9)) for model in models}) == 1
    assert len({tuple(model.words_) for model in models}) == 1


def test_rare_words_are_not_in_the_dictionary():
    assert "earth" not in corrector(min_count=2).fit(TEXT).words_
    assert "earth" in corrector(min_count=1).fit(TEXT).words_


def test_a_dictionary_that_min_count_leaves_empty_is_warned_of():
    with pytest.warns(UserWarning, match="min_count=3 leaves out all 4 words of X: the dictionary is empty"):
        model = corrector(min_count=3).fit(["a cup of tea", "a cup, 12"])
    assert model.words_ == []
    assert model.correct("a cpu of tae") == "a cpu of tae"
    assert corrector(min_count=3).fit(["a cup of tea", "a cup", "a"]).words_ == ["a"]
    with pytest.warns(UserWarning, match="source holds no words: the dictionary is empty"):
        corrector(min_count=3, source=["12"]).fit()


def test_an_arpa_file_is_a_source(tmp_path):
    NgramModel(3, "witten_bell").fit([text.lower() for text in TEXT]).to_arpa(tmp_path / "lm.arpa")
    model = SpellingCorrector(source=NgramModel.from_arpa(tmp_path / "lm.arpa")).fit()
    assert model.correct("A piece of caek") == "A piece of cake"


def test_a_maximum_entropy_model_is_a_source():
    lm = MaxentLM(order=2).fit([text.lower() for text in TEXT])
    assert SpellingCorrector(source=lm, error_rate=0.5).fit().correct("a cup of coffe") == "a cup of coffee"


def test_words_with_capitals_in_the_model_are_found_by_what_is_written_without():
    model = SpellingCorrector(source={"London": 5, "lemon": 5}).fit()
    assert model.correct("Lodnon LONODN london") == "London LONDON london"


def test_unigrams_are_relative_frequencies_and_not_kneser_ney_s():
    """A word that stands in one context only is as frequent as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of counts too few for discounts
        model = SpellingCorrector(2, min_count=1).fit(["san francisco"] * 50 + ["a francisca", "the francisca"])
    assert model.suggest("francisc", 1)[0][0] == "francisco"


def test_a_text_without_words_leaves_every_text_alone():
    with pytest.warns(UserWarning, match="X holds no words: the dictionary is empty"):
        model = corrector().fit(["1 2 3 !"])
    assert model.correct("caek 1 2") == "caek 1 2"
    assert model.suggest("caek")[0][0] == "caek"


@pytest.mark.parametrize("source", [None, {"cup": 2, "cap": 1}])
def test_a_model_file_holds_all_of_it(source, tmp_path):
    model = corrector(source=source).fit(None if source else TEXT, pairs=[("cup", "kup")])
    fastlin.save(model, tmp_path / "model")
    other = fastlin.load(tmp_path / "model")
    assert other.suggest("cpu", 9) == model.suggest("cpu", 9)
    assert other.words_ == model.words_
    assert other.n_rules_ == model.n_rules_


# --- what it refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (None, {}, "X must be a text"),
        (TEXT, {"source": WORDS}, "X must be None"),
        ("no such file here", {}, "no such file"),
        ([1], {}, r"X\[0\] must be a string"),
        (b"abc", {}, "X must be a list of texts"),
        (None, {"source": "words"}, "source must be"),
        (None, {"source": {"a": -1}}, "counts above 0"),
        (None, {"source": {}}, "source must hold words, got {}"),
        (None, {"source": []}, r"source must hold words, got \[\]"),
        (None, {"source": ["<s>"]}, "mark of sentences"),
        (None, {"source": [1]}, "source must hold words"),
        (None, {"source": NgramModel(unit="character", smoothing="witten_bell").fit(TEXT)}, "model of words"),
        (TEXT, {"max_edits": 4}, "max_edits"),
        (TEXT, {"error_rate": 1.0}, "error_rate"),
        (TEXT, {"beam": 0}, "beam"),
        (TEXT, {"n_candidates": 10_000}, "n_candidates"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, options, message):
    with pytest.raises((ValueError, TypeError, OSError), match=message):
        corrector(**options).fit(X)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("abc", "pairs must be a list"),
        ([("a",)], r"pairs\[0\] must be"),
        ([("a", "b"), ("a", 1)], r"pairs\[1\] must be"),
        ([("a", "b", -1)], "seen some times"),
        ([("a", "b", math.nan)], "seen some times"),
    ],
)
def test_what_are_no_pairs_is_refused(pairs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        corrector().fit(TEXT, pairs=pairs)


def test_what_is_no_text_is_refused(fitted):
    for ask, wrong in itertools.product((fitted.correct, fitted.predict, fitted.correct_word), (None, 3, b"a", [1])):
        with pytest.raises(TypeError, match="must be"):
            ask(wrong)
    with pytest.raises(TypeError, match="list of words"):
        fitted.correct_words("word")
    with pytest.raises(ValueError, match="n must be"):
        fitted.suggest("word", 0)


def test_several_words_are_no_word(fitted):
    for ask in (fitted.correct_word, fitted.suggest, lambda words: fitted.correct_words(["caek", words])):
        for several in ("caek peice", "a\tb", "a\u2028b"):
            with pytest.raises(ValueError, match=r"word must be one word, got .*; `correct` takes texts of several"):
                ask(several)


def test_a_dictionary_is_a_model_of_unigrams():
    model = dictionary_model({"a": 3, "b": 1})
    assert np.exp(model.score_samples(["a"]))[0] == pytest.approx(3 / 6 / 6)
    assert model.next_word().sum() == pytest.approx(1)


@pytest.mark.parametrize("count", [10**400, 1e308, float("nan"), None, "3", 1j])
def test_counts_of_a_dictionary_that_cannot_be_added_up_are_refused(count):
    with pytest.raises(ValueError, match="counts above 0"):
        dictionary_model({"cake": count, "tea": 1})


def test_counts_of_a_dictionary_may_be_whole_numbers_of_any_size():
    large, small = dictionary_model({"cake": 2**70, "tea": 2**69}), dictionary_model({"cake": 2.0**70, "tea": 2.0**69})
    assert large.score_samples(["cake tea"]) == small.score_samples(["cake tea"])
    assert SpellingCorrector(source={"cake": 2**70, "tea": 1}).fit().correct("caek") == "cake"
