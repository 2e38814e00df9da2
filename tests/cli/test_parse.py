"""Parsers from the command line: trees in, trees and EVALB's figures out."""

import gzip
import io
import json
import re
import select
import subprocess
import sys
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

import fastlin
from fastlin.cli import main
from fastlin.cli.parse_options import PARSERS
from fastlin.cli.tree_inputs import AT_ONCE
from fastlin.grammar import PCFG, SpanCRF, Tree, evalb, read_trees

GRAMMAR = PCFG.from_rules(
    """
S -> NP VP [0.7] | NP VP PP [0.3]
NP -> DT NN [0.5] | DT JJ NN [0.2] | NP PP [0.2] | PRP [0.1]
VP -> VBZ [0.4] | VBZ NP [0.6]
PP -> IN NP [1.0]
DT -> 'the' [0.6] | 'a' [0.4]
NN -> 'cat' [0.3] | 'dog' [0.3] | 'hat' [0.2] | 'house' [0.2]
JJ -> 'old' [0.5] | 'red' [0.5]
PRP -> 'she' [0.5] | 'it' [0.5]
VBZ -> 'sees' [0.5] | 'sleeps' [0.3] | 'barks' [0.2]
IN -> 'in' [0.5] | 'with' [0.5]
"""
)
SENTENCES = [
    "the cat sees a dog", "she sleeps", "the old dog in the house barks", "a cat with a hat sees it",
    "the dog sleeps in a red house", "it sees the cat with the hat", "the red cat barks", "she sees a dog in the house",
]  # fmt: skip
TREES = [f"( {tree})" for tree in GRAMMAR.predict(SENTENCES)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """train.mrg, dev.mrg, words.txt and a model; nobody writes here."""
    folder = tmp_path_factory.mktemp("parse")
    (folder / "train.mrg").write_text("\n".join(TREES) + "\n")
    (folder / "dev.mrg").write_text("\n".join(TREES[3:]) + "\n")
    (folder / "words.txt").write_text("\n".join(SENTENCES) + "\n")
    options = [
        "--unknown",
        "none",
        "--vertical",
        "1",
        "--horizontal",
        "0",
        "-m",
        str(folder / "grammar.fastlin"),
        "--quiet",
    ]
    assert main(["parse", "train", str(folder / "train.mrg"), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def grammar(place):
    return fastlin.load(place / "grammar.fastlin")


# --- train -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, parameters",
    [
        ([], {}),
        (["--horizontal", "all", "--vertical", "1", "--no-split-tags"], {"horizontal": None, "vertical": 1}),
        (["--horizontal", "2", "--alpha", "0.5", "--unknown", "suffix", "--jobs", "2"], {"horizontal": 2, "n_jobs": 2}),
        (["--unknown", "none", "--decoding", "viterbi", "--split-tags"], {"unknown": None, "decoding": "viterbi"}),
        (["--set", "rare_count=0", "--set", "remove_traces=false"], {"rare_count": 0, "remove_traces": False}),
    ],
)
def test_a_model_is_what_the_options_say(shell, place, tmp_path, options, parameters):
    path = tmp_path / "m.fastlin"
    done = shell.right("parse", "train", place / "train.mrg", "-m", path, *options)
    model = fastlin.load(path)
    assert {name: model.get_params()[name] for name in parameters} == parameters
    assert model.split_tags is ("--no-split-tags" not in options)
    expected = PCFG(**model.get_params()).fit(place / "train.mrg")
    assert model.rules_ == expected.rules_
    assert re.fullmatch(
        rf".*/m\.fastlin: pcfg of {len(expected.symbols_)} symbols, {expected.n_rules_} rules and "
        rf"{len(expected.words_)} words from 8 trees, 0\.0 MB, \d+\.\d s\n",
        done.out,
    )


def test_the_summary_as_json_and_the_f1_on_dev(shell, place, tmp_path):
    words = ("parse", "train", place / "train.mrg", "-m", tmp_path / "m", "--dev", place / "dev.mrg")
    facts = json.loads(shell.right(*words, "--json").out)
    model = fastlin.load(tmp_path / "m")
    assert facts["dev_f1"] == model.score(place / "dev.mrg")
    assert (facts["trees"], facts["words"], facts["rules"]) == (8, len(model.words_), model.n_rules_)
    assert facts["bytes"] == (tmp_path / "m").stat().st_size
    assert f"F1 on {place / 'dev.mrg'}: {facts['dev_f1']:.4f}\n" in shell.right(*words).out


def test_trees_come_from_several_files_and_pipes_compressed_or_not(shell, place, tmp_path, grammar):
    halves = "\n".join(TREES[:4]), "\n".join(Tree.from_string(tree).to_lines(20) for tree in TREES[4:])
    (tmp_path / "one.mrg.gz").write_bytes(gzip.compress(halves[0].encode()))
    options = ("--unknown", "none", "--vertical", "1", "--horizontal", "0", "-q", "-m", tmp_path / "m")
    assert shell.right("parse", "train", tmp_path / "one.mrg.gz", "-", *options, stdin=halves[1]).out == ""
    assert fastlin.load(tmp_path / "m").rules_ == grammar.rules_


EM = ["--vertical", "1", "--horizontal", "0", "--epochs", "3"]


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_sentences_without_trees_and_with_some_brackets(shell, place, tmp_path, monkeypatch):
    (tmp_path / "some.mrg").write_text("(_ she (_ sees (_ a dog)))\n")
    words = ["parse", "train", place / "train.mrg", "-m", tmp_path / "m", *EM, "--unknown", "none"]
    raw = ["--raw", place / "words.txt", "--brackets", tmp_path / "some.mrg"]
    facts = json.loads(shell(*words, *raw, "--json", "--checkpoint", tmp_path / "c", "--checkpoint-interval", "0").out)
    assert (facts["trees"], facts["sentences"]) == (8, 9)
    assert (tmp_path / "c").exists()
    expected = PCFG(vertical=1, horizontal=0, unknown=None, max_iter=3, random_state=0)
    brackets = ["(_ she (_ sees (_ a dog)))"]
    expected.fit_unlabeled(SENTENCES, trees=TREES, brackets=brackets)
    assert fastlin.load(tmp_path / "m").rules_ == expected.rules_
    counted = fastlin.load(place / "grammar.fastlin")
    assert counted.rules_ != expected.rules_
    assert "from 8 trees and 9 sentences, 0.0 MB" in shell(*words, *raw).out


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_a_random_grammar_of_sentences_alone(shell, place, tmp_path):
    words = ["parse", "train", "--raw", place / "words.txt", "--symbols", "4", "-m", tmp_path / "m", "--epochs", "5"]
    shell(*words, "--seed", "7", "-q")
    expected = PCFG(n_symbols=4, vertical=1, max_iter=5, random_state=7).fit_unlabeled(SENTENCES)
    assert fastlin.load(tmp_path / "m").rules_ == expected.rules_


def test_a_parser_of_features(shell, place, tmp_path):
    words = [
        "parse",
        "train",
        place / "train.mrg",
        "-m",
        tmp_path / "m",
        "--learner",
        "span-crf",
        "--set",
        "min_count=1",
    ]
    shell(*words, "--epochs", "5", "--seed", "1", "-q", "--checkpoint", tmp_path / "c")
    model, expected = fastlin.load(tmp_path / "m"), SpanCRF(min_count=1, max_iter=5, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected.fit(TREES)
    assert model.rules_ == expected.rules_
    assert shell.right("parse", "predict", place / "words.txt", "-m", tmp_path / "m").lines == list(
        map(str, expected.predict(SENTENCES))
    )
    facts = json.loads(shell.right("parse", "evaluate", place / "dev.mrg", "-m", tmp_path / "m", "--json").out)
    assert facts["overall"]["f1"] == expected.score(TREES[3:])
    assert shell.right("parse", "predict", "-m", tmp_path / "m", "--marginals", "0.5", stdin="she sleeps\n").out
    listed = json.loads(shell.right("inspect", tmp_path / "m", "--json", "--top", "1000").out)["symbols"]
    rules = {(one["symbol"], right): weight for one in listed for right, weight in one["rules"]}
    assert rules == {(left, " ".join(right)): weight for left, right, weight in expected.rules_}
    (best,) = expected.predict_nbest(["she sleeps"], 2)
    told = shell.right("parse", "predict", "-m", tmp_path / "m", "--nbest", "2", stdin="she sleeps\n")
    assert [line.split("\t")[1] for line in told.lines if line] == list(map(str, best))
    assert "holds a SpanCRF, which has no" in shell.wrong("parse", "sample", "-m", tmp_path / "m")
    assert "span-crf learns from trees alone" in shell.wrong(*words, "--raw", place / "words.txt")
    assert "--split-tags: span-crf (SpanCRF) has no parameter split_tags" in shell.wrong(*words, "--no-split-tags")


def test_rules_by_features(shell, place, tmp_path):
    shell("parse", "train", place / "train.mrg", "-m", tmp_path / "m", "--rules", "loglinear", "-q")
    assert fastlin.load(tmp_path / "m").rules_ == PCFG(rules="loglinear").fit(TREES).rules_


def test_every_learner_has_a_class():
    from fastlin import grammar
    from fastlin.cli.parse import CLASSES

    assert set(CLASSES) == set(PARSERS)
    assert all(hasattr(grammar, name) for name in CLASSES.values())


# --- predict ---------------------------------------------------------------------------------------------------------


def test_a_tree_a_line_in_the_order_of_the_sentences(shell, place, grammar):
    many = SENTENCES * (2 * AT_ONCE // len(SENTENCES) + 1)
    expected = list(map(str, grammar.predict(many)))
    text = "\n".join(many)
    for jobs in ("1", "2"):
        found = shell.right("parse", "predict", "-m", place / "grammar.fastlin", "--jobs", jobs, stdin=text)
        assert found.lines == expected
    assert shell.right("parse", "predict", place / "words.txt", "-m", place / "grammar.fastlin").lines == expected[:8]


def test_scores_decodings_and_json(shell, place):
    words = ("parse", "predict", place / "words.txt", "-m", place / "grammar.fastlin", "--decoding", "viterbi")
    expected = fastlin.load(place / "grammar.fastlin").set_params(decoding="viterbi").predict(SENTENCES)
    scored = [line.split("\t") for line in shell.right(*words, "--scores").lines]
    assert [tree for _, tree in scored] == list(map(str, expected))
    assert [float(score) for score, _ in scored] == pytest.approx(expected.log_joint.tolist(), rel=1e-9)
    records = [json.loads(line) for line in shell.right(*words, "--json").lines]
    assert [record["words"] for record in records] == [text.split() for text in SENTENCES]
    assert [record["tree"] for record in records] == list(map(str, expected))
    assert [record["log_joint"] for record in records] == expected.log_joint.tolist()


def test_the_n_best_trees(shell, place, grammar):
    words = ("parse", "predict", place / "words.txt", "-m", place / "grammar.fastlin", "--nbest", "3")
    expected = grammar.predict_nbest(SENTENCES, 3)
    blocks = shell.right(*words).out.split("\n\n")[:-1]
    assert [[line.split("\t")[1] for line in block.split("\n")] for block in blocks] == [
        list(map(str, parses)) for parses in expected
    ]
    records = [json.loads(line) for line in shell.right(*words, "--json").lines]
    assert [[one["log_joint"] for one in record["trees"]] for record in records] == [
        parses.log_joint.tolist() for parses in expected
    ]
    assert any(len(parses) > 1 for parses in expected)


def test_expected_constituents(shell, place, grammar):
    words = ("parse", "predict", place / "words.txt", "-m", place / "grammar.fastlin", "--marginals", "0.01")
    expected = grammar.predict_marginals(SENTENCES, 0.01)
    blocks = shell.right(*words).out.split("\n\n")[:-1]
    assert [block.split("\n") for block in blocks] == [
        [f"{one.start}\t{one.stop}\t{one.label}\t{one.expected:.6g}" for one in found] for found in expected
    ]
    records = [json.loads(line) for line in shell.right(*words, "--json").lines]
    assert [record["constituents"] for record in records] == [[one._asdict() for one in found] for found in expected]


def test_lines_without_words_and_without_trees_keep_their_places(shell, place):
    model = place / "grammar.fastlin"
    done = shell("parse", "predict", "-m", model, stdin="she sleeps\n\n  \nshe ( runs )\nit\n")
    assert done.code == 0
    assert done.lines[1:3] == ["(())", "(())"]
    assert done.lines[3].endswith("(X -LRB-) (X runs) (X -RRB-)))")
    assert done.err == (
        "fastlin parse predict: warning: <stdin>, line 4: the sentence has no tree, but a flat one; so 2 in all\n"
    )
    assert list(read_trees(io.BytesIO(done.out.encode()), with_failures=True))[1] is None
    both = shell("parse", "predict", "-m", model, "--nbest", "2", stdin="\nit runs\n")
    assert both.lines[0] == both.lines[2].replace(both.lines[2], "-inf\t(())") == "-inf\t(())"
    assert "line 2: the sentence has no tree" in both.err
    record = json.loads(shell("parse", "predict", "-m", model, "--json", stdin="\n").out)
    assert record == {"words": [], "tree": None, "log_joint": None}
    error = shell("parse", "predict", "-m", model, "--unparsed", "error", stdin="she sleeps\nit runs\n")
    assert (error.code, error.err) == (2, "fastlin parse predict: <stdin>, line 2: the sentence has no tree\n")


def test_a_sentence_that_is_too_long_is_named(shell, place, tmp_path):
    words = ("parse", "train", place / "train.mrg", "-m", tmp_path / "m", "--set", "max_memory=100000")
    shell.right(*words)
    error = shell.wrong("parse", "predict", "-m", tmp_path / "m", stdin=f"she sleeps\n{'the ' * 90}cat sleeps\n")
    assert re.search(r"<stdin>, line 2: a chart of 92 words and \d+ symbols takes \d+ bytes: max_memory allows", error)


def test_a_tree_comes_before_the_next_sentence_is_there(place):
    command = [sys.executable, "-m", "fastlin", "parse", "predict", "-m", str(place / "grammar.fastlin")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            for sentence in SENTENCES[:3]:
                process.stdin.write(f"{sentence}\n".encode())
                process.stdin.flush()
                assert select.select([process.stdout], [], [], 60)[0]
                assert Tree.from_string(process.stdout.readline().decode()).leaves() == sentence.split()
            process.stdin.close()
            assert process.wait(60) == 0
        finally:
            process.kill()


# --- evaluate --------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_model_are_its_score(shell, place, grammar):
    words = ("parse", "evaluate", place / "dev.mrg", "-m", place / "grammar.fastlin")
    found = json.loads(shell.right(*words, "--json").out)
    assert found["overall"]["f1"] == fastlin.load(place / "grammar.fastlin").score(TREES[3:])
    assert "sentences" not in found
    assert shell.right(*words).out.split("\n")[1].split() == ["sentences", "5", "5"]
    assert shell(*words, "--min-f1", "0.1").code == 0
    done = shell(*words, "--min-f1", "1.01")
    assert (done.code, done.err) == (1, "fastlin parse evaluate: the F1 is below 1.01\n")


def test_the_trees_of_predict_have_the_figures_of_the_model(shell, place, tmp_path):
    model = ("-m", place / "grammar.fastlin", "--decoding", "viterbi")
    parsed = shell.right("parse", "predict", place / "words.txt", *model).out
    (tmp_path / "parsed.mrg").write_text(parsed)
    one = shell.right("parse", "evaluate", place / "train.mrg", *model).out
    two = shell.right("parse", "evaluate", place / "train.mrg", "--predicted", tmp_path / "parsed.mrg").out
    assert one == two == shell.right("parse", "evaluate", place / "train.mrg", "--predicted", "-", stdin=parsed).out


WRONG = ["(S (NP (DT the) (NN cat)) (NP (VBZ sees) (NP (DT a) (NN dog))))", "(())"]


def test_trees_in_files_are_judged_as_evalb_does(shell, tmp_path):
    gold = [tree[2:-1] for tree in TREES[:2]]
    (tmp_path / "gold").write_text("\n".join(gold))
    (tmp_path / "predicted").write_text("\n".join(WRONG))
    (tmp_path / "prm").write_text("LABELED 0\nDELETE_LABEL TOP\n")
    words = ("parse", "evaluate", tmp_path / "gold", "--predicted", tmp_path / "predicted")
    report = evalb(gold, WRONG)
    assert shell.right(*words).out == f"{report}\n"
    table = shell.right(*words, "--sentences", "--mistakes", "1").out
    assert str(report.errors(1)) in table
    assert re.search(
        r"^ +1 +5 +valid +75\.00 +75\.00 +3 +4 +4 +0 +100\.00\n +2 +2 +skipped +", table, flags=re.MULTILINE
    )
    unlabeled = json.loads(shell.right(*words, "--parameters", tmp_path / "prm", "--json", "--sentences").out)
    assert unlabeled["overall"]["f1"] == 1
    assert [one["status"] for one in unlabeled["sentences"]] == ["valid", "skipped"]
    (mistake,) = json.loads(shell.right(*words, "--json", "--mistakes", "1").out)["mistakes"]
    assert (mistake["kind"], mistake["gold"], mistake["predicted"]) == ("confused", "VP", "NP")
    assert mistake["places"] == [{"sentence": 1, "start": 2, "stop": 5, "words": ["sees", "a", "dog"]}]


# --- mistakes in the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, message",
    [
        ("train {0}/train.mrg -m m --learner pcfgs", "'pcfgs' is none of .*did you mean 'pcfg'"),
        ("train {0}/train.mrg -m m --horizontal some", "'some' is neither a number of children nor all"),
        ("train {0}/train.mrg -m m --vertical 0", "vertical must be at least 1 .*got 0"),
        ("train {0}/train.mrg -m m --set verticl=1", "PCFG has no such parameter, did you mean 'vertical'"),
        ("train {0}/train.mrg -m {0}/train.mrg", "cannot be written: the documents are in it"),
        ("train {0}/words.txt -m m", "words.txt:1:1: 'the' is in no brackets"),
        ("train nosuch.mrg -m m", "there is no file 'nosuch.mrg'"),
        ("train - -m m", "standard input: there are no trees"),
        ("train -m m", "there is nothing to learn from: FILEs of trees, --raw or --brackets"),
        ("train {0}/train.mrg --raw - -m m", "standard input: there are no sentences"),
        ("train {0}/train.mrg --raw {0}/words.txt -m {0}/words.txt", "cannot be written: the documents are in it"),
        ("train --raw {0}/words.txt -m m", "give FILEs of trees, or --symbols N for a random one"),
        ("train {0}/train.mrg --raw {0}/words.txt -m m --checkpoint m", "--checkpoint and --model are the same file"),
        ("predict {0}/words.txt -m {0}/grammar.fastlin --nbest 0", "--nbest takes a number of trees, got 0"),
        ("predict {0}/words.txt -m {0}/grammar.fastlin --nbest 2 --marginals 0", "--marginals prints constituents"),
        ("predict {0}/words.txt -m {0}/grammar.fastlin --marginals -1", "min_probability must be >= 0"),
        ("predict {0}/words.txt -m {0}/nosuch", "No such file"),
        ("evaluate {0}/dev.mrg", "say what is judged: --predicted FILE of trees, or -m MODEL"),
        ("evaluate {0}/dev.mrg -m {0}/grammar.fastlin --predicted x", "say what is judged"),
        ("evaluate - --predicted -", "--predicted -: standard input holds the right trees"),
        ("evaluate {0}/dev.mrg --predicted {0}/train.mrg", "gold has 5 trees, predicted 8; the same number is wanted"),
        ("evaluate {0}/dev.mrg --predicted {0}/dev.mrg --decoding recall", "--decoding is of a model"),
        ("evaluate {0}/dev.mrg --predicted {0}/dev.mrg --parameters {0}/words.txt", "words.txt, line 1: the keyword"),
        ("evaluate - -m {0}/grammar.fastlin", "standard input: there are no trees"),
        ("evaluate {0}/dev.mrg --predicted {0}/dev.mrg --min-f1 nan", "--min-f1 takes a number from 0 to 1, got nan"),
        ("train {0}/train.mrg --symbols 3 -m m", "--symbols begins with a random grammar"),
    ],
)
def test_mistakes_are_explained_in_a_line(shell, place, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    error = shell.wrong("parse", *words.format(place).split(), stdin="")
    assert error.startswith(f"fastlin parse {words.split()[0]}: ")
    assert re.search(message, error), error


def test_parsers_and_other_models_are_told_apart(shell, place, folder):
    error = shell.wrong("predict", "-m", place / "grammar.fastlin", stdin="x\n")
    assert "holds a PCFG, which makes trees: fastlin parse is for it" in error
    assert "holds a PCFG, which makes trees" in shell.wrong("tag", "predict", "-m", place / "grammar.fastlin", stdin="")
    assert "no parser" in shell.wrong("parse", "predict", "-m", folder / "model.fastlin", stdin="x\n")


# --- sample ----------------------------------------------------------------------------------------------------------


def test_trees_are_drawn_by_a_seed(shell, place, grammar):
    words = ("parse", "sample", "-m", place / "grammar.fastlin", "-n", "5", "--seed", "3", "--max-length", "9")
    expected = grammar.sample(5, 3, 9)
    assert shell.right(*words).lines == list(map(str, expected))
    assert shell.right(*words, "--words").lines == [" ".join(tree.leaves()) for tree in expected]
    records = [json.loads(line) for line in shell.right(*words, "--json").lines]
    assert [(one["words"], one["tree"]) for one in records] == [(tree.leaves(), str(tree)) for tree in expected]
    assert "n_samples must be at least 1" in shell.wrong("parse", "sample", "-m", place / "grammar.fastlin", "-n", "0")


# --- inspect ---------------------------------------------------------------------------------------------------------


def test_inspect_lists_symbols_and_rules(shell, place, grammar):
    found = shell.right("inspect", place / "grammar.fastlin", "--top", "2")
    assert found.out == f"{fastlin.inspection.grammar(grammar, 2)}\n"
    facts = json.loads(shell.right("inspect", place / "grammar.fastlin", "--json", "--label", "NP").out)
    assert [one["symbol"] for one in facts["symbols"]] == ["NP"]
    assert "fastlin parse predict" in shell.wrong("inspect", place / "grammar.fastlin", "--text", "she sleeps")
    assert "has no symbol 'XP'" in shell.wrong("inspect", place / "grammar.fastlin", "--label", "XP")


def test_the_rules_that_mistakes_are_made_by(shell, tmp_path):
    gold = ["(S (NP (NN a) (PP (IN b) (NN c))) (VP (VB d)))", "(S (NP (NN a)) (VP (VB d)))", "(())"]
    predicted = ["(S (NP (NN a)) (PP (IN b) (NN c)) (VP (VB d)))", "(S (NP (NN a) (VB d)))", "(())"]
    (tmp_path / "gold").write_text("\n".join(gold))
    (tmp_path / "predicted").write_text("\n".join(predicted))
    words = ("parse", "evaluate", tmp_path / "gold", "--predicted", tmp_path / "predicted", "--rules", "3")
    assert shell.right(*words).out.split("\n\n")[-1].splitlines() == [
        "wrong 1 of 1, missing 1 of 1: NP → NN",
        "wrong 0 of 0, missing 1 of 1: NP → NN PP",
        "wrong 1 of 1, missing 0 of 0: NP → NN VB",
    ]
    facts = json.loads(shell.right(*words, "--json").out)["rules"]
    assert facts[0] == {"left": "NP", "right": ["NN"], "n_predicted": 1, "n_wrong": 1, "n_gold": 1, "n_missing": 1}
