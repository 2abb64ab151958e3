"""The toolbox: from a model's call to a result, through the gate. No exception leaves it but cancellation.

`prepare` checks the call and asks the gate; `run` carries out what was allowed. A call that cannot be taken becomes a
result the model can act on. What a call needs of the outside, `ToolAccess` gets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.base.wording import nearest
from quintet.domain.dials.axes import Axes, RunControl, Surface, tightens
from quintet.domain.helpers.bounds import Bounds, held, held_rules
from quintet.domain.journal.protocol import Noticed
from quintet.domain.permission import gate
from quintet.domain.permission.effects import NETWORKED, NO_LINES, Effect, Grant, JudgedLines, exceeds
from quintet.domain.permission.gate import Decision, Sandbox, Terms, Verdict
from quintet.domain.permission.known_addresses import with_known
from quintet.domain.permission.protection_notices import PUT_RIGHT
from quintet.domain.permission.question import access, is_command
from quintet.domain.permission.rules import Rule, subject_of
from quintet.domain.ports.ports import RuleBook, ShellGrammar, ShellState, TurnPlace, Workbench
from quintet.domain.settings.settings import ToolSettings
from quintet.domain.turn import stage_policy as policy
from quintet.domain.turn import swe_phases
from quintet.domain.turn.messages import ToolCall, ToolSchema
from quintet.domain.turn.shown_output import bounded
from quintet.domain.turn.stage_policy import CallContext, Menu, Stage, StagePlan
from quintet.domain.turn.tool_menu import FINISH_STEP, REQUEST_TOOLS, MenuManager, Presentation, toolsets_of, with_own
from quintet.domain.turn.tool_spec import CallReply, CallStatus, ToolResult, ToolSpec, Touch, with_criteria
from quintet.engine.turn.near_files import near_files
from quintet.engine.turn.paused_calls import PausedCalls

# What a shell at a terminal takes for more than text: keys, its history, and a line that goes on in the next one.
_MORE_THAN_TEXT = regex(r"[\x00-\x09\x0b-\x1f\x7f]|![^\s=(]|(?m:^)\^|\\\Z")


NO_NETWORK = "this helper has no network (helpers.network, or its parent has none)"
LATER = "it continues in the background, so /rewind could not restore what it deletes later"


class Prepared(Struct, frozen=True):
    """A call that may go to the gate's verdict: what it is, with what arguments, and what was decided."""

    call: ToolCall
    spec: ToolSpec
    arguments: dict[str, object]
    touch: Touch
    decision: Decision
    shell: Grant | None = None  # what the shell it is typed into was started with
    lines: JudgedLines = NO_LINES
    own_line: bool = False  # a line that the user typed: it runs with their rights
    terms: Terms = Terms("")  # what was decided on
    axes: Axes | None = None  # that it was decided at, of a helper's call: as its parent leaves them

    @property
    def subject(self) -> str:
        """What it is about, as rules and questions name it."""
        return subject_of(self.arguments, self.touch.lines)


def deletes_only(prepared: Prepared) -> bool:
    """Whether a call that deletes does nothing else: a tool for it, or one plain command."""
    return not prepared.touch.lines or prepared.lines.simple[:1] in (("rm",), ("rmdir",), ("unlink",))


