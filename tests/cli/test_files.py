"""Files of every kind, corpora larger than memory, conversions; and what is wrong with files, by name and line."""

import gzip
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import fastlin
from fastlin import Corpus
from fastlin.cli import available_memory
from support.command_line import documents, write
from support.estimators import assert_same_bits

LEARNERS = ["logistic", "svm", "nb", "sgd", "mira"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_model_learnt_out_of_core_is_the_same(shell, folder, tmp_path, learner):
    words = ["train", "--learner", learner, "--ngrams", "2"]
    data = (folder / "train.tsv").read_bytes()
    shell.right(*words, folder / "train.tsv", "-m", tmp_path / "memory")
    shell.right(*words, folder / "train.tsv", "-m", tmp_path / "disk", "--out-of-core")
    shell.right(*words, "-", "-m", tmp_path / "pipe", "--memory", "1k", stdin=data)
    models = [fastlin.load(tmp_path / name) for name in ("memory", "disk", "pipe")]
    for model in models[1:]:
        assert_same_bits(model[-1], models[0][-1])
        assert model[0].vocabulary_ == models[0][0].vocabulary_


@pytest.mark.parametrize("options", ["--hash 10", "--hash 10 --tfidf --keep-names 5", "--counts --min-df 3"])
def test_other_features_out_of_core(shell, folder, tmp_path, options):
    words = ["train", folder / "train.tsv", *options.split(), "-m"]
    shell.right(*words, tmp_path / "memory")
    shell.right(*words, tmp_path / "disk", "--out-of-core")
    one, other = fastlin.load(tmp_path / "memory"), fastlin.load(tmp_path / "disk")
    np.testing.assert_allclose(one[-1].coef_, other[-1].coef_, rtol=1e-4, atol=1e-6)
    assert getattr(one[0], "names_", None) == getattr(other[0], "names_", None)


def test_the_limit_decides_where_rows_lie(shell, folder, tmp_path):
    words = ["train", folder / "train.tsv", "-m", tmp_path / "m", "--verbose", "--memory"]
    assert "converting" in shell(*words, "10k").err
    assert "converting" not in shell(*words, "1G").err
    assert 1 << 20 < available_memory.available() < 1 << 62


def test_memory_has_limits(monkeypatch, tmp_path):
    free = available_memory.available()
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 20, 1 << 30))
    assert available_memory.available() == min(free, 1 << 20)
    monkeypatch.setattr(available_memory, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert available_memory.available() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory.available() > 600


def test_shards_are_converted_once_and_learnt_from(shell, folder, tmp_path):
    words = ["convert", folder / "train.tsv", "-o", tmp_path / "shards", "--save-vectoriser", tmp_path / "v"]
    assert "300 rows" in shell.right(*words).out
    assert len(Corpus(tmp_path / "shards")) == 300
    shell.right("train", tmp_path / "shards", "--vectoriser", tmp_path / "v", "-m", tmp_path / "m")
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], fastlin.load(folder / "model.fastlin")[-1])
    held = shell.right("evaluate", folder / "dev.tsv", "-m", tmp_path / "m").out
    assert held == shell.right("evaluate", folder / "dev.tsv", "-m", folder / "model.fastlin").out
    shell.right("train", tmp_path / "shards", "-m", tmp_path / "rows")
    assert_same_bits(fastlin.load(tmp_path / "rows"), fastlin.load(tmp_path / "m")[-1])
    others = ["train", tmp_path / "shards", "-m", tmp_path / "other"]
    words = ["convert", folder / "dev.tsv", "-o", tmp_path / "w", "--save-vectoriser", tmp_path / "few"]
    shell.right(*words, "--max-features", "20")
    for options in (["--vectoriser", tmp_path / "few"], ["--ngrams", "2"]):
        assert re.search("other features than those of|--ngrams is for texts", shell.wrong(*others, *options))
    words = ["convert", folder / "dev.tsv", "-o", tmp_path / "held", "--vectoriser", tmp_path / "v", "--quiet"]
    shell.right(*words)
    assert shell.right("evaluate", tmp_path / "held", "-m", tmp_path / "rows").out == held
    labels = shell.right("predict", tmp_path / "held", "-m", tmp_path / "rows").lines
    assert labels == shell.right("predict", folder / "dev.tsv", "-m", tmp_path / "m").lines


def test_features_that_are_learnt_are_used_again(shell, folder, tmp_path):
    words = ["train", folder / "dev.tsv", "-m", tmp_path / "m", "--vectoriser", folder / "model.fastlin"]
    shell.right(*words)
    shell.right(*words[:3], tmp_path / "disk", *words[4:], "--out-of-core")
    models = [fastlin.load(path) for path in (tmp_path / "m", tmp_path / "disk", folder / "model.fastlin")]
    assert models[0][0].vocabulary_ == models[2][0].vocabulary_
    assert_same_bits(models[0][-1], models[1][-1])


