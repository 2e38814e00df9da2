"""Matrices broken after their construction, so that scipy does not see it, never reach a kernel, nor scipy's own."""

import inspect
from itertools import cycle

import numpy as np
import pytest
from scipy import sparse

import fastlin
import fastlin.select
from support.estimators import EVERY, refuse_everywhere, text_like

ROW = 7  # where the fault is


def names(row, value):
    """A message with the row and the value in it."""
    return rf"(?=.*row {row}\b)(?=.*{value}\b)"


def with_index(value, dtype=np.int32):
    def break_it(X):
        X.indices = X.indices.astype(dtype)
        X.indices[X.indptr[ROW]] = value

    return break_it


def with_indptr(row, value):
    def break_it(X):
        X.indptr[row] = value

    return break_it


def with_parts(**parts):
    def break_it(X):
        for name, change in parts.items():
            setattr(X, name, change(getattr(X, name)))

    return break_it


MALFORMED = {
    "an index one too large": (with_index(30), names(ROW, 30)),
    "an index far out of range": (with_index(2**31 - 1), names(ROW, 2147483647)),
    "a negative index": (with_index(-1), names(ROW, -1)),
    "an index far below zero": (with_index(-(2**31)), names(ROW, -2147483648)),
    "a 64-bit index far out of range": (with_index(2**40, np.int64), names(ROW, 2**40)),
    "a 64-bit index that wraps to a good one": (with_index(2**32 + 1, np.int64), names(ROW, 2**32 + 1)),
    "indptr falling": (with_indptr(ROW + 1, 0), names(ROW, "indptr falls .* to 0")),
    "indptr falling below zero": (with_indptr(ROW, -5), names(ROW - 1, "indptr falls .* to -5")),
    "indptr beyond the data": (with_indptr(60, 10**6), names(59, "indptr points to 1000000")),
    "indptr beyond the data and back": (with_indptr(ROW, 10**9), names(ROW - 1, "indptr points to 1000000000")),
    "indptr not starting at 0": (with_indptr(0, 1), "X.indptr must start at 0, not at 1"),
    "indptr too short": (with_parts(indptr=lambda indptr: indptr[:-1].copy()), "X.indptr has 60 entries.*61"),
    "indptr too long": (with_parts(indptr=lambda indptr: np.append(indptr, indptr[-1])), "X.indptr has 62 entries.*61"),
    "indptr empty": (with_parts(indptr=lambda indptr: indptr[:0].copy()), "X.indptr has 0 entries.*61"),
    "indptr of floats": (with_parts(indptr=lambda indptr: indptr + 0.5), "X.indptr .*integers, got dtype float64"),
    "indices too short": (with_parts(indices=lambda indices: indices[:-1].copy()), "X: lengths differ: indices"),
    "indices of floats": (with_parts(indices=lambda indices: indices + 0.5), "X.indices .*integers, got dtype float64"),
    "data too short": (with_parts(data=lambda data: data[:-1].copy()), "X: lengths differ: indices"),
    "data empty": (with_parts(data=lambda data: data[:0].copy()), "X: lengths differ: .*data 0"),
    "data in two dimensions": (with_parts(data=lambda data: np.outer(data, [1.0, 1.0])), "X.data must be a vector"),
}


@pytest.mark.parametrize("case, container", zip(MALFORMED, cycle(["csr_matrix", "csr_array"]), strict=False))
@pytest.mark.parametrize("name", EVERY)
def test_malformed_csr_is_refused_at_fit_partial_fit_and_predict(name, case, container):
    (break_it, match), (X, y) = MALFORMED[case], text_like()
    bad = getattr(sparse, container)(X, copy=True)
    break_it(bad)
    refuse_everywhere(name, bad, X, y, match)


@pytest.mark.parametrize("kind", ["csc_matrix", "csc_array"])
@pytest.mark.parametrize(
    "case",
    [
        "an index one too large",
        "an index far out of range",
        "a negative index",
        "indptr falling",
        "indptr beyond the data",
        "indptr beyond the data and back",
        "indptr not starting at 0",
        "indptr too short",
        "indices too short",
        "data too short",
    ],
)
@pytest.mark.parametrize("name", EVERY)
def test_malformed_csc_is_refused_before_scipy_converts_it(name, case, kind):
    X, y = text_like()
    bad = getattr(sparse, kind)(X, copy=True)
    break_it, match = MALFORMED[case]
    if case == "indptr beyond the data":
        bad.indptr[-1], match = 10**6, names(29, "indptr points to 1000000")
    elif case == "an index one too large":
        bad.indices[bad.indptr[ROW]], match = 60, names(ROW, 60)
    else:
        break_it(bad)
    match = match.replace("row", "column").replace("has 60", "has 30").replace("61", "31")
    refuse_everywhere(name, bad, X, y, match)


def coo_row(bad):
    bad.coords = (np.where(np.arange(bad.nnz) == 5, 10**6, bad.row), bad.col)


def coo_column(bad):
    bad.coords = (bad.row, np.where(np.arange(bad.nnz) == 5, -3, bad.col))


def coo_lengths(bad):
    bad.data = bad.data[:-1].copy()


def bsr_index(bad):
    bad.indices[5] = 10**6


def bsr_indptr(bad):
    bad.indptr[-1] = 10**6


def lil_index(bad):
    bad.rows[ROW][0] = 10**6


def lil_lengths(bad):
    bad.data[ROW] = bad.data[ROW] + [1.0] * 1000


