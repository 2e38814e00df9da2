"""Where in a document's text its features stand, and what each of its words contributes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastlin.inspection.weights import transformers_of
from fastlin.text.analyzer import AnalyzerMixin
from fastlin.text.located_terms import TermSpan, term_spans

WORD = re.compile(r"\w+|[^\w\s]")
_JOINED = re.compile(r" & | \| ")  # conjunctions, and features that share a hash


class WordContribution(NamedTuple):
    """A word of a text, what it contributes, and the features that it is a part of."""

    start: int
    end: int
    contribution: float
    features: tuple[tuple[str, float], ...]


class LocatedText(NamedTuple):
    """A text, and the names of its features with the characters that they were made of."""

    text: str
    terms: tuple[TermSpan, ...]

    def words(self, features: Sequence[str], contributions: Sequence[float]) -> list[WordContribution]:
        """What each word contributes: they add up to what the features contribute that are found in the text.

        A feature counts the same in each place where it stands, and there in each character of a word. What is
        made of several, a conjunction or terms of one hash, counts in the places of all of them.
        """
        places = defaultdict(list)
        for term, start, end in self.terms:
            places[term].append((start, end))
        words = [match.span() for match in WORD.finditer(self.text)]
        word_of = np.full(len(self.text), len(words))  # of characters
        for number, (start, end) in enumerate(words):
            word_of[start:end] = number
        sums = np.zeros(len(words) + 1)
        parts: list[dict[str, float]] = [{} for _ in range(len(words) + 1)]
        for name, contribution in zip(features, contributions, strict=True):
            spans = places.get(name) or [span for part in _JOINED.split(name) for span in places.get(part, ())]
            for start, end in spans:
                inside = word_of[start:end]
                inside = inside[inside < len(words)] if (inside < len(words)).any() else inside
                np.add.at(sums, inside, contribution / len(spans) / len(inside))
                for number in set(inside.tolist()):
                    parts[number][name] = contribution
        return [
            WordContribution(*span, float(total), tuple(named.items()))
            for span, total, named in zip(words, sums, parts, strict=False)
        ]


def located_text(model: Any, document: Any) -> LocatedText | None:
    """The text of a document and where its terms stand; None if the model's first step does not cut texts."""
    steps = transformers_of(model)
    vectorizers = list(_vectorizers(steps[0])) if steps else []
    if not vectorizers:
        return None
    try:
        terms = [
            TermSpan(prefix + term, start, end)
            for prefix, vectorizer in vectorizers
            for term, start, end in term_spans(vectorizer, document)
        ]
    except ValueError:  # nobody knows of what the terms were made
        return None
    return LocatedText(vectorizers[0][1].decode(document), tuple(terms))


def _vectorizers(step: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The vectorisers of a step, and what stands before the names of their terms."""
    if isinstance(step, AnalyzerMixin):
        yield prefix, step
    elif hasattr(step, "steps"):
        yield from _vectorizers(step.steps[0][1], prefix)
    elif hasattr(step, "transformer_list"):
        members: Iterable[tuple[str, Any]] = step.transformer_list
        for name, member in members:
            yield from _vectorizers(member, f"{prefix}{name}__" if step.verbose_feature_names_out else prefix)
