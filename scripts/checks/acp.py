"""Drive `quintet acp` with real clients of the protocol, check every message against its schema, and print the table.

scripts/check acp [--acpx PROGRAM] [--schema FILE] [--python-client FILE] [--typescript-client FILE --node-modules DIR]:
PROGRAM is acpx; FILE are the protocol's schema.unstable.json (session/fork is in no other) and the example clients of
the two SDKs (examples/client.py, src/examples/client.ts), each of the version that its SDK has here; DIR
holds @agentclientprotocol/sdk and tsx. The SDK's packages from 2.0 on have no examples: dist/examples/client.js of
1.9.0, copied to client.ts, also runs with those. What is not named is a row that says so.
The SDK's client side in Python is always driven; a model on loopback answers. `--transcript FILE` keeps the messages.
"""

# ruff: noqa: E402  # where modules are found is said before they are imported

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).parents[2])  # beside this file, `acp` would be this file

from acp import text_block
from acp.schema import ImageContentBlock, ResourceContentBlock
from tests.adapters.model_server import Reply
from tests.features.acp.client import FORMS, Editor, editor
from tests.surfaces.program import ModelThread, call, stuck_after

from quintet.surfaces.tables import table

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CREATE = 'create the file more.txt with "more"'
QUINTET = f"{sys.executable} -m quintet acp"
SECONDS = 600  # only ends a hang
TTL = 12  # seconds that acpx keeps an idle agent; a command at its end fails

GOLDEN = Path(__file__).parents[2] / "tests" / "features" / "acp" / "golden.jsonl"
OTHER = {"incoming": "outgoing", "outgoing": "incoming", "agent": "client", "client": "agent"}
Row = tuple[str, str, str, str]  # client, case, result, what was seen


