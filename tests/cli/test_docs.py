"""The guide's commands and Python run in their order; the reference has every option there is."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fastlin.cli import COMMANDS, main
from fastlin.cli.commands import parser_of
from fastlin.cli.lm_options import LANGUAGE_MODELS
from fastlin.cli.options import LEARNERS
from fastlin.cli.tag_options import TAGGERS

DOCS = Path(__file__).parent.parent.parent / "docs"
SIMPLE = re.compile(r"fastlin [^|<>;&$]*")  # a command that needs no shell


def run(block, path):
    """A block of shell: in this process where it needs no shell, for every process imports scikit-learn anew."""
    lines = block.strip().splitlines()
    if all(SIMPLE.fullmatch(line) for line in lines):
        for line in lines:
            assert main(shlex.split(line)[1:]) == 0, line
        return
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    script = f"set -euo pipefail\n{block}"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    print(done.stdout)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, and `fastlin` on the path."""
    bin_, work = tmp_path / "bin", tmp_path / "work"
    bin_.mkdir()
    work.mkdir()
    (bin_ / "fastlin").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fastlin "$@"\n')
    (bin_ / "fastlin").chmod(0o755)
    monkeypatch.chdir(work)
    return bin_


def test_the_guide_runs(place, capsys):
    text = (DOCS / "guide.md").read_text()
    blocks = re.findall(r"```(sh|python)\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) > 15
    names = {"__name__": "guide"}
    for kind, block in blocks:
        if kind == "sh":
            run(block, place)
        else:
            exec(compile(block, "guide.md", "exec"), names)
    printed = capsys.readouterr()
    assert not printed.err
    assert float(re.search(r"accuracy on dev.tsv: ([0-9.]+)", printed.out)[1]) > 0.75
    assert "ahead by" in printed.out
    assert "best: C = " in printed.out
    assert "served.fastlin is whole" in printed.out
    assert "sqlite3" in printed.out
    labels = Path("labels.txt").read_text().splitlines()
    assert len(labels) == 400
    right = [line.split("\t")[0] for line in Path("test.tsv").read_text().splitlines()]
    assert sum(a == b for a, b in zip(labels, right, strict=True)) > 300


def test_the_reference_describes_every_command_option_and_learner():
    text = (DOCS / "command-line.md").read_text()
    for command in COMMANDS:
        assert f"## fastlin {command}" in text
    parts = dict(zip(COMMANDS, re.split(r"^## fastlin [\w ]+$", text, flags=re.MULTILINE)[1:], strict=True))
    shared = text[: text.index("## fastlin train")]
    for command in COMMANDS:
        described = set(re.findall(r"`(--?[\w-]+)", shared + parts[command]))
        for action in parser_of(command)._actions:
            options = [name for name in action.option_strings if not name.startswith("--no-") or name == "--no-verify"]
            assert set(options) <= described, (command, options)
    actions = (action for command in COMMANDS for action in parser_of(command)._actions)
    known = {name for action in actions for name in action.option_strings} | {"--help", "--version"}
    assert set(re.findall(r"`(--[\w-]+)", text)) <= known
    for name in (*LEARNERS, *TAGGERS, *LANGUAGE_MODELS):
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130, 141])
def test_the_reference_names_the_exit_codes(code):
    assert f"| {code} |" in (DOCS / "command-line.md").read_text()
