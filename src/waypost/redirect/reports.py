"""Responses to reports of abuse, which visitors send from the page about a link."""

from starlette.types import Receive, Scope, Send

from waypost.redirect import metrics, report_pages
from waypost.redirect.asgi_messages import send_response
from waypost.redirect.database_calls import DatabaseCalls
from waypost.redirect.forms import is_from_other_site, read_form

_PLAIN = [(b"content-type", b"text/plain; charset=utf-8")]


async def respond_to_report(
    database: DatabaseCalls, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes], link_id: bytes
) -> None:
    """Raises Unavailable before it sends anything."""
    if is_from_other_site(headers):  # the visitors of a hostile page would send its reports, each from another address
        await send_response(send, 403, _PLAIN, report_pages.OTHER_SITE)
        return
    report = report_pages.read_report(await read_form(receive, report_pages.MAX_BODY) or {})
    if not report.errors:
        await database.store_report(link_id, report, scope)
    metrics.REPORT_PAGE[0] += 1
    page = report_pages.form_page(report) if report.errors else report_pages.THANKS
    await send_response(send, 422 if report.errors else 200, report_pages.HEADERS, page)
