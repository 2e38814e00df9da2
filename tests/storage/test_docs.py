"""The page of documentation: its code runs, and prints what the page says."""

import doctest
from pathlib import Path


def test_the_page_of_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parent.parent.parent / "docs" / "model-files.md"
    tried = doctest.testfile(str(page), module_relative=False)
    assert tried.attempted > 20
    assert tried.failed == 0
