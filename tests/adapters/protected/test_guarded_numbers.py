"""What is protected is known by its number wherever it is moved, and a number that is given again is another file's."""

import os
from pathlib import Path

import pytest

from quintet.adapters.protected.scan import Scanner
from quintet.domain.permission.protected_paths import PROTECTION

FILE_AND_FOLDER = [(".env", "notes.txt"), (".claude", "build")]


def make(path: Path, is_folder: bool) -> int:
    path.mkdir() if is_folder else path.write_text("x")
    return path.stat().st_ino


@pytest.mark.parametrize(("protected", "plain"), FILE_AND_FOLDER)
def test_a_new_file_with_the_number_of_a_deleted_protected_one_is_not_protected(
    tmp_path: Path, protected: str, plain: str
) -> None:
    scanner, is_folder = Scanner(str(tmp_path), PROTECTION), protected == ".claude"
    number = make(tmp_path / protected, is_folder)
    path = str(tmp_path / protected)
    assert path in {place[1] for place in scanner.scan().places}
    os.rmdir(path) if is_folder else os.unlink(path)
    made = [make(tmp_path / f"{place}{plain}", is_folder) for place in range(50)]
    places = {place[1] for place in scanner.scan().places}
    assert places == set(), f"the number {number} was given to file {made.index(number)}" if number in made else ""


@pytest.mark.parametrize(("protected", "plain"), FILE_AND_FOLDER)
def test_a_protected_one_that_was_moved_is_found_by_its_number_also_after_it_was_made_anew(
    tmp_path: Path, protected: str, plain: str
) -> None:
    scanner, is_folder = Scanner(str(tmp_path), PROTECTION), protected == ".claude"
    path = tmp_path / protected
    for _ in range(3):
        make(path, is_folder)
        scanner.scan()
        path.rename(tmp_path / plain)
        assert str(tmp_path / plain) in {place[1] for place in scanner.scan().places}
        os.rmdir(tmp_path / plain) if is_folder else os.unlink(tmp_path / plain)
        scanner.scan()
