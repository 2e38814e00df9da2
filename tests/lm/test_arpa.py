"""Files in ARPA's format: what is written is read again, other programs' dialects, and files that are none."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastlin.lm import ArpaError, NgramModel
from support.language_models import ALL, CORPUS, SENTENCES, quiet, random_corpus

TEXTS = [*CORPUS, ["zebra", "the", "cat"], ["mat", "mat", "mat"]]
SMALL = r"""
made by hand
\data\
ngram 1=4
ngram 2=2

\1-grams:
-1.0	<s>	-0.5
-0.5 </s>
-0.30103   a  -0.2
-2 <unk>

\2-grams:
-0.1	a a
-0.25 <s>	a

\end\
"""


def written(model):
    out = io.BytesIO()
    model.to_arpa(out)
    return out.getvalue()


def parsed(text, **options):
    return NgramModel.from_arpa(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@given(SENTENCES, st.sampled_from(ALL), st.integers(1, 5), st.booleans(), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_again(sentences, smoothing, order, interpolate, cutoff):
    model = quiet(order, smoothing, sentences, interpolate=interpolate, cutoff=cutoff)
    again = parsed(written(model))
    assert again.n_grams_ == model.n_grams_
    assert again.words_ == model.words_
    texts = [*sentences, list("azb"), []]
    np.testing.assert_allclose(again.score_samples(texts), model.score_samples(texts), rtol=1e-5, atol=1e-5)


def test_what_stands_in_a_file_is_the_formula(tmp_path):
    model = NgramModel(3, "absolute_discounting", discount=0.5).fit(CORPUS)
    lines = written(model).decode().split("\n")
    uniform = 1 / len(model.words_)
    c, total = 5, 22  # "the" was seen five times among 22 words and ends
    counts = model.counts_
    types = np.count_nonzero(counts.counts[0]) - 1
    c, total = counts.counts[0][3], counts.counts[0][1:].sum()
    p = (c - 0.5) / total + 0.5 * types / total * uniform
    assert any(line.startswith(f"{np.log10(p):.6f}"[:-1]) and "\tthe\t" in line for line in lines)
    path = tmp_path / "x.arpa"
    model.to_arpa(path)
    assert path.read_bytes() == written(model)
    packed = tmp_path / "x.arpa.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(
        NgramModel.from_arpa(packed).score_samples(TEXTS), NgramModel.from_arpa(path).score_samples(TEXTS)
    )
    highest = lines[lines.index("\\3-grams:") + 1 : -3]
    assert all(len(line.split("\t")) == 2 for line in highest)


def test_dialects():
    small = parsed(SMALL)
    step, state = small.advance(small.start(), "a")
    assert step == pytest.approx(-0.25 * np.log(10))
    assert small.advance(state, "zebra")[0] == pytest.approx(-2.2 * np.log(10))
    assert small.advance(small.start(), "</s>")[0] == pytest.approx(-1.0 * np.log(10))
    for same in (
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("<unk>", "<UNK>"),
        SMALL.replace("-0.1\ta a\n-0.25 <s>\ta", "-0.25 <s> a\t0\n-1e-1 a a"),
        SMALL.replace("-2 <unk>", "-2 <unk>\t0"),
    ):
        np.testing.assert_allclose(
            parsed(same).score_samples([["a", "a"], ["b"]]), small.score_samples([["a", "a"], ["b"]])
        )
    srilm = parsed(SMALL.replace("-2 <unk>", "-2 b").replace("-1.0	<s>", "-99	<s>"))
    assert srilm.score_samples([["zebra"]])[0] == pytest.approx((-0.5 - 100 - 0.5) * np.log(10))
    assert parsed(SMALL.replace("-2 <unk>", "-inf <unk>")).score_samples([["x"]])[0] > -1000


def test_histories_and_suffixes_that_pruning_took():
    rows = written(quiet(3, CORPUS)).decode().split("\n")
    at = [rows.index(f"\\{n}-grams:") for n in (1, 2, 3)]
    trigram = next(row for row in rows[at[2] + 1 :] if "<s>" not in row)
    first, last = trigram.split("\t")[1].rsplit(" ", 1)[0], trigram.split("\t")[1].split(" ", 1)[1]
    whole = quiet(3, CORPUS)
    for lost in {first, last}:
        less = [row for row in rows if row.split("\t")[1:2] != [lost]]
        count = next(row for row in rows if row.startswith("ngram 2="))
        less[less.index(count)] = f"ngram 2={int(count[8:]) - 1}"
        model = parsed("\n".join(less))
        words = trigram.split("\t")[1].split(" ")
        a, b, c = words
        index = model.words_.index(c)
        np.testing.assert_allclose(model.next_word([a, b])[index], whole.next_word([a, b])[index], rtol=1e-5)
    wrong = whole.next_word(["zebra", first.split()[0]])
    assert np.isfinite(wrong).all()


def reordered(text, change):
    """The file with the lines of each section as `change` has them."""
    found, section = [], None
    for line in text.decode().split("\n"):
        if line.startswith("\\") and section is not None:
            found += [*change(section), ""]
            section = None
        if section is not None:
            section += [line] if line else []
            continue
        found.append(line)
        if line.endswith("-grams:"):
            section = []
    return "\n".join(found)


def by_suffix(lines):
    return sorted(lines, key=lambda line: line.split("\t")[1].split(" ")[::-1])


def shuffled(lines):
    return [lines[place] for place in np.random.default_rng(len(lines)).permutation(len(lines))]


@pytest.mark.parametrize("change", [by_suffix, shuffled, sorted, reversed])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_n_grams_may_stand_in_any_order(change, order):
    model = quiet(order, random_corpus(3, 400))
    text = written(model)
    words = text.split(b"\\2-grams:")[0]  # of unigrams the order decides which number each has
    again = parsed(words + reordered(b"\\2-grams:" + text.split(b"\\2-grams:")[1], change).encode())
    straight = parsed(text)
    ours, theirs = straight._word_model, again._word_model
    assert max(np.diff(ours.starts[1])) > 16  # some are sorted by insertion, others not
    for name in ("starts", "words", "suffix"):
        for a, b in zip(getattr(ours, name), getattr(model._word_model, name), strict=True):
            np.testing.assert_array_equal(a, b)
    for name in ("starts", "words", "suffix", "log_prob", "backoff"):
        for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(parsed(reordered(text, change)).score_samples(TEXTS), straight.score_samples(TEXTS))


def test_an_n_gram_that_stands_twice_among_many():
    lines = written(quiet(2, [[f"w{number}"] for number in range(40)])).decode()
    row = next(line for line in lines.split("\n") if "<s> w7" in line)
    twice = lines.replace(row, f"{row}\n{row}").replace("ngram 2=80", "ngram 2=81")
    assert "ngram 2=81" in twice
    assert len(twice) > len(lines)
    with pytest.raises(ArpaError, match="stands there twice"):
        parsed(twice)


def test_histories_of_histories_that_pruning_took():
    model = quiet(4, random_corpus(11, 60))
    rows = written(model).decode().split("\n")
    four = next(row for row in rows[rows.index("\\4-grams:") + 1 :] if "<s>" not in row).split("\t")[1].split(" ")
    lost = {2: " ".join(four[:2]), 3: " ".join(four[:3])}
    for n, gram in lost.items():  # nothing else may need what is left out
        rows = [row for row in rows if row.split("\t")[1:2] != [gram]]
        place = next(place for place, row in enumerate(rows) if row.startswith(f"ngram {n}="))
        rows[place] = f"ngram {n}={int(rows[place][8:]) - 1}"
    again = parsed("\n".join(rows))
    assert again.n_grams_ == model.n_grams_
    p = dict(zip(again.words_, again.next_word(four[:1]), strict=True))
    backoff = {row.split("\t")[1]: float([*row.split("\t"), "0"][2]) for row in rows if row.count("\t")}
    unigram = dict(zip(again.words_, again.next_word(), strict=True))
    assert p[four[1]] == pytest.approx(10 ** backoff[four[0]] * unigram[four[1]], rel=1e-5)
    shorter = dict(zip(again.words_, again.next_word(four[1:2]), strict=True))
    longer = dict(zip(again.words_, again.next_word(four[:2]), strict=True))
    assert longer[four[2]] == pytest.approx(shorter[four[2]], rel=1e-5)  # no weight: p is that of the suffix


def test_characters_and_backward_models():
    model = quiet(3, ["a b", "b a"], unit="character", direction="backward")
    again = parsed(written(model), unit="character", direction="backward")
    assert again.words_ == model.words_
    np.testing.assert_allclose(again.score_samples(["ab a"]), model.score_samples(["ab a"]), rtol=1e-6)


@pytest.mark.parametrize("words", [["a b"], ["a\tb"], [""], ["a\0"], ["x\ny"]])
def test_words_that_cannot_stand_in_a_file(words, tmp_path):
    model = quiet(2, [words])
    with pytest.raises(ValueError, match="cannot stand in an ARPA file"):
        model.to_arpa(tmp_path / "x.arpa")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("\\end\\", "", 18, "ends before"),
        ("ngram 2=2", "ngram 2=3", 17, "2 2-grams stand above, of 3 counted"),
        ("ngram 1=4", "ngram 1=5", 13, "4 1-grams stand above, of 5 counted"),
        ("ngram 2=2", "ngram 3=2", 5, "counts of n-grams"),
        ("-0.5 </s>", "nan </s>", 9, "no number"),
        ("-0.5 </s>", "0.5 </s>", 9, "probability above 1"),
        ("-0.5 </s>", "-0.5 </s> inf", 9, "without bound"),
        ("-0.5 </s>", "-0.5 </s> x", 9, "no number"),
        ("-0.5 </s>", "-0.5 </s> -1 -1", 9, "follows"),
        ("-0.1\ta a", "-0.1\ta", 14, "fewer words"),
        ("-0.1\ta a", "-0.1\ta b", 14, "not among the unigrams"),
        ("-0.1\ta a", "-0.1\t<s> a", 17, "twice"),
        ("-0.1\ta a", "-0.1\ta <s>", 17, "<s> follows"),
        ("-2 <unk>", "-2 a", 13, "twice"),
        ("\\2-grams:", "\\3-grams:", 13, "cannot stand here"),
        ("\\data\\", "", 18, "ends before"),
        ("ngram 1=4", f"ngram 1={'9' * 5000}", 4, "cannot stand here"),
        ("ngram 2=2", f"ngram {'2' * 5000}=2", 5, "cannot stand here"),
        ("\\2-grams:", f"\\{'2' * 5000}-grams:", 13, "cannot stand here"),
    ],
)
def test_files_that_are_none(old, new, line, what):
    assert old in SMALL
    with pytest.raises(ArpaError, match=what) as found:
        parsed(SMALL.replace(old, new))
    assert found.value.line == line


def test_words_that_are_not_in_utf_8():
    with pytest.raises(ArpaError, match="not in UTF-8") as found:
        parsed(SMALL.encode().replace(b"-2 <unk>", b"-2 <unk>\n-3 M\xfcller"))
    assert found.value.line == 12


def test_a_truncated_file_is_an_error():
    whole = written(quiet(3, random_corpus(5, 30)))
    for size in range(0, len(whole) - 5, 37):
        with pytest.raises(ArpaError):
            parsed(whole[:size])


def test_a_mutated_file_is_an_error_or_a_model():
    whole = bytearray(written(quiet(3, CORPUS)))
    rng = np.random.default_rng(0)
    for _ in range(1000):
        broken = bytearray(whole)
        for _ in range(rng.integers(1, 4)):
            broken[rng.integers(len(broken))] = rng.choice([0, 9, 10, 32, 45, 48, 57, 92, 101, 255])
        try:
            model = parsed(bytes(broken))
        except ArpaError:
            continue
        assert not np.isnan(model.score_samples(TEXTS)).any()


@pytest.mark.parametrize("wrong", [{"unk": 5}, {"unk": "<s>"}, {"unit": "letters"}, {"direction": None}, {"markup": 1}])
def test_parameters_are_looked_at_before_the_file(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} must be"):
        NgramModel.from_arpa("nowhere.arpa", **wrong)


def test_partial_fit_needs_counts():
    with pytest.raises(ValueError, match="ARPA"):
        parsed(SMALL).partial_fit([["a"]])
    with pytest.raises(AttributeError, match="ARPA"):
        parsed(SMALL).discounts_  # noqa: B018


@pytest.mark.peer("kenlm")
def test_kenlm_agrees(tmp_path):
    import kenlm

    sentences = random_corpus(7, 400)
    model = quiet(4, sentences)
    path = str(tmp_path / "x.arpa")
    model.to_arpa(path)
    theirs = kenlm.Model(path)
    bits, lengths = model.surprisal(random_corpus(8, 100))
    ours = -bits * np.log10(2)
    texts = [" ".join(words) for words in random_corpus(8, 100)]
    found = [p for text in texts for p, *_ in theirs.full_scores(text)]
    assert len(found) == len(ours) == lengths.sum()
    np.testing.assert_allclose(ours, found, atol=1e-6)
