"""Settings of what is told to systems outside."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting


class ObservabilitySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is told of sessions to systems outside; where to is said by the standard OTEL_ variables."""

    otel: Annotated[
        bool, setting("send turns, requests and calls as OpenTelemetry spans; needs quintet[otel]", TRUSTED)
    ] = False
    otel_content: Annotated[bool, setting("with what was said, the arguments and results of calls", TRUSTED)] = False
