"""One session, watched and steered from another clone with a home of its own; and owners on other machines."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.stores.chosen import ROOT, open_store, plain_address
from quintet.app.known_projects import known_projects
from quintet.domain.journal.store_rows import SessionRow
from quintet.engine.session.leases import owner_lives
from tests.features.postgres.machines import ApartMachine, Machine, until
from tests.postgres import Server
from tests.surfaces.program import SECONDS

TRUSTED = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")


def _ended(child: subprocess.Popen[str]) -> int:
    _, err = child.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return child.returncode


def test_a_session_is_watched_and_steered_from_another_clone_and_home(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    one.run("-p", "! true", *TRUSTED).clean(0)
    (listed,) = two.sessions()
    session = str(listed["session"])
    owner = one.start("-p", "! echo one >> ran; until [ -e go ]; do sleep 0.05; done", "--resume", session)
    until((one.root / "ran").exists, owner)
    assert two.sessions()[0]["live"]
    assert two.run("status", "--json").clean(0).json()["session"] == session
    assert two.run("-p", "/model-mode fast", "--resume", session).clean(0)
    other = two.start("-p", "! echo two >> ran", "--resume", session)
    until(lambda: len(two.events("input_received", session)) == 3, other)
    assert two.run("sessions", "purge", session, "--yes").code == 2, "it is open"
    (one.root / "go").touch()
    assert (_ended(owner), _ended(other)) == (0, 0)
    assert (one.root / "ran").read_text().split() == ["one", "two"], "it ran where its owner is"
    assert not (two.root / "ran").exists()
    turned = two.events("dials_turned", session)
    assert [event["after"]["model_mode"] for event in turned][-1] == "fast"
    assert one.journal(session) == two.journal(session)

    two.run("-p", "! echo three >> ran", "--resume", session).clean(0)
    assert (two.root / "ran").read_text().split() == ["three"], "the owner was gone, so this one took over"
    assert [event["status"] for event in one.events("turn_finished", session)] == ["done"] * 4
    (hit,) = one.run("sessions", "search", "three", "--json").clean(0).json()[:1]
    assert hit["session"] == session
    assert one.run("database", "status", "--json").clean(0).json()["projects"][0]["sessions"] == 1
    assert one.run("doctor", "--json").code in (0, 1)
    assert one.run("sessions", "purge", session, "--yes").clean(0)
    assert two.sessions() == []


@pytest.mark.system("unshare", "nsenter")
def test_machines_that_share_no_network_process_or_name_share_a_session_and_one_goes_on_when_the_other_is_lost(
    apart: tuple[ApartMachine, ApartMachine], postgres: Server, database: str
) -> None:
    one, two = apart
    one.run("-p", "! true", *TRUSTED).clean(0)
    (listed,) = two.sessions()
    session = str(listed["session"])
    owner = one.start("-p", "! echo one >> ran; until [ -e go ]; do sleep 0.05; done", "--resume", session)
    until((one.root / "ran").exists, owner)
    assert two.sessions()[0]["live"]
    name = database.partition("@/")[2].partition("?")[0]
    assert postgres.execute("SELECT machine FROM sessions", name) == [("machine-one",)]
    assert two.run("-p", "/model-mode fast", "--resume", session).clean(0)
    other = two.start("-p", "! echo two >> ran", "--resume", session)
    until(lambda: len(two.events("input_received", session)) == 3, other)
    (one.root / "go").touch()
    assert (_ended(owner), _ended(other)) == (0, 0)
    assert (one.root / "ran").read_text().split() == ["one", "two"], "it ran where its owner is"
    assert two.events("dials_turned", session)[-1]["after"]["model_mode"] == "fast"

    lost = one.start("-p", "! echo three >> ran; sleep 600", "--resume", session)
    until(lambda: (one.root / "ran").read_text().endswith("three\n"), lost)
    one.switch_off()
    taken = two.run("-p", "! echo four >> ran", "--resume", session).clean(0)
    assert (two.root / "ran").read_text().split() == ["four"], taken
    assert (one.root / "ran").read_text().split() == ["one", "two", "three"], "what had begun is not run again"


def test_a_project_in_a_shared_database_is_known_here_whatever_a_crash_left(
    repo: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUINTET_DATABASE", database)
    places = locate(str(repo))
    for _ in range(2):
        asyncio.run(open_store(places).close())
        assert [one.root for one in known_projects()] == [places.root]
        Path(places.state, ROOT).write_text("")


def test_tasks_are_one_list_for_every_clone(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    page = one.root / "page.md"
    page.write_text("---\nid: task-1\ntitle: Do it\n---\nAll of it.\n")
    one.run("tasks", "add", "page.md").clean(0)
    assert [task["id"] for task in one.run("tasks", "list", "--json").clean(0).json()] == ["task-1"]
    (other,) = two.run("tasks", "list", "--json").clean(0).json()
    assert (other["id"], other["status"]) == ("task-1", "todo")


NOW = "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("machine", "left", "lives"), [("build-7", 5.0, True), ("build-7", -5.0, False), ("", 5.0, False)]
)
def test_an_owner_on_another_machine_lives_as_long_as_its_heartbeat(machine: str, left: float, lives: bool) -> None:
    """Its process cannot be looked at; without a machine it is this one, started anew."""
    now = SystemClock().uptime()
    row = SessionRow("s", NOW, NOW, "", 0, "", b"{}", "o", 1, "other-boot/4026531836/77", now + left, 1, machine)
    assert owner_lives(row, now, process_identity) is lives
    here = structs.replace(row, owner_started=process_identity(1) or "x/y/z", owner_pid=1)
    assert owner_lives(here, now, lambda pid: here.owner_started), "a process that can be looked at decides by itself"


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("git@github.com:Team/app.git", "github.com/Team/app"),
        ("https://ada:key@GitHub.com/Team/app", "github.com/Team/app"),
        ("ssh://git@github.com/Team/app.git/", "github.com/Team/app"),
        ("ssh://git@host:2222/app.git", "host:2222/app"),
        ("/srv/git/app.git", "/srv/git/app"),
        ("file:///srv/git/app", "/srv/git/app"),
        ("../app", "../app"),
        ("", ""),
    ],
)
def test_every_way_to_clone_a_project_gives_it_one_name(address: str, plain: str) -> None:
    assert plain_address(address) == plain
