"""Prompts: their order, their four variables, what is refused at load, and who may put a page of their own in place."""

import ast
import json
import shutil
from pathlib import Path

import pytest

from quintet.app.prompts import PROMPTS
from quintet.cli.main import main
from quintet.domain.base.errors import QuintetError
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.turn.corrections import PAGES, Correction
from quintet.engine.turn.prompts import VARIABLES, Prompts
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.trusted import trust_now

SHIPPED = sorted(str(path.relative_to(PROMPTS)) for path in Path(PROMPTS).rglob("*.md"))
ASSISTED = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)

REFUSED = [
    "Switch to plan mode first.",
    "switching to build mode helps",
    "Change the work mode to build.",
    "You may change your permission profile.",
    "Turn the dials as you need.",
    "Turn the dial up.",
    "Set run control to autonomous.",
    "Set the model mode to deep.",
    "Move to review mode when done.",
    "Flip into repair mode.",
    "Go into research mode.",
    "go to chat mode",
    "Going back to agent mode is fine.",
    "Try switching the work mode.",
    "If stuck, change model mode.",
    "Turn reasoning on.",
    "Turn the visible reasoning off.",
    "SWITCH TO AGENT MODE",
    "Consider changing the run control.",
    "Set a higher permission profile and go on.",
    "Ask to be switched to build mode.",
    "Enter plan mode now.",
    "Exit plan mode when the plan stands.",
    "Leave chat mode and begin.",
    "Raise the permission profile.",
    "Lower the run control.",
    "Enable reasoning on every step.",
    "Disable reasoning here.",
    "Use /mode build.",
    "Say /permission-profile trusted.",
]
FINE = [
    "The work mode is build.",
    "You are in plan mode: write a specification, change no code.",
    "In chat mode nothing is changed unasked.",
    "The permission profile decides what is asked.",
    "Only the user owns the dials.",
    "Run control is the user's.",
    "Change the file and run its tests.",
    "Switch statements are fine.",
    "Turn the list into a table.",
    "Set the variable before the loop.",
    "Move the function to another module.",
    "Go through the failing tests one by one.",
    "Continue.",
    "Return what you found.",
    "Settings are in a file.",
    "Change nothing. The work mode is the user's.",
    "Reasoning is shown to the user.",
    "Plan first, then build.",
    "Review the change before you answer.",
    "Repair what is broken and research the cause.",
    "A model answers in its own words.",
    "Enter the name of the file.",
    "Leave the project as you found it.",
    "Use the paths the user gave: src/mode/build.py.",
]


def folder(tmp_path: Path, name: str, text: str) -> str:
    """A copy of the shipped prompts with one page changed."""
    copy = tmp_path / "prompts"
    shutil.copytree(PROMPTS, copy)
    (copy / name).write_text(text)
    return str(copy)


def system_of(root: Path) -> list[str]:
    """What a scripted model is told in a turn whose one call is not run: the head of each request, and what is last."""

    async def script(driver: Driver) -> None:
        await driver.turn("tidy up")

    model = ScriptedModel([[call("nothing")], "No change was needed.", "DONE"])
    settings = {"tools.presentation": "menu", "runs.delivery_check": True}
    drive(root, script, model, axes=ASSISTED, settings=settings)
    return [
        "\n\n".join([request.messages[0].text, *(message.text for message in request.messages if message.passing)])
        for request in model.requests
    ]


# ── order and variables


def test_s1_5_2_parts_come_in_the_order_asked_for_and_empty_ones_are_left_out() -> None:
    names = ("base/system.md", "base/project_root_context.md", "@agents", "@persona", "modes/build.md")
    parts = Prompts(PROMPTS).parts(names, {"project_root": "/here"}, {"@agents": "be brief"})
    assert [part.name for part in parts] == [name for name in names if name != "@persona"]
    assert "/here" in parts[1].text and parts[2].text == "be brief"


@pytest.mark.parametrize("variable", VARIABLES)
def test_s1_5_3_each_of_the_four_variables_is_put_in(tmp_path: Path, variable: str) -> None:
    prompts = Prompts(folder(tmp_path, "modes/build.md", f"A {{{{{variable}}}}} and {{{{ {variable} }}}}."))
    values = {name: f"<{name}>" for name in VARIABLES}
    assert prompts.parts(["modes/build.md"], values, {})[0].text == f"A <{variable}> and <{variable}>."


def test_what_a_variable_holds_is_not_read_for_variables_again(tmp_path: Path) -> None:
    prompts = Prompts(folder(tmp_path, "modes/build.md", "{{user_input}}"))
    values = {"user_input": "{{project_root}}", "project_root": "/secret"}
    assert prompts.parts(["modes/build.md"], values, {})[0].text == "{{project_root}}"


@pytest.mark.parametrize("name", ["model", "USER_INPUT", "user_inputs", "axes"])
def test_s1_5_3_an_unknown_variable_fails_at_load_and_names_the_four(tmp_path: Path, name: str) -> None:
    with pytest.raises(QuintetError) as failed:
        Prompts(folder(tmp_path, "modes/build.md", f"{{{{{name}}}}}"))
    assert f"modes/build.md: unknown variable {name}; known variables: {', '.join(VARIABLES)}" in str(failed.value)


