"""The best path through a lattice of words, by a back-off model: beam search over its states.

    score(state after w at t) = max over states before of  score + weight · ln p(w | state) + channel(w, t)

Paths that come to one state are one, the better: with a beam that holds all states the path is the best there is. The
states of a place and all words that may stand there are asked together, level by level (`BackoffQueries.step`).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, checked_product
from fastlin.engine.core.interruption cimport look
from fastlin.engine.lm.backoff cimport HIGHEST, BackoffQueries

cdef enum:
    BEGIN = 0
    END = 1
    MOST_STATES = 1 << 12       # of a beam
    PAIRS_A_LOOK = 1 << 16      # of a state and a word that are tried before a look at what may end the job

MOST_BEAM = MOST_STATES

cdef struct Way:
    int32_t before              # the way to the place before, in its beam
    int32_t candidate

cdef struct WordBeam:
    int width                   # n-grams of a state
    int room
    int n
    int32_t* nodes              # [room, width]
    double* scores
    Way* ways                   # of the place that is filled

cdef struct Expansion:
    int64_t room                # pairs of a state and a word
    int64_t tried               # since the last look at what may end the job
    int32_t* before             # [width, n]
    int32_t* after
    int32_t* words
    double* log_prob


cdef void free_expansion(Expansion* pairs) noexcept nogil:
    free(pairs.before)
    free(pairs.after)
    free(pairs.words)
    free(pairs.log_prob)


cdef bint make_expansion(Expansion* pairs, int64_t room, int width) noexcept nogil:
    pairs.room = room
    pairs.before = <int32_t*>allocate(checked_product(room, width), sizeof(int32_t))
    pairs.after = <int32_t*>allocate(checked_product(room, width), sizeof(int32_t))
    pairs.words = <int32_t*>allocate(room, sizeof(int32_t))
    pairs.log_prob = <double*>allocate(room, sizeof(double))
    return pairs.before != NULL and pairs.after != NULL and pairs.words != NULL and pairs.log_prob != NULL


cdef bint same_state(const int32_t* a, const int32_t* b, int width) noexcept nogil:
    cdef int k
    for k in range(width):
        if a[k] != b[k]:
            return False
    return True


cdef void remove_way(WordBeam* beam, int at) noexcept nogil:
    cdef int i, k
    for i in range(at, beam.n - 1):
        for k in range(beam.width):
            beam.nodes[i * beam.width + k] = beam.nodes[(i + 1) * beam.width + k]
        beam.scores[i], beam.ways[i] = beam.scores[i + 1], beam.ways[i + 1]
    beam.n -= 1


cdef void offer(WordBeam* beam, const int32_t* nodes, double score, Way way) noexcept nogil:
    """A way into its place, best first, equals in the order in which they come; of two to a state the better stays."""
    cdef int i, k, at
    if beam.n == beam.room and score <= beam.scores[beam.n - 1]:
        return
    for i in range(beam.n):
        if same_state(&beam.nodes[i * beam.width], nodes, beam.width):
            if score <= beam.scores[i]:
                return
            remove_way(beam, i)
            break
    if beam.n == beam.room:
        beam.n -= 1
    at = beam.n
    while at > 0 and beam.scores[at - 1] < score:
        for k in range(beam.width):
            beam.nodes[at * beam.width + k] = beam.nodes[(at - 1) * beam.width + k]
        beam.scores[at], beam.ways[at] = beam.scores[at - 1], beam.ways[at - 1]
        at -= 1
    for k in range(beam.width):
        beam.nodes[at * beam.width + k] = nodes[k]
    beam.scores[at], beam.ways[at] = score, way
    beam.n += 1


cdef class Lattice:
    """The words that may stand for each kind of token, numbers[starts[k]:starts[k + 1]], and what the channel says."""

    cdef const int64_t[::1] starts
    cdef const int32_t[::1] numbers
    cdef const double[::1] channel
    cdef int64_t widest         # kind
    cdef int32_t highest        # number

    def __cinit__(self, const int64_t[::1] starts, const int32_t[::1] numbers, const double[::1] channel):
        cdef int64_t i, n = starts.shape[0] - 1
        cdef bint sound = n >= 0 and starts[0] == 0 and starts[n] == numbers.shape[0] == channel.shape[0]
        self.starts, self.numbers, self.channel = starts, numbers, channel
        self.highest = -1
        for i in range(n if sound else 0):
            sound = sound and starts[i] < starts[i + 1]
            self.widest = max(self.widest, starts[i + 1] - starts[i])
        for i in range(numbers.shape[0] if sound else 0):
            sound = sound and numbers[i] >= 1
            self.highest = max(self.highest, numbers[i])
        if not sound:
            raise ValueError("a lattice without words")

    def decode(self, BackoffQueries queries, const int64_t[::1] sentences, const int32_t[::1] tokens, double weight,
               double floor, int beam, int32_t[::1] chosen):
        """Of sentences tokens[sentences[i]:sentences[i + 1]] the word chosen for each token, by its place in `numbers`.

        No ln p counts as less than `floor`.
        """
        cdef int64_t i, longest = 0, n = sentences.shape[0] - 1
        cdef int width = max(1, queries.order - 1)
        cdef Expansion pairs = [0, 0, NULL, NULL, NULL, NULL]
        cdef WordBeam old = [width, beam, 0, NULL, NULL, NULL], new = [width, beam, 0, NULL, NULL, NULL]
        cdef Way* ways = NULL
        cdef bint sound = n >= 0 and sentences[0] == 0 and sentences[n] == tokens.shape[0] == chosen.shape[0]
        for i in range(n if sound else 0):
            sound = sound and sentences[i] <= sentences[i + 1]
            longest = max(longest, sentences[i + 1] - sentences[i])
        for i in range(tokens.shape[0] if sound else 0):
            sound = sound and 0 <= tokens[i] < self.starts.shape[0] - 1
        if not sound or self.highest >= queries.n_words or not 1 <= beam <= MOST_STATES:
            raise ValueError("sentences of other words")
        try:
            ways = <Way*>allocate(checked_product(longest + 1, beam), sizeof(Way))
            if (ways == NULL or not make_beam(&old) or not make_beam(&new)
                    or not make_expansion(&pairs, checked_product(beam, self.widest + 1), width)):
                raise MemoryError
            with nogil:
                for i in range(n):
                    if sentences[i] < sentences[i + 1]:
                        self.sentence(queries, &tokens[sentences[i]], sentences[i + 1] - sentences[i], weight, floor,
                                      &old, &new, &pairs, ways, &chosen[sentences[i]])
        finally:
            free(ways)
            free_beam(&old)
            free_beam(&new)
            free_expansion(&pairs)

    cdef int sentence(self, BackoffQueries queries, const int32_t* tokens, int64_t n, double weight, double floor,
                      WordBeam* old, WordBeam* new, Expansion* pairs, Way* ways, int32_t* chosen) except -1 nogil:
        cdef int64_t t
        cdef int k, best
        old.n, old.scores[0] = 1, 0
        for k in range(old.width):
            old.nodes[k] = -1
        if queries.order > 1:
            old.nodes[0] = BEGIN
        for t in range(n):
            pairs.tried += old.n * (self.starts[tokens[t] + 1] - self.starts[tokens[t]])
            if pairs.tried >= PAIRS_A_LOOK:
                pairs.tried = 0
                with gil:
                    look()
            new.ways, new.n = ways + t * new.room, 0
            self.expand(queries, self.starts[tokens[t]], self.starts[tokens[t] + 1], weight, floor, old, new, pairs)
            old[0], new[0] = new[0], old[0]
        best = self.end(queries, weight, floor, old, pairs)
        for t in range(n - 1, -1, -1):
            chosen[t] = ways[t * old.room + best].candidate
            best = ways[t * old.room + best].before
        return 0

    cdef void expand(self, BackoffQueries queries, int64_t first, int64_t stop, double weight, double floor,
                     const WordBeam* old, WordBeam* new, Expansion* pairs) noexcept nogil:
        """Every state with every word that may follow."""
        cdef int64_t i = 0, c, n = old.n * (stop - first)
        cdef int32_t[HIGHEST] nodes
        cdef int b, k, known
        cdef Way way
        for b in range(old.n):
            for c in range(first, stop):
                pairs.words[i] = self.numbers[c]
                for k in range(old.width):
                    pairs.before[k * n + i] = old.nodes[b * old.width + k]
                i += 1
        queries.step(pairs.before, pairs.words, n, pairs.after, pairs.log_prob)
        i = 0
        for b in range(old.n):
            for c in range(first, stop):
                known = <int>queries.known(&pairs.after[i], n) if queries.order > 1 else 0
                for k in range(new.width):
                    nodes[k] = pairs.after[k * n + i] if k < known else -1
                way.before, way.candidate = b, <int32_t>c
                offer(new, nodes, old.scores[b] + weight * max(pairs.log_prob[i], floor) + self.channel[c], way)
                i += 1

    cdef int end(self, BackoffQueries queries, double weight, double floor, const WordBeam* beam,
                 Expansion* pairs) noexcept nogil:
        """Which of the states is best, with the end of the sentence."""
        cdef int b, k, best = 0
        cdef double score, highest = -INFINITY
        for b in range(beam.n):
            pairs.words[b] = END
            for k in range(beam.width):
                pairs.before[k * beam.n + b] = beam.nodes[b * beam.width + k]
        queries.step(pairs.before, pairs.words, beam.n, pairs.after, pairs.log_prob)
        for b in range(beam.n):
            score = beam.scores[b] + weight * max(pairs.log_prob[b], floor)
            if score > highest:
                best, highest = b, score
        return best


cdef bint make_beam(WordBeam* beam) noexcept nogil:
    beam.nodes = <int32_t*>allocate(checked_product(beam.room, beam.width), sizeof(int32_t))
    beam.scores = <double*>allocate(beam.room, sizeof(double))
    return beam.nodes != NULL and beam.scores != NULL


cdef void free_beam(WordBeam* beam) noexcept nogil:
    free(beam.nodes)
    free(beam.scores)
