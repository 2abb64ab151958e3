"""What each key does, pressed at the screen."""

import math
from pathlib import Path

import pytest
from textual.events import Key, Paste

from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import AxesChange, RunControl, WorkMode
from quintet.domain.settings.screen import KeySettings, keys_of, taken_twice
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tui.key_codes import KeyParser
from quintet.surfaces.tui.prompt.prompt_area import PromptArea
from quintet.surfaces.tui.prompt.queue_view import QueueView
from quintet.testing import ScriptedModel
from tests.engine.turn.test_turn_runner import Waiting
from tests.surfaces.tui.watching import Person, watch


@pytest.mark.parametrize(
    ("key", "badge"),
    [
        ("shift+tab", "plan │ assisted │ normal │ smart"),
        ("ctrl+shift+m", "plan │ assisted │ normal │ smart"),
        ("ctrl+shift+a", "chat │ autonomous │ normal │ smart"),
        ("ctrl+shift+s", "chat │ assisted │ normal │ smart"),
        ("ctrl+shift+i", "chat │ manual │ normal │ smart"),
        ("ctrl+shift+r", "repair │ assisted │ normal │ smart"),
        ("ctrl+shift+p", "chat │ assisted │ trusted │ smart"),
        ("f3", "plan │ assisted │ normal │ smart"),
        ("f4", "chat │ autonomous │ normal │ smart"),
        ("f5", "chat │ assisted │ trusted │ smart"),
        ("f6", "chat │ assisted │ normal │ deep"),
    ],
)
def test_s3_7_4_a_key_turns_its_dial_and_the_badge_says_so(repo: Path, key: str, badge: str) -> None:
    async def script(person: Person) -> None:
        await person.press(key)
        await person.rests()
        assert badge in person.badge

    watch(repo, script)


def test_s3_7_4_the_work_mode_goes_round(repo: Path) -> None:
    async def script(person: Person) -> None:
        seen = []
        for _ in WorkMode:
            await person.press("shift+tab")
            await person.rests()
            seen.append(str(person.axes.work_mode))
            asks = seen[-1] == "review"  # until the dial is turned on
            await person.wait(lambda: bool(person.ui.state.questions) == asks == person.question.display)  # noqa: B023
        assert seen == ["plan", "build", "review", "repair", "research", "chat"]

    watch(repo, script)


def test_pressed_twice_in_a_row_a_key_goes_two_places_on(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press("shift+tab", "shift+tab")
        await person.rests()
        assert person.axes.work_mode is WorkMode.BUILD

    watch(repo, script)


def test_a_key_of_your_own_takes_the_place_of_the_one_there_was(repo: Path) -> None:
    own = Settings(keys=KeySettings(work_mode="f12", run_control=""))

    async def script(person: Person) -> None:
        await person.press("shift+tab", "f4")
        await person.press("f12")
        await person.rests()
        assert person.axes.work_mode is WorkMode.PLAN
        assert person.axes.run_control is RunControl.ASSISTED

    watch(repo, script, own=own)


def test_no_two_actions_want_the_same_key() -> None:
    assert taken_twice(keys_of(KeySettings())) == []


def test_a_key_that_two_actions_want_does_the_first_and_that_is_said(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.sees("F6 is keys.work_mode and keys.model_mode; only the first is used")
        await person.press("f6")
        await person.rests()
        assert person.axes.work_mode is WorkMode.PLAN

    watch(repo, script, own=Settings(keys=KeySettings(work_mode="f6")))


def test_ctrl_c_closes_a_dialog_and_leaves_what_is_typed_alone(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press(*"half")
        for key in ("f1", "f2", "f7"):
            await person.press(key)
            await person.wait(lambda: len(person.ui.screen_stack) == 2, "a dialog")
            await person.press("ctrl+c")
            await person.wait(lambda: len(person.ui.screen_stack) == 1, "the screen below")
        assert person.ui.typed == "half"
        assert person.ui.is_running

    watch(repo, script)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("f1",), "interrupt what is running; twice: quit"),
        (("ctrl+p", "f2"), "keys and commands"),
        (("ctrl+t", "f7"), "nothing is running or open"),
        (("ctrl+s", "f11"), "dials.work_mode"),
        (("alt+m",), "model of this session"),
        (("alt+s",), "sessions of this project"),
        (("alt+a",), "agents"),
        (("alt+r",), "rewind to before a turn"),
        (("ctrl+f",), "Enter previous, Down next"),
    ],
)
def test_a_key_opens_its_list_and_esc_closes_it(repo: Path, keys: tuple[str, ...], words: str) -> None:
    async def script(person: Person) -> None:
        for key in keys:
            await person.press(key)
            await person.sees(words)
            await person.press("escape")
            await person.wait(lambda: words not in person.text, "its end")
        await person.press("x")
        assert person.ui.typed == "x"

    watch(repo, script, at_hand=at_hand(str(repo)))


