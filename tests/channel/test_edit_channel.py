"""Channels of characters: sums over alignments, a distribution over all strings, EM that never falls."""

import copy
import itertools
import math
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastlin
from fastlin.channel import EditAlignment, EditChannel, NoisyChannel
from fastlin.channel import edit_em as em
from fastlin.engine.channel.edit_lattice import EditLattice, EncodedWords
from fastlin.lm import NgramModel
from oracles.channel import Edits, log_sum
from support import resuming

LETTERS = st.text("abc", max_size=4)
PAIRS = st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=8)
SPELLED = [
    ("the", "teh"), ("their", "thier"), ("separate", "seperate"), ("really", "realy"), ("until", "untill"),
    ("necessary", "neccessary"), ("", "x"), ("a", ""), ("", ""), ("Straße", "Strasse"), ("which", "wich"),
] * 3  # fmt: skip
LEARNT_ONCE = EditChannel().fit(SPELLED)
LEARNT = ["keys", "p", "alphabet", "rates"]
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(pairs, **parameters):
    return EditChannel(**{"max_iter": 3, "tol": 0.0, **parameters}).fit(pairs)


def learnt(model):
    return [getattr(model._learnt, name) for name in LEARNT]


# --- probabilities ---------------------------------------------------------------------------------------------------


@quiet
@given(PAIRS, st.text("abcd\U0001f600", max_size=4), st.text("abcde\0", max_size=4), st.sampled_from([0.1, 10.0]))
def test_log_proba_is_the_sum_over_all_alignments_and_the_best_is_one_of_them(pairs, x, y, alpha):
    model = fitted(pairs, alpha=alpha)
    ways = list(Edits.of(model._learnt).alignments(x, y))
    logarithms = [math.log(p) for p, _, _ in ways]
    assert model.log_proba([x], [y])[0] == pytest.approx(log_sum(logarithms), rel=1e-9)
    found = model.best_alignment(x, y)
    assert found.log_prob == pytest.approx(max(logarithms), rel=1e-9, abs=1e-12)
    assert ["".join(side) for side in zip(*found.parts, strict=True)] == [x, y] or not x + y
    of_parts = [math.log(p) for p, parts, _ in ways if parts == found.parts]
    assert max(of_parts) == pytest.approx(found.log_prob, rel=1e-9, abs=1e-12)


