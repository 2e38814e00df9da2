"""Columns by name and number: nothing is guessed, dev files keep their own ways, and what is asked for is handed on."""

import argparse
import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin.cli.training_data import TrainingData, checked
from support.command_line import documents, write
from support.estimators import assert_same_bits

PAIRS = documents(120)
QUOTED = [f'"{text}",{label}\n' for label, text in PAIRS]


@pytest.fixture
def reviews(tmp_path):
    """reviews.csv, whose header has names of its own."""
    (tmp_path / "reviews.csv").write_text("review,sentiment\n" + "".join(QUOTED))
    return tmp_path / "reviews.csv"


@pytest.fixture
def expected(tmp_path, shell):
    """The model of the same documents in TSV."""
    shell.right("train", write(tmp_path / "expected.tsv", PAIRS), "-m", tmp_path / "expected", "-q")
    return fastlin.load(tmp_path / "expected")


def assert_same_model(path, expected):
    model = fastlin.load(path)
    assert_same_bits(model[-1], expected[-1])
    assert model.classes_.tolist() == ["film", "food", "sport"]


@pytest.mark.parametrize("command", ["train", "tune", "evaluate", "predict", "convert"])
@pytest.mark.parametrize("options", [[], ["--header"]])
def test_an_unknown_header_of_two_columns_is_refused(shell, reviews, folder, tmp_path, command, options):
    words = {
        "train": [reviews, "-m", tmp_path / "m"],
        "tune": [reviews, "--folds", "2"],
        "evaluate": [reviews, "-m", folder / "model.fastlin"],
        "predict": [reviews, "-m", folder / "model.fastlin"],
        "convert": [reviews, "-o", tmp_path / "x.tsv"],
    }[command]
    said = shell.wrong(command, *words, *options)
    assert f"reviews.csv, line 1: say which column{' is' if command == 'predict' else 's are'} the" in said
    assert "0: 'review', 1: 'sentiment'" in said
    assert ("--label and --text" if command != "predict" else "--text takes") in said
    assert "--no-header" in said
    assert not (tmp_path / "m").exists()
    if command == "train":
        assert "say which columns are" in shell.wrong(command, *words, *options, "--out-of-core")


@pytest.mark.parametrize(
    "options",
    ["--label sentiment --text review", "--label sentiment", "--text review", "--header --label 1 --text 0"],
)
def test_said_which_is_which_it_is_learnt(shell, reviews, expected, tmp_path, options):
    shell.right("train", reviews, "-m", tmp_path / "m", *options.split())
    assert_same_model(tmp_path / "m", expected)
    evaluated = shell.right("evaluate", reviews, "-m", tmp_path / "m", *options.split(), "--json").out
    assert json.loads(evaluated)["documents"] == 120


