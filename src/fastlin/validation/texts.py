"""Documents as strings."""

from collections.abc import Iterable, Iterator
from typing import Any

import scipy.sparse as sp


def as_texts(documents: Any, encoding: str = "utf-8", errors: str = "strict") -> Iterator[str]:
    """Documents one after the other, proved to be strings; bytes are decoded."""
    if isinstance(documents, str | bytes):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    if sp.issparse(documents) or getattr(documents, "ndim", 1) != 1 or not isinstance(documents, Iterable):
        shape = f" of shape {documents.shape}" if hasattr(documents, "shape") else ""
        raise ValueError(f"raw_documents must be a sequence of strings, got {type(documents).__name__}{shape}")
    return _texts(documents, encoding, errors)


def _texts(documents: Iterable[Any], encoding: str, errors: str) -> Iterator[str]:
    for place, document in enumerate(documents):
        if isinstance(document, bytes):
            yield document.decode(encoding, errors)
        elif isinstance(document, str):
            yield document
        elif isinstance(document, float) and document != document:  # NaN is not itself
            raise ValueError(f"raw_documents holds NaN at position {place}; documents are strings")
        else:
            raise TypeError(f"raw_documents holds {document!r:.60} at position {place}; documents are strings")
