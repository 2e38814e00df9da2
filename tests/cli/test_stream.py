"""One pass from a file: the model of an epoch over all texts in their order, bit for bit, however they are read."""

import csv
import gzip
import io
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import HashingVectorizer, SGDClassifier
from fastlin.cli import stream

WORDS = [
    "a",
    "good",
    "film",
    "not",
    "bad",
    "cast",
    "plot",
    "great",
    "awful",
    "fine",
    "dull",
    "é",
    "ß",
    "İstanbul",
    "Σίγμα",
    "über",
]
BITS = 10


def documents(n_labels, n=300, seed=0):
    """Labels and texts; some are empty, and some longer than a row that is short."""
    rng = np.random.default_rng(seed)
    labels = [f"label {i}" for i in rng.integers(0, n_labels, n)]
    return labels, [" ".join(rng.choice(WORDS, rng.choice([0, 1, 3, 8, 40]))) for _ in range(n)]


def written(labels, texts, form, end="\n", last=True):
    """A file of them."""
    if form == "csv":
        file = io.StringIO()
        writer = csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([("label", "text"), *zip(labels, texts, strict=True)])
        data = file.getvalue()
    elif form == "jsonl":
        data = "".join(json.dumps({"label": y, "text": x}) + end for y, x in zip(labels, texts, strict=True))
    else:
        data = "".join(
            f"{y}\t{x}{end}{end if i % 7 == 0 else ''}" for i, (y, x) in enumerate(zip(labels, texts, strict=True))
        )
    return (data if last else data.removesuffix(end)).encode()


def in_memory(labels, texts, hashing=None, weights=None, **parameters):
    """The pipeline that `fit` makes of all texts at once: an epoch in their order."""
    vectorizer = HashingVectorizer(n_features=2**BITS, dtype=np.float32, **(hashing or {}))
    sgd = {"loss": "log_loss", "learning_rate": "adagrad", "eta0": 1.0, "alpha": 1e-6} | parameters
    learner = SGDClassifier(**sgd, max_iter=1, tol=None, shuffle=False, dtype="float32", random_state=0)
    learner.fit(vectorizer.transform(texts), labels, sample_weight=weights)
    return vectorizer, learner


def state_of(model):
    learner = model.steps[-1][1]
    return learner.get_state() | {"history": [{**one, "seconds": 0} for one in learner.history_]}


def assert_same(path, vectorizer, learner):
    """The file is that of the pipeline: parameters, the whole state, the report, the labels."""
    model = fastlin.load(path)
    found, wanted = state_of(model), state_of(make_pipeline(vectorizer, learner))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert np.array_equal(found[name], value) or (name == "history" and found[name] == value), name
    for step, made in zip((step for _, step in model.steps), (vectorizer, learner), strict=True):
        assert type(step) is type(made)
        assert step.get_params() == made.get_params()
    assert (model.steps[-1][1].n_iter_, model.steps[-1][1].converged_) == (1, True)
    assert model.predict(WORDS).tolist() == learner.predict(vectorizer.transform(WORDS)).tolist()
    model.steps[-1][1].partial_fit(vectorizer.transform(["a new film"]), ["label 0"])  # it goes on


def learn(shell, tmp_path, data, name, *options):
    path = tmp_path / name
    path.write_bytes(data)
    words = ["--learner", "sgd", "--stream", "--hash", BITS, *options]
    return shell.right("train", path, "-m", tmp_path / "m.fastlin", *words)


