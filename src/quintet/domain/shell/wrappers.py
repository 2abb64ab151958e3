"""Programs that run another: what they add, and the command they run, which is judged too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.arguments import (
    DELETE,
    DESTROY,
    EDIT,
    EXECUTE,
    INSTALL,
    NETWORK,
    NONE,
    OPAQUE,
    OUTSIDE,
    READ,
    Effects,
    Judged,
    names,
    plain,
    specification,
)
from quintet.domain.shell.syntax import Word
from quintet.domain.shell.variables import PIPED

# name → what it adds by itself, its flags, and how many operands stand before the command
WRAPPERS: dict[str, tuple[Effects, str, int]] = {
    "nice": (NONE, "n= adjustment=", 0),
    "ionice": (NONE, "c= n= t class= classdata= ignore", 0),
    "timeout": (NONE, "s= k= v p f signal= kill-after= preserve-status foreground verbose", 1),
    "time": (NONE, "p v f= format= portability verbose", 0),
    "stdbuf": (NONE, "i= o= e= input= output= error=", 0),
    "builtin": (NONE, "", 0),
    "exec": (NONE, "c l a=", 0),
    "busybox": (NONE, "", 0),
    "toybox": (NONE, "", 0),
    "chronic": (NONE, "v e", 0),
    "unbuffer": (NONE, "p", 0),
    "caffeinate": (NONE, "d i m s u", 0),
    "taskset": (NONE, "c a", 1),
    "numactl": (NONE, "", 0),
    "faketime": (NONE, "f", 1),
    "flock": (EDIT, "n s x u o e w= E= nonblock shared exclusive timeout= wait=", 1),
    "setarch": (NONE, "R B F I L S T X Z v 3 p addr-no-randomize verbose", 1),
    "linux64": (NONE, "R v", 0),
    "linux32": (NONE, "R v", 0),
    "i386": (NONE, "R v", 0),
    "x86_64": (NONE, "R v", 0),
    "chrt": (NONE, "b f i o r R batch fifo idle other rr reset-on-fork", 1),
    "strace": (EXECUTE, "f e= s= c v t T y q", 0),
    "ltrace": (EXECUTE, "f e= s= c", 0),
    "nohup": (EXECUTE, "", 0),
    "setsid": (EXECUTE, "w f c wait fork ctty", 0),
    "sudo": (OUTSIDE, "u= g= n E H S k A b C= p= h= D= user= group= preserve-env non-interactive stdin", 0),
    "doas": (OUTSIDE, "u= n", 0),
    "pkexec": (OUTSIDE, "user=", 0),
    "runuser": (OUTSIDE, "u= g= user=", 0),
    "gosu": (OUTSIDE, "", 1),
    "chroot": (OUTSIDE, "userspec= groups= skip-chdir", 1),
    "unshare": (OUTSIDE, "r m n p u i U f map-root-user mount net pid user fork mount-proc", 0),
    "nsenter": (OUTSIDE, "t= m n p u i a target= mount net pid all", 0),
    "setpriv": (OUTSIDE, "reuid= regid= clear-groups", 0),
    "prlimit": (OUTSIDE, "", 0),
    "proxychains": (NETWORK, "q f=", 0),
    "torsocks": (NETWORK, "", 0),
    "npx": (INSTALL | EXECUTE, "y yes no-install p= package= q quiet", 0),
    "bunx": (INSTALL | EXECUTE, "", 0),
    "pnpx": (INSTALL | EXECUTE, "", 0),
    "uvx": (INSTALL | EXECUTE, "from= with= p= python= q", 0),
}
# program and subcommand → the same
RUNNERS: dict[tuple[str, str], tuple[Effects, str, int]] = {
    ("uv", "run"): (EDIT, "p= python= with= extra= group= q isolated no-sync frozen locked all-extras dev", 0),
    ("poetry", "run"): (NONE, "", 0),
    ("pipenv", "run"): (NONE, "", 0),
    ("pdm", "run"): (NONE, "", 0),
    ("rye", "run"): (NONE, "", 0),
    ("hatch", "run"): (EXECUTE, "", 0),
    ("bundle", "exec"): (NONE, "", 0),
    ("npm", "exec"): (INSTALL | EXECUTE, "y yes p= package=", 0),
    ("yarn", "exec"): (NONE, "", 0),
    ("pnpm", "exec"): (NONE, "", 0),
    ("pnpm", "dlx"): (INSTALL | EXECUTE, "", 0),
    ("yarn", "dlx"): (INSTALL | EXECUTE, "", 0),
    ("pipx", "run"): (INSTALL | EXECUTE, "spec=", 0),
    ("conda", "run"): (NONE, "n= p= name=", 0),
}
# Else it gets no network: what `uv sync` put there runs, and what is missing fails.
_FETCHES = ("--with", "--isolated", "--refresh", "--upgrade", "-U", "--reinstall")
# Of the tools that npx and its like run, those that a project has as its own; they get no network either.
_OF_THE_PROJECT = word_set(
    "tsc eslint prettier jest vitest mocha webpack rollup esbuild stylelint biome ava tap vite next nx turbo "
    "tsx ts-node playwright cypress"
)
_SHELL_MARKS = frozenset(" \t\n;|&<>()$`\"'\\*?[]{}")


def wrapped(program: str, words: Sequence[Word]) -> Judged:
    effects, flags, operands = WRAPPERS[program]
    if effects == INSTALL | EXECUTE and len(words) > 1 and words[1].text in _OF_THE_PROJECT and not words[1].dynamic:
        effects = EXECUTE
    return _unwrapped(program, effects, flags, operands, words[1:])


def runner(program: str, words: Sequence[Word]) -> Judged | None:
    """`uv run x` and its like; None if this is no such line."""
    if len(words) < 2:
        return None
    row = RUNNERS.get((program, words[1].text))
    if row and program == "uv" and any(word.text.startswith(_FETCHES) for word in words[2:]):
        row = (row[0] | INSTALL, *row[1:])
    return _unwrapped(f"{program} {words[1].text}", *row, words[2:]) if row else None


def _unwrapped(program: str, effects: Effects, flags: str, operands: int, rest: Sequence[Word]) -> Judged:
    place, values, odd = _own_flags(program, rest, specification(flags))
    if odd:
        return plain(program, effects | DESTROY, rest, f"{odd} is a flag Quintet does not know")
    inner = rest[place + operands :]
    reads = names(values)
    if program in ("chroot", "flock"):
        reads += names(rest[place : place + operands])
    if any(word.dynamic for word in rest[place : place + operands]):
        effects |= EXECUTE
    if not inner:
        return Judged(effects or READ, f"{program}: reads", reads)
    if inner[0].text[:1] == "-":  # a flag behind the operands: what it means is the program's business
        return plain(program, effects | DESTROY, rest, f"{inner[0].text} is a flag Quintet does not know")
    return Judged(effects, f"{program}: {_ADDS.get(program, 'runs a command')}", reads, inner=(inner,))


def _own_flags(program: str, rest: Sequence[Word], known: dict[str, bool]) -> tuple[int, list[Word], str]:
    """How many words are the wrapper's own, the values among them, and the first flag that is not known."""
    place = 0
    values: list[Word] = []
    while place < len(rest) and rest[place].text[:1] == "-" and not rest[place].dynamic:
        text = rest[place].text
        place += 1
        if text == "--":
            break
        if program == "nice" and text[1:].isdigit():
            continue
        long, equals, _ = text[2:].partition("=")
        flags = [long] if text[1:2] == "-" else list(text[1:])
        for index, flag in enumerate(flags, 1):
            if flag not in known:
                return place, values, text
            if known[flag]:
                alone = not equals if text[1:2] == "-" else index == len(flags)
                if alone:
                    values += rest[place : place + 1]
                    place += 1
                break
    return place, values, ""


