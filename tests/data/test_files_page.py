"""The page about files: its code runs, and prints what the page says."""

import doctest
from pathlib import Path

import fastlin.data.dump
import fastlin.data.reading
import fastlin.data.svmlight

import fastlin.data.errors

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_page_of_documentation_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "files.md"
    tried = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS)
    assert tried.attempted > 20
    assert tried.failed == 0


def test_the_examples_of_the_docstrings_run():
    modules = (fastlin.data.svmlight_writer, fastlin.data.errors, fastlin.data.reader, fastlin.data.readers.svmlight)
    tried = [doctest.testmod(module, optionflags=OPTIONS) for module in modules]
    assert all(each.failed == 0 and each.attempted >= 2 for each in tried)
