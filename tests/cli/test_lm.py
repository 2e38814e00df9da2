"""Language models from the command line: sentences in, models, perplexities, words and sentences out."""

import io
import json
import math

import pytest

import fastlin
from fastlin.cli import main
from fastlin.cli.lm_options import SMOOTHINGS
from fastlin.lm import Interpolation, MaxentLM, NgramModel
from fastlin.lm.smoothing import SMOOTHINGS as KNOWN

pytestmark = pytest.mark.filterwarnings("ignore")
TEXT = ["the cat sat", "the dog sat", "a cat ran", "the cat ran", "a dog ran away"] * 4
DEV = ["the dog ran", "a cat sat"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("\n".join(TEXT) + "\n")
    (tmp_path / "dev.txt").write_text("\n".join(DEV) + "\n")
    return tmp_path


def run(capsys, *words):
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_train_score_and_perplexity_are_those_of_python(place, capsys):
    code, out, _ = run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "--dev", "dev.txt", "--order", "2")
    model = NgramModel(2).fit(TEXT)
    assert code == 0
    assert f"perplexity on dev.txt: {model.perplexity(DEV):.2f}" in out
    assert fastlin.load("m.fastlin").perplexity(DEV) == model.perplexity(DEV)
    code, out, _ = run(capsys, "lm", "score", "dev.txt", "-m", "m.fastlin")
    assert [float(line) for line in out.split()] == pytest.approx(model.score_samples(DEV).tolist())
    code, out, _ = run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.fastlin", "--json", "--no-end")
    facts = json.loads(out)
    assert facts["perplexity"] == pytest.approx(model.perplexity(DEV, end=False))
    assert facts["bits_per_word"] == pytest.approx(math.log2(facts["perplexity"]))
    code, out, err = run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.fastlin", "--max-perplexity", "1")
    assert code == 1
    assert "above 1" in err


def test_words_and_pipes(place, capsys, monkeypatch):
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q")
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat sat\nzebra\n"))
    code, out, _ = run(capsys, "lm", "score", "-m", "m.fastlin", "--words")
    first, second = out.splitlines()
    assert [part.split("=")[0] for part in first.split()] == ["the", "cat", "sat", "</s>"]
    assert second.startswith("zebra=")
    monkeypatch.setattr("sys.stdin", io.StringIO("the\na\n"))
    code, out, _ = run(capsys, "lm", "next", "-m", "m.fastlin", "--top", "1")
    assert [line.split()[0] for line in out.splitlines()] == ["cat", "dog"] or code == 0
    code, out, _ = run(capsys, "lm", "next", "the", "-m", "m.fastlin", "--json")
    assert json.loads(out)[0]["word"] == "cat"


def test_generate_repeats_with_a_seed(place, capsys):
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q")
    arguments = ("lm", "generate", "-m", "m.fastlin", "-n", "5", "--seed", "1", "--prompt", "the")
    first, second = run(capsys, *arguments)[1], run(capsys, *arguments)[1]
    assert first == second
    assert all(line.startswith("the") for line in first.splitlines())
    assert len(first.splitlines()) == 5


