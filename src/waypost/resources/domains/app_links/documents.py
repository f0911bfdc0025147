"""The documents of app links: checked, as JSON text that is served, and back."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from waypost.kit.errors import Problems
from waypost.resources.domains.app_links import apple, google
from waypost.resources.domains.app_links.findings import Findings
from waypost.resources.domains.app_links.model import AppLinksTexts

MAX_BYTES = 128 << 10
TOO_LONG = "This must have at most 128 KiB, without the spaces between values."
NOT_JSON = "This is not valid JSON."
TOO_DEEP = "This is nested too deeply."
NO_UNICODE = "This is not valid Unicode: it contains an unpaired surrogate, half of a character."
_MAX_LEVELS = 32

CHECKS: Mapping[str, Callable[[Any], Findings]] = {
    "apple_app_site_association": apple.check,
    "assetlinks": google.check,
}


def to_texts(
    apple_document: Mapping[str, Any] | None, google_document: Sequence[Any] | None, problems: Problems
) -> AppLinksTexts:
    """Return the documents as they are served. `problems`: gets those of both."""
    return AppLinksTexts(
        _to_text("apple_app_site_association", apple_document, problems),
        _to_text("assetlinks", google_document, problems),
    )


def find_hints(texts: AppLinksTexts) -> dict[str, Problems]:
    """Return what may be wrong with each document, by its name."""
    return {name: CHECKS[name](load(text)).hints for name, text in texts._asdict().items() if text is not None}


def load(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _to_text(name: str, document: Any, problems: Problems) -> str | None:
    if document is None:
        return None
    if _is_deeper(document, _MAX_LEVELS):
        problems.add(name, TOO_DEEP)
        return None
    try:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        problems.add(name, NO_UNICODE)
        return None
    except ValueError:  # NaN, which Python reads
        problems.add(name, NOT_JSON)
        return None
    if size > MAX_BYTES:
        problems.add(name, TOO_LONG)
        return None
    problems.add_all(name, CHECKS[name](document).errors)
    return text


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    entries = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(entry, levels - 1) for entry in entries)
