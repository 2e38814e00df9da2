"""The structured perceptron, PA and MIRA: they are what they say, however the data come."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin.sequence import StructuredPerceptron
from oracles.structured_perceptron import Perceptron, observed
from support.sequences import fit, items, problem, stacked
from support.strategies import seeds

LOSSES = ("perceptron", "pa", "mira")
ALL = 300  # paths: MIRA then does not depend on which of those that are equally good come first
losses = pytest.mark.parametrize("loss", LOSSES)
orders = pytest.mark.parametrize("order", [1, 2])


def tables(model):
    """All weights that predict, dense, as one vector."""
    coef = model.coef_.toarray() if model.weights == "observed" else model.coef_
    parts = [coef, model.transitions_, *([] if model.second_order_ is None else [model.second_order_])]
    return np.concatenate([part.ravel() for part in parts])


def real(n=12, seed=0, n_labels=3, **options):
    """Problems whose features are no whole numbers, so that paths are equally good at the beginning only."""
    X, y = problem(n, seed=seed, n_labels=n_labels, **options)
    rng = np.random.default_rng(seed)
    return [x * rng.uniform(0.5, 2, x.shape) for x in X], y


def twin_of(X, y, n_labels, epochs, weights="dense", average=True, order=1, **options):
    kept = observed(X, y, n_labels, order) if weights == "observed" else None
    twin = Perceptron(X[0].shape[1], n_labels, order=order, kept=kept, **options)
    records = []
    for _ in range(epochs):
        twin.epoch(X, y)
        records.append((twin.updates, twin.wrong))
    return twin, records, twin.average if average else twin.theta


# --- it is what it says ----------------------------------------------------------------------------------------------


@orders
@losses
@given(
    seed=seeds, n_labels=st.integers(1, 3), weights=st.sampled_from(["dense", "observed"]), average=st.booleans(),
    whole=st.booleans(), C=st.sampled_from([0.05, 1.0, np.inf]),
)  # fmt: skip
def test_it_is_its_naive_twin(order, loss, seed, n_labels, weights, average, whole, C):
    X, y = (problem if whole else real)(8, seed=seed, n_labels=n_labels)
    C = 0.3 if loss == "mira" and np.isinf(C) else C  # what no weights can satisfy has no step without slack
    options = {"order": order, "loss": loss, "weights": weights, "average": average, "C": C, "n_best": ALL}
    twin, records, theta = twin_of(X, y, n_labels, 3, **options)
    if twin.closest < 1e-7:
        return
    model = fit(StructuredPerceptron(max_iter=3, shuffle=False, **options), X, y)
    assert [(record["updates"], record["wrong"]) for record in model.history_] == records
    np.testing.assert_allclose(tables(model), theta, rtol=1e-9, atol=1e-4 if loss == "mira" else 1e-9)


@given(seed=seeds, n_best=st.integers(1, 4))
def test_mira_with_some_of_the_paths(seed, n_best):
    X, y = real(8, seed=seed)
    twin, records, theta = twin_of(X, y, 3, 2, loss="mira", n_best=n_best)
    if twin.closest < 1e-7:
        return
    model = fit(StructuredPerceptron(loss="mira", n_best=n_best, max_iter=2, shuffle=False), X, y)
    assert [(record["updates"], record["wrong"]) for record in model.history_] == records
    np.testing.assert_allclose(tables(model), theta, atol=1e-4)


@orders
@pytest.mark.parametrize("loss", ["perceptron", "pa"])
@given(seed=seeds, beam_width=st.integers(1, 4), weights=st.sampled_from(["dense", "observed"]))
def test_a_beam_is_its_naive_twin(order, loss, seed, beam_width, weights):
    X, y = real(8, seed=seed, longest=5)
    options = {"order": order, "loss": loss, "beam_width": beam_width, "weights": weights}
    twin, records, theta = twin_of(X, y, 3, 3, **options)
    if twin.closest < 1e-7:
        return
    model = fit(StructuredPerceptron(max_iter=3, shuffle=False, **options), X, y)
    assert [(record["updates"], record["wrong"]) for record in model.history_] == records
    np.testing.assert_allclose(tables(model), theta, rtol=1e-9, atol=1e-9)


@orders
def test_after_a_step_of_mira_every_path_has_its_margin(order):
    X, y = real(1, seed=3, longest=4, shortest=4)
    model = fit(StructuredPerceptron(loss="mira", order=order, n_best=ALL, C=np.inf, max_iter=1), X, y)
    twin = Perceptron(4, len(model.classes_), order=order)
    twin.theta = tables(model)
    paths, values = twin.ranked(X[0])
    y = np.searchsorted(model.classes_, y[0])
    margins = twin.features(X[0], y) @ twin.theta - values - (np.array(paths) != y).sum(axis=1)
    assert margins.min() > -1e-9
    assert np.sort(margins)[1] < 1e-9  # beside the right path, one lies on its border


# --- relations -------------------------------------------------------------------------------------------------------


@orders
@losses
def test_a_beam_as_wide_as_there_are_states_is_exact(order, loss):
    if loss == "mira":
        return
    X, y = real(30, seed=5, longest=8)
    options = {"order": order, "loss": loss, "max_iter": 4, "random_state": 0}
    wide = fit(StructuredPerceptron(beam_width=3**order, **options), X, y)
    np.testing.assert_array_equal(tables(wide), tables(fit(StructuredPerceptron(**options), X, y)))
    narrow = fit(StructuredPerceptron(beam_width=1, **options), X, y)
    assert (tables(narrow) != tables(wide)).any()


@orders
def test_of_single_errors_pa_is_mira_with_the_best_path(order):
    X, y = real(40, seed=1, longest=1)
    X = [np.round(x * 8) / 8 for x in X]
    options = {"order": order, "C": 0.7, "max_iter": 1, "shuffle": False, "average": False}
    one, other = (fit(StructuredPerceptron(loss=loss, n_best=1, **options), X, y) for loss in ("pa", "mira"))
    steps = {model.history_[0]["updates"] for model in (one, other)}
    np.testing.assert_allclose(tables(one), tables(other), atol=1e-12)
    assert len(steps) == 1


@losses
def test_of_sequences_of_length_1_the_perceptron_is_a_classifier(loss):
    X, y = real(40, seed=2, longest=1)
    rows, codes = np.vstack(X), np.concatenate(y)
    model = fit(StructuredPerceptron(loss=loss, shuffle=False, max_iter=3, average=False, n_best=1, C=0.5), X, y)
    theta = np.zeros((3, 4))
    for _ in range(3):
        for x, code in zip(rows, codes, strict=True):
            scores = theta @ x
            best = int(np.argmax(scores))
            if best != code:
                loss_ = 1 - scores[code] + scores[best]
                tau = 1.0 if loss == "perceptron" else min(0.5, loss_ / (2 * x @ x)) if x.any() else 0.0
                theta[code] += tau * x
                theta[best] -= tau * x
    np.testing.assert_allclose(model.coef_, theta, atol=1e-12)


@orders
@losses
def test_separable_sequences_end_without_a_step(order, loss):
    rng = np.random.default_rng(0)
    y = [rng.integers(0, 3, rng.integers(1, 7)) for _ in range(40)]
    X = [np.eye(3)[codes] * rng.uniform(0.5, 2, (len(codes), 1)) for codes in y]
    model = fit(StructuredPerceptron(order=order, loss=loss, tol=0, max_iter=500, C=np.inf, random_state=0), X, y)
    assert model.converged_
    assert model.n_iter_ == len(model.history_) < 500
    assert model.history_[-1]["updates"] == 0
    rows, lengths = stacked(X)
    model = fit(StructuredPerceptron(order=order, loss=loss, tol=0, max_iter=500, average=False, C=np.inf), X, y)
    assert model.score(rows, np.concatenate(y), lengths=lengths) == 1


@orders
@losses
def test_observed_weights_are_where_something_was_seen(order, loss):
    X, y = problem(20, n_features=9, seed=4)
    model = fit(StructuredPerceptron(order=order, loss=loss, weights="observed", max_iter=2), X, y)
    seen = observed(X, y, 3, order)
    assert (tables(model)[~seen] == 0).all()
    assert model.coef_.nnz == seen[: 3 * 9].sum()
    assert (tables(model) != 0).sum() > seen.sum() / 2


@pytest.mark.parametrize("weights", ["dense", "observed"])
def test_the_cutoff_is_that_of_observed_pairs(weights):
    X, y = problem(40, n_features=12)
    model = fit(StructuredPerceptron(weights=weights, cutoff=9), X, y)
    rows, codes = np.vstack(X), np.concatenate(y)
    seen = np.array([((rows != 0) & (codes == k)[:, None]).sum(axis=0) for k in range(3)])
    if weights == "observed":
        np.testing.assert_array_equal(tables(model)[:36].reshape(3, 12)[seen < 9], 0)
        assert model.coef_.nnz == (seen >= 9).sum()
    else:
        assert model.coef_.shape == (3, 12)


@orders
@pytest.mark.parametrize("n_labels", [7, 9, 17, 70])
def test_many_labels(order, n_labels):
    """Wider than what fits into registers, and no multiple of their width."""
    X, y = real(150, seed=0, n_labels=n_labels, n_features=5, longest=3)
    if order == 2 and n_labels == 70:
        return
    model = fit(StructuredPerceptron(order=order, average=False, max_iter=1, shuffle=False), X, y)
    theta = np.zeros((n_labels, 5)), np.zeros((n_labels, n_labels)), np.zeros((n_labels,) * 3)
    for x, codes in zip(X, y, strict=True):
        best = _best(x @ theta[0].T, theta[1], theta[2] if order == 2 else 0 * theta[2])
        for path, sign in ((codes, 1), (best, -1)):
            for t, label in enumerate(path):
                theta[0][label] += sign * x[t]
                if t > 0:
                    theta[1][path[t - 1], label] += sign
                if t > 1:
                    theta[2][path[t - 2], path[t - 1], label] += sign
    np.testing.assert_allclose(model.coef_, theta[0], atol=1e-9)
    np.testing.assert_array_equal(model.transitions_, theta[1])
    if order == 2:
        np.testing.assert_array_equal(model.second_order_, theta[2])


def _best(scores, two, three):
    """The best of all paths of up to three tokens; among equals the lowest last label, then the last but one."""
    K, T = scores.shape[1], len(scores)
    values = scores[-1].reshape((1,) * (T - 1) + (K,)).copy()
    for t in range(T - 1):
        shape = [1] * T
        shape[t] = K
        values = values + scores[t].reshape(shape)
        shape[t + 1] = K
        values = values + two.reshape(shape)
    if T == 3:
        values = values + three
    values = np.round(values, 9).transpose(range(T)[::-1])
    return np.unravel_index(np.argmax(values), values.shape)[::-1]


# --- how sequences come ----------------------------------------------------------------------------------------------


@orders
@losses
@given(seed=seeds, cuts=st.sets(st.integers(1, 19), max_size=4), average=st.booleans())
def test_however_sequences_are_cut(order, loss, seed, cuts, average):
    X, y = real(20, seed=seed)
    X[3], y[3] = X[3][:0], y[3][:0]
    options = {"order": order, "loss": loss, "shuffle": False, "average": average, "C": 0.5}
    whole = fit(StructuredPerceptron(max_iter=1, **options), X, y)
    bounds = [0, *sorted(cuts), 20]
    model = StructuredPerceptron(**options)
    updates = 0
    for start, stop in itertools.pairwise(bounds):
        if sum(map(len, X[start:stop])):
            rows, lengths = stacked(X[start:stop])
            model.partial_fit(rows, np.concatenate(y[start:stop]), classes=range(3), lengths=lengths)
            updates += model.history_[0]["updates"]
    np.testing.assert_array_equal(tables(model), tables(whole))
    assert updates == whole.history_[0]["updates"]


@orders
@losses
def test_new_features_and_new_labels_at_any_time(order, loss):
    X, y = real(30, seed=6, n_features=6, n_labels=3)
    names = np.array(["n", "a", "z"], object)  # so that codes of labels move
    calls = [(slice(0, 8), 2, 3), (slice(8, 20), 3, 5), (slice(20, 30), 3, 6)]
    options = {"order": order, "loss": loss, "n_best": ALL, "C": 0.4}
    model, twin, known = StructuredPerceptron(shuffle=False, **options), None, []
    for part, n_labels, n_features in calls:
        chosen = [number for number in range(30)[part] if (y[number] < n_labels).all()]
        some = [X[number] * (np.arange(6) < n_features) for number in chosen]
        tags = [names[y[number]] for number in chosen]
        model.partial_fit([items(x) for x in some], [list(one) for one in tags])
        before, known = known, sorted({*known, *np.concatenate(tags)})
        columns = [int(name[1:]) for name in model.attributes_]
        older, twin = twin, Perceptron(6, len(known), **options)
        if older is not None:  # with the labels at their new places
            where, twin.t = [known.index(label) for label in before], older.t
            for name in ("theta", "sum"):
                parts = twin.parts(getattr(twin, name))
                for new, old in zip(parts, older.parts(getattr(older, name)), strict=True):
                    new[np.ix_(where, *([where] if new.shape[1] != 6 else [range(6)]), *[where] * (new.ndim - 2))] = old
                setattr(twin, name, np.concatenate([part.ravel() for part in parts]))
        twin.epoch(some, [[known.index(label) for label in one] for one in tags])
        theta = twin.parts(twin.average)
        np.testing.assert_allclose(model.coef_, theta[0][:, columns], atol=1e-4 if loss == "mira" else 1e-10)
        np.testing.assert_allclose(model.transitions_, theta[1], atol=1e-4 if loss == "mira" else 1e-10)
        assert model.classes_.tolist() == known
    assert model.classes_.tolist() == ["a", "n", "z"]


def test_fit_learns_on():
    X, y = real(20, seed=8)
    twice = fit(StructuredPerceptron(max_iter=2, shuffle=False), X, y)
    once = fit(StructuredPerceptron(max_iter=1, shuffle=False), X, y)
    rows, lengths = stacked(X)
    once.partial_fit(rows, np.concatenate(y), lengths=lengths)
    np.testing.assert_array_equal(tables(once), tables(twice))


@losses
def test_orders_are_drawn(loss):
    X, y = real(20, seed=9)
    one, same, other = (fit(StructuredPerceptron(loss=loss, random_state=seed), X, y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(tables(one), tables(same))
    assert (tables(one) != tables(other)).any()
    order = np.random.default_rng(1).permutation(20)
    drawn = fit(StructuredPerceptron(loss=loss, random_state=1, max_iter=1), X, y)
    given_ = fit(
        StructuredPerceptron(loss=loss, shuffle=False, max_iter=1), [X[i] for i in order], [y[i] for i in order]
    )
    np.testing.assert_array_equal(tables(drawn), tables(given_))


def test_forms_of_input_are_one():
    X, y = problem(20, seed=1)
    options = {"max_iter": 3, "random_state": 0}
    one = StructuredPerceptron(**options).fit([items(x) for x in X], y)
    rows, lengths = stacked(X)
    columns = [int(name[1:]) for name in one.attributes_]
    other = StructuredPerceptron(**options).fit(rows, np.concatenate(y), lengths=lengths)
    np.testing.assert_array_equal(one.coef_, other.coef_[:, columns])
    assert one.predict([items(x) for x in X]) == other.predict(rows, lengths=lengths)
    narrow = StructuredPerceptron(**options).fit(rows.astype(np.float32), np.concatenate(y), lengths=lengths)
    np.testing.assert_array_equal(narrow.coef_, other.coef_)


def test_it_labels_with_constraints_and_all_that_taggers_can():
    X, y = real(30, seed=3, longest=6)
    tags = [[("B-X", "I-X", "O")[code] for code in codes] for codes in y]
    model = StructuredPerceptron(constraints="bio", random_state=0).fit([items(x) for x in X], tags)
    sentences = [items(x) for x in X]
    for labels in model.predict(sentences):
        assert all(not (b == "I-X" and a == "O") for a, b in zip(["O", *labels], labels, strict=False))
    free = copy.copy(model).set_params(constraints=None)
    p, paths = free.predict_marginals(sentences), free.predict_nbest(sentences, 2)
    np.testing.assert_allclose([one.sum(axis=1).max() for one in p], 1)
    assert all(found[0][1] >= found[-1][1] for found in paths)
    assert (free.log_proba(sentences, tags) <= 0).all()
    assert free.predict(sentences[:1], allowed=[["O"] * len(sentences[0])]) == [["O"] * len(sentences[0])]


# --- what is told ----------------------------------------------------------------------------------------------------


def test_history_verbose_and_callback(capsys):
    X, y = real(20, seed=2)
    seen = []

    def callback(model, record):
        seen.append((record["epoch"], model.coef_.copy()))
        return record["epoch"] == 3

    model = fit(StructuredPerceptron(verbose=1, callback=callback, random_state=0), X, y)
    assert capsys.readouterr().out.count("StructuredPerceptron  epoch ") == 3
    assert model.n_iter_ == 3
    assert model.converged_
    assert list(model.history_[0]) == ["epoch", "updates", "wrong", "loss", "objective", "seconds"]
    np.testing.assert_array_equal(seen[-1][1], model.coef_)
    assert (seen[0][1] != model.coef_).any()
    for number, coef in seen:
        other = fit(StructuredPerceptron(max_iter=number, random_state=0), X, y)
        np.testing.assert_array_equal(coef, other.coef_)


def test_what_does_not_converge_says_so():
    X, y = problem(20, seed=2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 epochs to tol=0"):
        model = fit(StructuredPerceptron(tol=0, max_iter=2), X, y)
    assert not model.converged_
    assert fit(StructuredPerceptron(tol=1.0), X, y).n_iter_ == 1
    assert fit(StructuredPerceptron(max_iter=2), X, y).converged_


# --- input that is no data -------------------------------------------------------------------------------------------


@losses
def test_one_label_empty_sequences_and_tokens_without_features(loss):
    model = StructuredPerceptron(loss=loss).fit([[["a"], []], [], [["b"]]], [["X", "X"], [], ["X"]])
    assert model.history_[-1]["updates"] == 0
    assert model.predict([[["a"]], []]) == [["X"], []]
    model = StructuredPerceptron(loss=loss).fit([[[], []], []], [["X", "Y"], []])
    assert len(model.predict([[[], []]])[0]) == 2
    assert np.isfinite(tables(model)).all()


@pytest.mark.parametrize("loss", ["pa", "mira"])
def test_a_step_that_would_overflow_is_refused(loss):
    fine, far = np.array([[1.0, 2.0]]), np.array([[1e-140, 0.0]])
    model = StructuredPerceptron(loss=loss, C=np.inf, shuffle=False)
    with pytest.raises(ValueError, match="step of sequence 0 would overflow the weights"):
        fit(model, [far, fine], [[1], [0]])
    assert not hasattr(model, "classes_")
    fit(model, [fine, -fine], [[1], [0]])
    before, t = model.coef_, int(model._state.counters["t"][0])
    rows, lengths = stacked([fine, far, fine])
    with pytest.raises(ValueError, match="step of sequence 1 would overflow the weights"):
        model.partial_fit(rows, [0, 1, 1], lengths=lengths)
    assert int(model._state.counters["t"][0]) == t + 1  # the step before was taken, and stays
    assert np.isfinite(model.coef_).all()
    assert (model.coef_ != before).any()


@losses
def test_large_and_tiny_numbers(loss):
    X, y = real(10, seed=1)
    for scale in (1e-100, 1e99):
        model = fit(StructuredPerceptron(loss=loss, C=0.1, average=False, random_state=0), [x * scale for x in X], y)
        assert np.isfinite(tables(model)).all()
        assert tables(model).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value):
    with pytest.raises(ValueError, match="sequence 0, token 1"):
        StructuredPerceptron().fit([[{"a": 1.0}, {"a": value}]], [["X", "Y"]])
    model = StructuredPerceptron(shuffle=False).fit([[{"a": 1.0}, {"b": 1.0}]], [["X", "Y"]])
    before = tables(model)
    with pytest.raises(ValueError, match="sequence 0, token 1"):
        model.partial_fit([[{"c": 1.0}, {"a": value}]], [["X", "Y"]])
    assert model.attributes_ == ["a", "b"]
    np.testing.assert_array_equal(tables(model), before)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[["c"]]], [["X", "Y"]], "has 1 tokens in X, but 2 labels"),
        ([[["c"]]], [[1]], "kinds do not mix"),
        ([[["c"]]], [[2.5]], "labels are strings or integers"),
        ([[["c", 3]]], [["X"]], "sequence 0, token 0"),
        ("abc", ["X"], "must hold|sequence|list"),
    ],
)
def test_a_refused_call_changes_nothing(X, y, message):
    model = StructuredPerceptron().fit([[["a"], ["b"]]], [["X", "Y"]])
    before = tables(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.partial_fit(X, y)
    assert model.attributes_ == ["a", "b"]
    assert model.classes_.tolist() == ["X", "Y"]
    np.testing.assert_array_equal(tables(model), before)


def test_parameters_that_are_none():
    X, y = [[["a"]]], [["X"]]
    for options, message in [
        ({"order": 3}, "order"), ({"loss": "hinge"}, "loss"), ({"weights": "all"}, "weights"), ({"C": 0}, "C"),
        ({"n_best": 0}, "n_best"), ({"max_iter": 0}, "max_iter"), ({"beam_width": 0}, "beam_width"),
        ({"tol": -1}, "tol"), ({"average": "yes"}, "average"), ({"beam_width": 2, "loss": "mira"}, "beam"),
        ({"n_jobs": 0}, "n_jobs"), ({"callback": 3}, "callback"),
    ]:  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            StructuredPerceptron(**options).fit(X, y)
        with pytest.raises((ValueError, TypeError), match=message):
            StructuredPerceptron(**options).partial_fit(X, y)
    with pytest.raises(ValueError, match="partial_fit needs weights='dense'"):
        StructuredPerceptron(weights="observed").partial_fit(X, y)
    model = StructuredPerceptron().fit(X, y)
    for options in ({"order": 2}, {"average": False}):
        with pytest.raises(ValueError, match="those of the first call"):
            copy.copy(model).set_params(**options).partial_fit(X, y)
    model = StructuredPerceptron(weights="observed").fit(X, y).set_params(weights="dense")
    with pytest.raises(ValueError, match="learns on"):
        model.partial_fit(X, y)


def test_templates_learn_on():
    from fastlin.text import templates

    X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    model = StructuredPerceptron(features=templates.pos(), random_state=0).partial_fit(X, y)
    model.partial_fit([["some", "zebra", "runs"]], [["D", "N", "V"]])
    assert model.coef_.shape == (3, model.n_features_in_)
    assert model.predict(X) == y
    assert isinstance(fastlin.__version__, str)
