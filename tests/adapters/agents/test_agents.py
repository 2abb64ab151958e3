"""Agents' files: what is read from them, and what is said of those that are wrong, by file, line and field."""

import json
import os
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from quintet.adapters.agents.catalogue import Catalogue, all_agents, at_path, find_agent
from quintet.adapters.agents.loose_ends import loose_ends
from quintet.adapters.agents.package_files import MOST_BYTES
from quintet.adapters.files.located_yaml import MOST_NODES, NotReadable, read_json, read_yaml
from quintet.adapters.files.paths import Places, locate
from quintet.domain.agents.agent import HandlerKind
from quintet.domain.agents.workflow import NodeKind
from quintet.domain.base.errors import NotFound, UsageError
from tests.adapters.agents.agent_files import agent_of, write

GOOD = """\
agent:
  metadata:
    id: keeper
    name: Keeper
    title: Keeps the light
    icon: "*"
  persona:
    role: Keeper of the light
    identity: Has kept it for years.
    communication_style: Slow.
    principles:
      - The light first.
  prompts:
    - id: weather
      content: Say what the weather will be.
  menu:
    - trigger: LL or fuzzy match on light-lamp
      workflow: light-lamp
      description: "[LL] Light the lamp"
    - trigger: weather
      action: "#weather"
      description: Say what the weather will be
"""


def refused(path: Path) -> list[tuple[int, str]]:
    """Line and field of each problem, of a file that is left out."""
    found = at_path(str(path))
    assert found.package is None
    assert all(problem.file == str(path) and problem.problem for problem in found.problems)
    return [(problem.line, problem.field) for problem in found.problems]


# ── BMAD


def test_an_agent_is_read_whole(tmp_path: Path) -> None:
    agent = agent_of(at_path(str(write(tmp_path, "keeper.agent.yaml", GOOD))))
    assert (agent.id, agent.name, agent.title) == ("keeper", "Keeper", "Keeps the light")
    assert agent.persona.role == "Keeper of the light"
    assert agent.persona.principles == ("The light first.",)
    lamp, weather = agent.menu
    assert (lamp.trigger, lamp.code, lamp.label) == ("light-lamp", "LL", "[LL] Light the lamp")
    assert [(handler.kind, handler.target) for handler in (*lamp.handlers, *weather.handlers)] == [
        (HandlerKind.WORKFLOW, "light-lamp"),
        (HandlerKind.ACTION, "#weather"),
    ]
    prompt = agent.prompt("weather")
    assert prompt and prompt.content == "Say what the weather will be."


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("    id: keeper\n", "", 2, "agent.metadata.id"),
        ("name: Keeper", 'name: "  "', 4, "agent.metadata.name"),
        ("name: Keeper", "name: 12", 4, "agent.metadata.name"),
        ("    role: Keeper of the light\n", "", 7, "agent.persona.role"),
        ("      - The light first.", "      - ''", 12, "agent.persona.principles[0]"),
        ("    principles:\n      - The light first.", "    principles: []", 11, "agent.persona.principles"),
        ("      content: Say what", "      contents: Say what", 15, "agent.prompts[0].contents"),
        ("    - trigger: weather", "    - trigger: The Weather", 20, "agent.menu[1].trigger"),
        ("    - trigger: weather", "    - trigger: light-lamp", 20, "agent.menu[1].trigger"),
        ("LL or fuzzy match on light-lamp", "LL or light-lamp", 17, "agent.menu[0].trigger"),
        ("[LL] Light", "[LX] Light", 19, "agent.menu[0].description"),
        ('      action: "#weather"\n', "", 20, "agent.menu[1]"),
        ('action: "#weather"', "action: ' '", 21, "agent.menu[1].action"),
        ('action: "#weather"', "action: x\n      ide-only: maybe", 22, "agent.menu[1].ide-only"),
        ('action: "#weather"', "action: x\n      ide-only: true\n      web-only: true", 23, "agent.menu[1].web-only"),
        ("agent:\n", "agents:\n", 1, "agents"),
        ("icon:", "icon: [", 7, ""),
        ("  persona:", "\tpersona:", 7, ""),
        ("name: Keeper", "name: Keeper\n    name: Other", 5, ""),
        ("name: Keeper", "name: !!python/object:os.system Keeper", 4, ""),
        ("name: Keeper", "name: *nobody", 4, ""),
        ("agent:", "---\nagent: {}\n---\nagent:", 3, ""),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_field(
    tmp_path: Path, old: str, new: str, line: int, field: str
) -> None:
    assert old in GOOD
    assert (line, field) in refused(write(tmp_path, "keeper.agent.yaml", GOOD.replace(old, new, 1)))


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("    id: keeper\n", "").replace("    role: Keeper of the light\n", "")
    fields = [field for _, field in refused(write(tmp_path, "keeper.agent.yaml", text))]
    assert fields == ["agent.metadata.id", "agent.persona.role"]


