"""lsp_tool over a real language server (ty), and over servers that are none."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.adapters.processes.system import descendants, process_start
from quintet.adapters.sandbox.containment import Launch
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.open import make_containment
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl
from quintet.domain.journal.protocol import ToolFinished
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.settings import SandboxSettings, Settings
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.language_servers.servers import LocalLanguageServers
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.tools.calling import BUILD, Caller

Body = Callable[["Asking"], Awaitable[None]]


class Asking(Caller):
    """Calls lsp_tool on one event loop, so that a server is kept between calls."""

    async def ask(self, command: str, path: str, symbol: str = "", line: int = 0) -> str:
        result = await self.call("lsp_tool", command=command, path=path, symbol=symbol, line=line)
        assert result.status is CallStatus.OK, result.content
        return result.content

    async def refused(self, command: str, path: str, symbol: str = "", line: int = 0) -> str:
        result = await self.call("lsp_tool", command=command, path=path, symbol=symbol, line=line)
        assert result.status in (CallStatus.ERROR, CallStatus.DENIED), result.content
        return result.content

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_bytes(text.encode())


def asking(root: Path, body: Body, **options: Any) -> None:
    """Run `body` with language servers, and see that none is left when they are closed."""

    async def run() -> None:
        before = set(descendants(os.getpid()))
        servers = LocalLanguageServers(ProjectFiles(str(root)), **options)
        try:
            await body(Asking(root, language_servers=servers))
        finally:
            await servers.close()
        assert set(descendants(os.getpid())) - before == set()

    asyncio.run(run())


OTHERS: set[tuple[int, str]] = set()  # processes that tests before this one keep


@pytest.fixture(autouse=True)
def others() -> None:
    OTHERS.clear()
    OTHERS.update(children())


def children() -> list[tuple[int, str]]:
    """The programs that the test has started and that live, without the small parent that each has."""
    return [child for child in programs(os.getpid()) if child[1] and child not in OTHERS]


def programs(pid: int) -> list[tuple[int, str]]:
    return [child for child in descendants(pid) if not descendants(child[0])]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            if holds():
                return
            await asyncio.sleep(0)


# ── a real server


def test_a_definition_is_found_across_files(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        said = await tools.ask("goto_definition", "tests/test_count.py", "words")
        assert said == "tally/count.py:1:5  def words(text: str) -> int:"

    asking(repo, body)


def test_references_are_found_in_every_file(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        assert (await tools.ask("goto_references", "tally/count.py", "words")).splitlines() == [
            "tally/count.py:1:5  def words(text: str) -> int:",
            "tests/test_count.py:3:25  from tally.count import words",
            'tests/test_count.py:8:26  self.assertEqual(words("one two"), 2)',
            'tests/test_count.py:11:26  self.assertEqual(words(""), 0)',
        ]

    asking(repo, body)


def test_hover_tells_type_and_documentation(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        said = await tools.ask("hover_symbol", "tests/test_count.py", "words", 8)
        assert "def words(text: str) -> int" in said
        assert "How many words" in said

    asking(repo, body)


def test_diagnostics_say_where_how_bad_and_why(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        assert await tools.ask("file_diagnostics", "tally/count.py") == "no diagnostics"
        tools.write("wrong.py", "from tally.count import words\n\nwords(3)\n")
        said = await tools.ask("file_diagnostics", "wrong.py")
        assert said.startswith("3:7 error invalid-argument-type Argument to function `words` is incorrect")

    asking(repo, body)


def test_columns_count_characters_also_behind_letters_that_take_several_bytes(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        tools.write("wide.py", 'from tally.count import words\nß = "𐍈🙂é"; n = words(ß); words(7)\n')
        assert (await tools.ask("goto_definition", "wide.py", "words", 2)).startswith("tally/count.py:1:5")
        references = await tools.ask("goto_references", "tally/count.py", "words")
        assert 'wide.py:2:16  ß = "𐍈🙂é"; n = words(ß); words(7)' in references.splitlines()
        assert (await tools.ask("file_diagnostics", "wide.py")).startswith("2:32 error")

    asking(repo, body)


def test_a_file_with_windows_line_ends_and_a_byte_order_mark_has_the_same_lines(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        tools.write("dos.py", "\ufefffrom tally.count import words\r\n\r\nwords(3)\r\n")
        assert (await tools.ask("file_diagnostics", "dos.py")).startswith("3:7 error")
        assert (await tools.ask("goto_definition", "dos.py", "words", 3)).startswith("tally/count.py:1:5")
        assert "dos.py:1:25  from tally.count import words" in await tools.ask("goto_references", "dos.py", "words")

    asking(repo, body)


def test_what_changed_on_disk_since_the_last_question_is_seen(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        await tools.ask("goto_definition", "tests/test_count.py", "words")
        server = children()
        tools.write("tally/count.py", "# moved down\n\n\ndef words(text: int) -> int:\n    return text\n")
        tools.write("more.py", "from tally.count import words\n")
        said = await tools.ask("goto_definition", "tests/test_count.py", "words")
        assert said == "tally/count.py:4:5  def words(text: int) -> int:"
        assert "8:32 error invalid-argument-type" in await tools.ask("file_diagnostics", "tests/test_count.py")
        assert "more.py:1:25" in await tools.ask("goto_references", "tally/count.py", "words")
        tools.write("tests/test_count.py", "from tally.count import words\n")
        assert await tools.ask("file_diagnostics", "tests/test_count.py") == "no diagnostics"
        (repo / "more.py").unlink()
        assert "more.py" not in await tools.ask("goto_references", "tally/count.py", "words")
        assert children() == server

    asking(repo, body)


def test_a_place_outside_the_project_is_named_but_not_read(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        said = await tools.ask("goto_definition", "tally/count.py", "split")
        assert all(line.startswith("/") and line.split(":")[0].endswith("builtins.pyi") for line in said.splitlines())
        assert "def split" not in said

    asking(repo, body)


def test_many_places_are_cut_and_counted(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        tools.write("many.py", "unit = 1\n" + "print(unit)\n" * 150)
        *listed, more = (await tools.ask("goto_references", "many.py", "unit")).splitlines()
        assert len(listed) == 100
        assert more == "(51 more)"

    asking(repo, body)


# ── which symbol


def test_a_symbol_is_a_whole_word_and_of_a_dotted_one_the_last_name_counts(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        tools.write("names.py", "wordsmith = 1\nfrom tally import count\n\ncount.words('')\n")
        assert (await tools.ask("goto_definition", "names.py", "count.words")).startswith("tally/count.py:1:5")
        assert "words does not occur on line 1 of names.py; it does on 4" in await tools.refused(
            "goto_definition", "names.py", "words", 1
        )

    asking(repo, body)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hover_symbol", "tally/count.py", "nowhere"), "nowhere does not occur in tally/count.py"),
        (("goto_definition", "tally/count.py"), "symbol: which name in tally/count.py?"),
        (("goto_references", "tally/count.py", "", 2), "symbol: which name in tally/count.py, line 2?"),
        (("hover_symbol", "tally/count.py", "words", 99), "line = 99: tally/count.py has 4 lines"),
        (("hover_symbol", "absent.py", "words"), "absent.py: No such file"),
        (("hover_symbol", "tally", "words"), "a folder, not a file"),
        (("file_diagnostics", ".git/HEAD"), ".git/HEAD: no language server is known for this kind of file"),
        (("file_diagnostics", "../other.py"), "../other.py is outside the project"),
        (("file_diagnostics", "way/out.py"), "leads outside the project"),
        (("file_diagnostics", ".env"), "protected: it may contain secrets"),
        (("file_diagnostics", "innocent.py"), "protected: it may contain secrets"),
        (("rename", "tally/count.py"), "Invalid enum value 'rename'"),
    ],
)
def test_a_question_that_cannot_be_asked_is_explained_and_starts_nothing(
    repo: Path, arguments: tuple[Any, ...], said: str
) -> None:
    (repo.parent / "other.py").write_text("words = 1\n")
    (repo / "way").symlink_to(repo.parent)
    (repo / "way/out.py").write_text("")
    (repo / ".env").write_text("KEY=1\n")
    (repo / "innocent.py").symlink_to(".env")

    async def body(tools: Asking) -> None:
        before = children()
        assert said in await tools.refused(*arguments)
        assert children() == before

    asking(repo, body)


def test_looking_at_code_is_reading_and_never_outside_the_project(repo: Path) -> None:
    tools = Caller(repo)
    restricted = structs.replace(BUILD, permission_profile=PermissionProfile.RESTRICTED)
    inside = {"command": "file_diagnostics", "path": "tally/count.py"}
    assert tools.verdict("lsp_tool", restricted, **inside) is Verdict.ALLOW
    assert tools.verdict("lsp_tool", restricted, command="file_diagnostics", path="/etc/x.py") is Verdict.DENY
    assert tools.verdict("lsp_tool", restricted, command="file_diagnostics", path=".env") is Verdict.DENY


# ── which server


def test_without_a_server_the_language_the_candidates_and_the_remedy_are_named(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        tools.write("main.go", "package main\n")
        said = await tools.refused("file_diagnostics", "main.go")
        assert said.splitlines() == [
            "no language server for Go is installed; looked for gopls",
            "The user can install one: go install golang.org/x/tools/gopls@latest",
        ]
        said = await tools.refused("file_diagnostics", "tally/count.py")
        assert "ty, pyrefly, pyright-langserver, basedpyright-langserver, pylsp" in said
        assert said.endswith("pip install ty")

    asking(repo, body, search=(str(repo / "empty"),))


SAYS_HELLO = "sys.stderr.write('hello from ' + sys.argv[0]); sys.exit(3)"


def fake(folder: Path, name: str, code: str) -> None:
    """A program that a search finds as a language server."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{code}\n")
    program.chmod(0o755)


