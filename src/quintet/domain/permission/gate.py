"""The gate: may this call proceed? One pure function, `decide`, with its reason.

Hard limits (protected paths, deny rules, work mode) deny; the profile allows or asks; an allow rule of the user's may
lift that question; the safety harness, chat and manual run control only ever raise an Allow to an Ask. What would be
asked with nobody attached is not run.

An effect is judged by the sandbox it meets and by whether it can be taken back: in bubblewrap, code that nobody read is
`execute` if it gets the project and nothing else, and deleting what was kept just now is `edit`. Anywhere else both are
`destroy`.
"""

from __future__ import annotations

import posixpath
from enum import StrEnum
from fnmatch import fnmatchcase

from msgspec import Struct, field

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import (
    NETWORKED,
    NO_LINES,
    READING,
    Effect,
    Grant,
    JudgedLines,
    apart,
    exceeds,
    ordered,
)
from quintet.domain.permission.effects import Sandbox as Sandbox
from quintet.domain.permission.exposure import exposures, granted, keys_for
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces, opened
from quintet.domain.permission.protected_paths import PROTECTION, Protection, inside, is_write_protected
from quintet.domain.permission.question import is_command
from quintet.domain.permission.rules import ANY, Rule, allowing, denying, describe, is_exact, names_both
from quintet.domain.skills.use import SkillUse, folders
from quintet.domain.skills.use import refusal as skill_refusal
from quintet.domain.turn.tool_spec import ToolSpec, Touch


