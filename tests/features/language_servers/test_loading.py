"""lsp_tool over servers that answer before they have read the project: nothing short is told as if it were all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quintet.features.language_servers.client import Patience
from tests.features.language_servers.test_lsp_tool import Asking, asking, fake, server

SHORT = Patience(quiet=0.05, sign=0.1, doubt=0.4, most=30.0)
HELP = """
def place(params, name="", line=0):
    uri = params["textDocument"]["uri"]
    at = {"line": line, "character": 4}
    return {"uri": uri.rpartition("/")[0] + "/" + name if name else uri, "range": {"start": at, "end": at}}

def progress(kind, **more):
    send(method="$/progress", params={"token": "load", "value": {"kind": kind, **more}})

opened, asked, seen = set(), [], {}
"""


@pytest.fixture
def ty(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Options for servers where ty is a program that answers so."""

    def made(answer: str, patience: Patience = SHORT) -> dict[str, Any]:
        fake(tmp_path / "bin", "ty", HELP + server(answer))
        return {"search": (str(tmp_path / "bin"),), "patience": patience}

    return made


def users(tools: Asking) -> None:
    tools.write("core.py", "def central():\n    return 1\n")
    for number in range(3):
        tools.write(f"user{number}.py", "from core import central\n")


ALL = "[place(params), *(place(params, f'user{n}.py') for n in range(3))]"


def test_references_wait_for_the_end_of_the_servers_own_progress(
    repo: Path, ty: Callable[[str], dict[str, Any]]
) -> None:
    code = f"""
if method == "textDocument/didOpen":
    progress("begin", title="Indexing")
elif method == "textDocument/references":
    asked.append(1)
    send(id=number, result=[place(params)] if len(asked) < 2 else {ALL})
    if len(asked) == 1:
        progress("report", percentage=50)
        progress("end")
"""

    async def body(tools: Asking) -> None:
        users(tools)
        said = await tools.ask("goto_references", "core.py", "central")
        assert [line.split(":")[0] for line in said.splitlines()] == ["core.py", "user0.py", "user1.py", "user2.py"]

    asking(repo, body, **ty(code))


def test_references_that_leave_out_files_with_the_word_are_asked_for_again(
    repo: Path, ty: Callable[[str], dict[str, Any]]
) -> None:
    """A server that says nothing of its loading."""
    code = f"""
if method == "textDocument/references":
    asked.append(1)
    send(id=number, result=[place(params)] if len(asked) < 4 else {ALL})
"""

    async def body(tools: Asking) -> None:
        users(tools)
        said = await tools.ask("goto_references", "core.py", "central")
        assert len(said.splitlines()) == 4
        assert "not counted" not in said

    asking(repo, body, **ty(code, Patience(quiet=0.05, sign=0.1, doubt=30.0, most=60.0)))


def test_a_server_that_searches_open_files_is_shown_those_that_hold_the_word(
    repo: Path, ty: Callable[[str], dict[str, Any]]
) -> None:
    code = """
if method == "textDocument/didOpen":
    opened.add(params["textDocument"]["uri"].rpartition("/")[2])
elif method == "textDocument/didClose":
    opened.remove(params["textDocument"]["uri"].rpartition("/")[2])
elif method == "textDocument/references":
    send(id=number, result=[place(params, name) for name in sorted(opened)])
elif method == "textDocument/hover":
    send(id=number, result={"contents": " ".join(sorted(opened))})
"""

    async def body(tools: Asking) -> None:
        users(tools)
        said = await tools.ask("goto_references", "core.py", "central")
        assert [line.split(":")[0] for line in said.splitlines()] == ["core.py", "user0.py", "user1.py", "user2.py"]
        assert await tools.ask("hover_symbol", "core.py", "central") == "core.py"  # and they are closed again

    asking(repo, body, **ty(code))


def test_files_with_the_word_that_the_server_does_not_list_are_named(
    repo: Path, ty: Callable[[str], dict[str, Any]]
) -> None:
    code = """
if method == "textDocument/references":
    send(id=number, result=[place(params)])
"""

    async def body(tools: Asking) -> None:
        users(tools)
        first = await tools.ask("goto_references", "core.py", "central")
        assert first.splitlines() == [
            "core.py:1:5  def central():",
            "(central also occurs in 3 other files, not counted by the server: user0.py, user1.py, user2.py)",
        ]
        assert await tools.ask("goto_references", "core.py", "central") == first

    asking(repo, body, **ty(code))


@pytest.mark.parametrize("command", ["goto_references", "goto_definition", "hover_symbol"])
def test_what_a_server_is_still_at_is_said_with_the_answer(
    repo: Path, ty: Callable[[str], dict[str, Any]], command: str
) -> None:
    code = """
if method == "textDocument/didOpen":
    progress("begin", title="Indexing")
    progress("report", message="3 of 10")
elif method == "textDocument/hover":
    send(id=number, result={"contents": "central"})
elif number:
    send(id=number, result=[place(params)])
"""

    async def body(tools: Asking) -> None:
        users(tools)
        said = await tools.ask(command, "core.py", "central")
        note = "Still loading: Indexing 3 of 10. This may be incomplete; ask again in a while."
        assert said.splitlines()[0] == note
        assert len(said.splitlines()) > 1

    asking(repo, body, **ty(code, Patience(quiet=0.05, sign=0.1, doubt=0.1, most=0.3)))


def test_a_definition_on_the_import_line_is_asked_for_again(repo: Path, ty: Callable[[str], dict[str, Any]]) -> None:
    code = """
if method == "textDocument/definition":
    asked.append(1)
    send(id=number, result=[place(params) if len(asked) < 4 else place(params, "core.py")])
"""

    async def body(tools: Asking) -> None:
        users(tools)
        said = await tools.ask("goto_definition", "user0.py", "central")
        assert said == "core.py:1:5  def central():"

    asking(repo, body, **ty(code, Patience(quiet=0.05, sign=0.1, doubt=30.0, most=60.0)))


def test_the_notes_of_servers_with_words_of_their_own_count_as_loading(
    repo: Path, ty: Callable[[str], dict[str, Any]]
) -> None:
    code = f"""
if method == "textDocument/didOpen":
    send(method="experimental/serverStatus", params={{"health": "ok", "quiescent": False, "message": "cargo metadata"}})
elif method == "textDocument/references":
    asked.append(1)
    send(id=number, result=[place(params)] if len(asked) < 2 else {ALL})
    if len(asked) == 1:
        send(method="experimental/serverStatus", params={{"health": "ok", "quiescent": True}})
"""

    async def body(tools: Asking) -> None:
        users(tools)
        assert len((await tools.ask("goto_references", "core.py", "central")).splitlines()) == 4

    asking(repo, body, **ty(code))
