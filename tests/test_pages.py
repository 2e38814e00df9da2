"""Every page of documentation: its Python and its commands run in the order of the page, and print what it says.

A block of Python with prompts is a doctest, one without is run as it stands, and one of `sh` is a script.
The blocks of a page share their names and an empty folder.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fastlin.cli import main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = {"README": ROOT / "README.md", "SECURITY": ROOT / "SECURITY.md"} | {
    page.relative_to(DOCS).with_suffix("").as_posix(): page
    for page in sorted(DOCS.rglob("*.md"))
    if not page.is_relative_to(DOCS / "_generated")
}
PLACES = ("*.py", "src/**/*.*", "tests/**/*.py", "bench/**/*.*")
FILES = {str(path.relative_to(ROOT)) for place in PLACES for path in ROOT.glob(place)}
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
SIMPLE = re.compile(r"fastlin [^|<>;&$]*")  # a command that needs no shell
EXACT, SPACES = 0, doctest.NORMALIZE_WHITESPACE
LOOSE = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def nothing(printed: str) -> None:
    """All that the page promises is in its doctests."""


def of_readme(printed: str) -> None:
    assert Path("reviews.fastlin").exists()
    assert float(re.search(r"accuracy ([0-9.]+)", printed)[1]) > 0.6
    assert "emu" in printed


def of_cluster(printed: str) -> None:
    assert float(re.search(r"accuracy ([0-9.]+)", printed)[1]) > 0.5


def of_corpora(printed: str) -> None:
    assert float(re.search(r"right ([0-9.]+)", printed)[1]) > 0.7


def of_guide(printed: str) -> None:
    assert float(re.search(r"accuracy on dev.tsv: ([0-9.]+)", printed)[1]) > 0.75
    assert "ahead by" in printed
    assert "best: C = " in printed
    assert "served.fastlin is whole" in printed
    assert "sqlite3" in printed
    labels = Path("labels.txt").read_text().splitlines()
    assert len(labels) == 400
    right = [line.split("\t")[0] for line in Path("test.tsv").read_text().splitlines()]
    assert sum(a == b for a, b in zip(labels, right, strict=True)) > 300


def of_inspection(printed: str) -> None:
    assert "good" in printed
    assert "no difference that chance would not make" in printed


def of_learners(printed: str) -> None:
    assert int(re.search(r"first in (\d+)%", printed)[1]) > 60


@dataclass(frozen=True)
class Page:
    """What a page has at least, how literally its doctests are taken, and what must be true when all has run.

    A page that imports a library without wheels for every Python runs where the library is.
    """

    examples: int
    blocks: int = 0  # scripts, and Python without prompts
    flags: int = EXACT
    check: Callable[[str], None] = nothing
    peer: str | None = None


PAGES = {
    "checkpoints": Page(examples=9),
    "README": Page(examples=0, blocks=3, check=of_readme),
    "cluster": Page(examples=0, blocks=1, check=of_cluster),
    "corpora": Page(examples=21, blocks=1, flags=LOOSE, check=of_corpora),
    "features": Page(examples=21),
    "files": Page(examples=21, flags=LOOSE),
    "guide": Page(examples=0, blocks=16, check=of_guide),
    "grammars": Page(examples=0, blocks=5),
    "channel": Page(examples=0, blocks=5),
    "language-models": Page(examples=13, flags=LOOSE),
    "inspection": Page(examples=0, blocks=3, check=of_inspection),
    "install": Page(examples=0, blocks=1),
    "learners": Page(examples=0, blocks=3, check=of_learners),
    "model-files": Page(examples=21),
    "selection": Page(examples=11),
    "sequences": Page(examples=61, blocks=1, flags=LOOSE),
    "templates": Page(examples=21, flags=SPACES),
    "text": Page(examples=26),
    "unsupervised": Page(examples=31, blocks=1, flags=SPACES),
    "course/channel": Page(examples=15),
    "course/classification": Page(examples=49),
    "course/clusters": Page(examples=24),
    "course/grammars": Page(examples=22),
    "course/language-models": Page(examples=21),
    "course/probability": Page(examples=31),
    "course/sequences": Page(examples=23),
    "how-to": Page(examples=42),
    "moving/crfsuite": Page(examples=18, peer="pycrfsuite"),
    "moving/fasttext": Page(examples=9, blocks=1),
    "moving/hmmlearn": Page(examples=21, peer="hmmlearn"),
    "moving/kenlm": Page(examples=11),
    "moving/liblinear": Page(examples=13, blocks=1),
    "moving/nltk": Page(examples=25),
    "moving/vowpal-wabbit": Page(examples=8, blocks=1),
    "tour": Page(examples=30, blocks=1),
}


def run_doctest(block: str, names: dict[str, object], page: Path, line: int, flags: int) -> int:
    """The number of examples in a block that begins at this line; what they name is in `names` afterwards."""
    test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
    tried = doctest.DocTestRunner(optionflags=flags).run(test, clear_globs=False)
    assert tried.failed == 0
    names.update(test.globs)
    for name in names.keys() - test.globs.keys():
        del names[name]
    return tried.attempted


def run_script(block: str, path: Path) -> None:
    """A block of shell: in this process where it needs no shell, for every process imports scikit-learn anew."""
    lines = block.strip().splitlines()
    if all(SIMPLE.fullmatch(line) for line in lines):
        for line in lines:
            assert main(shlex.split(line)[1:]) == 0, line
        return
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    script = f"set -euo pipefail\n{block}"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block}\n{done.stderr}"
    print(done.stdout)


def headings(page: Path) -> set[str]:
    """The anchors that a page offers, as Markdown's readers make them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, and `fastlin` on the path."""
    bin_, work = tmp_path / "bin", tmp_path / "work"
    bin_.mkdir()
    work.mkdir()
    (bin_ / "fastlin").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fastlin "$@"\n')
    (bin_ / "fastlin").chmod(0o755)
    monkeypatch.chdir(work)
    return bin_


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_links_lead_somewhere(name):
    """Links between pages: to files that there are, and to headings that they have."""
    page = DOCUMENTS[name]
    for path, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if not path.startswith("https:"):
            other = page.parent / path if path else page
            assert other.is_file(), path
            assert not heading or heading in headings(other), f"{path}#{heading}"


