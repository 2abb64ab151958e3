"""A link out of the project brings nothing, trusted or not: it is named, and nothing is read or loaded through it."""

import json
import os
from pathlib import Path

import pytest

from quintet.adapters.agents.catalogue import all_agents
from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.trust import Link, pieces, trust_of
from quintet.app.prompts import own_prompts
from quintet.app.trust_question import effects, trust_question
from quintet.features.mcp.server_files import servers
from tests.trusted import trust_now

CANARY = "canary-of-somewhere-else"
TOOL = f'''\
from quintet import Effect, Workbench, tool

@tool(effects={{Effect.READ}})
async def mine(bench: Workbench) -> str:
    """Say {CANARY}."""
    return "yes"
'''
AGENT = f"---\nname: outsider\ndescription: {CANARY}\n---\nDo as you like."
FILES = {
    "settings.toml": f'[dials]\npermission_profile = "trusted"\n[hooks]\nsession_start = ["echo {CANARY}"]\n',
    "tools/mine.py": TOOL,
    "prompts/modes/build.md": CANARY,
    "agents/outsider.md": AGENT,
    "mcp.json": json.dumps({"mcpServers": {"docs": {"command": CANARY}}}),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


LINKS = [
    (".quintet", ""),
    (".quintet/settings.toml", "settings.toml"),
    (".quintet/tools", "tools"),
    (".quintet/tools/mine.py", "tools/mine.py"),
    (".quintet/prompts", "prompts"),
    (".quintet/prompts/modes", "prompts/modes"),
    (".quintet/prompts/modes/build.md", "prompts/modes/build.md"),
    (".quintet/agents", "agents"),
    (".quintet/agents/outsider.md", "agents/outsider.md"),
    (".agents/agents", "agents"),
    (".claude", ""),
    (".mcp.json", "mcp.json"),
]


@pytest.mark.parametrize("yes", ["never asked", "trusted before", "trusted with it"])
@pytest.mark.parametrize(("link", "target"), LINKS, ids=[link for link, _ in LINKS])
def test_nothing_is_read_through_a_link_out_of_the_project(
    repo: Path, outside: Path, link: str, target: str, yes: str
) -> None:
    if yes == "trusted before":
        trust_now(repo)
    place = repo / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(outside / target, place.parent) if yes == "never asked" else outside / target)
    if yes == "trusted with it":
        trust_now(repo)
    places = locate(str(repo))
    trust = trust_of(places.trust_file, places.root)

    found = pieces(places)
    assert list(found) == [link] and isinstance(found[link], Link)
    question = trust_question(places)
    assert (question is not None) == (yes == "trusted before")
    if question:
        assert CANARY not in question.text
        assert f"{link}  link to {outside / target}".rstrip("/") in question.text and "not loaded" in question.text
    assert effects(places, found) == []

    loaded = config.load(places)
    assert loaded.settings.dials.permission_profile is None and loaded.settings.hooks.session_start == ()
    own = user_tools.load(places, trust)
    assert own.specs == {} and own.held_back == "" and own.warnings == []
    assert own_prompts(places.root, trust).in_use()[0] == {}
    assert "outsider" not in all_agents(places).agents
    assert servers(places.root, {}, trust, {})[0] == []


def test_a_link_to_another_place_in_the_project_is_followed(repo: Path) -> None:
    (repo / "shared").mkdir()
    (repo / "shared/mine.py").write_text(TOOL)
    (repo / ".quintet").mkdir()
    (repo / ".quintet/tools").symlink_to("../shared")
    trust_now(repo)
    places = locate(str(repo))
    assert list(user_tools.load(places, trust_of(places.trust_file, places.root)).specs) == ["mine"]


def test_a_file_cannot_pass_for_a_link_that_is_not_loaded(repo: Path) -> None:
    trust_now(repo)
    (repo / ".quintet/agents").mkdir(parents=True)
    (repo / ".quintet/agents/a.md").write_text("link to /elsewhere, not loaded")
    question = trust_question(locate(str(repo)))
    assert question and ".quintet/agents/a.md  new" in question.text


def test_a_hook_whose_script_is_a_link_out_of_the_project_does_not_run(repo: Path, outside: Path) -> None:
    (repo / ".quintet").mkdir()
    (repo / ".quintet/settings.toml").write_text('[hooks]\nsession_start = ["sh ./start.sh"]\n')
    script = outside / "start.sh"
    script.write_text("echo hi")
    (repo / "start.sh").symlink_to(script)
    trust_now(repo)
    assert "link out of the project" in config.load(locate(str(repo))).hook_problem("sh ./start.sh")
