"""The naive twins of the rich features: what the definitions say, one row after the other."""

import itertools
import re
import unicodedata

import numpy as np

ELEMENTWISE = {
    "identity": lambda x: x,
    "square": lambda x: x * x,
    "abs": abs,
    "log": lambda x: np.sign(x) * np.log1p(abs(x)),
    "sqrt": lambda x: np.sign(x) * np.sqrt(abs(x)),
    "binary": lambda x: float(x != 0),
}


def elementwise(X, functions):
    return np.hstack([np.array([[ELEMENTWISE[f](x) for x in row] for row in X]) for f in functions])


def may_join(columns, groups):
    """Whether each of the columns can be of another group."""
    choices = [[g for g, group in enumerate(groups) if column in group] for column in columns]
    return any(len(set(choice)) == len(columns) for choice in itertools.product(*choices))


def conjunctions(X, degree, powers=False, min_df=1, groups=None):
    """(the tuples of columns, their products) of all that are not zero in at least min_df rows of X."""
    combine = itertools.combinations_with_replacement if powers else itertools.combinations
    found, products = [], []
    for size in range(2, degree + 1):
        for columns in combine(range(X.shape[1]), size):
            if groups is not None and not may_join(columns, groups):
                continue
            product = np.prod(X[:, columns], axis=1)
            if (np.all(X[:, columns] != 0, axis=1)).sum() >= min_df:
                found.append(columns)
                products.append(product)
    return found, np.array(products).T.reshape(len(X), len(found))


def log_count_ratio(X, y, alpha, binary):
    """(r, the features) of each label against the rest, or of the second of two."""
    labels = sorted(set(y))
    F = np.array([[float(x != 0) if binary else x for x in row] for row in X])
    ratios = []
    for label in labels[1:] if len(labels) == 2 else labels:
        p, q = np.full(X.shape[1], alpha), np.full(X.shape[1], alpha)
        for row, mine in zip(F, y, strict=True):
            if mine == label:
                p = p + row
            else:
                q = q + row
        ratios.append(np.log(p / p.sum()) - np.log(q / q.sum()))
    return np.array(ratios), np.hstack([F * r for r in ratios])


# a letter for each kind of character, so that `re` can look for words and runs
SPECIAL = {
    "a": "'’＇",
    "e": "!¡！",
    "q": "?¿？؟",
    "s": ".。．｡।",
    "l": "…",
    "c": ",，、､،",
    "o": ":;：；؛",
    "u": '"＂„‚「」『』｢｣〝〞〟',
}
KINDS = {"Lu": "U", "Lt": "U", "Ll": "L", "Lo": "O", "Lm": "O", "Pi": "u", "Pf": "u", "Ps": "b", "Pe": "b", "Pd": "d"}
MAJOR = {"N": "D", "M": "M", "P": "p", "S": "y"}


def kind_of(character):
    for kind, characters in SPECIAL.items():
        if character in characters:
            return kind
    category = unicodedata.category(character)
    return "M" if category == "Cf" else KINDS.get(category) or MAJOR.get(category[0], " ")


def document_features(text):
    kinds = "".join(map(kind_of, text))
    words = [m.span() for m in re.finditer(r"[ULOD](?:[ULODM]|a(?=[ULOD]))*", kinds)]
    letters = [re.sub("[^ULO]", "", kinds[a:b]) for a, b in words]
    shouts = [len(found) >= 2 and set(found) == {"U"} for found in letters]
    outside = "".join(" " if any(a <= i < b for a, b in words) else kind for i, kind in enumerate(kinds))
    n_letters = sum(map(len, letters)) if words else 0
    elongated = 0
    for a, b in words:
        runs = [
            sum(1 for _ in run) for letter, run in itertools.groupby(text[a:b]) if kind_of(letter) in ("U", "L", "O")
        ]
        elongated += max(runs, default=0) >= 3
    return {
        "characters": len(text),
        "words": len(words),
        "all_caps": sum(shouts),
        "capitalised": sum(kinds[a] == "U" and not shout for (a, _), shout in zip(words, shouts, strict=True)),
        "elongated": elongated,
        "digits": kinds.count("D"),
        "exclamations": kinds.count("e"),
        "questions": kinds.count("q"),
        "repeated": len(re.findall("[eq]{2,}", kinds)),
        "ellipses": kinds.count("l") + len(re.findall("s{2,}", kinds)),
        "stops": sum(len(run) == 1 for run in re.findall("s+", kinds)),
        "commas": kinds.count("c"),
        "colons": kinds.count("o"),
        "quotes": kinds.count("u") + outside.count("a"),
        "brackets": kinds.count("b"),
        "dashes": kinds.count("d"),
        "symbols": kinds.count("y"),
        "other_punctuation": kinds.count("p"),
        "capitals": kinds.count("U") / max(1, n_letters),
        "word_length": sum(b - a for a, b in words) / max(1, len(words)),
    }


def marked(text, negators, pattern=r"(?u)\b\w\w+\b"):
    """Whether each word of a text is after a negator in its clause: one look back from every word."""
    found = list(re.finditer(pattern, text))
    answers = []
    for here in range(len(found)):
        yes = False
        for before in found[:here]:
            between = text[before.end() : found[here].start()]
            inside = [m.span() for m in found if before.end() <= m.start() < found[here].start()]
            for a, b in reversed(inside):  # what stands in words ends no clause
                between = between[: a - before.end()] + between[b - before.end() :]
            word = before.group().lower()
            contracted = re.match(r"['’]t(?!\w)", text[before.end() :], flags=re.IGNORECASE)
            negator = word in negators or word.endswith(("n't", "n’t")) or (word.endswith("n") and contracted)
            yes = yes or (negator and not re.search(r"[.,:;!?…—()\[\]{}]", between))
        answers.append(bool(yes))
    return [match.group() for match in found], answers


def lexicon_scores(X, names, lexicon, labels):
    scores = np.zeros((len(X), len(labels)))
    for row, k in itertools.product(range(len(X)), range(len(labels))):
        words = lexicon[labels[k]]
        for x, name in zip(X[row], names, strict=True):
            if name in words:
                scores[row, k] += x * (words[name] if isinstance(words, dict) else 1.0)
    return scores