@pytest.mark.parametrize("folder", ["project", "installed"])
def test_a_typescript_that_the_server_cannot_use_is_named_with_the_remedy(
    repo: Path, tmp_path: Path, folder: str
) -> None:
    """TypeScript 7, which has no tsserver, in the project or beside the server; TypeScript 5 is one that it can use."""
    modules = {"project": repo, "installed": tmp_path / "installed"}[folder] / "node_modules"
    served = tmp_path / "installed/node_modules"
    fake(served / "typescript-language-server", "typescript-language-server", SAYS_HELLO)
    (served / ".bin").mkdir()
    (served / ".bin/typescript-language-server").symlink_to("../typescript-language-server/typescript-language-server")
    (modules / "typescript/lib").mkdir(parents=True)

    async def cannot(tools: Asking) -> None:
        tools.write("a.ts", "")
        said = await tools.refused("file_diagnostics", "a.ts")
        assert said.splitlines() == [
            f"typescript-language-server cannot use the TypeScript in {modules}/typescript: it has no lib/tsserver.js",
            "The user can install what it needs: npm install -g typescript@5 typescript-language-server",
        ]

    async def can(tools: Asking) -> None:
        assert "hello from" in await tools.refused("file_diagnostics", "a.ts")

    search = (str(served / ".bin"),)
    asking(repo, cannot, search=search, own_code=True)
    (modules / "typescript/lib/tsserver.js").write_text("")
    asking(repo, can, search=search, own_code=True)


