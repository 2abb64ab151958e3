"""States in which somebody may want to interrupt Quintet, each with how it is brought about and how it is seen.

A state is a script for the model, settings, files, and the input that leads there. It is reached when the model was
asked so many times, a file is there, or a process runs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.adapters.model_server import ModelServer, Reply, answer
from tests.surfaces.program import ModelThread, call, stuck_after

HANG = Reply(only=0, then="hang")
ENDLESS, DRIP = "endless", "drip"  # what a server does after the beginning of an answer
BOTH = ("headless", "plain", "tui")
FILES = 20_000  # of a large tree
LINES = 100_000  # of a large file
READY = "touch ready; "
SILENT = "598.25"  # seconds that a silent program sleeps, and by which it is known
ASKING = ("--mode", "build", "--permission-profile", "normal")


class StateServer(ModelServer):
    """A model server that can also go on without an end, fast or slowly."""

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        goes_on = await super()._answer_one(reader, writer)
        then = self.replies[min(len(self.requests), len(self.replies)) - 1].then if self.requests else ""
        if then not in (ENDLESS, DRIP):
            return goes_on
        delta = {"choices": [{"index": 0, "delta": {"content": "word " * 20}, "finish_reason": None}]}
        line = b"data: " + json.dumps(delta).encode() + b"\n\n"
        while not reader.at_eof():
            piece = line if then == ENDLESS else b":"
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0.002 if then == ENDLESS else 1.0)
        return False


class StateModel(ModelThread):
    server_class = StateServer


@dataclass(frozen=True)
class State:
    name: str
    replies: tuple[Reply, ...] = (HANG,)
    asked: int = 1  # reached when so many requests have come,
    file: str = ""  # or when this file is there
    process: str = ""  # or when a process runs whose command line has this in it
    before: tuple[str, ...] = ()  # lines for runs that come first, in the same session
    line: str = "do it"
    settings: str = ""  # after the model's
    limits: str = ""  # inside [limits]
    prepare: Callable[[Path], None] = field(default=lambda root: None)
    words: tuple[str, ...] = ()  # for the command line
    git: bool = True
    surfaces: tuple[str, ...] = BOTH
    rule: str = ""  # a line that needs no approval
    after: float = 0.3  # seconds from the moment it is reached
    mark: str = "interrupted"  # what the screen shows then


def _begun(text: str, then: str) -> Reply:
    whole = answer(Reply(text=text))
    return Reply(text=text, only=whole.index(b"\r\n", whole.index(text.encode())) + 2, then=then)


def _bash(command: str, **more: object) -> Reply:
    return call("bash", command=command, **{"timeout": 600, **more})


def _large_file(root: Path) -> None:
    (root / "large.txt").write_text("".join(f"line {number % 120}\n" for number in range(LINES)))


def _large_tree(root: Path) -> None:
    for number in range(FILES):
        folder = root / f"d{number // 500}"
        if number % 500 == 0:
            folder.mkdir()
        (folder / f"f{number}.txt").write_text(f"{number} {'ab' * 400}\n")


def _silent(path: str) -> Callable[[Path], None]:
    """A program that says nothing and does not end; `../bin` is on PATH."""

    def make(root: Path) -> None:
        program = root / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\nexec sleep {SILENT}\n")
        program.chmod(0o755)
        (root / "a.py").write_text("def central():\n    return 1\n")

    return make


def _mcp(root: Path) -> None:
    (root / "silent.py").write_text("import time\ntime.sleep(600)\n")


def _hook(place: str) -> str:
    return f'[hooks]\n{place} = ["touch ready; sleep 600"]\n'


_WRITE = call("Write", file_path="large.txt", content="".join(f"other {n % 97}\n" for n in range(LINES)))

STATES = (
    State("waiting for a model"),
    State("headers and no answer", (Reply(text="x", only=60, then="hang"),)),
    State("answer that stopped half-way", (stuck_after("the beginning"),)),
    State("endless answer", (_begun("begun", ENDLESS),), after=1.5),
    State("one byte a second", (_begun("begun", DRIP),)),
    State("long reasoning", (Reply(thinking=["thought "] * 50_000, only=900_000, then="hang"),)),
    State("huge answer", (Reply(text=["word " * 20_000] * 18, only=1_700_000, then="hang"),), after=1.0),
    State("huge arguments", (Reply(calls=[{"name": "bash", "arguments": "x" * 900_000}], only=440_000, then="hang"),)),
    State(
        "wait that a server asked for",
        (Reply(status=429, headers={"retry-after": "100"}, body="{}"),),
        limits="retries = 5",
    ),
    State("wait after an overload", (Reply(status=529, body="{}"),), asked=3, limits="retries = 20", after=0.1),
    State("second request of a turn", (_bash("true"), HANG), asked=2),
    State("command in bubblewrap", (_bash(READY + "sleep 600"),), file="ready"),
    State("command in a kept sandbox", (_bash("true"), _bash("true "), _bash(READY + "sleep 600")), file="ready"),
    State(
        "command under Landlock",
        (_bash("sleep 600"),),
        settings='[sandbox]\nuse = "partial"\n',
        rule="sleep 600",
        after=1.5,
    ),
    State(
        "command without a sandbox",
        (_bash("sleep 600"),),
        settings='[sandbox]\nuse = "none"\n',
        rule="sleep 600",
        after=1.5,
    ),
    State(
        "command that ignores interrupts", (_bash("trap '' INT; " + READY + "while :; do sleep 1; done"),), file="ready"
    ),
    State(
        "kept one that ignores interrupts",
        (_bash("true"), _bash("true "), _bash("trap '' INT; " + READY + "while :; do sleep 1; done")),
        file="ready",
    ),
    State("command that prints without end", (_bash(READY + "yes"),), file="ready", after=1.0),
    State(
        "command with many children",
        (_bash("for i in $(seq 200); do sleep 600 & done; " + READY + "wait"),),
        file="ready",
    ),
    State(
        "background shell beside a request", (_bash(READY + "sleep 600", run_in_background=True), HANG), file="ready"
    ),
    State("your own line", line="! " + READY + "sleep 600", file="ready", surfaces=("headless",)),
    State(
        "diff of a large file",
        (call("Read", file_path="large.txt", limit=5), _WRITE, HANG),
        asked=2,
        prepare=_large_file,
        after=0.6,
    ),
    State("first checkpoint of a large tree", (_bash("touch x"), HANG), prepare=_large_tree, git=False, after=0.8),
    State(
        "search of a large tree", (call("grep", pattern="(a|b|ab)*c$", path="."), HANG), prepare=_large_tree, after=0.2
    ),
    State("listing of a large tree", (call("glob", pattern="**/*9*.txt"), HANG), prepare=_large_tree, after=0.2),
    State(
        "start of an MCP server",
        (call("mcp_tool", command="list_tools", server_name="silent"), HANG),
        prepare=_mcp,
        settings=f'[mcp.servers.silent]\ncommand = "{sys.executable}"\nargs = ["silent.py"]\n',
        after=1.5,
    ),
    State("hook before a call", (_bash("true"),), file="ready", settings=_hook("pre_tool_use")),
    State("hook before a turn", file="ready", settings=_hook("user_prompt_submit")),
    State("hook after a call", (_bash("true"), HANG), file="ready", settings=_hook("post_tool_use")),
    State("page that does not come", (call("web_get_contents", urls=["http://127.0.0.1:9/"]), HANG), asked=2),
    State("delivery check", (_bash("touch y"), Reply(text="I will do it next."), HANG), asked=3),
    State("planning", line="/plan do it", words=("--mode", "plan")),
    State(
        "summary of a long conversation",
        (call("Read", file_path="a.py"), call("Read", file_path="a.py", limit=1), HANG),
        asked=3,
        settings="[compression]\nmax_messages = 4\nkeep_messages = 2\n",
    ),
    State("open question", (_bash("rm -r x"), HANG), words=ASKING, surfaces=("plain", "tui"), after=1.5),
    State(
        "start of a language server",
        (call("lsp_tool", command="hover_symbol", path="a.py", symbol="central"), HANG),
        prepare=_silent(".venv/bin/ty"),
        process=f"sleep {SILENT}",
    ),
    State(
        "AI CLI that plans",
        line="/plan do it",
        words=("--mode", "plan", "--autonomous", "--permission-profile", "normal"),
        settings='[cycle]\nplanner = "codex"\n',
        prepare=_silent("../bin/codex"),
        process=f"sleep {SILENT}",
    ),
    State(
        "rewind of many files",
        before=("! for i in $(seq 3000); do echo $i > f$i.txt; done", "! rm f*.txt"),
        line="/rewind 2 files",
        file="f500.txt",
        after=0.0,
        surfaces=("headless",),
    ),
    State(
        "exit beside a shell that ignores interrupts",
        (_bash("trap '' INT TERM HUP; " + READY + "while :; do sleep 1; done", run_in_background=True), HANG),
        file="ready",
        after=1.0,
        surfaces=("headless",),
    ),
)
