"""The server as a script, a second browser and an attacker meet it: one real process, real sessions."""

import socket
import time
from urllib.parse import urlsplit

import pytest

from quintet.features.web_ui import serving as limits
from quintet.features.web_ui.diff import diff_table
from quintet.features.web_ui.markdown import rendered
from tests.features.web_ui.serving import Web
from tests.surfaces.program import Program

SECONDS = 60.0


def until(web: Web, path: str, word: str, part: str = "transcript") -> str:
    """The page's transcript, or another part, once it has that word."""
    end = time.monotonic() + SECONDS
    while True:
        page = web.get(f"{path}page").json()
        html: str = page["transcript"] if part == "transcript" else page["parts"][part]
        if word in html:
            return html
        assert time.monotonic() < end, html
        time.sleep(0.1)


def frames(web: Web, path: str, after: str) -> socket.socket:
    """A stream of frames, as far as its headers."""
    parts = urlsplit(web.url)
    stream = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS)
    lines = (
        f"GET {web.below}{path}events?after={after} HTTP/1.1",
        f"Host: {web.host}",
        f"Authorization: Bearer {web.token}",
    )
    stream.sendall("\r\n".join((*lines, "", "")).encode())
    return stream


def read_until(stream: socket.socket, word: bytes) -> bytes:
    data = b""
    while word not in data:
        piece = stream.recv(65536)
        assert piece, data
        data += piece
    return data


def test_a_session_begins_asks_is_answered_and_ends(web: Web) -> None:
    path = web.new("replace words with terms in tally/count.py")
    card = until(web, path, "data-question", "question")
    question = card.split('data-question="')[1].split('"')[0]
    assert "<h2" in card
    assert "in chat every change needs approval" in card

    assert web.post(f"{path}answer", question=question, choice="y").status == 200
    html = until(web, path, 'class="diff"')
    assert "<mark>terms</mark>" in html
    until(web, path, "ready", "status")
    assert web.post(f"{path}answer", question=question, choice="n").status == 409


def test_a_frame_tells_every_page_and_a_page_that_is_of_another_server_begins_anew(web: Web) -> None:
    path = web.new()
    page = web.get(f"{path}page").json()
    streams = [frames(web, path, f"{page['epoch']}.{page['frame']}") for _ in range(3)]
    web.post(f"{path}say", text="/mode build")
    for stream in streams:
        assert b"build" in read_until(stream, b"/mode")
        stream.close()
    other = frames(web, path, "0123456789ab.7")
    assert b'{"reset":true}' in read_until(other, b"reset")
    other.close()


def test_a_dial_is_turned_by_the_web_and_the_journal_says_so(own_web: Web, quintet: Program) -> None:
    web = own_web
    path = web.new()
    web.post(f"{path}say", text="/permission-profile restricted")
    until(web, path, "restricted", "transcript")
    shown = quintet.run("sessions", "show", path.rstrip("/").rpartition("/")[2], "--events", "--json").lines()
    turned = [one for one in shown if one["type"] == "dials_turned"]
    assert turned[-1]["after"]["permission_profile"] == "restricted"
    assert turned[-1]["after"]["surface"] == "web"
    assert turned[-1]["actor"] == "user"


def test_what_is_sent_twice_by_one_name_is_one_input(web: Web) -> None:
    path = web.new()
    for _ in range(2):
        assert web.post(f"{path}say", text="/help", id="same-input").status == 200
    html = until(web, path, "/help")
    assert html.count('<p class="dim">/help</p>') == 1


def test_every_screen_is_there_and_reads_without_a_script(web: Web) -> None:
    path = web.new("find words")
    until(web, path, "ready", "status")
    for screen in ("", "tasks", "agents", "cost", "models", "settings"):
        answer = web.get(f"{web.project}{screen}")
        assert answer.status == 200, screen
        assert "<h1>" in answer.text
    assert "find words" in web.get(path).text
    assert web.get(f"{path}forensics").headers["content-security-policy"] == "sandbox allow-scripts"
    assert "find words" in web.get(f"{path}export").text
    for missing in ("/p/none/", f"{web.project}s/q5-none/", f"{web.project}tasks/none"):
        assert web.get(missing).status == 404, missing
    assert web.anywhere("GET", "/static/none.js").status == 404


