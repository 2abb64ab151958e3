"""What of git's lists is protected, and how it is put back."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.git.protected_entries import (
    GitEntry,
    about_index,
    blob_of,
    blobs_of,
    changes,
    contents,
    entries,
    put_back,
    root_of,
    staged,
)
from quintet.domain.permission.protected_paths import protected_by

A, B, NULL = "a" * 40, "b" * 40, "0" * 40


def line(path: str, blob: str = A, stage: int = 0) -> bytes:
    return f"100644 {blob} {stage}\t{path}".encode()


def test_only_protected_entries_are_found() -> None:
    lines = [line("a.py"), line("x/.claude/b"), line(".github/workflows/a b\tc.yml", B, 2), b"strange"]
    found = entries(lines, lambda path: protected_by(path) is not None)
    assert found == [GitEntry(".github/workflows/a b\tc.yml", B), GitEntry("x/.claude/b", A)]


@pytest.mark.parametrize(
    ("path", "root"),
    [
        (".github/workflows/deep/a.yml", ".github/workflows"),
        ("x/.vscode/tasks.json", "x/.vscode"),
        (".mcp.json", ".mcp.json"),
        (".quintet/tools/a.py", ".quintet/tools"),
        ("tools/hooks/pre-commit", "tools/hooks/pre-commit"),
    ],
)
def test_a_content_is_looked_for_in_the_protected_place(path: str, root: str) -> None:
    assert root_of(path) == root


def test_changes_of_commits_are_read_with_merges_and_without_deletions() -> None:
    said = (
        f"{A}\0\n:000000 100755 {NULL} {B} A\0.husky/x\0:100644 000000 {B} {NULL} D\0gone\0"
        f"{B}\0\n::100644 100644 100644 {A} {A} {B} MM\0both\0"
    ).encode()
    assert list(changes(said)) == [(A, GitEntry(".husky/x", B)), (B, GitEntry("both", B))]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0\n/"), min_size=1, max_size=8)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)


@given(st.lists(paths, max_size=6, unique=True), st.lists(paths, max_size=3))
def test_what_is_put_back_names_each_path_and_all_that_was_there(before: list[str], unknown: list[str]) -> None:
    lines = staged(b"".join(line(path) + b"\0" for path in before))
    said = staged(put_back(lines, unknown))
    assert {path for path, blob in contents(said - lines) if blob == NULL} <= set(unknown) or not unknown
    assert {one for one in lines if one.partition(b"\t")[2].decode() in unknown} <= said


@given(st.binary(max_size=50))
def test_a_content_has_the_name_that_git_gives_it(content: bytes) -> None:
    assert blob_of(content, A) in blobs_of(content, A)
    assert len(blob_of(content, "0" * 64)) == 64


def test_the_name_of_a_content_is_gits() -> None:
    done = subprocess.run(("git", "hash-object", "--stdin"), input=b"a\n", capture_output=True, check=True)
    assert done.stdout.decode().strip() == blob_of(b"a\n", A) in blobs_of(b"a\r\n", A)


def test_a_note_names_a_few_paths_and_how_many_more() -> None:
    assert "and 2 more" in about_index([f".claude/{number}" for number in range(7)])
