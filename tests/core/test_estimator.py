"""The shape of estimators: views of one moment, working copies, learners in turn."""

import copy
import pickle
import threading
import time

import sklearn

from fastlin.core.estimator import Estimator, learns, reads


class Pair(Estimator):
    """Two numbers that are always equal."""

    def __init__(self, *, wait=0.0):
        self.wait = wait

    @learns
    def fit(self):
        model = self._working_copy()
        model.one_ = getattr(self, "one_", 0) + 1
        time.sleep(self.wait)
        model.other_ = getattr(self, "other_", 0) + 1
        return self._take_fitted(model)

    @reads
    def predict(self):
        one = self.one_
        time.sleep(self.wait)
        return one, self.other_

    @property
    @reads
    def total_(self):
        return self.one_ + self.other_


def test_a_reader_sees_one_moment_and_learners_take_turns():
    model, seen = Pair(wait=1e-4).fit(), []
    threads = [threading.Thread(target=lambda: [model.fit() for _ in range(50)]) for _ in range(4)]
    threads.append(threading.Thread(target=lambda: seen.extend(model.predict() for _ in range(200))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(one == other for one, other in seen)
    assert (model.one_, model.other_, model.total_) == (201, 201, 402)


def test_copies_and_pickles_have_locks_of_their_own():
    model = Pair().fit()
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model._snapshot()):
        assert other.predict() == (1, 1)
    other = copy.copy(model)
    assert "_learner_lock" not in vars(other)
    assert "_is_view" not in vars(copy.copy(model._snapshot()))
    assert other.fit() is other
    assert other.predict() == (2, 2)
    assert model.predict() == (1, 1)
    assert sklearn.clone(model).get_params() == {"wait": 0.0}


def test_methods_keep_their_names():
    assert Pair.predict.__name__ == "predict"
    assert Pair.fit.__doc__ == Pair.fit.__wrapped__.__doc__
