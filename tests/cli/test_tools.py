"""`quintet tools`: what is ready here, one call by the user's own hand, and the user's own tools among the others."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.program import PROGRAM, Program

BUILD = ("--mode", "build", "--permission-profile", "normal")
WRITE = ("tools", "call", "Write", "--args", json.dumps({"file_path": "new.txt", "content": "new\n"}))
KEYS = {"GH_TOKEN": "hub-token", "BRAVE_API_KEY": "brave-key"}  # what the tools that reach outside need here
FORGE = (
    "git_view_pr",
    "git_create_pr",
    "git_update_pr_description",
    "git_pr_checks",
    "git_ci_job_logs",
    "git_comment_on_pr",
)
MODEL = '[models.m]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\n[routing]\nsmart = "m"\n'
CHROMIUM = "#!/bin/sh\necho Chromium 1.2.3\n"
PYTHON = f'#!/bin/sh\nexec {sys.executable} "$@"\n'

# ── doctor


def only(folder: Path, *programs: str, **scripts: str) -> str:
    """A PATH with nothing but these programs of the machine's, and these scripts."""
    folder.mkdir()
    for program in programs:
        found = shutil.which(program)
        assert found
        (folder / program).symlink_to(found)
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return str(folder)


def doctor(quintet: Program, code: int, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    quintet.settings(MODEL)
    told = quintet.run("tools", "doctor", "--json", PATH=path, **KEYS).clean(code).json()
    return {tool["name"]: tool for tool in told["tools"]}, {part["name"]: part for part in told["parts"]}


@pytest.mark.everything
def test_doctor_says_that_everything_is_ready(quintet: Program, tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "git", "bash", python3=PYTHON, chromium=CHROMIUM)
    tools, parts = doctor(quintet, 0, path)
    assert {tool["state"] for tool in tools.values()} == {"ready"}
    assert parts["git"]["found"].startswith("git version")
    assert parts["ripgrep"]["found"].startswith("ripgrep ")
    assert parts["pytest"]["found"].startswith("pytest ")
    assert parts["language server"]["found"].startswith("Python: ")
    listed = quintet.run("tools", "list", "--json").json()
    assert list(tools) == [tool["name"] for tool in listed]
    heading, *rows = quintet.run("tools", "doctor", PATH=path, **KEYS).clean(0).out.split("\n\n")[0].splitlines()
    assert heading.split() == ["TOOL", "STATE", "NEEDS"]
    assert [row.split() for row in rows] == [[name, "ready"] for name in tools]


def test_doctor_says_what_closes_this_machines_own_ports(quintet: Program, tmp_path: Path) -> None:
    _, parts = doctor(quintet, 1, only(tmp_path / "bin", "git", "bwrap"))
    assert parts["network"]["found"] == "this machine's"
    assert parts["network"]["missing"].startswith("pasta (package passt) or slirp4netns")
    _, parts = doctor(quintet, 1, only(tmp_path / "none", "git"))
    assert "only bubblewrap" in parts["network"]["missing"]


@pytest.mark.everything
def test_doctor_says_what_each_missing_tool_needs(quintet: Program, tmp_path: Path) -> None:
    tools, parts = doctor(quintet, 1, only(tmp_path / "bin", "git", chromium=CHROMIUM))
    missing = {name for name, tool in tools.items() if tool["state"] == "missing"}
    assert missing == {
        "bash",
        "bash_output",
        "write_to_shell",
        "kill_shell",
        "TodoVerify",
        "analyze_test_failure",
        "deploy",
    }
    assert tools["bash"]["needs"] == ["bash: install it from your system's packages"]
    assert [need.split(":")[0] for need in tools["analyze_test_failure"]["needs"]] == ["pytest", "bash"]
    assert parts["sandbox"]["found"] in ("partial", "none")
    assert "bubblewrap (bwrap) is not on PATH" in parts["sandbox"]["missing"]
    shown = quintet.run("tools", "doctor", PATH=str(tmp_path / "bin")).clean(1).out.splitlines()
    assert [line.split(maxsplit=2) for line in shown if line.startswith("TodoVerify")] == [
        ["TodoVerify", "missing", "bash: install it from your system's packages"]
    ]


def test_a_part_that_is_there_and_does_not_run_is_not_ready(quintet: Program, tmp_path: Path) -> None:
    git = "#!/bin/sh\necho 'git: cannot load libz' >&2\nexit 3\n"
    bwrap = "#!/bin/sh\necho 'bwrap: no permission to create a namespace' >&2\nexit 1\n"
    path = only(tmp_path / "bin", "bash", git=git, bwrap=bwrap, python3=PYTHON, chromium=CHROMIUM)
    tools, parts = doctor(quintet, 1, path)
    missing = {name for name, tool in tools.items() if tool["state"] == "missing"}
    assert missing == {name for name in tools if name.startswith("git_")} - set(FORGE) | {"analyze_test_failure"}
    assert "git ended with 3: git: cannot load libz" in tools["git_status"]["needs"][0]
    assert "cannot start: bwrap: no permission to create a namespace" in parts["sandbox"]["missing"]


GONE = """\
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mcp", "playwright", "ddgs", "trafilatura", "keyring"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
"""


@pytest.mark.everything
def test_doctor_on_a_bare_machine_gives_every_missing_tool_a_fix_in_one_line(quintet: Program, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone/sitecustomize.py").write_text(GONE)
    bare = {"PATH": only(tmp_path / "bin"), "PYTHONPATH": str(tmp_path / "gone")}
    path = only(tmp_path / "browsers", "git", "bash", chromium=CHROMIUM)
    told = quintet.run("tools", "doctor", "--json", **bare).clean(1).json()
    tools = {tool["name"]: tool for tool in told["tools"]}
    missing = {name: tool["needs"] for name, tool in tools.items() if tool["state"] == "missing"}
    assert {"bash", "git_log", "web_search", "browser_view", "git_create_pr", "mcp_tool", "visual_checker"} <= set(
        missing
    )
    assert {"Read", "Write", "glob", "librarian_search", "fs_move", "think"} <= set(tools) - set(missing)
    for name, needs in missing.items():
        assert needs and all(need and "\n" not in need for need in needs), name
    assert missing["mcp_tool"] == ["mcp: quintet install mcp"]
    assert missing["web_search"] == ["ddgs: quintet install web"]
    assert "playwright: quintet install browser" in missing["browser_view"]
    shown = quintet.run("tools", "doctor", **bare).clean(1).out.splitlines()
    assert shown[-1] == f"{len(tools) - len(missing)} of {len(tools)} tools are ready"
    page = '{"url": "http://127.0.0.1:8000/"}'
    said = quintet.run("tools", "call", "browser_navigate", "--args", page, PATH=path, PYTHONPATH=bare["PYTHONPATH"])
    assert said.clean(1).out.startswith("the browser tools need playwright: quintet install browser") and said.err == ""
    said = quintet.run("tools", "call", "mcp_tool", "--args", '{"command": "list_servers"}', **bare).clean(0).out
    assert "no MCP server is configured" in said, "what needs no server needs no package"
    quintet.settings('[mcp.servers.one]\nurl = "http://127.0.0.1:9/mcp"\n')
    listing = '{"command": "list_tools"}'
    said = quintet.run("tools", "call", "mcp_tool", "--args", listing, **bare).clean(1).out
    assert said == "MCP needs a package that is not installed: quintet install mcp\n"
    assert "quintet install mcp" in quintet.run("mcp-server", **bare).clean(2).err


@pytest.mark.everything
def test_doctor_says_how_to_get_a_browser(quintet: Program, tmp_path: Path) -> None:
    tools, parts = doctor(quintet, 0, only(tmp_path / "bin", "git", "bash", python3=PYTHON))
    missing = {name for name, tool in tools.items() if tool["state"] == "missing"}
    assert missing == {name for name in tools if name.startswith(("browser_", "recording_"))}
    assert len(missing) == 15
    assert tools["browser_view"]["needs"] == [
        "chromium: not installed; the user can install one (apt-get install chromium), or set browser.path"
    ]
    assert parts["playwright"]["found"].startswith("playwright ")


@pytest.mark.everything
def test_the_language_server_is_that_of_the_projects_own_languages(quintet: Program, tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "git", "bash", python3=PYTHON, chromium=CHROMIUM)
    (quintet.root / "one.go").write_text("package one\n")
    tools, parts = doctor(quintet, 0, path)
    assert "Python: " in parts["language server"]["found"]
    assert "go install golang.org/x/tools/gopls@latest" in parts["language server"]["missing"]
    for number in range(9):
        (quintet.root / f"more{number}.go").write_text("package one\n")
    tools, _ = doctor(quintet, 0, path)
    assert tools["lsp_tool"]["state"] == "missing"
    assert "gopls" in tools["lsp_tool"]["needs"][0]


def test_doctor_does_not_run_the_projects_own_python(quintet: Program, tmp_path: Path) -> None:
    venv = quintet.root / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("")
    (venv / "bin/python").write_text(f"#!/bin/sh\ntouch {quintet.root}/ran\n")
    (venv / "bin/python").chmod(0o755)
    path = only(tmp_path / "bin", "git", "bash", python3=PYTHON, chromium=CHROMIUM)
    tools, _ = doctor(quintet, 0, path)
    assert tools["analyze_test_failure"]["needs"] == ["pytest: .venv/bin/python -m pip install pytest"]
    (venv / "lib/python3.12/site-packages/pytest").mkdir(parents=True)
    _, parts = doctor(quintet, 0, path)
    assert parts["pytest"]["found"] == "in .venv"
    assert not (quintet.root / "ran").exists()


@pytest.mark.everything
def test_doctor_names_keys_that_are_not_set_and_shows_none_that_are(quintet: Program, tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "git", "bash", python3=PYTHON, chromium=CHROMIUM)
    without = quintet.run("tools", "doctor", "--json", PATH=path, QUINTET_WEB_SEARCH="exa").clean(0).json()
    needs = {tool["name"]: tool["needs"] for tool in without["tools"] if tool["state"] == "missing"}
    assert needs["git_create_pr"] == ["no token for the forge: export GH_TOKEN=… or run gh auth login"]
    assert needs["web_search"] == ["exa: export EXA_API_KEY=… with your key"]
    assert "git_view_pr" not in needs and "web_get_contents" not in needs
    having = quintet.run("tools", "doctor", PATH=path, **KEYS)
    assert having.out.count("GH_TOKEN") == 1 and "hub-token" not in having.out and "brave-key" not in having.out


def test_optional_parts_that_are_missing_are_no_error(quintet: Program, tmp_path: Path) -> None:
    path = only(tmp_path / "bin", "git", "bash")
    tools, _ = doctor(quintet, 0, path)
    assert "missing" in {tool["state"] for tool in tools.values()}
    assert quintet.run("tools", "doctor", PATH=path).clean(0).out.endswith("the other tools need optional programs\n")


def test_doctor_says_which_model_is_missing_and_how_to_have_one(quintet: Program, tmp_path: Path) -> None:
    told = quintet.run("tools", "doctor", "--json").clean(0).json()
    tools = {tool["name"]: tool["needs"] for tool in told["tools"]}
    assert tools["ask_smart_friend"][0].startswith("no language model is configured for deep: `quintet models` shows")
    assert tools["visual_checker"][0].startswith("no language model is configured for vision")
    quintet.settings(MODEL.replace("[routing]", 'api_key_env = "M_KEY"\n[routing]'))
    told = quintet.run("tools", "doctor", "--json").clean(0).json()
    tools = {tool["name"]: tool["needs"] for tool in told["tools"]}
    assert tools["ask_smart_friend"] == ["models.m: export M_KEY=… with its key"]


# ── call


def test_a_call_prints_what_it_came_back_with_and_is_on_record(quintet: Program) -> None:
    done = quintet.run("tools", "call", "git_log", "--args", '{"max_count": 1}').clean(0)
    assert "A small package" in done.out
    assert done.err == ""
    types = [event["type"] for event in quintet.journal()]
    assert types == [
        "session_opened",
        "input_received",
        "turn_started",
        "call_decided",
        "tool_started",
        "tool_finished",
        "turn_finished",
    ]


def test_a_call_as_json_leads_to_its_decision(quintet: Program) -> None:
    told = quintet.run(*WRITE, *BUILD, "--json").clean(0).json()
    assert (told["tool"], told["status"], told["changed"], told["exit_code"]) == ("Write", "ok", ["new.txt"], 0)
    assert told["session"] == quintet.sessions()[0]["session"]
    assert (quintet.root / "new.txt").read_text() == "new\n"
    why = quintet.run("why", str(told["decision"])).clean(0).out
    assert why.startswith("allowed  Write")
    assert "profile normal allows edit" in why


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ((), "Write needs profile normal or above; this is restricted"),
        (("--mode", "review", "--permission-profile", "normal"), "work mode review does not allow changing files"),
        (
            ("--permission-profile", "normal"),
            "Skipped: Write new.txt needs approval (in chat every change needs approval)",
        ),
    ],
)
def test_a_call_that_is_not_permitted_is_not_run_and_says_why(
    quintet: Program, flags: tuple[str, ...], reason: str
) -> None:
    done = quintet.run(*WRITE, *flags).clean(3)
    assert done.out == ""
    assert reason in done.err
    assert not (quintet.root / "new.txt").exists()
    (decided,) = quintet.events("call_decided")
    assert f"quintet why {decided['seq']}" in done.err
    told = quintet.run(*WRITE, *flags, "--json").clean(3).json()
    assert (told["status"], told["exit_code"]) == ("denied", 3)


