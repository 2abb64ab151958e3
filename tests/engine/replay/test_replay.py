"""A recorded run comes again, event by event, and what is different is found: the run, the recording, the program.

Every other test in this folder replays what it recorded; here are the runs no other test makes, and what goes wrong.
"""

import asyncio
import json
import os
import random
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock
from quintet.app.lookups import needed
from quintet.app.open import open_session
from quintet.app.prompts import PROMPTS
from quintet.cli.replay import parts
from quintet.domain.base.errors import ModelRateLimited, NotFound, Unplayable
from quintet.domain.base.redaction import Redaction, secrets_of
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.recording import ENDED_EARLY, RecordEntry, Recording, read
from quintet.domain.ports.ports import Batch
from quintet.domain.turn.messages import Part, Request, TextPart
from quintet.domain.turn.tool_spec import ToolResult
from quintet.engine.replay.replay import Parts, Replay, ReplayOutcome, lines, split
from quintet.engine.turn.prompts import Prompts
from quintet.testing import ScriptedModel, call
from tests.engine.driving import BUILD, Driver, drive
from tests.replaying import loaded, recordings, replay
from tests.surfaces.program import Done, Program

MANUAL = AxesChange(WorkMode.BUILD, RunControl.MANUAL, PermissionProfile.TRUSTED)
SECRET = 'tr0ub4dor&3 "quoted" horse'


def recorded(tmp_path: Path) -> Path:
    (path,) = recordings(tmp_path / "state")
    return path


def two_calls(repo: Path, **options: Any) -> Driver:
    """Two turns: one with two calls together and a command, one with an answer."""

    async def script(driver: Driver) -> None:
        assert (await driver.turn("how many words")).status == "done"
        assert (await driver.turn("thanks")).answer == "welcome"

    reads = [call("Read", file_path="tally/count.py"), call("Read", file_path="tests/test_count.py")]
    model = ScriptedModel([[TextPart("Let me look. "), *reads], [call("bash", command="echo hi")], "three", "welcome"])
    return drive(repo, script, model, **options)


# ── runs


def test_a_run_comes_out_the_same_and_is_counted(repo: Path, tmp_path: Path) -> None:
    driver = two_calls(repo)
    outcome = replay(loaded(recorded(tmp_path)))
    # SessionOpened was there before the session had an owner: it is where a replay begins, not what it makes.
    assert outcome == ReplayOutcome(events=len(driver.seen) - 1, requests=4, calls=3)
    assert lines(outcome) == [f"equal: {len(driver.seen) - 1} events, 4 requests, 3 calls"]


