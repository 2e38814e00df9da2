"""What users of sklearn-crfsuite look for: names of its parameters are answered with ours, its attributes are there."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp

P = ParamSpec("P")
S = TypeVar("S")
NOTHING_TO_TUNE = "there is nothing to tune: leave it out"
STEP = "the step is chosen on a sample if eta0 is None"
ONLINE = "StructuredPerceptron(loss='pa', C=c, weights='observed') is that algorithm, with the defaults of CRFsuite"
PARAMETERS = {
    "algorithm": (
        "for 'lbfgs' CRF(solver='lbfgs'), or 'auto', which is sooner there; for 'l2sgd' CRF(solver='sgd'); for 'ap' "
        "StructuredPerceptron(weights='observed'); for 'pa' StructuredPerceptron(loss='pa', weights='observed'); "
        "'arow' is not here"
    ),
    "min_freq": "cutoff",
    "all_possible_states": "weights='dense', with transitions='observed' if transitions are to be those seen",
    "all_possible_transitions": "transitions='dense'",
    "max_iterations": "max_iter",
    "num_memories": NOTHING_TO_TUNE,
    "epsilon": "tol",
    "period": "callback can end a fit",
    "delta": "callback can end a fit",
    "linesearch": NOTHING_TO_TUNE,
    "max_linesearch": NOTHING_TO_TUNE,
    **dict.fromkeys(
        [
            "calibration_eta",
            "calibration_rate",
            "calibration_samples",
            "calibration_candidates",
            "calibration_max_trials",
        ],
        STEP,
    ),
    **dict.fromkeys(["c", "pa_type", "error_sensitive", "averaging"], ONLINE),
    **dict.fromkeys(["variance", "gamma"], "they are of AROW, which is not here"),
    **dict.fromkeys(["model_filename", "keep_tempfiles"], "nothing is written in a fit; see fastlin.save"),
    "trainer_cls": "callback and verbose follow a fit",
}


def answers_crfsuite(init: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """A constructor that says what is there in the place of a parameter of sklearn-crfsuite."""

    @functools.wraps(init)
    def construct(self: S, *args: P.args, **kwargs: P.kwargs) -> None:
        own = init.__kwdefaults__ or {}
        for name in kwargs:
            if name in PARAMETERS and name not in own:
                raise TypeError(f"{type(self).__name__} has no {name}=; instead: {PARAMETERS[name]}")
        init(self, *args, **kwargs)

    return construct  # type: ignore[return-value]


class CRFsuiteAttributes:
    """Weights by the names of features and labels, as sklearn-crfsuite has them; those that are 0 are left out."""

    coef_: Any
    transitions_: Any
    classes_: Any
    attributes_: list[str] | None

    @property
    def state_features_(self) -> dict[tuple[Any, Any], float]:
        """From (feature, label) to weight; a feature without a name is the number of its column."""
        weights, names, labels = sp.coo_array(self.coef_), self.attributes_, self.classes_.tolist()
        codes, columns = weights.coords
        return {
            (column if names is None else names[column], labels[code]): value
            for code, column, value in zip(codes.tolist(), columns.tolist(), weights.data.tolist(), strict=True)
            if value
        }

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """From (label before, label) to weight."""
        weights, labels = np.asarray(self.transitions_), self.classes_.tolist()
        return {(labels[i], labels[j]): float(weights[i, j]) for i, j in zip(*np.nonzero(weights), strict=True)}
