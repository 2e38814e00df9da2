"""Counts of n-grams: of blocks of a corpus, in threads or on disk, and their sums."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.scratch import Scratch
from fastlin.engine.lm import ngram_counts as engine
from fastlin.runtime.made_once import made_once

MOST = 2**31 - 2  # n-grams of an order


@dataclass(frozen=True)
class NgramCounts:
    """Counts of n-grams, as sorted tries (see `engine/lm/ngram_counts.pyx`). Never changed.

    Lists by order, unigrams first: `words[n]`, `starts[n]` and `suffix[n]` of the unigrams are empty. Begin counts as
    a unigram, once a sentence.
    """

    words: list[NDArray[np.int32]]
    starts: list[NDArray[np.int32]]
    suffix: list[NDArray[np.int32]]
    counts: list[NDArray[np.int64]]

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

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


def count_tokens(tokens: NDArray[np.int32], order: int, n_words: int) -> NgramCounts:
    """The counts of some sentences (see `engine/lm/ngram_words.pyx`)."""
    if len(tokens) > MOST:
        raise OverflowError(f"{len(tokens)} tokens in a block; at most {MOST} can be counted together")
    nothing = np.empty(0, np.int32)
    result = NgramCounts([nothing], [nothing], [nothing], [np.bincount(tokens, minlength=n_words).astype(np.int64)])
    sorter = _Sorter(len(tokens), n_words)
    nodes = tokens
    for _ in range(1, order):
        m = engine.collect(tokens, nodes, sorter.word_bits, sorter.keys, sorter.positions)
        numbers = np.full(len(tokens), -1, np.int32)
        sorter.add_order(result, m, np.empty(0, np.int64), nodes, numbers)
        nodes = numbers
    return result


class _Sorter:
    """Memory to sort n keys in."""

    def __init__(self, n: int, n_words: int) -> None:
        n = max(n, 1)
        self.word_bits = max(1, (n_words - 1).bit_length())
        self.keys, self.spare_keys = np.empty(n, np.uint64), np.empty(n, np.uint64)
        self.positions, self.spare_positions = np.empty(n, np.uint32), np.empty(n, np.uint32)

    def add_order(
        self, counts: NgramCounts, m: int, weights: NDArray[np.int64], suffixes: NDArray[np.int32],
        numbers: NDArray[np.int32],
    ) -> None:  # fmt: skip
        """Append the order that the first m keys are; see `number` of the engine."""
        n_histories = len(counts.counts[-1])
        bits = self.word_bits + max(1, (n_histories - 1).bit_length())
        if engine.radix_sort(self.keys, self.positions, self.spare_keys, self.spare_positions, m, bits):
            self.keys, self.spare_keys = self.spare_keys, self.keys
            self.positions, self.spare_positions = self.spare_positions, self.positions
        n = engine.distinct(self.keys, m)
        words, suffix, starts = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n_histories + 1, np.int32)
        sums = np.empty(n, np.int64)
        engine.number(
            self.keys, self.positions, m, self.word_bits, weights, suffixes, numbers, words, starts, suffix, sums
        )
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
        m = engine.merge(
            into[0], a.starts[n], a.words[n], a.counts[n], a.suffix[n], shorter[0],
            into[1], b.starts[n], b.words[n], b.counts[n], b.suffix[n], shorter[1],
            starts, words, counts, suffix, maps[0], maps[1], found[0], found[1],
        )  # fmt: skip
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
    for n in range(1, counts.order):
        m = len(counts.words[n])
        sorter = _Sorter(m, n_words)
        sorter.keys[:m] = shorter[counts.histories(n)].astype(np.uint64) << np.uint64(sorter.word_bits)
        sorter.keys[:m] |= numbers[counts.words[n]].astype(np.uint64)
        sorter.positions[:m] = np.arange(m, dtype=np.uint32)
        longer = np.empty(m, np.int32)
        sorter.add_order(result, m, counts.counts[n], shorter[counts.suffix[n]], longer)
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


def on_disk(scratch: Scratch) -> Keep:
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
