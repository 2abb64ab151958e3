"""A call may delete without a question only if what it deletes was kept right before it, and comes back as it was."""

import asyncio
import os
import stat
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.adapters.git.cover import NotCovered, Surveyor
from quintet.domain.base.errors import ToolFailed
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.ports.ports import Covered
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.checkpoints.rewind import look_ahead, take_back
from quintet.engine.checkpoints.rewind_points import Point
from quintet.engine.replay.ports import CHECKPOINTS, recorded_port
from quintet.engine.replay.recorder import Recorder
from quintet.testing import FrozenClock


class Desk:
    """A keeper over a real store, and a shell that is told nothing of either."""

    def __init__(self, root: Path, tmp_path: Path, *, enabled: bool = True) -> None:
        self.root = root
        self.store = ShadowCheckpoints(str(tmp_path / "checkpoints"), str(root))
        self.events: list[p.Event] = []
        self.clock = FrozenClock()
        self.snapshots = 0
        take = self.store._take

        def counted(lock: int, point: str) -> Any:
            self.snapshots += 1
            return take(lock, point)

        self.store._take = counted  # type: ignore[method-assign]
        settings = SimpleNamespace(checkpoints=SimpleNamespace(keep=200, enabled=enabled))
        core = SimpleNamespace(settings=settings, checkpoints=self.store, clock=self.clock)
        journal = SimpleNamespace(post=lambda *events: self.events.extend(events), signal=lambda _: None)
        self.keeper = CheckpointKeeper(cast(Any, core), cast(Any, journal))

    async def call(self, line: str, paths: Sequence[str] | None, *, name: str = "", alone: bool = False) -> str:
        """A shell line as a session runs it, if it is covered or needs not be; why it is not covered."""
        name = name or f"call-{len(self.events)}-{line}"
        reason = await self.keeper.cover("turn", name, paths, alone=alone) if paths is not None else ""
        if not reason:
            watched, events = await self.keeper.before("turn", [prepared(name)])
            self.events += events
            await asyncio.to_thread(subprocess.run, ["bash", "-c", line], cwd=self.root, check=True)
            self.events += await self.keeper.after(watched)
            await self.keeper.settle()
        return reason

    async def back(self) -> None:
        """/rewind: nothing may be left alone."""
        changes = [event for event in self.events if isinstance(event, p.FilesChanged)]
        point = Point(1, "turn", "2026-01-01T00:00:00+00:00", "", 1, taken=True, changes=changes)
        seen = await look_ahead(self.store, [point], point)
        assert not seen.plan.left, seen.plan.left

        async def note(event: p.Event) -> None:
            self.events.append(event)

        _, left = await take_back(self.store, seen, "rewind", note)
        assert not left, left


def prepared(name: str) -> Any:
    grant = SimpleNamespace(write_roots=("/",))
    touch = SimpleNamespace(writes=(), lines=("x",), shell="")
    spec = SimpleNamespace(confined=False, name="bash")
    decision = SimpleNamespace(grant=grant, verdict=Verdict.ALLOW)
    return SimpleNamespace(call=SimpleNamespace(id=name), decision=decision, touch=touch, spec=spec, own_line=False)


