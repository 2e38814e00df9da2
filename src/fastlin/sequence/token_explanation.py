"""What features and neighbours add to the scores of a token's labels, while its neighbours keep theirs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection.explanation import Explanation
from fastlin.inspection.weights import FeatureNames, WeightView
from fastlin.sequence.chain_batches import ChainBatch, ChainBatches

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # of scores
Rows = list[tuple[str, float, Floats]]  # the name, the value, and what it adds to the score of each label


def explain_token(model: Any, tokens: Any, place: int, label: Any) -> Explanation:
    """What `fastlin.inspection.explain_token` returns of a view of a model."""
    read = model._tokens([tokens], None)
    n = read.n_tokens
    if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < n:
        raise ValueError(f"place must be the number of one of the {n} tokens, from 0 on; got {place!r}")
    codes = model._best([tokens], None, None)[1].astype(np.int64)
    labels = model.classes_.tolist()
    (found,) = [ChainBatches(read, model._chain(), model._potential()).block(0, 1)]
    rows = [*_of_features(model, read, found, place), *_of_neighbours(found, codes, place, labels)]
    names, values, contributions = zip(*rows, strict=True) if rows else ((), (), ())
    table = np.array(contributions).reshape(-1, len(labels))
    chosen = labels[codes[place]] if label is None else label
    return Explanation.of(labels, np.zeros(len(labels)), names, np.array(values), table, chosen)


def _of_features(model: Any, read: Any, found: ChainBatch, place: int) -> Rows:
    """What each feature of the token adds, and what its score has beside: an unknown word, a dictionary, a start."""
    entries = slice(*read.rows.indptr[place : place + 2].tolist())
    indices, values = read.rows.indices[entries], read.rows.values[entries].astype(np.float64)
    added = WeightView(model).of_features(indices) * values[:, np.newaxis]
    rows: Rows = list(zip(FeatureNames(model).of(indices), values.tolist(), added, strict=True))
    with np.errstate(invalid="ignore"):
        rest = found.potentials.scores[place] - added.sum(axis=0)
    rest[np.isnan(rest)] = 0.0
    if np.abs(rest - rest.max()).max() > ROUNDING * (1 + np.abs(added).max(initial=0.0)):
        rows.append(("the token itself" if len(indices) else "the word, which is unknown", 1.0, rest))
    return rows


def _of_neighbours(found: ChainBatch, codes: NDArray[np.int64], place: int, labels: list[Any]) -> Rows:
    """What the labels before and behind add."""
    chain, (_, edges, offsets), K, n = found.chain, found.potentials, found.chain.n_labels, len(codes)
    order, rows = chain.order, list[tuple[str, float, Floats]]()
    every = np.arange(K)

    def path(t: int) -> NDArray[np.int64]:
        """The label of a token of each of the K paths; K where there is none."""
        return every if t == place else np.full(K, codes[t] if t >= 0 else K)

    def history(t: int) -> tuple[NDArray[np.int64], ...]:
        """What the token t follows."""
        return (path(t - 1),) if order == 1 else (path(t - 2), path(t - 1))

    if place == 0:
        rows.append(("the start", 1.0, chain.start.copy()))
    for t in range(max(place, 1), min(place + order, n - 1) + 1):
        others = [codes[other] for other in range(max(0, t - order), t + 1) if other != place]
        named = " ".join(str(labels[code]) for code in others)
        where = "before it" if t == place else "behind it" if t == place + 1 and order == 1 else "about it"
        if order == 2 and t == place + 2:
            where = "behind it"
        rows.append((f"{named} {where}", 1.0, chain.transitions[(*history(t), path(t))]))
        if edges is not None:
            rows.append((f"{named} {where}, with features", 1.0, edges[t, path(t - 1), path(t)]))
        if offsets is not None:
            table = offsets.reshape(n, *chain.transitions.shape[:-1])
            rows.append((f"the sum over labels of token {t}", 1.0, table[(t, *history(t))]))
    if place >= n - order:
        rows.append(("the end", 1.0, chain.end[history(n)]))
    return [row for row in rows if np.ptp(row[2]) > 0 or not np.isfinite(row[2]).all()]