def test_a_tool_that_fails_is_exit_1_with_its_words(quintet: Program) -> None:
    done = quintet.run("tools", "call", "bash", "--args", '{"command": "ls nowhere"}').clean(1)
    assert "nowhere" in done.out
    assert "no such file" in quintet.run("tools", "call", "Read", "--args", '{"file_path": "x"}').clean(1).out.lower()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("bash", "--args", "{"), "not JSON"),
        (("bash",), "command"),
        (("bash", "--args", '{"comand": "ls"}'), "Did you mean command?"),
        (("gerp", "--args", "{}"), "Did you mean grep?"),
        (("bash", "--args", '{"command": "ls"}', "--mode", "bild"), "bild"),
    ],
)
def test_a_call_that_cannot_be_taken_is_exit_2_and_begins_nothing(
    quintet: Program, call: tuple[str, ...], says: str
) -> None:
    assert says in quintet.run("tools", "call", *call).clean(2).err
    assert quintet.sessions() == []


@pytest.mark.parametrize(
    ("typed", "code", "there"), [("y", 0, True), ("n", 3, False), ("", 3, False), ("what", 3, False)]
)
def test_at_a_terminal_a_call_that_asks_is_asked(quintet: Program, typed: str, code: int, there: bool) -> None:
    terminal = quintet.plain(command=(*PROGRAM, *WRITE))
    terminal.sees("? Write new.txt?", "in chat every change needs approval", "[y] yes", "[n] no")
    terminal.types(typed)
    ended, rest = terminal.leaves()
    assert ended == code
    assert (quintet.root / "new.txt").exists() == there
    assert ("the user said no" in rest) == (not there)


