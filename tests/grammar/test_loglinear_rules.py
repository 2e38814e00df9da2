"""Rules as log-linear steps: the optimum, what it is without a prior, and EM with it."""

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import fastlin
from fastlin.grammar import PCFG
from fastlin.grammar.loglinear_rules import LogLinearRules, RuleObjective, rule_features
from fastlin.runtime.parallel import WorkerPool
from oracles.grammar import loglinear_loss
from support.estimators import refused
from support.resuming import check_other_fits, stop_after_each_record

TREES = [
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)))",
    "(S (NP (PRP she)) (VP (VBZ sleeps)))",
    "(S (NP (PRP she)) (VP (VBZ sees) (NP (PRP her))))",
]
RAW = ["the cat sees the dog with a hat", "a dog sleeps", "she sees a small telescope", "the small cat sleeps"]


def only_rules(left, right):
    """An indicator of each rule."""
    yield left, right


def learnt(model):
    state = model._state_of_fit
    return state.rules, state.counts, state.log_weights


def test_indicators_of_rules_without_a_prior_are_relative_frequencies():
    counted = PCFG().fit(TREES)
    model = PCFG(rules="loglinear", prior_variance=math.inf, rule_features=only_rules).fit(TREES)
    assert model.converged_
    for found, wanted in zip(learnt(model)[2], learnt(counted)[2], strict=True):
        assert np.exp(found) == pytest.approx(np.exp(wanted), abs=1e-5)
    assert model.score_samples(RAW) == pytest.approx(counted.score_samples(RAW), abs=1e-3)


@pytest.mark.parametrize("variance", [0.3, 10.0, math.inf])
def test_gradients_are_numerical_derivatives(variance):
    rules, counts, _ = learnt(PCFG(vertical=1).fit(TREES))
    steps = LogLinearRules(rules, variance)
    rng = np.random.default_rng(0)
    with WorkerPool(1) as workers:
        objective = RuleObjective(
            steps, (np.concatenate(counts[:3]) + rng.random(len(steps.order)))[steps.order], workers
        )
        theta, gradient, spare = rng.normal(size=objective.size), np.empty(objective.size), np.empty(objective.size)
        objective.value(theta, gradient)
        for place in rng.choice(objective.size, 40, replace=False):
            values = []
            for step in (1e-5, -1e-5):
                moved = theta.copy()
                moved[place] += step
                values.append(objective.value(moved, spare))
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def test_the_optimum_is_the_optimum():
    model = PCFG(vertical=1, split_tags=False, rules="loglinear", prior_variance=2.0).fit(TREES)
    rules, counts, log_weights = learnt(model)
    tables = [*rules.binary.tolist(), *rules.unary.tolist(), *rules.tags.reshape(-1, 1).tolist()]
    names, columns = {}, {}
    of_rules, log_p = {}, {}
    for (left, *right), count, weight in zip(
        tables, np.concatenate(counts[:3]), np.concatenate(log_weights[:3]), strict=True
    ):
        rule = left, tuple(right)
        of_rules[rule], log_p[rule] = count, weight
        found = set(rule_features(rules.symbols[left], tuple(rules.symbols[child] for child in right)))
        names[rule] = [columns.setdefault(feature, len(columns)) for feature in sorted(found, key=repr)]
    best = minimize(
        lambda theta: loglinear_loss(theta, of_rules, names, 2.0),
        np.zeros(len(columns)),
        method="BFGS",
        options={"gtol": 1e-3},
    )
    assert model.objective_ == pytest.approx(best.fun, rel=1e-5)
    assert model.objective_ <= best.fun * (1 + 1e-9)
    assert [record["objective"] for record in model.history_] == sorted(
        (r["objective"] for r in model.history_), reverse=True
    )


def test_left_sides_that_are_alike_share_what_they_say():
    """The only NP of a kind does not believe in its one rule as much as counts do."""
    trees = ["(S (A (N x) (N y)) (B z))", "(S (A (N x)) (B z))"] * 5 + [
        "(T (A (N x)) (C z))",
        "(U (A (N x) (N y)) (C z))",
    ]
    counted, model = PCFG().fit(trees), PCFG(rules="loglinear").fit(trees)
    text = {str(tree) for tree in trees}
    assert len(text) == 4
    for grammar, least, most in ((counted, 0.999, 1.0), (model, 0.5, 1.0)):
        p = {rule[:2]: math.exp(rule[2]) for rule in grammar.rules_}
        assert least <= p["A^T", ("N^A",)] <= most
    totals = np.bincount(learnt(model)[0].binary[:, 0], np.exp(learnt(model)[2].binary), len(model.symbols_))
    totals += np.bincount(learnt(model)[0].unary[:, 0], np.exp(learnt(model)[2].unary), len(model.symbols_))
    totals[learnt(model)[0].tags] += np.exp(learnt(model)[2].tags)
    assert totals == pytest.approx(1.0)


