"""How often a tagger is right: spans as conlleval counts them, tags, and the sentences that went wrong.

A span begins and ends where the script of the CoNLL-2000 shared task says it does, whatever scheme the tags follow:
IOB1, IOB2, IOE, brackets, and tags that break their scheme, as an I after an O, or an I of another type. Of IOBES
and BILOU, which are younger than the script, S (U) is a span by itself, and nothing goes on after E (L).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from fastlin.inspection.report import Report, ReportAccumulator
from fastlin.sequence.paired_sentences import paired_sentences
from fastlin.validation import one_of, whole_number

SAME = {"L": "E", "U": "S"}
ALONE = {"S", "[", "]"}  # a span of one token
OUTSIDE = {"O", "."}
ENDS = {"BB", "BO", "BS", "IB", "IO", "IS", "EB", "EE", "EI", "EO", "ES"}
STARTS = {"BB", "IB", "OB", "EB", "SB", "OI", "EI", "SI", "OE", "EE", "SE"}
WIDTH = 100  # characters of a line in a listing


class Span(NamedTuple):
    """The tokens start … stop − 1 are one span.

    Attributes
    ----------
    type : str
        What it is of, such as "NP"; empty where tags have no types.
    start : int
        Its first token.
    stop : int
        The one behind its last.
    """

    type: str
    start: int
    stop: int


@lru_cache(1 << 16)
def _parts(tag: str) -> tuple[str, str]:
    """Prefix and type: what stands before and behind the first hyphen."""
    prefix, _, kind = tag.partition("-")
    return SAME.get(prefix, prefix), kind


@lru_cache(1 << 16)
def _between(before: str, tag: str) -> tuple[bool, bool]:
    """Whether a span ends, and whether one starts, between two tags."""
    (prefix, kind), (following, next_kind) = _parts(before), _parts(tag)
    other = kind != next_kind
    ends = prefix in ALONE or prefix + following in ENDS or (other and prefix not in OUTSIDE)
    starts = following in ALONE or prefix + following in STARTS or (other and following not in OUTSIDE)
    return ends, starts


def spans(tags: Iterable[Any]) -> list[Span]:
    """The spans of one sentence, in order.

    Parameters
    ----------
    tags : sequence of labels
        As "B-NP", "I-NP", "O"; or without types, as "B", "I", "O".

    Returns
    -------
    list of Span

    Examples
    --------
    >>> from fastlin.sequence.metrics import spans
    >>> spans(["B-NP", "I-NP", "O", "I-VP", "I-PP"])
    [Span(type='NP', start=0, stop=2), Span(type='VP', start=3, stop=4), Span(type='PP', start=4, stop=5)]
    """
    found: list[Span] = []
    start, before = -1, "O"
    for place, tag in enumerate([*map(str, tags), "O"]):
        ends, starts = _between(before, tag)
        if start >= 0 and (ends or starts):
            found.append(Span(_parts(before)[1], start, place))
            start = -1
        if starts:
            start = place
        before = tag
    if start >= 0:
        found.append(Span(_parts(before)[1], start, place))
    return found


@dataclass(frozen=True)
class SpanFigures:
    """Of the spans found, the share that is right; of those there are, the share found; 0/0 counts as 0.

    Attributes
    ----------
    type : str
        What the spans are of, such as "NP"; empty for all together.
    spans : int
        Spans that there are.
    found : int
        Spans that were predicted.
    right : int
        Spans that are among both.
    """

    type: str
    spans: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.spans if self.spans else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.spans + self.found) if self.right else 0.0

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            The fields, `precision`, `recall` and `f1`.
        """
        return {**asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}

    def __str__(self) -> str:
        return f"precision: {100 * self.precision:6.2f}%; recall: {100 * self.recall:6.2f}%; FB1: {100 * self.f1:6.2f}"


