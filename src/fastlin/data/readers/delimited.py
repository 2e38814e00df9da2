"""Columns of text: TSV, whose fields stand as they are, and CSV, whose fields may be in quotes (RFC 4180)."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from fastlin.data.blocks import Documents
from fastlin.data.errors import LABEL_AND_TEXT, MalformedLines, ReadError, UnknownColumnsError
from fastlin.data.readers.line_formats import (
    LineDecoder,
    ReadRequest,
    as_columns,
    message_of,
    parse_records,
)
from fastlin.data.readers.parsed_records import TEXT_SEPARATOR, ParsedRecords, as_weight
from fastlin.data.readers.record_columns import RecordColumns, delimited_columns, is_utf8, joined
from fastlin.data.readers.sources import InputFile, line_blocks
from fastlin.engine.text.records import skip_lines
from fastlin.engine.text.svmlight import count_lines

OPEN = re.compile(r'"[^"]*+(?:""[^"]*+)*+')
LINE_END = re.compile(r"\r\n|\n|\r")
LINE_ENDS = re.compile(rb"[\r\n]*+")
UNCLOSED = "the quoted field that begins here has no end"
SPLIT_BYTES = 1 << 12  # for `split`, if they are enough: to know the columns, or behind what is malformed
ESCAPED = re.compile("[\udc80-\udcff]")


def read_tsv(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of columns between tabs; those without a header have that of the first that has one."""
    headers: list[list[str] | None] = []
    delimiter = request.options["delimiter"] or "\t"
    return request.documents(
        files, lambda: Tsv(request.decoder, _fields(request, in_order=True), delimiter, headers)
    )  # fmt: skip


