"""KMeans: scikit-learn's iterations from the same start, and the laws of the objective it minimises."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans as Rival
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline

from fastlin import Corpus, KMeans, LinearSVC
from fastlin.cluster.kmeans_data import lay_out
from fastlin.cluster.kmeans_steps import LloydStep
from fastlin.data import corpus as corpora
from fastlin.data.scratch import ScratchSpace
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from oracles.kmeans import Means, distances, unit
from support.estimators import text_like
from support.strategies import seeds, sparse_matrices, weighted

FORMS = {
    "hard": {},
    "spherical": {"metric": "spherical"},
    "soft": {"temperature": 0.3},
    "soft spherical": {"metric": "spherical", "temperature": 0.05},
}
LEARNT = ("cluster_centers_", "labels_", "inertia_", "objective_", "n_iter_", "converged_")
every_form = pytest.mark.parametrize("form", FORMS)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 100)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(parallel, "BLOCK_WORK", 64)


def assert_same_bits(one, other):
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name, strict=True)


def quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def some_rows(X, n, seed=0):
    return X[np.random.default_rng(seed).choice(X.shape[0], n, replace=False)].toarray()


@st.composite
def problems(draw):
    """Rows of which no two are equal, centres to begin from, some of which die, and maybe weights."""
    X, rng = draw(sparse_matrices(min_rows=6, max_rows=40, values=("normal",))), np.random.default_rng(draw(seeds))
    X = sparse.csr_matrix(sparse.hstack([X, rng.normal(size=(X.shape[0], 2))]))
    n = draw(st.integers(1, 6))
    start = some_rows(X, n, draw(seeds)) if draw(st.booleans()) else rng.normal(size=(n, X.shape[1]))
    if draw(st.booleans()):
        start[: n // 2] += 50.0  # nobody's nearest
    return X, start, draw(weighted(X.shape[0])) + 1e-3 if draw(st.booleans()) else None


# --- scikit-learn's results ------------------------------------------------------------------------------------------


@quiet
@settings(max_examples=150)
@given(problem=problems(), tol=st.sampled_from([0.0, 1e-4, 0.05]), max_iter=st.integers(1, 30))
def test_the_iterations_are_scikit_learns(problem, tol, max_iter):
    """But for clusters whose only row is taken from them: a lower number than the heaviest's puts them elsewhere."""
    X, start, weights = problem
    twin = Means(start, max_iter).fit(X.toarray(), weights)
    assume(not twin.surplus)
    options = {"init": start, "n_init": 1, "tol": tol, "max_iter": max_iter}
    rival = Rival(len(start), **options).fit(X, sample_weight=weights)
    model = KMeans(len(start), **options).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, rival.labels_)
    np.testing.assert_allclose(model.cluster_centers_, rival.cluster_centers_, rtol=1e-10, atol=1e-10)
    # a row that has moved leaves sums of the others here, and differences in scikit-learn: 0 may be 1e-33 there
    assert abs(model.n_iter_ - rival.n_iter_) <= (tol == 0 and any(twin.relocated))
    np.testing.assert_allclose(model.inertia_, rival.inertia_, rtol=1e-10, atol=1e-10)


