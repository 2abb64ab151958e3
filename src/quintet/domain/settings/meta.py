"""How a setting is described, and how far an untrusted project may go with it.

`free`: a project's own settings file may set it; `tighten`: only make it stricter; `trusted`: nothing, until its folder
is trusted; `own`: nothing, ever, for it is the user's to say.
"""

from __future__ import annotations

from msgspec import Meta

FREE, TIGHTEN, TRUSTED, OWN = "free", "tighten", "trusted", "own"


def setting(text: str, reach: str = TRUSTED) -> Meta:
    """Nothing is free unless it says so: the author of a project that was just opened may be hostile."""
    return Meta(description=text, extra={"reach": reach})
