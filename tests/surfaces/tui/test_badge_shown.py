"""The badge on screen is the journal's axes: after keys, commands, steering, rules, and another process's hand."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.app.open import open_session
from quintet.domain.dials import badge
from quintet.domain.dials.axes import AXIS_WORDS, Surface, parse_axis
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.surfaces.tui.chrome.header import HeaderLine
from tests.surfaces.tui.watching import Person, watch

KEYS = ("shift+tab", "ctrl+shift+m", "f4", "ctrl+shift+p", "f6", "ctrl+shift+a", "ctrl+shift+i", "ctrl+shift+r")
VALUES = [(word, str(value)) for word, values in AXIS_WORDS.items() for value in values]
STEPS = st.one_of(
    st.tuples(st.just("key"), st.sampled_from(KEYS)),
    st.tuples(st.just("say"), st.sampled_from([f"/{word} {value}" for word, value in VALUES])),
    st.tuples(
        st.just("say"),
        st.builds(
            lambda one, scope: f"/steer {one[0]} {one[1]} {scope}",
            st.sampled_from(VALUES),
            st.sampled_from(list(Scope)),
        ),
    ),
    st.tuples(st.just("other"), st.sampled_from([f"/{word} {value}" for word, value in VALUES])),
    st.tuples(st.just("rule"), st.sampled_from(VALUES)),
    st.tuples(st.just("turn"), st.just("go")),
    st.tuples(st.just("say"), st.just("/stop")),
)


def newest(person: Person) -> int:
    session = person.ui.session
    assert session
    return session._core.store.read(session.id)[-1].seq


async def take(person: Person, root: Path, kind: str, what: Any) -> None:
    ui = person.ui
    assert ui.session
    match kind:
        case "key":
            await person.press(what)
        case "say":
            await person.type(what)
        case "turn":
            await person.type(what)
            await person.wait(lambda: ui.state.turns.open or not ui.own, "a turn")
        case "other":  # another process: an attachment of its own over the same store
            async with open_session(str(root), surface=Surface.HEADLESS, resume=ui.session.id) as other:
                assert not other.owned_here
                submission = await other.say(what)
                async for item in other.events(other.since):
                    if isinstance(item, p.Recorded) and getattr(item.event, "submission", "") == submission:
                        break
        case "rule":  # as the engine turns a dial for a standing rule of the user's
            axes = ui.session.state.axes
            change = parse_axis(*what)
            owner = ui.session._owner
            assert owner
            await owner.journal.append(
                p.DialsTurned(
                    transition=f"rule-{len(ui.transcript.blocks)}",
                    before=axes,
                    after=change.applied_to(axes),
                    actor=Actor.RULE,
                    reason="a rule",
                    scope=Scope.NOW,
                    change=change,
                )
            )


def test_a_folders_name_cannot_do_anything_to_the_terminal_and_wide_ones_are_whole(repo: Path) -> None:
    async def script(person: Person) -> None:
        person.ui.query_one(HeaderLine).place = "\x1b[2Jtally界 · main"
        await person.settles()
        first = person.text.split("\n")[0]
        assert first.endswith(" ␛[2Jtally界 · main")
        assert first.isprintable()

    watch(repo, script)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=2, max_size=8), width=st.sampled_from([50, 100]))
def test_s3_8_the_badge_shown_is_the_journals_axes(repo: Path, steps: list[tuple[str, Any]], width: int) -> None:
    async def script(person: Person) -> None:
        ui = person.ui
        assert ui.session
        for kind, what in steps:
            await take(person, repo, kind, what)
            await person.rests()
            while ui.state.questions:
                await person.asked()
                ui.query_one("#question").focus()
                asked = person.question.asked
                await person.press("g")
                await person.wait(lambda: asked and asked.question not in ui.state.questions, "an answer")  # noqa: B023
                await person.rests()
            await person.wait(lambda: person.heard == newest(person), "the newest event")
            journal = fold(item.event for item in ui.session._core.store.read(ui.session.id))
            shown = ui.query_one(HeaderLine).render().plain
            for line in badge.lines(journal.axes, width, paused=journal.turns.paused):
                assert line in shown, (kind, what, shown)

    watch(repo, script, *["done"] * 20, size=(width, 24), deterministic=False)
