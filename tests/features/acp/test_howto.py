"""What the page about editors has them start is an agent that answers."""

import json
import re
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks
from tests.surfaces.program import Program

PAGE = "docs/howto/in-your-editor.md"
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}}


def starts() -> list[tuple[str, ...]]:
    """The words that each editor's settings start."""
    found = [
        (one["command"], *one["args"])
        for block in blocks(PAGE, "json")
        for one in json.loads(block)["agent_servers"].values()
    ]
    page = (ROOT / PAGE).read_text()
    found += [tuple(re.findall(r'"(\w+)"', words)) for words in re.findall(r"default = \{([^}]*)\}", page)]
    found += re.findall(r':command "(\w+)" :command-params \'\("(\w+)"\)', page)
    found += [tuple(words.split()) for words in re.findall(r'--agent "([^"]*)"', page)]
    found += re.findall(r'command = "(\w+)", args = \{ "(\w+)" \}', page)
    return found


def test_the_page_shows_every_editor_one_way_to_start_it() -> None:
    assert starts() == [("quintet", "acp")] * 6


def test_what_the_page_starts_answers_an_editor(repo: Path) -> None:
    (_, name) = starts()[0]
    done = Program(repo).run(name, stdin=json.dumps(HELLO) + "\n")
    answer = json.loads(done.out.splitlines()[0])
    assert answer["id"] == 1 and answer["result"]["agentInfo"]["name"] == "quintet", (answer, done.err)


@pytest.mark.parametrize(
    "line", [line for block in blocks(PAGE, "sh") for line in block.splitlines() if "pip" not in line]
)
def test_its_lines_run(repo: Path, line: str) -> None:
    installs = "install" in line.split()
    done = Program(repo).run(*line.split()[1:], *(["--dry-run"] if installs else []))
    assert done.code == 0 and ("agent-client-protocol" if installs else "quintet acp") in done.out
