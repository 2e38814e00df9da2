"""The words that a corrector knows: those of a language model that are words, the most probable first."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.letters import as_letters
from fastlin.channel.text_words import folded, is_word
from fastlin.engine.channel.deletes_index import DeletesIndex
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.base import LanguageModel
from fastlin.lm.ngram import ImportedState, NgramModel, NgramState
from fastlin.lm.sentences import SentenceReader
from fastlin.lm.vocabulary import MARKS, UNKNOWN, WordVocabulary, marks
from fastlin.runtime.made_once import FieldsOnly, made_once

MOST = 1e100  # times that a word was seen: sums of them are finite
PREFIX_LENGTH = 7  # letters of a word that the index of deletes looks at


@dataclass(frozen=True)
class Dictionary(FieldsOnly):
    """Words, folded, by falling probability, and what a language model calls them.

    Attributes
    ----------
    forms : list of str
        Several words of the model may have one form.
    numbers : ndarray of int32
        Of the words, in the model's vocabulary.
    log_prior : ndarray of float32
        ln p of each word without a context.
    """

    forms: list[str]
    numbers: NDArray[np.int32]
    log_prior: NDArray[np.float32]

    @classmethod
    def of(cls, names: Sequence[str], log_prob: NDArray[np.float64]) -> "Dictionary":
        """Of a model's vocabulary, marks first, and ln p of each of its words; those of probability 0 are none."""
        known = [folded(name) for name in names[MARKS:]]
        words = [place for place, form in enumerate(known, MARKS) if is_word(form) and log_prob[place] > -np.inf]
        numbers = np.array(words, np.int32)
        numbers = numbers[np.argsort(-log_prob[numbers], kind="stable")]
        return cls([known[n - MARKS] for n in numbers.tolist()], numbers, log_prob[numbers].astype(np.float32))

    def __len__(self) -> int:
        return len(self.forms)

    def index(self, max_edits: int) -> DeletesIndex:
        """What finds the words within some edits of others."""
        return DeletesIndex(*as_letters(self.forms), max_edits, PREFIX_LENGTH, secrets.randbits(64))

    @made_once
    def known(self) -> frozenset[str]:
        return frozenset(self.forms)


def unigrams_of(model: LanguageModel) -> NDArray[np.float64]:
    """ln p of every word of a model's vocabulary, without a context.

    Relative frequencies where there are counts: the unigrams of Kneser-Ney say how many words a word follows.
    """
    learnt = model.__dict__.get("_state_of_fit")
    with np.errstate(divide="ignore"):
        if isinstance(learnt, NgramState):
            counts = learnt.known[1].counts[0].astype(np.float64)
            counts[:UNKNOWN] = 0  # begins and ends of sentences
            counts[UNKNOWN] += 1
            return np.log(counts / counts.sum())
    words = model._word_model
    return np.concatenate([[-np.inf], np.minimum(words.next_word(words.state_after((), False)), 0.0)]).astype(
        np.float64
    )


def dictionary_model(words: Mapping[str, float] | Sequence[str]) -> NgramModel:
    """A language model of words that stand in no context, by their counts, or all alike."""
    counts = dict(words) if isinstance(words, Mapping) else dict.fromkeys(words, 1.0)
    if not counts:
        raise ValueError(f"source must hold words, got {words!r:.60}")
    names = marks("<unk>")
    for word, count in counts.items():
        if not isinstance(word, str) or not isinstance(count, Real) or not 0 < count <= MOST:
            raise ValueError(
                f"source must hold words with counts above 0, of at most {MOST:g}, got {word!r:.60}: {count!r:.60}"
            )
        if word in names:
            raise ValueError(f"source must hold words, got {word!r}, a mark of sentences")
    values = np.array([1e-300, 1.0, 1.0, *counts.values()], np.float64)
    log_prob = np.log(values) - np.log(values.sum())
    vocabulary = WordVocabulary.of([*names, *counts])
    empty = np.empty(0, np.int32)
    unigrams = BackoffModel(vocabulary, [empty], [empty], [empty], [np.minimum(log_prob, 0).astype(np.float32)], [])
    model = NgramModel(order=1)
    model._state_of_fit = ImportedState(unigrams, SentenceReader(), "it is a dictionary")
    return model
