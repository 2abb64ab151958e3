"""No link that a repository or a call has made opens anything outside, whatever it is called and wherever it leads."""

import os
from pathlib import Path

import pytest

from tests.attacks.running import Attacker, bash, call
from tests.attacks.world import World, put

STEAL = """
import os, sys
read = ("~/.ssh/id_rsa", "~/.config/gh/hosts.yml", "~/.aws/credentials", "~/notes.txt")
for place in (*read, *sys.argv[1:]):
    try:
        print(place, open(os.path.expanduser(place), errors="replace").read())
    except OSError as error:
        print(error)
for place in ("~/.config", "~/.ssh", "~/.aws", "~"):
    try:
        open(os.path.expanduser(place + "/pwned"), "w").write("x")
    except OSError as error:
        print(error)
"""
STEALS = "python3 steal.py"
KINDS = pytest.mark.parametrize(
    ("sandbox", "user_name"),
    [("bwrap", "root"), ("bwrap", "user"), ("partial", "user"), ("none", "user")],
    indirect=True,
)
BWRAP = pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root")], indirect=True)

LINKS = {  # by what they are: the links of a project, each with where it leads from there
    "as found": {"x/.git": "../../home/.ssh", ".quintet": "../home/.config"},
    "below": {"x/y/.git": "../../../home", "specs": "../home/.aws"},
    "absolute": {"x/.git": "{home}/.ssh", "specs": "{home}/.config", "reports": "{home}/.aws"},
    "the home itself": {"x/.git": "{home}", ".quintet": "{home}", "specs": "{home}", "reports": "{home}"},
    "through proc": {"x/.git": "/proc/self/root{home}/.ssh", "specs": "/proc/1/root{home}/.config"},
    "a chain": {"one": "two", "two": "{home}/.config", ".quintet": "one", "specs": "two", "x/.git": "../one"},
    "a part of the way": {"out": "{home}", "x/.git": "../out/.ssh", ".quintet": "out/.config", "specs": "out/.aws"},
    "the folder above": {"specs": "..", "reports": "../home", "x/.git": "../.."},
    "the root": {"specs": "/", "x/.git": "/", "reports": "/etc"},
    "below quintet's own": {".quintet/tools": "{home}/.ssh", ".quintet/agents": "{home}/.config"},
    "below git's own": {".git/modules/m": "{home}/.ssh", ".git/hooks": "{home}/.config", ".git/info": "{home}/.aws"},
}
MAKE = """
import os, sys
home = os.path.expanduser("~")
for name in (".ssh", ".config", ".aws"):
    os.makedirs(os.path.join(home, name), exist_ok=True)
for path, target in LINKS.items():
    try:
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(path) and not os.path.islink(path):
            os.rename(path, path + ".was")
        os.symlink(target.format(home=home), path)
    except OSError as error:
        print(error)
"""


def plant(world: World, links: dict[str, str]) -> None:
    for path, target in links.items():
        place = world.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir() and not place.is_symlink():
            place.rename(place.with_name(f"{place.name}.was"))
        place.symlink_to(target.format(home=world.home))


@KINDS
@pytest.mark.parametrize("repository", [True, False], ids=["repository", "folder"])
def test_links_made_by_a_call_open_nothing_to_the_next(world: World, attacker: Attacker, repository: bool) -> None:
    put(world.project / "make.py", f"LINKS = {LINKS['as found']!r}\n{MAKE}")
    put(world.project / "steal.py", STEAL)
    if repository:
        world.make_repository()
    outcome = attacker.session(bash("python3 make.py"), bash(STEALS))
    assert world.untouched(outcome.said) == [], outcome.texts


@BWRAP
@pytest.mark.parametrize("kind", list(LINKS)[1:])
def test_no_kind_of_link_opens_anything(world: World, attacker: Attacker, kind: str) -> None:
    put(world.project / "make.py", f"LINKS = {LINKS[kind]!r}\n{MAKE}")
    put(world.project / "steal.py", STEAL)
    world.make_repository()
    outcome = attacker.session(
        bash("python3 make.py"), bash(STEALS), bash(f"git add -A; {STEALS}"), bash(f"make; {STEALS}"), profile="trusted"
    )
    assert world.untouched(outcome.said) == [], outcome.texts


