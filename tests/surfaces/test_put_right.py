"""What Quintet takes out of the project after a command is told to the user, on every surface, with how to undo it."""

import asyncio
import os
import shlex
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from quintet.adapters.files.paths import locate
from tests.adapters.model_server import Reply
from tests.surfaces.program import BUILD, PROGRAM, SECONDS, Model, Program, call

pytestmark = [
    pytest.mark.system("bwrap"),
    pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning"),
]
GEN = (
    "import os\nopen('.mcp.json', 'w').write('{}')\nos.mkdir('.vscode')\nopen('.vscode/tasks.json', 'w').write('{}')\n"
)
WHY = "`python3 gen.py` made .mcp.json and .vscode. Files that other programs run may not be in the project."


@pytest.fixture
def planting(quintet: Program, model: Model) -> Program:
    (quintet.root / "gen.py").write_text(GEN)
    model(call("bash", command="python3 gen.py"), Reply(text="generated"), Reply(text="DONE\ngen.py ran"))
    return quintet


BACK = " quintet aside back "


def taken_back(quintet: Program, said: str) -> None:
    """What the notice says to do does it."""
    assert not (quintet.root / ".mcp.json").exists()
    name = next(line.partition(BACK)[2].strip() for line in said.splitlines() if BACK in line)
    quintet.run("aside", "back", *shlex.split(name)).clean(0)
    assert (quintet.root / ".mcp.json").read_text() == "{}"


def test_headless_tells_on_stderr_and_so_do_sessions_afterwards(planting: Program) -> None:
    done = planting.run("-p", "generate", *BUILD).clean(0)
    assert done.out == "generated\n"
    assert done.err.count(WHY) == 1
    shown = planting.run("sessions", "show", planting.sessions()[0]["session"]).clean(0).out
    assert shown.count(WHY) == 1
    taken_back(planting, shown)


def test_headless_tells_once_of_a_line_of_your_own(planting: Program) -> None:
    done = planting.run("-p", "! python3 gen.py", *BUILD).clean(0)
    assert (done.out.count(WHY), done.err.count(WHY)) == (0, 1)
    shown = planting.run("aside").clean(0).out
    assert shown.startswith("moved out of the project before:\n") and ".mcp.json" in shown


def test_headless_tells_in_the_stream(planting: Program) -> None:
    done = planting.run("-p", "generate", *BUILD, "--output-format", "stream-json").clean(0)
    (notice,) = [line for line in done.lines() if line["type"] == "noticed" and line["code"] == "PUT_RIGHT"]
    assert notice["text"].startswith(WHY)
    (result,) = [line for line in done.lines() if line["type"] == "tool_finished"]
    assert result["content"].endswith(notice["text"])  # the model is told the same


def test_plain_tells_once_for_a_model_and_once_for_a_line_of_your_own(planting: Program) -> None:
    terminal = planting.plain("--mode", "build", "--permission-profile", "trusted")
    terminal.sees("› ")
    terminal.types("generate")
    shown = terminal.sees("generated", "› ").replace("\r", "")
    assert shown.count("may not be in the project") == 1
    taken_back(planting, shown)
    (planting.root / ".mcp.json").unlink()
    terminal.types("!python3 gen.py && false")
    terminal.confirms("s")
    shown = terminal.sees("exit 1", "\n› ")
    assert shown.count("may not be in the project") == 1
    assert shown.count("exit 1") <= 2  # of the call, and of its output


def test_the_output_of_a_line_of_your_own_that_fails_is_shown_once(quintet: Program) -> None:
    terminal = quintet.plain("--mode", "build", "--permission-profile", "trusted")
    terminal.sees("› ")
    terminal.types("!ls nothing-of-this-name")
    terminal.confirms()
    assert terminal.sees("No such file", "\n› ").count("No such file") == 1


def test_an_mcp_client_is_told(planting: Program) -> None:
    program, *words = PROGRAM
    flags = ("--mode", "build", "--permission-profile", "normal")
    server = StdioServerParameters(
        command=program, args=[*words, "mcp-server", *flags], env=dict(os.environ), cwd=planting.root
    )

    async def used() -> None:
        async with asyncio.timeout(SECONDS), Client(server) as client:
            said = await client.call_tool("bash", {"command": "python3 gen.py"})
            assert WHY in said.content[0].text  # type: ignore[union-attr]

    asyncio.run(used())


