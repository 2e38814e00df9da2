"""What the tests of models of sequences share: small problems, in every form that a model takes."""

import numpy as np
from scipy import sparse


def problem(n_sequences=12, n_features=4, n_labels=3, seed=0, longest=4, shortest=1):
    """Counts [T, V] that say something about their labels, which are drawn by a chain; every label occurs.

    Of every four features, two are seen with all labels, one with two, and one with one.
    """
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.ones(n_labels), size=n_labels) + 0.1
    moves /= moves.sum(axis=1, keepdims=True)
    y = []
    for number in range(n_sequences):
        codes = [number % n_labels]
        while len(codes) < longest and (len(codes) < shortest or rng.random() > 1 / longest):
            codes.append(int(rng.choice(n_labels, p=moves[codes[-1]])))
        y.append(np.array(codes))
    places = np.arange(n_features)
    distance = (np.arange(n_labels)[:, None] - places) % n_labels
    rates = np.where(distance < np.array([n_labels, n_labels, 2, 1])[places % 4], 0.4 + 0.8 * (distance == 0), 0)
    return [rng.poisson(rates[codes]).astype(float) for codes in y], y


def stacked(X):
    """One CSR of all tokens, and the lengths of the sequences."""
    return sparse.csr_array(np.vstack(X)), [len(x) for x in X]


def items(x):
    """A matrix [T, V] as tokens: dictionaries of its non-zeros, by the names f0, f1, …"""
    return [{f"f{j}": float(row[j]) for j in np.flatnonzero(row)} for row in x]


def fit(model, X, y, **options):
    """Fitted to the CSR of some matrices."""
    rows, lengths = stacked(X)
    return model.fit(rows, np.concatenate(y), lengths=lengths, **options)
