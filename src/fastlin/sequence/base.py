"""What all models of sequences share: tokens in, potentials of a chain, inference in blocks, labels out."""

import contextlib
import copy
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from fastlin import storage, validation
from fastlin.core.estimator import Estimator, reads
from fastlin.runtime import parallel
from fastlin.sequence.chain import Chain
from fastlin.sequence.chain_batches import ChainBatch, ChainBatches, Potential
from fastlin.sequence.constraints import Constraints, as_allowed
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.label_lists import LabelLists, as_lists
from fastlin.sequence.one_sentence import MAX_TOKENS, FrozenTagger, FrozenWeights
from fastlin.sequence.partial_labels import LabelCodes, as_partly_labelled
from fastlin.sequence.sample_weights import token_weights, weigh_sequences
from fastlin.sequence.token_scores import as_sparse
from fastlin.sequence.tokens import Attributes, Tokens, as_tokens, is_matrix
from fastlin.validation.parameter_kinds import ABSENT, PLAIN, RUN, Integer, Kind, ParameterTable, estimator

ORDER = Integer(at_least=1, at_most=2)


class Derived:
    """A cache of what is made of attributes that users may set, valid for as long as they are the same objects."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Any, Any]] = {}
        self.tagger: FrozenTagger | None = None  # of the objects that it says

    def of(self, name: str, source: Any, make: Callable[[], Any]) -> Any:
        """make(), of the source with this name; made once, unless two threads are at it at once."""
        kept = self._made.get(name)
        if kept is None or kept[0] is not source:
            kept = self._made[name] = source, make()
        return kept[1]


class SequenceModel(Estimator, ABC):
    """A model p(y | x) ∝ e^{s(x, y)} of the labels y of the tokens x of a sequence, where s is a sum along a chain.

    A subclass has the parameters `order`, `features`, `constraints` and `n_jobs`, and says its `_chain` and its
    `_potential`. Its `fit` works on a copy, which it becomes at the end.
    """

    _parameters: ClassVar[ParameterTable] = RUN | {
        "order": Kind(ORDER.allows, ORDER.wording),
        "max_iter": Integer(at_least=1), "features": estimator("tokens") | ABSENT, "constraints": PLAIN,
    }  # fmt: skip

    order: int
    features: Any
    constraints: Any
    n_jobs: int | None

    classes_: NDArray[Any]
    n_features_in_: int
    features_: Any
    _attributes: Attributes | None
    file_columns_: Any  # of files that `fastlin tag` has learnt from
    _derived: Derived

    # What a subclass says

    @abstractmethod
    def _chain(self) -> Chain:
        """The scores of transitions, starts and ends, without constraints."""

    @abstractmethod
    def _potential(self) -> Potential:
        """What makes the potentials of tokens, new arrays, with the weights as they are now."""

    # States

    def _snapshot(self) -> Self:
        view = super()._snapshot()
        if "_derived" not in view.__dict__:  # of no state: what it keeps is asked for by its source
            view.__dict__["_derived"] = self.__dict__.setdefault("_derived", Derived())
        return view

    def _working_copy(self) -> Self:
        model = super()._working_copy()
        model.__dict__.pop("_derived", None)
        return model

    def _view_of_state(self, look: Callable[[Self], None]) -> Self:
        """A view whose `_state`, which is learnt in place, was looked at while nobody learnt."""
        while True:
            state = self.__dict__.get("_state")
            if state is None:
                return SequenceModel._snapshot(self)
            with state.lock.reading():
                view = SequenceModel._snapshot(self)
                if view.__dict__.get("_state") is state:  # nobody has put another in place
                    look(view)
                    return view

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_derived", None)
        if state.get("_attributes") is not None:
            state["_attributes"] = copy.copy(state["_attributes"])
        if isinstance(state.get("features_"), Estimator):
            state["features_"] = state["features_"]._working_copy()
        return state

    # Inference

    def predict(self, X: Any, *, lengths: Any = None, allowed: Any = None) -> list[list[Any]]:
        """The labels of the best path of each sequence; the first of `classes_` among equals.

        One sequence alone goes a shorter way, as in `predict_one`.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            A sequence is a list of tokens: strings, lists of strings or dicts.
        lengths : array of shape (n_sequences,), optional
            How many tokens each sequence has; with a CSR.
        allowed : list, optional
            For each sequence None or a list that says of each token None (any label), a label, or a set of labels.

        Returns
        -------
        list of lists of labels
        """
        if lengths is None and allowed is None and type(X) is list and len(X) == 1:
            labels = self._tag_one(X[0])
            if labels is not None:
                return LabelLists([labels])
        return self._predict(X, lengths, allowed)

    def predict_one(self, tokens: Any, *, allowed: Any = None) -> list[Any]:
        """The labels of one sequence: `predict([tokens])[0]`.

        Parameters
        ----------
        tokens : list of tokens
        allowed : list, optional
            None (any label), a label, or a set of labels for each token.

        Returns
        -------
        list of labels
        """
        labels = self._tag_one(tokens) if allowed is None else None
        return self._predict([tokens], None, None if allowed is None else [allowed])[0] if labels is None else labels

    def predict_single(self, xseq: Any) -> list[Any]:
        """`predict_one`, by the name that sklearn-crfsuite has for it.

        Parameters
        ----------
        xseq : list of tokens

        Returns
        -------
        list of labels
            One for each token.
        """
        return self.predict_one(xseq)

    def predict_marginals_single(self, xseq: Any) -> list[dict[Any, float]]:
        """p(y_t = k | x) of one sequence as a dict from labels for each token, as sklearn-crfsuite has it.

        Parameters
        ----------
        xseq : list of tokens

        Returns
        -------
        list of dict
            For each token p of every label; they sum to 1.
        """
        p, labels = self.predict_marginals([xseq])[0], self.classes_.tolist()
        return [dict(zip(labels, row, strict=True)) for row in p.tolist()]

    @reads
    def _predict(self, X: Any, lengths: Any, allowed: Any) -> list[list[Any]]:
        tokens, codes = self._best(X, lengths, allowed)
        return LabelLists(LabelEncoder(self.classes_).lists(codes, tokens.starts))

    @reads
    def predict_marginals(self, X: Any, *, lengths: Any = None, allowed: Any = None) -> list[NDArray[np.float64]]:
        """p(y_t = k | x) for each sequence, [T, K], columns as `classes_`.

        The parameters are those of `predict`.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            What `predict` takes.
        lengths : array of shape (n_sequences,), optional
            With a CSR: tokens a sequence.
        allowed : list, optional
            Which labels tokens may have, as for `predict`.

        Returns
        -------
        list of arrays of shape (n_tokens, n_labels)
            One for each sequence; each row sums to 1.
        """
        tokens = self._tokens(X, lengths)
        p = np.empty((tokens.n_tokens, len(self.classes_)))

        def infer(block: ChainBatch) -> None:
            p[block.tokens] = block.infer("marginals")[0]

        self._infer(tokens, allowed, infer)
        return np.split(p, tokens.starts[1:-1]) if len(tokens) else []

    @reads
    def predict_nbest(
        self, X: Any, n: int, *, lengths: Any = None, allowed: Any = None
    ) -> list[list[tuple[list[Any], float]]]:
        """The n best paths of each sequence, or as many as there are: (labels, log p(labels | x)), best first.

        The other parameters are those of `predict`.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            What `predict` takes.
        n : int
            Paths a sequence, at most.
        lengths : array of shape (n_sequences,), optional
            With a CSR: tokens a sequence.
        allowed : list, optional
            Which labels tokens may have, as for `predict`.

        Returns
        -------
        list of lists of (list of labels, float)
            For each sequence its paths and their ln p, falling.
        """
        n = validation.whole_number("n", n, 1)
        tokens = self._tokens(X, lengths)
        names = self.classes_.tolist()

        def infer(block: ChainBatch) -> list[list[tuple[list[Any], float]]]:
            log_z = self._log_z(block)
            found = block.infer("nbest", n=n)
            return [
                [([names[code] for code in codes.tolist()], min(float(value - total), 0.0)) for codes, value in paths]
                for paths, total in zip(found, log_z, strict=True)
            ]

        return [paths for block in self._infer(tokens, allowed, infer) for paths in block]

    @reads
    def log_proba(self, X: Any, y: Any, *, lengths: Any = None, allowed: Any = None) -> NDArray[np.float64]:
        """log p(y | x) of each sequence; −∞ for labels that are unknown, or that the constraints do not allow.

        Parameters
        ----------
        X, lengths, allowed
            As for `predict`.
        y : list of lists of labels, or with a CSR one array

        Returns
        -------
        array of shape (n_sequences,)
            Natural logarithms, at most 0.
        """
        tokens = self._tokens(X, lengths)
        codes = self._codes(y, tokens)
        unknown, codes = codes < 0, np.maximum(codes, 0)
        values = np.empty(len(tokens))

        def infer(block: ChainBatch) -> None:
            found = block.infer("values", labels=codes[block.tokens])
            values[block.sequences] = np.minimum(found - self._log_z(block), 0.0)  # rounding may be above

        self._infer(tokens, allowed, infer)
        values[tokens.sequence_of(np.flatnonzero(unknown))] = -np.inf
        return values

    @reads
    def score(self, X: Any, y: Any, *, lengths: Any = None, allowed: Any = None, sample_weight: Any = None) -> float:
        """The share of the tokens that get their label; one that is unknown is never got right.

        Parameters
        ----------
        X : list of sequences, or CSR of shape (n_tokens, n_features)
            What `predict` takes.
        y : list of lists of labels, or with a CSR one array
            The right label of each token.
        lengths : array of shape (n_sequences,), optional
            With a CSR: tokens a sequence.
        allowed : list, optional
            Which labels tokens may have, as for `predict`.
        sample_weight : array of shape (n_sequences,), optional
            How much the tokens of each sequence count.

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        ValueError
            If there are no tokens, or none of a weight above 0.
        """
        tokens, best = self._best(X, lengths, allowed)
        if not tokens.n_tokens:
            raise ValueError("X has no tokens: there is no accuracy")
        weights = token_weights(sample_weight, tokens.starts)
        if weights is not None and not weights.any():
            raise ValueError("sample_weight is 0 for all tokens: there is no accuracy")
        return float(np.average(best == self._codes(y, tokens), weights=weights))

    def _best(self, X: Any, lengths: Any, allowed: Any) -> tuple[Tokens, NDArray[np.int32]]:
        """The tokens, and the code of each in the path that is predicted."""
        tokens = self._tokens(X, lengths)
        codes = np.empty(tokens.n_tokens, np.int32)

        def infer(block: ChainBatch) -> None:
            codes[block.tokens] = self._path(block)

        self._infer(tokens, allowed, infer)
        return tokens, codes

    def _edge_weights(self) -> Any:
        """`edge_coef_`, or None, as kernels may have it; proved once."""
        edges: Any = getattr(self, "edge_coef_", None)
        if edges is None:
            return None
        shape = self.n_features_in_, len(self.classes_) ** 2
        if edges.shape != shape:
            raise ValueError(f"edge_coef_ must have the shape {shape}, got {edges.shape}")
        return self._derived.of("edge_coef_", edges, lambda: as_sparse("edge_coef_", edges, shape))

    def _path(self, block: ChainBatch) -> NDArray[np.int32]:
        """The codes predicted for a block."""
        return block.infer("viterbi")[0]

    def _log_z(self, block: ChainBatch) -> NDArray[np.float64]:
        """log Σ e^s over all the paths of each sequence of a block."""
        return block.infer("marginals")[1]

    def _infer(self, tokens: Tokens, allowed: Any, infer: Callable[[ChainBatch], Any]) -> list[Any]:
        """infer(block) of sequences in blocks of bounded work, in threads, in the order of the blocks."""
        validation.check_n_jobs(self.n_jobs)
        view = self._batches(tokens, allowed)
        with parallel.WorkerPool(self.n_jobs) as workers:
            return workers.map(lambda first, last: infer(view.block(first, last)), view.cuts())

    def _batches(self, tokens: Tokens, allowed: Any) -> ChainBatches:
        """Tokens under the constraints, and with the labels that are `allowed`."""
        chain, potential = self._chain(), self._potential()
        if chain.n_labels != len(self.classes_):
            raise ValueError(f"classes_ has {len(self.classes_)} labels, but the model has weights of {chain.n_labels}")
        rules = Constraints.resolve(self.constraints, self.classes_)
        chain = chain if rules is None else rules.restrict(chain)
        return ChainBatches(tokens, chain, potential, as_allowed(allowed, tokens, self.classes_))

    @reads
    def _explain_token(self, tokens: Any, place: int, label: Any) -> Any:
        """What `fastlin.inspection.explain_token` returns."""
        from fastlin.sequence.token_explanation import explain_token  # with all of inspection: nobody else needs it

        return explain_token(self, tokens, place, label)

    # One sentence

    def _tag_one(self, sentence: Any) -> list[Any] | None:
        """The labels of a sentence by a tagger that is kept with what was learnt; None: that must go the long way.

        A learner puts another dictionary in place: what is read of this one is of one moment.
        """
        known = self.__dict__
        derived = known.get("_derived")
        kind = type(sentence)
        if derived is None or "classes_" not in known or kind not in (list, tuple) or len(sentence) > MAX_TOKENS:
            return None
        sources = self._frozen_sources(known)
        if sources is None:
            return None
        tagger = derived.tagger
        if tagger is None or not tagger.fits(sources):
            tagger = self._snapshot()._freeze()
            if tagger is None:
                return None
        return tagger.tag(sentence)

    def _freeze(self) -> FrozenTagger | None:
        """A tagger of this view, kept."""
        sources = self._frozen_sources(self.__dict__)
        constraints = self.constraints
        if sources is None or not (constraints is None or isinstance(constraints, str | Constraints)):
            return None  # what may be changed in place must be read anew
        try:
            validation.check_n_jobs(self.n_jobs)
            frozen = self._frozen_weights()
            rules = Constraints.resolve(constraints, self.classes_)
            templates = None if self.features_ is None else self.features_.sentence_reader()
            names = None if self._attributes is None else self._attributes.table
            if (templates is None) == (names is None):
                return None
            if templates is not None and len(templates) != self.n_features_in_:  # they have learnt more since
                return None
            if rules is not None:
                frozen = frozen._replace(chain=rules.restrict(frozen.chain))
            tagger = FrozenTagger(sources, frozen, names, templates)
        except ValueError:  # the long way says what is wrong
            return None
        self._derived.tagger = tagger
        return tagger

    def _frozen_sources(self, known: dict[str, Any]) -> tuple[Any, ...] | None:  # noqa: ARG002
        """The objects that a frozen tagger is made of; None: there can be none."""
        return None

    def _frozen_weights(self) -> FrozenWeights:
        """What a frozen tagger is made of, where `_frozen_sources` says that there can be one."""
        raise TypeError(f"{type(self).__name__} has no frozen tagger")

    # Checkpoints

    def _checkpoint_of(
        self, tokens: Tokens, labels: LabelCodes, path: Any, checkpoint_interval: Any, resume: Any, **given: Any
    ) -> storage.Checkpoint:
        """The file of a fit of these tokens, known by the arrays made of them: X may have been read once, and be gone.

        `given` are the other arguments of `fit`.
        """
        identity: dict[str, Any] = {}
        if path is not None:
            rows = tokens.rows
            arrays = rows.indptr, rows.indices[: rows.nnz], rows.values[: rows.nnz], tokens.starts
            identity = storage.identity(
                self, {}, tokens=arrays, labels=(self.classes_, *labels.identity), attributes=self.attributes_, **given
            )
        return storage.Checkpoint(path, checkpoint_interval, resume, identity)

    # Reading

    @property
    @reads
    def attributes_(self) -> list[str] | None:
        """The names of the features in the order of the columns; None where X was a matrix."""
        self._check_fitted()
        if self.features_ is not None:
            return self.features_.get_feature_names_out().tolist()
        return None if self._attributes is None else self._attributes.names

    def _tokens(self, X: Any, lengths: Any) -> Tokens:
        """Tokens to predict for."""
        self._check_fitted()
        X = as_lists(X)
        if self.features_ is not None and not is_matrix(X):
            tokens = self._templated(X, lengths, learn=False)
            if tokens.rows.n_columns != self.n_features_in_:  # the templates have learnt more since
                raise ValueError(
                    f"features_ makes {tokens.rows.n_columns} features, but the model has {self.n_features_in_}"
                )
            return tokens
        return as_tokens(X, lengths, self._attributes, learn=False, n_columns=self.n_features_in_)

    def _templated(self, X: Any, lengths: Any, *, learn: bool) -> Tokens:
        """What the templates make of raw tokens."""
        if lengths is not None:
            raise TypeError("lengths belong to a matrix of tokens; sequences of tokens have lengths of their own")
        return Tokens(*self.features_.tokens(X, learn=learn))

    def _codes(self, y: Any, tokens: Tokens) -> NDArray[np.int32]:
        """The codes of given labels; −1 for those unknown."""
        return LabelEncoder(self.classes_).codes(as_lists(y), tokens, unseen=-1)

    def _learn(self, X: Any, y: Any, lengths: Any, sample_weight: Any = None) -> tuple[Tokens, LabelCodes]:
        """Tokens and codes to fit this copy of the model to; sets what is known of the columns, and `classes_`."""
        self._check_shared()
        X, y, lengths, weights = weigh_sequences(as_lists(X), y, lengths, sample_weight)
        self._reset_features(X)
        tokens = self._tokens_to_learn(X, lengths, None)
        classes, labels = as_known_labels(y, tokens)
        labels = replace(labels, weights=weights)
        self.n_features_in_, self.classes_ = tokens.rows.n_columns, classes
        Constraints.resolve(self.constraints, self.classes_)
        return tokens, labels

    def _check_shared(self) -> None:
        """Check the parameters that all models of sequences have, but for constraints, which need the labels."""
        if not isinstance(self.order, numbers.Real) or isinstance(self.order, bool) or self.order not in (1, 2):
            raise ValueError(f"order must be 1 or 2, got {self.order!r}")
        if self.features is not None and not hasattr(self.features, "tokens"):
            raise TypeError(f"features must be None or Templates, got {self.features!r:.60}")

    def _reset_features(self, X: Any) -> None:
        """Know nothing of the features of tokens that are like those of X."""
        templates = self.features is not None and not is_matrix(X)
        self.features_ = sklearn.clone(self.features) if templates else None
        self._attributes = None if templates or is_matrix(X) else Attributes(self._first_names())

    def _tokens_to_learn(self, X: Any, lengths: Any, n_columns: int | None) -> Tokens:
        """Tokens whose features may be new; a matrix has so many columns, or any number."""
        X = as_lists(X)
        if self.features_ is not None and not is_matrix(X):
            tokens = self._templated(X, lengths, learn=True)
        else:
            tokens = as_tokens(X, lengths, self._attributes, learn=True, n_columns=n_columns)
        if not len(tokens):
            raise ValueError("X holds no sequence to learn from")
        return tokens

    def _copy_features(self) -> None:
        """Names that this copy may add to, while others read with those that there are."""
        self._attributes = copy.copy(self._attributes)
        if isinstance(self.features_, Estimator):
            self.features_ = self.features_._working_copy()

    def _first_names(self) -> list[str]:
        """Features that have the first columns, whether a token has them or not."""
        return []

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            ways = "fit or partial_fit" if hasattr(self, "partial_fit") else "fit"
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call {ways} first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def as_known_labels(y: Any, tokens: Tokens) -> tuple[NDArray[Any], LabelCodes]:
    """`as_partly_labelled` of labels of which some must be known."""
    classes, labels = as_partly_labelled(y, tokens)
    if classes is None:
        with contextlib.suppress(TypeError):
            LabelEncoder().learn(y, tokens)  # says what sentences without a column of labels have
        raise ValueError("y holds no label that is known")
    if not labels.complete and classes.tolist() == [1]:
        raise ValueError(
            "y holds 1 and -1, which stands for a label that is not known: give the labels other numbers, as 0 and 1"
        )
    return classes, labels


def frozen_features(known: dict[str, Any]) -> tuple[Any, ...]:
    """What a frozen tagger depends on beside weights: parameters, labels, names, what templates have learnt."""
    features = known["features_"]
    index = None if features is None else features.__dict__.get("_index")
    return known["constraints"], known["n_jobs"], known["classes_"], known["_attributes"], features, index


def as_frozen_weights(weights: Any) -> Any:
    """Weights [V, K] as `SentenceTagger` takes them."""
    if not sp.issparse(weights):
        return weights
    return (
        weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data.astype(np.float64)
    )  # fmt: skip
