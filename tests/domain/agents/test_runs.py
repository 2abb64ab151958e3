"""Runs and their workflows as values: legal moves, what a turn's end does to a run, places in a graph."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.agents.agent import Agent, Persona
from quintet.domain.agents.run import MOVES, RUN_ERROR_CODES, TERMINAL, ErrorInfo, RunPhase, outcome
from quintet.domain.agents.workflow import Edge, Graph, Node, NodeKind, Workflow, render
from quintet.domain.agents.workflow_progress import FinishedStep, by_itself, chosen, entered, moved, passes
from quintet.domain.turn.tool_spec import Move

LEADER = Agent("a", "A", Persona("r"))


def test_a_terminal_phase_is_left_by_no_move_and_every_other_can_be_resumed_or_stopped() -> None:
    assert set(MOVES) == set(RunPhase)
    for phase in RunPhase:
        if phase in TERMINAL:
            assert MOVES[phase] == frozenset()
        elif phase is not RunPhase.RUNNING:
            assert {RunPhase.RUNNING, RunPhase.CANCELLED} <= MOVES[phase]


@pytest.mark.parametrize(
    ("status", "reason", "error", "done", "phase", "code"),
    [
        ("done", "", None, False, "waiting-user", ""),
        ("done", "", None, True, "completed", ""),
        ("blocked", "bash: beyond the profile", None, False, "waiting-user", "TOOL_EXEC_FAILED"),
        ("limit", "limits.max_turns = 50", None, False, "failed", "ENGINE_MAX_TURNS_EXCEEDED"),
        ("limit", "loop_detected: Read was called", None, False, "failed", "ENGINE_LOOP_DETECTED"),
        ("limit", "limits.max_cost = 1", None, False, "failed", "ENGINE_ABORTED"),
        ("interrupted", "interrupted", None, False, "waiting-user", "ENGINE_ABORTED"),
        ("cancelled", "stopped by /stop", None, False, "cancelled", "ENGINE_ABORTED"),
        ("failed", "late", ErrorInfo("LLM_TIMEOUT", "late"), False, "failed", "LLM_ERROR"),
        (
            "failed",
            "gone",
            ErrorInfo("ENGINE_PRECONDITION_FAILED", "gone"),
            False,
            "failed",
            "ENGINE_PRECONDITION_FAILED",
        ),
        ("failed", "odd", ErrorInfo("STORE_FAILED", "odd"), False, "failed", "UNKNOWN"),
        ("failed", "nothing said", None, False, "failed", "UNKNOWN"),
    ],
)
def test_s2_what_a_turns_end_does_to_its_run(
    status: str, reason: str, error: ErrorInfo | None, done: bool, phase: str, code: str
) -> None:
    after, told = outcome(status, reason, error, done)
    assert (after, told.code if told else "") == (phase, code)
    assert after in MOVES[RunPhase.RUNNING]
    assert told is None or told.code in RUN_ERROR_CODES


NODES = [f"n{number}" for number in range(6)]
EDGES = st.lists(
    st.builds(Edge, st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from("abc"), st.booleans()), max_size=12
)


@given(EDGES, st.lists(st.sampled_from(["", "a", "b", "c", "n0", "n3", "zz"]), max_size=8))
def test_s2_a_run_moves_only_along_edges(edges: list[Edge], said: list[str]) -> None:
    graph = Graph("n0", tuple(Node(id, NodeKind.STEP) for id in NODES), tuple(edges))
    place = entered(None, "r", LEADER, Workflow("w", "workflow.md", graph), "/p")
    for way in said:
        for move in (chosen(place, way), by_itself(place)):
            if move is not None and place.ways:
                assert any(edge.target == move.target and edge.label == move.way for edge in place.ways)
        if (move := chosen(place, way)) is None:
            continue
        before = place.node.id
        place = moved(place, move.way, move.target, "")
        assert place.finished[-1].node == before
        if place.done:
            break


def test_a_workflow_within_a_workflow_comes_back_to_the_node_that_called_it() -> None:
    inner = Workflow("in", "in/workflow.md", Graph("x", (Node("x", NodeKind.STEP),)), graph_path="g")
    nodes = (Node("call", NodeKind.SUBWORKFLOW, workflow="in"), Node("end", NodeKind.END))
    outer = Workflow("out", "out/workflow.md", Graph("call", nodes, (Edge("call", "end", "next"),)), graph_path="g")
    place = entered(None, "r", LEADER, outer, "/p")
    assert passes(place) is None  # it has to be called
    place = entered(place, "r", LEADER, inner, "/p")
    assert place.node.id == "x"
    place = moved(place, "complete", "", "done in there")
    assert (place.node.id, passes(place)) == ("call", Move("next", "end"))
    place = moved(place, "next", "end", "")
    assert passes(place) == Move("complete", "")
    place = moved(place, "complete", "", "")
    assert place.done
    assert place.finished[0] == FinishedStep("x", "complete", "done in there")


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{project-root}/x", "/p/x"),
        ("{config_source}:out/y", "/p/docs/y"),
        ("{out}/z", "/p/docs/z"),
        ("{config_source}:none and {unknown} and {a b}", "{config_source}:none and {unknown} and {a b}"),
        ("{sly}", "{twice}"),
        ("no braces", "no braces"),
    ],
)
def test_templates_are_filled_in_and_what_is_unknown_stays(text: str, rendered: str) -> None:
    places = {"project-root": "/p"}
    variables = {"out": "{project-root}/docs", "project-root": "/mine", "sly": "{twice}", "twice": "{project-root}"}
    assert render(text, places, variables) == rendered
