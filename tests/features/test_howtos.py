"""Pages of the features are run as they are printed, against servers on loopback."""

import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import pexpect
import pytest

from tests.features.web_ui.serving import end
from tests.hub import hub, pull
from tests.loopback import Answer, Asked, serving
from tests.mcp_servers.oauth_http import oauth_http
from tests.pages import ROOT, Reader, blocks, fits, in_the_tutorials_project
from tests.surfaces.program import Program

SIGN_IN = """<!doctype html><title>Sign in</title><h1>Sign in</h1><form>
<div><input aria-label="User name" value="ada" required></div>
<div><input type="password" aria-label="Password" value="hush-hush"></div>
<div><input type="checkbox" aria-label="Keep me signed in" checked></div>
<div><select aria-label="Country"><option selected>Austria</option><option>Belgium</option></select></div>
<div><button>Sign in</button> <a href="/forgot">Forgot it?</a></div></form>
<iframe title="Help" src="/help"></iframe>"""
HELP = '<title>Help</title><a href="/contact">Contact</a>'
DOCS_SERVER = '''
from mcp.server import MCPServer

server = MCPServer("docs")


@server.tool()
def find(words: str) -> str:
    """Find pages."""
    return f"1 page about {words}"


server.run()
'''


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return in_the_tutorials_project(tmp_path)


def site(asked: Asked) -> Answer:
    pages = {"/": SIGN_IN, "/login": SIGN_IN, "/help": HELP}
    return Answer(pages.get(asked.path, ""), headers={"content-type": "text/html; charset=utf-8"})


@pytest.mark.system("chromium")
def test_browser(reader: Reader) -> None:
    page = "docs/howto/browser.md"
    (shown,) = blocks(page, "text")
    doctor, by_hand = blocks(page, "sh")
    with serving(site) as server:
        port = str(server.port)
        reader.sets(f'[web]\nallow_hosts = ["localhost:{port}", "127.0.0.1:{port}"]\n')
        call = by_hand.replace("localhost:8000", f"127.0.0.1:{port}/login")
        printed = reader.runs(call)
        assert fits(shown.replace(":8000", f":{port}").splitlines(), printed.splitlines(), reader.root), printed
    (look,) = re.findall(r"^quintet tools doctor", doctor, re.M)
    assert re.search(r"^browser_navigate +ready", reader.runs(look), re.M)


def test_web(reader: Reader) -> None:
    call, look = (line.partition("  #")[0] for line in blocks("docs/howto/web.md", "sh")[0].splitlines())
    with serving(site) as server:
        (settings,) = blocks("docs/howto/web.md", "toml")
        reader.sets(settings.replace("localhost:8000", f"localhost:{server.port}"))
        printed = reader.runs(re.sub(r"https://[^\"]+", f"http://localhost:{server.port}/", call))
    assert "Sign in" in printed and "Forgot it?" in printed, printed
    assert re.search(r"^web_get_contents +ready", reader.runs(look), re.M)


def test_mcp(reader: Reader) -> None:
    look, _, rules, call, serve = blocks("docs/howto/mcp.md", "bash")
    (reader.root / "docs_server.py").write_text(DOCS_SERVER)
    named = {"docs": {"command": sys.executable, "args": ["docs_server.py"]}}
    (reader.root / ".mcp.json").write_text(json.dumps({"mcpServers": named}))
    assert "until you trust this folder" in reader.runs("quintet mcp list")
    assert "docs_server.py" in reader.runs("quintet trust --yes")
    printed = reader.runs(look)
    assert re.search(r"^docs +ready", printed, re.M) and "Find pages." in printed and "words" in printed, printed
    assert "not run" in (said := reader.runs(call)) or "needs approval" in said, said
    assert re.fullmatch(rf"(rule-\w+\n){{{len(rules.splitlines())}}}", reader.runs(rules))
    assert "1 page about sandbox" in reader.runs(call)
    hello = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    hello += '"capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}}'
    line = serve.splitlines()[0].partition("  #")[0]
    assert '"serverInfo"' in reader.runs(f"(echo '{hello}'; sleep 2) | {line}")


def test_mcp_logs_in_and_out(reader: Reader) -> None:
    _, login, *_ = blocks("docs/howto/mcp.md", "bash")
    with oauth_http() as guarded:
        reader.sets(f'[mcp.servers.issues]\nurl = "{guarded.url}/mcp"\n')
        child = reader.opens(login)
        child.expect(r"Open this page, which is at 127\.0\.0\.1:\d+, and log in there:\s+(http://\S+)\s")
        assert isinstance(child.match, re.Match)
        with urllib.request.urlopen(child.match[1], timeout=30) as page:
            assert page.read().decode() == "You are logged in. You can close this page."
        child.expect_exact("logged in to issues: ")
        child.expect_exact("the login for issues is forgotten here")
        child.expect(pexpect.EOF)
        child.close()
    assert child.exitstatus == 0 and guarded.asked == ["authorization_code"]
    assert "there is no login for issues" in reader.runs(login.splitlines()[1])