def read_csv(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of columns between commas, which quotes may hold."""
    delimiter = request.options["delimiter"] or ","
    for file in files:
        csv = Csv(
            request.decoder, _fields(request, in_order=False), delimiter, request.malformed, request.in_place,
            request.numeric,
        )  # fmt: skip
        yield from csv.documents(file, request.block_bytes)


def _fields(request: ReadRequest, in_order: bool) -> "Fields":
    given = request.options
    return Fields(given["label"], given["text"], given["weight"], given["header"], request.kept, in_order=in_order)


class Fields:
    """Which fields of a record are its label, its text or texts, its weight, and those to keep.

    Where no column is named, a TSV file without a header has a label before the first tab and a text behind it, tabs
    and all. Of a CSV file nobody has to guess: its header names both, or the caller does.
    """

    def __init__(
        self,
        label: Any,
        text: Any,
        weight: Any,
        header: bool | None,
        keep: Sequence[Any] = (),
        *,
        in_order: bool = True,
    ) -> None:
        self.label, self.text, self.weight, self.header, self.keep = label, text, weight, header, keep
        self.in_order = in_order  # whether a first line without the usual names is a label and a text
        self.places: tuple[int | None, list[int], int | None, dict[Any, int]] = (0, [1], None, {})
        self.n_fields = 2

    @property
    def _roles(self) -> list[Any]:
        """The columns that the caller has named for a purpose."""
        return [self.label, *as_columns(self.text), self.weight]

    @property
    def usual(self) -> bool:
        """Whether the columns were left to the format."""
        return self.label in (..., None) and self.text is ... and self.weight is None and not self.keep

    def begin(self, path: str, first: list[str], line: int = 1) -> bool:
        """Learn from the first record what the fields are; whether it is a header."""
        chosen = [*self._roles, *self.keep]
        named = [name for name in chosen if isinstance(name, str)]
        header = self.header
        if header is None:
            wanted = {"text"} if self.label is None else set(LABEL_AND_TEXT)
            header = bool(named) or (self.text is ... and wanted <= {name.lower() for name in first})
        if named and not header:
            raise ValueError(f"the column {named[0]!r} has a name, which header=False says there are not")
        places = {name: self._place(path, line, first, name) for name in chosen if name is not None and name is not ...}
        label, text = self._usual(path, line, first, header, places)
        self.n_fields = len(first)
        self.places = (
            label if self.label is ... else places.get(self.label),
            text if self.text is ... else [places[name] for name in as_columns(self.text)],
            places.get(self.weight),
            {name: places[name] for name in self.keep},
        )
        return header

    def _usual(
        self, path: str, line: int, first: list[str], header: bool, places: dict[Any, int]
    ) -> tuple[int | None, list[int]]:
        """Where the label and the text are, of which the caller has not named at least one.

        They are the columns of these names. Otherwise one of them is the column that is left; both are the two that are
        left if the order is known.
        """
        wanted = [name for name, given in zip(LABEL_AND_TEXT, (self.label, self.text), strict=True) if given is ...]
        used = {place for name, place in places.items() if name not in self.keep or name in self._roles}
        names = ["" if place in used else name.lower() for place, name in enumerate(first)] if header else []
        if set(wanted) <= set(names):
            found = {name: self._place(path, line, names, name) for name in wanted}
        else:
            left = [place for place in range(len(first)) if place not in places.values()]
            both = len(wanted) == len(LABEL_AND_TEXT)
            if len(left) != len(wanted) or (both and (header or not (self.in_order or self.header is False))):
                raise UnknownColumnsError(path, line, first)
            found = dict(zip(wanted, left, strict=True))
        return found.get("label"), [found.get("text", 0)]

    def _place(self, path: str, line: int, first: list[str], name: Any) -> int:
        if isinstance(name, str):
            if name not in first:
                raise ReadError(path, line, f"there is no column {name!r} among {', '.join(map(repr, first))}"[:200])
            if first.count(name) > 1:
                raise ReadError(path, line, f"{first.count(name)} columns are called {name!r}; say which by number")
            return first.index(name)
        if not 0 <= name < len(first):
            what = f"there is no column {name}: the line has {len(first)} field(s), counted from 0"
            raise ReadError(path, line, what)
        return int(name)

    def parse(self, records: list[list[str]]) -> ParsedRecords:
        """Records that are all as long as the first."""
        label, texts, weight, keep = self.places
        for record in records:
            if len(record) != self.n_fields:
                raise ValueError(f"the line has {len(record)} field(s), but the first has {self.n_fields}")
        text = texts[0]
        return ParsedRecords(
            [record[text] for record in records]
            if len(texts) == 1
            else [TEXT_SEPARATOR.join([record[place] for place in texts]) for record in records],
            None if label is None else [record[label] for record in records],
            None if weight is None else [as_weight(record[weight]) for record in records],
            {name: [record[place] for record in records] for name, place in keep.items()} or None,
        )


class Tsv:
    """Fields that stand as they are, between tabs."""

    def __init__(self, decoder: LineDecoder, fields: Fields, delimiter: str, headers: list[list[str] | None]) -> None:
        self.decoder, self.fields, self.delimiter = decoder, fields, delimiter
        self.headers = headers  # of the files before; None: it had none
        self.parse: Callable[[list[bytes]], ParsedRecords] = self.all_fields

    def begin(self, path: str, lines: list[bytes], line: int) -> int | None:
        first = next((number for number, one in enumerate(lines) if one), None)
        if first is None:
            return None
        in_order = self.fields.usual and self.delimiter == "\t" and not self.fields.header
        try:
            record = lines[first].decode(*self.decoder).split(self.delimiter)
        except UnicodeDecodeError as error:
            if not in_order:
                raise ReadError(path, line + first, message_of(error)) from error
            record = []  # a malformed line, as any other
        if in_order and not set(LABEL_AND_TEXT) <= {name.lower() for name in record}:
            self._check_order(path, line + first, None)
            self.parse = self.whole if self.fields.label is None else self.halves
            return 0
        header = self.fields.begin(path, record, line + first)
        if in_order:
            self._check_order(path, line + first, [name.lower() for name in record])
        return first + 1 if header else 0

    def _check_order(self, path: str, line: int, header: list[str] | None) -> None:
        """Whether a file without a header has the columns of the header of another, as the pieces of one file have."""
        self.headers.append(header)
        if None in self.headers and any(other not in (None, [*LABEL_AND_TEXT]) for other in self.headers):
            raise ReadError(
                path, line, "some of the files begin with a header, some with a document; read them one after the other"
            )

    def columns(self) -> RecordColumns | None:
        if not is_utf8(*self.decoder):
            return None
        if self.parse == self.halves:
            return delimited_columns("\t", 2, (0, [1], None, {}), rest=True)
        if self.parse == self.whole:
            return delimited_columns("\t", 1, (None, [0], None, {}), rest=True)
        return delimited_columns(self.delimiter, self.fields.n_fields, self.fields.places)

    def halves(self, lines: list[bytes]) -> ParsedRecords:
        """label<TAB>text. Equal labels become one string."""
        halves = [line.partition(b"\t") for line in lines if line]
        if not all(half[1] for half in halves):
            raise ValueError("there is no tab between a label and a text")
        texts = self.decoder.each([half[2] for half in halves])
        labels = [half[0] for half in halves]
        names = list(set(labels))
        known = dict(zip(names, self.decoder.each(names), strict=True))
        return ParsedRecords(texts, [known[label] for label in labels], None)

    def whole(self, lines: list[bytes]) -> ParsedRecords:
        return ParsedRecords([line for line in self.decoder.each(lines) if line], None, None)

    def all_fields(self, lines: list[bytes]) -> ParsedRecords:
        delimiter = self.delimiter
        return self.fields.parse([line.split(delimiter) for line in self.decoder.each(lines) if line])


class Records(NamedTuple):
    """Records, the lines that they begin on, and where a record begins whose end is missing."""

    records: list[list[str]]
    lines: list[int]
    rest: int


class CsvPart(NamedTuple):
    """Records, the line of the first (0: there is none), and where in the text the first begins that is not read."""

    records: ParsedRecords
    line: int
    rest: int


class Csv:
    """Fields between commas, some in quotes: these may hold commas, line ends, and quotes, which are doubled."""

    def __init__(
        self,
        decoder: LineDecoder,
        fields: Fields,
        delimiter: str,
        malformed: MalformedLines,
        in_place: bool = False,
        numeric: bool = False,
    ) -> None:
        self.decoder, self.fields, self.delimiter, self.malformed = decoder, fields, delimiter, malformed
        self.in_place, self.numeric = in_place, numeric
        self.escaped = False  # whether some bytes could not be decoded, and are there as lone surrogates
        self.begun = False  # whether the first record has said what the columns are
        self.columns: RecordColumns | None = None  # how the engine reads, where it does
        end = re.escape(delimiter)
        self.field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^{end}"\r\n]*+))({end}|\r\n|\n|\r)')

    def documents(self, file: InputFile, size: int) -> Iterator[Documents]:
        """Read a file, a block for each piece of it. What is held back is looked at again only when it has doubled."""
        held: list[bytes] = []
        size_held, enough, line = 0, 0, 1
        for piece in chain(line_blocks(file, size), [None]):
            if piece is not None:
                held.append(piece.text)
                size_held += len(piece.text)
            if piece is None or size_held >= enough:
                text = b"".join(held)
                parts = list(self.parts(text, line, file.name, last=piece is None))
                found = joined(part.records for part in parts)
                if found.texts:
                    yield found.documents(file.name, next(part.line for part in parts if part.line))
                rest = parts[-1].rest if parts else 0
                line += count_lines(text[:rest])
                held, size_held = [text[rest:]], len(text) - rest
                enough = 2 * size_held

    def parts(self, text: bytes, line: int, path: str, last: bool) -> Iterator["CsvPart"]:
        """The records of a text, the first few by `split`: by the engine, and by `split` from where that stops.

        So `split` takes a few lines at a time, and more where a record is longer.
        """
        start, n_bytes = 0, 0
        while start < len(text):
            n_bytes = n_bytes or (len(text) if self.begun and self.columns is None else SPLIT_BYTES)
            if self.columns is not None:
                begun = line + count_lines(LINE_ENDS.match(text, start)[0])  # type: ignore[index]
                try:
                    found, rest = self.columns.read(text, start)
                    found = found.with_targets() if self.numeric else found
                except ValueError:
                    found, rest, n_bytes = ParsedRecords([], None, None), start, len(text)
                yield CsvPart(found, begun if found.texts else 0, rest)
                line, start = line + count_lines(text[start:rest]), rest
            if start < len(text):
                stop = skip_lines(text, min(start + n_bytes, len(text)), 1)
                part = self.split_part(text, start, stop, line, path, last=last and stop == len(text))
                yield part
                if part.rest == start and stop == len(text):
                    return
                n_bytes = 0 if part.rest > start else 2 * n_bytes
                line, start = line + count_lines(text[start : part.rest]), part.rest

    def split_part(self, text: bytes, start: int, stop: int, line: int, path: str, last: bool) -> "CsvPart":
        """The records of a part of a text, which is whole lines, by `split`; the first says what the columns are."""
        found = self.split(string := self.text(text[start:stop]), line, path, last)
        records, lines = found.records, found.lines
        if not self.begun and records:
            self.begun = True
            if self.fields.begin(path, records[0], lines[0]):
                records, lines = records[1:], lines[1:]
            if is_utf8(*self.decoder):
                self.columns = delimited_columns(
                    self.delimiter, self.fields.n_fields, self.fields.places, quotes=True
                )  # fmt: skip
                if self.in_place and self.columns is not None:
                    self.columns.leave_texts()
        parsed = parse_records(self.parse, records, lines, path, self.malformed)
        n_lines = line_ends(string[: found.rest])
        rest = stop if found.rest == len(string) else skip_lines(text, start, n_lines)
        return CsvPart(parsed, lines[0] if lines else 0, rest)

    def parse(self, records: list[list[str]]) -> ParsedRecords:
        if self.escaped:
            for record in records:
                if wrong := ESCAPED.search("".join(record)):
                    what = f"the byte {ord(wrong[0]) - 0xDC00:#04x} is not {self.decoder.encoding}"
                    raise ValueError(f"{what}; errors='replace' reads it nonetheless")
        found = self.fields.parse(records)
        return found.with_targets() if self.numeric else found

    def text(self, lines: bytes) -> str:
        """Lines decoded; what cannot be is marked, and found in its record."""
        try:
            return lines.decode(*self.decoder)
        except UnicodeDecodeError:
            self.escaped = True
            return lines.decode(self.decoder.encoding, "surrogateescape")

    def split(self, text: str, line: int, path: str, last: bool) -> Records:
        """A text as records, which empty lines are not; behind what is malformed it goes on with the next line."""
        if '"' not in text:
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
            there = [number for number, one in enumerate(lines, line) if one]
            return Records([one.split(self.delimiter) for one in lines if one], there, len(text))
        records: list[list[str]] = []
        numbers: list[int] = []
        start = place = 0
        fields: list[str] = []
        while start < len(text):
            match = self.field.match(text, place)
            if match is None:
                if text[place] == '"' and OPEN.fullmatch(text, place):
                    if not last:
                        break
                    what = UNCLOSED
                elif text[place] == '"':
                    what = "there is text behind a closing quote"
                else:
                    what = "there is a quote in a field that does not begin with one"
                self.malformed.add(path, line, what)
                rest = LINE_END.search(text, place).end()  # type: ignore[union-attr]
                line += line_ends(text[start:rest])
                start = place = rest
                fields = []
                if what is UNCLOSED:
                    break  # which took all of the text together
                continue
            quoted, plain, end = match.groups()
            fields.append(plain if quoted is None else quoted.replace('""', '"'))
            place = match.end()
            if end != self.delimiter:
                if fields != [""] or quoted is not None:
                    records.append(fields)
                    numbers.append(line)
                line += line_ends(text[start:place])
                start, fields = place, []
        return Records(records, numbers, start)


def line_ends(text: str) -> int:
    """How many line ends there are: \\n, \\r, or both in this order."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
