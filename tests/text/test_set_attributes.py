"""Attributes that a user has set, or changed in place: what does not belong together is refused, and named."""

import numpy as np
import pytest

import fastlin
import fastlin.select
from support.estimators import text_like

X, Y = text_like(n_features=7)
TEXTS = ["a good dog", "not a good cat", "good dog, good cat"]
OF_COLUMNS = {
    "Conjunctions": fastlin.Conjunctions,
    "CountCutoff": lambda: fastlin.select.CountCutoff(2),
    "Elementwise": fastlin.Elementwise,
    "LogCountRatio": fastlin.LogCountRatio,
    "SelectFeatures": lambda: fastlin.select.SelectFeatures(3, method="count"),
    "TfidfTransformer": fastlin.TfidfTransformer,
    "hashed conjunctions": lambda: fastlin.Conjunctions(n_features=16),
    "unweighted": lambda: fastlin.TfidfTransformer(use_idf=False),
}


@pytest.mark.parametrize("value", [2**62, 2**62 - 1, 2**31, 8, 6, 0, -1, "7", 7.0, None], ids=repr)
@pytest.mark.parametrize("name", OF_COLUMNS)
def test_another_number_of_columns_is_refused(name, value):
    model = OF_COLUMNS[name]().fit(X, Y)
    model.n_features_in_ = value
    for use in (lambda: model.get_feature_names_out(), lambda: model.transform(X)):
        with pytest.raises((ValueError, TypeError), match=r"n_features_in_|is expecting"):
            use()


@pytest.mark.parametrize("names", [["a"], list("abcdefgh"), [list("abcdefg")]], ids=len)
@pytest.mark.parametrize("name", OF_COLUMNS)
def test_names_of_another_number_of_columns_are_refused(name, names):
    model = OF_COLUMNS[name]().fit(X, Y)
    model.feature_names_in_ = np.array(names, object)
    with pytest.raises(ValueError, match="feature_names_in_ has shape"):
        model.get_feature_names_out()


def counted():
    return fastlin.CountVectorizer().fit(TEXTS)


def weighed():
    return fastlin.TfidfVectorizer().fit(TEXTS)


def given():
    return fastlin.CountVectorizer(vocabulary=["good", "dog", "cat"])


def of_dicts():
    return fastlin.DictVectorizer().fit([{"a": 1, "b": 2, "c": 3}])


def looked_up(model):
    return model.transform([{"a": 1, "b": 2, "c": 3}])


def rows(model):
    return model.transform(X)


def texts(model):
    return model.transform(TEXTS)


def names(model):
    return model.get_feature_names_out()


@pytest.mark.parametrize(
    "make, attribute, value, use, match",
    [
        (weighed, "idf_", np.ones(2), texts, "idf"),
        (weighed, "vocabulary_", {"good": 0}, texts, r"idf_ has 4 values and vocabulary_ 1 terms"),
        (counted, "vocabulary_", {"good": 0, "dog": 2}, texts, "vocabulary_"),
        (counted, "vocabulary_", {"good": 0, "dog": 0}, texts, "vocabulary_"),
        (counted, "vocabulary_", {"good": "0"}, texts, "vocabulary"),
        (lambda: fastlin.TfidfTransformer().fit(X), "idf_", np.ones(6), rows, r"X has 7 features.*6, as many as idf_"),
        (lambda: fastlin.TfidfTransformer().fit(X), "idf_", np.ones((7, 1)), rows, "idf_ must be a vector"),
        (lambda: fastlin.TfidfTransformer().fit(X), "idf_", [1e300] * 7, rows, "idf_ holds"),
        (lambda: fastlin.LogCountRatio().fit(X, Y), "log_ratio_", np.ones((3, 6)), rows, "n_features_in_ is 7"),
        (lambda: fastlin.LogCountRatio().fit(X, Y), "log_ratio_", np.ones((2, 7)), rows, "log_ratio_ must be"),
        (lambda: fastlin.LogCountRatio().fit(X, Y), "log_ratio_", np.ones(7), names, "log_ratio_ must be"),
        (lambda: fastlin.LogCountRatio().fit(X, Y), "classes_", np.arange(5), rows, "labels of classes_"),
        (of_dicts, "vocabulary_", {"a": 0, "b": 1}, looked_up, "vocabulary_ has 2 names and feature_names_ 3"),
        (of_dicts, "feature_names_", ["a"], looked_up, "vocabulary_ has 3 names and feature_names_ 1"),
        (of_dicts, "vocabulary_", {"a": 0, "b": 1, "c": 3}, looked_up, "vocabulary_ gives 'c' the column 3"),
        (of_dicts, "vocabulary_", {"a": 0, "b": -1, "c": 2}, looked_up, "vocabulary_ gives 'b' the column -1"),
        (of_dicts, "vocabulary_", {"a": 0, "b": 2**70, "c": 2}, looked_up, "vocabulary_ gives 'b' the column"),
        (of_dicts, "vocabulary_", {"a": 0, "b": "1", "c": 2}, looked_up, "vocabulary_ gives 'b' '1'"),
        (of_dicts, "vocabulary_", {"a": 0, "b": None, "c": 2}, looked_up, "vocabulary_ gives 'b' None"),
        (of_dicts, "vocabulary_", ["a", "b", "c"], looked_up, "vocabulary_ must be a dict"),
        (OF_COLUMNS["CountCutoff"], "counts_", np.ones(6), rows, "n_features_in_ is 7"),
        (OF_COLUMNS["CountCutoff"], "counts_", "many", rows, "counts_ must be a vector"),
        (OF_COLUMNS["CountCutoff"], "row_counts_", np.ones((7, 1), int), names, "row_counts_ must be a vector"),
        (OF_COLUMNS["SelectFeatures"], "support_", np.ones(6, bool), rows, "n_features_in_ is 7"),
        (OF_COLUMNS["SelectFeatures"], "support_", np.ones(7), names, "support_ must be a vector"),
    ],
)  # fmt: skip
def test_what_does_not_belong_together_is_refused_by_name(make, attribute, value, use, match):
    model = make()
    if use in (rows, names) and not hasattr(model, attribute):
        model.fit(X, Y)

    def set_and_use():
        setattr(model, attribute, value)
        use(model)

    with pytest.raises((ValueError, TypeError), match=match):
        set_and_use()


@pytest.mark.parametrize("change", ["cleared", "longer", "shifted"])
@pytest.mark.parametrize("make", [counted, given, weighed], ids=["counts", "given", "tf-idf"])
def test_a_vocabulary_that_was_changed_in_place_is_refused(make, change):
    model = make()
    model.transform(TEXTS)
    if change == "cleared":
        model.vocabulary_.clear()
    elif change == "longer":
        model.vocabulary_["more"] = 2**40
    elif make is given:
        model.vocabulary_["good"] = 7
    else:
        return  # what is shown is not what is looked up in: the same length changes nothing
    if change != "shifted":
        with pytest.raises(ValueError, match="vocabulary_ was changed"):
            model.transform(TEXTS)
    with pytest.raises(ValueError, match="vocabulary_"):
        model.get_feature_names_out()