def test_conversions_keep_what_is_there(shell, folder, tmp_path):
    pairs = [line.split("\t") for line in (folder / "dev.tsv").read_text().splitlines()]
    for packed in ("", ".gz", ".bz2", ".xz", ".zst"):
        shell.right("convert", folder / "dev.tsv", "-o", tmp_path / f"dev.jsonl{packed}")
        done = shell.right("convert", tmp_path / f"dev.jsonl{packed}", "-o", tmp_path / "dev.tsv")
        assert done.out == f"{tmp_path / 'dev.tsv'}: tsv, 60 documents\n"
        assert (tmp_path / "dev.tsv").read_bytes() == (folder / "dev.tsv").read_bytes()
    facts = json.loads(shell.right("convert", folder / "dev.tsv", "-o", tmp_path / "dev.svmlight", "--json").out)
    assert facts["labels"] == ["film", "food", "sport"]
    X, y = fastlin.data.load_svmlight(tmp_path / "dev.svmlight")
    assert [facts["labels"][int(code)] for code in y] == [label for label, _ in pairs]
    vectorizer = fastlin.TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    np.testing.assert_array_equal(X.toarray(), vectorizer.fit_transform([text for _, text in pairs]).toarray())
    shell.right("convert", tmp_path / "dev.svmlight", "-o", tmp_path / "shards")
    shell.right("convert", tmp_path / "shards", "-o", tmp_path / "again.svmlight")
    assert (tmp_path / "again.svmlight").read_bytes() == (tmp_path / "dev.svmlight").read_bytes()


def test_a_conversion_to_standard_output(folder):
    words = [sys.executable, "-m", "fastlin", "convert", str(folder / "dev.tsv"), "-o", "-", "--to", "jsonl"]
    done = subprocess.run(words, capture_output=True, check=True)
    assert [json.loads(line)["label"] for line in done.stdout.splitlines()] == [
        line.split("\t")[0] for line in (folder / "dev.tsv").read_text().splitlines()
    ]


def test_a_device_or_a_pipe_is_written_to_and_stays_one(shell, folder, tmp_path):
    pipe, link, target = tmp_path / "pipe", tmp_path / "link.jsonl", tmp_path / "target"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    shell.right("convert", folder / "dev.tsv", "-o", pipe, "--to", "tsv")
    assert os.read(end, 1 << 20) == (folder / "dev.tsv").read_bytes()
    fastlin.data.dump_svmlight([[0.5]], [1], pipe)
    assert os.read(end, 1 << 20) == b"1 0:0.5\n"
    os.close(end)
    target.touch()
    link.symlink_to(target)
    shell.right("convert", folder / "dev.tsv", "-o", link)
    assert len(target.read_text().splitlines()) == 60
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_no_model_is_written_over_the_documents(shell, folder, tmp_path):
    path, link = tmp_path / "x.tsv", tmp_path / "link"
    path.write_bytes(content := (folder / "dev.tsv").read_bytes())
    link.symlink_to(path)
    for words in (
        ["train", path, "-m", path], ["train", tmp_path / "*.tsv", "-m", link],
        ["train", folder / "train.tsv", "-m", path, "--dev", path], ["tune", path, "--dev", path, "-m", path],
        ["train", path, "-m", tmp_path / "m", "--checkpoint", path],
    ):  # fmt: skip
        assert "the documents are in it" in shell.wrong(*words)
        assert path.read_bytes() == content


def test_conversions_that_make_no_sense(shell, folder, tmp_path):
    (tmp_path / "x.svmlight").write_text("1 0:1\n2 1:1\n")
    words = ["convert", tmp_path / "x.svmlight", "-o"]
    assert "x.svmlight holds rows of numbers" in shell.wrong(*words, tmp_path / "x.tsv")
    assert "have no vectoriser" in shell.wrong(*words, tmp_path / "s", "--save-vectoriser", tmp_path / "v")
    assert "--ngrams is for texts" in shell.wrong(*words, tmp_path / "s", "--ngrams", "2")
    assert "did you mean 'svmlight'" in shell.wrong(*words, tmp_path / "s", "--to", "svmlite")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.svmlight"]


