"""Brings the index up to date with the project: what is new or changed goes in, what is gone goes out.

A file is looked at again if its size or time differ, and goes in again if its content does. Secret files stay out. The
readers are processes of their own, low in priority: one that crashes or hangs on a file costs that file its symbols
and nothing else.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b

import msgspec
from msgspec import Struct

from quintet.adapters.files.file_finder import files_below
from quintet.adapters.processes.processes import own_environment
from quintet.domain.permission.protected_paths import Protection
from quintet.features.index.entries import Extract
from quintet.features.index.ranks import homes_of, links_between, packed, page_ranks
from quintet.features.index.store import IndexStore, KnownFile
from quintet.features.index.worker import read_frame, write_frame

BATCH_FILES = 64
BATCH_BYTES = 1_000_000
COMMIT_FILES = 500
COMMIT_SECONDS = 1.0  # after which what was read so far goes in: what is killed again and again gets on all the same
BATCH_SECONDS = 60.0  # that a reader may take for one batch
READERS = 2
GIVE_SECONDS = 0.2  # between two looks whether somebody still takes what was read
READER = "quintet-index-reader"  # the name of their threads
FEW = 40  # files that one reader reads as soon as two
NICE = 10  # behind all that the user waits for, and not so far that a busy machine never comes to it
RANK_SHARE = 0.02  # of the files that have changed, from which the ranks are made again
Progress = Callable[[int, int], None]
_decoder = msgspec.msgpack.Decoder(list[Extract])
_encoder = msgspec.msgpack.Encoder()


class Job(Struct, frozen=True):
    """What is indexed, and where."""

    root: str
    protection: Protection
    ripgrep: str


class Brought(Struct, frozen=True):
    """What bringing the index up to date did."""

    files: int
    read: int = 0
    removed: int = 0


class FileReader:
    """A process that reads files."""

    def __init__(self, root: str, polite: bool) -> None:
        self._root, self._polite = root, polite
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, batch: Sequence[tuple[str, bytes]]) -> list[Extract]:
        """What was taken out of each; a batch that ends the process is read again, file by file."""
        if (made := self._asked(batch)) is not None:
            return made
        if len(batch) == 1:
            return [_only_name(self._root, batch[0][0])]
        return [one for file in batch for one in self.read([file])]

    def _asked(self, batch: Sequence[tuple[str, bytes]]) -> list[Extract] | None:
        process = self._process or self._start()
        assert process.stdin and process.stdout
        ending = threading.Timer(BATCH_SECONDS, process.kill)
        ending.daemon = True
        ending.start()
        try:
            write_frame(process.stdin, _encoder.encode(batch))
            answer = read_frame(process.stdout)
        except OSError:
            answer = None
        finally:
            ending.cancel()
        if answer is None:
            self.close()
            return None
        return _decoder.decode(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-P", "-m", "quintet.features.index.worker", self._root]
        self._process = subprocess.Popen(
            argv,
            cwd="/",
            env=own_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._polite:
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
        return self._process

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            self._process = None


def _only_name(root: str, path: str) -> Extract:
    """What stands for a file that no reader survives; it is tried again when it has changed."""
    try:
        about = os.lstat(os.path.join(root, path))
    except OSError:
        return Extract(path, (0, 0), b"", gone=True)
    return Extract(path, (about.st_size, about.st_mtime_ns), b"unread", extent="name")


class Builder:
    """Of one project; keeps a reader for the next change. Whoever uses it holds the lock of the index."""

    def __init__(self, job: Job, store: IndexStore, polite: bool = True) -> None:
        self._job, self._store, self._polite = job, store, polite
        self._kept = FileReader(job.root, polite)

    def close(self) -> None:
        self._kept.close()

    def bring(self, progress: Progress = lambda done, of: None) -> Brought:
        known = self._store.known()
        to_read, gone = self._differences(known)
        if gone:
            self._store.remove([known.pop(path) for path in gone])
        if to_read:
            self._read(to_read, known, progress)
        if to_read or gone or not self._store.about("built"):
            self._finish(len(to_read) + len(gone), known)
        return Brought(len(known), len(to_read), len(gone))

    def _differences(self, known: dict[str, KnownFile]) -> tuple[list[tuple[str, bytes, int]], list[str]]:
        """What is to be read, with the digest it had and its size; and what is gone."""
        protection = self._job.protection
        rules = blake2b(msgspec.msgpack.encode(protection), digest_size=8).hexdigest()
        unchecked = rules != self._store.about("protection")
        listed = files_below(self._job.root, self._job.ripgrep)
        to_read, kept = [], set()
        for path in listed:
            before = known.get(path)
            if (unchecked or not before) and protection.is_secret(path):
                continue
            try:
                about = os.lstat(os.path.join(self._job.root, path))
            except OSError:
                continue
            kept.add(path)
            if before and before.time == about.st_mtime_ns and before.size == about.st_size:
                continue
            to_read.append((path, before.digest if before else b"", about.st_size))
        if unchecked:
            self._store.set_about({"protection": rules})
        return to_read, [path for path in known if path not in kept]

    def _read(self, files: list[tuple[str, bytes, int]], known: dict[str, KnownFile], progress: Progress) -> None:
        done, waiting, since = 0, [], time.monotonic()
        for made in self._extracts(files):
            waiting += made
            done += len(made)
            if len(waiting) >= COMMIT_FILES or time.monotonic() - since >= COMMIT_SECONDS:
                self._store.put(waiting, known)
                waiting, since = [], time.monotonic()
                progress(done, len(files))
        if waiting or not done:
            self._store.put(waiting, known)
            progress(done, len(files))

    def _extracts(self, files: list[tuple[str, bytes, int]]) -> Iterator[list[Extract]]:
        if len(files) <= FEW:
            for batch in _batches(files):
                yield self._kept.read(batch)
            return
        asked: queue.SimpleQueue[list[tuple[str, bytes]] | None] = queue.SimpleQueue()
        made: queue.Queue[list[Extract] | BaseException | None] = queue.Queue(maxsize=4 * READERS)
        for batch in _batches(files):
            asked.put(batch)

        over = threading.Event()  # nobody takes anything any more

        def give(one: list[Extract] | BaseException | None) -> None:
            while not over.is_set():
                with suppress(queue.Full):
                    made.put(one, timeout=GIVE_SECONDS)
                    return

        def work() -> None:
            reader = FileReader(self._job.root, self._polite)
            try:
                while not over.is_set() and (batch := asked.get()):
                    give(reader.read(batch))
                give(None)
            except BaseException as error:
                give(error)
            finally:
                reader.close()

        threads = [threading.Thread(target=work, name=READER, daemon=True) for _ in range(READERS)]
        for thread in threads:
            asked.put(None)
            thread.start()
        ended = 0
        try:
            while ended < READERS:
                one = made.get()
                if isinstance(one, BaseException):
                    raise one
                if one is None:
                    ended += 1
                else:
                    yield one
        finally:
            over.set()

    def _finish(self, changed: int, known: dict[str, KnownFile]) -> None:
        store = self._store
        since = int(store.about("unranked") or 0) + changed
        told = {"built": datetime.now(UTC).isoformat(timespec="seconds"), "unranked": str(since)}
        if since > RANK_SHARE * len(known) or not store.about("built"):
            links = links_between(homes_of(store.declarations()), store.uses())
            ranks = page_ranks(links, (file.id for file in known.values()))
            store.set_ranks(ranks, {file: packed(to) for file, to in links.items()})
            told["unranked"] = "0"
        store.set_about(told)


def _batches(files: list[tuple[str, bytes, int]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, digest, length in files:
        batch.append((path, digest))
        size += length
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
