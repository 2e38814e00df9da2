"""What a model file holds of n-gram models, and of the parts of all language models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm import backoff as engine
from fastlin.engine.text.string_numbering import ROOM_BEHIND
from fastlin.lm.backoff import CODES, BackoffModel, CodedLogarithms
from fastlin.lm.counts import NgramCounts
from fastlin.lm.ngram import HIGHEST, ImportedState, NgramModel, NgramState
from fastlin.lm.quantization import coded
from fastlin.lm.sentences import DIRECTIONS, MARKUPS, SentenceReader
from fastlin.lm.smoothing import Estimate
from fastlin.lm.vocabulary import BEGIN_NAME, END_NAME, MARKS, WordVocabulary
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, or_unfitted, reject_unknown
from fastlin.storage.weight_packing import Packing

MOST_COUNTED = 2.0**62
SERVING = "it was saved for serving"

# --- vocabularies ------------------------------------------------------------------------------------------------


def take_vocabulary(vocabulary: WordVocabulary) -> State:
    return {"arena": vocabulary.arena, "offsets": vocabulary.offsets}


def give_vocabulary(state: Any) -> WordVocabulary:
    """Proved: strings that are all different, the marks of sentences the first of them."""
    reject_unknown(state, "arena", "offsets")
    arena, offsets = state["arena"], state["offsets"]
    if not (_is_vector(arena, np.uint8) and _is_vector(offsets, np.int64)) or len(offsets) < MARKS + 1:
        raise ValueError(f"arena must be a vector of uint8, offsets one of at least {MARKS + 1} int64")
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > len(arena) - ROOM_BEHIND:
        raise ValueError(f"offsets must rise from 0 to {ROOM_BEHIND} bytes before the end of arena")
    vocabulary = WordVocabulary(arena, offsets)
    if vocabulary.names[:2] != [BEGIN_NAME, END_NAME] or len(vocabulary.table) != len(vocabulary):
        raise ValueError("the words of a vocabulary must differ, and begin with the marks of sentences")
    return vocabulary


def _is_vector(array: Any, dtype: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == dtype


def take_reader(reader: SentenceReader) -> State:
    return {
        "unit": reader.unit,
        "direction": DIRECTIONS[reader.backward],
        "markup": MARKUPS[reader.keep_marks],
    }


# --- numbers -------------------------------------------------------------------------------------------------------


def take_logarithms(values: NDArray[np.float32], packing: Packing) -> State:
    """Logarithms as they are, or as halves."""
    packing.packed += 1
    packing.weights += len(values)
    if packing.dtype == "float16":
        return {"values": np.maximum(values, np.finfo(np.float16).min).astype(np.float16)}
    return {"values": values}


def _take_coded(logarithms: CodedLogarithms, packing: Packing) -> list[State]:
    """The values of each order, and which of them each n-gram has."""
    packing.packed += len(logarithms)
    packing.weights += sum(logarithms.sizes)
    return [
        {"values": values} if codes is None else {"values": values, "codes": codes}
        for values, codes in zip(logarithms.values, logarithms.codes, strict=True)
    ]


def _give_logarithms(state: Any) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
    reject_unknown(state, "values", "codes")
    values = state["values"]
    if not (_is_vector(values, np.float32) or _is_vector(values, np.float16)):
        raise ValueError("values of logarithms must be a vector of float32 or float16")
    values = values.astype(np.float32, copy=False)
    if "codes" not in state:
        return values, None
    codes = state["codes"]
    if not _is_vector(codes, np.uint8) or len(values) != CODES:
        raise ValueError(f"codes of logarithms must be a vector of uint8, and stand for {CODES} values")
    return values, codes


def _widened(state: Any) -> NDArray[np.float32]:
    values, codes = _give_logarithms(state)
    return values if codes is None else values[codes]


# --- models and counts -----------------------------------------------------------------------------------------------


def take_backoff_model(model: BackoffModel, packing: Packing) -> State:
    if packing.prune:
        raise ValueError("prune= is for weights; `prune` of a language model leaves out n-grams")
    if packing.dtype == "int8" and not isinstance(model.log_prob, CodedLogarithms):
        model = coded(model) or model
    if isinstance(model.log_prob, CodedLogarithms) and packing.dtype in (None, "int8"):
        log_prob = _take_coded(model.log_prob, packing)
    else:
        log_prob = [take_logarithms(values, packing) for values in model.log_prob]
    return {
        "vocabulary": take_vocabulary(model.vocabulary),
        "words": model.words,
        "starts": model.starts,
        "suffix": model.suffix,
        "log_prob": log_prob,
        "backoff": [take_logarithms(values, packing) for values in model.backoff],
    }


def give_backoff_model(state: Any) -> BackoffModel:
    """Proved: children in order, words, suffixes and logarithms in range."""
    reject_unknown(state, "vocabulary", "words", "starts", "suffix", "log_prob", "backoff")
    for name in ("words", "starts", "suffix"):
        _check_integers(state[name])
    found, backoff = [_give_logarithms(each) for each in state["log_prob"]], [_widened(e) for e in state["backoff"]]
    values, codes = [each[0] for each in found], [each[1] for each in found]
    if codes and codes[0] is not None:
        values[0], codes[0] = values[0][codes[0]], None
    log_prob = values if all(each is None for each in codes) else CodedLogarithms(values, codes)
    model = BackoffModel(
        give_vocabulary(state["vocabulary"]), state["words"], state["starts"], state["suffix"], log_prob, backoff
    )
    if not 1 <= model.order <= HIGHEST:
        raise ValueError(f"the order must be from 1 to {HIGHEST}, got {model.order}")
    model.check()
    return model


def _check_integers(arrays: Any) -> None:
    if type(arrays) is not list or not all(_is_vector(array, np.int32) for array in arrays):
        raise ValueError("words, starts and suffix must be lists of vectors of int32")


def _take_counts(counts: NgramCounts) -> State:
    return {"words": counts.words, "starts": counts.starts, "suffix": counts.suffix, "counts": counts.counts}


def _give_counts(state: Any, order: int, n_words: int) -> NgramCounts:
    reject_unknown(state, "words", "starts", "suffix", "counts")
    for name in ("words", "starts", "suffix"):
        _check_integers(state[name])
    counts = NgramCounts(**state)
    lists = (counts.words, counts.starts, counts.suffix, counts.counts)
    if type(counts.counts) is not list or {len(each) for each in lists} != {order} or counts.n_words != n_words:
        raise ValueError(f"counts must be those of {order} order(s) and {n_words} words")
    for n, found in enumerate(counts.counts):
        if not _is_vector(found, np.int64) or found.min(initial=0) < 0 or found.sum(dtype=float) > MOST_COUNTED:
            raise ValueError(f"counts must be vectors of int64 from 0 on, in all at most {MOST_COUNTED}")
        if n and not (
            len(counts.words[n]) == len(found)
            and engine.prove(counts.starts[n], counts.words[n], counts.suffix[n], len(counts.counts[n - 1]), n_words)
            and counts.suffix[n].min(initial=0) >= 0
        ):
            raise ValueError(f"{n + 1}-grams must be sorted by history and word, and end in n-grams that are there")
    return counts


# --- NgramModel ------------------------------------------------------------------------------------------------------


def _take_ngram_model(model: NgramModel, packing: Packing) -> State:
    learnt = model._learnt
    fitted = take_reader(learnt.reader)
    state: State = {"model": take_backoff_model(learnt.model, packing)}
    if isinstance(learnt, ImportedState) or packing.serving:
        why = learnt.why if isinstance(learnt, ImportedState) else SERVING
        return state | {"fitted_with": fitted, "why": why}
    smoothing = learnt.smoothing
    fitted |= {
        "order": learnt.counts.order,
        "smoothing": smoothing.name,
        "interpolate": smoothing.interpolate,
        "discount": smoothing.discount,
        "alpha": smoothing.alpha,
        "base_measure": smoothing.base_measure,
        "cutoff": list(smoothing.cutoffs),
        "min_count": learnt.min_count,
        "vocabulary": None if learnt.vocabulary is None else list(learnt.vocabulary),
        "unk": learnt.unk,
    }
    return state | {
        "fitted_with": fitted,
        "seen": take_vocabulary(learnt.seen),
        "counts": _take_counts(learnt.counts),
        "discounts": learnt.estimate.discounts,
    }


def _give_ngram_model(model: NgramModel, state: State, _: LoadContext) -> None:
    reject_unknown(state, "model", "fitted_with", "why", "seen", "counts", "discounts")
    found = give_backoff_model(state["model"])
    fitted = NgramModel(**state["fitted_with"])
    order, smoothing, reader = fitted._checked()
    if "counts" not in state:
        if not isinstance(state["why"], str):
            raise ValueError(f"why must be a string where there are no counts, got {state['why']!r:.60}")
        model._state_of_fit = ImportedState(found, reader, state["why"])
        return
    seen = give_vocabulary(state["seen"])
    counts = _give_counts(state["counts"], order, len(seen))
    discounts = state["discounts"]
    if type(discounts) is not list or not all(_is_vector(each, np.float64) for each in discounts):
        raise ValueError("discounts must be a list of vectors of float64")
    vocabulary = None if fitted.vocabulary is None else tuple(fitted.vocabulary)
    learnt = NgramState(seen, counts, smoothing, reader, fitted.min_count, vocabulary, fitted.unk)
    learnt.__dict__["estimate"] = Estimate(found, discounts)
    model._state_of_fit = learnt


CODECS = {"fastlin.lm.NgramModel": or_unfitted(ModelCodec(_take_ngram_model, _give_ngram_model))}
