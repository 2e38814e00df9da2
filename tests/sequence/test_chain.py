"""Chains: log Z, marginals, expected counts, the best path and the n best are those of all paths, one by one."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin import engine
from fastlin.engine.chain import chain as kernels
from fastlin.sequence.chain import NO_SCORES, Chain
from oracles.chain import Paths, forward_backward, log_sum, viterbi
from support.strategies import seeds

BUILDS = engine._usable()
KINDS = ("normal", "ties", "700", "steep", "one label of +700, then all but one of -700")


def numbers(rng, kind, shape):
    if kind == "ties":
        return rng.integers(-1, 2, size=shape).astype(float)
    return rng.normal(size=shape) * (250 if kind == "steep" else 1)


def token_scores(rng, kind, n_tokens, K):
    if kind == "700":
        return rng.choice([-700.0, 700.0, 0.5], size=(n_tokens, K))
    if kind == KINDS[-1]:
        only = rng.integers(0, K, n_tokens)[:, None] == np.arange(K)
        return np.where(only, np.where(np.arange(n_tokens) % 2, 0.0, 700.0)[:, None], -700.0)
    return numbers(rng, kind, (n_tokens, K))


def a_chain(rng, K, order, kind="normal"):
    end = (K,) if order == 1 else (K + 1, K)
    return Chain(numbers(rng, kind, K), numbers(rng, kind, (*end, K)), numbers(rng, kind, end))


class Case:
    """A chain, the scores of some sequences' tokens, perhaps edges or offsets; nothing of it can be written to."""

    def __init__(self, chain, scores, lengths, **options):
        self.chain, self.scores, self.starts = chain, scores, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.options = {name: array for name, array in options.items() if array is not None}
        for array in (chain.start, chain.transitions, chain.end, scores, self.starts, *self.options.values()):
            array.flags.writeable = False

    def ask(self, name, *arguments, **options):
        return getattr(self.chain, name)(self.scores, self.starts, *arguments, **self.options, **options)

    def slices(self):
        return [slice(*bounds) for bounds in np.stack([self.starts[:-1], self.starts[1:]], axis=1)]

    def paths(self):
        return [
            Paths(self.chain, self.scores[own], **{name: array[own] for name, array in self.options.items()})
            for own in self.slices()
        ]

    @property
    def tolerance(self):
        """Rounding, in units of the largest sum that a path can have."""
        tables = (self.chain.start, self.chain.transitions, self.chain.end, self.scores, *self.options.values())
        largest = sum(np.abs(table[np.isfinite(table)]).max(initial=0.0) for table in tables)
        return {"rtol": 0, "atol": 1e-14 * max(1.0, largest) * len(self.scores) + 1e-13}


@st.composite
def cases(draw, possible=True):
    order, K = draw(st.sampled_from([1, 2])), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    kind, rng, n = draw(st.sampled_from(KINDS)), np.random.default_rng(draw(seeds)), sum(lengths)
    chain, scores = a_chain(rng, K, order, kind), token_scores(rng, kind, n, K)
    edges = numbers(rng, kind, (n, K, K)) if order == 1 and draw(st.booleans()) else None
    offsets = numbers(rng, kind, (n, *chain.end.shape)) if draw(st.booleans()) else None
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.1, 0.4] if possible else [0.6]))
        for table in (chain.start, chain.transitions, chain.end, scores, edges, offsets):
            if table is not None:
                table[rng.random(table.shape) < share] = -np.inf
    case = Case(chain, scores, lengths, edges=edges, offsets=offsets)
    blocked = [number for number, paths in enumerate(case.paths()) if paths.log_z == -np.inf]
    if not blocked or not possible:
        return case
    kept = np.concatenate([np.zeros(0, int), *(np.r_[own] for s, own in enumerate(case.slices()) if s not in blocked)])
    lengths = [length for number, length in enumerate(lengths) if number not in blocked]
    cut = {name: array[kept] for name, array in case.options.items()}
    return Case(chain, scores[kept], lengths, **cut)


# --- against all paths -----------------------------------------------------------------------------------------------


