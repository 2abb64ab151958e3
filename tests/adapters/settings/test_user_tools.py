"""The user's own tools: where they come from, what is said of one that cannot be taken, and that they are tools."""

import os
import re
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.trust import trust_of
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.tool_menu import META_TOOLS, TOOL_MODES
from quintet.domain.turn.tool_spec import CallStatus
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.places import ROOT
from tests.trusted import trust_now

pytestmark = pytest.mark.usefixtures("replays")
ROWS = '''\
from quintet import Effect, ToolResult, Workbench, tool


@tool(effects={Effect.READ}, toolset="data")
async def count_rows(bench: Workbench, path: str, header: bool = True) -> ToolResult:
    """Count the rows of a CSV file.

    :path: the file
    """
    rows = len(bench.files.read(path).splitlines()) - header
    return ToolResult(f"{rows} rows", summary=str(rows))
'''
MENU = {"tools.presentation": "menu"}


@pytest.fixture
def trusted(repo: Path) -> Path:
    trust_now(repo)
    (repo / "sales.csv").write_text("name,sum\na,1\nb,2\n")
    return repo


def own(root: Path, source: str, name: str = "rows.py") -> Path:
    path = root / ".quintet/tools" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    if trust_of(locate(str(root)).trust_file, str(root)).trusted:
        trust_now(root)
    return path


def users(source: str, name: str) -> Path:
    path = Path(os.environ["XDG_CONFIG_HOME"], "quintet/tools", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


def declared(body: str, decorator: str = "@tool(effects=())") -> str:
    return f'from quintet import tool\n\n\n{decorator}\n{body}\n    """Do it."""\n    return "done"\n'


PLAIN = "async def mine(bench):"


def run(root: Path, model: ScriptedModel, **options: object) -> Driver:
    async def script(driver: Driver) -> None:
        await driver.turn("work")

    return drive(root, script, model, **options)


def told(model: ScriptedModel, request: int) -> str:
    return model.requests[request].messages[-1].text


def shown(model: ScriptedModel, request: int) -> set[str]:
    return {tool.name for tool in model.requests[request].tools}


# ── what can be wrong with one


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        ("def broken(:\n", 1, "invalid syntax"),
        ("import os\n\nraise RuntimeError('no database')\n", 3, "RuntimeError: no database"),
        ("import sys\nsys.exit(4)\n", 2, "SystemExit: 4"),
        ("from quintet import nothing\n", 1, "ImportError"),
        ("async def mine(bench):\n    return ''\n", 1, "no tool is declared here"),
        (declared("def mine(bench):"), 4, "mine is not async"),
        (declared("async def mine(path: str):"), 4, "the first parameter of a tool must be `bench`"),
        (declared(PLAIN, '@tool(effects={"raed"})'), 4, 'effect "raed": not one of read, edit'),
        (declared(PLAIN, '@tool(effects={"raed"})'), 4, "Did you mean read?"),
        (declared(PLAIN, '@tool(effects=(), profile="root")'), 4, 'profile "root": not one of restricted'),
        (declared(PLAIN, '@tool(effects=(), toolset="dta")'), 4, 'toolset "dta": not one of swe'),
        (declared("async def größe(bench):"), 4, "letters, digits and _"),
        (declared("async def bash(bench):"), 4, "bash is a tool of Quintet"),
        (declared("async def deploy(bench):"), 4, "deploy is a tool of Quintet"),
        (declared("async def think(bench):"), 4, "think is a tool of Quintet"),
        (declared("async def mine(bench, path):"), 4, "parameter path needs a name and a type"),
        (declared("async def mine(bench, **rest: str):"), 4, "parameter **rest: str needs a name and a type"),
        (declared("async def mine(bench, path: 'Nowhere'):"), 4, "'Nowhere' is not defined"),
        (declared(PLAIN).replace('    """Do it."""\n', ""), 4, "mine has no docstring"),
    ],
)
def test_a_tool_that_cannot_be_taken_is_named_with_its_line(trusted: Path, source: str, line: int, says: str) -> None:
    path = own(trusted, source)
    loaded = user_tools.load(locate(str(trusted)), trust_of(locate(str(trusted)).trust_file, str(trusted)))
    assert loaded.specs == {}
    (warning,) = loaded.warnings
    assert warning.startswith(f"{path}:{line}: ")
    assert says in warning


def test_a_bad_file_is_a_notice_and_the_session_and_the_other_tools_go_on(trusted: Path) -> None:
    path = own(trusted, "1 / 0\n", "bad.py")
    own(trusted, ROWS + declared("async def bash(bench):"))
    model = ScriptedModel([[call("count_rows", path="sales.csv")], "two"])
    driver = run(trusted, model)
    assert [(note.level, note.code) for note in driver.of(p.Noticed)] == [("warning", "OWN_TOOLS")] * 2
    assert driver.of(p.Noticed)[0].text.startswith(f"{path}:1: ZeroDivisionError")
    assert told(model, 1) == "2 rows"
    assert driver.of(p.TurnFinished)[0].status == "done"


