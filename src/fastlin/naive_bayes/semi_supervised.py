"""Naive Bayes from documents of which only some have labels."""

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.class_counts import ClassCounts, SmoothingPrior, as_prior
from fastlin.core.dataset import DatasetView
from fastlin.core.em_loop import EM, EarlyStopping, EMResult, SparseEMEstimator, best_run
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitGenerator, FitMonitor
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.restarts import decisive_limits
from fastlin.core.stratified_split import stratified_split
from fastlin.mixture.class_components import Families, families_of, several, single
from fastlin.mixture.merged_columns import MergedPartitions
from fastlin.mixture.multinomial_em import MultinomialEM
from fastlin.mixture.online_em import OnlineEM
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.mixture.per_class_init import PerClassInitializer
from fastlin.naive_bayes.component_classifier import ComponentClassifier
from fastlin.runtime import parallel
from fastlin.validation.parameter_kinds import (
    ABSENT,
    LABEL_PRIOR,
    LABEL_WEIGHTS,
    NUMBERS,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

Floats = NDArray[np.float64]
MAX_LABEL_SHARE = 0.9  # of the documents without a label under one label: more is no reading of the others


class ComponentLayout(NamedTuple):
    """Documents as EM takes them: what is counted once, and the rows that are inferred again and again."""

    documents: PartlyLabelledDocuments
    families: Families
    known: ClassCounts
    parts: MergedPartitions


class SemiSupervisedNB(ComponentClassifier, SparseEMEstimator):
    """Multinomial naive Bayes that learns from documents with and without labels, by EM.

    Maximises Σ log p(x, y) over documents with a label + λ Σ log p(x) over those without, of the model of MultinomialNB
    with p(x, y) = μ_y Σ_c ψ_c Π_j φ_cj^{x_j}, where c runs over the components of the label y. It begins with what the
    labels say; then documents without a label are counted under every component in proportion to p(c | x), those with
    a label under its components, and so on. Without documents to infer it is MultinomialNB, bit for bit.

    Parameters
    ----------
    alpha : float or array of shape (n_features,)
        Pseudo-counts, for every component. With thousands of words and few labelled documents 1 is far too much, and EM
        then learns less than nothing from the others: take 0.01.
    unlabeled_weight : float
        λ: how much a document without a label counts; 0 leaves them out.
    components : int, dict or array of shape (n_labels,)
        How many components a label has; a dict says it of some labels, an array of all in their order.
    fit_prior : bool
        μ by the counts, expected ones included, or uniform.
    class_prior : array of shape (n_labels,), optional
        μ itself.
    base_measure : array of shape (n_features,), optional
        ρ, which shares out the pseudo-counts, αVρ_j; uniform when not given.
    tol : float
        An iteration that raises the objective by no more, per document, is the last but one.
    max_iter : int
    n_init : int
        Starts, of which the one with the best bound is kept; labels with several components begin at random places.
    early_stopping : bool
        The accuracy on validation data says when to stop, and the iteration where it is best is kept.
    validation_fraction : float
        Held out of the labelled rows for early stopping, where `fit` is given no validation data.
    n_iter_no_change : int
        Iterations without a better accuracy that stop early.
    random_state : int, RandomState, Generator or None
        Draws the starts of components, and the rows that are held out.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    verbose : int
        1 prints a line an iteration.
    callback : callable or None
        `callback(model, record)` after every iteration, with the record of `history_`; a true answer ends the fit.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    component_classes_ : array of shape (n_components,)
        The label of each component: all of the first label, then all of the second, …
    component_count_ : array of shape (n_components,)
        Documents of each component, weighted and expected.
    class_count_ : array of shape (n_labels,)
        The same of each label.
    class_log_prior_ : array of shape (n_labels,)
        log μ.
    feature_count_ : array of shape (n_components, n_features)
        Expected counts.
    feature_log_prob_ : array of shape (n_components, n_features)
        log φ.
    bound_ : array of shape (n_iter_ + 1,)
        What is maximised, Σ αVρ_j log φ_cj included, before the first iteration and after each: it never falls.
    restart_scores_ : array of shape (n_runs,)
        Where each start ended: its last bound, or with `early_stopping` its best accuracy.
    objective_ : float
        Its negative for the model that was kept.
    history_ : list of dict
        One record an iteration: seconds, objective and, with validation data, val_score.
    converged_ : bool
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import SemiSupervisedNB
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0, 0], [0, 0, 1, 2], [1, 2, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
    >>> model = SemiSupervisedNB(alpha=0.1).fit(X, ["a", "b", None, None, None])
    >>> model.predict(X).tolist()
    ['a', 'b', 'a', 'a', 'b']
    """

    _parameters: ClassVar[ParameterTable] = EM | LABEL_PRIOR | {
        "alpha": NUMBERS, "base_measure": NUMBERS | ABSENT, "unlabeled_weight": Real(at_least=0, at_most=1e100),
        "components": NUMBERS | LABEL_WEIGHTS, "early_stopping": OneOf(True, False),
        "validation_fraction": Real(above=0, below=1), "n_iter_no_change": Integer(at_least=1),
    }  # fmt: skip

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        unlabeled_weight: float = 1.0,
        components: Any = 1,
        fit_prior: bool = True,
        class_prior: Any = None,
        base_measure: Any = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.alpha = alpha
        self.unlabeled_weight = unlabeled_weight
        self.components = components
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.base_measure = base_measure
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    # Learning

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,
        X_unlabeled: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the most likely parameters from labelled and unlabelled documents together.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Non-negative. A corpus on disk stays there.
        y : array of shape (n_samples,)
            Labels: strings or integers. −1, "-1", "", None or NaN (of pandas, too) stands for no label. None with a
            Corpus, whose labels −1, "-1" and "" mean the same.
        X_unlabeled : matrix of shape (n_unlabeled, n_features) or Corpus, optional
            Further documents without labels; a corpus may have weights.
        sample_weight : array of shape (n_samples,), optional
            Of the rows of X; those without a label weigh λ times as much. None with a Corpus.
        X_val, y_val : optional
            Labelled rows, or a Corpus, to validate on: their accuracy is recorded in `history_` and, with
            `early_stopping`, decides.
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
        check_parameters(model)
        documents = model._documents(X, y, X_unlabeled, sample_weight, reset=True)
        model._check_labels(documents, documents.classes)
        model._check_for(documents)
        given = {"X_val": X_val, "y_val": y_val, **decisive_limits(self.n_init, self.max_iter, self.tol)}
        file = model._checkpoint_of(documents, checkpoint, checkpoint_interval, resume, **given)
        monitor, held = FitMonitor(self.max_iter, checkpoint=file), None
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        if X_val is not None or y_val is not None:
            held = model._read_validation(X_val, y_val, documents.classes, documents.views[0].dataset)
        elif self.early_stopping:
            codes = documents.codes
            there = np.flatnonzero(codes >= 0)
            chosen = there[stratified_split(codes[there], float(self.validation_fraction), generator.generator)[1]]
            held, documents = documents.views[0].take(chosen), documents.without(chosen)
            model._check_beginning(documents)
        run = model._fit_layout(model._lay_out(documents), held, generator, monitor)
        self._take_fitted(model)
        self._warn_of_run(run)
        self._warn_of_crowding(documents)
        return self

    @learns
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, X_unlabeled: Any = None
    ) -> Self:
        """Add documents to the counts: online EM, each document is inferred once.

        Documents whose component is known, because their label has one, are counted first, as MultinomialNB does it.
        A label that is new and has several components gets them by k-means and one iteration of EM among its own
        documents. The other documents of the call are then inferred under all that is counted so far, and their
        expected counts are added, λ times where they have no label.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            As in `fit`; labels may appear in any call. None with a Corpus.
        classes : array, optional
            Labels that may come later. As in scikit-learn, but not needed; what stands for no label is left aside.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.
        X_unlabeled : matrix of shape (n_unlabeled, n_features) or Corpus, optional

        Returns
        -------
        self
            Ctrl-C keeps the whole blocks that are counted so far; bad input is refused before the first.
        """
        model, first = self._working_copy(), not hasattr(self, "classes_")
        check_parameters(model)
        documents = model._documents(X, y, X_unlabeled, sample_weight, reset=first)
        seen = documents.classes
        known = seen if first else union_of_labels(self.classes_, seen) if len(seen) else self.classes_
        if classes is not None:
            announced = validation.as_classes(classes)
            announced = announced[validation.places_of_labels(announced) >= 0]
            known = union_of_labels(known, announced) if len(known) else announced
        model._check_labels(documents, known)
        n_rows = documents.n_rows if first else max(documents.n_rows, len(self._counts.labels))
        families = families_of(self.components, known, n_rows, strict=False)
        prior = self._prior(documents.n_columns, len(known))
        if first:
            counts = ClassCounts.zeros(documents.n_columns, int(families[-1]), prior)
        else:
            place = self._places(known, families)
            counts = self._counts.resized(prior, place, int(families[-1]), documents.n_columns)
        documents = documents.among(known, label_positions(known, seen))
        if documents.views_of(several(families, unlabelled=self.unlabeled_weight > 0)):
            counts = counts.copy_for_reading()  # until what is inferred is counted, too
        for _ in documents.blocks(np.ones(len(known) + 1, bool)):  # what they hold is refused before the first count
            pass
        generator = validation.as_generator(self.random_state)
        model._forget_fit()
        try:
            OnlineEM(families, counts, self.unlabeled_weight, self.n_jobs).add(documents, generator)
        finally:  # after Ctrl-C, what the whole blocks said
            self._take_fitted(model._install(known, families, counts.settle()))
        return self

    # Parts

    def _check_for(self, documents: PartlyLabelledDocuments) -> None:
        """Check what depends on the documents, too."""
        check_parameters(self)
        families_of(self.components, documents.classes, documents.n_rows, strict=True)
        prior = self._prior(documents.n_columns, len(documents.classes)).labels
        never = np.zeros(0) if prior is None else np.isneginf(prior)
        if never.any():
            label = documents.classes.tolist()[int(np.argmax(never))]
            raise ValueError(f"class_prior is 0 for the label {label!r}, which has documents: they could never be")

    def _lay_out(self, documents: PartlyLabelledDocuments) -> ComponentLayout:
        """Count what is known, and lay out the rest: the same for any number as alpha."""
        families = families_of(self.components, documents.classes, documents.n_rows, strict=True)
        n_columns = documents.n_columns
        width, prior = int(families[-1]), self._prior(n_columns, len(documents.classes))
        known = ClassCounts.zeros(n_columns, width, prior)
        documents.count(single(families), families, known, self.n_jobs, keep=False)
        inferred = several(families, unlabelled=self.unlabeled_weight > 0)
        parts = documents.lay_out(inferred, self.unlabeled_weight, width, known, prior)
        return ComponentLayout(documents, families, known, parts)

    def _fit_layout(
        self,
        layout: ComponentLayout,
        held: DatasetView | None,
        generator: FitGenerator,
        monitor: FitMonitor,
        stop: NDArray[np.int32] | None = None,
    ) -> EMResult:
        """Take over what EM comes to from the best of its starts; `stop` is that of workers whose job this is."""
        documents, families, known, parts = layout
        prior = self._prior(documents.n_columns, len(documents.classes))
        limit = self.n_iter_no_change if self.early_stopping else None
        with parallel.WorkerPool(self.n_jobs, stop) as workers:
            em = MultinomialEM(parts, families, prior, known, documents.n_columns, workers)
            starts = PerClassInitializer(parts, families, generator.generator, workers)
            monitor.report = make_callback(self, lambda: self._install(documents.classes, families, em.counts()))

            def accuracy(counts: ClassCounts) -> float:
                assert held is not None
                return self._install(documents.classes, families, counts)._accuracy(held)

            def begin() -> None:
                em.start(starts.within_labels() if starts else None, keep=True)

            best = best_run(
                em,
                monitor,
                self.tol,
                self.n_init if starts else 1,
                begin,
                generator,
                lambda: None if held is None else EarlyStopping(accuracy, limit),
            )
        self._install(documents.classes, families, best.counts)._record_fit(best)
        return best

    def _warn_of_crowding(self, documents: PartlyLabelledDocuments) -> None:
        """Say when the documents without a label have nearly all gone under a label that few of the others have."""
        of_labels = documents.label_weights()
        gained = self.class_count_ - of_labels
        if not gained.sum() > 0:
            return
        shares, usual = gained / gained.sum(), of_labels / of_labels.sum()
        label = int(np.argmax(shares))
        if shares[label] > MAX_LABEL_SHARE and usual[label] < MAX_LABEL_SHARE / 2:
            warnings.warn(
                f"{shares[label]:.0%} of the documents without a label are under {self.classes_.tolist()[label]!r}, "
                f"which {usual[label]:.0%} of the others have: EM tells clusters apart that are not the labels. A "
                f"smaller alpha (for texts about 0.01; it is {self.alpha!r}) or unlabeled_weight may help: see "
                "SemiSupervisedNBCV",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _describe_components(self, components: set[int]) -> str:
        labels = dict.fromkeys(self.component_classes_[sorted(components)].tolist())
        return f"{len(components)} components, of the labels {list(labels)},"

    def _places(self, known: NDArray[Any], families: Families) -> NDArray[np.int32]:
        """Where the components so far stand among those of all labels known."""
        sizes, place = np.diff(self._families), label_positions(known, self.classes_)
        if (sizes != np.diff(families)[place]).any():
            label = int(np.argmax(sizes != np.diff(families)[place]))
            raise ValueError(
                f"the label {self.classes_.tolist()[label]!r} has {sizes[label]} components, and components="
                f"{self.components!r} says otherwise: fit it anew"
            )
        first = np.repeat(families[place] - self._families[:-1], sizes)
        return (first + np.arange(self._families[-1])).astype(np.int32)

    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        return as_prior(self.alpha, self.base_measure, n_features, self._label_prior(n_labels))
