"""Semi-supervised naive Bayes: the naive twin's EM, and MultinomialNB's bits where there is nothing to infer."""

import pickle
import time

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastlin import Corpus, MultinomialNB, SemiSupervisedNB, run
from fastlin.cluster import beginnings
from fastlin.cluster.beginnings import Beginnings
from fastlin.data import corpus as corpora
from fastlin.data.scratch import Scratch
from reference_cluster import EM
from strategies import cuts, labelled, seeds, weighted
from support import assert_same_bits, random_sparse, text_like

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:.*components")
counts = labelled(values=("counts",))
PRIORS = [{}, {"alpha": 0.1}, {"fit_prior": False}, {"alpha": 0.0}]
LEARNT = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "classes_")
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
COMPONENTS = [1, 2, {0: 3}, [1, 2, 3]]


def iterated(n_iter, **options):
    """So many iterations, converged or not."""
    return SemiSupervisedNB(**{"tol": 0, "max_iter": n_iter, "random_state": 0, **options})


def partly(y, seed=0, share=0.6):
    """Labels of which so many are taken away; one of each stays."""
    rng, y = np.random.default_rng(seed), np.array(y)
    gone = rng.random(len(y)) < share
    gone[np.unique(y, return_index=True)[1]] = False
    return np.where(gone, -1, y)


def assert_same(one, other):
    """Every number that was learnt, bit for bit."""
    assert_same_bits(one, other)
    for name in (*LEARNT, "component_count_", "component_classes_", "bound_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_close(one, other, rtol=1e-9):
    for name in (*LEARNT, "component_count_", "bound_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-9, err_msg=name)


def assert_is_multinomial(model, X, *learnt_from, **options):
    plain = MultinomialNB(**options).fit(*learnt_from)
    for name in LEARNT:
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name), err_msg=name)
    for name in PREDICTIONS:
        np.testing.assert_array_equal(getattr(model, name)(X), getattr(plain, name)(X), err_msg=name)


# --- without documents to infer --------------------------------------------------------------------------------------


@given(data=st.data(), options=st.sampled_from(PRIORS), seed=seeds)
def test_all_labelled_is_multinomial_naive_bayes_bit_for_bit(data, options, seed):
    X, y, n_labels = data.draw(counts)
    weights = data.draw(st.none() | weighted(X.shape[0]).map(lambda w: w + 0.01))
    rng = np.random.default_rng(seed)
    if data.draw(st.booleans()):
        options = options | {"base_measure": rng.uniform(0.1, 2, X.shape[1])}
    if data.draw(st.booleans()):
        options = options | {"class_prior": rng.dirichlet(np.ones(n_labels))}
    model = SemiSupervisedNB(**options).fit(X, y, sample_weight=weights)
    assert_is_multinomial(model, X, X, y, weights, **options)
    assert model.converged_


@given(data=st.data(), options=st.sampled_from(PRIORS), seed=seeds, apart=st.booleans())
def test_a_weight_of_zero_leaves_unlabelled_documents_out(data, options, seed, apart):
    X, y, _ = data.draw(counts)
    z = partly(y, seed)
    there = z >= 0
    model = SemiSupervisedNB(unlabeled_weight=0, **options)
    model.fit(X[there], z[there], X[~there] if (~there).any() else None) if apart else model.fit(X, z)
    assert_is_multinomial(model, X, X[there], z[there], **options)


@given(data=st.data(), options=st.sampled_from(PRIORS))
def test_labelled_streams_cut_anywhere_are_multinomial_naive_bayes_bit_for_bit(data, options):
    X, y, n_labels = data.draw(counts)
    model = SemiSupervisedNB(**options)
    announced = np.arange(n_labels) if data.draw(st.booleans()) else None
    for rows in data.draw(cuts(X.shape[0])):
        model.partial_fit(X[rows], y[rows], classes=announced)
        if data.draw(st.booleans()):
            model.predict_proba(X)
    assert_is_multinomial(model, X, X, y, **options)


# --- EM --------------------------------------------------------------------------------------------------------------


def twin_of(families, X, **options):
    prior = options.pop("class_prior", None)
    if not options.pop("fit_prior", True):
        prior = np.full(len(families) - 1, 1 / (len(families) - 1))
    return EM(families, X.shape[1], class_prior=prior, **options)


