"""From a request's words to its intents, by fixed patterns.

`parse` splits a request at "and then", bullets and lines, and reads each piece. A piece that fits no pattern makes the
whole request unmatched: half a request is not run. Where a word could be plain English for something larger (`replace
Flask with FastAPI`), it takes quotes or a place to be read as text.
"""

from __future__ import annotations

import keyword
import re

from quintet.adapters.offline_rules.intents import (
    AddFile,
    DeleteFile,
    Find,
    GitCommit,
    GitDiff,
    GitLog,
    GitStatus,
    Intent,
    LintOrFormat,
    MoveFile,
    Rename,
    Replace,
    RunTests,
    Summarise,
)
from quintet.domain.base.lazy_regex import regex
from quintet.domain.tasks.request_split import split

_FILLER = regex(
    r"^(?:please|now|ok(?:ay)?|could you|can you|would you|will you|then|first|next|finally|also|just|let's"
    r"|go ahead and|i want you to|i'd like you to|i would like you to)[\s,]+"
    r"|[\s,]*\b(?:please|for me|thanks|thank you)\b[.!]?$",
    re.I,
)
_BULLET = regex(r"^\s*(?:[-*•]|\d+[.)])\s+")

_A_FILE = r"(?P<path>\"[^\"]+\"|'[^']+'|`[^`]+`|[\w.@+/-]+)"
_TO_FILE = r"(?P<to>\"[^\"]+\"|'[^']+'|`[^`]+`|[\w.@+/-]+)"
_PLACE = r"(?:\s+(?:in|within|across|inside|throughout)\s+(?P<where>.+?))?(?P<all>\s+everywhere)?"
_REPOSITORY = r"(?:the\s+|this\s+|my\s+|our\s+)?(?:whole\s+|entire\s+)?(?:project|repo|repository|code\s?base)"
_PROJECT = rf"(?:{_REPOSITORY}|(?:the\s+|this\s+|my\s+|our\s+)?code)"
_SHOW = r"(?:(?:show|list|print|display|give)\s+(?:me\s+)?)"
_MESSAGE = r"(?P<message>\"[^\"]+\"|'[^']+'|`[^`]+`)"
_KIND = r"(?P<kind>function|func|class|method|variable|constant|symbol|attribute)\s+"
_RUNNERS = r"pytest|unittest|npm\s+test|cargo\s+test|go\s+test|make\s+test"


def _value(name: str) -> str:
    return rf"(?P<{name}>\"[^\"]*\"|'[^']*'|`[^`]*`|[^\s\"'`]\S*)"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pattern(text: str) -> re.Pattern[str]:
    return regex(text, re.I | re.S)


