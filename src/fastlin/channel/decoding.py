"""What decoding comes to."""

from typing import NamedTuple


class Decoding(NamedTuple):
    """The words of a source, and ln p(source) + ln p(observed | source), the source's weighted.

    Attributes
    ----------
    words : list of str
        The source, in its order.
    log_prob : float
        Nats.
    """

    words: list[str]
    log_prob: float
