"""Data that another thread changes while they are read: there is an answer or an error, whoever holds which lock.

Without the interpreter's lock a string may go while its characters are read, and a dict while its entries are.
"""

import contextlib
import itertools
import sys
import threading
import time

import pytest

import fastlin
from fastlin.sequence.attributes import AttributeNames, AttributeReader
from fastlin.text import token_strings

SECONDS = 0.3
FEW, MANY = 3, 60  # entries


def refill_dict(data, turn):
    data.clear()
    for i in range(turn % MANY):
        data[f"name {turn} {i}"] = (1.5, f"value {turn} {i}", turn, True)[i % 4]


def refill_list(data, turn):
    del data[:]
    data.extend(f"name {turn} {i}" for i in range(turn % MANY))


def renew_columns(vocabulary, _):
    for name, column in list(vocabulary.items()):
        vocabulary[name] = column + 0  # above 256 an integer of its own


def samples():
    return [{f"name {i}": float(i) for i in range(MANY)} for _ in range(FEW)]


def tokens(kind):
    return [kind((f"name {i}", "1") if kind is dict else f"name {i}" for i in range(MANY)) for _ in range(FEW)]


def with_vectorizer(learn):
    def make():
        data, vectorizer = samples(), fastlin.DictVectorizer()
        vectorizer.fit(data)
        return (lambda: getattr(vectorizer, learn)(data)), refill_dict, data

    return make


def with_hasher():
    data = samples()
    return (lambda: fastlin.FeatureHasher(64).transform(data)), refill_dict, data


def with_vocabulary():
    data = [{f"name {i}": 1.0 for i in range(400)}]
    vectorizer = fastlin.DictVectorizer(sort=False).fit(data)
    return (lambda: vectorizer.transform(data)), renew_columns, [vectorizer.vocabulary_]


def with_tokens(kind):
    def make():
        data = [kind([f"{i}"]) if kind is list else {f"{i}": 1.0} for i in range(FEW)]
        reader = AttributeReader(AttributeNames(), 0)
        return (lambda: reader.read(data)), (refill_list if kind is list else refill_dict), data

    return make


def with_raw_tokens():
    data = [[f"name {i}" for i in range(MANY)] for _ in range(FEW)]
    columns = list(range(MANY // 2))

    def change(token, turn):
        for i in range(MANY):
            token[i] = f"name {turn} {i}"

    return (lambda: token_strings.read([data], columns)), change, data


READERS = {
    "DictVectorizer": with_vectorizer("transform"),
    "DictVectorizer, fit": with_vectorizer("fit_transform"),
    "DictVectorizer, its vocabulary": with_vocabulary,
    "FeatureHasher": with_hasher,
    "tokens of lists": with_tokens(list),
    "tokens of dicts": with_tokens(dict),
    "raw tokens": with_raw_tokens,
}


@pytest.mark.parametrize("name", READERS)
def test_changing_data_give_an_answer_or_an_error(name):
    read, change, data = READERS[name]()
    done = threading.Event()

    def go_on():
        for turn in itertools.takewhile(lambda _: not done.is_set(), itertools.count()):
            for one in data:
                change(one, turn)

    threads = [threading.Thread(target=go_on, daemon=True) for _ in range(2)]
    switch, reads = sys.getswitchinterval(), 0
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(RuntimeError):  # a dict has changed its size
                read()
            reads += 1
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
        sys.setswitchinterval(switch)
    assert not any(thread.is_alive() for thread in threads)
    assert reads
