"""`fastlin predict` prints what the model says, a line a document, in files and in pipes."""

import gzip
import json

import numpy as np
import pytest

import fastlin
from support.command_line import documents, write


@pytest.fixture(scope="module")
def model(folder):
    return fastlin.load(folder / "model.fastlin")


@pytest.fixture(scope="module")
def texts(folder):
    return (folder / "texts.txt").read_text().splitlines()


def test_labels_of_files_and_of_pipes(shell, folder, model, texts, tmp_path):
    expected = model.predict(texts).tolist()
    (tmp_path / "texts.txt.gz").write_bytes(gzip.compress((folder / "texts.txt").read_bytes()))
    words = ["predict", "-m", folder / "model.fastlin"]
    assert shell.right(*words, folder / "texts.txt").lines == expected
    assert shell.right(*words, tmp_path / "texts.txt.gz").lines == expected
    assert shell.right(*words, folder / "dev.tsv").lines == expected
    assert shell.right(*words, stdin=(folder / "texts.txt").read_bytes()).lines == expected
    assert shell.right(*words, "-", folder / "texts.txt", "--format", "lines", stdin=texts[0] + "\n").lines == [
        expected[0],
        *expected,
    ]


def test_objects_without_a_label(shell, folder, model, texts, tmp_path):
    rows = "".join(json.dumps({"text": text, "n": 1}) + "\n" for text in texts)
    (tmp_path / "new.jsonl").write_text(rows)
    words = ["predict", "-m", folder / "model.fastlin"]
    assert shell.right(*words, tmp_path / "new.jsonl").lines == model.predict(texts).tolist()
    assert shell.right(*words, "--format", "jsonl", stdin=rows).lines == model.predict(texts).tolist()


def test_a_line_for_every_document_even_an_empty_one(shell, folder):
    done = shell.right("predict", "-m", folder / "model.fastlin", stdin=b"\nball goal\r\n\nsoup oven")
    assert len(done.lines) == 4
    assert done.lines[1] == "sport"
    assert done.lines[3] == "food"
    assert shell.right("predict", "-m", folder / "model.fastlin", stdin=b"").out == ""


@pytest.mark.parametrize("learner", ["logistic", "svm", "nb", "sgd"])
@pytest.mark.parametrize("labels", [("film", "sport", "food"), ("film", "food")], ids=["three", "two"])
def test_probabilities_and_scores(shell, tmp_path, labels, learner):
    write(tmp_path / "train.tsv", documents(80, labels=labels))
    shell.right("train", tmp_path / "train.tsv", "-m", tmp_path / "m", "--learner", learner, "--quiet")
    model = fastlin.load(tmp_path / "m")
    text = "ball soup camera"
    words = ["predict", "-m", tmp_path / "m", "--top", "0"]
    if learner == "svm":
        assert "no probabilities; --scores" in shell.wrong(*words, "--proba", stdin=text)
    else:
        (line,) = shell.right(*words, "--proba", stdin=text).lines
        found = dict(zip(line.split("\t")[::2], map(float, line.split("\t")[1::2]), strict=True))
        expected = dict(zip(model.classes_, model.predict_proba([text])[0], strict=True))
        assert found == pytest.approx(expected, rel=1e-5)
        assert list(found) == sorted(found, key=found.get, reverse=True)
    (line,) = shell.right(*words, "--scores", stdin=text).lines
    found = dict(zip(line.split("\t")[::2], map(float, line.split("\t")[1::2]), strict=True))
    if learner == "nb":
        expected = model.predict_log_proba([text])[0]
    else:
        scores = np.atleast_1d(model.decision_function([text])[0])
        expected = scores if len(labels) > 2 else [-scores[0], scores[0]]
    assert found == pytest.approx(dict(zip(model.classes_, expected, strict=True)), rel=1e-5)
    (line,) = shell.right("predict", "-m", tmp_path / "m", "--top", "2", stdin=text).lines
    assert line.split("\t") == list(found)[:2]
    assert line.split("\t")[0] == model.predict([text])[0]


