"""No mount follows a link that a command, or a repository, could have made; neither where from nor where to."""

import asyncio
import os
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.attacks.running import Attacker, bash
from tests.attacks.world import World, put
from tests.tools.calling import Caller

EXECUTE, COMMIT = Effect.EXECUTE, Effect.COMMIT
KEY, CONFIG = "the-real-key", "the-real-config"
WALLED = pytest.mark.parametrize("sandbox", ["bwrap", "partial"], indirect=True)


@WALLED
def test_links_named_like_what_is_mounted_lead_nowhere(world: World, attacker: Attacker) -> None:
    """One call makes the folders in its home that the mounts of the next would land on."""
    world.make_repository()
    home = world.home
    put(
        world.project / "one.py",
        f"import os\nhome = {str(home)!r}\n"
        "for name in ('.ssh', '.config/gh', '.aws'):\n    os.makedirs(f'{home}/{name}', exist_ok=True)\n"
        "for name in ('x', 'y'):\n    os.makedirs(name, exist_ok=True)\n"
        "os.symlink('../../home/.ssh', 'x/.git')\nos.symlink('../../home/.aws', 'y/.quintet')\n"
        "os.symlink('../home/.config', '.quintet')\n",
    )
    put(
        world.project / "two.py",
        "import os, pathlib\n"
        "for place in ('.ssh', '.config', '.aws'):\n"
        f"    base = pathlib.Path({str(home)!r}, place)\n"
        "    for path in base.rglob('*'):\n"
        "        if path.is_file(): print(path.read_text())\n"
        "    try:\n        (base / 'planted').write_text('x')\n    except OSError as error:\n        print(error)\n",
    )
    outcome = attacker.session(bash("python3 one.py"), bash("python3 two.py"), bash("cat x/.git/id_rsa"))
    assert world.untouched(outcome.said) == [], outcome.texts


@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
@pytest.mark.parametrize("name", [".envrc", "x/.git", ".quintet", ".mcp.json"])
def test_beside_a_link_that_may_not_be_read_nothing_planted_stays(world: World, attacker: Attacker, name: str) -> None:
    """To follow such a link raises, even for root in the user namespace of a test; then nothing was looked over."""
    world.make_repository()
    put(
        world.project / "plant.py",
        "import os\nos.makedirs('x', exist_ok=True)\n"
        f"os.symlink('/proc/1/root/root', {name!r})\n"
        "os.makedirs('sub/.git/objects')\nos.makedirs('sub/.git/refs')\n"
        "open('sub/.git/HEAD', 'w').write('ref: refs/heads/main\\n')\n"
        f"open('sub/.git/config', 'w').write('[core]\\n\\tfsmonitor = {world.program('planted')}; false\\n')\n",
    )
    outcome = attacker.session(bash("python3 plant.py"), bash("ls"), profile="trusted")
    assert not os.path.lexists(world.project / "sub/.git"), outcome.texts
    assert "sub/.git" in outcome.texts and world.untouched(outcome.said) == [], outcome.texts


@WALLED
@pytest.mark.parametrize("name", ["specs", "reports"])
def test_a_folder_to_write_in_plan_mode_that_is_a_link_is_not_written(
    world: World, attacker: Attacker, name: str
) -> None:
    world.make_repository()
    (world.project / name).symlink_to("../home/.config")
    put(world.project / "mk.py", f"import os\nos.makedirs({str(world.home / '.config/autostart')!r}, exist_ok=True)\n")
    outcome = attacker.session(
        bash("python3 mk.py"),
        bash(f"echo x > {name}/autostart/planted"),
        bash(f"mkdir -p {name}/new; cp a.txt {name}/new/"),
        work_mode="plan",
    )
    assert world.untouched(outcome.said) == [], outcome.texts


# ── by a grant made by hand: what the walls do, whatever the gate thought