def test_a_mark_of_bytes_and_the_line_ends_of_other_systems_are_read_over(tmp_path: Path) -> None:
    path = tmp_path / "keeper.agent.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert agent_of(at_path(str(path))).menu[0].label == "[LL] Light the lamp"
    path.write_bytes(GOOD.replace("name: Keeper", "name: ' '").replace("\n", "\r\n").encode())
    assert refused(path) == [(4, "agent.metadata.name")]


def test_what_is_no_text_or_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keeper.agent.yaml"
    path.write_bytes(GOOD.encode() + b"# \xff\n")
    assert refused(path) == [(23, "")]
    path.write_text(GOOD + "#" * MOST_BYTES)
    assert refused(path) == [(1, "")]
    path.write_text("")
    assert refused(path) == [(1, "agent")]
    path.unlink()
    path.mkdir()
    assert at_path(str(path)).package is None


def test_aliases_cannot_multiply_a_file(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    path = write(tmp_path, "bomb.agent.yaml", "\n".join(lines))
    (problem,) = at_path(str(path)).problems
    assert str(MOST_NODES) in problem.problem
    assert 3 <= problem.line <= 6
    assert read_yaml("a: &a [1, 2]\nb: *a").value == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 5_000, "&a [*a]", "? [a]\n: b", "- " * 3000])
def test_no_yaml_takes_the_reader_down(text: str) -> None:
    with pytest.raises(NotReadable):
        read_yaml(text)


def test_json_keeps_its_lines_whatever_its_escapes() -> None:
    found = read_json('{\n "icon": "\\ud83d\\ude00 \\\\ud83d",\n\t"list": [\n  1,\n  {"a": null}]}')
    assert found.value["icon"] == "😀 \\ud83d"
    assert [found.line(place) for place in (("icon",), ("list",), ("list", 1, "a"), ("list", 9))] == [2, 3, 5, 3]
    with pytest.raises(NotReadable) as refusal:
        read_json('{"a": 1,\n "b": }')
    assert refusal.value.line == 2
    with pytest.raises(NotReadable):
        read_json('{"half a character": "\\ud83d"}')
    with pytest.raises(NotReadable):
        read_json('{"not valid YAML": 1, "not valid YAML": 2}')


@pytest.mark.parametrize(
    "form",
    [
        """\
        - quick-sketch:
            - input: QS or fuzzy match draw a sketch
            - route: sketch.md
            - data: paper.csv
        """,
        """\
        - quick-sketch:
            input: QS or fuzzy match on draw a sketch
            route: sketch.md
            data: paper.csv
        """,
        """\
        - quick-sketch:
          input: QS or fuzzy match draw a sketch
          route: sketch.md
          data: paper.csv
        """,
        """\
        - trigger: quick-sketch
          input: QS or fuzzy match draw a sketch
          route: sketch.md
          data: paper.csv
          type: exec
        """,
    ],
)
def test_an_item_with_several_handlers_in_every_form(tmp_path: Path, form: str) -> None:
    menu = "    - multi: '[QS] Sketch or [QP] Paint'\n      triggers:\n"
    triggers = dedent(form) + "- trigger: paint\n  input: QP or fuzzy match paint\n  action: Paint.\n"
    text = GOOD + menu + "".join(f"        {line}\n" for line in triggers.splitlines())
    item = agent_of(at_path(str(write(tmp_path, "keeper.agent.yaml", text)))).menu[-1]
    sketch, paint = item.handlers
    assert (sketch.kind, sketch.target, sketch.data) == (HandlerKind.EXEC, "sketch.md", "paper.csv")
    assert (sketch.trigger, sketch.code, sketch.match) == ("quick-sketch", "QS", "draw a sketch")
    assert (paint.kind, paint.code, item.code) == (HandlerKind.ACTION, "QP", "")


