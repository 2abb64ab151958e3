"""Use repositories in 26 states, with commit hooks, signing and git-lfs, and print the table.

scripts/check git [--from FOLDER] [--only STATE]: makes each repository in a temporary folder and opens a session's
tools on it. Reading tools and the checkpoints of a write must leave git's folder as it is, to the byte, and a rewind
the work tree; then a file is added, unstaged, staged and committed, a branch is made and gone to. pre-commit is
installed with pip (or taken from a folder in which it is), ssh and gpg keys are made for the check, git-lfs is used
where it is installed. A cell that fails names the cause.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

import quintet
from quintet.domain.dials.axes import AxesChange, PermissionProfile, WorkMode
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_spec import CallStatus

AXES = AxesChange(work_mode=WorkMode.BUILD, permission_profile=PermissionProfile.TRUSTED)
SECONDS = 120.0
sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]


COMMITS = """
git init -q .
for i in 1 2 3; do echo line $i >> a.txt; echo v$i > b.txt; git add -A; git commit -qm c$i; done
mkdir -p sub; echo x > sub/c.txt; git add -A; git commit -qm c4; git tag v1
"""
OTHER = """
git checkout -qb other HEAD~2; echo other > b.txt; git commit -qam o
"""
BIG = """
mkdir -p big/d elsewhere; for i in $(seq 50); do echo $i > big/d/$i; done
echo o > elsewhere/o; git add -A; git commit -qm big
"""
STOPPED = ("git_commit", "git_checkout")  # what git refuses while conflicts are open


class State(Struct, frozen=True):
    """A line of bash makes it in an empty folder; what stands beside that folder is in $beside."""

    name: str
    make: str
    under_way: bool = False  # a merge or the like: git_reset is refused, and says so
    refuses: tuple[str, ...] = ()  # tools that git itself refuses in this state, with a reason
    hidden: bool = False  # git's folder lies where the sandbox shows nothing, and every call says so


STATES = (
    State("plain", COMMITS),
    State("worktree", f"(mkdir $beside; cd $beside; {COMMITS} git worktree add -q --force $OLDPWD -b feature)"),
    State(
        "submodule",
        f"(mkdir $beside; cd $beside; {COMMITS}); {COMMITS} "
        "git -c protocol.file.allow=always submodule add -q $beside mods/lib; git commit -qm sub",
    ),
    State("sparse", f"{COMMITS}{BIG}git sparse-checkout set --cone elsewhere sub"),
    State("sparse index", f"{COMMITS}{BIG}git sparse-checkout set --cone --sparse-index elsewhere sub"),
    State("odd branch", f"{COMMITS}git branch -m weird/ünï-branch.x"),
    State("detached", f"{COMMITS}git checkout -q HEAD~1"),
    State("merge", f"{COMMITS}{OTHER}git checkout -q main; git merge other || true", True, STOPPED),
    State("rebase", f"{COMMITS}{OTHER}git rebase main || true", True, STOPPED),
    State("cherry-pick", f"{COMMITS}{OTHER}git checkout -q main; git cherry-pick other || true", True, STOPPED),
    State("revert", f"{COMMITS}echo y > b.txt; git commit -qam y; git revert HEAD~2 || true", True, STOPPED),
    State("empty", "git init -q .; echo hi > new.txt", refuses=("git_diff", "git_log", "git_show")),
    State("sha256", "git init -q --object-format=sha256 .; echo a > a.txt; git add -A; git commit -qm i"),
    State("shallow", f"(mkdir $beside; cd $beside; {COMMITS}); git clone -q --depth 1 file://$beside ."),
    State("partial clone", f"(mkdir $beside; cd $beside; {COMMITS}); git clone -q --filter=blob:none file://$beside ."),
    State("split index", f"{COMMITS}git update-index --split-index; git update-index --untracked-cache"),
    State(
        "autocrlf",
        f"{COMMITS}git config core.autocrlf true; printf 'x\\r\\n' > d.txt; echo '* text=auto' > .gitattributes; "
        "git add -A 2> /dev/null; git commit -qm crlf",
    ),
    State(
        "separate git folder",
        "git init -q --separate-git-dir=$beside .; echo a > a.txt; git add -A; git commit -qm i",
        hidden=True,
    ),
    State("bisect", f"{COMMITS}git bisect start; git bisect bad HEAD; git bisect good HEAD~3"),
    State(
        "staged and unstaged",
        f"{COMMITS}echo s >> a.txt; git add a.txt; echo u >> a.txt; echo n > intent.txt; git add -N intent.txt",
    ),
    State(
        "odd names",
        f"{COMMITS}ln -s a.txt link; ln -s /etc/passwd out; mkdir 'a b'; echo q > 'a b/q\"t.txt'; "
        "printf x > $'new\\nline.txt'; printf l > $'caf\\xe9.txt'; git add -A; git commit -qm odd",
    ),
    State(
        "assume unchanged",
        f"{COMMITS}git update-index --assume-unchanged b.txt; echo hidden > b.txt; "
        "git update-index --skip-worktree sub/c.txt; echo sk > sub/c.txt",
    ),
    State(
        "no identity",
        f"{COMMITS}git config user.useConfigOnly true; git config user.email ''; git config user.name ''",
        refuses=("git_commit",),
    ),
    State(
        "index locked",
        f"{COMMITS}touch .git/index.lock",
        refuses=("git_add", "git_reset", "git_commit", "git_checkout"),
    ),
    State("packed refs", f"{COMMITS}git pack-refs --all; git gc -q"),
    State("stash", f"{COMMITS}echo w >> a.txt; git stash -q; echo v >> b.txt"),
)
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("git_status", {}),
    ("git_diff_unstaged", {}),
    ("git_diff_staged", {}),
    ("git_diff", {"target": "HEAD"}),
    ("git_log", {"max_count": 3}),
    ("git_show", {"revision": "HEAD"}),
    ("git_branch_list", {}),
)


class Calls:
    """Calls tools in a session, and says yes to every question."""

    def __init__(self, session: quintet.Session) -> None:
        self._session = session

    async def __call__(self, tool: str, **arguments: Any) -> tuple[str, str]:
        finished = ("none", "no result")
        async with asyncio.timeout(SECONDS):
            said = await self._session.say(format_own_call(tool, json.dumps(arguments)))
            async for item in self._session.follow(said):
                if isinstance(item, p.Recorded) and isinstance(item.event, p.QuestionAsked):
                    await self._session.submit(p.Answer(question=item.event.question, choice=item.event.choices[0].key))
                if isinstance(item, p.Recorded) and isinstance(item.event, p.ToolFinished):
                    finished = (str(item.event.status), item.event.content)
        return finished


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check git", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", type=Path, help="a virtual environment in which pre-commit is")
    parser.add_argument("--only", action="append", default=[], help="only these states")
    given = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="quintet-git-") as place:
        base = Path(place).resolve()
        home = base / "home"
        home.mkdir()
        os.environ["HOME"] = str(home)
        for name in ("config", "state", "cache"):
            os.environ[f"XDG_{name.upper()}_HOME"] = str(base / name)
        identity = "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n"
        (home / ".gitconfig").write_text(identity)
        print(f"git {sh('git version', base).split()[2]}")
        print(f"{'state':22} {'reads':7} {'writes':7} result")
        rows: list[tuple[str, Callable[[], list[str]]]] = []
        for number, state in enumerate(STATES):
            rows.append((state.name, lambda s=state, n=number: asyncio.run(tried(s, base / f"r{n}"))))  # type: ignore[misc]
        rows += [
            ("git-lfs", lambda: asyncio.run(lfs(base / "lfs"))),
            ("pre-commit", lambda: asyncio.run(hooked(base, given.folder))),
            ("ssh signing", lambda: asyncio.run(ssh_signed(base))),
            ("gpg signing", lambda: asyncio.run(gpg_signed(base))),
        ]
        for name, run in rows:
            if not given.only or name in given.only:
                cells = run()
                failures += any("FAILED" in cell for cell in cells)
                print(f"{name:22} {cells[0]:7} {cells[1]:7} {cells[2]}", flush=True)
    print(f"{failures} failed" if failures else "ok")
    return 1 if failures else 0


def sh(line: str, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        ["bash", "-ec", line],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{line}: {done.stdout}{done.stderr}")
    return done.stdout


def kept(root: Path) -> dict[str, str]:
    """Every file of git's folders, by its content."""
    folders = sh("git rev-parse --absolute-git-dir; realpath $(git rev-parse --git-common-dir)", root).split("\n")
    return {
        str(path): _content(path) for one in {*folders} - {""} for path in Path(one).rglob("*") if not path.is_dir()
    }


