"""Files of every class, written by the version that first had it: later ones read them, and answer the same."""

import json
import warnings

import numpy as np
import pytest

import fastlin
from fastlin.model_files import classes
from fastlin.registry import CLASSES
from fastlin.storage import read_archive
from support.golden_files import FOLDER, answers, cases, place

DATA = {name: data for name, _, data in cases()}
TOLD = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("name", TOLD)
def test_a_file_of_an_earlier_version_answers_as_it_did(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = answers(fastlin.load(place(name)), DATA[name])
    assert found.keys() == TOLD[name].keys()
    for method, told in TOLD[name].items():
        assert_same(found[method], told)


def assert_same(found, told):
    """Equal strings; numbers equal to rounding, which differs with the processor."""
    if isinstance(told, list):
        assert len(found) == len(told)
        for one, other in zip(found, told, strict=True):
            assert_same(one, other)
    elif isinstance(told, float):
        np.testing.assert_allclose(found, told, rtol=1e-8, atol=1e-10)
    else:
        assert found == told


def test_every_class_has_a_file():
    """`python tests/support/golden_files.py` writes those that are missing, once they are among its cases."""
    assert set(CLASSES) == {kind for name in TOLD for kind in classes_in(read_archive(place(name), "model")[0])}


def classes_in(content):
    """The names of all classes in the JSON of a file."""
    if isinstance(content, dict):
        if set(content) == {"class", "parameters", "learnt"}:
            yield content["class"]
        content = list(content.values())
    if isinstance(content, list):
        for item in content:
            yield from classes_in(item)


def test_a_parameter_of_another_name_is_read_under_its_present_one():
    content = json.dumps(read_archive(place("hashing-names"), "model")[0])
    assert '"names": ' in content
    assert fastlin.load(place("hashing-names")).keep_names > 0


def test_a_parameter_under_both_its_names_is_refused():
    with pytest.raises(fastlin.storage.ModelFileError, match="under its old name and its new one"):
        classes.current_parameters("fastlin.HashingVectorizer", {"names": 3, "keep_names": 4})
