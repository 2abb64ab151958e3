"""Background shells, at real terminals and behind each containment."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.turn.toolbox import Prepared
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.looking import a_while, alive
from tests.places import ROOT
from tests.tools.calling import Caller

SECONDS = 120.0
EACH = (pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap")), Sandbox.PARTIAL, Sandbox.NONE)
TRUSTED = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0.02)


class Shells:
    """One project's background shells, read until they have said something."""

    def __init__(self, caller: Caller) -> None:
        self.call = caller.call
        self.caller = caller

    async def start(self, command: str, **options: Any) -> ToolResult:
        return await self.call("bash", command=command, run_in_background=True, **options)

    async def type(self, text: str, enter: bool = True, shell: str = "1") -> ToolResult:
        return await self.call("write_to_shell", shell_id=shell, content=text, press_enter=enter)

    async def ended(self, command: str, **options: Any) -> None:
        """Runs a command to its end, and reads nothing of what it says."""
        await self.start(f"read x; {command}", **options)
        name = options.get("bash_id", "1")
        await self.caller.shells.write(name, "\n")
        await until(lambda: not self.caller.shells.running())

    async def until(self, word: str, said: str = "", shell: str = "1") -> str:
        """Everything read until this word has come."""
        async with asyncio.timeout(SECONDS):
            while word not in said:
                said += (await self.call("bash_output", bash_id=shell)).content
                await asyncio.sleep(0.02)
        return said

    async def at_prompt(self, folder: str = "") -> None:
        """Waits until the first shell waits for a line, in this folder of the project."""
        place = str(self.caller.root / folder)
        await until(lambda: self.caller.shells.state("1").folder == place)

    def judged(self, text: str, shell: str = "1") -> Prepared | ToolResult:
        return self.caller.prepare("write_to_shell", json.dumps({"shell_id": shell, "content": text}), TRUSTED)

    def verdict(self, text: str, shell: str = "1") -> Verdict:
        prepared = self.judged(text, shell)
        assert isinstance(prepared, Prepared), prepared
        return prepared.decision.verdict


def during(caller: Caller, script: Callable[[Shells], Awaitable[None]]) -> None:
    async def run() -> None:
        try:
            await script(Shells(caller))
        finally:
            await caller.shells.close()

    asyncio.run(run())


@pytest.fixture(params=EACH)
def each(request: pytest.FixtureRequest, repo: Path) -> Caller:
    return Caller(repo, request.param)


# ── output


