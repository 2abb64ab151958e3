"""The words of an input to an agent: folded to one form for what means the same, and parted from what asks for nothing.

`input_line` folds compatibility forms, case, invisible characters and white space, and drops `*` and `/` in front. Only
the first line is looked at, and no more of it than a command could need. `asked` takes off greetings, articles,
politeness and verbs of launching. A word that turns a sentence into a question, a negation or a statement is kept and
marked: a command does not hold one that its menu item does not hold too.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category, normalize

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

MOST_LETTERS = 400  # a first line longer than this is prose
_WORDS = regex(r"[^\W_]+(?:'[^\W_]+)*")
_BREAK = regex(r"[\r\n]")


class InputLine(Struct, frozen=True):
    line: str  # the first line, folded
    raw: str  # as it was typed, without the marks in front
    mark: str = ""  # the `*` or `/` it began with
    details: str = ""  # the lines after it
    long: bool = False  # the first line is too long to be a command


def input_line(text: str) -> InputLine:
    text = text.strip()
    broken = _BREAK.search(text)
    first, details = (text[: broken.start()], text[broken.end() :].strip("\r\n")) if broken else (text, "")
    bare = first.lstrip("*/ \t")
    folded = fold(bare[: MOST_LETTERS + 1])
    line = folded.lstrip("*/ ")  # their wide forms are plain only now
    mark = first[: len(first) - len(bare)].strip()[:1] or folded[: len(folded) - len(line)].strip()[:1]
    number = bare.isascii() and bare.isdigit()
    return InputLine(line, bare[:MOST_LETTERS], mark, details, len(bare) > MOST_LETTERS and not number)


def fold(text: str) -> str:
    text = normalize("NFKC", text)
    if not text.isprintable():
        text = "".join(_visible(char) for char in text)
    return " ".join(normalize("NFKC", text.casefold()).split())


def words(folded: str) -> list[str]:
    """Its words; hyphen, underscore, space and whatever else is no letter or digit stand between them."""
    return _WORDS.findall(folded.replace("’", "'"))


def _visible(char: str) -> str:
    kind = category(char)
    return "" if kind == "Cf" else " " if kind == "Cc" else char


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


OPENING = _set(
    "hi hello hey hiya yo greetings ok okay yes yeah yep yup sure right alright so oh please pls plz kindly bye"
)
# Alone they ask for nothing; before other words they may praise, thank or refuse.
GREETINGS = OPENING | _set("no nope great nice cool fine good well thanks thank thx cheers sorry hmm hm ah wow")
ARTICLES = _set("a an the please pls plz kindly my our me us some all now just also")
JOINING = _set("of to for on in with and or from at by into as")
NEUTRAL = ARTICLES | JOINING
POINTING = _set("this that these those")  # neutral before a noun, what is meant at the end
TRAILING = _set("please pls plz thanks thank thx cheers you now again asap then ok okay today quickly soon")
LAUNCHING = _set("run start do launch begin execute trigger go perform invoke initiate")
SHOWING = _set(
    "show open display give make create write generate build prepare get use try see view workflow command option"
)
TURNING = _set(
    "what why how when where who whom whose which what's whats how's hows who's where's when's why's "
    "is are was were be been being am isn't aren't wasn't weren't does did has have had hasn't haven't hadn't "
    "should would could can will shall may might must shouldn't wouldn't couldn't can't cant cannot won't wont "
    "not no never none nothing nobody don't dont doesn't doesnt didn't didnt without "
    "i you he she we they it i'm im i've ive i'd i'll you're you've we're we've they're it's "
    "because if whether although though but than unless while"
)
# What a description may say without being asked for by it.
COMMON = TURNING | LAUNCHING | SHOWING
COMMON |= _set(
    "already done yet ready everything anything something thing things work works working best new next last first "
    "other more most less very much too here there then before after during starting available required optional "
    "recommended comprehensive agent project"
)
_TO_WHOM = _set("me us")
_VERBS = _set("help leave")  # with someone after them they are no names
_FORMS = (  # of asking for something, and of greeting; the longer before the shorter
    "i would like to, we would like to, i'd like to, id like to, i want to, we want to, i want, i need to, we need to, "
    "i need, let's, lets, let us, go ahead and, time to, time for, can you, can we, could you, could we, would you, "
    "will you, of course, good morning, good afternoon, good evening, hello there, hi there"
)
_FORMS_BY_FIRST: dict[str, list[tuple[str, ...]]] = {}
for _form in (tuple(text.split()) for text in _FORMS.split(",")):
    _FORMS_BY_FIRST.setdefault(_form[0], []).append(_form)


class Asked(Struct, frozen=True):
    words: tuple[str, ...]  # what is asked for, in its order
    turning: frozenset[str] = frozenset()
    bare: bool = False  # one word, and nothing beside it but greetings, articles and launching


def content(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a menu's text that count; all of them where none would."""
    return tuple(word for word in words if word not in NEUTRAL and word not in POINTING) or tuple(words)


def asked(words: Sequence[str]) -> Asked:
    if len(words) == 1:
        word = words[0]
        return Asked(() if word in GREETINGS else (word,), TURNING & {word} if len(word) > 1 else frozenset(), True)
    left = _opened(words)
    while left and (left[-1] in TRAILING or left[-1] in ARTICLES) and not _to_whom(left):
        left = left[:-1]
    joined = any(word in JOINING for word in left)
    while left and left[-1] in NEUTRAL and not _to_whom(left):
        left = left[:-1]
    last = len(left) - 1
    kept = tuple(
        word
        for at, word in enumerate(left)
        if (word not in NEUTRAL or _to_whom(left[: at + 1])) and not (word in POINTING and at < last)
    )
    if LAUNCHING.issuperset(kept):
        return Asked(())
    weighty = [word for word in kept if word not in LAUNCHING]
    return Asked(kept, TURNING.intersection(kept), len(weighty) == 1 and not joined)


def _to_whom(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[-1] in _TO_WHOM and words[-2] in _VERBS


def _opened(words: Sequence[str]) -> Sequence[str]:
    """The words after greetings and the forms of asking for something."""
    at = 0
    while at < len(words):
        forms = _FORMS_BY_FIRST.get(words[at], ())
        if form := next((form for form in forms if tuple(words[at : at + len(form)]) == form), None):
            at += len(form)
        elif words[at] in OPENING or words[at] in ARTICLES:
            at += 1
        else:
            break
    return words[at:]
