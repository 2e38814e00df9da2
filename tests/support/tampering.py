"""Files of every class with one array or number made wrong, loaded and used by child processes.

    PYTHONPATH=src:tests python tests/support/tampering.py folder <cases

uses the cases whose numbers come, as `use_all` has it, on the files that `write` left in the folder.
"""

import copy
import inspect
import itertools
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError

import fastlin
from fastlin import storage
from support import golden_files
from support.model_files import FEW, X, fitted, forge

MEMORY = 1 << 30  # bytes that a child may take besides what it has after its imports: files and data are of kilobytes
TOLD = "told.jsonl"  # what a child says of its cases, in the folder where it runs
SECONDS = 60  # for one case
TOO_LONG = "max_memory allows"  # how a grammar refuses a chart that is larger than its parameter says
REFUSALS = (ValueError, TypeError, NotFittedError, AttributeError)  # AttributeError: a property of what was not learnt
NUMBERS = [0, 1, -1, 2, 3, 255, 2**31 - 1, 2**31, 2**62, 0.5, 1e308, {"float": "nan"}, {"float": "inf"}]
LONGEST = 6  # entries of a list of JSON that are made wrong
MOST_NAMES = 1 << 20  # columns of which names are asked for: of so many that hashing may make, there is no end
WITHOUT_USE = {
    "fit", "fit_predict", "fit_transform", "set_params", "set_state", "set_output", "set_callbacks", "learn", "weigh",
    "check_parameters", "get_metadata_routing",
}  # fmt: skip


def cases():
    """Those of golden files, and learners of so many labels that the states of fewer have no room for them."""
    yield from golden_files.cases()
    for learning_rate in ("constant", "adagrad", "ftrl"):
        for average in (False, True):
            options = {"learning_rate": learning_rate, "average": average, "eta0": 0.01, **FEW}
            name = f"many labels, {learning_rate}{', averaged' * average}"
            yield name, fastlin.SGDClassifier(**options), (X, np.arange(len(X)) % 70)


def models():
    """{name: (model, data)} of all cases of golden files, and some more forms of weights."""
    found = {name: (fitted(model, *data), data) for name, model, data in cases()}
    for name in ("averaged", "logistic"):
        model, data = found[name]
        found[f"{name}, sparse"] = copy.deepcopy(model).sparsify(), data
    return found


def write(folder):
    """The files that cases begin with."""
    for name, other_data in SIBLINGS.items():
        write_siblings(folder / name, other_data)
    for name, (model, _) in models().items():
        fastlin.save(model, folder / f"{name}.fastlin")
        if name in ("pa", "logistic", "k-means", "pipeline of texts"):
            fastlin.save(model, folder / f"{name}, int8.fastlin", dtype="int8", prune=1e-3)


def are_trees(value):
    """Whether these are strings of brackets."""
    return isinstance(value, list) and isinstance(value[0], str) and value[0].startswith("(")


def larger(value):
    """Data of more columns, more labels and other words than those of a case."""
    if isinstance(value, np.ndarray):
        return np.hstack([value, value]) if value.ndim == 2 else np.where(value == -1, -1, np.arange(len(value)) % 9)
    if are_trees(value):
        return [f"(TOP {text} (X{place % 2} (Y {place % 3}th)))" for place, text in enumerate(value)]
    if isinstance(value, list) and isinstance(value[0], str):
        return [f"{text} {place % 5}th" if " " in text else f"{text}{place % 3}" for place, text in enumerate(value)]
    if isinstance(value, list) and isinstance(value[0], dict):
        return [one | {"more": f"x{place % 9}"} for place, one in enumerate(value)]
    if isinstance(value, list) and isinstance(value[0], list):
        return [[f"{item}{n % 4}" if isinstance(item, str) else item for item in one] for n, one in enumerate(value)]
    return value


