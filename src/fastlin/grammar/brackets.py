"""The Penn Treebank's brackets: what opens, closes and stands between, with the place of what is wrong."""

import re
from collections.abc import Iterable, Iterator

_TOKEN = re.compile(r"[()]|[^\s()]+")
Event = tuple[str, str]  # ("open", label), ("word", word) or ("close", label)
NO_PARSE = [("open", ""), ("open", ""), ("close", ""), ("close", "")]  # "(())": a parser's way to say that it has none


class BracketError(ValueError):
    """Brackets that are no trees."""


def read_brackets(lines: Iterable[str], name: str, with_failures: bool = False) -> Iterator[list[Event]]:
    """The events of one tree after the other, each of one or many lines.

    Parameters
    ----------
    lines : iterable of str
    name : str
        What errors call them.
    with_failures : bool
        Whether "(())" is a tree, of the events `NO_PARSE`.
    """
    events: list[Event] = []
    open_at: list[tuple[str, int, int]] = []  # label, line and column of what is open
    fresh = False  # whether the last token opened a constituent: what comes next may be its label
    for number, line in enumerate(lines, 1):
        for match in _TOKEN.finditer(line):
            token, column = match.group(), match.start() + 1
            if token == "(":
                events.append(("open", ""))
                open_at.append(("", number, column))
                fresh = True
            elif token == ")":
                if not open_at:
                    raise BracketError(f"{name}:{number}:{column}: this bracket closes nothing")
                label, *_ = open_at.pop()
                if events[-1][0] == "open" and not (with_failures and _is_failure(events, open_at)):
                    raise BracketError(f"{name}:{number}:{column}: the constituent {label!r} is empty")
                events.append(("close", label))
                fresh = False
                if not open_at:
                    yield events
                    events = []
            elif fresh:
                events[-1] = ("open", token)
                open_at[-1] = (token, *open_at[-1][1:])
                fresh = False
            elif open_at:
                events.append(("word", token))
            else:
                raise BracketError(f"{name}:{number}:{column}: {token[:40]!r} is in no brackets")
    if open_at:
        label, number, column = open_at[-1]
        raise BracketError(
            f"{name}:{number}:{column}: this bracket is never closed; {len(open_at)} are open at the end"
        )


def _is_failure(events: list[Event], open_at: list[tuple[str, int, int]]) -> bool:
    return len(open_at) <= 1 and events in (NO_PARSE[:2], NO_PARSE[:3])
