"""
Smoothing and perplexity
========================

How surprised is a language model by a text that it has not seen?
Perplexity by the order of the model, for several smoothings.
"""

# %%
# Docstrings of the standard library as sentences: four of five to learn from.
import sysconfig
import warnings
from pathlib import Path

import matplotlib.pyplot as plt

from fastlin.demo import corpus
from fastlin.lm import NgramModel

texts, _ = corpus(Path(sysconfig.get_path("stdlib")))
sentences = [text.lower().split() for text in texts]
learn = [words for place, words in enumerate(sentences) if place % 5]
held_out = sentences[::5]

# %%
# Longer histories help where smoothing knows what to do with those it has not seen.
warnings.simplefilter("ignore")  # of counts too few for Kneser and Ney's discounts
orders = [1, 2, 3, 4]
figure, ax = plt.subplots(layout="constrained")
for smoothing in ("modified_kneser_ney", "witten_bell", "absolute_discounting", "laplace"):
    models = (NgramModel(order, smoothing, min_count=2).fit(learn) for order in orders)
    ax.plot(orders, [model.perplexity(held_out) for model in models], "o-", label=smoothing)
ax.set(xlabel="order", ylabel="perplexity of the docstrings held out", yscale="log", xticks=orders)
ax.legend()
plt.show()
