"""
Two trees of a sentence
=======================

Who has the telescope?
A probabilistic grammar gives each tree a probability, and draws them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fastlin.grammar import PCFG, Tree

grammar = PCFG.from_rules(
    """
    S -> NP VP [1.0]
    NP -> Det N [0.5] | NP PP [0.2] | 'I' [0.3]
    VP -> V NP [0.6] | VP PP [0.4]
    PP -> P NP [1.0]
    Det -> 'the' [0.5] | 'a' [0.5]
    N -> 'man' [0.6] | 'telescope' [0.4]
    V -> 'saw' [1.0]
    P -> 'with' [1.0]
    """
)
trees = grammar.predict_nbest(["I saw the man with a telescope"], n=2)[0]
probabilities = np.exp(trees.log_joint - np.logaddexp.reduce(trees.log_joint))


# %%
# Words stand in a row; a constituent is above the middle of what it consists of.
def draw(tree, ax):
    """Draw a tree, and return the place of its root."""

    def place(node, words):
        if not isinstance(node, Tree):
            words.append(node)
            at = (len(words) - 1.0, 0.0)
            label = node
        else:
            children = [place(child, words) for child in node.children]
            at = (np.mean([x for x, _ in children]), 1 + max(y for _, y in children))
            label = node.label
            for x, y in children:
                ax.plot([at[0], x], [at[1] - 0.15, y + 0.2], color="grey", linewidth=1)
        ax.text(*at, label, ha="center", va="center")
        return at

    place(tree, [])
    ax.axis("off")


figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, tree, p in zip(axes, trees, probabilities, strict=True):
    draw(tree, ax)
    ax.set_title(f"p(tree | sentence) = {p:.2f}")
plt.show()
