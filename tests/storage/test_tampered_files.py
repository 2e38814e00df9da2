"""Whole files that say what no model says: refused, or a model that answers or refuses to, and never a crash.

Of every class, each array and each number is made wrong in every way of `tampering`; the model is loaded and all its
public methods are called, by child processes with a bound on memory and time.
"""

import numpy as np
import pytest

import fastlin
from fastlin import storage
from support import tampering
from support.model_files import fitted

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


def test_what_was_learnt_from_other_data_is_no_part_of_a_model(folder, tmp_path):
    """Of more columns and labels: each part is whole by itself."""
    numbers = tampering.crossed_of(folder)
    assert sum(map(len, numbers.values())) > 100
    found, _ = tampering.findings(folder, numbers, tmp_path)
    assert not found, "\n".join(f"{case} -> {came}" for case, came in found.items())


def test_every_file_is_used_as_it_is(folder, monkeypatch, tmp_path):
    """What the cases begin with loads, and most of its methods answer."""
    monkeypatch.chdir(tmp_path)
    known = {name: data for name, _, data in tampering.cases()}
    for path in folder.glob("*.fastlin"):
        header, arrays = storage.read_archive(path, "model", mmap=False)
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


def test_what_the_cases_have_found(tmp_path):
    """Reports, sums and numbers of words that no fit leaves; each was an error of a wrong kind once."""
    path = tmp_path / "model.fastlin"
    known = {name: (model, data) for name, model, data in tampering.cases()}

    def tampered(name, change):
        fastlin.save(fitted(known[name][0], *known[name][1]), path)
        header, arrays = storage.read_archive(path, "model", mmap=False)
        change(header["model"]["learnt"], arrays)
        storage.write_archive(path, "model", header, arrays)
        return fastlin.load(path)

    other = {"model": {"class": "fastlin.Elementwise", "parameters": {}, "learnt": {}}}
    with pytest.raises(storage.ModelFileError, match="too large to be added"):
        tampered("hmm", lambda _, arrays: arrays.update({"HMM.start": np.full(3, 1e308)}))
    with pytest.raises(storage.ModelFileError, match="no report of a fit"):
        tampered("log", lambda learnt, _: learnt.update(history_={"type": "float"}))
    with pytest.raises(storage.ModelFileError, match="columns"):
        tampered("normaliser", lambda learnt, _: learnt.update(n_features_in_=2**62))
    with pytest.raises(storage.ModelFileError, match="gains"):
        tampered("features", lambda _, arrays: arrays.update({"SelectFeatures.gains": np.zeros(9)}))
    with pytest.raises(storage.ModelFileError, match="weights of terms"):
        tampered("sk tfidf", lambda learnt, _: learnt.update(_tfidf=other))
    model = tampered("dicts", lambda learnt, _: learnt.update(vocabulary_={"dict": [["length", 0]]}))
    for support, indices in (([0, 1], False), ([1], True), ([-1], True)):
        with pytest.raises(ValueError, match="support must name columns from 0 to 0"):
            model.restrict(support, indices)
    for few in (np.full(3, 1e-300), np.full(3, 1e-320)):
        model = tampered("mixture", lambda _, arrays, few=few: arrays.update({"MultinomialMixture.labels": few}))
        with pytest.raises(ValueError, match="words on average: give lengths"):
            model.sample(3)
        assert model.sample(3, lengths=4)[0].sum() == 12
        model = tampered("hmm of order 2", lambda _, arrays, few=few: arrays.update({"HMM.labels": few}))
        with pytest.raises(ValueError, match="features on average"):
            model.sample(3)
