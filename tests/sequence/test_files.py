"""Files of models of sequences: what is saved comes back, and what no model says is refused."""

import numpy as np
import pytest

import fastlin
from fastlin import storage
from fastlin.sequence import CRF, MEMM, StructuredPerceptron
from support.sequences import items, problem, stacked

X, Y = problem(30, longest=6)
SENTENCES = [items(x) for x in X]
TAGS = [[("ADJ", "NOUN", "ß")[code] for code in codes] for codes in Y]
PAIRS = {(a, b) for a in ("ADJ", "NOUN", "ß") for b in ("ADJ", "NOUN", "ß")} - {("ADJ", "ADJ")}
MODELS = {
    "CRF": CRF(),
    "CRF, order 2": CRF(order=2, weights="dense"),
    "CRF, edges": CRF(edges=["f1", "f2"], c1=0.1),
    "MEMM": MEMM(),
    "MEMM, order 2": MEMM(order=2, weights="dense", decoder="beam"),
    "MEMM, edges": MEMM(edges=["f1", "f2"], decoder="greedy"),
    "MEMM, dictionary": MEMM(tag_dictionary=["f0", "f3"], dtype="float32"),
    "MEMM, given dictionary": MEMM(tag_dictionary={"f0": ["ADJ"], "never": {"NOUN"}}),
    "perceptron": StructuredPerceptron(random_state=0),
    "perceptron, order 2": StructuredPerceptron(order=2, loss="pa", C=0.01, average=False, random_state=0),
    "perceptron, observed": StructuredPerceptron(weights="observed", random_state=0),
}
every = pytest.mark.parametrize("name", MODELS)
NUMBERS = [name for name in MODELS if "edges" not in name and "dictionary" not in name]  # that need no names


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


def fitted(name):
    return MODELS[name].__class__(**MODELS[name].get_params()).fit(SENTENCES, TAGS)


def same(one, two, *data, y, **options):
    """Equal in all they say."""
    assert type(one) is type(two)
    assert repr(one) == repr(two)
    assert one.classes_.tolist() == two.classes_.tolist()
    assert one.classes_.dtype == two.classes_.dtype
    assert (one.n_features_in_, one.attributes_) == (two.n_features_in_, two.attributes_)
    for given in ({}, {"allowed": [None] * len(X)}):
        assert one.predict(*data, **options, **given) == two.predict(*data, **options, **given)
        assert one.predict_nbest(*data, 3, **options, **given) == two.predict_nbest(*data, 3, **options, **given)
        for p, q in zip(*(model.predict_marginals(*data, **options, **given) for model in (one, two)), strict=True):
            np.testing.assert_array_equal(p, q)
    np.testing.assert_array_equal(one.log_proba(*data, y, **options), two.log_proba(*data, y, **options))


@pytest.mark.parametrize("mmap", [True, False])
@every
def test_a_model_comes_back(path, name, mmap):
    model = fitted(name)
    fastlin.save(model, path)
    loaded = fastlin.load(path, mmap=mmap)
    same(model, loaded, SENTENCES, y=TAGS)
    told = [attribute for attribute in vars(model) if attribute[-1] == "_" and attribute[0] != "_"]
    assert {"history_", "objective_", "converged_", "n_iter_"} <= set(told)
    assert repr([getattr(loaded, one) for one in told]) == repr([getattr(model, one) for one in told])
    again = path.with_suffix(".again")
    fastlin.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", NUMBERS)
def test_models_of_columns_and_numbered_labels(path, name):
    rows, lengths = stacked(X)
    model = MODELS[name].__class__(**MODELS[name].get_params()).fit(rows, np.concatenate(Y), lengths=lengths)
    fastlin.save(model, path)
    same(model, fastlin.load(path), rows, y=np.concatenate(Y), lengths=lengths)


@every
def test_constraints_come_back(path, name):
    model = fitted(name).set_params(constraints=PAIRS)
    fastlin.save(model, path)
    same(model, fastlin.load(path), SENTENCES, y=TAGS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@every
def test_files_for_serving(path, name, dtype):
    model = fitted(name)
    report = fastlin.save(model, path, dtype=dtype, prune=1e-9, X=SENTENCES, y=TAGS)
    assert abs(report["accuracy"] - report["accuracy_saved"]) < 0.05
    loaded = fastlin.load(path)
    assert not hasattr(loaded, "history_")
    marginals = (np.concatenate(one.predict_marginals(SENTENCES)) for one in (model, loaded))
    np.testing.assert_allclose(*marginals, atol={"float16": 1e-3, "float32": 1e-6, "int8": 0.05}[dtype])


@every
def test_many_names_and_one_label(path, name):
    words = [[[f"f{i}", "f0", f"Straße {j}"] for i in range(7)] for j in range(50)]
    model = MODELS[name].__class__(**MODELS[name].get_params())
    if "given" in name:
        model.set_params(tag_dictionary={"f0": "ADJ"})
    model.fit(words, [["ADJ"] * 7] * 50)
    fastlin.save(model, path)
    loaded = fastlin.load(path)
    assert loaded.attributes_ == model.attributes_
    assert len(loaded.attributes_) == 57
    assert loaded.predict(words) == [["ADJ"] * 7] * 50


def header_and_arrays(name, path):
    fastlin.save(fitted(name), path)
    return storage.read_archive(path, "model", mmap=False)


@every
def test_what_does_not_fit_is_refused(path, name):
    """Every array of another length, and every list."""
    header, arrays = header_and_arrays(name, path)
    for key, array in arrays.items():
        if "history" in key or "certificate" in key:
            continue
        for wrong in (array[:-1], np.concatenate([array, array]), array.astype("S3"), array[..., np.newaxis]):
            storage.write_archive(path, "model", header, arrays | {key: wrong})
            with pytest.raises(storage.ModelFileError, match=r"model\.fastlin: "):
                fastlin.load(path)
    learnt = header["model"]["learnt"]
    for key in ("classes", "names", "n_features_in_"):
        for wrong in (None, 3, [], ["a"], ["f0", "f0", "f1", "f2"], {"list": 3}):
            forged = {"model": header["model"] | {"learnt": learnt | {key: wrong}}, "fastlin": "0"}
            if key == "names" and wrong is None:  # a model of columns
                continue
            storage.write_archive(path, "model", forged, arrays)
            with pytest.raises(storage.ModelFileError, match=r"model\.fastlin: "):
                fastlin.load(path)
    for key in learnt:
        forged = {"model": header["model"] | {"learnt": {one: learnt[one] for one in learnt if one != key}}}
        storage.write_archive(path, "model", forged, arrays)
        if key in ("classes", "coef", "start", "transitions", "names", "words", "labels_of_words"):
            with pytest.raises(storage.ModelFileError, match=r"model\.fastlin: "):
                fastlin.load(path)
    forged = {"model": header["model"] | {"learnt": learnt | {"more": 1}}}
    storage.write_archive(path, "model", forged, arrays)
    with pytest.raises(storage.ModelFileError, match="more"):
        fastlin.load(path)
