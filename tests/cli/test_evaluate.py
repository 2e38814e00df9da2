"""`fastlin evaluate`, `inspect` and `tune`: the library's figures in a terminal."""

import json

import numpy as np
import pytest
from sklearn import metrics

import fastlin
from fastlin.inspection import explain, summary, top_features
from support.command_line import documents, write


@pytest.fixture(scope="module")
def model(folder):
    return fastlin.load(folder / "model.fastlin")


@pytest.fixture(scope="module")
def held(folder):
    labels, texts = zip(*(line.split("\t") for line in (folder / "dev.tsv").read_text().splitlines()), strict=True)
    return labels, texts


def test_the_figures_of_a_model(shell, folder, model, held):
    labels, texts = held
    words = ["evaluate", folder / "dev.tsv", "-m", folder / "model.fastlin"]
    found = json.loads(shell.right(*words, "--json").out)
    assert found["accuracy"] == model.score(texts, labels)
    assert found["log_loss"] == pytest.approx(metrics.log_loss(labels, model.predict_proba(texts)), rel=1e-6)
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(labels, model.predict(texts), average="macro"))
    shown = shell.right(*words).out
    assert f"accuracy {found['accuracy']:.4f}" in shown
    assert "calibration error" in shown
    assert [line for line in shown.splitlines() if line.startswith("sport ")]


def test_a_check_that_fails_has_an_exit_code(shell, folder):
    words = ["evaluate", folder / "dev.tsv", "-m", folder / "model.fastlin", "--min-accuracy"]
    assert shell(*words, "0.5").code == 0
    done = shell(*words, "1.01")
    assert done.code == 1
    assert "below 1.01" in done.err


def test_documents_without_labels_are_no_test(shell, folder):
    words = ["evaluate", folder / "texts.txt", "-m", folder / "model.fastlin"]
    assert "have no labels" in shell.wrong(*words)
    assert "there are no documents" in shell.wrong("evaluate", "-", "-m", folder / "model.fastlin", stdin="")


@pytest.mark.parametrize("none", ["", "-1"])
def test_rows_without_labels_are_not_counted_as_wrong(shell, tmp_path, none):
    (tmp_path / "some.tsv").write_text(f"good\tfine words\nbad\tpoor words\n{none}\tfine\n")
    (tmp_path / "all.tsv").write_text("good\tfine words\nbad\tpoor words\n")
    shell.right("train", tmp_path / "some.tsv", "-m", tmp_path / "m", "--learner", "semi-nb")
    assert "needs a label" in shell.wrong("evaluate", tmp_path / "some.tsv", "-m", tmp_path / "m")
    assert "accuracy 1.0000 (2 of 2)" in shell.right("evaluate", tmp_path / "all.tsv", "-m", tmp_path / "m").out


def test_what_a_model_holds(shell, folder, tmp_path, model):
    shown = shell.right("inspect", folder / "model.fastlin", "--top", "3").out
    assert str(summary(model)) in shown
    for one in top_features(model, 3):
        assert str(one) in shown
    plain = json.loads(shell.right("inspect", folder / "model.fastlin", "--json", "--label", "food").out)
    assert plain["features"] == model.n_features_in_ if hasattr(model, "n_features_in_") else model[-1].n_features_in_
    assert [one["label"] for one in plain["strongest"]] == ["food"]
    clusters = fastlin.KMeans(2, random_state=0).fit([[1.0, 0], [0, 1]])
    fastlin.save(clusters, tmp_path / "clusters")
    shown = shell.right("inspect", tmp_path / "clusters", "--label", "1").out
    assert shown.startswith(f"{summary(clusters)}\n\n{top_features(clusters, labels=[1])[0]}")
    for command in (["predict", "-m"], ["evaluate", folder / "dev.tsv", "-m"]):
        assert "holds a KMeans, no classifier" in shell.wrong(*command, tmp_path / "clusters")
    assert "no label 'foot'" in shell.wrong("inspect", folder / "model.fastlin", "--label", "foot")


