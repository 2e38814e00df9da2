"""One sentence at a time: what a model of one moment needs to label it, bound once and kept with what was learnt."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain import chain as kernels
from fastlin.engine.chain.sentence_tagger import SentenceTagger
from fastlin.sequence.attributes import AttributeReader
from fastlin.sequence.chain import Chain
from fastlin.sequence.token_scores import LARGEST

MAX_TOKENS = 256  # of a sentence that is labelled so: the kernel holds Python's lock
Floats = NDArray[np.float64]
WordScores = Callable[[str], Floats]
Rows = tuple[Any, Any, Any]  # indptr, indices, values; None: all are 1


class FrozenWeights(NamedTuple):
    """What `SentenceTagger` takes of a model: weights, the chain, labels, arrays that users may write to.

    `unknown_words`: the scores of words that have no weights, where all tokens are words. `normalise`: what makes
    offsets of scores [n, K], which it may write to.
    """

    weights: Any
    chain: Chain
    labels: list[Any]
    watched: list[Floats]
    unknown_words: WordScores | None = None
    normalise: Callable[[Floats], Floats] | None = None


class FrozenTagger:
    """A tagger of one moment of a model, made of the objects `sources`: it holds as long as these are the model's.

    Any number of threads may use it: each takes a reader and a tagger of its own for a sentence.
    """

    def __init__(self, sources: tuple[Any, ...], frozen: FrozenWeights, names: Any, templates: Any) -> None:
        """`names`: the table and the number of features' names; or `templates`: what reads sentences."""
        self._sources, self._frozen, self._names, self._templates = sources, frozen, names, templates
        self._free = [self._workspace()]

    def fits(self, sources: tuple[Any, ...]) -> bool:
        """Whether it is made of these objects."""
        return all(map(operator.is_, self._sources, sources))

    def tag(self, sentence: list[Any]) -> list[Any] | None:
        """The labels of a sentence; None: there is something about it that must be looked at in detail."""
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = self._workspace()
        try:
            return self._tag(sentence, *workspace)
        finally:
            self._free.append(workspace)

    def _tag(self, sentence: list[Any], reader: AttributeReader | None, tagger: SentenceTagger) -> list[Any] | None:
        if not tagger.unchanged():
            return None
        if reader is None:
            rows = self._templates.read(sentence)
            if rows is None:
                return None
            (indptr, indices, values), n = rows, len(sentence)
        else:
            indptr, indices, values, n = reader.read(sentence)
        unknown = self._frozen.unknown_words
        if unknown is not None and set(map(type, sentence)) != {str}:
            return None
        if not tagger.score(indptr, indices, values, n):
            return None
        if unknown is not None:
            for t in range(n):
                if indptr[t + 1] == indptr[t]:
                    tagger.replace(t, unknown(sentence[t]))
        return tagger.decode() if self._frozen.normalise is None else self._best_normalised(tagger.scores())

    def _best_normalised(self, scores: Floats) -> list[Any] | None:
        """The labels of the best path where each token is normalised after each history."""
        n, chain, labels = len(scores), self._frozen.chain, self._frozen.labels
        if n == 0:
            return []
        assert self._frozen.normalise is not None, "it is asked for"
        given = chain.given(scores, None, self._frozen.normalise(scores))
        codes, value = np.empty(n, np.int32), np.empty(1)
        kernels.best_paths(chain.padded, *given, np.array([0, n]), 0, 1, codes, value)
        return None if value[0] == -np.inf else [labels[code] for code in codes.tolist()]

    def _workspace(self) -> tuple[AttributeReader | None, SentenceTagger]:
        frozen = self._frozen
        tagger = SentenceTagger(frozen.weights, frozen.chain.padded, frozen.labels, LARGEST**2, frozen.watched)
        return None if self._names is None else AttributeReader(*self._names), tagger
