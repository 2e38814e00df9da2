"""Columns of strings of Arrow, pandas and Polars give the matrices of lists of the same strings, bit for bit."""

import importlib.util

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.engine.text import vectorizer
from fastlin.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from fastlin.text.arrow_documents import string_column

WORDS = st.sampled_from(["ab", "Abc", "not", "isn't", "naïve", "İs", "ΟΔΟΣ", "日本", "x.", "", " ", "n't", "🙂 ok"])
TEXTS = st.lists(
    st.lists(WORDS, max_size=4).map(" ".join) | st.lists(WORDS, max_size=3).map("".join), min_size=1, max_size=6
)
COLUMNS = {
    "array": pa.array,
    "large": lambda texts: pa.array(texts, pa.large_string()),
    "view": lambda texts: pa.array(texts, pa.string_view()),
    "a part": lambda texts: pa.array(["xé", *texts, "y"])[1:-1],
    "chunks": lambda texts: pa.chunked_array([texts[:2], [], texts[2:]], pa.string()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "pandas": lambda texts: pd.Series(texts, dtype="string[pyarrow]", index=range(5, 5 + len(texts))),
    "pandas of Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas of objects": lambda texts: pd.Series(texts, dtype=object),
}
if importlib.util.find_spec("polars"):  # which has no wheels for a Python without the GIL
    import polars as pl

    COLUMNS["polars"] = lambda texts: pl.Series(texts, dtype=pl.String)
    COLUMNS["polars of categories"] = lambda texts: pl.Series(texts, dtype=pl.Categorical)
VECTORIZERS = {
    "counts": lambda: CountVectorizer(vocabulary=["ab", "abc", "naïve", "ab abc", "οδοσ", "日本"], ngram_range=(1, 2)),
    "visible": lambda: HashingVectorizer(token_pattern=r"\S+", n_features=64, alternate_sign=False),
    "characters": lambda: HashingVectorizer(analyzer="char_wb", ngram_range=(1, 3), n_features=256),
    "negation": lambda: HashingVectorizer(negation=True, n_features=512),
    "accents": lambda: HashingVectorizer(strip_accents="unicode", n_features=256),
    "case": lambda: HashingVectorizer(lowercase=False, n_features=256),
    "tokenizer": lambda: HashingVectorizer(tokenizer=str.split, token_pattern=None, n_features=256),
}


@pytest.mark.parametrize("kind", VECTORIZERS)
@settings(max_examples=20)
@given(texts=TEXTS)
def test_matrices_are_those_of_lists(kind, texts):
    model = VECTORIZERS[kind]()
    expected = model.transform(texts)
    for column in COLUMNS.values():
        found = model.transform(column(texts))
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), strict=True)


def test_a_column_without_documents_gives_no_rows():
    assert all(HashingVectorizer().transform(column([])).shape[0] == 0 for column in COLUMNS.values())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_vocabularies_are_those_of_lists(n_jobs):
    texts = [f"Word{i % 97} naïve{i % 7} of {'é' * (i % 3)} text {i % 11}" for i in range(60_000)]
    model, other = (TfidfVectorizer(ngram_range=(1, 2), min_df=2, n_jobs=n_jobs) for _ in range(2))
    found, expected = model.fit_transform(pa.chunked_array([texts[:777], texts[777:]])), other.fit_transform(texts)
    assert (model.get_feature_names_out() == other.get_feature_names_out()).all()
    np.testing.assert_array_equal(found.data, expected.data)
    np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize(
    "column", ["array", "chunks", "pandas", pytest.param("polars", marks=pytest.mark.peer("polars")), "dictionary"]
)
def test_a_missing_text_is_named(column):
    with pytest.raises(TypeError, match=r"document 2 of X: expected a string or bytes, got (NoneType|NAType)"):
        HashingVectorizer().transform(COLUMNS[column](["a", "b", None]))


def test_columns_of_other_things_are_read_one_by_one():
    assert string_column(pa.array([1, 2])) is None
    assert string_column(["a"]) is None
    assert string_column(pd.Series(["a"], dtype=object)) is None
    with pytest.raises(TypeError, match="document 0"):
        HashingVectorizer().transform(pa.array([1, 2]))


@pytest.mark.parametrize(
    ("offsets", "data", "match"), [([0, 3, 1], b"abcd", "offset"), ([0, 2, 4], b"\xff\xfeab", "UTF8")]
)
def test_a_damaged_column_is_refused(offsets, data, match):
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(data)]
    with pytest.raises(ValueError, match=match):
        HashingVectorizer().transform(pa.Array.from_buffers(pa.string(), 2, buffers))


@pytest.mark.parametrize("places", [[[-1, 2]], [[0, 2], [3, 9]], [[3, 1]], [[0, 1, 2]]])
def test_slices_prove_their_places(places):
    with pytest.raises(ValueError, match=r"places|is to be"):
        vectorizer.StringSlices(np.zeros(4, np.uint8), np.array(places, np.int64), {})
