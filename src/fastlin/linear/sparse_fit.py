"""The fit of LogisticRegression(weights="sparse"): its weights are a CSR, while they are learnt, too."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import DatasetView
from fastlin.core.label_sets import n_weight_columns
from fastlin.linear.label_columns import as_wide, centre_labels
from fastlin.optim.certificate import has_dual
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers import proximal_newton
from fastlin.optim.sparse_problem import SparseCertificate, SparseProblem, SparseSearch
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel

if TYPE_CHECKING:
    from fastlin.linear.logistic import LogisticRegression


def fit_sparse(
    model: "LogisticRegression",
    sample: DatasetView,
    parts: Partitions,
    evaluate: Callable[[], float] | None,
    checkpoint: CheckpointTarget | None,
) -> None:
    """Find the optimum with memory for the weights that are not zero."""
    n_features, width, dtype = sample.n_features, n_weight_columns(len(sample.classes)), model._type(sample.dataset)
    if len(parts) > 1:
        raise ValueError(
            f"weights='sparse' needs its rows in memory, and the corpus has {len(parts)} segments: "
            "X, y = corpus.to_memory(), or weights='observed'"
        )
    with parallel.WorkerPool(model.n_jobs) as workers:
        prior = model._prior(parts, DenseWeights(parts.n_features, 1), n_features)
        problem = SparseProblem(parts, width, prior, bool(model.fit_intercept), workers)
        certificate = SparseCertificate(problem, model.tol) if has_dual(prior) else None

        def install() -> None:
            theta = point.theta.copy()
            centre_labels(problem, theta)
            features, labels = np.divmod(problem.present_pairs, width)
            weights = theta[: problem.n_weights].astype(dtype), (labels, parts.features[features])
            model.coef_ = sp.csr_array(sp.coo_array(weights, shape=(width, n_features)))
            model.coef_.eliminate_zeros()
            model.intercept_ = np.zeros(width)
            model.intercept_[: problem.size - problem.n_weights] = theta[problem.n_weights :]

        theta = np.zeros(problem.size)
        if model._continues(sample.classes, n_features):
            theta = _start_from(model, problem)
        monitor = model._convergence_monitor(problem, model._reporter(install, evaluate), checkpoint, certificate)
        point = SparseSearch.begin(problem, theta, monitor)
        model.classes_ = sample.classes
        proximal_newton.descend(point, monitor)
        model._record(problem, point.theta, monitor)
        install()


def _start_from(model: "LogisticRegression", problem: SparseProblem) -> NDArray[np.float64]:
    """The present weights, whose pairs the problem takes."""
    coef = sp.csr_array(model.coef_)[:, problem.partitions.features].T.tocsr()
    intercept = validation.as_vector(model.intercept_, "intercept_")
    if coef.shape[1] != problem.width:  # two labels: a column or two are few
        both = as_wide(np.vstack([coef.toarray(), intercept]), problem.width)
        coef, intercept = sp.csr_array(both[:-1]), both[-1]
    coef.eliminate_zeros()
    coef.sort_indices()
    features = np.repeat(np.arange(coef.shape[0]), np.diff(coef.indptr))
    problem.set_pairs(features * problem.width + coef.indices)
    return np.append(validation.as_finite(coef.data, "coef_", 1), intercept[: problem.size - problem.n_weights])
