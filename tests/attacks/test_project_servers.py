"""A server that a project brought starts only with a yes of its own, and gets no secret of the user's by a name."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.mcp.values import McpServer
from quintet.features.mcp.wiring import make_mcp
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.trusted import trust_now

SECRET = "sk-FAKE-canary-1234567890"
RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)


def servers_file(root: Path, **servers: dict[str, Any]) -> None:
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def listed(root: Path) -> dict[str, McpServer]:
    places = locate(str(root))
    loaded = config.load(places)
    terms = make_terms(places, loaded.settings)
    pool = make_mcp(places, loaded, make_containment(places, loaded.settings, terms), redacted=_starred)
    return {server.name: server for server in pool.listed()[0]}


def _starred(text: str) -> str:
    return text.replace(SECRET, "*")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_API_TOKEN", SECRET)
    monkeypatch.setenv("HARMLESS_NAME", SECRET)  # by its value
    monkeypatch.setenv("STORE_URL", "postgres://me:hunter2@db/x")
    monkeypatch.setenv("REGION", "europe-west")


WAYS = {
    "env": {"command": "python3", "env": {"T": "${FAKE_API_TOKEN}"}},
    "arguments": {"command": "python3", "args": ["-c", "${FAKE_API_TOKEN}"]},
    "command": {"command": "${FAKE_API_TOKEN}"},
    "otherwise": {"command": "python3", "env": {"T": "${FAKE_API_TOKEN:-x}"}},
    "headers": {"url": "http://127.0.0.1:9/mcp", "headers": {"X-T": "${FAKE_API_TOKEN}"}},
    "address": {"url": "http://127.0.0.1:9/${FAKE_API_TOKEN}"},
    "by its value": {"command": "python3", "env": {"T": "${HARMLESS_NAME}"}},
    "in an address": {"command": "python3", "env": {"T": "${STORE_URL}"}},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_of_the_users_is_not_filled_into_a_projects_file(repo: Path, way: str) -> None:
    servers_file(repo, docs=WAYS[way])
    trust_now(repo)
    server = listed(repo)["docs"]
    assert "may be a secret" in server.problem
    assert SECRET not in repr(server) and "hunter2" not in repr(server)


def test_it_is_filled_in_for_the_server_that_the_users_own_settings_name(repo: Path) -> None:
    servers_file(repo, docs=WAYS["env"], other=WAYS["env"])
    trust_now(repo)
    user = Path(locate(str(repo)).user_settings)
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text('[mcp]\nvariables = ["docs: FAKE_API_TOKEN"]\n')
    found = listed(repo)
    assert found["docs"].env == {"T": SECRET}
    assert "may be a secret" in found["other"].problem


def test_a_projects_settings_cannot_name_it_nor_bring_a_server_that_gets_it(repo: Path) -> None:
    (repo / ".quintet").mkdir()
    (repo / ".quintet/settings.toml").write_text(
        '[mcp]\nvariables = ["docs: FAKE_API_TOKEN"]\n[secrets]\npatterns = []\n'
        '[mcp.servers.mine]\ncommand = "python3"\nenv = {T = "${FAKE_API_TOKEN}"}\n'
    )
    servers_file(repo, docs=WAYS["env"])
    trust_now(repo)
    found = listed(repo)
    assert "may be a secret" in found["docs"].problem
    assert "may be a secret" in found["mine"].problem
    assert "only your own settings may set this" in " ".join(config.load(locate(str(repo))).warnings)


def test_what_is_no_secret_is_filled_in(repo: Path) -> None:
    servers_file(repo, docs={"command": "python3", "env": {"R": "${REGION}", "D": "${NOT_SET:-d}"}})
    trust_now(repo)
    assert listed(repo)["docs"].env == {"R": "europe-west", "D": "d"}


def looked(root: Path, axes: AxesChange, **arguments: Any) -> list[tuple[CallStatus, str]]:
    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.until_type(p.TurnFinished)

    model = ScriptedModel([[call("mcp_tool", **{"server": "docs", **arguments})], "done"])
    driver = drive(root, script, model, axes=axes, person=False)
    return [(event.status, event.content) for event in driver.of(p.ToolFinished)]


def starting(canary: Path, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", f"open({str(canary)!r}, 'w')"], **more}


@pytest.mark.parametrize("look", [{"command": "list_tools"}, {"command": "read_resource", "resource_uri": "x:y"}])
@pytest.mark.parametrize("server", ["docs", ""])
def test_looking_at_a_projects_server_in_chat_at_restricted_starts_nothing(
    repo: Path, look: dict[str, Any], server: str
) -> None:
    """It is trusted; still, a look would run it."""
    canary = repo / "started"
    servers_file(repo, docs=starting(canary, network=True))
    trust_now(repo)
    ((status, said),) = looked(repo, RESTRICTED, **look, server=server)
    assert status is CallStatus.DENIED and "Nobody can approve" in said
    assert not canary.exists()


@pytest.mark.parametrize("entry", [{"url": "http://127.0.0.1:9/mcp"}, {"command": "true", "network": True}])
def test_one_with_a_network_asks_at_normal_too(repo: Path, entry: dict[str, Any]) -> None:
    servers_file(repo, docs=entry)
    trust_now(repo)
    ((status, said),) = looked(repo, BUILD, command="list_tools")
    assert status is CallStatus.DENIED and "Nobody can approve" in said


@pytest.mark.parametrize("how", ["new", "changed", "arguments", "env", "network"])
def test_a_server_that_came_or_changed_after_the_yes_is_not_started(repo: Path, how: str) -> None:
    canary = repo / "started"
    before = {"docs": {"command": "true"}} if how != "new" else {"other": {"command": "true"}}
    servers_file(repo, **before)
    trust_now(repo)
    changed = {
        "new": starting(canary),
        "changed": starting(canary),
        "arguments": {"command": "true", "args": ["x"]},
        "env": {"command": "true", "env": {"A": "b"}},
        "network": {"command": "true", "network": True},
    }
    servers_file(repo, **{**before, "docs": changed[how]})
    assert "new or changed since you trusted" in listed(repo)["docs"].problem
    ((status, said),) = looked(repo, BUILD, command="list_tools")
    assert status is CallStatus.ERROR and "new or changed" in said
    assert not canary.exists()
    if how == "new":
        assert listed(repo)["other"].problem == ""  # the rest stands


def test_the_same_entry_written_differently_is_the_same(repo: Path) -> None:
    servers_file(repo, docs={"command": "true", "args": ["é"], "env": {"A": "1", "B": "2"}})
    trust_now(repo)
    (repo / ".mcp.json").write_text(
        '{"x": 1, "mcpServers": {"docs": {"env": {"B": "2", "A": "1"}, "args": ["\\u00e9"], "command": "true"}}}'
    )
    assert listed(repo)["docs"].problem == ""


def test_a_server_that_is_named_twice_is_the_last_one_and_that_one_is_asked_about(repo: Path) -> None:
    servers_file(repo, docs={"command": "true"})
    trust_now(repo)
    (repo / ".mcp.json").write_text('{"mcpServers": {"docs": {"command": "true"}, "docs": {"command": "false"}}}')
    assert "new or changed" in listed(repo)["docs"].problem
