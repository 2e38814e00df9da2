"""The README's first command shows every learner at work."""

import subprocess
import sys

from fastlin.demo import LEARNERS


def test_the_demonstration_runs_to_its_end():
    told = subprocess.run(
        [sys.executable, "-m", "fastlin.demo"], capture_output=True, text=True, timeout=280, check=False
    )
    assert told.returncode == 0, told.stderr
    assert all(learner.name in told.stdout for learner in LEARNERS)
    assert told.stdout.splitlines()[-1].endswith("seconds in all.")