@quiet
@pytest.mark.parametrize("alpha", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("source", ["", "a", "b", "ab", "ba", "aab", "z", "za"])
def test_what_is_observed_of_a_source_sums_to_one(alpha, source):
    """Characters that were never seen have one probability each, unless they are the source's."""
    model = fitted([("ab", "ba"), ("aab", "ab"), ("b", "ab"), ("ba", "bb")], alpha=alpha)
    others = 0x110000 - 2 - ("z" in source)
    total = 0.0
    for length in range(len(source) + 4):
        for letters in itertools.product("ab?z" if "z" in source else "ab?", repeat=length):
            p = math.exp(model.log_proba([source], ["".join(letters)])[0])
            total += p * others ** letters.count("?")
    longer = 1 - total
    assert -1e-9 < longer < 0.35
    insertions = max(Edits.of(model._learnt).insert(c, b) for c in ("", *source) for b in "ab")
    assert longer <= 60 * (2 * insertions + model.rates_.insertion) ** 4 + 1e-9


@quiet
def test_sums_over_longer_and_longer_strings_come_to_one():
    model = fitted([("ab", "ba"), ("ab", "ab"), ("b", "b"), ("ba", "aba")] * 5, alpha=1.0)
    sums = []
    for most in (2, 4, 6):
        words = ["".join(w) for n in range(most + 1) for w in itertools.product("ab?", repeat=n)]
        p = np.exp(model.log_proba(["ab"] * len(words), words))
        sums.append(sum(one * (0x110000 - 2) ** word.count("?") for one, word in zip(p.tolist(), words, strict=True)))
    assert sums == sorted(sums)
    assert 1 - sums[-1] < 2e-3
    assert sums[-1] <= 1 + 1e-12


@quiet
@given(PAIRS)
def test_an_iteration_is_that_of_the_naive_twin(pairs):
    """Expected counts by enumeration, then the mean of the posterior's mode: (n + α base) / (N + α)."""
    alpha = 2.0
    before, after = (fitted(pairs, alpha=alpha, max_iter=n) for n in (1, 2))
    twin, counts = Edits.of(before._learnt), {}
    bound = 0.0
    for x, y in pairs:
        ways = list(twin.alignments(x, y))
        total = math.fsum(p for p, _, _ in ways)
        bound += math.log(total)
        for p, _, events in ways:
            for event in events:
                counts[event] = counts.get(event, 0.0) + p / total
    mixed = Edits.of(after._learnt).p
    general = Edits({k: v for k, v in twin.p.items() if k[0] == "alone"}, twin.rates, twin.alphabet)
    for (kind, first, second, came), p in mixed.items():
        if kind == "alone" or came is None:
            continue
        of = math.fsum(n for event, n in counts.items() if event[:3] == (kind, first, second))
        if kind == "insert":
            base = general.insert(second, came)
        elif kind == "consume":
            base = general.consume(first, second, came)
        else:
            base = abs(1 - came - general.rates.transposition)
        n = counts.get((kind, first, second, came), 0.0)
        assert p == pytest.approx((n + alpha * base) / (of + alpha), rel=1e-9), (kind, first, second, came)
    assert sum(before.log_proba(*zip(*pairs, strict=True))) == pytest.approx(bound, rel=1e-9)


@quiet
@settings(max_examples=60)
@given(PAIRS, st.sampled_from([0.0, 0.01, 1.0, 100.0]))
def test_the_bound_never_falls(pairs, alpha):
    model = fitted(pairs, alpha=alpha, max_iter=12)
    assert (np.diff(model.bound_) >= -1e-9 * (1 + abs(model.bound_[0]))).all()
    assert [-record["objective"] for record in model.history_] == model.bound_.tolist()
    if alpha == 0:
        assert model.bound_[-1] == pytest.approx(model.log_proba(*zip(*pairs, strict=True)).sum(), rel=1e-9, abs=1e-9)


def test_weights_are_pairs_so_many_times():
    weights = [1 + place % 3 for place in range(11)]
    once = EditChannel().fit(SPELLED[:11], sample_weight=weights)
    often = EditChannel().fit([pair for pair, n in zip(SPELLED, weights, strict=False) for _ in range(n)])
    np.testing.assert_allclose(once._learnt.p, often._learnt.p, rtol=1e-9)
    without = EditChannel().fit(SPELLED[:11], sample_weight=[1.0] * 10 + [0.0])
    np.testing.assert_allclose(without.rates_, EditChannel().fit(SPELLED[:10]).rates_, rtol=1e-9)


def test_edits_that_were_seen_are_more_probable_than_others():
    model = EditChannel().fit(SPELLED)
    for better, worse in (("wierd", "wqird"), ("weirrd", "weirkd")):
        p = model.log_proba(["weird", "weird"], [better, worse])
        assert p[0] > p[1]


def test_the_memo_of_small_alphabets_changes_nothing():
    model, words = EditChannel().fit(SPELLED), [word for pair in SPELLED[:11] for word in pair]
    x, y = (list(side) for side in zip(*itertools.product(words, repeat=2), strict=True))
    first = model.log_proba(x, y)
    for _ in range(30):
        later = model.log_proba(x, y)
    assert (first == later).all()


def test_pairs_of_encoded_words():
    model = EditChannel().fit(SPELLED)
    sources, observed = ["the", "their", "unknown\U0001f600", ""], ["thier", "", "\U0001f600"]
    places = np.array([[i, j] for i in range(4) for j in range(3)])
    found = model.score_pairs(model.encode(sources), places[:, 0], model.encode(observed), places[:, 1])
    wanted = model.log_proba([sources[i] for i in places[:, 0]], [observed[j] for j in places[:, 1]])
    assert (found == wanted).all()
    for wrong in ([4], [-1]):
        with pytest.raises(ValueError, match="not there"):
            model.score_pairs(model.encode(sources), wrong, model.encode(observed), [0])
    with pytest.raises(ValueError, match="vectors of one length"):
        model.score_pairs(model.encode(sources), [0, 1], model.encode(observed), [0])


# --- candidates ------------------------------------------------------------------------------------------------------


def edits_between(a, b):
    """The fewest insertions, deletions, substitutions and exchanges of neighbours, none edited twice."""
    d = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1) if not i * j}
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
    return d[len(a), len(b)]


@pytest.mark.parametrize("max_edits", [1, 2, 3])
@given(
    st.lists(st.text("ab\0\ud800", max_size=6), max_size=12, unique=True),
    st.lists(st.text("abc", max_size=6), max_size=4),
)
def test_candidates_are_the_words_within_the_edits(max_edits, words, observed):
    bound = LEARNT_ONCE.set_params(max_edits=max_edits).bound_to(words)
    found = bound.candidates_many(observed)
    for place, word in enumerate(observed):
        near = [source for source in words if edits_between(source, word) <= max_edits]
        wanted = LEARNT_ONCE.log_proba(near, [word] * len(near))
        assert found.of_word(place) == list(zip(near, wanted.tolist(), strict=True))
        assert bound.candidates(word) == found.of_word(place)