class Ground:
    def __init__(self, tmp_path: Path, repo: Path, kind: Sandbox) -> None:
        self.root, self.home = repo, Path(os.environ["HOME"])
        put(self.home / ".ssh/id_rsa", KEY)
        put(self.home / ".config/app.toml", CONFIG)
        self._containment = Caller(repo, kind).containment

    def __call__(self, line: str, *effects: Effect, roots: tuple[str, ...] | None = None) -> Finished:
        grant = Grant(effects or (EXECUTE,), (str(self.root),) if roots is None else roots)
        processes = LocalProcesses(self._containment)
        return asyncio.run(processes.run(("bash", "-c", line), cwd=str(self.root), grant=grant, timeout=30))

    def safe(self, done: Finished) -> None:
        assert KEY not in done.output and CONFIG not in done.output
        assert sorted(path.name for path in self.home.rglob("*") if path.is_file()) == ["app.toml", "id_rsa"]


@pytest.fixture(params=[pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap")), Sandbox.PARTIAL])
def ground(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Ground:
    return Ground(tmp_path, repo, request.param)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("x/.git", "../../home/.ssh"),
        ("x/.git", "{home}/.ssh"),
        (".quintet", "../home/.config"),
        ("x/y/.git", "../../../home/.ssh"),
        ("link/.git", ""),
        (".mcp.json", "../home/.ssh/id_rsa"),
        (".claude", "../home/.ssh"),
        (".vscode", "../home/.config"),
        ("x/.env", "../../home/.ssh/id_rsa"),
        (".git/modules/m", "../../../home/.ssh"),
        (".git/worktrees/w", "../../../home/.ssh"),
        (".git/config.worktree", "../../home/.ssh/id_rsa"),
    ],
)
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)], ids=["execute", "commit"])
def test_a_link_is_never_bound_through(ground: Ground, name: str, target: str, effects: tuple[Effect, ...]) -> None:
    link = ground.root / name
    if name.startswith("link/"):
        (ground.root / "link").symlink_to("../home")
        put(ground.home / ".git/config", "[core]\n")
    else:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target.format(home=ground.home))
    ground(f"mkdir -p {ground.home}/.ssh {ground.home}/.config; touch {ground.home}/.ssh/id_rsa", *effects)
    done = ground(
        f"cat {ground.home}/.ssh/* {ground.home}/.config/* {name}/* {name}; echo x > {name}/planted", *effects
    )
    if name.startswith("link/"):
        (ground.home / ".git/config").unlink()
    ground.safe(done)


def test_a_write_root_that_is_a_link_is_said_not_to_be_writable(ground: Ground) -> None:
    (ground.root / "specs").symlink_to("../home/.config")
    (ground.root / "reports").mkdir()
    roots = tuple(str(ground.root / name) for name in ("specs", "reports"))
    done = ground(f"mkdir -p {ground.home}/.config; echo x > specs/planted; echo x > reports/written", roots=roots)
    ground.safe(done)
    assert (ground.root / "reports/written").exists()
    assert any("specs is a link, or leads through one" in note for note in done.notes)


@pytest.mark.parametrize("way", ["{root}/sub/specs", "{root}/a/../specs"])
def test_a_write_root_behind_a_link_is_not_writable(ground: Ground, way: str) -> None:
    (ground.root / "sub").symlink_to("../home/.config")
    (ground.root / "specs").symlink_to("../home/.config")
    (ground.home / ".config/specs").mkdir()
    ground.safe(ground("echo x > sub/specs/planted; echo x > specs/planted", roots=(way.format(root=ground.root),)))