def work_tree(root: Path) -> dict[str, str]:
    found = {}
    for above, folders, names in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name not in (b".git", b".quintet")]
        for name in names:
            path = Path(os.fsdecode(os.path.join(above, name)))
            if name != b".git":
                found[str(path.relative_to(root))] = _content(path)
    return found


def _content(path: Path) -> str:
    return os.readlink(path) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()


async def tried(state: State, root: Path) -> list[str]:
    root.mkdir()
    sh(state.make, root, beside=str(root) + ".beside")
    git, tree, wrong = kept(root), work_tree(root), []
    async with quintet.open(str(root), axes=AXES) as session:
        call = Calls(session)
        read = 0
        for tool, arguments in READS:
            status, said = await call(tool, **arguments)
            read += _expected(tool, status, said, state, wrong)
        wrong += _differs("reading changed", git, kept(root))
        await call("Write", file_path="q_new.txt", content="hello\n")
        await call("bash", command="mkdir -p made; echo m > made/m.txt; echo zz >> a.txt")
        wrong += _differs("a checkpoint changed", git, kept(root))
        name = session.id
    wrong += rewound(name, root)
    wrong += _differs("a rewind left", tree, work_tree(root)) + _differs("a rewind changed", git, kept(root))
    wrote = 0
    (root / "q2.txt").write_text("two\n")
    async with quintet.open(str(root), axes=AXES) as session:
        call = Calls(session)
        for tool, arguments in (
            ("git_add", {"files": ["q2.txt"]}),
            ("git_reset", {}),
            ("git_add", {"files": ["q2.txt"]}),
            ("git_commit", {"message": "by quintet"}),
            ("git_create_branch", {"branch_name": "q-branch"}),
            ("git_checkout", {"branch_name": "q-branch"}),
        ):
            before = kept(root)
            status, said = await call(tool, **arguments)
            if tool == "git_reset" and state.under_way:
                good = status == CallStatus.ERROR and kept(root) == before
                wrote += good
                wrong += [] if good else [f"git_reset {status}: {said[:150]}"]
            else:
                wrote += _expected(tool, status, said, state, wrong)
    fsck = sh("git fsck 2>&1 | grep -vE 'dangling|Checking|notice' || true", root).strip()
    wrong += [f"fsck: {fsck[:150]}"] if fsck else []
    return [f"{read}/{len(READS)}", f"{wrote}/6", f"FAILED: {'; '.join(wrong)}" if wrong else _told(state)]


