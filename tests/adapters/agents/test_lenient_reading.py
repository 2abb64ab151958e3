"""Agents' files as others write them: what is not known is noted and read over, and workflows of older forms run."""

import os
from pathlib import Path

import pytest

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.agents.catalogue import at_path, below_path
from quintet.adapters.agents.package import FoundPackage
from quintet.adapters.files.paths import locate
from quintet.domain.agents.agent import Agent
from quintet.domain.base.errors import RunFailed
from tests.adapters.agents.agent_files import agent_of, write

KEEPER = """\
agent:
  metadata: {id: _bmad/shop/agents/keeper.md, name: Keeper, title: Keeps, icon: "*", module: shop}
  persona: {role: r, identity: i, communication_style: s, principles: [p]}
  menu:
    - {trigger: lamp, workflow: "{project-root}/_bmad/shop/lamp/workflow.yaml", description: Lamp}
"""


def findings(found: FoundPackage) -> list[tuple[int, str, bool]]:
    return [(problem.line, problem.field, problem.noted) for problem in found.problems]


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("module: shop", "module: shop, mood: bright", 2, "agent.metadata.mood"),
        ("principles: [p]", "principles: [p], motto: m", 3, "agent.persona.motto"),
        ("description: Lamp", "description: Lamp, since: 2", 5, "agent.menu[0].since"),
        ("agent:\n", "version: 7\nagent:\n", 1, "version"),
        ("  menu:", "  colour: blue\n  menu:", 4, "agent.colour"),
    ],
)
def test_a_field_that_is_not_known_is_noted_and_the_agent_is_read(
    tmp_path: Path, old: str, new: str, line: int, field: str
) -> None:
    found = at_path(str(write(tmp_path, "keeper.agent.yaml", KEEPER.replace(old, new))))
    assert agent_of(found).name == "Keeper"
    assert findings(found) == [(line, field, True)]


def test_what_an_agent_is_capable_of_is_a_field(tmp_path: Path) -> None:
    text = KEEPER.replace("module: shop", "module: shop, capabilities: lamps")
    found = at_path(str(write(tmp_path, "keeper.agent.yaml", text)))
    assert (agent_of(found).name, found.problems) == ("Keeper", [])


PROSE = """\
---
name: reviewer
description: Use this agent to review. Examples:

<example>
Context: a change is done.
user: "Is it right?"
assistant: "I look: one moment."
</example>
tools: Read, Grep
model: inherit
---

You review.
"""


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        PROSE.replace("tools: Read, Grep", 'tools: ["Read", "Grep"]'),
        PROSE.replace("description: Use", 'description: "Use" it: use'),
        PROSE.replace("\n\n<example>", " <example>\\n").replace("Context: a", "Context: a user: b"),
    ],
)
def test_a_page_with_colons_in_its_description_is_an_agent(tmp_path: Path, text: str) -> None:
    found = at_path(str(write(tmp_path, "reviewer.md", text)))
    agent = agent_of(found)
    assert (agent.id, agent.tools, agent.persona.identity) == ("reviewer", {"Read", "grep"}, "You review.")
    assert "</example>" in agent.persona.role and "assistant:" in agent.persona.role
    assert [noted for *_, noted in findings(found)] == [True]


@pytest.mark.parametrize("field", ["tools: [Read", "name: 'reviewer"])
def test_only_a_description_may_be_any_text(tmp_path: Path, field: str) -> None:
    name = field.partition(":")[0]
    lines = [field if line.startswith(f"{name}:") else line for line in PROSE.splitlines()]
    found = at_path(str(write(tmp_path, "reviewer.md", "\n".join(lines))))
    assert found.package is None and found.problems


def test_a_field_that_is_not_used_may_be_no_yaml(tmp_path: Path) -> None:
    hooks = 'type: x\nhooks:\n  pre: |\n    python3 -c "\nimport json\n"\nmodel: a: b\ncapabilities:\n  - one\n'
    found = at_path(str(write(tmp_path, "reviewer.md", PROSE.replace("model: inherit\n", hooks))))
    assert (agent_of(found).id, agent_of(found).tools) == ("reviewer", {"Read", "grep"})
    assert "python3" not in agent_of(found).persona.role


