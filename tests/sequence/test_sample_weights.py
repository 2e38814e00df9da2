"""Weights of sequences: whole ones are repetitions, 0 is absence, of every model, solver and kind of label."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import clone

from fastlin.runtime import parallel
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.sequence.crf.training import make_problem
from oracles.structured_perceptron import Perceptron
from support.resuming import check_other_fits
from support.sequences import CRF_LAYOUTS, flat, hidden_in_part, items, problem, stacked, table

WEIGHTS = np.array([2.0, 1, 3, 1, 1, 5, 2, 1, 1, 4, 1, 1, 2, 1, 7])


def repeated(whole, times):
    return [one for one, n in zip(whole, times.astype(int), strict=True) for _ in range(n)]


def labels_of(y, partial):
    return hidden_in_part(y) if partial else [codes.tolist() for codes in y]


def posed(model, X, y, weights=None):
    """The objective of a CRF."""
    model = clone(model)
    rows, lengths = stacked(X)
    tokens, labels = model._learn(rows, flat(y, X), lengths, weights)
    return make_problem(model, tokens, labels, parallel.WorkerPool(1))


def in_order(found):
    """The weights of a CRF's problem, those of features by column and label: their order goes by frequencies."""
    keys = np.repeat(found.design.features, np.diff(found.layout.starts)) * found.layout.n_labels + found.layout.labels
    return np.concatenate([np.argsort(keys), np.arange(len(keys), found.size)])


def arrays(model):
    """All that was learnt, as arrays."""
    names = ("coef_", "start_", "transitions_", "second_order_", "edge_coef_", "startprob_", "transmat_")
    names += ("emissionprob_", "stopprob_", "bound_")
    found = {name: getattr(model, name, None) for name in names}
    return {name: table(array) for name, array in found.items() if array is not None}


def same(one, other, rtol=0.0, atol=0.0):
    assert arrays(one).keys() == arrays(other).keys()
    for name, array in arrays(one).items():
        np.testing.assert_allclose(array, arrays(other)[name], rtol=rtol, atol=atol, err_msg=name)


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# --- whole weights are repetitions


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("layout", CRF_LAYOUTS)
def test_the_objective_of_a_crf_is_that_of_repeated_sequences(layout, partial):
    X, y = problem(15)
    y, model = labels_of(y, partial), CRF(**CRF_LAYOUTS[layout])
    one, other = posed(model, X, y, WEIGHTS), posed(model, repeated(X, WEIGHTS), repeated(y, WEIGHTS))
    orders = [in_order(found) for found in (one, other)]
    gradient = np.empty(one.size)
    for drawn in (np.zeros(one.size), *np.random.default_rng(0).normal(size=(2, one.size)) * [[1], [1500]]):
        found = []
        for problem_, order in zip((one, other), orders, strict=True):
            theta = np.empty(len(order))
            theta[order] = drawn
            found.append((problem_.value(theta, gradient), gradient[order], problem_.diagonal()[order]))
        (value, slopes, metric), again = found
        assert value == pytest.approx(again[0], rel=1e-10)
        np.testing.assert_allclose(slopes, again[1], rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(metric, again[2], rtol=1e-7)
    assert one.labels.log_choices(one.starts) == pytest.approx(other.labels.log_choices(other.starts), rel=1e-12)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("c2", [1e-3, 1.0, 1e5])
def test_a_crf_reaches_the_optimum_of_repeated_sequences(c2, partial):
    X, y = problem(15)
    y, model = labels_of(y, partial), CRF(c1=0.1, c2=c2, tol=1e-7, max_iter=3000)
    one = model.fit(list(map(items, X)), y, sample_weight=WEIGHTS)
    other = clone(model).fit(repeated(list(map(items, X)), WEIGHTS), repeated(y, WEIGHTS))
    assert one.attributes_ == other.attributes_
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    if not partial:  # one optimum
        same(one, other, atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        HMM(),
        HMM(order=2),
        HMM(order=2, interpolation=None, stop=False, alpha=0.3),
        HMM(order=2, n_components=3, init="random", random_state=3, max_iter=5, stop=False),
        HMM(n_components=3, random_state=3, max_iter=5, n_jobs=2),
    ],
)
@pytest.mark.parametrize("partial", [False, True])
def test_an_hmm_counts_a_sequence_as_often_as_its_weight_says(model, partial, quiet):
    X, y = problem(15)
    y = None if model.n_components and not partial else labels_of(y, partial)
    words = [[f"w{np.argmax(row)}{np.argmin(row)}" for row in x] for x in X]
    for tokens in (words, list(map(items, X))):
        one = clone(model).fit(tokens, y, sample_weight=WEIGHTS)
        other = clone(model).fit(repeated(tokens, WEIGHTS), y and repeated(y, WEIGHTS))
        same(one, other, rtol=1e-8, atol=1e-10)
    if not (partial or y is None):
        parts = [(words[a:b], y[a:b], WEIGHTS[a:b]) for a, b in ((0, 4), (4, 9), (9, 15))]
        pieces = clone(model)
        for tokens, labels, weights in parts:
            pieces.partial_fit(tokens, labels, sample_weight=weights)
        same(pieces, clone(model).fit(words, y, sample_weight=WEIGHTS))


