"""`fastlin train` makes the models that the same steps make in Python."""

import gzip
import json
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import (
    AROWClassifier,
    CountVectorizer,
    HashingVectorizer,
    LinearSVC,
    LogisticRegression,
    MIRAClassifier,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    SemiSupervisedNB,
    SGDClassifier,
    TfidfTransformer,
    TfidfVectorizer,
)
from support.command_line import documents, write
from support.estimators import assert_same_bits

F32 = {"dtype": "float32"}
T32 = {"dtype": np.float32}  # what vectorisers call it
EPOCHS = {"max_iter": 10, "tol": None, "random_state": 0, **F32}
ADAGRAD = {"loss": "log_loss", "learning_rate": "adagrad", "eta0": 1.0, "alpha": 1e-6}
LEARNERS = {
    "logistic": LogisticRegression(C=10, random_state=0, **F32),
    "maxent --C 3": LogisticRegression(C=3, random_state=0, **F32),
    "svm": LinearSVC(tol=1e-3, random_state=0),
    "svm --loss hinge --C 0.5": LinearSVC(tol=1e-3, random_state=0, loss="hinge", C=0.5),
    "perceptron": Perceptron(average=True, **EPOCHS),
    "perceptron --no-average --epochs 3 --seed 7": Perceptron(**{**EPOCHS, "max_iter": 3, "random_state": 7}),
    "pa": PassiveAggressiveClassifier(average=True, C=0.1, **EPOCHS),
    "mira --C 1 --dtype float64": MIRAClassifier(average=True, **{**EPOCHS, "C": 1.0, "dtype": "float64"}),
    "arow --set r=3": AROWClassifier(r=3, **EPOCHS),
    "sgd": SGDClassifier(**ADAGRAD, **EPOCHS),
    "sgd --alpha 1e-4 --loss hinge --set learning_rate=optimal --set eta0=0.5": SGDClassifier(
        **{**ADAGRAD, "alpha": 1e-4, "loss": "hinge", "learning_rate": "optimal", "eta0": 0.5}, **EPOCHS
    ),
}
TEXTS = {
    "": TfidfVectorizer(sublinear_tf=True, **T32),
    "--ngrams 2 --no-sublinear": TfidfVectorizer(ngram_range=(1, 2), **T32),
    "--ngrams 2-4 --analyzer char_wb --no-lowercase": TfidfVectorizer(
        ngram_range=(2, 4), analyzer="char_wb", lowercase=False, sublinear_tf=True, **T32
    ),
    "--counts --min-df 2 --max-df 0.5": CountVectorizer(min_df=2, max_df=0.5, **T32),
    "--binary --max-features 20 --stop-words english": CountVectorizer(
        binary=True, max_features=20, stop_words="english", **T32
    ),
    "--tfidf --negation": TfidfVectorizer(negation=True, sublinear_tf=True, **T32),
    "--hash 8": HashingVectorizer(n_features=256, **T32),
    "--hash 8 --counts --keep-names 10": HashingVectorizer(n_features=256, norm=None, keep_names=10, **T32),
    "--hash 8 --tfidf": make_pipeline(
        HashingVectorizer(n_features=256, norm=None, alternate_sign=False, **T32), TfidfTransformer(sublinear_tf=True)
    ),
}


def same_model(path, pipeline, folder):
    """The saved model is the pipeline, fitted."""
    pairs, held = ([line.split("\t") for line in (folder / name).read_text().splitlines()] for name in SETS)
    loaded = fastlin.load(path)
    pipeline.fit([text for _, text in pairs], [label for label, _ in pairs])
    assert_same_bits(loaded[-1], pipeline[-1])
    texts = [text for _, text in held]
    np.testing.assert_array_equal(loaded.predict(texts), pipeline.predict(texts))
    return loaded


SETS = ("train.tsv", "dev.tsv")


