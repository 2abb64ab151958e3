"""`quintet agents` and `quintet route`: what a person and a script see of agents."""

import json
from pathlib import Path

from tests.surfaces.program import Program

KEYS = [
    "kind",
    "confidence",
    "reason",
    "menu_index",
    "label",
    "target",
    "data_ref",
    "details",
    "candidates",
]


def test_the_list_names_every_agent_and_where_it_is_from(quintet: Program) -> None:
    heading, *rows = quintet.run("agents", "list").clean(0).out.splitlines()
    assert heading.split() == ["AGENT", "DESCRIPTION", "ITEMS", "FROM"]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [
        ("planner", "shipped"),
        ("release", "shipped"),
        ("reviewer", "shipped"),
    ]
    listed = quintet.run("agents", "--json").clean(0).json()
    assert [agent["id"] for agent in listed] == ["planner", "release", "reviewer"]


def test_s2_ac1_an_agent_is_shown_with_its_persona_and_its_numbered_menu(quintet: Program) -> None:
    out = quintet.run("agents", "show", "reviewer").clean(0).out
    assert "Reviewer of changes to a code base" in out
    assert "1  [MH] Redisplay Menu Help" in out
    assert "8  [DA] Dismiss Agent" in out
    shown = quintet.run("agents", "show", "reviewer", "--json").clean(0).json()
    assert shown["persona"]["role"] == "Reviewer of changes to a code base"
    assert [item["index"] for item in shown["menu"]] == list(range(1, 9))
    assert shown["menu"][2]["trigger"] == "review-changes"


def test_a_new_agent_is_an_example_that_works(quintet: Program) -> None:
    made = quintet.run("agents", "new", "harbour-guide", "--json").clean(0).json()
    assert Path(made["file"]) == quintet.root / ".quintet/agents/harbour-guide/harbour-guide.agent.yaml"
    checked = quintet.run("agents", "check", "--json").clean(0).json()
    assert checked == {"agents": ["harbour-guide"], "malformed": [], "loose_ends": [], "notes": []}
    assert quintet.run("route", "--agent", "harbour-guide", "--json", "--", "FL").json()["kind"] == "StartWorkflow"
    again = quintet.run("agents", "new", "harbour-guide")
    assert again.code == 2
    assert "nothing was written" in again.err
    assert quintet.run("agents", "new", "../out").code == 2
    quintet.run("agents", "new", "mine", "--user").clean(0)
    origins = {agent["id"]: agent["origin"] for agent in quintet.run("agents", "list", "--json").json()}
    assert (origins["harbour-guide"], origins["mine"]) == ("project", "user")


def test_the_file_of_an_agent_is_looked_for_in_the_project_that_is_named(quintet: Program) -> None:
    quintet.run("agents", "new", "harbour-guide").clean(0)
    file = ".quintet/agents/harbour-guide/harbour-guide.agent.yaml"
    said = quintet.shell(f'cd / && $Q -C "{quintet.root}" --agent {file} -p 1').clean(0).out
    assert said.startswith("1. [MH] Redisplay Menu Help\n")


def test_what_is_malformed_is_said_and_left_out(quintet: Program) -> None:
    path = quintet.root / ".quintet/agents/broken.agent.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("agent:\n  metadata: {id: broken, name: B, title: T, icon: x}\n  menu: []\n")
    checked = quintet.run("agents", "check")
    assert checked.code == 1
    assert f"{path}:3: agent.menu: needs at least one entry" in checked.out
    listed = quintet.run("agents", "list", "--json")
    assert [agent["id"] for agent in listed.json()] == ["planner", "release", "reviewer"]
    assert "agent.menu: needs at least one entry; ignored" in listed.err
    shown = quintet.run("agents", "show", str(path))
    assert shown.code == 2
    assert "agent.menu" in shown.err


def test_what_is_not_known_is_noted_and_strict_counts_it_as_wrong(quintet: Program) -> None:
    pages = quintet.root / "plugins/a/agents"
    pages.mkdir(parents=True)
    (pages / "a.md").write_text("---\nname: a\ndescription: d\nsparkle: bright\n---\nx\n")
    note = f"{pages}/a.md:4: sparkle: is not a field here, and is not used. (note)"
    said = quintet.run("agents", "check", "plugins").clean(0).out.splitlines()
    assert said == [note, "agents read: 1, problems: 0, warnings: 0, notes: 1"]
    assert quintet.run("agents", "check", "--strict", "plugins").code == 1
    (pages / "a.md").write_text("---\nname: a\ndescription: d\nmodel: opus\n---\nx\n")
    quintet.run("agents", "check", "--strict", "plugins").clean(0)


def test_route_answers_with_the_resolved_command(quintet: Program) -> None:
    def route(text: str, *flags: str) -> dict[str, object]:
        answer = quintet.run("route", "--agent", "planner", *flags, "--json", "--", text).clean(0).json()
        assert list(answer) == KEYS
        return dict(answer)

    assert route("3") == {
        "kind": "StartWorkflow",
        "confidence": "exact",
        "reason": "number 3",
        "menu_index": 3,
        "label": "[WS] Write a spec for a change, asking what is not clear",
        "target": "write-spec",
        "data_ref": None,
        "details": "",
        "candidates": [],
    }
    assert route("hello there, how does this work?")["kind"] == "Chat"
    assert route("")["kind"] == "ShowMenu"
    unclear = route("99")
    assert unclear["kind"] == "ClarifyChoice"
    assert unclear["candidates"] == [
        {"index": item["index"], "label": item["label"]}
        for item in quintet.run("agents", "show", "planner", "--json").json()["menu"]
    ]
    assert route("/stop", "--active-run")["target"] == "run.stop"
    assert route("-v --json", "--active-run")["kind"] == "ContinueRun"
    assert route("write-spec\nfor the door")["details"] == "for the door"


def test_route_gates_by_surface(quintet: Program) -> None:
    quintet.run("agents", "new", "gated").clean(0)
    path = quintet.root / ".quintet/agents/gated/gated.agent.yaml"
    path.write_text(path.read_text().replace("workflow: first-look", "workflow: first-look\n      ide-only: true"))
    numbers = {
        surface: quintet.run("route", "--agent", str(path), "--surface", surface, "--json", "--", "summary").json()
        for surface in ("tui", "web", "headless", "rpc")
    }
    assert {surface: answer["menu_index"] for surface, answer in numbers.items()} == {
        "tui": 4,
        "web": 3,
        "headless": 4,
        "rpc": 4,
    }


def test_route_for_people_and_for_what_is_not_there(quintet: Program) -> None:
    out = quintet.run("route", "--agent", "planner", "--", "open", "questions").clean(0).out
    assert out.splitlines()[0] == "RunAction  6. [OQ] List the questions that are still open  #questions"
    missing = quintet.run("route", "--agent", "planer", "--", "1")
    assert missing.code == 1
    assert "Did you mean planner?" in missing.err
    assert json.loads(quintet.run("route", "--agent", "planner", "--json").out)["kind"] == "ShowMenu"
