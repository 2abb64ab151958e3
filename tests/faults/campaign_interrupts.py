"""How long an interrupt takes in each of many states, headless, on the plain surface and on the screen.

scripts/faults interrupts [--only TEXT] [--surface NAME] [--seconds 1.0] [--json]. Headless is SIGINT until the process
has ended; plain is Ctrl+C, and the screen Esc, until it is shown that the turn is interrupted. Start-up is SIGINT so
many milliseconds after the start. Exit 1 if one took longer than --seconds. Linux, bubblewrap.

It measures the machine as well: where others work, `chrt --rr 1 scripts/faults interrupts` as root is not kept waiting
for a core. There the commands of a state take their turns with Quintet, so that what prints without end takes longer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.faults.interrupt_states import STATES, State, StateModel
from tests.surfaces.program import PROGRAM
from tests.surfaces.tui.at_pty import AtPty, at_pty

PATH = os.environ.get("PATH", os.defpath)
MOST_SECONDS = 60.0  # until a state is reached, or an interrupt is given up
DIALS = ("--mode", "build", "--autonomous", "--permission-profile", "trusted")
STARTS = (50, 150, 300, 600, 1000)  # milliseconds
ENTRY = "import sys; from quintet.cli.main import main; sys.exit(main(sys.argv[1:]))"
Measured = float | str  # seconds, or what went wrong


class NotReached(Exception):
    pass


@contextmanager
def project(state: State, folder: Path) -> Iterator[tuple[Path, StateModel]]:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        os.environ[name] = str(folder / name.lower())
        os.mkdir(os.environ[name])
    os.environ["PATH"] = f"{folder}/bin:{PATH}"
    root = folder / "project"
    root.mkdir()
    (root / "a.py").write_text("print(1)\n")
    state.prepare(root)
    if state.git:
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
            subprocess.run((*git, *words), cwd=root, check=True)
    server = StateModel(state.replies)
    settings = Path(os.environ["XDG_CONFIG_HOME"], "quintet/settings.toml")
    settings.parent.mkdir()
    text = server.settings().replace("retries = 0", state.limits or "retries = 0")
    settings.write_text(text + state.settings)
    if state.rule:
        subprocess.run(
            [*PROGRAM, "rules", "add", "allow", "bash", state.rule, "--effects", "read,execute,build"],
            cwd=root,
            check=True,
            capture_output=True,
        )
    for line in state.before:
        resumed = ("--resume", "latest") if line != state.before[0] else DIALS
        subprocess.run([*PROGRAM, "-p", line, *resumed], cwd=root, check=True, capture_output=True)
    try:
        yield root, server
    finally:
        server.close()


def until(seen: Callable[[], object], what: str) -> float:
    end = time.monotonic() + MOST_SECONDS
    while not seen():
        if time.monotonic() > end:
            raise NotReached(what)
        time.sleep(0.002)
    return time.monotonic()


def reached(state: State, root: Path, server: StateModel, over: Callable[[], bool]) -> None:
    def there() -> bool:
        if over():
            raise NotReached("it ended before that")
        if state.file:
            return (root / state.file).exists()
        return _runs(state.process) if state.process else len(server.server.requests) >= state.asked

    until(there, state.file or state.process or f"{state.asked} requests, and there were {len(server.server.requests)}")
    time.sleep(state.after)
    if over():
        raise NotReached("it ended before that")


def _runs(words: str) -> bool:
    """Whether there is a process of this command line."""
    wanted = words.encode().replace(b" ", b"\0")
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if wanted in process.read_bytes():
                return True
    return False


def headless(state: State, root: Path, server: StateModel) -> float:
    words = ("--resume", "latest") if state.before else state.words or DIALS
    argv = [*PROGRAM, "-p", state.line, *words]
    child = subprocess.Popen(argv, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        reached(state, root, server, lambda: child.poll() is not None)
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        return until(lambda: child.poll() is not None, "its end") - begun
    finally:
        child.kill()
        out, _ = child.communicate()
        if child.returncode not in (130, -9):
            sys.stderr.write(f"exit {child.returncode}: {out[-500:].decode()}\n")


def at_terminal(state: State, root: Path, server: StateModel, surface: str) -> float:
    words = ("--plain",) if surface == "plain" else ()
    with at_pty(ENTRY, root, *words, *(state.words or DIALS)) as terminal:
        terminal.until(lambda: "›".encode() in terminal.output, "the prompt")
        time.sleep(0.5)
        terminal.types(state.line, apart=0.01)
        time.sleep(0.3)
        terminal.send("\r")
        reached(state, root, server, lambda: terminal.process.poll() is not None)
        return _interrupted(state, terminal, "\x03" if surface == "plain" else "\x1b")


def _interrupted(state: State, terminal: AtPty, key: str) -> float:
    shown = len(terminal.output)
    begun = time.monotonic()
    terminal.send(key)
    try:
        return until(lambda: state.mark.encode() in terminal.output[shown:], "the word") - begun
    except NotReached:
        sys.stderr.write(f"{bytes(terminal.output[shown:][-1500:])!r}\n")
        raise


def measured(state: State, surface: str) -> Measured:
    folder = Path(tempfile.mkdtemp(prefix="quintet-interrupts-"))
    try:
        with project(state, folder) as (root, server):
            if surface == "headless":
                return headless(state, root, server)
            return at_terminal(state, root, server, surface)
    except (NotReached, AssertionError) as error:
        return f"not reached: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def starting(milliseconds: int) -> Measured:
    folder = Path(tempfile.mkdtemp(prefix="quintet-interrupts-"))
    try:
        with project(State("start"), folder) as (root, _):
            argv = [*PROGRAM, "-p", "do it", *DIALS]
            child = subprocess.Popen(argv, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(milliseconds / 1000)
            begun = time.monotonic()
            child.send_signal(signal.SIGINT)
            try:
                return until(lambda: child.poll() is not None, "its end") - begun
            finally:
                child.kill()
                child.wait()
    except NotReached as error:
        return f"not reached: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="states whose names contain it")
    parser.add_argument("--surface", default="", choices=("", "headless", "plain", "tui"))
    parser.add_argument("--seconds", type=float, default=1.0, help="that an interrupt may take (1)")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a script ignores it
    found: dict[str, Measured] = {}

    def note(name: str, took: Measured) -> None:
        found[name] = took
        shown = f"{took:6.2f} s" if isinstance(took, float) else f"       {took}"
        sys.stdout.write("" if chosen.json else f"{name:<52}{shown}\n")
        sys.stdout.flush()

    for state in STATES:
        for surface in state.surfaces if chosen.only in state.name else ():
            if chosen.surface in ("", surface):
                note(f"{state.name}, {surface}", measured(state, surface))
    for milliseconds in STARTS if chosen.only in "start" and chosen.surface in ("", "headless") else ():
        note(f"start, after {milliseconds} ms, headless", starting(milliseconds))
    times = [took for took in found.values() if isinstance(took, float)]
    late = [name for name, took in found.items() if not isinstance(took, float) or took > chosen.seconds]
    if chosen.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write(f"{len(times)} interrupts, the slowest {max(times, default=0):.2f} s, {len(late)} too late\n")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
