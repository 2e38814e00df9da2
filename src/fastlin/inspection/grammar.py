"""Summary of a grammar: its symbols, the most used first, and their most probable rules."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastlin.core.model_kinds import is_parser
from fastlin.inspection import html
from fastlin.inspection.summary import StepSummary, changed
from fastlin.inspection.weights import advice, learner_of
from fastlin.validation import whole_number

SHOWN = 10
_MADE_OF = re.compile(r"[\[^]| → ")  # what ends the label that a symbol is made of


@dataclass(frozen=True)
class SymbolSummary:
    """A symbol and its strongest rules. Of a grammar how often it was used, too, and its share of words.

    Attributes
    ----------
    symbol : str
        Its name.
    uses : float or None
        How often it was counted, or expected.
    words : float or None
        p that it is a tag.
    n_rules : int
        Rules with this left side.
    rules : tuple of (str, float)
        Right sides and their p, or weight.
    """

    symbol: str
    uses: float | None
    words: float | None
    n_rules: int
    rules: tuple[tuple[str, float], ...]

    def _headline(self) -> str:
        """How often it was used, and how many rules it has."""
        used = "" if self.uses is None else f"used {self.uses:,.6g} times, "
        return f"{self.symbol or '·'}: {used}{self.n_rules:,} rule{'' if self.n_rules == 1 else 's'}"

    def _rows(self) -> list[tuple[float, str]]:
        """Numbers of right sides, that of words first."""
        words = [(self.words, "a word")] if self.words else []
        return [*words, *((value, right) for right, value in self.rules)]

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(f"  {value:>8.4f}  {right}" for value, right in self._rows())])

    def _repr_html_(self) -> str:
        largest = max((abs(value) for value, _ in self._rows()), default=0.0)
        rows = [(html.bar(value, largest), value, right) for value, right in self._rows()]
        return html.table((), rows, self._headline())


@dataclass(frozen=True)
class GrammarSummary:
    """Summary of a grammar.

    Attributes
    ----------
    part : StepSummary
        The estimator.
    n_symbols : int
        Symbols of its rules.
    n_rules : int
        Rules.
    n_words : int
        Words of the lexicon.
    symbols : tuple of SymbolSummary
        The most used first.
    """

    part: StepSummary
    n_symbols: int
    n_rules: int
    n_words: int
    symbols: tuple[SymbolSummary, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; what JSON can hold.
        """
        return asdict(self) | {"part": self.part.as_dict()}

    def _rows(self) -> list[tuple[str, str]]:
        """What is said of the grammar, each with its name."""
        sizes = ("symbols", self.n_symbols), ("rules", self.n_rules), ("words", self.n_words)
        return [("model", str(self.part)), *((name, f"{size:,}") for name, size in sizes)]

    def __str__(self) -> str:
        lines = (f"{name:<9} {value}" for name, value in self._rows())
        return "\n\n".join(["\n".join(lines), *map(str, self.symbols)])

    def _repr_html_(self) -> str:
        return html.block(html.table((), self._rows()), *(symbol._repr_html_() for symbol in self.symbols))


def grammar(model: Any, n: int = SHOWN, symbols: Sequence[str] | None = None) -> GrammarSummary:
    """Describe a fitted grammar.

    Parameters
    ----------
    model : fitted PCFG or SpanCRF
    n : int
        How many symbols, the most used ones but tags, or else those with the most rules, and how many rules of each:
        the most probable ones, or those of the largest weights.
    symbols : sequence of str, optional
        Only these: names as "NP^S", or labels as "NP", which stand for all symbols that are made of them.

    Returns
    -------
    GrammarSummary

    Examples
    --------
    >>> from fastlin.grammar import PCFG
    >>> from fastlin.inspection import grammar
    >>> trees = ["(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN dog)) (VP (VBZ barks)))"]
    >>> print(grammar(PCFG(vertical=1).fit(trees), symbols=["S", "VP"]))
    model     PCFG(vertical=1)
    symbols   6
    rules     3
    words     6
    <BLANKLINE>
    S: used 2 times, 1 rule
        1.0000  NP VP
    <BLANKLINE>
    VP: used 2 times, 1 rule
        1.0000  VBZ
    """
    model, n = learner_of(model), whole_number("n", n, 0)
    if not is_parser(model):
        raise TypeError(f"{type(model).__name__} is no grammar{advice(model)}")
    check_is_fitted(model)
    model = model._snapshot()  # of one moment
    names = model.symbols_
    rules: dict[str, list[tuple[str, float]]] = {name: [] for name in names}
    counts = getattr(model._learnt, "counts", None)
    for left, right, value in model.rules_:
        rules[left].append((" ".join(right), value if counts is None else math.exp(value)))
    uses, words = (None, None) if counts is None else _uses(model._learnt, len(names))
    order = sorted(range(len(names)), key=lambda place: -(len(rules[names[place]]) if uses is None else uses[place]))
    if symbols is None:
        order = [place for place in order if rules[names[place]]][:n]
    else:
        chosen = _chosen(symbols, names)
        order = [place for place in order if place in chosen]
    return GrammarSummary(
        StepSummary(type(model).__name__, changed(model)),
        len(names),
        model.n_rules_,
        len(model.words_),
        tuple(
            SymbolSummary(
                names[place],
                None if uses is None else uses[place],
                None if words is None else words[place],
                len(rules[names[place]]),
                tuple(rules[names[place]][:n]),
            )
            for place in order
        ),
    )


def _uses(learnt: Any, n_symbols: int) -> tuple[list[float], list[float]]:
    """How often each symbol of a grammar was used, and how probable it is to be a tag."""
    rules, counts = learnt.rules, learnt.counts
    left = np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags])
    tagged = np.zeros(n_symbols)
    tagged[rules.tags] = np.exp(learnt.log_weights.tags)
    uses = np.bincount(left, np.concatenate([counts.binary, counts.unary, counts.tags]), n_symbols)
    return uses.tolist(), tagged.tolist()


def _chosen(wanted: Sequence[str], names: list[str]) -> set[int]:
    """The symbols of these names, or made of these labels."""
    labels = [_MADE_OF.split(name.removeprefix("@"))[0] for name in names]
    found: set[int] = set()
    for name in wanted:
        inside = {place for place, one in enumerate(names) if one == name}
        inside = inside or {place for place, label in enumerate(labels) if label == name}
        if not inside:
            raise ValueError(f"the grammar has no symbol {name!r:.60}")
        found |= inside
    return found
