"""Hidden Markov models that are counted: the naive twin's numbers, all paths, hmmlearn, what they draw."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from fastlin.sequence import HMM
from fastlin.sequence.hmm.distribution import sample_paths
from fastlin.sequence.hmm.transitions import Transitions
from oracles.hmm import STOP, Counted, Suffixes, log_sum
from support.strategies import seeds

WORDS = ["a", "The", "dog", "Dog", "dogs", "ing", "going", "Going", "well-known", "1999", "."]


@st.composite
def corpora(draw, labels="abcd", longest=4, min_size=1):
    """Sequences of words and their labels, of which some are empty, but not all."""
    K = draw(st.integers(1, len(labels)))
    rng = np.random.default_rng(draw(seeds))
    lengths = draw(st.lists(st.integers(0, longest), min_size=min_size, max_size=12))
    lengths[0] = max(1, lengths[0])
    X = [rng.choice(WORDS[: draw(st.integers(1, 11))], n).tolist() for n in lengths]
    return X, [rng.choice(list(labels[:K]), n).tolist() for n in lengths]


def smoothings(order):
    numbers = st.sampled_from([0.0, 0.5, 2.0])
    interpolations = [None, "deleted", (0.2, 0.8) if order == 1 else (0.1, 0.3, 0.6)]
    return st.fixed_dictionaries(
        {
            "alpha": numbers,
            "transition_alpha": numbers,
            "start_alpha": numbers,
            "interpolation": st.sampled_from(interpolations),
            "stop": st.booleans(),
        }
    )


def matrix(X, words=WORDS):
    """The same as a CSR, and lengths."""
    places = [words.index(word) for sequence in X for word in sequence]
    shape = len(places), len(words)
    return sp.csr_array((np.ones(len(places)), (np.arange(len(places)), places)), shape=shape), [*map(len, X)]


def some_corpus(n=60, seed=0, K=3, longest=8):
    rng = np.random.default_rng(seed)
    labels = [rng.integers(0, K, rng.integers(1, longest)) for _ in range(n)]
    X = [[WORDS[min(3 * k + rng.integers(0, 4), 10)] for k in path] for path in labels]
    return X, [["xyz"[k] for k in path] for path in labels]


# --- the twin ---------------------------------------------------------------------------------------------------------


@given(data=st.data(), order=st.sampled_from([1, 2]))
def test_it_counts_as_the_naive_twin_does(data, order):
    X, y = data.draw(corpora())
    parameters = data.draw(smoothings(order))
    model = HMM(order=order, unknown="uniform", **parameters).fit(X, y)
    twin = Counted(order, **parameters).count(X, y)
    labels = sorted(twin.labels)
    assert model.classes_.tolist() == labels
    K = len(labels)
    np.testing.assert_allclose(model.startprob_, [twin.p_start(k) for k in labels], rtol=1e-12)
    before = [(k,) for k in labels] if order == 1 else [*itertools.product([*labels, None], labels)]
    moves = [[twin.p_next(history, k) for k in labels] for history in before]
    np.testing.assert_allclose(model.transmat_.reshape(-1, K), moves, rtol=1e-12, atol=1e-15)
    if parameters["stop"]:
        stops = [twin.p_next(history, STOP) for history in before]
        np.testing.assert_allclose(model.stopprob_.ravel(), stops, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(model.transmat_.sum(axis=-1) + model.stopprob_, 1, rtol=1e-12)
    else:
        np.testing.assert_allclose(model.transmat_.sum(axis=-1), 1, rtol=1e-12)
        assert (model.stopprob_ == 1).all()
    emitted = [[twin.p_word(k, word) for word in model.attributes_] for k in labels]
    np.testing.assert_allclose(model.emissionprob_, emitted, rtol=1e-12)
    lambdas = model.interpolation_
    assert lambdas is None if parameters["interpolation"] is None else lambdas == pytest.approx(tuple(twin.lambdas()))


@given(data=st.data(), order=st.sampled_from([1, 2]))
def test_what_it_says_of_a_sequence_are_sums_over_all_paths(data, order):
    X, y = data.draw(corpora())
    parameters = data.draw(smoothings(order))
    model = HMM(order=order, unknown="uniform", **parameters).fit(X, y)
    twin = Counted(order, **parameters).count(X, y)
    words = data.draw(st.lists(st.sampled_from([*WORDS, "never seen"]), max_size=4))
    paths = twin.paths(words)
    total = log_sum(paths.values())
    assert model.score_samples([words])[0] == pytest.approx(total, rel=1e-10, abs=1e-12)
    labels = list(data.draw(st.sampled_from([*paths])))
    assert model.log_joint([words], [labels])[0] == pytest.approx(paths[tuple(labels)], rel=1e-10, abs=1e-12)
    if total == -np.inf:
        return
    [best] = model.predict([words])
    assert paths[tuple(best)] == pytest.approx(max(paths.values()), rel=1e-12, abs=1e-12)
    [p] = model.predict_marginals([words])
    for t, place in itertools.product(range(len(words)), range(len(model.classes_))):
        own = [value for path, value in paths.items() if path[t] == model.classes_[place]]
        assert p[t, place] == pytest.approx(np.exp(log_sum(own) - total), abs=1e-9)
    posterior = paths[tuple(labels)] - total
    assert model.log_proba([words], [labels])[0] == pytest.approx(posterior, rel=1e-9, abs=1e-9)
    values = sorted((value for value in paths.values() if value > -np.inf), reverse=True)[:3]
    [found] = model.predict_nbest([words], 3)
    np.testing.assert_allclose([value for _, value in found], np.array(values) - total, rtol=1e-9, atol=1e-9)


@given(data=st.data())
def test_unknown_words_are_guessed_as_the_naive_twin_does(data):
    X, y = data.draw(corpora())
    word = data.draw(st.sampled_from(["", "D", "sing", "Sing", "og", "xxxxxxxxxxxxxxgoing", "ünknown"]))
    model = HMM(alpha=0).fit(X, y)
    twin = Suffixes(X, y)
    if word in itertools.chain(*X):
        return
    for label, emission in zip(model.classes_, model._known().emissions.of_unknown([word])[0], strict=True):
        assert np.exp(emission) == pytest.approx(twin.p_word(label, word), rel=1e-12)
    counted = Counted().count(X, y)
    for place, label in enumerate(model.classes_):
        expected = [counted.emitted[label, known] / twin.mass(label) for known in model.attributes_]
        np.testing.assert_allclose(model.emissionprob_[place], expected, rtol=1e-12)
    joint = [model.log_joint([[word]], [[label]])[0] for label in model.classes_]
    assert model.score_samples([[word]])[0] == pytest.approx(log_sum(joint), rel=1e-12)


def test_pseudo_counts_of_words_are_shared_as_their_ends_say():
    """φ_k(w) ∝ c_kw + αK g(k | w), so that α on average of the labels is added."""
    X, y = some_corpus()
    model, twin, alpha = HMM(alpha=0.7).fit(X, y), Suffixes(X, y), 0.7
    counted = Counted().count(X, y)
    K, words = 3, model.attributes_
    for place, label in enumerate("xyz"):
        raised = np.array([counted.emitted[label, word] + alpha * K * twin.guess(word)[label] for word in words])
        mass = raised.sum() + twin.mass(label) - twin.tokens[label]
        np.testing.assert_allclose(model.emissionprob_[place], raised / mass, rtol=1e-12)


def test_shapes_are_classes_too():
    X = [["Anna", "saw", "1984", "well-made"], ["Ben", "met", "2001", "far-off"], ["Eve", "ran", "1066", "so-so"]]
    model = HMM(unknown="shape").fit(X, [["NAME", "VERB", "YEAR", "ADJ"]] * 3)
    assert model.predict([["Zoe", "hid", "1492", "ill-fated"]]) == [["NAME", "VERB", "YEAR", "ADJ"]]
    alone = [model.predict([[word]])[0][0] for word in ("Zoe", "1492")]
    assert alone == ["NAME", "YEAR"]
    emissions = np.exp(model._known().emissions.of_unknown(["Zoe", "hid", "1492", "ill-fated"]))
    assert model.classes_[emissions.argmax(axis=1)].tolist() == ["NAME", "VERB", "YEAR", "ADJ"]


# --- hmmlearn ---------------------------------------------------------------------------------------------------------


def peer_of(model):
    from hmmlearn.hmm import CategoricalHMM

    peer = CategoricalHMM(n_components=len(model.classes_), init_params="", params="ste")
    peer.startprob_, peer.transmat_ = model.startprob_.copy(), model.transmat_.copy()
    peer.emissionprob_ = model.emissionprob_.copy()
    return peer


@pytest.mark.peer("hmmlearn")
@given(data=st.data())
def test_paths_and_likelihoods_are_hmmlearns(data):
    X, y = data.draw(corpora(longest=9))
    tokens, lengths = matrix(X)
    codes = np.concatenate([np.array(labels, "U1") for labels in y])
    model = HMM(alpha=0.3, transition_alpha=0.2, stop=False).fit(tokens, codes, lengths=lengths)
    peer = peer_of(model)
    for words in X:
        if words:
            column = np.array([[WORDS.index(word)] for word in words])
            own, n = matrix([words])
            value, path = peer.decode(column)
            [labels] = model.predict(own, lengths=n)
            assert model.log_joint(own, [labels], lengths=n)[0] == pytest.approx(value, rel=1e-10)
            if [model.classes_[k] for k in path] != labels:
                same = model.log_joint(own, [[model.classes_[k] for k in path]], lengths=n)[0]
                assert same == pytest.approx(value, rel=1e-12)  # a tie, but for rounding
            assert model.score_samples(own, lengths=n)[0] == pytest.approx(peer.score(column), rel=1e-10)
            np.testing.assert_allclose(
                model.predict_marginals(own, lengths=n)[0], peer.predict_proba(column), rtol=1e-8, atol=1e-10
            )


# --- streams ----------------------------------------------------------------------------------------------------------


def same_bits(one, other):
    for name in ("classes_", "startprob_", "transmat_", "stopprob_", "emissionprob_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.attributes_ == other.attributes_
    assert one.interpolation_ == other.interpolation_
    words = ["doing", "Bing", "a", "?"]
    np.testing.assert_array_equal(one._known().emissions.of_unknown(words), other._known().emissions.of_unknown(words))


@given(data=st.data(), order=st.sampled_from([1, 2]), unknown=st.sampled_from(["suffix", "shape", "uniform"]))
def test_however_the_data_are_cut_the_model_is_the_same(data, order, unknown):
    X, y = data.draw(corpora(min_size=2))
    model = HMM(order=order, unknown=unknown, alpha=data.draw(st.sampled_from([None, 0.0, 0.3])))
    whole = clone(model).fit(X, y)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(X)), max_size=4)) | {len(X)})
    for start, stop in itertools.pairwise([0, *cuts]):
        model.partial_fit(X[start:stop], y[start:stop])
    same_bits(whole, model)


def test_counts_that_are_no_whole_numbers_add_up_in_the_same_order():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 7), density=0.4, rng=rng, format="csr")
    y = rng.integers(0, 3, 300)
    one, other = HMM().fit(X, y, lengths=[100, 50, 150]), HMM()
    for start, stop in ((0, 100), (100, 150), (150, 300)):
        other.partial_fit(X[start:stop], y[start:stop], lengths=[stop - start])
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)
    np.testing.assert_array_equal(one.transmat_, other.transmat_)


# --- many features a token --------------------------------------------------------------------------------------------


def test_several_features_are_naive_bayes_in_a_state():
    X = [[["w:the", "low"], ["w:Dog", "cap"]], [{"w": "a", "low": 2}, {"w": "cat"}]]
    y = [["D", "N"], ["D", "N"]]
    model = HMM(alpha=0.5).fit(X, y)
    counts = {"w:the": 1, "low": 3, "w:a": 1}
    mass = sum(counts.values()) + 0.5 * len(model.attributes_)
    expected = [(counts.get(name, 0) + 0.5) / mass for name in model.attributes_]
    np.testing.assert_allclose(model.emissionprob_[0], expected, rtol=1e-12)
    token = {"w": "the", "low": 3, "never seen": 1}
    emitted = np.log(model.emissionprob_[:, model.attributes_.index("w:the")])
    emitted = emitted + 3 * np.log(model.emissionprob_[:, model.attributes_.index("low")])
    joint = np.log(model.startprob_) + emitted + np.log(model.stopprob_)
    for label, value in zip("DN", joint, strict=True):
        assert model.log_joint([[token]], [[label]])[0] == pytest.approx(value, rel=1e-12)
    assert model.predict(X) == y


def test_a_matrix_is_the_same_tokens():
    X, y = some_corpus()
    tokens, lengths = matrix(X)
    flat = [label for labels in y for label in labels]
    names = [[[word] for word in words] for words in X]
    other = HMM(alpha=0.5).fit(names, y)
    shown = [WORDS.index(name) for name in other.attributes_]
    tokens = tokens[:, shown]
    one = HMM(alpha=0.5).fit(tokens, flat, lengths=lengths)
    np.testing.assert_array_equal(one.emissionprob_, other.emissionprob_)
    assert one.predict(tokens, lengths=lengths) == other.predict(names)


# --- draws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_drawn_leads_back_to_the_model(order):
    X, y = some_corpus(200)
    model = HMM(order=order, unknown="uniform", alpha=0, interpolation=None, random_state=1).fit(X, y)
    drawn, labels = model.sample(20_000)
    again = HMM(order=order, unknown="uniform", alpha=0, interpolation=None).fit(drawn, labels)
    np.testing.assert_allclose(again.startprob_, model.startprob_, atol=0.02)
    often = slice(None) if order == 1 else slice(0, 3)
    np.testing.assert_allclose(again.transmat_[often], model.transmat_[often], atol=0.03)
    np.testing.assert_allclose(again.stopprob_[often], model.stopprob_[often], atol=0.03)
    order_of_words = [again.attributes_.index(word) for word in model.attributes_]
    np.testing.assert_allclose(again.emissionprob_[:, order_of_words], model.emissionprob_, atol=0.02)
    assert np.isfinite(model.log_joint(drawn[:500], labels[:500])).all()


def test_draws():
    X, y = some_corpus()
    model = HMM(random_state=3).fit(X, y)
    one, other = model.sample(9), model.sample(9)
    assert one == other  # the estimator's own random_state
    assert model.sample(9, random_state=4) != one
    assert model.sample(9, random_state=np.random.default_rng(4))[0]
    for lengths in (5, [3, 0, 1, 100]):
        drawn, labels = model.sample(4, lengths)
        assert [*map(len, drawn)] == [*map(len, labels)] == np.broadcast_to(lengths, 4).tolist()
    tokens, sizes = matrix(X)
    flat = [label for labels in y for label in labels]
    of_matrix = HMM(random_state=0).fit(tokens, flat, lengths=sizes)
    drawn, labels = of_matrix.sample(6)
    assert drawn.shape == (sum(map(len, labels)), len(WORDS))
    assert (drawn.sum(axis=1) == 1).all()
    twice = HMM(random_state=0).fit([[[word, word.lower()] for word in words] for words in X], y)
    assert {len(token) for words in twice.sample(6)[0] for token in words} == {2}
    for wrong in (-1, 1.5, [1, 2], "a"):
        with pytest.raises(ValueError, match="lengths must be whole numbers of 0 or more, one or 3"):
            model.sample(3, wrong)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.sample(0)


@pytest.mark.parametrize("order", [1, 2])
def test_a_model_that_does_not_stop_is_asked_for_lengths(order):
    X, y = some_corpus()
    model = HMM(order=order, stop=False, random_state=0).fit(X, y)
    drawn, _ = model.sample(3, 50)
    assert [*map(len, drawn)] == [50] * 3
    with pytest.raises(ValueError, match="the model does not stop: give lengths"):
        model.sample(3)
    line = HMM(order=order, transition_alpha=0, interpolation=None).fit([["a", "a", "b", "b"]], [["x", "x", "y", "z"]])
    assert set(map(tuple, line.sample(50, random_state=0)[1])) <= {("x",) * n + ("y", "z") for n in range(1, 50)}


@pytest.mark.parametrize("order", [1, 2])
def test_walks_that_cannot_end_are_not_begun(order):
    """From y there is no way to the stop."""
    steps, ends = np.zeros((3,) * order + (2,)), np.zeros((3,) * (order - 1) + (2,))
    steps = steps[:2] if order == 1 else steps[:, :2]
    steps[..., 0, :], steps[..., 1, 1], ends[..., 0] = 1 / 3, 1, 1 / 3
    generator = np.random.default_rng(0)
    with pytest.raises(
        ValueError, match="there are labels after which no sequence of the model can stop: give lengths"
    ):
        sample_paths(Transitions(np.array([1.0, 0.0]), steps, ends), 3, None, generator)
    steps[..., 0, 1], steps[..., 0, 0] = 0, 2 / 3
    for path in sample_paths(Transitions(np.array([1.0, 0.0]), steps, ends), 30, None, generator):
        assert not path.any()


# --- extremes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_long_sequences(order):
    rng = np.random.default_rng(order)
    labels = rng.integers(0, 3, 100_000)
    X, y = [[WORDS[3 * k + n] for k, n in zip(labels, rng.integers(0, 3, 100_000), strict=True)]], [labels.tolist()]
    model = HMM(order=order).fit(X, y)
    assert model.score(X, y) == 1
    np.testing.assert_allclose(model.score_samples(X), model.log_joint(X, y), rtol=1e-11)
    p = model.predict_marginals(X)[0]
    np.testing.assert_allclose(p[np.arange(100_000), labels], 1, rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_one_label_only(order):
    model = HMM(order=order).fit([["a", "b"], [], ["c"]], [["N", "N"], [], ["N"]])
    assert model.predict([["a", "z", "c"], []]) == [["N"] * 3, []]
    np.testing.assert_allclose(model.predict_marginals([["a", "z"]])[0], 1)
    np.testing.assert_allclose(model.log_proba([["a", "z"]], [["N", "N"]]), 0, atol=1e-12)
    np.testing.assert_allclose(model.startprob_, 1)


def test_sequences_without_tokens():
    X, y = some_corpus()
    model = HMM().fit(X, y)
    same_bits(model, HMM().fit([[], *X, []], [[], *y, []]))
    assert model.predict([[], []]) == [[], []]
    assert model.score_samples([[]]).tolist() == model.log_joint([[]], [[]]).tolist() == [0]
    assert model.predict_marginals([[]])[0].shape == (0, 3)
    assert model.predict_nbest([[]], 2) == [[([], 0.0)]]
    with pytest.raises(ValueError, match="X has no tokens"):
        model.perplexity([[]])


@pytest.mark.parametrize("order", [1, 2])
def test_sequences_that_the_model_cannot_produce(order):
    """log p(x) is −∞, and the path with the fewest impossible steps is the best."""
    model = HMM(order=order, alpha=0, transition_alpha=0, interpolation=None, unknown="uniform")
    model.fit([["a", "b", "c"], ["a", "b", "c", "c"]], [["x", "y", "z"], ["x", "y", "z", "z"]])
    odd = [["b", "c"], ["a", "never", "c"], ["a", "a", "c"], ["never"], ["a", "b", "c"]]
    assert model.score_samples(odd).tolist()[:4] == [-np.inf] * 4
    assert model.score_samples(odd)[4] > -np.inf
    assert model.predict(odd)[1:] == [["x", "y", "z"], ["x", "y", "z"], ["x"], ["x", "y", "z"]]
    for p in model.predict_marginals(odd):
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-9)
    found = model.predict_nbest(odd, 2)
    assert [paths[0][0] for paths in found] == model.predict(odd)
    posterior = model.log_proba(odd, model.predict(odd))
    np.testing.assert_allclose(posterior, [paths[0][1] for paths in found], rtol=1e-9, atol=1e-9)
    assert (posterior <= 0).all()
    assert np.isfinite(posterior).all()
    assert model.log_joint([["a", "a", "c"]], [["x", "y", "z"]])[0] == -np.inf
    assert model.score(odd) == -np.inf
    assert model.perplexity(odd) == np.inf
    assert model.predict([["a", "never", "c"]], allowed=[[None, "z", None]]) == [["x", "z", "z"]]
    with pytest.raises(ValueError, match="sequence 1: the constraints allow no path"):
        model.set_params(constraints={("x", "y"), ("y", "z")}).predict([["a", "b"], ["a", "b", "c", "c"]])


def test_constraints_hold_in_what_is_predicted_only():
    X, y = some_corpus()
    free, bound = HMM().fit(X, y), HMM(constraints={("x", "y"), ("y", "x"), ("x", "x")}).fit(X, y)
    same_bits(free, bound)
    for labels in bound.predict(X):
        assert set(itertools.pairwise(labels)) <= {("x", "y"), ("y", "x"), ("x", "x")}
    np.testing.assert_array_equal(free.score_samples(X), bound.score_samples(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (bound.log_proba(X, y) <= 0).all()


@pytest.mark.parametrize("order", [1, 2])
def test_threads_change_no_bit(order, monkeypatch):
    monkeypatch.setattr("fastlin.runtime.parallel.BLOCK_WORK", 1 << 8)
    X, y = some_corpus(150)
    X[3] = ["never"] * 3
    y[3] = ["x"] * 3
    one = HMM(order=order, n_jobs=1).fit(X, y)
    for jobs in (2, 3):
        other = HMM(order=order, n_jobs=jobs).fit(X, y)
        same_bits(one, other)
        assert other.predict(X) == one.predict(X)
        np.testing.assert_array_equal(one.score_samples(X), other.score_samples(X))
        for p, q in zip(one.predict_marginals(X), other.predict_marginals(X), strict=True):
            np.testing.assert_array_equal(p, q)