def test_arpa_in_and_out(place, capsys):
    run(capsys, "lm", "train", "train.txt", "-m", "m.arpa", "-q")
    run(capsys, "lm", "convert", "m.arpa", "-o", "m.fastlin", "-q")
    run(capsys, "lm", "convert", "m.fastlin", "-o", "again.arpa.gz", "-q")
    wanted = NgramModel(3).fit(TEXT).perplexity(DEV)
    for path in ("m.arpa", "m.fastlin", "again.arpa.gz"):
        out = run(capsys, "lm", "perplexity", "dev.txt", "-m", path, "--json")[1]
        assert json.loads(out)["perplexity"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    "said",
    [{"unit": "character"}, {"direction": "backward"}, {"markup": "keep"}, {"unit": "character", "markup": "keep"}],
)
def test_what_arpa_does_not_say_of_a_model_is_said(place, capsys, said):
    options = [word for name, value in said.items() for word in (f"--{name}", value)]
    (place / "dev.txt").write_text("the <unk> ran\n" if said == {"markup": "keep"} else "the dog ran\n")
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q", *options)
    run(capsys, "lm", "convert", "m.fastlin", "-o", "m.arpa", "-q")
    run(capsys, "lm", "convert", "m.arpa", "-o", "again.fastlin", "-q", *options)
    wanted = float(run(capsys, "lm", "score", "dev.txt", "-m", "m.fastlin")[1])
    for asked in (["m.arpa", *options], ["again.fastlin"]):
        assert float(run(capsys, "lm", "score", "dev.txt", "-m", *asked)[1]) == pytest.approx(wanted, rel=1e-5)
    mixed = json.loads(
        run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.fastlin", "--mix", "m.arpa", "--json", *options)[1]
    )
    alone = json.loads(run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.fastlin", "--json")[1])
    assert mixed["perplexity"] == pytest.approx(alone["perplexity"], rel=1e-5)
    code, _, err = run(capsys, "lm", "score", "dev.txt", "-m", "m.fastlin", *options)
    assert code == 2
    assert "is of a model in ARPA's format" in err


@pytest.mark.parametrize("sentence", ["the\u00a0cat\u2003sat ran", "the <s> cat </s> <unk>", "a\fb\vc"])
def test_words_with_their_bits_are_those_that_the_model_reads(place, capsys, sentence):
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q", "--markup", "keep")
    (place / "dev.txt").write_text(f"{sentence}\n")
    code, out, err = run(capsys, "lm", "score", "dev.txt", "-m", "m.fastlin", "--words", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert facts["bits"] == fastlin.load("m.fastlin").surprisal([sentence]).bits.tolist()
    assert len(facts["words"]) == len(facts["bits"])


def test_prune(place, capsys):
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q", "--smoothing", "witten_bell")
    _, out, _ = run(capsys, "lm", "prune", "m.fastlin", "-o", "small.fastlin", "--threshold", "0.01", "--json")
    facts = json.loads(out)
    assert sum(facts["n_grams"]) < sum(facts["before"])
    assert run(capsys, "lm", "prune", "m.fastlin", "-o", "x.fastlin")[0] == 2
    assert run(capsys, "lm", "prune", "m.fastlin", "-o", "x.fastlin", "--min-count", "1,9")[0] == 0


def test_mixtures(place, capsys):
    run(capsys, "lm", "train", "train.txt", "-m", "a.fastlin", "-q")
    run(capsys, "lm", "train", "train.txt", "-m", "b.fastlin", "-q", "--smoothing", "laplace", "--order", "1")
    arguments = ("lm", "perplexity", "dev.txt", "-m", "a.fastlin", "--mix", "b.fastlin", "--json")
    facts = json.loads(run(capsys, *arguments)[1])
    a, b = NgramModel(3).fit(TEXT), NgramModel(1, smoothing="laplace").fit(TEXT)
    assert facts["perplexity"] == pytest.approx(Interpolation([a, b]).perplexity(DEV), rel=1e-5)
    assert facts["weights"] == [0.5, 0.5]
    fitted = json.loads(run(capsys, *arguments, "--cache", "5", "--weights-on", "dev.txt")[1])
    assert len(fitted["weights"]) == 3
    assert fitted["perplexity"] <= facts["perplexity"]


@pytest.mark.parametrize(
    "options",
    [
        ("--learner", "ngram", "--smoothing", "dirichlet", "--alpha", "2", "--cutoff", "1,1", "--memory", "10M"),
        ("--learner", "ngram", "--unit", "character", "--direction", "backward", "--min-count", "2"),
    ],
)
def test_learners_and_their_options(place, capsys, options):
    code, out, err = run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", *options)
    assert code == 0, err
    assert "m.fastlin" in out
    assert run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.fastlin")[0] == 0


def test_maxent_and_classes_are_written_as_what_they_are(place, capsys):
    code, _, err = run(capsys, "lm", "train", "train.txt", "-m", "m.arpa", "--learner", "maxent", "--order", "2")
    assert code == 0, err
    found = json.loads(run(capsys, "lm", "perplexity", "dev.txt", "-m", "m.arpa", "--json")[1])
    assert found["perplexity"] == pytest.approx(MaxentLM(2).fit(TEXT).perplexity(DEV), rel=1e-4)
    tuned = run(
        capsys, "lm", "train", "train.txt", "-m", "m.arpa", "--learner", "maxent", "--tune", "--dev", "dev.txt", "-q"
    )
    assert tuned[0] == 0, tuned[2]


def test_closed_vocabularies(place, capsys):
    (place / "words.txt").write_text("the cat dog sat ran a away\n")
    code, _, err = run(
        capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "--vocabulary", "words.txt", "--closed", "-q"
    )
    assert code == 0, err
    assert fastlin.load("m.fastlin").score_samples(["zebra"])[0] == -math.inf


@pytest.mark.parametrize(
    "words, message",
    [
        (("train", "train.txt", "-m", "m.fastlin", "--classes", "5"), "--classes is not of --learner ngram"),
        (("train", "train.txt", "-m", "m.fastlin", "--tune"), "--tune chooses"),
        (("train", "nothing.txt", "-m", "m.fastlin"), "nothing.txt"),
        (("train", "train.txt", "-m", "train.txt"), "the documents are in it"),
        (("train", "train.txt", "-m", "m.fastlin", "--learner", "maxent", "--memory", "1G"), "--memory is of"),
        (("train", "train.txt", "-m", "m.arpa", "--quantise", "int8"), "--quantise is for model files"),
        (("train", "train.txt", "-m", "m.arpa", "--learner", "class-bigram"), "ARPA's format holds models of n-grams"),
        (("train", "train.txt", "-m", "m.arpa", "--learner", "maxent", "--classes", "5"), "maxent without --classes"),
        (("train", "train.txt", "-m", "m.arpa", "--learner", "maxent", "--set", "skip_grams=1"), "and skip_grams"),
        (("score", "dev.txt", "-m", "dev.txt"), "dev.txt"),
        (("train", "train.txt", "-m", "m.fastlin", "--smoothing", "witten_bel"), "did you mean"),
    ],
)
def test_mistakes_are_explained(place, capsys, words, message):
    code, _, err = run(capsys, "lm", *words)
    assert code == 2
    assert message in err


def test_mistakes_in_questions_to_a_model_are_explained(place, capsys):
    run(capsys, "lm", "train", "train.txt", "-m", "m.fastlin", "-q")
    run(capsys, "lm", "convert", "m.fastlin", "-o", "m.arpa")
    for learner, options in (("class-bigram", ("--classes", 3)), ("maxent", ("--classes", 5))):
        run(capsys, "lm", "train", "train.txt", "-m", f"{learner}.fastlin", "--learner", learner, "-q", *options)
    perplexity = ("perplexity", "dev.txt", "-m", "m.fastlin")
    for words, message in (
        (("convert", "class-bigram.fastlin", "-o", "x.arpa"), "and a ClassBigramModel is none"),
        (("convert", "maxent.fastlin", "-o", "x.arpa"), "and a MaxentLM is none"),
        (("convert", "m.fastlin", "-o", "x.arpa", "--quantise", "int8"), "--quantise is for model files"),
        (("prune", "m.fastlin", "-o", "x.arpa", "--quantise", "int8", "--threshold", "1"), "--quantise is for model"),
        (("prune", "m.arpa", "-o", "x.arpa", "--min-count", "1,2"), "min_count asks for counts"),
        ((*perplexity, "--weights-on", "dev.txt"), "--weights-on fits the weights of a mixture"),
        ((*perplexity, "--cache", "0"), "size must be at least 1"),
    ):
        code, _, err = run(capsys, "lm", *words)
        assert (code, message in err) == (2, True), err
        assert not (place / "x.arpa").exists()


def test_a_classifier_is_no_language_model(place, capsys):
    fastlin.save(fastlin.Perceptron().fit([[1, 0], [0, 1]], ["a", "b"]), "p.fastlin")
    code, _, err = run(capsys, "lm", "score", "dev.txt", "-m", "p.fastlin")
    assert code == 2
    assert "no language model" in err


def test_the_command_knows_every_smoothing():
    assert SMOOTHINGS == KNOWN
