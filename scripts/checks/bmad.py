"""Read the agents of the npm package bmad-method and reach every item of their menus.

scripts/check bmad [--from FOLDER]: fetches two versions of the package with `npm pack` into a temporary folder (or
takes one that is unpacked), and holds Quintet to them: valid agents load, invalid ones are refused or noted by the
right field, every item is reached by its number, code, trigger, shortest prefix and description. Installed as its own
program lays it out, every workflow and script of the menus begins, classic ones too, with its variables filled in.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from quintet.adapters.agents.agents import LocalAgents
from quintet.adapters.agents.catalogue import at_path
from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.agents.workflow_files import read_workflow
from quintet.adapters.files.paths import locate
from quintet.domain.agents.agent import Agent, HandlerKind, MenuItem, visible_menu
from quintet.domain.agents.route import CommandKind, resolve
from quintet.domain.agents.run import RunErrorCode
from quintet.domain.agents.workflow import is_classic, names_workflow
from quintet.domain.base.errors import RunFailed
from quintet.domain.dials.axes import Surface

PACKAGES = ("bmad-method@6.0.4", "bmad-method@6.0.0-alpha.22")
MODULES = ("src", "src/modules")  # where the folders of modules are, by version
CONFIG = """\
user_name: Ada
communication_language: English
document_output_language: English
user_skill_level: expert
project_name: shop
output_folder: "{project-root}/out"
planning_artifacts: "{project-root}/out/planning"
implementation_artifacts: "{project-root}/out/implementation"
project_knowledge: "{project-root}/docs"
"""
KNOWN = re.compile(r"(?<!\{)\{(user_name|communication_language|planning_artifacts|project-root|installed_path)\}")
REFERRING = (HandlerKind.WORKFLOW, HandlerKind.EXEC, HandlerKind.VALIDATE)
_EXPECTED = re.compile(r"^# Error path:(.*)$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check bmad", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", type=Path, help="the package, already unpacked")
    given = parser.parse_args().folder
    failed = False
    for package in PACKAGES[: 1 if given else None]:
        with tempfile.TemporaryDirectory(prefix="quintet-bmad-") as place:
            failures, counts = check(given or fetched(Path(place), package), Path(place) / "project")
        print(given or package)
        for failure in failures:
            print(f"  {failure}")
        print("  " + ", ".join(f"{number} {what}" for what, number in counts.items()))
        failed = failed or bool(failures)
    print("FAILED" if failed else "ok")
    return 1 if failed else 0


def fetched(place: Path, package: str) -> Path:
    subprocess.run(["npm", "pack", package, "--silent"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    (archive,) = place.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    return place / "package"


def check(root: Path, project: Path) -> tuple[list[str], Counter[str]]:
    failures: list[str] = []
    counts: Counter[str] = Counter()
    for path in sorted(root.rglob("*.agent.yaml")):
        found = at_path(str(path))
        if "invalid" in path.parts:
            counts["invalid files refused" if found.package is None else "invalid files noted"] += 1
            failures += wrong_refusal(path, bool(found.problems), [problem.field for problem in found.problems])
        elif found.package is None:
            failures.append(f"{path}: not loaded: {found.problems[0]}")
        else:
            (agent,) = found.package.agents
            counts["agents loaded"] += 1
            if not agent.persona.role or not agent.persona.identity:
                failures.append(f"{path}: its persona is empty")
            for surface in Surface:
                failures += [f"{path.name} on {surface}: {problem}" for problem in unreached(agent, surface, counts)]
            failures += [f"{path.name}: {problem}" for problem in misnumbered(agent, counts)]
    for path in sorted(root.rglob("workflow.md")):
        if path.parent.name == "templates":  # text with holes in it
            continue
        workflow, problems = read_workflow(PackageFiles(str(root)), str(path.relative_to(root)))
        counts["workflows read"] += 1
        counts["steps in them"] += len(workflow.graph.nodes) if workflow else 0
        failures += map(str, problems)
    failures += list(not_begun(root, project, counts))
    if not counts["agents loaded"] or not counts["invalid files refused"]:
        failures.append(f"{root}: no agents found; is it the package?")
    return failures, counts


def wrong_refusal(path: Path, refused: bool, fields: list[str]) -> Iterator[str]:
    if not refused:
        yield f"{path}: loaded, though it is invalid"
    expected = _EXPECTED.search(path.read_text("utf-8"))
    field = expected[1].strip() if expected else ""
    if field and not any(said == field or said.startswith(f"{field}.") for said in fields):
        yield f"{path}: refused for {fields}, not for {field}"


def unreached(agent: Agent, surface: Surface, counts: Counter[str]) -> Iterator[str]:
    """Every way to every item; what two items share has to offer both."""
    menu = visible_menu(agent, surface)
    for index, item in enumerate(menu, 1):
        number = resolve(str(index), agent, surface)
        if number.menu_index != index:
            yield f"{index} leads to {number.menu_index}"
        for how, text in ways(item, index, menu):
            counts[f"inputs by {how}"] += 1
            command = resolve(text, agent, surface)
            if command.kind is CommandKind.CLARIFY_CHOICE:
                counts["of them a choice"] += 1
                if all(candidate.index != index for candidate in command.candidates):
                    yield f"{how} {text!r} of item {index} offers only others"
                if not shared(how, text, index, menu):
                    yield f"{how} {text!r} of item {index} is not clear, and no other item has it"
            elif command.menu_index != index:
                yield f"{how} {text!r} of item {index} leads to {command.kind} {command.menu_index}"


def ways(item: MenuItem, index: int, menu: tuple[MenuItem, ...]) -> Iterator[tuple[str, str]]:
    yield "description", item.label
    yield "description", re.sub(r"^\[\w+\]\s*", "", item.label)
    codes, triggers = names(item)
    for code in codes:
        yield from (("code", code), ("code", code.lower()), ("code", f"*{code}"))
    others = [name for other in menu if other is not item for part in names(other) for name in part]
    for trigger in triggers:
        yield from (("trigger", trigger), ("trigger", trigger.upper()), ("trigger", f"*{trigger}"))
        yield "trigger", trigger.replace("-", " ")
        for size in range(1, len(trigger)):
            prefix = trigger[:size]
            if not prefix.endswith("-") and not any(name.lower().startswith(prefix) for name in others):
                yield "prefix", prefix
                break


def names(item: MenuItem) -> tuple[list[str], list[str]]:
    codes = [code for code in (item.code, *(handler.code for handler in item.handlers)) if code]
    triggers = [name for name in (item.trigger, *(handler.trigger for handler in item.handlers)) if name]
    return codes, triggers


def shared(how: str, text: str, index: int, menu: tuple[MenuItem, ...]) -> bool:
    plain = re.sub(r"^\[\w+\]\s*", "", text).strip("*").lower().replace("-", " ")
    for other, item in enumerate(menu, 1):
        codes, triggers = names(item)
        texts = [*codes, *triggers, *item.aliases, re.sub(r"^\[\w+\]\s*", "", item.label)]
        if other != index and plain in (known.lower().replace("-", " ") for known in texts):
            return True
    return False


def misnumbered(agent: Agent, counts: Counter[str]) -> Iterator[str]:
    web, terminal = visible_menu(agent, Surface.WEB), visible_menu(agent, Surface.TUI)
    for item in agent.menu:
        if item.ide_only or item.web_only:
            counts["items of some surfaces only"] += 1
            if (item in web) == item.ide_only or (item in terminal) == item.web_only:
                yield f"{item.label} is shown on the wrong surface"


def not_begun(root: Path, project: Path, counts: Counter[str]) -> Iterator[str]:
    """Every item that names a file begins, in a project that the modules are installed in."""
    (project / ".git").mkdir(parents=True)
    modules = [folder for place in MODULES for folder in (root / place).glob("*") if (folder / "agents").is_dir()]
    for folder in modules:
        shutil.copytree(folder, project / "_bmad" / folder.name)
        (project / "_bmad" / folder.name / "config.yaml").write_text(CONFIG)
    agents = LocalAgents(locate(str(project)))
    for folder in modules:
        for path in sorted((project / "_bmad" / folder.name / "agents").rglob("*.agent.yaml")):
            agent = agents.find(str(path))
            for handler in (handler for item in agent.menu for handler in item.handlers):
                if handler.kind in REFERRING and handler.target not in ("", "todo"):
                    yield from begun(agents, agent, agents.rendered(handler.target, agent), handler.kind, counts)


def begun(agents: LocalAgents, agent: Agent, ref: str, kind: HandlerKind, counts: Counter[str]) -> Iterator[str]:
    classic = is_classic(ref)
    if classic and (kind is HandlerKind.VALIDATE or ref.endswith(".xml")):
        counts["classic files that are refused"] += 1
        return
    try:
        if classic or names_workflow(ref):
            workflow, root = agents.workflow(ref, agent)
            texts = [agents.step(node.file, root) if node.file else node.description for node in workflow.graph.nodes]
        else:
            texts = [agents.text(ref, agent)[2]]
    except RunFailed as error:
        missing = "no such file" in error.message or error.code == RunErrorCode.UNKNOWN_WORKFLOW
        counts["items whose file is not in the package"] += missing
        if not missing:
            yield f"{agent.id}: {ref}: {error.message}"
        return
    counts["classic workflows begun" if classic else "other items begun"] += 1
    left = {name for text in texts for name in KNOWN.findall(agents.rendered(text, agent))}
    if left:
        yield f"{agent.id}: {ref}: not filled in: {', '.join(sorted(left))}"


if __name__ == "__main__":
    sys.exit(main())
