"""Records that the engine reads: which of its columns are the label, the texts, the weight and those to keep.

The engine reads records of UTF-8 that are well formed, to the first that is not; that one is for the parser of the
format, which says what is wrong with it, or reads it nonetheless.
"""

import codecs
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from fastlin.data.readers.parsed_records import TEXT_SEPARATOR, NumberedLabels, ParsedRecords, as_weight
from fastlin.engine.text.records import FieldReader, RecordReader
from fastlin.engine.text.vectorizer import StringSlices

HANDLERS = ("strict", "ignore", "replace", "backslashreplace", "surrogateescape", "surrogatepass")


class RecordColumns(NamedTuple):
    """A reader of the engine, and the numbers of its columns."""

    reader: RecordReader
    label: int | None
    texts: list[int]
    weight: int | None = None
    kept: dict[Any, int] = {}  # noqa: RUF012 - never changed

    def leave_texts(self) -> None:
        """Leave texts where they lie in a block from now on, and labels as numbers, where the reader can and nothing
        else is made of them."""
        others = self.label, self.weight, *self.kept.values()
        if isinstance(self.reader, FieldReader) and len(self.texts) == 1 and self.texts[0] not in others:
            (self.reader.sliced,) = self.texts

    def read(self, text: bytes, start: int) -> tuple[ParsedRecords, int]:
        """Records, and where the first begins that is not read. ValueError: a weight is none."""
        columns, stop = self.reader.read(text, start)
        if isinstance(self.reader, FieldReader) and self.reader.sliced >= 0:
            places, others = columns[self.reader.sliced]
            places = np.frombuffer(places, np.int64).reshape(-1, 2)
            columns[self.reader.sliced] = StringSlices(np.frombuffer(text, np.uint8), places, others)
            if self.label is not None:
                numbers, names = columns[self.label]
                columns[self.label] = NumberedLabels(np.frombuffer(numbers, np.int32), names)
        texts = [columns[place] for place in self.texts]
        weights = None if self.weight is None else columns[self.weight]
        return ParsedRecords(
            texts[0] if len(texts) == 1 else [TEXT_SEPARATOR.join(parts) for parts in zip(*texts, strict=True)],
            None if self.label is None else columns[self.label],
            [as_weight(one) if isinstance(one, str) else one for one in weights] if weights is not None else None,
            {name: columns[place] for name, place in self.kept.items()} or None,
        ), stop


def is_utf8(encoding: str, errors: str) -> bool:
    """Whether a file is in the encoding that the engine reads, and what is not becomes text without line ends."""
    return codecs.lookup(encoding).name == "utf-8" and errors in HANDLERS


def delimited_columns(
    delimiter: str,
    n_fields: int,
    places: tuple[int | None, list[int], int | None, dict[Any, int]],
    *,
    quotes: bool = False,
    rest: bool = False,
    empty: bool = False,
) -> RecordColumns | None:
    """The columns of a file whose fields are at these places, as `Fields` has them; None: not for the engine."""
    label, texts, weight, kept = places
    if not delimiter.isascii():
        return None
    wanted = [place for place in (label, *texts, weight, *kept.values()) if place is not None]
    column_of = [-1] * n_fields
    for column, place in enumerate(dict.fromkeys(wanted)):
        column_of[place] = column
    of_label = None if label is None else column_of[label]
    pooled = -1 if of_label is None or label in texts else of_label
    reader = FieldReader(ord(delimiter), column_of, pooled, quotes, rest, empty)
    return RecordColumns(
        reader,
        of_label,
        [column_of[place] for place in texts],
        None if weight is None else column_of[weight],
        {name: column_of[place] for name, place in kept.items()},
    )


def joined(parts: Iterable[ParsedRecords]) -> ParsedRecords:
    """Records of several parts as one."""
    there = [part for part in parts if part.texts]
    if len(there) < 2:
        return there[0] if there else ParsedRecords([], None, None)
    labels = [part.labels for part in there if part.labels is not None]
    weights = [part.weights for part in there if part.weights is not None]
    kept = [part.kept for part in there if part.kept is not None]
    return ParsedRecords(
        [text for part in there for text in part.texts],
        [label for part in labels for label in part] if labels else None,
        [weight for part in weights for weight in part] if weights else None,
        {name: [value for part in kept for value in part[name]] for name in kept[0]} if kept else None,
    )
