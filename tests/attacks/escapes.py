"""One case of the escape campaign: a hostile repository from a seed, opened on a surface, and what got out of it.

A seed says everything but which surface and sandbox, which can be given. With nobody attached a question is a no; at a
terminal the answer is no. A finding is whatever `World.untouched` names, a protected path that a call was let write, a
process that stayed, an error without a message of ours, and a run that did not end.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import stat
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.attacks.hatchery import Hatchery
from tests.attacks.hostile_calls import calls, scripts
from tests.attacks.hostile_trees import GIT, plant
from tests.attacks.running import Attacker, Called, Outcome, called, journal
from tests.attacks.world import GIT_ENV, World, walk

SURFACES = ("tui", "plain", "headless", "mcp-server", "doctor", "tasks")
SANDBOXES = (("bwrap", 14), ("partial", 3), ("none", 3))
DIALS = (
    *((("chat", "restricted"), 2), (("plan", "restricted"), 3), (("plan", "normal"), 2), (("build", "normal"), 8)),
    *((("build", "trusted"), 6), (("review", "restricted"), 1), (("research", "restricted"), 1)),
)
CALLS = 12
AT_ONCE = 3  # calls of one reply, at a terminal: a question there takes its time
SECONDS = 240.0  # a limit, not a measure: a busy machine takes its time
PROTECTED = re.compile(r"(^|/)(\.git/.+|\.mcp\.json|\.quintet/(settings\.toml|tools|prompts|agents)(/.*)?)$", re.I)
LOOKUPS = (
    "status --json",
    "tools doctor",
    "mcp list",
    "mcp doctor",
    "agents list",
    "settings",
    "sessions list",
    "rules list",
)
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Result:
    seed: int
    surface: str
    sandbox: str
    about: str = ""  # dials, trust and what was planted
    findings: list[str] = field(default_factory=list)
    made: int = 0  # calls that the gate decided on
    allowed: int = 0
    seconds: float = 0.0
    texts: str = ""


def run(seed: int, hatchery: Hatchery, surface: str = "", sandbox: str = "") -> Result:
    began = time.monotonic()
    dice = random.Random(f"escape {seed}")
    drawn = dice.choices([name for name, _ in SANDBOXES], [weight for _, weight in SANDBOXES])[0]
    result = Result(seed, surface or SURFACES[seed % len(SURFACES)], sandbox or drawn)
    world = World(dice.choice(("/tmp", "/tmp", "/var/tmp")), inside_home=dice.random() < 0.5)
    try:
        _attack(world, dice, hatchery, result)
    except AssertionError as error:
        result.findings.append(f"did not end: {str(error)[:1200]}")
        hatchery.leftovers()
        made = called(journal(world.home))
        result.findings[-1] += f"; its last call: {made[-1].tool} {made[-1].arguments}"[:300] if made else ""
        result.findings += world.untouched()
    finally:
        world.close()
    result.seconds = time.monotonic() - began
    return result


def _attack(world: World, dice: random.Random, hatchery: Hatchery, result: Result) -> None:
    scripts(world, dice)
    is_repository = dice.random() < 0.85
    if is_repository:
        world.make_repository()
    attacker = Attacker(world, hatchery, result.sandbox, SECONDS)
    trusted = dice.random() < 0.4
    if trusted:  # before any of it was there
        attacker.opens("trust")
    planted = plant(world, dice)
    clean = is_repository and not {one.__name__ for one in GIT} & set(planted) and not _git_links(world)
    (work_mode, profile) = dice.choices([dials for dials, _ in DIALS], [weight for _, weight in DIALS])[0]
    path = _path(world, dice) if "programs" in planted or dice.random() < 0.2 else USUAL_PATH
    hostile = calls(world, dice, CALLS)
    lookup = dice.choice(LOOKUPS)
    words = (work_mode, profile, "trusted" if trusted else "untrusted", *planted)
    result.about = " ".join((*words, *([] if path == USUAL_PATH else [f"PATH={path}"])))
    dials = ("--mode", work_mode, "--permission-profile", profile)
    if result.surface in ("tui", "plain"):
        batches: list[Sequence[object]] = [hostile[at : at + AT_ONCE] for at in range(0, CALLS, AT_ONCE)]
        outcome = attacker.session(*batches, surface=result.surface, work_mode=work_mode, profile=profile, PATH=path)  # type: ignore[arg-type]
    elif result.surface == "headless":
        outcome = attacker.session(*hostile, work_mode=work_mode, profile=profile, PATH=path)
    elif result.surface == "mcp-server":
        toolsets = ("--toolsets", "swe,git,data,search,integrations")
        sendable = [
            one for one in hostile if "\\udc" not in json.dumps(one)
        ]  # the protocol's own reader drops the rest
        outcome = attacker.serves(*sendable, flags=(*dials, *toolsets), PATH=path)
    elif result.surface == "doctor":
        outcome = _commands(attacker, ("doctor", "doctor fix", lookup), path)
    else:
        outcome = _commands(attacker, ("tasks list", "tasks add specs/plan.md", "tasks show task-001", lookup), path)
    _look(world, outcome, result, clean)


def _commands(attacker: Attacker, lines: Sequence[str], path: str) -> Outcome:
    outcome = attacker.opens(lines[0], PATH=path)
    for line in lines[1:]:
        outcome += attacker.opens(line, PATH=path)
    return outcome


def _path(world: World, dice: random.Random) -> str:
    entries = ("./node_modules/.bin", "node_modules/.bin", f"{world.project}/bin", "", ".", "..", "bin", "~/bin")
    return ":".join([*dice.sample(entries, 2), USUAL_PATH])


def _look(world: World, outcome: Outcome, result: Result, clean: bool) -> None:
    found = world.untouched(outcome.said)
    found += [f"stayed behind: {line[:200]}" for line in outcome.leftovers]
    found += [f"let write {name}" for one in outcome.calls if (name := _let_write(one))]
    if "Traceback (most recent call last)" in outcome.err or (outcome.code < 0 and outcome.code not in (-1, -2)):
        found.append(f"broke, exit {outcome.code}: {outcome.err[-600:]}")
    if clean and not found:
        found += _after(world)
    result.findings += found
    result.made, result.allowed = len(outcome.calls), sum(one.verdict == "allow" for one in outcome.calls)
    result.texts = outcome.texts + "\n" + outcome.err[-2000:]


def _let_write(one: Called) -> str:
    path = str(one.arguments.get("file_path") or one.arguments.get("path") or one.arguments.get("destination") or "")
    writes = one.tool in ("Write", "Edit", "fs_write_file", "fs_move", "fs_create_directory", "fs_delete")
    if writes and one.verdict == "allow" and one.status == "ok" and PROTECTED.search(path.replace("/../", "/")):
        return f"{path!r} by {one.tool}"
    return ""


def _after(world: World) -> list[str]:
    """What the user's own git runs afterwards, in a repository that named no program before."""
    roots = {path.parent for path in walk(world.project) if path.name in (".git", "HEAD") and _small(path)}
    for root in (world.project, *sorted(roots)):
        if root.is_dir():
            argv = ("git", "-c", "safe.directory=*", "--no-pager", "status", "--short")
            with contextlib.suppress(subprocess.TimeoutExpired):  # a pipe that came with the repository
                subprocess.run(argv, cwd=root, capture_output=True, env=GIT_ENV, timeout=10, check=False)
    return [f"afterwards, git status: {line}" for line in world.untouched()]


def _git_links(world: World) -> bool:
    """Whether a link in place of a repository, or in one, leads to programs of somebody else's."""
    return any(path.is_symlink() and ".git" in path.parts for path in walk(world.project))


def _small(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:  # a link to what nobody may look at
        return True
    return not stat.S_ISREG(found.st_mode) or found.st_size < 10_000
