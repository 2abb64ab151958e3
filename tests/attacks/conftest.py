"""The world that attacks are made in, and who makes them.

`world` is a home with secrets, other repositories, doors and a project (`world.project`, no repository until
`world.make_repository()`); plant with `put(path, text)`. `attacker` runs the real program in it, once for each sandbox
(bwrap, partial, none) and user (root, user); ask for fewer with `@pytest.mark.parametrize("sandbox", ["bwrap"],
indirect=True)`, and the same for `user_name`:

    outcome = attacker.session(bash("python3 one.py"), call("Write", file_path="x", content="y"), profile="trusted")
    assert world.untouched(outcome.said) == [], outcome.texts
    assert attacker.opens("tui").leftovers == []

Nobody is attached: what asks is refused. `world.program("name")` is a command that shows that it ran on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.adapters.sandbox import confine, probe
from tests.attacks.hatchery import Hatchery, hatchery, me, share, somebody
from tests.attacks.running import Attacker
from tests.attacks.world import World

MANY = 200  # tests of this room; a run of a few does not need all users' hatcheries


def pytest_collection_finish(session: pytest.Session) -> None:
    ours = [item for item in session.items if item.path.parent == Path(__file__).parent]
    if getattr(session.config.option, "workers", 0) and not session.config.option.collectonly and len(ours) > MANY:
        share()


@pytest.fixture(params=["bwrap", "partial", "none"])
def sandbox(request: pytest.FixtureRequest) -> str:
    """The kind of sandbox that is set."""
    kind: str = request.param
    if kind == "bwrap" and (why := probe.bubblewrap_problem()):
        pytest.skip(f"needs bwrap: {why}")
    if kind == "partial" and not (confine.landlock_version() and confine.network_can_be_blocked()):
        pytest.skip("needs Landlock")
    return kind


@pytest.fixture(params=["root", "user"])
def user_name(request: pytest.FixtureRequest) -> str:
    """Whose rights the program has."""
    name: str = request.param
    if name == "root" and me().name != "root":
        pytest.skip("needs root")
    if name == "user" and isinstance(why := somebody(), str):
        pytest.skip(why)
    return name


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture
def runner(user_name: str) -> Hatchery:
    return hatchery(user_name)


@pytest.fixture
def attacker(world: World, runner: Hatchery, sandbox: str) -> Attacker:
    return Attacker(world, runner, sandbox)
