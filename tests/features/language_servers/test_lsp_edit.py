"""lsp_edit: a server's edits, written as the file tools write, and only to the files that the call names."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import PermissionProfile, WorkMode
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.language_servers.client import Patience
from quintet.features.language_servers.edits import WireEdit, edited_text, edits_by_path
from quintet.features.language_servers.wire import Position, Range
from tests.features.language_servers.test_loading import HELP, SHORT
from tests.features.language_servers.test_lsp_tool import SERVER, Asking, asking, fake, server
from tests.tools.calling import BUILD, Caller


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> WireEdit:
    return WireEdit(range=Range(Position(*start), Position(*end)), new_text=text)


def test_edits_are_placed_by_the_lines_and_units_of_the_protocol() -> None:
    text = "𐍈 = old\r\nold\rold\n"
    edits = [edit((1, 0), (1, 3), "new"), edit((0, 5), (0, 8), "new"), edit((3, 0), (3, 0), "# end\n")]
    assert edited_text(text, edits, "utf-16") == "𐍈 = new\r\nnew\rold\n# end\n"
    assert edited_text("𐍈 = old", [edit((0, 7), (0, 10), "new")], "utf-8") == "𐍈 = new"
    with pytest.raises(ToolFailed, match="overlap"):
        edited_text("abcdef", [edit((0, 0), (0, 3), "x"), edit((0, 2), (0, 4), "y")], "utf-8")


def test_what_is_more_than_text_is_refused() -> None:
    with pytest.raises(ToolFailed, match="would also delete files"):
        edits_by_path({"documentChanges": [{"kind": "delete", "uri": "file:///p/a.py"}]})
    assert edits_by_path(None) == {}


RENAMES = """
    def change(name):
        at = lambda character: {"line": 0, "character": character}
        uri = params["textDocument"]["uri"].rpartition("/")[0] + "/" + name
        begin = 4 if name == "core.py" else 17
        new = [{"range": {"start": at(begin), "end": at(begin + 7)}, "newText": params["newName"]}]
        return {"textDocument": {"uri": uri, "version": None}, "edits": new}
    send(id=number, result={"documentChanges": [change(name) for name in NAMES]})
"""
CAPABLE = '{"capabilities": {}}'


def renaming(tmp_path: Path, *names: str) -> dict[str, Any]:
    code = f"NAMES = {names!r}\n{HELP}" + server(f'if method == "textDocument/rename":{RENAMES}')
    fake(tmp_path / "bin", "ty", code.replace(CAPABLE, '{"capabilities": {"renameProvider": True}}'))
    return {"search": (str(tmp_path / "bin"),), "patience": SHORT}


async def rename(tools: Asking, *files: str, status: CallStatus = CallStatus.OK) -> str:
    arguments = {
        "command": "rename",
        "path": "core.py",
        "symbol": "central",
        "new_name": "middle",
        "files": list(files),
    }
    result = await tools.call("lsp_edit", **arguments)
    assert result.status is status, result.content
    return result.content


def two(tools: Asking) -> None:
    tools.write("core.py", "def central():\n    return 1\n")
    tools.write("user.py", "from core import central\n")


def test_a_rename_is_written_to_every_file_that_is_named(repo: Path, tmp_path: Path) -> None:
    async def body(tools: Asking) -> None:
        two(tools)
        said = await rename(tools, "user.py")
        assert "+def middle():" in said
        assert (repo / "core.py").read_text() == "def middle():\n    return 1\n"
        assert (repo / "user.py").read_text() == "from core import middle\n"

    asking(repo, body, **renaming(tmp_path, "core.py", "user.py"))


@pytest.mark.parametrize("stray", ["user.py", "../outside.py", ".env", ".git/config"])
def test_a_file_that_is_not_named_is_not_written_and_none_is(repo: Path, tmp_path: Path, stray: str) -> None:
    """A server cannot reach beyond what the gate has seen."""
    (repo / ".env").write_text("from core import central\n")
    (tmp_path / "outside.py").write_text("from core import central\n")
    config = (repo / ".git/config").read_text()

    async def body(tools: Asking) -> None:
        two(tools)
        said = await rename(tools, status=CallStatus.ERROR)
        assert "this also changes" in said
        assert "name them in files" in said
        assert (repo / "core.py").read_text() == "def central():\n    return 1\n"

    asking(repo, body, **renaming(tmp_path, "core.py", stray))
    assert (repo / ".git/config").read_text() == config
    assert "central" in (repo / ".env").read_text() + (tmp_path / "outside.py").read_text()


def test_what_may_be_written_is_judged_as_for_any_edit(repo: Path) -> None:
    tools = Caller(repo)
    call = {"command": "rename", "path": "tally/count.py", "symbol": "words", "new_name": "terms"}
    assert tools.verdict("lsp_edit", **call) is Verdict.ALLOW
    for path in (".git/config", "../x.py", ".env", ".quintet/settings.toml"):
        assert tools.verdict("lsp_edit", **call, files=[path]) is Verdict.DENY
    chat = BUILD.__class__(WorkMode.CHAT, BUILD.run_control, PermissionProfile.NORMAL)
    assert tools.verdict("lsp_edit", chat, **call) is Verdict.ASK


def test_code_actions_are_listed_and_applied_by_their_title(repo: Path, tmp_path: Path) -> None:
    answer = """
