"""Templates that are known to do well: for chunks, parts of speech and named entities."""

from collections.abc import Callable
from typing import Any

from fastlin.text.templates.dsl import BOS, EOS, Column
from fastlin.text.templates.estimator import Templates


def chunking(*, word: int = 0, pos: int = 1) -> Templates:
    """The template of CRFsuite for the chunks of CoNLL-2000; that of CRF++ but for names and markers beyond the ends.

    Words and parts of speech from two before to two behind, pairs of neighbouring words about the token, pairs and
    triples of neighbouring parts of speech, and the ends of the sentence: up to 19 features for a token, named as in
    CRFsuite's chunking.py.

    Parameters
    ----------
    word, pos : int
        Which columns of the tokens hold them.

    Returns
    -------
    Templates
        Not fitted.
    """
    W, P = Column(word, "w"), Column(pos, "pos")
    return Templates(
        [
            *W.window(-2, 2),
            *(W[d] & W[d + 1] for d in (-1, 0)),
            *P.window(-2, 2),
            *(P[d] & P[d + 1] for d in (-2, -1, 0, 1)),
            *(P[d] & P[d + 1] & P[d + 2] for d in (-2, -1, 0)),
            BOS,
            EOS,
        ]
    )


def ratnaparkhi96(*, rare: int = 5, word: int = 0) -> Templates:
    """The features of Ratnaparkhi's tagger (1996, Table 1) but for the tags before, which are those of a model.

    The word, if it is not rare, else its prefixes and suffixes of up to four characters and whether it has a digit, a
    capital or a hyphen; the two words before and the two behind.

    Parameters
    ----------
    rare : int
        A word is rare if it occurs fewer than so many times in what was learnt from.
    word : int
        Which column of the tokens holds it.

    Returns
    -------
    Templates
        Not fitted.
    """
    W = Column(word, "w")
    spelling = [*W[0].prefixes(4), *W[0].suffixes(4), W[0].has_digit, W[0].has_capital, W[0].has_hyphen]
    return Templates(
        [
            W[0].unless(W[0].rare(rare)),
            *(part.when(W[0].rare(rare)) for part in spelling),
            *(W[d] for d in (-1, -2, 1, 2)),
        ],
        padding="_B",
    )


def pos(*, word: int = 0) -> Templates:
    """Templates that make good taggers of parts of speech.

    Words from two before to two behind, pairs of them about the token, prefixes and suffixes of up to five characters,
    suffixes of the neighbours, shapes and flags.

    Parameters
    ----------
    word : int
        Which column of the tokens holds it.

    Returns
    -------
    Templates
        Not fitted.
    """
    W = Column(word, "w")
    return Templates(
        [
            *W.window(-2, 2),
            *(W[d].lower for d in (-1, 0, 1)),
            *(W[a].lower & W[b].lower for a, b in ((-2, -1), (-1, 0), (0, 1), (1, 2), (-1, 1))),
            *W[0].lower.prefixes(5),
            *W[0].lower.suffixes(5),
            *(W[d].lower.suffix(n) for d in (-1, 1) for n in (2, 3)),
            W[-1].lower.suffix(3) & W[0].lower.suffix(3),
            *(W[d].short_shape for d in (-1, 0, 1)),
            W[0].shape,
            W[0].initial_capital & BOS,
            W[0].initial_capital.unless(BOS),
            W[0].all_capitals,
            W[0].has_digit,
            W[0].has_hyphen,
            W[0].punctuation,
        ],
        padding="_B",
    )


def ner(*, gazetteers: Any = None, word: int = 0, pos: int | None = None) -> Templates:
    """Templates that make good recognisers of named entities.

    Words, in lower case and as they are, shapes and flags from two before to two behind, prefixes and suffixes of up to
    five characters, pairs about the token, and what gazetteers say of the token and its neighbours.

    Parameters
    ----------
    gazetteers : dict, optional
        From names to collections of entries; each is looked for as it is and in lower case.
    word, pos : int
        Which columns of the tokens hold the word and, if there is one, the part of speech.

    Returns
    -------
    Templates
        Not fitted.
    """
    W = Column(word, "w")
    templates = [
        *W.window(-2, 2),
        *(part.lower for part in W.window(-2, 2)),
        *(W[a].lower & W[b].lower for a, b in ((-1, 0), (0, 1))),
        *(part.short_shape for part in W.window(-2, 2)),
        *(W[a].short_shape & W[b].short_shape for a, b in ((-1, 0), (0, 1), (-1, 1))),
        W[-1].short_shape & W[0].short_shape & W[1].short_shape,
        W[-1].lower & W[0].short_shape,
        W[0].short_shape & W[1].lower,
        W[0].shape,
        *W[0].prefixes(5),
        *W[0].suffixes(5),
        *(flag for part in W.window(-1, 1) for flag in (part.initial_capital, part.all_capitals, part.has_digit)),
        W[0].initial_capital & BOS,
        W[0].has_hyphen,
        W[0].all_digits,
        W[0].punctuation,
        BOS,
        EOS,
    ]
    for name in gazetteers or ():
        templates += [part.within(name) for d in (-1, 0, 1) for part in (W[d], W[d].lower)]
    if pos is not None:
        P = Column(pos, "pos")
        templates += [*P.window(-2, 2), P[-1] & P[0], P[0] & P[1], W[0].lower & P[0]]
    return Templates(templates, padding="_B", gazetteers=gazetteers)


PRESETS: dict[str, Callable[[], Templates]] = {
    "chunking": chunking,
    "ner": ner,
    "pos": pos,
    "ratnaparkhi96": ratnaparkhi96,
}