class Verdict(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Decision(Struct, frozen=True):
    verdict: Verdict
    reason: str
    effects: tuple[Effect, ...]
    grant: Grant = Grant()
    rule: str = ""  # the id of the user's rule that decided
    lifts: tuple[Effect, ...] = ()  # what an "always" would allow; empty: none is offered


class Terms(Struct, frozen=True):
    """What a decision rests on beside the call and the axes: where, with whom, in which sandbox, by which rules."""

    root: str
    person: bool = False
    sandbox: Sandbox = Sandbox.NONE
    rules: tuple[Rule, ...] = ()
    protection: Protection = PROTECTION
    specs: tuple[str, ...] = ("specs/**", "docs/specs/**")  # what plan may write
    reports: tuple[str, ...] = ("reports/**",)  # what review and research may write
    expose: tuple[str, ...] = ()  # commands that get a secret: "NAME: command *"
    readable_folders: tuple[str, ...] = field(
        default=(), name="shelves"
    )  # folders of Quintet's own that may be read: outputs too long to show
    hooks: tuple[str, ...] = ()  # files and folders of the project that git takes hooks and configuration from
    loopback_open: bool = True  # a command with a network reaches this machine's own ports and abstract sockets too
    home: str = ""
    shown: tuple[str, ...] = ()  # folders outside the project that the sandbox shows every command, read-only
    places: OpenedPlaces = NOTHING_OPENED  # what the user's settings show and give to what runs in a sandbox
    read_only: str = ""  # why nothing may be changed now, whatever the work mode; empty: it may
    skills: tuple[SkillUse, ...] = ()  # that the turn works by: they narrow what it may do


_STEPS: dict[PermissionProfile, frozenset[Effect]] = {
    PermissionProfile.RESTRICTED: READING,
    PermissionProfile.NORMAL: frozenset({Effect.EDIT, Effect.EXECUTE}),
    PermissionProfile.TRUSTED: frozenset({Effect.BUILD, Effect.INSTALL, Effect.COMMIT}),
    PermissionProfile.UNRESTRICTED: frozenset({Effect.NETWORK}),
}
UNASKED: dict[PermissionProfile, frozenset[Effect]] = {
    profile: frozenset().union(*(effects for step, effects in _STEPS.items() if step.rank <= profile.rank))
    for profile in PermissionProfile
}
ALWAYS_ASKS = frozenset({Effect.OUTSIDE, Effect.DESTROY, Effect.PUBLISH})
RUNNING = frozenset({Effect.EXECUTE, Effect.BUILD})
CONTAINED = RUNNING | {Effect.INSTALL, Effect.COMMIT}  # effects that need no approval only in a whole sandbox
READ_ONLY_MODES = frozenset({WorkMode.PLAN, WorkMode.REVIEW, WorkMode.RESEARCH})
NEVER_READ_ONLY = frozenset({Effect.INSTALL, Effect.COMMIT, Effect.OUTSIDE, Effect.DESTROY, Effect.PUBLISH})
READABLE_FOLDERS = ("/usr",)  # for the file tools, where a sandbox shows more to commands
READABLE_FILES = frozenset(
    f"/etc/{name}"
    for name in (
        "debian_version",
        "hostname",
        "hosts",
        "issue",
        "localtime",
        "lsb-release",
        "machine-info",
        "os-release",
    )
)
GIT = "git"  # what tools need that run git in the sandbox
SHELL = "bash"  # the tool that rules on lines name
EDITORS = frozenset({"Edit", "Write"})  # whose changes can be accepted for a whole session
_DELETES = frozenset({Effect.DESTROY})
_NOTHING: frozenset[Effect] = frozenset()
_DOING = {
    Effect.READ: "reading",
    Effect.EDIT: "changing files",
    Effect.EXECUTE: "running a program",
    Effect.BUILD: "building or testing",
    Effect.INSTALL: "installing",
    Effect.COMMIT: "changing the repository",
    Effect.FETCH: "reading the web",
    Effect.NETWORK: "using the network",
    Effect.OUTSIDE: "accessing something outside the project",
    Effect.DESTROY: "doing something that cannot be undone",
    Effect.PUBLISH: "publishing",
}
_BRIEF = 160
_PLAIN_LINES = "plain reading commands (`ls -l src`, `grep -n word a.py`); use Read, grep, glob and git_* for the rest"
_NOT_CONTAINED = {Sandbox.PARTIAL: "the sandbox is partial", Sandbox.NONE: "there is no sandbox"}


def visible(spec: ToolSpec, axes: Axes) -> bool:
    """Whether the tool is any use at this profile and in this work mode: shown to the model, and callable."""
    return spec.profile.rank <= axes.permission_profile.rank and not _useless(spec, axes)


def _useless(spec: ToolSpec, axes: Axes) -> bool:
    """Whether the work mode denies every call of the tool. What a shell line does is up to the line."""
    return axes.work_mode in READ_ONLY_MODES and bool(spec.effects & NEVER_READ_ONLY) and not _runs_lines(spec)


def unasked(axes: Axes) -> frozenset[Effect]:
    """The effects that need no approval at these axes, the user's rules aside."""
    if axes.run_control is RunControl.MANUAL:
        return _NOTHING
    building = axes.work_mode in (WorkMode.BUILD, WorkMode.REPAIR)
    return UNASKED[axes.permission_profile] if building else READING


class _Case(Struct, frozen=True):
    """One call before the gate."""

    spec: ToolSpec
    touch: Touch
    lines: JudgedLines
    axes: Axes
    terms: Terms
    effects: frozenset[Effect]  # those of the touch, as its sandbox and a snapshot leave them
    unread: str = ""  # why code that nobody read needs approval here


def decide(
    spec: ToolSpec, touch: Touch, axes: Axes, terms: Terms, subject: str = "", lines: JudgedLines = NO_LINES
) -> Decision:
    """Allow, ask or deny one call of `spec` whose arguments mean `touch`; `subject` is what rules go by.

    `lines`: what the call's shell lines mean, if it has any.
    """
    root = terms.root
    away = [path for path in touch.writes if inside(path, root) is None]
    case = _case(spec, touch, axes, terms, lines, touch.effects | {Effect.OUTSIDE} if away else touch.effects)
    effects = case.effects
    if refusal := _refusal(case):
        return Decision(Verdict.DENY, refusal, ordered(effects))
    commands = (*lines.commands, *touch.subjects)
    rule = denying(terms.rules, spec.name, subject, root, commands)
    if rule or (touch.lines and (rule := denying(terms.rules, SHELL, subject, root, commands))):
        return Decision(
            Verdict.DENY, f"your rule {rule.id} denies it: {describe(rule)}", ordered(effects), rule=rule.id
        )

    question, lifts = _question(case, away)
    rule = None
    rules = [rule for rule in terms.rules if names_both(rule.tool, rule.pattern)] if touch.asks else terms.rules
    if touch.subjects:  # no pattern speaks of all of them
        rules = [rule for rule in rules if rule.pattern == ANY and not rule.words]
    if lifts:
        simple = plain_words(spec, touch, terms, lines)
        rules = [rule for rule in rules if rule.session] if axes.work_mode is WorkMode.CHAT else rules
        rule = allowing(rules, spec.name, subject, root, lifts, simple)
    outside = next((path for path in touch.reads if not _readable(path, terms, spec)), None) if rule else None
    if outside:  # whoever made a rule for more than one line has not seen this path
        seen = [rule for rule in rules if Effect.READ in rule.effects or is_exact(rule)]
        rule = allowing(seen, spec.name, subject, root, lifts, simple)
        question = f"{_brief(outside)} is outside the project"
    if rule:
        question = ""
    if axes.run_control is RunControl.MANUAL and effects:
        question, lifts, rule = question or "run control is manual: each request needs approval", _NOTHING, None
    named = rule is not None and rule.pattern[:4] == "git "
    approved = bool(question) or named
    keys = keys_for(effects, lines.commands, lines.parts, approved=approved, user_line=touch.user_line)
    grant = _grant(case, keys)
    if question:
        reason = question if terms.person else f"{question}; nobody can approve it in this run"
        return Decision(Verdict.ASK, reason, ordered(effects), grant, lifts=ordered(lifts))
    if rule:
        return Decision(Verdict.ALLOW, f"your rule {rule.id}: {describe(rule)}", ordered(effects), grant, rule=rule.id)
    kept = "; what it deletes was saved, /rewind restores it" if lines.kept and effects != touch.effects else ""
    return Decision(Verdict.ALLOW, f"{_why_allowed(effects, axes)}{kept}", ordered(effects), grant)


def plain_words(spec: ToolSpec, touch: Touch, terms: Terms, lines: JudgedLines) -> tuple[str, ...]:
    """The words that a rule for the beginning of a line goes by: of one plain command, in the project's own folder.

    None where only the words would contain it, where a shell was told things before, where it names what is outside,
    and where it has a network: the rest of its words could say where to.
    """
    if touch.effects & NETWORKED:
        return ()
    here = touch.folder.rstrip("/") in ("", ".", terms.root) and not touch.shell
    if not lines.simple or terms.sandbox is not Sandbox.BWRAP or not here:
        return ()
    return lines.simple if all(_readable(path, terms, spec) for path in touch.reads) else ()


def deleted(spec: ToolSpec, touch: Touch, lines: JudgedLines) -> tuple[str, ...]:
    """What is lost by a call that deletes: files, folders and patterns of the shell."""
    return lines.deletes or (touch.writes if spec.confined and touch.effects == _DELETES else ())


def _case(
    spec: ToolSpec, touch: Touch, axes: Axes, terms: Terms, lines: JudgedLines, effects: frozenset[Effect]
) -> _Case:
    """The call with what can be taken back, and what its sandbox contains, taken for no more than that."""
    if hidden := _hidden(spec, terms, lines):
        return _Case(spec, touch, lines, axes, terms, effects, unread=hidden)
    deletes = deleted(spec, touch, lines)
    relieved = Effect.DESTROY in effects and not lines.destroys and terms.sandbox is Sandbox.BWRAP
    if not relieved or not (deletes or lines.opaque) or (deletes and not lines.kept):
        return _Case(spec, touch, lines, axes, terms, effects)
    rest = effects - _DELETES
    rest |= ({Effect.EDIT} if deletes else _NOTHING) | ({Effect.EXECUTE} if lines.opaque else _NOTHING)
    if lines.opaque and (unread := _unread(spec, touch, terms, rest)):
        return _Case(spec, touch, lines, axes, terms, effects, unread=unread)
    return _Case(spec, touch, lines, axes, terms, rest)


def _unread(spec: ToolSpec, touch: Touch, terms: Terms, effects: frozenset[Effect]) -> str:
    """Why code that nobody read is not bounded by the project; empty if it gets that and nothing else."""
    if effects - READING - {Effect.EDIT} - RUNNING:
        return "with access to more than the project it could do anything"
    if any(not _readable(path, terms, spec) for path in touch.reads):
        return "it would also see something outside the project"
    if rule := next(iter(_denies(spec, terms)), None):
        return f"it could hide what your rule {rule.id} denies"
    return ""


def _denies(spec: ToolSpec, terms: Terms) -> list[Rule]:
    """The rules that deny lines here; one for bash holds for whatever else runs lines."""
    named = (ANY, spec.name, SHELL)
    return [r for r in terms.rules if r.verdict == "deny" and r.tool in named and r.project in ("", terms.root)]


def _hidden(spec: ToolSpec, terms: Terms, lines: JudgedLines) -> str:
    """Why a program that is not known may run what a rule denies; empty if no rule is concerned."""
    if not (lines.hides or lines.handed_on) or not (denies := _denies(spec, terms)):
        return ""
    found = denying(denies, SHELL, "", terms.root, lines.handed_on) or (denies[0] if lines.hides else None)
    return f"it could hide what your rule {found.id} denies" if found else ""


def withdrawn(held: Grant, before: Decision, after: Decision, tightened: bool) -> bool:
    """Whether what goes on under `held` may not go on: a changed dial grants less of it, or only with approval.

    `before` and `after` are the decisions on what began it, at the axes as they were and as they are.
    """
    if after.verdict is Verdict.ALLOW:
        return exceeds(held, after.grant) and not exceeds(held, before.grant)
    order = list(Verdict)
    stricter = order.index(after.verdict) > order.index(before.verdict)
    return tightened or stricter or exceeds(before.grant, after.grant)


def _refusal(case: _Case) -> str:
    """Why this cannot be approved; empty if it can."""
    spec, touch, axes, terms, effects = case.spec, case.touch, case.axes, case.terms, case.effects
    if _useless(spec, axes):
        return f"work mode {axes.work_mode} does not allow {_worst(spec.effects)}"
    if not visible(spec, axes):
        return f"{spec.name} needs profile {spec.profile} or above; this is {axes.permission_profile}"
    if touch.refused:
        return _brief(touch.refused)
    if touch.least and touch.least.rank > axes.permission_profile.rank:
        return f"it needs profile {touch.least} or above; this is {axes.permission_profile}"
    if terms.skills and (why := skill_refusal(terms.skills, spec.name, effects, case.lines)):
        return _brief(why)
    for path in touch.writes:
        if is_write_protected(inside(path, terms.root) or path):
            return f"{_brief(path)} is protected: no call may write it"
        if _runs_lines(spec) and (why := _asks(path, terms)):  # it is read-only in the sandbox, so a yes would not help
            return f"{_brief(path)} is protected from commands ({why}); the file tools can write it, with approval"
    for path in touch.reads + touch.writes:
        if terms.protection.private and terms.protection.is_private(inside(path, terms.root) or path):
            return f"{_brief(path)} is protected: it belongs to Quintet"
        if terms.protection.is_secret(path) and not _only_looked_for(path, case):
            return f"{_brief(path)} is protected: it may contain secrets; {_instead(path, touch, terms)}"
        if spec.confined and inside(path, terms.root) is None:
            return (
                f"{_brief(path)} is outside the project, and {spec.name} works only inside it; bash can read "
                "it, with approval"
            )
    work_mode = axes.work_mode
    changing = effects - READING - RUNNING - {Effect.NETWORK}
    if changing and terms.read_only:
        return f"{terms.read_only}, which does not allow {_worst(changing)}"
    if changing and work_mode in READ_ONLY_MODES:
        editing = changing == {Effect.EDIT}
        if not (editing and _own_artifact(touch, axes, terms)):
            only = ", except in " + ", ".join(_artifacts(axes, terms)) if editing else ""
            return f"work mode {work_mode} does not allow {_worst(changing)}{only}"
    if terms.sandbox is Sandbox.NONE and _uncontained(case):
        if terms.read_only:
            return f"{terms.read_only}; without a sandbox it runs only {_PLAIN_LINES}"
        if work_mode in READ_ONLY_MODES:
            return f"work mode {work_mode}, without a sandbox, runs only {_PLAIN_LINES}"
        if axes.permission_profile is PermissionProfile.RESTRICTED:
            return f"profile restricted, without a sandbox, runs only {_PLAIN_LINES}"
    return ""


def _uncontained(case: _Case) -> bool:
    """Whether nothing but a judgement of words says that a line does no more than it is judged to do."""
    plain = case.lines.plain and not case.effects - READING
    return case.terms.sandbox is not Sandbox.BWRAP and _runs_lines(case.spec) and bool(case.effects) and not plain


def _runs_lines(spec: ToolSpec) -> bool:
    """Whether what the tool does is up to a shell line."""
    return Effect.EXECUTE in spec.effects


def _artifacts(axes: Axes, terms: Terms) -> tuple[str, ...]:
    return terms.specs if axes.work_mode is WorkMode.PLAN else terms.reports


def _own_artifact(touch: Touch, axes: Axes, terms: Terms) -> bool:
    """Whether every path written is one the work mode leaves behind."""
    patterns = _artifacts(axes, terms)
    paths = [inside(path, terms.root) for path in touch.writes]
    return bool(paths) and all(path and any(fnmatchcase(path, pattern) for pattern in patterns) for path in paths)


def _question(case: _Case, away: list[str]) -> tuple[str, frozenset[Effect]]:
    """Why this has to be asked (empty if it may proceed), and the effects a rule could lift."""
    touch, axes, terms, effects = case.touch, case.axes, case.terms, case.effects
    why = f" ({_brief(touch.why)})" if touch.why else ""
    mixed = apart(case.lines.parts)
    if mixed and not touch.asks:
        why += f"; {mixed}"
    if away:
        return f"{_brief(away[0])} is outside the project", _NOTHING
    asked = [] if _runs_lines(case.spec) else [path for path in touch.writes if _asks(path, terms)]
    if asked:  # to a command they are closed
        more = f" (one of {len(asked)} paths like this)" if touch.moves and len(asked) > 1 else ""
        return f"{_brief(asked[0])} needs approval each time: {_asks(asked[0], terms)}{more}", _NOTHING
    if case.unread:
        return f"{_brief(touch.why)}: {case.unread}{'; ' + mixed if mixed else ''}", _NOTHING
    if harness := effects & ALWAYS_ASKS:
        if harness == _DELETES and case.lines.unkept:
            why = f": {case.lines.unkept}{why}"
        own = harness == _DELETES and terms.sandbox is Sandbox.BWRAP and not case.lines.opaque
        lifts = effects - READING if own and axes.work_mode is not WorkMode.CHAT else _NOTHING
        return f"{_DOING[_last(harness)]} always needs approval{why}", lifts
    if axes.work_mode is WorkMode.CHAT and effects - READING:
        editing = case.spec.name in EDITORS and effects == {Effect.EDIT}
        return f"in chat every change needs approval{why}", effects if editing else _NOTHING
    if touch.asks:
        lifted = ", unless one of your rules allows it" if effects - READING else ""
        return f"{touch.asks}: it needs approval{lifted}{why}", effects - READING
    if beyond := effects - UNASKED[axes.permission_profile]:
        return f"{_DOING[_last(beyond)]} needs approval in profile {axes.permission_profile}{why}", effects - READING
    if _uncontained(case):
        lifts = (effects | {Effect.EXECUTE}) - READING
        return f"{_NOT_CONTAINED[terms.sandbox]}: every command except plain reading needs approval{why}", lifts
    if terms.sandbox is not Sandbox.BWRAP and effects & CONTAINED:
        doing = _DOING[_last(effects & CONTAINED)]
        return f"{_NOT_CONTAINED[terms.sandbox]}: {doing} needs approval{why}", effects - READING
    if mixed:
        return mixed, effects - READING
    if effects & RUNNING and (opened := effects & (NETWORKED | {Effect.COMMIT})):
        both = f"{_DOING[_last(effects & RUNNING)]} together with {_DOING[_last(opened)]}"
        return f"{both} needs approval{why}", effects - READING
    if outside := next((path for path in touch.reads if not _readable(path, terms, case.spec)), None):
        return f"{_brief(outside)} is outside the project", frozenset({Effect.READ})
    return "", _NOTHING


def _only_looked_for(path: str, case: _Case) -> bool:
    """Whether a secret file is not opened, and no name beside it is told: a folder of secrets is not listed."""
    within = inside(path, case.terms.root) is not None
    return within and path in case.lines.named and not case.terms.protection.is_secret_folder(path)


def _instead(path: str, touch: Touch, terms: Terms) -> str:
    """What a person can do who needs it all the same."""
    if terms.protection.is_secret_folder(path):
        return "use it yourself in a terminal"
    name = _brief(path.rstrip("/").rpartition("/")[2])
    free = f'if it contains no secrets, add not_secrets = ["{name}"] under [protect] in your settings'
    return f"write it yourself in a terminal, or {free}" if path in touch.writes else free


def _asks(path: str, terms: Terms) -> str:
    """Why writing this path of the project takes a yes each time; empty if it does not."""
    within = inside(path, terms.root)
    if not within:
        return ""
    if any(f"{within}/".startswith(f"{place}/") or place.startswith(f"{within}/") for place in terms.hooks):
        return "git runs programs that its configuration names"
    return terms.protection.asks(within)


def _readable(path: str, terms: Terms, spec: ToolSpec) -> bool:
    """Whether a path may be read unasked: the project's, and what the sandbox shows every command anyway."""
    if inside(path, terms.root) is not None or _shown(path, terms, spec):
        return True
    own = (*terms.readable_folders, *folders(terms.skills))
    return path.startswith("/") and any(inside(path, folder) is not None for folder in own)


def may_be_shown(path: str) -> bool:
    """Whether a file tool may read this outside the project, if it is what it seems to be."""
    return path in READABLE_FILES or any(path.startswith(f"{folder}/") for folder in READABLE_FOLDERS)


def _shown(path: str, terms: Terms, spec: ToolSpec) -> bool:
    """Whether the sandbox shows this to every command; the file tools, which run outside it, get less of it."""
    if terms.sandbox is not Sandbox.BWRAP or path[:1] != "/" or terms.protection.is_secret(path):
        return False
    if not _runs_lines(spec) and (spec.toolset or path in READABLE_FILES):
        return not spec.toolset  # a tool of the user's own may be meant for more than reading
    return any(inside(path, folder) is not None for folder in (terms.shown if _runs_lines(spec) else READABLE_FOLDERS))


def _grant(case: _Case, keys: tuple[str, ...]) -> Grant:
    """What the call gets. In the reading work modes the project stays read-only but for the mode's own artifact."""
    axes, terms, effects, root = case.axes, case.terms, case.effects, case.terms.root
    if not effects - READING or terms.read_only:
        roots: tuple[str, ...] = ()
    elif axes.work_mode in READ_ONLY_MODES:
        artifact = Effect.EDIT in effects
        roots = tuple(f"{root}/{_folder(pattern)}" for pattern in _artifacts(axes, terms)) if artifact else ()
    else:
        roots = (root,)
    reads = [path for path in case.touch.reads if path.startswith(("/", "..", "~/")) and inside(path, root) is None]
    if _runs_lines(case.spec):
        reads = [path for path in reads if not _shown(path, terms, case.spec)]
    outside = tuple(_whole(path, terms) for path in reads)
    secrets = granted(case.touch.effects, case.lines.commands, exposures(terms.expose)) if terms.expose else ()
    grant = Grant(ordered(effects), roots, bool(effects & NETWORKED), outside, secrets, keys)
    contained = (is_command(case.touch) or GIT in case.spec.needs) and Effect.OUTSIDE not in effects
    if terms.skills and contained:  # a script of a skill's reads the files beside it
        reads_too = tuple(dict.fromkeys((*outside, *folders(terms.skills))))
        grant = Grant(grant.effects, roots, grant.network, reads_too, secrets, keys)
    return opened(grant, terms.places, writes=bool(roots)) if contained else grant


def _folder(pattern: str) -> str:
    """The folder that holds everything a pattern can match."""
    fixed = pattern.split("*")[0]
    return fixed.rpartition("/")[0] or "."


def _whole(path: str, terms: Terms) -> str:
    if path[:2] == "~/" and terms.home:
        return posixpath.normpath(terms.home + path[1:])
    return posixpath.normpath(posixpath.join(terms.root, path))


def _why_allowed(effects: frozenset[Effect], axes: Axes) -> str:
    if not effects:
        return "has no effect outside the run"
    return f"profile {axes.permission_profile} allows {', '.join(ordered(effects))}"


def _brief(text: str) -> str:
    """Words of the call's own in one short line, so that they can neither hide a reason nor pass for one."""
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[:_BRIEF]}…"


def _worst(effects: frozenset[Effect]) -> str:
    return _DOING[_last(effects)]


def _last(effects: frozenset[Effect]) -> Effect:
    return ordered(effects)[-1]
