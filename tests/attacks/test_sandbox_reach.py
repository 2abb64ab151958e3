"""What a command reaches from behind the walls: other repositories, keys of the kernel's, sockets, folders on PATH."""

import asyncio
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.attacks.world import make_repository, put
from tests.looking import put_up_a_room_at_once
from tests.tools.calling import Caller

EXECUTE, COMMIT, NETWORK = Effect.EXECUTE, Effect.COMMIT, Effect.NETWORK
BWRAP = pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap"))
KEPT = pytest.param("kept", marks=pytest.mark.system("bwrap"))
GIT = "git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always"


class Inside:
    def __init__(self, root: Path, kind: Sandbox | str) -> None:
        self.root, self.kept = root, kind == "kept"
        self.containment = Caller(root, Sandbox.BWRAP if self.kept else Sandbox(kind)).containment

    def __call__(self, line: str, *effects: Effect, writes: bool = True) -> Finished:
        grant = Grant(effects or (EXECUTE,), (str(self.root),) if writes else (), NETWORK in effects)

        async def run() -> Finished:
            processes = LocalProcesses(self.containment)
            try:
                if self.kept:
                    await put_up_a_room_at_once(processes, str(self.root), grant)
                return await processes.run(("bash", "-c", line), cwd=str(self.root), grant=grant, timeout=30)
            finally:
                await processes.close()

        return asyncio.run(run())


@pytest.fixture(params=[BWRAP, KEPT, Sandbox.PARTIAL])
def walled(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


@pytest.fixture(params=[BWRAP])
def inside(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


# ── planted `.git` files


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    put(folder / "diary", "dear diary")
    make_repository(folder)
    return folder


@pytest.mark.parametrize("planted", ["gitdir: {git}\n", "gitdir: ../../other/.git", "gitdir: {git}/worktrees/w\n"])
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)], ids=["execute", "commit"])
def test_a_planted_git_file_opens_no_other_repository(
    walled: Inside, other: Path, planted: str, effects: tuple[Effect, ...]
) -> None:
    subprocess.run(("git", "-C", str(other), "worktree", "add", "-q", str(other.parent / "w")), check=True)
    put(walled.root / "sub/.git", planted.format(git=other / ".git"))
    before = sorted(str(path) for path in (other / ".git").rglob("*"))
    walled(f"git --git-dir={other}/.git show HEAD:diary > seen; cat {other}/.git/HEAD >> seen", *effects)
    walled(f"echo x > {other}/.git/commondir; git --git-dir={other}/.git branch planted", *effects)
    assert (walled.root / "seen").read_text() == ""
    assert sorted(str(path) for path in (other / ".git").rglob("*")) == before


# ── repositories that appear


EVIL = r"printf '[core]\nfsmonitor = touch x\n'"
APPEARING = {
    "nested": f"mkdir -p v/.git/objects v/.git/refs; echo 'ref: refs/heads/m' > v/.git/HEAD; {EVIL} > v/.git/config",
    "a file": "mkdir v; echo 'gitdir: ../elsewhere' > v/.git",
    "a link": "mkdir v e; ln -s ../e v/.git",
    "made by git": "git init -q v && git -C v config core.fsmonitor 'touch x'",
    "a clone": f"{GIT} clone -q . v && echo '#!/bin/sh' > v/.git/hooks/post-checkout",
    "renamed": f"mkdir -p e/objects e/refs; echo 'ref: refs/heads/m' > e/HEAD; {EVIL} > e/config; mkdir v; mv e v/.git",
    "worktree config": f"{GIT} worktree add -q v && touch v/../.git/worktrees/v/config.worktree",
    "deep": f"mkdir -p a/b/v; cd a/b; mkdir -p v/.git/refs v/.git/objects; echo x > v/.git/HEAD; {EVIL} >v/.git/config",
    "with a commondir": "mkdir -p v/.git; echo 'ref: refs/heads/m' > v/.git/HEAD; echo ../../e > v/.git/commondir",
}


