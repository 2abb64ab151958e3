"""web_search and web_get_contents against loopback servers: one shape for every engine, and walls that hold."""

import io
import json
import os
import re
import socket
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import INTERACTIVE
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.settings import WebSettings
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.web_search.web import OpenWeb
from tests.loopback import Answer, Asked, Server, serving
from tests.tools.calling import Caller

PARAGRAPHS = "".join(f"<p>Paragraph {n} of the story about tea, water and patience, long enough.</p>" for n in range(6))
ARTICLE = (
    "<html><head><title>Tea &amp; time</title><script>alert(1)</script></head><body>"
    f"<nav><a href=/>Home</a> <a href=/about>About us</a></nav><article><h1>How to brew</h1>{PARAGRAPHS}</article>"
    "<footer>Nobody's copyright</footer></body></html>"
)


def web(root: Path, server: Server | None = None, **settings: Any) -> Caller:
    """The tools, with one loopback server allowed."""
    allow = (f"127.0.0.1:{server.port}",) if server else ()
    return Caller(root, web_search=OpenWeb(WebSettings(**{"allow_hosts": allow, "seconds": 60.0, **settings})))


def article(asked: Asked) -> Answer:
    return Answer(ARTICLE, packed=True)


# ── pages


def test_a_page_is_read_as_its_main_text(repo: Path) -> None:
    with serving(article) as server:
        said = web(repo, server).ok("web_get_contents", urls=[f"{server.url}/tea"])
    assert said.startswith(f"# Tea & time\n{server.url}/tea\n\n# How to brew\n\nParagraph 0 of the story")
    assert "Paragraph 5" in said and "About us" not in said and "copyright" not in said and "alert" not in said


def test_several_pages_come_in_the_order_asked_for_and_a_bad_one_says_why(repo: Path) -> None:
    def answer(asked: Asked) -> Answer:
        if asked.path == "/gone":
            return Answer("no", 404)
        if asked.path == "/image":
            return Answer(b"\x89PNG\0\0", headers={"content-type": "image/png"})
        return Answer(f"plain words of {asked.path}", headers={"content-type": "text/plain"})

    with serving(answer) as server:
        urls = [f"{server.url}/{name}" for name in ("a", "gone", "image", "b")]
        result = web(repo, server)("web_get_contents", urls=[*urls, urls[0]])
    parts = result.content.split("\n\n---\n\n")
    assert parts[0] == f"{urls[0]}\n\nplain words of /a" and parts[3] == f"{urls[3]}\n\nplain words of /b"
    assert parts[1] == f"{urls[1]}: the server answered 404"
    assert parts[2] == f"{urls[2]}: image/png, 6 bytes: not text"
    assert (result.status, result.summary) == (CallStatus.OK, "2 of 4 pages read")


def test_a_long_page_is_cut_and_the_whole_is_in_a_file_that_can_be_read(repo: Path) -> None:
    long = "".join(f"line {n}\n" for n in range(20_000))
    with serving(lambda asked: Answer(long, headers={"content-type": "text/plain"})) as server:
        tools = web(repo, server)
        said = tools.ok("web_get_contents", urls=[f"{server.url}/long"])
    assert len(said) < 41_000
    where = said.rpartition("Read the full page in ")[2].rstrip(")")
    assert f"({len(long) - 40_000} characters omitted" in said
    assert Path(where).read_text() == long and os.stat(where).st_mode & 0o777 == 0o600
    assert tools.verdict("Read", INTERACTIVE, file_path=where) is Verdict.ALLOW


def test_a_pdf_is_read_page_by_page(repo: Path) -> None:
    with serving(
        lambda asked: Answer(pdf("Tea in chapter one"), headers={"content-type": "application/pdf"})
    ) as server:
        said = web(repo, server).ok("web_get_contents", urls=[f"{server.url}/tea.pdf"])
    assert "[page 1]\nTea in chapter one" in said


