"""Emails to operators about reported links, with nothing that a reporter wrote, and no URL to click but our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from waypost import mail
from waypost.accounts import operators
from waypost.database import Database, Tx, take_advisory_lock
from waypost.kit.clock import Clock
from waypost.resources import links
from waypost.resources.reports import store

_MAX_NAMED = 20
"""Links in an email. The others follow in the next one."""
_MAX_URL = 200


@dataclass(frozen=True, slots=True)
class Emails:
    """Emails go out as often as `mail` allows; reports in between are in the next one."""

    db: Database
    contact: str
    """Gets the emails besides operators; may be empty."""
    shared_domain: str
    base_url: str
    clock: Clock

    async def send_due(self) -> bool:
        """Queue an email about new reports, if there are any. Return False: there is no more to do now."""
        async with self.db.read() as tx:
            if not await store.find_unmailed(tx, self.clock(), 1):
                return False
        async with self.db.write() as tx:
            await take_advisory_lock(tx, "reports")
            await self._send(tx)
        return False

    async def _send(self, tx: Tx) -> None:
        now = self.clock()
        due = await store.find_unmailed(tx, now, _MAX_NAMED)
        recipients = [person.email for person in await operators.list_operators(tx)]
        if self.contact and self.contact not in recipients:
            recipients.append(self.contact)
        subject, text = _subject(len(due)), await self._text(tx, due)
        sent = [
            await mail.send_later(tx, "reports", to=to, subject=subject, text=text, now=now, owner_id=None)
            for to in recipients
        ]
        if any(sent):
            await store.mark_mailed(tx, [link_id for link_id, _ in due], now)

    async def _text(self, tx: Tx, due: Sequence[tuple[UUID, int]]) -> str:
        found = {link.id: link for link in await links.find_any(tx, [link_id for link_id, _ in due])}
        lines = []
        for link_id, count in due:
            reports = f"{count:,} new report{'s' * (count != 1)}"
            link = found.get(link_id)
            if link is None:
                lines.append(f"- A deleted link: {reports}")
                continue
            short_url = link.short_url(self.shared_domain)
            lines.append(f"- {defanged(short_url)} to {defanged(link.destination_url)}: {reports}")
        listed = "\n".join(lines)
        return (
            f"Visitors reported links:\n\n{listed}\n\nRead the reports and decide: {self.base_url}/operator/reports\n"
        )


def defanged(url: str) -> str:
    """Return the URL in a form that no mail program turns into a link."""
    text = url.replace("://", "[://]").replace(".", "[.]")
    return text if len(text) <= _MAX_URL else f"{text[:_MAX_URL]}…"


def _subject(count: int) -> str:
    return "A reported link" if count == 1 else f"{count} reported links"
