"""Canonical URLs, which have the same host for browsers, for Python and for this service.

Everything that two parsers could read differently is refused. `outbound` decides which addresses a host may have.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, unquote_plus, urlsplit

import ada_url

UtmKey = Literal["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"]
UTM_KEYS: tuple[UtmKey, ...] = get_args(UtmKey)
DEFAULT_PORTS = {"http": 80, "https": 443}

# the ports browsers refuse: https://fetch.spec.whatwg.org/#port-blocking
BAD_PORTS = frozenset(
    int(port)
    for port in """
        0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119
        123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990
        993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
    """.split()  # noqa: SIM905  # as a list literal it would take eighty lines
)
# names that never lead to the public internet; .test and .example are harmless: they never resolve
SPECIAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa", "onion", "invalid")
_SPECIAL_ENDS = tuple(f".{name}" for name in SPECIAL_NAMES)

# control characters, whitespace of every script, lone surrogates
_INVISIBLE = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff]")
_ZERO_WIDTH_RANGES = (
    (0xAD, 0xAD),
    (0x61C, 0x61C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
)
ZERO_WIDTH = "\ufeff" + "".join(chr(code) for first, last in _ZERO_WIDTH_RANGES for code in range(first, last + 1))
"""Characters without width that come along when a URL is copied from a text: marks, joiners, directions."""
_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]+)")
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
_DECIMALS = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_CLEAN = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # visible ASCII except what a URL may not contain: "<>\^`{|}


class BadUrl(ValueError):
    """The URL cannot be used. The message says what is wrong and what to do."""


class PrivateHost(BadUrl):
    """The name of the host never leads to the internet."""

    def __init__(self) -> None:
        super().__init__("The URL's host is not on the public internet. Use a URL that is reachable from the internet.")


_IPV4, _IPV6 = ada_url.HostType.IPV4, ada_url.HostType.IPV6


@dataclass(frozen=True, slots=True)
class PrivateNames:
    """Host names that may be used although they never lead to the internet."""

    patterns: tuple[str, ...] = ()
    """`wiki`, or `*.corp.internal` for all names below `corp.internal`."""

    def __contains__(self, host: str) -> bool:
        return any(host == name or (name[0] == "*" and host.endswith(name[1:])) for name in self.patterns)


NO_NAME, ANY_NAME = PrivateNames(), PrivateNames(("*",))


@dataclass(frozen=True, slots=True)
class Url:
    text: str
    """ASCII; as sent if that was canonical, else as a browser writes it."""
    scheme: str
    host: str
    """A-labels in lower case, or an IP literal in its canonical form, without brackets."""
    port: int
    is_ip: bool

    def __str__(self) -> str:
        return self.text


def canonical(text: str, *, schemes: Collection[str] = ("http", "https"), private: PrivateNames = NO_NAME) -> Url:
    """Parse `text`. Other names than `private` ones must be of the internet. Raise BadUrl."""
    text = _without_zero_width(text)
    _refuse_invisible(text)
    raw_host = _raw_host(text, schemes)
    parsed = _parsed(text)
    scheme = parsed.protocol.removesuffix(":")
    host, is_ip = _checked_host(parsed, raw_host)
    if not (is_ip or is_public_name(host) or host in private):
        raise PrivateHost
    port = _checked_port(parsed, scheme)
    is_clean = _CLEAN.fullmatch(text) and raw_host.lower().strip("[]") == host
    url = Url(text if is_clean else parsed.href, scheme, host, port, is_ip)
    if not _python_agrees(url):
        raise BadUrl("The URL's host name is ambiguous. Write it without special characters.")
    return url


def origin(text: str) -> str:
    """Return `scheme://host[:port]` of this service as a browser writes it. Raise BadUrl.

    Unlike a destination it may be on localhost, in a private network, or a single label.
    """
    _refuse_invisible(text)
    raw_host = _raw_host(text, DEFAULT_PORTS)
    parsed = _parsed(text)
    _checked_host(parsed, raw_host)
    _checked_port(parsed, parsed.protocol.removesuffix(":"))
    text = f"{parsed.protocol}//{parsed.host}"  # ada leaves out a default port, as browsers do in `Host`
    if parsed.href != f"{text}/":
        raise BadUrl("Remove everything after the host and port.")
    return text


def _without_zero_width(text: str) -> str:
    """Cut characters without width at both ends, and the spaces among them."""
    inner = text.strip(ZERO_WIDTH)
    return text if len(inner) == len(text) else inner.strip(f" \t{ZERO_WIDTH}")


def _refuse_invisible(text: str) -> None:
    if _INVISIBLE.search(text):
        raise BadUrl("The URL must not contain spaces or control characters. Write a space as %20.")
    if "\\" in text:
        raise BadUrl("The URL must not contain a backslash. Use / instead, or write it as %5C.")


def _raw_host(text: str, schemes: Collection[str]) -> str:
    """Return the host as entered, with brackets. Refuses forms that parsers tolerate (`http:///host`)."""
    match = _AUTHORITY.match(text)
    scheme = (match[1] if match else text.partition(":")[0]).lower()
    if scheme not in schemes:
        raise BadUrl(f"The URL must start with {' or '.join(f'{name}://' for name in schemes)}.")
    if not match:
        raise BadUrl("The URL has no host. Write it as in https://example.com/page.")
    if "@" in match[2]:
        raise BadUrl("The URL must not contain a user name or password. Remove everything up to the @.")
    host_port = _HOST_PORT.fullmatch(match[2])
    if not host_port or "%" in match[2]:
        raise BadUrl("The URL's host or port is not valid. Check its spelling.")
    return host_port[1]


def _parsed(text: str) -> ada_url.URL:
    try:
        return ada_url.URL(text)
    except ValueError:
        raise BadUrl("This is not a valid URL. Check its spelling.") from None


def _checked_host(parsed: ada_url.URL, raw_host: str) -> tuple[str, bool]:
    """Return the canonical host, and whether it is an IP address."""
    host_type = parsed.host_type
    if host_type == _IPV6:
        return parsed.hostname.strip("[]"), True
    if host_type == _IPV4:
        if not _DECIMALS.fullmatch(raw_host):  # 127.1, 0x7f000001, 2130706433, full-width digits, …
            raise BadUrl("Write the IP address as four decimal numbers, such as 192.0.2.1.")
        return parsed.hostname, True
    return _checked_name(parsed.hostname), False


def _checked_name(name: str) -> str:
    if name.endswith("."):
        raise BadUrl("The URL's host must not end with a dot.")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadUrl("The URL's host name is not valid. Check its spelling.")
    return name


def is_public_name(name: str) -> bool:
    """Return whether a host name in lower case could lead to the internet."""
    return "." in name and not f".{name}".endswith(_SPECIAL_ENDS)


def _checked_port(parsed: ada_url.URL, scheme: str) -> int:
    port = int(parsed.port or DEFAULT_PORTS[scheme])
    if port in BAD_PORTS:
        raise BadUrl(f"Browsers block port {port}. Use another port.")
    return port


def _python_agrees(url: Url) -> bool:
    try:
        parts = urlsplit(url.text)
        port = parts.port or DEFAULT_PORTS[url.scheme]
    except ValueError:
        return False
    return (parts.scheme, parts.hostname, port, parts.username) == (url.scheme, url.host, url.port, None)


def with_query(url_text: str, params: Mapping[str, str]) -> str:
    """Return the canonical URL with `params` at the end of its query, in place of parameters of the same names.

    Scheme and host become lower case, and a path that names no file ends with a slash.
    """
    if not params:
        return url_text
    start, query, fragment = _split(url_text)
    scheme, _, rest = start.partition("://")
    authority, _, path = rest.partition("/")
    if path and not path.endswith("/") and "." not in path.rpartition("/")[2]:
        path += "/"
    kept = [part for part in _other_parts(query, params) if part]
    new = [f"{quote(key, safe='')}={quote(params[key], safe='')}" for key in sorted(params, key=_utm_order)]
    return f"{scheme.lower()}://{authority.lower()}/{path}?{'&'.join(kept + new)}{fragment}"


def without_query_keys(url_text: str, keys: Collection[str]) -> str:
    """Return the URL without the query parameters of these names, otherwise byte for byte unchanged."""
    start, query, fragment = _split(url_text)
    kept = _other_parts(query, keys)
    if len(kept) == query.count("&") + 1:
        return url_text
    return f"{start}{'?' if kept else ''}{'&'.join(kept)}{fragment}"


def _split(url_text: str) -> tuple[str, str, str]:
    """Return the part before the query, the query, and the fragment with its `#`."""
    before, hash_sign, fragment = url_text.partition("#")
    start, _, query = before.partition("?")
    return start, query, hash_sign + fragment


def _other_parts(query: str, keys: Collection[str]) -> list[str]:
    return [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) not in keys]


def _utm_order(key: str) -> int:
    """Return the sort key. Unknown keys come last, in their order: sorting is stable."""
    return next((index for index, name in enumerate(UTM_KEYS) if name == key), len(UTM_KEYS))
