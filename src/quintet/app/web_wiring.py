"""The web and the forge for a session: put together when first asked for, so that no other start pays for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from quintet.app.late_wiring import Late
from quintet.domain.ports.web_forge_secrets import Forge, Web
from quintet.domain.settings.settings import Settings


def make_web(settings: Settings) -> Web:
    def make() -> Web:
        from quintet.features.web_search.web import OpenWeb

        return OpenWeb(settings.web)

    return cast(Web, Late(make))


def make_forge(settings: Settings, learn: Callable[[str], None]) -> Forge:
    """`learn` is told the token, which nobody else is."""

    def make() -> Forge:
        from quintet.features.forge.github import GitHub

        return GitHub(settings.forge, learn=learn)

    return cast(Forge, Late(make))
