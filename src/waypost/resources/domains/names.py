"""Canonical hostnames: A-labels, lower case, no trailing dot.

Rejects what is not a hostname, what browsers would parse differently, and labels that imitate others.
"""

import functools
import re
import unicodedata

import ada_url
import idna
from publicsuffixlist import PublicSuffixList

from waypost.kit.proxies import parse_ip
from waypost.kit.urls import SPECIAL_NAMES

MAX_NAME = 253
MAX_LABEL = 63

EMPTY = "Enter a hostname such as go.example.com."
TOO_LONG = f"A hostname can have at most {MAX_NAME} characters. Choose a shorter one."
SCHEME = "Enter only the hostname, without http:// or https://."
PATH = "Enter only the hostname, without a path or anything else after it."
USER = "Enter only the hostname, without a user name and @."
PORT = "Enter only the hostname, without a port. Custom domains use the standard ports."
ADDRESS = "An IP address, or a name that ends with a number, cannot be a custom domain. Enter a hostname."
BLANK = "A hostname cannot contain spaces or control characters. Remove them."
WILDCARD = "A wildcard cannot be registered. Register each hostname separately."
UNDERSCORE = "A hostname cannot contain underscores. Use a hyphen instead."
EMPTY_LABEL = "There is an extra dot. Remove it."
LONG_LABEL = f"Each part between dots can have at most {MAX_LABEL} characters. Shorten it."
HYPHEN = "No part of a hostname can begin or end with a hyphen. Remove the hyphen."
SIGN = "A hostname can contain only letters, digits, hyphens and dots. Remove other characters."
NO_LETTER = (
    "A hostname can contain letters and digits of any language, but no symbols such as emoji. Remove the symbols."
)
PUNYCODE = "The part that begins with xn-- is not valid. Enter the name in its own letters instead."
MIXED = (
    "A part of the hostname mixes letters of similar-looking scripts, such as Latin and Cyrillic, so it could be "
    "mistaken for another name. Use letters of one script."
)
UNREADABLE = "Browsers cannot read this hostname. Check its spelling."
UNREGISTRABLE = (
    "This domain cannot be registered: it has no single owner, or it is not on the internet. "
    "Use a hostname under a domain of your own, such as go.example.com."
)

