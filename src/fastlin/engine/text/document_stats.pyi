import numpy as np
from numpy.typing import NDArray

OTHER: int
UPPER: int
LOWER: int
LETTER: int
DIGIT: int
MARK: int
APOSTROPHE: int
EXCLAMATION: int
QUESTION: int
STOP: int
ELLIPSIS: int
COMMA: int
COLON: int
QUOTE: int
BRACKET: int
DASH: int
PUNCTUATION: int
SYMBOL: int
WORDS: int
IN_WORDS: int
ALL_CAPS: int
CAPITALISED: int
ELONGATED: int
REPEATED: int
CHARACTERS: int
COUNTS: int

def describe_documents(
    codes: NDArray[np.uint32], bounds: NDArray[np.int64], kinds: NDArray[np.uint8], counts: NDArray[np.int64]
) -> None: ...