def test_documents_to_predict_need_no_label_column(shell, expected, tmp_path):
    texts = [text for _, text in PAIRS[:9]]
    labels = expected.predict(texts).tolist()
    words = ["-m", tmp_path / "expected"]
    tables = {
        "two.csv": "body,id\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts)),
        "one.csv": "body\n" + "".join(f"{text}\n" for text in texts),
        "two.tsv": "id\tbody\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(texts)),
        "new.jsonl": "".join(json.dumps({"body": text}) + "\n" for text in texts),
    }
    for name, table in tables.items():
        (tmp_path / name).write_text(table)
        assert shell.right("predict", tmp_path / name, *words, "--text", "body").lines == labels
    (tmp_path / "usual.csv").write_text("id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    assert shell.right("predict", tmp_path / "usual.csv", *words).lines == labels
    (tmp_path / "bare.csv").write_text("".join(f"x,{text}\n" for text in texts))
    assert shell.right("predict", tmp_path / "bare.csv", *words, "--no-header").lines == labels
    pyarrow.parquet.write_table(pa.table({"text": texts}), tmp_path / "new.parquet")
    assert shell.right("predict", tmp_path / "new.parquet", *words).lines == labels
    (tmp_path / "many.ft").write_text("".join(f"__label__a __label__b {text}\n" for text in texts))
    assert shell.right("predict", tmp_path / "many.ft", *words).lines == labels


def test_as_many_labels_as_documents_are_warned_of(shell, tmp_path):
    rows = "".join(f"{text} {n}\t{label}\n" for n, (label, text) in enumerate(PAIRS[:30]))
    (tmp_path / "turned.tsv").write_text(rows)
    for options in ([], ["--out-of-core"]):
        done = shell("train", tmp_path / "turned.tsv", "-m", tmp_path / "m", "--learner", "nb", "-q", *options)
        assert done.code == 0
        assert done.err.startswith("fastlin train: warning: there are as many labels as documents, 30: are --label")
    done = shell("evaluate", write(tmp_path / "x.tsv", PAIRS), "-m", tmp_path / "m")
    assert "warning" in done.err
    assert "the model knows none of the labels, film, food, sport" in done.err


@pytest.mark.parametrize("options", [[], ["--out-of-core"]])
def test_a_header_that_was_taken_for_a_document_is_warned_of(shell, reviews, tmp_path, options):
    (tmp_path / "x.tsv").write_text("sentiment\treview\n" + "".join(f"{label}\t{text}\n" for label, text in PAIRS))
    for words in ([reviews, "--label", "1", "--text", "0"], [tmp_path / "x.tsv"]):
        done = shell("train", *words, "-m", tmp_path / "m", "-q", *options)
        assert done.code == 0
        assert "only the first document has the label 'sentiment': is its line a header? --header says" in done.err
        shell.right("train", *words, "-m", tmp_path / "m", "-q", "--no-header", *options)


def test_texts_of_several_columns_are_joined(shell, expected, tmp_path):
    halves = [(label, *(" ".join(part) for part in (text.split()[:4], text.split()[4:]))) for label, text in PAIRS]
    (tmp_path / "x.csv").write_text("title,kind,body\n" + "".join(f"{a},{kind},{b}\n" for kind, a, b in halves))
    words = ["--text", "title", "--text", "body"]
    for options in ([], ["--out-of-core"]):
        shell.right("train", tmp_path / "x.csv", "-m", tmp_path / "m", "--label", "kind", *words, *options)
        assert_same_model(tmp_path / "m", expected)
    found = shell.right("predict", tmp_path / "x.csv", "-m", tmp_path / "m", *words).lines
    assert found == expected.predict([text for _, text in PAIRS]).tolist()
    shell.right("convert", tmp_path / "x.csv", "-o", tmp_path / "x.tsv", *words)
    assert (tmp_path / "x.tsv").read_text().splitlines() == [f"{label}\t{text}" for label, text in PAIRS]


# --- the documents held out ------------------------------------------------------------------------------------------


def test_a_dev_file_of_another_kind(shell, tmp_path):
    rows = [f"{label};{text};1\n" for label, text in PAIRS]
    (tmp_path / "x.csv").write_text("label;text;w\n" + "".join(rows))
    (tmp_path / "same.csv").write_text("label;text\n" + "".join(row.rsplit(";", 1)[0] + "\n" for row in rows))
    write(tmp_path / "dev.tsv", PAIRS)
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps({"label": a, "text": b}) + "\n" for a, b in PAIRS))
    (tmp_path / "dev.ft").write_text("".join(f"__label__{a} {b}\n" for a, b in PAIRS))
    words = ["-m", tmp_path / "m", "--weight", "w", "--delimiter", ";", "--json"]
    figures = set()
    for dev in ("x.csv", "same.csv", "dev.tsv", "dev.jsonl", "dev.ft"):
        for source, piped in (
            ([tmp_path / "x.csv"], None),
            (["-", "--format", "csv"], (tmp_path / "x.csv").read_text()),
        ):
            done = shell.right("train", *source, *words, "--dev", tmp_path / dev, stdin=piped)
            figures.add(json.loads(done.out)["dev_accuracy"])
    assert len(figures) == 1
    done = shell.right("tune", tmp_path / "x.csv", *words, "--dev", tmp_path / "same.csv", "--path", "1,10")
    assert len(json.loads(done.out)["path"]) == 2
    words = ["train", "-", "--format", "tsv", "-m", tmp_path / "m", "--json", "--dev"]
    (tmp_path / "dev.txt").write_bytes((tmp_path / "dev.tsv").read_bytes())
    piped = (tmp_path / "dev.tsv").read_text()
    assert json.loads(shell.right(*words, tmp_path / "dev.txt", stdin=piped).out)["dev_accuracy"] > 0.9


def test_a_dev_file_without_the_header_of_the_others(shell, reviews, tmp_path):
    words = ["train", reviews, "--label", "sentiment", "--text", "review", "-m", tmp_path / "m", "--json", "--dev"]
    write(tmp_path / "dev.tsv", PAIRS)
    write(tmp_path / "headed.tsv", [("sentiment", "review"), *PAIRS])
    turned = "".join(f"{text}\t{label}\n" for label, text in [("sentiment", "review"), *PAIRS])
    (tmp_path / "turned.tsv").write_text(turned)
    found = {
        json.loads(shell.right(*words, tmp_path / f"{name}.tsv").out)["dev_accuracy"]
        for name in ("dev", "headed", "turned")
    }
    assert len(found) == 1
    assert found.pop() > 0.9


