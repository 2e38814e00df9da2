"""What does one pass from a file to a model cost beside Vowpal Wabbit's: processor time and memory of the process?

Short documents, pieces of 4 to 16 words of IMDB's reviews, a label each; hashed into 2^18 columns and learnt from once
by logistic loss: `fastlin train --stream`, with Adagrad and no penalty as VW's --adaptive, with the command line's own
penalty, and with a constant rate as VW's --sgd. VW reads the same texts in its own format, in lower case. Each run is a
process of its own, bound to one core; both threads of VW count.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import os
import random
import subprocess
import sys
from pathlib import Path
from statistics import median

from corpora import cache_folder, documents

MEMORY = "; print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"  # kB: wait4 counts the parent's, too
VW_DRIVER = "import sys; from vowpalwabbit import Workspace; Workspace(sys.argv[1]).finish()" + MEMORY
OUR_DRIVER = "import sys; from fastlin.cli import main; assert not main(sys.argv[1:])" + MEMORY
VW = "-d {folder}/{n}.vw -f {folder}/vw.model -b 18 --loss_function logistic --quiet"
OURS = "train {folder}/{n}.tsv -m {folder}/m.fastlin --learner sgd --stream --labels neg,pos --quiet"
NO_PENALTY = f"{OURS} --set penalty=none"
PAIRS = {  # ours, VW's
    "Adagrad": (NO_PENALTY, f"{VW} --adaptive"),
    "Adagrad, L2; VW's defaults": (OURS, VW),
    "a constant rate": (f"{NO_PENALTY} --set learning_rate=constant", f"{VW} --sgd"),
    "Adagrad, labels found": (NO_PENALTY.replace("--labels neg,pos ", ""), f"{VW} --adaptive"),
}


def write(n: int, folder: Path) -> None:
    """Pieces of all reviews in turn, so that labels are mixed; each round of the reviews goes on where it was."""
    if (folder / f"{n}.vw").exists():
        return
    rng = random.Random(0)
    reviews = [(label, text.split()) for label, text in zip(*documents("imdb", "train"), strict=True)]
    rng.shuffle(reviews)
    places = [0] * len(reviews)
    with open(folder / f"{n}.tsv", "w") as tsv, open(folder / f"{n}.vw", "w") as vw:
        for made in range(n):
            which = made % len(reviews)
            label, words = reviews[which]
            place = places[which] if places[which] < len(words) else rng.randrange(8)
            places[which] = place + rng.randrange(4, 17)
            text = " ".join(words[place : places[which]])
            tsv.write(f"{label}\t{text}\n")
            vw.write(f"{1 if label == 'pos' else -1} | {text.replace('|', ' ').replace(':', ' ').lower()}\n")


def cost(words: list[str]) -> tuple[float, float]:
    """Seconds of processor time, and megabytes."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{words} ended with {status}")
    return used.ru_utime + used.ru_stime, int(said.split()[-1]) / 1e3


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    options = parser.parse_args()
    folder = cache_folder() / "stream"
    folder.mkdir(exist_ok=True)
    write(options.documents, folder)
    rows, results = [], []
    for name, pair in PAIRS.items():
        if options.only and options.only not in name:
            continue
        ours, peer = (line.format(folder=folder, n=options.documents) for line in pair)
        commands = {
            "fastlin": [sys.executable, "-c", OUR_DRIVER, *ours.split()],
            "VW": [sys.executable, "-c", VW_DRIVER, peer],
        }
        costs: dict[str, list[tuple[float, float]]] = {side: [] for side in commands}
        for _ in range(options.repeat):
            for side, words in commands.items():
                costs[side].append(cost(words))
        seconds = {side: median(one for one, _ in found) for side, found in costs.items()}
        megabytes = {side: median(one for _, one in found) for side, found in costs.items()}
        ratio, room = seconds["VW"] / seconds["fastlin"], megabytes["fastlin"] / megabytes["VW"]
        rows.append([name, *seconds.values(), *megabytes.values(), ratio, room])
        results.append({"question": name, "documents": options.documents, "seconds": seconds, "megabytes": megabytes})
    heads = ["fastlin s", "VW s", "fastlin MB", "VW MB", "VW ÷ ours, time", "ours ÷ VW, memory"]
    show(f"{options.documents:,} short documents, one pass", ["learner", *heads], rows)
    save("stream", results)


if __name__ == "__main__":
    main()
