"""Codecs of vectorisers and of transformers of text."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.storage.fields import between, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing
from fastlin.text.fitted_vocabulary import FittedVocabulary, checked_vocabulary
from fastlin.text.hashing_vectorizer import KeptNames
from fastlin.text.templates.seen_features import TemplateIndex
from fastlin.text.tfidf_transformer import DocumentFrequencies, TfidfTransformer
from fastlin.text.vocabulary import DictVocabulary, NativeVocabulary
from fastlin.validation import MAX_ABS_VALUE

TABLE = 8  # times the bytes of terms: what looks them up
NODES = ("prefix", "last", "arena", "offsets")


# Terms


def _terms_to_state(terms: Any) -> State:
    if isinstance(terms, NativeVocabulary):
        arrays = dict(zip(NODES, terms.vocabulary.arrays(), strict=True))
        return arrays | {"stop_words": np.array(sorted(terms.stop_words), object)}
    return {"terms": np.array(list(terms.numbers), object)}


def _terms(model: Any, state: State, context: LoadContext) -> NativeVocabulary | DictVocabulary:
    """The terms as they were, for the model's parameters."""
    model._checked_stop_words = model.stop_words  # when it was fitted
    spec = model._tokenizer_spec()
    if spec is not None and spec.token.pattern is not None and "terms" in state:
        spec = None  # of a version whose engine had no automata: see `_in_engine`
    if (spec is None) != ("terms" in state):
        raise ValueError(
            "terms must be strings of the engine if the parameters need no Python to find them, otherwise a list"
        )
    if spec is None:
        python = DictVocabulary()
        if len(np.unique(python.add(state["terms"].tolist()))) < len(state["terms"]):
            raise ValueError("terms must all differ, one is there twice")
        return python
    prefix, last, arena, offsets = (state[name] for name in NODES)
    context.take(TABLE * sum(state[name].nbytes for name in NODES), "its table of terms")
    _prove_text(arena, offsets)
    _prove_lengths(prefix, spec.ngrams[1])
    stop_words = state["stop_words"].tolist()
    terms = NativeVocabulary(spec, frozenset(stop_words))
    ignored = terms.ignored
    terms.__setstate__(
        {"spec": spec, "stop_words": terms.stop_words, "ignored": ignored, "arrays": (prefix, last, arena, offsets)}
    )
    if terms.names(np.arange(ignored, dtype=np.int32)).tolist() != stop_words:
        raise ValueError("stop_words must be the first of the terms")
    return terms


