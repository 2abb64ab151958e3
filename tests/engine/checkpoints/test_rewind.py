"""/rewind: what the run changed is taken back, what anybody else changed is left alone and named."""

import asyncio
import os
import signal
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quintet.app.open import open_session
from quintet.domain.journal import protocol as p
from quintet.domain.journal.file_changes import CROSSED, OUTSIDE
from quintet.domain.journal.state import fold
from quintet.domain.turn.messages import CallPart
from quintet.engine.session.session import Session
from quintet.surfaces.headless import Headless
from quintet.surfaces.one_command import one_command
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.engine.session.test_open_session import stored

WRITE = call("Write", file_path="new.txt", content="new\n")
SHELL = call("bash", command="echo more >> tally/count.py && mkdir -p made/deep && echo x > made/deep/x")


def files(root: Path) -> dict[str, tuple[bytes, bool]]:
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(root).parts:
            found[path.relative_to(root).as_posix()] = (path.read_bytes(), os.access(path, os.X_OK))
    return found


def run_git(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}


def replies(*turns: list[CallPart]) -> ScriptedModel:
    """A model whose turns each make some calls, one after the other, and then answer."""
    return ScriptedModel([reply for calls in turns for reply in (*([one] for one in calls), "done")])


def left(ran: p.CommandRan) -> dict[str, str]:
    return {one["path"]: one["reason"] for one in ran.data["rewind"]["left"]}


