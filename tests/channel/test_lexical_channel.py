"""IBM's Models 1 and 2, against sums over all alignments and EM written out."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.channel import LexicalChannel, NoisyChannel
from fastlin.channel.lexical_em import LexicalEM
from fastlin.channel.sentence_pairs import SentencePairs
from fastlin.channel.word_alignment import DiagonalAlignment, Shapes
from fastlin.lm import NgramModel
from fastlin.runtime.parallel import WorkerPool
from oracles import lexical_channel as twin
from support import resuming

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOURCES, OBSERVED = "abcd", "uvwxy"
PAIRS = st.lists(
    st.tuples(st.text(SOURCES, max_size=4).map(list), st.text(OBSERVED, max_size=4).map(list)), min_size=1, max_size=9
)
ALPHAS = st.sampled_from([0.0, 0.01, 1.0])
ALIGNMENTS = {"uniform": {}, "table": {"model": 2}, "diagonal": {"model": 2, "alignment": "diagonal"}}
TEXT = [
    ("the house", "la casa"), ("the book", "el libro"), ("a book", "un libro"), ("the green house", "la casa verde"),
    ("a green book", "un libro verde"), ("the house is green", "la casa es verde"), ("", ""),
] * 2  # fmt: skip


def usable(pairs, null):
    """The pairs that a channel learns from."""
    return [(e, f) for e, f in pairs if null or e or not f]


def fitted(pairs, **options):
    return LexicalChannel(**{"max_iter": 5, "tol": 0.0, **options}).fit(pairs)


def functions(model, a=None):
    """t(f | e) and a(i, j, n, m) of a fitted channel."""
    table_of = functools.cache(model._learnt.alignment.table)

    def position(i, j, n, m):
        table = table_of(n, m)
        return float(table[i, j if table.shape[1] > 1 else 0])

    return functools.cache(lambda f, e: model.word_proba(e, f)), position


# --- EM --------------------------------------------------------------------------------------------------------------


@given(PAIRS, ALPHAS, st.booleans(), st.sampled_from(["uniform", "table"]))
def test_iterations_are_those_of_em_written_out(pairs, alpha, null, alignment):
    pairs = usable(pairs, null)
    if not any(f for _, f in pairs):
        return
    reference = twin.TwinEM(pairs, null, alpha)
    start_iter = 2
    for _ in range(start_iter if alignment == "table" else 0):
        reference.iterate()
    if alignment == "table":
        reference.begin_model_2()
    model = fitted(pairs, alpha=alpha, null=null, start_iter=start_iter, max_iter=3, **ALIGNMENTS[alignment])
    for bound in model.bound_:
        assert bound == pytest.approx(reference.bound(), rel=1e-9, abs=1e-9)
        reference.iterate()
    again = twin.TwinEM(pairs, null, alpha)
    for iteration in range(model.n_iter_ + (start_iter if alignment == "table" else 0)):
        if alignment == "table" and iteration == start_iter:
            again.begin_model_2()
        again.iterate()
    for e, f in itertools.product(again.t, again.words):
        assert model.word_proba(e, f) == pytest.approx(again.t[e][f], rel=1e-8, abs=1e-12)
    if again.a:
        for (n, m), table in again.a.items():
            if m:
                np.testing.assert_allclose(model._learnt.alignment.table(n, m).T, table, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
@given(PAIRS, ALPHAS, st.booleans())
def test_the_bound_never_falls_and_probabilities_sum_to_one(options, pairs, alpha, null):
    pairs = usable(pairs, null)
    if not any(f for _, f in pairs):
        return
    model = fitted(pairs, alpha=alpha, null=null, max_iter=12, **options)
    assert (np.diff(model.bound_) >= 0).all()
    words = [*model.observed_words_, "never seen"]
    for e in [*model.source_words_, "never seen", *([None] if null else [])]:
        assert math.fsum(model.word_proba(e, f) for f in words) == pytest.approx(1, abs=1e-9)
    for n, m in itertools.product(range(1, 5), range(1, 5)):
        np.testing.assert_allclose(model._learnt.alignment.table(n, m).sum(axis=0), 1, atol=1e-9)


@given(PAIRS, st.integers(0, 100))
def test_the_likelihood_of_model_1_is_the_same_from_any_start(pairs, seed):
    pairs = [(e, f) for e, f in pairs if e and f] or [(["a"], ["u"])]
    found = []
    for random in (False, True):
        em = steps_of_em(pairs, alpha=0.5)
        if random:
            t = np.random.default_rng(seed).uniform(0.01, 1, len(em.counts().table.t))
            em.set_words(t / len(t), em.counts().table.rest)
        for _ in range(400):
            bound = em.expect()
            em.maximise()
        found.append(bound)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def steps_of_em(pairs, alpha=0.0, alignment="uniform"):
    """EM on pairs of letters."""
    numbers = {letter: 3 + place for place, letter in enumerate(SOURCES + OBSERVED)}
    sides = []
    for side in zip(*pairs, strict=True):
        words = np.array([numbers[word] for sentence in side for word in sentence], np.int32)
        sides += [words, np.concatenate([[0], np.cumsum([len(sentence) for sentence in side])])]
    with WorkerPool(1) as workers:
        return LexicalEM(SentencePairs(*sides), 20, 20, alpha, alignment, False, workers)


def test_model_2_begins_with_the_likelihood_of_model_1():
    one = fitted(TEXT, max_iter=7)
    two = fitted(TEXT, model=2, start_iter=7, max_iter=3)
    assert two.bound_[0] == pytest.approx(one.bound_[-1], rel=1e-12)
    assert two.bound_[-1] > two.bound_[0]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=5), st.booleans(), st.integers(0, 99)
)
def test_the_diagonal_is_the_best_of_all(lengths, null, seed):
    shapes, _ = Shapes.of(*np.array([(n + null, m) for n, m in lengths]).T, null)
    expected = np.random.default_rng(seed).gamma(0.3, size=shapes.size)

    def objective(alignment):
        a = alignment.tables(shapes)
        return float((expected[expected > 0] * np.log(np.maximum(a[expected > 0], 1e-300))).sum())

    best = DiagonalAlignment(null).improved(shapes, expected)
    for tension, p_null in itertools.product(np.geomspace(0.001, 900, 25), np.linspace(0.01, 0.99, 9)):
        assert objective(best) >= objective(DiagonalAlignment(null, tension, p_null)) - 1e-6
    for near in (0.99, 1.01):
        other = DiagonalAlignment(null, min(best.tension * near, 1000.0), best.p_null)
        assert objective(best) >= objective(other) - 1e-9


@pytest.mark.parametrize("null", [True, False])
def test_the_steepest_diagonal_has_a_word_for_each_position(null):
    for n, m in itertools.product(range(1, 5), range(1, 30)):
        table = DiagonalAlignment(null, 1000.0, 0.1 if null else 0.0).table(n + null, m)
        np.testing.assert_allclose(table[null:].sum(axis=0), 0.9 if null else 1.0)


def test_a_diagonal_is_found():
    pairs = [
        ([f"w{i}" for i in words], [f"v{i}" for i in words])
        for words in np.random.default_rng(0).integers(0, 9, (60, 6))
    ]
    model = fitted(pairs, model=2, alignment="diagonal", max_iter=30)
    assert model._learnt.alignment.tension > 5
    assert all(links == [(i, i) for i in range(6)] for links in model.predict(pairs))


# --- sums over alignments --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
@given(PAIRS, ALPHAS, st.booleans(), PAIRS)
def test_probabilities_are_sums_over_all_alignments(options, pairs, alpha, null, others):
    pairs = usable(pairs, null)
    if not any(f for _, f in pairs):
        return
    model = fitted(pairs, alpha=alpha, null=null, **options)
    t, a = functions(model)
    others = [*pairs, *others, (["unknown", "a"], ["u", "unknown"])]
    log_proba, marginals, links = model.log_proba(others), model.predict_marginals(others), model.predict(others)
    words = 0.0
    for (e, f), log_p, posterior, linked in zip(others, log_proba, marginals, links, strict=True):
        source, m = twin.positions(e, null), len(f)
        p, mean = twin.proba(source, f, t, a), model.length_ratio_ * len(source)
        of_length = mean**m * math.exp(-mean) / math.factorial(m)
        assert math.exp(log_p) == pytest.approx(p * of_length, rel=1e-9, abs=1e-300)
        words += math.log(p) if p else -math.inf
        if p:
            np.testing.assert_allclose(
                posterior, np.reshape(twin.posteriors(source, f, t, a), posterior.shape), atol=1e-9
            )
            places = {j: i for i, j in linked}
            alignment = [places[j] + null if j in places else 0 for j in range(m)]
            assert null or len(places) == m
            assert twin.joint(source, f, alignment, t, a) == pytest.approx(twin.best(source, f, t, a), rel=1e-9)
    n = sum(len(f) for _, f in others)
    assert model.score(others) == pytest.approx(words / n, rel=1e-9)
    assert model.perplexity(others) == pytest.approx(math.exp(-words / n), rel=1e-9)


def test_lengths_have_a_distribution():
    model = fitted(TEXT)
    for source in ("", "the", "the green house"):
        n = len(source.split()) + 1
        assert math.fsum(math.exp(model._learnt.log_prob_of_length(n, m)) for m in range(60)) == pytest.approx(1)


# --- words -----------------------------------------------------------------------------------------------------------


def test_translations_are_the_most_probable_words():
    model = LexicalChannel(alpha=0.0).fit(TEXT)
    assert model.translations("book", 1)[0][0] == "libro"
    assert model.translations("green", 1)[0][0] == "verde"
    for word in [*model.source_words_, None]:
        found = model.translations(word, 100)
        assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
        assert all(model.word_proba(word, other) == p for other, p in found)
        assert math.fsum(p for _, p in found) == pytest.approx(1)
    assert model.translations("zebra") == []


def test_candidates_are_the_words_seen_beside_a_word():
    model = LexicalChannel(n_candidates=None).fit(TEXT)
    found = dict(model.candidates("verde"))
    assert set(found) == {"the", "a", "green", "house", "book", "is"}
    assert all(math.exp(log_p) == pytest.approx(model.word_proba(word, "verde")) for word, log_p in found.items())
    assert model.candidates("zebra") == [] == model.candidates("<s>")
    few = dict(LexicalChannel(n_candidates=2).fit(TEXT).candidates("verde"))
    assert few.items() <= found.items()
    assert len(few) == 2
    assert "green" in few


def test_it_is_a_channel_word_by_word():
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in TEXT])
    channel = LexicalChannel().fit(TEXT)
    best = NoisyChannel(source, channel, beam=None).decode(["la casa", "un libro"])
    assert [one.words for one in best] == [["the", "house"], ["a", "book"]]
    for one, observed in zip(best, ["la casa", "un libro"], strict=True):
        p = sum(math.log(channel.word_proba(e, f)) for e, f in zip(one.words, observed.split(), strict=True))
        assert one.log_prob == pytest.approx(p + source.score_samples([one.words])[0])
    fitted_together = NoisyChannel(NgramModel(2, smoothing="witten_bell"), LexicalChannel()).fit(
        [e for e, _ in TEXT], TEXT
    )
    assert fitted_together.decode(["la casa"])[0].words == ["the", "house"]


# --- whole sentences -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
@settings(max_examples=25)
@given(
    PAIRS, st.booleans(), st.text(OBSERVED + "?", max_size=3), st.sampled_from([1.0, 0.3]), st.sampled_from([0.0, 0.1])
)
def test_without_a_beam_decoding_is_the_best_of_all_sources(options, direction, pairs, null, observed, weight, alpha):
    pairs = [*usable(pairs, null), (["a", "b"], ["u", "v"])]
    model = fitted(pairs, alpha=alpha, null=null, **options)
    source = NgramModel(2, smoothing="witten_bell", direction=direction).fit([e for e, _ in pairs])
    every = [words for n in range(4) for words in itertools.product(model.source_words_, repeat=n)]
    scores = weight * source.score_samples(every) + model.log_proba([(words, list(observed)) for words in every])
    order = np.argsort(-scores)
    limits = {"beam": None, "n_candidates": None, "max_length": 3, "source_weight": weight}
    found = model.decode([list(observed)], source, 3, **limits)[0]
    possible = scores[order][scores[order] > -np.inf]
    if not len(possible):
        assert (found[0].words, found[0].log_prob) == (list(observed), -np.inf)
        return
    np.testing.assert_allclose([one.log_prob for one in found], possible[:3], atol=1e-8)
    by_words = dict(zip(every, scores, strict=True))
    assert all(by_words[tuple(one.words)] == pytest.approx(one.log_prob, abs=1e-8) for one in found)
    assert len({tuple(one.words) for one in found}) == len(found)
    assert model.decode([list(observed)], source, **limits)[0].log_prob == pytest.approx(possible[0], abs=1e-8)


NOUNS = {"house": "casa", "table": "mesa", "door": "puerta", "coffee": "café", "book": "libro"}
ADJECTIVES = {"green": "verde", "big": "grande", "black": "negr"}


def phrases():
    """Adjectives before the noun in one language, behind it in the other, where words agree in gender."""
    for (noun, nombre), (adjective, adjetivo) in itertools.product(NOUNS.items(), [*ADJECTIVES.items(), ("", "")]):
        feminine = nombre.endswith("a")
        ending = ("a" if feminine else "o") if adjetivo == "negr" else ""
        for article, artikel in (("the", "la" if feminine else "el"), ("a", "una" if feminine else "un")):
            yield f"{article} {adjective} {noun}", f"{artikel} {nombre} {adjetivo}{ending}"


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_the_language_model_finds_the_order_of_words(options):
    unseen = "a black book"
    pairs = [pair for pair in phrases() if pair[0] != unseen]
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in pairs])
    model = LexicalChannel(**options).fit(pairs)
    found = model.decode(["la casa verde", ["un", "libro", "negro"], "el café", ""], source, beam=8)
    assert [" ".join(one.words) for one in found] == ["the green house", unseen, "the coffee", ""]
    p = source.score_samples([unseen])[0] + model.log_proba([(unseen, "un libro negro")])[0]
    assert found[1].log_prob == pytest.approx(p)


@pytest.mark.parametrize("beam", [None, 3])
@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_sources_looked_at_one_by_one_are_those_looked_at_together(options, beam, monkeypatch):
    pairs = list(phrases())
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in pairs])
    model = LexicalChannel(**options).fit(pairs)
    limits = {"beam": beam, "n_candidates": 2, "max_length": 3}
    together = model.decode(["la mesa negra", "un café"], source, 4, **limits)
    monkeypatch.setattr("fastlin.channel.translation.NUMBERS_TOGETHER", 1)
    assert model.decode(["la mesa negra", "un café"], source, 4, **limits) == together


OF_LIKING = [
    ("I like black coffee", "me gusta el café negro"), ("I like tea a lot", "me gusta mucho el té"),
    ("we like coffee a lot", "nos gusta mucho el café"), ("I like cold tea", "me gusta el té frío"),
    ("the black dog sees me", "el perro negro me ve"), ("the coffee is cold", "el café está frío"),
    ("we drink much tea", "bebemos mucho té"), ("cold coffee pleases me", "me gusta el café frío"),
    ("the tea pleases me much", "me gusta mucho el té"),
]  # fmt: skip


def test_a_fluent_sentence_is_better_than_one_word_by_word():
    observed = "me gusta mucho el café negro"
    source = NgramModel(3, smoothing="witten_bell").fit([e for e, _ in OF_LIKING])
    model = LexicalChannel(alpha=0.01).fit(OF_LIKING)
    good, glosses = "I like black coffee a lot", "the coffee black me pleases much"
    fluency, adequacy = source.score_samples([good, glosses]), model.log_proba([(good, observed), (glosses, observed)])
    assert fluency[0] + adequacy[0] > fluency[1] + adequacy[1]
    found = model.decode([observed], source, beam=100, n_candidates=None, max_length=7)[0]
    assert found.log_prob >= fluency[0] + adequacy[0] - 1e-9
    assert "pleases" not in found.words


OF_HOUSES = [("the house", "la casa"), ("a house", "una casa"), ("the green house", "la casa verde"),
             ("the book", "el libro")]  # fmt: skip


@pytest.mark.parametrize("beam", [1, 32])
@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
@pytest.mark.parametrize("n_unseen", [1, 2, 3, 4, 9])
def test_unseen_words_have_a_source(n_unseen, options, null, beam):
    model = LexicalChannel(null=null, **options).fit(OF_HOUSES)
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in OF_HOUSES])
    unseen = [f"z{k}" for k in range(n_unseen)]
    for observed in (unseen, [*unseen, "casa"]):
        found = model.decode([observed], source, beam=beam)[0]
        score = source.score_samples([found.words])[0] + model.log_proba([(found.words, observed)])[0]
        assert score > -np.inf
        assert found.log_prob == pytest.approx(score)
        assert not set(found.words) & set(unseen)


def test_the_source_of_unseen_words_is_the_best_of_its_length():
    model = LexicalChannel().fit(OF_HOUSES)
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in OF_HOUSES])
    every = [words for n in range(4) for words in itertools.product(model.source_words_, repeat=n)]
    scores = source.score_samples(every) + model.log_proba([(words, "zz yy qq") for words in every])
    found = model.decode(["zz yy qq"], source, beam=None, max_length=3)[0]
    assert (tuple(found.words), found.log_prob) == (every[scores.argmax()], pytest.approx(scores.max()))


class OnlyBooks:
    """A source that knows no other word."""

    def start(self):
        return ()

    def advance(self, state, word):
        return (-1.0 if word in ("book", "</s>") else -math.inf), state


def test_a_source_that_knows_no_word_of_the_observed_ones_has_others():
    model = LexicalChannel().fit(OF_HOUSES)
    found = model.decode(["la casa verde"], OnlyBooks(), n_candidates=1)[0]
    assert set(found.words) == {"book"}
    expected = model.log_proba([(found.words, "la casa verde")])[0] - len(found.words) - 1
    assert found.log_prob == pytest.approx(expected)


def test_a_word_that_only_null_explains_has_a_source():
    model = LexicalChannel(alpha=0.0).fit([*OF_HOUSES, ("", "oh")])
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in OF_HOUSES])
    found = model.decode(["oh oh oh oh"], source)[0]
    expected = source.score_samples([found.words])[0] + model.log_proba([(found.words, "oh oh oh oh")])[0]
    assert found.log_prob == pytest.approx(expected)
    assert model.decode(["zz"], source)[0] == (["zz"], -math.inf)  # without pseudo-counts nothing explains it


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_sources_too_long_are_refused_before_memory_is_taken(options, monkeypatch):
    model = LexicalChannel(**options).fit(OF_HOUSES)
    source = NgramModel(2, smoothing="witten_bell").fit([e for e, _ in OF_HOUSES])
    for length in (10**9, 10_001):
        with pytest.raises(ValueError, match=f"max_length must be at most 10000, got {length}"):
            model.decode(["la casa"], source, max_length=length)
    if options:
        monkeypatch.setattr("fastlin.channel.translation.MOST_PLACES", 20)
        with pytest.raises(ValueError, match="max_length must be less for a sentence of 2 words: 10 source words"):
            model.decode(["la casa"], source, max_length=10)


# --- checkpoints, threads --------------------------------------------------------------------------------------------

LEARNT = ("bound_", "objective_", "converged_", "n_iter_", "length_ratio_", "source_words_")


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_it_goes_on_from_every_iteration(options, tmp_path):
    def make(**more):
        return LexicalChannel(max_iter=6, tol=0.0, **options, **more)

    expected = resuming.stop_after_each_record(make, LEARNT, (TEXT,), tmp_path / "c")
    resumed = resuming.quiet(make(), TEXT, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(resumed.log_proba(TEXT), expected.log_proba(TEXT))


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    changes = [
        ("alpha was 0.001, now 0.5", {"alpha": 0.5}, None, {}),
        ("model was 1, now 2", {"model": 2}, None, {}),
        ("data", {}, ([*TEXT, ("a dog", "un perro")],), {}),
        ("data", {}, ([(e.replace("book", "cook"), f) for e, f in TEXT],), {}),
    ]
    resuming.check_other_fits(
        lambda **more: LexicalChannel(max_iter=3, tol=0.0, **more), (TEXT,), tmp_path / "c", changes
    )


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_what_a_checkpoint_says_is_proved(options, tmp_path):
    def make(**more):
        return LexicalChannel(max_iter=4, tol=0.0, **options, **more)

    resuming.check_what_is_said_is_proved(make, (TEXT,), tmp_path / "c")


@pytest.mark.parametrize("options", ALIGNMENTS.values(), ids=ALIGNMENTS)
def test_threads_change_no_bit(options, monkeypatch):
    monkeypatch.setattr("fastlin.channel.lexical_em.BLOCK_PLACES", 50)
    rng = np.random.default_rng(0)
    pairs = [
        ([f"e{w}" for w in rng.integers(0, 30, n)], [f"f{w}" for w in rng.integers(0, 30, m)])
        for n, m in rng.integers(0, 9, (300, 2))
    ]
    one, many = (fitted(pairs, n_jobs=n, **options) for n in (1, 4))
    np.testing.assert_array_equal(one.bound_, many.bound_)
    np.testing.assert_array_equal(one.log_proba(pairs), many.log_proba(pairs))


def test_a_callback_sees_the_model_and_may_end_the_fit():
    seen = []

    def look(model, record):
        seen.append((record["objective"], model.score(TEXT)))
        return len(seen) == 3

    model = LexicalChannel(alpha=0.0, callback=look).fit(TEXT)
    n = sum(len(f.split()) for _, f in TEXT)
    assert model.n_iter_ == 2
    for objective, score in seen:
        assert -objective == pytest.approx(score * n)


# --- input -----------------------------------------------------------------------------------------------------------


def test_strings_are_lists_of_their_words():
    one, two, three = (
        fitted(pairs)
        for pairs in (TEXT, [(e.split(), tuple(f.split())) for e, f in TEXT], iter([[e, f] for e, f in TEXT]))
    )
    np.testing.assert_array_equal(one.log_proba(TEXT), two.log_proba(TEXT))
    np.testing.assert_array_equal(one.log_proba(TEXT), three.log_proba(TEXT))


def test_any_words_are_words():
    words = ["a\0b", "\0", "ß", "😀", "\ud800", "", "x" * 10_000, "two words", "<null>"]
    pairs = [([word], [word]) for word in words] * 2
    model = fitted(pairs, alpha=0.0, null=False)
    assert model.source_words_ == words == model.observed_words_
    assert all(model.word_proba(word, word) == pytest.approx(1) for word in words)
    assert model.predict(pairs) == [[(0, 0)]] * len(pairs)


def test_sentences_may_be_long_or_empty():
    long = (" ".join(f"e{i}" for i in range(1000)), " ".join(f"f{i}" for i in range(1000)))
    for options in ALIGNMENTS.values():
        model = fitted([long, ("", ""), ("a", ""), ("", "b")], max_iter=2, **options)
        assert np.isfinite(model.log_proba([long, ("", ""), ("a", ""), ("", "b")])).all()
        assert [len(links) for links in model.predict([("", ""), ("a", ""), ("", "b")])] == [0, 0, 0]
        assert [one.shape for one in model.predict_marginals([("", ""), ("a b", ""), ("", "b")])] == [
            (1, 0),
            (3, 0),
            (1, 1),
        ]
    without = fitted([("a", "b"), ("", "")], null=False)
    np.testing.assert_array_equal(without.log_proba([("", ""), ("", "b")]), [0.0, -np.inf])
    assert without.predict_marginals([("", "b")])[0].shape == (0, 1)


@pytest.mark.parametrize(
    "pairs, error, message",
    [
        ([], ValueError, "one pair at least"),
        ("a b", TypeError, "list of"),
        ({"a": "b"}, TypeError, "list of"),
        (None, TypeError, "list of"),
        (["ab"], ValueError, "pair 0 must be"),
        ([("a", "b"), ("a",)], ValueError, "pair 1 must be"),
        ([("a", "b"), ("a", "b", "c")], ValueError, "pair 1 must be"),
        ([("a", "b"), ("a", 3)], TypeError, "observed side of pairs: sequence 1"),
        ([("a", "b"), (None, "b")], TypeError, "source side of pairs: sequence 1"),
        ([("a", "b"), (["a", 3], "b")], TypeError, "source side of pairs: sequence 1, token 1"),
        ([("a", "b"), ("a", "b </s>")], ValueError, "observed side of pairs: sentence 1"),
        ([("a", ""), ("", "")], ValueError, "an observed word at least"),
    ],
)
def test_what_is_no_pair_is_said(pairs, error, message):
    with pytest.raises(error, match=message):
        LexicalChannel().fit(pairs)


def test_without_a_null_something_must_explain_each_word():
    with pytest.raises(ValueError, match="pair 1 has observed words and an empty source"):
        LexicalChannel(null=False).fit([("a", "b"), ("", "b")])


def test_memory_is_bounded_before_it_is_taken(monkeypatch):
    monkeypatch.setattr("fastlin.channel.sentence_pairs.MOST_PLACES", 100)
    with pytest.raises(ValueError, match="pair 1 has 11 × 10 words"):
        LexicalChannel().fit([("a", "b"), (["a"] * 10, ["b"] * 10)])
    monkeypatch.setattr("fastlin.channel.sentence_pairs.MOST_PLACES_OF_ALL", 100)
    with pytest.raises(ValueError, match="more than 100 places"):
        LexicalChannel().fit([("a", "b")] * 51)


def test_memory_of_alignments_and_of_searches_is_bounded_too(monkeypatch):
    monkeypatch.setattr("fastlin.channel.word_alignment.MOST_NUMBERS", 30)
    for options in (ALIGNMENTS["table"], ALIGNMENTS["diagonal"]):
        with pytest.raises(ValueError, match="alignments have 38 numbers"):
            LexicalChannel(**options).fit(TEXT)
    model = fitted(TEXT)
    monkeypatch.setattr("fastlin.channel.translation.MOST_PLACES", 10)
    with pytest.raises(ValueError, match="n_candidates must be less for a sentence of 3 words"):
        model.decode(["la casa verde"], NgramModel(1, smoothing="witten_bell").fit(["a"]))


def test_marks_are_refused_or_kept():
    pairs = [("the <unk> house", "la <unk> casa"), ("<unk>", "<s> <unk> </s>")]
    with pytest.raises(ValueError, match="the source side of pairs: sentence 0"):
        LexicalChannel().fit(pairs)
    model = fitted(pairs, markup="keep", alpha=0.0, null=False, max_iter=50)
    assert model.source_words_ == ["the", "house"]
    assert model.word_proba("<unk>", "<unk>") > 0.9
    assert model.word_proba("never seen", "never seen") == model.word_proba("<unk>", "<unk>")
    assert model.predict([("<unk>", "<s> <unk> </s>")]) == [[(0, 0)]]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"model": 3}, "model"), ({"alignment": "x"}, "alignment"), ({"alpha": -1}, "alpha"), ({"tol": -1}, "tol"),
        ({"start_iter": -1}, "start_iter"), ({"n_candidates": 0}, "n_candidates"), ({"max_iter": 0}, "max_iter"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LexicalChannel(**options).fit(TEXT)


@pytest.mark.parametrize(
    "options", [{"beam": 0}, {"n_candidates": 0}, {"max_length": -1}, {"source_weight": -1.0}, {"n_best": 0}]
)
def test_wrong_arguments_of_the_decoder_are_named(options):
    source = NgramModel(1, smoothing="witten_bell").fit(["a"])
    with pytest.raises(ValueError, match=next(iter(options))):
        fitted(TEXT).decode(["la"], source, **options)
    with pytest.raises(TypeError, match="list of sentences"):
        fitted(TEXT).decode("la", source)
    with pytest.raises(TypeError, match="source must be"):
        fitted(TEXT).decode(["la"], "no model")
