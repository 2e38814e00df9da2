"""Bad input gets a clear error that says what is wrong and where, and leaves the estimator as it was."""

import numpy as np
import pytest
from scipy import sparse

from support.estimators import EVERY, ONLINE, make, refuse_everywhere, refused, text_like

every = pytest.mark.parametrize("name", EVERY)
online = pytest.mark.parametrize("name", ONLINE)
ROW = 7  # where the fault is


# --- values ----------------------------------------------------------------------------------------------------------


VALUES = {
    "NaN": (np.nan, f"(?s)X.*(NaN|nan).*row {ROW}|row {ROW}.*NaN"),
    "infinity": (np.inf, f"(?s)inf.*row {ROW}|row {ROW}.*inf"),
    "minus infinity": (-np.inf, f"(?s)inf.*row {ROW}|row {ROW}.*inf"),
    "1e308": (1e308, r"(?s)1e\+?308"),
    "1e101": (1e101, r"(?s)1e\+?101"),
}


@pytest.mark.parametrize("form", ["sparse", "dense"])
@pytest.mark.parametrize("case", VALUES)
@every
def test_values_that_are_no_numbers_or_too_large_are_refused(name, case, form):
    (value, match), (X, y) = VALUES[case], text_like()
    bad = X.copy()
    bad.data[bad.indptr[ROW]] = value
    refuse_everywhere(name, bad if form == "sparse" else bad.toarray(), X, y, match)


@online
def test_values_too_large_for_float32_weights_are_refused(name):
    X, y = text_like()
    for bad, options in ((X.astype(np.float32), {}), (X.copy(), {"dtype": "float32"})):
        bad.data[bad.indptr[ROW]] = 1e16
        with refused(make(name, **options), match=r"1e\+?16|1000000027"):
            make(name, **options).fit(bad, y)


@every
def test_denormal_values_are_numbers(name):
    X, y = text_like()
    X.data[:] = 5e-324
    model = make(name).fit(X, y)
    assert model.predict(X).shape == y.shape
    if name == "naive bayes":
        assert np.isfinite(model.predict_proba(X)).all()
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


@online
def test_the_largest_values_allowed_never_make_a_weight_that_is_no_number(name):
    X, y = text_like()
    X.data *= 1e99 / X.data.max()
    model = make(name)
    try:
        model.fit(X, y)
    except ValueError:
        assert not hasattr(model, "classes_")
    else:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.decision_function(X)).all()


def test_a_step_that_would_overflow_names_its_row_and_is_not_taken():
    X, y = text_like()
    X.data[:] = 1e90
    diverging = {"loss": "squared_hinge", "learning_rate": "constant", "eta0": 1e3, "penalty": None}
    for model in (make("sgd", **diverging), make("sgd").fit(*text_like()).set_params(**diverging)):
        with refused(model, ValueError, match="row"):
            model.fit(X, y)


def test_negative_counts_are_refused_by_naive_bayes():
    X, y = text_like()
    bad = X.copy()
    bad.data[bad.indptr[ROW]] = -2.0
    for model in (make("naive bayes"), make("naive bayes").fit(X, y)):
        with refused(model, ValueError, match=f"(?s)[Nn]egative.*row {ROW}|row {ROW}.*negative"):
            model.fit(bad, y)
        with refused(model, ValueError, match=f"(?s)[Nn]egative.*row {ROW}|row {ROW}.*negative"):
            model.partial_fit(bad, y)


NOT_NUMBERS = {
    "complex": (lambda X: X.astype(complex) * 1j, "X has dtype complex"),
    "complex, dense": (lambda X: X.toarray() * 1j, "X: Complex"),
    "strings": (lambda X: [["a word " * 100] * 30] * 60, r"X: .{,80}'a word a.{,80}; CountVectorizer"),
    "objects": (lambda X: np.array([[object()] * 30] * 60, dtype=object), "X: .*'object'"),
    "dictionaries": (lambda X: np.array([[{"a": 1}] * 30] * 60, dtype=object), "X: .*'dict'"),
    "dates": (lambda X: np.full((60, 30), np.datetime64("2020-01-01")), "X has dtype datetime64"),
    "nothing": (lambda X: None, "X: .*2D"),
    "a number": (lambda X: 3.0, "X: .*2D"),
    "a line of text": (lambda X: "a line of text", "X: .*'a line of text'"),
    "one dimension": (lambda X: X.toarray()[0], "X: .*2D.*1D"),
    "three dimensions": (lambda X: np.zeros((60, 30, 2)), "X: .*dim 3"),
}


@pytest.mark.parametrize("case", NOT_NUMBERS)
@every
def test_what_is_no_matrix_of_numbers_is_refused(name, case):
    (change, match), (X, y) = NOT_NUMBERS[case], text_like()
    refuse_everywhere(name, change(X), X, y, match)


# --- shapes ----------------------------------------------------------------------------------------------------------


@every
def test_no_rows_and_no_columns_are_refused(name):
    X, y = text_like()
    for bad, labels in ((X[:0], y[:0]), (X[:, :0], y), (sparse.csr_matrix((0, 0)), y[:0])):
        for model in (make(name), make(name).fit(X, y)):
            for method in ("fit", "partial_fit"):
                with refused(model, ValueError, match=r"0 sample|0 feature|no rows|no columns"):
                    getattr(model, method)(bad, labels)