def test_json_lines(shell, folder, model):
    text = "ball goal"
    words = ["predict", "-m", folder / "model.fastlin", "--json"]
    assert json.loads(shell.right(*words, stdin=text).out) == {"label": "sport"}
    best = json.loads(shell.right(*words, "--proba", stdin=text).out)
    assert best == {"label": "sport", "value": pytest.approx(model.predict_proba([text]).max())}
    two = json.loads(shell.right(*words, "--proba", "--top", "2", stdin=text).out)
    assert two["label"] == two["labels"][0]["label"] == "sport"
    assert two["labels"][0]["value"] >= two["labels"][1]["value"]


def test_columns_that_are_not_the_usual_ones(shell, folder, texts, model):
    table = "id,words,kind\n" + "".join(f'{i},"{text}",x\n' for i, text in enumerate(texts))
    words = ["predict", "-m", folder / "model.fastlin", "--format", "csv", "--text", "words", "--label", "none"]
    assert shell.right(*words, stdin=table).lines == model.predict(texts).tolist()


def test_rows_of_numbers(shell, tmp_path):
    (tmp_path / "x.svmlight").write_text("1 0:1 2:2\n-1 1:1\n1 0:3\n-1 1:2 2:0.5\n")
    shell.right("train", tmp_path / "x.svmlight", "-m", tmp_path / "m")
    assert shell.right("predict", tmp_path / "x.svmlight", "-m", tmp_path / "m").lines == ["1", "-1", "1", "-1"]
    assert "takes rows of numbers" in shell.wrong("inspect", tmp_path / "m", "--text", "a word")
    assert "labels    2: -1, 1" in shell.right("inspect", tmp_path / "m").out
    (tmp_path / "wide.svmlight").write_text("1 0:2 9999:7\n-1\n")  # a column that was never met
    assert shell.right("predict", tmp_path / "wide.svmlight", "-m", tmp_path / "m").lines[0] == "1"
    assert "rows of numbers are wanted" in shell.wrong("predict", "-m", tmp_path / "m", stdin="a text\n")


def test_a_file_that_is_no_model(shell, folder, tmp_path):
    words = ["predict", folder / "texts.txt", "-m"]
    assert "texts.txt" in shell.wrong(*words, folder / "texts.txt")
    assert "No such file" in shell.wrong(*words, tmp_path / "nothing")
    data = bytearray((folder / "model.fastlin").read_bytes())
    data[len(data) // 2] ^= 8
    (tmp_path / "damaged").write_bytes(data)
    assert "damaged" in shell.wrong(*words, tmp_path / "damaged")
    fastlin.save(fastlin.load(folder / "model.fastlin")[0], tmp_path / "words")
    assert "holds a TfidfVectorizer, no classifier" in shell.wrong(*words, tmp_path / "words")
    (tmp_path / "short").write_bytes(data[:1000])
    assert "short" in shell.wrong(*words, tmp_path / "short")


def test_a_label_with_tabs_and_line_ends_stays_in_its_column(shell, tmp_path):
    (tmp_path / "x.csv").write_text('label,text\n"a\tb",good film\n"c\r\nd",bad plot\n')
    shell.right("train", tmp_path / "x.csv", "-m", tmp_path / "m", "--learner", "nb")
    words = ["predict", "-m", tmp_path / "m"]
    assert shell.right(*words, stdin="good film\nbad plot\n").lines == ["a b", "c d"]
    scored = shell.right(*words, "--proba", "--top", "0", stdin="bad\n").lines
    assert [row.split("\t")[::2] for row in scored] == [["c d", "a b"]]
    assert json.loads(shell.right(*words, "--json", stdin="bad\n").out) == {"label": "c\r\nd"}


def test_mistakes(shell, folder):
    words = ["predict", "-m", folder / "model.fastlin"]
    assert "--top takes a number of labels, got -1" in shell.wrong(*words, "--top", "-1", stdin="x")
    assert "not allowed with argument" in shell.wrong(*words, "--proba", "--scores", stdin="x")
    assert "required: -m/--model" in shell.wrong("predict", stdin="x")
    assert "did you mean '--proba'" in shell.wrong(*words, "--prob", stdin="x")
    assert "dev.tsv" in shell.wrong(*words, folder / "dev.tsv", folder / "texts.txt")  # two formats
