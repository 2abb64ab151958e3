"""This machine's own addresses, all of them, are no way from a sandbox with a network back to this machine's ports.

The machine is a network namespace of the test's own, with two interfaces, a range of local addresses and IPv6. Its
ports listen on every address, as a database or a server under development does.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.attacks.test_own_network import usable

pytestmark = pytest.mark.system("bwrap")
MACHINE = """
set -e
ip link set lo up
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad || true  # addresses are there at once
ip link add e0 type veth peer name w0; ip link add e1 type veth peer name w1
for each in e0 w0 e1 w1; do ip link set $each up; done
ip addr add 192.0.2.2/24 dev e0; ip addr add fd00::2/64 dev e0 nodad
ip route add default via 192.0.2.1; ip -6 route add default via fd00::1 dev e0
ip addr add 172.31.0.1/16 dev e1; ip addr add fd31::1/64 dev e1 nodad
ip route add local 10.9.0.0/16 dev lo
exec "$@"
"""
HOSTS = ("192.0.2.2", "172.31.0.1", "10.9.0.7", "127.0.0.1", "127.9.9.9", "::ffff:172.31.0.1")
HOSTS_6 = ("fd00::2", "fd31::1", "::1")
KNOCK = r"""
import os, socket, struct, sys
from concurrent.futures import ThreadPoolExecutor
port = int(sys.argv[1])
links = {"lo": 1} | dict((name, number) for number, name in socket.if_nameindex())
def bound(one, name, family): one.setsockopt(socket.SOL_SOCKET, 25, name.encode())  # SO_BINDTODEVICE
def by_index(one, name, family): one.setsockopt(socket.SOL_SOCKET, 62, links[name])  # SO_BINDTOIFINDEX
def unicast(one, name, family):  # IP_UNICAST_IF, IPV6_UNICAST_IF
    if family == socket.AF_INET: one.setsockopt(0, 50, struct.pack("!I", links[name]))
    else: one.setsockopt(41, 76, struct.pack("!I", links[name]))
def plain(one, name, family): pass
def direct(one, name, family): one.setsockopt(socket.SOL_SOCKET, 5, 1)  # SO_DONTROUTE
def knock(way):
    how, name, kind, host = way
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    said = f"{how.__name__} {name} {kind.name} {host}"
    with socket.socket(family, kind) as one:
        one.settimeout(0.7)
        try:
            how(one, name, family)
            where = (host, port, 0, links[name]) if host.startswith("fe80") else (host, port)
            if kind == socket.SOCK_STREAM:
                one.connect(where)
                one.sendall(said.encode())
            else:
                one.sendto(said.encode(), where)
                if family == socket.AF_INET:  # and once more by what goes with the message
                    goes = [(0, 8, struct.pack("iII", links[name], 0, 0))]  # IP_PKTINFO
                else:
                    goes = [(41, 50, bytes(16) + struct.pack("I", links[name]))]  # IPV6_PKTINFO
                one.sendmsg([b"with info " + said.encode()], goes, 0, where)
            return f"{said}: sent"
        except OSError as error:
            return f"{said}: {error}"
ways = [
    (how, name, kind, host)
    for how in (plain, bound, by_index, unicast, direct)
    for name in (links if how not in (plain, direct) else [n for n in links if n != "lo"][:1])
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
    for host in sys.argv[2:]
]
with ThreadPoolExecutor(len(ways)) as pool:
    print(*pool.map(knock, ways), sep="\n")
print("links", *links)
"""
LATER = r"""
import socket, sys
print("started", flush=True)
open("started", "w").close()
while "172.31.0.9" not in open("/proc/net/fib_trie").read():
    pass
with socket.socket() as one:
    one.settimeout(5)
    print("said", one.connect_ex(("172.31.0.9", int(sys.argv[1]))))
"""
INSIDE = """
import sys
from pathlib import Path
from tests.attacks import test_own_addresses
getattr(test_own_addresses, sys.argv[1])(Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
"""


def attack(repo: Path, network: str, hosts: list[str]) -> None:
    """Run in the namespace: prints what the command said, and all that came to the ports."""
    import selectors
    import socket

    from tests.attacks.test_own_network import Inside

    tcp = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=500)
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    udp.bind(("::", port))
    links = [line.split() for line in Path("/proc/net/if_inet6").read_text().splitlines()]
    hosts += [socket.inet_ntop(socket.AF_INET6, bytes.fromhex(line[0])) for line in links if line[3] == "20"]
    came: list[str] = []
    over = threading.Event()

    def serve() -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(tcp, selectors.EVENT_READ)
            selector.register(udp, selectors.EVENT_READ)
            while not over.is_set():
                for key, _ in selector.select(0.05):
                    if key.fileobj is udp:
                        came.append(repr(udp.recv(500)))
                        continue
                    visitor, whence = tcp.accept()
                    with visitor:
                        visitor.settimeout(2)
                        came.append(f"{whence[0]} {visitor.recv(500)!r}")

    thread = threading.Thread(target=serve)
    thread.start()
    with socket.create_connection(("172.31.0.1", port)) as one:  # it can be reached from here
        one.sendall(b"from here")
    done = Inside(repo, (network,))("/usr/bin/python3", "-c", KNOCK, str(port), *hosts)
    over.set()
    thread.join()
    print(done.output)
    print("CAME", *came, sep="\n")


def attack_later(repo: Path, network: str, _: list[str]) -> None:
    """The same, by an address that the machine gets while the command runs."""
    import socket

    from tests.attacks.test_own_network import Inside

    def new_address() -> None:
        while not (repo / "started").exists():
            pass
        subprocess.run(("ip", "addr", "add", "172.31.0.9/16", "dev", "e1"), check=True)

    with socket.create_server(("", 0)) as door:
        thread = threading.Thread(target=new_address)
        thread.start()
        print(Inside(repo, (network,))("/usr/bin/python3", "-c", LATER, str(door.getsockname()[1])).output)
        thread.join()
        door.setblocking(False)
        try:
            print("CAME", door.accept()[1])
        except BlockingIOError:
            print("nobody came")


@pytest.fixture(params=["pasta", "slirp4netns"])
def network(request: pytest.FixtureRequest) -> str:
    found = [path for path in usable() if os.path.basename(path) == request.param]
    if not found:
        pytest.skip(f"needs {request.param} and /dev/net/tun")
    return found[0]


def in_a_machine(*argv: str) -> subprocess.CompletedProcess[str]:
    own = ("--net",) if os.geteuid() == 0 else ("--user", "--map-root-user", "--net")
    unshare, ip = shutil.which("unshare"), shutil.which("ip")
    if not unshare or not ip:
        pytest.skip("needs unshare and ip")
    words = (unshare, *own, "/bin/sh", "-c", MACHINE, "sh", *argv)
    return subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120)


def test_no_address_of_this_machine_leads_to_its_ports(repo: Path, network: str) -> None:
    done = in_a_machine(sys.executable, "-c", INSIDE, "attack", str(repo), network, *HOSTS, *HOSTS_6)
    assert "links lo" in done.stdout, done.stdout + done.stderr
    said, _, came = done.stdout.partition("CAME\n")
    assert [line for line in came.splitlines() if "from here" not in line] == [], said
    assert "from here" in came


def test_an_address_that_this_machine_gets_later_does_not_either(repo: Path, network: str) -> None:
    done = in_a_machine(sys.executable, "-c", INSIDE, "attack_later", str(repo), network)
    assert "said 111" in done.stdout, done.stdout + done.stderr
    assert "nobody came" in done.stdout
