"""What moving a folder carries along."""

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.permission.moved_folders import (
    FolderContents,
    above_own,
    completes_repository,
    judged,
    stays_foreign,
)
from quintet.domain.permission.protected_paths import PROTECTION, Protection

NAMES = st.sampled_from(["a", "b.txt", ".env", ".git", ".vscode", "HEAD", "objects", "refs", ".quintet", "x.pem"])


@given(st.lists(st.tuples(st.sampled_from(["", "s", "s/t"]), st.lists(NAMES, max_size=4).map(tuple)), max_size=3))
def test_a_folder_goes_unasked_only_if_each_entry_would(folders: list[tuple[str, tuple[str, ...]]]) -> None:
    found = judged(FolderContents(tuple(folders)), "from", "to", PROTECTION)
    names = {name for _, inner in folders for name in inner}
    if names & {".env", ".git", "x.pem"}:
        assert found.refused
    elif not found.refused:
        assert bool(found.asked) == bool(names & {".vscode", "HEAD", ".quintet"})


def test_what_is_closed_or_too_much_is_not_taken_for_nothing() -> None:
    assert judged(FolderContents(closed="x"), "a", "b", PROTECTION).refused == (
        "a/x cannot be read, so its content is not known"
    )
    assert judged(FolderContents(more=True), "a", "b", PROTECTION).asks
    many = FolderContents((("", tuple(f"{number}.code-workspace" for number in range(101))),))
    assert judged(many, "a", "b", PROTECTION).refused


def test_places_above_quintets_own_and_repositories_that_one_entry_makes() -> None:
    protection = Protection(private=("config/quintet", "/p/config/quintet"))
    assert above_own("Config", "z", protection)
    assert above_own("z", "config", protection)
    assert not above_own("configs", "config/other", protection)
    assert stays_foreign("node_modules/a", ".venv/b")
    assert not stays_foreign("node_modules/a", "b")
    assert completes_repository(["HEAD", "objects"], "refs")
    assert not completes_repository(["HEAD"], "refs")
