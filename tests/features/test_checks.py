"""What features have the doctor look at: what the settings ask for and cannot be had, and data of their own."""

import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import apsw
import pytest

from quintet.adapters.files.paths import locate
from quintet.features.deploy.local import Deployed, LocalDeployments, board_rows
from quintet.features.library.store import LibraryStore, NewDocument
from tests.cli.test_doctor import findings
from tests.surfaces.program import Program

UNUSABLE = {
    "EXECUTOR_MISSING": ('[executors.codex]\ncommand = "/nowhere/codex"\n', "codex", "/nowhere/codex is not on PATH"),
    "MCP_SERVER_UNUSABLE": (
        '[mcp.servers.notes]\ncommand = "no-such-program"\n',
        "notes",
        "program no-such-program not found",
    ),
    "BROWSER_MISSING": (
        '[browser]\npath = "/nowhere/chrome"\n',
        "/nowhere/chrome",
        'browser.path is "/nowhere/chrome"',
    ),
    "FORGE_TOKEN_MISSING": ('[forge]\ntoken_env = "NO_SUCH_TOKEN"\n', "NO_SUCH_TOKEN", "which is not set"),
    "WEB_SEARCH_UNUSABLE": ('[web]\nsearch = "searxng"\n', "searxng", 'web.search is "searxng"'),
}


@pytest.mark.parametrize("code", UNUSABLE)
def test_what_the_settings_name_and_is_not_there(quintet: Program, code: str) -> None:
    settings, subject, problem = UNUSABLE[code]
    config = Path(locate(str(quintet.root)).config)
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(settings)
    found = findings(quintet)
    assert list(found) == [code]
    assert (found[code]["severity"], found[code]["subject"], found[code]["fixable"]) == ("warning", subject, False)
    assert problem in found[code]["problem"] and found[code]["advice"]
    assert quintet.run("doctor").code == 0


def test_a_server_that_is_switched_off_or_can_be_started_is_no_finding(quintet: Program) -> None:
    config = Path(locate(str(quintet.root)).config)
    config.mkdir(parents=True, exist_ok=True)
    here = f'[mcp.servers.here]\ncommand = "{sys.executable}"\n' if find_spec("mcp") else ""
    off = '[mcp.servers.off]\ncommand = "no-such-program"\nenabled = false\n'
    (config / "settings.toml").write_text(here + off)
    assert findings(quintet) == {}


def filled(quintet: Program) -> str:
    path = locate(str(quintet.root)).library
    store = LibraryStore(path)
    store.put(NewDocument("a", "/a.txt", "txt", "d", "2026-01-01"), ["one page", "", "another"])
    store.close()
    return path


def test_the_librarys_index_is_made_anew(quintet: Program) -> None:
    path = filled(quintet)
    assert findings(quintet) == {}
    connection = apsw.Connection(path)
    connection.execute("DELETE FROM lexicon_data WHERE id > 10")
    connection.close()
    found = findings(quintet)
    assert list(found) == ["LIBRARY_INDEX"] and found["LIBRARY_INDEX"]["fixable"]
    fixed = quintet.run("doctor", "fix", "--json").json()
    assert fixed["fixed"] == ["rebuilt the library's index of words"]
    assert [one for one in fixed["before"] if one not in fixed["findings"]] == [found["LIBRARY_INDEX"]]
    assert findings(quintet) == {}
    store = LibraryStore(path)
    assert len(store.search("page", 5)) == 1
    store.close()


def test_a_library_that_cannot_be_used_is_said(quintet: Program) -> None:
    connection = apsw.Connection(filled(quintet))
    connection.pragma("user_version", 99)
    connection.close()
    found = findings(quintet)["LIBRARY_UNUSABLE"]
    assert (found["severity"], found["subject"], found["fixable"]) == ("warning", "library.db", False)


def test_what_is_up_is_on_the_board_until_it_ends() -> None:
    deployments = LocalDeployments({})
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        deployments.up["frontend"] = Deployed("frontend", url, "/pages")
        (row,) = board_rows(deployments)
        assert (row.text, row.about) == (f"frontend {url}", "deployed from /pages")
    assert board_rows(deployments) == []
