"""Negation: in “not a good film”, good is another word than in “a good film”."""

import functools
import re
from collections.abc import Iterator
from typing import Any

NEGATORS = frozenset(
    ("not", "no", "never", "nor", "neither", "none", "nobody", "nothing", "nowhere", "cannot", "aint", "arent", "cant",
     "couldnt", "didnt", "doesnt", "dont", "hadnt", "hasnt", "havent", "isnt", "mightnt", "mustnt", "neednt", "shant",
     "shouldnt", "wasnt", "werent", "wont", "wouldnt")
)  # fmt: skip
CLAUSE_ENDS = frozenset(".,:;!?…—()[]{}")
NEGATION_PREFIX = "NOT_"
TOKEN_PATTERN = r"(?u)\b\w\w+\b"

_APOSTROPHES = ("'", "’")
_CONTRACTED = tuple(f"n{apostrophe}t" for apostrophe in _APOSTROPHES)
_TAIL = re.compile(r"['’][tT](?!\w)")


def mark_negation(text: Any, token_pattern: str = TOKEN_PATTERN) -> Any:
    """Put NOT_ before the words that follow a negator, up to the next clause punctuation.

    The rule, which the vectorisers' option `negation=True` follows as well (Das & Chen 2001; Pang, Lee & Vaithyanathan
    2002):

    * A word is a *negator* if, in lower case, it is in `NEGATORS` (not, no, never, nor, neither, none, nobody, nothing,
      nowhere, cannot, and contractions written without an apostrophe: dont, isnt, …), or if it is a contraction: it
      ends in n't or n’t, or it ends in n and the text goes on with ' or ’, t, and no further character of a word.
    * Every word after a negator is marked, other negators included, until the clause ends. A second negator changes
      nothing. The first is not marked.
    * A clause ends at any of . , : ; ! ? … — ( ) [ ] { } between two words, wherever it stands: in 3.5, too. Line
      breaks, quotation marks, hyphens and apostrophes end nothing. The end of the text ends the clause.

    Parameters
    ----------
    text : str, or list of str
        A text, in which the matches of `token_pattern` are the words; or its tokens. A token that holds a mark that
        ends clauses, as its last character, ends the clause after itself (“good.” is marked, “...” is not a word).
    token_pattern : str
        What a word of a text is: that of the vectoriser that comes next, so that it finds the words marked. The default
        is that of the vectorisers, two or more characters: in “not a film”, a is no word and stays as it is.

    Returns
    -------
    str or list of str
        The text with the prefixes in it, or the tokens.

    Examples
    --------
    >>> from fastlin.text import mark_negation
    >>> mark_negation("I don't like this film, but it is not bad.")
    "I don't NOT_like NOT_this NOT_film, but it is not NOT_bad."
    >>> mark_negation(["did", "n't", "work", "!", "never", "mind"])
    ['did', "n't", 'NOT_work', '!', 'never', 'NOT_mind']
    """
    if isinstance(text, str):
        return _mark_text(text, _compiled(token_pattern))
    if isinstance(text, bytes | bytearray) or not isinstance(text, list | tuple):
        raise TypeError(f"mark_negation takes a string or a list of tokens, got {type(text).__name__}")
    for place, token in enumerate(text):
        if not isinstance(token, str):
            raise TypeError(f"token {place} must be a string, got {token!r}")
    return _mark_tokens(text)


@functools.lru_cache(maxsize=16)
def _compiled(token_pattern: str) -> re.Pattern[str]:
    return re.compile(token_pattern)


def _marked(text: str, words: re.Pattern[str]) -> Iterator[tuple[str, str, str, bool]]:
    """For each word of a text what stands before it, the match, the word in it, and whether it is marked."""
    done, negated = 0, False
    for match in words.finditer(text):
        gap, word = text[done : match.start()], match.group()
        negated = negated and CLAUSE_ENDS.isdisjoint(gap)
        yield gap, word, match.group(words.groups) or "", negated
        tail = word[-1:] in ("n", "N") and _TAIL.match(text, match.end()) is not None
        negated = negated or _negates(word) or tail
        done = match.end()
    yield text[done:], "", "", False


def _mark_text(text: str, words: re.Pattern[str]) -> str:
    return "".join(
        gap + (NEGATION_PREFIX + word if marked and word else word) for gap, word, _, marked in _marked(text, words)
    )


def marked_words(text: str, token_pattern: str) -> list[str]:
    """The words of a text, those under a negation with their mark."""
    found = list(_marked(text, _compiled(token_pattern)))[:-1]
    return [NEGATION_PREFIX + word if marked else word for _, _, word, marked in found]


def _mark_tokens(tokens: Any) -> list[str]:
    marked, negated = [], False
    for token in tokens:
        wordless = all(character in CLAUSE_ENDS for character in token)
        marked.append(NEGATION_PREFIX + token if negated and not wordless else token)
        negated = (negated or _negates(token)) and token[-1:] not in CLAUSE_ENDS
    return marked


def _negates(word: str) -> bool:
    lower = word.lower()
    return lower in NEGATORS or lower.endswith(_CONTRACTED)
