"""`fastlin report`: one safe file, with the figures of `evaluate`; two models are compared on the same documents."""

import json
import re
from itertools import chain
from operator import eq

import pytest

import fastlin
from fastlin.inspection import compare
from fastlin.sequence.span_comparison import compare_tags
from inspection.test_html import Reader as Fragment
from support.command_line import documents, write

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


class Page(Fragment):
    """A whole page: only its own script, its own style and nothing from elsewhere."""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onerror", "onclick", "onload"}
        if tag not in ("br", "meta", "input", "!doctype"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)


@pytest.fixture(scope="module")
def second(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("second") / "second.fastlin"
    from fastlin.cli import main

    assert main(["train", str(folder / "train.tsv"), "-m", str(path), "--learner", "nb", "--quiet"]) == 0
    return path


def page_of(shell, path, *words):
    assert shell("report", *words, "-o", path).code == 0
    return Page(path.read_text(encoding="utf-8"))


def mislabelled(path):
    """Documents some of which have the label of the one before."""
    pairs = documents(40, seed=3)
    return write(path, [(pairs[place - (place % 3 == 0)][0], text) for place, (_, text) in enumerate(pairs)])


def test_a_report_has_the_figures_features_and_mistakes(shell, folder, tmp_path):
    dev = mislabelled(tmp_path / "dev.tsv")
    page = page_of(shell, tmp_path / "page.html", folder / "model.fastlin", dev, "--top", 3, "--mistakes", 1000)
    found = json.loads(shell.right("evaluate", folder / "model.fastlin", dev, "--json").out)
    assert f"accuracy {found['accuracy']:.4f}" in page.text
    wrong = sum(count for true, said, count in found["confusion"] if true != said)
    assert page.text.count(" taken for ") == wrong > 5
    model = fastlin.load(folder / "model.fastlin")
    assert all(str(label) in page.text for label in model.classes_)
    assert page.tags.count("script") == 1
    assert page.tags.count("style") == 1


def test_two_models_stand_side_by_side(shell, folder, second, tmp_path):
    words = folder / "model.fastlin", second, folder / "dev.tsv"
    page = page_of(shell, tmp_path / "page.html", *words)
    labels, texts = zip(*(line.split("\t") for line in (folder / "dev.tsv").read_text().splitlines()), strict=True)
    answers = [fastlin.load(path).predict(texts) for path in words[:2]]
    for figure in ("accuracy", "macro_f1"):
        expected = compare(labels, *answers, figure=figure)
        assert all(line in page.text for line in str(expected).splitlines())
        assert str(expected) in shell.right("evaluate", *words).out
    found = json.loads(shell.right("evaluate", "-m", words[0], *words[1:], "--json").out)
    assert found["comparisons"][0] == compare(labels, *answers).as_dict()
    assert [one["model"] for one in found["models"]] == [str(path) for path in words[:2]]


def test_a_check_is_of_the_last_model(shell, folder, second):
    words = "evaluate", folder / "model.fastlin", second, folder / "dev.tsv", "--min-accuracy"
    assert shell(*words, "0.01").code == 0
    assert shell(*words, "1.01").code == 1


def test_hostile_labels_and_texts_are_text(shell, tmp_path):
    pairs = [(f"{label}{HOSTILE}", f"{HOSTILE} </script><script> {text}") for label, text in documents(60)]
    write(tmp_path / "train.tsv", pairs)
    turned = [(labels, text) for (labels, _), (_, text) in zip(pairs, pairs[1:] + pairs[:1], strict=True)]
    write(tmp_path / "dev.tsv", turned)
    shell.right("train", tmp_path / "train.tsv", "-m", tmp_path / "m.fastlin")
    page = page_of(shell, tmp_path / "page.html", tmp_path / "m.fastlin", tmp_path / "dev.tsv", "--title", HOSTILE)
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert HOSTILE in page.text


@pytest.mark.parametrize("learner", ["crf", "perceptron", "hmm"])
def test_taggers_have_a_report(shell, tmp_path, learner):
    columns = "the\tD\ndog\tN\nbarks\tV\n\na\tD\ncat\tN\nran\tV\n\n"
    (tmp_path / "train.txt").write_text(columns)
    (tmp_path / "dev.txt").write_text(columns + f"the\tD\nbarks\t{HOSTILE}\n\n")
    shell.right("tag", "train", tmp_path / "train.txt", "-m", tmp_path / "m", "--learner", learner)
    page = page_of(shell, tmp_path / "page.html", tmp_path / "m", tmp_path / "dev.txt")
    assert "1 of 3 sentences have mistakes" in page.text
    assert HOSTILE in page.text
    shell.right("tag", "train", tmp_path / "dev.txt", "-m", tmp_path / "n", "--learner", learner)
    both = tmp_path / "m", tmp_path / "n", tmp_path / "dev.txt"
    right = [["D", "N", "V"], ["D", "N", "V"], ["D", HOSTILE]]
    tokens = [["the", "dog", "barks"], ["a", "cat", "ran"], ["the", "barks"]]
    tagged = []
    for model in map(fastlin.load, both[:2]):
        alone = model.features is None  # words, and not tokens of one column
        found = model.predict(tokens if alone else [[(word,) for word in sentence] for sentence in tokens])
        tagged.append([list(map(str, tags)) for tags in found])
    expected = compare_tags(right, *tagged)
    for tags, share in zip(tagged, (expected.first, expected.second), strict=True):
        assert share == sum(map(eq, chain(*right), chain(*tags))) / 8 > 0.5
    assert str(expected) in shell("tag", "evaluate", *both).out
    assert str(expected).split("\n")[0] in page_of(shell, tmp_path / "page.html", *both).text


def test_clusters_and_language_models_have_a_report(shell, folder, tmp_path):
    texts = (folder / "texts.txt").read_text().splitlines()
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(fastlin.CountVectorizer(), fastlin.KMeans(2, random_state=0)).fit(texts)
    fastlin.save(model, tmp_path / "clusters")
    page = page_of(shell, tmp_path / "page.html", tmp_path / "clusters", folder / "texts.txt")
    assert re.search(r"clusters2: 0, 1", page.text)
    assert shell("lm", "train", folder / "texts.txt", "-m", tmp_path / "lm").code == 0
    page = page_of(shell, tmp_path / "page.html", tmp_path / "lm", folder / "texts.txt", "--mistakes", 2)
    perplexity = json.loads(shell.right("lm", "perplexity", folder / "texts.txt", "-m", tmp_path / "lm", "--json").out)
    assert f"{perplexity['perplexity']:.4f}" in page.text
    assert page.text.count(" bits in all") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dev.tsv", "-o", "{0}/x.html"], "dev.tsv is none. Name its file before the documents"),
        (["{0}/none.fastlin", "dev.tsv", "-o", "{0}/x.html"], "which model? There is no file"),
        (["model.fastlin", "-o", "{0}/x.html"], "which documents"),
        (["model.fastlin", "model.fastlin", "model.fastlin", "dev.tsv", "-o", "{0}/x.html"], "3 are named"),
        (["model.fastlin", "dev.tsv", "-o", "{0}/none/x.html"], "a folder that is there"),
        (["model.fastlin", "dev.tsv", "-o", "{0}"], "a folder that is there"),
        (["model.fastlin", "dev.tsv", "-o", "dev.tsv"], "one of the files to read"),
        (["model.fastlin", "dev.tsv", "-o", "{0}/x.html", "--mistakes", "-1"], "--mistakes takes a number"),
    ],
)
def test_mistakes_of_a_command_are_explained(shell, folder, tmp_path, words, message):
    named = [str(folder / word) if word in ("model.fastlin", "dev.tsv") else word.format(tmp_path) for word in words]
    assert message in shell.wrong("report", *named)
    assert not (tmp_path / "x.html").exists()
