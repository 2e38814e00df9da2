"""LinearSVC on segments: the same optimum, certified by the same gap; of one segment the same bits."""

import numpy as np
import pytest

from fastlin import Corpus, LinearSVC
from fastlin.data import corpus as corpora
from support.estimators import text_like

WAYS = [(loss, way) for loss in ("hinge", "squared_hinge") for way in ("ovr", "crammer_singer")]


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(corpora, "SEGMENT", 100)


def machine(loss, way, **options):
    return LinearSVC(
        loss=loss, multi_class=way, **{"dual": True, "random_state": 0, "tol": 1e-7, "max_iter": 3000} | options
    )


def assert_same_bits(one, other):
    for name in ("coef_", "intercept_", "certificate_", "n_iter_"):
        np.testing.assert_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_labels", [2, 11])
@pytest.mark.parametrize("loss, way", WAYS)
def test_one_segment_has_the_bits_of_rows_in_memory(loss, way, n_labels, dtype, tmp_path):
    X, y = text_like(n_labels=n_labels, dtype=dtype)
    weights = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    options = {"tol": 0.02, "class_weight": {0: 2.0}}
    expected = machine(loss, way, **options).fit(X, y, weights)
    corpus = Corpus(X, y, sample_weight=weights)
    assert_same_bits(machine(loss, way, **options).fit(corpus), expected)
    assert_same_bits(machine(loss, way, **options).fit(corpus.write(tmp_path / "corpus")), expected)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("scaling", [0, 1, 100])
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("loss, way", WAYS)
def test_segments_lead_to_the_same_optimum(loss, way, n_labels, scaling):
    X, y = text_like(n_labels=n_labels)
    options = {"fit_intercept": scaling > 0, "intercept_scaling": scaling or 1}
    expected, corpus = machine(loss, way, **options).fit(X, y), Corpus(X, y)
    assert corpus.n_segments > 2
    model = machine(loss, way, **options).fit(corpus)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=3e-7)
    assert model.certificate_["duality_gap"] <= 1e-7 * model.objective_ * (1 + 1e-9)
    assert abs(model.certificate_["dual_objective"] - expected.objective_) <= 3e-7 * expected.objective_
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=0.01)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("loss, way", WAYS)
def test_the_gap_is_what_it_claims_to_be(loss, way):
    """No more is left than the gap, whenever the fit ends; and the objective is that of the weights."""
    X, y = text_like()
    best = machine(loss, way).fit(X, y).objective_
    for max_iter in (1, 2, 5, 12):
        with pytest.warns(UserWarning, match="max_iter"):
            model = machine(loss, way, max_iter=max_iter, tol=0).fit(Corpus(X, y))
        assert model.certificate_["dual_objective"] <= best * (1 + 1e-9) <= model.objective_ * (1 + 1e-8)
        np.testing.assert_allclose(model.objective_, objective(model, X, y), rtol=1e-10)


def test_a_large_intercept_scaling_is_no_obstacle():
    """Thousands of epochs did not suffice for an intercept that moves with every row."""
    X, y = text_like(n_labels=2)
    model = machine("hinge", "ovr", intercept_scaling=1000, tol=1e-6, max_iter=300).fit(X, y)
    assert model.converged_


def objective(model, X, y):
    """½‖θ‖² + Σ ℓ."""
    scores = X @ model.coef_.T + model.intercept_
    own = y[:, None] == model.classes_
    if model.multi_class == "ovr":
        losses = np.maximum(0, 1 - np.where(own, scores, -scores))
    else:
        losses = (scores + ~own).max(axis=1) - scores[own]
    losses = losses**2 if model.loss == "squared_hinge" else losses
    return 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) + losses.sum()


@pytest.mark.usefixtures("small_segments")
def test_disk_memory_and_threads_agree_in_every_bit(tmp_path):
    X, y = text_like(n_labels=11)
    corpus, options = Corpus(X, y), {"tol": 1e-3}
    expected = machine("squared_hinge", "ovr", **options).fit(corpus)
    assert_same_bits(machine("squared_hinge", "ovr", **options).fit(corpus.write(tmp_path / "a")), expected)
    assert_same_bits(machine("squared_hinge", "ovr", n_jobs=3, **options).fit(corpus), expected)


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize("loss, way", WAYS)
def test_a_warm_start_goes_on_from_the_dual_variables(loss, way):
    X, y = text_like()
    corpus = Corpus(X, y)
    model = machine(loss, way, warm_start=True, tol=1e-4).fit(corpus)
    before, epochs = model.objective_, model.n_iter_
    model.fit(corpus)
    assert model.n_iter_ <= max(2, epochs // 2)
    np.testing.assert_allclose(model.objective_, before, rtol=2e-4)
    model.fit(X, y)  # other segments: it begins anew
    np.testing.assert_allclose(model.objective_, before, rtol=2e-4)


@pytest.mark.usefixtures("small_segments")
def test_segments_need_about_the_visits_of_one():
    """An intercept that follows each segment's own wish needs twenty times as many."""
    X, y = text_like(n_rows=600, n_features=300, n_labels=2, density=0.05)
    corpora.SEGMENT = X.nnz // 4
    visits = []
    for data in ((X, y), (Corpus(X, y),)):
        model = machine("hinge", "ovr", tol=1e-3).fit(*data)
        visits.append(sum(record["active"] for record in model.history_))
    assert visits[1] < 2 * visits[0]


@pytest.mark.usefixtures("small_segments")
def test_bad_corpora_are_refused():
    X, y = text_like()
    with pytest.raises(ValueError, match="greater than one"):
        LinearSVC().fit(Corpus(X, np.zeros(60, int)))
    with pytest.raises(ValueError, match="weight of every row is zero"):
        LinearSVC().fit(Corpus(X, y, sample_weight=np.zeros(60)))
    X.data[-1] = 1e200
    with pytest.raises(ValueError, match="at row 59"):
        LinearSVC().fit(Corpus(X, y))
