"""How near to the machine's own speed are the learners?

The floor is a pass that only reads the weights of every non-zero (gather), or reads and then changes
them (gather + scatter): see ``floor.pyx``, which is compiled for this machine when first needed. Every
learner's epoch is printed as a multiple of it, over the same matrix, in shuffled order; and so is the
time that averaging adds, once as a share of a long fit and once in a single ``partial_fit``.
"""

from __future__ import annotations

from timing import arguments, epochs, interleave, save, show  # before numpy: it sets the threads

# isort: split
import hashlib
import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from corpora import Corpus, cache_folder, load
from learners import PAIRS, fixed_settings

FLAGS = ["-O3", "-march=native"]
DISTANCES = (32, 64, 128)  # non-zeros to prefetch ahead: the floor is the best of them
CORPORA = ("zipf", "newsgroups", "imdb")
LEARNERS = (
    "perceptron",
    "perceptron averaged",
    "SGD log loss",
    "SGD log loss averaged",
    "PA-I",
    "PA-I averaged",
)
FEW, MORE = 5, 5


def compiled_floor() -> ModuleType:
    """``floor.pyx`` as a module, built in the cache folder when it has changed."""
    source = Path(__file__).with_name("floor.pyx")
    recipe = source.read_bytes() + np.__version__.encode() + " ".join(FLAGS).encode()
    folder = cache_folder() / f"floor-{hashlib.sha256(recipe).hexdigest()[:12]}"
    if not list(folder.glob("floor*.so")):
        from Cython.Build import cythonize
        from setuptools import Distribution, Extension

        extension = Extension("floor", [str(source)], extra_compile_args=FLAGS)
        directives = {"language_level": 3, "boundscheck": False, "wraparound": False}
        modules = cythonize([extension], build_dir=str(folder), compiler_directives=directives, quiet=True)
        build = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
        build.build_lib = build.build_temp = str(folder)
        build.ensure_finalized()
        build.run()
    specification = importlib.util.spec_from_file_location("floor", next(folder.glob("floor*.so")))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def aligned(shape: tuple[int, int], dtype: type) -> np.ndarray:
    """Room for an array that begins on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)


def floor_times(corpus: Corpus, dtype: type, repeat: int) -> dict[str, float]:
    """Seconds of the bare gather and of gather + scatter, at the best prefetching distance."""
    floor = compiled_floor()
    X, K = corpus.X, label_columns(corpus)
    indices = np.concatenate([X.indices, np.zeros(max(DISTANCES), np.int32)])
    indptr, values = X.indptr.astype(np.int64), X.data.astype(dtype)
    W, c = aligned((X.shape[1], K), dtype), np.full(K, 1e-3, dtype)
    W[:] = 1.0
    generator = np.random.default_rng(0)

    def walks(orders: list[np.ndarray], ahead: int, scatter: bool) -> None:
        for order in orders:
            floor.walk(indptr, indices, values, order, ahead, W, c, scatter)

    def contender(ahead: int, scatter: bool) -> Callable[[], object]:
        orders = [generator.permutation(X.shape[0]) for _ in range(FEW)]
        return partial(walks, orders, ahead, scatter)

    kinds = {"gather": False, "gather+scatter": True}
    contenders = {
        f"{kind}:{ahead}": partial(contender, ahead, scatter) for kind, scatter in kinds.items() for ahead in DISTANCES
    }
    times = interleave(contenders, max(repeat, 5))
    return {kind: min(median(times[f"{kind}:{ahead}"]) for ahead in DISTANCES) / FEW for kind in kinds}


def label_columns(corpus: Corpus) -> int:
    """Columns of weights: two labels share one."""
    labels = len(np.unique(corpus.y))
    return 1 if labels == 2 else labels


def epoch_times(corpus: Corpus, dtype: type, repeat: int) -> dict[str, dict[str, float]]:
    """Per learner: seconds an epoch of a fit, of a further epoch, and of one partial_fit."""
    X, y = corpus.X.astype(dtype), corpus.y

    def fit(make: Callable[[int], Any], count: int) -> Callable[[], object]:
        return partial(make(count).fit, X, y)

    def one_more(make: Callable[[int], Any]) -> Callable[[], object]:
        return partial(make(1).partial_fit(X, y).partial_fit, X, y)

    made = {
        name: lambda count, name=name: PAIRS[name].ours(max_iter=count, **fixed_settings(name, corpus.name))
        for name in LEARNERS
    }
    answer = epochs(
        {name: lambda count, make=make: partial(fit, make, count) for name, make in made.items()}, FEW, MORE, repeat
    )
    for name, times in interleave({name: partial(one_more, make) for name, make in made.items()}, repeat).items():
        answer[name]["partial_fit"] = median(times)
    return answer


def compare(corpus: Corpus, dtype: type, repeat: int) -> dict[str, Any]:
    """One table: epochs over the floor, and what averaging adds over the bare gather."""
    floor = floor_times(corpus, dtype, repeat)
    title = f"{corpus.name}, {np.dtype(dtype).name}, {label_columns(corpus)} column(s) of weights"
    unit = 1e9 / corpus.X.nnz
    show(title, ["floor", "ns a non-zero"], [[kind, spent * unit] for kind, spent in floor.items()])
    result: dict[str, Any] = {"corpus": corpus.describe(), "dtype": np.dtype(dtype).name, "floor": floor}
    try:
        spent = epoch_times(corpus, dtype, repeat)
    except ImportError as error:
        print(f"no learners to compare: {error}")
        return result
    result["learners"] = spent
    ways = ("whole", "further", "partial_fit")
    columns = ["epoch ÷ floor", *(f"{way} ÷ {kind}" for kind in floor for way in ways)]
    rows = [[name, *(times[way] / low for low in floor.values() for way in ways)] for name, times in spent.items()]
    show(f"{title}: a fit's epoch, a further epoch, a partial_fit", columns, rows)
    added = [
        [name, *((spent[f"{name} averaged"][way] - spent[name][way]) / floor["gather"] for way in ways)]
        for name in spent
        if f"{name} averaged" in spent
    ]
    show(f"{title}: seconds that averaging adds ÷ the bare gather (≤ 0.8 asked)", ["learner", *ways], added)
    result["averaging_over_gather"] = {name: dict(zip(ways, numbers, strict=True)) for name, *numbers in added}
    return result


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    results = [
        compare(load(name), dtype, options.repeat)
        for name in CORPORA
        if not options.only or options.only in name
        for dtype in (np.float64, np.float32)
    ]
    save("limits", results)


if __name__ == "__main__":
    main()
