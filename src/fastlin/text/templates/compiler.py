"""Templates as the engine runs them."""

from typing import Any, NamedTuple

import numpy as np

from fastlin.text.templates.dsl import FLAGS, Part, Template


class StreamSource(NamedTuple):
    """The source of a stream that is not one of pairs: a function of a column."""

    column: int
    function: str
    argument: Any = None
    folded: bool = False

    @classmethod
    def of(cls, part: Part) -> "StreamSource":
        return cls(part.column, part.function, part.argument, part.folded)

    @property
    def is_flag(self) -> bool:
        return self.function in FLAGS


Conjunction = tuple[
    StreamSource, tuple[tuple[StreamSource, int], ...]
]  # the first of a conjunction, and how far the others are from it
CONSTANT = StreamSource(-1, "constant")  # of templates that have no strings


class PairStream(NamedTuple):
    """A stream of pairs: of a number of the left stream and one of the right, so many places further on."""

    left: int
    right: int
    distance: int
    space: int  # which pairs have numbers in common


class FeatureFamily(NamedTuple):
    """Features of one text but for their strings."""

    pieces: tuple[str, ...]
    space: int


class Program:
    """Templates compiled: streams, and tables of what templates read of them.

    Numbers are of a **space**: strings, then the constant, then pairs of two spaces. Sources whose strings stand at the
    same place of the same text share a space, so that features of one name are one feature.
    """

    def __init__(self, templates: list[Template], padding: str | None, gazetteers: dict[str, Any]) -> None:
        self.templates, self.padding, self.gazetteers = templates, padding, gazetteers
        looked_at = [(template.parts, [flag for flag, _ in template.conditions]) for template in templates]
        parts = [part for visible, flags in looked_at for part in (*visible, *flags)]
        for part in parts:
            if part.function == "within" and part.argument not in gazetteers:
                raise ValueError(f"{part.label} names no gazetteer; there are {sorted(gazetteers)}")
        self.columns = sorted({part.column for part in parts if part.column >= 0})
        self.before = max([0, *(-part.offset for part in parts)])
        self.behind = max([0, *(part.offset for part in parts)])
        self.sources = list(dict.fromkeys([*map(StreamSource.of, parts), CONSTANT]))
        self.pairs: list[PairStream] = []
        self._number_spaces()
        self._streams: dict[Conjunction, int] = {(source, ()): place for place, source in enumerate(self.sources)}
        self._pair_spaces: dict[tuple[int, int], int] = {}
        self.families: dict[FeatureFamily, int] = {}
        rows: list[tuple[int, ...]] = []
        conditions: list[tuple[int, ...]] = []
        for template in templates:
            stream, offset, space = self._stream(template.strings)
            family = self.families.setdefault(FeatureFamily(template.pieces, space), len(self.families))
            flags = [(part, True) for part in template.parts if part.is_flag]
            tests = [
                (self._streams[StreamSource.of(flag), ()], flag.offset, int(wanted))
                for flag, wanted in (*flags, *template.conditions)
            ]
            rows.append((stream, offset, family, len(conditions), len(conditions) + len(tests)))
            conditions += tests
        self.rows = np.array(rows, np.int32).reshape(-1, 5)
        self.conditions = np.array(conditions, np.int32).reshape(-1, 3)
        self.distinct = len(self.families) == len(templates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.parameters == other.parameters

    __hash__ = None  # type: ignore[assignment]

    @property
    def parameters(self) -> tuple[list[Template], str | None, dict[str, Any]]:
        """Source that it is compiled from."""
        return self.templates, self.padding, self.gazetteers

    @property
    def constant(self) -> int:
        """The space of the one number 0."""
        return len(self.spaces)

    @property
    def pair_spaces(self) -> list[tuple[int, int]]:
        """The spaces that pairs are of, in the order of their own."""
        return list(self._pair_spaces)

    def _number_spaces(self) -> None:
        """self.spaces: the sources of each space of strings; self.space_of: the space of a source."""
        places: dict[tuple[tuple[str, ...], int], StreamSource] = {}
        root = {source: source for source in self.sources if not source.is_flag and source != CONSTANT}

        def find(source: StreamSource) -> StreamSource:
            while root[source] != source:
                source = root[source]
            return source

        for template in self.templates:
            for place, part in enumerate(template.strings):
                source = find(StreamSource.of(part))
                other = places.setdefault((template.pieces, place), source)
                root[source] = find(other)
        self.spaces: list[list[StreamSource]] = []
        self.space_of: dict[StreamSource, int] = {}
        for source in root:
            if find(source) == source:
                self.space_of[source] = len(self.spaces)
                self.spaces.append([])
        for source in root:
            self.space_of[source] = self.space_of[find(source)]
            self.spaces[self.space_of[source]].append(source)
        self.space_of[CONSTANT] = len(self.spaces)

    def _stream(self, strings: list[Part]) -> tuple[int, int, int]:
        """The stream of a conjunction of strings, where it is to be read, and the space of its numbers."""
        if not strings:
            return self._streams[CONSTANT, ()], 0, self.constant
        first, *others = strings
        source = StreamSource.of(first)
        key: Conjunction = source, ()
        space = self.space_of[source]
        for part in others:
            other, distance = StreamSource.of(part), part.offset - first.offset
            left, right = self._streams[key], self._streams[other, ()]
            spaces = space, self.space_of[other]
            space = self._pair_spaces.setdefault(spaces, self.constant + 1 + len(self._pair_spaces))
            key = source, (*key[1], (other, distance))
            if key not in self._streams:
                self._streams[key] = len(self._streams)
                self.pairs.append(PairStream(left, right, distance, space))
        return self._streams[key], first.offset, space

    def markers(self, behind: bool) -> list[str]:
        """Markers before sequences, or behind them, in order."""
        places = range(1, self.behind + 1) if behind else range(-self.before, 0)
        return [f"{self.padding}{place:+d}" for place in places]

    def own_column(self, space: int) -> int | None:
        """The column whose words, as they are, are all that a space has; None: it has something else, too."""
        source = self.spaces[space][0]
        alone = len(self.spaces[space]) == 1 and source.function == "word" and not source.folded
        return source.column if alone else None
