"""Pages that visitors of short links get, in one style, and their headers: no scripts, no external resources."""

from base64 import b64encode
from functools import lru_cache, partial
from hashlib import sha256
from html import escape
from typing import Final, Literal, NamedTuple

from waypost.kit.colors import contrast, readable

EndedKind = Literal["not_found", "expired", "not_started"]
"""Why a link does not resolve, as far as visitors see it."""

_LIGHT: Final = ("#f8f7f4", "#ffffff")
_DARK: Final = ("#151412", "#1e1d1a")
"""Backgrounds of the page and of its card, as in the dashboard."""
_ACCENTS: Final = ("#0f766e", "#4fd1c0")
_ON: Final = ("#ffffff", "#000000")
"""Text on buttons: one of both has a contrast of at least 4.5 on every color."""

_BASE = """:root{{color-scheme:light dark;--ground:{light[0]};--card:{light[1]};--text:#1d1b17;--muted:#5f5b52;
--line:#e6e3dc;--brand:{brands[0]}}}
@media(prefers-color-scheme:dark){{:root{{--ground:{dark[0]};--card:{dark[1]};--text:#efece5;--muted:#b3ada0;
--line:#37342e;--brand:{brands[1]}}}}}
*{{box-sizing:border-box}}
body{{margin:0;min-height:100vh;display:grid;grid-template-columns:minmax(0,28rem);place-content:center;gap:1rem;
padding:1.5rem 1rem;background:var(--ground);color:var(--text);font:1rem/1.6 system-ui,sans-serif;text-align:center;
overflow-wrap:anywhere}}
main{{padding:1.75rem 1.5rem;background:var(--card);border:1px solid var(--line);border-top:3px solid var(--brand);
border-radius:.75rem}}
h1{{margin:0;font-size:1.375rem;line-height:1.3}}p{{margin:.5rem 0 0;color:var(--muted)}}h1,p{{white-space:pre-line}}
"""
_MORE = """:root{{--accent:{accents[0]}}}@media(prefers-color-scheme:dark){{:root{{--accent:{accents[1]}}}}}
header{{font-weight:650;font-size:1.125rem}}header a{{text-decoration:none}}
header img{{display:block;height:3rem;width:auto;max-width:100%;object-fit:contain;margin:0 auto .5rem;
border-radius:.25rem}}
.light{{background:#151412;padding:.25rem}}
@media(prefers-color-scheme:dark){{header img:not(.light){{background:#fff;padding:.25rem}}}}
a{{color:var(--accent);text-underline-offset:.15em}}
p:empty{{display:none}}
:focus-visible{{outline:2px solid var(--accent);outline-offset:2px;border-radius:.25rem}}
"""
"""Of pages with a header, links or a form."""
_FORMS = """:root{{--edge:#8c877c;--bad:#b42318;--on:{on[0]}}}
@media(prefers-color-scheme:dark){{:root{{--edge:#857f73;--bad:#fda29b;--on:{on[1]}}}}}
form{{display:grid;gap:1rem;margin-top:1.25rem;text-align:start}}label{{font-weight:550}}
input,select,textarea,button{{display:block;width:100%;min-height:2.5rem;margin-top:.25rem;padding:.3rem .75rem;
border:1px solid var(--edge);border-radius:.5rem;background:var(--card);color:inherit;font:inherit}}
textarea{{resize:vertical}}[aria-invalid]{{border-color:var(--bad)}}
p.error{{margin:.25rem 0 0;color:var(--bad);font-weight:550}}
button{{border-color:var(--accent);background:var(--brand);color:var(--on);font-weight:600;cursor:pointer}}
dl{{margin:1.25rem 0 0;text-align:start}}dt{{margin-top:.75rem;font-size:.875rem;color:var(--muted)}}dd{{margin:0}}
details{{margin-top:1.5rem;text-align:start}}summary{{cursor:pointer;color:var(--muted)}}
"""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{title}</title>
<style>{style}</style>
{header}<main>
{content}</main>
</html>
"""
_ENDED: dict[EndedKind, tuple[str, str]] = {
    "not_found": ("Link not found", "It may have been disabled or deleted, or the URL may be misspelled."),
    "expired": ("This link has expired", "Ask the person who sent it for a new one."),
    "not_started": ("This link is not active yet", "Try again later."),
}


class Appearance(NamedTuple):
    """What the pages of a domain have of their own. Empty: as on all domains."""

    name: str = ""
    """Above each page, or empty."""
    color: str = ""
    """As `#rrggbb`, or empty."""
    not_found_text: str = ""
    expired_text: str = ""
    not_started_text: str = ""
    password_text: str = ""
    logo_url: str = ""
    logo_width: int = 0
    logo_height: int = 0
    is_logo_light: bool = False
    """Whether it cannot be seen on a white background."""
    has_home: bool = False
    """Whether the domain without a slug redirects."""


PLAIN: Final = Appearance()
"""Of the shared domain, and of domains that have nothing of their own."""


def ended_page(kind: EndedKind, appearance: Appearance = PLAIN) -> bytes:
    title, text = _ENDED[kind]
    own = {
        "not_found": appearance.not_found_text,
        "expired": appearance.expired_text,
        "not_started": appearance.not_started_text,
    }[kind]
    return page(title, f"<h1>{title}</h1>\n{paragraph(own or text)}", ended_style(appearance), appearance)


def ended_style(appearance: Appearance) -> str:
    """Return the style of `ended_page`."""
    return _style(appearance.color, (_BASE, _MORE) if _header(appearance) else (_BASE,))


def page(title: str, content: str, style_: str, appearance: Appearance = PLAIN) -> bytes:
    """Return a page. `title`, `content`: HTML."""
    return _PAGE.format(title=title, style=style_, header=_header(appearance), content=content).encode()


def paragraph(text: str) -> str:
    """Return what the owner of a domain wrote, in any language."""
    return f'<p lang="" dir="auto">{escape(text)}</p>\n' if text else ""


def _header(appearance: Appearance) -> str:
    name = f'<bdi lang="">{escape(appearance.name)}</bdi>' if appearance.name else ""
    shown = _logo(appearance) + name
    home = f'<a href="/">{shown}</a>' if appearance.has_home else shown
    return f"<header>{home}</header>\n" if shown else ""


def _logo(appearance: Appearance) -> str:
    if not appearance.logo_url:
        return ""
    alt = "" if appearance.name else "Home"
    light = ' class="light"' if appearance.is_logo_light else ""
    size = f'width="{appearance.logo_width}" height="{appearance.logo_height}"'
    return f'<img src="{escape(appearance.logo_url)}" alt="{alt}" {size}{light}>'


def form_style(color: str = "") -> str:
    return _style(color, (_BASE, _MORE, _FORMS))


@lru_cache(256)
def _style(color: str, parts: tuple[str, ...]) -> str:
    """Buttons have the very color, text has what is readable of it."""
    brands = (color, color) if color else _ACCENTS
    accents = (readable(brands[0], *_LIGHT), readable(brands[1], *_DARK))
    on = [max(_ON, key=partial(contrast, brand)) for brand in brands]
    return "".join(parts).format(light=_LIGHT, dark=_DARK, accents=accents, brands=brands, on=on)


@lru_cache(256)
def headers(
    style_: str, form_action: bytes = b"'none'", frame_ancestors: bytes = b"'none'"
) -> tuple[tuple[bytes, bytes], ...]:
    style_hash = b64encode(sha256(style_.encode()).digest())
    return (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"private, no-store"),
        (b"x-content-type-options", b"nosniff"),
        (
            b"content-security-policy",
            b"default-src 'none'; img-src 'self' data:; style-src 'sha256-%s'; base-uri 'none'; form-action %s;"
            b" frame-ancestors %s" % (style_hash, form_action, frame_ancestors),
        ),
    )


STYLE: Final = _style("", (_BASE, _MORE))
"""Of pages without a form."""
HEADERS: Final = headers(ended_style(PLAIN))
PREVIEW_HEADERS = (*headers(STYLE), (b"referrer-policy", b"no-referrer-when-downgrade"), (b"x-robots-tag", b"noindex"))
NOT_FOUND: Final = ended_page("not_found")
EXPIRED: Final = ended_page("expired")
