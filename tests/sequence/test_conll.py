"""Sentences in columns come back as they were written, and what is malformed is named."""

import bz2
import gzip
import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.data import ReadError
from fastlin.sequence.conll import read_conll, write_conll

CONLLU = """\
# sent_id = 1
# text = Vámonos al	mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tS\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tD\t_\t5\tdet\t_\t_
4.1\tgran\tgrande\tADJ\tA\t_\t_\t_\t_\t_
5\tmar\tmar\tNOUN\tN\t_\t1\tobl\t_\t_

# sent_id = 2
1\t#\t#\tSYM\tX\t_\t0\troot\t_\t_
2\tNew York\tNew York\tPROPN\tN\t_\t1\tflat\t_\t_
"""
CONLL2003 = """\
-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""


def read(text, columns=None, **options):
    source = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return [list(sentence) for sentence in read_conll(source, columns, **options)]


words = st.text(st.characters(exclude_characters=" \t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def written(draw):
    """Sentences of tokens with the same number of columns, none a line that reads as something else."""
    width = draw(st.integers(1, 4))
    rows = st.tuples(*[words] * width).filter(lambda row: row[0][0] != "#" and row[0] != "-DOCSTART-")
    return draw(st.lists(st.lists(rows, min_size=1, max_size=5), max_size=4))


@given(written(), st.sampled_from(["\t", " "]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_was_written_is_read(sentences, separator, end):
    file = io.BytesIO()
    assert write_conll(sentences, file, separator=separator) == len(sentences)
    text = file.getvalue().replace(b"\n", end.encode())
    assert read(text) == sentences
    assert read(text.rstrip(b"\r\n")) == sentences


def test_conllu():
    assert read(CONLLU, ["form", "UPOS"]) == [
        [("Vamos", "VERB"), ("nos", "PRON"), ("a", "ADP"), ("el", "DET"), ("mar", "NOUN")],
        [("#", "SYM"), ("New York", "PROPN")],
    ]
    one, two = read_conll(io.BytesIO(CONLLU.encode()), [1])
    assert one.comments == ("# sent_id = 1", "# text = Vámonos al\tmar")
    assert (one.path, one.line, two.line) == ("<stream>", 1, 12)


def test_conllu_plus_says_what_its_columns_are():
    text = "# global.columns = ID FORM TAG\n1\ta\tX\n2-3\tbc\t_\n2\tb\tY\n3\tc\tY\n"
    assert read(text, ["tag", "form"]) == [[("X", "a"), ("Y", "b"), ("Y", "c")]]


def test_conll_2003():
    assert read(CONLL2003, [0, -1]) == [[("EU", "B-ORG"), ("rejects", "O")], [("Peter", "B-PER")]]
    assert read(CONLL2003.replace("-DOCSTART- -X- -X- O\n\n", "-DOCSTART-\n"), [3])[1] == [("B-PER",)]
    assert read("-DOCSTART-X O\n") == [[("-DOCSTART-X", "O")]]


def test_columns_between_blanks_of_any_number():
    text = "a  b \t c \n\td e f\n \t \n\ng h i"
    assert read(text, separator="blanks") == [[("a", "b", "c"), ("d", "e", "f")], [("g", "h", "i")]]
    assert read("a  b c \n d\te f\n") == [[("a", "b", "c"), ("d", "e", "f")]]
    assert read("a b\tc\nd\te\n") == [[("a b", "c"), ("d", "e")]]
    assert read("a b\tc d\n", separator="blanks") == [[("a", "b", "c", "d")]]
    assert read("a b\nc\n", separator="tab") == [[("a b",), ("c",)]]
    assert read("10\u00a0000 CD\n") == [[("10\u00a0000", "CD")]]
    assert read("a\x0bb c\u2028\n") == [[("a\x0bb", "c\u2028")]]


def test_a_line_that_begins_with_a_hash():
    assert read("# a comment\nthe DT\n# #\n3.5 CD\n# another one\n") == [[("the", "DT"), ("#", "#"), ("3.5", "CD")]]
    assert read("#\t#\n5\tCD\n") == [[("#", "#"), ("5", "CD")]]
    assert read("the DT\n# #\n", comments=True) == [[("the", "DT")]]
    assert read("# #\nthe DT\n", comments=False) == [[("#", "#"), ("the", "DT")]]


def test_labels_are_no_part_of_tokens_unless_they_are_asked_for():
    (sentence,) = read_conll(io.BytesIO(b"a X B\nb Y I\n"), label=-1)
    assert (list(sentence), sentence.labels) == ([("a", "X"), ("b", "Y")], ["B", "I"])
    (sentence,) = read_conll(io.BytesIO(b"a X B\nb Y I\n"), [2, 0], label=2)
    assert (list(sentence), sentence.labels) == ([("B", "a"), ("I", "b")], ["B", "I"])
    one, two = read_conll(io.BytesIO(CONLLU.encode()), ["form"], label="upos")
    assert (one.labels, two.labels) == (["VERB", "PRON", "ADP", "DET", "NOUN"], ["SYM", "PROPN"])
    (sentence,) = read_conll(io.BytesIO(b"a\nb\n"), label=0)
    assert (list(sentence), sentence.labels) == ([(), ()], ["a", "b"])
    assert next(iter(read_conll(io.BytesIO(b"a X\n")))).labels is None
    with pytest.raises(ReadError, match="line 2: a column is empty"):
        read("a\tX\nb\t\n", [0], label=1)


def test_lines_that_are_no_tokens_stay_in_a_tagged_sentence():
    tags = iter(range(100))
    found = "".join(
        sentence.tagged([str(next(tags)) for _ in sentence], inside=True)
        for sentence in read_conll(io.BytesIO(CONLLU.encode()), ["form"], label="xpos")
    )
    expected = CONLLU
    for number, tag in enumerate(["V", "P", "S", "D", "N", "X", "N"]):
        expected = expected.replace(f"\t{tag}\t_\t", f"\t{number}\t_\t", 1)
    assert found == expected + "\n"


def test_tags_stand_behind_the_other_columns():
    (sentence,) = read_conll(io.BytesIO(b"# one\na  X\nb Y\n"))
    assert sentence.tagged(["B", "I"], ["1", "2"]) == "# one\na  X B 1\nb Y I 2\n\n"
    (sentence,) = read_conll(io.BytesIO(b"a\tX\nb c\tY\n"))
    assert sentence.tagged(["B", "I"]) == "a\tX\tB\nb c\tY\tI\n\n"
    (sentence,) = read_conll(io.BytesIO(b"a\nb\n"))
    assert sentence.tagged(["B", "I"]) == "a\tB\nb\tI\n\n"


def test_blocks_are_what_is_whole():
    found = list(read_conll(io.BytesIO(b"a X\n\n" * 10)).blocks(20))
    assert 2 <= len(found) <= 10
    assert [sentence for block in found for sentence in block] == [[("a", "X")]] * 10


def test_nothing_is_no_sentence():
    assert read("") == read("\n\n \n") == read("# a comment\n\n# another\n") == []


def test_bytes_that_are_no_text():
    data = b"a X\n\xff Y\n\nb X\n"
    with pytest.raises(ReadError, match=r"<stream>, line 2: the byte 0xff is not utf-8; errors='replace' reads it"):
        read(data)
    assert read(data, errors="replace")[0][1] == ("\ufffd", "Y")
    assert read(data, encoding="latin-1")[0][1] == ("ÿ", "Y")
    assert read(data, on_error="skip") == [[("b", "X")]]


def test_malformed_lines_are_named_or_their_sentences_left_out():
    text = "a X\nb\n\nc Y\n\nd X Y\ne X\n"
    with pytest.raises(ReadError, match="<stream>, line 2: the line has 1 column, and the first token 2"):
        read(text)
    reader = read_conll(io.BytesIO(text.encode()), on_error="skip")
    assert [list(sentence) for sentence in reader] == [[("c", "Y")]]
    assert [(one.line, one.what) for one in reader.skipped.first] == [
        (2, "the line has 1 column, and the first token 2"),
        (6, "the line has 3 columns, and the first token 2"),
    ]
    with pytest.raises(ReadError, match="line 2: a column is empty"):
        read("a\tX\tY\nb\t\tY\n")
    assert read("\tX\tY\n", [1]) == [[("X",)]]
    assert read("a\tX\tY\nb\t\tY\n", [0, 2]) == [[("a", "Y"), ("b", "Y")]]


@pytest.mark.parametrize(
    "columns, message",
    [
        ([3], "<stream>: there is no column 3: there are 3, from 0 on"),
        ([-4], "there is no column -4"),
        (["upos"], "the 3 columns have no names, as they do in CoNLL-U; say the number of 'upos'"),
        ([], "columns is empty"),
    ],
)
def test_columns_that_are_not_there(columns, message):
    with pytest.raises(ValueError, match=message):
        read("a b c\n", columns)


def test_names_of_columns_are_checked():
    with pytest.raises(ValueError, match=r"a column must be one of 'id', .*got 'upoz'; did you mean 'upos'\?"):
        read(CONLLU, ["upoz"])


@pytest.mark.parametrize("columns", ["form", 3, [1.5], [True]])
def test_columns_that_are_none(columns):
    with pytest.raises(TypeError, match="columns must be"):
        read("a b\n", columns)


def test_options_are_checked():
    with pytest.raises(ValueError, match="separator must be one of 'tab', 'blanks', got 'tabs'; did you mean 'tab'"):
        read("", separator="tabs")
    with pytest.raises(ValueError, match="on_error must be one of"):
        read("", on_error="ignore")


def test_files(tmp_path):
    sentences = [[("a", "X"), ("b", "Y")], [("c", "X")]]
    for name, opened in (("plain.conll", open), ("packed.gz", gzip.open), ("packed.bz2", bz2.open)):
        write_conll(sentences, tmp_path / name)
        with opened(tmp_path / name, "rb") as file:
            assert file.read() == b"a\tX\nb\tY\n\nc\tX\n\n"
        assert list(read_conll(tmp_path / name)) == sentences
    reader = read_conll([tmp_path / "plain.conll", tmp_path / "packed.gz"])
    assert list(reader) == list(reader) == sentences * 2
    with pytest.raises(FileNotFoundError):
        read_conll(tmp_path / "missing.conll")


def test_a_file_whose_writing_fails_stays_as_it_was(tmp_path):
    path = tmp_path / "x.conll"
    write_conll([["a"]], path)
    with pytest.raises(ValueError, match="sequence 1, token 0: 'b c' is nothing that a column can hold"):
        write_conll([["x"], ["b c"]], path, separator=" ")
    assert path.read_bytes() == b"a\n\n"


def test_labels_are_another_column():
    file = io.BytesIO()
    sentences = list(read_conll(io.BytesIO(b"# one\n# two words\na X\n")))
    write_conll(sentences, file, [["B"]])
    assert file.getvalue() == b"# one\n# two words\na\tX\tB\n\n"
    write_conll([["a", "b"]], file, [[1, 2]])
    assert file.getvalue().endswith(b"a\t1\nb\t2\n\n")
    with pytest.raises(ValueError, match="sequence 0 has 2 tokens and 1 labels"):
        write_conll([["a", "b"]], io.BytesIO(), [["X"]])
    with pytest.raises(ValueError, match="zip"):
        write_conll([["a"]], io.BytesIO(), [])


def test_a_sign_for_labels_that_are_not_known():
    (sentence,) = read_conll(io.BytesIO(b"? ?\nb I\n"), label=-1, unknown_label="?")
    assert (list(sentence), sentence.labels) == ([("?",), ("b",)], [None, "I"])
    (sentence,) = read_conll(io.BytesIO(b"? ?\nb I\n"), label=-1)
    assert sentence.labels == ["?", "I"]


class Endless(io.RawIOBase):
    """A file of the same sentence again and again, of which nothing is kept."""

    def __init__(self, times):
        self.left = times

    def readable(self):
        return True

    def read(self, size=-1):
        if not self.left:
            return b""
        self.left -= 1
        return b"word TAG\nother TAG\n\n" * 1000


def test_no_more_than_a_block_is_in_memory():
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_conll(Endless(5))) == 5_000
        small = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        assert sum(1 for _ in read_conll(Endless(50))) == 50_000
        assert tracemalloc.get_traced_memory()[1] < 1.5 * small
    finally:
        tracemalloc.stop()


# --- nothing is lost --------------------------------------------------------------------------------------------------

fields = st.text("ab#-é\u00a0", min_size=1, max_size=3)
empty_lines = st.sampled_from(["", " ", "\t", "-DOCSTART-", "-DOCSTART- -X- O"])


@st.composite
def files(draw):
    """The lines of a file, which of them are tokens, and what ends them."""
    by_tab, width = draw(st.booleans()), draw(st.integers(2, 3))
    lines, tokens = [], []
    for _ in range(draw(st.integers(1, 4))):
        lines += draw(st.lists(empty_lines, max_size=3))
        lines += draw(st.lists(st.sampled_from(["# a longer comment, of many words", "#"]), max_size=2))
        for _ in range(draw(st.integers(1, 3))):
            columns = [draw(fields.filter(lambda word: word[0] not in "#-")), *draw(st.tuples(*[fields] * (width - 1)))]
            blanks = (
                ["\t"] * (width - 1)
                if by_tab
                else draw(st.tuples(*[st.sampled_from([" ", "  ", " \t"])] * (width - 1)))
            )
            tokens.append((len(lines), columns))
            lines.append("".join(a + b for a, b in zip(columns, [*blanks, ""], strict=True)))
        lines += draw(st.lists(empty_lines, min_size=1, max_size=3).filter(lambda some: "" in some))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return lines, tokens, end, "tab" if by_tab else "blanks"


@given(files(), st.booleans(), st.integers(1, 40))
def test_what_is_tagged_keeps_every_byte_that_is_no_tag(file, inside, size):
    lines, tokens, end, separator = file
    text = "".join(line + end for line in lines)
    reader = read_conll(io.BytesIO(text.encode()), label=1 if inside else None, separator=separator)
    found, tagged = [], ""
    for block in reader.blocks(size):
        for sentence in block:
            found += sentence
            tagged += sentence.tagged([f"T{place}" for place in range(len(sentence))], inside=inside)
    tagged += reader.rest
    assert len(found) == len(tokens)
    places = dict(tokens)
    back = tagged.split(end) if end != "\r" else tagged.split("\r")
    assert len(back) == len(lines) + 1
    for place, (line, one) in enumerate(zip(lines, back, strict=False)):
        if place not in places:
            assert one == line
        elif inside:
            label = places[place][1]
            assert any(
                one == f"{line[:at]}T{n}{line[at + len(label) :]}"
                for at in range(len(line))
                if line.startswith(label, at)
                for n in range(3)
            )
        else:
            assert one[: len(line)] == line
            assert one[len(line) + 1 :].startswith("T")


def test_document_boundaries_stay_in_front_of_the_sentence_behind_them():
    one, two = read_conll(io.BytesIO(CONLL2003.encode()), label=-1)
    assert (one.lines[:2], one.start, one.line) == (["-DOCSTART- -X- -X- O", ""], 2, 3)
    assert "".join(sentence.tagged(sentence.labels, inside=True) for sentence in (one, two)) == CONLL2003 + "\n"
    assert two.tagged(["X"], comment="# p").endswith("O\n\n# p\nPeter NNP B-NP B-PER X\n\n")


def test_what_stands_behind_the_last_sentence_goes_before_the_next_file(tmp_path):
    (tmp_path / "a.conll").write_text("a X\n\n\n-DOCSTART- O\n")
    (tmp_path / "b.conll").write_text("b Y\n\n# the end\n")
    reader = read_conll([tmp_path / "a.conll", tmp_path / "b.conll"])
    assert "".join(sentence.tagged(["T"]) for sentence in reader) == "a X T\n\n\n-DOCSTART- O\nb Y T\n\n"
    assert reader.rest == "# the end\n"


hashes = st.lists(st.lists(st.sampled_from(["#", "#b", "c"]), min_size=1, max_size=3), min_size=1, max_size=4)


@given(hashes)
def test_a_hash_is_a_token_where_tokens_have_one_column(sentences):
    file = io.BytesIO()
    write_conll(sentences, file)
    assert [[token for (token,) in sentence] for sentence in read(file.getvalue())] == sentences
