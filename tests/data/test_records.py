"""The engine's readers of records and the parsers of the formats: the same rows, the same errors, whatever the file."""

import io
import json
import random
import re
import time
import tracemalloc

import pytest

from fastlin.data import ReadError, read
from fastlin.data.readers import delimited, line_formats
from fastlin.data.readers.parsed_records import NumberedLabels
from fastlin.engine.text.records import FieldReader, ObjectReader, skip_lines
from fastlin.engine.text.vectorizer import StringSlices

HOSTILE = "abc ,\t\"\n\r\\'é😀\0x{}[]:\u2028\x0b\x1c"
PIECES = [
    b'"',
    b'""',
    b"\xff",
    b"\xed\xa0\x80",
    b"\0",
    b"\r",
    b"\n",
    b",",
    b"\\",
    b"{",
    b"}",
    b"\xc3",
    b"\t",
    b"\\u",
    b"\x01",
]
LINES = [
    "", "  ", "\t", "\x1c", "[]", "1", "{}", "nul", "{", '{"label":"a","text":"b"', '{"label":"a" "text":"b"}',
    '{"label": NaN, "text": ""}', '{"label":"a","text":"b","z":Infinity}', '{"text":"\\ud800","label":1}',
    '{"text":"\\ud83d\\ude00\\u00e9\\u20AC","label":"a"}', '{"text":"a","label":01}', '{"text":"a","label":"b"} x',
    '{"text":"a","label":"b","z":' + "[" * 70 + "]" * 70 + "}", '{"text":"a","label":"b","z":-}',
    '{"text":"a","label":"b","z":1.}', '{"text":"a","label":"b","z":-0.5e+10}', '{"text":"a","label":"b","z":1,}',
    '{"text":"a","label":"b","z":{"q":[}]}', '{"te\\u0078t":"a","label":"b"}', '{"text":"a","label":"b","z":"\\x"}',
    '{"text":"a","label":"b","text":1}', '{"text":"a","text":"c","label":"b"}', '{"text":"a","label":1e999}',
    '{"text":"a","label":"b","z":"\\udc00"}', '{"text":"a","label":"b","z":{"y":"\\ud800"}}', '{"text":null,"label":1}',
    '{"text":"a","label":"b","z":' + "1" * 5000 + "}", '{"text":{"x":1,"y":"é"},"label":true}',
    '{"text":"a","label":-1.50}',
    "{" + '"a":' * 3, '{"text":"\\ud83d\\u0041","label":1}', '{"text":"\\u12g4","label":1}', '{"text":"a\\',
]  # fmt: skip
COLUMNS = [{}, {"label": None}, {"text": ["text", "id"]}, {"weight": "w"}, {"keep": ["id", "é"]}, {"keep": "text"}]
DELIMITED = [{"label": "label", "text": "text", **options} for options in COLUMNS[1:]] + [{}, {}, {"header": False}]
FORMS = {"csv": DELIMITED, "tsv": [*DELIMITED, {"label": None}, {}, {}, {}], "jsonl": COLUMNS, "lines": [{}]}


def some_text(rng):
    pool = HOSTILE if rng.random() < 0.5 else "abcdef ghi"
    return "".join(rng.choice(pool) for _ in range(rng.choice([0, 1, 3, 10, 40, 200])))


def quoted(rng, text):
    return '"' + text.replace('"', '""') + '"' if rng.random() < 0.6 or any(one in text for one in ',"\r\n') else text


def record(rng):
    """An object as JSON, most often with the fields that are looked for."""
    values = [1, 0, -2.5, 1e300, True, None, {"a": 1, "b": some_text(rng)}, [1, [2, {"x": 'y\\"'}]], 10**30]
    found = {name: rng.choice([*values, some_text(rng)]) for name in rng.sample(["w", "id", "é", "title"], 4)}
    found |= {"label": rng.choice("ab") if rng.random() < 0.8 else 3, "text": some_text(rng)}
    found["w"] = rng.choice([1, 2.5, 0]) if rng.random() < 0.9 else found["w"]
    names = rng.sample(list(found), rng.choice([5, 6, 6, 6, 6]))
    separators = rng.choice([(",", ":"), (", ", ": "), (" ,\t", " :  ")])
    return json.dumps({name: found[name] for name in names}, ensure_ascii=rng.random() < 0.5, separators=separators)