@pytest.mark.parametrize("variance", [0.5, math.inf])
def test_em_with_features_never_falls(variance):
    parameters = {"vertical": 1, "split_tags": False, "unknown": None, "word_alpha": 0, "tag_alpha": 0}
    model = PCFG(rules="loglinear", prior_variance=variance, tol=0, max_iter=15, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_unlabeled(RAW, TREES)
    assert np.all(np.diff(model.bound_) >= 0)
    assert model.bound_[-1] > model.bound_[0]
    if variance == math.inf:
        found = model.log_joint(TREES).sum() + model.score_samples(RAW[1:]).sum()
        assert found >= model.bound_[-1] - 1e-6 - abs(model.score_samples(RAW[:1])[0])


def test_em_of_indicators_of_rules_is_that_of_counts():
    rules = "S -> S S [0.4] | A [0.1] | 'x' [0.3] | 'y' [0.2]\nA -> S A [0.3] | 'y' [0.7]"
    X = [["x", "y", "y"], ["y", "x"], ["x", "x", "y", "y"]]
    found = []
    for options in ({}, {"rules": "loglinear", "prior_variance": math.inf, "rule_features": only_rules}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(PCFG.from_rules(rules, max_iter=4, tol=0, **options).fit_unlabeled(X))
    assert found[1].bound_ == pytest.approx(found[0].bound_, abs=1e-4)
    assert found[1].score_samples(X) == pytest.approx(found[0].score_samples(X), abs=1e-3)


def test_random_grammars_learn_with_features():
    pairs = [["a"] * n + ["b"] * n for n in (1, 2, 3, 1, 2, 1)]
    options = {"n_symbols": 3, "vertical": 1, "random_state": 0, "n_init": 3, "max_iter": 20, "unknown": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCFG(rules="loglinear", prior_variance=10.0, **options).fit_unlabeled(pairs)
    assert np.all(np.diff(model.bound_) >= 0)
    assert model.bound_[-1] > model.bound_[0] + 5


class LogLinear(PCFG):
    """What is learnt as an array."""

    @property
    def probabilities_(self):
        return np.concatenate(self._state_of_fit.log_weights)


class LogLinearEM(LogLinear):
    def fit(self, X, **options):
        return self.fit_unlabeled(RAW, X, **options)


@pytest.mark.parametrize("kind", [LogLinear, LogLinearEM])
def test_a_fit_goes_on_from_every_checkpoint(kind, tmp_path):
    def make(**more):
        return kind(**({"vertical": 1, "rules": "loglinear", "prior_variance": 0.05, "max_iter": 6, "tol": 0.0} | more))

    path = tmp_path / "checkpoint"
    stop_after_each_record(make, ("probabilities_", "objective_"), (TREES,), path)
    changes = [("prior_variance was 0.05, now 2.0", {"prior_variance": 2.0}, None, {}), ("was", {}, (TREES[:-1],), {})]
    check_other_fits(make, (TREES,), path, changes)


def test_a_callback_sees_the_model_and_may_end_the_fit():
    seen = []

    def callback(model, record):
        seen.append(model.log_joint(TREES).sum())
        return record["iteration"] == 3

    model = PCFG(rules="loglinear", callback=callback).fit(TREES)
    assert len(seen) == 4 == len(model.history_)
    assert seen[-1] == model.log_joint(TREES).sum() > seen[0]


def test_a_fit_goes_into_model_files(tmp_path):
    model = PCFG(rules="loglinear", prior_variance=3.0).fit(TREES)
    fastlin.save(model, tmp_path / "grammar.fastlin")
    loaded = fastlin.load(tmp_path / "grammar.fastlin")
    assert loaded.get_params() == model.get_params()
    assert loaded.rules_ == model.rules_
    assert loaded.objective_ == model.objective_


@pytest.mark.parametrize(
    "parameters",
    [
        {"rules": "loglinear", "rule_features": lambda *_: [[]]}, {"rules": "loglinear", "rule_features": lambda *_: 3},
        {"rules": "x"}, {"prior_variance": 0.0}, {"prior_variance": math.nan}, {"rule_features": 3},
    ],
)  # fmt: skip
def test_parameters_are_checked(parameters):
    with refused(model := PCFG(**parameters), match=next(reversed(parameters))):
        model.fit(TREES)
