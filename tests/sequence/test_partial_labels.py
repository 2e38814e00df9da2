"""Labels known in part: the marginal likelihood over all paths, the best path allowed as the target, sets in EM."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from fastlin.runtime import parallel
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from fastlin.sequence.crf.training import make_problem
from oracles.chain import log_sum
from oracles.structured_perceptron import Perceptron
from support.resuming import stop_after_each_record
from support.sequences import CRF_LAYOUTS, flat, hidden_in_part, items, problem, stacked, table

ALL = 81  # paths: MIRA then does not depend on which of those that are equally good come first


def allowed_paths(y, n_labels, length):
    """All paths that are allowed."""
    sets = [range(n_labels)] * length
    if y is not None:
        sets = [range(n_labels) if one is None else one if isinstance(one, set) else {one} for one in y]
    return list(itertools.product(*map(sorted, sets)))


def score(model, x, path):
    """s(x, y) of a CRF by its definition."""
    K, coef = len(model.classes_), table(model.coef_)
    value = sum(coef[label] @ x[t] for t, label in enumerate(path))
    for t in range(1, len(path)):
        value += model.transitions_[path[t - 1], path[t]]
        if model.edge_coef_ is not None:
            value += table(model.edge_coef_)[:, path[t - 1] * K + path[t]] @ x[t]
        if model.second_order_ is not None and t > 1:
            value += model.second_order_[path[t - 2], path[t - 1], path[t]]
    return value


def objective(model, X, y):
    """Σ log Z − log of the sum over what is allowed, and the priors."""
    K, value = len(model.classes_), 0.0
    for x, labels in zip(X, y, strict=True):
        of = {path: score(model, x, path) for path in itertools.product(range(K), repeat=len(x))}
        value += log_sum(list(of.values())) - log_sum([of[path] for path in allowed_paths(labels, K, len(x))])
    parts = [model.coef_, model.transitions_, model.second_order_, model.edge_coef_]
    theta = np.concatenate([table(part).ravel() for part in parts if part is not None])
    return value + model.c2 * theta @ theta + model.c1 * np.abs(theta).sum()


def fit(model, X, y, dtype=np.float64):
    """Fitted to read-only arrays with indices of 64 bits."""
    rows, lengths = stacked(X)
    rows = sparse.csr_array((rows.data.astype(dtype), rows.indices.astype(np.int64), rows.indptr.astype(np.int64)))
    rows.data.flags.writeable = False
    return model.fit(rows, flat(y, X), lengths=lengths)


def problem_of(model, X, y):
    """The objective of a CRF that knows its labels."""
    model = clone(model)
    rows, lengths = stacked(X)
    tokens, labels = model._learn(rows, flat(y, X), lengths)
    return model, make_problem(model, tokens, labels, parallel.WorkerPool(1))


# --- CRF


@pytest.mark.parametrize("layout", CRF_LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_objective_is_the_sum_over_all_paths(layout, dtype):
    X, y = problem(15)
    hidden = hidden_in_part(y)
    model = fit(CRF(tol=1e-6, max_iter=2000, **CRF_LAYOUTS[layout]), X, hidden, dtype)
    assert model.converged_
    assert model.objective_ == pytest.approx(objective(model, X, hidden), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("layout", CRF_LAYOUTS)
def test_the_gradient_is_the_numerical_derivative(layout):
    X, y = problem(15)
    hidden = hidden_in_part(y)
    model, found = problem_of(CRF(**CRF_LAYOUTS[layout]), X, hidden)
    theta = np.random.default_rng(0).normal(size=found.size)
    gradient, spare = np.empty(found.size), np.empty(found.size)
    value = found.value(theta, gradient)
    model.c1 = 0.0  # the solver's business
    assert value == pytest.approx(objective(model._install(found, theta), X, hidden), rel=1e-12)
    step = 1e-5
    for j in range(found.size):
        moved = theta.copy()
        moved[j] += step
        above = found.value(moved, spare)
        moved[j] -= 2 * step
        assert gradient[j] == pytest.approx((above - found.value(moved, spare)) / (2 * step), rel=1e-5, abs=1e-4)


def test_scores_beyond_what_sums_can_hold():
    """Where the linear domain underflows, logarithms take over, in both sums."""
    X, y = problem(15)
    hidden = hidden_in_part(y)
    model, found = problem_of(CRF(order=2), X, hidden)
    theta = 2e3 * np.random.default_rng(0).normal(size=found.size)
    value = found.value(theta, np.empty(found.size))
    assert value == pytest.approx(objective(model._install(found, theta), X, hidden), rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"edges": [1]}, {"order": 2}, {"solver": "sgd", "max_iter": 5}])
def test_sets_of_one_label_are_labels(options):
    X, y = problem(15)
    known = [[int(code) for code in codes] for codes in y]
    sets = [[{code} for code in codes] for codes in known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (fit(CRF(**options), X, labels) for labels in (known, sets))
    np.testing.assert_array_equal(table(one.coef_), table(other.coef_))
    np.testing.assert_array_equal(one.transitions_, other.transitions_)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "adagrad"])
def test_sequences_of_which_nothing_is_known_teach_nothing(solver):
    """log Z − log Z; a token without a label has no pair of its own."""
    X, y = problem(15)
    known = [list(map(int, codes)) for codes in y]
    _, found = problem_of(CRF(solver=solver), X + X, known + [None] * len(X))
    _, alone = problem_of(CRF(solver=solver), X, known)
    theta = np.random.default_rng(0).normal(size=found.size)
    gradients = np.empty(found.size), np.empty(found.size)
    assert found.size == alone.size
    assert found.value(theta, gradients[0]) == pytest.approx(alone.value(theta, gradients[1]), rel=1e-12)
    np.testing.assert_allclose(*gradients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2])
def test_a_step_of_sgd_is_the_gradient(order):
    X, y = problem(15)
    hidden = hidden_in_part(y)
    eta = 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"solver": "sgd", "c2": 0.0, "eta0": eta, "batch_size": len(X), "max_iter": 1, "order": order}
        model = fit(CRF(**options), X, hidden)
    at_zero, found = problem_of(CRF(c2=0.0, order=order), X, hidden)
    gradient = np.empty(found.size)
    found.value(np.zeros(found.size), gradient)
    at_zero._install(found, gradient)
    np.testing.assert_allclose(table(model.coef_), -eta / len(X) * table(at_zero.coef_), rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(model.transitions_, -eta / len(X) * at_zero.transitions_, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_stochastic_solvers_approach_the_optimum(solver):
    X, y = problem(60)
    hidden = hidden_in_part(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(CRF(solver=solver, max_iter=300, tol=0, c2=1.0), X, hidden)
    assert model.objective_ <= fit(CRF(solver="lbfgs", tol=1e-6), X, hidden).objective_ * 1.02


@pytest.mark.parametrize("options", [{}, {"edges": "all"}, {"order": 2}, {"weights": "dense"}])
def test_threads_change_no_bit(options):
    X, y = problem(400, longest=12)
    hidden = hidden_in_part(y)
    one, two = (fit(CRF(n_jobs=n, **options), X, hidden) for n in (1, 2))
    np.testing.assert_array_equal(table(one.coef_), table(two.coef_))
    assert one.objective_ == two.objective_


# --- StructuredPerceptron


@pytest.mark.parametrize("loss", ["perceptron", "pa", "mira"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("weights", ["dense", "observed"])
def test_the_target_is_the_best_of_the_paths_allowed(loss, order, weights):
    compared = 0
    for seed in range(12):
        X, y = problem(8, seed=seed)
        if loss != "perceptron":  # whose sums of whole numbers are exact
            X = [x + np.random.default_rng(seed).normal(size=x.shape) for x in X]
        hidden = hidden_in_part(y, seed=seed)
        twin = Perceptron(X[0].shape[1], 3, order=order, loss=loss, n_best=ALL if loss == "mira" else 1)
        if weights == "observed":
            chances = [path for x, one in zip(X, hidden, strict=True) for path in said_paths(x, one)]
            twin.kept = sum(twin.features(x != 0, path) for x, path in chances) > 0
        for x, labels in [*zip(X, hidden, strict=True)] * 2:
            allowed, (paths, values) = set(allowed_paths(labels, 3, len(x))), twin.ranked(x)
            best = [place for place, path in enumerate(paths) if path in allowed][:2]
            if labels is None or not all(isinstance(label, int) for label in labels):
                twin.note(np.diff([values[place] for place in best]))
            twin.learn(x, paths[best[0]])
        if twin.closest < 1e-7:  # rounding decides
            continue
        compared += 1
        options = {"order": order, "loss": loss, "n_best": ALL, "weights": weights, "average": False, "shuffle": False}
        model = fit(StructuredPerceptron(max_iter=2, **options), X, hidden)
        parts = twin.parts(twin.theta)
        close = 1e-4 if loss == "mira" else 1e-9
        np.testing.assert_allclose(table(model.coef_), parts[0], atol=close)
        np.testing.assert_allclose(model.transitions_, parts[1], atol=close)
        if order == 2:
            np.testing.assert_allclose(model.second_order_, parts[2], atol=close)
    assert compared


def said_paths(x, labels):
    """Stretches of a sequence of which something is said, with every path that it allows."""
    start, whole = 0, [None] * len(x) if labels is None else [*labels, None]
    for stop, label in enumerate([*whole, None]):
        if label is None:
            stretch = whole[start:stop]
            yield from ((x[start:stop], path) for path in allowed_paths(stretch, 3, len(stretch)) if stretch)
            start = stop + 1


def test_partial_fit_learns_sets_and_new_labels():
    X, y = problem(20)
    names = [[f"t{code}" for code in codes] for codes in y]
    hidden = [[{label, "new"} if t % 3 == 0 else label for t, label in enumerate(own)] for own in names]
    tokens = [items(x) for x in X]
    whole = StructuredPerceptron(shuffle=False, max_iter=1).fit(tokens, hidden)
    parts = StructuredPerceptron(shuffle=False, max_iter=1).partial_fit(tokens[:7], names[:0] + hidden[:7], ["new"])
    parts.partial_fit(tokens[7:], hidden[7:], classes=["t0", "t1", "t2", "new"])
    assert parts.classes_.tolist() == whole.classes_.tolist() == ["new", "t0", "t1", "t2"]
    before = parts.coef_.copy()
    parts.set_params(average=True).partial_fit(tokens[:2], [None, None])
    assert parts.classes_.tolist() == whole.classes_.tolist()
    assert before.shape == parts.coef_.shape


# --- MEMM


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"edges": "all"}, {"weights": "dense", "C": 1e-3}, {"C": 1e3}])
def test_a_memm_is_that_of_the_best_labels_allowed(options):
    """At the end the labels learnt are the best of those allowed, and the weights those of a fit to these labels."""
    X, y = problem(40)
    hidden = hidden_in_part(y)
    model = fit(MEMM(tol=1e-6, max_iter=500, **options), X, hidden)
    assert model.converged_
    rows, lengths = stacked(X)
    allowed = [None if one is None else [label if label is not None else None for label in one] for one in hidden]
    best = model.predict(rows, lengths=lengths, allowed=allowed)
    whole = fit(clone(model), X, best)
    np.testing.assert_array_equal(whole.coef_, model.coef_)
    np.testing.assert_array_equal(whole.transitions_, model.transitions_)
    for x, labels, path in zip(X, hidden, best, strict=True):
        paths = allowed_paths(labels, 3, len(x))
        given, n = sparse.csr_array(np.vstack([x] * len(paths))), [len(x)] * len(paths)
        values = model.log_proba(given, np.concatenate(paths), lengths=n)
        assert values[paths.index(tuple(path))] >= values.max() - 1e-9


def test_a_memm_of_labels_that_only_sets_name():
    X, y = problem(30)
    hidden = [[{int(code), 2} if code != 2 else {0, 2} for code in codes] for codes in y]
    model = fit(MEMM(), X, hidden)
    assert set(np.concatenate(model.predict(*stacked(X)[:1], lengths=stacked(X)[1])).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize("make", [MEMM, CRF])
def test_a_fit_goes_on_from_its_checkpoint(make, tmp_path):
    X, y = problem(30)
    hidden = hidden_in_part(y)
    tokens = [items(x) for x in X]

    def model(**options):
        return make(tol=1e-5, **options)

    stop_after_each_record(model, ["transitions_"], (tokens, hidden), tmp_path / "checkpoint")


# --- HMM


@pytest.mark.parametrize("order", [1, 2])
def test_em_sums_over_what_sets_allow(order):
    X, y = problem(20)
    words = [[f"w{int(row.argmax())}" for row in x] for x in X]
    hidden = hidden_in_part(y)
    flat_prior = {"alpha": 0.0, "transition_alpha": 0.0, "unknown": "uniform", "interpolation": None}
    model = HMM(order=order, tol=0.0, max_iter=30, stop=False, **flat_prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(words, hidden)
    assert (np.diff(model.bound_) >= -1e-9).all()
    names = model.attributes_
    value = 0.0
    for x, labels in zip(words, hidden, strict=True):
        terms = []
        for path in allowed_paths(labels, 3, len(x)):
            p = model.startprob_[path[0]]
            for t, label in enumerate(path):
                p *= model.emissionprob_[label, names.index(x[t])]
                if t:
                    before = (path[t - 1],) if order == 1 else (path[t - 2] if t > 1 else 3, path[t - 1])
                    p *= model.transmat_[(*before, label)]
            terms.append(p)
        value += np.log(sum(terms))
    assert model.bound_[-1] == pytest.approx(value, rel=1e-9)


# --- what is refused


@pytest.mark.parametrize("make", [CRF, MEMM, StructuredPerceptron, HMM])
def test_sets_that_say_nothing_are_refused(make):
    X = [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="a set of no label at sequence 0, token 1"):
        make().fit(X, [["x", set()], ["y"]])
    with pytest.raises(ValueError, match="not known at sequence 1, token 0"):
        make().fit(X, [["x", "y"], [{"x", None}]])
    with pytest.raises(TypeError, match="labels are strings or integers"):
        make().fit(X, [["x", "y"], [{"x", 2.5}]])


@pytest.mark.parametrize("make", [CRF, MEMM, StructuredPerceptron])
def test_something_must_be_known(make):
    with pytest.raises(ValueError, match="no label"):
        make().fit([["a", "b"], ["c"]], [[None, None], [None]])
    with pytest.raises(ValueError, match="labels other numbers"):
        make().fit([["a", "b"], ["c"]], [[1, -1], [1]])


@pytest.mark.parametrize("make", [CRF, MEMM, StructuredPerceptron, HMM])
@pytest.mark.parametrize("labels", [["a", "b"], [3, 4]])
def test_none_stands_for_the_labels_of_an_empty_sequence(make, labels):
    X = [["u", "v"], [], ["v"]]
    known = make().fit(X, [labels, None, labels[1:]])
    assert known.classes_.tolist() == labels
    assert known.predict(X) == make().fit(X, [labels, [], labels[1:]]).predict(X)