# ── packages

GRAPH: dict[str, Any] = {
    "entryNodeId": "one",
    "nodes": [
        {"id": "one", "type": "step", "file": "steps/one.md", "agentId": "keeper"},
        {"id": "fork", "type": "decision", "file": "workflows/lamp/steps/fork.md"},
        {"id": "end", "type": "end"},
    ],
    "edges": [
        {"from": "one", "to": "fork", "label": "next"},
        {"from": "fork", "to": "one", "label": "again", "conditionText": "it is dark"},
        {"from": "fork", "to": "end", "label": "done", "isDefault": True},
    ],
}
CREW: dict[str, Any] = {
    "schemaVersion": "1.1",
    "agents": [
        {
            "id": "keeper",
            "metadata": {"name": "Keeper", "title": "Keeps", "icon": "*"},
            "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": ["p"]},
            "menu": [
                {
                    "trigger": "*lamp",
                    "description": "Light the lamp",
                    "workflow": "lamp",
                    "triggers": [
                        {"type": "alias", "match": "make light"},
                        {"type": "handler", "match": "LO or fuzzy match put it out", "action": "Put it out."},
                    ],
                }
            ],
            "tools": {"fs": {"enabled": False}},
        },
        {
            "id": "boatman",
            "metadata": {"name": "Boatman", "title": "Rows", "icon": "*"},
            "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": "- p\n- q"},
        },
    ],
}


def package(folder: Path, graph: dict[str, Any] = GRAPH, crew: dict[str, Any] = CREW) -> Path:
    manifest = {
        "name": "lights",
        "version": "1.0.0",
        "entry": {"workflow": "workflows/lamp/workflow.md", "graph": "", "agents": "agents.json"},
        "workflows": [{"id": "lamp", "workflow": "workflows/lamp/workflow.md", "displayName": "The lamp"}],
    }
    manifest["entry"].pop("graph")  # type: ignore[attr-defined]
    write(folder, "bmad.json", json.dumps(manifest, indent=1))
    write(folder, "agents.json", json.dumps(crew, indent=1))
    write(folder, "config.yaml", "user_name: Ada\nyears: 3\nlists: [a]\n")
    write(folder, "workflows/lamp/workflow.md", "---\nschemaVersion: '1.1'\ncurrentNodeId: one\n---\n# Lamp\n")
    write(folder, "workflows/lamp/workflow.graph.json", json.dumps(graph, indent=1))
    for step in ("one", "fork"):
        write(folder, f"workflows/lamp/steps/{step}.md", f"# {step}\n")
    return folder


def test_a_package_is_read_with_its_agents_workflows_and_configuration(tmp_path: Path) -> None:
    found = at_path(str(package(tmp_path)))
    assert found.package and not found.problems
    assert (found.package.name, found.package.entry, found.package.version) == ("lights", "lamp", "1.0.0")
    assert found.package.variables == {"user_name": "Ada", "years": "3"}
    keeper, boatman = found.package.agents
    assert boatman.persona.principles == ("p", "q")
    (item,) = keeper.menu
    assert (item.trigger, item.aliases, len(item.handlers)) == ("lamp", ("make light",), 2)
    assert (item.handlers[1].code, item.handlers[1].match) == ("LO", "put it out")
    assert keeper.tools is not None and "Read" not in keeper.tools and "git_status" in keeper.tools
    assert boatman.tools is None
    (workflow,) = found.package.workflows
    assert workflow.title == "The lamp"
    assert workflow.state["currentNodeId"] == "one"
    assert [(node.id, node.kind, node.file) for node in workflow.graph.nodes] == [
        ("one", NodeKind.STEP, "workflows/lamp/steps/one.md"),
        ("fork", NodeKind.DECISION, "workflows/lamp/steps/fork.md"),
        ("end", NodeKind.END, ""),
    ]
    assert [(edge.target, edge.label, edge.default) for edge in workflow.graph.leaving("fork")] == [
        ("one", "again", False),
        ("end", "done", True),
    ]
    for ref in ("lamp", "workflows/lamp/workflow.md", "{package-root}/workflows/lamp/workflow.md"):
        assert found.package.workflow(ref) is workflow


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        (("entryNodeId",), "nowhere", "entryNodeId"),
        (("nodes", 1, "id"), "one", "nodes[1].id"),
        (("nodes", 0, "type"), "leap", "nodes[0].type"),
        (("nodes", 0, "file"), "steps/gone.md", "nodes[0].file"),
        (("nodes", 0, "file"), "../../../outside.md", "nodes[0].file"),
        (("nodes", 0, "file"), "steps/\0.md", "nodes[0].file"),
        (("edges", 1, "to"), "nowhere", "edges[1].to"),
        (("edges", 0, "label"), "", "edges[0].label"),
        (("nodes",), [], "nodes"),
        (("nodes",), "x", "nodes"),
    ],
)
def test_a_broken_graph_leaves_out_its_workflow_and_nothing_else(
    tmp_path: Path, place: tuple[Any, ...], value: Any, field: str
) -> None:
    graph = json.loads(json.dumps(GRAPH))
    holder = graph
    for part in place[:-1]:
        holder = holder[part]
    holder[place[-1]] = value
    write(tmp_path, "outside.md", "no")
    found = at_path(str(package(tmp_path / "a" / "b", graph)))
    assert found.package and len(found.package.agents) == 2
    assert found.package.workflows == ()
    problem = next(problem for problem in found.problems if problem.field == field)
    assert problem.file.endswith("workflow.graph.json")
    assert problem.line > 1


