"""Logging in to a server: by the user's own hand, at a port of this machine, kept for that server's address alone."""

import asyncio
import json
import stat
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from quintet.adapters.files.paths import locate
from quintet.domain.journal import protocol as p
from quintet.features.mcp.connection import connect
from quintet.features.mcp.conversation import Conversation
from quintet.features.mcp.logins import Logins
from quintet.features.mcp.oauth import Login, session_auth
from quintet.features.mcp.values import Lost, McpServer, ServerRefused
from quintet.testing import ScriptedModel, call
from tests.engine.driving import Driver, drive
from tests.mcp_servers.oauth_http import OAuth, oauth_http


@pytest.fixture
def guarded() -> Iterator[OAuth]:
    with oauth_http() as server:
        yield server


def visit(address: str) -> str:
    """What a browser would show."""
    try:
        with urllib.request.urlopen(address, timeout=30) as page:
            return str(page.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


class User:
    """A user with a browser, and a server that wants a login."""

    def __init__(self, guarded: OAuth, repo: Path) -> None:
        self.logins, self.root = Logins(locate(str(repo))), str(repo)
        self.server = McpServer("guarded", "your settings", url=f"{guarded.url}/mcp")
        self.shown: list[str] = []
        self.learnt: dict[str, str] = {}
        self.before: Callable[[str], None] = lambda address: None  # what happens before they open the page

    def log_in(self) -> list[str]:
        async def logged_in() -> list[str]:
            loop = asyncio.get_running_loop()
            browsing = []

            def browse(address: str) -> None:
                self.before(address)
                self.shown.append(visit(address))

            def show(address: str) -> None:
                browsing.append(loop.run_in_executor(None, browse, address))

            async with Login(self.server, self.logins, show, self.learnt.update) as provider:
                try:
                    return await self._tools(provider)
                finally:
                    await asyncio.gather(*browsing)

        return asyncio.run(logged_in())

    def use(self) -> list[str]:
        """As a session does."""

        async def used() -> list[str]:
            return await self._tools(session_auth(self.server, self.logins, self.learnt.update))

        return asyncio.run(used())

    async def _tools(self, auth: object) -> list[str]:
        made = await connect(self.server, self.root, None, auth)  # type: ignore[arg-type]
        try:
            return [one.name for one in (await Conversation(made).offer()).tools]
        finally:
            await made.close()


@pytest.fixture
def user(guarded: OAuth, repo: Path) -> User:
    return User(guarded, repo)


def test_a_login_registers_the_client_and_is_kept_for_sessions(user: User, guarded: OAuth) -> None:
    assert user.log_in() == ["whoami"]
    assert user.shown == ["You are logged in. You can close this page."]
    assert guarded.asked == ["authorization_code"]
    (registered,) = guarded.registered
    assert [urlsplit(one).hostname for one in registered["redirect_uris"]] == ["127.0.0.1"]
    assert user.use() == ["whoami"] and guarded.asked == ["authorization_code"]


def test_a_token_that_is_over_is_renewed_and_the_new_one_kept(user: User, guarded: OAuth) -> None:
    user.log_in()
    kept = user.logins.read(user.server)
    assert kept
    user.logins.write(user.server, msgspec.structs.replace(kept, until=1.0))
    assert user.use() == ["whoami"] and user.use() == ["whoami"]
    assert guarded.asked == ["authorization_code", "refresh_token"]


def test_what_is_kept_only_the_user_can_read_and_no_other_address_gets_it(user: User) -> None:
    user.log_in()
    file = Path(locate(user.root).config) / ".env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and "canary-access" in file.read_text()
    other = msgspec.structs.replace(user.server, url="http://127.0.0.1:1/mcp")
    assert user.logins.read(user.server) and user.logins.read(other) is None
    assert user.logins.read(msgspec.structs.replace(user.server, name="other")) is None
    assert set(user.learnt.values()) == {"canary-access-1", "canary-refresh"}  # hidden wherever it is said again
    assert user.logins.forget("guarded") and not user.logins.forget("guarded")
    assert "canary" not in file.read_text()


@pytest.mark.parametrize("query", ["code=stolen&state=wrong", "code=stolen", "error=access_denied&state=wrong"])
def test_an_answer_without_the_state_of_the_login_is_sent_away_and_ends_nothing(
    user: User, guarded: OAuth, query: str
) -> None:
    said = []

    def attack(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        said.extend(visit(one) for one in (f"{back}?{query}", back.replace("/callback", "/x") + "?state=wrong"))

    user.before = attack
    assert user.log_in() == ["whoami"]
    assert said == ["400 This is not the expected answer."] * 2


def test_a_refusal_is_said_and_nothing_is_kept(user: User, guarded: OAuth) -> None:
    guarded.answers = {"error": "access_denied", "error_description": "not today"}

    def no_code(address: str) -> None:
        query = parse_qs(urlsplit(address).query)
        visit(f"{query['redirect_uri'][0]}?error=access_denied&error_description=not+today&state={query['state'][0]}")

    user.before = no_code
    with pytest.raises((Lost, ServerRefused), match="the login was refused: access_denied not today"):
        user.log_in()
    assert not (kept := user.logins.read(user.server)) or not kept.tokens


def test_no_login_goes_to_a_page_that_is_not_https(user: User, guarded: OAuth) -> None:
    guarded.authorize = "http://login.example/authorize"
    with pytest.raises(
        (Lost, ServerRefused), match=r"http://login\.example is not https: no credentials are sent there"
    ):
        user.log_in()
    assert user.shown == []


def test_a_session_without_a_login_says_how_and_never_logs_in(repo: Path, guarded: OAuth, user: User) -> None:
    ask = call("mcp_tool", command="list_tools", server="guarded")

    async def script(driver: Driver) -> None:
        await driver.turn("go")

    settings = {"mcp.servers.guarded.url": user.server.url}
    driver = drive(repo, script, ScriptedModel([[ask], "done"]), settings=settings)
    assert "Log in with `quintet mcp login guarded`" in driver.of(p.ToolFinished)[0].content
    assert guarded.registered == [] and guarded.asked == []


def test_a_login_that_is_over_in_a_session_is_said_with_how_to_log_in(repo: Path, guarded: OAuth, user: User) -> None:
    user.log_in()
    ask = call("mcp_tool", command="list_tools", server="guarded")

    async def script(driver: Driver) -> None:
        await driver.turn("look")
        guarded.good = set()
        await driver.turn("look again")

    settings = {"mcp.servers.guarded.url": user.server.url}
    driver = drive(repo, script, ScriptedModel([[ask], "done", [ask], "done"]), settings=settings)
    first, second = (event.content for event in driver.of(p.ToolFinished))
    assert "whoami" in first
    assert "Log in with `quintet mcp login guarded`" in second
    assert guarded.asked == ["authorization_code"]


def test_a_key_that_is_no_longer_taken_in_a_session_is_said_with_how_to_log_in(
    repo: Path, guarded: OAuth, user: User
) -> None:
    ask = call("mcp_tool", command="call_tool", server="guarded", tool_name="whoami", tool_args={})
    guarded.good = {"of-the-settings"}

    async def script(driver: Driver) -> None:
        for _ in range(2):
            await driver.session.say("go")
            await driver.answer("y")
            await driver.until_type(p.TurnFinished)
            guarded.good = set()

    key = {"authorization": "Bearer of-the-settings"}
    settings = {"mcp.servers.guarded.url": user.server.url, "mcp.servers.guarded.headers": key}
    driver = drive(repo, script, ScriptedModel([[ask], "done"] * 2), settings=settings, person=True)
    first, second = (event.content for event in driver.of(p.ToolFinished))
    assert set(first) == {"*"}  # what it was told, which is a secret
    assert second.endswith(" Log in with `quintet mcp login guarded`, or give it `headers`."), second


def test_a_token_that_the_server_says_is_in_no_journal(repo: Path, guarded: OAuth, user: User) -> None:
    user.log_in()
    ask = call("mcp_tool", command="call_tool", server="guarded", tool_name="whoami", tool_args={})

    async def script(driver: Driver) -> None:
        await driver.session.say("go")
        await driver.answer("y")
        await driver.until_type(p.TurnFinished)

    settings = {"mcp.servers.guarded.url": user.server.url}
    driver = drive(repo, script, ScriptedModel([[ask], "done"]), settings=settings, person=True)
    assert driver.of(p.ToolFinished)[0].content.startswith("Bearer *")
    state = locate(str(repo)).state
    kept = b"".join(path.read_bytes() for path in Path(state).rglob("*") if path.is_file())
    assert b"canary" not in kept
    assert "canary" not in json.dumps(msgspec.to_builtins(driver.seen))
