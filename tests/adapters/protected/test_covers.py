"""How files that may hold secrets look to a command in bubblewrap: as they are, empty, or closed."""

import subprocess
from pathlib import Path

import pytest

from quintet.domain.permission.gate import Sandbox
from tests.adapters.sandbox.test_sandbox import BWRAP, COMMIT, Inside


@pytest.fixture(params=BWRAP)
def bwrap(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


def git(repo: Path, *words: str) -> None:
    flags = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false")
    subprocess.run(("git", *flags, *words), cwd=repo, check=True, capture_output=True)


@pytest.fixture
def tracked(repo: Path) -> Path:
    """Secrets by name that every clone has: a registry's address, a key for tests."""
    git(repo, "init", "-q")
    (repo / "tests").mkdir(exist_ok=True)
    (repo / ".npmrc").write_text("registry=https://npm.example/\n")
    (repo / "tests/server.key").write_text("a key for tests\n")
    (repo / "a.txt").write_text("one\n")
    git(repo, "add", "-f", ".")
    git(repo, "commit", "-qm", "one")
    return repo


def test_git_works_where_a_secret_file_is_tracked(bwrap: Inside, tracked: Path) -> None:
    (tracked / "a.txt").write_text("two\n")
    git(tracked, "config", "user.name", "a")
    git(tracked, "config", "user.email", "a@b.c")
    lines = "git status --short; git diff --stat; git add -A && git commit -qm two; git stash list; git status --short"
    done = bwrap(lines, COMMIT)
    assert done.exit_code == 0 and "ermission denied" not in done.output
    assert done.output.splitlines()[0] == " M a.txt" and ".npmrc" not in done.output


def test_what_every_clone_has_can_be_read(bwrap: Inside, tracked: Path) -> None:
    assert bwrap("cat tests/server.key").output == "a key for tests\n"


def test_a_tracked_file_that_was_changed_is_closed(bwrap: Inside, tracked: Path) -> None:
    (tracked / ".npmrc").write_text("//npm.example/:_authToken=canary\n")
    done = bwrap("cat .npmrc; git add -A", COMMIT)
    assert "canary" not in done.output and done.output.count("ermission denied") >= 2
    assert bwrap("cat .git/index .git/objects/*/* 2>/dev/null | wc -c").exit_code == 0
    assert b"canary" not in (tracked / ".git/index").read_bytes()


def test_an_ignored_one_is_empty_and_stays_as_it_is(bwrap: Inside, tracked: Path) -> None:
    (tracked / ".gitignore").write_text(".env\n")
    (tracked / ".env").write_text("TOKEN=canary\n")
    done = bwrap("python3 -c \"print(repr(open('.env').read()))\"; echo x >> .env; rm -f .env; mv a.txt .env")
    assert done.output.splitlines()[0] == "''" and "canary" not in done.output
    assert (tracked / ".env").read_text() == "TOKEN=canary\n"


def test_one_that_git_would_take_is_closed(bwrap: Inside, tracked: Path) -> None:
    """Seen empty it would be committed empty, and its content with the user's own next commit."""
    (tracked / "prod.env").write_text("TOKEN=canary\n")
    done = bwrap("git add -A", COMMIT)
    assert done.exit_code == 128 and "prod.env" in done.output
    staged = subprocess.run(("git", "ls-files"), cwd=tracked, capture_output=True, text=True, check=True).stdout
    assert "prod.env" not in staged


@pytest.mark.parametrize("kind", BWRAP)
def test_without_a_repository_it_is_empty(kind: Sandbox | str, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / ".env").write_text("TOKEN=canary\n")
    assert Inside(folder, kind)("cat .env; echo read").output == "read\n"


def test_who_meets_a_closed_file_hears_why(bwrap: Inside, tracked: Path) -> None:
    (tracked / "prod.env").write_text("TOKEN=canary\n")
    met, other = bwrap("cat prod.env"), bwrap("echo prod.env; cat /root/x; true")
    assert met.notes == (
        "prod.env is closed to commands: it may contain secrets. If it contains none, say so in your settings: "
        'not_secrets = ["prod.env"] under [protect]',
    )
    assert other.notes == ()


def test_a_repository_in_the_project_has_its_own_say(bwrap: Inside, tracked: Path) -> None:
    inner = tracked / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / ".gitignore").write_text(".env\n")
    (inner / ".env").write_text("TOKEN=canary\n")
    (inner / "it.pem").write_text("tracked\n")
    git(inner, "add", "-f", "it.pem")
    assert bwrap("cat inner/.env inner/it.pem").output == "tracked\n"


def test_a_command_that_stages_the_hash_of_a_guess_opens_nothing(bwrap: Inside, tracked: Path) -> None:
    (tracked / "prod.env").write_text("TOKEN=canary\n")
    bwrap("git update-index --add --cacheinfo 100644,$(printf x | git hash-object -w --stdin),prod.env", COMMIT)
    assert "ermission denied" in bwrap("cat prod.env").output


@pytest.mark.parametrize("odd", ["*.pem", "[a].key", ":(top).pem", "x\n.pem"])
def test_odd_names_are_what_they_are(bwrap: Inside, tracked: Path, odd: str) -> None:
    (tracked / odd).write_text("canary\n")
    assert "canary" not in bwrap("cat ./*.pem ./*.key; cat tests/server.key").output
