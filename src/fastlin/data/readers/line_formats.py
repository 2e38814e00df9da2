"""Formats with a record on each line: what they share, plain lines, and JSON Lines."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastlin.data.blocks import Documents
from fastlin.data.errors import MalformedLines
from fastlin.data.readers.parsed_records import TEXT_SEPARATOR, ParsedRecords, as_weight
from fastlin.data.readers.record_columns import RecordColumns, delimited_columns, is_utf8, joined
from fastlin.data.readers.sources import InputFile, LineBlock, line_blocks
from fastlin.engine.text.records import ObjectReader, skip_lines
from fastlin.engine.text.svmlight import count_lines

MAX_JSON_NUMBER = sys.float_info.max  # JSON's whole numbers have no end
MOST_LABELS = 1 << 12  # that are no strings, and kept


class LineFormat(Protocol):
    """The reader of one file of a format."""

    def begin(self, path: str, lines: list[bytes], line: int) -> int | None:
        """Look at the first lines, which begin at a line of the file; how many of them are no records.

        None: all are empty, and the lines behind them are the first.
        """

    def columns(self) -> RecordColumns | None:
        """How the engine reads the records behind the first lines; None: it does not."""

    def parse(self, lines: list[bytes]) -> ParsedRecords:
        """The records on some lines. ValueError: one of them is malformed."""


class ReadRequest(NamedTuple):
    """What `read` was asked for, and where malformed lines are noted."""

    options: dict[str, Any]
    dtype: np.dtype[Any]
    block_bytes: int
    malformed: MalformedLines
    in_place: bool = False  # texts may be slices of a block

    @property
    def decoder(self) -> "LineDecoder":
        return LineDecoder(self.options["encoding"], self.options["errors"])

    @property
    def kept(self) -> list[Any]:
        """The columns to hand on."""
        return [] if self.options["keep"] is None else as_columns(self.options["keep"])

    @property
    def labelled(self) -> bool:
        return self.options["label"] is not None

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return bool(self.options["numeric"])

    def documents(self, files: list[InputFile], begin: Callable[[], LineFormat]) -> Iterator[Documents]:
        """Read files one after the other, each by a format that begins anew."""
        for file in files:
            yield from documents(file, begin(), self)


def read_lines(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of a document a line."""
    return request.documents(files, lambda: PlainLines(request.decoder))