def _prove_text(arena: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """Every string is UTF-8: all of them together are, and none begins inside of a character."""
    arena[: int(offsets[-1])].tobytes().decode("utf-8", "surrogatepass")
    starts = offsets[:-1][offsets[:-1] < len(arena)]
    if (starts < 0).any() or ((arena[starts] & 0xC0) == 0x80).any():
        raise ValueError("offsets must lie between characters of the UTF-8 in arena")


def _prove_lengths(prefix: NDArray[np.int32], longest: int) -> None:
    """No n-gram has more words than the parameters say."""
    if not ((prefix >= -1) & (prefix < np.arange(len(prefix)))).all():
        raise ValueError("prefix must hold -1, or the number of an earlier term, for each term")
    shorter = prefix
    for _ in range(longest):
        shorter = shorter[shorter >= 0]
        if not len(shorter):
            return
        shorter = prefix[shorter]
    raise ValueError(f"prefix must make n-grams of at most {longest} words, as ngram_range says")


# Counting vectorisers


def _counts_to_state(model: Any, _: Packing) -> State:
    if not hasattr(model, "_terms"):
        return {}
    learned = model._matching(model._terms)
    state = {"n_documents": learned.n_documents, "fixed": getattr(model, "fixed_vocabulary_", None)}
    if learned.given is None:
        return state | {"columns": learned.columns, "rows": learned.rows, "terms": _terms_to_state(learned.terms)}
    own = model.vocabulary is not None and checked_vocabulary(model.vocabulary) == learned.given
    return state | {"given": None if own else learned.given, "frequencies": learned.frequencies}


def _counts_from_state(model: Any, state: State, context: LoadContext) -> None:
    if not state:
        return
    n_documents, fixed = state.pop("n_documents"), state.pop("fixed")
    if type(n_documents) is not int or n_documents < 0 or fixed not in (True, False, None):
        raise ValueError(
            f"n_documents must be a whole number from 0 on and fixed True, False or None, got {n_documents!r:.40}"
        )
    if "given" in state:
        model._checked_stop_words = model.stop_words
        learned = FittedVocabulary.of(model._new_terms(), checked_vocabulary(state.pop("given") or model.vocabulary))
        frequencies = state.pop("frequencies")
        if frequencies is not None:
            _prove_frequencies(frequencies, learned.n_columns, n_documents)
        learned.n_documents, learned.frequencies = n_documents, frequencies
    else:
        terms, columns, rows = _terms(model, state.pop("terms"), context), state.pop("columns"), state.pop("rows")
        _prove_frequencies(rows, len(terms), n_documents)
        n_columns = _proved_columns(columns, len(terms))
        if isinstance(terms, DictVocabulary) and model._tokenizer_spec() is not None:
            terms, columns, rows = _in_engine(model, terms, columns, rows)
        learned = FittedVocabulary(terms, columns, rows, n_columns, n_documents)
    reject_unknown(state)
    model._terms = learned
    if fixed is not None:  # it was fitted, and no vocabulary set
        model.fixed_vocabulary_ = fixed


def _in_engine(
    model: Any, terms: DictVocabulary, columns: NDArray[np.int32], rows: NDArray[np.int64]
) -> tuple[NativeVocabulary, NDArray[np.int32], NDArray[np.int64]]:
    """Terms that Python found, their columns and how many documents had them, as the engine finds them now."""
    found = model._new_terms()
    nodes = found.add(list(terms.numbers))
    if (nodes < 0).any():
        term = list(terms.numbers)[int(np.argmin(nodes))]
        raise ValueError(f"terms must be what token_pattern and ngram_range find, {term!r:.50} is not")
    own_columns, own_rows = np.full(len(found), -1, np.int32), np.zeros(len(found), np.int64)
    own_columns[nodes], own_rows[nodes] = columns, rows
    return found, own_columns, own_rows


def _prove_frequencies(rows: NDArray[np.int64], n: int, n_documents: int) -> None:
    proved(rows, "document frequencies", np.int64, (n,), between(0, n_documents))


def _proved_columns(columns: NDArray[np.int32], n: int) -> int:
    """How many columns there are, each of one term."""
    proved(columns, "columns", np.int32, (n,))
    known = columns[columns != -1]
    if not np.array_equal(np.sort(known), np.arange(len(known))):
        raise ValueError("columns must hold 0, 1, … once each, and -1 for terms without a column")
    return len(known)


def _tfidf_vectorizer_to_state(model: Any, packing: Packing) -> State:
    state = {"counts": _counts_to_state(model, packing)}
    return state | {"tfidf": model._tfidf} if hasattr(model, "_tfidf") else state


def _tfidf_vectorizer_from_state(model: Any, state: State, context: LoadContext) -> None:
    tfidf = state.pop("tfidf", None)
    _counts_from_state(model, state.pop("counts"), context)
    reject_unknown(state)
    if tfidf is not None:
        if not isinstance(tfidf, TfidfTransformer):
            raise ValueError(f"tfidf must be a TfidfTransformer, got {type(tfidf).__name__}")
        if hasattr(model, "_terms") and _width(tfidf) not in (None, model._terms.n_columns):
            raise ValueError(
                f"tfidf must have {model._terms.n_columns} weights, one for each column, got {_width(tfidf)}"
            )
        model._tfidf = tfidf


# TF-IDF


def _tfidf_to_state(model: Any, _: Packing) -> State:
    frequencies = getattr(model, "_frequencies", None)
    if frequencies is None:
        return {"_idf": model._idf} if hasattr(model, "_idf") else {}
    counts = {"_n_documents": frequencies.n_documents, "_dtype": frequencies.dtype}
    idf = frequencies.made if model._idf is None else model._idf
    return {"_idf": idf, "_documents": frequencies.documents} | counts


def _tfidf_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    idf, documents = state.pop("_idf", None), state.pop("_documents", None)
    n_documents, dtype = state.pop("_n_documents", None), state.pop("_dtype", None)
    reject_unknown(state)
    model._idf, model._frequencies = None, None
    if idf is not None:
        model.idf_ = idf
    if n_documents is not None and (type(n_documents) is not int or dtype not in MAX_ABS_VALUE):
        raise ValueError(f"_n_documents must be a whole number and _dtype float32 or float64, got {n_documents!r:.40}")
    if documents is not None:
        if n_documents is None:
            raise ValueError("_documents needs _n_documents, which is missing")
        _prove_frequencies(documents, len(documents), n_documents)
        if idf is not None and len(idf) != len(documents):
            raise ValueError(f"_idf must have {len(documents)} values, one for each of _documents, got {len(idf)}")
        model._frequencies = DocumentFrequencies(documents, n_documents, dtype)
    width = _width(model)
    if hasattr(model, "n_features_in_"):
        model._n_columns = model.n_features_in_
        if width not in (None, model._n_columns):
            raise ValueError(f"_idf and _documents must have n_features_in_={model._n_columns} values, got {width}")


def _width(tfidf: Any) -> int | None:
    """How many columns have weights; None: there are none."""
    frequencies = tfidf._frequencies
    arrays = (tfidf._idf, None if frequencies is None else frequencies.documents)
    return next((len(array) for array in arrays if array is not None), None)


# Hashing


def _hashing_to_state(model: Any, _: Packing) -> State:
    kept = getattr(model, "_kept", None)
    return {} if kept is None else {"terms": _terms_to_state(kept.terms), "rows": kept.rows}


def _hashing_from_state(model: Any, state: State, context: LoadContext) -> None:
    if state:
        terms, rows = _terms(model, state.pop("terms"), context), state.pop("rows")
        reject_unknown(state)
        _prove_frequencies(rows, len(terms), 2**62)
        model._kept = KeptNames(terms, rows)


# Templates


def _templates_to_state(model: Any, _: Packing) -> State:
    if not hasattr(model, "_index"):
        return {}
    if model._index.program != model._program():
        raise ValueError("the parameters of Templates have changed since it was fitted: fit it again")
    return model._index.state()


def _templates_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001 - everything is numbered again
    if state:
        reject_unknown(state, "words", "strings", "pairs", "columns", "counts")
        model._index = TemplateIndex.restored(model._program(), state)


CODECS = {
    "fastlin.CountVectorizer": ModelCodec(_counts_to_state, _counts_from_state),
    "fastlin.HashingVectorizer": ModelCodec(_hashing_to_state, _hashing_from_state),
    "fastlin.TfidfTransformer": ModelCodec(_tfidf_to_state, _tfidf_from_state),
    "fastlin.TfidfVectorizer": ModelCodec(_tfidf_vectorizer_to_state, _tfidf_vectorizer_from_state),
    "fastlin.text.templates.Templates": ModelCodec(_templates_to_state, _templates_from_state),
}
