"""Reports of abuse: the form on the page about a link, and the answer, which is the same whatever becomes of it."""

import re
from dataclasses import dataclass, field
from html import escape

from waypost.redirect import pages

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

STYLE = (
    pages.INFO_STYLE
    + """
  details { max-width: 40rem; margin-top: 2rem; text-align: start }
  summary { cursor: pointer; opacity: .75 }
  form { max-width: 40rem; margin-top: 1.2rem; display: grid; gap: .9rem; text-align: start }
  label { display: block }
  select, textarea, input, button { font: inherit; box-sizing: border-box; width: 100%; padding: .5rem .7rem;
    margin-top: .2rem; border: 1px solid GrayText; border-radius: .4rem; background: Field; color: FieldText }
  textarea { resize: vertical }
  button { border-color: ButtonBorder; background: ButtonFace; color: ButtonText; cursor: pointer }
  p.error { opacity: 1; font-weight: 600; margin: .2rem 0 0 }
"""
)
HEADERS = [*pages.headers(STYLE, b"'self'"), (b"x-robots-tag", b"noindex")]

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
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
<main>
<h1>{title}</h1>
{content}</main>
</html>
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


def form_page(sent: LinkReport) -> bytes:
    return _PAGE.format(title="Report this link", style=STYLE, content=form(sent)).encode()


THANKS = _PAGE.format(
    title="Thank you for the report",
    style=STYLE,
    content="<p>The administrator of this service reads reports, and cannot answer all of them.</p>\n",
).encode()
