"""Vowpal Wabbit's text format: `label importance 'tag|namespace:scale name:value name …|namespace …`."""

import math
import re
from collections.abc import Iterator

from fastlin.data.blocks import Documents
from fastlin.data.readers.line_formats import LineDecoder, ReadRequest
from fastlin.data.readers.parsed_records import ParsedRecords, as_weight
from fastlin.data.readers.sources import InputFile

COUNT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def read_vw(files: list[InputFile], request: ReadRequest) -> Iterator[Documents]:
    """Files of Vowpal Wabbit's format."""
    return request.documents(files, lambda: Vw(request.decoder, request.labelled))


class Vw:
    """An example on every line that is not empty: a dict of its features, values that have one name added up.

    A feature of a namespace is called "namespace^name". Scales multiply their namespace's values. Labels stand as they
    are in the file, "" where there is none. Tags are left out.
    """

    def __init__(self, decoder: LineDecoder, labelled: bool) -> None:
        self.decoder, self.labelled = decoder, labelled

    def begin(self, path: str, lines: list[bytes], line: int) -> int:  # noqa: ARG002
        return 0

    def columns(self) -> None:
        return None

    def parse(self, lines: list[bytes]) -> ParsedRecords:
        examples = [line.partition("|") for line in self.decoder.each(lines) if line and not line.isspace()]
        heads = [_head(head, bar) for head, bar, _ in examples]
        return ParsedRecords(
            [_features(body) for _, _, body in examples],
            [label for label, _ in heads] if self.labelled else None,
            [weight for _, weight in heads],
        )


def _head(head: str, bar: str) -> tuple[str, float]:
    """Label and importance."""
    if not bar:
        raise ValueError("there is no '|' before the features")
    words = head.split()
    if words and (not head[-1].isspace() or words[-1][0] == "'"):
        words.pop()  # a tag, which touches the bar or begins with an apostrophe
    if len(words) > 2:
        raise ValueError(
            f"there are {len(words)} words before the features, {head.strip()!r:.60}; read are a label, "
            "an importance and a tag"
        )
    if words and ":" in words[0]:
        raise ValueError(f"{words[0]!r:.60} is no single label")
    return words[0] if words else "", as_weight(words[1]) if len(words) > 1 else 1.0


def _features(body: str) -> dict[str, float]:
    """Features behind the first bar."""
    features: dict[str, float] = {}
    for space in body.split("|"):
        words = space.split()
        prefix, scale = "", 1.0
        if words and not space[0].isspace():
            name, colon, value = words.pop(0).partition(":")
            prefix, scale = f"{name}^", _number(value, name) if colon else 1.0
        for word in words:
            name, colon, value = word.partition(":")
            if not name:
                raise ValueError(f"the feature {word!r:.60} has no name")
            name = prefix + name
            features[name] = features.get(name, 0.0) + (_number(value, name) * scale if colon else scale)
            if not math.isfinite(features[name]):
                raise ValueError(f"the value of {name!r:.60}, scaled and added up, is not finite")
    return features


def _number(text: str, name: str) -> float:
    number = float(text) if COUNT.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"the value {text!r:.60} of {name!r:.60} is no finite number")
    return number
