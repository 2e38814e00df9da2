"""Semi-supervised naive Bayes: the naive twin's EM, and MultinomialNB's bits where there is nothing to infer."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fastlin import Corpus, MultinomialNB, SemiSupervisedNB
from fastlin.data import corpus as corpora
from fastlin.data.scratch import ScratchSpace
from fastlin.mixture import per_class_init
from fastlin.mixture.per_class_init import PerClassInitializer
from fastlin.runtime import parallel
from oracles.multinomial_em import EM
from support.estimators import assert_same_bits, random_sparse, text_like
from support.semi_supervised import LEARNT, assert_close, assert_same, iterated, partly
from support.strategies import cuts, labelled, seeds, weighted

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:.*(components|under)")
counts = labelled(values=("counts",))
PRIORS = [{}, {"alpha": 0.1}, {"fit_prior": False}, {"alpha": 0.0}]
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
COMPONENTS = [1, 2, {0: 3}, [1, 2, 3]]


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
        patch.setattr(
            PerClassInitializer, "within_labels", lambda _: lambda part, room: np.copyto(room, shares[inferred])
        )
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
        patch.setattr(PerClassInitializer, "within_labels", lambda _: halves)
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
    looked_at, find = [], PerClassInitializer._seeds
    monkeypatch.setattr(
        PerClassInitializer,
        "_seeds",
        lambda starts, rows, *rest: looked_at.append(np.diff(rows.indptr)) or find(starts, rows, *rest),
    )
    if sample:
        monkeypatch.setattr(per_class_init, "SEED_SAMPLE_ROWS", 60)
        monkeypatch.setattr(per_class_init, "MIN_ROWS_PER_COMPONENT", 10)

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
        start = time.process_time()
        model.partial_fit(X, y)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.002  # a pass over the features takes longer every time


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
    monkeypatch.setattr(parallel, "BLOCK_WORK", 256)
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
    monkeypatch.setattr(Corpus, "scratch", lambda corpus: made.append(corpus.path) or ScratchSpace(tmp_path))
    stored = Corpus(X[30:]).write(tmp_path / "corpus")
    iterated(3).fit(X[:30], y[:30], stored)
    assert made == [stored.path]
