"""What a spelling corrector learns from: lines of text, pairs of words."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fastlin.channel.text_words import folded
from fastlin.data.blocks import Documents
from fastlin.data.reader import BY_SUFFIX, Reader, read
from fastlin.data.readers import sources


def lines_of(X: Any) -> Iterator[str]:
    """The lines of texts: of a list, of files, or of what `fastlin.data.read` returns."""
    for text in _texts_of(X):
        yield from text.splitlines()


def _texts_of(X: Any) -> Iterator[str]:
    if isinstance(X, str | os.PathLike) or hasattr(X, "read"):
        for file in sources.files(X):
            where = file.name if file.stream is None else file.stream
            yield from _documents(read(where, BY_SUFFIX.get(file.suffix, "lines")))
    elif isinstance(X, Reader):
        yield from _documents(X)
    elif isinstance(X, Mapping | bytes) or hasattr(X, "segments") or not isinstance(X, Iterable):
        raise TypeError(
            "X must be a list of texts, a path, an open file, or what fastlin.data.read returns, "
            f"got {type(X).__name__}"
        )
    else:
        for place, text in enumerate(X):
            if not isinstance(text, str):
                raise TypeError(f"X[{place}] must be a string, got {text!r:.60}")
            yield text


def _documents(reader: Reader[Any]) -> Iterator[str]:
    for documents in reader:
        if not isinstance(documents, Documents):
            raise TypeError("a spelling corrector reads texts; these files hold rows of numbers")
        yield from documents.texts


def pairs_of(pairs: Any) -> Iterator[tuple[str, str, float]]:
    """(right, wrong, times) of pairs, folded; those whose words are equal say nothing of how one misspells."""
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs must be a list of (right, wrong) or (right, wrong, times), got {pairs!r:.60}")
    for place, pair in enumerate(pairs):
        if (
            not isinstance(pair, list | tuple)
            or len(pair) not in (2, 3)
            or not all(isinstance(word, str) for word in pair[:2])
        ):
            raise TypeError(f"pairs[{place}] must be (right, wrong) or (right, wrong, times), got {pair!r:.60}")
        times = pair[2] if len(pair) == 3 else 1
        if isinstance(times, str | bool) or not 0 < times < float("inf"):
            raise ValueError(f"pairs[{place}] must be of words seen some times, got {times!r:.60}")
        right, wrong = folded(pair[0]), folded(pair[1])
        if right != wrong:
            yield right, wrong, float(times)
