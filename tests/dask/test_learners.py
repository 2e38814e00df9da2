"""Learners on a cluster: the model of one process, in every bit, however many workers there are."""

import inspect
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fastlin
import fastlin.dask
from fastlin import Corpus
from fastlin.dask.cluster import Cluster, ClusterError
from fastlin.dask.datasets import ClusterDataset
from fastlin.data import corpus as corpora
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.registry import PUBLIC
from fastlin.runtime.parallel import WorkerPool
from support.clusters import here, until

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")  # that Dask's servers leave open
rng = np.random.default_rng(5)
N = 300
X = sp.csr_array(sp.random_array((N, 40), density=0.15, rng=rng))
LABELS = np.array(["a", "b", "c", "none"])[np.minimum(rng.integers(0, 9, N) % 4, 2)]
WEIGHTS = np.where(np.arange(N) % 11 > 0, rng.uniform(0.1, 2, N), 0.0)
LEARNERS = [name for name in fastlin.dask.__all__ if name in PUBLIC["fastlin"]]
FITS = {
    "multinomial": fastlin.dask.MultinomialNB(alpha=0.3),
    "complement": fastlin.dask.ComplementNB(),
    "occurrences": fastlin.dask.BernoulliNB(binarize=0.4),
    "logistic": fastlin.dask.LogisticRegression(solver="lbfgs", tol=1e-7),
    "balanced": fastlin.dask.LogisticRegression(solver="lbfgs", class_weight="balanced", C=30.0),
    "left out": fastlin.dask.LogisticRegression(solver="lbfgs", class_weight={"c": 0.0}, fit_intercept=False),
    "prior": fastlin.dask.LogisticRegression(
        solver="lbfgs", prior_variance=np.linspace(0.1, 2, 40), prior_mean=0.1, max_iter=7
    ),
    "sparse": fastlin.dask.LogisticRegression(solver="lbfgs", l1_ratio=0.5, max_iter=9),
    "observed": fastlin.dask.LogisticRegression(solver="lbfgs", weights="observed", cutoff=2, max_iter=5),
    "mixture": fastlin.dask.MultinomialMixture(3, random_state=1, max_iter=6),
    "mixture, random": fastlin.dask.MultinomialMixture(4, init="random", random_state=2, max_iter=3, n_init=2),
    "mixture, seeds": fastlin.dask.MultinomialMixture(25, init="k-means++", random_state=2, max_iter=5),
    "rest": fastlin.dask.LogisticRegression(solver="lbfgs", multi_class="ovr", max_iter=5),
}  # fmt: skip


@pytest.fixture(scope="module")
def client():
    with here(2) as client:
        yield client


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A corpus of 13 segments, more than a chunk of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "SEGMENT", 170)
        corpus = Corpus(X, LABELS, sample_weight=WEIGHTS).write(tmp_path_factory.mktemp("corpora") / "stored")
        assert corpus.n_segments > 9
        yield corpus


