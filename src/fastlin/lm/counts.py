"""Counts of n-grams: of blocks of a corpus, in threads or on disk, and their sums."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.scratch import ScratchSpace
from fastlin.engine.lm import ngram_counts as engine
from fastlin.runtime.made_once import FieldsOnly, made_once
from fastlin.runtime.parallel import WorkerPool

MOST = 2**31 - 2  # n-grams of an order
STEPS = 4096  # where histories may be cut into jobs


@dataclass(frozen=True)
class NgramCounts(FieldsOnly):
    """Counts of n-grams, as sorted tries (see `engine/lm/ngram_counts.pyx`). Never changed.

    Lists by order, unigrams first: `words[n]`, `starts[n]` and `suffix[n]` of the unigrams are empty. Begin counts as
    a unigram, once a sentence.
    """

    words: list[NDArray[np.int32]]
    starts: list[NDArray[np.int32]]
    suffix: list[NDArray[np.int32]]
    counts: list[NDArray[np.int64]]

    @property
    def order(self) -> int:
        return len(self.counts)

    @property
    def n_words(self) -> int:
        return len(self.counts[0])

    def histories(self, n: int) -> NDArray[np.int32]:
        """Of every n-gram the number of its first n − 1 words; n counts from 0, bigrams are 1."""
        return np.repeat(np.arange(len(self.starts[n]) - 1, dtype=np.int32), np.diff(self.starts[n]))

    @made_once
    def n_begin(self) -> list[int]:
        """How many n-grams of each order begin a sentence: they are the first."""
        found = [1]
        for starts in self.starts[1:]:
            found.append(int(starts[found[-1]]))
        return found


def empty(order: int, n_words: int) -> NgramCounts:
    return count_tokens(np.empty(0, np.int32), order, n_words)


def count_tokens(tokens: NDArray[np.int32], order: int, n_words: int, workers: WorkerPool | None = None) -> NgramCounts:
    """The counts of some sentences (see `engine/text/string_numbering.pyx`)."""
    if len(tokens) > MOST:
        raise OverflowError(f"{len(tokens)} tokens in a block; at most {MOST} can be counted together")
    if workers is None:
        with WorkerPool(1) as alone:
            return count_tokens(tokens, order, n_words, alone)
    nothing = np.empty(0, np.int32)
    result = NgramCounts([nothing], [nothing], [nothing], [np.bincount(tokens, minlength=n_words).astype(np.int64)])
    nodes = tokens
    for _ in range(1, order):
        numbers = _none(len(tokens), workers)
        pairs = _Pairs(nodes[:-1], tokens[1:], np.empty(0, np.int64), nodes[1:], numbers[1:])
        pairs.add_order(result, workers, cuts_of(result.counts[-1], workers.threads))
        nodes = numbers
    return result


def _none(n: int, workers: WorkerPool) -> NDArray[np.int32]:
    """−1 for each token: it ends no n-gram."""
    numbers = np.empty(n, np.int32)
    cuts = [n * part // workers.threads for part in range(workers.threads + 1)]
    workers.map(lambda start, stop: numbers[start:stop].fill(-1), itertools.pairwise(cuts))
    return numbers


def cuts_of(sizes: NDArray[np.int64], n_parts: int) -> Iterator[tuple[int, int]]:
    """Ranges of about the same sum."""
    if n_parts == 1 or len(sizes) == 0:
        yield 0, len(sizes)
        return
    step = max(1, len(sizes) // STEPS)
    sums = np.cumsum(np.add.reduceat(sizes, np.arange(0, len(sizes), step)))
    inner = step * np.searchsorted(sums, [int(sums[-1]) * part // n_parts for part in range(1, n_parts)], side="right")
    yield from itertools.pairwise(np.unique([0, *np.minimum(inner, len(sizes)), len(sizes)]).tolist())


@dataclass(frozen=True)
class _Pairs:
    """N-grams as pairs of a history and a word, the n-gram without its first word, and where their numbers go."""

    histories: NDArray[np.int32]
    words: NDArray[np.int32]
    weights: NDArray[np.int64]
    suffixes: NDArray[np.int32]
    numbers: NDArray[np.int32]

    def add_order(self, counts: NgramCounts, workers: WorkerPool, jobs: Iterable[tuple[int, int]]) -> None:
        """Append the order that they are, each job being a range of histories."""

        def sort(first: int, last: int) -> tuple[int, NDArray[np.int32], NDArray[np.uint64], int]:
            positions = np.empty(len(self.words) + 1, np.int32)
            n_pairs = engine.collect(self.histories, self.words, first, last, positions)
            ends, pairs = np.zeros(last - first, np.int32), np.empty(n_pairs, np.uint64)
            positions = positions[:n_pairs]
            return first, ends, pairs, engine.sort_pairs(self.histories, self.words, positions, first, ends, pairs)

        parts = workers.map(sort, jobs)
        first_numbers = np.cumsum([0, *(part[3] for part in parts)]).tolist()
        n = first_numbers.pop()
        words, suffix, sums = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
        starts = np.full(len(counts.counts[-1]) + 1, n, np.int32)
        order = engine.TrieOrder(words, starts, suffix, sums)

        def number(part: int, first_number: int) -> None:
            first, ends, pairs, _ = parts[part]
            engine.number(order, ends, pairs, first, first_number, self.weights, self.suffixes, self.numbers)

        workers.map(number, enumerate(first_numbers))
        counts.words.append(words)
        counts.starts.append(starts)
        counts.suffix.append(suffix)
        counts.counts.append(sums)


def merge(a: NgramCounts, b: NgramCounts) -> NgramCounts:
    """The sum of counts over one vocabulary, of which either may know fewer words than the other."""
    n_words = max(a.n_words, b.n_words)
    unigrams = np.zeros(n_words, np.int64)
    unigrams[: a.n_words] += a.counts[0]
    unigrams[: b.n_words] += b.counts[0]
    nothing = np.empty(0, np.int32)
    result = NgramCounts([nothing], [nothing], [nothing], [unigrams])
    everything = np.arange(n_words, dtype=np.int32)
    shorter = [everything[: each.n_words] for each in (a, b)]
    into = [np.where(everything < each.n_words, everything, -1).astype(np.int32) for each in (a, b)]
    for n in range(1, a.order):
        size = len(a.words[n]) + len(b.words[n])
        starts, words, suffix = np.empty(len(into[0]) + 1, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
        counts = np.empty(size, np.int64)
        maps = [np.empty(len(each.words[n]), np.int32) for each in (a, b)]
        found = [np.empty(size, np.int32), np.empty(size, np.int32)]
        if size > MOST:
            raise OverflowError(f"more than {MOST} n-grams of order {n + 1}")
        first, second = (
            engine.MergedTrie(each.words[n], each.starts[n], each.suffix[n], each.counts[n], *rest)
            for each, *rest in zip((a, b), into, shorter, maps, found, strict=True)
        )
        m = engine.merge(first, second, engine.TrieOrder(words, starts, suffix, counts))
        result.words.append(words[:m].copy())
        result.starts.append(starts)
        result.suffix.append(suffix[:m].copy())
        result.counts.append(counts[:m].copy())
        shorter, into = maps, [each[:m] for each in found]
    return result


def relabel(counts: NgramCounts, numbers: NDArray[np.int32], n_words: int) -> NgramCounts:
    """Counts in which each word has become another, several of them perhaps the same. Begin stays 0."""
    nothing = np.empty(0, np.int32)
    unigrams = np.zeros(n_words, np.int64)
    np.add.at(unigrams, numbers, counts.counts[0])
    result = NgramCounts([nothing], [nothing], [nothing], [unigrams])
    shorter = numbers
    with WorkerPool(1) as alone:
        for n in range(1, counts.order):
            longer = np.empty(len(counts.words[n]), np.int32)
            histories, words = shorter[counts.histories(n)], numbers[counts.words[n]]
            pairs = _Pairs(histories, words, counts.counts[n], shorter[counts.suffix[n]], longer)
            pairs.add_order(result, alone, [(0, len(result.counts[-1]))])
            shorter = longer
    return result


def grouped(blocks: Iterable[NDArray[np.int32]], most: int) -> Iterator[NDArray[np.int32]]:
    """Blocks of sentences, put together up to so many tokens."""
    held: list[NDArray[np.int32]] = []
    size = 0
    for block in blocks:
        if held and size + len(block) > most:
            yield np.concatenate(held)
            held, size = [], 0
        held.append(block)
        size += len(block)
    if held:
        yield np.concatenate(held)


Keep = Callable[[NgramCounts], NgramCounts]


def on_disk(scratch: ScratchSpace) -> Keep:
    """Make a function that puts counts into scratch files, mapped, until they are merged."""

    def kept(array: NDArray[Any]) -> NDArray[Any]:
        with scratch.zeros(len(array), array.dtype).map() as room:
            room[:] = array
        return room

    def keep(counts: NgramCounts) -> NgramCounts:
        lists = (counts.words, counts.starts, counts.suffix, counts.counts)
        return NgramCounts(*([kept(array) for array in each] for each in lists))

    return keep


def merge_all(runs: Iterable[NgramCounts], order: int, n_words: int, keep: Keep | None = None) -> NgramCounts:
    """The sum of many, like with like: a run is merged as often as the logarithm of their number."""
    pending: list[tuple[int, NgramCounts]] = []
    for run in runs:
        total, level = run, 0
        while pending and pending[-1][0] == level:
            total, level = merge(pending.pop()[1], total), level + 1
        pending.append((level, total if keep is None else keep(total)))
    if not pending:
        return empty(order, n_words)
    total = pending.pop()[1]
    while pending:
        total = merge(pending.pop()[1], total)
    return total
