"""Child processes: contained by their grant, in their own group with a small environment, and ended as a whole.

A command is over when its own process is; what it left behind is ended with it, and does not keep its output open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import msgspec
from msgspec import structs

from quintet.adapters.files.temporary_folders import unnamed_file
from quintet.adapters.git.run_git import looking_from
from quintet.adapters.processes.bounded_output import Output, OutputSink, PipeReader
from quintet.adapters.processes.host_programs import acts_on_programs, host_path
from quintet.adapters.processes.lifeline import Lifeline, watched
from quintet.adapters.processes.python_environment import source
from quintet.adapters.processes.system import descendants, process_start
from quintet.adapters.protected.covers import closed_files_met
from quintet.adapters.sandbox.containment import Containment, Launch
from quintet.adapters.sandbox.kept_sandboxes import KeptCommand, KeptSandboxes
from quintet.adapters.secrets.vault import Vault
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.sandboxed_git import FailedCommand, explained
from quintet.domain.permission.effects import Grant, Sandbox
from quintet.domain.ports.ports import Finished
from quintet.domain.settings.hooks import HookEnd

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "LANG", "TZ", "VIRTUAL_ENV")
PLAIN_GIT = ("git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "color.ui=never")
REAP_SECONDS = 1.0  # what was killed is gone in a moment
GRACE_SECONDS = 0.5  # between the polite signal and the last one: an interrupt is over within a second
CLOSING_SECONDS = 0.2  # the same, where all of Quintet ends and has more to do in that second
MOST_HOOK_BYTES = 1_000_000  # of what a hook prints that is read
NOT_STARTED = 127
MOST_ERROR_BYTES = 30_000  # of what comes apart on stderr
MOST_ANSWER_BYTES = 50_000_000  # of a script of our own
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")


def child_environment() -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if key in PASSED_ON or key.startswith("LC_")}
    return {"PATH": os.defpath, **passed, "GIT_TERMINAL_PROMPT": "0", "PAGER": "cat", "GIT_PAGER": "cat"}


def own_environment() -> dict[str, str]:
    """For a program that runs outside the sandbox: a child's, without the project's folders on PATH. No secrets."""
    there = os.environ.get("XDG_CONFIG_HOME", "")
    named = {"XDG_CONFIG_HOME": there} if os.path.isabs(there) else {}
    return {**child_environment(), "PATH": host_path(), **named}


def _environment(launch: Launch) -> dict[str, str]:
    return {**child_environment(), **launch.variables}


def with_secrets(launch: Launch, grant: Grant, vault: Vault | None) -> Launch:
    """With the secrets of its grant in its environment, and then in a sandbox of its own."""
    if not (vault and grant.secrets):
        return launch
    # A file of the project may name one that acts on the program that builds the sandbox: that is no secret.
    secrets = {name: value for name, value in vault.values(grant.secrets).items() if not acts_on_programs(name)}
    return structs.replace(launch, variables={**launch.variables, **secrets}, keepable=None)


def kill_tree(leader: int, tree: Sequence[tuple[int, str]]) -> None:
    """Kill a group by its leader, and what else was found below it, though it may have left the group."""
    _signal_group(leader, signal.SIGKILL)
    for pid, started in tree:
        if started and process_start(pid) == started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


class LocalProcesses:
    def __init__(self, containment: Containment, vault: Vault | None = None) -> None:
        self._containment = containment
        self._vault = vault
        self.kept_sandboxes = KeptSandboxes()

    async def close(self) -> None:
        await self.kept_sandboxes.close()

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        grant: Grant,
        timeout: float,
        keep: int = 30_000,
        whole: str = "",
        as_user: bool = False,
        errors_apart: bool = False,
        on_output: Callable[[str], None] | None = None,
    ) -> Finished:
        if as_user:
            launch = structs.replace(self._containment.watched(argv, cwd), variables=dict(os.environ))
        else:  # looking for what has to be covered reads folders: not on the loop
            launch = await asyncio.to_thread(self._containment.launch, argv, cwd, grant)
        done = await self._run(launch, grant, timeout, keep, whole, on_output, errors_apart)
        return done if as_user else self._explained(done, launch, grant)

    def _explained(self, done: Finished, launch: Launch, grant: Grant) -> Finished:
        """With what there is to say of a failure that only the sandbox explains."""
        if done.exit_code and (hidden := self._containment.hidden(launch, done.output + done.errors)):
            done = structs.replace(done, notes=(*done.notes, *hidden))
        if "git" not in done.output and "fatal:" not in done.output and "publickey" not in done.output:
            return done
        kind = self._containment.kind
        notes = explained(
            FailedCommand(done.output, done.exit_code, grant, kind, next(iter(grant.write_roots), launch.cwd))
        )
        return structs.replace(done, notes=(*done.notes, *notes)) if notes else done

    async def git(
        self, words: Sequence[str], *, cwd: str, grant: Grant, timeout: float, keep: int = 30_000
    ) -> Finished:
        if self._containment.kind is Sandbox.BWRAP:  # whatever the repository names runs in there, and only reads
            argv = (*PLAIN_GIT, *self._pointers(), *words)
            return await self.run(argv, cwd=cwd, grant=grant, timeout=timeout, keep=keep)
        with contextlib.ExitStack() as look:
            view = await asyncio.to_thread(look.enter_context, looking_from(cwd))
            seen = structs.replace(grant, read_roots=(*grant.read_roots, view.folder))
            launch = await asyncio.to_thread(self._containment.launch, view.argv(words), cwd, seen)
            launch = structs.replace(launch, variables={**launch.variables, **view.variables})
            return await self._run(launch, grant, timeout, keep)

    def _pointers(self) -> tuple[str, ...]:
        """git-lfs writes below .git even to compare, and this git only reads: its files are shown as pointers."""
        process = shlex.join(self._containment.setup.script("lfs_filter.py"))
        return ("-c", f"filter.lfs.process={process}", "-c", "filter.lfs.required=false")

    async def _run(
        self,
        launch: Launch,
        grant: Grant,
        timeout: float,
        keep: int,
        whole: str = "",
        on_output: Callable[[str], None] | None = None,
        errors_apart: bool = False,
    ) -> Finished:
        launch = with_secrets(launch, grant, self._vault)
        output = Output(keep, on_output, whole, self._vault.chunks() if self._vault else None)
        errors = Output(MOST_ERROR_BYTES, redacted=self._vault.chunks() if self._vault else None)
        child: Child | KeptCommand | None = await self.kept_sandboxes.enter(
            launch, output, *((errors,) if errors_apart else ())
        )
        child = child or Child(launch, output, errors=errors if errors_apart else None)
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await child.ended.wait()
        except TimeoutError:
            timed_out = True
            await child.end_tree()
        except asyncio.CancelledError:
            await asyncio.shield(child.end_tree())
            raise
        finally:
            child.release()
            output.close()
            errors.close()
            notes = self._containment.settle(launch)
            if isinstance(child, Child):
                self.kept_sandboxes.settle(launch, _environment(launch))
        text = output.text()
        if not timed_out and (failure := child.failure(text)):
            raise ToolFailed(failure)
        if launch.closed and child.exit_code:
            notes += closed_files_met(launch.closed, text)
        return Finished(child.exit_code, text, timed_out, output.dropped, tuple(notes), errors.text())


class Child:
    """A started process, its output read as it comes, and an event for its end."""

    def __init__(
        self,
        launch: Launch,
        output: OutputSink,
        terminal: tuple[int, int] | None = None,
        *,
        errors: OutputSink | None = None,
        reads: int = subprocess.DEVNULL,
    ) -> None:
        """`terminal` holds our side of one and the command's; `errors` takes its stderr if that is to come apart."""
        argv, cwd = launch.argv, launch.cwd
        self._launch, self._lifeline = launch, Lifeline(launch)
        try:
            self.process = subprocess.Popen(
                self._lifeline.argv,
                cwd=cwd,
                env=_environment(launch),
                stdin=terminal[1] if terminal else reads,
                stdout=terminal[1] if terminal else subprocess.PIPE,
                stderr=subprocess.PIPE if errors else subprocess.STDOUT,
                start_new_session=True,
                pass_fds=self._lifeline.handles,
                bufsize=0,
            )
        except FileNotFoundError as error:
            self._lifeline.close()
            missing = f"{cwd}: no such folder" if not os.path.isdir(cwd) else f"{argv[0]} is not installed"
            raise ToolFailed(missing) from error
        except OSError as error:
            self._lifeline.close()
            raise ToolFailed(f"{argv[0]} cannot be started: {error.strerror}") from error
        finally:
            self._lifeline.handed_over()
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        pipe = self.process.stdout
        self.inlets = [PipeReader(terminal[0] if terminal else pipe.fileno(), output)]  # type: ignore[union-attr]
        if errors and self.process.stderr:
            self.inlets.append(PipeReader(self.process.stderr.fileno(), errors))
        self._watch = os.pidfd_open(self.process.pid)
        self._loop.add_reader(self._watch, self._exited)

    @property
    def exit_code(self) -> int:
        code = self.process.returncode or 0
        return code if code >= 0 else 128 - code

    def failure(self, text: str) -> str:
        """Why the command itself was not run, if the sandbox did not start; `text` is what was printed."""
        if self._lifeline.missing:
            return f"{self._launch.command[0]} is not installed here"
        ran = self._lifeline.stood or not self._launch.reports
        return "" if ran else f"the sandbox could not start, so nothing was run: {text.strip()[:500]}"

    def _exited(self) -> None:
        self._loop.remove_reader(self._watch)
        self.process.wait()
        self._lifeline.hear()
        for inlet in self.inlets:
            inlet.drain()
        self.ended.set()

    async def end_tree(self, polite: signal.Signals = signal.SIGINT, grace: float = GRACE_SECONDS) -> None:
        """Interrupt the command, wait a moment, then kill the whole tree."""
        tree = descendants(self.process.pid)
        self._interrupt(tree, polite)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.ended.wait()
        kill_tree(self.process.pid, [*tree, *descendants(self.process.pid)])  # it may have started more meanwhile
        await self.ended.wait()

    def _interrupt(self, tree: list[tuple[int, str]], number: signal.Signals) -> None:
        """A sandbox's own process must live until the command has heard the signal; those inside are a group apart."""
        groups = set()
        for pid, _ in tree:
            with contextlib.suppress(ProcessLookupError):
                groups.add(os.getpgid(pid))
        apart = (
            groups - {self.process.pid} if self._launch.apart else groups | {self.process.pid}
        )  # a minder does not heed it
        for group in apart or {self.process.pid}:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)

    def release(self) -> None:
        """Let go of everything; what the command left behind in its group ends here."""
        _signal_group(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(REAP_SECONDS)  # who was cancelled twice has not waited for its end
        for inlet in self.inlets:
            inlet.stop()
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self._lifeline.close()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


async def run_apart(
    script: str, request: Mapping[str, Any], body: bytes, seconds: float, *, online: bool = False
) -> Any:
    """What a script of Quintet's own makes of a request and a body; `online` tells it the proxies of this machine.

    It runs in a process apart: what it reads is hostile, what it imports is heavy, and it can be ended at any moment.
    It gets bytes, and gives JSON.
    """
    environment = own_environment()
    if online:
        environment |= {key: value for key, value in os.environ.items() if key in PROXIES or key.lower() in PROXIES}
    lifeline = Lifeline(watched((sys.executable, "-I", "-c", source(script)), "/"))
    try:
        process = await asyncio.create_subprocess_exec(
            *lifeline.argv,
            env=environment,
            cwd="/",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            pass_fds=lifeline.handles,
            limit=MOST_ANSWER_BYTES,
        )
    except BaseException:
        lifeline.close()
        raise
    finally:
        lifeline.handed_over()
    try:
        async with asyncio.timeout(seconds or None):
            out, err = await process.communicate(msgspec.json.encode(request) + b"\n" + body)
    except TimeoutError:
        raise ToolFailed(f"stopped after {seconds:g} s") from None
    finally:
        lifeline.close()
        if process.returncode is None:
            await asyncio.shield(process.wait())
    if process.returncode or not out:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"it ended with {process.returncode}"]
        raise ToolFailed(f"it could not be read: {last[0][:300]}")
    answer = msgspec.json.decode(out)
    if problem := answer.get("problem"):
        raise ToolFailed(problem)
    return answer


