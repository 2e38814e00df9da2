"""scikit-learn's own tests of its vectorisers, as they are installed, with fastlin's classes in their place.

Each of scikit-learn's modules is executed anew while `sklearn.feature_extraction` holds fastlin's names, so that what
it imports, and what it parametrises its tests with, is ours. Its tests then stand in a class here: pytest finds them
with their marks and fixtures.
"""

import functools
import importlib.util
import sys
import types
from collections.abc import Collection
from pathlib import Path

import pytest
import sklearn.feature_extraction
import sklearn.feature_extraction.text

from fastlin import text

MODULES = ("test_text", "test_dict_vectorizer", "test_feature_hasher")
PRIVATE = "calls {} of scikit-learn's class, which is no part of its interface"
CANNOT = {
    "test_countvectorizer_sort_features_64bit_sparse_indices": PRIVATE.format("_sort_features"),
    "test_stop_word_validation_custom_preprocessor": PRIVATE.format("_check_stop_words_consistency"),
    "test_vectorizers_do_not_have_set_output": "set_output(transform='pandas') gives a frame of sparse columns",
    "test_vectorizer_stop_words_inconsistent": PRIVATE.format("_check_stop_words_consistency"),
}
# scikit-learn's tests were not written for warnings that are errors
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def installed(name):
    """The path of one of scikit-learn's test modules, which its wheels bring along."""
    return Path(importlib.util.find_spec(f"sklearn.feature_extraction.tests.{name}").origin)


@functools.cache
def namespace_of(path):
    """The module's namespace, with our names for scikit-learn's; the module stays, for pickles that name it."""
    module = sys.modules[f"fastlin_in_{path.stem}"] = types.ModuleType(f"fastlin_in_{path.stem}")
    with pytest.MonkeyPatch.context() as patch:
        for place in (sklearn.feature_extraction, sklearn.feature_extraction.text):
            for name in set(place.__all__) & set(text.__all__):
                patch.setattr(place, name, getattr(text, name))
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return vars(module)


def listed(mark):
    """A parametrisation by an iterator as one by a list, which is what pytest asks for."""
    if mark.name != "parametrize" or isinstance(mark.args[1], Collection):
        return mark
    names, values = mark.args
    return pytest.mark.parametrize(names, list(values), **mark.kwargs).mark


def as_class(name):
    tests = {
        key: value
        for key, value in namespace_of(installed(name)).items()
        if key.startswith("test_") and callable(value)
    }
    for key, test in tests.items():
        marks = [listed(mark) for mark in getattr(test, "pytestmark", ())]
        if key in CANNOT:
            marks.append(pytest.mark.xfail(reason=CANNOT[key], strict=True).mark)
        test.pytestmark = marks
    return type(name, (), {key: staticmethod(test) for key, test in tests.items()})


TestText, TestDictVectorizer, TestFeatureHasher = map(as_class, MODULES)


@pytest.fixture(params=[42])
def global_random_seed(request):
    """scikit-learn's conftest has one of this name."""
    return request.param


@pytest.mark.parametrize("name", MODULES)
def test_scikit_learns_module_tests_our_classes(name):
    classes = {
        key: value
        for key, value in namespace_of(installed(name)).items()
        if key in text.__all__ and isinstance(value, type)
    }
    assert classes
    assert all(value is getattr(text, key) for key, value in classes.items())
    assert sklearn.feature_extraction.text.CountVectorizer is not text.CountVectorizer


def test_what_cannot_pass_is_still_there():
    """A name that scikit-learn has dropped goes from the list."""
    assert set(CANNOT) <= set(namespace_of(installed("test_text")))
