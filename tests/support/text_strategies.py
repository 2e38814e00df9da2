"""Documents as hypothesis likes them: every kind of character, and every length at which an engine changes its way."""

import sys

import numpy as np
from hypothesis import strategies as st

from support.strategies import seeds

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


# --- options ---------------------------------------------------------------------------------------------------------

NGRAMS = ((1, 1), (1, 2), (2, 2), (2, 3), (1, 4))
PATTERNS = (
    r"(?u)\b\w\w+\b",
    r"(?u)\b\w+\b",
    r"\w{3,}",
    r"\S+",
    r"(?u)\b[^\W\d]\w+\b",
    r"[a-z]+",
    r"[\w']+",
    r"(?i)[a-z]{2,3}?[^\W_]|\d+(?:[.,]\d+)*",
    r"(?a)\w\w+",
    r"(?u)\w(\w*)",  # what the group holds
    r"(?u)\w(\w)?",  # what it holds, if anything
    r"(?u)\w*",  # nothing, between any two characters
    r"(?u)\w\w+|[^\w\s]+",
)
STOP_WORDS = (None, "english", ["ab", "aa", "xx"], ["the"], [])
LIMITS = (
    {},
    {"min_df": 2},
    {"max_df": 0.5},
    {"min_df": 0.3, "max_df": 0.8},
    {"min_df": 1.0},
    {"min_df": 0.0, "max_df": 1},
    {"max_features": 1},
    {"max_features": 3},
    {"max_features": 20, "max_df": 0.7},
)


def one_of(*values):
    return st.sampled_from(values)


def options_of(name, **fixed):
    """Options of a vectoriser, by hypothesis; those that are given stay."""
    choices = {
        "lowercase": st.booleans(),
        "strip_accents": one_of(None, None, "ascii", "unicode"),
        "binary": st.booleans(),
    }
    if fixed.get("analyzer", "word") == "word":
        choices["stop_words"] = st.sampled_from(STOP_WORDS)
    if name == "HashingVectorizer":
        choices["n_features"] = one_of(1, 2, 7, 1000, 2**20, 2**31 - 2)
        choices["norm"] = one_of(None, "l1", "l2")
        choices["alternate_sign"] = st.booleans()
        choices["dtype"] = one_of(np.float64, np.float32)
    if name == "CountVectorizer":
        choices["dtype"] = one_of(np.int64, np.int32, np.uint8, np.float32, np.float64)
    if name == "TfidfVectorizer":
        choices["norm"] = one_of(None, "l1", "l2")
        choices |= dict.fromkeys(("use_idf", "smooth_idf", "sublinear_tf"), st.booleans())
        choices["dtype"] = one_of(np.float64, np.float32)
    some = st.fixed_dictionaries({}, optional=choices)
    limits = st.just({}) if name == "HashingVectorizer" else st.sampled_from(LIMITS)
    return st.builds(lambda chosen, limit: {**chosen, **limit, **fixed}, some, limits)