@dataclass(frozen=True)
class SpanReport:
    """conlleval's figures; printed, they have its form.

    Attributes
    ----------
    tokens : int
        Tokens looked at.
    right_tokens : int
        Those with the right tag.
    overall : SpanFigures
        Of the spans of all types.
    types : tuple of SpanFigures
        Of each type, by name.
    """

    tokens: int
    right_tokens: int
    overall: SpanFigures
    types: tuple[SpanFigures, ...]

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag."""
        return self.right_tokens / self.tokens if self.tokens else 0.0

    @property
    def precision(self) -> float:
        return self.overall.precision

    @property
    def recall(self) -> float:
        return self.overall.recall

    @property
    def f1(self) -> float:
        return self.overall.f1

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            `tokens`, `accuracy`, the figures of all spans, and `types`, a dict of figures for each.
        """
        whole = self.overall.as_dict()
        del whole["type"]
        types = {one.type: one.as_dict() for one in self.types}
        for one in types.values():
            del one["type"]
        return {"tokens": self.tokens, "accuracy": self.accuracy, **whole, "types": types}

    def __str__(self) -> str:
        whole = self.overall
        counts = f"{whole.spans} phrases; found: {whole.found} phrases; correct: {whole.right}."
        lines = [
            f"processed {self.tokens} tokens with {counts}",
            f"accuracy: {100 * self.accuracy:6.2f}%; {whole}",
        ]
        lines += [f"{one.type:>17}: {one}  {one.found}" for one in self.types if one.type]
        return "\n".join(lines)


class SpanTally:
    """The counts behind a report of spans, added up block by block.

    Examples
    --------
    >>> from fastlin.sequence.metrics import SpanTally
    >>> tally = SpanTally()
    >>> tally.add([["B-NP", "I-NP", "O"]], [["B-NP", "I-NP", "B-VP"]])
    >>> tally.add([["B-NP"]], [["B-NP"]])
    >>> tally.report().precision
    0.6666666666666666
    """

    def __init__(self) -> None:
        self._tokens = self._right_tokens = self._sentences = 0
        self._spans: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, y_true: Any, y_pred: Any) -> None:
        """Count some sentences: their right tags, and those predicted.

        Parameters
        ----------
        y_true : list of sequences of labels
            The right tags of each sentence.
        y_pred : list of sequences of labels
            What `predict` returns.

        Raises
        ------
        ValueError
            If there are not as many sentences, or not as many tags in one of them.
        """
        for own, other in paired_sentences(y_true, y_pred, self._sentences):
            self._sentences += 1
            self._tokens += len(own)
            self._right_tokens += sum(a == b for a, b in zip(own, other, strict=True))
            true, found = spans(own), spans(other)
            self._spans.update(one.type for one in true)
            self._found.update(one.type for one in found)
            self._right.update(one.type for one in {*true} & {*found})

    def report(self) -> SpanReport:
        """The figures of all that was added.

        Returns
        -------
        SpanReport
            Figures of all sentences since the tally was made.

        Raises
        ------
        ValueError
            If no sentence was added.
        """
        if not self._sentences:
            raise ValueError("there is nothing to report on: no sentence was given")
        counts = self._spans, self._found, self._right
        types = [SpanFigures(kind, *(one[kind] for one in counts)) for kind in sorted({*self._spans, *self._found})]
        overall = SpanFigures("", *(one.total() for one in counts))
        return SpanReport(self._tokens, self._right_tokens, overall, tuple(types))


def span_report(y_true: Any, y_pred: Any) -> SpanReport:
    """Precision, recall and F1 of spans, all and by type, as conlleval has them.

    Parameters
    ----------
    y_true : list of sequences of labels
        The right tags of each sentence.
    y_pred : list of sequences of labels
        What `predict` returns.

    Returns
    -------
    SpanReport
        Figures are shares; printed, they are per cent in the form of the script.

    Examples
    --------
    >>> from fastlin.sequence.metrics import span_report
    >>> right = [["B-NP", "I-NP", "B-VP", "O"]]
    >>> print(span_report(right, [["B-NP", "I-NP", "B-NP", "O"]]))
    processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.
    accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00
                   NP: precision:  50.00%; recall: 100.00%; FB1:  66.67  2
                   VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
    """
    tally = SpanTally()
    tally.add(y_true, y_pred)
    return tally.report()


