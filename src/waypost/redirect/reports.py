"""Responses to reports of abuse, which visitors send from the page about a link."""

from waypost.redirect import metrics, report_pages
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.exchange import Exchange
from waypost.redirect.forms import is_from_other_site, read_form
from waypost.redirect.pages import Appearance

_PLAIN = [(b"content-type", b"text/plain; charset=utf-8")]


async def respond_to_report(
    database: DatabaseCalls, exchange: Exchange, link_id: bytes, appearance: Appearance
) -> None:
    """Raises Unavailable before it sends anything."""
    if is_from_other_site(exchange.headers):  # the visitors of a hostile page would report, each from another address
        await exchange.respond(403, _PLAIN, report_pages.OTHER_SITE)
        return
    report = report_pages.read_report(await read_form(exchange.receive, report_pages.MAX_BODY) or {})
    if not report.errors:
        await database.store_report(link_id, report, exchange.scope)
    metrics.REPORT_PAGE[0] += 1
    page = (report_pages.form_page if report.errors else report_pages.thanks_page)(report, appearance)
    await exchange.respond(422 if report.errors else 200, report_pages.headers(appearance.color), page)