def test_features_by_name(shell, tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(60):
        label = "ab"[rng.integers(2)]
        text = {f"{label}{rng.integers(3)}": 1, "length": int(rng.integers(9)), "kind": "xy"[rng.integers(2)]}
        lines.append(json.dumps({"label": label, "text": text}))
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    for options in ([], ["--hash", "8"], ["--out-of-core"]):
        shell.right("train", tmp_path / "x.jsonl", "-m", tmp_path / "m", *options)
        assert "accuracy 1.0000" in shell.right("evaluate", tmp_path / "x.jsonl", "-m", tmp_path / "m").out
    said = shell.wrong("train", tmp_path / "x.jsonl", "-m", tmp_path / "m", "--ngrams", "2")
    assert "--ngrams is for texts" in said


def test_weights_of_documents(shell, tmp_path):
    rows = [("up", "good day", 1), ("down", "bad day", 1), ("up", "bad day", 5), ("down", "good", 0)]
    (tmp_path / "x.csv").write_text("label,text,w\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    words = ["train", tmp_path / "x.csv", "-m", tmp_path / "m", "--weight", "w", "--header"]
    for options in ([], ["--out-of-core"]):
        shell.right(*words, *options)
        assert shell.right("predict", "-m", tmp_path / "m", stdin="bad day").out == "up\n"


def test_a_checkpoint_is_written_and_resumed(shell, folder, tmp_path):
    words = ["train", folder / "train.tsv", "-m", tmp_path / "m", "--learner", "sgd"]
    shell.right(*words)
    whole = fastlin.load(tmp_path / "m")
    shell.right(*words, "--checkpoint", tmp_path / "c", "--checkpoint-interval", "0")
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], whole[-1])
    shell.right(*words, "--checkpoint", tmp_path / "c", "--resume")
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], whole[-1])
    said = shell.wrong(*words, "--checkpoint", tmp_path / "c", "--resume", "--alpha", "0.1")
    assert "alpha" in said
    said = shell.wrong(*words[:-1], "nb", "--checkpoint", tmp_path / "c")
    assert "nb has no state to go on from" in said


def test_em_goes_on_from_a_checkpoint(shell, folder, tmp_path):
    lines = (folder / "train.tsv").read_text().splitlines()
    some = [line if place % 5 == 0 else f"\t{line.split(chr(9))[1]}" for place, line in enumerate(lines)]
    (tmp_path / "some.tsv").write_text("\n".join(some) + "\n")
    words = ["train", tmp_path / "some.tsv", "-m", tmp_path / "m", "--learner", "semi-nb", "--set", "tol=0"]
    words += ["--set", "components=2"]
    assert shell(*words, "--epochs", "6").code == 0
    whole = fastlin.load(tmp_path / "m")[-1]
    shell(*words, "--epochs", "3", "--checkpoint", tmp_path / "c", "--checkpoint-interval", "0")
    assert fastlin.load(tmp_path / "m")[-1].n_iter_ == 3
    assert shell(*words, "--epochs", "6", "--checkpoint", tmp_path / "c", "--resume").code == 0
    assert fastlin.load(tmp_path / "m")[-1].n_iter_ == 6
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], whole)


# --- bad input -------------------------------------------------------------------------------------------------------


MALFORMED = {  # what stands in the second of three lines: what is said of it, or None where it is a document
    "a label without a text": (b"film", r"line 2: "),
    "invalid UTF-8": (b"film\t\xff\xfe", r"line 2: .*0xff"),
    "NUL bytes": (b"film\tball\x00goal", None),
    "an empty document": (b"film\t", None),
    "a line of a megabyte": (b"film\t" + b"ball " * 200_000, None),
    "tabs in the text": (b"film\tball\tgoal\t", None),
    "an empty line": (b"", None),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_line_is_named_or_skipped(shell, tmp_path, case):
    line, said = MALFORMED[case]
    data = b"film\tcast actor\n" + line + b"\nsport\tball goal\n"
    (tmp_path / "x.tsv").write_bytes(data)
    words = ["train", tmp_path / "x.tsv", "-m", tmp_path / "m"]
    if said is None:
        shell.right(*words)
        return
    for source, name, piped in (([tmp_path / "x.tsv"], "x.tsv", None), (["-"], "stdin", data)):
        found = shell.wrong("train", *source, "-m", tmp_path / "m", stdin=piped)
        assert name in found
        assert re.search(said, found), found
    done = shell(*words, "--on-error", "skip")
    assert done.code == 0
    assert "1 malformed lines left out" in done.err
    assert "x.tsv, line 2" in done.err
    assert "2 documents" in done.out


def test_other_encodings_and_bytes_that_are_no_text(shell, tmp_path):
    (tmp_path / "x.tsv").write_bytes("süß\tkuchen süß\nsalzig\tbrot\n".encode("latin-1"))
    words = ["train", tmp_path / "x.tsv", "-m", tmp_path / "m"]
    assert "x.tsv, line 1" in shell.wrong(*words)
    shell.right(*words, "--encoding", "latin-1")
    assert fastlin.load(tmp_path / "m").classes_.tolist() == ["salzig", "süß"]
    shell.right(*words, "--errors", "replace")
    assert fastlin.load(tmp_path / "m").classes_.tolist() == ["salzig", "s\ufffd\ufffd"]


def test_line_ends_and_marks(shell, folder, tmp_path):
    data = (folder / "train.tsv").read_bytes()
    lines = data.splitlines()
    mixed = b"\xef\xbb\xbf" + b"".join(line + (b"\r\n" if i % 2 else b"\n") for i, line in enumerate(lines))
    (tmp_path / "x.tsv").write_bytes(mixed.removesuffix(b"\n"))
    shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "m")
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], fastlin.load(folder / "model.fastlin")[-1])


