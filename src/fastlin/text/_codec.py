"""What a model file holds of each vectoriser and transformer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.features.conjunction_tree import ConjunctionHashing, ConjunctionTree
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, attributes, reject_unknown
from fastlin.storage.parameters import (
    ABSENT,
    DTYPE,
    FLAG,
    JOBS,
    LABEL_WEIGHTS,
    NUMBERS,
    PLAIN,
    STRINGS,
    TEXT,
    WORD,
    Kind,
    ParameterTable,
    whole,
)
from fastlin.storage.sklearn_codecs import COUNTING, DECODE_ERRORS, DICTS, HASHED_TEXTS, IDF, OF_SAMPLES, SHARE
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing
from fastlin.text.fitted_vocabulary import FittedVocabulary, checked_vocabulary
from fastlin.text.hashing_vectorizer import KeptNames
from fastlin.text.templates.index import TemplateIndex
from fastlin.text.tfidf_transformer import DocumentFrequencies, TfidfTransformer
from fastlin.text.vocabulary import DictVocabulary, NativeVocabulary
from fastlin.validation import MAX_ABS_VALUE, MAX_COLUMNS

FIELDS = {"hashing": ("depth", "powers", "groups", "n_buckets", "signs"), "tree": ("starts", "columns", "skip")}
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
        learned = FittedVocabulary(terms, columns, rows, _proved_columns(columns, len(terms)), n_documents)
    reject_unknown(state)
    model._terms = learned
    if fixed is not None:  # it was fitted, and no vocabulary set
        model.fixed_vocabulary_ = fixed


def _prove_frequencies(rows: NDArray[np.int64], n: int, n_documents: int) -> None:
    if rows.dtype != np.int64 or rows.shape != (n,) or not ((rows >= 0) & (rows <= n_documents)).all():
        raise ValueError(f"document frequencies must be {n} of int64, from 0 to the number of documents")


def _proved_columns(columns: NDArray[np.int32], n: int) -> int:
    """How many columns there are, each of one term."""
    if columns.dtype != np.int32 or columns.shape != (n,):
        raise ValueError(
            f"columns must be int32, one for each of the {n} terms; got {columns.dtype}, shape {columns.shape}"
        )
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


# Dicts


def _dicts_to_state(model: Any, _: Packing) -> State:
    return {"vocabulary_": model.vocabulary_} if hasattr(model, "vocabulary_") else {}


def _dicts_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    if state:
        vocabulary = state.pop("vocabulary_")
        reject_unknown(state)
        if set(map(type, vocabulary.values())) - {int} or sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise ValueError("vocabulary_ must give the columns 0, 1, … to its names, each once")
        model.vocabulary_, model.feature_names_ = vocabulary, sorted(vocabulary, key=vocabulary.__getitem__)


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


# Conjunctions


def _conjunctions_to_state(model: Any, _: Packing) -> State:
    if not hasattr(model, "_finder"):
        return {}
    finder = model._finder
    kind = "hashing" if isinstance(finder, ConjunctionHashing) else "tree"
    return {"rank": model._rank, kind: {name: getattr(finder, name) for name in FIELDS[kind]}}


def _conjunctions_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    if not state:
        return
    rank = state.pop("rank")
    kept = rank[rank >= 0]
    if rank.dtype != np.int32 or rank.ndim != 1 or (rank < -1).any():
        raise ValueError(f"rank must be a vector of int32 from -1 on, got {rank.dtype}, shape {rank.shape}")
    if "hashing" in state:
        model._finder, width = _hashing(state.pop("hashing"), len(rank))
        if not np.array_equal(kept, np.flatnonzero(rank >= 0)):
            raise ValueError("rank must hold the number of each column, or -1, where conjunctions are hashed")
    else:
        model._finder, width = _tree(state.pop("tree"), len(kept))
        if not np.array_equal(kept, np.arange(len(kept))):
            raise ValueError("rank must number the columns that conjunctions are made of from 0 on")
    reject_unknown(state)
    model._rank, model.n_features_in_ = rank, len(rank)
    model.n_output_features_ = width + (len(rank) if model.include_original else 0)


def _hashing(fields: State, n_columns: int) -> tuple[ConjunctionHashing, int]:
    finder = ConjunctionHashing(**fields)
    if type(finder.depth) is not int or type(finder.n_buckets) is not int or finder.depth not in (2, 3):
        raise ValueError(f"depth must be 2 or 3 and n_buckets a whole number, got {finder.depth!r:.40}")
    if not 1 <= finder.n_buckets <= MAX_COLUMNS or finder.groups.dtype != np.uint64:
        raise ValueError(
            f"n_buckets must be from 1 to {MAX_COLUMNS}, groups uint64; got {finder.n_buckets}, {finder.groups.dtype}"
        )
    if finder.groups.shape not in ((0,), (n_columns,)) or {type(finder.powers), type(finder.signs)} != {bool}:
        raise ValueError(f"groups must be empty or of shape {(n_columns,)}; powers and signs True or False")
    return finder, finder.n_buckets


def _tree(fields: State, n_columns: int) -> tuple[ConjunctionTree, int]:
    finder, n = ConjunctionTree(**fields), n_columns
    if finder.skip not in (0, 1) or len(finder.starts) not in (1, 2) or len(finder.columns) != len(finder.starts):
        raise ValueError("skip must be 0 or 1, starts and columns one or two arrays each")
    for starts, columns in zip(finder.starts, finder.columns, strict=True):
        if starts.dtype != np.int64 or columns.dtype != np.int32 or starts.shape != (n + 1,) or columns.ndim != 1:
            raise ValueError(f"starts must be int64 of shape {(n + 1,)} and columns a vector of int32")
        if starts[0] != 0 or starts[-1] != len(columns) or (starts[1:] < starts[:-1]).any():
            raise ValueError("starts must rise from 0 to the number of columns")
        rises = np.diff(columns) > 0
        rises[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(columns))] - 1] = True
        if not rises.all() or not ((columns >= 0) & (columns < n_columns)).all():
            raise ValueError(f"columns must rise within each conjunction, from 0 to {n_columns - 1}")
        n = len(columns)
    return finder, sum(map(len, finder.columns))


# Functions of columns


def _elementwise_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    reject_unknown(state)
    if hasattr(model, "n_features_in_"):
        model._n_columns = model.n_features_in_


# Log-count ratios


def _ratio_from_state(model: Any, state: State, context: LoadContext) -> None:
    if state:
        classes, ratio = proved_labels(state["classes_"]), state["log_ratio_"]
        rows = 1 if len(classes) == 2 else len(classes)
        if ratio.dtype != np.float64 or ratio.ndim != 2 or len(ratio) != rows or not np.isfinite(ratio).all():
            raise ValueError(
                f"log_ratio_ must be finite float64 of {rows} row(s) for {len(classes)} labels, got shape {ratio.shape}"
            )
        model.n_features_in_ = ratio.shape[1]
    _RATIO.from_state(model, state, context)


# Parameters

_LENGTHS = whole(1) | Kind(
    lambda value: isinstance(value, tuple | list) and all(map(whole(1).allows, value)), "lengths from 1"
)
_MORE_WORDS = {"negation": FLAG, "prefixes": _LENGTHS | ABSENT, "suffixes": _LENGTHS | ABSENT, "n_jobs": JOBS}
PARAMETERS: dict[str, ParameterTable] = {
    "fastlin.Conjunctions": {
        "degree": whole(2, 3), "groups": PLAIN, "interaction_only": FLAG, "include_original": FLAG, "min_df": SHARE,
        "n_features": whole(1, MAX_COLUMNS) | ABSENT, "alternate_sign": FLAG, "sparse_output": FLAG,
    },
    "fastlin.CountVectorizer": COUNTING | _MORE_WORDS,
    "fastlin.DictVectorizer": DICTS,
    "fastlin.DocumentFeatures": {
        "features": STRINGS | ABSENT, "log": FLAG, "dtype": DTYPE, "encoding": WORD, "sparse_output": FLAG,
        "decode_error": DECODE_ERRORS,
    },
    "fastlin.Elementwise": {"functions": STRINGS, "sparse_output": FLAG},
    "fastlin.FeatureHasher": OF_SAMPLES,
    "fastlin.HashingVectorizer": HASHED_TEXTS | _MORE_WORDS | {"keep_names": whole(0)},
    "fastlin.LogCountRatio": {"alpha": NUMBERS, "binary": FLAG, "n_jobs": JOBS, "sparse_output": FLAG},
    "fastlin.TfidfTransformer": IDF | {"n_jobs": JOBS},
    "fastlin.TfidfVectorizer": COUNTING | _MORE_WORDS | IDF,
    "fastlin.text.templates.Templates": {
        "templates": PLAIN, "padding": TEXT | ABSENT, "gazetteers": LABEL_WEIGHTS | ABSENT,
    },
}  # fmt: skip

_NOTHING = attributes()
_RATIO = attributes("classes_", "log_ratio_")
CODECS = {
    "fastlin.Conjunctions": ModelCodec(_conjunctions_to_state, _conjunctions_from_state),
    "fastlin.CountVectorizer": ModelCodec(_counts_to_state, _counts_from_state),
    "fastlin.DictVectorizer": ModelCodec(_dicts_to_state, _dicts_from_state),
    "fastlin.DocumentFeatures": _NOTHING,
    "fastlin.Elementwise": ModelCodec(_NOTHING.to_state, _elementwise_from_state),
    "fastlin.FeatureHasher": _NOTHING,
    "fastlin.HashingVectorizer": ModelCodec(_hashing_to_state, _hashing_from_state),
    "fastlin.LogCountRatio": ModelCodec(_RATIO.to_state, _ratio_from_state),
    "fastlin.TfidfTransformer": ModelCodec(_tfidf_to_state, _tfidf_from_state),
    "fastlin.TfidfVectorizer": ModelCodec(_tfidf_vectorizer_to_state, _tfidf_vectorizer_from_state),
    "fastlin.text.templates.Templates": ModelCodec(_templates_to_state, _templates_from_state),
}