@every
def test_a_matrix_without_non_zeros_learns_the_intercept_alone(name):
    _, y = text_like()
    X = sparse.csr_matrix((60, 30))
    model = make(name).fit(X, y)
    assert set(model.predict(X)) <= {0, 1, 2}
    if name != "naive bayes":
        assert not model.coef_.any()


@every
def test_one_class_is_refused_by_fit(name):
    X, _ = text_like()
    model = make(name)
    if name == "naive bayes":
        assert set(model.fit(X, np.ones(60)).predict(X)) == {1}
        return
    with refused(model, ValueError, match="class"):
        model.fit(X, np.ones(60))


@every
def test_wrong_lengths_and_widths_are_refused(name):
    X, y = text_like()
    for method in ("fit", "partial_fit"):
        model = make(name).fit(X, y)
        for wrong in (y[:-1], np.append(y, 0), y[:0]):
            with refused(model, ValueError, match="(?s)60"):
                getattr(model, method)(X, wrong)
        with refused(model, ValueError, match="(?s)sample_weight|60"):
            getattr(model, method)(X, y, sample_weight=np.ones(59))
    for width in (29, 31):
        other = sparse.csr_matrix((60, width))
        with refused(model, ValueError, match=f"(?s){width}.*30"):
            model.partial_fit(other, y)
        with refused(model, ValueError, match=f"(?s){width}.*30"):
            model.predict(other)


# --- labels and weights ----------------------------------------------------------------------------------------------


LABELS = {
    "NaN": (lambda y: np.where(np.arange(60) == ROW, np.nan, y), f"y contains NaN at row {ROW}"),
    "infinity": (lambda y: np.where(np.arange(60) == ROW, np.inf, y), f"y contains infinity at row {ROW}"),
    "minus infinity": (lambda y: np.where(np.arange(60) == ROW, -np.inf, y), f"y contains infinity at row {ROW}"),
    "fractions": (lambda y: y + 0.5, "y holds 0.5 at row 0"),
    "complex": (lambda y: y + 1j, "y has dtype complex"),
    "nothing": (lambda y: None, "y is None"),
    "two columns": (lambda y: np.column_stack([y, y]), r"y should be .*\(60, 2\)|y holds 2 .*; a target of several"),
    "numbers and strings": (lambda y: np.array([1, "a", 2.0] * 20, dtype=object), "y must .* float, int, str"),
    "None among strings": (lambda y: np.array(["a", None, "b"] * 20, dtype=object), "NoneType, str: that of row 1 "),
}


@pytest.mark.parametrize("case", LABELS)
@every
def test_labels_that_cannot_be_are_refused(name, case):
    (change, match), (X, y) = LABELS[case], text_like()
    for model in (make(name), make(name).fit(X, y)):
        for method in ("fit", "partial_fit"):
            with refused(model, match=match):
                getattr(model, method)(X, change(y))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
@every
def test_weights_that_cannot_be_are_refused(name, value):
    X, y = text_like()
    weights = np.ones(60)
    weights[ROW] = value
    for model in (make(name), make(name).fit(X, y)):
        for method in ("fit", "partial_fit"):
            with refused(model, ValueError, match=f"(?si)sample_weight.*({ROW}|nan|inf|negative)"):
                getattr(model, method)(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    ["heavy", np.ones(60) * 1j, np.ones((60, 2)), np.array(["a"] * 60), np.zeros(60)],
    ids=["a word", "complex", "two columns", "words", "all zero"],
)
@every
def test_weights_of_the_wrong_kind_are_refused(name, weights):
    X, y = text_like()
    model = make(name)
    with refused(model, match="(?i)weight"):
        model.fit(X, y, sample_weight=weights)


@every
def test_a_label_never_seen_is_never_right_but_no_error(name):
    X, y = text_like()
    model = make(name).fit(X, y)
    assert model.score(X, np.full(60, 99)) == 0
    if name != "naive bayes":
        watched = make(name).fit(X, y, X_val=X[:4], y_val=[99, 98, 97, 96])
        assert watched.history_[-1]["validation_score"] == 0


@online
def test_a_validation_set_that_cannot_be_is_refused(name):
    X, y = text_like()
    model = make(name).fit(X, y)
    broken = X.copy()
    broken.indices[3] = 999
    for arguments, match in (
        ({"X_val": X}, "X_val and y_val"),
        ({"y_val": y}, "X_val and y_val"),
        ({"X_val": X, "y_val": y[:5]}, "y_val has 5"),
        ({"X_val": X[:, :7], "y_val": y}, "X_val has 7 features"),
        ({"X_val": broken, "y_val": y}, "X_val holds index 999"),
        ({"X_val": X[:0], "y_val": y[:0]}, "X_val with 0 sample"),
    ):
        with refused(model, match=match):
            model.fit(X, y, **arguments)


@online
def test_initial_weights_that_cannot_be_are_refused(name):
    X, y = text_like()
    model, broken = make(name), sparse.csr_array(np.ones((3, 30)))
    broken.indices[-1] = 1 << 30
    for arguments in (
        {"coef_init": np.zeros((3, 29))},
        {"coef_init": np.full((3, 30), np.nan)},
        {"coef_init": broken},
        {"intercept_init": np.zeros(4)},
        {"intercept_init": [0, np.inf, 0]},
    ):
        with refused(model, match="_init"):
            model.fit(X, y, **arguments)