def test_why_a_document_got_its_label(shell, folder, model):
    text = "the ball and the oven"
    words = ["inspect", folder / "model.fastlin"]
    assert shell.right(*words, "--text", text).out == f"{explain(model, text)}\n"
    assert shell.right(*words, "--explain", "-", stdin=text).out == f"{explain(model, text)}\n"
    (found,) = json.loads(shell.right(*words, "--text", text, "--label", "film", "--json").out)
    assert found == json.loads(json.dumps(explain(model, text, "film").as_dict()))


def test_a_file_is_verified_without_being_run(shell, folder, tmp_path):
    assert "is whole" in shell.right("inspect", folder / "model.fastlin", "--verify").out
    data = bytearray((folder / "model.fastlin").read_bytes())
    data[-300] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    done = shell("inspect", tmp_path / "damaged", "--verify")
    assert done.code == 1
    assert "damaged" in done.err
    assert shell("inspect", tmp_path / "none", "--verify").code == 2


PATHS = {
    "logistic": ("C", [0.1, 1, 10, 100, 1000]),
    "svm": ("C", [0.01, 0.1, 1, 10]),
    "nb": ("alpha", [1, 0.3, 0.1, 0.03, 0.01, 0.003]),
    "mira": ("C", [0.001, 0.01, 0.1, 1, 10]),
    "arow": ("r", [100, 10, 1, 0.1]),
}


@pytest.mark.parametrize("learner", PATHS)
def test_a_path_is_tried_and_the_best_is_kept(shell, folder, tmp_path, held, learner):
    labels, texts = held
    words = ["tune", folder / "train.tsv", "--dev", folder / "dev.tsv", "--learner", learner]
    found = json.loads(shell.right(*words, "-m", tmp_path / "m", "--json").out)
    name, values = PATHS[learner]
    assert found["parameter"] == name
    assert [row[name] for row in found["path"]] == values
    best = max(found["path"], key=lambda row: row["accuracy"])
    assert found["best"] == best[name]
    model = fastlin.load(tmp_path / "m")
    assert model[-1].get_params()[name] == best[name]
    assert model.score(texts, labels) == best["accuracy"]
    assert not model[-1].get_params().get("warm_start", False)


def test_warm_starts_end_where_cold_ones_do(shell, folder, tmp_path):
    words = ["tune", folder / "train.tsv", "--dev", folder / "dev.tsv", "--path", "30,1", "--set", "tol=1e-8"]
    shell.right(*words, "-m", tmp_path / "warm", "--metric", "log_loss", "--quiet")
    warm = fastlin.load(tmp_path / "warm")[-1]
    shell.right("train", folder / "train.tsv", "-m", tmp_path / "cold", "--C", f"{warm.C}", "--set", "tol=1e-8", "-q")
    np.testing.assert_allclose(warm.coef_, fastlin.load(tmp_path / "cold")[-1].coef_, rtol=1e-3, atol=1e-4)


def test_no_row_of_a_path_is_that_of_the_value_before(shell, folder):
    words = ["tune", folder / "train.tsv", "--dev", folder / "dev.tsv", "--path", "100,1000,10000", "--json"]
    losses = [row["log_loss"] for row in json.loads(shell.right(*words).out)["path"]]
    exact = [row["log_loss"] for row in json.loads(shell.right(*words, "--set", "tol=1e-9").out)["path"]]
    assert losses == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("where", [["--dev"], ["--folds", "2"]], ids=["dev", "folds"])
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_a_path_says_how_many_weights_there_are(shell, folder, tmp_path, where, penalty):
    """As many as a fit that begins anew has; a weaker prior leaves more."""
    where = [*where, folder / "dev.tsv"] if where == ["--dev"] else where
    settings = ["--set", f"penalty={penalty}", "--set", "tol=1e-7"]
    settings += ["--set", "l1_ratio=0.8"] if penalty == "elasticnet" else []
    words = ["tune", folder / "train.tsv", *where, "--path", "0.5,2,8", *settings, "--json"]
    found = [row["weights"] for row in json.loads(shell.right(*words).out)["path"]]
    assert 0 < found[0] < found[1] < found[2]
    if where[0] == "--dev":
        for C, n_weights in zip(("0.5", "2", "8"), found, strict=True):
            shell.right("train", folder / "train.tsv", "-m", tmp_path / "cold", "--C", C, *settings, "-q")
            cold = np.count_nonzero(fastlin.load(tmp_path / "cold")[-1].coef_)
            assert n_weights == pytest.approx(cold, abs=2)


