"""Model files of LIBLINEAR: the models predict what LIBLINEAR does, and files that are wrong are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import fastlin
from fastlin import ModelFileError
from fastlin.interchange import read_liblinear

rng = np.random.default_rng(0)
X = rng.poisson(0.5, (60, 7)).astype(float)
TWO, THREE = np.where(X[:, 0] + rng.random(60) > 0.9, 5, -2), rng.integers(0, 3, 60) * 4 - 3
TARGET = X @ rng.normal(size=7) + 1.0
CLASSIFIERS, REGRESSIONS = (0, 1, 2, 3, 4, 5, 6, 7), (11, 12, 13)
MODEL = """solver_type L2R_LR
nr_class 3
label 1 -1 3
nr_feature 2
bias 2
w
0.5 -0.25 -0.375
-0.5 0.5 0
0.125 0 1e-3
"""


@pytest.mark.peer("liblinear")
@pytest.mark.parametrize("bias", [-1, 1, 2.5])
@pytest.mark.parametrize("solver", [*CLASSIFIERS, *REGRESSIONS])
def test_a_model_predicts_what_liblinear_predicts(solver, bias, tmp_path):
    from liblinear.liblinearutil import predict, save_model, train

    path = str(tmp_path / "model")
    for target in [TARGET] if solver in REGRESSIONS else [TWO, -TWO, THREE]:
        for C in (1e-3, 1.0, 1e3):
            theirs = train(target, sp.csr_matrix(X), f"-s {solver} -B {bias} -c {C} -q")
            save_model(path, theirs)
            labels, _, scores = predict(target, sp.csr_matrix(X), theirs, "-q")
            model = read_liblinear(path)
            if solver in REGRESSIONS:
                np.testing.assert_allclose(model.predict(X), labels, rtol=1e-12, atol=1e-12)
                continue
            scores = np.array(scores)
            ranked = np.sort(np.column_stack([scores, np.zeros(60)]) if scores.shape[1] == 1 else scores, axis=1)
            clear = ranked[:, -1] > ranked[:, -2]  # rows of zeros have one score for all labels without a bias
            np.testing.assert_array_equal(model.predict(X)[clear], np.array(labels)[clear])
            order = np.argsort(theirs.get_labels())
            two = len(order) == 2
            sign = 1.0 if order[0] == 1 else -1.0
            expected = sign * scores[:, 0] if two else scores[:, order]
            np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-12)
            if solver in (0, 6, 7):
                _, _, probabilities = predict(target, sp.csr_matrix(X), theirs, "-b 1 -q")
                np.testing.assert_allclose(model.predict_proba(X), np.array(probabilities)[:, order], atol=1e-12)


def test_a_model_is_what_the_file_says_and_goes_into_files(write, tmp_path):
    model = read_liblinear(write(MODEL))
    assert type(model) is fastlin.LogisticRegression
    assert model.classes_.tolist() == [-1, 1, 3]
    np.testing.assert_array_equal(model.coef_, [[-0.25, 0.5], [0.5, -0.5], [-0.375, 0.0]])
    np.testing.assert_array_equal(model.intercept_, [0.0, 0.25, 2e-3])
    path = tmp_path / "model.fastlin"
    fastlin.save(model, path)
    np.testing.assert_array_equal(fastlin.load(path).predict_proba(X[:, :2]), model.predict_proba(X[:, :2]))
    with_other_ends = MODEL.replace("\n", "\r\n") + "\r\n\r\n"
    np.testing.assert_array_equal(read_liblinear(write(with_other_ends)).coef_, model.coef_)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("L2R_LR", "ONECLASS_SVM", "line 1: the solver 'ONECLASS_SVM'"),
        ("L2R_LR", "é", "solver"),
        ("nr_class 3", "nr_class 4", "label must name 4"),
        ("nr_class 3", "nr_class 1", "from 2"),
        ("nr_class 3", "nr_class 99999999999999999999999999", "from 2"),
        ("nr_class 3", "nr_class 3\nnr_class 3", "second time"),
        ("label 1 -1 3", "label 1 -1 1", "different"),
        ("label 1 -1 3", "label 1 -1 99999999999", "whole number"),
        ("label 1 -1 3\n", "", "label is missing"),
        ("nr_feature 2", "nr_feature 3", "ends where the weights of feature 4 of 4"),
        ("nr_feature 2", "nr_feature 1", "line 9: there is more"),
        ("nr_feature 2", "nr_feature 9999999999999", "nr_feature must be"),
        ("nr_feature 2", "nr_feature -2", "nr_feature must be"),
        ("nr_feature 2", "nr_feature 2147483000", "ends where"),
        ("bias 2", "bias nan", "bias must be a finite"),
        ("bias 2\n", "", "bias is missing"),
        ("bias 2", "rho 2", "no word of a header"),
        ("0.5 -0.25 -0.375", "0.5 -0.25", "line 7: feature 1 must have 3 weights, got 2"),
        ("0.5 -0.25 -0.375", "0.5 -0.25 nan", "finite number up to 1e.100, got 'nan'"),
        ("0.5 -0.25 -0.375", "0.5 -0.25 1e999", "finite"),
        ("0.5 -0.25 -0.375", "0.5 -0.25 1_0", "finite"),
        ("0.5 -0.25 -0.375", "0.5 -0.25 1e101", "finite number up to 1e.100"),
    ],
)
def test_a_wrong_file_is_refused_where_it_is_wrong(old, new, words, write):
    path = write(MODEL.replace(old, new))
    with pytest.raises(ModelFileError, match=words) as refusal:
        read_liblinear(path)
    assert str(path) in str(refusal.value)


def test_a_file_cut_anywhere_is_refused_but_in_its_last_number(write):
    whole = MODEL.encode()
    for stop in range(len(whole) - len("0.125 0 1e-3\n") + len("0.125 0 ")):
        with pytest.raises(ModelFileError):
            read_liblinear(write(whole[:stop]))
    for place in range(0, len(whole), 3):
        damaged = whole[:place] + b"\xff" + whole[place + 1 :]
        with pytest.raises(ModelFileError):
            read_liblinear(write(damaged))