def test_a_turn_that_only_reads_takes_no_checkpoint_and_one_that_writes_takes_one(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("look")
        assert not driver.of(p.CheckpointTaken)
        await driver.turn("change")

    look = [call("Read", file_path="tally/count.py"), call("bash", command="cat tally/count.py | head -3")]
    driver = drive(repo, script, replies(look, [WRITE, SHELL, SHELL]))
    turn = driver.of(p.TurnStarted)[1].turn
    assert [taken.point for taken in driver.of(p.CheckpointTaken)] == [turn]
    assert driver.types().index("CheckpointTaken") < driver.types().index(
        "ToolStarted", driver.seen.index(driver.of(p.TurnStarted)[1])
    )
    assert driver.session.state.checkpoint == driver.of(p.CheckpointTaken)[0]


def test_what_each_call_changed_is_on_record(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("change")

    driver = drive(repo, script, replies([WRITE, SHELL]))
    written, ran = driver.of(p.FilesChanged)
    assert (written.paths, written.added, written.removed) == (("new.txt",), 1, 0)
    assert (ran.paths, ran.count, ran.added) == (("made/deep/x", "tally/count.py"), 2, 2)


def test_files_and_conversation_go_back_and_come_back(repo: Path) -> None:
    before, git = files(repo), run_git(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("first")
        first = files(repo)
        await driver.turn("second")
        second, said = files(repo), list(driver.session.state.conversation.messages)
        preview = await driver.command("/rewind 1")
        assert files(repo) == second and preview.data["rewind"]["files"] == 3
        await driver.command("/rewind 1 both")
        assert files(repo) == before and not (repo / "made").exists()
        assert driver.session.state.conversation.messages == []
        listed = await driver.command("/rewind")
        assert [point["files"] for point in listed.data["points"]] == [1, 2, 3]
        await driver.command("/rewind 3 both")
        assert files(repo) == second and driver.session.state.conversation.messages == said
        await driver.command("/rewind 2 files")
        assert files(repo) == first
        assert [m.text for m in driver.session.state.conversation.messages][:-1] == [m.text for m in said]
        await driver.command("/rewind 4 both")
        assert files(repo) == before

    driver = drive(repo, script, replies([WRITE], [SHELL]))
    assert run_git(repo) == git
    events = [recorded.event for recorded in stored(repo, driver.session.id)]
    assert msgspec.to_builtins(fold(events)) == msgspec.to_builtins(driver.session.state)


class SlowRestore:
    """Checkpoints that restore nothing until somebody interrupts, or they are let go."""

    def __init__(self, session: Session) -> None:
        owner = session._owner
        assert owner
        self._core, self._kept, self._ownership = owner.core, owner.core.checkpoints, owner.core.ownership
        self._stop, self._ownership.stop_command = self._ownership.stop_command, self._stopped
        self._core.checkpoints = cast(Any, self)
        self.began, self._go = asyncio.Event(), asyncio.Event()

    def _stopped(self, stop: bool) -> None:
        self._stop(stop)
        if stop:
            self._go.set()

    async def restore(self, wanted: Any) -> Any:
        self.began.set()
        await self._go.wait()
        return await self._kept.restore(wanted)

    def let_go(self) -> None:
        self._core.checkpoints = self._kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kept, name)


@pytest.mark.parametrize("by", ["an interrupt", "/stop", "an interrupt elsewhere", "/stop elsewhere"])
def test_a_rewind_is_stopped_from_wherever_the_session_is_attached(repo: Path, by: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("first")
        changed, slow = files(repo), SlowRestore(driver.session)
        rewind = await driver.session.say("/rewind 1 both")
        await slow.began.wait()
        body = p.Say(text="/stop") if "/stop" in by else p.Interrupt()
        if "elsewhere" in by:
            async with open_session(str(repo), resume=driver.session.id) as other:
                assert not other.owned_here
                stop = await other.submit(body)
        else:
            stop = await driver.session.submit(body)
        followed = driver.session.follow(rewind)
        assert (await followed.end()).status == "interrupted"
        ran = cast(p.CommandRan, followed.outcome.event)
        assert ran.text.startswith("rewind interrupted: 0 files restored, conversation unchanged")
        assert (await driver.session.follow(stop).end()).status == "done"
        assert files(repo) == changed and driver.session.state.conversation.messages
        slow.let_go()
        await driver.command("/rewind 1 both")
        assert files(repo) == before and driver.session.state.conversation.messages == []

    before = files(repo)
    drive(repo, script, replies([WRITE, SHELL]))


def test_an_interrupt_before_a_rewind_does_not_stop_it(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("first")
        await driver.session.submit(p.Interrupt())
        await driver.command("/rewind 1 both")
        assert files(repo) == before

    before = files(repo)
    drive(repo, script, replies([WRITE, SHELL]))


@pytest.mark.parametrize("headless", [True, False], ids=["-p", "quintet rewind"])
def test_a_rewind_from_a_shell_that_is_interrupted_exits_as_interrupted(repo: Path, headless: bool) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("first")
        slow = SlowRestore(driver.session)
        line = "/rewind 1 files"
        ran = (
            Headless(driver.session, "json").run(line) if headless else one_command(driver.session, line, as_json=True)
        )
        running = asyncio.ensure_future(ran)
        await slow.began.wait()
        os.kill(os.getpid(), signal.SIGINT)
        assert await running == 130

    drive(repo, script, replies([WRITE, SHELL]))


def test_the_next_turn_after_a_rewind_goes_on_from_there_and_dials_stay(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("one")
        await driver.turn("two")
        await driver.command("/mode chat")
        await driver.command("/rewind 2 conversation")
        await driver.turn("three")
        assert driver.axes.work_mode == "chat"

    model = ScriptedModel(["a", "b", "c"])
    drive(repo, script, model)
    assert [message.text for message in model.requests[-1].messages[1:]] == ["one", "a", "three"]


def test_a_conversation_goes_back_to_before_it_was_compacted(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        for number in range(6):
            await driver.turn(f"ask {number}")
        said = [message.text for message in driver.session.state.conversation.messages][:6]
        await driver.command("/compact")
        await driver.command("/rewind 4 conversation")
        assert [message.text for message in driver.session.state.conversation.messages] == said
        assert driver.session.state.conversation.summary is None

    settings = {"compression.keep_messages": 2, "compression.by": "rules"}
    drive(repo, script, ScriptedModel(["ok"] * 6), settings=settings)


def test_a_rewind_in_another_process_finds_everything_in_the_journal(repo: Path) -> None:
    before = files(repo)

    async def first(driver: Driver) -> None:
        await driver.turn("change")

    session = drive(repo, first, replies([WRITE, SHELL])).session.id

    async def second(driver: Driver) -> None:
        await driver.command("/rewind 1 both")

    drive(repo, second, resume=session, axes=None)
    assert files(repo) == before


def test_a_rewind_is_refused_while_a_run_is_active(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("wait")
        await driver.until_type(p.ToolStarted)
        ran = await driver.command("/rewind 1 files")
        assert not ran.ok and "/stop" in ran.text
        await driver.command("/stop")

    drive(repo, script, replies([call("wait", seconds=30)]))


@pytest.mark.parametrize("line", ["/rewind 7", "/rewind 0", "/rewind x", "/rewind 1 everything", "/rewind 1 files now"])
def test_a_line_that_names_nothing_changes_nothing_and_says_what_would(repo: Path, line: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("change")
        ran = await driver.command(line)
        assert not ran.ok and "/rewind" in ran.text and (repo / "new.txt").exists()

    drive(repo, script, replies([WRITE]))


def test_what_was_changed_from_outside_since_is_left_alone_and_named(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("one")
        (repo / "new.txt").write_text("mine now\n")
        (repo / "own.txt").write_text("mine\n")
        ran = await driver.command("/rewind 1 files")
        assert left(ran) == {"new.txt": OUTSIDE}
        assert (repo / "own.txt").read_text() == "mine\n" and (repo / "new.txt").read_text() == "mine now\n"
        assert not (repo / "made").exists()

    drive(repo, script, replies([WRITE, SHELL]))


def test_what_was_changed_from_outside_in_between_is_left_alone_and_named(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("one")
        (repo / "new.txt").write_text("mine\n")
        await driver.turn("two")
        ran = await driver.command("/rewind 1 files")
        assert left(ran) == {"new.txt": CROSSED}
        assert (repo / "new.txt").read_text() == "mine\nmore\n"
        await driver.command("/rewind 2 files")
        assert (repo / "new.txt").read_text() == "mine\n"

    drive(repo, script, replies([WRITE], [call("bash", command="echo more >> new.txt")]))


def test_ignored_files_that_file_tools_change_come_back(repo: Path) -> None:
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "a.log").write_bytes(b"old\r\n\xff")
    (repo / "a.log").chmod(0o600)

    async def script(driver: Driver) -> None:
        await driver.turn("change")
        await driver.command("/rewind 1 files")
        assert (repo / "a.log").read_bytes() == b"old\r\n\xff" and not (repo / "b.log").exists()
        assert (repo / "a.log").stat().st_mode & 0o777 == 0o600
        await driver.command("/rewind 2 files")
        assert (repo / "a.log").read_text() == "new" and (repo / "b.log").read_text() == "new"
        await driver.command("/rewind 1 files")
        assert (repo / "a.log").read_bytes() == b"old\r\n\xff" and not (repo / "b.log").exists()

    calls = [call("Write", file_path=name, content="new") for name in ("a.log", "b.log")]
    drive(repo, script, replies(calls))


def test_a_file_that_stops_being_ignored_is_not_taken_for_a_new_one(repo: Path) -> None:
    (repo / ".gitignore").write_text("precious\n")
    (repo / "precious").write_text("mine")

    async def script(driver: Driver) -> None:
        await driver.turn("change")
        ran = await driver.command("/rewind 1")
        assert {one["path"] for one in ran.data["rewind"]["lacking"]} == {"precious"}
        await driver.command("/rewind 1 files")
        assert (repo / "precious").read_text() == "mine" and (repo / ".gitignore").read_text() == "precious\n"
        await driver.command("/rewind 2 files")
        assert (repo / "precious").read_text() == "mine" and (repo / "made").read_text() == "made\n"
        await driver.command("/rewind 3 files")
        assert (repo / "precious").read_text() == "mine" and (repo / ".gitignore").read_text() == "precious\n"

    drive(
        repo,
        script,
        replies([call("bash", command="echo made > made"), call("bash", command="echo other > .gitignore")]),
    )


def test_a_moved_folder_moves_back(repo: Path) -> None:
    before = files(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("move")
        assert (repo / "counting/count.py").exists()
        await driver.command("/rewind 1 files")
        assert files(repo) == before and not (repo / "counting").exists()

    drive(repo, script, replies([call("fs_move", source="tally", destination="counting")]))


def test_writing_through_a_link_is_taken_back_where_it_leads(repo: Path) -> None:
    (repo / "link.py").symlink_to("tally/count.py")
    before = files(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("write")
        assert (repo / "tally/count.py").read_text() == "x"
        await driver.command("/rewind 1 files")
        assert files(repo) == before and (repo / "link.py").is_symlink()

    drive(repo, script, replies([call("Write", file_path="link.py", content="x")]))


def test_an_empty_folder_that_was_there_stays_and_one_that_was_made_goes(repo: Path) -> None:
    (repo / "logs").mkdir()

    async def script(driver: Driver) -> None:
        await driver.turn("write")
        await driver.command("/rewind 1 files")
        assert (repo / "logs").is_dir() and not (repo / "fresh").exists()

    calls = [call("Write", file_path="logs/a", content="a"), call("fs_create_directory", path="fresh/deep")]
    drive(repo, script, replies(calls))


def test_a_call_that_is_cut_short_has_its_changes_on_record(repo: Path) -> None:
    before = files(repo)

    async def script(driver: Driver) -> None:
        await driver.session.say("work")
        await driver.until_type(p.ToolStarted)
        while not (repo / "half").exists():
            await driver.session._core.clock.sleep(0.01)
        await driver.session.submit(p.Interrupt())
        await driver.until_type(p.TurnFinished)
        await driver.command("/rewind 1 files")
        assert files(repo) == before

    drive(repo, script, replies([call("bash", command="echo x > half; sleep 60")]))


def test_without_git_file_tools_are_taken_back_and_the_user_is_told_once(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "tmp"))

    async def script(driver: Driver) -> None:
        await driver.turn("write")
        await driver.turn("write more")
        await driver.command("/rewind 1 both")
        assert not (repo / "new.txt").exists() and not (repo / "a").exists()

    driver = drive(repo, script, replies([WRITE], [call("Write", file_path="a/b", content="x")]))
    assert [notice.code for notice in driver.of(p.Noticed)] == ["NO_GIT"]


def test_where_snapshots_fail_file_tools_are_taken_back_and_the_user_is_told_once(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "tmp/git"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")

    async def script(driver: Driver) -> None:
        await driver.turn("write")
        await driver.turn("run")
        ran = await driver.command("/rewind 1")
        assert [one["path"] for one in ran.data["rewind"]["lacking"]] == ["turn 1", "turn 2"]
        ran = await driver.command("/rewind 1 files")
        assert ran.ok, ran.text
        assert not (repo / "new.txt").exists()

    driver = drive(repo, script, replies([WRITE], [SHELL]))
    assert [notice.code for notice in driver.of(p.Noticed)] == ["CHECKPOINT"]


def test_nothing_is_kept_where_the_user_wants_none(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("write")
        assert not driver.of(p.CheckpointTaken)
        await driver.command("/rewind 1 both")
        assert (repo / "new.txt").exists() and driver.session.state.conversation.messages == []

    drive(repo, script, replies([WRITE]), settings={"checkpoints.enabled": False})


def test_repositories_inside_are_named_as_not_covered(repo: Path) -> None:
    subprocess.run(["git", "init", "-q", "inner"], cwd=repo, check=True)

    async def script(driver: Driver) -> None:
        await driver.turn("write")
        ran = await driver.command("/rewind 1")
        assert [one["path"] for one in ran.data["rewind"]["lacking"]] == ["inner/"]

    drive(repo, script, replies([WRITE]))


def test_a_fork_at_a_turn_has_the_conversation_up_to_it(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        for text in ("one", "two", "three"):
            await driver.turn(text)
        ran = await driver.command("/fork 2")
        forks.append(ran.data["session"])
        await driver.command("/rewind 2 conversation")
        forks.append((await driver.command("/fork")).data["session"])
        assert not (await driver.command("/fork 9")).ok

    forks: list[str] = []
    drive(repo, first, ScriptedModel(["a", "b", "c"]))
    spoken = [[m.text for m in fold(r.event for r in stored(repo, fork)).conversation.messages] for fork in forks]
    assert spoken == [["one", "a", "two", "b"], ["one", "a"]]


# ── whatever happens, in any order

PATHS = ("tally/count.py", "deep/er/file", "kept.log")
Step = tuple[str, str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(("tool", "shell", "outside")), st.sampled_from(PATHS), st.integers(0, 3)),
    min_size=1,
    max_size=8,
)


def acted(root: Path, step: Step) -> list[CallPart]:
    """The call of a step by the run; a step from outside is carried out here."""
    who, path, value = step
    file = root / path
    if who == "outside":
        if value:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{value}\r\n")
        else:
            file.unlink(missing_ok=True)
        return []
    if who == "tool":
        if value:
            return [call("Write", file_path=path, content=f"{value}\r\n")]
        return [call("fs_delete", path=path)] if file.exists() else []
    folder, access = os.path.dirname(path) or ".", "+x" if value > 1 else "-x"
    made = f"mkdir -p {folder} && printf '{value}\\r\\n' > {path} && chmod {access} {path}"
    return [call("bash", command=made if value else f"rm -f {path}")]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@example(steps=[("tool", PATHS[0], 1), ("outside", PATHS[0], 2), ("shell", PATHS[0], 3)], back=0)
@given(steps=STEPS, back=st.integers(0, 2))
def test_after_a_rewind_the_runs_files_are_as_they_were_and_others_are_untouched(steps: list[Step], back: int) -> None:
    steps = [
        ("tool", path, value) if path == "kept.log" and who == "shell" else (who, path, value)
        for who, path, value in steps
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "p"
        (root / "tally").mkdir(parents=True)
        (root / "tally/count.py").write_text("first\n")
        (root / ".gitignore").write_text("*.log\n")
        (root / "kept.log").write_text("log\n")
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
            subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
        git = run_git(root)
        drive(root, lambda driver: _through(driver, root, steps, back), ScriptedModel([]), person=True)
        assert run_git(root) == git


async def _through(driver: Driver, root: Path, steps: list[Step], back: int) -> None:
    model: Any = driver.session._core.turn.models.make("")
    history: list[tuple[str, dict[str, Any], dict[str, Any]]] = []  # who, all files before and after
    turns = []
    for step in steps:
        before = files(root)
        calls = acted(root, step)
        if step[0] != "outside" and calls:
            turns.append(len(history))
            model._replies[:] = [calls, "done"]
            await _turn_with_yes(driver)
        history.append((step[0], before, files(root)))
    if not turns:
        return
    number = back % len(turns)
    now, since = files(root), history[turns[number] :]
    ran = await driver.command(f"/rewind {number + 1} files")
    assert ran.ok, ran.text
    after = files(root)
    for path in {*now, *after, *(path for _, before, _ in since for path in before)}:
        runs = [(b.get(path), a.get(path)) for who, b, a in since if who != "outside" and b.get(path) != a.get(path)]
        if not runs:
            assert after.get(path) == now.get(path), path
            continue
        whole = all(one[1] == other[0] for one, other in pairwise(runs))
        if whole and now.get(path) == runs[-1][1]:
            assert after.get(path) == runs[0][0], path
        else:
            assert after.get(path) == now.get(path), path
            assert path in left(ran) or now.get(path) == runs[0][0], path


async def _turn_with_yes(driver: Driver) -> None:
    await driver.session.say("go")
    while True:
        event = await driver.until(lambda e: isinstance(e, p.TurnFinished | p.QuestionAsked))
        if isinstance(event, p.TurnFinished):
            assert event.status == "done", event
            return
        assert isinstance(event, p.QuestionAsked)
        await driver.session.submit(p.Answer(question=event.question, choice="y"))


def test_a_rewind_brings_back_nothing_protected_but_what_a_file_tool_changed() -> None:
    """What a command planted, and what was moved aside in the turn, would be installed by undoing that."""
    from quintet.domain.journal.file_changes import LeftAlone, Restoration, RewindPlan
    from quintet.domain.permission.protected_paths import PROTECTION
    from quintet.engine.checkpoints.rewind import KEPT, spared

    there = "100644 " + "0" * 40
    planted = [Restoration(path, "", there) for path in (".claude/settings.json", ".mcp.json", "sub/.git/config")]
    asked = Restoration(".vscode/tasks.json", "", there)
    gone = Restoration(".envrc", there, "")
    plain = Restoration("a.txt", "", there)
    found = spared(RewindPlan((*planted, asked, gone, plain)), {asked.path}, PROTECTION)
    assert found.restore == (asked, gone, plain)
    assert found.left == tuple(LeftAlone(one.path, KEPT) for one in planted)


def test_a_folder_is_made_again_through_no_link(repo: Path, tmp_path: Path) -> None:
    from quintet.adapters.git.file_states import missing_folders, put_back
    from quintet.domain.journal.file_changes import FOLDER

    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / "new").symlink_to(outside)
    with pytest.raises(NotADirectoryError):
        put_back(str(repo), "new/x", FOLDER, "", b"")
    assert missing_folders(str(repo), "new/x/f") == ["new", "new/x"]
    assert not list(outside.iterdir())
