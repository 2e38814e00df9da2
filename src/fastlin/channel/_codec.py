"""What a model file holds of each class of the room."""

from typing import Any

import numpy as np

from fastlin.channel.base import as_channel
from fastlin.channel.edit_channel import EditChannel
from fastlin.channel.edit_model import N_CODE_POINTS, TRANSPOSE, EditModel, EditRates
from fastlin.channel.noisy_channel import NoisyChannel
from fastlin.channel.source import as_source
from fastlin.core._codec import EM_REPORT, report_from_state, report_to_state
from fastlin.storage.fields import between, proved, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, or_unfitted, reject_unknown
from fastlin.storage.weight_packing import Packing

MODELS = "source_", "channel_"


def _refuse_serving(model: Any, packing: Packing) -> None:
    if packing.serving:
        raise ValueError(f"a {type(model).__name__} is saved as it is: dtype and prune are for weights")


def _take_noisy_channel(model: NoisyChannel, packing: Packing) -> State:
    _refuse_serving(model, packing)
    return {name: vars(model)[name] for name in MODELS if name in vars(model)}


def _give_noisy_channel(model: NoisyChannel, state: State, _: LoadContext) -> None:
    reject_unknown(state, *MODELS)
    if "source_" in state:
        as_source(state["source_"])
        model.source_ = state["source_"]
    if "channel_" in state:
        as_channel(state["channel_"], list)
        model.channel_ = state["channel_"]


EDIT_ARRAYS = "alphabet", "keys", "p"


def _take_edit_channel(model: EditChannel, packing: Packing) -> State:
    _refuse_serving(model, packing)
    learnt = model._learnt
    state = report_to_state(model, packing, *EM_REPORT) | {name: getattr(learnt, name) for name in EDIT_ARRAYS}
    return state | {"rates": list(learnt.rates)}


def _give_edit_channel(model: EditChannel, state: State, _: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    reject_unknown(state, *EDIT_ARRAYS, "rates")
    alphabet = proved(state["alphabet"], "alphabet", np.int32, (None,), sorted_below(N_CODE_POINTS))
    N = len(alphabet) + 2
    keys = proved(state["keys"], "keys", np.int64, (None,), sorted_below((TRANSPOSE + 1) * N**3))
    p = proved(state["p"], "p", np.float64, keys.shape, between(0, 1))
    rates = state["rates"]
    if (
        type(rates) is not list
        or len(rates) != len(EditRates._fields)
        or not all(type(rate) is float for rate in rates)
    ):
        raise ValueError(f"rates must be {len(EditRates._fields)} numbers, got {rates!r:.60}")
    if not all(0 < rate < 1 for rate in rates) or not rates[1] + rates[2] < 1:
        raise ValueError(f"rates must be between 0 and 1, and those of changes less than 1 together, got {rates!r:.99}")
    model._state_of_fit = EditModel(alphabet, keys, p, EditRates(*rates))


CODECS = {
    "fastlin.channel.EditChannel": or_unfitted(ModelCodec(_take_edit_channel, _give_edit_channel)),
    "fastlin.channel.NoisyChannel": ModelCodec(_take_noisy_channel, _give_noisy_channel),
}