def test_a_name_stands_for_one_tool_and_the_users_own_file_comes_first(trusted: Path) -> None:
    mine = users(declared(PLAIN), "a.py")
    theirs = own(trusted, declared(PLAIN))
    loaded = user_tools.load(locate(str(trusted)), trust_of(locate(str(trusted)).trust_file, str(trusted)))
    assert list(loaded.specs) == ["mine"]
    assert loaded.warnings == [f"{theirs}:4: mine is already declared in {mine}; the tool is not loaded"]


# ── trust


def test_an_untrusted_folders_tools_are_not_even_run(repo: Path) -> None:
    mark = repo / "ran"
    own(repo, f"open({str(mark)!r}, 'w').close()\n{ROWS}")
    model = ScriptedModel([[call("count_rows", path="tally/count.py")], "no"])
    driver = run(repo, model)
    assert not mark.exists()
    assert "there is no tool count_rows" in told(model, 1)
    (note,) = driver.of(p.Noticed)
    assert (note.level, note.code) == ("info", "OWN_TOOLS")
    assert ".quintet/tools/rows.py" in note.text and "`quintet trust`" in note.text

    trust_now(repo)
    model = ScriptedModel([[call("count_rows", path="tally/count.py")], "yes"])
    assert run(repo, model).of(p.Noticed) == []
    assert mark.exists()
    assert told(model, 1) == "2 rows"


def test_the_users_own_folder_needs_no_trust_and_nothing_is_written_beside_the_tools(repo: Path) -> None:
    path = users(ROWS, "rows.py")
    users("raise SystemExit\n", "_helper.py")
    model = ScriptedModel([[call("count_rows", path="tally/count.py")], "yes"])
    assert run(repo, model).of(p.Noticed) == []
    assert told(model, 1) == "2 rows"
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["_helper.py", "rows.py"]


def test_a_model_cannot_write_itself_a_tool(trusted: Path) -> None:
    model = ScriptedModel([[call("Write", file_path=".quintet/tools/new.py", content=ROWS)], "no"])
    run(trusted, model)
    assert "is protected: no call may write it" in told(model, 1)


# ── one among the others


def test_a_tool_of_ones_own_is_in_its_toolset_and_nowhere_else(trusted: Path) -> None:
    own(trusted, ROWS)
    model = ScriptedModel(
        [
            [call("menu_enter", mode="swe")],
            [call("count_rows", path="sales.csv")],
            [call("menu_enter", mode="data")],
            [call("count_rows", path="sales.csv")],
            "two",
        ]
    )
    run(trusted, model, settings=MENU)
    assert shown(model, 0) == set(META_TOOLS)
    assert "count_rows" not in shown(model, 1)
    assert told(model, 2) == "count_rows is not in this toolset; it is in: data. Use menu_enter to go there."
    assert told(model, 3).endswith(", count_rows")
    assert shown(model, 3) == {*META_TOOLS, *TOOL_MODES["data"].tool_list, "count_rows"}
    assert told(model, 4) == "2 rows"


def test_it_is_in_swe_unless_it_says_otherwise_and_request_tools_finds_it(trusted: Path) -> None:
    own(trusted, ROWS.replace(', toolset="data"', ""))
    model = ScriptedModel([[call("request_tools", tool_names=["count csv rows"])], "ok"])
    driver = run(trusted, model, settings={"tools.presentation": "search"})
    assert told(model, 1).startswith("count_rows matches.")
    assert [event.toolset for event in driver.of(p.MenuMoved)] == ["swe"]
    assert "count_rows" in shown(model, 1)


def test_the_gate_is_the_same(trusted: Path) -> None:
    own(trusted, declared(PLAIN, '@tool(effects={"edit", "network"}, profile="normal")'))
    restricted = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED)
    model = ScriptedModel([[call("mine")], "no"])
    driver = run(trusted, model, axes=restricted)
    assert "mine" not in shown(model, 0)
    assert told(model, 1) == "not run: mine needs profile normal or above; this is restricted"

    normal = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
    driver = run(trusted, ScriptedModel([[call("mine")], "no"]), axes=normal)
    assert driver.of(p.ToolStarted) == []
    finished = driver.of(p.TurnFinished)[0]
    assert finished.status == "blocked"
    flag = "To allow mine: --permission-profile unrestricted"
    assert finished.reason.endswith(f": mine: using the network needs approval in profile normal. {flag}")

    unrestricted = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    driver = run(trusted, ScriptedModel([[call("mine")], "yes"]), axes=unrestricted)
    (decided,) = driver.of(p.CallDecided)
    assert decided.grant.network and decided.grant.write_roots == (str(trusted),)
    assert [event.content for event in driver.of(p.ToolFinished)] == ["done"]


