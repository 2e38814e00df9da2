"""Naive Bayes of tuples: scikit-learn's on codes, the naive twin's on strings, and one model from every form of X."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes
from sklearn.preprocessing import OrdinalEncoder

from fastlin import CategoricalNB, Corpus
from fastlin.naive_bayes import category_encoder
from oracles.naive_bayes import CategoricalNaiveBayes
from support.strategies import cuts, seeds, weighted

N = 60
WORDS = np.array(["ate", "saw", "", "Straße", "\U0001f600", "with", "a b", "ATE", "x\0y"], object)
rng = np.random.default_rng(0)
CODES = rng.integers(0, [2, 5, 9, 1], size=(N, 4))
LABELS = np.array(["n", "v", "x"])[rng.integers(0, 3, N)]
TUPLES = list(map(tuple, WORDS[CODES]))
HOLES = [tuple(None if rng.random() < 0.2 else word for word in row) for row in TUPLES]


def assert_same(one, other):
    """One model, bit for bit."""
    for name in ("classes_", "class_count_", "class_log_prior_", "n_categories_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("categories_", "category_count_", "feature_log_prob_"):
        for ours, theirs in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


@st.composite
def coded(draw):
    """Codes of tuples, labels, and weights or None."""
    n, generator = draw(st.integers(3, 40)), np.random.default_rng(draw(seeds))
    sizes = generator.integers(1, 7, size=draw(st.integers(1, 5)))
    weights = draw(st.none() | weighted(n).map(lambda w: w + 0.01))
    return generator.integers(0, sizes, size=(n, len(sizes))), np.arange(n) % 3, weights


@given(
    data=coded(),
    alpha=st.sampled_from([1.0, 0.01, 1e-9, 30.0]),
    fit_prior=st.booleans(),
    least=st.sampled_from([None, 3, 9]),
)
def test_codes_are_scikit_learns(data, alpha, fit_prior, least):
    X, y, weights = data
    options = {"alpha": alpha, "fit_prior": fit_prior, "min_categories": least}
    ours = CategoricalNB(**options).fit(X, y, weights)
    theirs = naive_bayes.CategoricalNB(**options).fit(X, y, weights)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-12)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12, atol=1e-12)
    for name in ("category_count_", "feature_log_prob_"):
        for one, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-12, atol=1e-12)
    sure = np.ptp(np.sort(ours.predict_proba(X))[:, -2:], axis=1) > 1e-9  # ties are decided by rounding
    np.testing.assert_array_equal(ours.predict(X)[sure], theirs.predict(X)[sure])


def test_strings_are_scikit_learns_after_its_encoder():
    encoder = OrdinalEncoder().fit(WORDS[CODES])
    codes = encoder.transform(WORDS[CODES]).astype(int)
    ours, theirs = CategoricalNB().fit(TUPLES, LABELS), naive_bayes.CategoricalNB().fit(codes, LABELS)
    np.testing.assert_allclose(ours.predict_proba(TUPLES), theirs.predict_proba(codes), rtol=1e-12)
    assert ours.score(TUPLES, LABELS) == theirs.score(codes, LABELS)
    for place, names in enumerate(encoder.categories_):
        assert sorted(ours.categories_[place]) == list(names)
        order = np.argsort(ours.categories_[place])
        np.testing.assert_array_equal(ours.category_count_[place][:, order], theirs.category_count_[place])


def test_a_prior_and_a_small_alpha_are_scikit_learns():
    options = {"class_prior": [0.5, 0.3, 0.2], "alpha": 0.0, "force_alpha": False}
    with pytest.warns(UserWarning, match="alpha too small"):
        ours = CategoricalNB(**options).fit(CODES, LABELS)
    with pytest.warns(UserWarning, match="alpha too small"):
        theirs = naive_bayes.CategoricalNB(**options).fit(CODES, LABELS)
    np.testing.assert_allclose(ours.predict_proba(CODES), theirs.predict_proba(CODES), rtol=1e-12)


@given(data=coded(), alpha=st.sampled_from([0.0, 0.1, 1.0]), seed=seeds)
def test_what_is_not_known_is_summed_over(data, alpha, seed):
    codes, y, weights = data
    generator = np.random.default_rng(seed)
    X, new = (
        WORDS[codes],
        np.append(WORDS, ["never seen", None, None])[generator.integers(0, 12, size=(20, codes.shape[1]))],
    )
    X[generator.random(X.shape) < 0.3] = None
    twin = CategoricalNaiveBayes(3, alpha).fit(X, y, weights)
    model = CategoricalNB(alpha=alpha).fit(X, y, weights)
    for rows in (X, new):
        found = model.predict_proba(rows)
        np.testing.assert_allclose(found, [twin.proba(row) for row in rows], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


@given(data=st.data(), alpha=st.sampled_from([0.0, 1.0]), numbers=st.booleans(), least=st.sampled_from([None, 4]))
def test_partial_fit_cut_anywhere_is_fit(data, alpha, numbers, least):
    codes, y, weights = data.draw(coded())
    X = codes if numbers else WORDS[codes]
    parts = CategoricalNB(alpha=alpha, min_categories=least)
    for rows in data.draw(cuts(len(X))):
        parts.partial_fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows])
        if data.draw(st.booleans()):
            parts.predict_proba(X)
    whole = CategoricalNB(alpha=alpha, min_categories=least).fit(X, y, weights)
    assert_same(parts, whole)
    np.testing.assert_array_equal(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X))


def test_categories_and_labels_may_appear_at_any_time():
    model = CategoricalNB().partial_fit([("a", 0)], ["x"], classes=["z"])
    model.partial_fit([("b", 7)], ["y"]).partial_fit([("c", 2), (None, 1)], ["x", "y"])
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert [names.tolist() for names in model.categories_] == [["a", "b", "c"], list(range(8))]
    assert model.category_count_[0].tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert model.category_count_[1].tolist() == [[1, 0, 1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1], [0] * 8]


FORMS = {
    "list of lists": [list(row) for row in HOLES],
    "list of arrays": list(map(np.array, np.array(HOLES, object))),
    "array of objects": np.array(HOLES, object),
    "array of tuples": np.array([*HOLES, None], object)[:-1],
    "NaN": np.where(np.equal(np.array(HOLES, object), None), np.nan, np.array(HOLES, object)),
    "NA": np.where(np.equal(np.array(HOLES, object), None), pd.NA, np.array(HOLES, object)),
    "frame": pd.DataFrame(HOLES),
    "frame of categories": pd.DataFrame(HOLES).astype("category"),
    "frame of strings": pd.DataFrame(HOLES).astype("string"),
}
NUMBERS = {
    "int64": CODES,
    "uint8, by columns": np.asfortranarray(CODES.astype(np.uint8)),
    "uint64": CODES.astype(np.uint64),
    "floats": CODES.astype(np.float32),
    "objects": CODES.astype(object),
    "lists": CODES.tolist(),
    "frame": pd.DataFrame(CODES),
    "frame of categories": pd.DataFrame(CODES).astype("category"),
    "frame of integers and NA": pd.DataFrame(CODES).astype("Int64"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_strings_is_the_same_model(form):
    model, expected = CategoricalNB().fit(FORMS[form], LABELS), CategoricalNB().fit(HOLES, LABELS)
    assert_same(model, expected)
    np.testing.assert_array_equal(model.predict_proba(FORMS[form]), expected.predict_proba(HOLES))


def test_an_array_of_strings_is_the_same_model():
    words = np.array([[word.replace("\0", "") for word in row] for row in TUPLES])
    assert words.dtype.kind == "U"
    assert_same(CategoricalNB().fit(words, LABELS), CategoricalNB().fit(words.tolist(), LABELS))
    names = CategoricalNB().fit(np.char.encode(words, "utf-8"), LABELS).categories_[1]
    assert [name.decode() for name in names] == CategoricalNB().fit(words, LABELS).categories_[1].tolist()


@pytest.mark.parametrize("form", NUMBERS)
def test_every_form_of_numbers_is_the_same_model(form):
    model, expected = CategoricalNB().fit(NUMBERS[form], LABELS), CategoricalNB().fit(CODES, LABELS)
    assert_same(model, expected)
    np.testing.assert_array_equal(model.predict(NUMBERS[form]), expected.predict(CODES))


def test_positions_may_be_of_different_kinds():
    X = [("a", 2, True, b"x"), (None, None, False, b"y"), ("b", 0, None, None)]
    model = CategoricalNB().fit(X, [0, 1, 1])
    assert [names.tolist() for names in model.categories_] == [["a", "b"], [0, 1, 2], [0, 1], [b"x", b"y"]]
    frame = pd.DataFrame({"word": ["a", None, "b"], "n": [2, np.nan, 0], "b": [1.0, 0.0, np.nan]})
    named = CategoricalNB().fit(frame, [0, 1, 1])
    assert named.feature_names_in_.tolist() == ["word", "n", "b"]
    for one, other in zip(model.feature_log_prob_, named.feature_log_prob_, strict=False):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["n", "word", "b"]])


def test_a_position_of_which_nothing_is_known_may_become_of_any_kind():
    model = CategoricalNB().fit([(None, 1), (None, 0)], [0, 1])
    assert model.n_categories_.tolist() == [0, 2]
    np.testing.assert_array_equal(
        model.predict_proba([("a", 1), (3, 1)][:1]), CategoricalNB().fit([[1], [0]], [0, 1]).predict_proba([[1]])
    )
    model.partial_fit([("a", 1)], [0])
    assert model.categories_[0].tolist() == ["a"]
    with pytest.raises(ValueError, match="numbers in column 0, which held strings"):
        model.partial_fit([(3, 1)], [0])


@pytest.mark.parametrize("X, new", [(TUPLES, "other"), (CODES, 9), (CODES, 2**62), (CODES, 1e300), (CODES, 10**400)])
def test_an_attribute_that_was_not_seen_is_left_out_or_refused(X, new):
    model, strange = CategoricalNB().fit(X, LABELS), [list(row) for row in X]
    strange[7][2] = new
    left_out = [list(row) for row in X]
    left_out[7][2] = None
    np.testing.assert_array_equal(model.predict_proba(strange), model.predict_proba(left_out))
    assert (model.predict_proba(strange)[7] != model.predict_proba(X)[7]).any()
    model.set_params(handle_unknown="error")
    np.testing.assert_array_equal(model.predict_proba(left_out), model.predict_proba(left_out))
    which = "'other'" if X is TUPLES else "a category"
    with pytest.raises(ValueError, match=f"X holds {which} at row 7, column 2, which was not seen"):
        model.predict(strange)


def test_categories_left_over_are_those_of_strings_that_were_not_seen():
    X, y = [["a"], ["a"], ["b"]], ["x", "x", "y"]
    model = CategoricalNB(min_categories=5, handle_unknown="error").fit(X, y)
    # two of label x, one of y, and one pseudo-count for each of five categories
    np.testing.assert_allclose(
        model.predict_joint_log_proba([["c"], ["d"], ["e"], ["f"]]), np.log([[2 / 21, 1 / 18]] * 4), rtol=1e-12
    )
    codes = naive_bayes.CategoricalNB(min_categories=5).fit([[0], [0], [1]], y)
    np.testing.assert_allclose(model.predict_proba([["c"]]), codes.predict_proba([[2]]), rtol=1e-12)
    model.partial_fit([["c"], ["d"], ["e"], ["f"]], ["x"] * 4)
    assert model.n_categories_.tolist() == [6]
    with pytest.raises(ValueError, match="row 0, column 0"):
        model.predict([["g"]])


def test_a_tuple_that_no_label_can_produce_gets_the_class_prior():
    model = CategoricalNB(alpha=0).fit([("a", "x"), ("b", "y"), ("b", "y")], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([("a", "y"), ("a", "x")]), [[1 / 3, 2 / 3], [1, 0]], rtol=1e-12)
    assert model.predict([("a", "y"), ("a", None)]).tolist() == [1, 0]


def test_a_label_without_counts_in_a_position_has_the_uniform_distribution_there():
    model = CategoricalNB(alpha=0).fit([("a", 0), ("b", 0), (None, 1)], [0, 0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), [[0.5, 0.5], [0.5, 0.5]], rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_no_bit(n_jobs):
    generator = np.random.default_rng(1)
    X, y = generator.integers(0, 300, size=(20_000, 9)), generator.integers(0, 7, 20_000)
    weights = generator.random(20_000)
    one, many = CategoricalNB().fit(X, y, weights), CategoricalNB(n_jobs=n_jobs).fit(X, y, weights)
    assert_same(many, one)
    np.testing.assert_array_equal(many.predict_joint_log_proba(X), one.predict_joint_log_proba(X))


MISTAKES = {
    "infinity": ([[0, np.inf]], ValueError, "infinity at row 0, column 1"),
    "negative": ([[0, 1], [0, -1]], ValueError, "Negative values in data.*: X holds -1 at row 1, column 1"),
    "negative among objects": ([["a", 1], ["b", -1]], ValueError, "-1 at row 1, column 1"),
    "kinds": ([["a", 1], [3, 1]], TypeError, "'a' and 3 in column 0"),
    "no category": ([["a", 1], [(1, 2), 1]], TypeError, r"\(1, 2\) in column 0"),
    "not hashable": ([["a", 1], [{}, 1]], TypeError, "column 0"),
    "lengths": ([("a", "b"), ("a", "b", "c")], ValueError, r"3 attribute\(s\) at row 1"),
    "strings": (["ab", "cd"], ValueError, "Expected 2D array, got 1D"),
    "numbers": ([1, 2], ValueError, "Expected 2D array, got 1D"),
    "vector": (np.arange(3), ValueError, "Expected 2D array, got 1D"),
    "nothing": ([], ValueError, "0 sample"),
    "no attribute": ([(), ()], ValueError, "0 feature"),
    "empty array": (np.empty((3, 0)), ValueError, "0 feature"),
    "empty frame": (pd.DataFrame({"a": []}), ValueError, "0 sample"),
    "complex": (np.ones((2, 2), complex), ValueError, "Complex data not supported"),
    "times": (np.array([["2026-01-01"], ["2026-01-02"]], "M8[D]"), ValueError, "datetime64"),
    "sparse": (sparse.csr_array([[1, 2]]), TypeError, "sparse"),
    "corpus": (Corpus(sparse.csr_array([[1.0, 2.0]]), ["a"]), TypeError, "Corpus"),
    "large": ([[0, 2**40], [0, 1]], ValueError, "categories in all"),
    "larger": ([[0, 10**400], [0, 1]], ValueError, "categories in all"),
}


@pytest.mark.parametrize("X", [[[5.1, 1.0], [0.0, 2.9], [5.0, 0.0]], [["a", 1], ["b", 2.9], ["a", 0]]])
def test_a_fraction_counts_as_the_number_below_it_and_is_told(X):
    """As in scikit-learn, which does not tell."""
    whole = [[x if isinstance(x, str) else int(x) for x in row] for row in X]
    model, where = CategoricalNB(), r"(5\.1 at row 0, column 0, which counts as 5|2\.9 at row 1, column 1, .* as 2)"
    with pytest.warns(UserWarning, match=where):
        model.fit(X, [0, 1, 1])
    expected = CategoricalNB().fit(whole, [0, 1, 1])
    assert_same(model, expected)
    with pytest.warns(UserWarning, match=where):
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(whole))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_and_change_nothing(name):
    X, error, match = MISTAKES[name]
    y = ["n"] * (X.shape[0] if hasattr(X, "shape") else len(X))
    fresh, fitted = CategoricalNB(), CategoricalNB().fit(CODES[:, :2], LABELS)
    for method in (fresh.fit, fresh.partial_fit, fitted.fit, fitted.partial_fit):
        with pytest.raises(error if name != "kinds" else (error, ValueError), match=match):
            method(X, y)
    assert not [name for name in vars(fresh) if name.endswith("_")]
    assert_same(fitted, CategoricalNB().fit(CODES[:, :2], LABELS))
    if not name.startswith("large"):
        with pytest.raises(error, match=match):
            fitted.predict(X)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"alpha": -1}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"min_categories": 0}, "min_categories"),
        ({"min_categories": [2, 2]}, r"should have shape \(4,\)"),
        ({"min_categories": 2.5}, "integral type"),
        ({"min_categories": 2**31}, "categories in all"),
        ({"handle_unknown": "eror"}, "did you mean 'error'"),
        ({"class_prior": [0.5, 0.5]}, "Number of priors"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_parameters_that_cannot_be_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        CategoricalNB(**options).fit(CODES, LABELS)


def test_labels_and_weights_must_fit():
    with pytest.raises(ValueError, match="inconsistent"):
        CategoricalNB().fit(CODES, LABELS[:-1])
    with pytest.raises(ValueError, match="sample_weight is zero"):
        CategoricalNB().fit(CODES, LABELS, np.zeros(N))
    with pytest.raises(ValueError, match="3 features"):
        CategoricalNB().fit(CODES, LABELS).predict(CODES[:, :3])


def test_a_call_that_is_refused_or_interrupted_learns_no_category(monkeypatch):
    model, untouched = CategoricalNB().fit(TUPLES, LABELS), CategoricalNB().fit(TUPLES, LABELS)
    new = [("new", "words", "are", "here")]
    with pytest.raises(ValueError, match="kinds"):
        model.partial_fit(new, [3])

    def press(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(category_encoder.parallel, "count_features", press)
        for method in (model.fit, model.partial_fit):
            with pytest.raises(KeyboardInterrupt):
                method(new, ["n"])
    assert_same(model, untouched)
    later = [("later", "words", None, "with")]
    assert_same(model.partial_fit(later, ["n"]), untouched.partial_fit(later, ["n"]))
    assert model.categories_[0].tolist()[-1] == "later"


def test_tuples_that_are_being_counted_are_counted_to_the_end(monkeypatch):
    model, count = CategoricalNB().fit(TUPLES, LABELS), category_encoder.parallel.count_features

    def press(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        count(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(category_encoder.parallel, "count_features", press)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(HOLES, LABELS)
    assert_same(model, CategoricalNB().fit([*TUPLES, *HOLES], [*LABELS, *LABELS]))


def test_a_stream_makes_room_for_new_categories_now_and_then():
    model, rooms = CategoricalNB(), set()
    for number in range(300):
        model.partial_fit([(f"word {number}", number % 3)], [number % 2])
        rooms.add(model._counts.features.ctypes.data)
    assert model.n_categories_.tolist() == [300, 3]
    assert len(rooms) < 20
    whole = CategoricalNB().fit([(f"word {number}", number % 3) for number in range(300)], np.arange(300) % 2)
    assert_same(model, whole)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "u4", "u8", "f2", "f4"])
@pytest.mark.parametrize("options", [{}, {"min_categories": 100}])
def test_narrow_numbers_are_the_same_categories(dtype, options):
    rng = np.random.default_rng(0)
    X, others, y = rng.integers(0, 60, (50, 8)), rng.integers(0, 120, (50, 8)), np.arange(50) % 2
    narrow, whole = CategoricalNB(**options).fit(X.astype(dtype), y), CategoricalNB(**options).fit(X, y)
    assert_same(narrow, whole)
    np.testing.assert_array_equal(narrow.predict_proba(others.astype(dtype)), whole.predict_proba(others))
    assert_same(narrow.partial_fit(others.astype(dtype), y), whole.partial_fit(others, y))


def test_tuples_have_an_order_and_room_for_categories_an_end():
    for kind in (set, frozenset):
        with pytest.raises(ValueError, match="what are no tuples"):
            CategoricalNB().fit([kind({1, 2})] * 4, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="at most 2147483647 are supported"):
        CategoricalNB(min_categories=np.uint64(2**64 - 1)).fit([(1,)], [0])
