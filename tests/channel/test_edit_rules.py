"""Rules of strings: ln p of a word = that of the best segmentation, and what is learnt from pairs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.channel.letters import as_letters
from fastlin.channel.substring_rules import align, as_strings, learn_rules, uniform_rules
from fastlin.engine.channel.edit_rules import FIRST_MARK, LAST_MARK, LONGEST, EditRules
from oracles import spelling

MARKS = chr(0xE000), chr(0xE001)  # what the naive twin has for marks
WORDS = st.text("abc", max_size=7)
SIDES = st.text("abc", max_size=LONGEST)


def numbers_of(string):
    """With the kernel's marks."""
    return tuple({MARKS[0]: FIRST_MARK, MARKS[1]: LAST_MARK}.get(letter, ord(letter)) for letter in string)


def kernel_of(rules, log_keep=-0.1, log_edit=-5.0, seed=3):
    sides = [as_strings([numbers_of(rule[side]) for rule in rules]) for side in (0, 1)]
    return EditRules(*sides[0], *sides[1], np.array(list(rules.values()), np.float32), log_keep, log_edit, seed)


def log_probs(kernel, pairs):
    sources, observed = zip(*pairs, strict=True)
    return kernel.word_log_probs(*as_letters(sources), *as_letters(observed))


@st.composite
def edited_pairs(draw):
    """A word, and what some edits make of it."""
    word = draw(WORDS)
    other = word
    for _ in range(draw(st.integers(0, 3))):
        at, new = draw(st.integers(0, len(other))), draw(st.sampled_from(["", "a", "d"]))
        exchanged = other[at : at + 2][::-1]
        other = other[:at] + draw(
            st.sampled_from([new + other[at + 1 :], new + other[at:], exchanged + other[at + 2 :]])
        )
    return word, other


@st.composite
def rule_tables(draw):
    """Rules, some of them with marks at the ends of words."""
    rules = {}
    for _ in range(draw(st.integers(0, 12))):
        old, new = draw(SIDES), draw(SIDES)
        if draw(st.booleans()) and max(len(old), len(new)) < LONGEST:
            old, new = (MARKS[0] + old, MARKS[0] + new) if draw(st.booleans()) else (old + MARKS[1], new + MARKS[1])
        if old or new:
            rules[old, new] = float(np.float32(-draw(st.floats(0.01, 8))))
    return rules


@settings(max_examples=300)
@given(rule_tables(), st.lists(edited_pairs(), min_size=1, max_size=5), st.integers(0, 2**64 - 1))
def test_log_p_is_that_of_the_best_segmentation(rules, pairs, seed):
    kernel = kernel_of(rules, seed=seed)
    expected = [
        spelling.log_prob(source, observed, rules, -0.1, -5.0, kernel.width, MARKS)
        if spelling.edit_distance(source, observed) <= 3
        else -np.inf
        for source, observed in pairs
    ]
    np.testing.assert_allclose(log_probs(kernel, pairs), expected, atol=1e-9)


@given(edited_pairs())
def test_without_rules_every_edit_costs_the_same(pair):
    source, observed = pair
    distance = spelling.edit_distance(source, observed)
    expected = -7.0 * distance if distance <= 3 else -np.inf
    assert log_probs(uniform_rules(-7.0).kernel(1), [(source, observed)]) == pytest.approx([expected])


def test_words_too_long_to_be_scored_by_rules_cost_their_edits():
    long = "ab" * 50_000
    kernel = kernel_of({("b", "c"): -1.0})
    assert log_probs(kernel, [(long, long[:-1] + "c"), (long, long), (long, "a")]).tolist() == [-5.0, 0.0, -np.inf]


def test_a_learnt_rule_has_the_relative_frequency_of_its_source():
    rules = learn_rules([("their", "thier", 2.0), ("chief", "cheif", 1.0), ("brief", "brief", 1.0)], -9.0, 2, 1.0)
    table = {
        (tuple(old), tuple(new)): p
        for old, new, p in zip(strings(rules.sources), strings(rules.observed), rules.log_prob.tolist(), strict=True)
    }
    assert table[numbers_of("ei"), numbers_of("ie")] == pytest.approx(math.log(2 / (2 + 1)))
    assert table[numbers_of("ie"), numbers_of("ei")] == pytest.approx(math.log(1 / (2 + 1)))
    assert table[numbers_of("r"), numbers_of("r")] == pytest.approx(math.log(3 / (3 + 1)))


def strings(side):
    letters, offsets = side
    return [letters[first:stop].tolist() for first, stop in itertools.pairwise(offsets)]


@settings(max_examples=50)
@given(st.lists(st.tuples(WORDS, WORDS, st.integers(1, 3)), max_size=12))
def test_pairs_that_were_learnt_from_are_no_less_probable_than_by_plain_edits(pairs):
    """A rule is at least as probable as what it replaces, if it was seen: of all alignments the best counts."""
    rules = learn_rules(pairs, -30.0)
    near = [(source, observed) for source, observed, _ in pairs if spelling.edit_distance(source, observed) <= 3]
    if near:
        found = log_probs(rules.kernel(5), near)
        assert (found <= 1e-6).all()
        assert (found > -30).all()


@pytest.mark.parametrize("wrong", ["long", "offsets", "number"])
def test_rules_without_their_letters_are_refused(wrong):
    letters, offsets = as_letters(["ab"])
    log_prob = np.zeros(2 if wrong == "number" else 1, np.float32)
    if wrong == "long":
        letters, offsets = as_letters(["a" * (LONGEST + 1)])
    if wrong == "offsets":
        offsets = np.array([0, 3])
    with pytest.raises(ValueError, match="without their letters"):
        EditRules(letters, offsets, *as_letters(["ab"]), log_prob, 0.0, -1.0, 1)


@pytest.mark.parametrize("observed", ["b" * 100_000, "a" * 99_998 + "ba"])
def test_pairs_of_long_strings_take_memory_by_their_length_not_its_square(observed):
    source = "a" * 100_000
    rules = learn_rules([(source, observed, 1.0)], -9.0, 1)
    assert len(rules) == (0 if observed[0] == "b" else 4)  # a and both marks stay, a is written as b


@settings(deadline=None)
@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 3))
def test_an_alignment_has_the_fewest_edits_and_spells_both_words(source, observed, most):
    distance = spelling.edit_distance(source, observed)
    found = align(tuple(map(ord, source)), tuple(map(ord, observed)), most)
    assert (found is None) == (distance > most)
    if found is not None:
        assert sum((old for old, _ in found), ()) == tuple(map(ord, source))
        assert sum((new for _, new in found), ()) == tuple(map(ord, observed))
        assert sum(old != new for old, new in found) == distance
