"""Which containment starts on this machine, found by trying."""

from __future__ import annotations

import os
import subprocess

from quintet.adapters.processes.host_programs import program
from quintet.adapters.sandbox import confine
from quintet.adapters.sandbox.host_mounts import system_mounts
from quintet.adapters.sandbox.seatbelt_profile import SANDBOX_EXEC, profile
from quintet.domain.permission.effects import Sandbox

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--as-pid-1", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
)
# What sandbox_init.py needs to lay its mounts, in this user namespace only; it gives them up before the command runs.
LAYING = ("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP")
UNSHARE = "/usr/bin/unshare"
PROBE_SECONDS = 10.0


def strongest() -> tuple[Sandbox, str]:
    """The strongest containment that starts here, and why no stronger one does."""
    if not confine.LINUX:
        return _elsewhere()
    why = bubblewrap_problem()
    if not why:
        return Sandbox.BWRAP, ""
    if not confine.landlock_version():
        return Sandbox.NONE, f"{why}; and this kernel has no Landlock"
    if not confine.network_can_be_blocked():
        return Sandbox.NONE, f"{why}; and Landlock alone cannot close the network on this kind of machine"
    return Sandbox.PARTIAL, why


def _elsewhere() -> tuple[Sandbox, str]:
    """macOS, the only other system that has one."""
    problem = seatbelt_problem()
    if problem:
        return Sandbox.NONE, problem
    return Sandbox.PARTIAL, "this is macOS: sandbox-exec is the sandbox, and it is untried"


def seatbelt_problem() -> str:
    """Why sandbox-exec cannot put up a sandbox here; empty if it can."""
    if not os.access(SANDBOX_EXEC, os.X_OK):
        return f"{SANDBOX_EXEC} is not installed; the sandbox needs Linux or macOS"
    argv = [SANDBOX_EXEC, "-p", profile(["/"], [], network=False), "/usr/bin/true"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{SANDBOX_EXEC} cannot start: {error}"
    said = done.stderr.decode("utf-8", "replace").strip()
    return f"{SANDBOX_EXEC} cannot start: {said or f'exit {done.returncode}'}" if done.returncode else ""


def bubblewrap_problem() -> str:
    """Why bubblewrap cannot put up a sandbox here; empty if it can. Some machines forbid namespaces."""
    found = program("bwrap")
    if not found:
        return "bubblewrap (bwrap) is not on PATH; install it from your system's packages"
    # What sandbox_init.py begins with, by a program that starts sooner: a mount namespace, and a mount in it.
    lays = (UNSHARE, "--mount", "--propagation", "private") if os.path.exists(UNSHARE) else ()
    argv = [found, *NAMESPACES, *LAYING, "--unshare-net", *system_mounts(), "--proc", "/proc", "--dev", "/dev"]
    argv += ["--", *lays, "/bin/true"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{found} cannot start: {error}"
    said = done.stderr.decode("utf-8", "replace").strip()
    return f"{found} cannot start: {said or f'exit {done.returncode}'}" if done.returncode else ""
