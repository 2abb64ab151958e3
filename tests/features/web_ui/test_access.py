"""Who is let in: by token or cookie, from our own pages, under our own names; a viewer changes nothing."""

import pytest

from quintet.features.web_ui.access import Attempts, Doors, Knock, Refusal, VisitorRole, admitted, hosts_of

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


def test_a_cookie_of_another_token_is_nobodys() -> None:
    other = Doors({VisitorRole.OWNER: "x" * 43}, DOORS.hosts)
    assert admitted(other, Knock("GET", HOST, cookie=OWNER)) != VisitorRole.OWNER


def test_ten_wrong_tokens_close_the_door_to_their_address_for_a_minute() -> None:
    attempts = Attempts()
    for second in range(10):
        assert not attempts.closed("10.0.0.1", second)
        attempts.wrong("10.0.0.1", second)
    assert attempts.closed("10.0.0.1", 10)
    assert not attempts.closed("10.0.0.2", 10)
    assert not attempts.closed("10.0.0.1", 75)


def test_a_name_of_a_proxy_is_one_of_ours_and_other_names_are_not() -> None:
    hosts = hosts_of("127.0.0.1", 8123, ("quintet.example",))
    assert {"quintet.example", "127.0.0.1:8123"} <= hosts
    assert "quintet.example:8123" not in hosts
