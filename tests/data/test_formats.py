"""The formats of text, and Arrow's: what they hold, and what is said of a malformed line."""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import DictVectorizer, FeatureHasher, HashingVectorizer
from fastlin.data import Block, ReadError, read

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ONE_LINE = WORDS.map(lambda text: text.replace("\n", "").replace("\r", ""))
LABEL = ONE_LINE.map(lambda text: text.replace("\t", ""))
BLOCKS = st.sampled_from([1, 7, 50, 10**6])


def gather(data, form, /, **options):
    """labels, texts, weights of all blocks."""
    found = list(read(io.BytesIO(data if isinstance(data, bytes) else data.encode()), form, **options))
    if not found:
        return [], [], None
    labels = None if any(each.labels is None for each in found) else [label for each in found for label in each.labels]
    weights = None if any(each.weights is None for each in found) else [w for each in found for w in each.weights]
    return labels, [one for each in found for one in each.texts], weights


def refused(data, form, match, /, **options):
    with pytest.raises(ReadError, match=match) as caught:
        gather(data, form, **options)
    return caught.value.line


# --- TSV -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(LABEL, ONE_LINE), max_size=20), st.sampled_from(["\n", "\r\n", "\r"]), BLOCKS)
def test_tsv_is_read_as_it_was_written(rows, end, block):
    rows = [row for row in rows if [name.lower() for name in row] not in (["label", "text"], ["text", "label"])]
    text = "".join(f"{label}\t{one}{end}" for label, one in rows)
    assert gather(text.removeprefix("\ufeff"), "tsv", block=block) == ([r[0] for r in rows], [r[1] for r in rows], None)


def test_tsv_keeps_tabs_empty_texts_empty_labels_and_quotes():
    assert gather('a\t"b\tc"\n\tno label\nc\t\n', "tsv") == (["a", "", "c"], ['"b\tc"', "no label", ""], None)


def test_tsv_by_number_by_name_and_without_labels():
    text = "id\tlabel\tw\tbody\n1\tspam\t2\tbuy\n2\tham\t.5\tsee you\n"
    named = {"label": "label", "text": "body"}
    assert gather(text, "tsv", **named) == (["spam", "ham"], ["buy", "see you"], None)
    assert gather(text, "tsv", weight="w", **named) == (["spam", "ham"], ["buy", "see you"], [2.0, 0.5])
    assert gather(text, "tsv", label=1, text=3, header=True) == gather(text, "tsv", **named)
    assert gather(text, "tsv", label=None, text="body")[:2] == (None, ["buy", "see you"])
    assert gather(text, "tsv", label=1, text=3)[0] == ["label", "spam", "ham"]
    assert gather("a\tb\nc", "tsv", label=None)[:2] == (None, ["a\tb", "c"])
    assert gather("a;b\n", "tsv", delimiter=";")[:2] == (["a"], ["b"])


@pytest.mark.parametrize("options", [{}, {"label": 1}, {"label": None}, {"header": True}])
def test_of_three_columns_it_must_be_said_which_are_the_label_and_the_text(options):
    with pytest.raises(ReadError, match="say which columns are the label and the text: 0: 'id', 1: 'sense', 2: 'body'"):
        gather("id,sense,body\n1,a,b\n", "csv", **options)
    assert gather("1,a,b\n", "csv", label=1, text=2)[0] == ["a"]
    assert gather("a,b,2\n", "csv", weight=2, header=False)[0] == ["a"]


def test_a_first_line_that_names_label_and_text_is_a_header():
    for text in ("label\ttext\na\tb\n", "Text\tLabel\nb\ta\n", "text\tid\tlabel\nb\t1\ta\n"):
        assert gather(text, "tsv")[:2] == (["a"], ["b"])
    assert gather("label\ttext\na\tb\n", "tsv", header=False)[0] == ["label", "a"]


