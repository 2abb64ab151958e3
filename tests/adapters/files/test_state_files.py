"""What was typed before: kept, bounded, read past a torn line."""

import os
from pathlib import Path

from quintet.adapters.files import state_files
from quintet.adapters.files.state_files import MOST_CHARACTERS, MOST_INPUTS, InputHistory


def test_inputs_are_there_again_in_their_order_without_repetitions(tmp_path: Path) -> None:
    path = tmp_path / "state" / "inputs.jsonl"
    for text in ("one", "two\nlines", "two\nlines", "größe", "one"):
        InputHistory(str(path)).add(text)
    assert InputHistory(str(path)).all() == ["one", "two\nlines", "größe", "one"]
    assert path.stat().st_mode & 0o077 == 0


def test_the_newest_are_kept_and_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_text("".join(f'"{number}"\n' for number in range(2 * MOST_INPUTS)))
    history = InputHistory(str(path))
    history.add("new")
    assert history.all() == [*map(str, range(MOST_INPUTS + 1, 2 * MOST_INPUTS)), "new"]
    assert len(path.read_text().splitlines()) == MOST_INPUTS + 1


def test_a_line_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    path.write_bytes(b'"one"\n{torn\n\xff\xfe\n42\n"two"\n')
    assert InputHistory(str(path)).all() == ["one", "two"]


def test_what_cannot_be_kept_is_not_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = InputHistory(str(tmp_path / "file" / "inputs.jsonl"))
    blocked.add("text")
    assert blocked.all() == []
    history = InputHistory(str(tmp_path / "inputs.jsonl"))
    history.add("x" * (MOST_CHARACTERS + 1))
    assert history.all() == []
    assert state_files.MOST_BYTES > MOST_CHARACTERS


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