class ShellHooks:
    """Runs a hook: the user's own shell command, in a group of its own, not in the sandbox, ended as a whole.

    It reads and writes files without a name, not pipes: whatever it leaves behind holds nothing of ours open.
    """

    def __init__(
        self,
        problem: Callable[[str], str] = lambda command: "",
        watch: Callable[[Sequence[str], str], Launch] = watched,
    ) -> None:
        """`problem` says why a command may not be run as things are now; empty if it may. `watch` ends it with us."""
        self._problem = problem
        self._watch = watch

    async def run(self, command: str, told: bytes, cwd: str, timeout: float) -> HookEnd:
        if problem := self._problem(command):
            return HookEnd(NOT_STARTED, withheld=problem)

        with unnamed_file() as given, unnamed_file() as out, unnamed_file() as err:
            given.write(told)
            given.seek(0)
            lifeline = Lifeline(self._watch(("/bin/sh", "-c", command), cwd))
            try:
                process = await asyncio.create_subprocess_exec(
                    *lifeline.argv,
                    cwd=cwd,
                    env=own_environment(),
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                    pass_fds=lifeline.handles,
                )
            except OSError as error:
                lifeline.close()
                return HookEnd(NOT_STARTED, stderr=f"cannot be started: {error.strerror}")
            finally:
                lifeline.handed_over()
            timed_out = False
            try:
                async with asyncio.timeout(timeout):
                    await process.wait()
            except TimeoutError:
                timed_out = True
            finally:
                kill_tree(process.pid, descendants(process.pid))
                code = await asyncio.shield(process.wait())
                lifeline.close()
            return HookEnd(code if code >= 0 else 128 - code, _text(out), _text(err), timed_out)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_HOOK_BYTES).decode("utf-8", "replace")
