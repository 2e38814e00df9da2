"""Documents as hypothesis likes them: every kind of character, and every length at which an engine changes its way."""

import sys

import numpy as np
from hypothesis import strategies as st

from strategies import seeds

WHITE = "".join(chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace())
ALPHABETS = {
    "ascii": "abcXYZ019_ .,-!?'\"/\n\t",
    "letters": "ab ",
    "control": "a b\0\x01\x1b\x1c\x1d\x1e\x1f\x7f\x80\x84\x86\x9f\xad\ufeff\u200b\u2060",
    "white": "aB" + WHITE,
    "latin-1": "aZ éÉàßÿÀÞ×÷µªº²¼·\xa0\x85_",
    "two bytes": "a ΩσΑяЖ中文あا؛—…’“”",
    "astral": "a 𝐀𝒜😀🙂𐐀𐐨𝟘🄰𞤀𞤢\U0010ffff",
    "surrogates": "ab \ud800\udbff\udc00\udfff",
    "special case": "aIikK \u0130\u0131\u212a\u212b\u00e5\u03a3\u03c3\u03c2\u017f\u1e9e\u00df\u0149\u0390\ufb03\u0307",
    "combining": "aoe \u0301\u0308\u0327\u0323\u0345\u0307\u200d\u200c\u20dd\u093f\u0e31",
    "digits": "a1 ٣४２²Ⅷ①৴五𝟠",
    "underscore": "_a‿⁀＿﹏ _",
}
BORDERS = (0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 66, 126, 127, 128, 129, 191, 192, 193, 255, 256, 257)
LONG_WORDS = (7, 8, 9, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 127, 128, 129, 200)
UTF8 = tuple(name for name in ALPHABETS if name != "surrogates")


@st.composite
def corpora(draw, min_documents=1, max_documents=8, alphabets=tuple(ALPHABETS)):
    """A list of documents with words in common, of lengths around the borders of 64 characters, some empty.

    Their words and what stands between them are hypothesis's; which comes where is a seed's.
    """
    names = draw(st.lists(st.sampled_from(alphabets), min_size=1, max_size=3, unique=True))
    characters = st.sampled_from(sorted({c for name in names for c in ALPHABETS[name]}))
    words = draw(st.lists(st.text(characters, min_size=1, max_size=9), min_size=1, max_size=8))
    between = draw(
        st.lists(st.text(st.one_of(st.just(" "), characters), min_size=1, max_size=3), min_size=1, max_size=3)
    )
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        letters = [w for w in words if w.isalnum()] or ["x"]
        words += [(letters[k % len(letters)] * n)[:n] for k, n in enumerate(rng.choice(LONG_WORDS, size=3).tolist())]
    return [document(rng, words, between) for _ in range(draw(st.integers(min_documents, max_documents)))]


def document(rng, words, between):
    length = int(rng.choice(BORDERS)) if rng.random() < 0.6 else int(rng.integers(0, 40))
    text = ""
    while len(text) < length:
        text += words[rng.integers(len(words))] + between[rng.integers(len(between))]
    return text[len(text) - length :] if rng.random() < 0.3 else text[:length]