if method == "textDocument/codeAction":
    command = {"title": "x", "command": "fix.all", "arguments": [params["textDocument"]["uri"]]}
    send(id=number, result=[{"title": "Fix all", "kind": "quickfix", "command": command}])
elif method == "workspace/executeCommand":
    at = lambda character: {"line": 0, "character": character}
    new = [{"range": {"start": at(0), "end": at(0)}, "newText": "# fixed\\n"}]
    send(id="mine", method="workspace/applyEdit", params={"edit": {"changes": {params["arguments"][0]: new}}})
    assert take()["result"]["applied"]
    send(id=number, result=None)
"""
    code = (HELP + server(answer)).replace(CAPABLE, '{"capabilities": {"codeActionProvider": True}}')
    assert code != HELP + server(answer)
    assert SERVER in server(answer)
    fake(tmp_path / "bin", "ty", code)

    async def body(tools: Asking) -> None:
        two(tools)
        assert await tools.ask("code_actions", "core.py", "", 1) == "Fix all  [quickfix]"
        done = await tools.call("lsp_edit", command="code_action", path="core.py", line=1, title="Fix all")
        assert done.status is CallStatus.OK, done.content
        assert (repo / "core.py").read_text().startswith("# fixed\ndef central")
        wrong = await tools.call("lsp_edit", command="code_action", path="core.py", line=1, title="Fix")
        assert 'no code action is called "Fix"' in wrong.content

    asking(repo, body, search=(str(tmp_path / "bin"),), patience=SHORT)


def test_a_server_that_cannot_says_so(repo: Path, tmp_path: Path) -> None:
    fake(tmp_path / "bin", "ty", server("pass"))

    async def body(tools: Asking) -> None:
        two(tools)
        assert "cannot rename" in await rename(tools, status=CallStatus.ERROR)
        assert "no code actions" in await tools.refused("code_actions", "core.py", "", 1)

    asking(repo, body, search=(str(tmp_path / "bin"),), patience=Patience(0.05, 0.1, 0.1, 1.0))


def test_a_real_server_renames(repo: Path) -> None:
    async def body(tools: Asking) -> None:
        arguments = {"command": "rename", "path": "tally/count.py", "symbol": "words", "new_name": "terms"}
        result = await tools.call("lsp_edit", **arguments, files=["tests/test_count.py"])
        assert result.status is CallStatus.OK, result.content
        assert "def terms(" in (repo / "tally/count.py").read_text()
        assert "import terms" in (repo / "tests/test_count.py").read_text()

    asking(repo, body)
