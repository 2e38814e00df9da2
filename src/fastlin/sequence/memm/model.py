"""Maximum-entropy Markov models: a classifier of every token that sees the labels before."""

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import storage, validation
from fastlin.core.callbacks import make_callback
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.dataset import NO_WEIGHTS, InMemoryDataset, training_view
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.engine.chain import memm_normalizer
from fastlin.linear.logistic import LogisticRegression
from fastlin.linear.maxent import COUNTS
from fastlin.runtime import parallel
from fastlin.sequence.base import SequenceModel, frozen_features
from fastlin.sequence.beam_search import beam_paths
from fastlin.sequence.chain import Chain
from fastlin.sequence.chain_batches import ChainBatch, ChainBatches, Potential, Potentials
from fastlin.sequence.column_selection import as_columns
from fastlin.sequence.memm.history_features import Histories
from fastlin.sequence.memm.label_completion import MAX_ROUNDS, LabelCompletion
from fastlin.sequence.memm.tag_dictionary import TagDictionary
from fastlin.sequence.one_sentence import FrozenWeights
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.token_scores import as_table, dense_scores, edge_scores
from fastlin.sequence.tokens import Tokens
from fastlin.validation import one_of, whole_number
from fastlin.validation.choices import LogLinearSolver, PairWeights
from fastlin.validation.parameter_kinds import PLAIN, Integer, Kind, OneOf, ParameterTable, check_parameters

DECODERS = ("viterbi", "beam", "greedy")
REPORT_ATTRIBUTES = ("history_", "objective_", "certificate_", "converged_", "n_iter_")

LEARNT_WITH = "C", "l1_ratio", "solver", "tol", "dtype"
WEIGHTS = ("observed", "dense")


