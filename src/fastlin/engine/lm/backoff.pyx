"""Queries of a back-off model: log p of all words of a text, of one word after a state, of every word after a context.

    log p(w|h) = log_prob(hw)                     if hw is known
               = backoff(h) + log p(w|h′)         else, where an unknown h has backoff 0

A text is asked level by level. The questions of level n are the tokens whose (n−1)-gram before them is known: where the
n-gram is a child of it, its log_prob replaces what stood there, else the history's backoff is added. The n-grams that
are known are the histories of the next level's questions, of which there are fewer and fewer. There is no branch on how
far back a word has to go; what the next questions ask for is on its way from memory meanwhile. A chunk of tokens passes
all levels while it is in cache. Who asks much is answered from hash tables, which are made then; histories are places
in them.

The layout is that of ngram_counts; log_prob and backoff are natural logarithms.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_Size
from cython cimport critical_section, final

import numpy as np

from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.csr cimport prefetch
from fastlin.engine.core.mathx cimport exponential
from fastlin.engine.lm.ngram_tables cimport Level, Questions, NgramTables, free_tables, make_tables, score_table

cdef extern from "Python.h":
    bint PyLong_CheckExact(object) noexcept
    long long PyLong_AsLongLongAndOverflow(object, int* overflow) except? -1

cdef extern from "backoff.h" nogil:
    float log_prob_at "fastlin_log_prob"(const Level*, int64_t) noexcept
    int64_t find "fastlin_find"(const int32_t*, int64_t first, int64_t stop, int32_t) noexcept
    void score_level "fastlin_score_level"(const Level*, const float* backoff, const int32_t* tokens,
                                           const Questions* asked, Questions* next, double* log_prob,
                                           int32_t* lengths, int32_t length) noexcept

cdef enum:
    CHUNK = 1024            # tokens that pass the levels together
    N_CODES = 256           # of one byte
    AHEAD = 8               # states whose children are on their way from memory
    TOGETHER = 256          # children whose exponentials are vectors
    PAYS = 4                # n-grams for each question: tables of them are made as soon as there are fewer

SCRATCH = 5 * CHUNK + 4     # numbers of scratch memory, besides one for each order
TABLES_ROOM = 1 << 30       # bytes of all tables of a model

cdef inline Questions questions_in(int32_t* numbers, float* weights) noexcept nogil:
    """An empty list of up to CHUNK questions; before the first there is room for one more."""
    cdef Questions questions
    questions.at = numbers + 1
    questions.history = numbers + CHUNK + 2
    questions.weight = weights + 1
    questions.n = 0
    return questions


cdef inline Questions beginning_with(Questions questions, int32_t history, float weight) noexcept nogil:
    """The same questions after that of the first token."""
    questions.at -= 1
    questions.history -= 1
    questions.weight -= 1
    questions.n += 1
    questions.at[0] = 0
    questions.history[0] = history
    questions.weight[0] = weight
    return questions


cdef inline int64_t child(const Level* level, int64_t history, int32_t word) noexcept nogil:
    return find(level.words, level.starts[history], level.starts[history + 1], word)


@final
cdef class BackoffQueries:
    """The arrays of a model, bound once. Whoever makes one has proved that children and words are in range."""

    def __cinit__(self, list starts, list words, list log_prob, list backoff, uint64_t seed,
                  int64_t room=TABLES_ROOM, list codes=None):
        cdef const int32_t[::1] integers
        cdef const float[::1] numbers
        cdef const uint8_t[::1] bytes_
        cdef int64_t i
        cdef int k
        self.order = len(log_prob)
        if not 1 <= self.order <= HIGHEST:
            raise ValueError(f"an order of {self.order}")
        if not len(starts) == len(words) == self.order or len(backoff) != self.order - 1:
            raise ValueError("arrays of different orders")
        self.levels = <Level*>allocate_zeros(self.order, sizeof(Level))
        if self.levels == NULL:
            raise MemoryError
        self.seed, self.room = seed, room
        self.kept = [starts, words, log_prob, backoff, codes]
        for k in range(self.order):
            numbers = log_prob[k]
            self.levels[k].n = numbers.shape[0]
            self.levels[k].log_prob = &numbers[0] if numbers.shape[0] else NULL
            if codes is not None and codes[k] is not None:
                if k == 0 or numbers.shape[0] != N_CODES:
                    raise ValueError("codes of no numbers")
                bytes_ = codes[k]
                self.levels[k].n = bytes_.shape[0]
                self.levels[k].codes = &bytes_[0] if bytes_.shape[0] else NULL
            if k < self.order - 1:
                numbers = backoff[k]
                if numbers.shape[0] != self.levels[k].n:
                    raise ValueError("back-off weights of other n-grams")
                self.levels[k].backoff = &numbers[0] if numbers.shape[0] else NULL
            if k:
                integers = starts[k]
                if integers.shape[0] != self.levels[k - 1].n + 1:
                    raise ValueError("children of other n-grams")
                self.levels[k].starts = &integers[0]
                integers = words[k]
                if integers.shape[0] != self.levels[k].n:
                    raise ValueError("words of other n-grams")
                self.levels[k].words = &integers[0] if integers.shape[0] else NULL
        self.n_words = self.levels[0].n
        self.unigrams = <float*>allocate(self.n_words, sizeof(float))
        if self.unigrams == NULL:
            raise MemoryError
        for i in range(self.n_words):
            self.unigrams[i] = <float>exponential(self.levels[0].log_prob[i])

    def __dealloc__(self):
        free_tables(self.tables)
        free(self.unigrams)
        free(self.levels)

    cdef const NgramTables* tables_for(self, int64_t n) except? NULL:
        """The tables, once there were a quarter as many questions as n-grams; without memory there are none."""
        cdef int64_t n_ngrams = 0
        cdef int k
        for k in range(1, self.order):
            n_ngrams += self.levels[k].n
        with critical_section(self):
            self.asked += n
            if self.order > 1 and not self.tried and self.asked >= n_ngrams // PAYS:
                self.tried = True   # others who ask meanwhile do without
                try:
                    self.tables = make_tables(self.levels, self.order, self.seed, self.room)
                except BaseException:
                    self.tried = False
                    raise
            return self.tables

    @property
    def n_tables(self):
        """Orders of which a table was made."""
        with critical_section(self):
            return 0 if self.tables == NULL else self.tables.n - 1

    def score(self, const int32_t[::1] tokens, double[::1] log_prob, int32_t[::1] lengths, int32_t[::1] nodes,
              float[::1] weights):
        """log p of each token, and how long the n-gram is that it was found in; 0 where a sentence begins.

        Empty `lengths` are not asked for. `nodes` and `weights` [order + SCRATCH] are scratch memory. The tokens are
        words of the model.
        """
        cdef int64_t start, stop, n = tokens.shape[0], room = self.order + SCRATCH
        cdef const NgramTables* tables
        cdef int32_t* of_chunk
        if log_prob.shape[0] != n or lengths.shape[0] not in (0, n) or min(nodes.shape[0], weights.shape[0]) < room:
            raise ValueError("no room for the answers")
        if n == 0:
            return
        tables = self.tables_for(n)
        with nogil:
            for start in range(self.order):
                nodes[start] = -1
            start = 0
            while start < n:
                stop = start + CHUNK if start + CHUNK < n else n
                of_chunk = &lengths[start] if lengths.shape[0] else &nodes[room - CHUNK]
                self.score_chunk(tables, &tokens[start], <int32_t>(stop - start), &nodes[0], &weights[0],
                                 &log_prob[start], of_chunk)
                start = stop

    cdef void score_chunk(self, const NgramTables* tables, const int32_t* tokens, int32_t n, int32_t* last_nodes,
                          float* last_weights, double* log_prob, int32_t* lengths) noexcept nogil:
        """`last` are the n-grams that end at the token before, one of each order, −1: not known; behind them is room
        for two lists of questions."""
        cdef Questions asked = questions_in(last_nodes + self.order, last_weights + self.order)
        cdef Questions others = questions_in(last_nodes + self.order + 2 * (CHUNK + 1),
                                             last_weights + self.order + CHUNK + 1)
        cdef Questions all_asked
        cdef int n_tables = 1 if tables == NULL else tables.n
        cdef int32_t i, history
        cdef float weight
        cdef int k
        for i in range(n):
            log_prob[i] = self.levels[0].log_prob[tokens[i]] if tokens[i] else 0
            lengths[i] = tokens[i] != 0
        for i in range(n if self.order > 1 else 0):
            asked.at[i] = i + 1
            asked.history[i] = tokens[i]
            asked.weight[i] = self.levels[0].backoff[tokens[i]]
        asked.n = n
        for k in range(1, self.order):
            history, weight = last_nodes[k - 1], last_weights[k - 1]
            last_nodes[k - 1] = -1
            if asked.n > 0 and asked.at[asked.n - 1] == n:  # a question of the next chunk
                asked.n -= 1
                last_nodes[k - 1], last_weights[k - 1] = asked.history[asked.n], asked.weight[asked.n]
            all_asked = asked if history < 0 else beginning_with(asked, history, weight)
            if k < n_tables:
                score_table(&tables.of[k], tokens, &all_asked, &others, log_prob, lengths, k + 1)
            else:
                score_level(&self.levels[k], self.levels[k - 1].backoff, tokens, &all_asked, &others, log_prob,
                            lengths, k + 1)
            if k + 1 == n_tables and n_tables < self.order:
                for i in range(<int32_t>others.n):
                    others.history[i] = tables.numbers[others.history[i]]
            asked, others = others, asked

    cdef Py_ssize_t read_state(self, state, Py_ssize_t first, int32_t* nodes, Py_ssize_t stride) except -1:
        """The n-grams of a tuple, from its `first` item on, and how many there are; those beyond are −1."""
        cdef Py_ssize_t k, m = PyTuple_Size(state) - first
        cdef int overflow = 0
        cdef long long node
        if m >= self.order:
            raise ValueError(f"a state that the model does not have: {m} numbers, and its order is {self.order}")
        for k in range(self.order - 1):
            node = -1
            if k < m:
                item = <object>PyTuple_GET_ITEM(state, first + k)
                if not PyLong_CheckExact(item):
                    raise ValueError(f"a state that the model does not have: {item!r:.60} in it is no int")
                node = PyLong_AsLongLongAndOverflow(item, &overflow)
                if overflow or node < -1 or node >= self.levels[k].n or (node < 0 and (k == 0 or k == m - 1)):
                    raise ValueError(f"a state that the model does not have: {item!r:.60} in it is no n-gram")
            nodes[k * stride] = <int32_t>node
        return m

    cdef void step(self, const int32_t* before, const int32_t* words, Py_ssize_t n, int32_t* after,
                   double* log_prob) noexcept nogil:
        """From `before` [order − 1, n] a word on, level by level: n-grams of each length that end there, or −1."""
        cdef Py_ssize_t i, k
        cdef int64_t found
        cdef int32_t history
        for i in range(n):
            log_prob[i] = self.levels[0].log_prob[words[i]]
            if self.order > 1:
                after[i] = words[i]
        for k in range(1, self.order):
            for i in range(n):
                if i + AHEAD < n and before[(k - 1) * n + i + AHEAD] >= 0:
                    prefetch(&self.levels[k].starts[before[(k - 1) * n + i + AHEAD]])
                history = before[(k - 1) * n + i]
                found = child(&self.levels[k], history, words[i]) if history >= 0 else -1
                if found >= 0:
                    log_prob[i] = log_prob_at(&self.levels[k], found)
                elif history >= 0:
                    log_prob[i] += self.levels[k - 1].backoff[history]
                if k < self.order - 1:
                    after[k * n + i] = <int32_t>found

    cdef Py_ssize_t known(self, const int32_t* nodes, Py_ssize_t stride) noexcept nogil:
        """How many n-grams of a state matter: not the last ones that say nothing of the next word."""
        cdef Py_ssize_t m = self.order - 1
        while m > 1 and (nodes[(m - 1) * stride] < 0 or self.idle(m - 1, nodes[(m - 1) * stride])):
            m -= 1
        return m

    cdef bint idle(self, Py_ssize_t k, int64_t node) noexcept nogil:
        """Whether a history has no children and no backoff: it says nothing of the next word."""
        return (self.levels[k + 1].starts[node] == self.levels[k + 1].starts[node + 1]
                and self.levels[k].backoff[node] == 0)

    def advance(self, state, int32_t word):
        """(log p of a word after a state, the state after it): the known n-grams that end there, of 1, 2, … words."""
        cdef int32_t[HIGHEST] before, after
        cdef double log_prob
        cdef Py_ssize_t k
        self.read_state(tuple(state), 0, before, 1)
        if word < 1 or word >= self.n_words:
            raise ValueError("a word that the model does not have")
        self.step(before, &word, 1, after, &log_prob)
        return log_prob, tuple([after[k] for k in range(self.known(after, 1))])

    def advance_many(self, list states, mark, kind, const int32_t[::1] words, double[::1] log_prob):
        """`advance` of states whose first number is a mark, each with a word of its own.

        log p, and a list of the states after them, of a kind of tuples.
        """
        cdef Py_ssize_t i, k, n = len(states), width = max(1, self.order - 1)
        cdef int32_t[:, ::1] nodes
        cdef list after, found = []
        cdef bint inside = True
        if words.shape[0] != n or log_prob.shape[0] != n:
            raise ValueError("no room for every state")
        if n == 0:
            return found
        nodes = np.empty((2 * width, n), np.int32)
        for i in range(n):
            inside = inside and 1 <= words[i] < self.n_words
            state = states[i]
            if not PyTuple_Check(state) or not state or <object>PyTuple_GET_ITEM(state, 0) != mark:
                raise ValueError(f"states[{i}] is of another model, or none: {state!r:.60}")
            self.read_state(state, 1, &nodes[0, i], n)
        if not inside:
            raise ValueError("a word that the model does not have")
        with nogil:
            self.step(&nodes[0, 0], &words[0], n, &nodes[width, 0], &log_prob[0])
        for i in range(n):
            after = [mark]
            for k in range(self.known(&nodes[width, i], n)):
                after.append(nodes[width + k, i])
            found.append(kind(after))
        return found

    def log_prob_of(self, const int32_t[:, ::1] rows, double[::1] log_prob):
        """log p of the last word of each row after those before it."""
        cdef Py_ssize_t i, k, first, n = rows.shape[1]
        cdef int64_t node, found
        cdef double total
        cdef bint inside = True
        if n < 1 or n > self.order or log_prob.shape[0] != rows.shape[0]:
            raise ValueError("n-grams of an order that the model does not have")
        with nogil:
            for i in range(rows.shape[0]):
                for k in range(n):
                    inside = inside and 0 <= rows[i, k] < self.n_words
            for i in range(rows.shape[0] if inside else 0):
                total = 0
                for first in range(n):
                    node = rows[i, first]
                    for k in range(first + 1, n - 1):
                        if node >= 0:
                            node = child(&self.levels[k - first], node, rows[i, k])
                    if first == n - 1:
                        total += self.levels[0].log_prob[node]
                        break
                    if node < 0:
                        continue
                    found = child(&self.levels[n - 1 - first], node, rows[i, n - 1])
                    if found >= 0:
                        total += log_prob_at(&self.levels[n - 1 - first], found)
                        break
                    total += self.levels[n - 2 - first].backoff[node]
                log_prob[i] = total
        if not inside:
            raise ValueError("a word that the model does not have")

    def next_word(self, state, bint logarithms, float[::1] answer):
        """(log) p of every word but 0: unigrams, and over them the children of longer and longer histories."""
        cdef int32_t[HIGHEST] nodes
        cdef Py_ssize_t m = self.read_state(tuple(state), 0, nodes, 1)
        if answer.shape[0] != self.n_words - 1:
            raise ValueError("no room for every word")
        with nogil:
            if self.n_words > 1:
                self.put_words(nodes, m, logarithms, &answer[0])

    cdef void put_words(self, const int32_t* nodes, Py_ssize_t m, bint logarithms, float* answer) noexcept nogil:
        cdef Py_ssize_t k
        self.put_unigrams(self.backoff_after(nodes, m, 0), logarithms, answer)
        for k in range(m):
            if nodes[k] >= 0:
                self.put_children(&self.levels[k + 1], nodes[k], self.backoff_after(nodes, m, k + 1), logarithms,
                                  answer)

    cdef double backoff_after(self, const int32_t* nodes, Py_ssize_t m, Py_ssize_t first) noexcept nogil:
        """The back-off of all histories from `first` on."""
        cdef Py_ssize_t k
        cdef double total = 0
        for k in range(first, m):
            if nodes[k] >= 0:
                total += self.levels[k].backoff[nodes[k]]
        return total

    cdef void put_unigrams(self, double backoff, bint logarithms, float* answer) noexcept nogil:
        cdef const float* log_prob = self.levels[0].log_prob + 1
        cdef const float* p = self.unigrams + 1
        cdef int64_t i, n = self.n_words - 1
        cdef float more = <float>backoff, share = <float>exponential(backoff)
        if logarithms:
            for i in range(n):
                answer[i] = log_prob[i] + more
        else:
            for i in range(n):
                answer[i] = p[i] * share

    cdef void put_children(self, const Level* level, int64_t history, double backoff, bint logarithms,
                           float* answer) noexcept nogil:
        """Some at a time: their logarithms are vectors, their places are not."""
        cdef float[TOGETHER] some
        cdef int64_t i, size, first = level.starts[history], stop = level.starts[history + 1]
        cdef float more = <float>backoff
        while first < stop:
            size = stop - first if stop - first < TOGETHER else TOGETHER
            for i in range(size):
                some[i] = log_prob_at(level, first + i) + more
            if not logarithms:
                for i in range(size):
                    some[i] = <float>exponential(some[i])
            for i in range(size):
                answer[level.words[first + i] - 1] = some[i]
            first += size


def prove(const int32_t[::1] starts, const int32_t[::1] words, const int32_t[::1] suffix, Py_ssize_t n_histories,
          Py_ssize_t n_words):
    """Whether an order is well formed: children in order and in range, words rising, suffixes one level up."""
    cdef Py_ssize_t h, i, n = words.shape[0]
    cdef bint sound = starts.shape[0] == n_histories + 1 and suffix.shape[0] == n
    if not sound or starts[0] != 0 or starts[n_histories] != n:
        return False
    with nogil:
        for h in range(n_histories):
            if starts[h] > starts[h + 1]:
                sound = False
                break
        if sound:
            for h in range(n_histories):
                for i in range(starts[h], starts[h + 1]):
                    if words[i] < 1 or words[i] >= n_words or (i > starts[h] and words[i] <= words[i - 1]):
                        sound = False
                    if suffix[i] < -1 or suffix[i] >= n_histories:
                        sound = False
    return sound
