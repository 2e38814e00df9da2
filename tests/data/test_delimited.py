"""Which columns are the label and the text: said by the header or by the caller, and never guessed."""

import io
import itertools

import numpy as np
import pytest

from fastlin.data import ReadError, read
from fastlin.data.errors import UnknownColumnsError

REVIEWS = "review,sentiment\ngood day,up\nbad day,down\nfine,up\n"
LABELS, TEXTS = ["up", "down", "up"], ["good day", "bad day", "fine"]


def gather(data, form="csv", /, **options):
    found = list(read(io.BytesIO(data if isinstance(data, bytes) else data.encode()), form, **options))
    labels = None if any(each.labels is None for each in found) else [label for each in found for label in each.labels]
    return labels, [one for each in found for one in each.texts]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("options", [{}, {"header": True}, {"label": None}, {"header": True, "label": None}])
def test_a_header_of_two_unknown_names_is_refused(options, delimiter):
    text = REVIEWS.replace(",", delimiter)
    with pytest.raises(
        UnknownColumnsError, match=r"line 1: say which columns .* 0: 'review', 1: 'sentiment'"
    ) as caught:
        gather(text, delimiter=delimiter, **options)
    assert caught.value.columns == ["review", "sentiment"]
    assert isinstance(caught.value, ReadError)
    if options.get("header") and "label" not in options:
        with pytest.raises(UnknownColumnsError):
            gather(text.replace(delimiter, "\t"), "tsv", **options)


@pytest.mark.parametrize(
    "options",
    [
        {"label": "sentiment", "text": "review"},
        {"label": "sentiment"},
        {"text": "review"},
        {"label": 1, "header": True},
        {"text": 0, "header": True},
        {"label": 1, "text": 0, "header": True},
    ],
)
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_of_two_columns_the_other_is_what_was_not_named(form, options):
    text = REVIEWS if form == "csv" else REVIEWS.replace(",", "\t")
    assert gather(text, form, **options) == (LABELS, TEXTS)


def test_without_a_header_the_label_comes_first_if_that_is_said():
    assert gather("up,good\ndown,bad\n", header=False) == (["up", "down"], ["good", "bad"])
    assert gather("up,good\ndown,bad\n", label=0) == gather("up,good\ndown,bad\n", header=False)
    assert gather("up\tgood\ndown\tbad\n", "tsv") == gather("up,good\ndown,bad\n", header=False)


def test_texts_alone_need_no_label_column():
    for text in ("body,id\na,1\nb,2\n", "id,body\n1,a\n2,b\n", "body\na\nb\n"):
        assert gather(text, label=None, text="body") == (None, ["a", "b"])
    assert gather("id,text\n1,a\n", label=None) == (None, ["a"])
    assert gather("a\nb\n", label=None) == (None, ["a", "b"])
    with pytest.raises(ReadError, match="there is no column 'body' among 'text', 'label'"):
        gather("text,label\na,1\n", label=None, text="body")


def test_a_name_that_two_columns_have_is_refused():
    with pytest.raises(ReadError, match="2 columns are called 'text'; say which by number"):
        gather("label,text,text\na,b,c\n")
    with pytest.raises(ReadError, match="2 columns are called 'body'"):
        gather("label,body,body\na,b,c\n", label="label", text="body")
    assert gather("label,text,text\na,b,c\n", label=0, text=2, header=True) == (["a"], ["c"])


@pytest.mark.parametrize("block", [1, 5, 10**6])
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_empty_lines_before_the_header_are_no_header(form, block):
    text = f"\n\r\n\n\n{REVIEWS}\n".replace(",", "," if form == "csv" else "\t")
    assert gather(text, form, block=block, label="sentiment", text="review") == (LABELS, TEXTS)
    plain = "\n\n\nlabel,text\nup,good\n".replace(",", "," if form == "csv" else "\t")
    assert gather(plain, form, block=block) == (["up"], ["good"])
    with pytest.raises(ReadError, match="line 5: there is no column 'x'"):
        gather(text, form, block=block, label="x", text="review")


@pytest.mark.parametrize("block", [1, 10**6])
def test_an_empty_field_in_quotes_is_a_record(block):
    text = 'body\n""\n\nb\n""\n\n'
    assert gather(text, label=None, text="body", block=block) == (None, ["", "b", ""])
    assert gather('""\n""\n', label=None, block=block) == (None, ["", ""])
    assert gather('"id",x\n"",\n', label=None, text="id", block=block) == (None, [""])


@pytest.mark.parametrize("block", [1, 30, 10**6])
def test_lines_are_counted_behind_records_that_are_left_out(block):
    text = 'label,text\n"a\nb","c"x\nd,e\n\n\n"f\ng",x"y\nh\n'
    reader = read(io.BytesIO(text.encode()), "csv", on_error="skip", block=block)
    assert [one for each in reader for one in each.labels] == ["d"]
    assert [error.line for error in reader.skipped.first] == [2, 7, 9]
    assert [lines for each in read(io.BytesIO(b"\n\nlabel,text\n\na,b\n"), "csv") for lines in [each.line]] == [5]


