"""A call cannot write what git, an agent, an editor or a shell would run later: by any name, tool or link."""

import json
import subprocess
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Verdict
from quintet.engine.turn.toolbox import Prepared
from tests.tools.calling import Caller

NORMAL = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
UNRESTRICTED = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)

GIT = [
    *(".git/commondir", ".git/config.worktree", ".git/HEAD", ".git/index", ".git/modules/lib/config"),
    *(".git/modules/lib/hooks/post-checkout", ".git/worktrees/w/config.worktree", "sub/.git", "sub/.git/commondir"),
    *(".git/objects/info/alternates", ".git/packed-refs", ".git/sub/.git/x", "GIT~1/config", ".g\u200dit/config"),
]
OWN = [".mcp.json", "sub/.mcp.json", ".quintet/task.md", ".quintet/skills/x/SKILL.md", ".quintet/tools/x.py"]
ASKED = [
    *(".vscode/other.json", ".helix/languages.toml", ".lazy.lua", ".amazonq/mcp.json", ".theia/tasks.json"),
    *(".claude/agents/x.md", ".agents/agents/x.md", ".codex/config.toml", ".gemini/settings.json", ".direnv/x"),
    *(
        ".vscode/tasks.json",
        ".cursor/mcp.json",
        ".husky/pre-commit",
        ".github/workflows/ci.yml",
        ".bashrc",
        "docs/HEAD",
    ),
]


@pytest.fixture
def tools(repo: Path) -> Caller:
    return Caller(repo)


@pytest.mark.parametrize("path", [*GIT, *OWN])
@pytest.mark.parametrize("axes", [NORMAL, UNRESTRICTED], ids=["normal", "unrestricted"])
def test_below_any_git_folder_and_in_quintets_own_files_nothing_is_written(
    tools: Caller, path: str, axes: Axes
) -> None:
    assert tools.verdict("Write", axes, file_path=path, content="x") is Verdict.DENY
    assert tools.verdict("fs_move", axes, source="README.md", destination=path) is Verdict.DENY


@pytest.mark.parametrize("path", ASKED)
def test_what_configures_the_users_programs_asks_at_every_profile_and_is_written_with_one_yes(
    tools: Caller, path: str
) -> None:
    assert tools.verdict("Write", NORMAL, file_path=path, content="x") is Verdict.ASK
    assert tools.verdict("Write", file_path=path, content="x") is Verdict.ASK
    tools("Write", file_path=path, content="x")
    assert (tools.root / path).read_text() == "x"


@pytest.mark.parametrize("path", ASKED[:-1])
@pytest.mark.parametrize(
    "line", ["echo x > {}", "cp README.md {}", "mv README.md {}", "ln -s README.md {}", "touch {}"]
)
def test_no_line_writes_it_whoever_says_yes(tools: Caller, path: str, line: str) -> None:
    assert tools.verdict("bash", command=line.format(path)) is Verdict.DENY


def test_a_link_is_no_other_name_for_what_asks(tools: Caller) -> None:
    (tools.root / ".claude").mkdir()
    (tools.root / ".claude" / "settings.json").write_text("as it was")
    (tools.root / "notes.json").symlink_to(".claude/settings.json")
    (tools.root / "folder").symlink_to(".claude")
    assert "needs approval" in tools.fails("Write", file_path="notes.json", content="x")
    assert "needs approval" in tools.fails("Write", file_path="folder/settings.json", content="x")
    assert "needs approval" in tools.fails("Write", file_path="folder/hooks.json", content="x")
    assert (tools.root / ".claude" / "settings.json").read_text() == "as it was"


def test_in_a_bare_repository_of_the_project_only_git_writes(tools: Caller) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "docs/lib"], cwd=tools.root, check=True)
    for path in ("docs/lib/config", "docs/lib/hooks/post-update", "docs/lib/worktrees/x/gitdir"):
        assert "only git writes" in tools.fails("Write", file_path=path, content="x")
    (tools.root / "link").symlink_to("docs/lib")
    assert "only git writes" in tools.fails("Write", file_path="link/config", content="x")
    tools("Write", file_path="docs/page.md", content="x")


def test_a_repository_cannot_be_put_together_from_files_unasked(tools: Caller) -> None:
    """`git status` in a folder with HEAD, objects and refs runs what its config names."""
    canary = tools.root.parent / "canary"
    core = f"repositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = touch {canary}; false\n"
    files = {
        "docs/objects/k": "",
        "docs/refs/k": "",
        "docs/config": f"[core]\n\t{core}",
        "docs/HEAD": "ref: refs/heads/main\n",
    }
    for path, content in files.items():
        prepared = tools.prepare("Write", json.dumps({"file_path": path, "content": content}), NORMAL)
        assert isinstance(prepared, Prepared)
        if prepared.decision.verdict is Verdict.ALLOW:
            tools("Write", file_path=path, content=content)
    subprocess.run(["git", "status"], cwd=tools.root / "docs", capture_output=True, check=False)
    assert not canary.exists()


def test_pages_for_agents_stay_editable(tools: Caller) -> None:
    for path in ("AGENTS.md", "CLAUDE.md", "sub/AGENTS.md", ".gitignore", ".gitattributes"):
        assert tools.verdict("Write", NORMAL, file_path=path, content="x") is Verdict.ALLOW
