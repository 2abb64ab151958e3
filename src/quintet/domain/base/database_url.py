"""The URL of a database: its scheme, how it is shown, and what in it is a secret."""

from __future__ import annotations

VARIABLE = "QUINTET_DATABASE"
HIDDEN = "***"
_SECRET_FIELDS = ("password", "sslpassword", "passfile")


def scheme_of(url: str) -> str:
    """`postgresql` of `postgresql://…`; empty if it has none."""
    scheme, found, _ = url.partition("://")
    return scheme.lower() if found else ""


def shown_url(url: str) -> str:
    """The URL without its secrets."""
    scheme, found, rest = url.partition("://")
    if not found:
        return HIDDEN
    rest, mark, query = rest.partition("?")
    user, at, place = rest.rpartition("@")
    if at:
        name, colon, _ = user.partition(":")
        rest = f"{name}{colon}{HIDDEN if colon else ''}@{place}"
    fields = [
        f"{field.partition('=')[0]}={HIDDEN}" if field.partition("=")[0].lower() in _SECRET_FIELDS else field
        for field in query.split("&")
    ]
    return f"{scheme}://{rest}{mark}{'&'.join(fields)}"


def secrets_in(url: str) -> list[str]:
    """Its secrets, as they stand there and as they are meant."""
    _, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    user, _, _ = rest.rpartition("@")
    found = [user.partition(":")[2]]
    found += [
        value for key, _, value in (field.partition("=") for field in query.split("&")) if key.lower() in _SECRET_FIELDS
    ]
    return list(dict.fromkeys(form for secret in found if secret for form in (secret, _decoded(secret))))


def _decoded(text: str) -> str:
    """Percent signs as the bytes they stand for."""
    first, *rest = text.split("%")
    data = first.encode()
    for part in rest:
        try:
            data += bytes.fromhex(part[:2]) + part[2:].encode()
        except ValueError:
            data += b"%" + part.encode()
    return data.decode(errors="replace")
