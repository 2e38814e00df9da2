"""EVALB's figures of sentences and of all of them, and the mistakes behind them."""

import html
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from fastlin.grammar.evalb_parameters import EvalbParameters
from fastlin.runtime.made_once import made_once
from fastlin.validation import whole_number

VALID, ERROR, SKIPPED = "valid", "error", "skipped"
EXAMPLES = 5  # places printed of a mistake
WIDTH = 80  # characters printed of a place's words


class EvalbSentence(NamedTuple):
    """A sentence's counts; 0 but for the length, unless it is valid."""

    number: int  # among the sentences, from 1 on
    length: int  # words of the gold tree, with punctuation, without traces
    status: str  # "valid", "error" (words differ) or "skipped" (no parse)
    n_matched: int
    n_gold: int  # brackets
    n_predicted: int
    n_crossing: int
    n_words: int  # that are not deleted
    n_correct_tags: int
    reason: str  # why it is not valid

    @property
    def recall(self) -> float:
        return _share(self.n_matched, self.n_gold)

    @property
    def precision(self) -> float:
        return _share(self.n_matched, self.n_predicted)

    @property
    def tag_accuracy(self) -> float:
        return _share(self.n_correct_tags, self.n_words)

    @property
    def is_complete(self) -> bool:
        """Whether the brackets are those of the gold tree."""
        return self.status == VALID and self.n_matched == self.n_gold == self.n_predicted


