"""Settings of the index."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting


class IndexSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the project's code: `quintet index`."""

    retrieval: Annotated[
        bool, setting("begin a turn with the files and symbols that fit its input, where there is an index", TRUSTED)
    ] = True
