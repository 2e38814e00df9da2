"""The guide's code runs, and prints what the guide says."""

import doctest
from pathlib import Path


def test_the_page_of_documentation_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "text.md"
    tried = doctest.testfile(str(page), module_relative=False)
    assert tried.attempted > 25
    assert tried.failed == 0
