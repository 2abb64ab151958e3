"""Who is let in: by token or cookie, from our own pages, under our own names; a viewer changes nothing."""

import pytest

from quintet.features.registry import tables
from quintet.features.web_ui.access import (
    FROM_A_PAGE,
    MOST_ADDRESSES,
    Attempts,
    Doors,
    Knock,
    Refusal,
    VisitorRole,
    admitted,
    hosts_of,
    may_change,
)

HOST = "127.0.0.1:8123"
ORIGIN = f"http://{HOST}"
DOORS = Doors({VisitorRole.OWNER: "o" * 43, VisitorRole.VIEWER: "v" * 43}, hosts_of("127.0.0.1", 8123))
OWNER, VIEWER = DOORS.cookie(VisitorRole.OWNER), DOORS.cookie(VisitorRole.VIEWER)


@pytest.mark.parametrize(
    ("knock", "found"),
    [
        (Knock("GET", HOST, cookie=OWNER), VisitorRole.OWNER),
        (Knock("GET", "LOCALHOST:8123", cookie=OWNER), VisitorRole.OWNER),
        (Knock("GET", "[::1]:8123", cookie=OWNER), VisitorRole.OWNER),
        (Knock("GET", HOST, bearer="o" * 43), VisitorRole.OWNER),
        (Knock("POST", HOST, bearer="o" * 43), VisitorRole.OWNER),
        (Knock("POST", HOST, origin=ORIGIN, cookie=OWNER), VisitorRole.OWNER),
        (Knock("GET", HOST, cookie=VIEWER), VisitorRole.VIEWER),
        (Knock("GET", HOST), 401),
        (Knock("GET", HOST, cookie="owner."), 401),
        (Knock("GET", HOST, cookie=OWNER[:-1]), 401),
        (Knock("GET", HOST, cookie=VIEWER.replace("viewer", "owner")), 401),
        (Knock("GET", HOST, cookie=OWNER, bearer="wrong"), 401),
        (Knock("GET", "evil.example:8123", cookie=OWNER), 421),
        (Knock("GET", "127.0.0.1:8124", cookie=OWNER), 421),
        (Knock("GET", "127.0.0.1", cookie=OWNER), 421),
        (Knock("GET", "", cookie=OWNER), 421),
        (Knock("POST", HOST, cookie=OWNER), 403),
        (Knock("POST", HOST, origin="null", cookie=OWNER), 403),
        (Knock("POST", HOST, origin="http://evil.example", cookie=OWNER), 403),
        (Knock("POST", HOST, origin="http://127.0.0.1:9999", cookie=OWNER), 403),
        (Knock("POST", HOST, origin=f"https://{HOST}", cookie=OWNER), 403),
        (Knock("GET", HOST, site="cross-site", cookie=OWNER), 403),
        (Knock("POST", HOST, origin=ORIGIN, cookie=VIEWER), 403),
        (Knock("POST", HOST, bearer="v" * 43), 403),
        (Knock("DELETE", HOST, origin=ORIGIN, cookie=VIEWER), 403),
    ],
)
def test_a_request_is_let_in_or_told_why_not(knock: Knock, found: VisitorRole | int) -> None:
    answer = admitted(DOORS, knock)
    assert (answer.status if isinstance(answer, Refusal) else answer) == found


# What a page may change, said a second time: whoever opens another setting says so here too, and why it is harmless.
LISTED = """
dials.work_mode dials.run_control dials.model_mode dials.abort_active_tool
routing.fast_effort routing.smart_effort routing.deep_effort
limits.max_turns limits.max_cost limits.max_calls limits.max_seconds limits.input_bytes limits.retries
limits.retry_seconds
runs.reasoning runs.delivery_check runs.qa_review runs.qa_feedback runs.qa_modes runs.qa_controls
compression.share compression.max_messages compression.max_tokens compression.keep_messages compression.by
tools.presentation tools.all_schemas tools.swe_phases
display.color display.theme display.bell
prompt.enter prompt.rapid_paste prompt.keys
doctor.free_bytes
retry.max_attempts retry.base_seconds retry.step_seconds retry.max_reset_seconds
"""
OPEN = LISTED.split()


def test_of_all_settings_there_are_a_page_changes_those_that_are_listed_and_no_other() -> None:
    known = tables().catalogue()
    assert [key for key in known if may_change(key)] == [key for key in known if key in OPEN]
    assert frozenset(OPEN) == FROM_A_PAGE
    assert set(known) >= FROM_A_PAGE  # none that is gone
    for key in ("", "limits", "limits.", "limits.max_cost.x", "Limits.max_cost", " limits.max_cost", "later.setting"):
        assert not may_change(key), key


def test_a_cookie_of_another_token_is_nobodys() -> None:
    other = Doors({VisitorRole.OWNER: "x" * 43}, DOORS.hosts)
    assert admitted(other, Knock("GET", HOST, cookie=OWNER)) != VisitorRole.OWNER


def test_more_than_ten_wrong_tokens_a_minute_are_too_many_for_their_address() -> None:
    attempts = Attempts()
    assert [attempts.wrong("10.0.0.1", second) for second in range(12)] == [False] * 10 + [True] * 2
    assert not attempts.wrong("10.0.0.2", 12)
    assert attempts.wrong("10.0.0.1", 59)
    assert not attempts.wrong("10.0.0.1", 75)


def test_addresses_that_are_invented_fill_no_memory() -> None:
    attempts = Attempts()
    for number in range(2 * MOST_ADDRESSES):
        attempts.wrong(str(number), number / 1000)
    assert len(attempts._wrong) == MOST_ADDRESSES


def test_a_name_of_a_proxy_is_one_of_ours_and_other_names_are_not() -> None:
    hosts = hosts_of("127.0.0.1", 8123, ("quintet.example",))
    assert {"quintet.example", "127.0.0.1:8123"} <= hosts
    assert "quintet.example:8123" not in hosts
