"""Settings of the library."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.base.wording import did_you_mean
from quintet.domain.settings.meta import TRUSTED, setting
from quintet.domain.settings.settings import Settings


class LibrarySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The documents of `quintet library`."""

    embeddings: Annotated[
        str,
        setting(
            "model of [models] that makes embeddings, so that pages are also found by meaning; empty: none", TRUSTED
        ),
    ] = ""

    def problem(self, at: str, settings: Settings) -> str:
        vectors = self.embeddings
        if not vectors or vectors in settings.models:
            return ""
        return f'{at}.embeddings = "{vectors}": it is not in [models].{did_you_mean(vectors, settings.models)}'
