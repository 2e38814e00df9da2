"""The reference has every command, option, learner and exit code there is."""

import re
from pathlib import Path

import pytest

from fastlin.cli import COMMANDS
from fastlin.cli.commands import parser_of
from fastlin.cli.lm_options import LANGUAGE_MODELS
from fastlin.cli.options import LEARNERS
from fastlin.cli.parse_options import PARSERS
from fastlin.cli.tag_options import TAGGERS

DOCS = Path(__file__).parent.parent.parent / "docs"


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
    for name in (*LEARNERS, *TAGGERS, *PARSERS, *LANGUAGE_MODELS):
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130, 141])
def test_the_reference_names_the_exit_codes(code):
    assert f"| {code} |" in (DOCS / "command-line.md").read_text()
