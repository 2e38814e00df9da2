"""What is told of a language model is what it computes with."""

import itertools
import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import Perceptron
from fastlin.cli import main
from fastlin.inspection import explain, explain_text, language, summary, surprisal, top_features, transitions
from fastlin.lm import (
    Cache,
    ClassBigramModel,
    Interpolation,
    LanguageModelClassifier,
    MaxentLM,
    NgramModel,
    WordClasses,
)

TEXT = ["the dog ran", "a dog sat", "the cat sat", "a cat ran", "the old cat sat"]
LABELLED = ["the cat sat on the mat", "the dogs ran", "die Katze sitzt", "der Hund bellt laut"]
LABELS = ["en", "en", "de", "de"]


def test_orders_counts_and_discounts():
    model = NgramModel(3, smoothing="absolute_discounting").fit(TEXT)
    found = language(model)
    assert found.words == len(model.words_)
    for n, each in enumerate(found.orders, 1):
        assert each.order == n
        assert each.n_grams == len(model.ngrams(n)) == model.n_grams_[n - 1] - (n == 1)
        counts = model.counts_.counts[n - 1][n == 1 :]
        assert each.counts_of_counts == tuple((counts == times).sum() for times in (1, 2, 3, 4))
        assert each.discounts == tuple(model.discounts_[n - 1])
        assert each.strongest == ()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": "character"},
        {"cutoff": 2},
        {"min_count": 2},
        {"unk": None},
        {"vocabulary": ["the", "cat", "zebra"]},
    ],
    ids=str,
)
def test_weights_have_the_names_of_their_n_grams(options):
    model = MaxentLM(2, prior_variance=[3.0, 2.0], **options).fit(TEXT)
    found = language(model, 1000)
    between = "" if "unit" in options else " "
    for n, each in enumerate(found.orders, 1):
        names = [between.join(gram) for gram in model.ngrams(n)]
        assert dict(each.strongest) == dict(zip(names, model.weights_[n - 1].tolist(), strict=True))
        sizes = [abs(weight) for _, weight in each.strongest]
        assert sizes == sorted(sizes, reverse=True)
        assert each.prior_variance == [3.0, 2.0][n - 1]
    assert language(model, 1).orders[0].strongest == found.orders[0].strongest[:1]
    assert language(model, 0).orders[0].strongest == ()


@pytest.mark.parametrize("unit", ["word", "character"])
def test_n_grams_and_pairs_of_a_model_with_skip_grams_have_their_weights(unit):
    model = MaxentLM(2, skip_grams=2, unit=unit).fit(TEXT).set_params(unit="word")
    found, between = language(model, 1000), " " if unit == "word" else ""
    assert [each.n_grams for each in found.orders] == [len(weights) for weights in model.weights_[:2]]
    for n, each in enumerate(found.orders, 1):
        names = [between.join(gram) for gram in model.ngrams(n)]
        assert dict(each.strongest) == dict(zip(names, model.weights_[n - 1].tolist(), strict=True))
    names = [between.join([before, *["…"] * skipped, word]) for before, skipped, word in model.skip_grams_]
    assert dict(found.skip_grams) == dict(zip(names, model.weights_[2].tolist(), strict=True))
    assert language(model, 1).skip_grams == found.skip_grams[:1]
    assert found.as_dict()["skip_grams"] == [list(each) for each in found.skip_grams]
    assert f"strongest weights of skip-grams\n  {found.skip_grams[0][1]:>+10.4f}  {found.skip_grams[0][0]}" in str(
        found
    )


def test_n_grams_are_those_of_the_counts():
    model = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    found = dict(zip(model.ngrams(2), model.counts_.counts[1].tolist(), strict=True))
    expected: dict[tuple[str, str], int] = {}
    for line in TEXT:
        words = ["<s>", *line.split(), "</s>"]
        for pair in itertools.pairwise(words):
            expected[pair] = expected.get(pair, 0) + 1
    assert found == expected
    assert model.ngrams(1) == [(word,) for word in model.words_]
    assert model.ngrams(2, [3, 0]) == [model.ngrams(2)[3], model.ngrams(2)[0]]
    with pytest.raises(ValueError, match="n must be at most the model's order, 2"):
        model.ngrams(3)