def some_file(rng, form):
    """A file that is well formed, or nearly so."""
    n = rng.choice([0, 1, 2, 5, 30])
    if form == "jsonl":
        lines = [record(rng) if rng.random() < 0.9 else rng.choice(LINES) for _ in range(n)]
    elif form == "lines":
        lines = [some_text(rng) for _ in range(n)]
    else:
        names = rng.choice(
            [["label", "text"], ["text", "label"], ["id", "label", "text", "w", "é"], ["label", "text", "w"]]
        )
        cell = quoted if form == "csv" else lambda _, text: re.sub("[\r\n\t]", " ", text)
        rows = [[cell(rng, some_text(rng)) for _ in names] for _ in range(n)]
        rows = [
            [rng.choice(["1", "0.5", "x"]) if name == "w" else one for name, one in zip(names, row, strict=True)]
            for row in rows
        ]
        lines = [{"csv": ",", "tsv": "\t"}[form].join(row) for row in [names, *rows] if rng.random() < 0.97]
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    data = bytearray((end.join(lines) + rng.choice([end, ""])).encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice([0, 0, 0, 1, 1, 5])):
        place = rng.randrange(len(data) + 1)
        data[place : place + rng.choice([0, 1, 20])] = rng.choice(PIECES)
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + bytes(data)


def outcome(data, form, in_place=False, **options):
    """All that a reader gives: rows, and what was left out; or the error."""
    rows, lines = [], []
    reader = read(io.BytesIO(data), form, **options)
    reader.in_place = in_place
    try:
        for found in reader:
            n = len(found.texts)
            weights = [None] * n if found.weights is None else found.weights.tolist()
            kept = [list(map(repr, values)) for values in (found.columns or {}).values()]
            rows += zip(map(repr, found.texts), found.labels or [None] * n, weights, *kept, strict=True)
            if isinstance(found.labels, NumberedLabels):
                assert found.labels.distinct() == set(found.labels)
            lines.append(found.line)
    except ValueError as error:
        return type(error), str(error)
    return rows, lines, reader.skipped.count, list(map(str, reader.skipped.first))


@pytest.mark.parametrize("form", FORMS)
def test_the_engine_reads_what_the_parsers_read(form, monkeypatch):
    rng, n_errors = random.Random(0), 0
    for _ in range(500):
        data = some_file(rng, form)
        options = dict(
            rng.choice(FORMS[form]), on_error=rng.choice(["raise", "skip"]), block=rng.choice([1, 60, 1 << 20])
        )
        options |= {"errors": rng.choice(["strict", "strict", "replace", "ignore", "surrogateescape"])}
        with monkeypatch.context() as patched:
            patched.setattr(delimited, "SPLIT_BYTES", 1)  # the engine has the rest
            found = outcome(data, form, **options)
            assert outcome(data, form, in_place=True, **options) == found, (data, options)
            patched.setattr(delimited, "SPLIT_BYTES", 1 << 30)
            patched.setattr(delimited, "delimited_columns", lambda *_, **__: None)
            patched.setattr(line_formats, "delimited_columns", lambda *_, **__: None)
            patched.setattr(line_formats.JsonLines, "columns", lambda _: None)
            wanted = outcome(data, form, **options)
        n_errors += len(found) == 2
        if form == "csv" and found != wanted:  # of several errors in a block, the parser tells first of quotes
            assert len(found) == len(wanted)
            if len(found) == 2:
                assert line_of(found[1]) <= line_of(wanted[1]), (data, options, found, wanted)
                continue
            found, wanted = (*found[:3], sorted(found[3])), (*wanted[:3], sorted(wanted[3]))
            found, wanted = (found[:3], wanted[:3]) if found[2] > 5 else (found, wanted)
        assert found == wanted, (data, options)
    assert form == "lines" or 20 < n_errors < 400


def line_of(message):
    return int(re.search(r"line (\d+)", message)[1])


@pytest.mark.parametrize("line", LINES)
def test_the_engine_leaves_lines_of_json_to_the_parser_or_reads_the_same(line, monkeypatch):
    data = f'{{"label": "a", "text": "b"}}\n{line}\n{{"label": "a", "text": "c"}}'.encode()
    found = outcome(data, "jsonl", on_error="skip")
    monkeypatch.setattr(line_formats.JsonLines, "columns", lambda _: None)
    assert found == outcome(data, "jsonl", on_error="skip")


def test_most_records_never_see_the_parsers(monkeypatch):
    """Or the engine would not be there."""
    monkeypatch.setattr(line_formats.JsonLines, "record", None)
    monkeypatch.setattr(delimited.Csv, "split", None)
    values = {
        "label": "a",
        "text": 'say "é" \n',
        "z": [1, {"a": None}],
        "y": -1.5e3,
        "x": {"b": "]"},
        "w": "\U0001f600",
    }
    lines = [json.dumps(values, ensure_ascii=even) for even in (True, False)]
    (found,) = read(io.BytesIO("\r\n".join([*lines, ""]).encode()), "jsonl", keep=["x", "w"])
    assert found.texts == [values["text"]] * 2
    assert found.columns == {"x": [{"b": "]"}] * 2, "w": ["\U0001f600"] * 2}
    columns, stop = FieldReader(ord(","), [-1, 1, 0], 1, True, False, False).read(
        b'\n"a,""b",l,"x ""y"""\r\n\r"","",rest', 0
    )
    assert (columns, stop) == ([['x "y"'], ["l"]], 23)


