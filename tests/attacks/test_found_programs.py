"""What the sandbox shows, and what runs on the host, is not for the repository or an entry of PATH to say."""

import os

import pytest

from tests.attacks.running import Attacker, bash, call
from tests.attacks.world import World, put

BWRAP = pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
ROOT = pytest.mark.parametrize("user_name", ["root"], indirect=True)
USUAL = "/usr/local/bin:/usr/bin:/bin"
FAKES = ("git", "bwrap", "python3", "python", "rg", "gh", "node", "sh", "bash", "setpriv", "codex", "claude", "ssh")


@BWRAP
def test_an_entry_of_path_shows_nothing_but_itself(world: World, attacker: Attacker) -> None:
    for tool, file in ((".pulumi", "credentials.json"), (".fly", "config.yml"), ("tools/kit", "secret.txt")):
        put(world.home / tool / "bin/tool", "#!/bin/sh\n", executable=True)
        put(world.home / tool / file, world.canary(f"~/{tool}/{file}"))
    lines = ["import os", "for path in ('~/.pulumi/credentials.json', '~/.fly/config.yml', '~/tools/kit/secret.txt'):"]
    lines += ["    try:", "        print(open(os.path.expanduser(path)).read())"]
    lines += ["    except OSError as error:", "        print(error)"]
    put(world.project / "peek.py", "\n".join(lines))
    home = world.home
    path = f"{home}/.pulumi/bin:{home}/.fly/bin:{home}/tools/kit/bin:{USUAL}"
    outcome = attacker.session(bash("python3 peek.py"), PATH=path)
    assert outcome.verdicts == ["allow"]
    assert world.untouched(outcome.said) == [], outcome.texts


@BWRAP
@ROOT
@pytest.mark.parametrize("entry", ["{home}", "/", "", ".."])
def test_an_odd_entry_of_path_shows_nothing(world: World, attacker: Attacker, entry: str) -> None:
    lines = ["import os", "for path in ('~/.ssh/id_rsa', '~/.config/gh/hosts.yml', '~/notes.txt'):"]
    lines += ["    try:", "        print(open(os.path.expanduser(path)).read())"]
    lines += ["    except OSError as error:", "        print(error)"]
    put(world.project / "peek.py", "\n".join(lines))
    outcome = attacker.session(bash("python3 peek.py"), PATH=f"{entry.format(home=world.home)}:{USUAL}")
    assert world.untouched(outcome.said) == [], outcome.texts


@ROOT
@pytest.mark.parametrize(("sandbox", "surface"), [("bwrap", "tui"), ("none", "headless")], indirect=["sandbox"])
@pytest.mark.parametrize("entry", ["./node_modules/.bin", "{project}/node_modules/.bin", ""])
def test_a_program_of_the_projects_is_not_what_runs_on_the_host(
    world: World, attacker: Attacker, entry: str, surface: str
) -> None:
    world.make_repository()
    for name in FAKES:
        program = f"#!/bin/sh\n{world.program(name)}\nexit 1\n"
        put(world.project / "node_modules/.bin" / name, program, executable=True)
        put(world.project / name, program, executable=True)
    path = f"{entry.format(project=world.project)}:{USUAL}"
    outcome = attacker.session(
        call("Write", file_path="new.txt", content="new"), call("git_status"), surface=surface, PATH=path
    )
    outcome += attacker.opens("doctor", PATH=path)
    assert world.untouched(outcome.said) == [], outcome.texts


READ_KEY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
SEARCH, READ, LINK = 10, 11, 8
buffer = ctypes.create_string_buffer(1000)
for ring in (-1, -2, -3, -4, -5):
    serial = libc.syscall(250, SEARCH, ring, b"user", b"quintet-attack", 0)
    got = libc.syscall(250, READ, serial, buffer, 1000) if serial > 0 else -1
    print(ring, serial, buffer.raw[:got] if got > 0 else ctypes.get_errno())
try:
    print(open("/proc/keys").read())
    serials = [int(line.split()[0], 16) for line in open("/proc/keys")]
    for serial in serials:
        got = libc.syscall(250, READ, serial, buffer, 1000)
        print(serial, buffer.raw[:got] if got > 0 else ctypes.get_errno())
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="needs x86_64: system calls by number")
@pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root"), ("partial", "root")], indirect=True)
def test_the_session_keyring_is_not_handed_in(world: World, sandbox: str, user_name: str) -> None:
    from tests.attacks.hatchery import Hatchery, me

    secret = world.canary("session keyring")
    code = (
        "import ctypes, os, sys; libc = ctypes.CDLL(None)\n"
        "assert libc.syscall(250, 1, None) > 0\n"  # a session keyring of this process alone
        f"assert libc.syscall(248, b'user', b'quintet-attack', {secret.encode()!r}, {len(secret)}, -3) > 0\n"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
    )
    user = me()
    keyed = Hatchery(type(user)(user.name, user.uid, (*user.python, "-c", code), user.env))
    put(world.project / "read_key.py", READ_KEY)
    try:
        outcome = Attacker(world, keyed, sandbox).session(bash("python3 read_key.py"))
    finally:
        keyed.close()
    assert world.untouched(outcome.said) == [], outcome.texts