_REPLACE = _pattern(
    rf"(?P<verb>replace|change|substitute|swap)\s+(?:(?:all|every|each)\s+)?"
    rf"(?:(?:the\s+)?(?:text|string|word|occurrences?\s+of|instances?\s+of)\s+)?{_value('old')}\s+(?:with|to|by|into)\s+"
    rf"(?:(?:the\s+)?(?:text|string|word)\s+)?{_value('new')}{_PLACE}"
)
_RENAME = _pattern(
    rf"(?:rename|change\s+the\s+name\s+of)\s+(?:the\s+)?(?:python\s+)?(?:{_KIND})?{_value('old')}"
    rf"(?:\s+(?:in|from)\s+(?:the\s+file\s+)?(?P<file>\S+))?\s+(?:to|into|as)\s+{_value('new')}{_PLACE}"
)
_METHOD_OF = _pattern(
    rf"rename\s+(?:the\s+)?method\s+{_value('old')}\s+(?:of|in|on)\s+(?:the\s+)?class\s+(?P<owner>\w+)\s+to\s+{_value('new')}"
)
_MOVE = _pattern(
    rf"(?P<verb>move|mv|rename|git\s+mv)\s+(?:the\s+)?(?P<file>file\s+)?{_A_FILE}\s+"
    rf"(?:(?P<how>to|into|as)\s+)?(?:the\s+)?(?P<folder>folder\s+|directory\s+)?{_TO_FILE}(?P<folder2>\s+folder|\s+directory)?"
)
_DELETE = _pattern(rf"(?:delete|remove|rm|erase)\s+(?:the\s+)?(?P<file>file\s+(?:called\s+|named\s+)?)?{_A_FILE}")
_ADD = _pattern(
    r"(?P<verb>create|add|make|touch)\s+(?:a\s+|an\s+|(?P<the>the\s+))?(?:new\s+)?(?:empty\s+)?"
    rf"(?P<file>file\s+(?P<called>called\s+|named\s+|at\s+)?)?{_A_FILE}"
    rf"(?:\s+(?:with\s+(?:the\s+)?(?:content|contents|text)|with|containing|that\s+says|that\s+contains)\s+{_MESSAGE})?"
)
_WRITE = _pattern(
    rf"(?:write|put|save)\s+{_MESSAGE}\s+(?:to|into|in|as)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?{_A_FILE}"
)
_COMMIT = _pattern(
    r"(?:git\s+)?commit\s+(?P<all>(?:all(?:\s+(?:the|my|of\s+the))?|the|my|these)\s+changes\s+|all\s+|everything\s+|it\s+all\s+|-am?\s+)?"
    r"(?P<staged>(?:the\s+|what\s+is\s+|what's\s+)?staged\s+(?:changes\s+|files\s+)?)?"
    r"(?:(?:with|using|under)\s+(?:the\s+|a\s+)?(?:commit\s+)?message:?\s+|as\s+|saying\s+|-m\s+|--message[ =]"
    rf"|message:?\s+)?{_MESSAGE}"
)
_COMMITS = _pattern(
    rf"(?:git\s+log(?:\s+-(?:n\s*)?(?P<flag>\d+))?|(?:{_SHOW})?(?:the\s+)?(?:git\s+|commit\s+)?(?:log|history)"
    rf"|(?:{_SHOW})?(?:the\s+)?(?:last|latest|recent|newest)\s+(?:(?P<count>\d+)\s+)?(?P<one>commits?))"
)
_STATUS = _pattern(rf"(?:{_SHOW})?(?:the\s+)?(?:git\s+|repo(?:sitory)?\s+)?status|what(?:'s|\s+has|\s+is)?\s+changed")
_DIFF = _pattern(
    rf"(?:{_SHOW})?(?:the\s+|my\s+)?(?:git\s+)?(?:(?P<staged>staged\s+|cached\s+)|unstaged\s+|uncommitted\s+)?diff(?:\s+--?(?P<flag>staged|cached))?"
    rf"|{_SHOW}(?:the\s+|my\s+)?(?:(?P<staged2>staged)|unstaged|uncommitted)\s+changes|{_SHOW}(?:the\s+|my\s+)changes"
    rf"|(?:{_SHOW}(?:the\s+)?)?(?:git\s+)?diff\s+(?:against|with|to|from|since)\s+(?P<target>[\w./~^-]+)|git\s+diff\s+(?P<target2>\w[\w./~^-]*)"
)
_TESTS = _pattern(
    rf"(?:re-?run|run|execute|start)\s+(?:all\s+)?(?:of\s+)?(?:the\s+|my\s+|our\s+)?(?:unit\s+|project'?s\s+|whole\s+|full\s+|entire\s+)*"
    rf"(?:tests?(?:\s+suite)?|test-suite)(?:\s+again)?|tests?|test\s+{_PROJECT}|(?:run\s+)?(?P<runner>{_RUNNERS})"
)
_CODE = rf"(?:{_PROJECT}|(?:all\s+|the\s+|my\s+)?(?:source\s+)?(?:files|sources)|everything|all\s+files)"
_LINTERS = r"(?:lint(?:ers?|ing)?(?:\s+checks?)?)"
_FORMATTERS = r"(?:format(?:ters?|ting)?|code\s+formatters?)"
_LINT = _pattern(
    rf"lint(?:\s+{_CODE})?|run\s+(?:the\s+|all\s+|all\s+the\s+)?{_LINTERS}|check\s+the\s+(?:code\s+)?style"
)
_FORMAT = _pattern(rf"(?:auto-?|re-?)?format(?:\s+{_CODE})?|run\s+(?:the\s+)?(?:auto-?)?{_FORMATTERS}")
_BOTH = _pattern(
    rf"(?:lint\s+and\s+(?:re)?format|(?:re)?format\s+and\s+lint)(?:\s+{_CODE})?"
    rf"|run\s+(?:the\s+)?(?:{_LINTERS}\s+and\s+(?:the\s+)?{_FORMATTERS}|{_FORMATTERS}\s+and\s+(?:the\s+)?{_LINTERS})"
)
_SUMMARY = _pattern(
    rf"(?:summari[sz]e|describe|outline)\s+{_REPOSITORY}|(?:{_SHOW})?(?:a\s+|an\s+|the\s+)?(?:short\s+|brief\s+|quick\s+)?"
    rf"(?:summary|overview)(?:\s+of\s+{_REPOSITORY})?|(?:{_SHOW})?(?:a\s+|the\s+)?(?:project|repo|repository|codebase)\s+(?:summary|overview)"
    rf"|give\s+me\s+(?:a\s+|an\s+)(?:short\s+|brief\s+|quick\s+)?(?:summary|overview)\s+of\s+{_REPOSITORY}"
)
_THING = r"(?:(?:function|class|method|variable|constant|symbol)\s+)?"
_DEFINITION = _pattern(
    rf"(?:(?:find|show|go\s+to|locate|open|get)\s+(?:me\s+)?)?(?:the\s+)?definition\s+of\s+(?:the\s+)?{_THING}{_value('a')}"
    rf"|(?:show\s+(?:me\s+)?)?where(?:\s+is|'s)\s+(?:the\s+)?{_THING}{_value('b')}\s+(?:defined|declared|implemented)"
    rf"|(?:show\s+(?:me\s+)?)?where\s+(?:the\s+)?{_THING}{_value('c')}\s+is\s+(?:defined|declared|implemented)|where(?:\s+is|'s)\s+{_value('d')}"
    rf"|(?:find|locate)\s+(?:the\s+)?(?:function|class|method|variable|constant)\s+{_value('e')}"
)
_USAGES = _pattern(
    rf"(?:(?:find|show|list|get|search\s+for)\s+(?:me\s+)?)(?:all\s+|every\s+)?(?:the\s+)?(?:usages?|uses?|references?|callers?|calls|call\s+sites)"
    rf"\s+(?:of|to|for)\s+(?:the\s+)?{_THING}{_value('a')}|(?:show\s+(?:me\s+)?)?where\s+is\s+(?:the\s+)?{_THING}{_value('b')}\s+(?:used|called|referenced)"
    rf"|(?:show|find|list)\s+(?:me\s+)?(?:everywhere|where)\s+(?:the\s+)?{_THING}{_value('c')}\s+is\s+(?:used|called|referenced)"
    rf"|(?:who|what)\s+(?:calls|uses|references)\s+(?:the\s+)?{_THING}{_value('d')}"
)
_TEXT = _pattern(
    rf"(?:find|search(?:\s+(?:{_PROJECT}\s+)?for)?|grep(?:\s+for)?|look\s+for)\s+(?:all\s+)?(?:(?:the\s+)?(?:text|string|word|occurrences?\s+of)\s+)?{_value('x')}{_PLACE}"
)

