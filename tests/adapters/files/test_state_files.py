"""Recordings in the state folder: the newest are kept."""

import os
from pathlib import Path

from quintet.adapters.files import state_files


def test_what_a_run_left_without_a_recording_is_passed_over(tmp_path: Path) -> None:
    for name in ("run-1", "q5-old", "q5-new"):
        (tmp_path / name).mkdir()
    for number, name in enumerate(("q5-old", "q5-old.h1", "q5-new")):
        (tmp_path / name).mkdir(exist_ok=True)
        recording = tmp_path / name / state_files.RECORDING
        recording.write_text("{}\n")
        os.utime(recording, (number, number))
    state_files.drop_old_recordings(str(tmp_path), 1)
    assert [one.parent.name for one in tmp_path.rglob(state_files.RECORDING)] == ["q5-new"]
    assert (tmp_path / "run-1").is_dir()
