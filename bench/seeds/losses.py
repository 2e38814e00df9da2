"""What do the losses charge for a margin?

The margin is y·s, the score on the side of the right label. The perceptron's loss stops at 0, the
hinge asks for a margin of 1, its square punishes large errors more, and the logistic loss never
stops asking. All but the error itself are convex; hinge, squared hinge and the logistic loss divided by
log 2 lie above it. The values are those of `fastlin.losses`, the ones every learner runs.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import numpy as np

from fastlin import losses

CURVES = {
    "error": losses.zero_one,
    "perceptron": losses.perceptron,
    "hinge": losses.hinge,
    "squared hinge": losses.squared_hinge,
    "logistic": losses.log_loss,
}
TABLE = np.arange(-3.0, 3.5, 0.5)
LINE = np.linspace(-3.0, 3.0, 601)


def values(margins: np.ndarray) -> dict[str, np.ndarray]:
    """Every loss of a row whose label is positive and whose score is the margin."""
    positive = np.ones(len(margins), dtype=np.int64)
    return {name: loss(margins, positive)[0] for name, loss in CURVES.items()}


def draw() -> None:
    with picture("losses") as axes:
        if axes is None:
            return
        for name, line in values(LINE).items():
            axes.plot(LINE, line, label=name, color="grey" if name == "error" else None)
        axes.set(xlabel="margin  y·s", ylabel="loss", ylim=(-0.1, 5.0))
        axes.legend()


def main() -> None:
    table = values(TABLE)
    rows = [[f"{margin:+.1f}", *(f"{table[name][i]:.3f}" for name in CURVES)] for i, margin in enumerate(TABLE)]
    show("loss of a margin", ["margin", *CURVES], rows)
    save("losses", {"margin": TABLE.tolist(), **{name: line.tolist() for name, line in table.items()}})
    draw()


if __name__ == "__main__":
    main()
