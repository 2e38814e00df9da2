"""What do the benchmarks of taggers read? CoNLL-2000, and its features by Python functions as users write them.

The features are those of CRFsuite's example and of ``Templates("chunking")``: words and parts of speech from two before
to two behind, pairs and triples of neighbours, and the ends of the sentence; 19 for a token, fewer at the ends. `usual`
makes them as tutorials do, a token at a time; `tight` as fast as f-strings go: the columns are read once a sentence,
and only the ends need a look; `applied` as CRFsuite's own example does, which goes through a list of templates.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpora import data_folder
from fastlin.sequence import read_conll
from fastlin.text.templates import chunking

Tokens = list[tuple[str, ...]]  # (word, part of speech) of a sentence
Features = list[list[str]]

FEW = 20  # sentences on which the function is compared with the templates


@dataclass(frozen=True)
class Part:
    """Sentences, their features, and the chunk tags of their tokens."""

    sentences: list[Tokens]
    X: list[Features]
    y: list[list[str]]

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.y))

    def first(self, n: int) -> Part:
        return Part(self.sentences[:n], self.X[:n], self.y[:n])


def load(part: str, n: int | None = None) -> Part:
    """Sentences of a part of CoNLL-2000, all or the first n."""
    found = list(read_conll(data_folder() / "conll2000" / f"{part}.tsv.gz", columns=[0, 1], label=2))[:n]
    sentences, labels = [list(sentence) for sentence in found], [sentence.labels for sentence in found]
    X = [tight(sentence) for sentence in sentences]
    check(sentences[:FEW], X)
    return Part(sentences, X, labels)


def check(sentences: list[Tokens], X: list[Features]) -> None:
    """Every way makes the same."""
    templates = chunking().strings(sentences)
    for sentence, theirs, mine in zip(sentences, X, templates, strict=False):
        for ways in zip(theirs, mine, usual(sentence), applied(sentence), strict=True):
            assert len(set(map(frozenset, ways))) == 1, ways


def usual(sentence: Tokens) -> Features:
    """As tutorials do."""
    return [token_features(sentence, i) for i in range(len(sentence))]


def token_features(sentence: Tokens, i: int) -> list[str]:
    found = [f"w[0]={sentence[i][0]}", f"pos[0]={sentence[i][1]}"]
    if i == 0:
        found.append("__BOS__")
    if i == len(sentence) - 1:
        found.append("__EOS__")
    if i >= 1:
        found.append(f"w[-1]={sentence[i - 1][0]}")
        found.append(f"w[-1]|w[0]={sentence[i - 1][0]}|{sentence[i][0]}")
        found.append(f"pos[-1]={sentence[i - 1][1]}")
        found.append(f"pos[-1]|pos[0]={sentence[i - 1][1]}|{sentence[i][1]}")
    if i >= 2:
        found.append(f"w[-2]={sentence[i - 2][0]}")
        found.append(f"pos[-2]={sentence[i - 2][1]}")
        found.append(f"pos[-2]|pos[-1]={sentence[i - 2][1]}|{sentence[i - 1][1]}")
        found.append(f"pos[-2]|pos[-1]|pos[0]={sentence[i - 2][1]}|{sentence[i - 1][1]}|{sentence[i][1]}")
    if i < len(sentence) - 1:
        found.append(f"w[1]={sentence[i + 1][0]}")
        found.append(f"w[0]|w[1]={sentence[i][0]}|{sentence[i + 1][0]}")
        found.append(f"pos[1]={sentence[i + 1][1]}")
        found.append(f"pos[0]|pos[1]={sentence[i][1]}|{sentence[i + 1][1]}")
    if i < len(sentence) - 2:
        found.append(f"w[2]={sentence[i + 2][0]}")
        found.append(f"pos[2]={sentence[i + 2][1]}")
        found.append(f"pos[1]|pos[2]={sentence[i + 1][1]}|{sentence[i + 2][1]}")
        found.append(f"pos[0]|pos[1]|pos[2]={sentence[i][1]}|{sentence[i + 1][1]}|{sentence[i + 2][1]}")
    if 1 <= i < len(sentence) - 1:
        found.append(f"pos[-1]|pos[0]|pos[1]={sentence[i - 1][1]}|{sentence[i][1]}|{sentence[i + 1][1]}")
    return found


FIELDS = "w", "pos"
TEMPLATES: list[list[tuple[int, int]]] = [  # (field, offset) of what is conjoined
    *([(field, offset)] for field in (0, 1) for offset in range(-2, 3)),
    *([(0, offset), (0, offset + 1)] for offset in (-1, 0)),
    *([(1, offset), (1, offset + 1)] for offset in (-2, -1, 0, 1)),
    *([(1, offset), (1, offset + 1), (1, offset + 2)] for offset in (-2, -1, 0)),
]


def applied(sentence: Tokens) -> Features:
    """As CRFsuite's example does."""
    found: Features = [[] for _ in sentence]
    for template in TEMPLATES:
        name = "|".join(f"{FIELDS[field]}[{offset}]" for field, offset in template)
        for i, token in enumerate(found):
            values = []
            for field, offset in template:
                place = i + offset
                if not 0 <= place < len(sentence):
                    break
                values.append(sentence[place][field])
            else:
                token.append("%s=%s" % (name, "|".join(values)))  # noqa: UP031 - as it is there
    found[0].append("__BOS__")
    found[-1].append("__EOS__")
    return found


def tight(sentence: Tokens) -> Features:
    """As fast as f-strings go."""
    words, tags = zip(*sentence, strict=True)
    n = len(words)
    made = []
    for i in range(n):
        w, p = words[i], tags[i]
        token = [f"w[0]={w}", f"pos[0]={p}"]
        if i > 0:
            w1, p1 = words[i - 1], tags[i - 1]
            token += [f"w[-1]={w1}", f"w[-1]|w[0]={w1}|{w}", f"pos[-1]={p1}", f"pos[-1]|pos[0]={p1}|{p}"]
            if i > 1:
                p2 = tags[i - 2]
                token += [
                    f"w[-2]={words[i - 2]}",
                    f"pos[-2]={p2}",
                    f"pos[-2]|pos[-1]={p2}|{p1}",
                    f"pos[-2]|pos[-1]|pos[0]={p2}|{p1}|{p}",
                ]
        else:
            token.append("__BOS__")
        if i < n - 1:
            w1, q1 = words[i + 1], tags[i + 1]
            token += [f"w[1]={w1}", f"w[0]|w[1]={w}|{w1}", f"pos[1]={q1}", f"pos[0]|pos[1]={p}|{q1}"]
            if i > 0:
                token.append(f"pos[-1]|pos[0]|pos[1]={p1}|{p}|{q1}")
            if i < n - 2:
                q2 = tags[i + 2]
                token += [
                    f"w[2]={words[i + 2]}",
                    f"pos[2]={q2}",
                    f"pos[1]|pos[2]={q1}|{q2}",
                    f"pos[0]|pos[1]|pos[2]={p}|{q1}|{q2}",
                ]
        else:
            token.append("__EOS__")
        made.append(token)
    return made