@pytest.mark.parametrize("name", APPEARING)
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)], ids=["execute", "commit"])
@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE])
def test_a_repository_that_appears_is_moved_aside(
    repo: Path, kind: Sandbox, name: str, effects: tuple[Effect, ...]
) -> None:
    done = Inside(repo, kind)(APPEARING[name], *effects)
    left = [str(path.relative_to(repo)) for path in repo.rglob(".git") if path != repo / ".git"]
    assert left == [], (done.output, done.notes)
    made = "execute" in effects and len(effects) == 1 and kind is not Sandbox.NONE
    assert done.notes or made, done.output  # git could not make it at all, or it was told


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize(
    "layout", ["mkdir -p d/objects d/refs; echo x > d/HEAD", "mkdir d; echo x > d/HEAD; echo ../e > d/commondir"]
)
def test_the_layout_of_a_bare_repository_does_not_stay(repo: Path, kind: Sandbox, layout: str) -> None:
    done = Inside(repo, kind)(f"{layout}; printf '[core]\\nfsmonitor = touch x\\n' > d/config")
    assert not (repo / "d/HEAD").exists()
    assert any("made d/HEAD." in note for note in done.notes)


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("line", ["git init -q v", f"{GIT} clone -q . v", f"{GIT} worktree add -q v"])
def test_what_git_makes_for_a_line_that_commits_stays(inside: Inside, line: str) -> None:
    done = inside(line, EXECUTE, COMMIT)
    assert (inside.root / "v/.git").exists(), (done.output, done.notes)


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize(
    "name", [".mcp.json", ".envrc", ".claude/settings.json", ".vscode/tasks.json", "sub/.mcp.json"]
)
def test_what_configures_an_agent_or_a_shell_and_appears_is_moved_aside(repo: Path, kind: Sandbox, name: str) -> None:
    done = Inside(repo, kind)(f"mkdir -p sub .claude .vscode; echo evil > {name}")
    assert not (repo / name).exists()
    assert done.notes


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", [".mcp.json", ".envrc", ".claude/settings.json", ".vscode/tasks.json", ".husky/x"])
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)], ids=["execute", "commit"])
def test_what_configures_an_agent_or_a_shell_is_read_only(
    inside: Inside, name: str, effects: tuple[Effect, ...]
) -> None:
    put(inside.root / name, "mine")
    top = name.split("/")[0]
    for line in (
        f"echo evil > {name}",
        f"rm -rf {top}; mkdir -p $(dirname {name}); echo evil > {name}",
        f"mv {top} e; echo evil > e; echo evil > e/{name.split('/')[-1]}; mv e {top}",
        f"mv {top} node_modules; mkdir node_modules; mv {top} node_modules/",
        f"echo evil > node_modules/{name}; echo evil > node_modules/{name.split('/')[-1]}; mv node_modules/{top} .",
    ):
        inside(line, *effects)
    found = [path.read_text() for path in inside.root.rglob(Path(name).name) if path.is_file()]
    assert "mine" in found
    assert not (inside.root / name).exists() or (inside.root / name).read_text() == "mine"


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("hidden", ["node_modules", ".venv", "venv/lib"])
def test_a_secret_moved_to_where_nobody_looks_stays_covered(inside: Inside, hidden: str) -> None:
    put(inside.root / "conf/.env", "TOKEN=hidden-word")
    inside("cat conf/.env")
    inside(f"mkdir -p {hidden}; mv conf {hidden}/")
    assert "hidden-word" not in inside(f"cat {hidden}/conf/.env conf/.env; grep -r hidden-word .").output
    assert (inside.root / hidden / "conf/.env").read_text() == "TOKEN=hidden-word"


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("line", ["mv x node_modules", "mkdir node_modules; mv x node_modules/"])
def test_a_repository_moved_to_where_nobody_looks_stays_read_only(inside: Inside, line: str) -> None:
    put(inside.root / "x/.git/config", "[core]\n")
    inside(line)
    inside("echo evil >> node_modules/.git/config; echo evil >> node_modules/x/.git/config")
    assert [path.read_text() for path in inside.root.glob("node_modules/**/.git/config")] == ["[core]\n"]


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", ["commondir", "config.worktree", "objects/info/alternates", "modules/m/config"])
def test_a_line_that_commits_does_not_say_where_git_looks(inside: Inside, name: str) -> None:
    put(inside.root / ".git/modules/m/HEAD", "ref: refs/heads/m\n")
    put(inside.root / ".git/modules/m/config", "[core]\n")
    inside(f"mkdir -p .git/objects/info; echo evil >> .git/{name}", EXECUTE, COMMIT)
    path = inside.root / ".git" / name
    assert not path.exists() or "evil" not in path.read_text()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize(("key", "value"), [("core.hooksPath", "scripts/hooks"), ("include.path", "../scripts/hooks")])