@pytest.mark.parametrize(
    "text, options, line, message",
    [
        ("a\tb\nno tab\n", {}, 2, "there is no tab between"),
        ("a\tb\n\n\nc\xff\n", {}, 4, "there is no"),
        ("x\ty\na\tb\tc\n", {"label": "x", "text": "y"}, 2, "has 3 field.*, but the first has 2"),
        ("x\ty\na\tb\n", {"label": "z"}, 1, "there is no column 'z' among 'x', 'y'"),
        ("x\ty\na\tb\n", {"label": 2, "text": 1}, 1, "there is no column 2"),
        ("x\ty\na\tb\n", {"label": -1, "text": 1}, 1, "there is no column -1"),
        ("a\tb\tx\n", {"weight": 2}, 1, "the weight 'x' is no number"),
        ("a\tb\t-1\n", {"weight": 2}, 1, "not a finite number from 0 on"),
        ("a\tb\tnan\n", {"weight": 2}, 1, "not a finite number from 0 on"),
    ],
)
def test_a_malformed_line_of_tsv_is_named(text, options, line, message):
    assert refused(text, "tsv", message, **options) == line


def test_invalid_utf8():
    text = b"a\tb\nc\td\xff\xfee\nf\tg\n"
    assert refused(text, "tsv", "the byte 0xff is not utf-8") == 2
    assert gather(text, "tsv", errors="replace")[1] == ["b", "d\ufffd\ufffde", "g"]
    assert gather(text, "tsv", encoding="latin-1")[1] == ["b", "dÿþe", "g"]
    assert gather(text, "tsv", on_error="skip")[1] == ["b", "g"]
    assert refused(b"\xff\tb\n", "tsv", "0xff", label=0, text=1) == 1
    assert refused(b"a,b\nc,\xff\n", "csv", "0xff is not utf-8", header=False) == 2
    assert refused(b"a\n\xff", "lines", "0xff") == 2
    assert refused(b'{"label": "\xff", "text": ""}', "jsonl", "0xff") == 1
    assert refused(b"1 | \xff", "vw", "0xff") == 1


def test_malformed_lines_are_counted_and_the_first_ones_kept():
    text = "".join(f"a\t{i}\n" if i % 3 else f"{i}\n" for i in range(30))
    for block in (1, 20, 10**6):
        reader = read(io.BytesIO(text.encode()), "tsv", on_error="skip", block=block)
        assert [one for found in reader for one in found.texts] == [str(i) for i in range(30) if i % 3]
        assert reader.skipped.count == 10
        assert [error.line for error in reader.skipped.first] == [1, 4, 7, 10, 13]


def test_a_million_labels():
    text = "".join(f"{i}\tx\n" for i in range(1_000_000))
    labels, texts, _ = gather(text, "tsv")
    assert len(texts) == 1_000_000
    assert labels[::250_000] == ["0", "250000", "500000", "750000"]


# --- CSV -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=12), BLOCKS, st.booleans(), st.sampled_from(",;|"))
def test_csv_is_read_as_pythons_module_wrote_it(rows, block, all_quoted, delimiter):
    rows = [("first", "line", ""), *rows]
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, quoting=quoting).writerows(rows)
    options = {"label": 2, "text": 1, "block": block, "delimiter": delimiter, "header": True}
    expected = [row[2] for row in rows[1:]], [row[1] for row in rows[1:]], None
    assert gather(file.getvalue().removeprefix("\ufeff"), "csv", **options) == expected


def test_csv_records_begin_on_their_lines():
    text = 'label,text\na,"x\n\ny"\nb,"1 ""2"" 3"\r\n"c",d\rlast'
    with pytest.raises(ReadError, match=r"line 7: the line has 1 field\(s\), but the first has 2"):
        gather(text, "csv")
    assert gather(text, "csv", on_error="skip")[:2] == (["a", "b", "c"], ["x\n\ny", '1 "2" 3', "d"])


@pytest.mark.parametrize("block", [1, 10, 10**6])
@pytest.mark.parametrize(
    "line, message",
    [
        ('b,x"y', "a quote in a field that"),
        ('b,"x"y', "text behind a closing quote"),
        ('b,"x', "has no end"),
        ("b", "1 field"),
    ],
)
def test_a_malformed_record_is_named_and_left_out(line, message, block):
    text = f'a,"b\nc"\n{line}\nd,e\nf,g\n'
    assert refused(text, "csv", message, block=block, header=False) == 3
    assert gather(text, "csv", on_error="skip", block=block, header=False)[0] == ["a", "d", "f"]