def test_a_viewer_sees_and_changes_nothing(web: Web) -> None:
    path = web.new()
    viewer = web.viewer_token
    assert web.get(path, viewer).status == 200
    assert 'id="prompt"' not in web.get(path, viewer).text
    for action, fields in (
        ("say", {"text": "/mode build"}),
        ("answer", {"question": "x", "choice": "y"}),
        ("interrupt", {}),
        ("accept", {}),
        ("upload", {}),
    ):
        assert web.post(f"{path}{action}", viewer, **fields).status == 403, action
    for action in ("new", "trust", "settings"):
        assert (
            web.post(f"{web.project}{action}", viewer, text="x", yes="1", key="dials.work_mode", value="build").status
            == 403
        )
    assert web.get(f"{path}past", viewer).status == 403
    assert "build" not in web.get(f"{path}page").json()["parts"]["status"]


def test_who_is_not_let_in_learns_nothing(web: Web) -> None:
    path = web.new("a secret plan")
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer nonsense"}, 401),
        ({"Cookie": "quintet=owner.00"}, 401),
        ({"Host": "evil.example", "Authorization": f"Bearer {web.token}"}, 421),
        ({"Origin": "http://evil.example", "Authorization": f"Bearer {web.token}"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Authorization": f"Bearer {web.token}"}, 403),
    ):
        for where in (path, f"{path}page", f"{path}events?after=x", "/", f"{path}export"):
            answer = web.request("GET", where, **headers)
            assert answer.status == status, (headers, where)
            assert "secret plan" not in answer.text


def test_a_link_is_taken_once_and_its_token_goes_no_further(web: Web) -> None:
    answer = web.request("GET", f"/?token={web.token}")
    assert (answer.status, answer.headers["location"]) == (303, f"{web.below}/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert web.token not in cookie
    assert f"Path={web.below}/;" in cookie
    assert answer.headers["referrer-policy"] == "same-origin"
    held = cookie.split(";")[0]
    assert web.request("GET", "/", Cookie=held).status == 200
    assert web.request("POST", f"{web.project}new", "text=", Cookie=held).status == 403  # names no origin
    origin = f"http://{web.host}"
    assert web.request("POST", f"{web.project}new", "text=", Cookie=held, Origin=origin).status == 303


def test_another_server_of_this_machine_gets_no_cookie_and_learns_no_path(web: Web) -> None:
    """A cookie goes to every port of its host: another local server would have it, were it not for the path."""
    for path in ("/", "/p/", "/enter", "/nowhere", f"{web.below}x/"):
        answer = web.anywhere("GET", path)
        assert answer.status in (401, 405)
        assert web.below not in answer.text + str(answer.headers)
        assert web.anywhere("GET", path, Authorization=f"Bearer {web.token}").status == 401


def test_guessing_closes_the_door(own_web: Web) -> None:
    web = own_web
    found = [web.request("GET", f"/?token=guess{number}").status for number in range(12)]
    assert found == [401] * 10 + [429] * 2
    assert web.request("GET", f"/?token={web.token}").status == 429
    assert web.get("/").status == 200  # who is in already stays in


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/access.py",
        "/static//etc/passwd",
        "/p/../",
        "/p/..%2f..%2f/",
        "/p/%2e%2e/s/x/",
        "/p/web/",
    ],
)
def test_no_path_leads_out(web: Web, path: str) -> None:
    bearer = f"Bearer {web.token}"
    for where in (path, web.below + path):
        assert web.anywhere("GET", where, Authorization=bearer).status in (401, 404, 405)


def test_too_much_is_refused_and_the_server_lives(web: Web) -> None:
    path = web.new()
    assert web.post(f"{path}say", text="x" * 1_100_000).status == 413
    assert web.request("POST", f"{path}upload", b"\0" * 8_100_000, Authorization=f"Bearer {web.token}").status == 413
    assert web.request("POST", f"{path}upload", b"<svg/>", Authorization=f"Bearer {web.token}").status == 415
    assert web.get("/").status == 200


