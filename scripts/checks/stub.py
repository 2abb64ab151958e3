"""Drive Quintet headless against a stub model server, over each wire the stub speaks.

scripts/check stub PATH [--steps N]: PATH is a program that serves POST …/chat/completions or …/messages on loopback,
prints {"port": N}, takes {"steps": N} at POST /__stub/script, answers with that many shell calls and then DONE.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

TARGETS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
RUN_SECONDS = 60
BUILD = ("--mode", "build", "--autonomous", "--permission-profile", "normal")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check stub", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="the stub, a Python program")
    parser.add_argument("--steps", type=int, default=5, help="shell calls before DONE")
    arguments = parser.parse_args()
    if not arguments.path.is_file():
        parser.error(f"{arguments.path} is not a file")
    with subprocess.Popen([sys.executable, str(arguments.path)], stdout=subprocess.PIPE, text=True) as stub:
        try:
            assert stub.stdout
            port = json.loads(stub.stdout.readline())["port"]
            wires = [wire for wire, target in TARGETS.items() if speaks(port, target)]
            results = [run(port, wire, arguments.steps) for wire in wires]
        finally:
            stub.terminate()
    if not wires:
        print("the stub speaks no wire that Quintet does")
    return 0 if results and all(results) else 1


def speaks(port: int, target: str) -> bool:
    question = {"model": "stub", "max_tokens": 16, "messages": [{"role": "user", "content": "hello"}]}
    return post(port, target, question) == 200


def post(port: int, target: str, body: dict[str, Any]) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", target, json.dumps(body), {"content-type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


def run(port: int, wire: str, steps: int) -> bool:
    """One headless turn in a folder of its own; says how it went."""
    post(port, "/__stub/script", {"steps": steps})
    with tempfile.TemporaryDirectory(prefix="quintet-stub-") as place:
        project = Path(place, "project")
        project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        folders = {f"XDG_{kind}_HOME": f"{place}/{kind.lower()}" for kind in ("STATE", "CONFIG", "CACHE")}
        own = Path(folders["XDG_CONFIG_HOME"], "quintet")
        own.mkdir(parents=True)
        address = f"http://127.0.0.1:{port}/v1"
        table = f'[models.stub]\nbase_url = "{address}"\nmodel = "stub"\nwire = "{wire}"\n[routing]\nsmart = "stub"\n'
        # It says DONE whatever it is asked, so it cannot be asked about its work.
        (own / "settings.toml").write_text(f"{table}[runs]\ndelivery_check = false\n")
        command = [sys.executable, "-m", "quintet", "-p", "do the steps", *BUILD, "--output-format", "stream-json"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("QUINTET_")}
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=project, env={**environment, **folders}, capture_output=True, text=True, timeout=RUN_SECONDS
        )
        seconds = time.monotonic() - began
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    outputs = [line["content"] for line in lines if line["type"] == "tool_finished" and line["tool"] == "bash"]
    echoed = [f"step-{k}" in output for k, output in enumerate(outputs, 1)]
    answer = lines[-1].get("answer", "") if lines else ""
    good = done.returncode == 0 and answer.strip() == "DONE" and len(echoed) == steps and all(echoed)
    print(f"{wire:<10} {'ok' if good else 'FAILED'}  {len(outputs)} of {steps} steps, {answer!r}, {seconds:.2f} s")
    if not good:
        print(done.stderr or done.stdout[-2000:])
    return good


if __name__ == "__main__":
    sys.exit(main())
