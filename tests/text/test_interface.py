"""What an estimator owes: parameters, clones, pickles, names, what set_params changes, scikit-learn's own checks."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import feature_extraction
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils import estimator_checks, get_tags

import fastlin
from fastlin import MultinomialNB, text
from support.text_strategies import NGRAMS, corpora
from support.vectorizers import (
    COUNTING,
    VECTORIZERS,
    assert_same_bits,
    assert_same_matrix,
    assert_same_vocabulary,
    fitted_state,
    pair,
    result_of,
)

INTERFACES = [{"sparse_interface": kind} for kind in ("spmatrix", "sparray")]
if "sparse_interface" not in sklearn.get_config():  # an older scikit-learn knows one container
    INTERFACES = [{}]

every = pytest.mark.parametrize("name", VECTORIZERS)
counting = pytest.mark.parametrize("name", COUNTING)
CORPUS = ["the cat sat on the mat", "a dog", "", "the dog sat", "Le café 中文"]
CHECKS = (
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
OURS = {"n_jobs": None, "negation": False, "prefixes": None, "suffixes": None}


# --- parameters ------------------------------------------------------------------------------------------------------


@every
def test_the_parameters_are_scikit_learns_then_ours(name):
    """Names, order and defaults; all by keyword."""
    one, two = (inspect.signature(type(vectorizer)).parameters for vectorizer in pair(name))
    extra = OURS | ({"keep_names": 0} if name == "HashingVectorizer" else {})
    assert list(one)[: len(two)] == list(two)
    assert {key: parameter.default for key, parameter in one.items()} == {
        **{key: parameter.default for key, parameter in two.items()},
        **extra,
    }
    assert {parameter.kind for parameter in one.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert getattr(fastlin, name) is getattr(text, name)


@every
def test_methods_take_what_scikit_learns_take(name):
    one, two = pair(name)
    public = [key for key in dir(two) if not key.startswith("_") and callable(getattr(two, key))]
    for method in public:
        theirs, mine = inspect.signature(getattr(two, method)), inspect.signature(getattr(one, method))
        assert list(mine.parameters) == list(theirs.parameters), method


@every
def test_what_set_params_changes_counts_in_the_next_call(name):
    """As in scikit-learn, where every call builds its functions anew."""
    one, two = (vectorizer.fit(CORPUS) for vectorizer in pair(name))
    for changed in (
        {"lowercase": False},
        {"binary": True},
        {"ngram_range": (1, 2)},
        {"stop_words": ["the"]},
        {"token_pattern": r"\w{3,}"},
        {"strip_accents": "ascii"},
        {"analyzer": "char_wb"},
        {"analyzer": "word", "tokenizer": str.split},
        {"tokenizer": None, "dtype": np.float32},
    ):
        one.set_params(**changed)
        two.set_params(**changed)
        got, _ = result_of(lambda: one.transform(CORPUS))
        expected, _ = result_of(lambda: two.transform(CORPUS))
        assert_same_matrix(got, expected, 1e-6)


@every
def test_a_copy_has_the_parameters_and_not_the_state(name):
    vectorizer = getattr(text, name)(ngram_range=(1, 2), stop_words=["cat"], n_jobs=2).fit(CORPUS)
    copied = clone(vectorizer)
    assert copied.get_params() == vectorizer.get_params()
    assert not hasattr(copied, "vocabulary_")
    assert repr(copied) == repr(vectorizer)
    assert repr(getattr(text, name)()) == f"{name}()"


# --- state -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [False, True], ids=["names not asked for", "names asked for"])
@pytest.mark.parametrize("way", ["pickle", "deepcopy", "copy"])
@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 3)}, {"analyzer": "char_wb", "min_df": 2}], ids=str)
@counting
def test_a_fitted_vectorizer_survives_copying(name, options, way, asked):
    vectorizer = getattr(text, name)(**options)
    expected = vectorizer.fit_transform(CORPUS)
    if asked:
        vectorizer.get_feature_names_out()
    copied = {
        "pickle": lambda v: pickle.loads(pickle.dumps(v)),
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
    }[way](vectorizer)
    assert_same_bits(copied.transform(CORPUS), vectorizer.transform(CORPUS))
    assert fitted_state(copied) == fitted_state(vectorizer)
    copied.partial_fit(["something new"] * 2)
    assert "something" not in "".join(vectorizer.get_feature_names_out()).split()
    assert len(vectorizer.vocabulary_) == expected.shape[1]
    assert len(copied.vocabulary_) > len(vectorizer.vocabulary_)
    assert copied.fit_transform(CORPUS).shape == expected.shape


@counting
def test_state_of_scikit_learns_kind_can_be_given(name):
    """vocabulary_ and idf_ may be set, as users of scikit-learn do."""
    one, two = (vectorizer.fit(CORPUS) for vectorizer in pair(name))
    words = list(two.vocabulary_)
    for vocabulary in (
        {word: k for k, word in enumerate(words)},
        {"zebra": len(words) - 1, **dict(zip(words[1:], range(len(words) - 1), strict=True))},
    ):
        for vectorizer in (one, two):
            vectorizer.vocabulary_ = dict(vocabulary)
            if name == "TfidfVectorizer":
                vectorizer.idf_ = np.arange(1.0, len(words) + 1)
        assert_same_matrix(one.transform(CORPUS), two.transform(CORPUS), 1e-12)
        assert_same_vocabulary(one, two)


@counting
def test_what_is_not_fitted_says_so(name):
    for vectorizer in pair(name):
        assert not hasattr(vectorizer, "vocabulary_")
        for call in (
            lambda v=vectorizer: v.transform(CORPUS),
            lambda v=vectorizer: v.inverse_transform(np.eye(3)),
            lambda v=vectorizer: v.get_feature_names_out(),
        ):
            with pytest.raises(NotFittedError):
                call()


@every
def test_fitting_again_forgets(name):
    vectorizer = getattr(text, name)()
    vectorizer.fit_transform(["entirely different words"] * 3)
    assert_same_bits(vectorizer.fit_transform(CORPUS), getattr(text, name)().fit_transform(CORPUS))
    if name in COUNTING:
        assert fitted_state(vectorizer) == fitted_state(getattr(text, name)().fit(CORPUS))


# --- names -----------------------------------------------------------------------------------------------------------


@counting
@settings(max_examples=40)
@given(documents=corpora(), ngram_range=st.sampled_from(NGRAMS))
def test_names_and_the_way_back_are_scikit_learns(name, documents, ngram_range):
    one, two = pair(name, ngram_range=ngram_range, token_pattern=r"(?u)\b\w+\b")
    documents[0] += " word " * 4
    X, _ = one.fit_transform(documents), two.fit(documents)
    assert one.get_feature_names_out().dtype == object
    np.testing.assert_array_equal(one.get_feature_names_out(), two.get_feature_names_out())
    if any(name.endswith("\0") for name in two.vocabulary_):
        return  # numpy's strings drop them
    for form in (X, X.toarray(), X.tocsc()):
        for row, other in zip(one.inverse_transform(form), two.inverse_transform(form), strict=True):
            np.testing.assert_array_equal(row, other, strict=True)


@counting
def test_the_way_back_needs_as_many_columns(name):
    vectorizer = getattr(text, name)().fit(CORPUS)
    with pytest.raises((ValueError, IndexError)):
        vectorizer.inverse_transform(np.ones((2, 50)))


@counting
def test_names_do_not_hang_on_what_they_were_made_from(name):
    vectorizer = getattr(text, name)().fit(CORPUS)
    names, vocabulary = vectorizer.get_feature_names_out(), dict(vectorizer.vocabulary_)
    names[:] = "changed"
    assert dict(vectorizer.vocabulary_) == vocabulary
    assert vectorizer.vocabulary_ is vectorizer.vocabulary_
    assert "changed" not in vectorizer.get_feature_names_out()
    assert all(type(column) is int or isinstance(column, np.integer) for column in vocabulary.values())


# --- scikit-learn around it ------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("interface", INTERFACES, ids=str)
def test_the_container_is_what_scikit_learn_is_configured_to(name, interface):
    with sklearn.config_context(**interface):
        one, two = pair(name)
        assert_same_matrix(one.fit_transform(CORPUS), two.fit_transform(CORPUS), 1e-12)
        assert_same_matrix(one.transform(CORPUS), two.transform(CORPUS), 1e-12)


@every
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_the_global_output_is_not_for_sparse_matrices(name, output):
    with sklearn.config_context(transform_output=output):
        one, two = pair(name)
        assert_same_matrix(one.fit_transform(CORPUS), two.fit_transform(CORPUS), 1e-12)


@pytest.mark.parametrize("name", COUNTING)
def test_set_output_gives_a_frame_of_sparse_columns(name):
    one = pair(name)[0].set_output(transform="pandas")
    series = pd.Series(CORPUS, index=range(10, 10 + len(CORPUS)))
    for frame in (one.fit_transform(series), one.transform(series)):
        assert list(frame.columns) == list(one.get_feature_names_out())
        assert list(frame.index) == list(series.index)
        np.testing.assert_allclose(frame.to_numpy(), pair(name)[1].fit_transform(CORPUS).toarray(), rtol=1e-12)
    assert_same_bits(one.set_output(transform="default").transform(CORPUS), pair(name)[0].fit(CORPUS).transform(CORPUS))
    with pytest.raises(ValueError, match="transform must be one of"):
        one.set_output(transform="arrow")


@pytest.mark.peer("polars")
@pytest.mark.parametrize("name", COUNTING)
def test_set_output_gives_a_frame_of_polars(name):
    import polars

    one = sklearn.base.clone(pair(name)[0].set_output(transform="polars"))  # a clone has the same
    for texts in (polars.Series(CORPUS), CORPUS):
        for frame in (one.fit_transform(texts), one.transform(texts)):
            assert isinstance(frame, polars.DataFrame)
            assert frame.columns == list(one.get_feature_names_out())
            np.testing.assert_allclose(frame.to_numpy(), pair(name)[1].fit_transform(CORPUS).toarray(), rtol=1e-12)


@every
def test_tags_and_routing_are_scikit_learns(name):
    one, two = pair(name)
    mine, theirs = get_tags(one), get_tags(two)
    assert mine.input_tags == theirs.input_tags
    assert mine.requires_fit == theirs.requires_fit
    assert mine.no_validation == theirs.no_validation
    assert mine.transformer_tags == theirs.transformer_tags
    with sklearn.config_context(enable_metadata_routing=True):
        assert str(one.get_metadata_routing()) == str(two.get_metadata_routing())
        pipeline = make_pipeline(one, MultinomialNB() if name == "CountVectorizer" else "passthrough")
        pipeline.fit(CORPUS, [0, 1, 0, 1, 0])


@every
def test_it_works_in_unions_and_columns(name):
    make = getattr(text, name)
    union = FeatureUnion([("words", make()), ("characters", make(analyzer="char_wb", ngram_range=(2, 3)))])
    X = union.fit_transform(CORPUS)
    assert X.shape[0] == len(CORPUS)
    frame = pd.DataFrame({"title": CORPUS[::-1], "text": CORPUS})
    columns = ColumnTransformer([("title", make(), "title"), ("text", make(ngram_range=(1, 2)), "text")])
    Y = columns.fit_transform(frame)
    assert Y.shape[1] == make().fit_transform(CORPUS).shape[1] + make(ngram_range=(1, 2)).fit_transform(CORPUS).shape[1]
    if name in COUNTING:
        assert columns.get_feature_names_out()[0].startswith("title__")


@pytest.mark.parametrize("check", [check for check in CHECKS if hasattr(estimator_checks, check)])
@every
def test_it_passes_those_of_scikit_learns_checks_that_need_no_matrix(name, check):
    getattr(estimator_checks, check)(name, getattr(text, name)())


def test_the_functions_are_scikit_learns():
    theirs = feature_extraction.text
    assert text.ENGLISH_STOP_WORDS == theirs.ENGLISH_STOP_WORDS
    assert isinstance(text.ENGLISH_STOP_WORDS, frozenset)


@given(document=st.text(st.characters(), max_size=40))
def test_accents_and_tags_are_stripped_as_scikit_learn_does(document):
    for function in ("strip_accents_ascii", "strip_accents_unicode", "strip_tags"):
        assert getattr(text, function)(document) == getattr(feature_extraction.text, function)(document)


@pytest.mark.parametrize("call", ["fit", "fit_transform", "partial_fit"])
@pytest.mark.parametrize(
    "name, options",
    [
        ("CountVectorizer", {"stop_words": ["don't"]}),
        ("TfidfVectorizer", {"stop_words": ["don't"]}),
        ("CountVectorizer", {"analyzer": "char", "stop_words": ["x"]}),
        ("TfidfVectorizer", {"dtype": np.int64}),
        ("CountVectorizer", {"vocabulary": ["Good", "dog"]}),
        ("HashingVectorizer", {"tokenizer": str.split}),
    ],
    ids=repr,
)
def test_warnings_point_to_the_line_of_the_caller(name, options, call):
    with pytest.warns(UserWarning, match=r"stop_words|dtype|token_pattern|Upper case") as caught:
        getattr(getattr(text, name)(**options), call)(["a good dog", "not bad"])
    assert [warning.filename for warning in caught] == [__file__] * len(caught)


def test_stop_words_are_warned_of_once_by_views_too():
    vectorizer = text.HashingVectorizer(stop_words=["don't"])
    with pytest.warns(UserWarning, match="stop_words may be inconsistent"):
        vectorizer.transform(["a good dog"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectorizer.transform(["a good dog"])
