"""Settings of remote. All of them are the user's own: no project says where a session's questions go."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.settings.meta import OWN, setting


class RemoteDetail(StrEnum):
    NONE = "none"
    SUMMARY = "summary"
    FULL = "full"


class RemoteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Channels for a session's questions and your answers; `quintet remote pair` pairs one."""

    auto: Annotated[bool, setting("turn remote on in every session; otherwise use /remote on", OWN)] = False
    detail: Annotated[
        RemoteDetail,
        setting("what is sent: none (only that something happened), summary (no diffs or long texts), full", OWN),
    ] = RemoteDetail.SUMMARY
    max_profile: Annotated[
        PermissionProfile, setting("the highest permission profile that can be set through a channel", OWN)
    ] = PermissionProfile.NORMAL
    link_minutes: Annotated[float, setting("minutes that an answer link can be used", OWN)] = 60.0
    links_url: Annotated[
        str, setting("address of `quintet web` that your phone can reach, for answer links; empty: no links", OWN)
    ] = ""
    telegram_url: Annotated[str, setting("address of the Telegram Bot API", OWN)] = "https://api.telegram.org"
    telegram_token_env: Annotated[str, setting("secret or variable that holds the bot's token", OWN)] = (
        "TELEGRAM_BOT_TOKEN"
    )
    matrix_url: Annotated[str, setting("address of the Matrix homeserver that Quintet's account is on", OWN)] = ""
    matrix_token_env: Annotated[str, setting("secret or variable that holds that account's access token", OWN)] = (
        "MATRIX_ACCESS_TOKEN"
    )
    ntfy_url: Annotated[str, setting("address of the ntfy server", OWN)] = "https://ntfy.sh"
    ntfy_token_env: Annotated[
        str, setting("secret or variable that holds an ntfy access token, if it needs one", OWN)
    ] = "NTFY_TOKEN"
    apprise_env: Annotated[
        str, setting("secret or variable that holds apprise addresses, separated by spaces", OWN)
    ] = "APPRISE_URLS_SECRET"