def read_jsonl(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of JSON Lines."""
    given = request.options
    return request.documents(
        files, lambda: JsonLines(request.decoder, given["label"], given["text"], given["weight"], request.kept)
    )


def documents(file: InputFile, form: LineFormat, request: ReadRequest) -> Iterator[Documents]:
    """Read a file, a block for each piece of it."""
    columns, first = None, True
    for piece in line_blocks(file, request.block_bytes):
        start = 0
        if first:
            n_lines = form.begin(piece.path, piece.text.splitlines(), piece.line)
            if n_lines is None:
                continue
            start = skip_lines(piece.text, 0, n_lines)
            piece = piece._replace(line=piece.line + n_lines)
            columns, first = form.columns(), False
            if request.in_place and columns is not None:
                columns.leave_texts()
        found = joined(_parts(form, columns, piece, start, request))
        if found.texts:
            yield found.documents(piece.path, piece.line)


def _parts(
    form: LineFormat, columns: RecordColumns | None, piece: LineBlock, start: int, request: ReadRequest
) -> Iterator[ParsedRecords]:
    """The records of a piece from `start` on, which is where its line begins: what the engine leaves line by line."""
    (text, path, line), malformed = piece, request.malformed
    parse = numbers_of(form.parse) if request.numeric else form.parse
    while columns is not None and start < len(text):
        try:
            found, stop = columns.read(text, start)
            found = found.with_targets() if request.numeric else found
        except ValueError:
            break
        yield found
        if stop == len(text):
            return
        line += count_lines(text[start:stop])
        start = skip_lines(text, stop, 1)
        yield parse_records(parse, text[stop:start].splitlines(), [line], path, malformed)
        line += 1
    lines = text[start:].splitlines()
    yield parse_records(parse, lines, range(line, line + len(lines)), path, malformed)


def numbers_of(parse: Callable[[list[Any]], ParsedRecords]) -> Callable[[list[Any]], ParsedRecords]:
    """A parser of records whose labels are numbers; one that is none makes its record malformed."""

    def parse_numbers(records: list[Any]) -> ParsedRecords:
        return parse(records).with_targets()

    return parse_numbers


def parse_records(
    parse: Callable[[list[Any]], ParsedRecords],
    records: list[Any],
    lines: Sequence[int],
    path: str,
    malformed: MalformedLines,
) -> ParsedRecords:
    """All records at once; where one is malformed, one after the other."""
    try:
        return parse(records)
    except ValueError:
        pass
    good = []
    for record, line in zip(records, lines, strict=True):
        try:
            good.append(parse([record]))
        except ValueError as error:
            malformed.add(path, line, message_of(error), error)
    return ParsedRecords(
        [text for one in good for text in one.texts],
        None if any(one.labels is None for one in good) else [label for one in good for label in one.labels or ()],
        None if any(one.weights is None for one in good) else [weight for one in good for weight in one.weights or ()],
        {name: [one.kept[name][0] for one in good if one.kept and one.texts] for name in good[0].kept}
        if good and good[0].kept
        else None,
    )


def message_of(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        what = f"the byte {error.object[error.start]:#04x} is not {error.encoding}"
        return f"{what}; errors='replace' reads it nonetheless"
    return str(error)


def as_columns(names: Any) -> list[Any]:
    """One column, or several, as a list."""
    return list(names) if isinstance(names, list | tuple) else [names]


class LineDecoder(NamedTuple):
    """The encoding of a file: from bytes to text."""

    encoding: str
    errors: str

    def each(self, lines: list[bytes]) -> list[str]:
        encoding, errors = self
        return [line.decode(encoding, errors) for line in lines]


class PlainLines:
    """A document on every line, empty ones included."""

    def __init__(self, decoder: LineDecoder) -> None:
        self.decoder = decoder

    def begin(self, path: str, lines: list[bytes], line: int) -> int:  # noqa: ARG002
        return 0

    def columns(self) -> RecordColumns | None:
        if not is_utf8(*self.decoder):
            return None
        return delimited_columns("\t", 1, (None, [0], None, {}), rest=True, empty=True)

    def parse(self, lines: list[bytes]) -> ParsedRecords:
        return ParsedRecords(self.decoder.each(lines), None, None)


class JsonLines:
    """An object on every line that is not empty."""

    def __init__(self, decoder: LineDecoder, label: Any, text: Any, weight: Any, keep: Sequence[Any] = ()) -> None:
        self.decoder = decoder
        self.label = "label" if label is ... else label
        self.texts = as_columns("text" if text is ... else text)
        self.weight, self.keep = weight, keep
        self.read = json.JSONDecoder(parse_constant=_no_number).decode
        for name in (self.label, *self.texts, self.weight, *keep):
            if name is not None and not isinstance(name, str):
                raise TypeError(f"the fields of JSON Lines have names, got {name!r}")

    def begin(self, path: str, lines: list[bytes], line: int) -> int:  # noqa: ARG002
        return 0

    def columns(self) -> RecordColumns | None:
        """Strings by the engine, other values by this parser, which proves them on the way."""
        text = _text if len(self.texts) == 1 else _only_strings
        fields = [(self.label, _label), *((name, text) for name in self.texts), (self.weight, _weight)]
        fields = [
            (name, convert) for name, convert in [*fields, *((name, _field) for name in self.keep)] if name is not None
        ]
        names = [name for name, _ in fields]
        if not is_utf8(*self.decoder) or len(set(names)) < len(names):
            return None
        column_of = {name: column for column, name in enumerate(names)}
        reader = ObjectReader(
            [name.encode("utf-8", "surrogatepass") for name in names],
            [self._converter(name, convert) for name, convert in fields],
            [convert is not _weight for _, convert in fields],
            self.value,
            -1 if self.label is None else 0,
        )
        return RecordColumns(
            reader,
            None if self.label is None else 0,
            [column_of[name] for name in self.texts],
            None if self.weight is None else column_of[self.weight],
            {name: column_of[name] for name in self.keep},
        )

    def _converter(self, name: str, convert: Callable[[dict[str, Any], str], Any]) -> Callable[[bytes], Any]:
        """From the JSON of a value that is no string to what the field gives; labels are often the same."""

        def of_value(text: bytes) -> Any:
            return convert({name: self.value(text)}, name)

        return lru_cache(MOST_LABELS)(of_value) if convert is _label else of_value

    def value(self, text: bytes) -> Any:
        """A value of a record. ValueError: it is none, or too deep."""
        try:
            found = self.read(text.decode())
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        if b"\\u" in text:
            _check_surrogates(found)
        return found

    def parse(self, lines: list[bytes]) -> ParsedRecords:
        records = [self.record(line) for line in self.decoder.each(lines) if line and not line.isspace()]
        return ParsedRecords(
            [_joined(record, self.texts) for record in records],
            None if self.label is None else [_label(record, self.label) for record in records],
            None if self.weight is None else [_weight(record, self.weight) for record in records],
            {name: [_field(record, name) for record in records] for name in self.keep} or None,
        )

    def record(self, line: str) -> dict[str, Any]:
        try:
            found = self.read(line)
        except RecursionError:
            raise ValueError("the JSON is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None
        if not isinstance(found, dict):
            raise ValueError(f"the line holds {_kind(found)}, not an object")
        if "\\u" in line:
            _check_surrogates(found)
        return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _check_surrogates(record: Any) -> None:
    """Half of a surrogate pair, which JSON's escapes can write, is no text."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("an escape stands for half of a character: a lone surrogate") from None


def _field(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise ValueError(f"there is no field {name!r} among {', '.join(map(repr, record)) or 'none'}"[:200])
    return record[name]


def _joined(record: dict[str, Any], names: Sequence[str]) -> Any:
    """The text of a field, or the texts of several with line ends between them."""
    parts = [_text(record, name) for name in names]
    if len(parts) == 1:
        return parts[0]
    for name, part in zip(names, parts, strict=True):
        if not isinstance(part, str):
            raise ValueError(f"the field {name!r} holds an object of features, which cannot be joined with texts")
    return TEXT_SEPARATOR.join(parts)


def _text(record: dict[str, Any], name: str) -> Any:
    text = _field(record, name)
    if not isinstance(text, str | dict):
        raise ValueError(f"the field {name!r} holds {_kind(text)}, neither a text nor an object of features")
    if isinstance(text, dict):
        for feature, value in text.items():
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError(f"the feature {feature!r:.60} holds {_kind(value)}, neither a number nor a text")
            if not isinstance(value, str) and not abs(value) <= MAX_JSON_NUMBER:
                raise ValueError(f"the feature {feature!r:.60} is not finite")
    return text


def _only_strings(record: dict[str, Any], name: str) -> Any:
    """One of several texts, which are joined: none but strings can be."""
    raise ValueError(f"the field {name!r} holds {_kind(record[name])}")


def _label(record: dict[str, Any], name: str) -> str:
    label = _field(record, name)
    if isinstance(label, str):
        return label
    if isinstance(label, bool | int | float):
        if abs(label) == math.inf:
            raise ValueError(f"the label in the field {name!r} is not finite")
        return json.dumps(label)
    raise ValueError(f"the field {name!r} holds {_kind(label)}, not a label")


def _weight(record: dict[str, Any], name: str) -> float:
    weight = _field(record, name)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ValueError(f"the field {name!r} holds {_kind(weight)}, not a weight")
    return as_weight(str(weight))


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
