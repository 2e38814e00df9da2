"""`fastlin tune --folds`: each part of the documents is labelled by a learner of the others."""

import json

import numpy as np
import pytest

import fastlin
from fastlin.cli.trials import split
from support.command_line import documents, write
from support.estimators import assert_same_bits


@pytest.mark.parametrize("n", [2, 3, 7])
def test_parts_have_as_many_of_each_label_as_can_be(n):
    labels = np.array(list("aaaaabbbbbbbbbbbbbcd" * 3))
    there = np.arange(60) % 7 > 0
    parts = split(labels, there, n, 0)
    assert sorted(np.concatenate(parts).tolist()) == np.flatnonzero(there).tolist()
    for label in "abcd":
        counts = [(labels[part] == label).sum() for part in parts]
        assert max(counts) - min(counts) <= 1
    assert all((part[1:] > part[:-1]).all() for part in parts)
    assert any((a != b).any() for a, b in zip(split(labels, there, 2, 0), split(labels, there, 2, 1), strict=True))


@pytest.mark.parametrize("learner", ["nb", "logistic", "svm"])
@pytest.mark.parametrize("where", [[], ["--out-of-core"]])
def test_the_figures_are_those_of_fits_by_hand(shell, folder, tmp_path, learner, where):
    words = ["tune", folder / "train.tsv", "--folds", "4", "--learner", learner, "--counts", "--dtype", "float64"]
    tol = [] if learner == "nb" else ["--set", "tol=1e-8"]
    found = json.loads(shell.right(*words, *tol, "--path", "0.1,1", "--json", *where).out)
    labels, texts = zip(*(line.split("\t") for line in (folder / "train.tsv").read_text().splitlines()), strict=True)
    y, X = np.array(labels), fastlin.CountVectorizer(dtype=np.float64).fit_transform(texts)
    name = found["parameter"]
    parts = split(y, np.ones(len(y), bool), 4, 0)
    for row in found["path"]:
        right, each = 0, []
        for part in parts:
            others = np.setdiff1d(np.arange(len(y)), part)
            made = {
                "nb": lambda value: fastlin.MultinomialNB(alpha=value),
                "logistic": lambda value: fastlin.LogisticRegression(C=value, tol=1e-8, random_state=0),
                "svm": lambda value: fastlin.LinearSVC(C=value, tol=1e-8, random_state=0),
            }[learner](row[name])
            hits = made.fit(X[others], y[others]).predict(X[part]) == y[part]
            right += hits.sum()
            each.append(hits.mean())
        assert row["accuracy"] == pytest.approx(right / len(y))
        assert row["deviation"] == pytest.approx(np.std(each, ddof=1))
    best = max(found["path"], key=lambda row: row["accuracy"])
    assert found["best"] == best[name]


def test_the_model_learns_from_all_documents(shell, folder, tmp_path):
    words = [folder / "train.tsv", "--learner", "nb", "-m"]
    done = shell.right("tune", *words, tmp_path / "tuned", "--folds", "3", "--path", "0.1")
    assert done.lines[0].split() == ["alpha", "seconds", "accuracy", "macro_f1", "log_loss", "deviation"]
    assert "saved as" in done.lines[-1]
    shell.right("train", *words, tmp_path / "trained", "--alpha", "0.1")
    assert_same_bits(fastlin.load(tmp_path / "tuned")[-1], fastlin.load(tmp_path / "trained")[-1])
    again = ["tune", *words[:3], "--folds", "3", "--json"]
    one, other = (json.loads(shell.right(*again, "--seed", seed).out)["path"] for seed in ("0", "1"))
    assert one != other


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "log_loss"])
def test_what_decides(shell, folder, metric):
    found = json.loads(shell.right("tune", folder / "train.tsv", "--folds", "3", "--metric", metric, "--json").out)
    choose = min if metric == "log_loss" else max
    assert found["best"] == choose(found["path"], key=lambda row: row[metric])["C"]


def test_labels_that_a_part_has_alone_and_rows_without_any(shell, tmp_path):
    write(tmp_path / "x.tsv", [*documents(40), ("rare", "a rare thing")])
    found = json.loads(shell.right("tune", tmp_path / "x.tsv", "--folds", "4", "--path", "1,10", "--json").out)
    assert all(0 < row["accuracy"] < 1 for row in found["path"])
    write(tmp_path / "some.tsv", [*documents(40), *(("", text) for _, text in documents(60, seed=3))])
    words = ["tune", tmp_path / "some.tsv", "--learner", "semi-nb", "--folds", "4", "--path", "0.1,0.01", "--json"]
    for options in ([], ["--out-of-core"]):
        found = json.loads(shell.right(*words, *options, "-m", tmp_path / "m").out)
        assert all(0.5 < row["accuracy"] <= 1 for row in found["path"])
        assert fastlin.load(tmp_path / "m").classes_.tolist() == ["film", "food", "sport"]
    write(tmp_path / "few.tsv", documents(3))
    said = shell.wrong("tune", tmp_path / "few.tsv", "--folds", "4")
    assert "--folds 4: there are only 3 documents with labels" in said
