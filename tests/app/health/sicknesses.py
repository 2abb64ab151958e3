"""What can be wrong with a project and its machine, each made for real: the code that finds it, what a fix touches.

`touched` are patterns of what a fix may change, as `everything` names it: files below the project, the state, the
settings, and the tables of databases.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import apsw

from quintet.adapters.files.paths import locate, state_folder
from quintet.adapters.files.state_files import recording_path
from quintet.adapters.settings.layers import LoadedSettings, load
from quintet.adapters.settings.trust import set_trust
from quintet.domain.base.errors import SettingsError
from quintet.domain.dials.axes import Axes
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.task import TaskStatus
from quintet.engine.cycle.task_keeper import TaskKeeper
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.task_places import keep, page
from tests.trusted import trust_now

GONE = 4_194_300  # a process id that is not in use
TODO = ".quintet/todo"
TASK_TABLES = ("state/*/state.db:task*", "state/*/state.db:sqlite_sequence", f"repo/{TODO}/*", f"repo/{TODO}")


@dataclass(frozen=True)
class Sickness:
    code: str
    make: Callable[[Path], None]
    touched: tuple[str, ...] = ()  # empty: it is not fixed by rule


def loaded(repo: Path) -> LoadedSettings:
    try:
        return load(locate(str(repo)))
    except SettingsError:
        return LoadedSettings(Settings())


# ── everything there is


def everything(repo: Path) -> dict[str, str]:
    """Each file below the project, the state and the settings, and each row of a database, as it is now."""
    base = repo.parent
    found: dict[str, str] = {}
    for path in sorted(base.rglob("*")):
        name = str(path.relative_to(base))
        if "/damaged" in name:  # a copy is made of a damaged database before anything else is done with it
            continue
        mode = oct(path.lstat().st_mode)
        if path.is_dir() and not path.is_symlink():
            found[name] = mode
        elif path.suffix == ".db" and path.is_file():
            found |= _rows(path, name)
        elif not name.endswith(("-wal", "-shm")):
            found[name] = mode + (sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
    return found


def _rows(path: Path, name: str) -> dict[str, str]:
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {f"{name}:{table}": repr(list(connection.execute(f'SELECT * FROM "{table}"'))) for table in tables}
        connection.close()
    except apsw.Error:
        return {name: sha256(path.read_bytes()).hexdigest()}
    return found


# ── making it


def _database(repo: Path) -> apsw.Connection:
    return apsw.Connection(locate(str(repo)).database)


def sql(repo: Path, line: str) -> None:
    connection = _database(repo)
    connection.execute(line)
    connection.close()


def _session(repo: Path) -> str:
    return str(next(iter(_database(repo).execute("SELECT id FROM sessions")))[0])


def _config(repo: Path, name: str, text: str) -> Path:
    path = Path(locate(str(repo)).config, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def settings(text: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        path = Path(locate(str(repo)).user_settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    return make


def lease(repo: Path) -> None:
    sql(repo, f"UPDATE sessions SET owner = 'x', owner_pid = {GONE}, owner_started = '1', lease_until = 9e9")


def claim(repo: Path) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page("claimed")], Axes())
        await keeper.move("claimed", TaskStatus.RUNNING, "")
        await keeper.claim("claimed", "x")

    keep(repo, work)
    sql(repo, f"UPDATE task_runtime SET process_pid = {GONE}")


def _added(repo: Path, *ids: str) -> None:
    async def work(keeper: TaskKeeper) -> None:
        await keeper.add([page(id) for id in ids], Axes())

    keep(repo, work)


def no_file(repo: Path) -> None:
    _added(repo, "lost")
    (repo / TODO / "lost.md").unlink()


def no_row(repo: Path) -> None:
    (repo / TODO).mkdir(parents=True, exist_ok=True)
    (repo / TODO / "new.md").write_text(page("new")[1])


def wrong_folder(repo: Path) -> None:
    _added(repo, "moved")
    (repo / TODO / "done").mkdir(exist_ok=True)
    (repo / TODO / "moved.md").rename(repo / TODO / "done/moved.md")


def edited_id(repo: Path) -> None:
    _added(repo, "edited")
    (repo / TODO / "edited.md").write_text(page("other")[1])


def second_file(repo: Path) -> None:
    _added(repo, "twice")
    (repo / TODO / "copy.md").write_text(page("twice", title="Another")[1])


def _page(name: str, text: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        (repo / TODO).mkdir(parents=True, exist_ok=True)
        (repo / TODO / name).write_text(text)

    return make


def knot(repo: Path) -> None:
    _added(repo, "one", "two")
    (repo / TODO / "one.md").write_text(page("one", "two")[1])
    (repo / TODO / "two.md").write_text(page("two", "one")[1])


def unknown_task(repo: Path) -> None:
    _added(repo, "needs")
    (repo / TODO / "needs.md").write_text(page("needs", "nowhere")[1])


def _verified_by(line: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        _added(repo, "checked")
        (repo / TODO / "checked.md").write_text(page("checked")[1].replace("id: checked", f"id: checked\n{line}"))

    return make


def open_state(repo: Path) -> None:
    Path(locate(str(repo)).state).chmod(0o755)


def half_written(repo: Path) -> None:
    folder = Path(locate(str(repo)).writes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{GONE}-1").write_bytes(b"tally\0")
    (repo / f"tally/.quintet-{GONE}-1").write_text("half")


def left_folder(repo: Path) -> None:
    Path(state_folder(), "tmp", f"quintet-{GONE}-00c0ffee").mkdir(parents=True, mode=0o700)


def torn_inputs(repo: Path) -> None:
    Path(locate(str(repo)).inputs).write_bytes(b'"one"\n"tw\n"three"\n')


def damaged_history(repo: Path) -> None:
    Path(locate(str(repo)).history).write_bytes(b"this is no database, whatever its name says " * 50)


def orphaned_recording(repo: Path) -> None:
    path = Path(recording_path(locate(str(repo)).runs, "q5-nobody"))
    path.parent.mkdir(parents=True)
    path.write_text('["begin"]\n')


def torn_recording(repo: Path) -> None:
    path = Path(recording_path(locate(str(repo)).runs, _session(repo)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('["begin"]\n["inbo')


def unreadable_inbox(repo: Path) -> None:
    sql(
        repo,
        "INSERT INTO inbox (id, session, at, data) "
        f"VALUES ('in-x', '{_session(repo)}', '2026-01-01T00:00:00.000Z', '{{}}')",
    )


def lost_checkpoint(repo: Path) -> None:
    """A turn that changes a file keeps what was there before; a part of that is deleted."""

    async def script(driver: Driver) -> None:
        await driver.turn("go")

    drive(repo, script, ScriptedModel([[call("Write", file_path="kept.txt", content="kept")], "done"]))
    (repo / "kept.txt").unlink()
    objects = Path(locate(str(repo)).checkpoints, "objects")
    for path in [path for path in objects.rglob("*") if path.is_file() and path.parent.name != "info"]:
        path.unlink()


def git_lock(repo: Path) -> None:
    path = repo / ".git/index.lock"
    path.touch()
    os.utime(path, (time.time() - 7200, time.time() - 7200))


def git_unfinished(repo: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True).stdout
    (repo / ".git/MERGE_HEAD").write_text(head)


def git_broken(repo: Path) -> None:
    shutil.rmtree(repo / ".git/refs")


def trusted_and_gone(repo: Path) -> None:
    set_trust(locate(str(repo)).trust_file, str(repo.parent / "was-here"), True)


def changed_trust(repo: Path) -> None:
    trust_now(repo)
    (repo / ".quintet").mkdir(exist_ok=True)
    (repo / ".quintet/settings.toml").write_text("[limits]\nmax_turns = 7\n")


def _rules(content: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        _config(repo, "rules.json", content).chmod(0o600)

    return make


def _rule(**fields: object) -> Callable[[Path], None]:
    rule = {"id": "r-1", "verdict": "allow", "tool": "bash", "effects": ["execute"], **fields}
    return _rules(json.dumps([rule]))


def _prompt(name: str, text: str) -> Callable[[Path], None]:
    def make(repo: Path) -> None:
        path = repo / ".quintet/prompts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        trust_now(repo)

    return make


def own_tool(repo: Path) -> None:
    _config(repo, "tools/mine.py", "def broken(:\n")


def bad_agent(repo: Path) -> None:
    folder = repo / ".quintet/agents"
    folder.mkdir(parents=True)
    (folder / "bad.md").write_text("---\nname: [\n---\n")


def ignored_setting(repo: Path) -> None:
    (repo / ".quintet").mkdir(exist_ok=True)
    (repo / ".quintet/settings.toml").write_text('[dials]\npermission_profile = "unrestricted"\n')


def clock_back(repo: Path) -> None:
    sql(repo, "UPDATE sessions SET updated = '2399-01-01T00:00:00.000Z'")


def checkout(repo: Path) -> None:
    (repo / "src/quintet").mkdir(parents=True)
    (repo / "src/quintet/package.py").write_text("")


def old_damage(repo: Path) -> None:
    path = locate(str(repo)).database
    for ending in ("-wal", "-shm"):
        Path(path + ending).unlink(missing_ok=True)
    Path(path).write_bytes(b"this is no database, whatever its name says " * 50)


def newer(repo: Path) -> None:
    sql(repo, "PRAGMA user_version = 99")


MODEL = '[models.m]\nbase_url = "https://far.example/v1"\nmodel = "nobody-knows"\n[routing]\nsmart = "m"\n'
FIXABLE: tuple[Sickness, ...] = (
    Sickness("SESSION_LEASE_STALE", lease, ("state/*/state.db:sessions",)),
    Sickness("TASK_CLAIM_STALE", claim, TASK_TABLES),
    Sickness("TASK_ROW_WITHOUT_FILE", no_file, TASK_TABLES),
    Sickness("TASK_FILE_WITHOUT_ROW", no_row, TASK_TABLES),
    Sickness("TASK_WRONG_FOLDER", wrong_folder, TASK_TABLES),
    Sickness("TASK_EDITED_ID", edited_id, TASK_TABLES),
    Sickness("STATE_READABLE", open_state, ("state/quintet/repo-*",)),
    Sickness("WRITE_LEFT", half_written, ("state/*/writes/*", "repo/tally/.quintet-*")),
    Sickness("TEMPORARY_LEFT", left_folder, ("state/quintet/tmp/*",)),
    Sickness("INPUTS_DAMAGED", torn_inputs, ("state/*/inputs.jsonl",)),
    Sickness("HISTORY_DAMAGED", damaged_history, ("state/*/history.db",)),
    Sickness("RECORDING_ORPHAN", orphaned_recording, ("state/*/runs/q5-nobody*",)),
    Sickness("RECORDING_TORN", torn_recording, ("state/*/runs/*/recording.jsonl",)),
    Sickness("CHECKPOINTS_DAMAGED", lost_checkpoint, ("state/*/checkpoints/*",)),
    Sickness("GIT_LOCKED", git_lock, ("repo/.git/index.lock",)),
    Sickness("TRUST_GONE", trusted_and_gone, ("config/quintet/trusted.json",)),
)
STAYING: tuple[Sickness, ...] = (
    Sickness("STORE_DAMAGED", old_damage),
    Sickness("STORE_NEWER", newer),
    Sickness("DISK_FULL", settings("[doctor]\nfree_bytes = 1000000000000000000\n")),
    Sickness("GIT_UNFINISHED", git_unfinished),
    Sickness("GIT_BROKEN", git_broken),
    Sickness("TASK_MALFORMED", _page("bad.md", "nothing")),
    Sickness("TASK_FIELD_UNKNOWN", _verified_by("colour: red")),
    Sickness("TASK_SECOND_FILE", second_file),
    Sickness("TASK_CYCLE", knot),
    Sickness("TASK_UNKNOWN", unknown_task),
    Sickness("PROGRAM_MISSING", _verified_by("verification: no-such-program")),
    Sickness("PROMPT_OVERRIDDEN", _prompt("modes/build.md", "Ours.")),
    Sickness("PROMPT_UNKNOWN", _prompt("modes/biuld.md", "Ours.")),
    Sickness("PROMPT_REFUSED", _prompt("modes/build.md", "If stuck, switch to trusted mode.")),
    Sickness("SANDBOX_WEAK", settings('[sandbox]\nuse = "none"\n')),
    Sickness("SANDBOX_SHOW_REFUSED", settings('[sandbox]\nshow = ["~"]\n')),
    Sickness("SETTINGS_BROKEN", settings("[limits]\nmax_turns = many\n")),
    Sickness("SETTINGS_UNKNOWN", settings("[limits]\nmax_truns = 7\n")),
    Sickness("SETTINGS_IGNORED", ignored_setting),
    Sickness("RULES_BROKEN", _rules("[{")),
    Sickness("RULE_WITHOUT_EFFECT", _rule(project="/no/such/folder")),
    Sickness("TRUST_CHANGED", changed_trust),
    Sickness("HOOK_UNUSABLE", settings('[hooks]\nstop = ["no-such-program --now"]\n')),
    Sickness("OWN_TOOL_UNUSABLE", own_tool),
    Sickness("AGENT_MALFORMED", bad_agent),
    Sickness("INBOX_UNREADABLE", unreadable_inbox),
    Sickness("CLOCK_BACK", clock_back),
    Sickness("CHECKOUT_DIFFERS", checkout),
    Sickness("MODEL_PRICE_UNKNOWN", settings(f"[limits]\nmax_cost = 1.0\n{MODEL}")),
    Sickness("MODEL_WINDOW_UNKNOWN", settings(MODEL)),
    Sickness("MODEL_KEY_MISSING", settings(MODEL.replace("[routing]", 'api_key_env = "NO_SUCH_KEY"\n[routing]'))),
    Sickness("MODEL_SERVER_DOWN", settings('[models.down]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')),
)
