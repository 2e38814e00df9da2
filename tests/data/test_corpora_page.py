"""The page's code runs, and prints what the page says."""

import doctest
from pathlib import Path


def test_the_page_of_corpora_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "corpora.md"
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    tried = doctest.testfile(str(page), module_relative=False, optionflags=options)
    assert tried.attempted > 20
    assert tried.failed == 0