def test_csv_of_many_quotes_takes_linear_time():
    text = 'a,"' + '""' * 1_000_000 + '"\nb,c\n'
    assert gather(text, "csv", block=4096, header=False)[1] == ['"' * 1_000_000, "c"]


# --- JSON Lines, plain lines -----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(WORDS, st.one_of(WORDS, st.integers(), st.booleans())), max_size=12), st.booleans(), BLOCKS)
def test_json_lines_are_read_as_they_were_written(rows, ascii_only, block):
    text = "".join(json.dumps({"text": text, "y": label}, ensure_ascii=ascii_only) + "\n\n" for text, label in rows)
    expected = [label if isinstance(label, str) else json.dumps(label) for _, label in rows]
    assert gather(text, "jsonl", label="y", block=block) == (expected, [text for text, _ in rows], None)


def test_json_lines_may_hold_features_and_weights():
    text = '{"f": {"a": 1, "b": "c"}, "w": 2}\n{"f": {}, "w": 0.5}\n'
    _, texts, weights = gather(text, "jsonl", label=None, text="f", weight="w")
    assert texts == [{"a": 1, "b": "c"}, {}]
    assert weights == [2.0, 0.5]


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "not JSON"), ("[1]", "holds a list"), ("3", "holds a number"), ("nope", "not JSON"),
        ("{} {}", "not JSON"), ("{}", "none"), ('{"label": "a"}', "no field 'text'"),
        ('{"text": "a"}', "there is no field 'label' among 'text'"),
        ('{"label": null, "text": "a"}', "null, not a label"), ('{"label": ["a"], "text": "a"}', "a list, not a label"),
        ('{"label": "a", "text": 3}', "a number, neither"), ('{"label": NaN, "text": ""}', "NaN is no number"),
        ('{"label": "a", "text": {"f": null}}', "'f' holds null"), ('{"label": "a", "text": {"f": 1e999}}', "finite"),
        ('{"label": "a", "text": "\\ud800"}', "lone surrogate"), ("[" * 100_000, "nested too deeply"),
        ('{"label": 1e999, "text": ""}', "label in the field 'label' is not finite"),
        ('{"label": "a", "text": {"f": 1' + "0" * 400 + "}}", "'f' is not finite"),
        ('{"label": ' + "1" * 5000 + ', "text": ""}', "."),
    ],
)  # fmt: skip
def test_a_malformed_line_of_json_is_named(line, message):
    good = '{"label": "a", "text": "b"}\n'
    assert refused(good + line, "jsonl", message) == 2
    assert gather(good + line + "\n" + good, "jsonl", on_error="skip")[1] == ["b", "b"]


def test_plain_lines_keep_empty_ones():
    assert gather("a\n\n\tb \nc", "lines") == (None, ["a", "", "\tb ", "c"], None)


# --- Vowpal Wabbit ---------------------------------------------------------------------------------------------------


def test_vw_examples():
    text = """1 2.5 'tag|words the cat:2 |n:0.5 x:3 y |b
-1 |words the the
spam tag| http
| unlabelled
7 0.5 |a x:1e-3 x:-.5
"""
    labels, texts, weights = gather(text, "vw")
    assert labels == ["1", "-1", "spam", "", "7"]
    assert weights == [2.5, 1.0, 1.0, 1.0, 0.5]
    assert texts[0] == {"words^the": 1.0, "words^cat": 2.0, "n^x": 1.5, "n^y": 0.5}
    assert texts[1:4] == [{"words^the": 2.0}, {"http": 1.0}, {"unlabelled": 1.0}]
    assert texts[4] == {"a^x": 1e-3 - 0.5}
    assert gather(text, "vw", label=None)[0] is None