def test_the_same_suffix_is_the_same_format(shell, tmp_path):
    write(tmp_path / "x.txt", PAIRS)
    words = [
        "train",
        tmp_path / "x.txt",
        "--format",
        "tsv",
        "-m",
        tmp_path / "m",
        "--dev",
        tmp_path / "x.txt",
        "--json",
    ]
    assert json.loads(shell.right(*words).out)["dev_accuracy"] > 0.9


# --- what is handed on -----------------------------------------------------------------------------------------------


@pytest.fixture
def mail(tmp_path):
    """mail.csv: ids and names with all that breaks lines."""
    rows = [f'{n},{label},"{text}","a ""name""\twith\r\nbreaks {n}"\n' for n, (label, text) in enumerate(PAIRS[:20])]
    (tmp_path / "mail.csv").write_bytes(("id,label,text,name\n" + "".join(rows)).encode())
    return tmp_path / "mail.csv"


def test_ids_and_columns_are_handed_on(shell, folder, mail):
    words = ["predict", mail, "-m", folder / "model.fastlin"]
    labels = shell.right(*words).lines
    assert shell.right(*words, "--id", "id").lines == [f"{n}\t{label}" for n, label in enumerate(labels)]
    done = shell.right(*words, "--id", "id", "--keep", "name", "--keep", "label", "--proba", "--top", "2")
    for n, line in enumerate(done.lines):
        first, name, own, *rest = line.split("\t")
        assert (first, name, own) == (str(n), f'a "name" with breaks {n}', PAIRS[n][0])
        assert len(rest) == 4
        assert rest[0] == labels[n]
    found = [json.loads(line) for line in shell.right(*words, "--id", "id", "--keep", "name", "--json").lines]
    assert [one["label"] for one in found] == labels
    assert found[3]["columns"] == {"id": "3", "name": 'a "name"\twith\r\nbreaks 3'}


def test_ids_stay_with_their_documents(shell, folder, tmp_path):
    lines = [json.dumps({"text": text, "id": n, "tags": ["é", None]}) for n, (_, text) in enumerate(PAIRS[:10])]
    lines[4] = "broken"
    words = ["predict", "-", "--format", "jsonl", "-m", folder / "model.fastlin", "--id", "id", "--on-error", "skip"]
    done = shell(*words, "--keep", "tags", stdin="\n".join(lines))
    model = fastlin.load(folder / "model.fastlin")
    right = model.predict([text for _, text in PAIRS[:10]]).tolist()
    assert done.lines == [f'{n}\t["\\u00e9", null]\t{right[n]}' for n in range(10) if n != 4]
    table = pa.table({"text": [text for _, text in PAIRS], "id": range(len(PAIRS))})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    done = shell.right("predict", tmp_path / "x.parquet", "-m", folder / "model.fastlin", "--id", "id")
    assert [line.split("\t")[0] for line in done.lines] == [str(n) for n in range(len(PAIRS))]


def test_columns_that_cannot_be_handed_on(shell, folder, mail, tmp_path):
    words = ["predict", "-m", folder / "model.fastlin"]
    assert "there is no column 'nosuch'" in shell.wrong(*words, mail, "--id", "nosuch")
    assert "keep names a column twice" in shell.wrong(*words, mail, "--id", "id", "--keep", "id")
    assert "keep=['id'] means nothing for lines" in shell.wrong(*words, "--id", "id", stdin="a text\n")


# --- formats ---------------------------------------------------------------------------------------------------------


