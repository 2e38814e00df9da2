"""The command as a whole: what it says of itself, of mistakes, and how it ends."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import fastlin
from fastlin import cli
from fastlin.cli import COMMANDS
from fastlin.cli import commands as cli_commands
from fastlin.cli.arguments import AnyOf, number, share, size, span
from fastlin.cli.progress import Progress
from fastlin.runtime import progress
from support.command_line import documents

FASTLIN = [sys.executable, "-m", "fastlin"]


@contextmanager
def started(*words, **options):
    """A command that does not outlive its test."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*FASTLIN, *map(str, words)], **{**pipes, **options}) as process:
        try:
            yield process
        finally:
            process.kill()


def ran(*words, stdin=b""):
    done = subprocess.run([*FASTLIN, *map(str, words)], input=stdin, capture_output=True, check=False)
    return SimpleNamespace(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


# --- help and mistakes -----------------------------------------------------------------------------------------------


def test_help_names_every_command_and_its_options(shell):
    for words in (["--help"], ["-h"], ["help"]):
        shown = shell.right(*words).out
        assert all(command in shown for command in COMMANDS)
        assert "Exit codes: 0 done, 1 a check failed, 2 " in shown
    assert list(cli_commands.COMMANDS) == list(COMMANDS)
    for command in COMMANDS:
        shown = shell.right(*command.split(), "--help").out
        assert shown.startswith(f"usage: fastlin {command}")
        assert "--traceback" not in shown
    assert shell.right("--version").out == f"fastlin {fastlin.__version__}\n"


@pytest.mark.parametrize("words, code", [("--help", 0), ("-h", 0), ("help", 0), ("", 2), ("--nosuch", 2)])
def test_a_word_that_begins_commands_names_them(shell, words, code):
    done = shell("tag", *words.split())
    assert done.code == code
    assert done.out.startswith("usage: fastlin tag COMMAND ...")
    named = re.findall(r"^  (\w+ \w+) ", done.out, flags=re.MULTILINE)
    assert named == [command for command in COMMANDS if command.startswith("tag ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(shell, command):
    expected = shell.right(*command.split(), "--help").out
    assert expected.startswith(f"usage: fastlin {command}")
    assert shell.right("help", *command.split()).out == expected
    first, *rest = command.split()
    if rest:
        assert shell.right(first, "help", *rest).out == expected
        assert shell.right("help", first).out == shell.right(first, "--help").out


def test_names_of_commands_stand_apart_from_what_they_do(shell):
    for words in ([], ["tag"], ["parse"]):
        shown = shell(*words, "--help").out
        for command in COMMANDS:
            assert not re.search(rf"^  {command}\S", shown, flags=re.MULTILINE)


def test_without_a_command_the_help_is_the_answer(shell):
    done = shell()
    assert done.code == 2
    assert done.out.startswith("usage: fastlin COMMAND")


MISTAKES = {
    "trian x.tsv": "there is no command 'trian', did you mean 'train'",
    "--hlep": "there is no option '--hlep', did you mean '--help'",
    "tag trian x": "there is no command 'tag trian', did you mean 'tag train'",
    "tag train x.tsv": "^fastlin tag train: the following arguments are required: -m/--model",
    "train": "the following arguments are required: FILE, -m/--model",
    "train x.tsv": "the following arguments are required: -m/--model",
    "train x.tsv -m m --modle m": "there is no option --modle, did you mean '--model'",
    "train x.tsv -m m --learner=svn": "'svn' is none of .* did you mean 'svm'",
    "train x.tsv -m m": "there is no file 'x.tsv'",
    "train *.tsv -m m": "no file matches",
    "train x.tsv -m m --encoding rot13": "'rot13' is no encoding of texts",
    "train x.tsv -m m --errors nosuch": "'nosuch' is neither replace nor ignore",
    "train - -m m --checkpoint ./m": "--checkpoint and --model are the same file",
    "evaluate x.tsv -m m": "m: No such file or directory",
    "inspect .": r"^fastlin inspect: \.: Is a directory",
    "predict": "required: -m/--model",
    "inspect": "required: MODEL",
    "convert x.tsv": "required: -o/--output",
    "tune x.tsv": "either --dev FILE or --folds N",
    "tune x.tsv --dev x.tsv --folds 3": "either --dev FILE or --folds N",
    "tune x.tsv --folds 1": "--folds takes 2 parts or more, got 1",
    "train x.tsv -m -": "-: a model is not written to standard output; name a file",
    "train - -m -": "-: a model is not written to standard output; name a file",
    "tag train - -m -": "-: a model is not written to standard output; name a file",
    "train - -m m --checkpoint -": "-: a model is not written",
    "tune - --folds 3 -m -": "-: a model is not written",
    "convert - -o -": "shards are a folder, which is not written to standard output",
    "convert - -o - --to npy": "shards are a folder",
    "convert - -o s --save-vectoriser -": "a vectoriser is not written to standard output",
    "evaluate x.tsv -m m --top 0": "--top takes numbers of labels from 1 on, got 0",
    "evaluate x.tsv -m m --top 1.5": "'1.5' are no whole numbers",
    "evaluate x.tsv -m m --min-precision 2": "--min-precision takes a share above 0 and up to 1, got 2",
    "train x.tsv -m m --first-index 2": "invalid choice: '?2'?",  # newer Pythons quote it
    "help trian": "there is no command 'trian', did you mean 'train'",
    "demo now": "unrecognized arguments: now",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_answered_in_a_line(shell, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert re.search(MISTAKES[line], shell.wrong(*line.split()))


def test_the_demonstration_is_the_demo_module(shell, monkeypatch):
    monkeypatch.setattr("fastlin.demo.main", lambda: print("all learners"))
    assert shell.right("demo").out == "all learners\n"


def test_developers_may_have_the_traceback(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        cli.main(["train", "x.tsv", "-m", "m", "--traceback"])


def test_an_error_of_fastlins_own_shows_where_and_says_so(shell, folder, monkeypatch):
    def broken(*_, **__):
        raise KeyError("no such thing")

    monkeypatch.setattr("fastlin.cli.model_io.load", broken)
    done = shell("predict", "-m", folder / "model.fastlin", stdin="a text")
    assert done.code == 3
    assert "Traceback" in done.err
    assert done.err.endswith("fastlin predict: this is an error of fastlin's own\n")
    with pytest.raises(KeyError):
        cli.main(["predict", "-m", "m", "--traceback"])


def test_memory_that_is_not_there_is_said(shell, folder, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr("fastlin.cli.model_io.load", full)
    assert "not enough memory" in shell.wrong("predict", "-m", folder / "model.fastlin")


@pytest.mark.parametrize(
    "kind, right, wrong",
    [
        (span, {"3": (1, 3), "2-5": (2, 5), "2,5": (2, 5)}, ["", "0", "3-2", "a", "1-", "-1"]),
        (share, {"3": 3, "0.5": 0.5, "1e-3": 0.001}, ["many", ""]),
        (size, {"500M": 500 << 20, "2G": 2 << 30, "1.5 gb": 3 << 29, "10k": 10240, "7": 7}, ["0", "lots", "-1", "G"]),
        (number, {"3": 3, "-1": -1, "0.5": 0.5, "inf": float("inf")}, ["x", "", "1,5"]),
        (AnyOf(["tsv", "csv"], {"tab": "tsv"}), {"tab": "tsv", "csv": "csv"}, ["TSV", ""]),
    ],
)
def test_values_of_options(kind, right, wrong):
    import argparse

    for text, value in right.items():
        assert kind(text) == value
    for text in wrong:
        with pytest.raises(argparse.ArgumentTypeError):
            kind(text)


# --- processes -------------------------------------------------------------------------------------------------------


def test_python_m_fastlin_reads_and_writes_pipes(folder):
    done = ran("predict", "-m", folder / "model.fastlin", stdin=b"ball goal match\nsoup oven salt\n")
    assert (done.code, done.out, done.err) == (0, "sport\nfood\n", "")


def test_a_label_comes_before_the_pipe_ends(folder):
    with started("predict", "-m", folder / "model.fastlin") as process:
        for text, label in ((b"ball goal match\n", b"sport\n"), (b"soup oven salt\n", b"food\n")):
            process.stdin.write(text)
            process.stdin.flush()
            assert process.stdout.readline() == label
        process.stdin.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""


def test_a_pipe_that_nobody_reads_on_ends_the_command_quietly(folder, tmp_path):
    (tmp_path / "long.txt").write_text("ball goal match\n" * 100_000)
    with started("predict", tmp_path / "long.txt", "-m", folder / "model.fastlin") as process:
        assert process.stdout.readline() == b"sport\n"
        process.stdout.close()
        assert process.wait() == cli.BROKEN_PIPE == 128 + signal.SIGPIPE
        assert process.stderr.read() == b""


def test_ctrl_c_ends_a_training_and_leaves_the_old_model(folder, tmp_path):
    (tmp_path / "m").write_bytes(b"the old one")
    words = ["train", folder / "train.tsv", "-m", tmp_path / "m", "--learner", "sgd", "--epochs", "1000000000", "-v"]
    with started(*words) as process:
        while not process.stderr.readline().startswith(b"features"):
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == cli.INTERRUPTED == 128 + signal.SIGINT
        said = process.stderr.read().decode()
    assert said.endswith("fastlin train: interrupted\n")
    assert "Traceback" not in said
    assert (tmp_path / "m").read_bytes() == b"the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_closed_streams_and_a_full_disk(folder):
    command = f"{FASTLIN[0]} -m fastlin predict {folder}/texts.txt -m {folder}/model.fastlin"
    done = subprocess.run(["bash", "-c", f"{command} >&- 2>&- <&-"], check=False)
    assert done.returncode == 0
    for unbuffered in ("", "1"):  # "": the interpreter flushes what is left once more
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        words = ["bash", "-c", f"{command} > /dev/full"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
        assert (done.returncode, done.stderr) == (2, "fastlin predict: No space left on device\n")


def test_what_help_imports():
    code = "import sys; from fastlin.cli import main; main(['train', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "sklearn", "rich", "pyarrow"} & set(done.stdout.splitlines()[-1].split())


@pytest.mark.timing
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["train", "--help"], ["trian"]])
def test_help_and_mistakes_are_answered_at_once(words):
    seconds = []
    for _ in range(5):
        before = time.perf_counter()
        ran(*words)
        seconds.append(time.perf_counter() - before)
    assert min(seconds) < 0.15


# --- progress --------------------------------------------------------------------------------------------------------


def shown_by(kind, monkeypatch, *stages):
    """What a kind of stage writes to stderr."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    for total, steps in stages:
        with kind("reading", total, "bytes") as stage:
            for done in steps:
                stage.update(done, f"{done} done")
    return stream.getvalue()


def test_a_line_says_how_much_how_fast_and_how_long(monkeypatch):
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    written = shown_by(progress.Line, monkeypatch, (1000, [250, 500]))
    assert "reading   25%" in written
    assert re.search(r"25%  \d:\d\d left  [\d.]+ bytes/s  250 done", written)
    assert written.endswith("\r\x1b[K")  # the line is gone when the stage is over
    unknown = shown_by(progress.Line, monkeypatch, (None, [250]))
    assert "left" not in unknown
    assert "bytes/s" in unknown


def test_where_nobody_looks_nothing_is_written(monkeypatch):
    assert shown_by(progress.Stage, monkeypatch, (10, [1, 2])) == ""
    assert re.fullmatch(r"reading: [\d.]+ s, .*2 done\n", shown_by(progress.Log, monkeypatch, (10, [1, 2])))


def test_bars_of_rich(monkeypatch):
    assert isinstance(shown_by(progress.Bar, monkeypatch, (10, [1, 2])), str)


@pytest.mark.parametrize(
    "terminal, options, kind",
    [
        (False, {}, progress.Stage),
        (False, {"verbose": True}, progress.Log),
        (True, {}, progress.Line),
        (True, {"quiet": True}, progress.Stage),
    ],
)
def test_progress_suits_where_it_goes(monkeypatch, terminal, options, kind):
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: terminal))
    monkeypatch.setattr(progress, "is_installed", lambda package: False)
    made = Progress(SimpleNamespace(**{"quiet": False, "verbose": False, **options}))
    assert made.kind is kind
    assert made.shown == (kind is not progress.Stage)


def test_amounts_and_clocks():
    assert [progress.amount(n) for n in (0, 5, 999, 1234, 250_000, 1.5e6, 2e12)] == [
        "0", "5", "999", "1.23k", "250k", "1.5M", "2000G",
    ]  # fmt: skip
    assert [progress.clock(s) for s in (0, 59.6, 61, 3700)] == ["0:00", "1:00", "1:01", "1:01:40"]


def test_a_terminal_sees_the_progress(folder, tmp_path):
    """A training whose stderr is a terminal shows a line or bars, and prints its summary to stdout as ever."""
    reader, writer = pty.openpty()
    big = tmp_path / "big.tsv"
    big.write_text("".join(f"{label}\t{text}\n" for label, text in documents(300) * 5))
    words = ["train", big, "-m", tmp_path / "m", "--learner", "sgd", "--epochs", "300"]
    with started(*words, stderr=writer) as process:
        os.close(writer)
        seen = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:  # the terminal is gone
                break
            if not part:
                break
            seen += part
        assert process.wait() == 0
        assert b"1,500 documents" in process.stdout.read()
    os.close(reader)
    assert b"learning" in seen
    assert b"left" in seen or b"%" in seen
