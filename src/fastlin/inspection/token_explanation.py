"""Why a model of sequences gives a token its label, while its neighbours keep theirs."""

from typing import Any

from fastlin.inspection.explanation import Explanation


def explain_token(model: Any, tokens: Any, place: int, label: Any = None) -> Explanation:
    """Take the score of a token's labels apart, where all other tokens of the sequence have those predicted.

    s(y) of the paths that differ at this token alone is a sum over its features, the transitions into it and out of
    it and, of a MEMM, what normalises the tokens behind it: the contributions add up to the difference of two paths'
    scores, which is that of their `log_proba` but for constraints.

    Parameters
    ----------
    model : fitted model of sequences
    tokens : list of tokens
        One sequence.
    place : int
        Which of the tokens.
    label : label, optional
        Why this one, rather than the best of the others; the label predicted when not given.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from fastlin.inspection import explain_token
    >>> from fastlin.sequence import StructuredPerceptron
    >>> X = [["the", "dog", "barks"], ["a", "dog", "ran"], ["the", "cat", "ran"]]
    >>> model = StructuredPerceptron(average=False, shuffle=False).fit(X, [["D", "N", "V"]] * 3)
    >>> print(explain_token(model, ["a", "cat", "ran"], 1))
    N rather than V: ahead by 2
      contribution     value  feature
           +1.0000         1  D before it
           +1.0000         1  V behind it
           +0.0000         1  cat
           +0.0000            the intercept
    """
    if not hasattr(model, "predict_nbest"):
        raise TypeError(f"{type(model).__name__} is no model of sequences; explain explains a document's label")
    found: Explanation = model._explain_token(tokens, place, label)
    return found
