"""`SpanCRF`: what it sums over, what it maximises, and that its learners are those that look at every weight."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.grammar import PCFG, SpanCRF, Tree
from fastlin.grammar.binarize import Binarizer, restore_tree
from fastlin.grammar.span_crf.chains import CollapsedChains
from fastlin.grammar.span_crf.features import names_of
from fastlin.grammar.span_crf.objective import SpanObjective
from fastlin.grammar.span_crf.scores import SumParser, score
from fastlin.grammar.span_crf.state import SpanState, learn_grammar
from fastlin.grammar.span_crf.training import own_weights
from fastlin.grammar.span_crf.words import PAD
from fastlin.grammar.tree_form import TreeForm
from fastlin.runtime.parallel import WorkerPool
from oracles import span_crf as oracle
from support.resuming import assert_same_fit, quiet, stop_after_each_record

TREES = [
    "(S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (JJ small) (NN dog))))",
    "(S (NP-SBJ (DT a) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)) (PP (IN with) (NP (DT a) (NN telescope)))))",
    "(S (NP-SBJ (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat)))) (VP (VBZ sleeps)))",
    "(S (NP-SBJ (PRP she)) (VP (VBZ sleeps)))",
    "(S (VP (VBZ sleeps)))",
    "(S (NP (PRP she)) (VP (VBZ sees) (SBAR (S (VP (VBZ sleeps))))))",
    "(S (NP (DT the) (NN cat)) and (NP (DT a) (NN dog)) (VP (VBZ sleeps)))",
]
SENTENCES = [["the", "cat", "sees", "a"], ["she", "sees", "sleeps"], ["zebra", "quux", "sleeps"], ["sleeps"]]
AMBIGUOUS = [  # labels of tags and of constituents, over one another and themselves
    "(S (A a) (B b))",
    "(S (S (A a) (B b)) (B a))",
    "(A (S (B a) (A b)) (B (A a)))",
    "(S (A (S (A a) (B b))) (B b) (A a))",
    "(B (S (A a) (B b) a))",
    "(S (B (A (B (A b)) (A a))) (A (A (B b))))",
]
ASKED = [(TREES, words) for words in SENTENCES]
ASKED += [(AMBIGUOUS, words.split()) for words in ("a", "b a", "a b a")]
OPTIONS = [(0, 1), (1, 1), (0, 2), (None, 3)]


class Toy:
    """A grammar with random weights."""

    def __init__(self, horizontal=0, vertical=1, seed=0, trees=TREES, spread=1.0):
        self.binarizer = Binarizer(vertical, horizontal, False)
        cleaned = [tree for tree in SpanCRF()._tree_form().cleaned(trees) if tree is not None]
        self.grammar, self.trees = learn_grammar(cleaned, self.binarizer, 1, 0, 0, 1 << 30)
        rng = np.random.default_rng(seed)
        self.theta = spread * rng.normal(size=self.grammar.shapes.size)
        self.state = SpanState(self.grammar, self.theta, TreeForm(horizontal, vertical, False, True, True))

    def model(self, **parameters):
        """An estimator that has learnt these."""
        found = SpanCRF(horizontal=self.binarizer.horizontal, vertical=self.binarizer.vertical, **parameters)
        found._state_of_fit = self.state
        return found

    def read(self, words):
        sentence = self.grammar.reader(words)
        own = own_weights(self.state.weights, sentence)
        return sentence, score(sentence, own.tags, own.spans)

    def derivations(self, words):
        return list(oracle.derivations(self.grammar, self.state.weights, *self.read(words), words))

    def tree(self, found, words):
        steps = self.grammar.chains.expand(oracle.as_steps(found, words))
        return restore_tree(steps, self.grammar.symbols)


@pytest.mark.parametrize(("horizontal", "vertical"), OPTIONS)
@pytest.mark.parametrize(("trees", "words"), ASKED)
def test_sums_maxima_and_marginals_are_those_of_all_derivations(trees, words, horizontal, vertical):
    toy = Toy(horizontal, vertical, trees=trees)
    found = toy.derivations(words)
    scores = np.array([one.score for one in found])
    parser = SumParser(toy.grammar.rules, toy.grammar.columns)
    parser.bind(toy.state.weights)
    log_sum = parser.log_sum(*toy.read(words)) if found else -math.inf
    model = toy.model(decoding="viterbi", unparsed="flat")
    if not found:
        with pytest.warns(UserWarning, match="1 of 1 sentences have no tree"):
            assert model.predict([words]).unparsed == [0]
        assert model.predict_marginals([words]) == [[]]
        return
    assert log_sum == pytest.approx(scipy.special.logsumexp(scores), rel=1e-12)
    parses = model.predict([words])
    best = found[int(np.argmax(scores))]
    assert parses[0] == toy.tree(best, words)
    assert parses.log_joint[0] == pytest.approx(best.score, rel=1e-12)
    (nbest,) = model.predict_nbest([words], len(found) + 5)
    assert nbest.log_joint == pytest.approx(np.sort(scores)[::-1], rel=1e-10)
    assert {str(tree) for tree in nbest} == {str(toy.tree(one, words)) for one in found}
    assert list(model.predict_nbest([words], 2)[0]) == list(nbest)[:2]
    wanted = {}
    for one in found:
        for symbol, i, j in one.spans:
            for part in toy.grammar.chains.symbols(symbol):
                name = toy.grammar.symbols[part]
                if name.before is None and name.label is not None:
                    key = name.label, i, j
                    wanted[key] = wanted.get(key, 0.0) + math.exp(one.score - log_sum)
    (marginals,) = model.predict_marginals([words], 0.0)
    assert {(one.label, one.start, one.stop): one.expected for one in marginals} == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("horizontal", "vertical"), OPTIONS)
@pytest.mark.parametrize(("trees", "words"), ASKED)
def test_probabilities_of_all_trees_of_a_sentence_sum_to_one(trees, words, horizontal, vertical):
    toy = Toy(horizontal, vertical, trees=trees)
    trees = [toy.tree(found, words) for found in toy.derivations(words)]
    if trees:
        assert len({str(tree) for tree in trees}) == len(trees)
        assert np.exp(toy.model().log_proba([words] * len(trees), trees)).sum() == pytest.approx(1, rel=1e-10)


@pytest.mark.parametrize(("horizontal", "vertical"), OPTIONS)
def test_the_gradient_is_that_of_differences(horizontal, vertical):
    toy = Toy(horizontal, vertical, spread=0.3)
    with WorkerPool(1) as workers:
        problem, slope = SpanObjective(toy.trees, 0.7, workers), np.empty(len(toy.theta))
        problem.value(toy.theta, slope)
        spare, step = np.empty(len(toy.theta)), 1e-5
        rng = np.random.default_rng(1)
        small = np.cumsum([0, *(int(np.prod(shape)) for shape in toy.grammar.shapes)])
        places = {*range(small[3]), *rng.choice(np.arange(small[3], len(slope)), 200, replace=False).tolist()}
        for place in places:
            values = []
            for sign in (1, -1):
                moved = toy.theta.copy()
                moved[place] += sign * step
                values.append(problem.value(moved, spare))
            assert slope[place] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("c2", [0.0, 1e-300, 1e-160, 1e-120, 1e-80, 1e-12])
def test_a_prior_of_next_to_nothing_is_none(c2):
    model = SpanCRF(solver="lbfgs", min_count=1, c2=c2, tol=1e-3, max_iter=200).fit(TREES)
    assert model.converged_
    assert model.objective_ < 0.1
    assert model.score(TREES) == 1


def test_lbfgs_reaches_the_optimum():
    model = SpanCRF(horizontal=0, solver="lbfgs", min_count=1, c2=0.05, tol=1e-7, max_iter=1000).fit(TREES)
    with WorkerPool(1) as workers:
        grammar, trees = learn_grammar(
            [tree for tree in model._tree_form().cleaned(TREES) if tree is not None],
            Binarizer(1, 0, False),
            1,
            1,
            4,
            1 << 30,
        )
        problem, spare = SpanObjective(trees, 0.05, workers), np.empty(len(model.coef_))

        def value(theta):
            return problem.value(theta, spare), spare.copy()

        found = scipy.optimize.minimize(
            value, np.zeros(len(model.coef_)), jac=True, method="L-BFGS-B",
            options={"maxiter": 5000, "maxfun": 9000, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        assert grammar.shapes.size == len(model.coef_)
    assert model.converged_
    assert model.certificate_["gradient_norm"] <= 1e-7
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    assert model.coef_ == pytest.approx(found.x, abs=1e-5)


def slopes_of(trees, residual_of):
    """The derivatives of the loss of one sentence by all weights."""

    def slope_of(number, theta):
        found = np.zeros(trees.shapes.size)
        weights = trees.shapes.split(theta)
        residual = residual_of(number, lambda sentence: own_weights(weights, sentence))
        sentence, of_all = trees.sentences[number], trees.shapes.split(found)
        for part, slope in zip(of_all[:3], residual.slopes[:3], strict=True):
            part[:] = slope
        of_all.tags[sentence.tag_columns] = residual.slopes.tags
        of_all.spans[sentence.span_columns] = residual.slopes.spans
        return found

    return slope_of


@pytest.mark.parametrize("solver", ["adagrad", "perceptron"])
def test_online_learners_are_those_that_look_at_every_weight(solver):
    options = {"solver": solver, "c2": 0.3, "eta0": 0.2, "max_iter": 3, "tol": 0.0, "batch_size": 1}
    model = SpanCRF(horizontal=0, min_count=1, rare_count=0, known_count=0, random_state=3, **options)
    quiet(model, TREES)
    trees, generator = Toy().trees, np.random.default_rng(3)
    orders = [generator.permutation(len(TREES)) for _ in range(model.n_iter_)]
    assert len(orders) > 1
    if solver == "adagrad":
        wanted = oracle.adagrad(slopes_of(trees, trees.log_loss), trees.shapes.size, orders, 0.2, 0.3)
    else:
        wanted = oracle.averaged_perceptron(slopes_of(trees, trees.perceptron_loss), trees.shapes.size, orders)
    assert np.abs(wanted).max() > 0.1
    assert model.coef_ == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_a_perceptron_step_is_the_difference_of_two_trees():
    toy = Toy(spread=0.5)
    for number, places in enumerate(toy.trees.gold):
        found = toy.trees.perceptron_loss(number, lambda sentence: own_weights(toy.state.weights, sentence))
        words = next(SpanCRF()._tree_form().cleaned([TREES[number]])).leaves()
        scores = [one.score for one in toy.derivations(words)]
        sentence = toy.trees.sentences[number]
        own = own_weights(toy.state.weights, sentence)
        of_slopes = sum(float((part * slope).sum()) for part, slope in zip(own, found.slopes, strict=True))
        assert found.loss == pytest.approx(of_slopes, abs=1e-9)
        assert found.loss == pytest.approx(max(scores) - gold_score(toy, words, places), abs=1e-9)


def gold_score(toy, words, places):
    weights, (_, scores) = toy.state.weights, toy.read(words)
    parts = weights.binary, weights.unary, weights.roots, scores.tags, scores.spans
    return sum(float(part[found].sum()) for part, found in zip(parts, places, strict=True))


def test_with_a_grammars_probabilities_for_weights_it_is_that_grammar():
    trees = TREES[:3]
    pcfg = PCFG(
        vertical=1, horizontal=0, split_tags=False, unknown=None, tag_alpha=0, word_alpha=0, decoding="viterbi"
    ).fit(trees)
    toy = Toy(trees=trees, spread=0.0)
    names, log_p = [str(symbol) for symbol in toy.grammar.symbols], {rule[:2]: rule[2] for rule in pcfg.rules_}
    weights = toy.state.weights
    for table, part in ((toy.grammar.rules.binary, weights.binary), (toy.grammar.rules.unary, weights.unary)):
        for place, (parent, *children) in enumerate(table.tolist()):
            part[place] = log_p[names[parent], tuple(names[child] for child in children)]
    words = sorted({word for tree in trees for word in Tree.from_string(tree).leaves()})
    for word in words:
        sentence, tags = toy.grammar.reader([word]), pcfg._learnt.lexicon([word])
        for symbol, log_phi in zip(tags.symbol, tags.score, strict=True):
            place = [names[tag] for tag in toy.grammar.rules.tags].index(str(pcfg._learnt.rules.symbols[symbol]))
            weights.tags[sentence.tag_columns[sentence.features.tags[0, 0]], place] = log_phi
    for text in ("the dog sees a cat with the telescope", "the cat with the hat sees a dog with a telescope"):
        (best,) = pcfg.predict([text])
        assert toy.model(decoding="viterbi").predict([text])[0] == best
        wanted = pcfg.log_proba([text], [best])
        assert wanted[0] < 0
        assert toy.model().log_proba([text], [best]) == pytest.approx(wanted, abs=1e-10)


LABELS = st.sampled_from(["S", "NP", "VP", "X"])
RANDOM_TREES = st.recursive(
    st.builds(lambda tag, word: Tree(tag, [word]), LABELS, st.sampled_from(["a", "b", "c"])),
    lambda inner: st.builds(
        Tree, LABELS, st.lists(st.one_of(inner, st.sampled_from(["a", "b"])), min_size=1, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(trees=st.lists(RANDOM_TREES, min_size=1, max_size=3), option=st.sampled_from(OPTIONS))
def test_derivations_of_chains_say_all_of_a_tree(trees, option):
    horizontal, vertical = option
    binarizer = Binarizer(vertical, horizontal, False)
    plain = [binarizer.derive(tree) for tree in trees]
    chains = CollapsedChains.of(plain, len(binarizer.symbols))
    for tree, steps in zip(trees, plain, strict=True):
        found = chains.collapse(steps)
        assert max(found.symbols) < len(chains)
        unary = [kind == 1 for kind in found.kinds]
        assert not any(one and other for one, other in itertools.pairwise(unary))
        assert restore_tree(chains.expand(found), binarizer.symbols) == tree


@settings(deadline=None, max_examples=30)
@given(trees=st.lists(RANDOM_TREES, min_size=1, max_size=3), option=st.sampled_from(OPTIONS))
def test_whatever_is_learnt_has_its_own_trees(trees, option):
    model = SpanCRF(
        horizontal=option[0], vertical=option[1], remove_functions=False, min_count=1, max_iter=1, random_state=0
    )
    quiet(model, trees)
    sentences = [tree.leaves() for tree in trees]
    found = model.log_proba(sentences, trees)
    assert (found > -np.inf).all()
    assert (found < 1e-9).all()
    assert model.predict(sentences).unparsed == []
    assert [tree.leaves() for tree in model.predict(sentences)] == sentences


WORDS = st.lists(st.sampled_from(["the", "The", "cat", "cats", "3", "x-3", ",", "é", "\ud800", "a\0b"]), min_size=1)


@settings(deadline=None, max_examples=40)
@given(one=WORDS, other=WORDS)
def test_names_of_spans_are_equal_where_their_words_are(one, other):
    reader = Toy().grammar.reader.words
    marked = [reader.columns(words) for words in (one, other)]
    names = [names_of(columns).joint for columns in marked]
    seen = {}
    for words, columns, of_spans in zip((one, other), marked, names, strict=True):
        for j in range(len(words)):
            for i in range(j + 1):
                row = of_spans[j * (j + 1) // 2 + i]
                first, last = i + PAD, j + PAD
                parts = {
                    1: tuple(columns.sign[first : last + 1]),
                    2: tuple(columns.tag[first : last + 1]),
                    5: (columns.tag[first], columns.tag[last]),
                    6: (columns.tag[first - 1], columns.tag[last + 1]),
                    10: (columns.form[first], columns.form[last]),
                }
                for template, part in parts.items():
                    assert seen.setdefault((template, int(row[template])), part) == part
                    assert seen.setdefault((template, part), int(row[template])) == int(row[template])


NAMES = ("objective_", "n_iter_", "converged_")


@pytest.mark.parametrize("solver", ["adagrad", "lbfgs", "perceptron"])
def test_threads_change_no_bit(solver):
    models = []
    for n_jobs in (1, 2, 3):
        model = SpanCRF(solver=solver, min_count=1, random_state=0, n_jobs=n_jobs, max_iter=4, tol=0.0)
        models.append(quiet(model, TREES * 5))
    one, *others = models
    sentences = [Tree.from_string(text).leaves() for text in TREES] * 9
    for other in others:
        assert_same_fit(one, other, NAMES)
        assert one.coef_.tobytes() == other.coef_.tobytes()
        assert list(one.predict(sentences)) == list(other.predict(sentences))
        assert one.predict_marginals(sentences) == other.predict_marginals(sentences)


@pytest.mark.parametrize("solver", ["adagrad", "lbfgs", "perceptron"])
def test_a_resumed_fit_is_that_which_never_stopped(solver, tmp_path):
    def make(callback):
        return SpanCRF(solver=solver, min_count=1, random_state=5, max_iter=6, tol=0.0, callback=callback)

    stop_after_each_record(make, (*NAMES, "coef_"), (TREES,), tmp_path / "checkpoint")


def test_given_tags_are_those_of_the_trees():
    toy, words = Toy(trees=[*TREES, "(S (NP (DT the) (NN sees)) (VP (VBZ a)))"]), ["the", "cat", "sees", "the", "a"]
    given, free = [["DT", "NN", None, None, "NN"], None], ["she", "sleeps"]
    for decoding in ("viterbi", "recall"):
        one, other = toy.model(decoding=decoding, recall_threshold=0.1).predict([words, free], tags=given)
        assert [tag for _, tag in one.tagged_words()][:2] == ["DT", "NN"]
        assert one.tagged_words()[4] == ("a", "NN")
        assert other == toy.model(decoding=decoding, recall_threshold=0.1).predict([free])[0]
    (marginals,) = toy.model().predict_marginals([words], tags=given[:1])
    assert [round(one.expected, 9) for one in marginals if (one.label, one.start, one.stop) == ("NN", 4, 5)] == [1]
    with pytest.raises(ValueError, match="tag"):
        toy.model().predict([words], tags=[["NOPE"] * 5])


def test_trees_that_were_learnt_are_found():
    for solver, decoding in itertools.product(("adagrad", "lbfgs", "perceptron"), ("recall", "viterbi")):
        model = SpanCRF(
            solver=solver, decoding=decoding, min_count=1, c2=0.01, recall_threshold=0.5, random_state=0
        ).fit(TREES)
        assert model.score(TREES) == 1.0
        assert model.history_[-1]["iteration"] == model.n_iter_


def test_a_callback_ends_the_fit_and_an_interrupt_leaves_the_model_as_it_was():
    model = SpanCRF(min_count=1, random_state=0, callback=lambda model, record: True).fit(TREES)
    assert model.n_iter_ == 1

    def interrupt(model, record):
        raise KeyboardInterrupt

    before = model._learnt
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=interrupt).fit(TREES[:2])
    assert model._learnt is before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "sgd"}, "solver"),
        ({"c2": -1.0}, "c2"),
        ({"vertical": 0}, "vertical"),
        ({"min_count": 0}, "min_count"),
        ({"eta0": 0.0}, "eta0"),
        ({"decoding": "best"}, "decoding"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        SpanCRF(**parameters).fit(TREES)


def test_what_is_no_treebank_is_refused():
    with pytest.raises(ValueError, match="there is nothing to learn from: 0 trees"):
        SpanCRF().fit([])
    with pytest.raises(ValueError, match="there is nothing to learn from: 1 trees"):
        SpanCRF().fit(["(S (-NONE- *))"])
    with pytest.raises(MemoryError, match="max_memory allows 1000"):
        SpanCRF(max_memory=1000).fit(TREES)
    model = SpanCRF(min_count=1, random_state=0).fit(TREES)
    with pytest.raises(ValueError, match="X has 1 sentences and there are 2 trees"):
        model.log_proba(["she sleeps"], TREES[:2])
    assert model.log_proba(["she sleeps"], TREES[:1]).tolist() == [-np.inf]
    assert list(SpanCRF(min_count=1, random_state=0, unparsed="error").fit(TREES).predict([["she", "sleeps"]]))
    deep = Tree("X", ["a"])
    for _ in range(5000):
        deep = Tree("X" if deep.label == "Y" else "Y", [deep])
    assert SpanCRF(min_count=1, random_state=0, decoding="viterbi").fit([deep]).predict([["a"]])[0] == deep


def test_charts_that_are_too_large_are_refused_before_features_are_read(monkeypatch):
    monkeypatch.setattr("fastlin.grammar.span_crf.state.number_features", lambda *_: pytest.fail("features were read"))
    with pytest.raises(MemoryError, match="a chart of 2001 words"):
        SpanCRF(min_count=1, max_memory=10**8).fit(["(S (NN a) " * 2000 + "(NN a)" + ")" * 2000])
