"""What can be wrong with what features keep or need, each made for real; see `tests/app/health/sicknesses.py`."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw

from quintet.adapters.files.paths import locate, state_folder
from quintet.adapters.git.worktrees import Worktrees
from quintet.cli.main import main
from quintet.features.index.store import IndexStore, index_path
from quintet.features.library.store import LibraryStore, NewDocument
from quintet.features.memory.store import database as memory_path
from tests.app.health.sicknesses import Sickness, settings


def left_worktree(repo: Path) -> None:
    places = locate(str(repo))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True).stdout
    Worktrees(places.root).make("over", places.worktree("over").root, head.strip())


def gone_worktree(repo: Path) -> None:
    places = locate(str(repo))
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True).stdout
    Worktrees(places.root).make("deleted", places.worktree("deleted").root, head.strip())
    shutil.rmtree(places.worktree("deleted").root)


def _token(text: str, mode: int) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        path = Path(state_folder(), "web", "owner" if len(text) > 9 else "viewer")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    return make


def library_index(repo: Path) -> None:
    path = locate(str(repo)).library
    store = LibraryStore(path)
    store.put(NewDocument("a", "/a.txt", "txt", "d", "2026-01-01"), ["one page", "", "another"])
    store.close()
    _damage(path, "DELETE FROM lexicon_data WHERE id > 10")


def _damage(path: str, *statements: str) -> None:
    connection = apsw.Connection(path)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def library_newer(repo: Path) -> None:
    path = locate(str(repo)).library
    LibraryStore(path).close()
    _damage(path, "PRAGMA user_version = 99")


def library_damaged(repo: Path) -> None:
    path = locate(str(repo)).library
    LibraryStore(path).close()
    _damage(path, "PRAGMA writable_schema = ON", "DELETE FROM sqlite_schema WHERE name = 'pages_by_document'")


def damaged_index(repo: Path) -> None:
    path = index_path(locate(str(repo)))
    IndexStore(path).close()
    for ending in ("-wal", "-shm"):
        Path(path + ending).unlink(missing_ok=True)
    Path(path).write_bytes(b"this is no database, whatever its name says " * 50)


def damaged_memory(repo: Path) -> None:
    path = Path(memory_path(locate(str(repo)).state))
    path.write_bytes(b"this is no database, whatever its name says " * 50)


def memory_index(repo: Path) -> None:
    assert main(["memory", "add", "-C", str(repo), "the build is make"]) == 0
    _damage(memory_path(locate(str(repo)).state), "DELETE FROM lexicon_data WHERE id > 10")


def stale_memory(repo: Path) -> None:
    (repo / "Makefile").write_text("build:\n")
    assert main(["memory", "add", "-C", str(repo), "the build is make", "--check", "path:Makefile"]) == 0
    (repo / "Makefile").unlink()


def damaged_schedules(repo: Path) -> None:
    path = Path(state_folder(), "schedule", "schedule.db")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database, whatever its name says " * 50)


def taken_skill(repo: Path) -> None:
    path = Path.home() / ".agents/skills/doctor/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: doctor\ndescription: Looks after things.\n---\nLook.\n")


def bad_skill(repo: Path) -> None:
    path = Path.home() / ".agents/skills/broken/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: [\n---\n")


FIXABLE: tuple[Sickness, ...] = (
    Sickness("WORKTREE_LEFT", left_worktree, ("state/quintet-worktrees/*", "repo/.git/worktrees*")),
    Sickness("WORKTREE_GONE", gone_worktree, ("state/quintet-worktrees/*", "repo/.git/worktrees*")),
    Sickness("WEB_TOKEN_READABLE", _token("x" * 43, 0o644), ("state/quintet/web/owner",)),
    Sickness("WEB_TOKEN_DAMAGED", _token("", 0o600), ("state/quintet/web/viewer",)),
    Sickness("LIBRARY_INDEX", library_index, ("state/*/library.db:*",)),
    Sickness("INDEX_DAMAGED", damaged_index, ("state/*/index.db*",)),
    Sickness("MEMORY_INDEX", memory_index, ("state/*/memory.db:*",)),
    Sickness("MEMORY_STALE", stale_memory, ("state/*/memory.db:*",)),
)
STAYING: tuple[Sickness, ...] = (
    Sickness("EXECUTOR_MISSING", settings('[executors.codex]\ncommand = "/nowhere/codex"\n')),
    Sickness("MCP_SERVER_UNUSABLE", settings('[mcp.servers.notes]\ncommand = "no-such-program"\n')),
    Sickness("BROWSER_MISSING", settings('[browser]\npath = "/nowhere/chrome"\n')),
    Sickness("FORGE_TOKEN_MISSING", settings('[forge]\ntoken_env = "NO_SUCH_TOKEN"\n')),
    Sickness("WEB_SEARCH_UNUSABLE", settings('[web]\nsearch = "searxng"\n')),
    Sickness("DEPLOY_UNUSABLE", settings('[deploy.here]\nfrontend = "no-such-program up"\n')),
    Sickness("REMOTE_UNPAIRED", settings("[remote]\nauto = true\n")),
    Sickness("LIBRARY_UNUSABLE", library_newer),
    Sickness("LIBRARY_DAMAGED", library_damaged),
    Sickness("MEMORY_DAMAGED", damaged_memory),
    Sickness("SCHEDULE_UNREADABLE", damaged_schedules),
    Sickness("SKILL_NAME_TAKEN", taken_skill),
    Sickness("SKILL_UNUSABLE", bad_skill),
)