def test_an_interrupt_at_the_question_ends_the_call_and_runs_nothing(quintet: Program) -> None:
    terminal = quintet.plain(command=(*PROGRAM, *WRITE))
    terminal.sees("[n] no")
    terminal.interrupts()
    assert terminal.leaves()[0] == 130
    assert not (quintet.root / "new.txt").exists()
    assert quintet.events("turn_finished")[0]["status"] == "interrupted"


def test_a_call_can_be_made_in_a_session_too(quintet: Program) -> None:
    done = quintet.run("-p", '!!fs_list_directory {"path": "tally"}').clean(0)
    assert "count.py" in done.out
    assert quintet.run("-p", "!!").clean(3).err.startswith("blocked: there is no tool")


# ── the user's own

ROWS = '''\
from quintet import Effect, Workbench, tool

print("hello")


@tool(effects={Effect.READ}, toolset="data", needs=("psql",))
async def count_rows(bench: Workbench, path: str) -> str:
    """Count the rows of a file."""
    print("counting")
    return str(len(bench.files.read(path).splitlines()))
'''


@pytest.fixture
def own(quintet: Program) -> Path:
    path = quintet.root / ".quintet/tools/rows.py"
    path.parent.mkdir(parents=True)
    path.write_text(ROWS)
    return path


