"""Task files are written by Quintet itself, on the host: no link of the project's leads them elsewhere."""

from pathlib import Path

import pytest

from quintet.adapters.tasks.task_folder import TaskFolder
from quintet.domain.base.errors import QuintetError
from tests.engine.task_places import page
from tests.surfaces.program import Program


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "bashrc").write_text("# mine\n")
    (folder / "note.md").write_text("a diary")
    return folder


def added(quintet: Program) -> str:
    name, text = page("task-001")
    (quintet.root / name).write_text(text)
    done = quintet.run("tasks", "add", name)
    return done.out + done.err


def test_the_list_of_what_git_ignores_is_not_written_through_a_link(quintet: Program, outside: Path) -> None:
    (quintet.root / ".quintet").mkdir()
    (quintet.root / ".quintet/.gitignore").symlink_to(outside / "bashrc")
    assert "cannot be written" in added(quintet)
    assert (outside / "bashrc").read_text() == "# mine\n"


def test_a_folder_of_done_tasks_that_is_a_link_is_neither_written_nor_read(quintet: Program, outside: Path) -> None:
    added(quintet)
    (quintet.root / ".quintet/todo/done").symlink_to(outside)
    moved = quintet.run("tasks", "move", "task-001", "running")
    moved = quintet.run("tasks", "move", "task-001", "verifying")
    assert moved.code and "leads elsewhere" in moved.out + moved.err
    assert sorted(path.name for path in outside.iterdir()) == ["bashrc", "note.md"]
    assert "diary" not in quintet.run("doctor").out


def test_a_folder_swapped_between_staging_and_moving_is_not_followed(repo: Path, outside: Path, tmp_path: Path) -> None:
    folder = TaskFolder(str(repo), str(tmp_path / "runs"))
    step = folder.stage("task-002.md", "text")
    (repo / ".quintet/todo").rename(repo / ".quintet/was")
    (repo / ".quintet/todo").symlink_to(outside)
    with pytest.raises(QuintetError, match="leads elsewhere"):
        step.commit()
    with pytest.raises(QuintetError, match="leads elsewhere"):
        folder.replace("task-003.md", "text")
    assert sorted(path.name for path in outside.iterdir()) == ["bashrc", "note.md"]
