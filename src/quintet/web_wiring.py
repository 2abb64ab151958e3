"""The web and the forge for a session: put together when first asked for, so that no other start pays for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from quintet.domain.outside_ports import Forge, Web
from quintet.domain.settings import Settings


class _Late:
    """Stands for what is not made before something of it is wanted."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def make_web(settings: Settings) -> Web:
    def make() -> Web:
        from quintet.adapters.open_web import OpenWeb

        return OpenWeb(settings.web)

    return cast(Web, _Late(make))


def make_forge(settings: Settings, learn: Callable[[str], None]) -> Forge:
    """`learn` is told the token, which nobody else is."""

    def make() -> Forge:
        from quintet.adapters.github import GitHub

        return GitHub(settings.forge, learn=learn)

    return cast(Forge, _Late(make))