def test_hooks_and_settings_that_git_takes_from_the_tree_are_read_only(inside: Inside, key: str, value: str) -> None:
    put(inside.root / "scripts/hooks/pre-commit", "mine")
    subprocess.run(("git", "-C", str(inside.root), "config", key, value), check=True)
    inside("echo evil > scripts/hooks/pre-commit; mv scripts/hooks scripts/h; echo evil > scripts/h/pre-commit")
    assert [path.read_text() for path in inside.root.glob("scripts/*/pre-commit")] == ["mine"]


# ── the kernel


@pytest.mark.parametrize("kind", [BWRAP, KEPT])
def test_no_process_that_is_seen_stands_outside_the_walls(repo: Path, kind: Sandbox | str) -> None:
    """By its root, its folder, its namespace or a tracer, another process would be a way around every mount."""
    put(repo / ".env", "TOKEN=hidden-word")
    put(repo / ".mcp.json", "mine")
    put(
        repo / "trace.py",
        "import ctypes, os, signal\nlibc = ctypes.CDLL(None)\n"
        "print('first', libc.ptrace(16, 1, 0, 0), os.system('kill -9 1; kill -STOP 1'))\n",
    )
    inside = Inside(repo, kind)
    done = inside(
        "for p in /proc/[0-9]*; do cat $p/root$PWD/.env $p/cwd/.env; echo evil > $p/root$PWD/.mcp.json; "
        "nsenter -t ${p#/proc/} -m cat .env; ls $p/fd/ | wc -l; done; python3 trace.py; "
        "readlink /proc/[0-9]*/ns/mnt | sort -u | wc -l"
    )
    assert "hidden-word" not in done.output
    assert "first -1" in done.output
    assert done.output.splitlines()[-1] == "1", done.output
    assert (repo / ".mcp.json").read_text() == "mine"


def test_no_key_of_the_users_is_seen_and_no_call_to_keyrings_goes(walled: Inside) -> None:
    look = (
        "import ctypes,os\nlibc=ctypes.CDLL(None,use_errno=True)\n"
        "add,ctl={'x86_64':(248,250),'aarch64':(217,219)}[os.uname().machine]\n"
        "print(libc.syscall(add,b'user',b'key',b'canary',6,-3), libc.syscall(ctl,0,-3,0), libc.syscall(ctl,1,None))\n"
    )
    put(walled.root / "keys.py", look)
    assert walled("python3 keys.py").output == "-1 -1 -1\n"


REFUSED = {
    "io_uring": "libc.syscall(425,1,ctypes.create_string_buffer(120))",
    "bpf": "libc.syscall({'x86_64':321,'aarch64':280}[m],0,None,0)",
    "perf": "libc.syscall({'x86_64':298,'aarch64':241}[m],None,0,-1,-1,0)",
    "mount": "libc.mount(b'none',b'/tmp',b'tmpfs',0,None)",
    "user namespace": "libc.unshare(0x10000000)",
    "mount namespace": "libc.unshare(0x20000)",
    "userfaultfd": "libc.syscall({'x86_64':323,'aarch64':282}[m],0)",
    "fsopen": "libc.syscall(430,b'tmpfs',0)",
    "open_tree": "libc.syscall(428,-100,b'/',1)",
    "by handle": "libc.syscall({'x86_64':304,'aarch64':265}[m],-100,None,0)",
    "pidfd_getfd": "libc.syscall(438,0,0,0)",
    "clone3": "libc.syscall(435,None,0)",
    "setns": "libc.setns(0,0)",
    "x32": "libc.syscall(0x40000000+39) if m=='x86_64' else -1",
}


def test_what_could_go_around_a_wall_is_refused_by_the_kernel(walled: Inside) -> None:
    lines = [f"print({name!r}, {call})" for name, call in REFUSED.items()]
    put(walled.root / "calls.py", "import ctypes,os\nlibc=ctypes.CDLL(None)\nm=os.uname().machine\n" + "\n".join(lines))
    assert walled("python3 calls.py").output == "".join(f"{name} -1\n" for name in REFUSED)


