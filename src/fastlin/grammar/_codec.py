"""What a model file holds of grammars.

Symbols are numbers of strings in three arrays, their labels, what is above them, and what is before; rules, counts and
log probabilities are as they are; the lexicon is made anew, of the counts of words or of a hidden Markov model.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core._codec import COUNTS, EM_REPORT, report_from_state, report_to_state
from fastlin.grammar.binarize import Symbol
from fastlin.grammar.from_hmm import HMMLexicon
from fastlin.grammar.lexicon import Lexicon, LexiconOptions, TagScorer
from fastlin.grammar.notation import MAX_ERROR
from fastlin.grammar.pcfg import PCFG
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.grammar.state import GrammarState
from fastlin.grammar.tree_form import TreeForm
from fastlin.sequence.hmm.model import HMM
from fastlin.storage.fields import Law, between, proved, rising_to, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing
from fastlin.validation.parameter_kinds import STRINGS

Integers = NDArray[np.int32]
NONE = -1  # the number of a string that is not there
TABLES = {"binary": 3, "unary": 2}  # symbols of a rule
SYMBOLS = ("names", "labels", "above_starts", "above", "before_starts", "before", "unfinished")
LEXICON = ("words", "starts", "tags", "counts", "options")

# --- symbols ---------------------------------------------------------------------------------------------------------


def _take_symbols(symbols: Sequence[Symbol]) -> State:
    numbers: dict[str, int] = {}

    def number(name: str | None) -> int:
        return NONE if name is None else numbers.setdefault(name, len(numbers))

    labels = np.array([number(symbol.label) for symbol in symbols], np.int32)
    above_starts, above = _ragged([number(name) for name in symbol.above] for symbol in symbols)
    before_starts, before = _ragged([number(name) for name in symbol.before or ()] for symbol in symbols)
    return {
        "labels": labels,
        "above_starts": above_starts,
        "above": above,
        "before_starts": before_starts,
        "before": before,
        "unfinished": np.array([symbol.before is not None for symbol in symbols], np.bool_),
        "names": list(numbers),
    }


def _ragged(rows: Iterable[list[int]]) -> tuple[NDArray[np.int64], Integers]:
    """Where each row starts, and all of them behind one another."""
    found = list(rows)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in found])]).astype(np.int64)
    return starts, np.array([number for row in found for number in row], np.int32)


def _give_symbols(state: Any) -> tuple[Symbol, ...]:
    """Proved: symbols that all differ, of strings that are there."""
    reject_unknown(state, *SYMBOLS)
    names, labels = state["names"], state["labels"]
    if type(names) is not list or not STRINGS.allows(names):
        raise ValueError("names must be a list of strings")
    known = between(NONE, len(names) - 1)
    proved(labels, "labels", np.int32, (None,), known)
    unfinished = proved(state["unfinished"], "unfinished", np.bool_, labels.shape)
    above = _rows(state, "above", len(labels), between(0, len(names) - 1))
    before = _rows(state, "before", len(labels), known)
    strings = [*names, None]  # of which NONE is the last
    symbols = tuple(
        Symbol(
            strings[label],
            tuple(strings[number] for number in one),
            tuple(strings[number] for number in other) if is_unfinished else None,
        )
        for label, one, other, is_unfinished in zip(labels.tolist(), above, before, unfinished.tolist(), strict=True)
    )
    if not symbols or len(set(symbols)) < len(symbols):
        raise ValueError("there must be symbols, and all must differ")
    return symbols


def _rows(state: State, name: str, n_rows: int, law: Law) -> list[list[int]]:
    """The rows that `_ragged` put together."""
    numbers = proved(state[name], name, np.int32, (None,), law)
    starts = proved(state[f"{name}_starts"], f"{name}_starts", np.int64, (n_rows + 1,), rising_to(len(numbers)))
    return [part.tolist() for part in np.split(numbers, starts[1:-1])]


# --- rules -----------------------------------------------------------------------------------------------------------


def _give_rules(state: State, symbols: tuple[Symbol, ...]) -> RuleTable:
    """Proved: rules of symbols that there are, sorted by children, from which trees can be made."""
    n_symbols = len(symbols)
    tables = {}
    for name, width in TABLES.items():
        table = proved(state[name], name, np.int32, (None, width), between(0, n_symbols - 1))
        order = np.lexsort([table[:, 0], *(table[:, place] for place in range(width - 1, 0, -1))])
        if (order != np.arange(len(table))).any() or (table[1:] == table[:-1]).all(axis=1).any():
            raise ValueError(f"{name} must be sorted by children and parent, no rule twice")
        tables[name] = np.ascontiguousarray(table)
    tags, roots = (proved(state[name], name, np.int32, (None,), sorted_below(n_symbols)) for name in ("tags", "roots"))
    unfinished = np.array([symbol.before is not None for symbol in symbols], bool)
    unnamed = np.array([symbol.label is None for symbol in symbols], bool)
    (parents, left, _), (above, below) = tables["binary"].T, tables["unary"].T
    if not len(roots) or not len(tags) or (unfinished | unnamed)[roots].any():
        raise ValueError("there must be tags and roots, and roots must be whole constituents with labels")
    if unnamed[parents].any() or unnamed[above].any():
        raise ValueError("what has no label is a word, and has no rules")
    if any(unfinished[part].any() for part in (left, above, below, tags)):
        raise ValueError("what is still to come of a constituent must be a right child, and have two children")
    return RuleTable(symbols, tables["binary"], tables["unary"], tags, roots)


def _give_counts(state: Any, rules: RuleTable) -> RuleCounts:
    reject_unknown(state, *RuleCounts._fields)
    return RuleCounts(
        *(
            proved(state[name], f"counts of {name}", np.float64, (len(getattr(rules, name)),), COUNTS)
            for name in RuleCounts._fields
        )
    )


def _give_log_weights(state: Any, rules: RuleTable, most: float) -> RuleCounts:
    """Proved: probabilities of a left side sum to one, or it has none; `most` where they may sum to this, too."""
    reject_unknown(state, *RuleCounts._fields)
    weights = RuleCounts(
        *(
            proved(state[name], f"log weights of {name}", np.float64, (len(getattr(rules, name)),))
            for name in RuleCounts._fields
        )
    )
    left_sides = np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags])
    values = np.exp(np.concatenate([weights.binary, weights.unary, weights.tags]))
    totals = np.bincount(left_sides, values, len(rules.symbols))
    sums = np.append(totals, np.exp(weights.roots).sum())
    fits = (np.abs(sums - 1) <= MAX_ERROR) | (np.abs(sums - most) <= MAX_ERROR) | (sums == 0)
    if not fits.all() or sums[-1] == 0:
        raise ValueError("the probabilities of the rules of each left side, and of roots, must sum to 1")
    return weights


# --- lexicons --------------------------------------------------------------------------------------------------------


def _take_lexicon(lexicon: TagScorer) -> State:
    if isinstance(lexicon, HMMLexicon):
        return {"hmm": lexicon.hmm}
    assert isinstance(lexicon, Lexicon)
    starts, tags = _ragged(list(of_word) for of_word in lexicon.counts.values())
    counts = [count for of_word in lexicon.counts.values() for count in of_word.values()]
    return {
        "words": list(lexicon.counts),
        "starts": starts,
        "tags": tags,
        "counts": np.array(counts, np.float64),
        "options": lexicon.options._asdict(),
    }


def _give_lexicon(state: Any, rules: RuleTable, context: LoadContext) -> TagScorer:
    if "hmm" in state:
        reject_unknown(state, "hmm")
        hmm = state["hmm"]
        if not isinstance(hmm, HMM) or hmm.attributes_ is None or not hmm._words:
            raise ValueError("hmm must be a fitted HMM of words")
        if not np.array_equal(rules.tags, np.arange(len(hmm.classes_))):
            raise ValueError(f"the states of hmm must be the first {len(hmm.classes_)} symbols, and all the tags")
        return HMMLexicon(hmm)
    reject_unknown(state, *LEXICON)
    words, tags, counts = state["words"], state["tags"], state["counts"]
    if type(words) is not list or not STRINGS.allows(words) or len(set(words)) < len(words):
        raise ValueError("words must be a list of strings that all differ")
    proved(tags, "tags of words", np.int32, (None,))
    proved(counts, "counts of words", np.float64, tags.shape, COUNTS)
    starts = proved(state["starts"], "starts of words", np.int64, (len(words) + 1,), rising_to(len(tags)))
    if not np.isin(tags, rules.tags).all():
        raise ValueError("tags of words must be tags of the grammar")
    options = state["options"]
    table = PCFG._parameters
    kinds = LexiconOptions(table["unknown"], table["rare_count"], table["word_alpha"], table["tag_alpha"])  # type: ignore[arg-type]
    if type(options) is not dict or set(options) != set(LexiconOptions._fields):
        raise ValueError(f"options must have {', '.join(LexiconOptions._fields)}")
    for name, kind in kinds._asdict().items():
        if not kind.allows(options[name]):
            raise ValueError(f"options: {name} must be {kind.wording}, got {options[name]!r:.60}")
    context.take(8 * len(words) * len(rules.tags), "its words under tags")
    each = zip(np.split(tags, starts[1:-1]), np.split(counts, starts[1:-1]), strict=True)
    of_words = [dict(zip(one.tolist(), other.tolist(), strict=True)) for one, other in each]
    return Lexicon(dict(zip(words, of_words, strict=True)), rules.symbols, rules.tags, LexiconOptions(**options))


# --- the form of trees -----------------------------------------------------------------------------------------------


def give_form(state: State, parser: Any) -> TreeForm:
    """Taken out of a state and proved; a file without one was written when the parameters said it."""
    if "form" not in state:
        return parser._tree_form()
    form = state.pop("form")
    if type(form) is not dict or set(form) != set(TreeForm._fields):
        raise ValueError(f"form must have {', '.join(TreeForm._fields)}")
    for name, value in form.items():
        if not PCFG._parameters[name].allows(value):
            raise ValueError(f"form: {name} must be {PCFG._parameters[name].wording}, got {value!r:.60}")
    return TreeForm(**form)


# --- grammars --------------------------------------------------------------------------------------------------------


def _take_grammar(model: PCFG, packing: Packing) -> State:
    learnt = model._learnt
    rules = learnt.rules
    return report_to_state(model, packing, *EM_REPORT) | {
        "symbols": _take_symbols(rules.symbols),
        "rules": {name: getattr(rules, name) for name in RuleCounts._fields},
        "counts": learnt.counts._asdict(),
        "log_weights": learnt.log_weights._asdict(),
        "lexicon": _take_lexicon(learnt.lexicon),
        "flat": list(learnt.flat),
        "form": learnt.form._asdict(),
    }


def _give_grammar(model: PCFG, state: State, context: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    form = give_form(state, model)
    reject_unknown(state, "symbols", "rules", "counts", "log_weights", "lexicon", "flat")
    reject_unknown(state["rules"], *RuleCounts._fields)
    flat = state["flat"]
    if type(flat) is not list or not flat or not STRINGS.allows(flat):
        raise ValueError("flat must be a list of labels")
    rules = _give_rules(state["rules"], _give_symbols(state["symbols"]))
    context.take(24 * len(np.unique(rules.unary)) ** 2, "its chains of unary rules")
    lexicon = _give_lexicon(state["lexicon"], rules, context)
    endless = isinstance(lexicon, HMMLexicon) and not lexicon.hmm.stop  # then all lengths have the probability 1
    model._state_of_fit = GrammarState(
        rules,
        _give_counts(state["counts"], rules),
        _give_log_weights(state["log_weights"], rules, 2.0 if endless else 1.0),
        lexicon,
        tuple(flat),
        form,
    )


CODECS = {"fastlin.grammar.PCFG": ModelCodec(_take_grammar, _give_grammar)}
