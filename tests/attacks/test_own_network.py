"""The network of a command that has one: not this machine's, where a program can give it one of its own."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.adapters import sandbox
from quintet.adapters.processes.background_shells import BackgroundShells
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox.bubblewrap import Bubblewrap
from quintet.adapters.sandbox.containment import SandboxSetup
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.ports.ports import Finished
from tests.attacks.listening import Doors
from tests.looking import put_up_a_room_at_once

pytestmark = pytest.mark.system("bwrap")
KNOCK = r"""
import os, socket, sys
from concurrent.futures import ThreadPoolExecutor
def knock(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(1)
        try:
            one.connect(address)
            one.send(b"GET / HTTP/1.0\r\n\r\n")
            return one.recv(999)
        except OSError as error:
            return str(error).encode()
port, abstract = int(sys.argv[1]), sys.argv[2]
gateways = [l.split()[2] for l in open("/proc/net/route") if l.split()[1] == "00000000"]
hosts = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "10.0.2.2", "10.0.2.3", "10.0.2.255", "169.254.1.1"]
hosts += [socket.inet_ntoa(bytes.fromhex(g)[::-1]) for g in gateways]
ways = [(socket.AF_INET, kind, (host, port)) for host in hosts for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
ways += [(socket.AF_INET6, socket.SOCK_STREAM, (host, port)) for host in ("::1", "::ffff:127.0.0.1", "fe80::2")]
ways += [(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)]
with ThreadPoolExecutor(len(ways)) as pool:
    print(*pool.map(lambda way: (way, knock(*way)), ways), sep="\n")
print("routes", len(gateways))
"""


def usable() -> list[str]:
    return list(sandbox.networks())


def setup(root: Path, networks: tuple[str, ...]) -> SandboxSetup:
    place = str(root.parent / "scratch")
    return SandboxSetup(str(root), (), place, 0, PROTECTION, networks)


class Inside:
    def __init__(self, root: Path, networks: tuple[str, ...], *, kept: bool = False) -> None:
        self.root, self.kept = root, kept
        self.grant = Grant((Effect.EXECUTE, Effect.NETWORK), (str(root),), network=True)
        self.containment = Bubblewrap(setup(root, networks))

    def __call__(self, *argv: str) -> Finished:
        async def run() -> Finished:
            processes = LocalProcesses(self.containment)
            try:
                if self.kept:
                    await put_up_a_room_at_once(processes, str(self.root), self.grant)
                return await processes.run(argv, cwd=str(self.root), grant=self.grant, timeout=60)
            finally:
                await processes.close()

        return asyncio.run(run())


@pytest.fixture(params=["pasta", "slirp4netns"])
def network(request: pytest.FixtureRequest) -> str:
    found = [path for path in usable() if os.path.basename(path) == request.param]
    if not found:
        pytest.skip(f"needs {request.param} and /dev/net/tun")
    return found[0]


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    made = Doors(tmp_path, "canary-of-a-door")
    yield made
    made.close()


def running(program: str) -> set[int]:
    """Processes of this program below this one, and orphans of it."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == os.fsencode(program):
            found.add(int(name))
    return found


@pytest.mark.parametrize("kept", [False, True], ids=["once", "kept"])
def test_a_network_does_not_lead_to_this_machine_itself(repo: Path, network: str, doors: Doors, kept: bool) -> None:
    before = running(network)
    done = Inside(repo, (network,), kept=kept)("/usr/bin/python3", "-c", KNOCK, str(doors.port), doors.abstract)
    assert doors.came == [], done.output
    assert "canary-of-a-door" not in done.output
    assert "routes 1" in done.output, done.output
    while running(network) - before:  # it ends with the sandbox, a moment later
        pass


def test_it_has_a_loopback_and_a_name_server_of_its_own(repo: Path, network: str) -> None:
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname());"
        "print('own loopback'); print(open('/etc/resolv.conf').read()); print(open('/proc/net/dev').read())"
    )
    done = Inside(repo, (network,))("/usr/bin/python3", "-c", code)
    assert "own loopback" in done.output
    assert "nameserver 10.0.2.3\n" in done.output
    assert len([line for line in done.output.splitlines() if ":" in line and "|" not in line]) == 2


def test_what_listens_inside_is_not_reached_from_outside(repo: Path, network: str) -> None:
    async def knocked() -> tuple[str, int]:
        shells = BackgroundShells(Inside(repo, (network,)).containment, str(repo.parent))
        with socket.create_server(("127.0.0.1", 0)) as spare:
            port = spare.getsockname()[1]
        code = f"import socket; s = socket.create_server(('', {port})); print('listens', flush=True); s.accept()"
        grant = Grant((Effect.EXECUTE, Effect.NETWORK), (str(repo),), network=True)
        name = await shells.start("", ("/usr/bin/python3", "-c", code), call=None, cwd=str(repo), grant=grant)  # type: ignore[arg-type]
        text = ""
        while "listens" not in text:
            await asyncio.sleep(0.02)
            printed, ended = shells.read(name)
            text += printed
            assert ended is None, text
        with socket.socket() as one:
            answer = one.connect_ex(("127.0.0.1", port))
        await shells.close()
        return text, answer

    text, answer = asyncio.run(knocked())
    assert "listens" in text
    assert answer != 0


@pytest.mark.parametrize("programs", [("/bin/false",), ("/bin/false", "/nowhere/pasta")])
def test_without_its_network_nothing_runs(repo: Path, doors: Doors, programs: tuple[str, ...]) -> None:
    with pytest.raises(ToolFailed, match=r"nothing was run.*no network could be attached.*sandbox.loopback"):
        Inside(repo, programs)("/usr/bin/python3", "-c", KNOCK, str(doors.port), doors.abstract)
    assert doors.came == []


def test_the_next_program_is_tried(repo: Path, network: str) -> None:
    assert Inside(repo, ("/bin/false", network))("/bin/echo", "ran").output == "ran\n"


ENDED = """
import asyncio, os, sys
from pathlib import Path
from tests.attacks.test_own_network import Inside
inside = Inside(Path(sys.argv[1]), (sys.argv[2],))
inside("/bin/sh", "-c", "echo > started; sleep 600")
"""


def test_nothing_is_left_when_quintet_is_killed(repo: Path, network: str) -> None:
    before = running(network)
    quintet = subprocess.Popen((sys.executable, "-c", ENDED, str(repo), network), cwd=Path(__file__).parents[2])
    while not (repo / "started").exists():
        assert quintet.poll() is None
    mine = running(network) - before
    assert mine
    handles = [os.pidfd_open(process) for process in mine]
    quintet.send_signal(signal.SIGKILL)
    quintet.wait()
    for handle in handles:
        asyncio.run(_ended(handle))


async def _ended(handle: int) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(handle, over.set)
    await over.wait()
    asyncio.get_running_loop().remove_reader(handle)
    os.close(handle)


def test_what_is_said_is_what_is_so(tmp_path: Path) -> None:
    assert sandbox.loopback_open(Sandbox.BWRAP, "open")
    assert sandbox.loopback_open(Sandbox.PARTIAL, "closed")
    assert sandbox.loopback_open(Sandbox.BWRAP, "closed") == (not usable())
