"""svmlight's format: what scikit-learn reads, bit for bit, and a clear error for what is malformed."""

import errno
import io
import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import fastlin
from fastlin import Corpus
from fastlin.data import ReadError, dump_svmlight, load_svmlight, read


def bits(values):
    return np.asarray(values, dtype=np.float64).view(np.int64).tolist()


def load(text, **options):
    return load_svmlight(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def matrix(rng, rows=60, columns=90):
    X = sp.random_array((rows, columns), density=0.1, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-90, 90, X.nnz)
    X.sort_indices()
    return X, rng.integers(-2, 5, rows).astype(float)


def test_indices_are_as_narrow_as_liblinear_wants_them():
    X = load("1 1:2 3:4\n-1 2:1\n")[0]
    assert X.indices.dtype == X.indptr.dtype == np.int32


# --- numbers ---------------------------------------------------------------------------------------------------------

DIGITS = st.text("0123456789", max_size=25)
WRITTEN = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.builds("{:.{}g}".format, st.floats(-1, 1), st.integers(1, 30)),
    st.builds("{:.{}f}".format, st.floats(-1e20, 1e20), st.integers(0, 30)),
    st.builds("{}e{}".format, st.integers(2**52, 2**65), st.integers(-340, 300)),
    st.builds(
        "{}{}.{}{}".format, st.sampled_from(["", "+", "-"]), DIGITS, DIGITS, st.sampled_from(["", "e-3", "E+07"])
    ),
    st.integers(-(10**30), 10**30).map(str),
).filter(lambda text: any(character.isdigit() for character in text.partition("e")[0].partition("E")[0]))
HARD = [  # ties, their neighbours, the edges of the range, many digits
    "9007199254740993", "9007199254740992.5", "9007199254740993.00000000000000000000000001", "1e23", "8.5e22",
    "2.2250738585072011e-308", "2.2250738585072014e-308", "4.9e-324", "2.4703282292062327e-324", "1e-400",
    "1.7976931348623157e308", "0.000000000000000000000000000000000000001", "1" + "0" * 300, "0." + "0" * 320 + "1",
    "9" * 400 + "e-400", "0.1" + "0" * 5000 + "1", "1e0000000000000000000001", "00000000000000000000000000000.5",
    "18446744073709551615", "18446744073709551616", "9999999999999999999", "0e999999999999", "-0.0", "+5", "5.", ".5",
]  # fmt: skip


def as_python_reads(numbers):
    """In the middle of a long text and at its very end: the two ways through the parser."""
    numbers = [number for number in numbers if np.isfinite(float(number))]
    expected = bits([float(number) for number in numbers])
    padding = b"1 1:1" + b" " * 100 + b"\n"
    X, _ = load("".join(f"1 7:{number} \n" for number in numbers).encode() + padding)
    assert bits(X.data[:-1]) == expected
    assert [bits(load(f"1 7:{number}")[0].data)[0] for number in numbers] == expected
    assert bits(load("".join(f"{number}\n" for number in numbers))[1]) == expected  # as labels


@given(st.lists(WRITTEN, max_size=50))
def test_numbers_are_those_of_python(numbers):
    as_python_reads(numbers)


def test_hard_numbers_are_those_of_python():
    as_python_reads(HARD)


@pytest.mark.parametrize("seed", range(2))
def test_many_random_numbers_are_those_of_python(seed):
    rng = np.random.default_rng(seed)
    doubles = rng.integers(0, 2**63, 20_000).view(np.float64)
    doubles = doubles[np.isfinite(doubles)]
    short = [
        f"{value:.{digits}g}" for value, digits in zip(rng.random(20_000), rng.integers(1, 20, 20_000), strict=True)
    ]
    for numbers in ([repr(value) for value in doubles.tolist()], [f"{value:.17e}" for value in doubles], short):
        X, _ = load("".join(f"1 3:{number}\n" for number in numbers))
        assert bits(X.data) == bits([float(number) for number in numbers])


def test_halves_between_doubles_are_rounded_to_even():
    for odd in (2**53 + 1, 2**53 + 3, 2**54 + 2, 2**60 + 2**7, 3 * 2**53 + 2):
        for number in (odd, odd - 1, odd + 1):
            assert load(f"1 0:{number}")[0].data[0] == float(number)
            assert load(f"1 0:{number}.0000000000000000000001")[0].data[0] == float(f"{number}.0000000000000000000001")