def lil_rows(bad):
    bad.rows, bad.data = bad.rows[:-1], bad.data[:-1]


def dok_row(bad):
    bad._dict[(10**6, 2)] = 1.0


def dok_column(bad):
    bad._dict[(ROW, -2)] = 1.0


def dia_offsets(bad):
    bad.data = bad.data[:-1].copy()


OTHERS = {
    coo_row: "X: entry 5 has row index 1000000",
    coo_column: "X: entry 5 has column index -3",
    coo_lengths: "X: lengths differ",
    bsr_index: "X holds index 1000000 in block row",
    bsr_indptr: "X.indptr points to 1000000 at block row",
    lil_index: f"X holds index 1000000 in row {ROW}",
    lil_lengths: f"X: lengths differ in row {ROW}",
    lil_rows: "X: lengths differ: rows 59",
    dok_row: "X holds an entry at row 1000000, column 2",
    dok_column: f"X holds an entry at row {ROW}, column -2",
    dia_offsets: "X: lengths differ: offsets",
}


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("break_it", OTHERS, ids=lambda break_it: break_it.__name__)
@pytest.mark.parametrize("name", EVERY)
def test_malformed_matrices_of_other_forms_are_refused_before_scipy_converts_them(name, break_it, kind):
    X, y = text_like()
    form = break_it.__name__.partition("_")[0]
    bad = getattr(sparse, f"{form}_{kind}")(X)
    break_it(bad)
    refuse_everywhere(name, bad, X, y, OTHERS[break_it])


NAMES = [f"w{j:02}" for j in range(30)]
# whatever takes a matrix and makes another, or what it stands for: (the fitted model, the method)
TRANSFORMING = {
    "Conjunctions.transform": lambda X, y: fastlin.Conjunctions().fit(X),
    "CountCutoff.inverse_transform": lambda X, y: fastlin.select.CountCutoff(0).fit(X),
    "CountCutoff.transform": lambda X, y: fastlin.select.CountCutoff(2).fit(X),
    "CountVectorizer.inverse_transform": lambda X, y: fastlin.CountVectorizer(vocabulary=NAMES),
    "DictVectorizer.inverse_transform": lambda X, y: fastlin.DictVectorizer().fit([dict.fromkeys(NAMES, 1)]),
    "Elementwise.transform": lambda X, y: fastlin.Elementwise().fit(X),
    "KMeans.transform": lambda X, y: fastlin.KMeans(3, random_state=0).fit(X),
    "MiniBatchKMeans.transform": lambda X, y: fastlin.MiniBatchKMeans(3, random_state=0).fit(X),
    "LogCountRatio.transform": lambda X, y: fastlin.LogCountRatio().fit(X, y),
    "SelectFeatures.inverse_transform": lambda X, y: fastlin.select.SelectFeatures(method="count").fit(X, y),
    "SelectFeatures.transform": lambda X, y: fastlin.select.SelectFeatures(5, method="count").fit(X, y),
    "TfidfTransformer.transform": lambda X, y: fastlin.TfidfTransformer().fit(X),
    "TfidfVectorizer.inverse_transform": lambda X, y: fastlin.TfidfVectorizer(vocabulary=NAMES),
}
OF_SAMPLES = {"CountVectorizer", "DictVectorizer", "DocumentFeatures", "FeatureHasher", "HashingVectorizer", "VWHasher"}


def test_every_transformer_is_among_them():
    public = {name: getattr(room, name) for room in (fastlin.select, fastlin) for name in room.__all__}
    expected = {
        f"{name}.{method}"
        for name, kind in public.items()
        for method in ("transform", "inverse_transform")
        if inspect.isclass(kind) and hasattr(kind, method)
        if method == "inverse_transform" or not {parent.__name__ for parent in kind.__mro__} & OF_SAMPLES
    }
    assert expected == set(TRANSFORMING)


def refuse_to_transform(name, bad, match):
    X, y = text_like()
    model, method = TRANSFORMING[name](X, y), name.partition(".")[2]
    with pytest.raises(ValueError, match=match):
        getattr(model, method)(bad)
    getattr(model, method)(X)


@pytest.mark.parametrize("container", ["csr_matrix", "csr_array"])
@pytest.mark.parametrize("case", MALFORMED)
@pytest.mark.parametrize("name", TRANSFORMING)
def test_malformed_csr_is_refused_by_transformers(name, case, container):
    break_it, match = MALFORMED[case]
    bad = getattr(sparse, container)(text_like()[0], copy=True)
    break_it(bad)
    refuse_to_transform(name, bad, match)


@pytest.mark.parametrize("kind", ["csc_matrix", "csc_array"])
@pytest.mark.parametrize("case", ["an index far out of range", "a negative index", "indptr falling", "data too short"])
@pytest.mark.parametrize("name", TRANSFORMING)
def test_malformed_csc_is_refused_by_transformers(name, case, kind):
    break_it, match = MALFORMED[case]
    bad = getattr(sparse, kind)(text_like()[0], copy=True)
    break_it(bad)
    refuse_to_transform(name, bad, match.replace("row", "column"))


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("break_it", OTHERS, ids=lambda break_it: break_it.__name__)
@pytest.mark.parametrize("name", TRANSFORMING)
def test_malformed_matrices_of_other_forms_are_refused_by_transformers(name, break_it, kind):
    bad = getattr(sparse, f"{break_it.__name__.partition('_')[0]}_{kind}")(text_like()[0])
    break_it(bad)
    refuse_to_transform(name, bad, OTHERS[break_it])
