"""fastText's files of several labels a document: texts, and an indicator of their labels."""

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data import ReadError
from fastlin.interchange import read_fasttext

WORDS = st.sampled_from(["__label__a", "__label__b", "__label__ß", "one", "two", "x__label__c", "__label"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=6), max_size=6))
def test_a_document_has_the_labels_of_its_line_and_the_rest_of_its_words(lines):
    text = "".join(" ".join(line) + "\n" for line in lines)
    texts, indicator, labels = read_fasttext(io.BytesIO(text.encode()))
    own = [{word[9:] for word in line if word.startswith("__label__")} for line in lines]
    assert labels.tolist() == sorted(set().union(*own))
    assert [{*labels[row > 0].tolist()} for row in indicator.toarray()] == own
    assert [found.split() for found in texts] == [[w for w in line if not w.startswith("__label__")] for line in lines]
    assert indicator.has_canonical_format
    assert set(indicator.data.tolist()) <= {1}


def test_files_may_be_compressed_and_blank_lines_are_left_out(tmp_path):
    (tmp_path / "train.ft.gz").write_bytes(gzip.compress(b"__label__a one\n\n \t\n__label__b __label__a two\n"))
    texts, indicator, labels = read_fasttext(tmp_path / "train.ft.gz")
    assert (texts, indicator.toarray().tolist(), labels.tolist()) == (["one", "two"], [[1, 0], [1, 1]], ["a", "b"])


@pytest.mark.parametrize("data, words", [(b"__label__ one\n", "no name behind"), (b"__label__a \xff\n", "utf-8|UTF-8")])
def test_what_is_no_such_file_is_refused(data, words):
    with pytest.raises(ReadError, match=words):
        read_fasttext(io.BytesIO(data))
