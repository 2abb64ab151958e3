"""The server as a script, a second browser and an attacker meet it: one real process, real sessions."""

import asyncio
import contextlib
import os
import re
import socket
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.stores.chosen import open_store
from quintet.domain.ports.tasks import Claim
from quintet.domain.ports.workers import Worker, WorkerState
from quintet.domain.tasks.task import Intent
from quintet.domain.workers.claims import Overlap
from quintet.features.web_ui import serving as limits
from quintet.features.web_ui.access import FORENSICS_POLICY
from quintet.features.web_ui.diff import diff_table
from quintet.features.web_ui.markdown import rendered
from quintet.features.web_ui.server import MOST_STREAMS
from tests.features.web_ui.serving import Web, serving
from tests.surfaces.program import Program

SECONDS = 60.0
AT = "2026-01-02T03:04:05.000Z"


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


def frames(web: Web, path: str, after: str, token: str = "") -> socket.socket:
    """A stream of frames, as far as its headers."""
    parts = urlsplit(web.url)
    stream = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS)
    lines = (
        f"GET {web.below}{path}events?after={after} HTTP/1.1",
        f"Host: {web.host}",
        f"Authorization: Bearer {token or web.token}",
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
    assert re.search("<mark>(<span[^>]*>)?terms", html)
    until(web, path, "ready", "status")
    assert web.post(f"{path}answer", question=question, choice="n").status == 409


def test_prometheus_reads_the_metrics_of_every_project_with_a_token_and_nobody_without(web: Web) -> None:
    def asks(path: str, token: str) -> tuple[int, str]:
        asked = HTTPConnection(web.host, timeout=SECONDS)
        asked.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = asked.getresponse()
        text = answer.read().decode()
        asked.close()
        return answer.status, text

    web.new("git status")
    end = time.monotonic() + SECONDS
    while "quintet_turns_total" not in asks("/metrics", web.token)[1]:
        assert time.monotonic() < end
        time.sleep(0.1)
    for path in ("/metrics", f"{web.below}/metrics"):
        status, text = asks(path, web.token)
        assert status == 200 and "# TYPE quintet_turns_total counter\nquintet_turns_total{project=" in text
        for wrong in ("x" * 43, ""):
            status, text = asks(path, wrong)
            assert status == 401 and "quintet_turns_total" not in text


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


def test_a_viewer_who_opens_stream_after_stream_leaves_half_of_them_to_the_owner(web: Web) -> None:
    path = web.new()
    page = web.get(f"{path}page").json()
    after = f"{page['epoch']}.{page['frame']}"
    opened: list[socket.socket] = []
    try:
        while len(opened) < MOST_STREAMS:
            opened.append(frames(web, path, after, web.viewer_token))
            if b" 503 " in read_until(opened[-1], b"\r\n"):
                break
        assert len(opened) == MOST_STREAMS // 2 + 1
        opened.append(frames(web, path, after))
        assert b" 200 " in read_until(opened[-1], b"\r\n")
    finally:
        for one in opened:
            one.close()


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
    for screen in ("", "tasks", "agents", "cost", "models", "remote", "settings"):
        answer = web.get(f"{web.project}{screen}")
        assert answer.status == 200, screen
        assert "<h1>" in answer.text
    assert "find words" in web.get(path).text
    assert web.get(f"{path}forensics").headers["content-security-policy"] == FORENSICS_POLICY
    assert "find words" in web.get(f"{path}export").text
    tasks = web.get(f"{web.project}tasks").text
    assert "idle here" in tasks
    assert "in another process" not in tasks  # this server has them itself
    for missing in ("/p/none/", f"{web.project}s/q5-none/", f"{web.project}tasks/none"):
        assert web.get(missing).status == 404, missing
    assert web.anywhere("GET", "/static/none.js").status == 404


def test_the_board_shows_who_works_at_what_and_which_file_a_task_waits_for(own_web: Web, quintet: Program) -> None:
    for name in ("one", "two"):
        (quintet.root / f"{name}.md").write_text(f"---\nid: {name}\ntitle: {name}\n---\nDo it.\n")
        quintet.run("tasks", "add", f"{name}.md").clean(0)
    assert "Workers" not in own_web.get(f"{own_web.project}tasks").text

    async def at_work() -> None:
        store = open_store(locate(str(quintet.root)))
        workers, until = store.worker_store(), SystemClock().uptime() + 600
        pid = os.getpid()
        held = Claim("one", "w-1", pid, process_identity(pid), until, AT)
        number = await store.task_store().claim_task(held)
        one = Worker("w-1", "run-1", pid, process_identity(pid), until, AT, AT, WorkerState.WORKING, "one")
        await workers.put_worker(one)
        await workers.claim_paths("one", number, [Intent("src/x.py", 1, 9)], AT)
        await workers.wait("two", [Overlap("one", "src/x.py")], AT)
        await store.close()

    asyncio.run(at_work())
    shown = own_web.get(f"{own_web.project}tasks").text
    (row,) = re.findall(rf"<tr><th scope=row>{os.getpid()}</th>.*?</tr>", shown)
    for part in ("working", 'href="tasks/one"', "<code>src/x.py:1-9</code>", "03:04:05 UTC"):
        assert part in row, part
    (card,) = re.findall(r'<li class="task" data-task="two".*?</li>', shown)
    assert 'waits for <a href="tasks/one">one</a>: <code>src/x.py</code>' in card


def test_a_file_that_is_new_is_offered_too(own_web: Web, quintet: Program) -> None:
    path = own_web.new()
    assert own_web.get(f"{path}offers?kind=file&q=brandnew").json() == []
    (quintet.root / "brandnew.py").write_text("")
    end = time.monotonic() + SECONDS
    while not (found := own_web.get(f"{path}offers?kind=file&q=brandnew").json()):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert found[0]["insert"] == "@brandnew.py "


def test_a_folder_that_has_tasks_and_no_session_is_among_the_projects(
    own_web: Web, quintet: Program, tmp_path: Path
) -> None:
    other = tmp_path / "with-tasks"
    other.mkdir()
    (other / "one.md").write_text("---\nid: one\ntitle: One\n---\nDo it.\n")
    quintet.run("tasks", "add", str(other / "one.md"), "-C", str(other)).clean(0)
    assert "with-tasks" in own_web.get("/").text


def test_skills_are_offered_among_the_commands_by_their_names(own_web: Web, quintet: Program) -> None:
    quintet.run("trust").clean(0)
    skill = quintet.root / ".quintet/skills/tidy-up"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy-up\ndescription: Tidies the imports up.\n---\nTidy up.\n")
    quintet.run("trust").clean(0)
    path = own_web.new()
    (found,) = own_web.get(f"{path}offers?kind=command&q=tidy").json()
    assert (found["insert"], found["about"]) == ("/tidy-up ", "Tidies the imports up.")
    names = [one["insert"] for one in own_web.get(f"{path}offers?kind=command&q=s").json()]
    assert "/skills " in names and len(names) == len(set(names))


def test_a_viewer_sees_and_changes_nothing(web: Web) -> None:
    path = web.new()
    viewer = web.viewer_token
    assert web.get(path, viewer).status == 200
    assert 'id="prompt"' not in web.get(path, viewer).text
    for screen in (path, "/", web.project, f"{web.project}tasks"):
        assert "change nothing" in web.get(screen, viewer).text
        assert "change nothing" not in web.get(screen).text
    assert "Open a project to begin" in web.get("/").text
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


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_no_answer_to_a_stranger_names_the_path_of_the_pages(web: Web, method: str) -> None:
    """Whatever they ask for, whatever they say of themselves; only who has a token is sent there."""
    paths = (
        "/static/app.js /static/nope /static/ /static /static/nope/ /static/app.js/ /static/../ /static/%2e%2e/x "
        "/ /enter /enter/ /a/x /nope /favicon.ico /manifest.json /?token=wrong /static/nope?token=wrong"
    )
    for path in (*paths.split(), f"{web.below}/", f"{web.below}/nope", f"{web.below}/p/x/"):
        for headers in (
            {},
            {"Accept": "application/json"},
            {"Authorization": "Bearer wrong"},
            {"Cookie": f"quintet_{web.host.rpartition(':')[2]}=owner.00"},
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
        ):
            answer = web.anywhere(method, path, **headers)
            assert answer.status != 500
            assert web.below.strip("/") not in answer.text + str(answer.headers), (method, path, headers)


def test_who_has_no_token_cannot_keep_the_owner_out(web: Web) -> None:
    """Many requests that never become whole, each with one byte of its body."""
    parts = urlsplit(web.url)
    head = f"POST /enter HTTP/1.1\r\nHost: {web.host}\r\nOrigin: http://{web.host}\r\nContent-Length: 50\r\n\r\nt"
    opened: list[socket.socket] = []
    try:
        for number in range(limits.MOST_CONNECTIONS + 20):
            opened.append(socket.create_connection((parts.hostname or "", parts.port or 0), timeout=SECONDS))
            opened[-1].sendall(head.encode())
            if number % 60 == 59:
                assert web.get("/").status == 200, number
        assert web.get("/").status == 200
        assert web.request("GET", f"/?token={web.token}").status == 303
        with contextlib.suppress(ConnectionResetError):
            assert not opened[0].recv(100)  # the oldest are gone
    finally:
        for one in opened:
            one.close()


def test_the_door_takes_a_token_and_not_much_more(web: Web) -> None:
    headers = {"Content_Type": "application/x-www-form-urlencoded", "Origin": f"http://{web.host}"}
    assert web.anywhere("POST", "/enter", f"token={web.token}", **headers).status == 303
    assert web.anywhere("POST", "/enter", "token=" + "x" * 1_001, **headers).status == 413


def test_guessing_is_refused_and_does_not_lock_anybody_out(own_web: Web) -> None:
    web = own_web
    found = [web.request("GET", f"/?token=guess{number}") for number in range(12)]
    assert [one.status for one in found] == [401] * 10 + [429] * 2
    assert "<" not in found[-1].text
    assert found[-1].headers["connection"] == "close"
    assert web.get("/", "guess").status == 429
    entered = web.request("GET", f"/?token={web.token}")  # everybody here has one address: the right one gets in
    assert entered.status == 303
    assert web.request("GET", "/", Cookie=entered.headers["set-cookie"].split(";")[0]).status == 200
    assert web.get("/").status == 200


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
        ("models.large.api_key_command", "touch /tmp/x", 403),
        ("models.large.base_url", "http://127.0.0.1:1/v1", 403),
        ("executors.codex.command", "/tmp/x", 403),
        ("deploy.x.backend", "touch /tmp/x", 403),
        ("mcp.servers.x.command", "/tmp/x", 403),
        ("remote.ntfy_url", "http://127.0.0.1:1", 403),
        ("dials.permission_profile", "unrestricted", 403),
        ("checkpoints.enabled", "false", 403),
        ("runs.record", "false", 403),
        ("repair.auto_transition", "auto", 403),
        ("limits.max_cost", "2.5", 303),
        ("prompt.enter", "newline", 303),
        ("prompt.enter", '"newline"\n[sandbox]\nuse = "none"', 400),
        ("limits.max_cost", "1.5\n[sandbox]\nuse = 1", 400),
        ("limits.max_cost", "lots", 400),
        ("limits.max_cost", "inf", 400),
        ("limits.max_turns", "9" * 5000, 400),
        ("compression.share", "nan", 400),
        ("compression.max_tokens", "-1", 400),
        ("no.such", "1", 400),
    ],
)
def test_what_reaches_outside_the_sandbox_is_not_set_from_a_page(web: Web, key: str, value: str, status: int) -> None:
    assert web.post(f"{web.project}settings", key=key, value=value).status == status
    assert web.post(f"{web.project}settings", key=key, reset="1").status in (303, status)


