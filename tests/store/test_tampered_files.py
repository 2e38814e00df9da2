"""Whole files that say what no model says: refused, or a model that answers or refuses to, and never a crash.

Of every class, each array and each number is made wrong in every way of `tampering`; the model is loaded and all its
public methods are called, by child processes with a bound on memory and time.
"""

import pytest

import fastlin
import tampering
from fastlin import store
from golden_files import cases

QUICK = 0.005  # of all cases; with --slow, all of them
PARTS = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    tampering.write(folder)
    return folder


@pytest.mark.parametrize("part", [QUICK, *(pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS))])
def test_a_file_with_one_wrong_array_or_number_never_crashes(folder, tmp_path, part):
    if part == QUICK:
        numbers = tampering.numbers_of(folder, QUICK)
    else:
        everything = tampering.numbers_of(folder, 1.0)
        numbers = {path: every[part::PARTS] for path, every in everything.items()}
    found, done = tampering.findings(folder, numbers, tmp_path)
    assert done == sum(map(len, numbers.values()))
    assert not found, "\n".join(f"{case} -> {came}" for case, came in found.items())


def test_every_file_is_used_as_it_is(folder, monkeypatch, tmp_path):
    """What the cases begin with loads, and most of its methods answer."""
    monkeypatch.chdir(tmp_path)
    known = {name: data for name, _, data in cases()}
    for path in folder.glob("*.fastlin"):
        header, arrays = store.read_archive(path, "model", mmap=False)
        tampering.forge_model(tmp_path / "same.fastlin", header, arrays)
        assert (tmp_path / "same.fastlin").read_bytes() == path.read_bytes()
        data = tampering.data_of(path, known)
        assert tampering.refused_or_used(path, data) == "used"
        answered = 0
        for use in tampering.uses(fastlin.load(path), data):
            try:
                use()
                answered += 1
            except tampering.REFUSALS:
                continue
        assert answered > 5
