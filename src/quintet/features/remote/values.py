"""What goes through a channel, and who is at its other end. Pure."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct

from quintet.domain.dials.axes import Surface
from quintet.domain.dials.transitions import REMOTE

MOST_TEXT = 16_000  # characters of a text that is taken
SUBMISSION = "remote-"  # the ids of submissions from elsewhere begin so


class Account(Struct, frozen=True):
    """Somebody whose texts are heard."""

    channel: str
    account: str  # as the channel knows them
    address: str  # where messages to them go: a chat, a room, topics
    name: str = ""  # to be shown; anybody can call themselves anything
    paired: str = ""  # when

    @property
    def actor(self) -> str:
        return f"{REMOTE}{self.channel}/{self.account}"


class Update(Struct, frozen=True):
    """A text that came through a channel, from whomever."""

    id: str  # the channel's own: the same however often it comes
    account: str
    address: str
    text: str
    message: str = ""  # its own id among the messages there
    reply_to: str = ""  # the message that it answers
    private: bool = True  # nobody else reads or writes there
    name: str = ""
    fault: str = ""  # why it cannot be taken, whoever sent it
    callback: str = ""  # of a button, which waits to be told that it was pressed
    order: int = 0  # its place among the messages there: what was written later has a higher one


class UpdateBatch(Struct, frozen=True):
    updates: tuple[Update, ...]
    since: str  # where the next look begins


class SentMessage(Struct, frozen=True):
    """A message as the channel took it."""

    id: str  # empty where nothing can be said to it
    order: int = 0  # as that of an update


class Outgoing(Struct, frozen=True):
    """A message to an account."""

    text: str
    key: str  # the same if it is sent again
    title: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # key and label; a channel that has buttons makes some of them
    links: tuple[tuple[str, str], ...] = ()  # label and address of answer links
    question: str = ""
    reply_to: str = ""
    urgent: bool = False
    first: bool = False  # of its session: what is written after it is for the session


class InboundRow(Struct, frozen=True):
    """A text that was heard, until its session has it."""

    id: str  # of the submission
    session: str
    channel: str
    account: str
    text: str
    question: str = ""  # the one that it answers, if it says so
    message: str = ""
    surface: Surface = Surface.RPC
    link: str = ""  # the channel that the answer link was sent on
    order: int = 0


class RemoteSession(Struct, frozen=True):
    """A session that is on, in whatever process."""

    number: int
    session: str
    project: str

    @property
    def tag(self) -> str:
        return f"@{self.number}"


def submission_id(channel: str, account: str, update: str) -> str:
    """Of what an update says: a second look at the same update makes the same submission."""
    said = "\n".join((channel, account, update))
    return f"{SUBMISSION}{sha256(said.encode()).hexdigest()[:40]}"