@pytest.mark.parametrize("make", [lambda: WordClasses(6), lambda: MaxentLM(3, classes=6)])
def test_classes_list_their_members(make):
    model = make().fit(TEXT)
    found = language(model, 1000)
    of_word = dict(zip(model.words_, model.word_classes_.tolist(), strict=True))
    assert {word: each.number for each in found.classes for word in each.words} == of_word
    assert all(each.size == len(each.words) for each in found.classes)


def test_soft_classes_list_their_most_probable_words():
    model = ClassBigramModel(2, random_state=0).fit(TEXT)
    found = language(model, 3)
    for each in found.classes:
        p = model.word_given_class_[:, each.number]
        assert each.words == tuple(model.words_[place] for place in np.argsort(-p, kind="stable")[:3])


def test_a_mixture_and_a_classifier_show_their_models():
    lm = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    found = language(Interpolation([lm, Cache(5)], weights=[0.75, 0.25]))
    assert [name for name, _ in found.members] == ["weight 0.7500", "weight 0.2500"]
    assert found.members[0][1] == language(lm)
    assert str(found).count("n-grams") == 1
    classifier = LanguageModelClassifier().fit(LABELLED, LABELS)
    found = language(classifier)
    assert [each for _, each in found.members] == [language(model) for model in classifier.models_]
    assert found.members[0][0] == "label de, prior 0.5"
    json.dumps(found.as_dict())


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_surprisal_is_of_each_word_as_one_reads_them(direction):
    model = NgramModel(2, smoothing="witten_bell", direction=direction).fit(TEXT)
    found = surprisal(model, "the zebra sat")
    assert found.words == ("the", "zebra", "sat", "</s>")
    assert found.largest(1)[0][0] == "zebra"
    assert sum(found.bits) * -np.log(2) == pytest.approx(model.score_samples(["the zebra sat"])[0])
    words = found.words[:-1] if direction == "forward" else found.words[-2::-1]
    state, bits = model.start(), {}
    for word in words:
        log_prob, state = model.advance(state, word)
        bits[word] = -log_prob / np.log(2)
    assert dict(zip(found.words[:-1], found.bits, strict=False)) == pytest.approx(bits)
    assert str(found).split("\n")[2].startswith(" 1.")
    lines = [*TEXT, ""]
    flat, lengths = model.surprisal(lines)
    one_by_one = [model.surprisal([line]).bits for line in lines]
    np.testing.assert_array_equal(flat, np.concatenate(one_by_one))
    assert lengths.tolist() == [len(each) for each in one_by_one]


def test_words_that_cannot_be_have_infinitely_many_bits():
    model = NgramModel(2, smoothing="relative_frequency", unk=None).fit(TEXT)
    found = surprisal(model, "the zebra sat")
    assert found.bits[1] == np.inf
    assert found.as_dict()["bits"][1] is None
    assert "inf  zebra" in str(found)
    kept = NgramModel(2, smoothing="witten_bell", markup="keep").fit(TEXT)
    assert surprisal(kept, "<s> the cat </s>").words == ("the", "cat", "</s>")


def test_a_text_is_explained_by_its_words():
    model = LanguageModelClassifier(NgramModel(2, smoothing="witten_bell"), class_prior=[0.25, 0.75])
    model = model.fit(LABELLED, LABELS)
    found = explain_text(model, "der cat")
    joint = model.predict_joint_log_proba(["der cat"])[0]
    np.testing.assert_allclose(found.scores, joint, atol=1e-9)
    assert found.label == model.predict(["der cat"])[0]
    assert found.margin == pytest.approx(abs(joint[0] - joint[1]))
    assert sorted(found.features) == sorted(["der", "cat", "</s>"])
    assert explain_text(model, "der cat", "de").label == "de"
    with pytest.raises(ValueError, match="the model has no label 'fr'"):
        explain_text(model, "der cat", "fr")