def test_a_pdf_that_is_none_says_so(repo: Path) -> None:
    with serving(lambda asked: Answer(b"%PDF-1.7 and nothing else")) as server:
        said = web(repo, server).fails("web_get_contents", urls=[f"{server.url}/broken"])
    assert "a PDF that cannot be read" in said


def test_text_is_read_in_the_letters_it_is_written_in(repo: Path) -> None:
    def answer(asked: Asked) -> Answer:
        if asked.path == "/said":
            return Answer("Grüße".encode("latin-1"), headers={"content-type": "text/plain; charset=iso-8859-1"})
        page = f"<html><head><meta charset='windows-1252'></head><body><p>{'Grüße an alle. ' * 20}</p></body></html>"
        return Answer(page.encode("cp1252"), headers={"content-type": "text/html"})

    with serving(answer) as server:
        said = web(repo, server).ok("web_get_contents", urls=[f"{server.url}/said", f"{server.url}/written"])
    assert said.startswith(f"{server.url}/said\n\nGrüße\n") and "Grüße an alle." in said


def pdf(text: str) -> bytes:
    """A PDF of one page, written by hand."""
    stream = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start)
    return out.getvalue()


# ── walls


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_a_server_of_this_machine_is_not_asked_however_it_is_written(repo: Path, host: str) -> None:
    with serving(article) as server:
        said = web(repo).fails("web_get_contents", urls=[f"http://{host}:{server.port}/"])
    assert "loopback address: not fetched" in said and "allow_hosts" in said
    assert server.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_the_setting_that_is_proposed_lets_the_address_be_asked(repo: Path, host: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://{host}:{nobody.getsockname()[1]}/"
        (proposed,) = re.findall(r'allow_hosts = \["(.+?)"\]', web(repo).fails("web_get_contents", urls=[url]))
        assert "not fetched" not in web(repo, allow_hosts=(proposed,)).fails("web_get_contents", urls=[url])


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fe80::1]/", "http://0.0.0.0/"]
)
def test_addresses_of_the_own_network_are_refused(repo: Path, url: str) -> None:
    assert "address: not fetched" in web(repo).fails("web_get_contents", urls=[url])


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "begins with http:// or https://"),
        ("gopher://example.com", "begins with http:// or https://"),
        ("http://user:word@example.com/", "it contains a login"),
        ("http:///nowhere", "it names no host"),
        ("http://example.com:99999/", "not an address that can be fetched"),
        ("http://no-such-host.invalid/", "no such host"),
    ],
)
def test_what_is_no_address_is_said(repo: Path, url: str, why: str) -> None:
    assert why in web(repo).fails("web_get_contents", urls=[url])


def test_a_redirect_is_checked_like_the_first_address(repo: Path) -> None:
    with serving(article) as inner:

        def elsewhere(asked: Asked) -> Answer:
            return Answer(status=302, headers={"location": f"http://127.0.0.1:{inner.port}/secret"})

        with serving(elsewhere) as outer:
            said = web(repo, outer).fails("web_get_contents", urls=[f"{outer.url}/"])
    assert "loopback address: not fetched" in said and inner.asked == [] and len(outer.asked) == 1


def test_redirects_are_followed_and_counted(repo: Path) -> None:
    def answer(asked: Asked) -> Answer:
        left = int(asked.path.strip("/"))
        return Answer(status=301, headers={"location": f"/{left - 1}"}) if left else Answer(ARTICLE)

    with serving(answer) as server:
        tools = web(repo, server, redirects=3)
        assert f"{server.url}/0\n" in tools.ok("web_get_contents", urls=[f"{server.url}/3"])
        assert "more than 3 redirects" in tools.fails("web_get_contents", urls=[f"{server.url}/4"])


