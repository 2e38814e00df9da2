"""What every model of sequences does with bad input, and with what is rare: right, or a clear error."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from support.sequences import items, problem, stacked

MODELS = {
    "CRF": lambda **o: CRF(**o),
    "CRF, order 2": lambda **o: CRF(order=2, weights="dense", **o),
    "CRF, sgd": lambda **o: CRF(solver="sgd", tol=1.0, random_state=0, **o),
    "HMM": lambda **o: HMM(**o),
    "HMM, order 2": lambda **o: HMM(order=2, **o),
    "MEMM": lambda **o: MEMM(**o),
    "MEMM, order 2": lambda **o: MEMM(order=2, **o),
    "StructuredPerceptron": lambda **o: StructuredPerceptron(max_iter=3, random_state=0, **o),
    "StructuredPerceptron, order 2": lambda **o: StructuredPerceptron(order=2, max_iter=3, random_state=0, **o),
}
every = pytest.mark.parametrize("name", MODELS)
WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "bird"], "V": ["sees", "hears"]}
PATTERNS = ["DNV", "DNVDN", "NV", "V", "DN"]


def sentences(n=30, seed=0):
    """Words, each a list of one string, and their tags."""
    rng = np.random.default_rng(seed)
    y = [list(PATTERNS[rng.integers(len(PATTERNS))]) for _ in range(n)]
    return [[[str(rng.choice(WORDS[tag]))] for tag in tags] for tags in y], y


def fitted(name, **options):
    return MODELS[name](**options).fit(*sentences())


def state(model):
    """What a failure must not change."""
    return {key: pickle.dumps(value) for key, value in model.__getstate__().items()}


def refuse(name, X, y, match, **options):
    """Refused by a new model, and by a fitted one that stays what it was."""
    new, old = MODELS[name](), fitted(name)
    before = state(old)
    for model in (new, old):
        with pytest.raises((ValueError, TypeError), match=match):
            model.fit(X, y, **options)
    assert not hasattr(new, "classes_")
    assert state(old) == before


# --- sequences -------------------------------------------------------------------------------------------------------


@every
def test_no_sequence_and_no_token_are_nothing_to_learn_from(name):
    refuse(name, [], [], "X")
    refuse(name, [[], []], [[], []], r"token|label|feature")


@every
def test_empty_sequences_are_sequences(name):
    X, y = sentences()
    model = MODELS[name]().fit([[], *X, []], [[], *y, []])
    assert model.predict([[], X[0], []]) == [[], model.predict(X[:1])[0], []]
    assert [p.shape for p in model.predict_marginals([[], X[0], []])] == [(0, 3), (len(X[0]), 3), (0, 3)]
    assert model.log_proba([[], []], [[], []]).tolist() == [0, 0]
    assert model.predict_nbest([[]], 3) == [[([], 0.0)]]
    assert model.predict([]) == []
    assert model.predict_marginals([]) == []
    assert model.predict_nbest([], 2) == []
    assert model.log_proba([], []).shape == (0,)


@every
def test_labels_that_do_not_fit_are_named(name):
    X, y = sentences()
    refuse(name, X, y[:-1], "30 sequences.*29")
    refuse(name, X, [*y[:7], [*y[7], "N"], *y[8:]], "sequence 7")
    for wrong in (np.nan, 1.5, 3, b"N"):
        refuse(name, X, [*y[:7], [wrong] * len(y[7]), *y[8:]], "sequence 7")
    refuse(name, X, [*y[:7], [{"N", None}] * len(y[7]), *y[8:]], "sequence 7")
    if not name.startswith("HMM"):  # which needs none
        refuse(name, X, None, "y")


BAD_TOKENS = {
    "None": (None, "sequence 7.*token 1"),
    "a number": (3, "sequence 7.*token 1"),
    "NaN": ({"length": np.nan}, "(?i)sequence 7.*token 1.*nan|nan.*sequence 7.*token 1"),
    "infinity": ({"length": -np.inf}, "(?i)sequence 7.*token 1.*inf|inf.*sequence 7.*token 1"),
    "too large": ({"length": 1e300}, "(?i)sequence 7.*token 1.*1e.?300|1e.?300.*sequence 7.*token 1"),
    "a list of numbers": ([3, 4], "sequence 7.*token 1"),
    "no name": ({3: 1.0}, "sequence 7.*token 1"),
    "no value": ({"w": object()}, "sequence 7.*token 1"),
}


@pytest.mark.parametrize("case", BAD_TOKENS)
@every
def test_a_token_that_is_none_is_named(name, case):
    (token, match), (X, y) = BAD_TOKENS[case], sentences()
    X[7] = [["the"], token]
    refuse(name, X, [*y[:7], ["D", "N"], *y[8:]], match)
    model = fitted(name)
    before = state(model)
    for method in (model.predict, model.predict_marginals, lambda X: model.predict_nbest(X, 2)):
        with pytest.raises((ValueError, TypeError), match=match):
            method(X)
    assert state(model) == before


@pytest.mark.parametrize("X", ["the dog", ["the dog"], None, 3, {"w": 1}, [None], [3]], ids=repr)
@every
def test_what_is_no_list_of_sequences_is_refused(name, X):
    with pytest.raises((ValueError, TypeError), match=r"sequence|X"):
        fitted(name).predict(X)
    refuse(name, X, [["D"]], "sequence|X")


# --- matrices --------------------------------------------------------------------------------------------------------


def matrix():
    X, y = problem(20)
    return *stacked(X), np.concatenate(y)


@every
def test_matrices_that_do_not_fit_are_refused(name):
    rows, lengths, y = matrix()
    model = MODELS[name]().fit(rows, y, lengths=lengths)
    for bad in ([*lengths, 1], lengths[:-1], [-1, lengths[0] + 1, *lengths[1:]], [float("nan")], "3", None):
        refuse(name, rows, y, "length", lengths=bad)
        with pytest.raises((ValueError, TypeError), match="length"):
            model.predict(rows, lengths=bad)
    with pytest.raises(ValueError, match=r"3 features.*4"):
        model.predict(rows[:, :3], lengths=lengths)
    broken = rows.astype(float)
    broken.indices = broken.indices.copy()
    broken.indices[5] = 4
    with pytest.raises(ValueError, match=r"column|index|indices"):
        model.predict(broken, lengths=lengths)
    for value, match in ((np.nan, "(?i)nan"), (np.inf, "inf"), (1e300, r"1e\+?300")):
        broken = rows.astype(float)
        broken.data[3] = value
        refuse(name, broken, y, match, lengths=lengths)
        with pytest.raises(ValueError, match=match):
            model.predict(broken, lengths=lengths)


@every
def test_a_model_of_names_takes_no_matrix_of_another_width_and_a_model_of_columns_no_names(name):
    rows, lengths, y = matrix()
    with pytest.raises((ValueError, TypeError), match=r"4 features|matrix"):
        fitted(name).predict(rows, lengths=lengths)
    model = MODELS[name]().fit(rows, y, lengths=lengths)
    with pytest.raises((ValueError, TypeError), match=r"matrix|names"):
        model.predict([["the"]])
    with pytest.raises(TypeError, match="lengths"):
        fitted(name).predict([["the"]], lengths=[1])


@every
def test_dense_matrices_and_other_formats_are_the_same(name):
    rows, lengths, y = matrix()
    model = MODELS[name]().fit(rows, y, lengths=lengths)
    expected = model.predict(rows, lengths=lengths)
    for other in (rows.toarray(), sparse.csc_matrix(rows), rows.astype(np.float32), sparse.coo_array(rows)):
        assert model.predict(other, lengths=np.array(lengths)) == expected
    lists = [items(x) for x in np.split(rows.toarray(), np.cumsum(lengths)[:-1])]
    assert MODELS[name]().fit(lists, y).predict(lists) == expected


# --- labels ----------------------------------------------------------------------------------------------------------


@every
def test_one_tag_only(name):
    X, _ = sentences()
    model = MODELS[name]().fit(X, [["N"] * len(x) for x in X])
    assert model.predict(X) == [["N"] * len(x) for x in X]
    np.testing.assert_allclose(np.concatenate(model.predict_marginals(X)), 1)
    np.testing.assert_allclose(model.log_proba(X, [["N"] * len(x) for x in X]), 0, atol=1e-12)
    assert [len(paths) for paths in model.predict_nbest(X, 3)] == [1] * len(X)


@every
def test_unseen_tags_are_never_right_and_impossible(name):
    X, _ = sentences()
    model = fitted(name)
    best = model.predict(X)
    assert model.score(X, best) == 1
    other = copy.deepcopy(best)
    other[3][0] = "unseen"
    assert model.score(X, other) == 1 - 1 / sum(map(len, X))
    values = model.log_proba(X, other)
    assert np.flatnonzero(values == -np.inf).tolist() == [3]
    assert np.isfinite(values[:3]).all()


@every
def test_unseen_words_and_tokens_without_features(name):
    model = fitted(name)
    X = [[["unseen"], []], [["the"], {}, ["unseen", "dog"]]]
    p = model.predict_marginals(X)
    assert [len(labels) for labels in model.predict(X)] == [2, 3]
    for one in p:
        np.testing.assert_allclose(one.sum(axis=1), 1)


# --- what is said of paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("constraints", [None, {("D", "N"), ("N", "V"), ("V", "D"), ("N", "N")}], ids=["free", "pairs"])
@every
def test_all_paths_have_the_marginals_and_one_is_the_sum(name, constraints):
    model, X = fitted(name, constraints=constraints), sentences()[0][:8]
    for x, p, paths, best in zip(
        X, model.predict_marginals(X), model.predict_nbest(X, 1000), model.predict(X), strict=True
    ):
        shares = np.exp([value for _, value in paths])
        np.testing.assert_allclose(shares.sum(), 1)
        assert len(paths) <= 3 ** len(x)
        assert (np.diff(shares) <= 1e-12).all()
        places = [[model.classes_.tolist().index(label) for label in labels] for labels, _ in paths]
        found = np.zeros(p.shape)
        for path, share in zip(places, shares, strict=True):
            found[np.arange(len(x)), path] += share
        np.testing.assert_allclose(p, found, atol=1e-12)
        several = model.log_proba([x] * len(paths), [labels for labels, _ in paths])
        np.testing.assert_allclose(several, [value for _, value in paths], atol=1e-9)
        assert best == paths[0][0] or shares[1] == pytest.approx(shares[0])
        if constraints:
            for labels, _ in paths:
                assert set(itertools.pairwise(labels)) <= constraints


@every
def test_what_is_known_of_tokens_is_kept(name):
    model, X = fitted(name), [[["dog"], ["sees"], ["the"]], [["dog"]]]
    allowed = [["V", None, {"N", "V"}], None]
    for labels, p in zip(
        model.predict(X, allowed=allowed)[:1], model.predict_marginals(X, allowed=allowed), strict=False
    ):
        assert labels[0] == "V"
        assert labels[2] in "NV"
        np.testing.assert_allclose(p[0], [0, 0, 1])
        assert p[2, 0] == 0
    for bad in (["V"], [["V", "N"], None], [["V", None, "X"], None], [["V", None, set()], None], "VNN", 3):
        with pytest.raises((ValueError, TypeError), match="allowed"):
            model.predict(X, allowed=bad)
    with pytest.raises((ValueError, TypeError), match="n "):
        model.predict_nbest(X, 0)


@every
def test_the_sequence_that_has_no_path_is_named_among_many(name):
    """Sequences are inferred in blocks; the number is that among all."""
    model = fitted(name, constraints={("D", "N"), ("N", "V"), ("V", "D"), ("N", "N")})
    x = [["the"], ["dog"], ["sees"]] * 10
    X, allowed = [x] * 7001, [None] * 6999 + [["D", "D"] + [None] * 28, None]
    for method in (model.predict, model.predict_marginals, lambda X, **o: model.predict_nbest(X, 2, **o)):
        with pytest.raises(ValueError, match="sequence 6999: the constraints allow no path"):
            method(X, allowed=allowed)


@every
def test_threads_change_nothing(name):
    X, y = sentences(300)
    one, two = (MODELS[name](n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    for p, q in zip(one.predict_marginals(X), two.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(p, q)
    assert one.predict(X) == two.predict(X)
    assert one.predict_nbest(X[:20], 3) == two.predict_nbest(X[:20], 3)


@every
def test_a_long_sequence(name):
    X, _ = sentences(12_000)
    x = list(itertools.chain.from_iterable(X))
    model = fitted(name)
    assert len(x) > 30_000
    labels, p = model.predict([x])[0], model.predict_marginals([x])[0]
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-9)
    assert len(labels) == len(x)
    assert np.isfinite(model.log_proba([x], [labels])).all()


# --- estimators ------------------------------------------------------------------------------------------------------


@every
def test_copies_and_clones(name):
    X, y = sentences()
    model = fitted(name)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert other.predict(X) == model.predict(X)
        np.testing.assert_array_equal(other.log_proba(X, y), model.log_proba(X, y))
    assert clone(model).get_params() == model.get_params()


@every
def test_a_model_that_is_not_fitted_says_so(name):
    X, y = sentences()
    for method, arguments in (("predict", (X,)), ("predict_marginals", (X,)), ("log_proba", (X, y)), ("score", (X, y))):
        with pytest.raises(NotFittedError, match="fit"):
            getattr(MODELS[name](), method)(*arguments)


@pytest.mark.parametrize(
    "options", [{"order": 3}, {"order": 0}, {"n_jobs": 0}, {"constraints": "biox"}, {"features": 3}]
)
@pytest.mark.parametrize("model", [CRF, HMM, MEMM, StructuredPerceptron])
def test_parameters_that_are_none_are_named(model, options):
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        model(**options).fit(*sentences())


@every
def test_inputs_are_not_written_to(name):
    X, y = sentences()
    before = copy.deepcopy((X, y))
    model = MODELS[name]().fit(X, y)
    model.predict_nbest(X, 2)
    assert (X, y) == before
    rows, lengths, codes = matrix()
    for array in (rows.data, rows.indices, rows.indptr, codes):
        array.flags.writeable = False
    model.fit(rows, codes, lengths=lengths).log_proba(rows, codes, lengths=lengths)


# --- attributes that users set ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CRF", "CRF, order 2", "MEMM", "MEMM, order 2", "MEMM, beam", "MEMM, greedy"])
def test_weights_that_are_no_numbers_are_refused(name):
    """And a beam holds no more than its width, whatever the scores."""
    beams = {"MEMM, beam": {"decoder": "beam", "beam_width": 2}, "MEMM, greedy": {"decoder": "greedy"}}
    model = MODELS[name.split(", ")[0] if name in beams else name](**beams.get(name, {})).fit(*sentences())
    X = sentences()[0]
    for attribute in ("coef_", "transitions_", "start_", "second_order_"):
        if getattr(model, attribute, None) is None:
            continue
        for value in (np.nan, np.inf):
            broken = copy.deepcopy(model)
            weights = getattr(model, attribute).copy()
            (weights.data if sparse.issparse(weights) else weights)[:] = value
            setattr(broken, attribute, weights)
            for method in (broken.predict, broken.predict_marginals, lambda X, m=broken: m.predict_nbest(X, 2)):
                with pytest.raises(ValueError, match=f"{attribute}|coef_|weights|no path"):
                    method(X)


@pytest.mark.parametrize("model", [CRF, MEMM])
def test_sparse_weights_are_proved_whatever_their_format(model):
    X, y = sentences()
    edges = model(edges="all").fit(X, y)
    best = edges.predict(X)
    for form in (sparse.csc_array, sparse.coo_array, lambda a: a.toarray(), lambda a: a.astype(np.float32)):
        other = copy.deepcopy(edges)
        other.edge_coef_ = form(edges.edge_coef_)
        assert other.predict(X) == best
    for name in ("edge_coef_", "coef_"):
        other = copy.deepcopy(edges)
        weights = sparse.csr_array(getattr(other, name))
        weights.indices = weights.indices.copy()
        weights.indices[0] = 10**8
        setattr(other, name, weights)
        with pytest.raises((ValueError, TypeError), match=f"{name}|array"):
            other.predict(X)


@every
def test_other_classes_than_those_of_the_weights_are_refused(name):
    model, (X, y) = fitted(name), sentences()
    for classes in (np.array(["D", "N", "V", "W"], object), model.classes_[:2], np.arange(300)):
        broken = copy.deepcopy(model)
        broken.classes_ = classes
        for method in (broken.predict, broken.predict_marginals, lambda X, m=broken: m.log_proba(X, y)):
            with pytest.raises(ValueError, match=r"classes_|labels|shape"):
                method(X)