def test_one_turn_of_a_session_is_replayed_by_its_number(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    recording = loaded(recorded(tmp_path))
    first, second = replay(recording, 1), replay(recording, 2)
    assert (first.requests, first.calls, second.requests, second.calls) == (3, 3, 1, 0)
    assert first.equal and second.equal and second.events == 4


def test_what_commands_say_of_tasks_is_replayed_to_the_end(repo: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("---\nid: words\ntitle: Count the words\n---\nCount them.\n")
    assert _quintet(repo, "tasks", "add", str(page)).code == 0

    async def script(driver: Driver) -> None:
        assert "Count the words" in (await driver.command("/tasks todo")).text
        assert "Count the words" in (await driver.command("/tasks show words")).text
        await driver.turn("thanks")

    drive(repo, script, ScriptedModel(["welcome"]))
    outcome = replay(loaded(recorded(tmp_path)))
    assert (outcome.equal, outcome.complete, outcome.left, outcome.requests) == (True, True, 0, 1)


def test_a_session_of_several_owners_and_a_fork_of_it_are_replayed(repo: Path, tmp_path: Path) -> None:
    async def say(driver: Driver) -> None:
        await driver.turn("and now")

    first = two_calls(repo).session.id
    drive(repo, say, ScriptedModel(["more"]), resume=first, axes=None)
    drive(repo, say, ScriptedModel(["elsewhere"]), resume=first, fork=True, axes=None)
    found = [loaded(path) for path in recordings(tmp_path / "state")]
    assert sorted(len(recording.segments) for recording in found) == [1, 2]
    assert [replay(recording).equal for recording in found] == [True, True]


def test_background_shells_and_what_is_typed_into_them(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("serve")
        await driver.command("/permission-profile restricted")  # which ends the shell
        await driver.turn("look again")

    shell = call("bash", command="cat", run_in_background=True, shell_id="cat")
    typed = call("write_to_shell", shell_id="cat", content="hello", press_enter=True)
    model = ScriptedModel([[shell], [call("bash_output", bash_id="1")], [typed], "up", "gone"])
    driver = drive(
        repo, script, model, axes=AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    )
    assert driver.of(p.ToolStarted)


class Stuttering(ScriptedModel):
    """Gives each part at a moment of its own, so that what else happens comes between any two."""

    def __init__(self, replies: list[Any], chance: random.Random) -> None:
        super().__init__(replies, chunk=2)
        self._chance = chance

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        async for part in super().stream(request):
            await asyncio.sleep(self._chance.choice((0, 0, 0.001, 0.004)))
            yield part


COMMANDS = (
    "/steer mode plan after-current-unit",
    "/steer permission-profile normal after-current-tool",
    "/permission-profile trusted",
    "/mode build",
    "/model-mode deep for-next-unit",
    "/pause",
    "/resume",
    "/stop",
    "/cost",
    "/logs",
    "/session-report",
    "/status",
    "/reasoning on",
    "/reasoning off",
    "/compact",
    "/rate 3",
    "/fork",
    "/settings",
    "/mode nonsense",
    "another request",
)


@pytest.mark.parametrize("seed", range(24))
def test_whatever_comes_in_whenever_it_comes_comes_again_at_the_same_place(repo: Path, seed: int) -> None:
    """Commands, inputs, answers and interrupts at any moment of replies, calls that run together, and retries."""
    chance = random.Random(seed)

    async def script(driver: Driver) -> None:
        await driver.session.say("begin")
        for _ in range(14):
            await asyncio.sleep(chance.choice((0, 0, 0.001, 0.003, 0.01)))
            for question in list(driver.session.state.questions):
                await driver.session.submit(p.Answer(question=question, choice=chance.choice("yna")))
            if chance.random() < 0.15:
                await driver.session.submit(p.Interrupt())
            else:
                await driver.session.say(chance.choice(COMMANDS))
        await driver.session.say("/resume")
        await asyncio.sleep(0.02)

    sleeps = [call("wait", seconds=0.01 * n) for n in range(3)]
    reads = [call("Read", file_path=name) for name in ("tally/count.py", "tests/test_count.py", "nothing")]
    steps: list[Any] = [reads, ModelRateLimited("slow down", retry_after=0.01), sleeps, "half of an answer", reads]
    steps += ["<reasoning>…</reasoning>", [call("Write", file_path=f"n{seed}.txt", content="x")], "DONE\nall of it"]
    options: dict[str, Any] = {"settings": {"runs.delivery_check": True, "dials.abort_active_tool": seed % 2 == 0}}
    drive(repo, script, Stuttering(steps * 6, chance), person=seed % 3 > 0, **options)


def test_a_checkpoint_that_takes_so_long_that_it_is_shown_comes_out_the_same(repo: Path, tmp_path: Path) -> None:
    """How far it is depends on the time that passes, which a replay does not have: nothing of it is written down."""

    async def script(driver: Driver) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("quintet.engine.checkpoints.keeper.SHOWN_SECONDS", 0.0)
            assert (await driver.turn("make it")).status == "done"

    drive(repo, script, ScriptedModel([[call("bash", command="touch made")], "made"]), axes=BUILD)
    recording = loaded(recorded(tmp_path))
    entries = recording.segments[0].entries
    assert "checkpoints.progress" not in [entry.kind for entry in entries]
    assert replay(recording).equal
    place = next(i for i, entry in enumerate(entries) if entry.kind.startswith("checkpoints.snapshot"))
    entries.insert(place, RecordEntry("checkpoints.progress", [1, 2], None))  # as an earlier version wrote it
    assert replay(recording).equal


# ── differences


def changed(recording: Recording, kind: str, change: Any) -> Recording:
    """The recording with the first entry of a kind changed."""
    entries = recording.segments[0].entries
    place = next(i for i, entry in enumerate(entries) if entry.kind == kind)
    entries[place] = change(entries[place])
    return recording


def test_another_word_of_the_model_is_found_at_its_reply(repo: Path, tmp_path: Path) -> None:
    driver = two_calls(repo)
    flipped = changed(loaded(recorded(tmp_path)), "reply.text", lambda e: structs.replace(e, value="Let me hook. "))
    outcome = replay(flipped)
    place = driver.types().index("ModelReplied")
    assert not outcome.equal and outcome.difference
    found = outcome.difference
    assert (found.event, found.type, found.field) == (place + 1, "model_replied", "text")
    assert (found.recorded, found.replayed) == ("Let me look. ", "Let me hook. ")
    assert outcome.events == place - 1
    told = lines(outcome)
    assert told[1:] == [
        f"event     {place + 1}  model_replied, field text",
        "recorded  Let me look. ",
        "replayed  Let me hook. ",
    ]


def test_another_result_of_a_tool_is_found_at_its_end(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    other = ToolResult("something else")
    outcome = replay(changed(loaded(recorded(tmp_path)), "run.2", lambda e: structs.replace(e, value=_plain(other))))
    assert outcome.difference
    assert (outcome.difference.type, outcome.difference.field) == ("tool_finished", "content")
    assert outcome.difference.replayed == "something else"


def test_what_the_recording_has_and_the_run_does_not_is_a_difference(repo: Path, tmp_path: Path) -> None:
    """Without its second input the run stands still where the recording goes on."""
    two_calls(repo)
    recording = loaded(recorded(tmp_path))
    inputs = [i for i, e in enumerate(recording.segments[0].entries) if e.kind == "inbox"]
    del recording.segments[0].entries[inputs[-1]]
    outcome = replay(recording)
    assert outcome.difference and outcome.difference.type == "input_received"
    assert "stopped" in outcome.difference.hint


def test_another_prompt_is_found_at_the_first_request_and_named(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    recording = loaded(recorded(tmp_path))
    page = "base/system.md"

    def another(own: Mapping[str, str]) -> Prompts:
        folder = tmp_path / "prompts"
        subprocess.run(["cp", "-r", PROMPTS, folder], check=True)
        (folder / page).write_text("You are somebody else.\n")
        return Prompts(str(folder), own=own)

    outcome = _with(recording, structs.replace(parts(), prompts=another))
    assert outcome.difference
    found = outcome.difference
    requested = next(r.seq for r in recording.events if isinstance(r.event, p.ModelRequested))
    assert (found.event, found.type, found.field) == (requested, "request", "system")
    assert page in found.hint


def test_a_setting_the_run_depends_on_is_found_where_it_first_matters(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    recording = loaded(recorded(tmp_path))
    header = recording.segments[0].header
    limits = structs.replace(header.settings.limits, max_turns=1)
    settings = structs.replace(header.settings, limits=limits)
    recording.segments[0].header = structs.replace(header, settings=settings)
    outcome = replay(recording)
    assert outcome.difference and outcome.difference.field == "type"
    assert (outcome.difference.recorded, outcome.difference.replayed) == ("model_requested", "turn_finished")


def _with(recording: Recording, program: Parts) -> ReplayOutcome:
    ((segment, past, made),) = split(recording.events, recording.segments)
    return asyncio.run(Replay(segment, program, past, made).run())


def _plain(result: ToolResult) -> Any:
    return json.loads(json.dumps(structs.asdict(result)))


# ── recordings


@pytest.mark.cut_short("as by a crash")
def test_a_recording_cut_short_by_a_crash_is_equal_as_far_as_it_goes_and_says_so(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    path = recorded(tmp_path)
    data = path.read_bytes()
    starts = [i for i in range(len(data)) if data.startswith(b"\n", i)]
    for end in (starts[len(starts) // 3], starts[len(starts) // 2] + 9, starts[-8]):
        path.write_bytes(data[:end])
        outcome = replay(loaded(path))
        assert outcome.equal and not outcome.complete and outcome.left > 0, lines(outcome)
        assert lines(outcome)[1].startswith(
            f"the recording ends early, {outcome.left} events before the end of the journal"
        )


class OddSeconds(float):
    """A number that has no form in JSON; those made of it are plain."""


class OddClock(SystemClock):
    def monotonic(self) -> float:
        return OddSeconds(super().monotonic())


@pytest.mark.cut_short("the time has no form")
def test_what_cannot_be_recorded_is_said_in_the_session_once_and_by_its_replay(repo: Path, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        assert (await driver.turn("hello")).answer == "hello"
        assert (await driver.turn("thanks")).answer == "welcome"

    driver = drive(repo, script, ScriptedModel(["hello", "welcome"]), clock=OddClock())
    (said,) = [one for one in driver.of(p.Noticed) if one.code == ENDED_EARLY]
    assert said.level == "warning" and "came in as monotonic cannot be written down (TypeError: " in said.text
    outcome = replay(loaded(recorded(tmp_path)))
    assert outcome.equal and not outcome.complete and outcome.left > 0, lines(outcome)
    assert lines(outcome)[1].endswith(f": {outcome.unrecorded}") and outcome.unrecorded in said.text


def test_what_is_being_written_when_the_session_closes_is_not_taken_twice(repo: Path) -> None:
    """Until it is written the inbox still has what it consumes; what came behind it is taken, too."""

    async def script(driver: Driver) -> None:
        store = driver.session._owner.core.store._port  # type: ignore[union-attr]
        append, begun = store.append, asyncio.Event()

        async def slowly(session: str, batch: Batch) -> list[int]:
            begun.set()
            await asyncio.sleep(0.3)
            return await append(session, batch)

        store.append = slowly
        await driver.session.say("/cost")
        await begun.wait()
        await driver.session.say("/status")

    driver = drive(repo, script)
    events = [recorded.event for recorded in needed(locate(str(repo))).read(driver.session.id)]
    assert [event.line for event in events if isinstance(event, p.CommandRan)] == ["/cost", "/status"]


@pytest.mark.cut_short("as by a crash")
def test_the_next_owner_goes_on_behind_what_a_crash_left(repo: Path, tmp_path: Path) -> None:
    async def say(driver: Driver) -> None:
        await driver.turn("and now")

    session = two_calls(repo).session.id
    path = recorded(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    drive(repo, say, ScriptedModel(["more"]), resume=session, axes=None)
    recording = loaded(path)
    assert len(recording.segments) == 2 and replay(recording).equal


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text.replace('["now"', '["now', 1), "is damaged"),
        (lambda text: text.replace('"format":1', '"format":99', 1), "in another format (99."),
        (lambda text: text.replace('"events":1', '"events":7', 1), "in another format (1.7; this program reads 1.1)"),
        (lambda text: text.partition("\n")[2], "not a Quintet recording"),
        (lambda text: "", "not a Quintet recording"),
        (lambda text: text[:200], "contains no run"),
    ],
)
def test_a_recording_that_cannot_be_read_is_refused_with_the_reason(
    repo: Path, tmp_path: Path, damage: Any, said: str
) -> None:
    two_calls(repo)
    path = recorded(tmp_path)
    data = path.read_text()
    path.write_text(damage(data))
    with pytest.raises(Unplayable) as refused:
        loaded(path)
    assert said in str(refused.value) and str(path) in str(refused.value)
    path.write_text(data)


def test_a_session_without_a_recording_says_how_there_would_be_one(repo: Path, tmp_path: Path) -> None:
    session = two_calls(repo, settings={"runs.record": False}).session.id
    assert recordings(tmp_path / "state") == []
    (state,) = (tmp_path / "state").rglob("state.db")
    with pytest.raises(NotFound, match=r"runs\.record"):
        loaded(state.parent / "runs" / session / "recording.jsonl")


def test_only_the_newest_recordings_are_kept(repo: Path, tmp_path: Path) -> None:
    sessions = []
    for age in range(4):
        sessions.append(two_calls(repo, settings={"runs.keep_recordings": 2}).session.id)
        for path in recordings(tmp_path / "state"):
            if path.parent.name == sessions[-1]:
                os.utime(path, (1000.0 + age, 1000.0 + age))
    assert [path.parent.name for path in recordings(tmp_path / "state")] == sorted(sessions[-2:])


def test_where_no_recording_can_be_written_the_run_goes_on_without(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    runs = recorded(tmp_path).parents[1]
    shutil.rmtree(runs)
    runs.write_text("a file where the folder should be")
    assert two_calls(repo).of(p.TurnFinished)[0].status == "done"


KEPT = Path(__file__).parent / "recordings"  # made by earlier versions; between them they hold most kinds of entries
FEATURES = {"mcp": pytest.mark.everything}  # those of a feature's tools need the feature


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=FEATURES.get(name, ())) for name in sorted(path.stem for path in KEPT.iterdir())]
)
def test_a_recording_of_an_earlier_version_makes_the_same_events(name: str) -> None:
    """Their words may have changed since, as prompts and messages do; what is done, and in which order, has not."""
    path = KEPT / f"{name}.jsonl"
    recording = read(path.read_bytes(), str(path), p.VERSION)
    for segment, past, made in split(recording.events, recording.segments):
        again = Replay(segment, parts(), past, made, compared=False)
        asyncio.run(again.run())
        assert [kind for kind, _, _ in again.posted] == [type(r.event).__struct_config__.tag for r in made]
        assert again.player.finished and not again.player.ran_out, again.player.next_kind


# ── exported


def exported(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str = "run.jsonl") -> Path:
    """A run in which a secret, the home and the project's place are spoken of, as a file."""
    monkeypatch.setenv("ACME_TOKEN", SECRET)

    async def script(driver: Driver) -> None:
        await driver.session.say(f"use {SECRET} in {repo}")
        while isinstance(event := await driver.until(_asks_or_ends), p.QuestionAsked):
            await driver.session.submit(p.Answer(question=event.question, choice="y"))

    said = [TextPart(SECRET[:9]), TextPart(SECRET[9:]), TextPart(f" and {os.environ['HOME']}/x")]
    write = call("Write", file_path=str(repo / "key.txt"), content=SECRET)
    model = ScriptedModel([[*said, write], [call("Read", file_path="key.txt")], "sk-abcdefghijklmnopqrstuvwxyz"])
    session = drive(repo, script, model, person=True, axes=MANUAL).session.id
    target = tmp_path / name
    done = _quintet(repo, "replay", session, "--export", str(target))
    assert (done.code, done.err) == (0, "")
    return target


def _asks_or_ends(event: p.Event) -> bool:
    return isinstance(event, p.QuestionAsked | p.TurnFinished)


def _quintet(cwd: Path, *arguments: str, **variables: str) -> Done:
    return Program(cwd).run(*arguments, **variables)


def test_an_exported_recording_holds_no_secret_and_no_place(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = exported(repo, tmp_path, monkeypatch).read_text()
    for private in (SECRET, json.dumps(SECRET)[1:-1], str(repo), os.environ["HOME"], str(tmp_path), "sk-abcdefg"):
        assert private not in text, private
    assert "/project" in text and "/home/user" in text and "*" * len(SECRET) in text


def test_an_exported_recording_is_replayed_anywhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty home, in another folder, where Python orders its sets in another way."""
    target = exported(repo, tmp_path, monkeypatch)
    away = tmp_path / "away"
    away.mkdir()
    homes = {"HOME": str(away), "XDG_STATE_HOME": str(away / "s"), "XDG_CONFIG_HOME": str(away / "c")}
    for seed in ("1", "2"):
        done = _quintet(away, "replay", str(target), "--json", PYTHONHASHSEED=seed, **homes)
        assert done.code == 0, done
        said = json.loads(done.out)
        assert said["equal"] and said["complete"] and (said["requests"], said["calls"]) == (3, 2)
    assert list(away.iterdir()) == [], "a replay leaves nothing behind"


def test_a_run_with_commands_that_show_the_project_is_exported(repo: Path, tmp_path: Path) -> None:
    async def script(driver: Driver) -> None:
        assert str(repo) in (await driver.command("/status")).text
        assert (await driver.turn("thanks")).answer == "welcome"

    session, target = drive(repo, script, ScriptedModel(["welcome"])).session.id, tmp_path / "run.jsonl"
    done = _quintet(repo, "replay", session, "--export", str(target))
    assert (done.code, done.err) == (0, "")
    text = target.read_text()
    assert str(repo) not in text and "/project" in text
    assert _quintet(repo, "replay", str(target)).out.startswith("equal: ")


def test_a_changed_export_is_told_with_exit_code_1(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = exported(repo, tmp_path, monkeypatch)
    head, found, tail = target.read_text().rpartition('["reply.text","')
    target.write_text(f"{head}{found}X{tail[1:]}")
    done = _quintet(tmp_path, "replay", str(target))
    assert done.code == 1
    assert "model_replied, field text" in done.out and done.out.startswith("different: ")


@pytest.mark.parametrize("named", [(), ("latest",)])
def test_without_a_name_the_newest_session_is_replayed(repo: Path, named: tuple[str, ...]) -> None:
    two_calls(repo)
    done = _quintet(repo, "replay", *named)
    assert done.code == 0 and done.out.startswith("equal: ")


def test_a_recording_that_was_not_exported_is_no_file_to_replay(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    done = _quintet(repo, "replay", str(recorded(tmp_path)))
    assert done.code == 1 and "--export" in done.err


def test_redaction_keeps_lengths_and_finds_what_stands_across_pieces() -> None:
    redaction = Redaction(secrets_of({"A_KEY": "longenough", "PATH": "/usr/bin:/x", "B": "by its name"}, ["B"]), {})
    assert redaction.text("by its name, longenough, /usr/bin:/x") == "***********, **********, /usr/bin:/x"
    assert redaction.pieces(["a long", "enough b"]) == ["a ****", "****** b"]
    places = Redaction((), {"/home/ada": "/home/user", "/home/ada/code/tally": "/project"})
    assert places.clean({"/home/ada/code/tally/x": ["/home/ada/y", 7]}) == {
        "/project____________/x": ["/home/use/y", 7]
    }


# ── as a model


def test_a_recording_answers_in_the_place_of_a_model_and_the_tools_run_for_real(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def again() -> list[p.Event]:
        async with open_session(str(repo), settings=settings, axes=BUILD) as session:
            driver = Driver(session)
            await driver.turn("make it")
            return driver.seen

    async def script(driver: Driver) -> None:
        await driver.turn("make it")

    model = ScriptedModel([[call("Write", file_path="made.txt", content="made\n")], "made"])
    drive(repo, script, model)
    path = recorded(tmp_path)
    (repo / "made.txt").unlink()
    settings: dict[str, Any] = {"routing.smart": f"replay:{path}", "tools.presentation": "flat"}
    settings |= {"runs.delivery_check": False, "runs.qa_review": False}
    seen = asyncio.run(again())
    assert isinstance(seen[-1], p.TurnFinished) and seen[-1].answer == "made"
    assert (repo / "made.txt").read_text() == "made\n"


def test_a_conversation_that_departs_from_its_recording_is_told_so(repo: Path, tmp_path: Path) -> None:
    two_calls(repo)
    path = recorded(tmp_path)
    plain = {"runs.qa_review": "false", "runs.delivery_check": "false", "tools.presentation": "flat"}
    variables = {f"QUINTET_{key.upper().replace('.', '_')}": value for key, value in plain.items()}
    done = _quintet(repo, "-p", "something else", "--model", f"replay:{path}", **variables)
    assert done.code == 1
    assert f"at request 1 this conversation differs from {path}: the user said something else" in done.err


def test_a_recording_that_is_not_there_is_no_model(repo: Path) -> None:
    done = _quintet(repo, "-p", "hello", "--model", "replay:nowhere.jsonl")
    assert done.code != 0 and "replay:nowhere.jsonl: cannot be read (No such file" in done.err
