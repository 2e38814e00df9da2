"""Semi-supervised naive Bayes: labels of every kind, validation data, streams, and what goes wrong."""

import pickle
import re

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fastlin import Corpus, SemiSupervisedNB
from support.estimators import text_like
from support.semi_supervised import assert_same, iterated, partly

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge", "ignore:.*(components|under)")


# --- labels ----------------------------------------------------------------------------------------------------------


def test_missing_labels_of_every_kind():
    X, y = text_like(n_rows=30)
    z = partly(y)
    model = iterated(5).fit(X, z)
    names = np.array(["a", "b", "c", ""])[z]
    kinds = {
        "list": z.tolist(),
        "floats": z.astype(float),
        "floats and NaN": np.where(z < 0, np.nan, z),
        "a column of floats and NaN": pandas.Series(np.where(z < 0, np.nan, z)),
        "a column of integers and NA": pandas.Series(z).where(z >= 0).astype("Int64"),
        "objects": np.where(z < 0, None, z.astype(object)),
        "objects and -1": np.array([*z.tolist()[:-1], int(z[-1])], object),
    }
    for kind, labels in kinds.items():
        found = iterated(5).fit(X, labels)
        np.testing.assert_array_equal(found.feature_log_prob_, model.feature_log_prob_, err_msg=kind)
        assert found.classes_.tolist() == [0, 1, 2]
    strings = {
        "None in a list": [name or None for name in names.tolist()],
        "-1 in a list": [name or -1 for name in names.tolist()],
        "None in an array": np.array([name or None for name in names.tolist()], object),
        "-1 in an array": np.array([name or -1 for name in names.tolist()], object),
        "NaN in a list": [name or np.nan for name in names.tolist()],
        "NaN in an array": np.array([name or np.nan for name in names.tolist()], object),
        "a column of strings": (column := pandas.Series([name or None for name in names.tolist()])),
        "a column of objects": column.astype(object),
        "a column of strings and NA": column.astype("string"),
        "a column of categories": column.astype("category"),
        "empty": names,
        "-1": np.where(names == "", "-1", names),
        "a mask": np.ma.masked_array(np.where(names == "", "a", names), names == ""),
    }
    for kind, labels in strings.items():
        found = iterated(5).fit(X, labels)
        np.testing.assert_array_equal(found.feature_log_prob_, model.feature_log_prob_, err_msg=kind)
        assert found.classes_.tolist() == ["a", "b", "c"], kind
        assert found.predict(X[0]).tolist() in (["a"], ["b"], ["c"])
    octets = [name.encode() or -1 for name in names.tolist()]  # of whose −1 numpy makes b"-1"
    assert iterated(5).fit(X, octets).classes_.tolist() == [b"a", b"b", b"c"]
    for labels in (names, strings["-1"]):
        np.testing.assert_array_equal(iterated(5).fit(Corpus(X, labels)).feature_log_prob_, model.feature_log_prob_)


def test_a_corpus_without_labels_goes_beside_one_with_some():
    X, y = text_like(n_rows=60)
    model = iterated(5).fit(X[:20], y[:20], X[20:])
    assert_same(iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:])), model)
    assert_same(iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:], np.full(40, -1))), model)
    weights = np.full(40, 0.25)
    assert_same(
        iterated(5).fit(Corpus(X[:20], y[:20]), X_unlabeled=Corpus(X[20:], sample_weight=weights)),
        iterated(5, unlabeled_weight=0.25).fit(X[:20], y[:20], X[20:]),
    )


# --- early stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("patience", [1, 3])
def test_early_stopping_keeps_the_best_iteration(patience):
    X, y = text_like(n_rows=300, n_features=40, density=0.1, seed=5)
    few, rest, dev = slice(0, 12), slice(12, 200), slice(200, 260)
    model = iterated(60, alpha=0.01, early_stopping=True, n_iter_no_change=patience)
    model.fit(X[few], y[few], X[rest], X_val=X[dev], y_val=y[dev])
    scores = [record["val_score"] for record in model.history_]
    best = int(np.argmax(scores))
    assert len(scores) == best + patience + 1 < 60
    assert model.score(X[dev], y[dev]) == max(scores)
    assert model.objective_ == -model.bound_[best]
    assert best > 0
    as_long = iterated(best, alpha=0.01).fit(X[few], y[few], X[rest])
    np.testing.assert_array_equal(model.feature_log_prob_, as_long.feature_log_prob_)
    recorded = iterated(60, alpha=0.01, n_iter_no_change=1).fit(X[few], y[few], X[rest], X_val=X[dev], y_val=y[dev])
    assert [record["val_score"] for record in recorded.history_][: len(scores)] == scores
    assert len(recorded.history_) > len(scores)
    corpus = iterated(60, alpha=0.01, early_stopping=True, n_iter_no_change=patience)
    assert_same(corpus.fit(X[few], y[few], X[rest], X_val=Corpus(X[dev], y[dev])), model)


