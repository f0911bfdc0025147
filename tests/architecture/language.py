"""Words that the code and docs do not use, each with its replacement. CONTRIBUTING.md has the rules of language."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from architecture.code import PACKAGE, ROOT, texts

EXCLUDED = {"vendor", "bot_lists", "common_passwords", "migrations"}
"""Written by others, or by us for a schema that has other names now."""

WORDS: Mapping[str, str] = {
    "told": "shown, reported, sent",
    "tells?": "show, report, notify",
    "telling": "publishing, messages",
    "anew": "again; re-encrypted; reload",
    "mend(s|ed)?": "fix",
    "parted": "separated",
    "figures": "statistics, totals",
    "doors?": "Deps, auth",
    "rooms?": "package, space",
    "floors": "layers",
    "house": "application, architecture",
    "padlock": "HTTPS certificate",
    "glances?": "point read",
    "reception": "session auth",
    "household": "rate limit key",
    "robot_of": "detect_bot",
    "whoever": "the person or process meant",
    "furnish(ed|es)?": "fill, seed",
    "leftovers?": "orphans",
    "mishaps?": "distortion, failure",
    "stands": "is",
    "wanted": "selected, expected",
    "yardstick": "reference",
    "lanes?": "account and host",
    "leaders": "top values",
    "lots": "batches",
    "plane": "redirects, application",
    "patience": "timeout",
    "victims?": "connections to close",
    "badness": "priority",
    "undecipherable": "decryption failed",
    "unspent": "unused",
    "is_leaving": "is shutting down",
}
"""Complete words, also within names with underscores."""

PHRASES: Mapping[str, str] = {
    "leads nowhere": "not found",
    "look into your mail": "check your email",
    "make the link": "create link",
    "made for you": "generated automatically",
    "i have it: go on": "done",
    "take your data with you": "export data",
    "end all others": "sign out other sessions",
    "on the way": "pixels",
    "has an account already": "an account with this email already exists",
    "not proven": "unverified",
    "of late": "recently",
    "at the very moment": "while",
    "for ever": "permanently, no expiry",
    "in life": "in production",
    "in circles": "a redirect loop",
    "where to go on": "documentation",
    "what runs": "processes",
    "way of a request": "request flow",
    "way out": "outbound requests",
    "by and by": "gradually",
    "for good": "permanently",
    "for want of": "without",
    "how it came about": "details",
    "leads somewhere": "redirects",
    "what came of": "result",
    "without a word": "silently",
    "this may have": "this must have",
    "this may be at most": "this must be at most",
    "may not hold": "must not contain",
    "operator of this service": "administrator of this service",
    "of the surrounding statement": "subquery, SQL condition",
    "statement around it": "subquery",
    "deliverystatus of": "status of",
    "claims the hostname": "registers the hostname",
}

PATTERN = re.compile(rf"(?<![A-Za-z])(?:{'|'.join([*WORDS, *map(re.escape, PHRASES)])})(?![A-Za-z])", re.IGNORECASE)


def of_code() -> Iterator[Path]:
    """Source, templates, scripts and styles of the package."""
    for suffix in (".py", ".html", ".js", ".css", ".txt", ".svg"):
        for path in sorted(PACKAGE.rglob(f"*{suffix}")):
            if not any(part in EXCLUDED for part in path.relative_to(PACKAGE).parts):
                yield path


def of_docs() -> Iterator[Path]:
    yield from (path for path in texts() if path.name != "CONTRIBUTING.md")


def found(path: Path) -> list[str]:
    """Matches as file:line: word."""
    name = path.relative_to(ROOT)
    return [
        f"{name}:{number}: {hit[0]}"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for hit in PATTERN.finditer(line)
    ]


VAGUE = re.compile(
    r"\bthe service\b|\bhere\b|(?<![.\w])there\b(?! (?:is|are|was|were|has|have|must|may|can|would|will)\b)",
    re.IGNORECASE,
)
"""What readers of a page or an email have to guess. "There is" is no place."""
OPERATING = {"commands", "database", "worker", "vendor"} | {"cli.py", "secret_key.py"}
"""What only people read who run the service, where that is its name. And the code of others."""


def vague() -> Iterator[str]:
    """Texts of pages, emails and messages that say "here", "there" or "the service", as file:line: text."""
    for path in of_code():
        parts = path.relative_to(PACKAGE).parts
        if OPERATING.intersection(parts) or path.suffix not in {".py", ".html", ".txt"} or "models" in parts:
            continue
        for number, text in _strings(path) if path.suffix == ".py" else _lines_of_template(path):
            yield from (f"{path.relative_to(ROOT)}:{number}: {text[:80]}" for _ in VAGUE.finditer(text))


def _lines_of_template(path: Path) -> Iterator[tuple[int, str]]:
    lines = path.read_text().splitlines()
    yield from ((number, re.sub(r"{#.*?#}", "", line)) for number, line in enumerate(lines, 1))


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings without documentation."""
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value