_ADDS = {
    "sudo": "more rights",
    "doas": "more rights",
    "pkexec": "more rights",
}


def command(words: Sequence[Word]) -> Judged:
    if len(words) > 1 and words[1].text in ("-v", "-V"):
        return Judged(READ, "command -v: reads")
    rest = words[2:] if len(words) > 1 and words[1].text in ("-p", "--") else words[1:]
    return Judged(NONE if rest else READ, "command: runs a command", inner=(rest,) if rest else ())


def su(words: Sequence[Word]) -> Judged:
    return plain("su", OUTSIDE | DESTROY, words[1:], "more rights")


def entr(words: Sequence[Word]) -> Judged:
    return _fed(_unwrapped("entr", NONE, "n r c d p a z x", 0, words[1:]))


_MARK = regex(r"[^\w./-]")  # in which a mark may stand that is filled in: `{}`, `%`


def xargs(words: Sequence[Word]) -> Judged:
    flags = (
        "0 r t x n= P= I= L= d= s= E= null no-run-if-empty max-args= max-procs= replace= delimiter= verbose max-lines= "
        "a= arg-file="
    )
    judged = _unwrapped("xargs", NONE, flags, 0, words[1:])
    if judged.inner and any(word.text[:2] in ("-I", "-i") or word.text[:9] == "--replace" for word in words[1:]):
        filled = [Word(word.text, True) if _MARK.search(word.text) else word for word in judged.inner[0]]
        judged = Judged(judged.effects, judged.why, judged.reads, inner=(filled,))
    return _fed(judged)


def _fed(judged: Judged) -> Judged:
    """The command is given what comes through the pipe."""
    if not judged.inner:
        return judged
    return Judged(judged.effects, judged.why, judged.reads, inner=((*judged.inner[0], PIPED),))


def shellish(program: str, words: Sequence[Word]) -> Judged:
    """watch and its like: what they run goes through a shell once more, so only plain words stay what they are."""
    spec = {
        "watch": "n= d t interval= differences no-title x exec",
        "parallel": "j= k jobs= keep-order",
        "hyperfine": "w= r= m= M= N warmup= runs= shell= export-json= export-markdown=",
    }[program]
    judged = _unwrapped(program, NONE, spec, 0, words[1:])
    if (
        any(word.text[:3] == ":::" for word in words)
        or not judged.inner
        or any(word.dynamic or _SHELL_MARKS & set(word.text) for word in words[1:])
    ):
        return plain(program, OPAQUE, words[1:], "code on the command line")
    inner = judged.inner[0]
    return Judged(NONE, judged.why, (), inner=((*inner, PIPED) if program == "parallel" else inner,))


