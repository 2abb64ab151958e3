"""Kept sandboxes: what a command finds of those before it, and when a kept is not used again."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.looking import a_while, alive, put_up_a_room
from tests.tools.calling import Caller

pytestmark = pytest.mark.system("bwrap")
Run = Callable[..., Awaitable[Finished]]


def in_a_kept_sandbox(root: Path, test: Callable[[Run, LocalProcesses], Awaitable[None]]) -> None:
    processes = LocalProcesses(Caller(root, Sandbox.BWRAP).containment)
    grant = Grant((Effect.EXECUTE,), (str(root),))

    async def run(line: str, seconds: float = 120, grant: Grant = grant) -> Finished:
        return await processes.run(("bash", "-c", line), cwd=str(root), grant=grant, timeout=seconds)

    async def whole() -> None:
        try:
            await put_up_a_room(processes, str(root), grant)
            await test(run, processes)
        finally:
            await processes.close()

    asyncio.run(whole())


async def namespace(run: Run, **how: Grant) -> str:
    return (await run("readlink /proc/self/ns/pid", **how)).output


async def appears(path: Path) -> None:
    while not path.exists():  # noqa: ASYNC110  a file has no event
        await asyncio.sleep(0.01)


async def too_long(run: Run, line: str) -> Finished:
    """A command that is given too little time, but enough to print something."""
    for seconds in (0.3, 3, 30):
        done = await run(line, seconds)
        assert done.timed_out
        if done.output:
            break
    return done


def test_commands_of_one_grant_share_a_room_and_another_grant_does_not(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        first = await namespace(run)
        assert first == await namespace(run)
        assert first != await namespace(run, grant=Grant((Effect.EXECUTE,)))
        assert first == await namespace(run)

    in_a_kept_sandbox(repo, test)


def test_nothing_of_a_command_outlives_it(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        long = a_while()
        await run(f"setsid sleep {long} & (sleep {long} &) ; nohup sleep {long} >/dev/null 2>&1 & echo started")
        assert not alive("sleep", long)
        assert (await run("ls -d /proc/[0-9]*")).output.split()[0] == "/proc/1"
        assert long not in (await run("cat /proc/[0-9]*/cmdline")).output

    in_a_kept_sandbox(repo, test)


def test_a_command_cannot_end_trace_or_answer_for_its_room(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        before = await namespace(run)
        tried = await run("kill -9 1; kill -STOP 1; cat /proc/1/environ; echo 0 > /proc/1/fd/3; ls /proc/1/fd; exit 7")
        assert tried.exit_code == 7
        assert "PATH=" not in tried.output
        assert "Permission denied" in tried.output
        assert before == await namespace(run)

    in_a_kept_sandbox(repo, test)


def test_a_room_is_left_when_a_secret_appears_or_takes_the_place_of_another(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        (repo / ".env").write_text("TOKEN=first-secret")
        assert "first-secret" not in (await run("cat .env")).output
        await put_up_a_room(processes, str(repo), Grant((Effect.EXECUTE,), (str(repo),)))
        (repo / "new").write_text("TOKEN=second-secret")
        os.replace(repo / "new", repo / ".env")
        assert "second-secret" not in (await run("cat .env")).output

    in_a_kept_sandbox(repo, test)


def test_a_command_that_takes_too_long_is_ended_and_the_next_one_runs(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        polite = await too_long(run, "trap 'echo asked; exit 3' INT; echo here; while :; do sleep 0.05; done")
        assert polite.output.startswith("here\n")
        stubborn = await too_long(run, "trap '' INT; echo here; while :; do sleep 0.05; done")
        assert stubborn.output == "here\n"
        assert (await run("echo on")).output == "on\n"

    in_a_kept_sandbox(repo, test)


def test_what_a_room_gives_is_what_a_fresh_sandbox_gives(repo: Path) -> None:
    lines = (
        "echo out; echo err >&2; exit 4",
        "kill -TERM $$",
        "seq 100000",
        "cd /nowhere",
        "read x; echo got $x",
        "nosuchprogram",
        "echo $TMPDIR; pwd; umask",
        "ps -o pgid= -p $$ | wc -w; yes | head -1",
        "printf '\\377\\376'",
    )

    async def test(run: Run, processes: LocalProcesses) -> None:
        fresh = LocalProcesses(Caller(repo, Sandbox.BWRAP).containment)
        for line in lines:
            grant = Grant((Effect.EXECUTE,), (str(repo),))
            alone = await fresh.run(("bash", "-c", line), cwd=str(repo), grant=grant, timeout=120)
            fresh.kept_sandboxes = type(fresh.kept_sandboxes)()  # that of a single command is never kept
            kept = await run(line)
            assert (kept.exit_code, kept.output) == (alone.exit_code, alone.output), line

    in_a_kept_sandbox(repo, test)


def test_a_long_command_and_two_at_once_go_beside_the_room(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        kept = await namespace(run)
        long = await run(f"echo {'x' * 100_000} | wc -c; readlink /proc/self/ns/pid")
        assert long.output.split()[0] == "100001"
        assert long.output.split()[1] != kept.strip()
        first = asyncio.create_task(run("readlink /proc/self/ns/pid; touch here; until [ -e go ]; do sleep 0.01; done"))
        await appears(repo / "here")
        beside = await namespace(run)
        (repo / "go").touch()
        assert (await first).output == kept
        assert beside != kept

    in_a_kept_sandbox(repo, test)


def test_a_room_that_dies_is_an_unknown_outcome_and_then_another(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        command = asyncio.create_task(run("echo begun > mark; sleep 600"))
        await appears(repo / "mark")
        for kept in processes.kept_sandboxes._kept.values():
            kept.kill()
        with pytest.raises(ToolFailed, match="its outcome is unknown"):
            await command
        assert (await run("echo on")).output == "on\n"

    in_a_kept_sandbox(repo, test)


def test_a_command_that_ends_after_all_was_closed_leaves_no_sandbox_behind(repo: Path) -> None:
    async def test(run: Run, processes: LocalProcesses) -> None:
        await processes.close()
        for _ in range(3):
            await run("true", grant=Grant((Effect.EXECUTE,)))
        assert not processes.kept_sandboxes._kept

    in_a_kept_sandbox(repo, test)