def test_without_a_network_no_socket_leads_out(walled: Inside, tmp_path: Path) -> None:
    """Neither by a family nor by the path or name of a socket of the host's."""
    path = f"/tmp/door-{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(path)
        abstract.bind(f"\0door-{os.getpid()}")
        named.listen()
        abstract.listen()
        put(
            walled.root / "knock.py",
            "import socket\n"
            f"for family, name in ((1, {path!r}), (1, '\\0door-{os.getpid()}'), (2, ('127.0.0.1', 9)), (40, (2, 9))):\n"
            "    try:\n        socket.socket(family).connect(name); print('reached', name)\n"
            "    except OSError as error: pass\n"
            "a, b = socket.socketpair(); a.send(b'x'); print('a pair works')\n",
        )
        try:
            assert walled("python3 knock.py").output == "a pair works\n"
        finally:
            os.unlink(path)


@pytest.mark.system("bwrap")
def test_programs_of_every_day_work_behind_the_filter(inside: Inside) -> None:
    lines = [
        "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'",
        "python3 -c 'import threading; t=threading.Thread(target=print, args=(1,)); t.start(); t.join()'",
        "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'",
        "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.bind('/tmp/own'); s.listen()\"",
        "git status --short && git log --oneline",
        "seq 3 | sort -r | head -1; mkfifo /tmp/p; timeout 1 true",
    ]
    if shutil.which("node"):
        lines.append("node -e \"require('child_process').fork('-e', []).on('exit', () => 0); console.log(1)\"")
    if shutil.which("strace"):
        lines.append("strace -f -o /tmp/trace true && test -s /tmp/trace")
    for line in lines:
        done = inside(line)
        assert done.exit_code == 0, (line, done.output)


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize("name", [".quintet", ".claude", ".vscode", "sub/.vscode", ".github", "sub/.git"])
def test_what_a_planted_link_leads_to_is_not_moved(repo: Path, tmp_path: Path, kind: Sandbox, name: str) -> None:
    """Moving aside goes by handles: it takes the link, and nothing of the folder outside that it names."""
    files = ("settings.toml", "tools/a.py", "agents/a.md", "tasks.json", "config", "HEAD", "hooks/post-commit")
    for file in files:
        put(tmp_path / "outside" / file, "kept")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "outside").rglob("*")}
    inside = Inside(repo, kind)
    inside(f"mkdir -p sub; rm -rf {name}; ln -s {tmp_path}/outside {name}")
    inside("true")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "outside").rglob("*")} == before
    assert not (repo / name).is_symlink()


