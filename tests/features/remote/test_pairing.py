"""`quintet remote`: pairing as a real process beside a loopback server, listing, revoking, testing."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.features.remote.book import RemoteBook, folder
from quintet.features.remote.settings import RemoteSettings
from quintet.features.remote.values import Update, UpdateBatch
from tests.features.remote.bot_api import OWNER, STRANGER, TOKEN, BotApi, bot_api
from tests.features.remote.ntfy_server import ntfy_server
from tests.features.remote.sessions import paired
from tests.surfaces.program import Program
from tests.trusted import trust_now


def code_in(process: subprocess.Popen[str]) -> tuple[str, list[str]]:
    """The code that is shown, and the lines before it."""
    assert process.stdout
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(r"pair (\d{4}-\d{4}-\d{4})", line):
            return found[1], lines
    raise AssertionError(process.stderr.read() if process.stderr else "")


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    assert process.stdout and process.stderr
    out, err = process.stdout.read(), process.stderr.read()
    return process.wait(60), out, err


def wrong(code: str) -> str:
    return f"{(int(code[0]) + 1) % 10}{code[1:]}"


def telegram(quintet: Program, api: BotApi) -> None:
    quintet.settings(f'[remote]\ntelegram_url = "{api.url}"\n')
    done = quintet.run("secrets", "set", "TELEGRAM_BOT_TOKEN", "--file", stdin=TOKEN)
    assert done.code == 0, done.err


def test_an_account_is_paired_by_the_code_on_the_screen_and_no_other(quintet: Program) -> None:
    with bot_api() as api:
        telegram(quintet, api)
        process = quintet.start("remote", "pair", "telegram")
        code, lines = code_in(process)
        assert "Send this to @quintet_test_bot in a private chat, within 10 minutes:" in "".join(lines)
        for _ in range(5):
            api.says(f"pair {wrong(code)}", STRANGER)
        api.says(f"pair {code}", STRANGER)  # tried too often by then
        for number in range(30):
            api.says(f"pair {wrong(code)}", 7000 + number)
        api.says(f"pair {code}", OWNER, kind="group")
        api.says(f"pair {code}", 8000, forward_origin={})  # its sender was not shown it
        api.says(f"pair {code}", 8001, forward_date=0)
        api.says(f"pair {code}")
        status, out, err = ended(process)
        assert status == 0 and f"Paired with person {OWNER} (telegram/{OWNER})." in out, err
        assert api.texts(STRANGER) == [] and api.texts(-100) == [] and "Paired." in api.texts()[0]
        api.says(f"pair {code}", STRANGER)  # it holds once
        book = RemoteBook()
        assert [one.account for one in book.accounts()] == [str(OWNER)]
        book.close()
        assert TOKEN not in out + err


def test_who_was_paired_is_told_so_however_long_the_channel_takes(quintet: Program) -> None:
    with bot_api() as api:
        api.slow = 1.0
        telegram(quintet, api)
        process = quintet.start("remote", "pair", "telegram")
        code, _ = code_in(process)
        api.says(f"pair {code}")
        status, _, err = ended(process)
        assert status == 0 and "Paired." in api.texts()[0], err


def test_ntfy_is_paired_on_a_topic_that_only_the_screen_shows(quintet: Program) -> None:
    with ntfy_server() as ntfy:
        quintet.settings(f'[remote]\nntfy_url = "{ntfy.url}"\n')
        process = quintet.start("remote", "pair", "ntfy")
        code, lines = code_in(process)
        out, reply = re.findall(rf"{ntfy.url}/(quintet-[\w-]+)", "".join(lines))
        ntfy.publish(out, f"pair {code}")  # who reads along there could write there too
        ntfy.publish("quintet-guessed", f"pair {code}")
        ntfy.publish(reply, f"pair {code}")
        status, said, err = ended(process)
        assert status == 0 and "(ntfy/" in said and "Keep the second address secret" in err
        assert not [one for one in ntfy.messages if one["topic"] == out and reply in json.dumps(one)]
        (account,) = json.loads(quintet.run("remote", "list", "--json").out)["accounts"]
        assert reply not in account["account"]


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        (
            ("pair", "telegram"),
            "",
            "telegram needs the secret TELEGRAM_BOT_TOKEN\nquintet secrets set TELEGRAM_BOT_TOKEN",
        ),
        (("pair", "matrix"), "", "matrix needs remote.matrix_url"),
        (("pair", "telegramm"), "", 'channel "telegramm": not one of telegram, matrix, ntfy, apprise. Did you mean'),
        (("pair", "ntfy"), '[remote]\nntfy_url = "http://127.0.0.1:9"\n', "check remote.ntfy_url in your settings"),
        (("test",), "", "nothing is paired"),
        (("frobnicate",), "", 'remote "frobnicate": not one of pair, list, revoke, test'),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    quintet: Program, words: tuple[str, ...], settings: str, said: str
) -> None:
    quintet.settings(settings)
    done = quintet.run("remote", *words)
    assert done.code != 0 and said in done.err


def test_a_wrong_token_is_said_without_it(quintet: Program) -> None:
    with bot_api() as api:
        quintet.settings(f'[remote]\ntelegram_url = "{api.url}"\n')
        quintet.run("secrets", "set", "TELEGRAM_BOT_TOKEN", "--file", stdin="999:wrong-token-value")
        done = quintet.run("remote", "pair", "telegram")
        assert done.code == 1 and "Telegram does not accept the bot's token" in done.err
        assert "wrong-token-value" not in done.out + done.err


@pytest.mark.parametrize("trusted", [False, True])
def test_no_project_says_where_questions_go(quintet: Program, trusted: bool) -> None:
    """Neither its settings nor its env files, trusted or not."""
    hostile = '[remote]\nauto = true\nmax_profile = "unrestricted"\ndetail = "full"\ntelegram_url = "http://evil"\n'
    quintet.settings(hostile, project=True)
    (quintet.root / ".env").write_text("TELEGRAM_BOT_TOKEN=666:evil-bot-token\n")
    if trusted:
        trust_now(quintet.root)
    loaded = config.load(locate(str(quintet.root)))
    assert loaded.settings.table("remote", RemoteSettings) == RemoteSettings()
    assert sum("remote." in warning for warning in loaded.warnings) >= 1
    done = quintet.run("remote", "pair", "telegram")
    assert "telegram needs the secret TELEGRAM_BOT_TOKEN" in done.err


def test_what_is_kept_is_readable_by_the_user_alone(private: None) -> None:
    paired()
    for path in Path(folder()).iterdir():
        assert path.stat().st_mode & 0o077 == 0
    assert Path(folder()).stat().st_mode & 0o077 == 0


def test_apprise_is_told_where_it_is_installed_and_named_where_not(quintet: Program) -> None:
    done = quintet.run("secrets", "set", "APPRISE_URLS_SECRET", "--file", stdin="json://127.0.0.1:9/x")
    assert done.code == 0
    done = quintet.run("remote", "pair", "apprise")
    assert done.code != 0
    assert "not installed" in done.err or "not every apprise address accepted the message" in done.err


def test_a_session_without_remote_loads_nothing_of_it(repo: Path) -> None:
    program = (
        "import asyncio, sys\nfrom quintet.app.open import open_session\nfrom quintet.testing import ScriptedModel\n"
        "async def run():\n    async with open_session('.', model=ScriptedModel(['hi'])) as session:\n"
        "        await session.follow(await session.say('hello')).end()\nasyncio.run(run())\n"
        "print([name for name in sys.modules if name.startswith('quintet.features.remote.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=repo, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_book_of_two_processes_gives_each_update_once(private: None) -> None:
    paired()
    one, two = RemoteBook(), RemoteBook()
    one.enlist("q5-1", "shop")
    one.note_begun(one.accounts()[0], "q5-1", 4)
    batch = UpdateBatch((Update("7", str(OWNER), str(OWNER), "hi", order=5),), "7")
    assert len(one.file("telegram", batch, 0.0, "")) == 1 and two.file("telegram", batch, 0.0, "") == []
    assert [row.text for row in two.inbound("q5-1")] == ["hi"] and two.since("telegram") == "7"
    one.close()
    two.close()
