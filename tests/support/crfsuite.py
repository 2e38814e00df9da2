"""CRFsuite as an oracle: trained on matrices, read back as tables of weights."""

import numpy as np

from support.sequences import items


class Trained:
    """What CRFsuite learnt: its last loss and, to six decimals, its weights. Features are f0, f1, …, labels 0, 1, …"""

    def __init__(self, path, loss, iterations):
        import pycrfsuite

        self.loss, self.iterations, self.sequence = loss, iterations, pycrfsuite.ItemSequence
        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(str(path))
        self.info = self.tagger.info()

    def tables(self, n_labels, n_features):
        """coef [K, V] and transitions [K, K], with zeros where there is no weight."""
        coef, transitions = np.zeros((n_labels, n_features)), np.zeros((n_labels, n_labels))
        for (name, label), weight in self.info.state_features.items():
            coef[int(label), int(name[1:])] = weight
        for (one, other), weight in self.info.transitions.items():
            transitions[int(one), int(other)] = weight
        return coef, transitions

    def marginals(self, x, n_labels):
        """p(y_t = k | x), [T, K]."""
        self.tagger.set(self.sequence(items(x)))
        return np.array([[self.tagger.marginal(str(k), t) for k in range(n_labels)] for t in range(len(x))])

    def log_proba(self, x, codes):
        self.tagger.set(self.sequence(items(x)))
        return np.log(self.tagger.probability([str(code) for code in codes]))

    def predict(self, x):
        return [int(label) for label in self.tagger.tag(self.sequence(items(x)))]


def train(X, y, path, **parameters):
    """CRFsuite by L-BFGS to the end, whatever it takes."""
    import pycrfsuite

    exact = {"epsilon": 1e-7, "delta": 1e-12, "period": 10, "max_iterations": 2000, "max_linesearch": 50}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={**exact, **parameters}, verbose=False)
    for x, codes in zip(X, y, strict=True):
        trainer.append(pycrfsuite.ItemSequence(items(x)), [str(code) for code in codes])
    trainer.train(str(path))
    last = trainer.logparser.last_iteration
    return Trained(path, last["loss"], last["num"])
