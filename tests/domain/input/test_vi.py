"""The vi keys of a prompt: a text with the cursor before a mark, keys, and the same after them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.input.vi import ViDeed, ViKeys, ViMove


def typed(keys: str, shown: str) -> tuple[str, ViMove]:
    """What normal mode makes of keys; `|` stands before the cursor's character."""
    text, at = shown.replace("|", "", 1), shown.index("|")
    vi = ViKeys()
    move = ViMove(text, at)
    for key in keys:
        move = vi.key(key, move.text, move.at)
    return f"{move.text[: move.at]}|{move.text[move.at :]}", move


MOTIONS = [
    ("h", "ab|c", "a|bc"),
    ("h", "a\n|b", "a\n|b"),
    ("l", "|ab", "a|b"),
    ("l", "a|b\nc", "a|b\nc"),
    ("2l", "|abcd", "ab|cd"),
    ("w", "|one two", "one |two"),
    ("w", "|one.two", "one|.two"),
    ("2w", "|a b c", "a b |c"),
    ("w", "|one\ntwo", "one\n|two"),
    ("b", "one |two", "|one two"),
    ("b", "one t|wo", "one |two"),
    ("b", "|one", "|one"),
    ("e", "|one two", "on|e two"),
    ("e", "on|e two", "one tw|o"),
    ("0", "one\n  tw|o", "one\n|  two"),
    ("^", "one\n  tw|o", "one\n  |two"),
    ("$", "|one\ntwo", "on|e\ntwo"),
    ("gg", "one\nt|wo", "|one\ntwo"),
    ("G", "o|ne\ntwo", "one\n|two"),
    ("2G", "o|ne\ntwo\nsix", "one\n|two\nsix"),
    ("j", "on|e\ntwo", "one\ntw|o"),
    ("j", "lon|g\nx", "long\n|x"),
    ("k", "one\ntw|o", "on|e\ntwo"),
]
CHANGES = [
    ("x", "|abc", "|bc"),
    ("x", "ab|c", "a|b"),
    ("3x", "|abcd", "|d"),
    ("X", "ab|c", "a|c"),
    ("dd", "one\nt|wo\nsix", "one\n|six"),
    ("dd", "one\nt|wo", "|one"),
    ("dd", "o|ne", "|"),
    ("2dd", "|one\ntwo\nsix", "|six"),
    ("dj", "|one\ntwo\nsix", "|six"),
    ("dG", "one\n|two\nsix", "|one"),
    ("dgg", "one\nt|wo\nsix", "|six"),
    ("dw", "|one two", "|two"),
    ("dw", "one |two\nsix", "one| \nsix"),
    ("d2w", "|one two six", "|six"),
    ("2dw", "|one two six", "|six"),
    ("db", "one |two", "|two"),
    ("de", "|one two", "| two"),
    ("d$", "on|e two\nx", "o|n\nx"),
    ("d0", "on|e", "|e"),
    ("D", "on|e two\nx", "o|n\nx"),
    ("ddp", "|one\ntwo", "two\n|one"),
    ("xp", "|ab", "b|a"),
    ("yyp", "|one", "one\n|one"),
    ("yyP", "o|ne", "|one\none"),
    ("yw$p", "|one two", "one twoone| "),
    ("3rx", "|abcd", "xx|xd"),
    ("~", "|ab", "A|b"),
    ("J", "|one\n  two", "one| two"),
    ("d\x1bx", "|ab", "|b"),
]
INSERTS = [
    ("i", "a|b", "a|b"),
    ("a", "a|b", "ab|"),
    ("I", "  a|b", "  |ab"),
    ("A", "|ab\nc", "ab|\nc"),
    ("o", "|ab\nc", "ab\n|\nc"),
    ("O", "a\n|b", "a\n|\nb"),
    ("cc", "one\nt|wo", "one\n|"),
    ("C", "on|e two", "on|"),
    ("cw", "|one two", "| two"),
    ("cw", "|a b", "| b"),
    ("c2w", "|one two six", "| six"),
    ("S", "o|ne", "|"),
    ("s", "|ab", "|b"),
]


@pytest.mark.parametrize(("keys", "before", "after"), [*MOTIONS, *CHANGES])
def test_a_key_of_normal_mode_moves_or_changes_as_in_vi(keys: str, before: str, after: str) -> None:
    shown, move = typed(keys, before)
    assert (shown, move.insert, move.deed) == (after, False, ViDeed.NOTHING)


@pytest.mark.parametrize(("keys", "before", "after"), INSERTS)
def test_these_go_over_to_typing(keys: str, before: str, after: str) -> None:
    shown, move = typed(keys, before)
    assert (shown, move.insert) == (after, True)


@pytest.mark.parametrize(
    ("key", "deed"), [("u", ViDeed.UNDO), ("\x12", ViDeed.REDO), ("k", ViDeed.OLDER), ("j", ViDeed.NEWER)]
)
def test_what_the_prompt_has_to_do_is_said(key: str, deed: ViDeed) -> None:
    assert typed(key, "a|b")[1].deed is deed


@given(st.text("a b.\n\\", max_size=12), st.integers(0, 12), st.text("hjklwbe0$^gGxXdcyDCsSYiaIAoOpPurJ~39z\x1b"))
def test_no_keys_lead_out_of_the_text(text: str, at: int, keys: str) -> None:
    vi = ViKeys()
    move = ViMove(text, min(at, len(text)))
    for key in keys:
        move = vi.key(key, move.text, move.at)
        assert 0 <= move.at <= len(move.text)
        if len(move.text) > 500:
            break