@given(data=st.data(), lam=st.sampled_from([0.1, 0.5, 1.0]), seed=seeds, weighing=st.booleans())
def test_em_is_the_naive_twins(data, lam, seed, weighing):
    X, y, n_labels = data.draw(counts)
    X.sum_duplicates()
    rng, n = np.random.default_rng(seed), X.shape[0]
    sizes = rng.integers(1, 4, n_labels)
    families = np.concatenate([[0], np.cumsum(sizes)])
    options = data.draw(st.sampled_from([{}, {"fit_prior": False}, {"class_prior": rng.dirichlet(np.ones(n_labels))}]))
    options = options | {"alpha": rng.uniform(0.1, 2, X.shape[1]) if rng.random() < 0.3 else rng.uniform(0.1, 2)}
    if np.ndim(options["alpha"]) == 0 and rng.random() < 0.5:
        options["base_measure"] = rng.uniform(0.1, 2, X.shape[1])
    z = partly(y, seed)
    weights = rng.uniform(0.5, 2, n) if weighing else np.ones(n)
    shares = np.zeros((n, families[-1]))
    for row, code in enumerate(z.tolist()):
        if code >= 0:
            shares[row, families[code] : families[code + 1]] = rng.dirichlet(np.ones(sizes[code]))
    inferred = (z < 0) | (sizes[z] > 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beginnings, "within_labels", lambda _: lambda part, room: np.copyto(room, shares[inferred]))
        model = iterated(4, unlabeled_weight=lam, components=sizes, **options)
        model.fit(X, z, sample_weight=weights if weighing else None)
    twin = twin_of(families, X, **options)
    n_iter = len(model.bound_) - 1
    bounds = twin.climb(X.toarray(), z, np.where(z < 0, lam, 1) * weights, shares, n_iter)
    np.testing.assert_allclose(model.bound_, bounds, rtol=1e-9)
    assert (np.diff(model.bound_) >= 0).all()
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), twin.phi, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(model.component_count_, twin.masses, rtol=1e-8, atol=1e-9)
    components = np.array([twin.proba(x) for x in X.toarray()])
    np.testing.assert_allclose(model.predict_component_proba(X), components, rtol=1e-7, atol=1e-9)
    of_labels = np.add.reduceat(components, families[:-1], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), of_labels, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("components", COMPONENTS)
@pytest.mark.parametrize("options", [*PRIORS, {"unlabeled_weight": 0.05}])
def test_the_bound_never_falls_and_labelled_documents_stay_with_their_label(components, options):
    X, y = text_like(n_rows=90)
    z = partly(y)
    model = iterated(30, components=components, **options).fit(X, z, X[:20])
    assert (np.diff(model.bound_) >= 0).all()
    assert model.bound_[-1] > model.bound_[0]
    assert model.objective_ == -model.bound_[-1]
    assert len(model.history_) == len(model.bound_) == model.n_iter_ + 1
    alone = iterated(30, components=components, **options | {"unlabeled_weight": 0.0}).fit(X, z, X[:20])
    np.testing.assert_allclose(alone.class_count_, np.bincount(z[z >= 0]), rtol=1e-12)
    assert (model.class_count_ >= alone.class_count_ - 1e-9).all()
    lam = options.get("unlabeled_weight", 1)
    np.testing.assert_allclose(model.class_count_.sum(), (z >= 0).sum() + lam * ((z < 0).sum() + 20), rtol=1e-12)


@pytest.mark.parametrize("components", COMPONENTS)
def test_a_matrix_of_its_own_is_as_good_as_labels_that_are_missing(components):
    X, y = text_like(n_rows=90)
    z = partly(y)
    together = iterated(8, components=components).fit(X, z)
    apart = iterated(8, components=components).fit(X[z >= 0], z[z >= 0], X[z < 0])
    assert_close(together, apart)
    if components == 1:
        assert_same(together, apart)


@pytest.mark.parametrize("components", [1, [2, 1, 1]])
def test_the_order_of_the_rows_does_not_matter(components):
    X, y = text_like(n_rows=90)
    z, order = partly(y), np.random.default_rng(1).permutation(90)
    with pytest.MonkeyPatch.context() as patch:  # a start that does not depend on it either
        patch.setattr(Beginnings, "within_labels", lambda _: halves)
        one = iterated(8, components=components).fit(X, z)
        other = iterated(8, components=components).fit(X[order], z[order])
    assert_close(one, other)


def halves(part, shares):
    """Documents of label 0 are told apart by their lengths."""
    design = part.design
    long = np.add.reduceat(np.append(design.values, 0), design.indptr[:-1]) % 2 == 0
    label = part.labels.codes == 0
    shares[label & long, 0], shares[label & ~long, shares.shape[1] - 3] = 1, 1


