"""
Misspelt words and how far away they are
========================================

A channel of edits learns which mistakes are made; what it says of a word is a sum over all ways to write it so.
"""

# %%
# Pairs of a word and what was written.
import matplotlib.pyplot as plt
import numpy as np

from fastlin.channel import EditChannel, SpellingCorrector

pairs = [("receive", "recieve"), ("believe", "beleive"), ("their", "thier"), ("separate", "seperate"),
         ("definite", "definate"), ("really", "realy"), ("until", "untill"), ("which", "wich")]  # fmt: skip
right = [(word, word) for word, _ in pairs]
channel = EditChannel(alpha=1.0).fit(pairs + right)

# %%
# ln p(written | meant), for every pair: the diagonal is brightest.
meant, written = ["weird", "friend", "apparent", "usually", "what"], ["wierd", "freind", "apparant", "usualy", "wat"]
scores = np.array([channel.log_proba([word] * len(written), written) for word in meant])
figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
image = ax.imshow(scores, cmap="viridis")
ax.set_xticks(range(len(written)), written, rotation=30)
ax.set_yticks(range(len(meant)), meant)
ax.set(xlabel="written", ylabel="meant")
figure.colorbar(image, label="ln p(written | meant)")
plt.show()

# %%
# In a sentence the words beside it decide, too.
text = ["a piece of cake and a cup of tea", "this is his cap", "he wore a cap", "a cup of coffee"] * 3
options = {"min_count": 1, "smoothing": "witten_bell", "error_rate": 0.5, "edit_probability": 0.05}
print(SpellingCorrector(order=3, **options).fit(text).correct("A peice of caek and a cap of tea"))
