"""Worktrees and branches of tasks, by git as Quintet itself runs it: nothing that the repository names is run.

Each look goes through `repository_view`, so there are no hooks, filters, drivers or signers. A file that a filter would
convert stays as the repository holds it, and work that changes one is refused. A branch is moved only from where it was
seen; the user's index and files change only where git finds them as they were committed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from shutil import rmtree

from msgspec import Struct

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.git.git_folders import git_folders, read_plain
from quintet.adapters.git.run_git import RepositoryView, repository_view, settings_in, user_config
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.plain_git import branch_of

SECONDS = 120.0
PREFIX = "quintet/"  # of the branches of tasks
UNFINISHED = " (unfinished)"  # ends the title of what an attempt left
FORMER = "refs/quintet/former/"  # work that did not fit and was begun anew
OURS = "refs/quintet/heads/"  # where a task's branch was when it was last moved here: any other place is not ours
_GITLINK, _LINK = b"160000", b"120000"
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all")
_UNFILTERED = (b"unspecified", b"unset")
_SHOWN = 60  # lines of what the target has changed


class Replayed(Struct, frozen=True):
    """Commits put onto another one: the newest of them, or what stands against what."""

    commit: str = ""
    conflict: str = ""


class Worktrees:
    """Of the repository whose work tree is `root`. Every method blocks on git; ToolFailed says what git says."""

    def __init__(self, root: str) -> None:
        self.root = root

    # ── looking

    def current(self) -> str:
        """The branch of the user's checkout; empty if it is on none, or there is no repository."""
        found = git_folders(self.root)
        name = branch_of(read_plain(os.path.join(found.own, "HEAD"), 4096).decode("utf-8", "replace")) if found else ""
        return "" if name.startswith("(") else name

    def commit_of(self, ref: str) -> str:
        """The commit that a ref is at; empty if there is none."""
        with self._view(self.root) as view:
            return _at(view, f"{ref}^{{commit}}")

    def blob_of(self, commit: str, path: str) -> str:
        """The name of what a file holds in a commit; empty if it has none of that name."""
        with self._view(self.root) as view:
            found = _at(view, f"{commit}:{path}")
            return found if found and _text(view.ask("cat-file", "-t", found)) == "blob" else ""

    def content_of(self, blob: str, most: int) -> bytes | None:
        """What a file holds; None if that is more."""
        with self._view(self.root) as view:
            if int(_text(view.ask("cat-file", "-s", blob))) > most:
                return None
            return view.ask("cat-file", "blob", blob)

    def left_at(self, task: str) -> str:
        """Where workers have left the task's branch, wherever others have moved it; empty if it is gone."""
        there = self.commit_of(f"refs/heads/{branch_for(task)}")
        return there and (self.commit_of(f"{OURS}{_name(task)}") or there)

    def elsewhere(self, branch: str) -> str:
        """Another work tree of the user's that has this branch checked out; empty if none has."""
        found = git_folders(self.root)
        folder = os.path.join(found.common, "worktrees") if found else ""
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(folder)):
                own = os.path.join(folder, name)
                if branch_of(read_plain(os.path.join(own, "HEAD"), 4096).decode("utf-8", "replace")) == branch:
                    led = read_plain(os.path.join(own, "gitdir"), 4096).decode("utf-8", "surrogateescape").strip()
                    if os.path.exists(led):
                        return os.path.dirname(led)
        return ""

    def unsaved(self) -> list[str]:
        """What is not committed in the user's checkout: changed, staged, or new; folders end in a slash."""
        with self._view(self.root) as view:
            found = []
            for entry in view.ask(*_STATUS).split(b"\0"):
                kind = entry[:1]
                if kind == b"1":
                    found.append(os.fsdecode(entry.split(b" ", 8)[8]))
                elif kind == b"u":
                    found.append(os.fsdecode(entry.split(b" ", 10)[10]))
                elif kind == b"?":
                    found.append(os.fsdecode(entry[2:]))
            return found

    def changed(self, before: str, after: str) -> list[str]:
        """The files that differ between two commits."""
        with self._view(self.root) as view:
            return _names(view.ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after))

    def in_the_way(self, before: str, after: str, at: str) -> list[str]:
        """What lies in the checkout where work between two commits would write, and is not what `at` holds.

        Looked at as it is on disk: whether git ignores it, or was told to take it as unchanged, does not matter.
        """
        with self._view(self.root) as view:
            changed = set(_names(view.ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)))
            raw = view.ask("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", at, after).split(b"\0")
            pairs = zip(raw[::2], raw[1::2], strict=False)  # what comes after the last name is empty
            listed = [(about.lstrip(b":").split(b" "), os.fsdecode(name)) for about, name in pairs]
            hit: set[str] = set()
            expected: dict[str, str] = {}
            for (old, _, held, *_), name in listed:
                if name not in changed:
                    continue
                if above := _not_a_folder_above(self.root, name):
                    hit |= {above} - changed
                    continue
                try:
                    kind = os.lstat(os.path.join(self.root, name)).st_mode
                except OSError:
                    continue  # nothing is there that could be lost
                if stat.S_ISDIR(kind):
                    hit |= set() if old == _GITLINK else self._strangers(name, changed)
                elif stat.S_ISLNK(kind) and old == _LINK:
                    led = os.readlink(os.fsencode(os.path.join(self.root, name)))
                    if _text(view.ask("hash-object", "--stdin", "--no-filters", given=led)) != held.decode():
                        hit.add(name)
                elif stat.S_ISREG(kind) and old not in (b"000000", _LINK, _GITLINK):
                    expected[name] = held.decode()
                else:
                    hit.add(name)
            return sorted(hit | self._altered(view, expected))

    def _strangers(self, folder: str, changed: set[str]) -> set[str]:
        """The files in a folder that are no part of a change."""
        found = set()
        for above, folders, files in os.walk(os.path.join(self.root, folder)):
            links = [name for name in folders if os.path.islink(os.path.join(above, name))]
            found |= {os.path.relpath(os.path.join(above, name), self.root) for name in (*files, *links)}
        return found - changed

    def _altered(self, view: RepositoryView, expected: dict[str, str]) -> set[str]:
        """The files whose content is another than is expected."""
        plain = [name for name in expected if "\n" not in name]
        given = b"".join(os.fsencode(name) + b"\n" for name in plain)
        said = _text(view.ask("hash-object", "--stdin-paths", given=given)).split() if plain else []
        found = dict(zip(plain, said, strict=True))
        for name in expected.keys() - found.keys():
            found[name] = _text(view.ask("hash-object", "--", name))
        return {name for name, held in expected.items() if found[name] != held}

    # ── whose a branch is

    def refusal(self, task: str, path: str, target: str, *, known: bool) -> str:
        """Why no work can be done on the task's branch; empty if it is free, or ours. `known`: it was stored as ours.

        It is ours where it was last moved to, or further on from there in the task's own worktree.
        """
        branch, ref = branch_for(task), f"refs/heads/{branch_for(task)}"
        rename = f"rename yours (git branch -m {branch} NEW-NAME), or give the task another id"
        if target == branch:
            return f"{branch} is the branch to integrate into, and the name of this task's own branch; {rename}"
        try:
            self._admin(task, path)
        except ToolFailed as error:
            return error.message
        with self._view(self.root) as view:
            if _at(view, "refs/heads/quintet"):
                return (
                    f"a branch named quintet exists, so git cannot make {branch}; rename it (git branch -m quintet NEW)"
                )
            if led := _text(view.ask("symbolic-ref", "--quiet", ref, accept=(0, 1))):
                return f"{branch} is a symbolic ref to {led}; remove it: git symbolic-ref -d {ref}"
            head = _at(view, ref)
            ours = _at(view, f"{OURS}{_name(task)}")
            if not head or (known and head == ours):
                return ""
            in_worktree = known and ours and self.is_whole(task, path)
            if in_worktree and _text(view.ask("merge-base", ours, head, accept=(0, 1))) == ours:
                return ""
            return f"the branch {branch} exists and was not made by workers, or was moved by others; {rename}"

    def _admin(self, task: str, path: str) -> str:
        """What git keeps of the task's worktree. ToolFailed if it is another's, or a link leads elsewhere."""
        found = git_folders(self.root)
        if found is None:
            raise ToolFailed(f"{self.root}: not a git repository that a worktree can be made of")
        admin, name = os.path.join("worktrees", f"quintet-{task}"), _name(task)
        refs = [f"refs/heads/{PREFIX}{name}", f"{FORMER}{name}", f"{OURS}{name}"]
        for place in (*refs, *(f"logs/{ref}" for ref in refs), admin):
            if link := _link_on_the_way(found.common, place):
                raise ToolFailed(f"{link} is a link, and workers write nothing through links; remove it")
        whole = os.path.join(found.common, admin)
        led = read_plain(os.path.join(whole, "gitdir"), 4096).decode("utf-8", "surrogateescape").strip()
        if os.path.lexists(whole) and led != f"{path}/.git":
            raise ToolFailed(f"{whole} is of another worktree ({led or 'unknown'}); move that one, or remove it")
        return whole

    def gone(self, folder: str) -> list[str]:
        """The tasks whose worktree in a folder is no longer there, and that git still lists."""
        found = git_folders(self.root)
        listed = os.path.join(found.common, "worktrees") if found else ""
        tasks: list[str] = []
        with contextlib.suppress(OSError):
            for name in sorted(os.listdir(listed)):
                task = name.removeprefix("quintet-")
                path = os.path.join(folder, task)
                if task != name and not os.path.lexists(path):
                    with contextlib.suppress(ToolFailed):  # another's
                        self._admin(task, path)
                        tasks.append(task)
        return tasks

    def _set(self, view: RepositoryView, task: str, after: str, before: str) -> None:
        """Move the task's branch, and note that this was done here: both or neither."""
        branch, ours = f"refs/heads/{branch_for(task)}", f"{OURS}{_name(task)}"
        given = f"update {branch} {after} {before or '0' * len(after)}\nupdate {ours} {after}\n"
        view.ask("update-ref", "--no-deref", "--stdin", given=given.encode())

    # ── a worktree for a task

    def make(self, task: str, path: str, base: str) -> None:
        """A worktree at `path` on the task's branch, at the commit `base`. Nothing may be there yet.

        A branch of that name that was not left here as it is, is never touched.
        """
        branch = branch_for(task)
        admin = self._admin(task, path)
        rmtree(admin, ignore_errors=True)
        with self._view(self.root) as view:
            former = _at(view, f"refs/heads/{branch}")
            noted = _at(view, f"{OURS}{_name(task)}")
            if former and former != noted:
                raise ToolFailed(f"the branch {branch} exists and was not made by workers; rename it")
            if former and former != base:
                view.ask("update-ref", "--no-deref", f"{FORMER}{_name(task)}", former)
            self._set(view, task, base, former)
        private_folder(os.path.dirname(path))
        os.makedirs(path)
        os.makedirs(admin)
        _write(os.path.join(admin, "HEAD"), f"ref: refs/heads/{branch}\n")
        _write(os.path.join(admin, "commondir"), "../..\n")
        _write(os.path.join(admin, "gitdir"), f"{path}/.git\n")
        _write(os.path.join(path, ".git"), f"gitdir: {admin}\n")
        with self._view(path) as view:
            view.variables["GIT_INDEX_FILE"] = os.path.join(admin, "index")  # a look finds none yet
            view.ask("read-tree", "--reset", "-u", base)

    def is_whole(self, task: str, path: str) -> bool:
        """Whether the task's worktree is there, on its branch."""
        found = git_folders(path) if os.path.isdir(path) else None
        if found is None:
            return False
        name = branch_of(read_plain(os.path.join(found.own, "HEAD"), 4096).decode("utf-8", "replace"))
        return name == branch_for(task) and bool(self.commit_of(f"refs/heads/{name}"))

    def keep(self, task: str, path: str, title: str, *, finished: bool = True) -> str:
        """Commit all that is in the worktree; returns the newest commit of its branch.

        What it holds is what its files hold: the index is made anew, because a call that commits can write it, and
        name there what no file has and nobody has seen. What an attempt left unfinished becomes one commit with what
        the next one makes of it.
        """
        ref = f"refs/heads/{branch_for(task)}"
        about, former = (f"{title}{end}\n\nTask: {task}\n" for end in ("" if finished else UNFINISHED, UNFINISHED))
        with self._view(path) as view:
            head = _at(view, f"{ref}^{{commit}}")
            if not head:
                raise ToolFailed(f"the branch {branch_for(task)} no longer exists")
            self._new_index(view, path, head)
            view.ask("add", "-A", "--", ".")
            self._as_committed(view, path, head)
            tree = _text(view.ask("write-tree"))
            said = view.ask("show", "-s", "--format=%B", head).decode("utf-8", "replace").strip()
            onto = _text(view.ask("rev-parse", f"{head}^")) if said == former.strip() else head
            same = next((one for one in (onto, head) if tree == _text(view.ask("rev-parse", f"{one}^{{tree}}"))), "")
            if same and (same == onto or not finished):
                self._set(view, task, same, head)
                return same
            self._refuse_filtered(view, onto, tree)
            commit = _text(view.ask("commit-tree", tree, "-p", onto, given=about.encode()))
            self._set(view, task, commit, head)
            return commit

    def _new_index(self, view: RepositoryView, path: str, head: str) -> None:
        found = git_folders(path)
        index = os.path.join(found.own if found else view.folder, "index")
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(index)
        except OSError as error:
            raise ToolFailed(f"{index}: {error.strerror}; remove it") from error
        view.variables["GIT_INDEX_FILE"] = index
        view.ask("read-tree", head)

    def _as_committed(self, view: RepositoryView, path: str, head: str) -> None:
        """Files that are byte for byte as they were committed stay so, though git would convert their line ends."""
        raw = view.ask("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", head).split(b"\0")
        pairs = zip(raw[::2], raw[1::2], strict=False)
        changed = [(about.lstrip(b":").split(b" "), os.fsdecode(name)) for about, name in pairs]
        kept = ""
        for (old, new, was, *_), name in changed:
            whole = os.path.join(path, name)
            if old != new or old in (_LINK, _GITLINK) or "\n" in name or not os.path.isfile(whole):
                continue
            if _text(view.ask("hash-object", "--no-filters", "--", name)) == was.decode():
                kept += f"{old.decode()} {was.decode()}\t{name}\n"
        if kept:
            view.ask("update-index", "--index-info", given=os.fsencode(kept))

    def _refuse_filtered(self, view: RepositoryView, before: str, after: str) -> None:
        names = _names(view.ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after))
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        said = view.ask("check-attr", "-z", "--stdin", "filter", given=given).split(b"\0")
        for path, value in zip(said[::3], said[2::3], strict=False):
            if value not in _UNFILTERED:
                name = os.fsdecode(path)
                raise ToolFailed(
                    f"{name} is converted by a filter of git ({value.decode()}); commit this task yourself"
                )

    def replay(self, task: str, base: str, head: str, onto: str) -> Replayed:
        """The commits after `base` up to `head`, put onto another commit one by one. No branch is moved."""
        if base == onto:
            return Replayed(head)
        with self._view(self.root) as view:
            at = onto
            for commit in _text(view.ask("rev-list", "--reverse", "--first-parent", f"{base}..{head}")).split():
                parent = f"{commit}^"
                root = _text(view.ask("commit-tree", f"{parent}^{{tree}}", given=b"base"))
                ours = _text(view.ask("commit-tree", f"{at}^{{tree}}", "-p", root, given=b"ours"))
                theirs = _text(view.ask("commit-tree", f"{commit}^{{tree}}", "-p", root, given=b"theirs"))
                merged = view.ask(
                    "merge-tree", "--write-tree", "--name-only", "--messages", ours, theirs, accept=(0, 1)
                )
                tree, _, rest = merged.decode("utf-8", "replace").partition("\n")
                names, _, messages = rest.partition("\n\n")  # the files in conflict come first, if there are any
                if rest and not rest.startswith("\n"):
                    return Replayed(conflict=self._told(view, names.split("\n"), messages, base, onto))
                if tree == _text(view.ask("rev-parse", f"{at}^{{tree}}")):
                    continue
                about = view.ask("show", "-s", "--format=%an%x00%ae%x00%ad%x00%B", "--date=raw", commit).split(b"\0", 3)
                author = dict(zip(("NAME", "EMAIL", "DATE"), map(os.fsdecode, about), strict=False))
                with _as_author(view, author):
                    at = _text(view.ask("commit-tree", tree, "-p", at, given=about[3].rstrip(b"\n") + b"\n"))
            return Replayed(at)

    def _told(self, view: RepositoryView, names: Sequence[str], messages: str, base: str, onto: str) -> str:
        files = [name for name in dict.fromkeys(names) if name]
        said = [line for line in messages.splitlines() if line.startswith("CONFLICT")] or files
        diff = view.ask("diff", "--no-ext-diff", "--no-textconv", "--no-color", base, onto, "--", *files)
        lines = diff.decode("utf-8", "replace").splitlines()[:_SHOWN]
        return "\n".join([*said, "", "What has changed there meanwhile:", "", *(f"    {line}" for line in lines)])

    def move(self, task: str, path: str, before: str, after: str) -> None:
        """The worktree and its branch from one commit to another; the worktree has nothing that is not committed."""
        if before == after:
            return
        with self._view(path) as view:
            view.ask("update-index", "-q", "--refresh", accept=(0, 1))
            view.ask("read-tree", "-m", "-u", before, after)
            self._set(view, task, after, before)

    def begin_anew(self, task: str, path: str, onto: str) -> str:
        """The worktree at another commit, whatever it holds; returns where its former work can be found."""
        ref = f"refs/heads/{branch_for(task)}"
        with self._view(path) as view:
            former = _text(view.ask("rev-parse", "--verify", ref))
            view.ask("update-ref", "--no-deref", f"{FORMER}{_name(task)}", former)
            view.ask("read-tree", "--reset", "-u", onto)
            self._set(view, task, onto, former)
            return former

    def merged(self, onto: str, others: Sequence[str]) -> str:
        """A commit that holds another one and these, in their order; ToolFailed where they do not fit together."""
        with self._view(self.root) as view:
            at = onto
            for other in others:
                shared = _text(view.ask("merge-base", at, other))
                if shared == other:
                    continue
                if shared == at:
                    at = other
                    continue
                out = view.ask(
                    "merge-tree", "--write-tree", "--name-only", "--no-messages", at, other, accept=(0, 1)
                ).decode()
                tree, _, rest = out.partition("\n")
                if rest.strip():
                    raise ToolFailed(f"the branches that it depends on do not fit together: {rest.split()[0]}")
                at = _text(view.ask("commit-tree", tree, "-p", at, "-p", other, given=b"Join what a task depends on\n"))
            return at

    # ── the target

    def forward(self, target: str, before: str, after: str, why: str) -> None:
        """The target branch from one commit to the next, and the user's checkout with it if it is on that branch."""
        with self._view(self.root) as view:
            if self.current() == target:
                view.ask("update-index", "-q", "--refresh", accept=(0, 1, 128))  # what hinders it, read-tree tells
                view.ask("read-tree", "-m", "-u", before, after)
            logged = ("-c", "core.logallrefupdates=true", "update-ref", "-m", f"quintet: {why}")
            try:
                view.ask(*logged, f"refs/heads/{target}", after, before)
            except ToolFailed:
                if self.current() == target:  # the files go back to where the branch stayed
                    view.ask("read-tree", "-m", "-u", after, before)
                raise

    def settle(self, target: str, before: str, after: str) -> bool:
        """Finish a move forward that was cut short between files and branch; whether there was something to finish."""
        with self._view(self.root) as view:
            at = _at(view, f"refs/heads/{target}")
            if at != before or self.current() != target:
                return False
            listed = (entry.partition(b"\t") for entry in view.ask("ls-files", "--stage", "-z").split(b"\0") if entry)
            held = {name: about.split(b" ") for about, _, name in listed}  # what else is staged does not matter
            raw = view.ask("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after).split(b"\0")
            for about, name in zip(raw[::2], raw[1::2], strict=False):
                _, kind, _, new, _ = about.split(b" ")
                if held.get(name, [b"000000", b"0" * len(new), b"0"]) != [kind, new, b"0"]:
                    return False
            view.ask("update-ref", f"refs/heads/{target}", after, before)
            return True

    # ── the end

    def remove(self, task: str, path: str, *, branch: bool) -> None:
        """Take the worktree away, and its branch too if it is not to be kept and is where it was left here."""
        admin = ""
        with contextlib.suppress(ToolFailed):
            admin = self._admin(task, path)
        rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))
        if not admin:
            return
        rmtree(admin, ignore_errors=True)
        if branch:
            with contextlib.suppress(ToolFailed), self._view(self.root) as view:
                ours = _at(view, f"{OURS}{_name(task)}")
                given = f"delete refs/heads/{branch_for(task)} {ours}\ndelete {OURS}{_name(task)} {ours}\n"
                if ours:
                    view.ask("update-ref", "--no-deref", "--stdin", given=given.encode())

    @contextlib.contextmanager
    def _view(self, root: str) -> Iterator[RepositoryView]:
        with repository_view(root, SECONDS) as view:
            if view is None:
                raise ToolFailed(f"{root}: its git repository no longer exists or cannot be used")
            view.variables |= _identity(root)
            yield view