def test_a_tool_of_ones_own_is_listed_judged_and_called_as_any_other(
    quintet: Program, own: Path, tmp_path: Path
) -> None:
    shipped = quintet.run("tools", "list", "--json").clean(0)
    assert "count_rows" not in shipped.out
    assert ".quintet/tools/rows.py; `quintet trust` would load them" in shipped.err
    quintet.run("trust").clean(0)

    *others, mine = quintet.run("tools", "list", "--json").clean(0).json()
    assert others == shipped.json()
    assert (mine["name"], mine["toolsets"], mine["profile"], mine["effects"]) == (
        "count_rows",
        ["data"],
        "restricted",
        ["read"],
    )
    assert "Count the rows of a file." in quintet.run("tools", "show", "count_rows").clean(0).out
    args = ("--args", '{"path": "tally/count.py"}')
    assert quintet.run("permit", "--tool", "count_rows", *args, "--json").clean(0).json()["decision"] == "allow"
    quintet.run("rules", "add", "deny", "count_rows", "secret*").clean(0)
    assert quintet.run("tools", "call", "count_rows", *args).clean(0).out == "3\n"
    assert "your rule" in quintet.run("tools", "call", "count_rows", "--args", '{"path": "secrets"}').clean(3).err

    tools, _ = doctor(quintet, 0, only(tmp_path / "bin", "git", "bash", python3=PYTHON, chromium=CHROMIUM))
    assert tools["count_rows"] == {"name": "count_rows", "state": "missing", "needs": ["psql: it is not on PATH"]}


