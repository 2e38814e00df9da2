"""
How sure is a tagger?
=====================

A CRF has a probability for every label of every token, given the whole sentence.
"""

# %%
# A few tagged sentences, and one in which a word may be a noun or a verb.
import matplotlib.pyplot as plt

from fastlin.sequence import CRF
from fastlin.text.templates import pos

tagged = [
    ("the dog barks", "DET NOUN VERB"),
    ("dogs bark loudly", "NOUN VERB ADV"),
    ("a duck swims", "DET NOUN VERB"),
    ("they duck quickly", "PRON VERB ADV"),
    ("they see the duck", "PRON VERB DET NOUN"),
    ("the cats sleep", "DET NOUN VERB"),
    ("we saw her cat", "PRON VERB DET NOUN"),
    ("we saw her", "PRON VERB PRON"),
]
words, tags = ([line.split() for line in column] for column in zip(*tagged, strict=True))
model = CRF(features=pos(), c2=0.05).fit(words, tags)

# %%
# Rows are words, columns labels: the marginals of forward and backward.
sentence = ["we", "saw", "her", "duck"]
p = model.predict_marginals([sentence])[0]
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(len(model.classes_)), model.classes_)
ax.set_yticks(range(len(sentence)), sentence)
for row, values in enumerate(p):
    for column, value in enumerate(values):
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.5 else "black")
figure.colorbar(image, label="p(label | sentence)")
plt.show()