def test_tools_that_a_page_denies_are_not_its_tools(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: d\ndisallowedTools: Bash, Write\n---\nx\n"
    tools = agent_of(at_path(str(write(tmp_path, "a.md", text)))).tools
    assert tools and "Read" in tools and tools.isdisjoint({"bash", "write_to_shell", "Write"})
    both = text.replace("disallowed", "tools: Read, Write\ndisallowed")
    assert agent_of(at_path(str(write(tmp_path, "b.md", both)))).tools == {"Read"}


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    write(tmp_path, "src/agents/keeper.agent.yaml", KEEPER)
    write(tmp_path, "src/agents/deep/er/other.agent.yaml", KEEPER.replace("keeper.md", "other.md"))
    write(tmp_path, "plugins/a/agents/reviewer.md", PROSE)
    write(tmp_path, "plugins/a/agents/README.md", "# About\n")
    write(tmp_path, "categories/01/second.md", PROSE.replace("name: reviewer", "name: second"))
    write(tmp_path, "categories/01/notes.md", "# Notes\n")
    write(tmp_path, "plugins/a/skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\n")
    write(tmp_path, "node_modules/p/agents/page.md", PROSE)
    ids = [agent.id for found in below_path(str(tmp_path)) if found.package for agent in found.package.agents]
    assert ids == ["second", "reviewer", "keeper", "other"]
    write(tmp_path, "plugins/a/agents/nothing.md", "# No fields\n")
    write(tmp_path, ".claude/agents/nothing.md", "# No fields\n")
    wrong = [problem.field for found in below_path(str(tmp_path)) for problem in found.problems if not problem.noted]
    assert wrong == ["name"], "in the folder of a CLI every page is one"
    (nothing,) = below_path(str(tmp_path / "node_modules" / "p"))[:1]
    assert nothing.package, "a folder that is named is looked at"
    (tmp_path / "empty").mkdir()
    ((problem,),) = [found.problems for found in below_path(str(tmp_path / "empty"))]
    assert problem.problem.startswith("no agent found")


# ── workflows and their variables


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    write(tmp_path, "_bmad/core/config.yaml", "user_name: Ada\nlanguage: English\noutput: '{project-root}/out'\n")
    write(tmp_path, "_bmad/other/config.yaml", "language: French\n")
    write(tmp_path, "_bmad/shop/config.yaml", "language: Welsh\nplans: '{project-root}/out/plans'\n")
    write(tmp_path, "_bmad/shop/agents/keeper.agent.yaml", KEEPER)
    return tmp_path


def agents_of(project: Path) -> tuple[LocalAgents, Agent]:
    agents = LocalAgents(locate(str(project)))
    return agents, agents.find(str(project / "_bmad/shop/agents/keeper.agent.yaml"))


def test_what_bmad_installed_fills_in_templates_and_the_agents_own_module_counts_most(project: Path) -> None:
    agents, keeper = agents_of(project)
    text = "{user_name}, {language}: {plans}/x, {config_source}:output, {{language}}, {{unknown}} {date}"
    root = str(project)
    assert (
        agents.rendered(text, keeper) == f"Ada, Welsh: {root}/out/plans/x, {root}/out, Welsh, {{{{unknown}}}} {{date}}"
    )


def test_a_pages_own_fields_are_filled_in(project: Path) -> None:
    agents, keeper = agents_of(project)
    page = """\
        ---
        name: step-02
        nextStep: './step-03.md'
        gone: './gone.md'
        outputFile: '{folder}/prd.md'
        folder: '{plans}/deep'
        ---
        Fill {outputFile}, then {nextStep} or {gone}. {installed_path}/t.md. {name} and {project-root} stay.
        """
    write(project, "steps/step-02.md", page)
    write(project, "steps/step-03.md", "x")
    told = agents.rendered(agents.step("steps/step-02.md", str(project)), keeper)
    assert told == (
        f"Fill {project}/out/plans/deep/prd.md, then {project}/steps/step-03.md or ./gone.md. {project}/t.md. "
        f"{{name}} and {project} stay."
    )
    assert agents.text("steps/step-02.md", keeper)[2].strip() == agents.step("steps/step-02.md", str(project))


def test_fields_that_name_one_another_end(project: Path) -> None:
    agents, _ = agents_of(project)
    fields = "\n".join(f"v{n}: '{{v{n + 1}}}{{v{n + 1}}}'" for n in range(40)) + "\nv40: '{v0}'"
    write(project, "steps/loop.md", f"---\n{fields}\n---\n{{v0}} {{v39}}")
    assert len(agents.step("steps/loop.md", str(project))) < 20_000


FLOW = """\
name: lamp
config_source: "{project-root}/_bmad/shop/config.yaml"
plans: "{config_source}:plans"
installed_path: "{project-root}/_bmad/shop/lamp"
instructions: "{installed_path}/instructions.xml"
status: "{plans}/status.yaml"
"""
STEPS = """\
<workflow>
  <critical>Speak {language}.</critical>
  <step n="2" goal="Light it">Read {{status}}. <goto step="1">again</goto> <goto anchor="end" /></step>
  <step n="1" goal="Get oil">Ask {user_name}. <check><action>x</action></check></step>
  <step n="3" goal="Look">Look.</step>
  <step n="4" goal="Close"><anchor id="end" />Close.</step>
</workflow>
"""


def test_a_classic_workflow_has_its_instructions_steps(project: Path) -> None:
    agents, keeper = agents_of(project)
    path = str(write(project, "_bmad/shop/lamp/workflow.yaml", FLOW))
    write(project, "_bmad/shop/lamp/instructions.xml", STEPS)
    workflow, _ = agents.workflow(path, keeper)
    assert [(node.id, node.title) for node in workflow.graph.nodes] == [
        ("step-1", "Get oil"),
        ("step-2", "Light it"),
        ("step-3", "Look"),
        ("step-4", "Close"),
    ]
    ways = [(edge.source, edge.target, edge.label) for edge in workflow.graph.edges]
    assert ways == [
        ("step-1", "step-2", "next"),
        ("step-2", "step-3", "next"),
        ("step-3", "step-4", "next"),
        ("step-2", "step-1", "step 1"),
        ("step-2", "step-4", "anchor end"),
    ]
    light = agents.rendered(workflow.graph.nodes[1].description, keeper)
    assert f"Read {project}/out/plans/status.yaml." in light
    about = agents.rendered(workflow.description, keeper)
    assert "Speak Welsh." in about and "Get oil" not in about and f'status: "{project}/out/plans' in about


def test_instructions_without_steps_are_one(project: Path) -> None:
    agents, keeper = agents_of(project)
    path = str(write(project, "flow.yaml", "instructions: ./how.md\n"))
    write(project, "how.md", "# How\nDo it.")
    workflow, _ = agents.workflow(path, keeper)
    assert [(node.id, node.description) for node in workflow.graph.nodes] == [("step-1", "# How\nDo it.")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("instructions: ./none.md\n", "there is no such file"),
        ("name: x\n", "it names no instructions file"),
        ("instructions: false\n", "it names no instructions file"),
        ("- a\n", "it names no instructions file"),
        ("a: [1", "it is not read"),
        ("<task/>", "it names no instructions file"),
    ],
)
def test_s2_verification_a_classic_file_of_unknown_form_is_not_supported(project: Path, text: str, why: str) -> None:
    agents, keeper = agents_of(project)
    path = str(write(project, "flow.yaml", text))
    with pytest.raises(RunFailed) as failed:
        agents.workflow(path, keeper)
    assert failed.value.code == "NOT_SUPPORTED_CLASSIC_WORKFLOW"
    assert why in failed.value.message


def test_instructions_outside_the_project_are_not_read(project: Path) -> None:
    agents, keeper = agents_of(project)
    path = str(write(project, "flow.yaml", f"instructions: {os.path.dirname(project)}/out.md\n"))
    write(project.parent, "out.md", "<step n='1'>secret</step>")
    with pytest.raises(RunFailed) as failed:
        agents.workflow(path, keeper)
    assert failed.value.code == "PERMISSION_DENIED"


def test_steps_that_a_letter_tells_apart_are_ways_to_choose_from(project: Path) -> None:
    agents, keeper = agents_of(project)
    path = str(write(project, "w/workflow.md", "# W\n"))
    for name in ("01-setup", "01b-continue", "02a-one", "02b-two", "03-end"):
        write(project, f"w/steps/step-{name}.md", f"# {name}\n")
    workflow, _ = agents.workflow(path, keeper)
    ways = [(edge.source, edge.target, edge.label) for edge in workflow.graph.edges]
    assert ways == [
        ("step-01-setup", "step-02a-one", "step-02a-one"),
        ("step-01-setup", "step-02b-two", "step-02b-two"),
        ("step-02a-one", "step-03-end", "next"),
        ("step-02b-two", "step-03-end", "next"),
    ]
