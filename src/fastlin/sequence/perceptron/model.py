"""Online learning of taggers: the structured perceptron, and its passive–aggressive relatives."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.estimator import learns, reads
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitRecord
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.sequence.base import ORDER, SequenceModel, as_frozen_weights, frozen_features
from fastlin.sequence.chain import Chain, as_many_paths
from fastlin.sequence.chain_batches import Potentials
from fastlin.sequence.constraints import Constraints
from fastlin.sequence.crfsuite_names import CRFsuiteAttributes, answers_crfsuite
from fastlin.sequence.hmm.tokens import listed
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.one_sentence import FrozenWeights
from fastlin.sequence.partial_labels import LabelCodes, as_partly_labelled
from fastlin.sequence.perceptron.averaged_weights import (
    AveragedWeights,
    Changes,
    SavedWeights,
    TaggerEpochState,
    TrainingSequences,
)
from fastlin.sequence.sample_weights import weigh_sequences
from fastlin.sequence.token_scores import dense_scores, sparse_scores
from fastlin.sequence.tokens import Tokens
from fastlin.sequence.transition_weights import TransitionWeights, chain_of
from fastlin.sequence.weight_layout import lay_out
from fastlin.storage import Checkpoint
from fastlin.validation.choices import PairWeights
from fastlin.validation.parameter_kinds import ABSENT, Integer, OneOf, ParameterTable, Real, check_parameters

LOSSES = ("perceptron", "pa", "mira")  # in the order of engine/chain/tagger_online.pyx
WEIGHTS = ("dense", "observed")
MAX_MIRA_PATHS = 4096  # of a step of MIRA: their products take 128 MB


class StructuredPerceptron(CRFsuiteAttributes, SequenceModel):
    """The structured perceptron (Collins 2002), averaged, and its passive–aggressive relatives.

    s(x, y) = Σ_t θ_{y_t}·x_t + Σ_{t≥1} A(y_{t−1}, y_t) = θ·f(x, y). Of each sequence ŷ = argmax s(x, y′) is found
    and, if it is wrong,

        θ ← θ + τ Δ,    Δ = f(x, y) − f(x, ŷ),

    * "perceptron": τ = 1;
    * "pa": τ = min(C, (√d(y, ŷ) − θ·Δ) / ‖Δ‖²), where d counts the labels that differ: prediction-based PA-I
      (Crammer et al. 2006), CRFsuite's `pa`;
    * "mira": with the `n_best` best ŷ_i, the exact minimum of ½‖θ′ − θ‖² + C Σ ξ_i under θ′·Δ_i ≥ d(y, ŷ_i) − ξ_i,
      which may be a step though ŷ is right (McDonald, Crammer and Pereira 2005).

    Of labels that are known in part, y is the best of the paths that they allow, under the weights at that step.

    Among equals ŷ has the lowest labels, seen from its end. As in a `CRF`, there are no weights of starts and stops:
    mark the ends by features. Constraints hold when sequences are labelled, not in training. Probabilities are those of
    e^s, which training has not made likely: their order means something, their size does not.

    Parameters
    ----------
    order : {1, 2}
        2: triples of labels have weights, too.
    loss : {"perceptron", "pa", "mira"}
    average : bool
        Label with the mean of the weights after each sequence, θ̄ = (1/T) Σ_t θ_t.
    max_iter : int
        Epochs at most.
    tol : float or None
        Ends after an epoch that took a step for no more than this share of the sequences; None: runs all epochs.
    C : float
        For "pa" and "mira": the price of slack; inf for none.
    n_best : int
        For "mira".
    beam_width : int or None
        Search ŷ with a beam of so many states in training, and take the step at the token where the right labels have
        left it (early update, Collins and Roark 2004). None, or as many as there are states: exactly. Labelling is
        always exact.
    weights : {"dense", "observed"}
        "observed": only (feature, label) pairs and transitions that were seen in training have weights, as CRFsuite's
        `ap` and `pa` have them. `partial_fit` needs "dense".
    cutoff : int
        For weights="observed": how many tokens must have a pair, or a transition, for it to have a weight.
    features : Templates or None
        What makes features of raw tokens; None: X has them.
    constraints : str, list of pairs, array, Constraints or None
        Which labels may follow one another when sequences are labelled: "bio", "iobes", …, the allowed pairs, or a
        boolean array [K, K].
    shuffle : bool
        A new order every epoch; False takes the sequences as they come.
    random_state : int, Generator or None
        The seed of the orders.
    n_jobs : int or None
        Threads for labelling; they never change a bit.
    verbose : int
        1 prints a line an epoch.
    callback : callable or None
        `callback(model, record)` after every epoch; a true answer ends the fit.

    Attributes
    ----------
    coef_ : array of shape (n_labels, n_features)
        θ, or θ̄; a CSR when observed.
    transitions_ : array of shape (n_labels, n_labels)
        A(from, to).
    state_features_, transition_features_ : dict
        The weights that are not 0, from (feature, label) and (label before, label).
    second_order_ : array of shape (n_labels, n_labels, n_labels) or None
        What order 2 adds to A(last, to): (last but one, last, to).
    classes_ : array of shape (n_labels,)
    attributes_ : list of str or None
        The names of the columns.
    history_ : list of dict
        Of every epoch: updates (sequences that took a step), wrong (labels, each predicted before the step), loss (the
        mean over the sequences of what their steps saw), objective (the sum), seconds.
    objective_ : float
        The last record's objective.
    converged_ : bool
        Whether `tol` or the callback ended the fit, or all epochs were wanted.
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> from fastlin.sequence import StructuredPerceptron
    >>> X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> model = StructuredPerceptron(max_iter=5, random_state=0).fit(X, [["D", "N", "V"]] * 3)
    >>> model.predict([["a", "cat", "barks"], ["the", "zebra"]])
    [['D', 'N', 'V'], ['D', 'N']]
    >>> model.partial_fit([["yes"]], [["I"]]).classes_.tolist()
    ['D', 'I', 'N', 'V']
    """

    _parameters: ClassVar[ParameterTable] = SequenceModel._parameters | {
        "order": ORDER, "loss": OneOf(*LOSSES), "average": OneOf(True, False), "tol": Real(at_least=0) | ABSENT,
        "C": Real(above=0), "n_best": Integer(at_least=1), "beam_width": Integer(at_least=1) | ABSENT,
        "weights": OneOf(*WEIGHTS), "cutoff": Integer(at_least=1), "shuffle": OneOf(True, False),
    }  # fmt: skip

    history_: list[FitRecord]
    objective_: float
    converged_: bool
    n_iter_: int
    _state: AveragedWeights | None  # None: weights that do not learn, or
    _saved_weights: SavedWeights | None  # will when they are asked to
    _made: tuple[Any, NDArray[np.float64], NDArray[np.float64] | None] | None
    _generator: np.random.Generator

    @answers_crfsuite
    def __init__(
        self,
        *,
        order: int = 1,
        loss: Literal["perceptron", "pa", "mira"] = "perceptron",
        average: bool = True,
        max_iter: int = 10,
        tol: float | None = None,
        C: float = 1.0,
        n_best: int = 5,
        beam_width: int | None = None,
        weights: PairWeights = "dense",
        cutoff: int = 1,
        features: Any = None,
        constraints: Any = None,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.order = order
        self.loss = loss
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.C = C
        self.n_best = n_best
        self.beam_width = beam_width
        self.weights = weights
        self.cutoff = cutoff
        self.features = features
        self.constraints = constraints
        self.shuffle = shuffle
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
        """Learn from scratch.

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
            By which a step on each sequence, or in "pa" and "mira" C, is multiplied; 0: as if it was not there.
        checkpoint : path, optional
            A file that says where the fit stands, written between two epochs.
        checkpoint_interval : float
            Seconds between two checkpoints; 0 makes one at every epoch.
        resume : bool
            Go on from the checkpoint, if it exists: the model is that of a fit that never stopped, bit for bit.

        Returns
        -------
        self
            Unchanged, should anything be raised: bad input, Ctrl-C, an error in the callback.
        """
        model = self._working_copy()
        model._check_parameters()
        tokens, known = model._learn(X, y, lengths, sample_weight)
        state, training = model._initial_state(tokens, known)
        model._install(state, validation.as_generator(self.random_state))
        file = model._checkpoint_of(tokens, known, checkpoint, checkpoint_interval, resume)
        monitor = model._run_epochs(training, int(self.max_iter), self.tol, checkpoint=file)
        converged = monitor.converged or monitor.stopped or self.tol is None
        self._take_fitted(model._record(monitor.history, converged))
        if not converged:
            text = f"The fit did not converge in {self.max_iter} epochs to tol={self.tol}: raise max_iter or tol."
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn one epoch of these sequences on top of what is known.

        New features and labels may come in any call. Without `shuffle`, and if all labels are known from the start, the
        model does not depend on how the sequences are cut.

        Parameters
        ----------
        X, y, lengths, sample_weight
            As for `fit`; a matrix has the columns of the first.
        classes : array, optional
            Labels that may come later. Not needed.

        Returns
        -------
        self
            Ctrl-C, a step that would overflow and an error in the callback keep the steps taken so far; bad input is
            refused before the first.
        """
        weighed = weigh_sequences(listed(X), y, lengths, sample_weight)
        return self._learn_more(*weighed, classes)  # sequences are read before it is this learner's turn

    @learns
    def _learn_more(self, X: Any, y: Any, lengths: Any, weights: NDArray[np.float64], classes: Any) -> Self:
        model, first = self._working_copy(), not self.__sklearn_is_fitted__()
        model._check_parameters()
        if self.weights != "dense":
            raise ValueError("partial_fit needs weights='dense': which pairs are observed is known when all data are")
        own = None if classes is None else LabelEncoder(classes)
        if first:
            tokens, labels = model._learn(X, y, lengths)
            seen = known = model.classes_
        else:
            model._check_can_continue()
            model._copy_features()
            tokens = model._tokens_to_learn(X, lengths, self.n_features_in_)
            if not tokens.n_tokens:
                return self
            found, labels = as_partly_labelled(y, tokens)
            seen = self.classes_ if found is None else found
            known = union_of_labels(self.classes_, seen)
        labels = replace(labels, weights=weights)
        known = known if own is None else union_of_labels(known, own.classes_)
        Constraints.resolve(self.constraints, known)
        labels = labels.with_classes(label_positions(known, seen), len(known))
        model.n_features_in_, model.classes_ = tokens.rows.n_columns, known
        if first:
            state, training = model._initial_state(tokens, labels)
            model._install(state, validation.as_generator(self.random_state))
        else:
            assert model._state is not None, "what goes on has a state"
            training = _training_sequences(tokens, labels)
            state = model._state.grown(tokens.rows.n_columns, label_positions(known, self.classes_), len(known))
            model._install(state, model._generator)
        try:
            monitor = model._run_epochs(
                training, 1, None, None if first else lambda: ((self, "__dict__", self._content_of(model)),)
            )
        except BaseException as error:
            if not first or isinstance(error, KeyboardInterrupt):  # whole steps have been taken, and stay
                self._take_fitted(model._record([], converged=False))
            raise
        return self._take_fitted(model._record(monitor.history, converged=True))

    def _check_parameters(self) -> None:
        """Check what does not depend on the data."""
        check_parameters(self)
        if self.beam_width is not None and self.loss == "mira":
            raise ValueError("loss='mira' looks at the best paths, which a beam may not have: leave beam_width out")

    def _initial_state(self, tokens: Tokens, labels: LabelCodes) -> tuple[AveragedWeights, TrainingSequences]:
        """Weights that know nothing yet, and what they are to learn."""
        K, V = len(self.classes_), tokens.rows.n_columns
        if self.weights == "dense":
            weights = AveragedWeights.dense(V, K, int(self.order), bool(self.average))
            return weights, _training_sequences(tokens, labels)
        cutoff = int(self.cutoff)
        design, layout = lay_out(tokens, labels, K, True, np.full(V, cutoff, np.int64))
        transition_weights = TransitionWeights.observed(labels, tokens.starts, K, int(self.order), cutoff)
        arrays = design.indptr, design.indices, design.values, tokens.starts
        training = TrainingSequences(*arrays, labels.bind(), tokens.n_tokens, design.largest, design.n_features, K)
        return AveragedWeights.observed(layout, transition_weights, design.features, bool(self.average)), training

    def _check_can_continue(self) -> None:
        """Whether what was learnt under the present parameters can learn on."""
        if self._saved_weights is not None:
            self._install(self._saved_weights.load(), self._generator)
        if self._state is None or self._state.layout is not None:
            raise ValueError("only what was learnt with weights='dense', and saved whole, learns on: fit it anew")
        if (self._state.order, self._state.averages) != (self.order, bool(self.average)):
            raise ValueError("order and average are those of the first call: fit it anew")

    def _run_epochs(
        self,
        training: TrainingSequences,
        most: int,
        tol: float | None,
        changes: Callable[[], Changes] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> FitMonitor:
        """Run epochs; returns what they were like. The `changes` come right before the first step.

        What is already known to readers learns on in place: the changes make the names and labels known for which there
        are weights then, so that no reader has the one without the other.
        """
        state, n = self._state, len(training)
        assert state is not None, "what learns has a state"
        training.check(self.n_features_in_ if state.layout is None else len(state.layout.starts) - 1, state.n_labels)
        monitor, generator = FitMonitor(most, make_callback(self, lambda: self), checkpoint), self._generator
        monitor.register_run("epochs", TaggerEpochState(state, generator))
        counters, tagger = state.counters, state.tagger(self._rule(training))

        def choose() -> tuple[NDArray[np.int64], Changes]:
            for name in ("updates", "wrong", "loss"):
                counters[name] = 0
            order = generator.permutation(n) if self.shuffle else np.arange(n)
            return order, () if changes is None else changes()

        while not monitor.should_stop:
            monitor.maybe_save()
            training.run_epoch(state, tagger, choose, _overflow_message)
            monitor.iterations += 1
            _, updates, wrong, loss, _ = counters.item()
            record = {"epoch": monitor.iterations, "updates": updates, "wrong": wrong}
            monitor.converged = tol is not None and updates <= tol * n
            monitor.log_record({**record, "loss": loss / n, "objective": loss, "seconds": monitor.seconds})
        return monitor

    def _rule(self, training: TrainingSequences) -> dict[str, Any]:
        """The fields of `engine/chain/tagger_online.pyx`'s Rule."""
        K, longest = len(self.classes_), int(np.diff(training.starts).max(initial=0))
        width = 0 if self.beam_width is None or self.beam_width >= K**self.order else self.beam_width
        n_best = as_many_paths(self.n_best, K, longest) if self.loss == "mira" else 1
        if n_best > MAX_MIRA_PATHS:
            raise ValueError(
                f"n_best={self.n_best}: a step compares each path with each, of {MAX_MIRA_PATHS} paths at most; "
                f"there are {n_best} of {longest} tokens with {K} labels"
            )
        return {"loss": LOSSES.index(self.loss), "n_best": n_best, "beam_width": width, "C": float(self.C)}

    def _install(self, state: AveragedWeights, generator: np.random.Generator) -> Self:
        self._state, self._saved_weights, self._generator, self._made = state, None, generator, None
        return self

    def _snapshot(self) -> Self:
        view = super()._snapshot()
        state: AveragedWeights | None = view.__dict__.get("_state")
        if view is self or state is None:
            return view
        if (cached_weights := state.cached_weights(view.n_features_in_)) is not None:
            view._made = cached_weights
            return view
        return self._view_of_state(lambda view: view._cache_weights())

    def _cache_weights(self) -> None:
        """Keep the weights as they are now."""
        assert self._state is not None, "what does not learn has been made"
        self._made = self._state.current_weights(self.n_features_in_)

    def _lasting(self) -> Self:
        view = self._view_of_state(lambda view: view._own_weights())
        if "_generator" in view.__dict__:
            view._generator = copy.deepcopy(view._generator)
        return view

    def _own_weights(self) -> None:
        """Have weights that nobody else changes."""
        assert self._state is not None, "it is looked at"
        self._state, self._made = self._state.copied(self.n_features_in_), None

    def _learning_state(self) -> dict[str, Any] | None:
        """What a file needs so that the model learns on."""
        saved = self._saved_weights
        if self._state is not None and self._state.layout is None:
            saved = SavedWeights.of(self._state, self.n_features_in_)
        return None if saved is None else saved.learning

    def _record(self, history: list[FitRecord], converged: bool) -> Self:
        self.history_, self.n_iter_, self.converged_ = history, len(history), converged
        self.objective_ = history[-1]["objective"] if history else np.nan
        return self

    # What was learnt

    def _weights(self) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]:
        """Weights of features [V, K], of transitions, and what order 2 adds."""
        self._check_fitted()
        if self._made is not None:
            return self._made
        assert self._state is not None, "what does not learn has been made"
        return self._state.current_weights(self.n_features_in_)  # its own

    @property
    @reads
    def coef_(self) -> Any:
        """θ, or θ̄."""
        weights = self._weights()[0]
        return weights.T.tocsr() if sp.issparse(weights) else weights.T

    @property
    @reads
    def transitions_(self) -> NDArray[np.float64]:
        """A(from, to)."""
        return self._weights()[1]

    @property
    @reads
    def second_order_(self) -> NDArray[np.float64] | None:
        """What order 2 adds to A(last, to)."""
        return self._weights()[2]

    def _frozen_sources(self, known: dict[str, Any]) -> tuple[Any, ...] | None:
        state: AveragedWeights | None = known["_state"]
        made = known["_made"]  # a view has those of its moment
        if made is None and state is not None:
            made = state.cached_weights(known["n_features_in_"])
        return None if made is None else (made, *frozen_features(known))

    def _frozen_weights(self) -> FrozenWeights:
        weights, two, three = self._weights()
        if not sp.issparse(weights):
            weights = np.require(weights, validation.as_real(weights), ["C", "A"])
        watched = [two] if three is None else [two, three]
        return FrozenWeights(as_frozen_weights(weights), self._chain(), self.classes_.tolist(), watched)

    def _chain(self) -> Chain:
        return chain_of(*self._weights()[1:])

    def _potential(self) -> Any:
        weights = self._weights()[0]
        if not sp.issparse(weights):
            weights = np.require(weights, validation.as_real(weights), ["C", "A"])
        score = sparse_scores if sp.issparse(weights) else dense_scores
        return lambda tokens, start, stop: Potentials(score(tokens, weights, start, stop))


def _training_sequences(tokens: Tokens, labels: LabelCodes) -> TrainingSequences:
    """Tokens whose features are numbered by their columns."""
    rows = tokens.rows
    arrays = rows.indptr, rows.indices, rows.values, tokens.starts, labels.bind(), tokens.n_tokens
    return TrainingSequences(*arrays, rows.largest, rows.n_columns, labels.n_labels)


def _overflow_message(sequence: int) -> str:
    return f"the step of sequence {sequence} would overflow the weights: scale the features"
