"""What a model file holds of a `LexicalChannel`."""

from typing import Any

import numpy as np

from fastlin.channel.lexical_channel import LexicalChannel
from fastlin.channel.lexical_model import LexicalModel, WordTable
from fastlin.channel.sentence_pairs import MOST_PLACES
from fastlin.channel.word_alignment import (
    STEEPEST,
    Alignment,
    DiagonalAlignment,
    Shapes,
    TabulatedAlignment,
    UniformAlignment,
)
from fastlin.core._codec import EM_REPORT, report_from_state, report_to_state
from fastlin.lm._ngram_codec import give_vocabulary, take_vocabulary
from fastlin.lm.sentences import MARKUPS, SentenceReader
from fastlin.lm.vocabulary import MARKS, UNKNOWN
from fastlin.storage.fields import between, proved, rising_to
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, or_unfitted, reject_unknown
from fastlin.storage.weight_packing import Packing

ROUNDING = 1e-6  # of sums of probabilities
TABLE = "starts", "words", "t", "rest"
PROBABILITIES = between(0, 1)


def _take(model: LexicalChannel, packing: Packing) -> State:
    if packing.serving:
        raise ValueError("a LexicalChannel is saved as it is: dtype and prune are for weights")
    learnt = model._learnt
    return report_to_state(model, packing, *EM_REPORT) | {
        "source": take_vocabulary(learnt.source),
        "observed": take_vocabulary(learnt.observed),
        "table": {name: getattr(learnt.table, name) for name in TABLE},
        "alignment": _take_alignment(learnt.alignment),
        "markup": MARKUPS[learnt.reader.keep_marks],
        "null": learnt.null,
        "ratio": learnt.ratio,
        "counts": learnt.counts,
    }


def _give(model: LexicalChannel, state: State, _: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    reject_unknown(state, "source", "observed", "table", "alignment", "markup", "null", "ratio", "counts")
    source, observed = give_vocabulary(state["source"]), give_vocabulary(state["observed"])
    null, ratio = state["null"], state["ratio"]
    if type(null) is not bool or type(ratio) is not float or not 0 < ratio < np.inf:
        raise ValueError(f"null must be true or false and ratio a number above 0, got {null!r:.60} and {ratio!r:.60}")
    if state["markup"] not in MARKUPS:
        raise ValueError(f"markup must be {' or '.join(MARKUPS)}, got {state['markup']!r:.60}")
    reader = SentenceReader(keep_marks=state["markup"] == MARKUPS[1])
    counts = proved(state["counts"], "counts", np.int64, (len(source),), between(0, 2.0**62))
    table = _give_table(state["table"], len(source), len(observed))
    alignment = _give_alignment(state["alignment"], null)
    model._state_of_fit = LexicalModel(source, observed, table, alignment, reader, null, ratio, counts)


def _give_table(state: Any, n_source: int, n_observed: int) -> WordTable:
    """Proved: rows in order, whose probabilities sum to one with those of the words that are not in them."""
    reject_unknown(state, *TABLE)
    words = proved(state["words"], "words", np.int32, (None,), between(UNKNOWN, n_observed - 1))
    starts = proved(state["starts"], "starts", np.int64, (n_source + 1,), rising_to(len(words)))
    t = proved(state["t"], "t", np.float64, words.shape, PROBABILITIES)
    rest = proved(state["rest"], "rest", np.float64, (n_source,), PROBABILITIES)
    rising = np.diff(words) > 0
    ends = starts[1:-1]
    rising[ends[(ends > 0) & (ends < len(words))] - 1] = True
    if not rising.all():
        raise ValueError("words must rise within each row")
    lengths = np.diff(starts)
    sums = np.bincount(np.repeat(np.arange(n_source), lengths), t, n_source)
    sums += (n_observed - MARKS + 1 - lengths) * rest
    if abs(sums - 1).max() > ROUNDING:
        raise ValueError("t must sum to 1 for each source word, with rest of the words that were not beside it")
    return WordTable(starts, words, t, rest)


def _take_alignment(alignment: Alignment) -> State:
    match alignment:
        case TabulatedAlignment(shapes, values):
            return {"n": shapes.n, "m": shapes.m, "values": values}
        case DiagonalAlignment(_, tension, p_null):
            return {"tension": tension, "p_null": p_null}
        case _:
            return {}


def _give_alignment(state: Any, null: bool) -> Alignment:
    if not state:
        return UniformAlignment()
    if "tension" in state:
        reject_unknown(state, "tension", "p_null")
        tension, p_null = state["tension"], state["p_null"]
        if (
            type(tension) is not float
            or type(p_null) is not float
            or not (0 <= tension <= STEEPEST and 0 <= p_null <= 1)
        ):
            raise ValueError(
                f"tension must be from 0 to {STEEPEST:g} and p_null from 0 to 1, got {tension!r}, {p_null!r}"
            )
        return DiagonalAlignment(null, tension, p_null)
    reject_unknown(state, "n", "m", "values")
    n = proved(state["n"], "n", np.int64, (None,), between(0, MOST_PLACES))
    m = proved(state["m"], "m", np.int64, n.shape, between(0, MOST_PLACES))
    rises = (np.diff(n) > 0) | ((np.diff(n) == 0) & (np.diff(m) > 0))
    if (n * m > MOST_PLACES).any() or not rises.all():
        raise ValueError(f"n and m must rise, and have products of at most {MOST_PLACES}")
    shapes = Shapes(n, m, null)
    values = proved(state["values"], "values", np.float64, (shapes.size,), PROBABILITIES)
    if (abs(shapes.column_sums(values) - 1) > ROUNDING).any():
        raise ValueError("values must sum to 1 for each observed position")
    return TabulatedAlignment(shapes, values)


CODECS = {"fastlin.channel.LexicalChannel": or_unfitted(ModelCodec(_take, _give))}
