"""What the command line says when it cannot do what it was told."""

import os
import sys
from collections.abc import Iterable

ALIKE = 0.6  # of two words, from 0 to 1: so much a hint has to be


class UserError(Exception):
    """Something that whoever typed the command can put right."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that is most like this one, or nothing."""
    import difflib  # not worth its milliseconds when nothing is wrong

    names = {name.lower(): name for name in known}
    alike = {name: difflib.SequenceMatcher(None, name, word.lower()).ratio() for name in names}
    best = max(names, key=alike.__getitem__, default="")  # the first of those that are as like
    return f", did you mean {names[best]!r}?" if alike.get(best, 0) >= ALIKE else ""


def explained(error: BaseException) -> str:
    """An error in one line, as one says it to a user."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({error})" if str(error) else "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{os.fspath(error.filename)}: "
        return f"{place}{error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def flush_output() -> None:
    """Write what is still unwritten, if it can be: where it cannot, nobody is told twice."""
    try:
        sys.stdout.flush()
    except OSError:
        close_output()


def close_output() -> None:
    """Let what is still unwritten go nowhere: the interpreter flushes stdout once more when it ends."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError):  # stdout is no file, as in a test
        pass