def test_a_rust_analyzer_that_only_rustup_stands_behind_is_none(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "bin", "rustup", SAYS_HELLO)
    (tmp_path / "bin/rust-analyzer").symlink_to("rustup")
    monkeypatch.setenv("RUSTUP_HOME", str(tmp_path / "rustup"))
    component = tmp_path / "rustup/toolchains/stable/bin/rust-analyzer"
    component.parent.mkdir(parents=True)

    async def cannot(tools: Asking) -> None:
        tools.write("lib.rs", "")
        said = await tools.refused("file_diagnostics", "lib.rs")
        assert said.splitlines() == [
            "rust-analyzer is not a component of any toolchain of rustup",
            "The user can install what it needs: rustup component add rust-analyzer",
        ]

    async def can(tools: Asking) -> None:
        assert "hello from" in await tools.refused("file_diagnostics", "lib.rs")

    search = (str(tmp_path / "bin"),)
    asking(repo, cannot, search=search, own_code=True)
    component.write_text("")
    asking(repo, can, search=search, own_code=True)


def test_a_server_of_the_projects_own_runs_only_in_a_sandbox(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the user's own environment is activated, and so first on PATH."""
    fake(repo / ".venv/bin", "ty", SAYS_HELLO)
    monkeypatch.setenv("PATH", f"{repo}/.venv/bin:{os.environ['PATH']}")
    stay_out_of(str(repo))

    async def on_the_host(tools: Asking) -> None:
        assert await tools.ask("file_diagnostics", "tally/count.py") == "no diagnostics"

    async def contained(tools: Asking) -> None:
        assert f"hello from {repo}/.venv/bin/ty" in await tools.refused("file_diagnostics", "tally/count.py")

    asking(repo, on_the_host)
    asking(repo, on_the_host, own_code=True)
    asking(repo, contained, own_code=True, contained=True)


def test_a_server_that_may_run_the_projects_code_needs_trust(repo: Path, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "rust-analyzer", SAYS_HELLO)
    (repo / "lib.rs").write_text("")

    async def untrusted(tools: Asking) -> None:
        said = await tools.refused("file_diagnostics", "lib.rs")
        assert said.startswith("rust-analyzer may run code of the project, which is not trusted\n`quintet trust`")

    async def trusted(tools: Asking) -> None:
        assert "hello from" in await tools.refused("file_diagnostics", "lib.rs")

    asking(repo, untrusted, search=(str(tmp_path / "bin"),))
    asking(repo, trusted, search=(str(tmp_path / "bin"),), own_code=True)


def test_a_server_is_wrapped_with_a_grant_to_read_and_gets_a_cache_of_its_own(repo: Path, tmp_path: Path) -> None:
    asked: list[tuple[str, Grant]] = []
    shows = tmp_path / "shows"
    shows.write_text('#!/bin/sh\necho "$XDG_CACHE_HOME" > "$0.cache"\nexec "$@"\n')
    shows.chmod(0o755)

    def wrap(argv: Any, cwd: str, grant: Grant) -> Launch:
        asked.append((cwd, grant))
        return Launch((str(shows), *argv), cwd)

    async def body(tools: Asking) -> None:
        assert await tools.ask("file_diagnostics", "tally/count.py") == "no diagnostics"
        await tools.ask("goto_definition", "tally/count.py", "split")
        assert os.path.isdir(cache())

    def cache() -> str:
        return (tmp_path / "shows.cache").read_text().strip()

    asking(repo, body, wrap=wrap)
    assert asked == [(str(repo), Grant(effects=(Effect.READ,)))]
    assert cache() != os.environ["XDG_CACHE_HOME"]
    assert not os.path.exists(cache())
    assert list((tmp_path / "cache").iterdir()) == []


# ── a server's life


def test_a_server_that_was_killed_is_started_again(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        await tools.ask("hover_symbol", "tally/count.py", "words")
        [(pid, _)] = children()
        os.kill(pid, signal.SIGKILL)
        assert "def words" in await tools.ask("hover_symbol", "tally/count.py", "words")
        assert [child for child, _ in children()] != [pid]

    asking(repo, body)


def test_a_cancelled_call_leaves_the_server_usable(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        await tools.ask("file_diagnostics", "tally/count.py")
        server = children()
        for turns in range(1, 8):
            asked = asyncio.create_task(tools.ask("goto_references", "tally/count.py", "words"))
            for _ in range(turns):
                await asyncio.sleep(0)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
        assert "def words" in await tools.ask("hover_symbol", "tally/count.py", "words")
        assert children() == server

    asking(repo, body)


def test_a_call_cancelled_while_the_server_starts_leaves_the_next_one_to_start_it(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        before = children()
        asked = asyncio.create_task(tools.ask("file_diagnostics", "tally/count.py"))
        await until(lambda: children() != before)
        asked.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asked
        assert await tools.ask("file_diagnostics", "tally/count.py") == "no diagnostics"
        assert len(children()) == 1

    asking(repo, body)


def test_a_session_ends_the_servers_it_started(repo: Path) -> None:
    question = call("lsp_tool", command="hover_symbol", path="tally/count.py", symbol="words")
    seen: list[list[tuple[int, str]]] = []

    async def body(driver: Driver) -> None:
        await driver.turn("what is words?")
        seen.append(children())

    before = children()
    axes = AxesChange(run_control=RunControl.AUTONOMOUS)
    driver = drive(repo, body, ScriptedModel([[question], "a function"]), axes=axes)
    assert "def words" in driver.of(ToolFinished)[0].content
    assert len(seen[0]) > len(before)
    assert children() == before


def test_a_server_ends_when_quintet_is_killed(repo: Path) -> None:
    script = f"""
import asyncio
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.features.language_servers.servers import LocalLanguageServers
async def main():
    path = {str(repo / "tally/count.py")!r}
    await LocalLanguageServers(ProjectFiles({str(repo)!r})).diagnostics(path, open(path).read())
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as quintet:
        assert quintet.stdout
        assert quintet.stdout.readline() == "ready\n"
        [(pid, started)] = programs(quintet.pid)
        quintet.kill()
    asyncio.run(until(lambda: process_start(pid) != started))


# ── servers that are none


@pytest.fixture
def hostile(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Options for servers where ty is a program with this code."""

    def made(code: str) -> dict[str, Any]:
        fake(tmp_path / "bin", "ty", code)
        return {"search": (str(tmp_path / "bin"),)}

    return made


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit('no licence')", "ty: it ended. Its last output:\nno licence"),
        ("print('Welcome to ty!', flush=True); time.sleep(60)", "message of the protocol (b'Welcome to ty!' is no"),
        ("print('Content-Length: 99999999999\\r\\n\\r', flush=True); time.sleep(60)", "a length of 99999999999 bytes"),
        ("print('Content-Length: -1\\r\\n\\r', flush=True); time.sleep(60)", "a length of -1 bytes"),
        ("print('Content-Length: 4\\r\\n\\r\\n}{}{', flush=True); time.sleep(60)", "message of the protocol"),
        ("sys.stdout.write('a' * 1_000_000); time.sleep(60)", "message of the protocol"),
        ("sys.stdout.write('a: b\\n' * 100); sys.stdout.flush(); time.sleep(60)", "too many headers"),
    ],
    ids=["exits", "garbage", "huge", "negative", "no-json", "no-end", "headers"],
)
def test_a_server_that_is_none_is_refused(
    repo: Path, hostile: Callable[[str], dict[str, Any]], code: str, said: str
) -> None:
    async def body(tools: Asking) -> None:
        assert said in await tools.refused("file_diagnostics", "tally/count.py")
        assert children() == before

    before = children()
    asking(repo, body, **hostile(code))


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(60)",
        "os.close(0); time.sleep(60)",
        "print('Content-Length: 40000000\\r\\n\\r', flush=True); time.sleep(60)",
    ],
    ids=["silent", "deaf", "half"],
)
def test_a_server_that_does_not_answer_is_given_up(
    repo: Path, hostile: Callable[[str], dict[str, Any]], code: str
) -> None:
    async def body(tools: Asking) -> None:
        said = await tools.refused("file_diagnostics", "tally/count.py")
        assert "ty: no answer within 0.5 s" in said or "ty: it no longer accepts input" in said
        assert children() == before

    before = children()
    asking(repo, body, **hostile(code), answer_seconds=0.5)