def test_a_page_that_is_not_there_is_named() -> None:
    with pytest.raises(QuintetError, match=r"modes/sleep\.md"):
        Prompts(PROMPTS).parts(["modes/sleep.md"], {}, {})


def test_a_page_that_is_no_text_fails_at_load(tmp_path: Path) -> None:
    copy = folder(tmp_path, "modes/build.md", "")
    Path(copy, "modes/build.md").write_bytes(b"\xff\xfe")
    with pytest.raises(QuintetError, match=r"modes/build\.md: the prompt cannot be read"):
        Prompts(copy)


def test_every_correction_has_its_page() -> None:
    assert {PAGES[kind] for kind in Correction} == {name for name in SHIPPED if name.startswith("corrections/")}


# ── the dials are not a prompt's


@pytest.mark.parametrize("phrase", REFUSED)
def test_s1_2_1_a_page_that_speaks_of_turning_a_dial_is_refused(tmp_path: Path, phrase: str) -> None:
    with pytest.raises(QuintetError, match="a prompt may not suggest changing a dial; only the user changes dials"):
        Prompts(folder(tmp_path, "modes/build.md", f"Work well.\n{phrase}\nBe brief."))


@pytest.mark.parametrize("phrase", FINE)
def test_a_page_that_does_not_is_taken(tmp_path: Path, phrase: str) -> None:
    prompts = Prompts(folder(tmp_path, "modes/build.md", f"Work well.\n{phrase}\nBe brief."))
    assert phrase in prompts.parts(["modes/build.md"], {}, {})[0].text


def test_every_shipped_page_passes_and_none_names_a_command_that_turns_a_dial() -> None:
    Prompts(PROMPTS)
    for name in SHIPPED:
        text = Path(PROMPTS, name).read_text()
        assert not any(word in text for word in ("/mode", "/control", "/permission-profile", "/model-mode", "/steer"))
        assert text.strip(), name


SOURCES = Path(PROMPTS).parent
SPOKEN = frozenset({"Message", "Corrected", "AgentsPageTold", "Recalled"})  # what becomes a message to a model


def _prose(node: ast.expr) -> bool:
    """Whether an expression has fixed words of its own: a sentence, not a name or a mark."""
    fixed = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(len(text.split()) > 2 for text in fixed)


def test_no_words_to_a_model_are_written_into_the_code() -> None:
    """What is folded from the journal is the exception: it has to come out the same whatever pages say later."""
    found = []
    for path in sorted([*SOURCES.glob("engine/**/*.py"), *SOURCES.glob("features/**/*.py"), *SOURCES.glob("app/*.py")]):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SPOKEN:
                words = [*node.args, *(keyword.value for keyword in node.keywords)]
                found += [f"{path.name}:{node.lineno}" for word in words if _prose(word)]
    assert found == []


# ── overrides


@pytest.mark.parametrize("trusted", [False, True])
def test_a_projects_own_page_is_used_only_in_a_trusted_folder(repo: Path, trusted: bool) -> None:
    own = repo / ".quintet/prompts/modes/build.md"
    own.parent.mkdir(parents=True)
    own.write_text("OUR OWN BUILD PAGE for {{project_root}}")
    if trusted:
        trust_now(repo)
    told = system_of(repo)
    ours, shipped = f"OUR OWN BUILD PAGE for {repo}", Path(PROMPTS, "modes/build.md").read_text().strip()
    assert all((ours in text) is trusted and (shipped in text) is not trusted for text in told)


def test_an_override_of_a_trusted_project_may_not_turn_dials_either(repo: Path, tmp_path: Path) -> None:
    own = tmp_path / "own/modes"
    own.mkdir(parents=True)
    (own / "build.md").write_text("Switch to agent mode.")
    with pytest.raises(QuintetError, match="only the user changes dials"):
        Prompts(PROMPTS, str(tmp_path / "own"))


def test_an_override_is_told_from_the_shipped_pages(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes/plan.md").write_text("Ours.")
    (tmp_path / "modes/unknown.md").write_text("Nobody asks for this one.")
    assert Prompts(PROMPTS, str(tmp_path)).overridden(PROMPTS) == ["modes/plan.md"]
    assert Prompts(PROMPTS).overridden(PROMPTS) == []


# ── what is shown is what is sent


@pytest.mark.parametrize(("stage", "request_number"), [("act", 0), ("tool_followup", 1), ("delivery_check", 2)])
def test_prompts_show_prints_exactly_what_is_sent(
    repo: Path, capsys: pytest.CaptureFixture[str], stage: str, request_number: int
) -> None:
    (repo / "AGENTS.md").write_text("Tabs, not spaces.")
    told = system_of(repo)
    dials = ["--mode", "build", "--control", "assisted", "--permission-profile", "trusted"]
    line = ["prompts", "show", stage, "-C", str(repo), "--input", "tidy up", *dials]
    assert main([*line, "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)
    sent = told[request_number]
    assert "\n\n".join(part["text"] for part in parts) == sent
    assert "Tabs, not spaces." in sent
    assert main(line) == 0
    plain = capsys.readouterr().out
    assert all(part["name"] in plain and part["text"] in plain for part in parts)
