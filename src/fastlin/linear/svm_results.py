"""Results of a fit of a linear SVM: its certificate, dual variables for a warm start, a warning of what is left."""

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from fastlin.core.multilabel import LabelColumns
from fastlin.data.scratch import ScratchArray
from fastlin.optim.solvers.svm_dual import LabelBlock, signed_dual_variables
from fastlin.optim.solvers.svm_problem import BlockOfLabels, SvmProblem, sum_over_blocks


def certify(model: Any, blocks: Sequence[BlockOfLabels]) -> None:
    """Note the objective and its certificate."""
    model.objective_ = sum_over_blocks(blocks, "objective")
    model.certificate_ = {
        "objective": model.objective_,
        "dual_objective": sum_over_blocks(blocks, "value"),
        "duality_gap": sum_over_blocks(blocks, "gap"),
    }


def keep_duals(model: Any, blocks: list[LabelBlock], spread: LabelColumns | None = None) -> None:
    """Note the dual variables of all labels, for a warm start."""
    model._dual = None
    if model.warm_start:
        signed = signed_dual_variables(blocks)
        if spread is not None:
            with signed[0].map() as own:
                signed = [ScratchArray(spread.weights(own))]
        model._dual = blocks[0].problem.sizes, signed


def kept_duals(model: Any, problem: SvmProblem) -> list[ScratchArray] | None:
    """The dual variables of the last fit, if these rows can begin from them."""
    sizes, kept = getattr(model, "_dual", None) or ([], [])
    return kept if model.warm_start and sizes == problem.sizes else None


def warn_of_gap(model: Any) -> None:
    """Say how far the fit is from the optimum, and what helps."""
    gap = model.certificate_["duality_gap"] / model.objective_
    reason = "Rounding ended the fit, and"
    if model.n_iter_ >= model.max_iter:
        reason = "Liblinear failed to converge, increase the number of iterations: "
        reason += f"max_iter={model.max_iter} epochs"
    warnings.warn(
        f"{reason} left a relative duality gap of {gap:.1e}, above tol={model.tol:g}. "
        "Raise max_iter or tol, lower C, or bring the rows to a common norm.",
        ConvergenceWarning,
        stacklevel=5,
    )
