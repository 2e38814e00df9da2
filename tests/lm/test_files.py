"""Model files of language models: what is saved is loaded, proved, mapped, and goes on learning."""

import numpy as np
import pytest

import fastlin
from fastlin.lm import MaxentLM, NgramModel
from fastlin.storage import ModelFileError, read_archive
from support.language_models import CORPUS, arrays, quiet, random_corpus
from support.tampering import forge_model

pytestmark = pytest.mark.filterwarnings("ignore:too few counts")
SENTENCES = random_corpus(2, 400)


def loaded(model, path, **options):
    fastlin.save(model, path, **options)
    return fastlin.load(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_count": 3},
        {"cutoff": [1, 2], "interpolate": False},
        {"smoothing": "dirichlet", "base_measure": {"w1": 2.0, "w2": 1.0, "</s>": 1.0, "<unk>": 0.5}},
        {"vocabulary": ["w1", "w2", "x"], "unk": "OOV"},
        {"direction": "backward", "markup": "keep"},
    ],
)
def test_what_is_saved_is_loaded_and_learns_on(options, tmp_path):
    model = quiet(3, SENTENCES, **options)
    again = loaded(model, tmp_path / "x")
    assert arrays(again) == arrays(model)
    assert again.get_params() == model.get_params()
    X = [*CORPUS, *SENTENCES[:20]]
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(again.next_word(["w1", "w2"]), model.next_word(["w1", "w2"]))
    assert [each.tolist() for each in again.discounts_] == [each.tolist() for each in model.discounts_]
    assert arrays(again.partial_fit(CORPUS * 9)) == arrays(model.partial_fit(CORPUS * 9))


def test_a_mapped_model_shares_its_file(tmp_path):
    again = loaded(quiet(3, SENTENCES), tmp_path / "x")
    assert not any(array.flags.writeable or array.flags.owndata for array in again._backoff_model.log_prob)


def test_characters_and_imported_models(tmp_path):
    model = quiet(3, ["a b", "b a"], unit="character")
    assert arrays(loaded(model, tmp_path / "x")) == arrays(model)
    model.to_arpa(tmp_path / "arpa")
    imported = NgramModel.from_arpa(tmp_path / "arpa", unit="character")
    again = loaded(imported, tmp_path / "y")
    assert arrays(again) == arrays(imported)
    with pytest.raises(ValueError, match="ARPA"):
        again.partial_fit(["a"])


@pytest.mark.parametrize(("dtype", "close"), [("float16", 0.01), ("int8", 0.2), ("float32", 0)])
def test_files_for_serving(dtype, close, tmp_path):
    model = quiet(3, SENTENCES)
    again = loaded(model, tmp_path / "x", dtype=dtype)
    whole = loaded(model, tmp_path / "whole")
    found, wanted = again.surprisal(SENTENCES[:50]).bits, whole.surprisal(SENTENCES[:50]).bits
    assert np.abs(found - wanted).max() <= 20 * close
    assert again.perplexity(SENTENCES) == pytest.approx(model.perplexity(SENTENCES), rel=close)
    with pytest.raises(ValueError, match="serving"):
        again.partial_fit(CORPUS)
    if close:
        assert (tmp_path / "x").stat().st_size < (tmp_path / "whole").stat().st_size
    with pytest.raises(ValueError, match="prune"):
        fastlin.save(model, tmp_path / "z", prune=0.1)


def test_what_was_saved_for_serving_is_saved_again(tmp_path):
    model = loaded(MaxentLM(3).fit(SENTENCES), tmp_path / "served", dtype="float16")
    again = loaded(model, tmp_path / "again")
    np.testing.assert_array_equal(again.score_samples(SENTENCES), model.score_samples(SENTENCES))


@pytest.mark.parametrize("options", [{}, {"interpolate": False}, {"smoothing": "relative_frequency"}, {"unk": None}])
@pytest.mark.parametrize("imported", [False, True])
def test_rare_words_of_large_vocabularies_in_bytes(options, imported, tmp_path):
    """p = 0 of what begins a sentence, and of words that a file lacks, is no part of a mean."""
    rng = np.random.default_rng(0)
    words = (3000 * rng.random((900, 9)) ** 3).astype(int)
    sentences = [[f"w{word}" for word in row] for row in words]
    model = quiet(2, sentences, **options)
    if imported:
        model.to_arpa(tmp_path / "arpa")
        model = NgramModel.from_arpa(tmp_path / "arpa")
    again = loaded(model, tmp_path / "x", dtype="int8")
    assert len(model.words_) > 1024
    found, wanted = (each.score_samples([[word] for word in model.words_[2:]]) for each in (again, model))
    possible = np.isfinite(wanted) & (wanted > -200)
    assert np.abs(found[possible] - wanted[possible]).max() < 3
    assert (found[~possible] < -200).all()


