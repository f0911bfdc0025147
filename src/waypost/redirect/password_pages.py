"""Protected links: the form that asks for the password, and the cookie that says it was right.

The cookie is for one link and one version of its password, so that a new password ends it.
"""

import hmac
import re
from collections.abc import Sequence
from itertools import islice

from starlette.types import Receive

from waypost.redirect import pages
from waypost.redirect.forms import read_form

LIFETIME = 3600
"""Seconds for which a browser is not asked again."""
MAX_BODY = 4 * 1024
"""Bytes of a form with the longest password."""

_STYLE = (
    pages.STYLE
    + """
  form { margin-top: 1.2rem; display: grid; gap: .8rem; justify-items: stretch }
  label { text-align: start }
  input, button { font: inherit; box-sizing: border-box; width: 100%; padding: .5rem .7rem; border-radius: .4rem }
  input { margin-top: .2rem; border: 1px solid GrayText; background: Field; color: FieldText }
  button { border: 1px solid ButtonBorder; background: ButtonFace; color: ButtonText; cursor: pointer }
  p.error { opacity: 1; font-weight: 600 }
"""
)
# browsers apply form-action to the redirect after the form, too
_FORM_ACTION = b"'self' http: https:"
HEADERS = [*pages.headers(_STYLE, _FORM_ACTION), (b"x-robots-tag", b"noindex"), (b"referrer-policy", b"no-referrer")]

WRONG = "Wrong password. Try again."
TOO_MANY = "Too many attempts. Wait a minute, then try again."
BUSY = "The password cannot be checked right now. Try again in a moment."

# maxlength: of 128 characters, of which browsers count some as two
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Password needed</title>
<style>{style}</style>
<main>
<h1>This link is protected</h1>
<form method="post">
{error}<label>Password
<input type="password" name="password" required maxlength="256" autocomplete="off" autofocus></label>
<button>Continue</button>
</form>
</main>
</html>
"""
_ERROR = '<p class="error" role="alert">{}</p>\n'
_FIELD = "password"
_MAX_COOKIES = 4  # of one link; more are forged, and each costs a signature
_VALUE = re.compile(rb"([0-9]{1,12})\.([0-9a-f]{64})")


def page(error: str = "") -> bytes:
    return _PAGE.format(style=_STYLE, error=_ERROR.format(error) if error else "").encode()


async def read_password(receive: Receive) -> str | None:
    """Read the password of a sent form. None if there is none, or the body is not such a form."""
    fields = await read_form(receive, MAX_BODY)
    return fields.get(_FIELD) if fields else None


class Cookies:
    """Signs and verifies the cookies. `keys`: the first one signs. Without any, every visit needs the password."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = keys

    def new(self, link: bytes, version: int, now: float, *, is_https: bool) -> bytes | None:
        """Return the value of `Set-Cookie`. `link`: its id in hex; `now`: seconds since 1970."""
        if not self._keys:
            return None
        ends_at = b"%d" % (now + LIFETIME)
        value = ends_at + b"." + _signature(self._keys[0], link, version, ends_at)
        secure = b"; Secure" if is_https else b""
        return b"%b=%b; Max-Age=%d; Path=/; HttpOnly; SameSite=Lax%b" % (_name(link), value, LIFETIME, secure)

    def is_valid(self, header: bytes, link: bytes, version: int, now: float) -> bool:
        """`header`: the request's cookies."""
        prefix = _name(link) + b"="
        cookies = map(bytes.strip, header.replace(b",", b";").split(b";"))  # commas join several Cookie lines
        of_link = (cookie.removeprefix(prefix) for cookie in cookies if cookie.startswith(prefix))
        for value in islice(of_link, _MAX_COOKIES):
            found = _VALUE.fullmatch(value)
            if found and now < int(found[1]) <= now + LIFETIME:
                signatures = [_signature(key, link, version, found[1]) for key in self._keys]
                if any(hmac.compare_digest(found[2], each) for each in signatures):
                    return True
        return False


def _name(link: bytes) -> bytes:
    return b"waypost_" + link


def _signature(key: bytes, link: bytes, version: int, ends_at: bytes) -> bytes:
    return hmac.digest(key, b"%b %d %b" % (link, version, ends_at), "sha256").hex().encode()