SERVER = """
def send(**message):
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(data) + data)
    sys.stdout.flush()

def take():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else sys.exit()

while True:
    message = take()
    method, params, number = message.get("method"), message.get("params"), message.get("id")
    if method == "initialize":
        send(id=number, result={"capabilities": {}})
    else:
        answer(method, params, number)
"""


def server(answer: str) -> str:
    """A small server: `answer` is the body of a function of method, params and number."""
    body = "\n".join(f"    {line}" for line in answer.strip("\n").splitlines())
    return f"def answer(method, params, number):\n{body}\n{SERVER}"


def test_a_slow_server_is_kept_once_and_then_ended(repo: Path, hostile: Callable[[str], dict[str, Any]]) -> None:
    kept = False

    async def body(tools: Asking) -> None:
        nonlocal kept
        said = await tools.refused("goto_definition", "tally/count.py", "words")
        kept = said == f"ty: no answer within {seconds} s; it is kept running, ask again in a while"
        if kept:  # it was ready in time
            assert children() != before
            said = await tools.refused("goto_definition", "tally/count.py", "words")
            assert said == f"ty: no answer within {seconds} s"
            assert children() == before

    before = children()
    for seconds in (1, 10, 50):  # the first is enough, unless the machine is very busy
        asking(repo, body, **hostile(server("pass")), answer_seconds=seconds)
        if kept:
            break
    assert kept


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("send(id=number, result=[{'uri': 5}]) if number else None", "sent an answer that the protocol does not allow"),
        ("send(id=number, error={'code': -32603, 'message': 'out of luck'}) if number else None", "ty: out of luck"),
        (
            "send(method='window/showMessage', params={'type': 1, 'message': 'no go command'}); "
            "send(id=number, error={'code': 0, 'message': 'no views'}) if number else None",
            "ty: no views. It said: no go command",
        ),
        (
            "send(method='window/showMessage', params={'type': 3, 'message': 'hello'}); "
            "send(id=number, error={'code': 0, 'message': 'no views'}) if number else None",
            "ty: no views",
        ),
        ("sys.exit('gone') if number else None", "ty: it ended. Its last output:\ngone"),
        (
            "send(method='$/progress', params={'token': 1, 'value': {'kind': 'begin', 'title': 'Indexing'}})",
            "ty is still loading (Indexing); ask again in a while",
        ),
    ],
    ids=["shape", "error", "complains", "chats", "dies", "indexing"],
)
def test_a_server_that_does_not_answer_as_it_should_is_reported(
    repo: Path, hostile: Callable[[str], dict[str, Any]], answer: str, said: str
) -> None:
    told = ""

    async def body(tools: Asking) -> None:
        nonlocal told
        told = await tools.refused("goto_definition", "tally/count.py", "words")

    for seconds in (2, 10, 50):  # the first is enough, unless the machine is very busy
        asking(repo, body, **hostile(server(answer)), answer_seconds=seconds)
        if "no answer within" not in told:
            break
    assert said in told and "hello" not in told


