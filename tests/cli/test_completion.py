"""Completion: what a shell offers is what the parsers know."""

import shutil
import subprocess

import pytest

from fastlin.cli import COMMANDS
from fastlin.cli.commands import parser_of


def completed(shell, words):
    """What bash offers for the last of some words."""
    script = shell.right("completion", "bash").out
    array = " ".join(f"'{word}'" for word in words)
    script += f'\nCOMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _fastlin; printf "%s\\n" "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(filter(None, done.stdout.split("\n")))


def test_first_words_are_the_commands(shell):
    assert completed(shell, ["fastlin", ""]) == {command.split()[0] for command in COMMANDS} | {"--help", "--version"}
    assert completed(shell, ["fastlin", "tr"]) == {"train"}
    assert completed(shell, ["fastlin", "tag", ""]) == {"train", "tune", "predict", "evaluate"}


@pytest.mark.parametrize("command", COMMANDS)
def test_options_are_those_of_the_parser(shell, command):
    known = {name for action in parser_of(command)._actions for name in action.option_strings} | {"--help"}
    assert completed(shell, ["fastlin", *command.split(), "-"]) == known
    long = {name for name in known if name.startswith("--m")}
    assert completed(shell, ["fastlin", *command.split(), "x.tsv", "--m"]) == long


def test_values_are_those_of_the_option(shell, folder, tmp_path, monkeypatch):
    assert {"svm", "sgd"} <= completed(shell, ["fastlin", "train", "--learner", "s"])
    assert {"svm", "sgd"} <= completed(shell, ["fastlin", "train", "--learner", "=", "s"])  # as bash cuts --learner=s
    assert completed(shell, ["fastlin", "tag", "train", "--learner", "="]) == {"crf", "perceptron", "memm", "hmm"}
    assert completed(shell, ["fastlin", "tag", "train", "--learner", ""]) == {"crf", "perceptron", "memm", "hmm"}
    assert completed(shell, ["fastlin", "completion", ""]) == {"bash", "zsh", "fish"}
    monkeypatch.chdir(folder)
    assert completed(shell, ["fastlin", "train", "tr"]) == {"train.tsv"}
    (tmp_path / "two words.tsv").touch()
    monkeypatch.chdir(tmp_path)
    assert completed(shell, ["fastlin", "train", "tw"]) == {"two words.tsv"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.program(name)) for name in ("zsh", "fish")])
def test_other_shells_read_their_scripts(shell, name, tmp_path):
    path = tmp_path / "script"
    path.write_text(shell.right("completion", name).out)
    done = subprocess.run([shutil.which(name), "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_has_every_option(shell):
    lines = shell.right("completion", "fish").out.splitlines()
    options = sum(bool(action.option_strings) for command in COMMANDS for action in parser_of(command)._actions)
    assert sum(" -l " in line or " -s " in line for line in lines) == options