def _at(view: RepositoryView, ref: str) -> str:
    """What a ref is at; empty if there is no such ref."""
    return _text(view.ask("rev-parse", "--verify", "--quiet", ref, accept=(0, 1)))


def branch_for(task: str) -> str:
    """The branch of a task, of no two the same; a dot that git would not take in a name is spelled as a plus."""
    return f"{PREFIX}{_name(task)}"


def _name(task: str) -> str:
    return re.sub(r"(?<=\.)\.|\.(?=lock$)|\.$", "+", task)


def _link_on_the_way(base: str, place: str) -> str:
    """The first part of a path below a folder that is a link, itself included; empty if none is."""
    at = base
    for part in place.split("/"):
        at = os.path.join(at, part)
        if os.path.islink(at):
            return at
    return ""


def _not_a_folder_above(root: str, name: str) -> str:
    """The first part above a file that exists and is no folder: a link to one is none."""
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        above = "/".join(parts[:count])
        try:
            if not stat.S_ISDIR(os.lstat(os.path.join(root, above)).st_mode):
                return above
        except OSError:
            return ""
    return ""


def _identity(root: str) -> dict[str, str]:
    """Who commits: the user, as their git settings say."""
    found = git_folders(root)
    theirs = settings_in(read_plain(os.path.join(found.common, "config"))) if found else ()
    known = {**dict(user_config()), **dict(theirs or ())}
    name, email = known.get("user.name", "Quintet"), known.get("user.email", "quintet@localhost")
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }


@contextlib.contextmanager
def _as_author(view: RepositoryView, author: dict[str, str]) -> Iterator[None]:
    own = dict(view.variables)
    view.variables |= {f"GIT_AUTHOR_{name}": value for name, value in author.items()}
    try:
        yield
    finally:
        view.variables = own


def _text(said: bytes) -> str:
    return os.fsdecode(said).strip()


def _names(said: bytes) -> list[str]:
    return [os.fsdecode(name) for name in said.split(b"\0") if name]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