def test_a_broken_agent_leaves_the_other_agents_of_its_package(tmp_path: Path) -> None:
    crew = json.loads(json.dumps(CREW))
    del crew["agents"][0]["persona"]["role"]
    found = at_path(str(package(tmp_path, crew=crew)))
    assert found.package and [agent.id for agent in found.package.agents] == ["boatman"]
    assert [problem.field for problem in found.problems] == ["agents[0].persona.role"]
    crew["agents"] = [CREW["agents"][1]] * 2
    twice = at_path(str(package(tmp_path, crew=crew)))
    assert [problem.field for problem in twice.problems] == ["agents[1].id"]


def steps_of(folder: Path) -> list[tuple[str, str]]:
    found = at_path(str(folder))
    assert found.package, found.problems
    (workflow,) = found.package.workflows
    return [(node.id, node.file) for node in workflow.graph.nodes]


def test_a_workflow_without_a_graph_goes_along_its_step_files(tmp_path: Path) -> None:
    write(tmp_path, "keeper.agent.yaml", GOOD)
    write(tmp_path, "workflows/light-lamp/workflow.md", "# Light the lamp\n")
    alone = [("workflow", "workflows/light-lamp/workflow.md")]
    assert steps_of(tmp_path) == alone, "it is one step when it has none"
    steps = "workflows/light-lamp/steps"
    for name, following in (("01-oil", "03-match"), ("02-never", "01-oil"), ("03-match", "01b-rest"), ("01b-rest", "")):
        head = f"---\nnextStepFile: '{{workflow_path}}/steps/step-{following}.md'\n---\n" if following else ""
        write(tmp_path, f"{steps}/step-{name}.md", f"{head}# {name}\n")
    assert [name for name, _ in steps_of(tmp_path)] == ["step-01-oil", "step-03-match", "step-01b-rest"]
    write(tmp_path, f"{steps}/step-01-oil.md", "# no chain\n")
    assert [name for name, _ in steps_of(tmp_path)] == ["step-01-oil", "step-02-never", "step-03-match"]


def test_a_chain_of_steps_that_bites_its_tail_ends(tmp_path: Path) -> None:
    write(tmp_path, "keeper.agent.yaml", GOOD)
    write(tmp_path, "workflows/w/workflow.md", "# W\n")
    for name, following in (("step-01-a.md", "step-02-b.md"), ("step-02-b.md", "step-01-a.md")):
        write(tmp_path, f"workflows/w/steps/{name}", f"---\nnextStepFile: ./{following}\n---\n")
    assert [name for name, _ in steps_of(tmp_path)] == ["step-01-a", "step-02-b"]


# ── nothing outside