def rewound(session: str, root: Path) -> list[str]:
    words = [sys.executable, "-m", "quintet", "rewind", session, "1", "files", "-C", str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [f"rewind: {done.stdout[-200:]}{done.stderr[-200:]}"] if done.returncode else []


def _told(state: State) -> str:
    refused = [f"git refuses {', '.join(state.refuses)}"] if state.refuses else []
    if state.hidden:
        return "ok: each call names the hidden folder and how to show it"
    return "; ".join(["ok", *(["git_reset refuses, nothing is lost"] if state.under_way else []), *refused])


def _expected(tool: str, status: str, said: str, state: State, wrong: list[str]) -> bool:
    """Whether a call ended as it should in this state: done, or refused by git with a reason."""
    if state.hidden:
        good = status == CallStatus.ERROR and "Hidden by the sandbox" in said
        wrong += [] if good else [f"{tool} {status}: {said[:200]}"]
        return good
    good = status == CallStatus.OK or (tool in state.refuses and status == CallStatus.ERROR and bool(said))
    if not good:
        wrong.append(f"{tool} {status}: {' '.join(said.split())[:200]}")
    return good


def _differs(what: str, before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [f"{what} {', '.join(sorted(names)[:3])}"] if names else []


def _project(root: Path, more: str = "") -> None:
    root.mkdir()
    sh(f"{COMMITS}{more}\necho n > new.txt; git add new.txt", root)


async def lfs(root: Path) -> list[str]:
    if not shutil.which("git-lfs"):
        return ["-", "-", "not installed here"]
    track = "git lfs install --local > /dev/null; git lfs track '*.bin' > /dev/null; head -c 9000 /dev/zero > m.bin"
    _project(root, f"{track}; git add -A; git commit -qm lfs")
    (root / "m.bin").write_bytes(b"changed" * 1000)
    async with quintet.open(str(root), axes=AXES) as session:
        call = Calls(session)
        reads = [await call(tool, **arguments) for tool, arguments in READS]
        pointer = "+size 7000" in reads[1][1] and "-size 9000" in reads[1][1]
        writes = [await call("git_add", files=["m.bin"]), await call("git_commit", message="by quintet")]
    stored = "size 7000" in sh("git show HEAD:m.bin", root)
    good = pointer and stored and all(status == CallStatus.OK for status, _ in (*reads, *writes))
    version = sh("git lfs version", root).split()[0]
    return _cells(reads, writes, f"ok ({version})" if good else f"FAILED: {reads[1]} {writes}"[:400])


def _cells(reads: Sequence[tuple[str, str]], writes: Sequence[tuple[str, str]], result: str) -> list[str]:
    counts = [f"{sum(status == CallStatus.OK for status, _ in calls)}/{len(calls)}" for calls in (reads, writes)]
    return [*counts, result]


@contextmanager
def settings(text: str) -> Iterator[None]:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "quintet/settings.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    try:
        yield
    finally:
        path.unlink()


async def hooked(base: Path, given: Path | None) -> list[str]:
    """A hook of pre-commit's, whose environment and cache lie outside the project: first hidden, then shown."""
    folder = given or base / "venv"
    if not (folder / "bin/pre-commit").exists():
        sh(f"{sys.executable} -m venv {folder}; {folder}/bin/pip -q install pre-commit", base)
    root, cache = base / "hooked", base / "home/.cache/pre-commit"
    hook = "{id: look, name: look, language: system, entry: grep -q n, files: new.txt}"
    config = f"repos:\n- repo: local\n  hooks:\n  - {hook}\n"
    _project(root)
    (root / ".pre-commit-config.yaml").write_text(config)
    install = f"git add -A; {folder}/bin/pre-commit install; {folder}/bin/pre-commit run --all-files || true"
    sh(install, root, PRE_COMMIT_HOME=str(cache))
    version = sh(f"{folder}/bin/pre-commit --version", root).split()[-1]
    async with quintet.open(str(root), axes=AXES) as session:
        hidden = await Calls(session)("git_commit", message="hidden")
    show = f'[sandbox]\nshow = ["{folder}", "{cache}"]\n'
    with settings(show):
        async with quintet.open(str(root), axes=AXES) as session:
            shown = await Calls(session)("git_commit", message="shown")
    good = "Hidden by the sandbox" in hidden[1] and shown[0] == CallStatus.OK
    told = f"ok ({version}): the first commit names what is hidden, with sandbox.show it is made"
    return ["-", f"{int(good)}/1", told if good else f"FAILED: {hidden} {shown}"[:600]]


async def ssh_signed(base: Path) -> list[str]:
    key = base / "home/.ssh/id_ed25519"
    key.parent.mkdir()
    sh(f"ssh-keygen -q -t ed25519 -N '' -f {key}", base)
    sh(f"git config --global gpg.format ssh; git config --global user.signingkey {key}.pub", base)
    (base / "allowed").write_text("a@example.com " + Path(f"{key}.pub").read_text())
    verify = f"git -c gpg.ssh.allowedSignersFile={base / 'allowed'} verify-commit HEAD"
    return await _signed(base / "ssh", verify, sh("ssh -V 2>&1", base).split()[0].strip(","))


async def gpg_signed(base: Path) -> list[str]:
    if not shutil.which("gpg"):
        return ["-", "-", "not installed here"]
    home = base / "home/.gnupg"
    home.mkdir(mode=0o700, exist_ok=True)
    sh("gpg --batch --passphrase '' --quick-gen-key 'A <a@example.com>' ed25519 sign never", base)
    sh("git config --global --unset gpg.format; git config --global user.signingkey a@example.com", base)
    try:
        return await _signed(base / "gpg", "git verify-commit HEAD", sh("gpg --version", base).split()[2])
    finally:
        sh("gpgconf --kill all", base)


async def _signed(root: Path, verify: str, version: str) -> list[str]:
    """First without the setting, which explains itself; then with it, once for yes and once with nobody to ask."""
    _project(root, "git config commit.gpgsign true")
    before = sh("git rev-parse HEAD", root)
    async with quintet.open(str(root), axes=AXES) as session:
        plain = await Calls(session)("git_commit", message="plain")
    with settings('[git]\nsign = "ask"\n'):
        async with quintet.open(str(root), axes=AXES) as session:
            said = await session.say(format_own_call("git_commit_signed", json.dumps({"message": "alone"})))
            await session.follow(said).end()
        untouched = sh("git rev-parse HEAD", root) == before
        async with quintet.open(str(root), axes=AXES, person=True) as session:
            asked = await Calls(session)("git_commit_signed", message="by quintet")
    signed = sh(f"{verify} 2>&1 || echo NOT SIGNED", root)
    good = "git.sign" in plain[1] and untouched and asked[0] == CallStatus.OK and "NOT SIGNED" not in signed
    told = f"ok ({version}): git_commit explains, nobody attached is a no, git_commit_signed is verified"
    wrong = f"FAILED: {plain} untouched={untouched} {asked} {signed}"[:800]
    return ["-", f"{int(good)}/1", told if good else wrong]


if __name__ == "__main__":
    sys.exit(main())