def test_the_source_is_the_dictionary_of_a_noisy_channel():
    text = ["the cat sat on the mat", "their dog sat on the rug", "there is a cat"]
    noisy = NoisyChannel(
        NgramModel(2, smoothing="witten_bell").fit(text), EditChannel().fit(SPELLED), keep_unknown=True
    )
    assert noisy.decode(["teh cat szt on teh rgu"])[0].words == ["the", "cat", "sat", "on", "the", "rug"]
    assert noisy.decode(["thier dgo 1234567"])[0].words == ["their", "dog", "1234567"]


def test_words_of_any_length_may_be_observed():
    channel = EditChannel().fit(SPELLED).bound_to(["the", "a" * 10**5, "b" * 2000])
    assert channel.candidates("a" * 10**5) == []
    assert [word for word, _ in channel.candidates("b" * 1999)] == ["b" * 2000]


@pytest.mark.parametrize("duplicate", [pickle.loads, copy.deepcopy])
def test_a_channel_that_was_asked_is_copied(duplicate):
    model = EditChannel().fit(SPELLED)
    before = model.bound_to(["the"]).candidates("teh")
    again = duplicate(pickle.dumps(model) if duplicate is pickle.loads else model)
    assert again.bound_to(["the"]).candidates("teh") == before


def test_the_index_of_a_dictionary_is_made_once():
    model = EditChannel().fit(SPELLED)
    first = model.bound_to(["the", "a"])
    assert model.bound_to(["the", "a"]) is first
    assert model.bound_to(["the"]) is not first
    assert [word for word, _ in model.set_params(max_edits=1).bound_to(["the", "abc"]).candidates("te")] == ["the"]


# --- length ----------------------------------------------------------------------------------------------------------


def test_long_words_are_scored_by_logarithms():
    """Words whose probability no number holds: with one way only, the logarithms of its steps add up."""
    model, n = EditChannel().fit(SPELLED), 400
    twin = Edits.of(model._learnt)
    inserted = math.log(twin.insert("", "q"))
    assert model.log_proba([""], ["q" * n])[0] == pytest.approx(n * inserted + math.log(twin.insert("", "")), rel=1e-9)
    dropped = [math.log(twin.insert(c, "") * twin.consume(c, "q", "")) for c in ("", "q")]
    wanted = dropped[0] + (n - 1) * dropped[1] + math.log(twin.insert("q", ""))
    assert model.log_proba(["q" * n], [""])[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("n", [10, 24, 28, 40, 90])
def test_sums_of_numbers_and_of_logarithms_are_those_of_the_twin(n):
    """ln p from −100 to below −700, where numbers end."""
    model = EditChannel().fit(SPELLED)
    twin = Edits.of(model._learnt)
    for x, y in (("he" * n, "qu" * n), ("the" * n, "teh" * n), ("qu" * n, "uq" * n)):
        assert model.log_proba([x], [y])[0] == pytest.approx(twin.log_proba(x, y), rel=1e-9)


@quiet
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_bound_never_falls_with_words_that_are_summed_as_logarithms(alpha):
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), (2, 300))
    bound = fitted([("".join(letters[0]), "".join(letters[1])), ("ab", "b")], max_iter=6, alpha=alpha).bound_
    assert bound[0] < -250 * math.log(10)
    assert (np.diff(bound) >= 0).all()


@pytest.mark.parametrize("pair", [("a" * 10**5, "a" * 10**5), ("a" * 3000, "b" * 3000)])
def test_words_whose_lattice_no_memory_should_hold_are_refused(pair):
    model = EditChannel().fit(SPELLED)
    for ask in (
        lambda: EditChannel().fit([pair]),
        lambda: model.log_proba([pair[0]], [pair[1]]),
        lambda: model.best_alignment(*pair),
    ):
        with pytest.raises(ValueError, match="too long"):
            ask()
    assert np.isfinite(model.log_proba(["a" * 10**5], [""])).all()


def test_alphabets_of_many_characters():
    points = [chr(point) for point in range(0x4E00, 0x4E00 + 20_000)]
    pairs = [(points[i] + points[i + 1], points[i + 1] + points[i]) for i in range(0, 20_000, 2)]
    model = EditChannel(max_iter=2, tol=1e9).fit(pairs)
    assert model.rates_.transposition > 0.5
    assert np.isfinite(model.log_proba(["ab", points[7]], ["ba", ""])).all()


