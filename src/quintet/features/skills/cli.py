"""`quintet skills`: list, show, check, new, eval and drafts."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from quintet.adapters.files.paths import home_folder, locate
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import actions, lookup
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import counted
from quintet.features.skills.check_skill import CheckedSkill, at_path, checked, pages_below
from quintet.features.skills.conversation_head import matching
from quintet.features.skills.listing import HEADING, NONE, as_value, page, rows, whole_value
from quintet.features.skills.shelf import BUILT_IN, SkillShelf
from quintet.features.skills.skill import Skill, usable_name
from quintet.features.skills.template import stay_inside
from quintet.features.skills.wiring import make_shelf
from quintet.package import load
from quintet.surfaces.tables import say, say_json, say_table

ROOM = "features.skills"
NEW_FOLDER = ".agents/skills"


def _shelf(arguments: Namespace) -> SkillShelf:
    places = locate(arguments.directory)
    return make_shelf(places, config.load(places))


def skills_list(arguments: Namespace) -> int:
    found = _shelf(arguments).listed()
    if arguments.words:
        found = matching(found, arguments.words)
    if arguments.json:
        say_json([as_value(one) for one in found])
    elif found:
        say_table(rows(found), heading=HEADING)
    else:
        say([NONE if not arguments.words else f"no skill matches {' '.join(arguments.words)}"])
    return 0


def skills_show(arguments: Namespace) -> int:
    skill, body = named(arguments.name, _shelf(arguments))
    if arguments.json:
        say_json(whole_value(skill, body))
    else:
        say(page(skill, body))
    return 0


def named(name: str, shelf: SkillShelf) -> tuple[Skill, str]:
    """By its name, or by the path of its folder or page."""
    if os.sep in name or os.path.exists(os.path.join(name, "SKILL.md")):
        files = list(pages_below(name))
        if len(files) != 1:
            raise UsageError(f"{name}: {counted(len(files), 'skill')} there; name one")
        skill = at_path(files[0])
        return skill, "" if skill.problem else shelf.read(skill)
    skill = shelf.find(name)
    return skill, "" if skill.problem else shelf.read(skill)


def skills_check(arguments: Namespace) -> int:
    if arguments.paths:
        found = [at_path(file) for path in arguments.paths for file in pages_below(path)]
        if not found:
            raise UsageError(f"{', '.join(arguments.paths)}: there is no SKILL.md")
    else:
        found = [one for one in _shelf(arguments).listed() if one.origin != BUILT_IN]
    done = [checked(one, strict=arguments.strict) for one in found]
    wrong = [one for one in done if not one.fine]
    if arguments.json:
        say_json([_result(one) for one in done])
    else:
        say(line for one in done for line in _lines(one))
        notes = sum(len(one.notes) for one in done)
        say([f"skills read: {len(done)}, with problems: {len(wrong)}, notes: {notes}"])
    return 1 if wrong else 0


def _result(one: CheckedSkill) -> dict[str, object]:
    return {"name": one.name, "path": one.path, "ok": one.fine, "problems": one.problems, "notes": one.notes}


def _lines(one: CheckedSkill) -> list[str]:
    return [*(f"{one.path}: {why}" for why in one.problems), *(f"{one.path}: {why} (note)" for why in one.notes)]


def skills_new(arguments: Namespace) -> int:
    name = arguments.name
    if not usable_name(name) or ":" in name or name != name.lower() or "_" in name or "." in name:
        raise UsageError(f'"{name}": a skill\'s name has lower-case letters, digits and -, as in release-notes')
    places = locate(arguments.directory)
    folder = os.path.join(home_folder() if arguments.user else places.root, NEW_FOLDER, name)
    if os.path.lexists(folder):
        raise UsageError(f"{folder} is there already")
    if not arguments.user:
        stay_inside(places.root, folder)
    file = str(load(f"{ROOM}.template:write_new")(folder, name, arguments.description))
    if arguments.json:
        say_json({"name": name, "file": file})
    else:
        trust = "" if arguments.user else "; `quintet trust` has it loaded"
        say([file, f"check it: quintet skills check {os.path.dirname(file)}{trust}"])
    return 0


def _words(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="WORD", help="only those that match")


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its name, or the path of its folder")


def _paths(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="skills or folders of skills (default: all but built-in ones)"
    )
    parser.add_argument("--strict", action="store_true", help="also what the Agent Skills standard does not take")


def _new(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and -")
    parser.add_argument("--description", default="", metavar="TEXT", help="what it is for, and when to use it")
    parser.add_argument("--user", action="store_true", help="in your home, for all projects")


SKILLS = actions(
    "skills",
    {
        "list": lookup("skills list", "List the skills, and who can use each.", skills_list, _words),
        "show": lookup("skills show", "Show a skill: its fields, files and text.", skills_show, _name),
        "check": lookup("skills check", "Check skills for problems (exit code 1).", skills_check, _paths),
        "new": lookup("skills new", "Write a new skill with an eval case.", skills_new, _new),
        "eval": lookup(
            "skills eval",
            "Run the eval cases of a skill, with and without the skill (exit code 1 if one fails).",
            f"{ROOM}.evals.command:skills_eval",
            lambda parser: load(f"{ROOM}.evals.command:arguments_of")(parser),
        ),
        "drafts": lookup(
            "skills drafts",
            "Skills proposed from repeated work: look for new ones, show, accept or reject one.",
            f"{ROOM}.drafting.command:skills_drafts",
            lambda parser: load(f"{ROOM}.drafting.command:arguments_of")(parser),
        ),
    },
)