def test_what_is_no_language_model_is_refused():
    with pytest.raises(TypeError, match="Perceptron is no fitted language model"):
        language(Perceptron())
    with pytest.raises(TypeError, match="NoneType is no fitted language model"):
        language(None)
    model = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    with pytest.raises(ValueError, match="n must be at least 0"):
        language(model, -1)
    assert language(make_pipeline(model)) == language(model)
    with pytest.raises(TypeError, match="Perceptron is no language model"):
        surprisal(Perceptron(), "a")
    for model in (NgramModel(), MaxentLM(), WordClasses(), ClassBigramModel(), LanguageModelClassifier()):
        with pytest.raises(NotFittedError):
            language(model)


def test_who_asks_the_wrong_function_is_told_the_right_one():
    model = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    linear = Perceptron().fit([[0.0], [1.0]], [0, 1])
    describes, surprises = "fastlin.inspection.language describes it", "surprisal shows the words of a sentence"
    for ask in (summary, top_features, transitions, lambda model: explain(model, "a")):
        for each in (model, make_pipeline(model), Interpolation([model, Cache()]), NgramModel()):
            with pytest.raises(TypeError, match=f"{describes}, {surprises}"):
                ask(each)
        for each in (WordClasses(), Cache()):
            with pytest.raises(TypeError, match=f"{describes}$"):
                ask(each)
        with pytest.raises(TypeError, match=f"{describes}, explain_text explains a text's label"):
            ask(LanguageModelClassifier())
    with pytest.raises(TypeError, match=r"has no surprisal.*explain_text explains"):
        surprisal(LanguageModelClassifier(), "a")
    with pytest.raises(TypeError, match=rf"NgramModel has no language model for each label.*{surprises}"):
        explain_text(model, "a")
    with pytest.raises(TypeError, match=r"Perceptron has no language model for each label.*explain explains"):
        explain_text(linear, "a")
    with pytest.raises(TypeError, match="summary describes it"):
        language(linear)
    with pytest.raises(TypeError, match=r"it explains no text so$"):
        explain_text(None, "a")


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (NgramModel(2, smoothing="witten_bell"), "seen 4×"),
        (MaxentLM(2), "strongest weights of order 2"),
        (MaxentLM(2, classes=5), "the most probable"),
        (WordClasses(6), "class   words"),
        (ClassBigramModel(2, random_state=0), "the most probable"),
    ],
    ids=lambda each: type(each).__name__ if not isinstance(each, str) else "",
)
def test_the_command_shows_model_files(model, shown, tmp_path, capsys):
    path = str(tmp_path / "lm.fastlin")
    fastlin.save(model.fit(TEXT), path)
    assert main(["inspect", path]) == 0
    assert shown in (printed := capsys.readouterr().out)
    assert printed.rstrip("\n") == str(language(model))
    assert main(["inspect", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(language(model).as_dict()))
    if isinstance(model, WordClasses):
        assert main(["inspect", path, "--text", "the cat"]) == 2
        assert "--text measures" in capsys.readouterr().err
    else:
        assert main(["inspect", path, "--text", "the zebra sat"]) == 0
        assert capsys.readouterr().out.rstrip("\n") == str(surprisal(model, "the zebra sat"))


def test_the_command_shows_arpa_files_and_classifiers(tmp_path, capsys):
    model = NgramModel(2, smoothing="witten_bell").fit(TEXT)
    model.to_arpa(tmp_path / "lm.arpa")
    assert main(["inspect", str(tmp_path / "lm.arpa")]) == 0
    printed = capsys.readouterr().out
    assert "n-grams" in printed
    assert "seen" not in printed
    classifier = LanguageModelClassifier().fit(LABELLED, LABELS)
    path = str(tmp_path / "languages.fastlin")
    fastlin.save(classifier, path)
    assert main(["inspect", path]) == 0
    assert "label de, prior 0.5" in capsys.readouterr().out
    assert main(["inspect", path, "--text", "the Hund", "--label", "en"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(explain_text(classifier, "the Hund", "en"))