@pytest.mark.parametrize(
    "line, message",
    [
        ("1 no bar", "there is no '|'"), ("1 |a x:nan", "'nan' of 'a.x'"), ("1 |a x:1e999", "no finite"),
        ("1 x |a", "the weight 'x'"), ("1 -1 |a", "from 0 on"), ("1 1 0.5 |a", "3 words before"), ("1 | :1", "no name"),
        ("1:2 3:4 | a", "single label"), ("1 |a:1e200 x:1e200", "not finite"), ("1 |a x:1e308 x:1e308", "not finite"),
        ("1 |a:x b", "'x' of 'a'"), ("1 | a:1:2", "'1:2'"), ("1 | a:1_0", "'1_0'"), ("1 | a:", "''"),
    ],
)  # fmt: skip
def test_a_malformed_example_of_vw_is_named(line, message):
    assert refused("1 | good\n" + line, "vw", message) == 2


# --- rows of documents -----------------------------------------------------------------------------------------------


def test_a_vectoriser_makes_rows_of_documents():
    hashing = HashingVectorizer(n_features=64)
    found = list(read(io.BytesIO(b"a\tthe cat\nb\tthe dog\n"), "tsv", vectorizer=hashing))
    assert isinstance(found[0], Block)
    assert found[0].y.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found[0].X.toarray(), hashing.transform(["the cat", "the dog"]).toarray())
    rows = [{"a^x": 2.0, "y": 1.0}, {"y": -1.0}]
    for vectorizer in (FeatureHasher(16), DictVectorizer().fit(rows)):
        (block,) = read(io.BytesIO(b"1 |a x:2 | y\n2 | y:-1\n"), "vw", vectorizer=vectorizer)
        np.testing.assert_array_equal(block.X.toarray(), vectorizer.transform(rows).toarray())
        assert block.weights.tolist() == [1, 1]


# --- Arrow -----------------------------------------------------------------------------------------------------------


def write(path, table):
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=7)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, chunksize=7)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)


