"""Run real ACP agents as executors, in the sandbox, against a stub model on loopback, and print the table.

scripts/check acp-agents --harness FOLDER --bin-dir DIR [--only NAME,…] [--cases NAME,…] [--silence S]: FOLDER holds
stub_model.py, as for ai-clis; DIR holds the agents' programs, such as node_modules/.bin. One that is not there is a row
that says so.
Each is held to: success with a step done and its command told; a step of which it says itself that its call failed is
not done; 401, 429, 500, a server that is down and one that hangs are failures of a kind that is not the task's; nothing
may be left behind. What was spent is a column.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path
from typing import Any

import ai_clis as clis

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import descendants
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.tasks.executors import (
    MAY_BE_THE_TASKS,
    Assignment,
    CallBegan,
    CallEnded,
    Ended,
    ExecutorFailure,
    ExecutorPart,
    ExecutorRole,
    Spent,
)
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.ending import UNSTARTED
from quintet.features.ai_clis.wiring import make_executors
from quintet.surfaces.tables import table

STEP = "echo made > made.txt"
SILENCE = 90.0  # seconds; copilot tries a limit again for 60 before it names it
CASE_SECONDS = 400  # an agent that retries takes minutes, and longer on a busy machine
PASSED = (
    "STUB_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "IS_SANDBOX",
)
PASSED += ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "CODEX_API_KEY", "GOOSE_PROVIDER", "GOOSE_MODEL")
PASSED += ("CLAUDE_CODE_MAX_RETRIES", "DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "PI_OFFLINE")
PASSED += ("COPILOT_OFFLINE", "COPILOT_MODEL", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "DO_NOT_TRACK")
PASSED += ("KIMI_MODEL_NAME", "KIMI_MODEL_API_KEY", "KIMI_MODEL_PROVIDER_TYPE", "KIMI_MODEL_BASE_URL")
PASSED += ("OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD")
PASSED += ("KIMI_CODE_NO_AUTO_UPDATE", "KIMI_DISABLE_TELEMETRY")
PASSED += ("OPENAI_HOST", "GOOSE_MODE", "OPENAI_BASE_PATH", "GOOSE_DISABLE_KEYRING")
# Name, program and arguments, and the folders below its home that it keeps its things in.
AGENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "gemini": ("gemini --acp", (".gemini",)),
    "claude-agent-acp": ("claude-agent-acp", (".claude",)),
    "claude-code-acp": ("claude-code-acp", (".claude",)),
    "codex-acp": ("codex-acp", (".codex",)),
    "opencode": ("opencode acp --print-logs", (".config/opencode", ".local", ".cache")),
    "qwen": ("qwen --acp", (".qwen",)),
    "kimi": ("kimi acp", (".kimi-code",)),
    "copilot": ("copilot --acp", (".copilot",)),
    "pi-acp": ("pi-acp", (".pi",)),
    "goose": ("goose acp", (".config/goose", ".local", ".cache")),
}
BESIDE = {"pi-acp": "pi"}  # the program that an agent starts, where its package does not bring it
KINDS = {"401": ExecutorFailure.LOGIN, "429": ExecutorFailure.RATE_LIMIT, "500": ExecutorFailure.UNREACHABLE}
# What no agent's word tells apart: the cause, in place of a failure.
QUIET = "it tries a limit again without a word, in the protocol or on stderr: no answer is all that can be seen"
EXPLAINED = {("qwen", "429"): QUIET, ("kimi", "429"): QUIET}
CASES: dict[str, dict[str, Any]] = {
    "success": {"steps": 1, "command": STEP},
    "failed": {"steps": 1, "command": "exit 3"},
    "401": {"mode": "401"},
    "429": {"mode": "429"},
    "500": {"mode": "500"},
    "down": {},
    "silence": {"mode": "hang"},
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check acp-agents", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--harness", type=Path, required=True, metavar="FOLDER", help="the folder of stub_model.py")
    parser.add_argument("--bin-dir", required=True, metavar="DIR", help="where the agents' programs are")
    parser.add_argument("--only", default=",".join(AGENTS), metavar="NAMES", help=f"only these of {','.join(AGENTS)}")
    parser.add_argument("--cases", default=",".join(CASES), metavar="NAMES", help=f"only these of {','.join(CASES)}")
    parser.add_argument("--silence", type=float, default=SILENCE, metavar="S", help="seconds until one is given up")
    given = parser.parse_args()
    os.environ["PATH"] = f"{os.path.abspath(given.bin_dir)}:{os.environ['PATH']}"
    cases = [case for case in CASES if case in given.cases.split(",")]
    rows, causes = [], []
    for name in given.only.split(","):
        program = shutil.which(AGENTS[name][0].split()[0])
        if not program or not shutil.which(BESIDE.get(name, program)):
            rows.append((name, "not installed", *("" for _ in cases), ""))
            continue
        cells, spent = [], "not tried"
        for case in cases:
            with tempfile.TemporaryDirectory(prefix="quintet-acp-", ignore_cleanup_errors=True) as place:
                cell, cause, parts = checked(name, case, given.harness / "stub_model.py", Path(place), given.silence)
            print(f"{name} {case}: {cell}", file=sys.stderr, flush=True)
            cells.append(cell)
            causes += [f"{name}, {case}: {cause}"] if cause else []
            if case == "success":
                spent = told_of_cost([part for part in parts if isinstance(part, Spent)])
        rows.append((name, version(program), *cells, spent))
    print("\n".join([*table(rows, heading=("AGENT", "VERSION", *map(str.upper, cases), "SPENT")), *causes]))
    return 1 if any("FAILED" in cell for row in rows for cell in row) else 0


def checked(name: str, case: str, stub: Path, place: Path, silence: float) -> tuple[str, str, list[ExecutorPart]]:
    """One case in a project and with a home of its own: the cell, and why it is not as it should be."""
    with clis.serving(stub) as port:
        clis.post(port, CASES[case])
        project = clis.prepared(place)
        led(name, place, clis.closed_port() if case == "down" else port)
        began = time.monotonic()
        parts: list[ExecutorPart] = []
        with contextlib.suppress(TimeoutError):  # a cell, and the next case
            parts = asyncio.run(asyncio.wait_for(driven(name, project, silence), CASE_SECONDS))
        seconds = time.monotonic() - began
    ended = parts[-1] if parts and isinstance(parts[-1], Ended) else None
    problem = complaint(case, project, parts, ended)
    explained = EXPLAINED.get((name, case), "") if ended and ended.failure is ExecutorFailure.UNREACHABLE else ""
    problem = "" if explained else problem
    left = [pid for pid, started in descendants(os.getpid()) if started]
    problem = problem or (f"processes are left behind: {left}" if left else "")
    what = "done" if ended and ended.ok else str(ended.failure if ended else "no end")
    cell = f"{what} {seconds:.0f} s" if not problem else f"FAILED {what}"
    if explained and not problem:
        return cell, explained, parts
    return cell, f"{problem} · {' '.join(ended.reason.split())[:200] if ended else ''}" if problem else "", parts


def told_of_cost(spent: list[Spent]) -> str:
    """What it says of its cost: a cost comes by itself, and tokens with the price that they have here, if any."""
    if any(part.cost and part.usage == Usage() for part in spent):
        return "cost"
    if any(part.cost for part in spent):
        return "tokens, priced here"
    return "tokens" if any(part.usage != Usage() for part in spent) else "nothing"


def complaint(case: str, project: Path, parts: list[ExecutorPart], ended: Ended | None) -> str:
    if ended is None:
        return f"no end within {CASE_SECONDS} s"
    if case == "success":
        if not ended.ok or not (project / "made.txt").is_file():
            return "the step was not done"
        told = [part.summary for part in parts if isinstance(part, CallBegan)]
        return "" if any(STEP in about for about in told) else f"the command is not told: {told}"
    if case == "failed":
        worked = [part.ok for part in parts if isinstance(part, CallEnded)]
        if ended.ok:
            return "" if any(worked) else "it counts as done, and no call of its worked by its own word"
        return "" if ended.failure else "it has no kind"
    if ended.ok:
        return "it counts as done"
    if UNSTARTED in ended.reason:
        return "it did not start in time, so its model was never asked: --silence gives it more"
    if case in KINDS and ended.failure is not KINDS[case]:
        return f"not {KINDS[case]}"
    return f"it counts as the task's: {ended.failure}" if ended.failure in MAY_BE_THE_TASKS else ""


async def driven(name: str, project: Path, silence: float) -> list[ExecutorPart]:
    places = locate(str(project))
    settings = config.load(places).settings
    executors = make_executors(places, settings, make_terms(places, settings))
    grant = Grant((Effect.EDIT, Effect.EXECUTE), (str(project),))
    asked = Assignment(
        *(f"my-{name}", ExecutorRole.EXECUTE, "Run the steps, then say DONE.", grant, PermissionProfile.NORMAL),
        whole=str(project.parent / "whole.jsonl"),
        silence=silence,
    )
    try:
        async with aclosing(executors.run(asked)) as said:
            return [part async for part in said]
    finally:
        await executors.close()


def led(name: str, place: Path, port: int) -> None:
    """The agent's settings and variables, that lead to the stub and nowhere else, and its row in Quintet's settings."""
    home, url = place / "home", f"http://127.0.0.1:{port}"
    for cli in ("codex", "claude", "gemini"):
        clis.led(cli, home, port)
    command, folders = AGENTS[name]
    os.environ.update(
        {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "stub", "IS_SANDBOX": "1"}
    )
    os.environ.update(
        {"CODEX_API_KEY": "dummy", "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "stub", "GOOSE_MODE": "auto"}
    )
    os.environ.update({"OPENAI_HOST": url, "GOOSE_DISABLE_KEYRING": "1", "PI_OFFLINE": "1"})
    # Fewer attempts than it makes by itself, which take it minutes; what it says of each is the same.
    os.environ.update({"CLAUDE_CODE_MAX_RETRIES": "2", "DISABLE_TELEMETRY": "1"})
    os.environ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
    os.environ.update({"COPILOT_OFFLINE": "true", "COPILOT_MODEL": "gpt-4.1", "DO_NOT_TRACK": "1"})
    os.environ.update({"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "dummy"})
    os.environ.update({"KIMI_MODEL_NAME": "stub", "KIMI_MODEL_API_KEY": "dummy", "KIMI_MODEL_PROVIDER_TYPE": "openai"})
    os.environ.update({"KIMI_MODEL_BASE_URL": f"{url}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1"})
    os.environ.update({"KIMI_DISABLE_TELEMETRY": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"})
    os.environ.update({"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"})
    pi = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "x", "models": [{"id": "stub"}]}
    clis.written(home / ".pi/agent/models.json", json.dumps({"providers": {"stub": pi}}))
    chosen = {"defaultProvider": "stub", "defaultModel": "stub", "quietStartup": True}
    clis.written(home / ".pi/agent/settings.json", json.dumps(chosen))
    stubbed = {
        "npm": "@ai-sdk/openai-compatible",
        "models": {"stub": {}},
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
    }
    clis.written(
        home / ".config/opencode/opencode.json", json.dumps({"provider": {"stub": stubbed}, "model": "stub/stub"})
    )
    qwen = {"auth": {"selectedType": "openai"}}
    once = {"generationConfig": {"maxRetries": 1}}
    settings = {"security": qwen, "model": once, "privacy": {"usageStatisticsEnabled": False}}
    clis.written(home / ".qwen/settings.json", json.dumps(settings))
    owned = ", ".join(f'"{folder}"' for folder in (*(f"{home}/{one}" for one in folders), *own_node()))
    passed = ", ".join(f'"{variable}"' for variable in PASSED)
    row = f'[executors.my-{name}]\ncommand = "{command}"\nfolders = [{owned}]\npass_env = [{passed}]\n'
    clis.written(place / "config/quintet/settings.toml", row)


def own_node() -> list[str]:
    """The folder of the node that the agents are to run on, where the sandbox does not show it by itself."""
    node = os.path.realpath(shutil.which("node") or "/usr/bin/node")
    if node.startswith(("/usr/", "/opt/")):
        return []
    package, inside, _ = node.partition("/node_modules/")  # with the links that lead to it
    return [f"{package}/node_modules" if inside else os.path.dirname(os.path.dirname(node))]


def version(program: str) -> str:
    """By the package that the program lies in."""
    for folder in Path(program).resolve().parents:
        if (folder / "package.json").is_file():
            return str(json.loads((folder / "package.json").read_text("utf-8")).get("version", ""))
    return ""


if __name__ == "__main__":
    sys.exit(main())
