"""Protected links: the form that asks for the password, and the cookie that says it was right.

The cookie is for one link and one version of its password, so that a new password ends it. Browsers send it to the path
of its link alone: who has opened many protected links does not send all their cookies with each request.
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from starlette.types import Receive

from waypost.redirect import pages
from waypost.redirect.forms import read_form
from waypost.redirect.pages import PLAIN, Appearance

LIFETIME = 3600
"""Seconds for which a browser is not asked again."""
MAX_BODY = 4 * 1024
"""Bytes of a form with the longest password."""

# browsers apply form-action to the redirect after the form, too
_FORM_ACTION = b"'self' http: https:"
_POLICY = (b"referrer-policy", b"same-origin")  # with no-referrer, browsers send the form with `Origin: null`

OTHER_SITE = "The form did not come from this page. Open the link in a new tab, and enter the password in it."
WRONG = "Wrong password. Try again."
TOO_MANY = "Too many attempts. Wait a minute, then try again."
BUSY = "The password cannot be checked right now. Try again in a moment."

# maxlength: of 128 characters, of which browsers count some as two
_CONTENT = """<h1>This link is protected</h1>
{text}<form method="post">
<label>Password
<input type="password" name="password" required maxlength="256" autocomplete="off" autofocus{invalid}></label>
{error}<button>Continue</button>
</form>
"""
_ERROR = '<p class="error" role="alert" id="error">{}</p>\n'
_INVALID = ' aria-invalid="true" aria-describedby="error"'
_FIELD = "password"
_MAX_COOKIES = 4  # of one link; more are forged, and each costs a signature
_MAX_SHARED = 8
"""Cookies without a path that a browser keeps."""
_VALUE = re.compile(rb"([0-9]{1,12})\.([0-9a-f]{64})")
_PATH = re.compile(rb"/[!-:<-~]{0,1023}")
"""What browsers accept as the path of a cookie: no semicolon, at most 1,024 bytes."""
_SHARED = re.compile(rb"(waypost_shared_[0-9a-f]{32})=([0-9]{1,12})\.[0-9a-f]{64}")


def page(error: str = "", appearance: Appearance = PLAIN) -> bytes:
    content = _CONTENT.format(
        text=pages.paragraph(appearance.password_text),
        invalid=_INVALID if error else "",
        error=_ERROR.format(error) if error else "",
    )
    return pages.page("Password needed", content, pages.form_style(appearance.color), appearance)


def headers(color: str = "") -> Sequence[tuple[bytes, bytes]]:
    """Return the headers of the page of a domain with this color."""
    return [*pages.headers(pages.form_style(color), _FORM_ACTION), (b"x-robots-tag", b"noindex"), _POLICY]


async def read_password(receive: Receive) -> str | None:
    """Read the password of a sent form. None if there is none, or the body is not such a form."""
    fields = await read_form(receive, MAX_BODY)
    return fields.get(_FIELD) if fields else None


class Cookies:
    """Signs and verifies the cookies. `keys`: the first one signs. Without any, every visit needs the password."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys

    def new(
        self, link: bytes, version: int, now: float, *, path: bytes, header: bytes, is_https: bool
    ) -> Sequence[bytes]:
        """Return the values of `Set-Cookie`. `link`: its id in hex; `now`: seconds since 1970.

        `path`, `header`: the path and the cookies of the request. A cookie that cannot be bound to its path replaces
        the oldest of the others, if these are too many.
        """
        if not self._keys:
            return []
        ends_at = b"%d" % (now + LIFETIME)
        value = ends_at + b"." + _signature(self._keys[0], link, version, ends_at)
        secure = b"; Secure" if is_https else b""
        if _PATH.fullmatch(path):
            return [_set_cookie(_name(link), value, LIFETIME, path, secure)]
        replaced = _find_oldest_shared(header, kept=_shared_name(link))
        ended = [_set_cookie(name, b"", 0, b"/", secure) for name in replaced]
        return [_set_cookie(_shared_name(link), value, LIFETIME, b"/", secure), *ended]

    def is_valid(self, header: bytes, link: bytes, version: int, now: float) -> bool:
        """`header`: the request's cookies."""
        names = _name(link), _shared_name(link)
        named = (cookie.partition(b"=") for cookie in _split(header))
        for value in islice((value for name, _, value in named if name in names), _MAX_COOKIES):
            found = _VALUE.fullmatch(value)
            if found and now < int(found[1]) <= now + LIFETIME:
                signatures = [_signature(key, link, version, found[1]) for key in self._keys]
                if any(hmac.compare_digest(found[2], each) for each in signatures):
                    return True
        return False


def _find_oldest_shared(header: bytes, *, kept: bytes) -> Sequence[bytes]:
    """Return the names of cookies without a path that are too many beside the one named `kept`."""
    found = filter(None, map(_SHARED.fullmatch, _split(header)))
    others = sorted((int(each[2]), each[1]) for each in found if each[1] != kept)
    return [name for _, name in others[: 1 - _MAX_SHARED]]


def _split(header: bytes) -> Iterable[bytes]:
    return map(bytes.strip, header.replace(b",", b";").split(b";"))  # commas join several Cookie lines


def _set_cookie(name: bytes, value: bytes, lifetime: int, path: bytes, secure: bytes) -> bytes:
    return b"%b=%b; Max-Age=%d; Path=%b; HttpOnly; SameSite=Lax%b" % (name, value, lifetime, path, secure)


def _name(link: bytes) -> bytes:
    return b"waypost_" + link


def _shared_name(link: bytes) -> bytes:
    """Return the name of a cookie without a path, which is sent to all links of the host."""
    return b"waypost_shared_" + link


def _signature(key: bytes, link: bytes, version: int, ends_at: bytes) -> bytes:
    return hmac.digest(key, b"%b %d %b" % (link, version, ends_at), "sha256").hex().encode()
