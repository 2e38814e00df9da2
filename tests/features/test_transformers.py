"""What all transformers of matrices have in common: scikit-learn's contract, types, and what they refuse."""

import doctest
import importlib
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import fastlin.text
from fastlin import LogisticRegression
from fastlin.text import Conjunctions, DocumentFeatures, Elementwise, LogCountRatio
from support.estimators import text_like
from support.strategies import labelled

MAKERS = {
    "elementwise": lambda **o: Elementwise(("identity", "square", "log"), **o),
    "pairs": lambda **o: Conjunctions(**o),
    "triples": lambda **o: Conjunctions(3, interaction_only=False, include_original=True, **o),
    "hashed": lambda **o: Conjunctions(3, n_features=64, include_original=True, **o),
    "ratio": lambda **o: LogCountRatio(**o),
    "counted ratio": lambda **o: LogCountRatio(0.5, binary=False, **o),
}
every = pytest.mark.parametrize("name", MAKERS)
TEXTS = ["good fine great", "bad awful poor", "fine good", "awful bad", "great good", "poor poor bad"] * 6
VERDICTS = ["up", "down"] * 18


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@parametrize_with_checks([make(sparse_output=s) for make in MAKERS.values() for s in (True, False)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", ["estimator_cloneable", "estimator_repr", "no_attributes_set_in_init", "parameters_default_constructible"]
)
def test_scikit_learns_checks_of_what_takes_texts(check):
    """Those that need no matrix."""
    getattr(estimator_checks, f"check_{check}")("DocumentFeatures", DocumentFeatures())


def test_the_public_names_are_there():
    for name in fastlin.text.__all__:
        assert getattr(fastlin.text, name) is not None
        assert name in dir(fastlin.text)
    with pytest.raises(AttributeError, match="Conjunction'"):
        fastlin.text.Conjunction  # noqa: B018


EXAMPLES = ("features.conjunctions", "features.document_features", "features.elementwise", "features.log_count_ratio")


@pytest.mark.parametrize("name", [*EXAMPLES, "text.negation"])
def test_the_examples_run(name):
    tested = doctest.testmod(importlib.import_module(f"fastlin.{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.attempted
    assert not tested.failed


@pytest.mark.parametrize("estimator", [Conjunctions, DocumentFeatures, Elementwise, LogCountRatio])
def test_the_docstrings_describe_every_parameter(estimator):
    text = inspect.getdoc(estimator)
    described = text[text.index("Parameters\n") : text.index("Examples\n")]
    for parameter in inspect.signature(estimator).parameters:
        assert f"\n{parameter} : " in described or f"\n{parameter}, " in described or f", {parameter} : " in described


@every
@pytest.mark.parametrize("form", ["csc_matrix", "coo_array", "lil_matrix", "dok_array", "array", "frame", "lists"])
def test_any_form_of_x_gives_the_same(name, form):
    X, y = text_like()
    expected = MAKERS[name]().fit_transform(X, y)
    other = {"array": X.toarray(), "frame": pd.DataFrame(X.toarray()), "lists": X.toarray().tolist()}.get(form)
    other = getattr(sparse, form)(X) if other is None else other
    found = MAKERS[name]().fit_transform(other, y)
    assert isinstance(found, sparse.csr_matrix)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool, np.float16])
def test_float32_stays_and_all_else_is_float64(name, dtype):
    X, y = text_like()
    X = sparse.csr_matrix(X.toarray().astype(dtype if dtype != np.float16 else np.float32))
    made = MAKERS[name]().fit_transform(X, y)
    assert made.dtype == (np.float32 if dtype in (np.float32, np.float16) else np.float64)
    np.testing.assert_allclose(made.toarray(), MAKERS[name]().fit_transform(X.astype(float), y).toarray(), rtol=1e-5)


@every
@given(problem=labelled(values=("counts",)))
def test_awkward_matrices_give_what_their_canonical_form_gives(name, problem):
    X, y, _ = problem
    model = MAKERS[name]().fit(X, y)
    canonical = X.copy()
    canonical.sum_duplicates()
    made = model.transform(X)
    assert made.shape == (X.shape[0], len(model.get_feature_names_out()))
    assert made.has_canonical_format
    np.testing.assert_array_equal(made.toarray(), model.transform(canonical.toarray()).toarray())
    row = model.transform(X[-1:])
    np.testing.assert_array_equal(row.toarray(), made[-1:].toarray())


@every
def test_x_is_left_alone(name):
    X, y = text_like()
    X.data[::7] = 0
    before = X.copy()
    X.data.setflags(write=False)
    made = MAKERS[name]().fit_transform(X, y)
    made.data[:] = 7
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, part), getattr(before, part))


@every
def test_clones_and_pickles_do_the_same(name):
    X, y = text_like()
    model = MAKERS[name]().fit(X, y)
    for copy in (clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.transform(X).toarray(), model.transform(X).toarray())
        assert copy.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@every