def smaller(value):
    """Data of fewer columns, labels and words."""
    if isinstance(value, np.ndarray):
        return value[:, :5] if value.ndim == 2 else np.where(value == -1, -1, np.arange(len(value)) % 2)
    if are_trees(value):
        return ["(S (NN dog))"] * len(value)
    if isinstance(value, list) and isinstance(value[0], str):
        return ["a dog" if " " in text else text for text in value]
    if isinstance(value, list) and isinstance(value[0], dict):
        return [{"length": 1.0}] * len(value)
    if isinstance(value, list) and isinstance(value[0], list):
        return [["same" if isinstance(item, str) else ["same"] for item in one] for one in value]
    return value


def relabelled(value):
    """Data of other labels, and the same columns."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return np.where(value == -1, -1, np.arange(len(value)) % 3)
    return value


def write_siblings(folder, other_data):
    """Files of the same models of other data: what one of them has learnt is put into the other."""
    folder.mkdir()
    for name, model, data in cases():
        try:
            fastlin.save(fitted(model, *map(other_data, data)), folder / f"{name}.fastlin")
        except (ValueError, TypeError, IndexError):  # parameters that name columns or labels of a case
            continue


SIBLINGS = {"larger": larger, "smaller": smaller, "relabelled": relabelled}
ENDINGS = tuple(f" of a {which} model" for which in SIBLINGS)


# What is made wrong


def array_mutants(array):
    """(what was done, another array): of other shapes, lengths, types, orders and numbers."""
    yield "transposed", np.ascontiguousarray(array.T) if array.ndim > 1 else array[:, np.newaxis]
    yield "as a row", array[np.newaxis]
    yield "flat", array.reshape(-1)
    if not array.size or not array.ndim:
        return
    yield "without dimensions", array.reshape(-1)[0:1].reshape(())
    yield "without its last", array[:-1]
    yield "without its first", array[1:]
    yield "one entry", array[:1]
    yield "empty", array[:0]
    yield "twice", np.concatenate([array, array])
    yield "many times", np.concatenate([array] * 40)
    yield "its last again", np.concatenate([array, array[-1:]])
    yield "reversed", np.ascontiguousarray(array[::-1])
    yield "shuffled", np.random.default_rng(0).permutation(array)
    if array.ndim > 1:
        yield "without its last column", np.ascontiguousarray(array[..., :-1])
    if array.dtype.names is not None:
        for name in array.dtype.names:
            for what, other in value_mutants(array[name]):
                changed = array.copy()
                changed[name] = other
                yield f"{name} {what}", changed
            yield f"without {name}", np.ascontiguousarray(array[[n for n in array.dtype.names if n != name]].copy())
        return
    if array.dtype.kind in "biuf":
        for kind in ("f8", "f4", "i8", "i4", "u1", "?", "u8"):
            if np.dtype(kind) != array.dtype:
                with np.errstate(invalid="ignore", over="ignore"):
                    yield f"as {kind}", array.astype(kind)
        yield from value_mutants(array)


def value_mutants(array):
    """The first, a middle, the last and all numbers changed to others, as far as the type holds them."""
    if array.dtype.kind == "f":
        values = [0.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 1e-320, 7.5, 2.0**53]
    elif array.dtype.kind == "b":
        values = [True, False]
    else:
        limits = np.iinfo(array.dtype)
        values = {0, 1, -1, 2, len(array), len(array) - 1, 2**31 - 1, 2**31, 2**62, limits.min, limits.max, 10**6}
        values = sorted(value for value in values if limits.min <= value <= limits.max)
    if array.dtype.kind == "i" and array.size > 5:  # a difference of neighbours overflows, and is positive
        wrapping = array.copy()
        wrapping.reshape(-1)[2:5] = limits.max, limits.min, -1
        yield "wraps around", wrapping
    for value in values:
        for where, place in (("first", 0), ("middle", array.size // 2), ("last", array.size - 1), ("all", slice(None))):
            changed = array.copy()
            with np.errstate(over="ignore"):
                changed.reshape(-1)[place] = value
            yield f"{where} = {value}", changed


def number_places(value, path=()):
    """Where JSON holds numbers."""
    if isinstance(value, bool | int | float):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value[:LONGEST]) if isinstance(value, list) else ()
    for key, item in items:
        yield from number_places(item, (*path, key))


def changed(value, path, new):
    """JSON with another value in one place."""
    if not path:
        return new
    value = value.copy()
    value[path[0]] = changed(value[path[0]], path[1:], new)
    return value


def crossed(header, arrays, sibling, which):
    """(what was done, header, arrays) with each thing that was learnt taken from a model of other data."""
    other, others = sibling
    more = {f"other.{name}": array for name, array in others.items()}
    for name, value in other["model"]["learnt"].items():
        if header["model"]["learnt"].get(name) not in (None, value):
            new = changed(header, ("model", "learnt", name), renamed(value, others))
            yield f"{name} of a {which} model", new, arrays | more


def renamed(value, arrays):
    """JSON that names these arrays by their names beside those of another file."""
    if isinstance(value, dict):
        return {key: renamed(item, arrays) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, arrays) for item in value]
    return f"other.{value}" if isinstance(value, str) and value in arrays else value


def mutants(header, arrays, siblings):
    """(what was done, header, arrays) of everything that one file may say wrongly."""
    for which, sibling in siblings.items():
        yield from crossed(header, arrays, sibling, which)
    for name, array in arrays.items():
        for what, other in array_mutants(array):
            yield f"{name} {what}", header, arrays | {name: other}
    for path in number_places(header):
        for number in NUMBERS:
            yield f"{'/'.join(map(str, path[1:]))} = {number}", changed(header, path, number), arrays
    for one, other in itertools.combinations(arrays, 2):
        if arrays[one].dtype == arrays[other].dtype and arrays[one].shape != arrays[other].shape:
            yield f"{one} is {other}", header, arrays | {one: arrays[other]}


# How it is used


def refused_or_used(path, data):
    """Load a file and call every public method; what is raised but a refusal is passed on."""
    try:
        model = fastlin.load(path)
    except storage.ModelFileError as error:
        if "MemoryError" in str(error):
            raise MemoryError(str(error)) from None
        return "refused"
    for use in [*uses(model, data), *inspections(model, data)]:
        try:
            use()
        except REFUSALS as error:
            if isinstance(error, UnicodeError):
                raise
        except MemoryError as error:
            if TOO_LONG not in str(error):
                raise
    return "used"


def uses(model, data):
    """Calls of all that a model offers, each to a copy; of a pipeline, the steps are used, too."""
    given = {
        "X": golden_files.asked_of(data),
        "raw_documents": data[0],
        "raw_X": data[0],
        "documents": data[0],
        "y": data[-1],
        "n": 2,
    }
    given |= {"trees": data[0], "threshold": 1e-3, "support": [0, 1], "doc": "a text"}
    if isinstance(model, fastlin.CandidateClassifier):
        given |= {"group_sizes": data[-1]}
    if hasattr(model, "steps"):
        for _, step in model.steps:
            if hasattr(step, "get_params"):
                yield from uses(step, data)
    for name in dir(type(model)):
        if name.startswith("_") or name in WITHOUT_USE or (name.startswith("set_") and name.endswith("_request")):
            continue
        if name == "get_feature_names_out" and getattr(model, "n_features_in_", 0) > MOST_NAMES:
            continue
        yield lambda name=name: call(getattr(copy.copy(model), name), given)
    for name in list(vars(model)):
        yield lambda name=name: getattr(model, name)
    yield lambda: model.inverse_transform(model.transform(data[0]))
    yield lambda: twice(copy.copy(model), given)
    yield lambda: repr(model)
    yield lambda: fastlin.save(model, Path("again.fastlin"))


def twice(model, given):
    """Learn and answer in turns."""
    for _ in range(2):
        call(model.partial_fit, given)
        call(model.predict, given)


def call(method, given):
    """Call a method with what its parameters are called by, or take a property."""
    if callable(method):
        parameters = inspect.signature(method).parameters.values()
        names = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        names += [
            name for name in ("y", "group_sizes") if name in given and name in inspect.signature(method).parameters
        ]
        method(**{name: given[name] for name in names if name in given})


def inspections(model, data):
    yield lambda: str(fastlin.inspection.summary(model))
    yield lambda: fastlin.inspection.top_features(model, 3)
    yield lambda: fastlin.inspection.explain(model, data[0][0]).strongest(2)
    yield lambda: fastlin.inspection.transitions(model).shown()


# Children


def data_of(path, known):
    return known[path.stem.removesuffix(", int8").removesuffix(", sparse")]


def mutants_of(path):
    """The mutants of a file, with what it may have from its siblings."""
    files = {which: path.parent / which / path.name for which in SIBLINGS}
    siblings = {
        which: storage.read_archive(file, "model", mmap=False) for which, file in files.items() if file.exists()
    }
    return mutants(*storage.read_archive(path, "model", mmap=False), siblings)


def use_all(folder, numbers, told):
    """Use the mutants of these numbers; `told` gets a line before and after each, so that a crash leaves its number."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    known = {name: data for name, _, data in cases()}
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    mutant = Path("mutant.fastlin")
    for path, wanted in numbers.items():
        for number, (what, other, others) in enumerate(mutants_of(folder / path)):
            if number in wanted:
                print(json.dumps([path, number, what]), file=told, flush=True)
                signal.alarm(SECONDS)
                came = outcome(mutant, other, others, data_of(Path(path), known))
                print(json.dumps(came), file=told, flush=True)
    signal.alarm(0)


