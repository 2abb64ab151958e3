"""/skills on the screen: a picker, whose choice begins a line in the prompt."""

from pathlib import Path

from tests.features.skills.made import home_skills, write_skill
from tests.surfaces.tui.dialogs.test_pickers import closed, filters, look, opened, shown
from tests.surfaces.tui.watching import Person


def test_a_skill_is_picked_and_stands_in_the_prompt(repo: Path) -> None:
    write_skill(home_skills(), "brew-tea")

    async def script(person: Person) -> None:
        await opened(person, *"/skills", "enter")
        assert set(shown(person)) >= {"/brew-tea", "/release-notes"}
        await filters(person, "brew")
        await person.press("enter")
        await closed(person)
        await person.wait(lambda: person.ui.prompt.text == "/brew-tea ", "the prompt")

    look(repo, script)