def test_early_stopping_holds_labelled_rows_out():
    X, y = text_like(n_rows=120)
    z = partly(y, share=0.5)
    n = (z >= 0).sum()
    model = iterated(20, early_stopping=True, validation_fraction=0.25, unlabeled_weight=0.0).fit(X, z)
    held = int(np.ceil(n * 0.25))
    assert model.class_count_.sum() == n - held
    assert model.history_[0]["val_score"] * held == pytest.approx(round(model.history_[0]["val_score"] * held))
    learnt = iterated(20, early_stopping=True, validation_fraction=0.25).fit(X, z)
    best = np.argmax([record["val_score"] for record in learnt.history_])
    np.testing.assert_allclose(learnt.class_count_.sum(), 120 - held if best else n - held, rtol=1e-12)
    corpus = iterated(20, early_stopping=True, validation_fraction=0.25).fit(Corpus(X, z))
    assert_same(corpus, learnt)


# --- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_infers_what_has_no_label_once():
    X, y = text_like(n_rows=60)
    z = partly(y, share=0.4)
    model = SemiSupervisedNB(unlabeled_weight=0.5)
    features, masses = np.zeros((3, 30)), np.zeros(3)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 60)):
        model.partial_fit(X[rows], z[rows])
        some, codes = X[rows].toarray(), z[rows]
        for k in range(3):
            features[k] += some[codes == k].sum(axis=0)
            masses[k] += (codes == k).sum()
        phi = (features + 1) / (features + 1).sum(axis=1, keepdims=True)
        scores = some[codes < 0] @ np.log(phi).T + np.log(masses / masses.sum())
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        features += 0.5 * shares.T @ some[codes < 0]
        masses += 0.5 * shares.sum(axis=0)
        np.testing.assert_allclose(model.feature_count_, features, rtol=1e-10)
        np.testing.assert_allclose(model.class_count_, masses, rtol=1e-10)
        phi = (features + 1) / (features + 1).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(np.exp(model.feature_log_prob_), phi, rtol=1e-10)
    both = SemiSupervisedNB(unlabeled_weight=0.5)
    for rows in (slice(0, 20), slice(20, 21), slice(21, 60)):
        some, codes = X[rows], z[rows]
        if (codes >= 0).any():
            both.partial_fit(
                some[codes >= 0], codes[codes >= 0], X_unlabeled=some[codes < 0] if (codes < 0).any() else None
            )
        else:
            both.partial_fit(some, codes)
    np.testing.assert_allclose(both.feature_count_, model.feature_count_, rtol=1e-12)


def test_labels_with_components_may_appear_at_any_time():
    X, y = text_like(n_rows=120, n_labels=4)
    names = np.array(["b", "d", "a", "c"])
    model = SemiSupervisedNB(components={"a": 2, "d": 3}, random_state=0)
    model.partial_fit(X[y < 2], names[y[y < 2]])
    assert model.component_classes_.tolist() == ["b", "d", "d", "d"]
    before = dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))
    model.partial_fit(X[y >= 2], names[y[y >= 2]])
    assert model.component_classes_.tolist() == ["a", "a", "b", "c", "d", "d", "d"]
    np.testing.assert_allclose(model.class_count_, [30, 30, 30, 30], rtol=1e-12)
    assert before == {"b": 30.0, "d": pytest.approx(30.0)}
    model.partial_fit(X, names[y])
    np.testing.assert_allclose(model.class_count_, [60, 60, 60, 60], rtol=1e-12)
    of_labels = [X.toarray()[y == k].sum(axis=0) for k in (2, 0, 3, 1)]
    found = np.add.reduceat(model.feature_count_, [0, 2, 3, 4], axis=0)
    np.testing.assert_allclose(found, 2 * np.array(of_labels), rtol=1e-10)
    assert model.score(X, names[y]) > 0.9
    with pytest.raises(ValueError, match="'a' has 2 components"):
        model.set_params(components=1).partial_fit(X, names[y])


