"""Conditional random fields: a log-linear model of all the labels of a sequence together."""

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.estimator import learns
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.sequence.base import ORDER, SequenceModel, as_frozen_weights, frozen_features
from fastlin.sequence.chain import Chain
from fastlin.sequence.chain_batches import Potentials
from fastlin.sequence.crfsuite_names import CRFsuiteAttributes, answers_crfsuite
from fastlin.sequence.one_sentence import FrozenWeights
from fastlin.sequence.token_scores import as_sparse, as_table, dense_scores, edge_scores, sparse_scores
from fastlin.sequence.tokens import Tokens
from fastlin.sequence.transition_weights import chain_of
from fastlin.sequence.weight_layout import HybridLayout
from fastlin.validation.choices import PairWeights
from fastlin.validation.parameter_kinds import ABSENT, PLAIN, Integer, OneOf, ParameterTable, Real, check_parameters

if TYPE_CHECKING:
    from fastlin.sequence.crf.objective import CRFObjective

Floats = NDArray[np.float64]
STOCHASTIC_SOLVERS = ("sgd", "adagrad")
SOLVERS = ("auto", "lbfgs", *STOCHASTIC_SOLVERS)
WEIGHTS = ("observed", "dense")
MAX_PENALTY = 1e100  # of c1 and c2


