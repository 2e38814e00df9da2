"""Words of running text: nothing is lost, and every word is where it is said to be."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.sequence import tokenize
from fastlin.sequence.word_tokenizer import TOKENIZERS

PIECES = st.sampled_from([*"aZé9 .,'’-!$\t\n\u00a0ßǅ½(", "n't", "'s", "U.S.", "..."])
TEXTS = st.lists(PIECES).map("".join) | st.text()


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=TEXTS)
def test_every_character_that_is_no_blank_is_in_one_word(name, text):
    words = TOKENIZERS[name](text)
    assert all(text[word.start : word.stop] == word.text != "" for word in words)
    assert all(before.stop <= word.start for before, word in pairwise(words))
    assert "".join(word.text for word in words) == "".join(text.split())


@given(text=TEXTS)
def test_no_word_has_a_blank(text):
    assert not any(character.isspace() for word in tokenize(text) for character in word.text)


@pytest.mark.parametrize(
    "text, words",
    [
        ("don't", ["do", "n't"]),
        ("Ann's", ["Ann", "'s"]),
        ("they\u2019ll", ["they", "\u2019ll"]),
        ("'s", ["'", "s"]),
        ("well-known, 3.5%", ["well-known", ",", "3.5", "%"]),
        ("U.S. troops...", ["U.S.", "troops", "..."]),
        ("(yes)--no!", ["(", "yes", ")", "--", "no", "!"]),
        ("10:30 on 1/2/99", ["10:30", "on", "1/2/99"]),
    ],
)
def test_words_are_those_of_the_penn_treebank(text, words):
    assert [word.text for word in tokenize(text)] == words
