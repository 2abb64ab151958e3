"""The session's state is a fold: total, deterministic, and the same however the journal is cut."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.journal import protocol as p
from quintet.domain.journal.session_summary import SessionSummary, summarise
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.turn.messages import Role
from tests.places import TESTS

GOLDEN = TESTS / "domain" / "golden" / f"v{p.VERSION}.jsonl"
EVENTS = [p.decode_event(line) for line in GOLDEN.read_text().splitlines()[:-1]]
JOURNALS = st.lists(st.sampled_from(EVENTS), max_size=40)


def plain(state: SessionState) -> object:
    return msgspec.to_builtins(state)


@given(JOURNALS)
def test_folding_twice_gives_the_same_state(events: list[p.Event]) -> None:
    assert plain(fold(events)) == plain(fold(events))


@given(JOURNALS, st.integers(0, 40))
def test_folding_goes_on_where_it_stopped(events: list[p.Event], cut: int) -> None:
    state = fold(events[:cut])
    for event in events[cut:]:
        state.apply(event)
    assert plain(state) == plain(fold(events))


@given(JOURNALS)
def test_a_summary_survives_its_json_form(events: list[p.Event]) -> None:
    summary = summarise(fold(events))
    assert msgspec.json.decode(p.encode(summary), type=SessionSummary) == summary


@given(JOURNALS)
def test_after_a_turn_every_call_in_the_conversation_has_a_result(events: list[p.Event]) -> None:
    ending = p.TurnFinished(turn="turn-1", status="interrupted")
    state = fold([*events, ending])
    called = [call.id for message in state.messages for call in message.calls]
    answered = [message.call_id for message in state.messages if message.role is Role.TOOL]
    assert set(called) == set(answered)
