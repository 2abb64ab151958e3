"""Stands in for codex, claude, gemini or an ACP agent, by the name it is called: same events, faults and habits.

What it does is the first word of its assignment, read from stdin as the real ones do; see `Scenes`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

NAME = os.path.basename(sys.argv[0])
FOR_EVER = 100_000.0
USAGE = {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 10}
WORDS = {
    "codex": {
        "401": "unexpected status 401 Unauthorized: invalid key, url: http://127.0.0.1:1/v1/responses",
        "429": "exceeded retry limit, last status: 429 Too Many Requests",
        "reset": "You've hit your usage limit. Try again in 2 hours 13 minutes.",
        "500": "We’re currently experiencing high demand, which may cause temporary errors.",
        "400": "unexpected status 400 Bad Request: no such parameter",
    },
    "claude": {
        "401": "Invalid API key · Fix external API key",
        "429": "API Error: Request rejected (429) · rate limited",
        "reset": "You've hit your limit · resets 3pm",
        "500": "API Error: 500 server error. This is a server-side issue, usually temporary — try again in a moment.",
        "down": "API Error: Unable to connect to API (ConnectionRefused)",
        "nokey": "Not logged in · Please run /login",
        "400": "Prompt is too long",
    },
    "gemini": {
        "401": '[API Error: {"error":{"code":401,"message":"invalid key","status":"UNAUTHENTICATED"}}]',
        "429": "[API Error: rate limited]\nPlease wait and try again later, or switch to another /auth method",
        "reset": "You exceeded your current quota. Please retry in 37.5s.",
        "500": '[API Error: {"error":{"code":500,"message":"server error","status":"INTERNAL"}}]',
        "down": "[API Error: exception TypeError: fetch failed sending request]",
        "400": '[API Error: {"error":{"code":400,"message":"bad request","status":"INVALID_ARGUMENT"}}]',
    },
    "agent": {
        "401": "Authentication required",
        "429": "rate limit reached",
        "reset": "rate limit reached, try again in 90 seconds",
        "500": "internal error: status 500",
        "down": "connect ECONNREFUSED 127.0.0.1:1",
        "400": "invalid_request: no",
    },
}


def emit(event):
    sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    sys.stdout.flush()


class Codex:
    def open(self):
        emit({"type": "thread.started", "thread_id": "01a1e164"})
        emit(
            {
                "type": "item.completed",
                "item": {"id": "item_0", "type": "error", "message": "Model metadata not found."},
            }
        )
        emit({"type": "turn.started"})

    def say(self, text):
        emit({"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": text}})

    def think(self, text):
        emit({"type": "item.completed", "item": {"id": "item_8", "type": "reasoning", "text": text}})

    def call(self, command, output, ok):
        item = {"id": "item_1", "type": "command_execution", "command": f"/bin/bash -lc '{command}'"}
        emit(
            {
                "type": "item.started",
                "item": {**item, "aggregated_output": "", "exit_code": None, "status": "in_progress"},
            }
        )
        status = {"exit_code": 0 if ok else 1, "status": "completed" if ok else "failed"}
        emit({"type": "item.completed", "item": {**item, "aggregated_output": output, **status}})

    def changed(self, path):
        changes = [{"path": path, "kind": "add"}]
        emit(
            {
                "type": "item.completed",
                "item": {"id": "item_2", "type": "file_change", "changes": changes, "status": "completed"},
            }
        )

    def done(self, text):
        self.say(text)
        emit({"type": "turn.completed", "usage": USAGE})

    def fail(self, what):
        if what == "down":  # it would go on like this for ever
            while True:
                emit({"type": "error", "message": "Reconnecting... waiting for network (Connection failed: error)"})
                time.sleep(0.05)
        text = WORDS["codex"].get(what, "Missing environment variable: `STUB_KEY`.")
        emit({"type": "error", "message": text})
        emit({"type": "turn.failed", "error": {"message": text}})
        sys.exit(1)


class Claude:
    def open(self):
        emit({"type": "system", "subtype": "init", "cwd": os.getcwd(), "tools": ["Bash"], "model": "claude"})

    def say(self, text, kind="text", model="claude"):
        block = {"type": "thinking", "thinking": text} if kind == "thinking" else {"type": "text", "text": text}
        emit({"type": "assistant", "message": {"role": "assistant", "model": model, "content": [block]}})

    def think(self, text):
        self.say(text, "thinking")

    def _use(self, tool, given, output, ok, made=None):
        used = {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": given}
        emit({"type": "assistant", "message": {"role": "assistant", "model": "claude", "content": [used]}})
        result = {"tool_use_id": f"toolu_{tool}", "type": "tool_result", "content": output, "is_error": not ok}
        emit({"type": "user", "message": {"role": "user", "content": [result]}, "tool_use_result": made})

    def call(self, command, output, ok):
        self._use("Bash", {"command": command}, output, ok)

    def changed(self, path):
        self._use("Write", {"file_path": path, "content": "x"}, "written", True, {"type": "create", "filePath": path})

    def _result(self, error, text, status=None):
        usage = {
            "input_tokens": 12,
            "cache_creation_input_tokens": 3,
            "cache_read_input_tokens": 5,
            "output_tokens": 10,
        }
        emit({"type": "result", "subtype": "success", "is_error": error, "api_error_status": status, "result": text,
              "total_cost_usd": 0 if error else 0.25, "usage": usage})  # fmt: skip

    def done(self, text):
        self.say(text)
        self._result(False, text)

    def fail(self, what):
        text = WORDS["claude"][what]
        if what == "reset":
            info = {"status": "rejected", "resetsAt": int(time.time()) + 600, "rateLimitType": "five_hour"}
            emit({"type": "rate_limit_event", "rate_limit_info": info})
        self.say(text, model="<synthetic>")
        self._result(True, text, {"401": 401, "429": 429, "reset": 429, "500": 500}.get(what))
        sys.exit(1)


class Gemini:
    def open(self):
        emit({"type": "init", "session_id": "7e168028", "model": "gemini-2.5-flash"})
        emit({"type": "message", "role": "user", "content": "the assignment"})

    def say(self, text):
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            emit({"type": "message", "role": "assistant", "content": piece, "delta": True})

    def think(self, text):
        pass  # it keeps its thoughts to itself

    def _use(self, tool, given, output, ok):
        emit({"type": "tool_use", "tool_name": tool, "tool_id": f"{tool}__1", "parameters": given})
        status = {"status": "success", "output": output} if ok else {"status": "error", "error": {"message": output}}
        emit({"type": "tool_result", "tool_id": f"{tool}__1", **status})

    def call(self, command, output, ok):
        self._use("run_shell_command", {"command": command}, output, ok)

    def changed(self, path):
        self._use("write_file", {"file_path": path, "content": "x"}, f"Successfully created {path}", True)

    def done(self, text):
        self.say(text)
        stats = {"total_tokens": 30, "input_tokens": 20, "output_tokens": 10, "cached": 5}
        emit({"type": "result", "status": "success", "stats": stats})

    def fail(self, what):
        if what == "nokey":
            sys.stderr.write("When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\n")
            sys.exit(41)
        sys.stderr.write("    at async Turn.run (chunk.js:1:24) {\n}\n")
        emit({"type": "result", "status": "error", "error": {"type": "unknown", "message": WORDS["gemini"][what]}})
        sys.exit({"401": 145, "429": 173, "reset": 173, "500": 244, "400": 144}.get(what, 1))


class Agent:
    """The other side of the Agent Client Protocol."""

    def __init__(self):
        self.prompt_id = None
        self.calls = 0

    def hear(self):
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        return json.loads(line)

    def answer(self, id, **result):
        emit({"jsonrpc": "2.0", "id": id, **result})

    def assignment(self):
        while True:
            asked = self.hear()
            if asked.get("method") == "initialize":
                self.answer(asked["id"], result={"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})
            elif asked.get("method") == "session/new":
                assert asked["params"]["cwd"] == os.getcwd()
                self.answer(asked["id"], result={"sessionId": "s-1"})
            elif asked.get("method") == "session/prompt":
                self.prompt_id = asked["id"]
                return asked["params"]["prompt"][0]["text"]

    def update(self, **update):
        emit({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-1", "update": update}})

    def open(self):
        emit({"jsonrpc": "2.0", "id": 900, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}})
        assert self.hear()["error"]["code"] == -32601

    def say(self, text, kind="agent_message_chunk"):
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self.update(sessionUpdate=kind, content={"type": "text", "text": piece})

    def think(self, text):
        self.say(text, "agent_thought_chunk")

    def call(self, command, output, ok):
        self.calls += 1
        id = f"c-{self.calls}"
        self.update(sessionUpdate="tool_call", toolCallId=id, title=command, kind="execute", status="pending")
        content = [{"type": "content", "content": {"type": "text", "text": output}}]
        status = "completed" if ok else "failed"
        self.update(sessionUpdate="tool_call_update", toolCallId=id, status=status, content=content)

    def changed(self, path):
        diff = [{"type": "diff", "path": path, "oldText": None, "newText": "x"}]
        self.update(
            sessionUpdate="tool_call", toolCallId="c-diff", title="write", kind="edit", status="completed", content=diff
        )

    def done(self, text):
        self.say(text)
        usage = {"inputTokens": 20, "outputTokens": 10, "cachedReadTokens": 5}
        self.answer(self.prompt_id, result={"stopReason": "end_turn", "usage": usage})
        self.hear()  # waits for more, until its stdin is closed

    def fail(self, what):
        code = -32000 if what in ("401", "nokey") else -32603
        self.answer(
            self.prompt_id, error={"code": code, "message": WORDS["agent"].get(what, "Authentication required")}
        )
        self.hear()

    def permission(self, kind):
        options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
        params = {"sessionId": "s-1", "toolCall": {"toolCallId": "c", "kind": kind}, "options": options}
        emit({"jsonrpc": "2.0", "id": 901, "method": "session/request_permission", "params": params})
        return self.hear()["result"]["outcome"].get("optionId")


class Scenes:
    """What it can be told to do."""

    def __init__(self, cli, words):
        self.cli, self.words = cli, words

    def ok(self):
        self.cli.think("I shall echo.")
        self.cli.call("echo step-1", "step-1\n", True)
        path = os.path.abspath("made.txt")
        with open(path, "w") as file:
            file.write("made\n")
        self.cli.changed(path)
        self.cli.done("DONE")

    def repeat(self):
        """Says its assignment again."""
        self.cli.done(self.whole)

    def nothing(self):
        self.cli.done("I looked around.")

    def asks(self):
        self.cli.done("Which file do you mean?")

    def claims(self):
        self.cli.done("DONE. Everything is written, and all tests pass.")

    def length(self):
        self.cli.done(str(len(self.words)))

    def write(self):
        """Tries to write each of the paths that follow."""
        for path in self.words.split()[1:]:
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write("planted\n")
                self.cli.call(f"write {path}", "written", True)
            except OSError as error:
                self.cli.call(f"write {path}", f"{path}: {error.strerror}", False)
        self.cli.done("tried")

    def edit(self):
        """Writes one file by a tool of its own, and says so."""
        path = self.words.split()[1]
        with open(path, "w") as file:
            file.write("planted\n")
        self.cli.changed(path)
        self.cli.done("written")

    def read(self):
        found = {}
        for path in self.words.split()[1:]:
            try:
                with open(path) as file:
                    found[path] = file.read()
            except OSError as error:
                found[path] = f"! {error.strerror}"
        self.cli.done(json.dumps(found))

    def connect(self):
        import socket

        with socket.create_connection(("127.0.0.1", int(self.words.split()[1])), 5) as line:
            self.cli.done(line.recv(10).decode())

    def start(self):
        """How it was started."""
        self.cli.done(json.dumps({"argv": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}))

    def permission(self):
        self.cli.done(" ".join(str(self.cli.permission(kind)) for kind in self.words.split()[1:]))

    def crash(self):
        sys.stderr.write("Traceback: something broke\n")
        sys.exit(3)

    def killed(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def unfinished(self):
        self.cli.say("so far so")

    def regret(self):
        self.cli.done("DONE")
        sys.exit(7)

    def linger(self):
        self.cli.done("DONE")
        time.sleep(FOR_EVER)

    def silence(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(FOR_EVER)

    def retries(self):
        error = {"message": "Reconnecting... waiting for network", "additionalDetails": "Connection failed"}
        while True:
            self.cli.update(sessionUpdate="session_info_update", _meta={"codex": {"error": error}})
            time.sleep(0.1)

    def chatter(self):
        while True:
            self.cli.say("tick tack")
            time.sleep(0.02)

    def torrent(self):
        while True:
            self.cli.say("tick")

    def garbage(self):
        while True:
            sys.stdout.write("<html>this is no event</html>\n")

    def flood(self):
        """Events and other lines, thousands of them, as fast as it can."""
        for number in range(int(self.words.split()[1])):
            sys.stderr.write(f"line {number} {'x' * 50}\n")
        for number in range(int(self.words.split()[1])):
            self.cli.call(f"echo {number}", "out", True)
        self.cli.done("flooded")

    def bytes(self):
        sys.stdout.buffer.write(b"\xff\xfe not text\n")
        sys.stdout.flush()
        self.cli.say("caf")
        sys.stdout.flush()
        self.cli.done("bytes")

    def long(self):
        sys.stdout.write("y" * 9_000_000 + "\n")
        self.cli.done("long")

    def leave(self):
        """Leaves a process of its own session behind, says so, and hangs; gemini does not heed SIGINT by itself."""
        if NAME == "gemini":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        for marker in self.words.split()[1:]:
            subprocess.Popen(["sleep", marker], start_new_session=True)
        self.cli.call("left", "left", True)
        time.sleep(FOR_EVER)


def main():
    if "--version" in sys.argv:
        print(f"{NAME}-cli 9.8.7 (Fake)")
        return
    cli = {"codex": Codex, "claude": Claude, "gemini": Gemini, "agent": Agent}[NAME]()
    words = cli.assignment() if NAME == "agent" else sys.stdin.read()
    cli.open()
    told = re.search(r"^scene (\w+.*)$", words, re.MULTILINE)  # of a task, whose prompt begins with words of its own
    Scenes.whole, words = words, told[1] if told else words
    scene = words.split()[0]
    play = getattr(Scenes(cli, words), scene, None)
    if play:
        play()
    else:
        cli.fail(scene)


if __name__ == "__main__":
    main()
