"""Scripts that run apart: bytes in, JSON out, none of the environment, and an end when nobody waits for them."""

import asyncio
import os
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import run_apart
from quintet.domain.base.errors import ToolFailed

SLEEPS = "import os, pathlib, time\npathlib.Path({told!r}).write_text(str(os.getpid()))\ntime.sleep(60)\n"


def script(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def test_a_script_gets_a_request_and_a_body_and_none_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-for-children")
    text = (
        "import json, os, sys\nprint(json.dumps({'got': sys.stdin.buffer.read().decode(), 'env': list(os.environ)}))\n"
    )
    answer = asyncio.run(run_apart(script(tmp_path, text), {"a": 1}, b"body", 20))
    assert answer["got"] == '{"a":1}\nbody' and "PATH" in answer["env"] and "SHOP_TOKEN" not in answer["env"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise SystemExit('broken inside')", "it could not be read: broken inside"),
        ("import os; os.kill(os.getpid(), 9)", "it could not be read: it ended with 137"),
        ('print(\'{"problem": "no text in it"}\')', "no text in it"),
    ],
)
def test_what_goes_wrong_there_is_said(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        asyncio.run(run_apart(script(tmp_path, text), {}, b"", 20))


@pytest.mark.parametrize("seconds", [0.5, 60])
def test_a_script_ends_with_its_time_and_with_whoever_waits_for_it(tmp_path: Path, seconds: float) -> None:
    told = tmp_path / "pid"
    path = script(tmp_path, SLEEPS.format(told=str(told)))

    async def run() -> None:
        task = asyncio.create_task(run_apart(path, {}, b"", seconds))
        async with asyncio.timeout(60):
            while not (told.exists() and told.read_text()) and not task.done():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        if seconds > 1:
            task.cancel()
        with pytest.raises((asyncio.CancelledError, ToolFailed)):
            await task

    asyncio.run(run())
    if told.exists():
        assert not os.path.exists(f"/proc/{told.read_text()}")
