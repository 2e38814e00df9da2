"""The page's code runs, and prints what the page says."""

import doctest
from pathlib import Path


def test_the_page_of_learning_without_labels_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "unsupervised.md"
    tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried.attempted > 30
    assert tried.failed == 0