_GLOB_WORD = regex(r"(?=.*[./*])[\w./*?{},@+\[\]-]+")
_BARE_FILES = _words(
    "makefile gnumakefile dockerfile containerfile license licence readme changelog contributing authors "
    "notice copying procfile justfile gemfile rakefile vagrantfile jenkinsfile codeowners pipfile "
)
_BARE_FOLDERS = _words("src source lib app tests test docs doc scripts examples bench tools ")
_LANGUAGES = {"python": "*.py", "markdown": "*.md", "javascript": "*.js", "typescript": "*.ts", "rust": "*.rs"}
_EXTENSION = regex(
    r".*\.(?:py|pyi|pyx|md|rst|txt|toml|cfg|ini|json|jsonl|ya?ml|xml|html?|css|scss|jsx?|tsx?|mjs|cjs|rs|go|c|h|cc|cpp|hpp"
    r"|java|kt|rb|php|sh|bash|sql|csv|tsv|lock|env|ipynb|svg|png|jpe?g|gif|pdf|log|bak|orig|tmp|conf|proto|tf|swift|lua)",
    re.I,
)
_EVERYWHERE = regex(
    r"\.|everywhere|all\s+(?:the\s+)?files|every\s+file|any\s+file"
    rf"|{_PROJECT}|all\s+(?:of\s+)?{_PROJECT}",
    re.I,
)
# Plain English that is never the name of a thing in code, whatever stands around it.
_NOT_A_NAME = _words(
    "a an the it its this that these those them they everything anything something nothing all any some what "
    "which who why how when where here there me my you your us our out up down and or not no yes bug bugs error "
    "errors problem problems issue issues mistake mistakes typo typos vulnerability vulnerabilities duplicate "
    "duplicates variable variables function functions class classes method methods file files folder folders "
    "directory branch project repo repository package module modules app tests code better tabs spaces snake_case "
    "camelcase lowercase uppercase everyone everybody help usage usages uses caller callers reference references "
    "definition definitions "
)


