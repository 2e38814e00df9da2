"""What parsers share that have learnt from trees: rules and words, sentences over threads, those without a tree."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.estimator import StatefulEstimator, reads
from fastlin.grammar.charts import check_size
from fastlin.grammar.constraints import Given
from fastlin.grammar.decoding import Decoded
from fastlin.grammar.evalb_scorer import evalb
from fastlin.grammar.evaluation import pairs_to_judge
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.tree_form import TreeForm
from fastlin.grammar.trees import Tree
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
R = TypeVar("R")
JOB_WORK = 30_000  # words³ of the sentences that are one job


class ParserState(Protocol):
    """What a parser has learnt."""

    @property
    def form(self) -> TreeForm: ...
    @property
    def rules(self) -> RuleTable: ...
    @property
    def rule_weights(self) -> tuple[Floats, Floats]:
        """Of binary rules and of unary ones."""

    @property
    def words(self) -> list[str]: ...
    @property
    def n_chart_symbols(self) -> int:
        """How many symbols a span of a chart has room for."""


S = TypeVar("S", bound=ParserState)


class Parses(list[Tree | None]):
    """Trees of sentences, and what is to be known of them.

    Attributes
    ----------
    log_joint : array
        log p(sentence, tree); −∞ where the tree is none of the grammar's.
    unparsed : list of int
        The places of sentences that have no tree, but a flat one; or None, without words.
    exact : array of bool
        Whether nothing was pruned, so that no other tree is better.
    """

    def __init__(self, found: Sequence[Decoded]) -> None:
        super().__init__(one.tree for one in found)
        self.log_joint = np.array([one.log_joint for one in found], np.float64)
        self.unparsed = [place for place, one in enumerate(found) if not one.found]
        self.exact = np.array([one.exact for one in found], bool)


class TreeParser(StatefulEstimator[S], ABC):
    """A parser that has learnt from trees."""

    unparsed: str
    max_memory: int
    n_jobs: int | None

    @property
    @abstractmethod
    def symbols_(self) -> list[str]:
        """The names of the symbols of rules."""

    @abstractmethod
    def _tree_form(self) -> TreeForm:
        """The form of trees that the next fit learns from."""

    @property
    @reads
    def n_rules_(self) -> int:
        rules = self._learnt.rules
        return len(rules.binary) + len(rules.unary)

    @property
    @reads
    def words_(self) -> list[str]:
        return list(self._learnt.words)

    @property
    @reads
    def rules_(self) -> list[tuple[str, tuple[str, ...], float]]:
        rules, (binary, unary), names = self._learnt.rules, self._learnt.rule_weights, self.symbols_
        found = [
            (names[a], tuple(names[child] for child in children), float(weight))
            for table, column in ((rules.binary, binary), (rules.unary, unary))
            for (a, *children), weight in zip(table.tolist(), column, strict=True)
        ]
        return sorted(found, key=lambda rule: (rule[0], -rule[2], rule[1]))

    @reads
    def score(self, trees: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """EVALB's F1, with COLLINS's settings, of the trees that are predicted of the words of these.

        Parameters
        ----------
        trees : list of trees, path or open file
        y : ignored

        Returns
        -------
        float
            F1 of labelled brackets, from 0 to 1.
        """
        return evalb(*pairs_to_judge(self, trees)).overall.f1

    def _cleaned_with(self, sentences: list[list[str]], trees: Any) -> list[Tree | None]:
        """The trees of sentences, as many as these."""
        cleaned = list(self._learnt.form.cleaned(trees))
        if len(sentences) != len(cleaned):
            raise ValueError(f"X has {len(sentences)} sentences and there are {len(cleaned)} trees")
        return cleaned

    def _each(
        self,
        sentences: list[list[str]],
        given: list[Given | None],
        make: Callable[[], Callable[[list[str], Given | None], R]],
        halves: int = 2,
    ) -> list[R]:
        """What a function of one thread's own makes of each sentence and what is given of it."""

        def of_places() -> Callable[[int], R]:
            decode = make()
            return lambda place: decode(sentences[place], given[place])

        return self._each_place(sentences, of_places, halves)

    def _each_place(
        self, sentences: list[list[str]], make: Callable[[], Callable[[int], R]], halves: int = 2
    ) -> list[R]:
        """What a function of one thread's own makes of the place of each sentence."""
        for words in sentences:
            check_size(len(words), self._learnt.n_chart_symbols, int(self.max_memory), halves)
        work = np.cumsum([0] + [1 + len(words) ** 3 for words in sentences])

        def parse(start: int, stop: int) -> list[R]:
            decode = make()
            return [decode(place) for place in range(start, stop)]

        with parallel.WorkerPool(self.n_jobs) as workers:
            results = workers.map(parse, parallel.split_by_length(work, JOB_WORK))
        return [result for block in results for result in block]

    def _report_unparsed(self, places: list[int], sentences: list[list[str]]) -> None:
        first = " ".join(sentences[places[0]])
        message = f"{len(places)} of {len(sentences)} sentences have no tree, the first is {places[0]}: {first[:60]!r}"
        if self.unparsed == "error":
            raise ValueError(message)
        empty = [place for place in places if not sentences[place]]
        told = "each has a flat one" + ", but for those without words" * bool(empty)
        if len(empty) == len(places):
            told = "they have no words"
        warnings.warn(f"{message}; {told}", UserWarning, stacklevel=4)


def as_sentences(X: Any) -> list[list[str]]:
    """Sentences as lists of words."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {X!r:.60}")
    sentences = []
    for place, sentence in enumerate(X):
        if isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
            raise TypeError(f"sentence {place} must be a string or a list of words, got {sentence!r:.60}")
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        if not all(isinstance(word, str) and word for word in words):
            wrong = next(word for word in words if not (isinstance(word, str) and word))
            raise TypeError(f"sentence {place} must be a string or a list of words, and holds {wrong!r:.40}")
        sentences.append(words)
    return sentences
