"""What notebooks show: whole HTML, in which nothing that a model or a text says is anything but text."""

from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline, make_union

import fastlin
from fastlin import Conjunctions, CountVectorizer, HashingVectorizer, LogisticRegression, TfidfVectorizer, inspection
from fastlin.grammar import PCFG
from fastlin.inspection import html
from fastlin.lm import NgramModel
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron

HOSTILE = "<script>alert(1)</script>\"'&\x00\u202e"
TEXTS = ["a good <b>film</b>", "a bad film, not good", f"good {HOSTILE}", "bad & bad"]
SENTENCES = [["the", HOSTILE, "barks"], ["a", "dog", "ran"]]
TAGS = [["O", "B-X", HOSTILE], ["O", "B-Y", "O"]]
VOID = {"br"}


class Reader(HTMLParser):
    """The tags of a page, which must be closed in order, and its text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"style", "title"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown():
    labels = [HOSTILE, "down", "up", HOSTILE]
    model = make_pipeline(CountVectorizer(token_pattern=r"\S+"), LogisticRegression()).fit(TEXTS, labels)
    tagger = CRF().fit(SENTENCES, TAGS)
    language = NgramModel(order=2, smoothing="witten_bell").fit([HOSTILE, "the dog ran"])
    report = inspection.report(labels, model.predict(TEXTS), model.predict_proba(TEXTS), model.classes_)
    yield "explanation", inspection.explain(model, TEXTS[2])
    yield "features", inspection.top_features(model, 3)
    yield "features of a label", inspection.top_features(model, 3)[0]
    yield "summary", inspection.summary(model)
    yield "report", report
    yield "ranking", inspection.ranking(labels, model.predict_proba(TEXTS), model.classes_, thresholds=[0.5])
    yield "transitions", inspection.transitions(tagger)
    yield "order 2", inspection.transitions(MEMM(order=2).fit(SENTENCES, TAGS))
    yield "tagging", inspection.tagging(tagger, SENTENCES[0])
    yield "token", inspection.explain_token(tagger, SENTENCES[0], 1)
    yield "language", inspection.language(language)
    yield "surprisal", inspection.surprisal(language, HOSTILE)
    yield "grammar", inspection.grammar(PCFG().fit(["(S (NP (D <b>) (N dog)) (V ran))"]))


@pytest.mark.parametrize(("name", "found"), shown(), ids=lambda one: one if isinstance(one, str) else "")
def test_pages_are_whole_and_safe(name, found):
    page = Reader(found._repr_html_())
    assert "script" not in page.tags
    assert page.text.strip()
    assert str(found)


@given(st.text())
def test_text_comes_back_as_it_was_or_as_numbers_of_characters(text):
    page = Reader(html.paragraph(text))
    assert page.tags == ["p"]
    if text.isprintable():
        assert page.text == text


PIPELINES = {
    "words": lambda: make_pipeline(CountVectorizer()),
    "pairs": lambda: make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)),
    "characters": lambda: make_pipeline(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))),
    "conjunctions": lambda: make_pipeline(CountVectorizer(), Conjunctions(include_original=True)),
    "hashes that meet": lambda: make_pipeline(HashingVectorizer(n_features=4, keep_names=20, alternate_sign=False)),
    "union": lambda: make_pipeline(make_union(CountVectorizer(), TfidfVectorizer(analyzer="char", ngram_range=(2, 2)))),
}


@pytest.mark.parametrize("features", PIPELINES)
def test_words_add_up_to_the_features_of_the_text(features):
    texts, labels = ["a good film", "a bad, bad film", "not good at all", "bad film"], ["up", "down", "down", "down"]
    model = make_pipeline(*PIPELINES[features](), LogisticRegression(C=10)).fit(texts, labels)
    found = inspection.explain(model, "a Good film  is not bad, good film")
    words = found.words()
    assert [found.located.text[word.start : word.end] for word in words] == (
        ["a", "Good", "film", "is", "not", "bad", ",", "good", "film"]
    )
    np.testing.assert_allclose(sum(word.contribution for word in words), found.margin - found._apart(found.intercept))


def test_a_word_has_the_share_of_its_places():
    model = make_pipeline(CountVectorizer(), fastlin.LinearSVC()).fit(["good", "bad"], ["up", "down"])
    found = inspection.explain(model, "good good bad")
    (good, one, _), (_, other, _), (bad, against, _) = ((word.start, word.contribution, 0) for word in found.words())
    assert (good, bad) == (0, 10)
    assert one == other == pytest.approx(-against)


def test_where_a_text_is_not_known_there_are_no_words():
    model = LogisticRegression().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    assert inspection.explain(model, [1.0, 0.0]).words() == []
    given_function = make_pipeline(CountVectorizer(analyzer=str.split), LogisticRegression()).fit(["a", "b"], [0, 1])
    assert inspection.explain(given_function, "a b").words() == []


@pytest.mark.parametrize("tagger", [CRF(), HMM(), StructuredPerceptron()], ids=lambda model: type(model).__name__)
def test_tagging_says_what_predict_and_marginals_say(tagger):
    tagger.fit(SENTENCES, TAGS)
    found = inspection.tagging(tagger, SENTENCES[1])
    assert list(found.labels) == list(tagger.predict([SENTENCES[1]])[0])
    if found.probabilities is not None:
        marginals = tagger.predict_marginals([SENTENCES[1]])[0]
        places = [tagger.classes_.tolist().index(label) for label in found.labels]
        assert found.probabilities == tuple(marginals[range(len(places)), places].tolist())
    assert found.as_dict()["tokens"] == SENTENCES[1]


def test_only_models_of_sequences_tag():
    with pytest.raises(TypeError, match="LogisticRegression is no model of sequences"):
        inspection.tagging(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), ["a"])
    with pytest.raises(NotFittedError, match="CRF"):
        inspection.tagging(CRF(), ["a"])


def test_strings_of_numpy_are_texts():
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, range(len(TEXTS)))
    assert inspection.explain(model, np.array(TEXTS)[1]).words() == inspection.explain(model, TEXTS[1]).words()
