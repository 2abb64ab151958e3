"""However Quintet ends, its children end with it, from the first moment on, in every kind of sandbox and in none."""

import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).with_name("campaign_starts.py")


@pytest.mark.system("bwrap")
def test_nothing_is_left_of_a_child_whose_parent_is_killed_as_it_starts() -> None:
    """Twice in each way; `scripts/faults starts` does it more often."""
    done = subprocess.run([sys.executable, str(CAMPAIGN), "--kills", "16"], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("16 kills, 0 left something behind\n", 0), done.stderr
