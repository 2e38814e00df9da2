"""Clusters of documents: a mixture of multinomials, fitted by EM."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.class_counts import ClassCounts, SmoothingPrior, as_prior
from fastlin.core.em_loop import EM, SparseEMEstimator, best_run
from fastlin.core.estimator import learns
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.restarts import decisive_limits
from fastlin.core.sparse_estimator import checkpoint_of
from fastlin.mixture.em_init import INIT_METHODS, EMInitializer, checked
from fastlin.mixture.multinomial_em import Fill, MultinomialEM
from fastlin.mixture.online_em import add_expected
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.mixture.scoring import MixtureDensity
from fastlin.runtime import parallel
from fastlin.validation import number_of_parts
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, Integer, OneOf, ParameterTable, check_parameters

ALL = np.ones(1, bool)  # of labels there are none, and the rows without any


class MultinomialMixture(MixtureDensity, SparseEMEstimator):
    """A mixture of multinomials: soft clusters of counts, by EM.

    A document x has the component c with probability π_c, and then p(x | c) ∝ Π_j φ_cj^{x_j}, without the multinomial
    coefficient, in which no parameter stands. EM climbs to a maximum of

        Σ_i w_i log Σ_c π_c Π_j φ_cj^{x_ij} + Σ_cj αVρ_j log φ_cj

    with φ_cj = (αVρ_j + c_cj)/(αV + Σ_j c_cj), c the expected counts and ρ the base measure, as in `MultinomialNB`; π
    is not smoothed. The bound never falls from one iteration to the next. A document that no component can produce
    (with alpha=0) gets the weights of the components; one without words tells nothing, and gets them, too; an explicit
    zero is no occurrence.

    Parameters
    ----------
    n_components : int
        K. There may be more than documents.
    alpha : float or array of shape (n_features,)
        Pseudo-counts; 0 is the maximum-likelihood estimate.
    tol : float
        EM ends when an iteration raises the bound by no more than tol · Σ w: by tol a document.
    max_iter : int
        Iterations at most.
    n_init : int
        Starts; the one that leads to the best bound is kept. A start that `init` gives is made once.
    init : {"kmeans", "k-means++", "random"} or array
        Where EM begins. "k-means++": seeds that lie far apart among a sample of the documents, as log(1 + x)·idf of
        norm 1, take the documents that are most like them; "kmeans": the same after some rounds of spherical k-means in
        the sample; "random": responsibilities that are uniform on the simplex. Or an array: responsibilities of shape
        (n_samples, n_components); a component for each document, whole numbers of shape (n_samples,); what is known of
        the words of each component, of shape (n_components, n_features): probabilities, if every row sums to 1, or
        counts, which alpha smooths. Where shapes leave it open, responsibilities.
    random_state : int, RandomState, Generator or None
        Seed of the starts; None: another one each time.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    verbose : int
        1 prints a line an iteration.
    callback : callable, optional
        Called as callback(model, record) after every iteration, when the model is as far; a true value ends the fit.
    base_measure : array of shape (n_features,), optional
        ρ, normalised to sum 1; uniform when not given.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        π.
    feature_log_prob_ : array of shape (n_components, n_features)
        log φ.
    feature_count_ : array of shape (n_components, n_features)
        c, the expected counts.
    bound_ : array of shape (n_iter_ + 1,)
        The bound of the start and after each iteration.
    restart_scores_ : array of shape (n_runs,)
        Where each start ended: its last bound.
    objective_ : float
        −bound_[-1].
    history_ : list of dict
        One record an iteration: iteration, seconds, objective, and `seeded`, the components that had died, which
        means that no document had a share of them, and were seeded again, with the document that gains most by it.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import MultinomialMixture
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[3.0, 1, 0, 0], [2, 2, 0, 0], [0, 0, 4, 1], [0, 0, 1, 2]])
    >>> model = MultinomialMixture(2, alpha=0.1, random_state=0)
    >>> components = model.fit_predict(X)
    >>> bool(components[0] == components[1] != components[2] == components[3])
    True
    >>> bool((model.bound_[1:] >= model.bound_[:-1]).all())
    True
    """

    _parameters: ClassVar[ParameterTable] = EM | {
        "n_components": Integer(at_least=1), "alpha": NUMBERS, "base_measure": NUMBERS | ABSENT,
        "init": OneOf(*INIT_METHODS) | NUMBERS,
    }  # fmt: skip

    def __init__(
        self,
        n_components: int = 8,
        *,
        alpha: Any = 1.0,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        init: Any = "kmeans",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
        base_measure: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.base_measure = base_measure

    # Learning

    @learns
    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_interval: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Find the components.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Non-negative; a CSR of float32 or float64 with int32 indices is read where it lies. Of a corpus the weights
            count, and labels are not looked at.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            w; rows of weight 0 are left out. None with a Corpus.
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
        documents = model._documents(X, sample_weight, reset=True)
        prior, source = model._prior(documents.n_columns), documents.views[0].dataset
        limits = decisive_limits(self.n_init, self.max_iter, self.tol)
        file = checkpoint_of(self, source, checkpoint, checkpoint_interval, resume, limits)
        monitor = FitMonitor(self.max_iter, checkpoint=file)
        generator = monitor.register_generator(validation.as_generator(self.random_state))
        with parallel.WorkerPool(self.n_jobs) as workers:
            em, start = model._em(documents, prior, generator.generator, workers)
            monitor.report = make_callback(model, lambda: model._counted(em.counts()))
            n_starts = self.n_init if isinstance(self.init, str) else 1
            best = best_run(em, monitor, self.tol, n_starts, lambda: em.start(start(), keep=True), generator)
        self._take_fitted(model._counted(best.counts)._record_fit(best))
        self._warn_of_run(best)
        return self

    @learns
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Online EM: add the counts that the rows are expected to have under the present parameters.

        The counts of all calls since the last `fit`, or since the first call, add up, none is forgotten, and every call
        looks once at its rows: it makes one E-step with the parameters as they are, adds the expected counts, and makes
        the M-step. The first call, of an estimator that is not fitted, takes its parameters from a start (`init`) on
        its own rows, whose counts are not kept; `n_init`, `tol` and `max_iter` mean nothing here.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.

        Returns
        -------
        self
            The model, with the counts of these rows added.
        """
        model, first = self._working_copy(), not self.__sklearn_is_fitted__()
        check_parameters(model)
        documents = model._documents(X, sample_weight, reset=first)
        prior = model._prior(documents.n_columns)
        if first:
            with parallel.WorkerPool(self.n_jobs) as workers:
                em, start = model._em(documents, prior, validation.as_generator(self.random_state), workers)
                em.start(start(), keep=True)
                model._counts = em.counts()
            counts = ClassCounts.zeros(documents.n_columns, len(model._counts.labels), prior)
        else:
            known = self._counts
            if len(known.labels) != self.n_components:
                raise ValueError(
                    f"n_components={self.n_components}, but the model has {len(known.labels)}: fit it anew"
                )
            counts = ClassCounts(known.features.copy(), known.labels, prior)
        pieces, now = documents.to_infer(ALL, 1.0), model._counts
        log_prior, families = now.log_prior(), np.array([0, len(now.labels)])
        add_expected(pieces, now.log_phi(), log_prior, families, counts, self.n_jobs)
        model._counts = counts
        model._forget_fit()
        return self._take_fitted(model)

    @learns
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """`fit`, and the component of each row.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        array of int64 of shape (n_samples,)
            Numbers of components, from 0 on.
        """
        return self.fit(X, y, sample_weight).predict(X)

    # Parts

    def _prior(self, n_features: int) -> SmoothingPrior:
        return as_prior(self.alpha, self.base_measure, n_features)

    def _documents(self, X: Any, sample_weight: Any, reset: bool) -> PartlyLabelledDocuments:
        """What to learn from: rows without labels."""
        view = self._read_rows(X, reset, **self._row_constraints()).unlabelled(sample_weight)
        return PartlyLabelledDocuments(view.classes, [view])

    def _em(
        self,
        documents: PartlyLabelledDocuments,
        prior: SmoothingPrior,
        generator: np.random.Generator,
        workers: parallel.WorkerPool,
    ) -> tuple[MultinomialEM, Callable[[], Fill]]:
        """EM for these documents, and what makes a start for it."""
        kept = documents.views[0].dataset.has_weight()
        n = number_of_parts("n_components", self.n_components, len(kept))
        if not kept.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
        way, init = checked(self.init, len(kept), n, documents.n_columns)
        parts = documents.lay_out(ALL, 1.0, n, None, prior)
        em = MultinomialEM(parts, np.array([0, n]), prior, None, documents.n_columns, workers)
        make = EMInitializer(parts, n, generator, workers).initialize
        return em, lambda: make(way, init, prior, kept)

    def _counted(self, counts: ClassCounts) -> Self:
        self._counts = counts
        return self

    def _describe_components(self, components: set[int]) -> str:
        return f"{len(components)} of {self.n_components} components"