def test_the_table_of_a_path(shell, folder):
    done = shell.right("tune", folder / "train.tsv", "--dev", folder / "dev.tsv", "--path", "10,0.1")
    assert done.lines[0].split() == ["C", "seconds", "weights", "accuracy", "macro_f1", "log_loss"]
    assert [line.split()[0] for line in done.lines[1:3]] == ["0.1", "10"]
    assert done.lines[3] in ("best: C = 0.1", "best: C = 10")


def test_another_parameter(shell, folder):
    words = ["tune", folder / "train.tsv", "--dev", folder / "dev.tsv", "--json"]
    found = json.loads(shell.right(*words, "--learner", "perceptron", "--parameter", "max_iter", "--path", "1,3").out)
    assert [row["max_iter"] for row in found["path"]] == [1, 3]
    said = {
        ("--learner", "perceptron"): "neither C nor alpha",
        ("--parameter", "c"): "logistic has no c, did you mean 'C'",
        ("--parameter", "tol"): "--path must say which values of tol",
        ("--path", "1,x"): "'x' is no number",
        ("--learner", "svm", "--metric", "log_loss"): "no probabilities",
        ("--metric", "acuracy"): "did you mean 'accuracy'",
    }
    for options, expected in said.items():
        assert expected in shell.wrong(*words, *options)


def test_the_figures_of_scores(shell, folder, model, held):
    labels, texts = held
    words = ["evaluate", folder / "dev.tsv", "-m", folder / "model.fastlin"]
    options = ["--auc", "--top", "1,2", "--threshold", "0.5,0.9", "--min-precision", "0.95"]
    found = json.loads(shell.right(*words, *options, "--json").out)
    assert "ranking" not in json.loads(shell.right(*words, "--json").out)
    figures, p = found["ranking"], model.predict_proba(texts)
    area = metrics.roc_auc_score(labels, p, multi_class="ovr", average="macro")
    assert figures["roc_auc"] == pytest.approx(area, rel=1e-6)
    assert figures["top_k"] == [[1, found["accuracy"]], [2, metrics.top_k_accuracy_score(labels, p, k=2)]]
    assert [cut["documents"] for cut in figures["cuts"]] == [(p.max(axis=1) >= x).sum() for x in (0.5, 0.9)]
    assert [one["label"] for one in figures["operating_points"]] == ["film", "food", "sport"]
    assert all(one["precision"] is None or one["precision"] >= 0.95 for one in figures["operating_points"])
    shown = shell.right(*words, *options).out
    assert f"ROC AUC {area:.4f}" in shown
    assert "threshold 0.9: " in shown
    assert "lowest threshold with a precision of 0.95" in shown


def test_the_figures_of_scores_that_are_no_probabilities(shell, tmp_path):
    write(tmp_path / "x.tsv", documents(80, labels=("film", "food")))
    shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--learner", "svm", "-q")
    found = json.loads(shell.right("evaluate", tmp_path / "x.tsv", "-m", tmp_path / "m", "--auc", "--json").out)
    labels, texts = zip(*documents(80, labels=("film", "food")), strict=True)
    scores = fastlin.load(tmp_path / "m").decision_function(texts)
    area = metrics.roc_auc_score(np.equal(labels, "food"), scores)
    assert found["ranking"]["labels"] == [["film", pytest.approx(area)], ["food", pytest.approx(area)]]


def test_a_check_of_the_f1(shell, folder):
    words = ["evaluate", folder / "dev.tsv", "-m", folder / "model.fastlin", "--min-f1"]
    assert shell(*words, "0.5").code == 0
    done = shell(*words, "1.01")
    assert (done.code, "the macro F1 is below 1.01" in done.err) == (1, True)