def test_a_model_that_was_not_fitted_keeps_its_parameters(tmp_path):
    again = loaded(NgramModel(4, "witten_bell", cutoff=[1, 2]), tmp_path / "x")
    assert again.get_params() == NgramModel(4, "witten_bell", cutoff=[1, 2]).get_params()
    with pytest.raises(ValueError, match="fit"):
        again.perplexity(CORPUS)


def forged(model, change, path):
    """A file of a hostile author: well formed, its digests right."""
    state = model._learnt
    found = state.model
    lists = {name: list(getattr(found, name)) for name in ("words", "starts", "suffix", "log_prob", "backoff")}
    change(lists)
    broken = type(found)(found.vocabulary, **lists)
    copy = NgramModel(3)
    copy._state_of_fit = type(state)(state.seen, state.counts, state.smoothing, state.reader, 1, None, "<unk>")
    copy._state_of_fit.__dict__["estimate"] = type(state.estimate)(broken, state.estimate.discounts)
    fastlin.save(copy, path)


def put(name, n, place, value):
    def change(lists):
        array = lists[name][n].copy()
        array[place] = value
        lists[name][n] = array

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("starts", 1, 3, 10**6),
        put("starts", 1, 3, -1),
        put("starts", 2, -1, 5),
        put("words", 2, 7, 10**6),
        put("words", 2, 7, -1),
        put("words", 2, 7, 0),
        put("suffix", 1, 7, 10**6),
        put("suffix", 2, 7, -2),
        put("log_prob", 1, 7, 0.5),
        put("log_prob", 1, 7, np.nan),
        put("backoff", 1, 7, np.nan),
        put("backoff", 1, 7, np.inf),
        lambda lists: lists["words"].pop(),
        lambda lists: lists["backoff"].pop(),
        lambda lists: lists["starts"].__setitem__(2, lists["starts"][2][:-1]),
        lambda lists: lists["log_prob"].__setitem__(0, lists["log_prob"][0][:-1]),
        lambda lists: lists["words"].__setitem__(2, lists["words"][2].astype(np.int64)),
        lambda lists: lists["log_prob"].__setitem__(2, lists["log_prob"][2].astype(np.float64)),
    ],
)
def test_models_of_a_hostile_author_are_refused(change, tmp_path):
    model = quiet(3, SENTENCES)
    forged(model, change, tmp_path / "x")
    with pytest.raises(ModelFileError):
        fastlin.load(tmp_path / "x")


def test_counts_of_a_hostile_author_are_refused(tmp_path):
    model = quiet(2, SENTENCES)
    state = model._learnt
    for name, n, place, value in (
        ("counts", 1, 3, -1),
        ("counts", 0, 3, 2**62 + 1),
        ("suffix", 1, 3, -1),
        ("starts", 1, 3, 10**6),
        ("words", 1, 3, 10**6),
    ):
        lists = {key: list(getattr(state.counts, key)) for key in ("words", "starts", "suffix", "counts")}
        put(name, n, place, value)(lists)
        copy = NgramModel(2)
        copy._state_of_fit = type(state)(
            state.seen, type(state.counts)(**lists), state.smoothing, state.reader, 1, None, "<unk>"
        )
        copy._state_of_fit.__dict__["estimate"] = state.estimate
        fastlin.save(copy, tmp_path / "x")
        with pytest.raises(ModelFileError):
            fastlin.load(tmp_path / "x")


def test_mutated_files_are_refused_or_the_same(tmp_path):
    model = quiet(2, CORPUS)
    path = tmp_path / "x"
    fastlin.save(model, path)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(1000):
        broken = bytearray(whole)
        broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        path.write_bytes(broken)
        try:
            again = fastlin.load(path)
        except ModelFileError:
            continue
        assert arrays(again) == arrays(model)


@pytest.mark.parametrize(
    "model",
    [NgramModel(3, "witten_bell"), MaxentLM(3, classes=6), MaxentLM(4, classes=6), MaxentLM(3, skip_grams=2)],
    ids=repr,
)
def test_numbers_whose_differences_overflow_do_not_rise(model, tmp_path):
    fastlin.save(model.fit(SENTENCES[:40]), tmp_path / "x")
    header, whole = read_archive(tmp_path / "x", "model", mmap=False)
    integers = {name: array for name, array in whole.items() if array.dtype.kind == "i" and array.size > 5}
    assert len(integers) > 5
    for name, array in integers.items():
        limits = np.iinfo(array.dtype)
        for place, value in ((slice(2, 5), (limits.max, limits.min, -1)), (-1, limits.min)):
            wrong = array.copy()
            wrong[place] = value
            forge_model(tmp_path / "y", header, whole | {name: wrong})
            with pytest.raises(ModelFileError):
                fastlin.load(tmp_path / "y")
