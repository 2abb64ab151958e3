"""What a shell line would do, found before it runs.

`judge` takes a line as its grammar gives it and adds up its commands: effects, the files it names, and the worst of it
in a few words. What is not read here is opaque, what is not understood too. Pure; any script gives an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import EFFECT_ORDER, NO_LINES, Effect, JudgedLines, LinePart
from quintet.domain.shell.arguments import DELETE, DESTROY, OPAQUE, READ, effect_set
from quintet.domain.shell.line_effects import LineEffects, spellings
from quintet.domain.shell.paths import joined
from quintet.domain.shell.read_only_commands import plain_paths
from quintet.domain.shell.syntax import Script
from quintet.domain.turn.tool_spec import Touch


class JudgedLine(Struct, frozen=True, gc=False):
    """What one line would do; the fields are those of a `Touch` and of `JudgedLines`."""

    effects: frozenset[Effect]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    why: str = ""
    commands: tuple[str, ...] = ()
    parts: tuple[LinePart, ...] = ()
    named: tuple[str, ...] = ()
    opaque: bool = False
    deletes: tuple[str, ...] = ()
    destroys: bool = False
    mixes: bool = False  # it deletes, and then does more than read
    hides: bool = False
    handed_on: tuple[str, ...] = ()
    simple: tuple[str, ...] = ()


def with_lines(
    touch: Touch,
    parse: Callable[[str], Script],
    leads_to: Callable[[str], str] | None = None,
    *,
    fresh: bool = True,
    is_there: Callable[[str], bool] | None = None,
) -> tuple[Touch, JudgedLines]:
    """The touch of a call that runs shell lines with what these do, and what else they mean.

    `leads_to` says where a path really is, links followed: given where nothing contains the lines. `fresh`: they are
    run by a shell of their own, which nobody has told anything before. `is_there` says whether this machine has a path:
    given where a whole sandbox contains the lines, which has a home and a /tmp of its own.
    """
    if not touch.lines:
        return touch, NO_LINES
    meant = [judge(parse(line), touch.folder, parse) for line in touch.lines]
    worst = max(meant, key=lambda one: max(map(EFFECT_ORDER.index, one.effects)))
    plain_reads = [plain_paths(line) for line in touch.lines] if fresh else [None]
    reads = dict.fromkeys((*touch.reads, *(path for one in meant for path in one.reads)))
    reads |= dict.fromkeys(joined(touch.folder, path) for paths in plain_reads for path in paths or ())
    writes = dict.fromkeys((*touch.writes, *(path for one in meant for path in one.writes)))
    named = {path for one in meant for path in one.named}
    opened = {*touch.reads, *(path for one in meant for path in one.reads if path not in one.named)}
    if leads_to is not None:
        reads |= dict.fromkeys(map(leads_to, reads))
        writes |= dict.fromkeys(map(leads_to, writes))
        named |= set(map(leads_to, named))
        opened |= set(map(leads_to, opened))
    if is_there is not None:
        reads = {path: None for path in reads if not _in_own_home(path, is_there)}
    if is_there is not None and _keeps_to_own_tmp((*reads, *writes), is_there):
        reads = {path: None for path in reads if not _in_tmp(path)}
        writes = {path: None for path in writes if not _in_tmp(path)}
    does = structs.replace(
        touch,
        effects=touch.effects.union(*(one.effects for one in meant)),
        reads=tuple(reads),
        writes=tuple(writes),
        why=touch.why or worst.why,
    )
    return does, JudgedLines(
        commands=tuple(command for one in meant for command in one.commands),
        parts=tuple(dict.fromkeys(part for one in meant for part in one.parts)),
        plain=None not in plain_reads,
        named=tuple(sorted(named - opened)),
        opaque=any(one.opaque for one in meant),
        deletes=tuple(dict.fromkeys(path for one in meant for path in one.deletes)),
        destroys=any(
            one.destroys or (one.mixes and _unordered(line)) for one, line in zip(meant, touch.lines, strict=True)
        )
        or _deletes_late(meant),
        simple=meant[0].simple if len(meant) == 1 else (),
        hides=any(one.hides for one in meant),
        handed_on=tuple(command for one in meant for command in one.handed_on),
    )


_UNORDERED = regex(r"(?<![|&>])[|&](?![|&>])|\b(?:for|while|until|select|function|coproc)\b|[({]")


def _unordered(line: str) -> bool:
    """Whether what stands behind a deletion may run beside it, or before it once more."""
    return _UNORDERED.search(line) is not None


def _deletes_late(meant: Sequence[JudgedLine]) -> bool:
    """Whether a line deletes what one before it may have made or moved."""
    changed = [bool(one.effects - {Effect.READ, Effect.DESTROY}) or one.opaque for one in meant]
    return any(one.deletes and any(changed[:place]) for place, one in enumerate(meant))


def _in_tmp(path: str) -> bool:
    return path.startswith("/tmp/")


def _in_own_home(path: str, is_there: Callable[[str], bool]) -> bool:
    """Whether a path can only mean the sandbox's home, which is empty: the home itself, or what this machine lacks."""
    return path == "~" or (path[:2] == "~/" and ".." not in path and not is_there(path))


def _keeps_to_own_tmp(paths: Iterable[str], is_there: Callable[[str], bool]) -> bool:
    """Whether all that is named in /tmp can only be the sandbox's own: this machine has nothing of that name.

    If it has, the line may mean that, and is judged as one that leaves the project.
    """
    named = [path for path in paths if _in_tmp(path) or "/tmp/".startswith(f"{path.rstrip('/')}/")]
    return bool(named) and all(_in_tmp(path) and not is_there("/".join(path.split("/")[:3])) for path in named)


def judge(script: Script, folder: str = "", parse: Callable[[str], Script] | None = None) -> JudgedLine:
    """The effects of a whole line run in `folder`: the union over its commands. Never raises."""
    try:
        return judged_line(script, folder, parse)
    except Exception as error:  # a fault of ours, and no reason to let the line pass
        why = f"not understood: an internal error of Quintet ({type(error).__name__})"
        return JudgedLine(effect_set(OPAQUE), why=why, opaque=True)


def judged_line(script: Script, folder: str = "", parse: Callable[[str], Script] | None = None) -> JudgedLine:
    """`parse` reads the lines that stand in a word: `bash -c '…'`; without it they are not read."""
    line = LineEffects(folder, script, parse)
    line.add_script()
    return JudgedLine(
        effect_set(line.effects or READ),
        tuple(line.reads | line.looked_for),
        tuple(line.writes),
        line.why,
        tuple(spelling for words in line.commands for spelling in spellings(words)),
        line.parts(),
        tuple(path for path in line.looked_for if path not in line.reads),
        opaque=bool(line.effects & OPAQUE),
        deletes=tuple(line.deletes),
        destroys=bool(line.effects & DESTROY),
        mixes=bool(line.effects & DELETE and line.effects & ~(READ | DELETE)),
        simple=_simple(script),
        hides=line.hides,
        handed_on=tuple(line.handed_on),
    )


def _simple(script: Script) -> tuple[str, ...]:
    """The words of a line that is one plain command and nothing else: no redirection, assignment or expansion."""
    if len(script.commands) != 1 or script.problem or script.spans or script.evaluates or script.defaults:
        return ()
    command = script.commands[0]
    if command.assignments or command.redirects or any(word.dynamic or word.parts for word in command.words):
        return ()
    return tuple(word.text for word in command.words)
