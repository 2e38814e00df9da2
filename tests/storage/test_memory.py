"""A file takes no more memory than it may, in all, and what it may not take is refused before it is taken."""

import resource
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import storage
from fastlin.model_files import save_load
from support.model_files import CODES, FEW, TEXTS, X, fitted, forge, of_texts

MB = 1 << 20


pytestmark = pytest.mark.timing  # bytes are measured


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fastlin"


@pytest.fixture
def no_more_memory():
    """256 MB, and not a byte more."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 256 * MB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def widened(model, path, width, copies=1):
    """The file of a model whose weights, but one, are zero, and of so many features."""
    fastlin.save(model, path, dtype="float32")
    header, arrays = storage.read_archive(path, "model", mmap=False)
    learnt = header["model"]["learnt"]
    weights = next(value["dict"] for value in learnt.values() if isinstance(value, dict) and "form" in str(value))
    n_labels = arrays[dict(weights)["values"]["array"]].shape[-1]
    arrays |= {"one": np.ones((1, n_labels), np.float32), "place": np.zeros(1, np.uint32)}
    weights[:] = [
        ["form", "rows"], ["shape", [width, n_labels]], ["values", {"array": "one"}], ["places", {"array": "place"}],
    ]  # fmt: skip
    learnt["n_features_in_"] = width
    if copies > 1:
        steps = [{"tuple": [f"step {number}", {"model": header["model"]}]} for number in range(copies)]
        header["model"] = {"class": "sklearn.pipeline.Pipeline", "parameters": {"steps": steps}, "learnt": {}}
    storage.write_archive(path, "model", header, arrays)
    return fastlin.load


@pytest.mark.parametrize("model", [fastlin.KMeans(8, random_state=0), fastlin.Perceptron(**FEW)], ids=["k", "p"])
def test_weights_that_are_zero_are_counted_before_they_are_made(path, model, no_more_memory):
    load = widened(fitted(model, X, CODES), path, 1 << 25)
    with pytest.raises(storage.ModelFileError, match=r"weights that are zero, .* bytes .* max_bytes="):
        load(path)


def test_all_steps_are_counted_together(path, no_more_memory):
    model = fitted(fastlin.Perceptron(**FEW), X, CODES)
    widened(model, path, MB)(path)  # 16 MB
    with pytest.raises(storage.ModelFileError, match="weights that are zero"):
        widened(model, path, MB, copies=100)(path)


def test_max_bytes_lets_it(path):
    load = widened(fitted(fastlin.Perceptron(**FEW), X, CODES), path, 8 * MB)
    with pytest.raises(storage.ModelFileError, match=r"load\(path, max_bytes=[0-9]+\) lets it") as refused:
        load(path)
    wanted = int(str(refused.value).split("max_bytes=")[1].split(")")[0])
    assert load(path, max_bytes=wanted).coef_.shape == (4, 8 * MB)
    for wrong in (-1, 1.5, "1", True):
        with pytest.raises((ValueError, TypeError), match="max_bytes must be"):
            load(path, max_bytes=wrong)
    with pytest.raises(storage.ModelFileError, match="may take 0"):
        load(path, max_bytes=0)


@pytest.mark.parametrize("unit", [b"[]", b"{}", b"[[0]]", b'""', b"1", b'{"tuple":[]}', b'{"a":{"b":{}}}'])
def test_json_of_many_values_is_refused_before_it_is_read(path, unit, no_more_memory):
    text = b'{"format":1,"kind":"model","arrays":{},"header":{"model":[' + unit
    text += (b"," + unit) * ((62 * MB - len(text)) // (len(unit) + 1)) + b"]}}"
    forge(path, text, {})
    del text
    with pytest.raises(storage.ModelFileError, match=r"with its JSON, .* max_bytes="):
        fastlin.load(path)


def test_one_array_named_many_times_is_counted_each_time(path, no_more_memory):
    words = np.frombuffer(b"word" * 100_000, np.uint8)
    arrays = {"text": words, "offsets": np.arange(0, len(words) + 1, 4)}
    for kind in ("strings", "list"):
        groups = [{kind: ["text", "offsets"]}] * 1000
        parameters = {"templates": [], "gazetteers": {"dict": [[f"{n}", group] for n, group in enumerate(groups)]}}
        model = {"class": "fastlin.text.templates.Templates", "parameters": parameters, "learnt": {}}
        storage.write_archive(path, "model", {"model": model}, arrays)
        with pytest.raises(storage.ModelFileError, match="with its strings"):
            fastlin.load(path)


def test_a_copy_of_the_file_is_counted(path):
    fastlin.save(of_texts(), path)
    with pytest.raises(storage.ModelFileError, match="a copy of all of it"):
        fastlin.load(path, mmap=False, max_bytes=path.stat().st_size - 1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_what_is_saved_may_be_loaded(path, dtype):
    """However few of its weights a model has."""
    for n, width in ((5, 50_000), (40, 1_000_000), (3000, 2_000_000)):
        columns = np.random.default_rng(0).integers(0, width, (n, 4))
        rows = sp.csr_array((np.ones(4 * n), columns.ravel(), np.arange(0, 4 * n + 1, 4)), shape=(n, width))
        steps = [fastlin.KMeans(3, random_state=0, max_iter=2, init="random"), fastlin.Perceptron(**FEW)]
        model = make_pipeline("passthrough", fitted(steps[n % 2], rows, np.arange(n) % 4))
        fastlin.save(model, path, dtype=dtype)
        fastlin.load(path)


def test_all_that_is_taken_is_counted(path):
    """Loading a large vocabulary takes no more memory than was counted for it."""
    texts = [" ".join(f"word{number}" for number in range(start, start + 100)) for start in range(0, 200_000, 100)]
    fastlin.save(fitted(fastlin.TfidfVectorizer(ngram_range=(1, 2)), texts + TEXTS), path)
    counted, before = [], storage.load_context.LoadContext.take

    class Counted(storage.load_context.LoadContext):
        def take(self, n_bytes, what):
            counted.append(n_bytes)
            before(self, n_bytes, what)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(save_load, "LoadContext", Counted)
        start = memory()
        peak, done = [start], threading.Event()
        watch = threading.Thread(target=lambda: [peak.append(memory()) or time.sleep(0.001) for _ in until(done)])
        watch.start()
        loaded = fastlin.load(path)
        done.set()
        watch.join()
    assert loaded.transform(texts[:1]).nnz == 199
    assert max(peak) - start <= sum(counted) + 32 * MB


def until(event):
    while not event.is_set():
        yield


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
