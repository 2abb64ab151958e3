"""Where a tab may go: addresses as people write them, what is refused, and why a page did not come."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.private_hosts import file_named, whole

WANTED = "it opens http, https, file (inside the project) and about:blank"
REASONS = {
    "ERR_CONNECTION_REFUSED": "no server is listening there; start the server first, or check the port",
    "ERR_NAME_NOT_RESOLVED": "there is no such host; check the spelling, or the network",
    "ERR_INTERNET_DISCONNECTED": "this machine has no network",
    "ERR_ADDRESS_UNREACHABLE": "that address cannot be reached from here",
    "ERR_NETWORK_ACCESS_DENIED": "that address cannot be reached from here",
    "ERR_CONNECTION_RESET": "the server closed the connection; is it http and not https, or the other way round?",
    "ERR_CONNECTION_CLOSED": "the server closed the connection",
    "ERR_EMPTY_RESPONSE": "the server sent no answer",
    "ERR_INVALID_HTTP_RESPONSE": "the server there does not use HTTP",
    "ERR_SSL_PROTOCOL_ERROR": "the server there does not use https; try http",
    "ERR_CONNECTION_TIMED_OUT": "no answer",
    "ERR_TIMED_OUT": "no answer",
    "ERR_TOO_MANY_REDIRECTS": "its redirects form a circle",
    "ERR_INVALID_URL": "that is not an address",
    "ERR_UNSAFE_PORT": "browsers refuse that port; serve it on another",
    "ERR_BLOCKED_BY_RESPONSE": "the server does not allow it to be shown here",
}


def address(written: str) -> str:
    """A whole address from what was written."""
    text = written.strip()
    if not text:
        raise ToolFailed("url: expected an address")
    if text == "about:blank":
        return text
    if path := file_named(text):
        if text[:5].lower() == "file:" and (other := urlsplit(text).netloc) not in ("", "localhost"):
            raise ToolFailed(f"{text}: a file: address of another machine ({other})")
        return f"file:{'//' * path.startswith('/')}{quote(path)}"
    text = whole(text)
    try:
        parts = urlsplit(text)
        scheme, host, _ = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError as error:
        raise ToolFailed(f"{written}: that is not an address ({error})") from None
    if scheme not in ("http", "https"):
        raise ToolFailed(f"{scheme}: addresses are refused; {WANTED}")
    if not host:
        raise ToolFailed(f"{written}: this has no host")
    return text


def path_of(url: str) -> str:
    """The path that a file: address names; empty if it is another address."""
    return unquote(urlsplit(url).path) if url.startswith("file:") else ""


def why(url: str, error: object) -> str:
    """Why a page did not come, and what to do."""
    text = str(error)
    code = re.search(r"net::(ERR_\w+)", text)
    if not code:
        return f"{url}: {text.strip().partition(chr(10))[0][:300]}"
    if "CERT" in code[1]:
        return f"{url}: its certificate is not trusted ({code[1]}); try http, or a server with another certificate"
    reason = REASONS.get(code[1])
    return f"{url}: {reason} ({code[1]})" if reason else f"{url}: the page did not load ({code[1]})"
