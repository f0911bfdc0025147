"""The rules of a blocklist, in the formats in which such lists are published. Each line may have another one. Pure.

- Plain: `bad.example`, `.bad.example` or `*.bad.example` (with all subdomains), `https://bad.example/page`.
- Hosts: `0.0.0.0 bad.example worse.example`.
- Adblock: `||bad.example^` (with all subdomains), `||bad.example/page` and `|https://bad.example/page` (all URLs that
  begin so), and exceptions, which begin with `@@`. Rules about parts of pages are for browsers, and mean nothing here.

Paths and queries are compared as Safe Browsing does: percent-decoded, and with single slashes.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

import ada_url

from waypost.kit.proxies import IpAddress, parse_ip
from waypost.kit.urls import ANY_NAME, BadUrl, Url, canonical

_PLAIN_HOST = re.compile(r"(?!.*xn--)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63}){0,9}\.[a-z]{2,63}")
"""Is canonical: most lines are so, and parsing one takes ten times as long."""
_MAX_LINE = 4_096  # characters; parsing grows with the square of a host's length
_DECODINGS = 5  # of a path that is percent-encoded several times
_COMMENTS = ("#", "!", "[Adblock", "[uBlock")
_COMMENT = re.compile(r"\s+#.*")
_COSMETIC = re.compile(r"#[@?$%]{0,2}#|\$\$")
_OF_PAGES = {"all", "doc", "document", "important", "popup"}
"""Options of rules about whole pages. Others limit a rule to what pages load, or to pages that load it."""
_OPTIONS = re.compile(r"[a-z0-9_~=,.|*-]+")
_HOST = re.compile(r"((?:[a-zA-Z]+://)?)([^/?#]*)(.*)", re.DOTALL)
_SEPARATOR = re.compile(r"[^A-Za-z0-9_.%-]")
_OF_THIS_MACHINE = {
    *("localhost", "localhost.localdomain", "local", "broadcasthost", "0.0.0.0", "ip6-localhost", "ip6-loopback"),  # noqa: S104
    *("ip6-localnet", "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters", "ip6-allhosts"),
}
"""Names with which published files in the format of hosts begin."""


class _Target(NamedTuple):
    """What rules are compared with."""

    hosts: list[str]
    """The host, and after a dot the same and each domain above it."""
    path: str
    """With the query."""
    key: str
    """The host with its port, and the path."""


class RuleSet:
    """What matches: hosts, whole URLs, and beginnings of paths on hosts."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        """A leading dot means the host with all subdomains."""
        self.urls: set[str] = set()
        self._starts: dict[str, dict[int, set[str]]] = {}
        """By host and length. A `^` at the end, which does not count, means a separator or the end."""

    def __bool__(self) -> bool:
        return bool(self.hosts or self.urls or self._starts)

    def add_start(self, host: str, path: str) -> None:
        self._starts.setdefault(host, {}).setdefault(len(path.removesuffix("^")), set()).add(path)

    def matches(self, target: _Target) -> bool:
        if target.key in self.urls or not self.hosts.isdisjoint(target.hosts):
            return True
        by_length = [lengths for host in target.hosts if (lengths := self._starts.get(host))]
        return any(_has_start(target.path, end, starts) for lengths in by_length for end, starts in lengths.items())


def _has_start(path: str, end: int, starts: set[str]) -> bool:
    is_separated = end == len(path) or _SEPARATOR.match(path, end)
    return path[:end] in starts or (bool(is_separated) and f"{path[:end]}^" in starts)


class BlockRules:
    def __init__(self, lines: Iterable[str]) -> None:
        self._blocked, self._allowed = RuleSet(), RuleSet()
        self.problems = 0
        self.first_problem = ""
        for number, line in enumerate(lines, 1):
            for problem in self._add(line):
                self.problems += 1
                self.first_problem = self.first_problem or f"line {number}: {problem}"

    def __bool__(self) -> bool:
        return bool(self._blocked)

    def match(self, url: Url) -> bool:
        target = _target(url)
        return self._blocked.matches(target) and not self._allowed.matches(target)

    def _add(self, line: str) -> Iterator[str]:
        """Add the rules of a line. Yield what is wrong with it."""
        text = line.strip()
        if _PLAIN_HOST.fullmatch(text):
            self._blocked.hosts.add(text)
            return
        if not text or text.startswith(_COMMENTS) or ("://" not in text and _COSMETIC.search(text)):
            return
        if len(text) > _MAX_LINE:
            yield f"{text[:80]}…: This has more than {_MAX_LINE:,} characters."
            return
        text = _COMMENT.sub("", text)
        first, *names = text.split()
        if names and _address(first):
            yield from self._add_hosts(first, names)
            return
        try:
            if first.startswith("@@"):
                _add_adblock(self._allowed, text.removeprefix("@@"))
            elif first.startswith("|"):
                _add_adblock(self._blocked, text)
            elif "/" in text:
                url = canonical(_with_plain_host(text if "://" in text else f"http://{text}"), private=ANY_NAME)
                self._blocked.urls.add(_target(url).key)
            else:
                self._blocked.hosts.add(_host(text))
        except BadUrl as error:
            yield f"{text}: {error}"

    def _add_hosts(self, address: str, names: Iterable[str]) -> Iterator[str]:
        blocked = [name.partition("#")[0] for name in names if name not in _OF_THIS_MACHINE]
        if blocked and not _leads_nowhere(address):
            yield f"{address} {' '.join(names)}: A line that blocks hosts begins with 0.0.0.0."
            return
        for name in blocked:
            try:
                self._blocked.hosts.add(_host(name))
            except BadUrl as error:
                yield f"{name}: {error}"


def _add_adblock(rules: RuleSet, text: str) -> None:
    """Raises BadUrl."""
    pattern, dollar, options = text.rpartition("$")
    if not dollar or not _OPTIONS.fullmatch(options):
        pattern, options = text, ""
    if options and not _OF_PAGES.issuperset(options.split(",")):
        raise BadUrl("A rule with these options is not about whole pages.")
    pattern, is_subdomain_too = pattern.rstrip("*"), pattern.startswith("||")
    pattern, is_whole = pattern.removesuffix("|"), pattern.endswith("|")
    pattern, has_end = pattern.rstrip("^"), pattern.endswith("^")
    pattern = pattern.lstrip("|").removeprefix("*.")
    if not pattern or set("*^|").intersection(pattern) or (not is_subdomain_too and "://" not in pattern):
        raise BadUrl("A rule must name a host, or the beginning of a URL.")
    pattern = _with_plain_host(pattern if "://" in pattern else f"http://{pattern}")
    url = canonical(pattern, private=ANY_NAME)
    target, host = _target(url), f".{url.host}" if is_subdomain_too else url.host
    if is_whole and not is_subdomain_too:
        rules.urls.add(target.key)
    elif pattern.partition("://")[2].rstrip("/").find("/") < 0 and "?" not in pattern:
        rules.hosts.add(host)
    else:
        rules.add_start(host, f"{target.path}^" if has_end else target.path)


def _host(text: str) -> str:
    """Return the host, or with a dot in front the domain. Raises BadUrl."""
    name = text.removeprefix("*").removeprefix(".")
    in_url = f"[{name}]" if ":" in name and _address(name) else name
    host = canonical(_with_plain_host(f"http://{in_url}/"), private=ANY_NAME).host
    return host if name == text else f".{host}"


def _with_plain_host(url: str) -> str:
    """Return the URL without percent-encoding in its host, which destinations must not have."""
    start, sent, rest = _HOST.fullmatch(url).groups()  # type: ignore[union-attr]  # matches any text
    host = unquote(sent)
    if set("/?#").intersection(host):
        raise BadUrl("The host is not valid. Check its spelling.")
    return f"{start}{host}{rest}"


def _address(text: str) -> IpAddress | None:
    return parse_ip(text.partition("%")[0])


def _leads_nowhere(text: str) -> bool:
    address = _address(text)
    return address is not None and (address.is_unspecified or address.is_loopback)


def _target(url: Url) -> _Target:
    parsed = ada_url.URL(url.text)
    labels = url.host.split(".")
    hosts = [url.host, *(f".{'.'.join(labels[start:])}" for start in range(len(labels)))]
    path, query = _decoded(parsed.pathname), _decoded(parsed.search)
    whole = posixpath.normpath(re.sub("/+", "/", path))
    path = f"{whole}/" if path.endswith("/") and whole != "/" else whole
    return _Target(hosts, f"{path}{query}", f"{parsed.host}{path}{query}")


def _decoded(text: str) -> str:
    """Percent-decode, into a character for each byte."""
    for _ in range(_DECODINGS):
        if "%" not in text:
            break
        text = unquote(text, "latin-1")
    return text
