"""How much do documents without labels help, beside a few that have one?

Nigam, McCallum, Thrun & Mitchell (2000) on 20 Newsgroups: naive Bayes learns from 20 to 5,000 labelled posts, as many
of each group; then EM adds 10,000 posts whose labels are hidden, each with the weight λ, and a group may have several
components. Published: 52 % with 300 labels alone, 66 % with EM, and up to 30 % fewer errors.

The posts are the 18,846 of the split by date. As published, a fifth of all, 3,766 posts, is the test part and none of
it is early: it is drawn once from the later part of the split. 11,314 early posts alone could not give 10,000
unlabelled and 5,000 labelled ones, so what the test part leaves of the later posts, 3,766, joins them: 15,080 posts to
draw from, none of them judged. Two things differ from the publication: the posts here have headers (subject, sender,
organisation) unless ``--corpus 20newsgroups_body`` is asked for, which has neither headers nor quoted lines; and its
test part was the latest fifth, while here posts as late as those of the test part are learnt from, by both sides,
unless ``--early`` forbids it.

Choices are made on 1,500 of the later posts that are not in the test part; while they are made, those posts are not
drawn (and 5,000 labelled posts have 8,580 unlabelled ones beside them). Both sides choose by the mean accuracy of
three draws, from the same values and their own smoothing: first, with 300 labels, what a word's value is, then, with
every number of labels, alpha and, with EM, λ, then the number of components. The test part is then read once, by ten
new draws. Logistic regression on the labelled posts alone stands beside them, to say what is due to naive Bayes.

Values of a word:

* counts, as they are;
* counts, binary ones or (1 + log count)·idf, scaled to a sum of the same length for every post. The words of a post are
  not independent, so long posts make naive Bayes far too sure; a constant length is published, too. The posterior of a
  post of length 10 leaves room for doubt, which EM needs; the decisions of naive Bayes alone do not depend on it.
  Document frequencies are those of all posts of a draw, labelled or not, on both sides.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from clusterings import Ascents
from corpora import documents
from fastlin import LogisticRegression, MultinomialNB, SemiSupervisedNB
from fastlin.text import CountVectorizer, TfidfTransformer

SIZES = (20, 50, 100, 200, 300, 500, 1000, 2000, 5000)
PUBLISHED = {300: (52.0, 66.0)}  # without and with EM
UNLABELLED = 10_000
TEST, DEV = 3766, 1500
DRAWS, DEV_DRAWS = 10, 3
REPRESENTATION_SIZE = 300  # labels with which the values of words are chosen
LOGISTIC_C = 100.0  # as good as 10 and 1,000 on dev, with any number of labels

ALPHAS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)  # of naive Bayes alone, times the length
EM_ALPHAS = (0.0001, 0.0003, 0.001, 0.002, 0.004)
LAMBDAS = (0.03, 0.1, 0.3, 1.0)
COMPONENTS = (1, 2, 3, 5)
LENGTHS = (5, 10, 20, 50)
MEAN_LENGTH = 100  # that counts as they are are taken to have, for alpha's sake

Settings = Mapping[str, Any]
Rows = np.ndarray


@dataclass(frozen=True)
class Draw:
    """Posts whose labels are shown, posts whose labels are hidden, and posts to be judged."""

    labelled: Rows
    unlabelled: Rows
    judged: Rows


class Posts:
    """The counts of words that two posts outside the test part have, the groups, and who may be learnt from."""

    def __init__(self, corpus: str, early: bool) -> None:
        (labels, texts), (later_labels, later_texts) = (documents(corpus, part) for part in ("train", "test"))
        self.y = np.unique(labels + later_labels, return_inverse=True)[1]
        later = np.random.default_rng(0).permutation(np.arange(len(labels), len(self.y)))
        self.test, self.dev, rest = np.split(later, [TEST, TEST + DEV])
        self.tuning_pool = self.pool = np.arange(len(labels))
        if not early:
            self.tuning_pool = np.concatenate([self.tuning_pool, rest])
            self.pool = np.concatenate([self.tuning_pool, self.dev])
        texts += later_texts
        words = CountVectorizer(token_pattern=r"[a-z]+", stop_words="english", min_df=2, dtype=np.float64)
        words.fit([texts[row] for row in self.pool])
        self.counts = sparse.csr_matrix(words.transform(texts))

    def draws(self, size: int, tuning: bool, number: int) -> list[Draw]:
        """Draws with ``size`` labelled posts, as many of each group."""
        pool, judged = (self.tuning_pool, self.dev) if tuning else (self.pool, self.test)
        generator = np.random.default_rng((size, tuning))
        found = []
        for _ in range(number):
            shuffled = generator.permutation(pool)
            order = np.argsort(self.y[shuffled], kind="stable")
            groups = np.split(shuffled[order], np.flatnonzero(np.diff(self.y[shuffled[order]])) + 1)
            labelled = np.concatenate([group[: size // len(groups)] for group in groups])
            unlabelled = shuffled[~np.isin(shuffled, labelled)][:UNLABELLED]
            found.append(Draw(labelled, unlabelled, judged))
        return found


def values_of(counts: sparse.csr_matrix, draw: Draw, values: str, length: float) -> list[sparse.csr_matrix]:
    """The values of words in the three parts of a draw."""
    parts = [counts[rows] for rows in (draw.labelled, draw.unlabelled, draw.judged)]
    if values == "as counted":
        return parts
    if values == "binary":
        parts = [(part > 0).astype(np.float64) for part in parts]
    rare = values == "tf-idf"
    weights = TfidfTransformer(norm="l1", use_idf=rare, sublinear_tf=rare).fit(sparse.vstack(parts[:2], format="csr"))
    return [length * weights.transform(part) for part in parts]


class Contest:
    """Naive Bayes with and without EM on the draws of 20 Newsgroups."""

    def __init__(self, posts: Posts) -> None:
        self.posts, self.ascents = posts, Ascents()

    def accuracies(self, draw: Draw, candidates: Iterable[Settings]) -> list[float]:
        """Per cent of the judged posts, for each of the settings, which share values and length."""
        y, found, matrices, made = self.posts.y, [], [], None
        for settings in candidates:
            if made != (made := (settings["values"], settings["length"])):
                matrices = values_of(self.posts.counts, draw, *made)
            labelled, unlabelled, judged = matrices
            alpha = settings["alpha"] * settings["length"]
            if "lambda" not in settings:
                model = MultinomialNB(alpha=alpha).fit(labelled, y[draw.labelled])
            else:
                model = SemiSupervisedNB(
                    alpha=alpha,
                    unlabeled_weight=settings["lambda"],
                    components=settings["components"],
                    random_state=0,
                ).fit(labelled, y[draw.labelled], unlabelled)
                self.ascents.check(model.bound_)
            found.append(100.0 * model.score(judged, y[draw.judged]))
        return found

    def logistic(self, draw: Draw) -> float:
        """What the labels alone give a better learner, on tf-idf of norm 1.

        Without an intercept, which a post without words would send as far as C lets it; the groups are of equal size.
        """
        learnt, _, judged = map(normalize, values_of(self.posts.counts, draw, "tf-idf", 1.0))
        y = self.posts.y
        model = LogisticRegression(C=LOGISTIC_C, fit_intercept=False).fit(learnt, y[draw.labelled])
        return 100.0 * model.score(judged, y[draw.judged])

    def means(self, draws: Sequence[Draw], candidates: Sequence[Settings]) -> np.ndarray:
        return np.mean([self.accuracies(draw, candidates) for draw in draws], axis=0)


def grid(**choices: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination, the last choice changing fastest."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def representations(em: bool) -> list[dict[str, Any]]:
    """Values and lengths, with every alpha and λ. A length means nothing to naive Bayes, so it has one."""
    lengths = LENGTHS if em else (10,)
    scaled = grid(values=("counts", "binary", "tf-idf"), length=lengths)
    return [{"values": "as counted", "length": MEAN_LENGTH}, *scaled]


def smoothings(em: bool) -> list[dict[str, Any]]:
    if em:
        return [{**each, "components": 1} for each in grid(**{"alpha": EM_ALPHAS, "lambda": LAMBDAS})]
    return grid(alpha=ALPHAS)


def choose_values(contest: Contest, draws: Sequence[Draw], em: bool) -> tuple[Settings, list[dict[str, Any]]]:
    """The best values and length, and the best accuracy on dev that each of them has."""
    lines = []
    for each in representations(em):
        candidates = [{**each, **smoothing} for smoothing in smoothings(em)]
        means = contest.means(draws, candidates)
        best = int(means.argmax())
        lines.append({**candidates[best], "em": em, "dev": float(means[best])})
    best_line = max(lines, key=lambda line: line["dev"])
    return {name: best_line[name] for name in ("values", "length")}, lines


def choose(contest: Contest, draws: Sequence[Draw], values: Settings, em: bool) -> tuple[Settings, float]:
    """The best alpha and λ, then the best number of components; of equals the first."""
    candidates: list[Settings] = [{**values, **each} for each in smoothings(em)]
    means = contest.means(draws, candidates)
    best, dev = candidates[int(means.argmax())], float(means.max())
    if em:
        candidates = [{**best, "components": number} for number in COMPONENTS[1:]]
        means = contest.means(draws, candidates)
        if means.max() > dev:
            best, dev = candidates[int(means.argmax())], float(means.max())
    return best, dev


def compare(contest: Contest, size: int, values: Sequence[Settings], draws: int, dev_draws: int) -> dict[str, Any]:
    """A point of the two curves."""
    start = perf_counter()
    tuning = contest.posts.draws(size, True, dev_draws)
    chosen = [choose(contest, tuning, each, em) for em, each in enumerate(values)]
    judged = contest.posts.draws(size, False, draws)
    without, with_em = (
        np.array([contest.accuracies(draw, [settings])[0] for draw in judged]) for settings, _ in chosen
    )
    removed = 100.0 * (with_em - without) / (100.0 - without)
    return {
        "labelled": size,
        "unlabelled": len(judged[0].unlabelled),
        "settings": [dict(settings) for settings, _ in chosen],
        "dev": [dev for _, dev in chosen],
        "without": without.tolist(),
        "with": with_em.tolist(),
        "logistic": [contest.logistic(draw) for draw in judged],
        "error_removed": float(removed.mean()),
        "standard_error": float(removed.std(ddof=1) / np.sqrt(draws)),
        "seconds": perf_counter() - start,
    }


def words(settings: Settings) -> str:
    """What was tuned for every number of labels."""
    tuned = ("alpha", "lambda", "components")
    return " ".join(f"{name}={settings[name]}" for name in tuned if name in settings)


def report(points: Sequence[Mapping[str, Any]]) -> None:
    rows = []
    for point in points:
        sides = "without", "with", "logistic"
        accuracies = (f"{np.mean(point[side]):.2f} ± {np.std(point[side]):.2f}" for side in sides)
        removed = f"{point['error_removed']:.1f} ± {point['standard_error']:.1f}"
        published = "{:.0f} → {:.0f}".format(*PUBLISHED[point["labelled"]]) if point["labelled"] in PUBLISHED else ""
        chosen = map(words, point["settings"])
        rows.append([point["labelled"], *accuracies, removed, published, *chosen, point["seconds"]])
    columns = [
        "labelled",
        "alone %",
        "with EM %",
        "logistic %",
        "error removed %",
        "published",
        "alone: chosen",
        "EM: chosen",
        "s",
    ]
    show(
        "accuracy on the test part: mean ± deviation over the draws; error removed: mean ± standard error",
        columns,
        rows,
    )


def draw_curves(name: str, points: Sequence[Mapping[str, Any]]) -> None:
    with picture(name) as axes:
        if axes is None:
            return
        sizes = [point["labelled"] for point in points]
        for side, label in (
            ("with", f"with EM and {UNLABELLED:,} unlabelled posts"),
            ("without", "labelled posts alone"),
        ):
            means, deviations = (np.array([f(point[side]) for point in points]) for f in (np.mean, np.std))
            axes.plot(sizes, means, marker="o", label=label)
            axes.fill_between(sizes, means - deviations, means + deviations, alpha=0.2)
        for size, published in PUBLISHED.items():
            axes.plot([size] * 2, published, "kx", label="published")
        axes.set(title="20 Newsgroups", xscale="log", xlabel="labelled posts", ylabel="accuracy, per cent")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()


def experiment(posts: Posts, sizes: Sequence[int], draws: int, dev_draws: int) -> dict[str, Any]:
    """Print the tables; the same figures."""
    contest = Contest(posts)
    tuning = contest.posts.draws(REPRESENTATION_SIZE, True, dev_draws)
    values, tried = zip(*(choose_values(contest, tuning, em) for em in (False, True)), strict=True)
    lines = [line for each in tried for line in each]
    show(
        f"values of words: accuracy on dev with {REPRESENTATION_SIZE} labels",
        ["values", "length", "EM", "dev %", "chosen"],
        [
            [line["values"], line["length"], "with" if line["em"] else "", f"{line['dev']:.2f}", words(line)]
            for line in lines
        ],
    )
    points = []
    for size in sizes:
        points.append(compare(contest, size, values, draws, dev_draws))
        print(f"{size} labels: {points[-1]['error_removed']:.1f} % of the error removed", flush=True)
    report(points)
    print(contest.ascents.report())
    return {"values": lines, "points": points, "ascents": vars(contest.ascents)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=("20newsgroups", "20newsgroups_body"), default="20newsgroups")
    parser.add_argument("--early", action="store_true", help="learn from the early posts alone, up to 1,000 labels")
    parser.add_argument("--quick", action="store_true", help="two draws with 300 labels, one to choose on")
    options = parser.parse_args()
    sizes, draws, dev_draws = ((300,), 2, 1) if options.quick else (SIZES, DRAWS, DEV_DRAWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # components that die, or too few iterations, are judged like the others
        posts = Posts(options.corpus, options.early)
        sizes = [size for size in sizes if size + UNLABELLED <= len(posts.pool)]
        results = experiment(posts, sizes, draws, dev_draws)
    name = "nigam" + "-body" * (options.corpus != "20newsgroups") + "-early" * options.early
    draw_curves(name, results["points"])
    save(name, results)


if __name__ == "__main__":
    main()
