"""The sandbox of macOS: its profile says what the grant says, anywhere; what it keeps closed, where there is one."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quintet.adapters.sandbox import confine
from quintet.adapters.sandbox.containment import SandboxSetup
from quintet.adapters.sandbox.seatbelt import Seatbelt
from quintet.adapters.sandbox.seatbelt_profile import SANDBOX_EXEC, profile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.protected_paths import PROTECTION
from tests.looking import a_while, alive

READ, EXECUTE, COMMIT, NETWORK = Effect.READ, Effect.EXECUTE, Effect.COMMIT, Effect.NETWORK
Rules = list[tuple[str, str, list[str]]]


def rules(text: str) -> Rules:
    """Verdict, operations and paths of each rule about files."""
    found = re.findall(r"^\((allow|deny) (file[^\n]*)\n((?:  \(subpath .*\)\n)+)\)$", text, re.M)
    return [(verdict, what, re.findall(r'subpath "(.*)"\)', paths)) for verdict, what, paths in found]


def may(text: str, what: str, path: str) -> bool:
    """What the last rule says that fits: so the system decides."""
    verdict = "deny"
    for found, operations, paths in rules(text):
        if f"{what}*" in operations.split() and any(path == one or path.startswith(one + "/") for one in paths):
            verdict = found
    return verdict == "allow"


@pytest.fixture
def contained(repo: Path, tmp_path: Path) -> Callable[[Grant], str]:
    own = tmp_path / "own"
    own.mkdir()
    (repo / ".env").write_text("TOKEN=1")
    setup = SandboxSetup(str(repo), (str(own),), str(tmp_path / "scratch"), 0, PROTECTION)

    def made(grant: Grant) -> str:
        containment = Seatbelt(setup)
        launch = containment.launch(("true",), str(repo), grant)
        containment.settle(launch)
        place = launch.argv.index(SANDBOX_EXEC)
        assert launch.argv[place + 1] == "-p" and launch.argv[place + 3 :] == ("true",) == launch.command
        return launch.argv[place + 2]

    return made


def test_a_profile_allows_what_the_grant_does_and_no_more(
    contained: Callable[[Grant], str], repo: Path, tmp_path: Path
) -> None:
    reads, writes = contained(Grant((READ,))), contained(Grant((EXECUTE,), (str(repo),)))
    commits = contained(Grant((EXECUTE, COMMIT), (str(repo),)))
    table = [
        (reads, "file-read", "tally/count.py", True),
        (reads, "file-write", "tally/count.py", False),
        (writes, "file-write", "tally/count.py", True),
        (writes, "file-write", ".git/config", False),
        (writes, "file-read", ".git/config", True),
        (commits, "file-write", ".git/index", True),
        (commits, "file-read", ".env", False),
        (writes, "file-write", ".env", False),
        (commits, "file-read", str(tmp_path / "own/rules"), False),
        (commits, "file-write", str(tmp_path / "sibling"), False),
        (commits, "file-read", os.path.expanduser("~/.ssh/id_rsa"), False),
        (commits, "file-write", os.path.expanduser("~/.zshrc"), False),
    ]
    real = os.path.realpath(repo)
    wrong = [(what, path) for text, what, path, wanted in table if may(text, what, os.path.join(real, path)) != wanted]
    assert wrong == []


def test_a_profile_opens_the_network_only_with_a_grant_for_it(contained: Callable[[Grant], str]) -> None:
    assert "network" not in contained(Grant((EXECUTE,)))
    assert "(allow network*)" in contained(Grant((NETWORK,), network=True))


def test_a_link_in_the_project_is_not_written_through(contained: Callable[[Grant], str], repo: Path) -> None:
    (repo / "way").symlink_to("/")
    text = contained(Grant((EXECUTE,), (str(repo / "way"),)))
    assert not may(text, "file-write", "/etc/hosts") and not may(text, "file-write", f"{repo}/tally/count.py")


def test_no_path_ends_a_rule_and_begins_another() -> None:
    text = profile(['/a"))(allow default)(x "', "/b\\", "/c\n(allow default)"], [], network=False)
    assert '(subpath "/a\\"))(allow default)(x \\"")' in text and '(subpath "/b\\\\")' in text
    assert not re.search(r"^\(allow default", text, re.M) and text.startswith("(version 1)\n(deny default)\n")
    quiet = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert quiet.count("(") == quiet.count(")")


# The parent of a command on systems without prctl, by this system's groups.
ELSEWHERE = "import os, sys; del os.pidfd_open; exec(compile(open(sys.argv.pop(1)).read(), 'confine.py', 'exec'))"
PORTABLE = (sys.executable, "-c", ELSEWHERE, confine.__file__)


@pytest.mark.parametrize(("how", "line", "code"), [("bound", "exit 7", 7), ("watch", "kill -9 $$", 137)])
def test_elsewhere_a_command_has_its_own_exit_code(how: str, line: str, code: int) -> None:
    said = subprocess.run([*PORTABLE, "-", how, "sh", "-c", f"echo out; {line}"], capture_output=True, timeout=60)
    assert (said.returncode, said.stdout) == (code, b"out\n"), said.stderr


def test_elsewhere_nothing_of_the_group_outlives_the_call() -> None:
    long = a_while()
    assert subprocess.run([*PORTABLE, "-", "bound", "sh", "-c", f"sleep {long} & true"], timeout=60).returncode == 0
    assert not alive("sleep", long)


@pytest.mark.parametrize("how", ["killed", "left"])
def test_elsewhere_a_command_ends_with_who_wanted_it(how: str) -> None:
    reads, writes = os.pipe()
    long = a_while()
    line = f"echo begun; exec sleep {long}"
    words = [*PORTABLE, str(writes), "bound", "sh", "-c", line]
    with subprocess.Popen(words, pass_fds=(writes,), stdout=subprocess.PIPE) as parent:
        os.close(writes)
        assert parent.stdout and parent.stdout.readline() == b"begun\n"
        if how == "killed":
            parent.send_signal(signal.SIGKILL)
        os.close(reads)
        assert parent.wait(60) in (-signal.SIGKILL, 137)
    assert not alive("sleep", long)


# On macOS itself.


@pytest.mark.skipif(sys.platform != "darwin", reason="needs macOS")
@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("cat tally/count.py", True),
        ("echo x > new && test -s new", True),
        ("echo x > ../new", False),
        ("echo x > ~/.zshrc", False),
        ("echo x > .git/config", False),
        ("cat .env", False),
        ("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 9), 2)' 2>&1 | grep -q refused", False),
    ],
)
def test_on_macos_the_system_holds_to_the_profile(
    contained: Callable[[Grant], str], repo: Path, line: str, works: bool
) -> None:
    text = contained(Grant((EXECUTE,), (str(repo),)))
    said = subprocess.run([SANDBOX_EXEC, "-p", text, "/bin/sh", "-c", line], cwd=repo, capture_output=True, timeout=60)
    assert (said.returncode == 0) == works, said.stderr