def everything(root: Path) -> dict[str, tuple[str, bytes]]:
    """Every file, link and folder below a folder with its kind and access bits, but for git's own."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = Path(folder, name)
            info = path.lstat()
            kind = stat.S_IFMT(info.st_mode)
            data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            bits = kind if path.is_symlink() else info.st_mode
            found[str(path.relative_to(root))] = (f"{bits:o}", data)
    return found


def at_desk(repo: Path, tmp_path: Path, script: Callable[[Desk], Awaitable[None]], *, enabled: bool = True) -> Desk:
    async def run() -> Desk:
        desk = Desk(repo, tmp_path, enabled=enabled)
        await script(desk)
        await desk.keeper.close()
        return desk

    return asyncio.run(run())


MADE = r"""
printf 'a\r\nb\r\n' > crlf.txt; printf '\0\377\376' > bytes.bin; echo one > a.tmp; echo two > b.tmp; echo .x > .c.tmp
echo run > run.sh; chmod 755 run.sh; echo private > private.txt; chmod 600 private.txt; echo wide > wide; chmod 666 wide
mkdir -p src/deep src/empty src/locked empty; echo s > src/deep/ünï☃.py; echo l > src/locked/l; chmod 700 src/locked
chmod 711 src/empty; ln -s deep src/link; ln -s nowhere dangling; ln -s crlf.txt link.txt; echo i > '[id].tsx'
echo 'x y' > 'with space'; echo log > x.log; chmod 640 x.log; mkdir -p out; echo o > out/o.o; echo '*.log
out/' > .gitignore
"""

LINES: list[tuple[str, list[str]]] = [
    ("rm a.tmp", ["a.tmp"]),
    ("rm *.tmp", ["*.tmp"]),
    ("rm -f *.tmp .*.tmp", ["*.tmp", ".*.tmp"]),
    ("rm -r src", ["src"]),
    ("rm -r src/ empty", ["src/", "empty"]),
    ("rm -rf src/*", ["src/*"]),
    ("shopt -s globstar; rm -f src/**/*.py", ["src/**/*.py"]),
    ("shopt -s globstar; rm -f **/*.py", ["**/*.py"]),
    ("shopt -s extglob\nrm -r src/@(deep|locked)", ["src/@(deep|locked)"]),
    ("rmdir empty src/empty", ["empty", "src/empty"]),
    ("rm x.log", ["x.log"]),
    ("rm x.log private.txt wide run.sh crlf.txt bytes.bin", ["x.log", "private.txt", "wide", "run.sh", "*.txt", "b*"]),
    ("rm -r out", ["out"]),
    ("rm dangling link.txt src/link", ["dangling", "link.txt", "src/link"]),
    ("echo over > link.txt", ["link.txt"]),
    ("echo over > crlf.txt; echo over > x.log; echo over > bytes.bin", ["crlf.txt", "x.log", "bytes.bin"]),
    ("echo new > y.log; echo new > new/../n.txt 2>/dev/null || echo new > n.txt", ["y.log", "n.txt"]),
    ("mkdir -p out/made && echo new > out/made/m", ["out/made/m"]),
    ("mv private.txt crlf.txt", ["private.txt", "crlf.txt"]),
    ("mv x.log z.log", ["x.log", "z.log"]),
    ("mv src lib", ["src", "lib"]),
    ("mv empty moved", ["empty", "moved"]),
    ("sed -i s/a/b/ crlf.txt private.txt run.sh", ["crlf.txt", "private.txt", "run.sh"]),
    ("rm '[id].tsx' 'with space'", ["[id].tsx", "with space"]),
    ("rm crlf.txt && mkdir crlf.txt && echo x > crlf.txt/x", ["crlf.txt"]),
    ("rm -r src && echo file > src", ["src"]),
    ("rm a.tmp && ln -s b.tmp a.tmp", ["a.tmp"]),
    ("git restore tally/count.py", ["tally/count.py"]),
    ("git checkout -- tally/count.py", ["tally/count.py"]),
    ("git checkout -- .", ["tally/count.py"]),
    ("rm -r tally tests", ["tally", "tests"]),
    ("truncate -s 0 run.sh private.txt; chmod 777 a.tmp; rm a.tmp", ["run.sh", "private.txt", "a.tmp"]),
]


MORE_THAN_NAMED = ("git checkout -- .", "rm crlf.txt && mkdir crlf.txt && echo x > crlf.txt/x")


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize(("line", "paths"), LINES)
def test_what_a_covered_line_deletes_comes_back_as_it_was(
    repo: Path, tmp_path: Path, line: str, paths: list[str], alone: bool
) -> None:
    subprocess.run(["bash", "-c", MADE], cwd=repo, check=True)
    (repo / "tally/count.py").write_text("not committed\n")
    before = everything(repo)

    async def script(desk: Desk) -> None:
        assert await desk.call(line, paths, alone=alone) == ""
        assert everything(repo) != before
        await desk.back()
        assert everything(repo) == before

    if alone and line in MORE_THAN_NAMED:
        return
    at_desk(repo, tmp_path, script)


def test_many_lines_and_a_changed_ignore_file_in_one_turn(repo: Path, tmp_path: Path) -> None:
    subprocess.run(["bash", "-c", MADE], cwd=repo, check=True)
    before = everything(repo)
    lines: list[tuple[str, list[str] | None]] = [
        ("echo '*.tmp' > .gitignore", [".gitignore"]),
        ("rm *.tmp", ["*.tmp"]),
        ("rm x.log", ["x.log"]),
        ("echo a > a.tmp", ["a.tmp"]),
        ("echo src >> .gitignore", None),
        ("rm -r src", ["src"]),
        ("echo file > src", ["src"]),
        ("rm src; mkdir src; echo deep > src/deep", ["src"]),
        ("rm .gitignore", [".gitignore"]),
        ("echo more >> crlf.txt", None),
        ("rm crlf.txt", ["crlf.txt"]),
    ]

    async def script(desk: Desk) -> None:
        for line, paths in lines:
            assert await desk.call(line, paths) == "", line
        await desk.back()
        assert everything(repo) == before

    at_desk(repo, tmp_path, script)


BACK = "so /rewind could not restore it"
REFUSED: list[tuple[str, str, str]] = [
    ("", "../other", "../other is outside the project"),
    ("", "/etc/hostname", "/etc/hostname is outside the project"),
    ("", "a/../../x", "a/../../x is outside the project"),
    ("", "~/x", "~/x is not known before the command runs"),
    ("", "$HOME/x", "$HOME/x is not known before the command runs"),
    ("", "{a,/etc/x}", "{a,/etc/x} is not known before the command runs"),
    ("", ".git", ".git belongs to git"),
    ("", ".git/config", ".git/config belongs to git"),
    ("", ".GIT/config", ".GIT/config belongs to git"),
    ("", ".", ".git belongs to git"),
    ("", "*", ".git belongs to git"),
    ("", ".*", ".* may refer to the parent folder"),
    ("", ".g*/config", ".git/config belongs to git"),
    ("ln -s /etc here", "here/hostname", "here/hostname is behind a link"),
    ("ln -s /etc here", "he*/hostname", "here is a link to another folder"),
    ("ln -s /etc here", "*e/*", "here is a link to another folder"),
    ("ln -s /etc/hostname here", "here", "here is a link that leads out of the project"),
    ("ln -s .git/config here", "here", ".git/config belongs to git"),
    ("mkdir sub; ln -s tally sub/l", "sub/l/../x", "sub/l/../x is behind a link"),
    ("git init -q inner; echo x > inner/x", "inner", "inner/ is a separate repository, which is not saved"),
    ("git init -q inner; echo x > inner/x", "inn*", "inner/ is a separate repository, which is not saved"),
    ("mkdir -p d; echo S=1 > d/.env", "d", "d/.env may contain secrets and is not saved"),
    ("mkdir -p .vscode; echo {} > .vscode/tasks.json", ".vscode", ".vscode/tasks.json is protected"),
    ("mkfifo pipe", "pipe", "pipe is not an ordinary file"),
    ("echo x > one; ln one two", "one", "one is a hard link to a file that has other names"),
    ("truncate -s 100000001 big", "big", "big is larger than 100 MB"),
    ("mkdir d; touch d/$'\\xff'", "d", "d/? has a name that is not UTF-8"),
    ("echo build > .gitignore; mkdir -p build/a; touch build/a/{1..501}", "build", "build/ is ignored by git"),
    ("echo '*.o' > .gitignore; mkdir -p d/e; touch d/k d/e/{1..501}.o", "d", "d/e/ is ignored by git"),
    ("echo '*.o' > .gitignore; head -c 21000000 /dev/zero > a.o", "a.o", "a.o is ignored by git"),
]


@pytest.mark.parametrize(("made", "path", "reason"), REFUSED)
def test_what_cannot_be_put_back_is_said_and_why(repo: Path, tmp_path: Path, made: str, path: str, reason: str) -> None:
    subprocess.run(["bash", "-c", made], cwd=repo, check=True)

    async def script(desk: Desk) -> None:
        for alone in (False, True):
            said = await desk.keeper.cover("turn", "call", ["tally", path], alone=alone)
            assert said == f"{reason}, {BACK}"

    at_desk(repo, tmp_path, script)


def test_what_is_too_much_is_not_kept(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quintet.adapters.git.cover.MOST_ENTRIES", 3)

    async def script(desk: Desk) -> None:
        said = await desk.keeper.cover("turn", "call", ["tally", "tests"])
        assert said == f"there is too much at tests to save before the command, {BACK}"

    at_desk(repo, tmp_path, script)


def test_what_is_not_there_is_covered(repo: Path, tmp_path: Path) -> None:
    async def script(desk: Desk) -> None:
        assert await desk.keeper.cover("turn", "call", ["gone", "*.gone", "a/b/c", str(repo / "none")]) == ""

    at_desk(repo, tmp_path, script)


def test_where_nothing_is_kept_nothing_is_covered(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def off(desk: Desk) -> None:
        assert "checkpoints are off" in await desk.keeper.cover("turn", "call", ["tally"])

    at_desk(repo, tmp_path, off, enabled=False)

    async def failing(desk: Desk) -> None:
        def fail(*_: object) -> Any:
            raise ToolFailed("no space left")

        monkeypatch.setattr(desk.store._shadow, "tree", fail)
        assert "no space left" in await desk.keeper.cover("turn", "call", ["tally"])
        await desk.keeper.before("turn", [prepared("other")])
        monkeypatch.undo()
        assert "could not be saved in this session" in await desk.keeper.cover("turn", "call", ["tally"])

    at_desk(repo, tmp_path, failing)


def test_a_content_that_the_store_lost_is_kept_again(repo: Path, tmp_path: Path) -> None:
    """An index may name what nobody has: a repository that is damaged, or was made to look covered."""
    before = everything(repo)
    name = subprocess.run(["git", "rev-parse", ":tally/count.py"], cwd=repo, check=True, capture_output=True)
    found = name.stdout.decode().strip()

    async def script(desk: Desk) -> None:
        (repo / ".git/objects" / found[:2] / found[2:]).unlink()
        assert await desk.call("rm -r tally", ["tally"]) == ""
        await desk.back()
        assert everything(repo) == before

    at_desk(repo, tmp_path, script)


def test_what_was_kept_is_the_before_of_the_very_call(repo: Path, tmp_path: Path) -> None:
    async def script(desk: Desk) -> None:
        assert await desk.keeper.cover("turn", "a", ["tally"]) == ""
        watched, events = await desk.keeper.before("turn", [prepared("a")])
        assert desk.snapshots == 1 and watched and watched.tree
        assert [type(event) for event in events] == [p.CheckpointTaken]
        assert events[0].tree == watched.tree  # type: ignore[union-attr]

    at_desk(repo, tmp_path, script)


def test_what_was_kept_is_kept_again_after_another_call_or_some_time(repo: Path, tmp_path: Path) -> None:
    async def script(desk: Desk) -> None:
        for between in ("cover", "call", "time"):
            assert await desk.keeper.cover("turn", "a", ["tally"]) == ""
            (repo / "tally/count.py").write_text(f"{between}\n")
            if between == "cover":
                assert await desk.keeper.cover("turn", "b", ["tests"]) == ""
            elif between == "call":
                await desk.call("true", None, name="c")
            else:
                await desk.clock.sleep(60)
            taken = desk.snapshots
            watched, _ = await desk.keeper.before("turn", [prepared("a")])
            assert watched and desk.snapshots == taken + 1
            (repo / "tally/count.py").unlink()
            desk.events += await desk.keeper.after(watched)
            await desk.keeper.settle()
            changed = desk.events[-1]
            assert isinstance(changed, p.FilesChanged) and changed.paths == ("tally/count.py",)
            found = await desk.store.compare(changed.before, changed.after)
            was = next(c.before for c in found.changes if c.path == "tally/count.py")
            assert was == (await desk.store.keep("t", ["tally/count.py"]) and was)
            assert desk.store._contents([was]) == {was.split()[1]: f"{between}\n".encode()}

    at_desk(repo, tmp_path, script)


def test_a_covered_call_does_not_run_if_it_can_no_longer_be_covered(repo: Path, tmp_path: Path) -> None:
    async def script(desk: Desk) -> None:
        assert await desk.keeper.cover("turn", "a", ["tally"]) == ""
        await desk.call("git init -q tally/inner", None, name="b")
        with pytest.raises(ToolFailed, match="tally/inner/ is a separate repository"):
            await desk.keeper.before("turn", [prepared("a")])

    at_desk(repo, tmp_path, script)


def test_a_few_files_alone_need_no_snapshot_but_the_turns_first(repo: Path, tmp_path: Path) -> None:
    async def script(desk: Desk) -> None:
        assert await desk.call("rm tests/__init__.py", ["tests/__init__.py"], alone=True) == ""
        assert desk.snapshots == 1
        assert await desk.call("rm tally/count.py", ["tally/count.py"], alone=True) == ""
        assert desk.snapshots == 1
        await desk.back()
        assert (repo / "tally/count.py").exists() and (repo / "tests/__init__.py").exists()

    at_desk(repo, tmp_path, script)


def test_without_git_single_files_are_covered(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(repo)
    monkeypatch.setattr("quintet.adapters.git.shadow_git.git_program", lambda: "")

    async def script(desk: Desk) -> None:
        assert await desk.call("rm -r tally", ["tally"]) == ""
        await desk.back()
        assert everything(repo) == before

    at_desk(repo, tmp_path, script)


def test_a_recording_holds_what_was_kept(repo: Path, tmp_path: Path) -> None:
    """A replay has a port of the same form, which makes the declared type of what is written down."""
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "ünï☃.log").write_text("x")
    written: list[bytes] = []
    file = SimpleNamespace(write=written.append, flush=lambda: None, close=lambda: None)

    async def script(desk: Desk) -> None:
        port = recorded_port(desk.store, CHECKPOINTS, Recorder(cast(Any, file)))
        found = await port.cover("turn", ["tally", "*.log", "gone"])
        below = await port.below("turn", ["tally"])
        assert set(found.states) >= {"ünï☃.log", "gone"} and "tally/count.py" in below
        kinds = {kind: value for kind, value, _ in map(msgspec.json.decode, written)}
        assert msgspec.convert(kinds["checkpoints.cover.1"], Covered) == found
        assert msgspec.convert(kinds["checkpoints.below.2"], dict[str, str]) == below

    at_desk(repo, tmp_path, script)


def test_what_a_line_made_unreadable_or_too_large_to_look_at_comes_back(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quintet.adapters.git.file_states.LARGEST_READ", 1000)
    before = everything(repo)

    async def script(desk: Desk) -> None:
        line = "head -c 2000 /dev/zero > tally/count.py; echo x > tests/__init__.py; chmod 0 tests/__init__.py"
        assert await desk.call(line, ["tally/count.py", "tests/__init__.py"]) == ""
        await desk.back()
        assert everything(repo) == before

    at_desk(repo, tmp_path, script)


def test_what_was_kept_singly_is_on_record_though_the_snapshot_after_failed(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(repo)

    async def script(desk: Desk) -> None:
        async def fail(point: str) -> Any:
            raise ToolFailed("no space left")

        monkeypatch.setattr(desk.store, "snapshot", fail)
        assert await desk.call("rm tally/count.py", ["tally/count.py"]) == ""
        monkeypatch.undo()
        assert [event.code for event in desk.events if isinstance(event, p.Noticed)] == ["CHECKPOINT"]
        await desk.back()
        assert everything(repo) == before

    at_desk(repo, tmp_path, script)


OPTIONS = ("dotglob", "globstar", "nocaseglob")
NAMES = [
    "a",
    "ab",
    "A",
    ".a",
    ".ab",
    "b.tmp",
    ".b.tmp",
    "é",
    "[a]",
    "a-b",
    "d",
    "d/a",
    "d/.a",
    "d/e",
    "d/e/a",
    "d/e/.b",
]
STEPS = st.text(alphabet="ab.*?[]!^-de", min_size=1, max_size=5)
EXTENDED = st.builds(
    lambda sign, one, other, rest: f"{sign}({one}|{other}){rest}",
    st.sampled_from("?*+@!"),
    st.text(alphabet="ab.*", max_size=3),
    st.text(alphabet="ab", max_size=2),
    st.text(alphabet="ab*", max_size=2),
)
PATTERNS = st.lists(
    st.one_of(STEPS, st.sampled_from(["**", "*", "d", "..", ".", ".*"]), EXTENDED), min_size=1, max_size=3
).map("/".join)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(patterns=st.lists(PATTERNS, min_size=20, max_size=20), options=st.sets(st.sampled_from(OPTIONS)))
def test_a_pattern_stands_for_no_less_than_bash_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, patterns: list[str], options: set[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / "globs"
    if not root.exists():
        for name in sorted(NAMES):
            if name in ("d", "d/e"):
                (root / name).mkdir(parents=True)
            else:
                root.mkdir(exist_ok=True)
                (root / name).write_text("x")
    script = f"shopt -s nullglob extglob {' '.join(options)}\n"
    script += "".join(f"printf '%s\\0' {pattern}; printf '\\1\\0'\n" for pattern in patterns)
    said = subprocess.run(["bash", "-c", script], cwd=root, capture_output=True, check=False)
    if said.returncode or said.stderr:  # not a pattern to bash
        return
    made = said.stdout.decode().split("\1\0")[:-1]
    for pattern, names in zip(patterns, made, strict=True):
        surveyor = Surveyor(str(root), PROTECTION)
        try:
            expanded = set(surveyor._expanded(pattern))
        except NotCovered:
            continue
        there = [name for name in names.split("\0")[:-1] if name and os.path.lexists(f"{root}/{name}")]
        missing = {os.path.normpath(name) for name in there} - expanded
        assert not {name for name in missing if not any(name.startswith(f"{one}/") for one in expanded)}, pattern
