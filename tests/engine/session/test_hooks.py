"""Hooks: the user's own programs at seven places; they hold things back and never allow them."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.processes.processes import ShellHooks
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.hooks import HookEnd, HookPlace, HookVerdict, stricter, verdict_of
from quintet.domain.settings.settings import HookSettings
from quintet.domain.turn.messages import Role
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.cycles import rules
from tests.engine.driving import SECONDS, Driver, drive
from tests.looking import a_while, alive
from tests.trusted import trust_now

WRITE = call("Write", file_path="new.txt", content="new\n")
REMOVE = call("bash", command="shred -u tally/count.py")
NO = "echo 'not on Fridays' >&2; exit 2"


def says(**answer: str) -> str:
    return f"echo '{json.dumps(answer)}'"


async def appears(path: Path) -> None:
    async with asyncio.timeout(SECONDS):
        while not path.exists():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def turned(root: Path, place: HookPlace, hooks: list[str], replies: list[Any], **options: Any) -> tuple[Driver, Any]:
    """One turn with these hooks at one place."""

    async def script(driver: Driver) -> None:
        await driver.turn("go")

    model = ScriptedModel(replies)
    settings = {**options.pop("settings", {}), f"hooks.{place.setting}": hooks}
    return drive(root, script, model, deterministic=True, settings=settings, **options), model


# ── what an ending means


def test_every_place_has_a_setting_of_its_own() -> None:
    assert [place.setting for place in HookPlace] == [
        "session_start",
        "user_prompt_submit",
        "pre_tool_use",
        "post_tool_use",
        "pre_compact",
        "stop",
        "permission_request",
    ]
    assert set(HookSettings.__struct_fields__) == {place.setting for place in HookPlace}


PRE, POST = HookPlace.PRE_TOOL_USE, HookPlace.POST_TOOL_USE
ENDINGS = [
    (PRE, HookEnd(0), HookVerdict()),
    (PRE, HookEnd(0, "fine"), HookVerdict()),
    (PRE, HookEnd(0, "[1]"), HookVerdict()),
    (PRE, HookEnd(0, "[" * 100_000), HookVerdict()),
    (PRE, HookEnd(0, '{"decision": 7, "reason": []}'), HookVerdict()),
    (PRE, HookEnd(0, '{"decision": "allow", "reason": "I say so"}'), HookVerdict()),
    (PRE, HookEnd(0, '{"decision": "approve"}'), HookVerdict()),
    (PRE, HookEnd(0, '{"decision": "block", "reason": "no"}'), HookVerdict(blocked=True, reason="no")),
    (PRE, HookEnd(0, '{"decision": "deny"}'), HookVerdict(blocked=True, reason="it gave no reason")),
    (PRE, HookEnd(0, '{"decision": "ask", "reason": "sure?"}'), HookVerdict(asks=True, reason="sure?")),
    (HookPlace.STOP, HookEnd(0, '{"decision": "ask"}'), HookVerdict(warning='decision "ask" has no effect at Stop')),
    (PRE, HookEnd(0, '{"additionalContext": "mind the gap"}'), HookVerdict(context="mind the gap")),
    (PRE, HookEnd(2, '{"decision": "allow"}', "no\n"), HookVerdict(blocked=True, reason="no")),
    (PRE, HookEnd(2), HookVerdict(blocked=True, reason="it gave no reason")),
    (
        POST,
        HookEnd(2, "", "run the linter"),
        HookVerdict(blocked=True, reason="run the linter", context="run the linter"),
    ),
    (HookPlace.SESSION_START, HookEnd(2, "", "x"), HookVerdict(warning="a hook cannot stop a session from opening: x")),
    (PRE, HookEnd(1, "", "broken\nmore"), HookVerdict(warning="exit 1: broken")),
    (PRE, HookEnd(127), HookVerdict(warning="exit 127")),
    (PRE, HookEnd(2, "", "no", timed_out=True), HookVerdict(warning="it did not end within 30 s and was killed")),
]


@pytest.mark.parametrize(("place", "end", "said"), ENDINGS)
def test_what_a_hooks_ending_means(place: HookPlace, end: HookEnd, said: HookVerdict) -> None:
    assert verdict_of(place, end) == said


def test_of_two_hooks_the_stricter_one_counts() -> None:
    nothing, ask, no = HookVerdict(), HookVerdict(asks=True, reason="a"), HookVerdict(blocked=True, reason="n")
    table = {(a.reason, b.reason): stricter(a, b).reason for a in (nothing, ask, no) for b in (nothing, ask, no)}
    assert table == {
        ("", ""): "",
        ("", "a"): "a",
        ("", "n"): "n",
        ("a", ""): "a",
        ("a", "a"): "a",
        ("a", "n"): "n",
        ("n", ""): "n",
        ("n", "a"): "n",
        ("n", "n"): "n",
    }


# ── the seven places


def test_a_hook_is_told_where_it_is_and_what_it_is_about(repo: Path) -> None:
    driver, _ = turned(repo, PRE, ["cat > told.json"], [[WRITE], "done"])
    told = json.loads((repo / "told.json").read_text())
    assert told == {
        "hook_event_name": "PreToolUse",
        "session_id": "q5-1",
        "cwd": str(repo),
        "axes": {
            "work_mode": "build",
            "run_control": "autonomous",
            "permission_profile": "trusted",
            "model_mode": "smart",
            "surface": "rpc",
        },
        "tool_name": "Write",
        "tool_input": {"file_path": "new.txt", "content": "new\n"},
    }
    assert driver.of(p.HookRan) == [p.HookRan(place=PRE, command="cat > told.json", exit_code=0)]


def test_session_start_may_tell_the_model_something_before_the_first_turn(repo: Path) -> None:
    hook = f"cat > told.json; {says(additionalContext='The build is red.')}"
    driver, model = turned(repo, HookPlace.SESSION_START, [hook], ["done"])
    assert driver.types()[:4] == ["SessionOpened", "HookRan", "InputReceived", "TurnStarted"]
    assert json.loads((repo / "told.json").read_text())["source"] == "new"
    context, prompt = model.requests[0].messages[1:]
    assert context.text == "From a hook of the user's (SessionStart):\nThe build is red."
    assert (context.role, prompt.text) == (Role.USER, "go")


def test_user_prompt_submit_may_keep_a_turn_from_beginning(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        submission = await driver.session.say("deploy it")
        ran = await driver.until_type(p.CommandRan)
        assert (ran.submission, ran.ok, ran.code) == (submission, False, "NOT_BEGUN")
        assert ran.text == f"the turn did not start: your hook `{hook}`: no deploying"
        assert driver.session.state.turns.waiting == []
        assert (await driver.turn("look")).answer == "done"

    hook = "if grep -q deploy; then echo 'no deploying' >&2; exit 2; fi"
    model = ScriptedModel(["done"])
    driver = drive(repo, script, model, settings={"hooks.user_prompt_submit": [hook]})
    assert [event.blocked for event in driver.of(p.HookRan)] == [True, False]
    assert [event.text for event in driver.of(p.TurnStarted)] == ["look"]
    assert not any("deploy" in message.text for message in model.requests[0].messages)


def test_an_interrupt_ends_a_prompt_hook_and_the_turn_is_not_begun(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await appears(repo / "runs")
        await driver.session.submit(p.Interrupt())
        ran = await driver.until(lambda e: isinstance(e, p.CommandRan) and e.code == "NOT_BEGUN")
        assert isinstance(ran, p.CommandRan) and ran.text == "the turn did not start: interrupted"
        assert not alive("sleep", long)

    long = a_while()
    driver = drive(repo, script, settings={"hooks.user_prompt_submit": [f"touch runs; sleep {long}"]})
    assert driver.of(p.TurnStarted) == [] and driver.session.state.turns.waiting == []


def test_pre_tool_use_denies_a_call_and_the_run_goes_on(repo: Path) -> None:
    driver, model = turned(repo, PRE, [NO, "touch second"], [[WRITE], "I may not"])
    assert driver.types()[3:] == [
        "ModelRequested",
        "ModelReplied",
        "HookRan",
        "CallDecided",
        "ToolFinished",
        "ModelRequested",
        "ModelReplied",
        "TurnFinished",
    ]
    decided = driver.of(p.CallDecided)[0]
    assert (decided.verdict, decided.reason) == (Verdict.DENY, f"your hook `{NO}`: not on Fridays")
    assert model.requests[1].messages[-1].text == f"not run: your hook `{NO}`: not on Fridays"
    assert not (repo / "new.txt").exists()
    assert not (repo / "second").exists(), "the first no is the last that runs"


def test_pre_tool_use_may_have_a_call_asked_that_would_go_unasked(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        asked = await driver.until_type(p.QuestionAsked)
        assert [choice.key for choice in asked.choices] == ["y", "n", "e"], "an always would go round the hook"
        await driver.session.submit(p.Answer(question=asked.question, choice="y"))
        await driver.until_type(p.TurnFinished)

    settings = {"hooks.pre_tool_use": [says(decision="ask", reason="sure?")]}
    driver = drive(repo, script, ScriptedModel([[WRITE], "done"]), person=True, settings=settings)
    assert "sure?" in driver.of(p.CallDecided)[0].reason
    assert (repo / "new.txt").exists()


def test_a_hook_that_asks_with_nobody_there_has_the_call_skipped(repo: Path) -> None:
    replies = [[WRITE], "It cannot be written.", "NEEDS_WORK\nnew.txt is not there"]
    driver, model = turned(repo, PRE, [says(decision="ask", reason="sure?")], [*replies, *replies[1:]])
    ended = driver.of(p.TurnFinished)[0]
    assert ended.status == "blocked" and ended.reason.endswith("sure?")
    assert "sure?. The call was Write new.txt. Nobody can approve" in model.requests[1].messages[-1].text
    assert not (repo / "new.txt").exists()


@pytest.mark.parametrize("place", [PRE, HookPlace.PERMISSION_REQUEST])
@pytest.mark.parametrize("word", ["allow", "approve"])
def test_no_hook_can_allow_what_the_gate_asks_about(repo: Path, place: HookPlace, word: str) -> None:
    driver, _ = turned(repo, place, [says(decision=word, reason="I say so")], [[REMOVE], "done"])
    assert driver.of(p.TurnFinished)[0].status == "blocked"
    assert (repo / "tally/count.py").exists()


@pytest.mark.parametrize("word", ["allow", "approve", "ask"])
def test_no_hook_can_allow_what_the_gate_denies(repo: Path, word: str) -> None:
    (repo / ".env").write_text("TOKEN=hunter22")
    driver, _ = turned(repo, PRE, [says(decision=word)], [[call("Read", file_path=".env")], "done"])
    assert driver.of(p.ToolFinished)[0].status is CallStatus.DENIED
    assert driver.of(p.HookRan) == [], "what is denied anyway is nobody's to judge"


def test_a_dial_turned_while_a_hook_runs_holds_for_its_call(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await appears(repo / "waits")
        await driver.command("/permission-profile restricted")
        (repo / "go").touch()
        await driver.until_type(p.TurnFinished)

    settings = {"hooks.pre_tool_use": ["touch waits; while [ ! -e go ]; do sleep 0.02; done"]}
    driver = drive(repo, script, ScriptedModel([[WRITE], "done"]), settings=settings)
    assert not (repo / "new.txt").exists()
    assert driver.of(p.ToolStarted) == []


@pytest.mark.parametrize("control", [RunControl.AUTONOMOUS, RunControl.MANUAL])
def test_permission_request_may_deny_before_the_person_is_asked(repo: Path, control: RunControl) -> None:
    axes = AxesChange(WorkMode.BUILD, control, PermissionProfile.TRUSTED)
    hook = f"cat > told.json; {NO}"
    place = HookPlace.PERMISSION_REQUEST
    driver, model = turned(repo, place, [hook], [[REMOVE], "I may not"], person=True, axes=axes)
    assert driver.of(p.QuestionAsked) == []
    assert model.requests[1].messages[-1].text == f"not run: your hook `{hook}`: not on Fridays"
    told = json.loads((repo / "told.json").read_text())
    assert [(one["tool_name"], one["tool_input"]["command"]) for one in told["calls"]] == [
        ("bash", "shred -u tally/count.py")
    ]
    assert (repo / "tally/count.py").exists()


def test_a_no_to_a_call_of_an_approved_step_is_on_record(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("y")
        await driver.until_type(p.TurnFinished)

    manual = AxesChange(WorkMode.BUILD, RunControl.MANUAL, PermissionProfile.TRUSTED)
    settings = {"hooks.pre_tool_use": [NO]}
    driver = drive(repo, script, ScriptedModel([[WRITE], "done"]), person=True, axes=manual, settings=settings)
    assert [event.verdict for event in driver.of(p.CallDecided)] == [Verdict.ASK, Verdict.DENY]
    assert not (repo / "new.txt").exists()


def test_post_tool_use_tells_the_model_after_all_results_of_the_step(repo: Path) -> None:
    step = [call("Read", file_path="tally/count.py"), call("grep", pattern="words")]
    driver, model = turned(repo, POST, [f"cat >> told.jsonl; {NO}"], [step, "done"])
    roles = [message.role for message in model.requests[1].messages[-5:]]
    assert roles == [Role.ASSISTANT, Role.TOOL, Role.TOOL, Role.USER, Role.USER]
    assert model.requests[1].messages[-1].text == "From a hook of the user's (PostToolUse):\nnot on Fridays"
    assert '"tool_response":{"status":"ok"' in (repo / "told.jsonl").read_text()
    assert [event.status for event in driver.of(p.ToolFinished)] == [CallStatus.OK] * 2


def test_stop_sends_a_turn_back_once(repo: Path) -> None:
    driver, model = turned(repo, HookPlace.STOP, [NO], ["one", "two", "three"])
    assert driver.types()[3:] == [
        "ModelRequested",
        "ModelReplied",
        "HookRan",
        "Corrected",
        "ModelRequested",
        "ModelReplied",
        "HookRan",
        "TurnFinished",
    ]
    assert "not on Fridays" in model.requests[1].messages[-1].text
    assert driver.of(p.TurnFinished)[0].answer == "two"


# ── what goes wrong with a hook


def test_a_hook_that_fails_is_a_warning_and_stops_nothing(repo: Path) -> None:
    driver, _ = turned(repo, PRE, ["echo oops >&2; exit 1"], [[WRITE], "done"])
    assert driver.of(p.TurnFinished)[0].status == "done" and (repo / "new.txt").exists()
    noticed = driver.of(p.Noticed)
    assert [(n.level, n.code) for n in noticed] == [("warning", "HOOK")]
    assert noticed[0].text == "hook PreToolUse: echo oops >&2; exit 1: exit 1: oops"


def test_a_hook_that_does_not_end_is_killed_with_everything_it_started(tmp_path: Path) -> None:
    one, other = a_while(), a_while()
    end = asyncio.run(ShellHooks().run(f"sleep {one} & sleep {other}", b"{}", str(tmp_path), 0.5))
    assert end.timed_out
    assert not alive("sleep", one) and not alive("sleep", other)


def test_what_a_hook_leaves_behind_ends_with_it_and_holds_nothing_up(tmp_path: Path) -> None:
    long = a_while()
    end = asyncio.run(ShellHooks().run(f"sleep {long} & echo said", b"{}", str(tmp_path), 50))
    assert (end.exit_code, end.stdout, end.timed_out) == (0, "said\n", False)
    assert not alive("sleep", long)


def test_a_hook_may_print_more_than_a_pipe_holds_and_need_not_read(tmp_path: Path) -> None:
    told = b"x" * 1_000_000
    end = asyncio.run(ShellHooks().run("head -c 3000000 /dev/zero", told, str(tmp_path), 20))
    assert end.exit_code == 0 and len(end.stdout) == 1_000_000


def test_a_hook_gets_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter22")
    assert "hunter22" not in asyncio.run(ShellHooks().run("env", b"{}", str(tmp_path), 20)).stdout


# ── whose hooks


@pytest.mark.parametrize("trusted", [False, True])
def test_a_projects_hooks_run_only_where_its_folder_is_trusted_and_after_the_users(repo: Path, trusted: bool) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"], "quintet")
    for folder, name in ((config, "user"), (repo / ".quintet", "project")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.toml").write_text(f'[hooks]\nsession_start = ["echo {name} >> ran"]\n')
    if trusted:
        trust_now(repo)

    async def script(driver: Driver) -> None:
        await driver.turn("go")

    driver = drive(repo, script)
    assert (repo / "ran").read_text().split() == (["user", "project"] if trusted else ["user"])
    ignored = [event.text for event in driver.of(p.Noticed) if "hooks.session_start is ignored" in event.text]
    assert bool(ignored) is not trusted


def test_offline_rules_say_which_hook_stopped_them(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        end = await driver.turn("git status")
        assert f"your hook `{NO}`: not on Fridays" in end.answer and "permission profile" not in end.answer

    drive(repo, script, rules(), settings={"hooks.pre_tool_use": [NO], "tools.presentation": "menu"})
