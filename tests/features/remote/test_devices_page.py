"""The page of paired accounts on the web surface: it lists and revokes, and pairs nobody."""

from quintet.features.remote.book import RemoteBook
from quintet.features.remote.values import Account
from tests.features.web_ui.serving import serving
from tests.surfaces.program import Program

HOSTILE = "<script>1</script>\u202eada\nline"


def test_paired_accounts_are_listed_and_revoked_by_the_owner_only(quintet: Program) -> None:
    book = RemoteBook()
    book.pair(Account("telegram", "42", "chat-7", HOSTILE, "2026-01-02T03:04:05Z"))
    book.pair(Account("matrix", "@ada:localhost", "!room", "Ada", "2026-01-03T03:04:05Z"))
    with serving(quintet, "--viewer-token") as web:
        page, one = f"{web.project}remote", "telegram/42"
        shown = web.get(page).text
        assert "telegram/42" in shown and "@ada:localhost" in shown and "2026-01-02" in shown
        assert "<script>1" not in shown and "\u202e" not in shown and "ada\nline" not in shown
        assert "chat-7" not in shown and "!room" not in shown  # where messages go is nobody's business
        assert f'href="{web.below}{page}"' in web.get(web.project).text
        seen = web.get(page, web.viewer_token).text
        assert "telegram/42" in seen and "Revoke" not in seen
        assert web.post(page, web.viewer_token, revoke=one).status == 403
        assert len(book.accounts()) == 2
        assert web.post(page, revoke="telegram/43").status == 404
        assert web.post(page, revoke=one).status == 303
        assert [account.actor for account in book.accounts()] == ["remote:matrix/@ada:localhost"]
        assert "telegram/42" not in web.get(page).text
    book.close()


def test_a_session_with_remote_on_is_linked(quintet: Program) -> None:
    with serving(quintet) as web:
        path = web.new()
        session = path.rstrip("/").rpartition("/")[2]
        assert "/remote on" in web.get(f"{web.project}remote").text
        book = RemoteBook()
        tag = book.enlist(session, "tally <b>").tag
        shown = web.get(f"{web.project}remote").text
        book.close()
        assert f'href="{web.below}{path}">{tag} tally &lt;b&gt;' in shown
