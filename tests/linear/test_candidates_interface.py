"""CandidateClassifier as it runs: threads, callbacks, warm starts, priors, and what it refuses."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from fastlin import CandidateClassifier
from fastlin.optim import candidates, epochs
from oracles.candidates import loss_of, made, split
from support.estimators import text_like

LOSSES = ("log_loss", "perceptron", "hinge", "pa")
EXACT = {"tol": 1e-14, "max_iter": 10_000}


def quiet(**options):
    """Three epochs in the order given."""
    return CandidateClassifier(**{"max_iter": 3, "tol": None, "shuffle": False, **options})


EVERY = [
    {},
    {"solver": "lbfgs"},
    {"solver": "sgd", "max_iter": 5, "tol": 10.0},
    {"solver": "adagrad", "max_iter": 5, "tol": 10.0},
    {"loss": "perceptron", "average": True, "tol": None, "max_iter": 4},
    {"loss": "pa", "tol": None, "max_iter": 4},
    {"loss": "hinge", "tol": 0.01},
]


def names(options):
    return " ".join(map(str, options.values())) or "auto"


@pytest.mark.parametrize("options", EVERY, ids=names)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(monkeypatch, options, dtype):
    X, y, sizes = made(dtype=dtype)
    monkeypatch.setattr("fastlin.runtime.parallel.BLOCK_WORK", 100)
    one, two = (CandidateClassifier(random_state=0, n_jobs=n, **options).fit(X, y, sizes) for n in (1, 2))
    assert one.coef_.dtype == dtype
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.objective_ == two.objective_
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_a_model_survives_cloning_and_pickling(options):
    X, y, sizes = made()
    model = clone(CandidateClassifier(random_state=0, **options)).fit(X, y, sizes)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.coef_, model.coef_)
    np.testing.assert_array_equal(copy.predict(X, sizes), model.predict(X, sizes))
    again = pickle.loads(pickle.dumps(copy)).fit(X, y, sizes)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_small_budgets_change_no_bit(monkeypatch, options):
    X, y, sizes = made()
    expected = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)
    monkeypatch.setattr(epochs, "BUDGET", 1)
    monkeypatch.setattr(candidates, "BUDGET", 1)
    model = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("options", EVERY, ids=names)
def test_a_callback_sees_every_record_and_can_end_the_fit(options):
    X, y, sizes = made()
    seen = []

    def look(model, record):
        seen.append((record, model.coef_.copy(), model.predict(X, sizes)))
        return len(seen) == 2

    model = CandidateClassifier(**{**options, "random_state": 0, "tol": 0.0, "max_iter": 50}, callback=look)
    model.fit(X, y, sizes)
    assert len(seen) == 2
    assert [record for record, *_ in seen] == model.history_
    np.testing.assert_array_equal(seen[-1][1], model.coef_)
    assert model.history_[-1]["objective"] == pytest.approx(model.objective_)
    assert "callback" in model.get_params()


@pytest.mark.parametrize("options", EVERY, ids=names)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_fit_that_is_ended_by_an_error_changes_nothing(options, error):
    X, y, sizes = made()
    model = CandidateClassifier(random_state=0, **options).fit(X, y, sizes)

    def fail(model, record):
        raise error

    model.set_params(callback=fail)
    before = pickle.dumps({k: v for k, v in model.__getstate__().items() if k != "callback"})
    with pytest.raises(error):
        model.fit(X[:, :4], y, sizes)
    assert pickle.dumps({k: v for k, v in model.__getstate__().items() if k != "callback"}) == before


def test_verbose_prints_a_line_a_record(capsys):
    X, y, sizes = made()
    for options in EVERY:
        model = CandidateClassifier(random_state=0, verbose=1, **options).fit(X, y, sizes)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == len(model.history_)
        assert all(line.startswith("CandidateClassifier") and "objective" in line for line in lines)


def test_a_warm_start_goes_on():
    X, y, sizes = made()
    model = CandidateClassifier(warm_start=True).fit(X, y, sizes)
    assert model.n_iter_ > 0
    assert model.fit(X, y, sizes).n_iter_ == 0
    for loss in ("perceptron", "pa"):
        whole = quiet(loss=loss, max_iter=6).fit(X, y, sizes)
        parts = quiet(loss=loss, warm_start=True).fit(X, y, sizes).fit(X, y, sizes)
        np.testing.assert_array_equal(parts.coef_, whole.coef_)
    with pytest.raises(ValueError, match="warm_start goes on with the same features"):
        model.fit(X[:, :5], y, sizes)
    assert model.n_features_in_ == X.shape[1]


def test_a_prior_mean_and_variances():
    X, y, sizes = made()
    mean, variance = np.linspace(-1, 1, X.shape[1]), np.linspace(0.1, 2, X.shape[1])
    model = CandidateClassifier(prior_mean=mean, prior_variance=variance, **EXACT).fit(X, y, sizes)
    _, gradient = loss_of("log_loss", model.coef_[0], split(X, sizes), y, np.ones(len(y)))
    np.testing.assert_allclose(gradient + (model.coef_[0] - mean) / variance, 0, atol=1e-6)
    known = CandidateClassifier(prior_mean=model.coef_).fit(X, y, sizes, sample_weight=1e-12)
    np.testing.assert_allclose(known.coef_, model.coef_, atol=1e-6)


def test_without_a_prior_observed_equals_expected():
    X, y, sizes = made(n_features=6)
    model = CandidateClassifier(C=np.inf, **EXACT).fit(X, y, sizes)
    assert model.certificate_["moment_gap"] < 1e-5
    p = model.predict_proba(X, sizes)
    right = np.cumsum(sizes) - sizes + y
    np.testing.assert_allclose(X.T @ p, X[right].sum(axis=0), atol=1e-5)
    assert model.certificate_["entropy"] == pytest.approx(-np.sum(p * np.log(p)), rel=1e-5)


@pytest.mark.parametrize("solver", ["sgd", "adagrad"])
def test_descent_approaches_the_optimum(solver):
    X, y, sizes = made()
    best = CandidateClassifier(**EXACT).fit(X, y, sizes).objective_
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = CandidateClassifier(solver=solver, max_iter=30, tol=1e-9, random_state=0).fit(X, y, sizes)
    assert best <= model.objective_ <= 1.01 * best
    assert not model.converged_
    assert model.n_iter_ == 30


@pytest.mark.parametrize("loss", ["hinge", "pa"])
def test_too_few_epochs_are_told(loss):
    X, y, sizes = made()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 epochs"):
        model = CandidateClassifier(loss=loss, max_iter=2).fit(X, y, sizes)
    assert not model.converged_
    assert model.n_iter_ == 2


def test_group_sizes_are_routed():
    X, y, sizes = made()
    X = abs(X)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CandidateClassifier().set_fit_request(group_sizes=True).set_predict_request(group_sizes=True)
        pipeline = make_pipeline(MaxAbsScaler(), model).fit(X, y, group_sizes=sizes)
        assert len(pipeline.predict(X, group_sizes=sizes)) == len(y)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, y, match",
    [
        ([2, 0, 4], [0, 0, 0], "group_sizes holds 0 for group 1; a group has at least one row"),
        ([8, -2], [0, 0], "group_sizes holds 8 for group 0; X has 6 rows"),
        ([2, -2], [0, 0], "group_sizes holds -2 for group 1"),
        ([2, 3], [0, 0], "the 2 group_sizes add up to 5, but X has 6 rows"),
        ([2, 2**62, 2**62], [0, 0, 0], "group_sizes holds 4611686018427387904 for group 1; X has 6 rows"),
        (np.array([2**63, 2**63], np.uint64), [0, 0], "group_sizes holds 9223372036854775808 for group 0"),
        ([10**30, 6], [0, 0], "group_sizes must hold whole numbers"),
        ([2.0, 4.0], [0, 0], "group_sizes must hold whole numbers, got float64 2.0"),
        ([True, True], [0, 0], "group_sizes must hold whole numbers, got bool"),
        (None, [0, 0], "group_sizes must be a vector of whole numbers, got None"),
        (6, [0], "group_sizes must be a vector"),
        ([[2, 4]], [0, 0], "group_sizes must be a vector"),
        ([2, [4]], [0, 0], "group_sizes must be a vector"),
        ([], [], "the 0 group_sizes add up to 0"),
        ([2, 4], [0], "y has 1 entries, group_sizes has 2"),
        ([2, 4], [0, 4], "y holds 4 for group 1, which has the positions 0 to 3"),
        ([2, 4], [-1, 0], "y holds -1 for group 0"),
        ([2, 4], [0.5, 0], "y must hold whole numbers"),
        ([2, 4], ["a", "b"], "y must hold whole numbers"),
        ([2, 4], None, "y must be a vector of whole numbers, got None"),
        (sparse.csr_array([[2, 4]]), [0, 0], "group_sizes must be a vector .* sparse"),
    ],
)
def test_groups_that_are_none_are_refused_before_anything_changes(sizes, y, match):
    X = np.arange(12.0).reshape(6, 2)
    for loss in LOSSES:
        model = CandidateClassifier(loss=loss)
        with pytest.raises((ValueError, TypeError), match=match):
            model.fit(X, y, sizes)
        assert model.__getstate__() == CandidateClassifier(loss=loss).__getstate__()
    model = CandidateClassifier().fit(X, [0, 1], [2, 4])
    if "group_sizes" in match and "y has" not in match:
        for method in (model.predict, model.rank, model.predict_proba, model.predict_log_proba):
            with pytest.raises((ValueError, TypeError), match=match):
                method(X, sizes)
    with pytest.raises((ValueError, TypeError), match=match):
        model.score(X, y, sizes)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"loss": "logloss"}, "did you mean 'log_loss'"),
        ({"solver": "newtom"}, "did you mean 'newton'"),
        ({"C": 0.0}, "C must be >= 1e-100"),
        ({"tol": None}, "tol must be a number"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"average": -1}, "average must be at least 0"),
        ({"average": 0.5}, "average must be a whole number"),
        ({"dtype": "int8"}, "dtype must be"),
        ({"callback": 3}, "callback must be callable"),
        ({"solver": "sgd", "l1_ratio": 0.5}, "has no L1 term"),
        ({"solver": "sgd", "prior_variance": [1.0, 2.0]}, "one variance"),
        ({"solver": "adagrad", "prior_mean": 1.0}, "no prior_mean"),
        ({"loss": "pa", "solver": "newton"}, "belongs to loss='log_loss'"),
        ({"loss": "hinge", "prior_mean": 1.0}, "belong to loss='log_loss'"),
        ({"loss": "perceptron", "penalty": "l1"}, "belong to loss='log_loss'"),
        ({"loss": "hinge", "C": np.inf}, "needs a finite C"),
        ({"loss": "hinge", "penalty": None}, "needs a finite C"),
    ],
)
def test_parameters_that_are_none_are_refused(options, match):
    model = CandidateClassifier(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(np.eye(2), [0], [2])
    assert model.__getstate__() == CandidateClassifier(**options).__getstate__()


@pytest.mark.parametrize(
    "weights, match",
    [([1.0], "sample_weight has 1 entries, X has 2 groups"), ([1, -1], "at group 1"), ([0, 0], "zero for every group")],
)
def test_weights_that_are_none_are_refused(weights, match):
    with pytest.raises(ValueError, match=match):
        CandidateClassifier().fit(np.eye(4), [0, 0], [2, 2], sample_weight=weights)


def test_other_matrices_are_refused():
    model = CandidateClassifier()
    with pytest.raises(NotFittedError):
        model.predict(np.eye(2), [2])
    model.fit(np.eye(2), [0], [2])
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.eye(3), [3])
    with pytest.raises(ValueError, match="NaN at row 1"):
        model.fit([[1.0, 0], [np.nan, 0]], [0], [2])
    with pytest.raises(ValueError, match="would overflow the weights"):
        CandidateClassifier(loss="perceptron", max_iter=10**6, tol=None).fit(
            np.array([[1e100], [0.0], [0.0], [1e100]]), [0, 0], [2, 2]
        )
    assert not hasattr(CandidateClassifier(loss="pa"), "predict_proba")


def test_groups_of_a_data_frame_keep_the_names_of_its_columns():
    import pandas

    X, y = text_like(n_rows=6, n_features=3)
    frame = pandas.DataFrame(X.toarray(), columns=["a", "b", "c"])
    model = CandidateClassifier().fit(frame, y[:2] % 2, pandas.Series([2, 4]))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert len(model.predict(frame, pandas.Series([2, 4]))) == 2
