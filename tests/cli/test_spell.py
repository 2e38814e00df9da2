"""Correcting spelling from the command line: every other byte stays, whatever the bytes are."""

import gzip
import io
import json
import sys

import pytest

import fastlin
from fastlin.channel import SpellingCorrector
from fastlin.cli import main
from fastlin.lm import NgramModel

TEXT = "I drink a cup of coffee\na piece of cake and a cup of tea\nthis is his cap\n" * 3
BOLD = ["--error-rate", "0.5", "--edit-probability", "0.05", "--min-count", "1", "--set", "smoothing=witten_bell"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """text.txt, and a model of it; nobody writes here."""
    folder = tmp_path_factory.mktemp("spell")
    (folder / "text.txt").write_text(TEXT)
    assert main(["spell", "train", str(folder / "text.txt"), "-m", str(folder / "model"), *BOLD, "--quiet"]) == 0
    return folder


class Stream(io.BytesIO):
    """A standard stream: text over bytes."""

    def __init__(self, content=b""):
        super().__init__(content)
        self.text = io.TextIOWrapper(self, encoding="utf-8", newline="")


@pytest.fixture
def run(monkeypatch):
    """Run a command with bytes as its standard input; (exit code, what it writes)."""

    def run(words, given=b""):
        source, target = Stream(given), Stream()
        monkeypatch.setattr(sys, "stdin", source.text)
        monkeypatch.setattr(sys, "stdout", target.text)
        code = main([str(word) for word in words])
        target.text.flush()
        return code, target.getvalue()

    return run


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (b"A peice of caek\r\n\n  a cap\tof TAE", b"A piece of cake\r\n\n  a cup\tof TEA"),
        (b"\xff\xfe piece of caek \x00\xc3(\n", b"\xff\xfe piece of cake \x00\xc3(\n"),
        (b"\xef\xbb\xbfpiece of caek\n\n\n", b"\xef\xbb\xbfpiece of cake\n\n\n"),
        (b"", b""),
    ],
)
def test_every_other_byte_of_files_and_pipes_stays(place, run, tmp_path, given, wanted):
    assert run(["spell", "correct", "-m", place / "model"], given) == (0, wanted)
    (tmp_path / "given.txt").write_bytes(given)
    assert run(["spell", "correct", tmp_path / "given.txt", "-m", place / "model", "--jobs", "2"]) == (0, wanted)
    with gzip.open(tmp_path / "given.gz", "wb") as file:
        file.write(b"piece of caek\n")
    assert run(["spell", "correct", tmp_path / "given.gz", "-m", place / "model"]) == (0, b"piece of cake\n")


def test_the_command_corrects_as_the_model_does(place, run):
    model = fastlin.load(place / "model")
    assert isinstance(model, SpellingCorrector)
    text = TEXT.replace("ea", "ae").replace("ff", "f")
    assert run(["spell", "correct", "-m", place / "model"], text.encode()) == (0, model.correct(text).encode())
    careful = model.set_params(error_rate=0.001).correct(text)
    given = ["spell", "correct", "-m", place / "model", "--error-rate", "0.001"]
    assert run(given, text.encode()) == (0, careful.encode())


def test_suggestions_are_words_with_their_logarithms(place, run):
    model = fastlin.load(place / "model")
    code, printed = run(["spell", "correct", "-m", place / "model", "--suggest", "2"], b"caek\nTae\n")
    found = [line.split("\t") for line in printed.decode().splitlines()]
    assert code == 0
    assert [[line[0], *(one.split()[0] for one in line[1:])] for line in found] == [
        [word, *(other for other, _ in model.suggest(word, 2))] for word in ("caek", "Tae")
    ]
    code, printed = run(["spell", "correct", "-m", place / "model", "--suggest", "2", "--json"], b"caek\n")
    record = json.loads(printed)
    assert [(one["word"], one["log_proba"]) for one in record["suggestions"]] == model.suggest("caek", 2)


def test_a_dialogue_shows_what_else_a_word_may_stand_for(place, run):
    code, printed = run(["spell", "correct", "-m", place / "model", "--interactive"], b"a peice of cake\nthe end")
    assert code == 0
    first, second, third, *_ = printed.decode().splitlines()
    assert first == "> a piece of cake"
    assert second.startswith("  peice -> piece (alone: piece")
    assert third.startswith("> ")


