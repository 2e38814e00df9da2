"""What can be asked about a quadruple (verb, noun, preposition, noun)?

A *view* rewrites the four words; the features of a view are all 15 subsets of what it wrote.

=========  =============================================================================
`words`    the words as they are
`lemmas`   verbs without their endings; nouns in the singular, numbers, years and names by kind
`shapes`   only the ending of the verb and the kind of the nouns
=========  =============================================================================

`backed_off` turns the same subsets into values: how much the training rows that share a subset lean
to the noun, more than their preposition does anyway.
"""

from __future__ import annotations

from common import Matrices, read  # before numpy: it sets the threads

# isort: split
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

Quadruple = Sequence[str]
View = Callable[[Quadruple], list[str]]

DEFAULT_CUTOFF = 5  # Ratnaparkhi's
SLOTS = ("v", "n1", "p", "n2")
SUBSETS = [chosen for size in range(1, 5) for chosen in combinations(range(4), size)]
PREPOSITION = SUBSETS.index((2,))

YEAR = re.compile(r"(19|20)\d\d")
NUMBER = re.compile(r"[\d.,:/\\-]*\d[\d.,:/\\-]*s?")
PRONOUNS = {  # and what stands alone like them
    *("it", "him", "them", "us", "me", "you", "her", "himself", "itself", "themselves"),
    *("this", "that", "these", "those", "some", "all", "any", "one", "what", "which", "who"),
}
IRREGULAR = {
    form: lemma
    for lemma, forms in {
        "be": "was is are were been being 's 're",
        "bring": "brought",
        "build": "built",
        "buy": "bought",
        "come": "came",
        "do": "did does done",
        "draw": "drew drawn",
        "drive": "drove driven",
        "fall": "fell fallen",
        "find": "found",
        "get": "got gotten",
        "give": "gave given",
        "go": "went gone",
        "grow": "grew grown",
        "have": "has had having",
        "hold": "held",
        "keep": "kept",
        "know": "knew known",
        "lead": "led",
        "leave": "left",
        "lose": "lost",
        "make": "made",
        "meet": "met",
        "pay": "paid",
        "rise": "rose risen",
        "run": "ran",
        "say": "said",
        "see": "saw seen",
        "sell": "sold",
        "send": "sent",
        "show": "shown",
        "spend": "spent",
        "strike": "struck",
        "take": "took taken",
        "tell": "told",
        "throw": "threw thrown",
        "win": "won",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}


def load(part: str) -> tuple[list[list[str]], np.ndarray]:
    """Quadruples, and 1 where the phrase belongs to the noun."""
    lines = read("ppattach", f"{part}.tsv.gz")
    return [line[1:] for line in lines], np.array([int(line[0] == "N") for line in lines])


def verb_stem(verb: str) -> str:
    """One string for all forms of a verb: endings off, doubled consonants and a last e as well."""
    verb = verb.lower()
    verb = IRREGULAR.get(verb, verb)
    for ending in ("ies", "ied", "ying"):
        if verb.endswith(ending) and len(verb) > len(ending) + 1:
            return verb.removesuffix(ending) + "y"
    for ending in ("ing", "ed", "es", "s"):
        if verb.endswith(ending) and len(verb) > len(ending) + 2 and not verb.endswith("ss"):
            verb = verb.removesuffix(ending)
            if len(verb) > 3 and verb[-1] == verb[-2] and verb[-1] not in "lsz":
                verb = verb[:-1]
            break
    return verb.removesuffix("e")


def verb_ending(verb: str) -> str:
    """The auxiliary that the verb is a form of, or how it ends."""
    verb = verb.lower()
    lemma = IRREGULAR.get(verb, verb)
    if lemma in ("be", "have", "do"):
        return lemma
    return next((ending for ending in ("ing", "ed", "s") if verb.endswith(ending)), "-")


def kind(noun: str) -> str | None:
    """YEAR, NUMBER or NAME; None for a common noun."""
    if YEAR.fullmatch(noun):
        return "YEAR"
    if NUMBER.fullmatch(noun):
        return "NUMBER"
    return "NAME" if noun[:1].isupper() else None


def singular(noun: str) -> str:
    noun = noun.lower()
    if noun.endswith("ies"):
        return noun.removesuffix("ies") + "y"
    return noun[:-1] if is_plural(noun) and len(noun) > 3 else noun


def is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")


def noun_shape(noun: str) -> str:
    """The kind of a noun; a pronoun or % is itself; else its number."""
    if noun in PRONOUNS or noun == "%":
        return noun
    return kind(noun) or ("plural" if is_plural(noun) else "singular")


def words(quadruple: Quadruple) -> list[str]:
    return list(quadruple)


def lemmas(quadruple: Quadruple) -> list[str]:
    v, n1, p, n2 = quadruple
    return [verb_stem(v), kind(n1) or singular(n1), p.lower(), kind(n2) or singular(n2)]


def shapes(quadruple: Quadruple) -> list[str]:
    v, n1, p, n2 = quadruple
    return ["~" + verb_ending(v), "~" + noun_shape(n1), p.lower(), "~" + noun_shape(n2)]


def subsets(view: View, quadruple: Quadruple) -> list[str]:
    """The 15 features of a view: ``v=join``, ``v=join p=as``, …"""
    pairs = [f"{slot}={word}" for slot, word in zip(SLOTS, view(quadruple), strict=True)]
    return [" ".join(pairs[slot] for slot in chosen) for chosen in SUBSETS]


def indicators(
    views: Sequence[View], rows: Sequence[Quadruple], _y: np.ndarray, held_out: Sequence[Quadruple], cutoff: int = 1
) -> Matrices:
    """A column for every subset of the views that is seen in at least ``cutoff`` training rows."""

    def analyse(row: Quadruple) -> list[str]:
        return [feature for view in views for feature in subsets(view, row)]

    vectoriser = CountVectorizer(analyzer=analyse, min_df=cutoff, binary=True, dtype=np.float64)
    return vectoriser.fit_transform(rows), vectoriser.transform(held_out)


def backed_off(
    view: View, rows: Sequence[Quadruple], y: np.ndarray, held_out: Sequence[Quadruple], a: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """For every subset t, z_t = log (n₁ + ab)/(n₀ + a(1 − b)) − log b/(1 − b).

    n₁ and n₀ count the training rows of label 1 and 0 that agree with this one on t, and b is label
    1's share among the rows with its preposition; the subset of the preposition alone has log b/(1 − b)
    itself. A subset never seen has z_t = 0. A training row is left out of its own counts: otherwise
    rare subsets would know the answer.
    """
    keys = [subsets(view, row) for row in rows]
    total = Counter(key for row in keys for key in row)
    ones = Counter(key for row, label in zip(keys, y, strict=True) if label for key in row)

    def values(row: list[str], own: int, own_one: int) -> np.ndarray:
        n = np.array([total[key] for key in row], dtype=float) - own
        n1 = np.array([ones[key] for key in row], dtype=float) - own_one
        b = (n1[PREPOSITION] + 0.5) / (n[PREPOSITION] + 1.0)
        z = np.log((n1 + a * b) / (n - n1 + a * (1.0 - b))) - np.log(b / (1.0 - b))
        z[PREPOSITION] = np.log(b / (1.0 - b))
        return z

    learnt = np.array([values(row, 1, int(label)) for row, label in zip(keys, y, strict=True)])
    judged = np.array([values(subsets(view, row), 0, 0) for row in held_out])
    return learnt, judged
