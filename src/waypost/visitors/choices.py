"""What people choose from where they name visitors: countries, languages, devices, platforms and browsers."""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, get_args

from waypost.visitors.countries import COUNTRIES
from waypost.visitors.country_names import country_name
from waypost.visitors.devices import Device

ChoiceKind = Literal["country", "language", "device", "platform", "browser"]

_PLATFORMS = ("iOS", "Android", "Windows", "macOS", "Linux", "ChromeOS")
_BROWSERS = ("Chrome", "Safari", "Firefox", "Edge", "Opera", "Samsung Internet")
_LANGUAGES = """
af Afrikaans, am Amharic, ar Arabic, az Azerbaijani, be Belarusian, bg Bulgarian, bn Bengali, bs Bosnian, ca Catalan,
cs Czech, cy Welsh, da Danish, de German, el Greek, en English, eo Esperanto, es Spanish, et Estonian, eu Basque,
fa Persian, fi Finnish, fil Filipino, fr French, ga Irish, gl Galician, gu Gujarati, he Hebrew, hi Hindi, hr Croatian,
hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, km Khmer,
kn Kannada, ko Korean, ky Kyrgyz, lb Luxembourgish, lo Lao, lt Lithuanian, lv Latvian, mk Macedonian, ml Malayalam,
mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, nb Norwegian Bokmål, ne Nepali, nl Dutch,
nn Norwegian Nynorsk, no Norwegian, pa Punjabi, pl Polish, ps Pashto, pt Portuguese, ro Romanian, ru Russian,
si Sinhala, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, th Thai,
tr Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, zh Chinese, zu Zulu
"""
_ALSO = {"country": {"united kingdom": "GB", "great britain": "GB", "uk": "GB", "usa": "US"}}
"""Other names that people enter."""
_FLAG_LETTERS = {ord("A") + index: chr(0x1F1E6 + index) for index in range(26)}


class Choice(NamedTuple):
    value: str
    name: str

    @property
    def flag(self) -> str:
        """The emoji of a country."""
        return self.value.translate(_FLAG_LETTERS)


@cache
def choices(kind: ChoiceKind) -> tuple[Choice, ...]:
    """Return the usual values, in the order in which people look for them."""
    if kind == "country":
        return tuple(sorted((Choice(code, country_name(code)) for code in COUNTRIES), key=lambda each: each.name))
    if kind == "language":
        pairs = (entry.strip().split(" ", 1) for entry in _LANGUAGES.split(","))
        return tuple(sorted((Choice(*pair) for pair in pairs), key=lambda each: each.name))
    if kind == "device":
        return tuple(Choice(device, device.capitalize()) for device in get_args(Device))
    return tuple(Choice(name, name) for name in (_PLATFORMS if kind == "platform" else _BROWSERS))


@cache
def _values(kind: ChoiceKind) -> Mapping[str, str]:
    """Values by what people enter for them, in small letters."""
    named = {text.lower(): each.value for each in choices(kind) for text in (each.value, each.name)}
    return named | _ALSO.get(kind, {})


def find_value(kind: ChoiceKind, text: str) -> str:
    """Return the value that is entered by its name or itself; other texts as they are."""
    return _values(kind).get(text.strip().lower(), text.strip())


def complete(kind: ChoiceKind, text: str) -> str:
    """Return the value that is entered, if only by the start of its name: the first one; other texts as they are."""
    start = text.strip().lower()
    names = choices(kind) if start and start not in _values(kind) else ()
    return next((each.value for each in names if each.name.lower().startswith(start)), find_value(kind, text))


@cache
def _names(kind: ChoiceKind) -> Mapping[str, str]:
    return {each.value: each.name for each in choices(kind)}


def value_name(kind: str, value: str) -> str:
    """Return what people call a value of any kind; itself if nothing else."""
    known = next((each for each in get_args(ChoiceKind) if each == kind), None)
    return _names(known).get(value, value) if known else value
