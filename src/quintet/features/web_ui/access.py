"""Who may come in and what they may do there: tokens, roles, hosts, origins, attempts. Pure.

A token stands in a link once; the browser then holds a cookie that is made from it. Two things keep other pages out:
a request must name one of our own hosts, and one that changes something must come from one of our own pages.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256

from msgspec import Struct

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_WRONG = 10  # tokens from one address, within
WINDOW_SECONDS = 60.0
MOST_ADDRESSES = 10_000  # they are cheap to invent
SAFE_METHODS = frozenset({"GET", "HEAD"})

# The settings that can be changed from a page: how sessions look and think, and what ends them. All others, also those
# of features and those that are yet to come, are changed at the user's own terminal only: they decide what runs outside
# the sandbox, what needs approval, where requests and keys go, what is secret and what is kept. Whoever has the token
# would otherwise have the user's rights.
FROM_A_PAGE = frozenset(
    f"{table}.{name}"
    for table, names in {
        "dials": "work_mode run_control model_mode abort_active_tool",
        "routing": "fast_effort smart_effort deep_effort",
        "limits": "max_turns max_cost max_calls max_seconds input_bytes retries retry_seconds",
        "runs": "reasoning delivery_check qa_review qa_feedback qa_modes qa_controls",
        "compression": "share max_messages max_tokens keep_messages by",
        "tools": "presentation all_schemas swe_phases",
        "display": "color theme bell",
        "prompt": "enter rapid_paste keys",
        "doctor": "free_bytes",
        "retry": "max_attempts base_seconds step_seconds max_reset_seconds",
    }.items()
    for name in names.split()
)
HOW_THERE = "with /settings in a session there"
HOW_IN = "Open the link that `quintet web` printed: it contains the token."
NOT_THE_TOKEN = "That is not the token of this server."

# Nothing runs but our own scripts, nothing is loaded from elsewhere, and no page can put ours into a frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FORENSICS_POLICY = "sandbox allow-scripts; frame-ancestors 'none'"  # beside the one that stands in that page
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all a form would not name its origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def may_change(key: str) -> bool:
    """Whether a setting can be changed from a page."""
    return key in FROM_A_PAGE


class VisitorRole(StrEnum):
    OWNER = "owner"
    VIEWER = "viewer"  # sees everything, changes nothing


class Doors(Struct, frozen=True):
    """What a request is held against."""

    tokens: Mapping[VisitorRole, str]
    hosts: frozenset[str]  # as a Host header names them, in lower case
    secure: bool = False  # the browser comes by https

    @property
    def origins(self) -> frozenset[str]:
        scheme = "https" if self.secure else "http"
        return frozenset(f"{scheme}://{host}" for host in self.hosts)

    @property
    def below(self) -> str:
        """The path that the pages and the cookie lie below. A cookie goes to every port of a host, so to any other
        server on this machine that the browser visits; it does not go to paths that such a server cannot know."""
        return f"/{hmac.new(self.tokens[VisitorRole.OWNER].encode(), b'path', sha256).hexdigest()[:20]}"

    def role_of_token(self, token: str) -> VisitorRole | None:
        """Every token is compared, so that the time it takes tells nothing."""
        found = [role for role, known in self.tokens.items() if hmac.compare_digest(known.encode(), token.encode())]
        return found[0] if found else None

    def cookie(self, role: VisitorRole) -> str:
        digest = hmac.new(self.tokens[role].encode(), f"cookie {role}".encode(), sha256).hexdigest()
        return f"{role}.{digest}"

    def role_of_cookie(self, cookie: str) -> VisitorRole | None:
        found = [role for role in self.tokens if hmac.compare_digest(self.cookie(role).encode(), cookie.encode())]
        return found[0] if found else None


class Knock(Struct, frozen=True):
    """What a request says of itself."""

    method: str
    host: str
    origin: str = ""
    site: str = ""  # Sec-Fetch-Site
    cookie: str = ""
    bearer: str = ""


class Refusal(Struct, frozen=True):
    status: int
    text: str


def admitted(doors: Doors, knock: Knock) -> VisitorRole | Refusal:
    """The role in which a request is let in, or why it is not."""
    if knock.host.lower() not in doors.hosts:
        return Refusal(421, "This server does not answer to that host name.")
    if knock.site == "cross-site" or (knock.origin and knock.origin.lower() not in doors.origins):
        return Refusal(403, "This request comes from another site.")
    if knock.bearer:
        role = doors.role_of_token(knock.bearer)
    else:
        role = doors.role_of_cookie(knock.cookie)
        if role and knock.method not in SAFE_METHODS and not knock.origin:  # a browser always names it here
            return Refusal(403, "A request that changes something must name its origin.")
    if role is None:
        return Refusal(401, HOW_IN if not knock.bearer else NOT_THE_TOKEN)
    if role is VisitorRole.VIEWER and knock.method not in SAFE_METHODS:
        return Refusal(403, "This link is read-only: you can see everything here, but change nothing.")
    return role


class Attempts:
    """Wrong tokens, by the address that they came from.

    Too many are no longer answered with a page but refused in short. A right token always gets in: everybody on a
    machine has one address, and a process that guesses must not lock its user out.
    """

    def __init__(self) -> None:
        self._wrong: dict[str, list[float]] = {}

    def wrong(self, address: str, now: float) -> bool:
        """Counts one; whether it is one too many."""
        recent = [at for at in self._wrong.pop(address, ()) if now - at < WINDOW_SECONDS]
        over = len(recent) >= MOST_WRONG
        self._wrong[address] = recent if over else [*recent, now]
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.pop(next(iter(self._wrong)))
        return over


def hosts_of(host: str, port: int, names: tuple[str, ...] = ()) -> frozenset[str]:
    """The Host headers that mean this server; `names` are those of a proxy before it."""
    own = LOOPBACK if host in LOOPBACK else {host}
    found = {f"[{one}]:{port}" if ":" in one else f"{one}:{port}" for one in own}
    if port in (80, 443):
        found |= {f"[{one}]" if ":" in one else one for one in own}
    return frozenset(one.lower() for one in (*found, *names))