@given(case=cases())
def test_marginals_and_expected_counts_are_sums_over_all_paths(case):
    all_paths, tolerance = case.paths(), case.tolerance
    p, log_z, *counts = case.ask("expected")
    np.testing.assert_allclose(log_z, [paths.log_z for paths in all_paths], **tolerance)
    summed = [np.zeros(table.shape) for table in (case.chain.start, case.chain.transitions, case.chain.end)]
    for own, paths in zip(case.slices(), all_paths, strict=True):
        tokens, *rest = paths.expected()
        np.testing.assert_allclose(p[own], tokens, **tolerance)
        for total, one in zip(summed, rest, strict=True):
            total += one
    for found, total in zip(counts, summed, strict=True):
        assert found.shape == total.shape
        np.testing.assert_allclose(found, total, **tolerance)
    alone, same = case.ask("marginals")
    np.testing.assert_allclose(alone, p, **tolerance)
    np.testing.assert_allclose(same, log_z, **tolerance)
    assert p.min(initial=0.0) >= 0
    assert p.max(initial=1.0) <= 1 + 1e-12


@given(case=cases())
def test_no_path_is_better_than_viterbis(case):
    codes, values = case.ask("viterbi")
    assert codes.dtype == np.int32
    for own, value, paths in zip(case.slices(), values, case.paths(), strict=True):
        best = paths.best()[0]
        np.testing.assert_allclose(value, best, **case.tolerance)
        np.testing.assert_allclose(paths.value(codes[own]), best, **case.tolerance)
        if paths.T == 1:
            alone = np.array([paths.value((k,)) for k in range(paths.K)])
            assert codes[own.start] == alone.argmax() or np.sum(alone > alone.max() - 1e-9) > 1
    again, same = case.ask("viterbi")
    np.testing.assert_array_equal(again, codes)
    np.testing.assert_array_equal(same, values)


@given(case=cases(), n=st.sampled_from([1, 2, 5, 300]))
def test_the_n_best_paths_are_the_n_best_of_all(case, n):
    for paths, found in zip(case.paths(), case.ask("nbest", n), strict=True):
        best = paths.best(n)
        assert len(found) == len(best)
        np.testing.assert_allclose([value for _, value in found], best, **case.tolerance)
        assert len({tuple(codes) for codes, _ in found}) == len(best)
        for codes, value in found:
            assert len(codes) == paths.T
            np.testing.assert_allclose(paths.value(codes), value, **case.tolerance)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_where_all_paths_are_equally_good_n_of_them_cost_no_more(order, noise):
    T, K, histories = 100, 5, (5,) if order == 1 else (6, 5)
    scores = noise * np.random.default_rng(0).random((T, K))
    (found,) = Chain(np.zeros(K), np.zeros((*histories, K)), np.zeros(histories)).nbest(scores, [0, T], 4)
    np.testing.assert_allclose([value for _, value in found], 0, atol=1e-9)
    assert len({tuple(codes) for codes, _ in found}) == 4
    if not noise:  # the lowest labels first, seen from the end
        assert [codes.tolist() for codes, _ in found] == [[k] + [0] * (T - 1) for k in range(4)]


@given(case=cases(possible=False), seed=seeds)
def test_the_values_of_given_paths_are_theirs_also_if_forbidden(case, seed):
    codes = np.random.default_rng(seed).integers(0, case.chain.n_labels, len(case.scores)).astype(np.int32)
    expected = [paths.value(codes[own]) for own, paths in zip(case.slices(), case.paths(), strict=True)]
    np.testing.assert_allclose(case.ask("values", codes), expected, **case.tolerance)


@given(case=cases(possible=False))
def test_a_sequence_without_a_path_is_named(case):
    blocked = [number for number, paths in enumerate(case.paths()) if paths.log_z == -np.inf]
    for name in ("marginals", "expected", "viterbi"):
        if blocked:
            with pytest.raises(ValueError, match=rf"sequence ({'|'.join(map(str, blocked))})\b.*no path"):
                case.ask(name)
        else:
            case.ask(name)


@pytest.mark.parametrize("order, history", [(1, None), (1, "edges"), (1, "offsets"), (2, None), (2, "offsets")])
def test_ties_go_to_the_lowest_label(order, history):
    end = (5,) if order == 1 else (6, 5)
    zeros = {None: {}, "edges": {"edges": np.zeros((5, 5, 5))}, "offsets": {"offsets": np.zeros((5, *end))}}[history]
    scores = np.tile([0, 3.0, 1, 3, 3], (5, 1))
    case = Case(Chain(np.zeros(5), np.zeros((*end, 5)), np.zeros(end)), scores, [1, 4, 0], **zeros)
    codes, values = case.ask("viterbi")
    assert codes.tolist() == [1] * 5
    assert values.tolist() == [3, 12, 0]