@quiet
@pytest.mark.parametrize("odd", ["\0", "\ud800", "\U0001f600", "\U0010ffff", "a\u0301"])
def test_characters_are_whatever_there_are(odd):
    model = fitted([(f"a{odd}", f"{odd}a"), (odd, odd), (odd, "")])
    assert model.best_alignment(f"a{odd}b", f"{odd}ab").parts[-1] == ("b", "b")
    for x, y in ((odd, odd), ("b", odd), (odd, "b"), (f"a{odd}", odd)):
        total = log_sum(math.log(p) for p, _, _ in Edits.of(model._learnt).alignments(x, y))
        assert model.log_proba([x], [y])[0] == pytest.approx(total, rel=1e-9)


# --- life ------------------------------------------------------------------------------------------------------------


@quiet
def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(em, "CELLS_OF_A_CALL", 100)
    alone, threads = (fitted(SPELLED, n_jobs=n_jobs) for n_jobs in (1, 3))
    for one, other in zip(learnt(alone), learnt(threads), strict=True):
        assert np.array_equal(one, other)
    assert alone.bound_.tolist() == threads.bound_.tolist()
    x, y = zip(*SPELLED, strict=True)
    assert (alone.log_proba(x * 400, y * 400) == threads.log_proba(x * 400, y * 400)).all()


class Watched(EditChannel):
    """With what it has learnt as attributes."""

    keys_ = property(lambda self: self._learnt.keys)
    p_ = property(lambda self: self._learnt.p)


def channels(**parameters):
    return Watched(**{"max_iter": 9, "tol": 0.0, **parameters})


def test_a_fit_goes_on_from_every_record(tmp_path):
    resuming.stop_after_each_record(channels, ["keys_", "p_", "bound_"], (SPELLED,), tmp_path / "c")


def test_a_checkpoint_is_of_one_fit(tmp_path):
    resuming.check_other_fits(channels, (SPELLED,), tmp_path / "c", [
        ("alpha", {"alpha": 3.0}, (SPELLED,), {}), ("max_iter", {"max_iter": 10}, (SPELLED,), {}),
        ("observed", {}, (SPELLED[1:],), {}),
    ])  # fmt: skip


def test_what_a_checkpoint_says_is_proved(tmp_path):
    resuming.check_what_is_said_is_proved(channels, (SPELLED,), tmp_path / "c")


def test_a_file_gives_the_channel_back(tmp_path):
    model = EditChannel(max_edits=1).fit(SPELLED)
    fastlin.save(model, tmp_path / "model")
    again = fastlin.load(tmp_path / "model")
    assert (again.score_samples(SPELLED) == model.score_samples(SPELLED)).all()
    assert again.max_edits == 1
    assert again.bound_.tolist() == model.bound_.tolist()


def test_a_fit_that_fails_leaves_all_as_it_was():
    model = EditChannel().fit(SPELLED)
    before = learnt(model)
    with pytest.raises(ZeroDivisionError):
        model.set_params(callback=lambda *_: 1 / 0).fit(SPELLED[:3])
    assert all(one is other for one, other in zip(learnt(model), before, strict=True))


def test_the_callback_sees_the_model_and_ends_the_fit():
    seen = []

    def callback(model, record):
        seen.append((record["iteration"], model.log_proba(["the"], ["teh"])[0]))
        return len(seen) == 3

    model = EditChannel(tol=0.0, callback=callback).fit(SPELLED)
    assert [iteration for iteration, _ in seen] == [0, 1, 2]
    assert model.n_iter_ == 2
    assert seen[-1][1] == model.log_proba(["the"], ["teh"])[0]


@pytest.mark.parametrize(
    "X, error, message",
    [
        ([], ValueError, "empty"),
        ("ab", TypeError, "list of pairs"),
        ({"a": "b"}, TypeError, "list of pairs"),
        (7, TypeError, "list of pairs"),
        (["ab"], TypeError, r"X\[0\] must be a pair of strings"),
        ([("a", "b"), ("a",)], TypeError, r"X\[1\] must be a pair"),
        ([("a", None)], TypeError, r"X\[0\] must be a pair"),
        ([("a", b"b")], TypeError, r"X\[0\] must be a pair"),
    ],
)
def test_pairs_that_are_none_are_refused(X, error, message):
    with pytest.raises(error, match=message):
        EditChannel().fit(X)


@pytest.mark.parametrize("weights", [[1.0], [-1.0] * 33, [0.0] * 33, [math.nan] * 33, "x"])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises((ValueError, TypeError), match="sample_weight"):
        EditChannel().fit(SPELLED, sample_weight=weights)