# ── PATH


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL])
def test_beside_a_folder_on_path_nothing_is_shown(
    repo: Path, tmp_path: Path, kind: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    places = [home / ".fly", home / ".pulumi", tmp_path / "app", home / ".local", home / "sdk"]
    for place in places:
        put(place / "bin/tool", "#!/bin/sh\necho a tool\n", executable=True)
        put(place / "config.yml", "token: hidden-word")
        put(place / "share/keyrings/x", "hidden-word")
    monkeypatch.setenv("PATH", ":".join([*(str(place / "bin") for place in places), os.environ["PATH"]]))
    inside = Inside(repo, kind)
    assert inside("tool").output == "a tool\n"
    shown = inside(
        "".join(f"cat {place}/config.yml {place}/share/keyrings/x {place}/bin/../config.yml;" for place in places)
    )
    assert "hidden-word" not in shown.output


NOT_FOR_PROGRAMS = (  # a folder of the home on PATH, and a file that it would show
    (".ssh/", ".ssh/id_rsa"),
    (".ssh/bin", ".ssh/bin/id_rsa"),
    (".ssh/shims", ".ssh/id_dsa"),
    ("../home/.aws/.", ".aws/credentials"),
    ("link", ".kube/config"),
    (".config", ".config/app.toml"),
    (".config/gh", ".config/gh/hosts.yml"),
    (".gnupg", ".gnupg/secring.gpg"),
    (".thunderbird/profile", ".thunderbird/profile/logins.json"),
    (".config/quintet", ".config/quintet/settings.toml"),
    (".local/share", ".local/share/keyrings/login.keyring"),
    (".local", ".local/state/notes"),
    (".", "notes.txt"),
)


@pytest.mark.parametrize("kind", [BWRAP, Sandbox.PARTIAL])
def test_a_folder_on_path_that_is_not_for_programs_is_not_shown(
    repo: Path, kind: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    for _, file in NOT_FOR_PROGRAMS:
        put(home / file, f"hidden in {file}")
    (home / "link").symlink_to(".kube")
    for entry, _ in NOT_FOR_PROGRAMS:
        (home / entry).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("PATH", ":".join([*(f"{home}/{entry}" for entry, _ in NOT_FOR_PROGRAMS), os.environ["PATH"]]))
    assert "hidden" not in Inside(repo, kind)("".join(f"cat {home}/{file};" for _, file in NOT_FOR_PROGRAMS)).output


@pytest.mark.system("bwrap")
def test_a_virtual_environment_on_path_works_whole(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "env/pyvenv.cfg", "home = /usr/bin\n")
    put(tmp_path / "env/bin/tool", "#!/bin/sh\ncat $(dirname $0)/../lib/data\n", executable=True)
    put(tmp_path / "env/lib/data", "its data\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'env/bin'}:{os.environ['PATH']}")
    assert Inside(repo, Sandbox.BWRAP)("tool").output == "its data\n"


def test_a_network_is_the_internet_and_no_other_family(walled: Inside) -> None:
    code = (
        "import socket\nfor family in range(1, 46):\n"
        "    try: socket.socket(family, socket.SOCK_DGRAM).close()\n"
        "    except PermissionError: continue\n    except OSError: pass\n    print(family, end=' ')"
    )
    local = "" if walled.containment.kind is Sandbox.PARTIAL else "1 "
    assert walled(f'/usr/bin/python3 -c "{code}"', NETWORK).output == f"{local}2 10 16 "
    assert walled(f'/usr/bin/python3 -c "{code}"').output == f"{local}16 "


ATTRIBUTES = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
path = sys.argv[1]
handle = os.open(path, os.O_RDONLY)
ways = {
    "chmod": lambda: os.chmod(path, 0o640),
    "fchmod": lambda: os.fchmod(handle, 0o640),
    "fchmodat2": lambda: libc.syscall(452, -100, path.encode(), 0o640, 0) and os.chmod(path, 0o640),
    "chown": lambda: os.chown(path, os.getuid(), os.getgid()),
    "fchown": lambda: os.fchown(handle, os.getuid(), os.getgid()),
    "lchown": lambda: os.lchown(path, os.getuid(), os.getgid()),
    "utime": lambda: os.utime(path, (1, 1)),
    "futimens": lambda: os.utime(handle, (1, 1)),
    "setxattr": lambda: os.setxattr(path, "user.q", b"1"),
    "fsetxattr": lambda: os.setxattr(handle, "user.q", b"1"),
    "lsetxattr": lambda: os.setxattr(path, "user.q", b"1", follow_symlinks=False),
    "removexattr": lambda: os.removexattr(path, "user.q"),
}
for name, way in ways.items():
    try:
        way()
    except OSError:
        continue
    print("DID", name)
print("over")
"""


def test_a_line_that_reads_changes_no_mode_time_or_attribute_anywhere(walled: Inside, tmp_path: Path) -> None:
    outside, inside = put(tmp_path / "diary.txt", "x"), put(walled.root / "in.txt", "x")
    script = put(walled.root / "t.py", ATTRIBUTES)
    before = [(os.stat(path).st_mode, os.stat(path).st_mtime_ns) for path in (outside, inside)]
    for path in (outside, inside):
        os.chmod(path, 0o644)
        done = walled(f"/usr/bin/python3 {script} {path}", Effect.READ, writes=False)
        assert "DID" not in done.output, done.output
    assert [(os.stat(path).st_mode, os.stat(path).st_mtime_ns) for path in (outside, inside)] == before


def test_what_makes_semaphores_and_changes_modes_works_in_a_command_that_writes(walled: Inside) -> None:
    code = (
        "import multiprocessing as m, os; m.Lock(); open('n', 'w').close(); os.chmod('n', 0o600); os.utime('n', (1, 1))"
    )
    assert walled(f'/usr/bin/python3 -c "{code}" && echo works').output == "works\n"