def test_what_is_wrong_with_a_tool_of_ones_own_is_said_once(quintet: Program, own: Path) -> None:
    own.write_text("nonsense\n")
    quintet.run("trust").clean(0)
    done = quintet.run("tools", "call", "think", "--args", '{"content": "x"}').clean(0)
    assert done.err.count(f"{own}:1: NameError") == 1
    done = quintet.run("tools", "call", "count_rows").clean(2)
    assert f"{own}:1: NameError" in done.err and "there is no tool count_rows" in done.err
    assert f"{own}:1: NameError" in quintet.run("-p", "find words").clean(0).err


def test_the_first_start_asks_about_tools_as_it_does_about_settings(quintet: Program, own: Path) -> None:
    terminal = quintet.plain()
    terminal.sees("has its own tools", "loads tools that run as you", "Trust this folder? [y/N]")
    terminal.types("y")
    terminal.sees("› ")
    terminal.types('!!count_rows {"path": "tally/count.py"}')
    terminal.sees("counting", "3")


def test_permit_explains_a_file_of_lines(quintet: Program, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("# what I run\nls -l\n\npytest -q\nrm notes.txt\ngit push --force\n")
    at = ("--mode", "build", "--permission-profile", "normal", "--sandbox", "bwrap")
    said = quintet.run("permit", "--file", str(lines), *at, "--json").clean(0).json()
    assert [(one["number"], one["line"], one["decision"]) for one in said["lines"]] == [
        (2, "ls -l", "allow"),
        (4, "pytest -q", "ask"),
        (5, "rm notes.txt", "allow"),
        (6, "git push --force", "ask"),
    ]
    assert said["lines"][2]["otherwise"]["decision"] == "ask" and "otherwise" not in said["lines"][1]
    assert said["summary"] == {"allow": 2, "ask": 2, "deny": 0, "if_kept": 1}
    shown = quintet.run("permit", "--file", str(lines), *at).clean(0).out.splitlines()
    assert shown[0].split() == ["DECISION", "LINE", "EFFECTS", "REASON"]
    assert shown[3].startswith("allow if kept  rm notes.txt") and shown[6] == "4 lines: 2 allow, 2 ask, 0 deny"
    assert shown[7].startswith("if kept: 1 would delete files, and run if a snapshot taken just before contains")


def test_permit_takes_a_tool_or_a_file(quintet: Program) -> None:
    assert "one of the arguments --tool --file is required" in quintet.run("permit").clean(2).err
    assert "No such file" in quintet.run("permit", "--file", "none").clean(2).err