@pytest.mark.parametrize("bad", [b'a,b"c\n', b'a,"c\n'])
def test_the_engine_goes_on_behind_what_is_malformed(bad, monkeypatch):
    """Also behind a quoted field without an end, for which the parser has to look at all of the file."""
    parsed, split = [], delimited.Csv.split

    def counted(self, *arguments):
        found = split(self, *arguments)
        parsed.extend(found.records)
        return found

    monkeypatch.setattr(delimited.Csv, "split", counted)
    good = b"a,some text\n" * 8_000
    reader = read(io.BytesIO(b"label,text\n" + good + bad + good), "csv", on_error="skip")
    assert sum(len(block.texts) for block in reader) == 16_000
    assert [error.line for error in reader.skipped.first] == [8_002]
    assert len(parsed) < 1_000


def test_texts_are_left_where_they_lie():
    """Of fields that stand in a file as they are, no string is made before somebody asks for it."""
    lines = b"label,text\nb,one two\n" + b'a,"x, y"\n"b""",caf\xc3\xa9\na,"q""q"\n,\n' * 3
    reader = read(io.BytesIO(lines), "csv", block=60)
    reader.in_place = True
    first, *others = reader
    assert isinstance(first.texts, list)  # which the parser looked at, for the header
    for found in others:
        assert isinstance(found.texts, StringSlices)
        assert isinstance(found.labels, NumberedLabels)
        assert set(found.texts.others.values()) <= {"café", 'q"q'}
        assert found.texts.mapped(str.upper)[0] == (
            found.texts[0].upper() if 0 in found.texts.others else found.texts[0]
        )
        with pytest.raises(IndexError):
            found.texts[len(found.texts)]
    rows = [pair for found in [first, *others] for pair in zip(found.labels, found.texts, strict=True)]
    assert rows == [("b", "one two"), *[("a", "x, y"), ('b"', "café"), ("a", 'q"q'), ("", "")] * 3]


def test_strings_that_nobody_wants_are_not_kept():
    reader = ObjectReader([b"text"], [str], [True], str, -1)
    lines = b"".join(b'{"text": "a", "z": "%0500d", "y": "\xc3\xa9%0500d"}\n' % (n, n) for n in range(2_000))
    tracemalloc.start()
    try:
        columns, stop = reader.read(lines, 0)
        assert (len(columns[0]), stop) == (2_000, len(lines))
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()
    with pytest.raises(ReadError, match="0xff"):
        list(read(io.BytesIO(b'{"text": "a", "z": "\xff"}\n'), "jsonl", label=None))


def test_time_is_linear_in_lines_that_are_left_out():
    """Also where every record is left to the parser, and a quoted field ends with the file."""
    bad = {"jsonl": b'{"label": "a", "text": \xff}\n', "tsv": b"no tab\n", "csv": b'a,b"c\n'}
    for form, line in bad.items():
        spent = []
        for n in (2_000, 16_000):
            data = (b"label,text\n" if form == "csv" else b"") + line * n + b'a,"'
            started = time.process_time()
            reader = read(io.BytesIO(data), form, on_error="skip", label="label" if form == "csv" else ...)
            assert not list(reader)
            assert reader.skipped.count == n + 1
            spent.append(time.process_time() - started)
        assert spent[1] < 30 * spent[0] + 0.1, (form, spent)


def test_readers_refuse_what_would_lead_them_astray():
    with pytest.raises(ValueError, match="delimiter"):
        FieldReader(200, [0], -1, False, False, False)
    with pytest.raises(ValueError, match="each column must be one field"):
        FieldReader(9, [0, 0], -1, False, False, False)
    with pytest.raises(ValueError, match="names must be different"):
        ObjectReader([b"a", b"a"], [str, str], [True, True], str, -1)
    reader = FieldReader(9, [0, 1], -1, False, False, False)
    for start in (-1, 5):
        with pytest.raises(ValueError, match="cannot begin"):
            reader.read(b"a\tb\n", start)
        with pytest.raises(ValueError, match="cannot begin"):
            skip_lines(b"a\tb\n", start, 1)
    for text in (b"", b"a", b"a\t", b"a\tb", b"\t"):  # no line end: not whole
        assert reader.read(text, 0) == ([[], []], 0)
    assert [skip_lines(b"a\r\nb\rc\n\nd", 0, n) for n in range(7)] == [0, 3, 5, 7, 8, 9, 9]
    with pytest.raises(ReadError, match=r"line 2: the byte 0xff is not utf-8"):
        list(read(io.BytesIO(b'{"label": "a", "text": ""}\n{"label": "a", "text": "", "z": "\xff"}'), "jsonl"))
