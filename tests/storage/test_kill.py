"""kill -9 while a model is saved over a good one: a good model is there, always."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, random, signal, sys, time
import numpy as np
import fastlin

path, kills = sys.argv[1], int(sys.argv[2])
rows = np.random.default_rng(0).poisson(0.5, (60, 3000)).astype(float)
models = [fastlin.Perceptron(max_iter=2, tol=None).fit(rows, np.arange(60) % n) for n in (3, 5)]
answers = [model.predict(rows).tolist() for model in models]
fastlin.save(models[0], path)
for kill in range(kills):
    child = os.fork()
    if not child:
        while True:
            for model in models:
                fastlin.save(model, path)
    time.sleep(random.Random(kill).random() / 20)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert fastlin.load(path).predict(rows).tolist() in answers
    print("loaded", kill)
"""


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_a_model_is_there_whenever_the_writer_is_killed(tmp_path, kills):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "model.fastlin"), str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("loaded") == kills
