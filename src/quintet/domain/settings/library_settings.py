"""Settings of the library."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, about


class LibrarySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The documents of `quintet library`."""

    embeddings: Annotated[
        str,
        about("model of [models] that makes vectors, so that pages are found by meaning too; empty: none", TRUSTED),
    ] = ""
