"""What a model file holds of a hidden Markov model: its counts."""

from fastlin.core._codec import COUNTS, EM_REPORT, packed_counts, proved_counts, report_from_state, report_to_state
from fastlin.core.class_counts import ClassCounts
from fastlin.sequence._codec import proved_table, shared_from_state, shared_to_state
from fastlin.sequence.hmm.emissions import NO_PRIOR
from fastlin.sequence.hmm.model import HMM
from fastlin.sequence.hmm.transitions import Transitions
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing


def _hmm_to_state(model: HMM, packing: Packing) -> State:
    state = shared_to_state(model, packing) | report_to_state(model, packing, *EM_REPORT)
    start, steps, ends = model._state.transitions.tables()
    state |= {"start": start, "steps": steps, "ends": ends, "hidden": model._hidden, "words": model._words}
    return state | packed_counts(model, model._state.counts, packing)


def _hmm_from_state(model: HMM, state: State, context: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    K, order = len(state["classes"]), model.order
    if order not in (1, 2):
        raise ValueError(f"a model of order {order!r:.60}")
    features, labels = proved_counts(state, K, context)
    shared_from_state(model, state, len(features))
    histories = (K,) if order == 1 else (K + 1, K)
    shapes = {"start": (K,), "steps": (*histories, K), "ends": histories}
    tables = [proved_table(state, name, shape, COUNTS) for name, shape in shapes.items()]
    hidden, words = state.pop("hidden"), state.pop("words")
    reject_unknown(state)
    if type(hidden) is not bool or type(words) is not bool or (words and model._attributes is None):
        raise ValueError("hidden and words must be True or False; words need names of columns")
    model._hidden, model._words = hidden, words
    model._set_state(ClassCounts(features, labels, NO_PRIOR), Transitions(*tables))


CODECS = {"fastlin.sequence.HMM": ModelCodec(_hmm_to_state, _hmm_from_state)}