@dataclass(frozen=True)
class EvalbFigures:
    """Sums over sentences; apart from the first three counts, over the valid ones. 0/0 counts as 0."""

    n_sentences: int
    n_errors: int
    n_skipped: int
    n_matched: int
    n_gold: int
    n_predicted: int
    n_complete: int
    n_crossing: int
    n_without_crossing: int
    n_with_few_crossing: int  # two or less
    n_words: int
    n_correct_tags: int

    @classmethod
    def of(cls, sentences: Iterable[EvalbSentence]) -> "EvalbFigures":
        """The figures of some sentences."""
        found = list(sentences)
        valid = [one for one in found if one.status == VALID]
        return cls(
            n_sentences=len(found),
            n_errors=sum(one.status == ERROR for one in found),
            n_skipped=sum(one.status == SKIPPED for one in found),
            n_matched=sum(one.n_matched for one in valid),
            n_gold=sum(one.n_gold for one in valid),
            n_predicted=sum(one.n_predicted for one in valid),
            n_complete=sum(one.is_complete for one in valid),
            n_crossing=sum(one.n_crossing for one in valid),
            n_without_crossing=sum(one.n_crossing == 0 for one in valid),
            n_with_few_crossing=sum(one.n_crossing <= 2 for one in valid),
            n_words=sum(one.n_words for one in valid),
            n_correct_tags=sum(one.n_correct_tags for one in valid),
        )

    @property
    def n_valid(self) -> int:
        return self.n_sentences - self.n_errors - self.n_skipped

    @property
    def recall(self) -> float:
        return _share(self.n_matched, self.n_gold)

    @property
    def precision(self) -> float:
        return _share(self.n_matched, self.n_predicted)

    @property
    def f1(self) -> float:
        return _share(2 * self.n_matched, self.n_gold + self.n_predicted)

    @property
    def complete_match(self) -> float:
        return _share(self.n_complete, self.n_valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets a sentence."""
        return _share(self.n_crossing, self.n_valid)

    @property
    def no_crossing(self) -> float:
        return _share(self.n_without_crossing, self.n_valid)

    @property
    def two_or_less_crossing(self) -> float:
        return _share(self.n_with_few_crossing, self.n_valid)

    @property
    def tag_accuracy(self) -> float:
        return _share(self.n_correct_tags, self.n_words)

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types."""
        return {
            **asdict(self),
            "n_valid": self.n_valid,
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
            "complete_match": self.complete_match,
            "average_crossing": self.average_crossing,
            "no_crossing": self.no_crossing,
            "two_or_less_crossing": self.two_or_less_crossing,
            "tag_accuracy": self.tag_accuracy,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Names and values as they are printed, shares per cent."""
        recall, precision = (
            _share(100.0 * self.n_matched, self.n_gold),
            _share(100.0 * self.n_matched, self.n_predicted),
        )
        f1 = (
            2 * precision * recall / (precision + recall) if self.n_matched else 0.0
        )  # EVALB's rounding, to the last bit
        return [
            ("sentences", f"{self.n_sentences:,}"),
            ("error", f"{self.n_errors:,}"),
            ("skipped", f"{self.n_skipped:,}"),
            ("valid", f"{self.n_valid:,}"),
            ("recall", f"{recall:.2f}"),
            ("precision", f"{precision:.2f}"),
            ("F1", f"{f1:.2f}"),
            ("complete match", f"{_share(100.0 * self.n_complete, self.n_valid):.2f}"),
            ("average crossing", f"{self.average_crossing:.2f}"),
            ("no crossing", f"{_share(100.0 * self.n_without_crossing, self.n_valid):.2f}"),
            ("two or less crossing", f"{_share(100.0 * self.n_with_few_crossing, self.n_valid):.2f}"),
            ("tagging accuracy", f"{_share(100.0 * self.n_correct_tags, self.n_words):.2f}"),
        ]


class MistakePlace(NamedTuple):
    """A mistake in a sentence; `kind`, `gold` and `predicted` are those of `ParseMistake`."""

    kind: str
    gold: str | None
    predicted: str | None
    sentence: int  # from 1 on
    sentence_words: list[str]
    first: int
    end: int

    @property
    def words(self) -> list[str]:
        """The words that the constituent spans, with punctuation."""
        return self.sentence_words[self.first : self.end]

    def __repr__(self) -> str:
        return (
            f"<{self.kind}: {self.gold!r}, {self.predicted!r}: {self}>"  # not the whole sentence for each mistake in it
        )

    def __str__(self) -> str:
        n_words = self.end - self.first
        text = " ".join(self.words if n_words <= WIDTH else self.sentence_words[self.first : self.first + WIDTH])
        return f"sentence {self.sentence}: {text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}"


@dataclass(frozen=True)
class ParseMistake:
    """A mistake with all its places.

    `kind` is "missing" (a gold label that is not predicted; `predicted` is None), "spurious" (the reverse),
    "confused" (another label over the same words) or "tag" (another tag of a word).
    """

    kind: str
    gold: str | None
    predicted: str | None
    places: tuple[MistakePlace, ...] = field(repr=False)

    def __str__(self) -> str:
        gold, predicted = (label or '""' for label in (self.gold, self.predicted))
        what = {
            "missing": f"{gold} missing",
            "spurious": f"{predicted} spurious",
            "confused": f"{gold} taken for {predicted}",
            "tag": f"tag {gold} taken for {predicted}",
        }[self.kind]
        rest = len(self.places) - EXAMPLES
        lines = [f"{what}: {len(self.places):,}", *(f"  {place}" for place in self.places[:EXAMPLES])]
        return "\n".join([*lines, f"  and {rest:,} more"] if rest > 0 else lines)


@dataclass(frozen=True)
class ParseErrors:
    """The mistakes of parses, the most frequent first, and the sentences that were not judged."""

    n_sentences: int
    n_wrong: int  # of them, with mistakes
    mistakes: tuple[ParseMistake, ...]
    not_judged: tuple[EvalbSentence, ...]

    def __str__(self) -> str:
        verb = "has" if self.n_wrong == 1 else "have"
        parts = [f"{self.n_wrong:,} of {self.n_sentences:,} sentences {verb} mistakes"]
        if self.not_judged:
            lines = [f"  sentence {one.number}: {one.status}: {one.reason}" for one in self.not_judged[:EXAMPLES]]
            rest = len(self.not_judged) - EXAMPLES
            lines += [f"  and {rest:,} more"] if rest > 0 else []
            parts.append("\n".join([f"not judged: {len(self.not_judged):,}", *lines]))
        return "\n\n".join([*parts, *map(str, self.mistakes)])


@dataclass(frozen=True)
class EvalbReport:
    """EVALB's figures of all sentences, of the short ones, and of each; printed, per cent."""

    parameters: EvalbParameters
    sentences: tuple[EvalbSentence, ...] = field(repr=False)
    places: tuple[MistakePlace, ...] = field(repr=False)  # of mistakes, in the sentences' order

    @made_once
    def overall(self) -> EvalbFigures:
        """The figures of all sentences."""
        return EvalbFigures.of(self.sentences)

    @made_once
    def up_to_cutoff(self) -> EvalbFigures:
        """The figures of sentences that are not longer than the cut-off length."""
        return EvalbFigures.of(one for one in self.sentences if one.length <= self.parameters.cutoff_length)

    def errors(self, n: int | None = None) -> ParseErrors:
        """What is missing, spurious and confused, with its places, the most frequent first.

        Parameters
        ----------
        n : int, optional
            Only so many kinds of mistakes.
        """
        groups = defaultdict[tuple[str, str | None, str | None], list[MistakePlace]](list)
        for place in self.places:
            groups[place[:3]].append(place)
        ordered = sorted(groups.items(), key=lambda one: -len(one[1]))
        wanted = ordered if n is None else ordered[: whole_number("n", n, 0)]
        mistakes = tuple(ParseMistake(*kind, tuple(places)) for kind, places in wanted)
        not_judged = tuple(one for one in self.sentences if one.status != VALID)
        return ParseErrors(len(self.sentences), len({place.sentence for place in self.places}), mistakes, not_judged)

    def as_dict(self) -> dict[str, Any]:
        """The figures in plain types."""
        return {
            "overall": self.overall.as_dict(),
            "up_to_cutoff": self.up_to_cutoff.as_dict(),
            "sentences": [one._asdict() for one in self.sentences],
        }

    def _table(self) -> list[tuple[str, str, str]]:
        short = f"length ≤ {self.parameters.cutoff_length}"
        both = zip(self.overall.rows(), self.up_to_cutoff.rows(), strict=True)
        return [("", "all", short), *((name, value, other) for (name, value), (_, other) in both)]

    def __str__(self) -> str:
        table = self._table()
        first, second, third = (max(map(len, column)) for column in zip(*table, strict=True))
        return "\n".join(f"{name:<{first}}  {value:>{second}}  {other:>{third}}" for name, value, other in table)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
        lines += [f"<th>{html.escape(name)}</th><td>{value}</td><td>{other}</td>" for name, value, other in rows]
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0