def test_a_server_that_counts_in_utf_16_asks_back_and_publishes_its_diagnostics(
    repo: Path, hostile: Callable[[str], dict[str, Any]]
) -> None:
    code = server("""
if method == "textDocument/didOpen":
    send(id="mine", method="workspace/configuration", params={"items": [{}, {}]})
    assert take()["result"] == [None, None]
    send(id="next", method="some/thing", params={})
    assert take()["error"]["code"] == -32601
    document = params["textDocument"]
    start = {"line": 0, "character": 4}
    found = [{"range": {"start": start, "end": start}, "message": "odd", "code": {"value": "Q1"}, "severity": 2}]
    send(method="textDocument/publishDiagnostics", params={"uri": document["uri"], "version": 0, "diagnostics": []})
    send(
        method="textDocument/publishDiagnostics",
        params={"uri": document["uri"], "version": document["version"], "diagnostics": found},
    )
elif method == "textDocument/hover":
    send(id=number, result={"contents": ["at", {"language": "x", "value": str(params["position"]["character"])}]})
""")

    async def body(tools: Asking) -> None:
        tools.write("wide.py", "'𐍈' + x\n")
        assert await tools.ask("file_diagnostics", "wide.py") == "1:4 warning Q1 odd"
        assert await tools.ask("hover_symbol", "wide.py", "x") == "at\n\n7"

    asking(repo, body, **hostile(code))