@pytest.mark.parametrize(
    "options", [{}, {"order": 2}, {"edges": [1, 2]}, {"weights": "dense"}, {"C": 1e3}, {"C": 1e-3}]
)
@pytest.mark.parametrize("partial", [False, True])
def test_a_memm_reaches_the_optimum_of_repeated_sequences(options, partial):
    X, y = problem(15)
    y, model = labels_of(y, partial), MEMM(tol=1e-10, max_iter=1000, tag_dictionary=[0, 1, 3], dictionary_cutoff=4)
    model.set_params(**options)
    rows, lengths = stacked(X)
    one = model.fit(rows, flat(y, X), lengths=lengths, sample_weight=WEIGHTS)
    rows, lengths = stacked(repeated(X, WEIGHTS))
    other = clone(model).fit(rows, flat(repeated(y, WEIGHTS), repeated(X, WEIGHTS)), lengths=lengths)
    same(one, other, atol=1e-3 * np.abs(other.coef_).max())
    assert one.tag_dictionary_ == other.tag_dictionary_


def test_accuracy_is_that_of_repeated_sequences():
    X, y = problem(15)
    X, y = list(map(items, X)), labels_of(y, False)
    for model in (HMM(), MEMM(), CRF(), StructuredPerceptron(random_state=0)):
        model.fit(X[:5], y[:5])
        again = model.score(repeated(X, WEIGHTS), repeated(y, WEIGHTS))
        assert model.score(X, y, sample_weight=WEIGHTS) == pytest.approx(again, rel=1e-12)
    model = HMM().fit(X, y)
    again = model.score(repeated(X, WEIGHTS))
    assert model.score(X, sample_weight=WEIGHTS) == pytest.approx(again, rel=1e-12)


# --- stochastic and online steps


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
@pytest.mark.parametrize("partial", [False, True])
def test_stochastic_solvers_approach_the_weighted_optimum(solver, partial, quiet):
    X, y = problem(60)
    y, weights = labels_of(y, partial), np.tile(WEIGHTS, 4) * np.linspace(0.1, 1, 60)
    rows, lengths = stacked(X)
    given = (rows, flat(y, X))
    best = CRF(tol=1e-6).fit(*given, lengths=lengths, sample_weight=weights)
    model = CRF(solver=solver, max_iter=400, tol=0, batch_size=3, random_state=0, eta0=0.02 if solver == "sgd" else 0.2)
    model.fit(*given, lengths=lengths, sample_weight=weights)
    found = posed(best, X, y, weights)
    assert model.objective_ == pytest.approx(best.objective_, rel=5e-3)
    assert found.value(np.zeros(found.size), np.empty(found.size)) > 1.05 * model.objective_


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("partial", [False, True])
def test_a_step_of_sgd_is_the_weighted_gradient(order, partial, quiet):
    X, y = problem(15)
    y, eta, weights = labels_of(y, partial), 0.01, WEIGHTS * np.linspace(0.1, 3, 15)
    options = {"solver": "sgd", "c2": 0.0, "eta0": eta, "batch_size": len(X), "max_iter": 1, "order": order}
    rows, lengths = stacked(X)
    model = CRF(**options).fit(rows, flat(y, X), lengths=lengths, sample_weight=weights)
    found = posed(CRF(c2=0.0, order=order), X, y, weights)
    gradient, K = np.empty(found.size), 3
    found.value(np.zeros(found.size), gradient)
    two, three = found.transition_weights.tables(found.split(gradient)[1])
    np.testing.assert_allclose(model.transitions_, -eta / len(X) * two, rtol=1e-9, atol=1e-15)
    assert order == 1 or np.allclose(model.second_order_, -eta / len(X) * three, rtol=1e-9, atol=1e-15)
    coef = -eta / len(X) * found.split(gradient)[0]
    ours = table(model.coef_).T[np.repeat(found.design.features, np.diff(found.layout.starts)), found.layout.labels]
    np.testing.assert_allclose(ours, coef, rtol=1e-9, atol=1e-15)
    assert model.transitions_.shape == (K, K)


