"""The tour where commands cannot be contained: it says so, shows where to look, and does not fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def test_without_bubblewrap_the_tour_ends_where_a_command_needs_approval(tmp_path: Path) -> None:
    there = tmp_path / "bin"
    there.mkdir()
    for name in ("git", "grep", "python3", "sh", "bash"):
        (there / name).symlink_to(shutil.which(name) or sys.executable)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "quintet", "tour"],
        env={**os.environ, "PATH": str(there), "NO_COLOR": "1", "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "it ends here. A session asks you instead. Install bubblewrap" in ran.stdout
    assert "why a command was not run" in ran.stdout and "git push --force" not in ran.stdout