@pytest.mark.parametrize("block", [1, 10**6])
def test_a_first_line_that_cannot_be_decoded_is_a_malformed_one(block):
    data = b"a\xff\tx\nb\ty\nc\tz\n"
    assert gather(data, "tsv", on_error="skip", block=block) == (["b", "c"], ["y", "z"])
    with pytest.raises(ReadError, match=r"line 1: the byte 0xff is not utf-8"):
        gather(data, "tsv", block=block)


def test_pieces_of_a_file_with_a_header(tmp_path):
    for name, text in {"a": "text\tlabel\ngood\tup\n", "b": "bad\tdown\n", "c": "label\ttext\nup\tgood\n"}.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    for names in ("ab", "ba", "cab"):
        with pytest.raises(ReadError, match="some of the files begin with a header, some with a document"):
            list(read([tmp_path / f"{name}.tsv" for name in names]))
    for names in ("ac", "ca", "bc", "cb", "aa", "bb"):
        found = list(read([tmp_path / f"{name}.tsv" for name in names]))
        assert [len(each.texts) for each in found] == [1, 1]


def test_several_columns_of_text_become_one():
    text = 'title,label,body\nGoal,up,"a ball, red"\n,down,soup\n'
    expected = (["up", "down"], ["Goal\na ball, red", "\nsoup"])
    assert gather(text, label="label", text=["title", "body"]) == expected
    assert gather(text, label=1, text=[0, 2], header=True) == expected
    assert gather(text, text=["title", "body"]) == expected
    assert gather(text, label="label", text=("body", "title"))[1][0] == "a ball, red\nGoal"
    lines = '{"title": "Goal", "body": "a ball", "label": 1}\n'
    assert gather(lines, "jsonl", text=["title", "body"]) == (["1"], ["Goal\na ball"])
    with pytest.raises(ReadError, match="cannot be joined"):
        gather('{"title": {"a": 1}, "body": "a ball", "label": 1}\n', "jsonl", text=["title", "body"])
    with pytest.raises(ValueError, match="names a column twice"):
        gather(text, text=["body", "body"])
    with pytest.raises(TypeError, match="text must be the number or the name"):
        gather(text, text=[])


@pytest.mark.parametrize("block", [1, 10**6])
def test_columns_are_kept_beside_the_texts(block):
    text = 'id,label,text,n\n7,up,good,1\nbroken\n8,down,"bad\nday",2\n'
    reader = read(io.BytesIO(text.encode()), "csv", keep=["id", "n"], on_error="skip", block=block)
    found = list(reader)
    assert [one for each in found for one in each.columns["id"]] == ["7", "8"]
    assert [one for each in found for one in each.columns["n"]] == ["1", "2"]
    assert reader.skipped.count == 1
    (found,) = read(io.BytesIO(b'{"id": [1], "text": "a", "label": "b"}\n'), "jsonl", keep="id")
    assert found.columns == {"id": [[1]]}
    (found,) = read(io.BytesIO(b"1\ta\tb\n"), "tsv", keep=0)
    assert (found.labels, found.texts, found.columns) == (["a"], ["b"], {0: ["1"]})
    with pytest.raises(ValueError, match="keep='id' means nothing for lines"):
        read(io.BytesIO(b"a\n"), "lines", keep="id")


HARD = [
    "",
    " ",
    "a",
    '"',
    '""',
    ",",
    "\n",
    "\r\n",
    "\r",
    "a,b",
    'say "so"',
    "\u2028",
    "\x0b\x1c\x85",
    "\0",
    "é😀",
    "\ufeff",
    "x" * 300,
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_no_row_is_lost_that_was_quoted_as_it_should(end):
    rng = np.random.default_rng(len(end) + ord(end[0]))
    for everything, block in itertools.product((True, False), (1, 2, 3, 50, 10**6)):
        rows = [[HARD[k] for k in rng.integers(0, len(HARD), 3)] for _ in range(60)]
        lines = [",".join(quoted(field, everything) for field in row) for row in [["label", "text", "id"], *rows]]
        data = (end.join(lines) + end).encode()
        for mark in (b"", b"\xef\xbb\xbf"):
            for cut in (data, data.removesuffix(end.encode())):
                found = list(read(Dribble(mark + cut), "csv", keep="id", block=block))
                got = zip(*([one for each in found for one in part(each)] for part in PARTS), strict=True)
                assert list(map(list, got)) == rows


def quoted(field, everything):
    return '"{}"'.format(field.replace('"', '""')) if everything or set(field) & set(',"\r\n') else field


PARTS = (lambda each: each.labels, lambda each: each.texts, lambda each: each.columns["id"])


class Dribble:
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data, most=3):
        self._file, self._most = io.BytesIO(data), most

    def read(self, size=-1):
        return self._file.read(min(size, self._most) if size >= 0 else self._most)