def test_fasttexts_files(shell, expected, tmp_path):
    (tmp_path / "x.ft").write_text("".join(f"__label__{label} {text}\n" for label, text in PAIRS))
    for options in ([], ["--out-of-core"]):
        shell.right("train", tmp_path / "x.ft", "-m", tmp_path / "m", *options)
        assert_same_model(tmp_path / "m", expected)
    data = (tmp_path / "x.ft").read_bytes()
    shell.right("train", "-", "--format", "fasttext", "-m", tmp_path / "m", stdin=data)
    assert_same_model(tmp_path / "m", expected)
    (tmp_path / "y.ft").write_bytes(b"__label__film __label__food cast\n" + data)
    assert "y.ft, line 1: the line has 2 labels" in shell.wrong("train", tmp_path / "y.ft", "-m", tmp_path / "m")


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_tables_out_of_pipes(shell, expected, tmp_path, form):
    labels, texts = zip(*PAIRS, strict=True)
    table = pa.table({"label": labels, "text": texts})
    if form == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "x")
    elif form == "arrow":
        pyarrow.feather.write_feather(table, tmp_path / "x", compression="uncompressed")
    else:
        with pa.OSFile(str(tmp_path / "x"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    data, name = (tmp_path / "x").read_bytes(), "parquet" if form == "parquet" else "arrow"
    for options in ([], ["--out-of-core"]):
        shell.right("train", "-", "--format", name, "-m", tmp_path / "m", *options, stdin=data)
        assert_same_model(tmp_path / "m", expected)
    found = shell.right("predict", "-", "--format", name, "-m", tmp_path / "m", stdin=data).lines
    assert found == expected.predict(texts).tolist()
    assert "documents" in shell.right("evaluate", "-", "--format", name, "-m", tmp_path / "m", stdin=data).out
    assert f"the {name} file is damaged" in shell.wrong(
        "train", "-", "--format", name, "-m", tmp_path / "m", stdin=data[:-400]
    )


# --- labels ----------------------------------------------------------------------------------------------------------


def test_an_empty_label_is_none(shell, folder, tmp_path):
    write(tmp_path / "some.tsv", [*PAIRS, ("", "ball goal"), ("", "soup")])
    words = ["train", tmp_path / "some.tsv", "-m", tmp_path / "m"]
    assert "2 of 122 documents have an empty label, which is none; semi-nb learns from them" in shell.wrong(*words)
    assert "documents have an empty label" in shell.wrong(*words, "--out-of-core")
    assert "empty label" in shell.wrong("tune", *words[1:], "--folds", "3")
    shell.right(*words, "--learner", "semi-nb")
    assert fastlin.load(tmp_path / "m").classes_.tolist() == ["film", "food", "sport"]
    said = shell.wrong("evaluate", tmp_path / "some.tsv", "-m", folder / "model.fastlin")
    assert "some.tsv: 2 documents have an empty label, which is none" in said
    shell.right("convert", tmp_path / "some.tsv", "-o", tmp_path / "shards")
    assert "empty label" in shell.wrong("train", tmp_path / "shards", "-m", tmp_path / "m")
    shell.right("train", tmp_path / "shards", "-m", tmp_path / "m", "--learner", "semi-nb")
    (tmp_path / "some.vw").write_text("1 | a\n| b\n2 | c\n")
    assert "1 of 3 documents have an empty label" in shell.wrong("train", tmp_path / "some.vw", "-m", tmp_path / "m")


@pytest.mark.parametrize("spelling", ["-1", "-1.0", "-1e0"])
def test_a_numeric_label_in_any_spelling(shell, tmp_path, spelling):
    (tmp_path / "x.svm").write_text("1 1:1 2:2\n-1 1:1\n1 1:3\n-1 3:2 4:0.5\n")
    shell.right("train", tmp_path / "x.svm", "-m", tmp_path / "m")
    found = json.loads(shell.right("inspect", tmp_path / "m", f"--label={spelling}", "--json").out)
    assert [one["label"] for one in found["strongest"]] == [-1]
    assert "no label '2'" in shell.wrong("inspect", tmp_path / "m", "--label", "2")


def test_labels_are_shown_alike(shell, tmp_path):
    (tmp_path / "x.svm").write_text("1 1:1 2:2\n-1 1:1\n2 1:3\n-1 3:2 4:0.5\n")
    shell.right("train", tmp_path / "x.svm", "-m", tmp_path / "m", "-q")
    predicted = set(shell.right("predict", tmp_path / "x.svm", "-m", tmp_path / "m").lines)
    assert predicted <= {"1", "-1", "2"}
    done = shell.right("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m")
    assert [line.split()[0] for line in done.lines[3:6]] == ["-1", "1", "2"]
    found = json.loads(shell.right("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m", "--json").out)
    assert json.dumps([one["label"] for one in found["labels"]]) == "[-1, 1, 2]"


def test_words_stand_for_the_numbers_of_a_model(shell, tmp_path):
    texts, y = [text for _, text in PAIRS], np.array([len(label) for label, _ in PAIRS])
    model = make_pipeline(fastlin.TfidfVectorizer(), fastlin.LogisticRegression(C=10)).fit(texts, y)
    fastlin.save(model, tmp_path / "m")
    write(tmp_path / "x.tsv", [(str(one), text) for one, text in zip(y, texts, strict=True)])
    found = json.loads(shell.right("evaluate", tmp_path / "x.tsv", "-m", tmp_path / "m", "--json").out)
    assert found["accuracy"] == model.score(texts, y)


def test_long_labels_take_no_more_memory_than_they_have():
    labels = ["a " * 400_000, *(f"label{n}" for n in range(3000))]
    data = TrainingData(np.zeros((len(labels), 1)), labels, None, [])
    tracemalloc.start()
    try:
        with pytest.warns(UserWarning, match=r"as many labels as documents, 3,001"):
            checked(data, argparse.Namespace(learner="logistic", header=None))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000  # an array of numpy's would take 9.6 GB
