"""What a model file holds of each language model but back-off models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from fastlin.core._codec import EM_REPORT, report_from_state, report_to_state
from fastlin.lm._ngram_codec import (
    give_backoff_model,
    give_vocabulary,
    take_backoff_model,
    take_reader,
    take_vocabulary,
)
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.base import LanguageModel
from fastlin.lm.class_bigram import WIDTH, AggregateModel, ClassBigramModel, ClassBigramState
from fastlin.lm.classifier import BayesState, LanguageModelClassifier
from fastlin.lm.interpolation import Interpolation, are_models
from fastlin.lm.maxent import MaxentLM, MaxentState
from fastlin.lm.maxent_objective import LARGEST_SCORE
from fastlin.lm.model_m import ModelM
from fastlin.lm.ngram import HIGHEST
from fastlin.lm.sentences import DIRECTIONS, MARKUPS, UNITS, SentenceReader
from fastlin.lm.skip_grams import MOST_ROWS, Pairs, SkipGramModel
from fastlin.lm.word_classes import ClassState, WordClasses
from fastlin.storage.fields import Law, between, proved, rising_to, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, or_unfitted, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing

ROUNDING = 1e-6  # of sums of probabilities
BELOW_INFINITY = Law(lambda array: bool((array < np.inf).all()), "numbers, or −∞")

# --- parts -----------------------------------------------------------------------------------------------------------


def _give_reader(state: Any) -> SentenceReader:
    reject_unknown(state, "unit", "direction", "markup")
    unit, direction, markup = state["unit"], state["direction"], state["markup"]
    if unit not in UNITS or direction not in DIRECTIONS or markup not in MARKUPS:
        raise ValueError(f"reader must have a unit, a direction and a markup that there are, got {state!r:.100}")
    return SentenceReader(unit, direction == DIRECTIONS[1], markup == MARKUPS[1])


def _refuse_serving(model: Any, packing: Packing) -> None:
    if packing.serving:
        raise ValueError(f"a {type(model).__name__} is saved as it is: dtype and prune are for weights")


def _floats(array: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """An array of numbers of a shape; −∞ is one, NaN is none."""
    return np.ascontiguousarray(proved(array, name, np.float64, shape, BELOW_INFINITY))


def _sorted(array: Any, below: int, name: str) -> NDArray[np.int64]:
    """Keys that rise, from 0 on."""
    return proved(array, name, np.int64, (None,), sorted_below(below))


def _classes(array: Any, n_words: int) -> NDArray[np.int32]:
    """A class for each word; each class has one."""
    return proved(array, "classes", np.int32, (n_words,), between(0, n_words - 1))


# --- maximum entropy -------------------------------------------------------------------------------------------------

MAXENT_REPORT = ("tuning_", "prior_variance_")


def _take_maxent(model: MaxentLM, packing: Packing) -> State:
    learnt = model._learnt
    state = report_to_state(model, packing, *MAXENT_REPORT) | {"reader": take_reader(learnt.reader)}
    if isinstance(learnt.model, BackoffModel):
        state["model"] = take_backoff_model(learnt.model, packing)
    elif isinstance(learnt.model, SkipGramModel):
        _refuse_serving(model, packing)
        state["skip_grams"] = _take_skip_grams(learnt.model, packing)
    else:
        _refuse_serving(model, packing)
        state["model_m"] = _take_model_m(learnt.model)  # type: ignore[arg-type]
    if packing.serving or not hasattr(model, "weights_"):  # which files for serving do without
        return state
    return state | {"weights": model.weights_}


def _give_maxent(model: MaxentLM, state: State, _: LoadContext) -> None:
    report_from_state(model, state, *MAXENT_REPORT)
    reader, weights = _give_reader(state.pop("reader")), state.pop("weights", None)
    reject_unknown(state, *GIVERS)
    if len(state) != 1:
        raise ValueError(f"there must be one of {', '.join(GIVERS)}, got {', '.join(state) or 'none'}")
    ((kind, given),) = state.items()
    found = GIVERS[kind](given)
    if weights is not None:
        if type(weights) is not list or not all(isinstance(each, np.ndarray) and each.ndim == 1 for each in weights):
            raise ValueError("weights must be a list of vectors")
        model.weights_ = [_floats(each, each.shape, "weights") for each in weights]
    model._state_of_fit = MaxentState(found, reader)


def _take_skip_grams(model: SkipGramModel, packing: Packing) -> State:
    return {
        "ngrams": take_backoff_model(model.ngrams, packing),
        "n_distances": model.pairs.n_distances,
        "pairs": [model.pairs.starts, model.pairs.words, model.weights],
    }


def _give_skip_grams(state: Any) -> SkipGramModel:
    """Proved: n-grams without lost suffixes, pairs in order, weights in range."""
    reject_unknown(state, "ngrams", "n_distances", "pairs")
    ngrams, n_distances = give_backoff_model(state["ngrams"]), state["n_distances"]
    if ngrams.order == 1 or any((suffix < 0).any() for suffix in ngrams.suffix[1:]):
        raise ValueError("n-grams beside skip-grams must be of order 2 or more, and end in n-grams that are there")
    V = ngrams.n_words
    if type(n_distances) is not int or not 1 <= n_distances <= min(HIGHEST - 2, MOST_ROWS // V):
        raise ValueError(f"n_distances must be a whole number from 1 to {HIGHEST - 2}, got {n_distances!r:.60}")
    starts, words, weights = _csr(state["pairs"], n_distances * V, V, "skip-grams", "words")
    pairs = Pairs(V, n_distances, starts, words)
    if words.min(initial=1) < 1 or (np.diff(pairs.keys) <= 0).any():
        raise ValueError("words of skip-grams must rise in each row, and be none that begins a sentence")
    if not (np.abs(weights) <= LARGEST_SCORE).all():
        raise ValueError(f"weights of skip-grams must be at most {LARGEST_SCORE:g} in size")
    return SkipGramModel(ngrams, pairs, weights)


MODEL_M_ARRAYS = ("gram_keys", "scores", "group_keys", "log_z", "row_keys", "rows", "last_rows")


def _take_model_m(model: ModelM) -> State:
    state: State = {name: getattr(model, name) for name in MODEL_M_ARRAYS}
    state |= {"vocabulary": take_vocabulary(model.vocabulary), "classes": model.classes, "order": model.order}
    return state | {"word_weights": list(model.word_weights), "pair_weights": list(model.pair_weights)}


def _give_model_m(state: Any) -> ModelM:
    reject_unknown(state, "vocabulary", "classes", "order", "word_weights", "pair_weights", *MODEL_M_ARRAYS)
    vocabulary, order = give_vocabulary(state["vocabulary"]), state["order"]
    V = len(vocabulary)
    classes = _classes(state["classes"], V)
    K = int(classes.max()) + 1
    lists = [state[name] for name in ("gram_keys", "scores", "group_keys", "log_z")]
    if type(order) is not int or not 2 <= order <= HIGHEST or {type(x) for x in lists} != {list}:
        raise ValueError(f"order must be from 2 to {HIGHEST}, and {', '.join(MODEL_M_ARRAYS[:4])} lists")
    if any(len(each) != order for each in lists):
        raise ValueError(f"order must be the length of {', '.join(MODEL_M_ARRAYS[:4])}, got {order}")
    grams, scores, groups, log_z = lists
    sizes = [V] + [0 if not isinstance(each, np.ndarray) else len(each) for each in grams[1:]]
    histories = [1, V, *sizes[1:]]
    gram_keys = [
        _sorted(each, histories[n] * V, "gram_keys") if n else np.empty(0, np.int64) for n, each in enumerate(grams)
    ]
    group_keys = [_sorted(each, histories[n] * K, "group_keys") for n, each in enumerate(groups)]
    if len(group_keys[0]) != K:
        raise ValueError(f"group_keys must have all of the {K} classes among unigrams")
    rows, row_keys = state["rows"], _sorted(state["row_keys"], K * (K + 1), "row_keys")
    return ModelM(
        vocabulary, order, classes, gram_keys,
        [_floats(each, (size,), "scores") for each, size in zip(scores, sizes, strict=True)],
        group_keys, [_floats(each, (len(keys),), "log_z") for each, keys in zip(log_z, group_keys, strict=True)],
        row_keys, _floats(rows, (len(row_keys), K), "rows"), _floats(state["last_rows"], (K, K), "last_rows"),
        _csr(state["word_weights"], V, K, "classes", "classes"),
        _csr(state["pair_weights"], V if order == 2 else sizes[1] + 1, K, "classes", "classes"),
    )  # fmt: skip


def _csr(
    arrays: Any, n_rows: int, n_columns: int, of: str, columns: str
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """A CSR of weights, `of` and `columns` saying what they are."""
    if type(arrays) is not list or len(arrays) != 3 or not all(isinstance(each, np.ndarray) for each in arrays):
        raise ValueError(f"weights of {of} must be three arrays: starts, {columns}, values")
    starts, places, values = arrays
    proved(places, f"{columns} of {of}", np.int32, (None,), between(0, n_columns - 1))
    proved(starts, f"starts of {of}", np.int64, (n_rows + 1,), rising_to(len(places)))
    return starts, places, _floats(values, places.shape, f"weights of {of}")


GIVERS: dict[str, Any] = {"model": give_backoff_model, "model_m": _give_model_m, "skip_grams": _give_skip_grams}


# --- classes ---------------------------------------------------------------------------------------------------------


def _take_word_classes(model: WordClasses, packing: Packing) -> State:
    _refuse_serving(model, packing)
    learnt = model._learnt
    return report_to_state(model, packing) | {
        "vocabulary": take_vocabulary(learnt.vocabulary),
        "counts": learnt.counts,
        "classes": learnt.classes,
        "reader": take_reader(learnt.reader),
    }


def _give_word_classes(model: WordClasses, state: State, _: LoadContext) -> None:
    report_from_state(model, state)
    reject_unknown(state, "vocabulary", "counts", "classes", "reader")
    vocabulary = give_vocabulary(state["vocabulary"])
    counts = proved(state["counts"], "counts", np.int64, (len(vocabulary),))
    classes = _classes(state["classes"], len(vocabulary))
    model._state_of_fit = ClassState(vocabulary, counts, classes, _give_reader(state["reader"]))


def _take_class_bigram(model: ClassBigramModel, packing: Packing) -> State:
    _refuse_serving(model, packing)
    learnt = model._learnt
    return report_to_state(model, packing, *EM_REPORT) | {
        "vocabulary": take_vocabulary(learnt.model.vocabulary),
        "class_given": learnt.model.class_given,
        "word_given": learnt.model.word_given,
        "n_classes": learnt.n_classes,
        "reader": take_reader(learnt.reader),
    }


def _give_class_bigram(model: ClassBigramModel, state: State, _: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    reject_unknown(state, "vocabulary", "class_given", "word_given", "n_classes", "reader")
    vocabulary, n_classes = give_vocabulary(state["vocabulary"]), state["n_classes"]
    if type(n_classes) is not int or not 1 <= n_classes <= len(vocabulary):
        raise ValueError(f"n_classes must be a whole number from 1 to {len(vocabulary)}, got {n_classes!r:.60}")
    shape = len(vocabulary), -(-n_classes // WIDTH) * WIDTH
    given = [_floats(state[name], shape, name) for name in ("class_given", "word_given")]
    if any((each < 0).any() or each[:, n_classes:].any() for each in given):
        raise ValueError("class_given and word_given must be at least 0, and 0 behind the classes")
    if abs(given[0].sum(axis=1) - 1).max() > ROUNDING or abs(given[1].sum(axis=0)[:n_classes] - 1).max() > ROUNDING:
        raise ValueError("class_given must sum to 1 for each word, word_given for each class")
    model._state_of_fit = ClassBigramState(AggregateModel(vocabulary, *given), _give_reader(state["reader"]), n_classes)


# --- mixtures, and a classifier --------------------------------------------------------------------------------------


def _take_interpolation(model: Interpolation, packing: Packing) -> State:
    _refuse_serving(model, packing)
    return {name: vars(model)[name] for name in ("models_", "weights_", "history_") if name in vars(model)}


def _give_interpolation(model: Interpolation, state: State, _: LoadContext) -> None:
    reject_unknown(state, "models_", "weights_", "history_")
    if "models_" in state:
        if not are_models(state["models_"]) or len(state["models_"]) != len(model.models):
            raise ValueError(f"models_ must be {len(model.models)} language models or Caches")
        model.models_ = state["models_"]
    if "weights_" in state:
        weights = _floats(state["weights_"], (len(model.models),), "weights_")
        if (weights < 0).any() or abs(weights.sum() - 1) > ROUNDING:
            raise ValueError("weights_ must be at least 0 and sum to 1")
        model.weights_ = weights
    if "history_" in state:
        report_from_state(model, state)
    try:
        model._word_model  # noqa: B018 - models that do not go together are refused here
    except NotFittedError:  # of a mixture that is to be fitted, as those within one that was
        if state:
            raise


def _take_classifier(model: LanguageModelClassifier, packing: Packing) -> State:
    _refuse_serving(model, packing)
    learnt = model._learnt
    return {"classes": learnt.classes, "models": learnt.models, "log_prior": learnt.log_prior}


def _give_classifier(model: LanguageModelClassifier, state: State, _: LoadContext) -> None:
    reject_unknown(state, "classes", "models", "log_prior")
    classes, models = proved_labels(state["classes"]), state["models"]
    if type(models) is not list or len(models) != len(classes) or not all(isinstance(m, LanguageModel) for m in models):
        raise ValueError(f"models must be {len(classes)} language models, one for each of the classes")
    log_prior = _floats(state["log_prior"], (len(classes),), "log_prior")
    model._state_of_fit = BayesState(classes, models, log_prior)


CODECS = {
    "fastlin.lm.Cache": ModelCodec(lambda _, __: {}, lambda _, state, __: reject_unknown(state)),
    "fastlin.lm.ClassBigramModel": or_unfitted(ModelCodec(_take_class_bigram, _give_class_bigram)),
    "fastlin.lm.Interpolation": ModelCodec(_take_interpolation, _give_interpolation),
    "fastlin.lm.LanguageModelClassifier": or_unfitted(ModelCodec(_take_classifier, _give_classifier)),
    "fastlin.lm.MaxentLM": or_unfitted(ModelCodec(_take_maxent, _give_maxent)),
    "fastlin.lm.WordClasses": or_unfitted(ModelCodec(_take_word_classes, _give_word_classes)),
}
