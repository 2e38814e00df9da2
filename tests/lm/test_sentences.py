"""Lines of bytes and lists of strings become words and sentences as a plain reading of them says."""

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fastlin.lm import NgramModel
from fastlin.lm.sentences import BATCH, SentenceReader, _split
from fastlin.lm.vocabulary import BEGIN, END, WordVocabulary, marks

PIECES = st.sampled_from(
    ["a", "bc", "d" * 7, "e" * 8, "f" * 9, "g" * 70, "é", "\0", " ", "\t", "\v\f", "\n", "\r", "\r\n"]
)
TEXTS = st.lists(PIECES, max_size=60).map("".join)


def words_of_lines(text):
    """The lines of a text, each as the list of its words."""
    lines = re.split("\r\n|\r|\n", text)
    return [re.findall("[^\t\v\f ]+", line) for line in (lines if lines[-1] else lines[:-1])]


def sentences(tokens, names):
    """The words of each sentence of a row of tokens."""
    found = []
    for token in tokens.tolist():
        if token == BEGIN:
            found.append([])
        elif token != END:
            found[-1].append(names[token])
    assert np.count_nonzero(tokens == END) == len(found)
    return found


@given(TEXTS)
@example("a" * 64)
@example("a" * 63 + "\r\n" + "b" * 63 + "\r")
@example(" " * 63 + "\r\nb")
def test_lines_are_split_as_they_read(text):
    table = WordVocabulary.of(marks(None)).new_table()
    tokens, n_lines, marked = _split(text.encode(), table, True, False)
    assert sentences(tokens, WordVocabulary.of_table(table).names) == words_of_lines(text)
    assert (n_lines, marked) == (len(words_of_lines(text)), -1)


@given(st.lists(TEXTS, min_size=1, max_size=8))
@example(["a\r", "b", "\rc", "d\n", "\r\n", ""])
def test_line_breaks_within_a_sentence_are_blanks(strings):
    table = WordVocabulary.of(marks(None)).new_table()
    tokens = np.concatenate(list(SentenceReader().blocks(strings, table, True)))
    assert sentences(tokens, WordVocabulary.of_table(table).names) == [
        re.findall("[^\t\v\f\r\n ]+", string) for string in strings
    ]


@pytest.mark.parametrize("strings", [["a b", ["c", "d"], "e"], [["a"], "b c"], ["a", ("b", "c")]])
def test_strings_and_lists_of_words_may_be_mixed(strings):
    table = WordVocabulary.of(marks(None)).new_table()
    (tokens,) = SentenceReader().blocks(strings, table, True)
    words = [string.split() if isinstance(string, str) else list(string) for string in strings]
    assert sentences(tokens, WordVocabulary.of_table(table).names) == words


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize(("wrong", "error"), [(5, TypeError), ([5], TypeError), (["<s>"], ValueError)])
def test_errors_number_sentences_from_the_first_of_all(wrong, error, n_jobs):
    model = NgramModel(2, "witten_bell", n_jobs=n_jobs).fit(["a b"])
    for X in (["a b"] * (BATCH + 10) + [wrong], [["a", "b"]] * (BATCH + 10) + [wrong]):
        for method in (model.fit, model.score_samples):
            with pytest.raises(error, match=rf"^(sequence|sentence) {BATCH + 10}\b"):
                method(X)


@pytest.mark.parametrize("strings", [["a", "b\nc", "d <s>"], ["x", "y", "<unk>"]])
def test_marks_are_refused_with_their_sentence(strings):
    table = WordVocabulary.of(marks("<unk>")).new_table()
    with pytest.raises(ValueError, match="sentence 2: "):
        list(SentenceReader().blocks(strings, table, True))