_MAX_TEXT = MAX_NAME + 1  # with a dot at the end
_RULES = (
    (re.compile(r"\A\.?\Z"), EMPTY),
    (re.compile(rf".{{{_MAX_TEXT + 1}}}", re.DOTALL), TOO_LONG),
    (re.compile(r"\s|[\x00-\x1f\x7f-\x9f]"), BLANK),
    (re.compile(r"://|\A//|\A(https?|ftp):", re.IGNORECASE), SCHEME),
    (re.compile(r"[/\\?#]"), PATH),
    (re.compile(r"@"), USER),
    (re.compile(r"[\[\]]|:.*:"), ADDRESS),
    (re.compile(r":"), PORT),
    (re.compile(r"\*"), WILDCARD),
    (re.compile(r"_"), UNDERSCORE),
)
_PASTED = re.compile(r"(?:(?:https?:)?//)?([^/?#]*).*", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")  # https://url.spec.whatwg.org/#ends-in-a-number-checker
_ASCII_LABEL = re.compile(r"[a-z0-9-]+")
_SIMILAR_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
_COMBINED_SCRIPTS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
_LATIN_LOOKALIKES = frozenset("асԁеһіјӏорԛѕԝхуъьҽпгѵѡ" + "αικνρυωηοτ")
"""Letters that can spell words that look like Latin ones. Browsers have similar lists."""


class BadName(ValueError):
    """The message says what is wrong and what to do."""


def canonical_or_lower(text: str) -> str:
    """Return the canonical hostname. Text that is not a hostname is only lower-cased: no account has such a domain."""
    try:
        return canonical(text)
    except BadName:
        return text.lower()


def canonical(text: str) -> str:
    """Return the canonical hostname. Raises BadName."""
    _check_rules(text)
    try:
        mapped = idna.uts46_remap(text, std3_rules=False)  # as browsers map typed hostnames
    except idna.IDNAError:
        raise BadName(NO_LETTER) from None
    _check_rules(mapped)  # a character may have become a symbol by mapping
    labels = mapped.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        raise BadName(ADDRESS)
    name = ".".join(_a_label(label) for label in labels)
    if len(name) > MAX_NAME:
        raise BadName(TOO_LONG)
    if not _browsers_agree(name):
        raise BadName(UNREADABLE)
    return name


def readable(name: str) -> tuple[str, ...]:
    """Return the labels of a canonical `name` for display, in their own letters where that is safe.

    A label stays punycode if it does not decode, if it mixes scripts, or if all its letters are Cyrillic or Greek ones
    that look like Latin ones.
    """
    return tuple(_readable(label) if label.startswith("xn--") else label for label in name.split("."))


def is_registrable(name: str) -> bool:
    """Whether the canonical `name` is under a domain with a single owner. The first call takes 0.2 s.

    An unlisted top-level domain, such as a new one, counts as a suffix.
    """
    if any(name == special or name.endswith(f".{special}") for special in SPECIAL_NAMES):
        return False
    return _suffixes().privatesuffix(name) is not None


def takes_cname(name: str, target: str) -> bool:
    """Whether a CNAME record can point the canonical `name` to the host. The first call takes 0.2 s.

    DNS allows none for an apex domain, that is, a registrable domain itself.
    """
    return not (is_local(target) or is_address(target)) and _suffixes().privatesuffix(name) != name


def is_local(target: str) -> bool:
    """Whether the host only leads to the machine that looks it up, so that no domain can point to it."""
    address = parse_ip(target)
    return target.rpartition(".")[2] == "localhost" or (address is not None and address.is_loopback)


def is_address(target: str) -> bool:
    return parse_ip(target) is not None


def from_pasted(text: str) -> str:
    """Return the hostname of a URL as people paste it. What else is wrong with it is left for `canonical` to say."""
    return _PASTED.sub(r"\1", text.strip(), count=1)


def _check_rules(text: str) -> None:
    for pattern, message in _RULES:
        if pattern.search(text):
            raise BadName(ADDRESS if message == PORT and is_address(text.partition(":")[0]) else message)


def _a_label(label: str) -> str:
    if not label:
        raise BadName(EMPTY_LABEL)
    if label.startswith("-") or label.endswith("-"):
        raise BadName(HYPHEN)
    a_label = label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
    if len(a_label) > MAX_LABEL:
        raise BadName(LONG_LABEL)
    if not _ASCII_LABEL.fullmatch(a_label):
        raise BadName(SIGN)
    if a_label.startswith("xn--"):
        _check_scripts(_u_label(a_label, PUNYCODE if label.isascii() else NO_LETTER))
    return a_label


def _u_label(a_label: str, problem: str) -> str:
    """Return the decoded label, which must encode to the same again. Raises BadName with `problem`."""
    try:
        u_label = idna.ulabel(a_label)
        is_same = idna.alabel(u_label).decode() == a_label
    except idna.IDNAError:
        raise BadName(problem) from None
    if not is_same:
        raise BadName(problem)
    return u_label


def _readable(a_label: str) -> str:
    try:
        label = _u_label(a_label, PUNYCODE)
    except BadName:
        return a_label
    letters = {char for char in label if not char.isascii() or char.isalpha()}
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    is_one_script = len(scripts) == 1 or scripts <= _COMBINED_SCRIPTS
    return a_label if not is_one_script or letters <= _LATIN_LOOKALIKES else label


def _check_scripts(label: str) -> None:
    letters = (char for char in label if unicodedata.category(char).startswith("L"))
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    if len(scripts & _SIMILAR_SCRIPTS) > 1:
        raise BadName(MIXED)


def _browsers_agree(name: str) -> bool:
    try:
        return str(ada_url.URL(f"http://{name}/").hostname) == name
    except ValueError:
        return False


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
