"""Results of a fit of a linear SVM: its certificate, dual variables for a warm start, a warning of what is left."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.multilabel import LabelColumns
from fastlin.data.scratch import ScratchArray
from fastlin.optim.solvers.svm_dual import LabelBlock, signed_dual_variables, sum_over_blocks
from fastlin.optim.solvers.svm_problem import SvmProblem


def certify(model: Any, parts: list[LabelBlock], spread: LabelColumns | None = None) -> None:
    """Note the objective and its certificate and, for a warm start, the dual variables of all columns."""
    model._dual = None
    if model.warm_start:
        signed = signed_dual_variables(parts)
        if spread is not None:
            with signed[0].map() as own:
                signed = [ScratchArray(spread.weights(own))]
        model._dual = parts[0].problem.sizes, signed
    model.objective_ = sum_over_blocks(parts, "objective")
    model.certificate_ = {
        "objective": model.objective_,
        "dual_objective": sum_over_blocks(parts, "value"),
        "duality_gap": sum_over_blocks(parts, "gap"),
    }


def kept_duals(model: Any, problem: SvmProblem) -> tuple[list[ScratchArray], NDArray[np.float64]] | None:
    """The dual variables and intercepts of the last fit, if these rows can begin from them."""
    sizes, kept = getattr(model, "_dual", None) or ([], [])
    if not model.warm_start or sizes != problem.sizes:
        return None
    return kept, validation.as_vector(model.intercept_, "intercept_")


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
