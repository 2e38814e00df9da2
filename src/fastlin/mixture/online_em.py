"""Online EM: documents that are inferred once, and whose expected counts are added to those so far."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts
from fastlin.core.dataset import LabelledBlock, Mask
from fastlin.engine.solvers import multinomial_em as kernels
from fastlin.mixture.class_components import Families, log_priors, several, single
from fastlin.mixture.multinomial_em import MultinomialEM
from fastlin.mixture.partial_labels import PartlyLabelledDocuments
from fastlin.mixture.per_class_init import PerClassInitializer
from fastlin.runtime import parallel, thread_calls

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OnlineEM:
    """Counts that grow, in steps that Ctrl-C does not cut in two."""

    families: Families
    counts: ClassCounts
    unlabeled_weight: float
    n_jobs: int | None

    def add(self, documents: PartlyLabelledDocuments, generator: np.random.Generator) -> None:
        """Documents whose component is known, then those of labels whose components are new, then all others."""
        documents.count(single(self.families), self.families, self.counts, self.n_jobs, keep=True)
        masses = np.add.reduceat(self.counts.labels, self.families[:-1])
        new = several(self.families) & np.append(masses == 0, False)
        if documents.views_of(new):
            self._begin(documents, new, generator)
        rest = several(self.families, unlabelled=self.unlabeled_weight > 0) & ~new
        if not documents.views_of(rest):
            return  # what labels say costs nothing a feature
        now = self.counts.settle().estimates()
        pieces, prior = documents.to_infer(rest, self.unlabeled_weight), log_priors(now, self.families)[1]
        add_expected(pieces, now.logs, prior, self.families, self.counts, self.n_jobs)

    def _begin(self, documents: PartlyLabelledDocuments, new: Mask, generator: np.random.Generator) -> None:
        """Components for labels that had none so far: k-means among their own documents, and an iteration of EM."""
        width, prior = len(self.counts.labels), self.counts.prior
        with parallel.WorkerPool(self.n_jobs) as workers:
            parts = documents.lay_out(new, 0.0, width, None, prior)
            em = MultinomialEM(parts, self.families, prior, None, documents.n_columns, workers)
            em.start(PerClassInitializer(parts, self.families, generator, workers).within_labels())
            em.expect()
            em.maximise(keep=True)
            begun = em.counts()

        thread_calls.run_uninterrupted(lambda: self.counts.add_counts(begun))


def add_expected(
    pieces: Iterable[LabelledBlock],
    logs: Floats,
    prior: Floats,
    families: Families,
    counts: ClassCounts,
    n_jobs: int | None,
) -> None:
    """Add the counts that documents are expected to have under log φ and log π; Ctrl-C cuts no piece in two."""
    for piece in pieces:
        rows = piece.rows.without_zeros()
        shares = _shares(piece._replace(rows=rows), logs, prior, families, n_jobs)

        thread_calls.run_uninterrupted(partial(counts.add_shares, rows, shares, n_jobs))


def _shares(piece: LabelledBlock, logs: Floats, prior: Floats, families: Families, n_jobs: int | None) -> Floats:
    """w p(c | x), among the components of a row's label."""
    shares = np.empty((len(piece.rows), len(prior)))

    def infer(scores: Floats, start: int, stop: int) -> None:
        here, sums = slice(start, stop), np.zeros((2, len(prior)))  # which are taken in the order of the rows later
        codes, weights, lengths = piece.codes[here], piece.weights[here], np.zeros(stop - start)
        kernels.posterior(scores, codes, weights, families, prior, lengths, shares[here], *sums)

    parallel.forward(piece.rows, logs, prior, infer, n_jobs)
    return shares