@given(seed=seeds, order=st.sampled_from([1, 2]), shift=st.sampled_from([-1e5, -700.0, 700.0, 1e5]))
def test_what_is_added_to_all_labels_of_a_token_changes_log_z_only(seed, order, shift):
    rng = np.random.default_rng(seed)
    chain, scores, lengths = a_chain(rng, 3, order), rng.normal(size=(9, 3)), [4, 5]
    added = rng.choice([0.0, shift], size=9)
    plain, moved = Case(chain, scores, lengths), Case(chain, scores + added[:, None], lengths)
    (p, log_z), (q, other) = plain.ask("marginals"), moved.ask("marginals")
    np.testing.assert_allclose(q, p, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other, log_z + np.add.reduceat(added, [0, 4]), rtol=1e-12)


@pytest.mark.parametrize("first", [-700, -800, -999.5, -1000, -1100])
@pytest.mark.parametrize("order", [1, 2])
def test_a_label_that_all_but_vanishes_at_the_first_token_may_be_the_best(order, first):
    """Forward its number is 0, and only the way back tells that it is missed; till then nothing must be counted."""
    end = (2,) if order == 1 else (3, 2)
    moves = np.tile([[-200.0, -np.inf], [-np.inf, 0.0]], (*end[:-1], 1, 1))
    case = Case(Chain(np.zeros(2), moves, np.zeros(end)), np.array([[0.0, first], *np.zeros((5, 2))]), [6])
    tokens, *counts = case.paths()[0].expected()
    p, _, *found = case.ask("expected")
    np.testing.assert_allclose(p, tokens, atol=1e-12)
    for one, expected in zip(found, counts, strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-12)


