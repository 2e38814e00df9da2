"""The naive twin of conlleval: its published rules, a token at a time, and its counts.

The script of the CoNLL-2000 shared task (Tjong Kim Sang) walks over right and guessed tags side by side. It knows the
prefixes B, I, E, O, ".", "[" and "]"; the prefix S and what follows an E are IOBES's, which came later.
"""

from collections import Counter


def parts(tag):
    prefix, dash, kind = tag.partition("-")
    return ({"L": "E", "U": "S"}.get(prefix, prefix), kind) if dash else ({"L": "E", "U": "S"}.get(tag, tag), "")


def ends(before, now):
    """Whether a chunk ends between two tags."""
    (prefix, kind), (following, next_kind) = before, now
    if prefix in ("B", "I") and following in ("B", "O", "S"):
        return True
    if prefix == "E" and following in ("E", "I", "O", "B", "S"):
        return True
    if prefix in ("[", "]", "S"):
        return True
    return prefix not in ("O", ".") and kind != next_kind


def begins(before, now):
    """Whether a chunk begins between two tags."""
    (prefix, kind), (following, next_kind) = before, now
    if following == "B" and prefix in ("B", "I", "O", "E", "S"):
        return True
    if following in ("I", "E") and prefix in ("O", "E", "S"):
        return True
    if following in ("[", "]", "S"):
        return True
    return following not in ("O", ".") and kind != next_kind


def evaluate(true, guessed):
    """(tokens, right tokens, {type: chunks}, {type: guessed}, {type: right}) of lists of tags, sentence by sentence."""
    tokens = right_tokens = 0
    chunks, found, right = Counter(), Counter(), Counter()
    inside = False  # a chunk that has begun in both, and has been the same so far
    last_true = last_guess = ("O", "")
    for own, other in zip(true, guessed, strict=True):
        for place in range(len(own) + 1):
            end = place == len(own)
            one, two = (("O", ""), ("O", "")) if end else (parts(own[place]), parts(other[place]))
            true_ends, guess_ends = ends(last_true, one), ends(last_guess, two)
            if inside:
                if true_ends and guess_ends and last_true[1] == last_guess[1]:
                    inside = False
                    right[last_true[1]] += 1
                elif true_ends != guess_ends or one[1] != two[1]:
                    inside = False
            true_begins, guess_begins = begins(last_true, one), begins(last_guess, two)
            if true_begins and guess_begins and one[1] == two[1]:
                inside = True
            chunks[one[1]] += true_begins
            found[two[1]] += guess_begins
            if not end:
                tokens += 1
                right_tokens += own[place] == other[place]
            last_true, last_guess = one, two
    return tokens, right_tokens, +chunks, +found, +right


def f1(right, chunks, found):
    """Precision, recall and FB1 as shares."""
    precision = right / found if found else 0.0
    recall = right / chunks if chunks else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0
