"""The words of a text: where they stand, how they are looked up, how a correction is written in their stead."""

import re

# Addresses; runs of letters, digits and apostrophes; every other sign for itself. What stands before "@" or "://" is
# bounded, or a line of a million signs without a blank would be read from each of them to its end.
TOKENS = re.compile(r"\w{1,20}://\S+|www\.\S+|[\w.+-]{1,64}@\S+|\w+(?:['’]\w+)*|[^\w\s]")
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
LOWER, TITLE, UPPER = "lower", "title", "upper"


def folded(token: str) -> str:
    """A token as the language model has it."""
    return token.replace("’", "'").lower()


def is_word(form: str) -> bool:
    """Whether a folded token is a word: letters, and apostrophes between them."""
    return WORD.fullmatch(form) is not None


def case_of(token: str) -> str | None:
    """How the letters of a token are written; None: in a way of its own, such as "iPhone"."""
    if token == token.lower():
        return LOWER
    if token[1:] == token[1:].lower():
        return TITLE
    return UPPER if token == token.upper() else None


def written(form: str, token: str) -> str:
    """A form in place of a token, with its case and its apostrophes."""
    if "’" in token:
        form = form.replace("'", "’")
    case = case_of(token)
    if case == UPPER:
        return form.upper()
    return form[:1].upper() + form[1:] if case == TITLE else form


def as_sentence(line: str) -> str:
    """The folded tokens of a line, a space between them."""
    return " ".join(TOKENS.findall(line.replace("’", "'").lower()))
