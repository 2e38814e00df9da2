"""Derivations in which no constituent has more than one unary step: what is above the lowest label is one symbol.

    S → VP → VBZ    S → VP → VBZ is (S VP) → VBZ        SBAR → S → VP → VBZ NP    is (SBAR S) → VP → VBZ NP

So a sentence has finitely many derivations, and a tree has one, which says all of it.
"""

from collections.abc import Iterable, Iterator

from fastlin.grammar.binarize import UNARY, Derivation

Chain = tuple[int, ...]  # symbols, from above
AGAIN = -1  # in a chain: a symbol over itself, which is not the one below


class CollapsedChains:
    """Numbers of chains: a symbol is its own, those of several symbols come after all symbols.

    Parameters
    ----------
    n_symbols : int
    chains : iterable of Chain
        Those of several symbols, which all differ.
    """

    def __init__(self, n_symbols: int, chains: Iterable[Chain]) -> None:
        self.n_symbols, self.chains = n_symbols, tuple(chains)
        self._places = {chain: n_symbols + number for number, chain in enumerate(self.chains)}

    @classmethod
    def of(cls, derivations: Iterable[Derivation], n_symbols: int) -> "CollapsedChains":
        """The chains in derivations, in their order."""
        found = dict.fromkeys(chain for steps in derivations for chain, _ in _collapsed(steps) if len(chain) > 1)
        return cls(n_symbols, found)

    def __len__(self) -> int:
        return self.n_symbols + len(self.chains)

    def symbols(self, number: int) -> Chain:
        """The symbols of a chain, from above."""
        chain = (number,) if number < self.n_symbols else self.chains[number - self.n_symbols]
        return tuple(symbol for symbol in chain if symbol != AGAIN)

    def collapse(self, steps: Derivation) -> Derivation:
        """A derivation of symbols as one of chains; what is not known has the number after the last."""
        found = Derivation([], [], steps.words)
        for chain, kind in _collapsed(steps):
            single = len(chain) == 1 and chain[0] < self.n_symbols
            found.symbols.append(chain[0] if single else self._places.get(chain, len(self)))
            found.kinds.append(kind)
        return found

    def expand(self, steps: Derivation) -> Derivation:
        """A derivation of chains as one of symbols."""
        found = Derivation([], [], steps.words)
        for number, kind in zip(steps.symbols, steps.kinds, strict=True):
            symbols = self.symbols(number)
            found.symbols.extend(symbols)
            found.kinds.extend([kind] * len(symbols))
        return found


def _collapsed(steps: Derivation) -> Iterator[tuple[Chain, int]]:
    """The chain and the kind of each step."""
    above: list[int] = []
    for symbol, kind in zip(steps.symbols, steps.kinds, strict=True):
        if kind == UNARY:
            above.append(symbol)
            continue
        if above:
            yield (tuple(above) if above != [symbol] else (symbol, AGAIN)), UNARY
            above = []
        yield (symbol,), kind
