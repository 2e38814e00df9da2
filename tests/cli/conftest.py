"""A shell for every test, and one trained model for all of them."""

import pytest

from fastlin.cli import main
from support.command_line import Shell, documents, write


@pytest.fixture
def shell(capsys, monkeypatch):
    return Shell(capsys, monkeypatch)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """train.tsv, dev.tsv, texts.txt and model.fastlin; nobody writes here."""
    place = tmp_path_factory.mktemp("cli")
    write(place / "train.tsv", documents(300))
    pairs = documents(60, seed=1)
    write(place / "dev.tsv", pairs)
    (place / "texts.txt").write_text("".join(f"{text}\n" for _, text in pairs), encoding="utf-8")
    assert main(["train", str(place / "train.tsv"), "-m", str(place / "model.fastlin"), "--quiet"]) == 0
    return place