def test_a_stream_goes_on_from_a_fit_without_its_report():
    X, y = text_like(n_rows=60)
    model = SemiSupervisedNB().fit(X[:30], partly(y[:30]))
    mass = model.class_count_.sum()
    model.partial_fit(X[30:], np.full(30, -1))
    np.testing.assert_allclose(model.class_count_.sum(), mass + 30, rtol=1e-12)
    assert not hasattr(model, "bound_")


# --- what goes wrong, and what is said of a fit ----------------------------------------------------------------------


X12, Y12 = text_like(n_rows=12)
GIVEN = {
    "y that lacks": ((X12, None), "requires y"),
    "y too short": ((X12, Y12[:5]), "inconsistent numbers"),
    "objects too short": ((X12, [*Y12[:5].tolist(), None]), "inconsistent numbers"),
    "kinds that mix": ((X12, [1.5, "a", None, *Y12[:9].tolist()]), "labels"),
    "not a label": ((X12, [(1, 2), None, *Y12[:10].tolist()]), "(?i)label|one kind|shape|inhomogeneous"),
    "-1 meant as a label": ((X12, np.where(Y12 == 0, -1, 1)), "1 is the only label.*-1.*such as 0 and 1"),
    "strings, -1 meant as a label": ((X12, np.where(Y12 == 0, "-1", "+1")), r"'\+1' is the only label"),
    "a corpus, -1 meant as a label": ((Corpus(X12, np.where(Y12 == 0, -1, 1)),), "1 is the only label"),
    "no label": ((X12, np.full(12, -1)), "MultinomialMixture"),
    "infinity among labels": ((X12, [np.inf, np.nan, *Y12[:10].tolist()]), "infinity at row 0"),
    "None only": ((X12, [None] * 12), "MultinomialMixture"),
    "a corpus without labels": ((Corpus(X12),), "MultinomialMixture"),
    "labels beside a corpus": ((Corpus(X12, Y12), Y12), "y must be None"),
    "weights beside a corpus": ((Corpus(X12, Y12), None, None, np.ones(12)), "sample_weight must be None"),
    "another width": ((X12, Y12, X12[:, :4]), "X_unlabeled has 4 features, X has 30"),
    "negative": ((X12, Y12, -X12), "X_unlabeled holds -"),
    "a labelled corpus": ((X12, Y12, Corpus(X12, Y12)), "X_unlabeled is a Corpus with labels"),
    "a negative corpus": ((X12, Y12, Corpus(-X12)), "X_unlabeled holds -"),
    "NaN": ((X12, Y12, X12 * np.nan), "X_unlabeled"),
    "weights of labels all zero": (
        (X12, np.where(Y12 == 0, -1, Y12), None, 1.0 * (Y12 == 0)),
        "zero for every row that",
    ),
}


@pytest.mark.parametrize("case", GIVEN)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_what_cannot_be_learnt_from_is_refused_before_anything_changes(case, method):
    arguments, match = GIVEN[case]
    arguments = dict(zip(("X", "y", "X_unlabeled", "sample_weight"), arguments, strict=False))
    model = SemiSupervisedNB()
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(model, method)(**arguments)
    assert not hasattr(model, "classes_")
    if case == "weights beside a corpus" or ("label" not in case and case != "None only"):
        model.fit(X12, Y12)
        before = model.feature_count_.copy()
        with pytest.raises((ValueError, TypeError), match=match):
            getattr(model, method)(**arguments)
        np.testing.assert_array_equal(model.feature_count_, before)


PARAMETERS = [
    ({"unlabeled_weight": -1.0}, "unlabeled_weight"),
    ({"unlabeled_weight": np.nan}, "unlabeled_weight"),
    ({"unlabeled_weight": "some"}, "unlabeled_weight"),
    ({"components": 0}, "components"),
    ({"components": 1.5}, "components"),
    ({"components": "two"}, "components"),
    ({"components": [1, 2]}, "components has 2 entries, y has 3 labels"),
    ({"components": [[1], [2], [3]]}, "components"),
    ({"components": {0: 0}}, r"components\[0\]"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": [1.0]}, "alpha"),
    ({"base_measure": [1.0]}, "base_measure"),
    ({"class_prior": [0.5, 0.5]}, "prior"),
    ({"tol": -1.0}, "tol"),
    ({"max_iter": 0}, "max_iter"),
    ({"n_init": 0}, "n_init"),
    ({"early_stopping": "yes"}, "early_stopping"),
    ({"validation_fraction": 1.0}, "validation_fraction"),
    ({"n_iter_no_change": 0}, "n_iter_no_change"),
    ({"random_state": "seed"}, "random_state"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"verbose": -1}, "verbose"),
    ({"callback": 3}, "callback"),
]


