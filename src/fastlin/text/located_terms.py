"""Character spans of a document's terms: where in the text each word, n-gram, affix or character n-gram stands.

A twin of `build_analyzer` that keeps offsets: analysis cuts, joins and pads, and each piece remembers from which
characters of the document it was made. The terms are the analyzer's, in its order.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from fastlin.text.analyzer import as_lengths, bare_word
from fastlin.text.negation import TOKEN_PATTERN


class TermSpan(NamedTuple):
    """A term of a document, and the characters `text[start:end]` that it was made of.

    Attributes
    ----------
    term : str
        As the analyzer makes it.
    start, end : int
        Of characters of the decoded document.
    """

    term: str
    start: int
    end: int


class Located(NamedTuple):
    """A text, and where each of its characters begins and ends in the document."""

    text: str
    starts: list[int]
    ends: list[int]

    def in_document(self, found: Iterable[TermSpan]) -> list[TermSpan]:
        """Spans of the text as spans of the document; without those of no character."""
        return [
            TermSpan(term, self.starts[start], self.ends[end - 1]) for term, start, end in found if 0 <= start < end
        ]


def term_spans(vectorizer: Any, document: Any) -> list[TermSpan]:
    """The terms that a vectoriser finds in a document, and where.

    Parameters
    ----------
    vectorizer : CountVectorizer, TfidfVectorizer or HashingVectorizer
        Tokens of a `tokenizer` function are sought in the text one behind the other; those that are not in it as they
        are, and whatever is made of them, have no span and are left out.
    document : str, or what else the vectoriser takes for a document

    Returns
    -------
    list of TermSpan
        As often as a term occurs, in the order of the analyzer; starts and ends count characters of the decoded text.

    Raises
    ------
    TypeError
        If the vectoriser is none of fastlin's, or the document no text.
    ValueError
        If the vectoriser's `analyzer` is a function, or its `preprocessor` changes the length of the text: nobody
        knows then what a term was made of.

    Examples
    --------
    >>> from fastlin.text import CountVectorizer, term_spans
    >>> for term, start, end in term_spans(CountVectorizer(ngram_range=(1, 2)), "A Good film"):
    ...     print(term, start, end)
    good 2 6
    film 7 11
    good film 2 11
    """
    if not hasattr(vectorizer, "_ngrams"):
        raise TypeError(f"vectorizer must be one of fastlin.text, got {type(vectorizer).__name__}")
    if callable(vectorizer.analyzer):
        raise ValueError("analyzer is a function: what its terms were made of is not known")
    document = vectorizer.decode(document)
    if not isinstance(document, str):
        raise TypeError(f"document: expected a string or bytes, got {type(document).__name__}: {document!r:.60}")
    text = _located(document, vectorizer.build_preprocessor())
    low, high = vectorizer._ngrams()
    if vectorizer.analyzer == "char":
        text = _with_single_blanks(text)
        return text.in_document(_character_ngrams(text.text, low, high))
    if vectorizer.analyzer == "char_wb":
        return text.in_document(_ngrams_in_words(text.text, low, high))
    stop_words = vectorizer.get_stop_words() or ()
    words = [word for word in _words(vectorizer, text.text) if word.term not in stop_words]
    return text.in_document([*_series(words, low, high), *_affixes(vectorizer, words)])


def _located(document: str, preprocess: Callable[[str], str]) -> Located:
    """What the preprocessor makes of a document: of each character by itself, or in the document's length."""
    text = preprocess(document)
    pieces = [preprocess(character) for character in document]
    if len(text) == sum(map(len, pieces)):
        places = [place for place, piece in enumerate(pieces) for _ in piece]
    elif len(text) == len(document):
        places = list(range(len(text)))
    else:
        raise ValueError("the preprocessor changes the length of the text: what its terms were made of is not known")
    return Located(text, places, [place + 1 for place in places])


def _words(vectorizer: Any, text: str) -> list[TermSpan]:
    """The words, as the analyzer has them after negation was marked."""
    terms = vectorizer._words(text, vectorizer.build_tokenizer())
    if vectorizer.tokenizer is None:
        pattern = re.compile(vectorizer.token_pattern or TOKEN_PATTERN)
        places: Iterable[tuple[int, int]] = (match.span(pattern.groups) for match in pattern.finditer(text))
    else:
        places = _sought(text, vectorizer.tokenizer(text))
    return [TermSpan(term, *place) for term, place in zip(terms, places, strict=True)]


def _sought(text: str, tokens: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Where a tokenizer's tokens are, each sought behind the one before it."""
    done = 0
    for token in tokens:
        start = text.find(token, done) if isinstance(token, str) else -1
        done = done if start < 0 else start + len(token)
        yield (-1, -1) if start < 0 else (start, done)


def _series(words: list[TermSpan], low: int, high: int) -> Iterator[TermSpan]:
    """Words, then pairs of them, then triples."""
    for n in range(low, min(high, len(words)) + 1):
        for place in range(len(words) - n + 1):
            some = words[place : place + n]
            term = some[0].term if n == 1 else " ".join(word.term for word in some)
            yield TermSpan(term, min(word.start for word in some), some[-1].end)


def _affixes(vectorizer: Any, words: list[TermSpan]) -> Iterator[TermSpan]:
    """Prefixes of all words, then suffixes of all words; none has the mark of a negation."""
    prefixes, suffixes = as_lengths("prefixes", vectorizer.prefixes), as_lengths("suffixes", vectorizer.suffixes)
    bare = [(bare_word(term) if vectorizer.negation else term, start, end) for term, start, end in words]
    for term, start, _ in bare:
        yield from (TermSpan(f"{term[:n]}-", start, start + n) for n in prefixes if len(term) > n)
    for term, _, end in bare:
        yield from (TermSpan(f"-{term[-n:]}", end - n, end) for n in suffixes if len(term) > n)


def _with_single_blanks(text: Located) -> Located:
    """The text with one blank for each run of white space."""
    characters, starts, ends = [], [], []
    for match in re.finditer(r"\s\s+|.", text.text, re.DOTALL):
        characters.append(match.group() if len(match.group()) == 1 else " ")
        starts.append(text.starts[match.start()])
        ends.append(text.ends[match.end() - 1])
    return Located("".join(characters), starts, ends)


def _character_ngrams(text: str, low: int, high: int) -> Iterator[TermSpan]:
    for n in range(low, min(high, len(text)) + 1):
        for start in range(len(text) - n + 1):
            yield TermSpan(text[start : start + n], start, start + n)


def _ngrams_in_words(text: str, low: int, high: int) -> Iterator[TermSpan]:
    """Character n-grams of words between two blanks, of which the first and the last character speak for the blanks."""
    for match in re.finditer(r"\S+", text):
        first, last = match.span()
        padded = f" {match.group()} "
        for n in range(low, high + 1):
            for place in range(max(len(padded) - n, 0) + 1):
                start = min(first + max(place - 1, 0), last - 1)
                yield TermSpan(padded[place : place + n], start, max(min(first + place + n - 1, last), start + 1))
            if n >= len(padded):
                break