# --- the same as scikit-learn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "zero_based, written", [(True, True), (True, False), (False, False), ("auto", True), ("auto", False)]
)
def test_the_same_arrays_as_scikit_learn(rng_seed, zero_based, written):
    X, y = matrix(np.random.default_rng(rng_seed))
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=written, query_id=np.arange(len(y)), comment="x")
    text = file.getvalue()
    theirs = load_svmlight_file(io.BytesIO(text), zero_based=zero_based, query_id=True)
    ours = load(text, zero_based=zero_based, query_id=True)
    assert ours[0].shape == theirs[0].shape
    assert bits(ours[0].data) == bits(theirs[0].data)
    for name in ("indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours[0], name), getattr(theirs[0], name))
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_array_equal(ours[2], theirs[2])


@pytest.fixture(params=range(3))
def rng_seed(request):
    return request.param


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\n\n", b"# nothing\n", b"1\n", b"1 # no entries", b"1 1:2#touching\n", b"  1\t1:2 \t 3:4  \n\n-1 2:3",
        b"+1 1:1e3 2:-.5 3:5.\r\n0.5 7:0\r\n", b"1 qid:7 1:2\n2 3:4\n", b"3 1:0 2:-0.0\n",
        b"1 0007:1 0000000000009:2\n",
    ],
)  # fmt: skip
def test_what_is_unusual_but_right_is_read_as_by_scikit_learn(text):
    theirs, ours = load_svmlight_file(io.BytesIO(text)), load(text)
    assert ours[0].shape == theirs[0].shape
    np.testing.assert_array_equal(ours[0].toarray(), theirs[0].toarray())
    np.testing.assert_array_equal(ours[1], theirs[1])


def test_several_labels_on_request():
    text = b"1,3 1:2\n 2:1\n4,2 # nothing\n1:3 2:4\n"
    theirs = load_svmlight_file(io.BytesIO(text.replace(b" 2:1\n", b"2:1\n")), multilabel=True)
    ours = load(text, multilabel=True)
    assert ours[1] == theirs[1] == [(1.0, 3.0), (), (2.0, 4.0), ()]
    np.testing.assert_array_equal(ours[0].toarray(), theirs[0].toarray())


def test_float32_is_the_double_rounded():
    text = b"1 1:0.1 2:16777217\n"
    X, _ = load(text, dtype=np.float32)
    theirs, _ = load_svmlight_file(io.BytesIO(text), dtype=np.float32)
    assert X.dtype == np.float32
    assert X.data.tolist() == theirs.data.tolist()