class Place:
    """A project and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.root.mkdir(parents=True)
        for name in ("home", "state", "config", "cache"):
            (folder / name).mkdir()
        self.env = {
            **os.environ,
            "HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        (self.root / "words.txt").write_text("one two\n")

    def settings(self, text: str) -> None:
        path = Path(self.env["XDG_CONFIG_HOME"], "quintet", "settings.toml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def variables(self) -> dict[str, str]:
        return {name: value for name, value in self.env.items() if name == "HOME" or name.startswith("XDG_")}


@contextmanager
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Place(Path(folder))


@contextmanager
def model(at: Place, *replies: Reply) -> Iterator[ModelThread]:
    thread = ModelThread(replies)
    try:
        at.settings(thread.settings())
        yield thread
    finally:
        thread.close()


# ── the SDK in Python


async def by_sdk(messages: list[tuple[str, dict[str, Any]]]) -> list[Row]:
    rows: list[Row] = []

    def seen(case: str, held: bool, what: object = "") -> None:
        rows.append(("Python SDK", case, "ok" if held else "FAILED", str(what)[:60]))

    with place() as at:
        async with editor(at.root, can=FORMS, **at.variables()) as client:
            await _offline(client, at, seen)
            messages += client.messages
        with model(at, call("Write", file_path="x.txt", content="x"), Reply(text="Not then.")) as answers:
            async with editor(at.root, can=FORMS, **at.variables()) as client:
                session = await client.new(at.root)
                client.picks, client.words = ["e"], ["use y.txt"]
                await client.says(session, "write it")
                told = any("use y.txt" in text for _, text in answers.said[-1])
                seen("refused with feedback", told and not (at.root / "x.txt").exists(), client.forms)
                messages += client.messages
        with model(at, Reply(text="A dot.")) as answers:
            async with editor(at.root, **at.variables()) as client:
                session = await client.new(at.root)
                blocks = [
                    text_block("what is in"),
                    ImageContentBlock(type="image", mime_type="image/png", data=PNG),
                    ResourceContentBlock(type="resource_link", name="words", uri=(at.root / "words.txt").as_uri()),
                ]
                await client.connection.prompt(session_id=session, prompt=blocks)
                sent = json.dumps(answers.server.requests[0].body)
                seen("picture and file", base64.b64encode(base64.b64decode(PNG)).decode() in sent, "in the request")
                messages += client.messages
        with model(at, stuck_after("It cou")):
            async with editor(at.root, **at.variables()) as client:
                session = await client.new(at.root)
                running = asyncio.create_task(client.says(session, "what is it?"))
                await client.sees(lambda: "It cou" in client.said())
                begun = time.monotonic()
                await client.connection.cancel(session_id=session)
                stopped = await running
                seen("cancel", stopped == "cancelled", f"{stopped}, {time.monotonic() - begun:.2f} s")
                messages += client.messages
    return rows


async def _offline(client: Editor, at: Place, seen: Callable[..., None]) -> None:
    session = await client.new(at.root)
    client.picks = ["y"]
    stopped = await client.says(session, CREATE)
    seen("prompt and permission", stopped == "end_turn" and (at.root / "more.txt").exists(), client.asked[0][0].title)
    await client.connection.set_session_mode(session_id=session, mode_id="build")
    seen("mode", bool(await client.sees(lambda: client.of("current_mode_update"))), "told back")
    turned = await client.connection.set_config_option(
        session_id=session, config_id="permission-profile", value="trusted"
    )
    values = {one.id: one.current_value for one in turned.config_options} if turned else {}
    seen("config option", values.get("permission-profile") == "trusted", values.get("permission-profile"))
    await client.says(session, "/status")
    seen("slash command", "build │ assisted │ trusted │ smart" in client.said(), "/status")
    client.picks = ["a"]
    await client.says(session, '/plan create the file a.txt with "a" and then create the file b.txt with "b"')
    entries = client.of("plan")[-1]["entries"]
    seen("plan", [one["status"] for one in entries] == ["completed", "completed"], f"{len(entries)} entries")
    listed = await client.connection.list_sessions(cwd=str(at.root))
    seen("list", [one.session_id for one in listed.sessions] == [session], f"{len(listed.sessions)} session")
    await client.connection.close_session(session_id=session)
    before = len(client.updates)
    await client.connection.load_session(cwd=str(at.root), session_id=session, mcp_servers=[])
    shown = [one for one in client.updates[before:] if one["sessionUpdate"] == "user_message_chunk"]
    seen("load", len(shown) >= 2, f"{len(client.updates) - before} updates")
    await client.connection.resume_session(cwd=str(at.root), session_id=session)
    seen("resume", await client.says(session, "/status") == "end_turn")
    forked = await client.connection.fork_session(cwd=str(at.root), session_id=session)
    seen("fork", await client.says(forked.session_id, "/status") == "end_turn")


# ── every message against the schema


def by_schema(messages: list[tuple[str, dict[str, Any]]], path: Path) -> list[Row]:
    from jsonschema import Draft202012Validator

    schema = json.loads(path.read_text())
    kinds: dict[tuple[str, str], str] = {}
    for name, one in schema["$defs"].items():
        if "x-method" in one:
            ending = next((end for end in ("Request", "Response", "Notification") if name.endswith(end)), "")
            kinds[one["x-method"], ending] = name
    wrong: list[str] = []
    checked = 0
    asked: dict[tuple[str, Any], str] = {}
    for direction, message in messages:
        method = message.get("method", "")
        if method and "id" in message:
            asked[direction, message["id"]] = method
        other = OTHER[direction]
        if method:
            value, ending = message.get("params"), "Request" if "id" in message else "Notification"
        elif "result" in message:
            method, value, ending = asked.get((other, message["id"]), ""), message["result"], "Response"
        else:
            continue
        name = kinds.get((method, ending))
        if name is None:
            wrong.append(f"{method} {ending} is not in the schema")
            continue
        checked += 1
        validator = Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
        wrong += [f"{name}: {error.message[:80]}" for error in validator.iter_errors(value)]
    return [
        ("schema", path.name, "FAILED" if wrong or not checked else "ok", wrong[0] if wrong else f"{checked} messages")
    ]


# ── acpx


def by_acpx(program: str) -> list[Row]:
    rows: list[Row] = []

    def run(at: Place, *words: str, flags: tuple[str, ...] = ()) -> str:
        line = [program, "--agent", QUINTET, "--cwd", str(at.root), "--ttl", str(TTL), *flags, *words]
        done = subprocess.run(line, env=at.env, cwd=at.root, capture_output=True, text=True, timeout=SECONDS)
        return done.stdout + done.stderr

    def seen(case: str, held: bool, what: str) -> None:
        rows.append(("acpx", case, "ok" if held else "FAILED", " ".join(what.split())[-60:]))
        if not held:
            sys.stderr.write(f"acpx, {case}:\n{what}\n")

    with place() as at:
        version = subprocess.run([program, "--version"], capture_output=True, text=True, env=at.env).stdout.strip()
        seen("version", bool(version), version)
        out = run(at, "sessions", "new", "--name", "one")
        seen("new", "q5-" in out, out.splitlines()[0] if out else "")
        out = run(at, "prompt", "-s", "one", CREATE, flags=("--deny-all",))
        seen("permission denied", "end_turn" in out and not (at.root / "more.txt").exists(), out)
        out = run(at, "prompt", "-s", "one", CREATE, flags=("--approve-all",))
        seen("prompt and permission", "end_turn" in out and (at.root / "more.txt").exists(), out)
        seen("mode", "mode set: build" in (out := run(at, "set-mode", "-s", "one", "build")), out)
        out = run(at, "set", "-s", "one", "permission-profile", "trusted")
        seen("config option", "permission-profile=trusted" in out, out)
        out = run(at, "prompt", "-s", "one", "/status")
        seen("slash command", "build │ assisted │ trusted" in out, "/status")
        time.sleep(TTL + 2)  # the agent that acpx keeps has ended: the next one takes the session up
        out = run(at, "prompt", "-s", "one", "/status")
        how = next((one for one in ("session/resume", "session/load") if one in out), "")
        seen("load or resume", bool(how) and "build │ assisted │ trusted" in out, how)
        time.sleep(TTL + 2)
        with model(at, Reply(text="A dot.")) as answers:
            picture = {"type": "image", "mimeType": "image/png", "data": PNG}
            (at.root / "prompt.json").write_text(json.dumps([{"type": "text", "text": "what is in"}, picture]))
            out = run(at, "prompt", "-s", "one", "-f", "prompt.json")
            requests = answers.server.requests
            seen("image", bool(requests) and PNG in json.dumps(requests[0].body) and "A dot." in out, out)
        with model(at, stuck_after("It cou")) as answers:
            line = [
                program,
                "--agent",
                QUINTET,
                "--cwd",
                str(at.root),
                "--ttl",
                str(TTL),
                "prompt",
                "-s",
                "one",
                "what?",
            ]
            time.sleep(TTL + 2)  # the agent that acpx keeps has settings of before
            running = subprocess.Popen(line, env=at.env, cwd=at.root, stdout=subprocess.PIPE, text=True)
            answers.asked()
            out = run(at, "cancel", "-s", "one")
            ended, _ = running.communicate(timeout=SECONDS)
            seen("cancel", "cancelled" in ended, ended)
        out = run(at, "sessions", "close", "one")
        seen("close", "rror" not in out, out)
    return rows


# ── the SDKs' example clients


def by_example(at: Place, name: str, line: list[str], lines: str, wanted: tuple[str, ...]) -> Row:
    try:
        done = subprocess.run(
            line, env=at.env, cwd=at.root, input=lines, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return (name, "example client", "FAILED", f"no end within {SECONDS} s")
    missing = [word for word in wanted if word not in done.stdout + done.stderr]
    last = (done.stdout + done.stderr).strip().splitlines()[-1:]
    return (name, "example client", "FAILED" if missing else "ok", f"not seen: {missing}" if missing else str(last))


def by_python_example(path: Path) -> Row:
    with place() as at:
        line = [sys.executable, str(path), sys.executable, "-m", "quintet", "acp"]
        return by_example(at, "Python SDK", line, "/status\n", ("chat │ assisted │ normal │ smart",))


def by_typescript_example(path: Path, modules: Path) -> Row:
    with place() as at, tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src" / "examples"
        source.mkdir(parents=True)
        (Path(folder) / "package.json").write_text('{"type": "module"}\n')
        (Path(folder) / "node_modules").symlink_to(modules.resolve())
        shutil.copy(path, source / "client.ts")
        (source.parent / "acp.ts").write_text('export * from "@agentclientprotocol/sdk";\n')
        command = json.dumps(QUINTET.split())
        (source / "agent.ts").write_text(
            f'import {{ spawn }} from "node:child_process";\nconst [one, ...rest] = {command};\n'
            'spawn(one, rest, { stdio: "inherit" });\n'
        )
        at.env["PATH"] = f"{modules.resolve()}/.bin:{at.env['PATH']}"
        line = ["npx", "tsx", str(source / "client.ts")]
        return by_example(at, "TypeScript SDK", line, "", ("Connected to agent (protocol v1)", "end_turn"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check acp", description=(__doc__ or "").partition("\n")[0])
    for flag in ("--acpx", "--schema", "--python-client", "--typescript-client", "--node-modules", "--transcript"):
        parser.add_argument(flag, type=Path)
    given = parser.parse_args()
    messages: list[tuple[str, dict[str, Any]]] = []
    rows = asyncio.run(by_sdk(messages))
    if given.schema:
        rows += by_schema([(one["from"], one["message"]) for one in map(json.loads, GOLDEN.open())], given.schema)
    if given.transcript:
        given.transcript.write_text("".join(f"{json.dumps(one)}\n" for one in messages))
    rows += by_schema(messages, given.schema) if given.schema else [("schema", "", "not given", "--schema FILE")]
    rows += by_acpx(str(given.acpx.resolve())) if given.acpx else [("acpx", "", "not given", "--acpx PROGRAM")]
    if given.python_client:
        rows.append(by_python_example(given.python_client.resolve()))
    if given.typescript_client and given.node_modules:
        rows.append(by_typescript_example(given.typescript_client.resolve(), given.node_modules))
    print("\n".join(table(rows, heading=("CLIENT", "CASE", "RESULT", "SEEN"))))
    return 1 if any(row[2] == "FAILED" for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
