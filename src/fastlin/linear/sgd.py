"""Stochastic gradient descent: any loss, any schedule, lazy and exact penalties."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fastlin.core.multilabel import independent_probabilities
from fastlin.core.sparse_estimator import probabilities
from fastlin.linear.online import OnlineClassifier
from fastlin.linear.sgd_parameters import SGDParameters
from fastlin.losses import LOSS_FUNCTIONS, OF_RESIDUALS


def _probabilistic(model: "SGDClassifier") -> bool:
    if model.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(
            f"probability estimates are not available for loss={model.loss!r}: take 'log_loss' or 'modified_huber'"
        )
    return True


class SGDClassifier(SGDParameters, OnlineClassifier):
    """Linear classification by stochastic gradient descent, truly multiclass.

    Minimises λ₂/2 ‖θ‖² + λ₁ ‖θ‖₁ + (1/n) Σ_i w_i loss(θ; x_i, y_i), the intercept unpenalised. One step takes scores
    with θ_t, then θ ← (1 − ηλ₂)θ − η ∂loss, then θ ← sgn θ·max(0, |θ| − ηλ₁); lazily: an epoch costs O(non-zeros).

    Parameters
    ----------
    loss : {"hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber", \
"epsilon_insensitive", "squared_epsilon_insensitive"}
        For more than two labels, "multinomial": Crammer and Singer's hinge, its square and what goes on straight, the
        softmax's log loss. The last four are `SGDRegressor`'s, of the target ±1, for each label against the rest.
    penalty : {"l2", "l1", "elasticnet", None}
        Which norms of θ the objective has; L1 excludes `average`, but with "ftrl".
    alpha : float
        λ, the strength of the penalty.
    l1_ratio : float or None
        With "elasticnet": λ₁ = λ·l1_ratio, λ₂ = λ·(1 − l1_ratio). None with other penalties only.
    fit_intercept : bool
        Learn b, the weight of a feature that is always 1.
    multi_class : {"auto", "multinomial", "ovr"}
        Of more than two labels: one model of all, in which a row moves its label against those that score too high;
        or, scikit-learn's, a model for each label against the rest, all of them learnt in one pass. "auto" is the first
        for the losses "hinge", "log_loss", "squared_hinge" and "perceptron", and the second for the others.
    intercept_decay : float or None
        The intercept's share of each step but those of "adagrad" and "ftrl", which have rates of their own. It is in
        every row, where other features are rare, and with the whole step it would follow the last labels. None: 0.01
        for sparse rows, 1 for a dense matrix.
    max_iter : int
        Epochs at most.
    tol : float or None
        Stop when the mean loss of an epoch has not fallen by `tol` for `n_iter_no_change` epochs; None: run them all.
    shuffle : bool
        A new order every epoch; False takes the rows as they lie.
    sampling : {None, "shuffle", "replace", "order"}
        The order of an epoch; None follows `shuffle`. "replace" draws rows with replacement.
    verbose : int
        1 prints a line an epoch.
    epsilon : float
        ε of the losses that have one.
    n_jobs : int or None
        Threads for predictions; it never changes a bit of the model.
    random_state : int, RandomState, Generator or None
        The seed of the orders.
    learning_rate : str
        η at instance t: "optimal" 1/(λ(t₀ + t − 1)), "constant" η₀, "invscaling" η₀/t^power_t, "adaptive" η₀ divided
        by 5 when progress stops, "inverse" η₀/(1 + η₀λt), "pegasos" 1/(λt), "adagrad" η₀/√Σg² for each weight. "ftrl":
        the weights are FTRL-Proximal's (McMahan et al. 2013), with η₀/(1 + √Σg²) for each, λ₁ and λ₂ for the whole run.
        "pa1", "pa2": with the hinge loss, the steps of `PassiveAggressiveClassifier`, of which η₀ is the C.
    eta0 : float
        η₀, above 0 where a schedule has it; for "adagrad" and "ftrl" 1.0 works without tuning.
    power_t : float
        The exponent of "invscaling".
    project : bool
        With "pegasos": keep ‖θ‖ ≤ 1/√λ.
    batch_size : int
        Rows whose mean gradient makes one step.
    early_stopping : bool
        Stop by the accuracy on held-out rows, or on `X_val`, `y_val` given to `fit`.
    validation_fraction : float
        The share of the rows that `early_stopping` holds out.
    n_iter_no_change : int
        Epochs without progress that end a fit.
    class_weight : dict, "balanced" or None
        Multiplies the weights of the rows of a label; "balanced" lets every label weigh the same in total.
    warm_start : bool
        `fit` goes on from the present weights.
    average : bool or int
        Predict with the mean of the weights over all steps, θ̄ = (1/T) Σ_t θ_t; an int starts the mean at that instance.
    dtype : {None, "float32", "float64"}
        Of the weights; None follows X.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.
    grow_features : bool
        Later matrices may have more features than those before, or fewer: `partial_fit` learns weights for new ones,
        predictions leave them out.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two labels, else (n_labels, n_features)
        θ; the mean of all θ_t with `average`.
    intercept_ : array of shape (1,) or (n_labels,)
        b.
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
    n_iter_ : int
        Epochs run.
    history_ : list of dict
        One record an epoch: epoch, seconds, loss (the mean over the rows, each before its step), objective (their sum),
        updates, progressive_accuracy (of predictions made before each row's step), and validation_score where there is
        validation data.
    objective_ : float
        The last record's objective.
    converged_ : bool
        Whether a criterion ended the fit, or all epochs were wanted; False when `max_iter` came first.
    t_ : int
        Instances counted so far, and one.
    loss_functions : dict
        Of the class: each loss as a function of `fastlin.losses`, with its width where it has one.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import SGDClassifier
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 1], [1, 0, 1]])
    >>> model = SGDClassifier(loss="log_loss", learning_rate="adagrad", eta0=1.0, max_iter=20, tol=None, random_state=0)
    >>> model.fit(X, ["a", "b", "c", "c"]).predict(X).tolist()
    ['a', 'b', 'c', 'c']
    >>> model.predict_proba(X).shape
    (4, 3)
    """

    _takes_indicators: ClassVar[bool] = True
    loss_functions: ClassVar[dict[str, tuple[Any, ...]]] = LOSS_FUNCTIONS

    @property
    def _one_vs_rest(self) -> bool:
        return self._container is not None or super()._one_vs_rest

    def _sampling(self) -> str:
        return super()._sampling() if self.sampling is None else self.sampling

    def _check_labels(self, n_labels: int) -> None:
        if n_labels > 2 and self.loss in OF_RESIDUALS and not self._one_vs_rest:
            raise ValueError(
                f"loss={self.loss!r} is of the targets ±1, which {n_labels} labels do not have together: take "
                "multi_class='ovr'"
            )

    @available_if(_probabilistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(label | row), columns as `classes_`; only with loss="log_loss" or "modified_huber".

        Of the latter it is (1 + min(1, max(−1, score)))/2 of each label against the rest, brought to the sum 1.
        """
        return self._probabilities(X, logarithmic=False)

    @available_if(_probabilistic)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(label | row), columns as `classes_`; only with loss="log_loss" or "modified_huber"."""
        return self._probabilities(X, logarithmic=True)

    def _probabilities(self, X: Any, *, logarithmic: bool) -> NDArray[np.float64]:
        scores = self._scores(self._checked_rows(X))
        if self._container is not None and self.loss == "log_loss":
            return independent_probabilities(scores, logarithmic)
        if self.loss == "modified_huber" and len(self.classes_) > 1:
            shares = self._huber_probabilities(scores)
            with np.errstate(divide="ignore"):
                return np.log(shares) if logarithmic else shares
        if self._one_vs_rest and scores.shape[1] > 1:  # each label's own probability, made to sum to one
            scores = -np.logaddexp(0, -scores)
        return probabilities(scores, len(self.classes_), logarithmic)

    def _huber_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if scores.shape[1] > 1 and not self._one_vs_rest:
            raise ValueError(
                f"of {scores.shape[1]} labels loss='modified_huber' has probabilities with multi_class='ovr' only: "
                "they are of each label against the rest"
            )
        shares = (np.clip(scores, -1, 1) + 1) / 2
        if self._container is not None:
            return shares
        if scores.shape[1] == 1:
            return np.hstack([1 - shares, shares])
        shares[~shares.any(axis=1)] = 1
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
