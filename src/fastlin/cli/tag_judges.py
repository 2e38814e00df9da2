"""Taggers judged on labelled sentences; several of them on the same, to be compared."""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fastlin.cli.errors import UserError
from fastlin.cli.progress import Progress
from fastlin.cli.sentence_inputs import Sentences, labels_of, tokens_of
from fastlin.inspection import Comparison, Report
from fastlin.sequence import compare_spans
from fastlin.sequence.metrics import Errors, SpanReport, SpanTally, TagTally, errors
from fastlin.sequence.span_comparison import compare_tags

MAX_SHOWN_TAGS = 5  # of those that a model never saw
KeptTags = tuple[list[list[str]], list[list[list[str]]]]  # the right ones, and those of each model


class TaggerReport:
    """The report of a tagger: the figures of spans, if tags have any, or else those of tags; mistakes."""

    def __init__(self, spans: SpanReport, tags: Report, mistakes: Errors | None) -> None:
        self.spans, self.tags, self.mistakes = spans, tags, mistakes

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types."""
        return {**self.spans.as_dict(), "tags": self.tags.as_dict()}

    def __str__(self) -> str:
        first = self.spans if self.spans.types else self.tags
        return "\n\n".join(map(str, [first] if self.mistakes is None else [first, self.mistakes]))


def judge(
    models: Sequence[Any],
    files: list[str],
    options: argparse.Namespace,
    progress: Progress,
    shown: int = 0,
    kept: KeptTags | None = None,
) -> list[TaggerReport]:
    """The figures of taggers on labelled files, of which a block at a time is in memory.

    Mistakes that are shown, and tags that are kept, need all of them.
    """
    judges = [TaggerJudge(model, bool(shown)) for model in models]
    with (
        Sentences(files, options, model=models[0]) as source,
        progress.stage(f"evaluating on {source.name}", source.bytes) as stage,
    ):
        for block in source.blocks(stage):
            right = labels_of(block)
            found = [judge.add(block, right) for judge in judges]
            if kept is not None:
                kept[0].extend(right)
                for tags, own in zip(kept[1], found, strict=True):
                    tags.extend(own)
    return [judge.report(source.name, shown) for judge in judges]


def compared(judged: Sequence[TaggerReport], kept: KeptTags) -> list[Comparison]:
    """Each tagger but the first beside the first: by the F1 of spans, if tags have any, or else by their accuracy."""
    compare = compare_spans if any(one.spans.types for one in judged) else compare_tags
    right, (first, *others) = kept
    return [compare(right, first, other) for other in others]


class TaggerJudge:
    """What is counted of a tagger's answers."""

    def __init__(self, model: Any, keeps: bool) -> None:
        self._model, self._keeps = model, keeps
        self._spans, self._tags = SpanTally(), TagTally()
        self._known, self._strange, self._met = set(map(str, model.classes_)), Counter[str](), False
        self._kept: list[tuple[Any, list[str], list[str]]] = []

    def add(self, block: Sequence[Any], right: list[list[str]]) -> list[list[str]]:
        """Count a block's tags; returns those predicted."""
        self._met = self._met or not self._known.isdisjoint(itertools.chain.from_iterable(right))
        self._strange.update(tag for tag in itertools.chain.from_iterable(right) if tag not in self._known)
        found = [list(map(str, one)) for one in self._model.predict(tokens_of(block, self._model))]
        self._spans.add(right, found)
        self._tags.add(right, found)
        if self._keeps:
            self._kept += zip(block, right, found, strict=True)
        return found

    def report(self, name: str, shown: int) -> TaggerReport:
        """The figures on the files of this name, and so many sentences that went wrong."""
        if not self._met:
            raise UserError(f"{name}: the model knows none of the tags; --label says which column holds them")
        if self._strange:
            print(_strange_tags(name, self._strange), file=sys.stderr)
        mistakes = _listed(self._kept, shown) if shown else None
        return TaggerReport(self._spans.report(), self._tags.report(), mistakes)


def _strange_tags(name: str, strange: Counter[str]) -> str:
    """What to say of tags that the model never saw."""
    shown = ", ".join(f"{tag} ({n:,})" for tag, n in strange.most_common(MAX_SHOWN_TAGS))
    more = ", …" if len(strange) > MAX_SHOWN_TAGS else ""
    tokens = f"{strange.total():,} token{'s' * (strange.total() > 1)}"
    return f"{name}: {tokens} with tags that the model never saw, and never predicts: {shown}{more}"


def _listed(kept: list[tuple[Any, list[str], list[str]]], n: int) -> Errors:
    """The sentences that went wrong."""
    sentences, right, found = (list(part) for part in zip(*kept, strict=True))
    return errors(sentences, right, found, n)
