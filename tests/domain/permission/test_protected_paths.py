"""The one list of protected paths: what is on it, how names are folded, and what a containment gets of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.permission.protected_paths import (
    GUARDED,
    PROTECTED,
    asks,
    is_held,
    is_repository,
    is_write_protected,
    leads_to_held,
    may_not_appear,
    only_holds,
    protected_by,
)
from quintet.domain.shell.paths import guarded

NEVER = [
    *(".git", ".git/HEAD", ".git/index", ".git/commondir", ".git/config.worktree", ".git/modules/lib/config"),
    *(".git/modules/lib/hooks/post-checkout", ".git/worktrees/w/gitdir", "sub/.git", "sub/.git/config", "a/b/.git/x"),
    *(".GIT/config", ".git./config", ".git /config", "GIT~1/config", "git~2", ".g\u200cit/config", ".gi\ufefft/config"),
    *(".git::$INDEX_ALLOCATION/config", "a\\.git\\config", "\uff0egit/config"),
    *(".mcp.json", "sub/.mcp.json", ".MCP.json", "MCP~1.JSO"),
    *(".quintet", ".quintet/settings.toml", ".quintet/tools/x.py", ".quintet/agents/a", ".quintet/prompts/base/x.md"),
    *(".quintet/task.md", ".quintet/skills/s/SKILL.md", "sub/.quintet/settings.toml"),
    *(".hg", ".hg/hgrc", "sub/.hg/hgrc", ".HG/HGRC", ".hg/store/00manifest.i", ".jj/repo/config.toml", ".jj/repo"),
    *(".sl/config", "a/b/.jj/x", ".pijul/config", "_darcs/prefs/defaults", ".bzr/branch/branch.conf"),
]
ASKED = [
    *(".claude", ".claude/agents/x.md", ".claude/settings.json", ".agents/agents/x.md", ".codex/config.toml"),
    *(".gemini/settings.json", ".cursor/mcp.json", "sub/.claude/settings.local.json", "CLAUDE~1/settings.json"),
    *(".vscode", ".vscode/tasks.json", ".vscode/settings.json", ".VSCode/Tasks.json", "x.code-workspace"),
    *(".idea/workspace.xml", ".devcontainer/devcontainer.json", ".envrc", "sub/.envrc", ".direnv/x", ".exrc"),
    *(".nvim.lua", ".dir-locals.el", ".tool-versions", "mise.toml", ".mise.toml", ".config/mise/config.toml"),
    *(".husky/pre-commit", ".pre-commit-config.yaml", ".githooks/pre-push", "lefthook.yml"),
    *(".github/workflows/ci.yml", ".github", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile"),
    *(".bashrc", "bash/.bashrc", ".profile", ".gitconfig", ".config/systemd/user/x.service", ".config/autostart/x"),
    *("docs/HEAD", "HEAD"),
    *(".yarnrc.yml", "pkg/.yarnrc.yml", ".yarn", ".yarn/releases/yarn-4.cjs", ".yarn/plugins/@yarnpkg/p.cjs"),
    *(".cargo", ".cargo/config.toml", "crates/a/.cargo/config", ".pnpmfile.cjs", ".hgrc", ".config/jj/config.toml"),
]
FREE = [
    *("AGENTS.md", "CLAUDE.md", ".gitignore", ".gitattributes", ".gitmodules", ".editorconfig", "Makefile"),
    *("package.json", ".github/dependabot.yml", "templates/.github/workflows/ci.yml"),
    *(".quintet/todo/task-001.md", "src/git/config", "hooks/x", "config", "a.git/x", "git", "claude/x", "~1"),
    *(".hgignore", ".hgtags", ".hgsub", ".yarn/cache/a.zip", ".yarn/install-state.gz", "yarn.lock", ".pnp.cjs"),
    *(".cargo/audit.toml", "Cargo.toml", "rust-toolchain.toml", "repo/config.toml", "hg/hgrc", "sl/config", "jj"),
    *("github/workflows/x", ".config/nextest.toml", "header", "HEAD.md", ".", ""),
]


@pytest.mark.parametrize("path", NEVER)
def test_nobody_can_say_yes_to_what_git_and_quintet_load(path: str) -> None:
    assert is_write_protected(path)
    assert not asks(path)


@pytest.mark.parametrize("path", ASKED)
def test_what_configures_an_agent_an_editor_a_shell_or_ci_asks_with_its_reason(path: str) -> None:
    assert asks(path)
    assert not is_write_protected(path)


@pytest.mark.parametrize("path", FREE)
def test_text_and_build_files_are_free(path: str) -> None:
    assert protected_by(path) is None


def test_every_row_has_a_reason_and_at_most_three_names() -> None:
    for one in PROTECTED:
        assert one.reason
        assert 1 <= len(one.pattern.strip("/").split("/")) <= 3
    assert len({one.pattern.lower() for one in PROTECTED}) == len(PROTECTED)


@given(st.sampled_from(PROTECTED), st.lists(st.sampled_from(["a", "b.c", "..d"]), max_size=3), st.booleans())
def test_whatever_is_below_a_kept_path_is_kept(one: object, below: list[str], upper: bool) -> None:
    pattern = one.pattern.lstrip("/").replace("*", "x")  # type: ignore[attr-defined]
    path = "/".join([pattern.upper() if upper else pattern, *below])
    assert protected_by(path) is not None


@given(st.text(max_size=30))
def test_any_text_is_judged(path: str) -> None:
    protected_by(path)
    guarded(path)


def test_a_containment_holds_each_kept_entry_and_lets_git_write_what_only_ci_runs() -> None:
    assert is_held("", ".git") and is_held("a/b", ".git") and is_held("", ".mcp.json") and is_held("x", ".claude")
    assert is_held("", ".vscode") and is_held("x", ".vscode") and is_held("", ".helix") and is_held("", ".lazy.lua")
    assert not is_held("", ".venv") and not is_held(".venv/bin", "activate")  # pip has to write there
    assert is_held(".quintet", "task.md") and not is_held("", ".quintet") and not is_held(".quintet", "todo")
    assert is_held(".github", "workflows") and not is_held(".github", "workflows", committing=True)
    assert not is_held("sub/.github", "workflows")
    assert is_held("", ".claude", committing=True)
    assert not is_held("docs", "HEAD")
    assert is_held(".hg", "hgrc") and is_held("a/.jj/repo", "config.toml", committing=True)
    assert not is_held("", ".hg") and not is_held(".hg", "store") and not is_held(".jj", "repo")
    assert not is_held("repo", "config.toml") and not is_held("a/repo", "config.toml")
    assert is_held("", ".yarnrc.yml") and not is_held("", ".yarnrc.yml", committing=True)
    assert is_held("a/.cargo", "config.toml") and not is_held("a", ".cargo")


def test_the_folders_of_other_version_control_may_be_written_and_not_made() -> None:
    assert all(may_not_appear(name) for name in (".hg", ".HG", ".jj", ".sl", "_darcs"))
    assert not any(may_not_appear(name) for name in (".git", ".github", "hg", ".hgrc", ".cargo"))


def test_a_link_that_leads_to_what_is_held_is_known_by_its_name() -> None:
    assert all(leads_to_held(name) for name in (".quintet", ".config", ".hg", ".jj", ".cargo", ".yarn", ".github"))
    assert leads_to_held(".hg", committing=True) and not leads_to_held(".cargo", committing=True)
    assert not leads_to_held("src") and not leads_to_held("repo")


def test_a_folder_that_git_takes_for_a_repository_is_known_by_its_entries() -> None:
    assert is_repository(["HEAD", "config", "objects", "refs"])
    assert is_repository(["HEAD", "commondir"])
    assert is_repository(["head", "OBJECTS", "refs"])
    assert not is_repository(["objects", "refs", "config"])
    assert not is_repository(["HEAD", "config"])


@pytest.mark.parametrize(
    "pattern",
    [
        ".gi*/hooks/x",
        ".g?t/config",
        "[.]git/config",
        ".m*json",
        ".clau?e/settings.json",
        ".vs*/t*s.json",
        ".q*/s*.toml",
    ],
)
def test_a_pattern_stands_for_what_it_may_name(pattern: str) -> None:
    assert protected_by(guarded(pattern)) is not None


@pytest.mark.parametrize("pattern", ["*", "*.json", "*.toml", "src/*", "*/config", "?", "[a-z]*.md"])
def test_a_pattern_that_names_everything_names_nothing_that_asks(pattern: str) -> None:
    assert protected_by(guarded(pattern)) is None
    assert GUARDED[0] == (".git",)


SHORT = {
    "GIT~1/config": ".git/config",
    "QUINTE~1": ".quintet",
    "QUINTE~1/settings.toml": ".quintet/settings.toml",
    "quinte~2/SETTIN~1.TOM": ".quintet/settings.toml",
    ".quintet/SETTIN~1.TOM": ".quintet/settings.toml",
    "CONFIG~1/mise": ".config/mise",
    "CONFIG~1/git/config": ".config/git/config",
    "mise/CONFIG~1.TOM": "mise/config.toml",
    "LOCAL~1/bin/x": ".local/bin/x",
    "GITHUB~1/hooks/x": ".github/hooks/x",
    "GITHUB~1/WORKFL~1/ci.yml": ".github/workflows/ci.yml",
    "GITLAB~1.YML": ".gitlab-ci.yml",
    "MCP~1.JSO": ".mcp.json",
    "CLAUDE~1/settings.json": ".claude/settings.json",
    "VSCODE~1/tasks.json": ".vscode/tasks.json",
}
LONG = [
    "QUINTE~1/tasks",
    "CONFIG~1/other",
    "LOCAL~1/share",
    "GITHUB~1/README.md",
    "docs/WORKFL~1",
    "notes~1.txt",
    "a~b",
]


@pytest.mark.parametrize("path", SHORT)
def test_a_short_name_of_windows_is_kept_as_the_name_it_stands_for(path: str) -> None:
    found, whole = protected_by(path), protected_by(SHORT[path])
    assert found is not None and whole is not None and found.kind == whole.kind


@pytest.mark.parametrize("path", LONG)
def test_a_short_name_keeps_nothing_that_its_long_one_does_not(path: str) -> None:
    assert protected_by(path) is None


def test_a_link_with_a_short_name_leads_there_too() -> None:
    assert leads_to_held("CONFIG~1") and leads_to_held(".config") and not leads_to_held(".vscode")


def test_many_short_names_are_judged_at_once() -> None:
    assert protected_by("/".join(["CONFIG~1"] * 2_000)) is not None


MADE = {".github": True, "docs/mise": True, ".config": True, ".quintet": True, "src": False, ".claude": False}


@pytest.mark.parametrize("path", MADE)
def test_a_folder_may_be_kept_only_for_what_it_may_come_to_hold(path: str) -> None:
    assert only_holds(path) is MADE[path]
