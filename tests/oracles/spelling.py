"""Naive twins of the spelling corrector's kernels."""

import numpy as np


def edit_distance(a, b):
    """Optimal string alignment: insertions, deletions, substitutions, exchanges of neighbours; each letter once."""
    d = np.zeros((len(a) + 1, len(b) + 1), int)
    d[:, 0], d[0] = range(len(a) + 1), range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)
    return int(d[-1, -1])


def neighbours(words, query, max_edits):
    """[(number, distance)] of the words within so many edits."""
    distances = [(number, edit_distance(word, query)) for number, word in enumerate(words)]
    return [(number, distance) for number, distance in distances if distance <= max_edits]


def fewest_edits(a, b):
    """The matrix of `edit_distance`."""
    return np.array([[edit_distance(a[:i], b[:j]) for j in range(len(b) + 1)] for i in range(len(a) + 1)])


def log_prob(source, observed, rules, log_keep, log_edit, width, marks):
    """The best segmentation of two words into rules, whose ends lie on alignments of the fewest edits."""
    a, b = marks[0] + source + marks[1], marks[0] + observed + marks[1]
    n, m = len(a), len(b)
    before, behind = fewest_edits(a, b), fewest_edits(a[::-1], b[::-1])[::-1, ::-1]
    on_way = before + behind == before[n, m]
    best = np.full((n + 1, m + 1), -np.inf)
    best[0, 0] = 0
    for i in range(n + 1):
        for j in range(m + 1):
            for x in range(min(width, n - i) + 1):
                for y in range(min(width, m - j) + 1):
                    if x + y and on_way[i + x, j + y]:
                        step = rule(a[i : i + x], b[j : j + y], rules, log_keep, log_edit, marks)
                        best[i + x, j + y] = max(best[i + x, j + y], best[i, j] + step)
    return best[n, m]


def rule(old, new, rules, log_keep, log_edit, marks):
    """ln p of a rule, or of a letter that stays, or of an edit."""
    if old == new and len(old) != 1:
        return -np.inf
    if (old, new) in rules:
        return rules[old, new]
    if old == new:
        return log_keep
    is_edit = (len(old) < 2 and len(new) < 2) or (len(old) == 2 and old == new[::-1])
    return log_edit if is_edit and not set(old + new) & set(marks) else -np.inf
