"""The index of deletes finds what looking at every word finds."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.channel.letters import as_letters
from fastlin.engine.channel.deletes_index import LONGEST, MOST_EDITS, DeletesIndex
from oracles import spelling

WORDS = st.lists(st.text("abcé\U00010000", max_size=12) | st.text(max_size=6), max_size=30)


def index_of(words, max_edits=2, prefix_length=7, seed=1):
    return DeletesIndex(*as_letters(words), max_edits, prefix_length, seed)


def found(index, queries, max_edits):
    """What the index finds, as the naive twin has it."""
    starts, words, distances = index.neighbours(*as_letters(queries), max_edits)
    pairs = list(zip(words.tolist(), distances.tolist(), strict=True))
    return [pairs[first:stop] for first, stop in itertools.pairwise(starts.tolist())]


@settings(max_examples=300)
@given(WORDS, WORDS, st.integers(0, MOST_EDITS), st.data())
def test_the_index_finds_what_looking_at_every_word_finds(words, queries, max_edits, data):
    prefix_length = data.draw(st.integers(max_edits + 1, LONGEST))
    asked = data.draw(st.integers(0, max_edits))
    queries = queries + words[:5]
    expected = [spelling.neighbours(words, query, asked) for query in queries]
    index = index_of(words, max_edits, prefix_length, data.draw(st.integers(0, 2**64 - 1)))
    assert found(index, queries, asked) == expected


@settings(max_examples=200)
@given(st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_words_of_few_letters_have_the_distance_of_the_definition(a, b):
    """Letters that repeat: where deletes coincide, and alignments are many."""
    distance = spelling.edit_distance(a, b)
    expected = [[(0, distance)] if distance <= MOST_EDITS else []]
    assert found(index_of([a], MOST_EDITS, 4), [b], MOST_EDITS) == expected


def test_every_word_of_one_or_two_edits_of_a_long_word_is_found():
    word = "abcdefghijklmnop"
    once = {word[:i] + c + word[i + 1 :] for i in range(16) for c in ["", "z"]}
    once |= {word[:i] + "z" + word[i:] for i in range(17)}
    once |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(15)}
    index = index_of([word])
    assert all(found(index, [one], 1) == [[(0, 1)]] for one in once)
    twice = sorted({one[:i] + "y" + one[i:] for one in once for i in range(len(one) + 1)})
    assert found(index, twice, 2) == [spelling.neighbours([word], each, 2) for each in twice]


def test_words_of_a_hundred_thousand_letters_are_measured_like_others():
    long = "ab" * 50_000
    index = index_of([long, "ab", long[:-1], long + "cd", ""])
    assert found(index, [long, "", "a", long[1:]], 2) == [
        [(0, 0), (2, 1), (3, 2)],
        [(1, 2), (4, 0)],
        [(1, 1), (4, 1)],
        [(0, 1), (2, 2)],
    ]


@settings(max_examples=100)
@given(st.integers(61, 67), st.text("ab\u00e9\u00ea", max_size=3), st.integers(0, 66), st.integers(0, 66))
def test_words_about_as_long_as_a_machine_word_are_measured_like_others(length, new, first, second):
    word = ("abé" * 25)[:length]
    other = word[:first] + new[:1] + word[first + 1 :]
    other = other[:second] + new[1:] + other[second:]
    expected = [spelling.neighbours([word, other], query, 3) for query in (word, other)]
    assert found(index_of([word, other], 3, 7), [word, other], 3) == expected


def test_threads_read_one_index():
    words = ["".join(letters) for letters in itertools.product("abcd", repeat=5)]
    index = index_of(words)
    expected, answers = found(index, words, 1), []
    threads = [threading.Thread(target=lambda: answers.append(found(index, words, 1))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [expected] * 4


def test_memory_is_bounded_by_the_prefix():
    words = [f"{number:050d}" + "abcdefghijklmnopqrstuvwxyz" * 4 for number in range(1000)]
    assert index_of(words, 2, 7).nbytes < 1000 * (29 * 6 + 29 * 2 * 4 + 8) + 100
    assert index_of(words, 1, 4).nbytes < index_of(words, 2, 7).nbytes


@pytest.mark.parametrize("change", ["short", "falling", "negative", "beyond"])
def test_words_without_their_letters_are_refused(change):
    letters, _ = as_letters(["abc", "de"])
    wrong = {"short": [0, 3], "falling": [0, 5, 3], "negative": [0, -1, 5], "beyond": [0, 3, 6]}[change]
    with pytest.raises(ValueError, match="without their letters"):
        DeletesIndex(letters, np.array(wrong), 2, 7, 1)
    with pytest.raises(ValueError, match="without their letters"):
        index_of(["abc"]).neighbours(letters, np.array(wrong), 2)


@pytest.mark.parametrize(("max_edits", "prefix_length"), [(4, 7), (-1, 7), (2, 2), (2, 13), (0, 0)])
def test_more_edits_or_letters_than_there_are_are_refused(max_edits, prefix_length):
    with pytest.raises(ValueError, match="deletes of up to"):
        index_of(["abc"], max_edits, prefix_length)
    with pytest.raises(ValueError, match="more edits"):
        index_of(["abc"], 1, 7).neighbours(*as_letters(["a"]), 2)
