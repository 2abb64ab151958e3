"""The harness itself: a quiet session touches nothing, and each kind of touch is named."""

import socket
import urllib.request

import pytest

from tests.attacks.running import Attacker, bash, call
from tests.attacks.world import World, put


def test_a_quiet_session_touches_nothing(world: World, attacker: Attacker) -> None:
    world.make_repository()
    outcome = attacker.session(call("Read", file_path="a.txt"), bash("ls"), call("Write", file_path="b", content="b"))
    assert [one.tool for one in outcome.calls] == ["Read", "bash", "Write"], outcome
    assert outcome.calls[0].verdict == "allow" and outcome.calls[0].status == "ok", outcome.texts
    assert outcome.code == 0, outcome
    assert world.untouched(outcome.said) == [] and outcome.leftovers == []


@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
@pytest.mark.parametrize("user_name", ["root"], indirect=True)
@pytest.mark.parametrize("surface", ["tui", "plain", "headless", "doctor", "tasks list", "status --json"])
def test_a_quiet_folder_is_opened_on_each_surface(world: World, attacker: Attacker, surface: str) -> None:
    world.make_repository()
    outcome = attacker.opens(surface)
    assert "Traceback" not in outcome.said, outcome.said
    assert world.untouched(outcome.said) == [] and outcome.leftovers == []


def test_each_kind_of_touch_is_named(world: World) -> None:
    world.watch()
    assert world.untouched("quiet") == []
    put(world.home / ".config/autostart/new", "")
    put(world.host / "ran", "")
    put(world.project / "stolen", (world.home / ".ssh/id_rsa").read_bytes())
    urllib.request.urlopen(world.doors.url).read()
    for name in (str(world.doors.path), f"\0{world.doors.abstract}"):
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.connect(name)
            visitor.send(b"hello")
            visitor.recv(1)
    found = "\n".join(world.untouched((world.home / ".aws/credentials").read_text()))
    for wanted in (
        "touched home/.config/autostart/new",
        "ran on the host: ran",
        "read ~/.ssh/id_rsa, seen in project/stolen",
        "read ~/.aws/credentials, seen in what came out",
        "reached 127.0.0.1",
        "reached unix socket",
        "reached abstract socket",
    ):
        assert wanted in found, found