def test_an_empty_answer_is_not_believed_while_the_server_is_at_work(
    repo: Path, hostile: Callable[[str], dict[str, Any]]
) -> None:
    code = server("""
if method == "textDocument/didOpen":
    send(method="$/progress", params={"token": "a", "value": {"kind": "begin", "title": "Indexing"}})
    time.sleep(0.1)
elif method == "textDocument/definition" and number == 2:
    send(id=number, result=None)
    send(method="$/progress", params={"token": "a", "value": {"kind": "end"}})
elif method == "textDocument/definition" and number == 3:
    send(id=number, error={"code": -32801, "message": "content modified"})
elif number:
    start = {"line": 0, "character": 4}
    send(id=number, result={"uri": params["textDocument"]["uri"], "range": {"start": start, "end": start}})
""")

    async def body(tools: Asking) -> None:
        said = await tools.ask("goto_definition", "tally/count.py", "words")
        assert said == "tally/count.py:1:5  def words(text: str) -> int:"

    asking(repo, body, **hostile(code))


@pytest.mark.system("bwrap")
def test_a_server_that_misses_what_the_sandbox_hides_says_so(repo: Path) -> None:
    """The server lies in the project, and reads a file of the home that it was not shown."""
    home = Path(os.environ["HOME"])
    (home / "tool").mkdir()
    (home / "tool/rules.toml").write_text("x = 1\n")
    fake = repo / "bin/ty"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncat {home}/tool/rules.toml >&2 || exit 1\nexec sleep 60\n")
    fake.chmod(0o755)
    places, settings = locate(str(repo)), Settings(sandbox=SandboxSettings(use="bwrap"))
    containment = make_containment(places, settings, make_terms(places, settings))

    async def body(tools: Asking) -> None:
        said = await tools.refused("goto_definition", "tally/count.py", "words")
        assert said.splitlines()[-1] == (
            'Hidden by the sandbox: ~/tool/rules.toml. To show it, the user can set: sandbox.show = ["~/tool"]'
        )

    options: dict[str, Any] = {"wrap": containment.launch, "hidden": containment.hidden}
    asking(repo, body, own_code=True, contained=True, search=(str(fake.parent),), **options)
