"""Documents as strings, in blocks of bounded size."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

CHARACTERS_PER_BLOCK = 1 << 20  # characters that a thread reads before it looks up: tens of milliseconds at most


def reject_string(raw_documents: Any, name: str = "raw_documents") -> None:
    """One string is iterable, too, but it is no collection of documents."""
    if isinstance(raw_documents, (str, bytes)):
        raise ValueError(
            f"Iterable over raw text documents expected, string object received: {name} must be a list of documents"
        )
    if not isinstance(raw_documents, Iterable):
        raise TypeError(f"{name} must be an iterable of documents, got {type(raw_documents).__name__}")


def decode_document(document: Any, kind: str, encoding: str, decode_error: str) -> Any:
    """Text of a document: files are read and bytes decoded, everything else stays as it is."""
    if kind == "filename":
        with open(document, "rb") as file:
            document = file.read()
    elif kind == "file":
        document = document.read()
    if isinstance(document, (bytes, bytearray, memoryview)):
        document = bytes(document).decode(encoding, decode_error)
    if isinstance(document, float | np.floating) and np.isnan(document):
        raise ValueError("np.nan is an invalid document, expected byte or unicode string.")
    return document


def iter_blocks(
    documents: Iterable[Any], read: Callable[[Any], Any], limit: int, name: str = "raw_documents"
) -> Iterator[list[Any]]:
    """Lists of what is read of documents, of about `limit` items in all; an error says which document of `name` it is.

    A list owns its strings while the GIL is free.
    """
    block: list[Any] = []
    size = 0
    for number, document in enumerate(documents):
        try:
            block.append(read(document))
        except Exception as error:
            if type(error) in (TypeError, ValueError):
                raise type(error)(f"document {number} of {name}: {error}") from error
            error.add_note(f"document {number} of {name}")
            raise
        size += len(block[-1]) + 1
        if size >= limit:
            yield block
            block, size = [], 0
    if block:
        yield block
