"""The ways to what is protected: folders above it, links to it, and depths where nobody looks."""

import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.protected.scan import DEEPEST
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import put

CANARY = "SECRET=canary-of-a-way"
bwrap = pytest.mark.system("bwrap")


@pytest.fixture
def inside(repo: Path) -> Inside:
    return Inside(repo, Sandbox.BWRAP)


def script(root: Path, text: str) -> str:
    put(root / "w.py", "import os\n" + text)
    return "python3 w.py"


# ── deeper than the kernel takes a path


DOWN = """
os.makedirs("deep", exist_ok=True)
here = os.open(".", os.O_RDONLY)
os.chdir("deep")
for _ in range(25):
    os.makedirs("d" * 200, exist_ok=True)
    os.chdir("d" * 200)
"""


@bwrap
def test_a_secret_moved_deeper_than_a_path_can_name_stays_covered(inside: Inside) -> None:
    put(inside.root / "conf/.env", CANARY)
    put(inside.root / "one.py", "import os\n" + DOWN + "os.rename('conf', 'x', src_dir_fd=here)\n")
    put(inside.root / "two.py", "import os\n" + DOWN + "print(open('x/.env').read())\n")
    inside("python3 one.py")
    done = inside("python3 two.py")
    assert CANARY not in done.output


@bwrap
def test_what_is_planted_deep_down_is_closed_to_the_next_command(inside: Inside) -> None:
    inside(script(inside.root, DOWN + "os.mkdir('.claude')\nopen('.claude/settings.json', 'w').close()\n"))
    done = inside(script(inside.root, DOWN + "print(os.listdir('.'))\n"))
    assert ".claude" not in done.output


def test_a_usual_path_is_not_too_deep() -> None:
    assert DEEPEST * 4 + 255 * 4 > 4096 > DEEPEST * 2


# ── folders above


