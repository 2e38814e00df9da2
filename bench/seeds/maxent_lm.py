"""Is a maximum-entropy model with a Gaussian prior better than Kneser and Ney's smoothing?

Penn Treebank. Models of order 3 and 5: modified Kneser-Ney; maximum entropy with the default priors and with priors
chosen on the validation part; Model M with word classes (their number is chosen on the validation part); mixtures with
caches, whose weights are fitted there. Chen & Goodman (1999) found the former about level with Kneser-Ney; Chen (2009)
found Model M better by a tenth; Mikolov et al. (2011) have 5-gram figures of this corpus.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

from fastlin.lm import Cache, Interpolation, MaxentLM, NgramModel
from perplexity import UNKNOWN, lines_of

CLASSES = (50, 100, 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="order 3 and a quarter of the text")
    options = parser.parse_args()
    train, valid, test = (lines_of(part) for part in ("train", "valid", "test"))
    train = train[: len(train) // 4] if options.quick else train
    found: list[dict[str, Any]] = []

    def take(name: str, make: Callable[[], Any], published: str = "") -> Any:
        start = process_time()
        model = make()
        seconds = process_time() - start
        row = {"model": name, "seconds": seconds, "valid": model.perplexity(valid), "test": model.perplexity(test)}
        found.append({**row, "published": published})
        return model

    for order in (3,) if options.quick else (3, 5):
        published = {3: ("148.3", ""), 5: ("141.2", "142.1")}[order]
        take(f"Kneser-Ney, order {order}", lambda: NgramModel(order, unk=UNKNOWN).fit(train), published[0])  # noqa: B023
        take(f"maximum entropy, order {order}", lambda: MaxentLM(order, unk=UNKNOWN).fit(train), published[1])  # noqa: B023
        best = take(
            f"… priors by the validation part, order {order}",
            lambda: MaxentLM(order, unk=UNKNOWN).fit(train, X_val=valid),  # noqa: B023
        )
        take(
            f"… with caches, order {order}",
            lambda: Interpolation([best, Cache(500), Cache(2000, order=2)]).fit_weights(valid),  # noqa: B023
            "125.7 (Kneser-Ney with a cache)" if order == 5 else "",
        )
    models = {
        n: take(f"Model M, {n} classes", lambda: MaxentLM(3, classes=n, unk=UNKNOWN).fit(train))  # noqa: B023
        for n in CLASSES
    }
    n = min(models, key=lambda each: models[each].perplexity(valid))
    take(
        f"… {n} classes and caches",
        lambda: Interpolation([models[n], Cache(500), Cache(2000, order=2)]).fit_weights(valid),
    )
    columns = ["model", "CPU s", "valid", "test", "published"]
    rows = [
        [row["model"], f"{row['seconds']:.2f}", f"{row['valid']:.2f}", f"{row['test']:.2f}", row["published"]]
        for row in found
    ]
    show("Penn Treebank, perplexity", columns, rows)
    save("maxent_lm", found)


if __name__ == "__main__":
    main()