def test_a_shell_goes_on_while_other_things_are_done_and_tells_only_what_is_new(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        begun = await shells.start("echo one; read x; echo two; read y; exit 7")
        assert begun.content.startswith("shell 1 was started.")
        first = await shells.until("one", begun.content)
        assert "(still running)" in first and "two" not in first
        assert (await shells.call("bash", command="echo meanwhile")).content == "meanwhile\nexit 0"
        second = await shells.until("two", (await shells.type("")).content)
        assert "one" not in second
        third = await shells.until("(exit 7)", (await shells.type("")).content)
        assert "two" not in third
        assert "(exit 7)" in (await shells.call("bash_output", bash_id="1")).content

    during(each, script)


def test_a_filter_shows_only_the_lines_that_match(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.ended("printf 'error: a\\nfine\\nerror: b\\n'", bash_id="log")
        shown = await shells.call("bash_output", bash_id="log", filter="^error")
        assert shown.content == "error: a\nerror: b\n(exit 0)"

    during(tools, script)


def test_line_ends_of_a_terminal_are_plain_and_its_escapes_are_kept_as_text(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.ended("printf '\\033[31mred\\033[0m\\nend\\n'")
        said = (await shells.call("bash_output", bash_id="1")).content
        assert "\x1b[31mred\x1b[0m\nend\n" in said and "\r" not in said

    during(tools, script)


def test_much_output_is_bounded_in_what_is_kept_and_in_what_is_shown(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.ended("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end")
        shown = (await shells.call("bash_output", bash_id="1")).content
        assert len(shown) < 31_000 and shown.endswith("the end\n(exit 0)")
        whole = Path(shown.partition("the full output is in ")[2].partition(" …")[0])
        assert whole.stat().st_size > 3_000_000

    during(tools, script)


# ── typing


def test_a_program_that_asks_is_answered(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.until(">>>", (await shells.start("python3 -i -q")).content)
        assert "42" in await shells.until("42", (await shells.type("6 * 7")).content)
        assert "(exit 3)" in await shells.until("(exit 3)", (await shells.type("raise SystemExit(3)")).content)

    during(each, script)


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["in front", "in a script's background"])
def started(request: pytest.FixtureRequest) -> Iterator[None]:
    """Quintet itself begins with Ctrl+C as a terminal's programs do, or deaf to it, as after `quintet … &`."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("started")
def test_ctrl_c_interrupts_what_runs_at_the_terminal(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        line = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"
        await shells.until("ready", (await shells.start(line)).content)
        assert shells.verdict("\u0003") is Verdict.ASK
        said = (await shells.type("\u0003", enter=False)).content
        assert "caught" in await shells.until("(exit 9)", said)

    during(each, script)


def test_a_program_ends_with_the_pipe_it_writes_to_and_says_nothing(each: Caller) -> None:
    assert each.ok("bash", command="yes | head -1") == "y\nexit 0"


JUDGED = {
    "ls": Verdict.ALLOW,
    "echo x > made": Verdict.ALLOW,
    "rm tally/count.py": Verdict.ASK,
    "ls\nrm tally/count.py": Verdict.ASK,
    "!!": Verdict.ASK,
    "^ls^rm": Verdict.ASK,
    "\x1b[A": Verdict.ASK,
    "l\ts": Verdict.ASK,
    "r\\": Verdict.ASK,
    "cat .env": Verdict.DENY,
}


def test_what_is_typed_into_a_shell_is_judged_as_a_line(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        expected = dict(JUDGED)
        if each.containment.kind is not Sandbox.BWRAP:  # there nobody knows what the shell was told before
            expected |= dict.fromkeys(("ls", "echo x > made"), Verdict.ASK)
        found = {}
        for line in expected:
            found[line] = shells.verdict(line)
            await asyncio.sleep(0)  # a session is asked of one line at a time
        assert found == expected

    during(each, script)


@pytest.mark.parametrize("shell", ["bash --norc", "sh"])
def test_while_a_shell_is_at_a_line_the_next_one_asks(tools: Caller, shell: str) -> None:
    """Where it will be run, and by what, is known when the shell is back at its prompt."""

    async def script(shells: Shells) -> None:
        await shells.start(shell)
        await shells.at_prompt()
        await shells.type("while ! [ -e go ]; do :; done; cd .git")
        assert shells.verdict("echo x > config") is Verdict.ASK
        (tools.root / "go").touch()
        await shells.at_prompt(".git")
        assert shells.verdict("echo x > config") is Verdict.DENY

    during(tools, script)


def test_an_answer_to_a_shells_own_question_is_no_line(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        await shells.type("read answer")
        assert shells.verdict("ls") is Verdict.ASK

    during(tools, script)


def test_a_line_typed_in_parts_is_judged_as_the_whole_it_makes(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        await shells.type("r", enter=False)
        assert shells.verdict("m tally/count.py") is Verdict.ASK
        await shells.type("\u0003", enter=False)  # now there is no such program, and no rm either
        await until(lambda: shells.verdict("m tally/count.py") is Verdict.ALLOW)

    during(tools, script)


def test_a_line_is_judged_in_the_folder_its_shell_has_gone_to(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        assert isinstance(shells.judged("cat ../x"), ToolResult), "outside, where this shell sees nothing"
        await shells.type("cd tally")
        await shells.at_prompt("tally")
        assert shells.verdict("cat ../x") is Verdict.ALLOW
        await shells.type("cd ../.git")
        await shells.at_prompt(".git")
        assert shells.verdict("echo x > config") is Verdict.DENY

    during(tools, script)


@pytest.mark.parametrize("program", ["python3 -i -q", "cat", "bash -c 'cat; true'", "bash script.sh", "true; bash"])
def test_what_is_typed_into_another_program_always_asks(tools: Caller, program: str) -> None:
    async def script(shells: Shells) -> None:
        (tools.root / "script.sh").write_text("read x\n")
        await shells.start(program)
        assert shells.verdict("ls") is Verdict.ASK

    during(tools, script)


def test_so_does_what_a_program_started_by_the_shell_reads(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        whole = each.containment.kind is Sandbox.BWRAP
        assert shells.verdict("ls") is (Verdict.ALLOW if whole else Verdict.ASK)
        await shells.type("cat")
        assert shells.verdict("ls") is Verdict.ASK
        await shells.type("\u0004", enter=False)
        await shells.at_prompt()
        await shells.type("set +m")
        await shells.type("cat")
        assert shells.verdict("ls") is Verdict.ASK, "though now it shares the shell's process group"

    during(each, script)


def test_a_shell_that_became_another_program_is_none(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        await shells.type("exec cat")
        assert shells.verdict("ls") is Verdict.ASK

    during(tools, script)


@pytest.mark.parametrize("line", ["pip install x", "curl http://example.invalid", "git commit -m x", "cat ../x"])
def test_typing_does_not_widen_what_a_shell_may_do(tools: Caller, line: str) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        refused = shells.judged(line)
        assert isinstance(refused, ToolResult) and "cannot do more" in refused.content

    during(tools, script)


# ── ends


def test_kill_shell_ends_the_whole_tree(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("setsid sleep {} & (trap '' INT HUP; exec sleep {}) & sleep {}".format(*sleeps))
        ended = await shells.call("kill_shell", shell_id="1")
        assert ended.status is CallStatus.OK and "shell 1 was ended (exit " in ended.content
        assert "ended" in (await shells.type("x")).content

    sleeps = a_while(), a_while(), a_while()
    during(each, script)
    assert not [seconds for seconds in sleeps if alive("sleep", seconds)]


def test_a_shell_at_its_prompt_goes_when_its_terminal_does(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("bash --norc")
        await shells.at_prompt()
        hung_up = 128 + signal.SIGHUP
        assert f"(exit {hung_up})" in (await shells.call("kill_shell", shell_id="1")).content, "and was not killed"

    during(each, script)


def test_what_a_shell_leaves_behind_ends_with_it(each: Caller) -> None:
    async def script(shells: Shells) -> None:
        long = a_while()
        begun = await shells.start(f"setsid sleep {long} & sleep 0.1; echo done")
        await shells.until("(exit 0)", begun.content)
        assert not await asyncio.to_thread(alive, "sleep", long)

    during(each, script)


# Each leaves three sleeps: deaf to signals, in a session of its own, and at the terminal.
LEAVING = {
    "behind its walls": "(trap '' HUP INT TERM; exec sleep {}) & python3 away.py {} & sleep {}",
    "let out of them": "(trap '' HUP INT TERM; exec sleep {}) & setsid sleep {} & nohup sleep {}",
}


@pytest.mark.parametrize("use", EACH)
@pytest.mark.parametrize("where", LEAVING)
def test_all_shells_end_when_their_program_is_killed(repo: Path, use: Sandbox, where: str) -> None:
    (repo / "away.py").write_text("import os, sys\nos.setsid()\nos.execvp('sleep', ['sleep', sys.argv[1]])\n")
    sleeps = [a_while() for _ in range(3)]
    line = LEAVING[where].format(*sleeps)
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from quintet.domain.permission.gate import Sandbox\n"
        "from tests.tools.calling import Caller\n"
        "async def run():\n"
        "    tools = Caller(Path(sys.argv[1]), Sandbox(sys.argv[2]))\n"
        "    await tools.call('bash', command=sys.argv[3], run_in_background=True)\n"
        "    print('started', flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(run())\n"
    )
    argv = [sys.executable, "-c", program, str(repo), use, line]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout and child.stdout.readline() == b"started\n"
        while not all(alive("sleep", seconds, seconds=0) for seconds in sleeps):
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    assert not [seconds for seconds in sleeps if alive("sleep", seconds)]


def test_a_shell_that_is_over_is_settled_once(tools: Caller) -> None:
    """What a person makes later in a protected place is theirs."""

    async def script(shells: Shells) -> None:
        await shells.until("(exit 0)", (await shells.start("echo x > made")).content)
        (tools.root / ".quintet").mkdir()
        (tools.root / ".quintet/settings.toml").write_text("")

    during(tools, script)
    assert (tools.root / ".quintet/settings.toml").exists()


# ── mistakes


def test_an_unknown_shell_is_told_the_ones_there_are(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        nothing = await shells.call("bash_output", bash_id="1")
        assert nothing.content == "there is no shell 1. Shells: none yet; bash with run_in_background starts one"
        await shells.start("sleep 60", bash_id="server")
        await shells.start("sleep 60")
        for tool, name in (("bash_output", "bash_id"), ("kill_shell", "shell_id"), ("write_to_shell", "shell_id")):
            wrong = await shells.call(tool, **{name: "9"})
            assert wrong.status is CallStatus.ERROR
            assert wrong.content == "there is no shell 9. Shells: server, 1"

    during(tools, script)


def test_a_name_is_free_again_when_its_shell_is_over(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        await shells.start("sleep 60", bash_id="server")
        taken = await shells.start("echo second", bash_id="server")
        assert taken.status is CallStatus.ERROR and "shell server is still running" in taken.content
        await shells.call("kill_shell", shell_id="server")
        assert "second" in await shells.until(
            "second", (await shells.start("echo second", bash_id="server")).content, "server"
        )

    during(tools, script)


def test_bad_names_and_filters_are_said(tools: Caller) -> None:
    async def script(shells: Shells) -> None:
        assert "letters, digits" in (await shells.start("true", bash_id="../x")).content
        await shells.start("sleep 0.6; echo kept; sleep 60")
        wrong = await shells.call("bash_output", bash_id="1", filter="(")
        assert wrong.content.startswith('filter "(": not a regular expression')
        await shells.until("kept")

    during(tools, script)


def test_there_are_sixteen_at_most(repo: Path) -> None:
    tools = Caller(repo, Sandbox.NONE)

    async def script(shells: Shells) -> None:
        await asyncio.gather(*(shells.start("sleep 60") for _ in range(16)))
        assert "16 shells are running" in (await shells.start("true")).content
        await shells.call("kill_shell", shell_id="3")
        assert (await shells.start("true")).status is CallStatus.OK

    during(tools, script)


# ── in a session


def session(repo: Path, line: str, script: Callable[[Driver], Awaitable[None]], **options: Any) -> Driver:
    async def run(driver: Driver) -> None:
        await driver.session.say("start it")
        if asks:
            await driver.answer("y")
        await driver.until_type(p.TurnFinished)
        await script(driver)

    asks = options.pop("asks", False)
    look = [call("bash_output", bash_id="1")]
    model = ScriptedModel([[call("bash", command=line, run_in_background=True)], "ok", look, "ok", look, "ok"])
    return drive(repo, run, model, person=True, **options)


def results(driver: Driver) -> list[str]:
    return [event.content for event in driver.of(p.ToolFinished)]


def test_a_shell_outlives_its_turn_and_ends_with_the_session(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("look")
        assert "still running" in results(driver)[-1]
        await until(lambda: alive("sleep", long, seconds=0))

    long = a_while()
    session(repo, f"sleep {long}", script)
    assert not alive("sleep", long)


def test_a_resumed_session_has_no_shells_and_says_so(repo: Path) -> None:
    async def first(driver: Driver) -> None:
        ids.append(driver.session.id)

    async def second(driver: Driver) -> None:
        await driver.turn("look")

    ids: list[str] = []
    session(repo, "sleep 92.257", first)
    model = ScriptedModel([[call("bash_output", bash_id="1")], "ok"])
    driver = drive(repo, second, model, resume=ids[0], axes=None)
    assert results(driver)[-1].startswith("there is no shell 1.")


def ended(driver: Driver) -> list[str]:
    return [event.text for event in driver.of(p.Noticed) if event.code == "SHELL_ENDED"]


@pytest.mark.parametrize(
    ("line", "dial", "why"),
    [
        ("make serve", "/permission-profile normal", "building or testing needs approval in profile normal"),
        ("make serve", "/permission-profile restricted", "building or testing needs approval in profile restricted"),
        ("make serve", "/control manual", "run control is manual"),
        ("make serve", "/mode chat", "in chat every change needs approval"),
        ("make serve", "/mode review --model-mode deep", "profile trusted allows build"),
        ("touch x; sleep {}", "/mode plan", "work mode plan does not allow changing files"),
    ],
)
def test_a_shell_that_turned_dials_no_longer_grant_is_ended(repo: Path, line: str, dial: str, why: str) -> None:
    async def script(driver: Driver) -> None:
        await until(lambda: alive("sleep", long, seconds=0))
        await driver.command(dial)
        told = await driver.until_type(p.Noticed)
        assert told.text.startswith(f"background shell 1 was ended ({line}): {why}"), told.text
        assert not await asyncio.to_thread(alive, "sleep", long)
        await driver.command("/mode build --autonomous --permission-profile trusted")
        await driver.turn("look")
        assert f"ended by Quintet: {why}" in results(driver)[-1]

    long = a_while()
    line = line.format(long)
    (repo / "Makefile").write_text(f"serve:\n\tsleep {long}\n")
    session(repo, line, script)


@pytest.mark.parametrize(
    ("line", "dial"),
    [
        ("sleep 94.257", "/permission-profile restricted"),
        ("make serve", "/control assisted"),
        ("make serve", "/mode repair"),
        ("make serve", "/permission-profile unrestricted"),
        ("make serve", "/model-mode fast"),
    ],
)
def test_a_shell_that_they_still_grant_goes_on(repo: Path, line: str, dial: str) -> None:
    async def script(driver: Driver) -> None:
        await driver.command(dial)
        await driver.turn("look")
        assert "still running" in results(driver)[-1]

    (repo / "Makefile").write_text("serve:\n\tsleep 94.257\n")
    assert ended(session(repo, line, script)) == []


def test_an_approved_shell_is_ended_by_tightening_and_not_by_loosening(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.command("/mode repair")
        await driver.command("/permission-profile unrestricted")
        await driver.turn("look")
        assert "still running" in results(driver)[-1]
        await driver.command("/permission-profile trusted")
        await driver.until_type(p.Noticed)

    driver = session(repo, "git --git-dir=.git log -1; sleep 60", script, asks=True)
    assert len(ended(driver)) == 1 and "always needs approval" in ended(driver)[0]


def test_a_dial_that_lands_at_the_end_of_a_tool_ends_shells_too(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.session.say("start it, and wait")
        await driver.until(lambda e: isinstance(e, p.ToolStarted) and "cat over" in e.arguments)
        await driver.command("/permission-profile normal")
        await asyncio.to_thread((repo / "over").write_text, "over")
        told = await driver.until_type(p.Noticed)
        assert told.code == "SHELL_ENDED"
        await driver.until_type(p.TurnFinished)

    long = a_while()
    os.mkfifo(repo / "over")
    (repo / "Makefile").write_text(f"serve:\n\tsleep {long}\n")
    steps = [[call("bash", command="make serve", run_in_background=True)], [call("bash", command="cat over")], "ok"]
    drive(repo, script, ScriptedModel(steps))
    assert not alive("sleep", long)
