"""Rows of numbers: models of the command line count columns as `load_svmlight` does, and keep it."""

import numpy as np
import pytest
from scipy import sparse

import fastlin
from fastlin import Corpus
from fastlin.data import dump_svmlight, load_svmlight
from fastlin.storage import ModelFileError


@pytest.fixture(params=[True, False], ids=["from 0", "from 1"])
def rows(request, tmp_path):
    """x.svm and y.svm, whose first columns have index 0 or 1; those of y.svm are empty."""
    X = sparse.random_array((60, 9), density=0.4, rng=np.random.default_rng(0), format="csr").toarray()
    X = np.round(X * 64) / 64  # which float32 holds
    X[0, 0], X[0, 8] = 1, 1
    y = np.where(X[:, :4].sum(axis=1) > X[:, 4:].sum(axis=1), 1, -1)
    dump_svmlight(X, y, tmp_path / "x.svm", zero_based=request.param)
    X[:, 0] = 0
    dump_svmlight(X, y, tmp_path / "y.svm", zero_based=request.param)
    return tmp_path


@pytest.mark.parametrize("options", [[], ["--out-of-core"]])
def test_a_model_scores_what_load_svmlight_gives(shell, rows, options):
    shell.right("train", rows / "x.svm", "-m", rows / "m", *options)
    model = fastlin.load(rows / "m")
    X, y = load_svmlight(rows / "x.svm")
    assert model.n_features_in_ == X.shape[1] == 9
    assert f"accuracy {model.score(X, y):.4f}" in shell.right("evaluate", rows / "x.svm", "-m", rows / "m").out
    labels = [str(int(one)) for one in model.predict(X)]
    assert shell.right("predict", rows / "x.svm", "-m", rows / "m").lines == labels
    piped = ["predict", "-", "--format", "svmlight", "-m", rows / "m"]
    assert shell.right(*piped, stdin=(rows / "x.svm").read_bytes()).lines == labels
    shell.right("train", "-", "--format", "svmlight", "-m", rows / "n", stdin=(rows / "x.svm").read_bytes())
    np.testing.assert_array_equal(fastlin.load(rows / "n").coef_, model.coef_)


def test_a_file_without_the_first_column_is_read_as_the_model_counts(shell, rows):
    shell.right("train", rows / "x.svm", "-m", rows / "m")
    model = fastlin.load(rows / "m")
    first = getattr(model, "svmlight_first_index_", 0)
    X, _ = load_svmlight(rows / "y.svm", zero_based=not first, n_features=9)
    labels = [str(int(one)) for one in model.predict(X)]
    assert shell.right("predict", rows / "y.svm", "-m", rows / "m").lines == labels
    other = shell.right("predict", rows / "y.svm", "-m", rows / "m", "--first-index", str(first)).lines
    assert other == labels


def test_stored_rows_know_it_too(shell, rows):
    shell.right("convert", rows / "x.svm", "-o", rows / "shards")
    shell.right("train", rows / "shards", "-m", rows / "m")
    shell.right("train", rows / "x.svm", "-m", rows / "n")
    one, other = fastlin.load(rows / "m"), fastlin.load(rows / "n")
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert shell.right("predict", rows / "x.svm", "-m", rows / "m").lines == (
        shell.right("predict", rows / "shards", "-m", rows / "n").lines
    )
    first = Corpus(rows / "shards").first_index
    assert first == getattr(one, "svmlight_first_index_", 0)
    assert Corpus(rows / "shards").subset([0, 1]).first_index == first
    shell.right("convert", rows / "shards", "-o", rows / "again.svm")
    assert (rows / "again.svm").read_bytes() == (rows / "x.svm").read_bytes()
    shell.right("convert", rows / "y.svm", "-o", rows / "others", "--first-index", str(1 - first), "--on-error", "skip")
    said = shell.wrong("predict", rows / "others", "-m", rows / "m")
    assert f"convert the file anew with --first-index {first}" in said


def test_what_a_file_may_say_of_it(tmp_path):
    model = fastlin.Perceptron().fit([[1, 0], [0, 1]], [0, 1])
    for index in (2, "1", True):
        model.svmlight_first_index_ = index
        fastlin.save(model, tmp_path / "m")
        with pytest.raises(ModelFileError, match="index of no first column"):
            fastlin.load(tmp_path / "m")
    model.svmlight_first_index_ = 1
    fastlin.save(model, tmp_path / "m")
    assert fastlin.load(tmp_path / "m").svmlight_first_index_ == 1


def test_weights_of_rows(shell, tmp_path):
    (tmp_path / "x.svm").write_text("1:1 1:1\n-1:5 1:1\n1:0 2:1\n-1:1 3:1\n1:1 4:1\n")
    words = ["train", tmp_path / "x.svm", "-m", tmp_path / "m", "--weight", "1", "--dev", tmp_path / "x.svm"]
    for options in ([], ["--out-of-core"]):
        shell.right(*words, *options)
        (tmp_path / "new.svm").write_text("1 1:1\n")
        assert shell.right("predict", tmp_path / "new.svm", "-m", tmp_path / "m").out == "-1\n"