def test_a_dialogue_goes_on_where_a_word_becomes_a_part_of_an_address(tmp_path, run):
    (tmp_path / "text.txt").write_text("see the www site\nwww www www www\nthe www page\n" * 5)
    assert main(["spell", "train", str(tmp_path / "text.txt"), "-m", str(tmp_path / "model"), *BOLD, "--quiet"]) == 0
    code, printed = run(["spell", "correct", "-m", tmp_path / "model", "--interactive"], b"see ww.foo page\nthe")
    assert code == 0
    first, second, third, *_ = printed.decode().splitlines()
    assert first == "> see www.foo page"
    assert second.startswith("  ww -> www (alone: www")
    assert third == "> the"


def test_dictionaries_models_and_pairs_are_learnt_from(run, tmp_path):
    (tmp_path / "words.txt").write_text("cup\t30\ncap\ncake\t5\n\n")
    (tmp_path / "pairs.tsv").write_text("cup\tkup\t3\ncake\tkake\n")
    NgramModel(2, "witten_bell").fit(["a cup of tea", "a piece of cake"]).to_arpa(tmp_path / "lm.arpa")
    given = ["--pairs", tmp_path / "pairs.tsv", "--json", "--error-rate", "0.9", "-m", tmp_path / "model"]
    code, printed = run(["spell", "train", "--dictionary", tmp_path / "words.txt", *given])
    told = json.loads(printed)
    assert (code, told["words"]) == (0, 3)
    assert told["rules"] > 0
    assert fastlin.load(tmp_path / "model").words_ == ["cup", "cake", "cap"]
    assert run(["spell", "train", "--source", tmp_path / "lm.arpa", *given])[0] == 0
    assert run(["spell", "correct", "-m", tmp_path / "model"], b"a cup of taa") == (0, b"a cup of tea")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "-m", "{place}/new"], "from one of them"),
        (["train", "{place}/text.txt", "--dictionary", "{place}/text.txt", "-m", "{place}/new"], "from one of them"),
        (["train", "{place}/text.txt", "--pairs", "{place}/text.txt", "-m", "{place}/new"], "text.txt:1: a line is"),
        (["train", "--dictionary", "{place}/bad", "-m", "{place}/new"], "bad:2: 'x' is no number"),
        (["train", "{place}/none", "-m", "{place}/new"], "there is no file"),
        (["train", "{place}/text.txt", "-m", "{place}/new", "--max-edits", "9"], "max_edits"),
        (["correct", "-m", "{place}/lm"], "no corrector of spelling"),
        (["correct", "-m", "{place}/model", "--suggest", "2", "--interactive"], "one of them"),
    ],
)
def test_mistakes_are_named(place, tmp_path, capsys, words, message):
    for name in ("text.txt", "model"):
        (tmp_path / name).write_bytes((place / name).read_bytes())
    (tmp_path / "bad").write_text("cup\ncap\tx\n")
    fastlin.save(NgramModel(1, "witten_bell").fit(["a"]), tmp_path / "lm")
    assert main(["spell", *(word.format(place=tmp_path) for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_a_text_too_small_for_min_count_is_warned_of(tmp_path, capsys):
    (tmp_path / "text.txt").write_text("a cup of tea\nmore tea\n")
    given = [str(tmp_path / "text.txt"), "-m", str(tmp_path / "model"), "--set", "smoothing=witten_bell"]
    assert main(["spell", "train", *given]) == 0
    assert "min_count=3 leaves out all 5 words" in capsys.readouterr().err


def test_lines_of_several_words_have_no_suggestions(place, run, capsys):
    assert run(["spell", "correct", "-m", place / "model", "--suggest", "2"], b"caek peice\n")[0] == 2
    assert "word must be one word, got 'caek peice'" in capsys.readouterr().err


def test_other_commands_say_which_is_for_it(place, capsys):
    assert main(["predict", str(place / "text.txt"), "-m", str(place / "model")]) == 2
    assert "fastlin spell is for it" in capsys.readouterr().err