def outcome(path, header, arrays, data):
    try:
        forge_model(path, header, arrays)
        return refused_or_used(path, data)
    except Exception as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        return f"{type(error).__name__}: {str(error)[:200]} ({place})"


def forge_model(path, header, arrays):
    """A whole file with all digests right; unlike `write_archive`, nobody waits for the disk."""
    table, contents = {}, {}
    for name, array in arrays.items():
        described, raw = storage.archive.described_dtype(array.dtype), np.ascontiguousarray(array).tobytes()
        contents[name] = storage.zip_layout.npy_header(described, array.shape) + raw
        table[name] = {"dtype": described, "shape": list(array.shape), "crc32": storage.crc32.crc32(contents[name])}
    forge(path, {"format": 1, "kind": "model", "arrays": table, "header": header}, contents)


def crossed_of(folder):
    """{file: numbers of mutants} of all that were crossed with a sibling: the first ones of each file."""
    found = {}
    for path in sorted(folder.glob("*.fastlin")):
        first = itertools.takewhile(lambda mutant: mutant[0].endswith(ENDINGS), mutants_of(path))
        found[path.name] = list(range(sum(1 for _ in first)))
    return found


def numbers_of(folder, share, seed=0):
    """{file: numbers of mutants}: a share of them, chosen by chance."""
    chance, found = random.Random(seed), {}
    for path in sorted(folder.glob("*.fastlin")):
        n = sum(1 for _ in mutants_of(path))
        found[path.name] = sorted(chance.sample(range(n), math.ceil(n * share)))
    return found


def findings(folder, numbers, scratch):
    """{what was done: what came of it} of all cases that were neither refused nor used; and how many there were."""
    found, left, done = {}, {path: list(wanted) for path, wanted in numbers.items() if wanted}, 0
    while left:
        child = subprocess.run(
            [sys.executable, "-X", "faulthandler", __file__, str(folder)],
            input=json.dumps(left), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            cwd=scratch,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        )  # fmt: skip
        lines = [json.loads(line) for line in Path(scratch, TOLD).read_text().splitlines()]
        for case, came in itertools.zip_longest(lines[::2], lines[1::2]):
            path, number, what = case
            left[path].remove(number)
            done += 1
            if came not in ("refused", "used"):
                ended = f"ended by {child.returncode}: {' '.join(child.stderr.split())[:300]}"
                found[f"{path}: {what}"] = ended if came is None else came
        if not lines:
            raise RuntimeError(f"a child that did nothing: {child.stderr[-1000:]}")
        left = {path: wanted for path, wanted in left.items() if wanted}
    return found, done


if __name__ == "__main__":
    with open(TOLD, "w") as file:
        use_all(Path(sys.argv[1]), {path: set(wanted) for path, wanted in json.load(sys.stdin).items()}, file)