def span_f1_score(y_true: Any, y_pred: Any, *, average: Literal["micro", "macro"] = "micro") -> float:
    """The F1 of spans, as a scorer of cross-validation wants it.

    Parameters
    ----------
    y_true, y_pred : list of sequences of labels
    average : {"micro", "macro"}
        Of all spans, which is conlleval's FB1, or the mean over their types.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastlin.sequence.metrics import span_f1_score
    >>> span_f1_score([["B-NP", "I-NP", "B-VP"]], [["B-NP", "I-NP", "O"]])
    0.6666666666666666
    """
    one_of("average", average, ["micro", "macro"])
    found = span_report(y_true, y_pred)
    if average == "micro":
        return found.f1
    return sum(one.f1 for one in found.types) / len(found.types) if found.types else 0.0


def tag_report(y_true: Any, y_pred: Any) -> Report:
    """Accuracy, precision, recall and F1 of tags, and what is taken for what; every token is an instance.

    Parameters
    ----------
    y_true, y_pred : list of sequences of labels

    Returns
    -------
    fastlin.inspection.Report
        With tokens for documents.

    Examples
    --------
    >>> from fastlin.sequence.metrics import tag_report
    >>> found = tag_report([["DET", "NOUN"], ["NOUN"]], [["DET", "NOUN"], ["VERB"]])
    >>> round(found.accuracy, 4), found.confusion[-1]
    (0.6667, ('NOUN', 'VERB', 1))
    """
    tally = TagTally()
    tally.add(y_true, y_pred)
    return tally.report()


class TagTally(ReportAccumulator):
    """The counts behind a report of tags, added up block by block."""

    def __init__(self) -> None:
        super().__init__(unit="tokens")

    def add(self, y: Any, predicted: Any, probabilities: None = None) -> None:  # noqa: ARG002 - a tally of documents has them
        """Count some sentences: their right tags, and those predicted.

        Parameters
        ----------
        y : list of sequences of labels
            The right tags of each sentence.
        predicted : list of sequences of labels
            What `predict` returns.
        probabilities : None
            Not looked at.

        Raises
        ------
        ValueError
            If there are not as many sentences, or not as many tags in one of them.
        """
        for own, other in paired_sentences(y, predicted):
            super().add(own, other)


@dataclass(frozen=True)
class WrongSentence:
    """A sentence with its right tags and those predicted.

    Attributes
    ----------
    place : int
        Its number among the sentences given, from 0 on.
    words : tuple of str
        Its words.
    true : tuple of labels
        The right ones.
    predicted : tuple of labels
        Those predicted.
    """

    place: int
    words: tuple[str, ...]
    true: tuple[Any, ...]
    predicted: tuple[Any, ...]

    def __str__(self) -> str:
        """Three lines: the words, the right tags, and what was predicted where that differs."""
        columns = [
            (word, str(own), "" if own == other else str(other))
            for word, own, other in zip(self.words, self.true, self.predicted, strict=True)
        ]
        heads = ("words", "right", "wrong")
        blocks: list[list[str]] = []
        used = WIDTH
        for column in columns:
            width = max(map(len, column))
            if used + width + 2 > WIDTH:
                blocks.append([f"  {head}" for head in heads])
                used = len(heads[0]) + 2
            blocks[-1] = [f"{line}  {cell:<{width}}" for line, cell in zip(blocks[-1], column, strict=True)]
            used += width + 2
        wrong = [[line.rstrip() for line in block] for block in blocks]
        lines = [line for block in wrong for line in (block if block[2].strip() != heads[2] else block[:2])]
        return "\n".join([f"sentence {self.place}", *lines])


@dataclass(frozen=True)
class Confusion:
    """A tag that was taken for another, and sentences where this is the most frequent of the mistakes they have.

    Attributes
    ----------
    true : label
        The right tag.
    predicted : label
        What it was taken for.
    tokens : int
        How often, in all sentences.
    examples : tuple of WrongSentence
        Sentences that have it.
    """

    true: Any
    predicted: Any
    tokens: int
    examples: tuple[WrongSentence, ...]

    def __str__(self) -> str:
        head = f"{self.true} taken for {self.predicted}: {self.tokens:,} token{'s' * (self.tokens != 1)}"
        return "\n\n".join([head, *map(str, self.examples)])