@pytest.mark.parametrize("path", ["/etc/hostname", "../other.csv", "~/notes.csv"])
def test_a_path_that_leads_outside_is_asked_about_though_nobody_declared_it(trusted: Path, path: str) -> None:
    own(trusted, ROWS)
    driver = run(trusted, ScriptedModel([[call("count_rows", path=path)], "no"]))
    assert driver.of(p.ToolStarted) == []
    assert driver.of(p.TurnFinished)[0].reason.endswith(f"count_rows {path}: {path} is outside the project")


def test_what_a_call_touches_can_be_told_from_its_arguments(trusted: Path) -> None:
    own(
        trusted,
        "from quintet import Touch\n"
        + declared(
            "async def mine(bench, hard: bool = False):",
            '@tool(effects={"read", "destroy"}, touch=lambda a: Touch({"destroy"} if a["hard"] else {"read"}))',
        ),
    )
    driver = run(trusted, ScriptedModel([[call("mine")], [call("mine", hard=True)], "no"]))
    assert [str(decided.verdict) for decided in driver.of(p.CallDecided)] == ["allow", "ask"]


# ── when it fails


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return {}['x']", "mine: {path}:7: KeyError: 'x'"),
        ("raise SystemExit(1)", "mine: {path}:7: SystemExit: 1"),
        ("return open('/nowhere/x').read()", "mine: {path}:7: FileNotFoundError"),
        ("return 5", "mine returned int; expected text or a ToolResult"),
        ("return ToolResult(5)", "Expected `str`, got `int`"),
        ("raise ToolFailed('the door is shut')", "the door is shut"),
    ],
)
def test_its_failure_is_a_result(trusted: Path, body: str, says: str) -> None:
    source = (
        declared(PLAIN).replace('return "done"', body).replace("import tool", "import ToolFailed, ToolResult, tool")
    )
    path = own(trusted, source)
    model = ScriptedModel([[call("mine")], "sorry"])
    driver = run(trusted, model)
    (finished,) = driver.of(p.ToolFinished)
    assert finished.status is CallStatus.ERROR
    assert says.format(path=path) in finished.content
    assert driver.of(p.TurnFinished)[0].status == "done"


def test_an_error_in_telling_what_it_touches_is_a_result_too(trusted: Path) -> None:
    path = own(trusted, declared(PLAIN, '@tool(effects={"read"}, touch=lambda arguments: arguments["x"])'))
    model = ScriptedModel([[call("mine")], "sorry"])
    run(trusted, model)
    assert told(model, 1) == f"mine: {path}:4: KeyError: 'x'"


def test_the_examples_of_the_docs_load_and_work(trusted: Path) -> None:
    page = (ROOT / "docs/howto/own-tools.md").read_text()
    for number, source in enumerate(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)):
        own(trusted, source, f"example{number}.py")
    sort = call("sort_rows", source="sales.csv", target="sorted.csv")
    model = ScriptedModel([[call("count_rows", path="sales.csv")], [sort], "done"])
    driver = run(trusted, model)
    assert driver.of(p.Noticed) == []
    assert [event.content for event in driver.of(p.ToolFinished)] == ["2 rows", "3 lines sorted"]
    assert (trusted / "sorted.csv").read_text() == "a,1\nb,2\nname,sum\n"


def test_it_cannot_end_the_turn_or_move_the_menu(trusted: Path) -> None:
    body = 'return ToolResult("x", ends="done", answer="all done", toolset="nowhere")'
    own(trusted, declared(PLAIN).replace('return "done"', body).replace("import tool", "import ToolResult, tool"))
    driver = run(trusted, ScriptedModel([[call("mine")], "the model's own end"]))
    assert driver.of(p.MenuMoved) == []
    assert driver.of(p.TurnFinished)[0].answer == "the model's own end"


def test_it_may_show_pictures_that_were_kept_and_nothing_by_another_name(trusted: Path) -> None:
    shown = 'KeptImage("image/png", "ab12", 4), KeptImage("image/png", "../../state.db", 4)'
    imported = "from quintet.domain.turn.messages import KeptImage\n"
    source = declared(PLAIN).replace('return "done"', f'return ToolResult("x", images=({shown}))')
    own(trusted, imported + source.replace("import tool", "import ToolResult, tool"))
    driver = run(trusted, ScriptedModel([[call("mine")], "seen"]))
    (finished,) = driver.of(p.ToolFinished)
    assert [image.digest for image in finished.images or ()] == ["ab12"]
