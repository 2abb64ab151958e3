"""Settings of commits."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from quintet.domain.settings.meta import OWN, setting


class GitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How commits are made where git is set to sign them."""

    sign: Annotated[
        Literal["off", "ask"],
        setting(
            "off: no key is used; ask: git_commit_signed makes a signed commit, and asks you each time for the one "
            "signature, which your gpg or ssh-keygen makes outside the sandbox",
            OWN,
        ),
    ] = "off"
