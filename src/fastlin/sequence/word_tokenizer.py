"""Words of running text, and where each stands."""

import re
from collections.abc import Callable
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # initials: U.S.
    r"|\d+(?:[.,:/]\d+)*"  # numbers, dates, times
    r"|\w+(?:[-'\u2019]\w+)*"  # words, with hyphens and apostrophes within
    r"|\.{2,}|-{2,}"
    r"|\S"
)
_CLITIC = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m))\Z", re.IGNORECASE)
_BLANK = re.compile(r"\S+")


class Word(NamedTuple):
    """A word, and which characters of the text it is: text[start:stop]."""

    text: str
    start: int
    stop: int


def tokenize(text: str) -> list[Word]:
    """Split a text into words and signs, and contractions as the Penn Treebank does: `don't` is `do` and `n't`.

    Every character that is no blank is in one of the words, in order.

    Parameters
    ----------
    text : str
        Text of one sentence or of many.

    Returns
    -------
    list of Word
        `text`, and `start` and `stop`, its place among the characters.

    Examples
    --------
    >>> from fastlin.sequence import tokenize
    >>> [word.text for word in tokenize("They don't live in the U.S. (or do they?)")]
    ['They', 'do', "n't", 'live', 'in', 'the', 'U.S.', '(', 'or', 'do', 'they', '?', ')']
    >>> tokenize("Ann's  cat")
    [Word(text='Ann', start=0, stop=3), Word(text="'s", start=3, stop=5), Word(text='cat', start=7, stop=10)]
    """
    words = []
    for found in _TOKEN.finditer(text):
        start, stop = found.span()
        clitic = _CLITIC.search(text, start, stop)
        if clitic is not None and clitic.start() > start:
            words.append(Word(text[start : clitic.start()], start, clitic.start()))
            start = clitic.start()
        words.append(Word(text[start:stop], start, stop))
    return words


def split_at_blanks(text: str) -> list[Word]:
    """What stands between blanks."""
    return [Word(found[0], *found.span()) for found in _BLANK.finditer(text)]


TOKENIZERS: dict[str, Callable[[str], list[Word]]] = {"words": tokenize, "blanks": split_at_blanks}
