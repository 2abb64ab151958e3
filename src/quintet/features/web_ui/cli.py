"""`quintet web`: serves the pages on this machine, and says where."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from secrets import token_urlsafe

from quintet.adapters.files.paths import locate, state_folder
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.processes.host_programs import program
from quintet.cli.parsing import make_parser
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.features.web_ui.access import LOOPBACK, Doors, VisitorRole, hosts_of
from quintet.surfaces.tables import complain, say

EVERY_ADDRESS = ("0.0.0.0", "::")  # no browser calls a machine so
INSTALL = "quintet install webui"


def web(arguments: list[str]) -> int:
    parser = make_parser("web", "Sessions, tasks and settings in your browser. Ctrl+C ends it.")
    _flags(parser)
    parsed = parser.parse_args(arguments)
    _check(parsed)
    try:
        from quintet.features.web_ui.serving import bound, serve  # needs what the extra brings
    except ModuleNotFoundError as error:
        raise UsageError(
            f"`quintet web` needs {error.name}, which is not installed", hint=f"Install it: {INSTALL}"
        ) from None
    places = locate(parsed.directory)
    tokens = {VisitorRole.OWNER: kept_token("owner", anew=parsed.new_token)}
    if parsed.viewer_token:
        tokens[VisitorRole.VIEWER] = kept_token("viewer", anew=parsed.new_token)
    listening = bound(parsed.host, parsed.port)
    port = listening.getsockname()[1]
    secure = bool(parsed.tls_cert) or parsed.behind_proxy
    names = tuple(one.lower() for one in parsed.name)
    doors = Doors(tokens, hosts_of(parsed.host, port, names), secure)
    own = f"[{parsed.host}]:{port}" if ":" in parsed.host else f"{parsed.host}:{port}"
    shown = names[0] if names else own
    url = f"{'https' if secure else 'http'}://{shown}{doors.below}/"
    _tell(parsed, url, tokens, f"http://{own}" if parsed.behind_proxy else "")
    if parsed.open and not parsed.json:
        _open(_door(f"{url}?token={tokens[VisitorRole.OWNER]}"))
    return serve(doors, places, listening, port, parsed.tls_cert, parsed.tls_key, proxied=parsed.behind_proxy)


def _flags(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to serve on; other machines reach it only with TLS"
    )
    parser.add_argument("--port", type=int, default=0, help="0 (the default): any free port")
    parser.add_argument("--open", action="store_true", dest="open", help="open it in your browser")
    parser.add_argument("--no-open", action="store_false", dest="open", help="the default")
    parser.add_argument("--json", action="store_true", help="print its address as one line of JSON")
    parser.add_argument("--viewer-token", action="store_true", help="also make a read-only link")
    parser.add_argument(
        "--new-token", action="store_true", help="make new tokens: earlier links and browsers no longer work"
    )
    parser.add_argument("--tls-cert", default="", metavar="FILE", help="serve https with this certificate")
    parser.add_argument("--tls-key", default="", metavar="FILE", help="its key")
    parser.add_argument("--behind-proxy", action="store_true", help="a proxy on this machine provides https")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="a host name that browsers use for it, with its port",
    )


def _check(parsed: Namespace) -> None:
    if not 0 <= parsed.port <= 65535:
        raise UsageError(f"--port {parsed.port}: not a port; 0 to 65535")
    if bool(parsed.tls_cert) != bool(parsed.tls_key):
        raise UsageError("--tls-cert and --tls-key go together")
    for file in filter(None, (parsed.tls_cert, parsed.tls_key)):
        if not os.path.isfile(file):
            raise UsageError(f"{file}: no such file")
    if not _on_this_machine(parsed.host) and not parsed.tls_cert:
        raise UsageError(
            f"--host {parsed.host} would be open to other machines without TLS",
            hint="Give --tls-cert and --tls-key, or serve on 127.0.0.1 with --behind-proxy.",
        )
    if parsed.behind_proxy and not parsed.name:
        raise UsageError("--behind-proxy needs --name: the host name that browsers use")
    if parsed.host in EVERY_ADDRESS and not parsed.name:
        raise UsageError(f"--host {parsed.host} needs --name: the host name that browsers use, with its port")


def _on_this_machine(host: str) -> bool:
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tell(parsed: Namespace, url: str, tokens: dict[VisitorRole, str], upstream: str) -> None:
    """`upstream` is where a proxy finds it."""
    links = {role: f"{url}?token={token}" for role, token in tokens.items()}
    if parsed.json:
        told = {"url": url, "token": tokens[VisitorRole.OWNER], "link": links[VisitorRole.OWNER]}
        if VisitorRole.VIEWER in tokens:
            told |= {"viewer_token": tokens[VisitorRole.VIEWER], "viewer_link": links[VisitorRole.VIEWER]}
        say([json.dumps(told | ({"upstream": upstream} if upstream else {}))])
    else:
        say([f"Open {links[VisitorRole.OWNER]}"])
        if VisitorRole.VIEWER in links:
            say([f"Read-only: {links[VisitorRole.VIEWER]}"])
        if upstream:
            say([f"Your proxy must pass requests on to {upstream}, with their Host header."])
        complain("The link contains a token: anyone who has it can do what you can do here. Ctrl+C ends the server.")
    sys.stdout.flush()


def _door(link: str) -> str:
    """A page of the user's own that leads to a link: the link itself would stand in the list of processes."""
    path = os.path.join(state_folder(), "web", "open.html")
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={link}">')
    return f"file://{path}"


def _open(link: str) -> None:
    """Show a link in the user's browser, by the program of the system that does that."""
    opener = next(filter(None, map(program, ("xdg-open", "open"))), "")
    if not opener:
        complain("Neither xdg-open nor open is installed: open the link yourself.")
        return
    null = subprocess.DEVNULL
    subprocess.Popen([opener, link], stdin=null, stdout=null, stderr=null, start_new_session=True)


def kept_token(name: str, *, anew: bool = False) -> str:
    """The user's token for a role: the same after a restart, so that open pages go on."""
    folder = os.path.join(state_folder(), "web")
    path = os.path.join(folder, name)
    try:
        private_folder(folder)
        if not anew and os.path.exists(path):
            with open(path, encoding="ascii") as file:
                if len(token := file.read().strip()) >= 32:
                    return token
        token = token_urlsafe(32)
        with open(f"{path}.new", "w", encoding="ascii", opener=private) as file:
            file.write(token)
        os.replace(f"{path}.new", path)
    except OSError as error:
        raise QuintetError(f"{path}: the token cannot be saved ({error.strerror})") from error
    return token
