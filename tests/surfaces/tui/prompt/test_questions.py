"""Questions on the screen: an approval, a choice, a plan, trust; by key, by arrow, and not by accident."""

import math
from pathlib import Path

import pytest
from textual.widgets._toast import ToastRack

from quintet.app.trust_question import TrustQuestion
from quintet.domain.dials.axes import ModelMode
from quintet.domain.journal import protocol as p
from quintet.testing import call
from tests.engine.cycles import rules
from tests.surfaces.tui.watching import Person, watch

EDIT = call("Edit", file_path="tally/count.py", old_string="def words", new_string="def tokens")
READ = call("Read", file_path="tally/count.py")
BASH = call("bash", command="make-believe --now")


def changed(repo: Path) -> bool:
    return "def tokens" in (repo / "tally/count.py").read_text()


@pytest.mark.parametrize(("keys", "edited"), [(("y",), True), (("n",), False), (("right", "enter"), True)])
def test_a_key_answers_an_approval(repo: Path, keys: tuple[str, ...], edited: bool) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.press(*keys)
        await person.rests()
        assert person.question.display is False
        assert changed(repo) is edited

    watch(repo, script, [READ], [EDIT], "Renamed.")


def test_a_no_can_say_why_and_the_model_hears_it(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.press("d")
        await person.sees("Arguments", "old_string")
        await person.press("e")
        await person.press(*"not that one", "enter")
        await person.rests()
        assert not changed(repo)
        assert any("the user said no: not that one" in line for line in person.transcript)

    watch(repo, script, [READ], [EDIT], "Then not.")


def test_an_answer_is_not_taken_from_what_was_being_typed(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.wait(lambda: person.question.asked, "a question")
        person.question._since = math.inf  # this moment, however slow the machine is
        await person.press("y")
        assert not changed(repo)
        assert person.question.asked
        await person.wait(lambda: person.ui.typed == "y", "the key in the prompt")

    watch(repo, script, [READ], [EDIT], "Renamed.")


@pytest.mark.parametrize("key", ["f8", "tab"])
def test_a_question_does_not_take_the_keyboard_from_a_half_typed_line(repo: Path, key: str) -> None:
    at_screen: list[Person] = []

    def while_something_is_typed(request: object) -> list[object]:
        at_screen[0].ui.prompt.text = "half a li"
        return [EDIT]

    async def script(person: Person) -> None:
        at_screen.append(person)
        await person.type("rename it")
        await person.asked()
        await person.press("n", "e")
        assert person.ui.typed == "half a line"
        await person.sees("Tab or F8 to answer")
        await person.press(key)
        await person.press("n")
        await person.rests()
        assert person.ui.typed == "half a line"
        assert not changed(repo)

    watch(repo, script, [READ], while_something_is_typed, "Then not.")


def test_what_is_typed_at_a_question_goes_to_the_prompt_and_no_letter_of_it_answers(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.wait(lambda: person.question.has_focus, "focus")
        await person.press(*"why not")
        await person.wait(lambda: person.ui.typed == "why not", "the words in the prompt")
        assert person.question.asked
        assert not changed(repo)

    watch(repo, script, [READ], [EDIT], "Renamed.")


def test_a_long_line_of_a_question_goes_on_behind_its_label(repo: Path) -> None:
    asked = p.QuestionAsked(
        question="q-9",
        kind="choose",
        text="which one?",
        choices=tuple(p.Choice(key, f"the choice that is called {key}") for key in "abc"),
        detail=("why asked  " + "because of this " * 5,),
    )

    async def script(person: Person) -> None:
        person.ui.receive(p.Recorded(10_000, "2026-01-01T00:00:00.000Z", asked))
        await person.sees("[a] the choice")
        await person.sees("│            because of this")
        lines = [line.strip("│ ") for line in person.text.split("\n") if line.startswith("│ [")]
        assert lines == [f"[{key}] the choice that is called {key}" for key in "abc"]

    watch(repo, script, size=(50, 24))


def test_ctrl_c_at_a_question_about_a_plan_is_no(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/plan run the tests")
        await person.asked()
        await person.press("u")
        await person.sees("[u]", "Enter selects")
        assert person.question.display  # everything without approval takes two keys
        await person.press("ctrl+c")
        await person.wait(lambda: not person.question.display, "its end")
        await person.sees("Build this plan?   → n")
        assert person.ui.is_running

    watch(repo, script, model=rules())


def test_always_becomes_a_rule_where_it_may(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/mode build --permission-profile restricted")
        await person.type("do it")
        await person.asked()
        await person.sees("[a] always in this project: this line")
        await person.press("a")
        await person.sees("Enter selects")
        assert person.question.display
        await person.press("enter")
        await person.rests()
        assert person.ui.session
        assert any("rule" in line and "make-believe" in line for line in person.transcript)

    watch(repo, script, [BASH], "Done.")


def test_an_answer_that_turns_a_dial_is_chosen_and_then_taken(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.wait(lambda: person.question.has_focus, "focus")
        await person.press("b")
        await person.sees("Enter selects")
        assert not changed(repo) and person.question.asked
        await person.press("enter")
        await person.rests()
        assert changed(repo) and person.ui.state.axes.work_mode == "build"

    watch(repo, script, [READ], [EDIT], "Renamed.")


def test_what_is_published_cannot_be_always(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("! git push --force")
        await person.asked()
        await person.sees("(publish needs approval each time)")
        assert "[a]" not in person.text
        await person.press("n")
        await person.rests()

    watch(repo, script)


def test_s3_3_4_review_asks_for_deep_and_a_choice_turns_the_dial(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/mode review")
        await person.asked()
        await person.sees("[d] switch to deep", "[g] stay at smart")
        await person.press("d")
        await person.wait(lambda: person.axes.model_mode is ModelMode.DEEP, "the dial")
        await person.wait(lambda: "review │ assisted │ normal │ deep" in person.badge, "the badge")

    watch(repo, script)


def test_any_question_is_shown_with_its_choices(repo: Path) -> None:
    """A plan's acceptance, say: the screen knows nothing of it but what the event brings."""
    asked = p.QuestionAsked(
        question="q-9",
        kind="choose",
        text="accept the plan of 2 tasks?",
        choices=(p.Choice("r", "run autonomously"), p.Choice("a", "accept"), p.Choice("n", "not yet")),
        detail=("1  parse the flag", "2  tests for it", "profile    trusted"),
    )

    async def script(person: Person) -> None:
        person.ui.receive(p.Recorded(10_000, "2026-01-01T00:00:00.000Z", asked))
        await person.sees("accept the plan of 2 tasks?", "1  parse the flag", "[r] run autonomously", "[n] not yet")

    watch(repo, script)


def test_ctrl_c_at_a_question_interrupts_the_turn_and_nothing_is_run(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("rename it")
        await person.asked()
        await person.press("ctrl+c")
        await person.rests()
        assert not changed(repo)
        assert person.ui.state.turns.interrupted
        await person.sees("interrupted · /resume continues")

    watch(repo, script, [READ], [EDIT], "Renamed.")


@pytest.mark.parametrize(("key", "trusted"), [("y", True), ("n", False), ("escape", False)])
def test_the_first_start_in_a_folder_with_settings_of_its_own_asks_for_trust(
    repo: Path, key: str, trusted: bool
) -> None:
    answers: list[bool] = []

    async def script(person: Person) -> None:
        assert answers == [trusted]

    question = f"{repo} has settings of its own."
    watch(repo, script, trust=TrustQuestion(question, (), (), answers.append), first_keys=(question, key))


def test_details_are_offered_where_there_are_some(repo: Path) -> None:
    choices = (p.Choice("y", "yes"), p.Choice("n", "no"))
    short = p.QuestionAsked(question="q1", kind="approve", text="Begin task-001?", choices=choices)
    lines = tuple(f"line {number}" for number in range(40))
    long = p.QuestionAsked(question="q2", kind="approve", text="Begin task-002?", choices=choices, detail=lines)

    async def script(person: Person) -> None:
        person.question.ask(short, (), takes_keys=True)
        assert "to answer" not in str(person.question.query_one("#choices").render()), "it has the keys at once"
        await person.settles()
        await person.sees("Begin task-001?", "[y] yes")
        assert "[d]" not in person.text
        person.question.ask(long, (), takes_keys=False)
        await person.sees("Begin task-002?", "[d] details")
        person.question.focus()
        person.question._since = 0.0
        await person.press("d")
        await person.sees("[d] fewer details")

    watch(repo, script)


def in_panel(person: Person) -> list[str]:
    """The rows of the question, without its border."""
    return [line[1:-1].strip() for line in person.text.split("\n") if line.startswith("│") and line.endswith("│")]


def test_every_line_of_a_long_change_can_be_read_before_it_is_approved(repo: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(1, 301))

    async def script(person: Person) -> None:
        await person.type("write it")
        await person.asked()
        await person.sees("more lines · [d] shows them")
        shown = [row for row in in_panel(person) if row.startswith("+ ")]
        assert f"… {300 - len(shown)} more lines · [d] shows them" in in_panel(person)
        assert len(shown) >= 10, "as much as there is room for"
        await person.press("d")
        await person.sees("rows 1–")
        read: list[str] = []
        while not any("Arguments" in row for row in read):
            read += [row for row in in_panel(person) if row not in read]
            await person.press("pagedown")
        assert [row for row in read if row.startswith("+ ")] == [f"+ {n:>3}  line {n}" for n in range(1, 301)]
        await person.press("home")
        await person.sees("rows 1–", "Reason")
        await person.press("end")
        await person.sees("[y] yes")
        assert "line 300" in person.text and "Reason" not in person.text
        await person.press("up")
        await person.press("y")
        await person.rests()
        assert (repo / "new.txt").read_text() == content

    watch(repo, script, [call("Write", file_path="new.txt", content=content)], "Written.", size=(90, 40))


def test_a_small_screen_shows_the_change_and_the_details_take_all_of_it(repo: Path) -> None:
    lines = [f"line {number}" for number in range(1, 41)]

    async def script(person: Person) -> None:
        await person.type("write it")
        await person.asked()
        await person.sees("more lines · [d] shows them")
        assert len([row for row in in_panel(person) if row.startswith("+ ")]) >= 7
        assert any("Effects    edit · Access: writes the project · network off" in row for row in in_panel(person))
        await person.press("d")
        await person.sees("[d] fewer details", "Dials ", "rows 1–")
        assert len(in_panel(person)) >= 18
        assert "› write it" not in person.text, "the transcript gives its room away"
        await person.press("end", "e")
        await person.sees("[y] yes", "What should it do instead?", "line 40")
        await person.press("escape", "d")
        await person.sees("[d] details", "› write it")
        await person.press("y")
        await person.rests()
        await person.sees("line 40", "Written.")

    content = "".join(f"{line}\n" for line in lines)
    watch(repo, script, [call("Write", file_path="new.txt", content=content)], "Written.", size=(80, 24))


def test_the_end_of_a_command_without_line_ends_can_be_read(repo: Path) -> None:
    command = "make-believe " + " ".join(f"--flag-{number}" for number in range(2000)) + " --last"

    async def script(person: Person) -> None:
        await person.type("/mode build --permission-profile restricted")
        await person.type("do it")
        await person.asked()
        await person.sees("… the rest of this line · [d] shows it")
        await person.press("d", "end")
        await person.sees("--last")
        await person.press("n")
        await person.rests()

    watch(repo, script, [call("bash", command=command)], "Not.", size=(80, 24))


def test_no_space_of_what_is_asked_about_is_lost(repo: Path) -> None:
    command = "make-believe 'a   b'" + " " * 90 + "'c    d'"

    async def script(person: Person) -> None:
        await person.type("/mode build --permission-profile restricted")
        await person.type("do it")
        await person.asked()
        await person.press("d", "end")
        await person.sees("Arguments")
        rows = in_panel_exactly(person)
        start = next(at for at, row in enumerate(rows) if row.startswith("Arguments"))
        end = next(at for at, row in enumerate(rows) if row.startswith(("[y]", "rows ")))
        text = "".join(row[11:].ljust(rows_width(person) - 11) for row in rows[start:end])
        assert command in text
        await person.press("n")
        await person.rests()

    watch(repo, script, [call("bash", command=command)], "Not.", size=(80, 40))


def in_panel_exactly(person: Person) -> list[str]:
    return [line[2:-2] for line in person.text.split("\n") if line.startswith("│") and line.endswith("│")]


def rows_width(person: Person) -> int:
    return person.question.content_size.width


def test_a_notice_over_the_screen_is_at_its_top_where_no_question_is(repo: Path) -> None:
    async def script(person: Person) -> None:
        rack = ToastRack()
        await person.ui.screen.mount(rack)  # as Textual does, but not in tests
        assert rack.styles.dock == "top"

    watch(repo, script)
