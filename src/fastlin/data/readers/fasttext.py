"""fastText's format: `__label__name some text`, a document a line."""

import re
from collections.abc import Iterator

from fastlin.data.blocks import Documents
from fastlin.data.readers.line_formats import LineDecoder, ReadRequest
from fastlin.data.readers.parsed_records import ParsedRecords
from fastlin.data.readers.sources import InputFile

PREFIX = "__label__"
BLANKS = " \t\v\f\0"  # between words, as fastText has it
LABEL = re.compile(rf"(?:^|(?<=[{BLANKS}])){PREFIX}([^{BLANKS}]*)(?:[{BLANKS}]+|$)")


def read_fasttext(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of fastText's format."""
    return request.documents(files, lambda: FastText(request.decoder, request.labelled))


class FastText:
    """A document on every line that is not empty. Words that begin with "__label__" are labels, wherever they stand.

    A document has one label, or none, which is "". A line with several is malformed: nobody knows which counts.
    """

    def __init__(self, decoder: LineDecoder, labelled: bool) -> None:
        self.decoder, self.labelled = decoder, labelled

    def begin(self, path: str, lines: list[bytes], line: int) -> int:  # noqa: ARG002
        return 0

    def columns(self) -> None:
        return None

    def parse(self, lines: list[bytes]) -> ParsedRecords:
        texts = [line for line in self.decoder.each(lines) if line and not line.isspace()]
        labels = [_label(text) for text in texts] if self.labelled else None
        return ParsedRecords([LABEL.sub("", text).rstrip(BLANKS) for text in texts], labels, None)


def _label(line: str) -> str:
    """The only label of a line."""
    found = LABEL.findall(line)
    if len(set(found)) > 1:
        names = ", ".join(map(repr, found))
        raise ValueError(f"the line has {len(found)} labels, {names:.100}; a document has one")
    if found and not found[0]:
        raise ValueError(f"there is no name behind {PREFIX}")
    return found[0] if found else ""