def parse(text: str) -> list[Intent] | None:
    """The intents of a request in order, or None if any part of it is none of ours."""
    pieces = [piece for piece in (_cleaned(p) for p in split(text)) if piece]
    intents = [_parse_one(piece) for piece in pieces]
    if not intents or any(intent is None for intent in intents):
        return None
    return [intent for intent in intents if intent is not None]


def _cleaned(piece: str) -> str:
    piece = _BULLET.sub("", piece).strip()
    while (shorter := _FILLER.sub("", piece).strip()) != piece:
        piece = shorter
    return piece.rstrip(".!? ") if not piece.endswith(('"', "'", "`")) else piece


def _parse_one(piece: str) -> Intent | None:
    for read in (_files, _git, _rename, _replace, _running, _find):
        if intent := read(piece):
            return intent
    return None


def _rename(piece: str) -> Intent | None:
    found = _METHOD_OF.fullmatch(piece)
    if found:
        return _renamed(_bare(found["old"]), _bare(found["new"]), "method", found["owner"], "")
    found = _RENAME.fullmatch(piece)
    if not found:
        return None
    where = found["file"] or found["where"] or ""
    if found["file"] and found["where"]:
        return None
    if where and _EVERYWHERE.fullmatch(where):
        where = ""
    if where and not (_looks_like_file(_bare(where)) and "*" not in where):
        return None
    kind = {"func": "function", "constant": "variable", "symbol": "", "attribute": None}.get(
        (found["kind"] or "").lower(), (found["kind"] or "").lower()
    )
    if kind is None:
        return None
    return _renamed(_bare(found["old"]), _bare(found["new"]), kind, "", _bare(where))


def _renamed(old: str, new: str, kind: str, owner: str, where: str) -> Intent | None:
    old, new = old.removesuffix("()"), new.removesuffix("()")
    if "." in old and not owner:
        if _EXTENSION.fullmatch(old) and not old[0].isupper():
            return None
        owner, _, old = old.rpartition(".")
        new = new.removeprefix(f"{owner}.")
        kind = kind or "method"
    if kind not in ("", "method") and owner:
        return None
    names = (old, new, *([owner] if owner else []))
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names) or old == new:
        return None
    words = {old.lower()} if new == "snake_case" and old.islower() else {old.lower(), new.lower()}
    if words & _NOT_A_NAME:  # what is in snake case already can only be given that name
        return None
    return Rename(old, new, kind, owner, where)


def _replace(piece: str) -> Intent | None:
    found = _REPLACE.fullmatch(piece)
    if not found:
        return None
    old, new = _bare(found["old"]), _bare(found["new"])
    quoted = found["old"] != old and found["new"] != new
    placed = (found["where"] or found["all"]) and found["verb"].lower() != "change"
    if not (quoted or placed):
        return None
    plain = {word.lower() for word in (found["old"], found["new"])}
    if not old or old == new or (found["where"] and found["all"]) or plain & _NOT_A_NAME:
        return None
    files = _places(found["where"])
    return Replace(old, new, files) if files is not None else None


def _find(piece: str) -> Intent | None:
    for pattern, kind in ((_USAGES, "usages"), (_DEFINITION, "definition")):
        if found := pattern.fullmatch(piece):
            word = next(value for value in found.groupdict().values() if value is not None)
            return Find(_bare(word).removesuffix("()"), kind) if _is_name(word) else None
    found = _TEXT.fullmatch(piece)
    if not found or not _is_name(found["x"]):
        return None
    files = _places(found["where"])
    return Find(_bare(found["x"]), "text", files) if files is not None else None


def _is_name(word: str) -> bool:
    """Whether a word to look for is one: quoted, or no plain English."""
    return bool(_bare(word)) and word.lower() not in _NOT_A_NAME and not word.startswith("-")


