"""What the tests of models of sequences share: small problems, in every form that a model takes."""

import itertools

import numpy as np
from scipy import sparse

CRF_LAYOUTS = {
    "observed": {},
    "dense": {"weights": "dense"},
    "cutoff": {"cutoff": 3},
    "L1": {"c1": 0.3, "c2": 0.1},
    "order 2": {"order": 2},
    "order 2, dense": {"order": 2, "weights": "dense"},
    "edges": {"edges": [1, 2]},
    "edges, dense": {"edges": [0, 3], "weights": "dense"},
    "weak prior": {"c2": 1e-3},
    "strong prior": {"c2": 1e5},
}


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


def hidden_in_part(y, n_labels=3, seed=1):
    """Labels of which some are None, or sets with the right one; the first sequences have them all, one has none."""
    rng = np.random.default_rng(seed)
    hidden = []
    for s, codes in enumerate(y):
        if s % 5 == 4:
            hidden.append(None)
            continue
        own = [int(code) for code in codes]
        for t in range(len(own)) if s > 2 else ():
            kind = rng.integers(4)
            if kind == 0:
                own[t] = None
            elif kind == 1:
                own[t] = {own[t], int(rng.integers(n_labels))}
        hidden.append(own)
    return hidden


def table(weights):
    return weights.toarray() if sparse.issparse(weights) else np.asarray(weights)


def flat(y, X):
    return list(
        itertools.chain.from_iterable([None] * len(x) if one is None else one for x, one in zip(X, y, strict=True))
    )