@pytest.mark.parametrize("options, match", PARAMETERS, ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_parameters_that_cannot_be_are_refused_by_name(options, match, method):
    model = SemiSupervisedNB(**options)
    with pytest.raises((ValueError, TypeError), match=match):
        getattr(model, method)(X12, Y12)
    assert not hasattr(model, "classes_")


def test_a_class_prior_of_zero_forbids_documents():
    with pytest.raises(ValueError, match="class_prior is 0 for the label 1, which has documents"):
        SemiSupervisedNB(class_prior=[0.5, 0, 0.5]).fit(X12, Y12)


def test_components_of_a_label_that_there_is_not_are_refused():
    with pytest.raises(ValueError, match="7"):
        SemiSupervisedNB(components={7: 2}).fit(X12, Y12)
    SemiSupervisedNB(components={7: 2}).partial_fit(X12, Y12)  # it may come


def test_x_unlabeled_has_the_columns_of_x():
    frame = pandas.DataFrame(X12.toarray()).add_prefix("word ")
    model = SemiSupervisedNB().fit(frame, Y12, frame)
    assert model.feature_names_in_[1] == "word 1"
    with pytest.raises(ValueError, match="feature names"):
        model.fit(frame, Y12, frame[frame.columns[::-1]])


def test_validation_data_has_labels():
    model = SemiSupervisedNB()
    for y_val in (np.where(Y12 == 0, -1, Y12), Y12.astype(str)):
        with pytest.raises(ValueError, match=r"every row of X_val|kinds"):
            model.fit(X12, Y12, X_val=X12, y_val=y_val)
    with pytest.raises(ValueError, match="every row of X_val"):
        model.fit(X12, Y12, X_val=Corpus(X12, partly(Y12)))
    with pytest.raises(ValueError, match="together"):
        model.fit(X12, Y12, X_val=X12)
    with pytest.raises(ValueError, match="too few"):
        SemiSupervisedNB(early_stopping=True).fit(X12, [0, 1, *[-1] * 10])


def test_a_score_is_of_rows_that_have_labels():
    model = SemiSupervisedNB().fit(X12, Y12)
    assert model.score(X12, Y12) == model.score(Corpus(X12, Y12)) > 0.5
    some = np.where(partly(Y12) < 0, np.nan, Y12)
    masked = np.ma.masked_array(Y12, partly(Y12) < 0)
    for rows in (
        (X12, partly(Y12)),
        (X12, [*Y12[1:].tolist(), None]),
        (X12, some),
        (X12, masked),
        (Corpus(X12, partly(Y12)),),
    ):
        with pytest.raises(ValueError, match="every row of X needs a label"):
            model.score(*rows)


def test_a_callback_sees_every_iteration_and_may_end_the_fit(capsys):
    X, y = text_like(n_rows=60)
    seen = []

    def look(model, record):
        seen.append((record["iteration"], model.score(X, y), model.class_count_.sum()))
        return record["iteration"] == 3

    model = iterated(50, callback=look, verbose=1, components=2, n_init=4).fit(X, partly(y), X_val=X, y_val=y)
    assert [number for number, _, _ in seen] == [0, 1, 2, 3]
    assert seen[-1][1] == model.score(X, y)
    np.testing.assert_allclose([mass for _, _, mass in seen[1:]], 60)
    told, line = capsys.readouterr().out.splitlines(), r"iteration {}  \d+\.\d\d s  objective [\d.]+  val score {:.10g}"
    for record, said in zip(model.history_, told, strict=True):
        assert re.fullmatch("SemiSupervisedNB  " + line.format(record["iteration"], record["val_score"]), said)
    broken = SemiSupervisedNB(callback=lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.fit(X, y)
    assert not hasattr(broken, "classes_")


@pytest.mark.filterwarnings("default")
def test_a_fit_says_what_went_otherwise():
    X, y = text_like(n_rows=60)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations were not enough for tol=0"):
        iterated(1).fit(X, partly(y))
    with pytest.warns(ConvergenceWarning, match=r"components, of the labels \[0, 1, 2\], have no documents"):
        SemiSupervisedNB(components=5, tol=1e-9, max_iter=500, random_state=0).fit(X[:9], y[:9], X[9:])


def test_copies_are_equal():
    X, y = text_like(n_rows=60)
    model = SemiSupervisedNB(components=2, random_state=0).fit(X, partly(y))
    again = pickle.loads(pickle.dumps(model))
    assert_same(again, model)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    fresh = clone(model).fit(X, partly(y))
    assert_same(fresh, model)