def _running(piece: str) -> Intent | None:
    if found := _TESTS.fullmatch(piece):
        return RunTests(" ".join((found["runner"] or "").lower().split()))
    if _BOTH.fullmatch(piece):
        return LintOrFormat(lint=True, format=True)
    if _LINT.fullmatch(piece):
        return LintOrFormat()
    if _FORMAT.fullmatch(piece):
        return LintOrFormat(lint=False, format=True)
    return Summarise() if _SUMMARY.fullmatch(piece) else None


def _files(piece: str) -> Intent | None:
    if found := _MOVE.fullmatch(piece):
        path, to = _bare(found["path"]), _bare(found["to"])
        into = bool(found["folder"] or found["folder2"] or found["how"] == "into" or to.endswith("/"))
        sound = _looks_like_file(path) or (found["file"] and path.lower() not in _NOT_A_NAME)
        target = into or _looks_like_file(to) or (found["file"] and to.lower() not in _NOT_A_NAME)
        plain = found["how"] or found["verb"].lower().endswith("mv")
        if not (sound and target and plain) or path.endswith("/") or path == to:
            return None
        return MoveFile(path, f"{to.rstrip('/')}/{path.rpartition('/')[2]}" if into else to)
    if found := _DELETE.fullmatch(piece):
        path = _bare(found["path"])
        named = found["file"] and path.lower() not in _NOT_A_NAME
        return DeleteFile(path) if (named or _looks_like_file(path)) and not path.endswith("/") else None
    if found := _ADD.fullmatch(piece):
        path = _bare(found["path"])
        named = found["called"] or (found["the"] and found["file"])
        vague = not found["file"] and (path.lower() in _BARE_FILES or found["verb"].lower() in ("add", "make"))
        sure = named or (_looks_like_file(path) and not vague)
        if not sure or path.endswith("/") or path.lower() in _NOT_A_NAME:
            return None
        return AddFile(path, _bare(found["message"] or ""))
    if (found := _WRITE.fullmatch(piece)) and _looks_like_file(_bare(found["path"])):
        return AddFile(_bare(found["path"]), _bare(found["message"]))
    return None


def _git(piece: str) -> Intent | None:
    if found := _COMMIT.fullmatch(piece):
        if found["all"] and found["staged"]:
            return None
        message = _bare(found["message"]).strip()
        return GitCommit(message, bool(found["all"])) if message else None
    if found := _COMMITS.fullmatch(piece):
        one = (found["one"] or "").lower() == "commit"
        count = int(found["flag"] or found["count"] or (1 if one else 10))
        return GitLog(min(max(count, 1), 1000)) if not (one and count != 1) else None
    if _STATUS.fullmatch(piece):
        return GitStatus()
    if found := _DIFF.fullmatch(piece):
        target = found["target"] or found["target2"] or ""
        return GitDiff(bool(found["staged"] or found["flag"] or found["staged2"]), target)
    return None


def _places(text: str | None) -> tuple[str, ...] | None:
    """Files, folders and globs; none of them means everywhere; None if the text says anything else."""
    if not text or _EVERYWHERE.fullmatch(text.strip()):
        return ()
    places: list[str] = []
    words = [_bare(word) for word in re.split(r"(?:\s*,\s*|\s+)(?:and\s+)?", text.strip()) if word]
    for place, word in enumerate(words):
        low = word.lower()
        before = words[place - 1].lower() if place else ""
        after = words[place + 1].lower() if place + 1 < len(words) else ""
        if low in ("the", "file", "files", "all", "folder", "directory"):
            continue
        if low in _LANGUAGES and after == "files":
            places.append(_LANGUAGES[low])
        elif "folder" in (before, after) or "directory" in (before, after) or low in _BARE_FOLDERS:
            if not re.fullmatch(r"[\w./-]+", word):
                return None
            places.append(f"{word.rstrip('/')}/")
        elif _GLOB_WORD.fullmatch(word) or low in _BARE_FILES or (before == "file" and re.fullmatch(r"\w+", word)):
            places.append(word)
        else:
            return None
    return tuple(places) or None


def _looks_like_file(word: str) -> bool:
    if word.startswith(("-", "/", "~")) or ".." in word.split("/"):
        return False
    return (
        "/" in word
        or word.lower() in _BARE_FILES
        or bool(_EXTENSION.fullmatch(word) or re.fullmatch(r"\.\w[\w.-]*", word))
    )


def _bare(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'`" else word