class ToolAccess:
    """What the toolbox reaches outside with: files and shells as they are now, the user's rules, the tools themselves.

    Everything the engine learns about a call from the outside comes through here, and nothing else does.
    """

    def __init__(
        self,
        bench: Workbench,
        rule_book: RuleBook | None = None,
        redactor: Redactor | None = None,
        log_crash: Callable[[BaseException], None] = lambda error: None,
        put_right: Callable[[], Sequence[str]] = tuple,
        bounds: Callable[[], Bounds | None] = lambda: None,
    ) -> None:
        """`put_right` gives what the sandbox had to put right since it was last asked, `bounds` what a helper may do at
        most by what its parent may do now."""
        self._bench = bench
        self._redactor = redactor or Redaction()
        self._rule_book = rule_book
        self._log_crash = log_crash
        self._put_right = put_right
        self._bounds = bounds
        self._paused = PausedCalls()

    def rules(self) -> tuple[Rule, ...]:
        return self._rule_book.rules() if self._rule_book else ()

    def bounds(self) -> Bounds | None:
        """What a helper may do at most; None in a session of the user's."""
        return self._bounds()

    def digest(self, path: str) -> str:
        """Names a file's content; empty where there is none to be read."""
        try:
            return hashlib.sha256(self._bench.files.read(path)).hexdigest()
        except (OSError, QuintetError):
            return ""

    def leads_to(self, path: str) -> str:
        """Where a path really is, links followed."""
        return self._bench.files.leads_to(path)

    def carried(self, touch: Touch) -> Touch:
        """What a move does by what lies below; where it cannot be looked at, carrying it out says why."""
        try:
            found = self._bench.files.carried(*(touch.moves or ("", "")))
        except (OSError, QuintetError):
            return touch
        writes = tuple(dict.fromkeys((*touch.writes, *found.asked)))
        return structs.replace(touch, writes=writes, refused=found.refused, asks=touch.asks or found.asks)

    def is_there(self, path: str) -> bool:
        """Whether this machine has something at a path outside the project."""
        return self._bench.files.is_there(path)

    def content(self, path: str) -> str:
        """A file as it is now; empty where there is none to be read."""
        try:
            return self._redactor.text(self._bench.files.read(path).decode("utf-8", "replace"))
        except (OSError, QuintetError):
            return ""

    def served(self, spec: ToolSpec, touch: Touch) -> Touch:
        """What a call does by the server it looks at, as the tool's service knows."""
        service = self._bench.services.get(spec.service)
        return service.touched(touch) if service else touch

    def shell(self, name: str) -> ShellState:
        return self._bench.shells.state(name)

    def shells(self) -> list[ShellState]:
        """The background shells that run."""
        return self._bench.shells.running()

    def shell_log(self, name: str) -> str:
        """All that a shell printed; of what is long, the beginning and the end."""
        return self._bench.shells.log(name)

    async def end_shell(self, name: str, why: str) -> None:
        await self._bench.shells.kill(name, why)

    def put_right(self) -> tuple[str, ...]:
        """What was done to the project's files after commands, since this was last asked."""
        return tuple(self._redactor.text(text) for text in self._put_right())

    async def run(self, spec: ToolSpec, arguments: dict[str, Any], of_call: dict[str, Any]) -> ToolResult:
        """Carry a call out; `of_call` are the fields of the workbench that are this call's own."""
        if not spec.course.pauses:
            return self._cleaned(await self._ran(spec, arguments, of_call))
        call: ToolCall = of_call["call"]
        return self._cleaned(
            await self._paused.begin(call.id, lambda ask: self._ran(spec, arguments, {**of_call, "ask": ask}))
        )

    async def resume(self, call: str, reply: CallReply) -> ToolResult:
        """Go on with a call that asked something."""
        return self._cleaned(await self._paused.resume(call, reply))

    async def drop(self, call: str) -> None:
        """Let go of a call that asked something, and will not be answered."""
        await self._paused.drop(call)

    def _cleaned(self, result: ToolResult) -> ToolResult:
        self._redactor.fresh()
        return self._redactor.clean(result)

    def unfit(self, spec: ToolSpec, arguments: dict[str, Any]) -> ToolResult | None:
        """What a call would fail with, as the files are now; None if nothing is known against it."""
        if spec.fits is None:
            return None
        try:
            spec.fits(self._bench, **arguments)
        except (QuintetError, OSError) as error:
            return self._cleaned(_as_text(self._failed(error)))
        return None

    def _failed(self, error: QuintetError | OSError) -> ToolResult:
        if isinstance(error, QuintetError):
            return refused(str(error))
        where = f"{error.filename}: " if error.filename else ""
        missing = isinstance(error, FileNotFoundError) and isinstance(error.filename, str)
        near = near_files(error.filename, self._bench.files) if missing else ""
        return refused(f"{where}{error.strerror or error}{near}")

    async def _ran(self, spec: ToolSpec, arguments: dict[str, Any], of_call: dict[str, Any]) -> ToolResult:
        try:
            return _as_text(await spec.run(structs.replace(self._bench, **of_call), **arguments))
        except (QuintetError, OSError) as error:
            return self._failed(error)
        except Exception as error:  # a fault of ours: the call is lost, the run is not
            self._log_crash(error)
            said = f"{spec.name} failed: {type(error).__name__}: {error}"
            return refused(f"{said}. Internal error in the tool; see the log. Try another way.")


def _as_text(result: ToolResult) -> ToolResult:
    """File names and contents may hold bytes that are no text; what is journalled and sent has to be."""
    return structs.replace(result, content=bounded(result.content).encode("utf-8", "replace").decode())


