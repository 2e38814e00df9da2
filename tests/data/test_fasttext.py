"""fastText's files: labels are words that begin with __label__, one to a document."""

import io

import pytest

from fastlin.data import ReadError, read


def gather(data, **options):
    found = list(read(io.BytesIO(data), "fasttext", **options))
    labels = None if any(each.labels is None for each in found) else [label for each in found for label in each.labels]
    return labels, [text for each in found for text in each.texts]


@pytest.mark.parametrize("block", [1, 10**6])
def test_a_label_and_a_text(block):
    data = b"__label__spam buy  now\n\n__label__ham\tsee you \r\nlate __label__ham label\n__label__x\n"
    labels = ["spam", "ham", "ham", "x"]
    texts = ["buy  now", "see you", "late label", ""]
    assert gather(data, block=block) == (labels, texts)
    assert gather(data, block=block, label=None) == (None, texts)


def test_what_only_looks_like_a_label_is_text():
    assert gather(b"__label__a x__label__b __label_c\n") == (["a"], ["x__label__b __label_c"])
    assert gather(b"no label\n") == ([""], ["no label"])


def test_of_several_labels_nobody_knows_which_counts():
    data = b"__label__a one\n__label__a __label__b two\n__label__c three\n__label__ four\n"
    with pytest.raises(ReadError, match="line 2: the line has 2 labels, 'a', 'b'; a document has one") as caught:
        gather(data)
    assert caught.value.line == 2
    assert gather(data, on_error="skip") == (["a", "c"], ["one", "three"])
    assert gather(b"__label__a __label__a twice\n") == (["a"], ["twice"])
    assert gather(data, label=None)[1] == ["one", "two", "three", "four"]
    with pytest.raises(ReadError, match="no name behind __label__"):
        gather(b"__label__ four\n")


def test_the_suffix_says_it(tmp_path):
    for name in ("x.ft", "x.fasttext"):
        (tmp_path / name).write_bytes(b"__label__a one\n")
        (found,) = read(tmp_path / name)
        assert (found.labels, found.texts) == (["a"], ["one"])


@pytest.mark.parametrize("form", ["fasttext", "vw"])
def test_a_column_means_nothing_there(form):
    with pytest.raises(ValueError, match="label='kind' means nothing"):
        read(io.BytesIO(b""), form, label="kind")