def test_mcp_shows_the_file_that_other_agents_read(reader: Reader) -> None:
    brought, offered = blocks("docs/howto/mcp.md", "json")
    (reader.root / ".mcp.json").write_text(brought)
    reader.runs("quintet trust --yes")
    assert re.search(r"^docs +stdio +docs-server", reader.runs("quintet mcp list"), re.M)
    (server,) = json.loads(offered)["mcpServers"].values()
    assert server["args"][0] in (ROOT / "docs/reference/cli.md").read_text()


def test_forge(reader: Reader) -> None:
    by_number, by_address = blocks("docs/howto/forge.md", "text")[0].splitlines()
    with hub() as forge:
        forge.pulls = {12: pull(12)}
        reader.sets(f'[forge]\nurl = "{forge.server.url}"\n')
        reader.runs(f"git remote add origin {forge.server.url}/ada/tea.git")
        reader.runs(f"quintet -p '{by_number}'")
        assert "/repos/ada/tea/pulls/12" in forge.server.paths
        printed = reader.runs(f"quintet -p '{by_address}'")
    assert "github.com" in printed and "127.0.0.1" in printed, printed


def test_deploy(reader: Reader) -> None:
    (permit,) = blocks("docs/howto/deploy.md", "bash")
    (reader.root / "dist").mkdir()
    assert reader.runs(permit).startswith("ask      using the network needs approval in profile trusted")
    reader.sets(blocks("docs/howto/deploy.md", "toml")[0])
    target = permit.replace('"dist"', '"dist", "app": "preview"')
    assert "npx netlify-cli deploy --dir ." in reader.runs(target) or "network" in reader.runs(target)
    live = permit.replace('"frontend", "dir": "dist"', '"backend", "app": "live"')
    assert reader.runs(live).startswith("ask      publishing always needs approval")


def test_library(reader: Reader) -> None:
    page = "docs/howto/library.md"
    _, search = blocks(page, "text")
    docs = reader.root / "docs"
    docs.mkdir()
    passage = re.findall(r"^    …(.*)…$", search, re.M)[0]
    (docs / "handbook.md").write_text(f"# The SQLite handbook\n\n{passage}\n")
    assert "The SQLite handbook" in reader.runs("quintet library add docs/")
    printed = reader.runs(search.splitlines()[0].removeprefix("$ "))
    assert "The SQLite handbook" in printed and passage in printed, printed
    for command in re.findall(r"`(quintet library [a-z]+)[^`]*`", (ROOT / page).read_text()):
        document = " 1" if command.split()[-1] in ("show", "deactivate", "remove") else ""
        if command.split()[-1] not in ("add", "remove"):
            assert reader.runs(f"{command}{document} > /dev/null && echo fine") == "fine\n", command
    reader.runs("quintet library activate 1")
    (ask,) = blocks(page, "bash")
    answer = json.loads(reader.runs(ask))
    assert set(answer) == {"answer", "citations", "excerpts", "actions_taken"}


def test_in_the_browser(quintet: Program) -> None:
    _, scripts, _ = blocks("docs/howto/in-the-browser.md", "sh")
    viewer, told = (line.partition("  #")[0].strip() for line in scripts.splitlines())
    (fields,) = re.findall(r"# (\{.*\}) in one line", scripts)
    process = quintet.start(*told.split()[1:], "--port", "0")
    try:
        assert process.stdout
        printed = json.loads(process.stdout.readline())
        assert list(printed) == re.findall(r'"(\w+)":', fields)
        assert opened(printed["link"]) == 200
        assert opened(printed["url"]) == 401 and opened(printed["url"], printed["token"]) == 200
    finally:
        end(process)
    process = quintet.start(*viewer.split()[1:], "--port", "0")
    try:
        assert process.stdout
        first, second = (link_in(process.stdout) for _ in range(2))
        assert first != second and opened(first) == opened(second) == 200
    finally:
        end(process)


def link_in(lines: Iterable[str]) -> str:
    """The link of the next line that has one."""
    return next(found[0] for line in lines if (found := re.search(r"http://127\S+", line)))


def opened(link: str, token: str = "") -> int:
    """How the server answers who opens a link, and keeps its cookie."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with browser.open(urllib.request.Request(link, headers=headers), timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
