"""What killed processes left among Quintet's temporary folders."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quintet.adapters.files import temporary_folders
from quintet.adapters.files.temporary_folders import OLD_SECONDS, temporary_folder


def test_what_a_killed_process_left_is_removed_a_day_later_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(temporary_folders, "_swept", set())
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    place = tmp_path / "state/quintet/tmp"
    old = time.time() - OLD_SECONDS - 60
    ages = {
        f"quintet-{ended.pid}-00000001": old,
        f"quintet-{ended.pid}-00000002": time.time(),
        f"quintet-{os.getpid()}-00000003": old,
        "somebody-elses": old,
    }
    for name, changed in ages.items():
        (place / name).mkdir(parents=True)
        (place / name / "held.txt").write_text("x")
        os.utime(place / name, (changed, changed))
    made = Path(temporary_folder())
    assert {path.name for path in place.iterdir()} == {*list(ages)[1:], made.name}