@pytest.mark.parametrize(
    ("sandbox", "user_name", "work_mode", "name"),
    [
        ("bwrap", "root", "plan", "specs"),
        ("bwrap", "user", "build", ".quintet"),
        ("bwrap", "user", "review", "reports"),
        ("partial", "user", "plan", "specs"),
        ("none", "user", "plan", "specs"),
        ("none", "root", "build", ".quintet"),
    ],
    indirect=["sandbox", "user_name"],
)
def test_a_link_that_came_with_the_repository_opens_nothing(
    world: World, attacker: Attacker, name: str, work_mode: str
) -> None:
    put(world.project / "mk.py", "import os; os.makedirs(os.path.expanduser('~/.config/autostart'), exist_ok=True)\n")
    put(world.project / "steal.py", STEAL)
    plant(world, {name: "../home/.config"})
    world.make_repository()
    outcome = attacker.session(
        bash("python3 mk.py"),
        bash(f"echo canary > {name}/autostart/plan-pwned"),
        bash(f"cat {name}/gh/hosts.yml"),
        bash(f"{STEALS} {name}/gh/hosts.yml"),
        call("Write", file_path=f"{name}/autostart/written", content="x"),
        call("Read", file_path=f"{name}/gh/hosts.yml"),
        work_mode=work_mode,
    )
    assert world.untouched(outcome.said) == [], outcome.texts


@BWRAP
def test_a_project_below_the_home_is_no_way_into_it(attacker: Attacker) -> None:
    world = World(inside_home=True)
    try:
        put(world.project / "make.py", f"LINKS = {LINKS['absolute']!r}\n{MAKE}")
        put(world.project / "steal.py", STEAL)
        world.make_repository()
        inside = Attacker(world, attacker.hatchery, "bwrap")
        outcome = inside.session(bash("python3 make.py"), bash(STEALS), profile="trusted")
        assert world.untouched(outcome.said) == [], outcome.texts
    finally:
        world.close()


@BWRAP
def test_a_shell_in_the_background_that_changes_links_finds_no_moment(world: World, attacker: Attacker) -> None:
    put(
        world.project / "race.py",
        """
import os, time
home = os.path.expanduser("~")
for name in (".ssh", ".config"):
    os.makedirs(os.path.join(home, name), exist_ok=True)
os.makedirs("x", exist_ok=True)
until = time.monotonic() + 20
while time.monotonic() < until and not os.path.exists("stop"):
    for path, target in (("x/.git", home + "/.ssh"), ("specs", home + "/.config"), ("reports", home + "/.config")):
        try:
            os.mkdir(path)
            os.rename(path, path + ".old")
            os.symlink(target, path)
            os.unlink(path)
            os.rmdir(path + ".old")
        except OSError:
            pass
""",
    )
    put(world.project / "steal.py", STEAL)
    world.make_repository()
    steal = [bash(STEALS) for _ in range(8)]
    outcome = attacker.session(bash("python3 race.py", run_in_background=True), *steal, bash("touch stop"))
    assert world.untouched(outcome.said) == [], outcome.texts
    assert outcome.leftovers == []


@BWRAP
@pytest.mark.parametrize("place", [".ssh", ""])
def test_what_one_session_left_in_its_own_home_serves_no_later_one(
    world: World, attacker: Attacker, place: str
) -> None:
    target = os.path.join("~", place)
    left = f"import os; os.makedirs(os.path.expanduser({target!r}), exist_ok=True)\n"
    put(world.project / "leave.py", left)
    put(world.project / "link.py", f"import os; os.symlink(os.path.expanduser({target!r}), 'specs')\n")
    put(world.project / "steal.py", STEAL)
    world.make_repository()
    outcome = attacker.session(bash("python3 leave.py"), bash("python3 link.py"))
    again = attacker.session(bash("python3 leave.py"), bash(f"{STEALS} specs/id_rsa specs/.ssh/id_rsa"))
    assert world.untouched(outcome.said, again.said) == [], outcome.texts + again.texts


def test_the_links_of_this_file_lead_out(world: World) -> None:
    """Otherwise none of these tests shows anything."""
    plant(world, LINKS["as found"])
    assert Path(world.project, ".quintet/gh/hosts.yml").exists()