@pytest.mark.parametrize("options", [{}, {"loss": "pa", "C": 0.02}, {"loss": "mira", "C": 0.02, "n_best": 81}])
@pytest.mark.parametrize("order", [1, 2])
def test_online_learners_take_steps_as_long_as_weights_say(options, order):
    X, y = problem(15)
    weights, twin = WEIGHTS * np.linspace(0.5, 2, 15), Perceptron(4, 3, order=order, **options)
    rows, lengths = stacked(X)
    model = StructuredPerceptron(order=order, shuffle=False, max_iter=2, **options)
    model.fit(rows, np.concatenate(y), lengths=lengths, sample_weight=weights)
    for _ in range(2):
        twin.epoch(X, y, weights)
    parts = twin.parts(twin.average)
    np.testing.assert_allclose(table(model.coef_), parts[0], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.transitions_, parts[1], rtol=1e-6, atol=1e-7)
    assert order == 1 or np.allclose(model.second_order_, parts[2], rtol=1e-6, atol=1e-7)
    if not options:
        one = StructuredPerceptron(order=order, shuffle=False, max_iter=1)
        one.partial_fit(rows, np.concatenate(y), lengths=lengths, sample_weight=weights)
        other = clone(one).fit(rows, np.concatenate(y), lengths=lengths, sample_weight=weights)
        same(one, other)


# --- no weight, and all alike

MODELS = {
    "crf": CRF(),
    "crf, sgd": CRF(solver="sgd", max_iter=3, random_state=0),
    "hmm": HMM(),
    "memm": MEMM(),
    "perceptron": StructuredPerceptron(random_state=0),
    "perceptron, observed": StructuredPerceptron(weights="observed", loss="pa", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_sequence_of_weight_0_is_absent(name, quiet):
    X, y = problem(15)
    y, kept = labels_of(y, False), np.arange(15) % 4 != 1
    names = [
        [{**token, "only here": 1.0} for token in items(x)] if not stays else items(x)
        for x, stays in zip(X, kept, strict=True)
    ]
    wrong = [labels if stays else [9] * len(labels) for labels, stays in zip(y, kept, strict=True)]
    some = [[one for one, stays in zip(whole, kept, strict=True) if stays] for whole in (names, wrong, X)]
    for weights in (kept.astype(float), np.where(kept, WEIGHTS, 0)):
        one = clone(MODELS[name]).fit(names, wrong, sample_weight=weights)
        other = clone(MODELS[name]).fit(*some[:2], sample_weight=weights[kept])
        assert one.attributes_ == other.attributes_
        assert one.classes_.tolist() == other.classes_.tolist() == [0, 1, 2]
        same(one, other)
        (rows, lengths), (few, short) = stacked(X), stacked(some[2])
        for matrix in (rows, sparse.coo_array(rows), rows.toarray()):
            one = clone(MODELS[name]).fit(matrix, np.concatenate(wrong), lengths=lengths, sample_weight=weights)
            other = clone(MODELS[name]).fit(few, np.concatenate(some[1]), lengths=short, sample_weight=weights[kept])
            same(one, other)


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_1_change_no_bit(name, quiet):
    X, y = problem(15)
    X = list(map(items, X))
    same(clone(MODELS[name]).fit(X, y, sample_weight=np.ones(15)), clone(MODELS[name]).fit(X, y))
    same(clone(MODELS[name]).fit(X, y, sample_weight=1), clone(MODELS[name]).fit(X, y))


@pytest.mark.parametrize("name", MODELS)
def test_threads_change_no_bit_of_a_weighted_fit(name, quiet):
    X, y = problem(400)
    X, weights = list(map(items, X)), np.linspace(0.1, 5, 400)
    model = clone(MODELS[name])
    one = clone(model).set_params(n_jobs=1).fit(X, y, sample_weight=weights)
    same(one, clone(model).set_params(n_jobs=3).fit(X, y, sample_weight=weights))


@pytest.mark.parametrize("name", MODELS)
def test_wrong_weights_are_refused(name, quiet):
    X, y = problem(5)
    X, model = list(map(items, X)), clone(MODELS[name])
    for weights, said in [
        ([1.0] * 4, "4 entries, X has 5 sequences"),
        ([1, 1, -1, 1, 1], "sample_weight must not be negative: -1 at sequence 2"),
        ([1, 1, np.nan, 1, 1], "sample_weight"),
        ([0.0] * 5, "sample_weight is 0 for all sequences"),
        (["a"] * 5, "sample_weight must hold real numbers"),
        (np.ones((5, 1)), "dimension"),
    ]:
        with pytest.raises(ValueError, match=said):
            model.fit(X, y, sample_weight=weights)
        assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="X has 5 sequences, y has 4"):
        model.fit(X, y[:4], sample_weight=[1, 1, 1, 1, 0])
    with pytest.raises(ValueError, match="sample_weight is 0 for all tokens"):
        model.fit(X, y).score(X, y, sample_weight=[0] * 5)


def test_a_fit_goes_on_only_with_the_same_weights(tmp_path):
    X, y = problem(15)
    changes = [("labels", {}, None, {"sample_weight": weights}) for weights in (WEIGHTS, WEIGHTS > 1)]
    check_other_fits(lambda: CRF(max_iter=3), (list(map(items, X)), y), tmp_path / "fit", changes)
