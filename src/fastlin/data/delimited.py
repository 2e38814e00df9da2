"""Columns of text: TSV, whose fields stand as they are, and CSV, whose fields may be in quotes (RFC 4180)."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fastlin.data.blocks import Documents
from fastlin.data.errors import Problems, ReadError
from fastlin.data.lines import Columns, Decoder, as_weight, explained, parsed
from fastlin.data.sources import File, Piece, pieces

NAMES = "label", "text"
OPEN = re.compile(r'"[^"]*+(?:""[^"]*+)*+')
LINE_END = re.compile(r"\r\n|\n|\r")
ESCAPED = re.compile("[\udc80-\udcff]")


class Fields:
    """Which fields of a record are its label, its text and its weight.

    Where no column is named, a TSV file without a header has a label before the first tab and a text behind it, tabs
    and all.
    """

    def __init__(self, label: Any, text: Any, weight: Any, header: bool | None) -> None:
        self.label, self.text, self.weight, self.header = label, text, weight, header
        self.places: tuple[int | None, int, int | None] = (0, 1, None)
        self.n_fields = 2

    @property
    def usual(self) -> bool:
        """Whether the columns were left to the format."""
        return self.label in (..., None) and self.text is ... and self.weight is None

    def begin(self, path: str, first: list[str]) -> bool:
        """Learn from the first record what the fields are; whether it is a header."""
        named = [name for name in (self.label, self.text, self.weight) if isinstance(name, str)]
        header = self.header
        if header is None:
            header = bool(named) or set(NAMES) <= {name.lower() for name in first}
        if named and not header:
            raise ValueError(f"the column {named[0]!r} has a name, which header=False says there are not")
        names = [name.lower() for name in first] if header else []
        usual = [names.index(name) for name in NAMES] if set(NAMES) <= set(names) else self._first_two(path, first)
        label = usual[0] if self.label is ... else self._place(path, first, self.label)
        text = (0 if label is None and not names else usual[1]) if self.text is ... else self.text
        self.n_fields = len(first)
        self.places = label, self._place(path, first, text) or 0, self._place(path, first, self.weight)
        return header

    def _first_two(self, path: str, first: list[str]) -> list[int]:
        """The columns of a label and a text that have no name, where there is nothing to mix them up with."""
        if ... in (self.label, self.text) and len(first) - (self.weight is not None) > len(NAMES):
            columns = ", ".join(f"{place}: {name!r:.20}" for place, name in enumerate(first))
            raise ReadError(path, 1, f"say which columns are the label and the text: {columns}"[:300])
        return [0, 1]

    def _place(self, path: str, first: list[str], name: Any) -> int | None:
        if name is None:
            return None
        if isinstance(name, str):
            if name not in first:
                raise ReadError(path, 1, f"there is no column {name!r} among {', '.join(map(repr, first))}"[:200])
            return first.index(name)
        if not 0 <= name < len(first):
            raise ReadError(path, 1, f"there is no column {name}: the line has {len(first)} field(s), counted from 0")
        return int(name)

    def parse(self, records: list[list[str]]) -> Columns:
        """Records that are all as long as the first; an empty line is none."""
        label, text, weight = self.places
        records = [record for record in records if record != [""]]
        for record in records:
            if len(record) != self.n_fields:
                raise ValueError(f"the line has {len(record)} field(s), but the first has {self.n_fields}")
        return Columns(
            [record[text] for record in records],
            None if label is None else [record[label] for record in records],
            None if weight is None else [as_weight(record[weight]) for record in records],
        )


class Tsv:
    """Fields that stand as they are, between tabs."""

    def __init__(self, decoder: Decoder, fields: Fields, delimiter: str) -> None:
        self.decoder, self.fields, self.delimiter = decoder, fields, delimiter
        self.parse: Callable[[list[bytes]], Columns] = self.columns

    def begin(self, path: str, lines: list[bytes]) -> int:
        first = next((number for number, line in enumerate(lines) if line), None)
        if first is None:
            return 0
        try:
            record = lines[first].decode(*self.decoder).split(self.delimiter)
        except UnicodeDecodeError as error:
            raise ReadError(path, first + 1, explained(error)) from error
        if (
            self.fields.usual
            and self.delimiter == "\t"
            and not (self.fields.header or set(NAMES) <= {name.lower() for name in record})
        ):
            self.parse = self.whole if self.fields.label is None else self.halves
            return 0
        return first + 1 if self.fields.begin(path, record) else 0

    def halves(self, lines: list[bytes]) -> Columns:
        """label<TAB>text. Equal labels become one string."""
        halves = [line.partition(b"\t") for line in lines if line]
        if not all(half[1] for half in halves):
            raise ValueError("there is no tab between a label and a text")
        texts = self.decoder.each([half[2] for half in halves])
        labels = [half[0] for half in halves]
        names = list(set(labels))
        known = dict(zip(names, self.decoder.each(names), strict=True))
        return Columns(texts, [known[label] for label in labels], None)

    def whole(self, lines: list[bytes]) -> Columns:
        return Columns([line for line in self.decoder.each(lines) if line], None, None)

    def columns(self, lines: list[bytes]) -> Columns:
        delimiter = self.delimiter
        return self.fields.parse([line.split(delimiter) for line in self.decoder.each(lines)])


class Records(NamedTuple):
    """Records, the lines that they begin on, and where a record begins whose end is missing."""

    records: list[list[str]]
    lines: list[int]
    rest: int


class Csv:
    """Fields between commas, some in quotes: these may hold commas, line ends, and quotes, which are doubled."""

    def __init__(self, decoder: Decoder, fields: Fields, delimiter: str, problems: Problems) -> None:
        self.decoder, self.fields, self.delimiter, self.problems = decoder, fields, delimiter, problems
        self.escaped = False  # whether some bytes could not be decoded, and are there as lone surrogates
        end = re.escape(delimiter)
        self.field = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^{end}"\r\n]*+))({end}|\r\n|\n|\r)')

    def documents(self, file: File, size: int) -> Iterator[Documents]:
        """What a file holds, a block for each piece of it."""
        first = True
        for found in self.records(file, size):
            records, lines = found.records, found.lines
            if first and records:
                first = False
                if self.fields.begin(file.name, records[0]):
                    records, lines = records[1:], lines[1:]
            columns = parsed(self.parse, records, lines, file.name, self.problems)
            if columns.texts:
                yield columns.documents(file.name, lines[0])

    def parse(self, records: list[list[str]]) -> Columns:
        if self.escaped:
            for record in records:
                if wrong := ESCAPED.search("".join(record)):
                    what = f"the byte {ord(wrong[0]) - 0xDC00:#04x} is not {self.decoder.encoding}"
                    raise ValueError(f"{what}; errors='replace' reads it nonetheless")
        return self.fields.parse(records)

    def records(self, file: File, size: int) -> Iterator[Records]:
        """The records piece by piece. What is held back is looked at again only when it has doubled."""
        held, enough, line = [""], 0, 1
        for piece in pieces(file, size):
            held.append(self.text(piece))
            if sum(map(len, held)) >= enough:
                text = "".join(held)
                found = self.split(text, line, file.name, last=False)
                yield found
                held, enough = [text[found.rest :]], 2 * (len(text) - found.rest)
                line += line_ends(text[: found.rest])
        yield self.split("".join(held), line, file.name, last=True)

    def text(self, piece: Piece) -> str:
        """A piece decoded; what cannot be is marked, and found in its record."""
        try:
            return piece.text.decode(*self.decoder)
        except UnicodeDecodeError:
            self.escaped = True
            return piece.text.decode(self.decoder.encoding, "surrogateescape")

    def split(self, text: str, line: int, path: str, last: bool) -> Records:
        """A text as records; behind what is malformed it goes on with the next line."""
        if '"' not in text:
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
            return Records(
                [one.split(self.delimiter) for one in lines], list(range(line, line + len(lines))), len(text)
            )
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
                    what = "the quoted field that begins here has no end"
                elif text[place] == '"':
                    what = "there is text behind a closing quote"
                else:
                    what = "there is a quote in a field that does not begin with one"
                self.problems.add(path, line, what)
                start = place = LINE_END.search(text, place).end()  # type: ignore[union-attr]
                line += 1
                fields = []
                continue
            quoted, plain, end = match.groups()
            fields.append(plain if quoted is None else quoted.replace('""', '"'))
            place = match.end()
            if end != self.delimiter:
                records.append(fields)
                numbers.append(line)
                line += line_ends(text[start:place])
                start, fields = place, []
        return Records(records, numbers, start)


def line_ends(text: str) -> int:
    """How many line ends there are: \\n, \\r, or both in this order."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
