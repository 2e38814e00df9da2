"""Weights of batch learners as an array or, where few of them are not zero, as a CSR."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from fastlin import validation
from fastlin.core.estimator import learns
from fastlin.core.multilabel import MultilabelClassifier


class BatchWeights(MultilabelClassifier):
    """A classifier whose `coef_` may be put into either form."""

    coef_: Any

    @learns
    def sparsify(self) -> Self:
        """Turn `coef_` into a CSR: small where most of the weights are zero.

        Returns
        -------
        self
            The model, whose predictions stay what they are.
        """
        self._check_fitted()
        model = self._working_copy()
        model.coef_ = sp.csr_array(self.coef_)
        return self._take_fitted(model)

    @learns
    def densify(self) -> Self:
        """Turn `coef_` into an array again.

        Returns
        -------
        self
            The model, whose predictions stay what they are.
        """
        self._check_fitted()
        model = self._working_copy()
        if sp.issparse(self.coef_):
            model.coef_ = np.asfortranarray(self.coef_.toarray())
        return self._take_fitted(model)

    def _check_sparse_weights(self) -> None:
        """Prove a CSR, which users may set, and of which scipy believes what it holds."""
        if sp.issparse(self.coef_):
            validation.as_rows(self.coef_, name="coef_")
