"""The steps of EM with labels that have components: the naive twin's, whatever is known and however rows are cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.data.scratch import ScratchSpace
from fastlin.mixture.merged_columns import lay_out
from fastlin.mixture.multinomial_em import MultinomialEM
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.runtime import parallel
from oracles.multinomial_em import EM
from support.strategies import seeds, sparse_matrices, weighted


class Case:
    """Rows with labels or without, and what is believed of the words."""

    def __init__(self, X, weights, sizes, alpha, class_prior, seed):
        self.X, self.weights, rng = X, weights, np.random.default_rng(seed)
        self.families = np.cumsum([0, *sizes])
        n, self.M = X.shape[0], int(self.families[-1])
        self.codes = rng.integers(-1, len(sizes), n).astype(np.int32)
        self.class_prior = rng.dirichlet(np.ones(len(sizes))) if class_prior else None
        self.alpha = alpha if np.ndim(alpha) == 0 else rng.uniform(0, 1, X.shape[1])
        self.shares = np.zeros((n, self.M))
        for row, code in enumerate(self.codes):
            own = range(self.M) if code < 0 else range(self.families[code], self.families[code + 1])
            self.shares[row, own] = rng.dirichlet(np.ones(len(own)))
        self.cuts = np.unique(rng.integers(0, n + 1, 2))

    def twin(self):
        return EM(self.families, self.X.shape[1], self.alpha, class_prior=self.class_prior)

    def em(self, workers, count, segmented):
        """`count`: rows whose component is known are counted, and not inferred."""
        V, one = self.X.shape[1], np.diff(self.families) == 1
        labels = None if self.class_prior is None else np.log(self.class_prior)
        pseudo = np.full(1, self.alpha) if np.ndim(self.alpha) == 0 else self.alpha
        prior, known = SmoothingPrior(pseudo, np.full(1, 1 / V), labels), None
        inferred = np.ones(len(self.codes), bool)
        if count:
            inferred = ~((self.codes >= 0) & one[self.codes])
            known = ClassCounts.zeros(V, self.M, prior)
            components = self.families[self.codes[~inferred]].astype(np.int32)
            if len(components):
                known.add(validation.as_rows(self.X[~inferred]), components, self.weights[~inferred], 1, keep=False)
        rows, bounds = np.flatnonzero(inferred), [0, len(inferred)]
        bounds = np.unique([*bounds, *self.cuts]) if segmented else bounds
        pieces = [rows[(rows >= low) & (rows < high)] for low, high in itertools.pairwise(bounds)]
        pieces = [piece for piece in pieces if len(piece)]

        def segments():
            for piece in pieces:
                yield (
                    validation.as_rows(self.X[piece]),
                    MultinomialLikelihood(self.codes[piece], self.weights[piece], self.M),
                )

        parts = lay_out(segments, V, ScratchSpace() if segmented else None, known, prior)
        em = MultinomialEM(parts, self.families, prior, known, V, workers)

        def fill(part, shares):
            shares[:] = self.shares[pieces[part.index]]

        em.start(fill, keep=True)
        return em


@st.composite
def cases(draw):
    X = draw(sparse_matrices(values=("counts",)))
    weights = draw(weighted(X.shape[0])) + 0.01
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    alpha = draw(st.sampled_from([1.0, 0.2, 1e-9, np.empty(1)]))
    return Case(X, weights, sizes, alpha, draw(st.booleans()), draw(seeds))


def rows_to_infer(case):
    one = np.diff(case.families) == 1
    return (~((case.codes >= 0) & one[case.codes])).any()


@given(case=cases(), count=st.booleans(), segmented=st.booleans())
def test_the_steps_are_the_naive_twins(case, count, segmented):
    count = count and rows_to_infer(case)
    twin, dense = case.twin(), case.X.toarray()
    with parallel.WorkerPool(1) as workers:
        em = case.em(workers, count, segmented)
        shares = case.shares
        for _ in range(4):
            twin.maximise(dense, case.weights, shares)
            shares, bound = twin.expect(dense, case.codes, case.weights)
            np.testing.assert_allclose(em.expect(), bound, rtol=1e-9, atol=1e-9)
            counts = em.counts()
            np.testing.assert_allclose(counts.features.T, twin.counts, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(counts.labels, twin.masses, rtol=1e-9, atol=1e-12)
            em.maximise(keep=True)


@given(case=cases())
def test_what_is_seeded_can_be_taken_back(case):
    """And while it stands, the bound is that of the naive twin with such components."""
    with parallel.WorkerPool(1) as workers:
        em = case.em(workers, count=False, segmented=True)
        bound = em.expect()
        before = em.reseed_components([0])
        seeded = em.expect()
        em.restore(before)
        assert em.expect() == bound
        em.reseed_components([0])
        assert em.expect() == seeded


@pytest.mark.parametrize("weight, words", [(1.0, [2, 3]), (1e-6, [4])])
def test_a_component_gets_the_row_that_gains_most(weight, words):
    """Not the one whose words are least likely."""
    X = np.array([[9.0, 1, 0, 0, 0], [8, 2, 0, 0, 0], [0, 0, 9, 9, 0], [0, 0, 0, 0, 1], [9, 1, 0, 0, 0]])
    weights = np.array([1, 1, weight, 1, 1])
    em = started(X, np.full(5, -1), weights, [0, 2], [[1.0, 0]])
    before = em.expect()
    assert em.dead() == [1]
    em.reseed_components([1])
    assert em.expect() > before
    em.maximise(keep=True)
    assert np.flatnonzero(em.counts().features[:, 1] > 0.5 * min(1, 18 * weight)).tolist() == words


def test_words_of_one_row_that_are_laid_out_as_one_column_are_several():
    X = np.array([[5.0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 15], [0, 0, 0, 0, 0, 15]])
    em = started(X, np.full(4, -1), np.empty(0), [0, 2], [[1.0, 0]])
    em.expect()
    em.reseed_components([1])
    np.testing.assert_array_equal(em.counts().features[:, 1], X[0])


@pytest.mark.parametrize("label", [0, 1])
def test_a_component_gets_rows_of_its_label_only(label):
    em = started(9 * np.eye(3), [0, 0, 1], np.empty(0), [0, 2, 4], [[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    em.expect()
    assert em.dead() == [1, 3]
    em.reseed_components([1 + 2 * label])
    assert em.counts().features[:, 1 + 2 * label].argmax() in ([0, 1], [2])[label]
    em.expect()
    em.maximise(keep=True)
    assert em.counts().features[:, 1 + 2 * label].argmax() in ([0, 1], [2])[label]


def started(X, codes, weights, families, shares):
    """EM in one thread, from responsibilities."""
    rows, V = validation.as_rows(X), X.shape[1]
    prior = SmoothingPrior(np.full(1, 0.01), np.full(1, 1 / V), None)
    labels = MultinomialLikelihood(np.asarray(codes, np.int32), weights, families[-1])
    parts = lay_out(lambda: [(rows, labels)], V, None, None, prior)
    with parallel.WorkerPool(1) as workers:
        em = MultinomialEM(parts, np.array(families), prior, None, V, workers)
    em.start(lambda _, room: np.copyto(room, shares), keep=True)
    return em