def told(model, X):
    """All that was learnt, as bytes."""
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "history_"}
    names = ("bound_", "predict_proba", "predict", "feature_count_", "feature_log_prob_", "class_count_")
    for name in filter(lambda name: hasattr(model, name), names):
        value = getattr(model, name)
        found[name] = value(X) if callable(value) else value
    for record in getattr(model, "history_", []):
        found[f"record {record['iteration']}"] = {**record, "seconds": 0, "passes": 0}  # the metric takes one more
    return {name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def quietly(model, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **options)


@pytest.mark.parametrize("name", FITS)
def test_a_model_is_that_of_one_process(name, stored, client):
    remote = quietly(clone(FITS[name]).set_params(client=client), str(stored.path))
    kind, parameters = type(remote).local, remote.get_params()
    parameters.pop("client")
    local = quietly(kind(**parameters), stored)
    assert told(remote, X) == told(local, X)
    assert told(remote.to_local(), X) == told(local, X)
    assert type(remote.to_local()) is kind
    for method in ("predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(remote, method)(stored.path), getattr(local, method)(stored))
    if hasattr(local, "classes_"):
        assert remote.score(stored) == local.score(stored)


@pytest.mark.parametrize("n_workers", [1, 4])
def test_value_gradient_and_counts_have_the_bits_of_one_process_for_any_number_of_workers(n_workers, stored):
    """Values and gradients, not only θ: L-BFGS keeps float32 pairs, which hide differences."""
    memory = Corpus(X, LABELS, sample_weight=WEIGHTS)
    with here(n_workers) as client, WorkerPool(1) as pool:
        data = ClusterDataset(stored, "X", {"dtype": stored.dtype}, Cluster(client))
        remote = data.training(None).designs(3, None)
        answers = []
        for parts in (remote, *map(laid_out, (stored, memory))):
            layout = DenseWeights(parts.n_features, 3)
            prior = WeightPrior(np.full(parts.n_features, 0.7), np.full(parts.n_features * 3, 0.1))
            problem = LogLinearProblem(parts, layout, prior, True, pool)
            theta = np.random.default_rng(1).normal(size=problem.size)
            gradient = np.empty(problem.size)
            value = problem.value(theta, gradient)
            numbers = value, problem.loss(theta), parts.total_weight
            answers.append((numbers, gradient.tobytes(), problem.diagonal().tobytes()))
            assert len(parts) > 9
        assert answers[0] == answers[1] == answers[2]


def laid_out(corpus):
    def segments():
        for part in corpus.segments():
            kept = part.weights > 0
            yield part.rows.take(np.flatnonzero(kept)), MultinomialLikelihood(part.codes[kept], part.weights[kept], 3)

    return Partitions.from_segments(segments, 40, corpus.scratch())


def test_a_corpus_of_one_segment_is_fitted_here(client, tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 1 << 23)
    corpus = Corpus(X, LABELS).write(tmp_path / "one")
    assert corpus.n_segments == 1
    remote = fastlin.dask.LogisticRegression(client=client, solver="newton").fit(corpus)
    assert told(remote, X) == told(fastlin.LogisticRegression(solver="newton").fit(corpus), X)


@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_are_those_of_the_local_learner_and_a_client(name):
    remote, local = getattr(fastlin.dask, name), getattr(fastlin, name)
    theirs = list(inspect.signature(local).parameters.values())
    assert list(inspect.signature(remote).parameters.values())[:-1] == theirs
    assert inspect.signature(remote).parameters["client"].default is None
    assert remote().get_params().items() >= local().get_params().items()
    assert issubclass(remote, local)


def test_a_client_is_never_pickled_and_clones_share_it(stored, client):
    model = fastlin.dask.MultinomialNB(client=client).fit(stored.path)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert clone(model).client is client
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert told(model.to_local(), X) == told(pickle.loads(pickle.dumps(model.to_local())), X)


def test_two_fits_on_a_client_do_not_mix(stored, client):
    models = [fastlin.dask.LogisticRegression(C=C, client=client) for C in (0.1, 1.0, 10.0)]
    models.append(fastlin.dask.MultinomialNB(client=client))
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda model: quietly(clone(model), stored), models))
    for model, found in zip(models, together, strict=True):
        assert told(found, X) == told(quietly(clone(model), stored), X)


def test_nothing_is_left_on_the_workers(stored, client):
    fastlin.dask.LogisticRegression(client=client).fit(stored)
    with pytest.raises(ZeroDivisionError):
        fastlin.dask.LogisticRegression(client=client, callback=lambda *_: 1 / 0).fit(stored)
    until(lambda: not client.futures)


def test_what_cannot_be_learnt_on_a_cluster_is_refused(stored, client):
    model = fastlin.dask.LogisticRegression(client=client)
    with pytest.raises(TypeError, match=r"X must be a stored Corpus or its path.*got csr_array: rows do not travel"):
        model.fit(X, LABELS)
    with pytest.raises(ValueError, match="whose rows do not travel"):
        model.fit(Corpus(X, LABELS))
    with pytest.raises(ValueError, match="y must be None"):
        model.fit(stored, LABELS)
    with pytest.raises(ValueError, match="solver='gis' is not one of a cluster: use 'lbfgs' or 'auto'"):
        fastlin.dask.LogisticRegression(client=client, solver="gis").fit(stored)
    with pytest.raises(TypeError, match=r"client must be a distributed\.Client or None, got 3"):
        fastlin.dask.MultinomialNB(client=3).fit(stored)
    until(lambda: not client.futures)


def test_a_fit_goes_on_from_its_checkpoint(stored, client, tmp_path):
    """Whoever was killed: the checkpoint is the driver's, and no row state is lost with workers."""
    whole = quietly(fastlin.dask.LogisticRegression(client=client, tol=1e-9), stored)
    options = {"checkpoint": tmp_path / "fit", "checkpoint_interval": 0}
    for stop in (2, 5):
        half = fastlin.dask.LogisticRegression(
            client=client, tol=1e-9, callback=lambda _, record, stop=stop: record["iteration"] == stop
        )
        quietly(half, stored, resume=True, **options)
    resumed = quietly(fastlin.dask.LogisticRegression(client=client, tol=1e-9), stored, resume=True, **options)
    assert told(resumed, X) == told(whole, X)


def test_without_a_client_the_latest_is_taken(stored, client):
    assert told(fastlin.dask.MultinomialNB().fit(stored), X) == told(fastlin.MultinomialNB().fit(stored), X)


def test_without_any_client_an_error_says_so(stored, monkeypatch):
    monkeypatch.setattr("distributed.default_client", lambda: (_ for _ in ()).throw(ValueError("No clients found")))
    with pytest.raises(ClusterError, match="there is no Dask client"):
        fastlin.dask.MultinomialNB().fit(stored)
