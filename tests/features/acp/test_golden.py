"""A whole conversation of the protocol, message by message: what changes in it changes for every editor.

`QUINTET_WRITE_GOLDEN=1` writes it anew; `scripts/check acp --schema FILE` holds it against the protocol's own schema.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS

from quintet import __version__
from quintet.adapters.files.paths import locate
from tests.features.acp.client import editor

GOLDEN = Path(__file__).with_name("golden.jsonl")
ID = re.compile(r"\b(q5|run|turn|in|q|s|rule)-[0-9a-z]{16}\b")
MODELS: dict[tuple[str, str], Any] = {
    ("session/update", "params"): schema.SessionNotification,
    ("session/request_permission", "params"): schema.RequestPermissionRequest,
    ("session/request_permission", "result"): schema.RequestPermissionResponse,
    ("initialize", "result"): schema.InitializeResponse,
    ("session/new", "result"): schema.NewSessionResponse,
    ("session/load", "result"): schema.LoadSessionResponse,
    ("session/prompt", "result"): schema.PromptResponse,
    ("session/set_config_option", "result"): schema.SetSessionConfigOptionResponse,
}
WRITES = "QUINTET_WRITE_GOLDEN" in os.environ  # tests do not see it
LISTED = "available_commands_update"  # every new command would change it; of it the golden has the first alone


def made_same(messages: list[tuple[str, dict[str, Any]]], root: Path) -> list[str]:
    names, counts = dict[str, str](), Counter[str]()

    def numbered(found: re.Match[str]) -> str:
        if found[0] not in names:
            counts[found[1]] += 1
            names[found[0]] = f"{found[1]}-{counts[found[1]]}"
        return names[found[0]]

    lines = []
    for direction, message in messages:
        update = message.get("params", {}).get("update", {})
        if update.get("sessionUpdate") == LISTED:
            del update["availableCommands"][1:]
        said = {"from": "agent" if direction == "incoming" else "client", "message": message}
        line = json.dumps(said, ensure_ascii=False, sort_keys=True)
        line = line.replace(f'"version": "{__version__}"', '"version": "VERSION"')
        line = line.replace(str(root), "/project").replace(locate(str(root)).state, "/state")
        lines.append(ID.sub(numbered, line))
    return lines


async def test_a_conversation_is_as_it_was(repo: Path) -> None:
    async with editor(repo) as at:
        session = await at.new(repo)
        await at.sees(lambda: at.of(LISTED))
        at.picks = ["y"]
        await at.says(session, 'create the file more.txt with "more"')
        await at.connection.set_config_option(session_id=session, config_id="control", value="manual")
        await at.sees(lambda: at.of("config_option_update"))
        await at.says(session, "/queued")
    found = made_same(at.messages, repo)
    if WRITES:
        GOLDEN.write_text("".join(f"{line}\n" for line in found))
    assert found == GOLDEN.read_text().splitlines()


def test_every_message_of_it_is_one_of_the_protocols() -> None:
    asked: dict[tuple[str, int], str] = {}
    held = 0
    for line in GOLDEN.read_text().splitlines():
        said = json.loads(line)
        message, other = said["message"], {"agent": "client", "client": "agent"}[said["from"]]
        method = message.get("method") or asked[other, message["id"]]
        assert method in {*AGENT_METHODS.values(), *CLIENT_METHODS.values()}
        if "method" in message and "id" in message:
            asked[said["from"], message["id"]] = method
        part = "params" if "method" in message else "result"
        if model := MODELS.get((method, part)):
            whole = model.model_validate(message[part])
            assert whole.model_dump(mode="json", by_alias=True, exclude_unset=True) == message[part]
            held += 1
    assert held >= 19
