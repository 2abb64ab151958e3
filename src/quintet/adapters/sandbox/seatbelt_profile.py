"""The profile that sandbox-exec of macOS is given: all is refused but what is named; what is named last holds.

Where one path lies in another, the later rule decides: first what may be read, then what may be written, then what
stays closed whatever was said before.
"""

from __future__ import annotations

from collections.abc import Sequence

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
# What a program needs to start at all, and to ask who its user is. No service that starts programs, opens documents,
# reads the clipboard or holds keys.
BEGINNING = """\
(version 1)
(deny default)
(allow process-fork process-exec)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read file-read-metadata ipc-posix-sem pseudo-tty)
(allow mach-lookup
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
"""
NETWORK = """\
(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.trustd.agent"))
"""
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/fd")


def profile(
    read: Sequence[str], write: Sequence[str], *, network: bool, held: Sequence[str] = (), closed: Sequence[str] = ()
) -> str:
    """Paths are real ones: the system compares what they lead to. `held` is not written, `closed` not even read."""
    rules = [
        BEGINNING,
        _rule("allow", "file-read*", ["/dev", *read]),
        _rule("allow", "file-read* file-write* file-ioctl", [*write, *DEVICES]),
        '(allow file-read* file-write* file-ioctl (regex #"^/dev/ttys[0-9]+$"))\n',
        _rule("deny", "file-write*", held),
        _rule("deny", "file-read* file-write*", closed),
    ]
    return "".join(rules) + (NETWORK if network else "")


def _rule(verdict: str, what: str, paths: Sequence[str]) -> str:
    if not paths:
        return ""
    return f"({verdict} {what}\n" + "".join(f"  (subpath {_quoted(path)})\n" for path in paths) + ")\n"


def _quoted(path: str) -> str:
    """A string of the profile's language. A path with a control character could end a rule: it matches nothing."""
    if any(ord(one) < 32 or one == "\x7f" for one in path):
        return '"/dev/null/unusable"'
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