@pytest.mark.parametrize("none", ["", "-1"])
def test_documents_without_labels_are_learnt_from(shell, folder, tmp_path, none):
    lines = (folder / "train.tsv").read_text().splitlines()
    kept = [line if place % 10 == 0 else f"{none}\t{line.split(chr(9))[1]}" for place, line in enumerate(lines)]
    (tmp_path / "some.tsv").write_text("\n".join(kept) + "\n")
    words = ["train", tmp_path / "some.tsv", "-m", tmp_path / "m", "--learner", "semi-nb"]
    shell.right(*words, "--set", "unlabeled_weight=0.5")
    pairs = [line.split("\t") for line in kept]
    pipeline = make_pipeline(CountVectorizer(**T32), SemiSupervisedNB(alpha=0.01, unlabeled_weight=0.5, random_state=0))
    pipeline.fit([text for _, text in pairs], [label for label, _ in pairs])
    assert "" not in pipeline.classes_
    assert_same_bits(fastlin.load(tmp_path / "m")[-1], pipeline[-1])
    found = fastlin.load(tmp_path / "m")[-1].feature_log_prob_
    shell.right(*words, "--set", "unlabeled_weight=0.5", "--out-of-core")
    np.testing.assert_array_equal(fastlin.load(tmp_path / "m")[-1].feature_log_prob_, found)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_model_is_that_of_the_same_steps_in_python(shell, folder, tmp_path, learner):
    words = ["train", folder / "train.tsv", "-m", tmp_path / "m", "--learner", *learner.split()]
    done = shell.right(*words)
    assert f"300 documents, {(tmp_path / 'm').stat().st_size / 1e6:.1f} MB" in done.out
    vectoriser = clone(TEXTS[""]).set_params(dtype=np.float64 if "float64" in learner else np.float32)
    same_model(tmp_path / "m", make_pipeline(vectoriser, LEARNERS[learner]), folder)


@pytest.mark.parametrize("options", TEXTS)
def test_features_are_those_of_the_vectoriser(shell, folder, tmp_path, options):
    shell.right("train", folder / "train.tsv", "-m", tmp_path / "m", "--quiet", *options.split())
    same_model(tmp_path / "m", make_pipeline(TEXTS[options], LEARNERS["logistic"]), folder)


@pytest.mark.parametrize(
    "options, vectoriser",
    [
        ("", CountVectorizer(**T32)),
        ("--tfidf", TEXTS[""]),
        ("--hash 8", HashingVectorizer(n_features=256, norm=None, alternate_sign=False, **T32)),
    ],
)
def test_naive_bayes_counts(shell, folder, tmp_path, options, vectoriser):
    shell.right("train", folder / "train.tsv", "-m", tmp_path / "m", "--learner", "nb", *options.split())
    same_model(tmp_path / "m", make_pipeline(vectoriser, MultinomialNB(alpha=0.1)), folder)


