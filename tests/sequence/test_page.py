"""The page's code runs, prints what the page says, and its commands run on the files that it leaves behind."""

import doctest
import re
import shlex
from pathlib import Path

from fastlin.cli import main

PAGE = Path(__file__).parent.parent.parent / "docs" / "sequences.md"


def test_the_page_of_sequences_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert tried.attempted > 60
    assert tried.failed == 0
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
