"""What remote keeps between sessions and processes: accounts, pairings, positions, texts on their way, links.

A batch of updates goes in with the position behind it, in one transaction: after a crash it comes again, and what was
seen is passed over. A text stays until its session has it in its own inbox, under an id made from the update's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from secrets import token_bytes

import msgspec

from quintet.adapters.files.paths import state_folder
from quintet.adapters.processes.system import process_identity
from quintet.adapters.sqlite import own_files
from quintet.features.remote.answer_links import AnswerLink
from quintet.features.remote.pairing import PairingCode, is_open, judged, tried
from quintet.features.remote.texts import RemoteRefusal, Routed, Unheard, routed
from quintet.features.remote.values import Account, InboundRow, RemoteSession, Update, UpdateBatch, submission_id

KEPT = 5_000  # of what was seen, sent, linked
MOST_INBOUND = 500  # texts that wait for one session
HEAP = "too many messages are waiting for that session"
_SCHEMA = os.path.join(os.path.dirname(__file__), "book.sql")
FILE = "remote.db"


def folder() -> str:
    return os.path.join(state_folder(), "remote")


class Paired(msgspec.Struct, frozen=True):
    """An account was paired by this update."""

    account: Account


Verdict = Paired | Routed | RemoteRefusal | Unheard


def is_there() -> bool:
    """Whether something was ever paired or sent."""
    return os.path.exists(os.path.join(folder(), FILE))


class RemoteBook:
    def __init__(self, path: str = "") -> None:
        self._path = path or os.path.join(folder(), FILE)
        self._db = own_files.opened(self._path, _SCHEMA)

    def close(self) -> None:
        self._db.close()

    def _writing(self) -> AbstractContextManager[None]:
        return own_files.writing(self._db, self._path)

    def version(self) -> int:
        """Changes whenever another process has written."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def key(self) -> bytes:
        """What codes and links are signed with; made once."""
        found = self._db.execute("SELECT value FROM keys WHERE name = 'sign'").fetchone()
        if not found:
            self._db.execute("INSERT OR IGNORE INTO keys VALUES ('sign', ?)", (token_bytes(32),))
            found = self._db.execute("SELECT value FROM keys WHERE name = 'sign'").fetchone()
        return bytes(found[0])

    # ── accounts and pairings

    def accounts(self, channel: str = "") -> list[Account]:
        rows = self._db.execute("SELECT channel, account, address, name, paired FROM accounts ORDER BY paired")
        return [Account(*row) for row in rows if channel in ("", row[0])]

    def account(self, channel: str, account: str) -> Account | None:
        return next((one for one in self.accounts(channel) if one.account == account), None)

    def pair(self, account: Account) -> None:
        self._db.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?)", msgspec.structs.astuple(account))

    def revoke(self, channel: str, account: str) -> bool:
        """The account is heard no more, nor is what it said already and nobody has yet."""
        with self._writing():
            gone = self._db.execute("DELETE FROM accounts WHERE channel = ? AND account = ?", (channel, account))
            for row in self._rows("SELECT row FROM inbound"):
                if (row.link or row.channel, row.account) == (channel, account):
                    self._db.execute("DELETE FROM inbound WHERE id = ?", (row.id,))
        return gone.rowcount > 0

    def begin_pairing(self, code: PairingCode) -> None:
        self._put_code(code)

    def pairing(self, channel: str) -> PairingCode | None:
        row = self._db.execute("SELECT * FROM codes WHERE channel = ?", (channel,)).fetchone()
        if not row:
            return None
        channel, digest, expires, address, wrong = row
        return PairingCode(channel, digest, expires, address, msgspec.json.decode(wrong))

    def end_pairing(self, channel: str) -> None:
        self._db.execute("DELETE FROM codes WHERE channel = ?", (channel,))

    def _put_code(self, code: PairingCode) -> None:
        wrong = msgspec.json.encode(dict(code.wrong)).decode()
        values = (code.channel, code.digest, code.expires, code.address, wrong)
        self._db.execute("INSERT OR REPLACE INTO codes VALUES (?, ?, ?, ?, ?)", values)

    # ── what comes

    def since(self, channel: str) -> str:
        row = self._db.execute("SELECT since FROM positions WHERE channel = ?", (channel,)).fetchone()
        return str(row[0]) if row else ""

    def file(self, channel: str, batch: UpdateBatch, now: float, at: str) -> list[tuple[Update, Verdict]]:
        """Take in a batch with the position behind it; returns what became of each update that is new."""
        found: list[tuple[Update, Verdict]] = []
        with self._writing():
            for update in batch.updates:
                new = self._db.execute("INSERT OR IGNORE INTO seen (channel, id) VALUES (?, ?)", (channel, update.id))
                if new.rowcount:
                    found.append((update, self._filed(channel, update, now, at)))
            self._db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?)", (channel, batch.since))
            for table in ("seen", "sent"):
                self._db.execute(f"DELETE FROM {table} WHERE number <= (SELECT max(number) FROM {table}) - {KEPT}")
        return found

    def _filed(self, channel: str, update: Update, now: float, at: str) -> Verdict:
        if code := tried(update.text):
            return self._tried(channel, update, code, now, at)
        account = self.account(channel, update.account)
        sent = self._sent(channel, update.account, update.reply_to) if update.reply_to else None
        verdict = routed(update, account, self.live(), sent, self._begun(channel, update.account))
        if isinstance(verdict, Routed) and self._heap(verdict.session) >= MOST_INBOUND:
            return RemoteRefusal(HEAP)
        if isinstance(verdict, Routed):
            id = submission_id(channel, update.account, update.id)
            said = (verdict.text, verdict.question, update.message)
            self._put_row(InboundRow(id, verdict.session, channel, update.account, *said, order=update.order))
        return verdict

    def _tried(self, channel: str, update: Update, code: str, now: float, at: str) -> Verdict:
        waiting = self.pairing(channel)
        if not update.private:
            return Unheard("codes are accepted only in a private chat")
        if update.fault:
            return Unheard("forwarded codes are not accepted")
        outcome = judged(waiting, code, update.account, update.address, now, self.key())
        if isinstance(outcome, PairingCode):
            self._put_code(outcome)
            return Unheard("a wrong code")
        if not outcome:
            return Unheard("no code waits")
        account = Account(channel, update.account, update.address, update.name[:60], at)
        self.pair(account)
        self.end_pairing(channel)
        return Paired(account)

    def waits(self, channel: str, now: float) -> PairingCode | None:
        """The pairing that can still be ended."""
        found = self.pairing(channel)
        return found if is_open(found, now) else None

    def _put_row(self, row: InboundRow) -> None:
        data = msgspec.json.encode(row).decode()
        self._db.execute("INSERT OR IGNORE INTO inbound VALUES (?, ?, ?)", (row.id, row.session, data))

    def _heap(self, session: str) -> int:
        return int(self._db.execute("SELECT count(*) FROM inbound WHERE session = ?", (session,)).fetchone()[0])

    def inbound(self, session: str) -> list[InboundRow]:
        return self._rows("SELECT row FROM inbound WHERE session = ? ORDER BY rowid", session)

    def _rows(self, select: str, *values: str) -> list[InboundRow]:
        rows = self._db.execute(select, values).fetchall()
        return [msgspec.json.decode(row[0], type=InboundRow) for row in rows]

    def taken(self, row: str) -> None:
        """The session has it."""
        self._db.execute("DELETE FROM inbound WHERE id = ?", (row,))

    # ── what goes

    def note_sent(self, account: Account, message: str, session: str, question: str) -> None:
        values = (account.channel, account.account, message, session, question)
        self._db.execute(
            "INSERT OR REPLACE INTO sent (channel, account, message, session, question) VALUES (?, ?, ?, ?, ?)", values
        )

    def note_begun(self, account: Account, session: str, place: int) -> None:
        """The account is shown the first message of a session that is on; later ones change nothing."""
        values = (session, account.channel, account.account, place)
        self._db.execute("INSERT OR IGNORE INTO begun VALUES (?, ?, ?, ?)", values)

    def _begun(self, channel: str, account: str) -> dict[str, int]:
        rows = self._db.execute(
            "SELECT session, place FROM begun WHERE channel = ? AND account = ?", (channel, account)
        )
        return {str(session): int(place) for session, place in rows}

    def knows(self, channel: str, update: Update) -> bool:
        """Whether all that routes an update is noted: the message that it answers, where the sessions began."""
        if self.account(channel, update.account) is None:
            return True
        if update.reply_to:
            return self._sent(channel, update.account, update.reply_to) is not None
        return self._begun(channel, update.account).keys() >= {one.session for one in self.live()}

    def _sent(self, channel: str, account: str, message: str) -> tuple[str, str] | None:
        """What a message was about; messages are numbered by chat, so another account's may have the same number."""
        row = self._db.execute(
            "SELECT session, question FROM sent WHERE channel = ? AND account = ? AND message = ?",
            (channel, account, message),
        ).fetchone()
        return (str(row[0]), str(row[1])) if row else None

    # ── sessions

    def enlist(self, session: str, project: str) -> RemoteSession:
        """Put a session on the list of those that are on, as this process's."""
        pid = os.getpid()
        with self._writing():
            self._db.execute(
                "INSERT INTO sessions (session, project, pid, identity) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (session) DO UPDATE SET pid = excluded.pid, identity = excluded.identity",
                (session, project, pid, process_identity(pid)),
            )
            self._db.execute("DELETE FROM begun WHERE session = ?", (session,))
        row = self._db.execute("SELECT number, session, project FROM sessions WHERE session = ?", (session,)).fetchone()
        return RemoteSession(*row)

    def leave(self, session: str) -> None:
        self._db.execute(
            "UPDATE sessions SET pid = 0, identity = '' WHERE session = ? AND pid = ?", (session, os.getpid())
        )

    def live(self, identity: Callable[[int], str] = process_identity) -> list[RemoteSession]:
        rows = self._db.execute("SELECT number, session, project, pid, identity FROM sessions WHERE pid > 0").fetchall()
        return [RemoteSession(*row[:3]) for row in rows if row[4] and identity(row[3]) == row[4]]

    # ── answer links

    def keep_link(self, link: AnswerLink) -> None:
        data = msgspec.json.encode(link).decode()
        self._db.execute("INSERT INTO links VALUES (?, ?, ?, ?, '')", (link.id, link.session, link.question, data))
        self._db.execute(f"DELETE FROM links WHERE rowid <= (SELECT max(rowid) FROM links) - {KEPT}")

    def link(self, id: str) -> AnswerLink | None:
        row = self._db.execute("SELECT link, used FROM links WHERE id = ?", (id,)).fetchone()
        return msgspec.structs.replace(msgspec.json.decode(row[0], type=AnswerLink), used=row[1]) if row else None

    def end_links(self, session: str, question: str, how: str) -> None:
        """The question is over: none of its links does anything any more."""
        self._db.execute(
            "UPDATE links SET used = ? WHERE session = ? AND question = ? AND used = ''", (how, session, question)
        )

    def use_link(self, link: AnswerLink, row: InboundRow) -> bool:
        """Take the answer of a link; False if one of its question was taken before."""
        with self._writing():
            values = ("answered by a link", link.session, link.question)
            used = self._db.execute(
                "UPDATE links SET used = ? WHERE session = ? AND question = ? AND used = ''", values
            )
            now = self.link(link.id)
            if not used.rowcount or now is None:
                return False
            self._put_row(row)
        return True