@pytest.fixture
def dotfiles(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """A project that holds Quintet's own settings and state."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repo / "a/config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(repo / "b/state"))
    put(repo / "a/config/quintet/settings.toml", "")
    return Inside(repo, Sandbox.BWRAP)


@bwrap
@pytest.mark.parametrize("name", ["a", "a/config", "b", "b/state", "a/config/quintet", "b/state/quintet"])
def test_no_folder_above_quintets_own_is_renamed(dotfiles: Inside, name: str) -> None:
    root = dotfiles.root
    done = dotfiles(
        script(root, f"os.rename({name!r}, 'old')\nos.makedirs('a/config/quintet', exist_ok=True)\nprint('done')\n")
    )
    assert "done" not in done.output
    assert not (root / "old").exists()
    assert (root / "a/config/quintet/settings.toml").read_text() == ""


@bwrap
def test_settings_that_a_link_leads_to_stay_in_place(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo / "config/quintet/settings.toml", "")
    (tmp_path / "xdg").mkdir()
    (tmp_path / "xdg/quintet").symlink_to(repo / "config/quintet")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    inside = Inside(repo, Sandbox.BWRAP)
    inside(
        script(
            repo,
            "os.rename('config', 'old')\nos.makedirs('config/quintet')\n"
            "open('config/quintet/settings.toml', 'w').write('[hooks]')\n",
        )
    )
    assert (repo / "config/quintet/settings.toml").read_text() == ""


@bwrap
def test_settings_that_are_not_there_yet_are_not_made_by_a_command(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(repo / ".c"))
    inside = Inside(repo, Sandbox.BWRAP)
    inside(
        "mkdir -p .c/quintet; echo x > .c/quintet/settings.toml; mv .c .d; mkdir -p .c/quintet; echo y > .c/quintet/z"
    )
    assert sorted(os.listdir(repo / ".c/quintet")) == []
    assert not (repo / ".d").exists()


@bwrap
@pytest.mark.parametrize("path", [".docker/config.json", "home/.kube/config", "x/.config/gh/hosts.yml"])
def test_a_folder_by_whose_name_a_file_is_a_secret_keeps_its_name(inside: Inside, path: str) -> None:
    put(inside.root / path, CANARY)
    folder = os.path.dirname(path)
    done = inside(script(inside.root, f"os.rename({folder!r}, 'other')\nprint('done')\n"))
    assert "done" not in done.output
    assert (inside.root / path).read_text() == CANARY
    assert not (inside.root / "other").exists()


# ── folders of a home that appear


@bwrap
@pytest.mark.parametrize("name", [".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config/gcloud"])
def test_a_secret_folder_that_appears_in_a_home_is_moved_aside(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HOME", str(repo))
    inside = Inside(repo, Sandbox.BWRAP)
    done = inside(f"mkdir -p {name}; echo 'Match exec evil' > {name}/config")
    assert not (repo / name / "config").exists(), done.notes
    assert "/aside/" in " ".join(done.notes)


@bwrap
def test_a_new_ssh_folder_is_moved_aside_in_any_project(inside: Inside) -> None:
    done = inside("mkdir -p sub/.ssh; echo x > sub/.ssh/config")
    assert not (inside.root / "sub/.ssh").exists()
    assert "/aside/" in " ".join(done.notes)


# ── a repository of dotfiles


DOTFILES = {".bashrc": "bashrc", ".gitconfig": "git/config", ".claude": "claude", ".config/fish": "fish", "bin": "b"}
SECRETS = {".netrc": "netrc", ".aws": "aws", ".ssh": "keys/ssh"}


@bwrap
def test_what_the_home_links_to_in_the_project_is_held_or_covered(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "somebody"
    (home / ".config").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name, target in {**DOTFILES, **SECRETS}.items():
        whole = name in (".bashrc", ".gitconfig", ".netrc")
        put(repo / target if whole else repo / target / "kept", CANARY)
        (home / name).symlink_to(repo / target)
    inside = Inside(repo, Sandbox.BWRAP)
    lines = [
        f"echo evil > {t} ; echo evil > {t}/kept ; echo evil > {t}/new" for t in (*DOTFILES.values(), "aws", "netrc")
    ]
    inside("; ".join(lines))
    assert not [path for path in repo.rglob("new") if ".git" not in path.parts]
    assert {path.read_text() for path in repo.rglob("kept")} == {CANARY}
    assert {(repo / name).read_text() for name in ("bashrc", "git/config", "netrc")} == {CANARY}
    assert CANARY not in inside("cat netrc aws/kept keys/ssh/kept").output


# ── links


LINKS = {
    ".claude": "cfg/claude",
    ".vscode": "cfg/vsc",
    ".husky": "cfg/hooks",
    ".mcp.json": "cfg/mcp.json",
    ".quintet": "cfg/q",
    "sub/.agents": "../cfg/agents",
    ".gemini": "./cfg/./gemini",
    ".codex": "way",  # a link to a link
    ".github": "gh",
}


@pytest.fixture
def linked(inside: Inside) -> Inside:
    root = inside.root
    (root / "sub").mkdir()
    for folder in ("claude", "vsc", "hooks", "q", "agents", "gemini", "codex"):
        put(root / f"cfg/{folder}/kept", "as it was")
    put(root / "gh/workflows/kept", "as it was")
    put(root / "cfg/mcp.json", "{}")
    (root / "way").symlink_to("cfg/codex")
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    return inside


@bwrap
@pytest.mark.parametrize("name", LINKS)
def test_what_a_protected_name_links_to_is_held(linked: Inside, name: str) -> None:
    root = linked.root
    target = os.path.relpath((root / name).resolve(), root)
    path = target if name == ".mcp.json" else f"{target}/kept"
    path = "gh/workflows/kept" if name == ".github" else path
    before = (root / path).read_text()
    linked(f"echo evil > {path}; rm -rf {target}; echo evil > {os.path.dirname(path)}/new")
    assert (root / path).read_text() == before
    assert not (root / os.path.dirname(path) / "new").exists() or name == ".mcp.json"


@bwrap
@pytest.mark.parametrize("name", LINKS)
def test_a_turned_link_is_moved_aside(linked: Inside, name: str) -> None:
    done = linked(
        script(
            linked.root,
            f"os.makedirs('node_modules/evil')\nn = {name!r}\nos.unlink(n)\n"
            "os.symlink(os.path.abspath('node_modules/evil'), n)\n",
        )
    )
    assert not os.path.lexists(linked.root / name), done.notes
    assert name in " ".join(done.notes)


@bwrap
def test_what_a_link_leads_to_is_not_made_anew(linked: Inside) -> None:
    done = linked(
        script(
            linked.root,
            "os.rename('cfg', 'old')\nos.makedirs('cfg/vsc')\nopen('cfg/vsc/tasks.json', 'w').write('evil')\n",
        )
    )
    assert not (linked.root / "cfg/vsc/tasks.json").exists(), done.notes
    assert "/aside/" in " ".join(done.notes)


@bwrap
@pytest.mark.parametrize("effects", [(Effect.EXECUTE,), (Effect.EXECUTE, Effect.COMMIT)])
def test_a_repository_behind_a_link_is_held_and_its_link_too(inside: Inside, effects: tuple[Effect, ...]) -> None:
    root = inside.root
    os.rename(root / ".git", root / "gitreal")
    (root / ".git").symlink_to("gitreal")
    before = (root / "gitreal/config").read_text()
    inside("echo '[core]' >> gitreal/config; echo x > gitreal/hooks/pre-commit", *effects)
    assert (root / "gitreal/config").read_text() == before
    assert not (root / "gitreal/hooks/pre-commit").exists()
    done = inside("mkdir node_modules; cp -r gitreal node_modules/evil; ln -sfn node_modules/evil .git", *effects)
    assert not os.path.lexists(root / ".git"), done.notes
    assert "made .git" in " ".join(done.notes)


@bwrap
def test_links_that_stand_are_no_matter(linked: Inside) -> None:
    assert linked("touch a; cat .claude/kept").notes == ()
    assert linked("touch b").notes == ()


@bwrap
@pytest.mark.parametrize("how", ["hook", "hooks", "config", "path", "hook in path", "renamed"])
def test_what_a_git_folder_links_to_in_the_tree_is_held(inside: Inside, how: str) -> None:
    root = inside.root
    put(root / "tools/hooks/pre-commit", "as it was", executable=True)
    put(root / "cfg/git", (root / ".git/config").read_text())
    hooks = root / ".git/hooks"
    if how in ("hook", "renamed"):
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-commit").symlink_to("../../tools/hooks/pre-commit")
    elif how == "hooks":
        for one in hooks.iterdir():
            one.unlink()
        hooks.rmdir()
        hooks.symlink_to("../tools/hooks")
    elif how == "config":
        (root / ".git/config").unlink()
        (root / ".git/config").symlink_to("../cfg/git")
    else:
        (root / "way").mkdir()
        (root / "way/l").symlink_to("../tools/hooks") if how == "path" else None
        if how == "hook in path":
            (root / "way/pre-commit").symlink_to("../tools/hooks/pre-commit")
        name = "way/l" if how == "path" else "way"
        subprocess.run(("git", "-C", str(root), "config", "core.hooksPath", name), check=True)
    if how == "renamed":
        inside(
            script(
                root,
                "os.rename('tools', 'old')\nos.makedirs('tools/hooks')\n"
                "open('tools/hooks/pre-commit', 'w').write('evil')\n",
            )
        )
        assert not (root / "tools/hooks/pre-commit").exists() or (root / "tools/hooks/pre-commit").read_text() != "evil"
        return
    before = (root / "cfg/git").read_text()
    inside("echo evil > tools/hooks/pre-commit; echo evil > tools/hooks/post-checkout; echo '[x]' >> cfg/git")
    assert (root / "tools/hooks/pre-commit").read_text() == ("evil\n" if how == "config" else "as it was")
    assert ((root / "cfg/git").read_text() == before) is (how == "config")
    if how in ("hooks", "path"):
        assert not (root / "tools/hooks/post-checkout").exists()
