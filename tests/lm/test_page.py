"""The page's code runs, and prints what the page says."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "language-models.md"


def test_the_page_of_language_models_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert tried.attempted > 12
    assert tried.failed == 0
