"""The installed package does what it is for: run by those who build it, away from its sources."""

import os
import tempfile

import numpy as np
from sklearn.pipeline import make_pipeline

import fastlin
from fastlin import engine
from fastlin.lm import NgramModel
from fastlin.sequence import CRF
from fastlin.text.templates import pos

texts, labels = ["a good film", "a fine cast", "not a good film", "bad, and not fine"], ["up", "up", "down", "down"]
model = make_pipeline(fastlin.TfidfVectorizer(ngram_range=(1, 2)), fastlin.LogisticRegression(C=100)).fit(texts, labels)
assert model.predict(texts).tolist() == labels
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.fastlin")
    fastlin.save(model, path)
    loaded = fastlin.load(path, mmap=False)
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    rows = fastlin.CountVectorizer().fit_transform(texts)
    corpus = fastlin.Corpus(rows, labels).write(os.path.join(folder, "rows"))
    assert fastlin.LinearSVC().fit(corpus).predict(rows).tolist() == labels
    del corpus
sentences, tags = [["the", "dog", "barks"], ["a", "cat", "sleeps"]], [["D", "N", "V"], ["D", "N", "V"]]
assert CRF(features=pos()).fit(sentences, tags).predict(sentences) == tags
assert NgramModel(2).fit(texts).perplexity(texts) < 10
print(f"fastlin {fastlin.__version__} learns and answers, {engine.ISA}, {fastlin.__file__}")
