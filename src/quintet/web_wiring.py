"""The web and the forge for a session: put together when first asked for, so that no other start pays for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from quintet.domain.outside_ports import Forge, Web
from quintet.domain.settings import Settings
from quintet.late_wiring import Late


def make_web(settings: Settings) -> Web:
    def make() -> Web:
        from quintet.adapters.open_web import OpenWeb

        return OpenWeb(settings.web)

    return cast(Web, Late(make))


def make_forge(settings: Settings, learn: Callable[[str], None]) -> Forge:
    """`learn` is told the token, which nobody else is."""

    def make() -> Forge:
        from quintet.adapters.github import GitHub

        return GitHub(settings.forge, learn=learn)

    return cast(Forge, Late(make))