# --- many labels, long sequences -------------------------------------------------------------------------------------


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("K", [1, 2, 7, 8, 9, 22, 33, 65])
def test_three_tokens_of_many_labels(K, order, forbid):
    """All K³ paths at once."""
    rng = np.random.default_rng(K)
    chain, scores = a_chain(rng, K, order), rng.normal(size=(3, K)) * [[1], [40], [3]]
    if forbid and K > 2:
        for table in (chain.transitions, scores):
            table[rng.random(table.shape) < 0.3] = -np.inf
    case = Case(chain, scores, [3])
    values = (chain.start + scores[0])[:, None, None] + scores[1][:, None] + scores[2]
    if order == 1:
        values = values + chain.transitions[:, :, None] + chain.transitions + chain.end
    else:
        values = values + chain.transitions[K][:, :, None] + chain.transitions[:K] + chain.end[:K]
    total = log_sum(values.ravel())
    p = np.exp(values - total)
    last_two, first_two = p.sum(axis=0), p.sum(axis=2)
    if order == 1:
        transitions, end = last_two + first_two, p.sum(axis=(0, 1))
    else:
        transitions, end = np.concatenate([p, first_two[None]]), np.concatenate([last_two, np.zeros((1, K))])
    tokens = np.stack([p.sum(axis=(1, 2)), p.sum(axis=(0, 2)), p.sum(axis=(0, 1))])
    expected = (tokens, [total], tokens[0], transitions, end)
    for found, wanted in zip(case.ask("expected"), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(case.ask("marginals")[0], tokens, rtol=1e-10, atol=1e-12)
    codes, value = case.ask("viterbi")
    assert tuple(codes) == np.unravel_index(values.argmax(), values.shape)
    np.testing.assert_allclose(value, values.max())
    n = min(50, np.isfinite(values).sum())
    best = [value for _, value in case.ask("nbest", 50)[0]]
    np.testing.assert_allclose(best, np.sort(values.ravel())[::-1][:n])


@pytest.mark.parametrize("scale", [1.0, 700.0])
@pytest.mark.parametrize("K", [16, 64, 65, 129])
def test_thirty_tokens_of_many_labels(K, scale):
    rng = np.random.default_rng(K)
    chain, scores = a_chain(rng, K, 1), rng.normal(size=(30, K)) * scale
    chain.transitions[rng.random((K, K)) < 0.3] = -np.inf
    case = Case(chain, scores, [30])
    (p, log_z), (q, wanted) = case.ask("marginals"), forward_backward(chain, scores)
    np.testing.assert_allclose(log_z, [wanted], rtol=1e-12)
    np.testing.assert_allclose(p, q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(case.ask("viterbi")[1], [viterbi(chain, scores)], rtol=1e-12)
    _, _, start, transitions, end = case.ask("expected")
    np.testing.assert_allclose(start, q[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(end, q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(transitions.sum(axis=0), q[1:].sum(axis=0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(transitions.sum(axis=1), q[:-1].sum(axis=0), rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale, K", [(1.0, 3), (300.0, 3), (3.0, 20)])
def test_long_sequences(scale, K):
    """A sum of 10⁵ terms of this size is right to 1e-10 of itself."""
    T, rng = 100_000 if K == 3 else 20_000, np.random.default_rng(K)
    chain, scores = a_chain(rng, K, 1), rng.normal(size=(T, K)) * scale
    chain.transitions[1, 1:] = -np.inf
    case = Case(chain, scores, [T])
    (p, log_z), (q, wanted) = case.ask("marginals"), forward_backward(chain, scores)
    np.testing.assert_allclose(log_z, [wanted], rtol=1e-10)
    np.testing.assert_allclose(p, q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-11)
    best = viterbi(chain, scores)
    codes, values = case.ask("viterbi")
    np.testing.assert_allclose(values, [best], rtol=1e-12)
    np.testing.assert_allclose(case.ask("values", codes), [best], rtol=1e-12)
    np.testing.assert_array_equal(case.ask("nbest", 1)[0][0][0], codes)


def test_a_long_sequence_of_order_two_is_one_of_pairs():
    """Order 2 of K labels is order 1 of the pairs of them that fit."""
    K, T, rng = 3, 5_000, np.random.default_rng(0)
    chain, scores = a_chain(rng, K, 2), rng.normal(size=(T, K)) * 20
    case = Case(chain, scores, [T])
    last = np.tile(np.arange(K), K + 1)  # the pair (i, k) has the number i·K + k; i = K: none before
    fits = last[:, None] == np.arange(K * (K + 1)) // K
    moves = np.where(fits, chain.transitions[np.repeat(np.arange(K + 1), K), last][:, last], -np.inf)
    start = np.where(np.arange(K * (K + 1)) >= K * K, chain.start[last], -np.inf)
    pairs = Case(Chain(start, moves, chain.end.ravel()), np.ascontiguousarray(scores[:, last]), [T])
    (p, log_z), (q, wanted) = case.ask("marginals"), pairs.ask("marginals")
    np.testing.assert_allclose(log_z, wanted, rtol=1e-12)
    np.testing.assert_allclose(p, q.reshape(T, K + 1, K).sum(axis=1), atol=1e-8)
    (codes, values), (numbers_of_pairs, best) = case.ask("viterbi"), pairs.ask("viterbi")
    np.testing.assert_allclose(values, best, rtol=1e-12)
    np.testing.assert_array_equal(codes, last[numbers_of_pairs])


# --- threads, builds, inputs -----------------------------------------------------------------------------------------


def several(order, K=9, n_sequences=150):
    rng = np.random.default_rng(order)
    lengths = rng.integers(0, 40, size=n_sequences)
    return Case(a_chain(rng, K, order), token_scores(rng, "700", lengths.sum(), K) + rng.normal(size=K), lengths)


def everything(case, **options):
    """All numbers that a chain says of its sequences, by name."""
    found = {"codes": case.ask("viterbi", **options)[0], "best": case.ask("viterbi", **options)[1]}
    found |= dict(zip(("p", "log_z", "start", "moves", "end"), case.ask("expected", **options), strict=True))
    found["marginals"] = case.ask("marginals", **options)[0]
    found["values"] = case.ask("values", found["codes"], **options)
    listed = [pair for one in case.ask("nbest", 3, **options) for pair in one]
    found["paths"], found["of paths"] = np.concatenate([c for c, _ in listed]), np.array([v for _, v in listed])
    return found


@pytest.mark.parametrize("order", [1, 2])
def test_threads_change_no_bit(order):
    case = several(order)
    one = everything(case, n_jobs=1)
    for n_jobs in (2, 3):
        for name, array in everything(case, n_jobs=n_jobs).items():
            np.testing.assert_array_equal(array, one[name], err_msg=name, strict=True)


@pytest.mark.parametrize("order", [1, 2])
def test_sequences_do_not_know_of_each_other(order):
    case = several(order, n_sequences=12)
    p, log_z = case.ask("marginals")
    codes, _ = case.ask("viterbi")
    for own, total in zip(case.slices(), log_z, strict=True):
        alone = Case(case.chain, case.scores[own].copy(), [own.stop - own.start])
        np.testing.assert_array_equal(alone.ask("marginals")[0], p[own])
        np.testing.assert_array_equal(alone.ask("marginals")[1], [total])
        np.testing.assert_array_equal(alone.ask("viterbi")[0], codes[own])


SCRIPT = """
import sys
sys.path[:0] = {paths!r}
import numpy as np
from test_chain import everything, several
found = {{f"{{order}} {{K}} {{name}}": array for order in (1, 2) for K in (3, 9, 22)
         for name, array in everything(several(order, K, 20)).items()}}
np.savez(sys.argv[1], **found)
"""


@pytest.fixture(scope="module")
def on_builds(tmp_path_factory):
    folder, here = tmp_path_factory.mktemp("builds"), __file__.rpartition("/")[0]
    found = {}
    for build in BUILDS:
        code = SCRIPT.format(paths=[here, here.rpartition("/")[0]])
        command = [sys.executable, "-c", code, str(folder / build)]
        done = subprocess.run(
            command, env={**os.environ, "FASTLIN_ISA": build}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        with np.load(folder / f"{build}.npz") as arrays:
            found[build] = dict(arrays)
    return found


@pytest.mark.parametrize("build", BUILDS)
def test_every_build_finds_the_same(on_builds, build):
    for name, expected in on_builds["baseline"].items():
        np.testing.assert_allclose(on_builds[build][name], expected, rtol=1e-12, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_token_at_all(lengths, order):
    case = Case(a_chain(np.random.default_rng(0), 3, order), np.zeros((0, 3)), lengths)
    p, log_z, *counts = case.ask("expected")
    assert p.shape == (0, 3)
    assert log_z.tolist() == [0.0] * len(lengths)
    assert not any(count.any() for count in counts)
    codes, values = case.ask("viterbi")
    assert codes.shape == (0,)
    assert values.tolist() == [0.0] * len(lengths)
    assert [[(len(c), v) for c, v in found] for found in case.ask("nbest", 2)] == [[(0, 0.0)]] * len(lengths)


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("K", [1, 3, 8, 9])
@pytest.mark.parametrize("other", [1, 2, 8, 17])
def test_scores_of_other_labels_never_reach_a_chain(order, K, other):
    if other == K:
        return
    histories = (K,) if order == 1 else (K + 1, K)
    chain = Chain(np.zeros(K), np.zeros((*histories, K)), np.zeros(histories))
    scores, starts = np.zeros((4, other)), np.array([0, 4])
    for method in ("viterbi", "marginals", "expected"):
        with pytest.raises(ValueError, match="do not fit a chain"):
            getattr(chain, method)(scores, starts)
    with pytest.raises(ValueError, match="do not fit a chain"):
        chain.nbest(scores, starts, 2)
    if -(-other // kernels.LABEL_PADDING) == -(
        -K // kernels.LABEL_PADDING
    ):  # with as much padding as they have, they are within
        return
    with pytest.raises(ValueError, match="do not fit"):
        kernels.path_scores(
            chain.padded, scores, NO_SCORES, NO_SCORES, starts, 0, 1, np.zeros(4, np.int32), np.empty(1)
        )


@pytest.mark.parametrize(
    ("starts", "labels", "edges", "offsets"),
    [
        ([0, 5], 4, None, None),
        ([0, 3, 2], 4, None, None),
        ([-1, 4], 4, None, None),
        ([0, 4], 3, None, None),
        ([0, 4], 4, (3, 2, 2), None),
        ([0, 4], 4, (4, 2, 3), None),
        ([0, 4], 4, None, (4, 2, 2)),
        ([0, 4], 4, None, (3, 1, 2)),
    ],
)
def test_what_does_not_fit_the_tokens_never_reaches_them(starts, labels, edges, offsets):
    chain = Chain(np.zeros(2), np.zeros((2, 2)), np.zeros(2))
    given = [np.zeros((4, 2)), *(NO_SCORES if shape is None else np.zeros(shape) for shape in (edges, offsets))]
    starts, y = np.array(starts), np.zeros(labels, np.int32)
    n = len(starts) - 1
    with pytest.raises(ValueError, match=r"fit|room"):
        kernels.best_paths(chain.padded, *given, starts, 0, n, y, np.empty(n))
    with pytest.raises(ValueError, match=r"fit|room"):
        kernels.path_scores(chain.padded, *given, starts, 0, n, y, np.empty(n))


def test_labels_that_a_chain_does_not_have_are_refused():
    chain = Chain(np.zeros(2), np.zeros((2, 2)), np.zeros(2))
    for code in (-1, 2):
        with pytest.raises(ValueError, match=f"has the label {code}"):
            chain.values(np.zeros((3, 2)), np.array([0, 3]), np.array([0, code, 0], np.int32))