class Toolbox:
    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        outside: ToolAccess,
        grammar: ShellGrammar,
        terms: Terms,
        settings: ToolSettings,
    ) -> None:
        self.specs = specs
        self.outside = outside
        self._grammar = grammar
        self.terms = terms
        own = {name: spec.toolset for name, spec in specs.items() if spec.toolset}
        self._settings = settings
        self._menu = Menu(settings.presentation, with_own(own))
        self._plans: dict[tuple[object, ...], StagePlan] = {}
        self._shown: dict[tuple[str, ...], tuple[ToolSchema, ...]] = {}
        self._about: dict[tuple[object, ...], dict[str, str]] = {}

    def with_access(self, outside: ToolAccess, specs: Mapping[str, ToolSpec]) -> Toolbox:
        """The same toolbox, reaching outside in another way."""
        return Toolbox(specs, outside, self._grammar, self.terms, self._settings)

    @property
    def sandbox(self) -> Sandbox:
        return self.terms.sandbox

    def plan(self, context: CallContext, *, reasoning: bool = False) -> StagePlan:
        """The policy's plan for a stage: what a model is shown, and what it may call."""
        key = (*_mask(context), context.toolset, context.stage, context.report, reasoning)
        if key not in self._plans:
            self._plans[key] = policy.plan_stage(context, self.specs, reasoning=reasoning, menu=self._menu)
        return self._plans[key]

    def in_view(self, plan: StagePlan, context: CallContext) -> tuple[str, ...]:
        """The tools whose schemas a request of this plan carries: no stage changes them, so that caches hold.

        A stage that has others than acting has is sent its own; with all schemas not even the toolset counts.
        """
        if self._settings.all_schemas:
            useful = policy.within_reach(context, self.specs)
            return tuple(name for name in self.specs if name in useful)
        acting = self.plan(structs.replace(context, stage=Stage.ACT)).tools
        return acting if set(plan.tools) <= set(acting) else plan.tools

    def schemas(self, tools: tuple[str, ...]) -> tuple[ToolSchema, ...]:
        if tools not in self._shown:
            self._shown[tools] = tuple(self.specs[name].shown() for name in tools)
        return self._shown[tools]

    def place(self, context: CallContext) -> str:
        """Where the model stands in the menu, in words; nothing where there is no menu to stand in."""
        if self._menu.presentation is Presentation.FLAT:
            return ""
        manager = self._manager(context)
        return manager.toolset_list() if self._settings.all_schemas else manager.list()

    def _manager(self, context: CallContext) -> MenuManager:
        key = _mask(context)
        if key not in self._about:
            useful = policy.within_reach(context, self.specs)
            self._about[key] = {name: spec.description for name, spec in self.specs.items() if name in useful}
        return MenuManager(self._about[key], context.toolset, self._menu.toolsets)

    def home(self, tool: str) -> str:
        """A place in the menu that the tool is visible from."""
        return next(iter(toolsets_of(tool, self._menu.toolsets)), "")

    def prepare(
        self, call: ToolCall, context: CallContext, *, person: bool, unkept: str | None = None
    ) -> Prepared | ToolResult:
        """`unkept`: why what the call deletes could not be kept, empty if it was; None if nobody has tried."""
        bounds = self.outside.bounds()
        if bounds:
            context = held(context, bounds)
        spec = self.specs.get(call.name)
        if spec is None:
            close = nearest(call.name, self.specs)
            known = ", ".join(close or list(self.specs))
            return refused(f"there is no tool {call.name}. {'Nearest' if close else 'Tools'}: {known}")
        if reason := swe_phases.refusal(context.swe, call.name):
            return refused(reason)
        if reason := self._masked(spec, context):
            return refused(reason)
        try:
            arguments = spec.bind(call.arguments)
            touch = with_criteria(spec.touch(arguments), context.todos)
            touch = _with_known(touch, context) if touch.outward else touch
            touch, lines, typed = self._typed(touch) if touch.shell else (*self._judged(touch), None)
            touch = self._followed(touch) if not touch.lines else touch
            touch = self.outside.served(spec, touch) if touch.server is not None else touch
            touch = self.outside.carried(touch) if touch.moves else touch
            rules = self.outside.rules()
        except QuintetError as error:
            return refused(str(error))
        rules = (*context.rules, *rules)
        rules = held_rules(bounds, rules) if bounds else rules
        terms = structs.replace(
            self.terms, person=person, rules=rules, read_only=context.read_only, skills=context.skills
        )
        if bounds and not bounds.network and touch.effects & NETWORKED:
            return refused(NO_NETWORK)
        if unkept is not None:
            lines = structs.replace(lines, kept=not unkept, unkept=unkept)
        if lines.deletes and arguments.get("run_in_background") is True:
            lines = structs.replace(lines, kept=False, unkept=LATER)
        if typed and Effect.OUTSIDE in typed.effects:  # no sandbox contains what is typed there
            terms = structs.replace(terms, sandbox=Sandbox.NONE)
        decision = gate.decide(spec, touch, context.axes, terms, subject_of(arguments, touch.lines), lines)
        if touch.shell and context.read_only and self.outside.shell(touch.shell).grant.write_roots:
            return refused(f"{context.read_only}, and shell {touch.shell} can write; start another one")
        if touch.shell and exceeds(decision.grant, started := self.outside.shell(touch.shell).grant):
            return refused(
                f"shell {touch.shell} was started for {', '.join(started.effects)} and cannot do more; start "
                "another one with bash and run_in_background"
            )
        return Prepared(
            call, spec, arguments, touch, decision, typed, lines, terms=terms, axes=context.axes if bounds else None
        )

    def decided_at(self, prepared: Prepared, axes: Axes) -> Decision:
        """What would be decided on the same call at other axes, if what it deletes can be kept."""
        lines = structs.replace(prepared.lines, kept=True) if self.to_keep(prepared) else prepared.lines
        return gate.decide(prepared.spec, prepared.touch, axes, prepared.terms, prepared.subject, lines)

    def to_keep(self, prepared: Prepared) -> tuple[str, ...]:
        """What the call deletes, where it would need less approval if that were kept first."""
        spec, touch, lines = prepared.spec, prepared.touch, prepared.lines
        if prepared.decision.verdict is not Verdict.ASK or self.sandbox is not Sandbox.BWRAP or prepared.shell:
            return ()
        return () if lines.destroys or lines.kept or lines.unkept else gate.deleted(spec, touch, lines)

    def own_line(self, call: ToolCall, surface: Surface) -> Prepared | ToolResult:
        """A shell line of the user's own that runs with their rights, wherever the dials stand."""
        from quintet.domain.input import own_lines  # most sessions have none

        spec = self.specs.get(call.name)
        if spec is None:
            return refused(f"{call.name} is not installed here")
        try:
            arguments = spec.bind(call.arguments)
            touch, lines = self._judged(spec.touch(arguments), contained=False)
            rules = self.outside.rules()
        except QuintetError as error:
            return refused(str(error))
        subject = subject_of(arguments, touch.lines)
        decision = own_lines.decide(spec.name, touch, lines, rules, subject, self.terms.root, surface)
        return Prepared(call, spec, arguments, touch, decision, own_line=True)

    def _followed(self, touch: Touch) -> Touch:
        """With where links lead that a tool would read in folders of the system."""
        real = [self.outside.leads_to(path) for path in touch.reads if gate.may_be_shown(path)]
        return structs.replace(touch, reads=tuple(dict.fromkeys((*touch.reads, *real)))) if real else touch

    def _masked(self, spec: ToolSpec, context: CallContext) -> str:
        """Why the tool is not there to be called now; empty if it is. The gate speaks for the dials."""
        if not gate.visible(spec, context.axes) or spec.name in self.plan(context).tools:
            return ""
        if context.stage in policy.TOOLLESS:
            return f"no tool may be called in stage {context.stage}: answer with text"
        if context.stage in policy.READING_STAGES:
            what = "a review" if context.stage is Stage.QA_REVIEW else "a verification"
            if not spec.effects:  # as a toolset, a todo, or the end of the turn
                return f"{spec.name} has no use in {what}: read what you need, then answer with text"
            return f"{spec.name} does more than reading, and {what} may only read"
        if spec.name == FINISH_STEP:
            return f"{spec.name} is available only in a workflow"
        if context.allowed is not None and spec.name not in context.allowed:
            return f"{spec.name} is not among this agent's tools: {', '.join(sorted(context.allowed))}"
        if spec.name == REQUEST_TOOLS:
            return ""
        homes = ", ".join(toolsets_of(spec.name, self._menu.toolsets))
        return f"{spec.name} is not in this toolset; it is in: {homes}. Use menu_enter to go there."

    def _judged(self, touch: Touch, *, fresh: bool = True, contained: bool = True) -> tuple[Touch, JudgedLines]:
        if not touch.lines:
            return touch, NO_LINES
        from quintet.domain.shell.judge import with_lines  # a session that runs no line need not know what lines mean

        if contained and self.sandbox is Sandbox.BWRAP:
            return with_lines(touch, self._grammar.parse, fresh=fresh, is_there=self.outside.is_there)
        return with_lines(touch, self._grammar.parse, self.outside.leads_to, fresh=fresh)

    def _typed(self, touch: Touch) -> tuple[Touch, JudgedLines, Grant]:
        """What is typed where a shell waits for a line is a line; what another program makes of it, nobody knows."""
        shell = self.outside.shell(touch.shell)
        line = shell.begun + touch.lines[0]
        if not shell.folder:
            why = "typed into a program that is not a shell, or that is not waiting for a line"
        elif _MORE_THAN_TEXT.search(line):
            why = "typed keys, history or an incomplete line"
        else:
            outside = Effect.OUTSIDE in shell.grant.effects
            whole = structs.replace(touch, lines=(line,), folder=shell.folder)
            return *self._judged(whole, fresh=False, contained=not outside), shell.grant
        return Touch(frozenset({Effect.DESTROY}), why=why, lines=touch.lines), NO_LINES, shell.grant

    def revoked_shells(
        self, before: Axes, after: Axes, *, person: bool, rules: tuple[Rule, ...] = ()
    ) -> list[tuple[ShellState, str]]:
        """The running shells that may not continue after a dial was changed, each with the reason."""
        found = []
        for shell in self.outside.shells():
            home = self.home(shell.call.name)
            contexts = [CallContext(axes, home, rules=rules) for axes in (before, after)]
            was, now = (self.prepare(shell.call, context, person=person) for context in contexts)
            if isinstance(was, ToolResult) or isinstance(now, ToolResult):
                reason = next(result.content for result in (now, was) if isinstance(result, ToolResult))
                found.append((shell, reason))
            elif gate.withdrawn(shell.grant, was.decision, now.decision, tightens(before, after)):
                found.append((shell, now.decision.reason))
        return found

    async def end_shell(self, name: str, why: str) -> None:
        await self.outside.end_shell(name, why)

    def digest(self, prepared: Prepared, axes: Axes) -> str:
        """Names the exact call an approval is for: arguments, axes, and the files it would change as they are."""
        parts = [prepared.spec.name, prepared.call.arguments, *prepared.touch.lines, self.terms.root, str(axes)]
        parts += [self.outside.digest(path) for path in prepared.touch.writes]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def access(self, prepared: Prepared) -> str:
        """What the call may touch, in words. What is typed into a shell has what that shell was started with."""
        touch = prepared.touch
        return access(
            prepared.shell or prepared.decision.grant, self.sandbox, self.terms.root, command=is_command(touch)
        )

    def content(self, path: str) -> str:
        return self.outside.content(path)

    def unfit(self, prepared: Prepared) -> ToolResult | None:
        """The result of a call that cannot be done as the files are now; None if it may well be."""
        return self.outside.unfit(prepared.spec, prepared.arguments)

    def put_right(self) -> list[Noticed]:
        """The notices about what was done to the project's files after commands."""
        return [Noticed(level="warning", code=PUT_RIGHT, text=text) for text in self.outside.put_right()]

    async def run(
        self, prepared: Prepared, context: CallContext, *, person: bool, progress: Callable[[str], None]
    ) -> ToolResult:
        of_call = {
            "call": prepared.call,
            "grant": prepared.decision.grant,
            "own_line": prepared.own_line,
            "progress": progress,
            "turn": TurnPlace(
                menu=self._manager(context),
                todos=context.todos,
                swe=context.swe or swe_phases.PhaseState(),
                step=context.step,
                may_wait=person and context.axes.run_control is not RunControl.AUTONOMOUS,
            ),
        }
        return await self.outside.run(prepared.spec, prepared.arguments, of_call)


def refused(text: str) -> ToolResult:
    return ToolResult(text, CallStatus.ERROR)


def _with_known(touch: Touch, context: CallContext) -> Touch:
    return touch if context.known is None else with_known(touch, context.known, context.axes)


def _mask(context: CallContext) -> tuple[object, ...]:
    """All of a context that decides which tools are within reach."""
    step = None if context.step is None else context.step.done
    return context.axes, context.swe and context.swe.phase, context.allowed, step
