"""Programs with rules of their own: archives, transfers, rights, connections, test runners, and what runs another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import word_set
from quintet.domain.shell.arguments import (
    BUILD,
    DESTROY,
    EDIT,
    EXECUTE,
    NETWORK,
    NONE,
    OPAQUE,
    OUTSIDE,
    PUBLISH,
    READ,
    Effects,
    Judged,
    abbreviates,
    arguments,
    letters,
    name,
    names,
    patterns,
    plain,
    specification,
    written,
)
from quintet.domain.shell.programs import edit_program
from quintet.domain.shell.syntax import Word
from quintet.domain.shell.variables import PIPED

_TAR = specification(
    "c x t z j J f= C= v k p O h a r u A exclude= strip-components= directory= file= gzip bzip2 xz zstd verbose list "
    "extract create get append update wildcards no-same-owner transform= auto-compress keep-old-files totals format= "
    "exclude-vcs dereference to-stdout owner= group= mtime= sort= T= files-from= X= exclude-from= m one-top-level"
)


def tar(words: Sequence[Word]) -> Judged:
    rest = list(words[1:])
    if rest and rest[0].text[:1] not in ("-", "") and not rest[0].dynamic:
        rest[0] = Word(f"-{rest[0].text}")  # the old way of writing flags
    got = arguments(rest, _TAR)
    reads, globs = names(rest), patterns(rest)
    if any(word.text.startswith("--remove") for word in rest):
        return Judged(EDIT | DESTROY, "tar --remove-files: deletes what it packs", reads, (), globs)
    if got.odd or got.dynamic:
        return Judged(EDIT | OPAQUE, f"tar {got.odd or 'with words known only when it runs'}", reads, (), globs)
    if got.flags & {"t", "list"}:
        return Judged(READ, "tar: reads", reads, (), globs)
    writes = [value for value in got.values if value != "-"]
    if not writes or not got.flags & {"c", "create"}:
        writes.append(".")
    if any(":" in value for value in got.values):
        return Judged(EDIT | NETWORK, "tar: network", reads, writes, globs)
    if not got.flags & {"c", "create"}:
        return Judged(EDIT | EXECUTE, "tar: writes where the archive says", reads, writes, globs)
    return Judged(EDIT, "tar: changes files", reads, writes, globs)


_UNZIP = specification("o n q j l v t p d= x= a u Z1")


def unzip(words: Sequence[Word]) -> Judged:
    got = arguments(words[1:], _UNZIP)
    reads = names(words[1:])
    if got.dynamic or got.odd:
        return Judged(EDIT | OPAQUE, "unzip: which files it changes is known only when it runs", reads, ())
    if got.flags & {"l", "v", "t", "p"}:
        return Judged(READ, "unzip: reads", reads)
    return Judged(EDIT | EXECUTE, "unzip: writes where the archive says", reads, [v for v in got.values if v] or ["."])


_CURL = specification(
    "s S L f i I k v X= H= d= o= O u= b= c= A= e= m= F= T= G J # w= x= silent show-error location fail include head "
    "insecure verbose request= header= data= data-raw= data-binary= data-urlencode= json= output= remote-name user= "
    "cookie= cookie-jar= user-agent= referer= max-time= connect-timeout= form= upload-file= get write-out= retry= "
    "compressed create-dirs http1.1 http2 progress-bar fail-with-body proxy= output-dir= remote-header-name url= 4 6 "
    "max-redirs= retry-delay= cacert= cert= key= D= dump-header="
)
_WRITES = word_set("o O c D output remote-name cookie-jar dump-header output-dir trace trace-ascii")


def curl(words: Sequence[Word]) -> Judged:
    got = arguments(words[1:], _CURL)
    effects: Effects = NETWORK
    named = [word.text for word in words[1:] if word.text[:1] != "-"] + got.values
    named += [text.partition("=")[2].lstrip("@<").partition(";")[0].strip('"') for text in got.values if "=" in text]
    reads = [found for text in named if text for found in name(text) if _is_path(found)]
    writes: list[str] = []
    if got.flags & _WRITES:
        effects |= EDIT
        writes = [value for value in got.values if _is_path(value)] or ["."]
        if got.dynamic:
            effects |= OPAQUE
    if got.odd:
        effects |= EXECUTE
    return Judged(effects, "curl: network", reads, writes)


def _is_path(text: str) -> bool:
    """Not an address, a header, a body or a method."""
    return bool(text) and text != "-" and not re.search(r"[\s{}\"'<>%]|^-|^//|^\.?$|^/dev/null$", text)


_WGET = specification(
    "q O= P= c N r l= np nv S T= t= U= i= k p nc nd nH quiet output-document= directory-prefix= continue header= "
    "post-data= post-file= user-agent= timeout= tries= no-check-certificate spider show-progress no-verbose mirror m"
)


def wget(words: Sequence[Word]) -> Judged:
    got = arguments(words[1:], _WGET)
    effects = NETWORK | EDIT | (EXECUTE if got.odd else NONE) | (OPAQUE if got.dynamic else NONE)
    files = [value for value in got.values if _is_path(value)]
    reads = files + [found for word in got.operands for found in name(word.text) if _is_path(found)]
    return Judged(effects, "wget: network", reads, files or ["."])


def rsync(words: Sequence[Word]) -> Judged:
    texts = [word.text for word in words[1:]]
    operands = [word for word in words[1:] if word.text[:1] != "-"]
    effects: Effects = EDIT
    if any(text.startswith(("--rsh", "--rsync-path", "--daemon", "--config")) for text in texts) or any(
        text[:1] == "-" and text[1:2] != "-" and "e" in text for text in texts
    ):
        effects |= OPAQUE
    if any(text.startswith(("--del", "--remove-source", "--force")) for text in texts):
        effects |= DESTROY
    if any(":" in word.text for word in operands):
        effects |= NETWORK | OUTSIDE
    if any(word.dynamic for word in words[1:]):
        effects |= OPAQUE
    return Judged(effects, "rsync: changes files", names(words[1:]), [word.text for word in operands[-1:]])


_SPECIAL_RIGHTS = regex(r"[+=,ugoa]*[+=][rwxXt]*s|0*[2-7]\d{3}")


def chmod(words: Sequence[Word]) -> Judged:
    operands = [word for word in words[1:] if word.text[:1] != "-" or word.dynamic]
    special = any(_SPECIAL_RIGHTS.match(word.text) for word in (*words[1:2], *operands[:1]))
    dynamic = any(word.dynamic for word in words[1:])
    files = [word.text for word in operands[1:]]
    if special:
        return Judged(OUTSIDE | EDIT, "chmod: changes permissions outside the project", names(operands), files)
    if dynamic:
        return Judged(EDIT | OPAQUE, "chmod: which files it changes is known only when it runs", names(operands), files)
    return Judged(EDIT, "chmod: changes files", files, files, patterns(operands))


def fd(words: Sequence[Word]) -> Judged:
    for place, word in enumerate(words):
        if abbreviates(word.text, "--exec", "--exec-batch") or letters(word.text) & set("xX"):
            command = [PIPED if "{" in w.text else w for w in words[place + 1 :] if w.text != ";"]
            stuck = [Word(word.text.partition("=")[2])] if "=" in word.text else []
            inner = [*stuck, *command, PIPED]
            return Judged(EXECUTE, "fd: runs a command", names(words[1:place]), (), patterns(words), (inner,))
    return plain("fd", EXECUTE, words[1:])


def zip_(words: Sequence[Word]) -> Judged:
    judged = edit_program("zip", words)
    if any("m" in letters(w.text) or abbreviates(w.text, "--move", "--delete") for w in words[1:]):
        files = names(words[1:])  # but it follows links, and may be given more on its input
        return Judged(judged.effects | DESTROY, "zip -m: deletes what it packs", files, files, judged.globs)
    return judged


def connection(words: Sequence[Word]) -> Judged:
    """nc, socat and their like: raw connections, with a program at this end of it or not."""
    program = words[0].text
    for word in words[1:]:
        address = word.text.upper()
        if letters(word.text) & set("ec") or abbreviates(word.text, "--exec", "--sh-exec", "--lua-exec"):
            return plain(program, NETWORK | DESTROY, words[1:], "a program to run")
        if program == "socat" and any(kind in address for kind in ("EXEC", "SYSTEM", "SHELL")):
            return plain(program, NETWORK | DESTROY, words[1:], "a program to run")
    return Judged(NETWORK | OUTSIDE, f"{program}: a raw connection", [n for n in names(words[1:]) if "/" in n])


_LOOKS = word_set("status why permit sessions settings tools help --version --help -h")


def quintet(words: Sequence[Word]) -> Judged:
    """Quintet looks at itself, but a call does not use it to do what it may not."""
    if len(words) > 1 and words[1].text in _LOOKS and not any(w.dynamic or w.text[:1] == "-" for w in words[2:]):
        return Judged(READ, f"quintet {words[1].text}: reads", names(words[2:]))
    return plain("quintet", OUTSIDE, words[1:], "starts another Quintet")


_HUB_READS = word_set("browse ci-status help status version")


def hub(words: Sequence[Word]) -> Judged:
    if len(words) > 1 and words[1].text in _HUB_READS and not words[1].dynamic:
        return plain("hub", NETWORK, words[1:])
    return plain("hub", PUBLISH, words[1:], "publishes")


_SIGNALS = regex(r"-(?:[A-Z0-9]+|[sln])")


def kill(words: Sequence[Word]) -> Judged:
    """Jobs of this very shell are part of the line; other processes are not."""
    rest = list(words[1:])
    if rest and not rest[0].dynamic and _SIGNALS.fullmatch(rest[0].text):
        if rest[0].text == "-l":
            return Judged(READ, "kill -l: reads")
        del rest[: 2 if rest[0].text in ("-s", "-n") else 1]
    own = [word.parts == ("", "!", "") if word.dynamic else word.text[:1] == "%" for word in rest]
    return plain("kill", EXECUTE if own and all(own) else OUTSIDE, (), "ends processes")


_EMPTIES = ("--basetemp",)


def build(program: str, words: Sequence[Word]) -> Judged:
    """Compilers, linters, test runners, with the files that their flags name for writing."""
    rest = words[1:]
    for word in rest:
        if word.text.startswith(_EMPTIES):
            return plain(program, DESTROY, rest, f"{word.text}: empties a folder")
        if word.text == "-wrapper":
            return plain(program, BUILD | OPAQUE, rest, "a program to run")
    return Judged(BUILD, program, names(rest), written(rest), patterns(rest))


def coverage(words: Sequence[Word]) -> Judged:
    """coverage run: Python, with another name."""
    if len(words) > 1 and words[1].text == "run":
        got = arguments(words[2:], {})
        place = 2
        while place < len(words) and words[place].text[:1] == "-" and words[place].text not in ("-m", "--module"):
            place += 1
        rest = words[place:]
        if rest and rest[0].text == "--module":
            rest = (Word("-m"), *rest[1:])
        return Judged(BUILD, "coverage run: builds or tests", got.values, (), (), ((Word("python"), *rest),))
    return build("coverage", words)


HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    "tar": tar,
    "unzip": unzip,
    "curl": curl,
    "wget": wget,
    "rsync": rsync,
    "chmod": chmod,
    "fd": fd,
    "fdfind": fd,
    "zip": zip_,
    "quintet": quintet,
    "hub": hub,
    "coverage": coverage,
    "kill": kill,
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet"), connection),
}
