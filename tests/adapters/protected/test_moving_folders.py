"""What a command carries to and fro while the project is looked over is found, or nothing is said to be known."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.adapters.protected.scan import FoldersKeepChanging, Scanner
from quintet.domain.permission.protected_paths import Protection


class MovesWhenLookedAt(Protection, frozen=True, dict=True):
    """Renames one folder at the moment at which the look reaches the file `mark`: after the root was listed."""

    source: str = ""
    destination: str = ""
    times: int = 1

    def is_secret(self, path: str) -> bool:
        if path.endswith("/mark") and self.done() < self.times:
            os.rename(self.source, self.destination)
            os.rename(self.destination, self.source) if self.times > 1 else None
            self.__dict__["moves"] = self.done() + 1
        return super().is_secret(path)

    def done(self) -> int:
        return int(self.__dict__.get("moves", 0))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a/deep/x").mkdir(parents=True)
    (tmp_path / "a/mark").write_text("")
    (tmp_path / "a/deep/x/.env").write_text("TOKEN=hidden-word")
    return tmp_path


@pytest.mark.parametrize("moved", ["a/deep", "a/deep/x"], ids=["listed, then gone", "from ahead to behind"])
def test_a_secret_that_is_moved_to_where_the_look_has_been_is_found(tree: Path, moved: str) -> None:
    moving = MovesWhenLookedAt(source=str(tree / moved), destination=str(tree / "behind"))
    secrets = Scanner(str(tree), moving).scan(lambda: True).secrets
    assert moving.done() == 1
    assert secrets == (str(tree / ("behind/x/.env" if moved == "a/deep" else "behind/.env")),)


def test_where_folders_move_during_every_look_nothing_is_said_to_be_known(tree: Path) -> None:
    moving = MovesWhenLookedAt(source=str(tree / "a/deep"), destination=str(tree / "behind"), times=100_000)
    with pytest.raises(FoldersKeepChanging):
        Scanner(str(tree), moving).scan(lambda: True)


def test_files_that_a_command_makes_now_and_then_do_not_keep_a_look_from_settling(tree: Path) -> None:
    making = "import time\nprint(1, flush=True)\nfor n in range(400): open(f'o{n}', 'w').close(); time.sleep(0.2)"
    maker = subprocess.Popen([sys.executable, "-c", making], cwd=tree, stdout=subprocess.PIPE)
    try:
        assert maker.stdout and maker.stdout.readline()
        scanner = Scanner(str(tree), Protection())
        assert [len(scanner.scan(lambda: True).secrets) for _ in range(3)] == [1, 1, 1]
    finally:
        maker.kill()
        maker.communicate()


def test_what_is_lost_is_searched_for_until_the_look_is_over_and_not_in_the_next(tree: Path) -> None:
    scanner = Scanner(str(tree), Protection())
    scanner.scan()
    (tree / "a/deep/x/.env").unlink()
    assert scanner.scan(lambda: True).lost == (str(tree / "a/deep/x/.env"),)
    assert scanner.scan(lambda: True).lost == ()
