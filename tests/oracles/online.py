"""The naive twins: what every learner means, in loops one can read.

Nothing here is lazy, sparse or clever. A weight matrix is dense, every step touches every weight, averages are sums
of all the weights so far, and a fold that is left out is a model fitted again. The engine must agree with these.
"""

import mpmath
import numpy as np

MARGIN_RULES = ("pa", "pa1", "pa2", "mira")
RESIDUAL_LOSSES = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")


# --- losses: one column (two labels, sign -1 or +1) and K columns (label y) ------------------------------------------


def residual_loss(name, target, score, epsilon=0.1):
    """Value and derivative of a loss of regression at one score."""
    residual = target - score
    size, away = abs(residual), -float(np.sign(residual))
    if name == "squared_error" or (name == "huber" and size <= epsilon):
        return residual**2 / 2, -residual
    if name == "huber":
        return epsilon * size - epsilon**2 / 2, epsilon * away
    excess = max(0.0, size - epsilon)
    if name == "epsilon_insensitive":
        return excess, away * (excess > 0)
    if name == "squared_epsilon_insensitive":
        return excess**2, 2 * excess * away
    raise KeyError(name)


def column_loss(name, score, sign, epsilon=0.1):
    """Value and derivative of a two-label loss at one score."""
    agreement = sign * score
    if name in RESIDUAL_LOSSES:
        return residual_loss(name, sign, score, epsilon)
    if name == "zero_one":
        predicted = 1 if score > 0 else -1
        return float(predicted != sign), 0.0
    if name == "perceptron":
        return max(0.0, -agreement), -float(sign) if agreement <= 0 else 0.0
    violation = max(0.0, 1.0 - agreement)
    if name == "hinge":
        return violation, -float(sign) if violation > 0 else 0.0
    if name == "squared_hinge":
        return violation**2, -2.0 * sign * violation
    if name == "modified_huber":
        return (violation**2, -2.0 * sign * violation) if agreement >= -1 else (-4.0 * agreement, -4.0 * sign)
    if name == "log_loss":
        odds = np.exp(-abs(agreement))
        value = max(0.0, -agreement) + np.log1p(odds)
        wrong = odds / (1 + odds) if agreement > 0 else 1 / (1 + odds)
        return value, -sign * wrong
    raise KeyError(name)


def label_loss(name, scores, y):
    """Value and gradient of a K-label loss at the scores of one instance."""
    scores = np.asarray(scores, dtype=np.float64)
    gradient = np.zeros(len(scores))
    if name == "zero_one":
        return float(np.argmax(scores) != y), gradient
    if name == "log_loss":
        shifted = scores - scores.max()
        odds = np.exp(shifted)
        gradient = odds / odds.sum()
        gradient[y] = -(odds.sum() - odds[y]) / odds.sum()
        return np.log(odds.sum()) - shifted[y], gradient
    rival = best_rival(scores, y)
    if name == "perceptron":
        value, slope = max(0.0, scores[rival] - scores[y]), float(scores[y] <= scores[rival])
    else:
        violation = max(0.0, 1.0 - scores[y] + scores[rival])
        value, slope = {
            "hinge": (violation, float(violation > 0)),
            "squared_hinge": (violation**2, 2.0 * violation),
            "modified_huber": (violation**2, 2.0 * violation) if violation <= 2 else (4.0 * violation - 4.0, 4.0),
        }[name]
    gradient[rival] += slope
    gradient[y] -= slope
    return value, gradient


def best_rival(scores, y):
    """The lowest label among the best scored of those that are not y."""
    rivals = [k for k in range(len(scores)) if k != y]
    return max(rivals, key=lambda k: (scores[k], -k))


