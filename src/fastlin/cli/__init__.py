"""The `fastlin` command: from files and pipes to models, labels and reports.

`docs/command-line.md` is the reference. Nothing heavy is imported before a command is known to be well formed, so that
help and mistakes are answered at once.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from fastlin import __version__
from fastlin.cli.errors import UserError, close_output, did_you_mean, explained, flush_output

OK, MISTAKE, BUG, INTERRUPTED, BROKEN_PIPE = 0, 2, 3, 130, 141  # 1: a check that a command was asked for failed
HELP = ("-h", "--help", "help")
MISTAKES = (UserError, ValueError, TypeError, OSError, MemoryError, ImportError)

COMMANDS = {
    "train": "learn a model from labelled documents",
    "predict": "label documents, a line for each",
    "evaluate": "compare a model's labels with the right ones",
    "report": "one HTML file: figures, features, mistakes with coloured words; two models side by side",
    "inspect": "what a model holds, its strongest features, why a document got its label",
    "convert": "turn files of any kind into shards or other files",
    "import": "a model of LIBLINEAR, Vowpal Wabbit or CRFsuite, or safetensors, as a model file",
    "export": "a model file as safetensors, or as objects of scikit-learn",
    "tune": "choose C or alpha on documents held out, or in folds",
    "tag train": "learn to tag the tokens of sentences",
    "tag tune": "choose c2, C or alpha of a tagger on sentences held out, or in folds",
    "tag predict": "tag them, a token a line",
    "tag evaluate": "compare a tagger's tags with the right ones",
    "parse train": "learn to parse sentences from trees",
    "parse predict": "a tree for each sentence, or its n best, or expected constituents",
    "parse evaluate": "compare a parser's trees, or trees in a file, with the right ones",
    "parse sample": "draw trees, or sentences, from a grammar",
    "lm train": "learn a language model from sentences",
    "lm score": "the log-probability of sentences, the bits of words",
    "lm perplexity": "how a text surprises a model, or a mixture of several",
    "lm generate": "draw sentences from a model",
    "lm next": "the most probable next words",
    "lm convert": "from ARPA's format to a model file, or back",
    "lm prune": "leave out the n-grams that matter least",
    "spell train": "learn to correct spelling, from text, a language model or a dictionary",
    "spell correct": "correct the misspelt words of a text by their context",
    "completion": "a script that completes commands and options in bash, zsh or fish",
    "demo": "train every learner on the docstrings of this Python's standard library",
}
# commands whose names are no names of modules or functions
ENTRIES = {"import": ("interchange", "import_model"), "export": ("interchange", "export_model")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands behind `fastlin`; `sys.argv[1:]` when not given.
    """
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by whoever started this
            setattr(sys, stream, open(os.devnull, mode))  # noqa: SIM115 - open for as long as the command
    words = sys.argv[1:] if arguments is None else list(arguments)
    developer = "--traceback" in words
    command, rest = command_of(_asked([word for word in words if word != "--traceback"]))
    name = f"fastlin {command}" if command in COMMANDS else "fastlin"
    try:
        code = _run(name, command, rest)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse has printed a help
        return int(leaving.code or OK)
    except BrokenPipeError:  # nobody reads on: as good as done
        close_output()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except MISTAKES as error:
        if developer:
            raise
        print(f"{name}: {explained(error)}", file=sys.stderr)
        flush_output()
        return MISTAKE
    except Exception:
        if developer:
            raise
        sys.excepthook(*sys.exc_info())
        print(f"{name}: this is an error of fastlin's own", file=sys.stderr)
        return BUG
    return code


def _asked(words: list[str]) -> list[str]:
    """`help train` and `tag help train` as what they stand for: `train --help` and `tag train --help`."""
    for place in (0, 1):
        inside = place and any(command.startswith(f"{words[0]} ") for command in COMMANDS if words)
        if (not place or inside) and words[place : place + 1] == ["help"] and len(words) > place + 1:
            return [*words[:place], *words[place + 1 :], "--help"]
    return words


def command_of(words: list[str]) -> tuple[str, list[str]]:
    """The command, of one word or two, and what stands behind it."""
    begins = any(command.startswith(f"{word} ") for command in COMMANDS for word in words[:1])
    size = 2 if begins and any(not word.startswith("-") and word not in HELP for word in words[1:2]) else 1
    return " ".join(words[:size]), words[size:]


def _run(name: str, command: str, rest: list[str]) -> int:
    inside = [one for one in COMMANDS if one.startswith(f"{command} ")]
    if inside or command in ("", *HELP):
        print(_help(f"{command} " if inside else "", inside or list(COMMANDS)))
        return OK if command in HELP or (rest[:1] and rest[0] in HELP) else MISTAKE
    if command in ("-V", "--version"):
        print(f"fastlin {__version__}")
        return OK
    if command not in COMMANDS:
        kind = "option" if command.startswith("-") else "command"
        hint = did_you_mean(command, [*COMMANDS, "--help", "--version"])
        raise UserError(f"there is no {kind} {command!r}{hint}; fastlin --help lists them")
    from fastlin.cli.commands import parse

    options = parse(command, rest)
    room, _, action = command.partition(" ")
    room, action = ENTRIES.get(command, (room, action or "run"))
    if getattr(options, "stream", False):
        room = "stream"  # which does without scikit-learn
    else:
        import fastlin.runtime.sklearn_import  # noqa: F401 - before a module imports it

    def warn(
        message: Warning | str, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None
    ) -> None:
        del category, filename, lineno, file, line  # where in the code is not what a user wants to know
        print(f"{name}: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = warn
        return int(getattr(importlib.import_module(f"fastlin.cli.{room}"), action)(options))


def _help(group: str, names: list[str]) -> str:
    width = max(14, 2 + max(map(len, names)))
    commands = [f"  {name:<{width}}{COMMANDS[name]}" for name in names]
    return "\n".join(
        [
            f"usage: fastlin {group}COMMAND ...",
            "",
            "Linear models of text and other sparse data, from files and pipes.",
            "",
            *commands,
            "",
            f"fastlin {group}COMMAND --help explains a command; fastlin --version says which fastlin this is.",
            "Exit codes: 0 done, 1 a check failed, 2 a mistake in the command or its input,",
            "3 an error of fastlin's own, 130 Ctrl-C.",
        ]
    )