def test_the_palette_does_what_a_key_does_sends_a_command_or_begins_it(repo: Path) -> None:
    async def picks(person: Person, words: str) -> None:
        await person.press("f2")
        await person.sees("keys and commands", "Shift+Tab")
        await person.press(*words)
        await person.press("enter")
        await person.wait(lambda: len(person.ui.screen_stack) == 1, "the screen below")

    async def script(person: Person) -> None:
        await picks(person, "ctrl+shift+i")
        await person.wait(lambda: person.axes.run_control is RunControl.MANUAL, "the dial")
        await picks(person, "theme light")
        await person.wait(lambda: person.ui.theme == "light", "the theme")
        await picks(person, "change a dial at a chosen time")
        await person.wait(lambda: person.ui.typed == "/steer ", "the beginning of the command")

    watch(repo, script)


def test_ctrl_q_leaves(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press("ctrl+q")
        await person.wait(lambda: not person.ui.is_running, "the end")

    watch(repo, script)


def test_enter_sends_and_the_answer_is_shown(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press(*"hello", "enter")
        await person.sees("› hello", "Good morning")
        assert person.ui.typed == ""

    watch(repo, script, "Good morning")


def test_ctrl_c_clears_what_is_typed_then_says_how_to_leave_then_leaves(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press(*"half")
        await person.press("ctrl+c")
        assert person.ui.typed == ""
        person.ui._pressed.clear()
        await person.press("ctrl+c")
        assert "again to leave" in person.status
        person.ui._pressed["interrupt"] = math.inf  # this moment, however slow the machine is
        await person.press("ctrl+c")
        await person.wait(lambda: not person.ui.is_running, "the end")

    watch(repo, script)


def test_s3_8_5_the_header_of_an_autonomous_run_is_badge_and_project(repo: Path) -> None:
    model = Waiting()

    async def script(person: Person) -> None:
        await person.type("go")
        await person.sees("thinking about")
        assert person.badge == "QUINTET chat │ autonomous │ normal │ smart tally"
        model.go.set()
        await person.rests()

    watch(repo, script, model=model, axes=AxesChange(run_control=RunControl.AUTONOMOUS))


def test_a_question_mark_on_an_empty_prompt_shows_the_keys_and_elsewhere_is_a_question_mark(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press("question_mark")
        await person.sees("Shift+Tab, Ctrl+Shift+M, F3", "work mode: chat, plan, build")
        await person.press("escape")
        await person.wait(lambda: len(person.ui.screen_stack) == 1, "the screen below")
        await person.press(*"why", "question_mark")
        assert person.ui.typed == "why?"

    watch(repo, script)


def test_a_picture_dropped_on_the_prompt_is_shown_to_the_model_and_one_in_a_folded_paste_is_not(
    repo: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "my shot.png"
    outside.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    model = ScriptedModel(["A dot.", "A log."])

    async def script(person: Person) -> None:
        area = person.ui.prompt.query_one(PromptArea)
        for pasted in (str(outside).replace(" ", "\\ "), "log\n" * 20 + f"'{outside}'"):
            area.post_message(Paste(pasted))
            await person.settles()
            await person.press("enter")
            await person.rests()
        shown = " ".join("".join(person.transcript).split())
        assert shown.count("not shown to the model: ") == 1
        assert [len(message.images) for message in model.requests[0].messages[-1:]] == [1]
        assert not any(message.images for message in model.requests[1].messages[-1:])

    watch(repo, script, model=model)


@pytest.mark.parametrize(
    ("keys", "leaves"),
    [
        (("ctrl+c", "ctrl+c"), True),
        (("ctrl+c", "left", "ctrl+c"), False),  # not in a row
        (("ctrl+c", "a", "backspace", "ctrl+c"), False),
        (("a", "ctrl+c", "ctrl+c"), False),  # the first cleared a text
        (("a", "ctrl+c", "b", "ctrl+c"), False),
        (("a", "ctrl+c", "ctrl+c", "ctrl+c"), True),
    ],
)
def test_s4_ctrl_c_leaves_when_pressed_twice_in_a_row_on_an_empty_prompt(
    repo: Path, keys: tuple[str, ...], leaves: bool
) -> None:
    async def script(person: Person) -> None:
        for key in keys:
            person.ui._pressed = dict.fromkeys(person.ui._pressed, math.inf)  # this moment, however slow the machine is
            await person.press(key)
        assert person.ui.is_running is not leaves
        assert leaves or person.ui.typed == ""

    watch(repo, script)


@pytest.mark.parametrize("there", ["click", "tab"])
def test_what_is_typed_at_the_transcript_goes_to_the_prompt_with_its_spaces(repo: Path, there: str) -> None:
    async def script(person: Person) -> None:
        await person.type("hello")
        await person.rests()
        if there == "click":
            await person.pilot.click(person.scrollback, offset=(4, 1))
        else:
            await person.press("tab")
            assert person.scrollback.has_focus
        text = "just do it, in one" if there == "click" else "one two three four"
        for char in text:
            person.ui.post_message(Key("space" if char == " " else char, char))
        await person.settles()
        assert person.ui.typed == text

    watch(repo, script)


# ── what is queued


async def queue(person: Person, model: Waiting, *inputs: str) -> None:
    await person.type("go")
    await model.begun.wait()
    for text in inputs:
        await person.type(text)
    await person.wait(lambda: len(person.ui.state.turns.waiting) == len(inputs), "the queue")
    await person.settles()


def shown(person: Person) -> list[str]:
    return [" ".join(words.split()) for words, _ in person.ui.prompt.query_one(QueueView).rows()]


def waiting(person: Person) -> list[str]:
    return [one.text for one in person.ui.state.turns.waiting]


FIVE = tuple(f"input {number}" for number in range(1, 6))


def test_of_five_queued_the_third_is_dropped_the_fourth_changed_and_esc_starts_none(repo: Path) -> None:
    model = Waiting()

    async def script(person: Person) -> None:
        await queue(person, model, *FIVE)
        assert shown(person) == [*(f"{n} input {n}" for n in range(1, 5)), "… 1 more"]
        assert "5 queued" in person.status
        await person.press("up", "up", "up")
        assert person.ui.typed == "input 3"
        assert shown(person)[:1] == ["1 input 1"] and "› 3 input 3" in shown(person)
        await person.press("ctrl+x")
        await person.wait(lambda: len(waiting(person)) == 4, "one less")
        await person.press("up", "up", *" changed", "enter")
        await person.wait(lambda: "input 4 changed" in waiting(person), "the change")
        assert waiting(person) == ["input 1", "input 2", "input 4 changed", "input 5"]
        assert person.ui.typed == ""
        await person.press("escape")
        await person.wait(lambda: not person.ui.state.busy, "the end")
        await person.settles()
        assert len(person.ui.state.turns.held) == 4
        assert shown(person)[:2] == ["1 held input 1", "2 held input 2"]
        assert person.ui.state.turns.count == 1
        assert not person.ui.state.turns.open
        model.go.set()
        await person.type("/queued run")
        await person.rests()
        assert [words for words in person.transcript if words.startswith("› input")] == [
            "› input 1",
            "› input 2",
            "› input 4 changed",
            "› input 5",
        ]

    watch(repo, script, model=model)


def test_a_queued_input_taken_back_is_left_alone_by_esc_and_by_ctrl_c(repo: Path) -> None:
    model = Waiting()

    async def script(person: Person) -> None:
        await queue(person, model, "one", "two\nlines")
        await person.press("up", *"xyz")
        assert person.ui.typed == "two\nlinesxyz"
        await person.press("escape")
        assert (person.ui.typed, waiting(person)) == ("", ["one", "two\nlines"])
        assert person.ui.state.busy  # it was not interrupted
        await person.press("up", "down")
        assert person.ui.typed == ""
        await person.press("up", "ctrl+c")
        await person.wait(lambda: not person.ui.state.busy, "the end")
        await person.press("ctrl+c", "enter")
        await person.settles()
        assert (person.ui.typed, waiting(person)) == ("", ["one", "two\nlines"])
        model.go.set()

    watch(repo, script, model=model)


def test_a_queued_input_that_begins_while_it_is_changed_leaves_the_text_as_a_new_one(repo: Path) -> None:
    model = Waiting()

    async def script(person: Person) -> None:
        await queue(person, model, "one")
        await person.press("up", *" more")
        model.go.set()
        await person.wait(lambda: not waiting(person), "its turn")
        await person.sees("no longer in the queue")
        assert person.ui.typed == "one more"
        await person.press("enter")
        await person.rests()
        assert [words for words in person.transcript if words.startswith("›")] == ["› go", "› one", "› one more"]

    watch(repo, script, model=model)


def test_what_was_typed_before_the_prompt_was_there_comes_before_what_came_after_it(repo: Path) -> None:
    async def script(person: Person) -> None:
        person.ui._takes_keys = False
        person.ui._early += [Key("o", "o"), Key("n", "n")]
        person.ui.call_later(person.ui._type_what_came_early)
        person.ui.post_message(Key("e", "e"))  # read before, and given out after
        await person.wait(lambda: len(person.ui.typed) == 3)
        assert person.ui.typed == "one"

    watch(repo, script)


@pytest.mark.parametrize("pieces", [("h", "i", "\n"), ("say it in one piece\n",)])
def test_enter_typed_before_the_screen_had_the_terminal_sends(repo: Path, pieces: tuple[str, ...]) -> None:
    """A terminal that no screen has yet writes Enter as a line's end."""

    async def script(person: Person) -> None:
        person.ui._takes_keys = False
        parser = KeyParser()
        for event in [event for piece in pieces for event in parser.feed(piece)]:
            event.time = 0.0
            assert isinstance(event, Key | Paste)
            await person.ui.on_event(event)
        await person.ui._type_what_came_early()
        await person.sees(f"› {''.join(pieces).strip()}", "Good morning")

    watch(repo, script, "Good morning", settings={"prompt.rapid_paste": True})