@pytest.mark.parametrize("name", sorted(DOCUMENTS.keys() - {"CHANGELOG"}))
def test_files_that_are_named_are_there(name):
    """A file's name is the end of a path below the root, the package, its tests or its benchmarks."""
    named = set(re.findall(r"`([\w/]+\.(?:py|pyx|pxd|h))`", DOCUMENTS[name].read_text()))
    assert {path for path in named if not any(f"/{file}".endswith(f"/{path}") for file in FILES)} == set()


def test_the_page_of_architecture_names_every_file_of_the_engine():
    engine = {Path(file).name for file in FILES if "/engine/" in file and file.endswith((".pyx", ".pxd", ".h"))}
    assert engine == set(re.findall(r"\w+\.(?:pyx|pxd|h)\b", DOCUMENTS["architecture"].read_text()))


def test_every_page_with_python_or_commands_is_run():
    assert {name for name, page in DOCUMENTS.items() if BLOCK.search(page.read_text())} == set(PAGES)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.peer(page.peer)] if page.peer else []) for name, page in PAGES.items()],
)
def test_the_page_runs(name, place, capsys):
    page, expected, text = DOCUMENTS[name], PAGES[name], DOCUMENTS[name].read_text()
    names, examples, blocks = {"__name__": "__main__"}, 0, 0
    for found in BLOCK.finditer(text):
        kind, block = found.groups()
        if ">>> " in block:
            examples += run_doctest(block, names, page, text.count("\n", 0, found.start(2)), expected.flags)
            continue
        blocks += 1
        if kind == "sh":
            run_script(block, place)
        else:
            exec(compile(block, page.name, "exec"), names)
    assert examples == len(re.findall(r"^>>> ", text, flags=re.MULTILINE)) >= expected.examples
    assert blocks >= expected.blocks
    printed = capsys.readouterr()
    assert not printed.err
    expected.check(printed.out)
