"""Which memories fit a text: the query for full-text search, and which of its answers are told unasked."""

from __future__ import annotations

from collections.abc import Iterable

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import SMALL_WORDS, word_set
from quintet.features.memory.values import MemoryEntry, Tier

MOST_WORDS = 40  # of a text that are searched for: a pasted file is no question
STEM = 4  # letters that two forms of a word share at least
ENDING = 3  # letters that one of them may have more
_WORD = regex(r"\w+(?:[./-]\w+)*")
_SMALL = SMALL_WORDS | word_set(
    "all are as at be been but by can could did do does done from get has have here how if into is it its me my new no "
    "not now one our out please should so some than that them then there these they this those up us use was we were "
    "what when where which who why will would you your"
)


def words_of(text: str) -> list[str]:
    """The words of a text that say something, each once, the first of them."""
    found = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return [word for word in found if len(word) > 1 and word not in _SMALL][:MOST_WORDS]


def match_any(words: Iterable[str]) -> str:
    """As full-text search takes it: any of the words, each as a phrase of its parts."""
    return " OR ".join(f'"{word}"' for word in words)


def near(words: list[str], found: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Those that are told unasked: two words in common, or one that is a name; a fact may share any one."""
    return [one for one in found if _is_near(words, one)]


def _is_near(words: list[str], entry: MemoryEntry) -> bool:
    known = words_of(entry.text)
    shared = [word for word in words if any(_same(word, one) for one in known)]
    named = any(set(word) & set("./_-0123456789") for word in shared)
    return len(shared) > 1 or (bool(shared) and (named or entry.tier is Tier.FACT or len(words) == 1))


def _same(one: str, other: str) -> bool:
    """Whether two words are the same but for an ending: test and tests, count and counted."""
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= STEM and long.startswith(short) and len(long) - len(short) <= ENDING)
