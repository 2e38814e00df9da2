"""`fastlin import` and `fastlin export`: the models are those of `fastlin.interchange`, and mistakes are told."""

import json

import joblib
import numpy as np
import pytest

import fastlin
from fastlin.interchange import read_safetensors

LIBLINEAR = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5\n-2\n"
VW = "Version 9\nMin label:-1\nMax label:1\nbits:18\noptions:\nChecksum: 1\n:1\n157012:0.5\n116060:-0.25\n"
CRFSUITE = (
    "LABELS = {\n  0: N\n  1: D\n}\nATTRIBUTES = {\n  0: the\n}\nTRANSITIONS = {\n}\n"
    "STATE_FEATURES = {\n  (0) the --> D: 1.5\n}\n"
)


def test_models_of_other_programs_become_model_files(shell, tmp_path):
    for name, text, kind, more in [
        ("liblinear", LIBLINEAR, ["LogisticRegression"], []),
        ("vw", VW, ["VWHasher", "LinearSVC"], ["--loss", "hinge"]),
        ("crfsuite", CRFSUITE, ["CRF"], []),
    ]:
        (tmp_path / name).write_text(text)
        said = shell.right("import", tmp_path / name, "-o", tmp_path / f"{name}.fastlin", "--json", *more).out
        assert json.loads(said)["from"] == name
        assert json.loads(said)["model"] == kind
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    said = shell.right("predict", tmp_path / "rows.svm", "-m", tmp_path / "liblinear.fastlin").out
    assert said.split() == ["1", "-1"]
    (tmp_path / "rows.vw").write_text("1 |t good film\n-1 |t bad\n")
    said = shell.right("predict", tmp_path / "rows.vw", "-m", tmp_path / "vw.fastlin").out
    assert said.split() == ["1", "-1"]
    said = shell.right("tag", "predict", "-m", tmp_path / "crfsuite.fastlin", stdin=b"the\n\n").out
    assert [line.split()[-1] for line in said.splitlines() if line] == ["D"]


def test_a_model_goes_out_as_tensors_and_as_scikit_learn_s_objects(shell, folder, tmp_path):
    texts = (folder / "texts.txt").read_text(encoding="utf-8").splitlines()
    expected = fastlin.load(folder / "model.fastlin").predict(texts).tolist()
    assert "bytes" in shell.right("export", folder / "model.fastlin", "-o", tmp_path / "m.safetensors").out
    assert read_safetensors(tmp_path / "m.safetensors").predict(texts).tolist() == expected
    shell.right("import", tmp_path / "m.safetensors", "-o", tmp_path / "back.fastlin")
    assert fastlin.load(tmp_path / "back.fastlin").predict(texts).tolist() == expected
    shell.right("export", folder / "model.fastlin", "-o", tmp_path / "m.joblib")
    twin = joblib.load(tmp_path / "m.joblib")
    assert type(twin).__module__ == "sklearn.pipeline"
    np.testing.assert_array_equal(twin.predict(texts), expected)


@pytest.mark.parametrize(
    "name, text, more, words",
    [
        ("model", "hello\n", [], "begins like no model"),
        ("model", LIBLINEAR.replace("2\n", "x\n", 1), [], "line 2: nr_class"),
        ("model", LIBLINEAR, ["--from", "vw"], "line 1"),
        ("model", LIBLINEAR, ["--loss", "hinge"], "--loss is of Vowpal Wabbit"),
        ("model", LIBLINEAR, ["--from", "libsvm"], "none of liblinear"),
    ],
)
def test_what_cannot_be_imported_is_told(shell, tmp_path, name, text, more, words):
    (tmp_path / name).write_text(text)
    assert words in shell.wrong("import", tmp_path / name, "-o", tmp_path / "out.fastlin", *more)
    assert not (tmp_path / "out.fastlin").exists()


def test_what_cannot_be_exported_is_told(shell, folder, tmp_path):
    with_itself = ["export", folder / "model.fastlin", "-o", folder / "model.fastlin", "--to", "safetensors"]
    assert "cannot be written: the model is in it" in shell.wrong(*with_itself)
    assert "--to names the format" in shell.wrong("export", folder / "model.fastlin", "-o", tmp_path / "model.txt")
    fastlin.save(fastlin.KMeans(2).fit(np.eye(3)), tmp_path / "k.fastlin")
    assert "KMeans" in shell.wrong("export", tmp_path / "k.fastlin", "-o", tmp_path / "k.joblib")
    assert not (tmp_path / "k.joblib").exists()
