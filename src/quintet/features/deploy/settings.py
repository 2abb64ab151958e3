"""Settings of the places that a project is deployed to."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting


class DeploySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One target: the shell lines that deploy to it, run in the folder that is deployed."""

    frontend: Annotated[str, setting("shell line that deploys pages; empty: none", TRUSTED)] = ""
    backend: Annotated[str, setting("shell line that deploys an app", TRUSTED)] = ""
    logs: Annotated[str, setting("shell line that prints its log and ends", TRUSTED)] = ""
    expose: Annotated[str, setting("shell line that gives it an address others can reach", TRUSTED)] = ""
    production: Annotated[bool, setting("whether it is public: then each deployment needs approval", TRUSTED)] = True
    timeout: Annotated[float, setting("seconds before such a line is killed", TRUSTED)] = 600.0
