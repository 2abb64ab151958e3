"""The page for agents goes to a model unasked: no link makes it a file outside the project, or a secret in it."""

import pytest

from tests.attacks.running import Attacker
from tests.attacks.world import World, put

ONE = pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "user"), ("none", "root")], indirect=True)


@ONE
@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "GEMINI.md"])
def test_a_page_that_leads_outside_is_not_sent(world: World, attacker: Attacker, name: str) -> None:
    (world.project / name).symlink_to("../home/.ssh/id_rsa")
    world.make_repository()
    outcome = attacker.session()
    outcome.told += attacker.opens("prompts show build").said
    assert world.untouched(outcome.said) == []


@ONE
def test_no_other_kind_of_link_makes_a_page_of_what_is_not(world: World, attacker: Attacker) -> None:
    put(world.project / ".env", f"TOKEN={world.canary('.env')}\n")
    (world.project / "AGENTS.md").symlink_to(".env")
    (world.project / "out").symlink_to(world.home)
    (world.project / "CLAUDE.md").symlink_to("out/notes.txt")
    (world.project / "GEMINI.md").symlink_to(f"/proc/self/root{world.home}/.netrc")
    outcome = attacker.session()
    assert [found for found in world.untouched(outcome.said) if "seen in what came out" in found] == []


@ONE
def test_a_page_that_is_a_link_within_the_project_is_sent(world: World, attacker: Attacker) -> None:
    put(world.project / "docs/agents.md", "Use tabs in Makefiles.\n")
    (world.project / "AGENTS.md").symlink_to("docs/agents.md")
    assert "Use tabs in Makefiles." in attacker.session().told