def test_words_that_are_none_are_refused():
    model = EditChannel().fit(SPELLED)
    for sources, observed in (("a", ["a"]), (["a"], [1]), (["a"], ["a", "b"]), (None, ["a"]), ([None], ["a"])):
        with pytest.raises((ValueError, TypeError), match=r"sources|observed"):
            model.log_proba(sources, observed)
    with pytest.raises(TypeError, match="observed must be a string"):
        model.best_alignment("a", 7)
    assert model.log_proba([], []).shape == (0,)
    assert model.best_alignment("", "") == EditAlignment([], model.log_proba([""], [""])[0])


def test_weights_whose_sums_are_infinite_are_refused():
    pairs = [("the", "teh"), ("their", "thier")]
    with pytest.raises(ValueError, match="from 0 to 1e\\+100"):
        EditChannel().fit(pairs, sample_weight=[1e308, 1e308])
    assert np.isfinite(EditChannel().fit(pairs, sample_weight=[1e100, 1e100]).rates_).all()


def test_a_word_that_a_dictionary_has_twice_is_one_candidate():
    channel = EditChannel().fit([("the", "teh"), ("their", "thier")])
    assert channel.bound_to(["the", "them", "the"]).candidates("teh") == channel.bound_to(["the", "them"]).candidates(
        "teh"
    )


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_channel_with_a_dictionary_is_copied(copied):
    bound = EditChannel().fit([("the", "teh"), ("their", "thier")]).bound_to(["the", "them"])
    assert copied(bound).candidates("teh") == bound.candidates("teh")


def test_pairs_are_scored_of_encoded_words_and_whole_numbers_alone():
    channel = EditChannel().fit([("the", "teh"), ("their", "thier")])
    words = channel.encode(["the", "teh"])
    for side in ((None, [0], words, [0]), (words, [0], ["teh"], [0])):
        with pytest.raises(TypeError, match="must be words that `encode` has encoded"):
            channel.score_pairs(*side)
    for places in ([0.5], [[0]], ["0"], [True]):
        with pytest.raises(TypeError, match="vector of whole numbers"):
            channel.score_pairs(words, places, words, [0])
    for place in (-1, 2**32, 2**31):
        with pytest.raises(ValueError, match="must be places of words"):
            channel.score_pairs(words, [0], words, [place])
    assert channel.score_pairs(words, [], words, []).shape == (0,)


def test_words_that_were_encoded_by_another_alphabet_are_refused():
    channel = EditChannel().fit([("a", "b")])
    other = EditChannel().fit([(chr(97 + i), chr(98 + i)) for i in range(24)])
    own, foreign = (one.encode(["abcdefxyz", "xyz"]) for one in (channel, other))
    for name, sides in {"sources": (foreign, own), "observed": (own, foreign)}.items():
        with pytest.raises(ValueError, match=f"{name} must be words .* of another alphabet"):
            channel.score_pairs(sides[0], [0, 1], sides[1], [1, 0])
    scores = channel.log_proba(["abcdefxyz", "xyz"], ["xyz", "abcdefxyz"])
    assert (channel.score_pairs(own, [0, 1], own, [1, 0]) == scores).all()
    assert (pickle.loads(pickle.dumps(channel)).score_pairs(own, [0, 1], own, [1, 0]) == scores).all()
    channel.fit([("a", "c")])
    with pytest.raises(ValueError, match=r"sources must be words .* before it was fitted again"):
        channel.score_pairs(own, [0, 1], own, [1, 0])


@pytest.mark.skipif(sys.platform != "linux", reason="says how much memory there is in /proc")
def test_threads_that_ask_at_once_make_one_memo():
    """Of 64³ numbers, when each of them would have it made."""
    words = EncodedWords(np.ones(63, np.int32), np.array([0, 63]), "a")
    pairs, answers, rounds, memo = np.zeros(65, np.int32), [], 16, 8 * 64**3

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def score(lattice, all_there):
        log_prob = np.empty(len(pairs))
        all_there.wait()
        lattice.score(words, pairs, words, pairs, log_prob)
        answers.append(set(log_prob.tolist()))

    def ask():
        lattice, all_there = EditLattice(np.zeros(0, np.int64), np.zeros(0), np.full(4, 0.01), 62), threading.Barrier(4)
        threads = [threading.Thread(target=score, args=(lattice, all_there)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for _ in range(4):
        ask()
    before = resident()
    for _ in range(rounds):
        ask()
    assert resident() - before < 1.5 * rounds * memo  # of four that are made three would be lost
    assert len(answers) == 4 * (rounds + 4)
    assert len(set.union(*answers)) == 1
