"""Read the agents of the npm package bmad-method and reach every item of their menus.

scripts/check bmad [--from FOLDER]: fetches the package with `npm pack` into a temporary folder (or takes one that is
unpacked), and holds Quintet to it: valid agents load, invalid ones are refused by the right field, every item is
reached by its number, code, trigger, shortest prefix and description, and classic workflows are told apart.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from quintet.adapters.agents.catalogue import at_path
from quintet.adapters.agents.package_files import PackageFiles
from quintet.adapters.agents.workflow_files import read_workflow
from quintet.domain.agents.agent import Agent, MenuItem, visible_menu
from quintet.domain.agents.route import CommandKind, resolve
from quintet.domain.agents.workflow import is_classic
from quintet.domain.dials.axes import Surface

PACKAGE = "bmad-method@6.0.0-alpha.22"
_EXPECTED = re.compile(r"^# Error path:(.*)$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/check bmad", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="folder", type=Path, help="the package, already unpacked")
    given = parser.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="quintet-bmad-") as place:
        root = given or fetched(Path(place))
        failures, counts = check(root)
    for failure in failures:
        print(failure)
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


def fetched(place: Path) -> Path:
    subprocess.run(["npm", "pack", PACKAGE, "--silent"], cwd=place, check=True, stdout=subprocess.DEVNULL)
    (archive,) = place.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    return place / "package"


def check(root: Path) -> tuple[list[str], Counter[str]]:
    failures: list[str] = []
    counts: Counter[str] = Counter()
    for path in sorted(root.rglob("*.agent.yaml")):
        found = at_path(str(path))
        if "invalid" in path.parts:
            counts["invalid files refused"] += 1
            failures += wrong_refusal(path, found.package is None, [problem.field for problem in found.problems])
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
            failures += [f"{path.name}: {problem}" for problem in misjudged(agent, counts)]
    for path in sorted(root.rglob("workflow.md")):
        if path.parent.name == "templates":  # text with holes in it
            continue
        workflow, problems = read_workflow(PackageFiles(str(root)), str(path.relative_to(root)))
        counts["workflows read"] += 1
        counts["steps in them"] += len(workflow.graph.nodes) if workflow else 0
        failures += map(str, problems)
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


def misjudged(agent: Agent, counts: Counter[str]) -> Iterator[str]:
    for handler in (handler for item in agent.menu for handler in item.handlers):
        classic = handler.target.endswith((".yaml", ".yml", ".xml"))
        counts["classic workflows told apart"] += classic
        if is_classic(handler.target) != classic:
            yield f"{handler.target} is judged {'modern' if classic else 'classic'}"


if __name__ == "__main__":
    sys.exit(main())