@dataclass(frozen=True)
class Errors:
    """The sentences that went wrong, by their mistakes, the most frequent mistake first.

    Attributes
    ----------
    sentences : int
        How many there are.
    wrong : int
        How many have mistakes.
    confusions : tuple of Confusion
        Those with examples.
    """

    sentences: int
    wrong: int
    confusions: tuple[Confusion, ...]

    def __str__(self) -> str:
        shown = sum(len(one.examples) for one in self.confusions)
        rest = "" if shown == self.wrong else f"; {shown:,} of them follow"
        head = f"{self.wrong:,} of {self.sentences:,} sentences have mistakes{rest}"
        return "\n\n".join([head, *map(str, self.confusions)])


def errors(X: Any, y_true: Any, y_pred: Any, n: int = 20) -> Errors:
    """List sentences with wrong spans, words beside tags, under what went wrong in them.

    A sentence stands under that of its mistakes which is the most frequent in all sentences; mistakes and, for each,
    the sentences that have most of them come first. Where tags have no spans (parts of speech), a wrong tag is a
    mistake.

    Parameters
    ----------
    X : list of sequences of tokens
        What is shown of a token: itself, of a tuple or list its first entry, of a dict its first string.
    y_true, y_pred : list of sequences of labels
    n : int
        How many sentences are listed.

    Returns
    -------
    Errors

    Examples
    --------
    >>> from fastlin.sequence.metrics import errors
    >>> X, y = [["He", "reckons", "so"], ["Yes"]], [["B-NP", "B-VP", "O"], ["O"]]
    >>> print(errors(X, y, [["B-NP", "I-NP", "O"], ["O"]]))
    1 of 2 sentences have mistakes
    <BLANKLINE>
    B-VP taken for I-NP: 1 token
    <BLANKLINE>
    sentence 0
      words  He    reckons  so
      right  B-NP  B-VP     O
      wrong        I-NP
    """
    n = whole_number("n", n, 0)
    pairs, tokens = list(paired_sentences(y_true, y_pred)), list(X)
    if len(tokens) != len(pairs):
        raise ValueError(f"X has {len(tokens)} sequences, y_true {len(pairs)}")
    for place, (words, (own, _)) in enumerate(zip(tokens, pairs, strict=True)):
        if len(words) != len(own):
            raise ValueError(f"sequence {place} has {len(words)} tokens in X and {len(own)} labels in y_true")
    mistakes = _mistakes(pairs)
    total = sum(mistakes.values(), Counter[tuple[Any, Any]]())
    rank = {pair: number for number, (pair, _) in enumerate(total.most_common())}
    heads = {place: min(one, key=rank.__getitem__) for place, one in mistakes.items()}
    order = sorted(mistakes, key=lambda place: (rank[heads[place]], -mistakes[place][heads[place]], place))
    groups: dict[tuple[Any, Any], list[WrongSentence]] = {}
    for place in order[:n]:
        words = tuple(map(_word, tokens[place]))
        groups.setdefault(heads[place], []).append(WrongSentence(place, words, *map(tuple, pairs[place])))
    confusions = (Confusion(*pair, total[pair], tuple(examples)) for pair, examples in groups.items())
    return Errors(len(pairs), len(mistakes), tuple(confusions))


def _mistakes(pairs: list[tuple[list[Any], list[Any]]]) -> dict[int, Counter[tuple[Any, Any]]]:
    """Of each sentence with wrong spans, or wrong tags where tags have no spans: (right, predicted) of its mistakes."""
    found: list[tuple[list[Any], list[Any]]] = [(spans(own), spans(other)) for own, other in pairs]
    if not any(one or two for one, two in found):
        found = pairs
    wrong = (place for place, (one, two) in enumerate(found) if one != two)
    return {place: Counter((a, b) for a, b in zip(*pairs[place], strict=True) if a != b) for place in wrong}


def _word(token: Any) -> str:
    """What stands for a token in a listing."""
    if isinstance(token, dict):
        values = list(token.values())  # a "bias" often comes first
        return str(next((value for value in values if isinstance(value, str)), values[0] if values else ""))
    if isinstance(token, Sequence) and not isinstance(token, str):
        return str(token[0]) if len(token) else ""
    return str(token)
