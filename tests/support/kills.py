"""Fits in processes of their own that are killed and go on."""

import os
import signal
import subprocess
import sys
import time

import numpy as np


def run_until(seconds, script, *arguments):
    """Run the script; kill it after so many seconds of having a checkpoint."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], env=environment)
    while seconds is not None and process.poll() is None and not os.path.exists(arguments[1]):
        time.sleep(0.002)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode


def check_kills(script, kind, delays, folder):
    """However often it is killed, the last fit is the one that was not.

    The script fits what `kind` says, resumes from the checkpoint that it is named, and leaves its arrays in a file.
    """
    assert run_until(None, script, kind, folder / "whole", folder / "whole.npz") == 0
    for number, delay in enumerate(delays):
        assert run_until(delay, script, kind, folder / "cut", folder / f"{number}.npz") in (0, -signal.SIGKILL)
    assert run_until(None, script, kind, folder / "cut", folder / "cut.npz") == 0
    with np.load(folder / "whole.npz") as whole, np.load(folder / "cut.npz") as cut:
        for name in whole:
            np.testing.assert_array_equal(whole[name], cut[name])
