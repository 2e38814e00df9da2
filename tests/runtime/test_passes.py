"""The seam where passes run: whoever does the work, here or in another process, a fit has the same bits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin import Corpus, sequence
from fastlin.data import corpus as corpora
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.partition_folder import open_partition, write_partitions
from fastlin.optim.partitions import Partitions
from fastlin.sequence.hmm import baum_welch
from fastlin.validation import as_rows
from support.fitted_checksums import told
from support.foreign_passes import OtherProcess, foreign_passes, work_on

rng = np.random.default_rng(8)
COUNTS = sp.csr_array(rng.poisson(0.4, (90, 14)).astype(float))
LABELS, WEIGHTS, SIZES = rng.integers(0, 3, 90), rng.uniform(0.2, 2, 90), [3] * 30
LOGISTIC = {
    **{solver: {"solver": solver} for solver in ("auto", "gd", "cg", "lbfgs", "newton", "gis", "iis", "adagrad")},
    "l1": {"solver": "lbfgs", "penalty": "l1"},
    "sparse newton": {"solver": "newton", "penalty": "l1"},
    "observed": {"solver": "newton", "weights": "observed", "cutoff": 2},
    "observed iis": {"solver": "iis", "weights": "observed"},
    "prior": {"prior_variance": np.linspace(0.1, 2, 14), "prior_mean": 0.1},
    "no intercept": {"fit_intercept": False},
}
FITS = {
    f"logistic, {name}": fastlin.LogisticRegression(**({"max_iter": 5, "tol": 1e-7, "random_state": 1} | options))
    for name, options in LOGISTIC.items()
} | {
    "candidates": fastlin.CandidateClassifier(max_iter=4),
    "candidates, iis": fastlin.CandidateClassifier(solver="iis", max_iter=4),
    "mixture, kmeans": fastlin.MultinomialMixture(3, random_state=1, max_iter=4),
    "mixture, random": fastlin.MultinomialMixture(9, init="random", random_state=1, max_iter=4),
    "kmeans": fastlin.KMeans(4, random_state=1, max_iter=4),
    "kmeans, dead centres": fastlin.KMeans(40, init="random", random_state=1, max_iter=4),
    "kmeans, soft": fastlin.KMeans(12, temperature=0.1, random_state=1, max_iter=4),
    "kmeans, spherical": fastlin.KMeans(5, metric="spherical", random_state=1, max_iter=4),
    "naive bayes": fastlin.MultinomialNB(),
    "naive bayes, occurrences": fastlin.BernoulliNB(binarize=1.0),
    "semi-supervised": fastlin.SemiSupervisedNB(max_iter=4),
    "semi-supervised, components": fastlin.SemiSupervisedNB(components=2, random_state=1, max_iter=4),
}  # fmt: skip


SEVERAL = {
    **{solver: fastlin.LogisticRegression(solver=solver, max_iter=5, tol=1e-7) for solver in ("auto", "newton", "cg")},
    "heavy": fastlin.LogisticRegression(solver="lbfgs", max_iter=5, tol=1e-7, class_weight={1: 3.0}),
    "sparse": fastlin.LogisticRegression(l1_ratio=0.5, max_iter=5, tol=1e-7),
    "naive bayes": fastlin.ComplementNB(),
}  # fmt: skip


@pytest.fixture(scope="module")
def other_process():
    process = OtherProcess()
    yield process
    process.close()


def rows_of(name, source, path):
    """What a learner takes: a matrix and what belongs to it, or a corpus of several segments."""
    if name.startswith("candidates"):
        gold = np.arange(30) % 3
        right = np.zeros(90, int)
        right[np.arange(0, 90, 3) + gold] = 1
        corpus = corpus_of(COUNTS, source, path, y=right, group_sizes=SIZES)
        return ((COUNTS, gold, SIZES) if source == "matrix" else (corpus,)), {}
    given = {"sample_weight": WEIGHTS}
    if not name.startswith(("mixture", "kmeans")):
        given["y"] = np.where(np.arange(90) % 4 > 2, -1, LABELS) if name.startswith("semi") else LABELS
    if source == "matrix":
        return (COUNTS,), given
    if name.startswith("semi"):  # which finds rows without labels in another corpus
        labelled = given["y"] >= 0
        rest = Corpus(COUNTS[~labelled])
        given = {"y": LABELS[labelled], "sample_weight": WEIGHTS[labelled]}
        return (corpus_of(COUNTS[labelled], source, path, **given),), {"X_unlabeled": rest}
    return (corpus_of(COUNTS, source, path, **given),), {}


def corpus_of(X, source, path, **given):
    """Several segments, in memory or on disk."""
    corpus = Corpus(X, given.pop("y", None), **given)
    return corpus.write(path) if source == "disk" else corpus


def learnt(name, data, given):
    """Checksums of all that a fit learns and of what its model answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return dict(told(clone(FITS[name]).fit(*data, **given), data))


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize(
    ("who", "source"), [("this process", "matrix"), ("this process", "memory"), ("another process", "disk")]
)
def test_whoever_does_the_work_no_bit_changes(who, name, source, other_process, monkeypatch, tmp_path):
    """Works are pickled by name, their partition is opened from its address: nothing of the fit goes along."""
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    positional, given = rows_of(name, source, tmp_path / "corpus")
    here = learnt(name, positional, given)
    with foreign_passes(monkeypatch, work_on if who == "this process" else other_process, tmp_path) as seen:
        there = learnt(name, positional, given)
    assert seen
    assert here == there


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("who", ["this process", "another process"])
def test_whoever_learns_several_labels_a_row_no_bit_changes(who, name, other_process, monkeypatch, tmp_path):
    indicator = (LABELS[:, None] >> np.arange(2)) & 1
    indicator[::7] = 1
    learner = other_process if who == "another process" else work_on

    def fitted():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return dict(told(clone(SEVERAL[name]).fit(COUNTS, indicator, WEIGHTS), (COUNTS,)))

    here = fitted()
    with foreign_passes(monkeypatch, learner, tmp_path) as seen:
        there = fitted()
    assert seen
    assert here == there


@pytest.mark.parametrize("who", ["this process", "another process"])
def test_whoever_expects_the_labels_of_sequences_no_bit_changes(who, other_process, monkeypatch, tmp_path):
    monkeypatch.setattr(baum_welch, "BLOCK_TOKENS", 30)
    words = [[f"w{n % 7}" for n in range(number, number + number % 5 + 1)] for number in range(30)]
    model = sequence.HMM(n_components=3, random_state=3, max_iter=4)

    def learnt():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return dict(told(clone(model).fit(words), (words,)))

    here = learnt()
    with foreign_passes(monkeypatch, work_on if who == "this process" else other_process, tmp_path) as seen:
        assert learnt() == here
    assert len(seen) > 4


def test_a_partition_that_changed_is_refused(tmp_path):
    parts = Partitions.single(
        Design.of(as_rows(COUNTS)), MultinomialLikelihood(LABELS.astype(np.int32), np.empty(0), 3)
    )
    (address,) = write_partitions(parts, tmp_path)
    with open_partition(address, None) as part:
        np.testing.assert_array_equal(part.labels.codes, LABELS)
        np.testing.assert_array_equal(part.design.indptr, COUNTS.indptr)
    values = np.load(tmp_path / "array-2.0.npy")
    values[5] += 1
    np.save(tmp_path / "array-2.0.npy", values)
    with pytest.raises(ValueError, match="partition 0 is not the one that was written"), open_partition(address, None):
        pass
