"""The examples in the docstrings of the readers run, and print what they say."""

import doctest

import fastlin.data.errors
import fastlin.data.reader
import fastlin.data.readers.svmlight
import fastlin.data.svmlight_writer

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_examples_of_the_docstrings_run():
    modules = (fastlin.data.svmlight_writer, fastlin.data.errors, fastlin.data.reader, fastlin.data.readers.svmlight)
    tried = [doctest.testmod(module, optionflags=OPTIONS) for module in modules]
    assert all(each.failed == 0 and each.attempted >= 2 for each in tried)
