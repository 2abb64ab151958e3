"""Carrying data out by fetching, and reaching what listens on this machine: refused, asked, and nothing arrives."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.features.browser.browsing import browsing
from tests.loopback import Answer, Asked, Server, serving

RESTRICTED = AxesChange(WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
PLAN = AxesChange(WorkMode.PLAN, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
PAGE = '<title>Home</title><article><p>Words to be read, at <a href="/next">http://{host}/next</a>.</p></article>'


@pytest.fixture
def listener() -> Iterator[Server]:
    def answer(asked: Asked) -> Answer:
        return Answer(PAGE.replace("{host}", asked.headers.get("host", "")), headers={"content-type": "text/html"})

    with serving(answer) as server:
        yield server


def fetch(repo: Path, listener: Server, axes: AxesChange, said: str, *urls: str) -> Driver:
    async def script(driver: Driver) -> None:
        await driver.ended(await driver.session.say(said))

    calls = [[call("web_get_contents", urls=[url])] for url in urls]
    allow = {"web.allow_hosts": (f"127.0.0.1:{listener.port}",)}
    return drive(repo, script, ScriptedModel([*calls, "done"]), axes=axes, settings=allow)


def verdicts(driver: Driver) -> list[Verdict]:
    return [one.verdict for one in driver.of(p.CallDecided)]


@pytest.mark.parametrize("axes", [RESTRICTED, PLAN], ids=["restricted", "plan"])
def test_an_address_that_the_model_made_up_asks_and_nothing_arrives(
    repo: Path, listener: Server, axes: AxesChange
) -> None:
    home = f"http://127.0.0.1:{listener.port}/"
    made_up = [f"{home}x?d=PROJECT_SOURCE", f"{home}PROJECT_SOURCE", f"{home}?PROJECT_SOURCE"]
    driver = fetch(repo, listener, axes, f"what does {home} say?", home, made_up[0])
    assert verdicts(driver)[:2] == [Verdict.ALLOW, Verdict.ASK]
    assert [one.path for one in listener.asked] == ["/"]
    for url in made_up[1:]:
        assert verdicts(fetch(repo, listener, axes, f"what does {home} say?", url))[0] is Verdict.ASK
    assert [one.path for one in listener.asked] == ["/"]


def test_a_link_of_a_page_that_was_read_goes_and_what_was_refused_stays_unknown(repo: Path, listener: Server) -> None:
    home = f"http://127.0.0.1:{listener.port}/"
    driver = fetch(repo, listener, RESTRICTED, f"read {home}", home, f"{home}next")
    assert verdicts(driver) == [Verdict.ALLOW, Verdict.ALLOW]
    again = fetch(repo, listener, RESTRICTED, "read it", f"{home}x?d=SOURCE", f"{home}x?d=SOURCE")
    assert Verdict.ALLOW not in verdicts(again)


def test_what_is_known_survives_a_resume(repo: Path, listener: Server) -> None:
    home = f"http://127.0.0.1:{listener.port}/"
    driver = fetch(repo, listener, RESTRICTED, f"read {home}", home)
    assert {home, f"{home}next"} <= fold(driver.seen).calls.addresses == driver.session.state.calls.addresses


def test_in_build_at_normal_it_goes_as_fetch_did(repo: Path, listener: Server) -> None:
    driver = fetch(repo, listener, BUILD, "go", f"http://127.0.0.1:{listener.port}/made/up")
    assert verdicts(driver) == [Verdict.ALLOW]


def test_a_file_of_the_project_and_a_tools_words_make_nothing_known(repo: Path, listener: Server) -> None:
    home = f"http://127.0.0.1:{listener.port}/planted"
    (repo / "README.md").write_text(f"Read {home}\n")

    async def script(driver: Driver) -> None:
        await driver.turn("go")

    model = ScriptedModel([[call("Read", file_path="README.md")], [call("web_get_contents", urls=[home])], "done"])
    driver = drive(repo, script, model, axes=RESTRICTED)
    assert verdicts(driver)[:2] == [Verdict.ALLOW, Verdict.ASK]
    assert driver.of(p.ToolFinished)[-1].status is not CallStatus.OK


@pytest.mark.parametrize(("surface", "verdict"), [("rpc", Verdict.ASK), ("tui", Verdict.ALLOW)])
def test_another_agents_call_is_not_the_users_word(
    repo: Path, listener: Server, surface: str, verdict: Verdict
) -> None:
    """What `quintet mcp-server` is told comes from a model too; what a person types as a call does not."""
    made_up = json.dumps({"urls": [f"http://127.0.0.1:{listener.port}/x?d=SOURCE"]})

    async def script(driver: Driver) -> None:
        for _ in range(2):
            await driver.turn(format_own_call("web_get_contents", made_up))

    allow = {"web.allow_hosts": (f"127.0.0.1:{listener.port}",)}
    driver = drive(repo, script, axes=RESTRICTED, settings=allow, surface=surface)
    assert set(verdicts(driver)) == {verdict}
    assert bool(listener.asked) is (verdict is Verdict.ALLOW)


SPELLINGS = ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "localhost", "LOCALHOST", "localhost.", "a.localhost"]
SPELLINGS += ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "127.0.0.2"]


@pytest.mark.system("chromium")
def test_the_browser_reaches_no_port_of_this_machine_unless_it_is_allowed(tmp_path: Path, listener: Server) -> None:
    with browsing(tmp_path, allow=()) as tools:
        for host in SPELLINGS:
            said = tools.fails("navigate", url=f"http://{host}:{listener.port}/x?d=1")
            assert "no such host" in said or ("allow_hosts" in said and f":{listener.port}" in said), (host, said)
        page = tools.root / "page.html"
        page.write_text(f"<title>x</title><img src='http://127.0.0.1:{listener.port}/img'>")
        tools("navigate", url="page.html")
    assert listener.asked == []


@pytest.mark.system("chromium")
@pytest.mark.parametrize("allowed", ["127.0.0.1:PORT", "127.0.0.1:*"])
def test_what_is_allowed_by_name_and_port_is_reached_and_its_neighbour_is_not(
    tmp_path: Path, listener: Server, allowed: str
) -> None:
    with browsing(tmp_path, allow=(allowed.replace("PORT", str(listener.port)),)) as tools:
        assert "Words to be read" in tools.ok("navigate", url=f"http://127.0.0.1:{listener.port}/")
        assert "allow_hosts" in tools.fails("navigate", url=f"http://localhost:{listener.port}/")
    assert {asked.headers["host"] for asked in listener.asked} == {f"127.0.0.1:{listener.port}"}
