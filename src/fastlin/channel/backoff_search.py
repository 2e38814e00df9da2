"""The best source of each sentence, by a back-off model: the beam search of `beam_search`, in the engine."""

import itertools
from typing import Any

import numpy as np

from fastlin.channel.beam_search import ObservedWords
from fastlin.channel.source import ModelSource, Source
from fastlin.engine.channel.word_lattice import MOST_BEAM, Lattice
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.base import sentence_sums
from fastlin.lm.vocabulary import BEGIN, END
from fastlin.runtime.parallel import split_by_length

PAIRS_OF_A_CALL = 1 << 22


def is_for(source: Source, beam: int | None, source_weight: float) -> bool:
    """Whether the engine knows such a search."""
    known = isinstance(source, ModelSource) and isinstance(source.word_model, BackoffModel)
    return known and beam is not None and beam <= MOST_BEAM and source_weight > 0


def best_paths(source: Any, tokens: ObservedWords, beam: Any, source_weight: float) -> list[tuple[float, list[str]]]:
    """(score, words) of the best path through each sentence; −∞: there is none."""
    model: BackoffModel = source.word_model
    starts, sources, channel = tokens.candidates
    numbers = source.keys(sources)
    lengths = np.array([len(row) for row in tokens.rows], np.int64)
    sentences = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.fromiter(itertools.chain.from_iterable(tokens.rows), np.int32, int(sentences[-1]))
    chosen = np.empty(len(flat), np.int32)
    lattice = Lattice(starts, numbers, channel)
    asked = np.concatenate([[0], np.cumsum(beam * np.diff(starts)[flat])])  # pairs of a state and a word
    for first, stop in split_by_length(asked[sentences], PAIRS_OF_A_CALL):
        inside = slice(sentences[first], sentences[stop])
        of_part = sentences[first : stop + 1] - sentences[first]
        lattice.decode(model.queries, of_part, flat[inside], source_weight, -np.inf, beam, chosen[inside])
    words = np.full(len(flat) + 2 * len(lengths), BEGIN, np.int32)
    ends = sentences[1:] + 2 * np.arange(len(lengths)) + 1
    words[ends] = END
    is_word = np.ones(len(words), bool)
    is_word[ends] = is_word[ends - lengths - 1] = False
    words[is_word] = numbers[chosen]
    scores = np.zeros(len(words))
    scores[is_word] = channel[chosen]
    totals = sentence_sums(words, scores + source_weight * model.token_log_prob(words)) if len(words) else np.empty(0)
    places = chosen.tolist()
    return [
        (total, [sources[place] for place in places[first:stop]])
        for total, first, stop in zip(totals.tolist(), sentences[:-1].tolist(), sentences[1:].tolist(), strict=True)
    ]
