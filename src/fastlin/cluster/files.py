"""What a model file holds of each model that learns without labels."""

from typing import Any

from fastlin.linear.counts import Counts
from fastlin.linear.files import give_report, packed_counts, proved_counts, take_report
from fastlin.store.keeping import Keeper, State, only
from fastlin.store.weights import Packing


def _take_mixture(model: Any, packing: Packing) -> State:
    model._check_fitted()
    return take_report(model, packing, "bound_") | packed_counts(model, model._counts, packing)


def _give_mixture(model: Any, state: State, verify: bool) -> None:
    give_report(model, state, "bound_")
    features, components = proved_counts(state, None, verify)
    only(state)
    model._counts, model.n_features_in_ = Counts(features, components, model._prior(len(features))), len(features)


KEEPERS = {
    "fastlin.MultinomialMixture": Keeper(_take_mixture, _give_mixture),
}