def test_clusters_that_die_are_given_the_rows_scikit_learn_gives_them():
    X, _ = text_like(n_rows=200)
    start = some_rows(X, 6)
    start[2:5] += 1000.0
    model, rival = KMeans(6, init=start).fit(X), Rival(6, init=start, n_init=1).fit(X)
    assert model.history_[0]["relocated"] == 3
    assert model.history_[-1]["relocated"] == 0
    np.testing.assert_array_equal(model.labels_, rival.labels_)
    np.testing.assert_allclose(model.cluster_centers_, rival.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert model.n_iter_ == rival.n_iter_
    np.testing.assert_allclose(model.score(X), rival.score(X), rtol=1e-12)
    np.testing.assert_allclose(model.transform(X), rival.transform(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(X), rival.predict(X))


def test_words_that_no_row_has_count_in_the_first_step():
    X = sparse.csr_matrix([[1.0, 0, 0, 0], [3, 0, 0, 0], [0, 2, 0, 0], [0, 4, 0, 0]])
    start = np.array([[2.0, 0, 0, 0.9], [0, 3, 0, 0]])  # where the rest is, it stays
    for tol, n_iter in ((1e-4, 2), (2.0, 1)):
        models = [make(2, init=start, n_init=1, tol=tol).fit(X) for make in (KMeans, Rival)]
        assert [model.n_iter_ for model in models] == [n_iter, n_iter]
        np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
        np.testing.assert_array_equal(models[0].cluster_centers_, models[1].cluster_centers_)
    assert models[0].history_[0]["movement"] == pytest.approx(0.81)


def test_a_centre_that_dies_where_the_heaviest_is_does_not_move():
    X, start = sparse.csr_matrix([[1.0, 0], [1, 0], [0, 2]]), np.array([[1.0, 0], [0, 2], [1, 0]])
    model = quietly(KMeans(3, init=start, tol=0), X)
    rival = quietly(Rival(3, init=start, n_init=1, tol=0), X)
    assert model.n_iter_ == rival.n_iter_ == 1
    assert model.history_[0]["movement"] == model.history_[0]["relocated"] == 0
    np.testing.assert_array_equal(model.cluster_centers_, start)


@pytest.mark.parametrize("spherical", [False, True])
def test_tol_is_a_share_of_the_mean_variance(spherical):
    X, _ = text_like()
    X = sparse.csr_array(X + 3 * (X > 0))
    _, variance = lay_out(lambda: [(0, as_rows(X))], 30, np.empty(0), spherical, None, tol=1.0)
    np.testing.assert_allclose(variance, X.toarray().var(axis=0).mean(), rtol=1e-12)


def test_the_start_is_greedy_and_scikit_learns_in_quality():
    X, _ = text_like(n_rows=300, n_labels=6, density=1.0)
    ours = [KMeans(6, random_state=seed).fit(X).inertia_ for seed in range(12)]
    theirs = [Rival(6, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(12)]
    assert np.mean(ours) < 1.1 * np.mean(theirs)


# --- the objective ---------------------------------------------------------------------------------------------------


@quiet
@every_form
@settings(max_examples=40)
@given(problem=problems(), max_iter=st.integers(1, 12))
def test_the_naive_twin_goes_the_same_way(form, problem, max_iter):
    X, start, weights = problem
    options = FORMS[form]
    start = start + np.random.default_rng(0).normal(scale=0.01, size=start.shape)  # no two distances are equal
    twin = Means(start, max_iter, options.get("metric") == "spherical", options.get("temperature"))
    twin.fit(X.toarray(), weights)
    model = KMeans(len(start), init=start, max_iter=max_iter, tol=0, **options).fit(X, sample_weight=weights)
    objectives = [record["objective"] for record in model.history_] + [model.objective_]
    size = 1e-10 * (1 + (X.multiply(X)).sum() + np.sum(start**2)) * (1 if weights is None else weights.sum())
    assert (np.diff(objectives) <= size).all()
    shared = min(len(objectives), len(twin.objectives)) if model.n_iter_ == twin.n_iter else 2
    np.testing.assert_allclose(objectives[:shared], twin.objectives[:shared], rtol=1e-8, atol=size)


@every_form
def test_the_attributes_say_what_was_minimised(form):
    X, _ = text_like(n_rows=90)
    weights = np.random.default_rng(1).uniform(0.1, 3, 90)
    model = KMeans(4, random_state=0, tol=1e-9, **FORMS[form]).fit(X, sample_weight=weights)
    spherical = "spherical" in form
    d = distances(X.toarray(), model.cluster_centers_, spherical)
    np.testing.assert_array_equal(model.labels_, d.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, weights @ d.min(axis=1), rtol=1e-10)
    np.testing.assert_allclose(-model.score(X, sample_weight=weights), model.objective_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(X), d if spherical else np.sqrt(d), atol=1e-7)
    assert model.objective_ == model.inertia_ if "soft" not in form else model.objective_ > model.inertia_
    if spherical:
        np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-12)
    if "soft" in form:
        width = model.temperature * (1 if spherical else 2)
        kernel = np.exp(-d / width)
        np.testing.assert_allclose(model.predict_proba(X), kernel / kernel.sum(axis=1, keepdims=True), atol=1e-10)
    assert model.converged_
    assert [record["iteration"] for record in model.history_] == list(range(1, model.n_iter_ + 1))


@every_form
def test_the_fit_ends_at_a_fixed_point(form):
    X, _ = text_like(n_rows=80)
    model = KMeans(3, random_state=0, tol=1e-12, max_iter=2000, **FORMS[form]).fit(X)
    again = KMeans(3, init=model.cluster_centers_, max_iter=1, **FORMS[form]).fit(X)
    np.testing.assert_allclose(again.cluster_centers_, model.cluster_centers_, atol=1e-5)
    np.testing.assert_allclose(again.objective_, model.objective_, rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "spherical"])
def test_soft_becomes_hard_as_it_cools(metric):
    X, _ = text_like(n_rows=120, n_labels=4)
    start = some_rows(X, 4)
    hard = KMeans(4, init=start, metric=metric, tol=0).fit(X)
    assert hard.converged_
    assert [record["changed"] > 0 for record in hard.history_] == [True] * (hard.n_iter_ - 1) + [False]
    gaps = []
    for temperature in (0.1, 1e-3, 1e-6, 1e-300):
        soft = KMeans(4, init=hard.cluster_centers_, metric=metric, temperature=temperature, tol=1e-9).fit(X)
        gaps.append(abs(soft.objective_ - hard.objective_))
        np.testing.assert_allclose(soft.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-9
    np.testing.assert_array_equal(soft.predict_proba(X).argmax(axis=1), hard.labels_)
    assert not hasattr(hard, "predict_proba")


def test_a_hot_soft_form_has_one_centre():
    X, _ = text_like(n_rows=60)
    model = KMeans(3, temperature=1e100, random_state=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, np.tile(X.mean(axis=0), (3, 1)), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3, rtol=1e-12)


def test_on_the_sphere_the_first_labels_are_those_of_euclid_on_unit_rows():
    X, _ = text_like(n_rows=120)
    start = unit(some_rows(X, 5))
    ones = sparse.csr_array(unit(X.toarray()))
    sphere = KMeans(5, init=start, metric="spherical", max_iter=1).fit(X)
    euclid = KMeans(5, init=sphere.cluster_centers_, max_iter=1).fit(ones)
    np.testing.assert_array_equal(sphere.predict(ones), sphere.labels_)
    by_distance = distances(ones.toarray(), sphere.cluster_centers_).argmin(axis=1)
    np.testing.assert_array_equal(sphere.labels_, by_distance)
    assert euclid.history_[0]["objective"] == pytest.approx(2 * sphere.inertia_)


def test_the_length_of_a_row_is_nothing_on_the_sphere():
    X, _ = text_like(n_rows=90)
    stretched = sparse.csr_array(X.multiply(10.0 ** np.random.default_rng(0).integers(-250, 90, (90, 1))))
    models = [KMeans(4, metric="spherical", init=some_rows(X, 4)).fit(rows) for rows in (X, stretched)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_allclose(models[0].inertia_, models[1].inertia_, rtol=1e-12)


# --- sums that are kept up to date -----------------------------------------------------------------------------------


def test_the_centres_are_the_means_in_every_bit_whatever_the_way_there():
    X, _ = text_like(n_rows=400, n_labels=5)
    model = KMeans(5, init=some_rows(X, 5), tol=0).fit(X)
    assert model.n_iter_ > 4
    assert 0 < model.history_[-2]["changed"] < 40
    scale = 1 / np.bincount(model.labels_, minlength=5)
    columns = X.tocsc()
    for j in range(X.shape[1]):
        column = columns[:, [j]].tocoo()
        sums = np.bincount(model.labels_[column.coords[0]], column.data, minlength=5)
        np.testing.assert_array_equal(model.cluster_centers_[:, j], sums * scale)


@pytest.mark.parametrize("spherical", [False, True])
@settings(max_examples=50)
@given(seed=seeds, n_segments=st.integers(1, 3))
def test_the_norms_that_are_kept_up_to_date_are_those_of_the_centres(spherical, seed, n_segments):
    """Also where a row leaves that dwarfs the others, and takes all digits with it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 5)) * (rng.random((24, 5)) < 0.4) * 10.0 ** rng.choice([0, 0, 0, 6], size=(24, 1))
    pieces = [(i * 24 // n_segments, as_rows(part)) for i, part in enumerate(np.array_split(X, n_segments))]
    points, _ = lay_out(lambda: pieces, 5, np.empty(0), spherical, ScratchSpace() if n_segments > 1 else None, tol=0.0)
    with parallel.WorkerPool(1) as workers:
        step = LloydStep(points, 3, spherical, workers)
        step.begin(unit(rng.normal(size=(3, 5))))
        labels = rng.integers(0, 3, 24).astype(np.int32)
        labels[:3] = 0, 1, 2
        for _ in range(6):
            before = step.centres()
            step.labels[:] = labels
            moved = step.maximise()["movement"]
            centres = step.centres()
            kept = np.ones(3) if spherical else np.square(centres).sum(axis=1)
            np.testing.assert_allclose(step.squares, kept, rtol=1e-9)
            np.testing.assert_allclose(moved, np.square(centres - before).sum(), rtol=1e-6, atol=1e-12)
            sums = np.array([X[labels == k].sum(axis=0) for k in range(3)])
            expected = unit(sums) if spherical else sums / np.bincount(labels, minlength=3)[:, None]
            np.testing.assert_allclose(centres, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
            changing = 3 + rng.choice(21, 2, replace=False)
            labels[changing] = rng.integers(0, 3, 2)


# --- where the rows lie, and who works -------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
@every_form
def test_threads_change_no_bit(form):
    X, _ = text_like(n_rows=300)
    weights = np.random.default_rng(0).uniform(0.5, 2, 300)
    models = [
        KMeans(5, random_state=0, n_jobs=n_jobs, **FORMS[form]).fit(X, sample_weight=weights) for n_jobs in (1, 2, 3)
    ]
    for model in models[1:]:
        assert_same_bits(model, models[0])
        np.testing.assert_array_equal(model.predict(X), models[0].labels_)


@every_form
def test_a_corpus_of_one_segment_has_the_bits_of_the_matrix(form, tmp_path):
    X, y = text_like(n_rows=150)
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    model = KMeans(4, random_state=0, **FORMS[form])
    expected = KMeans(4, random_state=0, **FORMS[form]).fit(X, sample_weight=weights)
    corpus = Corpus(X, y, sample_weight=weights)
    for source in (corpus, corpus.write(tmp_path / "corpus")):
        assert_same_bits(model.fit(source), expected)
        np.testing.assert_array_equal(model.predict(source), expected.labels_)
        np.testing.assert_array_equal(model.transform(source), expected.transform(X))
        assert model.score(source) == expected.score(X, sample_weight=weights)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("init", ["k-means++", "random", "array"])
@every_form
def test_segments_on_disk_have_the_bits_of_segments_in_memory(form, init, tmp_path):
    X, y = text_like(n_rows=150)
    start = some_rows(X, 4) if init == "array" else init
    model, other = (KMeans(4, init=start, n_init=1, random_state=0, **FORMS[form]) for _ in range(2))
    corpus = Corpus(X, y)
    assert corpus.n_segments > 3
    assert_same_bits(model.fit(corpus), other.fit(corpus.write(tmp_path / "corpus")))
    assert_same_bits(other.set_params(n_jobs=2).fit(corpus), model)
    whole = KMeans(4, init=start, n_init=1, random_state=0, **FORMS[form]).fit(X)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(corpus), model.labels_)


@pytest.mark.usefixtures("small_segments")
def test_the_sums_of_segments_are_those_of_the_matrix_in_every_bit():
    X, y = text_like(n_rows=200)
    start = some_rows(X, 4)
    start[3] += 100.0
    one, other = KMeans(4, init=start, tol=0).fit(X), KMeans(4, init=start, tol=0).fit(Corpus(X, y))
    assert other.history_[0]["relocated"] == 1
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


@every_form
def test_the_order_of_columns_is_nothing_and_that_of_centres_is_the_order_of_labels(form):
    X, _ = text_like(n_rows=100, density=1.0)
    start, rng = some_rows(X, 4), np.random.default_rng(3)
    columns, turned = rng.permutation(X.shape[1]), rng.permutation(4)
    model = KMeans(4, init=start, max_iter=3, **FORMS[form]).fit(X)
    other = KMeans(4, init=start[turned][:, columns], max_iter=3, **FORMS[form]).fit(X[:, columns])
    np.testing.assert_array_equal(turned[other.labels_], model.labels_)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_[turned][:, columns], atol=1e-9)


def test_float32_and_other_matrices_are_the_same_rows():
    X, _ = text_like(n_rows=60)
    expected = KMeans(3, random_state=0).fit(X)
    for same in (X.astype(np.float32), X.toarray(), sparse.csr_array(X), X.tocoo(), X.astype(np.int64)):
        assert_same_bits(KMeans(3, random_state=0).fit(same), expected)


# --- starts ----------------------------------------------------------------------------------------------------------


def test_the_best_of_several_starts_is_kept():
    X, _ = text_like(n_rows=100, n_labels=5)
    generator = np.random.Generator(np.random.PCG64(0))
    assert KMeans(5, n_init=6, random_state=generator).fit(X).inertia_ > 0
    one, six = (KMeans(5, init="random", n_init=n, random_state=3).fit(X) for n in (1, 6))
    auto, ten = (KMeans(5, init="random", n_init=n, random_state=3).fit(X) for n in ("auto", 10))
    assert six.inertia_ < one.inertia_
    assert_same_bits(auto, ten)
    assert ten.inertia_ <= six.inertia_


def test_a_function_may_choose_the_start():
    X, _ = text_like(n_rows=60)
    calls = []

    def first_rows(rows, n_clusters, random_state):
        calls.append(random_state.randint(1000))
        return rows[:n_clusters]  # sparse

    model = KMeans(3, init=first_rows, random_state=0).fit(X)
    assert len(calls) == 10
    assert len(set(calls)) > 5
    assert_same_bits(model, KMeans(3, init=X[:3].toarray()).fit(X))


def test_sparse_centres_are_proved():
    X, _ = text_like()
    start = sparse.csr_array(X[:3])
    start.indices[-1] = 1 << 30
    for init in (start, lambda *_, **__: start):
        with pytest.raises(ValueError, match="init holds index 1073741824 in row 2"):
            KMeans(3, init=init).fit(X)


def test_an_array_is_one_start():
    X, _ = text_like()
    with pytest.warns(RuntimeWarning, match="performing only one init, not n_init=3"):
        model = KMeans(3, init=X[:3], n_init=3).fit(X)
    assert_same_bits(model, KMeans(3, init=X[:3]).fit(X))


# --- few rows, odd rows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["k-means++", "random"])
@every_form
def test_more_clusters_than_rows(form, init):
    X = sparse.csr_array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3]])
    options = FORMS[form] | ({"temperature": 1e-3} if "soft" in form else {})
    model = KMeans(7, init=init, random_state=0, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    messages = [str(each.message) for each in caught]
    if "soft" in form:  # all centres have their shares
        assert not messages
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    else:
        assert len(messages) == 1
        assert messages[0].startswith("Number of distinct clusters (3) found smaller than n_clusters (7)")
        assert not any(record["relocated"] for record in model.history_[1:])  # all lie on centres
    assert len(set(model.labels_)) == 3
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    near = distances(model.cluster_centers_, unit(X.toarray()) if "spherical" in form else X.toarray())
    np.testing.assert_allclose(near.min(axis=1), 0, atol=1e-12)  # the surplus lies where clusters are


@quiet
@every_form
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((4, 3)),
        np.ones((1, 1)),
        np.zeros((1, 2)),
        np.full((5, 2), 7.3),
        np.repeat([[1.0, 0], [0, 1]], 3, axis=0),
        np.array([[0.0, 0], [1, 2], [0, 0], [3, 1]]),
        np.array([[1.0], [-1.0]]),
        np.array([[1e100, 1.0], [-1e100, 1.0], [1e-300, 1.0]]),
    ],
    ids=["empty rows", "one", "one empty row", "constant", "duplicates", "some empty", "cancelling", "huge"],
)
def test_odd_rows_give_finite_and_right_clusters(form, rows):
    for n_clusters in (1, 2, 3):
        for weights in (None, np.linspace(0, 1e100, len(rows) + 1)[1:]):
            model = KMeans(n_clusters, random_state=0, **FORMS[form]).fit(rows, sample_weight=weights)
            assert np.isfinite(model.cluster_centers_).all()
            assert np.isfinite(model.transform(rows)).all()
            np.testing.assert_array_equal(model.predict(rows), model.labels_)
            values = [record["objective"] for record in model.history_] + [model.objective_]
            weight = len(rows) if weights is None else weights.sum()
            assert (np.diff(values) <= 1e-14 * weight * (1 + np.square(rows).sum(axis=1).max())).all()
            if len(np.unique(rows, axis=0)) <= n_clusters and form == "hard":
                assert model.inertia_ <= 1e-28 * weight * (1 + np.square(rows).sum(axis=1).max())


def test_an_empty_row_is_no_place_for_a_centre_on_the_sphere():
    X = np.array([[0.0, 0], [1, 0.1], [1, 0.2], [1, 0.5], [0, 0]])
    model = KMeans(2, init=np.array([[1.0, 0], [-1, 0]]), metric="spherical", max_iter=1).fit(X)
    assert model.history_[0]["relocated"] == 1
    np.testing.assert_allclose(model.cluster_centers_[1], unit(X[[3]])[0], rtol=1e-12)


def test_one_cluster_is_the_mean():
    X, _ = text_like(n_rows=50)
    weights = np.random.default_rng(0).uniform(size=50)
    model = KMeans(1).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.cluster_centers_[0], weights @ X.toarray() / weights.sum(), rtol=1e-12)
    assert set(model.labels_) == {0}
    assert model.n_iter_ == 2


def test_rows_of_weight_zero_have_labels_but_no_say():
    X, _ = text_like(n_rows=60)
    weights = (np.arange(60) % 3 > 0).astype(float)
    start = some_rows(X, 3)
    all_rows = KMeans(3, init=start).fit(X, sample_weight=weights)
    some = KMeans(3, init=start).fit(X[weights > 0])
    np.testing.assert_allclose(all_rows.cluster_centers_, some.cluster_centers_, rtol=1e-12)
    np.testing.assert_array_equal(all_rows.labels_, some.predict(X))


# --- life in scikit-learn --------------------------------------------------------------------------------------------


def test_fit_predict_and_fit_transform_are_fit_and_then_the_other():
    X, y = text_like(n_rows=60)
    model = KMeans(3, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))
    np.testing.assert_array_equal(model.fit_transform(X, y), model.transform(X))
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    pipeline = make_pipeline(KMeans(6, random_state=0), LinearSVC(random_state=0)).fit(X, y)
    assert pipeline.score(X, y) > 0.5


def test_what_the_attributes_of_a_user_are_is_used():
    X, _ = text_like(n_rows=60)
    model = KMeans(3, random_state=0).fit(X)
    model.cluster_centers_ = model.cluster_centers_[[2, 0, 1]]
    np.testing.assert_array_equal(np.array([2, 0, 1])[model.predict(X)], model.labels_)
    for wrong in (model.cluster_centers_[:, 1:], model.cluster_centers_ * np.nan, [1.0]):
        model.cluster_centers_ = wrong
        with pytest.raises(ValueError, match="cluster_centers_"):
            model.predict(X)


def test_verbose_prints_a_line_an_iteration(capsys):
    X, _ = text_like()
    model = KMeans(3, random_state=0, verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 2
    assert lines[0] == "Initialization complete"
    place, objective = model.n_iter_ - 1, f"{model.history_[-1]['objective']:.10g}"
    assert lines[-2] == f"KMeans  Iteration {place}, inertia {objective}  changed 0  movement 0  relocated 0"
    assert lines[-1] == f"Converged at iteration {place}: strict convergence."


@every_form
def test_a_callback_sees_a_model_that_predicts_and_may_end_the_fit(form):
    X, _ = text_like(n_rows=100)
    seen = []

    def callback(model, record):
        seen.append(model.predict(X))
        return record["iteration"] == 2

    model = KMeans(4, init=some_rows(X, 4), tol=0, callback=callback, **FORMS[form]).fit(X)
    assert model.n_iter_ == len(seen) == 2
    assert model.converged_
    np.testing.assert_array_equal(seen[-1], model.labels_)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_error_on_the_way_leaves_the_estimator_as_it_was(error):
    X, _ = text_like()

    def fails(model, record):
        raise error

    model = KMeans(3, random_state=0).fit(X)
    before = dict(vars(model))
    with pytest.raises(error):
        model.set_params(callback=fails).fit(X[:, :5])
    assert vars(model) == before | {"callback": fails}
    new = KMeans(3, callback=fails)
    with pytest.raises(error):
        new.fit(X)
    with pytest.raises(NotFittedError):
        new.predict(X)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"n_clusters": 2.0}, "n_clusters must be a whole number"),
        ({"init": "kmeans++"}, r"did you mean 'k-means\+\+'"),
        ({"init": np.ones((2, 30))}, r"\(2, 30\) does not match the number of clusters 3"),
        ({"init": np.ones((3, 29))}, r"\(3, 29\) does not match the number of features of the data 30"),
        ({"init": np.full((3, 30), np.nan)}, "init contains NaN at 0, 0"),
        ({"init": np.full((3, 30), 1e101)}, "init holds 1e.101; at most 1e.100"),
        ({"init": np.ones(3)}, r"init must have 2 dimension\(s\)"),
        ({"init": [["a"] * 30] * 3}, "init must hold real numbers"),
        ({"init": [[1.0], [1.0, 2.0]]}, "init must hold real numbers"),
        ({"init": lambda X, n, random_state: X[:2]}, "does not match the number of clusters"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"n_init": "all"}, "n_init must be one of 'auto'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": -1e-9}, "tol must be >= 0"),
        ({"tol": np.nan}, "tol must be"),
        ({"algorithm": "full"}, "algorithm must be one of 'lloyd', 'elkan'"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"temperature": 0}, "temperature must be > 0"),
        ({"temperature": np.inf}, "temperature must be"),
        ({"verbose": -1}, "verbose must be at least 0"),
        ({"copy_x": "no"}, "copy_x must be one of"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"callback": 3}, "callback must be callable"),
        ({"random_state": -1}, "random_state must be at least 0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, _ = text_like()
    with pytest.raises((ValueError, TypeError), match=message):
        KMeans(**{"n_clusters": 3} | options).fit(X)


def test_bad_rows_and_weights_are_named():
    X, y = text_like()
    model = KMeans(3, random_state=0).fit(X)
    before = dict(vars(model))
    bad = X.copy()
    bad.data[5] = np.nan
    for call in (model.fit, model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="NaN at row"):
            call(bad)
    with pytest.raises(ValueError, match="X has 29 features, but KMeans is expecting 30"):
        model.predict(X[:, :29])
    for weights, message in ((np.zeros(60), "weight of every row is zero"), (-np.ones(60), "negative"), ([1.0], "60")):
        with pytest.raises(ValueError, match=message):
            model.fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        model.fit(Corpus(X, y), sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(X[:0])
    assert vars(model) == before


def test_nothing_is_warned_of_when_all_is_well():
    X, _ = text_like()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KMeans(3, random_state=0, max_iter=1, tol=0).fit(X)


@every_form
@quiet
def test_weights_and_values_at_the_edge_of_the_numbers(form):
    X = np.vstack([np.eye(3), np.eye(3) + 0.1, 2 * np.eye(3)])
    light = np.where(np.arange(9) < 4, 1.0, 1e-310)  # what is so light beside the others has no say
    one = KMeans(7, random_state=0, **FORMS[form]).fit(X, sample_weight=light)
    none = KMeans(7, random_state=0, **FORMS[form]).fit(X, sample_weight=np.where(light == 1, 1.0, 0.0))
    assert_same_bits(one, none)
    small = KMeans(3, random_state=0, **FORMS[form]).fit(X * 1e-310)
    assert np.isfinite(small.cluster_centers_).all()
    assert np.isfinite(small.objective_)
    if "spherical" in form:
        whole = KMeans(3, random_state=0, **FORMS[form]).fit(X)
        np.testing.assert_allclose(small.cluster_centers_, whole.cluster_centers_, rtol=1e-9, atol=1e-9)
        given = KMeans(3, init=np.eye(3) * 1e-310, **FORMS[form]).fit(X)
        assert np.isfinite(given.cluster_centers_).all()


def test_more_clusters_than_labels_can_count_are_refused():
    with pytest.raises(ValueError, match="n_clusters is 2147483648; at most 2147483647 are supported"):
        KMeans(2**31).fit(np.eye(3))
