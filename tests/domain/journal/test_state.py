"""The session's state is a fold: total, deterministic, and the same however the journal is cut."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.journal import protocol as p
from quintet.domain.journal.conversation_state import MOST_PAST, ConversationState, WorkState
from quintet.domain.journal.cycle_state import from_record, recorded, with_roles
from quintet.domain.journal.run_events import CycleRecord
from quintet.domain.journal.session_summary import SessionSummary, summarise
from quintet.domain.journal.state import SessionState, fold
from quintet.domain.tasks.roles import CycleRoles
from quintet.domain.turn.compaction import Summary
from quintet.domain.turn.messages import Role, Usage
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
    called = [call.id for message in state.conversation.messages for call in message.calls]
    answered = [message.call_id for message in state.conversation.messages if message.role is Role.TOOL]
    assert set(called) == set(answered)


def test_a_cycle_is_kept_in_one_level_and_comes_back_as_it_was() -> None:
    kept = {
        "run": "run-1",
        "text": "do both",
        "planner": "native",
        "executor": "codex",
        "at_work": False,
        "phase": "running-execution",
        "iteration": 2,
        "planned": 1,
        "pending": "m-2",
        "milestones": ["m-1"],
        "task": "task-001",
        "attempt": 2,
        "units": 3,
        "usage": msgspec.to_builtins(Usage(10, 5)),
        "cost": 0.5,
        "changed": ["a.txt"],
        "changed_by": "task-001",
        "unsure": "task-001",
    }
    record = msgspec.convert(kept, CycleRecord)
    cycle = from_record(record)
    assert (cycle.run, cycle.roles.executor, cycle.plan.pending) == ("run-1", "codex", "m-2")
    assert (cycle.unit.task, cycle.unit.changed, cycle.spent.units) == ("task-001", ("a.txt",), 3)
    assert recorded(cycle) == record
    stored = msgspec.json.decode(p.encode(recorded(cycle)))
    assert {name: stored[name] for name in kept} == kept
    unit = msgspec.structs.replace(cycle.unit, begun="task-001", done_by="codex", said="done", cost_budget=0.5)
    newer = msgspec.structs.replace(cycle, unit=unit)
    assert from_record(recorded(newer)) == newer
    taken = with_roles(cycle, CycleRoles(executor="claude"))
    assert taken.roles == CycleRoles("native", "claude", "")


def test_conversations_that_were_given_up_are_held_up_to_a_bound_the_newest_of_them() -> None:
    """A session of many hours is summarised again and again; what can be gone back to does not grow with it."""
    conversation = ConversationState()
    compacted = p.HistoryCompacted(
        reason="", before_messages=1, before_tokens=1, after_tokens=1, summary=Summary(), kept=0
    )
    turns = 3 * MOST_PAST // 100_000
    for turn in range(turns):
        conversation.mark(f"turn-{turn}", WorkState())
        conversation.tell("x" * 100_000)
        conversation.compacted(compacted)
    held = {id(mark.messages): mark.messages for mark in conversation.marks.values()}
    assert sum(len(message.text) for messages in held.values() for message in messages) <= MOST_PAST
    assert len(conversation.marks) == len(held) >= 30
    conversation.go_back(conversation.marks[f"turn-{turns - 20}"])
    assert [message.role for message in conversation.messages] == [Role.USER]
