"""What linear SVMs tell of a fit: its certificate, and how far one that did not converge is from the optimum."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from fastlin.optim.solvers.svm_dual import LabelBlock, signed_dual_variables, sum_over_blocks


def certify(model: Any, parts: list[LabelBlock]) -> None:
    """Note the objective and its certificate and, for a warm start, the dual variables."""
    model._dual = (parts[0].problem.sizes, signed_dual_variables(parts)) if model.warm_start else None
    model.objective_ = sum_over_blocks(parts, "objective")
    model.certificate_ = {
        "objective": model.objective_,
        "dual_objective": sum_over_blocks(parts, "value"),
        "duality_gap": sum_over_blocks(parts, "gap"),
    }


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
