"""UTM parameters as requests send them."""

from collections.abc import Mapping
from typing import Annotated

from waypost.kit.fields import Documented, Text, max_characters, max_keys
from waypost.kit.urls import UTM_KEYS, UtmKey

ShortText = Annotated[Text, max_characters(255)]
_TEXTS: Mapping[UtmKey, tuple[str, str]] = {
    "utm_source": ("Source of the visitors, such as newsletter", "newsletter"),
    "utm_medium": ("Medium, such as email", "email"),
    "utm_campaign": ("Campaign", "spring"),
    "utm_term": ("Search term", "pricing"),
    "utm_content": ("Content, which distinguishes links of a campaign", "button"),
}
_DOCUMENTED = Documented(
    {"properties": {key: {"description": text, "examples": [example]} for key, (text, example) in _TEXTS.items()}}
)
UtmParams = Annotated[dict[UtmKey, ShortText | None], max_keys(20), _DOCUMENTED]
UtmParamsJson = Annotated[dict[UtmKey, str], _DOCUMENTED]


def sent_values(params: Mapping[UtmKey, str | None] | None) -> dict[str, str]:
    """Return the parameters that have a value."""
    return {key: value for key, value in (params or {}).items() if value}


def in_order(params: Mapping[str, str]) -> dict[UtmKey, str]:
    return {key: params[key] for key in UTM_KEYS if key in params}