@pytest.mark.parametrize("folder", ["home", "tmp"])
def test_what_one_command_leaves_is_not_where_the_next_ones_mounts_land(
    ground: Ground, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder on the way to a mount becomes a link, so that the mount would land elsewhere, or make it there."""
    tool = ground.home / "bin" if folder == "home" else tmp_path / "tools"
    put(tool / "tool", "#!/bin/sh\necho a tool\n", executable=True)
    monkeypatch.setenv("PATH", f"{tool}:{os.environ['PATH']}")
    top = Path("/", *tmp_path.parts[1:3])
    for place in (ground.home, tool.parent, top, ground.home / ".cache", ground.home / ".local"):
        ground(f"rmdir {place}; mv {place} {place}.old; ln -s /oldroot{tmp_path} {place}; ln -s ../oldroot {place}")
    done = ground("cat a; ls")
    assert not (tmp_path / "tools/planted").exists()
    assert "tally" in done.output
    assert [path for path in tmp_path.iterdir() if path.is_symlink()] == []


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("swapped", ["folder", "leaf"])
def test_a_folder_swapped_for_a_link_while_the_walls_go_up_reaches_nothing(
    tmp_path: Path, repo: Path, swapped: str
) -> None:
    """A command in the background flips what the mounts of the next ones stand on, and rests as long as a look takes:
    one that never does keeps every other from starting."""
    ground = Ground(tmp_path, repo, Sandbox.BWRAP)
    put(repo / "x/.git/config", "[core]\n")
    put(repo / "x/.env", "TOKEN=hidden-word")
    decoy = put(repo / "decoy/.git/config", "[core]\n")
    put(decoy.parent.parent / ".env", "nothing")
    flip = {
        "folder": "mv x real; ln -s $way x; rm x; mv real x",
        "leaf": "ln -s $way/new .env 2>/dev/null; rm -f .env; echo a=b > .env; rm -f .env",
    }[swapped]
    outside = tmp_path / "outside"
    outside.mkdir()
    ways = ("decoy", str(outside), f"/oldroot{outside}", "../../../../../../oldroot" + str(outside))
    rest = "read -t 0.0$((RANDOM % 7)) <> <(:)"
    looping = f"while :; do for way in {' '.join(ways)}; do {flip}; {rest}; done; done 2>/dev/null"

    async def race() -> list[str]:
        processes = LocalProcesses(Caller(repo, Sandbox.BWRAP).containment)
        containment = ground._containment
        grant = Grant((EXECUTE,), (str(repo),))
        racer = asyncio.create_task(processes.run(("bash", "-c", looping), cwd=str(repo), grant=grant, timeout=60))
        said = []
        try:
            for _ in range(15):
                one = LocalProcesses(containment)
                line = "cat x/.env real/.env .env; echo evil >> x/.git/config; echo evil >> real/.git/config"
                try:
                    done = await one.run(("bash", "-c", line), cwd=str(repo), grant=grant, timeout=30)
                    said.append(done.output)
                except ToolFailed as failed:
                    said.append(str(failed))
        finally:
            racer.cancel()
            await asyncio.gather(racer, return_exceptions=True)
            await processes.close()
        return said

    said = asyncio.run(race())
    assert not any("hidden-word" in text for text in said)
    configs = list(repo.rglob("x/.git/config")) + list(repo.rglob("real/.git/config"))
    assert not any("evil" in path.read_text() for path in configs if not path.parent.parent.is_symlink())
    assert os.listdir(outside) == []


@pytest.mark.system("bwrap")
def test_no_descriptor_of_the_host_is_left_open_inside(tmp_path: Path, repo: Path) -> None:
    """A folder's descriptor from outside would be a way out, whatever is mounted."""
    put(repo / "x/.git/config", "[core]\n")
    put(repo / ".env", "a=b")
    ground = Ground(tmp_path, repo, Sandbox.BWRAP)
    done = ground(
        "ls -l /proc/self/fd | grep -v -e pipe: -e /dev/null -e /proc/ -e total; ls /run; mount | grep -c /run/quintet"
    )
    assert done.output == "0\n"


@pytest.mark.system("bwrap")
def test_as_another_user_the_walls_are_the_same(tmp_path: Path, repo: Path) -> None:
    """Every right that laying takes is gone before the command runs."""
    ground = Ground(tmp_path, repo, Sandbox.BWRAP)
    status = ground("cat /proc/self/status").output
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
