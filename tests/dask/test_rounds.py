"""Rounds on workers that die, come late, are of another kind or do not answer: what they give, or say."""

import importlib.metadata
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import fastlin
import fastlin.dask
from fastlin import Corpus
from fastlin.dask import cluster as clusters
from fastlin.dask.cluster import Cluster, ClusterError, Round, divide
from fastlin.dask.partitions import CorpusSegments
from fastlin.dask.passes import DaskPasses
from fastlin.data import corpus as corpora
from fastlin.runtime.passes import ThreadPasses
from support.clusters import WorkerProcesses, count_slowly, process_id, until

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. <socket")  # that Dask's servers leave open
rng = np.random.default_rng(2)
X = sp.csr_array(sp.random_array((400, 30), density=0.2, rng=rng))
LABELS = rng.integers(0, 3, 400)


@pytest.fixture(scope="module")
def processes():
    workers = WorkerProcesses(2)
    yield workers
    workers.close()


@pytest.fixture
def two(processes):
    """Two live workers, whatever a test before has killed."""
    while len(processes.alive()) < 2:
        processes.start()
    until(lambda: len(processes.client.scheduler_info()["workers"]) == 2)
    return processes


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """More segments than a chunk has."""
    monkeypatch.setattr(corpora, "SEGMENT", 230)
    return Corpus(X, LABELS).write(tmp_path / "corpus", "npy")


def slow_sums(workers, corpus, folder, seconds):
    """The sums of a slow work on a cluster, and the cluster."""
    folder.mkdir()
    cluster, segments = Cluster(workers.client), CorpusSegments.of(corpus, {})
    counts = np.zeros(3)
    with cluster.releasing():
        DaskPasses(cluster, segments, segments.path).sum(count_slowly, str(folder), seconds, into=(counts,))
    return counts, cluster


def expected_sums(corpus, folder):
    folder.mkdir()
    counts = np.zeros(3)
    ThreadPasses(CorpusSegments.of(corpus, {}), None).sum(count_slowly, str(folder), 0, into=(counts,))
    return counts


def who(folder, what):
    """The processes that began, or did, work on each partition."""
    found = {}
    for path in sorted(Path(folder).glob(f"*.{what}")):
        partition, process = path.stem.split("-")
        found.setdefault(int(partition), set()).add(int(process))
    return found


def test_work_of_a_worker_that_is_killed_within_a_round_is_done_again(two, stored, tmp_path):
    folder, found = tmp_path / "files", {}
    fit = threading.Thread(target=lambda: found.update(sums=slow_sums(two, stored, folder, 0.1)))
    fit.start()
    victim = two.processes[two.alive()[-1]]
    until(lambda: any(victim.pid in begun for begun in who(folder, "begun").values()) if folder.exists() else False)
    two.kill(two.alive()[-1])
    fit.join(60)
    assert not fit.is_alive()
    np.testing.assert_array_equal(found["sums"][0], expected_sums(stored, tmp_path / "local"))
    begun, done = who(folder, "begun"), who(folder, "done")
    again = [partition for partition, workers in begun.items() if victim.pid in workers]
    assert again
    assert all(done[partition] - {victim.pid} for partition in again)


def test_a_fit_whose_workers_are_killed_between_rounds_and_replaced_has_the_same_bits(two, stored):
    late = []

    def disturb(_, record):
        if record["iteration"] == 2:
            two.kill(two.alive()[0])
        if record["iteration"] == 4:
            late.append(two.start())
            two.wait(2)
        if record["iteration"] == 6:
            two.kill(next(name for name in two.alive() if name not in late))

    model = fastlin.dask.LogisticRegression(client=two.client, solver="lbfgs", tol=1e-8, callback=disturb)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(stored)
        local = fastlin.LogisticRegression(solver="lbfgs", tol=1e-8).fit(stored)
    assert len(model.history_) > 7
    assert two.alive() == late
    np.testing.assert_array_equal(model.coef_, local.coef_)
    assert [record["objective"] for record in model.history_] == [record["objective"] for record in local.history_]