class MEMM(SequenceModel):
    """Maximum-entropy Markov model (Ratnaparkhi 1996; McCallum, Freitag and Pereira 2000).

    p(y | x) = Π_t p(y_t | y_{t−1}, x_t), where p is the softmax of θ_{y_t}·x_t + A(y_{t−1}, y_t): one
    `LogisticRegression(fit_intercept=False)` of all tokens, whose features are the token's own, an indicator of the
    label before and, in order 2, one of the pair before. Minimises Σ −log p(y | x) + (1/2C) Σ θ², A included; the
    labels before are the right ones in training. Each token is normalised alone, so that a label which few can follow
    passes its probability on whatever the token says (the label bias problem); a `CRF` has none.

    Of labels that are known in part, the best path that they allow stands for the right ones: first what is known is
    learnt, then, in turns, paths and weights are found until no label changes.

    What `constraints`, `allowed` or the tag dictionary exclude is excluded when sequences are labelled, not in
    training: probabilities are p(y | x) over the sum of what is left.

    Parameters
    ----------
    order : {1, 2}
        How many labels before a token sees.
    C : float
        The variance of the prior of every weight.
    l1_ratio : float
        The share of an L1 norm in the prior, as in `LogisticRegression`.
    weights : {"observed", "dense"}
        "observed" has weights only for the (feature, label) pairs seen in at least `cutoff` tokens.
    cutoff : int
        For weights="observed".
    edges : "all", str, list of str, list of int, or None
        Features that are also conjoined with the label before (order 1): all, those whose names begin so, or columns.
    features : Templates or None
        What makes features of raw tokens; None: X has them.
    constraints : str, list of pairs, array, Constraints or None
        Which labels may follow one another: "bio", "iobes", …, the allowed pairs, or a boolean array [K, K].
    decoder : {"viterbi", "beam", "greedy"}
        How `predict` looks for the best path: exactly; among the `beam_width` best states of every token; or label by
        label. Sequences for which a beam finds no path are decoded exactly. All else is exact in any case.
    beam_width : int
    tag_dictionary : str, list of int, dict or None
        Words take only the labels they were seen with (Ratnaparkhi 1996): the prefix of the features' names that are
        words, or their columns; or a dict from names to labels. Another label costs 10⁶: it is taken only where the
        constraints leave no other.
    dictionary_cutoff : int
        Words seen less often have no entry.
    solver, tol, max_iter, random_state, n_jobs, verbose
        As in `LogisticRegression`; threads never change a bit.
    dtype : {None, "float32", "float64"}
        Of `coef_`; None is float64.
    callback : callable or None
        `callback(model, record)` after every record of `history_`; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_labels, n_features)
        θ.
    start_ : array of shape (n_labels,)
        A of the first token.
    transitions_ : array of shape (n_labels, n_labels) or (n_labels + 1, n_labels, n_labels)
        A(from, to); in order 2 A(last but one, last, to), where n_labels stands for "there was none".
    edge_coef_ : CSR of shape (n_features, n_labels · n_labels) or None
        What `edges` add to A(from, to), in the column from · n_labels + to.
    tag_dictionary_ : dict or None
        From names (with a matrix: columns) to labels.
    classes_ : array of shape (n_labels,)
    attributes_ : list of str or None
        The names of the columns.
    objective_, certificate_, history_, converged_, n_iter_, n_features_in_
        As in `LogisticRegression`.

    Examples
    --------
    >>> from fastlin.sequence import MEMM
    >>> X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> y = [["D", "N", "V"]] * 3
    >>> model = MEMM(C=10).fit(X, y)
    >>> model.predict([["a", "cat", "barks"], ["the", "zebra"]])
    [['D', 'N', 'V'], ['D', 'N']]
    """

    _parameters: ClassVar[ParameterTable] = SequenceModel._parameters | {
        **{name: LogisticRegression._parameters[name] for name in LEARNT_WITH},
        "weights": OneOf(*WEIGHTS), "cutoff": Integer(at_least=1), "edges": PLAIN,
        "decoder": OneOf(*DECODERS), "beam_width": Integer(at_least=1),
        "tag_dictionary": PLAIN, "dictionary_cutoff": Kind(Integer(at_least=0).allows, "a whole number from 0"),
    }  # fmt: skip

    def __init__(
        self,
        *,
        order: int = 1,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        weights: PairWeights = "observed",
        cutoff: int = 1,
        edges: Any = None,
        features: Any = None,
        constraints: Any = None,
        decoder: Literal["viterbi", "beam", "greedy"] = "viterbi",
        beam_width: int = 5,
        tag_dictionary: Any = None,
        dictionary_cutoff: int = 1,
        solver: LogLinearSolver = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
        callback: Any = None,
    ) -> None:
        self.order = order
        self.C = C
        self.l1_ratio = l1_ratio
        self.weights = weights
        self.cutoff = cutoff
        self.edges = edges
        self.features = features
        self.constraints = constraints
        self.decoder = decoder
        self.beam_width = beam_width
        self.tag_dictionary = tag_dictionary
        self.dictionary_cutoff = dictionary_cutoff
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype
        self.callback = callback

    coef_: NDArray[Any]
    start_: NDArray[np.float64]
    transitions_: NDArray[np.float64]
    edge_coef_: Any
    history_: list[FitRecord]
    certificate_: FitCertificate
    _dictionary: TagDictionary | None

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
        model = self._working_copy()
        model._check_parameters()
        learner = model._learner()
        tokens, labels = model._learn(X, y, lengths, sample_weight)
        file = model._checkpoint_of(
            tokens, labels, checkpoint, checkpoint_interval, resume, **learner._decisive_limits()
        )
        model._dictionary = None
        stable = model._learn_labels(tokens, labels, learner, file)
        model._dictionary = TagDictionary.learn(
            self.tag_dictionary, self.dictionary_cutoff, tokens, labels, model.classes_, model.attributes_
        )
        self._take_fitted(model)
        learner._warn()
        if not stable:
            warnings.warn(
                f"The labels that are not known still changed after {MAX_ROUNDS} rounds: raise C or give more labels.",
                ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        return self

    def _learn_labels(
        self, tokens: Tokens, labels: LabelCodes, learner: LogisticRegression, file: storage.Checkpoint
    ) -> bool:
        """Find the weights and, of what is not known, the labels; whether these stand still."""
        weights = labels.token_weights(tokens.starts)
        if labels.complete or len(self.classes_) == 1:
            self._learn_tokens(tokens, np.maximum(labels.codes, 0), None, weights, learner, file)
            return True
        monitor, masks = FitMonitor(1, checkpoint=file), labels.masks()
        monitor.begin_run()

        def learn(codes: NDArray[np.int32], learnable: NDArray[np.bool_] | None) -> bool:
            self._learn_tokens(tokens, codes, learnable, weights, learner, monitor.nested("tokens"))
            return not learner._stopped

        stable = LabelCompletion(tokens, labels, int(self.order)).run(
            monitor, learn, lambda: self._best_allowed(tokens, masks)
        )
        self.converged_ = learner.converged_ and stable
        return stable

    def _learn_tokens(
        self, tokens: Tokens, codes: NDArray[np.int32], learnable: NDArray[np.bool_] | None,
        weights: NDArray[np.float64] | None, learner: LogisticRegression, file: CheckpointTarget,
    ) -> None:  # fmt: skip
        """Find the weights for the labels of all tokens, or of those that are learnable, whose codes are none below 0.

        Where these have fewer than two labels, all weights are 0.
        """
        K = len(self.classes_)
        histories = Histories(tokens, codes, K, self.order, self._conjoined(tokens))
        weights, own = NO_WEIGHTS if weights is None else weights, codes
        if learnable is not None:
            own = np.where(learnable, codes, 0)
            weights = learnable * weights if len(weights) else learnable.astype(np.float64)
        if len(np.unique(codes if learnable is None else codes[learnable])) < 2:
            learner.converged_, learner._stopped = True, False
            self._install(histories, np.zeros((K, histories.n_columns), learner.dtype))._clear_report()
            return

        def install() -> MEMM:
            return self._install(histories, _spread(learner.coef_, learner.classes_, K))

        report = make_callback(self, install)
        if report is not None:
            learner.callback = lambda _, record: report(record)
        rows = validation.as_rows(histories.matrix(), nonnegative=learner._check_parameters() in COUNTS)
        sample = training_view(InMemoryDataset(rows, classes=np.arange(K), codes=own, weights=weights))
        learner._fit_sample(sample, learner._parts_of(sample), checkpoint=file)
        install()
        for told in REPORT_ATTRIBUTES:
            setattr(self, told, getattr(learner, told))
        self.n_iter_ = int(learner.n_iter_[0])

    def _best_allowed(self, tokens: Tokens, masks: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The best paths among these labels, whatever constraints and dictionaries say of predictions."""
        view = self._snapshot()
        batches = ChainBatches(tokens, view._chain(), view._potential(), masks)
        codes = np.empty(tokens.n_tokens, np.int32)

        def decode(first: int, last: int) -> None:
            block = batches.block(first, last)
            codes[block.tokens] = block.infer("viterbi")[0]

        with parallel.WorkerPool(self.n_jobs) as workers:
            workers.map(decode, batches.cuts())
        return codes

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        if self.order == 2 and self.edges is not None:
            raise ValueError("edges belong to order=1: with order=2 leave them out")
        check_parameters(self)

    def _learner(self) -> LogisticRegression:
        """What learns the labels of tokens; its parameters are checked."""
        learner = LogisticRegression(
            C=self.C, l1_ratio=self.l1_ratio, fit_intercept=False, weights=self.weights,
            cutoff=self.cutoff if self.weights == "observed" else 1, solver=self.solver, tol=self.tol,
            max_iter=self.max_iter, random_state=self.random_state, n_jobs=self.n_jobs,
            dtype=validation.as_dtype(self.dtype) or np.dtype(np.float64),
        )  # fmt: skip
        learner._check_parameters()
        return learner

    def _conjoined(self, tokens: Tokens) -> NDArray[np.int64] | None:
        if self.edges is None:
            return None
        return as_columns(self.edges, self.attributes_, tokens.rows.n_columns, "edges")

    def _first_names(self) -> list[str]:
        return list(self.tag_dictionary) if isinstance(self.tag_dictionary, dict) else []

    def _install(self, histories: Histories, weights: NDArray[Any]) -> Self:
        """Have these weights of the columns of `histories`."""
        self.coef_, self.start_, self.transitions_, self.edge_coef_ = histories.unfold(weights)
        return self

    def _clear_report(self) -> None:
        """Of a fit with one label, which has nothing to learn."""
        self.history_, self.objective_, self.certificate_ = [], 0.0, {}
        self.converged_, self.n_iter_ = True, 0

    # What was learnt

    @property
    @reads
    def tag_dictionary_(self) -> dict[Any, list[Any]] | None:
        """The labels of each word."""
        self._check_fitted()
        return None if self._dictionary is None else self._dictionary.entries(self.classes_, self.attributes_)

    def _chain(self) -> Chain:
        K, order = len(self.classes_), np.ndim(self.transitions_) - 1
        histories = (K,) if order == 1 else (K + 1, K)
        start = as_table("start_", self.start_, (K,))
        return Chain(start, as_table("transitions_", self.transitions_, (*histories, K)), np.zeros(histories))

    def _frozen_sources(self, known: dict[str, Any]) -> tuple[Any, ...] | None:
        if known["edge_coef_"] is not None or known["_dictionary"] is not None or known["decoder"] != "viterbi":
            return None
        return known["coef_"], known["start_"], known["transitions_"], *frozen_features(known)

    def _frozen_weights(self) -> FrozenWeights:
        chain, watched, weights = self._chain(), [self.start_, self.transitions_], self._by_feature()
        copied = chain.start is not self.start_ or chain.transitions is not self.transitions_
        if copied or not np.may_share_memory(weights, np.asarray(self.coef_)):
            raise ValueError("tables of another type or order are copied, and changes of theirs not seen")
        find_offsets = LocalNormaliser(chain)

        def normalise(scores: NDArray[np.float64]) -> NDArray[np.float64]:
            offsets = find_offsets(scores, None)
            scores[:1] -= log_sums(scores[:1] + chain.start)
            return offsets

        return FrozenWeights(weights, chain, self.classes_.tolist(), watched, normalise=normalise)

    def _by_feature(self) -> NDArray[Any]:
        """`coef_` as [V, K]."""
        weights = np.require(np.asarray(self.coef_).T, validation.as_real(self.coef_), ["C", "A"])
        if weights.shape != (self.n_features_in_, len(self.classes_)):
            raise ValueError(
                f"coef_ of shape {weights.T.shape} does not fit {len(self.classes_)} labels and "
                f"{self.n_features_in_} features"
            )
        return weights

    def _potential(self) -> Potential:
        chain, K, V = self._chain(), len(self.classes_), self.n_features_in_
        weights = self._by_feature()
        normalise, words, of_edges = LocalNormaliser(chain), None, self._edge_weights()
        if self._dictionary is not None:
            words = self._dictionary.penalty(V)

        def potential(tokens: Tokens, start: int, stop: int) -> Potentials:
            scores = dense_scores(tokens, weights, start, stop)
            edges = None if of_edges is None else edge_scores(tokens, of_edges, K, start, stop)
            offsets = normalise(scores, edges)
            low, high = np.searchsorted(tokens.starts, [start, stop])
            first = np.unique(tokens.starts[low:high]) - start
            scores[first] -= log_sums(scores[first] + chain.start)
            if words is not None:
                words.lower(tokens, start, stop, scores)
            return Potentials(scores, edges, offsets)

        return potential

    def _path(self, block: ChainBatch) -> NDArray[np.int32]:
        if one_of("decoder", self.decoder, DECODERS) == "viterbi":
            return super()._path(block)
        return beam_paths(block, 1 if self.decoder == "greedy" else whole_number("beam_width", self.beam_width, 1))


def _spread(weights: NDArray[Any], codes: NDArray[Any], n_labels: int) -> NDArray[Any]:
    """The weights of the labels with these codes among those of all."""
    if len(weights) < len(codes):  # two labels share a column
        weights = np.ascontiguousarray(np.vstack([-weights / 2, weights / 2]).T).T
    if len(codes) == n_labels:
        return weights
    every = np.zeros((weights.shape[1], n_labels), weights.dtype).T
    every[codes] = weights
    return every


class LocalNormaliser:
    """The offsets that normalise every label's distribution after each history."""

    def __init__(self, chain: Chain) -> None:
        self._K = chain.n_labels
        self._A = chain.transitions.reshape(-1, self._K)
        self._tops = self._A.max(axis=1)
        self._factors = np.ascontiguousarray(np.exp(self._A - self._tops[:, np.newaxis]).T)

    def __call__(self, scores: NDArray[np.float64], edges: NDArray[np.float64] | None) -> NDArray[np.float64]:
        offsets, spare = np.empty((len(scores), len(self._A))), np.empty(self._K)
        if edges is None:
            memm_normalizer.normalise(scores, self._A, self._factors, self._tops, spare, offsets)
        else:
            memm_normalizer.normalise_edges(scores, self._A, edges, spare, offsets)
        return offsets


def log_sums(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """log Σ exp of each row, as a column."""
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    return top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
