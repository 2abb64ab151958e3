"""Settings of what is told to systems outside."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from quintet.domain.settings.meta import TRUSTED, setting


class ObservabilitySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is sent to other systems about sessions; the standard OTEL_ variables set where."""

    otel: Annotated[
        bool, setting("send turns, requests and calls as OpenTelemetry spans; needs quintet[otel]", TRUSTED)
    ] = False
    otel_content: Annotated[bool, setting("include messages and the arguments and results of calls", TRUSTED)] = False
