"""Files of safetensors: a model comes back with its bits, whoever damages one is told, others read the tensors."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import ModelFileError
from fastlin.interchange import read_safetensors, write_safetensors
from fastlin.storage.safetensors import read_tensors, write_tensors
from support.model_files import ANSWERS, CODES, LEARNERS, SENTENCES, TAGS, TEXTS, X, fitted

HEADER = {"a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}


def content_of(header, buffer):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return len(text).to_bytes(8, "little") + text + buffer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_model_comes_back_with_its_bits(name, tmp_path):
    path, labels = tmp_path / "model.safetensors", np.array(["a", "b", "ß", "x"])[CODES]
    model = fitted(LEARNERS[name], X, CODES if name == "pegasos" else labels)
    rows = X.astype(int) if "categories" in name else X
    report = write_safetensors(model, path)
    assert report["bytes"] == path.stat().st_size
    back = read_safetensors(path)
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    if hasattr(model, "partial_fit") and "categories" not in name:
        np.testing.assert_array_equal(
            back.partial_fit(rows, labels if name != "pegasos" else CODES).predict(rows),
            model.partial_fit(rows, labels if name != "pegasos" else CODES).predict(rows),
        )


def test_pipelines_taggers_and_small_weights_come_back(tmp_path):
    path = tmp_path / "model.safetensors"
    model = make_pipeline(fastlin.TfidfVectorizer(), fastlin.LogisticRegression()).fit(TEXTS, ANSWERS)
    write_safetensors(model, path)
    np.testing.assert_array_equal(read_safetensors(path).predict_proba(TEXTS), model.predict_proba(TEXTS))
    report = write_safetensors(model, path, dtype="int8", prune=1e-3)
    assert report["weights"] > 0
    assert read_safetensors(path).predict(TEXTS).tolist() == ANSWERS
    tagger = fastlin.sequence.CRF().fit(SENTENCES, TAGS)
    write_safetensors(tagger, path)
    assert read_safetensors(path).predict(SENTENCES) == tagger.predict(SENTENCES)


def test_tensors_of_every_type_come_back_and_lie_where_their_type_wants_them(tmp_path):
    path = tmp_path / "arrays.safetensors"
    arrays = {str(np.dtype(kind)): np.arange(3).astype(kind) for kind in "?bBhHiIlLefd"}
    arrays |= {"strings": np.array([["a", "ßx"]]), "bytes": np.array([b"ab", b"c"]), "empty": np.zeros((0, 3))}
    arrays |= {"scalar": np.array(2.5), "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3))}
    arrays |= {"records": np.zeros(2, [("t", "<i8"), ("step", "<f4")]), "big": np.arange(3, dtype=">i4")}
    write_tensors(path, arrays, {"a": "ü"})
    found, metadata = read_tensors(path)
    assert metadata["a"] == "ü"
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("<")
        assert found[name].flags.aligned
        assert not found[name].flags.writeable


@pytest.mark.peer("safetensors")
def test_the_package_of_the_format_reads_and_writes_the_same(tmp_path):
    from safetensors.numpy import load_file, save_file

    path = str(tmp_path / "model.safetensors")
    model = fitted(LEARNERS["logistic"], X, CODES)
    write_safetensors(model, path)
    np.testing.assert_array_equal(load_file(path)["LogisticRegression.coef.values"].T, model.coef_)
    save_file({"a": np.arange(6.0).reshape(2, 3)}, path)
    np.testing.assert_array_equal(read_tensors(path)[0]["a"], np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "header, buffer, words",
    [
        (HEADER, bytes(15), "ends at byte 16, and there are 15"),
        (HEADER, bytes(17), "leave bytes"),
        ({"a": HEADER["a"] | {"shape": [3]}}, bytes(16), "not float64 of shape"),
        ({"a": HEADER["a"] | {"shape": [2**40, 2**40]}}, bytes(16), "not float64 of shape"),
        ({"a": {"dtype": "F64", "shape": [0, 2**47, 2**47], "data_offsets": [0, 0]}}, b"", "too large"),
        ({"a": HEADER["a"] | {"shape": [-2]}}, bytes(16), "no such numbers"),
        ({"a": HEADER["a"] | {"shape": 2}}, bytes(16), "no such numbers"),
        ({"a": HEADER["a"] | {"dtype": "BF16"}}, bytes(16), "BF16"),
        ({"a": HEADER["a"] | {"dtype": ["F64"]}}, bytes(16), "type"),
        ({"a": HEADER["a"] | {"data_offsets": [16, 0]}}, bytes(16), "begin before"),
        ({"a": HEADER["a"] | {"data_offsets": [0, 16, 16]}}, bytes(16), "begin before"),
        ({"a": HEADER["a"] | {"data_offsets": [0, 2**70]}}, bytes(16), "no such numbers"),
        ({"a": {"dtype": "F64"}}, bytes(16), "must have dtype"),
        ({"a": HEADER["a"], "b": HEADER["a"]}, bytes(16), "share some"),
        ({"__metadata__": {"a": 1}}, b"", "object of strings"),
        ({"__metadata__": {"fastlin.as_bytes": '{"a": ["<U9", [1]]}'}, **HEADER}, bytes(16), "does not fit"),
        ({"__metadata__": {"fastlin.as_bytes": '{"a": ["|O", [2]]}'}, **HEADER}, bytes(16), "no type"),
        ({"__metadata__": {"fastlin.as_bytes": "["}, **HEADER}, bytes(16), "does not fit"),
        (b'{"a": 1, "a": 1}', b"", "twice"),
        (b"[" * 100_000, b"", "no JSON|memory"),
        (b"[]", b"", "object of arrays"),
        (HEADER, bytes(16), "no model of fastlin's"),
        ({"__metadata__": {"fastlin.model": "{"}}, b"", "no JSON"),
        ({"__metadata__": {"fastlin.model": "[]"}}, b"", "an object"),
        ({"__metadata__": {"fastlin.model": '{"model": {"class": "os.system"}}'}}, b"", "no model|os.system"),
    ],
)
def test_a_wrong_file_is_refused(header, buffer, words, tmp_path):
    path = tmp_path / "wrong.safetensors"
    path.write_bytes(content_of(header, buffer))
    with pytest.raises(ModelFileError, match=words) as refusal:
        read_safetensors(path)
    assert str(path) in str(refusal.value)


@pytest.mark.filterwarnings("ignore")
def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    write_safetensors(fitted(LEARNERS["perceptron"], X, CODES), path)
    whole = path.read_bytes()
    for stop in range(0, len(whole), max(1, len(whole) // 200)):
        path.write_bytes(whole[:stop])
        with pytest.raises(ModelFileError):
            read_safetensors(path)