def test_weights_that_travel_while_their_worker_dies_arrive(two, stored, monkeypatch):
    relay, killed = Round.relay, []

    def relay_and_kill(self, value, held):
        found = relay(self, value, held)
        if len(self.workers) > 1 and not killed:
            killed.append(two.alive()[-1])
            two.kill(killed[0])
        return found

    monkeypatch.setattr(Round, "relay", relay_and_kill)
    model = fastlin.dask.MultinomialNB(client=two.client).fit(stored)
    assert killed
    np.testing.assert_array_equal(model.feature_count_, fastlin.MultinomialNB().fit(stored).feature_count_)


def test_a_round_that_is_not_answered_is_sent_anew_and_then_an_error_names_segments_and_workers(
    two, stored, tmp_path, monkeypatch
):
    monkeypatch.setattr(clusters, "LEAST_TIMEOUT", 0.2)
    monkeypatch.setattr(clusters, "SECONDS_OF_PARTITION", 0.0)
    Cluster(two.client).workers()  # which import what they need
    started = time.monotonic()
    with pytest.raises(
        ClusterError, match=r"13 segments of .*corpus were not worked on .count_slowly., after 3"
    ) as told:
        slow_sums(two, stored, tmp_path / "files", 2.0)
    assert time.monotonic() - started < 25  # the work of all four rounds would take twice as long
    addresses = two.client.scheduler_info()["workers"]
    assert len(addresses) == 2
    assert all(address in str(told.value) for address in addresses)
    until(lambda: not two.client.processing() or not any(two.client.processing().values()), 60)
    assert sorted(two.client.run(os.getpid).values()) == sorted(two.processes[name].pid for name in two.alive())


def test_ctrl_c_leaves_the_cluster_usable(two, stored, tmp_path):
    folder = tmp_path / "files"
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slow_sums(two, stored, folder, 0.2)
    timer.join()
    until(lambda: not two.client.futures)
    model = fastlin.dask.MultinomialNB(client=two.client).fit(stored)
    np.testing.assert_array_equal(model.feature_count_, fastlin.MultinomialNB().fit(stored).feature_count_)


def test_shards_that_are_missing_or_damaged_or_of_another_corpus_are_named(two, stored, tmp_path):
    model = fastlin.dask.MultinomialNB(client=two.client)
    (values,) = list(stored.path.glob("shards-*/*values*.npy"))[3:4]
    original = values.read_bytes()
    values.write_bytes(original[:-8] + b"\0" * 7 + b"\1")
    with pytest.raises(fastlin.data.CorpusError, match=values.name):
        model.fit(stored.path)
    values.unlink()
    with pytest.raises((OSError, fastlin.data.CorpusError), match=values.name):
        model.fit(stored.path)
    values.write_bytes(original)
    model.fit(stored.path)
    segments = CorpusSegments.of(stored, {})
    Corpus(X[:-1], LABELS[:-1]).write(stored.path, "npy")
    with pytest.raises(fastlin.data.CorpusError, match="another corpus than when the fit began"):
        DaskPasses(Cluster(two.client), segments, segments.path).each(process_id)


