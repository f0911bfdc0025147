"""What shares may be. Pure."""

import re
from collections.abc import Sequence
from typing import Any

from ada_url import URL

from waypost.kit.errors import Problems
from waypost.resources.clicks.filters import ACCOUNT_FILTERS, LINK_FILTERS, Filters

MAX_SHARES = 200
"""Per account."""
TOO_MANY = f"An account may have at most {MAX_SHARES} shares. Delete one that is no longer needed."
ONE_SUBJECT = "Send only one of link_id, tag and hostname, and null for the others."
NO_SUCH_LINK = "There is no link with this ID."
NO_SUCH_HOSTNAME = "This is not a domain of the account. Use one of its hostnames, or the shared domain."
NOT_FUTURE = "This must be in the future."
NOT_AFTER = "This must be earlier than `to`."
WRONG_ORIGIN = (
    "This must be an origin: https:// and a hostname, such as https://example.com, without a path."
    " http:// is accepted for this computer (localhost) only."
)

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?|\[::1\](:[0-9]{1,5})?", re.ASCII)
_LOOPBACK = re.compile(r"localhost|127\.0\.0\.1|\[::1\]")


def canonical_origin(text: str) -> str:
    """Return the origin as browsers write it. Raises ValueError with the problem."""
    try:
        url = URL(text)
    except ValueError:
        raise ValueError(WRONG_ORIGIN) from None
    more = (url.username, url.password, url.search, url.hash, url.pathname.removeprefix("/"))
    is_allowed = url.protocol == "https:" or (url.protocol == "http:" and _LOOPBACK.fullmatch(url.hostname))
    if any(more) or not is_allowed or not _HOST.fullmatch(url.host):  # a header with other characters means more
        raise ValueError(WRONG_ORIGIN)
    return f"{url.protocol}//{url.host}"


def checked(values: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """Return the values of a share in canonical form. Adds problems, also of values that depend on each other."""
    named = [name for name in ("link_id", "tag", "hostname") if values[name]]
    for name in named if len(named) > 1 else ():
        problems.add(name, ONE_SUBJECT)
    start, end = values["range_start"], values["range_end"]
    if start and end and start >= end:
        problems.add("from", NOT_AFTER)
    filters = Filters.from_json(values["filters"], LINK_FILTERS if values["link_id"] else ACCOUNT_FILTERS, problems)
    return {**values, "filters": filters.to_json(), "embed_origins": _origins(values["embed_origins"], problems)}


def _origins(texts: Sequence[str], problems: Problems) -> list[str]:
    """Return the origins, each once."""
    origins: dict[str, None] = {}
    for index, text in enumerate(texts):
        try:
            origins[canonical_origin(text)] = None
        except ValueError as error:
            problems.add(f"embed_origins.{index}", str(error))
    return list(origins)
