"""A repository that one session's command makes does not stay where a command another session could change it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import BWRAP, Inside

EXECUTE, COMMIT = Effect.EXECUTE, Effect.COMMIT
KINDS = [BWRAP, Sandbox.PARTIAL, Sandbox.NONE]
SECONDS = 60.0  # a limit, not a measure


@contextmanager
def running(inside: Inside, *effects: Effect) -> Iterator[None]:
    """A command that ends with the block."""
    line = "touch ready; until [ -e stop ]; do sleep 0.05; done; rm ready stop"
    other = threading.Thread(target=inside, args=(line, *effects))
    other.start()
    end = time.monotonic() + SECONDS
    while not (inside.root / "ready").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    try:
        yield
    finally:
        (inside.root / "stop").touch()
        other.join()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)], ids=["execute", "commit"])
def test_a_repository_made_beside_another_sessions_command_is_moved_aside(
    repo: Path, kind: Sandbox, effects: tuple[Effect, ...]
) -> None:
    one, two = Inside(repo, kind), Inside(repo, kind)
    with running(one, *effects):
        done = two("git init -q s1", EXECUTE, COMMIT)
        assert not (repo / "s1/.git").exists() and done.notes
    assert not two("git init -q s2", EXECUTE, COMMIT).notes
    assert (repo / "s2/.git").exists()


@pytest.mark.system("bwrap")
def test_a_session_elsewhere_is_no_matter(repo: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running(Inside(elsewhere, Sandbox.BWRAP)):
        assert not Inside(repo, Sandbox.BWRAP)("git init -q s1", EXECUTE, COMMIT).notes
    assert (repo / "s1/.git").exists()


@pytest.mark.system("bwrap")
def test_nor_is_one_whose_command_is_over(repo: Path) -> None:
    one = Inside(repo, Sandbox.BWRAP)
    one("true")
    assert not Inside(repo, Sandbox.BWRAP)("git init -q s1", EXECUTE, COMMIT).notes
    assert (repo / "s1/.git").exists()
