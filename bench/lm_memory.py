"""How large may the corpus be, and how large is a model?

A corpus is counted twice, by processes of their own: in memory, and within a limit (`--memory`), with counts that wait
on disk: CPU seconds, peaks, which include the model, and whether the models are the same. Then the bytes that a 5-gram
model of the Penn Treebank takes, an n-gram, in memory and in files as saved and quantised, beside KenLM's probing and
trie structures where BUILD_BINARY names its program.
"""

from __future__ import annotations

from timing import arguments  # before numpy: it sets the threads

# isort: split
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import fastlin
from fastlin.lm import NgramModel
from fastlin.lm.backoff import CodedLogarithms
from memory import resident

ORDER = 3
TEXTS = ("imdb", "20newsgroups_body", "reuters21578")  # corpora with a text a line, or whatever has words
WORDS = re.compile(rb"[a-z']+|[.,;:!?()\"-]")


def corpus(path: Path, copies: int) -> None:
    """Running text of the shared corpora, a document a line, in lower case: words and marks, some of them twice."""
    data = Path(os.environ["FASTLIN_DATA"])
    with path.open("wb") as out:
        for _ in range(copies):
            for name in TEXTS:
                for file in sorted((data / name).rglob("*.gz")):
                    for line in gzip.decompress(file.read_bytes()).splitlines():
                        out.write(b" ".join(WORDS.findall(line.lower())) + b"\n")


def count(path: str, memory: str) -> None:
    """In a process of its own: fit, and say what it took and what was learnt."""
    warnings.simplefilter("ignore")
    start, before = process_time(), resident("VmRSS")
    model = NgramModel(ORDER).fit(path, memory=memory or None)
    seconds = process_time() - start
    digest = hashlib.sha256()
    found = model._backoff_model
    for arrays in (found.words, found.starts, found.log_prob, found.backoff):
        for array in arrays:
            digest.update(array.tobytes())
    print(json.dumps([seconds, resident("VmHWM") - before, model.n_grams_, digest.hexdigest()]))


def alone(*words: str) -> Any:
    command = [sys.executable, __file__, *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def counting(copies: int, memory: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text")
        corpus(path, copies)
        whole, disk = alone("--count", str(path)), alone("--count", str(path), "--memory", memory)
        print(f"{path.stat().st_size / 1e6:.0f} MB of text, order {ORDER}: n-grams {whole[2]}")
        print(f"    in memory: {whole[0]:.1f} s, {whole[1] / 1e6:.0f} MB at the peak")
        print(f"    memory={memory!r}: {disk[0]:.1f} s, {disk[1] / 1e6:.0f} MB; {disk[0] / whole[0]:.2f} times as long")
        print(f"    the same model: {whole[2:] == disk[2:]}")


def asked(model: NgramModel) -> int:
    """Bytes that queries read."""
    arrays, logarithms = model._backoff_model, model._backoff_model.log_prob
    if isinstance(logarithms, CodedLogarithms):
        lists = [logarithms.values, [codes for codes in logarithms.codes if codes is not None]]
    else:
        lists = [list(logarithms)]
    return sum(array.nbytes for each in (arrays.words, arrays.starts, arrays.backoff, *lists) for array in each)


def sizes() -> None:
    path = Path(os.environ["FASTLIN_DATA"], "ptb_lm", "train.txt.gz")
    model = NgramModel(5, unk="<oov>").fit(path)
    n = sum(model.n_grams_)
    print(f"a 5-gram model of {n} n-grams: {asked(model) / n:.1f} bytes an n-gram for queries", end="")
    print(f", {(asked(model) + sum(each.nbytes for each in model._backoff_model.suffix)) / n:.1f} with suffix links")
    test = gzip.decompress(path.with_name("test.txt.gz").read_bytes()).decode().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for dtype in ("float32", "int8"):
            saved = Path(folder, dtype)
            fastlin.save(model, saved, dtype=dtype)
            loaded = fastlin.load(saved)
            print(f"    file of {dtype}: {saved.stat().st_size / n:.1f} bytes an n-gram; loaded, ", end="")
            print(f"{asked(loaded) / n:.1f} for queries; test perplexity {loaded.perplexity(test):.2f}")
        if "BUILD_BINARY" in os.environ:
            arpa = Path(folder, "arpa")
            model.to_arpa(arpa)
            for kind in ("probing", "trie"):
                theirs = Path(folder, kind)
                subprocess.run([os.environ["BUILD_BINARY"], kind, arpa, theirs], check=True, capture_output=True)
                print(f"    KenLM, {kind}: {theirs.stat().st_size / n:.1f}")
            command = [os.environ["BUILD_BINARY"], "-q", "8", "-b", "8", "trie", arpa, theirs]
            subprocess.run(command, check=True, capture_output=True)
            print(f"    KenLM, trie of 8 bits: {theirs.stat().st_size / n:.1f}")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--count", help="count this file, and say what it took")
    parser.add_argument("--memory", default="")
    parser.add_argument("--copies", type=int, default=1)
    options = parser.parse_args()
    if options.count:
        count(options.count, options.memory)
        return
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sizes()
    counting(options.copies, options.memory or "200M")


if __name__ == "__main__":
    main()