def script(words: Sequence[Word]) -> Judged:
    return plain("script", OPAQUE, words[1:], "starts another shell")


_TESTS = specification(
    "name= iname= path= ipath= wholename= regex= iregex= type= xtype= size= mtime= mmin= atime= amin= ctime= cmin= "
    "newer= newermt= anewer= cnewer= perm= user= group= uid= gid= maxdepth= mindepth= empty print print0 printf= ls "
    "prune o a not or and true false quit depth daystart follow xdev mount readable writable executable links= inum= "
    "samefile= regextype= nouser nogroup warn nowarn noleaf H L P lname= ilname= used= fstype="
)


def find(words: Sequence[Word]) -> Judged:
    effects: Effects = READ
    why = "find: reads"
    reads: list[str] = []
    writes: list[str] = []
    wanted: list[str] = []
    named = ""  # by `-name`, before anything is deleted
    chooses = unknown = False
    inner: list[Sequence[Word]] = []
    position = 1
    expression = False
    while position < len(words):
        word = words[position]
        text = word.text
        position += 1
        expression = expression or text[:1] == "-" or text in ("(", ")", "!", ",")
        flag = text[1:]
        chooses = chooses or text in _CHOOSES
        if word.dynamic:
            effects, why = effects | EXECUTE, "find: searches in a place known only when it runs"
            unknown = True
        elif not expression:
            reads.append(text)
        elif flag in ("exec", "execdir", "ok", "okdir"):
            end = next(
                (i for i in range(position, len(words)) if words[i].text in (";", "+") and not words[i].dynamic),
                len(words),
            )
            if _removes_found(words[position:end]):
                effects, why = effects | DELETE, f"find {text} rm: deletes"
                chooses = chooses or not named
            else:
                inner.append([PIPED if "{}" in w.text else w for w in words[position:end]])
            position = end + 1
        elif flag == "delete":
            effects, why = effects | DELETE, "find -delete: deletes"
            chooses = chooses or not named
        elif flag in ("fprint", "fprint0", "fls", "fprintf"):
            writes += [w.text for w in words[position : position + 1]]
            effects, why = effects | EDIT, f"find {text}: changes files"
            position += 2 if flag == "fprintf" else 1
        elif flag in _TESTS or text in ("(", ")", "!", ","):
            if _TESTS.get(flag) and position < len(words):
                if words[position].dynamic:
                    effects, why = effects | EXECUTE, "find: searches for something known only when it runs"
                    unknown = True
                elif flag == "name" and not named:
                    named = words[position].text
                    wanted.append(named)
                elif "ame" in flag or "path" in flag:
                    wanted.append(words[position].text)
                elif "newer" in flag or flag == "samefile":
                    reads.append(words[position].text)
                position += 1
        elif not flag.startswith("O"):
            effects, why = effects | EXECUTE, f"find {text}: may do more than read"
            unknown = True
    starts = reads or ["."]
    if inner:
        reads = [*starts, *(pattern for pattern in wanted if "*" not in pattern)]
    lost: list[str] = []
    if effects & DELETE:
        lost = starts if chooses or not named else [path for start in starts for path in _named_below(start, named)]
        patterned = any(_PATTERN.search(start) for start in starts)
        if unknown or inner or patterned or any(word.text in ("-L", "-H", "-follow") for word in words):
            effects |= DESTROY  # it goes where links lead, or more is lost than its words say
    return Judged(effects, why, reads or starts, writes, wanted if inner else (), tuple(inner), deletes=lost)


_PATTERN = regex(r"[*?\[{]")


def _removes_found(words: Sequence[Word]) -> bool:
    """`rm -f {}`: just what was found."""
    texts = [word.text for word in words]
    flags, operands = texts[1:-1], texts[-1:]
    plain = not any(word.dynamic or word.glob for word in words)
    known = all(flag == "--" or (flag[:1] == "-" and set(flag[1:]) <= set("rRfdv")) for flag in flags)
    return plain and texts[:1] == ["rm"] and operands == ["{}"] and known


def _named_below(start: str, named: str) -> list[str]:
    """What of that name lies in a folder; the folder itself may have it too."""
    itself = [start] if fnmatchcase(start.rstrip("/").rpartition("/")[2].lower(), named.lower()) else []
    return [f"{start}/**/{named}", *itself]


_CHOOSES = frozenset({"-o", "-or", "-not", "!", ",", "-path", "-iname", "-regex", "("})  # one name is not all of it


HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    "command": command,
    "su": su,
    "xargs": xargs,
    "entr": entr,
    "script": script,
    "find": find,
    "watch": lambda words: shellish("watch", words),
    "parallel": lambda words: shellish("parallel", words),
    "hyperfine": lambda words: shellish("hyperfine", words),
}