@pytest.mark.parametrize("components", [1, 2])
def test_lambda_is_a_weight_of_unlabelled_documents(components):
    X, y = text_like(n_rows=60)
    z, weights = partly(y), np.random.default_rng(0).uniform(0.5, 2, 60)
    lam = iterated(8, components=components, unlabeled_weight=0.5).fit(X, z, sample_weight=weights)
    halved = iterated(8, components=components).fit(X, z, sample_weight=weights * np.where(z < 0, 0.5, 1))
    assert_same(lam, halved)


def test_unlabelled_documents_help():
    X, y = text_like(n_rows=900, n_features=60, seed=3, density=0.15)
    few, rest = slice(0, 9), slice(9, 600)
    plain = MultinomialNB().fit(X[few], y[few]).score(X[600:], y[600:])
    found = SemiSupervisedNB().fit(X[few], y[few], X[rest]).score(X[600:], y[600:])
    assert 1 - found < 0.5 * (1 - plain)


def test_an_unlabelled_document_weighs_as_much_as_it_is_likely():
    """One iteration by hand."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    model = iterated(1).fit(X, ["a", "b", None])
    p = (2 / 3) / (2 / 3 + 1 / 3)
    np.testing.assert_allclose(model.class_count_, [1 + p, 2 - p], rtol=1e-12)
    np.testing.assert_allclose(model.feature_count_, [[1 + p, 0], [1 - p, 1]], rtol=1e-12)


# --- corners ---------------------------------------------------------------------------------------------------------


def test_words_that_no_labelled_document_has_need_no_smoothing():
    X = sparse.csr_matrix([[2.0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 3]])
    model = SemiSupervisedNB(alpha=0.0, tol=1e-9).fit(X, [0, 1, -1, -1])
    assert np.isneginf(model.bound_[0])
    assert np.isfinite(model.bound_[1:]).all()
    assert (np.diff(model.bound_) >= 0).all()
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), 1, rtol=1e-12)
    assert model.predict_proba(X)[2, 0] > 0.99  # its first word is label 0's only


def test_a_document_that_no_label_can_produce_gets_the_class_prior():
    X = sparse.csr_matrix([[2.0, 1, 0], [3, 0, 0], [0, 0, 3]])
    for components in (1, 2):
        model = SemiSupervisedNB(alpha=0.0, components=components, random_state=0).fit(X, [0, 0, 1])
        np.testing.assert_allclose(model.predict_proba([[1.0, 0, 1]]), [[2 / 3, 1 / 3]], rtol=1e-12)
        shares = model.predict_component_proba([[1.0, 0, 1]])
        np.testing.assert_allclose(np.add.reduceat(shares, [0, components], axis=1), [[2 / 3, 1 / 3]], rtol=1e-12)


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_empty_documents_and_one_document_a_label(components, alpha):
    X = sparse.csr_matrix([[2.0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]])
    model = SemiSupervisedNB(alpha=alpha, components=components, random_state=0).fit(X, ["a", "b", None, None, "b"])
    for name in PREDICTIONS[1:3]:
        assert not np.isnan(getattr(model, name)(X)).any()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(model.class_count_.sum(), 5, rtol=1e-12)
    prior = np.exp(model.class_log_prior_)
    np.testing.assert_allclose(model.predict_proba(X)[2], prior, rtol=1e-9)


def test_a_label_of_empty_documents_may_have_components():
    X = sparse.csr_matrix([[2.0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]])
    for rows in (X, X * 0):
        model = SemiSupervisedNB(components=2, random_state=0).fit(rows, ["a", "b", "b", "a", None])
        assert np.isfinite(model.bound_).all()
        np.testing.assert_allclose(model.class_count_.sum(), 5, rtol=1e-12)
        stream = SemiSupervisedNB(components=2, random_state=0).partial_fit(rows, ["a", "b", "b", "a", None])
        np.testing.assert_allclose(stream.class_count_.sum(), 5, rtol=1e-12)


@pytest.mark.parametrize("sample", [False, True])
def test_components_begin_with_the_topics_of_their_own_label(sample, monkeypatch):
    X, topics = text_like(n_rows=240, n_features=60, n_labels=4, seed=1, density=0.5)
    order = np.random.default_rng(0).permutation(240)
    X, topics = X[order], topics[order]
    z = partly(topics // 2, share=0.3)
    looked_at, find = [], Beginnings._seeds
    monkeypatch.setattr(
        Beginnings,
        "_seeds",
        lambda starts, rows, *rest: looked_at.append(np.diff(rows.indptr)) or find(starts, rows, *rest),
    )
    if sample:
        monkeypatch.setattr(beginnings, "SAMPLE", 60)
        monkeypatch.setattr(beginnings, "LEAST", 10)

    def look(model, _):
        np.testing.assert_allclose(model.class_count_, np.bincount(z[z >= 0]), rtol=1e-12)
        found = model.predict_component_proba(X).argmax(axis=1)
        assert len(set(zip(found.tolist(), topics.tolist(), strict=True))) == 4
        return True

    SemiSupervisedNB(components=2, random_state=0, callback=look).fit(X, z)
    for label, lengths in enumerate(looked_at):
        own = np.diff(X[z == label].indptr)
        if sample:
            assert len(lengths) == 30
            assert not np.setdiff1d(lengths, own).size
        else:
            np.testing.assert_array_equal(lengths, own)


def test_a_start_leaves_labels_that_say_nothing_with_their_rows():
    X, y = text_like(n_rows=90)
    y = np.random.default_rng(0).permutation(y)
    masses = []
    iterated(5, components=2, callback=lambda model, _: masses.append(model.class_count_)).fit(X, y)
    np.testing.assert_allclose(masses, [[30, 30, 30]] * 6, rtol=1e-12)


def test_a_new_label_whose_rows_weigh_nothing_has_components_all_the_same():
    X, y = text_like(n_rows=60)
    model = SemiSupervisedNB(components=2, random_state=0)
    model.partial_fit(X, y, sample_weight=1.0 * (y < 2))
    assert np.isfinite(model.predict_proba(X)).all()
    np.testing.assert_allclose(model.class_count_, [20, 20, 0], rtol=1e-12)
    model.partial_fit(X[y == 2], y[y == 2])
    np.testing.assert_allclose(model.class_count_, [20, 20, 20], rtol=1e-12)


@pytest.mark.timing
def test_what_labels_say_costs_nothing_a_feature():
    X, y = random_sparse(n_rows=100, n_features=10**7, row_length=30, n_labels=2)
    np.abs(X.data, out=X.data)
    model, seconds = SemiSupervisedNB().partial_fit(X, y), []
    for _ in range(25):
        start = time.perf_counter()
        model.partial_fit(X, y)
        seconds.append(time.perf_counter() - start)
    assert np.median(seconds) < 0.002


def test_one_label_may_be_all_there_is():
    X, _ = text_like(n_rows=20)
    model = SemiSupervisedNB(components=2, random_state=0).fit(X[:10], ["a"] * 10, X[10:])
    assert model.predict(X).tolist() == ["a"] * 20
    np.testing.assert_allclose(model.class_count_, [20])


def test_components_find_the_topics_within_a_label():
    X, topics = text_like(n_rows=240, n_features=60, n_labels=4, seed=1, density=0.5)
    y = topics // 2
    model = SemiSupervisedNB(components=2, n_init=5, random_state=0).fit(X[:120], y[:120], X[120:])
    assert model.component_classes_.tolist() == [0, 0, 1, 1]
    found = model.predict_component_proba(X).argmax(axis=1)
    assert len(np.unique(found)) == 4
    assert len({(int(component), int(topic)) for component, topic in zip(found, topics, strict=True)}) == 4
    again = SemiSupervisedNB(components=2, n_init=5, random_state=0).fit(X[:120], y[:120], X[120:])
    assert_same(model, again)


@pytest.mark.parametrize("early", [False, True])
def test_the_best_of_several_starts_is_kept(early):
    X, topics = text_like(n_rows=240, n_features=60, n_labels=9, seed=1, density=0.08)
    y, few, rest, dev = topics // 3, slice(0, 27), slice(27, 160), slice(160, 240)
    found = []

    def look(_, record):
        if record["iteration"] == 0:
            found.append([])
        found[-1].append(record["val_score"] if early else -record["objective"])

    model = SemiSupervisedNB(components=3, alpha=0.1, n_init=5, random_state=5, early_stopping=early, callback=look)
    model.fit(X[few], y[few], X[rest], X_val=X[dev], y_val=y[dev])
    reached = [max(of_start) for of_start in found]
    assert len(set(reached)) > 2
    assert reached[-1] < max(reached)
    if early:
        assert model.score(X[dev], y[dev]) == max(reached)
    else:
        assert model.bound_[-1] == max(reached) == -model.objective_


# --- where the rows are ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("components", [1, 2])
def test_threads_change_no_bit(components, monkeypatch):
    monkeypatch.setattr(run, "WORK", 256)
    X, y = text_like(n_rows=120)
    z = partly(y)
    models = [iterated(6, components=components, n_jobs=jobs).fit(X, z) for jobs in (1, 3)]
    assert_same(*models)
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    streams = [
        SemiSupervisedNB(components=components, n_jobs=jobs, random_state=0)
        .partial_fit(X[:60], z[:60])
        .partial_fit(X, z)
        for jobs in (1, 3)
    ]
    assert_same_bits(*streams)


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("apart", [False, True])
def test_a_corpus_is_its_matrix_and_disk_is_memory(components, apart, monkeypatch, tmp_path):
    X, y = text_like(n_rows=90)
    z, weights = partly(y), np.random.default_rng(0).uniform(0.5, 2, 90)
    more = X[:30] if apart else None
    model = iterated(6, components=components).fit(X, z, more, weights)
    assert_same(iterated(6, components=components).fit(whole := Corpus(X, z, sample_weight=weights), None, more), model)
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    corpus, further = Corpus(X, z, sample_weight=weights), Corpus(X[:30]) if apart else None
    assert corpus.n_segments == 3
    in_memory = iterated(6, components=components).fit(corpus, X_unlabeled=further)
    assert_close(in_memory, model)
    stored = corpus.write(tmp_path / "some"), further.write(tmp_path / "more") if apart else None
    on_disk = iterated(6, components=components).fit(stored[0], X_unlabeled=stored[1])
    assert_same(on_disk, in_memory)
    np.testing.assert_array_equal(on_disk.predict_proba(stored[0]), in_memory.predict_proba(X))
    streams = [
        SemiSupervisedNB(components=components, random_state=0).partial_fit(some, X_unlabeled=others)
        for some, others in ((whole, more), (corpus, further), stored)
    ]
    assert_same_bits(streams[1], streams[2])
    np.testing.assert_allclose(streams[0].feature_log_prob_, streams[1].feature_log_prob_, rtol=1e-9)


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(components, alpha):
    X, y = text_like(n_rows=60)
    z, weights = partly(y), np.where(np.arange(60) % 4 == 0, 0.0, 1.5)
    weights[:3] = 1.5
    there = weights > 0
    one = iterated(6, components=components, alpha=alpha).fit(X, z, sample_weight=weights)
    other = iterated(6, components=components, alpha=alpha).fit(X[there], z[there], sample_weight=weights[there])
    assert_close(one, other)
    assert np.isfinite(one.bound_[1:]).all()


def test_what_em_keeps_of_stored_rows_lies_in_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(corpora, "SEGMENT", 200)
    X, y = text_like(n_rows=90)
    made = []
    monkeypatch.setattr(Corpus, "scratch", lambda corpus: made.append(corpus.path) or Scratch(tmp_path))
    stored = Corpus(X[30:]).write(tmp_path / "corpus")
    iterated(3).fit(X[:30], y[:30], stored)
    assert made == [stored.path]


# --- labels ----------------------------------------------------------------------------------------------------------


def test_missing_labels_of_every_kind():
    X, y = text_like(n_rows=30)
    z = partly(y)
    model = iterated(5).fit(X, z)
    names = np.array(["a", "b", "c", ""])[z]
    kinds = {
        "list": z.tolist(),
        "floats": z.astype(float),
        "objects": np.where(z < 0, None, z.astype(object)),
        "objects and -1": np.array([*z.tolist()[:-1], int(z[-1])], object),
    }
    for kind, labels in kinds.items():
        found = iterated(5).fit(X, labels)
        np.testing.assert_array_equal(found.feature_log_prob_, model.feature_log_prob_, err_msg=kind)
        assert found.classes_.tolist() == [0, 1, 2]
    strings = {
        "None in a list": [name or None for name in names.tolist()],
        "-1 in a list": [name or -1 for name in names.tolist()],
        "None in an array": np.array([name or None for name in names.tolist()], object),
        "-1 in an array": np.array([name or -1 for name in names.tolist()], object),
        "empty": names,
        "-1": np.where(names == "", "-1", names),
    }
    for kind, labels in strings.items():
        found = iterated(5).fit(X, labels)
        np.testing.assert_array_equal(found.feature_log_prob_, model.feature_log_prob_, err_msg=kind)
        assert found.classes_.tolist() == ["a", "b", "c"]
        assert found.predict(X[0]).tolist() in (["a"], ["b"], ["c"])
    for labels in (names, strings["-1"]):
        np.testing.assert_array_equal(iterated(5).fit(Corpus(X, labels)).feature_log_prob_, model.feature_log_prob_)


def test_a_corpus_without_labels_goes_beside_one_with_some():
    X, y = text_like(n_rows=60)
    model = iterated(5).fit(X[:20], y[:20], X[20:])
    assert_same(iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:])), model)
    assert_same(iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:], np.full(40, -1))), model)
    weights = np.full(40, 0.25)
    assert_same(
        iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:], sample_weight=weights)),
        iterated(5, unlabeled_weight=0.25).fit(X[:20], y[:20], X[20:]),
    )


# --- early stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_keeps_the_best_iteration(patience):
    X, y = text_like(n_rows=300, n_features=40, density=0.1, seed=5)
    few, rest, dev = slice(0, 12), slice(12, 200), slice(200, 260)
    model = iterated(60, alpha=0.01, early_stopping=True, n_iter_no_change=patience)
    model.fit(X[few], y[few], X[rest], X_val=X[dev], y_val=y[dev])
    scores = [record["val_score"] for record in model.history_]
    best = int(np.argmax(scores))
    assert len(scores) == best + patience + 1 < 60
    assert model.score(X[dev], y[dev]) == max(scores)
    assert model.objective_ == -model.bound_[best]
    assert best > 0
    as_long = iterated(best, alpha=0.01).fit(X[few], y[few], X[rest])
    np.testing.assert_array_equal(model.feature_log_prob_, as_long.feature_log_prob_)
    recorded = iterated(60, alpha=0.01, n_iter_no_change=1).fit(X[few], y[few], X[rest], X_val=X[dev], y_val=y[dev])
    assert [record["val_score"] for record in recorded.history_][: len(scores)] == scores
    assert len(recorded.history_) > len(scores)
    corpus = iterated(60, alpha=0.01, early_stopping=True, n_iter_no_change=patience)
    assert_same(corpus.fit(X[few], y[few], X[rest], X_val=Corpus(X[dev], y[dev])), model)


def test_early_stopping_holds_labelled_rows_out():
    X, y = text_like(n_rows=120)
    z = partly(y, share=0.5)
    n = (z >= 0).sum()
    model = iterated(20, early_stopping=True, validation_fraction=0.25, unlabeled_weight=0.0).fit(X, z)
    held = int(np.ceil(n * 0.25))
    assert model.class_count_.sum() == n - held
    assert model.history_[0]["val_score"] * held == pytest.approx(round(model.history_[0]["val_score"] * held))
    learnt = iterated(20, early_stopping=True, validation_fraction=0.25).fit(X, z)
    best = np.argmax([record["val_score"] for record in learnt.history_])
    np.testing.assert_allclose(learnt.class_count_.sum(), 120 - held if best else n - held, rtol=1e-12)
    corpus = iterated(20, early_stopping=True, validation_fraction=0.25).fit(Corpus(X, z))
    assert_same(corpus, learnt)


# --- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_infers_what_has_no_label_once():
    X, y = text_like(n_rows=60)
    z = partly(y, share=0.4)
    model = SemiSupervisedNB(unlabeled_weight=0.5)
    features, masses = np.zeros((3, 30)), np.zeros(3)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 60)):
        model.partial_fit(X[rows], z[rows])
        some, codes = X[rows].toarray(), z[rows]
        for k in range(3):
            features[k] += some[codes == k].sum(axis=0)
            masses[k] += (codes == k).sum()
        phi = (features + 1) / (features + 1).sum(axis=1, keepdims=True)
        scores = some[codes < 0] @ np.log(phi).T + np.log(masses / masses.sum())
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        features += 0.5 * shares.T @ some[codes < 0]
        masses += 0.5 * shares.sum(axis=0)
        np.testing.assert_allclose(model.feature_count_, features, rtol=1e-10)
        np.testing.assert_allclose(model.class_count_, masses, rtol=1e-10)
        phi = (features + 1) / (features + 1).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(np.exp(model.feature_log_prob_), phi, rtol=1e-10)
    both = SemiSupervisedNB(unlabeled_weight=0.5)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 60)):
        some, codes = X[rows], z[rows]
        if (codes >= 0).any():
            both.partial_fit(
                some[codes >= 0], codes[codes >= 0], X_unlabeled=some[codes < 0] if (codes < 0).any() else None
            )
        else:
            both.partial_fit(some, codes)
    np.testing.assert_allclose(both.feature_count_, model.feature_count_, rtol=1e-12)


def test_labels_with_components_may_appear_at_any_time():
    X, y = text_like(n_rows=120, n_labels=4)
    names = np.array(["b", "d", "a", "c"])
    model = SemiSupervisedNB(components={"a": 2, "d": 3}, random_state=0)
    model.partial_fit(X[y < 2], names[y[y < 2]])
    assert model.component_classes_.tolist() == ["b", "d", "d", "d"]
    before = dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))
    model.partial_fit(X[y >= 2], names[y[y >= 2]])
    assert model.component_classes_.tolist() == ["a", "a", "b", "c", "d", "d", "d"]
    np.testing.assert_allclose(model.class_count_, [30, 30, 30, 30], rtol=1e-12)
    assert before == {"b": 30.0, "d": pytest.approx(30.0)}
    model.partial_fit(X, names[y])
    np.testing.assert_allclose(model.class_count_, [60, 60, 60, 60], rtol=1e-12)
    of_labels = [X.toarray()[y == k].sum(axis=0) for k in (2, 0, 3, 1)]
    found = np.add.reduceat(model.feature_count_, [0, 2, 3, 4], axis=0)
    np.testing.assert_allclose(found, 2 * np.array(of_labels), rtol=1e-10)
    assert model.score(X, names[y]) > 0.9
    with pytest.raises(ValueError, match="'a' has 2 components"):
        model.set_params(components=1).partial_fit(X, names[y])


def test_a_stream_goes_on_from_a_fit_without_its_report():
    X, y = text_like(n_rows=60)
    model = SemiSupervisedNB().fit(X[:30], partly(y[:30]))
    mass = model.class_count_.sum()
    model.partial_fit(X[30:], np.full(30, -1))
    np.testing.assert_allclose(model.class_count_.sum(), mass + 30, rtol=1e-12)
    assert not hasattr(model, "bound_")


# --- what goes wrong, and what is said of a fit ----------------------------------------------------------------------


X12, Y12 = text_like(n_rows=12)
GIVEN = {
    "y that lacks": ((X12, None), "requires y"),
    "y too short": ((X12, Y12[:5]), "inconsistent numbers"),
    "objects too short": ((X12, [*Y12[:5].tolist(), None]), "inconsistent numbers"),
    "kinds that mix": ((X12, [1.5, "a", None, *Y12[:9].tolist()]), "labels"),
    "not a label": ((X12, [(1, 2), None, *Y12[:10].tolist()]), "(?i)label|one kind|shape|inhomogeneous"),
    "-1 meant as a label": ((X12, np.where(Y12 == 0, -1, 1)), "1 is the only label.*-1.*such as 0 and 1"),
    "strings, -1 meant as a label": ((X12, np.where(Y12 == 0, "-1", "+1")), r"'\+1' is the only label"),
    "a corpus, -1 meant as a label": ((Corpus(X12, np.where(Y12 == 0, -1, 1)),), "1 is the only label"),
    "no label": ((X12, np.full(12, -1)), "MultinomialMixture"),
    "None only": ((X12, [None] * 12), "MultinomialMixture"),
    "a corpus without labels": ((Corpus(X12),), "MultinomialMixture"),
    "labels beside a corpus": ((Corpus(X12, Y12), Y12), "y must be None"),
    "weights beside a corpus": ((Corpus(X12, Y12), None, None, np.ones(12)), "sample_weight must be None"),
    "another width": ((X12, Y12, X12[:, :4]), "X_unlabeled has 4 features, X has 30"),
    "negative": ((X12, Y12, -X12), "X_unlabeled holds -"),
    "a labelled corpus": ((X12, Y12, Corpus(X12, Y12)), "X_unlabeled is a Corpus with labels"),
    "a negative corpus": ((X12, Y12, Corpus(-X12)), "X_unlabeled holds -"),
    "NaN": ((X12, Y12, X12 * np.nan), "X_unlabeled"),
    "weights of labels all zero": (
        (X12, np.where(Y12 == 0, -1, Y12), None, 1.0 * (Y12 == 0)),
        "zero for every row that",
    ),
}


@pytest.mark.parametrize("case", GIVEN)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_what_cannot_be_learnt_from_is_refused_before_anything_changes(case, method):
    arguments, match = GIVEN[case]
    arguments = dict(zip(("X", "y", "X_unlabeled", "sample_weight"), arguments, strict=False))
    model = SemiSupervisedNB()
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(model, method)(**arguments)
    assert not hasattr(model, "classes_")
    if case == "weights beside a corpus" or ("label" not in case and case != "None only"):
        model.fit(X12, Y12)
        before = model.feature_count_.copy()
        with pytest.raises((ValueError, TypeError), match=match):
            getattr(model, method)(**arguments)
        np.testing.assert_array_equal(model.feature_count_, before)


PARAMETERS = [
    ({"unlabeled_weight": -1.0}, "unlabeled_weight"),
    ({"unlabeled_weight": np.nan}, "unlabeled_weight"),
    ({"unlabeled_weight": "some"}, "unlabeled_weight"),
    ({"components": 0}, "components"),
    ({"components": 1.5}, "components"),
    ({"components": "two"}, "components"),
    ({"components": [1, 2]}, "components has 2 entries, y has 3 labels"),
    ({"components": [[1], [2], [3]]}, "components"),
    ({"components": {0: 0}}, r"components\[0\]"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": [1.0]}, "alpha"),
    ({"base_measure": [1.0]}, "base_measure"),
    ({"class_prior": [0.5, 0.5]}, "prior"),
    ({"tol": -1.0}, "tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"n_init": 0}, "n_init"),
    ({"early_stopping": "yes"}, "early_stopping"),
    ({"validation_fraction": 1.0}, "validation_fraction"),
    ({"n_iter_no_change": 0}, "n_iter_no_change"),
    ({"random_state": "seed"}, "random_state"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"verbose": -1}, "verbose"),
    ({"callback": 3}, "callback"),
]


@pytest.mark.parametrize("options, match", PARAMETERS, ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_parameters_that_cannot_be_are_refused_by_name(options, match, method):
    model = SemiSupervisedNB(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(model, method)(X12, Y12)
    assert not hasattr(model, "classes_")


def test_a_class_prior_of_zero_forbids_documents():
    with pytest.raises(ValueError, match="class_prior is 0 for the label 1, which has documents"):
        SemiSupervisedNB(class_prior=[0.5, 0, 0.5]).fit(X12, Y12)


def test_components_of_a_label_that_there_is_not_are_refused():
    with pytest.raises(ValueError, match="7"):
        SemiSupervisedNB(components={7: 2}).fit(X12, Y12)
    SemiSupervisedNB(components={7: 2}).partial_fit(X12, Y12)  # it may come


def test_x_unlabeled_has_the_columns_of_x():
    frame = pandas.DataFrame(X12.toarray()).add_prefix("word ")
    model = SemiSupervisedNB().fit(frame, Y12, frame)
    assert model.feature_names_in_[1] == "word 1"
    with pytest.raises(ValueError, match="feature names"):
        model.fit(frame, Y12, frame[frame.columns[::-1]])


def test_validation_data_has_labels():
    model = SemiSupervisedNB()
    for y_val in (np.where(Y12 == 0, -1, Y12), Y12.astype(str)):
        with pytest.raises(ValueError, match=r"every row of X_val|kinds"):
            model.fit(X12, Y12, X_val=X12, y_val=y_val)
    with pytest.raises(ValueError, match="every row of X_val"):
        model.fit(X12, Y12, X_val=Corpus(X12, partly(Y12)))
    with pytest.raises(ValueError, match="together"):
        model.fit(X12, Y12, X_val=X12)
    with pytest.raises(ValueError, match="too few"):
        SemiSupervisedNB(early_stopping=True).fit(X12, [0, 1, *[-1] * 10])


def test_a_score_is_of_rows_that_have_labels():
    model = SemiSupervisedNB().fit(X12, Y12)
    assert model.score(X12, Y12) == model.score(Corpus(X12, Y12)) > 0.5
    for rows in ((X12, partly(Y12)), (X12, [*Y12[1:].tolist(), None]), (Corpus(X12, partly(Y12)),)):
        with pytest.raises(ValueError, match="every row of X needs a label"):
            model.score(*rows)


def test_a_callback_sees_every_iteration_and_may_end_the_fit(capsys):
    X, y = text_like(n_rows=60)
    seen = []

    def look(model, record):
        seen.append((record["iteration"], model.score(X, y), model.class_count_.sum()))
        return record["iteration"] == 3

    model = iterated(50, callback=look, verbose=1, components=2, n_init=4).fit(X, partly(y))
    assert [number for number, _, _ in seen] == [0, 1, 2, 3]
    assert seen[-1][1] == model.score(X, y)
    np.testing.assert_allclose([mass for _, _, mass in seen[1:]], 60)
    assert len(capsys.readouterr().out.splitlines()) == 4
    broken = SemiSupervisedNB(callback=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.fit(X, y)
    assert not hasattr(broken, "classes_")


@pytest.mark.filterwarnings("default")
def test_a_fit_says_what_went_otherwise():
    X, y = text_like(n_rows=60)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations were not enough for tol=0"):
        iterated(1).fit(X, partly(y))
    with pytest.warns(ConvergenceWarning, match=r"components, of the labels \[0, 1, 2\], have no documents"):
        SemiSupervisedNB(components=5, tol=1e-9, max_iter=500, random_state=0).fit(X[:9], y[:9], X[9:])


def test_copies_are_equal():
    X, y = text_like(n_rows=60)
    model = SemiSupervisedNB(components=2, random_state=0).fit(X, partly(y))
    again = pickle.loads(pickle.dumps(model))
    assert_same(again, model)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    fresh = clone(model).fit(X, partly(y))
    assert_same(fresh, model)
