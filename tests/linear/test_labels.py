"""Labels are what they were: no number becomes another or a string, and kinds do not mix."""

import numpy as np
import pytest
from sklearn.base import clone

import fastlin
from fastlin.validation import labels

WIDE = [2**63 + 1, 2**63 + 3, 5]


@pytest.mark.parametrize("make", [list, tuple, lambda y: np.array(y, object), lambda y: np.array(y, np.uint64)])
def test_whole_numbers_of_any_size_stay_what_they_are(make):
    model = fastlin.MultinomialNB().fit(np.eye(3), make(WIDE))
    assert model.classes_.tolist() == sorted(WIDE)
    assert model.predict(np.eye(3)).tolist() == WIDE
    partly = fastlin.SemiSupervisedNB().fit(np.eye(4), [*WIDE, None])
    assert partly.classes_.tolist() == sorted(WIDE)


def test_negative_numbers_beside_wide_ones_stay_what_they_are():
    assert fastlin.MultinomialNB().fit(np.eye(3), [2**63 + 1, -2, 5]).classes_.tolist() == [-2, 5, 2**63 + 1]


@pytest.mark.parametrize("y", [
    [1, "1", "b", True], [1, "b", "b", "b"], ["a", b"a", "b", "b"], [True, 1, 0, 2], [True, "b", "c", "a"],
    [2**53 + 1, 1.0, 2, 3], [1.5e300, 1, 2, 3],
])  # fmt: skip
@pytest.mark.parametrize("make", [list, tuple, lambda y: np.array([*y, None], object)[:-1]])
@pytest.mark.parametrize("model", [
    fastlin.MultinomialNB(), fastlin.LogisticRegression(), fastlin.SGDClassifier(), fastlin.LinearSVC(),
    fastlin.SemiSupervisedNB(), fastlin.SemiSupervisedNBCV(), fastlin.CategoricalNB(), fastlin.LogisticRegressionCV(),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_labels_of_several_kinds_are_refused(model, make, y):
    if y[0] == 1.5e300:
        y = [float("1e300"), 10**300, 2, 3]
    X = np.array([["a"], ["b"], ["c"], ["d"]]) if isinstance(model, fastlin.CategoricalNB) else np.eye(4)
    with pytest.raises((TypeError, ValueError), match=r"labels of one kind|give (all )?labels as|of one kind"):
        clone(model).fit(X, make(y))


def test_a_corpus_refuses_labels_of_several_kinds():
    with pytest.raises(TypeError, match=r"labels of one kind.* 1 at row 0 and '1' at row 1"):
        fastlin.Corpus(np.eye(3), [1, "1", "b"])


def test_missing_labels_may_be_of_another_kind():
    model = fastlin.SemiSupervisedNB().fit(np.eye(5), ["a", "b", -1, None, float("nan")])
    assert model.classes_.tolist() == ["a", "b"]
    assert fastlin.SemiSupervisedNB().fit(np.eye(4), [3, 4, "", None]).classes_.tolist() == [3, 4]


@pytest.mark.parametrize("n_labels", [1, 2, 300])
@pytest.mark.parametrize("dtype", ["U5", "S5", ">U5", "U40"])
@pytest.mark.parametrize("bits", [16, 2])  # with two bits labels meet, and are sorted out otherwise
def test_strings_of_numpy_are_numbered_as_they_sort(n_labels, dtype, bits, monkeypatch):
    monkeypatch.setattr(labels, "HASH_BITS", bits)
    rng = np.random.default_rng(n_labels)
    letters = "ab" if "S" in dtype else "aé日𝄞\0"
    names = np.array(["".join(rng.choice(list(letters), 5)) for _ in range(n_labels)], dtype)
    y = names[rng.integers(n_labels, size=2000)][::2]
    classes, codes = labels.as_labels(y, 1000, estimator="")
    expected = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected[0], strict=True)
    np.testing.assert_array_equal(codes, expected[1])
