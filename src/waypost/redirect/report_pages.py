"""The page about a link, with the form for reports of abuse, and the answer, the same whatever becomes of a report."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from html import escape

from waypost.redirect import pages
from waypost.redirect.pages import PLAIN, Appearance

REASONS = {
    "phishing": "Phishing: it asks for passwords or payments under a false name",
    "malware": "Malware: it installs harmful software",
    "spam": "Spam: it was sent to me unasked",
    "illegal": "Illegal content",
    "other": "Something else",
}
MAX_TEXT = 1_000
MAX_EMAIL = 254
MAX_BODY = 16 * 1024
"""Bytes of a form with the longest text: up to 12 for a character."""


def headers(color: str = "") -> Sequence[tuple[bytes, bytes]]:
    return [*pages.headers(pages.form_style(color), b"'self'"), (b"x-robots-tag", b"noindex")]


HEADERS = headers()

OTHER_SITE = b"The form was sent by another website. Open the page of the link and send it from there.\n"
_NO_REASON = "Choose what is wrong with the link."
_NO_TEXT = "Describe what is wrong with the link."
_TOO_LONG = f"This must have at most {MAX_TEXT:,} characters."
_NO_EMAIL = "This must be an email address, such as ann@example.com, or empty."

_EMAIL = re.compile(
    r"[^\s@\"(),:;<>\[\]\\\x00-\x1f\x7f]+@[^\s@\"(),:;<>\[\]\\\x00-\x1f\x7f.]+(\.[^\s@\"(),:;<>\[\]\\.]+)+"
)

_FORM = """<form method="post">
<label>What is wrong with it?
<select name="reason" required>{options}</select></label>{reason_error}
<label>Details
<textarea name="text" rows="4" maxlength="{max_text}">{text}</textarea></label>{text_error}
<label>Your email address (optional)
<input type="email" name="email" maxlength="{max_email}" autocomplete="email" value="{email}"></label>{email_error}
<p>The report goes to the administrator of this service, not to the owner of the link.</p>
<button>Send report</button>
</form>
"""
_INFO = """<h1 lang="" dir="auto">{title}</h1>
<dl>
<dt>Short link</dt><dd>{address}</dd>
<dt>Destination</dt><dd>{destination}</dd>
<dt>Created</dt><dd><time datetime="{day:%Y-%m-%d}">{day.day} {day:%B %Y}</time></dd>
</dl>
<details>
<summary>Report this link</summary>
{form}</details>
"""
_FIELDS = ("reason", "text", "email")
_ERROR = '\n<p class="error" role="alert">{}</p>'


@dataclass(frozen=True, slots=True)
class LinkReport:
    reason: str
    text: str
    """At most MAX_TEXT characters, with line breaks and no other control characters."""
    email: str
    """Of the reporter, or empty. Nobody has confirmed it."""
    errors: dict[str, str] = field(default_factory=dict)


def read_report(fields: dict[str, str]) -> LinkReport:
    text = "".join(char for char in fields.get("text", "").replace("\r\n", "\n") if char == "\n" or char.isprintable())
    reason, text, email = fields.get("reason", ""), text.strip(), fields.get("email", "").strip()
    errors = {}
    if reason not in REASONS:
        reason, errors["reason"] = "", _NO_REASON
    if len(text) > MAX_TEXT:
        errors["text"] = _TOO_LONG
    elif reason == "other" and not text:
        errors["text"] = _NO_TEXT
    if email and (len(email) > MAX_EMAIL or not email.isprintable() or not _EMAIL.fullmatch(email)):
        errors["email"] = _NO_EMAIL
    return LinkReport(reason, text, email, errors)


def form(sent: LinkReport | None = None) -> str:
    """Render the form, with what was sent and why it was refused."""
    sent = sent or LinkReport("", "", "")
    first = f'<option value=""{"" if sent.reason else " selected"}>Choose a reason</option>'
    options = (
        f'<option value="{value}"{" selected" if value == sent.reason else ""}>{label}</option>'
        for value, label in REASONS.items()
    )
    errors = {f"{name}_error": _ERROR.format(sent.errors[name]) if name in sent.errors else "" for name in _FIELDS}
    limits = {"max_text": MAX_TEXT, "max_email": MAX_EMAIL}
    return _FORM.format(
        options=first + "".join(options), text=escape(sent.text), email=escape(sent.email), **limits, **errors
    )


def info_page(title: str, address: str, destination: str, day: date, appearance: Appearance = PLAIN) -> bytes:
    """Return the page about a link. `destination`: HTML."""
    content = _INFO.format(form=form(), title=escape(title), address=escape(address), destination=destination, day=day)
    return page(escape(address), content, appearance)


def form_page(sent: LinkReport, appearance: Appearance = PLAIN) -> bytes:
    return page("Report this link", f"<h1>Report this link</h1>\n{form(sent)}", appearance)


def thanks_page(_: LinkReport, appearance: Appearance = PLAIN) -> bytes:
    text = "The administrator of this service reads reports, and cannot answer all of them."
    return page("Thank you for the report", f"<h1>Thank you for the report</h1>\n<p>{text}</p>\n", appearance)


def page(title: str, content: str, appearance: Appearance) -> bytes:
    """Return a page with a form. `title`, `content`: HTML."""
    return pages.page(title, content, pages.form_style(appearance.color), appearance)