SUFFIXES = [".parquet", ".feather", ".arrows"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_of_texts(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    labels, texts = [f"l{i % 3}" for i in range(20)], [f"text {i}" for i in range(20)]
    table = pa.table({"y": pa.array(labels).dictionary_encode(), "text": texts, "w": list(range(20))})
    write(path, table)
    found = list(read(path, label="y", weight="w"))
    assert [one for each in found for one in each.texts] == texts
    assert [one for each in found for one in each.labels] == labels
    assert [one for each in found for one in each.weights] == list(range(20))
    if suffix != ".parquet":
        assert [each.line for each in found] == [1, 8, 15]
    with open(path, "rb") as file:
        if suffix != ".feather":
            assert [
                one
                for each in read(file, "arrow" if suffix == ".arrows" else "parquet", label="y")
                for one in each.texts
            ] == texts


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_of_rows(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    indices, values = [[1, 5], [], [3]] * 5, [[1.0, -2.0], [], [0.5]] * 5
    columns = pa.array(indices, pa.list_(pa.uint32())), pa.array(values, pa.list_(pa.float32()))
    write(path, pa.table({"label": range(15), "indices": columns[0], "values": columns[1]}))
    found = list(read(path, dtype=np.float32))
    dense = np.concatenate([each.X.toarray() for each in found])
    assert dense.shape == (15, 6)
    assert dense[3].tolist() == [0, 1, 0, 0, 0, -2]
    assert np.concatenate([each.y for each in found]).tolist() == list(range(15))
    assert next(iter(read(path, n_features=9))).X.shape[1] == 9
    with pytest.raises(ReadError, match="row 1: 5 is no index from 0 to 4"):
        list(read(path, n_features=5))


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"label": ["a", None], "text": ["b", "c"]}, "row 2: the column 'label' has no value"),
        ({"label": ["a", "b"], "text": ["b", None]}, "row 2: the column 'text' has no value"),
        ({"label": ["a", "b"], "text": [1, 2]}, "does not hold texts"),
        ({"label": ["a", "b"]}, "there is no column 'text' among 'label'"),
        ({"label": [1, 2], "indices": [[1], [1, 2]], "values": [[1.0], [1.0]]}, "row 2: there are not as many"),
        ({"label": [1, 2], "indices": [[1], [-1]], "values": [[1.0], [1.0]]}, "row 2: -1 is no index"),
        ({"label": [1, 2], "indices": [[1], [2**31 - 1]], "values": [[1.0], [1.0]]}, "row 2: 2147483647 is no index"),
        ({"label": [1, 2], "indices": [[1], [1]], "values": [[1.0], [float("nan")]]}, "row 2: nan is not finite"),
        ({"label": [1, 2], "indices": [[1], None], "values": [[1.0], [1.0]]}, "row 2: the column 'indices' has no"),
        ({"label": [1, 2], "indices": [[1], [None]], "values": [[1.0], [1.0]]}, "missing"),
        ({"label": [1, 2], "indices": [1, 2], "values": [1.0, 1.0]}, "does not hold lists"),
        ({"label": [1, 2], "indices": [["a"], ["b"]], "values": [[1.0], [1.0]]}, "holds lists of string"),
    ],
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_that_cannot_be_used_are_named(suffix, columns, message, tmp_path):
    write(tmp_path / f"x{suffix}", pa.table(columns))
    with pytest.raises(ReadError, match=message):
        list(read(tmp_path / f"x{suffix}"))


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x.parquet").touch()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"fastlin\[arrow\]"):
        list(read(tmp_path / "x.parquet"))


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form, options, error, message",
    [
        ("tvs", {}, ValueError, "format must be one of .*; did you mean 'tsv'"),
        ("svmlight", {"delimiter": ";"}, ValueError, "delimiter=';' means nothing for svmlight; csv, tsv have it"),
        ("lines", {"label": 0}, ValueError, "label=0 means nothing for lines"),
        ("tsv", {"n_features": 3}, ValueError, "n_features=3 means nothing for tsv"),
        ("tsv", {"delimiter": "ab"}, ValueError, "delimiter must be one character"),
        ("csv", {"delimiter": '"'}, ValueError, "delimiter must be one character"),
        ("tsv", {"encoding": "utf-16"}, ValueError, "'utf-16' is not read"),
        ("csv", {"encoding": "raw_unicode_escape"}, ValueError, "'raw_unicode_escape' is not read"),
        ("csv", {"encoding": "unicode_escape"}, ValueError, "'unicode_escape' is not read"),
        ("tsv", {"encoding": "utf-9"}, LookupError, "utf-9"),
        ("tsv", {"errors": "forgive"}, LookupError, "forgive"),
        ("tsv", {"on_error": "ignore"}, ValueError, "on_error must be one of"),
        ("tsv", {"block": 0}, ValueError, "block must be at least 1"),
        ("tsv", {"label": 1.5}, TypeError, "label must be the number or the name"),
        ("tsv", {"text": None}, TypeError, "text must be the number or the name"),
        ("tsv", {"label": "x", "header": False}, ValueError, "header=False"),
        ("svmlight", {"n_features": 2**31}, ValueError, "n_features must be at most"),
        ("jsonl", {"label": 3}, TypeError, "fields of JSON Lines have names"),
    ],
)
def test_options_that_cannot_be_meant(form, options, error, message):
    with pytest.raises(error, match=message):
        list(read(io.BytesIO(b"a\tb\n"), form, **options))


@pytest.mark.parametrize(
    "name, form", [("x.tsv.gz", "tsv"), ("x.CSV", "csv"), ("a.b.ndjson.xz", "jsonl"), ("x.libsvm", "svmlight")]
)
def test_the_suffix_says_the_format(name, form, tmp_path):
    (tmp_path / name).touch()
    assert read(tmp_path / name)._format == form


def test_a_suffix_that_says_nothing_and_several_formats(tmp_path):
    for name in ("a.tsv", "b.csv", "c.tvs", "d"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"c\.tvs.* is not known .*did you mean 'tsv'"):
        read(tmp_path / "c.tvs")
    with pytest.raises(ValueError, match="must be one of 'arrow'"):
        read(tmp_path / "d")
    with pytest.raises(ValueError, match="several formats"):
        read([tmp_path / "a.tsv", tmp_path / "b.csv"])