def test_set_output(name):
    X, y = text_like()
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(X.shape[1])])
    model = MAKERS[name](sparse_output=False).set_output(transform="pandas").fit(frame, y)
    made = model.transform(frame)
    assert made.columns.tolist() == model.get_feature_names_out().tolist()
    assert any("word 3" in column for column in made.columns)
    np.testing.assert_array_equal(made.to_numpy(), MAKERS[name]().fit_transform(X, y).toarray())
    frame.index = [f"row {i}" for i in range(len(frame))]
    sparse_columns = MAKERS[name]().set_output(transform="pandas").fit_transform(frame, y)
    assert sparse_columns.columns.tolist() == made.columns.tolist()
    assert sparse_columns.index.tolist() == frame.index.tolist()
    assert all(isinstance(kind, pd.SparseDtype) for kind in sparse_columns.dtypes)
    np.testing.assert_array_equal(sparse_columns.sparse.to_coo().toarray(), made.to_numpy())
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a"])


@pytest.mark.peer("polars")
@every
def test_set_output_of_polars(name):
    import polars

    X, y = text_like()
    frame = pd.DataFrame(X.toarray(), columns=[f"word {j}" for j in range(X.shape[1])])
    made = MAKERS[name](sparse_output=False).set_output(transform="pandas").fit_transform(frame, y)
    for sparse_output in (True, False):
        of_polars = MAKERS[name](sparse_output=sparse_output).set_output(transform="polars")
        one = of_polars.fit_transform(polars.DataFrame(X.toarray(), schema=list(map(str, frame.columns))), y)
        assert one.columns == made.columns.tolist()
        np.testing.assert_array_equal(one.to_numpy(), made.to_numpy())


@every
def test_sparse_arrays_where_scikit_learn_is_set_to_them(name):
    """Older scikit-learns have no such setting, and matrices only."""
    X, y = text_like()
    known = "sparse_interface" in sklearn.get_config()
    with sklearn.config_context(**({"sparse_interface": "sparray"} if known else {})):
        found = MAKERS[name]().fit_transform(X, y)
    assert isinstance(found, sparse.csr_array if known else sparse.csr_matrix)
    assert isinstance(MAKERS[name]().fit_transform(sparse.csr_array(X), y), sparse.csr_matrix)


@every
def test_they_compose(name):
    model = make_pipeline(
        make_union(
            make_pipeline(CountVectorizer(), MAKERS[name]()),
            DocumentFeatures(("words", "capitals")),
        ),
        LogisticRegression(tol=1e-3),
    ).fit(TEXTS, VERDICTS)
    assert model.score(TEXTS, VERDICTS) == 1.0
    frame = pd.DataFrame({"a": [1.0, 2, 0, 1], "b": [0.0, 1, 1, 2], "text": ["A b", "C", "d e f", "G!"]})
    columns = ColumnTransformer([("numbers", MAKERS[name](), ["a", "b"]), ("text", DocumentFeatures(), "text")])
    made = columns.fit_transform(frame, [0, 1, 0, 1])
    names = columns.get_feature_names_out().tolist()
    assert made.shape == (4, len(names))
    assert "text__all_caps" in names
    grid = GridSearchCV(model, {"featureunion__documentfeatures__log": [True, False]}, cv=2)
    assert grid.fit(TEXTS, VERDICTS).best_score_ > 0.9


@every
def test_what_is_not_fitted_says_so(name):
    with pytest.raises(NotFittedError):
        MAKERS[name]().transform([[1.0, 2.0]])
    with pytest.raises(NotFittedError):
        MAKERS[name]().get_feature_names_out()


@every
@pytest.mark.parametrize(
    "bad, match",
    [
        (np.array([[1.0, np.nan], [1, 1]]), "NaN"),
        (np.array([[1.0, np.inf], [1, 1]]), "infinity"),
        (np.array([1.0, 2.0]), "1D|dimension"),
        (np.empty((0, 2)), "0 sample"),
        (np.empty((2, 0)), "0 feature"),
        (np.array([["a", "b"], ["c", "d"]]), "string|convert"),
        (sparse.csr_matrix(np.array([[1j, 1], [1, 1]])), "Complex"),
        (None, "None|Expected"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_hostile_matrices_are_refused_and_change_nothing(name, bad, match):
    X, y = text_like(n_rows=6)
    fitted = MAKERS[name]().fit(X, y)
    expected = fitted.transform(X).toarray()
    for call in (MAKERS[name]().fit, fitted.fit):
        with pytest.raises((ValueError, TypeError), match=match):
            call(bad, [0, 1])
    with pytest.raises((ValueError, TypeError)):
        fitted.transform(bad)
    np.testing.assert_array_equal(fitted.transform(X).toarray(), expected)


@every
def test_malformed_rows_never_reach_a_kernel(name):
    X, y = text_like(n_rows=6)
    model = MAKERS[name]().fit(X, y)
    for index in (-1, X.shape[1], 2**31 - 1):
        bad = X.copy()
        bad.indices[2] = index
        for call in (lambda bad: MAKERS[name]().fit(bad, y), model.transform):
            with pytest.raises(ValueError, match=r"index|outside"):
                call(bad)
    with pytest.raises(ValueError, match=r"31 features.*30 features"):
        model.transform(sparse.csr_matrix((3, 31)))


@every
def test_the_docstrings_describe_what_is_learnt(name):
    X, y = text_like()
    model = MAKERS[name]().fit(X, y)
    text = inspect.getdoc(type(model))
    attributes = text[text.index("Attributes\n") : text.index("Examples\n")]
    learnt = {attribute for attribute in vars(model) if attribute.endswith("_") and not attribute.startswith("_")}
    described = {line.split(" : ")[0] for line in attributes.splitlines() if " : " in line}
    assert learnt <= described
    assert described - learnt <= {"feature_names_in_", "conjunctions_"}