def test_a_call_of_your_own_tells_once(planting: Program) -> None:
    words = ("--mode", "build", "--permission-profile", "normal")
    done = planting.run("tools", "call", "bash", "--args", '{"command": "python3 gen.py"}', *words)
    assert (done.out + done.err).count(WHY) == 1


def test_what_an_interrupted_command_left_is_told(quintet: Program, model: Model) -> None:
    os.mkfifo(quintet.root / "ready")
    (quintet.root / "gen.py").write_text(GEN + "open('ready', 'w').write('go')\nimport time\ntime.sleep(600)\n")
    model(call("bash", command="python3 gen.py", timeout=600), Reply(text="over"))
    terminal = quintet.plain("--mode", "build", "--permission-profile", "trusted")
    terminal.sees("› ")
    terminal.types("generate")
    assert (quintet.root / "ready").read_text() == "go"
    terminal.child.sendintr()
    terminal.sees(WHY)


def test_what_stands_there_is_not_touched_and_nothing_else_comes_back(planting: Program) -> None:
    planting.run("-p", "generate", *BUILD).clean(0)
    (planting.root / ".mcp.json").write_text("mine")
    assert "moved out of the project before:\n" in (listed := planting.run("aside").clean(0).out)
    assert "  .mcp.json\n" in listed and "quintet aside back PATH" in listed
    refused = planting.run("aside", "back", ".mcp.json")
    assert refused.code == 2 and "already exists" in refused.err
    assert (planting.root / ".mcp.json").read_text() == "mine"
    for path in ("", ".", "..", "../x", "/etc/passwd", ".vscode/../.."):
        assert planting.run("aside", "back", path).code == 2
    assert planting.run("aside", "back", "never").code == 1
    planting.run("aside", "back", ".vscode").clean(0)
    assert (planting.root / ".vscode/tasks.json").read_text() == "{}"


def test_nothing_comes_back_through_a_link_out_of_the_project(planting: Program, tmp_path: Path) -> None:
    (planting.root / "gen.py").write_text("import os\nos.makedirs('sub/.vscode')\n")
    planting.run("-p", "generate", *BUILD).clean(0)
    (planting.root / "sub").rmdir()
    (planting.root / "sub").symlink_to(tmp_path)
    assert planting.run("aside", "back", "sub/.vscode").code == 2
    assert not (tmp_path / ".vscode").exists()


def stored(quintet: Program, stamp: str) -> Path:
    """A folder of what was moved out of the project, made beside the real one."""
    folder = Path(locate(str(quintet.root)).scratch, "aside", stamp)
    folder.mkdir()
    return folder


def test_the_newest_comes_back_in_the_order_of_commands_not_of_letters(planting: Program) -> None:
    planting.run("-p", "generate", *BUILD).clean(0)
    for number in (2, 10, 9):
        (stored(planting, f"29990101-000000-77-{number}") / "x").write_text(str(number))
    said = planting.run("aside", "back", "--json", "x").clean(0).json()
    assert said["back"] == "x" and said["from"].endswith("-77-10")
    assert (planting.root / "x").read_text() == "10"


def test_nothing_comes_back_through_a_link_in_what_was_moved(planting: Program, tmp_path: Path) -> None:
    planting.run("-p", "generate", *BUILD).clean(0)
    (tmp_path / "mine").write_text("mine")
    (stored(planting, "29990101-000000-77-1") / "sub").symlink_to(tmp_path)
    assert planting.run("aside", "back", "sub/mine").code == 2
    assert (tmp_path / "mine").read_text() == "mine"


def test_moving_and_keeping_take_no_path(quintet: Program) -> None:
    for action in ("move", "keep"):
        refused = quintet.run("aside", action, ".mcp.json")
        assert refused.code == 2 and "unrecognized arguments: .mcp.json" in refused.err
