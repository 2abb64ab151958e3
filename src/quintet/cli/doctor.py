"""`quintet doctor`: what is wrong with this project and its machine; `fix` and `heal` fix it, by rule or with a model.

Exit code 0: no error is left, 1: one is. `heal` is a headless `/repair --autonomous`, and ends as that does.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from time import monotonic

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.layers import LoadedSettings
from quintet.app.health.checks import Told, fix_project, make_look
from quintet.cli.parsing import lookup
from quintet.domain.base.errors import SettingsError, UsageError
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.health import Finding, Severity, compared, preview
from quintet.engine.cycle.doctor import health_lines, preview_lines
from quintet.package import load
from quintet.surfaces.tables import complain, say, say_json

BLOCKED = 3  # exit code


def doctor(arguments: Namespace) -> int:
    if arguments.preview and arguments.action != "fix":
        raise UsageError("--preview is for `quintet doctor fix`")
    if arguments.action == "heal":
        return _heal(arguments)
    if arguments.permission_profile:
        raise UsageError("--permission-profile is for `quintet doctor heal`")
    begun = monotonic()
    places = locate(arguments.directory)
    loaded = _loaded(places)
    findings = _found(places, loaded)
    if arguments.action == "fix":
        return _fix(places, loaded, findings, arguments)
    if arguments.json:
        say_json(findings)
    else:
        say(health_lines(findings))
        if sys.stderr.isatty():
            sys.stderr.write(f"checked in {monotonic() - begun:.1f} s\n")
    return _code(findings)


def _heal(arguments: Namespace) -> int:
    flags = ["--output-format", "json"] if arguments.json else []
    if arguments.permission_profile:
        flags += ["--permission-profile", arguments.permission_profile]
    code = int(load("cli.commands:headless")(["/repair --autonomous", "-C", arguments.directory, *flags]))
    if code == BLOCKED and not arguments.permission_profile and not arguments.json:
        complain("For changes of files by a model: quintet doctor heal --permission-profile normal")
    return code


def _fix(places: Places, loaded: LoadedSettings, before: list[Finding], arguments: Namespace) -> int:
    if problem := make_look(places, loaded, SystemClock()).store_problem():
        raise UsageError(f"nothing can be fixed, because the state cannot be used: {problem}")
    if arguments.preview:
        if arguments.json:
            say_json({"findings": before, "would_fix": preview(before)})
        else:
            say(preview_lines(before))
        return _code(before)
    done = fix_project(places, loaded) if preview(before) else []
    after = _found(places, loaded) if done else before
    if arguments.json:
        say_json({"before": before, "fixed": done, "findings": after})
    else:
        say([*done, compared(before, after), ""] if done else [])
        say(health_lines(after))
    return _code(after)


def _loaded(places: Places) -> LoadedSettings:
    """Settings that cannot be read are a finding; everything else is then checked with the defaults."""
    try:
        return config.load(places)
    except SettingsError:
        return LoadedSettings(Settings())


def _found(places: Places, loaded: LoadedSettings) -> list[Finding]:
    return make_look(places, loaded, SystemClock(), _progress()).health(thorough=True)


def _progress() -> Told | None:
    """A line of a terminal that is written over; for a program nothing."""
    if not sys.stderr.isatty():
        return None

    def told(over: int, of: int) -> None:
        sys.stderr.write(f"\r\x1b[Kchecking … {over}/{of}" if over < of else "\r\x1b[K")
        sys.stderr.flush()

    return told


def _code(findings: list[Finding]) -> int:
    return 1 if any(finding.severity is Severity.ERROR for finding in findings) else 0


def _arguments(parser: ArgumentParser) -> None:
    about = "fix: fix what can be fixed by rule, and list it; heal: have a model fix the rest, as /repair does"
    parser.add_argument(
        "--permission-profile", default="", metavar="PROFILE", help="with heal: what runs without approval (restricted)"
    )
    parser.add_argument("action", nargs="?", choices=("fix", "heal"), help=about)
    parser.add_argument("--preview", action="store_true", help="with fix: only show what would be fixed")


DOCTOR = lookup(
    "doctor", "Check this project, its state and this machine; exit code 1 if there is an error.", doctor, _arguments
)