@pytest.mark.parametrize("block", [1, 700, 1 << 18])
@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl"])
def test_the_model_is_that_of_an_epoch_in_memory(form, block, shell, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_BYTES", block)
    for n_labels, end, last in ((2, "\n", True), (3, "\r\n", False), (5, "\r", True)):
        labels, texts = documents(n_labels)
        vectorizer, learner = in_memory(labels, texts)
        data = written(labels, texts, form, end, last)
        learn(shell, tmp_path, data, f"x.{form}")
        assert_same(tmp_path / "m.fastlin", vectorizer, learner)
        learn(
            shell,
            tmp_path,
            gzip.compress(data),
            f"x.{form}.gz",
            "--labels",
            ",".join(sorted(set(labels), reverse=True)),
        )
        assert_same(tmp_path / "m.fastlin", vectorizer, learner)


@pytest.mark.parametrize(
    ("options", "hashing", "parameters"),
    [
        (["--set", "penalty=none"], {}, {"penalty": None}),
        (["--set", "learning_rate=invscaling", "--alpha", "0.01"], {}, {"learning_rate": "invscaling", "alpha": 0.01}),
        (["--set", "learning_rate=optimal", "--alpha", "0.001", "--set", "penalty=l1", "--loss", "hinge"], {},
         {"learning_rate": "optimal", "alpha": 0.001, "penalty": "l1", "loss": "hinge"}),
        (["--loss", "modified_huber", "--ngrams", "2"], {"ngram_range": (1, 2)}, {"loss": "modified_huber"}),
        (["--binary", "--no-lowercase"], {"binary": True, "norm": None, "lowercase": False}, {}),
        (["--counts", "--analyzer", "char_wb", "--ngrams", "2-3"],
         {"norm": None, "analyzer": "char_wb", "ngram_range": (2, 3)}, {}),
        (["--negation", "--token-pattern", r"\S+"], {"negation": True, "token_pattern": r"\S+"}, {}),
        (["--token-pattern", r"[a-z]+"], {"token_pattern": r"[a-z]+"}, {"multi_class": "auto"}),
    ],
)  # fmt: skip
def test_every_option_is_that_of_memory(options, hashing, parameters, shell, tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_BYTES", 500)
    labels, texts = documents(3, seed=1)
    learn(shell, tmp_path, written(labels, texts, "tsv"), "x.tsv", *options)
    vectorizer, learner = in_memory(labels, texts, hashing, **parameters)
    model = fastlin.load(tmp_path / "m.fastlin").steps[-1][1]
    assert np.array_equal(model.coef_, learner.coef_)
    assert np.array_equal(model.intercept_, learner.intercept_)
    if hashing.get("norm", "l2"):  # else the largest value of a block is not that of all rows, a bound that is kept
        assert_same(tmp_path / "m.fastlin", vectorizer, learner)


def test_it_is_what_train_makes_without_stream(shell, tmp_path):
    labels, texts = documents(4, seed=2)
    data = written(labels, texts, "tsv")
    for learner in ("sgd", "ftrl"):
        options = ["--learner", learner, "--hash", "12", "--epochs", "1"]
        learn(shell, tmp_path, data, "x.tsv", *options)
        streamed = fastlin.load(tmp_path / "m.fastlin")
        shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "n.fastlin", *options, "--set", "shuffle=false")
        other = fastlin.load(tmp_path / "n.fastlin")
        assert_same(tmp_path / "m.fastlin", other.steps[0][1], other.steps[1][1])
        assert [name for name, _ in streamed.steps] == [name for name, _ in other.steps]


def test_weights_of_rows(shell, tmp_path):
    labels, texts = documents(3, seed=3)
    weights = np.random.default_rng(0).integers(0, 4, len(labels)) / 2
    rows = zip(labels, texts, weights.tolist(), strict=True)
    data = "".join(json.dumps({"label": y, "text": x, "w": w}) + "\n" for y, x, w in rows).encode()
    learn(shell, tmp_path, data, "x.jsonl", "--weight", "w")
    assert_same(tmp_path / "m.fastlin", *in_memory(labels, texts, weights=weights))


def test_pipes_and_what_is_imported(tmp_path):
    """A pipe is read once if its labels are given, else kept; and neither scikit-learn nor joblib is imported."""
    labels, texts = documents(2, seed=4)
    vectorizer, learner = in_memory(labels, texts)
    code = "import sys; from fastlin.cli import main; main(sys.argv[1:]); "
    code += "print(bool({'sklearn', 'joblib'} & {*sys.modules}))"
    for more in ([], ["--labels", "label 1,label 0"]):
        words = [
            "train",
            "-",
            "-m",
            str(tmp_path / "p.fastlin"),
            "--learner",
            "sgd",
            "--stream",
            "--hash",
            str(BITS),
            *more,
        ]
        done = subprocess.run(
            [sys.executable, "-c", code, *words], input=written(labels, texts, "tsv"), capture_output=True, check=True
        )
        assert done.stdout.split()[-1] == b"False"
        assert_same(tmp_path / "p.fastlin", vectorizer, learner)


def test_smaller_files_and_accuracy(shell, tmp_path):
    labels, texts = documents(2, seed=5)
    data = written(labels, texts, "tsv")
    learn(shell, tmp_path, data, "x.tsv", "--quantise", "float16", "--prune", "0.01")
    vectorizer, learner = in_memory(labels, texts)
    fastlin.save(make_pipeline(vectorizer, learner), tmp_path / "n.fastlin", dtype="float16", prune=0.01)
    found, wanted = (fastlin.load(tmp_path / name).steps[-1][1].coef_ for name in ("m.fastlin", "n.fastlin"))
    assert np.array_equal(sparse.csr_array(found).toarray(), sparse.csr_array(wanted).toarray())
    (tmp_path / "dev.tsv").write_bytes(data)
    done = learn(shell, tmp_path, data, "x.tsv", "--dev", tmp_path / "dev.tsv", "--json")
    assert json.loads(done.out)["dev_accuracy"] == learner.score(vectorizer.transform(texts), labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--learner", "nb"], "--stream is for sgd and ftrl"),
        (["--epochs", "3"], "one epoch"),
        (["--tfidf"], "--tfidf needs the frequencies"),
        (["--min-df", "2"], "--min-df means nothing with --stream"),
        (["--checkpoint", "c"], "--checkpoint means nothing"),
        (["--average"], "--average means nothing"),
        (["--set", "batch_size=4"], "batch_size=4 is not learnt in a stream"),
        (["--set", "shuffle=true"], "shuffle=True must be False in a stream"),
        (["--set", "los=hinge"], "--set los: SGDClassifier has no such parameter, did you mean 'loss'"),
        (["--C", "1"], "--C: sgd (SGDClassifier) has no parameter C"),
        (["--loss", "hing"], "loss must be one of"),
        (["--labels", "a"], "does not name two different labels"),
        (["--labels", "a,b,a"], "does not name two different labels"),
        (
            ["--labels", "a,b"],
            "x.tsv, line 2 or soon behind it: the label 'c' of the document 'bad' is none of --labels",
        ),
        (["--token-pattern", "(?<=a)b"], "not in a stream"),
    ],
)
def test_what_is_no_stream_is_refused(options, message, shell, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tgood\nc\tbad\na\tfine\n")
    words = ["--learner", "sgd", "--stream", *options]
    assert message in shell.wrong("train", tmp_path / "x.tsv", "-m", tmp_path / "m.fastlin", *words)
    assert not (tmp_path / "m.fastlin").exists()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.tsv", b"a\tgood\nb\tbad\nno tab\n", "x.tsv, line 3: there is no tab"),
        (
            "x.jsonl",
            b'{"label": "a", "text": "x"}\n{"label": "b", "text": [1]}\n',
            "line 2: the field 'text' holds a list",
        ),
        ("x.jsonl", b'{"label": "a", "text": {"f": 1}}\n{"label": "b", "text": "x"}\n', "holds features"),
        ("x.jsonl", b'{"label": "a", "text": "x"}\n{"label": "b", "text": {"f": 1}}\n', "holds features"),
        ("x.svm", b"1 0:1\n2 1:1\n", "holds features"),
        ("x.tsv", b"a\tgood\na\tbad\n", "all documents have the label 'a'"),
        ("x.tsv", b"a\tgood\n\tbad\n", "empty label"),
        ("x.tsv", b"", "there are no documents"),
    ],
)
def test_malformed_files_leave_no_model(name, data, message, shell, tmp_path):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "m.fastlin").write_bytes(b"old")
    words = ["--learner", "sgd", "--stream"]
    assert message in shell.wrong("train", tmp_path / name, "-m", tmp_path / "m.fastlin", *words)
    assert (tmp_path / "m.fastlin").read_bytes() == b"old"


def test_labels_belong_to_streams(shell, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tgood\nb\tbad\n")
    said = shell.wrong("train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--labels", "a,b")
    assert "--labels belongs to --stream" in said
