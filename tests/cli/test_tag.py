"""Taggers from the command line: columns in, columns and tags out, conlleval's table."""

import gzip
import io
import json
import re

import numpy as np
import pytest

import fastlin
from fastlin.cli import main
from fastlin.inspection import explain_token
from fastlin.sequence import HMM, read_conll
from fastlin.sequence.metrics import span_report, tag_report
from support.fitted_checksums import attributes

WORDS = {
    "DT": ["the", "a", "this"],
    "JJ": ["old", "red", "big"],
    "NN": ["dog", "cat", "house"],
    "VB": ["sees", "likes", "has"],
    "IN": ["in", "on"],
}
CHUNKS = {"NP": [["DT", "NN"], ["DT", "JJ", "NN"], ["NN"]], "VP": [["VB"]], "PP": [["IN"]]}


def made(n, seed=0):
    """Sentences as lists of (word, part of speech, chunk)."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        sentence = []
        for kind in ("NP", "VP", "NP", *(["PP", "NP"] if rng.random() < 0.5 else [])):
            tags = CHUNKS[kind][rng.integers(len(CHUNKS[kind]))]
            sentence += [
                (WORDS[tag][rng.integers(len(WORDS[tag]))], tag, f"{'I' if place else 'B'}-{kind}")
                for place, tag in enumerate(tags)
            ]
        found.append([*sentence, (".", ".", "O")])
    return found


def text(sentences, columns=(0, 1, 2), between="\t"):
    rows = ("".join(between.join(token[c] for c in columns) + "\n" for token in one) for one in sentences)
    return "".join(f"{row}\n" for row in rows)


def conllu(sentences):
    """The same in CoNLL-U, each sentence with a comment and a line of two tokens that are one word."""
    lines = []
    for number, sentence in enumerate(sentences):
        lines += [f"# sent_id = {number}", "1-2\tboth\t_\t_\t_\t_\t_\t_\t_\t_"]
        lines += [f"{i}\t{w}\t{w}\t{pos}\t_\t_\t_\t_\t_\t_" for i, (w, pos, _) in enumerate(sentence, 1)] + [""]
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """train.tsv, dev.tsv, words.txt and three models; nobody writes here."""
    folder = tmp_path_factory.mktemp("tag")
    (folder / "train.tsv").write_text(text(made(80)))
    (folder / "dev.tsv").write_text(text(made(20, seed=1)))
    (folder / "words.txt").write_text(text(made(20, seed=1), (0,)))
    for learner in ("crf", "hmm"):
        words = ["--learner", learner, "-m", str(folder / f"{learner}.fastlin"), "--quiet"]
        assert main(["tag", "train", str(folder / "train.tsv"), *words]) == 0
    return folder


def tags_of(printed):
    return [[token[-1] for token in sentence] for sentence in read_conll(io.BytesIO(printed.encode()))]


# --- train -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, name",
    [
        (["--learner", "crf", "--c2", "0.1", "--c1", "0.01", "--constraints", "bio"], "CRF"),
        (["--learner", "crf", "--order", "2", "--features", "ratnaparkhi96", "--epochs", "50"], "CRF"),
        (["--learner", "perceptron", "--epochs", "5", "--features", "ner"], "StructuredPerceptron"),
        (["--learner", "memm", "--C", "10", "--set", "decoder=beam", "--features", "pos"], "MEMM"),
        (["--learner", "hmm", "--order", "2", "--alpha", "0.1"], "HMM"),
    ],
)
def test_every_learner_learns_and_is_what_the_options_say(shell, place, tmp_path, options, name):
    model = tmp_path / "m.fastlin"
    done = shell.right("tag", "train", place / "train.tsv", "-m", model, *options, "--dev", place / "dev.tsv")
    learner = options[1]
    assert done.lines[0].startswith(f"{model}: {learner} of 5 labels and ")
    assert "from 80 sentences of" in done.lines[0]
    assert float(done.lines[1].rpartition(" ")[2]) > 0.9
    loaded = fastlin.load(model)
    assert type(loaded).__name__ == name
    parameters = {"--c2": "c2", "--c1": "c1", "--constraints": "constraints", "--order": "order", "--alpha": "alpha"}
    given = dict(zip(options[::2], options[1::2], strict=True))
    for option, parameter in parameters.items():
        if option in given:
            assert str(getattr(loaded, parameter)) == given[option]
    assert (loaded.features is None) == (learner == "hmm")


@pytest.mark.parametrize("learner, few", [("crf", 4), ("memm", 1), ("perceptron", 2)])
def test_a_checkpoint_is_written_and_resumed(shell, place, tmp_path, learner, few):
    train = ["--learner", learner, "-m", tmp_path / "m"]
    words, file = ["tag", "train", place / "train.tsv", *train], ["--checkpoint", tmp_path / "c"]
    shell.right(*words)
    whole = fastlin.load(tmp_path / "m")
    cut = shell(*words, *file, "--epochs", few, "--checkpoint-interval", "0")
    assert ("did not converge" in cut.err) == (learner != "perceptron")
    shell.right(*words, *file, "--resume")
    model = fastlin.load(tmp_path / "m")
    assert dict(attributes(model)) == dict(attributes(whole))
    assert model.n_iter_ > few
    said = shell.wrong("tag", "train", place / "dev.tsv", *train, *file, "--resume")
    assert "another fit: arguments" in said
    assert "--resume needs --checkpoint" in shell.wrong(*words, "--resume")


@pytest.mark.parametrize("learner", ["crf", "memm", "perceptron", "hmm"])
def test_tags_that_are_not_known(shell, place, tmp_path, learner):
    hidden = [[(*token[:2], "?" if n % 4 == 1 else token[2]) for n, token in enumerate(one)] for one in made(80)]
    (tmp_path / "train.tsv").write_text(text(hidden))
    words = ["--learner", learner, "-m", tmp_path / "m", "--unknown-label", "?", "--dev", place / "dev.tsv", "--json"]
    facts = json.loads(shell.right("tag", "train", tmp_path / "train.tsv", *words).out)
    assert (facts["labels"], facts["dev_f1"] > 0.8) == (5, True)


def test_comments_say_how_much_sentences_count(shell, tmp_path):
    sentences, weights = made(40), [(0, 1, 2, 0.5)[n % 4] for n in range(40)]
    blocks = [text([one]) for one in sentences]
    comments = ["" if weight == 1 else f"# weight = {weight}\n" for weight in weights]
    (tmp_path / "train.tsv").write_text("".join(map("".join, zip(comments, blocks, strict=True))))
    words = ["tag", "train", tmp_path / "train.tsv", "-m", tmp_path / "m", "--learner", "hmm", "-q"]
    shell.right(*words, "--columns", "0", "--weight-comment", "weight")
    model = fastlin.load(tmp_path / "m")
    X, y = [[token[0] for token in one] for one in sentences], [[token[2] for token in one] for one in sentences]
    expected = HMM().fit(X, y, sample_weight=weights)
    assert (model.transmat_ == expected.transmat_).all()
    assert (model.emissionprob_ == expected.emissionprob_).all()
    for wrong in ("-1", "much", "nan", "inf"):
        (tmp_path / "train.tsv").write_text(f"# sent = 1\n# weight = {wrong}\n{blocks[0]}")
        assert f"'# weight = {wrong}' says no weight from 0 on" in shell.wrong(*words, "--weight-comment", "weight")
    assert "no sentence has a comment '# wieght = NUMBER'" in shell.wrong(*words, "--weight-comment", "wieght")


def test_text_with_a_sentence_on_each_line(shell, place, tmp_path):
    train = ["-m", tmp_path / "m", "--learner", "crf", "--columns", "0", "-q"]
    shell.right("tag", "train", place / "train.tsv", *train)
    model, text_ = fastlin.load(tmp_path / "m"), "the old dog sees this\tcat.\n\n  a house\n"
    sentences = [["the", "old", "dog", "sees", "this", "cat", "."], [], ["a", "house"]]
    tags = [model.predict([[(word,) for word in words]])[0] for words in sentences]
    printed = shell.right("tag", "predict", "-m", tmp_path / "m", "--format", "lines", stdin=text_).out
    found = [[line.split("\t") for line in block.splitlines()] for block in printed.split("\n\n")[:-1]]
    found = [[line for line in block if line != [""]] for block in found]
    assert printed.count("\n\n") + printed.startswith("\n") == 3 - 1
    lines = text_.split("\n")
    flat = [
        (word, tag) for words, own in zip(sentences, tags, strict=True) for word, tag in zip(words, own, strict=True)
    ]
    rows = [line for block in found for line in block]
    assert [(word, tag) for word, _, _, tag in rows] == flat
    places = [place for place, words in enumerate(sentences) for _ in words]
    assert all(
        lines[at][int(start) : int(stop)] == word for at, (word, start, stop, _) in zip(places, rows, strict=True)
    )
    more = ["--format", "lines", "--json", "--proba"]
    records = [
        json.loads(line) for line in shell.right("tag", "predict", "-m", tmp_path / "m", *more, stdin=text_).lines
    ]
    assert [record["tags"] for record in records] == tags
    assert [record["text"] for record in records] == lines[:3]
    assert all(len(record["probabilities"]) == len(record["stops"]) for record in records)
    blanks = shell.right("tag", "predict", "-m", tmp_path / "m", *more, "--tokens", "blanks", stdin="a cat.").lines
    assert json.loads(blanks[0])["words"] == ["a", "cat."]
    wrong = shell.wrong("tag", "predict", "-m", tmp_path / "m", "--format", "lines", "--label", "1", stdin=text_)
    assert "--label is of sentences in columns" in wrong
    assert "needs --format lines" in shell.wrong("tag", "predict", "-m", tmp_path / "m", "--tokens", "blanks", stdin="")
    told = shell("tag", "predict", "-m", tmp_path / "m", stdin="the old dog sees this.\n").err
    assert (
        "there are 5 columns, and the model has learnt from 3: text with a sentence on each line is read with" in told
    )
    assert not shell("tag", "predict", place / "train.tsv", "-m", tmp_path / "m").err
    of_two = shell.wrong("tag", "predict", "-m", place / "crf.fastlin", "--format", "lines", stdin=text_)
    assert "column 1" in of_two


def test_tags_that_the_model_never_saw_are_told(shell, place, tmp_path):
    (tmp_path / "x.tsv").write_text(text(made(5)).replace("B-VP", "B-XX"))
    said = shell("tag", "evaluate", tmp_path / "x.tsv", "-m", place / "crf.fastlin")
    assert said.code == 0
    assert "5 tokens with tags that the model never saw, and never predicts: B-XX (5)" in said.err
    assert "never saw" not in shell("tag", "evaluate", place / "dev.tsv", "-m", place / "crf.fastlin").err


def test_the_form_of_files_is_kept(shell, tmp_path):
    (tmp_path / "x").write_text("# a\tX\nb c\tY\n\n" * 9)
    shell.right("tag", "train", tmp_path / "x", "-m", tmp_path / "m", "--no-comments", "--separator", "tab", "-q")
    assert fastlin.load(tmp_path / "m").file_columns_[3:] == ("tab", False)
    lines = shell.right("tag", "predict", "-m", tmp_path / "m", stdin="# a\nb c\n\n").lines
    assert lines[:2] == ["# a\tX", "b c\tY"]


def test_tune_keeps_what_does_best_on_sentences_held_out(shell, place, tmp_path):
    words = ["tag", "tune", place / "train.tsv", "--dev", place / "dev.tsv", "--features", "none", "--columns", "0"]
    words += ["-m", tmp_path / "m", "--path", "0.1,1000", "--json"]
    facts = json.loads(shell.right(*words).out)
    assert (facts["parameter"], [row["c2"] for row in facts["path"]]) == ("c2", [1000, 0.1])
    assert facts["best"] == max(facts["path"], key=lambda row: row["f1"])["c2"] == 0.1
    words = ["tag", "train", place / "train.tsv", "-m", tmp_path / "n", "--c2", "0.1", "--features", "none"]
    shell.right(*words, "--columns", "0", "-q")
    one, other = (fastlin.load(tmp_path / name) for name in "mn")
    assert dict(attributes(one)) == dict(attributes(other))
    evaluated = shell.right("tag", "evaluate", place / "dev.tsv", "-m", tmp_path / "m", "--json").out
    assert json.loads(evaluated)["f1"] == max(row["f1"] for row in facts["path"])


def test_tune_in_folds_judges_every_sentence_by_a_learner_of_others(shell, place, tmp_path):
    words = ["tag", "tune", place / "train.tsv", "--folds", "4", "--learner", "hmm", "--path", "0.1,0.01", "--json"]
    facts = json.loads(shell.right(*words, "-m", tmp_path / "m").out)
    sentences = list(read_conll(place / "train.tsv", label=-1))
    X, y = [[token[0] for token in one] for one in sentences], [one.labels for one in sentences]
    dealt = np.random.default_rng(0).permutation(len(X))
    for row in facts["path"]:
        found = [None] * len(X)
        for start in range(4):
            part = set(dealt[start::4].tolist())
            others = [s for s in range(len(X)) if s not in part]
            model = HMM(alpha=row["alpha"]).fit([X[s] for s in others], [y[s] for s in others])
            for s in part:
                found[s] = model.predict_one(X[s])
        assert row["accuracy"] == span_report(y, found).accuracy
        assert row["f1"] == span_report(y, found).f1
    assert fastlin.load(tmp_path / "m").alpha == facts["best"]


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "either --dev FILE or --folds N"),
        (["--folds", "1"], "2 parts or more"),
        (["--folds", "2", "--learner", "perceptron"], "perceptron has no prior"),
        (["--folds", "2", "--parameter", "c3"], "crf has no c3"),
        (["--folds", "2", "--parameter", "cutoff"], "--path must say"),
        (["--folds", "2", "--parameter", "cutoff", "--path", "1.5"], "whole numbers"),
        (["--folds", "999"], "only 80 sentences"),
    ],
)
def test_what_tune_refuses(shell, place, words, said):
    assert said in shell.wrong("tag", "tune", place / "train.tsv", *words)


def test_tune_of_whole_numbers_and_of_tags_that_are_not_known(shell, place, tmp_path):
    hidden = [
        [(*token[:2], "?" if n % 2 and s % 3 else token[2]) for n, token in enumerate(one)]
        for s, one in enumerate(made(40))
    ]
    (tmp_path / "train.tsv").write_text(text(hidden))
    words = [
        "--unknown-label",
        "?",
        "--folds",
        "3",
        "--learner",
        "perceptron",
        "--parameter",
        "max_iter",
        "--path",
        "1,4",
    ]
    out = shell.right("tag", "tune", tmp_path / "train.tsv", *words).out
    assert out.splitlines()[0].split() == ["max_iter", "seconds", "weights", "accuracy", "f1", "deviation"]
    assert "best: max_iter = " in out


def test_inspect_explains_tokens(shell, place):
    printed = shell.right("inspect", place / "hmm.fastlin", "--text", "the dog sees", "--token", "1").out
    model = fastlin.load(place / "hmm.fastlin")
    found = explain_token(model, ["the", "dog", "sees"], 1)
    assert printed == f"dog: {found}\n"
    told = json.loads(shell.right("inspect", place / "hmm.fastlin", "--text", "the dog sees", "--json").out)
    assert [one["word"] for one in told] == ["the", "dog", "sees"]
    assert [one["label"] for one in told] == model.predict_one(["the", "dog", "sees"])
    label = shell.right("inspect", place / "hmm.fastlin", "--text", "the dog", "--token", "0", "--label", "B-VP").out
    assert label.startswith("the: B-VP rather than ")
    assert "place must be" in shell.wrong("inspect", place / "hmm.fastlin", "--text", "the dog", "--token", "2")


def test_the_summary_as_json(shell, place, tmp_path):
    words = ["-m", tmp_path / "m", "--dev", place / "dev.tsv", "--quantise", "float16", "--json"]
    facts = json.loads(shell.right("tag", "train", place / "train.tsv", *words).out)
    assert (facts["sentences"], facts["labels"]) == (80, 5)
    assert facts["tokens"] == sum(map(len, made(80)))
    assert facts["dev_f1"] > 0.9
    assert abs(facts["dev_accuracy_saved"] - facts["dev_accuracy"]) < 0.05


def test_templates_in_a_file(shell, place, tmp_path):
    (tmp_path / "templates").write_text("# words\nU00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\n")
    words = ["-m", tmp_path / "m", "--features", tmp_path / "templates", "--quiet"]
    shell.right("tag", "train", place / "train.tsv", *words)
    names = fastlin.load(tmp_path / "m").attributes_
    assert {name[:4] for name in names} == {"U00:", "U01:"}
    assert "U01:DT/NN" in names


def test_gazetteers(shell, place, tmp_path):
    (tmp_path / "pets.txt").write_text("cat\n\n  dog\nold dog\n")
    (tmp_path / "more.txt").write_text("house\n")
    files = [f"pet={tmp_path / 'pets.txt'}", f"pet={tmp_path / 'more.txt'}", f"own={tmp_path / 'more.txt'}"]
    options = [word for file in files for word in ("--gazetteer", file)]
    words = ["-m", tmp_path / "m", "--features", "ner", "--quiet", *options]
    shell.right("tag", "train", place / "train.tsv", *words)
    templates = fastlin.load(tmp_path / "m").features
    assert {name: set(entries) for name, entries in templates.gazetteers.items()} == {
        "pet": {"cat", "dog", "old dog", "house"},
        "own": {"house"},
    }
    assert shell.right("tag", "evaluate", place / "dev.tsv", "-m", tmp_path / "m", "--min-f1", "0.9").code == 0


def test_words_themselves_are_features(shell, place, tmp_path):
    shell.right("tag", "train", place / "train.tsv", "-m", tmp_path / "m", "--features", "none", "--quiet")
    model = fastlin.load(tmp_path / "m")
    assert sorted(model.attributes_) == sorted({word for words in WORDS.values() for word in words} | {"."})
    assert len(tags_of(shell.right("tag", "predict", place / "words.txt", "-m", tmp_path / "m").out)) == 20


def test_which_columns_and_which_label(shell, tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(text(made(60), (2, 0, 1), " "))
    words = ["--label", "0", "--columns", "1,2", "-m", tmp_path / "m", "--quiet"]
    shell.right("tag", "train", path, *words)
    model = fastlin.load(tmp_path / "m")
    assert model.classes_.tolist() == ["B-NP", "B-PP", "B-VP", "I-NP", "O"]
    assert {"w[0]=dog", "pos[0]=NN"} <= set(model.attributes_)
    options = ["-m", tmp_path / "m", "--columns", "1,2", "--label", "0"]
    assert shell.right("tag", "evaluate", path, *options, "--min-f1", "0.95").code == 0


def test_conllu(shell, tmp_path):
    (tmp_path / "x.conllu").write_text(conllu(made(60)))
    (tmp_path / "y.conllu").write_text(conllu(made(10, seed=1)))
    model = tmp_path / "m"
    shell.right("tag", "train", tmp_path / "x.conllu", "-m", model, "--label", "upos", "--features", "pos", "--quiet")
    done = shell.right("tag", "predict", tmp_path / "y.conllu", "-m", model, "--label", "upos")
    assert done.out == conllu(made(10, seed=1))
    found = shell.right("tag", "evaluate", tmp_path / "y.conllu", "-m", model, "--label", "upos").out
    assert found.startswith("accuracy 1.0000")
    behind = shell.right("tag", "predict", tmp_path / "y.conllu", "-m", model).lines
    assert behind[2].endswith("\t_\t" + behind[2].split("\t")[3])


# --- predict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["crf", "hmm"])
def test_a_tag_behind_every_token(shell, place, learner):
    model, source = place / f"{learner}.fastlin", place / "dev.tsv"
    done = shell.right("tag", "predict", source, "-m", model)
    right = read_conll(source, label=-1)
    assert [line.rpartition("\t")[0] for line in done.lines] == source.read_text().splitlines()
    X = [list(sentence) if learner == "crf" else [token[0] for token in sentence] for sentence in right]
    assert tags_of(done.out) == fastlin.load(model).predict(X)
    assert shell.right("tag", "predict", "-m", model, stdin=source.read_text()).out == done.out
    assert shell.right("tag", "predict", "-m", model, stdin=gzip.compress(source.read_bytes())).out == done.out


def test_probabilities(shell, place):
    options = ["-m", place / "hmm.fastlin", "--proba"]
    done = shell.right("tag", "predict", place / "words.txt", *options)
    X = [[token[0] for token in sentence] for sentence in made(20, seed=1)]
    model = fastlin.load(place / "hmm.fastlin")
    tags, p = model.predict(X), model.predict_marginals(X)
    found = list(read_conll(io.BytesIO(done.out.encode())))
    for sentence, own, rows in zip(found, tags, p, strict=True):
        assert [token[1] for token in sentence] == own
        chosen = rows[np.arange(len(own)), np.searchsorted(model.classes_.astype(str), own)]
        np.testing.assert_allclose([float(token[2]) for token in sentence], chosen, rtol=1e-5)
    records = [
        json.loads(line) for line in shell.right("tag", "predict", place / "words.txt", *options, "--json").lines
    ]
    assert [record["tags"] for record in records] == tags
    assert [record["words"] for record in records] == X
    np.testing.assert_allclose(records[0]["probabilities"], [float(token[2]) for token in found[0]], rtol=1e-5)


def test_the_best_paths_side_by_side(shell, place):
    options = ["-m", place / "hmm.fastlin", "--nbest", "3"]
    done = shell.right("tag", "predict", place / "words.txt", *options)
    X = [[token[0] for token in sentence] for sentence in made(20, seed=1)]
    expected = fastlin.load(place / "hmm.fastlin").predict_nbest(X, 3)
    for sentence, paths in zip(read_conll(io.BytesIO(done.out.encode())), expected, strict=True):
        assert [list(column) for column in zip(*sentence, strict=True)][1:] == [tags for tags, _ in paths]
        figures = [float(value) for value in sentence.comments[0].split()[3:]]
        np.testing.assert_allclose(figures, [value for _, value in paths], rtol=1e-5)
    record = json.loads(shell.right("tag", "predict", place / "words.txt", *options, "--json").lines[0])
    assert [path["tags"] for path in record["paths"]] == [tags for tags, _ in expected[0]]
    short = shell.right("tag", "predict", "-m", place / "hmm.fastlin", "--nbest", "9", stdin="dog\n\n").lines
    paths = fastlin.load(place / "hmm.fastlin").predict_nbest([["dog"]], 9)[0]
    assert short[1].split("\t") == ["dog", *(tag for tags, _ in paths for tag in tags), *["_"] * (9 - len(paths))]
    assert len(short[0].split()) == 3 + len(paths) < 9


def test_sentences_with_malformed_lines_are_left_out_if_told(shell, place):
    source = "the DT\ndog\n\na DT\ncat NN\n"
    options = ["-m", place / "hmm.fastlin"]
    wrong = shell("tag", "predict", *options, stdin=source)
    assert wrong.code == 2
    assert "<stdin>, line 2: the line has 1 column, and the first token 2" in wrong.err
    done = shell("tag", "predict", *options, "--on-error", "skip", stdin=source)
    assert (done.code, [line.split()[:2] for line in done.lines]) == (0, [["a", "DT"], ["cat", "NN"], []])
    assert "1 malformed lines left out" in done.err


def test_nothing_is_tagged_as_nothing(shell, place):
    assert shell.right("tag", "predict", "-m", place / "crf.fastlin", stdin="").out == ""


# --- columns ---------------------------------------------------------------------------------------------------------

COLUMNS = "the DT B-NP\ndog NN I-NP\nbarks VBZ B-VP\n\n"


def test_a_model_knows_the_columns_that_it_has_learnt_from(shell, tmp_path):
    source, model = tmp_path / "x.conll", tmp_path / "m"
    source.write_text(COLUMNS * 20)
    shell.right("tag", "train", source, "-m", model, "--columns", "0", "--label", "1", "-q")
    assert shell.right("tag", "evaluate", source, "-m", model).out.startswith("accuracy 1.0000")
    assert shell.right("tag", "predict", source, "-m", model).lines[0] == "the DT B-NP DT"
    wrong = shell("tag", "evaluate", source, "-m", model, "--label", "2")
    assert wrong.code == 2
    assert "knows none of the tags; --label says which column holds them" in wrong.err


def test_tags_in_the_middle_are_never_taken_for_features(shell, tmp_path):
    source, model = tmp_path / "x.conll", tmp_path / "m"
    source.write_text(COLUMNS * 20)
    shell.right("tag", "train", source, "-m", model, "--label", "1", "-q")
    assert fastlin.load(model).file_columns_ == (None, 1, 3, None, None)
    expected = ["DT", "NN", "VBZ"]
    assert shell.right("tag", "evaluate", source, "-m", model).out.startswith("accuracy 1.0000")
    lines = shell.right("tag", "predict", source, "-m", model).lines
    assert [line.split()[-1] for line in lines[:3]] == expected
    bare = "".join(f"{' '.join(line.split()[::2])}\n" for line in COLUMNS.splitlines())
    lines = shell.right("tag", "predict", "-m", model, stdin=bare).lines
    assert [line.split()[-1] for line in lines[:3]] == expected
    wrong = shell("tag", "predict", "-m", model, stdin="the\n\n")
    assert wrong.code == 2
    assert "there are 1 columns, and the model has learnt from 3" in wrong.err


def test_what_is_no_tag_goes_through_byte_by_byte(shell, place):
    text = "-DOCSTART- -X- O\n\n\n# a comment, of words\ndog  NN\nbarks VBZ\n \n\n-DOCSTART- O\n"
    out = shell.right("tag", "predict", "-m", place / "crf.fastlin", stdin=text).out
    back = [line.rpartition(" ")[0] if line.startswith(("dog", "barks")) else line for line in out.split("\n")]
    assert back == text.split("\n")


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_the_table_is_conllevals(shell, place):
    model, source = place / "hmm.fastlin", place / "dev.tsv"
    sentences = list(read_conll(source, label=-1))
    right = [sentence.labels for sentence in sentences]
    found = fastlin.load(model).predict([[token[0] for token in sentence] for sentence in sentences])
    done = shell.right("tag", "evaluate", source, "-m", model)
    assert done.out == f"{span_report(right, found)}\n"
    facts = json.loads(shell.right("tag", "evaluate", source, "-m", model, "--json").out)
    assert facts["f1"] == span_report(right, found).f1
    assert facts["tags"]["macro_f1"] == pytest.approx(tag_report(right, found).macro_f1)


def test_mistakes_are_listed(shell, place, tmp_path):
    sentences = made(5, seed=2)
    word, pos, _ = sentences[2][0]
    sentences[2][0] = (word, pos, "B-VP")
    (tmp_path / "x.tsv").write_text(text(sentences))
    done = shell.right("tag", "evaluate", tmp_path / "x.tsv", "-m", place / "crf.fastlin", "--mistakes", "10")
    assert "\n1 of 5 sentences have mistakes\n" in done.out
    assert "\nB-VP taken for B-NP: 1 token\n" in done.out
    assert "\nsentence 2\n" in done.out


def test_bounds_of_what_is_good_enough(shell, place):
    words = ["tag", "evaluate", place / "dev.tsv", "-m", place / "crf.fastlin"]
    assert shell.right(*words, "--min-accuracy", "0.5", "--min-f1", "0.5").code == 0
    for option, what in (("--min-accuracy", "accuracy"), ("--min-f1", "F1 of spans")):
        done = shell(*words, option, "1.01")
        assert (done.code, done.err) == (1, f"fastlin tag evaluate: the {what} is below 1.01\n")


# --- inspect ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["crf", "hmm"])
def test_inspect_shows_transitions_and_features(shell, place, learner):
    model = place / f"{learner}.fastlin"
    lines = shell.right("inspect", model, "--top", "3").lines
    assert "labels    5: B-NP, B-PP, B-VP, I-NP, O" in lines
    assert "strongest transitions" in lines
    assert lines.count("from  to") == 1
    place_of = lines.index("I-NP", lines.index("strongest transitions"))
    assert lines[place_of + 1].split()[-1]
    facts = json.loads(shell.right("inspect", model, "--json", "--label", "O").out)
    assert facts["transitions"]["labels"] == ["B-NP", "B-PP", "B-VP", "I-NP", "O"]
    assert np.array(facts["transitions"]["weights"], dtype=float).shape == (5, 5)
    assert [one["label"] for one in facts["strongest"]] == ["O"]
    assert "--token needs --text" in shell.wrong("inspect", model, "--token", "1")


# --- mistakes in the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, message",
    [
        ("train {0}/train.tsv -m m --learner crff", "'crff' is none of .*did you mean 'crf'"),
        ("train {0}/train.tsv -m m --features chunk", "'chunk' is neither a file nor one of .*did you mean 'chunking'"),
        ("train {0}/train.tsv -m m --gazetteer a=b", "--gazetteer is for --features ner"),
        ("train {0}/train.tsv -m m --features ner --gazetteer a=b", "--gazetteer: there is no file 'b'"),
        ("train {0}/train.tsv -m m --constraints iob", "'iob' is none of bio, iob1, iobes, bilou"),
        ("train {0}/train.tsv -m m --C 1", r"--C: crf \(CRF\) has no parameter C"),
        ("train {0}/train.tsv -m m --learner hmm --c2 1", r"--c2: hmm \(HMM\) has no parameter c2"),
        ("train {0}/train.tsv -m m --set ordr=1", "--set ordr: CRF has no such parameter, did you mean 'order'"),
        ("train {0}/train.tsv -m m --label 5", "there is no column 5: there are 3, from 0 on"),
        ("train {0}/train.tsv -m m --label upos", "the 3 columns have no names"),
        ("train {0}/train.tsv -m {0}/train.tsv", "cannot be written: the documents are in it"),
        ("train nosuch.tsv -m m", "there is no file 'nosuch.tsv'"),
        ("train - -m m", "standard input: there are no sentences"),
        ("predict {0}/words.txt -m {0}/crf.fastlin --nbest 0", "--nbest takes a number of paths, got 0"),
        ("predict {0}/words.txt -m {0}/crf.fastlin --nbest 2 --proba", "--proba is of the tags of one path"),
        ("predict {0}/words.txt -m {0}/nosuch", "No such file"),
        ("evaluate {0}/dev.tsv -m {0}/crf.fastlin --separator tabs", "'tabs' is none of tab, blanks"),
    ],
)
def test_mistakes_are_explained_in_a_line(shell, place, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    error = shell.wrong("tag", *words.format(place).split(), stdin="")
    assert error.startswith(f"fastlin tag {words.split()[0]}: ")
    assert re.search(message, error), error


def test_taggers_and_classifiers_are_told_apart(shell, place, folder):
    error = shell.wrong("predict", "-m", place / "crf.fastlin", stdin="x\n")
    assert "holds a CRF, which labels tokens: fastlin tag is for it" in error
    assert "no tagger" in shell.wrong("tag", "predict", "-m", folder / "model.fastlin", stdin="x\n")
