"""Wrong old_strings as models write them: those that mean one place land there, and none lands anywhere else.

`wrong_old_strings.json` has the files and the cases: what a model wrote, and the exact edit that it means (`right`), or
that it has to be refused: because it means no text of the file (`unlike`), or several places (`two`).
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.base.errors import ToolFailed
from quintet.domain.edits.edit import Change, edited

CORPUS = json.loads((Path(__file__).parent / "wrong_old_strings.json").read_text())
LEAST = 0.7  # of those that mean a place


def outcome(case: dict[str, Any]) -> tuple[str, str]:
    """How it went, and what was said."""
    text = CORPUS["files"][case["file"]]
    try:
        made = edited(text, (Change(case["old"], case["new"]),))
    except ToolFailed as error:
        return "refused", str(error)
    wanted = text.replace(*case["right"]) if "right" in case else None
    return ("right" if made.text == wanted else "wrong"), "\n".join(made.notes)


def test_the_corpus_is_what_it_says() -> None:
    assert len(CORPUS["cases"]) >= 150
    for case in CORPUS["cases"]:
        text = CORPUS["files"][case["file"]]
        assert ("right" in case) != ("refused" in case), case
        if "right" in case:
            assert text.count(case["right"][0]) == 1, case
            assert text.replace(*case["right"]) != text, case


def test_most_that_mean_a_place_land_there_and_none_lands_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    found = [(case, *outcome(case)) for case in CORPUS["cases"]]
    meant = [how for case, how, _ in found if "right" in case]
    right = meant.count("right")
    with capsys.disabled():
        print(f"\n{len(found)} wrong old_strings: {right} of {len(meant)} with a right place land rightly", end=", ")
        print(f"{[how for _, how, _ in found].count('wrong')} of all wrongly")
    assert [case for case, how, _ in found if how == "wrong"] == []
    assert right >= LEAST * len(meant)


def test_every_kind_that_can_land_does() -> None:
    """A kind of mistake of which nothing lands any more is a reading that was lost."""
    landed, seen = Counter[str](), Counter[str]()
    for case in CORPUS["cases"]:
        if "right" in case:
            seen[case["kind"]] += 1
            landed[case["kind"]] += outcome(case)[0] == "right"
    refused = {kind for kind in seen if not landed[kind]}
    assert refused == {
        "half a line, other spaces",
        "another number of blank lines",
        "lines broken otherwise",
        "other quotes",
        "a semicolon left out",
    }


@pytest.mark.parametrize("refused", ["two", "unlike"])
def test_what_is_refused_says_where_to_look(refused: str) -> None:
    for case in CORPUS["cases"]:
        if case.get("refused") == refused:
            how, said = outcome(case)
            assert how == "refused", case
            many = "are similar, lines" in said or ("occurs" in said and "in lines" in said)
            assert many == (refused == "two"), said
            near = "Most similar: lines" in said or "no similar line was found" in said
            assert near == (refused == "unlike"), said


def test_what_lands_without_being_exact_says_how() -> None:
    for case in CORPUS["cases"]:
        how, said = outcome(case)
        text = CORPUS["files"][case["file"]]
        exact = case["old"] in text or case["old"].replace("\r\n", "\n") in text.replace("\r\n", "\n")
        if how == "right" and not exact:
            assert said.startswith("matched with "), (case, said)
            assert "line" in said