# --- malformed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line, message",
    [
        ("1 2:1 2:3", "'2:3' does not have a larger index"),
        ("1 3:1 2:3", "'2:3' does not have a larger index"),
        ("1 -3:1", "'-3:1' is not index:value"),
        ("1 2147483647:1", "has an index outside of 0 … 2147483646"),
        ("1 99999999999999999999:1", "has an index outside"),
        ("1 18446744073709551617:1", "has an index outside"),
        ("1 3:nan", "'3:nan' has a value that is no number"),
        ("1 3:inf", "no number"),
        ("1 3:1e999", "'3:1e999' is not finite"),
        ("1 3:-1e309", "not finite"),
        ("1e999 3:1", "'1e999' is not finite"),
        ("1 3:", "'3:' has a value"),
        ("1 3:1x", "'3:1x' has a value"),
        ("1 3:0x10", "no number"),
        ("1 3:1_0", "no number"),
        ("1 3:1e", "no number"),
        ("1 3:1e+", "no number"),
        ("1 3:.", "no number"),
        ("1 3:-", "no number"),
        ("1 3:1:2", "no number"),
        ("1 3 : 4", "'3' is not index:value"),
        ("1 :4", "is not index:value"),
        ("1 3.0:4", "is not index:value"),
        ("1 foo:4", "'foo:4' is not index:value"),
        ("spam 3:4", "'spam' is no label"),
        ("nan 3:4", "'nan' is no label"),
        ("3:4 5:6", "'3:4' is no label"),
        ("1x 3:4", "'1x' is no label"),
        ("1,2 3:4", "multilabel=True"),
        ("1 qid:x 3:4", "'qid:x' is no group"),
        ("1 qid: 3:4", "'qid:' is no group"),
        ("1 qid:9999999999999999999 3:4", "is no group"),
        ("1 3:4 qid:2", "is not index:value"),
        ("1\0 3:4", "is no label"),
        ("1 3:4\0", "has a value"),
        ("é 3:4", "'\\xc3\\xa9' is no label|'é' is no label"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", ""])
def test_a_malformed_line_is_named(line, message, end):
    text = f"1 1:2{end or chr(10)}# comment{end or chr(10)}{line}{end}"
    with pytest.raises(ReadError, match=message) as caught:
        load(text)
    assert caught.value.line == 3
    assert str(caught.value).startswith("<stream>, line 3: ")
    padded = text + (end or "\n") + "1 1:1 2:1\n" * 30  # far from the end of the text
    with pytest.raises(ReadError, match=message) as caught:
        load(padded)
    assert caught.value.line == 3


def test_large_indices_and_widths():
    X, _ = load("1 1000000000:2 2147483646:1\n", zero_based=True)
    assert X.shape == (1, 2**31 - 1)
    assert X.indices.tolist() == [10**9, 2**31 - 2]
    assert load("1 1000000000:2\n")[0].indices.tolist() == [10**9 - 1]  # index 0 does not occur
    with pytest.raises(ValueError, match="n_features must be at most"):
        load("1 1:1\n", n_features=2**31)


def test_the_number_of_features_that_was_asked_for():
    assert load("1 1:1\n", n_features=7)[0].shape == (1, 7)
    assert load("1 7:1\n", n_features=7)[0].indices.tolist() == [6]
    for text, zero_based in (("1 8:1", "auto"), ("1 7:1", True), ("1 0:1 7:1", "auto")):
        with pytest.raises(ReadError, match=r"outside of|n_features is 7"):
            load(text, n_features=7, zero_based=zero_based)
    with pytest.raises(ReadError, match="'0:1' has an index outside of 1"):
        load("1 0:1", zero_based=False)


def test_a_group_for_all_or_none():
    assert load("1 qid:-3 1:1\n2 qid:4 1:1", query_id=True)[2].tolist() == [-3, 4]
    assert load("1 1:1\n", query_id=True)[2].tolist() == []
    for text in ("1 qid:1 1:1\n2 1:1", "1 1:1\n2 qid:1 1:1"):
        with pytest.raises(ReadError, match="line 2: some lines have a 'qid:'"):
            load(text, query_id=True)


# --- blocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 64, 1000, 10**6])
def test_blocks_are_the_rows_in_order(block, tmp_path):
    X, y = matrix(np.random.default_rng(0))
    dump_svmlight(X, y, tmp_path / "x.svm", query_id=np.arange(60) // 7, sample_weight=np.arange(60.0))
    found = list(read(tmp_path / "x.svm", weight=True, n_features=90, block=block))
    assert (len(found) > 1) == (block < 10**4)
    whole = sp.vstack([each.X for each in found]).tocsr()
    np.testing.assert_array_equal(whole.toarray(), X.toarray())
    assert np.concatenate([each.y for each in found]).tolist() == y.tolist()
    assert np.concatenate([each.weights for each in found]).tolist() == list(range(60))
    assert np.concatenate([each.groups for each in found]).tolist() == (np.arange(60) // 7).tolist()
    starts = np.cumsum([0, *(each.X.shape[0] for each in found)])[:-1] + 1
    assert [each.line for each in found] == starts.tolist()


def test_malformed_lines_are_left_out_on_request():
    text = b"1 1:1\n2 x:1\r\n3 3:1 2:1\n4 4:1\nnan 1:1\n" + b"6 7:1e999\n" * 5 + b"7 1:1"
    for block in (1, 10**6):
        reader = read(io.BytesIO(text), "svmlight", on_error="skip", block=block)
        assert [label for found in reader for label in found.y] == [1, 4, 7]
        assert reader.skipped.count == 8
        assert [error.line for error in reader.skipped.first] == [2, 3, 5, 6, 7]
        assert str(reader.skipped).endswith("… and 3 more")
        assert "line 3: '2:1'" in str(reader.skipped)


def test_weights_only_on_request_and_only_good_ones():
    with pytest.raises(ReadError, match="'1:2' is no label"):
        list(read(io.BytesIO(b"1:2 1:1"), "svmlight"))
    for wrong in ("-1", "nan", "1e999", "x", "", "1:2"):
        with pytest.raises(ReadError, match=r"line 1: .* is no weight"):
            list(read(io.BytesIO(f"1:{wrong} 1:1".encode()), "svmlight", weight=True))


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_what_is_written_is_read_back_bit_for_bit(suffix, zero_based, tmp_path):
    X, y = matrix(np.random.default_rng(1))
    y = y + 1 / 3
    path = tmp_path / f"x.svm{suffix}"
    dump_svmlight(X, y, path, zero_based=zero_based, query_id=range(60))
    found, labels, groups = load_svmlight(path, n_features=90, zero_based=zero_based, query_id=True)
    assert bits(found.data) == bits(X.data)
    np.testing.assert_array_equal(found.indices, X.indices)
    np.testing.assert_array_equal(found.indptr, X.indptr)
    assert bits(labels) == bits(y)
    assert groups.tolist() == list(range(60))
    assert os.listdir(tmp_path) == [path.name]


def test_float32_is_written_so_that_it_is_read_back():
    X = np.random.default_rng(2).normal(size=(20, 5)).astype(np.float32)
    file = io.BytesIO()
    dump_svmlight(X, np.zeros(20), file)
    found, _ = load(file.getvalue(), dtype=np.float32, zero_based=True)
    assert (found.toarray() == X).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"y": [1, 2]}, "y has 2 entries, X has 1 rows"),
        ({"y": [np.nan]}, "y contains NaN"),
        ({"y": ["spam"]}, "y must hold real numbers"),
        ({"sample_weight": [1, 2]}, "sample_weight has 2"),
        ({"query_id": [1.5]}, "query_id must be 1 whole numbers"),
    ],
)
def test_writing_refuses_what_it_could_not_write(options, message, tmp_path):
    (tmp_path / "x.svm").write_text("old")
    with pytest.raises(ValueError, match=message):
        dump_svmlight([[1.0]], **{"y": [1], "path": tmp_path / "x.svm", **options})
    assert (tmp_path / "x.svm").read_text() == "old"


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "x.svm"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        dump_svmlight(np.ones((1000, 10)), np.zeros(1000), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.svm"]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("piped", [False, True])
def test_a_corpus_counts_columns_as_load_svmlight_does(first, piped, tmp_path):
    path = tmp_path / "x.svm"
    dump_svmlight([[1, 0, 2], [0, 0.5, 0]], [1, -1], path, zero_based=not first)
    X, y = load_svmlight(path)
    source = io.BytesIO(path.read_bytes()) if piped else path
    corpus = Corpus(source, format="svmlight")
    assert (corpus.shape, corpus.first_index) == (X.shape, first)
    found, labels = corpus.to_memory()
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    np.testing.assert_array_equal(labels, y)
    assert fastlin.Perceptron().fit(corpus).score(X, y) == 1
    kept = Corpus(path, cache=tmp_path / "kept")
    assert kept.first_index == Corpus(tmp_path / "kept").first_index == kept.write(tmp_path / "npy", "npy").first_index
    assert kept.write(tmp_path / "arrow", "arrow").first_index == first
    assert Corpus(path, zero_based=True).shape == (2, 3 + first)
    if first:
        assert Corpus(path, zero_based=False).shape == (2, 3)
    with pytest.raises(ValueError, match="zero_based must be True or False, got 'auto'; load_svmlight and Corpus"):
        read(path, zero_based="auto")


def test_the_first_index_of_files_with_malformed_lines(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1\nbroken\n-1 2:1\n")
    corpus = Corpus(tmp_path / "x.svm", on_error="skip")
    assert (corpus.shape, corpus.first_index, corpus.skipped.count) == ((2, 2), 1, 1)
    (tmp_path / "x.svm").write_text("1\n-1\n")
    assert Corpus(tmp_path / "x.svm").first_index == 0
