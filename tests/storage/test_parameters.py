"""What a file may say of parameters: numbers, strings and collections of them, never code, a path or a folder."""

import contextlib
import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn.base
from sklearn.pipeline import Pipeline, make_pipeline, make_union

import fastlin
from fastlin import storage
from fastlin.model_files import classes
from fastlin.registry import CLASSES
from support.model_files import CODES, FEW, TEXTS, VECTORISERS, X, fitted, forge

CALLED = {"score_func", "dtype"}  # parameters that may be a function or a class: one of the table, a type of numbers
ODD = [
    {"function": "fastlin.select.chi2"}, {"type": "float64"}, {"type": "int"}, {"dict": [["a", {"type": "float"}]]},
    {"objects": [[1], [{"function": "fastlin.select.chi2"}]]}, {"tuple": [1, {"type": "float"}]},
    [["a", {"type": "int"}]],
    {"model": {"class": "fastlin.Elementwise", "parameters": {}, "learnt": {}}},
]  # fmt: skip
OF_SOME_VERSIONS = {"multi_class", "force_int_remainder_cols", "use_legacy_attributes", "clip"}
UNNAMED = ("args", "kwargs")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


def parameters_of(kind):
    if kind.__init__ is object.__init__:  # which has a signature unless Python was built without docstrings
        return {}
    return {name: parameter for name, parameter in inspect.signature(kind).parameters.items() if name not in UNNAMED}


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_parameter_of_every_class_is_in_the_table_and_its_default_is_allowed(name):
    kind = classes.class_of(name)[0]
    table, parameters = classes.parameters_of(name), parameters_of(kind)
    others = set(table) - set(parameters)  # of scikit-learn's classes, parameters of other versions than the installed
    assert set(parameters) <= set(table)
    assert others <= (OF_SOME_VERSIONS if name.startswith("sklearn.") else set())
    for key, parameter in parameters.items():
        assert parameter.default is inspect.Parameter.empty or table[key].allows(parameter.default), key


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_no_file_gives_a_parameter_code_or_anything_that_holds_some(path, name):
    kind, _ = classes.class_of(name)
    for parameter in parameters_of(kind):
        for odd in ODD:
            model = {"class": name, "parameters": {parameter: odd}, "learnt": {}}
            forge(path, {"format": 1, "kind": "model", "arrays": {}, "header": {"model": model}}, {})
            try:
                value = fastlin.load(path).get_params(deep=False)[parameter]
            except storage.ModelFileError:
                continue
            if parameter not in CALLED:
                assert not holds_code(value), (parameter, odd)


def holds_code(value):
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return any(map(holds_code, value))
    return callable(value) and not isinstance(value, sklearn.base.BaseEstimator)


class Planted:
    """What a pickle may do when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_loaded_pipeline_reads_no_cache(path, tmp_path):
    """A cached step is a pickle: whoever can name the folder can have code run by the next fit."""
    cache, proof = tmp_path / "cache", tmp_path / "code was run"

    def pipeline(memory):
        return Pipeline([("a", fastlin.Elementwise()), ("b", fastlin.Perceptron(**FEW))], memory=memory)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pipeline(str(cache)).fit(X, CODES)
        entries = list(cache.rglob("output.pkl"))
        assert entries
        for entry in entries:
            entry.write_bytes(pickle.dumps(Planted(proof)))
        with contextlib.suppress(Exception):  # the file that was opened is no cached step
            pipeline(str(cache)).fit(X, CODES)
    assert proof.exists()
    proof.unlink()

    with pytest.warns(UserWarning, match=r"Pipeline\.memory: left out"):
        report = fastlin.save(model, path)
    assert report["left_out"] == ["Pipeline.memory"]
    loaded = fastlin.load(path)
    assert loaded.memory is None
    np.testing.assert_array_equal(loaded.predict(X), fitted(loaded, X, CODES).predict(X))

    header, arrays = storage.read_archive(path, "model", mmap=False)
    header["model"]["parameters"]["memory"] = str(cache)
    storage.write_archive(path, "model", header, arrays)
    with pytest.raises(storage.ModelFileError, match=r"Pipeline\.memory is .* may hold None"):
        fastlin.load(path)
    assert not proof.exists()


def test_a_file_opens_no_files_that_data_name(path):
    for name in ("count", "tfidf", "hashing", "sk count", "sk tfidf", "sk hashing"):
        model = fitted(VECTORISERS[name], TEXTS)
        fastlin.save(make_union(model), path)
        header, arrays = storage.read_archive(path, "model", mmap=False)
        parameters = header["model"]["parameters"]["transformer_list"][0]["tuple"][1]["model"]["parameters"]
        parameters["input"] = "filename"
        storage.write_archive(path, "model", header, arrays)
        with pytest.raises(storage.ModelFileError, match="'filename' would open"):
            fastlin.load(path)
        with pytest.raises(ValueError, match=r"\.input is 'filename', and a model file may hold 'content'"):
            fastlin.save(model.set_params(input="filename"), path)


def test_what_no_fit_accepts_is_not_saved(path):
    model = make_pipeline(fastlin.Elementwise(), fastlin.SGDClassifier(**FEW)).fit(X, CODES)
    model.set_params(sgdclassifier__max_iter=0)
    with pytest.raises(ValueError, match=r"max_iter is 0, and a model file may hold a whole number from 1"):
        fastlin.save(model, path)
    model.set_params(sgdclassifier__max_iter=np.int64(7), sgdclassifier__alpha=np.float32(0.5))
    fastlin.save(model, path)
    assert fastlin.load(path).get_params()["sgdclassifier__max_iter"] == 7
    assert not path.with_name("x").exists()


def test_a_parameter_of_a_later_version_is_left_out_at_its_default(path, monkeypatch):
    """scikit-learn's classes get parameters from time to time."""
    table = classes.parameters_of("sklearn.preprocessing.MaxAbsScaler")
    monkeypatch.delitem(table, "copy")
    scaler = classes.class_of("sklearn.preprocessing.MaxAbsScaler")[0]
    fastlin.save(scaler().fit(X), path)
    assert fastlin.load(path).copy is True
    with pytest.raises(ValueError, match=r"MaxAbsScaler\.copy is a parameter that model files do not know"):
        fastlin.save(scaler(copy=False).fit(X), path)
