"""The accounts that are paired, which can be revoked here, and the sessions with remote on."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.ports.offers import RemoteDevice, RemoteUse
from quintet.features.web_ui.access import VisitorRole
from quintet.features.web_ui.html import WIDE, e
from quintet.features.web_ui.pages import SITE, simple
from quintet.features.web_ui.projects import ListedProject

# A code is shown at the computer that is paired with: whoever has a link to these pages pairs nobody.
HOW = "Pair an account in your terminal: <code>quintet remote pair CHANNEL</code>. Only there you get the code."


def remote_page(
    project: ListedProject,
    devices: Sequence[RemoteDevice],
    sessions: Sequence[RemoteUse],
    here: Sequence[ListedProject],
    role: VisitorRole,
) -> str:
    body = f"{_devices(devices, role)}<p>{HOW}</p><h2>Sessions with remote on</h2>{_sessions(sessions, here)}"
    return simple("Remote", project.name, project.slug, body, role, "Remote")


def _devices(devices: Sequence[RemoteDevice], role: VisitorRole) -> str:
    if not devices:
        return "<p>No account is paired.</p>"
    revoke = role is VisitorRole.OWNER
    rows = "".join(
        f"<tr><th scope=row>{e(on_one_line(one.id))}</th><td>{e(on_one_line(one.name))}</td>"
        f"<td>{e(one.paired[:10])}</td>{_revoke(one) if revoke else ''}</tr>"
        for one in devices
    )
    last = "<th>Revoke</th>" if revoke else ""
    return f"{WIDE}<table><tr><th>Account</th><th>Name</th><th>Paired</th>{last}</tr>{rows}</table></div>"


def _revoke(one: RemoteDevice) -> str:
    about = e(f"Revoke {on_one_line(one.id)}")
    return (
        f'<td><form method="post" action="remote"><input type="hidden" name="revoke" value="{e(one.id)}">'
        f'<button aria-label="{about}">Revoke</button></form></td>'
    )


def _sessions(sessions: Sequence[RemoteUse], here: Sequence[ListedProject]) -> str:
    if not sessions:
        return "<p>None. Type <code>/remote on</code> in a session.</p>"
    places = {one.id: project.slug for project in here for one in project.sessions}
    rows = "".join(f"<li>{_session(one, places.get(one.session, ''))}</li>" for one in sessions)
    return f'<ul class="rows">{rows}</ul>'


def _session(one: RemoteUse, slug: str) -> str:
    words = f"{e(one.tag)} {e(on_one_line(one.project))} <small>{e(one.session)}</small>"
    return f'<a href="{SITE.below}/p/{e(slug)}/s/{e(one.session)}/">{words}</a>' if slug else words