def test_a_link_that_leads_out_is_refused_and_one_that_stays_is_followed(tmp_path: Path) -> None:
    secret = write(tmp_path, "outside/keeper.agent.yaml", GOOD)
    home = tmp_path / "agents"
    home.mkdir()
    (home / "out.agent.yaml").symlink_to(secret)
    assert [problem.problem for problem in at_path(str(home / "out.agent.yaml")).problems] == [
        "leads out of the package"
    ]
    write(home, "real.agent.yaml", GOOD)
    (home / "in.agent.yaml").symlink_to("real.agent.yaml")
    assert agent_of(at_path(str(home / "in.agent.yaml"))).id == "keeper"


def test_steps_that_are_links_out_of_the_package_are_not_read(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside.md", "secret")
    root = package(tmp_path / "package")
    (root / "workflows/lamp/steps/one.md").unlink()
    (root / "workflows/lamp/steps/one.md").symlink_to(outside)
    found = at_path(str(root))
    assert found.package and found.package.workflows == ()
    assert [problem.field for problem in found.problems] == ["nodes[0].file"]


def test_a_pipe_does_not_hang_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keeper.agent.yaml")
    assert refused(tmp_path / "keeper.agent.yaml") == [(1, "")]


# ── Markdown pages

PAGE = """\
---
name: code-critic
description: Finds what is wrong
tools: Read, Grep, Bash(git log:*), WebSearch
---

You find what is wrong, and say it.
"""


def test_a_page_becomes_an_agent_with_a_small_menu(tmp_path: Path) -> None:
    agent = agent_of(at_path(str(write(tmp_path, "critic.md", PAGE))))
    assert (agent.id, agent.persona.role) == ("code-critic", "Finds what is wrong")
    assert agent.persona.identity == "You find what is wrong, and say it."
    assert agent.menu and all(item.handlers for item in agent.menu)
    assert agent.tools and {"Read", "grep", "bash", "web_search"} <= agent.tools
    assert "Edit" not in agent.tools
    assert agent_of(at_path(str(write(tmp_path, "all.md", PAGE.replace("tools", "colour"))))).tools is None
    twice = PAGE.replace("name: code", "name: first\nname: code")
    assert agent_of(at_path(str(write(tmp_path, "twice.md", twice)))).id == "code-critic", "the last one holds"


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("# Just a page\n", 1, "name"),
        (PAGE.replace("description: Finds what is wrong\n", ""), 2, "description"),
        (PAGE.replace("name: code-critic", "name: [a]"), 2, "name"),
        (PAGE.replace("---\n\nYou", "\nYou"), 1, ""),
        (PAGE.replace("name: code-critic", "name: 'code"), 4, ""),
    ],
)
def test_a_page_that_is_no_agent(tmp_path: Path, text: str, line: int, field: str) -> None:
    assert (line, field) in refused(write(tmp_path, "critic.md", text))


# ── the catalogue


def catalogue_at(tmp_path: Path) -> tuple[Places, Catalogue]:
    root = tmp_path / "project"
    root.mkdir(exist_ok=True)
    places = Places(str(root.resolve()), str(tmp_path / "state"), str(tmp_path / "config"))
    return places, all_agents(places)


def test_agents_are_found_in_every_place_and_the_first_of_a_name_is_meant(tmp_path: Path) -> None:
    project, config = tmp_path / "project", tmp_path / "config" / "agents"
    write(project, ".quintet/agents/keeper.agent.yaml", GOOD)
    package(project / ".quintet/agents/lights")
    write(project, ".claude/agents/critic.md", PAGE)
    write(project, ".agents/agents/deep/other.md", PAGE.replace("code-critic", "other"))
    write(project, ".agents/agents/README.md", "# not an agent\n")
    write(config, "mine.md", PAGE.replace("code-critic", "mine"))
    write(config, "planner.md", PAGE.replace("code-critic", "planner"))
    places, catalogue = catalogue_at(tmp_path)
    assert {name: one.origin for name, one in catalogue.agents.items()} == {
        "keeper": "project",
        "boatman": "project",
        "other": "project",
        "code-critic": "project",
        "mine": "user",
        "planner": "user",
        "release": "shipped",
        "reviewer": "shipped",
    }
    (problem,) = catalogue.problems
    assert problem.file.endswith("agents.json")
    assert "keeper.agent.yaml" in problem.problem
    assert find_agent("Keeper", places)[0].agent.id == "keeper"


