from collections.abc import Iterator

import pytest

from tests.features.remote.bot_api import TOKEN, BotApi, bot_api
from tests.features.remote.sessions import paired


@pytest.fixture
def api(private: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[BotApi]:
    """Telegram on loopback, and an account that is paired."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", TOKEN)
    paired()
    with bot_api() as made:
        yield made