def test_files_pipes_and_packed_files_give_the_same_model(shell, folder, tmp_path):
    data = (folder / "train.tsv").read_bytes()
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(data))
    half = data.index(b"\n", len(data) // 2) + 1
    (tmp_path / "a.tsv").write_bytes(data[:half])
    (tmp_path / "b.tsv").write_bytes(data[half:])
    sources = [["-"], [tmp_path / "x.tsv.gz"], [tmp_path / "a.tsv", tmp_path / "b.tsv"], [folder / "train.tsv"]]
    for source in sources:
        shell.right("train", *source, "-m", tmp_path / "m", "-q", stdin=data)
        same_model(tmp_path / "m", make_pipeline(TEXTS[""], LEARNERS["logistic"]), folder)


def test_a_pipe_of_another_format_is_told_how_it_is_read(shell, tmp_path):
    words, table = ["train", "-", "-m", tmp_path / "m"], "label,text\na,good\nb,bad\n"
    hint = "there is no tab between a label and a text; standard input is read as tsv, --format names another"
    assert hint in shell.wrong(*words, stdin=table)
    assert "read as tsv" not in shell.wrong(*words, "--format", "tsv", stdin=table)
    shell.right(*words, "--format", "csv", stdin=table)


def test_the_line_that_the_manual_promises(shell, folder, tmp_path):
    words = f"train - -m {tmp_path}/m.fastlin --learner logistic --ngrams 2 --dev {folder}/dev.tsv --json"
    done = shell.right(*words.split(), stdin=(folder / "train.tsv").read_bytes())
    facts = json.loads(done.out)
    assert facts["documents"] == 300
    assert facts["labels"] == 3
    assert facts["bytes"] == (tmp_path / "m.fastlin").stat().st_size
    labels, texts = zip(*(line.split("\t") for line in (folder / "dev.tsv").read_text().splitlines()), strict=True)
    assert facts["dev_accuracy"] == fastlin.load(tmp_path / "m.fastlin").score(texts, labels) > 0.8


def test_progress_changes_no_bit(shell, folder, tmp_path):
    for learner in ("logistic", "svm", "sgd"):
        words = ["train", folder / "train.tsv", "--learner", learner]
        shell.right(*words, "-m", tmp_path / "quiet")
        done = shell(*words, "-m", tmp_path / "loud", "--verbose")
        assert done.code == 0
        assert [line.partition(":")[0] for line in done.err.splitlines()] == [
            f"reading {folder}/train.tsv",
            "features",
            "learning",
        ]
        assert_same_bits(fastlin.load(tmp_path / "quiet")[-1], fastlin.load(tmp_path / "loud")[-1])


def test_quantised_and_pruned_files_are_smaller(shell, folder, tmp_path):
    sizes = []
    for options in ([], ["--quantise", "int8"]):
        shell.right("train", folder / "train.tsv", "-m", tmp_path / "m", "--hash", "16", *options)
        sizes.append((tmp_path / "m").stat().st_size)
    assert sizes[1] < 0.5 * sizes[0]


def test_warnings_are_a_line(shell, folder, tmp_path):
    done = shell("train", folder / "train.tsv", "-m", tmp_path / "m", "--epochs", "1", "--C", "1e6")
    assert done.code == 0
    assert done.err.startswith("fastlin train: warning: ")
    assert len(done.err.splitlines()) == 1


def test_two_labels(shell, tmp_path):
    pairs = documents(100, labels=("film", "food"))
    write(tmp_path / "two.tsv", pairs)
    shell.right("train", tmp_path / "two.tsv", "-m", tmp_path / "m")
    assert fastlin.load(tmp_path / "m")[-1].coef_.shape[0] == 1


WRONG = {
    "--learner logstic": "'logstic' is none of logistic, .* did you mean 'logistic'",
    "--learner svm --alpha 1": r"--alpha: svm \(LinearSVC\) has no parameter alpha",
    "--learner nb --epochs 3": r"--epochs: nb \(MultinomialNB\) has no parameter max_iter",
    "--set toll=1": "--set toll: LogisticRegression has no such parameter, did you mean 'tol'",
    "--set tol": "'tol' is not NAME=VALUE",
    "--learner sgd --loss hing": "loss must be one of .* did you mean 'hinge'",
    "--C -1": "C must be .* got -1",
    "--C many": "'many' is no number",
    "--ngrams 0": "'0' is neither N nor M-N",
    "--ngrams 3-2": "'3-2' is neither N nor M-N",
    "--hash 99": "from 1 to 30 bits, got 99",
    "--hash 8 --min-df 2": "--min-df needs a vocabulary",
    "--keep-names 5": "--keep-names belongs to --hash",
    "--counts --sublinear": "--sublinear is a part of --tfidf",
    "--counts --binary": "not allowed with argument",
    "--min-df 2.5": "min_df must be .* got 2.5",
    "--min-df 1000": "min_df|no terms remain",
    "--analyzer words": "did you mean 'word'",
    "--resume": "--resume needs --checkpoint",
    "--memory lots": "'lots' is no size",
    "--quantise int4": "'int4' is none of float32, float16, int8",
    "--epochs": "expected one argument",
    "--epoch 3": "there is no option --epoch, did you mean '--epochs'",
    "--dev nowhere.tsv": "no file 'nowhere.tsv'",
    "--seed -1": "random_state must be at least 0",
}


@pytest.mark.parametrize("options", WRONG)
def test_mistakes_get_a_line_that_says_what_to_do(shell, folder, tmp_path, options):
    said = shell.wrong("train", folder / "train.tsv", "-m", tmp_path / "m", *options.split())
    assert re.search(WRONG[options], said), said
    assert not (tmp_path / "m").exists()


def test_a_model_that_cannot_be_written_is_known_before_learning(shell, folder, tmp_path):
    assert "there is no folder" in shell.wrong("train", "no.tsv", "-m", tmp_path / "no" / "m")
    assert "is a folder" in shell.wrong("train", "no.tsv", "-m", tmp_path)


def test_a_failed_training_leaves_the_old_model(shell, folder, tmp_path):
    (tmp_path / "m").write_bytes((folder / "model.fastlin").read_bytes())
    shell.wrong("train", folder / "train.tsv", "-m", tmp_path / "m", "--min-df", "1000")
    assert (tmp_path / "m").read_bytes() == (folder / "model.fastlin").read_bytes()


def test_what_a_word_is_can_be_said(shell, tmp_path):
    (tmp_path / "x.tsv").write_text("up\ta b-c d\ndown\te-f g\n")
    shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--token-pattern", r"[a-z-]+")
    assert sorted(fastlin.load(tmp_path / "m")[0].vocabulary_) == ["a", "b-c", "d", "e-f", "g"]
    shell.right("train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--token-pattern", r"[a-z]+", "--hash", "8")
    assert fastlin.load(tmp_path / "m")[0].token_pattern == "[a-z]+"
    words = ["train", tmp_path / "x.tsv", "-m", tmp_path / "m", "--token-pattern"]
    assert "no regular expression" in shell.wrong(*words, "(")
    assert "has 2 groups" in shell.wrong(*words, "(a)(b)")
    assert "--token-pattern" in shell.wrong(*words, "a", "--analyzer", "char")
    (tmp_path / "x.vw").write_text("1 | a\n2 | b\n")
    assert "--token-pattern is for texts" in shell.wrong(
        "train", tmp_path / "x.vw", "-m", tmp_path / "m", *words[4:], "a"
    )
