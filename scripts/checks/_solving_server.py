"""A model on loopback that does the tasks of suites as their pages say, by the tools that the asking AI CLI offers.

It speaks OpenAI's responses, Anthropic's messages and Google's generateContent. Which task is meant is told by the
words of a request, and how far it has come by the results of calls that the request holds: so nothing is kept between
requests, and any number of conversations go on at once. What is asked without tools gets a word, or the least JSON of
the schema that it wants.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from quintet.features.evals.tasks import EvalTask, Solution

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.adapters.model_server import Reply, answer

DONE = "DONE: the work is done."
SHELLS = ("Bash", "run_shell_command", "exec_command", "shell_command", "shell")
WORDS = {"string": "a step of the task", "boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}


class Step(NamedTuple):
    line: str = ""  # a shell line
    path: str = ""  # or a file
    content: str = ""


class Asked(NamedTuple):
    """A request, whichever wire it came by."""

    words: str  # all that was said
    results: int  # of calls
    tools: dict[str, dict[str, Any]]  # their schemas by name
    schema: dict[str, Any] | None  # of the JSON that is wanted


@contextmanager
def solving(tasks: Sequence[EvalTask]) -> Iterator[int]:
    """The port of a server that does these tasks."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(Reply(body=json.dumps({"object": "list", "data": [], "models": []}), framing="length"))

        def do_HEAD(self) -> None:
            self._send(Reply(framing="length", body=""))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            self._send(replied(self.path.partition("?")[0], body, tasks))

        def _send(self, reply: Reply) -> None:
            self.wfile.write(answer(reply, self.path))

        def log_message(self, *_: Any) -> None:
            """Nothing is said."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def replied(path: str, body: dict[str, Any], tasks: Sequence[EvalTask]) -> Reply:
    if path.endswith(("/count_tokens", ":countTokens")):
        return Reply(body=json.dumps({"input_tokens": 10, "totalTokens": 10}), framing="length")
    asked = read(path, body)
    call = next_call(asked, tasks)
    text = "" if call else json.dumps(least(asked.schema)) if asked.schema else DONE
    if call and call[0] == "apply_patch":
        return Reply(body=custom_call(call[1]["input"], asked.results))
    if body.get("stream") or path.endswith(":streamGenerateContent"):
        called = {"id": f"call_{asked.results}", "name": call[0], "arguments": json.dumps(call[1])} if call else None
        return Reply(text=[text] if text else (), calls=[called] if called else ())
    return Reply(body=json.dumps(whole(path, text)), framing="length")


def read(path: str, body: dict[str, Any]) -> Asked:
    if path.endswith("/messages"):
        said = [block for message in body["messages"] for block in _blocks(message["content"])]
        results = sum(block.get("type") == "tool_result" for block in said)
        tools = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools") or ()}
        schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    elif path.endswith("/responses"):
        said = body["input"]
        results = sum(str(item.get("type")).endswith("call_output") for item in said)
        tools = {str(tool.get("name")): tool.get("parameters", {}) for tool in body.get("tools") or ()}
        schema = ((body.get("text") or {}).get("format") or {}).get("schema")
    else:
        said = [part for message in body.get("contents") or () for part in message.get("parts") or ()]
        results = sum("functionResponse" in part for part in said)
        listed = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") or {} for one in listed}
        given = body.get("generationConfig") or {}
        schema = given.get("responseJsonSchema") or given.get("responseSchema")
    return Asked("\n".join(_texts(said)), results, tools, schema)


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, as it was before it became JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def next_call(asked: Asked, tasks: Sequence[EvalTask]) -> tuple[str, dict[str, Any]] | None:
    """The call that the next step needs; nothing when it is done, and to who offers no shell."""
    found = [task for task in tasks if task.page.request.strip() in asked.words]
    shell = next((name for name in SHELLS if name in asked.tools), "")
    if not found or not shell:
        return None
    task = max(found, key=lambda one: len(one.page.request))
    calls = [call for step in steps(task.page.solution) for call in by_tools(step, shell, asked, task)]
    return calls[asked.results] if asked.results < len(calls) else None


def steps(solution: Solution) -> list[Step]:
    files = [Step(path=path, content=content) for path, content in solution.files.items()]
    return [*map(Step, solution.first), *files, *map(Step, solution.run)]


def by_tools(step: Step, shell: str, asked: Asked, task: EvalTask) -> Iterator[tuple[str, dict[str, Any]]]:
    tools = asked.tools
    if step.line:
        yield shell, filled(tools[shell], command=step.line, cmd=step.line)
    elif "Write" in tools:
        if step.path in task.page.files:  # it writes over nothing that it has not read
            yield "Read", filled(tools["Read"], file_path=step.path)
        yield "Write", filled(tools["Write"], file_path=step.path, content=step.content)
    elif "write_file" in tools:
        yield "write_file", filled(tools["write_file"], file_path=step.path, content=step.content)
    else:
        patch = "\n".join(_patch(step))
        if "apply_patch" in tools:
            yield "apply_patch", {"input": patch}
        else:
            line = f"apply_patch <<'END_OF_PATCH'\n{patch}\nEND_OF_PATCH"
            yield shell, filled(tools[shell], command=line, cmd=line)


def _patch(step: Step) -> Iterable[str]:
    lines = [f"+{line}" for line in step.content.removesuffix("\n").split("\n")]
    return ("*** Begin Patch", f"*** Add File: {step.path}", *lines, "*** End Patch")


def filled(schema: dict[str, Any], **known: str) -> dict[str, Any]:
    """What is known of a call, as its schema has it, and anything for what else it needs."""
    properties = schema.get("properties") or {}
    given: dict[str, Any] = {name: value for name, value in known.items() if name in properties}
    for name, value in given.items():
        if properties[name].get("type") == "array":
            given[name] = ["sh", "-c", value]
    return given | {name: least(properties[name]) for name in schema.get("required") or () if name not in given}


def least(schema: dict[str, Any]) -> Any:
    """The least value of a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = str(kind[0] if isinstance(kind, list) else kind).lower()
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: least(properties[name]) for name in schema.get("required") or () if name in properties}
    return WORDS.get(kind)


def custom_call(text: str, number: int) -> list[bytes]:
    """A call of a tool that takes free text, as the responses API streams it."""
    item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}", "name": "apply_patch"}
    item |= {"input": text, "status": "completed"}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": "test-model"}
    chunks: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": usage},
        },
    ]
    return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in chunks]


def whole(path: str, text: str) -> dict[str, Any]:
    """An answer that is not streamed."""
    if path.endswith("/messages"):
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model"}
        return {**message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    part = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [part], "usageMetadata": usage, "modelVersion": "test-model"}