def test_a_name_is_looked_up_once_and_connected_to_where_it_led_then(repo: Path) -> None:
    """No lookup but the judged one: the name leads to the server only by it, and a second lookup would lead away."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    with serving(article) as server:
        settings = WebSettings(allow_hosts=(f"127.0.0.1:{server.port}", "127.0.0.1/32"), seconds=60.0)
        tools = Caller(repo, web_search=OpenWeb(settings, resolve))
        tools.ok("web_get_contents", urls=[f"http://pinned.test:{server.port}/"])
        assert asked == ["pinned.test"]
        assert server.asked[0].headers["host"] == f"pinned.test:{server.port}"
        said = tools.fails("web_get_contents", urls=[f"http://pinned.test:{server.port}/"])
    assert "pinned.test leads to 10.0.0.1, which is a private address" in said and len(server.asked) == 1


def test_a_host_with_one_private_address_among_others_is_refused(repo: Path) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["93.184.215.14", "192.168.0.7"]

    tools = Caller(repo, web_search=OpenWeb(WebSettings(), resolve))
    assert "leads to 192.168.0.7" in tools.fails("web_get_contents", urls=["http://mixed.test/"])


def test_a_packed_bomb_is_unpacked_as_far_as_the_bound(repo: Path) -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(bomb.compress(b"tea " * 250_000) for _ in range(60)) + bomb.flush()
    fields = {"content-type": "text/plain", "content-encoding": "gzip"}
    with serving(lambda asked: Answer(data, headers=fields)) as server:
        said = web(repo, server, max_bytes=100_000).ok("web_get_contents", urls=[f"{server.url}/bomb"])
    assert "only its first 100000 bytes were read; 60000 characters omitted" in said


def test_a_page_larger_than_the_bound_is_read_to_the_bound(repo: Path) -> None:
    with serving(lambda asked: Answer(b"x" * 3_000_000, headers={"content-type": "text/plain"})) as server:
        said = web(repo, server, max_bytes=1000).ok("web_get_contents", urls=[f"{server.url}/big"])
    assert "x" * 1000 in said and "x" * 1001 not in said and "only its first 1000 bytes were read" in said


def test_a_server_that_says_nothing_is_given_up(repo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as quiet:
        port = quiet.getsockname()[1]
        tools = Caller(repo, web_search=OpenWeb(WebSettings(allow_hosts=(f"127.0.0.1:{port}",), seconds=0.3)))
        said = tools.fails("web_get_contents", urls=[f"http://127.0.0.1:{port}/"])
    assert "no answer in 0.3 s" in said


# ── searching

ROWS = [
    ("https://docs.python.org/3/", "Python docs"),
    ("https://evil.test/python", "Spam"),
    ("https://pypi.org/", "PyPI"),
]


def engines(asked: Asked) -> Answer:
    """Brave, Exa and SearXNG at their own paths."""
    if asked.path == "/res/v1/web/search":
        rows = [
            {
                "url": url,
                "title": title,
                "description": f"about <strong>{title}</strong>",
                "page_age": "2026-05-01T10:00:00",
            }
            for url, title in ROWS
        ]
        return Answer({"web": {"results": rows}})
    if asked.path == "/search" and asked.method == "POST":
        rows = [
            {"url": u, "title": t, "highlights": [f"about {t}"], "publishedDate": "2026-05-01T00:00:00Z"}
            for u, t in ROWS
        ]
        return Answer({"results": rows})
    if asked.path == "/search":
        return Answer(
            {"results": [{"url": u, "title": t, "content": f"about {t}", "publishedDate": None} for u, t in ROWS]}
        )
    return Answer("not here", 404)


@pytest.mark.parametrize("engine", ["brave", "exa", "searxng"])
def test_every_engine_answers_in_one_shape(repo: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key")
    monkeypatch.setenv("EXA_API_KEY", "exa-key")
    with serving(engines) as server:
        tools = web(repo, None, search=engine, **{f"{engine}_url": server.url})
        result = tools("web_search", query="python", exclude_domains=["evil.test"])
    dated = "" if engine == "searxng" else " (2026-05-01)"
    assert result.content == (
        f"1. Python docs{dated}\n   https://docs.python.org/3/\n   about Python docs\n\n"
        f"2. PyPI{dated}\n   https://pypi.org/\n   about PyPI"
    )
    assert result.summary == f"2 results, {engine}"


def test_each_engine_is_asked_in_its_own_words(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key")
    monkeypatch.setenv("EXA_API_KEY", "exa-key")
    wanted: dict[str, Any] = {
        "query": "python docs",
        "num_results": 7,
        "include_domains": ["python.org", "pypi.org"],
        "start_published_date": "2026-01-02",
    }
    with serving(engines) as server:
        for engine in ("brave", "exa", "searxng"):
            web(repo, None, search=engine, **{f"{engine}_url": server.url}).ok("web_search", **wanted)
    brave, exa, searxng = server.asked
    worded = "python docs (site:python.org OR site:pypi.org)"
    assert (brave.query["q"], brave.query["count"]) == ([worded], ["7"])
    assert (
        brave.query["freshness"][0].startswith("2026-01-02to") and brave.headers["x-subscription-token"] == "brave-key"
    )
    assert exa.headers["x-api-key"] == "exa-key" and exa.json["query"] == "python docs"
    assert exa.json["includeDomains"] == ["python.org", "pypi.org"]
    assert exa.json["startPublishedDate"] == "2026-01-02T00:00:00.000Z"
    assert (searxng.query["q"], searxng.query["format"]) == ([worded], ["json"])


def test_results_of_unknown_age_are_kept_and_said(repo: Path) -> None:
    with serving(engines) as server:
        tools = web(repo, None, searxng_url=server.url)
        said = tools.ok("web_search", query="python", start_published_date="2026-01-02")
    assert said.endswith("(3 results without a date may be older)")


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "refuses the key (401)"), (429, "limits the rate of requests (429)"), (500, "Brave answered 500: broken")],
)
def test_an_engine_that_refuses_is_quoted(repo: Path, monkeypatch: pytest.MonkeyPatch, status: int, words: str) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key")
    with serving(lambda asked: Answer("broken", status)) as server:
        assert words in web(repo, None, brave_url=server.url).fails("web_search", query="tea")


def test_what_an_engine_lacks_is_said_with_the_fix(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "export BRAVE_API_KEY=" in web(repo, None, search="brave").fails("web_search", query="tea")
    assert "searxng_url" in web(repo, None, search="searxng").fails("web_search", query="tea")
    with serving(lambda asked: Answer("forbidden", 403)) as server:
        assert "search.formats" in web(repo, None, searxng_url=server.url).fails("web_search", query="tea")
    with serving(lambda asked: Answer("<html>")) as server:
        assert "did not answer with JSON" in web(repo, None, searxng_url=server.url).fails("web_search", query="tea")


def test_an_engine_without_a_network_says_what_else_there_is(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real ddgs, in its own process, behind a proxy that nobody runs."""
    pytest.importorskip("ddgs", reason="needs the extra quintet[web]")
    monkeypatch.setenv("DDGS_PROXY", "http://127.0.0.1:9")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    said = web(repo, None, search="ddgs", seconds=60.0).fails("web_search", query="tea")
    assert "the search failed" in said and "BRAVE_API_KEY" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": " "}, "query is empty"),
        ({"query": "x", "start_published_date": "May"}, "YYYY-MM-DD"),
        ({"query": "x", "start_published_date": "2026-02-31"}, "YYYY-MM-DD"),
    ],
)
def test_a_search_for_nothing_is_refused(repo: Path, arguments: dict[str, Any], words: str) -> None:
    assert words in web(repo).fails("web_search", **arguments)


def test_s0_reading_the_web_is_unasked_at_every_profile(repo: Path) -> None:
    prepared = web(repo).prepare(
        "web_get_contents", json.dumps({"urls": ["http://example.com/etc/passwd"]}), INTERACTIVE
    )
    assert not hasattr(prepared, "content"), prepared
    assert prepared.decision.verdict is Verdict.ALLOW and prepared.decision.effects == ("fetch",)  # type: ignore[union-attr]
