"""Nothing outside the project is opened, and nothing protected is read or written, whatever a path looks like."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.permission.protected_paths import inside
from tests.tools.calling import Caller

SECRET = "the-outside-secret"
RESTRICTED = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A git repository beside the project, with a secret in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "note.txt").write_text(SECRET + "\n")
    subprocess.run(["git", "init", "-q", "-b", SECRET], cwd=folder, check=True)
    return folder


@pytest.fixture(params=["dots", "absolute", "link to file", "link to folder", "absolute link", "magic link"])
def way_out(request: pytest.FixtureRequest, tools: Caller, outside: Path) -> str:
    """A path that leads to the outside note in one of the ways there are."""
    root = tools.root
    match request.param:
        case "dots":
            return "tally/../../outside/note.txt"
        case "absolute":
            return str(outside / "note.txt")
        case "link to file":
            (root / "link.txt").symlink_to("../outside/note.txt")
            return "link.txt"
        case "link to folder":
            (root / "link").symlink_to("../outside")
            return "link/note.txt"
        case "absolute link":
            (root / "link").symlink_to(outside)
            return "link/note.txt"
        case _:
            (root / "link").symlink_to("/proc/self/root")
            return f"link{outside}/note.txt"


def test_read_does_not_leave_the_project_by_a_path_that_does_not_say_so(tools: Caller, way_out: str) -> None:
    if inside(way_out, str(tools.root)) is None:  # the path itself says it leads outside: asked about, then read
        assert tools.verdict("Read", file_path=way_out) is Verdict.ASK
        assert SECRET in tools.ok("Read", file_path=way_out)
    else:
        assert "outside the project" in tools.fails("Read", file_path=way_out)


def test_a_secret_outside_the_project_is_not_read_even_when_asked(tools: Caller, outside: Path) -> None:
    (outside / ".env").write_text("TOKEN=x")
    (outside / "plain.txt").symlink_to(".env")
    assert tools.verdict("Read", file_path=str(outside / ".env")) is Verdict.DENY
    assert "secrets" in tools.fails("Read", file_path=str(outside / "plain.txt"))


def test_write_does_not_leave_the_project(tools: Caller, way_out: str, outside: Path) -> None:
    assert "outside the project" in tools.fails("Write", file_path=way_out, content="overwritten")
    assert (outside / "note.txt").read_text() == SECRET + "\n"


def test_write_makes_no_file_beyond_a_link(tools: Caller, outside: Path) -> None:
    (tools.root / "link").symlink_to(outside)
    assert tools.fails("Write", file_path="link/new.txt", content="x")
    assert tools.fails("Write", file_path="link/deep/new.txt", content="x")
    (tools.root / "dangling").symlink_to(outside / "made.txt")
    assert tools.fails("Write", file_path="dangling", content="x")
    assert sorted(path.name for path in outside.iterdir()) == [".git", "note.txt"]


@pytest.mark.parametrize("place", ["../outside", "link"])
@pytest.mark.parametrize(
    ("tool", "argument", "more"),
    [
        ("grep", "path", {"pattern": "secret", "output_mode": "content"}),
        ("glob", "path", {"pattern": "*"}),
        ("git_status", "repo_path", {}),
    ],
)
def test_no_tool_works_in_a_folder_outside_the_project(
    tools: Caller, outside: Path, tool: str, argument: str, more: dict[str, str], place: str
) -> None:
    (tools.root / "link").symlink_to(outside)
    said = tools.fails(tool, **{argument: place, **more})
    assert SECRET not in said
    assert "note.txt" not in said.replace(place, "")


def test_a_line_in_a_folder_outside_is_asked_about_and_a_link_there_is_refused(tools: Caller, outside: Path) -> None:
    (tools.root / "link").symlink_to(outside)
    assert tools.verdict("bash", command="cat note.txt", exec_dir="../outside") is Verdict.ASK
    assert SECRET in tools.ok("bash", command="cat note.txt", exec_dir="../outside")  # a person said yes to that folder
    assert SECRET not in tools.fails("bash", command="cat note.txt", exec_dir="link")


def test_a_search_of_the_project_does_not_follow_links_out_of_it(tools: Caller, outside: Path) -> None:
    (tools.root / "link").symlink_to(outside)
    assert tools.ok("grep", pattern=SECRET) == "no matches"
    assert tools.ok("glob", pattern="**/note.txt") == "no files match"


# ── things that are not plain files


def test_reading_a_pipe_does_not_wait_for_a_writer(tools: Caller) -> None:
    os.mkfifo(tools.root / "pipe")
    assert tools.fails("Read", file_path="pipe") == "pipe: not a regular file"
    assert tools.fails("Write", file_path="pipe", content="x") == "pipe: not a regular file"
    assert stat.S_ISFIFO((tools.root / "pipe").stat().st_mode)


def test_a_folder_is_not_read_as_a_file(tools: Caller) -> None:
    assert tools.fails("Read", file_path="tally") == "tally: a folder, not a file"
    assert tools.fails("Read", file_path="") == ": a folder, not a file"


def test_a_huge_file_is_refused_before_it_is_read(tools: Caller) -> None:
    with (tools.root / "huge.bin").open("wb") as file:
        file.truncate(2_000_000_000)
    said = tools.fails("Read", file_path="huge.bin")
    assert "2000000000 bytes" in said
    assert "50000000" in said


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "a\0b"}),
        ("Write", {"file_path": "a\0b", "content": "x"}),
        ("bash", {"command": "echo a\0b"}),
        ("bash", {"command": "true", "exec_dir": "a\0b"}),
        ("grep", {"pattern": "a\0b"}),
        ("glob", {"pattern": "a\0b"}),
        ("git_diff", {"target": "a\0b"}),
    ],
)
def test_a_nul_character_is_an_error_that_is_said(tools: Caller, tool: str, arguments: dict[str, str]) -> None:
    assert "NUL" in tools.fails(tool, **arguments)


# ── protected paths


PROTECTED = [".git/hooks/pre-commit", ".git/config", ".git/info/exclude", ".quintet/settings.toml"]


@pytest.mark.parametrize("path", [*PROTECTED, ".GIT/hooks/pre-commit", "tally/../.git/config"])
def test_a_protected_path_is_not_written(tools: Caller, path: str) -> None:
    assert tools.verdict("Write", file_path=path, content="x") is Verdict.DENY


@pytest.mark.parametrize(
    "line",
    [
        "cp evil.sh .git/hooks/pre-commit",
        "mv evil.sh tally/../.git/hooks/pre-commit",
        "ln -s ../../evil.sh .git/hooks/pre-commit",
        "cp -t.git/hooks evil.sh",
        "cp --target-directory=.git/hooks evil.sh",
        "cp -r evil/. .git",
        "mv .git elsewhere",
        "mv .quintet/ elsewhere",
        "touch .git/info/exclude",
        "mkdir -p .quintet/prompts",
        "ls && cp evil.toml .quintet/settings.toml",
    ],
)
def test_a_shell_line_that_names_a_protected_path_to_write_is_not_run(tools: Caller, line: str) -> None:
    assert tools.verdict("bash", command=line) is Verdict.DENY


def test_without_a_sandbox_a_program_that_writes_where_its_input_says_is_asked_about(repo: Path) -> None:
    assert Caller(repo, Sandbox.NONE).verdict("bash", command="patch -p1 -i evil.diff") is Verdict.ASK


@pytest.mark.parametrize("path", PROTECTED)
def test_a_link_does_not_get_around_a_protected_path(tools: Caller, path: str) -> None:
    target = tools.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("as it was\n")
    (tools.root / "innocent.txt").symlink_to(path)
    (tools.root / "folder").symlink_to(os.path.dirname(path))
    tools.fails("Write", file_path="innocent.txt", content="changed")
    tools.fails("Write", file_path=f"folder/{target.name}", content="changed")
    tools("Read", file_path="innocent.txt")
    tools.fails("Edit", file_path="innocent.txt", old_string="as it was", new_string="changed")
    assert target.read_text() == "as it was\n"


SECRETS = [".env", ".env.local", "server.pem", "id_rsa", ".netrc", "deploy/.aws/credentials"]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_not_shown_by_any_tool(tools: Caller, name: str) -> None:
    path = tools.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"TOKEN={SECRET}\n")
    assert tools.verdict("Read", file_path=name) is Verdict.DENY
    assert tools.verdict("grep", pattern="TOKEN", path=name, output_mode="content") is Verdict.DENY
    assert tools.verdict("bash", command=f"cat {name}") is Verdict.DENY
    for glob in ("", name, f"**/{path.name}", "*"):
        assert SECRET not in tools("grep", pattern="TOKEN", output_mode="content", glob=glob).content


def test_a_link_to_a_secret_does_not_show_it(tools: Caller) -> None:
    (tools.root / ".env").write_text(f"TOKEN={SECRET}\n")
    (tools.root / "innocent.txt").symlink_to(".env")
    assert SECRET not in tools.fails("Read", file_path="innocent.txt")
    assert SECRET not in tools("grep", pattern="TOKEN", path="innocent.txt", output_mode="content").content


def test_what_looks_like_a_secret_and_is_none_may_be_read(tools: Caller) -> None:
    (tools.root / ".env.example").write_text("TOKEN=\n")
    (tools.root / "id_ed25519.pub").write_text("ssh-ed25519 AAAA\n")
    assert tools.ok("Read", file_path=".env.example") == "1\tTOKEN="
    assert tools.ok("Read", file_path="id_ed25519.pub").startswith("1\tssh-ed25519")


# ── shell lines that are not the plain reads they look like


@pytest.mark.parametrize(
    "line",
    [
        "tree -o listing.txt",
        "uniq tally/count.py tally/copy.py",
        "tree -olisting.txt",
        "date -s 2020-01-01",
        "date -s2020-01-01",
        "date --se=2020-01-01",
        "git branch --set-upstream-to=origin/main",
        "git branch --unset-upstream",
        "git branch --edit-description",
        "git diff --output=leak.txt",
        "git log --output leak.txt",
        "cat tally/count.py > copy.py",
        "cat tally/count.py | tee copy.py",
        "echo $(rm -r tally)",
        "ls `rm -r tally`",
        "ls; rm -r tally",
        "ls && curl example.com",
        "diff --from-file=/var/lib/misc/x tally/count.py",
        "grep -f /var/lib/misc/x tally/count.py",
        "cat ../outside/note.txt",
    ],
)
def test_a_line_that_does_more_than_read_the_project_is_not_run_unasked(tools: Caller, line: str) -> None:
    assert tools.verdict("bash", RESTRICTED, command=line) is not Verdict.ALLOW


def test_a_reading_program_told_to_run_another_goes_only_where_the_sandbox_holds_it(repo: Path) -> None:
    line = "rg --pre ./evil.sh words"
    assert Caller(repo, Sandbox.NONE).verdict("bash", RESTRICTED, command=line) is Verdict.DENY
    assert Caller(repo, Sandbox.PARTIAL).verdict("bash", RESTRICTED, command=line) is Verdict.ASK


@pytest.mark.parametrize(
    "line",
    [
        "ls -la tally",
        "head -n 3 tally/count.py",
        "date -u +%Y",
        "git status",
        "git branch --list --all",
        "git diff HEAD -- tally",
        "cat tally/count.py | wc -l",
    ],
)
def test_a_line_that_only_reads_the_project_needs_no_question(tools: Caller, line: str) -> None:
    assert tools.verdict("bash", RESTRICTED, command=line) is Verdict.ALLOW
