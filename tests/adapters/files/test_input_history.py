"""What was typed before: kept, bounded, read past a torn line."""

from pathlib import Path

from quintet.adapters.files.input_history import MOST_BYTES, MOST_CHARACTERS, MOST_INPUTS, InputHistory


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
    assert MOST_BYTES > MOST_CHARACTERS
