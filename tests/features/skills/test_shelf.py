"""Where skills are found, whose wins, what trust covers, and that a changed page is the one that is used."""

import os
from pathlib import Path

import pytest

from quintet.domain.base.errors import NotFound, UsageError
from quintet.features.skills.conversation_head import head_text
from tests.features.skills.made import home_skills, shelf_of, trust_now, write_skill

SHIPPED = {"add-regression-test", "bisect-failing-test", "conventional-commit", "release-notes", "upgrade-dependency"}


def names(root: Path, **settings: object) -> set[str]:
    return set(shelf_of(root, **settings).usable())


def test_skills_are_found_in_each_place_and_the_first_has_the_name(repo: Path) -> None:
    for folder in (".quintet", ".agents", ".claude"):
        write_skill(repo / folder / "skills", f"of{folder[1:]}")
        write_skill(home_skills(f"{folder}/skills"), f"home{folder[1:]}")
    write_skill(repo / ".claude/skills", "twice", "license: project\n")
    write_skill(home_skills(), "twice", "license: home\n")
    (repo / ".claude/commands/web").mkdir(parents=True)
    (repo / ".claude/commands/tidy.md").write_text("Tidy it.")
    (repo / ".claude/commands/web/check.md").write_text("Check it.")
    trust_now(repo)
    shelf = shelf_of(repo)
    found = shelf.usable()
    wanted = {"ofquintet", "ofagents", "ofclaude", "homequintet", "homeagents", "homeclaude", "twice", "tidy"}
    assert {*wanted, "web:check", *SHIPPED} == set(found)
    assert found["twice"].facts.license == "project"
    hidden = [one for one in shelf.listed() if one.problem]
    assert [one.name for one in hidden] == ["twice"] and "another one has its name" in hidden[0].problem


def test_a_project_brings_nothing_until_it_is_trusted_and_then_what_was_trusted(repo: Path) -> None:
    place = write_skill(repo / ".agents/skills", "ours", scripts__go_sh="echo one")
    assert names(repo) == SHIPPED
    trust_now(repo)
    shelf = shelf_of(repo)
    assert "ours" in shelf.usable()
    assert shelf.read(shelf.find("ours")) == "Do it."
    (place / "scripts/go.sh").write_text("echo two")  # beside the page: the page alone is still the trusted one
    with pytest.raises(UsageError, match=r"scripts/go\.sh is new or changed since you trusted this folder"):
        shelf.read(shelf.find("ours"))
    (place / "SKILL.md").write_text("---\nname: ours\ndescription: other\n---\nDo worse.")
    assert "ours" not in shelf.usable() and "new or changed" in shelf.find("ours").problem


def test_a_link_out_of_the_project_is_not_followed(repo: Path, tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere", "sly")
    (repo / ".agents/skills").mkdir(parents=True)
    (repo / ".agents/skills/sly").symlink_to(tmp_path / "elsewhere/sly")
    trust_now(repo)
    assert names(repo) == SHIPPED


@pytest.mark.parametrize("kind", [".agents/skills", ".claude/commands"])
def test_links_that_lead_to_one_folder_again_and_again_cost_one_look(repo: Path, kind: str) -> None:
    """300 links to their own folder, three levels deep, would be 27 million folders."""
    place = repo / kind
    place.mkdir(parents=True)
    for number in range(300):
        (place / f"again{number}").symlink_to(".")
    write_skill(place, "tea") if kind.endswith("skills") else (place / "tea.md").write_text("Make tea.")
    trust_now(repo)
    assert names(repo) == {*SHIPPED, "tea"}


def test_a_link_beside_a_skill_does_not_take_its_place(repo: Path) -> None:
    write_skill(repo / ".agents/skills", "tea")
    (repo / ".agents/skills/alias").symlink_to("tea")
    trust_now(repo)
    assert names(repo) == {*SHIPPED, "tea"}


def test_a_skill_is_turned_off_by_its_name_or_its_folder(repo: Path, tmp_path: Path) -> None:
    place = write_skill(home_skills(), "tea", "license: home\n")
    write_skill(tmp_path / "more", "tea", "license: other\n")
    more = (str(tmp_path / "more"),)
    assert "tea" not in names(repo, off=("tea",), folders=more)
    assert shelf_of(repo, off=(str(place),), folders=more).usable()["tea"].facts.license == "other"


def test_a_changed_page_is_the_one_that_is_used(repo: Path) -> None:
    place = write_skill(home_skills(), "mine")
    shelf = shelf_of(repo)
    assert shelf.find("mine").description == "What mine is for."
    (place / "SKILL.md").write_text("---\nname: mine\ndescription: other words\n---\nnew")
    assert shelf.find("mine").description == "other words" and shelf.read(shelf.find("mine")) == "new"
    write_skill(home_skills(), "more")
    assert "more" in shelf.usable()
    (place / "SKILL.md").unlink()
    with pytest.raises(NotFound):
        shelf.find("mine")


def test_settings_turn_skills_off_and_bring_folders(repo: Path, tmp_path: Path) -> None:
    write_skill(tmp_path / "mine", "far")
    assert names(repo, folders=(str(tmp_path / "mine"),), built_in=False, off=("x",)) == {"far"}
    assert names(repo, off=("release-notes",)) == SHIPPED - {"release-notes"}


def test_what_was_read_is_kept_between_starts_until_it_changes(repo: Path) -> None:
    for number in range(25):
        write_skill(home_skills(), f"s{number}")
    first = shelf_of(repo).usable()
    kept = Path(os.environ["XDG_CACHE_HOME"]) / "quintet/skills.json"
    assert kept.stat().st_mode & 0o077 == 0
    assert shelf_of(repo).usable() == first
    (home_skills() / "s3/SKILL.md").write_text("---\nname: s3\ndescription: new\n---\n")
    assert shelf_of(repo).usable()["s3"].description == "new"
    kept.write_text("{broken")
    assert len(shelf_of(repo).usable()) == len(first)


def test_200_skills_take_at_most_the_bytes_that_are_set(repo: Path) -> None:
    for number in range(200):
        write_skill(home_skills(), f"skill-number-{number}", f"description: {'Use it when needed. ' * 20}\n")
    found = list(shelf_of(repo).usable().values())
    for budget in (6_000, 1_000, 300):
        text = head_text(found, budget, {})
        assert len(text.encode()) <= budget
        assert "find_skills searches them." in text
    assert head_text(found, 100, {}) == ""
    used = head_text(found, 6_000, {"skill-number-150": 3})
    assert used.splitlines()[1].startswith("- skill-number-150: Use it")
    assert all(name in head_text(found[:2], 6_000, {}) for name in ("skill-number-0", "skill-number-1"))
