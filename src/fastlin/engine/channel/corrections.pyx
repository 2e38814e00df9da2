"""The best words of a dictionary for observed ones: neighbours in the index of deletes, weighed by what they cost.

    score(w) = prior_weight · ln p(w) + ln p(observed | w)
    ln p(observed | w) = log_right  if w is the observed word,  else  log_wrong + ln p by the rules of edits

A word whose prior and the most probable of all rules do not reach the last of the best is not scored. Words that are
the observed one stay, whatever is better.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from cython cimport final

import numpy as np

from fastlin.engine.channel.deletes_index cimport DeletesIndex, Neighbours, free_neighbours
from fastlin.engine.channel.edit_rules cimport LONGEST_SCORED, EditRules, MarkedWord
from fastlin.engine.channel.words cimport prove_words
from fastlin.engine.core.allocation cimport allocate_zeros
from fastlin.engine.core.interruption cimport look

cdef enum:
    MOST_BEST = 256             # words of a query
    QUERIES_A_LOOK = 256        # that are answered before a look at what may end the job

MOST = MOST_BEST

cdef struct Best:
    int32_t[MOST_BEST] words
    int8_t[MOST_BEST] distances
    double[MOST_BEST] scores
    double[MOST_BEST] channel   # ln p(observed | word)
    int n
    int room


cdef void insert(Best* best, int32_t word, int8_t distance, double score, double channel) noexcept nogil:
    """Into its place, best first, equals in the order in which they come; the last makes room."""
    cdef int at
    if best.n == best.room:
        if score <= best.scores[best.n - 1] and distance:
            return
        best.n -= 1
    at = best.n
    while at > 0 and best.scores[at - 1] < score:
        best.words[at], best.distances[at] = best.words[at - 1], best.distances[at - 1]
        best.scores[at], best.channel[at] = best.scores[at - 1], best.channel[at - 1]
        at -= 1
    best.words[at], best.distances[at], best.scores[at], best.channel[at] = word, distance, score, channel
    best.n += 1


@final
cdef class Corrections:
    """A dictionary's index, ln p of its words, and the rules of a channel."""

    cdef DeletesIndex index
    cdef EditRules rules
    cdef const float[::1] log_prior
    cdef double prior_weight, log_right, log_wrong

    def __cinit__(self, DeletesIndex index, EditRules rules, const float[::1] log_prior, double prior_weight,
                  double log_right, double log_wrong):
        if log_prior.shape[0] != index.n_words:
            raise ValueError("priors of other words")
        self.index, self.rules, self.log_prior = index, rules, log_prior
        self.prior_weight, self.log_right, self.log_wrong = prior_weight, log_right, log_wrong

    cdef void weigh(self, const uint32_t* query, int64_t n, const MarkedWord* marked, const Neighbours* found,
                    Best* best) noexcept nogil:
        """The best of what was found; a word itself last, so that nothing pushes it out."""
        cdef int64_t i, length
        cdef int32_t word, turn
        cdef double prior, channel
        best.n = 0
        for turn in range(2):
            for i in range(found.n):
                if (found.distances[i] == 0) != turn:
                    continue
                word = found.words[i]
                prior = self.prior_weight * self.log_prior[word]
                channel = self.log_right
                if not turn:
                    if best.n == best.room and prior + self.log_wrong + self.rules.highest <= best.scores[best.n - 1]:
                        continue
                    length = self.index.offsets[word + 1] - self.index.offsets[word]
                    channel = self.log_wrong + self.rules.word_log_prob(self.index.word_at(word), length, marked, n,
                                                                        found.distances[i])
                insert(best, word, found.distances[i], prior + channel, channel)

    def best(self, const uint32_t[::1] letters, const int64_t[::1] offsets, int edits, int edits_of_known, int n_best):
        """(starts [n + 1], words, distances, ln p(observed | word)) of the best n words of each query, best first.

        Words of the dictionary have a number of edits of their own.
        """
        cdef int64_t i, k, n_found = 0, n = offsets.shape[0] - 1, length
        cdef const uint32_t* query = &letters[0] if letters.shape[0] else NULL
        cdef Neighbours found = [NULL, NULL, 0, 0]
        cdef MarkedWord marked
        cdef Best best
        cdef int32_t* marks
        cdef bint whole = True
        cdef int allowed
        if not prove_words(letters, offsets) or n > 1073741823:
            raise ValueError("queries without their letters")
        if not 1 <= n_best <= MOST_BEST:
            raise ValueError(f"room for {n_best} words")
        if not 0 <= edits <= self.index.max_edits or not 0 <= edits_of_known <= edits:
            raise ValueError("more edits than the index has")
        best.room = n_best
        starts, words = np.zeros(n + 1, np.int64), np.empty(n * n_best, np.int32)
        distances, log_prob = np.empty(n * n_best, np.int8), np.empty(n * n_best)
        cdef int64_t[::1] start = starts
        cdef int32_t[::1] word = words
        cdef int8_t[::1] distance = distances
        cdef double[::1] channel = log_prob
        marks = <int32_t*>allocate_zeros(self.index.n_words, sizeof(int32_t))
        try:
            whole = marks != NULL
            with nogil:
                for i in range(n if whole else 0):
                    length, found.n = offsets[i + 1] - offsets[i], 0
                    whole = self.index.find(query + offsets[i], length, 0, marks, <int32_t>(2 * i + 1), &found)
                    allowed = edits_of_known if found.n else edits
                    if whole and allowed:
                        found.n = 0
                        whole = self.index.find(query + offsets[i], length, allowed, marks, <int32_t>(2 * i + 2),
                                                &found)
                    if not whole:
                        break
                    if length <= LONGEST_SCORED:
                        self.rules.mark_word(query + offsets[i], length, self.rules.seed + 2, &marked)
                    self.weigh(query + offsets[i], length, &marked, &found, &best)
                    for k in range(best.n):
                        word[n_found + k], distance[n_found + k] = best.words[k], best.distances[k]
                        channel[n_found + k] = best.channel[k]
                    n_found += best.n
                    start[i + 1] = n_found
                    if i % QUERIES_A_LOOK == QUERIES_A_LOOK - 1:
                        with gil:
                            look()
            if not whole:
                raise MemoryError
        finally:
            free(marks)
            free_neighbours(&found)
        return starts, words[:n_found].copy(), distances[:n_found].copy(), log_prob[:n_found].copy()
