"""From what somebody wrote to the one spelling of a host name: A-labels, lower case, no dot at the end.

Refuses what is no host name, what browsers would read as something else, and labels made to be mistaken for others.
"""

import functools
import re
import unicodedata
from ipaddress import ip_address

import ada_url
import idna
from publicsuffixlist import PublicSuffixList

from waypost.kit.urls import SPECIAL_NAMES

MAX_NAME = 253
MAX_LABEL = 63

EMPTY = "Write a host name such as go.example.com."
TOO_LONG = f"A host name may have at most {MAX_NAME} characters. Choose a shorter one."
SCHEME = "Write the host name alone, without http:// or https:// before it."
PATH = "Write the host name alone, without a path or anything else behind it."
USER = "Write the host name alone, without a user name. It has no @."
PORT = "Write the host name alone, without a port. A custom domain is visited on the usual ones."
ADDRESS = "An IP address cannot be a custom domain, nor can a name that ends with a number. Use a host name."
BLANK = "A host name has no blanks and no control characters. Remove them."
WILDCARD = "A wildcard cannot be registered. Register each host name by itself."
UNDERSCORE = "A host name has no underscores. Use a dash instead."
EMPTY_LABEL = "There is nothing between two dots, or before the first. Remove the dot that is too much."
LONG_LABEL = f"Each part of a host name between its dots may have at most {MAX_LABEL} characters. Shorten it."
DASH = "No part of a host name may begin or end with a dash. Remove the dash."
SIGN = "A host name holds letters, digits, dashes and dots. Remove everything else."
NO_LETTER = (
    "Host names may hold letters and digits of every language, but no signs such as emoji. Remove what is neither."
)
PUNYCODE = "What begins with xn-- here stands for no name. Write the name with its own letters instead."
MIXED = (
    "A part of the name mixes letters of scripts that look alike, such as Latin and Cyrillic, so it could be mistaken "
    "for another name. Use letters of one script."
)
UNREADABLE = "Browsers cannot read this name. Check its spelling."
NO_DOMAIN = (
    "This is no domain that can be registered: nobody owns it alone, or it is not on the internet. "
    "Use a host name under a domain of your own, such as go.example.com."
)

_LIMIT = MAX_NAME + 1  # with a dot at the end
_FAULTS = (
    (re.compile(r"\A\.?\Z"), EMPTY),
    (re.compile(rf".{{{_LIMIT + 1}}}", re.DOTALL), TOO_LONG),
    (re.compile(r"\s|[\x00-\x1f\x7f-\x9f]"), BLANK),
    (re.compile(r"://|\A//|\A(https?|ftp):", re.IGNORECASE), SCHEME),
    (re.compile(r"[/\\?#]"), PATH),
    (re.compile(r"@"), USER),
    (re.compile(r"[\[\]]|:.*:"), ADDRESS),
    (re.compile(r":"), PORT),
    (re.compile(r"\*"), WILDCARD),
    (re.compile(r"_"), UNDERSCORE),
)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")  # https://url.spec.whatwg.org/#ends-in-a-number-checker
_ASCII_LABEL = re.compile(r"[a-z0-9-]+")
_LOOKING_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
_WRITTEN_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})
_LIKE_LATIN = frozenset("асԁеһіјӏорԛѕԝхуъьҽпгѵѡ" + "αικνρυωηοτ")
"""Of which whole words can be made that read as others; browsers' lists are much the same."""


class BadName(ValueError):
    """Its text tells the user what is wrong and what to do."""


def canonical(text: str) -> str:
    """Raises BadName."""
    _refuse_faults(text)
    try:
        mapped = idna.uts46_remap(text, std3_rules=False)  # as browsers map what is typed
    except idna.IDNAError:
        raise BadName(NO_LETTER) from None
    _refuse_faults(mapped)  # what looked like a letter may be a sign by now
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
    """The labels of a canonical `name` for people to read, each in its own letters or as it is.

    As it is where it does not decode, where its letters are not of one script, and where all of them are Cyrillic
    or Greek ones that look like Latin.
    """
    return tuple(_readable(label) if label.startswith("xn--") else label for label in name.split("."))


def is_registrable(name: str) -> bool:
    """Whether the canonical `name` lies under a domain that one owner can have. The first call takes 0.2 s.

    A top-level domain that is on no list counts as a suffix: names for tests, and new ones.
    """
    if any(name == special or name.endswith(f".{special}") for special in SPECIAL_NAMES):
        return False
    return _suffixes().privatesuffix(name) is not None


def _refuse_faults(text: str) -> None:
    for pattern, message in _FAULTS:
        if pattern.search(text):
            raise BadName(ADDRESS if message == PORT and _is_address(text) else message)


def _is_address(text: str) -> bool:
    try:
        ip_address(text.partition(":")[0])
    except ValueError:
        return False
    return True


def _a_label(label: str) -> str:
    if not label:
        raise BadName(EMPTY_LABEL)
    if label.startswith("-") or label.endswith("-"):
        raise BadName(DASH)
    a_label = label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
    if len(a_label) > MAX_LABEL:
        raise BadName(LONG_LABEL)
    if not _ASCII_LABEL.fullmatch(a_label):
        raise BadName(SIGN)
    if a_label.startswith("xn--"):
        _refuse_look_alike(_u_label(a_label, PUNYCODE if label.isascii() else NO_LETTER))
    return a_label


def _u_label(a_label: str, fault: str) -> str:
    """What it decodes to, which encodes to the same again."""
    try:
        u_label = idna.ulabel(a_label)
        is_same = idna.alabel(u_label).decode() == a_label
    except idna.IDNAError:
        raise BadName(fault) from None
    if not is_same:
        raise BadName(fault)
    return u_label


def _readable(a_label: str) -> str:
    try:
        label = _u_label(a_label, PUNYCODE)
    except BadName:
        return a_label
    letters = {sign for sign in label if not sign.isascii() or sign.isalpha()}
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    is_of_one = len(scripts) == 1 or scripts <= _WRITTEN_TOGETHER
    return a_label if not is_of_one or letters <= _LIKE_LATIN else label


def _refuse_look_alike(label: str) -> None:
    letters = (sign for sign in label if unicodedata.category(sign).startswith("L"))
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    if len(scripts & _LOOKING_ALIKE) > 1:
        raise BadName(MIXED)


def _browsers_agree(name: str) -> bool:
    try:
        return str(ada_url.URL(f"http://{name}/").hostname) == name
    except ValueError:
        return False


@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
