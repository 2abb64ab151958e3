"""Puts the channels together from settings and secrets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from quintet.adapters.files.paths import Places
from quintet.adapters.secrets import store as secret_store
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.ports.offers import RemoteDevice, RemoteUse
from quintet.domain.tasks.health import Finding, FindingKind, HealthScope, Severity
from quintet.features.remote.book import RemoteBook, is_there
from quintet.features.remote.channel import NAMES, Channel
from quintet.features.remote.settings import RemoteSettings
from quintet.package import load

if TYPE_CHECKING:
    from quintet.adapters.settings.checkup import Checkup

INSTALL = "quintet install remote"


def own_secret(places: Places, name: str) -> str:
    """A secret of the user's own; what a project's env files call so is not looked at."""
    found = os.environ.get(name, "") or secret_store.kept(places).get(name, "")
    return (found or secret_store.in_keyring(places).get(name, "")).strip()


def make_channel(name: str, settings: RemoteSettings, places: Places, learn: Callable[[str], None]) -> Channel:
    """A channel by its name; what is missing for it is a UsageError that says so. `learn` is told each secret."""
    if name not in NAMES:
        raise UsageError(f'channel "{name}": not one of {", ".join(NAMES)}.{did_you_mean(name, NAMES)}')

    def secret(variable: str, *, needed: bool = True) -> str:
        value = own_secret(places, variable)
        if needed and not value:
            raise UsageError(f"{name} needs the secret {variable}", hint=f"quintet secrets set {variable}")
        for part in value.split():
            learn(part)
        return value

    return _MAKERS[name](settings, secret)


def _telegram(settings: RemoteSettings, secret: Callable[..., str]) -> Channel:
    return _channel("telegram:Telegram", settings.telegram_url, secret(settings.telegram_token_env))


def _matrix(settings: RemoteSettings, secret: Callable[..., str]) -> Channel:
    if not settings.matrix_url:
        raise UsageError("matrix needs remote.matrix_url, the address of your homeserver, in your settings")
    return _channel("matrix:Matrix", settings.matrix_url, secret(settings.matrix_token_env))


def _ntfy(settings: RemoteSettings, secret: Callable[..., str]) -> Channel:
    return _channel("ntfy:Ntfy", settings.ntfy_url, secret(settings.ntfy_token_env, needed=False))


def _apprise(settings: RemoteSettings, secret: Callable[..., str]) -> Channel:
    addresses = secret(settings.apprise_env)
    try:
        return _channel("apprise_out:Apprise", addresses)
    except ModuleNotFoundError:
        raise UsageError("the channel apprise needs apprise, which is not installed", hint=INSTALL) from None


def _channel(name: str, *words: str) -> Channel:
    """A session loads the channels that it uses."""
    made: Channel = load(name, __package__)(*words)
    return made


_MAKERS: dict[str, Callable[[RemoteSettings, Callable[..., str]], Channel]] = {
    "telegram": _telegram,
    "matrix": _matrix,
    "ntfy": _ntfy,
    "apprise": _apprise,
}


REMOTE_UNPAIRED = FindingKind(
    "REMOTE_UNPAIRED",
    Severity.WARNING,
    HealthScope.MACHINE,
    "`remote.auto` is on, and no channel is paired.",
    "quintet remote pair",
)
REMOTE_MISSING = FindingKind(
    "REMOTE_MISSING",
    Severity.WARNING,
    HealthScope.MACHINE,
    "A paired channel needs a package that is not installed.",
    "quintet install remote",
)
KINDS = (REMOTE_UNPAIRED, REMOTE_MISSING)


def channels_can_be_reached(checkup: Checkup) -> Iterator[Finding]:
    """For the doctor: what a paired channel lacks on this machine."""
    settings = checkup.settings.table("remote", RemoteSettings)
    if not settings.auto:
        return
    names = _paired()
    if not names:
        problem = "remote.auto is on, but no channel is paired"
        yield REMOTE_UNPAIRED.of("remote", problem)
    if "apprise" in names and find_spec("apprise") is None:
        problem = "the channel apprise is paired, but apprise is not installed"
        yield REMOTE_MISSING.of("quintet[remote]", problem, INSTALL)


def _paired() -> set[str]:
    """The channels that are paired; nothing is made to find out."""
    if not is_there():
        return set()
    book = RemoteBook()
    try:
        return {one.channel for one in book.accounts()}
    finally:
        book.close()


class PairedDevices:
    """What another surface shows of remote, and can end."""

    def __init__(self, book: RemoteBook) -> None:
        self._book = book

    def paired(self) -> list[RemoteDevice]:
        return [RemoteDevice(one.channel, one.account, one.name, one.paired) for one in self._book.accounts()]

    def sessions(self) -> list[RemoteUse]:
        return [RemoteUse(one.tag, one.session, one.project) for one in self._book.live()]

    def revoke(self, id: str) -> bool:
        channel, _, account = id.partition("/")
        return self._book.revoke(channel, account)

    def close(self) -> None:
        self._book.close()


def open_devices() -> PairedDevices:
    return PairedDevices(RemoteBook())
