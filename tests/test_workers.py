"""What `-n` says of tests that its workers ran (`tests/workers.py`): the same as one process would, and who died."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

TESTS = """
import os
import subprocess
import sys
import pytest

stderr = sys.stderr  # as a default of a function keeps it

@pytest.fixture(scope="module")
def shared():
    yield os.getpid()

@pytest.fixture
def leaves():
    yield
    assert not "left behind"

def test_passes(shared): assert stderr.fileno() > 2; stderr.write("said")
def test_fails(shared): print("x" * 500_000); stderr.write("complained"); assert 1 == 2
def test_dies(): os._exit(7)
def test_hangs_for_ever(): subprocess.run(["sleep", "3599"])
def test_comes_after_it(tmp_path): (tmp_path / "a").write_text("a")
@pytest.mark.skip(reason="not today")
def test_is_skipped(): pass
@pytest.mark.xfail(strict=True)
def test_fails_as_expected(): assert False
def test_leaves_something(leaves): pass
@pytest.mark.parametrize("number", range(30))
def test_each(number): pass
"""


def test_every_outcome_is_told_and_a_worker_that_dies_or_hangs_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "test_all.py").write_text(TESTS)
    words = ("-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tests.workers", "-n", "3", "-rfEs", "--color=no")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *words, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "300", "QUINTET_TEST_SECONDS": "6"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout
    assert "3 failed, 33 passed, 1 skipped, 1 xfailed, 1 error in" in said, said[-3000:]
    assert re.search(r"FAILED .*::test_fails - assert 1 == 2", said)
    assert re.search(r"FAILED .*::test_dies - The worker that ran it ended: exit code 7", said)
    assert re.search(r"FAILED .*::test_hangs_for_ever - It did not end in 6 s\.", said)
    assert re.search(r'File ".*test_all.py", line \d+ in test_hangs_for_ever', said)
    assert re.search(r"Started by it and still running:\n  \d+ sleep 3599", said)
    assert re.search(r"ERROR .*::test_leaves_something - ", said)
    assert re.search(r"SKIPPED .*: not today", said)
    assert "x" * 500_000 in said and "complained" in said
    assert done.returncode == 1
