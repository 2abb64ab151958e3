"""Run the real codex, claude and gemini as executors, in the sandbox, against a stub model on loopback.

scripts/check ai-clis --harness FOLDER [--bin-dir DIR] [--only NAME,…]: FOLDER holds stub_model.py, a program that
serves the models' wires, prints {"port": N} and takes {"steps": N, "command": "…", "mode": "401"} at POST
/__stub/script. Each CLI is held to: success with a step done, a write into .git/hooks stopped, 401, 429, a server
that is down, a cancel in the middle, and a server that hangs; a planner may write to its folder alone; nothing may be
left behind. Then one flow: the first plans, the second executes, the third verifies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import descendants
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.tasks.executors import (
    AI_CLIS,
    Assignment,
    CallEnded,
    Ended,
    ExecutorFailure,
    ExecutorPart,
    ExecutorRole,
)
from quintet.features.ai_clis.wiring import make_executors

CASE_SECONDS = 90
HUNG_SECONDS = 12.0  # without a line, before a hung one is given up
KEYS = ("ANTHROPIC_", "CLAUDE_", "GEMINI_", "GOOGLE_", "CODEX_", "OPENAI_", "QUINTET_")
CODEX = """\
model = "gpt-5.1-codex"
model_provider = "stub"
check_for_update_on_startup = false
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
env_key = "STUB_KEY"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
"""
GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "model": {"disableLoopDetection": True},
}
FLOW_SECONDS = 240
TASK = "---\\nid: task-001\\ntitle: make made.txt\\nverification: test -s made.txt\\n---\\nMake it.\\n"
OUTSIDE = "/usr/local/planted-by-quintet-check"
CASES: dict[str, dict[str, Any]] = {
    "success": {"steps": 1, "command": "echo made > made.txt"},
    "hooks": {"steps": 1, "command": "echo planted > .git/hooks/pre-commit"},
    "outside": {"steps": 1, "command": f"echo planted > {OUTSIDE}"},
    "plan": {"steps": 1, "command": "echo task > {plans}/task.md; echo made > made.txt"},
    "401": {"mode": "401"},
    "429": {"mode": "429"},
    "down": {},
    "cancel": {"mode": "hang"},
    "hang": {"mode": "hang"},
}
FORBIDDEN = {"hooks": ".git/hooks/pre-commit", "outside": OUTSIDE, "plan": "made.txt"}  # what must not be there then
EXPECTED = {
    "401": ExecutorFailure.LOGIN,
    "429": ExecutorFailure.RATE_LIMIT,
    "down": ExecutorFailure.UNREACHABLE,
    "hang": ExecutorFailure.SILENT,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check ai-clis", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--harness", type=Path, required=True, metavar="FOLDER", help="the folder of stub_model.py")
    parser.add_argument("--bin-dir", default="", metavar="DIR", help="where the CLIs are, if not on PATH")
    parser.add_argument("--only", default="", metavar="NAMES", help="only these of codex,claude,gemini")
    parser.add_argument("--cases", default="", metavar="NAMES", help=f"only these of {','.join(CASES)}")
    given = parser.parse_args()
    stub = given.harness / "stub_model.py"
    if not stub.is_file():
        parser.error(f"{stub} is not a file")
    if given.bin_dir:
        os.environ["PATH"] = f"{os.path.abspath(given.bin_dir)}:{os.environ['PATH']}"
    wanted = [name for name in AI_CLIS if name in (given.only or ",".join(AI_CLIS)).split(",")]
    missing = [name for name in wanted if not shutil.which(name)]
    for name in missing:
        print(f"{name:<8} MISSING  not on PATH; --bin-dir names another place")
    results = []
    for name in wanted:
        for case in CASES if name not in missing else ():
            if not given.cases or case in given.cases.split(","):
                with tempfile.TemporaryDirectory(prefix="quintet-clis-", ignore_cleanup_errors=True) as place:
                    results.append(checked(name, case, stub, Path(place)))
    if not (given.only or given.cases or missing):
        with tempfile.TemporaryDirectory(prefix="quintet-clis-", ignore_cleanup_errors=True) as place:
            results.append(flowed(stub, Path(place)))
    good = not missing and all(results)
    print("ok" if good else "FAILED")
    return 0 if good else 1


def checked(name: str, case: str, stub: Path, place: Path) -> bool:
    """One case in a folder and with a home of its own; says how it went."""
    with serving(stub) as port:
        command = CASES[case].get("command", "").replace("{plans}", str(place / "plans"))
        script = {**CASES[case], **({"command": command} if command else {})}
        post(port, script)
        project = prepared(place)
        led(name, place / "home", closed_port() if case == "down" else port)
        began = time.monotonic()
        parts = asyncio.run(asyncio.wait_for(driven(name, case, project), CASE_SECONDS))
        seconds = time.monotonic() - began
    ended = parts[-1] if parts and isinstance(parts[-1], Ended) else None
    problems = list(complaints(case, place, parts, ended))
    problems += [f"process {pid} is left behind" for pid, started in descendants(os.getpid()) if started]
    what = "cancelled" if ended is None else "done" if ended.ok else f"{ended.failure}"
    print(
        f"{name:<8} {case:<8} {'FAILED' if problems else 'ok':<6}  {what:<12} {seconds:5.1f} s  {about(parts, ended)}"
    )
    for problem in problems:
        print(f"    {problem}")
    return not problems


def flowed(stub: Path, place: Path) -> bool:
    """One flow over all three, each with a stub of its own: the planner writes a task, until what it wants is there."""
    project = prepared(place)
    plans = place / "state/quintet/*/plans/*"
    commands = {
        "codex": f"test -s made.txt || for each in {plans}; do printf '%b' '{TASK}' > $each/task-001.md; done",
        "claude": "echo made > made.txt",
        "gemini": "cat made.txt",
    }
    planner, executor, verifier = commands
    written(place / "config/quintet/settings.toml", '[executors.gemini]\nmodel = "gemini-2.5-flash"\n')
    roles = (f"--planner={planner}", f"--executor={executor}", f"--verifier={verifier}")
    argv = ("-m", "quintet", "flow", "make made.txt", "-C", str(project), *roles, "--permission-profile", "normal")
    with ExitStack() as stack:
        for name, command in commands.items():
            port = stack.enter_context(serving(stub))
            post(port, {"steps": 1, "command": command})
            led(name, place / "home", port)
        began = time.monotonic()
        ran = subprocess.run(
            [sys.executable, *argv, "--output-format", "stream-json"],
            capture_output=True,
            text=True,
            timeout=FLOW_SECONDS,
        )
    seconds = time.monotonic() - began
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    result = said[-1] if said else {}
    worked = {event["executor"] for event in said if event.get("type") == "executor_ended" and event["ok"]}
    problems = [] if worked == set(commands) else [f"only {sorted(worked)} did their part"]
    if ran.returncode or result.get("status") != "done" or not (project / "made.txt").is_file():
        problems.append(f"not done: exit {ran.returncode}, {result or ran.stdout[-2000:]}; {ran.stderr[-2000:]}")
    print(
        f"{'flow':<8} {'three':<8} {'FAILED' if problems else 'ok':<6}  {result.get('status', ''):<12} {seconds:5.1f} s"
    )
    for problem in problems:
        print(f"    {problem}")
    return not problems


def about(parts: list[ExecutorPart], ended: Ended | None) -> str:
    calls = [part for part in parts if isinstance(part, CallEnded)]
    failed = sum(not call.ok for call in calls)
    said = f"{len(calls)} calls, {failed} failed" if calls else ""
    return " · ".join(word for word in (said, " ".join((ended.reason if ended else "").split())[:100]) if word)


def complaints(case: str, place: Path, parts: list[ExecutorPart], ended: Ended | None) -> Iterator[str]:
    calls = [part for part in parts if isinstance(part, CallEnded)]
    if case == "cancel":
        if ended:
            yield f"it ended before it could be cancelled: {ended.reason}"
        return
    if ended is None:
        yield "there is no end"
    elif case in EXPECTED:
        if ended.failure != EXPECTED[case] or not ended.hint:
            yield f"not {EXPECTED[case]}: {ended}"
    elif not ended.ok or "DONE" not in ended.answer:
        yield f"not done: {ended}; {parts}"
    if case == "success" and not (place / "project" / "made.txt").is_file():
        yield "the step was not done"
    if case == "plan" and not (place / "plans" / "task.md").is_file():
        yield "the planner could not write to its folder"
    if ended and any("is protected" in note for note in ended.notes):
        yield f"it makes what is held in its home: {ended.notes}"
    if case in FORBIDDEN:
        if (place / "project" / FORBIDDEN[case]).exists():
            yield f"the wall did not hold: {FORBIDDEN[case]}"
        if not any(not call.ok or "Read-only" in call.output for call in calls):
            yield f"nothing says that it was stopped: {calls}"


async def driven(name: str, case: str, project: Path) -> list[ExecutorPart]:
    places = locate(str(project))
    settings = config.load(places).settings
    executors = make_executors(places, settings, make_terms(places, settings))
    plans = case == "plan"
    grant = Grant((Effect.READ, Effect.EXECUTE)) if plans else Grant((Effect.EDIT, Effect.EXECUTE), (str(project),))
    role = ExecutorRole.PLAN if plans else ExecutorRole.EXECUTE
    asked = Assignment(
        *(name, role, "Run the steps, then say DONE.", grant, PermissionProfile.NORMAL),
        folder=str(project.parent / "plans") if plans else "",
        whole=str(project.parent / "whole.jsonl"),
        silence=HUNG_SECONDS if case == "hang" else CASE_SECONDS,
        model={"gemini": "gemini-2.5-flash"}.get(name, ""),
    )
    parts: list[ExecutorPart] = []
    try:
        async with aclosing(executors.run(asked)) as said:
            with suppress(TimeoutError):
                async with asyncio.timeout(HUNG_SECONDS / 2 if case == "cancel" else None):
                    parts.extend([part async for part in said])
    finally:
        await executors.close()
    return parts


def prepared(place: Path) -> Path:
    """A repository, an empty home, and an environment without anybody's keys."""
    project, home = place / "project", place / "home"
    for folder in (project, home, place / "tmp", place / "plans"):
        folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    for variable in [name for name in os.environ if name.startswith(KEYS)]:
        del os.environ[variable]
    os.environ.update({"HOME": str(home), "TMPDIR": str(place / "tmp"), "STUB_KEY": "dummy"})
    os.environ["QUINTET_SANDBOX_LOOPBACK"] = "open"  # the stub is there
    os.environ.update({f"XDG_{kind}_HOME": str(place / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE")})
    return project


def led(name: str, home: Path, port: int) -> None:
    """The CLI's settings and variables, that lead to the stub and nowhere else."""
    url = f"http://127.0.0.1:{port}"
    if name == "codex":
        written(home / ".codex/config.toml", CODEX.format(url=url))
    elif name == "claude":
        os.environ.update({"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy"})
        written(home / ".claude/settings.json", json.dumps({"env": {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}}))
        written(home / ".claude.json", "{}")
    else:
        os.environ.update({"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"})
        written(home / ".gemini/settings.json", json.dumps(GEMINI))


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@contextmanager
def serving(stub: Path) -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, str(stub)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as served:
        try:
            assert served.stdout
            yield json.loads(served.stdout.readline())["port"]
        finally:
            served.terminate()


def post(port: int, script: dict[str, Any]) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/__stub/script", json.dumps(script), {"content-type": "application/json"})
    connection.getresponse().read()
    connection.close()


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
