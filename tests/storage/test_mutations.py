"""Damaged and hostile files: an error of the right kind, always."""

import contextlib
import copy
import json
import random
import warnings
from itertools import pairwise

import numpy as np
import pytest

import fastlin
from fastlin import storage
from fastlin.storage import zip_layout
from fastlin.text import templates
from support.model_files import CODES, DICTS, SENTENCES, SOME, TAGGERS, TAGS, TEXTS, X, fitted, forge, of_texts

USES = (
    lambda model, rows: model.predict(rows),
    lambda model, rows: model.transform(rows),
    lambda model, rows: model.get_feature_names_out(),
    lambda model, rows: model.partial_fit(rows, CODES),
    lambda model, rows: model.predict_marginals(rows),
    lambda model, rows: model.predict_nbest(rows, 2),
)
RAW = [[("a", "D"), ("new", "A"), ("dog", "N")], [("Rex", "P"), ("ran", "V")], []] * 5
QUICK, SLOW = 300, 10_000
ODD = [
    None, True, False, 0, 1, -1, 2, 2**31, -(2**63), 2**63, 10**30, -0.5, 1e300, "", "x", "fastlin.Perceptron", [], {},
    [[]], {"float": "nan"}, {"float": "inf"}, {"float": 3}, {"tuple": [1, 2]}, {"array": "none"}, {"dict": [[1, 2]]},
    {"model": {}}, {"model": {"class": "os.system", "parameters": {}, "learnt": {}}}, {"function": "os.system"},
    {"type": "float64"}, {"dtype": "object"}, {"generator": "x"}, {"strings": ["a", "b"]}, {"bytes": "zz"},
    {"slice": [0, 10**9, 1]}, {"x": 1, "y": 2},
]  # fmt: skip
KINDS = ["<f8", "<f4", "<i8", "<i4", "|u1", "|b1", "<U3", "|S2", "|O", "<c16", "<M8[s]", "", "<f8,<f8", [["a", "<f8"]]]


def models():
    """Of all that has tables that kernels read."""
    yield of_texts()
    yield fitted(fastlin.SGDClassifier(learning_rate="adagrad", penalty="l1", max_iter=3, tol=None), X, CODES)
    yield fitted(fastlin.Perceptron(average=True, max_iter=3, tol=None), X, CODES)
    yield fitted(fastlin.LogisticRegression(tol=1e-2, weights="observed"), X, CODES).sparsify()
    yield fitted(fastlin.MultinomialNB(), X, CODES)
    yield fitted(
        fastlin.CategoricalNB(min_categories=9),
        [(word, row[0]) for word, row in zip("abcdefghi" * 10, X, strict=True)],
        CODES,
    )
    yield fitted(fastlin.MultinomialMixture(3, random_state=0), X)
    yield fitted(fastlin.SemiSupervisedNB(components=2, random_state=0), X, SOME)
    yield fitted(fastlin.KMeans(3, random_state=0), X)
    yield fitted(fastlin.Conjunctions(degree=3), X)
    yield fitted(fastlin.Conjunctions(n_features=32, groups=[[0, 1], [2, 3]]), X)
    yield fitted(fastlin.CountVectorizer(ngram_range=(1, 3), stop_words=["no"]), TEXTS)
    yield fitted(fastlin.DictVectorizer(), DICTS)
    yield from (fitted(model, SENTENCES, TAGS) for model in TAGGERS)
    yield fitted(templates.ner(gazetteers={"x": ["new dog", "Rex"]}, pos=1), RAW)
    yield fitted(templates.ratnaparkhi96(), RAW)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(content, header, arrays) of a file of each; and where mutants go."""
    path = tmp_path_factory.mktemp("mutants") / "mutant.fastlin"
    found = []
    for number, model in enumerate(models()):
        fastlin.save(model, path, **({"dtype": "int8", "prune": 1e-3} if number == 2 else {}))
        header, arrays = storage.read_archive(path, "model", mmap=False)
        found.append((path.read_bytes(), header, arrays))
    return found, path


def many(test):
    """So many mutants quickly, so many with --slow."""
    slow = pytest.param(SLOW, marks=pytest.mark.slow)
    return pytest.mark.parametrize("n", [QUICK, slow])(test)


def refused(path, content):
    path.write_bytes(content)
    for options in ({}, {"mmap": False}):
        with pytest.raises(storage.ModelFileError, match=r"mutant\.fastlin: "):
            fastlin.load(path, **options)


def refused_or_used(path):
    """A file without damage that says what no model says: an error, or a model that answers or refuses to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = fastlin.load(path)
        except storage.ModelFileError:
            return False
        rows = DICTS if hasattr(model, "feature_names_") else X
        for given in (rows, TEXTS, SENTENCES, RAW):
            for use in USES:
                with contextlib.suppress(Exception):  # nobody made this model: any error will do, but no crash
                    use(copy.copy(model), given)
        return True


