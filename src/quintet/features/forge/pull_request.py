"""A pull request as it is shown, from what GitHub's REST API says of it; and its checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

MOST_BODY = 6_000
MOST_PATCHES = 30_000
PENDING = frozenset({"queued", "in_progress", "pending", "waiting", "requested", "expected"})
ACTIONS = "github-actions"
GOOD = frozenset({"success", "neutral", "skipped"})
_REPO = regex(r"(?:https?://[^/]+/|git@[^:]+:|ssh://[^/]+/)?([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_HOST = regex(r"\w+://(?:[^/@]*@)?([^/:]+)|[^/@:]*@([^/:]+):")
_NAMED = regex(r"(?:#|pr-?|PR-?)?(\d{1,6})|https?://[^/]+/([\w.-]+/[\w.-]+)/pull/(\d+)(?:[/?#].*)?")

Json = Mapping[str, Any]


class PullCheck(Struct, frozen=True):
    name: str
    state: str  # queued, in_progress, pending; or how it ended: success, failure, …
    job: str = ""  # what git_ci_job_logs is called with
    url: str = ""


def repo_of(text: str) -> str:
    """owner/name, from that or from an address; empty if it is neither."""
    found = _REPO.fullmatch(text.strip())
    return found[1] if found and ".." not in found[1] else ""


def elsewhere(text: str, forge: str) -> str:
    """The host that an address is at, if that is another than the forge's; one without a dot is an alias of ssh's."""
    found = _HOST.match(text.strip())
    host = (found[1] or found[2]).lower() if found else ""
    return host if "." in host and not f".{host}".endswith(f".{forge}") else ""


def named(text: str) -> tuple[str, int] | None:
    """The repository (empty: the project's own) and number of a pull request, as a user names one."""
    found = _NAMED.fullmatch(text.strip())
    if not found:
        return None
    return (found[2], int(found[3])) if found[2] else ("", int(found[1]))


def shown(pull: Json, files: list[Any], reviews: list[Any], comments: list[Any], remarks: list[Any]) -> str:
    """The pull request in words: what it is, what it changes, what was said of it."""
    parts = [_head(pull), _cut(pull.get("body") or "(no description)", MOST_BODY), _files(files, pull)]
    talk = [*map(_review, reviews), *map(_remark, remarks), *map(_comment, comments)]
    said = [words for _, words in sorted(talk) if words]
    parts += [f"## Comments ({len(said)})\n\n" + "\n\n".join(said)] if said else []
    parts.append(_patches(files))
    return "\n\n".join(filter(None, parts))


def _head(pull: Json) -> str:
    state = "merged" if pull.get("merged") else "draft" if pull.get("draft") else pull.get("state", "")
    head, base = pull["head"], pull["base"]
    merge = {"True": "can be merged", "False": "has conflicts"}.get(str(pull.get("mergeable")), "")
    counts = f"{pull.get('changed_files', 0)} files, +{pull.get('additions', 0)} -{pull.get('deletions', 0)}"
    return "\n".join(
        (
            f"# {pull['title']} (#{pull['number']}, {state})",
            f"{_who(pull)} asks to merge {head.get('label') or head['ref']} into {base.get('label') or base['ref']}",
            " · ".join(filter(None, (counts, merge, f"head {head['sha'][:12]}", pull.get("html_url", "")))),
        )
    )


def _files(files: list[Any], pull: Json) -> str:
    lines = [f"- {f['filename']} +{f['additions']} -{f['deletions']} {f['status']}" for f in files]
    more = pull.get("changed_files", 0) - len(files)
    lines += [f"(and {more} more, which the forge does not list)"] if more > 0 else []
    return "\n".join([f"## Files ({len(files)})", "", *lines])


def _patches(files: list[Any]) -> str:
    """The diff, as far as there is room; which files are not in it is said."""
    room, out, left_out = MOST_PATCHES, [], []
    for file in files:
        patch = file.get("patch") or ""
        if patch and len(patch) <= room:
            room -= len(patch)
            out.append(f"diff {file['filename']}\n{patch}")
        else:
            left_out.append(file["filename"])
    more = " …" if len(left_out) > 50 else ""
    note = f"(not shown here: {', '.join(left_out[:50])}{more})" if left_out else ""
    return "\n\n".join(filter(None, ("## Diff", *out, note)))


def diff(files: Iterable[Any]) -> str:
    """All of it, as the forge gives it."""
    return "\n".join(f"diff {file['filename']}\n{file.get('patch') or '(no text, or too long)'}" for file in files)


def _review(review: Json) -> tuple[str, str]:
    words = f"{_who(review)} {str(review.get('state', '')).lower().replace('_', ' ')}"
    body = f": {_cut(review['body'], 2000)}" if review.get("body") else ""
    return str(review.get("submitted_at") or ""), words + body


def _remark(remark: Json) -> tuple[str, str]:
    place = f"{remark.get('path')}:{remark.get('line') or remark.get('original_line') or '?'}"
    return str(
        remark.get("created_at") or ""
    ), f"{_who(remark)} at {place} (id {remark['id']}): {_cut(remark['body'], 2000)}"


def _comment(comment: Json) -> tuple[str, str]:
    return str(comment.get("created_at") or ""), f"{_who(comment)}: {_cut(comment.get('body') or '', 2000)}"


def _who(thing: Json) -> str:
    return str((thing.get("user") or {}).get("login", "somebody"))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters omitted)"


def checks(runs: Iterable[Any], statuses: Iterable[Any]) -> list[PullCheck]:
    """Check runs and commit statuses as one list, what went wrong first."""
    found = [
        PullCheck(r["name"], str(r.get("conclusion") or r["status"]), _job(r), r.get("html_url") or "") for r in runs
    ]
    found += [PullCheck(s["context"], s["state"], "", s.get("target_url") or "") for s in statuses]
    return sorted(found, key=lambda check: (check.state in GOOD, check.state in PENDING, check.name))


def _job(run: Json) -> str:
    """The CI job of a check run, which has its number; those of other apps have none, and no log."""
    app = (run.get("app") or {}).get("slug") or ACTIONS
    return str(run.get("id") or "") if app == ACTIONS else ""


def open_checks(found: Iterable[PullCheck]) -> list[PullCheck]:
    return [check for check in found if check.state in PENDING]


def verdict(found: list[PullCheck]) -> str:
    if not found:
        return "no checks"
    bad = [check for check in found if check.state not in GOOD | PENDING]
    counts = [(len(found) - len(bad) - len(open_checks(found)), "passed"), (len(bad), "failed")]
    counts.append((len(open_checks(found)), "open"))
    return ", ".join(f"{number} {word}" for number, word in counts if number)


def table(found: list[PullCheck]) -> str:
    rows = [(check.state, check.name, f"job {check.job}" if check.job else "", check.url) for check in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