def test_files_without_documents(shell, tmp_path):
    (tmp_path / "x.tsv").write_bytes(b"")
    words = ["train", "-m", tmp_path / "m"]
    assert "there are no documents" in shell.wrong(*words, tmp_path / "x.tsv")
    assert "there are no documents" in shell.wrong(*words, tmp_path / "x.tsv", "--out-of-core")
    assert "standard input: there are no documents" in shell.wrong(*words, "-", stdin=b"")
    assert shell.wrong(*words, "-", stdin=b"a\tword here\na\tother words\n").count("class") > 0  # one label only
    assert "empty vocabulary" in shell.wrong(*words, "-", stdin=b"a\t\nb\t\n")


def test_a_damaged_packed_file(shell, folder, tmp_path):
    data = gzip.compress((folder / "train.tsv").read_bytes())
    (tmp_path / "x.tsv.gz").write_bytes(data[: len(data) // 2])
    assert "x.tsv.gz" in shell.wrong("train", tmp_path / "x.tsv.gz", "-m", tmp_path / "m")


SVMLIGHT = {
    "1 1000000000:1\n0 0:1\n": None,
    "1 0:nan\n0 0:1\n": "line 1",
    "1 0:1e999\n0 0:1\n": "line 1",
    "1 0:1\n0 99999999999:1\n": "line 2",
    "1 0:1\n0 x:1\n": "line 2",
    "1 0:1\n0 1\n": "line 2",
    "1 0:1\nlabel 1:1\n": "line 2",
}


@pytest.mark.parametrize("text", SVMLIGHT)
def test_svmlight_that_is_none(shell, tmp_path, text):
    (tmp_path / "x.svmlight").write_text(text)
    words = ["train", tmp_path / "x.svmlight", "-m", tmp_path / "m", "--learner", "perceptron", "--epochs", "1"]
    if SVMLIGHT[text] is not None:
        assert SVMLIGHT[text] in shell.wrong(*words)
        for options in ([], ["--out-of-core"]):
            done = shell(*words, "--on-error", "skip", *options)
            assert "1 malformed lines left out" in done.err
            assert f"x.svmlight, {SVMLIGHT[text]}: " in done.err


SMALL_FILES = """
import resource, signal, sys
from fastlin.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # what is too long is an error then
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
sys.exit(main())
"""


def test_an_unwritable_place_and_a_full_disk(shell, folder, tmp_path):
    words = ["train", folder / "train.tsv", "-q", "-m"]
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        assert "permission denied" in shell.wrong(*words, tmp_path / "locked" / "m")
    write(tmp_path / "m", documents(3))
    before = (tmp_path / "m").read_bytes()
    command = [sys.executable, "-c", SMALL_FILES, *map(str, words), str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert "File too large" in done.stderr
    assert (tmp_path / "m").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "locked") == ["m"]


def test_many_labels(shell, tmp_path):
    (tmp_path / "x.tsv").write_text("".join(f"label{i}\tword{i} common\n" for i in range(3000)) + "label0\tword0\n")
    shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--learner", "nb")
    assert shell.right("predict", "-m", tmp_path / "m", stdin="word1234").out == "label1234\n"
    found = json.loads(shell.right("evaluate", tmp_path / "x.tsv", "-m", tmp_path / "m", "--json").out)
    assert len(found["labels"]) == 3000


def test_rows_of_a_matrix_with_more_columns_on_disk(shell, tmp_path):
    X = sparse.random_array((50, 7), density=0.5, rng=np.random.default_rng(0), format="csr")
    fastlin.data.dump_svmlight(X, np.arange(50) % 2, tmp_path / "x.svmlight")
    for options in ([], ["--out-of-core"]):
        shell.right("train", tmp_path / "x.svmlight", "-m", tmp_path / "m", *options)
        model = fastlin.load(tmp_path / "m")
        assert model.classes_.tolist() == [0, 1]
        assert model.n_features_in_ == 7