def test_tasks_are_small_and_few(two, stored, monkeypatch):
    rounds, sizes = [], []
    submit = Round._submit

    def measure(self, worker, task, *arguments):
        if self not in rounds:
            rounds.append(self)
            self.tasks = []
        self.tasks.append(worker)
        sizes.append(len(pickle.dumps(task)))
        return submit(self, worker, task, *arguments)

    monkeypatch.setattr(Round, "_submit", measure)
    fastlin.dask.LogisticRegression(client=two.client).fit(stored)
    later = rounds[len(rounds) // 2 :]  # constants are held
    assert max(sizes) <= 200
    assert max(each.tasks.count(worker) for each in later for worker in each.workers) <= 3
    assert all(len(set(each.tasks)) == 2 for each in later)


def test_workers_are_proved_before_anything_starts(two, stored, monkeypatch):
    model = fastlin.dask.MultinomialNB(client=two.client)
    with monkeypatch.context() as patch:
        patch.setattr(clusters, "__version__", "9.9")
        with pytest.raises(ClusterError, match=r"the worker tcp://\S+ has fastlin 0\.1\.0, and this process 9\.9"):
            model.fit(stored)
    with monkeypatch.context() as patch:
        patch.setattr(clusters, "PACKAGES", ("fastlin", "no-such-package"))
        patch.setattr(importlib.metadata, "version", importlib.metadata.version)
        patch.setattr(clusters.metadata, "version", lambda package: "1.0")
        patch.setattr(Cluster, "_ask", lambda self, workers, *_: [(workers[0], ModuleNotFoundError("no"))])
        with pytest.raises(ClusterError, match=r"has no fastlin: pip install fastlin==0\.1\.0 there"):
            model.fit(stored)
    with monkeypatch.context() as patch:
        patch.setattr(clusters, "ISA", "another")
        with pytest.warns(UserWarning, match="results agree to rounding only; FASTLIN_ISA"):
            model.fit(stored)


def test_a_scheduler_that_is_lost_is_an_error(stored):
    workers = WorkerProcesses(1)
    try:
        model = fastlin.dask.LogisticRegression(client=workers.client, tol=1e-9)

        def lose(_, record):
            if record["iteration"] == 2:
                workers.cluster.close()

        with pytest.raises(ClusterError, match=r"the scheduler .*(is lost|does not answer)"):
            model.set_params(callback=lose).fit(stored)
    finally:
        workers.close()


DRIVER = """
import sys, fastlin.dask
from distributed import Client
from fastlin.data import corpus
if __name__ == "__main__":
    corpus.SEGMENT = 230
    _, scheduler, path, checkpoint = sys.argv
    tell = lambda _, record: print(record["iteration"], flush=True)
    with Client(scheduler) as client:
        model = fastlin.dask.LogisticRegression(client=client, solver="lbfgs", tol=1e-9, callback=tell)
        model.fit(path, checkpoint=checkpoint, checkpoint_interval=0, resume=True)
        print(model.to_local().coef_.tobytes().hex())
"""


def test_a_driver_that_is_killed_goes_on_where_it_was(two, stored, tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    command = [sys.executable, str(script), two.cluster.scheduler_address, str(stored.path), str(tmp_path / "saved")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        for line in driver.stdout:
            if line.strip() == "4":
                driver.kill()
                break
    assert driver.returncode == -signal.SIGKILL
    resumed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert int(resumed[0]) > 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        local = fastlin.LogisticRegression(solver="lbfgs", tol=1e-9).fit(stored)
    assert bytes.fromhex(resumed[-1]) == local.coef_.tobytes()


@pytest.mark.parametrize("n_partitions, n_shares", [(1, 1), (4, 2), (12, 5), (3, 8), (100, 3), (1000, 7)])
def test_shares_are_about_equal_and_keep_chunks_whole_where_there_are_many(n_partitions, n_shares):
    shares = divide(n_partitions, n_shares, 8)
    assert [start for start, _ in shares] == [0, *(stop for _, stop in shares[:-1])]
    assert shares[-1][1] == n_partitions
    sizes = [stop - start for start, stop in shares]
    step = 8 if n_partitions >= 16 * n_shares else 1
    assert max(sizes) - min(sizes) <= 2 * step
    assert len(shares) == min(n_partitions, n_shares)


@pytest.mark.slow
def test_two_hundred_workers_killed_at_random_times_change_no_bit(two, stored, tmp_path):
    local = fastlin.LogisticRegression(solver="lbfgs", tol=1e-9, max_iter=30).fit(stored)
    random, killed = np.random.default_rng(), 0
    while killed < 200:
        stop = threading.Event()

        def kill(stop=stop):
            nonlocal killed
            while not stop.wait(random.uniform(0, 4)):
                if len(two.alive()) > 1:
                    two.kill(random.choice(two.alive()))
                    killed += 1
                two.start()

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            model = fastlin.dask.LogisticRegression(client=two.client, solver="lbfgs", tol=1e-9, max_iter=30).fit(
                stored
            )
        finally:
            stop.set()
            killer.join()
        np.testing.assert_array_equal(model.coef_, local.coef_)
