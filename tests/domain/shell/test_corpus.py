"""What an attacker would write is not run unasked, and what an engineer writes all day is not asked about.

`corpus/attacks.jsonl` says of each line what is due at restricted, normal, trusted and unrestricted (build,
autonomous, bwrap): a allow, q ask, d deny, n anything but allow, - nothing is claimed. `corpus/harmless.jsonl` names
the lowest profile at which a line must just run. No line is ever run here; a "bomb" would also eat the machine, and one
whose "wall" is the sandbox goes in a grant that holds it: `attacks/test_contained_lines.py` runs it.
"""

import json
import re
from functools import cache
from typing import Any

import pytest

from quintet.app.tool_registry import BY_NAME
from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import JudgedLines
from quintet.domain.permission.gate import Sandbox, Terms, decide
from quintet.domain.turn.tool_spec import Touch
from tests.places import TESTS

FOLDER = TESTS / "domain" / "corpus"
PROFILES = tuple(PermissionProfile)
LETTERS = {"a": ("allow",), "q": ("ask",), "d": ("deny",), "n": ("ask", "deny"), "-": ("allow", "ask", "deny")}
LEAST_ALLOWED = 0.9  # of the harmless lines


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (FOLDER / name).read_text("utf-8").splitlines()]


ATTACKS, HARMLESS = read("attacks.jsonl"), read("harmless.jsonl")


@cache
def judged(line: str) -> tuple[Touch, JudgedLines] | None:
    """What the line would do; None if it is not even taken as an argument."""
    from quintet.adapters.shell_grammar import parse as shell_grammar
    from quintet.domain.shell.judge import with_lines

    bash = BY_NAME["bash"]
    try:
        arguments = bash.bind(json.dumps({"command": line}))
    except ToolFailed:
        return None
    return with_lines(bash.touch(arguments), shell_grammar.BashGrammar().parse)


def decided(line: str, profile: PermissionProfile, person: bool) -> str:
    meant = judged(line)
    if meant is None:
        return "deny"
    touch, lines = meant
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, profile)
    return str(decide(BY_NAME["bash"], touch, axes, Terms("/project", person, Sandbox.BWRAP), lines=lines).verdict)


def offenders(letters: str, person: bool, wrong: tuple[str, ...] = ("allow", "ask", "deny")) -> list[str]:
    """Every attack that one of these letters promises otherwise, with the profiles at which it went wrong."""
    found = []
    for attack in ATTACKS:
        bad = [
            f"{profile} {got}"
            for profile, letter in zip(PROFILES, attack["expect"], strict=True)
            if letter in letters
            and (got := decided(attack["line"], profile, person)) not in LETTERS[letter]
            and got in wrong
        ]
        if bad:
            shown = json.dumps(attack["line"])[:100]
            found.append(f"{attack['expect']} but {', '.join(bad)}: {shown} ({attack['why']})")
    return found


def listed(lines: list[str]) -> str:
    return "\n".join([f"{len(lines)} lines are decided wrongly:", *lines])


def test_the_corpus_is_large_and_well_formed() -> None:
    assert len(ATTACKS) >= 300
    assert len(HARMLESS) >= 100
    for attack in ATTACKS:
        assert set(attack) <= {"line", "expect", "why", "bomb", "wall"}
        assert re.fullmatch(r"[aqdn-]{4}", attack["expect"]), attack
        assert attack["line"] and attack["why"] and len(attack["line"]) < 2000
    assert all(set(row) == {"line", "profile"} and row["profile"] in PROFILES for row in HARMLESS)
    for rows in (ATTACKS, HARMLESS):
        assert len({row["line"] for row in rows}) == len(rows)


def test_the_two_halves_of_the_corpus_agree() -> None:
    harmless = {row["line"]: PROFILES.index(row["profile"]) for row in HARMLESS}
    both = [attack for attack in ATTACKS if attack["line"] in harmless]
    assert [a for a in both if set(a["expect"][harmless[a["line"]] :]) - set("a-")] == []


@pytest.mark.parametrize("person", [True, False])
def test_s3_5_1_no_attack_is_allowed(person: bool) -> None:
    wrong = offenders("qdn", person, wrong=("allow",))
    print(f"{len(ATTACKS)} attacks, {len(wrong)} allowed")
    assert not wrong, listed(wrong)


@pytest.mark.parametrize("person", [True, False])
def test_s3_5_attacks_are_decided_exactly_where_the_rules_are_exact(person: bool) -> None:
    wrong = offenders("aqd", person)
    assert not wrong, listed(wrong)


def test_what_engineers_run_all_day_is_not_asked_about() -> None:
    stopped = [
        f"{row['profile']}: {got}: {json.dumps(row['line'])}"
        for row in HARMLESS
        if (got := decided(row["line"], PermissionProfile(row["profile"]), True)) != "allow"
    ]
    print(f"{len(HARMLESS)} harmless lines, {len(HARMLESS) - len(stopped)} allowed")
    assert len(stopped) <= (1 - LEAST_ALLOWED) * len(HARMLESS), listed(stopped)


def test_a_higher_profile_never_stops_what_a_lower_one_lets_through() -> None:
    for row in ATTACKS + HARMLESS:
        verdicts = [decided(row["line"], profile, True) for profile in PROFILES]
        assert verdicts == sorted(verdicts, key=["deny", "ask", "allow"].index), row