@many
def test_truncated_and_lengthened_files(files, n):
    chance = random.Random(0)
    for _ in range(n):
        content = chance.choice(files[0])[0]
        place, more = chance.randrange(len(content)), chance.randbytes(chance.randrange(1, 200))
        refused(files[1], chance.choice([content[:place], content[:place] + more + content[place:], more + content]))


@many
def test_flipped_bits(files, n):
    chance = random.Random(1)
    for _ in range(n):
        content = bytearray(chance.choice(files[0])[0])
        for _ in range(chance.choice([1, 1, 1, 2, 9])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        refused(files[1], bytes(content))


@many
def test_swapped_and_overwritten_ranges(files, n):
    chance = random.Random(2)
    for _ in range(n):
        content = chance.choice(files[0])[0]
        size = chance.choice([1, 8, 64, 100])
        a, b = sorted(chance.sample(range(len(content) - size), 2))
        first, second = content[a : a + size], content[b : b + size]
        if b < a + size or first == second:
            continue
        tail = content[b + size :]
        swapped = content[:a] + second + content[a + size : b] + first + tail
        refused(files[1], chance.choice([swapped, content[:b] + first + tail]))


def members_of(content):
    """{name: content} of a file's arrays, and its JSON."""
    start = zip_layout.directory_start(content[-zip_layout.END_SIZE :])
    last = zip_layout.last_member(content[start : -zip_layout.END_SIZE], "model.json")
    whole = json.loads(content[last.start : last.stop])
    offset, members = 0, {}
    for name, entry in whole["arrays"].items():
        begin = offset + zip_layout.header_size(f"{name}.npy", offset)
        size = int.from_bytes(content[offset + 30 + len(name) + 4 + 4 :][:8], "little")
        members[name] = content[begin : begin + size]
        assert entry["crc32"] == int.from_bytes(content[offset + 14 :][:4], "little")
        offset = begin + size
    return members, whole


def test_members_that_changed_places(files, tmp_path):
    for content, *_ in files[0]:
        members, whole = members_of(content)
        forge(files[1], whole, members)
        assert files[1].read_bytes()[-98:] == content[-98:]
        names = list(members)
        for one, other in pairwise(names):
            if members[one] != members[other]:
                forge(files[1], whole, members | {one: members[other], other: members[one]})
                refused(files[1], files[1].read_bytes())
        forge(files[1], whole, dict(reversed(members.items())))
        if len(names) > 1:
            refused(files[1], files[1].read_bytes())


def places_of(value, path=()):
    """Everywhere in JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_of(item, (*path, key))


def changed(value, path, new):
    """JSON with another value in one place; `...` takes it away."""
    value = copy.deepcopy(value)
    target = value
    for key in path[:-1]:
        target = target[key]
    if new is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = new
    return value


@many
def test_hostile_headers(files, n):
    """The JSON is changed, and all digests are right."""
    chance = random.Random(3)
    parsed = [members_of(content) for content, *_ in files[0]]
    everywhere = [[path for path in places_of(whole) if path] for _, whole in parsed]
    used = 0
    for _ in range(n):
        number = chance.randrange(len(parsed))
        members, whole = parsed[number]
        path = chance.choice(everywhere[number])
        if path[-1] == "dtype" and chance.random() < 0.7:
            mutant = changed(whole, path, chance.choice(KINDS))
        elif path[-1] == "shape" and chance.random() < 0.7:
            mutant = changed(whole, path, [chance.choice([-1, 0, 1, 3, 2**40, 2**62, 1.5, None]) for _ in range(3)])
        else:
            mutant = changed(whole, path, chance.choice([..., *ODD]))
        forge(files[1], mutant, members)
        used += refused_or_used(files[1])
    assert used < n / 2


def mutant(array, chance, rng):
    """An array like it: another length or type, odd numbers, another order, noise."""
    if not array.size or not array.ndim:
        return np.zeros(3, array.dtype)
    match chance.randrange(6):
        case 0:
            return array[:-1]
        case 1:
            return np.concatenate([array, array])
        case 2:
            return rng.permutation(array)
        case 3 if array.dtype.names is None:
            return array.astype(chance.choice(["S3", "U3"])).view(np.uint8)
        case 4 if array.dtype.kind in "fiu":
            odd = [0, -1, 1, 127, 2**31 - 1, -(2**31), 10**6, len(array)]
            odd += [np.nan, np.inf, -1e308] if array.dtype.kind == "f" else []
            with np.errstate(over="ignore"):
                array.reshape(-1)[rng.integers(array.size, size=3)] = np.array(chance.choice(odd)).astype(array.dtype)
            return array
    return np.frombuffer(chance.randbytes(array.nbytes), array.dtype).reshape(array.shape)


@many
def test_hostile_arrays(files, n):
    """Arrays of other numbers, shapes and types, in files that are as whole as any."""
    chance, rng = random.Random(4), np.random.default_rng(4)
    used = 0
    for _ in range(n):
        _, header, arrays = chance.choice([file for file in files[0] if file[2]])
        name = chance.choice(list(arrays))
        array = mutant(arrays[name].copy(), chance, rng)
        try:
            storage.write_archive(files[1], "model", header, arrays | {name: array})
        except TypeError:
            continue
        used += refused_or_used(files[1])
    assert used < n


@many
def test_damaged_and_hostile_checkpoints(tmp_path, n):
    """Nothing but what was saved is ever taken up."""
    chance, path = random.Random(5), tmp_path / "mutant.fastlin"
    identity, state = {"data": {"rows": 3}, "estimator": "x"}, {"epoch": 4, "loss": float("inf")}
    point = storage.Checkpoint(path, 0, True, identity)
    point.save(state, {"w": np.arange(30.0), "order": np.arange(7)})
    good = path.read_bytes()
    members, whole = members_of(good)
    places = [place for place in places_of(whole) if place and place[0] != "header"]
    for _ in range(n):
        content, at = bytearray(good), chance.randrange(len(good))
        match chance.randrange(4):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                del content[at:]
            case 2:
                content[at:at] = chance.randbytes(9)
            case _:
                forge(path, changed(whole, chance.choice(places), chance.choice([..., *ODD])), members)
                if (content := path.read_bytes()) == good:
                    continue
        path.write_bytes(content)
        with pytest.raises(storage.ModelFileError, match=r"mutant\.fastlin: "):
            point.load()
    for place in [place for place in places_of(whole) if place and place[0] == "header"]:
        forge(path, changed(whole, place, {"x": 1, "y": 2}), members)
        with pytest.raises(ValueError, match=r"mutant\.fastlin: "):
            point.load()


@pytest.mark.parametrize(
    "text, message",
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"9" * 10_000, "no JSON"),
        (b"[]", "not that of a model"),
        (b'{"format":1,"kind":"model","arrays":{},"header":{"a":NaN}}', "NaN"),
        (b'{"format":1,"kind":"model","arrays":{},"header":{},"header":{}}', "twice"),
        (b'{"format":1,"kind":"model","arrays":{},"header":{}}', "no model"),
        (b'{"format":2,"kind":"model","arrays":{},"header":{}}', "newer fastlin: format 2, and this one reads up to 1"),
        (b'{"format":true,"kind":"model","arrays":{},"header":{}}', "no format version"),
        (b'{"format":1,"kind":"model","arrays":[],"header":{}}', "not that of a model"),
        (b'{"format":1,"kind":"model","arrays":{"../x":{}},"header":{}}', "no name for an array"),
        (b'{"format":1,"kind":"model","arrays":{"x":{"dtype":"|O","shape":[1],"crc32":0}},"header":{}}', "no type"),
        (
            b'{"format":1,"kind":"model","arrays":{"x":{"dtype":"<U999999999","shape":[0],"crc32":0}},"header":{}}',
            "no type",
        ),
    ],
)
def test_headers_that_are_none(tmp_path, text, message):
    forge(tmp_path / "x.fastlin", text, {})
    with pytest.raises(storage.ModelFileError, match=message):
        fastlin.load(tmp_path / "x.fastlin")


def test_values_inside_of_values_without_end(tmp_path):
    header = {"class": "sklearn.pipeline.Pipeline", "parameters": {"steps": []}, "learnt": {}}
    for _ in range(90):
        header = {"class": header["class"], "parameters": {"steps": [{"model": header}]}, "learnt": {}}
    storage.write_archive(tmp_path / "x.fastlin", "model", {"model": header}, {})
    with pytest.raises(storage.ModelFileError, match="nested more than"):
        fastlin.load(tmp_path / "x.fastlin")
