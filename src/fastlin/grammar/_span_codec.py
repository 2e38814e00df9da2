"""What a model file holds of a `SpanCRF`: its grammar as of other grammars, chains, names of features, weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core._codec import COUNTS, report_from_state, report_to_state
from fastlin.grammar._codec import _give_rules, _give_symbols, _ragged, _rows, _take_symbols, give_form
from fastlin.grammar.binarize import Symbol
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.span_crf.chains import AGAIN, Chain, CollapsedChains
from fastlin.grammar.span_crf.features import Numbering
from fastlin.grammar.span_crf.model import SpanCRF
from fastlin.grammar.span_crf.sentences import FeatureReader
from fastlin.grammar.span_crf.state import SpanGrammar, SpanState
from fastlin.grammar.span_crf.words import TreebankWords
from fastlin.storage.fields import FINITE, RISING, between, proved, rising_to
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation.parameter_kinds import STRINGS

Floats = NDArray[np.float64]
RULES = ("binary", "unary", "tags", "roots")
WORDS = ("words", "starts", "tags", "counts", "rare_count", "known_count")
LARGEST = between(-1e100, 1e100)  # of weights


def _take(model: SpanCRF, packing: Packing) -> State:
    learnt = model._learnt
    grammar, weights = learnt.grammar, learnt.weights
    starts, symbols = _ragged(list(chain) for chain in grammar.chains.chains)
    return report_to_state(model, packing) | {
        "symbols": _take_symbols(grammar.symbols),
        "chains_starts": starts,
        "chains": symbols,
        "rules": {name: getattr(grammar.rules, name) for name in RULES},
        "unary_counts": grammar.unary_counts,
        "lexicon": _take_words(grammar.reader.words),
        "tag_features": grammar.reader.tag_features.known,
        "span_features": grammar.reader.span_features.known,
        "rule_weights": np.concatenate(weights[:3]),
        "tag_weights": _packed(weights.tags, packing),
        "span_weights": _packed(weights.spans, packing),
        "flat": list(grammar.flat),
        "form": learnt.form._asdict(),
    }


def _packed(weights: Floats, packing: Packing) -> State:
    return packing.pack(weights) if weights.size else {"form": "dense", "values": weights}


def _take_words(words: TreebankWords) -> State:
    starts, tags = _ragged(list(of_word) for of_word in words.counts.values())
    counts = [count for of_word in words.counts.values() for count in of_word.values()]
    return {
        "words": list(words.counts),
        "starts": starts,
        "tags": tags,
        "counts": np.array(counts, np.float64),
        "rare_count": words.rare_count,
        "known_count": words.known_count,
    }


def _give(model: SpanCRF, state: State, context: LoadContext) -> None:
    report_from_state(model, state)
    form = give_form(state, model)
    reject_unknown(
        state, "symbols", "chains_starts", "chains", "rules", "unary_counts", "lexicon", "tag_features",
        "span_features", "rule_weights", "tag_weights", "span_weights", "flat",
    )  # fmt: skip
    flat = state["flat"]
    if type(flat) is not list or not flat or not STRINGS.allows(flat):
        raise ValueError("flat must be a list of labels")
    symbols = _give_symbols(state["symbols"])
    chains = _give_chains(state, symbols)
    rules = _give_chain_rules(state["rules"], chains, symbols)
    reader = FeatureReader(
        _give_words(state["lexicon"], rules, context),
        *(
            Numbering(proved(state[name], name, np.uint64, (None,), RISING))
            for name in ("tag_features", "span_features")
        ),
    )
    unary_counts = proved(state["unary_counts"], "unary_counts", np.float64, (len(rules.unary),), COUNTS)
    grammar = SpanGrammar(rules, chains, unary_counts, reader, tuple(flat))
    model._state_of_fit = SpanState(grammar, _give_weights(state, grammar, context), form)


def _give_chains(state: State, symbols: tuple[Symbol, ...]) -> CollapsedChains:
    """Proved: chains of several whole constituents, or of one over itself, which all differ."""
    n_chains = len(state["chains_starts"]) - 1
    rows = _rows(state, "chains", n_chains, between(AGAIN, len(symbols) - 1))[:n_chains]  # of none, one is empty
    chains: list[Chain] = [tuple(row) for row in rows]
    for chain in chains:
        whole = chain[:1] if len(chain) == 2 and chain[1] == AGAIN else chain
        if len(chain) < 2 or AGAIN in whole or any(_is_part(symbols[symbol]) for symbol in whole):
            raise ValueError("chains must be of two constituents with labels or more")
    if len(set(chains)) < len(chains):
        raise ValueError("chains must differ")
    return CollapsedChains(len(symbols), chains)


def _is_part(symbol: Symbol) -> bool:
    return symbol.label is None or symbol.before is not None


def _give_chain_rules(state: Any, chains: CollapsedChains, symbols: tuple[Symbol, ...]) -> RuleTable:
    """Proved: rules from which trees can be made; a chain of several symbols is above one, and made of nothing else."""
    reject_unknown(state, *RULES)
    rules = _give_rules(state, tuple(symbols[chains.symbols(number)[0]] for number in range(len(chains))))
    single = [rules.binary[:, 0], rules.unary[:, 1], rules.tags]
    if any((part >= len(symbols)).any() for part in single) or (rules.unary[:, 0] == rules.unary[:, 1]).any():
        raise ValueError("a chain must be the upper side of a unary rule, and a symbol must not be above itself")
    return rules


def _give_words(state: Any, rules: RuleTable, context: LoadContext) -> TreebankWords:
    reject_unknown(state, *WORDS)
    words, tags, counts = state["words"], state["tags"], state["counts"]
    if type(words) is not list or not words or not STRINGS.allows(words) or len(set(words)) < len(words):
        raise ValueError("words must be a list of strings that all differ, one at least")
    proved(tags, "tags of words", np.int32, (None,), between(0, len(rules.tags) - 1))
    proved(counts, "counts of words", np.float64, tags.shape, COUNTS)
    starts = proved(state["starts"], "starts of words", np.int64, (len(words) + 1,), rising_to(len(tags)))
    for name in ("rare_count", "known_count"):
        if not SpanCRF._parameters[name].allows(state[name]):
            raise ValueError(f"{name} must be {SpanCRF._parameters[name].wording}, got {state[name]!r:.60}")
    if (np.diff(starts) == 0).any():
        raise ValueError("words must have tags")
    context.take(16 * len(words) * len(rules.tags), "its words under tags")
    each = zip(np.split(tags, starts[1:-1]), np.split(counts, starts[1:-1]), strict=True)
    of_words = [dict(zip(one.tolist(), other.tolist(), strict=True)) for one, other in each]
    labels = [rules.symbols[tag].label for tag in rules.tags]
    return TreebankWords(
        dict(zip(words, of_words, strict=True)), labels, int(state["rare_count"]), int(state["known_count"])
    )


def _give_weights(state: State, grammar: SpanGrammar, context: LoadContext) -> Floats:
    """Proved: a number for each weight."""
    shapes = grammar.shapes
    context.take(8 * shapes.size, "its weights")
    of_rules = sum(shape[0] for shape in shapes[:3])
    parts = [proved(state["rule_weights"], "rule_weights", np.float64, (of_rules,), FINITE, LARGEST)]
    for name, shape in (("tag_weights", shapes.tags), ("span_weights", shapes.spans)):
        found = unpack(state[name], context)
        if not isinstance(found, np.ndarray) or found.dtype.kind != "f":
            raise ValueError(f"{name} must be a matrix of numbers")
        parts.append(proved(found.astype(np.float64), name, np.float64, shape, FINITE, LARGEST).reshape(-1))
    return np.concatenate(parts)


CODECS = {"fastlin.grammar.SpanCRF": ModelCodec(_take, _give)}