def exact_log_loss(scores, y, digits=60):
    """-log softmax(scores)[y] and its gradient, in `digits` decimal digits."""
    with mpmath.workdps(digits):
        top = max(mpmath.mpf(float(s)) for s in scores)
        odds = [mpmath.exp(mpmath.mpf(float(s)) - top) for s in scores]
        total = mpmath.fsum(odds)
        rest = mpmath.fsum(odds[:y] + odds[y + 1 :])
        if odds[y] > rest:
            value = mpmath.log1p(rest / odds[y])
        else:
            value = mpmath.log(total) + top - mpmath.mpf(float(scores[y]))
        gradient = [odd / total for odd in odds]
        gradient[y] = -rest / total
        return float(value), [float(g) for g in gradient]


# --- the online learners ---------------------------------------------------------------------------------------------


class Online:
    """Any online learner, one eager step after the other.

    `theta` is [columns, V + 1]; its last column is the intercept, the weight of the feature that is always 1 and that
    no penalty touches. `closest` is the smallest distance to a decision: a test whose data come closer than rounding
    may take another turn than the engine and proves nothing. `largest` is the largest weight or step on the way,
    against which rounding errors are measured. `narrowest` is what `closest` is, for the predictions before each step.
    """

    def __init__(
        self,
        n_labels,
        n_features,
        *,
        rule,
        learning_rate="constant",
        eta0=1.0,
        power_t=0.5,
        alpha=1e-4,
        penalty=None,
        l1_ratio=0.15,
        project=False,
        batch_size=1,
        average=False,
        C=1.0,
        r=1.0,
        fit_intercept=True,
        intercept_decay=1.0,
        columns=None,
        epsilon=0.1,
        targets=False,
    ):
        self.columns = columns or (1 if n_labels == 2 else n_labels)
        self.epsilon, self.targets = epsilon, targets
        self.rule, self.learning_rate, self.eta0, self.power_t = rule, learning_rate, eta0, power_t
        self.alpha, self.project, self.batch_size, self.C, self.r = alpha, project, batch_size, C, r
        self.l1 = {None: 0.0, "l2": 0.0, "l1": alpha, "elasticnet": alpha * l1_ratio}[penalty]
        self.l2 = {None: 0.0, "l2": alpha, "l1": 0.0, "elasticnet": alpha * (1 - l1_ratio)}[penalty]
        self.fit_intercept, self.average_from = fit_intercept, int(average)
        decay = 0.01 if intercept_decay is None else intercept_decay  # of sparse rows
        self.share = np.append(np.ones(n_features), decay)  # of each step, by feature
        self.theta = np.zeros((self.columns, n_features + 1))
        self.squares = np.zeros_like(self.theta)
        self.z = np.zeros_like(self.theta)
        self.total, self.averaged_steps = np.zeros_like(self.theta), 0
        self.t, self.updates, self.losses, self.accuracies = 0, 0, [], []
        self.closest, self.narrowest, self.largest = np.inf, np.inf, 0.0

    # what a user sees

    @property
    def coef(self):
        return self.model[:, :-1]

    @property
    def intercept(self):
        return self.model[:, -1]

    @property
    def model(self):
        return self.total / self.averaged_steps if self.averaged_steps else self.theta

    def scores(self, X):
        return self.with_constant(X) @ self.model.T

    def predict(self, X):
        return self.decide(self.scores(X))

    def progressive_scores(self, rows):
        scores, sizes = rows @ self.theta.T, (np.abs(rows) @ np.abs(self.theta.T)).max(axis=1)
        ranked = np.sort(np.abs(scores) if self.columns == 1 else scores, axis=1)
        gaps = ranked[:, -1] - (0 if self.columns == 1 else ranked[:, -2])
        self.narrowest = min([self.narrowest, *(gaps[sizes > 0] / sizes[sizes > 0])])
        return scores

    def decide(self, scores):
        return (scores[:, 0] > 0).astype(int) if self.columns == 1 else scores.argmax(axis=1)

    # the loops

    def epoch(self, X, y, order, weights=None):
        """One pass over the rows in `order`; `y` holds label numbers."""
        rows = self.with_constant(X)
        weights = np.ones(len(rows)) if weights is None else weights
        order = [i for i in order if weights[i] > 0]
        losses, right = [], 0
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            right += np.sum(self.decide(self.progressive_scores(rows[batch])) == np.asarray(y)[batch])
            losses += self.step(rows, y, weights, batch)
            self.largest = max(self.largest, np.abs(self.theta).max())
            if self.average_from and self.t >= self.average_from:
                self.total += self.theta
                self.averaged_steps += 1
        self.losses.append(float(np.mean(losses)) if losses else 0.0)
        self.accuracies.append(right / len(order) if order else 1.0)
        return self

    def fit(self, X, y, orders, tol=None, n_iter_no_change=5, weights=None):
        """Epochs until the mean loss has not fallen by `tol` for `n_iter_no_change` of them; returns their number."""
        best, unimproved, n_epochs = np.inf, 0, 0
        for order in orders:
            n_epochs += 1
            self.epoch(X, y, order, weights)
            if tol is None:
                continue
            unimproved = unimproved + 1 if self.losses[-1] > best - tol else 0
            best = min(best, self.losses[-1])
            if unimproved >= n_iter_no_change:
                if self.learning_rate != "adaptive" or self.eta0 <= 1e-6:
                    break
                self.eta0, unimproved = self.eta0 / 5, 0
        return n_epochs

    # the steps

    @property
    def step(self):
        return {"arow": self.arow_step}.get(
            self.rule, self.margin_step if self.rule in MARGIN_RULES else self.gradient_step
        )

    def gradient_step(self, rows, y, weights, batch):
        """theta <- prox((1 - eta l2) theta - eta mean gradient)."""
        self.t += len(batch)
        gradient, size, losses = np.zeros_like(self.theta), np.zeros_like(self.theta), []
        for i in batch:
            value, slope = self.loss(rows[i], y[i])
            self.updates += bool(np.any(slope))
            gradient += weights[i] * np.outer(slope, rows[i]) / len(batch)
            size += np.abs(weights[i] * np.outer(slope, rows[i]) / len(batch))
            losses.append(value)
        if self.learning_rate in ("adagrad", "ftrl"):
            cancelled = (size > 0) & (np.abs(gradient) < 1e-9 * size)  # rounding alone would then set the step
            self.closest = 0.0 if cancelled.any() else self.closest
            getattr(self, self.learning_rate)(gradient)
            return losses
        eta = self.eta()
        self.largest = max(self.largest, eta * size.max())
        size = eta * size + np.abs(self.theta)
        self.theta[:, :-1] *= 1 - eta * self.l2
        self.theta -= eta * gradient * self.share
        cancelled = (size > 0) & (np.abs(self.theta) < 1e-9 * size)  # rounding alone is left, and may settle a tie
        inexact = len(batch) > 1 or (self.rule == "perceptron" and eta % 0.125 > 0)  # steps that do not cancel exactly
        if (cancelled if inexact else cancelled & ((self.share < 1) | (self.l1 + self.l2 > 0))).any():
            self.closest = 0.0
        if cancelled.any():
            self.narrowest = 0.0
        self.shrink(eta * self.l1)
        if self.project:
            norm = np.linalg.norm(self.theta[:, :-1])
            self.theta[:, :-1] *= min(1.0, 1 / (np.sqrt(self.alpha) * norm)) if norm > 0 else 1.0
        return losses

    def shrink(self, threshold):
        """The L1 penalty of a step; not of the intercept."""
        sizes = np.abs(self.theta[:, :-1])
        if np.any((sizes > 0) & (np.abs(sizes - threshold) < 1e-9 * threshold)):  # rounding alone would set it to 0
            self.closest = 0.0
        self.theta[:, :-1] = soft_threshold(self.theta[:, :-1], threshold)

    def adagrad(self, gradient):
        """Duchi, Hazan and Singer (2011), composite mirror descent with a diagonal h."""
        self.squares += gradient**2
        h = 1e-10 + np.sqrt(self.squares)
        l2, l1 = np.full_like(h, self.eta0 * self.l2), np.full_like(h, self.eta0 * self.l1)
        l2[:, -1] = l1[:, -1] = 0
        self.theta = soft_threshold((h * self.theta - self.eta0 * gradient) / (h + l2), l1 / h)

    def start(self, theta):
        """Begin at these weights, none of them 0; FTRL's z is what gives them."""
        l1, l2 = (np.r_[np.full(theta.shape[1] - 1, penalty), 0] for penalty in (self.l1, self.l2))
        self.theta, self.z = theta, -theta * (1 / self.eta0 + l2) - np.sign(theta) * l1

    def ftrl(self, gradient):
        """McMahan et al. (2013), algorithm 1 with beta = 1."""
        root, self.squares = np.sqrt(self.squares), self.squares + gradient**2
        self.z += gradient - (np.sqrt(self.squares) - root) / self.eta0 * self.theta
        l1, l2 = np.full_like(self.z, self.l1), np.full_like(self.z, self.l2)
        l1[:, -1] = l2[:, -1] = 0
        if np.any((self.z != 0) & (np.abs(np.abs(self.z) - l1) < 1e-9 * l1)):  # rounding alone would set it to 0
            self.closest = 0.0
        self.theta = -soft_threshold(self.z, l1) / ((1 + np.sqrt(self.squares)) / self.eta0 + l2)

    def margin_step(self, rows, y, weights, batch):
        """The smallest change of theta that mends the margin of one instance (Crammer et al. 2006)."""
        (i,) = batch
        self.t += 1
        in_norm = self.share
        if self.targets:  # the norm has no intercept, as scikit-learn's
            in_norm = np.append(np.ones(len(self.share) - 1), 0)
        scores, norm, C = self.theta @ rows[i], in_norm @ rows[i] ** 2, weights[i] * self.C
        loss, slope = self.loss(rows[i], y[i])
        self.theta[:, :-1] *= 1 - self.eta0 * self.l2
        if norm > 0 and loss > 0:
            self.mend_margin(rows[i], y[i], scores, norm, C, loss, slope)
        self.shrink(self.eta0 * self.l1)
        return [loss]

    def mend_margin(self, row, y, scores, norm, C, loss, slope):
        self.updates += 1
        if self.rule == "mira" and self.columns > 1:
            taus = mira_taus(scores, y, norm, C)
            slope = taus.copy()
            slope[y] -= taus.sum()
        else:
            norm = norm * (slope @ slope)
            tau = {"pa": lambda: loss / norm, "pa2": lambda: loss / (norm + 1 / (2 * C))}.get(
                self.rule, lambda: min(C, loss / norm)
            )()
            slope = tau * slope
        step = np.outer(slope, row) * self.share
        size, self.theta = np.abs(step) + np.abs(self.theta), self.theta - step
        cancelled = (size > 0) & (np.abs(self.theta) < 1e-9 * size)  # rounding alone is left, and may settle a tie
        if cancelled.any():
            self.narrowest = 0.0
        if (cancelled & ((self.share < 1) | (self.l1 + self.l2 > 0))).any():  # other steps cancel exactly
            self.closest = 0.0

    def arow_step(self, rows, y, weights, batch):
        """Crammer, Kulesza and Dredze (2009), diagonal: `squares` is the sum of x^2 by which precisions have grown."""
        (i,) = batch
        self.t += 1
        x, (loss, slope) = rows[i], self.loss(rows[i], y[i])
        if loss == 0:
            return [loss]
        self.updates += 1
        signs, variances = -np.sign(slope), 1 / (1 + self.squares / self.r)
        step = np.sqrt(loss) / (x**2 @ variances.T @ np.abs(signs) + self.r / weights[i])
        step = step * np.outer(signs, x) * variances
        size, self.theta = np.abs(step) + np.abs(self.theta), self.theta + step
        if ((size > 0) & (np.abs(self.theta) < 1e-9 * size)).any():
            self.closest = self.narrowest = 0.0
        self.squares += weights[i] * np.outer(np.abs(signs), x**2)
        return [loss]

    def eta(self):
        t, optimal_start = self.t, self.alpha**-0.75
        return {
            "constant": lambda: self.eta0,
            "adaptive": lambda: self.eta0,
            "invscaling": lambda: self.eta0 / t**self.power_t,
            "inverse": lambda: self.eta0 / (1 + self.eta0 * self.alpha * t),
            "pegasos": lambda: 1 / (self.alpha * t),
            "optimal": lambda: 1 / (self.alpha * (optimal_start + t - 1)),
        }[self.learning_rate]()

    def loss(self, x, y):
        if self.targets:
            return self.loss_of_target(x, y)
        scores, name = self.theta @ x, {"arow": "squared_hinge"}.get(self.rule, self.rule)
        name = "hinge" if self.rule in MARGIN_RULES else name
        self.watch_decisions(scores, (np.abs(self.theta) @ np.abs(x)).max(), y, 0.0 if name == "perceptron" else 1.0)
        if self.columns == 1:
            value, slope = column_loss(name, scores[0], 2 * y - 1, self.epsilon)
            return value, np.array([slope])
        return label_loss(name, scores, y)

    def loss_of_target(self, x, y):
        """Of a real number y; where the slope jumps, at |r| = ε, rounding may decide, but PA's steps are continuous."""
        ((score,), (size,)), by_margin = (self.theta @ x, np.abs(self.theta) @ np.abs(x)), self.rule in MARGIN_RULES
        value, slope = residual_loss("epsilon_insensitive" if by_margin else self.rule, y, score, self.epsilon)
        if self.rule == "epsilon_insensitive":
            self.closest = min(self.closest, abs(abs(y - score) - self.epsilon) / max(size, abs(y), 1e-300))
        return value, np.array([slope])

    def watch_decisions(self, scores, size, y, margin):
        """Note how far the scores, sums of terms of that size, were from another decision.

        PA is continuous at its margin, MIRA everywhere.
        """
        if self.rule in ("log_loss", "mira"):
            return
        if self.columns == 1:
            rival, gaps = None, [(2 * y - 1) * scores[0] - margin]
        else:
            rival = best_rival(scores, y)
            gaps = [scores[y] - scores[rival] - margin]
        if self.rule in MARGIN_RULES:
            gaps = []
        gaps += [scores[rival] - scores[k] for k in range(self.columns) if rival is not None and k not in (y, rival)]
        if size > 0:  # weights that are all zero tie in any arithmetic
            self.closest = min([self.closest] + [abs(gap) / max(size, margin) for gap in gaps])

    def grow(self, places, n_labels):
        """New labels: the old ones keep their weights, in `places`; two labels' w becomes -w/2 and w/2.

        Both keep the squares of their one column.
        """
        for name in ("theta", "total", "squares"):
            old = getattr(self, name)
            first, second = (1, 1) if name == "squares" else (-0.5, 0.5)
            old = np.vstack([first * old, second * old]) if self.columns == 1 else old
            grown = np.zeros((n_labels, old.shape[1]))
            grown[places] = old
            setattr(self, name, grown)
        self.columns = n_labels
        return self

    def with_constant(self, X):
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        return np.hstack([X, np.full((len(X), 1), float(self.fit_intercept))])


def soft_threshold(theta, amount):
    return np.sign(theta) * np.maximum(0.0, np.abs(theta) - amount)


def mira_taus(scores, y, norm, C):
    """min 1/2 |theta - theta_t|^2 + C xi, xi >= 0, (theta_y - theta_k).x >= 1 - xi for all k != y, by bisection.

    The optimum is theta_k - tau_k x and theta_y + sum(tau) x. With S = sum(tau) the conditions of Karush, Kuhn and
    Tucker are tau_k = max(0, (l_k - xi) / |x|^2 - S), S <= C, and S = C where xi > 0. Call m = xi / |x|^2 + S: then
    sum_k max(0, l_k / |x|^2 - m) = min(m, C), whose left side falls and whose right side rises in m.
    """
    wanted = (1.0 - scores[y] + scores) / norm
    wanted[y] = -np.inf
    low, high = 0.0, max(0.0, wanted.max())
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(0.0, wanted - middle).sum() > min(middle, C):
            low = middle
        else:
            high = middle
    return np.maximum(0.0, wanted - high)