def test_a_setting_is_shown_as_it_is_typed_and_one_for_the_terminal_with_the_way_there(web: Web) -> None:
    page = web.get(f"{web.project}settings").text
    assert "&quot;" not in page.split('id="set-prompt.enter"')[1].split("</form>")[0]
    closed = page.split('id="set-routing.smart"')[1].split("</form>")[0]
    assert "<code>builtin</code>" in closed
    assert "changed in your terminal only" in closed
    assert "<button" not in closed
    assert "/settings in a session" in page
    refused = web.post(f"{web.project}settings", key="routing.smart", value="x")
    assert "/settings in a session" in refused.json()["error"]


def test_a_read_only_link_shows_nothing_that_can_hold_a_token_in_the_settings(quintet: Program) -> None:
    address, argument = "http://127.0.0.1:9/v1?key=CANARY1", "--token=CANARY2"
    quintet.settings(
        f'[models.m]\nbase_url = "{address}"\nmodel = "x"\n[mcp.servers.s]\ncommand = "x"\nargs = ["{argument}"]\n'
    )
    with serving(quintet, "--viewer-token") as web:
        for page, shown in (("settings", ("CANARY1", "CANARY2")), ("models", ("CANARY1",))):
            for_owner, for_viewer = (web.get(web.project + page, token).text for token in (web.token, web.viewer_token))
            assert all(one in for_owner for one in shown)
            assert "CANARY" not in for_viewer and ("shown to the owner only" in for_viewer) == (page == "settings")


def test_a_page_that_is_not_there_says_so(web: Web) -> None:
    answer = web.get("/nowhere")
    assert answer.status == 404 and "There is no such page." in answer.text


def test_every_answer_has_the_headers_that_protect_a_page(web: Web) -> None:
    for answer in (web.get("/"), web.request("GET", "/"), web.anywhere("GET", "/static/app.js"), web.get("/nowhere")):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    forensics = web.get(f"{web.new()}forensics").headers
    assert "frame-ancestors 'none'" in forensics["content-security-policy"]
    assert forensics["x-frame-options"] == "DENY"


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
