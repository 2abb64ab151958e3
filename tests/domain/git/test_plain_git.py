"""What Quintet's own git takes over of a configuration names no program."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.git.plain_git import (
    branch_of,
    config_text,
    is_head,
    read_listed,
    sizes,
    taken_over,
    touched,
    work_tree_of,
)

TAKEN = [
    ("core.filemode", "false"),
    ("core.autocrlf", "input"),
    ("extensions.objectformat", "sha256"),
    ("branch.main.remote", "origin"),
    ("branch.a.b.merge", "refs/heads/a.b"),
    ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
    ("remote.origin.url", "https://example.com/x.git"),
]
LEFT = [
    *("filter.x.clean", "filter.x.process", "core.fsmonitor", "core.hookspath", "core.sshcommand", "core.pager"),
    *("core.editor", "core.askpass", "core.gitproxy", "core.worktree", "core.excludesfile", "core.attributesfile"),
    *("core.alternaterefscommand", "diff.external", "diff.x.textconv", "diff.x.command", "merge.x.driver"),
    *("remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.promisor", "remote.origin.vcs"),
    *("extensions.partialclone", "extensions.worktreeconfig", "credential.helper", "gpg.program", "alias.status"),
    *("pager.status", "include.path", "includeif.gitdir:/.path", "submodule.x.update", "trailer.x.command"),
    *("uploadpack.packobjectshook", "sequence.editor", "url.ext::x.insteadof", "protocol.ext.allow", "browser.x.cmd"),
    *("interactive.difffilter", "difftool.x.cmd", "log.showsignature", "safe.bareRepository", "core.autocrlf.x"),
]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=12)


def test_only_what_is_listed_is_taken_over() -> None:
    assert taken_over([*TAKEN, *((name, "touch x") for name in LEFT)]) == TAKEN


@pytest.mark.parametrize("value", ["true; touch x", "!x", "", "a b", "x" * 50, "$(x)", "a\nb"])
def test_a_value_that_is_no_word_is_left(value: str) -> None:
    assert taken_over([("core.autocrlf", value)]) == []


def test_the_users_own_patterns_are_the_users() -> None:
    pairs = [("core.excludesfile", "~/ignored"), ("core.attributesfile", "/x"), ("filter.lfs.clean", "git-lfs clean")]
    assert taken_over([*pairs, *TAKEN], of_the_user=True) == [*pairs[:2], *TAKEN[:2]]


@given(st.lists(st.tuples(texts.filter(bool), texts), max_size=5))
def test_git_reads_what_is_written(pairs: list[tuple[str, str]]) -> None:
    """No value or name can break out of its place."""
    written = [(f"branch.{name}.remote", value) for name, value in pairs]
    words = ("git", "config", "--file", "-", "--list", "-z")
    done = subprocess.run(words, input=config_text(written).encode(), capture_output=True, check=True, cwd="/")
    assert read_listed(done.stdout) == written


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/a/b", "a/b"),
        ("0" * 40 + "\n", "(detached)"),
        ("a" * 64, "(detached)"),
        ("ref: ../../x\n", ""),
        ("ref: refs/heads/", ""),
        ("ref: refs/heads/a\nb\n", ""),
        ("", ""),
        ("0" * 41, ""),
        ("secret", ""),
    ],
)
def test_a_head_is_on_a_branch_at_a_commit_or_none(head: str, name: str) -> None:
    assert branch_of(head) == name
    assert is_head(head) == bool(name)


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("[core]\n\tworktree = ../../../sub\n", "../../../sub"),
        ('[core]\n\tbare = false\n\tworktree = "a b"\n', "a b"),
        ("[core]\nworktree=x # why\n", "x"),
        ("[CORE]\n\tWorkTree = x\n", "x"),
        ("[other]\n\tworktree = x\n", ""),
        ('[core "x"]\n\tworktree = x\n', ""),
        ("[core]\n\tworktree = a\n[core]\n\tworktree = b\n", "b"),
        ('[core]\n\tworktree = "a\\"b"\n', ""),
        ("", ""),
    ],
)
def test_the_work_tree_of_a_configuration(config: str, found: str) -> None:
    assert work_tree_of(config) == found


def entry(states: str, path: str, bits: str = "100644 100644 100644", sub: str = "N...") -> bytes:
    return f"1 {states} {sub} {bits} {'0' * 40} {'1' * 40} {path}\0".encode()


def test_only_files_of_another_content_may_be_merely_touched() -> None:
    assert touched(b"") == []
    assert touched(entry(".M", "a") + entry(".M", "b c")) == [b"a", b"b c"]
    for other in (entry("M.", "a"), entry(".D", "a"), entry(".M", "a", "100644 100644 100755"), b"u UU x\0", b"? x\0"):
        assert touched(entry(".M", "a") + other) is None
    assert touched(entry(".M", "a", sub="S.M.")) is None


def test_sizes_are_read_whatever_the_names() -> None:
    about = "  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 0\tgid: 0\n  size: {}\tflags: 0\n"
    said = "".join(f"{name}\0{about.format(size)}" for name, size in (("a", 1), ("b\n  size: 9", 22)))
    assert sizes(said.encode()) == {b"a": 1, b"b\n  size: 9": 22}


def test_a_name_without_a_value_means_yes() -> None:
    assert read_listed(b"core.bare\0core.x\ny\0") == [("core.bare", "true"), ("core.x", "y")]
