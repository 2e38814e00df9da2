"""The parser of command lines, and the types of its arguments. Only argparse is needed here."""

import argparse
import codecs
import re
from collections.abc import Sequence
from typing import NoReturn

from fastlin.cli.errors import UserError, did_you_mean


class CommandParser(argparse.ArgumentParser):
    """A parser that says what was meant, and leaves what to do about a mistake to its caller."""

    def __init__(self, command: str, arguments: str, description: str, epilog: str = "") -> None:
        super().__init__(
            f"fastlin {command}",
            usage=f"fastlin {command} {arguments}".strip(),
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; {self.prog} --help explains the options")

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The options; a misspelt one is found first, for it makes nonsense of what stands around it."""
        known = [name for action in self._actions for name in action.option_strings]
        for word in words:
            if word == "--":
                break
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known:
                self.error(f"there is no option {name}{did_you_mean(name, known)}")
        return self.parse_args(words)


class AnyOf:
    """The type of an option that takes one of some values."""

    def __init__(self, values: Sequence[str], aliases: dict[str, str] | None = None) -> None:
        self.values, self._aliases = tuple(values), aliases or {}

    def __call__(self, text: str) -> str:
        name = self._aliases.get(text, text)
        if name in self.values:
            return name
        hint = did_you_mean(text, [*self.values, *self._aliases])
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(self.values)}{hint}")


def span(text: str) -> tuple[int, int]:
    """N: 1 to N. M-N: M to N."""
    match = re.fullmatch(r"(?:(\d+)\s*[-,:]\s*)?(\d+)", text)
    low, high = (int(match[1] or 1), int(match[2])) if match else (0, 0)
    if not 1 <= low <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is neither N nor M-N with 1 <= M <= N")
    return low, high


def share(text: str) -> float:
    """A whole number is a number of documents, one with a point a share of them."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of documents nor a share of them") from None


def size(text: str) -> int:
    """Bytes: 500M, 2G, 1.5GB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", text.upper())
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 500M or 2G")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2] or " "))


def number(text: str) -> float:
    """A number: whole numbers stay whole."""
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None


def numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    return [number(part) for part in text.split(",")]


def whole_numbers(text: str) -> list[int]:
    """Whole numbers with commas between them."""
    found = numbers(text)
    if not all(isinstance(one, int) for one in found):
        raise argparse.ArgumentTypeError(f"{text!r} are no whole numbers")
    return [int(one) for one in found]


def encoding(text: str) -> str:
    """The name of an encoding of texts."""
    try:
        b" ".decode(text)
    except LookupError:
        raise argparse.ArgumentTypeError(f"{text!r} is no encoding of texts") from None
    except UnicodeError:  # of two bytes a character, say: the reader has more to say about it
        pass
    return text


def error_handler(text: str) -> str:
    """A handler of bytes that are no text."""
    try:
        codecs.lookup_error(text)
    except LookupError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither replace nor ignore") from None
    return text


def assignment(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def column(text: str) -> int | str:
    """The number or the name of a column."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def columns(text: str) -> list[int | str]:
    """Numbers or names with commas between them."""
    return [column(part) for part in text.split(",")]
