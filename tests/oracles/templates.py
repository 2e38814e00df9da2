"""Features of templates, token by token and string by string: what `Templates` must say."""

import itertools

HYPHENS = "-\u2010\u2011"


def kind(c):
    """What stands for a character in a shape."""
    if c.isupper() or c.istitle():
        return "X"
    if c.islower():
        return "x"
    if c.isalpha():
        return "o"
    return "d" if c.isdigit() else c


FLAGS = {
    "has_capital": lambda word: any(kind(c) == "X" for c in word),
    "initial_capital": lambda word: word != "" and kind(word[0]) == "X",
    "all_capitals": lambda word: any(kind(c) == "X" for c in word) and not any(c.islower() for c in word),
    "has_digit": lambda word: any(c.isdigit() for c in word),
    "all_digits": lambda word: word.isdigit(),
    "has_hyphen": lambda word: any(c in HYPHENS for c in word),
    "punctuation": lambda word: word != "" and not any(c.isalnum() or c.isspace() for c in word),
}


class Naive:
    """Templates that are asked one by one. `counts`: how often each word of each column occurs, {column: Counter}."""

    def __init__(self, templates, padding=None, gazetteers=None, counts=None):
        self.templates, self.padding, self.gazetteers = templates, padding, gazetteers or {}
        self.counts = counts or {}

    def strings(self, X):
        return [[self.token(sequence, t) for t in range(len(sequence))] for sequence in X]

    def token(self, sequence, t):
        features = (self.feature(template, sequence, t) for template in self.templates)
        return [feature for feature in features if feature is not None]

    def feature(self, template, sequence, t):
        """The template's feature of a token; None: it has none."""
        values = [self.value(part, sequence, t) for part in template.parts]
        if any(value is None or value is False for value in values):
            return None
        if any(self.value(flag, sequence, t) is not wanted for flag, wanted in template.conditions):
            return None
        strings = [value for value in values if value is not True]
        if template.text is not None:
            pairs = itertools.zip_longest(template.text, strings, fillvalue="")
            return "".join(itertools.chain.from_iterable(pairs))
        label = "|".join(part.label for part in template.parts)
        return label + "=" + "|".join(strings) if strings else label

    def value(self, part, sequence, t):
        """A string, True or False; None: there is nothing."""
        t += part.offset
        if part.function in ("first", "last"):
            return t == (0 if part.function == "first" else len(sequence) - 1)
        if not 0 <= t < len(sequence):
            if self.padding is None or part.function not in ("word", "shape", "short_shape"):
                return None
            return f"{self.padding}{t}" if t < 0 else f"{self.padding}+{t - len(sequence) + 1}"
        if part.function == "within":
            return self.marks(part, sequence)[t]
        word = word_of(sequence[t], part.column)
        if part.function == "rare":
            return self.counts[part.column][word] < part.argument
        if part.function in FLAGS:
            return FLAGS[part.function](word)
        word = word.lower() if part.folded else word
        n = part.argument
        if part.function in ("prefix", "suffix"):
            if len(word) < n:
                return None
            return word[:n] if part.function == "prefix" else word[-n:]
        if part.function == "word":
            return word
        shape = [kind(c) for c in word]
        return "".join(shape) if part.function == "shape" else "".join(c for c, _ in itertools.groupby(shape))

    def marks(self, part, sequence):
        """B and I where entries of a gazetteer are, the longest first."""
        words = [word_of(token, part.column) for token in sequence]
        words = [word.lower() for word in words] if part.folded else words
        entries = [entry.lower() if part.folded else entry for entry in self.gazetteers[part.argument]]
        entries = {tuple(entry.split()) for entry in entries}
        marks, t = [None] * len(words), 0
        while t < len(words):
            for n in range(len(words) - t, 0, -1):
                if tuple(words[t : t + n]) in entries:
                    marks[t : t + n] = ["B"] + ["I"] * (n - 1)
                    t += n - 1
                    break
            t += 1
        return marks


def word_of(token, column):
    return token if isinstance(token, str) else token[column]
