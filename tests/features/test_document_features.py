"""DocumentFeatures: the naive twin on all of Unicode, the definitions by example, what is refused."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from fastlin.features import document_features as module
from fastlin.text import DocumentFeatures
from oracles import features as reference

LETTERS = "aaAbBéßÀǅŉ中あक्ष०7½Ⅷⓐ\u200d\u00ad\u0301\u0308"
SIGNS = "'’ˮ!?！؟¿.。…,，:;\"“”«»„(（]{-–—_&@#*/%$+©€😀👨 \n\t\u2028\x00\ud800\udfff"
ALPHABET = LETTERS + SIGNS
texts = st.text(st.sampled_from(ALPHABET), max_size=40) | st.text(st.characters(), max_size=40)
LOGS = [name for name in module.FEATURES if name not in module.QUOTIENTS]


def looks(text, **options):
    model = DocumentFeatures(log=False, **options)
    return dict(zip(model.get_feature_names_out(), model.transform([text]).toarray()[0], strict=True))


@given(documents=st.lists(texts, max_size=6))
@example(["", "AA'A", "don't", "'a'", "a'", "A\u0301AA", "aaa", "a'aa", "..", ".", "?!", "!?!", "\ud800", "\U0010ffff"])
def test_equals_its_naive_twin(documents):
    made = DocumentFeatures(log=False).transform(documents).toarray()
    assert made.shape == (len(documents), len(module.FEATURES))
    for row, text in zip(made, documents, strict=True):
        expected = reference.document_features(text)
        assert dict(zip(module.FEATURES, row, strict=True)) == expected


def test_every_code_point_is_of_the_kind_that_the_twin_says():
    kinds = module._kinds(0x10FFFF)
    numbers = {letter: kinds[ord(character)] for letter, character in zip("aeqslcoubd", "'!?.…,:\"(-", strict=True)}
    numbers |= {"U": 1, "L": 2, "O": 3, "D": 4, "M": 5, "p": 16, "y": 17, " ": 0}
    assert len(set(numbers.values())) == 18
    for last in module.PLANES[:2]:
        np.testing.assert_array_equal(module._kinds(last), kinds[: last + 1])
    expected = [numbers[reference.kind_of(chr(code))] for code in range(0x110000)]
    np.testing.assert_array_equal(kinds, expected)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("It was SOOOO good!!!", {"words": 4, "all_caps": 1, "capitalised": 1, "elongated": 1, "exclamations": 3}),
        ("What?! Why?", {"questions": 2, "exclamations": 1, "repeated": 1}),
        ("well... hm.. no.", {"ellipses": 2, "stops": 1}),
        ("well…", {"ellipses": 1, "words": 1}),
        ("'tis \"so\", don't", {"quotes": 3, "words": 3, "commas": 1}),
        ("I AM A MAN", {"all_caps": 2, "capitalised": 2, "capitals": 1.0}),
        ("MP3 2nd 42", {"all_caps": 1, "words": 3, "digits": 4}),
        ("ΑΘΗΝΑ Москва", {"all_caps": 1, "capitalised": 1}),
        ("中文字", {"words": 1, "capitals": 0.0, "word_length": 3.0, "all_caps": 0}),
        ("हिन्दी", {"words": 1, "word_length": 6.0}),
        ("(a-b) [c—d]", {"brackets": 4, "dashes": 2}),
        ("5 € + 1 @ 2%", {"symbols": 2, "other_punctuation": 2, "digits": 3}),
        ("", dict.fromkeys(module.FEATURES, 0)),
    ],
)
def test_the_definitions(text, expected):
    found = looks(text)
    assert {name: found[name] for name in expected} == expected


@given(text=texts)
def test_counts_add_up(text):
    """Of parts that no word and no run spans; and log is log1p of the counts only."""
    once, twice = looks(text), looks(text + " " + text)
    for name in LOGS:
        assert twice[name] == 2 * once[name] + (name == "characters")
    logged = dict(zip(module.FEATURES, DocumentFeatures().transform([text]).toarray()[0], strict=True))
    for name, value in once.items():
        assert logged[name] == (np.log1p(value) if name in LOGS else value)


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_batches_change_nothing(monkeypatch, batch):
    documents = ["One two", "", "THREE!!!", "", "four, ‘five’ 😀", "😀" * 9]
    whole = DocumentFeatures().transform(documents).toarray()
    monkeypatch.setattr(module, "BATCH", batch)
    np.testing.assert_array_equal(DocumentFeatures().transform(documents).toarray(), whole)
    np.testing.assert_array_equal(DocumentFeatures().transform(iter(documents)).toarray(), whole)


def test_forms_and_types():
    documents = ["a B", "c!"]
    made = DocumentFeatures().fit_transform(documents)
    assert isinstance(made, sparse.csr_matrix)
    assert made.dtype == np.float64
    half = DocumentFeatures(dtype=np.float32, sparse_output=False).fit().transform(np.array(documents, dtype=object))
    assert isinstance(half, np.ndarray)
    assert half.dtype == np.float32
    np.testing.assert_allclose(half, made.toarray(), rtol=1e-6)
    assert DocumentFeatures().transform([]).shape == (0, len(module.FEATURES))
    assert DocumentFeatures(["capitals"]).transform(("Ab",)).toarray().tolist() == [[0.5]]


def test_bytes_are_decoded():
    made = DocumentFeatures(["characters"], log=False).transform(["é".encode(), "é"]).toarray()
    assert made.tolist() == [[1], [1]]
    latin = DocumentFeatures(["characters"], log=False, encoding="latin-1").transform(["é".encode()]).toarray()
    assert latin.tolist() == [[2]]
    with pytest.raises(UnicodeDecodeError):
        DocumentFeatures().transform([b"\xff"])
    assert DocumentFeatures(decode_error="ignore").transform([b"\xff"]).nnz == 0


@pytest.mark.parametrize(
    "documents, error, match",
    [
        ("a text", ValueError, "string object received"),
        (b"a text", ValueError, "string object received"),
        (["a", None], TypeError, "None at position 1"),
        (["a", np.nan], ValueError, "NaN at position 1"),
        ([["a"]], TypeError, "position 0"),
        ([3], TypeError, "3 at position 0"),
        (None, ValueError, "sequence of strings, got NoneType"),
        (np.array([["a"]]), ValueError, r"shape \(1, 1\)"),
        (sparse.csr_matrix((2, 2)), ValueError, "csr_matrix"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused(documents, error, match):
    with pytest.raises(error, match=match):
        DocumentFeatures().transform(documents)


@pytest.mark.parametrize("features", ["words", (), ("word",), ("words", "words"), 3, (None,)], ids=str)
def test_features_that_cannot_be_are_refused(features):
    with pytest.raises(ValueError, match="features"):
        DocumentFeatures(features).fit()


def test_one_long_document():
    found = looks("A" * 3_000_000 + "!" * 1_000_000)
    assert found["characters"] == 4_000_000
    assert found["all_caps"] == found["elongated"] == found["repeated"] == 1