def test_a_line_of_ones_own_has_no_rights_of_the_user_here(web: Web) -> None:
    """`! line` runs with the user's rights only where it was typed at a terminal."""
    path = web.new("! cat /etc/shadow ~/.ssh/id_rsa")
    html = until(web, path, "bash")
    until(web, path, 'class="dot', "status")
    assert "with your rights" not in html


@pytest.mark.parametrize(
    ("key", "value", "status"),
    [
        ("hooks.session_start", '["touch /tmp/x"]', 403),
        ("sandbox.use", "none", 403),
        ("sandbox.give", '["/"]', 403),
        ("prompt.own_lines", "yours", 403),
        ("browser.path", "/tmp/x", 403),
        ("secrets.expose", '["*"]', 403),
        ("cycle.executor", "acp:/usr/bin/touch x", 403),
        ("limits.max_cost", "2.5", 303),
        ("limits.max_cost", "lots", 400),
        ("no.such", "1", 400),
    ],
)
def test_what_reaches_outside_the_sandbox_is_not_set_from_a_page(web: Web, key: str, value: str, status: int) -> None:
    assert web.post(f"{web.project}settings", key=key, value=value).status == status
    assert web.post(f"{web.project}settings", key=key, reset="1").status in (303, status)


def test_every_answer_has_the_headers_that_protect_a_page(web: Web) -> None:
    for answer in (web.get("/"), web.request("GET", "/"), web.anywhere("GET", "/static/app.js"), web.get("/nowhere")):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_connection_that_says_nothing_is_closed(web: Web) -> None:
    parts = urlsplit(web.url)
    slow = [socket.create_connection((parts.hostname or "", parts.port or 0)) for _ in range(20)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\nHost: x")
    assert web.get("/").status == 200
    slow[0].settimeout(limits.HEAD_SECONDS * 6)
    assert slow[0].recv(100) == b""
    for one in slow:
        one.close()


def test_trust_is_given_to_what_was_shown_and_to_nothing_else(own_web: Web, quintet: Program) -> None:
    settings = quintet.root / ".quintet/settings.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[hooks]\nsession_start = ["true"]\n')
    page = own_web.get(own_web.project).text
    seen = page.split('name="seen" value="')[1].split('"')[0]
    settings.write_text('[hooks]\nsession_start = ["touch canary"]\n')
    assert own_web.post(f"{own_web.project}trust", yes="1", seen=seen).status == 409
    assert "touch canary" in own_web.get(own_web.project).text
    own_web.new()
    assert not (quintet.root / "canary").exists()


@pytest.mark.parametrize("path", ["older?before=", "?why=", "why/", "events?after=x."])
def test_a_number_without_end_is_no_number(web: Web, path: str) -> None:
    assert web.get(f"{web.new()}{path}{'9' * 5000}").status in (200, 400, 404)


@pytest.mark.parametrize("body", ["x" * 1_100_000, "%ff%fe", "&".join("a=1" for _ in range(99))])
def test_nonsense_at_the_door_is_refused(web: Web, body: str) -> None:
    headers = {"Content_Type": "application/x-www-form-urlencoded", "Origin": f"http://{web.host}"}
    assert web.anywhere("POST", "/enter", body, **headers).status in (400, 401, 413)


def test_long_code_is_not_coloured_and_of_a_long_change_only_the_first_lines_are_compared() -> None:
    """Some lexers, and the comparison of words, take the square of what they are given."""
    assert "<span" not in rendered("```java\n" + "a.b " * 22_000 + "\n```").partition("</span>")[2]
    gone, came = ([f"{sign}some words {number}" for number in range(1000)] for sign in "-+")
    table = diff_table("\n".join(["--- a", "+++ b", "@@ -1,1000 +1,1000 @@", *gone, *came]))
    assert table.count("<tr") == 2000
    assert diff_table("--- a\n+++ b\n@@ -1 +1 @@\n-" + "!" * 390 + "\n+" + "?" * 390).count("<mark>") == 0