class CRF(CRFsuiteAttributes, SequenceModel):
    """Linear-chain conditional random field (Lafferty, McCallum and Pereira 2001).

    p(y | x) = exp s(x, y) / Z(x), where s(x, y) = Σ_t θ_{y_t}·x_t + Σ_{t≥1} A(y_{t−1}, y_t). Minimises

        Σ −log p(y | x) + c2 (‖θ‖² + ‖A‖²) + c1 (‖θ‖₁ + ‖A‖₁),

    which is CRFsuite's objective. Of labels that are known in part, p(y | x) is the sum over all that they allow: the
    marginal likelihood, of which a local optimum is found. There are no weights of starts and stops (mark the ends by
    features), no intercepts, and what has no weight scores 0.

    Parameters
    ----------
    c1, c2 : float
        The strengths of the two priors.
    order : {1, 2}
        2: triples of labels have weights, too.
    weights : {"observed", "dense"}
        "observed": only the (feature, label) pairs and the transitions that were seen in training have weights: a token
        is seen with its label, with each of a set that is given, and with none if nothing is known.
    transitions : {"observed", "dense"} or None
        Which transitions have weights: those seen in training, or all; None: as `weights` says.
    cutoff : int
        How many tokens must have a pair, or a transition, for it to have a weight; with weights="dense", how many
        must have a feature.
    edges : "all", str, list of str, list of int, or None
        Features that also have weights with the label before, θ(y_{t−1}, y_t)·x_t (order 1): all, those whose names
        begin so, or columns.
    features : Templates or None
        What makes features of raw tokens; None: X has them.
    constraints : str, list of pairs, array, Constraints or None
        Which labels may follow one another when sequences are labelled: "bio", "iobes", …, the allowed pairs, or a
        boolean array [K, K].
    solver : {"auto", "lbfgs", "sgd", "adagrad"}
        "lbfgs" reaches the optimum. "auto" does, too, but with 500 sequences or more it begins with ten epochs of
        "sgd", unless there is a c1 or edges. The others take a step for every `batch_size` sequences and approach the
        optimum: "sgd" with the rate η₀/(1 + η₀λt), "adagrad" with a rate for every weight.
    max_iter : int
        Iterations; epochs of a stochastic solver.
    tol : float
        Ends at ‖g‖ ≤ tol · max(1, ‖θ‖), where g is the gradient of the objective: 1e-3 is within 1e-6 of the optimum of
        CoNLL-2000. Stochastic solvers end when an
        epoch changes the mean loss of a sequence by less.
    eta0 : float or None
        The first rate of a stochastic solver; None chooses it on a sample.
    batch_size : int
    random_state : int, Generator or None
        For the order in which a stochastic solver takes the sequences.
    n_jobs : int or None
        Threads; they never change a bit. A mini-batch is one thread's.
    verbose : int
    callback : callable or None
        `callback(model, record)` after every record of `history_`; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_labels, n_features)
        θ; a CSR when observed.
    transitions_ : array of shape (n_labels, n_labels)
        A(from, to).
    state_features_, transition_features_ : dict
        The weights that are not 0, from (feature, label) and (label before, label).
    second_order_ : array of shape (n_labels, n_labels, n_labels) or None
        What order 2 adds to A(last, to): (last but one, last, to).
    edge_coef_ : CSR of shape (n_features, n_labels · n_labels) or None
        What `edges` add to A(from, to), in the column from · n_labels + to.
    classes_ : array of shape (n_labels,)
    attributes_ : list of str or None
        The names of the columns.
    objective_ : float
    history_ : list of dict
        Of every iteration: seconds, objective, gradient_norm (‖g‖ / max(1, ‖θ‖)); of every epoch of a stochastic
        solver seconds, progressive_objective, of whose losses each is that before the step, and eta0.
    certificate_ : dict
        objective; gradient_norm; moment_gap, the largest |observed − expected| count; with a c1 or c2 duality_gap, a
        bound of how far the objective is from its minimum.
    converged_ : bool
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from fastlin.sequence import CRF
    >>> X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> y = [["D", "N", "V"]] * 3
    >>> model = CRF(c2=0.1).fit(X, y)
    >>> model.predict([["a", "cat", "barks"], ["the", "zebra"]])
    [['D', 'N', 'V'], ['D', 'N']]
    """

    _parameters: ClassVar[ParameterTable] = SequenceModel._parameters | {
        "c1": Real(at_least=0, at_most=MAX_PENALTY), "c2": Real(at_least=0, at_most=MAX_PENALTY), "order": ORDER,
        "weights": OneOf(*WEIGHTS), "transitions": OneOf(*WEIGHTS) | ABSENT, "cutoff": Integer(at_least=1),
        "edges": PLAIN, "solver": OneOf(*SOLVERS),
        "tol": Real(at_least=0), "eta0": Real(above=0) | ABSENT, "batch_size": Integer(at_least=1),
    }  # fmt: skip

    coef_: Any
    transitions_: Floats
    second_order_: Floats | None
    edge_coef_: Any
    objective_: float
    history_: list[FitRecord]
    certificate_: FitCertificate
    converged_: bool
    n_iter_: int

    @answers_crfsuite
    def __init__(
        self,
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        order: int = 1,
        weights: PairWeights = "observed",
        transitions: PairWeights | None = None,
        cutoff: int = 1,
        edges: Any = None,
        features: Any = None,
        constraints: Any = None,
        solver: Literal["auto", "lbfgs", "sgd", "adagrad"] = "auto",
        max_iter: int = 500,
        tol: float = 1e-3,
        eta0: float | None = None,
        batch_size: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.c1 = c1
        self.c2 = c2
        self.order = order
        self.weights = weights
        self.transitions = transitions
        self.cutoff = cutoff
        self.edges = edges
        self.features = features
        self.constraints = constraints
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.eta0 = eta0
        self.batch_size = batch_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Learning

    @learns
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        lengths: Any = None,
        sample_weight: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the optimum.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            A sequence is a list of tokens: strings, lists of strings or dicts.
        y : list of lists of labels, or with a CSR one array
            None, or −1 among numbers, in the place of a label or of the labels of a sequence: not known. A set of
            labels: one of these.
        lengths : array of shape (n_sequences,), optional
            How many tokens each sequence has; with a CSR.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts: as often as its weight says; 0: as if it was not there.
        checkpoint : path, optional
            A file that says where the fit stands, written between two iterations.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every iteration.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        from fastlin.sequence.crf import training  # a tagger that is loaded does without solvers

        model = self._working_copy()
        model._check_parameters()
        tokens, labels = model._learn(X, y, lengths, sample_weight)
        file = model._checkpoint_of(tokens, labels, checkpoint, checkpoint_interval, resume)
        warning = training.train(model, tokens, labels, file)
        self._take_fitted(model)
        if warning is not None:
            warnings.warn(warning, ConvergenceWarning, stacklevel=3)
        return self

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        check_parameters(self)
        if self.order == 2 and self.edges is not None:
            raise ValueError("edges belong to order=1: with order=2 leave them out")
        if self.solver in STOCHASTIC_SOLVERS and self.edges is not None:
            raise ValueError(f"edges need solver='lbfgs': solver={self.solver!r} has none")
        if self.solver == "sgd" and self.c1:
            raise ValueError("c1 needs solver='lbfgs' or 'adagrad': solver='sgd' has no L1 term")

    def _install(self, problem: "CRFObjective", theta: Floats) -> Self:
        """Have these weights."""
        K, V = len(self.classes_), self.n_features_in_
        of_features, of_transitions, of_edges = problem.split(theta)
        by_feature = _by_column(problem.design.features, problem.layout, of_features, V)
        self.coef_ = by_feature.T.tocsr() if self.weights == "observed" else by_feature.toarray().T
        self.transitions_, self.second_order_ = problem.transition_weights.tables(of_transitions)
        self.edge_coef_ = None
        if problem.edges is not None:
            edges, shape = problem.edges, (V, K * K)
            rows = np.repeat(edges.columns, np.diff(edges.starts))
            self.edge_coef_ = sp.csr_array((of_edges, (rows, edges.labels)), shape)
        return self

    # What was learnt

    def _chain(self) -> Chain:
        K = len(self.classes_)
        three = None if self.second_order_ is None else as_table("second_order_", self.second_order_, (K, K, K))
        return chain_of(as_table("transitions_", self.transitions_, (K, K)), three)

    def _frozen_sources(self, known: dict[str, Any]) -> tuple[Any, ...] | None:
        if known["edge_coef_"] is not None:
            return None
        return known["coef_"], known["transitions_"], known["second_order_"], *frozen_features(known)

    def _frozen_weights(self) -> FrozenWeights:
        if self.coef_.shape != (len(self.classes_), self.n_features_in_):
            raise ValueError("coef_ does not fit the labels and the features")
        tables = [table for table in (self.transitions_, self.second_order_) if table is not None]
        watched = [table for table in tables if table is as_table("transitions", table, np.shape(table))]
        if len(watched) < len(tables):
            raise ValueError("tables of another type are copied, and changes of theirs not seen")
        return FrozenWeights(as_frozen_weights(self._by_feature()), self._chain(), self.classes_.tolist(), watched)

    def _by_feature(self) -> Any:
        """`coef_` as [V, K]; turned once."""
        coef = self.coef_

        def turn() -> Any:
            if sp.issparse(coef):
                return as_sparse("coef_", coef, coef.shape).T.tocsr()
            return np.require(coef.T, validation.as_real(coef), ["C", "A"])

        return self._derived.of("coef_", coef, turn)

    def _potential(self) -> Any:
        K, V = len(self.classes_), self.n_features_in_
        if self.coef_.shape != (K, V):
            raise ValueError(f"coef_ of shape {self.coef_.shape} does not fit {K} labels and {V} features")
        sparse, weights, of_edges = sp.issparse(self.coef_), self._by_feature(), self._edge_weights()

        def potential(tokens: Tokens, start: int, stop: int) -> Any:
            score = sparse_scores if sparse else dense_scores
            edges = None if of_edges is None else edge_scores(tokens, of_edges, K, start, stop)
            return Potentials(score(tokens, weights, start, stop), edges)

        return potential


def _by_column(features: NDArray[np.int64], layout: HybridLayout, theta: Floats, n_columns: int) -> sp.csr_array:
    """Weights of pairs as a CSR [V, K]."""
    rows = np.repeat(features, np.diff(layout.starts))
    return sp.csr_array((theta, (rows, layout.labels)), (n_columns, layout.n_labels))