def test_a_malformed_file_takes_nothing_else_down(tmp_path: Path) -> None:
    folder = tmp_path / "project/.quintet/agents"
    write(folder, "keeper.agent.yaml", GOOD)
    write(folder, "broken.agent.yaml", "agent: [")
    write(folder, "broken.md", "---\n")
    write(folder, "broken/bmad.json", "{")
    (folder / "out").symlink_to(tmp_path)
    _, catalogue = catalogue_at(tmp_path)
    assert "keeper" in catalogue.agents
    assert sorted(Path(problem.file).name for problem in catalogue.problems) == [
        "bmad.json",
        "broken.agent.yaml",
        "broken.md",
        "out",
    ]


def test_a_folder_of_agents_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/keeper.agent.yaml", GOOD)
    (tmp_path / "project/.quintet").mkdir(parents=True)
    (tmp_path / "project/.quintet/agents").symlink_to(tmp_path / "elsewhere")
    _, catalogue = catalogue_at(tmp_path)
    assert "keeper" not in catalogue.agents
    assert [problem.problem for problem in catalogue.problems] == ["leads out of the project"]


def test_an_agent_that_is_not_there_is_said_with_those_that_are(tmp_path: Path) -> None:
    places, _ = catalogue_at(tmp_path)
    with pytest.raises(NotFound) as refusal:
        find_agent("planer", places)
    assert "Did you mean planner?" in str(refusal.value)
    with pytest.raises(NotFound):
        find_agent("no/such.agent.yaml", places)
    root = package(tmp_path / "lights")
    with pytest.raises(UsageError) as several:
        find_agent(str(root) + "/", places)
    assert "keeper|boatman" in str(several.value)
    assert find_agent(f"{root}:boatman", places)[0].agent.name == "Boatman"


def test_an_agents_path_counts_from_here_or_from_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    write(tmp_path, "project/sub/crew/keeper.agent.yaml", GOOD)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    places = locate(str(tmp_path / "project/sub"))
    for name in ("crew/keeper.agent.yaml", "crew/keeper.agent.yaml:keeper", "../project/sub/crew/keeper.agent.yaml"):
        assert find_agent(name, places)[0].agent.id == "keeper"
    with pytest.raises(NotFound):
        find_agent("crew/nobody.agent.yaml", places)


def test_the_shipped_agents_are_whole(tmp_path: Path) -> None:
    _, catalogue = catalogue_at(tmp_path)
    assert sorted(catalogue.agents) == ["planner", "release", "reviewer"]
    assert catalogue.problems == []
    for one in catalogue.agents.values():
        assert one.package.workflows
        assert list(loose_ends(one.agent, one.package, str(tmp_path))) == []
        for workflow in one.package.workflows:
            reached, ends = {workflow.graph.entry}, [workflow.graph.entry]
            while ends:
                for edge in workflow.graph.leaving(ends.pop()):
                    if edge.target not in reached:
                        reached.add(edge.target)
                        ends.append(edge.target)
            assert reached == {node.id for node in workflow.graph.nodes}, f"{workflow.id} has steps nobody reaches"


def test_what_leads_nowhere_is_a_loose_end(tmp_path: Path) -> None:
    text = GOOD.replace('"#weather"', '"#storm"') + "    - {trigger: old, workflow: a/flow.yaml, description: Old}\n"
    text += "    - {trigger: run, exec: '{package-root}/run.md', description: Run, data: none.csv}\n"
    text += "    - {trigger: here, exec: here.md, description: Here, data: '{elsewhere}/none.csv'}\n"
    text += "    - {trigger: root, tmpl: '{project-root}/gone.md', description: Root}\n"
    write(tmp_path, "here.md", "here")
    found = at_path(str(write(tmp_path, "keeper.agent.yaml", text)))
    assert found.package

    def ends(project: Path) -> list[tuple[str, str]]:
        assert found.package
        found_ends = loose_ends(found.package.agents[0], found.package, str(project))
        return [(end.target, end.problem) for end in found_ends]

    missing = "is not a file of the package or the project"
    own = [
        ("light-lamp", "is not a workflow of this package"),
        ("#storm", "is not a prompt of this agent"),
        ("a/flow.yaml", missing),
        ("{package-root}/run.md", missing),
        ("none.csv", missing),
    ]
    assert ends(tmp_path) == [*own, ("{project-root}/gone.md", missing)]
    assert ends(tmp_path / "another") == own, "what lies in another project is not judged from here"
